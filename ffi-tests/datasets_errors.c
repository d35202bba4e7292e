/* What goes wrong with datasets: each mistake in each argument, on all ranks, on the first or on the last one alone, gives the same error
 * on all ranks, at once with params.check, else when the ranks meet next; damaged files and files that are none of ours.
 *
 *   datasets_errors DIR */
#include "boxes.h"
#include <scda_bind.h>
#include "sections.h"

static group_t g;
static char name[1200];

/* ---- mistakes in writing ---- */

typedef struct { const char *what; int want; } mistake_t;

static const mistake_t writing[] = {
  {"no dataset", SCDA_ERR_ARG}, {"size", SCDA_ERR_ARG}, {"name without NUL", SCDA_ERR_ARG},
  {"no name", SCDA_ERR_ARG}, {"name with a slash at its end", SCDA_ERR_ARG}, {"name not UTF-8", SCDA_ERR_ARG},
  {"reserved name", SCDA_ERR_ARG}, {"name too long", SCDA_ERR_ARG}, {"no type", SCDA_ERR_ARG}, {"type", SCDA_ERR_ARG},
  {"ndims below 0", SCDA_ERR_ARG}, {"ndims 33", SCDA_ERR_ARG}, {"item_bytes of a number", SCDA_ERR_ARG}, {"item_bytes 0", SCDA_ERR_ARG},
  {"item_bytes of too many", SCDA_ERR_ARG}, {"shape too large", SCDA_ERR_RANGE}, {"chunk of a contiguous dataset", SCDA_ERR_ARG},
  {"chunk 0 in one dimension", SCDA_ERR_ARG}, {"chunk too large", SCDA_ERR_RANGE}, {"encode", SCDA_ERR_ARG}, {"level 10", SCDA_ERR_ARG},
  {"level -2", SCDA_ERR_ARG}, {"shuffle", SCDA_ERR_ARG}, {"extends 2", SCDA_ERR_ARG}, {"extends, not sealed", SCDA_ERR_USAGE}, {"codec 99", SCDA_ERR_ARG}, {"relative error 1", SCDA_ERR_ARG}, {"absolute error -1", SCDA_ERR_ARG}, {"attributes no object", SCDA_ERR_ARG}, {"attributes no JSON", SCDA_ERR_ARG},
  {"attributes not UTF-8", SCDA_ERR_ARG}, {"attributes with a key twice", SCDA_ERR_ARG}, {"dimension name not UTF-8", SCDA_ERR_ARG},
  {"fill value of a bool", SCDA_ERR_ARG},
  /* of one rank */
  {"no data", SCDA_ERR_ARG}, {"no start", SCDA_ERR_ARG}, {"no count", SCDA_ERR_ARG}, {"two boxes, neither", SCDA_ERR_ARG},
  {"box beyond", SCDA_ERR_ARG}, {"box far beyond", SCDA_ERR_ARG}, {"boxes without number", SCDA_ERR_RANGE},
  {"size of a box", SCDA_ERR_ARG}, {"stride too large", SCDA_ERR_RANGE},
  /* of fields and groups */
  {"field without name", SCDA_ERR_ARG}, {"field of raw items", SCDA_ERR_ARG}, {"field without components", SCDA_ERR_ARG},
  {"field without Nq", SCDA_ERR_ARG}, {"field, encode", SCDA_ERR_ARG}, {"field without data", SCDA_ERR_ARG},
  {"field too large", SCDA_ERR_RANGE}, {"group without path", SCDA_ERR_ARG}, {"group, path", SCDA_ERR_ARG}, {"group, attributes", SCDA_ERR_ARG},
};
enum { num_writing = sizeof writing / sizeof writing[0] };

/* Each rank has one of the rows, the first one all that are left. */
enum { rows = 70, most_ranks = 64 };

/* Whether the dataset is written together with others. */
static int several;

static int is (int k, const char *what) { return strcmp (writing[k].what, what) == 0; }

/* The call that is wrong in this way, or the same call made right. */
static scda_fcontext_t *write_one (scda_fcontext_t *f, int k, int wrong, int *err) {
  static double data[rows * 2];
  static char truth[8];
  scda_dataset_t d;
  REQUIRE (scda_dataset_init (&d) == 0);
  uint64_t own = 1, Nq[most_ranks];
  for (int p = 0; p < g.size; ++p) { Nq[p] = p ? 1 : (uint64_t) (rows - g.size + 1); }
  own = Nq[g.rank];
  uint64_t start[4] = {first_of (Nq, g.rank), 0, 0, 0}, count[4] = {own, 2, 0, 0};
  const uint64_t *starts = start, *counts = count;
  const void *items = data;
  static const int64_t far_apart[2] = {INT64_MAX, INT64_MAX};
  size_t boxes = 1;
  strcpy (d.name, "wrong");
  d.type = SCDA_TYPE_FLOAT64, d.ndims = 2, d.shape[0] = rows, d.shape[1] = 2;
  const char *names[2] = {"y", NULL};
  const scda_dataset_t *dp = &d;
  if (strncmp (writing[k].what, "group", 5) == 0) {
    const char *path = is (k, "group without path") && wrong ? NULL : is (k, "group, path") && wrong ? "g//" : "g";
    return scda_fwrite_group (f, path, is (k, "group, attributes") && wrong ? "3" : "{}", err);
  }
  if (strncmp (writing[k].what, "field", 5) == 0) {
    uint64_t many[most_ranks] = {0};
    many[0] = (uint64_t) 1 << 62;
    const char *of = wrong && is (k, "field without name") ? NULL : "wrong";
    const int type = wrong && is (k, "field of raw items") ? SCDA_TYPE_RAW : SCDA_TYPE_FLOAT64;
    const uint64_t components = wrong && is (k, "field without components") ? 0 : 2;
    const uint64_t *counted = wrong && is (k, "field without Nq") ? NULL : wrong && is (k, "field too large") ? many : Nq;
    return scda_fwrite_field_parts (f, of, type, wrong && is (k, "field without data") ? NULL : data, counted, components,
                              wrong && is (k, "field, encode") ? 4 : SCDA_ENCODE_ALWAYS, err);
  }
  /* What is right only so. */
  if (strncmp (writing[k].what, "item_bytes", 10) == 0 && !is (k, "item_bytes of a number")) {
    d.type = SCDA_TYPE_RAW, d.item_bytes = 8;
    if (is (k, "item_bytes 0") && wrong) { d.item_bytes = 0; }
    if (is (k, "item_bytes of too many") && wrong) { d.item_bytes = (uint64_t) 1 << 32 | 8; }
  }
  if (strncmp (writing[k].what, "chunk", 5) == 0) { d.encode = SCDA_ENCODE_ALWAYS; }
  if (is (k, "fill value of a bool")) { d.type = SCDA_TYPE_BOOL, d.fill_value = truth; }
  if (is (k, "dimension name not UTF-8")) { d.dimension_names = names; }
  if (wrong) {
    if (is (k, "no dataset")) { dp = NULL; }
    if (is (k, "size")) { d.size = 7; }
    if (is (k, "name without NUL")) { memset (d.name, 'n', sizeof d.name); }
    if (is (k, "no name")) { d.name[0] = 0; }
    if (is (k, "name with a slash at its end")) { strcpy (d.name, "a/"); }
    if (is (k, "name not UTF-8")) { strcpy (d.name, "\xff"); }
    if (is (k, "reserved name")) { strcpy (d.name, "scda dataset 00"); }
    if (is (k, "name too long")) { memset (d.name, 'n', 59); }
    if (is (k, "no type")) { d.type = 0; }
    if (is (k, "type")) { d.type = 16; }
    if (is (k, "ndims below 0")) { d.ndims = -1; }
    if (is (k, "ndims 33")) { d.ndims = 33; }
    if (is (k, "item_bytes of a number")) { d.item_bytes = 4; }
    if (is (k, "shape too large")) { d.shape[0] = (uint64_t) 1 << 60; }
    if (is (k, "chunk of a contiguous dataset")) { d.encode = SCDA_ENCODE_NONE, d.chunk[0] = d.chunk[1] = 1; }
    if (is (k, "chunk 0 in one dimension")) { d.chunk[1] = 1; }
    if (is (k, "chunk too large")) { d.chunk[0] = d.chunk[1] = (uint64_t) 1 << 20; }
    if (is (k, "encode")) { d.encode = 4; }
    if (is (k, "level 10")) { d.level = 10; }
    if (is (k, "level -2")) { d.level = -2; }
    if (is (k, "shuffle")) { d.shuffle = 2; }
    if (is (k, "extends 2")) { d.extends = 2; }
    if (is (k, "extends, not sealed")) { d.extends = 1; }
    if (is (k, "codec 99")) { d.codec = 99; }
    if (is (k, "relative error 1")) { d.max_relative_error = 1; }
    if (is (k, "absolute error -1")) { d.max_absolute_error = -1; }
    if (is (k, "attributes no object")) { d.attributes = "[]"; }
    if (is (k, "attributes no JSON")) { d.attributes = "{\"a\":}"; }
    if (is (k, "attributes not UTF-8")) { d.attributes = "{\"a\":\"\xff\"}"; }
    if (is (k, "attributes with a key twice")) { d.attributes = "{\"a\":1,\"a\":1}"; }
    if (is (k, "dimension name not UTF-8")) { names[1] = "\xc3"; }
    if (is (k, "fill value of a bool")) { d.fill_value = "\2"; }
    if (is (k, "no data")) { items = NULL; }
    if (is (k, "no start")) { starts = NULL; }
    if (is (k, "no count")) { counts = NULL; }
    if (is (k, "two boxes, neither")) { boxes = 2, starts = counts = NULL; }
    if (is (k, "box beyond")) { count[0] = rows + 1 - start[0]; }
    if (is (k, "box far beyond")) { start[1] = UINT64_MAX, count[1] = 2; }
    if (is (k, "boxes without number")) { boxes = SIZE_MAX; }
  }
  if (!several) { return scda_fwrite_dataset (f, dp, items, boxes, starts, counts, err); }
  /* Between two that are right, of which no rank has anything. */
  scda_dataset_t all[3] = {d, d, d};
  for (int i = 0; i < 3; i += 2) {
    REQUIRE (scda_dataset_init (&all[i]) == 0);
    strcpy (all[i].name, "right"), all[i].type = SCDA_TYPE_INT8, all[i].encode = SCDA_ENCODE_ALWAYS, all[i].ndims = 1, all[i].shape[0] = 9;
  }
  const size_t boxes_of[3] = {0, boxes, 0};
  scda_box_t box[2];
  for (int i = 0; i < 2; ++i) {
    REQUIRE (scda_box_init (&box[i]) == 0);
    if (i == 0) { box[i].data = (void *) (uintptr_t) items; }
    box[i].start = starts, box[i].count = counts;
  }
  if (wrong && is (k, "size of a box")) { box[0].size = 0; }
  if (wrong && is (k, "stride too large")) { box[0].stride = far_apart; }
  return scda_fwrite_datasets (f, 3, dp ? all : NULL, boxes_of, box, err);
}

/* All ranks got this error, and the file is closed. */
static void expect (const char *what, int who, int check, scda_fcontext_t *f, int err, int want) {
  if (f != NULL || err != want || !all_same (g, (uint64_t) err) || *scda_last_error_message () == 0) {
    fprintf (stderr, "datasets_errors.c: %s, rank %d of %d, check %d: error %d on %d, want %d: %s\n", what, who, g.size, check, err,
             g.rank, want, scda_last_error_message ());
    ++failures;
  }
  if (f != NULL) { scda_fclose (f, &err); }
  barrier (g);
}

static int is_wrong (int who) { return who < 0 || who == g.rank; }

/* Whether this is a mistake where boxes are structs, or where they are numbers. */
static int is_mistake (int k) {
  if (is (k, "no start") || is (k, "no count")) { return !several; } /* of a struct, NULL stands for all */
  return several || (strstr (writing[k].what, "of a box") == NULL && !is (k, "stride too large"));
}

static void writes (void) {
  for (int k = 0; k < num_writing; ++k) {
    for (int turn = 0; turn < 12; ++turn) {
      const int check = turn % 2, who = turn % 6 < 2 ? -1 : turn % 6 < 4 ? 0 : g.size - 1;
      several = turn / 6;
      if (!is_mistake (k)) { continue; }
      int err = -1;
      scda_params_t params = default_params ();
      params.check = check;
      scda_fcontext_t *f;
      RIGHT (scda_fopen_write (g.comm, name, "errors", NULL, &params, &err));
      RIGHT (write_one (f, 0, 0, &err));
      f = write_one (f, k, is_wrong (who), &err);
      CHECK (!check || f == NULL);
      if (f != NULL) { f = scda_fflush (f, &err); }
      expect (writing[k].what, who, check, f, err, writing[k].want);
    }
  }
}

/* The ranks pass other things, or the same thing twice. */
static void disagree (void) {
  static const double data[6];
  int err;
  scda_fcontext_t *f;
  scda_dataset_t d;
  const uint64_t Nq[most_ranks] = {1};
  REQUIRE (scda_dataset_init (&d) == 0);
  d.type = SCDA_TYPE_FLOAT64, d.ndims = 2;
  for (int layout = 0; layout < 4; ++layout) { /* an overlap, on one rank or of two */
    for (int k = 0; k < 2; ++k) {
      strcpy (d.name, "overlap");
      d.encode = layout, d.shape[0] = 20, d.shape[1] = 30;
      const int first = g.rank == 0, last = g.rank == g.size - 1;
      const uint64_t start[4] = {3, 4, 4, 5}, count[4] = {2, 2, 1, 2};
      const int two = k == 0 && last, other = k == 1 && last && g.size > 1;
      RIGHT (scda_fopen_write (g.comm, name, "errors", NULL, bare (), &err));
      if (k == 1 && g.size == 1) { CLOSE (); continue; }
      f = scda_fwrite_dataset (f, &d, data, (size_t) (two ? 2 : k == 1 && (first || other)), other ? start + 2 : start, other ? count + 2 : count, &err);
      const char *message = scda_last_error_message ();
      CHECK (strstr (message, "[4, 5]") != NULL && strstr (message, "overlap") != NULL);
      expect ("overlap", k ? -1 : g.size - 1, 0, f, err, SCDA_ERR_ARG);
    }
  }
  d.encode = SCDA_ENCODE_ALWAYS;
  for (int k = 0; k < 8 && g.size > 1; ++k) {
    const int other = g.rank == g.size - 1;
    strcpy (d.name, other && k == 0 ? "b" : "a");
    d.shape[0] = other && k == 1 ? 3 : 2, d.shape[1] = 3;
    d.type = other && k == 2 ? SCDA_TYPE_INT64 : SCDA_TYPE_FLOAT64;
    d.attributes = other && k == 3 ? "{\"a\":1}" : NULL;
    d.level = other && k == 4 ? 1 : -1;
    RIGHT (scda_fopen_write (g.comm, name, "errors", NULL, bare (), &err));
    if (other && k == 5) { f = scda_fwrite_group (f, "a", NULL, &err); }
    else if (other && k == 6) { f = scda_fwrite_inline (f, "these are thirty-two bytes, yes.", "a", NULL, 0, &err); }
    else if (k == 7) { f = scda_fwrite_field_parts (f, "a", SCDA_TYPE_FLOAT64, data, Nq, other ? 2 : 1, SCDA_ENCODE_ALWAYS, &err); }
    else { f = scda_fwrite_dataset (f, &d, data, g.rank == 0, NULL, NULL, &err); }
    if (f != NULL) { f = scda_fflush (f, &err); }
    expect ("the ranks disagree", k, 0, f, err, SCDA_ERR_ARG);
  }
  CHECK (scda_dataset_init (NULL) < 0);
}

/* ---- mistakes in reading ---- */

static void write_good (int contiguous) {
  int err;
  scda_fcontext_t *f;
  scda_dataset_t d;
  double data[12];
  uint64_t Nq[most_ranks] = {12};
  for (int k = 0; k < 12; ++k) { data[k] = k * k; }
  REQUIRE (scda_dataset_init (&d) == 0);
  strcpy (d.name, "x"), d.type = SCDA_TYPE_FLOAT64, d.ndims = 2, d.shape[0] = 3, d.shape[1] = 4;
  d.encode = contiguous ? SCDA_ENCODE_NONE : SCDA_ENCODE_ALWAYS, d.codec = SCDA_CODEC_ZLIB, d.attributes = "{\"a\":1}";
  RIGHT (scda_fopen_write (g.comm, name, "errors", NULL, bare (), &err));
  RIGHT (scda_fwrite_array (f, g.rank == 0 ? data : NULL, Nq, 8, 0, "plain", NULL, SCDA_ENCODE_NONE, &err));
  RIGHT (scda_fwrite_dataset (f, &d, data, g.rank == 0, NULL, NULL, &err));
  RIGHT (scda_fwrite_group (f, "/", NULL, &err));
  CLOSE ();
}

static const mistake_t reading[] = {
  {"find no dataset", SCDA_ERR_FORMAT}, {"writing", SCDA_ERR_USAGE},
  /* of one rank, too */
  {"no dataset", SCDA_ERR_ARG}, {"dataset of another file", SCDA_ERR_ARG}, {"dataset of another shape", SCDA_ERR_ARG}, {"no entry", SCDA_ERR_ARG},
  {"find without name", SCDA_ERR_ARG}, {"find not UTF-8", SCDA_ERR_ARG}, {"find a group without path", SCDA_ERR_ARG},
  {"find a group, path", SCDA_ERR_ARG}, {"size", SCDA_ERR_ARG}, {"size in finding", SCDA_ERR_ARG}, {"no data", SCDA_ERR_ARG},
  {"no start", SCDA_ERR_ARG}, {"box beyond", SCDA_ERR_ARG}, {"boxes without number", SCDA_ERR_RANGE},
};
enum { num_reading = sizeof reading / sizeof reading[0], first_of_one = 2 };

static scda_fcontext_t *read_one (scda_fcontext_t *f, int k, int wrong, int *error) {
  int err, found;
  double data[12];
  uint64_t start[2] = {0, 0}, count[2] = {3, 4};
  scda_dataset_t d;
  scda_entry_t e;
  const char *path = "/", *of = "x", *attributes;
  REQUIRE (scda_dataset_init (&d) == 0 && scda_entry_init (&e) == 0);
  switch (k) {
  case 0: return scda_ffind_dataset (f, "plain", 0, &found, &d, error);
  case 1: return scda_fwrite_dataset (f, &d, data, 1, NULL, NULL, error);
  case 2:
  case 3:
  case 4:
    RIGHT (scda_ffind_dataset (f, of, SCDA_LAST, &found, &d, &err));
    if (wrong && k == 2) { d.number = 0; }
    if (wrong && k == 3) { d.number = 128; }
    if (wrong && k == 4) { d.shape[0] = 2; }
    return scda_fread_dataset (f, &d, data, 1, NULL, NULL, error);
  case 5: return scda_fnext_entry (f, wrong ? NULL : &e, error);
  case 6:
  case 7: return scda_ffind_dataset (f, !wrong ? of : k == 6 ? NULL : "\xff", 0, &found, &d, error);
  case 8:
  case 9: return scda_ffind_group (f, !wrong ? path : k == 8 ? NULL : "a//", &found, &attributes, error);
  case 10:
    if (wrong) { e.size = 4; }
    return scda_fnext_entry (f, &e, error);
  case 11:
    if (wrong) { d.size = 0; }
    return scda_ffind_dataset (f, of, SCDA_LAST, &found, &d, error);
  default: break;
  }
  RIGHT (scda_ffind_dataset (f, of, 0, &found, &d, &err));
  if (k == 14 && wrong) { start[1] = 1; }
  return scda_fread_dataset (f, &d, k == 12 && wrong ? NULL : data, k == 15 && wrong ? SIZE_MAX / 2 : 1, k == 13 && wrong ? NULL : start, count, error);
}

static void reads (void) {
  write_good (0);
  for (int k = 0; k < num_reading; ++k) {
    for (int turn = 0; turn < (k < first_of_one ? 2 : 6); ++turn) {
      const int check = turn % 2, who = turn < 2 ? -1 : turn < 4 ? 0 : g.size - 1;
      int err = -1, found;
      scda_params_t params = default_params ();
      params.check = check;
      scda_fcontext_t *f;
      RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, &params, &err));
      f = read_one (f, k, is_wrong (who), &err);
      CHECK (!check || f == NULL);
      if (f != NULL) { f = scda_ffind_dataset (f, "x", 0, &found, NULL, &err); }
      expect (reading[k].what, who, check, f, err, reading[k].want);
    }
  }
}

/* A dataset that was found stands for itself, in any order, whatever else is found, until the file is closed. */
static void in_turns (void) {
  enum { many = 200 };
  int err, found = -1;
  double data[12];
  static scda_dataset_t d[many];
  scda_params_t params = default_params ();
  scda_fcontext_t *f;
  RIGHT (scda_fopen_write (g.comm, name, "errors", NULL, NULL, &err));
  for (int k = 0; k < many; ++k) {
    double number = k;
    REQUIRE (scda_dataset_init (&d[k]) == 0);
    snprintf (d[k].name, sizeof d[k].name, "d%d", k % 3);
    d[k].type = SCDA_TYPE_FLOAT64;
    RIGHT (scda_fwrite_dataset (f, &d[k], &number, g.rank == 0, NULL, NULL, &err));
  }
  CLOSE ();
  params.check = 1;
  RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, &params, &err));
  for (int k = 0; k < many; ++k) {
    char which[SCDA_NAME_BYTES];
    snprintf (which, sizeof which, "d%d", k % 3);
    REQUIRE (scda_dataset_init (&d[k]) == 0);
    RIGHT (scda_ffind_dataset (f, which, k / 3, &found, &d[k], &err));
    REQUIRE (found == 1);
  }
  for (int k = many; k-- > 0;) {
    const int other = k * 7 % many;
    RIGHT (scda_fread_dataset (f, &d[k], data, 1, NULL, NULL, &err));
    RIGHT (scda_fread_dataset (f, &d[other], data + 1, 1, NULL, NULL, &err));
    CHECK (data[0] == k && data[1] == other);
  }
  CLOSE ();
}

/* What was found in one open file is nothing in another one, even of the same name. What it points to stays. */
static void in_another (void) {
  int err, found = -1;
  double data[12];
  uint64_t streams = 0, bytes;
  const uint64_t Ei = 3;
  uint64_t Nq[most_ranks] = {1};
  const char *attributes = NULL;
  scda_dataset_t d;
  scda_fcontext_t *f, *other;
  write_good (1);
  REQUIRE (scda_dataset_init (&d) == 0);
  other = scda_fopen_read (g.comm, name, NULL, NULL, NULL, &err);
  RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, NULL, &err));
  RIGHT (scda_ffind_dataset (f, "x", SCDA_LAST, &found, &d, &err));
  RIGHT (scda_ffind_group (f, "/", &found, &attributes, &err));
  CHECK (strcmp (attributes, "{}") == 0 && strcmp (d.attributes, "{\"a\":1}") == 0 && *(const double *) d.fill_value == 0);
  CHECK (other != NULL && scda_fread_dataset (other, &d, data, 1, NULL, NULL, &err) == NULL && err == SCDA_ERR_ARG);
  CHECK (strstr (scda_last_error_message (), "dataset \"x\": it was found in another open file") != NULL);
  RIGHT (scda_fread_dataset (f, &d, data, 1, NULL, NULL, &err));
  CHECK (data[3] == 9);
  CLOSE ();
  RIGHT (scda_fopen_write (g.comm, name, "errors", NULL, NULL, &err));
  RIGHT (scda_fwrite_varray (f, g.rank == 0 ? "abc" : NULL, Nq, g.rank == 0 ? &Ei : NULL, NULL, 0, "v", NULL, SCDA_ENCODE_NONE, &err));
  CLOSE ();
  other = scda_fopen_read (g.comm, name, NULL, NULL, NULL, &err);
  RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, NULL, &err));
  RIGHT (scda_ffind_streams (f, "v", NULL, SCDA_LAST, &streams, NULL, NULL, &err));
  CHECK (scda_stream_size (f, streams, 0, &bytes, &err) == 0 && bytes == 3);
  const uint64_t mine = streams;
  other = scda_ffind_streams (other, "v", NULL, SCDA_LAST, &streams, NULL, NULL, &err);
  CHECK (streams != mine && scda_stream_size (other, mine, 0, &bytes, &err) == -1 && err == SCDA_ERR_ARG);
  CHECK (scda_stream_size (other, streams, 0, &bytes, &err) == 0 && scda_fclose (other, &err) == 0);
  CLOSE ();
}

/* What a program that finds datasets may point to until the file is closed counts as memory of the file. */
static void kept_texts (void) {
  enum { records = 64, bytes = 100000 };
  int err, record;
  char *attributes = (char *) get_memory (bytes);
  scda_params_t params;
  scda_dataset_t d;
  scda_fcontext_t *f = scda_fopen_write (g.comm, name, "errors", NULL, NULL, &err);
  for (record = 0; record < records; ++record) {
    memset (attributes, 'x', bytes - 1);
    memcpy (attributes, "{\"a\":\"", 6);
    attributes[6] = (char) ('0' + record);
    if (attributes[6] == '\\') { attributes[6] = 'y'; }
    memcpy (attributes + bytes - 3, "\"}", 3);
    REQUIRE (scda_dataset_init (&d) == 0);
    strcpy (d.name, "x");
    d.type = SCDA_TYPE_UINT8, d.attributes = attributes;
    RIGHT (scda_fwrite_dataset (f, &d, "1", g.rank == 0, NULL, NULL, &err));
  }
  CLOSE ();
  REQUIRE (scda_params_init (&params) == 0);
  params.max_memory = 4 << 20;
  RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, &params, &err));
  for (record = 0; record < records && f != NULL; ++record) {
    REQUIRE (scda_dataset_init (&d) == 0);
    f = scda_ffind_dataset (f, "x", record, NULL, &d, &err);
    CHECK (f != NULL || err == SCDA_ERR_MEMORY);
  }
  CHECK (f == NULL && record > 8);
  free (attributes);
}

/* ---- several datasets in one call ---- */

/* Three datasets, in chunks, contiguous and as text, and a section that is none. */
static void write_three (int seal) {
  static const struct { const char *of; int type, encode; uint64_t item_bytes; } all[3] = {
    {"x", SCDA_TYPE_FLOAT64, SCDA_ENCODE_ALWAYS, 0}, {"r", SCDA_TYPE_RAW, SCDA_ENCODE_NONE, 6}, {"y", SCDA_TYPE_INT16, SCDA_ENCODE_TEXT, 0},
  };
  int err;
  scda_fcontext_t *f;
  double data[12];
  uint64_t Nq[most_ranks] = {12};
  scda_params_t params = default_params ();
  params.seal = seal;
  for (int k = 0; k < 12; ++k) { data[k] = k * k; }
  RIGHT (scda_fopen_write (g.comm, name, "errors", NULL, &params, &err));
  for (int k = 0; k < 3; ++k) {
    scda_dataset_t d;
    REQUIRE (scda_dataset_init (&d) == 0);
    strcpy (d.name, all[k].of), d.type = all[k].type, d.encode = all[k].encode, d.codec = SCDA_CODEC_ZLIB,
    d.item_bytes = all[k].item_bytes;
    d.ndims = 2, d.shape[0] = 3, d.shape[1] = 4;
    if (k == 0) { d.chunk[0] = 3, d.chunk[1] = 2; }
    RIGHT (scda_fwrite_dataset (f, &d, data, g.rank == 0, NULL, NULL, &err));
  }
  RIGHT (scda_fwrite_array (f, g.rank == 0 ? data : NULL, Nq, 8, 0, "plain", NULL, SCDA_ENCODE_NONE, &err));
  CLOSE ();
}

static const struct { const char *what; int want; const char *message; } together[] = {
  {"no mistake", 0, ""},
  {"name", SCDA_ERR_NOT_FOUND, "dataset \"z\": record 0 not found"},
  {"record", SCDA_ERR_NOT_FOUND, "dataset \"r\": record 1 not found"},
  {"record from the end", SCDA_ERR_NOT_FOUND, "dataset \"r\": record -2 not found"},
  {"no dataset", SCDA_ERR_FORMAT, "section \"plain\" is not a dataset: no metadata precede it"},
  {"not UTF-8", SCDA_ERR_ARG, "not UTF-8"}, {"no name", SCDA_ERR_NOT_FOUND, "dataset \"\": record 0 not found"},
  {"n", SCDA_ERR_ARG, ""}, {"n 0", SCDA_ERR_ARG, ""}, {"order", SCDA_ERR_ARG, ""},
  /* each of one rank, too */
  {"type", SCDA_ERR_ARG, "dataset \"x\": found float64 of the shape [3, 4], expected int64 of the shape [3, 4]"},
  {"raw bytes", SCDA_ERR_ARG, "dataset \"r\": found r48 of the shape [3, 4], expected r40 of the shape [3, 4]"},
  {"raw for a number", SCDA_ERR_ARG, "dataset \"y\": found int16 of the shape [3, 4], expected r16 of the shape [3, 4]"},
  {"shape", SCDA_ERR_ARG, "dataset \"r\": found r48 of the shape [3, 4], expected r48 of the shape [4, 3]"},
  {"dimensions", SCDA_ERR_ARG, "dataset \"y\": found int16 of the shape [3, 4], expected int16 of the shape [3, 4, 1]"},
  {"item_bytes of a number", SCDA_ERR_ARG, "item_bytes: found 4, expected 0 or 8 for float64"},
  {"type 99", SCDA_ERR_ARG, "type: found 99"}, {"ndims 33", SCDA_ERR_ARG, "ndims: found 33"}, {"no datasets", SCDA_ERR_ARG, "d is NULL"},
  {"size", SCDA_ERR_ARG, "sizes of structs: found 0 after "},
  {"no data", SCDA_ERR_ARG, "data of box 0: NULL"}, {"no boxes", SCDA_ERR_ARG, "boxes is NULL"},
  {"size of a box", SCDA_ERR_ARG, "sizes of structs: found 0 after "},
  {"stride 0", SCDA_ERR_ARG, "strides: one is less than the 8 bytes of an item"},
  {"shape in memory", SCDA_ERR_ARG, "box 0: shape in memory: found [7], expected as many items as a box of "},
  {"stride too large", SCDA_ERR_RANGE, "strides: with "},
  {"box beyond", SCDA_ERR_ARG, "dimension 1"}, {"boxes without number", SCDA_ERR_RANGE, "nboxes: "},
  {"no items, another shape in memory", 0, ""},
};
enum { num_together = sizeof together / sizeof together[0], most_of_all = 9 };

static scda_fcontext_t *read_three (scda_fcontext_t *f, int k, int wrong, int *err) {
  static const uint64_t start[2] = {1, 0}, count[2] = {2, 4}, beyond[2] = {1, 1}, none[2] = {0, 4};
  static const char *const names[3] = {"r", "x", "y"};
  static const int types[3] = {SCDA_TYPE_RAW, SCDA_TYPE_FLOAT64, SCDA_TYPE_INT16};
  double data[3][12];
  scda_dataset_t d[3];
  size_t n = 3, nboxes[3] = {1, 1, 1};
  int64_t record[3] = {0, -1, 0};
  static const int64_t nowhere[2] = {32, 0}, far_apart[2] = {INT64_MAX, INT64_MAX};
  static const uint64_t seven = 7;
  scda_box_t box[3], *boxes = box;
  const scda_dataset_t *dp = d;
  const char *what = wrong ? together[k].what : "";
  for (int i = 0; i < 3; ++i) {
    REQUIRE (scda_dataset_init (&d[i]) == 0);
    strcpy (d[i].name, names[i]), d[i].type = types[i], d[i].ndims = 2, d[i].shape[0] = 3, d[i].shape[1] = 4;
    init_boxes (&box[i], 1, 2, data[i], start, count);
  }
  d[0].item_bytes = 6;
  if (strcmp (what, "name") == 0) { strcpy (d[1].name, "z"), record[1] = 0; }
  if (strcmp (what, "record") == 0) { record[0] = 1; }
  if (strcmp (what, "record from the end") == 0) { record[0] = -2; }
  if (strcmp (what, "no dataset") == 0) { strcpy (d[2].name, "plain"); }
  if (strcmp (what, "not UTF-8") == 0) { strcpy (d[2].name, "\xff"); }
  if (strcmp (what, "no name") == 0) { d[0].name[0] = 0; }
  if (strcmp (what, "n") == 0) { n = 2; }
  if (strcmp (what, "n 0") == 0) { n = 0; }
  if (strcmp (what, "order") == 0) {
    const scda_dataset_t other = d[0];
    d[0] = d[2], d[2] = other;
  }
  if (strcmp (what, "type") == 0) { d[1].type = SCDA_TYPE_INT64; }
  if (strcmp (what, "raw bytes") == 0) { d[0].item_bytes = 5; }
  if (strcmp (what, "raw for a number") == 0) { d[2].type = SCDA_TYPE_RAW, d[2].item_bytes = 2; }
  if (strcmp (what, "shape") == 0) { d[0].shape[0] = 4, d[0].shape[1] = 3, nboxes[0] = 0; }
  if (strcmp (what, "dimensions") == 0) { d[2].ndims = 3, d[2].shape[2] = 1, nboxes[2] = 0; }
  if (strcmp (what, "item_bytes of a number") == 0) { d[1].item_bytes = 4; }
  if (strcmp (what, "type 99") == 0) { d[2].type = 99; }
  if (strcmp (what, "ndims 33") == 0) { d[2].ndims = 33; }
  if (strcmp (what, "no datasets") == 0) { dp = NULL; }
  if (strcmp (what, "size") == 0) { memset (&d[1], 0, sizeof d[1]); }
  if (strcmp (what, "no data") == 0) { box[2].data = NULL; }
  if (strcmp (what, "no boxes") == 0) { boxes = NULL; }
  if (strcmp (what, "size of a box") == 0) { box[1].size = 0; }
  if (strcmp (what, "shape in memory") == 0) { box[1].memory_shape = &seven, box[1].memory_ndims = 1; }
  if (strcmp (what, "no items, another shape in memory") == 0) {
    box[1].count = none, box[1].memory_shape = &seven, box[1].memory_ndims = 1;
    data[1][0] = 16, data[1][7] = 121; /* nothing is read there */
  }
  if (strcmp (what, "stride 0") == 0) { box[1].stride = nowhere; }
  if (strcmp (what, "stride too large") == 0) { box[1].stride = far_apart; }
  if (strcmp (what, "box beyond") == 0) { box[1].start = beyond; }
  if (strcmp (what, "boxes without number") == 0) { nboxes[1] = SIZE_MAX; }
  f = scda_fread_datasets (f, n, dp, record, nboxes, boxes, err);
  if (f != NULL && n == 3) {
    const double numbers[3] = {0, 1, 4}; /* the first of what each dataset has the bytes of */
    CHECK (data[1][0] > 15.5 && data[1][0] < 16.5 && data[1][7] > 120.5 && data[1][7] < 121.5);
    CHECK (memcmp (data[2], (const char *) numbers + 8, 16) == 0);
  }
  return f;
}

static void several_reads (void) {
  for (int seal = 0; seal < 2; ++seal) {
    write_three (seal);
    for (int k = 0; k < num_together; ++k) {
      for (int turn = seal; turn < 6; turn += 2) { /* with params.check in the sealed file */
        const int who = turn < 2 ? -1 : turn < 4 ? 0 : g.size - 1, one = who >= 0 && g.size > 1;
        const char *what = together[k].what;
        int err = -1, found, want = together[k].want;
        /* Where all read other datasets than expected, that is right. */
        if (!one && (strcmp (what, "n") == 0 || strcmp (what, "n 0") == 0)) { want = 0; }
        if (!one && strcmp (what, "order") == 0) { continue; }
        /* Names and records of one rank alone: it disagrees. */
        if (one && k <= most_of_all && want != 0) { want = SCDA_ERR_ARG; }
        scda_params_t params = default_params ();
        params.check = seal;
        scda_fcontext_t *f;
        RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, &params, &err));
        f = read_three (f, k, is_wrong (who), &err);
        if (want == 0) {
          REQUIRE (f != NULL && err == 0);
          CLOSE ();
          continue;
        }
        CHECK (f == NULL || strcmp (what, "n 0") == 0);
        if (f != NULL) { f = scda_ffind_dataset (f, "x", 0, &found, NULL, &err); }
        if (!one || k > most_of_all) { CHECK (strstr (scda_last_error_message (), together[k].message) != NULL); }
        expect (what, who, seal, f, err, want);
      }
    }
  }
}

/* ---- damaged files ---- */

/* The first place of some bytes in the file, or the next one, becomes other ones. */
static void change_one (const char *from, const char *to, int which) {
  barrier (g);
  if (g.rank == 0) {
    static char all[1 << 16];
    FILE *file = fopen (name, "r+b");
    REQUIRE (file != NULL);
    const size_t bytes = fread (all, 1, sizeof all, file), n = strlen (from);
    size_t at = 0;
    while (at + n <= bytes && (memcmp (all + at, from, n) != 0 || which-- > 0)) { ++at; }
    REQUIRE (at + n <= bytes && strlen (to) == n && fseek (file, (long) at, SEEK_SET) == 0);
    REQUIRE (fwrite (to, 1, n, file) == n && fclose (file) == 0);
  }
  barrier (g);
}

static void change (const char *from, const char *to) { change_one (from, to, 0); }

/* The dataset, found by its name or by walking: the error of its header, or else that of its data. */
static int read_damaged (int walk, int *has_header) {
  int err = -1, found = 0;
  double data[12];
  scda_dataset_t d;
  REQUIRE (scda_dataset_init (&d) == 0);
  scda_fcontext_t *f;
  RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, NULL, &err));
  *has_header = 0;
  if (walk) {
    scda_entry_t e;
    REQUIRE (scda_entry_init (&e) == 0);
    RIGHT (scda_fnext_entry (f, &e, &err));
    f = scda_fnext_entry (f, &e, &err);
    if (f != NULL && e.kind == SCDA_ENTRY_UNKNOWN) { CHECK (strstr (scda_last_error_message (), name) != NULL && all_same (g, strlen (scda_last_error_message ()))); }
    if (f != NULL) { f = scda_ffind_dataset (f, e.name, e.record, &found, &d, &err); }
  }
  else { f = scda_ffind_dataset (f, "x", 0, &found, &d, &err); }
  CHECK ((f == NULL) == (err != 0) && all_same (g, (uint64_t) err));
  if (f == NULL) { return err; }
  REQUIRE (found == 1);
  *has_header = 1 + (d.unsupported != NULL);
  /* The chunk is read on one rank only, and all get its error. */
  f = scda_fread_dataset (f, &d, data, g.rank == g.size - 1, NULL, NULL, &err);
  CHECK ((f == NULL) == (err != 0) && all_same (g, (uint64_t) err));
  if (f == NULL) { return err; }
  CLOSE ();
  return 0;
}

/* A chunk is damaged that some ranks read, or all: all get the error, whoever decompresses it. */
static void damaged_together (void) {
  for (int who = -2; who < g.size; who += who < 0 ? 1 : g.size > 1 ? g.size - 1 : 1) {
    for (int seal = 0; seal < 2; ++seal) {
      static const char *const names[3] = {"r", "x", "x"};
      /* The second one of two chunks, and columns of the first one. */
      const int mine = who > -2 && is_wrong (who);
      const uint64_t start[2] = {0, (uint64_t) mine}, count[2] = {3, (uint64_t) mine + 1};
      double data[3][12];
      scda_box_t box[3];
      int err = -1;
      scda_dataset_t d[3];
      scda_fcontext_t *f;
      write_three (seal);
      for (int i = 0; i < 3; ++i) {
        REQUIRE (scda_dataset_init (&d[i]) == 0);
        init_boxes (&box[i], 1, 2, data[i], start, count);
        strcpy (d[i].name, names[i]), d[i].type = i ? SCDA_TYPE_FLOAT64 : SCDA_TYPE_RAW, d[i].item_bytes = i ? 0 : 6;
        d[i].ndims = 2, d[i].shape[0] = 3, d[i].shape[1] = 4;
      }
      change_one ("\x78\x5e", "\x79\x5e", 1);
      RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, NULL, &err));
      f = scda_fread_datasets (f, 3, d, NULL, NULL, box, &err);
      if (who == -2) { /* nobody reads it */
        REQUIRE (f != NULL && err == 0);
        CHECK (data[1][2] > 63.5 && data[2][2] < 64.5);
        CLOSE ();
        continue;
      }
      CHECK (strstr (scda_last_error_message (), "dataset \"x\": chunk 1: ") != NULL);
      expect ("a damaged chunk", who, seal, f, err, SCDA_ERR_DECODE);
    }
  }
}

static void damaged (void) {
  static const struct { const char *from, *to; int contiguous, header, want; } changes[] = {
    {"numcodecs.zlib", "numcodecs.zlib", 0, 1, 0},
    {"\"zarr_format\":3", "\"zarr_format\":4", 0, 0, SCDA_ERR_FORMAT},
    {"\"float64\"", "\"float6x\"", 0, 0, SCDA_ERR_UNSUPPORTED},
    {"\"float64\"", "\"float32\"", 0, 1, SCDA_ERR_DECODE}, /* the stream has too many bytes */
    {"\"float64\"", "\"float32\"", 1, 0, SCDA_ERR_FORMAT},
    {"numcodecs.zlib", "numcodecs.zlob", 0, 2, SCDA_ERR_UNSUPPORTED},
    {"numcodecs.shuffle", "numcodecs.shoffle", 0, 2, SCDA_ERR_UNSUPPORTED},
    {"\"shape\":[3,4]", "\"shape\":[3,7]", 0, 0, SCDA_ERR_FORMAT},
    {"\"shape\":[3,4]", "\"shape\":[2,4]", 1, 0, SCDA_ERR_FORMAT},
    {"\"attributes\":{\"a\":1}", "\"attributes\":[\"a\",1]", 0, 0, SCDA_ERR_FORMAT},
    {"\"attributes\"", "\"codecs\"    ", 0, 0, SCDA_ERR_FORMAT},
    {"\"fill_value\"", "\"full_value\"", 0, 0, SCDA_ERR_FORMAT},
    {"V x ", "V / ", 0, 0, SCDA_ERR_FORMAT},
    {"\x78", "\x79", 0, 1, SCDA_ERR_DECODE}, /* the first byte of the stream, with this name of a codec in front */
  };
  for (unsigned k = 0; k < sizeof changes / sizeof changes[0]; ++k) {
    for (int walk = 0; walk < 2; ++walk) {
      int header = 0, want = changes[k].want;
      if (changes[k].from[0] == 'V' && !walk) { continue; } /* no such name, which is no error */
      write_good (changes[k].contiguous);
      if (changes[k].from[0] == '\x78') { change ("\x78\x5e", "\x79\x5e"); }
      else { change (changes[k].from, changes[k].to); }
      const int err = read_damaged (walk, &header);
      if (err != want || header != changes[k].header) {
        fprintf (stderr, "datasets_errors.c: %s becomes %s, walk %d: error %d, want %d, header %d: %s\n", changes[k].from, changes[k].to,
                 walk, err, want, header, scda_last_error_message ());
        ++failures;
      }
      barrier (g);
    }
  }
  /* Any byte of the dataset changed at random, and any end removed: an error on all ranks, or none. */
  write_good (0);
  barrier (g);
  FILE *file = fopen (name, "rb");
  static char all[1 << 16], bad[1 << 16];
  const size_t bytes = fread (all, 1, sizeof all, file);
  uint64_t rng = 14, seen = 0;
  fclose (file);
  for (int k = 0; k < 400; ++k) {
    const size_t at = 384 + (size_t) below (&rng, bytes - 384), length = k % 3 ? bytes : at;
    memcpy (bad, all, bytes);
    bad[at] ^= (char) (1 + below (&rng, 255));
    barrier (g);
    if (g.rank == 0) {
      FILE *out = fopen (name, "wb");
      REQUIRE (out != NULL && fwrite (bad, 1, length, out) == length && fclose (out) == 0);
    }
    barrier (g);
    int err = -1, found = 0, walk = k % 2;
    double data[12];
    scda_dataset_t d;
    REQUIRE (scda_dataset_init (&d) == 0);
    scda_fcontext_t *f = scda_fopen_read (g.comm, name, NULL, NULL, NULL, &err);
    REQUIRE (f != NULL && err == 0);
    if (walk) {
      scda_entry_t e;
      REQUIRE (scda_entry_init (&e) == 0);
      f = scda_fnext_entry (f, &e, &err);
      if (f != NULL && err == 0) { f = scda_fnext_entry (f, &e, &err); }
      if (f != NULL && err == 0 && e.kind == SCDA_ENTRY_DATASET) { f = scda_ffind_dataset (f, e.name, e.record, &found, &d, &err); }
    }
    else { f = scda_ffind_dataset (f, "x", 0, &found, &d, &err); }
    if (f != NULL && found && d.ndims == 2 && d.item_bytes * d.shape[0] * d.shape[1] <= sizeof data) {
      f = scda_fread_dataset (f, &d, data, g.rank == 0, NULL, NULL, &err);
    }
    seen += f == NULL;
    CHECK (all_same (g, (uint64_t) err));
    if (f != NULL) { scda_fclose (f, &err); }
  }
  CHECK (seen > 175);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2 && world ().size <= most_ranks);
  g = world ();
  snprintf (name, sizeof name, "%s/datasets-%d.scda", argv[1], g.size);
  writes ();
  disagree ();
  reads ();
  in_turns ();
  in_another ();
  kept_texts ();
  several_reads ();
  damaged ();
  damaged_together ();
  return finish ();
}
