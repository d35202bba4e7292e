/* Datasets by the patterns of access of the paper on compression in PnetCDF: checkerboards, FLASH, Pandana, E3SM; and fields as
 * benches/fields.rs has them. Compressed by each codec beside HDF5's shuffle and deflate with the same chunks; contiguous beside
 * array sections, PnetCDF, and the bytes alone. */
#include "patterns.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* What there is of a pattern in a folder. */
typedef struct {
  int in_rows, compressed, on_disk, sparse;
} traits_t;

typedef struct {
  const char *name;
  storage_t storage;
  int (*takes_part) (traits_t has);
  void (*write) (const pattern_t *pattern, storage_t storage, const char *file);
  void (*read) (const pattern_t *pattern, storage_t storage, const char *file);
} racer_t;

/* ---- Values, made anew on any rank for any item ---- */

/* Random words in a share of each chunk, in the other columns 0. */
static void fill_random (double share, const variable_t *v, const uint64_t *at, void *to) {
  const uint64_t columns = (uint64_t) (share * (double) v->chunk[1] + 0.5);
  const uint64_t word = at[1] % v->chunk[1] < columns ? hash (at[0] * v->shape[1] + at[1]) : 0;
  memcpy (to, &word, sizeof word);
}

static void fill_random_100 (int n, const variable_t *v, const uint64_t *at, void *to) { (void) n, fill_random (1, v, at, to); }
static void fill_random_50 (int n, const variable_t *v, const uint64_t *at, void *to) { (void) n, fill_random (.5, v, at, to); }
static void fill_random_10 (int n, const variable_t *v, const uint64_t *at, void *to) { (void) n, fill_random (.1, v, at, to); }

static void put_real (const variable_t *v, double value, void *to) {
  const float single = (float) value;
  if (v->type == FLOAT32) {
    memcpy (to, &single, sizeof single);
  } else {
    memcpy (to, &value, sizeof value);
  }
}

/* Waves with some noise, and of single precision: of each three, the third is of integers. */
static void fill_wave (int n, const variable_t *v, const uint64_t *at, void *to) {
  uint64_t i = 0;
  for (int d = 0; d < v->dims; ++d) { i = i * 4099 + at[d]; }
  const double noise = (double) (hash (i + (uint64_t) n * 77) >> 11) * 0x1p-53;
  const double value = 2 + sin (1e-3 * (n + 1) * (double) at[v->dims - 1] + (double) at[0]) + 1e-3 * noise;
  if (v->type == INT32) {
    const int32_t integer = (int32_t) (1000 * (at[v->dims - 1] / 7) + (uint64_t) (4 * noise));
    memcpy (to, &integer, sizeof integer);
  } else {
    put_real (v, value, to);
  }
}

/* As workload.c has them: 16^3 cells at a time. */
static void fill_flash (int n, const variable_t *v, const uint64_t *at, void *to) {
  static double block[16 * 16 * 16];
  static int field = -1;
  static uint64_t number;
  (void) v;
  if (field != n || number != at[0]) {
    fill_field (n, at[0], block);
    field = n;
    number = at[0];
  }
  memcpy (to, block + (at[1] * 16 + at[2]) * 16 + at[3], sizeof *block);
}

static void fill_smooth (int n, const variable_t *v, const uint64_t *at, void *to) {
  (void) n;
  put_real (v, sin (1e-3 * (double) at[0]) * cos (1.7e-5 * (double) at[0]) + 2, to);
}

/* Waves of all lengths, the shorter ones weaker. */
static void fill_turbulent (int n, const variable_t *v, const uint64_t *at, void *to) {
  double value = 0, height = 1;
  (void) n;
  for (int octave = 0; octave < 16; ++octave, height *= .6) {
    const uint64_t length = v->shape[0] >> octave, cell = at[0] / length;
    const double part = (double) (at[0] % length) / (double) length;
    const double low = (double) (hash ((uint64_t) octave << 32 | cell) >> 11) * 0x1p-53 - .5;
    const double high = (double) (hash ((uint64_t) octave << 32 | (cell + 1)) >> 11) * 0x1p-53 - .5;
    value += height * (low * (1 - part) + high * part);
  }
  put_real (v, value, to);
}

static void fill_shock (int n, const variable_t *v, const uint64_t *at, void *to) {
  (void) n;
  put_real (v, at[0] % (v->shape[0] / 5) < v->shape[0] / 14 ? 1 : .125 + 1e-3 * sin ((double) (at[0] / 500)), to);
}

static void fill_indices (int n, const variable_t *v, const uint64_t *at, void *to) {
  const uint64_t index = 8 * at[0] + at[0] % 7 * (at[0] % 3);
  (void) n, (void) v;
  memcpy (to, &index, sizeof index);
}

typedef void (*fill_t) (int number, const variable_t *v, const uint64_t *at, void *to);

static char *fill_box (fill_t fill, int number, const variable_t *v, const uint64_t *start, const uint64_t *count, char *to) {
  uint64_t at[MOST_DIMS], items = 1;
  for (int d = 0; d < v->dims; ++d) { items *= count[d]; }
  memcpy (at, start, (size_t) v->dims * sizeof *at);
  for (uint64_t i = 0; i < items; ++i) {
    fill (number, v, at, to);
    to += item_bytes (v->type);
    for (int d = v->dims - 1; d >= 0; --d) {
      if (++at[d] < start[d] + count[d]) { break; }
      at[d] = start[d];
    }
  }
  return to;
}

/* Box after box; or, where there are several, which all have all rows and ascend, row after row. */
static void fill_all (fill_t fill, int number, const variable_t *v, int in_rows, char *to) {
  if (!in_rows) {
    for (uint64_t b = 0; b < v->boxes; ++b) {
      to = fill_box (fill, number, v, v->start + b * (uint64_t) v->dims, v->count + b * (uint64_t) v->dims, to);
    }
    return;
  }
  for (uint64_t row = 0; row < v->shape[0]; ++row) {
    for (uint64_t b = 0; b < v->boxes; ++b) {
      const uint64_t start[2] = {row, v->start[2 * b + 1]}, count[2] = {1, v->count[2 * b + 1]};
      to = fill_box (fill, number, v, start, count, to);
    }
  }
}

/* ---- Patterns ---- */

static variable_t *add (pattern_t *p, const char *name, type_t type, int dims, const uint64_t *shape, const uint64_t *chunk) {
  p->variable = realloc (p->variable, (size_t) (p->variables + 1) * sizeof *p->variable);
  if (!p->variable) { die ("no memory"); }
  variable_t *v = p->variable + p->variables++;
  *v = (variable_t) {.type = type, .dims = dims};
  snprintf (v->name, sizeof v->name, "%s", name);
  for (int d = 0; d < dims; ++d) {
    v->shape[d] = shape[d];
    v->chunk[d] = chunk[d] < shape[d] ? chunk[d] : shape[d];
  }
  return v;
}

static void add_box (variable_t *v, const uint64_t *start, const uint64_t *count) {
  const size_t now = (size_t) v->boxes * (size_t) v->dims, more = (size_t) v->dims;
  if (v->boxes == 0 || (v->boxes & (v->boxes - 1)) == 0) { /* a power of two: room for as many more */
    const size_t room = (v->boxes == 0 ? 1 : 2 * (size_t) v->boxes) * more * sizeof *v->start;
    v->start = realloc (v->start, room);
    v->count = realloc (v->count, room);
    if (!v->start || !v->count) { die ("no memory"); }
  }
  uint64_t bytes = item_bytes (v->type);
  for (size_t d = 0; d < more; ++d) {
    v->start[now + d] = start[d];
    v->count[now + d] = count[d];
    bytes *= count[d];
  }
  ++v->boxes;
  v->bytes += bytes;
}

/* The part of a rectangle, of which each rank has one. */
static void rectangle (const pattern_t *p, uint64_t rows, uint64_t columns, uint64_t *start, uint64_t *count) {
  int grid[2] = {0, 0};
  MPI_Dims_create (p->size, 2, grid);
  share (rows, p->rank / grid[1], grid[0], start, count);
  share (columns, p->rank % grid[1], grid[1], start + 1, count + 1);
}

/* Each rank has a rectangle; together they have the upper left corner, so much of each side. */
static void checkerboard (pattern_t *p, int scale, double side) {
  const uint64_t n = ((const uint64_t[]) {128, 1536, 8192})[scale], chunk = scale > 0 ? 256 : 32;
  const uint64_t written = (uint64_t) (side * (double) n);
  variable_t *v = add (p, "board", FLOAT64, 2, (const uint64_t[]) {n, n}, (const uint64_t[]) {chunk, chunk});
  uint64_t start[2], count[2];
  rectangle (p, written, written, start, count);
  add_box (v, start, count);
}

static void board (pattern_t *p, int scale) { checkerboard (p, scale, 1); }
static void board_half (pattern_t *p, int scale) { checkerboard (p, scale, sqrt (.5)); }
static void board_tenth (pattern_t *p, int scale) { checkerboard (p, scale, sqrt (.1)); }

static void by_rows (pattern_t *p, variable_t *v) {
  uint64_t start[MOST_DIMS] = {0}, count[MOST_DIMS];
  memcpy (count, v->shape, sizeof count);
  share (v->shape[0], p->rank, p->size, start, count);
  add_box (v, start, count);
}

static void flash (pattern_t *p, int scale) {
  const uint64_t blocks = ((const uint64_t[]) {10, 100, 2000})[scale];
  for (int field = 0; field < 9; ++field) {
    char name[32];
    snprintf (name, sizeof name, "field %d", field);
    by_rows (p, add (p, name, FLOAT64, 4, (const uint64_t[]) {blocks, 16, 16, 16}, (const uint64_t[]) {16, 16, 16, 16}));
  }
}

/* 108 variables in 15 groups of different lengths. */
static void pandana (pattern_t *p, int scale) {
  const uint64_t least = ((const uint64_t[]) {100, 10000, 200000})[scale];
  for (int number = 0; number < 108; ++number) {
    const int group = number % 15;
    char name[32];
    snprintf (name, sizeof name, "events %d/variable %d", group, number / 15);
    const uint64_t shape[1] = {least * (uint64_t) (1 + group * group % 11) + (uint64_t) group};
    by_rows (p, add (p, name, (type_t) (number / 15 % 3), 1, shape, (const uint64_t[]) {1 << 16}));
  }
}

/* Columns of cells at 72 levels: runs of 1 to 8 columns, each of any rank. */
static void e3sm (pattern_t *p, int scale) {
  const uint64_t columns = ((const uint64_t[]) {300, 12000, 100000})[scale];
  for (int number = 0; number < 8; ++number) {
    char name[32];
    snprintf (name, sizeof name, "variable %d", number);
    const uint64_t shape[2] = {number < 4 ? 72 : 1, columns};
    variable_t *v = add (p, name, FLOAT32, 2, shape, (const uint64_t[]) {72, 2048});
    for (uint64_t at = 0, run = 0; at < columns; ++run) {
      const uint64_t random = hash (run), length = 1 + random % 8, rest = columns - at;
      const uint64_t start[2] = {0, at}, count[2] = {shape[0], length < rest ? length : rest};
      if ((random >> 32) % (uint64_t) p->size == (uint64_t) p->rank) { add_box (v, start, count); }
      at += count[1];
    }
  }
}

/* One dataset of what the checkerboard has: as large as it is, opening the file counts for little. */
static void plain (pattern_t *p, int scale) {
  const uint64_t n = ((const uint64_t[]) {128, 4096, 11585})[scale];
  by_rows (p, add (p, "plain", FLOAT64, 2, (const uint64_t[]) {n, n}, (const uint64_t[]) {n, n}));
}

/* A contiguous dataset, most of which nobody writes. */
static variable_t *sparse (pattern_t *p, int scale) {
  const uint64_t n = ((const uint64_t[]) {128, 4096, 11585})[scale];
  return add (p, "sparse", FLOAT64, 2, (const uint64_t[]) {n, n}, (const uint64_t[]) {n, n});
}

/* A rectangle in its middle. */
static void sparse_part (pattern_t *p, int scale, double rows, double columns) {
  variable_t *v = sparse (p, scale);
  const uint64_t n = v->shape[0], of[2] = {(uint64_t) (rows * (double) n), (uint64_t) (columns * (double) n)};
  uint64_t start[2], count[2];
  rectangle (p, of[0], of[1], start, count);
  for (int d = 0; d < 2; ++d) { start[d] += (n - of[d]) / 2; }
  add_box (v, start, count);
}

static void sparse_rows (pattern_t *p, int scale) {
  variable_t *v = sparse (p, scale);
  const uint64_t n = v->shape[0];
  uint64_t start[2] = {0, 0}, count[2] = {0, n};
  share (n / 10, p->rank, p->size, start, count);
  start[0] += n / 20 * 9;
  add_box (v, start, count);
}

/* A value in each row. */
static void sparse_column (pattern_t *p, int scale) {
  variable_t *v = sparse (p, scale);
  const uint64_t n = v->shape[0];
  uint64_t start[2] = {0, n / 2}, count[2] = {0, 1};
  share (n, p->rank, p->size, start, count);
  add_box (v, start, count);
}

static void sparse_columns (pattern_t *p, int scale) { sparse_part (p, scale, 1, .1); }
static void sparse_box (pattern_t *p, int scale) { sparse_part (p, scale, sqrt (.1), sqrt (.1)); }

/* The squares of a board of which one in `every` is written, each by one of the ranks in turn; `squares` on a side. */
static void sparse_board (pattern_t *p, int scale, uint64_t squares, uint64_t every) {
  variable_t *v = sparse (p, scale);
  const uint64_t count[2] = {v->shape[0] / squares, v->shape[1] / squares};
  for (uint64_t i = 0, number = 0; i < squares * squares; ++i) {
    if ((i / squares + i % squares) % every != 0) { continue; }
    const uint64_t start[2] = {i / squares * count[0], i % squares * count[1]};
    if (number++ % (uint64_t) p->size == (uint64_t) p->rank) { add_box (v, start, count); }
  }
}

static void sparse_board_half (pattern_t *p, int scale) { sparse_board (p, scale, 16, 2); }
static void sparse_board_tenth (pattern_t *p, int scale) { sparse_board (p, scale, 20, 10); }

/* A field in chunks of 1 MiB. */
static void field (pattern_t *p, int scale, type_t type) {
  const uint64_t n = ((const uint64_t[]) {1 << 16, 1 << 22, 1 << 27})[scale];
  by_rows (p, add (p, "field", type, 1, (const uint64_t[]) {n}, (const uint64_t[]) {(1 << 20) / item_bytes (type)}));
}

static void floats (pattern_t *p, int scale) { field (p, scale, FLOAT32); }
static void doubles (pattern_t *p, int scale) { field (p, scale, FLOAT64); }
static void integers (pattern_t *p, int scale) { field (p, scale, INT64); }

/* How many times as fast as HDF5 with the same codec libscda shall be, on one rank and on more; 0: no bar. */
typedef struct {
  const char *name;
  void (*make) (pattern_t *p, int scale);
  fill_t fill;
  enum { PLAIN, COMPRESSED, IN_MEAN, SPARSE } compressed;
  double write[2], read[2];
} kind_of_pattern_t;

static const kind_of_pattern_t kinds[] = {
    {"checkerboard, random", board, fill_random_100, IN_MEAN, {0, 2}, {0, 3}},
    {"checkerboard, half of it random", board, fill_random_50, IN_MEAN, {0, 2}, {0, 3}},
    {"checkerboard, a tenth random", board, fill_random_10, IN_MEAN, {0, 2}, {0, 3}},
    {"half of a checkerboard, waves", board_half, fill_wave, IN_MEAN, {0, 2}, {0, 3}},
    {"a tenth of a checkerboard, waves", board_tenth, fill_wave, IN_MEAN, {0, 2}, {0, 3}},
    {"FLASH: 9 fields of 16^3 doubles", flash, fill_flash, IN_MEAN, {4, 4}, {2.5, 3}},
    {"Pandana: 108 variables in 15 groups", pandana, fill_wave, COMPRESSED, {0, 2}, {0, 3}},
    {"E3SM: runs of 1 to 8 columns, 72 levels", e3sm, fill_wave, COMPRESSED, {0, 2}, {0, 3}},
    {"smooth, float32", floats, fill_smooth, IN_MEAN, {0, 0}, {0, 0}},
    {"smooth, float64", doubles, fill_smooth, IN_MEAN, {0, 0}, {0, 0}},
    {"turbulent, float32", floats, fill_turbulent, IN_MEAN, {0, 0}, {0, 0}},
    {"turbulent, float64", doubles, fill_turbulent, IN_MEAN, {0, 0}, {0, 0}},
    {"shock, float32", floats, fill_shock, IN_MEAN, {0, 0}, {0, 0}},
    {"shock, float64", doubles, fill_shock, IN_MEAN, {0, 0}, {0, 0}},
    {"indices, int64", integers, fill_indices, IN_MEAN, {0, 0}, {0, 0}},
    {"one dataset, whole rows", plain, fill_random_100, PLAIN, {0, 0}, {0, 0}},
    {"a tenth of the rows", sparse_rows, fill_random_100, SPARSE, {0, 0}, {0, 0}},
    {"one column", sparse_column, fill_random_100, SPARSE, {0, 0}, {0, 0}},
    {"a tenth of the columns", sparse_columns, fill_random_100, SPARSE, {0, 0}, {0, 0}},
    {"a box of a tenth", sparse_box, fill_random_100, SPARSE, {0, 0}, {0, 0}},
    {"one in ten squares of 20 x 20", sparse_board_tenth, fill_random_100, SPARSE, {0, 0}, {0, 0}},
    {"every other square of 16 x 16", sparse_board_half, fill_random_100, SPARSE, {0, 0}, {0, 0}},
};

/* ---- The race ---- */

static int has_any (traits_t has) { return (void) has, 1; }
static int has_rows (traits_t has) { return has.in_rows; }
static int is_compressed (traits_t has) { return has.compressed; }
static int is_on_disk (traits_t has) { return has.compressed && has.on_disk; }
static int is_sparse (traits_t has) { return has.sparse; }

static const racer_t racers[] = {
    {"libscda, zstd", ZSTD, is_compressed, scda_write_pattern, scda_read_pattern},
    {"libscda, zstd, in one call", ZSTD, is_compressed, scda_write_together, scda_read_together},
    {"libscda, zstd, in one call, sealed", ZSTD, is_compressed, scda_write_sealed, scda_read_together},
    {"libscda, lz4, in one call", LZ4, is_compressed, scda_write_together, scda_read_together},
    {"libscda, pcodec, in one call", PCODEC, is_compressed, scda_write_together, scda_read_together},
    {"libscda, zlib 6", ZLIB_6, is_compressed, scda_write_pattern, scda_read_pattern},
    {"libscda, zlib 6, in one call", ZLIB_6, is_compressed, scda_write_together, scda_read_together},
    {"libscda, zlib 1, in one call", ZLIB_1, is_compressed, scda_write_together, scda_read_together},
    {"libscda, contiguous", CONTIGUOUS, has_any, scda_write_pattern, scda_read_pattern},
    {"libscda, contiguous, in one call", CONTIGUOUS, has_any, scda_write_together, scda_read_together},
    {"libscda, contiguous, in one call, sealed", CONTIGUOUS, is_sparse, scda_write_sealed, scda_read_together},
    {"libscda, zstd, in one call, sync", ZSTD, is_on_disk, scda_write_synced, scda_read_together},
    {"libscda, contiguous, in one call, sync", CONTIGUOUS, is_on_disk, scda_write_synced, scda_read_together},
    {"libscda, array sections", NO_DATASET, has_rows, arrays_write_pattern, arrays_read_pattern},
    {"pwrite, pread", NO_DATASET, has_any, posix_write_pattern, posix_read_pattern},
#ifdef BENCH_HDF5
    {"HDF5, shuffle + deflate 6", ZLIB_6, is_compressed, hdf5_write_pattern, hdf5_read_pattern},
    {"HDF5, shuffle + deflate 1", ZLIB_1, is_compressed, hdf5_write_pattern, hdf5_read_pattern},
#endif
#ifdef BENCH_PNETCDF
    {"PnetCDF, contiguous", CONTIGUOUS, has_any, pnetcdf_write_pattern, pnetcdf_read_pattern},
#endif
};
#define RACERS (sizeof racers / sizeof *racers)

/* Who is compared, and how many times as fast it shall be. Of two subjects, the bar applies to the faster one; the other is shown.
 * With `disk`, the time is that of the disk: the bar holds if the subject's file has at most half of the peer's bytes, and the row says
 * how many bytes of data the peer writes in a second. With `mean`, the bars are for the geometric mean of the patterns. */
#define AS_PATTERN (-2.) /* what the pattern says */
#define NONE (-1.)       /* no row */
static const struct {
  const char *subjects[2], *peer;
  double least_write, least_read;
  double least_size; /* the peer's file is at least this number of times as large */
  int disk, mean;
} bars[] = {
    {{"libscda, zstd", "libscda, zstd, in one call"}, "HDF5, shuffle + deflate 6", 12, 8, 1, 0, 1},
    {{"libscda, zstd, in one call"}, "libscda, zlib 6, in one call", 4, 2, 1, 0, 1},
    {{"libscda, zstd, in one call"}, "libscda, zlib 6, in one call", NONE, NONE, 1 / 1.03, 0, 0},
    {{"libscda, zstd, in one call, sealed"}, "libscda, zstd, in one call", 0, 0, NONE, 0, 1},
    {{"libscda, lz4, in one call"}, "libscda, zlib 6, in one call", 8, 5, 0, 0, 1},
    {{"libscda, pcodec, in one call"}, "libscda, zlib 6, in one call", 0, 0, 1 / .8, 0, 1},
    {{"libscda, zlib 6", "libscda, zlib 6, in one call"}, "HDF5, shuffle + deflate 6", AS_PATTERN, AS_PATTERN, 1, 0, 0},
    {{"libscda, zlib 1, in one call"}, "HDF5, shuffle + deflate 1", 2, 2, 1, 0, 0},
    {{"libscda, zstd, in one call, sync"}, "libscda, contiguous, in one call, sync", 1, NONE, NONE, 1, 0},
    {{"libscda, contiguous", "libscda, contiguous, in one call"}, "libscda, array sections", 1 / 1.03, 1 / 1.03, NONE, 0, 0},
    {{"libscda, contiguous", "libscda, contiguous, in one call"}, "pwrite, pread", NONE, 1 / 1.03, NONE, 0, 0},
    {{"libscda, contiguous, in one call, sealed"}, "PnetCDF, contiguous", 1, 1, NONE, 0, 0},
};
#define BARS (sizeof bars / sizeof *bars)

/* Of each bar, for writing, reading and size: the sum of the logarithms of the ratios, and how many there are. */
static struct {
  double sum;
  int count;
} means[BARS][3];

static int racer_named (const char *name) {
  for (size_t c = 0; c < RACERS; ++c) {
    if (strcmp (racers[c].name, name) == 0) { return (int) c; }
  }
  return -1;
}

static void check (const pattern_t *p, int in_rows, const char *who) {
  for (int i = 0; i < p->variables; ++i) {
    const variable_t *v = p->variable + i;
    if (memcmp (in_rows ? v->kept_rows : v->kept, in_rows ? v->in_rows : v->data, v->bytes) != 0) {
      die ("%s: %s is not what was written", who, v->name);
    }
  }
}

/* `least` 0: no bar. */
static void put_bar (const char *pattern, int ranks, const char *what, const char *subject, const char *peer, double is, double least) {
  printf ("bar | %s | %d | %s | %s | %s | %.3f |", pattern, ranks, what, subject, peer, is);
  if (least > 0) {
    printf (" %.4g | %s |\n", least, is >= least ? "met" : "**missed**");
  } else {
    puts (" | |");
  }
}

static double median_of (const double *seconds, int reps) {
  double *own = allocate ((size_t) reps * sizeof *own); /* `quantile` sorts */
  memcpy (own, seconds, (size_t) reps * sizeof *own);
  const double median = quantile (own, reps, .5);
  free (own);
  return median;
}

/* The row of a ratio, which counts in the mean. `of`: writing, reading, size. */
static void tell_ratio (const pattern_t *p, const kind_of_pattern_t *kind, size_t b, int of, const char *what, int subject, double is,
                        double least) {
  if (bars[b].mean && kind->compressed == IN_MEAN) {
    means[b][of].sum += log (is);
    ++means[b][of].count;
  }
  put_bar (p->name, p->size, what, racers[subject].name, bars[b].peer, is, bars[b].mean ? 0 : least);
}

/* The rows of one comparison. */
static void tell_bar (const pattern_t *p, const kind_of_pattern_t *kind, size_t b, int reading, double *seconds[2][RACERS],
                      const double *file_bytes, int reps, double data_bytes) {
  double least = reading ? bars[b].least_read : bars[b].least_write;
  const int peer = racer_named (bars[b].peer);
  if (peer < 0 || !seconds[0][peer]) { return; }
  if (least == AS_PATTERN) { least = (reading ? kind->read : kind->write)[p->size > 1]; }
  double is[2];
  int subject[2], subjects = 0, best = 0;
  for (; subjects < 2 && bars[b].subjects[subjects]; ++subjects) {
    subject[subjects] = racer_named (bars[b].subjects[subjects]);
    if (subject[subjects] < 0 || !seconds[0][subject[subjects]]) { return; }
    is[subjects] = median_ratio (seconds[reading][peer], seconds[reading][subject[subjects]], reps);
    if (is[subjects] > is[best]) { best = subjects; }
  }
  char what[64];
  snprintf (what, sizeof what, "%s", reading ? "read" : "write");
  if (bars[b].disk) {
    snprintf (what, sizeof what, "write, disk at %.0f MB/s", data_bytes / median_of (seconds[0][peer], reps) / 1e6);
    if (file_bytes[peer] < 2 * file_bytes[subject[0]]) { least = 0; }
  }
  for (int s = 0; s < subjects && least != NONE; ++s) {
    if (s == best) {
      tell_ratio (p, kind, b, reading, what, subject[s], is[s], least);
    } else {
      put_bar (p->name, p->size, what, racers[subject[s]].name, bars[b].peer, is[s], 0);
    }
  }
  if (!reading && bars[b].least_size != NONE) {
    tell_ratio (p, kind, b, 2, "size", subject[0], file_bytes[peer] / file_bytes[subject[0]], bars[b].least_size);
  }
}

static void tell_means (int ranks) {
  static const char *const what[] = {"write", "read", "size"};
  for (size_t b = 0; b < BARS; ++b) {
    const double least[] = {bars[b].least_write, bars[b].least_read, bars[b].least_size};
    for (int of = 0; of < 3; ++of) {
      if (means[b][of].count == 0) { continue; }
      put_bar ("**geometric mean**", ranks, what[of], bars[b].subjects[0], bars[b].peer, exp (means[b][of].sum / means[b][of].count),
               least[of]);
    }
  }
}

static void tell (const pattern_t *p, const kind_of_pattern_t *kind, double *seconds[2][RACERS], const double *file_bytes, int reps,
                  double data_bytes) {
  size_t base = 0; /* with which all are compared */
  while (!seconds[0][base]) { ++base; }
  for (int reading = 0; reading < 2; ++reading) {
    for (size_t b = 0; b < BARS; ++b) { tell_bar (p, kind, b, reading, seconds, file_bytes, reps, data_bytes); }
    double *own = allocate ((size_t) reps * sizeof *own); /* `quantile` sorts */
    for (size_t c = 0; c < RACERS; ++c) {
      if (!seconds[reading][c]) { continue; }
      memcpy (own, seconds[reading][c], (size_t) reps * sizeof *own);
      const double median = quantile (own, reps, .5);
      printf ("pattern | %s, %.3g MB | %d | %s | %s | %.2f | %.2f, %.2f to %.2f | %.0f | %.2f | %.2f |\n", p->name, data_bytes / 1e6,
              p->size, reading ? "read" : "write", racers[c].name, 1e3 * median, 1e3 * own[0], 1e3 * quantile (own, reps, .25),
              1e3 * quantile (own, reps, .75), data_bytes / median / 1e6, file_bytes[c] / 1e6,
              median_ratio (seconds[reading][c], seconds[reading][base], reps));
    }
    free (own);
  }
  fflush (stdout);
}

static traits_t traits_of (const kind_of_pattern_t *kind, const char *folder) {
  struct statfs system;
  if (statfs (folder, &system) != 0) { die ("%s: %s", folder, strerror (errno)); }
  return (traits_t) {
      .in_rows = kind->make != board && kind->make != board_half && kind->make != board_tenth && kind->make != e3sm
                 && kind->compressed != SPARSE,
      .compressed = kind->compressed == COMPRESSED || kind->compressed == IN_MEAN,
      .sparse = kind->compressed == SPARSE,
      .on_disk = system.f_type != 0x01021994, /* tmpfs */
  };
}

/* Everyone in turn, first once without counting, in an order that rotates. */
static void race (pattern_t *p, const kind_of_pattern_t *kind, const char *folder, int reps) {
  double *seconds[2][RACERS] = {{NULL}}, file_bytes[RACERS];
  double data_bytes = 0;
  for (int i = 0; i < p->variables; ++i) {
    variable_t *v = p->variable + i;
    data_bytes += (double) v->bytes;
    v->in_rows = v->data = allocate (v->bytes);
    v->kept_rows = v->kept = allocate (v->bytes);
    fill_all (kind->fill, i, v, 0, v->kept);
    if (kind->make == e3sm) {
      v->in_rows = allocate (v->bytes);
      v->kept_rows = allocate (v->bytes);
      fill_all (kind->fill, i, v, 1, v->kept_rows);
    }
  }
  MPI_Allreduce (MPI_IN_PLACE, &data_bytes, 1, MPI_DOUBLE, MPI_SUM, p->comm);
  const traits_t traits = traits_of (kind, folder);
  int racing = 0;
  size_t each[RACERS]; /* who takes part */
  for (size_t c = 0; c < RACERS; ++c) {
    if (!racers[c].takes_part (traits)) { continue; }
    each[racing++] = c;
    for (int reading = 0; reading < 2; ++reading) { seconds[reading][c] = allocate ((size_t) reps * sizeof (double)); }
  }
  char file[4096];
  snprintf (file, sizeof file, "%s/scda-bench-pattern", folder);
  for (int r = -1; r < reps; ++r) {
    for (int i = 0; i < racing; ++i) {
      const size_t c = each[in_turn (r + 1, i, racing)];
      for (int reading = 0; reading < 2; ++reading) {
        for (int n = 0; n < p->variables; ++n) {
          const variable_t *v = p->variable + n;
          if (reading) {
            memset (v->data, 0xff, v->bytes);
            memset (v->in_rows, 0xff, v->bytes);
          } else {
            memcpy (v->data, v->kept, v->bytes);
            memcpy (v->in_rows, v->kept_rows, v->bytes);
          }
        }
        if (!reading && p->rank == 0) { sync_folder (folder); }
        MPI_Barrier (p->comm);
        const double start = MPI_Wtime ();
        (reading ? racers[c].read : racers[c].write) (p, racers[c].storage, file);
        double mine = MPI_Wtime () - start, slowest;
        MPI_Allreduce (&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, p->comm);
        if (r >= 0) { seconds[reading][c][r] = slowest; }
      }
      check (p, strncmp (racers[c].name, "HDF5", 4) == 0, racers[c].name);
      struct stat status;
      if (p->rank == 0) {
        if (stat (file, &status) != 0) { die ("%s: no such file", file); }
        file_bytes[c] = (double) status.st_size;
        unlink (file);
      }
    }
  }
  if (p->rank == 0) { tell (p, kind, seconds, file_bytes, reps, data_bytes); }
  for (size_t c = 0; c < RACERS; ++c) {
    free (seconds[0][c]);
    free (seconds[1][c]);
  }
}

static void measure (const char *folder, int scale, int reps, int sparse) {
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
    if ((kinds[k].compressed == SPARSE) != sparse) { continue; }
    pattern_t p = {.name = kinds[k].name, .comm = MPI_COMM_WORLD};
    MPI_Comm_rank (p.comm, &p.rank);
    MPI_Comm_size (p.comm, &p.size);
    kinds[k].make (&p, scale);
    race (&p, kinds + k, folder, reps);
    for (int i = 0; i < p.variables; ++i) {
      variable_t *v = p.variable + i;
      if (v->in_rows != v->data) {
        free (v->in_rows);
        free (v->kept_rows);
      }
      free (v->data);
      free (v->kept);
      free (v->start);
      free (v->count);
    }
    free (p.variable);
  }
  int rank, size;
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  if (rank == 0) { tell_means (size); }
}

void measure_patterns (const char *folder, int scale, int reps) { measure (folder, scale, reps, 0); }
void measure_sparse (const char *folder, int scale, int reps) { measure (folder, scale, reps, 1); }
