/* Streams of tasks: each rank writes bytes of its own in pieces, and reads them again, beside what else a program can do. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <scda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE (64 << 10)
#define PIECES_IN_MEMORY 64 /* different ones */
#define CHUNK (1 << 20)     /* what libscda chooses on a local file system */
#define MOST_RANKS 8        /* for large streams: with more, each rank writes a little */
#define LITTLE 100
#define WRITING_MEETS 11 /* collectives of writing a set of streams, and of reading it */
#define READING_MEETS 16
#define WORDS 29 /* of an agreement */

/* Of all ranks, by scale. */
static const uint64_t total_bytes[3] = {4 << 20, 256 << 20, 1 << 30};

typedef struct {
  MPI_Comm comm;
  int rank, size;
  uint64_t bytes; /* of each stream */
  char *data;     /* PIECES_IN_MEMORY pieces, and of libscda's streams any piece */
  char *found;    /* the piece that was read */
  int checks;     /* compares what is read: where nothing is measured */
} streams_t;

static void fail_at (const char *what) { die ("%s: %s", what, strerror (errno)); }
static void succeed (int err) {
  if (err != SCDA_SUCCESS) { die ("libscda: %s", scda_last_error_message ()); }
}

/* Piece `i` of this rank, and its bytes. */
static char *piece (const streams_t *s, uint64_t i) { return s->data + i % PIECES_IN_MEMORY * PIECE; }
static uint64_t piece_bytes (const streams_t *s, uint64_t i) {
  const uint64_t left = s->bytes - i * PIECE;
  return left < PIECE ? left : PIECE;
}
static uint64_t pieces (const streams_t *s) { return (s->bytes + PIECE - 1) / PIECE; }

static void look (const streams_t *s, uint64_t i, const char *name) {
  if (s->checks && memcmp (s->found, piece (s, i), piece_bytes (s, i)) != 0) { die ("%s: wrong bytes in piece %d", name, (int) i); }
}

/* ---- libscda ---- */

static void write_scda (const streams_t *s, const char *file, int seal) {
  scda_params_t params;
  scda_params_init (&params);
  params.seal = seal;
  int err;
  scda_fcontext_t *f = scda_fopen_write (s->comm, file, "benchmark", NULL, &params, &err);
  succeed (err);
  f = scda_fwrite_streams_begin (f, "streams", NULL, CHUNK, &err);
  succeed (err);
  for (uint64_t i = 0; i < pieces (s); ++i) { scda_stream_write (f, piece (s, i), piece_bytes (s, i), &err), succeed (err); }
  f = scda_fwrite_streams_end (f, &err);
  succeed (err);
  scda_fclose (f, &err);
  succeed (err);
}
static void write_plain (const streams_t *s, const char *file) { write_scda (s, file, 0); }
static void write_sealed (const streams_t *s, const char *file) { write_scda (s, file, 1); }
static void read_scda (const streams_t *s, const char *file) {
  int err;
  uint64_t set, bytes, tasks;
  scda_fcontext_t *f = scda_fopen_read (s->comm, file, NULL, NULL, NULL, &err);
  succeed (err);
  f = scda_ffind_streams (f, "streams", NULL, 0, &set, &tasks, NULL, &err);
  succeed (err);
  scda_stream_size (f, set, (uint64_t) s->rank, &bytes, &err), succeed (err);
  if (set == 0 || tasks != (uint64_t) s->size || bytes != s->bytes) { die ("libscda: found other streams"); }
  for (uint64_t i = 0; i < pieces (s); ++i) {
    scda_stream_read (f, set, (uint64_t) s->rank, i * PIECE, s->found, piece_bytes (s, i), &err), succeed (err);
    look (s, i, "libscda");
  }
  scda_fclose (f, &err);
  succeed (err);
}

/* ---- A file for each process ---- */

static void own_file (const streams_t *s, char *name, size_t room, const char *file) { snprintf (name, room, "%s-%d", file, s->rank); }

static void move_own (const streams_t *s, const char *file, int reading) {
  char name[4200];
  own_file (s, name, sizeof name, file);
  const int fd = reading ? open (name, O_RDONLY) : open (name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd < 0) { fail_at (name); }
  for (uint64_t i = 0; i < pieces (s); ++i) {
    const ssize_t n = (ssize_t) piece_bytes (s, i);
    if ((reading ? read (fd, s->found, (size_t) n) : write (fd, piece (s, i), (size_t) n)) != n) { fail_at (name); }
    if (reading) { look (s, i, "file per process"); }
  }
  if (close (fd) != 0) { fail_at (name); }
  MPI_Barrier (s->comm); /* a program goes on when all are done */
}
static void write_own (const streams_t *s, const char *file) { move_own (s, file, 0); }
static void read_own (const streams_t *s, const char *file) { move_own (s, file, 1); }

/* ---- SIONlib's pattern: the chunks of the tasks take turns in one file ---- */

static void move_chunks (const streams_t *s, const char *file, int reading) {
  int fd = -1;
  if (!reading && s->rank == 0 && (fd = open (file, O_WRONLY | O_CREAT | O_TRUNC, 0666)) < 0) { fail_at (file); }
  MPI_Barrier (s->comm);
  if (fd < 0 && (fd = open (file, reading ? O_RDONLY : O_WRONLY)) < 0) { fail_at (file); }
  for (uint64_t i = 0; i < pieces (s); ++i) {
    const uint64_t at = i * PIECE, chunk = at / CHUNK * (uint64_t) s->size + (uint64_t) s->rank + 1;
    const off_t offset = (off_t) (chunk * CHUNK + at % CHUNK);
    const ssize_t n = (ssize_t) piece_bytes (s, i);
    if ((reading ? pread (fd, s->found, (size_t) n, offset) : pwrite (fd, piece (s, i), (size_t) n, offset)) != n) { fail_at (file); }
    if (reading) { look (s, i, "pwrite into chunks"); }
  }
  if (close (fd) != 0) { fail_at (file); }
  MPI_Barrier (s->comm);
}
static void write_chunks (const streams_t *s, const char *file) { move_chunks (s, file, 0); }
static void read_chunks (const streams_t *s, const char *file) { move_chunks (s, file, 1); }

/* ---- MPI-IO: a collective call for each round of pieces ---- */

static void move_rounds (const streams_t *s, const char *file, int reading) {
  MPI_File f;
  check_mpi (MPI_File_open (s->comm, file, reading ? MPI_MODE_RDONLY : MPI_MODE_WRONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &f),
             "MPI_File_open");
  for (uint64_t i = 0; i < pieces (s); ++i) {
    const MPI_Offset offset = (MPI_Offset) ((i * (uint64_t) s->size + (uint64_t) s->rank) * PIECE);
    const int n = (int) piece_bytes (s, i);
    MPI_Status status;
    int moved;
    check_mpi (reading ? MPI_File_read_at_all (f, offset, s->found, n, MPI_BYTE, &status)
                       : MPI_File_write_at_all (f, offset, piece (s, i), n, MPI_BYTE, &status),
               "MPI_File_write_at_all, MPI_File_read_at_all");
    MPI_Get_count (&status, MPI_BYTE, &moved);
    if (moved != n) { die ("%s: moved %d bytes, expected %d", file, moved, n); }
    if (reading) { look (s, i, "MPI-IO"); }
  }
  check_mpi (MPI_File_close (&f), "MPI_File_close");
}
static void write_rounds (const streams_t *s, const char *file) { move_rounds (s, file, 0); }
static void read_rounds (const streams_t *s, const char *file) { move_rounds (s, file, 1); }

/* ---- The agreements alone: as many reductions as libscda calls collectives (tests/ranks/exchanges.rs) ---- */

static void meet (const streams_t *s, int times) {
  uint64_t words[WORDS] = {0}, least[WORDS];
  for (int i = 0; i < times; ++i) { check_mpi (MPI_Allreduce (words, least, WORDS, MPI_UINT64_T, MPI_MIN, s->comm), "MPI_Allreduce"); }
}
static void meet_writing (const streams_t *s, const char *file) { (void) file, meet (s, WRITING_MEETS); }
static void meet_reading (const streams_t *s, const char *file) { (void) file, meet (s, READING_MEETS); }

/* `bar`: how many times as long it takes as libscda, at least; with little data, in `little`. */
static const struct {
  const char *name;
  void (*write) (const streams_t *s, const char *file);
  void (*read) (const streams_t *s, const char *file);
  double bar, little;
} racers[] = {
    {"libscda", write_plain, read_scda, 0, 0},
    {"libscda, sealed", write_sealed, read_scda, 0, 0},
    {"a file for each process", write_own, read_own, 0.95, 3},
    {"`pwrite`, `pread` in the same chunks", write_chunks, read_chunks, 1, 0},
    {"`MPI_File_write_at_all`, `read_at_all`", write_rounds, read_rounds, 2, 0},
    {"as many `MPI_Allreduce` as libscda has collectives", meet_writing, meet_reading, 0, 0},
};
#define RACERS (sizeof racers / sizeof *racers)

static void tell (const streams_t *s, int little, double *ms[2][RACERS], int reps) {
  for (int reading = 0; reading < 2; ++reading) {
    double ratio[RACERS], own_least = 0; /* before `quantile` sorts what belongs together */
    for (size_t c = 0; c < RACERS; ++c) { ratio[c] = median_ratio (ms[reading][c], ms[reading][0], reps); }
    for (size_t c = 0; c < RACERS; ++c) {
      double *t = ms[reading][c];
      const double median = quantile (t, reps, 0.5), bar = little ? racers[c].little : racers[c].bar;
      if (c == 0) { own_least = t[0]; }
      printf ("streams | %s, %.4g MB | %d | %s | %.2f | %.2f, %.2f to %.2f | %.0f | %.2f, %.2f |", reading ? "read" : "write",
              (double) s->bytes * s->size / 1e6, s->size, racers[c].name, median, t[0], quantile (t, reps, 0.25), quantile (t, reps, 0.75),
              (double) s->bytes * s->size / 1e3 / median, ratio[c], t[0] / own_least);
      if (bar > 0) {
        printf (" %g | %s |\n", bar, ratio[c] >= bar ? "met" : "**missed**");
      } else {
        puts (" | |");
      }
    }
  }
  fflush (stdout);
}

void measure_streams (const char *folder, int scale, int reps) {
  streams_t s = {.comm = MPI_COMM_WORLD};
  MPI_Comm_rank (s.comm, &s.rank);
  MPI_Comm_size (s.comm, &s.size);
  const int little = s.size > MOST_RANKS;
  s.bytes = little ? LITTLE : total_bytes[scale] / (uint64_t) s.size;
  s.data = allocate (PIECES_IN_MEMORY * PIECE);
  s.found = allocate (PIECE);
  for (uint64_t i = 0; i < PIECES_IN_MEMORY * PIECE / sizeof (uint64_t); ++i) {
    const uint64_t word = hash (i + ((uint64_t) s.rank << 40));
    memcpy (s.data + i * sizeof word, &word, sizeof word);
  }
  double *ms[2][RACERS];
  for (size_t c = 0; c < RACERS; ++c) {
    for (int reading = 0; reading < 2; ++reading) { ms[reading][c] = allocate ((size_t) reps * sizeof (double)); }
  }
  char file[4096], name[4200];
  snprintf (file, sizeof file, "%s/scda-bench-streams", folder);
  for (int r = -1; r < reps; ++r) {
    for (size_t i = 0; i < RACERS; ++i) {
      const size_t c = (size_t) in_turn (r + 1, (int) i, RACERS);
      s.checks = r < 0;
      for (int reading = 0; reading < 2; ++reading) {
        if (!reading && s.rank == 0) { sync_folder (folder); }
        MPI_Barrier (s.comm);
        const double start = MPI_Wtime ();
        (reading ? racers[c].read : racers[c].write) (&s, file);
        double mine = 1e3 * (MPI_Wtime () - start), slowest;
        MPI_Allreduce (&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, s.comm);
        if (r >= 0) { ms[reading][c][r] = slowest; }
      }
      own_file (&s, name, sizeof name, file);
      unlink (name);
      if (s.rank == 0) { unlink (file); }
    }
  }
  if (s.rank == 0) { tell (&s, little, ms, reps); }
  for (size_t c = 0; c < RACERS; ++c) { free (ms[0][c]), free (ms[1][c]); }
  free (s.data), free (s.found);
}
