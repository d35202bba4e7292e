/* The hints that MPI-IO gets: those of the user, completed. They also ask for MPI-IO, whatever SCDA_IO says. And another
 * job cannot append while MPI-IO opens a file. The library's calls of MPI_File_open come here first. */
#define _POSIX_C_SOURCE 200112L /* setenv */
#include "common.h"

static int opened;
static char seen[6][80];
static const char *between; /* a file to which another job would append then */
static const char *const keys[6] = {"romio_ds_write", "romio_ds_read", "striping_unit", "stripe_size", "striping_factor", "stripe_width"};

/* Appends a section to a sealed file, or creates it with that one. */
static void append (MPI_Comm comm, const char *filename, int driver, char letter) {
  char text[SCDA_INLINE_BYTES];
  scda_params_t params = default_params ();
  int err = -1;
  params.driver = driver;
  params.seal = 1;
  memset (text, letter, sizeof text);
  scda_fcontext_t *f = letter == 'a' ? scda_fopen_write (comm, filename, "between", NULL, &params, &err)
                                     : scda_fopen_append (comm, filename, NULL, NULL, &params, &err);
  f = scda_fwrite_inline (f, text, "letter", NULL, 0, &err);
  REQUIRE (scda_fclose (f, &err) == 0);
}

/* The file has a section for each of these letters. */
static void expect_letters (MPI_Comm comm, const char *filename, const char *letters) {
  scda_params_t params = default_params ();
  int err = -1;
  params.verify = 1;
  scda_fcontext_t *f = scda_fopen_read (comm, filename, NULL, NULL, &params, &err);
  for (; *letters != 0; ++letters) {
    char type, text[SCDA_INLINE_BYTES] = "", expected[SCDA_INLINE_BYTES];
    int decode = 1, rank = -1;
    MPI_Comm_rank (comm, &rank);
    memset (expected, *letters, sizeof expected);
    f = scda_fread_section_header (f, &type, NULL, NULL, NULL, NULL, &decode, &err);
    f = scda_fread_inline_data (f, text, 0, &err);
    REQUIRE (f != NULL && err == 0);
    CHECK (rank != 0 || memcmp (text, expected, sizeof text) == 0);
  }
  CHECK (info_of (f).at_end == 1);
  REQUIRE (scda_fclose (f, &err) == 0);
}

int MPI_File_open (MPI_Comm comm, const char *filename, int mode, MPI_Info info, MPI_File *file) {
  ++opened;
  for (int i = 0; i < 6; ++i) {
    int set = 0;
    seen[i][0] = 0;
    MPI_Info_get (info, keys[i], sizeof seen[i] - 1, seen[i], &set);
  }
  if (between != NULL) {
    int rank = -1;
    MPI_Comm_rank (comm, &rank);
    if (rank == 0) {
      scda_params_t params = default_params ();
      int err = -1;
      params.driver = SCDA_DRIVER_POSIX;
      CHECK (scda_fopen_append (MPI_COMM_SELF, between, NULL, NULL, &params, &err) == NULL && err == SCDA_ERR_FILE_IN_USE);
    }
    between = NULL;
  }
  return PMPI_File_open (comm, filename, mode, info, file);
}

/* Without values, no file is opened with MPI-IO. */
static void expect (MPI_Comm comm, const char *filename, int driver, MPI_Info info, const char *const *values) {
  scda_params_t params = default_params ();
  int err = -1;
  params.driver = driver;
  params.info = info;
  opened = 0;
  scda_fcontext_t *f = scda_fopen_write (comm, filename, "hints", NULL, &params, &err);
  REQUIRE (f != NULL && err == 0);
  REQUIRE (scda_fclose (f, &err) == 0);
  REQUIRE ((opened > 0) == (values != NULL)); /* rank 0 has created it before, alone */
  for (int i = 0; values != NULL && i < 6; ++i) {
    if (strcmp (seen[i], values[i]) != 0) {
      fprintf (stderr, "hint %s: found \"%s\", expected \"%s\"\n", keys[i], seen[i], values[i]);
      ++failures;
    }
  }
}

int main (int argc, char **argv) {
  static const char *const none[6] = {"disable", "disable", "", "", "", ""};
  static const char *const standard[6] = {"disable", "disable", "1048576", "1048576", "4", "4"};
  static const char *const mixed[6] = {"enable", "disable", "2097152", "2097152", "3", "5"};
  char filename[1100];
  setenv ("SCDA_IO", "posix", 1);
  start (&argc, &argv);
  REQUIRE (argc == 2);
  const MPI_Comm comm = MPI_COMM_WORLD;
  snprintf (filename, sizeof filename, "%s/hints.scda", argv[1]);

  expect (comm, filename, SCDA_DRIVER_MPIIO, MPI_INFO_NULL, none);
  expect (comm, filename, SCDA_DRIVER_AUTO, MPI_INFO_NULL, NULL);
  MPI_Info info;
  MPI_Info_create (&info);
  MPI_Info_set (info, "striping_unit", "1048576");
  MPI_Info_set (info, "striping_factor", "4");
  expect (comm, filename, SCDA_DRIVER_MPIIO, info, standard);
  expect (comm, filename, SCDA_DRIVER_AUTO, info, standard);
  MPI_Info_free (&info);
  MPI_Info_create (&info);
  MPI_Info_set (info, "romio_ds_write", "enable");
  MPI_Info_set (info, "stripe_size", "2097152");
  MPI_Info_set (info, "striping_factor", "3"); /* whoever sets both knows why */
  MPI_Info_set (info, "stripe_width", "5");
  expect (comm, filename, SCDA_DRIVER_MPIIO, info, mixed);
  MPI_Info_free (&info);

  snprintf (filename, sizeof filename, "%s/between.scda", argv[1]);
  append (comm, filename, SCDA_DRIVER_MPIIO, 'a');
  between = filename;
  append (comm, filename, SCDA_DRIVER_MPIIO, 'c');
  REQUIRE (between == NULL);
  expect_letters (comm, filename, "ac");
  return finish ();
}
