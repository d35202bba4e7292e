/* Generated from crates/c/src by cbindgen: do not edit. SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file scda.h
 * Parallel, serial-equivalent, archival files: the scda format.
 *
 * Any number of ranks write a file, and any other number read it, each with any partition of the
 * elements. The bytes of the file depend only on the data and on the chosen line breaks.
 *
 * Order of calls. To write: `scda_fopen_write`, any of `scda_fwrite_*`, `scda_fclose`. To read:
 * `scda_fopen_read`, for each section `scda_fread_section_header` and then the function for its
 * type ('V': `scda_fread_varray_sizes`, then `scda_fread_varray_data`), `scda_fclose`. Instead of all
 * data of a section, any ranges of it can be read: `scda_fread_*_range`. To append: `scda_fopen_append`,
 * then the functions for writing. Datasets are named, typed arrays; streams are bytes that each rank
 * writes independently of the others: see below.
 *
 * Collective. All ranks of the file's communicator call a collective function, in the same order.
 * They pass the same arguments except where the description of the function says otherwise. Functions
 * whose names begin with `scda_f` are collective, except `scda_ferror_string`, and so are `scda_proc_*`, `scda_partition_*`,
 * `scda_wait` and `scda_stop_requested`. All others are local, such as `scda_stream_write`, `scda_stream_read` and
 * `scda_get_info`. A collective call need not synchronize the ranks.
 *
 * Parameters. What follows holds for all functions.
 *
 * `f` is an open file. A function that returns a file returns `f`, or NULL on error. NULL in, NULL out: a call on the NULL of
 * a failed call does nothing, returns NULL (or -1, if it returns an int), and keeps `*err`, so a program may check once after
 * several calls. If `*err` is no error code, NULL is `SCDA_ERR_ARG`.
 *
 * No two output arguments of a call may point to the same variable.
 *
 * `err` receives the error code, unless it is NULL. The program must set it beforehand only if `f` may be NULL, or if `scda_wait` gets
 * an empty request.
 *
 * Structs that begin with `size` may gain members at their end from version to version. A program that was compiled with
 * an older header works: members that it does not know have their defaults. A program that was compiled with a newer header works as
 * long as the members that this library does not know are zero; otherwise the call returns `SCDA_ERR_ARG`.
 *
 * `userstr` and `len` are a user string: at most 58 bytes of any value. As input it has `*len` bytes,
 * or it is a C string if `len` is NULL; `userstr` may be NULL if `*len` is 0. As output `userstr` has
 * room for 59 bytes and receives the user string and a NUL, and `*len` receives its length in bytes;
 * both may be NULL.
 *
 * `root` is the rank that has the data of a section that is not distributed. Other ranks' `dbytes` are
 * ignored.
 *
 * `Nq` has one entry per rank, the number of elements on that rank; their sum is the number of elements
 * N of the section. Its length, and the time to read it, grow with the number of ranks; the `Nq` of an `scda_partition_t`, which
 * is made once, stands for it in every function. `Sq` has one entry per rank, the number of bytes of all elements on that rank; if it
 * is NULL, the library computes it. `Ei` has one entry per element on this rank, its size in bytes; it
 * may be NULL if there are none.
 *
 * `dbytes` are the data of this rank. If `indirect` is 0, they are the bytes of all elements, one after
 * the other; otherwise an array of pointers, one to the bytes of each element. A pointer to no bytes may
 * be NULL. When reading, NULL `dbytes` skip the data of this rank, and a NULL pointer skips its element;
 * after an error the contents of the memory are unspecified. `indirect` may differ between the ranks.
 *
 * `encode` is `SCDA_ENCODE_NONE`, `SCDA_ENCODE_ALWAYS` or `SCDA_ENCODE_AUTO`.
 *
 * Errors. A collective call sets `*err` to 0 or to one of the codes below, the same on all ranks. On error
 * the file is closed and its context freed: there is nothing left to close. The end of the file is no error
 * when a header is read: `*err` is `SCDA_ERR_EOF`, and the file stays open. If the ranks disagree on an
 * argument, all get `SCDA_ERR_ARG`. A call that is not collective, such as `scda_stream_write` or
 * `scda_stream_read`, returns the error of its rank, and the file stays open. `scda_last_error_message`
 * returns a text that says what was found and what was expected.
 *
 * Buffered sections. Small plain sections are buffered, as with stdio, and the ranks do not communicate
 * in those calls. So an error that only one rank can detect in them, such as NULL data, or a
 * disagreement of the ranks, is returned on all ranks by a later call, at the latest by `scda_fflush` or
 * `scda_fclose`; until then `*err` is 0. A rank that passes an invalid argument, one that should be the
 * same on all ranks, blocks until the other ranks reach a synchronizing call. With `params.check`, or
 * with the environment variable `SCDA_CHECK=1`, every collective call synchronizes the ranks and returns all
 * errors at once: use it while a program is new, or when it hangs.
 *
 * A full disk is detected when the buffer is written, even with `params.check`. A file that exceeds the
 * limit on the size of files (RLIMIT_FSIZE) is an error only if the program ignores the signal SIGXFSZ,
 * which otherwise ends it.
 *
 * If a call fails because of its arguments or the order of calls, the file keeps the sections before
 * that call; with `params.atomic` an existing file stays as it was. After an error of the file system or
 * of MPI, buffered sections may be missing.
 *
 * Sealed files. Unless `params.seal` is 0, or `scda_fopen` has created it, a file gets a seal at close and at each `scda_fcommit`: a record of all
 * sections with their checksums. The seal at the end shows readers that the file is whole;
 * `scda_fsections`, `scda_ffind` and `scda_fseek` use it to find a section without reading those before it;
 * `params.verify` uses it to detect changed bytes. A job that is killed while it appends loses only what it
 * wrote since the last seal: `scda_fopen_append` continues there. Seals are sections that any reader of the
 * scda format can read; the functions for reading skip them.
 *
 * Datasets. A dataset is a named array of numbers that says what it holds: type, dimensions, and attributes
 * such as units. `scda_fwrite_dataset` writes one of which each rank has any boxes, `scda_fwrite_field` one that
 * is distributed along its first dimension, of which each rank has its own number of rows, and
 * `scda_fwrite_datasets` several in one call. To read: `scda_ffind_dataset` finds one by its name, and
 * `scda_fread_dataset` reads any boxes of it; several can be found first, and read in any order.
 * `scda_fread_datasets` finds several by their names and reads boxes of each, in one call. A box is a first index
 * and a number of indices in each dimension; its items are in memory in C order, or where `scda_box_t` says.
 * Several datasets of one name are records, such as time steps. The part of a name before a slash is a group, to
 * which `scda_fwrite_group` gives attributes. Readers that do not know datasets see a block with the metadata,
 * and an array or varray.
 *
 * Streams. A set of streams has one for each rank, to which the rank writes bytes independently of the others:
 * `scda_fwrite_streams_begin`, then `scda_stream_write` on each rank, any number of times, then
 * `scda_fwrite_streams_end`. To read: `scda_ffind_streams` finds a set by its user string; then each rank reads any
 * bytes of any streams, by `scda_stream_size` and `scda_stream_read`. Readers that do not know streams see a
 * block and two arrays.
 *
 * Lists. Each call of `scda_fnext_entry` returns the next entry of a file: a dataset with its type and shape, a group,
 * a set of streams, or another section. Neither this nor any function for datasets, groups and streams changes the
 * position at which `scda_fread_section_header` continues.
 *
 * Environment. Variables set what the parameters leave to the library: docs/administrators.md has a table of all. `SCDA_IO`, `mpi` or
 * `posix`: the driver. `SCDA_COHERENT`, 0 or 1: whether all nodes see at once what one has written. `SCDA_CHECK=1`: as `params.check`.
 * `SCDA_WRITERS_PER_NODE`, `SCDA_STRIPE_BYTES` and `SCDA_BACKGROUND_BYTES`, numbers: as the parameters of these names, where they are 0.
 * The values of rank 0 count, except that any rank may set `SCDA_SHARED_MEMORY=0`: the ranks of a node share no memory; and that all
 * ranks set `SCDA_STATISTICS=1`: rank 0 prints a line for each file that is closed, see `scda_get_statistics`; and `SCDA_NODE_RANKS=k`: k
 * consecutive ranks count as a node, to try several nodes on one machine. Another value of any of them, on any rank, is an error of
 * opening a file, `SCDA_ERR_ARG`, with a message that names the variable.
 *
 * Memory. The program keeps ownership of all memory that it passes, and the library uses it only during the call,
 * except for data with `params.lend`. Text and fill values that a function returns belong to the file. Counts are
 * in elements, sizes in bytes.
 *
 * Threads. One thread at a time uses a file, within the level of thread support that MPI provides.
 *
 * Floating-point numbers. The library computes in the default floating-point environment. So the rounding mode of the program, the
 * exceptions that it traps, and whether it treats denormal numbers as zero (`-ffast-math`), on any rank or thread, change neither
 * bytes nor values. When a call returns, the environment of the program and its exception flags are as before.
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
#define SCDA_VERSION_MINOR 2

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
 * A function was called out of order, or on a file that is closed.
 */
#define SCDA_ERR_USAGE 15001

/**
 * A compressed section violates the compression convention.
 */
#define SCDA_ERR_DECODE 15002

/**
 * An argument is invalid, or the ranks disagree on one.
 */
#define SCDA_ERR_ARG 15003

/**
 * The file is shorter than its sections need: it was truncated, or is incomplete.
 */
#define SCDA_ERR_COUNT 15004

/**
 * The file has a version of the scda format that this library does not support.
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
 * A bug in this library. Possibly only one rank knows about it: call `MPI_Abort`, and report the bug.
 */
#define SCDA_ERR_INTERNAL 15009

/**
 * A call to MPI failed that does not access a file.
 */
#define SCDA_ERR_MPI 15010

/**
 * The bytes of a sealed file differ from its checksums: the file is damaged.
 */
#define SCDA_ERR_CHECKSUM 15011

/**
 * The file has no such dataset, record, group, field or time step, perhaps because another version of the program
 * wrote it.
 */
#define SCDA_ERR_NOT_FOUND 15012

/**
 * The file, or a folder of its path, does not exist.
 */
#define SCDA_ERR_NO_SUCH_FILE 15020

/**
 * Permission denied.
 */
#define SCDA_ERR_ACCESS 15021

/**
 * The device is full, or the file must not become larger.
 */
#define SCDA_ERR_NO_SPACE 15022

/**
 * A quota is exhausted.
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
 * The name cannot be used: it is that of a folder or a device, or is too long.
 */
#define SCDA_ERR_BAD_FILE 15026

/**
 * Another process uses the file.
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
 * The default. libdeflate compresses long elements with repetitions, and an encoder of this library
 * compresses the others.
 */
#define SCDA_ENCODER_FAST 0

/**
 * zlib compresses: the streams are those of its function `compress2`.
 */
#define SCDA_ENCODER_ZLIB 1

/**
 * The library chooses. With hints in `info` it uses MPI-IO. Otherwise it uses POSIX if all ranks are on one
 * node, on file systems known to be coherent between nodes (local ones, Lustre, GPFS, BeeGFS, OCFS2, GFS2),
 * and on NFS; and MPI-IO on all others. The environment variable `SCDA_IO` of rank 0, `mpi` or `posix`,
 * overrides the choice by file system.
 */
#define SCDA_DRIVER_AUTO 0

/**
 * MPI-IO. An argument error in a build without MPI.
 */
#define SCDA_DRIVER_MPIIO 1

/**
 * Every rank calls `pwrite` and `pread`. In writing, this is an argument error if the ranks are on several
 * nodes and the file system is neither NFS nor known to be coherent between them, because ranks would
 * overwrite each other's bytes within a page. If yours is coherent, set the environment variable
 * `SCDA_COHERENT=1` of rank 0. On NFS, ranks on several nodes need a mount that supports locks on bytes
 * (`fcntl`), at least local ones: `SCDA_ERR_IO` otherwise.
 */
#define SCDA_DRIVER_POSIX 2

/**
 * The longest user string in bytes.
 */
#define SCDA_USER_STRING_BYTES 58

/**
 * The size of an inline section's data in bytes.
 */
#define SCDA_INLINE_BYTES 32

/**
 * The number of words in `scda_partition_t` that replace the counts of all ranks.
 */
#define SCDA_PARTITION_WORDS 8

/**
 * A section is not compressed; a dataset is stored uncompressed in C order. The default of a dataset.
 */
#define SCDA_ENCODE_NONE 0

/**
 * A section is compressed; a dataset is divided into chunks, which are compressed by its `codec`.
 */
#define SCDA_ENCODE_ALWAYS 1

/**
 * A section is compressed if that makes it smaller. The library first examines a sample of the data. If the
 * sample would grow by more than a sixteenth, the section is not compressed; otherwise the whole section is
 * compressed, and the exact size decides. Repetitions that are far apart may not be noticed. The choice
 * depends only on the data, the encoder and the level, not on the partition. A reader that decompresses sees
 * no difference.
 * A dataset is divided into chunks and compressed if that makes data and metadata smaller, otherwise
 * uncompressed. The choice depends only on the data: of all chunks, or of 32 of them if these do not become
 * smaller. After reading, the value is never `AUTO`.
 */
#define SCDA_ENCODE_AUTO 2

/**
 * Only for datasets: like `SCDA_ENCODE_ALWAYS`, but compressed by the convention of the scda format, as
 * text, which is a third larger.
 */
#define SCDA_ENCODE_TEXT 3

/**
 * The most dimensions of a dataset.
 */
#define SCDA_MAX_DIMS 32

/**
 * The size of a dataset's name with a NUL: a name has at most `SCDA_USER_STRING_BYTES` bytes.
 */
#define SCDA_NAME_BYTES 64

/**
 * Chunks are compressed by Zstandard after a byte shuffle, in Blosc frames, by default at level 1:
 * fast and small. The default.
 */
#define SCDA_CODEC_ZSTD 0

/**
 * Chunks are compressed by LZ4 after a byte shuffle, in Blosc frames, by default at level 1: faster,
 * and a little larger. For disks that are faster than Zstandard.
 */
#define SCDA_CODEC_LZ4 1

/**
 * Chunks are Pcodec files, by default of level 8, which are the smallest for integers of 16 to 64
 * bits and for floating-point numbers. Other types are compressed by Zstandard, by default at level
 * 9. For archives.
 */
#define SCDA_CODEC_PCODEC 2

/**
 * Chunks are zlib streams (RFC 1950) after a byte shuffle, by default at the level of the file, for
 * readers that have only zlib.
 */
#define SCDA_CODEC_ZLIB 3

/**
 * Items of 1 byte that is 0 or 1; writing another value is `SCDA_ERR_ARG`.
 */
#define SCDA_TYPE_BOOL 1

/**
 * Signed integers of 8 bits: `int8_t`.
 */
#define SCDA_TYPE_INT8 2

/**
 * Signed integers of 16 bits: `int16_t`.
 */
#define SCDA_TYPE_INT16 3

/**
 * Signed integers of 32 bits: `int32_t`.
 */
#define SCDA_TYPE_INT32 4

/**
 * Signed integers of 64 bits: `int64_t`.
 */
#define SCDA_TYPE_INT64 5

/**
 * Unsigned integers of 8 bits: `uint8_t`.
 */
#define SCDA_TYPE_UINT8 6

/**
 * Unsigned integers of 16 bits: `uint16_t`.
 */
#define SCDA_TYPE_UINT16 7

/**
 * Unsigned integers of 32 bits: `uint32_t`.
 */
#define SCDA_TYPE_UINT32 8

/**
 * Unsigned integers of 64 bits: `uint64_t`.
 */
#define SCDA_TYPE_UINT64 9

/**
 * Floating-point numbers of 16 bits (IEEE 754 binary16).
 */
#define SCDA_TYPE_FLOAT16 10

/**
 * Floating-point numbers of 32 bits: `float`.
 */
#define SCDA_TYPE_FLOAT32 11

/**
 * Floating-point numbers of 64 bits: `double`.
 */
#define SCDA_TYPE_FLOAT64 12

/**
 * Two numbers of type `float`, the real part first: `float complex`.
 */
#define SCDA_TYPE_COMPLEX64 13

/**
 * Two numbers of type `double`, the real part first: `double complex`.
 */
#define SCDA_TYPE_COMPLEX128 14

/**
 * Items of `item_bytes` bytes, 1 to 65536, without further meaning: their order never changes.
 */
#define SCDA_TYPE_RAW 15

/**
 * Points in time: `int64_t` that count the `unit` of the dataset since the beginning of 1970; `INT64_MIN`
 * means none.
 */
#define SCDA_TYPE_DATETIME64 16

/**
 * Time spans: `int64_t` that count the `unit` of the dataset; `INT64_MIN` means none.
 */
#define SCDA_TYPE_TIMEDELTA64 17

/**
 * Texts in UTF-32 of at most `item_bytes` / 4 characters; shorter ones are padded with zeros.
 */
#define SCDA_TYPE_TEXT 18

/**
 * Strings of at most `item_bytes` bytes, such as `char[8]`; shorter ones are padded with zeros.
 */
#define SCDA_TYPE_BYTES 19

/**
 * Structs of `item_bytes` bytes in memory with the `members` of the dataset. In the file they have no gaps.
 */
#define SCDA_TYPE_STRUCT 20

/**
 * Texts of any length, in UTF-8: written by `scda_fwrite_texts`, read by `scda_fread_texts_sizes`.
 */
#define SCDA_TYPE_STRING 21

/**
 * Byte strings of any length, likewise.
 */
#define SCDA_TYPE_VARIABLE_BYTES 22

/**
 * The record of a name that is used by default: a program that restarts wants the last one.
 */
#define SCDA_LAST -1

/**
 * A dataset.
 */
#define SCDA_ENTRY_DATASET 1

/**
 * A group with attributes.
 */
#define SCDA_ENTRY_GROUP 2

/**
 * A set of streams of tasks.
 */
#define SCDA_ENTRY_STREAMS 3

/**
 * Any other section.
 */
#define SCDA_ENTRY_SECTION 4

/**
 * A dataset, group or set of streams that this library cannot read, because it is invalid or has an unknown
 * type: only its name is known. Right after `scda_fnext_entry`, `scda_last_error_message` says why; finding
 * it is an error.
 */
#define SCDA_ENTRY_UNKNOWN 5

/**
 * A result of `scda_fread_field`: the file has the field.
 */
#define SCDA_FIELD_FOUND 1

/**
 * Also: the file has it by its old name.
 */
#define SCDA_FIELD_RENAMED 2

/**
 * Also: its items have another type in the file, and were converted.
 */
#define SCDA_FIELD_CONVERTED 4

/**
 * Also: its elements have another number of components in the file; those that both have were read.
 */
#define SCDA_FIELD_COMPONENTS 8

/**
 * Stop on the signal SIGTERM, which Slurm and others send before they kill a job.
 */
#define SCDA_STOP_TERM 1

/**
 * Stop on SIGUSR1, for example with Slurm's `--signal`.
 */
#define SCDA_STOP_USR1 2

/**
 * Stop on SIGUSR2, which LSF sends when the time of a job is over.
 */
#define SCDA_STOP_USR2 4

/**
 * Stop on SIGINT, which Ctrl-C sends.
 */
#define SCDA_STOP_INT 8

/**
 * Stop on SIGXCPU, at the limit of processor time.
 */
#define SCDA_STOP_XCPU 16

/**
 * A file that is open for writing or reading. Opaque.
 */
struct scda_fcontext;

/**
 * Parameters for opening a file. They must be the same on all ranks, except for `threads`. Fill them by
 * `scda_params_init`, then change what you need. They are used only during the call that opens the file.
 *
 * There are four parts: for every call, from `threads` on; for writing, from `linebreak` on; `keep`, for
 * writing and reading; and for reading, from `to_seal` on. They are in one struct, so that a program can
 * write and read a file with the same parameters. Reading ignores those for writing. In writing, those for
 * reading must have their defaults: `SCDA_ERR_ARG` otherwise.
 */
struct scda_params {
  /**
   * The size of this struct in bytes, as `scda_params_init` sets it. It may be that of an older or newer version.
   */
  size_t size;
  /**
   * Every call:
   *
   * The number of threads with which this rank compresses or decompresses the elements of a section, 1
   * (default) to 1024. It may differ between ranks, and does not affect the file.
   */
  int threads;
  /**
   * `SCDA_DRIVER_AUTO` (default), `SCDA_DRIVER_MPIIO` or `SCDA_DRIVER_POSIX`.
   */
  int driver;
  /**
   * Hints for MPI-IO. `MPI_INFO_NULL` (default): none. They continue to belong to the caller. With
   * `SCDA_DRIVER_POSIX` they are an argument error; a build without MPI ignores them.
   */
  MPI_Info info;
  /**
   * The most bytes of memory for small sections, which are buffered in writing and read ahead in reading:
   * 4 MiB (default), at most 64 MiB. The library uses less where that is as fast. 0: every section is
   * written at once.
   */
  uint64_t aggregation_bytes;
  /**
   * For large sections of which a rank has less than a stripe on average: the number of aggregators, that
   * is, ranks of each node that write and read whole stripes for all its ranks, through shared memory; at
   * most 1024. 0 (default): if the ranks are on several nodes, one for each stripe of a node's data, at
   * most 8; on a single node, each rank accesses its own bytes. No effect if the ranks of a node cannot
   * share memory. If this is 0, the environment variable `SCDA_WRITERS_PER_NODE` of rank 0 is used
   * instead.
   */
  uint64_t writers_per_node;
  /**
   * The size of a stripe of the file in bytes, which a parallel file system locks as a whole; at most 4
   * GiB. 0 (default): on Lustre, the stripe size of the file; elsewhere its block size, if it is at least
   * 64 KiB or `writers_per_node` is given. If this is 0, the environment variable `SCDA_STRIPE_BYTES` of
   * rank 0 is used instead.
   */
  uint64_t stripe_bytes;
  /**
   * On Lustre, the number of stripes of a new file that the POSIX driver writes, at most 2000; a server
   * may store several of them. 0 (default): two for each node, of `stripe_bytes` or 4 MiB each, if the
   * ranks are on several nodes and neither the folder nor the file system has a layout that somebody
   * chose. If Lustre refuses, and on other file systems, the file has the file system's default layout. If
   * this is 0, the environment variable `SCDA_STRIPE_COUNT` of rank 0 is used instead.
   */
  uint64_t stripe_count;
  /**
   * Reading, and opening to append: the most bytes of memory that a call allocates on each rank on behalf
   * of the file, for a single object and in all; `SCDA_ERR_MEMORY` if it needs more, with a message that
   * gives the offset. Meant for files of unknown origin, in which a few bytes can claim a chunk, an index
   * or metadata of any size. Caches take at most a quarter of it; buffers of a few MiB count as well,
   * memory of the program does not. At most 2^63 - 1; 0 (default): no limit.
   */
  uint64_t max_memory;
  /**
   * 1: to find mistakes in a program, the ranks agree on errors and compare their arguments in every call,
   * by one small reduction. The environment variable `SCDA_CHECK=1` of rank 0 has the same effect in any
   * program. 0 (default): they do so only in calls that synchronize the ranks anyway.
   */
  int check;
  /**
   * Writing:
   *
   * `SCDA_LINEBREAK_UNIX` (default) or `SCDA_LINEBREAK_MIME`.
   */
  int linebreak;
  /**
   * `SCDA_ENCODER_FAST` (default) or `SCDA_ENCODER_ZLIB`.
   */
  int encoder;
  /**
   * The level of compression, 0 to 9 (default 2).
   */
  int level;
  /**
   * 1: the file gets its name only when it is complete, at close. Until then it is next to that name under
   * a name that ends in ".scda-part", and an existing file does not change. What a killed job leaves under
   * that name is replaced by the next job. Implies `sync`, unless that is -1. Links are followed, and the
   * permissions of an existing file are kept. 0 (default): the file is written under its name.
   */
  int atomic;
  /**
   * 1: closing brings the file to stable storage. 0 (default): the system does so later, unless `atomic`
   * is 1. -1: later, even with `atomic`: if the job is killed, the name belongs to the old file or the new
   * one; after a crash of the system, it may belong to an incomplete file.
   */
  int sync;
  /**
   * 1 (default): `scda_fclose` and `scda_fcommit` write a seal: a record of all sections with their
   * checksums, with which readers recognize a complete file and find each section. Each section takes 160
   * bytes in it. The header of a new file says that the file is to be sealed, and is on stable storage
   * when `scda_fopen_write` returns; `scda_fopen_append` removes sections that no seal covers. 0: bare
   * sections: the file has only what the program writes, unless it has a seal already
   * (`scda_fopen_append`).
   */
  int seal;
  /**
   * Whether a file with `seal` and datasets is also an HDF5 file, which h5py, h5dump, netCDF-4 and other
   * programs open without conversion (docs/hdf5.md). 0 (default) or 1: closing it writes a view of its
   * datasets, also after every later append. 2: each commit does so, too. -1: a new file has no room for a
   * view. If the creator of the file chose -1, closing never writes a view, and 2 is `SCDA_ERR_ARG`, as is
   * creating a file with 2 and without `seal`.
   */
  int hdf5;
  /**
   * For appending to a sealed file: the number of sections to keep, wherever the commits were; 0
   * (default): those up to the last seal. The rest is removed, at once unless `atomic` is 1.
   * `SCDA_ERR_ARG`, without changing the file, if the file has fewer sections, or if the last of them
   * belongs together with the next one, as the metadata of a dataset do. `append_name` needs no numbers of
   * sections.
   */
  uint64_t append_after;
  /**
   * For appending to a sealed file: continues after a step. NULL (default): after everything that was
   * committed. Otherwise a C string with the name of the dataset that the program writes first in each
   * step, such as its time: everything before the record of it that follows `append_record` is kept; this
   * record and everything after it are removed, wherever the commits were, at once unless `atomic` is 1.
   * For patches, particles and forests, the path of the group with a slash at its end, such as "amr/". Not
   * together with `append_after`. The string must remain valid until the file is opened.
   */
  const char *append_name;
  /**
   * With `append_name`: the step after which the program continues: 0 is the first record, -1 (default)
   * the last. `SCDA_ERR_NOT_FOUND`, without changing the file, if there is no such record; `SCDA_ERR_ARG`
   * for any other number than -1 without `append_name`.
   */
  int64_t append_record;
  /**
   * The most bytes of memory on each rank for writing in the background, at least 1 MiB: calls copy their
   * data, which a thread of the file writes without calling MPI. See `scda_fcommit_begin`. An argument
   * error with MPI-IO. 0 (default): every call writes its data itself. If this is 0, the environment
   * variable `SCDA_BACKGROUND_BYTES` of rank 0 is used instead, except with MPI-IO.
   */
  uint64_t background_bytes;
  /**
   * Writing with `background_bytes`: 1: the program promises neither to change nor to free the data of a
   * call that writes until it has waited for the next commit or close, or called `scda_fflush`.
   * Uncompressed data of at least 64 KiB that are contiguous in memory are then written from there without
   * a copy, and take none of `background_bytes`; this does not apply to `scda_fwrite_datasets`, nor after
   * compressed datasets whose offsets are not known yet. 0 (default): data may be changed as soon as a
   * call returns.
   */
  uint64_t lend;
  /**
   * Writing and reading:
   *
   * Writing with `atomic`: how many of the files that had this name before are kept. When the new file is
   * complete and on stable storage, the file with the name, `state.scda`, becomes `state.1.scda`, that one
   * `state.2.scda`, and so on; the oldest one is removed. Each of them is a whole file at any moment,
   * except on file systems without hard links. Only whole files are renamed and removed: a number whose
   * name belongs to anything else is skipped. At most 1000. 0 (default): none is kept. Not with `sync` -1.
   * If the name is a link, these files are in the folder of the file that it refers to.
   *
   * Reading: how many of them may stand in for a file that is missing, or has no seal because it is torn
   * or damaged. The newest one with a seal is read, up to its last one; `scda_get_info` returns its age.
   * So a job restarts from the last complete state. `SCDA_ERR_FORMAT` if the file exists and none of them
   * has a seal, otherwise the error of the file. 0 (default): none, and the file needs no seal. Not with
   * `to_seal` 0.
   */
  uint64_t keep;
  /**
   * Reading:
   *
   * For a file that was created with `seal`: 1 (default): it ends after its last seal, and before the
   * first one after its header. What follows has not been committed by a job that was killed or is still
   * writing: `scda_get_info` and `scda_last_error_message` report its size, and `scda_frefresh` checks
   * whether it has been committed meanwhile. 0: all complete sections are read.
   */
  int to_seal;
  /**
   * 1: all ranks together compare the bytes of each section with its checksum before its header is
   * returned; on opening, they compare those of the file header and the seal. `SCDA_ERR_CHECKSUM` if they
   * differ, or if the readable part does not end with a seal. 0 (default): the bytes of sections are not
   * compared.
   */
  int verify;
  /**
   * The most bytes of decompressed chunks of datasets that each rank keeps for later boxes: 16 MiB
   * (default). At most 2^63 - 1; 0: none. A call that reads several boxes, or most items of its chunks, keeps none.
   */
  uint64_t cache_bytes;
};

/**
 * Parameters for opening a file.
 */
typedef struct scda_params scda_params_t;

/**
 * A file that is open for writing or reading. Opaque.
 */
typedef struct scda_fcontext scda_fcontext_t;

/**
 * The distribution of the elements of arrays over the ranks, made once by `scda_partition_local` or
 * `scda_partition_counts`. Its `Nq` can be passed wherever a function takes `Nq`: the call then takes the
 * same time on any number of ranks, and the program needs no array with a number for each rank. It is valid
 * for all files of the communicator, and need not be freed.
 */
struct scda_partition {
  /**
   * Replaces the number of elements on each rank. Only the library interprets these numbers.
   */
  uint64_t Nq[SCDA_PARTITION_WORDS];
  /**
   * The number of elements on lower ranks, which is the index of this rank's first element.
   */
  uint64_t offset;
  /**
   * The number of elements on this rank.
   */
  uint64_t count;
  /**
   * The number of elements on all ranks.
   */
  uint64_t total;
};

/**
 * The distribution of the elements of arrays over the ranks.
 */
typedef struct scda_partition scda_partition_t;

/**
 * A commit or close that has begun, to be completed by `scda_wait`. Its members belong to the library. A
 * request is waited for once; a copy of it is the same request.
 */
struct scda_request {
  /**
   * The file. NULL: no request.
   */
  scda_fcontext_t *file;
  /**
   * The number of the commit of the file; 0: its close.
   */
  uint64_t number;
};

/**
 * A commit or close that has begun.
 */
typedef struct scda_request scda_request_t;

/**
 * How this rank has spent its time, in seconds, since a file was opened, and its bytes.
 */
struct scda_statistics {
  /**
   * The size of this struct in bytes, which the program sets before the call.
   */
  size_t size;
  /**
   * Time to agree with the other ranks, including the wait for the slowest one.
   */
  double agree_seconds;
  /**
   * Bytes that were copied for the background thread.
   */
  uint64_t copied_bytes;
  /**
   * Time to copy them.
   */
  double copy_seconds;
  /**
   * Time to wait for that thread: for memory, because `params.background_bytes` was not enough, or until
   * everything was written.
   */
  double wait_seconds;
  /**
   * Bytes that compression has produced.
   */
  uint64_t encoded_bytes;
  /**
   * Time to compress, within calls.
   */
  double encode_seconds;
  /**
   * Bytes that this rank has written.
   */
  uint64_t written_bytes;
  /**
   * Time to write and compute checksums, by calls or by the background thread. After an access of up to 4 KiB
   * that took less than 5 us, 15 more are taken for equal, as in `read_seconds`.
   */
  double write_seconds;
  /**
   * Time to bring the file to stable storage, by calls or by the background thread.
   */
  double sync_seconds;
  /**
   * Bytes that this rank has read.
   */
  uint64_t read_bytes;
  /**
   * Time to read them.
   */
  double read_seconds;
  /**
   * Bytes that decompression has produced.
   */
  uint64_t decoded_bytes;
  /**
   * Time to decompress.
   */
  double decode_seconds;
};

/**
 * How this rank has spent its time.
 */
typedef struct scda_statistics scda_statistics_t;

/**
 * A member of a struct: `{ "mass", SCDA_TYPE_FLOAT64, 0, offsetof (particle_t, mass) }`. A list of members
 * ends with `{ NULL }`.
 */
struct scda_member {
  /**
   * Its name: a C string in UTF-8. NULL ends the list.
   */
  const char *name;
  /**
   * Its type: `SCDA_TYPE_FLOAT64`, ...
   */
  int type;
  /**
   * 0 or 1: a single item; otherwise the number of items in an array.
   */
  int count;
  /**
   * Its offset in the struct, in bytes.
   */
  uint64_t offset;
  /**
   * The size of an item in bytes. Required for `SCDA_TYPE_RAW`, `SCDA_TYPE_TEXT`, `SCDA_TYPE_BYTES` and
   * `SCDA_TYPE_STRUCT`; for other types it may be 0.
   */
  uint64_t item_bytes;
  /**
   * The unit of `SCDA_TYPE_DATETIME64` and `SCDA_TYPE_TIMEDELTA64`, as for a dataset.
   */
  const char *unit;
  /**
   * The members of `SCDA_TYPE_STRUCT`, as for a dataset.
   */
  const struct scda_member *members;
};

/**
 * A member of a struct.
 */
typedef struct scda_member scda_member_t;

/**
 * The description of a dataset: a named array of 0 to `SCDA_MAX_DIMS` dimensions. Fill it by
 * `scda_dataset_init`, then set what you need, at least `name`, `type`, `ndims` and `shape`. In writing,
 * what it points to is used only during the call. In reading, it belongs to the file, and is valid until the
 * file is closed. Equal texts and values are kept once: memory grows only with those that differ, such as
 * attributes with the time of each record. The functions that read a dataset take the struct filled by
 * `scda_ffind_dataset`, or a copy, with the file in which it was found, until this is closed.
 */
struct scda_dataset {
  /**
   * The size of this struct in bytes, as `scda_dataset_init` sets it. Needed in reading, too. It may be
   * that of an older or newer version, the same for all structs of a call.
   */
  size_t size;
  /**
   * The name: a C string of 1 to 58 bytes of UTF-8, in which slashes separate the names of groups and the
   * dataset's own.
   */
  char name[SCDA_NAME_BYTES];
  /**
   * The type of the items: `SCDA_TYPE_FLOAT64`, ...
   */
  int type;
  /**
   * The number of dimensions; 0 (default) for a single item.
   */
  int ndims;
  /**
   * The size of an item in bytes. Writing: required for `SCDA_TYPE_RAW`, `SCDA_TYPE_TEXT`,
   * `SCDA_TYPE_BYTES`, and for `SCDA_TYPE_STRUCT`, whose `sizeof` it is; for other types it may be 0
   * (default). Reading: the size in the file; 0 if each item has its own.
   */
  uint64_t item_bytes;
  /**
   * The number of indices in each dimension; the last one varies fastest. Only the first `ndims` numbers
   * are used; after reading, the others are 0.
   */
  uint64_t shape[SCDA_MAX_DIMS];
  /**
   * The shape of a chunk. Writing: 0 in all dimensions (default): the library chooses by type and shape. 0
   * also for `SCDA_ENCODE_NONE`.
   */
  uint64_t chunk[SCDA_MAX_DIMS];
  /**
   * Whether to compress: `SCDA_ENCODE_NONE` (default), `SCDA_ENCODE_ALWAYS`, `SCDA_ENCODE_AUTO` or
   * `SCDA_ENCODE_TEXT`. With `SCDA_ENCODE_NONE` there are no chunks, and `codec`, `level`, `shuffle` and
   * the largest errors have no effect.
   */
  int encode;
  /**
   * How chunks are compressed: `SCDA_CODEC_ZSTD` (default) or another `SCDA_CODEC_` constant. Ignored for
   * `SCDA_ENCODE_TEXT`, which uses zlib streams.
   */
  int codec;
  /**
   * The level of compression of chunks, 0 to 9; 0 does not compress, except with Pcodec. -1 (default): the
   * default of the codec; for `SCDA_ENCODE_TEXT`, the level of the file (`scda_params_t`). After reading, -1
   * means unknown.
   */
  int level;
  /**
   * 1 (default): the bytes of the items of a chunk are shuffled before compression, which makes most
   * numbers smaller: the first bytes of all items, then the second ones, and so on. 0: they are not.
   */
  int shuffle;
  /**
   * Writing: 1: these are rows to be added at the end of the last dataset of this name in the file; 0
   * (default): a dataset. A row consists of all items with one index of the first dimension. `shape` is
   * that of the added rows alone, whose indices begin at 0. Layout, codec and level may differ; `type`,
   * `fill_value` and the rest of `shape` must be those of the dataset, and no larger error is allowed.
   * `dimension_names` and `attributes` are ignored. The file must be a sealed one; after the next seal,
   * readers find all rows as one array. Reading: 0.
   */
  int extends;
  /**
   * Writing: the largest relative error of a number, at least 0 (default: numbers do not change) and less
   * than 1. Floating-point and complex numbers in chunks get as many trailing zero bits as this allows
   * before they are compressed; the fill value, infinities and NaN do not change. `SCDA_ENCODE_AUTO` may
   * find that uncompressed data are smaller: these do not change. An attribute of this name with the
   * prefix `scda_` tells readers. Reading: 0.
   */
  double max_relative_error;
  /**
   * Likewise the largest absolute error. With `max_relative_error`, both bounds hold.
   */
  double max_absolute_error;
  /**
   * NULL (default), or a name for each of `ndims` dimensions; NULL for a dimension without a name. C
   * strings in UTF-8.
   */
  const char *const *dimension_names;
  /**
   * The value of items that were never written, `item_bytes` bytes in the machine's byte order. NULL
   * (default): all of its bytes are 0. For `SCDA_TYPE_STRING` and `SCDA_TYPE_VARIABLE_BYTES` it is a C
   * string. After reading it is aligned for its type, and never NULL.
   */
  const void *fill_value;
  /**
   * Attributes of the dataset, such as its units: a JSON object. NULL (default): none. After reading it is
   * never NULL, and has no white space between its parts.
   */
  const char *attributes;
  /**
   * After reading: NULL, or the reason why this library cannot read the data, such as an unknown codec:
   * `scda_fread_dataset` is then an error, but the description is complete. Writing: ignored.
   */
  const char *unsupported;
  /**
   * The unit of `SCDA_TYPE_DATETIME64` and `SCDA_TYPE_TIMEDELTA64`: `Y`, `M`, `W`, `D`, `h`, `m`, `s`,
   * `ms`, `us`, `ns`, `ps`, `fs`, `as`, or `generic` for none; multiples have a number before it, such as
   * `10us`. NULL (default) for other types.
   */
  const char *unit;
  /**
   * The members of `SCDA_TYPE_STRUCT`, a list that ends with a member whose name is NULL. NULL (default)
   * for other types. After reading it describes the struct in the file.
   */
  const scda_member_t *members;
  /**
   * After `scda_ffind_dataset`: identifies the dataset among those of all open files, for
   * `scda_fread_dataset` and others. It may differ between the ranks. Writing: ignored.
   */
  uint64_t number;
};

/**
 * The description of a dataset.
 */
typedef struct scda_dataset scda_dataset_t;

/**
 * A box of a dataset, and where its items are in memory: in C order (the last index varies fastest), or with
 * a stride for each dimension, as in an array with ghost layers. Fill it by `scda_box_init`, then set what
 * you need, at least `data`. What it points to is used only during the call.
 */
struct scda_box {
  /**
   * The size of this struct in bytes, as `scda_box_init` sets it. It may be that of an older or newer
   * version, the same for all boxes of a call.
   */
  size_t size;
  /**
   * The first item. All items have the machine's byte order. Not changed in writing. NULL (default):
   * without `stride`, the items follow those of the previous box, if that has no `stride` either; or there
   * are none.
   */
  void *data;
  /**
   * The first index of the box in each dimension. NULL (default): 0.
   */
  const uint64_t *start;
  /**
   * The number of indices of the box in each dimension; 0 is allowed. NULL (default): up to the end of the array.
   */
  const uint64_t *count;
  /**
   * The distance in bytes from one index to the next in each dimension. It may be negative; 0 is allowed
   * only in writing, which then writes an item several times. NULL (default): the items are in C order,
   * without gaps.
   */
  const int64_t *stride;
  /**
   * The number of indices in memory in each of `memory_ndims` dimensions, if they differ from the
   * dataset's, as for a patch whose cells are part of the only dimension of a dataset of all cells. Their
   * product is that of `count`, unless there are no items. `stride` then has these dimensions. NULL
   * (default): as `count`.
   */
  const uint64_t *memory_shape;
  /**
   * The number of dimensions of `memory_shape`, up to `SCDA_MAX_DIMS`.
   */
  uint64_t memory_ndims;
  /**
   * The type of the items in memory: `SCDA_TYPE_FLOAT64`, ...; 0 (default): that of the dataset. Integers
   * and floating-point numbers are converted to one another, and complex numbers to one another.
   * Conversion to floating-point numbers rounds to the nearest one, conversion to integers truncates. A
   * number that does not fit is `SCDA_ERR_RANGE`; types that cannot be converted are `SCDA_ERR_ARG`.
   */
  int type;
  /**
   * Zero.
   */
  int reserved;
  /**
   * The size of an item in memory, as in a dataset. 0 (default) if `type` determines it.
   */
  uint64_t item_bytes;
  /**
   * If `type` is a type of times, their unit, as in a dataset. NULL (default): none.
   */
  const char *unit;
  /**
   * If `type` is a struct, its members in memory, as in a dataset. Structs may have gaps. In reading,
   * members may be left out, and each may have another type than in the file, but an array has as many
   * items as there. NULL (default): none.
   */
  const scda_member_t *members;
};

/**
 * A box of a dataset, and where its items are in memory.
 */
typedef struct scda_box scda_box_t;

/**
 * The state of a file, and of the last error.
 */
struct scda_info {
  /**
   * The size of this struct in bytes, as the program sets it before the call.
   */
  size_t size;
  /**
   * 1 if the file is open, otherwise 0; then all other members except `at_end` and `failed_rank` are 0,
   * too.
   */
  int is_open;
  /**
   * 1 if the file is open for writing, 0 if for reading.
   */
  int is_writing;
  /**
   * Reading: 1 if the readable part ends with a seal. Writing: 1 if closing writes a seal.
   */
  int is_sealed;
  /**
   * Reading: 0 if a section follows, or while the data of a section remain to be read or skipped, even if
   * ranges of them were read. Otherwise 1.
   */
  int at_end;
  /**
   * The rank on which the last error of this thread occurred, in the communicator of its file, which may
   * be another file; -1 if there was no error, or if it is an error of all ranks.
   */
  int failed_rank;
  /**
   * Zero.
   */
  int reserved;
  /**
   * The offset of the next section in the file, in bytes; while the data of a section remain to be read,
   * the offset of that section. 0 while it is unknown because compressed data are still to be written
   * (`params.background_bytes`).
   */
  uint64_t position;
  /**
   * Reading: the size of the readable part of the file in bytes: with `params.to_seal`, up to the end of
   * its last seal, if it has one. Writing: as `position`.
   */
  uint64_t bytes;
  /**
   * Reading: the number of bytes after that part, which a job has written but not committed. Writing: 0.
   */
  uint64_t unsealed_bytes;
  /**
   * The number of bytes that `scda_fopen_append` has removed because a killed job had written them after
   * the last seal.
   */
  uint64_t rolled_back_bytes;
  /**
   * Reading with `params.keep`: the file that was opened: 0 for the one with the name, `state.scda`, 1 for
   * `state.1.scda`, and so on.
   */
  uint64_t age;
  /**
   * The number of bytes that this rank has written to its stream since `scda_fwrite_streams_begin`; 0
   * without streams.
   */
  uint64_t stream_bytes;
};

/**
 * The state of a file.
 */
typedef struct scda_info scda_info_t;

/**
 * An entry of a file, as `scda_fnext_entry` returns it. `scda_entry_init` fills it first; each call then
 * continues after the last entry.
 */
struct scda_entry {
  /**
   * The size of this struct in bytes, as `scda_entry_init` sets it.
   */
  size_t size;
  /**
   * The number of the first section of the entry, from 0: for `scda_fseek`.
   */
  uint64_t section;
  /**
   * The number of the section after it, from which the next call continues.
   */
  uint64_t end;
  /**
   * What the entry is: `SCDA_ENTRY_DATASET`, ...
   */
  int kind;
  /**
   * For a dataset, the type of its items: `SCDA_TYPE_FLOAT64`, ... Otherwise 0.
   */
  int type;
  /**
   * The name, a C string: of the dataset, the path of the group, the user string of the streams or
   * section.
   */
  char name[SCDA_NAME_BYTES];
  /**
   * Its number among the entries of its kind and name, from 0, for `scda_ffind_dataset` and
   * `scda_ffind_streams`.
   */
  int64_t record;
  /**
   * The number of entries of this name.
   */
  int64_t records;
  /**
   * For a dataset, the number of dimensions.
   */
  int ndims;
  /**
   * For a section, its type: 'I', 'B', 'A' or 'V'. Otherwise 0.
   */
  int letter;
  /**
   * For a dataset, the number of indices in each dimension, including rows that were added later. After
   * `ndims` numbers, 0.
   */
  uint64_t shape[SCDA_MAX_DIMS];
  /**
   * For an array ('A') or varray ('V'), the number of elements; for streams, the number of tasks.
   * Otherwise 0.
   */
  uint64_t N;
  /**
   * For a block ('B'), its size in bytes; for an array, that of an element; for a dataset, that of an
   * item; for streams, that of a chunk. Otherwise 0.
   */
  uint64_t E;
};

/**
 * An entry of a file.
 */
typedef struct scda_entry scda_entry_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The text for an error code: one line, without a line break.
 *
 * Not collective.
 *
 * @param [in] err      An error code, or `SCDA_SUCCESS`.
 * @param [out] str     Receives the text and a NUL, truncated if it does not fit. Must not be NULL.
 * @param [in,out] len  In: the size of `str`, in bytes. Out: the length of the text, without the NUL. Must
 *                      not be NULL.
 * @return              0; a negative value for wrong arguments, or for an unknown code, whose text is empty.
 * Spec: A.6.1.
 */
int scda_ferror_string(int err,
                       char *str,
                       int *len);

/**
 * The message of the last error on this thread: the file, the byte offset, the rank, and what was found and
 * expected. For an error of a collective function it is the same on all ranks.
 *
 * Not collective.
 *
 * @return  A C string that is valid until this thread's next call of this library returns; "" if there was
 *          no error. Opening a file of which a part is ignored leaves a message, too, and so does
 *          `scda_fnext_entry` for an entry that cannot be read.
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
 * Fills the parameters with the defaults, for a program that knows their first `size` bytes;
 * `scda_params_init` calls it.
 *
 * Not collective.
 *
 * @param [out] params  The parameters. Must not be NULL.
 * @param [in] size     The size of `*params` when the program was compiled, which is stored in its `size`.
 * @return              0, or a negative value for NULL.
 */
int scda_params_init_size(scda_params_t *params,
                          size_t size);

/**
 * Opens a file for writing, for reading, or for appending, as defined in the paper: the parameters are the
 * defaults, except that `seal` is 0. So a new file has only the sections that the program writes, and no
 * seal.
 *
 * Collective. In reading or appending, `userstr` and `len` may differ between the ranks.
 *
 * @param [in] comm          The communicator. The library duplicates it.
 * @param [in] filename      The path of the file.
 * @param [in] mode          "w": see `scda_fopen_write`. "r": see `scda_fopen_read`. "a": see
 *                           `scda_fopen_append`. "c": see `scda_fopen_append_or_create`.
 * @param [in,out] userstr   The user string of the file: input for "w" and "c", output for "r" and "a".
 * @param [in,out] len       Its length: input for "w" and "c", output for "r" and "a".
 * @param [out] err          The error code.
 * @return                   The file, to be closed by `scda_fclose`, or NULL on error.
 * Errors: `SCDA_ERR_ARG` for another mode, and those of the four functions.
 * Spec: A.3.1.
 */
scda_fcontext_t *scda_fopen(MPI_Comm comm,
                            const char *filename,
                            const char *mode,
                            char *userstr,
                            size_t *len,
                            int *err);

/**
 * Creates a file for writing, or truncates an existing one, and writes its header.
 *
 * Two jobs cannot write a file at the same time: while another one creates it or appends to it, this fails
 * with `SCDA_ERR_FILE_IN_USE` and changes nothing, if the file system has locks; with MPI-IO on network file
 * systems, only while the other one opens it.
 *
 * Collective; `info` and `threads` in `params` may differ between the ranks.
 *
 * @param [in] comm      The communicator. The library duplicates it.
 * @param [in] filename  The path of the file, the same file on all ranks. If the program chooses MPI-IO and
 *                       this is ROMIO, it may have a prefix that ROMIO removes, such as `ufs:`. Any other
 *                       name is taken literally.
 * @param [in] userstr   The user string of the file.
 * @param [in] len       Its length, or NULL.
 * @param [in] params    The parameters. NULL: the defaults, with which the file gets a seal.
 * @param [out] err      The error code.
 * @return               The file, to be closed by `scda_fclose`, or NULL on error.
 * Errors: `SCDA_ERR_FILE_IN_USE`, `SCDA_ERR_ARG`, `SCDA_ERR_USAGE` if MPI is not running, and those of the
 * file system.
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
 * Collective; `userstr`, `len`, and `info` and `threads` in `params` may differ between the ranks.
 *
 * @param [in] comm      The communicator. The library duplicates it.
 * @param [in] filename  The path of the file, the same file on all ranks. If the program chooses MPI-IO and
 *                       this is ROMIO, it may have a prefix that ROMIO removes, such as `ufs:`. Any other
 *                       name is taken literally.
 * @param [out] userstr  The user string of the file.
 * @param [out] len      Its length.
 * @param [in] params    The parameters. NULL: the defaults.
 * @param [out] err      The error code.
 * @return               The file, to be closed by `scda_fclose`, or NULL on error.
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
 * Closes a file. After writing, success means that every byte is in the file: the errors of all
 * ranks and the size of the file were checked.
 *
 * Collective.
 *
 * @param [in] f     The file. Its context is freed in any case.
 * @param [out] err  The error code.
 * @return           0 on success, -1 on error.
 * Errors: those of all sections since the last `scda_fflush`, and those of the file system.
 * Spec: A.3.2.
 */
int scda_fclose(scda_fcontext_t *f, int *err);

/**
 * Writes all buffered sections, and returns the errors of all ranks so far.
 *
 * Collective.
 *
 * @param [in] f     The file, open for writing.
 * @param [out] err  The error code.
 * @return           `f`, or NULL on error.
 * Errors: those of all sections since the last flush.
 */
scda_fcontext_t *scda_fflush(scda_fcontext_t *f, int *err);

/**
 * Computes the number of bytes of a varray on each rank: the `Sq` of the functions for varrays.
 *
 * Collective; `Ei` may differ between the ranks.
 *
 * @param [in] f     The file, open for writing or reading. Its position does not change.
 * @param [in] Ei    The size of each element of this rank.
 * @param [in] Nq    The number of elements on each rank.
 * @param [out] Sq   The number of bytes on each rank. Must not be NULL.
 * @param [out] err  The error code.
 * @return           `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`.
 * Spec: A.1.
 */
scda_fcontext_t *scda_proc_sizes(scda_fcontext_t *f,
                                 const uint64_t *Ei,
                                 const uint64_t *Nq,
                                 uint64_t *Sq,
                                 int *err);

/**
 * Gathers the number of elements on each rank: the `Nq` of the functions for arrays and varrays.
 *
 * Collective; `Np` may differ between the ranks.
 *
 * @param [in] f     The file, open for writing or reading. Its position does not change.
 * @param [in] Np    The number of elements on this rank.
 * @param [out] Nq   The number of elements on each rank. Must not be NULL.
 * @param [out] err  The error code.
 * @return           `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`.
 * Spec: A.1.
 */
scda_fcontext_t *scda_proc_counts(scda_fcontext_t *f, uint64_t Np, uint64_t *Nq, int *err);

/**
 * Makes a partition from each rank's number of elements. The cost does not depend on the number of ranks,
 * and no rank receives the numbers of all.
 *
 * Collective; `count` may differ between the ranks.
 *
 * @param [in] f      The file, open for writing or reading. Its position does not change.
 * @param [in] count  The number of elements on this rank, which may be 0.
 * @param [out] err   The error code.
 * @return            The partition. After an error it is invalid: calls refuse it, and the next call on `f`
 *                    returns NULL and the same error.
 * Errors: `SCDA_ERR_RANGE`.
 * Spec: A.1.
 */
scda_partition_t scda_partition_local(scda_fcontext_t *f,
                                      uint64_t count,
                                      int *err);

/**
 * Makes a partition from the numbers of elements on all ranks.
 *
 * Collective, but the ranks do not synchronize.
 *
 * @param [in] f     The file, open for writing or reading. Its position does not change.
 * @param [in] Nq    The number of elements on each rank. Must not be NULL.
 * @param [out] err  The error code.
 * @return           The partition. After an error, as for `scda_partition_local`.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`.
 * Spec: A.1.
 */
scda_partition_t scda_partition_counts(scda_fcontext_t *f, const uint64_t *Nq, int *err);

/**
 * Opens an existing file to append sections by `scda_fwrite_*`.
 *
 * If the file has a seal, writing continues after the last one, which remains valid for the part of the file
 * before it. Sections that were not committed, because a job was killed while it appended, are removed,
 * complete or not: `scda_get_info` and, after this call, `scda_last_error_message` report their size.
 * `scda_fcommit` and `scda_fclose` seal the new sections, whatever `params.seal` is. The same holds for a
 * file that was created with `params.seal` and has no seal yet: everything after its header is removed.
 *
 * `params.append_name` continues after an earlier step, and removes everything after it.
 *
 * Of the sealed bytes, only the index of that seal is verified: `SCDA_ERR_CHECKSUM` if it is damaged; then
 * `params.append_after` can roll back to an earlier seal.
 *
 * A file without a seal must be complete. With `params.seal`, its old sections are sealed before this call
 * returns, without decoding them, so damage in compressed data is sealed, too. The command `scda seal`
 * decodes them first.
 *
 * With `params.atomic`, the sections are appended to a copy of the file, which gets its name at close. The
 * new sections have the line breaks of `params`.
 *
 * While another job writes the file, opening fails with `SCDA_ERR_FILE_IN_USE`, as `scda_fopen_write` does.
 *
 * A file of at most 128 bytes that has only the beginning of a header, or zeros, is one whose creation was
 * interrupted: the error is `SCDA_ERR_NO_SUCH_FILE`. `scda_fopen_append_or_create` creates it anew.
 *
 * Collective; `userstr`, `len`, and `info` and `threads` in `params` may differ between the ranks.
 *
 * @param [in] comm      The communicator. The library duplicates it.
 * @param [in] filename  The path of the file, the same file on all ranks. If the program chooses MPI-IO and
 *                       this is ROMIO, it may have a prefix that ROMIO removes, such as `ufs:`. Any other
 *                       name is taken literally.
 * @param [out] userstr  The user string of the file, which does not change.
 * @param [out] len      Its length.
 * @param [in] params    The parameters. NULL: the defaults.
 * @param [out] err      The error code.
 * @return               The file, to be closed by `scda_fclose`, or NULL on error, in which case the file
 *                       has not changed.
 * Errors: `SCDA_ERR_FORMAT`, `SCDA_ERR_VERSION`, `SCDA_ERR_COUNT`, `SCDA_ERR_RANGE`,
 * `SCDA_ERR_DECODE`, `SCDA_ERR_CHECKSUM`, `SCDA_ERR_NO_SUCH_FILE`, `SCDA_ERR_FILE_IN_USE`, `SCDA_ERR_ARG`,
 * `SCDA_ERR_NOT_FOUND` for `params.append_record`, `SCDA_ERR_USAGE` if MPI is not running, and those of the file
 * system.
 */
scda_fcontext_t *scda_fopen_append(MPI_Comm comm,
                                   const char *filename,
                                   char *userstr,
                                   size_t *len,
                                   const scda_params_t *params,
                                   int *err);

/**
 * Opens a file to append to it, as `scda_fopen_append` does, or creates it, as `scda_fopen_write` does, if
 * there is none or if its creation was interrupted. A program that writes a series can begin with this call,
 * whether it starts or restarts.
 *
 * With `params.append_name` or `params.append_after`, a missing file is an error.
 *
 * With `params.keep`, which requires `params.atomic`, a file that is missing, or torn so that it has no
 * seal, is continued from the newest of `state.1.scda`, ... that has one, the same that `scda_fopen_read`
 * with `keep` reads.
 *
 * Collective; `info` and `threads` in `params` may differ between the ranks.
 *
 * @param [in] comm      The communicator. The library duplicates it.
 * @param [in] filename  The path of the file, as for `scda_fopen_append`.
 * @param [in] userstr   The user string for a new file. An existing file keeps its own.
 * @param [in] len       Its length, or NULL.
 * @param [in] params    The parameters. NULL: the defaults.
 * @param [out] is_new   1 if the file was created, otherwise 0. Not written after an error. May be NULL.
 * @param [out] err      The error code.
 * @return               The file, to be closed by `scda_fclose`, or NULL on error, in which case the file
 *                       has not changed.
 * Errors: those of `scda_fopen_append` and `scda_fopen_write`.
 */
scda_fcontext_t *scda_fopen_append_or_create(MPI_Comm comm,
                                             const char *filename,
                                             const char *userstr,
                                             const size_t *len,
                                             const scda_params_t *params,
                                             int *is_new,
                                             int *err);

/**
 * Writes all buffered sections and a seal of all sections, and brings the file to stable storage. A job that
 * is killed later loses none of them: the next one that appends to the file continues there. With
 * `params.atomic`, that holds only after `scda_fclose`, because the file has no name before.
 *
 * If there are no new sections since the last seal, none is written. A seal takes 448 bytes, the first one
 * of a file 608; 160 more for each section since the last seal; and 32 for each 4096 elements of varrays and
 * compressed sections. The bytes of the file depend on where the program commits.
 *
 * Collective.
 *
 * @param [in] f     The file, open for writing with `params.seal`, or opened to append to a file with a seal.
 * @param [out] err  The error code.
 * @return           `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE` for any other file, `SCDA_ERR_FILE_IN_USE` if the name now belongs to another
 * file or to none, and those of all sections since the last flush.
 */
scda_fcontext_t *scda_fcommit(scda_fcontext_t *f,
                              int *err);

/**
 * The first half of `scda_fcommit`: returns once everything written before is copied. The background thread
 * writes it while the program computes; if `params.background_bytes` is 0, the calls have written it. The
 * second half, `scda_wait`, writes headers and the seal: only its success means that the data are on stable
 * storage.
 *
 * The program may write the next sections before it waits. The next collective call on this file then
 * completes the commit first, and returns its error if it failed.
 *
 * Collective.
 *
 * @param [in] f         The file, open for writing with `params.seal`, or opened to append to a file with a seal.
 * @param [out] request  The request, for `scda_wait`. NULL: the next call completes it.
 * @param [out] err      The error code.
 * @return               `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE` for any other file; those of all calls so far.
 */
scda_fcontext_t *scda_fcommit_begin(scda_fcontext_t *f,
                                    scda_request_t *request,
                                    int *err);

/**
 * The first half of `scda_fclose`, which also ends the use of `f`: returns once everything written before is
 * copied. The second half, `scda_wait`, closes the file: only its success means that every byte is in it.
 *
 * Collective.
 *
 * @param [in] f         The file. If it is open for reading, the ranks only agree.
 * @param [out] request  The request, for `scda_wait`. Must not be NULL.
 * @param [out] err      The error code.
 * @return               0 on success. On error the file is closed.
 * Errors: `SCDA_ERR_USAGE` while streams are open; `SCDA_ERR_ARG` if `request` is NULL on any rank; those of
 * all calls so far.
 */
int scda_fclose_begin(scda_fcontext_t *f,
                      scda_request_t *request,
                      int *err);

/**
 * Whether this rank has written everything that it must write before `request` can be completed: then
 * `scda_wait` waits only for the other ranks and for the disk.
 *
 * Not collective: no message is sent.
 *
 * @param [in] request  The request. NULL and a completed one count as written.
 * @return              1 if it has, or after an error, which `scda_wait` returns; 0 otherwise.
 */
int scda_test(const scda_request_t *request);

/**
 * Completes a commit or close that has begun. If this returns without an error, everything that was written
 * before it began is as safe as after `scda_fcommit` or `scda_fclose`. `scda_fclose_begin`, and a call that has
 * closed the file with success, have completed its commits: waiting for them then succeeds at once.
 *
 * Collective over the ranks of the file, unless it is closed.
 *
 * @param [in,out] request  The request, which is then no request. Must not be NULL. A struct that is no
 *                          request, because all its members are 0 or because it was waited for, counts as
 *                          complete, so a loop may wait before it begins its first commit.
 * @param [in,out] err      The error code. After an error the file is closed: its next call returns
 *                          `SCDA_ERR_USAGE`. If there is no request because the call that should have begun
 *                          it failed, the error in `*err` is not changed, or becomes `SCDA_ERR_ARG` if it is
 *                          0.
 * @return                  0 on success.
 * Errors: those of `scda_fcommit` or `scda_fclose`; `SCDA_ERR_USAGE` if an earlier call on the file has
 * returned the error that closed it, and for a copy of a request that was waited for.
 */
int scda_wait(scda_request_t *request,
              int *err);

/**
 * How this rank has spent its time since the file was opened. With the environment variable
 * `SCDA_STATISTICS=1`, rank 0 prints a line with the maximum over all ranks when a file is closed.
 *
 * Not collective: no message is sent.
 *
 * @param [in] f            The file.
 * @param [in,out] statistics  The times and bytes; the program sets `size` before. Must not be NULL.
 * @param [out] err         The error code. After an error the file stays open.
 * @return                  0 on success.
 * Errors: `SCDA_ERR_USAGE` for a file that is closed, `SCDA_ERR_ARG`.
 */
int scda_get_statistics(scda_fcontext_t *f,
                        scda_statistics_t *statistics,
                        int *err);

/**
 * Writes an inline section: 32 bytes of one rank.
 *
 * Collective; `dbytes` may differ between the ranks.
 *
 * @param [in] f        The file, open for writing.
 * @param [in] dbytes   On `root` 32 bytes.
 * @param [in] userstr  The user string.
 * @param [in] len      Its length, or NULL.
 * @param [in] root     The rank that has the data.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
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
 * Collective; `dbytes` may differ between the ranks.
 *
 * @param [in] f        The file, open for writing.
 * @param [in] dbytes   On `root` `E` bytes.
 * @param [in] E        The size of the block in bytes.
 * @param [in] userstr  The user string.
 * @param [in] len      Its length, or NULL.
 * @param [in] root     The rank that has the data.
 * @param [in] encode   Whether to compress.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
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
 * Writes an array: elements of equal size, distributed over the ranks in their order.
 *
 * Collective; `dbytes` may differ between the ranks.
 *
 * @param [in] f         The file, open for writing.
 * @param [in] dbytes    The elements of this rank.
 * @param [in] Nq        The number of elements on each rank.
 * @param [in] E         The size of each element in bytes.
 * @param [in] indirect  0: `dbytes` are the data. Otherwise: pointers to them.
 * @param [in] userstr   The user string.
 * @param [in] len       Its length, or NULL.
 * @param [in] encode    Whether to compress.
 * @param [out] err      The error code.
 * @return               `f`, or NULL on error.
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
 * Writes a varray: elements with individual sizes, distributed over the ranks in their order.
 *
 * Collective; `dbytes` and `Ei` may differ between the ranks.
 *
 * @param [in] f         The file, open for writing.
 * @param [in] dbytes    The elements of this rank.
 * @param [in] Nq        The number of elements on each rank.
 * @param [in] Ei        The size of each element of this rank.
 * @param [in] Sq        The number of bytes on each rank, or NULL.
 * @param [in] indirect  0: `dbytes` are the data. Otherwise: pointers to them.
 * @param [in] userstr   The user string.
 * @param [in] len       Its length, or NULL.
 * @param [in] encode    Whether to compress.
 * @param [out] err      The error code.
 * @return               `f`, or NULL on error.
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
 * Reads the header of the next section. The function for the type of the section must then read or
 * skip its data.
 *
 * Collective. All ranks receive the same values.
 *
 * At the end of the file `*err` is `SCDA_ERR_EOF`, nothing else is written, and `f` is returned: the
 * file stays open.
 *
 * @param [in] f           The file, open for reading.
 * @param [out] type       The type: 'I', 'B', 'A' or 'V'. May be NULL.
 * @param [out] N          The number of elements of an array ('A') or varray ('V'), otherwise 0. May be
 *                         NULL.
 * @param [out] E          The size in bytes of a block ('B') or of each element of an array ('A'),
 *                         otherwise 0. May be NULL.
 * @param [out] userstr    The user string.
 * @param [out] len        Its length.
 * @param [in,out] decode  In: nonzero to decompress the section if it is compressed. Out: nonzero if it
 *                         is decompressed; type, N, E and user string are then those of the data before
 *                         compression. NULL: nothing is decompressed.
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
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
 * Reads or skips the data of an inline section.
 *
 * Collective; `dbytes` may differ between the ranks.
 *
 * @param [in] f        The file, open for reading, after the header of a section 'I'.
 * @param [out] dbytes  On `root` room for 32 bytes; NULL there skips them.
 * @param [in] root     The rank that receives the data.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, and those of the file system.
 * Spec: A.5.2.
 */
scda_fcontext_t *scda_fread_inline_data(scda_fcontext_t *f, void *dbytes, int root, int *err);

/**
 * Reads or skips the data of a block.
 *
 * Collective; `dbytes` may differ between the ranks.
 *
 * @param [in] f        The file, open for reading, after the header of a section 'B'.
 * @param [out] dbytes  On `root` room for `E` bytes; NULL there skips them.
 * @param [in] E        The size of the block, as in the header.
 * @param [in] root     The rank that receives the data.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
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
 * Reads or skips the data of an array.
 *
 * Collective; `dbytes` may differ between the ranks.
 *
 * @param [in] f         The file, open for reading, after the header of a section 'A'.
 * @param [out] dbytes   Room for the elements of this rank, or NULL.
 * @param [in] Nq        The number of elements on each rank. The sum is N.
 * @param [in] E         The size of each element, as in the header.
 * @param [in] indirect  0: `dbytes` is for the data. Otherwise: pointers to room for each element.
 * @param [out] err      The error code.
 * @return               `f`, or NULL on error.
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
 * Reads or skips the sizes of the elements of a varray. Required before `scda_fread_varray_data`.
 *
 * Collective; `Ei` may differ between the ranks.
 *
 * @param [in] f     The file, open for reading, after the header of a section 'V'.
 * @param [out] Ei   Room for the size of each element of this rank. NULL skips them on this rank.
 * @param [in] Nq    The number of elements on each rank. The sum is N.
 * @param [out] err  The error code.
 * @return           `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_COUNT`,
 * `SCDA_ERR_FORMAT`, `SCDA_ERR_DECODE`, and those of the file system.
 * Spec: A.5.5.
 */
scda_fcontext_t *scda_fread_varray_sizes(scda_fcontext_t *f,
                                         uint64_t *Ei,
                                         const uint64_t *Nq,
                                         int *err);

/**
 * Reads or skips the data of a varray, after `scda_fread_varray_sizes`.
 *
 * Collective; `dbytes` and `Ei` may differ between the ranks. `Nq` may differ from the one with which
 * the sizes were read.
 *
 * @param [in] f         The file, open for reading, after the sizes of a section 'V'.
 * @param [out] dbytes   Room for the elements of this rank, or NULL.
 * @param [in] Nq        The number of elements on each rank. The sum is N.
 * @param [in] Ei        The size of each element of this rank, as in the file. Ignored if `dbytes` is
 *                       NULL.
 * @param [in] Sq        The number of bytes on each rank, or NULL.
 * @param [in] indirect  0: `dbytes` is for the data. Otherwise: pointers to room for each element.
 * @param [out] err      The error code.
 * @return               `f`, or NULL on error.
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

/**
 * The number of sections in the file. A compressed section counts once, and seals do not count.
 *
 * If the file ends with a seal, the seal has the number. Otherwise the headers of all sections are read,
 * once while the file is open.
 *
 * Collective. All ranks receive the same value.
 *
 * @param [in] f     The file, open for reading. Its position does not change.
 * @param [out] N    The number of sections. May be NULL.
 * @param [out] err  The error code.
 * @return           `f`, or NULL on error.
 * Errors: `SCDA_ERR_CHECKSUM`; without a seal, those of `scda_fread_section_header` and of reading the sizes
 * of elements; and those of the file system.
 */
scda_fcontext_t *scda_fsections(scda_fcontext_t *f,
                                uint64_t *N,
                                int *err);

/**
 * Moves to the section with this number: `scda_fread_section_header` reads its header next. Data of the
 * current section that were not read are skipped.
 *
 * If the file ends with a seal, this takes a few reads. Otherwise the headers before the section are read,
 * once while the file is open.
 *
 * Collective.
 *
 * @param [in] f        The file, open for reading.
 * @param [in] section  The number of the section, from 0. A compressed section counts once, and seals do
 *                      not count.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG` if the file has fewer sections, and those of `scda_fsections`.
 */
scda_fcontext_t *scda_fseek(scda_fcontext_t *f,
                            uint64_t section,
                            int *err);

/**
 * Finds a section by its user string, for `scda_fseek`.
 *
 * If the file ends with seals, their tables locate the section; short tables are read once while the file is
 * open. Otherwise the headers of all sections are read, once while the file is open.
 *
 * Collective. All ranks receive the same values.
 *
 * @param [in] f         The file, open for reading. Its position does not change.
 * @param [in] userstr   The user string.
 * @param [in] len       Its length, or NULL.
 * @param [in] record    Which of the sections with this user string: 0 is the first, 1 the next; -1 is
 *                       the last, -2 the one before it.
 * @param [out] found    1 if there is such a section, otherwise 0. May be NULL.
 * @param [out] section  Its number, for `scda_fseek`. Not written if there is none. May be NULL.
 * @param [out] err      The error code: 0 also if there is no such section.
 * @return               `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, and those of `scda_fsections`.
 */
scda_fcontext_t *scda_ffind(scda_fcontext_t *f,
                            const char *userstr,
                            const size_t *len,
                            int64_t record,
                            int *found,
                            uint64_t *section,
                            int *err);

/**
 * Checks again how far the file can be read: a job that appends to it may have committed more since it was
 * opened. The previous sections and the position do not change; new sections follow. With `params.to_seal`
 * 0, everything in the file follows. A file that replaces this one, as with `params.atomic`, must be opened.
 *
 * Collective. All ranks receive the same value.
 *
 * @param [in] f         The file, open for reading.
 * @param [out] changed  1: there is more than before. 0: there is not. May be NULL.
 * @param [out] err      The error code.
 * @return               `f`, or NULL on error.
 * Errors: `SCDA_ERR_FILE_IN_USE` if a job has rolled back a seal that was read (`params.append_after`) or
 * created the file anew: open it again (this is noticed by the last seal and, on rank 0, by the seals with
 * which sections were found); `SCDA_ERR_COUNT` if a file that does not end with a seal has become shorter;
 * `SCDA_ERR_CHECKSUM` if the seal at its end is damaged; and those of the file system.
 */
scda_fcontext_t *scda_frefresh(scda_fcontext_t *f,
                               int *changed,
                               int *err);

/**
 * Reads some bytes of a block on each rank. Ranks may read any bytes, including the same ones, or none.
 *
 * Further ranges of the same section may follow, or `scda_fread_block_data`. The next call of
 * `scda_fread_section_header` or `scda_fseek` leaves the section.
 *
 * A compressed block is decompressed completely for each range.
 *
 * Collective; all arguments may differ between the ranks.
 *
 * @param [in] f        The file, open for reading, after the header of a section 'B'.
 * @param [out] dbytes  Room for `bytes` bytes. NULL skips them on this rank.
 * @param [in] first    The first byte, from 0.
 * @param [in] bytes    The number of bytes; 0 reads nothing. `first` + `bytes` is at most E.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_DECODE`, `SCDA_ERR_MEMORY`, and
 * those of the file system.
 */
scda_fcontext_t *scda_fread_block_range(scda_fcontext_t *f,
                                        void *dbytes,
                                        uint64_t first,
                                        uint64_t bytes,
                                        int *err);

/**
 * Reads some elements of an array on each rank. Ranks may read any elements, including the same ones, or
 * none.
 *
 * Further ranges of the same section may follow, or `scda_fread_array_data`. The next call of
 * `scda_fread_section_header` or `scda_fseek` leaves the section.
 *
 * The offset of an element of a compressed array follows from the sizes of those before it. A seal has the
 * offset of each 4096th element, from which sizes are read; without a seal, they are read from the first
 * element on, or from the end of this rank's last range if that is nearer.
 *
 * Collective; all arguments except `E` may differ between the ranks.
 *
 * @param [in] f         The file, open for reading, after the header of a section 'A'.
 * @param [out] dbytes   Room for the elements, or NULL.
 * @param [in] first     The first element of this rank, from 0.
 * @param [in] count     The number of elements of this rank; 0 reads nothing. `first` + `count` is at most
 *                       N.
 * @param [in] E         The size of each element, as in the header.
 * @param [in] indirect  0: `dbytes` is for the data. Otherwise: pointers to room for each element.
 * @param [out] err      The error code.
 * @return               `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_COUNT`, `SCDA_ERR_FORMAT`,
 * `SCDA_ERR_DECODE`, `SCDA_ERR_CHECKSUM`, `SCDA_ERR_MEMORY`, and those of the file system.
 */
scda_fcontext_t *scda_fread_array_range(scda_fcontext_t *f,
                                        void *dbytes,
                                        uint64_t first,
                                        uint64_t count,
                                        uint64_t E,
                                        int indirect,
                                        int *err);

/**
 * Reads the sizes of some elements of a varray on each rank. Ranks may read any of them, including the same
 * ones, or none.
 *
 * Further ranges of the same section may follow, or `scda_fread_varray_sizes` if no data were read. The next
 * call of `scda_fread_section_header` or `scda_fseek` leaves the section.
 *
 * Collective; all arguments may differ between the ranks.
 *
 * @param [in] f      The file, open for reading, after the header of a section 'V'.
 * @param [out] Ei    Room for the size of each of these elements. NULL skips them on this rank.
 * @param [in] first  The first element of this rank, from 0.
 * @param [in] count  The number of elements of this rank; 0 reads nothing. `first` + `count` is at most N.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_COUNT`, `SCDA_ERR_FORMAT`,
 * `SCDA_ERR_DECODE`, and those of the file system.
 */
scda_fcontext_t *scda_fread_varray_sizes_range(scda_fcontext_t *f,
                                               uint64_t *Ei,
                                               uint64_t first,
                                               uint64_t count,
                                               int *err);

/**
 * Reads some elements of a varray on each rank. Ranks may read any elements, including the same ones, or
 * none. Their sizes must be known, for instance from `scda_fread_varray_sizes_range`.
 *
 * Further ranges of the same section may follow. The next call of `scda_fread_section_header` or
 * `scda_fseek` leaves the section. Offsets are found as in a compressed array by `scda_fread_array_range`.
 *
 * Collective; all arguments may differ between the ranks.
 *
 * @param [in] f         The file, open for reading, after the header of a section 'V'.
 * @param [out] dbytes   Room for the elements, or NULL.
 * @param [in] first     The first element of this rank, from 0.
 * @param [in] count     The number of elements of this rank; 0 reads nothing. `first` + `count` is at most
 *                       N.
 * @param [in] Ei        The size of each of these elements, as in the file. Ignored if `dbytes` is NULL.
 * @param [in] indirect  0: `dbytes` is for the data. Otherwise: pointers to room for each element.
 * @param [out] err      The error code.
 * @return               `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_COUNT`, `SCDA_ERR_FORMAT`,
 * `SCDA_ERR_DECODE`, `SCDA_ERR_CHECKSUM`, `SCDA_ERR_MEMORY`, and those of the file system.
 */
scda_fcontext_t *scda_fread_varray_range(scda_fcontext_t *f,
                                         void *dbytes,
                                         uint64_t first,
                                         uint64_t count,
                                         const uint64_t *Ei,
                                         int indirect,
                                         int *err);

/**
 * Fills the description of a dataset with the defaults, for a program that knows its first `size` bytes;
 * `scda_dataset_init` calls it.
 *
 * Not collective.
 *
 * @param [out] d    The description of a dataset. Must not be NULL.
 * @param [in] size  The size of `*d` when the program was compiled, which is stored in its `size`.
 * @return           0, or a negative value for NULL.
 */
int scda_dataset_init_size(scda_dataset_t *d,
                           size_t size);

/**
 * The name of an item type, as in docs/datasets.md: "float64", ...; and "raw bytes", "datetime64",
 * "timedelta64", "text", "bytes", "struct", "string" and "variable_length_bytes" for those that need further
 * parameters.
 *
 * Not collective.
 *
 * @param [in]  type        One of `SCDA_TYPE_FLOAT64`, ...
 * @param [out] item_bytes  The size of an item in bytes; 0 for types whose items may have different sizes,
 *                          and for unknown types. NULL: not wanted.
 * @return                  A C string that is valid forever, or NULL for an unknown type.
 */
const char *scda_type_name(int type,
                           uint64_t *item_bytes);

/**
 * Fills a box with the defaults, for a program that knows its first `size` bytes; `scda_box_init` calls it.
 *
 * Not collective.
 *
 * @param [out] b    The box. Must not be NULL.
 * @param [in] size  The size of `*b` when the program was compiled, which is stored in its `size`.
 * @return           0, or a negative value for NULL.
 */
int scda_box_init_size(scda_box_t *b,
                       size_t size);

/**
 * Writes a dataset: a named array of numbers, of which each rank passes any boxes. Together they need not
 * fill the array: items that no rank passes have the fill value. An index in two boxes, of the same rank or
 * of different ranks, is an error that names it.
 *
 * The bytes of the file depend on the data, the type, the shape, the chunks and the level, but not on which
 * rank passes what. If each rank passes one box of whole rows (indices of the first dimension), in the order
 * of the ranks, a contiguous dataset is written directly from `data`, as `scda_fwrite_array` does; otherwise
 * the ranks exchange parts of it, some MiB at a time.
 *
 * Several datasets of one name are its records, such as time steps: `scda_ffind_dataset` finds each.
 *
 * Collective; all arguments except `d` may differ between the ranks.
 *
 * @param [in] f       The file, open for writing.
 * @param [in] d       The description of the dataset. Not changed.
 * @param [in] data    The items of this rank: one box after the other, each in C order (the last index
 *                     varies fastest), in the machine's byte order. May be NULL if there are none.
 * @param [in] nboxes  The number of boxes of this rank; 0: none.
 * @param [in] start   The first index of each box in each dimension: `ndims` numbers for the first box,
 *                     then for the next one. May be NULL if there are none.
 * @param [in] count   The number of indices of each box in each dimension, likewise; 0 is allowed. With 1
 *                     box, NULL for both `start` and `count` means the whole array.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG` for an impossible dataset, for boxes outside the array, and for
 * an index in two boxes, `SCDA_ERR_NOT_FOUND` for a dataset to extend, `SCDA_ERR_RANGE`, `SCDA_ERR_MEMORY`, and those
 * of the file system.
 */
scda_fcontext_t *scda_fwrite_dataset(scda_fcontext_t *f,
                                     const scda_dataset_t *d,
                                     const void *data,
                                     size_t nboxes,
                                     const uint64_t *start,
                                     const uint64_t *count,
                                     int *err);

/**
 * Writes datasets in one call, one after the other, from boxes anywhere in memory (`scda_box_t`): for
 * example, a block with ghost layers, one of several interleaved variables, or a member of a struct. The
 * bytes of the file are those of a call of `scda_fwrite_dataset` for each. Datasets in chunks are compressed
 * together, up to 16 MiB of items for each rank at a time: the ranks exchange parts once for all of these
 * datasets, and datasets of few chunks are compressed by different ranks.
 *
 * After an error, the file ends after one of the datasets, or with its previous contents.
 *
 * Collective; all arguments except `n` and `d` may differ between the ranks.
 *
 * @param [in] f       The file, open for writing.
 * @param [in] n       The number of datasets; 0 writes nothing.
 * @param [in] d       The descriptions of the datasets: `n` consecutive structs, each filled first by
 *                     `scda_dataset_init`. Not changed.
 * @param [in] nboxes  For each dataset, the number of boxes of this rank. NULL: 1 each.
 * @param [in] boxes   The boxes of the first dataset, then those of the next one, each filled first by
 *                     `scda_box_init`. May be NULL if there are none. Neither they nor what they point to is
 *                     changed.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: those of `scda_fwrite_dataset`.
 */
scda_fcontext_t *scda_fwrite_datasets(scda_fcontext_t *f,
                                      size_t n,
                                      const scda_dataset_t *d,
                                      const size_t *nboxes,
                                      const scda_box_t *boxes,
                                      int *err);

/**
 * Writes a dataset that is distributed over the ranks along its first dimension, in one call: if
 * `components` is 1, an array of shape (N), otherwise (N, `components`), where N is the sum of `count` over
 * the ranks. For other shapes, and for attributes such as units, use `scda_fwrite_dataset`.
 *
 * Each call adds up the numbers of all ranks. `scda_fwrite_field_parts` avoids that.
 *
 * Collective; `data` and `count` may differ between the ranks.
 *
 * @param [in] f           The file, open for writing.
 * @param [in] name        The name of the dataset, a C string.
 * @param [in] type        The type of the items: a number or `SCDA_TYPE_BOOL`.
 * @param [in] data        The items of this rank: `components` for each of its elements. May be NULL if
 *                         there are none.
 * @param [in] count       The number of elements on this rank.
 * @param [in] components  The number of items of each element, at least 1.
 * @param [in] encode      Whether to compress, like `encode` of `scda_dataset_t`. The library chooses the
 *                         chunks.
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
 * Errors: those of `scda_fwrite_dataset`.
 */
scda_fcontext_t *scda_fwrite_field(scda_fcontext_t *f,
                                   const char *name,
                                   int type,
                                   const void *data,
                                   uint64_t count,
                                   uint64_t components,
                                   int encode,
                                   int *err);

/**
 * Like `scda_fwrite_field`, for a program that has the numbers of elements of all ranks, or a partition.
 * Small fields are buffered without a message between the ranks.
 *
 * Collective; `data` may differ between the ranks.
 *
 * @param [in] f           The file, open for writing.
 * @param [in] name        The name of the dataset, a C string.
 * @param [in] type        As for `scda_fwrite_field`.
 * @param [in] data        As for `scda_fwrite_field`.
 * @param [in] Nq          The number of elements on each rank, or the `Nq` of a partition.
 * @param [in] components  As for `scda_fwrite_field`.
 * @param [in] encode      As for `scda_fwrite_field`.
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
 * Errors: those of `scda_fwrite_dataset`.
 */
scda_fcontext_t *scda_fwrite_field_parts(scda_fcontext_t *f,
                                         const char *name,
                                         int type,
                                         const void *data,
                                         const uint64_t *Nq,
                                         uint64_t components,
                                         int encode,
                                         int *err);

/**
 * Writes the attributes of a group of datasets, such as the title of a simulation or the time of a step. If
 * attributes are written again, readers see the later ones.
 *
 * A group consists of the datasets whose names begin with its path and a slash. A group without attributes
 * need not be written.
 *
 * Collective.
 *
 * @param [in] f           The file, open for writing.
 * @param [in] path        The path of the group, with or without a slash at its end, a C string of at most
 *                         57 bytes without it; "/" for the whole file.
 * @param [in] attributes  A JSON object, a C string in UTF-8. NULL: an empty one.
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE`, `SCDA_ERR_ARG` for an impossible group or attributes, `SCDA_ERR_MEMORY`, and
 * those of the file system.
 */
scda_fcontext_t *scda_fwrite_group(scda_fcontext_t *f,
                                   const char *path,
                                   const char *attributes,
                                   int *err);

/**
 * Sets attributes of a group, or of a dataset in the file that this program or an earlier one has written.
 * Other attributes do not change.
 *
 * They are appended, and become valid with the next seal: nothing in the file changes. So the file must be a
 * sealed one (`params.seal`), which was opened by `scda_fopen_append`, or in which the dataset was written
 * since it was created.
 *
 * Collective. All ranks pass the same arguments.
 *
 * @param [in] f        The file, open for writing.
 * @param [in] name     The name of the dataset, a C string; or the path of a group, such as "flow", with a slash
 *                      at its end if a dataset also has this name, or the group has no attributes yet; or "/"
 *                      for the whole file.
 * @param [in] record   Which of the datasets of this name, as for `scda_ffind_dataset`: 0 for the first one,
 *                      -1 for the last one. Ignored for a group.
 * @param [in] changes  A JSON object, a C string in UTF-8, with the new value of each attribute to change.
 *                      `null` removes it.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE` for a file without seals, `SCDA_ERR_NOT_FOUND` for a dataset that the file does
 * not have, `SCDA_ERR_ARG` for impossible attributes, `SCDA_ERR_FORMAT` for a damaged dataset or group, and those of
 * `scda_fflush`.
 */
scda_fcontext_t *scda_fset_attributes(scda_fcontext_t *f,
                                      const char *name,
                                      int64_t record,
                                      const char *changes,
                                      int *err);

/**
 * Finds a dataset by its name, and returns its description. `scda_fread_dataset` and others take the struct
 * `d`, or a copy of it, and read any boxes. Any number of datasets may be read in any order; none of these
 * calls changes the position of the file, and nothing needs to be closed.
 *
 * The section of its data is found as by `scda_ffind`.
 *
 * Collective; `d` may differ between the ranks. All ranks receive the same values.
 *
 * @param [in] f       The file, open for reading. Its position does not change.
 * @param [in] name    The name, a C string.
 * @param [in] record  Which of the datasets of this name: `SCDA_LAST` is the last, -2 the one before it; 0
 *                     is the first in the file, 1 the next.
 * @param [out] found  1 if there is such a dataset, otherwise 0. May be NULL.
 * @param [in,out] d   In: filled by `scda_dataset_init`. Out: the dataset; not written if there is none.
 *                     What it points to belongs to the file. May be NULL.
 * @param [out] err    The error code: 0 also if there is no such dataset.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_FORMAT` also if the section of this user string is not a dataset; this and
 * `SCDA_ERR_RANGE` for metadata that are invalid or do not fit the section after them;
 * `SCDA_ERR_UNSUPPORTED` for an unknown item type; `SCDA_ERR_ARG`; those of `scda_ffind` and
 * `scda_fread_section_header`.
 */
scda_fcontext_t *scda_ffind_dataset(scda_fcontext_t *f,
                                    const char *name,
                                    int64_t record,
                                    int *found,
                                    scda_dataset_t *d,
                                    int *err);

/**
 * Reads any boxes of a dataset on each rank: boxes that other ranks read, boxes that overlap, or none.
 *
 * Each rank reads and decompresses the chunks that its boxes touch, each once. A chunk that several ranks of
 * a node want is decompressed by one of them for all, unless it has more than 1 MiB or the dataset has less.
 *
 * Collective; all arguments except the dataset may differ between the ranks.
 *
 * @param [in] f        The file, open for reading. Its position does not change.
 * @param [in] d        The dataset, as found by `scda_ffind_dataset`; not changed. The same on all ranks.
 * @param [out] data    Room for the items of this rank: one box after the other, each in C order (the last
 *                      index varies fastest), in the machine's byte order. May be NULL if there are none.
 * @param [in] nboxes   The number of boxes of this rank; 0 reads nothing.
 * @param [in] start    The first index of each box in each dimension: `ndims` numbers for the first box,
 *                      then for the next one. May be NULL if there are none.
 * @param [in] count    The number of indices of each box in each dimension, likewise; 0 is allowed. With 1
 *                      box, NULL for both `start` and `count` means the whole array.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG` for a struct without a dataset of this file, and for boxes outside the array;
 * `SCDA_ERR_UNSUPPORTED` for the reason in `unsupported` of the dataset; `SCDA_ERR_DECODE` for a damaged
 * chunk; `SCDA_ERR_FORMAT`, `SCDA_ERR_COUNT`, `SCDA_ERR_RANGE`, `SCDA_ERR_CHECKSUM`, `SCDA_ERR_MEMORY`, and
 * those of the file system.
 */
scda_fcontext_t *scda_fread_dataset(scda_fcontext_t *f,
                                    const scda_dataset_t *d,
                                    void *data,
                                    size_t nboxes,
                                    const uint64_t *start,
                                    const uint64_t *count,
                                    int *err);

/**
 * Like `scda_fread_dataset`, to anywhere in memory (`scda_box_t`): for example, a block with ghost layers,
 * one of several interleaved variables, or a member of a struct.
 *
 * Collective; all arguments except the dataset may differ between the ranks.
 *
 * @param [in] f        The file, open for reading. Its position does not change.
 * @param [in] d        The dataset, as found by `scda_ffind_dataset`; not changed. The same on all ranks.
 * @param [in] nboxes   The number of boxes of this rank; 0 reads nothing.
 * @param [in] boxes    The boxes, each filled first by `scda_box_init`. Items are written where `data` and
 *                      `stride` say; no two boxes may overlap in memory. May be NULL if there are none.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: those of `scda_fread_dataset`.
 */
scda_fcontext_t *scda_fread_boxes(scda_fcontext_t *f,
                                  const scda_dataset_t *d,
                                  size_t nboxes,
                                  const scda_box_t *boxes,
                                  int *err);

/**
 * Finds datasets by their names and reads boxes of each, in one call, to anywhere in memory (`scda_box_t`),
 * like `scda_ffind_dataset` and `scda_fread_boxes` for each of them in this order. The ranks of a node
 * divide the chunks of all datasets among them as if they were those of one dataset, so that all ranks
 * decompress even if each dataset has few chunks.
 *
 * Collective; all arguments except `n`, the names in `d`, and `record` may differ between the ranks.
 *
 * @param [in] f       The file, open for reading. Its position does not change.
 * @param [in] n       The number of datasets; 0 reads nothing.
 * @param [in] d       The datasets: `n` consecutive structs, each filled first by `scda_dataset_init`. The
 *                     name determines which one is read; `type`, `item_bytes`, `unit`, `members` (as for
 *                     writing), `ndims` and `shape` must be those of the dataset in the file, so that its
 *                     items fit the memory. Other members are not compared. Structs filled by
 *                     `scda_ffind_dataset` are suitable. Not changed. May be NULL if there are none.
 * @param [in] record  For each dataset, which one of its name, as for `scda_ffind_dataset`. NULL: the last
 *                     one of each.
 * @param [in] nboxes  For each dataset, the number of boxes of this rank. NULL: 1 each.
 * @param [in] boxes   The boxes of the first dataset, then those of the next one, each filled first by
 *                     `scda_box_init`. Items are written where `data` and `stride` say; no two boxes may
 *                     overlap in memory. May be NULL if there are none.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_NOT_FOUND` for a dataset that the file does not have; `SCDA_ERR_ARG` for one that has another
 * type or shape in the file; those of `scda_ffind_dataset` and of `scda_fread_dataset`.
 */
scda_fcontext_t *scda_fread_datasets(scda_fcontext_t *f,
                                     size_t n,
                                     const scda_dataset_t *d,
                                     const int64_t *record,
                                     const size_t *nboxes,
                                     const scda_box_t *boxes,
                                     int *err);

/**
 * Finds the attributes of a group, as they were last written.
 *
 * Collective. All ranks receive the same values.
 *
 * @param [in] f            The file, open for reading. Its position does not change.
 * @param [in] path         The path of the group, as `scda_fwrite_group` takes it.
 * @param [out] found       1 if the group has attributes, otherwise 0. May be NULL.
 * @param [out] attributes  A JSON object without white space between its parts, a C string that belongs to
 *                          the file, and is valid until it is closed. Equal texts are kept once. Not written
 *                          if there is none. May be NULL.
 * @param [out] err         The error code: 0 also if the group has no attributes.
 * @return                  `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG` for a path that no group can have, `SCDA_ERR_FORMAT` for something that is not a
 * group, and those of `scda_ffind` and `scda_fread_section_header`.
 */
scda_fcontext_t *scda_ffind_group(scda_fcontext_t *f,
                                  const char *path,
                                  int *found,
                                  const char **attributes,
                                  int *err);

/**
 * Reads one attribute of a dataset or group: a number, a text, a bool, or a list of these. To read all of
 * them at once, use the JSON text that `scda_ffind_dataset` and `scda_ffind_group` return, with
 * `scda_get_attribute`.
 *
 * If there is no such attribute, dataset or group, `*count` becomes 0 and `values` are not changed: set them
 * to the default before.
 *
 * Collective; `values` may differ between the ranks. All ranks receive the same values.
 *
 * @param [in] f          The file, open for reading. Its position does not change.
 * @param [in] name       The name of the dataset, a C string; or the path of a group, such as "flow", with a
 *                        slash at its end if a dataset also has this name; or "/" for the whole file.
 * @param [in] record     Which of the datasets of this name, as for `scda_ffind_dataset`: `SCDA_LAST` is the
 *                        last. Ignored for a group.
 * @param [in] key        The name of the attribute, a C string.
 * @param [in] type       As for `scda_get_attribute`.
 * @param [out] values    As for `scda_get_attribute`.
 * @param [in,out] count  As for `scda_get_attribute`.
 * @param [out] err       The error code: 0 also if there is no such attribute.
 * @return                `f`, or NULL on error.
 * Errors: those of `scda_get_attribute`, `scda_ffind_dataset` and `scda_ffind_group`.
 */
scda_fcontext_t *scda_fread_attribute(scda_fcontext_t *f,
                                      const char *name,
                                      int64_t record,
                                      const char *key,
                                      int type,
                                      void *values,
                                      uint64_t *count,
                                      int *err);

/**
 * Sets one attribute of an existing dataset or group to a number, a text, a bool, or a list of these. Other
 * attributes do not change. `scda_fset_attributes` sets several at once, which takes less space in the file,
 * and can remove some.
 *
 * Collective. All ranks pass the same arguments and values.
 *
 * @param [in] f       The file, open for writing.
 * @param [in] name    As for `scda_fset_attributes`.
 * @param [in] record  As for `scda_fset_attributes`.
 * @param [in] key     The name of the attribute, a C string in UTF-8.
 * @param [in] type    As for `scda_set_attribute`.
 * @param [in] values  As for `scda_set_attribute`.
 * @param [in] count   As for `scda_set_attribute`.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: those of `scda_set_attribute` and `scda_fset_attributes`.
 */
scda_fcontext_t *scda_fset_attribute(scda_fcontext_t *f,
                                     const char *name,
                                     int64_t record,
                                     const char *key,
                                     int type,
                                     const void *values,
                                     uint64_t count,
                                     int *err);

/**
 * Reads one attribute from a JSON object, such as the `attributes` of a dataset that `scda_ffind_dataset` has found: a
 * number, a text, a bool, or a list of these.
 *
 * Not collective.
 *
 * @param [in] attributes  The JSON object, a C string. NULL or "": an empty one.
 * @param [in] key         The name of the attribute, a C string.
 * @param [in] type        The type of `values`: integers or floating-point numbers of any size,
 *                         `SCDA_TYPE_BOOL`, or `SCDA_TYPE_STRING` for a text.
 * @param [out] values     Receives the value, or all values of a list. For `SCDA_TYPE_STRING` they are
 *                         characters: each text is followed by a NUL. May be NULL to set only `*count`.
 * @param [in,out] count   In: the number of values that fit, or of characters for `SCDA_TYPE_STRING`. Out:
 *                         the number of values of the attribute, or of characters with the NULs; 0 if there
 *                         is no such attribute, or for an empty list; `values` are then not written. Must
 *                         not be NULL.
 * @param [out] err        The error code: 0 also if there is no such attribute.
 * @return                 0, or -1 on error.
 * Errors: `SCDA_ERR_ARG` also if `values` are too small, and for an attribute that does not match `type`,
 * such as a number with a fraction for an integer type; `SCDA_ERR_RANGE` for a number that does not fit;
 * `SCDA_ERR_FORMAT` for text that is not a JSON object.
 */
int scda_get_attribute(const char *attributes,
                       const char *key,
                       int type,
                       void *values,
                       uint64_t *count,
                       int *err);

/**
 * Lists the attributes of a JSON object, such as the `attributes` of a dataset that `scda_ffind_dataset` has
 * found: their names and types. `scda_get_attribute` then reads each. With NULL for `keys` and `types`, only
 * returns how much room they need.
 *
 * Not collective.
 *
 * @param [in] attributes  The JSON object, a C string. NULL or "": an empty one.
 * @param [out] keys       Receives the names in the order of the text, each followed by a NUL. A NUL in a name becomes
 *                         "\u0000". May be NULL.
 * @param [in,out] bytes   In: the number of characters that fit in `keys`. Out: that of all names with their
 *                         NULs. Must not be NULL.
 * @param [out] types      Receives for each attribute the type by which `scda_get_attribute` reads it:
 *                         `SCDA_TYPE_BOOL`, `SCDA_TYPE_INT64`, `SCDA_TYPE_UINT64` for integers that are
 *                         larger, `SCDA_TYPE_FLOAT64` for other numbers, also NaN and infinities, and for an
 *                         empty list, or `SCDA_TYPE_STRING`; 0 for anything else, such as an object. May be
 *                         NULL.
 * @param [in,out] number  In: the number of `types` that fit. Out: the number of attributes. Must not be NULL.
 * @param [out] err        The error code.
 * @return                 0, or -1 on error.
 * Errors: `SCDA_ERR_ARG` also if `keys` or `types` are too small; `SCDA_ERR_FORMAT` for text that is not a
 * JSON object.
 */
int scda_list_attributes(const char *attributes,
                         char *keys,
                         uint64_t *bytes,
                         int *types,
                         uint64_t *number,
                         int *err);

/**
 * Sets one attribute in a JSON object, for the `attributes` of a dataset or group to be written. Other
 * attributes do not change.
 *
 * Not collective.
 *
 * @param [in,out] attributes  The JSON object, a C string; "" is an empty one.
 * @param [in] size            The size of `attributes`, in bytes.
 * @param [in] key             The name of the attribute, a C string in UTF-8.
 * @param [in] type            The type of `values`: integers or floating-point numbers of any size,
 *                             `SCDA_TYPE_BOOL`, or `SCDA_TYPE_STRING`.
 * @param [in] values          The value, or the values of a list. For `SCDA_TYPE_STRING`, C strings in
 *                             UTF-8, each directly after the NUL of the previous one. May be NULL if there
 *                             are none.
 * @param [in] count           1: a single value; otherwise the number of values in a list.
 * @param [out] err            The error code.
 * @return                     0, or -1 on error, in which case `attributes` have not changed.
 * Errors: `SCDA_ERR_ARG`, also if `attributes` are not a JSON object, if the result does not fit, and for
 * values that cannot be an attribute.
 */
int scda_set_attribute(char *attributes,
                       size_t size,
                       const char *key,
                       int type,
                       const void *values,
                       uint64_t count,
                       int *err);

/**
 * Writes a dataset of texts or byte strings of any length (`SCDA_TYPE_STRING`, `SCDA_TYPE_VARIABLE_BYTES`).
 * Each rank has some indices of the first dimension, in the order of the ranks. The bytes of the file do not
 * depend on this distribution.
 *
 * Such a dataset is always divided into chunks of whole indices of the first dimension; without `chunk`,
 * these have about 512 KiB. They are not compressed with `SCDA_ENCODE_NONE`; `SCDA_ENCODE_TEXT` is an error.
 *
 * Collective; `count`, `items` and `lengths` may differ between the ranks.
 *
 * @param [in] f        The file, open for writing.
 * @param [in] d        The description of the dataset, in which the first number of the shape is ignored: it
 *                      is the sum of the ranks' counts. Not changed.
 * @param [in] count    The number of indices of the first dimension on this rank.
 * @param [in] items    The items of this rank in C order: `count` pointers, times the other numbers of the
 *                      shape. They belong to the caller, and are not used after the call. May be NULL if
 *                      there are none.
 * @param [in] lengths  The size of each item in bytes; the pointer to an empty item may be NULL. NULL: the
 *                      items are C strings.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG` also for another type, and for text that is not UTF-8; `SCDA_ERR_RANGE` for a chunk
 * of more than 2^31 - 1 bytes; those of `scda_fwrite_dataset`.
 */
scda_fcontext_t *scda_fwrite_texts(scda_fcontext_t *f,
                                   const scda_dataset_t *d,
                                   uint64_t count,
                                   const char *const *items,
                                   const uint64_t *lengths,
                                   int *err);

/**
 * Reads boxes of a dataset whose items are texts or byte strings of any length, on each rank, and returns
 * their lengths. The bytes are kept with the file until the next call of this function: `scda_texts_data`
 * copies them.
 *
 * Collective; all arguments except the dataset may differ between the ranks.
 *
 * @param [in] f         The file, open for reading. Its position does not change.
 * @param [in] d         A dataset of `SCDA_TYPE_STRING` or `SCDA_TYPE_VARIABLE_BYTES`, as found by
 *                       `scda_ffind_dataset`; not changed. The same on all ranks.
 * @param [in] nboxes    The number of boxes of this rank; 0 reads nothing.
 * @param [in] start     The first index of each box in each dimension, as for `scda_fread_dataset`.
 * @param [in] count     The number of indices of each box in each dimension, likewise. With 1 box, NULL for
 *                       both `start` and `count` means the whole array.
 * @param [out] lengths  The size of each item in bytes: one box after the other, each in C order. May be
 *                       NULL if there are none.
 * @param [out] err      The error code.
 * @return               `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG` also for a dataset of another type; `SCDA_ERR_DECODE` also for text that is not
 * UTF-8; those of `scda_fread_dataset`.
 */
scda_fcontext_t *scda_fread_texts_sizes(scda_fcontext_t *f,
                                        const scda_dataset_t *d,
                                        size_t nboxes,
                                        const uint64_t *start,
                                        const uint64_t *count,
                                        uint64_t *lengths,
                                        int *err);

/**
 * Copies the bytes of the items whose lengths `scda_fread_texts_sizes` last returned, one item after the
 * other, without anything between or after them.
 *
 * Not collective. After an error `f` stays open.
 *
 * @param [in] f      The file, open for reading.
 * @param [out] data  Room for the bytes. May be NULL if there are none.
 * @param [in] bytes  The number of bytes: the sum of the lengths.
 * @param [out] err   The error code.
 * @return            0, or -1 on error.
 * Errors: `SCDA_ERR_USAGE` if no lengths were returned; `SCDA_ERR_ARG` for another number of bytes.
 */
int scda_texts_data(scda_fcontext_t *f,
                    void *data,
                    uint64_t bytes,
                    int *err);

/**
 * Begins a set of streams, one for each rank (task). From now on each rank writes bytes to its own stream,
 * as many and as often as it likes, by `scda_stream_write`, until all ranks end the streams by
 * `scda_fwrite_streams_end`. In between, only `scda_fflush` and `scda_fcommit` may be called.
 *
 * The file stores the streams in chunks: an array whose elements belong to the tasks in turn, with a block
 * before it and another array after it (docs/streams.md). The unused rest of a task's chunks takes no space
 * on disk if the file system supports holes.
 *
 * Collective.
 *
 * @param [in] f            The file, open for writing.
 * @param [in] userstr      The user string of the set, with which `scda_ffind_streams` finds it.
 * @param [in] len          Its length, or NULL.
 * @param [in] chunk_bytes  The size of a chunk, 1 to 2^30 bytes. It should be a multiple of the file
 *                          system's block size, so that no two ranks write the same block. 0: a stripe of
 *                          the file system, at least 1 MiB and at most 64 MiB.
 * @param [out] err         The error code.
 * @return                  `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_USAGE` if streams were begun and not ended, `SCDA_ERR_MEMORY`, and those of the
 * file system.
 */
scda_fcontext_t *scda_fwrite_streams_begin(scda_fcontext_t *f,
                                           const char *userstr,
                                           const size_t *len,
                                           uint64_t chunk_bytes,
                                           int *err);

/**
 * Appends bytes to this rank's stream. No message is sent. Long data are written directly from `data`, short
 * ones are collected.
 *
 * Not collective. An error is returned on this rank at once, and on all ranks by the next call in which they
 * agree, that is, `scda_fflush`, `scda_fcommit` or `scda_fwrite_streams_end`. Until then `f` stays open.
 *
 * @param [in] f      The file, open for writing, between `scda_fwrite_streams_begin` and
 *                    `scda_fwrite_streams_end`.
 * @param [in] data   The bytes. May be NULL if there are none.
 * @param [in] bytes  The number of bytes.
 * @param [out] err   The error code.
 * @return            0, or -1 on error.
 * Errors: `SCDA_ERR_USAGE` if there are no streams, `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`, `SCDA_ERR_MEMORY`, and those of
 * the file system.
 */
int scda_stream_write(scda_fcontext_t *f,
                      const void *data,
                      uint64_t bytes,
                      int *err);

/**
 * Ends the streams that `scda_fwrite_streams_begin` has begun.
 *
 * Collective.
 *
 * @param [in] f     The file, open for writing.
 * @param [out] err  The error code.
 * @return           `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE` if there are no streams, those that `scda_stream_write` returned on any rank,
 * `SCDA_ERR_RANGE`, and those of the file system.
 */
scda_fcontext_t *scda_fwrite_streams_end(scda_fcontext_t *f,
                                         int *err);

/**
 * Finds a set of streams by its user string. `scda_stream_read` then reads any part of any of its streams,
 * and `scda_fread_streams_data` all streams of this rank's share. An uncompressed varray is also a set, with
 * one stream for each element, unless it has the chunks of a dataset. Any number of sets may be found and
 * read in any order. Each is known by its number until the file is closed.
 *
 * Collective. All ranks receive the same values.
 *
 * @param [in] f             The file, open for reading. Its position does not change.
 * @param [in] userstr       The user string.
 * @param [in] len           Its length, or NULL.
 * @param [in] record        Which of the sets with this user string: `SCDA_LAST` is the last, -2 the one
 *                           before it; 0 is the first in the file, 1 the next.
 * @param [out] streams      The number of the set, for the functions that read it; 0 if there is no such set. May be
 *                           NULL.
 * @param [out] tasks        The number of streams, which is that of the ranks that wrote them. Not written
 *                           if there is no such set. May be NULL.
 * @param [out] chunk_bytes  The size of a chunk in bytes; 0 if the streams are the elements of a varray. Not
 *                           written if there is no such set. May be NULL.
 * @param [out] err          The error code: 0 also if there is no such set.
 * @return                   `f`, or NULL on error.
 * Errors: `SCDA_ERR_FORMAT` also if another section or a dataset has this user string; `SCDA_ERR_ARG`, and those of
 * `scda_ffind`, `scda_fseek` and `scda_fread_section_header`.
 */
scda_fcontext_t *scda_ffind_streams(scda_fcontext_t *f,
                                    const char *userstr,
                                    const size_t *len,
                                    int64_t record,
                                    uint64_t *streams,
                                    uint64_t *tasks,
                                    uint64_t *chunk_bytes,
                                    int *err);

/**
 * Returns the size of a stream.
 *
 * Not collective: each rank may ask for any streams. After an error `f` stays open.
 *
 * @param [in] f        The file, open for reading.
 * @param [in] streams  The set, as found by `scda_ffind_streams`.
 * @param [in] task     The number of the stream, from 0 to the number of tasks minus 1.
 * @param [out] bytes   Its size in bytes. Must not be NULL.
 * @param [out] err     The error code.
 * @return              0, or -1 on error.
 * Errors: `SCDA_ERR_ARG` also if there is no such set or stream, `SCDA_ERR_FORMAT`,
 * `SCDA_ERR_MEMORY`, and those of the file system.
 */
int scda_stream_size(scda_fcontext_t *f,
                     uint64_t streams,
                     uint64_t task,
                     uint64_t *bytes,
                     int *err);

/**
 * Reads bytes of a stream.
 *
 * Not collective: each rank may read any bytes of any streams, including those that other ranks read. After
 * an error `f` stays open.
 *
 * @param [in] f        The file, open for reading.
 * @param [in] streams  The set, as found by `scda_ffind_streams`.
 * @param [in] task     The number of the stream, from 0 to the number of tasks minus 1.
 * @param [in] offset   The first byte to read, from 0.
 * @param [out] data    Room for the bytes. May be NULL if there are none.
 * @param [in] bytes    The number of bytes, at most as many as the stream has from `offset` on.
 * @param [out] err     The error code.
 * @return              0, or -1 on error.
 * Errors: those of `scda_stream_size`; `SCDA_ERR_ARG` also if the stream has fewer bytes.
 */
int scda_stream_read(scda_fcontext_t *f,
                     uint64_t streams,
                     uint64_t task,
                     uint64_t offset,
                     void *data,
                     uint64_t bytes,
                     int *err);

/**
 * Reads the size of each stream in this rank's share, for `scda_fread_streams_data`.
 *
 * The streams are distributed over the ranks like the elements of an array, in the order of the tasks: if
 * there are fewer ranks than tasks, a rank has several. To read streams independently of such a partition,
 * use `scda_stream_read`.
 *
 * Collective; `Ei` may differ between the ranks.
 *
 * @param [in] f        The file, open for reading. Its position does not change.
 * @param [in] streams  The set, as found by `scda_ffind_streams`. The same on all ranks.
 * @param [out] Ei      Room for the size of each stream of this rank. NULL skips them on this rank.
 * @param [in] Nq       The number of streams on each rank. The sum is the number of tasks.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG` also if there is no such set, `SCDA_ERR_RANGE`, `SCDA_ERR_FORMAT`, `SCDA_ERR_MEMORY`, and
 * those of the file system.
 */
scda_fcontext_t *scda_fread_streams_sizes(scda_fcontext_t *f,
                                          uint64_t streams,
                                          uint64_t *Ei,
                                          const uint64_t *Nq,
                                          int *err);

/**
 * Reads all streams in this rank's share, in the order of the tasks.
 *
 * Collective; `dbytes`, `Ei` and `indirect` may differ between the ranks. `Nq` may differ from that with
 * which the sizes were read.
 *
 * @param [in] f         The file, open for reading. Its position does not change.
 * @param [in] streams   The set, as found by `scda_ffind_streams`. The same on all ranks.
 * @param [out] dbytes   Room for the streams of this rank, without gaps, or NULL.
 * @param [in] Nq        The number of streams on each rank. The sum is the number of tasks.
 * @param [in] Ei        The size of each stream of this rank, as returned by `scda_fread_streams_sizes`.
 *                       Ignored if `dbytes` is NULL.
 * @param [in] indirect  0: `dbytes` is for the data. Otherwise: pointers to room for each stream; NULL skips one.
 * @param [out] err      The error code.
 * @return               `f`, or NULL on error.
 * Errors: those of `scda_fread_streams_sizes`; `SCDA_ERR_ARG` also if `Ei` differs from the sizes in the
 * file.
 */
scda_fcontext_t *scda_fread_streams_data(scda_fcontext_t *f,
                                         uint64_t streams,
                                         void *dbytes,
                                         const uint64_t *Nq,
                                         const uint64_t *Ei,
                                         int indirect,
                                         int *err);

/**
 * Returns the state of a file, without reading it. `scda_fsections` counts its sections.
 *
 * Not collective: no message is sent. Except for `failed_rank` and `stream_bytes`, all ranks receive the
 * same.
 *
 * @param [in] f        The file. NULL, or a file that an error has closed, counts as not open.
 * @param [in,out] info  The state; the program sets `size` before. Must not be NULL.
 * @return              0, or a negative value for wrong arguments.
 */
int scda_get_info(const scda_fcontext_t *f,
                  scda_info_t *info);

/**
 * The user string of a file, for example of one that `scda_fopen_append_or_create` has found.
 *
 * Not collective: no message is sent.
 *
 * @param [in] f         The file.
 * @param [out] userstr  The user string and a NUL: room for `SCDA_USER_STRING_BYTES` + 1 characters.
 * @param [out] len      Its length.
 * @param [out] err      The error code. After an error the file stays open.
 * @return               0 on success.
 * Errors: `SCDA_ERR_ARG` for NULL, `SCDA_ERR_USAGE` for a file that is closed.
 */
int scda_get_user_string(scda_fcontext_t *f,
                         char *userstr,
                         size_t *len,
                         int *err);

/**
 * Begins before the first entry, in a struct of which the program knows the first `size` bytes;
 * `scda_entry_init` calls it.
 *
 * Not collective.
 *
 * @param [out] e    The entry. Must not be NULL.
 * @param [in] size  The size of `*e` when the program was compiled, which is stored in its `size`.
 * @return           0, or a negative value for NULL.
 */
int scda_entry_init_size(scda_entry_t *e, size_t size);

/**
 * Finds the next entry of a file, as its users see it: each record of each dataset, groups, sets of streams,
 * and all other sections, in the order of the file. Attributes and rows that were added later belong to
 * their dataset; of a group, only the attributes that were written last are an entry.
 *
 * If the file ends with a seal, it locates the sections. Otherwise headers are read, once while the file is
 * open. Other calls may come between two entries, and several lists may be read at once: the position of a
 * list is only in `e`.
 *
 * At the end, `*err` is `SCDA_ERR_EOF`, `e` is not written, and `f` is returned.
 *
 * Collective. All ranks pass the same entry, and receive the same values.
 *
 * @param [in] f      The file, open for reading. Its position does not change.
 * @param [in,out] e  In: filled by `scda_entry_init`, or by the last call. Out: the next entry. Must not be
 *                    NULL.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, and those of `scda_ffind_dataset`, `scda_ffind_group` and `scda_ffind_streams`.
 */
scda_fcontext_t *scda_fnext_entry(scda_fcontext_t *f,
                                  scda_entry_t *e,
                                  int *err);

/**
 * Reads a field that is distributed over the ranks along its first dimension, as written by
 * `scda_fwrite_field` and others, from a file that another version of the program may have written: by a new
 * or an old name, with any number type, and with any number of components. Values that the file does not
 * have are not changed in `data`, so store the defaults there before.
 *
 * The ranks have consecutive rows, in their order, and together all rows.
 *
 * Collective; `data` and `count` may differ between the ranks.
 *
 * @param [in] f           The file, open for reading. Its position does not change.
 * @param [in] name        The name of the dataset, a C string.
 * @param [in] old_name    The name to look for if there is no dataset with the other name. NULL: none.
 * @param [in] record      The record, as for `scda_ffind_dataset`; `SCDA_LAST` is the last.
 * @param [in] type        The type of the items in memory: a number or `SCDA_TYPE_BOOL`. Numbers of another type in
 *                         the file are converted.
 * @param [in,out] data    `components` items for each element of this rank. May be NULL if there are none.
 * @param [in] count       The number of elements on this rank.
 * @param [in] components  The number of items of each element in memory, at least 1. For a dataset of more
 *                         than two dimensions, the product of all but the first.
 * @param [out] found      0 if the file has neither name; otherwise `SCDA_FIELD_FOUND`, plus what differs:
 *                         `SCDA_FIELD_RENAMED`, `SCDA_FIELD_CONVERTED`, `SCDA_FIELD_COMPONENTS`. The same on
 *                         all ranks. May be NULL.
 * @param [out] err        The error code: 0 also if there is no such dataset.
 * @return                 `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG` if the ranks together have another number of elements than the dataset, or if a
 * dataset of more than two dimensions has other components; `SCDA_ERR_RANGE` for a number that does not fit
 * `type`; those of `scda_ffind_dataset` and `scda_fread_boxes`.
 */
scda_fcontext_t *scda_fread_field(scda_fcontext_t *f,
                                  const char *name,
                                  const char *old_name,
                                  int64_t record,
                                  int type,
                                  void *data,
                                  uint64_t count,
                                  uint64_t components,
                                  int *found,
                                  int *err);

/**
 * From now on, signals and a deadline request a stop, which `scda_stop_requested` tells all ranks. The
 * signals no longer end the process. A handler that the program set before this call is called as well. A
 * stop that was requested stays requested; another call of this function adds signals and replaces the
 * deadline.
 *
 * Not collective: all ranks should call it, with the same or different deadlines. MPI need not be running,
 * so call it before `MPI_Init` to miss no signal.
 *
 * @param [in] signals  The signals: the sum of some of `SCDA_STOP_TERM`, ... 0: `SCDA_STOP_TERM +
 *                      SCDA_STOP_USR1`.
 * @param [in] seconds  A stop is also requested after this many seconds. 0: no deadline.
 * @param [out] err     The error code. May be NULL.
 * @return              0, or -1 on error.
 * Errors: `SCDA_ERR_ARG` for other signals, and for a time that is negative or not a number.
 */
int scda_stop_watch(int signals,
                    double seconds,
                    int *err);

/**
 * Whether any rank was asked to stop, by a signal or by a deadline (`scda_stop_watch`). The answer is the
 * same on all ranks, and once 1 it stays 1. Call it once in each step; if the answer is 1, write a
 * checkpoint and end.
 *
 * Collective: the ranks exchange a few bytes in a duplicate of `comm`.
 *
 * @param [in] comm  The communicator.
 * @param [out] err  The error code. May be NULL.
 * @return           1 if a stop was requested, 0 if not, -1 on error.
 * Errors: `SCDA_ERR_MPI`, `SCDA_ERR_USAGE` if MPI is not running.
 */
int scda_stop_requested(MPI_Comm comm,
                        int *err);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

/**
 * Fills `params` with the defaults.
 *
 * Not collective.
 *
 * @param [out] params  The parameters. Must not be NULL.
 * @return              0, or a negative value for NULL.
 */
static inline int scda_params_init(scda_params_t *params) {
  return scda_params_init_size(params, sizeof(*params));
}

/**
 * The number of elements on a rank, by any `Nq`: also by that of a partition, on the rank that made it.
 *
 * Not collective.
 *
 * @param [in] Nq    The number of elements on each rank, or the `Nq` of a partition.
 * @param [in] rank  This rank.
 * @return           The number of elements on this rank.
 */
static inline uint64_t scda_own_count(const uint64_t *Nq, int rank) {
  return Nq[0] == UINT64_C(0xff73636461706172) ? Nq[4] : Nq[rank];
}

/**
 * Fills `d` with the defaults: no name, no type, no dimensions.
 *
 * Not collective.
 *
 * @param [out] d  The description of a dataset. Must not be NULL.
 * @return         0, or a negative value for NULL.
 */
static inline int scda_dataset_init(scda_dataset_t *d) {
  return scda_dataset_init_size(d, sizeof(*d));
}

/**
 * Fills `b` with the defaults: all of an array, without data.
 *
 * Not collective.
 *
 * @param [out] b  The box. Must not be NULL.
 * @return         0, or a negative value for NULL.
 */
static inline int scda_box_init(scda_box_t *b) {
  return scda_box_init_size(b, sizeof(*b));
}

/**
 * Fills `e` so that `scda_fnext_entry` begins with the first entry.
 *
 * Not collective.
 *
 * @param [out] e  The entry. Must not be NULL.
 * @return         0, or a negative value for NULL.
 */
static inline int scda_entry_init(scda_entry_t *e) {
  return scda_entry_init_size(e, sizeof(*e));
}

#endif  /* SCDA_H */
