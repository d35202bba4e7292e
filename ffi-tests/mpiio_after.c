/* mpiio_after.c: the same field in a file that describes itself */
#include <scda.h>

int scda_field_write (MPI_Comm comm, const char *filename, const double *u, const uint64_t *Nq) {
  int err;
  scda_fcontext_t *f = scda_fopen_write (comm, filename, "my simulation", NULL, NULL, &err);
  f = scda_fwrite_array (f, u, Nq, sizeof (double), 0, "u: double", NULL, SCDA_ENCODE_NONE, &err);
  scda_fclose (f, &err);
  return err; /* the same on all ranks */
}

int scda_field_read (MPI_Comm comm, const char *filename, double *u, const uint64_t *Nq) {
  int err, decode = 1;
  char type;
  uint64_t N, E;
  scda_fcontext_t *f = scda_fopen_read (comm, filename, NULL, NULL, NULL, &err);
  f = scda_fread_section_header (f, &type, &N, &E, NULL, NULL, &decode, &err);
  if (f != NULL && err == SCDA_SUCCESS && (type != 'A' || E != sizeof (double))) {
    scda_fclose (f, &err);
    return SCDA_ERR_FORMAT; /* a valid file, but not one of ours */
  }
  if (f != NULL && err == SCDA_SUCCESS) { f = scda_fread_array_data (f, u, Nq, E, 0, &err); } /* checks the sum of Nq */
  scda_fclose (f, err == SCDA_SUCCESS ? &err : NULL); /* the first error counts */
  return err;
}
