/* Texts of any length: written by any ranks they are the same bytes, and any ranks read any boxes of them; wrong arguments are errors on all ranks.
 *
 *   texts DIR */
#include "common.h"

enum { rows = 23, columns = 3, most = 40 };

/* Text `i`, which is no more than `most` bytes long. */
static const char *text (uint64_t i, char *buffer) {
  snprintf (buffer, most, "%.*s%llu", (int) (i % 7 * 4), "ßßßßßßßßßßßßßßß", (unsigned long long) (i * i));
  if (i % 5 == 0) { buffer[0] = 0; }
  return buffer;
}

static scda_dataset_t names (int layout) {
  scda_dataset_t d;
  scda_dataset_init (&d);
  snprintf (d.name, sizeof d.name, "names");
  d.type = SCDA_TYPE_STRING, d.ndims = 2, d.shape[1] = columns, d.encode = layout;
  if (layout == SCDA_ENCODE_ALWAYS) { d.chunk[0] = 4, d.chunk[1] = columns; }
  return d;
}

static void write_names (group_t g, const char *path, int layout, int has_lengths, const uint64_t *Nq) {
  int err;
  char buffer[rows * columns][most];
  const char *items[rows * columns];
  uint64_t lengths[rows * columns];
  const uint64_t first = first_of (Nq, g.rank) * columns, n = Nq[g.rank] * columns;
  scda_params_t params = default_params ();
  scda_dataset_t d = names (layout);
  d.fill_value = "";
  for (uint64_t i = 0; i < n; ++i) {
    items[i] = text (first + i, buffer[i]);
    lengths[i] = strlen (items[i]);
  }
  scda_fcontext_t *f = scda_fopen_write (g.comm, path, "texts", NULL, &params, &err);
  f = scda_fwrite_texts (f, &d, Nq[g.rank], items, has_lengths ? lengths : NULL, &err);
  REQUIRE (err == SCDA_SUCCESS && scda_fclose (f, &err) == 0);
}

static void read_names (group_t g, const char *path, uint64_t *rng) {
  int err, found = 0;
  scda_params_t params = default_params ();
  scda_dataset_t d;
  scda_fcontext_t *f = scda_fopen_read (g.comm, path, NULL, NULL, &params, &err);
  scda_dataset_init (&d);
  f = scda_ffind_dataset (f, "names", 0, &found, &d, &err);
  REQUIRE (err == SCDA_SUCCESS && found && d.type == SCDA_TYPE_STRING && d.item_bytes == 0 && d.shape[0] == rows);
  CHECK (strcmp ((const char *) d.fill_value, "") == 0);
  for (int turn = 0; turn < 4; ++turn) {
    /* Turn 0: all of it; else two boxes, which may be empty. */
    uint64_t start[4], count[4], lengths[2 * rows * columns], n = 0, bytes = 0;
    for (int k = 0; k < 4; ++k) {
      const uint64_t all = k % 2 == 0 ? rows : columns;
      start[k] = turn == 0 ? 0 : below (rng, all + 1);
      count[k] = turn == 0 ? all : below (rng, all - start[k] + 1);
    }
    const size_t nboxes = turn == 0 ? 1 : 2;
    for (size_t b = 0; b < nboxes; ++b) { n += count[2 * b] * count[2 * b + 1]; }
    f = scda_fread_texts_sizes (f, &d, nboxes, turn == 0 ? NULL : start, turn == 0 ? NULL : count, lengths, &err);
    REQUIRE (err == SCDA_SUCCESS);
    for (uint64_t i = 0; i < n; ++i) { bytes += lengths[i]; }
    char *data = (char *) get_memory (bytes + 1), *at = data, buffer[most];
    CHECK (scda_texts_data (f, data, bytes + 1, &err) != 0 && err == SCDA_ERR_ARG);
    REQUIRE (scda_texts_data (f, data, bytes, &err) == 0);
    uint64_t item = 0;
    for (size_t b = 0; b < nboxes; ++b) {
      for (uint64_t i = 0; i < count[2 * b] * count[2 * b + 1]; ++i, ++item) {
        const uint64_t row = start[2 * b] + i / count[2 * b + 1], column = start[2 * b + 1] + i % count[2 * b + 1];
        const char *expected = text (row * columns + column, buffer);
        CHECK (lengths[item] == strlen (expected) && memcmp (at, expected, lengths[item]) == 0);
        at += lengths[item];
      }
    }
    free (data);
  }
  REQUIRE (scda_fclose (f, &err) == 0);
}

/* What cannot be is an error on all ranks, also if the last one alone has it. */
static void refused (group_t g, const char *path) {
  int err, found = 0;
  scda_params_t params = default_params ();
  const int is_last = g.rank == g.size - 1;
  const char *items[columns] = { "a", "b", is_last ? "\xff" : "c" };
  scda_dataset_t d = names (SCDA_ENCODE_NONE);
  scda_fcontext_t *f = scda_fopen_write (g.comm, path, "texts", NULL, &params, &err);
  f = scda_fwrite_texts (f, &d, 1, items, NULL, &err);
  CHECK (f == NULL && err == SCDA_ERR_ARG && strstr (scda_last_error_message (), "item 2 of this rank: found bytes that are not UTF-8") != NULL);
  f = scda_fopen_write (g.comm, path, "texts", NULL, &params, &err);
  f = scda_fwrite_texts (f, &d, 1, is_last ? NULL : items, NULL, &err);
  CHECK (f == NULL && err == SCDA_ERR_ARG);
  f = scda_fopen_write (g.comm, path, "texts", NULL, &params, &err);
  d.item_bytes = 3;
  f = scda_fwrite_texts (f, &d, 1, items, NULL, &err);
  CHECK (f == NULL && err == SCDA_ERR_ARG);
  d = names (SCDA_ENCODE_NONE);
  d.type = SCDA_TYPE_VARIABLE_BYTES, d.fill_value = "none";
  f = scda_fopen_write (g.comm, path, "texts", NULL, &params, &err);
  f = scda_fwrite_texts (f, &d, 1, items, NULL, &err);
  REQUIRE (err == SCDA_SUCCESS && scda_fclose (f, &err) == 0);

  f = scda_fopen_read (g.comm, path, NULL, NULL, &params, &err);
  scda_dataset_init (&d);
  CHECK (scda_texts_data (f, NULL, 0, &err) != 0 && err == SCDA_ERR_USAGE);
  f = scda_ffind_dataset (f, "names", 0, &found, &d, &err);
  CHECK (found && d.type == SCDA_TYPE_VARIABLE_BYTES && strcmp ((const char *) d.fill_value, "none") == 0);
  uint64_t start[2] = { (uint64_t) g.size, 0 }, count[2] = { is_last, 1 }, length = 0;
  f = scda_fread_texts_sizes (f, &d, 1, start, count, &length, &err);
  CHECK (f == NULL && err == SCDA_ERR_ARG);
  f = scda_fopen_read (g.comm, path, NULL, NULL, &params, &err);
  f = scda_ffind_dataset (f, "names", 0, &found, &d, &err);
  uint32_t number = 0;
  start[0] = 0, count[0] = 1;
  f = scda_fread_dataset (f, &d, &number, 1, start, count, &err);
  CHECK (f == NULL && err == SCDA_ERR_ARG && strstr (scda_last_error_message (), "items of variable length (variable_length_bytes)") != NULL);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2);
  group_t g = world ();
  char path[1024], other[1024];
  snprintf (path, sizeof path, "%s/texts-%d.scda", argv[1], g.size);
  snprintf (other, sizeof other, "%s/texts-%d-alone.scda", argv[1], g.size);
  uint64_t rng = 27;
  const int layouts[] = { SCDA_ENCODE_NONE, SCDA_ENCODE_ALWAYS, SCDA_ENCODE_AUTO };
  for (int i = 0; i < 9; ++i) {
    uint64_t Nq[64];
    const uint64_t all = rows;
    partition (&rng, rows, g.size, Nq);
    write_names (g, path, layouts[i % 3], i % 2, Nq);
    if (g.rank == 0) {
      write_names (group_of (SCDA_COMM_SELF), other, layouts[i % 3], 0, &all);
      CHECK (same_files (path, other));
    }
    barrier (g);
    read_names (g, path, &rng);
    barrier (g);
  }
  refused (g, path);
  return finish ();
}
