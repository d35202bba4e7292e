/* Every misuse gives the right code on all ranks, NULL, and a message that names the file; nothing hangs or crashes.
 *
 *   errors single DIR       what one rank or all ranks do wrong
 *   errors alone DIR        what one rank alone does wrong, in a program that communicates between its calls
 *   errors disagree DIR     ranks that disagree about what must be the same on all */
#define _POSIX_C_SOURCE 200112L /* setenv */
#include "common.h"
#include <scda_bind.h>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

enum { any_error = -1, file_system_error = -2 }; /* beside the codes of scda.h */

static group_t g;
static int last; /* the last rank */
static char path[1200], good[1024]; /* a file to write; a file to read */
static scda_fcontext_t *f;
static int err;
static const char text[] = "0123456789abcdef0123456789abcde\n0123456789abcdef";
static uint64_t *Nq, *three; /* one, three elements on every rank */

/* ---- verdicts ---- */

static int as_wanted (int want) {
  return want == any_error ? err != 0 : want == file_system_error ? err >= SCDA_ERR_NO_SUCH_FILE : err == want;
}

static uint64_t hash (const char *string) {
  uint64_t h = 5381;
  while (*string) { h = 33 * h + (unsigned char) *string++; }
  return h;
}

/* Without a file name, since ranks may disagree on it, the message need not be the same. */
static void verdict (int line, const char *call, int want, const char *filename) {
  const char *message = scda_last_error_message ();
  const int same = all_same (g, (uint64_t) err), same_message = filename == NULL || all_same (g, hash (message));
  const int named = filename == NULL ? *message != 0 : strstr (message, filename) != NULL;
  if (f != NULL || !as_wanted (want) || !same || !named || !same_message) {
    fprintf (stderr, "errors.c:%d: rank %d of %d: error %d, want %d, %s%s[%s]: %s\n", line, g.rank, g.size, err, want,
             f == NULL ? "" : "context not NULL, ", !same ? "codes differ, " : !same_message ? "messages differ, " : "", message,
             call);
    ++failures;
  }
  if (f != NULL) { scda_fclose (f, NULL); }
  f = NULL;
}

/* The call fails at once. */
#define WRONG(want, call) (err = -99, f = (call), verdict (__LINE__, #call, want, path))
/* The same, on a file that has been opened for reading. */
#define WRONG_READ(want, call) (err = -99, f = (call), verdict (__LINE__, #call, want, good))
/* The call fails at once or, since only some ranks can know, when the file is closed. */
#define WRONG_LATER(want, call) (err = -99, f = (call), later (__LINE__, #call, want, path))
#define RIGHT(call) (err = -99, f = (call), REQUIRE (f != NULL && err == 0))

static void later (int line, const char *call, int want, const char *filename) {
  if (f != NULL) { /* no MPI call of ours before: other ranks may wait for us in the library */
    CHECK (g.size > 1 && err == 0);
    err = -99;
    CHECK (scda_fclose (f, &err) != 0);
    f = NULL;
  }
  verdict (line, call, want, filename);
}

/* ---- files to start from ---- */

static int by_environment; /* checking is asked for by a variable of rank 0 */

static void open_writer (int check) {
  scda_params_t params = default_params ();
  params.check = check && !by_environment;
  RIGHT (scda_fopen_write (g.comm, path, "errors", NULL, &params, &err));
}

static void skip_section (void) {
  char type;
  uint64_t N, E;
  RIGHT (scda_fread_section_header (f, &type, &N, &E, NULL, NULL, NULL, &err));
  uint64_t *all = (uint64_t *) calloc ((size_t) g.size, sizeof *all);
  all[0] = N;
  if (type == 'I') { RIGHT (scda_fread_inline_data (f, NULL, 0, &err)); }
  if (type == 'B') { RIGHT (scda_fread_block_data (f, NULL, E, 0, &err)); }
  if (type == 'A') { RIGHT (scda_fread_array_data (f, NULL, all, E, 0, &err)); }
  if (type == 'V') {
    RIGHT (scda_fread_varray_sizes (f, NULL, all, &err));
    RIGHT (scda_fread_varray_data (f, NULL, all, NULL, NULL, 0, &err));
  }
  free (all);
}

enum { at_inline, at_block, at_array, at_varray, at_encoded, at_end };

/* Open the good file before that section. */
static void open_reader (int section, int check) {
  scda_params_t params = default_params ();
  params.check = check && !by_environment;
  char user[SCDA_USER_STRING_BYTES + 1];
  RIGHT (scda_fopen_read (g.comm, good, user, NULL, &params, &err));
  while (section-- > 0) { skip_section (); }
}

/* ... and after its header. */
static void open_data (int section, int check) {
  open_reader (section, check);
  int decode = 1;
  RIGHT (scda_fread_section_header (f, NULL, NULL, NULL, NULL, NULL, &decode, &err));
}

static void make_good_file (void) {
  const uint64_t Ei[3] = {1, 0, 4};
  RIGHT (scda_fopen_write (g.comm, good, "good", NULL, bare (), &err));
  RIGHT (scda_fwrite_inline (f, text, "inline", NULL, 0, &err));
  RIGHT (scda_fwrite_block (f, text, 10, "block", NULL, last, SCDA_ENCODE_NONE, &err));
  RIGHT (scda_fwrite_array (f, text, three, 4, 0, "array", NULL, SCDA_ENCODE_NONE, &err));
  RIGHT (scda_fwrite_varray (f, text, three, Ei, NULL, 0, "varray", NULL, SCDA_ENCODE_NONE, &err));
  RIGHT (scda_fwrite_block (f, text, 32, "encoded", NULL, 0, SCDA_ENCODE_ALWAYS, &err));
  REQUIRE (scda_fclose (f, &err) == 0);
}

/* ---- the tests ---- */

static void strings_and_classes (void) {
  static const int codes[] = {
    SCDA_SUCCESS,         SCDA_ERR_FORMAT,   SCDA_ERR_USAGE,    SCDA_ERR_DECODE,      SCDA_ERR_ARG,      SCDA_ERR_COUNT,
    SCDA_ERR_VERSION,     SCDA_ERR_EOF,      SCDA_ERR_RANGE,    SCDA_ERR_MEMORY,      SCDA_ERR_INTERNAL, SCDA_ERR_MPI,
    SCDA_ERR_CHECKSUM,    SCDA_ERR_NOT_FOUND, SCDA_ERR_NO_SUCH_FILE, SCDA_ERR_ACCESS,  SCDA_ERR_NO_SPACE, SCDA_ERR_QUOTA,       SCDA_ERR_READ_ONLY, SCDA_ERR_FILE_EXISTS,
    SCDA_ERR_BAD_FILE,    SCDA_ERR_FILE_IN_USE, SCDA_ERR_UNSUPPORTED, SCDA_ERR_IO};
  static const int unknown[] = {-1, 1, 14999, 15013, 15019, 15030, 2147483647, -2147483647 - 1};
  enum { num_codes = sizeof codes / sizeof codes[0], num_unknown = sizeof unknown / sizeof unknown[0] };
  char all[num_codes][200];
  for (int i = 0; i < num_codes; ++i) {
    int len = (int) sizeof all[i];
    memset (all[i], '?', sizeof all[i]);
    CHECK (scda_ferror_string (codes[i], all[i], &len) == 0);
    CHECK (len > 0 && len < (int) sizeof all[i] && memchr (all[i], 0, (size_t) len + 1) != NULL);
    for (int j = 0; j < i; ++j) { CHECK (strcmp (all[i], all[j]) != 0); }

    for (int room = 0; room < 6; ++room) { /* never beyond the end of a small buffer */
      char small[8];
      memset (small, '?', sizeof small);
      len = room;
      scda_ferror_string (codes[i], small, &len);
      CHECK (len >= 0 && len <= room && small[room] == '?');
      CHECK (room == 0 || memchr (small, 0, (size_t) room) != NULL);
    }
  }
  for (int i = 0; i < num_unknown; ++i) {
    int len = (int) sizeof all[0];
    CHECK (scda_ferror_string (unknown[i], all[0], &len) < 0);
  }
  int len = 10;
  CHECK (scda_ferror_string (SCDA_ERR_ARG, all[0], NULL) < 0);
  scda_ferror_string (SCDA_ERR_ARG, NULL, &len); /* no room, no crash */
  len = -5;
  all[0][0] = '?';
  scda_ferror_string (SCDA_ERR_ARG, all[0], &len);
  CHECK (all[0][0] == '?' && len <= 0);
  CHECK (scda_params_init (NULL) != 0);
  CHECK (*scda_version () != 0);
}

#define WRONG_PARAMS(member, value)                                                               \
  do {                                                                                            \
    params = default_params ();                                                                   \
    params.member = (value);                                                                      \
    WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, #member, NULL, &params, &err));         \
    params = default_params ();                                                                   \
    params.member = (value);                                                                      \
    WRONG_READ (SCDA_ERR_ARG, scda_fopen_read (g.comm, good, user, NULL, &params, &err));        \
    params = default_params ();                                                                   \
    params.member = (value);                                                                      \
    WRONG_READ (SCDA_ERR_ARG, scda_fopen_append (g.comm, good, user, NULL, &params, &err));      \
  } while (0)

static void opening (const char *dir) {
  char user[SCDA_USER_STRING_BYTES + 1] = "x", keep[1200];
  static const char *const modes[] = {"", "a+", "rw", "w+", "x", NULL};
  scda_params_t params;
  const size_t too_long = SCDA_USER_STRING_BYTES + 1, far_too_long = (size_t) -1;
  for (int i = 0; i < 6; ++i) { WRONG (SCDA_ERR_ARG, scda_fopen (g.comm, path, modes[i], user, NULL, &err)); }
  const int self = 0x5cda5e1f; /* SCDA_COMM_SELF to Fortran */
#ifdef SCDA_SERIAL
  const int comm = self, no_comm = 0;
#else
  const int comm = (int) MPI_Comm_c2f (g.comm), no_comm = (int) MPI_Comm_c2f (MPI_COMM_NULL);
#endif
  err = -99, f = scda_fopen_f (no_comm, NULL, path, "w", user, NULL, NULL, NULL, NULL, NULL, &err);
  verdict (__LINE__, "no communicator of Fortran", SCDA_ERR_ARG, NULL);
  WRONG (SCDA_ERR_ARG, scda_fopen_f (comm, NULL, path, "rw", user, NULL, NULL, NULL, NULL, NULL, &err));
  params = default_params ();
  params.level = 10;
  WRONG (SCDA_ERR_ARG, scda_fopen_f (comm, NULL, path, "w", user, NULL, &params, NULL, NULL, NULL, &err));
  int rank = -1, size = -1;
  RIGHT (scda_fopen_f (comm, NULL, path, "w", user, NULL, NULL, &rank, &size, NULL, &err));
  CHECK (rank == g.rank && size == g.size && scda_fclose (f, &err) == 0);
  RIGHT (scda_fopen_f (self, NULL, path, "r", user, NULL, NULL, &rank, &size, NULL, &err));
  CHECK (rank == 0 && size == 1 && strcmp (user, "x") == 0 && scda_fclose (f, &err) == 0);
  err = -99, f = scda_fopen (g.comm, NULL, "w", user, NULL, &err);
  verdict (__LINE__, "no file name", SCDA_ERR_ARG, NULL);
  err = -99, f = scda_fopen_read (g.comm, NULL, user, NULL, NULL, &err);
  verdict (__LINE__, "no file name", SCDA_ERR_ARG, NULL);
  err = -99, f = scda_fopen_write (g.comm, "", user, NULL, bare (), &err);
  verdict (__LINE__, "empty file name", any_error, NULL);
  err = -99, f = scda_fopen_append (g.comm, NULL, user, NULL, NULL, &err);
  verdict (__LINE__, "no file name", SCDA_ERR_ARG, NULL);
  err = -99, f = scda_fopen (g.comm, g.rank == last ? NULL : good, "a", user, NULL, &err);
  verdict (__LINE__, "no file name on one rank", SCDA_ERR_ARG, NULL);
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, NULL, NULL, bare (), &err));
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, text, &too_long, NULL, &err));
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, text, &far_too_long, NULL, &err));
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, "59 bytes without a NUL: 01234567890123456789012345678901234", NULL,
                                         NULL, &err));

  strcpy (keep, path);
  snprintf (path, sizeof path, "%s/there-is-no-such-file", dir);
  WRONG (SCDA_ERR_NO_SUCH_FILE, scda_fopen (g.comm, path, "r", user, NULL, &err));
  WRONG (SCDA_ERR_NO_SUCH_FILE, scda_fopen (g.comm, path, "a", user, NULL, &err));
  CHECK (scda_fopen (g.comm, path, "r", user, NULL, NULL) == NULL); /* err may be NULL */
  snprintf (path, sizeof path, "%s/no-such-directory/file", dir);
  WRONG (SCDA_ERR_NO_SUCH_FILE, scda_fopen (g.comm, path, "w", user, NULL, &err));
  WRONG (SCDA_ERR_NO_SUCH_FILE, scda_fopen (g.comm, path, "r", user, NULL, &err));
  snprintf (path, sizeof path, "%s", dir);
  WRONG (file_system_error, scda_fopen (g.comm, path, "w", user, NULL, &err));
  WRONG (file_system_error, scda_fopen (g.comm, path, "r", user, NULL, &err));
  WRONG (file_system_error, scda_fopen (g.comm, path, "a", user, NULL, &err));
  snprintf (path, sizeof path, "%s/file-not-directory", good);
  WRONG (file_system_error, scda_fopen (g.comm, path, "w", user, NULL, &err));
  if (geteuid () != 0) { /* root may write anywhere */
    snprintf (path, sizeof path, "%s/locked", dir);
    if (g.rank == 0) { mkdir (path, 0500); }
    barrier (g);
    snprintf (path, sizeof path, "%s/locked/file", dir);
    WRONG (SCDA_ERR_ACCESS, scda_fopen (g.comm, path, "w", user, NULL, &err));
  }
  struct statfs sys;
  if (statfs ("/sys", &sys) == 0 && sys.f_type == SYSFS_MAGIC) { /* here not even root makes a file */
    strcpy (path, "/sys/libscda-test");
    WRONG (file_system_error, scda_fopen (g.comm, path, "w", user, NULL, &err));
  } else if (g.rank == 0) {
    puts ("skipped: a file in /sys: there is no sysfs");
  }
  strcpy (path, keep);

  WRONG_PARAMS (size, 0);
  WRONG_PARAMS (size, 3);
  WRONG_PARAMS (to_seal, 2);
  WRONG_PARAMS (keep, UINT64_MAX);
  params = default_params (), params.keep = 1; /* writing: of a file that is not atomic */
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, "keep", NULL, &params, &err));
  params = default_params (), params.keep = 1;
  WRONG_READ (SCDA_ERR_ARG, scda_fopen_append (g.comm, good, user, NULL, &params, &err));
  params = default_params (), params.keep = 1; /* reading: of files without a seal */
  WRONG_READ (SCDA_ERR_FORMAT, scda_fopen_read (g.comm, good, user, NULL, &params, &err));
  WRONG_PARAMS (linebreak, 7);
  WRONG_PARAMS (linebreak, -1);
  WRONG_PARAMS (encoder, 7);
  WRONG_PARAMS (level, 10);
  WRONG_PARAMS (level, -2);
  WRONG_PARAMS (threads, 0);
  WRONG_PARAMS (threads, -1);
  WRONG_PARAMS (driver, 7);
  WRONG_PARAMS (atomic, 2);
  WRONG_PARAMS (sync, -2);
  WRONG_PARAMS (sync, 2);
  WRONG_PARAMS (check, 2);
  WRONG_PARAMS (writers_per_node, 1025);
  WRONG_PARAMS (stripe_bytes, ((uint64_t) 1 << 32) + 1);
  WRONG_PARAMS (stripe_count, 2001);
  WRONG_PARAMS (seal, 2);
  WRONG_PARAMS (verify, -1);
}

static void writing (int check) {
  const size_t too_long = SCDA_USER_STRING_BYTES + 1, nothing = 0;
  uint64_t *const wrong_Nq = (uint64_t *) calloc (2 * (size_t) g.size, sizeof *wrong_Nq), *const wrong_Sq = wrong_Nq + g.size;
  const uint64_t Ei[3] = {1, 0, 4}, huge[3] = {(uint64_t) 1 << 63, (uint64_t) 1 << 63, 5};
  const void *const pointers[3] = {text, NULL, text};
  const void *const not_on_last = g.rank == last ? NULL : (const void *) text;

  /* Collective arguments: seen by all, at once. */
  open_writer (check), WRONG (SCDA_ERR_ARG, scda_fwrite_inline (f, text, "x", NULL, -1, &err));
  open_writer (check), WRONG (SCDA_ERR_ARG, scda_fwrite_inline (f, text, "x", NULL, g.size, &err));
  open_writer (check), WRONG (SCDA_ERR_ARG, scda_fwrite_inline (f, text, text, &too_long, 0, &err));
  open_writer (check), WRONG (SCDA_ERR_ARG, scda_fwrite_inline (f, text, NULL, NULL, 0, &err));
  open_writer (check), WRONG (SCDA_ERR_ARG, scda_fwrite_block (f, text, 3, "x", NULL, g.size, 0, &err));
  open_writer (check), WRONG (SCDA_ERR_ARG, scda_fwrite_block (f, text, 3, "x", NULL, 0, 3, &err));
  open_writer (check), WRONG (SCDA_ERR_ARG, scda_fwrite_block (f, text, 3, "x", NULL, 0, -1, &err));
  open_writer (check), WRONG (SCDA_ERR_ARG, scda_fwrite_array (f, text, NULL, 3, 0, "x", NULL, 0, &err));
  open_writer (check), WRONG (SCDA_ERR_ARG, scda_fwrite_array (f, text, three, 3, 0, "x", NULL, 3, &err));
  open_writer (check), WRONG (SCDA_ERR_ARG, scda_fwrite_array (f, text, three, 3, 0, NULL, NULL, 0, &err));
  open_writer (check), WRONG (SCDA_ERR_ARG, scda_fwrite_varray (f, text, NULL, Ei, NULL, 0, "x", NULL, 0, &err));
  open_writer (check), WRONG (SCDA_ERR_ARG, scda_fwrite_varray (f, text, three, Ei, NULL, 0, "x", NULL, -7, &err));

  /* What exceeds 63 bits: the size, the product, the sum, the length of the file. */
  for (int encode = 0; encode < 3; ++encode) {
    open_writer (check), WRONG (SCDA_ERR_RANGE, scda_fwrite_block (f, text, UINT64_MAX, "x", NULL, 0, encode, &err));
    open_writer (check), WRONG (SCDA_ERR_RANGE, scda_fwrite_block (f, text, (uint64_t) 1 << 63, "x", NULL, 0, encode, &err));
    wrong_Nq[0] = (uint64_t) 1 << 62;
    open_writer (check), WRONG (SCDA_ERR_RANGE, scda_fwrite_array (f, text, wrong_Nq, 4, 0, "x", NULL, encode, &err));
    wrong_Nq[0] = 5, wrong_Nq[last] = UINT64_MAX;
    open_writer (check), WRONG (SCDA_ERR_RANGE, scda_fwrite_array (f, text, wrong_Nq, 1, 0, "x", NULL, encode, &err));
    open_writer (check), WRONG (SCDA_ERR_RANGE, scda_fwrite_varray (f, text, wrong_Nq, Ei, NULL, 0, "x", NULL, encode, &err));
    wrong_Nq[0] = wrong_Nq[last] = 0;
    open_writer (check), WRONG_LATER (SCDA_ERR_RANGE, scda_fwrite_varray (f, text, three, huge, NULL, 0, "x", NULL, encode, &err));
  }
  open_writer (check), WRONG (SCDA_ERR_RANGE, scda_fwrite_block (f, text, INT64_MAX, "x", NULL, 0, 0, &err));

  /* What one rank knows. */
  open_writer (check), WRONG_LATER (SCDA_ERR_ARG, scda_fwrite_inline (f, not_on_last, "x", NULL, last, &err));
  for (int encode = 0; encode < 3; ++encode) {
    open_writer (check), WRONG_LATER (SCDA_ERR_ARG, scda_fwrite_block (f, not_on_last, 9, "x", NULL, last, encode, &err));
    open_writer (check), WRONG_LATER (SCDA_ERR_ARG, scda_fwrite_array (f, not_on_last, three, 4, 0, "x", NULL, encode, &err));
    open_writer (check), WRONG_LATER (SCDA_ERR_ARG, scda_fwrite_array (f, pointers, three, 4, 1, "x", NULL, encode, &err));
    open_writer (check), WRONG_LATER (SCDA_ERR_ARG, scda_fwrite_varray (f, not_on_last, three, Ei, NULL, 0, "x", NULL, encode, &err));
    open_writer (check), WRONG_LATER (SCDA_ERR_ARG, scda_fwrite_varray (f, text, three, g.rank == last ? NULL : Ei, NULL, 0, "x",
                                                                        NULL, encode, &err));
    for (int p = 0; p < g.size; ++p) { wrong_Sq[p] = 5; }
    wrong_Sq[last] = 6;
    open_writer (check), WRONG_LATER (SCDA_ERR_ARG, scda_fwrite_varray (f, text, three, Ei, wrong_Sq, 0, "x", NULL, encode, &err));
    /* The same in a section that is larger than any buffer. */
    const uint64_t much = (uint64_t) 9 << 20;
    char *large = (char *) calloc (1, (size_t) much);
    open_writer (check), WRONG_LATER (SCDA_ERR_ARG, scda_fwrite_array (f, g.rank == last ? NULL : large, Nq, much, 0, "x", NULL,
                                                                       encode, &err));
    free (large);
  }
  if (check) { /* asked to check, the library tells at once */
    open_writer (1), WRONG (SCDA_ERR_ARG, scda_fwrite_inline (f, not_on_last, "x", NULL, last, &err));
    open_writer (1), WRONG (SCDA_ERR_ARG, scda_fwrite_array (f, not_on_last, three, 4, 0, "x", NULL, 0, &err));
  }
  /* A flush surfaces it as well. */
  open_writer (check), err = 0, f = scda_fwrite_inline (f, not_on_last, "x", NULL, last, &err);
  if (f != NULL) { WRONG (SCDA_ERR_ARG, scda_fflush (f, &err)); }
  CHECK (err == SCDA_ERR_ARG);

  /* None of these is an error: nothing to write needs no data. */
  open_writer (check);
  RIGHT (scda_fwrite_block (f, NULL, 0, NULL, &nothing, 0, 0, &err));
  RIGHT (scda_fwrite_block (f, NULL, 0, "x", NULL, 0, 1, &err));
  RIGHT (scda_fwrite_array (f, NULL, three, 0, 0, "x", NULL, 0, &err));
  RIGHT (scda_fwrite_array (f, NULL, wrong_Nq, 8, 1, "x", NULL, 1, &err));
  RIGHT (scda_fwrite_varray (f, NULL, wrong_Nq, NULL, NULL, 0, "x", NULL, 0, &err));
  RIGHT (scda_fwrite_varray (f, text, three, Ei, NULL, 0, "x", NULL, 0, NULL) ? (err = 0, f) : NULL);
  REQUIRE (scda_fclose (f, NULL) == 0);
  free (wrong_Nq);
}

static void reading (int check) {
  char data[200], *pointers[3] = {data, NULL, data + 100};
  uint64_t *wrong = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *wrong), Ei[3];
  for (int p = 0; p < g.size; ++p) { wrong[p] = 3 + (p == last); }

  open_data (at_inline, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_inline_data (f, data, -1, &err));
  open_data (at_inline, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_inline_data (f, data, g.size, &err));
  open_data (at_block, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_block_data (f, data, 11, 0, &err));
  open_data (at_block, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_block_data (f, data, 10, g.size, &err));
  open_data (at_encoded, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_block_data (f, data, 33, 0, &err));
  open_data (at_array, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_array_data (f, data, three, 5, 0, &err));
  open_data (at_array, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_array_data (f, data, wrong, 4, 0, &err));
  open_data (at_array, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_array_data (f, data, NULL, 4, 0, &err));
  open_data (at_varray, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_varray_sizes (f, Ei, wrong, &err));
  open_data (at_varray, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_varray_sizes (f, Ei, NULL, &err));
  wrong[last] = UINT64_MAX;
  open_data (at_array, check), WRONG_READ (any_error, scda_fread_array_data (f, data, wrong, 4, 0, &err));

  open_data (at_varray, check);
  RIGHT (scda_fread_varray_sizes (f, Ei, three, &err));
  if (g.rank == last) { Ei[1] += 1; }
  WRONG_READ (SCDA_ERR_ARG, scda_fread_varray_data (f, data, three, Ei, NULL, 0, &err));
  open_data (at_varray, check);
  RIGHT (scda_fread_varray_sizes (f, NULL, three, &err));
  WRONG_READ (SCDA_ERR_ARG, scda_fread_varray_data (f, data, three, g.rank == last ? NULL : Ei, NULL, 0, &err));

  /* An element without a pointer is skipped. */
  memset (data, '?', sizeof data);
  open_data (at_array, check);
  RIGHT (scda_fread_array_data (f, pointers, three, 4, 1, &err));
  CHECK (memcmp (data, text, 4) == 0 && memcmp (data + 100, text + 8, 4) == 0 && data[4] == '?');
  REQUIRE (scda_fclose (f, &err) == 0);
  /* A file may be closed anywhere. */
  open_data (at_block, check);
  CHECK (scda_fclose (f, &err) == 0 && err == 0);
  free (wrong);
}

/* Sealed files, sections by number and name, ranges. */
static void sealed (int check) {
  const size_t too_long = SCDA_USER_STRING_BYTES + 1;
  const int bad = g.rank == last; /* what only one rank has wrong */
  char data[200], *pointers[3] = {data, NULL, data + 100};
  uint64_t Ei[3] = {1, 0, 4}, number = 77;
  int found;

  open_writer (check), WRONG (SCDA_ERR_USAGE, scda_fcommit (f, &err)); /* without params.seal */
  open_reader (0, check), WRONG_READ (SCDA_ERR_USAGE, scda_fcommit (f, &err));
  open_writer (check), WRONG (SCDA_ERR_USAGE, scda_frefresh (f, &found, &err));
  open_writer (check), WRONG (SCDA_ERR_USAGE, scda_fsections (f, &number, &err));
  open_writer (check), WRONG (SCDA_ERR_USAGE, scda_fseek (f, 0, &err));
  open_writer (check), WRONG (SCDA_ERR_USAGE, scda_ffind (f, "x", NULL, 0, &found, &number, &err));
  open_writer (check), WRONG (SCDA_ERR_USAGE, scda_fread_block_range (f, data, 0, 1, &err));
  open_writer (check), WRONG (SCDA_ERR_USAGE, scda_fread_array_range (f, data, 0, 1, 4, 0, &err));
  open_writer (check), WRONG (SCDA_ERR_USAGE, scda_fread_varray_sizes_range (f, Ei, 0, 1, &err));
  open_writer (check), WRONG (SCDA_ERR_USAGE, scda_fread_varray_range (f, data, 0, 1, Ei, 0, &err));

  open_reader (0, check), WRONG_READ (SCDA_ERR_ARG, scda_fseek (f, 5, &err));
  open_data (at_array, check), WRONG_READ (SCDA_ERR_ARG, scda_fseek (f, UINT64_MAX, &err));
  open_reader (0, check), WRONG_READ (SCDA_ERR_ARG, scda_ffind (f, NULL, NULL, 0, &found, &number, &err));
  open_reader (0, check), WRONG_READ (SCDA_ERR_ARG, scda_ffind (f, text, &too_long, 0, &found, &number, &err));
  open_reader (0, check), WRONG_READ (SCDA_ERR_ARG, scda_ffind (f, bad ? NULL : "array", NULL, 0, &found, &number, &err));

  /* A wrong range on one rank. */
  open_data (at_block, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_block_range (f, data, 2, 8 + (uint64_t) bad, &err));
  open_data (at_block, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_block_range (f, NULL, 10 + (uint64_t) bad, 0, &err));
  open_data (at_block, check), WRONG_READ (SCDA_ERR_RANGE, scda_fread_block_range (f, NULL, bad ? UINT64_MAX : 0, 1, &err));
  open_data (at_encoded, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_block_range (f, data, 32, bad, &err));
  const uint64_t all = 3 * (uint64_t) g.size, at = all - 1;
  open_data (at_array, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_array_range (f, data, at, bad ? 2 : 1, 4, 0, &err));
  open_data (at_array, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_array_range (f, NULL, all + (uint64_t) bad, 0, 4, 0, &err));
  open_data (at_array, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_array_range (f, data, 0, 1, bad ? 5 : 4, 0, &err));
  open_data (at_array, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_array_range (f, data, 0, 1, 5, 0, &err));
  open_data (at_array, check), WRONG_READ (SCDA_ERR_RANGE, scda_fread_array_range (f, NULL, 2, bad ? UINT64_MAX : 0, 4, 0, &err));
  open_data (at_array, check), WRONG_READ (SCDA_ERR_RANGE, scda_fread_array_range (f, data, 2, bad ? UINT64_MAX / 4 : 1, 4, 0, &err));
  open_data (at_varray, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_varray_sizes_range (f, Ei, at, bad ? 2 : 1, &err));
  open_data (at_varray, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_varray_sizes_range (f, NULL, all, (uint64_t) bad, &err));
  open_data (at_varray, check), WRONG_READ (SCDA_ERR_RANGE, scda_fread_varray_sizes_range (f, NULL, bad ? UINT64_MAX : 0, 1, &err));
  open_data (at_varray, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_varray_range (f, data, 0, 3, bad ? NULL : Ei, 0, &err));
  Ei[2] += (uint64_t) bad;
  open_data (at_varray, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_varray_range (f, data, 0, 3, Ei, 0, &err));
  open_data (at_varray, check), WRONG_READ (SCDA_ERR_ARG, scda_fread_varray_range (f, pointers, 0, 3, Ei, 1, &err));
  Ei[2] -= (uint64_t) bad;
  open_data (at_varray, check), WRONG_READ (SCDA_ERR_RANGE, scda_fread_varray_range (f, NULL, bad ? UINT64_MAX : 0, 1, NULL, 0, &err));

  /* Other sections than the current one. */
  for (int k = at_inline; k < at_end; ++k) {
    if (k != at_block && k != at_encoded) { open_data (k, check), WRONG_READ (SCDA_ERR_USAGE, scda_fread_block_range (f, data, 0, 0, &err)); }
    if (k != at_array) { open_data (k, check), WRONG_READ (SCDA_ERR_USAGE, scda_fread_array_range (f, data, 0, 0, 4, 0, &err)); }
    if (k != at_varray) { open_data (k, check), WRONG_READ (SCDA_ERR_USAGE, scda_fread_varray_sizes_range (f, Ei, 0, 0, &err)); }
    if (k != at_varray) { open_data (k, check), WRONG_READ (SCDA_ERR_USAGE, scda_fread_varray_range (f, NULL, 0, 0, Ei, 0, &err)); }
    open_reader (k, check), WRONG_READ (SCDA_ERR_USAGE, scda_fread_block_range (f, data, 0, 0, &err));
    open_reader (k, check), WRONG_READ (SCDA_ERR_USAGE, scda_fread_varray_range (f, NULL, 0, 0, NULL, 0, &err));
  }

  /* None of these is an error. */
  open_data (at_array, check);
  memset (data, '?', sizeof data);
  RIGHT (scda_fread_array_range (f, pointers, 0, 3, 4, 1, &err)); /* an element without a pointer is skipped */
  CHECK (memcmp (data, text, 4) == 0 && memcmp (data + 100, text + 8, 4) == 0 && data[4] == '?');
  RIGHT (scda_fread_array_range (f, NULL, 3, 0, 4, 1, &err));
  RIGHT (scda_fsections (f, NULL, &err));
  RIGHT (scda_frefresh (f, NULL, &err));
  RIGHT (scda_ffind (f, "encoded", NULL, -1, NULL, &number, &err));
  CHECK (number == at_encoded);
  RIGHT (scda_fread_array_data (f, NULL, three, 4, 0, &err)); /* it is still the current section */
  RIGHT (scda_fseek (f, number, &err));
  RIGHT (scda_ffind (f, "encoded", NULL, 1, &found, &number, NULL) ? (err = 0, f) : NULL);
  CHECK (found == 0 && number == at_encoded);
  REQUIRE (scda_fclose (f, &err) == 0);
}

static void order (void) {
  char data[200], type;
  uint64_t N, E, Ei[3] = {0};
  const uint64_t written[3] = {1, 0, 4};
#define HEADER scda_fread_section_header (f, &type, &N, &E, NULL, NULL, NULL, &err)
  for (int k = at_inline; k < at_end; ++k) {
    open_data (k, 0), WRONG_READ (SCDA_ERR_USAGE, HEADER);
    open_reader (k, 0), WRONG_READ (SCDA_ERR_USAGE, scda_fread_inline_data (f, data, 0, &err));
    open_reader (k, 0), WRONG_READ (SCDA_ERR_USAGE, scda_fread_block_data (f, data, 10, 0, &err));
    open_reader (k, 0), WRONG_READ (SCDA_ERR_USAGE, scda_fread_array_data (f, data, three, 4, 0, &err));
    open_reader (k, 0), WRONG_READ (SCDA_ERR_USAGE, scda_fread_varray_sizes (f, Ei, three, &err));
    open_reader (k, 0), WRONG_READ (SCDA_ERR_USAGE, scda_fread_varray_data (f, data, three, Ei, NULL, 0, &err));
    if (k != at_inline) { open_data (k, 0), WRONG_READ (SCDA_ERR_USAGE, scda_fread_inline_data (f, data, 0, &err)); }
    if (k != at_block && k != at_encoded) {
      open_data (k, 0), WRONG_READ (SCDA_ERR_USAGE, scda_fread_block_data (f, data, 10, 0, &err));
    }
    if (k != at_array) { open_data (k, 0), WRONG_READ (SCDA_ERR_USAGE, scda_fread_array_data (f, data, three, 4, 0, &err)); }
    if (k != at_varray) { open_data (k, 0), WRONG_READ (SCDA_ERR_USAGE, scda_fread_varray_sizes (f, Ei, three, &err)); }
    open_data (k, 0), WRONG_READ (SCDA_ERR_USAGE, scda_fread_varray_data (f, data, three, written, NULL, 0, &err)); /* no sizes */
  }
  open_data (at_varray, 0);
  RIGHT (scda_fread_varray_sizes (f, NULL, three, &err));
  WRONG_READ (SCDA_ERR_USAGE, HEADER);

  open_reader (0, 0), WRONG_READ (SCDA_ERR_USAGE, scda_fwrite_inline (f, text, "x", NULL, 0, &err));
  open_reader (0, 0), WRONG_READ (SCDA_ERR_USAGE, scda_fwrite_block (f, text, 3, "x", NULL, 0, 0, &err));
  open_reader (0, 0), WRONG_READ (SCDA_ERR_USAGE, scda_fwrite_array (f, text, three, 4, 0, "x", NULL, 0, &err));
  open_reader (0, 0), WRONG_READ (SCDA_ERR_USAGE, scda_fwrite_varray (f, text, three, written, NULL, 0, "x", NULL, 0, &err));
  open_reader (0, 0), WRONG_READ (SCDA_ERR_USAGE, scda_fflush (f, &err));
  open_writer (0), WRONG (SCDA_ERR_USAGE, HEADER);
  open_writer (0), WRONG (SCDA_ERR_USAGE, scda_fread_inline_data (f, data, 0, &err));
  open_writer (0), WRONG (SCDA_ERR_USAGE, scda_fread_block_data (f, data, 3, 0, &err));
  open_writer (0), WRONG (SCDA_ERR_USAGE, scda_fread_array_data (f, data, three, 4, 0, &err));
  open_writer (0), WRONG (SCDA_ERR_USAGE, scda_fread_varray_sizes (f, Ei, three, &err));
  open_writer (0), WRONG (SCDA_ERR_USAGE, scda_fread_varray_data (f, data, three, Ei, NULL, 0, &err));
}

static void end_of_file (void) {
  char type;
  open_reader (at_end - 1, 0);
  CHECK (!info_of (f).at_end);
  skip_section (), skip_section (); /* raw, the encoded section is two */
  CHECK (info_of (f).at_end);
  for (int i = 0; i < 2; ++i) {
    err = 0;
    f = scda_fread_section_header (f, &type, NULL, NULL, NULL, NULL, NULL, &err);
    REQUIRE (f != NULL && err == SCDA_ERR_EOF);
    CHECK (strstr (scda_last_error_message (), "end of file") != NULL);
  }
  WRONG_READ (SCDA_ERR_USAGE, scda_fread_block_data (f, NULL, 0, 0, &err));
  open_reader (at_end - 1, 0), skip_section (), skip_section ();
  CHECK (scda_fclose (f, &err) == 0 && err == 0);
}

/* NULL passes an error on, and is one where none is passed; what is not open is an error of this call. */
#define DEAD(call)                                                                                     \
  do {                                                                                                 \
    for (int k = 0; k < 3; ++k) {                                                                      \
      const int before = k == 0 ? 0 : k == 1 ? SCDA_ERR_EOF : SCDA_ERR_NO_SUCH_FILE;                    \
      err = before;                                                                                    \
      CHECK ((call) == NULL);                                                                          \
      CHECK (err == (f != NULL ? SCDA_ERR_USAGE : k == 2 ? before : SCDA_ERR_ARG));                     \
    }                                                                                                  \
  } while (0)

/* A context that is no more, or never was. */
static void dead_contexts (void) {
  static uint64_t never[512];
  scda_fcontext_t *dead[3] = {NULL, NULL, (scda_fcontext_t *) never};
  char data[200];
  uint64_t Ei[3] = {0};
  open_reader (0, 0), dead[1] = f;
  REQUIRE (scda_fclose (f, &err) == 0);
  for (int i = 0; i < 3; ++i) {
    f = dead[i];
    DEAD (scda_fwrite_inline (f, text, "x", NULL, 0, &err));
    DEAD (scda_fwrite_block (f, text, 3, "x", NULL, 0, 0, &err));
    DEAD (scda_fwrite_array (f, text, three, 4, 0, "x", NULL, 0, &err));
    DEAD (scda_fwrite_varray (f, text, three, Ei, NULL, 0, "x", NULL, 0, &err));
    DEAD (scda_fread_section_header (f, data, NULL, NULL, NULL, NULL, NULL, &err));
    DEAD (scda_fread_inline_data (f, data, 0, &err));
    DEAD (scda_fread_block_data (f, data, 3, 0, &err));
    DEAD (scda_fread_array_data (f, data, three, 4, 0, &err));
    DEAD (scda_fread_varray_sizes (f, Ei, three, &err));
    DEAD (scda_fread_varray_data (f, data, three, Ei, NULL, 0, &err));
    DEAD (scda_fflush (f, &err));
    DEAD (scda_proc_sizes (f, Ei, three, Ei, &err));
    DEAD (scda_proc_counts (f, 3, Nq, &err));
    DEAD (scda_refuse (f, "why", &err));
    DEAD (scda_fcommit (f, &err));
    DEAD (scda_frefresh (f, NULL, &err));
    DEAD (scda_fsections (f, Ei, &err));
    DEAD (scda_fseek (f, 0, &err));
    DEAD (scda_ffind (f, "x", NULL, 0, NULL, Ei, &err));
    DEAD (scda_fread_block_range (f, data, 0, 1, &err));
    DEAD (scda_fread_array_range (f, data, 0, 1, 4, 0, &err));
    DEAD (scda_fread_varray_sizes_range (f, Ei, 0, 1, &err));
    DEAD (scda_fread_varray_range (f, data, 0, 1, Ei, 0, &err));
    CHECK (!info_of (f).is_open && info_of (f).at_end && info_of (f).bytes == 0);
    err = 0;
    CHECK (scda_fclose (f, &err) != 0 && err == (f == NULL ? SCDA_ERR_ARG : SCDA_ERR_USAGE));
    CHECK (scda_fflush (f, NULL) == NULL);
  }
  f = NULL;
}

/* One check after several calls: the error and the message are those of the first one that failed. */
static void null_in_null_out (void) {
  uint64_t Ei[3] = {0};
  err = 0;
  f = scda_fopen_write (g.comm, "no/such/folder/file", "x", NULL, bare (), &err);
  CHECK (f == NULL && err == SCDA_ERR_NO_SUCH_FILE);
  const uint64_t message = hash (scda_last_error_message ());
  f = scda_fwrite_block (f, text, 3, "x", NULL, 0, 0, &err);
  f = scda_fwrite_array (f, text, three, 4, 0, "x", NULL, 0, &err);
  f = scda_fwrite_varray (f, text, three, Ei, NULL, 0, "x", NULL, 0, &err);
  CHECK (scda_stream_write (f, text, 1, &err) == -1);
  CHECK (scda_fclose (f, &err) == -1 && err == SCDA_ERR_NO_SUCH_FILE);
  CHECK (hash (scda_last_error_message ()) == message);
}

/* A program that was compiled with an older or newer header. */
static void other_versions (void) {
  struct {
    scda_params_t params;
    uint64_t newer[2];
  } p;
  const size_t older = offsetof (scda_params_t, seal);
  memset (&p, 0xff, sizeof p);
  CHECK (scda_params_init_size (&p.params, older) == 0 && p.params.size == older && p.params.seal == -1);
  RIGHT (scda_fopen_write (g.comm, path, "older", NULL, &p.params, &err));
  RIGHT (scda_fwrite_inline (f, text, "x", NULL, 0, &err));
  CHECK (scda_fclose (f, &err) == 0);
  CHECK (scda_params_init_size (&p.params, sizeof p) == 0 && p.newer[0] == 0 && p.newer[1] == 0);
  CHECK (p.params.size == sizeof p && scda_params_init_size (&p.params, 3) != 0 && scda_params_init_size (NULL, older) != 0);
  RIGHT (scda_fopen_read (g.comm, path, NULL, NULL, &p.params, &err));
  CHECK (scda_fclose (f, &err) == 0);
  CHECK (scda_params_init_size (&p.params, older + 2) != 0); /* within a member */
  p.params.size = older + 2;
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, "between", NULL, &p.params, &err));
  CHECK (strstr (scda_last_error_message (), "size of params: found") != NULL);
  CHECK (scda_params_init_size (&p.params, sizeof p) == 0);
  p.newer[1] = UINT64_C (1) << 63;
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, "newer", NULL, &p.params, &err));
  CHECK (strstr (scda_last_error_message (), "newer libscda") != NULL);
}

/* ---- ranks that disagree: rank 0 against the others ---- */

/* At once if the library has been asked to check, else when the ranks next meet: at the latest, on closing. */
#define DISAGREE(want, call) (err = -99, f = (call), disagree (__LINE__, #call, want, path, check))
#define DISAGREE_READ(want, call) (err = -99, f = (call), disagree (__LINE__, #call, want, good, check))

static scda_fcontext_t *close_it (void) {
  CHECK (scda_fclose (f, &err) != 0);
  return NULL;
}

static void disagree (int line, const char *call, int want, const char *filename, int check) {
  if (check) { verdict (line, call, want, filename); }
  else { later (line, call, want, filename); }
}

static void disagreement (int check) {
  const int odd = g.rank == 0, wrong = SCDA_ERR_ARG;
  const uint64_t Ei[4] = {1, 0, 4, 0};
  char data[200];
  int decode;
  memcpy (Nq, three, (size_t) g.size * sizeof *Nq);
  if (odd) { Nq[0] = 4, Nq[last] = 2; }

  open_writer (check), DISAGREE (wrong, scda_fwrite_block (f, text, odd ? 9 : 10, "x", NULL, 0, 0, &err));
  open_writer (check), DISAGREE (wrong, scda_fwrite_block (f, text, odd ? 2 : 40, "x", NULL, 0, 0, &err));
  open_writer (check), DISAGREE (wrong, scda_fwrite_array (f, text, three, odd ? 4 : 5, 0, "x", NULL, 0, &err));
  open_writer (check), DISAGREE (wrong, scda_fwrite_inline (f, text, "x", NULL, odd, &err));
  open_writer (check), DISAGREE (wrong, scda_fwrite_inline (f, text, odd ? "x" : "y", NULL, 0, &err));
  open_writer (check), DISAGREE (wrong, scda_fwrite_inline (f, text, odd ? "x" : "xx", NULL, 0, &err));
  open_writer (check), DISAGREE (wrong, scda_fwrite_inline (f, text, "x", NULL, odd ? -1 : 0, &err));
  open_writer (check), DISAGREE (wrong, scda_fwrite_block (f, text, 3, "x", NULL, odd, 0, &err));
  open_writer (check), DISAGREE (wrong, scda_fwrite_block (f, text, 3, "x", NULL, 0, odd, &err));
  open_writer (check), DISAGREE (wrong, scda_fwrite_block (f, text, 3, odd ? "x" : "y", NULL, 0, 0, &err));
  open_writer (check), DISAGREE (any_error, scda_fwrite_block (f, text, odd ? UINT64_MAX : 3, "x", NULL, 0, 0, &err));
  open_writer (check), DISAGREE (wrong, scda_fwrite_array (f, text, Nq, 4, 0, "x", NULL, 0, &err));
  open_writer (check), DISAGREE (wrong, scda_fwrite_array (f, text, odd ? NULL : Nq, 4, 0, "x", NULL, 0, &err));
  open_writer (check), DISAGREE (wrong, scda_fwrite_array (f, text, three, 4, 0, "x", NULL, odd ? 2 : 0, &err));
  open_writer (check), DISAGREE (wrong, scda_fwrite_varray (f, text, Nq, Ei, NULL, 0, "x", NULL, 0, &err));
  open_writer (check), DISAGREE (wrong, scda_fwrite_varray (f, text, three, Ei, NULL, 0, "x", NULL, odd, &err));

  /* One rank has more than any buffer holds, and writes at once. */
  const uint64_t much = (uint64_t) 9 << 20;
  char *large = (char *) calloc (1, 3 * (size_t) much);
  open_writer (check), DISAGREE (wrong, scda_fwrite_block (f, large, odd ? much : 9, "x", NULL, 0, 0, &err));
  open_writer (check), DISAGREE (wrong, scda_fwrite_array (f, large, three, odd ? much : 9, 0, "x", NULL, 0, &err));
  open_writer (check), DISAGREE (wrong, scda_fwrite_array (f, large, three, odd ? 9 : much, 0, "x", NULL, 0, &err));
  open_writer (check), DISAGREE (any_error, odd ? scda_fwrite_array (f, large, three, much, 0, "x", NULL, 0, &err)
                                                : scda_fwrite_inline (f, text, "x", NULL, 0, &err));
  free (large);

  /* Different functions. */
  open_writer (check), DISAGREE (any_error, odd ? scda_fwrite_inline (f, text, "x", NULL, 0, &err)
                                                : scda_fwrite_block (f, text, 32, "x", NULL, 0, 0, &err));
  open_writer (check), DISAGREE (any_error, odd ? scda_fwrite_array (f, text, three, 4, 0, "x", NULL, 0, &err)
                                                : scda_fwrite_varray (f, text, three, Ei, NULL, 0, "x", NULL, 0, &err));
  open_writer (check), DISAGREE (any_error, odd ? scda_fflush (f, &err) : scda_fwrite_inline (f, text, "x", NULL, 0, &err));
  CHECK (!check || strstr (scda_last_error_message (), "rank 0 calls scda_fflush, rank 1 scda_fwrite_inline") != NULL);
  open_writer (check), DISAGREE (any_error, odd ? close_it () : scda_fwrite_inline (f, text, "x", NULL, 0, &err));
  CHECK (!check || strstr (scda_last_error_message (), "rank 0 calls scda_fclose, rank 1 scda_fwrite_inline") != NULL);
  open_writer (check), DISAGREE (any_error, odd ? scda_fread_inline_data (f, data, 0, &err)
                                                : scda_fwrite_inline (f, text, "x", NULL, 0, &err));

  open_reader (0, check), DISAGREE_READ (wrong, scda_fseek (f, odd ? 1 : 2, &err));
  open_reader (0, check), DISAGREE_READ (wrong, scda_fseek (f, odd ? 1 : 77, &err));
  open_reader (0, check), DISAGREE_READ (wrong, scda_ffind (f, odd ? "array" : "block", NULL, 0, NULL, NULL, &err));
  open_reader (0, check), DISAGREE_READ (wrong, scda_ffind (f, odd ? NULL : "block", NULL, 0, NULL, NULL, &err));
  open_reader (0, check), DISAGREE_READ (wrong, scda_ffind (f, "block", NULL, odd, NULL, NULL, &err));
  open_reader (0, check), DISAGREE_READ (wrong, odd ? scda_fseek (f, 1, &err) : scda_fsections (f, NULL, &err));
  open_data (at_array, check), DISAGREE_READ (any_error, odd ? scda_fread_array_range (f, data, 0, 3, 4, 0, &err)
                                                        : scda_fread_array_data (f, data, three, 4, 0, &err));
  open_data (at_array, check), DISAGREE_READ (any_error, odd ? scda_fread_array_range (f, data, 0, 3, 4, 0, &err) : scda_fseek (f, 0, &err));

  open_reader (at_encoded, check), decode = odd;
  DISAGREE_READ (wrong, scda_fread_section_header (f, NULL, NULL, NULL, NULL, NULL, &decode, &err));
  open_data (at_block, check), DISAGREE_READ (wrong, scda_fread_block_data (f, data, 10, odd, &err));
  open_data (at_block, check), DISAGREE_READ (wrong, scda_fread_block_data (f, data, odd ? 9 : 10, 0, &err));
  open_data (at_array, check), DISAGREE_READ (wrong, scda_fread_array_data (f, data, Nq, 4, 0, &err));
  open_data (at_array, check), DISAGREE_READ (wrong, scda_fread_array_data (f, data, three, odd ? 5 : 4, 0, &err));
  open_data (at_array, check), DISAGREE_READ (any_error, odd ? scda_fread_inline_data (f, data, 0, &err)
                                                        : scda_fread_array_data (f, data, three, 4, 0, &err));
  open_reader (at_array, check), DISAGREE_READ (any_error, odd ? scda_fread_array_data (f, data, three, 4, 0, &err)
                                                          : scda_fread_section_header (f, NULL, NULL, NULL, NULL, NULL, NULL, &err));
}

static void open_disagreement (void) {
  const int odd = g.rank == 0;
  char user[SCDA_USER_STRING_BYTES + 1] = "x", own[1300];
  scda_params_t params = default_params ();
  params.check = 1;
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, odd ? "x" : "y", NULL, &params, &err));
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, odd ? NULL : "y", NULL, &params, &err));
  snprintf (own, sizeof own, "%s.%d", path, odd);
  err = -99, f = scda_fopen_write (g.comm, own, "x", NULL, &params, &err);
  verdict (__LINE__, "different file names", SCDA_ERR_ARG, NULL);
  params.seal = odd;
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, "x", NULL, &params, &err));
  WRONG_READ (SCDA_ERR_ARG, scda_fopen_append (g.comm, good, NULL, NULL, &params, &err));
  params.seal = 0, params.verify = odd;
  WRONG_READ (SCDA_ERR_ARG, scda_fopen_read (g.comm, good, NULL, NULL, &params, &err));
  /* What is for reading is not accepted for writing, nor what is for appending where a file is created. */
  params = default_params (), params.verify = 1;
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, "x", NULL, &params, &err));
  WRONG_READ (SCDA_ERR_ARG, scda_fopen_append (g.comm, good, NULL, NULL, &params, &err));
  params = default_params (), params.to_seal = 0;
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, "x", NULL, &params, &err));
  params = default_params (), params.cache_bytes = 0;
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, "x", NULL, &params, &err));
  params = default_params (), params.append_after = 1;
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, "x", NULL, &params, &err));
  params = default_params (), params.check = 1;
  params.linebreak = odd;
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, "x", NULL, &params, &err));
  params = default_params (), params.check = odd;
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, "x", NULL, &params, &err));
  params = default_params (), params.aggregation_bytes = odd ? 0 : 1 << 20;
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, "x", NULL, &params, &err));
  params = default_params (), params.driver = odd ? driver_mpiio : SCDA_DRIVER_POSIX;
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, "x", NULL, &params, &err));
  params = default_params (), params.level = odd ? 77 : 6;
  WRONG (SCDA_ERR_ARG, scda_fopen_write (g.comm, path, "x", NULL, &params, &err));
  err = -99, f = odd ? scda_fopen (g.comm, good, "r", user, NULL, &err) : scda_fopen (g.comm, path, "w", user, NULL, &err);
  verdict (__LINE__, "different modes", any_error, NULL);
  WRONG_READ (any_error, scda_fopen (g.comm, good, odd ? "r" : "a", user, NULL, &err));
}

/* ---- one rank alone, in a program that communicates between its calls ---- */

static void met (int line, const char *call) {
  const int told = err;
  scda_fcontext_t *open = f;
  f = NULL;
  barrier (g); /* of the program, not of the library */
  CHECK ((open == NULL) == (told != 0));
  if (open != NULL) {
    err = -99;
    CHECK (scda_fclose (open, &err) != 0);
  }
  verdict (line, call, SCDA_ERR_ARG, NULL);
}

#define ALONE(call) (err = -99, f = (call), met (__LINE__, #call))

/* What a binding for another language has found wrong on one rank reaches all of them, in its words. */
static void refused (int bad, int check, int large) {
  static const char *const words = "data: found 3 values, expected 12 (\xce\xb1)";
  const int wrong = g.rank == bad;
  char data[200];
  scda_params_t params = default_params ();
  params.check = check;
  if (large) { params.aggregation_bytes = 0; }
  for (int way = 0; way < 5; ++way) {
    if (way < 4) { RIGHT (scda_fopen_write (g.comm, path, "refused", NULL, &params, &err)); }
    else { open_data (at_array, check); }
    if (wrong) {
      RIGHT (scda_refuse (f, words, &err));
      RIGHT (scda_refuse (f, "a second error", &err));
    }
    uint64_t *wrong_Nq = wrong ? NULL : three;
    switch (way) {
      case 0: ALONE (scda_fwrite_array (f, wrong ? NULL : text, three, 4, 0, "x", NULL, 0, &err)); break;
      case 1: ALONE (scda_fwrite_array (f, text, three, 4, 0, "x", NULL, SCDA_ENCODE_AUTO, &err)); break;
      case 2: WRONG_LATER (SCDA_ERR_ARG, scda_fwrite_array (f, text, wrong_Nq, 4, 0, "x", NULL, 0, &err)); break;
      case 3: ALONE (scda_fflush (f, &err)); break;
      default: ALONE (scda_fread_array_data (f, wrong ? NULL : data, three, 4, 0, &err)); break;
    }
    CHECK (strstr (scda_last_error_message (), words) != NULL);
    CHECK (info_of (NULL).failed_rank == (g.size > 1 ? bad : -1));
  }
  RIGHT (scda_fopen_write (g.comm, path, "refused", NULL, &params, &err));
  if (wrong) { RIGHT (scda_refuse (f, NULL, &err)); }
  ALONE (scda_fflush (f, &err));
  CHECK (strstr (scda_last_error_message (), "why is NULL") != NULL);
}

/* What is wrong on one rank does not keep it from returning. Small sections, large ones (every section, if nothing may
 * wait), and encoded ones. */
static void alone (int bad, int large, int encode) {
  const int wrong = g.rank == bad;
  uint64_t Ei[3] = {1, 0, 4}, sums[64];
  const char *pointers[3] = {text, text, wrong ? NULL : text};
  char data[200];
  char *out[3] = {data, data + 50, data + 100};
  scda_params_t params = default_params ();
  params.check = 0;
  if (large) { params.aggregation_bytes = 0; }
  REQUIRE (g.size <= 64);
#define OPEN RIGHT (scda_fopen_write (g.comm, path, "alone", NULL, &params, &err))
  if (encode == SCDA_ENCODE_NONE) { OPEN, ALONE (scda_fwrite_inline (f, wrong ? NULL : text, "x", NULL, bad, &err)); }
  OPEN, ALONE (scda_fwrite_block (f, wrong ? NULL : text, 10, "x", NULL, bad, encode, &err));
  OPEN, ALONE (scda_fwrite_array (f, wrong ? NULL : text, three, 4, 0, "x", NULL, encode, &err));
  OPEN, ALONE (scda_fwrite_array (f, wrong ? NULL : pointers, three, 4, 1, "x", NULL, encode, &err));
  OPEN, ALONE (scda_fwrite_array (f, pointers, three, 4, 1, "x", NULL, encode, &err));
  OPEN, ALONE (scda_fwrite_varray (f, wrong ? NULL : text, three, Ei, NULL, 0, "x", NULL, encode, &err));
  OPEN, ALONE (scda_fwrite_varray (f, text, three, wrong ? NULL : Ei, NULL, 0, "x", NULL, encode, &err));
  OPEN, ALONE (scda_fwrite_varray (f, pointers, three, Ei, NULL, 1, "x", NULL, encode, &err));
  for (int p = 0; p < g.size; ++p) { sums[p] = 5; }
  Ei[0] += (uint64_t) wrong;
  OPEN, ALONE (scda_fwrite_varray (f, text, three, Ei, sums, 0, "x", NULL, encode, &err));
  Ei[0] = 1;
  OPEN, ALONE (scda_proc_sizes (f, wrong ? NULL : Ei, three, sums, &err));
  OPEN, ALONE (scda_proc_sizes (f, Ei, three, wrong ? NULL : sums, &err));
  OPEN, ALONE (scda_proc_counts (f, 3, wrong ? NULL : sums, &err));
  open_data (at_varray, 0);
  RIGHT (scda_fread_varray_sizes (f, Ei, three, &err));
  ALONE (scda_fread_varray_data (f, data, three, wrong ? NULL : Ei, NULL, 0, &err));
  open_data (at_varray, 0);
  RIGHT (scda_fread_varray_sizes (f, Ei, three, &err));
  Ei[1] += (uint64_t) wrong;
  ALONE (scda_fread_varray_data (f, out, three, Ei, NULL, 1, &err));
  const uint64_t one = (uint64_t) wrong;
  open_reader (0, 0), ALONE (scda_ffind (f, wrong ? NULL : "array", NULL, 0, NULL, NULL, &err));
  open_data (at_block, 0), ALONE (scda_fread_block_range (f, data, 9, 1 + one, &err));
  open_data (at_array, 0), ALONE (scda_fread_array_range (f, out, 0, 3, 4 + one, 1, &err));
  open_data (at_varray, 0), ALONE (scda_fread_varray_sizes_range (f, Ei, 3 * (uint64_t) g.size - 1, 1 + one, &err));
  Ei[0] = 1, Ei[1] = 0, Ei[2] = 4;
  open_data (at_varray, 0), ALONE (scda_fread_varray_range (f, out, 0, 3, wrong ? NULL : Ei, 1, &err));
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 3);
  g = world ();
  last = g.size - 1;
  snprintf (path, sizeof path, "%s/wrong-%d.scda", argv[2], g.size);
  snprintf (good, sizeof good, "%s/good-%d.scda", argv[2], g.size);
  Nq = (uint64_t *) get_memory (2 * (uint64_t) g.size * sizeof *Nq);
  three = Nq + g.size;
  for (int p = 0; p < g.size; ++p) { Nq[p] = 1, three[p] = 3; }
  make_good_file ();
  if (strcmp (argv[1], "single") == 0) {
    strings_and_classes ();
    opening (argv[2]);
    writing (0);
    writing (1);
    reading (0);
    reading (1);
    sealed (0);
    sealed (1);
    order ();
    end_of_file ();
    refused (last, 0, 0);
    dead_contexts ();
    null_in_null_out ();
    other_versions ();
  } else if (strcmp (argv[1], "alone") == 0) {
    for (int bad = 0; bad < g.size; ++bad) {
      for (int way = 0; way < 4; ++way) { refused (bad, way / 2, way % 2); }
      for (int large = 0; large < 2; ++large) {
        for (int encode = SCDA_ENCODE_NONE; encode <= SCDA_ENCODE_AUTO; ++encode) { alone (bad, large, encode); }
      }
    }
  } else {
    REQUIRE (g.size > 1);
    disagreement (1);
    open_disagreement ();
    disagreement (0);
    by_environment = 1;
    if (g.rank == 0) { setenv ("SCDA_CHECK", "1", 1); }
    disagreement (1);
  }
  free (Nq);
  return finish ();
}
