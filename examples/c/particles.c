/* Particles as structs, in the cells of a grid: two time steps, written on any number of ranks, and read on any other, in whole or some
 * members of them.
 *
 *   mpirun -n 4 particles write particles.scda
 *   mpirun -n 3 particles read particles.scda
 *   ln -s particles.scda particles.vtkhdf        (for ParaView)
 */
#include <scda_meshes.h>

#include <stddef.h>
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

enum { grid = 4, cells = grid * grid * grid, steps = 2 };

/* Cell c has c % 7 particles, and in each step one more. */
static int64_t count (int64_t cell, int step) { return cell % 7 + step; }

/* Particle i of cell c. */
static particle_t particle (int64_t cell, int64_t i, int step) {
  particle_t p;
  memset (&p, 0, sizeof p);
  const int64_t corner[] = { cell % grid, cell / grid % grid, cell / grid / grid };
  for (int k = 0; k < 3; ++k) { p.position[k] = (double) corner[k] + (double) (i + 1) / (double) (k + 8); }
  p.mass = 1.5f + (float) i;
  p.is_alive = i % 5 != 0;
  p.id = (uint64_t) (1000 * cell + 100 * step + i);
  strcpy (p.species, i % 2 ? "ion" : "e-");
  return p;
}

/* The particles of some cells, one after the other. */
static particle_t *make (int64_t first_cell, int64_t n, int step, int64_t *counts) {
  int64_t all = 0, next = 0;
  for (int64_t c = 0; c < n; ++c) { all += counts[c] = count (first_cell + c, step); }
  particle_t *made = malloc ((size_t) (all + 1) * sizeof *made);
  if (made == NULL) { MPI_Abort (MPI_COMM_WORLD, 1); }
  for (int64_t c = 0; c < n; ++c) {
    for (int64_t i = 0; i < counts[c]; ++i) { made[next++] = particle (first_cell + c, i, step); }
  }
  return made;
}

/* What a struct in memory is. */
static scda_dataset_t field_of (size_t bytes, const scda_member_t *of) {
  scda_dataset_t d;
  scda_dataset_init (&d);
  strcpy (d.name, "atoms");
  d.type = SCDA_TYPE_STRUCT, d.item_bytes = bytes, d.members = of;
  return d;
}

/* Each rank has about as many cells. */
static int write_particles (const char *path, int rank, int size) {
  int err;
  const int64_t first = (int64_t) cells * rank / size, n = (int64_t) cells * (rank + 1) / size - first;
  scda_fcontext_t *f = scda_fopen_write (MPI_COMM_WORLD, path, "particles.c", NULL, NULL, &err);
  for (int step = 0; step < steps; ++step) {
    int64_t counts[cells];
    particle_t *mine = make (first, n, step, counts);
    scda_dataset_t d = field_of (sizeof *mine, members);
    d.encode = SCDA_ENCODE_ALWAYS;
    d.attributes = "{\"units\": {\"position\": \"m\", \"mass\": \"kg\"}}";
    scda_particles_t p;
    scda_particles_init (&p);
    p.cells = (uint64_t) n, p.counts = counts;
    f = scda_forest_write_time (f, SCDA_PARTICLES_GROUP, 0.5 * step, "s", NULL, &err);
    f = scda_particles_write (f, NULL, &p, &err);
    f = scda_particles_write_field (f, NULL, &p, &d, mine, &err);
    scda_particles_free (&p);
    free (mine);
  }
  scda_fclose (f, &err);
  return err;
}

/* Each rank reads cells with about as many particles, whole and as points. */
static int read_particles (const char *path, int rank) {
  int err;
  uint64_t wrong = 0, n = 0;
  scda_fcontext_t *f = scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, &err);
  for (int step = 0; step < steps; ++step) {
    int64_t counts[cells];
    scda_particles_t p;
    scda_particles_init (&p);
    f = scda_particles_read (f, NULL, step, -1, NULL, &p, &err);
    n = f == NULL ? 0 : p.n;
    particle_t *mine = calloc (n + 1, sizeof *mine);
    point_t *points = calloc (n + 1, sizeof *points);
    if (mine == NULL || points == NULL) { MPI_Abort (MPI_COMM_WORLD, 1); }
    const scda_dataset_t whole = field_of (sizeof *mine, members), some = field_of (sizeof *points, of_points);
    f = scda_particles_read_field (f, NULL, step, &p, &whole, mine, &err);
    f = scda_particles_read_field (f, NULL, step, &p, &some, points, &err);
    particle_t *expected = make ((int64_t) p.first_cell, (int64_t) p.cells, step, counts);
    for (uint64_t i = 0; f != NULL && i < n; ++i) {
      const particle_t *x = expected + i;
      const float z = (float) x->position[2];
      wrong += mine[i].id != x->id || memcmp (mine[i].position, x->position, sizeof x->position) != 0 || mine[i].mass < x->mass
               || mine[i].mass > x->mass || mine[i].is_alive != x->is_alive || strcmp (mine[i].species, x->species) != 0;
      wrong += points[i].id != x->id || memcmp (&points[i].position[2], &z, sizeof z) != 0;
    }
    free (expected);
    scda_particles_free (&p);
    free (mine), free (points);
  }
  scda_fclose (f, &err);
  if (err == 0) { printf ("rank %d: %d particles, %d of them wrong\n", rank, (int) n, (int) wrong); }
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
  err = strcmp (argv[1], "write") == 0 ? write_particles (argv[2], rank, size) : read_particles (argv[2], rank);
  if (err != 0 && rank == 0) { fprintf (stderr, "particles: %s\n", scda_last_error_message ()); }
  MPI_Finalize ();
  return err != 0;
}
