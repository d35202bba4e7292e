/* Damaged and malicious files give an error on every rank, and nothing worse.
 *
 *   hostile corrupt DIR EXPECTED     each file of tests/bad-data gets the error named in EXPECTED, at its byte
 *   hostile mutate  FILE SCRATCH n   n files like FILE with some bytes changed: never a crash */
#include "common.h"

enum { too_much = 1 << 26 }; /* more bytes than any test file has: do not try to allocate them */

/* Read everything; the first error, 0 if there is none, is the same on all ranks. Count the sections before it. */
static int read_all (group_t g, const char *filename, const scda_params_t *params, int decode_all, uint64_t seed, int *whole) {
  uint64_t rng = seed, *Nq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Nq);
  char user[SCDA_USER_STRING_BYTES + 1];
  size_t len = 0;
  int err = -1;
  scda_fcontext_t *f = scda_fopen_read (g.comm, filename, user, &len, params, &err);
  *whole = 0;
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
    *whole += f != NULL;
    free (data);
  }
  if (f != NULL) { CHECK (scda_fclose (f, &err) == 0 && err == 0); }
  CHECK (all_same (g, (uint64_t) err));
  if (err != 0) { CHECK (*scda_last_error_message () != 0); }
  free (Nq);
  return err;
}

/* Read the dataset "d". */
static int read_dataset (group_t g, const char *filename) {
  char user[SCDA_USER_STRING_BYTES + 1];
  unsigned char data[4];
  const uint64_t start = 0, count = sizeof data;
  size_t len = 0;
  int err = -1, found = 0;
  scda_dataset_t d;
  scda_dataset_init (&d);
  scda_fcontext_t *f = scda_fopen_read (g.comm, filename, user, &len, NULL, &err);
  f = scda_ffind_dataset (f, "d", SCDA_LAST, &found, &d, &err);
  f = scda_fread_dataset (f, &d, data, 1, &start, &count, &err);
  CHECK (f == NULL && all_same (g, (uint64_t) err));
  return err;
}

/* Lines of EXPECTED: file name, who must notice, the code, the byte, and how many sections are whole. */
static void corrupt (group_t g, const char *dir, const char *expected) {
  FILE *file = fopen (expected, "r");
  REQUIRE (file != NULL);
  char name[256], reader[16], path[1024], place[512];
  int code, whole, sections = 0, files = 0;
  long offset;
  while (fscanf (file, "%255s %15s %d %ld %d", name, reader, &code, &offset, &whole) == 5) {
    snprintf (path, sizeof path, "%s/%s", dir, name);
    snprintf (place, sizeof place, "%s: byte %ld: ", name, offset);
    scda_params_t params;
    scda_params_init (&params);
    params.verify = code == SCDA_ERR_CHECKSUM;
    for (int i = 0; i < 4; ++i) {
      /* Whoever does not decode sees sections like any others. */
      const int is_dataset = strcmp (reader, "dataset") == 0, decode = i % 2, is_whole = !decode && strcmp (reader, "decode") == 0;
      const int err = is_dataset ? read_dataset (g, path) : read_all (g, path, &params, decode, mix ((uint64_t) i, (uint64_t) files), &sections);
      if (err == (is_whole ? 0 : code) && (is_dataset || is_whole || sections == whole)
          && (err == 0 || strstr (scda_last_error_message (), place) != NULL)) {
        continue;
      }
      ++failures;
      if (g.rank == 0) {
        fprintf (stderr, "%s: decode %d gives %d after %d sections (%s)\n", name, decode, err, sections,
                 err == 0 ? "" : scda_last_error_message ());
      }
    }
    ++files;
  }
  REQUIRE (feof (file) && files > 100);
  fclose (file);
}

static void mutate (group_t g, const char *filename, const char *scratch, int times) {
  FILE *file = fopen (filename, "rb");
  REQUIRE (file != NULL && fseek (file, 0, SEEK_END) == 0);
  const uint64_t size = (uint64_t) ftell (file);
  unsigned char *bytes = (unsigned char *) get_memory (2 * size), *changed = bytes + size;
  REQUIRE (fseek (file, 0, SEEK_SET) == 0 && fread (bytes, 1, (size_t) size, file) == size);
  fclose (file);
  int good = 0, whole;
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
    good += read_all (g, scratch, NULL, i % 2, mix ((uint64_t) i, 5), &whole) == 0;
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
