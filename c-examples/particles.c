/* Particles as structs: written on any number of ranks, read on any other, in whole or some members of them.
 *
 *   mpirun -n 4 particles write particles.scda
 *   mpirun -n 3 particles read particles.scda
 */
#include <scda.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  double position[3];
  float mass;
  uint8_t is_alive;
  uint64_t id;
  char species[6];
} particle_t;

/* What the members are. In the file they follow one another without the gaps that they have here. */
static const scda_member_t members[] = {
  { "position", SCDA_TYPE_FLOAT64, 3, offsetof (particle_t, position), 0, NULL, NULL },
  { "mass", SCDA_TYPE_FLOAT32, 1, offsetof (particle_t, mass), 0, NULL, NULL },
  { "is_alive", SCDA_TYPE_BOOL, 1, offsetof (particle_t, is_alive), 0, NULL, NULL },
  { "id", SCDA_TYPE_UINT64, 1, offsetof (particle_t, id), 0, NULL, NULL },
  { "species", SCDA_TYPE_BYTES, 1, offsetof (particle_t, species), sizeof ((particle_t *) NULL)->species, NULL, NULL },
  { NULL, 0, 0, 0, 0, NULL, NULL },
};

/* Whoever needs only where the particles are reads these members, in single precision. */
typedef struct {
  uint64_t id;
  float position[3];
} point_t;

static const scda_member_t of_points[] = {
  { "position", SCDA_TYPE_FLOAT32, 3, offsetof (point_t, position), 0, NULL, NULL },
  { "id", SCDA_TYPE_UINT64, 1, offsetof (point_t, id), 0, NULL, NULL },
  { NULL, 0, 0, 0, 0, NULL, NULL },
};

static particle_t particle (uint64_t id) {
  particle_t p;
  memset (&p, 0, sizeof p);
  for (int k = 0; k < 3; ++k) { p.position[k] = 0.1 * (double) id + k; }
  p.mass = 1.5f + (float) id;
  p.is_alive = id % 5 != 0;
  p.id = id;
  strcpy (p.species, id % 2 ? "ion" : "e-");
  return p;
}

/* Rank r has 100 + r particles. */
static int write_particles (const char *path, int rank) {
  int err;
  uint64_t n = 100 + (uint64_t) rank, behind = 0, ranks = 0;
  particle_t *mine = malloc (n * sizeof *mine);
  scda_dataset_t d;
  scda_box_t box;
  scda_fcontext_t *f;
  if (mine == NULL) { MPI_Abort (MPI_COMM_WORLD, 1); }
  MPI_Scan (&n, &behind, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce (&n, &ranks, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  const uint64_t start = behind - n;
  for (uint64_t i = 0; i < n; ++i) { mine[i] = particle (start + i); }

  scda_dataset_init (&d);
  strcpy (d.name, "particles");
  d.type = SCDA_TYPE_STRUCT, d.item_bytes = sizeof (particle_t), d.members = members;
  d.ndims = 1, d.shape[0] = ranks, d.layout = SCDA_LAYOUT_CHUNKED;
  d.attributes = "{\"units\": {\"position\": \"m\", \"mass\": \"kg\"}}";
  scda_box_init (&box);
  box.data = mine, box.start = &start, box.count = &n;

  f = scda_fopen_write (MPI_COMM_WORLD, path, "particles.c", NULL, NULL, &err);
  f = scda_fwrite_datasets (f, 1, &d, NULL, &box, &err);
  scda_fclose (f, &err);
  free (mine);
  return err;
}

/* Each rank reads about as many, whole and as points. */
static int read_particles (const char *path, int rank, int size) {
  int err, found = 0;
  uint64_t wrong = 0;
  particle_t *mine;
  point_t *points;
  scda_dataset_t d;
  scda_box_t box;
  scda_fcontext_t *f = scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, &err);
  scda_dataset_init (&d);
  f = scda_ffind_dataset (f, "particles", 0, &found, &d, &err);
  if (f != NULL && !found) { fprintf (stderr, "there are no particles\n"), MPI_Abort (MPI_COMM_WORLD, 1); }
  const uint64_t all = f != NULL ? d.shape[0] : 0;
  const uint64_t start = all * (uint64_t) rank / (uint64_t) size, n = all * (uint64_t) (rank + 1) / (uint64_t) size - start;
  mine = calloc (n + 1, sizeof *mine), points = calloc (n + 1, sizeof *points);
  if (mine == NULL || points == NULL) { MPI_Abort (MPI_COMM_WORLD, 1); }

  scda_box_init (&box);
  box.start = &start, box.count = &n, box.type = SCDA_TYPE_STRUCT;
  box.data = mine, box.item_bytes = sizeof (particle_t), box.members = members;
  f = scda_fread_datasets (f, 1, NULL, NULL, NULL, &box, &err);
  box.data = points, box.item_bytes = sizeof (point_t), box.members = of_points;
  f = scda_fread_datasets (f, 1, NULL, NULL, NULL, &box, &err);
  scda_fclose (f, &err);
  for (uint64_t i = 0; err == 0 && i < n; ++i) {
    const particle_t p = particle (start + i);
    wrong += mine[i].id != p.id || memcmp (mine[i].position, p.position, sizeof p.position) != 0 || mine[i].mass < p.mass
             || mine[i].mass > p.mass || mine[i].is_alive != p.is_alive || strcmp (mine[i].species, p.species) != 0;
    const float z = (float) p.position[2];
    wrong += points[i].id != p.id || memcmp (&points[i].position[2], &z, sizeof z) != 0;
  }
  if (err == 0) { printf ("rank %d: %d particles, %d of them wrong\n", rank, (int) n, (int) wrong); }
  free (mine), free (points);
  return err != 0 || wrong != 0;
}

int main (int argc, char **argv) {
  int err, rank, size;
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  if (argc != 3 || (strcmp (argv[1], "write") != 0 && strcmp (argv[1], "read") != 0)) {
    if (rank == 0) { fprintf (stderr, "particles write|read FILE\n"); }
    MPI_Finalize ();
    return 2;
  }
  err = strcmp (argv[1], "write") == 0 ? write_particles (argv[2], rank) : read_particles (argv[2], rank, size);
  if (err != 0 && rank == 0) { fprintf (stderr, "particles: %s\n", scda_last_error_message ()); }
  MPI_Finalize ();
  return err != 0;
}
