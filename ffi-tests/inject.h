/* The library that is preloaded to let calls fail: see inject.c. */
#ifndef INJECT_H
#define INJECT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a call fails: at once (with EIO, ENOSPC, EDQUOT or EINTR); by moving fewer bytes; after it has done its work; at once, and
 * every later one, too; by killing the process before the call, or when half of what it writes is written; some calls at random. */
enum { inject_error, inject_no_space, inject_quota, inject_interrupt, inject_short, inject_after, inject_always,
       inject_kill, inject_tear, inject_at_random };

/* From now on the k-th call (from 1) of this name fails; "*" are all calls of the system. The functions that write (pwrite,
 * pwritev, write) count as one, "pwrite", and those that read, as "pread". */
void inject_arm (const char *call, int how, long k);
/* From now on one of `every` accesses to a file fails on average: calls that read, write, truncate, sync or close it, of the system or of
 * MPI. The same seed lets the same calls fail. */
void inject_random (uint64_t every, uint64_t seed);
/* Nothing fails any more. How many calls have failed? */
int inject_disarm (void);
/* If it is not 0, calls that write at least this number of bytes write nothing and say that they did: for files that no disk has
 * room for. */
extern size_t inject_discard;
/* The communicators, windows, infos and files of MPI that were handed out and not given back. */
extern long inject_balance;

#ifdef __cplusplus
}
#endif

#endif
