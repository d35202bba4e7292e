#include "sections.h"

#include <ctype.h>

static void section_alloc (section_t *s, uint64_t elems) {
  s->elems = elems;
  s->at = (uint64_t *) get_memory ((elems + 1) * sizeof *s->at);
  s->at[0] = 0;
  s->data = NULL;
}

static uint64_t section_bytes (const section_t *s) { return s->at[s->elems]; }

static void section_free (section_t *s) {
  free (s->at);
  free (s->data);
}

void content_free (content_t *c) {
  for (int k = 0; k < c->count; ++k) { section_free (&c->section[k]); }
  free (c);
}

/* ---- content at random ---- */

static user_t user_random (uint64_t *rng) {
  static const char *const nice[] = {"", "pressure", "ends in space ", "- -- -", "ends in dash -", " --", "\r\n", "a\nb\n"};
  user_t u = {0, ""};
  const uint64_t kind = below (rng, 12);
  if (kind < 8) {
    u.len = strlen (nice[kind]);
    memcpy (u.bytes, nice[kind], u.len);
  } else {
    u.len = kind < 10 ? SCDA_USER_STRING_BYTES : below (rng, SCDA_USER_STRING_BYTES + 1);
    for (size_t i = 0; i < u.len; ++i) { u.bytes[i] = (char) (kind % 2 ? below (rng, 256) : below (rng, 2) * 45); }
  }
  return u;
}

/* Data are noise, text, or zeros; each element ends in a line feed or not. */
static void data_random (section_t *s, uint64_t *rng) {
  const uint64_t kind = below (rng, 3), newline = below (rng, 2), bytes = section_bytes (s);
  s->data = (unsigned char *) get_memory (bytes);
  for (uint64_t i = 0; i < bytes; i += 8) {
    const uint64_t noise = rnd (rng);
    for (uint64_t j = i; j < i + 8 && j < bytes; ++j) {
      const unsigned char r = (unsigned char) (noise >> 8 * (j - i));
      s->data[j] = kind == 0 ? r : kind == 1 ? (unsigned char) "ab c"[r & 3] : 0;
    }
  }
  for (uint64_t i = 0; i < s->elems; ++i) {
    if (s->at[i + 1] > s->at[i] && (newline || kind == 1)) { s->data[s->at[i + 1] - 1] = newline ? '\n' : 'x'; }
  }
}

static void section_random (section_t *s, uint64_t *rng, char type, int encode, uint64_t elems, uint64_t E) {
  s->type = type;
  s->encode = encode;
  s->user = user_random (rng);
  s->N = type == 'A' || type == 'V' ? elems : 0;
  s->E = type == 'A' || type == 'B' ? E : 0;
  section_alloc (s, elems);
  for (uint64_t i = 0; i < elems; ++i) { s->at[i + 1] = s->at[i] + (type == 'V' ? below (rng, E + 1) : E); }
  data_random (s, rng);
}

content_t *content_random (uint64_t seed, int big) {
  static const uint64_t counts[] = {0, 1, 2, 3, 7, 20, 60}, sizes[] = {0, 1, 3, 8, 25, 26, 48, 57, 300, 1000};
  uint64_t rng = mix (seed, 1);
  content_t *c = (content_t *) get_memory (sizeof *c);
  c->user = user_random (&rng);
  c->count = 50;
  for (int k = 0; k < c->count; ++k) {
    const char type = "IBAVBAVBAV"[k % 10]; /* each type plain, compressed, automatic, in turn */
    const int encode = k % 10 < 4 ? SCDA_ENCODE_NONE : k % 10 < 7 ? SCDA_ENCODE_ALWAYS : SCDA_ENCODE_AUTO;
    section_random (&c->section[k], &rng, type, encode, type == 'I' || type == 'B' ? 1 : counts[below (&rng, 7)],
                    type == 'I' ? SCDA_INLINE_BYTES : sizes[below (&rng, 10)]);
  }
  if (big) {
    section_t *s = &c->section[c->count];
    section_random (s++, &rng, 'A', SCDA_ENCODE_NONE, 700000, 8);
    section_random (s++, &rng, 'B', SCDA_ENCODE_ALWAYS, 1, 2000000);
    section_random (s++, &rng, 'V', SCDA_ENCODE_NONE, 60000, 150);
    section_random (s++, &rng, 'V', SCDA_ENCODE_ALWAYS, 3000, 900);
    section_random (s++, &rng, 'B', SCDA_ENCODE_NONE, 1, 5000000);
    section_random (s++, &rng, 'A', SCDA_ENCODE_AUTO, 20000, 64);
    section_random (s++, &rng, 'I', SCDA_ENCODE_NONE, 1, SCDA_INLINE_BYTES);
    c->count = (int) (s - c->section);
  }
  return c;
}

/* ---- manifests ---- */

/* One word of hexadecimal: its bytes, in memory that the caller frees. */
static unsigned char *get_hex (FILE *file, uint64_t *bytes) {
  uint64_t room = 1 << 10, n = 0;
  char *word = (char *) get_memory (room);
  int ch;
  while (isspace (ch = fgetc (file))) {}
  for (; ch != EOF && !isspace (ch); ch = fgetc (file)) {
    if (n + 2 > room) {
      word = (char *) realloc (word, room *= 2);
      REQUIRE (word != NULL);
    }
    word[n++] = (char) ch;
  }
  REQUIRE (n > 0);
  *bytes = *word == '-' ? 0 : n / 2;
  for (uint64_t i = 0; i < *bytes; ++i) {
    const char pair[3] = {word[2 * i], word[2 * i + 1], 0};
    word[i] = (char) strtoul (pair, NULL, 16);
  }
  return (unsigned char *) word;
}

static void put_hex (FILE *file, const void *data, uint64_t bytes, char end) {
  const unsigned char *p = (const unsigned char *) data;
  for (uint64_t i = 0; i < bytes; ++i) {
    fputc ("0123456789abcdef"[p[i] >> 4], file);
    fputc ("0123456789abcdef"[p[i] & 15], file);
  }
  if (bytes == 0) { fputc ('-', file); }
  fputc (end, file);
}

static user_t get_user (FILE *file) {
  user_t u = {0, ""};
  uint64_t bytes;
  unsigned char *p = get_hex (file, &bytes);
  REQUIRE (bytes <= SCDA_USER_STRING_BYTES);
  memcpy (u.bytes, p, u.len = (size_t) bytes);
  free (p);
  return u;
}

content_t *content_load (const char *manifest) {
  FILE *file = fopen (manifest, "r");
  REQUIRE (file != NULL);
  content_t *c = (content_t *) get_memory (sizeof *c);
  unsigned long long elems, E;
  c->user = get_user (file);
  for (c->count = 0;; ++c->count) {
    section_t *s = &c->section[c->count];
    if (fscanf (file, " %c %d %llu %llu", &s->type, &s->encode, &elems, &E) != 4) { break; }
    REQUIRE (c->count < 256);
    s->user = get_user (file);
    s->N = s->type == 'A' || s->type == 'V' ? elems : 0;
    s->E = E;
    section_alloc (s, elems);
    s->data = (unsigned char *) get_memory (0);
    for (uint64_t i = 0; i < elems; ++i) {
      uint64_t bytes;
      unsigned char *p = get_hex (file, &bytes);
      s->at[i + 1] = s->at[i] + bytes;
      s->data = (unsigned char *) realloc (s->data, (size_t) s->at[i + 1] + 1);
      REQUIRE (s->data != NULL);
      memcpy (s->data + s->at[i], p, (size_t) bytes);
      free (p);
    }
  }
  fclose (file);
  return c;
}

void content_save (const content_t *c, const char *manifest) {
  FILE *file = fopen (manifest, "w");
  REQUIRE (file != NULL);
  put_hex (file, c->user.bytes, c->user.len, '\n');
  for (int k = 0; k < c->count; ++k) {
    const section_t *s = &c->section[k];
    fprintf (file, "%c %d %llu %llu ", s->type, s->encode, (unsigned long long) s->elems, (unsigned long long) s->E);
    put_hex (file, s->user.bytes, s->user.len, '\n');
    for (uint64_t i = 0; i < s->elems; ++i) { put_hex (file, s->data + s->at[i], s->at[i + 1] - s->at[i], '\n'); }
  }
  REQUIRE (fclose (file) == 0);
}

/* ---- my part of a section ---- */

typedef struct {
  uint64_t *Nq, *Sq, *Ei; /* elements per rank, bytes per rank, bytes of each of mine */
  uint64_t mine, bytes;   /* my elements, my bytes */
  unsigned char *data;    /* my bytes in `expect`, or where to read them */
  void **pointers;        /* to each of my elements in data */
} part_t;

static part_t part_new (group_t g, const section_t *s, uint64_t *rng, unsigned char *data) {
  part_t part;
  part.Nq = (uint64_t *) get_memory (2 * (uint64_t) g.size * sizeof (uint64_t));
  part.Sq = part.Nq + g.size;
  partition (rng, s->elems, g.size, part.Nq);
  for (int p = 0; p < g.size; ++p) {
    const uint64_t first = first_of (part.Nq, p);
    part.Sq[p] = s->at[first + part.Nq[p]] - s->at[first];
  }
  const uint64_t *at = s->at + first_of (part.Nq, g.rank);
  part.mine = part.Nq[g.rank];
  part.bytes = part.Sq[g.rank];
  part.data = data == NULL ? (unsigned char *) get_memory (part.bytes) : data + at[0];
  part.Ei = (uint64_t *) get_memory (part.mine * sizeof (uint64_t));
  part.pointers = (void **) get_memory (part.mine * sizeof (void *));
  for (uint64_t i = 0; i < part.mine; ++i) {
    part.Ei[i] = at[i + 1] - at[i];
    part.pointers[i] = part.data + (at[i] - at[0]);
  }
  return part;
}

static void part_free (part_t *part) {
  free (part->Nq);
  free (part->Ei);
  free (part->pointers);
}

/* ---- writing ---- */

static scda_fcontext_t *section_write (group_t g, scda_fcontext_t *f, const section_t *s, uint64_t seed, int *err) {
  uint64_t rng = mix (seed, 2);
  const int root = (int) below (&rng, (uint64_t) g.size), indirect = (int) below (&rng, 2);
  const int c_string = memchr (s->user.bytes, 0, s->user.len) == NULL && below (&rng, 2);
  const size_t *len = c_string ? NULL : &s->user.len;
  const void *on_root = g.rank == root ? s->data : (void *) &rng; /* on other ranks this is ignored */
  if (s->type == 'I') { return scda_fwrite_inline (f, on_root, s->user.bytes, len, root, err); }
  if (s->type == 'B') { return scda_fwrite_block (f, on_root, s->E, s->user.bytes, len, root, s->encode, err); }

  part_t part = part_new (g, s, &rng, s->data);
  const void *data = part.bytes == 0 ? NULL : indirect ? (void *) part.pointers : (void *) part.data;
  if (s->type == 'A') {
    f = scda_fwrite_array (f, data, part.Nq, s->E, indirect, s->user.bytes, len, s->encode, err);
  } else {
    const uint64_t *Sq = below (&rng, 2) ? part.Sq : NULL;
    f = scda_fwrite_varray (f, data, part.Nq, part.Ei, Sq, indirect, s->user.bytes, len, s->encode, err);
  }
  part_free (&part);
  return f;
}

scda_fcontext_t *content_write_some (group_t g, scda_fcontext_t *f, const content_t *c, int first, int last, uint64_t seed) {
  for (int k = first; k < last; ++k) {
    int err = -1;
    f = section_write (g, f, &c->section[k], mix (seed, (uint64_t) k), &err);
    REQUIRE (f != NULL && err == 0);
    if (seed % 5 == 0 && k % 7 == 0) {
      f = scda_fflush (f, &err);
      REQUIRE (f != NULL && err == 0);
    }
  }
  return f;
}

void content_write (group_t g, const char *filename, const content_t *c, uint64_t seed, const scda_params_t *params) {
  int err = -1;
  scda_fcontext_t *f = scda_fopen_write (g.comm, filename, c->user.bytes, &c->user.len, params != NULL ? params : bare (), &err);
  REQUIRE (f != NULL && err == 0);
  f = content_write_some (g, f, c, 0, c->count, seed);
  err = -1;
  REQUIRE (scda_fclose (f, &err) == 0 && err == 0);
}

/* ---- the file as it is, read with stdio: the library is not asked ---- */

static uint64_t raw_count (FILE *file, char letter) {
  char entry[33] = {0};
  REQUIRE (fread (entry, 1, 32, file) == 32 && entry[0] == letter && entry[1] == ' ');
  return strtoull (entry + 2, NULL, 10);
}

static user_t raw_user (FILE *file, char *type) {
  char entry[64];
  user_t u = {62 - 2, ""}; /* from the right: two bytes of line break, dashes, one space */
  REQUIRE (fread (entry, 1, 64, file) == 64 && entry[1] == ' ');
  while (u.len > 0 && entry[2 + u.len - 1] == '-') { --u.len; }
  REQUIRE (u.len > 0 && u.len < 60 && entry[2 + --u.len] == ' ');
  memcpy (u.bytes, entry + 2, u.len);
  *type = entry[0];
  return u;
}

static section_t raw_section (FILE *file) {
  section_t s;
  s.user = raw_user (file, &s.type);
  s.encode = SCDA_ENCODE_NONE;
  s.N = s.type == 'A' || s.type == 'V' ? raw_count (file, 'N') : 0;
  s.E = s.type == 'A' || s.type == 'B' ? raw_count (file, 'E') : 0;
  section_alloc (&s, s.type == 'A' || s.type == 'V' ? s.N : 1);
  for (uint64_t i = 0; i < s.elems; ++i) {
    s.at[i + 1] = s.at[i] + (s.type == 'I' ? 32 : s.type == 'V' ? raw_count (file, 'E') : s.E);
  }
  const uint64_t bytes = section_bytes (&s), padding = s.type == 'I' ? 0 : 7 + (57 - bytes % 32) % 32;
  s.data = (unsigned char *) get_memory (bytes);
  REQUIRE (fread (s.data, 1, (size_t) bytes, file) == bytes && fseek (file, (long) padding, SEEK_CUR) == 0);
  return s;
}

/* Whether this section is one of a seal, or the room for HDF5. No content at random has such names. */
static int raw_is_seal (const section_t *s) {
  static const char *const names[] = {"scda hdf5 00", "scda anchors 00", "scda names 00", "scda index 00", "scda seal 00"};
  for (int i = 0; i < 5; ++i) {
    if (s->user.len == strlen (names[i]) && memcmp (s->user.bytes, names[i], s->user.len) == 0) { return 1; }
  }
  return 0;
}

/* Whether this section announces a compressed one. */
static int raw_is_announcement (const section_t *s) {
  static const char magic[] = "? compressed scda 00";
  return s->user.len == strlen (magic) && memcmp (s->user.bytes + 1, magic + 1, strlen (magic) - 1) == 0
         && ((s->type == 'I' && strchr ("AB", s->user.bytes[0])) || (s->type == 'A' && s->user.bytes[0] == 'V'));
}

/* ---- reading ---- */

/* sc/sections.c compiles this file for libsc's interface, which needs the S_q, and where reading ends in another way. */
#ifdef VIA_LIBSC
enum { least_Sq = 1 };
#else
enum { least_Sq = 0 };
#endif

static scda_fcontext_t *section_read_data (group_t g, scda_fcontext_t *f, const section_t *s, uint64_t seed) {
  uint64_t rng = mix (seed, 3), my_rng = mix (rng, (uint64_t) g.rank);
  const int root = (int) below (&rng, (uint64_t) g.size), indirect = (int) below (&rng, 2);
  const uint64_t mood = below (&rng, 8); /* 0: all skip; 1, 2: some skip; else none */
  const int skip = mood == 0 || (mood < 3 && below (&my_rng, 2) == 0);
  int err = -1;

  if (s->type == 'I' || s->type == 'B') {
    const uint64_t bytes = g.rank == root ? section_bytes (s) : 0;
    unsigned char *data = (unsigned char *) get_memory (bytes);
    data[bytes] = 0xa5; /* must survive */
    f = s->type == 'I' ? scda_fread_inline_data (f, skip ? NULL : data, root, &err)
                       : scda_fread_block_data (f, skip ? NULL : data, s->E, root, &err);
    REQUIRE (f != NULL && err == 0);
    REQUIRE (skip || (memcmp (data, s->data, (size_t) bytes) == 0 && data[bytes] == 0xa5));
    free (data);
    return f;
  }

  part_t part = part_new (g, s, &rng, NULL);
  void *data = skip ? NULL : indirect ? (void *) part.pointers : (void *) part.data;
  part.data[part.bytes] = 0xa5;
  uint64_t *counts = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *counts);
  f = scda_proc_counts (f, part.mine, counts, &err);
  REQUIRE (f != NULL && err == 0);
  REQUIRE (memcmp (counts, part.Nq, (size_t) g.size * sizeof *counts) == 0);
  free (counts);
  if (s->type == 'A') {
    f = scda_fread_array_data (f, data, part.Nq, s->E, indirect, &err);
  } else {
    uint64_t *Ei = (uint64_t *) get_memory (part.mine * sizeof *Ei);
    uint64_t *Sq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Sq);
    f = scda_fread_varray_sizes (f, skip ? NULL : Ei, part.Nq, &err);
    REQUIRE (f != NULL && err == 0);
    REQUIRE (skip || memcmp (Ei, part.Ei, (size_t) part.mine * sizeof *Ei) == 0);
    /* Not at all, mine, the library's. */
    const int use_Sq = least_Sq + (int) below (&rng, 3 - least_Sq);
    if (use_Sq == 2) {
      f = scda_proc_sizes (f, part.Ei, part.Nq, Sq, &err);
      REQUIRE (f != NULL && err == 0);
      REQUIRE (memcmp (Sq, part.Sq, (size_t) g.size * sizeof *Sq) == 0);
    }
    f = scda_fread_varray_data (f, data, part.Nq, skip ? NULL : Ei, use_Sq == 0 ? NULL : use_Sq == 1 ? part.Sq : Sq,
                                indirect, &err);
    free (Ei);
    free (Sq);
  }
  REQUIRE (f != NULL && err == 0);
  REQUIRE (part.data[part.bytes] == 0xa5);
  REQUIRE (skip || memcmp (part.data, s->data + s->at[first_of (part.Nq, g.rank)], (size_t) part.bytes) == 0);
  free (part.data);
  part_free (&part);
  return f;
}

#ifndef VIA_LIBSC
/* No section follows; close the file. */
static void end_reading (scda_fcontext_t *f, uint64_t seed) {
  char type;
  int err = -1;
  (void) seed;
  CHECK (info_of (f).at_end);
  f = scda_fread_section_header (f, &type, NULL, NULL, NULL, NULL, NULL, &err);
  REQUIRE (f != NULL && err == SCDA_ERR_EOF);
  err = -1;
  REQUIRE (scda_fclose (f, &err) == 0 && err == 0);
}
#endif

/* Header and data of one section, which must be as in s. */
static scda_fcontext_t *section_read (group_t g, scda_fcontext_t *f, const section_t *s, int decode_in, int decode_out,
                                      uint64_t seed) {
  char type = '?', user[SCDA_USER_STRING_BYTES + 1];
  uint64_t N = 77, E = 77;
  size_t len = 77;
  int decode = decode_in, err = -1;
#ifndef VIA_LIBSC
  CHECK (!info_of (f).at_end);
#endif
  f = scda_fread_section_header (f, &type, &N, &E, user, &len, &decode, &err);
  REQUIRE (f != NULL && err == 0);
  REQUIRE (type == s->type && N == s->N && E == s->E && decode == decode_out);
  REQUIRE (len == s->user.len && memcmp (user, s->user.bytes, len) == 0 && user[len] == 0);
  return section_read_data (g, f, s, seed);
}

void content_read (group_t g, const char *filename, const content_t *c, uint64_t seed, const scda_params_t *params) {
  char user[SCDA_USER_STRING_BYTES + 1], type;
  size_t len = 77;
  int err = -1;
  FILE *file = fopen (filename, "rb");
  scda_fcontext_t *f = scda_fopen_read (g.comm, filename, user, &len, params, &err);
  REQUIRE (f != NULL && err == 0 && file != NULL);
  REQUIRE (len == c->user.len && memcmp (user, c->user.bytes, len) == 0 && user[len] == 0);
  REQUIRE (fseek (file, 32, SEEK_SET) == 0);
  raw_user (file, &type);
  REQUIRE (type == 'F' && fseek (file, 128, SEEK_SET) == 0);

  for (int k = 0; k < c->count; ++k) {
    const section_t *s = &c->section[k];
    const uint64_t section_seed = mix (seed, (uint64_t) k);
    const int decode = section_seed % 3 != 0; /* two thirds decoded, one third as it is in the file */
    section_t raw = raw_section (file), packed;
    while (raw_is_seal (&raw)) {
      section_free (&raw);
      raw = raw_section (file);
    }
    const int is_packed = raw_is_announcement (&raw);
    CHECK (s->encode == SCDA_ENCODE_AUTO || is_packed == (s->encode == SCDA_ENCODE_ALWAYS));
    if (is_packed) { packed = raw_section (file); }

    if (decode) {
      f = section_read (g, f, s, 1, is_packed, section_seed);
    } else {
      f = section_read (g, f, &raw, 0, 0, section_seed);
      if (is_packed) { f = section_read (g, f, &packed, 0, 0, mix (section_seed, 1)); }
    }
    section_free (&raw);
    if (is_packed) { section_free (&packed); }
  }

  end_reading (f, seed);
  fclose (file);
}

int files_equal (const char *a, const char *b, long from) {
  FILE *fa = fopen (a, "rb"), *fb = fopen (b, "rb");
  static char bytes[2][1 << 16];
  size_t na = 0, nb = 0;
  int equal = fa != NULL && fb != NULL && fseek (fa, from, SEEK_SET) == 0 && fseek (fb, from, SEEK_SET) == 0;
  do {
    if (!equal) { break; }
    na = fread (bytes[0], 1, sizeof bytes[0], fa);
    nb = fread (bytes[1], 1, sizeof bytes[1], fb);
    equal = na == nb && memcmp (bytes[0], bytes[1], na) == 0;
  } while (na > 0);
  if (fa != NULL) { fclose (fa); }
  if (fb != NULL) { fclose (fb); }
  return equal;
}
