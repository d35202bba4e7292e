/* What the program does with its process.
 *
 *   process descriptors DIR  without standard input, output and error: none of the library's files gets their numbers
 *   process fork DIR         a process that is forked off uses the parent's files, and leaves them as they are
 *   process session DIR      MPI sessions, without MPI_Init; 77 if there are none */
#define _POSIX_C_SOURCE 200809L
#include "common.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static char path[1200];
static double numbers[3000];

static scda_fcontext_t *write_some (scda_fcontext_t *f, int *err) {
  f = scda_fwrite_field (f, "field", SCDA_TYPE_FLOAT64, numbers, 3000, 1, SCDA_ENCODE_NONE, err);
  return scda_fwrite_field (f, "encoded", SCDA_TYPE_FLOAT64, numbers, 3000, 1, SCDA_ENCODE_ALWAYS, err);
}

/* That the file is whole, as one rank sees it. */
static void read_all (group_t g) {
  int err = 0, found = 0;
  scda_dataset_t d;
  scda_dataset_init (&d);
  double *all = (double *) get_memory (sizeof numbers * (uint64_t) g.size);
  scda_fcontext_t *f = scda_fopen_read (g.comm, path, NULL, NULL, NULL, &err);
  f = scda_ffind_dataset (f, "encoded", SCDA_LAST, &found, &d, &err);
  f = scda_fread_dataset (f, &d, all, 1, NULL, NULL, &err);
  CHECK (f != NULL && found == 1 && d.shape[0] == 3000 * (uint64_t) g.size && memcmp (all, numbers, sizeof numbers) == 0);
  CHECK (scda_fclose (f, &err) == 0);
  free (all);
}

/* How many of the descriptors 0 to 2 are open, which the program has closed. */
static int num_standard (void) {
  int found = 0;
  for (int fd = 0; fd < 3; ++fd) { found += fcntl (fd, F_GETFD) >= 0; }
  return found;
}

static void descriptors (group_t g) {
  static const uint64_t drivers[] = { SCDA_DRIVER_POSIX, driver_mpiio };
  const int log = fcntl (2, F_DUPFD, 10);
  int bad = 0;
  fflush (stderr);
  for (int fd = 0; fd < 3; ++fd) { close (fd); }
  for (int way = 0; way < 8; ++way) {
    int err = 0;
    scda_params_t params;
    scda_params_init (&params);
    params.driver = drivers[way % 2], params.atomic = way / 2 % 2, params.sync = 1, params.keep = params.atomic;
    if (way / 4 == 1 && way % 2 == 0) { params.background_bytes = 1 << 20; }
    scda_fcontext_t *f = scda_fopen_write (g.comm, path, "descriptors", NULL, &params, &err);
    bad += num_standard () != 0;
    bad += write (1, "the program prints", 18) != -1;
    f = scda_fcommit (write_some (f, &err), &err);
    bad += num_standard () != 0 || scda_fclose (f, &err) != 0;
    f = scda_fopen_append (g.comm, path, NULL, NULL, &params, &err);
    bad += f == NULL || num_standard () != 0;
    f = write_some (f, &err);
    bad += scda_fclose (f, &err) != 0;
    f = scda_fopen_read (g.comm, path, NULL, NULL, &params, &err);
    bad += f == NULL || num_standard () != 0 || scda_fclose (f, &err) != 0;
    read_all (g);
    bad += num_standard () != 0;
  }
  for (int fd = 0; fd < 3; ++fd) {
    if (dup2 (log, fd) < 0) { ++bad; }
  }
  CHECK (bad == 0);
}

#ifdef SCDA_SERIAL
static volatile int is_over;

static void *open_and_close (void *unused) {
  (void) unused;
  while (!is_over) {
    int err = 0;
    scda_fcontext_t *f = scda_fopen_read (SCDA_COMM_SELF, path, NULL, NULL, NULL, &err);
    scda_fclose (f, &err);
  }
  return NULL;
}
#endif

/* Waits for a child; 0 if it succeeded in time. */
static int child_failed (pid_t child) {
  for (int i = 0; i < 3000; ++i) {
    int status = 0;
    const struct timespec moment = { 0, 10000000 };
    if (waitpid (child, &status, WNOHANG) == child) { return status; }
    nanosleep (&moment, NULL);
  }
  kill (child, SIGKILL), waitpid (child, NULL, 0);
  return -1;
}

static void forked (group_t g) {
  for (int way = 0; way < 4; ++way) { /* in place or atomic; by the thread or not */
    int err = 0;
    scda_params_t params;
    scda_params_init (&params);
    params.atomic = way % 2, params.background_bytes = way / 2 ? 1 << 20 : 0, params.driver = SCDA_DRIVER_POSIX;
    scda_fcontext_t *f = scda_fopen_write (g.comm, path, "forked", NULL, &params, &err);
    f = write_some (f, &err);
    REQUIRE (f != NULL);
    const pid_t child = fork ();
    if (child == 0) {
      scda_fcontext_t *mine = f;
      int told = 0;
      if (way < 2) { mine = scda_fwrite_inline (mine, "01234567890123456789012345678901", "x", NULL, 0, &told); }
      if (mine != NULL) { scda_fclose (mine, &told); }
      _exit (told != SCDA_ERR_USAGE || strstr (scda_last_error_message (), "forked") == NULL);
    }
    CHECK (child_failed (child) == 0);
    f = scda_fwrite_group (f, "group", "{}", &err);
    CHECK (scda_fclose (f, &err) == 0);
    read_all (g);
  }
#ifdef SCDA_SERIAL
  /* Beside a thread that is in the library, a child opens a file of its own. */
  pthread_t thread;
  REQUIRE (pthread_create (&thread, NULL, open_and_close, NULL) == 0);
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork ();
    if (child == 0) {
      failures = 0, read_all (g);
      _exit (failures != 0);
    }
    CHECK (child_failed (child) == 0);
  }
  is_over = 1;
  pthread_join (thread, NULL);
#endif
}

#if !defined SCDA_SERIAL && MPI_VERSION >= 4
/* Without MPI_COMM_WORLD, which CHECK needs. */
#define RIGHT(cond) ((cond) ? (void) 0 : (void) (++failures, fprintf (stderr, "line %d: %s\n", __LINE__, scda_last_error_message ())))

/* One: MPICH 4.0 cannot begin a second one. */
static int sessions (void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int err = 0, flag = 1;
  MPI_Session_init (MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset (session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group (group, "org.scda.test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Initialized (&flag);
  const group_t g = group_of (comm);
  scda_params_t params;
  scda_params_init (&params);
  params.driver = SCDA_DRIVER_POSIX; /* MPICH 4.0 has no MPI-IO without MPI_Init */
  scda_fcontext_t *f = scda_fopen_write (comm, path, "session", NULL, &params, &err);
  f = write_some (f, &err);
  RIGHT (!flag && f != NULL && scda_fclose (f, &err) == 0);
  read_all (g);
  /* A file that is open when the session ends. */
  f = scda_fopen_read (comm, path, NULL, NULL, NULL, &err);
  RIGHT (f != NULL);
  MPI_Comm_free (&comm), MPI_Group_free (&group), MPI_Session_finalize (&session);
  RIGHT (scda_fclose (f, &err) == 0);
  f = scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, &err);
  RIGHT (f == NULL && err == SCDA_ERR_USAGE);
  return failures != 0;
}
#else
static int sessions (void) { return 77; }
#endif

int main (int argc, char **argv) {
  REQUIRE (argc == 3);
  for (int i = 0; i < 3000; ++i) { numbers[i] = i; }
  snprintf (path, sizeof path, "%s/process.scda", argv[2]);
  if (strcmp (argv[1], "session") == 0) { return sessions (); }
  start (&argc, &argv);
  if (strcmp (argv[1], "fork") == 0) {
    forked (world ());
  } else {
    descriptors (world ());
  }
  return finish ();
}
