/* fields.c: the fields of a simulation on a square grid, by name. */
#include <scda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 64

static double density (uint64_t y, uint64_t x) { return 1 + (double) (y * CELLS + x) / 256; }

/* Writes the attributes of the file, the density on the grid, of which this rank has a box, and the mass of each of its rows. */
static int write_fields (const char *filename, const uint64_t start[2], const uint64_t count[2]) {
  const char *const names[2] = {"y", "x"};
  int err, rank;
  scda_dataset_t d;
  double *rho = malloc (count[0] * count[1] * sizeof *rho + 1), *mass = calloc (count[0] + 1, sizeof *mass);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  for (uint64_t i = 0; i < count[0] * count[1]; ++i) {
    rho[i] = density (start[0] + i / count[1], start[1] + i % count[1]);
    mass[i / count[1]] += rho[i];
  }

  scda_fcontext_t *f = scda_fopen_write (MPI_COMM_WORLD, filename, "fields.c, version 1", NULL, NULL, &err);
  f = scda_fwrite_group (f, "/", "{\"title\": \"a gradient\", \"time\": 0.25}", &err);

  scda_dataset_init (&d);
  strcpy (d.name, "flow/density");
  d.type = SCDA_TYPE_FLOAT64;
  d.ndims = 2;
  d.shape[0] = d.shape[1] = CELLS;
  d.encode = SCDA_ENCODE_ALWAYS; /* compressed, in chunks that the library chooses */
  d.dimension_names = names;
  d.attributes = "{\"units\": \"kg m-3\"}";
  f = scda_fwrite_dataset (f, &d, rho, 1, start, count, &err);
  /* The usual case in one call: count[0] elements on this rank, one number each. */
  f = scda_fwrite_field (f, "flow/mass", SCDA_TYPE_FLOAT64, mass, count[0], 1, SCDA_ENCODE_NONE, &err);
  scda_fclose (f, &err);
  if (err != 0 && rank == 0) { fprintf (stderr, "fields: %s\n", scda_last_error_message ()); }
  free (rho), free (mass);
  return err;
}

/* Reads two boxes of the density on each rank: a column, and the last item. Returns how many numbers are wrong, or -1. */
static int read_boxes (const char *filename) {
  int err, rank, found = 0, wrong = 0;
  double items[CELLS + 1];
  scda_dataset_t d;
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  const uint64_t x = (uint64_t) rank, start[4] = {0, x, CELLS - 1, CELLS - 1}, count[4] = {CELLS, 1, 1, 1};

  scda_dataset_init (&d);
  scda_fcontext_t *f = scda_fopen_read (MPI_COMM_WORLD, filename, NULL, NULL, NULL, &err);
  f = scda_ffind_dataset (f, "flow/density", SCDA_LAST, &found, &d, &err); /* the last one of this name */
  if (f != NULL && found && d.type == SCDA_TYPE_FLOAT64 && d.ndims == 2 && d.shape[0] == CELLS && d.shape[1] == CELLS) {
    f = scda_fread_dataset (f, &d, items, 2, start, count, &err);
    for (uint64_t y = 0; f != NULL && y < CELLS; ++y) { wrong += items[y] != density (y, x); }
    wrong += f != NULL && items[CELLS] != density (CELLS - 1, CELLS - 1);
  }
  else { wrong = -1; }
  scda_fclose (f, &err);
  return err != 0 ? -1 : wrong;
}

/* Reads this rank's rows of both fields, in one call. Returns how many numbers are wrong, or -1. */
static int read_rows (const char *filename, const uint64_t start[2], const uint64_t count[2]) {
  const char *const names[2] = {"flow/density", "flow/mass"};
  int err, wrong = 0;
  double *rho = malloc (count[0] * count[1] * sizeof *rho + 1), *mass = malloc (count[0] * sizeof *mass + 1);
  void *const data[2] = {rho, mass};
  scda_box_t box[2]; /* one of each */
  scda_dataset_t d[2];
  for (int i = 0; i < 2; ++i) { /* what the memory is for: another type or shape in the file is an error */
    scda_dataset_init (&d[i]);
    strcpy (d[i].name, names[i]);
    d[i].type = SCDA_TYPE_FLOAT64;
    d[i].ndims = 2 - i;
    for (int k = 0; k < d[i].ndims; ++k) { d[i].shape[k] = CELLS; }
    scda_box_init (&box[i]);
    box[i].data = data[i];
    box[i].start = start; /* the mass has but the first index */
    box[i].count = count;
  }
  scda_fcontext_t *f = scda_fopen_read (MPI_COMM_WORLD, filename, NULL, NULL, NULL, &err);
  /* NULL: the last dataset of each name; one box of each */
  f = scda_fread_datasets (f, 2, d, NULL, NULL, box, &err);
  for (uint64_t y = 0; f != NULL && y < count[0]; ++y) {
    double sum = 0;
    for (uint64_t x = 0; x < count[1]; ++x) {
      wrong += rho[y * count[1] + x] != density (start[0] + y, start[1] + x);
      sum += rho[y * count[1] + x];
    }
    wrong += mass[y] != sum;
  }
  scda_fclose (f, &err);
  free (rho), free (mass);
  return err != 0 ? -1 : wrong;
}

/* Lists what is in the file: datasets, groups, and sections that are neither. */
static int list (const char *filename) {
  int err, rank, found;
  const char *attributes;
  scda_entry_t e;
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  scda_entry_init (&e);
  scda_fcontext_t *f = scda_fopen_read (MPI_COMM_WORLD, filename, NULL, NULL, NULL, &err);
  while (f != NULL) {
    f = scda_fnext_entry (f, &e, &err);
    if (f == NULL || err == SCDA_ERR_EOF) { break; }
    if (e.kind == SCDA_ENTRY_GROUP) {
      f = scda_ffind_group (f, e.name, &found, &attributes, &err);
      if (f != NULL && rank == 0) { printf ("group %s: %s\n", e.name, attributes); }
    }
    else if (rank == 0 && e.kind == SCDA_ENTRY_DATASET) {
      printf ("dataset %s: %d dimensions, %s\n", e.name, e.ndims, scda_type_name (e.type, NULL));
    }
    else if (rank == 0) { printf ("section %c %s\n", e.letter, e.name); }
  }
  const int end = err;
  scda_fclose (f, &err);
  return end != SCDA_ERR_EOF || err != 0;
}

int main (int argc, char **argv) {
  int rank, size, wrong = 0;
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  if (argc != 2) { MPI_Abort (MPI_COMM_WORLD, 2); }

  /* Strips of rows. Any other boxes would do. */
  const uint64_t start[2] = {CELLS * (uint64_t) rank / (uint64_t) size, 0};
  const uint64_t count[2] = {CELLS * (uint64_t) (rank + 1) / (uint64_t) size - start[0], CELLS};

  int err = write_fields (argv[1], start, count);
  if (err == 0) { wrong = read_boxes (argv[1]); }
  if (err == 0 && wrong == 0) { wrong = read_rows (argv[1], start, count); }
  if (err == 0) { err = list (argv[1]); }
  MPI_Finalize ();
  return err != 0 || wrong != 0;
}
