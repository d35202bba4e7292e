/* Streams of tasks: each rank writes and reads bytes without the others.
 *
 *   streams FILE */
#include "common.h"

enum { chunk = 4096, pieces = 40 };

static unsigned char byte_of (int set, int task, uint64_t i) {
  return (unsigned char) (i * 31 + (uint64_t) (set * 100 + task) + i / chunk);
}

/* How many bytes a task writes at once, and the bytes of all pieces of its stream; some have none. */
static uint64_t piece_bytes (int task, int piece) { return (uint64_t) (task % 3) * (uint64_t) (piece * 977 + 1); }
static uint64_t stream_bytes (int task) {
  uint64_t all = 0;
  for (int i = 0; i < pieces; ++i) { all += piece_bytes (task, i); }
  return all;
}

static void write_file (group_t g, const char *filename) {
  int err = -1;
  scda_params_t params;
  scda_params_init (&params);
  params.seal = 1;
  scda_fcontext_t *f = scda_fopen_write (g.comm, filename, "streams", NULL, &params, &err);
  for (int set = 0; set < 2; ++set) {
    const uint64_t bytes = stream_bytes (g.rank);
    unsigned char *data = (unsigned char *) get_memory (bytes);
    uint64_t done = 0;
    for (uint64_t i = 0; i < bytes; ++i) { data[i] = byte_of (set, g.rank, i); }
    f = scda_fwrite_streams_begin (f, "log", NULL, chunk, &err);
    REQUIRE (f != NULL && err == 0 && info_of (f).stream_bytes == 0);
    for (int piece = 0; piece < pieces; ++piece) {
      const uint64_t now = piece_bytes (g.rank, piece);
      REQUIRE (scda_stream_write (f, now == 0 ? NULL : data + done, now, &err) == 0 && err == 0);
      done += now;
      REQUIRE (info_of (f).stream_bytes == done);
      /* what is written is safe, and the streams go on */
      if (set == 1 && piece % 16 == 15) { f = scda_fcommit (f, &err); }
      if (piece == 20) { f = scda_fflush (f, &err); }
      REQUIRE (f != NULL);
    }
    REQUIRE (done == bytes);
    f = scda_fwrite_streams_end (f, &err);
    REQUIRE (f != NULL && info_of (f).stream_bytes == 0);
    free (data);
  }
  f = scda_fwrite_inline (f, "0123456789abcdef0123456789abcdef", "behind", NULL, 0, &err);
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
}

/* All streams, in another partition each time: sizes, then data, one after the other or by pointers. */
static void read_shares (group_t g, scda_fcontext_t *f, uint64_t streams, int set, uint64_t tasks) {
  uint64_t *Nq = (uint64_t *) get_memory ((size_t) g.size * sizeof *Nq);
  int err = -1;
  for (int turn = 0; turn < 4; ++turn) {
    uint64_t first = 0;
    for (int p = 0; p < g.size; ++p) {
      const uint64_t q = (uint64_t) p, size = (uint64_t) g.size;
      Nq[p] = tasks * (q + 1) / size - tasks * q / size;
      if (turn % 2 == 1) { Nq[p] = p == turn % g.size ? tasks : 0; } /* all on one rank */
      if (p < g.rank) { first += Nq[p]; }
    }
    const uint64_t n = Nq[g.rank], skipped = turn < 2 ? n : n / 2;
    uint64_t *Ei = (uint64_t *) get_memory (n * sizeof *Ei), bytes = 0, wrong = 0;
    unsigned char **pointers = (unsigned char **) get_memory (n * sizeof *pointers);
    f = scda_fread_streams_sizes (f, streams, turn == 3 ? NULL : Ei, Nq, &err);
    REQUIRE (f != NULL && err == 0);
    for (uint64_t i = 0; i < n; ++i) {
      if (turn == 3) { Ei[i] = stream_bytes ((int) (first + i)); }
      CHECK (Ei[i] == stream_bytes ((int) (first + i)));
      bytes += Ei[i];
    }
    unsigned char *data = (unsigned char *) get_memory (bytes), *next = data;
    memset (data, 0, bytes);
    for (uint64_t i = 0; i < n; next += Ei[i++]) { pointers[i] = i == skipped ? NULL : next; }
    void *room = turn < 2 ? (void *) data : (void *) pointers;
    f = scda_fread_streams_data (f, streams, n == 0 ? NULL : room, Nq, Ei, turn >= 2, &err);
    REQUIRE (f != NULL && err == 0);
    next = data;
    for (uint64_t i = 0; i < n; next += Ei[i++]) {
      for (uint64_t j = 0; j < Ei[i]; ++j) {
        wrong += next[j] != (i == skipped ? 0 : byte_of (set, (int) (first + i), j));
      }
    }
    CHECK (wrong == 0);
    f = scda_fread_streams_data (f, streams, NULL, Nq, NULL, 0, &err);
    REQUIRE (f != NULL && err == 0);
    free (data), free (pointers), free (Ei);
  }
  free (Nq);
}

static void read_file (group_t g, const char *filename, int writers) {
  int err = -1;
  uint64_t tasks = 0, chunk_bytes = 0, sets[4], streams = 1;
  char user[SCDA_USER_STRING_BYTES + 1];
  scda_fcontext_t *f = scda_fopen_read (g.comm, filename, user, NULL, NULL, &err);
  REQUIRE (f != NULL);
  /* All are found before any is read: each call says which set it means. */
  for (int record = -2; record < 2; ++record) {
    tasks = chunk_bytes = 0;
    f = scda_ffind_streams (f, "log", NULL, record, &sets[record + 2], &tasks, &chunk_bytes, &err);
    REQUIRE (f != NULL && sets[record + 2] != 0 && tasks == (uint64_t) writers && chunk_bytes == chunk);
  }
  CHECK (sets[0] == sets[2] && sets[1] == sets[3] && sets[0] != sets[1]);
  for (int record = -2; record < 2; ++record) {
    streams = sets[record + 2];
    /* Each rank begins with another one, and some read fewer. */
    for (int i = 0; i < writers - g.rank % 2; ++i) {
      const int task = (g.rank + i) % writers, set = (record + 2) % 2;
      uint64_t bytes = 1, wrong = 0;
      REQUIRE (scda_stream_size (f, streams, (uint64_t) task, &bytes, &err) == 0 && bytes == stream_bytes (task));
      const uint64_t first = bytes / (uint64_t) (g.rank + 2), n = bytes - first - bytes / 5;
      unsigned char *data = (unsigned char *) get_memory (bytes + 1);
      REQUIRE (scda_stream_read (f, streams, (uint64_t) task, 0, data, bytes, &err) == 0);
      for (uint64_t j = 0; j < bytes; ++j) { wrong += data[j] != byte_of (set, task, j); }
      REQUIRE (scda_stream_read (f, streams, (uint64_t) task, first, data, n, &err) == 0);
      for (uint64_t j = 0; j < n; ++j) { wrong += data[j] != byte_of (set, task, first + j); }
      CHECK (wrong == 0);
      /* An error leaves the file open. */
      CHECK (scda_stream_read (f, streams, (uint64_t) task, bytes, data, 1, &err) == -1 && err == SCDA_ERR_ARG);
      CHECK (scda_stream_read (f, streams, (uint64_t) task, UINT64_MAX, data, 2, &err) == -1 && err == SCDA_ERR_ARG);
      CHECK (bytes == 0 || (scda_stream_read (f, streams, (uint64_t) task, 0, NULL, 1, &err) == -1 && err == SCDA_ERR_ARG));
      free (data);
    }
    read_shares (g, f, streams, (record + 2) % 2, tasks);
    CHECK (scda_stream_size (f, streams, tasks, &(uint64_t){0}, &err) == -1 && err == SCDA_ERR_ARG);
    CHECK (scda_stream_size (f, streams, 0, NULL, &err) == -1 && err == SCDA_ERR_ARG);
  }
  f = scda_ffind_streams (f, "log", NULL, 2, &streams, NULL, NULL, &err);
  REQUIRE (f != NULL && streams == 0);
  CHECK (scda_stream_size (f, streams, 0, &(uint64_t){0}, &err) == -1 && err == SCDA_ERR_ARG);
  CHECK (scda_stream_write (f, NULL, 0, &err) == -1 && err == SCDA_ERR_USAGE);
  CHECK (info_of (f).stream_bytes == 0 && info_of (NULL).stream_bytes == 0);
  REQUIRE (scda_fclose (f, &err) == 0);
}

/* What one rank does wrong it learns at once, and the others when all meet. */
static void errors (group_t g, const char *filename) {
  const int last = g.rank == g.size - 1;
  int err = -1;
  scda_fcontext_t *f = scda_fopen_write (g.comm, filename, "errors", NULL, bare (), &err);
  f = scda_fwrite_streams_begin (f, "s", NULL, 0, &err);
  REQUIRE (f != NULL);
  if (last) { CHECK (scda_stream_write (f, NULL, 1, &err) == -1 && err == SCDA_ERR_ARG); }
  else { CHECK (scda_stream_write (f, "x", 1, &err) == 0); }
  CHECK (scda_fwrite_streams_end (f, &err) == NULL && err == SCDA_ERR_ARG);

  f = scda_fopen_write (g.comm, filename, "errors", NULL, bare (), &err);
  CHECK (scda_fwrite_streams_end (f, &err) == NULL && err == SCDA_ERR_USAGE);
  f = scda_fopen_write (g.comm, filename, "errors", NULL, bare (), &err);
  if (last) { CHECK (scda_stream_write (f, "x", 1, &err) == -1 && err == SCDA_ERR_USAGE); }
  CHECK (scda_fflush (f, &err) == NULL && err == SCDA_ERR_USAGE);
  f = scda_fopen_write (g.comm, filename, "errors", NULL, bare (), &err);
  CHECK (scda_fwrite_streams_begin (f, "s", NULL, UINT64_C (1) << 31, &err) == NULL && err == SCDA_ERR_ARG);
  f = scda_fopen_write (g.comm, filename, "errors", NULL, bare (), &err);
  f = scda_fwrite_streams_begin (f, "s", NULL, 0, &err);
  REQUIRE (f != NULL);
  CHECK (scda_fclose (f, &err) == -1 && err == SCDA_ERR_USAGE);
  CHECK (scda_stream_write (NULL, "x", 1, &err) == -1 && err == SCDA_ERR_USAGE); /* of the call before */
  err = 0;
  CHECK (scda_stream_write (NULL, "x", 1, &err) == -1 && err == SCDA_ERR_ARG);
}

/* What one rank gives wrong for its share is an error of all. */
static void wrong_shares (group_t g, const char *filename) {
  const int last = g.rank == g.size - 1;
  uint64_t *Nq = (uint64_t *) get_memory ((size_t) g.size * sizeof *Nq), Ei[2] = {0, 0};
  for (int wrong = 0; wrong < 8; ++wrong) {
    int err = -1;
    uint64_t set = 0, tasks = 0;
    scda_fcontext_t *f = scda_fopen_read (g.comm, filename, NULL, NULL, NULL, &err);
    f = scda_ffind_streams (f, wrong == 0 ? "none" : "log", NULL, -1, &set, &tasks, NULL, &err);
    REQUIRE (f != NULL && (set != 0) == (wrong > 0));
    for (int p = 0; p < g.size; ++p) { Nq[p] = 1; }
    if (wrong == 1) { Nq[0] = 2; }
    if (wrong == 2) { Nq[g.size - 1] = UINT64_MAX / 2; }
    f = scda_fread_streams_sizes (f, set, wrong == 3 && last ? (uint64_t *) ((char *) Ei + 1) : Ei, wrong == 4 && last ? NULL : Nq, &err);
    if (wrong < 5) {
      CHECK (f == NULL && err == (wrong == 2 && g.size > 1 ? SCDA_ERR_RANGE : SCDA_ERR_ARG));
      continue;
    }
    REQUIRE (f != NULL && Ei[0] == stream_bytes (g.rank));
    char *data = (char *) get_memory (Ei[0] + 1);
    if (last && wrong < 7) { Ei[0] += 1; }
    if (wrong == 7 && last) { set += 1; } /* no set: only this rank knows */
    f = scda_fread_streams_data (f, set, data, Nq, wrong == 5 && last ? NULL : Ei, 0, &err);
    CHECK (f == NULL && err == SCDA_ERR_ARG);
    free (data);
  }
  free (Nq);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2);
  const group_t g = world ();
  write_file (g, argv[1]);
  read_file (g, argv[1], g.size);
  /* Any other number of ranks reads it. */
  if (g.size > 1) {
    group_t part = group_split (g, g.rank == 0, g.rank);
    read_file (part, argv[1], g.size);
    group_free (&part);
  }
  barrier (g);
  wrong_shares (g, argv[1]);
  errors (g, argv[1]);
  return finish ();
}
