/* Forests that cannot be loaded: the right error, on all ranks; and some at the limits, which can. In 2D; with -DFOREST_3D in 3D.
 *
 *   forest_errors FOLDER */
#include "forest.h"

#include <time.h>

/* The error with which the forest of a file is loaded. */
static int error_of (const char *path, int load_data) {
  int err = 0, least, most;
  p4est_connectivity_t *c = NULL;
  p4est_t *p = NULL;
  scda_fcontext_t *f = scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, &err);
  REQUIRE (f != NULL);
  f = scda_p4est_read_forest (f, NULL, -1, MPI_COMM_WORLD, sizeof (data_t), load_data, NULL, NULL, NULL, &c, &p, &err);
  MPI_Allreduce (&err, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce (&err, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  REQUIRE (least == most && (f == NULL) == (err != 0) && (p == NULL) == (f == NULL) && (c == NULL) == (f == NULL));
  if (f != NULL) {
    REQUIRE (scda_fclose (f, &least) == 0);
    REQUIRE (p4est_is_valid (p) && p4est_connectivity_is_valid (c));
    destroy (p);
  }
  MPI_Barrier (MPI_COMM_WORLD); /* the next file may take its place */
  return err;
}

/* The datasets of a forest of the unit square. */
static file_t unit_square (const char *path, int level) {
  p4est_t *p = forest_of (MPI_COMM_WORLD, connectivity_of (1), level, level, sizeof (data_t));
  REQUIRE (scda_p4est_save (path, p, 1) == 0);
  destroy (p);
  return datasets_of (path, 1);
}

static part_t *part_of (file_t *all, const char *name) {
  for (int k = 0; k < all->count; ++k) {
    if (strcmp (strrchr (all->parts[k].name, '/') + 1, name) == 0) { return &all->parts[k]; }
  }
  REQUIRE (!"a dataset of this name");
  return NULL;
}

static int number_of (const file_t *all, const part_t *part) { return (int) (part - all->parts); }

/* Gives a dataset other rows, which are zero. */
static part_t *resized (file_t *all, const char *name, uint64_t rows) {
  part_t *part = part_of (all, name);
  free (part->data);
  part->rows = rows;
  part->data = calloc (rows * part->columns + 1, part->item_bytes);
  return part;
}

static part_t *added (file_t *all, const char *name, int type, uint64_t item_bytes, uint64_t rows, uint64_t columns) {
  part_t *part = &all->parts[all->count++];
  memset (part, 0, sizeof *part);
  snprintf (part->name, sizeof part->name, "forest/%s", name);
  strcpy (part->attributes, "{}");
  part->type = type;
  part->ndims = columns == 0 ? 1 : 2;
  part->item_bytes = item_bytes;
  part->columns = part->shape[1] = columns == 0 ? 1 : columns;
  return resized (all, name, rows);
}

/* ---- What this p4est, this machine and this version do not have ---- */

/* The quadrant at the origin is refined down to a level. */
static void chain (file_t *all, int finest) {
  const int siblings = 1 << dimension;
  const uint64_t n = 1 + (uint64_t) finest * (uint64_t) (siblings - 1);
  int32_t *xyz = (int32_t *) resized (all, "coordinates", n)->data;
  uint8_t *levels = (uint8_t *) resized (all, "level", n)->data;
  int64_t *offsets = (int64_t *) part_of (all, "tree_offsets")->data;
  uint64_t i = 0;
  resized (all, "data", n);
  offsets[1] = (int64_t) n;
  for (int level = finest; level >= 0; --level) {
    for (int child = level == finest ? 0 : 1; child < (level == 0 ? 1 : siblings); ++child, ++i) {
      for (int a = 0; a < dimension; ++a) { xyz[dimension * (int) i + a] = child >> a & 1 ? 1 << (30 - level) : 0; }
      levels[i] = (uint8_t) level;
    }
  }
  REQUIRE (i == n);
}

static void levels (const char *path) {
  file_t all = unit_square (path, 1);
  const int finests[] = {0, 1, P4EST_QMAXLEVEL, P4EST_QMAXLEVEL + 1, 30};
  for (int k = 0; k < 5; ++k) {
    const int finest = finests[k];
    chain (&all, finest);
    damaged_file (path, &all, -1, -1, 0, -1);
    REQUIRE (error_of (path, 1) == (finest <= P4EST_QMAXLEVEL ? SCDA_SUCCESS : SCDA_ERR_UNSUPPORTED));
    REQUIRE (finest <= P4EST_QMAXLEVEL || strstr (scda_last_error_message (), ", the finest of this program") != NULL);
  }
  chain (&all, 2);
  part_of (&all, "level")->data[0] = 31;
  damaged_file (path, &all, -1, -1, 0, -1);
  REQUIRE (error_of (path, 1) == SCDA_ERR_FORMAT);
  free_datasets (&all);
}

/* What the rank before reads is wrong: this rank begins after it. */
static void level_of_the_rank_before (const char *path) {
  file_t all = unit_square (path, 2);
  part_t *level = part_of (&all, "level");
  int size;
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  level->data[level->rows / (uint64_t) size - 1] = (char) 200;
  damaged_file (path, &all, -1, -1, 0, -1);
  REQUIRE (error_of (path, 1) == SCDA_ERR_FORMAT && strstr (scda_last_error_message (), "found level 200") != NULL);
  free_datasets (&all);
}

static void byte_order (const char *path) {
  file_t all = unit_square (path, 1);
  part_t *data = part_of (&all, "data");
  const int was_little = strstr (data->attributes, "little") != NULL;
  REQUIRE (was_little || strstr (data->attributes, "big") != NULL);
  REQUIRE (error_of (path, 1) == SCDA_SUCCESS);
  strcpy (data->attributes, was_little ? "{\"byte_order\": \"big\"}" : "{\"byte_order\": \"little\"}");
  damaged_file (path, &all, -1, -1, 0, -1);
  REQUIRE (error_of (path, 1) == SCDA_ERR_UNSUPPORTED && strstr (scda_last_error_message (), "byte order") != NULL);
  REQUIRE (error_of (path, 0) == SCDA_SUCCESS);
  free_datasets (&all);
}

static void versions (const char *path) {
  static const char *const later[] = {"2", "10", "11", "999999999999999999999"}, *const wrong[] = {"-1", "1.5", "\"1\"", "[1]", "null"};
  char attributes[128];
  for (int k = 0; k < 9; ++k) {
    int err;
    snprintf (attributes, sizeof attributes, "{\"dimension\": %d, \"scda_forest\": %s}", dimension, k < 4 ? later[k] : wrong[k - 4]);
    MPI_Barrier (MPI_COMM_WORLD);
    scda_fcontext_t *f = scda_fopen_write (MPI_COMM_WORLD, path, "a version", NULL, NULL, &err);
    f = scda_fwrite_group (f, "forest", attributes, &err);
    REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
    REQUIRE (error_of (path, 0) == (k < 4 ? SCDA_ERR_UNSUPPORTED : SCDA_ERR_FORMAT));
  }
}

/* ---- Sizes that a file claims ---- */

/* Items of which the file says the size are not read into memory of which the program knows the size. */
static void bytes_as_fields (const char *path) {
  p4est_t *p = forest_of (MPI_COMM_WORLD, connectivity_of (1), 1, 2, 0);
  const size_t n = (size_t) p->local_num_quadrants;
  char *bytes = malloc (64 * n + 1);
  int64_t *counts = malloc (n * sizeof *counts + 1);
  scda_dataset_t d;
  int err, found;
  for (size_t i = 0; i < n; ++i) { counts[i] = 1; }
  memset (bytes, 'q', 64 * n);
  scda_dataset_init (&d);
  d.type = SCDA_TYPE_RAW;
  d.item_bytes = 64;
  scda_fcontext_t *f = scda_fopen_write (MPI_COMM_WORLD, path, "bytes", NULL, NULL, &err);
  f = scda_forest_write_group (f, NULL, dimension, NULL, &err);
  f = scda_p4est_write_forest (f, NULL, p, 0, &err);
  strcpy (d.name, "fixed");
  f = scda_p4est_write_field (f, NULL, p, &d, bytes, &err);
  strcpy (d.name, "ragged");
  f = scda_p4est_write_ragged (f, NULL, p, &d, counts, bytes, &err);
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
  for (int ragged = 0; ragged < 2; ++ragged) {
    f = scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, &err);
    f = ragged ? scda_p4est_read_ragged (f, NULL, 0, p, "ragged", SCDA_TYPE_RAW, 1, counts, bytes, &err)
               : scda_p4est_read_field (f, NULL, 0, p, "fixed", SCDA_TYPE_RAW, 1, bytes, &err);
    REQUIRE (f == NULL && err == SCDA_ERR_FORMAT && strstr (scda_last_error_message (), "64 bytes in each row; expected 1") != NULL);
    /* With the number of bytes that the program has room for, they are. */
    memset (bytes, 0, 64 * n);
    f = scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, &err);
    f = ragged ? scda_p4est_read_ragged (f, NULL, 0, p, "ragged", SCDA_TYPE_RAW, 64, counts, bytes, &err)
               : scda_p4est_read_field (f, NULL, 0, p, "fixed", SCDA_TYPE_RAW, 64, bytes, &err);
    REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
    for (size_t i = 0; i < 64 * n; ++i) { REQUIRE (bytes[i] == 'q'); }
  }
  /* They are found, and then read by who has compared the size. */
  const uint64_t start = (uint64_t) p->global_first_quadrant[p->mpirank], count = n;
  memset (bytes, 0, 64 * n);
  f = scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, &err);
  f = scda_p4est_find_field (f, NULL, 0, "fixed", &found, &d, &err);
  REQUIRE (f != NULL && found && d.type == SCDA_TYPE_RAW && d.item_bytes == 64);
  f = scda_fread_dataset (f, &d, bytes, n > 0, &start, &count, &err);
  for (size_t i = 0; i < 64 * n; ++i) { REQUIRE (bytes[i] == 'q'); }
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
  free (bytes), free (counts);
  destroy (p);
}

/* p4est counts the faces, edges and corners of all trees in 32 bits. */
static void many_trees (const char *path) {
  file_t all = unit_square (path, 0);
  const int offsets = number_of (&all, part_of (&all, "tree_offsets"));
  damaged_file (path, &all, -1, offsets, INT32_MAX / (dimension == 3 ? 12 : 4) + 2, -1);
  REQUIRE (error_of (path, 0) == SCDA_ERR_RANGE);
  free_datasets (&all);
}

/* Bytes of each tree, which no number of the file bounds but their own size. */
static void bytes_of_trees (const char *path) {
#ifdef FOREST_3D
  p4est_connectivity_t *c = p8est_connectivity_new_brick (17, 17, 15, 0, 0, 0);
#else
  p4est_connectivity_t *c = p4est_connectivity_new_brick (65, 65, 0, 0);
#endif
  p4est_t *p = forest_of (MPI_COMM_WORLD, c, 0, 0, sizeof (data_t));
  const uint64_t trees = (uint64_t) c->num_trees;
  p4est_connectivity_set_attr (c, 4096);
  memset (c->tree_to_attr, 'x', 4096);
  REQUIRE (scda_p4est_save (path, p, 1) == 0);
  c->tree_attr_bytes = 65536; /* it is looked at before the bytes are; the file that was saved stays */
  REQUIRE (scda_p4est_save (path, p, 1) == SCDA_ERR_RANGE && strstr (scda_last_error_message (), "65536 bytes") != NULL);
  c->tree_attr_bytes = 4096;
  destroy (p);
  REQUIRE (error_of (path, 1) == SCDA_SUCCESS);
  file_t all = datasets_of (path, 1);
  part_t *attributes = part_of (&all, "tree_attributes");
  attributes->item_bytes = 65536;
  resized (&all, "tree_attributes", 1);
  damaged_file (path, &all, -1, number_of (&all, attributes), trees, -1);
  REQUIRE (error_of (path, 1) == SCDA_ERR_FORMAT && strstr (scda_last_error_message (), "tree_attributes") != NULL);
  free_datasets (&all);
}

/* A field is written whole: rows would be added to that of the step before. */
static void extended_field (const char *path) {
  p4est_t *p = forest_of (MPI_COMM_WORLD, connectivity_of (1), 1, 2, 0);
  const size_t n = (size_t) p->local_num_quadrants;
  unsigned char *bytes = calloc (n + 1, 1);
  int64_t *counts = calloc (n + 1, sizeof *counts);
  scda_dataset_t d;
  int err;
  scda_dataset_init (&d);
  strcpy (d.name, "u");
  d.type = SCDA_TYPE_UINT8;
  d.extends = 1;
  for (int ragged = 0; ragged < 2; ++ragged) {
    scda_fcontext_t *f = scda_fopen_write (MPI_COMM_WORLD, path, "extended", NULL, NULL, &err);
    f = scda_p4est_write_forest (f, NULL, p, 0, &err);
    f = ragged ? scda_p4est_write_ragged (f, NULL, p, &d, counts, bytes, &err) : scda_p4est_write_field (f, NULL, p, &d, bytes, &err);
    REQUIRE (f == NULL && err == SCDA_ERR_ARG && strstr (scda_last_error_message (), "found extends = 1, expected 0") != NULL);
  }
  free (bytes), free (counts);
  destroy (p);
}

/* ---- Connectivities ---- */

/* The time to load grows with the trees, not with their square: trees of which all corners are said to be the same one. */
static void many_corners (const char *path) {
  enum { trees = 60000, corners = 1 << dimension, faces = 2 * dimension };
  file_t all = unit_square (path, 0);
  int32_t *to_tree = (int32_t *) resized (&all, "tree_to_tree", trees)->data;
  int8_t *to_face = (int8_t *) resized (&all, "tree_to_face", trees)->data;
  int32_t *to_vertex = (int32_t *) resized (&all, "tree_to_vertex", trees)->data;
  int64_t *offsets = (int64_t *) resized (&all, "tree_offsets", trees + 1)->data;
  int32_t *last = NULL, *owner = NULL;
  char *corner = NULL;
  resized (&all, "coordinates", trees), resized (&all, "level", trees), resized (&all, "data", trees);
  added (&all, "tree_to_corner", SCDA_TYPE_INT32, 4, trees, corners);
  last = (int32_t *) added (&all, "corner_offsets", SCDA_TYPE_INT32, 4, 2, 0)->data;
  owner = (int32_t *) added (&all, "corner_to_tree", SCDA_TYPE_INT32, 4, trees * corners, 0)->data;
  corner = added (&all, "corner_to_corner", SCDA_TYPE_INT8, 1, trees * corners, 0)->data;
  last[1] = trees * corners;
  for (int t = 0; t < trees; ++t) {
    offsets[t + 1] = t + 1;
    for (int k = 0; k < faces; ++k) { to_tree[faces * t + k] = t, to_face[faces * t + k] = (int8_t) k; }
    for (int k = 0; k < corners; ++k) { to_vertex[corners * t + k] = k, owner[corners * t + k] = t, corner[corners * t + k] = (char) k; }
  }
  damaged_file (path, &all, -1, -1, 0, -1);
  const clock_t began = clock ();
  p4est_connectivity_t *c = NULL;
  p4est_t *p = scda_p4est_load (path, MPI_COMM_WORLD, 0, 0, 1, NULL, &c);
  const double seconds = (double) (clock () - began) / CLOCKS_PER_SEC; /* of the processor: other programs do not take from it */
  if (world_rank == 0) { printf ("%d trees with one corner are loaded in %.2f s\n", (int) trees, seconds); }
  REQUIRE (p != NULL && c->num_trees == trees && seconds < 20);
  destroy (p);
  free_datasets (&all);
}

/* Two trees side by side, of which one says that one of its corners has a number: the other does not. p4est works with it all the same. */
static void lonely_corner (const char *path) {
  file_t all = unit_square (path, 0);
  int32_t *to_tree = (int32_t *) resized (&all, "tree_to_tree", 2)->data;
  int8_t *to_face = (int8_t *) resized (&all, "tree_to_face", 2)->data;
  int64_t *offsets = (int64_t *) resized (&all, "tree_offsets", 3)->data;
  resized (&all, "tree_to_vertex", 2), resized (&all, "coordinates", 2), resized (&all, "level", 2), resized (&all, "data", 2);
  offsets[1] = 1, offsets[2] = 2;
  for (int t = 0; t < 2; ++t) {
    for (int k = 0; k < 2 * dimension; ++k) { to_tree[2 * dimension * t + k] = t, to_face[2 * dimension * t + k] = (int8_t) k; }
  }
  to_tree[1] = 1, to_face[1] = 0;
  to_tree[2 * dimension] = 0, to_face[2 * dimension] = 1;
  int32_t *numbers = (int32_t *) added (&all, "tree_to_corner", SCDA_TYPE_INT32, 4, 2, 1 << dimension)->data;
  for (int k = 0; k < 2 << dimension; ++k) { numbers[k] = k == 1 ? 0 : -1; }
  ((int32_t *) added (&all, "corner_offsets", SCDA_TYPE_INT32, 4, 2, 0)->data)[1] = 1;
  added (&all, "corner_to_tree", SCDA_TYPE_INT32, 4, 1, 0);
  added (&all, "corner_to_corner", SCDA_TYPE_INT8, 1, 1, 0)->data[0] = 1;
  damaged_file (path, &all, -1, -1, 0, -1);
  REQUIRE (try_to_load (path, 0, 0));
  free_datasets (&all);
}

#ifdef FOREST_3D
/* A tree whose faces are joined so that an edge meets itself in the other direction: it stands twice under its number. */
static void edge_that_meets_itself (const char *path) {
  static const p4est_topidx_t numbers[12] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, -1, -1, -1}, zeros[2] = {0, 0}, offsets[2] = {0, 2};
  static const int8_t faces[6] = {14, 1, 12, 3, 4, 5}, codes[2] = {8, 20};
  p8est_connectivity_t *cube = p8est_connectivity_new_unitcube (), *read;
  p8est_connectivity_t *c = p8est_connectivity_new_copy (cube->num_vertices, 1, 1, 0, cube->vertices, cube->tree_to_vertex, cube->tree_to_tree,
                                                         faces, numbers, offsets, zeros, codes, NULL, zeros, NULL, NULL);
  p8est_connectivity_destroy (cube);
  REQUIRE (p8est_connectivity_is_valid (c));
  p4est_t *p = forest_of (MPI_COMM_WORLD, c, 1, 2, 0), *q;
  REQUIRE (scda_p4est_save (path, p, 1) == 0);
  q = scda_p4est_load (path, MPI_COMM_WORLD, 0, 0, 1, NULL, &read);
  REQUIRE (q != NULL && p4est_is_valid (q) && p8est_connectivity_is_equal (c, read) && checksum_of (q) == checksum_of (p));
  destroy (p);
  destroy (q);
}
#endif

int main (int argc, char **argv) {
  char path[512];
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &world_rank);
  sc_init (MPI_COMM_WORLD, 1, 1, NULL, SC_LP_ERROR);
  p4est_init (NULL, SC_LP_ERROR);
  if (argc != 2) { MPI_Abort (MPI_COMM_WORLD, 2); }
  snprintf (path, sizeof path, "%s/%dd-errors.scda", argv[1], dimension);
  levels (path);
  level_of_the_rank_before (path);
  byte_order (path);
  versions (path);
  bytes_as_fields (path);
  extended_field (path);
  many_trees (path);
  bytes_of_trees (path);
  many_corners (path);
  lonely_corner (path);
#ifdef FOREST_3D
  edge_that_meets_itself (path);
#endif
  sc_finalize (); /* aborts if p4est's memory is left */
  MPI_Finalize ();
  return 0;
}
