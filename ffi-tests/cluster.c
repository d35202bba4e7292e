/* Jobs on several real nodes, started by scripts/cluster.sh.
 *
 *   cluster write DIR DRIVER            writes what `matrix` compares with, on one node
 *   cluster matrix DIR DRIVER TIMES     files in every way: each byte is read on all ranks, in other partitions, and the files are
 *                                       those of `write`
 *   cluster steps FILE STEPS            appends so many steps, or fewer if there is an error, which all ranks have; tells each commit
 *   cluster check FILE LEAST            at least the first LEAST steps are there, and right; appends one more
 *   cluster hold FILE SECONDS           has the file open for writing
 *   cluster in_use FILE                 nobody else may write it
 *   cluster refused FILE                nobody may create it */
#define _POSIX_C_SOURCE 200809L
#include "everything.h"

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

/* How many steps are in the file, all of which are right. */
static uint64_t steps_in (const char *name) {
  scda_params_t params = default_params ();
  uint64_t n = 0, state = 5;
  int err;
  params.verify = 1;
  scda_fcontext_t *f = scda_fopen_read (g.comm, name, NULL, NULL, &params, &err);
  if (f == NULL) { return 0; }
  for (; !info_of (f).at_end; ++n) { read_array (&f, n, &state); }
  REQUIRE (scda_fclose (f, &err) == 0);
  return n;
}

static void append_steps (const char *name, uint64_t steps, int must) {
  scda_params_t params = default_params ();
  uint64_t state = (uint64_t) getpid ();
  int err, closed;
  params.seal = 1;
  scda_fcontext_t *f = scda_fopen_append (g.comm, name, NULL, NULL, &params, &err);
  uint64_t n = f != NULL ? steps_in (name) : 0;
  if (err == SCDA_ERR_NO_SUCH_FILE) { f = scda_fopen_write (g.comm, name, "steps", NULL, &params, &err); }
  CHECK (all_same (g, (uint64_t) err));
  MPI_Bcast (&state, 1, MPI_UINT64_T, 0, g.comm);
  for (const uint64_t end = n + steps; f != NULL && n < end; ++n) {
    f = write_array (f, n, step_elems, &state, &err);
    if (f != NULL) { f = scda_fcommit (f, &err); }
    CHECK (all_same (g, (uint64_t) err));
    if (f != NULL && g.rank == 0) { printf ("step %llu\n", (unsigned long long) n + 1), fflush (stdout); }
  }
  if (err != 0 && g.rank == 0) { printf ("error %d: %s\n", err, scda_last_error_message ()), fflush (stdout); }
  closed = scda_fclose (f, &err);
  CHECK (all_same (g, (uint64_t) closed));
  if (must) { CHECK (f != NULL && closed == 0); }
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc >= 3);
  g = world ();
  const char *what = argv[1], *name = argv[2];
  int err = 0;
  if (strcmp (what, "write") == 0) { write_or_compare (name, atoi (argv[3]), 0); }
  else if (strcmp (what, "matrix") == 0) { write_or_compare (name, atoi (argv[3]), atoi (argv[4])); }
  else if (strcmp (what, "steps") == 0) { append_steps (name, strtoull (argv[3], NULL, 10), 0); }
  else if (strcmp (what, "check") == 0) {
    CHECK (steps_in (name) >= strtoull (argv[3], NULL, 10));
    append_steps (name, 1, 1);
  } else {
    scda_fcontext_t *f = scda_fopen_write (g.comm, name, "held", NULL, NULL, &err);
    if (strcmp (what, "hold") == 0) {
      REQUIRE (f != NULL);
      if (g.rank == 0) { puts ("holds"), fflush (stdout); }
      sleep ((unsigned) atoi (argv[3]));
      REQUIRE (scda_fclose (f, &err) == 0);
    } else if (strcmp (what, "in_use") == 0) { CHECK (f == NULL && err == SCDA_ERR_FILE_IN_USE); }
    else { CHECK (f == NULL && err == SCDA_ERR_ACCESS); }
  }
  return finish ();
}
