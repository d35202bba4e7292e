/* Large numbers. Not for every day: scripts/long.sh runs and measures them.
 *
 *   limits array FILE      an array of 10^8 elements of 8 bytes
 *   limits varray FILE     a varray of 10^7 elements
 *   limits beyond FILE     a file of more than 2^40 bytes, most of which inject.c keeps from the disk
 *   limits open DIR        as many open files at once as there are communicators, or 500 */
#include "common.h"
#include "inject.h"

#include <sys/stat.h>

static uint64_t word (uint64_t i) { return i * 0x9e3779b97f4a7c15u; }

static void share_out (group_t g, uint64_t N, uint64_t *Nq) {
  for (int p = 0; p < g.size; ++p) { Nq[p] = N / (uint64_t) g.size + ((uint64_t) p < N % (uint64_t) g.size); }
}

static void array (group_t g, const char *filename, uint64_t N) {
  uint64_t *Nq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Nq), n, E, wrong = 0;
  char type, user[SCDA_USER_STRING_BYTES + 1];
  int err = -1, decode = 1;
  share_out (g, N, Nq);
  const uint64_t own = Nq[g.rank], first = first_of (Nq, g.rank);
  uint64_t *data = (uint64_t *) get_memory (own * sizeof *data);
  for (uint64_t i = 0; i < own; ++i) { data[i] = word (first + i); }
  scda_fcontext_t *f = scda_fopen_write (g.comm, filename, "many", NULL, bare (), &err);
  f = scda_fwrite_array (f, data, Nq, sizeof *data, 0, "x", NULL, SCDA_ENCODE_NONE, &err);
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
  memset (data, 0, own * sizeof *data);
  f = scda_fopen_read (g.comm, filename, user, NULL, NULL, &err);
  f = scda_fread_section_header (f, &type, &n, &E, NULL, NULL, &decode, &err);
  REQUIRE (f != NULL && type == 'A' && n == N && E == sizeof *data);
  f = scda_fread_array_data (f, data, Nq, E, 0, &err);
  REQUIRE (f != NULL && info_of (f).at_end && scda_fclose (f, &err) == 0);
  for (uint64_t i = 0; i < own; ++i) { wrong += data[i] != word (first + i); }
  CHECK (wrong == 0);
  free (Nq), free (data);
}

static void varray (group_t g, const char *filename, uint64_t N) {
  uint64_t *Nq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Nq), n, E, bytes = 0, wrong = 0;
  char type, user[SCDA_USER_STRING_BYTES + 1];
  int err = -1, decode = 1;
  share_out (g, N, Nq);
  const uint64_t own = Nq[g.rank], first = first_of (Nq, g.rank);
  uint64_t *Ei = (uint64_t *) get_memory (own * sizeof *Ei), *found = (uint64_t *) get_memory (own * sizeof *found);
  for (uint64_t i = 0; i < own; ++i) { bytes += Ei[i] = word (first + i) % 24; }
  unsigned char *data = (unsigned char *) get_memory (bytes);
  for (uint64_t i = 0; i < bytes; ++i) { data[i] = (unsigned char) word (i); }
  scda_fcontext_t *f = scda_fopen_write (g.comm, filename, "many", NULL, bare (), &err);
  f = scda_fwrite_varray (f, data, Nq, Ei, NULL, 0, "x", NULL, SCDA_ENCODE_NONE, &err);
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
  memset (data, 0, bytes);
  f = scda_fopen_read (g.comm, filename, user, NULL, NULL, &err);
  f = scda_fread_section_header (f, &type, &n, &E, NULL, NULL, &decode, &err);
  REQUIRE (f != NULL && type == 'V' && n == N);
  f = scda_fread_varray_sizes (f, found, Nq, &err);
  REQUIRE (f != NULL && memcmp (Ei, found, own * sizeof *Ei) == 0);
  f = scda_fread_varray_data (f, data, Nq, found, NULL, 0, &err);
  REQUIRE (f != NULL && info_of (f).at_end && scda_fclose (f, &err) == 0);
  for (uint64_t i = 0; i < bytes; ++i) { wrong += data[i] != (unsigned char) word (i); }
  CHECK (wrong == 0);
  free (Nq), free (Ei), free (found), free (data);
}

/* Every element is the same memory; what is written of it is not. The sections before and after it are. */
static void beyond (group_t g, const char *filename, int driver) {
  enum { each = 1100, element = 1 << 30 };
  uint64_t *Nq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Nq), n, E;
  char *data = (char *) get_memory (element), type, user[SCDA_USER_STRING_BYTES + 1];
  const void *pointers[each];
  int err = -1;
  struct stat status;
  scda_params_t params = default_params ();
  params.driver = driver;
  memset (data, 'd', element);
  share_out (g, each, Nq);
  for (int i = 0; i < each; ++i) { pointers[i] = data; }
  scda_fcontext_t *f = scda_fopen_write (g.comm, filename, "beyond", NULL, &params, &err);
  f = scda_fwrite_inline (f, "0123456789abcdef0123456789abcde\n", "before", NULL, 0, &err);
  REQUIRE (f != NULL);
  inject_discard = 1 << 20;
  f = scda_fwrite_array (f, pointers, Nq, element, 1, "huge", NULL, SCDA_ENCODE_NONE, &err);
  REQUIRE (f != NULL);
  inject_discard = 0;
  uint64_t sizes[1] = {3}, one[64] = {0}; /* small and large ones beyond */
  one[g.size - 1] = 1;
  f = scda_fwrite_varray (f, "abc", one, sizes, NULL, 0, "small", NULL, SCDA_ENCODE_NONE, &err);
  f = scda_fwrite_array (f, data, one, 3 << 20, 0, "large", NULL, SCDA_ENCODE_NONE, &err);
  f = scda_fwrite_array (f, data, one, 3 << 20, 0, "encoded", NULL, SCDA_ENCODE_ALWAYS, &err);
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
  REQUIRE (stat (filename, &status) == 0 && (uint64_t) status.st_size > (uint64_t) 1 << 40);
  CHECK ((uint64_t) status.st_blocks * 512 < 100 << 20);

  f = scda_fopen_read (g.comm, filename, user, NULL, &params, &err);
  for (int k = 0; k < 5; ++k) {
    int decode = 1;
    f = scda_fread_section_header (f, &type, &n, &E, NULL, NULL, &decode, &err);
    REQUIRE (f != NULL && type == "IAVAA"[k]);
    memset (data, 0, 3 << 20);
    if (k == 0) { f = scda_fread_inline_data (f, data, 0, &err); }
    if (k == 1) { f = scda_fread_array_data (f, NULL, Nq, element, 0, &err); }
    if (k == 2) {
      f = scda_fread_varray_sizes (f, sizes, one, &err);
      REQUIRE (f != NULL);
      f = scda_fread_varray_data (f, data, one, sizes, NULL, 0, &err);
      CHECK (g.rank != g.size - 1 || memcmp (data, "abc", 3) == 0);
    }
    if (k > 2) {
      f = scda_fread_array_data (f, data, one, E, 0, &err);
      for (int i = 0; g.rank == g.size - 1 && i < 3 << 20; ++i) { REQUIRE (data[i] == 'd'); }
    }
    REQUIRE (f != NULL);
  }
  REQUIRE (info_of (f).at_end && scda_fclose (f, &err) == 0);
  free (Nq), free (data);
}

static void many_open (group_t g, const char *dir, int files) {
  char name[1200], user[SCDA_USER_STRING_BYTES + 1], text[SCDA_INLINE_BYTES + 1];
  scda_fcontext_t **f = (scda_fcontext_t **) get_memory ((uint64_t) files * sizeof *f);
  int err = -1;
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < files; ++i) {
      snprintf (name, sizeof name, "%s/open-%d.scda", dir, i);
      f[i] = pass ? scda_fopen_read (g.comm, name, user, NULL, NULL, &err) : scda_fopen_write (g.comm, name, "x", NULL, bare (), &err);
      REQUIRE (f[i] != NULL);
    }
    for (int i = 0; i < files; ++i) {
      snprintf (text, sizeof text, "%31d\n", i);
      if (pass == 0) { f[i] = scda_fwrite_inline (f[i], text, "x", NULL, 0, &err); }
      else {
        char found[SCDA_INLINE_BYTES], type;
        f[i] = scda_fread_section_header (f[i], &type, NULL, NULL, NULL, NULL, NULL, &err);
        REQUIRE (f[i] != NULL);
        f[i] = scda_fread_inline_data (f[i], found, 0, &err);
        CHECK (g.rank != 0 || memcmp (found, text, sizeof found) == 0);
      }
      REQUIRE (f[i] != NULL);
    }
    for (int i = 0; i < files; ++i) { REQUIRE (scda_fclose (f[i], &err) == 0); }
  }
  barrier (g);
  for (int i = 0; g.rank == 0 && i < files; ++i) {
    snprintf (name, sizeof name, "%s/open-%d.scda", dir, i);
    unlink (name);
  }
  free (f);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 3);
  const group_t g = world ();
  const char *how = argv[1], *name = argv[2];
  if (strcmp (how, "array") == 0) { array (g, name, 100000000); }
  if (strcmp (how, "varray") == 0) { varray (g, name, 10000000); }
  if (strcmp (how, "beyond") == 0) {
    beyond (g, name, SCDA_DRIVER_POSIX);
    beyond (g, name, driver_mpiio);
  }
  if (strcmp (how, "open") == 0) { many_open (g, name, 500); }
  barrier (g);
  if (g.rank == 0) { unlink (name); }
  return finish ();
}
