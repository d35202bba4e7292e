/* Many files: at once, on all sorts of communicators, and one after the other without leaving anything behind.
 *
 *   many_files DIR */
#include "sections.h"

/* Four files written in turns, on the world, on one half of it, and two on each rank alone; then read in turns. */
static void interleaved (group_t all, group_t half, const char *dir) {
  enum { files = 4, rounds = 20 };
  const group_t self = group_of (SCDA_COMM_SELF);
  const group_t groups[files] = {all, half, self, self};
  const int half_number = all.rank % 2;
  char name[files][1024], user[SCDA_USER_STRING_BYTES + 1], text[80] = "", found[SCDA_INLINE_BYTES] = "";
  scda_fcontext_t *f[files];
  int err = -1;
  uint64_t *Nq = (uint64_t *) get_memory ((uint64_t) all.size * sizeof *Nq);
  for (int p = 0; p < all.size; ++p) { Nq[p] = 1; }
  for (int i = 0; i < files; ++i) {
    const int number = i == 0 ? 0 : i == 1 ? half_number : all.rank;
    snprintf (name[i], sizeof name[i], "%s/many-%d-%d.scda", dir, i, number);
    f[i] = scda_fopen_write (groups[i].comm, name[i], "many", NULL, bare (), &err);
    REQUIRE (f[i] != NULL);
  }
  for (int k = 0; k < rounds; ++k) {
    for (int i = 0; i < files; ++i) {
      snprintf (text, sizeof text, "file %2d, round %2d, rank %7d\n", i, k, groups[i].rank);
      f[i] = k % 2 ? scda_fwrite_inline (f[i], text, "x", NULL, k % groups[i].size, &err)
                   : scda_fwrite_array (f[i], text, Nq, SCDA_INLINE_BYTES, 0, "x", NULL, k % 4 == 0, &err);
      REQUIRE (f[i] != NULL);
    }
  }
  for (int i = 0; i < files; ++i) { REQUIRE (scda_fclose (f[i], &err) == 0); }

  for (int i = 0; i < files; ++i) {
    f[i] = scda_fopen_read (groups[i].comm, name[i], user, NULL, NULL, &err);
    REQUIRE (f[i] != NULL);
  }
  for (int k = 0; k < rounds; ++k) {
    for (int i = 0; i < files; ++i) {
      char type;
      int decode = 1;
      f[i] = scda_fread_section_header (f[i], &type, NULL, NULL, NULL, NULL, &decode, &err);
      REQUIRE (f[i] != NULL && type == (k % 2 ? 'I' : 'A'));
      f[i] = k % 2 ? scda_fread_inline_data (f[i], found, k % groups[i].size, &err)
                   : scda_fread_array_data (f[i], found, Nq, SCDA_INLINE_BYTES, 0, &err);
      snprintf (text, sizeof text, "file %2d, round %2d, rank %7d\n", i, k, groups[i].rank);
      REQUIRE (f[i] != NULL && ((k % 2 && groups[i].rank != k % groups[i].size) || memcmp (found, text, SCDA_INLINE_BYTES) == 0));
    }
  }
  for (int i = files - 1; i >= 0; --i) { REQUIRE (scda_fclose (f[i], &err) == 0); }
  free (Nq);
}

/* Open and close, well and with errors, more often than there are communicators or descriptors. */
static void again_and_again (group_t g, const char *dir, int times) {
  char name[1024], user[SCDA_USER_STRING_BYTES + 1];
  snprintf (name, sizeof name, "%s/again-%d-%d.scda", dir, g.size, g.size == 1 ? world ().rank : world ().rank % 2);
  const int drivers[] = {SCDA_DRIVER_POSIX, driver_mpiio};
  const int before = entries ("/proc/self/fd");
  for (int i = 0; i < times; ++i) {
    int err = -1;
    scda_params_t params = default_params ();
    if (i % 2) { params.driver = drivers[i % 4 / 2]; }
    scda_fcontext_t *f = scda_fopen_write (g.comm, name, "again", NULL, &params, &err);
    REQUIRE (f != NULL);
    if (i % 3 == 0) { REQUIRE (scda_fwrite_block (f, NULL, UINT64_MAX, "x", NULL, 0, 0, &err) == NULL && err == SCDA_ERR_RANGE); }
    else { REQUIRE (scda_fclose (f, &err) == 0); }
    if (i % 3 == 1) {
      f = scda_fopen_read (g.comm, name, user, NULL, &params, &err);
      REQUIRE (f != NULL && info_of (f).at_end && scda_fclose (f, &err) == 0);
    }
  }
  CHECK (entries ("/proc/self/fd") <= before + 2);
}

/* The library does not need the user's communicator once the file is open. */
static void communicator_freed (group_t all, const char *dir) {
  char name[1024];
  int err = -1;
  snprintf (name, sizeof name, "%s/freed.scda", dir);
  group_t brief = group_split (all, 0, all.rank);
  scda_fcontext_t *f = scda_fopen_write (brief.comm, name, "freed", NULL, bare (), &err);
  group_free (&brief);
  f = scda_fwrite_inline (f, "0123456789abcdef0123456789abcdef", "x", NULL, 0, &err);
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2);
  const group_t all = world ();
  group_t half = group_split (all, all.rank % 2, -all.rank);
  interleaved (all, half, argv[1]);
  communicator_freed (all, argv[1]);
  again_and_again (group_of (SCDA_COMM_SELF), argv[1], 3000);
  again_and_again (half, argv[1], 3000);
  group_free (&half);
  return finish ();
}
