/* hdf5_after.c: a dataset by name, and how any part of it is read */
#include <scda.h>

int scda_dataset_write (MPI_Comm comm, const char *filename, const char *name, const double *u, const uint64_t *Nq) {
  int err;
  scda_fcontext_t *f = scda_fopen_write (comm, filename, "my simulation", NULL, NULL, &err);
  f = scda_fwrite_field_parts (f, name, SCDA_TYPE_FLOAT64, u, Nq, 1, SCDA_ENCODE_NONE, &err);
  scda_fclose (f, &err);
  return err;
}

/* Reads n numbers from the one with this index on; another part on each rank. */
int scda_dataset_read (MPI_Comm comm, const char *filename, const char *name, double *u, uint64_t first, uint64_t n) {
  int err, found = 0;
  scda_dataset_t d;
  scda_dataset_init (&d);
  scda_fcontext_t *f = scda_fopen_read (comm, filename, NULL, NULL, NULL, &err);
  f = scda_ffind_dataset (f, name, SCDA_LAST, &found, &d, &err);
  if (f != NULL && (!found || d.type != SCDA_TYPE_FLOAT64 || d.ndims != 1)) {
    scda_fclose (f, &err);
    return SCDA_ERR_FORMAT; /* a valid file, but not one of ours */
  }
  f = scda_fread_dataset (f, &d, u, 1, &first, &n, &err);
  scda_fclose (f, &err);
  return err;
}
