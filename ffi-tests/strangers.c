/* A file with a dataset whose metadata are wrong, among others that are right. */
#include "common.h"

static scda_fcontext_t *write_dataset (scda_fcontext_t *f, const char *name, int type, int ndims, const uint64_t *shape, const void *data) {
  int err = -1;
  const uint64_t first[2] = {0, 0};
  scda_dataset_t d;
  scda_dataset_init (&d);
  snprintf (d.name, sizeof d.name, "%s", name);
  d.type = type;
  d.ndims = ndims;
  for (int k = 0; k < ndims; ++k) { d.shape[k] = shape[k]; }
  f = scda_fwrite_dataset (f, &d, data, 1, first, shape, &err);
  REQUIRE (f != NULL);
  return f;
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2);
  static const char metadata[] = "{\"zarr_format\": 3, \"shape\": [4, ";
  const uint64_t sizes[2] = {2, 3}, four[1] = {4};
  const double a[6] = {0, 1, 2, 3, 4, 5}, time[2] = {0.25, 0.5};
  const int32_t c[4] = {1, 2, 3, 4};
  int err = -1;
  scda_fcontext_t *f = scda_fopen_write (SCDA_COMM_SELF, argv[1], "strangers", NULL, NULL, &err);
  f = write_dataset (f, "a", SCDA_TYPE_FLOAT64, 2, sizes, a);
  f = scda_fwrite_block (f, metadata, sizeof metadata - 1, "scda dataset 00", NULL, 0, SCDA_ENCODE_NONE, &err);
  f = scda_fwrite_array (f, c, four, 4, 0, "broken", NULL, SCDA_ENCODE_NONE, &err);
  REQUIRE (f != NULL);
  f = write_dataset (f, "flow/c", SCDA_TYPE_INT32, 1, four, c);
  f = write_dataset (f, "time", SCDA_TYPE_FLOAT64, 0, NULL, &time[0]);
  f = write_dataset (f, "time", SCDA_TYPE_FLOAT64, 0, NULL, &time[1]);
  REQUIRE (scda_fclose (f, &err) == 0);
  return finish ();
}
