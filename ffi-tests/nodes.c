/* What leaves a node, and who writes: counts the library's calls of MPI by level, all ranks, those of a node, and the leaders of the
 * nodes; what each rank writes; and how often it opens a file, looks at it, locks it and syncs it. The program has these functions itself, and the
 * library calls them (the profiling interface of MPI).
 *
 * Before that: files with everything are the same as without nodes.
 *
 *   nodes FILE      with SCDA_NODE_RANKS in the environment, and more ranks than that */
#define _GNU_SOURCE
#include "everything.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/types.h>
#include <sys/uio.h>

enum { world_level, node_level, leader_level, levels };
enum { agreements, gathers, exchanges, kinds };
static long calls[levels][kinds];
static long sent_within, sent_between; /* messages from this rank to one other, on its node or on another one */
static long long written;              /* bytes, in requests of more than a header */
static int node_ranks, world_rank, world_size;

static int world_rank_of (MPI_Comm c, int rank) {
  MPI_Group all, own;
  int found = -1;
  PMPI_Comm_group (MPI_COMM_WORLD, &all);
  PMPI_Comm_group (c, &own);
  PMPI_Group_translate_ranks (own, 1, &rank, all, &found);
  PMPI_Group_free (&all);
  PMPI_Group_free (&own);
  return found;
}

static void count (MPI_Comm c, int kind) {
  int size, level = world_level;
  PMPI_Comm_size (c, &size);
  if (size < world_size) {
    const int first = world_rank_of (c, 0) / node_ranks, last = world_rank_of (c, size - 1) / node_ranks;
    level = first == last ? node_level : leader_level;
  }
  ++calls[level][kind];
}

#define COUNTED(name, kind, parameters, arguments)                                                     \
  int MPI_##name parameters {                                                                          \
    count (c, kind);                                                                                   \
    return PMPI_##name arguments;                                                                      \
  }
COUNTED (Allreduce, agreements, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
COUNTED (Bcast, gathers, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
COUNTED (Allgather, gathers, (const void *s, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u, MPI_Comm c), (s, n, t, r, m, u, c))
COUNTED (Gather, gathers, (const void *s, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u, int root, MPI_Comm c),
         (s, n, t, r, m, u, root, c))
COUNTED (Gatherv, gathers,
         (const void *s, int n, MPI_Datatype t, void *r, const int *m, const int *d, MPI_Datatype u, int root, MPI_Comm c),
         (s, n, t, r, m, d, u, root, c))
COUNTED (Alltoall, exchanges, (const void *s, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u, MPI_Comm c), (s, n, t, r, m, u, c))

static void sent (MPI_Comm c, int to) {
  if (world_rank_of (c, to) / node_ranks == world_rank / node_ranks) {
    ++sent_within;
  } else {
    ++sent_between;
  }
}
int MPI_Send (const void *s, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {
  sent (c, to);
  return PMPI_Send (s, n, t, to, tag, c);
}
int MPI_Sendrecv (const void *s, int n, MPI_Datatype t, int to, int tag, void *r, int m, MPI_Datatype u, int from, int tag2, MPI_Comm c,
                  MPI_Status *status) {
  sent (c, to);
  return PMPI_Sendrecv (s, n, t, to, tag, r, m, u, from, tag2, c, status);
}

static void note_written (ssize_t bytes) {
  if (bytes > 128) { written += bytes; }
}
#define WRITES(name, offset_t)                                                                         \
  ssize_t name (int fd, const void *data, size_t bytes, offset_t offset) {                             \
    static ssize_t (*next) (int, const void *, size_t, offset_t);                                      \
    if (next == NULL) { *(void **) &next = dlsym (RTLD_NEXT, #name); }                                 \
    const ssize_t done = next (fd, data, bytes, offset);                                               \
    note_written (done);                                                                               \
    return done;                                                                                       \
  }
WRITES (pwrite, off_t)
WRITES (pwrite64, off64_t)
#define WRITES_MANY(name, offset_t)                                                                    \
  ssize_t name (int fd, const struct iovec *pieces, int n, offset_t offset) {                          \
    static ssize_t (*next) (int, const struct iovec *, int, offset_t);                                 \
    if (next == NULL) { *(void **) &next = dlsym (RTLD_NEXT, #name); }                                 \
    const ssize_t done = next (fd, pieces, n, offset);                                                 \
    note_written (done);                                                                               \
    return done;                                                                                       \
  }
WRITES_MANY (pwritev, off_t)
WRITES_MANY (pwritev64, off64_t)

/* What a parallel file system is asked for, in requests to its servers: docs/performance.md. */
static struct { long opens, stats, locks, syncs, kinds; } asked;
static const char *counted_name;

int open64 (const char *name, int flags, ...) {
  static int (*next) (const char *, int, ...);
  va_list list;
  va_start (list, flags);
  const mode_t mode = flags & O_CREAT ? va_arg (list, mode_t) : 0;
  va_end (list);
  if (next == NULL) { *(void **) &next = dlsym (RTLD_NEXT, "open64"); }
  asked.opens += counted_name != NULL && strcmp (name, counted_name) == 0;
  return next (name, flags, mode);
}
int fstat64 (int fd, struct stat64 *status) {
  static int (*next) (int, struct stat64 *);
  if (next == NULL) { *(void **) &next = dlsym (RTLD_NEXT, "fstat64"); }
  ++asked.stats;
  return next (fd, status);
}
int fstatfs64 (int fd, struct statfs64 *found) {
  static int (*next) (int, struct statfs64 *);
  if (next == NULL) { *(void **) &next = dlsym (RTLD_NEXT, "fstatfs64"); }
  ++asked.kinds;
  return next (fd, found);
}
int fcntl (int fd, int command, ...) {
  static int (*next) (int, int, ...);
  va_list list;
  va_start (list, command);
  void *argument = va_arg (list, void *);
  va_end (list);
  if (next == NULL) { *(void **) &next = dlsym (RTLD_NEXT, "fcntl"); }
  asked.locks += command == F_OFD_SETLK;
  return next (fd, command, argument);
}

int fsync (int fd) {
  static int (*next) (int);
  if (next == NULL) { *(void **) &next = dlsym (RTLD_NEXT, "fsync"); }
  ++asked.syncs;
  return next (fd);
}

/* What all ranks ask for together: more with each node, and the same with any number of ranks on it. */
static void check_asked (group_t g, const char *filename) {
  char absolute[4200];
  int err = -1;
  const long nodes = (g.size + node_ranks - 1) / node_ranks;
  REQUIRE (realpath (filename, absolute) != NULL);
  for (int reads = 0; reads < 2; ++reads) {
    counted_name = absolute;
    memset (&asked, 0, sizeof asked);
    scda_fcontext_t *f = reads ? scda_fopen_read (g.comm, absolute, NULL, NULL, NULL, &err)
                               : scda_fopen_write (g.comm, absolute, "nodes", NULL, bare (), &err);
    REQUIRE (f != NULL);
    REQUIRE (scda_fclose (f, &err) == 0);
    counted_name = NULL;
    long mine[] = {asked.opens, asked.stats, asked.locks}, all[3];
    PMPI_Allreduce (mine, all, 3, MPI_LONG, MPI_SUM, g.comm);
    if (g.rank == 0) { printf ("%s: %ld opens, %ld calls of fstat, %ld locks\n", reads ? "read" : "written", all[0], all[1], all[2]); }
    CHECK (asked.kinds == 0); /* it is known by the name */
    CHECK (all[0] == (reads ? nodes : nodes + 1) && all[1] == (reads ? nodes + 2 : nodes + 3) && all[2] == (reads ? 0 : 2 * nodes + 2));
  }
}

/* Files with sections of every kind, datasets and streams, written, appended to and read on nodes. */
static void check_files (group_t g, const char *filename) {
  char here[1200], node[20];
  snprintf (here, sizeof here, "%s-alike", filename);
  snprintf (node, sizeof node, "%d", node_ranks);
  scda_params_t params = default_params ();
  params.seal = 1;
  unsetenv ("SCDA_NODE_RANKS");
  REQUIRE (write_everything (g, filename, &params) == 0 && append_everything (g, filename, &params) == 0);
  setenv ("SCDA_NODE_RANKS", node, 1);
  for (int writers = 0; writers < 3; ++writers) {
    params.writers_per_node = (uint64_t) writers, params.stripe_bytes = 3000, params.aggregation_bytes = writers < 2 ? 0 : 4096;
    REQUIRE (write_everything (g, here, &params) == 0 && append_everything (g, here, &params) == 0);
    CHECK (files_equal (filename, here, 0));
    CHECK (read_everything (g, here, &params) == 0);
  }
}

static uint64_t counts[1024];
static unsigned char data[1 << 20];

static scda_fcontext_t *create (group_t g, const char *filename, const scda_params_t *params) {
  int err = -1;
  scda_fcontext_t *f = scda_fopen_write (g.comm, filename, "nodes", NULL, params != NULL ? params : bare (), &err);
  REQUIRE (f != NULL);
  memset (calls, 0, sizeof calls);
  sent_within = sent_between = 0, written = 0;
  return f;
}

static void close_file (scda_fcontext_t *f) {
  int err = -1;
  REQUIRE (scda_fclose (f, &err) == 0);
}

/* Where ranks do not see at once what others have written, all of them sync their data so that rank 0 can read them; but not if rank 0
 * has written the whole file, which the ranks learn when they agree that it is written. */
static void check_syncs (group_t g, const char *filename) {
  scda_params_t params = default_params ();
  params.seal = 1, params.driver = SCDA_DRIVER_POSIX;
  setenv ("SCDA_COHERENT", "0", 1), unsetenv ("SCDA_NODE_RANKS");
  for (uint64_t bytes = 100; bytes <= 100000; bytes *= 1000) {
    int err = -1;
    memset (&asked, 0, sizeof asked);
    scda_fcontext_t *f = create (g, filename, &params);
    REQUIRE ((f = scda_fwrite_array (f, data, counts, bytes, 0, "x", NULL, SCDA_ENCODE_NONE, &err)) != NULL);
    close_file (f);
    long all = 0;
    PMPI_Allreduce (&asked.syncs, &all, 1, MPI_LONG, MPI_SUM, g.comm);
    const long agreed = calls[world_level][agreements];
    if (g.rank == 0) { printf ("%llu bytes of each rank: %ld syncs, %ld reductions\n", (unsigned long long) bytes, all, agreed); }
    CHECK (agreed == (bytes == 100 ? 7 : 8)); /* since the file was opened */
    CHECK (all == (bytes == 100 ? 1 : 1 + g.size)); /* the header's, at first */
  }
  unsetenv ("SCDA_COHERENT");
  char node[20];
  snprintf (node, sizeof node, "%d", node_ranks);
  setenv ("SCDA_NODE_RANKS", node, 1);
}

/* Small sections, each in part on every rank. */
static void small_sections (group_t g, const char *filename, int sections) {
  int err = -1;
  scda_fcontext_t *f = create (g, filename, NULL);
  for (int k = 0; k < sections; ++k) { REQUIRE ((f = scda_fwrite_array (f, data, counts, 100, 0, "x", NULL, SCDA_ENCODE_NONE, &err)) != NULL); }
  close_file (f);
}

/* Who writes, and that all is written once. */
static void check_writers (group_t g, uint64_t bytes) {
  unsigned long long mine = (unsigned long long) written, all = 0;
  CHECK ((written > 0) == (g.rank % node_ranks == 0)); /* one writer a node is its first rank */
  PMPI_Allreduce (&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, g.comm);
  CHECK (all >= bytes && all < bytes + 4096);
}

/* Whether MPI has all ranks of this machine on one node: MPICH 5 of Debian unstable does not. */
static int shares_memory (group_t g) {
  MPI_Comm node = MPI_COMM_NULL;
  int size = 0;
  REQUIRE (MPI_Comm_split_type (g.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) == MPI_SUCCESS);
  MPI_Comm_size (node, &size);
  MPI_Comm_free (&node);
  return size == g.size;
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2 && getenv ("SCDA_NODE_RANKS") != NULL);
  node_ranks = atoi (getenv ("SCDA_NODE_RANKS"));
  group_t g = world ();
  world_rank = g.rank, world_size = g.size;
  REQUIRE (node_ranks > 1 && node_ranks < g.size && g.size <= 1024);
  const uint64_t ranks = (uint64_t) g.size;
  const int is_leader = g.rank % node_ranks == 0;
  int err = -1;
  for (uint64_t p = 0; p < ranks; ++p) { counts[p] = 1; }
  check_files (g, argv[1]);
  if (!shares_memory (g)) {
    if (g.rank == 0) { puts ("skipped: to this MPI library, each rank is a node of its own"); }
    return finish () ? 1 : 77;
  }
  check_asked (g, argv[1]);
  check_syncs (g, argv[1]);

  /* Once the ranks have found their nodes, further small sections are no message but to the leader of the node, and of leaders. */
  long before[levels][kinds];
  small_sections (g, argv[1], 2000);
  memcpy (before, calls, sizeof calls);
  small_sections (g, argv[1], 6000);
  CHECK (before[world_level][gathers] > 0);
  CHECK (calls[world_level][gathers] == before[world_level][gathers]);
  CHECK (calls[node_level][gathers] > before[node_level][gathers]);
  CHECK ((calls[leader_level][gathers] > before[leader_level][gathers]) == is_leader);
  CHECK (calls[world_level][agreements] > before[world_level][agreements]);
  CHECK (sent_within == 0 && sent_between == 0);
  if (g.rank == 0) {
    printf ("4000 more small sections: %ld reductions of all, %ld gathers of all, %ld of a node, %ld of the leaders\n",
            calls[world_level][agreements] - before[world_level][agreements],
            calls[world_level][gathers] - before[world_level][gathers], calls[node_level][gathers] - before[node_level][gathers],
            calls[leader_level][gathers] - before[leader_level][gathers]);
  }

  /* A large section of small pieces: one rank of each node writes. */
  const uint64_t bytes = 100000;
  scda_params_t params = default_params ();
  params.writers_per_node = 1, params.stripe_bytes = 1 << 20;
  scda_fcontext_t *f = create (g, argv[1], &params);
  REQUIRE ((f = scda_fwrite_array (f, data, counts, bytes, 0, "x", NULL, SCDA_ENCODE_NONE, &err)) != NULL);
  CHECK (calls[world_level][gathers] == 0 && sent_within == 0 && sent_between == 0);
  check_writers (g, bytes * ranks);
  close_file (f);

  /* A dataset in chunks, one for each rank, who passes three quarters of it and the first quarter of the next one; rank 0 also the very
   * first quarter. Bytes that do not compress. */
  scda_dataset_t d;
  REQUIRE (scda_dataset_init (&d) == 0);
  strcpy (d.name, "rho");
  d.type = SCDA_TYPE_UINT8, d.encode = SCDA_ENCODE_ALWAYS, d.ndims = 1;
  d.shape[0] = bytes * ranks, d.chunk[0] = bytes;
  uint64_t state = ranks + (uint64_t) g.rank;
  for (uint64_t i = 0; i < 2 * bytes; ++i) { data[i] = (unsigned char) rnd (&state); }
  const uint64_t first[2] = {(uint64_t) g.rank * bytes + bytes / 4, 0};
  const uint64_t number[2] = {g.rank + 1 < g.size ? bytes : bytes - bytes / 4, bytes / 4};
  for (int round = 0; round < 2; ++round) { /* in the second one the ranks know their nodes */
    if (round == 0) { f = create (g, argv[1], &params); }
    memset (calls, 0, sizeof calls);
    sent_within = sent_between = 0, written = 0;
    REQUIRE ((f = scda_fwrite_dataset (f, &d, data, g.rank == 0 ? 2 : 1, first, number, &err)) != NULL);
    CHECK (calls[world_level][exchanges] == 1 && calls[node_level][exchanges] == 0 && calls[leader_level][exchanges] == 0);
    const int is_last_of_node = (g.rank + 1) % node_ranks == 0;
    CHECK (sent_between == (is_last_of_node && g.rank + 1 < g.size));
    CHECK (sent_within == (!is_last_of_node && g.rank + 1 < g.size));
    if (round > 0) { check_writers (g, bytes * ranks); }
  }
  close_file (f);
  return finish ();
}
