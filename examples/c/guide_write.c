/* guide_write.c */
#include "guide.h"
#include <stdio.h>

int checkpoint (const simulation_t *s, const char *filename) {
  char step[SCDA_INLINE_BYTES + 1]; /* one byte more for the NUL */
  const char parameters[] = "degree = 1 + level % 2\n";
  int err, rank;
  scda_params_t params;
  scda_fcontext_t *f;

  MPI_Comm_rank (s->comm, &rank);
  snprintf (step, sizeof step, "step %8d, time %11.4f\n", s->step, s->time);

  scda_params_init (&params);
  params.atomic = 1; /* under this name there is always a complete checkpoint */

  f = scda_fopen_write (s->comm, filename, "guide.c, version 1", NULL, &params, &err);
  f = scda_fwrite_inline (f, step, "step", NULL, 0, &err);
  f = scda_fwrite_block (f, parameters, sizeof parameters - 1, "parameters", NULL, 0, SCDA_ENCODE_NONE, &err);
  /* Which rank has which cells: made once, and passed wherever it is needed. */
  const scda_partition_t cells = scda_partition_local (f, s->num_cells, &err);
  f = scda_fwrite_array (f, s->cells, cells.Nq, sizeof (cell_t), 0, "cells: x, y, level: int32", NULL, SCDA_ENCODE_NONE, &err);
  f = scda_fwrite_varray (f, s->coefficients, cells.Nq, s->bytes, NULL, 0, "coefficients: double", NULL, SCDA_ENCODE_NONE, &err);
  scda_fclose (f, &err);
  if (err != 0 && rank == 0) { fprintf (stderr, "checkpoint: %s\n", scda_last_error_message ()); }
  return err;
}
