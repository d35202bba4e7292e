/* Numbers of one type in memory and of another in the file: converted when they are written and when they are read, in boxes of any kind,
 * by any ranks; those that do not fit are errors on all ranks, with the index.
 *
 *   conversion DIR */
#include "common.h"

enum { rows = 7, columns = 5, ghosts = 2 };

static const uint64_t shape[2] = { rows, columns };

static double value (uint64_t i, uint64_t j) { return (double) i * 1000.1 - (double) j / 3; }

/* The rows of this rank, of a column-major block with ghost cells. */
typedef struct {
  uint64_t start[2], count[2];
  int64_t stride[2];
  unsigned char *memory, *first;
  size_t size;
} block_t;

static block_t block_of (group_t g, uint64_t *rng, size_t size) {
  uint64_t Nq[64];
  block_t b;
  partition (rng, rows, g.size, Nq);
  b.start[0] = first_of (Nq, g.rank), b.start[1] = 0;
  b.count[0] = Nq[g.rank], b.count[1] = columns;
  b.size = size;
  b.stride[0] = (int64_t) size;
  b.stride[1] = (int64_t) (size * (b.count[0] + 2 * ghosts));
  b.memory = (unsigned char *) get_memory ((uint64_t) b.stride[1] * (columns + 2 * ghosts));
  memset (b.memory, 0x7b, (size_t) b.stride[1] * (columns + 2 * ghosts));
  b.first = b.memory + ghosts * (b.stride[0] + b.stride[1]);
  return b;
}

static void *item (const block_t *b, uint64_t i, uint64_t j) { return b->first + (int64_t) i * b->stride[0] + (int64_t) j * b->stride[1]; }

static scda_box_t box_of (const block_t *b, int type) {
  scda_box_t box;
  REQUIRE (scda_box_init (&box) == 0);
  box.data = b->first, box.start = b->start, box.count = b->count, box.stride = b->stride, box.type = type;
  return box;
}

static scda_dataset_t dataset (int type, int layout) {
  scda_dataset_t d;
  scda_dataset_init (&d);
  snprintf (d.name, sizeof d.name, "values");
  d.type = type, d.ndims = 2, d.encode = layout;
  memcpy (d.shape, shape, sizeof shape);
  if (layout != SCDA_ENCODE_NONE) { d.chunk[0] = 3, d.chunk[1] = 2; }
  return d;
}

/* Writes the values as float32: those of memory, or float64 that the library converts. */
static void write_values (group_t g, const char *path, int layout, int is_converted, uint64_t *rng) {
  const block_t b = block_of (g, rng, is_converted ? sizeof (double) : sizeof (float));
  for (uint64_t i = 0; i < b.count[0]; ++i) {
    for (uint64_t j = 0; j < columns; ++j) {
      const double wide = value (b.start[0] + i, j);
      const float narrow = (float) wide;
      memcpy (item (&b, i, j), is_converted ? (const void *) &wide : (const void *) &narrow, b.size);
    }
  }
  int err;
  scda_params_t params = default_params ();
  scda_fcontext_t *f = scda_fopen_write (g.comm, path, "conversion", NULL, &params, &err);
  const scda_dataset_t d = dataset (SCDA_TYPE_FLOAT32, layout);
  const scda_box_t box = box_of (&b, is_converted ? SCDA_TYPE_FLOAT64 : 0);
  const size_t nboxes = b.count[0] > 0;
  f = scda_fwrite_datasets (f, 1, &d, &nboxes, &box, &err);
  REQUIRE (err == SCDA_SUCCESS && scda_fclose (f, &err) == 0);
  free (b.memory);
}

/* Reads them as numbers of another type. */
static void read_values (group_t g, const char *path, int type, uint64_t *rng) {
  int err, found = 0;
  scda_params_t params = default_params ();
  scda_dataset_t d;
  block_t b = block_of (g, rng, type == SCDA_TYPE_FLOAT64 ? 8 : type == SCDA_TYPE_INT16 ? 2 : 4);
  const scda_box_t box = box_of (&b, type);
  const size_t nboxes = b.count[0] > 0;
  scda_fcontext_t *f = scda_fopen_read (g.comm, path, NULL, NULL, &params, &err);
  scda_dataset_init (&d);
  f = scda_ffind_dataset (f, "values", 0, &found, &d, &err);
  REQUIRE (err == SCDA_SUCCESS && found && d.type == SCDA_TYPE_FLOAT32);
  f = scda_fread_boxes (f, &d, nboxes, &box, &err);
  REQUIRE (err == SCDA_SUCCESS && scda_fclose (f, &err) == 0);
  for (uint64_t i = 0; i < b.count[0]; ++i) {
    for (uint64_t j = 0; j < columns; ++j) {
      const float stored = (float) value (b.start[0] + i, j);
      const double wide = stored;
      const int16_t whole = (int16_t) stored;
      const void *expected = type == SCDA_TYPE_FLOAT64 ? (const void *) &wide : type == SCDA_TYPE_INT16 ? (const void *) &whole : &stored;
      CHECK (memcmp (item (&b, i, j), expected, b.size) == 0);
      memset (item (&b, i, j), 0x7b, b.size);
    }
  }
  for (int64_t k = 0; k < b.stride[1] * (columns + 2 * ghosts); ++k) { CHECK (b.memory[k] == 0x7b); } /* ghost cells are not touched */
  free (b.memory);
}

/* The last rank has a number that does not fit. */
static void misfits (group_t g, const char *path, uint64_t *rng) {
  int err, found = 0;
  scda_params_t params = default_params ();
  const uint64_t start[2] = { 0, 0 }, none[2] = { 0, 0 };
  int32_t numbers[rows * columns] = { 0 };
  const int is_last = g.rank == g.size - 1;
  scda_box_t box;
  scda_box_init (&box);
  box.data = numbers, box.start = start, box.count = is_last ? shape : none, box.type = SCDA_TYPE_INT32;
  numbers[2 * columns + 3] = 128;
  const size_t nboxes = 1;
  const int layout = below (rng, 2) ? SCDA_ENCODE_ALWAYS : SCDA_ENCODE_NONE;
  scda_dataset_t d = dataset (SCDA_TYPE_INT8, layout);
  scda_fcontext_t *f = scda_fopen_write (g.comm, path, "misfits", NULL, &params, &err);
  f = scda_fwrite_datasets (f, 1, &d, &nboxes, &box, &err);
  CHECK (f == NULL && err == SCDA_ERR_RANGE && strstr (scda_last_error_message (), "dataset \"values\" of int8: item [2, 3]: found 128, which does not fit int8") != NULL);

  d = dataset (SCDA_TYPE_INT32, layout);
  box.type = 0;
  f = scda_fopen_write (g.comm, path, "misfits", NULL, &params, &err);
  f = scda_fwrite_datasets (f, 1, &d, &nboxes, &box, &err);
  REQUIRE (err == SCDA_SUCCESS && scda_fclose (f, &err) == 0);
  for (int is_bool = 0; is_bool < 2; ++is_bool) {
    f = scda_fopen_read (g.comm, path, NULL, NULL, &params, &err);
    scda_dataset_init (&d);
    f = scda_ffind_dataset (f, "values", 0, &found, &d, &err);
    box.type = is_bool ? SCDA_TYPE_BOOL : SCDA_TYPE_INT8;
    f = scda_fread_boxes (f, &d, nboxes, &box, &err);
    CHECK (f == NULL && err == (is_bool ? SCDA_ERR_ARG : SCDA_ERR_RANGE));
    CHECK (strstr (scda_last_error_message (), is_bool ? "found int32, which cannot be converted to bool" : "item [2, 3]: found 128, which does not fit int8") != NULL);
  }
}

/* What was found of one dataset stays valid while others are found. */
static void times (group_t g, const char *path) {
  int err, found[2] = { 0, 0 };
  const char *units[2] = { "10us", "D" };
  int64_t numbers[2][3] = { { 1, INT64_MIN, -5 }, { 7, 8, 9 } }, again[2][3] = { { 0 } };
  scda_dataset_t d[2];
  scda_box_t box[2];
  scda_fcontext_t *f = scda_fopen_write (g.comm, path, "times", NULL, NULL, &err);
  for (int i = 0; i < 2; ++i) {
    const uint64_t all = 3;
    scda_dataset_init (&d[i]);
    snprintf (d[i].name, sizeof d[i].name, "times %d", i);
    d[i].type = SCDA_TYPE_DATETIME64, d[i].ndims = 1, d[i].shape[0] = all, d[i].unit = units[i];
    f = scda_fwrite_dataset (f, &d[i], numbers[i], g.rank == 0, NULL, NULL, &err);
  }
  REQUIRE (err == SCDA_SUCCESS && scda_fclose (f, &err) == 0);
  f = scda_fopen_read (g.comm, path, NULL, NULL, NULL, &err);
  for (int i = 0; i < 2; ++i) {
    char name[16];
    snprintf (name, sizeof name, "times %d", i);
    scda_dataset_init (&d[i]);
    f = scda_ffind_dataset (f, name, 0, &found[i], &d[i], &err);
    scda_box_init (&box[i]);
    box[i].data = again[i];
  }
  REQUIRE (found[0] && found[1]);
  f = scda_fread_datasets (f, 2, d, NULL, NULL, box, &err);
  CHECK (f != NULL && strcmp (d[0].unit, units[0]) == 0 && strcmp (d[1].unit, units[1]) == 0);
  CHECK (memcmp (numbers, again, sizeof numbers) == 0);
  REQUIRE (scda_fclose (f, &err) == 0);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2);
  group_t g = world ();
  char path[1024], other[1024];
  snprintf (path, sizeof path, "%s/conversion-%d.scda", argv[1], g.size);
  snprintf (other, sizeof other, "%s/conversion-%d-by-hand.scda", argv[1], g.size);
  uint64_t rng = 27;
  const int layouts[] = { SCDA_ENCODE_NONE, SCDA_ENCODE_ALWAYS, SCDA_ENCODE_TEXT, SCDA_ENCODE_AUTO };
  for (int i = 0; i < 4; ++i) {
    write_values (g, path, layouts[i], 1, &rng);
    write_values (g, other, layouts[i], 0, &rng);
    barrier (g);
    CHECK (same_files (path, other));
    read_values (g, path, SCDA_TYPE_FLOAT64, &rng);
    read_values (g, path, SCDA_TYPE_INT16, &rng);
    read_values (g, path, 0, &rng);
  }
  misfits (g, path, &rng);
  times (g, path);
  uint64_t bytes = 0;
  CHECK (strcmp (scda_type_name (SCDA_TYPE_COMPLEX64, &bytes), "complex64") == 0 && bytes == 8);
  CHECK (strcmp (scda_type_name (SCDA_TYPE_RAW, &bytes), "raw bytes") == 0 && bytes == 0);
  CHECK (scda_type_name (0, &bytes) == NULL && scda_type_name (99, NULL) == NULL);
  return finish ();
}
