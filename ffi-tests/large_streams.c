/* A stream of 10 GiB beside streams of almost nothing, on a disk. Not for every day: scripts/long.sh runs it.
 *
 *   large_streams FILE SEAL     task 1 writes 10 GiB and a bit, the last task nothing, the others 100 bytes each, in chunks of 1 GiB; with
 *                   SEAL 1 the file is sealed, and committed in the middle. Takes 11 GiB of the disk, on a file system that has holes;
 *                   the file is removed */
#include "common.h"

#include <sys/stat.h>

static const uint64_t GiB = UINT64_C (1) << 30, few = 100, many = (UINT64_C (10) << 30) + 777;
/* No divisor of a chunk: pieces cross the ends of chunks. */
enum { piece_bytes = 48 << 20, long_task = 1 };

/* Word i of the stream of a task: no two are the same, so that nothing can be at a wrong place. */
static uint64_t word (uint64_t task, uint64_t i) { return (i + (task << 40) + 1) * 0x9e3779b97f4a7c15u; }
static unsigned char byte_of (uint64_t task, uint64_t i) { return (unsigned char) (word (task, i / 8) >> (i % 8 * 8)); }

static uint64_t stream_bytes (uint64_t task, uint64_t tasks) {
  if (task == long_task) { return many; }
  return task + 1 == tasks ? 0 : few;
}

/* From a byte of the stream on, which is the first of a word. */
static void fill (unsigned char *data, uint64_t task, uint64_t first, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes / 8; ++i) {
    const uint64_t w = word (task, first / 8 + i);
    for (int b = 0; b < 8; ++b) { data[8 * i + (uint64_t) b] = (unsigned char) (w >> (8 * b)); }
  }
  for (uint64_t i = bytes / 8 * 8; i < bytes; ++i) { data[i] = byte_of (task, first + i); }
}

static void write_file (group_t g, const char *filename, int seal) {
  unsigned char *data = (unsigned char *) get_memory (piece_bytes);
  const uint64_t task = (uint64_t) g.rank, bytes = stream_bytes (task, (uint64_t) g.size), halves[] = {bytes / 16 * 8, bytes};
  uint64_t done = 0;
  int err = -1;
  scda_params_t params = default_params ();
  params.seal = seal;
  scda_fcontext_t *f = scda_fopen_write (g.comm, filename, "a long stream", NULL, &params, &err);
  f = scda_fwrite_streams_begin (f, "log", NULL, GiB, &err);
  REQUIRE (f != NULL);
  for (int half = 0; half < 2; ++half) {
    while (done < halves[half]) {
      const uint64_t left = halves[half] - done, now = left < piece_bytes ? left : piece_bytes;
      fill (data, task, done, now);
      REQUIRE (scda_stream_write (f, data, now, &err) == 0);
      done += now;
    }
    if (half == 0 && seal) { f = scda_fcommit (f, &err); }
    REQUIRE (f != NULL && info_of (f).stream_bytes == done);
  }
  f = scda_fwrite_streams_end (f, &err);
  f = scda_fwrite_inline (f, "This comes after the streams. . ", "behind", NULL, 0, &err);
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
  free (data);
}

/* Whether the file has on the disk what was written, and little more. */
static void check_holes (const char *filename, uint64_t tasks) {
  struct stat status;
  REQUIRE (stat (filename, &status) == 0);
  const uint64_t size = (uint64_t) status.st_size, on_disk = (uint64_t) status.st_blocks * 512;
  printf ("%s: %llu bytes, of which %llu are on the disk\n", filename, (unsigned long long) size, (unsigned long long) on_disk);
  CHECK (size > 11 * tasks * GiB && on_disk >= many && on_disk < many + (UINT64_C (64) << 20));
}

static void check_bytes (scda_fcontext_t *f, uint64_t set, uint64_t task, uint64_t first, uint64_t bytes, unsigned char *data) {
  uint64_t wrong = 0;
  int err = -1;
  memset (data, 0, bytes);
  REQUIRE (scda_stream_read (f, set, task, first, data, bytes, &err) == 0);
  for (uint64_t i = 0; i < bytes; ++i) { wrong += data[i] != byte_of (task, first + i); }
  CHECK (wrong == 0);
}

/* Each rank reads all streams at some places. With `all`, the ranks also read every byte of the long one, each its share. */
static void read_file (group_t g, const char *filename, uint64_t writers, int verify, int all) {
  unsigned char *data = (unsigned char *) get_memory (piece_bytes);
  uint64_t set = 0, tasks = 0, chunk_bytes = 0, *Nq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Nq);
  const uint64_t size = (uint64_t) g.size, rank = (uint64_t) g.rank;
  int err = -1;
  scda_params_t params = default_params ();
  params.verify = verify;
  scda_fcontext_t *f = scda_fopen_read (g.comm, filename, NULL, NULL, &params, &err);
  f = scda_ffind_streams (f, "log", NULL, 0, &set, &tasks, &chunk_bytes, &err);
  REQUIRE (f != NULL && set != 0 && tasks == writers && chunk_bytes == GiB);
  for (uint64_t task = 0; task < tasks; ++task) {
    uint64_t bytes = 1;
    REQUIRE (scda_stream_size (f, set, task, &bytes, &err) == 0 && bytes == stream_bytes (task, writers));
    if (task != long_task) { check_bytes (f, set, task, 0, bytes, data); }
  }
  /* Both ends, the middle, where the commit was, and the end of each chunk. */
  check_bytes (f, set, long_task, 0, 1000, data);
  check_bytes (f, set, long_task, many - 1000, 1000, data);
  check_bytes (f, set, long_task, many / 2 - 500, 1000, data);
  for (uint64_t end = GiB; end < many; end += GiB) { check_bytes (f, set, long_task, end - 500, 1000, data); }
  CHECK (scda_stream_read (f, set, long_task, many - 1, data, 2, &err) == -1 && err == SCDA_ERR_ARG);
  if (all) {
    const uint64_t end = many / size * (rank + 1) + (rank + 1 == size ? many % size : 0);
    for (uint64_t first = many / size * rank; first < end; first += piece_bytes) {
      check_bytes (f, set, long_task, first, end - first < piece_bytes ? end - first : piece_bytes, data);
    }
  }
  /* Shares of whole streams, of which the long one is not wanted. */
  for (uint64_t q = 0; q < size; ++q) { Nq[q] = tasks * (q + 1) / size - tasks * q / size; }
  const uint64_t first = first_of (Nq, g.rank), n = Nq[rank];
  uint64_t *Ei = (uint64_t *) get_memory (n * sizeof *Ei), wrong = 0;
  unsigned char **each = (unsigned char **) get_memory (n * sizeof *each);
  f = scda_fread_streams_sizes (f, set, Ei, Nq, &err);
  REQUIRE (f != NULL);
  for (uint64_t i = 0; i < n; ++i) {
    CHECK (Ei[i] == stream_bytes (first + i, writers));
    each[i] = first + i == long_task ? NULL : data + i * few;
  }
  f = scda_fread_streams_data (f, set, each, Nq, Ei, 1, &err);
  REQUIRE (f != NULL);
  for (uint64_t i = 0; i < n; ++i) {
    for (uint64_t j = 0; each[i] != NULL && j < Ei[i]; ++j) { wrong += each[i][j] != byte_of (first + i, j); }
  }
  CHECK (wrong == 0);
  REQUIRE (scda_fclose (f, &err) == 0);
  free (data), free (Nq), free (Ei), free (each);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  const group_t g = world ();
  REQUIRE (argc == 3 && g.size > 2);
  const char *filename = argv[1];
  const int seal = atoi (argv[2]);
  write_file (g, filename, seal);
  if (g.rank == 0) { check_holes (filename, (uint64_t) g.size); }
  /* By as many ranks, by fewer, which read all, and by one. */
  const int readers[] = {g.size, g.size - 1, 1};
  for (int i = 0; i < 3; ++i) {
    group_t some = group_split (g, g.rank < readers[i], g.rank);
    if (g.rank < readers[i]) { read_file (some, filename, (uint64_t) g.size, seal && i == 1, i == 1); }
    group_free (&some);
    barrier (g);
  }
  if (g.rank == 0) { REQUIRE (unlink (filename) == 0); }
  return finish ();
}
