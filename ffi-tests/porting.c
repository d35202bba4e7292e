/* Runs the code that docs/porting.md names: what the old way and the new one wrote is the same, read with another partition. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

int mpiio_write (MPI_Comm comm, const char *filename, double *u, long long n);
int mpiio_read (MPI_Comm comm, const char *filename, double *u, long long n);
int scda_field_write (MPI_Comm comm, const char *filename, const double *u, const uint64_t *Nq);
int scda_field_read (MPI_Comm comm, const char *filename, double *u, const uint64_t *Nq);
int scda_dataset_write (MPI_Comm comm, const char *filename, const char *name, const double *u, const uint64_t *Nq);
int scda_dataset_read (MPI_Comm comm, const char *filename, const char *name, double *u, uint64_t first, uint64_t n);
int scda_step (MPI_Comm comm, const char *filename, int step, const uint64_t shape[2], const uint64_t start[2],
               const uint64_t count[2], const double *const u[2]);
int scda_step_read (MPI_Comm comm, const char *filename, const char *name, int step, const uint64_t start[2],
                    const uint64_t count[2], double *u);
scda_fcontext_t *find_array (scda_fcontext_t *f, const char *name, uint64_t *N, uint64_t *E, int size, int *err);

enum { most = 64, count = 1000 };

/* Of count elements, each rank's share, or all on the last rank. */
static uint64_t share (const group_t *g, int all_on_last, uint64_t *Nq) {
  for (int q = 0; q < g->size; ++q) {
    Nq[q] = (uint64_t) (all_on_last ? (q == g->size - 1) * count : count * (q + 1) / g->size - count * q / g->size);
  }
  return Nq[g->rank];
}

/* Some of every type, and the array wanted as the last. */
static void write_sections (const group_t *g, const char *filename, const double *u, const uint64_t *Nq) {
  int err;
  const uint64_t E = sizeof (double);
  uint64_t Ei[count];
  for (int i = 0; i < count; ++i) { Ei[i] = E; }
  scda_fcontext_t *f = scda_fopen_write (g->comm, filename, "sections", NULL, bare (), &err);
  f = scda_fwrite_inline (f, u, "u", NULL, g->size - 1, &err);
  f = scda_fwrite_block (f, u, E, "u", NULL, g->size - 1, SCDA_ENCODE_ALWAYS, &err);
  f = scda_fwrite_varray (f, u, Nq, Ei, NULL, 0, "u", NULL, SCDA_ENCODE_ALWAYS, &err);
  f = scda_fwrite_varray (f, u, Nq, Ei, NULL, 0, "u", NULL, SCDA_ENCODE_NONE, &err);
  f = scda_fwrite_array (f, u, Nq, E, 0, "not u", NULL, SCDA_ENCODE_ALWAYS, &err);
  f = scda_fwrite_array (f, u, Nq, E, 0, "u", NULL, SCDA_ENCODE_ALWAYS, &err);
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
}

/* The value of an item, -1 where no rank has written: in the last column. */
static double item (int field, int step, uint64_t y, uint64_t x) { return x == 6 ? -1 : 1000 * field + 100 * step + 10 * (double) y + (double) x; }

/* Writes three steps of two fields, and reads them on each rank. */
static void steps (const group_t *g, const char *filename) {
  const uint64_t size = (uint64_t) g->size, rank = (uint64_t) g->rank, shape[2] = {8, 7}, all[2] = {0, 0};
  const uint64_t start[2] = {8 * rank / size, 0}, count[2] = {8 * (rank + 1) / size - start[0], 6};
  double u[2][48], found[56];
  const double *const fields[2] = {u[0], u[1]};
  for (int step = 0; step < 3; ++step) {
    for (int field = 0; field < 2; ++field) {
      for (uint64_t i = 0; i < 6 * count[0]; ++i) { u[field][i] = item (field, step, start[0] + i / 6, i % 6); }
    }
    REQUIRE (scda_step (g->comm, filename, step, shape, start, count, fields) == SCDA_SUCCESS);
  }
  for (int step = -1; step < 3; ++step) {
    for (int field = 0; field < 2; ++field) {
      const int of = step < 0 ? 2 : step;
      memset (found, 0, sizeof found);
      REQUIRE (scda_step_read (g->comm, filename, field ? "T" : "rho", step, all, shape, found) == SCDA_SUCCESS);
      for (uint64_t i = 0; i < 56; ++i) { REQUIRE (found[i] == item (field, of, i / 7, i % 7)); }
    }
  }
  REQUIRE (scda_step_read (g->comm, filename, "T", 3, all, shape, found) == SCDA_ERR_FORMAT);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2);
  const group_t g = world ();
  REQUIRE (g.size <= most);
  uint64_t Nq[most], first = 0, N, E;
  double u[count], found[count];
  char filename[1000];
  int err;

  uint64_t n = share (&g, 0, Nq);
  for (int q = 0; q < g.rank; ++q) { first += Nq[q]; }
  for (uint64_t i = 0; i < n; ++i) { u[i] = 0.25 * (double) (first + i); }
  snprintf (filename, sizeof filename, "%s/porting.mpiio", argv[1]);
  REQUIRE (mpiio_write (g.comm, filename, u, (long long) n) == 0);
  MPI_Barrier (g.comm);
  n = share (&g, 1, Nq);
  REQUIRE (mpiio_read (g.comm, filename, found, (long long) n) == 0);
  for (uint64_t i = 0; i < n; ++i) { REQUIRE (found[i] == 0.25 * (double) i); }

  snprintf (filename, sizeof filename, "%s/porting.scda", argv[1]);
  share (&g, 0, Nq);
  REQUIRE (scda_field_write (g.comm, filename, u, Nq) == SCDA_SUCCESS);
  memset (found, 0, sizeof found);
  n = share (&g, 1, Nq);
  REQUIRE (scda_field_read (g.comm, filename, found, Nq) == SCDA_SUCCESS);
  for (uint64_t i = 0; i < n; ++i) { REQUIRE (found[i] == 0.25 * (double) i); }
  Nq[0] += 1; /* not the sum in the file */
  REQUIRE (scda_field_read (g.comm, filename, found, Nq) == SCDA_ERR_ARG);

  share (&g, 0, Nq);
  REQUIRE (scda_dataset_write (g.comm, filename, "state/u", u, Nq) == SCDA_SUCCESS);
  memset (found, 0, sizeof found);
  const uint64_t from = 10 * (uint64_t) g.rank; /* parts that overlap */
  REQUIRE (scda_dataset_read (g.comm, filename, "state/u", found, from, count / 2) == SCDA_SUCCESS);
  for (uint64_t i = 0; i < count / 2; ++i) { REQUIRE (found[i] == 0.25 * (double) (from + i)); }
  REQUIRE (scda_dataset_read (g.comm, filename, "state/v", found, 0, 1) == SCDA_ERR_FORMAT);

  steps (&g, filename);

  share (&g, 0, Nq);
  write_sections (&g, filename, u, Nq);
  REQUIRE (scda_field_read (g.comm, filename, found, Nq) == SCDA_ERR_FORMAT); /* an inline section comes first */
  memset (found, 0, sizeof found);
  n = share (&g, 1, Nq);
  scda_fcontext_t *f = scda_fopen_read (g.comm, filename, NULL, NULL, NULL, &err);
  f = find_array (f, "u", &N, &E, g.size, &err);
  REQUIRE (f != NULL && err == SCDA_SUCCESS && N == count && E == sizeof (double));
  f = scda_fread_array_data (f, found, Nq, E, 0, &err);
  for (uint64_t i = 0; i < n; ++i) { REQUIRE (found[i] == 0.25 * (double) i); }
  f = find_array (f, "u", &N, &E, g.size, &err);
  REQUIRE (f != NULL && err == SCDA_ERR_EOF && scda_fclose (f, &err) == 0);
  return finish ();
}
