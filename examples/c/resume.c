/* A series that stops in time and goes on after any step: docs/restart.md explains it.
 *
 *   resume FILE LAST [RECORD]: simulates up to step LAST, with a checkpoint each tenth step; goes on after the last one of the file, or
 *   after that of this number (0, 1, ...).
 */
#include <scda.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 1000 };

/* A field of a program that has not read it yet: the default everywhere. */
static double *values (size_t n, double value) {
  double *field = malloc (n * sizeof *field);
  for (size_t i = 0; field != NULL && i < n; ++i) { field[i] = value; }
  return field;
}

static void report (const char *what) {
  printf ("%s\n", what);
}

/* Reads the newest step of the file, of this version of the program or of an older one, if there is one. Returns the next step. */
static int read_state (const char *path, double *rho, double *u, uint64_t n, double *dt, int *err) {
  int step = -1, found;
  uint64_t count = 1;
  scda_fcontext_t *f = scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, err);
  f = scda_fread_attribute (f, "/", SCDA_LAST, "dt", SCDA_TYPE_FLOAT64, dt, &count, err);
  count = 1;
  f = scda_fread_attribute (f, "time", SCDA_LAST, "step", SCDA_TYPE_INT32, &step, &count, err);
  f = scda_fread_field (f, "density", "rho", SCDA_LAST, SCDA_TYPE_FLOAT64, rho, n, 1, &found, err);
  if (found == 0) { report ("no density: 1.2 kg m-3 everywhere"); }
  f = scda_fread_field (f, "u", NULL, SCDA_LAST, SCDA_TYPE_FLOAT64, u, n, 3, &found, err);
  if (found & SCDA_FIELD_COMPONENTS) { report ("u had another number of axes"); }
  scda_fclose (f, err);
  return step + 1;
}

/* Writes one step, beginning with the dataset by which a restart finds it. */
static scda_fcontext_t *write_step (scda_fcontext_t *f, int step, const double *rho, const double *u, uint64_t n, double dt, int *err) {
  const double time = step * dt;
  int rank;
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  f = scda_fwrite_field (f, "time", SCDA_TYPE_FLOAT64, &time, rank == 0, 1, SCDA_ENCODE_NONE, err);
  f = scda_fset_attribute (f, "time", SCDA_LAST, "step", SCDA_TYPE_INT32, &step, 1, err);
  f = scda_fwrite_field (f, "density", SCDA_TYPE_FLOAT64, rho, n, 1, SCDA_ENCODE_NONE, err);
  return scda_fwrite_field (f, "u", SCDA_TYPE_FLOAT64, u, n, 3, SCDA_ENCODE_NONE, err);
}

int main (int argc, char **argv) {
  int first = 0, is_new = 0, err = 0, rank, size;
  scda_stop_watch (0, 3600 - 300, &err); /* SIGTERM, SIGUSR1, or 5 minutes before the end of an hour */
  MPI_Init (&argc, &argv);
  if (argc < 3) { MPI_Abort (MPI_COMM_WORLD, 2); }
  const int last = atoi (argv[2]);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  const size_t n = (size_t) (CELLS * (rank + 1) / size - CELLS * rank / size); /* of this process */
  double *rho = values (n, 1.2), *u = values (3 * n, 0.);                      /* the defaults */
  double dt = 0.1;                                                             /* the default */
  scda_params_t params;
  scda_params_init (&params);
  if (argc > 3) {
    params.append_name = "time";           /* the dataset that the program writes first in each step */
    params.append_record = atoi (argv[3]); /* its last record that stays */
  }
  scda_fcontext_t *f = scda_fopen_append_or_create (MPI_COMM_WORLD, argv[1], "my simulation", NULL, &params, &is_new, &err);
  if (is_new) { f = scda_fset_attribute (f, "/", 0, "dt", SCDA_TYPE_FLOAT64, &dt, 1, &err); }
  scda_fclose (f, &err);
  if (err == 0 && !is_new) { first = read_state (argv[1], rho, u, n, &dt, &err); }
  if (rank == 0) { printf ("from step %d on\n", first); }

  f = err == 0 ? scda_fopen_append (MPI_COMM_WORLD, argv[1], NULL, NULL, NULL, &err) : NULL;
  for (int step = first; f != NULL && step < last; ++step) {
    for (size_t i = 0; i < n; ++i) { rho[i] += dt; } /* the simulation */
    const int stop = scda_stop_requested (MPI_COMM_WORLD, &err);
    if (stop > 0 || step % 10 == 9) {
      f = write_step (f, step, rho, u, n, dt, &err);
      f = scda_fcommit (f, &err);
    }
    if (stop > 0) { break; }
  }
  scda_fclose (f, &err);
  if (err != 0 && rank == 0) { fprintf (stderr, "resume: %s\n", scda_last_error_message ()); }
  free (u);
  free (rho);
  MPI_Finalize ();
  return err != 0;
}
