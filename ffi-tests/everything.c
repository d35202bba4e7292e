#include "everything.h"
#include <scda_bind.h>

enum { elems = 100, bytes = 40, most_ranks = 64 };

static uint64_t Nq[most_ranks], other[most_ranks]; /* two partitions */
static char data[elems * bytes];
static uint64_t Ei[elems];

static void prepare (group_t g) {
  REQUIRE (g.size <= most_ranks);
  memset (data, 'd', sizeof data);
  for (int p = 0; p < g.size; ++p) {
    Nq[p] = elems / (uint64_t) g.size + ((uint64_t) p < elems % (uint64_t) g.size);
    other[p] = p == g.size - 1 ? elems : 0;
  }
  for (int i = 0; i < elems; ++i) { Ei[i] = (uint64_t) (i % bytes); }
}

/* After each call: go on only without error. The codes are compared at the end, for a comparison here would let ranks meet
 * that a program does not let meet. */
static int ok (scda_fcontext_t *f, int err) {
  CHECK ((f == NULL) == (err != 0));
  return f != NULL && err == 0;
}

/* A dataset, of which each rank has some columns: their chunks are exchanged. As text, the last rank has all of it. */
static void describe (group_t g, int as_text, scda_dataset_t *d, uint64_t *start, uint64_t *count) {
  REQUIRE (scda_dataset_init (d) == 0);
  strcpy (d->name, as_text ? "x/text" : "x/chunks");
  d->type = SCDA_TYPE_INT32, d->encode = as_text ? SCDA_ENCODE_TEXT : SCDA_ENCODE_ALWAYS, d->ndims = 2;
  d->shape[0] = 16, d->shape[1] = 60, d->chunk[0] = 3, d->chunk[1] = 8;
  start[0] = start[1] = 0, count[0] = 16, count[1] = g.rank == g.size - 1 ? 60 : 0;
  if (!as_text) {
    start[1] = 60 * (uint64_t) g.rank / (uint64_t) g.size;
    count[1] = 60 * (uint64_t) (g.rank + 1) / (uint64_t) g.size - start[1];
  }
}

/* The datasets, a field and the attributes of a group. */
static scda_fcontext_t *write_datasets (group_t g, scda_fcontext_t *f, int *err) {
  uint64_t start[2], count[2];
  scda_dataset_t d;
  for (int as_text = 0; as_text < 2 && ok (f, *err); ++as_text) {
    describe (g, as_text, &d, start, count);
    f = scda_fwrite_dataset (f, &d, data, 1, start, count, err);
  }
  if (ok (f, *err)) { /* both in one call */
    scda_dataset_t both[2];
    scda_box_t boxes[2];
    uint64_t starts[2][2], counts[2][2];
    for (int k = 0; k < 2; ++k) {
      describe (g, k, &both[k], starts[k], counts[k]);
      REQUIRE (scda_box_init (&boxes[k]) == 0);
      boxes[k].data = data, boxes[k].start = starts[k], boxes[k].count = counts[k];
    }
    f = scda_fwrite_datasets (f, 2, both, NULL, boxes, err);
  }
  if (ok (f, *err)) { f = scda_fwrite_field (f, "x/field", SCDA_TYPE_INT32, data, scda_own_count (Nq, g.rank), 3, SCDA_ENCODE_AUTO, err); }
  if (ok (f, *err)) { f = scda_fwrite_group (f, "x", "{\"a\":1}", err); }
  return f;
}

/* The bytes that a rank writes to its stream at once; some write none. */
static uint64_t piece_bytes (int rank) { return (uint64_t) ((rank + 1) % 3) * 700; }

/* A set of streams, of two parts if there is a commit in between. What fails on one rank alone makes all fail where they next meet. */
static scda_fcontext_t *write_streams (group_t g, scda_fcontext_t *f, int commit, int *err) {
  int mine = 0;
  f = scda_fwrite_streams_begin (f, "stream", NULL, 512, err);
  for (int k = 0; ok (f, *err) && k < 2; ++k) {
    if (k == 1 && commit) { f = scda_fcommit (f, err); }
    if (!ok (f, *err)) { break; }
    CHECK (mine == 0 || !commit);
    if (mine == 0) { CHECK ((scda_stream_write (f, data, piece_bytes (g.rank), &mine) == 0) == (mine == 0)); }
    CHECK (mine != 0 || info_of (f).stream_bytes == (uint64_t) (k + 1) * piece_bytes (g.rank));
  }
  if (ok (f, *err)) {
    f = scda_fwrite_streams_end (f, err);
    CHECK (mine == 0 || f == NULL);
  }
  return f;
}

/* All streams, on the last rank. */
static scda_fcontext_t *read_share (group_t g, scda_fcontext_t *f, uint64_t set, int *err) {
  uint64_t parts[most_ranks] = {0}, sizes[most_ranks], n = 0;
  static char got[most_ranks * 2 * 2 * 700];
  parts[g.size - 1] = (uint64_t) g.size;
  f = scda_fread_streams_sizes (f, set, sizes, parts, err);
  if (!ok (f, *err)) { return f; }
  for (uint64_t i = 0; i < parts[g.rank]; ++i) { n += sizes[i]; }
  REQUIRE (n <= sizeof got);
  memset (got, 0, sizeof got);
  f = scda_fread_streams_data (f, set, got, parts, sizes, 0, err);
  for (uint64_t i = 0; ok (f, *err) && i < n; ++i) { CHECK (got[i] == 'd'); }
  return f;
}

/* The stream that the next rank has written. */
static scda_fcontext_t *read_streams (group_t g, scda_fcontext_t *f, int *err) {
  const int task = (g.rank + 1) % g.size;
  int mine = 0;
  uint64_t set = 0, tasks = 0, n = 0;
  static char got[2 * 2 * 700];
  f = scda_ffind_streams (f, "stream", NULL, -1, &set, &tasks, NULL, err);
  if (!ok (f, *err)) { return f; }
  CHECK (set != 0 && tasks == (uint64_t) g.size);
  if (scda_stream_size (f, set, (uint64_t) task, &n, &mine) == 0) {
    REQUIRE (n == 2 * piece_bytes (task));
    memset (got, 0, sizeof got);
    const int read = scda_stream_read (f, set, (uint64_t) task, 0, got, n, &mine) == 0;
    for (uint64_t i = 0; read && i < n; ++i) { CHECK (got[i] == 'd'); }
  }
  if (mine != 0) { f = scda_refuse (f, scda_last_error_message (), err); } /* the others learn of it where all next meet */
  return ok (f, *err) ? read_share (g, f, set, err) : f;
}

/* Both datasets in one call, each rank all of the text and columns of the chunks, which overlap those of others. */
static scda_fcontext_t *read_both (group_t g, scda_fcontext_t *f, int *err) {
  static const int64_t last[2] = {-1, -1};
  static int32_t items[2][16 * 60];
  scda_dataset_t both[2];
  scda_box_t boxes[2];
  uint64_t starts[2][2], counts[2][2];
  for (int k = 0; k < 2; ++k) {
    describe (g, k, &both[k], starts[k], counts[k]);
    REQUIRE (scda_box_init (&boxes[k]) == 0);
    boxes[k].data = items[k], boxes[k].start = starts[k], boxes[k].count = counts[k];
  }
  starts[0][1] -= starts[0][1] > 5 ? 5 : 0, counts[1][1] = 60;
  memset (items, 0, sizeof items);
  f = scda_fread_datasets (f, 2, both, last, NULL, boxes, err);
  for (int k = 0; ok (f, *err) && k < 2; ++k) {
    for (uint64_t i = 0; i < 16 * counts[k][1]; ++i) { CHECK (items[k][i] == 0x64646464); }
  }
  return f;
}

/* Reads a dataset that was listed. */
static scda_fcontext_t *read_listed (group_t g, scda_fcontext_t *f, const scda_entry_t *e, int *err) {
  const uint64_t start[4] = {2, 3, 0, 10}, count[4] = {(uint64_t) (2 + g.rank % 3), 7, 1, 1};
  static int32_t items[12 * 7];
  int found = 0;
  scda_dataset_t d;
  REQUIRE (scda_dataset_init (&d) == 0);
  f = scda_ffind_dataset (f, e->name, e->record, &found, &d, err);
  if (!ok (f, *err)) { return f; }
  REQUIRE (found == 1);
  const int field = strcmp (d.name, "x/field") == 0;
  const uint64_t first[2] = {elems / 2, 0}, rows[2] = {10, 3};
  memset (items, 0, sizeof items);
  f = scda_fread_dataset (f, &d, items, field ? 1 : 2, field ? first : start, field ? rows : count, err);
  for (uint64_t i = 0; ok (f, *err) && i < (field ? 30 : count[0] * 7 + 1); ++i) { CHECK (items[i] == 0x64646464); }
  return f;
}

/* Every function for writing, plain and encoded, small and large. */
int write_everything (group_t g, const char *filename, const scda_params_t *params) {
  int err = -1;
  prepare (g);
  uint64_t Sq[most_ranks];
  scda_fcontext_t *f = scda_fopen_write (g.comm, filename, "injected", NULL, params != NULL ? params : bare (), &err);
  const uint64_t *sizes = Ei + first_of (Nq, g.rank);
  for (int k = 0; ok (f, err) && k < 24; ++k) {
    const int encode = k % 8 < 4 ? SCDA_ENCODE_NONE : k < 16 ? SCDA_ENCODE_ALWAYS : SCDA_ENCODE_AUTO;
    if (k % 4 == 0) { f = scda_fwrite_inline (f, data, "x", NULL, k % g.size, &err); }
    if (k % 4 == 1) { f = scda_fwrite_block (f, data, k < 8 ? sizeof data / 2 : sizeof data, "x", NULL, k % g.size, encode, &err); }
    if (k % 4 == 2) { f = scda_fwrite_array (f, data, Nq, bytes, 0, "x", NULL, encode, &err); }
    if (k % 4 == 3) {
      f = k < 8 ? f : scda_proc_sizes (f, sizes, Nq, Sq, &err);
      if (!ok (f, err)) { break; }
      f = scda_fwrite_varray (f, data, Nq, sizes, k < 8 ? NULL : Sq, 0, "x", NULL, encode, &err);
    }
    if (ok (f, err) && k == 12) { f = scda_fflush (f, &err); }
  }
  if (ok (f, err)) { f = write_datasets (g, f, &err); }
  if (ok (f, err)) { f = write_streams (g, f, 0, &err); }
  if (f != NULL && err == 0) { CHECK ((scda_fclose (f, &err) == 0) == (err == 0)); }
  return err;
}

/* Add a row for each rank to the field. */
static scda_fcontext_t *extend_field (group_t g, scda_fcontext_t *f, int *err) {
  const uint64_t start[2] = {(uint64_t) g.rank, 0}, count[2] = {1, 3};
  scda_dataset_t d;
  REQUIRE (scda_dataset_init (&d) == 0);
  snprintf (d.name, sizeof d.name, "x/field");
  d.type = SCDA_TYPE_INT32, d.ndims = 2, d.shape[0] = (uint64_t) g.size, d.shape[1] = 3, d.extends = 1;
  return scda_fwrite_dataset (f, &d, data, 1, start, count, err);
}

/* The last rows of the field, of which one may have been added. */
static scda_fcontext_t *read_field (scda_fcontext_t *f, int *err) {
  int32_t items[6] = {0};
  int found = 0;
  scda_dataset_t d;
  REQUIRE (scda_dataset_init (&d) == 0);
  f = scda_ffind_dataset (f, "x/field", SCDA_LAST, &found, &d, err);
  if (!ok (f, *err)) { return f; }
  CHECK (found == 1 && d.shape[0] >= elems);
  const uint64_t start[2] = {elems - 1, 0}, count[2] = {d.shape[0] > elems ? 2 : 1, 3};
  f = scda_fread_dataset (f, &d, items, 1, start, count, err);
  for (uint64_t i = 0; ok (f, *err) && i < 3 * count[0]; ++i) { CHECK (items[i] == 0x64646464); }
  return f;
}

/* Append to a sealed file: every kind of section plain, streams with a commit, every kind encoded; attributes and rows added later. */
int append_everything (group_t g, const char *filename, const scda_params_t *params) {
  int err = -1;
  char user[SCDA_USER_STRING_BYTES + 1];
  prepare (g);
  scda_fcontext_t *f = scda_fopen_append (g.comm, filename, user, NULL, params, &err);
  for (int k = 0; ok (f, err) && k < 8; ++k) {
    const int encode = k < 4 ? SCDA_ENCODE_NONE : SCDA_ENCODE_ALWAYS;
    if (k == 4) { f = write_streams (g, f, 1, &err); }
    if (!ok (f, err)) { break; }
    if (k % 4 == 0) { f = scda_fwrite_inline (f, data, "x", NULL, k % g.size, &err); }
    if (k % 4 == 1) { f = scda_fwrite_block (f, data, sizeof data, "x", NULL, k % g.size, encode, &err); }
    if (k % 4 == 2) { f = scda_fwrite_array (f, data, Nq, bytes, 0, "x", NULL, encode, &err); }
    if (k % 4 == 3) { f = scda_fwrite_varray (f, data, Nq, Ei + first_of (Nq, g.rank), NULL, 0, "x", NULL, encode, &err); }
  }
  if (ok (f, err)) { f = scda_fset_attributes (f, "x/chunks", 0, "{\"units\": \"m\"}", &err); }
  if (ok (f, err)) { f = extend_field (g, f, &err); }
  if (ok (f, err)) { f = scda_fset_attributes (f, "x/", -1, "{\"a\": 2}", &err); }
  if (ok (f, err)) { f = extend_field (g, f, &err); }
  if (f != NULL && err == 0) { CHECK ((scda_fclose (f, &err) == 0) == (err == 0)); }
  return err;
}

/* Every function for reading. */
int read_everything (group_t g, const char *filename, const scda_params_t *params) {
  int err = -1, decode;
  uint64_t N, E, sizes[elems], Sq[most_ranks];
  static char found[elems * bytes];
  char type = 0, user[SCDA_USER_STRING_BYTES + 1];
  prepare (g);
  scda_fcontext_t *f = scda_fopen_read (g.comm, filename, user, NULL, params, &err);
  scda_entry_t e;
  REQUIRE (scda_entry_init (&e) == 0);
  for (int k = 0; ok (f, err); ++k) {
    f = scda_fnext_entry (f, &e, &err);
    if (f != NULL && err == SCDA_ERR_EOF) {
      err = 0;
      break;
    }
    if (!ok (f, err)) { break; }
    if (e.kind == SCDA_ENTRY_DATASET) { f = read_listed (g, f, &e, &err); }
    if (e.kind != SCDA_ENTRY_SECTION) { continue; }
    decode = 1;
    f = scda_fseek (f, e.section, &err);
    if (ok (f, err)) { f = scda_fread_section_header (f, &type, &N, &E, user, NULL, &decode, &err); }
    if (!ok (f, err)) { break; }
    memset (found, 0, sizeof found);
    const uint64_t *part = k % 3 ? Nq : other;
    if (type == 'I') { f = scda_fread_inline_data (f, found, 0, &err); }
    if (type == 'B') { f = scda_fread_block_data (f, found, E, 0, &err); }
    if (type == 'A') { f = scda_fread_array_data (f, found, part, E, 0, &err); }
    if (type == 'V') {
      f = scda_fread_varray_sizes (f, sizes, part, &err);
      if (ok (f, err) && k % 2) { f = scda_proc_sizes (f, sizes, part, Sq, &err); }
      if (ok (f, err)) { f = scda_fread_varray_data (f, found, part, sizes, NULL, 0, &err); }
    }
    if (ok (f, err)) { /* all data are the same byte */
      uint64_t wanted = g.rank == 0 ? (type == 'I' ? SCDA_INLINE_BYTES : E) : 0;
      if (type == 'A') { wanted = part[g.rank] * E; }
      for (uint64_t i = 0; type != 'V' && i < wanted; ++i) { CHECK (found[i] == 'd'); }
    }
  }
  int is_there = 0;
  if (ok (f, err)) { f = read_streams (g, f, &err); }
  if (ok (f, err)) { f = read_both (g, f, &err); }
  if (ok (f, err)) { f = read_field (f, &err); }
  if (ok (f, err)) { f = scda_ffind_dataset (f, "x/text", SCDA_LAST, &is_there, NULL, &err); }
  if (ok (f, err)) { f = scda_ffind_group (f, "x", &is_there, NULL, &err); }
  if (f != NULL && err == 0) { CHECK (is_there == 1 && (scda_fclose (f, &err) == 0) == (err == 0)); }
  return err;
}

int file_begins_with (const char *a, const char *b) {
  FILE *fa = fopen (a, "rb"), *fb = fopen (b, "rb");
  static char bytes[2][1 << 16];
  int begins = fa != NULL && fb != NULL;
  for (size_t n = 1; begins && n > 0;) {
    n = fread (bytes[0], 1, sizeof bytes[0], fb);
    begins = fread (bytes[1], 1, n, fa) == n && memcmp (bytes[0], bytes[1], n) == 0;
  }
  if (fa != NULL) { fclose (fa); }
  if (fb != NULL) { fclose (fb); }
  return begins;
}

void copy_file (const char *from, const char *to, const char *after) {
  FILE *in = fopen (from, "rb"), *out = fopen (to, "wb");
  static char bytes[1 << 16];
  REQUIRE (in != NULL && out != NULL);
  for (size_t n; (n = fread (bytes, 1, sizeof bytes, in)) > 0;) { REQUIRE (fwrite (bytes, 1, n, out) == n); }
  REQUIRE (fwrite (after, 1, strlen (after), out) == strlen (after));
  REQUIRE (fclose (in) == 0 && fclose (out) == 0);
}
