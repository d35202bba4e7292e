/* libscda_sc.so, called as a program that is linked with libsc calls it.
 *
 *   sc contents VECTORS DIR MANIFESTS NAME...   what it writes and reads is what libscda.so writes and reads
 *   sc reference VECTORS DIR                    the file that libsc itself has written, read and written anew
 *   sc errors DIR                               every misuse has the right class on all ranks
 *   sc corrupt CORRUPT EXPECTED                 damaged files, too
 *   sc fuzzy DIR                                injected errors: the same on all ranks, nothing left open
 *   sc large FILE                               more than 2^31 bytes in one call
 *
 * With FAKE, it is linked with a libsc that must not be called (fake.c). */
#include "sections.h"

#ifdef FAKE
#include "fake.h"
#endif
#include <sys/stat.h>

static group_t g;
static sc_scda_ferror_t e;
static sc_scda_fcontext_t *f;

static sc_array_t counts_of (const uint64_t *Nq) { return view (Nq, sizeof *Nq, (size_t) g.size); }

/* The class of the last error, after all that must be true of any. */
static int class_of_last (void) {
  const int failed = e.scdaret != SC_SCDA_FERR_SUCCESS;
  sc_scda_ferror_t class = {-7, (sc_scda_ret_t) 7};
  char text[8192];
  int len = -1;
  CHECK (sc_scda_ferror_is_success (e) == !failed && (f == NULL) == failed);
  CHECK (all_same (g, (uint64_t) e.scdaret) && all_same (g, (uint64_t) e.mpiret) && all_same (g, f == NULL));
  CHECK ((e.mpiret != 0) == (e.scdaret == SC_SCDA_FERR_MPI));
  CHECK (sc_scda_ferror_class (e, &class) == 0 && class.scdaret == e.scdaret);
  CHECK ((class.mpiret != 0) == (e.scdaret == SC_SCDA_FERR_MPI));
  memset (text, 'x', sizeof text);
  CHECK (sc_scda_ferror_string (e, text, &len) == 0 && len > 0 && (size_t) len == strlen (text) && strchr (text, '\n') == NULL);
  return (int) class.scdaret;
}

/* ---- contents ---- */

/* Whether the first file, which is sealed, is longer than the second one, and after the header begins with all of it. */
static int has_sections_of (const char *longer, const char *shorter) {
  FILE *a = fopen (longer, "rb"), *b = fopen (shorter, "rb");
  REQUIRE (a != NULL && b != NULL);
  REQUIRE (fseek (a, 576, SEEK_SET) == 0 && fseek (b, 128, SEEK_SET) == 0);
  int x, y;
  do {
    x = getc (a);
    y = getc (b);
  } while (x == y && x != EOF);
  fclose (a);
  fclose (b);
  return x != EOF && y == EOF;
}

static void contents (int argc, char **argv) {
  const char *vectors = argv[2], *dir = argv[3], *manifests = argv[4];
  static const char *const styles[] = {"unix", "mime", "wild"};
  char one[1024], two[1024], sealed[1024];
  scda_params_t params;
  scda_params_init (&params);
  params.seal = 1;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    content_t *c = content_random (seed, seed == 3);
    for (int k = 0; k < c->count; ++k) {
      if (c->section[k].encode == SCDA_ENCODE_AUTO) { c->section[k].encode = SCDA_ENCODE_ALWAYS; }
    }
    snprintf (one, sizeof one, "%s/scda.%d.scda", dir, g.size);
    snprintf (two, sizeof two, "%s/sc_scda.%d.scda", dir, g.size);
    content_write (g, one, c, seed, NULL);
    sc_content_write (g, two, c, seed + 10);
    if (g.rank == 0) { CHECK (files_equal (one, two, 0)); }
    content_read (g, two, c, seed + 20, NULL);
    sc_content_read (g, one, c, seed + 30);
    sc_content_read (g, two, c, seed + 40);

    /* A sealed file: the same sections, and then its end. Without the seal, the index before it, and its word in the header, it is the
     * file above. */
    snprintf (sealed, sizeof sealed, "%s/sealed.%d.scda", dir, g.size);
    content_write (g, sealed, c, seed, &params);
    sc_content_read (g, sealed, c, seed + 50);
    if (g.rank == 0) { CHECK (has_sections_of (sealed, two)); }
    content_free (c);
  }
  for (int i = 5; i < argc; ++i) {
    snprintf (one, sizeof one, "%s/%s.txt", manifests, argv[i]);
    content_t *c = content_load (one);
    for (uint64_t k = 0; k < 9; ++k) {
      snprintf (one, sizeof one, "%s/%s.%s.scda", vectors, argv[i], styles[k % 3]);
      sc_content_read (g, one, c, k);
    }
    content_free (c);
  }
}

/* ---- the reference file ---- */

static const char inline_line[] = "Test inline data               \n";

/* The header of the next section, which must be this one; the caller left `decode` to chance. */
static void expect (char type, size_t count, size_t size, const char *user) {
  char found_type = '?', found_user[SCDA_USER_STRING_BYTES + 1];
  size_t len = 77, found_count = 77, found_size = 77;
  int decode = g.rank % 2;
  f = sc_scda_fread_section_header (f, found_user, &len, &found_type, &found_count, &found_size, &decode, &e);
  REQUIRE (class_of_last () == 0 && found_type == type && found_count == count && found_size == size && decode == 0);
  REQUIRE (strcmp (found_user, user) == 0 && len == strlen (user));
}

static void reference (const char *vectors, const char *dir) {
  char original[1024], anew[1024], user[SCDA_USER_STRING_BYTES + 1], bytes[36];
  static const char elements[] = "abcabcabcabcabcabcabcabcabcabcabcabccbacbacbacbacbacbacbacbacbacbacbacba";
  static const char *const array_names[] = {"A fixed-length array section", "An empty array",
                                            "Another fixed-length array section"};
  uint64_t rng = (uint64_t) g.size, *Nq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Nq);
  sc_array_t counts = counts_of (Nq), line = view (inline_line, 32, 1), block = view ("Test block data", 15, 1), part, *all;
  size_t len;
  snprintf (original, sizeof original, "%s/libsc-2.8.7-reference.scda", vectors);
  snprintf (anew, sizeof anew, "%s/libsc.%d.scda", dir, g.size);

  f = sc_scda_fopen_write (comm_of (g), anew, "This is a test file", NULL, NULL, &e);
  f = sc_scda_fwrite_block (f, "Block section test", NULL, &block, 15, 0, 0, &e);
  f = sc_scda_fwrite_inline (f, "Inline section test without user-defined padding", NULL, &line, g.size - 1, &e);
  len = 0;
  f = sc_scda_fwrite_inline (f, "", &len, &line, 0, &e);
  f = sc_scda_fwrite_block (f, "A block section with the inline data", NULL, &line, 32, 0, 0, &e);
  for (int a = 0; a < 3; ++a) {
    const uint64_t N = a == 1 ? 0 : 12;
    partition (&rng, N, g.size, Nq);
    const char *data = elements + (a == 2 ? 36 : 0) + 3 * first_of (Nq, g.rank);
    all = (sc_array_t *) get_memory (12 * sizeof *all);
    for (uint64_t i = 0; i < Nq[g.rank]; ++i) { all[i] = view (data + 3 * i, 3, 1); }
    part = a == 2 ? view (all, sizeof *all, (size_t) Nq[g.rank]) : view (data, 3, (size_t) Nq[g.rank]);
    f = sc_scda_fwrite_array (f, array_names[a], NULL, &part, &counts, 3, a == 2, 0, &e);
    free (all);
  }
  REQUIRE (class_of_last () == 0 && sc_scda_fclose (f, &e) == 0);
  if (g.rank == 0) { CHECK (files_equal (original, anew, 32)); /* but for the vendor string */ }

  f = sc_scda_fopen_read (comm_of (g), original, user, &len, NULL, &e);
  REQUIRE (class_of_last () == 0 && len == 19 && strcmp (user, "This is a test file") == 0);
  expect ('B', 0, 15, "Block section test");
  part = view (bytes, 15, 1);
  f = sc_scda_fread_block_data (f, &part, 15, 0, &e);
  CHECK (class_of_last () == 0 && (g.rank != 0 || memcmp (bytes, "Test block data", 15) == 0));
  expect ('I', 0, 0, "Inline section test without user-defined padding");
  f = sc_scda_fread_inline_data (f, NULL, 0, &e); /* skipped */
  expect ('I', 0, 0, "");
  part = view (bytes, 32, 1);
  f = sc_scda_fread_inline_data (f, &part, g.size - 1, &e);
  CHECK (class_of_last () == 0 && (g.rank != g.size - 1 || memcmp (bytes, inline_line, 32) == 0));
  expect ('B', 0, 32, "A block section with the inline data");
  f = sc_scda_fread_block_data (f, NULL, 32, 0, &e);
  for (int a = 0; a < 3; ++a) {
    const uint64_t N = a == 1 ? 0 : 12;
    expect ('A', (size_t) N, 3, array_names[a]);
    partition (&rng, N, g.size, Nq);
    part = view (bytes, 3, (size_t) Nq[g.rank]);
    f = sc_scda_fread_array_data (f, &part, &counts, 3, 0, &e);
    const char *data = elements + (a == 2 ? 36 : 0) + 3 * first_of (Nq, g.rank);
    REQUIRE (class_of_last () == 0 && memcmp (bytes, data, 3 * (size_t) Nq[g.rank]) == 0);
  }
  REQUIRE (sc_scda_fclose (f, &e) == 0 && e.scdaret == 0 && e.mpiret == 0);
  free (Nq);
}

/* ---- errors ---- */

static char path[1100], good[1100]; /* to write; to read */

static void begin_write (void) {
  f = sc_scda_fopen_write (comm_of (g), path, "errors", NULL, NULL, &e);
  REQUIRE (class_of_last () == 0);
}
static void begin_read (void) {
  char user[SCDA_USER_STRING_BYTES + 1];
  size_t len;
  f = sc_scda_fopen_read (comm_of (g), good, user, &len, NULL, &e);
  REQUIRE (class_of_last () == 0);
}
/* The next header, of whatever it is. */
static char header (void) {
  char type = '?', user[SCDA_USER_STRING_BYTES + 1];
  size_t len, count, size;
  int decode = 1;
  f = sc_scda_fread_section_header (f, user, &len, &type, &count, &size, &decode, &e);
  REQUIRE (class_of_last () == 0);
  return type;
}

/* The header of the first section of this type in the file that errors () has made; those before it are skipped. */
static void read_to (char letter, sc_array_t *counts) {
  begin_read ();
  for (int k = 0; header () != letter; ++k) {
    f = k == 0   ? sc_scda_fread_inline_data (f, NULL, 0, &e)
        : k == 1 ? sc_scda_fread_block_data (f, NULL, 32, 0, &e)
                 : sc_scda_fread_array_data (f, NULL, counts, 4, 0, &e);
  }
}

static void verdict (int line, int want, const char *call) {
  const int class = class_of_last ();
  if (class != want || f != NULL) {
    fprintf (stderr, "sc.c:%d: rank %d of %d: class %d, want %d [%s]\n", line, g.rank, g.size, class, want, call);
    ++failures;
  }
#ifdef FAKE
  /* Rank 0 tells libsc's log what the matter was. */
  CHECK (fake_logged == (g.rank == 0) && (g.rank != 0 || strncmp (fake_log, "libscda: ", 9) == 0));
  fake_logged = 0;
#endif
  if (f != NULL) { sc_scda_fclose (f, NULL); }
}
#define WRONG(want, call) (f = (call), verdict (__LINE__, want, #call))

static void errors (const char *dir) {
  char user[2 * SCDA_USER_STRING_BYTES], type, text[8192];
  const int me = g.rank == 0, other = g.rank != 0; /* what one rank, the others do wrong */
  uint64_t *Nq = (uint64_t *) get_memory (4 * (uint64_t) g.size * sizeof *Nq), *one = Nq + g.size, *Sq = Nq + 2 * g.size,
           *most = Nq + 3 * g.size, Ei[3] = {1, 2, 3};
  char bytes[64] = "";
  size_t len = 59, count, size;
  int decode = 0;
  sc_scda_ferror_t class;
  sc_scda_params_t params;
  sc_array_t counts = counts_of (Nq), ones = counts_of (one), sums = counts_of (Sq), mosts = counts_of (most);
  sc_array_t sizes = view (Ei, 8, 3), data = view (bytes, 4, 3), short_data = view (bytes, 4, 2), narrow = view (bytes, 2, 6);
  sc_array_t block = view (bytes, 32, 1), long_block = view (bytes, 33, 1), six = view (bytes, 6, 1), seven = view (bytes, 7, 1);
  sc_array_t each[3] = {view (bytes, 4, 1), view (bytes, 4, 1), view (bytes, 4, 1)}, all = view (each, sizeof *each, 3);
  sc_array_t few_counts = view (Nq, 8, (size_t) g.size + 1), narrow_counts = view (Nq, 4, (size_t) g.size);
  for (int p = 0; p < g.size; ++p) { Nq[p] = 3, one[p] = 1, Sq[p] = 6, most[p] = UINT64_MAX / 2; }
  snprintf (path, sizeof path, "%s/errors.%d.scda", dir, g.size);
  snprintf (good, sizeof good, "%s/good.%d.scda", dir, g.size);

  f = sc_scda_fopen_write (comm_of (g), good, "good", NULL, NULL, &e);
  f = sc_scda_fwrite_inline (f, "i", NULL, &block, 0, &e);
  f = sc_scda_fwrite_block (f, "b", NULL, &block, 32, 0, 1, &e);
  f = sc_scda_fwrite_array (f, "a", NULL, &data, &counts, 4, 0, 0, &e);
  f = sc_scda_fwrite_varray (f, "v", NULL, &six, &counts, &sizes, &sums, 0, 1, &e);
  REQUIRE (class_of_last () == 0 && sc_scda_fclose (f, &e) == 0);

  /* What was written before a call that is refused is in the file, on any number of ranks. */
  begin_write ();
  f = sc_scda_fwrite_inline (f, "kept", NULL, &block, g.size - 1, &e);
  f = sc_scda_fwrite_array (f, "kept, too", NULL, &data, &counts, 4, 0, 0, &e);
  REQUIRE (class_of_last () == 0);
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_block (f, "x", NULL, &block, g.size > 1 && other ? 31 : 33, 0, 0, &e));
  {
    size_t n = 0;
    f = sc_scda_fopen_read (comm_of (g), path, user, &n, NULL, &e);
    REQUIRE (class_of_last () == 0);
    expect ('I', 0, 0, "kept");
    f = sc_scda_fread_inline_data (f, NULL, 0, &e);
    expect ('A', 3 * (size_t) g.size, 4, "kept, too");
    f = sc_scda_fread_array_data (f, NULL, &counts, 4, 0, &e);
    REQUIRE (class_of_last () == 0 && sc_scda_fclose (f, &e) == 0);
  }

  /* Codes. */
  const sc_scda_ferror_t codes[] = {{0, SC_SCDA_FERR_LASTCODE}, {1, SC_SCDA_FERR_FORMAT}, {0, SC_SCDA_FERR_MPI},
                                    {-5, SC_SCDA_FERR_MPI}, {0, (sc_scda_ret_t) 7}, {1, SC_SCDA_FERR_SUCCESS}};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; ++i) {
    CHECK (sc_scda_ferror_class (codes[i], &class) != 0 && sc_scda_ferror_string (codes[i], text, &decode) != 0);
    CHECK (!sc_scda_ferror_is_success (codes[i]));
  }
  e.mpiret = 0, e.scdaret = SC_SCDA_FERR_ARG;
  CHECK (sc_scda_ferror_class (e, NULL) != 0 && sc_scda_ferror_string (e, NULL, &decode) != 0);
  CHECK (sc_scda_ferror_string (e, text, NULL) != 0 && sc_scda_fclose (NULL, &e) == -1 && e.scdaret == SC_SCDA_FERR_ARG);
  sc_scda_params_init (NULL);
#ifdef FAKE
  CHECK (fake_logged == 1);
  fake_logged = 0;
#endif

  /* Opening. */
  memset (user, 'u', sizeof user);
  user[SCDA_USER_STRING_BYTES + 1] = 0;
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fopen_write (comm_of (g), me ? NULL : path, "", NULL, NULL, &e));
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fopen_write (comm_of (g), path, me ? user : "", NULL, NULL, &e));
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fopen_write (comm_of (g), path, user, &len, NULL, &e));
  len = 0;
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fopen_write (comm_of (g), path, NULL, &len, NULL, &e));
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fopen_read (comm_of (g), good, me ? NULL : user, &len, NULL, &e));
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fopen_read (comm_of (g), good, user, me ? NULL : &len, NULL, &e));
  WRONG (SC_SCDA_FERR_MPI, sc_scda_fopen_read (comm_of (g), "no/such/file", user, &len, NULL, &e));
  CHECK (sc_scda_ferror_class (e, &class) == 0);
#ifdef SCDA_SERIAL
  CHECK (class.mpiret == 2); /* ENOENT */
#else
  CHECK (class.mpiret == MPI_ERR_NO_SUCH_FILE);
#endif
  const struct {
    const char *bytes;
    int want;
  } files[] = {{"", SC_SCDA_FERR_COUNT}, {"scdata0 ", SC_SCDA_FERR_COUNT}, {"scdata1 ", SC_SCDA_FERR_FORMAT}, {"P6 3 3 255\n", SC_SCDA_FERR_FORMAT}};
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    FILE *file = g.rank == 0 ? fopen (path, "w") : NULL;
    if (file != NULL) {
      fputs (files[i].bytes, file);
      for (int k = 0; files[i].want == SC_SCDA_FERR_FORMAT && k < 128; ++k) { fputc ('-', file); }
      fclose (file);
    }
    barrier (g);
    WRONG (files[i].want, sc_scda_fopen_read (comm_of (g), path, user, &len, NULL, &e));
  }
  sc_scda_params_init (&params);
  CHECK (params.fuzzy_everyn == 0 && params.fuzzy_seed == 0);
  if (g.size > 1) {
    params.fuzzy_everyn = other ? 1u << 31 : 0;
    WRONG (SC_SCDA_FERR_ARG, sc_scda_fopen_write (comm_of (g), path, "", NULL, &params, &e));
    WRONG (SC_SCDA_FERR_ARG, sc_scda_fopen_write (comm_of (g), path, me ? "this" : "that", NULL, NULL, &e));
  }
#ifdef FAKE
  params.fuzzy_everyn = 0;
  params.log_level = 9; /* silent */
  f = sc_scda_fopen_read (comm_of (g), "no/such/file", user, &len, &params, &e);
  CHECK (class_of_last () == SC_SCDA_FERR_MPI && fake_logged == 0);
  f = sc_scda_fopen_write (comm_of (g), path, "", NULL, &params, &e);
  f = sc_scda_fwrite_inline (f, "", NULL, &block, -1, &e);
  CHECK (class_of_last () == SC_SCDA_FERR_ARG && fake_logged == 0);
#endif

  /* Writing. The wrong is that of one rank, wherever one rank alone can do it. */
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_inline (f, "", NULL, me ? NULL : &block, 0, &e));
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_inline (f, "", NULL, &six, 0, &e));
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_inline (f, me ? NULL : "", NULL, &block, 0, &e));
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_inline (f, "", NULL, &block, g.size, &e));
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_block (f, "", NULL, &block, 33, g.size - 1, 0, &e));
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_block (f, "", NULL, NULL, 33, 0, 1, &e));
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_array (f, "", NULL, me ? &short_data : &data, &counts, 4, 0, 0, &e));
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_array (f, "", NULL, me ? &narrow : &data, &counts, 4, 0, 0, &e));
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_array (f, "", NULL, me ? NULL : &data, &counts, 4, 0, 1, &e));
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_array (f, "", NULL, me ? &data : &all, &counts, 4, 1, 0, &e));
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_array (f, "", NULL, &data, me ? NULL : &counts, 4, 0, 0, &e));
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_array (f, "", NULL, &data, me ? &few_counts : &counts, 4, 0, 0, &e));
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_array (f, "", NULL, &data, me ? &narrow_counts : &counts, 4, 0, 0, &e));
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_array (f, "", NULL, NULL, &mosts, SIZE_MAX, 0, 0, &e));
  each[1].elem_size = 3;
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_array (f, "", NULL, &all, &counts, 4, 1, 0, &e));
  each[1].elem_size = 4, each[2].array = NULL;
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_array (f, "", NULL, &all, &counts, 4, 1, 0, &e));
  each[2].array = bytes;
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_varray (f, "", NULL, me ? &seven : &six, &counts, &sizes, &sums, 0, 0, &e));
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_varray (f, "", NULL, &six, &counts, me ? NULL : &sizes, &sums, 0, 0, &e));
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_varray (f, "", NULL, &six, &counts, &sizes, me ? NULL : &sums, 0, 0, &e));
  begin_write (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_varray (f, "", NULL, &six, &counts, &sizes, &counts, 0, 0, &e));
  begin_write (), WRONG (SC_SCDA_FERR_USAGE, sc_scda_fread_inline_data (f, NULL, 0, &e));
  if (g.size > 1) {
    begin_write ();
    WRONG (SC_SCDA_FERR_ARG, sc_scda_fwrite_block (f, "", NULL, me ? &block : &long_block, me ? 32 : 33, 0, 0, &e));
    begin_write ();
    WRONG (SC_SCDA_FERR_ARG, me ? sc_scda_fwrite_inline (f, "", NULL, &block, 0, &e)
                                : sc_scda_fwrite_block (f, "", NULL, &block, 32, 0, 0, &e));
  }
  begin_write ();
  CHECK (sc_scda_fclose (f, NULL) == 0); /* whoever does not want the code */

  /* Reading: in the wrong order, which is told whatever the arguments are. */
  begin_read (), WRONG (SC_SCDA_FERR_USAGE, sc_scda_fwrite_inline (f, "", NULL, &block, 0, &e));
  begin_read (), WRONG (SC_SCDA_FERR_USAGE, sc_scda_fread_block_data (f, NULL, 32, 0, &e));
  begin_read (), WRONG (SC_SCDA_FERR_USAGE, sc_scda_fread_array_data (f, &six, NULL, 3, 0, &e));
  begin_read (), header (), WRONG (SC_SCDA_FERR_USAGE, sc_scda_fread_block_data (f, &six, 32, 0, &e));
  begin_read (), header (), WRONG (SC_SCDA_FERR_USAGE, sc_scda_fread_varray_sizes (f, &six, NULL, &e));
  begin_read (), header (), WRONG (SC_SCDA_FERR_USAGE, sc_scda_fread_section_header (f, user, &len, &type, &count, &size, &decode, &e));

  /* With the wrong arguments. */
  begin_read ();
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fread_section_header (f, user, &len, &type, &count, &size, me ? NULL : &decode, &e));
  begin_read ();
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fread_section_header (f, user, &len, me ? NULL : &type, &count, &size, &decode, &e));
  begin_read (), header (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fread_inline_data (f, &six, 0, &e));
  begin_read (), header (), WRONG (SC_SCDA_FERR_ARG, sc_scda_fread_inline_data (f, &block, g.size, &e));
  read_to ('B', &counts);
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fread_block_data (f, &long_block, 33, 0, &e));
  read_to ('B', &counts);
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fread_block_data (f, &six, 32, 0, &e));
  read_to ('A', &counts);
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fread_array_data (f, &data, &ones, 4, 0, &e));
  read_to ('A', &counts);
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fread_array_data (f, &data, &counts, 5, 0, &e));
  read_to ('A', &counts);
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fread_array_data (f, me ? &short_data : &data, &counts, 4, 0, &e));
  read_to ('A', &counts);
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fread_array_data (f, &data, me ? NULL : &counts, 4, 0, &e));
  read_to ('A', &counts);
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fread_array_data (f, me ? &data : &all, &counts, 4, 1, &e));
  read_to ('V', &counts);
  WRONG (SC_SCDA_FERR_USAGE, sc_scda_fread_varray_data (f, &six, &counts, &sizes, &sums, 0, &e));
  read_to ('V', &counts);
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fread_varray_sizes (f, me ? &narrow : &sizes, &counts, &e));
  read_to ('V', &counts);
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fread_varray_sizes (f, &sizes, &ones, &e));
  read_to ('V', &counts);
  f = sc_scda_fread_varray_sizes (f, &sizes, &counts, &e);
  REQUIRE (class_of_last () == 0 && Ei[0] == 1 && Ei[1] == 2 && Ei[2] == 3);
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fread_varray_data (f, me ? &seven : &six, &counts, &sizes, &sums, 0, &e));
  read_to ('V', &counts);
  f = sc_scda_fread_varray_sizes (f, NULL, &counts, &e);
  WRONG (SC_SCDA_FERR_ARG, sc_scda_fread_varray_data (f, &six, &counts, &sizes, NULL, 0, &e));

  /* proc_sizes has no file to close. Its array grows, in place or through libsc. */
  uint64_t *sum = (uint64_t *) calloc ((size_t) g.size, sizeof *sum);
  sc_array_t grown = view (sum, 8, (size_t) g.size);
  begin_write ();
  CHECK (sc_scda_proc_sizes (me ? NULL : &sizes, &counts, &grown, &e) == -1 && e.scdaret == SC_SCDA_FERR_ARG && e.mpiret == 0);
  CHECK (sc_scda_proc_sizes (&sizes, me ? NULL : &counts, &grown, &e) == -1 && e.scdaret == SC_SCDA_FERR_ARG);
  CHECK (sc_scda_proc_sizes (&sizes, &counts, me ? NULL : &grown, &e) == -1 && e.scdaret == SC_SCDA_FERR_ARG);
  for (int i = 0; i < 3; ++i) { /* with a file, without one */
    memset (sum, 0, (size_t) g.size * sizeof *sum);
    CHECK (sc_scda_proc_sizes (&sizes, &counts, &grown, &e) == 0 && e.scdaret == 0 && e.mpiret == 0);
    for (int p = 0; p < g.size; ++p) { CHECK (sum[p] == 6); }
    if (i == 0) { REQUIRE (sc_scda_fclose (f, &e) == 0); }
  }
  free (sum);
  if (g.size > 2) { /* among fewer ranks than the world has: not without a file */
    group_t half = group_split (g, g.rank < 2, g.rank);
    uint64_t half_sum[64];
    sc_array_t half_counts = view (Nq, 8, (size_t) half.size), half_grown = view (half_sum, 8, (size_t) half.size);
    const int status = sc_scda_proc_sizes (&sizes, &half_counts, &half_grown, &e);
    CHECK (half.size == 1 ? status == 0 : status == -1 && e.scdaret == SC_SCDA_FERR_ARG);
    snprintf (path, sizeof path, "%s/half.%d.scda", dir, g.rank < 2);
    f = sc_scda_fopen_write (comm_of (half), path, "half", NULL, NULL, &e);
    REQUIRE (f != NULL && half.size < 64);
    CHECK (sc_scda_proc_sizes (&sizes, &half_counts, &half_grown, &e) == 0);
    for (int p = 0; p < half.size; ++p) { CHECK (half_sum[p] == 6); }
    REQUIRE (sc_scda_fclose (f, &e) == 0);
    group_free (&half);
  }
  grown = view (NULL, 8, 0);
  CHECK (sc_scda_proc_sizes (&sizes, &counts, &grown, &e) == -1 && e.scdaret == SC_SCDA_FERR_ARG); /* a view */
#ifdef FAKE
  memset (&grown, 0, sizeof grown);
  grown.elem_size = 8;
  CHECK (sc_scda_proc_sizes (&sizes, &counts, &grown, &e) == 0 && fake_resized == 1 && grown.elem_count == (size_t) g.size);
  for (int p = 0; p < g.size; ++p) { CHECK (((uint64_t *) grown.array)[p] == 6); }
  free (grown.array);
  fake_logged = 0;
#endif

  /* At the end of the file, and after it. */
  read_to ('V', &counts);
  f = sc_scda_fread_varray_sizes (f, &sizes, &counts, &e);
  f = sc_scda_fread_varray_data (f, me ? NULL : &six, &counts, &sizes, &sums, 0, &e);
  REQUIRE (class_of_last () == 0);
  sc_scda_fcontext_t *closed = f;
  f = sc_scda_fread_section_header (f, user, &len, &type, &count, &size, &decode, &e);
  CHECK (f == NULL && class_of_last () == SC_SCDA_FERR_COUNT);
#ifdef FAKE
  CHECK (fake_logged == 0); /* every program that reads a file comes to its end */
#endif
  f = sc_scda_fread_inline_data (closed, NULL, 0, &e);
  CHECK (class_of_last () == SC_SCDA_FERR_USAGE && sc_scda_fclose (closed, &e) == -1 && e.scdaret == SC_SCDA_FERR_USAGE);
  free (Nq);
}

/* ---- reading to the end or to an error ---- */

/* Everything in a file. Data of more than `most` elements or bytes are skipped. */
static int read_all (const char *filename, sc_scda_params_t *params, uint64_t most) {
  uint64_t *Nq = (uint64_t *) get_memory (2 * (uint64_t) g.size * sizeof *Nq), *Sq = Nq + g.size, rng = 5;
  sc_array_t counts = counts_of (Nq), sums = counts_of (Sq), data, sizes;
  char user[SCDA_USER_STRING_BYTES + 1], type, *memory = (char *) get_memory (most);
  uint64_t *Ei = (uint64_t *) get_memory (most * sizeof *Ei);
  size_t len, count = 0, size = 0;
  f = sc_scda_fopen_read (comm_of (g), filename, user, &len, params, &e);
  int class = class_of_last ();
  while (class == 0) {
    int decode = 1;
    f = sc_scda_fread_section_header (f, user, &len, &type, &count, &size, &decode, &e);
    if ((class = class_of_last ()) != 0) { break; }
    partition (&rng, count, g.size, Nq);
    const uint64_t mine = Nq[g.rank];
    if (type == 'I') {
      data = view (memory, 32, 1);
      f = sc_scda_fread_inline_data (f, &data, 0, &e);
    } else if (type == 'B') {
      data = view (memory, size, 1);
      f = sc_scda_fread_block_data (f, size > most ? NULL : &data, size, 0, &e);
    } else if (type == 'A') {
      data = view (memory, size, (size_t) mine);
      f = sc_scda_fread_array_data (f, mine > most || size > most || mine * size > most ? NULL : &data, &counts, size, 0, &e);
    } else {
      uint64_t sum = 0;
      sizes = view (Ei, 8, (size_t) mine);
      f = sc_scda_fread_varray_sizes (f, mine > most ? NULL : &sizes, &counts, &e);
      if ((class = class_of_last ()) != 0) { break; }
      /* A rank that skips does not know its sizes: then all give none, and the library is not asked for a check. */
      for (uint64_t i = 0; mine <= most && i < mine; ++i) { sum += Ei[i]; }
      if (!all_max (g, mine > most)) {
        REQUIRE (sc_scda_proc_sizes (&sizes, &counts, &sums, &e) == 0);
        data = view (memory, (size_t) sum, 1);
        f = sc_scda_fread_varray_data (f, sum > most ? NULL : &data, &counts, &sizes, &sums, 0, &e);
      } else {
        sc_scda_fclose (f, &e);
        break;
      }
    }
    class = class_of_last ();
  }
  free (Nq);
  free (Ei);
  free (memory);
  return class;
}

static void corrupt (const char *dir, const char *expected) {
  FILE *file = fopen (expected, "r");
  char name[256], reader[16], filename[1400];
  int code, files = 0;
  REQUIRE (file != NULL);
  while (fscanf (file, "%255s %15s %d %*d %*d", name, reader, &code) == 3) {
    /* libsc knows neither seals nor datasets. */
    if (strcmp (reader, "plain") != 0 && strcmp (reader, "decode") != 0) { continue; }
    snprintf (filename, sizeof filename, "%s/%s", dir, name);
    /* Nor versions, nor ranges. */
    const int class = read_all (filename, NULL, 1 << 20);
    const int expect = code == SCDA_ERR_VERSION || code == SCDA_ERR_RANGE ? (int) SC_SCDA_FERR_FORMAT : code;
    if (class != expect) { fprintf (stderr, "%s: class %d, not %d\n", name, class, expect), ++failures; }
    ++files;
  }
  CHECK (files > 20);
  fclose (file);
}

/* ---- injected errors ---- */

static int write_all (const char *filename, sc_scda_params_t *params, uint64_t seed) {
  static char bytes[3000];
  static uint64_t Ei[1000];
  uint64_t *Nq = (uint64_t *) get_memory (2 * (uint64_t) g.size * sizeof *Nq), *Sq = Nq + g.size, rng = seed;
  sc_array_t counts = counts_of (Nq), sums = counts_of (Sq), data, sizes;
  f = sc_scda_fopen_write (comm_of (g), filename, "fuzzy", NULL, params, &e);
  int class = class_of_last ();
  for (int k = 0; k < 8 && class == 0; ++k) {
    partition (&rng, 1000, g.size, Nq);
    if (k % 4 == 0) {
      data = view (bytes, 32, 1);
      f = sc_scda_fwrite_inline (f, "i", NULL, &data, k % g.size, &e);
    } else if (k % 4 == 1) {
      data = view (bytes, sizeof bytes, 1);
      f = sc_scda_fwrite_block (f, "b", NULL, &data, sizeof bytes, k % g.size, k > 4, &e);
    } else if (k % 4 == 2) {
      data = view (bytes, 3, (size_t) Nq[g.rank]);
      f = sc_scda_fwrite_array (f, "a", NULL, &data, &counts, 3, 0, k > 4, &e);
    } else {
      for (int i = 0; i < 1000; ++i) { Ei[i] = 2; }
      sizes = view (Ei, 8, (size_t) Nq[g.rank]);
      data = view (bytes, 2 * (size_t) Nq[g.rank], 1);
      REQUIRE (sc_scda_proc_sizes (&sizes, &counts, &sums, &e) == 0);
      f = sc_scda_fwrite_varray (f, "v", NULL, &data, &counts, &sizes, &sums, 0, k > 4, &e);
    }
    class = class_of_last ();
  }
  free (Nq);
  if (class != 0) { return class; }
  const int status = sc_scda_fclose (f, &e);
  f = e.scdaret == 0 ? f : NULL;
  class = class_of_last ();
  CHECK (status == (class == 0 ? 0 : -1));
  return class;
}

static void fuzzy (const char *dir) {
  static const unsigned everyn[] = {1, 4, 30};
  char filename[1024], faulty[1024];
  sc_scda_params_t params;
  int failed[3] = {0, 0, 0}, fine[3] = {0, 0, 0};
  snprintf (filename, sizeof filename, "%s/fuzzy.scda", dir);
  snprintf (faulty, sizeof faulty, "%s/faulty.scda", dir);
  REQUIRE (write_all (filename, NULL, 1) == 0 && read_all (filename, NULL, 1 << 20) == SC_SCDA_FERR_COUNT);
  const int descriptors = entries ("/proc/self/fd");
  for (int n = 0; n < 3; ++n) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
      sc_scda_params_init (&params);
      params.fuzzy_everyn = everyn[n];
      params.fuzzy_seed = seed;
      const int written = write_all (faulty, &params, seed), read = read_all (filename, &params, 1 << 20);
      CHECK (written == 0 || written == SC_SCDA_FERR_MPI);
      CHECK (read == SC_SCDA_FERR_COUNT || read == SC_SCDA_FERR_MPI);
      ++*(written == 0 ? &fine[n] : &failed[n]);
      ++*(read == SC_SCDA_FERR_COUNT ? &fine[n] : &failed[n]);
      CHECK (entries ("/proc/self/fd") == descriptors);
    }
  }
  CHECK (fine[0] == 0 && failed[1] > fine[1] && failed[2] > 0 && fine[2] > 0);
}

/* ---- large files ---- */

/* The first rank has 9 elements of 256 MiB, all in the same memory; the last has one of a byte. */
static void large (const char *filename) {
  const uint64_t E = 1u << 28, mine = 9;
  char *memory = (char *) get_memory (E), user[SCDA_USER_STRING_BYTES + 1], type = '?', byte = 0;
  uint64_t *Nq = (uint64_t *) get_memory (2 * (uint64_t) g.size * sizeof *Nq), *Sq = Nq + g.size, *Ei;
  Ei = (uint64_t *) get_memory (10 * sizeof *Ei);
  memset (Nq, 0, 2 * (size_t) g.size * sizeof *Nq);
  memset (memory, 'x', (size_t) E);
  Nq[0] = mine, Sq[0] = mine * E;
  Nq[g.size - 1] += 1, Sq[g.size - 1] += 1;
  sc_array_t each[10], counts = counts_of (Nq), sums = counts_of (Sq), all = view (each, sizeof *each, (size_t) Nq[g.rank]);
  sc_array_t sizes = view (Ei, 8, (size_t) Nq[g.rank]), last = view (&byte, 1, 1);
  for (uint64_t i = 0; i < Nq[g.rank]; ++i) { Ei[i] = E, each[i] = view (memory, (size_t) E, 1); }
  if (g.rank == g.size - 1) { Ei[Nq[g.rank] - 1] = 1, each[Nq[g.rank] - 1] = view ("!", 1, 1); }

  f = sc_scda_fopen_write (comm_of (g), filename, "large", NULL, NULL, &e);
  f = sc_scda_fwrite_varray (f, "v", NULL, &all, &counts, &sizes, &sums, 1, 0, &e);
  last = view (memory, 32, 1);
  f = sc_scda_fwrite_inline (f, "i", NULL, &last, 0, &e);
  REQUIRE (class_of_last () == 0 && sc_scda_fclose (f, &e) == 0);

  size_t len, count, size;
  int decode = 0;
  struct stat status;
  REQUIRE (stat (filename, &status) == 0 && (uint64_t) status.st_size > mine * E);
  f = sc_scda_fopen_read (comm_of (g), filename, user, &len, NULL, &e);
  f = sc_scda_fread_section_header (f, user, &len, &type, &count, &size, &decode, &e);
  REQUIRE (class_of_last () == 0 && type == 'V' && count == 10 && size == 0);
  /* The last rank reads its byte beyond 2.25 GiB, which the first skips. */
  f = sc_scda_fread_varray_sizes (f, &sizes, &counts, &e);
  last = view (&byte, 1, 1);
  const int skips = g.rank != g.size - 1 || g.size == 1;
  f = sc_scda_fread_varray_data (f, skips ? NULL : &last, &counts, &sizes, &sums, 0, &e);
  REQUIRE (class_of_last () == 0 && (skips || byte == '!'));
  f = sc_scda_fread_section_header (f, user, &len, &type, &count, &size, &decode, &e);
  REQUIRE (class_of_last () == 0 && type == 'I');
  REQUIRE (sc_scda_fclose (f, &e) == 0);
  barrier (g);
  if (g.rank == 0) { REQUIRE (unlink (filename) == 0); }
  free (memory);
  free (Nq);
  free (Ei);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc > 2);
  g = world ();
  const char *what = argv[1];
  if (strcmp (what, "contents") == 0) { contents (argc, argv); }
  else if (strcmp (what, "reference") == 0) { reference (argv[2], argv[3]); }
  else if (strcmp (what, "errors") == 0) { errors (argv[2]); }
  else if (strcmp (what, "corrupt") == 0) { corrupt (argv[2], argv[3]); }
  else if (strcmp (what, "fuzzy") == 0) { fuzzy (argv[2]); }
  else if (strcmp (what, "large") == 0) { large (argv[2]); }
  else { REQUIRE (!"a known test"); }
  return finish ();
}
