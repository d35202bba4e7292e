/* What a mesh and one field cost beside plain arrays of the same bytes, written and read in turns in one run; docs/performance.md,
 * "Beside its peers".
 *
 *   mpirun -n 2 meshes FOLDER [REPETITIONS [THOUSANDS]]
 *
 * A forest of p4est with 5 numbers in each quadrant; patches of 32 x 32 x 32 cells with 2 layers of ghost cells,
 * which a program with plain arrays copies without them; particles with 3 numbers
 * each, in cells. Of each THOUSANDS * 1000 quadrants, cells or particles (default: 1000) or somewhat more. A row: ranks, what, MB, then of
 * writing and of reading: the medians of the times of plain arrays and of the mesh in ms, and the ratio of both (above 1, the mesh was
 * faster), of the medians and of the best times. A forest that is read is built anew, which plain arrays leave to the program. */
#define _GNU_SOURCE
#include <scda_p4est.h>
#include <scda_meshes.h>

#include <unistd.h>

enum { most = 200, side = 32, ghost = 2, wide = side + 2 * ghost, inside = side * side * side, around = wide * wide * wide };

static int rank, size, finest;
static size_t number_of_patches;
static p4est_t *forest;
static uint64_t elements, row_bytes[2]; /* of this rank; of an element of the mesh, and of the field */
static char *plain[2];
static double *values;
static void **of_patch;
static int64_t *boxes, *counts;
static int32_t *levels;

static void require (scda_fcontext_t *f, int err) {
  if (f != NULL) { return; }
  fprintf (stderr, "%d: %s\n", err, scda_last_error_message ());
  MPI_Abort (MPI_COMM_WORLD, 1);
}

static int refine (p4est_t *p, p4est_topidx_t tree, p4est_quadrant_t *q) {
  (void) p;
  (void) tree;
  return q->level + 1 < finest || (q->level < finest && q->x > P4EST_ROOT_LEN / 3);
}

/* Copies the cells of the patches without ghost cells, or back: what a program does that has plain arrays in the file. */
static void pack (int back) {
  size_t i;
  int y, z;
  for (i = 0; i < number_of_patches; ++i) {
    for (z = 0; z < side; ++z) {
      for (y = 0; y < side; ++y) {
        double *there = values + around * i + ((size_t) (z + ghost) * wide + (size_t) (y + ghost)) * wide + ghost;
        double *here = (double *) (void *) plain[1] + inside * i + (size_t) (z * side + y) * side;
        memcpy (back ? there : here, back ? here : there, side * sizeof *here);
      }
    }
  }
}

/* The mesh as plain arrays: what it has for each element, and the field. */
static scda_fcontext_t *arrays (scda_fcontext_t *f, int reading, int *err) {
  static uint64_t Nq[1024];
  int k;
  MPI_Allgather (&elements, 1, MPI_UINT64_T, Nq, 1, MPI_UINT64_T, MPI_COMM_WORLD);
  if (number_of_patches > 0 && !reading) { pack (0); }
  for (k = 0; k < 2; ++k) {
    char type;
    int decode = 0;
    if (row_bytes[k] == 0) { continue; }
    if (!reading) {
      f = scda_fwrite_array (f, plain[k], Nq, row_bytes[k], 0, "plain", NULL, SCDA_ENCODE_NONE, err);
      continue;
    }
    f = scda_fread_section_header (f, &type, NULL, NULL, NULL, NULL, &decode, err);
    f = scda_fread_array_data (f, plain[k], Nq, row_bytes[k], 0, err);
  }
  if (number_of_patches > 0 && reading) { pack (1); }
  return f;
}

static scda_fcontext_t *trees (scda_fcontext_t *f, int reading, int *err) {
  scda_dataset_t d;
  p4est_connectivity_t *c = NULL;
  p4est_t *p = NULL;
  scda_dataset_init (&d);
  strcpy (d.name, "state");
  d.type = SCDA_TYPE_FLOAT64, d.ndims = 2, d.shape[1] = 5;
  if (!reading) {
    f = scda_p4est_write_forest (f, NULL, forest, 0, err);
    return scda_p4est_write_field (f, NULL, forest, &d, values, err);
  }
  f = scda_p4est_read_forest (f, NULL, -1, MPI_COMM_WORLD, 0, 0, NULL, NULL, NULL, &c, &p, err);
  require (f, *err);
  f = scda_p4est_read_field (f, NULL, -1, p, "state", SCDA_TYPE_FLOAT64, 5, values, err);
  p4est_destroy (p);
  p4est_connectivity_destroy (c);
  return f;
}

static scda_fcontext_t *patches (scda_fcontext_t *f, int reading, int *err) {
  static const int32_t ratio[] = { 1, 1, 1 };
  static const double geometry[] = { 0, 0, 0, 1, 1, 1 };
  const int64_t domain[] = { 0, 0, 0, side * (int64_t) number_of_patches * size, side, side };
  scda_patches_t m;
  scda_patch_field_t v;
  scda_patches_init (&m, 3);
  scda_patch_field_init (&v, "rho", SCDA_TYPE_FLOAT64);
  v.ghost = ghost, v.data = of_patch;
  m.levels = 1, m.ratio = ratio, m.domain = domain, m.geometry = geometry;
  m.n = number_of_patches, m.level = levels, m.boxes = boxes;
  f = reading ? scda_patches_read_mesh (f, NULL, -1, &m, err) : scda_patches_write_mesh (f, NULL, &m, err);
  require (f, *err);
  f = reading ? scda_patches_read_fields (f, NULL, -1, &m, 1, &v, err) : scda_patches_write_fields (f, NULL, &m, 1, &v, err);
  scda_patches_free (&m);
  return f;
}

static scda_fcontext_t *particles (scda_fcontext_t *f, int reading, int *err) {
  scda_particles_t p;
  scda_dataset_t d;
  scda_particles_init (&p);
  scda_dataset_init (&d);
  strcpy (d.name, "position");
  d.type = SCDA_TYPE_FLOAT64, d.ndims = 2, d.shape[1] = 3;
  p.cells = elements / 8, p.counts = counts;
  f = reading ? scda_particles_read (f, NULL, -1, (int64_t) (elements / 8), NULL, &p, err)
              : scda_particles_write (f, NULL, &p, err);
  f = reading ? scda_particles_read_field (f, NULL, -1, &p, &d, values, err) : scda_particles_write_field (f, NULL, &p, &d, values, err);
  scda_particles_free (&p);
  return f;
}

typedef scda_fcontext_t *(*way_t) (scda_fcontext_t *f, int reading, int *err);

/* Until the slowest rank is done. */
static double run (way_t way, const char *path, int reading) {
  int err = 0;
  double time;
  scda_fcontext_t *f;
  MPI_Barrier (MPI_COMM_WORLD);
  time = MPI_Wtime ();
  f = reading ? scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, &err) : scda_fopen_write (MPI_COMM_WORLD, path, "meshes", NULL, NULL, &err);
  f = way (f, reading, &err);
  require (f, err);
  scda_fclose (f, &err);
  time = MPI_Wtime () - time;
  MPI_Allreduce (MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return time;
}

static int by_size (const void *a, const void *b) {
  const double d = *(const double *) a - *(const double *) b;
  return d < 0 ? -1 : d > 0;
}

static void measure (const char *what, way_t mesh, const char *folder, int repetitions) {
  static double times[2][2][most];
  const way_t ways[] = { arrays, mesh };
  char path[2][4096];
  uint64_t bytes = elements * (row_bytes[0] + row_bytes[1]);
  int i, k, reading;
  MPI_Allreduce (MPI_IN_PLACE, &bytes, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  for (i = -1; i < repetitions; ++i) { /* the first one does not count */
    for (reading = 0; reading < 2; ++reading) {
      for (k = 0; k < 2; ++k) {
        const int way = (k + i + 1) % 2;
        snprintf (path[way], sizeof path[way], "%s/meshes-%d", folder, way);
        const double time = run (ways[way], path[way], reading);
        if (i >= 0) { times[reading][way][i] = time; }
      }
    }
    for (k = 0; k < 2; ++k) {
      if (rank == 0) { unlink (path[k]); }
    }
  }
  if (rank == 0) { printf ("| %d | %s | %.0f |", size, what, 1e-6 * (double) bytes); }
  for (reading = 0; reading < 2; ++reading) {
    for (k = 0; k < 2; ++k) { qsort (times[reading][k], (size_t) repetitions, sizeof (double), by_size); }
    const double *a = times[reading][0], *b = times[reading][1];
    const int middle = repetitions / 2;
    if (rank == 0) { printf (" %.1f | %.1f | %.2f | %.2f |", 1e3 * a[middle], 1e3 * b[middle], a[middle] / b[middle], a[0] / b[0]); }
  }
  if (rank == 0) { printf ("\n"), fflush (stdout); }
}

static void *room (uint64_t bytes) {
  void *data = malloc (bytes + 1);
  if (data == NULL) { MPI_Abort (MPI_COMM_WORLD, 1); }
  memset (data, 1, bytes);
  return data;
}

/* Memory for `n` elements: of the plain arrays, and of the field as the mesh has it. */
static void begin (uint64_t n, uint64_t of_mesh, uint64_t of_field, uint64_t value_bytes) {
  elements = n, row_bytes[0] = of_mesh, row_bytes[1] = of_field;
  free (plain[0]), free (plain[1]), free (values);
  plain[0] = (char *) room (n * of_mesh), plain[1] = (char *) room (n * of_field), values = (double *) room (value_bytes);
}

int main (int argc, char **argv) {
  const int repetitions = argc > 2 ? atoi (argv[2]) : 9;
  const uint64_t all = 1000 * (uint64_t) (argc > 3 ? atol (argv[3]) : 1000);
  uint64_t i;
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  sc_init (MPI_COMM_WORLD, 1, 1, NULL, SC_LP_ERROR);
  p4est_init (NULL, SC_LP_ERROR);
  if (argc < 2 || repetitions < 1 || repetitions > most) { MPI_Abort (MPI_COMM_WORLD, 2); }
  p4est_connectivity_t *c = p4est_connectivity_new_unitsquare ();
  for (finest = 1; ((uint64_t) 1 << 2 * finest) < all; ++finest) { }
  forest = p4est_new_ext (MPI_COMM_WORLD, c, 0, 0, 1, 0, NULL, NULL);
  for (i = 0; i < (uint64_t) finest; ++i) {
    p4est_refine (forest, 0, refine, NULL);
    p4est_partition (forest, 0, NULL);
  }
  begin ((uint64_t) forest->local_num_quadrants, 9, 40, (uint64_t) forest->local_num_quadrants * 40);
  measure ("forest", trees, argv[1], repetitions);
  p4est_destroy (forest);
  p4est_connectivity_destroy (c);

  number_of_patches = (size_t) (all / inside / (uint64_t) size + 1);
  begin (number_of_patches * inside, 0, 8, number_of_patches * around * 8);
  of_patch = (void **) room (number_of_patches * sizeof *of_patch);
  boxes = (int64_t *) room (number_of_patches * 48);
  levels = (int32_t *) calloc (number_of_patches, 4);
  for (i = 0; i < number_of_patches; ++i) {
    const int64_t box[] = { side * (int64_t) (number_of_patches * (size_t) rank + i), 0, 0, side, side, side };
    memcpy (boxes + 6 * i, box, sizeof box);
    of_patch[i] = values + around * i;
  }
  measure ("patches", patches, argv[1], repetitions);
  number_of_patches = 0;

  begin (all / (uint64_t) size / 8 * 8, 1, 24, all / (uint64_t) size * 24); /* offsets: 8 bytes for a cell of 8 */
  counts = (int64_t *) room (elements);
  for (i = 0; i < elements / 8; ++i) { counts[i] = 8; }
  measure ("particles", particles, argv[1], repetitions);
  sc_finalize ();
  MPI_Finalize ();
  return 0;
}
