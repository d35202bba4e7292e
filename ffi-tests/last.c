/* last.c: a restart takes the last whole state: last FOLDER. Of checkpoints that replace one another, the newest one that has a seal; of a
 * file that is appended to, all up to its last seal. */
#include "common.h"
#include <sys/stat.h>

static MPI_Comm comm;
static int rank;
static char path[1200], kept[3][1200];

/* Writes a checkpoint that has one number. */
static void write_state (int64_t number, int seal) {
  int err;
  scda_params_t params;
  scda_dataset_t d;
  scda_fcontext_t *f;
  scda_params_init (&params);
  params.atomic = 1, params.keep = 2, params.seal = seal;
  scda_dataset_init (&d);
  strcpy (d.name, "number");
  d.type = SCDA_TYPE_INT64;
  f = scda_fopen_write (comm, path, "last", NULL, &params, &err);
  f = scda_fwrite_dataset (f, &d, &number, rank == 0, NULL, NULL, &err);
  REQUIRE (scda_fclose (f, &err) == 0);
}

static scda_fcontext_t *open_last (int *err) {
  scda_params_t params;
  scda_params_init (&params);
  params.keep = 2;
  return scda_fopen_read (comm, path, NULL, NULL, &params, err);
}

/* Requires that this is what a restart takes: the file of an age, and the number in it. */
static void expect (int age, int64_t number, int line) {
  int err, found = 0, taken;
  int64_t read = -1;
  scda_dataset_t d;
  scda_fcontext_t *f = open_last (&err);
  taken = (int) info_of (f).age;
  scda_dataset_init (&d);
  f = scda_ffind_dataset (f, "number", SCDA_LAST, &found, &d, &err);
  if (f != NULL && found) { f = scda_fread_dataset (f, &d, &read, 1, NULL, NULL, &err); }
  if (f == NULL || taken != age || read != number) {
    fprintf (stderr, "line %d, rank %d: took %d, read %d, error %d: %s\n", line, rank, taken, (int) read, err, scda_last_error_message ());
    ++failures;
  }
  scda_fclose (f, &err);
}

static void expect_error (int code, int line) {
  int err = 0;
  scda_fcontext_t *f = open_last (&err);
  if (f != NULL || err != code) {
    fprintf (stderr, "line %d, rank %d: error %d, expected %d\n", line, rank, err, code);
    ++failures;
  }
  scda_fclose (f, &err);
}

/* Cuts a file to `bytes` bytes; -1 removes it. */
static void cut (const char *name, long bytes) {
  MPI_Barrier (comm);
  if (rank == 0) { REQUIRE ((bytes < 0 ? unlink (name) : truncate (name, bytes)) == 0); }
  MPI_Barrier (comm);
}

static long bytes_of (const char *name) {
  struct stat status;
  return stat (name, &status) == 0 ? (long) status.st_size : -1;
}

int main (int argc, char **argv) {
  int64_t step;
  int err, k;
  scda_fcontext_t *f;
  scda_dataset_t d;
  scda_params_t params;
  start (&argc, &argv);
  REQUIRE (argc == 2);
  comm = world ().comm;
  MPI_Comm_rank (comm, &rank);
  snprintf (path, sizeof path, "%s/last.d/state.scda", argv[1]); /* a dot in the name of the folder */
  for (k = 0; k < 3; ++k) { snprintf (kept[k], sizeof kept[k], "%s/last.d/state.%d.scda", argv[1], k + 1); }
  expect_error (SCDA_ERR_NO_SUCH_FILE, __LINE__);
  for (step = 0; step < 4; ++step) { write_state (step, 1); }
  expect (0, 3, __LINE__);
  cut (path, 200); /* no seal */
  expect (1, 2, __LINE__);
  cut (path, 100); /* no header of a file */
  expect (1, 2, __LINE__);
  cut (path, -1);
  expect (1, 2, __LINE__);
  cut (kept[0], 0);
  expect (2, 1, __LINE__);
  cut (kept[1], 64);
  expect_error (SCDA_ERR_NO_SUCH_FILE, __LINE__);

  /* Bare sections do not say whether they are whole. */
  write_state (4, 0);
  expect_error (SCDA_ERR_FORMAT, __LINE__);
  cut (path, -1);

  /* A file that is appended to: up to its last seal. */
  scda_params_init (&params);
  params.hdf5 = -1; /* else the last seal, which comes with the view, has no dataset of its own */
  f = scda_fopen_write (comm, path, "last", NULL, &params, &err);
  scda_dataset_init (&d);
  strcpy (d.name, "number");
  d.type = SCDA_TYPE_INT64;
  for (step = 10; step < 13; ++step) {
    f = scda_fwrite_dataset (f, &d, &step, rank == 0, NULL, NULL, &err);
    f = scda_fcommit (f, &err);
  }
  REQUIRE (scda_fclose (f, &err) == 0);
  expect (0, 12, __LINE__);
  MPI_Barrier (comm);
  {
    FILE *file = fopen (path, "rb");
    REQUIRE (file != NULL && fseek (file, 0, SEEK_END) == 0);
    cut (path, ftell (file) - 100);
    fclose (file);
  }
  expect (0, 11, __LINE__);

  /* Torn files do not count, and stay; so do files of others. */
  cut (path, -1);
  cut (kept[0], -1);
  cut (kept[1], -1);
  for (step = 20; step < 23; ++step) { write_state (step, 1); }
  cut (path, 200);
  cut (kept[0], 300);
  for (step = 23; step < 25; ++step) { write_state (step, 1); }
  expect (0, 24, __LINE__);
  cut (path, 200);
  expect (2, 23, __LINE__); /* state.2.scda */
  cut (kept[1], 64);
  expect (3, 20, __LINE__); /* state.3.scda, which was state.2.scda when two files were torn */
  REQUIRE (bytes_of (kept[0]) == 300 && bytes_of (kept[1]) == 64);
  cut (kept[0], -1);
  if (rank == 0) { REQUIRE (mkdir (kept[0], 0700) == 0); }
  for (step = 25; step < 29; ++step) { write_state (step, 1); }
  expect (0, 28, __LINE__);
  cut (path, -1);
  expect (3, 27, __LINE__);
  REQUIRE (bytes_of (kept[1]) == 64);
  MPI_Barrier (comm);
  if (rank == 0) { REQUIRE (rmdir (kept[0]) == 0); }
  return finish ();
}
