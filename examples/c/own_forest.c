/* own_forest.c: a quadtree without p4est: mpirun -n 3 ./own_forest own.scda */
#include <math.h>
#include <scda_meshes.h>
#include <stdio.h>
#include <string.h>

enum { finest = 5, most = 1 << 2 * finest };

static int32_t xy[2 * most];
static uint8_t level[most];
static int64_t num_quadrants; /* every rank finds all of them, and writes some */

/* Adds the quadrants inside of one, in the order of the curve: x varies fastest. */
static void add (int32_t x, int32_t y, int l) {
  const int32_t half = (1 << 30 >> l) / 2; /* coordinates are in units of 2^-30 of the tree */
  const double from = hypot ((x + half) / 1073741824. - .3, (y + half) / 1073741824. - .4);
  if (l < finest && from < 1.2 / (1 << l)) {
    for (int child = 0; child < 4; ++child) { add (x + (child & 1) * half, y + (child >> 1) * half, l + 1); }
    return;
  }
  xy[2 * num_quadrants] = x;
  xy[2 * num_quadrants + 1] = y;
  level[num_quadrants++] = (uint8_t) l;
}

int main (int argc, char **argv) {
  /* The tree: its four faces are boundaries, and lead to themselves. */
  const int32_t tree_to_tree[4] = {0, 0, 0, 0}, tree_to_vertex[4] = {0, 1, 2, 3};
  const int8_t tree_to_face[4] = {0, 1, 2, 3};
  const double vertices[12] = {0, 0, 0, 2, 0, 0, 0, 1, 0, 2, 1, 0}; /* in m */
  static double height[4 * most];
  const char *const names[2] = {"quadrant", "corner"};
  int rank, size, err = 0;
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  add (0, 0, 0);

  /* Each rank writes its part of the quadrants. */
  const int64_t first = num_quadrants * rank / size, tree_offsets[2] = {0, num_quadrants};
  scda_forest_t m;
  scda_forest_init (&m, 2);
  m.trees = 1;
  m.quadrants = (uint64_t) num_quadrants;
  m.first = (uint64_t) first;
  m.n = (uint64_t) (num_quadrants * (rank + 1) / size - first);
  m.checksum = scda_forest_checksum (tree_offsets, 0, m.quadrants, level);
  m.tree_to_tree = tree_to_tree, m.tree_to_face = tree_to_face;
  m.num_vertices = 4, m.vertices = vertices, m.tree_to_vertex = tree_to_vertex;
  m.coordinates = xy + 2 * first, m.level = level + first, m.tree_offsets = tree_offsets;
  scda_fcontext_t *f = argc != 2 ? NULL : scda_fopen_write (MPI_COMM_WORLD, argv[1], "own_forest.c", NULL, NULL, &err);
  f = scda_forest_write_about (f, &err);
  f = scda_forest_write_group (f, NULL, 2, "{\"title\": \"a quadtree\"}", &err);
  f = scda_forest_write (f, NULL, &m, SCDA_FOREST_CONNECTIVITY | SCDA_FOREST_MESH_PARTS, &err);

  /* A field with values at the corners, with its units. */
  for (int64_t i = 0; i < 4 * num_quadrants; ++i) {
    const int32_t edge = 1 << 30 >> level[i / 4];
    const double x = xy[i / 4 * 2] + (i & 1) * (double) edge, y = xy[i / 4 * 2 + 1] + (i >> 1 & 1) * (double) edge;
    height[i] = sin (x / 1e8) * cos (y / 1e8);
  }
  scda_dataset_t d;
  scda_dataset_init (&d);
  strcpy (d.name, "height");
  d.type = SCDA_TYPE_FLOAT64;
  d.ndims = 2;
  d.shape[1] = 4;
  d.dimension_names = names;
  d.attributes = "{\"units\": \"m\"}";
  f = scda_forest_write_field (f, NULL, &m, &d, height + 4 * first, 0, &err);
  scda_fclose (f, &err);
  if (argc != 2 || err != 0) { fprintf (stderr, "%s\n", argc != 2 ? "own_forest FILE" : scda_last_error_message ()); }
  MPI_Finalize ();
  return argc != 2 || err != 0;
}
