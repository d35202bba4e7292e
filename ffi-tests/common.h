/* What all test programs share: ranks, checks, random numbers, partitions.
 *
 * This is the only place that knows whether the library was built with MPI. */
#ifndef COMMON_H
#define COMMON_H

#include <scda.h>

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A communicator with what everyone asks of it. */
typedef struct {
  MPI_Comm comm;
  int rank, size;
} group_t;

/* What is known of a file. */
static inline scda_info_t info_of (const scda_fcontext_t *f) {
  scda_info_t info;
  memset (&info, 0xff, sizeof info);
  info.size = sizeof info;
  if (scda_get_info (f, &info) != 0) { abort (); }
  return info;
}

static int failures; /* CHECKs that failed on this rank */

#ifdef SCDA_SERIAL

enum { driver_mpiio = SCDA_DRIVER_AUTO }; /* there is none */
static inline group_t group_of (MPI_Comm comm) {
  group_t g;
  g.comm = comm, g.rank = 0, g.size = 1;
  return g;
}
static inline group_t world (void) { return group_of (SCDA_COMM_SELF); }
static inline group_t group_split (group_t g, int color, int key) {
  (void) color, (void) key;
  return g;
}
static inline void group_free (group_t *g) { (void) g; }
static inline void start (int *argc, char ***argv) { (void) argc, (void) argv; }
static inline int finish (void) { return failures != 0; }
static inline void die (void) { exit (1); }
static inline void barrier (group_t g) { (void) g; }
static inline uint64_t all_max (group_t g, uint64_t x) {
  (void) g;
  return x;
}

#else

enum { driver_mpiio = SCDA_DRIVER_MPIIO };
static inline group_t group_of (MPI_Comm comm) {
  group_t g;
  g.comm = comm;
  MPI_Comm_rank (comm, &g.rank);
  MPI_Comm_size (comm, &g.size);
  return g;
}
static inline group_t world (void) { return group_of (MPI_COMM_WORLD); }
static inline group_t group_split (group_t g, int color, int key) {
  MPI_Comm comm;
  MPI_Comm_split (g.comm, color, key, &comm);
  return group_of (comm);
}
static inline void group_free (group_t *g) { MPI_Comm_free (&g->comm); }
static inline void start (int *argc, char ***argv) { MPI_Init (argc, argv); }
static inline int finish (void) {
  int all = 0;
  MPI_Allreduce (&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize ();
  return all != 0;
}
static inline void die (void) { MPI_Abort (MPI_COMM_WORLD, 1); }
static inline void barrier (group_t g) { MPI_Barrier (g.comm); }
static inline uint64_t all_max (group_t g, uint64_t x) {
  MPI_Allreduce (MPI_IN_PLACE, &x, 1, MPI_UINT64_T, MPI_MAX, g.comm);
  return x;
}

#endif

static inline int all_same (group_t g, uint64_t x) {
  const uint64_t max = all_max (g, x), min = ~all_max (g, ~x);
  return min == max;
}

static inline void complain (const char *file, int line, const char *what) {
  fprintf (stderr, "%s:%d: rank %d: %s", file, line, world ().rank, what);
  if (*scda_last_error_message ()) { fprintf (stderr, " [%s]", scda_last_error_message ()); }
  fputc ('\n', stderr);
}

/* CHECK notes a failure and goes on: the program fails at finish (). REQUIRE ends all ranks at once. */
#define CHECK(cond) ((cond) ? (void) 0 : (void) (++failures, complain (__FILE__, __LINE__, #cond)))
#define REQUIRE(cond) ((cond) ? (void) 0 : (void) (complain (__FILE__, __LINE__, #cond), die ()))

/* splitmix64. Not rand (): some MPI libraries reseed that one on opening a file. */
static inline uint64_t rnd (uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static inline uint64_t below (uint64_t *state, uint64_t n) { return rnd (state) % n; }
/* A seed from two, the same on every rank that passes the same. */
static inline uint64_t mix (uint64_t a, uint64_t b) {
  uint64_t s = a ^ (b * 0xff51afd7ed558ccdu + 1);
  return rnd (&s);
}

/* How many of N elements each of P ranks gets: evenly, at random, all on one rank, or every other rank nothing. */
static inline void partition (uint64_t *state, uint64_t N, int P, uint64_t *Nq) {
  const uint64_t kind = below (state, 4);
  uint64_t rest = N;
  int p;
  for (p = 0; p < P; ++p) { Nq[p] = kind == 0 ? N / (uint64_t) P + ((uint64_t) p < N % (uint64_t) P) : 0; }
  if (kind == 0) { return; }
  const int one = (int) below (state, (uint64_t) P);
  for (p = 0; p < P && kind != 2; ++p) {
    if (kind == 3 && p % 2 == 1) { continue; }
    const uint64_t take = below (state, 2 * N / (uint64_t) P + 2);
    Nq[p] = take < rest ? take : rest;
    rest -= Nq[p];
  }
  Nq[one] += rest;
}
/* The first element of a rank. */
static inline uint64_t first_of (const uint64_t *Nq, int rank) {
  uint64_t sum = 0;
  for (int p = 0; p < rank; ++p) { sum += Nq[p]; }
  return sum;
}

/* Memory that is never NULL, not even for 0 bytes. */
static inline void *get_memory (uint64_t bytes) {
  void *p = malloc ((size_t) bytes + 1);
  REQUIRE (p != NULL);
  return p;
}

/* How many files a folder has; of /proc/self/fd, how many are open here. */
static inline int entries (const char *dir) {
  int n = 0;
  DIR *d = opendir (dir);
  while (d != NULL && readdir (d) != NULL) { ++n; }
  if (d != NULL) { closedir (d); }
  return n;
}

/* Whether two files have the same bytes. */
static inline int same_files (const char *a, const char *b) {
  FILE *one = fopen (a, "rb"), *other = fopen (b, "rb");
  REQUIRE (one != NULL && other != NULL);
  int x, y;
  do { x = getc (one), y = getc (other); } while (x == y && x != EOF);
  fclose (one), fclose (other);
  return x == y;
}

/* The defaults, but for bare sections: a test says where it wants a seal. */
static inline scda_params_t default_params (void) {
  scda_params_t params;
  REQUIRE (scda_params_init (&params) == 0);
  params.seal = 0;
  return params;
}

static inline const scda_params_t *bare (void) {
  static scda_params_t params;
  params = default_params ();
  return &params;
}

#endif
