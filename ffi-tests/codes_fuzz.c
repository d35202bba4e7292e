/* codes_fuzz.c: patches and particles in files that have been changed at random, with right checksums: codes_fuzz FOLDER COUNT [SEED]. Each is read,
 * or is the same error on all ranks. */
#include "common.h"

#include <scda_meshes.h>

#include "changed.h"

#include <stddef.h>

static MPI_Comm comm;
static int rank, size;

/* ---- Files that are right: two steps of patches on two levels, and of particles in them ---- */

typedef struct {
  double x[2];
  int32_t kind;
} atom_t;

static const scda_member_t members[] = { { "position", SCDA_TYPE_FLOAT64, 2, offsetof (atom_t, x), 0, NULL, NULL },
                                         { "kind", SCDA_TYPE_INT32, 1, offsetof (atom_t, kind), 0, NULL, NULL },
                                         { NULL, 0, 0, 0, 0, NULL, NULL } };

enum { patches = 3, most_cells = 64 };

static void write_good (const char *path) {
  static const int64_t boxes[4 * patches] = { 0, 0, 4, 3, 4, 0, 2, 3, 2, 2, 4, 2 }, domain[4] = { 0, 0, 6, 3 }, counts[patches] = { 2, 0, 3 };
  static const int32_t level[patches] = { 0, 0, 1 }, ratio[4] = { 1, 1, 2, 2 };
  static const double geometry[4] = { 0, 0, 1, 1 };
  double values[patches][most_cells];
  void *data[patches] = { values[0], values[1], values[2] };
  atom_t atoms[5];
  scda_patches_t mesh;
  scda_particles_t p;
  scda_patch_field_t rho;
  scda_dataset_t d, mass;
  double masses[5] = { 1, 2, 3, 4, 5 };
  int err, i, step;
  scda_fcontext_t *f = scda_fopen_write (MPI_COMM_SELF, path, "codes", NULL, NULL, &err);
  memset (atoms, 0, sizeof atoms);
  for (i = 0; i < patches * most_cells; ++i) { values[i / most_cells][i % most_cells] = i; }
  for (i = 0; i < 5; ++i) { atoms[i].x[0] = i, atoms[i].kind = i; }
  scda_patches_init (&mesh, 2);
  mesh.levels = 2, mesh.ratio = ratio, mesh.domain = domain, mesh.geometry = geometry, mesh.n = patches, mesh.level = level, mesh.boxes = boxes;
  scda_particles_init (&p);
  p.cells = patches, p.counts = counts, p.mesh = SCDA_PATCHES_GROUP;
  scda_patch_field_init (&rho, "rho", SCDA_TYPE_FLOAT64);
  rho.data = data;
  scda_dataset_init (&d);
  strcpy (d.name, "atoms");
  d.type = SCDA_TYPE_STRUCT, d.item_bytes = sizeof (atom_t), d.members = members;
  scda_dataset_init (&mass);
  strcpy (mass.name, "mass");
  mass.type = SCDA_TYPE_FLOAT64;
  for (step = 0; step < 2; ++step) {
    f = scda_forest_write_time (f, SCDA_PATCHES_GROUP, step, "s", NULL, &err);
    f = scda_forest_write_time (f, SCDA_PARTICLES_GROUP, step, "s", NULL, &err);
    f = scda_patches_write_mesh (f, NULL, &mesh, &err);
    f = scda_patches_write_fields (f, NULL, &mesh, 1, &rho, &err);
    f = scda_particles_write (f, NULL, &p, &err);
    f = scda_particles_write_field (f, NULL, &p, &d, atoms, &err);
    f = scda_particles_write_field (f, NULL, &p, &mass, masses, &err);
  }
  REQUIRE (scda_fclose (f, &err) == 0);
  scda_patches_free (&mesh);
  scda_particles_free (&p);
}

/* ---- Reading what may be wrong ---- */

static scda_fcontext_t *read_patches (scda_fcontext_t *f, int64_t step, int *err) {
  scda_patches_t mesh;
  scda_patch_field_t rho;
  void **data;
  uint64_t cells = 0, i;
  int a;
  scda_patches_init (&mesh, 2);
  scda_patch_field_init (&rho, "rho", SCDA_TYPE_FLOAT64);
  f = scda_patches_read_mesh (f, NULL, step, &mesh, err);
  data = (void **) calloc (mesh.n + 1, sizeof *data);
  for (i = 0; f != NULL && i < mesh.n; ++i) {
    uint64_t of_patch = 1;
    REQUIRE (mesh.level[i] >= 0 && mesh.level[i] < mesh.levels);
    for (a = 0; a < mesh.dimension; ++a) {
      const int64_t n = mesh.boxes[2 * mesh.dimension * (int64_t) i + mesh.dimension + a];
      REQUIRE (n > 0);
      of_patch *= (uint64_t) n;
    }
    cells += of_patch;
    data[i] = of_patch < 100000 ? malloc (of_patch * sizeof (double)) : NULL; /* a field as large is in no such file */
  }
  REQUIRE (cells <= mesh.cells);
  rho.data = data;
  f = scda_patches_read_fields (f, NULL, step, &mesh, 1, &rho, err);
  for (i = 0; i < mesh.n; ++i) { free (data[i]); }
  free (data);
  scda_patches_free (&mesh);
  return f;
}

static scda_fcontext_t *read_particles (scda_fcontext_t *f, int64_t step, int all, int *err) {
  const uint64_t numbers[patches] = { 2, 0, 1 };
  scda_particles_t p;
  scda_dataset_t d, mass;
  void *room;
  uint64_t i, sum = 0;
  scda_particles_init (&p);
  scda_dataset_init (&d);
  strcpy (d.name, "atoms");
  d.type = SCDA_TYPE_STRUCT, d.item_bytes = sizeof (atom_t), d.members = members;
  scda_dataset_init (&mass);
  strcpy (mass.name, "mass");
  mass.type = SCDA_TYPE_FLOAT64;
  f = scda_particles_read (f, NULL, step, all ? patches : -1, all ? numbers : NULL, &p, err);
  for (i = 0; f != NULL && p.counts != NULL && i < p.cells; ++i) {
    REQUIRE (p.counts[i] >= 0);
    sum += (uint64_t) p.counts[i];
  }
  REQUIRE (f == NULL || p.counts == NULL || sum == p.n);
  room = calloc (p.n < 100000 ? p.n + 1 : 1, sizeof (atom_t));
  f = scda_particles_read_field (f, NULL, step, &p, &d, p.n < 100000 ? room : NULL, err);
  f = scda_particles_read_field (f, NULL, step, &p, &mass, p.n < 100000 ? room : NULL, err);
  free (room);
  scda_particles_free (&p);
  return f;
}

/* Returns how many of the two could be read. */
static int read_all (const char *path, uint64_t seed) {
  int good = 0, k;
  for (k = 0; k < 2; ++k) {
    int err = 0, least, most, ignored;
    int64_t steps = 0;
    double time;
    const char *group = k == 0 ? SCDA_PATCHES_GROUP : SCDA_PARTICLES_GROUP;
    const int64_t step = (int64_t) (seed % 2) - 1;
    scda_fcontext_t *f = scda_fopen_read (comm, path, NULL, NULL, NULL, &err);
    f = scda_forest_steps (f, group, &steps, &err);
    if (f != NULL && steps > 1) { f = scda_forest_read_time (f, group, step, &time, &err); }
    f = k == 0 ? read_patches (f, step, &err) : read_particles (f, step, seed % 3 == 0, &err);
    MPI_Allreduce (&err, &least, 1, MPI_INT, MPI_MIN, comm);
    MPI_Allreduce (&err, &most, 1, MPI_INT, MPI_MAX, comm);
    if (least != most || (f == NULL) != (err != 0) || err == SCDA_ERR_INTERNAL || err == SCDA_ERR_MPI || (f == NULL && *scda_last_error_message () == '\0')) {
      fprintf (stderr, "seed %llu, rank %d: error %d, of %d to %d: %s\n", (unsigned long long) seed, rank, err, least, most, scda_last_error_message ());
      die ();
    }
    good += f != NULL;
    scda_fclose (f, &ignored);
  }
  return good;
}

int main (int argc, char **argv) {
  char path[1200];
  int i, count, good = 0, unwritten = 0;
  uint64_t first;
  file_t all;
  start (&argc, &argv);
  REQUIRE (argc == 3 || argc == 4);
  comm = world ().comm;
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  count = atoi (argv[2]);
  first = argc == 4 ? strtoull (argv[3], NULL, 10) : 1;
  snprintf (path, sizeof path, "%s/fuzzed-%d.scda", argv[1], size);
  if (rank == 0) { write_good (path); }
  barrier (world ());
  REQUIRE (read_all (path, 0) == 2 && read_all (path, 1) == 2);
  all = datasets_of (path, 0);
  for (i = 0; i < count; ++i) {
    const uint64_t seed = first + (uint64_t) i;
    int err = 0;
    barrier (world ());
    if (rank == 0) { err = write_changed (path, &all, seed); }
    MPI_Bcast (&err, 1, MPI_INT, 0, comm);
    if (err != 0) {
      ++unwritten;
      continue;
    }
    good += read_all (path, seed);
  }
  free_datasets (&all);
  if (rank == 0) {
    printf ("seeds %llu to %llu: %d changes cannot be written; of %d meshes and particles %d can be read\n", (unsigned long long) first,
            (unsigned long long) first + (uint64_t) count - 1, unwritten, 2 * (count - unwritten), good);
  }
  REQUIRE (count < 100 || (unwritten < count / 2 && good > count / 4 && good < 2 * (count - unwritten)));
  return finish ();
}
