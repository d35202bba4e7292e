/* A file system that says that it is Lustre: which requests the library makes there, in which order, and what it does when they are
 * refused. The program has these functions of the system itself, and the library calls them; what it opens is an ordinary file.
 *
 *   lustre FOLDER     in a new folder whose name has "/lustre/" in it; SCDA_NODE_RANKS=1 makes each rank a node */
#define _GNU_SOURCE
#include "common.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/statfs.h>

enum { lustre_magic = 0x0BD00BD0, delay_create = 0x01002100, no_answer = -1 };
enum { set_stripe = 0x4008669A, get_stripe = 0x4008669B, group_lock = 0x4008669E, group_unlock = 0x4008669F, clone = 0x40049409 };

/* What a layout is in the kernel's interface, without its objects. */
typedef struct {
  uint32_t magic, pattern;
  unsigned char of[16];
  uint32_t bytes;
  uint16_t count, first;
} layout_t;
enum { layout_magic = 0x0BD10BD0, composite_magic = 0x0BD60BD0 };

/* How the double answers. */
static struct {
  int refuse_overstriped, refuse_set, refuse_lock; /* an errno each, or 0 */
  uint32_t folder, root;                           /* the kind of layout that was set for the folder and for the file system; 0: none */
  uint32_t stripe_bytes;                           /* of a file that is asked for it; 0: as it was set */
} answer;

/* What was asked: letters, in order. O: opened without objects; o: opened with O_CREAT; S: a layout; P: one that may have several
 * stripes on a server; L, U: the group's lock, and given back. */
static char asked[64];
static layout_t last_layout;
static long last_group;
static int unknown; /* requests that Lustre does not know */

static void note (char what) {
  const size_t length = strlen (asked);
  if (length + 1 < sizeof asked) { asked[length] = what; }
}

static const char *name_of (int fd, char *name, size_t bytes) {
  char link[64];
  ssize_t n;
  snprintf (link, sizeof link, "/proc/self/fd/%d", fd);
  n = readlink (link, name, bytes - 1);
  name[n < 0 ? 0 : n] = '\0';
  return name;
}
static int is_lustre (const char *name) { return strstr (name, "/lustre/") != NULL; }
static int is_lustre_fd (int fd) {
  char name[4096];
  return is_lustre (name_of (fd, name, sizeof name));
}

#define NEXT(result, name, parameters)                                                                 \
  static result (*next) parameters;                                                                    \
  if (next == NULL) { *(void **) &next = dlsym (RTLD_NEXT, #name); }

#define OPENS(name)                                                                                    \
  int name (const char *path, int flags, ...) {                                                        \
    NEXT (int, name, (const char *, int, ...))                                                         \
    va_list arguments;                                                                                 \
    va_start (arguments, flags);                                                                       \
    const int mode = (flags & O_CREAT) != 0 ? va_arg (arguments, int) : 0;                             \
    va_end (arguments);                                                                                \
    if (is_lustre (path) && (flags & O_CREAT) != 0) { note ((flags & delay_create) == delay_create ? 'O' : 'o'); } \
    if ((flags & delay_create) == delay_create) { flags &= ~delay_create; }                            \
    return next (path, flags, mode);                                                                   \
  }
OPENS (open)
OPENS (open64)

#define OPENS_AT(name)                                                                                 \
  int name (int folder, const char *path, int flags, ...) {                                            \
    NEXT (int, name, (int, const char *, int, ...))                                                    \
    va_list arguments;                                                                                 \
    va_start (arguments, flags);                                                                       \
    const int mode = (flags & O_CREAT) != 0 ? va_arg (arguments, int) : 0;                             \
    va_end (arguments);                                                                                \
    if (is_lustre (path) && (flags & O_CREAT) != 0) { note ((flags & delay_create) == delay_create ? 'O' : 'o'); } \
    if ((flags & delay_create) == delay_create) { flags &= ~delay_create; }                            \
    return next (folder, path, flags, mode);                                                           \
  }
OPENS_AT (openat)
OPENS_AT (openat64)

#define STATFS(name, is_ours, first_t, result_t)                                                       \
  int name (first_t of, result_t *found) {                                                             \
    NEXT (int, name, (first_t, result_t *))                                                            \
    const int result = next (of, found);                                                               \
    if (result == 0 && is_ours (of)) { found->f_type = lustre_magic; }                                 \
    return result;                                                                                     \
  }
STATFS (statfs, is_lustre, const char *, struct statfs)
STATFS (statfs64, is_lustre, const char *, struct statfs64)
STATFS (fstatfs, is_lustre_fd, int, struct statfs)
STATFS (fstatfs64, is_lustre_fd, int, struct statfs64)

static int refuse (int error) {
  errno = error;
  return error == 0 ? 0 : -1;
}

static int answer_layout (int fd, layout_t *layout) {
  struct stat status;
  const uint32_t kind = is_lustre_fd (fd) ? answer.folder : answer.root;
  memset (layout, 0, sizeof *layout);
  if (fstat (fd, &status) == 0 && S_ISDIR (status.st_mode)) {
    if (kind == 0) { return refuse (ENODATA); }
    layout->magic = kind, layout->bytes = 1 << 20, layout->count = 4;
    return 0;
  }
  *layout = last_layout;
  layout->magic = layout_magic, layout->bytes = answer.stripe_bytes;
  return 0;
}

int ioctl (int fd, unsigned long request, ...) {
  NEXT (int, ioctl, (int, unsigned long, ...))
  va_list arguments;
  va_start (arguments, request);
  void *const argument = va_arg (arguments, void *);
  va_end (arguments);
  if (request == get_stripe) { return answer_layout (fd, (layout_t *) argument); }
  if (!is_lustre_fd (fd)) { return next (fd, request, argument); }
  switch (request) {
  case set_stripe:
    memcpy (&last_layout, argument, sizeof last_layout);
    note ((last_layout.pattern & 0x200) != 0 ? 'P' : 'S');
    return refuse ((last_layout.pattern & 0x200) != 0 && answer.refuse_overstriped != 0 ? answer.refuse_overstriped : answer.refuse_set);
  case group_lock:
    note ('L');
    last_group = (long) argument;
    return refuse (answer.refuse_lock);
  case group_unlock:
    note ('U');
    return refuse ((long) argument == last_group ? 0 : EINVAL);
  default:
    unknown += request != clone;
    return refuse (ENOTTY);
  }
}

static group_t g;

static void forget (void) {
  memset (&answer, 0, sizeof answer);
  memset (asked, 0, sizeof asked);
  memset (&last_layout, 0, sizeof last_layout);
  last_group = 0;
}

static scda_params_t params_of (int atomic, uint64_t stripes) {
  scda_params_t params = default_params ();
  params.driver = SCDA_DRIVER_POSIX, params.atomic = atomic, params.sync = -1, params.stripe_count = stripes;
  return params;
}

/* Writes a file of some data of each rank, and compares it with what is read. The letters of what this rank asked are `first` on
 * rank 0, else `others`. */
static void write_and_read (const char *name, scda_params_t params, int appends, const char *first, const char *others) {
  int err = 0;
  uint64_t *Nq = (uint64_t *) get_memory (8 * (uint64_t) g.size);
  char data[3000], found[3000];
  memset (data, 'a' + g.rank % 26, sizeof data);
  for (int p = 0; p < g.size; ++p) { Nq[p] = sizeof data; }
  scda_fcontext_t *f = appends ? scda_fopen_append (g.comm, name, NULL, NULL, &params, &err)
                               : scda_fopen_write (g.comm, name, "lustre", NULL, &params, &err);
  f = scda_fwrite_array (f, data, Nq, 1, 0, "data", NULL, SCDA_ENCODE_NONE, &err);
  scda_fclose (f, &err);
  if (err != 0) { fprintf (stderr, "lustre: %s\n", scda_last_error_message ()); }
  CHECK (err == 0);
  if (strcmp (asked, g.rank == 0 ? first : others) != 0) {
    fprintf (stderr, "lustre: rank %d: found %s, expected %s\n", g.rank, asked, g.rank == 0 ? first : others);
    CHECK (0);
  }
  uint64_t N = 0, E = 0;
  f = scda_fopen_read (g.comm, name, NULL, NULL, NULL, &err);
  f = scda_ffind (f, "data", NULL, SCDA_LAST, NULL, NULL, &err);
  char type = 0, user[SCDA_USER_STRING_BYTES + 1];
  int decode = 0;
  f = scda_fread_section_header (f, &type, &N, &E, user, NULL, &decode, &err);
  f = scda_fread_array_data (f, found, Nq, 1, 0, &err);
  CHECK (err == 0 && type == 'A' && N == sizeof data * (uint64_t) g.size && memcmp (data, found, sizeof data) == 0);
  scda_fclose (f, &err);
  free (Nq);
}

/* Whether a file has this text. */
static int has_text (const char *name, const char *text) {
  FILE *file = fopen (name, "rb");
  char bytes[1 << 16];
  REQUIRE (file != NULL);
  const size_t n = fread (bytes, 1, sizeof bytes, file);
  fclose (file);
  return memmem (bytes, n, text, strlen (text)) != NULL;
}

/* The bytes of a chunk of streams are those of a stripe. */
static void stripes (const char *name, uint32_t stripe_bytes, const char *expected) {
  scda_params_t params = params_of (0, 0);
  int err = 0;
  forget ();
  answer.folder = layout_magic, answer.stripe_bytes = stripe_bytes;
  scda_fcontext_t *f = scda_fopen_write (g.comm, name, "lustre", NULL, &params, &err);
  f = scda_fwrite_streams_begin (f, "log", NULL, 0, &err);
  CHECK (scda_stream_write (f, "text", 4, &err) == 0);
  f = scda_fwrite_streams_end (f, &err);
  scda_fclose (f, &err);
  CHECK (err == 0);
  CHECK (has_text (name, expected));
}

int main (int argc, char **argv) {
  static char file[4096];
  start (&argc, &argv);
  g = world ();
  REQUIRE (argc == 2 && strstr (argv[1], "/lustre/") != NULL);
  snprintf (file, sizeof file, "%s/file.scda", argv[1]);
  const int several = g.size > 1;
  barrier (g);

  /* Two stripes for each node; the lock of the group for a file that nobody else opens. */
  forget ();
  write_and_read (file, params_of (1, 0), 0, several ? "OSL" : "o", "L");
  CHECK (g.rank > 0 || !several ||
         (last_layout.magic == layout_magic && last_layout.pattern == 1 && last_layout.bytes == 4 << 20 && last_layout.count == 2 * g.size &&
          last_layout.first == UINT16_MAX));
  CHECK (!several || last_group != 0);
  barrier (g);
  if (g.rank == 0) { CHECK (unlink (file) == 0); }
  barrier (g);
  forget ();
  write_and_read (file, params_of (0, 0), 0, several ? "OSo" : "o", "");
  /* An old file keeps its layout; its copy gets one. */
  forget ();
  write_and_read (file, params_of (0, 0), 0, "o", "");
  forget ();
  write_and_read (file, params_of (0, 3), 1, "", "");
  forget ();
  write_and_read (file, params_of (1, 3), 1, "OP", "");

  /* What somebody chose stays: for the folder, or for the file system. */
  for (int kind = 0; kind < 3; ++kind) {
    forget ();
    answer.folder = kind == 0 ? layout_magic : kind == 1 ? composite_magic : 0;
    answer.root = kind == 2 ? composite_magic : 0;
    write_and_read (file, params_of (1, 0), 0, several ? "oL" : "o", "L");
  }
  /* But not where the program chooses: of stripes that a server may have several of, or as an old server can. */
  forget ();
  answer.folder = composite_magic;
  write_and_read (file, params_of (1, 5), 0, several ? "OPL" : "OP", "L");
  CHECK (g.rank > 0 || (last_layout.pattern == 0x201 && last_layout.count == 5 && last_layout.bytes == 4 << 20));
  forget ();
  answer.refuse_overstriped = EINVAL;
  scda_params_t params = params_of (1, 5);
  params.stripe_bytes = 1 << 20;
  write_and_read (file, params, 0, several ? "OPSL" : "OPS", "L");
  CHECK (g.rank > 0 || (last_layout.pattern == 1 && last_layout.count == 5 && last_layout.bytes == 1 << 20));

  /* Every refusal leaves a file as its folder has them. */
  static const int refusals[] = {EINVAL, EPERM, ENOTTY, ENOSPC, EDQUOT, EOPNOTSUPP, EROFS, EIO, ERANGE};
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i) {
    forget ();
    answer.refuse_set = answer.refuse_lock = refusals[i];
    write_and_read (file, params_of (1, 5), 0, several ? "OPSL" : "OPS", "L");
  }
  /* The lock is for all ranks or for none. */
  if (several) {
    forget ();
    answer.refuse_lock = g.rank == 1 ? ENOTTY : 0;
    write_and_read (file, params_of (1, 0), 0, "OSLU", g.rank == 1 ? "L" : "LU");
  }

  /* The bytes of a stripe, or what the file system says of blocks, if they are not known. */
  stripes (file, 8 << 20, "8388608");
  stripes (file, 0, "1048576");
  CHECK (unknown == 0);
  barrier (g);
  if (g.rank == 0) { CHECK (unlink (file) == 0); }
  return finish ();
}
