/* What the programs that killed_append.py kills have in common: their arguments, the file that is appended to, and how a rank is killed. */
#ifndef KILLED_APPEND_H
#define KILLED_APPEND_H
#include "common.h"
#include "inject.h"

#include <fcntl.h>

static char filename[1200], committed[1200];
static char **victim; /* CALL, HOW, RANK */

/* Whether what is left is that of a loss of power, by powerless.py: only what was synced is certain. */
static int is_powerless (void) { return getenv ("SCDA_POWERLESS") != NULL; }

/* How much was committed, for DIR/committed. */
static void note_committed (uint64_t number) {
  char text[40];
  const int fd = open (committed, O_WRONLY | O_CREAT | (is_powerless () ? O_SYNC : 0), 0666);
  snprintf (text, sizeof text, "%20llu\n", (unsigned long long) number);
  REQUIRE (fd >= 0 && write (fd, text, 21) == 21 && close (fd) == 0);
}

/* From here on calls count; one of them kills. */
static void arm (group_t g) {
  const int rank = atoi (victim[2]);
  if (atoi (victim[0]) > 0 && (rank < 0 || rank == g.rank)) {
    inject_arm ("*", atoi (victim[1]) ? inject_tear : inject_kill, atol (victim[0]));
  }
}

/* The program. `append` appends, and calls `arm`; `check` removes what is not whole, verifies what is left, and returns how much that is:
 * at least what was committed. */
static int run (int argc, char **argv, void (*append) (group_t, const scda_params_t *),
                uint64_t (*check) (group_t, scda_params_t *, uint64_t least, uint64_t *cut)) {
  start (&argc, &argv);
  REQUIRE (argc >= 3);
  const group_t g = world ();
  scda_params_t params = default_params ();
  snprintf (filename, sizeof filename, "%s/series.scda", argv[2]);
  snprintf (committed, sizeof committed, "%s/committed", argv[2]);
  params.seal = 1;
  params.hdf5 = 2;
  params.sync = is_powerless ();
  if (strcmp (argv[1], "check") == 0) {
    unsigned long long least = 0;
    uint64_t cut = 0;
    FILE *file = fopen (committed, "r");
    REQUIRE (file == NULL || (fscanf (file, "%llu", &least) == 1 && fclose (file) == 0));
    const uint64_t kept = check (g, &params, least, &cut);
    REQUIRE (kept >= least);
    printf ("%llu %llu %llu\n", least, (unsigned long long) kept, (unsigned long long) cut);
    return finish ();
  }
  REQUIRE (argc == 8);
  params.driver = atoi (argv[3]), params.atomic = atoi (argv[4]);
  if (access (filename, F_OK) != 0) {
    int err = -1;
    barrier (g);
    scda_fcontext_t *f = scda_fopen_write (g.comm, filename, "series", NULL, &params, &err);
    REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
  }
  char name[1300];
  snprintf (name, sizeof name, "%s/pid.%d", argv[2], g.rank);
  FILE *file = fopen (name, "w");
  REQUIRE (file != NULL && fprintf (file, "%ld\n", (long) getpid ()) > 0 && fclose (file) == 0);
  barrier (g);
  victim = argv + 5;
  append (g, &params);
  inject_disarm ();
  /* A rank that is killed in MPI_Finalize leaves the others waiting there. */
  barrier (g);
  REQUIRE (unlink (name) == 0);
  barrier (g);
  return finish ();
}

#endif
