/* datasets.c: lists the datasets of a file; then reads those that are named, in any order, as numbers, and prints their sums.
 *
 * Compile:  mpicc datasets.c -o datasets $(pkg-config --cflags --libs scda)
 *           (with a serial build of the library: cc instead of mpicc)
 * Run:      ./datasets state.scda flow/p time flow/rho
 */
#include <scda.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A dataset with wrong metadata, or of a type that this library does not have, is an entry as well. */
static scda_fcontext_t *list (scda_fcontext_t *f, int *err) {
  scda_entry_t e;
  scda_entry_init (&e);
  while ((f = scda_fnext_entry (f, &e, err)) != NULL && *err != SCDA_ERR_EOF) {
    if (e.kind == SCDA_ENTRY_UNKNOWN) { printf ("%s: cannot be read\n", e.name); }
    if (e.kind != SCDA_ENTRY_DATASET) { continue; }
    printf ("%s, record %d of %d: %s", e.name, (int) e.record, (int) e.records, scda_type_name (e.type, NULL));
    for (int k = 0; k < e.ndims; ++k) { printf ("%c%" PRIu64, k > 0 ? 'x' : ' ', e.shape[k]); }
    putchar ('\n');
  }
  return f;
}

/* All of the last dataset of this name, as float64: other numbers are converted. */
static scda_fcontext_t *sum (scda_fcontext_t *f, const char *name, int *err) {
  const uint64_t start[SCDA_MAX_DIMS] = {0};
  int found = 0;
  uint64_t items = 1;
  double total = 0;
  scda_dataset_t d;
  scda_box_t box;
  scda_dataset_init (&d);
  f = scda_ffind_dataset (f, name, SCDA_LAST, &found, &d, err);
  if (f == NULL) { return NULL; }
  if (!found) { return printf ("%s: no such dataset\n", name), f; }
  for (int k = 0; k < d.ndims; ++k) { items *= d.shape[k]; }
  double *data = (double *) malloc (items * sizeof *data + 1);
  scda_box_init (&box);
  box.data = data, box.start = start, box.count = d.shape, box.type = SCDA_TYPE_FLOAT64;
  f = scda_fread_boxes (f, &d, 1, &box, err);
  for (uint64_t i = 0; f != NULL && i < items; ++i) { total += data[i]; }
  if (f != NULL) { printf ("%s: sum %.1f\n", name, total); }
  free (data);
  return f;
}

int main (int argc, char **argv) {
  int err = SCDA_SUCCESS;
#ifndef SCDA_SERIAL /* scda.h defines it if the library was built without MPI */
  MPI_Init (&argc, &argv);
#endif
  if (argc < 2) { return fprintf (stderr, "usage: datasets FILE [NAME ...]\n"), 2; }
  /* One process reads alone. A call with NULL for f only returns the error of the call before. */
  scda_fcontext_t *f = list (scda_fopen_read (SCDA_COMM_SELF, argv[1], NULL, NULL, NULL, &err), &err);
  for (int i = 2; i < argc; ++i) { f = sum (f, argv[i], &err); }
  scda_fclose (f, &err);
  if (err != SCDA_SUCCESS) { fprintf (stderr, "datasets: %s\n", scda_last_error_message ()); }
#ifndef SCDA_SERIAL
  MPI_Finalize ();
#endif
  return err != SCDA_SUCCESS;
}
