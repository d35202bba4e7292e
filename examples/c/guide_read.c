/* guide_read.c */
#include "guide.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next section, which must be of this type and name, with elements of E bytes. */
static scda_fcontext_t *expect (scda_fcontext_t *f, char type, const char *name, uint64_t *N, uint64_t *E, int *err) {
  const uint64_t wanted = *E;
  char found, user[SCDA_USER_STRING_BYTES + 1];
  int decode = 1; /* compressed sections read like plain ones */
  f = scda_fread_section_header (f, &found, N, E, user, NULL, &decode, err);
  if (f != NULL && (*err != 0 || found != type || strcmp (user, name) != 0 || (wanted != 0 && *E != wanted))) {
    fprintf (stderr, "no checkpoint of this program: found no section \"%s\" where it should be\n", name);
    scda_fclose (f, err);
    *err = SCDA_ERR_ARG;
    return NULL;
  }
  return f;
}

int restart (simulation_t *s, const char *filename) {
  char step[SCDA_INLINE_BYTES + 1] = "";
  uint64_t N = 0, E = 0, own, total = 0;
  int err, rank, size;
  scda_fcontext_t *f;

  MPI_Comm_rank (s->comm, &rank);
  MPI_Comm_size (s->comm, &size);
  f = scda_fopen_read (s->comm, filename, NULL, NULL, NULL, &err);

  /* Rank 0 reads these 32 bytes and broadcasts them. */
  f = expect (f, 'I', "step", &N, &E, &err);
  f = scda_fread_inline_data (f, step, 0, &err);
  if (f != NULL) {
    MPI_Bcast (step, SCDA_INLINE_BYTES, MPI_BYTE, 0, s->comm);
    if (sscanf (step, "step %d, time %lf", &s->step, &s->time) != 2) { s->step = -1; }
  }
  E = 0;
  f = expect (f, 'B', "parameters", &N, &E, &err);
  f = scda_fread_block_data (f, NULL, E, 0, &err); /* not needed: NULL skips the data */

  /* A new partition: the file does not record the old one. */
  E = sizeof (cell_t);
  f = expect (f, 'A', "cells: x, y, level: int32", &N, &E, &err);
  if (f == NULL) {
    if (rank == 0) { fprintf (stderr, "restart: %s\n", scda_last_error_message ()); }
    return err;
  }
  own = N * (uint64_t) (rank + 1) / (uint64_t) size - N * (uint64_t) rank / (uint64_t) size;
  s->num_cells = own;
  const scda_partition_t cells = scda_partition_local (f, own, &err);
  s->cells = malloc (own * sizeof *s->cells + 1);
  s->bytes = malloc (own * sizeof *s->bytes + 1);
  f = scda_fread_array_data (f, s->cells, cells.Nq, E, 0, &err);

  /* A varray: first the sizes; then, with memory for them, the data. */
  E = 0;
  f = expect (f, 'V', "coefficients: double", &N, &E, &err);
  f = scda_fread_varray_sizes (f, s->bytes, cells.Nq, &err);
  for (uint64_t i = 0; f != NULL && i < own; ++i) { total += s->bytes[i]; }
  s->coefficients = malloc (total + 1);
  f = scda_fread_varray_data (f, s->coefficients, cells.Nq, s->bytes, NULL, 0, &err);

  scda_fclose (f, &err);
  if (err != 0 && rank == 0) { fprintf (stderr, "restart: %s\n", scda_last_error_message ()); }
  return err;
}
