/* Commits and closes in two halves, through the C interface: the bytes are those of the synchronous way, errors are told by the
 * wait, no thread of the library calls MPI, and MPI_Finalize completes what was not waited for.
 *
 *   background DIR            writes files in DIR in both ways and compares them
 *   background DIR finalize   leaves a commit and a close to MPI_Finalize
 *   background DIR check      what `finalize` has left is complete
 *   background DIR full FILE  FILE is on a file system that is nearly full: the wait says so */
#define _POSIX_C_SOURCE 200809L
#include "common.h"

#include <pthread.h>

static pthread_t program;

#ifndef SCDA_SERIAL
/* The library's calls of MPI go through these: all are the program's thread's. */
#define ONLY_THE_PROGRAM                                                    \
  if (!pthread_equal (pthread_self (), program)) {                          \
    fprintf (stderr, "%s: called by another thread\n", __func__), abort (); \
  }
static long calls;
int MPI_Allreduce (const void *a, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c) {
  ONLY_THE_PROGRAM ++calls;
  return PMPI_Allreduce (a, b, n, t, o, c);
}
int MPI_Bcast (void *a, int n, MPI_Datatype t, int root, MPI_Comm c) {
  ONLY_THE_PROGRAM return PMPI_Bcast (a, n, t, root, c);
}
int MPI_Gatherv (const void *a, int n, MPI_Datatype t, void *b, const int *m, const int *d, MPI_Datatype u, int root, MPI_Comm c) {
  ONLY_THE_PROGRAM return PMPI_Gatherv (a, n, t, b, m, d, u, root, c);
}
int MPI_Gather (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, int root, MPI_Comm c) {
  ONLY_THE_PROGRAM return PMPI_Gather (a, n, t, b, m, u, root, c);
}
int MPI_Allgather (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c) {
  ONLY_THE_PROGRAM return PMPI_Allgather (a, n, t, b, m, u, c);
}
int MPI_Exscan (const void *a, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c) {
  ONLY_THE_PROGRAM return PMPI_Exscan (a, b, n, t, o, c);
}
int MPI_Initialized (int *flag) {
  ONLY_THE_PROGRAM return PMPI_Initialized (flag);
}
int MPI_Comm_free (MPI_Comm *c) {
  ONLY_THE_PROGRAM return PMPI_Comm_free (c);
}
#endif

static char name[2][4200];

/* A step: a small block, a large array, a compressed one, and a compressed dataset, which waits for its place. */
static scda_fcontext_t *write_step (scda_fcontext_t *f, group_t g, int step, int *err) {
  enum { E = 1000 };
  uint64_t *Nq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Nq), state = (uint64_t) step + 1;
  partition (&state, 900, g.size, Nq);
  const uint64_t own = Nq[g.rank], first = first_of (Nq, g.rank);
  unsigned char *data = (unsigned char *) get_memory (own * E + 1);
  for (uint64_t i = 0; i < own * E; ++i) { data[i] = (unsigned char) ((first * E + i) / 300 + (uint64_t) step); }
  f = scda_fwrite_block (f, "parameters", 10, "block", NULL, step % g.size, SCDA_ENCODE_NONE, err);
  f = scda_fwrite_array (f, data, Nq, E, 0, "plain", NULL, SCDA_ENCODE_NONE, err);
  f = scda_fwrite_array (f, data, Nq, E, 0, "encoded", NULL, SCDA_ENCODE_ALWAYS, err);
  f = scda_fwrite_field_parts (f, "chunks", SCDA_TYPE_UINT8, data, Nq, E, SCDA_ENCODE_ALWAYS, err);
  memset (data, 0, own * E); /* nothing of it is used any more */
  free (data), free (Nq);
  return f;
}

static scda_fcontext_t *create (group_t g, const char *filename, uint64_t background, int *err) {
  scda_params_t params;
  scda_params_init (&params);
  params.seal = 1, params.background_bytes = background, params.driver = SCDA_DRIVER_POSIX;
  return scda_fopen_write (g.comm, filename, "background", NULL, &params, err);
}

static void compare_files (group_t g) {
  if (g.rank == 0) {
    size_t size[2];
    char *bytes[2];
    for (int way = 0; way < 2; ++way) {
      FILE *file = fopen (name[way], "rb");
      REQUIRE (file != NULL && fseek (file, 0, SEEK_END) == 0);
      size[way] = (size_t) ftell (file);
      bytes[way] = (char *) get_memory (size[way]);
      rewind (file);
      REQUIRE (fread (bytes[way], 1, size[way], file) == size[way]);
      fclose (file);
    }
    CHECK (size[0] == size[1] && memcmp (bytes[0], bytes[1], size[0]) == 0);
    free (bytes[0]), free (bytes[1]);
  }
}

/* Large plain data, copied and lent: what is lent takes none of the memory. */
static void compare_lent (group_t g) {
  enum { bytes = 3 << 20 };
  int err = -1;
  for (int way = 0; way < 2; ++way) {
    scda_params_t params;
    scda_request_t request;
    scda_statistics_t statistics = { sizeof statistics, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    scda_params_init (&params);
    params.seal = 1, params.background_bytes = 1 << 20, params.driver = SCDA_DRIVER_POSIX, params.lend = (uint64_t) way;
    scda_fcontext_t *f = scda_fopen_write (g.comm, name[way], "lent", NULL, &params, &err);
    unsigned char *data = (unsigned char *) get_memory (bytes);
    uint64_t *Nq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Nq);
    for (int rank = 0; rank < g.size; ++rank) { Nq[rank] = bytes / 1024; }
    for (int i = 0; i < bytes; ++i) { data[i] = (unsigned char) (i / 700 + g.rank); }
    f = scda_fwrite_array (f, data, Nq, 1024, 0, "array", NULL, SCDA_ENCODE_NONE, &err);
    f = scda_fwrite_field_parts (f, "field", SCDA_TYPE_UINT8, data, Nq, 1024, SCDA_ENCODE_NONE, &err);
    f = scda_fwrite_block (f, data, bytes, "block", NULL, 0, SCDA_ENCODE_NONE, &err);
    f = scda_fwrite_array (f, data, Nq, 1024, 0, "encoded", NULL, SCDA_ENCODE_ALWAYS, &err);
    f = scda_fcommit_begin (f, &request, &err);
    CHECK (f != NULL && scda_wait (&request, &err) == 0);
    memset (data, 0, bytes), free (data), free (Nq);
    CHECK (scda_get_statistics (f, &statistics, &err) == 0);
    CHECK ((statistics.copied_bytes < 2 * bytes) == (way == 1) && statistics.written_bytes > 2 * bytes);
    CHECK (scda_fclose (f, &err) == 0);
  }
  compare_files (g);
  /* What reading took. */
  uint64_t N, E;
  char type;
  int decode = 1;
  scda_statistics_t statistics = { sizeof statistics, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
  scda_fcontext_t *f = scda_fopen_read (g.comm, name[0], NULL, NULL, NULL, &err);
  f = scda_fread_section_header (f, &type, &N, &E, NULL, NULL, &decode, &err);
  uint64_t *Nq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Nq);
  unsigned char *data = (unsigned char *) get_memory (bytes);
  for (int rank = 0; rank < g.size; ++rank) { Nq[rank] = bytes / 1024; }
  f = scda_fread_array_data (f, data, Nq, 1024, 0, &err);
  CHECK (scda_get_statistics (f, &statistics, &err) == 0);
  CHECK (statistics.read_bytes >= bytes && statistics.decoded_bytes == 0 && statistics.written_bytes == 0);
  CHECK (scda_fclose (f, &err) == 0);
  free (data), free (Nq);
  barrier (g);
}

static void compare_ways (group_t g) {
  int err = -1;
  enum { steps = 5 };
  for (int way = 0; way < 2; ++way) {
    scda_fcontext_t *f = create (g, name[way], way == 0 ? 0 : 1 << 20, &err);
    scda_request_t request;
    for (int step = 0; step < steps; ++step) {
      f = write_step (f, g, step, &err);
      if (way == 0) {
        f = scda_fcommit (f, &err);
        continue;
      }
      f = scda_fcommit_begin (f, &request, &err);
      CHECK (f != NULL && err == SCDA_SUCCESS);
      if (step % 2 == 0) {
        while (scda_test (&request) == 0) { sched_yield (); }
        CHECK (scda_wait (&request, &err) == 0 && err == SCDA_SUCCESS);
        CHECK (request.file == NULL && scda_test (&request) == 1);
        CHECK (scda_wait (&request, &err) == 0 && err == SCDA_SUCCESS); /* nothing is left to wait for */
        err = SCDA_ERR_IO; /* of a call that was to begin it */
        CHECK (scda_wait (&request, &err) != 0 && err == SCDA_ERR_IO && scda_wait (&request, NULL) != 0);
        err = SCDA_SUCCESS;
      } /* else the next call completes it */
    }
    scda_statistics_t statistics = { sizeof statistics, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    CHECK (scda_get_statistics (f, &statistics, &err) == 0 && err == SCDA_SUCCESS);
    CHECK (way == 1 || statistics.copied_bytes == 0);
    CHECK (way == 0 || g.rank > 0 || statistics.copied_bytes > 0);
    if (way == 0) {
      CHECK (scda_fclose (f, &err) == 0);
      continue;
    }
    CHECK (scda_fclose_begin (f, &request, &err) == 0 && err == SCDA_SUCCESS);
    CHECK (scda_wait (&request, &err) == 0 && err == SCDA_SUCCESS);
    CHECK (scda_fclose (f, &err) != 0 && err == SCDA_ERR_USAGE);
  }
  compare_files (g);
  barrier (g);
  /* A request is waited for once, also by a copy of it. */
  scda_request_t copy;
  scda_fcontext_t *w = create (g, name[1], 1 << 20, &err);
  w = scda_fcommit_begin (w, &copy, &err);
  scda_request_t first = copy;
  CHECK (w != NULL && scda_wait (&first, &err) == 0);
  CHECK (scda_wait (&copy, &err) != 0 && err == SCDA_ERR_USAGE && scda_fflush (w, &err) == NULL);
  /* A close completes the commits before it; waiting for them is no error, even while another file is open. */
  w = create (g, name[1], 1 << 20, &err);
  w = scda_fcommit_begin (w, NULL, &err);
  w = scda_fcommit_begin (w, &first, &err);
  copy = first;
  CHECK (scda_fclose (w, &err) == 0 && scda_test (&first) == 1);
  w = create (g, name[1], 1 << 20, &err);
  CHECK (scda_wait (&first, &err) == 0 && err == SCDA_SUCCESS);
  CHECK (scda_wait (&copy, &err) != 0 && err == SCDA_ERR_USAGE);
  CHECK (scda_fclose (w, &err) == 0);
  /* Between the halves of a close, only the wait may be called. */
  scda_request_t request;
  scda_fcontext_t *f = create (g, name[1], 1 << 20, &err);
  CHECK (scda_fclose_begin (f, &request, &err) == 0);
  CHECK (scda_fflush (f, &err) == NULL && err == SCDA_ERR_USAGE);
  CHECK (scda_wait (&request, &err) != 0 && err == SCDA_ERR_USAGE);
  /* Of a file that is read, too. */
  uint64_t sections;
  f = scda_fopen_read (g.comm, name[0], NULL, NULL, NULL, &err);
  CHECK (scda_fclose_begin (f, g.rank == g.size - 1 ? NULL : &request, &err) != 0 && err == SCDA_ERR_ARG);
  CHECK (scda_fsections (f, &sections, &err) == NULL && err == SCDA_ERR_USAGE);
  f = scda_fopen_read (g.comm, name[0], NULL, NULL, NULL, &err);
  CHECK (scda_fclose_begin (f, &request, &err) == 0);
  CHECK (scda_fsections (f, &sections, &err) == NULL && err == SCDA_ERR_USAGE);
  CHECK (scda_wait (&request, &err) != 0 && err == SCDA_ERR_USAGE);
  f = scda_fopen_read (g.comm, name[0], NULL, NULL, NULL, &err);
  CHECK (scda_fclose_begin (f, &request, &err) == 0 && scda_test (&request) == 1);
  CHECK (scda_wait (&request, &err) == 0 && err == SCDA_SUCCESS);
  CHECK (scda_fsections (f, &sections, &err) == NULL && err == SCDA_ERR_USAGE);
  /* Too little memory, and MPI-IO. */
  CHECK (create (g, name[1], 1000, &err) == NULL && err == SCDA_ERR_ARG);
  scda_params_t params;
  scda_params_init (&params);
  params.background_bytes = 1 << 20, params.driver = driver_mpiio;
  f = scda_fopen_write (g.comm, name[1], "", NULL, &params, &err);
  CHECK (driver_mpiio == SCDA_DRIVER_AUTO || (f == NULL && err == SCDA_ERR_ARG
                                              && strstr (scda_last_error_message (), "background_bytes") != NULL));
  if (f != NULL) { scda_fclose (f, &err); }
}

static void leave_to_finalize (group_t g) {
  int err = -1;
  scda_request_t request;
  scda_fcontext_t *f = create (g, name[0], 1 << 20, &err), *h = create (g, name[1], 1 << 20, &err);
  f = scda_fcommit_begin (write_step (f, g, 0, &err), &request, &err);
  h = write_step (h, g, 1, &err);
  CHECK (f != NULL && h != NULL && scda_fclose_begin (h, &request, &err) == 0);
  /* Some that are not closed: in place; atomic; and without seals, flushed, so that nothing is lost, or not. */
  for (int i = 0; i < 4; ++i) {
    char open[4300];
    scda_params_t params;
    scda_params_init (&params);
    params.atomic = i == 1, params.seal = i < 2;
    snprintf (open, sizeof open, "%s.open%d", name[0], i);
    f = scda_fopen_write (g.comm, open, "", NULL, &params, &err);
    if (i >= 2) { f = scda_fwrite_block (f, "parameters", 10, "block", NULL, 0, SCDA_ENCODE_NONE, &err); }
    if (i == 2) { f = scda_fflush (f, &err); }
    CHECK (f != NULL);
  }
}

static void check_finalized (group_t g) {
  int err = -1;
  for (int i = 0; i < 2; ++i) {
    uint64_t N = 0;
    scda_fcontext_t *f = scda_fopen_read (g.comm, name[i], NULL, NULL, NULL, &err);
    f = scda_fsections (f, &N, &err);
    CHECK (f != NULL && N == 5 && info_of (f).is_sealed && info_of (f).unsealed_bytes == 0);
    if (f != NULL) { scda_fclose (f, &err); }
  }
}

/* Fills a small file system: an error of the wait or, because the memory is small, of a call before. It names the section. */
static void fill (group_t g, const char *filename) {
  int err = -1;
  scda_fcontext_t *f = create (g, filename, 8 << 20, &err);
  for (int step = 0; f != NULL && step < 200; ++step) {
    scda_request_t request;
    f = write_step (f, g, step, &err);
    f = scda_fcommit_begin (f, &request, &err);
    if (f != NULL && scda_wait (&request, &err) != 0) { f = NULL; }
  }
  CHECK (f == NULL && err == SCDA_ERR_NO_SPACE && all_same (g, (uint64_t) err));
  CHECK (strstr (scda_last_error_message (), "section \"") != NULL);
}

int main (int argc, char **argv) {
  program = pthread_self ();
#ifdef SCDA_SERIAL
  start (&argc, &argv);
#else
  int level = 0;
  MPI_Init_thread (&argc, &argv, MPI_THREAD_FUNNELED, &level);
#endif
  REQUIRE (argc >= 2);
  const group_t g = world ();
  for (int i = 0; i < 2; ++i) { snprintf (name[i], sizeof name[i], "%s/background%d.scda", argv[1], i); }
  const char *what = argc > 2 ? argv[2] : "";
  if (strcmp (what, "finalize") == 0) {
    leave_to_finalize (g);
  } else if (strcmp (what, "check") == 0) {
    check_finalized (g);
  } else if (strcmp (what, "full") == 0 && argc > 3) {
    fill (g, argv[3]);
  } else {
    compare_ways (g), compare_lent (g);
#ifndef SCDA_SERIAL
    CHECK (g.size == 1 || calls > 0);
#endif
  }
  return finish ();
}
