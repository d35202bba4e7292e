/* Sets of streams of tasks that are appended to one file until somebody kills us: see killed_append.py.
 *
 *   killed_streams append DIR DRIVER ATOMIC CALL HOW RANK    as killed_append: removes what a killed run has left, and appends
 *                   two sets to DIR/series.scda, the first with commits between its parts, the second in one part. Calls count from
 *                   when the file is opened for that
 *   killed_streams check DIR    removes what is not whole, and verifies what is left
 *   killed_streams saved DIR PART    verifies DIR/saved.scda, which scda salvage has made of the file that a killed run has left: of
 *                   streams that were not ended, it has their first bytes. The last streams that were begun are this part of a set: part 0
 *                   of a new one, also after a set that lacks parts because its run was killed. Prints how many bytes
 *
 * DIR/committed says how many bytes of all streams were committed. What stream `task` of set `set` has at byte i depends on these alone,
 * and so does the length of each part. */
#define _POSIX_C_SOURCE 200809L
#include "killed_append.h"

enum { sets = 2, most_parts = 3, pieces = 3 };

static unsigned char byte_of (uint64_t set, uint64_t task, uint64_t i) {
  return (unsigned char) (mix (set * 1000 + task, i / 8) >> (i % 8 * 8));
}
/* A set of even number has parts. Chunks are smaller and larger than pieces. */
static uint64_t parts_of (uint64_t set) { return set % 2 == 0 ? most_parts : 1; }
static uint64_t chunk_of (uint64_t set) { return set % 4 < 2 ? 4096 : 100000; }
/* The bytes of a piece: some tasks have none in a part, others more than the library collects. */
static uint64_t piece_bytes (uint64_t set, uint64_t task, uint64_t part, uint64_t piece) {
  uint64_t state = mix (set * 100 + task, part);
  const uint64_t most[] = {0, 90, 5000, 300000};
  const uint64_t kind = task == 0 ? 1 + below (&state, 3) : below (&state, 4);
  return most[kind] / (piece + 1);
}
static uint64_t part_bytes (uint64_t set, uint64_t task, uint64_t part) {
  uint64_t bytes = 0;
  for (uint64_t piece = 0; piece < pieces; ++piece) { bytes += piece_bytes (set, task, part, piece); }
  return bytes;
}

/* How many sets the file has, the parts of the last one, and the bytes of all streams in them, which are right. */
static uint64_t read_sets (const scda_params_t *params, uint64_t *last_parts, uint64_t *all) {
  int err = -1;
  uint64_t set = 0;
  *all = 0;
  scda_fcontext_t *f = scda_fopen_read (SCDA_COMM_SELF, filename, NULL, NULL, params, &err);
  REQUIRE (f != NULL);
  for (;; ++set) {
    uint64_t streams = 0, tasks = 0, chunk_bytes = 0, parts = 0;
    f = scda_ffind_streams (f, "log", NULL, (int64_t) set, &streams, &tasks, &chunk_bytes, &err);
    REQUIRE (f != NULL && err == 0);
    if (streams == 0) { break; }
    REQUIRE (tasks > 0 && chunk_bytes == chunk_of (set));
    for (uint64_t task = 0; task < tasks; ++task) {
      uint64_t bytes = 0, expected = 0, part = 0, wrong = 0;
      REQUIRE (scda_stream_size (f, streams, task, &bytes, &err) == 0);
      unsigned char *data = (unsigned char *) get_memory (bytes);
      REQUIRE (scda_stream_read (f, streams, task, 0, data, bytes, &err) == 0);
      for (uint64_t i = 0; i < bytes; ++i) { wrong += data[i] != byte_of (set, task, i); }
      free (data);
      REQUIRE (wrong == 0);
      /* Whole parts: as many of each task. Task 0 has bytes in each. */
      while (part < (task == 0 ? parts_of (set) : parts) && (task > 0 || expected < bytes)) {
        expected += part_bytes (set, task, part++);
      }
      if (task == 0) { *last_parts = parts = part; }
      REQUIRE (expected == bytes);
      *all += bytes;
    }
  }
  REQUIRE (scda_fclose (f, &err) == 0);
  return set;
}

static void append (group_t g, const scda_params_t *params) {
  uint64_t cut = 0, all = 0, parts = 0;
  int err = -1;
  scda_fcontext_t *f = scda_fopen_append (g.comm, filename, NULL, NULL, params, &err);
  cut = info_of (f).rolled_back_bytes;
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
  if (g.rank == 0) { printf ("cut %llu\n", (unsigned long long) cut), fflush (stdout); }
  const uint64_t first = read_sets (NULL, &parts, &all);
  barrier (g);
  arm (g);
  f = scda_fopen_append (g.comm, filename, NULL, NULL, params, &err);
  REQUIRE (f != NULL && info_of (f).rolled_back_bytes == 0);
  for (uint64_t set = first; set < first + sets; ++set) {
    uint64_t place = 0;
    f = scda_fwrite_streams_begin (f, "log", NULL, chunk_of (set), &err);
    REQUIRE (f != NULL);
    for (uint64_t part = 0; part < parts_of (set); ++part) {
      for (uint64_t piece = 0; piece < pieces; ++piece) {
        const uint64_t bytes = piece_bytes (set, (uint64_t) g.rank, part, piece);
        unsigned char *data = (unsigned char *) get_memory (bytes);
        for (uint64_t i = 0; i < bytes; ++i) { data[i] = byte_of (set, (uint64_t) g.rank, place + i); }
        REQUIRE (scda_stream_write (f, data, bytes, &err) == 0);
        place += bytes;
        free (data);
      }
      for (uint64_t task = 0; task < (uint64_t) g.size; ++task) { all += part_bytes (set, task, part); }
      if (part + 1 < parts_of (set)) {
        f = scda_fcommit (f, &err);
        REQUIRE (f != NULL);
        if (g.rank == 0 && !params->atomic) { note_committed (all); }
      }
    }
    f = scda_fwrite_streams_end (f, &err);
    REQUIRE (f != NULL);
  }
  REQUIRE (scda_fclose (f, &err) == 0);
  if (g.rank == 0) { note_committed (all); }
}

static uint64_t check (group_t g, scda_params_t *params, uint64_t least, uint64_t *cut) {
  uint64_t kept = 0, parts = 0;
  int err = -1;
  (void) least;
  scda_fcontext_t *f = scda_fopen_append (g.comm, filename, NULL, NULL, params, &err);
  *cut = info_of (f).rolled_back_bytes;
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
  params->verify = 1;
  read_sets (params, &parts, &kept);
  return kept;
}

/* The part that was not ended follows all that were. */
static int read_saved (const char *folder, uint64_t part) {
  uint64_t all = 0, parts = 0, streams = 0, tasks = 0, chunk_bytes = 0, saved = 0;
  int err = -1;
  snprintf (filename, sizeof filename, "%s/saved.scda", folder);
  const uint64_t whole = read_sets (NULL, &parts, &all), set = whole - (part > 0);
  scda_fcontext_t *f = scda_fopen_read (SCDA_COMM_SELF, filename, NULL, NULL, NULL, &err);
  f = scda_ffind_streams (f, "salvaged streams", NULL, 0, &streams, &tasks, &chunk_bytes, &err);
  REQUIRE (f != NULL && (streams == 0 || (chunk_bytes == chunk_of (set) && (part == 0 || (whole > 0 && parts == part)))));
  for (uint64_t task = 0; streams != 0 && task < tasks; ++task) {
    uint64_t bytes = 0, before = 0, wrong = 0;
    for (uint64_t earlier = 0; earlier < part; ++earlier) { before += part_bytes (set, task, earlier); }
    REQUIRE (scda_stream_size (f, streams, task, &bytes, &err) == 0 && bytes <= part_bytes (set, task, part));
    unsigned char *data = (unsigned char *) get_memory (bytes);
    REQUIRE (scda_stream_read (f, streams, task, 0, data, bytes, &err) == 0);
    for (uint64_t i = 0; i < bytes; ++i) { wrong += data[i] != byte_of (set, task, before + i); }
    REQUIRE (wrong == 0);
    free (data);
    saved += bytes;
  }
  REQUIRE (scda_fclose (f, &err) == 0);
  printf ("%llu\n", (unsigned long long) saved);
  return finish ();
}

int main (int argc, char **argv) {
  if (argc == 4 && strcmp (argv[1], "saved") == 0) {
    start (&argc, &argv);
    return read_saved (argv[2], strtoull (argv[3], NULL, 10));
  }
  return run (argc, argv, append, check);
}
