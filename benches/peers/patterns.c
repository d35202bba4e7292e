/* Datasets by the patterns of access of the paper on compression in PnetCDF: checkerboards, FLASH, Pandana, E3SM. Compressed
 * beside HDF5's shuffle and deflate with the same chunks, and contiguous. */
#include "patterns.h"

#include <math.h>
#include <scda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEFAULT_LEVEL = -2, ARRAYS = -3 }; /* beside levels, and -1 for contiguous */

typedef struct {
  const char *name;
  int level;
  int (*takes_part) (const pattern_t *pattern);
  void (*write) (const pattern_t *pattern, int level, const char *file);
  void (*read) (const pattern_t *pattern, int level, const char *file);
} racer_t;

/* ---- Values, made anew on any rank for any item ---- */

uint64_t item_bytes (type_t type) { return type == FLOAT64 ? 8 : 4; }

/* Random words in a share of each chunk, in the other columns 0. */
static void fill_random (double share, const variable_t *v, const uint64_t *at, void *to) {
  const uint64_t columns = (uint64_t) (share * (double) v->chunk[1] + 0.5);
  const uint64_t word = at[1] % v->chunk[1] < columns ? hash (at[0] * v->shape[1] + at[1]) : 0;
  memcpy (to, &word, sizeof word);
}

static void fill_random_100 (int n, const variable_t *v, const uint64_t *at, void *to) { (void) n, fill_random (1, v, at, to); }
static void fill_random_50 (int n, const variable_t *v, const uint64_t *at, void *to) { (void) n, fill_random (.5, v, at, to); }
static void fill_random_10 (int n, const variable_t *v, const uint64_t *at, void *to) { (void) n, fill_random (.1, v, at, to); }

/* Waves with some noise, and of single precision: of each three, the third is of integers. */
static void fill_wave (int n, const variable_t *v, const uint64_t *at, void *to) {
  uint64_t i = 0;
  for (int d = 0; d < v->dims; ++d) { i = i * 4099 + at[d]; }
  const double noise = (double) (hash (i + (uint64_t) n * 77) >> 11) * 0x1p-53;
  const double value = 2 + sin (1e-3 * (n + 1) * (double) at[v->dims - 1] + (double) at[0]) + 1e-3 * noise;
  if (v->type == INT32) {
    const int32_t integer = (int32_t) (1000 * (at[v->dims - 1] / 7) + (uint64_t) (4 * noise));
    memcpy (to, &integer, sizeof integer);
  } else if (v->type == FLOAT32) {
    const float single = (float) value;
    memcpy (to, &single, sizeof single);
  } else {
    memcpy (to, &value, sizeof value);
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

/* Rank `rank` of `size` has these of `n`. */
static void share (uint64_t n, int rank, int size, uint64_t *start, uint64_t *count) {
  *start = n * (uint64_t) rank / (uint64_t) size;
  *count = n * (uint64_t) (rank + 1) / (uint64_t) size - *start;
}

/* Each rank has a rectangle; together they have the upper left corner, so much of each side. */
static void checkerboard (pattern_t *p, int scale, double side) {
  const uint64_t n = ((const uint64_t[]) {128, 1536, 8192})[scale], chunk = scale > 0 ? 256 : 32;
  const uint64_t written = (uint64_t) (side * (double) n);
  variable_t *v = add (p, "board", FLOAT64, 2, (const uint64_t[]) {n, n}, (const uint64_t[]) {chunk, chunk});
  int grid[2] = {0, 0};
  MPI_Dims_create (p->size, 2, grid);
  uint64_t start[2], count[2];
  share (written, p->rank / grid[1], grid[0], start, count);
  share (written, p->rank % grid[1], grid[1], start + 1, count + 1);
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

/* What libscda shall be compared with HDF5 at the same level, and by default at level 1: 0: no bar. */
typedef struct {
  const char *name;
  void (*make) (pattern_t *p, int scale);
  fill_t fill;
  double write, read;
} kind_of_pattern_t;

static const kind_of_pattern_t kinds[] = {
    {"checkerboard, random", board, fill_random_100, 2, 3},
    {"checkerboard, half of it random", board, fill_random_50, 2, 3},
    {"checkerboard, a tenth random", board, fill_random_10, 2, 3},
    {"half of a checkerboard, waves", board_half, fill_wave, 2, 3},
    {"a tenth of a checkerboard, waves", board_tenth, fill_wave, 2, 3},
    {"FLASH: 9 fields of 16^3 doubles", flash, fill_flash, 4, 2.5},
    {"Pandana: 108 variables in 15 groups", pandana, fill_wave, 2, 3},
    {"E3SM: runs of 1 to 8 columns, 72 levels", e3sm, fill_wave, 2, 3},
};

/* ---- libscda ---- */

static void succeed (int err) {
  if (err != SCDA_SUCCESS) { die ("libscda: %s", scda_last_error_message ()); }
}

static void scda_write (const pattern_t *p, int level, const char *file) {
  int err;
  scda_fcontext_t *f = scda_fopen_write (p->comm, file, "benchmark", NULL, NULL, &err);
  succeed (err);
  for (int i = 0; i < p->variables; ++i) {
    const variable_t *v = p->variable + i;
    scda_dataset_t d;
    scda_dataset_init (&d);
    snprintf (d.name, sizeof d.name, "%s", v->name);
    d.type = v->type == FLOAT64 ? SCDA_TYPE_FLOAT64 : v->type == FLOAT32 ? SCDA_TYPE_FLOAT32 : SCDA_TYPE_INT32;
    d.ndims = v->dims;
    memcpy (d.shape, v->shape, sizeof v->shape);
    if (level != -1) {
      d.layout = SCDA_LAYOUT_CHUNKED;
      memcpy (d.chunk, v->chunk, sizeof v->chunk);
      if (level >= 0) { d.level = level; }
    }
    f = scda_fwrite_dataset (f, &d, v->data, v->boxes, v->start, v->count, &err);
    succeed (err);
  }
  scda_fclose (f, &err);
  succeed (err);
}

static void scda_read (const pattern_t *p, int level, const char *file) {
  (void) level;
  int err, found;
  scda_fcontext_t *f = scda_fopen_read (p->comm, file, NULL, NULL, NULL, &err);
  succeed (err);
  for (int i = 0; i < p->variables; ++i) {
    const variable_t *v = p->variable + i;
    scda_dataset_t d;
    scda_dataset_init (&d);
    f = scda_ffind_dataset (f, v->name, 0, &found, &d, &err);
    succeed (err);
    if (!found) { die ("libscda: there is no %s", v->name); }
    f = scda_fread_dataset (f, v->data, v->boxes, v->start, v->count, &err);
    succeed (err);
  }
  scda_fclose (f, &err);
  succeed (err);
}

/* The same without metadata: array sections. For data in rows. */
static uint64_t row_bytes (const variable_t *v) {
  uint64_t bytes = item_bytes (v->type);
  for (int d = 1; d < v->dims; ++d) { bytes *= v->shape[d]; }
  return bytes;
}

static uint64_t *row_counts (const pattern_t *p, const variable_t *v) {
  uint64_t *counts = allocate ((size_t) p->size * sizeof *counts), start;
  for (int rank = 0; rank < p->size; ++rank) { share (v->shape[0], rank, p->size, &start, counts + rank); }
  return counts;
}

static void arrays_write (const pattern_t *p, int level, const char *file) {
  (void) level;
  int err;
  scda_fcontext_t *f = scda_fopen_write (p->comm, file, "benchmark", NULL, NULL, &err);
  succeed (err);
  for (int i = 0; i < p->variables; ++i) {
    const variable_t *v = p->variable + i;
    uint64_t *counts = row_counts (p, v);
    f = scda_fwrite_array (f, v->data, counts, row_bytes (v), 0, v->name, NULL, SCDA_ENCODE_NONE, &err);
    succeed (err);
    free (counts);
  }
  scda_fclose (f, &err);
  succeed (err);
}

static void arrays_read (const pattern_t *p, int level, const char *file) {
  (void) level;
  int err, decode;
  scda_fcontext_t *f = scda_fopen_read (p->comm, file, NULL, NULL, NULL, &err);
  succeed (err);
  for (int i = 0; i < p->variables; ++i) {
    const variable_t *v = p->variable + i;
    uint64_t *counts = row_counts (p, v);
    decode = 1;
    f = scda_fread_section_header (f, NULL, NULL, NULL, NULL, NULL, &decode, &err);
    succeed (err);
    f = scda_fread_array_data (f, v->data, counts, row_bytes (v), 0, &err);
    succeed (err);
    free (counts);
  }
  scda_fclose (f, &err);
  succeed (err);
}

/* ---- The race ---- */

static int always (const pattern_t *p) { return p->variables > 0; }
static int is_in_rows (const pattern_t *p) {
  return strncmp (p->name, "FLASH", 5) == 0 || strncmp (p->name, "Pandana", 7) == 0;
}

static const racer_t racers[] = {
    {"libscda, level 6", 6, always, scda_write, scda_read},
    {"libscda, default level", DEFAULT_LEVEL, always, scda_write, scda_read},
    {"libscda, contiguous", -1, always, scda_write, scda_read},
    {"libscda, array sections", ARRAYS, is_in_rows, arrays_write, arrays_read},
#ifdef BENCH_HDF5
    {"HDF5, shuffle + deflate 6", 6, always, hdf5_write_pattern, hdf5_read_pattern},
    {"HDF5, shuffle + deflate 1", 1, always, hdf5_write_pattern, hdf5_read_pattern},
#endif
#ifdef BENCH_PNETCDF
    {"PnetCDF, contiguous", -1, always, pnetcdf_write_pattern, pnetcdf_read_pattern},
#endif
};
#define RACERS (sizeof racers / sizeof *racers)

/* Who is compared, and how many times as fast it shall be: 0: what the pattern says, else at least so. */
static const struct {
  const char *subject, *peer;
  double least_write, least_read;
  int about_size;
} bars[] = {
    {"libscda, level 6", "HDF5, shuffle + deflate 6", 0, 0, 1},
    {"libscda, default level", "HDF5, shuffle + deflate 1", 2, 2, 1},
    {"libscda, contiguous", "libscda, array sections", .97, .97, 0},
};

static int racer_named (const char *name) {
  for (size_t c = 0; c < RACERS; ++c) {
    if (strcmp (racers[c].name, name) == 0) { return (int) c; }
  }
  return -1;
}

static void check (const pattern_t *p, fill_t fill, int in_rows, const char *who) {
  for (int i = 0; i < p->variables; ++i) {
    const variable_t *v = p->variable + i;
    char *expected = allocate (v->bytes);
    in_rows = in_rows && v->in_rows != v->data;
    fill_all (fill, i, v, in_rows, expected);
    if (memcmp (expected, in_rows ? v->in_rows : v->data, v->bytes) != 0) { die ("%s: %s is not what was written", who, v->name); }
    free (expected);
  }
}

static double median_ratio (const double *of, const double *to, int reps) {
  double *ratios = allocate ((size_t) reps * sizeof *ratios);
  for (int r = 0; r < reps; ++r) { ratios[r] = of[r] / to[r]; }
  const double median = quantile (ratios, reps, .5);
  free (ratios);
  return median;
}

static void put_bar (const pattern_t *p, const char *what, size_t b, double is, double least) {
  printf ("bar | %s | %d | %s | %s | %s | %.3f | %.2f | %s |\n", p->name, p->size, what, bars[b].subject, bars[b].peer, is, least,
          is >= least ? "met" : "**missed**");
}

static void tell (const pattern_t *p, const kind_of_pattern_t *kind, double *seconds[2][RACERS], const double *file_bytes, int reps,
                  double data_bytes) {
  for (int reading = 0; reading < 2; ++reading) {
    const char *what = reading ? "read" : "write";
    for (size_t b = 0; b < sizeof bars / sizeof *bars; ++b) {
      const int subject = racer_named (bars[b].subject), peer = racer_named (bars[b].peer);
      if (peer < 0 || !seconds[0][peer] || (racers[subject].level == -1 && kind->make != flash)) { continue; }
      const double wanted = reading ? bars[b].least_read : bars[b].least_write;
      put_bar (p, what, b, median_ratio (seconds[reading][peer], seconds[reading][subject], reps),
               wanted > 0 ? wanted : reading ? kind->read : kind->write);
      if (!reading && bars[b].about_size) { put_bar (p, "size", b, file_bytes[peer] / file_bytes[subject], 1); }
    }
    for (size_t c = 0; c < RACERS; ++c) {
      double *own = seconds[reading][c];
      if (!own) { continue; }
      const double times = median_ratio (own, seconds[reading][0], reps);
      if (c == 0) { own = memcpy (allocate ((size_t) reps * sizeof *own), own, (size_t) reps * sizeof *own); } /* which the others need */
      const double median = quantile (own, reps, .5);
      printf ("pattern | %s, %.3g MB | %d | %s | %s | %.2f | %.2f, %.2f to %.2f | %.0f | %.2f | %.2f |\n", p->name, data_bytes / 1e6,
              p->size, what, racers[c].name, 1e3 * median, 1e3 * own[0], 1e3 * quantile (own, reps, .25),
              1e3 * quantile (own, reps, .75), data_bytes / median / 1e6, file_bytes[c] / 1e6, times);
      if (c == 0) { free (own); }
    }
  }
  fflush (stdout);
}

/* Everyone in turn, first once without counting, in an order that rotates. */
static void race (pattern_t *p, const kind_of_pattern_t *kind, const char *folder, int reps) {
  double *seconds[2][RACERS] = {{NULL}}, file_bytes[RACERS];
  double data_bytes = 0;
  for (int i = 0; i < p->variables; ++i) {
    variable_t *v = p->variable + i;
    data_bytes += (double) v->bytes;
    v->in_rows = v->data = allocate (v->bytes);
    fill_all (kind->fill, i, v, 0, v->data);
    if (strncmp (p->name, "E3SM", 4) == 0) {
      v->in_rows = allocate (v->bytes);
      fill_all (kind->fill, i, v, 1, v->in_rows);
    }
  }
  MPI_Allreduce (MPI_IN_PLACE, &data_bytes, 1, MPI_DOUBLE, MPI_SUM, p->comm);
  for (size_t c = 0; c < RACERS; ++c) {
    for (int reading = 0; reading < 2 && racers[c].takes_part (p); ++reading) {
      seconds[reading][c] = allocate ((size_t) reps * sizeof (double));
    }
  }
  char file[4096];
  snprintf (file, sizeof file, "%s/scda-bench-pattern", folder);
  for (int r = -1; r < reps; ++r) {
    for (size_t i = 0; i < RACERS; ++i) {
      const size_t c = (i + (size_t) (r + 1)) % RACERS;
      if (!seconds[0][c]) { continue; }
      for (int reading = 0; reading < 2; ++reading) {
        if (reading) {
          for (int n = 0; n < p->variables; ++n) {
            memset (p->variable[n].data, 0xff, p->variable[n].bytes);
            memset (p->variable[n].in_rows, 0xff, p->variable[n].bytes);
          }
        } else if (p->rank == 0) {
          sync_folder (folder);
        }
        MPI_Barrier (p->comm);
        const double start = MPI_Wtime ();
        (reading ? racers[c].read : racers[c].write) (p, racers[c].level, file);
        double mine = MPI_Wtime () - start, slowest;
        MPI_Allreduce (&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, p->comm);
        if (r >= 0) { seconds[reading][c][r] = slowest; }
      }
      check (p, kind->fill, strncmp (racers[c].name, "HDF5", 4) == 0, racers[c].name);
      for (int n = 0; n < p->variables; ++n) { /* what comes next writes again */
        fill_all (kind->fill, n, p->variable + n, 0, p->variable[n].data);
        if (p->variable[n].in_rows != p->variable[n].data) { fill_all (kind->fill, n, p->variable + n, 1, p->variable[n].in_rows); }
      }
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

void measure_patterns (const char *folder, int scale, int reps) {
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
    pattern_t p = {.name = kinds[k].name, .comm = MPI_COMM_WORLD};
    MPI_Comm_rank (p.comm, &p.rank);
    MPI_Comm_size (p.comm, &p.size);
    kinds[k].make (&p, scale);
    race (&p, kinds + k, folder, reps);
    for (int i = 0; i < p.variables; ++i) {
      variable_t *v = p.variable + i;
      if (v->in_rows != v->data) { free (v->in_rows); }
      free (v->data);
      free (v->start);
      free (v->count);
    }
    free (p.variable);
  }
}
