/* patches.c: a block-structured mesh with ghost cells, whose patches follow a pulse; any number of processes writes it, and any
 * other number goes on from it.
 *
 *   mpirun -n 4 patches write pulse.scda
 *   mpirun -n 3 patches restart pulse.scda
 *   ln -s pulse.scda pulse.vtkhdf        (for ParaView)
 */
#include <scda_bind.h>
#include <scda_meshes.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { cells = 16, ghost = 2, width = cells + 2 * ghost, blocks = 4, most = 5 * blocks * blocks };

/* A patch in memory: two variables of each cell side by side, with ghost cells around them. */
typedef struct {
  double u[width][width][2];
} patch_t;

static const int32_t ratio[] = { 1, 1, 2, 2 };
static const int64_t domain[] = { 0, 0, blocks * cells, blocks * cells };
static const double geometry[] = { 0., 0., 1. / (blocks * cells), 1. / (blocks * cells) };

/* What the code computes: a pulse that moves around the middle. */
static double pulse (double x, double y, double time) {
  const double a = x - 0.5 - 0.25 * cos (time), b = y - 0.5 - 0.25 * sin (time);
  return exp (-100. * (a * a + b * b));
}

/* The patches of the whole mesh: blocks of level 0, and four finer ones where the pulse is. All processes know them. */
static int make_mesh (double time, int32_t *level, int64_t *boxes) {
  int n = 0, b, c;
  for (b = 0; b < blocks * blocks; ++b, ++n) {
    const int64_t box[] = { cells * (b % blocks), cells * (b / blocks), cells, cells };
    level[n] = 0;
    memcpy (boxes + 4 * n, box, sizeof box);
  }
  for (b = 0; b < blocks * blocks; ++b) {
    if (pulse ((b % blocks + 0.5) / blocks, (b / blocks + 0.5) / blocks, time) < 0.001) { continue; }
    for (c = 0; c < 4; ++c, ++n) {
      const int64_t box[] = { cells * (2 * (b % blocks) + c % 2), cells * (2 * (b / blocks) + c / 2), cells, cells };
      level[n] = 1;
      memcpy (boxes + 4 * n, box, sizeof box);
    }
  }
  return n;
}

/* The value of a cell of a patch. */
static double value (const int64_t *box, int32_t level, int i, int j, double time) {
  const double size = geometry[2] / (level == 0 ? 1 : ratio[2]);
  return pulse (((double) (box[0] + i) + 0.5) * size, ((double) (box[1] + j) + 0.5) * size, time);
}

/* The fields, as they lie in the patches. */
static void describe (scda_patch_field_t *fields, void **data, patch_t *patches) {
  int i;
  scda_patch_field_init (&fields[0], "height", SCDA_TYPE_FLOAT64);
  scda_patch_field_init (&fields[1], "square", SCDA_TYPE_FLOAT64);
  fields[0].dataset.attributes = "{\"units\": \"m\"}";
  for (i = 0; i < 2; ++i) {
    data[i] = &patches->u[0][0][i];
    fields[i].data = data + i;
    fields[i].ghost = ghost;
    fields[i].cell_bytes = sizeof patches->u[0][0];
    fields[i].patch_bytes = sizeof *patches;
  }
}

static int write_series (const char *path, MPI_Comm comm) {
  static patch_t patches[most];
  void *data[2];
  int32_t all_level[most], level[most];
  int64_t all_boxes[4 * most], boxes[4 * most];
  uint64_t number[most];
  scda_patch_field_t fields[2];
  int rank, size, step, p, i, j, err;
  scda_fcontext_t *f = scda_fopen_write (comm, path, "a pulse", NULL, NULL, &err);
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  for (step = 0; step < 5; ++step) {
    const double time = 0.3 * step;
    const int n = make_mesh (time, all_level, all_boxes);
    scda_patches_t mesh;
    scda_patches_init (&mesh, 2);
    mesh.levels = 2;
    mesh.ratio = ratio;
    mesh.domain = domain;
    mesh.geometry = geometry;
    for (p = rank; p < n; p += size, ++mesh.n) { /* dealt to the processes in turn */
      number[mesh.n] = (uint64_t) p;
      level[mesh.n] = all_level[p];
      memcpy (boxes + 4 * mesh.n, all_boxes + 4 * p, 4 * sizeof *boxes);
      for (j = 0; j < cells; ++j) {
        for (i = 0; i < cells; ++i) {
          double *u = patches[mesh.n].u[j + ghost][i + ghost];
          u[0] = value (boxes + 4 * mesh.n, level[mesh.n], i, j, time);
          u[1] = u[0] * u[0];
        }
      }
    }
    mesh.level = level;
    mesh.boxes = boxes;
    mesh.number = number;
    describe (fields, data, patches);
    f = scda_forest_write_time (f, SCDA_PATCHES_GROUP, time, "s", NULL, &err);
    f = scda_patches_write_mesh (f, NULL, &mesh, &err);
    f = scda_patches_write_fields (f, NULL, &mesh, 2, fields, &err);
    scda_patches_free (&mesh);
  }
  scda_fclose (f, &err);
  return err;
}

static int restart (const char *path, MPI_Comm comm) {
  static patch_t patches[most];
  void *data[2];
  scda_patch_field_t fields[2];
  scda_patches_t mesh;
  double time = 0;
  long wrong = 0;
  size_t p;
  int rank, i, j, err;
  scda_fcontext_t *f = scda_fopen_read (comm, path, NULL, NULL, NULL, &err);
  MPI_Comm_rank (comm, &rank);
  scda_patches_init (&mesh, 2);
  f = scda_forest_read_time (f, SCDA_PATCHES_GROUP, -1, &time, &err);
  f = scda_patches_read_mesh (f, NULL, -1, &mesh, &err);
  if (f != NULL && mesh.patches > most) { f = scda_refuse (f, "more patches than this program has room for", &err); }
  describe (fields, data, patches);
  f = scda_patches_read_fields (f, NULL, -1, &mesh, 2, fields, &err);
  scda_fclose (f, &err);
  for (p = 0; err == 0 && p < mesh.n; ++p) {
    for (j = 0; j < cells; ++j) {
      for (i = 0; i < cells; ++i) {
        const double *u = patches[p].u[j + ghost][i + ghost], expected = value (mesh.boxes + 4 * p, mesh.level[p], i, j, time);
        wrong += u[0] != expected || u[1] != expected * expected;
      }
    }
  }
  MPI_Allreduce (MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, comm);
  if (err == 0 && rank == 0) {
    printf ("time %g s: %llu patches, %llu cells, %ld of them wrong\n", time, (unsigned long long) mesh.patches,
            (unsigned long long) mesh.cells, wrong);
  }
  scda_patches_free (&mesh);
  return err != 0 || wrong != 0;
}

int main (int argc, char **argv) {
  int failed = 1, rank;
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  if (argc == 3 && strcmp (argv[1], "write") == 0) { failed = write_series (argv[2], MPI_COMM_WORLD); }
  else if (argc == 3 && strcmp (argv[1], "restart") == 0) { failed = restart (argv[2], MPI_COMM_WORLD); }
  else if (rank == 0) { fprintf (stderr, "usage: %s write|restart FILE\n", argv[0]); }
  if (failed && rank == 0) { fprintf (stderr, "%s\n", scda_last_error_message ()); }
  MPI_Finalize ();
  return failed != 0;
}
