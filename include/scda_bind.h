/* Generated from crates/c/src by cbindgen: do not edit. SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file scda_bind.h
 * What bindings of other languages call, and headers for C that build on scda.h.
 *
 * What scda.h says under "Parameters" holds here, too.
 */


#ifndef SCDA_BIND_H
#define SCDA_BIND_H

#include <scda.h>

/**
 * The lengths of the arguments of a call that reads or writes elements. `UINT64_MAX` means that a length is
 * unknown, or that the call has no such argument; it is then ignored.
 */
struct scda_lengths {
  /**
   * The size of this struct in bytes, as the caller sets it.
   */
  size_t size;
  /**
   * The argument `Nq`.
   */
  const uint64_t *Nq;
  /**
   * The number of entries in it.
   */
  uint64_t Nq_entries;
  /**
   * With `Nq`, out: the index of this rank's first element, the number of its elements, and the number of
   * elements on all ranks. Without `Nq`, in: the number of elements in `n`.
   */
  uint64_t first;
  /**
   * See `first`.
   */
  uint64_t n;
  /**
   * See `first`.
   */
  uint64_t total;
  /**
   * The size of each element in bytes, if there is no `Ei`.
   */
  uint64_t E;
  /**
   * The argument `Ei`. NULL: the sizes are to be read.
   */
  const uint64_t *Ei;
  /**
   * The number of entries in it.
   */
  uint64_t Ei_entries;
  /**
   * The number of entries in `Sq`.
   */
  uint64_t Sq_entries;
  /**
   * The size of the data in bytes or, with `indirect`, the number of pointers.
   */
  uint64_t data;
  /**
   * If the data are an array, the size of its elements in bytes: that of a pointer with `indirect`,
   * otherwise a divisor of `E`.
   */
  uint64_t unit;
  /**
   * The number of elements in the data, which must be that of this rank.
   */
  uint64_t elements;
  /**
   * 1: the data are pointers to the elements.
   */
  int indirect;
  /**
   * 1: the data have exactly the size of the elements.
   */
  int exactly;
};

/**
 * The lengths of the arguments of a call.
 */
typedef struct scda_lengths scda_lengths_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Opens a file with the handles of MPI's Fortran interface, for languages that have the number of a
 * communicator.
 *
 * Collective, like `scda_fopen_write`, `scda_fopen_read` and `scda_fopen_append`.
 *
 * @param [in] comm          The communicator, as `MPI_Comm_c2f` returns it. 0x5cda5e1f (1557814815)
 *                           is `SCDA_COMM_SELF`, also in the build without MPI.
 * @param [in] info          Hints, as `MPI_Info_c2f` returns them, instead of `params->info`. NULL: those of
 *                           `params`.
 * @param [in] filename      The path of the file.
 * @param [in] mode          "w": as `scda_fopen_write`. "r": as `scda_fopen_read`. "a": as
 *                           `scda_fopen_append`. "c": as `scda_fopen_append_or_create`.
 * @param [in,out] userstr   The user string of the file: input for "w" and "c", output for "r" and "a".
 * @param [in,out] len       Its length: input for "w" and "c", output for "r" and "a".
 * @param [in] params        The parameters. NULL: the defaults.
 * @param [out] rank         This rank in `comm`, also after an error of opening the file. May be NULL.
 * @param [out] size         The number of ranks of `comm`, likewise. May be NULL.
 * @param [out] is_new       1 if the file was created, otherwise 0. May be NULL.
 * @param [out] err          The error code.
 * @return                   The file, to be closed by `scda_fclose`, or NULL on error.
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
                              int *is_new,
                              int *err);

/**
 * Like `scda_stop_requested`, with the handle of MPI's Fortran interface.
 *
 * Collective.
 *
 * @param [in] comm  The communicator, as for `scda_fopen_f`.
 * @param [out] err  The error code. May be NULL.
 * @return           1 if a stop was requested, 0 if not, -1 on error.
 * Errors: those of `scda_stop_requested`.
 */
int scda_stop_requested_f(int comm, int *err);

/**
 * Makes all ranks fail with an error that the caller has found on this rank.
 *
 * A binding can check more than C, such as the length of an array. On the rank with the error, it calls this
 * function, and then the function that it was about to call, with NULL instead of the wrong argument. All
 * ranks then get the error, with this message, like any error that only one rank can detect: from that call
 * or a later one, at the latest from `scda_fflush` or `scda_fclose`. If there are several errors, the first
 * one counts.
 *
 * Not collective.
 *
 * @param [in] f     The file, open for writing or reading.
 * @param [in] why   The message, a C string: what was found, and what was expected.
 * @param [out] err  The error code: 0 if the file is open.
 * @return           `f`, or NULL if it is not an open file.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_USAGE`.
 */
scda_fcontext_t *scda_refuse(scda_fcontext_t *f,
                             const char *why,
                             int *err);

/**
 * Lets the ranks agree on errors: if any rank has one, all fail with that of the lowest one. For headers,
 * before an exchange of their own, and for errors that all ranks have found.
 *
 * Collective. All arguments except `f` may differ between the ranks.
 *
 * @param [in] f     The file, open for writing or reading.
 * @param [in] code  The error code of this rank, or `SCDA_SUCCESS`.
 * @param [in] why   Its message, a C string: what was found, and what was expected. Not read for `SCDA_SUCCESS`.
 * @param [out] err  The error code.
 * @return           `f`, or NULL on error.
 * Errors: the error of a rank; `SCDA_ERR_ARG` for an unknown code.
 */
scda_fcontext_t *scda_fagree(scda_fcontext_t *f,
                             int code,
                             const char *why,
                             int *err);

/**
 * Closes a file with which this rank cannot continue, and tells the other ranks: they get this error from
 * their current call, or from their next one that synchronizes. What is written is incomplete, as after any
 * error; an atomic write leaves the old file.
 *
 * Collective, but the other ranks need not call it.
 *
 * @param [in] f     The file, open for writing or reading, which is closed.
 * @param [out] err  The error code, with which the other ranks fail as well. Never 0.
 * @return           NULL, as after any error.
 * Errors: `SCDA_ERR_USAGE`, and any that another rank has at the same time.
 */
scda_fcontext_t *scda_fleave(scda_fcontext_t *f,
                             int *err);

/**
 * Compares the lengths of the arguments of the next call with what the call will use. If they are too short
 * on this rank, all ranks fail, as with `scda_refuse`; the caller then passes NULL instead of `Nq` or the
 * data, so that nothing is read or written.
 *
 * Not collective. After an error `f` stays open.
 *
 * @param [in] f           The file, open for writing or reading.
 * @param [in,out] lengths  The lengths. Must not be NULL.
 * @param [out] err        The error code.
 * @return                 0 if the arguments are long enough, otherwise -1.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_USAGE`.
 */
int scda_check_lengths(scda_fcontext_t *f,
                       scda_lengths_t *lengths,
                       int *err);

/**
 * Memory that belongs to an open file, for headers such as scda_p4est.h. It is zero when it is first
 * requested, does not move, and is freed when the file is closed. The library does not use it.
 *
 * Not collective.
 *
 * @param [in] f      The file, open for writing or reading.
 * @param [in] key    Identifies the note: a C string.
 * @param [in] bytes  Its size, at most 2^20; the same in each call for this key. 0: the note, if it exists.
 * @return            The note, aligned for numbers of 8 bytes. NULL if the file is not open, if another call
 *                    used another size, if the note does not exist and `bytes` is 0, or if there is no
 *                    memory.
 */
void *scda_note(const scda_fcontext_t *f,
                const char *key,
                size_t bytes);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SCDA_BIND_H */
