/* More than 2^31 bytes from one rank in one call, and beyond 4 GiB in the file.
 *
 *   large FILE      needs 3 GiB of memory on the last rank and 7 GiB of disk; the file is removed */
#include "common.h"

enum { MiB = 1 << 20, elems = 2252, tail = 777 }; /* 2.2 GiB and a bit: no power of two */

/* Word i of the data: a counter, scrambled; so that nothing can be at a wrong place. */
static uint64_t word (uint64_t i) { return i * 0x9e3779b97f4a7c15u; }

static void fill (unsigned char *data, uint64_t first, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes / 8; ++i) {
    const uint64_t w = word (first / 8 + i);
    memcpy (data + 8 * i, &w, 8);
  }
}

static int is_filled (const unsigned char *data, uint64_t first, uint64_t bytes) {
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < bytes / 8; ++i) {
    uint64_t w;
    memcpy (&w, data + 8 * i, 8);
    wrong |= w ^ word (first / 8 + i);
  }
  return wrong == 0;
}

/* All but one element are on the last rank. */
static void round_trip (group_t g, const char *filename, int driver) {
  const int last = g.size - 1;
  uint64_t *Nq = (uint64_t *) calloc ((size_t) g.size, sizeof *Nq), N, E;
  Nq[0] = 1;
  Nq[last] += elems - 1;
  const uint64_t mine = Nq[g.rank], first = first_of (Nq, g.rank) * MiB, bytes = mine * MiB, block = bytes + tail;
  const int owner = g.rank == last;
  unsigned char *data = (unsigned char *) get_memory (block);
  uint64_t *Ei = (uint64_t *) get_memory (mine * sizeof *Ei);
  void **pointers = (void **) get_memory (mine * sizeof *pointers);
  char type, user[SCDA_USER_STRING_BYTES + 1];
  int err = -1;
  scda_params_t params = default_params ();
  params.driver = driver;
  fill (data, first, bytes);
  for (uint64_t i = 0; i < mine; ++i) { Ei[i] = MiB, pointers[i] = data + MiB * (mine - 1 - i); }
  const uint64_t all_block = all_max (g, owner ? block : 0);

  scda_fcontext_t *f = scda_fopen_write (g.comm, filename, "large", NULL, &params, &err);
  REQUIRE (f != NULL);
  f = scda_fwrite_array (f, data, Nq, MiB, 0, "array", NULL, SCDA_ENCODE_NONE, &err);
  REQUIRE (f != NULL);
  if (driver == SCDA_DRIVER_POSIX) { f = scda_fwrite_block (f, data, all_block, "block", NULL, last, SCDA_ENCODE_NONE, &err); }
  else { f = scda_fwrite_varray (f, pointers, Nq, Ei, NULL, 1, "varray, each rank backwards", NULL, SCDA_ENCODE_NONE, &err); }
  REQUIRE (f != NULL);
  f = scda_fwrite_inline (f, "This comes after four gibibytes", "last", NULL, 0, &err);
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);

  /* Read everything into the same memory, made void. */
  f = scda_fopen_read (g.comm, filename, user, NULL, &params, &err);
  f = scda_fread_section_header (f, &type, &N, &E, user, NULL, NULL, &err);
  REQUIRE (f != NULL && type == 'A' && N == elems && E == MiB);
  memset (data, 0, (size_t) block);
  f = scda_fread_array_data (f, data, Nq, MiB, 0, &err);
  REQUIRE (f != NULL && is_filled (data, first, bytes));

  f = scda_fread_section_header (f, &type, &N, &E, user, NULL, NULL, &err);
  REQUIRE (f != NULL);
  memset (data, 0, (size_t) block);
  if (type == 'B') {
    REQUIRE (E == all_block);
    f = scda_fread_block_data (f, data, E, last, &err);
    REQUIRE (f != NULL && (!owner || is_filled (data, first, bytes)));
  } else {
    REQUIRE (type == 'V' && N == elems);
    f = scda_fread_varray_sizes (f, Ei, Nq, &err);
    f = scda_fread_varray_data (f, data, Nq, Ei, NULL, 0, &err);
    REQUIRE (f != NULL);
    for (uint64_t i = 0; i < mine; ++i) {
      REQUIRE (Ei[i] == MiB && is_filled (data + MiB * i, first + MiB * (mine - 1 - i), MiB));
    }
  }
  f = scda_fread_section_header (f, &type, &N, &E, user, NULL, NULL, &err);
  REQUIRE (f != NULL && type == 'I');
  f = scda_fread_inline_data (f, data, 0, &err);
  REQUIRE (f != NULL && (g.rank != 0 || memcmp (data, "This comes after four gibibytes", 32) == 0));
  REQUIRE (info_of (f).at_end && scda_fclose (f, &err) == 0);
  barrier (g);
  if (g.rank == 0) { REQUIRE (unlink (filename) == 0); }
  free (Nq), free (data), free (Ei), free (pointers);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2);
  round_trip (world (), argv[1], SCDA_DRIVER_POSIX);
  round_trip (world (), argv[1], driver_mpiio);
  return finish ();
}
