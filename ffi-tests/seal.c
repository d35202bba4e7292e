/* Sealed files: the same bytes whoever writes them and whether they are committed or appended to; torn tails are removed; what
 * is refused is untouched; sections are found by number and name; each rank reads any elements; flipped bits are found.
 *
 *   seal DIR           on 1 rank first: it leaves the reference files in DIR
 *   seal DIR small     without the large sections
 *
 * On more ranks, the world is split in two in every way, as in matrix.c: 8 ranks give every number from 1 to 8. */
#define _POSIX_C_SOURCE 200809L /* truncate */
#include "variants.h"

#include <sys/stat.h>

/* The file is committed after these numbers of sections; twice before the first, where the second seal has nothing to say. */
enum { num_commits = 5 };
static const int commits[num_commits] = {0, 0, 20, 21, 40};

static scda_params_t sealed_params (const variant_t *v) {
  scda_params_t params = params_of (v);
  params.seal = 1;
  params.hdf5 = -1; /* without room for a view, though the file is committed before it has sections */
  return params;
}

/* More ranks need not do everything so often as one: what is done `times` times there. */
static int often (int times) { return world ().size == 1 ? times : (times + 3) / 4; }

/* ---- files ---- */

static long size_of (const char *name) {
  struct stat status;
  return stat (name, &status) == 0 ? (long) status.st_size : -1;
}

/* On rank 0 the first bytes of a file become another one; all ranks see it then. */
static void copy (group_t g, const char *from, const char *to, long bytes) {
  barrier (g);
  if (g.rank == 0) {
    FILE *in = fopen (from, "rb"), *out = fopen (to, "wb");
    char *data = (char *) get_memory ((uint64_t) bytes);
    REQUIRE (in != NULL && out != NULL && fread (data, 1, (size_t) bytes, in) == (size_t) bytes);
    REQUIRE (fwrite (data, 1, (size_t) bytes, out) == (size_t) bytes && fclose (out) == 0);
    fclose (in);
    free (data);
  }
  barrier (g);
}

static void same (group_t g, const char *mine, const char *reference, int line) {
  barrier (g);
  if (g.rank == 0 && !files_equal (mine, reference, 0)) {
    fprintf (stderr, "seal.c:%d: %d ranks: %s (%ld bytes) and %s (%ld) differ\n", line, g.size, mine, size_of (mine), reference,
             size_of (reference));
    ++failures;
  }
  barrier (g);
}
#define SAME(mine, reference) same (g, mine, reference, __LINE__)

/* ---- writing ---- */

/* The bytes of the file where each seal, the last one included, begins with its tables, and where it ends. */
typedef struct {
  long tables[num_commits + 1], end[num_commits + 1];
} places_t;

/* Write the sections from `first` on, and commit where that is due, to a file that is open; close it. */
static void write_rest (group_t g, scda_fcontext_t *f, const content_t *c, int first, uint64_t seed, places_t *places, const char *name) {
  int err;
  for (int i = 0; i <= num_commits; ++i) {
    const int last = i < num_commits ? commits[i] : c->count;
    if (last < first) { continue; }
    f = content_write_some (g, f, c, first, last, seed);
    first = last;
    if (places != NULL) {
      RIGHT (scda_fflush (f, &err));
      barrier (g);
      places->tables[i] = size_of (name);
      barrier (g);
    }
    if (i == num_commits) { CLOSE (); }
    else { RIGHT (scda_fcommit (f, &err)); }
    if (places != NULL) { places->end[i] = size_of (name); } /* all of it is in the file now */
    barrier (g);
  }
}

static void write_committed (group_t g, const char *name, const content_t *c, uint64_t seed, const scda_params_t *params, places_t *places) {
  int err;
  scda_fcontext_t *f;
  RIGHT (scda_fopen_write (g.comm, name, c->user.bytes, &c->user.len, params != NULL ? params : bare (), &err));
  write_rest (g, f, c, 0, seed, places, name);
}

/* Open to append: `cut` bytes are removed, and the message says so. */
static scda_fcontext_t *open_append (group_t g, const char *name, const content_t *c, const scda_params_t *params, long cut) {
  int err;
  char user[SCDA_USER_STRING_BYTES + 1], words[100];
  size_t len = 77;
  scda_fcontext_t *f;
  RIGHT (scda_fopen_append (g.comm, name, user, &len, params, &err));
  CHECK (len == c->user.len && memcmp (user, c->user.bytes, len) == 0 && user[len] == 0);
  const char *message = scda_last_error_message ();
  snprintf (words, sizeof words, "removed %ld bytes", cut);
  CHECK (cut == 0 || (strstr (message, words) != NULL && strstr (message, name) != NULL));
  CHECK (info_of (f).rolled_back_bytes == (uint64_t) cut && info_of (f).is_writing && info_of (f).at_end);
  return f;
}

/* Where write_committed commits, close, and append. */
static void write_appended (group_t g, const char *name, const content_t *c, uint64_t seed, const scda_params_t *params) {
  int err, first = 0;
  scda_fcontext_t *f;
  RIGHT (scda_fopen_write (g.comm, name, c->user.bytes, &c->user.len, params != NULL ? params : bare (), &err));
  for (int i = 0; i <= num_commits; ++i) {
    const int last = i < num_commits ? commits[i] : c->count;
    if (i > 0) { f = open_append (g, name, c, params, 0); }
    f = content_write_some (g, f, c, first, last, seed);
    CLOSE ();
    first = last;
  }
}

/* Roll back to each seal that covers new sections, and write the rest again. */
static void write_back (group_t g, const char *name, const char *reference, const content_t *c, uint64_t seed, const scda_params_t *params, const places_t *places) {
  const long size = places->end[num_commits];
  for (int i = 2; i < num_commits; ++i) {
    scda_params_t back = *params;
    back.append_after = (uint64_t) commits[i];
    copy (g, reference, name, size);
    write_rest (g, open_append (g, name, c, &back, size - places->end[i]), c, commits[i], seed + (uint64_t) i, NULL, name);
    SAME (name, reference);
  }
}

/* ---- what is torn, and what is refused ---- */

/* How far a file is read. */
static void require_state (scda_fcontext_t *f, int sections, long bytes, long left_out) {
  int err;
  uint64_t N = 77;
  RIGHT (scda_fsections (f, &N, &err));
  const scda_info_t info = info_of (f);
  CHECK (info.is_open && !info.is_writing && N == (info.is_sealed ? (uint64_t) sections : 0));
  CHECK (info.bytes == (uint64_t) bytes && info.unsealed_bytes == (uint64_t) left_out && info.position <= info.bytes);
}

/* Open what is torn for reading: it ends after the last seal, and the message says so. */
static scda_fcontext_t *open_torn (group_t g, const char *name, const scda_params_t *params, int sections, long start, long torn) {
  int err;
  char words[100];
  scda_fcontext_t *f;
  RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, params, &err));
  snprintf (words, sizeof words, "%ld bytes after", torn);
  CHECK (torn == 0 || (strstr (scda_last_error_message (), words) != NULL && strstr (scda_last_error_message (), name) != NULL));
  require_state (f, sections, start, torn);
  return f;
}

/* Read on in a file to which was appended: what was there stays, what is new follows. */
static void read_on (scda_fcontext_t *f, const content_t *c, int before, long size) {
  int err, changed = 77, decode = 1;
  char type;
  uint64_t N;
  if (before > 0) { RIGHT (scda_fseek (f, (uint64_t) before - 1, &err)); }
  if (before > 0) { RIGHT (scda_fread_section_header (f, &type, NULL, NULL, NULL, NULL, &decode, &err)); }
  RIGHT (scda_frefresh (f, &changed, &err));
  CHECK (changed == 1);
  require_state (f, c->count, size, 0);
  RIGHT (scda_frefresh (f, &changed, &err));
  CHECK (changed == 0);
  RIGHT (scda_fsections (f, &N, &err));
  CHECK (N == (uint64_t) c->count);
  RIGHT (scda_fseek (f, N - 1, &err));
  RIGHT (scda_fread_section_header (f, &type, NULL, NULL, NULL, NULL, &decode, &err));
  CLOSE ();
}

static void torn (group_t g, const char *dir, const char *reference, const content_t *c, const places_t *places, const variant_t *v, uint64_t seed) {
  char name[1200];
  int err;
  uint64_t rng = seed;
  scda_params_t params = sealed_params (v);
  snprintf (name, sizeof name, "%s/torn-%016llx.scda", dir, (unsigned long long) seed);
  for (int turn = 0; turn < often (12); ++turn) {
    const int k = turn * 12 / often (12), i = k == 0 ? 2 : 1 + (int) below (&rng, num_commits - 1);
    const long start = places->end[i], next = places->end[i + 1];
    /* Whole sections that were not committed go, too: in the first case an inline section; and if nothing but the seal is missing. */
    const long at = k == 0 ? start + 96 : k < 7 ? start + (long) below (&rng, (uint64_t) (next - 288 - start))
                                                : next - 288 + (long) below (&rng, 288);
    copy (g, reference, name, at);
    params.seal = k % 2; /* what has a seal is sealed again in any case */
    scda_params_t reading = default_params ();
    reading.driver = v->driver;
    scda_fcontext_t *early = open_torn (g, name, &reading, commits[i], start, at - start);
    scda_fcontext_t *f = open_append (g, name, c, &params, at - start);
    write_rest (g, f, c, commits[i], seed, NULL, name);
    SAME (name, reference);
    if (!params.atomic) { read_on (early, c, commits[i], size_of (reference)); }
    else { REQUIRE (scda_fclose (early, &err) == 0); } /* its file has no name any more */
  }
  /* A file without a seal, which gets one of what it has before sections are added: as if it were opened twice for that. */
  char once[1200];
  scda_fcontext_t *f;
  snprintf (once, sizeof once, "%s/once-%016llx.scda", dir, (unsigned long long) seed);
  for (int is_twice = 0; is_twice < 2; ++is_twice) {
    const char *file = is_twice ? once : name;
    params.seal = 0;
    RIGHT (scda_fopen_write (g.comm, file, c->user.bytes, &c->user.len, &params, &err));
    f = content_write_some (g, f, c, 0, 30, seed);
    CLOSE ();
    params.seal = 1;
    f = open_append (g, file, c, &params, 0);
    if (is_twice) {
      CLOSE ();
      f = open_append (g, file, c, &params, 0);
    }
    f = content_write_some (g, f, c, 30, c->count, seed);
    CLOSE ();
  }
  SAME (name, once);
  params.seal = 0; /* and without one */
  RIGHT (scda_fopen_write (g.comm, name, c->user.bytes, &c->user.len, &params, &err));
  CLOSE ();
  f = open_append (g, name, c, &params, 0);
  f = content_write_some (g, f, c, 0, c->count, seed);
  CLOSE ();
  content_write (g, once, c, seed, &params);
  SAME (name, once);
  barrier (g);
  if (g.rank == 0) { unlink (name), unlink (once); }
  barrier (g);
}

/* Opening to append fails with this code on all ranks, and the file is as it was. */
static void refused_one (group_t g, const char *name, const char *original, const variant_t *v, int want, int line) {
  int err = -1;
  scda_params_t params = sealed_params (v);
  const scda_fcontext_t *f = scda_fopen_append (g.comm, name, NULL, NULL, &params, &err);
  if (f != NULL || err != want || !all_same (g, (uint64_t) err) || *scda_last_error_message () == 0) {
    fprintf (stderr, "seal.c:%d: error %d, want %d: %s\n", line, err, want, scda_last_error_message ());
    ++failures;
  }
  same (g, name, original, line);
}
#define REFUSED(want) refused_one (g, name, original, v, want, __LINE__)

static void refused (group_t g, const char *dir, const char *reference, const content_t *c, const variant_t *v, uint64_t seed) {
  char name[1200], original[1200], folder[1100];
  int err;
  scda_fcontext_t *f;
  scda_params_t params = sealed_params (v);
  snprintf (folder, sizeof folder, "%s/refused-%016llx", dir, (unsigned long long) seed);
  snprintf (name, sizeof name, "%s/a.scda", folder);
  snprintf (original, sizeof original, "%s/b.scda", folder);
  barrier (g);
  if (g.rank == 0) { REQUIRE (mkdir (folder, 0700) == 0); }
  barrier (g);
  /* No scda file; an empty one; one without a seal that is cut; a later version of the format. */
  static const char words[] = "This file was never written by any program that knows of scda, as its first words say.\n";
  for (int k = 0; k < 2; ++k) {
    if (g.rank == 0) {
      FILE *out = fopen (original, "wb");
      REQUIRE (out != NULL && fputs (k ? "" : words, out) >= 0 && fclose (out) == 0);
    }
    copy (g, original, name, k ? 0 : (long) sizeof words - 1);
    REFUSED (k ? SCDA_ERR_NO_SUCH_FILE : SCDA_ERR_FORMAT);
  }
  params.seal = 0, params.atomic = 0;
  content_write (g, original, c, seed, &params);
  barrier (g);
  if (g.rank == 0) { REQUIRE (truncate (original, size_of (original) - 7) == 0); }
  barrier (g);
  copy (g, original, name, size_of (original));
  REFUSED (SCDA_ERR_COUNT);
  copy (g, reference, original, size_of (reference));
  if (g.rank == 0) {
    FILE *file = fopen (original, "r+b");
    REQUIRE (file != NULL && fseek (file, 6, SEEK_SET) == 0 && fputc ('7', file) == '7' && fclose (file) == 0);
  }
  barrier (g);
  copy (g, original, name, size_of (original));
  REFUSED (SCDA_ERR_VERSION);
  /* One to which somebody else appends. */
  copy (g, reference, original, size_of (reference));
  copy (g, reference, name, size_of (reference));
  params = sealed_params (v);
  params.driver = SCDA_DRIVER_POSIX;
  RIGHT (scda_fopen_append (g.comm, name, NULL, NULL, &params, &err));
  REFUSED (SCDA_ERR_FILE_IN_USE);
  CLOSE (); /* nothing was appended */
  SAME (name, original);
  barrier (g);
  CHECK (entries (folder) == 4); /* these two, "." and ".." */
  barrier (g);
  if (g.rank == 0) { REQUIRE (unlink (name) == 0 && unlink (original) == 0 && rmdir (folder) == 0); }
}

/* ---- sections by number and name, elements by number ---- */

/* The number of the section with this name, counted as scda_ffind counts; -1 if there is none. */
static int number_of (const content_t *c, const user_t *user, int64_t occurrence) {
  for (int i = 0; i < c->count; ++i) {
    const int k = occurrence < 0 ? c->count - 1 - i : i;
    const user_t *own = &c->section[k].user;
    if (own->len != user->len || memcmp (own->bytes, user->bytes, own->len) != 0) { continue; }
    if (occurrence == 0 || occurrence == -1) { return k; }
    occurrence += occurrence < 0 ? 1 : -1;
  }
  return -1;
}

static scda_fcontext_t *find (scda_fcontext_t *f, const content_t *c, uint64_t *rng) {
  static const user_t other = {7, "nowhere"};
  const int64_t occurrence = (int64_t) below (rng, 7) - 3;
  const user_t *user = below (rng, 8) == 0 ? &other : &c->section[below (rng, (uint64_t) c->count)].user;
  const int expected = number_of (c, user, occurrence);
  int err, found = 77;
  uint64_t number = 77;
  RIGHT (scda_ffind (f, user->bytes, &user->len, occurrence, &found, &number, &err));
  CHECK (found == (expected >= 0) && number == (uint64_t) (found ? expected : 77));
  if (memchr (user->bytes, 0, user->len) == NULL) {
    char text[SCDA_USER_STRING_BYTES + 1] = {0};
    memcpy (text, user->bytes, user->len);
    RIGHT (scda_ffind (f, text, NULL, occurrence, NULL, NULL, &err));
  }
  return f;
}

/* Ranges of the elements of a section, or of the bytes of a block: any on each rank. */
static scda_fcontext_t *read_ranges (scda_fcontext_t *f, const section_t *s, uint64_t *rng, uint64_t *own) {
  const uint64_t elems = s->type == 'B' ? s->E : s->elems;
  int err;
  for (uint64_t rounds = 1 + below (rng, 4); rounds > 0; --rounds) {
    const uint64_t kind = below (own, 6); /* 0: nothing; 1: all; else some */
    const uint64_t first = kind == 1 ? 0 : below (own, elems + 1);
    const uint64_t count = kind == 0 ? 0 : kind == 1 ? elems : below (own, elems - first + 1);
    const uint64_t *at = s->type == 'B' ? NULL : s->at + first;
    const uint64_t start = s->type == 'B' ? first : at[0], bytes = s->type == 'B' ? count : at[count] - at[0];
    const int skip = below (own, 8) == 0, indirect = s->type != 'B' && below (own, 2);
    unsigned char *data = (unsigned char *) get_memory (bytes);
    data[bytes] = 0xa5;
    void **pointers = (void **) get_memory ((indirect ? count : 0) * sizeof *pointers);
    for (uint64_t i = 0; indirect && i < count; ++i) { pointers[i] = data + (at[i] - start); }
    void *to = skip ? NULL : indirect ? (void *) pointers : (void *) data;
    if (s->type == 'B') { RIGHT (scda_fread_block_range (f, to, first, count, &err)); }
    if (s->type == 'A') { RIGHT (scda_fread_array_range (f, to, first, count, s->E, indirect, &err)); }
    if (s->type == 'V') {
      uint64_t *Ei = (uint64_t *) get_memory (count * sizeof *Ei);
      RIGHT (scda_fread_varray_sizes_range (f, skip ? NULL : Ei, first, count, &err));
      for (uint64_t i = 0; !skip && i < count; ++i) { REQUIRE (Ei[i] == at[i + 1] - at[i]); }
      RIGHT (scda_fread_varray_range (f, to, first, count, skip ? NULL : Ei, indirect, &err));
      free (Ei);
    }
    REQUIRE (data[bytes] == 0xa5 && (skip || memcmp (data, s->data + start, (size_t) bytes) == 0));
    free (data);
    free (pointers);
  }
  return f;
}

static void look_up (group_t g, const char *name, const content_t *c, uint64_t seed, const scda_params_t *params) {
  uint64_t rng = seed, own = mix (seed, (uint64_t) g.rank), N = 77;
  char user[SCDA_USER_STRING_BYTES + 1], type;
  int err, decode;
  scda_fcontext_t *f;
  RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, params, &err));
  for (int round = 0; round < often (48); ++round) {
    if (below (&rng, 3) == 0) {
      RIGHT (scda_fsections (f, &N, &err));
      CHECK (N == (uint64_t) c->count);
    }
    uint64_t k = below (&rng, (uint64_t) c->count), E;
    RIGHT (scda_fseek (f, k, &err));
    for (uint64_t run = below (&rng, 3);; --run) { /* that section, and some that follow */
      const section_t *s = &c->section[k];
      size_t len;
      decode = 1;
      RIGHT (scda_fread_section_header (f, &type, &N, &E, user, &len, &decode, &err));
      REQUIRE (type == s->type && N == s->N && E == s->E && len == s->user.len && memcmp (user, s->user.bytes, len) == 0);
      if (below (&rng, 3) == 0) { f = find (f, c, &rng); } /* in the midst of a section */
      if (type == 'I') { RIGHT (scda_fread_inline_data (f, NULL, 0, &err)); }
      else { f = read_ranges (f, s, &rng, &own); }
      if (type == 'B' && below (&rng, 4) == 0) { RIGHT (scda_fread_block_data (f, NULL, E, 0, &err)); } /* or all of it */
      if (++k == (uint64_t) c->count || run == 0) { break; }
    }
  }
  CLOSE ();
}

/* ---- flipped bits ---- */

static void flip (group_t g, const char *name, long at) {
  barrier (g);
  if (g.rank == 0) {
    FILE *file = fopen (name, "r+b");
    REQUIRE (file != NULL && fseek (file, at, SEEK_SET) == 0);
    const int byte = fgetc (file);
    REQUIRE (fseek (file, at, SEEK_SET) == 0 && fputc (byte ^ 1 << at % 8, file) != EOF && fclose (file) == 0);
  }
  barrier (g);
}

/* Read all headers, verifying. Returns the error. */
static int verify (group_t g, const char *name, const variant_t *v, int to_seal) {
  int err = -1, decode = 1;
  char type;
  uint64_t E;
  scda_params_t params = sealed_params (v);
  params.verify = 1;
  params.to_seal = to_seal;
  scda_fcontext_t *f = scda_fopen_read (g.comm, name, NULL, NULL, &params, &err);
  while (err == 0) {
    f = scda_fread_section_header (f, &type, NULL, &E, NULL, NULL, &decode, &err);
    if (err != 0) { break; }
    if (type == 'I') { f = scda_fread_inline_data (f, NULL, 0, &err); }
    if (type == 'B') { f = scda_fread_block_data (f, NULL, E, 0, &err); }
    if (type == 'A') { f = scda_fread_array_range (f, NULL, 0, 0, E, 0, &err); } /* the next header skips the rest */
    if (type == 'V') { f = scda_fread_varray_range (f, NULL, 0, 0, NULL, 0, &err); }
  }
  CHECK ((f == NULL) == (err != SCDA_ERR_EOF) && all_same (g, (uint64_t) err));
  if (f == NULL) { return err; }
  CLOSE ();
  return 0;
}

static void flips (group_t g, const char *dir, const char *reference, const variant_t *v, uint64_t seed) {
  char name[1200];
  uint64_t rng = seed;
  const long bytes = size_of (reference);
  snprintf (name, sizeof name, "%s/flip-%016llx.scda", dir, (unsigned long long) seed);
  copy (g, reference, name, bytes);
  CHECK (verify (g, name, v, 1) == 0);
  for (int k = 0; k < often (40); ++k) {
    const long at = k < 4 ? bytes - 1 - 90 * k : 128 + (long) below (&rng, (uint64_t) (bytes - 128));
    flip (g, name, at);
    const int err = verify (g, name, v, k % 2);
    if (err != SCDA_ERR_CHECKSUM || strstr (scda_last_error_message (), name) == NULL) {
      fprintf (stderr, "seal.c: a flipped bit of byte %ld of %s: error %d: %s\n", at, name, err, scda_last_error_message ());
      ++failures;
    }
    flip (g, name, at);
  }
  SAME (name, reference);
  /* A file without a seal at its end: what was committed before is whole. */
  if (g.rank == 0) { REQUIRE (truncate (name, bytes - 288) == 0); }
  barrier (g);
  CHECK (verify (g, name, v, 0) == SCDA_ERR_CHECKSUM && verify (g, name, v, 1) == 0);
  barrier (g);
  if (g.rank == 0) { unlink (name); }
}

/* ---- all of it ---- */

static void round_trip (group_t g, const char *dir, const content_t *c, int which, int variant, uint64_t seed) {
  const variant_t *v = &variants[variant];
  char mine[1024], reference[1024];
  scda_params_t params = sealed_params (v), other = params;
  places_t places;
  snprintf (reference, sizeof reference, "%s/%d-%s.scda", dir, which, v->name);
  snprintf (mine, sizeof mine, "%s/%d-%d-%016llx.scda", dir, which, variant, (unsigned long long) seed);
  write_committed (g, mine, c, seed, &params, NULL);
  barrier (g);
  if (g.rank == 0 && access (reference, F_OK) != 0) { REQUIRE (world ().size == 1 && rename (mine, reference) == 0); }
  else { SAME (mine, reference); }
  write_appended (g, mine, c, seed + 1, &params);
  SAME (mine, reference);
  params.atomic = 0;
  write_committed (g, mine, c, seed + 2, &params, &places);
  SAME (mine, reference);
  CHECK (places.end[0] > 0 && places.end[1] == places.end[0]);
  for (int i = 1; i < num_commits; ++i) { CHECK (places.end[i + 1] > places.tables[i + 1] && places.tables[i + 1] > places.end[i]); }

  write_back (g, mine, reference, c, seed + 11, &params, &places);

  other.driver = v->driver == SCDA_DRIVER_POSIX ? driver_mpiio : SCDA_DRIVER_POSIX;
  other.verify = 1;
  content_read (g, reference, c, seed + 3, &other);
  look_up (g, reference, c, seed + 4, &other);
  look_up (g, reference, c, seed + 5, &params);
  params.seal = 0; /* and without one */
  content_write (g, mine, c, seed + 6, &params);
  look_up (g, mine, c, seed + 7, &params);
  barrier (g);
  if (g.rank == 0) { unlink (mine); }
  if (which == 0) {
    torn (g, dir, reference, c, &places, v, seed + 8);
    refused (g, dir, reference, c, v, seed + 9);
    flips (g, dir, reference, v, seed + 10);
  }
}

int main (int argc, char **argv) {
  enum { contents = 2, num_variants = sizeof variants / sizeof variants[0] }; /* the last one is big */
  start (&argc, &argv);
  REQUIRE (argc == 2 || argc == 3);
  const group_t all = world ();
  for (int k = 0; k < contents - (argc - 2); ++k) {
    content_t *c = content_random (10 + (uint64_t) k, k == contents - 1);
    for (int a = (all.size + 1) / 2; a <= all.size; ++a) {
      const int color = all.rank < a;
      group_t g = group_split (all, color, color ? -all.rank : all.rank);
      for (int v = 0; v < num_variants; ++v) {
        if (all.size > 1 && (v + a + k) % num_variants != 0) { continue; }
        round_trip (g, argv[1], c, k, v, mix ((uint64_t) (10 * a + color), (uint64_t) (10 * v + k)));
      }
      group_free (&g);
    }
    content_free (c);
  }
  return finish ();
}
