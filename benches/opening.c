/* What a duplicate of a communicator and a window of shared memory cost, on the ranks that it is started with: docs/performance.md,
 * "What a section costs". Built with the benchmark in peers/; run with mpirun -n 2. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int cmp (const void *a, const void *b) { double d = *(double *) a - *(double *) b; return d < 0 ? -1 : d > 0; }
enum { N = 300 };
static double t[5][N];
int main (int argc, char **argv) {
  MPI_Init (&argc, &argv);
  int rank; MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  for (int i = 0; i < N; ++i) {
    MPI_Comm c, n; MPI_Win w; void *p;
    MPI_Barrier (MPI_COMM_WORLD);
    double t0 = MPI_Wtime (); MPI_Comm_dup (MPI_COMM_WORLD, &c);
    double t1 = MPI_Wtime (); MPI_Comm_split_type (c, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &n);
    double t2 = MPI_Wtime (); MPI_Win_allocate_shared (rank ? 0 : 1 << 20, 1, MPI_INFO_NULL, n, &p, &w);
    double t3 = MPI_Wtime (); MPI_Win_free (&w);
    double t4 = MPI_Wtime (); MPI_Comm_free (&n); MPI_Comm_free (&c);
    double t5 = MPI_Wtime ();
    t[0][i] = t1 - t0, t[1][i] = t2 - t1, t[2][i] = t3 - t2, t[3][i] = t4 - t3, t[4][i] = t5 - t4;
  }
  if (rank == 0) for (int k = 0; k < 5; ++k) { qsort (t[k], N, sizeof (double), cmp);
    printf ("%s median %.1f us, fastest tenth %.1f us\n", (const char *[]) {"dup", "split_type", "win_allocate_shared", "win_free", "comm_free x2"}[k], 1e6 * t[k][N / 2], 1e6 * t[k][N / 10]); }
  MPI_Finalize ();
  return 0;
}
