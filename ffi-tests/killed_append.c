/* A series of sections that is appended to one file, with commits between them, until somebody kills us: see
 * killed_append.py.
 *
 *   killed_append append DIR DRIVER ATOMIC CALL HOW RANK    removes what a killed run has left, and appends some sections to
 *                   DIR/series.scda (DRIVER: 1 MPI-IO, 2 POSIX). The CALL-th call on a file of ours kills RANK, or with -1 all ranks,
 *                   each at its own: before the call (HOW 0), or when half of what it writes is written (1). CALL 0: none does.
 *   killed_append check DIR    reads what is left, removes what is not whole, and verifies the rest by its checksums
 *
 * DIR/committed says how many sections were committed; DIR/pid.RANK has the process numbers. Section i of the series depends on i
 * alone. */
#define _POSIX_C_SOURCE 200809L
#include "killed_append.h"

#include <sys/stat.h>

/* A dataset takes two sections: its metadata are of kind 5. So do rows that are added to it, of kind 7. */
enum { elems = 4200, kinds = 9, rounds = 3, calls_between = 4 };

static unsigned char byte_of (uint64_t i, uint64_t j) { return (unsigned char) (mix (i, j / 8) >> (j % 8)); }
static uint64_t size_of (uint64_t i, uint64_t j) { return (i + j) % 5; }

/* Where element j of section i begins among its bytes. */
static uint64_t place_of (uint64_t i, uint64_t j, uint64_t size) {
  uint64_t place = size * j;
  if (size == 0) {
    for (uint64_t k = 0; k < j; ++k) { place += size_of (i, k); }
  }
  return place;
}

/* The bytes of each element: of a varray 0. */
static uint64_t bytes_of (uint64_t i) { return i % kinds == 2 ? 30 : i % kinds == 3 || i % kinds == 5 || i % kinds == 7 ? 6 : 0; }

/* Rows of this rank, which are added to the dataset in chunks. */
static scda_fcontext_t *add_rows (scda_fcontext_t *f, unsigned char *data, uint64_t first, uint64_t own, int *err) {
  const uint64_t start[2] = {first, 0}, count[2] = {own, 6};
  scda_dataset_t d;
  REQUIRE (scda_dataset_init (&d) == 0);
  snprintf (d.name, sizeof d.name, "chunks");
  d.type = SCDA_TYPE_UINT8, d.ndims = 2, d.shape[0] = elems, d.shape[1] = 6, d.extends = 1;
  return scda_fwrite_dataset (f, &d, data, 1, start, count, err);
}

/* An inline section, a small block, a large array, an encoded one, a varray, a dataset in chunks, rows of it. `next`: the number of the next one. */
static scda_fcontext_t *write_section (scda_fcontext_t *f, group_t g, uint64_t *next, int *err) {
  const uint64_t i = *next;
  const uint64_t size = bytes_of (i);
  uint64_t *Nq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Nq), state = i;
  partition (&state, elems, g.size, Nq);
  const uint64_t own = Nq[g.rank], first = first_of (Nq, g.rank), begin = place_of (i, first, size);
  const uint64_t bytes = i % kinds < 2 ? 100 : place_of (i, first + own, size) - begin;
  unsigned char *data = (unsigned char *) get_memory (bytes + 1);
  uint64_t *Ei = (uint64_t *) get_memory ((own + 1) * sizeof *Ei);
  char text[SCDA_INLINE_BYTES + 1];
  for (uint64_t j = 0; j < own; ++j) { Ei[j] = size_of (i, first + j); }
  for (uint64_t j = 0; j < bytes; ++j) { data[j] = byte_of (i, j + (i % kinds < 2 ? 0 : begin)); }
  snprintf (text, sizeof text, "section %23llu\n", (unsigned long long) i);
  switch (i % kinds) {
  case 0: f = scda_fwrite_inline (f, text, "number", NULL, 0, err); break;
  case 1: f = scda_fwrite_block (f, data, 100, "block", NULL, g.size - 1, SCDA_ENCODE_NONE, err); break;
  case 2: f = scda_fwrite_array (f, data, Nq, size, 0, "plain", NULL, SCDA_ENCODE_NONE, err); break;
  case 3: f = scda_fwrite_array (f, data, Nq, size, 0, "encoded", NULL, SCDA_ENCODE_ALWAYS, err); break;
  case 4: f = scda_fwrite_varray (f, data, Nq, Ei, NULL, 0, "sizes", NULL, SCDA_ENCODE_NONE, err); break;
  case 7: f = add_rows (f, data, first, own, err); break;
  default: f = scda_fwrite_field_parts (f, "chunks", SCDA_TYPE_UINT8, data, Nq, size, SCDA_ENCODE_ALWAYS, err);
  }
  *next += i % kinds == 5 || i % kinds == 7 ? 2 : 1;
  free (Nq), free (data), free (Ei);
  return f;
}

/* How many sections can be read, as they were written; with `verify` by their checksums, and it must be all. */
static uint64_t read_sections (int verify) {
  const uint64_t room = elems * 30;
  unsigned char *data = (unsigned char *) get_memory (room);
  uint64_t *Ei = (uint64_t *) get_memory (elems * sizeof *Ei), i = 0;
  int64_t datasets = 0;
  scda_params_t params = default_params ();
  int err = -1;
  params.verify = verify;
  scda_fcontext_t *f = scda_fopen_read (SCDA_COMM_SELF, filename, NULL, NULL, &params, &err);
  for (; f != NULL && !info_of (f).at_end; ++i) {
    char user[SCDA_USER_STRING_BYTES + 1], type;
    uint64_t N = elems, E = 0, bytes = 100;
    int decode = 1, found = 0;
    scda_dataset_t d;
    scda_dataset_init (&d);
    f = scda_fread_section_header (f, &type, &N, &E, user, NULL, &decode, &err);
    /* Tables whose seal is missing are shown. */
    if (f == NULL || (i % kinds != 5 && i % kinds != 7 && strncmp (user, "scda ", 5) == 0)) { break; }
    if (i % kinds == 5 && strncmp (user, "scda dataset", 12) != 0) { break; }
    if (i % kinds == 7 && strncmp (user, "scda added rows", 9) != 0) { break; }
    REQUIRE (type == "IBAAVB?B"[i % kinds] && decode == (i % kinds == 3) && (i % kinds < 2 || i % kinds >= 5 || N == elems));
    memset (data, 0, room);
    switch (i % kinds) {
    case 0: f = scda_fread_inline_data (f, data, 0, &err); break;
    case 1: f = scda_fread_block_data (f, data, E, 0, &err); break;
    case 4:
      f = scda_fread_varray_sizes (f, Ei, &N, &err);
      for (uint64_t j = 0; f != NULL && j < elems; ++j) { REQUIRE (Ei[j] == size_of (i, j)); }
      bytes = place_of (i, elems, 0);
      if (f != NULL) { f = scda_fread_varray_data (f, data, &N, Ei, NULL, 0, &err); }
      break;
    case 5:
      bytes = elems * bytes_of (i);
      f = scda_fread_block_data (f, NULL, E, 0, &err);
      decode = 1;
      if (f != NULL) { f = scda_fread_section_header (f, &type, &N, &E, user, NULL, &decode, &err); }
      if (f != NULL) { f = scda_fread_varray_sizes (f, NULL, &N, &err); }
      if (f != NULL) { f = scda_fread_varray_data (f, NULL, &N, NULL, NULL, 0, &err); }
      if (f != NULL) { f = scda_ffind_dataset (f, user, datasets++, &found, &d, &err); }
      if (f != NULL) { REQUIRE (found && d.ndims == 2 && (d.shape[0] == elems || d.shape[0] == 2 * elems)); }
      for (uint64_t k = d.shape[0] / elems; f != NULL && k-- > 0;) { /* the rows that were added, which are section i + 2; then its own */
        const uint64_t start[2] = {k * elems, 0}, count[2] = {elems, 6};
        f = scda_fread_dataset (f, &d, data, 1, start, count, &err);
        for (uint64_t j = 0; f != NULL && j < bytes; ++j) { REQUIRE (data[j] == byte_of (i + 2 * k, j)); }
      }
      break;
    case 7: /* the dataset has them */
      bytes = 0;
      f = scda_fread_block_data (f, NULL, E, 0, &err);
      decode = 1;
      if (f != NULL) { f = scda_fread_section_header (f, &type, &N, &E, user, NULL, &decode, &err); }
      if (f != NULL) { REQUIRE (type == 'A' && N == elems && E == 6 && strncmp (user, "/+", 2) == 0); }
      if (f != NULL) { f = scda_fread_array_data (f, NULL, &N, E, 0, &err); }
      break;
    default: bytes = elems * bytes_of (i), f = scda_fread_array_data (f, data, &N, E, 0, &err);
    }
    if (f == NULL) { break; }
    if (i % kinds == 0) {
      char text[SCDA_INLINE_BYTES + 1];
      snprintf (text, sizeof text, "section %23llu\n", (unsigned long long) i);
      REQUIRE (memcmp (data, text, SCDA_INLINE_BYTES) == 0);
      continue;
    }
    for (uint64_t j = 0; j < bytes; ++j) { REQUIRE (data[j] == byte_of (i, j)); }
    i += i % kinds == 5 || i % kinds == 7;
  }
  REQUIRE (!verify || f != NULL);
  if (f != NULL) { REQUIRE (scda_fclose (f, &err) == 0); }
  free (data), free (Ei);
  return i;
}

static uint64_t bytes_of_file (void) {
  struct stat status;
  REQUIRE (stat (filename, &status) == 0);
  return (uint64_t) status.st_size;
}

/* Opens the file to append to it; `atomic` leaves the file itself as it is. Returns how many bytes are removed. */
static scda_fcontext_t *open_append (group_t g, const scda_params_t *params, uint64_t *cut) {
  const uint64_t before = bytes_of_file ();
  int err = -1;
  barrier (g);
  scda_fcontext_t *f = scda_fopen_append (g.comm, filename, NULL, NULL, params, &err);
  REQUIRE (f != NULL && err == 0);
  *cut = info_of (f).rolled_back_bytes;
  REQUIRE (bytes_of_file () + (params->atomic ? 0 : *cut) == before);
  barrier (g);
  return f;
}

static void append (group_t g, const scda_params_t *params) {
  /* In the background, commits have two halves: what was begun is completed by the next call, and said by the wait. */
  const int halves = getenv ("SCDA_BACKGROUND_BYTES") != NULL;
  scda_request_t request;
  uint64_t cut, n = 0, begun = 0;
  int err = -1;
  arm (g);
  scda_fcontext_t *f = open_append (g, params, &cut);
  if (g.rank == 0) { printf ("cut %llu\n", (unsigned long long) cut), fflush (stdout); }
  REQUIRE (scda_fclose (f, &err) == 0);
  f = scda_fopen_read (g.comm, filename, NULL, NULL, NULL, &err);
  REQUIRE (f != NULL && scda_fsections (f, &n, &err) == f && scda_fclose (f, &err) == 0);
  f = open_append (g, params, &cut);
  REQUIRE (cut == 0);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < calls_between; ++i) {
      f = write_section (f, g, &n, &err);
      REQUIRE (f != NULL);
      if (halves && round > 0 && i == round) {
        REQUIRE (scda_wait (&request, &err) == 0);
        if (g.rank == 0 && !params->atomic) { note_committed (begun); }
      }
    }
    const int closes = round + 1 == rounds;
    begun = n;
    if (halves && closes) { REQUIRE (scda_fclose_begin (f, &request, &err) == 0 && scda_wait (&request, &err) == 0); }
    else if (halves) { REQUIRE (scda_fcommit_begin (f, &request, &err) == f); }
    else if (closes) { REQUIRE (scda_fclose (f, &err) == 0); }
    else { REQUIRE (scda_fcommit (f, &err) == f); }
    if (g.rank == 0 && (closes || (!halves && !params->atomic))) { note_committed (n); }
  }
}

/* HDF5 is led to a view of the whole file, if there is one: by its signature, and by where the superblock says that the file ends. */
static void check_superblock (void) {
  static const unsigned char none[48], signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  unsigned char found[48];
  uint64_t end = 0;
  FILE *file = fopen (filename, "rb");
  REQUIRE (file != NULL && fseek (file, 512, SEEK_SET) == 0 && fread (found, 1, sizeof found, file) == sizeof found);
  REQUIRE (fclose (file) == 0);
  for (int k = 7; k >= 0; --k) { end = end << 8 | found[28 + k]; }
  REQUIRE (memcmp (found, none, sizeof none) == 0 || (memcmp (found, signature, sizeof signature) == 0 && end == bytes_of_file ()));
}

static uint64_t check (group_t g, scda_params_t *params, uint64_t least, uint64_t *cut) {
  int err = -1;
  /* Unsealed sections may have any bytes after a loss of power. */
  const uint64_t seen = is_powerless () ? UINT64_MAX : read_sections (0);
  REQUIRE (seen >= least);
  scda_fcontext_t *f = open_append (g, params, cut);
  REQUIRE (scda_fclose (f, &err) == 0);
  check_superblock ();
  const uint64_t kept = read_sections (1);
  REQUIRE (kept <= seen);
  return kept;
}

int main (int argc, char **argv) { return run (argc, argv, append, check); }
