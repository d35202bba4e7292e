/* Datasets: of all types, 0 to 7 dimensions and every layout, written in any boxes by any ranks, one by one or several in a call, are the same bytes; any boxes are read on
 * any ranks, of one dataset or of several in a call; records and groups are found; wrong arguments, on one rank or on all, and damaged files give the right error on all ranks.
 *
 *   datasets DIR    on 1 rank first: it leaves in DIR the reference files, and for each NAME.txt and NAME.raw: what it holds (see
 *                   scda_datasets.py)
 *
 * On more ranks, the world is split in two in every way, as in matrix.c: 8 ranks give every number from 1 to 8. */
#include "boxes.h"
#include <scda_bind.h>
#include "variants.h"

enum { most_dims = 7, most_tiles = 3 * 3 * 3 * 3 * 3 * 3 * 3, most_ranks = 64, num_datasets = 67, num_records = 3,
  most_together = 6, most_boxes = 4, most_wanted = 3 * num_datasets, level = 6 };

static const struct { const char *name; int size, number; } types[] = {
  {"none", 0, 0}, {"bool", 1, 1}, {"int8", 1, 1}, {"int16", 2, 2}, {"int32", 4, 4}, {"int64", 8, 8}, {"uint8", 1, 1}, {"uint16", 2, 2},
  {"uint32", 4, 4}, {"uint64", 8, 8}, {"float16", 2, 2}, {"float32", 4, 4}, {"float64", 8, 8}, {"complex64", 8, 4},
  {"complex128", 16, 8}, {"raw", 0, 1},
};

/* ---- a dataset in memory, the same on all ranks ---- */

typedef struct {
  scda_dataset_t d;
  uint64_t items, bytes; /* in all */
  unsigned char *data;   /* with the fill value where nothing is written */
  /* The array is cut at these indices: dimension k at cut[k][0] = 0 to cut[k][pieces[k]] = shape[k]. Nobody writes the tiles whose
   * number divided by 4 leaves `gap`. */
  int pieces[most_dims], tiles, gap;
  uint64_t cut[most_dims][4];
  int field; /* 0, or a field of that many components */
  int encode;
  unsigned char fill[64];
  const char *names[most_dims];
} array_t;

static array_t arrays[num_datasets];

static uint64_t item_bytes (const array_t *a) { return a->d.item_bytes ? a->d.item_bytes : (uint64_t) types[a->d.type].size; }

/* Box from `start`, `count`: copy between the array and memory that has nothing but the box. */
static void copy_box (const array_t *a, const uint64_t *start, const uint64_t *count, unsigned char *array, unsigned char *box, int to_box) {
  uint64_t index[most_dims] = {0}, size = item_bytes (a), at = 0;
  const int n = a->d.ndims;
  for (int k = 0; k < n; ++k) {
    if (count[k] == 0) { return; }
  }
  for (;;) {
    uint64_t place = 0;
    for (int k = 0; k < n; ++k) { place = place * a->d.shape[k] + start[k] + index[k]; }
    if (to_box) { memcpy (box + at, array + place * size, size); }
    else { memcpy (array + place * size, box + at, size); }
    at += size;
    int k = n - 1;
    while (k >= 0 && ++index[k] == count[k]) { index[k--] = 0; }
    if (k < 0) { return; }
  }
}

static void tile_box (const array_t *a, int tile, uint64_t *start, uint64_t *count) {
  for (int k = a->d.ndims - 1; k >= 0; --k) {
    const int i = tile % a->pieces[k];
    tile /= a->pieces[k];
    start[k] = a->cut[k][i], count[k] = a->cut[k][i + 1] - a->cut[k][i];
  }
}

static uint64_t items_of (const uint64_t *count, int n) {
  uint64_t items = 1;
  for (int k = 0; k < n; ++k) { items *= count[k]; }
  return items;
}

/* The value of an item: smooth for some, noise for others; never what no item of the type can be. */
static void put_item (const array_t *a, uint64_t seed, uint64_t i, unsigned char *to) {
  const uint64_t noise = mix (seed, i), v = seed % 2 ? noise : 3 * i + seed % 100;
  const int half = types[a->d.type].number;
  const double real = (double) (int64_t) (v % 100000) / 8 - 77;
  const float single = (float) real;
  switch (a->d.type) {
  case SCDA_TYPE_BOOL: *to = v & 1; break;
  case SCDA_TYPE_FLOAT32: memcpy (to, &single, 4); break;
  case SCDA_TYPE_FLOAT64: memcpy (to, &real, 8); break;
  case SCDA_TYPE_COMPLEX64: memcpy (to, &single, 4), memcpy (to + half, &single, 4), to[5] ^= (unsigned char) v; break;
  case SCDA_TYPE_COMPLEX128: memcpy (to, &real, 8), memcpy (to + half, &real, 8), to[9] ^= (unsigned char) v; break;
  default:
    for (uint64_t b = 0; b < item_bytes (a); ++b) { to[b] = (unsigned char) (v >> 8 * (b % 8)); }
  }
}

static array_t *make (int which, uint64_t seed) {
  array_t *a = &arrays[which];
  uint64_t rng = mix (seed, (uint64_t) which);
  memset (a, 0, sizeof *a);
  REQUIRE (scda_dataset_init (&a->d) == 0);
  scda_dataset_t *d = &a->d;
  const int plain = 3 * 15; /* every type in every layout; then some more */
  static const int encode[] = { SCDA_ENCODE_NONE, SCDA_ENCODE_ALWAYS, SCDA_ENCODE_TEXT, SCDA_ENCODE_AUTO };
  d->type = which < plain ? 1 + which % 15 : which == plain ? SCDA_TYPE_INT8 : SCDA_TYPE_FLOAT64;
  d->encode = encode[which < plain ? which / 15 : which % 4];
  d->ndims = which < plain ? which % 8 : 1 + (int) below (&rng, 3);
  a->gap = which % 3 == 1 ? (int) below (&rng, 4) : -1;
  if (d->type == SCDA_TYPE_RAW) { d->item_bytes = 1 + below (&rng, 23); }
  uint64_t room = 4000;
  for (int k = 0; k < d->ndims; ++k) {
    d->shape[k] = 1 + below (&rng, k < 2 ? 24 : 6);
    if (d->shape[k] > room) { d->shape[k] = 1; }
    room /= d->shape[k];
  }
  if (which == plain) { d->ndims = 2, d->shape[0] = 300, d->shape[1] = 301, d->encode = SCDA_ENCODE_NONE; } /* to be aligned */
  if (which == plain + 1) { d->ndims = 2, d->shape[0] = 0, d->shape[1] = 3, d->encode = SCDA_ENCODE_NONE; }
  if (which == plain + 2) { d->ndims = 2, d->shape[0] = 4, d->shape[1] = 0, d->encode = SCDA_ENCODE_ALWAYS; }
  if (which == plain + 3) { a->gap = 4; } /* nothing is written at all */
  if (which == plain + 4) { d->ndims = 3, d->shape[0] = d->shape[1] = d->shape[2] = 40, d->encode = SCDA_ENCODE_ALWAYS; }
  if (which >= plain + 5 && which < plain + 11) { /* fields */
    a->field = which % 2 ? 1 : 3, a->encode = (which - plain - 5) / 2, a->gap = -1;
    d->ndims = a->field == 1 ? 1 : 2;
    d->shape[1] = a->field == 1 ? 0 : 3;
    d->encode = a->encode;
  }
  if (which >= num_datasets - num_records) { snprintf (d->name, sizeof d->name, "flow/step"); }
  else { snprintf (d->name, sizeof d->name, "%s/%s-%d", which % 2 ? "flow" : "a/b", types[d->type].name, which); }
  if (a->field == 0) {
    if (d->encode != SCDA_ENCODE_NONE && below (&rng, 3) > 0) {
      for (int k = 0; k < d->ndims; ++k) { d->chunk[k] = 1 + below (&rng, d->shape[k] + 2); } /* also larger than the array */
    }
    d->level = (int) below (&rng, 11) - 1;
    /* Those that scda_datasets.py reads; tests/datasets has Pcodec, too. */
    static const int codecs[] = {SCDA_CODEC_ZSTD, SCDA_CODEC_LZ4, SCDA_CODEC_ZLIB};
    d->codec = codecs[below (&rng, 3)];
    d->shuffle = below (&rng, 4) > 0;
    if (below (&rng, 2)) { d->attributes = "{\"units\":\"m/s\",\"long name\":\"\u00fc \\u0001\",\"n\":[1.50,1e300]}"; }
    if (below (&rng, 2)) {
      for (int k = 0; k < d->ndims; ++k) { a->names[k] = below (&rng, 3) ? "y \u00e9" : NULL; }
      d->dimension_names = a->names;
    }
    if (below (&rng, 2)) {
      const uint64_t which_fill = mix (seed, 999);
      put_item (a, which_fill | 1, 7, a->fill);
      d->fill_value = a->fill;
    }
  }
  /* The content: tiles, and what nobody writes. */
  a->items = items_of (d->shape, d->ndims), a->bytes = a->items * item_bytes (a);
  a->data = (unsigned char *) get_memory (a->bytes);
  for (uint64_t i = 0; i < a->items; ++i) { memcpy (a->data + i * item_bytes (a), a->fill, item_bytes (a)); }
  a->tiles = 1;
  for (int k = 0; k < d->ndims; ++k) {
    a->pieces[k] = 1 + (int) below (&rng, d->ndims < 4 ? 3 : 2);
    a->cut[k][a->pieces[k]] = d->shape[k];
    for (int i = 1; i < a->pieces[k]; ++i) { a->cut[k][i] = a->cut[k][i - 1] + below (&rng, d->shape[k] - a->cut[k][i - 1] + 1); }
    a->tiles *= a->pieces[k];
  }
  unsigned char *box = (unsigned char *) get_memory (a->bytes);
  for (int t = 0; t < a->tiles; ++t) {
    uint64_t start[most_dims], count[most_dims];
    if (a->gap == 4 || t % 4 == a->gap) { continue; }
    tile_box (a, t, start, count);
    for (uint64_t i = 0; i < items_of (count, d->ndims); ++i) { put_item (a, seed + (uint64_t) which, i, box + i * item_bytes (a)); }
    copy_box (a, start, count, a->data, box, 0);
  }
  free (box);
  return a;
}

/* ---- writing ---- */

static scda_fcontext_t *write_field (group_t g, scda_fcontext_t *f, const array_t *a, uint64_t *rng) {
  uint64_t Nq[most_ranks];
  int err;
  unsigned char *data = (unsigned char *) get_memory (a->bytes);
  partition (rng, a->d.shape[0], g.size, Nq);
  uint64_t first[most_dims] = {first_of (Nq, g.rank), 0}, rows[most_dims] = {Nq[g.rank], a->d.shape[1]};
  copy_box (a, first, rows, a->data, data, 1);
  /* The counts of all ranks, a partition of them, and each rank's own count are the same. */
  const void *items = Nq[g.rank] ? data : NULL;
  const uint64_t way = below (rng, 4), components = (uint64_t) a->field;
  scda_partition_t p;
  if (way == 0) {
    RIGHT (scda_fwrite_field (f, a->d.name, a->d.type, items, Nq[g.rank], components, a->encode, &err));
  } else {
    p = way == 1 ? scda_partition_local (f, Nq[g.rank], &err) : scda_partition_counts (f, Nq, &err);
    CHECK (err == 0 && p.offset == first[0] && p.count == Nq[g.rank] && p.total == a->d.shape[0]);
    CHECK (scda_own_count (p.Nq, g.rank) == p.count && scda_own_count (Nq, g.rank) == p.count);
    const uint64_t *parts = way == 3 ? Nq : p.Nq;
    RIGHT (scda_fwrite_field_parts (f, a->d.name, a->d.type, items, parts, components, a->encode, &err));
  }
  free (data);
  return f;
}

/* What this rank has of an array: boxes, and their items one after the other. */
typedef struct {
  const unsigned char *data;
  size_t boxes;
  const uint64_t *start, *count;
  unsigned char *items;                                                /* memory for them */
  uint64_t starts[most_tiles * most_dims], counts[most_tiles * most_dims];
} mine_t;

static void choose (group_t g, const array_t *a, mine_t *mine, uint64_t *rng) {
  const int n = a->d.ndims, kind = (int) below (rng, 4);
  const uint64_t salt = rnd (rng);
  uint64_t Nq[most_ranks], bytes = 0, *start = mine->starts, *count = mine->counts;
  mine->items = (unsigned char *) get_memory (a->bytes);
  mine->boxes = 0, mine->start = start, mine->count = count, mine->data = mine->items;
  if (n > 0) { partition (rng, a->d.shape[0], g.size, Nq); }
  if (kind == 0 && a->gap < 0) { /* all from one rank, in the short form */
    mine->boxes = (uint64_t) g.rank == salt % (uint64_t) g.size;
    mine->data = mine->boxes ? a->data : NULL, mine->start = mine->count = NULL;
  }
  else if (kind == 1 && a->gap < 0 && n > 0) { /* rows in the order of the ranks */
    for (int k = 0; k < n; ++k) { start[k] = k ? 0 : first_of (Nq, g.rank), count[k] = k ? a->d.shape[k] : Nq[g.rank]; }
    copy_box (a, start, count, a->data, mine->items, 1);
    mine->boxes = 1;
  }
  else { /* tiles, each from any rank; in some cases half of the ranks have none */
    const uint64_t ranks = kind == 2 ? (uint64_t) (g.size + 1) / 2 : (uint64_t) g.size;
    for (int t = 0; t < a->tiles; ++t) {
      if (a->gap == 4 || t % 4 == a->gap || mix (salt, (uint64_t) t) % ranks != (uint64_t) g.rank) { continue; }
      tile_box (a, t, start, count);
      copy_box (a, start, count, a->data, mine->items + bytes, 1);
      bytes += items_of (count, n) * item_bytes (a);
      start += n, count += n, ++mine->boxes;
    }
    if (bytes == 0) { mine->data = NULL; }
    if (mine->boxes == 0) { mine->start = mine->count = NULL; }
  }
}

/* Arrays that follow one another, in one call. */
static scda_fcontext_t *write_arrays (group_t g, scda_fcontext_t *f, const array_t *a, int n, uint64_t *rng) {
  static mine_t mine[most_together];
  static scda_box_t box[most_together * most_tiles];
  boxes_t apart[most_together];
  scda_dataset_t d[most_together];
  size_t boxes[most_together], all = 0;
  int err;
  uint64_t own = mix (*rng, (uint64_t) g.rank);
  for (int k = 0; k < n; ++k) {
    const mine_t *m = &mine[k];
    choose (g, &a[k], &mine[k], rng);
    d[k] = a[k].d, boxes[k] = m->boxes;
    apart[k].box = NULL;
    /* Each rank has them in one piece, or each box in memory of its own. */
    if (below (&own, 2)) { init_boxes (box + all, m->boxes, d[k].ndims, m->data, m->start, m->count); }
    else {
      apart[k] = scatter_boxes (m->boxes, d[k].ndims, d[k].shape, item_bytes (&a[k]), m->data, m->start, m->count, &own);
      memcpy (box + all, apart[k].box, m->boxes * sizeof *box);
    }
    all += m->boxes;
  }
  const mine_t *m = &mine[0];
  if (n == 1 && below (rng, 2)) { RIGHT (scda_fwrite_dataset (f, d, m->data, m->boxes, m->start, m->count, &err)); }
  else { RIGHT (scda_fwrite_datasets (f, (size_t) n, d, boxes, all > 0 ? box : NULL, &err)); }
  for (int k = 0; k < n; ++k) {
    if (apart[k].box != NULL) { free_boxes (&apart[k]); }
    free (mine[k].items);
  }
  return f;
}

static const char *const groups[][2] = {
  {"/", "{\"title\":\"a test\",\"code\":{\"name\":\"datasets.c\",\"version\":[1,2]}}"}, {"flow", "{}"}, {"a/b", "{\"time\":0.50}"},
  {"flow", "{\"time\":1e-300}"}, /* replaces the attributes above */
};
enum { num_groups = sizeof groups / sizeof groups[0] };

/* Which section stands before which dataset: a group, or something that is no dataset. */
static int group_before (int which) { return which % 16 == 3 && which / 16 < num_groups ? which / 16 : -1; }
static int other_before (int which) { return which % 16 == 5 ? which / 16 % 4 : -1; }

static void write_file (group_t g, const char *name, uint64_t seed, const scda_params_t *params) {
  uint64_t rng = seed;
  int err;
  scda_fcontext_t *f;
  static const char text[] = "these are thirty-two bytes, yes.";
  RIGHT (scda_fopen_write (g.comm, name, "datasets", NULL, params != NULL ? params : bare (), &err));
  for (int k = 0; k < num_datasets;) {
    uint64_t Nq[most_ranks] = {2}, Ei[2] = {5, 11};
    const int own = g.rank == 0;
    if (group_before (k) >= 0) {
      const char *attributes = groups[group_before (k)][1];
      RIGHT (scda_fwrite_group (f, groups[group_before (k)][0], strcmp (attributes, "{}") ? attributes : NULL, &err));
    }
    switch (other_before (k)) {
    case 0: RIGHT (scda_fwrite_inline (f, text, "I", NULL, 0, &err)); break;
    case 1: RIGHT (scda_fwrite_block (f, text, 32, "scda dataset", NULL, 0, SCDA_ENCODE_NONE, &err)); break;
    case 2: RIGHT (scda_fwrite_array (f, own ? text : NULL, Nq, 16, 0, "A", NULL, SCDA_ENCODE_ALWAYS, &err)); break;
    case 3: RIGHT (scda_fwrite_varray (f, own ? text : NULL, Nq, own ? Ei : NULL, NULL, 0, "V", NULL, SCDA_ENCODE_NONE, &err)); break;
    default: break;
    }
    if (arrays[k].field) {
      f = write_field (g, f, &arrays[k++], &rng);
      continue;
    }
    const int most = 1 + (int) below (&rng, most_together);
    int n = 1;
    while (n < most && k + n < num_datasets && !arrays[k + n].field && group_before (k + n) < 0 && other_before (k + n) < 0) { ++n; }
    f = write_arrays (g, f, &arrays[k], n, &rng);
    k += n;
  }
  RIGHT (scda_fwrite_datasets (f, 0, NULL, NULL, NULL, &err));
  CLOSE ();
}

/* ---- reading ---- */

static void compare (const array_t *a, const scda_dataset_t *found) {
  const scda_dataset_t *d = &a->d;
  const int n = d->ndims, layout = found->encode;
  REQUIRE (found->size == sizeof *found && strcmp (found->name, d->name) == 0 && found->type == d->type && found->ndims == n);
  CHECK (found->item_bytes == item_bytes (a) && found->unsupported == NULL);
  for (int k = 0; k < SCDA_MAX_DIMS; ++k) {
    CHECK (found->shape[k] == (k < n ? d->shape[k] : 0));
    if (k >= n || layout == SCDA_ENCODE_NONE) { CHECK (found->chunk[k] == 0); }
    else { CHECK (found->chunk[k] > 0 && (d->chunk[k] == 0 || found->chunk[k] == d->chunk[k])); }
  }
  if (d->encode == SCDA_ENCODE_AUTO) { CHECK (layout == SCDA_ENCODE_NONE || layout == SCDA_ENCODE_ALWAYS); }
  else { CHECK (layout == d->encode); }
  if (layout == SCDA_ENCODE_ALWAYS) {
    const int by_default = d->codec == SCDA_CODEC_ZLIB ? level : 1;
    CHECK (found->codec == d->codec && found->level == (d->level < 0 ? by_default : d->level));
  }
  else { CHECK (found->level == -1); }
  if (layout != SCDA_ENCODE_NONE && item_bytes (a) > 1) { CHECK (found->shuffle == d->shuffle); }
  CHECK (strcmp (found->attributes, d->attributes ? d->attributes : "{}") == 0);
  CHECK (memcmp (found->fill_value, a->fill, item_bytes (a)) == 0 && (size_t) found->fill_value % (size_t) types[d->type].number == 0);
  CHECK ((found->dimension_names == NULL) == (d->dimension_names == NULL || n == 0));
  for (int k = 0; found->dimension_names != NULL && k < n; ++k) {
    const char *x = found->dimension_names[k], *y = d->dimension_names[k];
    CHECK ((x == NULL) == (y == NULL) && (x == NULL || strcmp (x, y) == 0));
  }
}

/* Boxes that this rank reads of an array, and room for their items. */
typedef struct {
  size_t boxes;
  uint64_t start[most_boxes * most_dims], count[most_boxes * most_dims], bytes;
  unsigned char *data;
} wanted_t;

/* No box, one that is all of the array, or any, also boxes of nothing. */
enum { nothing, everything, anything };

static void want (const array_t *a, int kind, wanted_t *w, uint64_t *own) {
  const size_t n = (size_t) a->d.ndims;
  w->boxes = kind == anything ? (size_t) below (own, most_boxes + 1) : kind == everything, w->bytes = 0;
  for (size_t b = 0; b < w->boxes; ++b) {
    for (size_t k = 0; k < n; ++k) {
      uint64_t *first = &w->start[b * n + k], *number = &w->count[b * n + k];
      *first = below (own, a->d.shape[k] + 1);
      *number = below (own, a->d.shape[k] - *first + 1);
      if (kind == everything || below (own, 3) == 0) { *first = 0, *number = a->d.shape[k]; }
    }
    w->bytes += items_of (w->count + b * n, (int) n) * item_bytes (a);
  }
  w->data = (unsigned char *) get_memory (w->bytes);
  w->data[w->bytes] = 0xa5;
}

/* They are there, and nothing after them. */
static void check_received (const array_t *a, wanted_t *w) {
  const size_t n = (size_t) a->d.ndims;
  unsigned char *expected = (unsigned char *) get_memory (w->bytes);
  uint64_t at = 0;
  for (size_t b = 0; b < w->boxes; ++b) {
    copy_box (a, w->start + b * n, w->count + b * n, a->data, expected + at, 1);
    at += items_of (w->count + b * n, (int) n) * item_bytes (a);
  }
  REQUIRE (w->data[w->bytes] == 0xa5 && memcmp (w->data, expected, (size_t) w->bytes) == 0);
  free (expected);
  free (w->data);
}

/* Any boxes of a dataset on each rank. */
static scda_fcontext_t *read_boxes (scda_fcontext_t *f, const scda_dataset_t *d, const array_t *a, uint64_t *rng, uint64_t *own) {
  wanted_t w;
  int err;
  for (uint64_t rounds = below (rng, 3); rounds > 0; --rounds) {
    want (a, anything, &w, own);
    const int some = w.boxes > 0 && a->d.ndims > 0;
    if (below (rng, 2)) {
      RIGHT (scda_fread_dataset (f, d, w.bytes ? w.data : NULL, w.boxes, some ? w.start : NULL, some ? w.count : NULL, &err));
    }
    else {
      boxes_t b = scatter_boxes (w.boxes, a->d.ndims, a->d.shape, item_bytes (a), w.data, w.start, w.count, own);
      RIGHT (scda_fread_boxes (f, d, w.boxes, b.box, &err));
      gather_boxes (&b, a->d.ndims, a->d.shape, item_bytes (a), w.data);
      free_boxes (&b);
    }
    check_received (a, &w);
  }
  if (below (rng, 2)) { /* all of it, on some ranks */
    const int mine = below (own, 2) == 0;
    unsigned char *data = (unsigned char *) get_memory (a->bytes);
    RIGHT (scda_fread_dataset (f, d, mine ? data : NULL, (size_t) mine, NULL, NULL, &err));
    REQUIRE (!mine || memcmp (data, a->data, (size_t) a->bytes) == 0);
    free (data);
  }
  return f;
}

/* Every section in turn. */
static void walk (group_t g, const char *name, uint64_t seed, const variant_t *v) {
  uint64_t rng = seed, own = mix (seed, (uint64_t) g.rank);
  int err, decode, found, datasets = 0, others = 0, seen = 0;
  char type, user[SCDA_USER_STRING_BYTES + 1];
  const char *attributes;
  scda_dataset_t d;
  scda_entry_t e;
  scda_params_t params = params_of (v);
  scda_fcontext_t *f;
  REQUIRE (scda_dataset_init (&d) == 0);
  RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, &params, &err));
  REQUIRE (scda_entry_init (&e) == 0);
  for (;;) {
    found = 77;
    f = scda_fnext_entry (f, &e, &err);
    REQUIRE (f != NULL && (err == 0 || err == SCDA_ERR_EOF));
    if (err == SCDA_ERR_EOF) { break; }
    if (e.kind == SCDA_ENTRY_DATASET) {
      const array_t *a = &arrays[datasets];
      const int is_record = datasets >= num_datasets - num_records;
      REQUIRE (datasets < num_datasets);
      CHECK (e.record == (is_record ? datasets - (num_datasets - num_records) : 0) && e.records == (is_record ? num_records : 1));
      RIGHT (scda_ffind_dataset (f, e.name, e.record, &found, &d, &err));
      REQUIRE (found == 1);
      compare (a, &d);
      CHECK (strcmp (e.name, d.name) == 0 && e.type == d.type && e.E == d.item_bytes && e.ndims == d.ndims);
      CHECK (memcmp (e.shape, d.shape, sizeof e.shape) == 0 && e.end == e.section + 2);
      f = read_boxes (f, &d, a, &rng, &own);
      ++datasets;
      continue;
    }
    if (e.kind == SCDA_ENTRY_GROUP) {
      RIGHT (scda_ffind_group (f, e.name, &found, &attributes, &err));
      REQUIRE (found == 1);
      /* Of a group that was written twice, only the attributes that count are listed. */
      int k = 0;
      while (k < num_groups && (strcmp (e.name, groups[k][0]) != 0 || strcmp (attributes, groups[k][1]) != 0)) { ++k; }
      CHECK (k < num_groups && e.record + 1 == e.records);
      seen += (int) e.records;
      continue;
    }
    REQUIRE (e.kind == SCDA_ENTRY_SECTION);
    ++others;
    const uint64_t N = e.N, E = e.E;
    uint64_t Nq[most_ranks] = {2};
    decode = 1;
    RIGHT (scda_fseek (f, e.section, &err));
    RIGHT (scda_fread_section_header (f, &type, NULL, NULL, user, NULL, &decode, &err));
    CHECK (type == (char) e.letter && strcmp (user, e.name) == 0 && (type != 'A' || N == 2));
    char bytes[33] = {0};
    if (type == 'I') { RIGHT (scda_fread_inline_data (f, bytes, 0, &err)); }
    if (type == 'B') { RIGHT (scda_fread_block_data (f, bytes, E, 0, &err)); }
    if (type == 'A') { RIGHT (scda_fread_array_data (f, g.rank ? NULL : bytes, Nq, E, 0, &err)); }
    if (type == 'V') { RIGHT (scda_fread_varray_range (f, NULL, 0, 0, NULL, 0, &err)); }
    if (type != 'V' && g.rank == 0) { CHECK (strcmp (bytes, "these are thirty-two bytes, yes.") == 0); }
  }
  CHECK (datasets == num_datasets && seen == num_groups && others == 4);
  CLOSE ();
}

static void look_up (group_t g, const char *name, uint64_t seed, const variant_t *v) {
  uint64_t rng = seed, own = mix (seed, (uint64_t) g.rank);
  int err, found;
  const char *attributes = NULL;
  scda_dataset_t d;
  scda_params_t params = params_of (v);
  scda_fcontext_t *f;
  REQUIRE (scda_dataset_init (&d) == 0);
  RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, &params, &err));
  for (int round = 0; round < (world ().size == 1 ? 60 : 20); ++round) {
    const int which = (int) below (&rng, num_datasets), first = num_datasets - num_records;
    const int64_t record = which < first ? (int64_t) below (&rng, 2) - 1 : below (&rng, 2) ? which - first : which - num_datasets;
    found = 77;
    RIGHT (scda_ffind_dataset (f, arrays[which].d.name, record, &found, g.rank % 2 && round % 2 ? NULL : &d, &err));
    CHECK (found == 1);
    if (!(g.rank % 2 && round % 2)) { compare (&arrays[which], &d); }
    REQUIRE (scda_dataset_init (&d) == 0);
    RIGHT (scda_ffind_dataset (f, arrays[which].d.name, record, &found, &d, &err));
    f = read_boxes (f, &d, &arrays[which], &rng, &own);
    const int64_t beyond = below (&rng, 2) ? num_records : -1 - num_records;
    RIGHT (scda_ffind_dataset (f, round % 3 ? "flow/step" : "nowhere", beyond, &found, &d, &err));
    CHECK (found == 0);
    RIGHT (scda_ffind_group (f, "nowhere", &found, &attributes, &err));
    CHECK (found == 0);
    const int k = 1 + (int) below (&rng, num_groups - 1);
    RIGHT (scda_ffind_group (f, groups[k][0], &found, &attributes, &err));
    CHECK (found == 1 && strcmp (attributes, k == 1 ? groups[3][1] : groups[k][1]) == 0);
  }
  RIGHT (scda_ffind_group (f, "/", &found, &attributes, &err));
  CHECK (found == 1 && strcmp (attributes, groups[0][1]) == 0);
  CLOSE ();
}

/* Several datasets in one call: in any order, also none or one many times, any boxes of each on each rank. */
static void look_up_several (group_t g, const char *name, uint64_t seed, const variant_t *v) {
  static wanted_t w[most_wanted];
  static scda_dataset_t d[most_wanted];
  uint64_t rng = seed, own = mix (seed, (uint64_t) g.rank);
  int err;
  scda_params_t params = params_of (v);
  scda_fcontext_t *f;
  RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, &params, &err));
  RIGHT (scda_fread_datasets (f, 0, NULL, NULL, NULL, NULL, &err));
  for (int round = 0; round < (world ().size == 1 ? 12 : 6); ++round) {
    const int n = round == 0 ? most_wanted : 1 + (int) below (&rng, 9), with_records = round % 3 != 1;
    const int form = (int) below (&own, 4), first = num_datasets - num_records;
    int which[most_wanted];
    int64_t record[most_wanted];
    static scda_box_t box[most_wanted * most_boxes];
    boxes_t apart[most_wanted];
    size_t boxes[most_wanted], all = 0;
    for (int k = 0; k < n; ++k) {
      which[k] = round == 0 ? k * 5 % num_datasets : (int) below (&rng, (uint64_t) (with_records ? num_datasets : first + 1));
      /* Without records, the last one of its name. */
      if (!with_records && which[k] == first) { which[k] = num_datasets - 1; }
      const array_t *a = &arrays[which[k]];
      record[k] = which[k] < first ? (int64_t) below (&rng, 2) - 1 : below (&rng, 2) ? which[k] - first : which[k] - num_datasets;
      /* The name, the type and the shape, or all that the struct can say. */
      if (below (&own, 2)) { d[k] = a->d; }
      else {
        REQUIRE (scda_dataset_init (&d[k]) == 0);
        strcpy (d[k].name, a->d.name);
        d[k].type = a->d.type, d[k].ndims = a->d.ndims, d[k].item_bytes = below (&own, 2) ? item_bytes (a) : a->d.item_bytes;
        memcpy (d[k].shape, a->d.shape, sizeof d[k].shape);
      }
      /* All of each, all or nothing of each, any boxes, nothing at all. */
      want (a, form == 0 ? everything : form == 1 ? (int) below (&own, 2) : form == 2 ? anything : nothing, &w[k], &own);
      const int is_all = form < 2;
      boxes[k] = w[k].boxes, apart[k].box = NULL;
      if (below (&own, 2)) {
        init_boxes (box + all, boxes[k], a->d.ndims, w[k].data, is_all ? NULL : w[k].start, is_all ? NULL : w[k].count);
      }
      else {
        apart[k] = scatter_boxes (boxes[k], a->d.ndims, a->d.shape, item_bytes (a), w[k].data, w[k].start, w[k].count, &own);
        memcpy (box + all, apart[k].box, boxes[k] * sizeof *box);
      }
      all += boxes[k];
    }
    RIGHT (scda_fread_datasets (f, (size_t) n, d, with_records ? record : NULL, form == 0 ? NULL : boxes, all > 0 ? box : NULL, &err));
    for (int k = 0; k < n; ++k) {
      const array_t *a = &arrays[which[k]];
      if (apart[k].box != NULL) { gather_boxes (&apart[k], a->d.ndims, a->d.shape, item_bytes (a), w[k].data), free_boxes (&apart[k]); }
      check_received (a, &w[k]);
    }
    RIGHT (scda_fread_datasets (f, 0, NULL, NULL, NULL, NULL, &err));
  }
  CLOSE ();
}

/* What the reference file holds, for scda_datasets.py: a line for each dataset, and all items one after the other. */
static void describe (const char *dir, const char *name) {
  char path[1200];
  snprintf (path, sizeof path, "%s/%s.txt", dir, name);
  FILE *text = fopen (path, "w");
  snprintf (path, sizeof path, "%s/%s.raw", dir, name);
  FILE *raw = fopen (path, "wb");
  REQUIRE (text != NULL && raw != NULL);
  for (int which = 0; which < num_datasets; ++which) {
    const array_t *a = &arrays[which];
    fprintf (text, "%s %s %d %d %d", a->d.name, types[a->d.type].name, (int) item_bytes (a), a->d.encode, a->d.shuffle);
    for (int k = 0; k < a->d.ndims; ++k) { fprintf (text, " %d", (int) a->d.shape[k]); }
    fputc ('\n', text);
    REQUIRE (fwrite (a->data, 1, a->bytes, raw) == a->bytes);
  }
  REQUIRE (fclose (text) == 0 && fclose (raw) == 0);
}

static void round_trip (group_t g, const char *dir, int variant, uint64_t seed) {
  const variant_t *v = &variants[variant];
  char mine[1024], reference[1024];
  scda_params_t params = params_of (v);
  params.level = level;
  snprintf (reference, sizeof reference, "%s/%s.scda", dir, v->name);
  snprintf (mine, sizeof mine, "%s/%d-%016llx.scda", dir, variant, (unsigned long long) seed);
  if (world ().size == 1 && variant < 2) {
    write_file (g, reference, seed, &params);
    describe (dir, v->name);
  }
  write_file (g, mine, seed + 1, &params);
  barrier (g);
  if (g.rank == 0 && !files_equal (mine, reference, 0)) {
    fprintf (stderr, "datasets.c: %d ranks, variant %d: %s and %s differ\n", g.size, variant, mine, reference);
    ++failures;
  }
  barrier (g);
  walk (g, mine, seed, v);
  look_up (g, mine, seed, v);
  look_up_several (g, mine, seed, v);
  barrier (g);
  if (g.rank == 0) { unlink (mine); }
}

/* Whether a file is also an HDF5 file. */
static int is_hdf5 (group_t g, const char *name) {
  static const char signature[8] = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
  char found[8] = "";
  barrier (g);
  FILE *file = fopen (name, "rb");
  REQUIRE (file != NULL && fseek (file, 512, SEEK_SET) == 0);
  const int is = fread (found, 1, sizeof found, file) == sizeof found && memcmp (found, signature, sizeof found) == 0;
  REQUIRE (fclose (file) == 0);
  barrier (g);
  return is;
}

/* Views of HDF5: never; when the file is closed, by 0 and 1; at each commit. They show what follows other sections, too. */
static void views (group_t g, const char *dir) {
  char name[1100];
  snprintf (name, sizeof name, "%s/views-%d.scda", dir, g.size);
  for (int hdf5 = -1; hdf5 < 4; ++hdf5) {
    int err;
    const double number = 0.5;
    scda_params_t params;
    scda_dataset_t d;
    CHECK (scda_params_init (&params) == 0);
    params.hdf5 = hdf5;
    scda_fcontext_t *f = scda_fopen_write (g.comm, name, "views", NULL, &params, &err);
    if (hdf5 == 3) {
      CHECK (f == NULL && err == SCDA_ERR_ARG);
      break;
    }
    RIGHT (scda_fwrite_block (f, "calm", 4, "notes", NULL, 0, SCDA_ENCODE_NONE, &err));
    CHECK (scda_dataset_init (&d) == 0);
    strcpy (d.name, "t");
    d.type = SCDA_TYPE_FLOAT64;
    RIGHT (scda_fwrite_dataset (f, &d, &number, g.rank == 0, NULL, NULL, &err));
    RIGHT (scda_fcommit (f, &err));
    CHECK (is_hdf5 (g, name) == (hdf5 == 2));
    CLOSE ();
    CHECK (is_hdf5 (g, name) == (hdf5 >= 0));
    if (hdf5 == -1) {
      params.hdf5 = 2;
      CHECK (scda_fopen_append (g.comm, name, NULL, NULL, &params, &err) == NULL && err == SCDA_ERR_ARG);
    }
  }
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2 && world ().size <= most_ranks);
  const group_t all = world ();
  views (all, argv[1]);
  for (int k = 0; k < num_datasets; ++k) { make (k, 20261122); }
  for (int a = (all.size + 1) / 2; a <= all.size; ++a) {
    const int color = all.rank < a;
    group_t g = group_split (all, color, color ? -all.rank : all.rank);
    for (int variant = 0; variant < 4; ++variant) {
      if (all.size > 1 && (variant + a) % 4 != 0) { continue; } /* each number of ranks one of them */
      round_trip (g, argv[1], variant, mix ((uint64_t) (10 * a + color), (uint64_t) variant));
    }
    group_free (&g);
  }
  for (int k = 0; k < num_datasets; ++k) { free (arrays[k].data); }
  return finish ();
}
