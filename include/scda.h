/* Generated from src/ffi by cbindgen: do not edit. SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file scda.h
 * Parallel, serial-equivalent, archival files: the scda format.
 *
 * Any number of ranks write a file, and any other number read it, each with any partition of the
 * elements. The bytes of the file depend on the data alone, and on the line breaks chosen.
 *
 * Order of calls. Writing: `scda_fopen_write`, any `scda_fwrite_*`, `scda_fclose`. Reading:
 * `scda_fopen_read`, for each section `scda_fread_section_header` and then the function for its
 * type ('V': `scda_fread_varray_sizes`, then `scda_fread_varray_data`), `scda_fclose`.
 *
 * Collective. Every function that takes a file is, except `scda_feof`: all ranks of the file's
 * communicator call it, in the same order, with the same arguments where it says so. It does not
 * synchronise the ranks.
 *
 * Errors. `*err` is set by every call: 0, or a code below, the same on all ranks. On error the file
 * is closed as it is, the context is freed, and NULL is returned: there is nothing left to close.
 * Reading the header at the end of the file is no error: `*err` is `SCDA_ERR_EOF`, and the file
 * stays open. `scda_last_error_message` says more. Ranks that disagree on arguments all get
 * `SCDA_ERR_ARG`.
 *
 * Small plain sections wait in a buffer, as with stdio, without a word between the ranks. So an error
 * that only one rank can notice in them, such as NULL data, and a disagreement of the ranks are
 * reported on all ranks by a later call, at the latest by `scda_fflush` or `scda_fclose`; until then
 * `*err` is 0. And a rank whose argument has no meaning at all, although it should be the same
 * everywhere, waits in its call until the others call a function in which they meet. With
 * `params.check`, or with the environment variable `SCDA_CHECK=1`, the ranks meet in every call and all
 * errors are reported at once: use it when a program is new, or when it hangs.
 *
 * A full disk is noticed when the buffer is written, even with `params.check`. A limit on the size of
 * files (RLIMIT_FSIZE) is an error only if the program ignores the signal SIGXFSZ, which otherwise
 * ends it.
 *
 * After an error, sections that waited may be missing from the file.
 *
 * Memory. All memory passed is the caller's and is used only during the call. Counts are elements,
 * sizes are bytes. NULL data skip reading on that rank, where the function says so.
 *
 * Threads. A file is used by one thread at a time, as MPI's level of thread support allows.
 */


#ifndef SCDA_H
#define SCDA_H

#include <stddef.h>
#include <stdint.h>

/* The installation defines SCDA_SERIAL here if the library was built without MPI. */
/* #undef SCDA_SERIAL */

#ifdef SCDA_SERIAL
#ifndef MPI_VERSION
/** Stands in for the communicator of MPI; its only value is SCDA_COMM_SELF. */
typedef struct scda_serial_comm *MPI_Comm;
/** Stands in for the hints of MPI; its only value is NULL. */
typedef struct scda_serial_info *MPI_Info;
#endif
/** The communicator of this process alone. */
#ifdef __cplusplus
#define SCDA_COMM_SELF (reinterpret_cast<MPI_Comm> (static_cast<size_t> (0x5cda5e1fu)))
#else
#define SCDA_COMM_SELF ((MPI_Comm) (size_t) 0x5cda5e1fu)
#endif
#else
#ifdef __cplusplus
/* The C++ bindings left MPI long ago. */
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#endif
#include <mpi.h>
/** The communicator of this process alone. */
#define SCDA_COMM_SELF MPI_COMM_SELF
#endif

/**
 * The version of the library that this header belongs to: the first of three numbers.
 */
#define SCDA_VERSION_MAJOR 0

/**
 * The second number of the version.
 */
#define SCDA_VERSION_MINOR 1

/**
 * The third number of the version.
 */
#define SCDA_VERSION_PATCH 0


/**
 * No error.
 */
#define SCDA_SUCCESS 0

/**
 * The bytes are not an scda file, or not a section of one.
 */
#define SCDA_ERR_FORMAT 15000

/**
 * A function was called where the order of calls forbids it, or on a file that is closed.
 */
#define SCDA_ERR_USAGE 15001

/**
 * A compressed section breaks the compression convention.
 */
#define SCDA_ERR_DECODE 15002

/**
 * An argument has no legal meaning, or the ranks disagree on one.
 */
#define SCDA_ERR_ARG 15003

/**
 * The file has fewer bytes than its sections say: it was cut, or is not complete.
 */
#define SCDA_ERR_COUNT 15004

/**
 * The same as `SCDA_ERR_COUNT`, by what it mostly means.
 */
#define SCDA_ERR_SHORT_FILE SCDA_ERR_COUNT

/**
 * An scda file of a version of the format that this library does not know.
 */
#define SCDA_ERR_VERSION 15005

/**
 * No section follows. Not an error: the file stays open.
 */
#define SCDA_ERR_EOF 15006

/**
 * A count, a product or a sum exceeds 63 bits.
 */
#define SCDA_ERR_RANGE 15007

/**
 * Out of memory.
 */
#define SCDA_ERR_MEMORY 15008

/**
 * A bug of this library. It may be known to one rank only: call `MPI_Abort`, and report it.
 */
#define SCDA_ERR_INTERNAL 15009

/**
 * A call of MPI other than for file access failed.
 */
#define SCDA_ERR_MPI 15010

/**
 * The bytes of a sealed file differ from what its seal says: the file is damaged.
 */
#define SCDA_ERR_CHECKSUM 15011

/**
 * The file, or a folder of its path, does not exist.
 */
#define SCDA_ERR_NO_SUCH_FILE 15020

/**
 * Permission denied.
 */
#define SCDA_ERR_ACCESS 15021

/**
 * The device is full, or the file may not grow further.
 */
#define SCDA_ERR_NO_SPACE 15022

/**
 * A quota is used up.
 */
#define SCDA_ERR_QUOTA 15023

/**
 * The file system is read-only.
 */
#define SCDA_ERR_READ_ONLY 15024

/**
 * The file exists already.
 */
#define SCDA_ERR_FILE_EXISTS 15025

/**
 * The name is not usable: a folder, a device, or too long.
 */
#define SCDA_ERR_BAD_FILE 15026

/**
 * Somebody else uses the file.
 */
#define SCDA_ERR_FILE_IN_USE 15027

/**
 * The file system or the build of the library does not support the operation.
 */
#define SCDA_ERR_UNSUPPORTED 15028

/**
 * Any other failure of the file system.
 */
#define SCDA_ERR_IO 15029

/**
 * Line breaks "\n" in paddings and compressed data: the default.
 */
#define SCDA_LINEBREAK_UNIX 0

/**
 * Line breaks "\r\n" in paddings and compressed data.
 */
#define SCDA_LINEBREAK_MIME 1

/**
 * What pays is tried for each element: the default. libdeflate compresses long elements with
 * repetitions, a coder of this library the others.
 */
#define SCDA_ENCODER_FAST 0

/**
 * zlib compresses, and the stream is that of its `compress2`.
 */
#define SCDA_ENCODER_ZLIB 1

/**
 * The library chooses: POSIX on file systems that are known to be coherent between nodes (local
 * ones, Lustre, GPFS, BeeGFS), else MPI-IO; MPI-IO if `info` is given. The environment variable
 * `SCDA_IO` of rank 0, `mpi` or `posix`, chooses otherwise.
 */
#define SCDA_DRIVER_AUTO 0

/**
 * MPI-IO. An argument error in a build without MPI.
 */
#define SCDA_DRIVER_MPIIO 1

/**
 * `pwrite` and `pread` by every rank.
 */
#define SCDA_DRIVER_POSIX 2

/**
 * The most bytes that a user string can have.
 */
#define SCDA_USER_STRING_BYTES 58

/**
 * The bytes of data of an inline section.
 */
#define SCDA_INLINE_BYTES 32

/**
 * A section is written as it is.
 */
#define SCDA_ENCODE_NONE 0

/**
 * A section is compressed.
 */
#define SCDA_ENCODE_ALWAYS 1

/**
 * A section is compressed if it gets smaller by that, else written as it is. A sample of the data
 * comes first: if by an estimate, or by trying, it gets larger by more than a sixteenth, the section is
 * written as it is without trying the rest; else all is compressed, and the exact size decides. Noise
 * that comes again only far away may be taken for noise. The choice depends on the data (and the encoder
 * and the level) alone, not on the partition. A reader that decodes sees no difference.
 */
#define SCDA_ENCODE_AUTO 2

/**
 * A file that is open for writing or reading. Opaque.
 */
struct scda_fcontext;

/**
 * What may be chosen when a file is opened: the same on all ranks. To be filled by
 * `scda_params_init` and then changed; it is read by the call that opens, and may go afterwards.
 */
struct scda_params {
  /**
   * The size of this struct in bytes, as `scda_params_init` sets it.
   */
  size_t size;
  /**
   * Writing: `SCDA_LINEBREAK_UNIX` (default) or `SCDA_LINEBREAK_MIME`.
   */
  int linebreak;
  /**
   * Writing: `SCDA_ENCODER_FAST` (default) or `SCDA_ENCODER_ZLIB`.
   */
  int encoder;
  /**
   * Writing: the level of compression, 0 to 9 (default 2).
   */
  int level;
  /**
   * The threads of each rank that compress or decompress the elements of a section, 1 (default) to
   * 1024. The file does not depend on it.
   */
  int threads;
  /**
   * The most bytes of memory for small sections, which wait to be written together and are read ahead;
   * 4 MiB (default), at most 64 MiB. Less is used where that is as fast. 0: every section is written
   * at once.
   */
  uint64_t aggregation_bytes;
  /**
   * `SCDA_DRIVER_AUTO` (default), `SCDA_DRIVER_MPIIO` or `SCDA_DRIVER_POSIX`.
   */
  int driver;
  /**
   * Writing: 1: the file appears under its name only when it is complete, at close. Until then
   * it is a neighbour whose name ends in ".scda-part", and an old file stays as it is; what a
   * killed job leaves of it, the next one replaces. Implies `sync`. Links are followed, and the
   * permissions of the old file are kept. 0 (default): the file is written in its place.
   */
  int atomic;
  /**
   * Writing: 1: closing brings the file to stable storage. 0 (default): the system does it later.
   */
  int sync;
  /**
   * 1: the ranks agree on errors and compare their arguments in every call, by one small reduction: for
   * finding the mistakes of a program. The environment variable `SCDA_CHECK=1` of rank 0 turns it on
   * in any program. 0 (default; 1 if the library is built for debugging): where they meet anyway.
   */
  int check;
  /**
   * Fails one access of the file out of so many, on average, to test a program. 0 (default): none.
   */
  uint64_t fuzzy_everyn;
  /**
   * The seed that chooses the accesses that fail.
   */
  uint64_t fuzzy_seed;
  /**
   * Hints for MPI-IO; `MPI_INFO_NULL` (default): none. Still the caller's. An argument error
   * together with `SCDA_DRIVER_POSIX`. Without meaning in a build without MPI.
   */
  MPI_Info info;
  /**
   * Zero.
   */
  uint64_t reserved[8];
};

/**
 * What may be chosen when a file is opened.
 */
typedef struct scda_params scda_params_t;

/**
 * A file that is open for writing or reading. Opaque.
 */
typedef struct scda_fcontext scda_fcontext_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The text of an error code: one line, without a line break.
 *
 * Not collective.
 *
 * @param [in] err      An error code, `SCDA_SUCCESS` included.
 * @param [out] str     Filled with the text and a NUL; cut short if it does not fit. Must not be
 *                      NULL.
 * @param [in,out] len  In: the bytes that `str` has room for. Out: the bytes of text written,
 *                      without the NUL. Must not be NULL.
 * @return              0, or a negative value: for a code that is none, and then an empty text,
 *                      and for wrong arguments.
 * Spec: A.6.1.
 */
int scda_ferror_string(int err, char *str, int *len);

/**
 * The class of an error code, by which a program can tell errors apart.
 *
 * Every code is its own class today. Codes that later versions add belong to one of the classes
 * of this version. Not collective.
 *
 * @param [in] err        An error code, `SCDA_SUCCESS` included.
 * @param [out] errclass  The class: one of the codes of this header. Must not be NULL.
 * @return                0, or a negative value for a code that is none; nothing is written then.
 */
int scda_ferror_class(int err, int *errclass);

/**
 * What the last error of this thread was about: the file, the byte offset, the rank, and what was
 * found and expected. The same on all ranks for an error of a collective function.
 *
 * Not collective.
 *
 * @return  A C string that is valid until the next error of this thread; "" if there was none.
 */
const char *scda_last_error_message(void);

/**
 * The version of the library, as "MAJOR.MINOR.PATCH".
 *
 * Not collective.
 *
 * @return  A C string that is valid forever.
 */
const char *scda_version(void);

/**
 * Fills `params` with the defaults.
 *
 * Not collective.
 *
 * @param [out] params  Filled; the caller's. Must not be NULL.
 * @return              0, or a negative value for NULL.
 */
int scda_params_init(scda_params_t *params);

/**
 * Opens a file with the default parameters, for writing or for reading.
 *
 * Collective; `mode`, `filename`, and when writing the user string, agree on all ranks.
 *
 * @param [in] comm          The communicator; duplicated, still the caller's. Every function on
 *                           the file is collective over it.
 * @param [in] filename      The path of the file.
 * @param [in] mode          "w": see `scda_fopen_write`. "r": see `scda_fopen_read`.
 * @param [in,out] userstr   The user string of the file. "w": read; "r": written.
 * @param [in,out] len       The bytes of `userstr`. "w": read, NULL for a C string; "r": written,
 *                           NULL if not wanted.
 * @param [out] err          The error code; NULL if not wanted.
 * @return                   The file, or NULL on error. To be closed by `scda_fclose`.
 * Errors: `SCDA_ERR_ARG` for another mode, and those of the two functions.
 * Spec: A.3.1.
 */
scda_fcontext_t *scda_fopen(MPI_Comm comm,
                            const char *filename,
                            const char *mode,
                            char *userstr,
                            size_t *len,
                            int *err);

/**
 * Creates a file for writing, or empties one that exists, and writes its header.
 *
 * Collective; all arguments but `info` and the seed in `params` agree on all ranks.
 *
 * @param [in] comm      The communicator; duplicated, still the caller's. Every function on the
 *                       file is collective over it.
 * @param [in] filename  The path of the file. With MPI-IO it may have a prefix that ROMIO knows.
 * @param [in] userstr   The user string of the file: `*len` bytes of any value, at most 58. NULL
 *                       only if `*len` is 0.
 * @param [in] len       The bytes of `userstr`. NULL: it is a C string.
 * @param [in] params    What may be chosen; the caller's. NULL: the defaults.
 * @param [out] err      The error code; NULL if not wanted.
 * @return               The file, or NULL on error. To be closed by `scda_fclose`.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_USAGE` if MPI is not running, and those of the file system.
 * Spec: 2.2, A.3.1.
 */
scda_fcontext_t *scda_fopen_write(MPI_Comm comm,
                                  const char *filename,
                                  const char *userstr,
                                  const size_t *len,
                                  const scda_params_t *params,
                                  int *err);

/**
 * Opens a file for reading and reads its header.
 *
 * Collective; `filename` and all of `params` but `info` and the seed agree on all ranks.
 *
 * @param [in] comm      The communicator; duplicated, still the caller's. Every function on the
 *                       file is collective over it.
 * @param [in] filename  The path of the file. With MPI-IO it may have a prefix that ROMIO knows.
 * @param [out] userstr  Filled with the user string of the file and a NUL: room for 59 bytes, or
 *                       NULL if not wanted.
 * @param [out] len      The bytes of the user string; NULL if not wanted.
 * @param [in] params    What may be chosen; the caller's. NULL: the defaults.
 * @param [out] err      The error code; NULL if not wanted.
 * @return               The file, or NULL on error. To be closed by `scda_fclose`.
 * Errors: `SCDA_ERR_FORMAT`, `SCDA_ERR_VERSION`, `SCDA_ERR_COUNT`, `SCDA_ERR_ARG`,
 * `SCDA_ERR_USAGE` if MPI is not running, and those of the file system.
 * Spec: 2.2, A.3.1.
 */
scda_fcontext_t *scda_fopen_read(MPI_Comm comm,
                                 const char *filename,
                                 char *userstr,
                                 size_t *len,
                                 const scda_params_t *params,
                                 int *err);

/**
 * Opens a file with the handles that MPI has in Fortran: what the Fortran module calls, and other
 * languages that know a communicator by its number.
 *
 * Collective, as `scda_fopen_write` and `scda_fopen_read` say.
 *
 * @param [in] comm          The communicator, as `MPI_Comm_c2f` gives it. 0x5cda5e1f (1557814815)
 *                           is `SCDA_COMM_SELF`, in the build without MPI, too.
 * @param [in] info          Hints, as `MPI_Info_c2f` gives them, in place of `params->info`. NULL:
 *                           that of `params`.
 * @param [in] filename      The path of the file.
 * @param [in] mode          "w": as `scda_fopen_write`. "r": as `scda_fopen_read`.
 * @param [in,out] userstr   The user string of the file. "w": read; "r": written.
 * @param [in,out] len       The bytes of `userstr`. "w": read, NULL for a C string; "r": written,
 *                           NULL if not wanted.
 * @param [in] params        What may be chosen; the caller's. NULL: the defaults.
 * @param [out] rank         This rank in `comm`; NULL if not wanted.
 * @param [out] size         The number of ranks of `comm`; NULL if not wanted.
 * @param [out] err          The error code; NULL if not wanted.
 * @return                   The file, or NULL on error. To be closed by `scda_fclose`.
 * Errors: those of `scda_fopen`.
 */
scda_fcontext_t *scda_fopen_f(int comm,
                              const int *info,
                              const char *filename,
                              const char *mode,
                              char *userstr,
                              size_t *len,
                              const scda_params_t *params,
                              int *rank,
                              int *size,
                              int *err);

/**
 * Closes a file. After writing, success means that every byte is in the file: the errors of all
 * ranks and the size of the file were checked.
 *
 * Collective.
 *
 * @param [in] f     The file. Its context is freed, whatever happens.
 * @param [out] err  The error code; NULL if not wanted.
 * @return           0 if and only if all went well, else -1.
 * Errors: those of all sections since the last `scda_fflush`, and those of the file system.
 * Spec: A.3.2.
 */
int scda_fclose(scda_fcontext_t *f, int *err);

/**
 * Writes all sections that wait in the aggregation buffer, and lets all ranks know whether all
 * went well until now.
 *
 * Collective. For files open for writing.
 *
 * @param [in] f     The file.
 * @param [out] err  The error code; NULL if not wanted.
 * @return           `f`, or NULL on error; the file is then closed and its context freed.
 * Errors: those of all sections since the last flush.
 */
scda_fcontext_t *scda_fflush(scda_fcontext_t *f, int *err);

/**
 * Whether no section follows in a file open for reading.
 *
 * Not collective, and the same on all ranks.
 *
 * @param [in] f  The file.
 * @return        Nonzero at the end of the file. Zero if a section follows, or if the data of a
 *                section are still to be read or skipped. Nonzero if `f` is NULL, closed, or open
 *                for writing: there is nothing to read.
 */
int scda_feof(const scda_fcontext_t *f);

/**
 * Computes the bytes that each rank has of a varray: what the functions for varrays take as `Sq`.
 *
 * Collective; `Nq` agrees on all ranks.
 *
 * @param [in] f     The file, open for writing or reading; it stays where it is.
 * @param [in] Ei    The sizes of this rank's elements in bytes: as many as `Nq` says for this
 *                   rank. NULL only if there are none.
 * @param [in] Nq    The elements of each rank: one entry per rank.
 * @param [out] Sq   Filled with the sum of the sizes on each rank: one entry per rank.
 * @param [out] err  The error code; NULL if not wanted.
 * @return           `f`, or NULL on error; the file is then closed and its context freed.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`.
 * Spec: A.1.
 */
scda_fcontext_t *scda_proc_sizes(scda_fcontext_t *f,
                                 const uint64_t *Ei,
                                 const uint64_t *Nq,
                                 uint64_t *Sq,
                                 int *err);

/**
 * Gathers the number of elements that each rank has: what the functions for arrays and varrays take
 * as `Nq`.
 *
 * Collective; `Np` differs between the ranks.
 *
 * @param [in] f     The file, open for writing or reading; it stays where it is.
 * @param [in] Np    The number of elements of this rank.
 * @param [out] Nq   Filled with the `Np` of each rank: one entry per rank.
 * @param [out] err  The error code; NULL if not wanted.
 * @return           `f`, or NULL on error; the file is then closed and its context freed.
 * Errors: `SCDA_ERR_ARG`.
 * Spec: A.1.
 */
scda_fcontext_t *scda_proc_counts(scda_fcontext_t *f, uint64_t Np, uint64_t *Nq, int *err);

/**
 * Makes all ranks fail with an error that the caller has found on this rank. For language bindings.
 *
 * A binding knows more than C, such as the length of an array. On the rank that has the error it calls
 * this function, and then the function that it was about to call, with NULL in place of the wrong
 * argument. The error is then returned on all ranks, with these words, as any error in an argument of
 * one rank: by that call or by a later one, at the latest by `scda_fflush` or `scda_fclose`. Of several
 * errors the first counts.
 *
 * Not collective.
 *
 * @param [in] f     The file, open for writing or reading.
 * @param [in] why   The message, a C string: what was found, and what was expected.
 * @param [out] err  The error code; NULL if not wanted. 0 if the file is open.
 * @return           `f`, or NULL if it is not an open file.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_USAGE`.
 */
scda_fcontext_t *scda_frefuse(scda_fcontext_t *f,
                              const char *why,
                              int *err);

/**
 * Writes an inline section: 32 bytes of one rank.
 *
 * Collective; all arguments but `dbytes` agree on all ranks.
 *
 * @param [in] f        The file, open for writing.
 * @param [in] dbytes   On `root` 32 bytes. Ignored on other ranks.
 * @param [in] userstr  The user string: `*len` bytes of any value, at most 58. NULL only if `*len`
 *                      is 0.
 * @param [in] len      The bytes of `userstr`. NULL: it is a C string.
 * @param [in] root     The rank that has the data.
 * @param [out] err     The error code; NULL if not wanted.
 * @return              `f`, or NULL on error; the file is then closed and its context freed.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, and those of the file system.
 * Spec: 2.3, A.4.1.
 */
scda_fcontext_t *scda_fwrite_inline(scda_fcontext_t *f,
                                    const void *dbytes,
                                    const char *userstr,
                                    const size_t *len,
                                    int root,
                                    int *err);

/**
 * Writes a block: `E` bytes of one rank.
 *
 * Collective; all arguments but `dbytes` agree on all ranks.
 *
 * @param [in] f        The file, open for writing.
 * @param [in] dbytes   On `root` `E` bytes; NULL only if `E` is 0. Ignored on other ranks.
 * @param [in] E        The bytes of the block.
 * @param [in] userstr  The user string: `*len` bytes of any value, at most 58. NULL only if `*len`
 *                      is 0.
 * @param [in] len      The bytes of `userstr`. NULL: it is a C string.
 * @param [in] root     The rank that has the data.
 * @param [in] encode   `SCDA_ENCODE_NONE`, `SCDA_ENCODE_ALWAYS` or `SCDA_ENCODE_AUTO`.
 * @param [out] err     The error code; NULL if not wanted.
 * @return              `f`, or NULL on error; the file is then closed and its context freed.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_MEMORY`, and those of the
 * file system.
 * Spec: 2.4, 3.2, A.4.2.
 */
scda_fcontext_t *scda_fwrite_block(scda_fcontext_t *f,
                                   const void *dbytes,
                                   uint64_t E,
                                   const char *userstr,
                                   const size_t *len,
                                   int root,
                                   int encode,
                                   int *err);

/**
 * Writes an array of elements of one size, which are distributed over the ranks in their order.
 *
 * Collective; all arguments but `dbytes` agree on all ranks (`indirect` may differ).
 *
 * @param [in] f         The file, open for writing.
 * @param [in] dbytes    This rank's elements, one after the other, or with `indirect` an array of
 *                       a pointer to each. NULL only if they have no bytes.
 * @param [in] Nq        The elements of each rank: one entry per rank.
 * @param [in] E         The bytes of each element.
 * @param [in] indirect  0: `dbytes` are the data. Else: pointers to them.
 * @param [in] userstr   The user string: `*len` bytes of any value, at most 58. NULL only if
 *                       `*len` is 0.
 * @param [in] len       The bytes of `userstr`. NULL: it is a C string.
 * @param [in] encode    `SCDA_ENCODE_NONE`, `SCDA_ENCODE_ALWAYS` or `SCDA_ENCODE_AUTO`.
 * @param [out] err      The error code; NULL if not wanted.
 * @return               `f`, or NULL on error; the file is then closed and its context freed.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_MEMORY`, and those of the
 * file system.
 * Spec: 2.5, 3.3, A.4.3.
 */
scda_fcontext_t *scda_fwrite_array(scda_fcontext_t *f,
                                   const void *dbytes,
                                   const uint64_t *Nq,
                                   uint64_t E,
                                   int indirect,
                                   const char *userstr,
                                   const size_t *len,
                                   int encode,
                                   int *err);

/**
 * Writes an array of elements of their own sizes, which are distributed over the ranks in their
 * order.
 *
 * Collective; all arguments but `dbytes` and `Ei` agree on all ranks (`indirect` may differ).
 *
 * @param [in] f         The file, open for writing.
 * @param [in] dbytes    This rank's elements, one after the other, or with `indirect` an array of
 *                       a pointer to each. NULL only if they have no bytes.
 * @param [in] Nq        The elements of each rank: one entry per rank.
 * @param [in] Ei        The bytes of each element of this rank. NULL only if there are none.
 * @param [in] Sq        The bytes of all elements of each rank: one entry per rank. NULL: computed.
 * @param [in] indirect  0: `dbytes` are the data. Else: pointers to them.
 * @param [in] userstr   The user string: `*len` bytes of any value, at most 58. NULL only if
 *                       `*len` is 0.
 * @param [in] len       The bytes of `userstr`. NULL: it is a C string.
 * @param [in] encode    `SCDA_ENCODE_NONE`, `SCDA_ENCODE_ALWAYS` or `SCDA_ENCODE_AUTO`.
 * @param [out] err      The error code; NULL if not wanted.
 * @return               `f`, or NULL on error; the file is then closed and its context freed.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_MEMORY`, and those of the
 * file system.
 * Spec: 2.6, 3.4, A.4.4.
 */
scda_fcontext_t *scda_fwrite_varray(scda_fcontext_t *f,
                                    const void *dbytes,
                                    const uint64_t *Nq,
                                    const uint64_t *Ei,
                                    const uint64_t *Sq,
                                    int indirect,
                                    const char *userstr,
                                    const size_t *len,
                                    int encode,
                                    int *err);

/**
 * Reads the header of the next section. The data must then be read, or skipped, by the function
 * for the section's type.
 *
 * Collective; `*decode` agrees on all ranks, and what is written is the same on all.
 *
 * At the end of the file `*err` is `SCDA_ERR_EOF`, nothing else is written, and `f` is returned:
 * the file stays open.
 *
 * @param [in] f           The file, open for reading.
 * @param [out] type       The type: 'I', 'B', 'A' or 'V'; NULL if not wanted.
 * @param [out] N          The elements of an array ('A') or varray ('V'), else 0; NULL if not
 *                         wanted.
 * @param [out] E          The bytes of a block ('B') or of each element of an array ('A'), else 0;
 *                         NULL if not wanted.
 * @param [out] userstr    Filled with the user string and a NUL: room for 59 bytes, or NULL if not
 *                         wanted.
 * @param [out] len        The bytes of the user string; NULL if not wanted.
 * @param [in,out] decode  In: nonzero to decompress a compressed section. Out: whether this section
 *                         is decompressed; type, N, E and user string are then those of the data
 *                         before compression. NULL: nothing is decompressed.
 * @param [out] err        The error code; NULL if not wanted.
 * @return                 `f`, or NULL on error; the file is then closed and its context freed.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_FORMAT`, `SCDA_ERR_COUNT`, `SCDA_ERR_RANGE`,
 * `SCDA_ERR_DECODE`, and those of the file system.
 * Spec: A.5.1.
 */
scda_fcontext_t *scda_fread_section_header(scda_fcontext_t *f,
                                           char *type,
                                           uint64_t *N,
                                           uint64_t *E,
                                           char *userstr,
                                           size_t *len,
                                           int *decode,
                                           int *err);

/**
 * Reads the data of an inline section, or skips them.
 *
 * Collective; `root` agrees on all ranks.
 *
 * @param [in] f        The file, open for reading, after the header of a section 'I'.
 * @param [out] dbytes  On `root` filled with 32 bytes; NULL there skips them. Ignored on other
 *                      ranks.
 * @param [in] root     The rank that gets the data.
 * @param [out] err     The error code; NULL if not wanted.
 * @return              `f`, or NULL on error; the file is then closed and its context freed.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, and those of the file system.
 * Spec: A.5.2.
 */
scda_fcontext_t *scda_fread_inline_data(scda_fcontext_t *f, void *dbytes, int root, int *err);

/**
 * Reads the data of a block, or skips them.
 *
 * Collective; `E` and `root` agree on all ranks.
 *
 * @param [in] f        The file, open for reading, after the header of a section 'B'.
 * @param [out] dbytes  On `root` filled with `E` bytes; NULL there skips them. Ignored on other
 *                      ranks. After an error the contents are unspecified.
 * @param [in] E        The bytes of the block, as the header said.
 * @param [in] root     The rank that gets the data.
 * @param [out] err     The error code; NULL if not wanted.
 * @return              `f`, or NULL on error; the file is then closed and its context freed.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_DECODE`, `SCDA_ERR_MEMORY`, and those of the
 * file system.
 * Spec: A.5.3.
 */
scda_fcontext_t *scda_fread_block_data(scda_fcontext_t *f,
                                       void *dbytes,
                                       uint64_t E,
                                       int root,
                                       int *err);

/**
 * Reads the data of an array, or skips them.
 *
 * Collective; `Nq` and `E` agree on all ranks (`indirect` may differ).
 *
 * @param [in] f         The file, open for reading, after the header of a section 'A'.
 * @param [out] dbytes   Filled with this rank's elements, one after the other; with `indirect` an
 *                       array of a pointer to the memory of each, where NULL skips the element.
 *                       NULL skips all elements of this rank. After an error the contents are
 *                       unspecified.
 * @param [in] Nq        The elements of each rank: one entry per rank, whose sum is N.
 * @param [in] E         The bytes of each element, as the header said.
 * @param [in] indirect  0: `dbytes` is for the data. Else: it has pointers.
 * @param [out] err      The error code; NULL if not wanted.
 * @return               `f`, or NULL on error; the file is then closed and its context freed.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_COUNT`,
 * `SCDA_ERR_FORMAT`, `SCDA_ERR_DECODE`, `SCDA_ERR_MEMORY`, and those of the file system.
 * Spec: A.5.4.
 */
scda_fcontext_t *scda_fread_array_data(scda_fcontext_t *f,
                                       void *dbytes,
                                       const uint64_t *Nq,
                                       uint64_t E,
                                       int indirect,
                                       int *err);

/**
 * Reads the sizes of the elements of a varray, or skips them. To be called before
 * `scda_fread_varray_data`.
 *
 * Collective; `Nq` agrees on all ranks.
 *
 * @param [in] f     The file, open for reading, after the header of a section 'V'.
 * @param [out] Ei   Filled with the bytes of each element of this rank; NULL skips them on this
 *                   rank.
 * @param [in] Nq    The elements of each rank: one entry per rank, whose sum is N.
 * @param [out] err  The error code; NULL if not wanted.
 * @return           `f`, or NULL on error; the file is then closed and its context freed.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_COUNT`,
 * `SCDA_ERR_FORMAT`, `SCDA_ERR_DECODE`, and those of the file system.
 * Spec: A.5.5.
 */
scda_fcontext_t *scda_fread_varray_sizes(scda_fcontext_t *f,
                                         uint64_t *Ei,
                                         const uint64_t *Nq,
                                         int *err);

/**
 * Reads the data of a varray, or skips them, after `scda_fread_varray_sizes`.
 *
 * Collective; `Nq` and `Sq` agree on all ranks (`indirect` may differ). `Nq` need not be that with
 * which the sizes were read.
 *
 * @param [in] f         The file, open for reading, after the sizes of a section 'V'.
 * @param [out] dbytes   Filled with this rank's elements, one after the other; with `indirect` an
 *                       array of a pointer to the memory of each, where NULL skips the element.
 *                       NULL skips all elements of this rank. After an error the contents are
 *                       unspecified.
 * @param [in] Nq        The elements of each rank: one entry per rank, whose sum is N.
 * @param [in] Ei        The bytes of each element of this rank, as in the file; ignored if `dbytes`
 *                       is NULL. NULL only if there are none.
 * @param [in] Sq        The bytes of all elements of each rank: one entry per rank. NULL: computed.
 * @param [in] indirect  0: `dbytes` is for the data. Else: it has pointers.
 * @param [out] err      The error code; NULL if not wanted.
 * @return               `f`, or NULL on error; the file is then closed and its context freed.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_COUNT`,
 * `SCDA_ERR_FORMAT`, `SCDA_ERR_DECODE`, `SCDA_ERR_MEMORY`, and those of the file system.
 * Spec: A.5.6.
 */
scda_fcontext_t *scda_fread_varray_data(scda_fcontext_t *f,
                                        void *dbytes,
                                        const uint64_t *Nq,
                                        const uint64_t *Ei,
                                        const uint64_t *Sq,
                                        int indirect,
                                        int *err);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SCDA_H */
