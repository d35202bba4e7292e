/* mpiio_before.c: a distributed field in a file that records neither its name nor its length */
#include <mpi.h>

static int transfer (MPI_Comm comm, const char *filename, int mode, double *u, long long n) {
  int rank, err, closed;
  long long first = 0;
  MPI_File file;
  MPI_Comm_rank (comm, &rank);
  MPI_Exscan (&n, &first, 1, MPI_LONG_LONG, MPI_SUM, comm);
  if (rank == 0) { first = 0; }
  err = MPI_File_open (comm, filename, mode, MPI_INFO_NULL, &file);
  if (err != MPI_SUCCESS) { return err; }
  const MPI_Offset offset = first * (MPI_Offset) sizeof (double);
  if (mode & MPI_MODE_RDONLY) {
    err = MPI_File_read_at_all (file, offset, u, (int) n, MPI_DOUBLE, MPI_STATUS_IGNORE); /* less than 2^31 elements */
  }
  else {
    err = MPI_File_write_at_all (file, offset, u, (int) n, MPI_DOUBLE, MPI_STATUS_IGNORE);
  }
  closed = MPI_File_close (&file);
  return err != MPI_SUCCESS ? err : closed; /* of this rank: others may see another */
}

int mpiio_write (MPI_Comm comm, const char *filename, double *u, long long n) {
  return transfer (comm, filename, MPI_MODE_CREATE | MPI_MODE_WRONLY, u, n);
}

int mpiio_read (MPI_Comm comm, const char *filename, double *u, long long n) {
  return transfer (comm, filename, MPI_MODE_RDONLY, u, n);
}
