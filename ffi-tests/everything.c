#include "everything.h"

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

/* Every function for writing, plain and encoded, small and large. */
int write_everything (group_t g, const char *filename, const scda_params_t *params) {
  int err = -1;
  prepare (g);
  uint64_t Sq[most_ranks];
  scda_fcontext_t *f = scda_fopen_write (g.comm, filename, "injected", NULL, params, &err);
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
  if (f != NULL && err == 0) { CHECK ((scda_fclose (f, &err) == 0) == (err == 0)); }
  return err;
}

/* Append to a sealed file: every kind of section plain, a commit, every kind encoded. */
int append_everything (group_t g, const char *filename, const scda_params_t *params) {
  int err = -1;
  char user[SCDA_USER_STRING_BYTES + 1];
  prepare (g);
  scda_fcontext_t *f = scda_fopen_append (g.comm, filename, user, NULL, params, &err);
  for (int k = 0; ok (f, err) && k < 8; ++k) {
    const int encode = k < 4 ? SCDA_ENCODE_NONE : SCDA_ENCODE_ALWAYS;
    if (k == 4) { f = scda_fcommit (f, &err); }
    if (!ok (f, err)) { break; }
    if (k % 4 == 0) { f = scda_fwrite_inline (f, data, "x", NULL, k % g.size, &err); }
    if (k % 4 == 1) { f = scda_fwrite_block (f, data, sizeof data, "x", NULL, k % g.size, encode, &err); }
    if (k % 4 == 2) { f = scda_fwrite_array (f, data, Nq, bytes, 0, "x", NULL, encode, &err); }
    if (k % 4 == 3) { f = scda_fwrite_varray (f, data, Nq, Ei + first_of (Nq, g.rank), NULL, 0, "x", NULL, encode, &err); }
  }
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
  for (int k = 0; ok (f, err) && !scda_feof (f); ++k) {
    decode = 1;
    f = scda_fread_section_header (f, &type, &N, &E, NULL, NULL, &decode, &err);
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
  if (f != NULL && err == 0) { CHECK ((scda_fclose (f, &err) == 0) == (err == 0)); }
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

void copy_file (const char *from, const char *to, const char *behind) {
  FILE *in = fopen (from, "rb"), *out = fopen (to, "wb");
  static char bytes[1 << 16];
  REQUIRE (in != NULL && out != NULL);
  for (size_t n; (n = fread (bytes, 1, sizeof bytes, in)) > 0;) { REQUIRE (fwrite (bytes, 1, n, out) == n); }
  REQUIRE (fwrite (behind, 1, strlen (behind), out) == strlen (behind));
  REQUIRE (fclose (in) == 0 && fclose (out) == 0);
}
