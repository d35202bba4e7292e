/* An MPI of neither family is refused in words: here MPICH, which says that it is another. */
#include "common.h"

int MPI_Get_library_version (char *version, int *length) {
  *length = snprintf (version, MPI_MAX_LIBRARY_VERSION_STRING, "Another MPI 7.1\nof its own kind");
  return MPI_SUCCESS;
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2);
  int err = -1;
  REQUIRE (scda_fopen_write (MPI_COMM_WORLD, argv[1], "other", NULL, NULL, &err) == NULL);
  REQUIRE (err == SCDA_ERR_USAGE);
  const char *const expected = "found Another MPI 7.1, expected Open MPI, or an MPI with the binary interface of MPICH or of MPI 5";
  if (strstr (scda_last_error_message (), expected) == NULL) {
    fprintf (stderr, "found \"%s\", expected \"… %s\"\n", scda_last_error_message (), expected);
    ++failures;
  }
  FILE *file = fopen (argv[1], "rb");
  CHECK (file == NULL);
  return finish ();
}
