/* One name is one file, on all ranks and for all who write it: names with a colon, long names, names that are other files on some
 * rank, file systems that are not coherent between nodes, two who write at once.
 *
 *   one_file FOLDER     in a new folder; SCDA_NODE_RANKS=1 makes each rank a node */
#define _GNU_SOURCE
#include "common.h"

#include <sys/stat.h>

static group_t g;
static const int drivers[] = {SCDA_DRIVER_AUTO, driver_mpiio, SCDA_DRIVER_POSIX};

static scda_params_t params_of (int driver, int atomic) {
  scda_params_t params = default_params ();
  params.driver = drivers[driver], params.atomic = atomic, params.seal = 1;
  return params;
}

/* Writes a file that says who has written it, or appends that to it. The code of the first error, the same on all ranks. */
static int write_file (const char *name, int driver, int atomic, int appends) {
  scda_params_t params = params_of (driver, atomic);
  int err, closed;
  scda_fcontext_t *f = appends ? scda_fopen_append (g.comm, name, NULL, NULL, &params, &err)
                               : scda_fopen_write (g.comm, name, "one file", NULL, &params, &err);
  uint64_t *counts = get_memory (8 * (uint64_t) g.size);
  for (int p = 0; p < g.size; ++p) { counts[p] = 1000; }
  char data[1000];
  memset (data, 'a' + g.rank % 26, sizeof data);
  if (err == 0) { f = scda_fwrite_array (f, data, counts, 1, 0, "data", NULL, SCDA_ENCODE_NONE, &err); }
  scda_fclose (f, &closed);
  free (counts);
  err = err != 0 ? err : closed;
  CHECK (all_same (g, (uint64_t) err));
  return err;
}

static int read_file (const char *name, int driver) {
  scda_params_t params = params_of (driver, 0);
  int err, closed;
  scda_fcontext_t *f = scda_fopen_read (g.comm, name, NULL, NULL, &params, &err);
  scda_fclose (f, &closed);
  CHECK (all_same (g, (uint64_t) err));
  return err;
}

/* What a file is before somebody else's name is written. */
static const char decoy[] = "of somebody else";

static void put_decoy (const char *name) {
  FILE *file = fopen (name, "w");
  REQUIRE (file != NULL && fputs (decoy, file) >= 0 && fclose (file) == 0);
}

static int is_decoy (const char *name) {
  char found[sizeof decoy] = "";
  FILE *file = fopen (name, "r");
  if (file == NULL) { return 0; }
  size_t n = fread (found, 1, sizeof decoy, file);
  fclose (file);
  return n == sizeof decoy - 1 && memcmp (found, decoy, n) == 0;
}

/* MPI-IO that is ROMIO removes what precedes a colon, if the program asks for MPI-IO; nobody else. */
static void names (void) {
  static const char *const with_colon[] = {"nfs:a.scda", "UFS:a.scda", "run:a.scda", "./nfs:a.scda"};
#if defined(SCDA_SERIAL) || defined(OPEN_MPI)
  const int is_romio = 0;
#else
  const int is_romio = 1;
#endif
  for (int name = 0; name < 4; ++name) {
    for (int driver = 0; driver < 3; ++driver) {
      for (int atomic = 0; atomic < 2; ++atomic) {
        const int strips = is_romio && name < 2 && drivers[driver] == driver_mpiio && driver_mpiio != SCDA_DRIVER_AUTO;
        if (g.rank == 0) { put_decoy ("a.scda"); }
        barrier (g);
        CHECK (write_file (with_colon[name], driver, atomic, 0) == 0);
        CHECK (write_file (with_colon[name], driver, atomic, 1) == 0);
        CHECK (read_file (with_colon[name], driver) == 0);
        if (g.rank == 0) {
          CHECK (is_decoy ("a.scda") == !strips);
          CHECK ((remove (with_colon[name]) == 0) == !strips);
          CHECK (remove ("a.scda") == 0);
          CHECK (entries (".") == 2);
        }
        barrier (g);
      }
    }
  }
}

/* A path that Open MPI cannot take leaves what is there. */
static void long_names (void) {
  char folder[121], name[400];
  memset (folder, 'd', 120);
  folder[120] = 0;
  snprintf (name, sizeof name, "%s/%s", folder, folder);
  if (g.rank == 0) { CHECK (mkdir (folder, 0777) == 0 && mkdir (name, 0777) == 0); }
  barrier (g);
  snprintf (name, sizeof name, "%s/%s/a.scda", folder, folder);
  for (int driver = 0; driver < 3; ++driver) {
    for (int atomic = 0; atomic < 2; ++atomic) {
#ifdef OPEN_MPI
      if (drivers[driver] == SCDA_DRIVER_MPIIO) {
        if (g.rank == 0) { put_decoy (name); }
        barrier (g);
        CHECK (write_file (name, driver, atomic, 0) == SCDA_ERR_ARG);
        CHECK (g.rank > 0 || is_decoy (name));
        CHECK (read_file (name, driver) == SCDA_ERR_ARG);
        continue;
      }
#endif
      CHECK (write_file (name, driver, atomic, 0) == 0);
      CHECK (read_file (name, driver) == 0);
    }
  }
}

/* Each rank has a folder of its own, in which the name is another file, or none. */
static void other_files (void) {
  for (int has_file = 0; has_file < 3; ++has_file) { /* nobody; all; rank 0 */
    for (int driver = 0; driver < 3; ++driver) {
      for (int how = 0; how < 5; ++how) { /* created, appended to, each atomically, too; read */
        char folder[80];
        snprintf (folder, sizeof folder, "rank-%d", g.rank);
        CHECK (mkdir (folder, 0777) == 0 && chdir (folder) == 0);
        const int is_there = has_file == 1 || (has_file == 2 && g.rank == 0);
        if (is_there) { put_decoy ("b.scda"); }
        barrier (g);
        const int err = how == 4 ? read_file ("b.scda", driver) : write_file ("b.scda", driver, how % 2, how / 2);
        /* Nothing to append to or to read is no such file only where rank 0 finds none. */
        CHECK (err == (has_file == 0 && how >= 2 ? SCDA_ERR_NO_SUCH_FILE : SCDA_ERR_BAD_FILE));
        CHECK (!is_there || is_decoy ("b.scda"));
        barrier (g);
        CHECK (entries (".") <= 3);
        remove ("b.scda");
        CHECK (chdir ("..") == 0 && rmdir (folder) == 0);
      }
    }
  }
}

/* Files that are not coherent between nodes: POSIX is refused to write, and one lock holds for all drivers. */
static void not_coherent (void) {
  const int is_refused = getenv ("SCDA_NODE_RANKS") != NULL && g.size > 1;
  for (int coherent = 0; coherent < 2; ++coherent) {
    CHECK (setenv ("SCDA_COHERENT", coherent ? "1" : "0", 1) == 0);
    for (int driver = 0; driver < 3; ++driver) {
      for (int atomic = 0; atomic < 2; ++atomic) {
        const int expected = !coherent && is_refused && driver == 2 ? SCDA_ERR_ARG : 0;
        CHECK (write_file ("c.scda", driver == 2 ? 0 : driver, 0, 0) == 0);
        CHECK (write_file ("c.scda", driver, atomic, 0) == expected);
        CHECK (write_file ("c.scda", driver, atomic, 1) == expected);
        CHECK (read_file ("c.scda", driver) == 0);
        /* While it is open, nobody else writes it. */
        for (int appends = 0; appends < 2 && expected == 0; ++appends) {
          scda_params_t params = params_of (driver, atomic);
          int err;
          scda_fcontext_t *f = appends ? scda_fopen_append (g.comm, "c.scda", NULL, NULL, &params, &err)
                                       : scda_fopen_write (g.comm, "c.scda", "", NULL, &params, &err);
          CHECK (err == 0);
          for (int other = 0; other < 12; ++other) {
            if (!coherent && is_refused && other % 3 == 2) { continue; }
            CHECK (write_file ("c.scda", other % 3, other / 3 % 2, other / 6) == SCDA_ERR_FILE_IN_USE);
          }
          CHECK (scda_fclose (f, &err) == 0);
        }
        barrier (g);
        CHECK (g.rank > 0 || entries (".") == 3);
        barrier (g);
      }
    }
  }
}

/* A variable of the environment that is malformed on one rank is an error on all, to whatever ranks it matters, and no file is made. */
static void malformed (void) {
  static const char *const names[] = {
    "SCDA_IO",           "SCDA_COHERENT",         "SCDA_CHECK",      "SCDA_SHARED_MEMORY", "SCDA_WRITERS_PER_NODE",
    "SCDA_STRIPE_BYTES", "SCDA_BACKGROUND_BYTES", "SCDA_STATISTICS", "SCDA_NODE_RANKS",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    const char *before = getenv (names[i]);
    char kept[100];
    snprintf (kept, sizeof kept, "%s", before == NULL ? "" : before);
    if (g.rank + 1 == g.size) { CHECK (setenv (names[i], "maybe", 1) == 0); }
    CHECK (write_file ("malformed.scda", 0, 0, 0) == SCDA_ERR_ARG);
    CHECK (read_file ("malformed.scda", 0) == SCDA_ERR_ARG);
    CHECK (entries (".") == 2); /* itself and its parent */
    if (before == NULL) { unsetenv (names[i]); }
    else { CHECK (setenv (names[i], kept, 1) == 0); }
  }
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2);
  g = world ();
  unsetenv ("SCDA_IO");
  static void (*const parts[]) (void) = {names, long_names, other_files, not_coherent, malformed};
  for (int part = 0; part < 5; ++part) {
    char folder[1300];
    snprintf (folder, sizeof folder, "%s/%d", argv[1], part);
    if (g.rank == 0) { mkdir (argv[1], 0777), REQUIRE (mkdir (folder, 0777) == 0); }
    barrier (g);
    REQUIRE (chdir (folder) == 0);
    if (part != 2 || g.size > 1) { parts[part] (); }
    barrier (g);
  }
  return finish ();
}
