/* Runs the code of docs/porting.md: what the old way and the new one wrote is the same, read with another partition. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

int mpiio_write (MPI_Comm comm, const char *filename, double *u, long long n);
int mpiio_read (MPI_Comm comm, const char *filename, double *u, long long n);
int scda_field_write (MPI_Comm comm, const char *filename, const double *u, const uint64_t *Nq);
int scda_field_read (MPI_Comm comm, const char *filename, double *u, const uint64_t *Nq);
int scda_dataset_write (MPI_Comm comm, const char *filename, const char *name, const double *u, const uint64_t *Nq);
int scda_dataset_read (MPI_Comm comm, const char *filename, const char *name, double *u, uint64_t first, uint64_t n);
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
  scda_fcontext_t *f = scda_fopen_write (g->comm, filename, "sections", NULL, NULL, &err);
  f = scda_fwrite_inline (f, u, "u", NULL, g->size - 1, &err);
  f = scda_fwrite_block (f, u, E, "u", NULL, g->size - 1, SCDA_ENCODE_ALWAYS, &err);
  f = scda_fwrite_varray (f, u, Nq, Ei, NULL, 0, "u", NULL, SCDA_ENCODE_ALWAYS, &err);
  f = scda_fwrite_varray (f, u, Nq, Ei, NULL, 0, "u", NULL, SCDA_ENCODE_NONE, &err);
  f = scda_fwrite_array (f, u, Nq, E, 0, "not u", NULL, SCDA_ENCODE_ALWAYS, &err);
  f = scda_fwrite_array (f, u, Nq, E, 0, "u", NULL, SCDA_ENCODE_ALWAYS, &err);
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
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
