/* A full disk is reported on all ranks, at the latest on closing; and an atomic commit keeps the old file.
 *
 *   fulldisk limit DIR     no file may grow beyond a limit (setrlimit)
 *   fulldisk small DIR     DIR is on a file system of a few MiB (fulldisk.sh makes one)
 *   fulldisk edges DIR     the same, and of all sizes: the disk fills at each page of the file in turn
 *   fulldisk device DIR    a device like /dev/full is made in DIR */
#include "everything.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/sysmacros.h>

enum { room = 8 << 20, too_much = 32 << 20, chunk = 1 << 18, old_bytes = 224 };

/* Write more than fits: one large array, or many small ones. Returns the error. */
static int overfill (group_t g, const char *filename, const scda_params_t *params, uint64_t bytes_each) {
  uint64_t *Nq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Nq);
  unsigned char *data = (unsigned char *) calloc (1, (size_t) bytes_each);
  int err = -1;
  for (int p = 0; p < g.size; ++p) { Nq[p] = 1; }
  scda_fcontext_t *f = scda_fopen_write (g.comm, filename, "too much", NULL, params != NULL ? params : bare (), &err);
  const uint64_t sections = too_much / (bytes_each * (uint64_t) g.size) + 1;
  for (uint64_t i = 0; f != NULL && i < sections; ++i) {
    f = scda_fwrite_array (f, data, Nq, bytes_each, 0, "x", NULL, SCDA_ENCODE_NONE, &err);
    CHECK ((f == NULL) == (err != 0));
  }
  if (f != NULL) { CHECK (scda_fclose (f, &err) != 0); }
  free (Nq), free (data);
  return err;
}

static void write_old (group_t g, const char *filename) {
  int err = -1;
  scda_fcontext_t *f = scda_fopen_write (g.comm, filename, "the old one", NULL, bare (), &err);
  REQUIRE (f != NULL);
  f = scda_fwrite_inline (f, "the old file is still all here.", "x", NULL, 0, &err);
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
}

static void full (group_t g, const char *dir, int driver, int atomic, uint64_t bytes_each, int told) {
  char filename[1024], old[1024];
  scda_params_t params = default_params ();
  params.driver = driver;
  params.atomic = atomic;
  snprintf (filename, sizeof filename, "%s/full.scda", dir);
  snprintf (old, sizeof old, "%s/old.scda", dir);
  write_old (g, old);
  write_old (g, filename);
  barrier (g);
  const int before = entries (dir);
  barrier (g);
  const int err = overfill (g, filename, &params, bytes_each);
  barrier (g);
  const int ok = told ? err == SCDA_ERR_NO_SPACE : err >= SCDA_ERR_MPI;
  if (!ok || !all_same (g, (uint64_t) err)) {
    fprintf (stderr, "rank %d: driver %d, atomic %d, arrays of %llu bytes a rank: error %d (%s)\n", g.rank, driver, atomic,
             (unsigned long long) bytes_each, err, scda_last_error_message ());
    ++failures;
  }
  if (atomic) {
    CHECK (files_equal (filename, old, 0));
    CHECK (entries (dir) == before);
  }
  barrier (g);
  if (g.rank == 0) { unlink (filename); }
  barrier (g);
}

/* Whether a file takes as many pages of the disk as it has, and no other. ext4 has lists of blocks besides. */
static int is_exact (const char *dir) {
  struct statfs disk;
  REQUIRE (statfs (dir, &disk) == 0);
  return disk.f_type == TMPFS_MAGIC;
}

/* Leave `pages` pages of 4 KiB on the disk; if it is not exact, about that number. */
static void leave (const char *dir, unsigned long pages) {
  char filename[1024];
  struct statvfs disk;
  snprintf (filename, sizeof filename, "%s/ballast", dir);
  unlink (filename);
  const int fd = open (filename, O_WRONLY | O_CREAT, 0666);
  REQUIRE (fd >= 0 && statvfs (dir, &disk) == 0 && disk.f_bsize == 4096 && disk.f_bavail > pages);
  unsigned long taken = disk.f_bavail - pages;
  while (posix_fallocate (fd, 0, (off_t) taken * 4096) != 0) {
    REQUIRE (!is_exact (dir) && taken > 0);
    --taken;
  }
  REQUIRE (close (fd) == 0);
}

/* The file has room, or lacks any number of pages: success if and only if all is there. */
static void edges (group_t g, const char *dir, const scda_params_t *params, long *cases) {
  char filename[1024], roomy[1024];
  struct stat status;
  snprintf (filename, sizeof filename, "%s/full.scda", dir);
  snprintf (roomy, sizeof roomy, "%s/../roomy.scda", dir);
  REQUIRE (write_everything (g, roomy, params) == 0 && stat (roomy, &status) == 0);
  const unsigned long pages = (unsigned long) (status.st_size + 4095) / 4096;
  const int exact = is_exact (dir);
  const unsigned long enough = pages + (exact ? 1 : 16);
  unsigned long full = 0;
  for (unsigned long room = 0; room <= enough; ++room, ++*cases) {
    if (params->atomic) { write_old (g, filename); }
    barrier (g);
    if (g.rank == 0) { leave (dir, room); }
    barrier (g);
    const int err = write_everything (g, filename, params), whole = files_equal (filename, roomy, 0);
    if (!all_same (g, (uint64_t) err) || (exact && (err == 0) != (room >= pages)) || (err == 0 && !whole)) {
      fprintf (stderr, "rank %d of %d: driver %d, atomic %d, aggregation %d, room for %lu of %lu pages: error %d (%s)%s\n",
               g.rank, g.size, params->driver, params->atomic, (int) params->aggregation_bytes, room, pages, err,
               err ? scda_last_error_message () : "", whole ? "" : ", not whole");
      ++failures;
    }
    full += err != 0;
    if (params->driver == SCDA_DRIVER_POSIX) { CHECK (err == 0 || err == SCDA_ERR_NO_SPACE); }
    barrier (g);
    if (params->atomic && err != 0) { /* the old file is there, and nothing else */
      CHECK (stat (filename, &status) == 0 && status.st_size == old_bytes && entries (dir) == 4);
    }
    barrier (g);
    if (g.rank == 0) { unlink (filename); }
    barrier (g);
  }
  CHECK (full > 0 && full <= enough);
}

/* The same while a sealed file is appended to: what it had stays in any case. */
static void edges_of_appending (group_t g, const char *dir, scda_params_t params, long *cases) {
  char filename[1024], base[1024], whole[1024];
  struct stat before, after;
  snprintf (filename, sizeof filename, "%s/full.scda", dir);
  snprintf (base, sizeof base, "%s/../base.scda", dir);
  snprintf (whole, sizeof whole, "%s/../whole.scda", dir);
  params.seal = 1;
  REQUIRE (write_everything (g, base, &params) == 0);
  barrier (g);
  if (g.rank == 0) { copy_file (base, whole, ""); }
  barrier (g);
  REQUIRE (append_everything (g, whole, &params) == 0 && stat (base, &before) == 0 && stat (whole, &after) == 0);
  const unsigned long had = params.atomic ? 0 : (unsigned long) (before.st_size + 4095) / 4096;
  const unsigned long pages = (unsigned long) (after.st_size + 4095) / 4096 - had;
  const int exact = is_exact (dir);
  const unsigned long enough = pages + (exact ? 1 : 16);
  unsigned long full = 0;
  for (unsigned long room = 0; room <= enough; ++room, ++*cases) {
    barrier (g);
    if (g.rank == 0) {
      char ballast[1024];
      snprintf (ballast, sizeof ballast, "%s/ballast", dir);
      unlink (ballast);
      copy_file (base, filename, "");
      leave (dir, room);
    }
    barrier (g);
    const int err = append_everything (g, filename, &params);
    const int good = err == 0 ? files_equal (filename, whole, 0) : params.atomic ? files_equal (filename, base, 0) : file_begins_with (filename, base);
    if (!all_same (g, (uint64_t) err) || (exact && (err == 0) != (room >= pages)) || !good) {
      fprintf (stderr, "rank %d of %d: appending, driver %d, atomic %d, aggregation %d, room for %lu of %lu pages: error %d (%s)%s\n",
               g.rank, g.size, params.driver, params.atomic, (int) params.aggregation_bytes, room, pages, err,
               err ? scda_last_error_message () : "", good ? "" : ", what was there is not, or not whole");
      ++failures;
    }
    full += err != 0;
    if (params.driver == SCDA_DRIVER_POSIX) { CHECK (err == 0 || err == SCDA_ERR_NO_SPACE); }
    barrier (g);
    CHECK (entries (dir) == 4); /* the file and the ballast */
    barrier (g);
    if (g.rank == 0) { unlink (filename); }
    barrier (g);
  }
  CHECK (full > 0 && full <= enough);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 3);
  const group_t g = world ();
  const char *how = argv[1], *dir = argv[2];
  const int drivers[] = {SCDA_DRIVER_POSIX, driver_mpiio};
  if (strcmp (how, "device") == 0) {
    char device[1024];
    snprintf (device, sizeof device, "%s/full", dir); /* never the real one: a library may well replace it */
    if (g.rank == 0) { unlink (device), mknod (device, S_IFCHR | 0666, makedev (1, 7)); }
    barrier (g);
    if (access (device, W_OK) != 0) {
      if (g.rank == 0) { puts ("skipped: may not make a device"); }
      return finish () ? 1 : 77;
    }
    for (int i = 0; i < 2; ++i) {
      scda_params_t params = default_params ();
      params.driver = drivers[i];
      const int err = overfill (g, device, &params, chunk);
      CHECK (err != 0 && all_same (g, (uint64_t) err));
    }
    return finish ();
  }
  if (strcmp (how, "edges") == 0) {
    long cases = 0;
    for (int which = 0; which < 8; ++which) {
      scda_params_t params = default_params ();
      params.driver = drivers[which % 2], params.atomic = which / 2 % 2;
      if (which >= 4) { params.aggregation_bytes = 0; }
      edges (g, dir, &params, &cases);
      edges_of_appending (g, dir, params, &cases);
    }
    if (g.rank == 0) { printf ("%ld cases\n", cases); }
    return finish ();
  }
  if (strcmp (how, "limit") == 0) {
    struct rlimit limit;
    REQUIRE (getrlimit (RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = room;
    signal (SIGXFSZ, SIG_IGN);
    REQUIRE (setrlimit (RLIMIT_FSIZE, &limit) == 0);
  }
  const int told = strcmp (how, "small") == 0;
  for (int i = 0; i < 2; ++i) {
    for (int atomic = 0; atomic < 2; ++atomic) {
      /* POSIX knows why; MPI-IO may only know that something failed. */
      full (g, dir, drivers[i], atomic, too_much / (uint64_t) g.size, told && drivers[i] == SCDA_DRIVER_POSIX);
      full (g, dir, drivers[i], atomic, chunk / 100, told && drivers[i] == SCDA_DRIVER_POSIX);
    }
  }
  return finish ();
}
