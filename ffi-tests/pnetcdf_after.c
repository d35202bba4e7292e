/* pnetcdf_after.c: time steps of two fields; each is complete in the file, or not there */
#include <scda.h>

#include <string.h>

int scda_step (MPI_Comm comm, const char *filename, int step, const uint64_t shape[2], const uint64_t start[2],
               const uint64_t count[2], const double *const u[2]) {
  static const char *const names[2] = {"rho", "T"}, *const units[2] = {"{\"units\": \"kg m-3\"}", "{\"units\": \"K\"}"};
  static const char *const dims[2] = {"y", "x"};
  const double nothing = -1;
  scda_dataset_t d[2];
  scda_box_t box[2];
  for (int i = 0; i < 2; ++i) {
    scda_dataset_init (&d[i]);
    strcpy (d[i].name, names[i]);
    d[i].type = SCDA_TYPE_FLOAT64;
    d[i].ndims = 2;
    d[i].shape[0] = shape[0];
    d[i].shape[1] = shape[1];
    d[i].dimension_names = dims;
    d[i].fill_value = &nothing;
    d[i].attributes = units[i];
    scda_box_init (&box[i]);
    box[i].data = (void *) u[i]; /* which does not change */
    box[i].start = start;
    box[i].count = count;
  }

  int err;
  scda_fcontext_t *f = step == 0 ? scda_fopen_write (comm, filename, "my simulation", NULL, NULL, &err)
                                 : scda_fopen_append (comm, filename, NULL, NULL, NULL, &err);
  f = scda_fwrite_datasets (f, 2, d, NULL, box, &err);
  scda_fclose (f, &err);
  return err; /* the same on all ranks */
}

/* Reads a box of a field at a step; another box on each rank. */
int scda_step_read (MPI_Comm comm, const char *filename, const char *name, int step, const uint64_t start[2],
                    const uint64_t count[2], double *u) {
  int err, found = 0;
  scda_dataset_t d;
  scda_dataset_init (&d);
  scda_fcontext_t *f = scda_fopen_read (comm, filename, NULL, NULL, NULL, &err);
  f = scda_ffind_dataset (f, name, step, &found, &d, &err); /* -1: the last step */
  if (f != NULL && (!found || d.type != SCDA_TYPE_FLOAT64 || d.ndims != 2)) {
    scda_fclose (f, &err);
    return SCDA_ERR_FORMAT; /* a valid file, but no such field */
  }
  f = scda_fread_dataset (f, &d, u, 1, start, count, &err);
  scda_fclose (f, &err);
  return err;
}
