/* series.c: a time series in one file. Each run adds some steps to those in the file. */
#include <scda.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS 1000

/* Reads the last step: its state u, and its number, which is -1 if there is none. */
static int read_last (const char *filename, double *u, const uint64_t *Nq, int *step) {
  int err, found = 0, decode = 1;
  char type;
  uint64_t N, E, last, number = 0;
  scda_fcontext_t *f = scda_fopen_read (MPI_COMM_WORLD, filename, NULL, NULL, NULL, &err);
  f = scda_ffind (f, "u", NULL, -1, &found, &last, &err); /* -1: the last one of this name */
  if (f != NULL && found) { f = scda_fseek (f, last, &err); }
  if (f != NULL && found) { f = scda_fread_section_header (f, &type, &N, &E, NULL, NULL, &decode, &err); }
  if (f != NULL && found) { f = scda_fread_array_data (f, u, Nq, sizeof *u, 0, &err); } /* compares type, size and the sum of Nq */
  f = scda_fsections (f, &number, &err);
  scda_fclose (f, &err);
  *step = (int) number - 1; /* one section for each step */
  return err;
}

int main (int argc, char **argv) {
  int err, rank, size, step;
  scda_info_t info;
  info.size = sizeof info;
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  if (argc != 3) { MPI_Abort (MPI_COMM_WORLD, 2); }
  const int steps = atoi (argv[2]);

  uint64_t *Nq = malloc ((size_t) size * sizeof *Nq);
  for (int p = 0; p < size; ++p) {
    Nq[p] = CELLS * (uint64_t) (p + 1) / (uint64_t) size - CELLS * (uint64_t) p / (uint64_t) size;
  }
  double *u = calloc (Nq[rank] + 1, sizeof *u);

  /* To open the file for appending removes what was not committed, if the last job was killed. */
  scda_fcontext_t *f = scda_fopen_append_or_create (MPI_COMM_WORLD, argv[1], "series.c, version 1", NULL, NULL, NULL, &err);
  scda_get_info (f, &info);
  scda_fclose (f, &err);
  if (err == 0) { err = read_last (argv[1], u, Nq, &step); }
  if (err == 0 && rank == 0) { printf ("the file has %d steps; %d bytes of a torn one were removed\n", step + 1, (int) info.rolled_back_bytes); }

  f = err == 0 ? scda_fopen_append (MPI_COMM_WORLD, argv[1], NULL, NULL, NULL, &err) : NULL;
  for (int i = 0; f != NULL && i < steps; ++i) {
    for (uint64_t k = 0; k < Nq[rank]; ++k) { u[k] += 0.5; } /* the simulation */
    f = scda_fwrite_array (f, u, Nq, sizeof *u, 0, "u", NULL, SCDA_ENCODE_NONE, &err);
    f = scda_fcommit (f, &err); /* from now on, this step is safe */
  }
  scda_fclose (f, &err);
  if (err != 0 && rank == 0) { fprintf (stderr, "series: %s\n", scda_last_error_message ()); }
  free (u), free (Nq);
  MPI_Finalize ();
  return err != 0;
}
