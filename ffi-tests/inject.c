/* Preloaded to a program: lets one call of the system or of MPI fail, and counts what MPI hands out.
 *
 * The program says which call and when, by `inject_arm`; without it nothing happens. Calls of the system are meant only on
 * files whose names end in ".scda" or ".scda-part", and on folders whose names end in ".scda-folder": MPI has files of its
 * own. */
#define _GNU_SOURCE
#include "inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *armed_call; /* NULL: nothing is armed */
static int armed_how;
static long countdown;
static int hits;
size_t inject_discard;
long inject_balance; /* communicators, windows, infos and files of MPI that are not given back */

void inject_arm (const char *call, int how, long k) {
  armed_how = how;
  countdown = k;
  hits = 0;
  armed_call = call;
}

int inject_disarm (void) {
  armed_call = NULL;
  return hits;
}

static uint64_t random_every, random_state;
/* This thread is in a call of MPI for a file, which fails as a whole. */
static __thread int in_mpi;

void inject_random (uint64_t every, uint64_t seed) {
  random_every = every;
  random_state = seed;
  inject_arm ("", inject_at_random, 0);
}

/* Whether this call, if it is an access to a file, is one of those that fail at random (SplitMix64). */
static int is_drawn (const char *call) {
  static const char *const accesses[] = { "pwrite", "pread", "ftruncate", "fsync", "close", "MPI_File_write_at", "MPI_File_read_at",
                                          "MPI_File_set_size", "MPI_File_sync", "MPI_File_close" };
  for (size_t i = 0; i < sizeof accesses / sizeof *accesses; ++i) {
    if (in_mpi == 0 && strcmp (accesses[i], call) == 0) {
      uint64_t z = random_state += 0x9E3779B97F4A7C15u;
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
      const int drawn = (z ^ (z >> 31)) % random_every == 0;
      hits += drawn;
      return drawn;
    }
  }
  return 0;
}

static int is_due (const char *call) {
  if (armed_call == NULL) { return 0; }
  if (armed_how == inject_at_random) { return is_drawn (call); }
  if (strcmp (armed_call, call) != 0 && (strcmp (armed_call, "*") != 0 || strncmp (call, "MPI_", 4) == 0)) { return 0; }
  if (--countdown > 0) { return 0; }
  if (countdown < 0 && armed_how != inject_always) { return 0; }
  ++hits;
  return 1;
}

/* ---- The system ---- */

static int is_ours (const char *path) {
  const char *end = path == NULL ? NULL : strrchr (path, '.');
  return end != NULL
      && (strcmp (end, ".scda") == 0 || strcmp (end, ".scda-part") == 0 || strcmp (end, ".scda-folder") == 0);
}

static int is_our_fd (int fd) {
  char link[40], path[4096];
  snprintf (link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink (link, path, sizeof path - 1);
  if (n <= 0) { return 0; }
  path[n] = 0;
  return is_ours (path);
}

#define NEXT(name)                                                 \
  static __typeof__ (name) *next;                                  \
  if (next == NULL) { *(void **) &next = dlsym (RTLD_NEXT, #name); }

/* Whether a call fails at once. */
static int refused (const char *call, int ours) {
  if (!ours || armed_how == inject_short || (armed_how == inject_tear && strcmp (call, "pwrite") == 0) || !is_due (call)) {
    return 0;
  }
  if (armed_how == inject_kill || armed_how == inject_tear) { kill (getpid (), SIGKILL); }
  errno = armed_how == inject_no_space    ? ENOSPC
          : armed_how == inject_quota     ? EDQUOT
          : armed_how == inject_interrupt ? EINTR
                                          : EIO;
  return 1;
}

/* How many bytes a call moves: fewer if it is to be short, or torn. */
static size_t shortened (const char *call, int fd, size_t bytes) {
  const int tears = armed_how == inject_tear && strcmp (call, "pwrite") == 0;
  if (armed_call == NULL || !(armed_how == inject_short || tears) || bytes < 2 || !is_our_fd (fd) || !is_due (call)) { return bytes; }
  return bytes / 2;
}

/* What a call has moved that was to move fewer bytes. */
static ssize_t moved (ssize_t bytes) {
  if (armed_call != NULL && armed_how == inject_tear) { kill (getpid (), SIGKILL); }
  return bytes;
}

/* Whether a call that writes `bytes` bytes only says that it did. */
static int discards (const char *call, int fd, size_t bytes) {
  return inject_discard > 0 && bytes >= inject_discard && call[1] == 'w' && is_our_fd (fd);
}

#define MOVES(name, call, buffer_t, offset_t)                                                          \
  ssize_t name (int fd, buffer_t buffer, size_t bytes, offset_t offset) {                              \
    NEXT (name)                                                                                        \
    if (discards (call, fd, bytes)) { return (ssize_t) bytes; }                                        \
    if (armed_call != NULL && refused (call, is_our_fd (fd))) { return -1; }                    \
    const size_t now = shortened (call, fd, bytes);                                                    \
    return now < bytes ? moved (next (fd, buffer, now, offset)) : next (fd, buffer, bytes, offset);    \
  }
MOVES (pwrite, "pwrite", const void *, off_t)
MOVES (pwrite64, "pwrite", const void *, off64_t)
MOVES (pread, "pread", void *, off_t)
MOVES (pread64, "pread", void *, off64_t)

#define MOVES_MANY(name, call, offset_t)                                                               \
  ssize_t name (int fd, const struct iovec *pieces, int count, offset_t offset) {                      \
    NEXT (name)                                                                                        \
    size_t bytes = 0;                                                                                  \
    for (int i = 0; i < count; ++i) { bytes += pieces[i].iov_len; }                                    \
    if (discards (call, fd, bytes)) { return (ssize_t) bytes; }                                        \
    if (armed_call != NULL && refused (call, is_our_fd (fd))) { return -1; }                    \
    if (count > 0 && shortened (call, fd, 2) == 1) {                                                   \
      struct iovec first = pieces[0];                                                                  \
      first.iov_len = (first.iov_len + 1) / 2;                                                         \
      return moved (next (fd, &first, 1, offset));                                                     \
    }                                                                                                  \
    return next (fd, pieces, count, offset);                                                           \
  }
MOVES_MANY (pwritev, "pwrite", off_t)
MOVES_MANY (pwritev64, "pwrite", off64_t)
MOVES_MANY (preadv, "pread", off_t)
MOVES_MANY (preadv64, "pread", off64_t)

#define STREAMS(name, call, buffer_t)                                                                  \
  ssize_t name (int fd, buffer_t buffer, size_t bytes) {                                               \
    NEXT (name)                                                                                        \
    if (armed_call != NULL && refused (call, is_our_fd (fd))) { return -1; }                    \
    const size_t now = shortened (call, fd, bytes);                                                    \
    return now < bytes ? moved (next (fd, buffer, now)) : next (fd, buffer, bytes);                    \
  }
STREAMS (write, "pwrite", const void *)
STREAMS (read, "pread", void *)

#define OF_FD(name, call, offset_t)                                                                    \
  int name (int fd, offset_t length) {                                                                 \
    NEXT (name)                                                                                        \
    return armed_call != NULL && refused (call, is_our_fd (fd)) ? -1 : next (fd, length);                                    \
  }
OF_FD (ftruncate, "ftruncate", off_t)
OF_FD (ftruncate64, "ftruncate", off64_t)

/* Nothing waits for the disk, unless powerless.py cuts off the power: what a kill leaves is in the system's memory. */
int fsync (int fd) {
  NEXT (fsync)
  if (armed_call != NULL && refused ("fsync", is_our_fd (fd))) { return -1; }
  return getenv ("SCDA_POWERLESS") != NULL ? next (fd) : fcntl (fd, F_GETFD) < 0 ? -1 : 0;
}

#define OF_LOCKS(name)                                                                                  \
  int name (int fd, int what, ...) {                                                                   \
    NEXT (name)                                                                                        \
    va_list rest;                                                                                      \
    va_start (rest, what);                                                                             \
    void *argument = va_arg (rest, void *);                                                            \
    va_end (rest);                                                                                     \
    if (what == F_OFD_SETLK && armed_call != NULL && refused ("lock", is_our_fd (fd))) { return -1; }  \
    return next (fd, what, argument);                                                                  \
  }
OF_LOCKS (fcntl)
OF_LOCKS (fcntl64)

/* The descriptor is given back even then, as Linux does. */
int close (int fd) {
  NEXT (close)
  const int fails = armed_call != NULL && refused ("close", is_our_fd (fd)), error = errno;
  const int result = next (fd);
  if (!fails) { return result; }
  errno = error;
  return -1;
}

int rename (const char *from, const char *to) {
  NEXT (rename)
  const int fails = armed_call != NULL && refused ("rename", is_ours (from)), error = errno;
  if (!fails) { return next (from, to); }
  if (armed_how == inject_after) { next (from, to); } /* a network file system that lost its answer */
  errno = error;
  return -1;
}

#define STATS(name, call, what_t, ours, stat_t)                                                        \
  int name (what_t what, struct stat_t *status) {                                                      \
    NEXT (name)                                                                                        \
    return armed_call != NULL && refused (call, ours (what)) ? -1 : next (what, status);               \
  }
STATS (stat, "stat", const char *, is_ours, stat)
STATS (stat64, "stat", const char *, is_ours, stat64)
STATS (lstat, "stat", const char *, is_ours, stat)
STATS (lstat64, "stat", const char *, is_ours, stat64)
STATS (fstat, "fstat", int, is_our_fd, stat)
STATS (fstat64, "fstat", int, is_our_fd, stat64)

/* What the library calls by number. As the function of libc, this reads six arguments, of which most callers pass fewer: the last one is
 * on the stack of the caller. */
__attribute__ ((no_sanitize_address)) long syscall (long number, ...) {
  NEXT (syscall)
  long values[6];
  va_list rest;
  va_start (rest, number);
  for (int i = 0; i < 6; ++i) { values[i] = va_arg (rest, long); }
  va_end (rest);
  if (armed_call != NULL && number == SYS_fchmod && refused ("fchmod", is_our_fd ((int) values[0]))) { return -1; }
  return next (number, values[0], values[1], values[2], values[3], values[4], values[5]);
}

#define OPENS(name)                                                                                    \
  int name (const char *path, int flags, ...) {                                                        \
    NEXT (name)                                                                                        \
    va_list rest;                                                                                      \
    va_start (rest, flags);                                                                            \
    const int mode = va_arg (rest, int);                                                               \
    va_end (rest);                                                                                     \
    return armed_call != NULL && refused ("open", is_ours (path)) ? -1 : next (path, flags, mode);                           \
  }
OPENS (open)
OPENS (open64)

/* ---- MPI ---- */

#ifndef SCDA_SERIAL
#include <mpi.h>

/* Fails before the call is made, or, `after`, tells that a call failed that did its work. Collectives and messages are meant to
 * fail after: else the other ranks wait for this one inside MPI. */
#define MPI_CALL(name, parameters, arguments)                                                          \
  int MPI_##name parameters {                                                                          \
    if (!is_due ("MPI_" #name)) { return PMPI_##name arguments; }                                      \
    if (armed_how == inject_after) { PMPI_##name arguments; }                                          \
    return MPI_ERR_OTHER;                                                                              \
  }
/* The same for calls that hand out something (+1) or take it back (-1). */
#define MPI_COUNTED(name, parameters, arguments, change)                                               \
  int MPI_##name parameters {                                                                          \
    const int due = is_due ("MPI_" #name);                                                             \
    int result = MPI_ERR_OTHER;                                                                        \
    if (!due || armed_how == inject_after) {                                                           \
      result = PMPI_##name arguments;                                                                  \
      if (result == MPI_SUCCESS) { inject_balance += change; }                                         \
    }                                                                                                  \
    return due ? MPI_ERR_OTHER : result;                                                               \
  }
/* The same for accesses to a file. What the system is asked for within them does not fail at random. Collective ones do their work
 * before they do. */
#define MPI_FILE_CALL(name, is_collective, parameters, arguments, change)                              \
  int MPI_##name parameters {                                                                          \
    const int due = is_due ("MPI_" #name);                                                             \
    int result = MPI_ERR_OTHER;                                                                        \
    if (!due || armed_how == inject_after || (armed_how == inject_at_random && (is_collective))) {     \
      ++in_mpi;                                                                                        \
      result = PMPI_##name arguments;                                                                  \
      --in_mpi;                                                                                        \
      if (result == MPI_SUCCESS) { inject_balance += change; }                                         \
    }                                                                                                  \
    return due ? MPI_ERR_OTHER : result;                                                               \
  }

MPI_CALL (Allreduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
MPI_CALL (Reduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c), (s, r, n, t, o, root, c))
MPI_CALL (Exscan, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
MPI_CALL (Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
MPI_CALL (Allgather, (const void *s, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u, MPI_Comm c),
          (s, n, t, r, m, u, c))
MPI_CALL (Gather, (const void *s, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u, int root, MPI_Comm c),
          (s, n, t, r, m, u, root, c))
MPI_CALL (Gatherv,
          (const void *s, int n, MPI_Datatype t, void *r, const int *m, const int *d, MPI_Datatype u, int root, MPI_Comm c),
          (s, n, t, r, m, d, u, root, c))
MPI_CALL (Alltoall, (const void *s, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u, MPI_Comm c), (s, n, t, r, m, u, c))
MPI_CALL (Sendrecv,
          (const void *s, int n, MPI_Datatype t, int to, int tag, void *r, int m, MPI_Datatype u, int from, int tag2, MPI_Comm c,
           MPI_Status *status),
          (s, n, t, to, tag, r, m, u, from, tag2, c, status))
MPI_CALL (Send, (const void *s, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (s, n, t, to, tag, c))
MPI_CALL (Recv, (void *r, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s), (r, n, t, from, tag, c, s))
MPI_CALL (Get_library_version, (char *text, int *length), (text, length))
MPI_CALL (Comm_set_errhandler, (MPI_Comm c, MPI_Errhandler e), (c, e))
MPI_CALL (Comm_rank, (MPI_Comm c, int *n), (c, n))
MPI_CALL (Comm_size, (MPI_Comm c, int *n), (c, n))
MPI_CALL (Comm_test_inter, (MPI_Comm c, int *n), (c, n))
MPI_COUNTED (Comm_dup, (MPI_Comm c, MPI_Comm *d), (c, d), 1)
MPI_COUNTED (Comm_split_type, (MPI_Comm c, int t, int k, MPI_Info i, MPI_Comm *d), (c, t, k, i, d), 1)
MPI_COUNTED (Comm_split, (MPI_Comm c, int o, int k, MPI_Comm *d), (c, o, k, d), *d != MPI_COMM_NULL)
MPI_COUNTED (Comm_free, (MPI_Comm * c), (c), -1)
MPI_COUNTED (Win_allocate_shared, (MPI_Aint n, int u, MPI_Info i, MPI_Comm c, void *b, MPI_Win *w), (n, u, i, c, b, w), 1)
MPI_COUNTED (Win_free, (MPI_Win * w), (w), -1)
MPI_CALL (Win_shared_query, (MPI_Win w, int r, MPI_Aint *n, int *u, void *b), (w, r, n, u, b))
MPI_CALL (Win_lock_all, (int a, MPI_Win w), (a, w))
MPI_CALL (Win_unlock_all, (MPI_Win w), (w))
MPI_CALL (Win_sync, (MPI_Win w), (w))
MPI_CALL (Win_set_errhandler, (MPI_Win w, MPI_Errhandler e), (w, e))
MPI_COUNTED (Info_create, (MPI_Info * i), (i), 1)
MPI_COUNTED (Info_dup, (MPI_Info i, MPI_Info *j), (i, j), 1)
MPI_COUNTED (Info_free, (MPI_Info * i), (i), -1)
MPI_CALL (Info_set, (MPI_Info i, const char *k, const char *v), (i, k, v))
MPI_COUNTED (File_open, (MPI_Comm c, const char *n, int m, MPI_Info i, MPI_File *f), (c, n, m, i, f), 1)
MPI_FILE_CALL (File_close, 1, (MPI_File * f), (f), -1)
MPI_FILE_CALL (File_write_at, 0, (MPI_File f, MPI_Offset o, const void *b, int n, MPI_Datatype t, MPI_Status *s), (f, o, b, n, t, s), 0)
MPI_FILE_CALL (File_read_at, 0, (MPI_File f, MPI_Offset o, void *b, int n, MPI_Datatype t, MPI_Status *s), (f, o, b, n, t, s), 0)
MPI_FILE_CALL (File_set_size, 1, (MPI_File f, MPI_Offset n), (f, n), 0)
MPI_FILE_CALL (File_sync, 1, (MPI_File f), (f), 0)
MPI_CALL (File_set_errhandler, (MPI_File f, MPI_Errhandler e), (f, e))
MPI_CALL (Get_count, (const MPI_Status *s, MPI_Datatype t, int *n), (s, t, n))
#endif
