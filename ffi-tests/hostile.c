/* Damaged and malicious files give an error on every rank, and nothing worse.
 *
 *   hostile corrupt DIR EXPECTED     every file of DIR named in EXPECTED has a class named there
 *   hostile mutate  FILE SCRATCH n   n files like FILE with some bytes changed: never a crash */
#include "common.h"

enum { too_much = 1 << 26 }; /* bytes: no test file has so many; do not try to allocate them */

/* Read everything; the first error, 0 if there is none, is the same on all ranks. */
static int read_all (group_t g, const char *filename, int decode_all, uint64_t seed) {
  uint64_t rng = seed, *Nq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Nq);
  char user[SCDA_USER_STRING_BYTES + 1];
  size_t len = 0;
  int err = -1;
  scda_fcontext_t *f = scda_fopen_read (g.comm, filename, user, &len, NULL, &err);
  while (f != NULL) {
    char type = '?';
    uint64_t N = 0, E = 0;
    int decode = decode_all;
    f = scda_fread_section_header (f, &type, &N, &E, user, &len, &decode, &err);
    if (f == NULL || err == SCDA_ERR_EOF) { break; }
    CHECK (len <= SCDA_USER_STRING_BYTES && all_same (g, N) && all_same (g, E) && all_same (g, (uint64_t) type));
    const int root = (int) below (&rng, (uint64_t) g.size);
    partition (&rng, N, g.size, Nq);
    const uint64_t mine = Nq[g.rank];
    void *data = NULL;
    if (type == 'I') {
      data = get_memory (SCDA_INLINE_BYTES);
      f = scda_fread_inline_data (f, data, root, &err);
    } else if (type == 'B') {
      data = E < too_much ? get_memory (E) : NULL;
      f = scda_fread_block_data (f, data, E, root, &err);
    } else if (type == 'A') {
      data = mine < too_much && E < too_much && mine * E < too_much ? get_memory (mine * E) : NULL;
      f = scda_fread_array_data (f, data, Nq, E, 0, &err);
    } else {
      REQUIRE (type == 'V');
      uint64_t *Ei = mine < too_much ? (uint64_t *) get_memory (mine * sizeof *Ei) : NULL, sum = 0;
      f = scda_fread_varray_sizes (f, Ei, Nq, &err);
      if (f != NULL) {
        for (uint64_t i = 0; Ei != NULL && i < mine && sum < too_much; ++i) { sum += Ei[i] < too_much ? Ei[i] : too_much; }
        data = Ei != NULL && sum < too_much ? get_memory (sum) : NULL;
        f = scda_fread_varray_data (f, data, Nq, Ei, NULL, 0, &err);
      }
      free (Ei);
    }
    CHECK (f == NULL || err == 0);
    free (data);
  }
  if (f != NULL) { CHECK (scda_fclose (f, &err) == 0 && err == 0); }
  CHECK (all_same (g, (uint64_t) err));
  if (err != 0) { CHECK (*scda_last_error_message () != 0); }
  free (Nq);
  return err;
}

/* Lines of EXPECTED: file name, number of codes, codes. No codes: anything but a crash. Decode errors are for decoders. */
static void corrupt (group_t g, const char *dir, const char *expected) {
  FILE *file = fopen (expected, "r");
  REQUIRE (file != NULL);
  char name[256], path[1024];
  int count, files = 0;
  while (fscanf (file, "%255s %d", name, &count) == 2) {
    int code[8], only_decode = 1;
    REQUIRE (count <= 8);
    for (int i = 0; i < count; ++i) {
      REQUIRE (fscanf (file, "%d", &code[i]) == 1);
      if (code[i] != SCDA_ERR_DECODE) { only_decode = 0; }
    }
    snprintf (path, sizeof path, "%s/%s", dir, name);
    for (uint64_t seed = 0; seed < 3; ++seed) {
      for (int decode = 0; decode < 2; ++decode) {
        const int err = read_all (g, path, decode, mix (seed, (uint64_t) files));
        int allowed = count == 0 || (!decode && only_decode);
        for (int i = 0; i < count; ++i) { allowed |= err == code[i]; }
        /* A file cut between the two sections of a pair is whole for one who reads it raw. */
        allowed |= !decode && err == 0 && strncmp (name, "enc-", 4) == 0;
        if (allowed) { continue; }
        ++failures;
        if (g.rank == 0) {
          fprintf (stderr, "%s: decode %d gives %d (%s)\n", name, decode, err, err == 0 ? "" : scda_last_error_message ());
        }
      }
    }
    ++files;
  }
  fclose (file);
  REQUIRE (files > 0);
}

static void mutate (group_t g, const char *filename, const char *scratch, int times) {
  FILE *file = fopen (filename, "rb");
  REQUIRE (file != NULL && fseek (file, 0, SEEK_END) == 0);
  const uint64_t size = (uint64_t) ftell (file);
  unsigned char *bytes = (unsigned char *) get_memory (2 * size), *changed = bytes + size;
  REQUIRE (fseek (file, 0, SEEK_SET) == 0 && fread (bytes, 1, (size_t) size, file) == size);
  fclose (file);
  int good = 0;
  for (int i = 0; i < times; ++i) {
    uint64_t rng = mix ((uint64_t) i, size);
    if (g.rank == 0) {
      const uint64_t keep = below (&rng, 4) ? size : below (&rng, size + 1);
      memcpy (changed, bytes, (size_t) size);
      for (uint64_t n = below (&rng, 8); n > 0; --n) {
        const uint64_t at = below (&rng, size); /* a letter, a digit, a bit */
        static const char likely[] = "0123456789 -BAVINEU=\n";
        changed[at] = below (&rng, 2) ? (unsigned char) likely[below (&rng, sizeof likely - 1)]
                                      : changed[at] ^ (unsigned char) (1u << below (&rng, 8));
      }
      file = fopen (scratch, "wb");
      REQUIRE (file != NULL && fwrite (changed, 1, (size_t) keep, file) == keep && fclose (file) == 0);
    }
    barrier (g);
    good += read_all (g, scratch, i % 2, mix ((uint64_t) i, 5)) == 0;
    barrier (g);
  }
  if (g.rank == 0) { printf ("%d of %d changed files can be read\n", good, times); }
  free (bytes);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  if (argc == 4 && strcmp (argv[1], "corrupt") == 0) { corrupt (world (), argv[2], argv[3]); }
  else if (argc == 5 && strcmp (argv[1], "mutate") == 0) { mutate (world (), argv[2], argv[3], atoi (argv[4])); }
  else { REQUIRE (!"usage"); }
  return finish ();
}
