/* Jobs on several real nodes, started by scripts/cluster.sh.
 *
 *   cluster write DIR DRIVER            writes what `matrix` compares with, on one node
 *   cluster matrix DIR DRIVER TIMES     files in every way: each byte is read on all ranks, in other partitions, and the files are
 *                                       those of `write`
 *   cluster append FILE STEPS           appends so many steps, or fewer if there is an error, which all ranks have; tells each commit
 *   cluster replace FILE STEPS          the same, but each step is a file that replaces the one before
 *   cluster check HOW FILE LEAST        at least the first LEAST steps of `append` or `replace` are there, and right; writes one more
 *   cluster speed FILE                  libscda beside one rank that gathers and writes, by turns; NFS has the bytes when a file is closed
 *   cluster hold FILE END               has the file open for writing until there is a file END
 *   cluster in_use FILE                 nobody else may write it
 *   cluster refused FILE                nobody may create it */
#define _POSIX_C_SOURCE 200809L
#include "everything.h"

#include <fcntl.h>

enum { most_ranks = 256, arrays = 3, step_elems = 24007 };

static group_t g;
static uint64_t Nq[most_ranks];

static unsigned char byte_of (uint64_t file, uint64_t i) { return (unsigned char) (1 + mix (file, i) % 255); }

/* Reads an array in a new partition: whether each byte is right. */
static void read_array (scda_fcontext_t **f, uint64_t which, uint64_t *state) {
  uint64_t N = 0, E = 0, wrong = 0;
  char type, user[SCDA_USER_STRING_BYTES + 1];
  int err, decode = 1;
  *f = scda_fread_section_header (*f, &type, &N, &E, user, NULL, &decode, &err);
  REQUIRE (*f != NULL && type == 'A' && E == 1);
  partition (state, N, g.size, Nq);
  unsigned char *data = get_memory (Nq[g.rank]);
  const uint64_t first = first_of (Nq, g.rank);
  *f = scda_fread_array_data (*f, data, Nq, E, 0, &err);
  REQUIRE (*f != NULL);
  for (uint64_t i = 0; i < Nq[g.rank]; ++i) { wrong += data[i] != byte_of (which, first + i); }
  CHECK (wrong == 0);
  free (data);
}

static scda_fcontext_t *write_array (scda_fcontext_t *f, uint64_t which, uint64_t N, uint64_t *state, int *err) {
  partition (state, N, g.size, Nq);
  unsigned char *data = get_memory (Nq[g.rank]);
  const uint64_t first = first_of (Nq, g.rank);
  for (uint64_t i = 0; i < Nq[g.rank]; ++i) { data[i] = byte_of (which, first + i); }
  f = scda_fwrite_array (f, data, Nq, 1, 0, "array", NULL, SCDA_ENCODE_NONE, err);
  free (data);
  return f;
}

/* Arrays of odd sizes, written in another partition each time, while a reader follows the commits. */
static void odd_arrays (const char *name, const scda_params_t *params, uint64_t seed, int follows) {
  uint64_t state = seed, ranks_state = seed + 1;
  int err;
  scda_fcontext_t *f = scda_fopen_write (g.comm, name, "odd", NULL, params, &err), *reader = NULL;
  REQUIRE (f != NULL);
  for (uint64_t k = 0; k < arrays; ++k) {
    f = write_array (f, seed + k, 1 + below (&state, 100000), &ranks_state, &err);
    REQUIRE (f != NULL);
    if (!follows) { continue; }
    REQUIRE ((f = scda_fcommit (f, &err)) != NULL);
    if (reader == NULL) { REQUIRE ((reader = scda_fopen_read (g.comm, name, NULL, NULL, NULL, &err)) != NULL); }
    else {
      int has_grown = 0;
      REQUIRE ((reader = scda_frefresh (reader, &has_grown, &err)) != NULL);
      CHECK (has_grown == 1);
    }
    read_array (&reader, seed + k, &ranks_state);
  }
  REQUIRE (scda_fclose (f, &err) == 0);
  if (reader != NULL) { REQUIRE (scda_fclose (reader, &err) == 0); }
  scda_params_t verified = *params;
  verified.verify = 1, verified.background_bytes = 0;
  REQUIRE ((f = scda_fopen_read (g.comm, name, NULL, NULL, &verified, &err)) != NULL);
  for (uint64_t k = 0; k < arrays; ++k) { read_array (&f, seed + k, &ranks_state); }
  REQUIRE (scda_fclose (f, &err) == 0);
}

static void everything (const char *name, const scda_params_t *params) {
  REQUIRE (write_everything (g, name, params) == 0 && append_everything (g, name, params) == 0);
  REQUIRE (read_everything (g, name, params) == 0);
}

static void write_or_compare (const char *dir, int driver, int times) {
  char name[1200], reference[1300];
  scda_params_t params = default_params ();
  params.driver = driver, params.seal = 1;
  snprintf (reference, sizeof reference, "%s/one-node", dir);
  if (times == 0) { everything (reference, &params); }
  for (int k = 0; k < times; ++k) {
    snprintf (name, sizeof name, "%s/file.%d", dir, k / 2); /* each name twice */
    params.atomic = k % 3 == 1;
    params.keep = params.atomic;
    params.sync = k % 4 == 3;
    params.background_bytes = k % 3 == 2 && driver != driver_mpiio ? 1 << 20 : 0;
    params.aggregation_bytes = k % 2 ? 4096 : 1 << 20;
    odd_arrays (name, &params, (uint64_t) (1000 * k), k % 3 == 0);
    params.background_bytes = 0;
    everything (name, &params);
    CHECK (same_files (reference, name));
    barrier (g);
  }
}

/* How many steps were written, all of which are right. A file that replaces others has the last one, and its number. */
static uint64_t steps_in (const char *name, int replaces) {
  scda_params_t params = default_params ();
  char user[SCDA_USER_STRING_BYTES + 1];
  uint64_t n = 0, state = 5;
  int err;
  params.verify = 1;
  scda_fcontext_t *f = scda_fopen_read (g.comm, name, user, NULL, &params, &err);
  if (f == NULL) { return 0; }
  if (replaces) { REQUIRE ((n = strtoull (user, NULL, 10)) > 0), --n; }
  for (; !info_of (f).at_end; ++n) { read_array (&f, n, &state); }
  REQUIRE (scda_fclose (f, &err) == 0);
  return n;
}

/* Whether all ranks have the same result, and no error if there `must` be none. */
static int goes_on (int err, int must) {
  CHECK (all_same (g, (uint64_t) err));
  if (must) { CHECK (err == 0); }
  if (err != 0 && g.rank == 0) { printf ("error %d: %s\n", err, scda_last_error_message ()), fflush (stdout); }
  return err == 0;
}

static void tell (uint64_t n) {
  if (g.rank == 0) { printf ("step %llu\n", (unsigned long long) n), fflush (stdout); }
}

static void append_steps (const char *name, uint64_t steps, uint64_t state, int must) {
  scda_params_t params = default_params ();
  int err;
  params.seal = 1;
  scda_fcontext_t *f = scda_fopen_append (g.comm, name, NULL, NULL, &params, &err);
  uint64_t n = f != NULL ? steps_in (name, 0) : 0;
  if (err == SCDA_ERR_NO_SUCH_FILE) { f = scda_fopen_write (g.comm, name, "steps", NULL, &params, &err); }
  for (const uint64_t end = n + steps; goes_on (err, must) && n < end;) {
    f = write_array (f, n, step_elems, &state, &err);
    if (f != NULL) { f = scda_fcommit (f, &err); }
    if (f != NULL) { tell (++n); }
  }
  if (f != NULL) { goes_on (scda_fclose (f, &err), must); }
}

static void replace_steps (const char *name, uint64_t steps, uint64_t state, int must) {
  scda_params_t params = default_params ();
  char user[32];
  params.seal = params.atomic = params.keep = 1;
  for (uint64_t n = steps_in (name, 1), end = n + steps; n < end; tell (++n)) {
    int err;
    snprintf (user, sizeof user, "%llu", (unsigned long long) n + 1);
    scda_fcontext_t *f = scda_fopen_write (g.comm, name, user, NULL, &params, &err);
    if (f != NULL) { f = write_array (f, n, step_elems, &state, &err); }
    if (f != NULL) { scda_fclose (f, &err); }
    if (!goes_on (err, must)) { return; }
  }
}

static void write_steps (const char *how, const char *name, uint64_t steps, int must) {
  uint64_t state = (uint64_t) getpid ();
  MPI_Bcast (&state, 1, MPI_UINT64_T, 0, g.comm);
  (strcmp (how, "replace") == 0 ? replace_steps : append_steps) (name, steps, state, must);
}

/* One rank receives the bytes of each other one and writes them. */
static void gather (const char *name, unsigned char *data, int bytes) {
  if (g.rank != 0) {
    MPI_Send (data, bytes, MPI_BYTE, 0, 0, g.comm);
    return;
  }
  const int fd = open (name, O_CREAT | O_WRONLY, 0666);
  REQUIRE (fd >= 0);
  for (int p = 0; p < g.size; ++p) {
    if (p > 0) { MPI_Recv (data, bytes, MPI_BYTE, p, 0, g.comm, MPI_STATUS_IGNORE); }
    REQUIRE (pwrite (fd, data, (size_t) bytes, (off_t) p * bytes) == bytes);
  }
  REQUIRE (close (fd) == 0);
}

static void write_array_of (const char *name, const unsigned char *data, int bytes) {
  int err;
  for (int p = 0; p < g.size; ++p) { Nq[p] = (uint64_t) bytes; }
  scda_fcontext_t *f = scda_fopen_write (g.comm, name, "speed", NULL, NULL, &err);
  f = scda_fwrite_array (f, data, Nq, 1, 0, "array", NULL, SCDA_ENCODE_NONE, &err);
  REQUIRE (scda_fclose (f, &err) == 0);
}

static int less (const void *a, const void *b) { return *(const double *) a < *(const double *) b ? -1 : 1; }

static void compare_speed (const char *name) {
  enum { times = 9 };
  for (int bytes = 1000; bytes <= 10000000; bytes *= 10) {
    double taken[2][times], ratios[times];
    unsigned char *data = get_memory ((uint64_t) bytes);
    memset (data, g.rank, (size_t) bytes);
    for (int k = -2; k < 2 * times; ++k) { /* the first two are not counted */
      const int ours = (k ^ k >> 1) & 1;
      char own[1200]; /* a new one each time: a node remembers for a while which file a name was */
      snprintf (own, sizeof own, "%s.%d.%d", name, bytes, k);
      barrier (g);
      const double begin = MPI_Wtime ();
      if (ours) { write_array_of (own, data, bytes); }
      else { gather (own, data, bytes); }
      barrier (g);
      if (k >= 0) { taken[ours][k / 2] = MPI_Wtime () - begin; }
      if (g.rank == 0) { REQUIRE (remove (own) == 0); }
    }
    for (int k = 0; k < times; ++k) { ratios[k] = taken[1][k] / taken[0][k]; }
    qsort (taken[0], times, sizeof (double), less), qsort (taken[1], times, sizeof (double), less), qsort (ratios, times, sizeof (double), less);
    if (g.rank == 0) {
      printf ("%d ranks, %d bytes each: one writer %.4f s, libscda %.4f s, %.2f times as long\n", g.size, bytes, taken[0][times / 2],
              taken[1][times / 2], ratios[times / 2]);
    }
    free (data);
  }
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc >= 3);
  g = world ();
  const char *what = argv[1], *name = argv[2];
  int err = 0;
  if (strcmp (what, "write") == 0) { write_or_compare (name, atoi (argv[3]), 0); }
  else if (strcmp (what, "matrix") == 0) { write_or_compare (name, atoi (argv[3]), atoi (argv[4])); }
  else if (strcmp (what, "append") == 0 || strcmp (what, "replace") == 0) { write_steps (what, name, strtoull (argv[3], NULL, 10), 0); }
  else if (strcmp (what, "check") == 0) {
    CHECK (steps_in (argv[3], strcmp (name, "replace") == 0) >= strtoull (argv[4], NULL, 10));
    write_steps (name, argv[3], 1, 1);
  } else if (strcmp (what, "speed") == 0) {
    compare_speed (name);
  } else {
    scda_fcontext_t *f = scda_fopen_write (g.comm, name, "held", NULL, NULL, &err);
    if (strcmp (what, "hold") == 0) {
      REQUIRE (f != NULL);
      if (g.rank == 0) { puts ("holds"), fflush (stdout); }
      while (access (argv[3], F_OK) != 0) { sleep (1); }
      REQUIRE (scda_fclose (f, &err) == 0);
    } else if (strcmp (what, "in_use") == 0) { CHECK (f == NULL && err == SCDA_ERR_FILE_IN_USE); }
    else { CHECK (f == NULL && err == SCDA_ERR_ACCESS); }
  }
  return finish ();
}
