/* Some call below fails on some rank, as often as the fault injection says: all ranks get the same error, none hangs,
 * nothing is left open, an atomic commit leaves the old file or the new one, and of a sealed file nothing is lost that was
 * committed.
 *
 *   faults DIR */
#define _POSIX_C_SOURCE 200112L /* setenv */
#include "inject.h"
#include "sections.h"

/* After each call: the same on all ranks; and go on only without error. */
static int go_on (group_t g, scda_fcontext_t *f, int err) {
  CHECK (all_same (g, (uint64_t) err) && all_same (g, f == NULL) && (f == NULL) == (err != 0));
  CHECK (err == 0 || *scda_last_error_message () != 0);
  return f != NULL;
}

/* Write the file, or append to it, with a commit in the midst if it is sealed. Counts the sections that are committed. */
static int write_all (group_t g, const char *filename, const scda_params_t *params, uint64_t seed, uint64_t *committed) {
  uint64_t rng = seed, *Nq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Nq);
  static char data[1000 * 100];
  uint64_t Ei[1000];
  int err = -1;
  memset (data, 'd', sizeof data);
  for (int i = 0; i < 1000; ++i) { Ei[i] = (uint64_t) (i % 100); }
  const int seal = params != NULL && params->seal, append = seal && *committed > 0;
  const uint64_t before = seal ? *committed : 0;
  scda_fcontext_t *f = append ? scda_fopen_append (g.comm, filename, NULL, NULL, params, &err)
                              : scda_fopen_write (g.comm, filename, "faults", NULL, params != NULL ? params : bare (), &err);
  for (int k = 0; k < 8 && go_on (g, f, err); ++k) {
    const int encode = k % 3;
    if (seal && k == 4) {
      f = scda_fcommit (f, &err);
      if (!go_on (g, f, err)) { break; }
      if (!params->atomic) { *committed = before + 4; }
    }
    partition (&rng, 1000, g.size, Nq);
    if (k % 4 == 0) { f = scda_fwrite_inline (f, data, "x", NULL, k % g.size, &err); }
    if (k % 4 == 1) { f = scda_fwrite_block (f, data, sizeof data, "x", NULL, k % g.size, encode, &err); }
    if (k % 4 == 2) { f = scda_fwrite_array (f, data, Nq, 100, 0, "x", NULL, encode, &err); }
    if (k % 4 == 3) { f = scda_fwrite_varray (f, data, Nq, Ei + first_of (Nq, g.rank), NULL, 0, "x", NULL, encode, &err); }
  }
  if (err == 0) { CHECK ((scda_fclose (f, &err) == 0) == (err == 0)); }
  CHECK (all_same (g, (uint64_t) err));
  if (seal && err == 0) { *committed = before + 8; }
  free (Nq);
  return err;
}

static int read_all (group_t g, const char *filename, const scda_params_t *params, uint64_t seed) {
  uint64_t rng = seed, *Nq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Nq), N, E, Ei[1000];
  static char data[1000 * 100];
  char type = 0, user[SCDA_USER_STRING_BYTES + 1];
  int err = -1, decode;
  scda_fcontext_t *f = scda_fopen_read (g.comm, filename, user, NULL, params, &err);
  if (params != NULL && params->verify && go_on (g, f, err)) {
    f = scda_frefresh (f, NULL, &err);
    if (go_on (g, f, err)) { f = scda_fsections (f, &N, &err); }
    if (go_on (g, f, err)) { f = scda_fseek (f, N / 2, &err); }
    if (go_on (g, f, err)) { f = scda_ffind (f, "x", NULL, -2, NULL, &N, &err); }
  }
  while (go_on (g, f, err) && !info_of (f).at_end) {
    decode = 1;
    f = scda_fread_section_header (f, &type, &N, &E, NULL, NULL, &decode, &err);
    if (!go_on (g, f, err)) { break; }
    partition (&rng, N, g.size, Nq);
    if (type == 'I') { f = scda_fread_inline_data (f, data, 0, &err); }
    if (type == 'B') { f = scda_fread_block_data (f, data, E, 0, &err); }
    if (type == 'A' && seed % 2) { f = scda_fread_array_range (f, data, first_of (Nq, g.rank), Nq[g.rank], E, 0, &err); }
    if (type == 'A' && go_on (g, f, err)) { f = scda_fread_array_data (f, seed % 2 ? NULL : data, Nq, E, 0, &err); }
    if (type == 'V') {
      f = scda_fread_varray_sizes (f, Ei, Nq, &err);
      if (go_on (g, f, err)) { f = scda_fread_varray_data (f, data, Nq, Ei, NULL, 0, &err); }
    }
  }
  if (err == 0) { CHECK ((scda_fclose (f, &err) == 0) == (err == 0)); }
  CHECK (all_same (g, (uint64_t) err));
  free (Nq);
  return err;
}

/* After faults, the file can be appended to, has all that was committed, and not a bit is wrong. */
static void recover (group_t g, const char *filename, uint64_t committed) {
  scda_params_t params = default_params ();
  uint64_t N = 0;
  int err = -1;
  params.seal = 1;
  scda_fcontext_t *f = scda_fopen_append (g.comm, filename, NULL, NULL, &params, &err);
  REQUIRE (go_on (g, f, err) && scda_fclose (f, &err) == 0 && err == 0);
  params.verify = 1;
  f = scda_fopen_read (g.comm, filename, NULL, NULL, &params, &err);
  REQUIRE (go_on (g, f, err));
  f = scda_fsections (f, &N, &err);
  REQUIRE (go_on (g, f, err) && scda_fclose (f, &err) == 0 && err == 0);
  CHECK (N >= committed);
  CHECK (read_all (g, filename, &params, 4) == 0);
}

/* Each rank has other faults. */
static uint64_t seed_of (group_t g, uint64_t seed) { return seed ^ ((uint64_t) g.rank * 0xA24BAED4963EE407u); }

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2);
  const group_t g = world ();
  const int drivers[] = {SCDA_DRIVER_POSIX, driver_mpiio};
  char good[1024], filename[1024];
  scda_params_t params = default_params ();
  int faults = 0, runs = 0;
  snprintf (good, sizeof good, "%s/good.scda", argv[1]);
  snprintf (filename, sizeof filename, "%s/faulty.scda", argv[1]);
  REQUIRE (write_all (g, good, NULL, 1, NULL) == 0 && write_all (g, filename, NULL, 2, NULL) == 0 && read_all (g, good, NULL, 3) == 0);
  /* A sealed file, to which each run appends. */
  char sealed[1024];
  uint64_t committed = 0;
  snprintf (sealed, sizeof sealed, "%s/sealed.scda", argv[1]);
  params.seal = 1;
  REQUIRE (write_all (g, sealed, &params, 1, &committed) == 0 && committed == 8);
  const int files = entries (argv[1]), descriptors = entries ("/proc/self/fd");

  for (uint64_t seed = 0; seed < 60; ++seed) {
    for (int d = 0; d < 2; ++d) {
      params = default_params ();
      params.driver = drivers[d];
      params.atomic = 1;
      params.check = seed % 3 == 0;
      if (seed % 2) { params.aggregation_bytes = 0; }
      inject_random (1 + seed / 2, seed_of (g, seed));
      faults += write_all (g, filename, &params, seed, NULL) != 0;
      barrier (g);
      /* The old file and the new have the same content: whichever it is, it is whole. */
      CHECK (files_equal (filename, good, 0) && entries (argv[1]) == files);
      barrier (g);
      faults += read_all (g, good, &params, seed) != 0;
      runs += 2;
      inject_disarm ();
      if ((int) (seed / 2 % 2) == d) { continue; } /* appending by one driver is enough each time */
      params.seal = 1, params.atomic = seed % 5 == 1;
      if (committed > 100) { /* begin anew */
        scda_params_t sure = default_params ();
        sure.seal = 1, committed = 0;
        REQUIRE (write_all (g, sealed, &sure, 1, &committed) == 0);
      }
      inject_random (1 + seed / 2, seed_of (g, seed));
      faults += write_all (g, sealed, &params, seed, &committed) != 0;
      inject_disarm ();
      barrier (g);
      CHECK (entries (argv[1]) == files);
      recover (g, sealed, committed);
      params.verify = 1;
      inject_random (1 + seed / 2, seed_of (g, seed));
      faults += read_all (g, sealed, &params, seed) != 0;
      inject_disarm ();
      runs += 2;
    }
  }
  CHECK (entries ("/proc/self/fd") <= descriptors + 8); /* Open MPI 6 keeps some; each fault that leaves one would add hundreds */
  CHECK (faults > 0 && faults < runs);
  /* No variable of the environment lets a library fail that a program uses in earnest. */
  setenv ("SCDA_FAULTS", "1", 1);
  CHECK (read_all (g, good, NULL, 0) == 0);
  if (g.rank == 0) { printf ("%d of %d runs met a fault\n", faults, runs); }
  return finish ();
}
