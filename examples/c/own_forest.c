/* own_forest.c: a quadtree without p4est: mpirun -n 3 ./own_forest own.scda */
#include <math.h>
#include <scda_forest.h>

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

  /* How many rows each rank writes: of what all ranks know, the first one; of the quadrants, each its part. */
  uint64_t *trees = calloc ((size_t) size, sizeof *trees), *own = calloc ((size_t) size, sizeof *own);
  uint64_t *four = calloc ((size_t) size, sizeof *four), *two = calloc ((size_t) size, sizeof *two);
  trees[0] = 1, two[0] = 2, four[0] = 4;
  for (int q = 0; q < size; ++q) { own[q] = (uint64_t) (num_quadrants * (q + 1) / size - num_quadrants * q / size); }
  const int64_t first = num_quadrants * rank / size, tree_offsets[2] = {0, num_quadrants};

  scda_fcontext_t *f = argc != 2 ? NULL : scda_fopen_write (MPI_COMM_WORLD, argv[1], "own_forest.c", NULL, NULL, &err);
  f = scda_forest_write_about (f, &err);
  f = scda_forest_write_group (f, NULL, 2, "{\"title\": \"a quadtree\"}", &err);
  f = scda_fwrite_field_parts (f, "forest/tree_to_tree", SCDA_TYPE_INT32, tree_to_tree, trees, 4, SCDA_ENCODE_NONE, &err);
  f = scda_fwrite_field_parts (f, "forest/tree_to_face", SCDA_TYPE_INT8, tree_to_face, trees, 4, SCDA_ENCODE_NONE, &err);
  f = scda_fwrite_field_parts (f, "forest/vertices", SCDA_TYPE_FLOAT64, vertices, four, 3, SCDA_ENCODE_NONE, &err);
  f = scda_fwrite_field_parts (f, "forest/tree_to_vertex", SCDA_TYPE_INT32, tree_to_vertex, trees, 4, SCDA_ENCODE_NONE, &err);
  f = scda_fwrite_field_parts (f, "forest/coordinates", SCDA_TYPE_INT32, xy + 2 * first, own, 2, SCDA_ENCODE_NONE, &err);
  f = scda_fwrite_field_parts (f, "forest/level", SCDA_TYPE_UINT8, level + first, own, 1, SCDA_ENCODE_NONE, &err);
  f = scda_fwrite_field_parts (f, "forest/tree_offsets", SCDA_TYPE_INT64, tree_offsets, two, 1, SCDA_ENCODE_NONE, &err);

  /* A field with values at the corners, with its units. */
  for (int64_t i = 0; i < 4 * num_quadrants; ++i) {
    const int32_t edge = 1 << 30 >> level[i / 4];
    const double x = xy[i / 4 * 2] + (i & 1) * (double) edge, y = xy[i / 4 * 2 + 1] + (i >> 1 & 1) * (double) edge;
    height[i] = sin (x / 1e8) * cos (y / 1e8);
  }
  scda_dataset_t d;
  const uint64_t start[2] = {(uint64_t) first, 0}, count[2] = {own[rank], 4};
  scda_dataset_init (&d);
  strcpy (d.name, "forest/fields/height");
  d.type = SCDA_TYPE_FLOAT64;
  d.ndims = 2;
  d.shape[0] = (uint64_t) num_quadrants, d.shape[1] = 4;
  d.dimension_names = names;
  d.attributes = "{\"units\": \"m\"}";
  f = scda_fwrite_dataset (f, &d, height + 4 * first, 1, start, count, &err);
  scda_fclose (f, &err);
  if (argc != 2 || err != 0) { fprintf (stderr, "%s\n", argc != 2 ? "own_forest FILE" : scda_last_error_message ()); }
  free (trees), free (own), free (four), free (two);
  MPI_Finalize ();
  return argc != 2 || err != 0;
}
