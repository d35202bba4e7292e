/* Compares the time to save a forest: p4est_save and scda_p4est_save, in turns in one run; docs/performance.md, "Beside its peers".
 *
 *   mpirun -n 2 saving FOLDER [REPETITIONS [QUADRANTS...]]
 *
 * Prints a row for each number of quadrants (default: 10^5, 10^6, 10^7; the forest may have up to four times as many), and for 0, 8 and
 * 64 bytes of data per quadrant:
 * - the number of ranks, of quadrants, and of bytes of data;
 * - the median times, in ms, of p4est_save, of scda_p4est_save, and of scda_p4est_save_params with sync;
 * - the median ratios of the time of p4est_save to those of the other two in the same repetition: above 1, libscda was faster;
 * - for scda_p4est_save also the ratios of the best times and of CPU times, which depend less on what else is running.
 * Each file is new. Before the next one is written, it is removed, and the file system is synchronized.
 *
 * To profile one function alone, set SAVING_ONLY in the environment: 0 for p4est_save, 1 for scda_p4est_save. */
#define _GNU_SOURCE
#include <scda_p4est.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { contenders = 3, most = 200 };

static int finest, only = -1;

/* Quadrants of two levels: more in a half of the square. */
static int refine (p4est_t *p, p4est_topidx_t tree, p4est_quadrant_t *q) {
  (void) p;
  (void) tree;
  return q->level + 1 < finest || (q->level < finest && q->x > P4EST_ROOT_LEN / 3);
}

static void set_data (p4est_t *p, p4est_topidx_t tree, p4est_quadrant_t *q) {
  size_t i;
  (void) tree;
  for (i = 0; i < p->data_size; ++i) { ((unsigned char *) q->p.user_data)[i] = (unsigned char) (i + (size_t) (q->x >> 12)); }
}

static int by_size (const void *a, const void *b) {
  const double d = *(const double *) a - *(const double *) b;
  return d < 0 ? -1 : d > 0;
}

static double median (const double *times, int n) {
  double sorted[most];
  memcpy (sorted, times, (size_t) n * sizeof *times);
  qsort (sorted, (size_t) n, sizeof *sorted, by_size);
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static double least (const double *times, int n) {
  double best = times[0];
  int i;
  for (i = 1; i < n; ++i) { best = times[i] < best ? times[i] : best; }
  return best;
}

static double processor_seconds (void) {
  struct rusage used;
  getrusage (RUSAGE_SELF, &used);
  return (double) (used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e-6 * (double) (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* Until the slowest rank is done; the time of the processors of all ranks is *used. */
static double save (p4est_t *p, const char *path, int contender, double *used) {
  const int save_data = p->data_size > 0;
  double begin, time, before;
  scda_params_t params;
  int err = 0;
  scda_params_init (&params);
  params.seal = params.atomic = params.sync = 1;
  MPI_Barrier (p->mpicomm);
  before = processor_seconds ();
  begin = MPI_Wtime ();
  if (only < 0 || contender == only) {
    if (contender == 0) { p4est_save (path, p, save_data); }
    else if (contender == 1) { err = scda_p4est_save (path, p, save_data); }
    else { err = scda_p4est_save_params (path, p, save_data, 0, &params); }
  }
  time = MPI_Wtime () - begin;
  *used = processor_seconds () - before;
  MPI_Allreduce (MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, p->mpicomm);
  MPI_Allreduce (MPI_IN_PLACE, used, 1, MPI_DOUBLE, MPI_SUM, p->mpicomm);
  if (err != 0) {
    fprintf (stderr, "%s\n", scda_last_error_message ());
    MPI_Abort (p->mpicomm, 1);
  }
  return time;
}

static void measure (const char *folder, long quadrants, size_t data_size, int repetitions) {
  static double times[contenders][most], used[contenders][most], ratios[contenders][most], of_used[most];
  p4est_connectivity_t *c = p4est_connectivity_new_unitsquare ();
  p4est_t *p;
  char path[4096];
  int k, i;
  snprintf (path, sizeof path, "%s/saving", folder);
  for (finest = 1; (1L << 2 * finest) < quadrants; ++finest) { }
  p = p4est_new_ext (MPI_COMM_WORLD, c, 0, 0, 1, data_size, set_data, NULL);
  for (i = 0; i < finest; ++i) {
    p4est_refine (p, 0, refine, set_data);
    p4est_partition (p, 0, NULL);
  }
  for (i = -1; i < repetitions; ++i) { /* the first one does not count */
    for (k = 0; k < contenders; ++k) {
      const int contender = (k + i + contenders) % contenders;
      double cpu = 0;
      const double time = save (p, path, contender, &cpu);
      if (i >= 0) {
        times[contender][i] = time;
        used[contender][i] = cpu;
      }
      if (p->mpirank == 0) {
        const int folder_fd = open (folder, O_RDONLY);
        unlink (path);
        syncfs (folder_fd);
        close (folder_fd);
      }
    }
    for (k = 1; k < contenders && i >= 0; ++k) { ratios[k][i] = times[0][i] / times[k][i]; }
    if (i >= 0) { of_used[i] = used[0][i] / used[1][i]; }
  }
  if (p->mpirank == 0) {
    printf ("| %d | %lld | %d | %.1f | %.1f | %.1f | %.2f | %.2f | %.2f | %.2f |\n", p->mpisize, (long long) p->global_num_quadrants, (int) data_size,
            1e3 * median (times[0], repetitions), 1e3 * median (times[1], repetitions), 1e3 * median (times[2], repetitions),
            median (ratios[1], repetitions), least (times[0], repetitions) / least (times[1], repetitions), median (of_used, repetitions), median (ratios[2], repetitions));
    fflush (stdout);
  }
  p4est_destroy (p);
  p4est_connectivity_destroy (c);
}

int main (int argc, char **argv) {
  static const size_t sizes[] = { 0, 8, 64 };
  static const long numbers[] = { 100000, 1000000, 10000000 };
  const int repetitions = argc > 2 ? atoi (argv[2]) : 9;
  int i, k;
  MPI_Init (&argc, &argv);
  sc_init (MPI_COMM_WORLD, 1, 1, NULL, SC_LP_ERROR);
  p4est_init (NULL, SC_LP_ERROR);
  only = getenv ("SAVING_ONLY") == NULL ? -1 : atoi (getenv ("SAVING_ONLY"));
  if (argc < 2 || repetitions < 1 || repetitions > most) { MPI_Abort (MPI_COMM_WORLD, 2); }
  for (i = 0; i < (argc > 3 ? argc - 3 : 3); ++i) {
    for (k = 0; k < 3; ++k) { measure (argv[1], argc > 3 ? atol (argv[i + 3]) : numbers[i], sizes[k], repetitions); }
  }
  sc_finalize ();
  MPI_Finalize ();
  return 0;
}
