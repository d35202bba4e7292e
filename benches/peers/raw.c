/* MPI-IO and POSIX as they are: the bytes of the data one section after the other, and nothing else. Reading, they know
 * beforehand what is where: they measure what any format can at best reach. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- MPI-IO ---- */

typedef int (*mpiio_call_t) (MPI_File, MPI_Offset, void *, int, MPI_Datatype, MPI_Status *);

typedef struct {
  MPI_File file;
  uint64_t end; /* of the datasets so far */
  mpiio_call_t call;
  int collective;
} mpiio_t;

enum { COLLECTIVE, INDEPENDENT, ONE_CALL };

static int write_at (MPI_File f, MPI_Offset at, void *data, int n, MPI_Datatype type, MPI_Status *status) {
  return MPI_File_write_at (f, at, data, n, type, status);
}

static int write_at_all (MPI_File f, MPI_Offset at, void *data, int n, MPI_Datatype type, MPI_Status *status) {
  return MPI_File_write_at_all (f, at, data, n, type, status);
}

static void mpiio_open (mpiio_t *f, const job_t *job, const char *name, int mode) {
  check_mpi (MPI_File_open (job->comm, name, mode, MPI_INFO_NULL, &f->file), "MPI_File_open");
  if (mode & MPI_MODE_CREATE) {
    /* Truncating even an empty file makes ext4 write it back when it is closed. Rank 0 looks, before any other can write. */
    MPI_Offset old;
    check_mpi (MPI_File_get_size (f->file, &old), "MPI_File_get_size");
    check_mpi (MPI_Bcast (&old, 1, MPI_OFFSET, 0, job->comm), "MPI_Bcast");
    if (old > 0) { check_mpi (MPI_File_set_size (f->file, 0), "MPI_File_set_size"); }
  }
  mark_opened ();
}

static void mpiio_close (mpiio_t *f) {
  mark_moved ();
  check_mpi (MPI_File_close (&f->file), "MPI_File_close");
}

static void mpiio_move (void *file, int dataset, extent_t extent, void *data) {
  mpiio_t *f = file;
  (void) dataset;
  if (extent.mine > INT_MAX) { die ("MPI-IO: more bytes on a rank than one call takes"); }
  if (f->collective || extent.mine > 0) {
    MPI_Status status;
    int moved;
    check_mpi (f->call (f->file, (MPI_Offset) (f->end + extent.offset), data, (int) extent.mine, MPI_BYTE, &status),
               "MPI-IO");
    MPI_Get_count (&status, MPI_BYTE, &moved);
    if (moved != (int) extent.mine) { die ("MPI-IO: %d of %d bytes", moved, (int) extent.mine); }
  }
  f->end += extent.total;
}

/* All sections in one call, by a file view: the data are one piece in memory. */
static int mpiio_takes_part (const workload_t *work, int mode) {
  return work->level < 0 && (mode != ONE_CALL || (work->sections[0] > 1 && !work->indirect && work->kind != VARRAY));
}

static void mpiio_move_all (mpiio_t *f, const job_t *job) {
  const extent_t extent = job_extent (job);
  MPI_Datatype view;
  check_mpi (MPI_Type_create_hvector (job->sections, (int) extent.mine, (MPI_Aint) extent.total, MPI_BYTE, &view), "type");
  check_mpi (MPI_Type_commit (&view), "MPI_Type_commit");
  if (extent.mine > 0) { /* an empty type is no view */
    check_mpi (MPI_File_set_view (f->file, (MPI_Offset) extent.offset, MPI_BYTE, view, "native", MPI_INFO_NULL), "view");
  } else {
    check_mpi (MPI_File_set_view (f->file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "view");
  }
  mpiio_move (f, 0, (extent_t) {extent.mine * (uint64_t) job->sections, 0, 0}, job->data);
  MPI_Type_free (&view);
}

static void mpiio_write (const job_t *job, int mode, const char *name) {
  mpiio_t f = {.call = mode == INDEPENDENT ? write_at : write_at_all, .collective = mode != INDEPENDENT};
  mpiio_open (&f, job, name, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  if (mode == ONE_CALL) {
    mpiio_move_all (&f, job);
  } else {
    job_write (job, mpiio_move, &f);
  }
  mpiio_close (&f);
}

static void mpiio_read (const job_t *job, int mode, const char *name) {
  mpiio_t f = {.call = mode == INDEPENDENT ? MPI_File_read_at : MPI_File_read_at_all, .collective = mode != INDEPENDENT};
  mpiio_open (&f, job, name, MPI_MODE_RDONLY);
  if (mode == ONE_CALL) {
    mpiio_move_all (&f, job);
  } else {
    job_read (job, mpiio_move, &f);
  }
  mpiio_close (&f);
}

const contender_t mpiio_contenders[] = {
    {"MPI-IO, collective", "MPI-IO, collective", COLLECTIVE, mpiio_takes_part, mpiio_write, mpiio_read},
    {"MPI-IO, independent", "MPI-IO, independent", INDEPENDENT, mpiio_takes_part, mpiio_write, mpiio_read},
    {"MPI-IO, one collective call for all sections", NULL, ONE_CALL, mpiio_takes_part, mpiio_write, mpiio_read},
    {0}};

/* ---- POSIX ---- */

typedef struct {
  int fd, writing;
  uint64_t end;
} posix_t;

static void posix_move (void *file, int dataset, extent_t extent, void *data) {
  posix_t *f = file;
  (void) dataset;
  off_t at = (off_t) (f->end + extent.offset);
  for (char *p = data, *end = p + extent.mine; p < end;) { /* Linux moves 2 GiB at most at a time */
    const ssize_t n = f->writing ? pwrite (f->fd, p, (size_t) (end - p), at) : pread (f->fd, p, (size_t) (end - p), at);
    if (n <= 0) { die ("POSIX: %s", n == 0 ? "the file is too short" : strerror (errno)); }
    p += n;
    at += n;
  }
  f->end += extent.total;
}

static void posix_write (const job_t *job, int mode, const char *name) {
  (void) mode;
  posix_t f = {.writing = 1};
  if (job->rank == 0) {
    struct stat old;
    f.fd = open (name, O_CREAT | O_WRONLY, 0666);
    if (f.fd < 0 || fstat (f.fd, &old) != 0 || (old.st_size > 0 && ftruncate (f.fd, 0) != 0)) {
      die ("%s: %s", name, strerror (errno));
    }
  }
  MPI_Barrier (job->comm);
  if (job->rank != 0 && (f.fd = open (name, O_WRONLY)) < 0) { die ("%s: %s", name, strerror (errno)); }
  mark_opened ();
  job_write (job, posix_move, &f);
  mark_moved ();
  if (close (f.fd) != 0) { die ("%s: %s", name, strerror (errno)); }
}

static void posix_read (const job_t *job, int mode, const char *name) {
  (void) mode;
  posix_t f = {.fd = open (name, O_RDONLY)};
  if (f.fd < 0) { die ("%s: %s", name, strerror (errno)); }
  mark_opened ();
  job_read (job, posix_move, &f);
  mark_moved ();
  close (f.fd);
}

static int posix_takes_part (const workload_t *work, int mode) {
  (void) mode;
  return work->level < 0;
}

const contender_t posix_contenders[] = {
    {"pwrite, pread", "pwrite, pread", 0, posix_takes_part, posix_write, posix_read}, {0}};
