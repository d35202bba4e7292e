/* What is written, made anew on any rank for any element: so what was read can be checked on any number of ranks. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIDE 16
#define BLOCK_BYTES (BLOCK_SIDE * BLOCK_SIDE * BLOCK_SIDE * sizeof (double))
#define MOST_ELEMENT_BYTES BLOCK_BYTES

const workload_t workloads[] = {
    {"array-8", "array, 8-byte elements", "big", ARRAY, HASHES, 0, -1, 0, {1, 1, 1}, {1 << 14, 1 << 23, 1 << 27}, 8},
    {"array-4096", "array, 4096-byte elements", "big", ARRAY, HASHES, 0, -1, 0, {1, 1, 1}, {64, 1 << 14, 1 << 18}, 4096},
    {"small", "%d arrays of 1000 bytes a rank", "small", ARRAY, HASHES, 0, -1, 1, {100, 2000, 2000}, {125, 125, 125}, 8},
    {"blocks", "%d blocks of 100 bytes", "blocks", BLOCK, HASHES, 0, -1, 0, {100, 2000, 2000}, {1, 1, 1}, 100},
    {"flash", "%d fields of 16^3 doubles", "big", ARRAY, FIELDS, 0, -1, 0, {9, 9, 9}, {8, 256, 4096}, BLOCK_BYTES},
    {"flash-1", "%d fields, level 1", "deflate", ARRAY, FIELDS, 0, 1, 0, {9, 9, 9}, {2, 16, 512}, BLOCK_BYTES},
    {"flash-6", "%d fields, level 6", "deflate", ARRAY, FIELDS, 0, 6, 0, {9, 9, 9}, {2, 16, 512}, BLOCK_BYTES},
    {"flash-9", "%d fields, level 9", "deflate", ARRAY, FIELDS, 0, 9, 0, {9, 9, 9}, {2, 16, 512}, BLOCK_BYTES},
    {"varray", "varray, 0 to 64 bytes", NULL, VARRAY, HASHES, 0, -1, 0, {1, 1, 1}, {10000, 1000000, 10000000}, 64},
    {"indirect", "%d indirect arrays, 64-byte elements", NULL, ARRAY, HASHES, 1, -1, 0, {4, 4, 4},
     {10000, 250000, 1000000}, 64},
    {NULL, NULL, NULL, ARRAY, HASHES, 0, 0, 0, {0}, {0}, 0}};

/* ---- Elements ---- */

uint64_t hash (uint64_t x) { /* the finaliser of SplitMix64 */
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static uint64_t key (int section, uint64_t elem) { return ((uint64_t) section << 52) ^ (elem << 12); }

/* Values as solvers have them: waves, with or without noise. Of every three fields the first is smooth and has single
 * precision, the second has noise of 1/1000 and full mantissas, the third has noise of 1/10000, single precision, and the
 * same value everywhere in half of its blocks. */
void fill_field (int field, uint64_t block, double *value) {
  double wave[3][BLOCK_SIDE];
  const uint64_t at[3] = {block % 16, block / 16 % 16, block / 256};
  for (int axis = 0; axis < 3; ++axis) {
    for (int i = 0; i < BLOCK_SIDE; ++i) {
      wave[axis][i] = sin (0.01 * (field + axis + 1) * (double) (at[axis] * BLOCK_SIDE + (unsigned) i) + axis);
    }
  }
  const int ambient = field % 3 == 2 && (at[0] + at[1] + at[2]) % 2 == 0;
  const double noise = field % 3 == 0 ? 0 : field % 3 == 1 ? 1e-3 : 1e-4;
  const uint64_t seed = key (field, block);
  for (int k = 0; k < BLOCK_SIDE; ++k) {
    for (int j = 0; j < BLOCK_SIDE; ++j) {
      for (int i = 0; i < BLOCK_SIDE; ++i, ++value) {
        const uint64_t cell = (uint64_t) ((k * BLOCK_SIDE + j) * BLOCK_SIDE + i);
        const double v = 2 + wave[0][i] * wave[1][j] * wave[2][k] + noise * (double) (hash (seed + cell) >> 11) * 0x1p-53;
        *value = ambient ? 1 : field % 3 == 1 ? v : (double) (float) v;
      }
    }
  }
}

static void fill_element (const workload_t *work, int section, uint64_t elem, char *to, size_t bytes) {
  if (work->content == FIELDS) {
    fill_field (section, elem, (double *) (void *) to);
    return;
  }
  uint64_t word = key (section, elem);
  for (size_t i = 0; i < bytes; i += sizeof word, ++word) {
    const uint64_t value = hash (word);
    memcpy (to + i, &value, bytes - i < sizeof value ? bytes - i : sizeof value);
  }
}

static uint64_t element_bytes (const workload_t *work, uint64_t elem) {
  return work->kind == VARRAY ? hash (~elem) % (work->elem_bytes + 1) : work->elem_bytes;
}

/* ---- Jobs ---- */

void job_open (job_t *job, const workload_t *work, int scale, int writers) {
  memset (job, 0, sizeof *job);
  job->work = work;
  job->comm = MPI_COMM_WORLD;
  MPI_Comm_rank (job->comm, &job->rank);
  MPI_Comm_size (job->comm, &job->size);
  job->sections = (int) work->sections[scale];
  job->elems = work->elems[scale] * (uint64_t) (work->per_rank ? writers : 1);

  const uint64_t size = (uint64_t) job->size;
  job->counts = allocate (size * sizeof *job->counts);
  for (uint64_t p = 0; p < size; ++p) {
    job->counts[p] = work->kind == BLOCK ? p == 0 : job->elems * (p + 1) / size - job->elems * p / size;
    if (p < (uint64_t) job->rank) { job->first += job->counts[p]; }
  }
  job->n = job->counts[job->rank];
  for (uint64_t i = 0; i < job->n; ++i) { job->bytes += element_bytes (work, job->first + i); }

  const uint64_t all = (uint64_t) job->sections * job->n;
  job->data = allocate ((uint64_t) job->sections * job->bytes);
  if (work->kind == VARRAY) { job->sizes = allocate (job->n * sizeof *job->sizes); }
  if (work->indirect) {
    /* Scattered: as if the elements had been allocated one by one, in another order. */
    job->packed = allocate (job->bytes);
    job->pointers = allocate (all * sizeof *job->pointers);
    uint64_t step = all * 5 / 8 | 1;
    for (uint64_t a = step, b = all; b != 0;) { /* coprime with `all`, so every place is taken once */
      const uint64_t rest = a % b;
      a = b;
      b = rest;
      if (b == 0 && a > 1) {
        a = step += 2;
        b = all;
      }
    }
    for (uint64_t i = 0, at = 0; i < all; ++i, at = (at + step) % all) {
      job->pointers[i] = job->data + at * work->elem_bytes;
    }
  }
}

void job_close (job_t *job) {
  free (job->counts);
  free (job->sizes);
  free (job->data);
  free (job->pointers);
  free (job->packed);
}

/* Calls `act` for each element of this rank. */
static void for_each_element (const job_t *job, void (*act) (const job_t *, int section, uint64_t i, char *at, size_t bytes)) {
  for (int s = 0; s < job->sections; ++s) {
    char *at = job->data + (uint64_t) s * job->bytes;
    for (uint64_t i = 0; i < job->n; ++i) {
      const size_t bytes = element_bytes (job->work, job->first + i);
      act (job, s, i, job->pointers ? job->pointers[(uint64_t) s * job->n + i] : at, bytes);
      at += bytes;
    }
  }
}

static void fill (const job_t *job, int section, uint64_t i, char *at, size_t bytes) {
  fill_element (job->work, section, job->first + i, at, bytes);
  if (job->sizes) { job->sizes[i] = bytes; }
}

void job_fill (job_t *job) { for_each_element (job, fill); }

void job_poison (job_t *job) {
  memset (job->data, 0xff, (uint64_t) job->sections * job->bytes);
  if (job->sizes) { memset (job->sizes, 0xff, job->n * sizeof *job->sizes); }
}

static const char *checked; /* the contender */

static void check (const job_t *job, int section, uint64_t i, char *at, size_t bytes) {
  static double expected[MOST_ELEMENT_BYTES / sizeof (double)];
  fill_element (job->work, section, job->first + i, (char *) expected, bytes);
  if ((job->sizes && job->sizes[i] != bytes) || memcmp (at, expected, bytes) != 0) {
    die ("%s: section %d, element %llu is not what was written", checked, section,
         (unsigned long long) (job->first + i));
  }
}

void job_check (const job_t *job, const char *contender) {
  checked = contender;
  for_each_element (job, check);
}

/* ---- Help for contenders ---- */

extent_t job_sizes_extent (const job_t *job) {
  const uint64_t E = sizeof *job->sizes;
  return (extent_t) {job->n * E, job->first * E, job->elems * E};
}

extent_t job_extent (const job_t *job) {
  const uint64_t E = job->work->elem_bytes;
  if (job->work->kind != VARRAY) { return (extent_t) {job->n * E, job->first * E, job->elems * E}; }
  extent_t extent = {0, 0, 0};
  for (uint64_t i = 0; i < job->n; ++i) { extent.mine += job->sizes[i]; }
  check_mpi (MPI_Scan (&extent.mine, &extent.offset, 1, MPI_UINT64_T, MPI_SUM, job->comm), "MPI_Scan");
  extent.total = extent.offset; /* on the last rank */
  check_mpi (MPI_Bcast (&extent.total, 1, MPI_UINT64_T, job->size - 1, job->comm), "MPI_Bcast");
  extent.offset -= extent.mine;
  return extent;
}

void job_write (const job_t *job, move_t move, void *file) {
  const size_t bytes = job->work->elem_bytes;
  const extent_t extent = job_extent (job);
  if (job->sizes) { move (file, SIZES, job_sizes_extent (job), job->sizes); }
  for (int s = 0; s < job->sections; ++s) {
    if (job->pointers) {
      void **from = job->pointers + (uint64_t) s * job->n;
      for (uint64_t i = 0; i < job->n; ++i) { memcpy (job->packed + i * bytes, from[i], bytes); }
    }
    move (file, s, extent, job->pointers ? job->packed : job->data + (uint64_t) s * job->bytes);
  }
}

void job_read (const job_t *job, move_t move, void *file) {
  const size_t bytes = job->work->elem_bytes;
  if (job->sizes) { move (file, SIZES, job_sizes_extent (job), job->sizes); }
  const extent_t extent = job_extent (job);
  for (int s = 0; s < job->sections; ++s) {
    move (file, s, extent, job->pointers ? job->packed : job->data + (uint64_t) s * job->bytes);
    if (job->pointers) {
      void **to = job->pointers + (uint64_t) s * job->n;
      for (uint64_t i = 0; i < job->n; ++i) { memcpy (to[i], job->packed + i * bytes, bytes); }
    }
  }
}
