/* Each call of the system and of MPI that the library makes fails, in its turn, on one rank or on all: every rank gets the
 * same error, none hangs, the file under the name is whole if the library says so or if it is written atomically, and
 * nothing is left open.
 *
 *   injected DIR [CALL HOW]    all calls, or one only: see `cases`
 *
 * The program is linked with inject.c before everything else, so that the calls of all libraries go through it. */
#include "everything.h"
#include "inject.h"

#include <signal.h>

enum { patience = 240 }; /* seconds for one case: other programs may have the cores */

typedef struct {
  const char *call;
  int how;
  int must_fail; /* 1: success would be a lie. 2: with the POSIX driver. 0: it is no error if the file is whole. */
} case_t;

static const case_t cases[] = {
  {"pwrite", inject_error, 1},
  {"pwrite", inject_no_space, 1},
  {"pwrite", inject_quota, 1},
  {"pwrite", inject_always, 1},
  {"pwrite", inject_interrupt, 0},
  {"pwrite", inject_short, 0},
  {"pread", inject_error, 1},
  {"pread", inject_interrupt, 0},
  {"pread", inject_short, 0},
  {"fsync", inject_error, 1},
  {"fsync", inject_interrupt, 0},
  {"ftruncate", inject_error, 0},
  {"lock", inject_error, 0},
  {"lock", inject_interrupt, 0},
  {"rename", inject_error, 1},
  {"rename", inject_interrupt, 0},
  {"rename", inject_after, 0},
  {"unlink", inject_error, 0},
  {"open", inject_error, 0},
  {"open", inject_interrupt, 0},
  {"close", inject_error, 0},
  {"stat", inject_error, 0},
  {"stat", inject_interrupt, 0},
  {"fstat", inject_error, 0},
  {"fstat", inject_interrupt, 0},
  {"fchmod", inject_error, 2},
  {"fchmod", inject_interrupt, 0},
#ifndef SCDA_SERIAL
  {"MPI_Allreduce", inject_after, 0},
  {"MPI_Allreduce", inject_error, 0},
  {"MPI_Bcast", inject_after, 0},
  {"MPI_Reduce", inject_after, 1},
  {"MPI_Exscan", inject_after, 0},
  {"MPI_Allgather", inject_after, 0},
  {"MPI_Gather", inject_after, 0},
  {"MPI_Gatherv", inject_after, 0},
  {"MPI_Alltoall", inject_after, 1},
  {"MPI_Sendrecv", inject_after, 1},
  {"MPI_Send", inject_after, 1},
  {"MPI_Recv", inject_after, 1},
  {"MPI_Comm_dup", inject_after, 0},
  {"MPI_Comm_free", inject_after, 0},
  {"MPI_Get_library_version", inject_error, 0},
  {"MPI_Comm_set_errhandler", inject_error, 0},
  {"MPI_Comm_rank", inject_error, 0},
  {"MPI_Comm_size", inject_error, 0},
  {"MPI_Comm_test_inter", inject_error, 0},
  {"MPI_Comm_split_type", inject_after, 0},
  {"MPI_Comm_split", inject_after, 0},
  {"MPI_Win_allocate_shared", inject_after, 0},
  {"MPI_Win_shared_query", inject_error, 0},
  {"MPI_Win_lock_all", inject_error, 0},
  {"MPI_Win_unlock_all", inject_after, 0},
  {"MPI_Win_sync", inject_error, 0},
  {"MPI_Win_free", inject_after, 0},
  {"MPI_Win_set_errhandler", inject_error, 0},
  {"MPI_Info_create", inject_error, 0},
  {"MPI_Info_dup", inject_error, 0},
  {"MPI_Info_set", inject_error, 0},
  {"MPI_Info_free", inject_after, 0},
  {"MPI_File_open", inject_after, 1},
  {"MPI_File_close", inject_after, 1},
  {"MPI_File_write_at", inject_error, 1},
  {"MPI_File_write_at", inject_after, 1},
  {"MPI_File_read_at", inject_error, 1},
  {"MPI_File_set_size", inject_after, 1},
  {"MPI_File_sync", inject_after, 1},
  {"MPI_File_set_errhandler", inject_error, 0},
  {"MPI_Get_count", inject_error, 1},
#endif
};

static char *const hows[] = {"error", "no_space", "quota", "interrupt", "short", "after", "always"};

static group_t g;
static char now[200]; /* the case that runs */

/* Too long: the ranks wait for each other. */
static void hangs (int number) {
  static const char words[] = " hangs\n";
  (void) number;
  if (write (2, now, strlen (now)) < 0 || write (2, words, sizeof words - 1) < 0) { _exit (4); }
  die ();
}

enum { reading, writing, appending };
static const char *const whats[] = {"reading", "writing", "appending"};
static char good[1200], torn[1200], appended[1200]; /* files in the folder, and those that are written and appended to */
static char written[1200], grown[1200];
static long kept; /* the bytes of `torn` up to its seal */

/* The first bytes of a file, at most `*length`; to be freed. */
static char *content (const char *name, long *length) {
  FILE *file = fopen (name, "rb");
  char *data = (char *) get_memory ((uint64_t) *length + 100);
  REQUIRE (file != NULL);
  *length = (long) fread (data, 1, (size_t) *length, file);
  fclose (file);
  return data;
}

/* A new file: where the old one is removed instead, ext4 writes the data to the disk at once. */
static void put_content (const char *name, const char *data, long length) {
  unlink (name);
  FILE *file = fopen (name, "wb");
  REQUIRE (file != NULL && fwrite (data, 1, (size_t) length, file) == (size_t) length && fclose (file) == 0);
}

/* Whether a file begins as the torn one does; all of it, if it is to be as it was. */
static int keeps (const char *name, int all) {
  long length = all ? kept + 100 : kept, own = length + 1;
  char *before = content (torn, &length), *now = content (name, &own);
  const int result = own >= length && (!all || own == length) && memcmp (before, now, (size_t) length) == 0;
  free (before);
  free (now);
  return result;
}

static long cases_run, cases_failed;

/* True if there are no more descriptors than before. Open MPI 6 opens some, once, when it first needs them. */
static int closed_all (int before) {
  static int has_grown;
  if (entries ("/proc/self/fd") <= before) { return 1; }
  return !has_grown++;
}

/* One case on all ranks. Returns whether the call was made so often that it failed. */
static int run_case (const case_t *c, long k, int rank, int what, int driver, uint64_t aggregation, int atomic,
                     const char *dir) {
  scda_params_t params = default_params ();
  int hits = 0, err;
  params.driver = driver, params.aggregation_bytes = aggregation, params.atomic = atomic, params.check = 0;
  params.seal = what == appending;
  const char *const filename = what == appending ? grown : written;
  snprintf (now, sizeof now, "%s %s: call %ld on rank %d of %d, %s, driver %d, aggregation %d, atomic %d", c->call,
            hows[c->how], k, rank, g.size, whats[what], driver, (int) aggregation, atomic);
  const int files = entries (dir), descriptors = entries ("/proc/self/fd");
  const long balance = inject_balance;
  barrier (g);
  if (what == appending && g.rank == 0) {
    long length = kept + 100;
    char *data = content (torn, &length);
    put_content (filename, data, length);
    free (data);
  }
  if (what == writing && !atomic && strcmp (c->call, "fsync") == 0) { /* a new file, whose folder is synced, too */
    params.sync = 1;
    if (g.rank == 0) { REQUIRE (unlink (filename) == 0); }
  }
  barrier (g);
  if (rank < 0 || rank == g.rank) { inject_arm (c->call, c->how, k); }
  alarm (patience);
  err = what == writing ? write_everything (g, filename, &params) : what == appending ? append_everything (g, filename, &params)
                                                                                : read_everything (g, good, &params);
  hits = inject_disarm ();
  const int hit = all_max (g, (uint64_t) hits) > 0;
  alarm (0);
  ++cases_run, cases_failed += err != 0;
  const int same = all_same (g, (uint64_t) err);
  const int why = c->how == inject_no_space ? SCDA_ERR_NO_SPACE : c->how == inject_quota ? SCDA_ERR_QUOTA : 0;
  /* A lock is not needed; nothing but a full disk has no space, a whole file is not short, and what was moved in part is moved on. */
  const int posix = driver == SCDA_DRIVER_POSIX;
  const int is_true = err != SCDA_ERR_COUNT && (err != SCDA_ERR_NO_SPACE || c->how == inject_no_space)
                   && (err == 0 || (c->how != inject_short && !(posix && c->how == inject_interrupt)))
                   && (err == 0 || strcmp (c->call, "lock") != 0);
  const int told = !hit || !c->must_fail || (c->must_fail == 2 && !posix) || (why != 0 && posix ? err == why : err != 0);
  int whole = what == reading || (err != 0 && !atomic) || files_equal (filename, good, 0);
  if (what == appending) { whole = files_equal (filename, appended, 0) || (err != 0 && keeps (filename, atomic)); }
  const int clean = entries (dir) == files && closed_all (descriptors) && inject_balance <= balance;
  if (!same || !is_true || !told || !whole || !clean || (!hit && err != 0)) {
    fprintf (stderr, "%s (seen from %d): error %d%s%s%s%s%s: %s\n", now, g.rank, err, same ? "" : ", codes differ", is_true ? "" : ", which is not so",
             told ? "" : ", the fault is not told, or not why", whole ? "" : ", the file is not whole", clean ? "" : ", something is left",
             err ? scda_last_error_message () : "");
    if (!clean) {
      fprintf (stderr, "  files %d, were %d; descriptors %d, were %d; of MPI %ld, were %ld\n", entries (dir), files,
               entries ("/proc/self/fd"), descriptors, inject_balance, balance);
    }
    ++failures;
  }
  barrier (g);
  if (g.rank == 0 && c->how == inject_error && strcmp (c->call, "unlink") == 0) { /* what could not be removed */
    char part[1300];
    snprintf (part, sizeof part, "%s.scda-part", filename);
    unlink (part);
  }
  barrier (g);
  return hit;
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2 || argc == 4);
  g = world ();
  signal (SIGALRM, hangs);
  snprintf (good, sizeof good, "%s/good.scda", argv[1]);
  snprintf (written, sizeof written, "%s/injected.scda", argv[1]);
  snprintf (grown, sizeof grown, "%s/grown.scda", argv[1]);
  snprintf (torn, sizeof torn, "%s/torn.scda", argv[1]);
  snprintf (appended, sizeof appended, "%s/appended.scda", argv[1]);
  /* Something is there already, so that it must be made empty. */
  REQUIRE (write_everything (g, good, NULL) == 0 && write_everything (g, written, NULL) == 0 && read_everything (g, good, NULL) == 0);

  /* A sealed file after which a job was killed; and what it is when somebody has appended to it. */
  scda_params_t params = default_params ();
  params.seal = 1;
  REQUIRE (write_everything (g, torn, &params) == 0 && write_everything (g, appended, &params) == 0);
  REQUIRE (write_everything (g, grown, &params) == 0);
  REQUIRE (append_everything (g, appended, &params) == 0);
  if (g.rank == 0) {
    kept = 1 << 20; /* it has less */
    char *data = content (torn, &kept);
    REQUIRE (kept < 1 << 20);
    memset (data + kept, '?', 100);
    put_content (torn, data, kept + 100);
    free (data);
  }
  kept = (long) all_max (g, (uint64_t) kept);

  /* With INJECTED_STEP=n each n-th call fails, on all ranks from the first on, on one from another one in each case; and of the programs
     each third in turn. */
  const char *every = getenv ("INJECTED_STEP");
  const long step = every == NULL ? 1 : atol (every);
  REQUIRE (step > 0);
  const int drivers[] = {SCDA_DRIVER_POSIX, driver_mpiio};
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    const case_t *c = &cases[i];
    if (argc == 4 && (strcmp (argv[2], c->call) != 0 || strcmp (argv[3], hows[c->how]) != 0)) { continue; }
    long met = 0;
    for (int which = 0; which < 11; ++which) {
      if (step > 1 && (i + (unsigned) which) % 3 != 0) { continue; }
      const int what = which >= 8 ? appending : which % 2 == 0 ? writing : reading, driver = drivers[which < 8 ? which / 2 % 2 : which % 2];
      const uint64_t aggregation = which < 4 ? 64 << 10 : 0;
      const int atomic = which < 8 ? which / 2 % 2 == which / 4 : which > 8; /* POSIX both, MPI-IO to a copy */
      const int other = 1 + (int) ((i + (unsigned) which) % (unsigned) (g.size > 1 ? g.size - 1 : 1));
      for (int rank = -1; rank < g.size; ++rank) {
        if (g.size > 3 && rank > 0 && rank != other) { continue; } /* all, the first, and one of the others in turn */
        /* A rank that fails inside MPI_File_open or _close may leave the others waiting there: docs/reliability.md. */
        const int collective = strcmp (c->call, "open") == 0 || strcmp (c->call, "close") == 0;
        if (collective && driver == driver_mpiio && driver != SCDA_DRIVER_AUTO) { continue; }
        long k = rank < 0 ? 1 : 1 + (long) (i + (unsigned) which + (unsigned) rank) % step;
        while (run_case (c, k, rank, what, driver, aggregation, atomic, argv[1])) { k += step, ++met; }
        if (step == 1 && rank == 0 && what == writing && driver == SCDA_DRIVER_POSIX && strcmp (c->call, "fsync") == 0) {
          CHECK (k - 1 == 2); /* the file, and its folder */
        }
      }
    }
    if (g.rank == 0) { printf ("%s %s: %ld\n", c->call, hows[c->how], met), fflush (stdout); }
    const int is_message = strcmp (c->call, "MPI_Sendrecv") == 0 || strcmp (c->call, "MPI_Send") == 0 || strcmp (c->call, "MPI_Recv") == 0;
    CHECK (!is_message || g.size == 1 || met > 0); /* datasets are exchanged */
  }
  const long other_cases = (long) all_max (g, (uint64_t) cases_run);
  if (g.rank == 0) { printf ("%ld cases, %ld of them errors\n", other_cases, cases_failed); }
  CHECK (cases_run == other_cases && (cases_failed > 0 || argc == 4));
  return finish ();
}
