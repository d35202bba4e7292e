/* What a seal gives those who read: a section found by its name among very many, and a few elements of a section whose elements
 * have sizes of their own, anywhere in it. */
#include "bench.h"

#include <scda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES 32
#define RANGE 10       /* elements */
#define FURTHER 20     /* ranges after the first one */
#define MOST_BYTES 16  /* of an element */
#define FIND_BAR_MS 50 /* to open a sealed file and find a section */

static const int many[3] = {1000, 100000, 1000000};              /* sections, by scale */
static const uint64_t elements[3] = {10000, 1000000, 10000000}; /* of the varray, by scale */

typedef struct {
  MPI_Comm comm;
  int rank, size, scale, reps, seal, encode;
} access_t;

static void succeed (int err) {
  if (err != SCDA_SUCCESS) { die ("libscda: %s", scda_last_error_message ()); }
}

static double start_together (const access_t *a) {
  MPI_Barrier (a->comm);
  return MPI_Wtime ();
}

/* Milliseconds since `start`, of the slowest rank. */
static double ms_since (const access_t *a, double start) {
  const double mine = 1e3 * (MPI_Wtime () - start);
  double slowest;
  MPI_Allreduce (&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, a->comm);
  return slowest;
}

/* A line of the table; sorts the times. `bar`: the most milliseconds; 0: none. */
static void line (const access_t *a, const char *what, const char *contender, double *ms, int n, const char *file, double bar) {
  if (a->rank > 0) { return; }
  struct stat status;
  if (stat (file, &status) != 0) { die ("%s: no such file", file); }
  const double median = quantile (ms, n, 0.5);
  printf ("access | %s | %d | %s | %.3f | %.3f, %.3f to %.3f | %.1f |", what, a->size, contender, median, ms[0],
          quantile (ms, n, 0.25), quantile (ms, n, 0.75), (double) status.st_size / 1e6);
  if (bar > 0) {
    printf (" %g | %s |\n", bar, median <= bar ? "met" : "**missed**");
  } else {
    puts (" | |");
  }
  fflush (stdout);
}

static scda_fcontext_t *create (const access_t *a, const char *file) {
  scda_params_t params;
  scda_params_init (&params);
  params.seal = a->seal;
  int err;
  scda_fcontext_t *f = scda_fopen_write (a->comm, file, "benchmark", NULL, &params, &err);
  succeed (err);
  return f;
}

static scda_fcontext_t *open_file (const access_t *a, const char *file) {
  int err;
  scda_fcontext_t *f = scda_fopen_read (a->comm, file, NULL, NULL, NULL, &err);
  succeed (err);
  return f;
}

/* ---- A section among many ---- */

static void name_of (char *name, uint64_t number) { snprintf (name, NAME_BYTES, "state %llu", (unsigned long long) number); }

static void scda_make (const access_t *a, const char *file) {
  scda_fcontext_t *f = create (a, file);
  int err;
  for (uint64_t i = 0; i < (uint64_t) many[a->scale]; ++i) {
    char name[NAME_BYTES];
    name_of (name, i);
    f = scda_fwrite_block (f, &i, sizeof i, name, NULL, 0, SCDA_ENCODE_NONE, &err);
    succeed (err);
  }
  scda_fclose (f, &err);
  succeed (err);
}

static uint64_t scda_find (const access_t *a, const char *file, const char *name) {
  scda_fcontext_t *f = open_file (a, file);
  int err, found, decode = 1;
  uint64_t section, E, value = 0;
  f = scda_ffind (f, name, NULL, 0, &found, &section, &err);
  succeed (err);
  if (!found) { die ("libscda: there is no %s", name); }
  f = scda_fseek (f, section, &err);
  succeed (err);
  f = scda_fread_section_header (f, NULL, NULL, &E, NULL, NULL, &decode, &err);
  succeed (err);
  f = scda_fread_block_data (f, &value, E, 0, &err);
  succeed (err);
  scda_fclose (f, &err);
  succeed (err);
  return value;
}

#ifdef BENCH_HDF5
static void make_hdf5 (const access_t *a, const char *file) { hdf5_make (file, (uint64_t) many[a->scale], name_of); }
static uint64_t find_hdf5 (const access_t *a, const char *file, const char *name) {
  (void) a;
  return hdf5_find (file, name);
}
#endif

typedef struct {
  const char *name;
  int seal;
  double bar;
  void (*make) (const access_t *a, const char *file);
  uint64_t (*find) (const access_t *a, const char *file, const char *name);
} finder_t;

static const finder_t finders[] = {{"libscda, sealed", 1, FIND_BAR_MS, scda_make, scda_find},
                                   {"libscda, not sealed", 0, 0, scda_make, scda_find},
#ifdef BENCH_HDF5
                                   {"HDF5", 0, 0, make_hdf5, find_hdf5}, /* for a process alone */
#endif
};
#define FINDERS (sizeof finders / sizeof *finders)

static void find_among_many (access_t *a, char files[][4096]) {
  char what[200];
  double *ms = allocate (FINDERS * (size_t) a->reps * sizeof *ms);
  size_t count = 0;
  for (size_t c = 0; c < FINDERS; ++c) {
    if (a->size > 1 && strncmp (finders[c].name, "libscda", 7) != 0) { continue; }
    ++count;
    a->seal = finders[c].seal;
    const double start = start_together (a);
    finders[c].make (a, files[c]);
    double made = ms_since (a, start);
    snprintf (what, sizeof what, "%d blocks of 8 bytes, written", many[a->scale]);
    line (a, what, finders[c].name, &made, 1, files[c], 0);
  }
  for (int r = 0; r < a->reps; ++r) {
    const uint64_t wanted = ((uint64_t) r * 7919777u + 4711) % (uint64_t) many[a->scale];
    char name[NAME_BYTES];
    name_of (name, wanted);
    for (size_t i = 0; i < count; ++i) {
      const size_t c = (i + (size_t) r) % count;
      const double start = start_together (a);
      const uint64_t value = finders[c].find (a, files[c], name);
      ms[c * (size_t) a->reps + (size_t) r] = ms_since (a, start);
      if (a->rank == 0 && value != wanted) { die ("%s: another section than %s", finders[c].name, name); }
    }
  }
  snprintf (what, sizeof what, "one of %d found by name: open, find, read, close", many[a->scale]);
  for (size_t c = 0; c < count; ++c) {
    line (a, what, finders[c].name, ms + c * (size_t) a->reps, a->reps, files[c], finders[c].bar);
  }
  free (ms);
}

/* ---- Some elements of many ---- */

static uint64_t bytes_of (uint64_t i) { return i * i % (MOST_BYTES + 1); }

static void make_varray (const access_t *a, const char *file) {
  uint64_t n = elements[a->scale], bytes = 0, first, *counts = allocate ((size_t) a->size * sizeof *counts);
  for (int p = 0; p < a->size; ++p) {
    counts[p] = n * (uint64_t) (p + 1) / (uint64_t) a->size - n * (uint64_t) p / (uint64_t) a->size;
  }
  first = n * (uint64_t) a->rank / (uint64_t) a->size;
  n = counts[a->rank];
  uint64_t *sizes = allocate (n * sizeof *sizes);
  for (uint64_t i = 0; i < n; ++i) { bytes += sizes[i] = bytes_of (first + i); }
  unsigned char *data = allocate (bytes), *at = data;
  for (uint64_t i = 0; i < n; at += sizes[i++]) { memset (at, (int) ((first + i) % 251), sizes[i]); }
  scda_fcontext_t *f = create (a, file);
  int err;
  f = scda_fwrite_varray (f, data, counts, sizes, NULL, 0, "varray", NULL, a->encode, &err);
  succeed (err);
  scda_fclose (f, &err);
  succeed (err);
  free (data);
  free (sizes);
  free (counts);
}

static void read_range (scda_fcontext_t *f, uint64_t first) {
  uint64_t sizes[RANGE];
  unsigned char data[RANGE * MOST_BYTES], *at = data;
  int err;
  f = scda_fread_varray_sizes_range (f, sizes, first, RANGE, &err);
  succeed (err);
  f = scda_fread_varray_range (f, data, first, RANGE, sizes, 0, &err);
  succeed (err);
  for (uint64_t i = first; i < first + RANGE; at += bytes_of (i++)) {
    const uint64_t size = bytes_of (i);
    if (sizes[i - first] != size || (size > 0 && at[size - 1] != i % 251)) { die ("libscda: another element"); }
  }
}

static void read_some_of_many (access_t *a, const char *file) {
  double *first_ms = allocate ((size_t) a->reps * sizeof *first_ms);
  double *further_ms = allocate ((size_t) a->reps * FURTHER * sizeof *further_ms);
  const uint64_t n = elements[a->scale];
  for (int way = 0; way < 4; ++way) {
    a->seal = way % 2;
    a->encode = way < 2 ? SCDA_ENCODE_NONE : SCDA_ENCODE_ALWAYS;
    make_varray (a, file);
    for (int r = 0; r < a->reps; ++r) {
      uint64_t at = (uint64_t) (a->rank + 17 * r);
      double start = start_together (a);
      scda_fcontext_t *f = open_file (a, file);
      int err, decode = 1;
      f = scda_fread_section_header (f, NULL, NULL, NULL, NULL, NULL, &decode, &err);
      succeed (err);
      read_range (f, at * 7919777u % (n - RANGE));
      first_ms[r] = ms_since (a, start);
      for (int i = 0; i < FURTHER; ++i) {
        start = start_together (a);
        read_range (f, ++at * 7919777u % (n - RANGE));
        further_ms[r * FURTHER + i] = ms_since (a, start);
      }
      scda_fclose (f, &err);
      succeed (err);
    }
    char what[200];
    const char *contender = a->seal ? "libscda, sealed" : "libscda, not sealed";
    const char *kind = way < 2 ? "varray" : "compressed varray";
    snprintf (what, sizeof what, "%d of %llu elements of a %s, open included", RANGE, (unsigned long long) n, kind);
    line (a, what, contender, first_ms, a->reps, file, 0);
    snprintf (what, sizeof what, "%d others of the same", RANGE);
    line (a, what, contender, further_ms, a->reps * FURTHER, file, 0);
  }
  free (first_ms);
  free (further_ms);
}

void measure_access (const char *folder, int scale, int reps) {
  access_t a = {.comm = MPI_COMM_WORLD, .scale = scale, .reps = reps};
  MPI_Comm_rank (a.comm, &a.rank);
  MPI_Comm_size (a.comm, &a.size);
  char files[FINDERS][4096];
  for (size_t c = 0; c < FINDERS; ++c) {
    snprintf (files[c], sizeof files[c], "%s/scda-bench-access-%zu", folder, c);
  }
  find_among_many (&a, files);
  read_some_of_many (&a, files[0]);
  MPI_Barrier (a.comm);
  for (size_t c = 0; c < FINDERS && a.rank == 0; ++c) { unlink (files[c]); }
}
