/* One checkpoint after the other under one name, until somebody kills us: see killed.py.
 *
 *   killed write DIR DRIVER   writes DIR/state.scda atomically again and again (DRIVER: 1 MPI-IO, 2 POSIX; 3 and 4 the same,
 *                             but in place); leaves the process numbers of the ranks in DIR/pid.RANK and ends by itself
 *                             after a minute
 *   killed check DIR          reads it, verifies every byte, and prints the number of the checkpoint
 *   killed left DIR           reads what is left of one that was written in place, verifies every byte of it, and prints
 *                             how many sections that are */
#define _POSIX_C_SOURCE 200809L
#include "common.h"

#include <time.h>

enum { elems = 3000, element_bytes = 40, rounds = 6 };

/* Byte i of the data of checkpoint n. */
static unsigned char byte_of (uint64_t n, uint64_t i) { return (unsigned char) (mix (n, i / 8) >> (i % 8)); }

static void fill (unsigned char *data, uint64_t n, uint64_t first, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; ++i) { data[i] = byte_of (n, first + i); }
}

/* A small section, a large one, an encoded one, sizes, and what differs from one checkpoint to the next: their length. */
static scda_fcontext_t *write_state (group_t g, const char *filename, const scda_params_t *params, int times, uint64_t n, int *err) {
  char text[SCDA_INLINE_BYTES + 1];
  uint64_t *Nq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Nq);
  const uint64_t N = elems + n % 1000;
  for (int p = 0; p < g.size; ++p) { Nq[p] = N / (uint64_t) g.size + ((uint64_t) p < N % (uint64_t) g.size); }
  const uint64_t own = Nq[g.rank], first = first_of (Nq, g.rank);
  unsigned char *data = (unsigned char *) get_memory (own * element_bytes);
  uint64_t *Ei = (uint64_t *) get_memory (own * sizeof *Ei);
  for (uint64_t i = 0; i < own; ++i) { Ei[i] = element_bytes; }
  fill (data, n, first * element_bytes, own * element_bytes);
  snprintf (text, sizeof text, "checkpoint %20llu\n", (unsigned long long) n);
  scda_fcontext_t *f = scda_fopen_write (g.comm, filename, "state", NULL, params != NULL ? params : bare (), err);
  if (f != NULL) { f = scda_fwrite_inline (f, text, "number", NULL, 0, err); }
  for (int i = 0; i < times; ++i) {
    if (f != NULL) { f = scda_fwrite_array (f, data, Nq, element_bytes, 0, "plain", NULL, SCDA_ENCODE_NONE, err); }
    if (f != NULL) { f = scda_fwrite_array (f, data, Nq, element_bytes, 0, "encoded", NULL, SCDA_ENCODE_ALWAYS, err); }
    if (f != NULL) { f = scda_fwrite_varray (f, data, Nq, Ei, NULL, 0, "sizes", NULL, SCDA_ENCODE_NONE, err); }
  }
  free (Nq), free (data), free (Ei);
  return f;
}

static uint64_t check_state (const char *filename) {
  const group_t g = group_of (SCDA_COMM_SELF);
  char user[SCDA_USER_STRING_BYTES + 1], text[SCDA_INLINE_BYTES + 1] = "", type;
  unsigned long long n = 0;
  uint64_t N, E, *Ei = NULL;
  int err = -1, decode;
  scda_fcontext_t *f = scda_fopen_read (g.comm, filename, user, NULL, NULL, &err);
  REQUIRE (f != NULL && strcmp (user, "state") == 0);
  f = scda_fread_section_header (f, &type, NULL, NULL, NULL, NULL, NULL, &err);
  REQUIRE (f != NULL && type == 'I');
  f = scda_fread_inline_data (f, text, 0, &err);
  REQUIRE (f != NULL && sscanf (text, "checkpoint %llu\n", &n) == 1);
  const uint64_t bytes = (elems + n % 1000) * element_bytes;
  unsigned char *data = (unsigned char *) get_memory (bytes), *want = (unsigned char *) get_memory (bytes);
  fill (want, n, 0, bytes);
  for (int section = 0; section < 3; ++section) {
    decode = 1;
    f = scda_fread_section_header (f, &type, &N, &E, NULL, NULL, &decode, &err);
    REQUIRE (f != NULL && type == "AAV"[section] && N * element_bytes == bytes && decode == (section == 1));
    if (type == 'A') { f = scda_fread_array_data (f, data, &N, E, 0, &err); }
    else {
      Ei = (uint64_t *) get_memory (N * sizeof *Ei);
      f = scda_fread_varray_sizes (f, Ei, &N, &err);
      REQUIRE (f != NULL);
      f = scda_fread_varray_data (f, data, &N, Ei, NULL, 0, &err);
    }
    REQUIRE (f != NULL && memcmp (data, want, bytes) == 0);
    memset (data, 0, bytes);
  }
  REQUIRE (info_of (f).at_end && scda_fclose (f, &err) == 0);
  free (data), free (want), free (Ei);
  return n;
}

/* How many sections can be read; every byte of them must be right. */
static int check_left (const char *filename) {
  const group_t g = group_of (SCDA_COMM_SELF);
  char text[SCDA_INLINE_BYTES + 1] = "", type;
  unsigned long long n = 0;
  uint64_t N, E;
  int err = -1, sections = 0;
  scda_fcontext_t *f = scda_fopen_read (g.comm, filename, NULL, NULL, NULL, &err);
  if (f != NULL && !info_of (f).at_end) { f = scda_fread_section_header (f, &type, NULL, NULL, NULL, NULL, NULL, &err); }
  else if (f != NULL) { return scda_fclose (f, &err), 0; }
  if (f != NULL) { f = scda_fread_inline_data (f, text, 0, &err); }
  if (f == NULL) { return 0; }
  REQUIRE (sscanf (text, "checkpoint %llu\n", &n) == 1);
  const uint64_t bytes = (elems + n % 1000) * element_bytes;
  unsigned char *data = (unsigned char *) get_memory (bytes), *want = (unsigned char *) get_memory (bytes);
  uint64_t *Ei = (uint64_t *) get_memory (bytes / element_bytes * sizeof *Ei);
  fill (want, n, 0, bytes);
  for (sections = 1; f != NULL && !info_of (f).at_end; ++sections) {
    int decode = 1;
    memset (data, 0, bytes);
    f = scda_fread_section_header (f, &type, &N, &E, NULL, NULL, &decode, &err);
    if (f == NULL) { break; }
    REQUIRE (type == (sections % 3 == 0 ? 'V' : 'A') && N * element_bytes == bytes && decode == (sections % 3 == 2));
    if (type == 'A') { f = scda_fread_array_data (f, data, &N, E, 0, &err); }
    else {
      f = scda_fread_varray_sizes (f, Ei, &N, &err);
      if (f != NULL) { f = scda_fread_varray_data (f, data, &N, Ei, NULL, 0, &err); }
    }
    if (f == NULL) { break; }
    REQUIRE (memcmp (data, want, bytes) == 0);
  }
  if (f != NULL) { scda_fclose (f, &err); }
  free (data), free (want), free (Ei);
  return sections;
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc >= 3);
  const group_t g = world ();
  char filename[1200], name[1200];
  snprintf (filename, sizeof filename, "%s/state.scda", argv[2]);
  if (strcmp (argv[1], "check") == 0) {
    printf ("%llu\n", (unsigned long long) check_state (filename));
    return finish ();
  }
  if (strcmp (argv[1], "left") == 0) {
    printf ("%d\n", check_left (filename));
    return finish ();
  }
  REQUIRE (argc == 4);
  scda_params_t params = default_params ();
  const int mode = atoi (argv[3]), in_place = mode > 2;
  params.atomic = !in_place;
  params.driver = in_place ? mode - 2 : mode;
  snprintf (name, sizeof name, "%s/pid.%d", argv[2], g.rank);
  FILE *file = fopen (name, "w");
  REQUIRE (file != NULL && fprintf (file, "%ld\n", (long) getpid ()) > 0 && fclose (file) == 0);
  uint64_t n = in_place ? all_max (g, (uint64_t) time (NULL)) : access (filename, R_OK) == 0 ? check_state (filename) : 0;
  barrier (g);
  const time_t end = time (NULL) + 60;
  while (all_max (g, (uint64_t) (time (NULL) > end)) == 0) {
    int err = -1;
    scda_fcontext_t *f = write_state (g, filename, &params, in_place ? rounds : 1, ++n, &err);
    REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
  }
  return finish ();
}
