/* libscda and the bytes alone in the patterns of patterns.c. */
#include "patterns.h"

#include <errno.h>
#include <fcntl.h>
#include <scda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void succeed (int err) {
  if (err != SCDA_SUCCESS) { die ("libscda: %s", scda_last_error_message ()); }
}

/* ---- Datasets ---- */

static scda_dataset_t dataset_of (const variable_t *v, storage_t storage) {
  scda_dataset_t d;
  scda_dataset_init (&d);
  snprintf (d.name, sizeof d.name, "%s", v->name);
  static const int types[] = {[FLOAT64] = SCDA_TYPE_FLOAT64, [FLOAT32] = SCDA_TYPE_FLOAT32, [INT32] = SCDA_TYPE_INT32,
                              [INT64] = SCDA_TYPE_INT64};
  d.type = types[v->type];
  d.ndims = v->dims;
  memcpy (d.shape, v->shape, sizeof v->shape);
  if (storage != CONTIGUOUS) {
    d.encode = SCDA_ENCODE_ALWAYS;
    memcpy (d.chunk, v->chunk, sizeof v->chunk);
    static const int codecs[] = {[ZSTD] = SCDA_CODEC_ZSTD, [LZ4] = SCDA_CODEC_LZ4, [PCODEC] = SCDA_CODEC_PCODEC,
                                 [ZLIB_6] = SCDA_CODEC_ZLIB, [ZLIB_1] = SCDA_CODEC_ZLIB};
    d.codec = codecs[storage];
    if (storage >= ZLIB_6) { d.level = storage == ZLIB_6 ? 6 : 1; } /* of the others: the default */
  }
  return d;
}

/* A call for each. */
void scda_write_pattern (const pattern_t *p, storage_t storage, const char *file) {
  int err;
  scda_params_t bare;
  scda_params_init (&bare);
  bare.seal = 0; /* as its peers */
  scda_fcontext_t *f = scda_fopen_write (p->comm, file, "benchmark", NULL, &bare, &err);
  succeed (err);
  for (int i = 0; i < p->variables; ++i) {
    const variable_t *v = p->variable + i;
    const scda_dataset_t d = dataset_of (v, storage);
    f = scda_fwrite_dataset (f, &d, v->data, v->boxes, v->start, v->count, &err);
    succeed (err);
  }
  scda_fclose (f, &err);
  succeed (err);
}

void scda_read_pattern (const pattern_t *p, storage_t storage, const char *file) {
  (void) storage;
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
    f = scda_fread_dataset (f, &d, v->data, v->boxes, v->start, v->count, &err);
    succeed (err);
  }
  scda_fclose (f, &err);
  succeed (err);
}

/* What a call for all of them takes. */
typedef struct {
  scda_dataset_t *d;
  size_t *nboxes;
  scda_box_t *boxes;
} together_t;

static together_t put_together (const pattern_t *p, storage_t storage) {
  const size_t n = (size_t) p->variables;
  together_t all;
  size_t boxes = 0;
  for (size_t i = 0; i < n; ++i) { boxes += p->variable[i].boxes; }
  all.d = allocate (n * sizeof *all.d);
  all.nboxes = allocate (n * sizeof *all.nboxes);
  all.boxes = allocate ((boxes + 1) * sizeof *all.boxes);
  boxes = 0;
  for (size_t i = 0; i < n; ++i) {
    const variable_t *v = p->variable + i;
    all.d[i] = dataset_of (v, storage);
    all.nboxes[i] = v->boxes;
    for (size_t k = 0; k < v->boxes; ++k) { /* one box after the other */
      scda_box_t *b = all.boxes + boxes++;
      scda_box_init (b);
      b->data = k == 0 ? v->data : NULL;
      b->start = v->start + k * (size_t) all.d[i].ndims;
      b->count = v->count + k * (size_t) all.d[i].ndims;
    }
  }
  return all;
}

static void take_apart (together_t all) {
  free (all.d);
  free (all.nboxes);
  free (all.boxes);
}

static void write_together (const pattern_t *p, storage_t storage, const char *file, int seal, int sync) {
  const together_t all = put_together (p, storage);
  scda_params_t params;
  scda_params_init (&params);
  params.seal = seal;
  params.sync = sync;
  int err;
  scda_fcontext_t *f = scda_fopen_write (p->comm, file, "benchmark", NULL, &params, &err);
  succeed (err);
  f = scda_fwrite_datasets (f, (size_t) p->variables, all.d, all.nboxes, all.boxes, &err);
  succeed (err);
  scda_fclose (f, &err);
  succeed (err);
  take_apart (all);
}

void scda_write_together (const pattern_t *p, storage_t storage, const char *file) { write_together (p, storage, file, 0, 0); }
void scda_write_sealed (const pattern_t *p, storage_t storage, const char *file) { write_together (p, storage, file, 1, 0); }
void scda_write_synced (const pattern_t *p, storage_t storage, const char *file) { write_together (p, storage, file, 0, 1); }

void scda_read_together (const pattern_t *p, storage_t storage, const char *file) {
  const together_t all = put_together (p, storage);
  int err;
  scda_fcontext_t *f = scda_fopen_read (p->comm, file, NULL, NULL, NULL, &err);
  succeed (err);
  f = scda_fread_datasets (f, (size_t) p->variables, all.d, NULL, all.nboxes, all.boxes, &err);
  succeed (err);
  scda_fclose (f, &err);
  succeed (err);
  take_apart (all);
}

/* ---- The same without metadata: array sections, for data in rows ---- */

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

void arrays_write_pattern (const pattern_t *p, storage_t storage, const char *file) {
  (void) storage;
  int err;
  scda_params_t bare;
  scda_params_init (&bare);
  bare.seal = 0; /* as its peers */
  scda_fcontext_t *f = scda_fopen_write (p->comm, file, "benchmark", NULL, &bare, &err);
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

void arrays_read_pattern (const pattern_t *p, storage_t storage, const char *file) {
  (void) storage;
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

/* ---- The bytes alone, each variable from a page's boundary on: pwrite and pread of each piece ---- */

static void posix_move (int fd, char *data, uint64_t bytes, uint64_t at, int writing) {
  while (bytes > 0) { /* Linux moves 2 GiB at most at a time */
    const ssize_t n = writing ? pwrite (fd, data, bytes, (off_t) at) : pread (fd, data, bytes, (off_t) at);
    if (n <= 0) { die ("POSIX: %s", n == 0 ? "the file is too short" : strerror (errno)); }
    data += n;
    bytes -= (uint64_t) n;
    at += (uint64_t) n;
  }
}

/* A box in pieces that are as long as the array allows. */
static char *posix_move_box (int fd, const variable_t *v, const uint64_t *start, const uint64_t *count, uint64_t first, char *data,
                             int writing) {
  int dims = v->dims; /* of the pieces' places: those after are whole, or a part of the last of them */
  uint64_t items = 1, pieces = 1, at[MOST_DIMS];
  do { items *= count[--dims]; } while (dims > 0 && count[dims] == v->shape[dims]);
  for (int d = 0; d < dims; ++d) { pieces *= count[d]; }
  if (items == 0) { return data; }
  memcpy (at, start, (size_t) v->dims * sizeof *at);
  for (uint64_t piece = 0; piece < pieces; ++piece) {
    uint64_t item = 0;
    for (int d = 0; d < v->dims; ++d) { item = item * v->shape[d] + at[d]; }
    const uint64_t bytes = items * item_bytes (v->type);
    posix_move (fd, data, bytes, first + item * item_bytes (v->type), writing);
    data += bytes;
    for (int d = dims - 1; d >= 0; --d) {
      if (++at[d] < start[d] + count[d]) { break; }
      at[d] = start[d];
    }
  }
  return data;
}

static void posix_move_pattern (const pattern_t *p, const char *file, int writing) {
  int fd = -1;
  if (writing && p->rank == 0) { fd = open (file, O_CREAT | O_WRONLY, 0666); }
  if (writing) { MPI_Barrier (p->comm); }
  if (fd < 0) { fd = open (file, writing ? O_WRONLY : O_RDONLY); }
  if (fd < 0) { die ("%s: %s", file, strerror (errno)); }
  uint64_t first = 0;
  for (int i = 0; i < p->variables; ++i) {
    const variable_t *v = p->variable + i;
    char *data = v->data;
    for (uint64_t b = 0; b < v->boxes; ++b) {
      data = posix_move_box (fd, v, v->start + b * (uint64_t) v->dims, v->count + b * (uint64_t) v->dims, first, data, writing);
    }
    first += (v->shape[0] * row_bytes (v) + 4095) & ~UINT64_C (4095);
  }
  if (close (fd) != 0) { die ("%s: %s", file, strerror (errno)); }
}

void posix_write_pattern (const pattern_t *p, storage_t storage, const char *file) { (void) storage, posix_move_pattern (p, file, 1); }
void posix_read_pattern (const pattern_t *p, storage_t storage, const char *file) { (void) storage, posix_move_pattern (p, file, 0); }
