/* What writing in the background takes from the program; docs/background.md.
 *
 *   mpirun -n 1 background FOLDER [REPETITIONS [MIB [MILLISECONDS]]]   rows of a table
 *   mpirun -n 1 background FOLDER timeline [MIB [MILLISECONDS]]        what rank 0 does when, for timeline.py
 *
 * A row is a way to pass MIB (64) of doubles of each rank: ranks, MiB, way; in ms the median times of memcpy to fresh memory (and a barrier, because
 * the call ends with an agreement), of the call that writes, and of the call and its commit with sync; the median of the ratio of the call to memcpy in
 * the same repetition, that of the best times, and the median of the same ratio in time of the processor, of the thread that calls; then what a loop of
 * MILLISECONDS (500) of computing with that call and a commit takes more than the loop without them, in percent: with the thread, and without. */
#define _POSIX_C_SOURCE 200809L
#include <scda.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most = 100, loops = 5 };
enum { plain, lent, encoded, ways };
static const char *const names[ways] = { "plain", "lent (`params.lend`)", "in compressed chunks" };

static MPI_Comm comm = MPI_COMM_WORLD;
static char path[4096];
static uint64_t items;
static double *data, compute_seconds, start_of_all;
static int rank, size, draws;

/* Seconds: of the clock, and of the processor for this thread. */
static double now (void) {
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void need (int is_well) {
  if (!is_well) {
    fprintf (stderr, "%s\n", scda_last_error_message ());
    MPI_Abort (comm, 1);
  }
}

static double busy (void) {
  struct timespec t;
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
  return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* Something that was done from then until now, for the picture. */
static void note (const char *lane, const char *what, double from, double until) {
  if (draws && rank == 0) { printf ("%s\t%s\t%.4f\t%.4f\n", lane, what, from - start_of_all, until - start_of_all); }
}

static scda_fcontext_t *create (int way, int in_background) {
  scda_params_t params;
  int err;
  scda_params_init (&params);
  params.background_bytes = in_background ? 2 * items * sizeof *data + (16 << 20) : 0;
  params.lend = in_background && way == lent;
  return scda_fopen_write (comm, path, "background", NULL, &params, &err);
}

static scda_fcontext_t *write_field (scda_fcontext_t *f, int way) {
  int err;
  return scda_fwrite_field (f, "rho", SCDA_TYPE_FLOAT64, data, items, 1, way == encoded ? SCDA_ENCODE_ALWAYS : SCDA_ENCODE_NONE, &err);
}

static int by_size (const void *a, const void *b) {
  const double d = *(const double *) a - *(const double *) b;
  return d < 0 ? -1 : d > 0;
}

static double median (double *times, int n) {
  qsort (times, (size_t) n, sizeof *times, by_size);
  return n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
}

static double copy_once (double *busy_seconds) {
  const size_t bytes = items * sizeof *data;
  const double begin = now (), busy_begin = busy ();
  double *copy = (double *) malloc (bytes), time;
  if (copy == NULL) { MPI_Abort (comm, 1); }
  memcpy (copy, data, bytes);
  MPI_Barrier (comm);
  time = now () - begin;
  *busy_seconds = busy () - busy_begin;
  need (copy[items / 2] == data[items / 2]);
  free (copy);
  return time;
}

/* The processor is busy, as by a simulation; now and then it asks how far the thread is. */
static void compute (scda_fcontext_t *f, scda_request_t *request, double written_since) {
  const double begin = now ();
  static volatile double x = 1;
  double synced_since = 0;
  scda_statistics_t statistics = { 0 };
  double before = -1;
  int err, is_done = request == NULL;
  while (now () - begin < compute_seconds) {
    int i;
    for (i = 0; i < 100000; ++i) { x = x * 0.999 + 0.001; }
    if (!draws || is_done) { continue; }
    statistics.size = sizeof statistics;
    scda_get_statistics (f, &statistics, &err);
    if (synced_since == 0 && (double) statistics.written_bytes == before) { synced_since = now (); }
    before = (double) statistics.written_bytes;
    is_done = scda_test (request);
    if (is_done) {
      note ("thread", "write", written_since, synced_since > 0 ? synced_since : now ());
      if (synced_since > 0) { note ("thread", "sync", synced_since, now ()); }
    }
  }
  note ("program", "compute", begin, now ());
}

/* Steps of computing, each written and committed, or not (`way` below 0). */
static double loop (int way, int in_background) {
  scda_request_t request;
  scda_fcontext_t *f = NULL;
  double begin, at;
  int step, err;
  if (way >= 0) { need ((f = create (way, in_background)) != NULL); }
  MPI_Barrier (comm);
  begin = start_of_all = now ();
  for (step = 0; step < loops; ++step) {
    if (way < 0) {
      compute (NULL, NULL, 0);
      continue;
    }
    at = now ();
    need ((f = write_field (f, way)) != NULL);
    note ("program", in_background ? "copy" : "write", at, now ());
    if (!in_background) {
      at = now ();
      need ((f = scda_fcommit (f, &err)) != NULL);
      note ("program", "sync", at, now ());
      compute (NULL, NULL, 0);
      continue;
    }
    need ((f = scda_fcommit_begin (f, &request, &err)) != NULL);
    compute (f, &request, at);
    at = now ();
    need (scda_wait (&request, &err) == 0);
    note ("program", "wait", at, now ());
  }
  begin = now () - begin;
  if (f != NULL) { need (scda_fclose (f, &err) == 0); }
  if (rank == 0) { remove (path); }
  return begin;
}

static void row (int way, int repetitions) {
  static double copies[most], calls[most], commits[most], ratios[most], busy_ratios[most];
  const double alone = loop (-1, 0), thread = loop (way, 1), without = loop (way, 0);
  double least_copy = 1e9, least_call = 1e9;
  int i, err;
  for (i = 0; i < repetitions; ++i) {
    scda_fcontext_t *f = create (way, 1);
    double begin, busy_begin, busy_copy;
    need (f != NULL);
    MPI_Barrier (comm);
    copies[i] = copy_once (&busy_copy);
    begin = now ();
    busy_begin = busy ();
    need ((f = write_field (f, way)) != NULL);
    calls[i] = now () - begin;
    busy_ratios[i] = (busy () - busy_begin) / busy_copy;
    need ((f = scda_fcommit (f, &err)) != NULL);
    commits[i] = now () - begin;
    need (scda_fclose (f, &err) == 0);
    if (rank == 0) { remove (path); }
    ratios[i] = calls[i] / copies[i];
    least_copy = copies[i] < least_copy ? copies[i] : least_copy;
    least_call = calls[i] < least_call ? calls[i] : least_call;
  }
  if (rank == 0) {
    printf ("| %d | %d | %s | %.1f | %.1f | %.1f | %.2f | %.2f | %.2f | %.0f | %.0f |\n", size, (int) (items * sizeof *data >> 20), names[way],
            1e3 * median (copies, repetitions), 1e3 * median (calls, repetitions), 1e3 * median (commits, repetitions),
            median (ratios, repetitions), least_call / least_copy, median (busy_ratios, repetitions), 100 * (thread / alone - 1), 100 * (without / alone - 1));
    fflush (stdout);
  }
}

int main (int argc, char **argv) {
  const char *how = argc > 2 ? argv[2] : "7";
  uint64_t i;
  int way;
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  if (argc < 2) { MPI_Abort (comm, 2); }
  snprintf (path, sizeof path, "%s/background.scda", argv[1]);
  items = (uint64_t) (argc > 3 ? atol (argv[3]) : 64) << 17;
  compute_seconds = argc > 4 ? 1e-3 * atof (argv[4]) : 0.5;
  data = (double *) malloc (items * sizeof *data);
  /* Smooth, to 20 bits. */
  for (i = 0; data != NULL && i < items; ++i) { data[i] = rint (ldexp (sin (1e-5 * (double) i), 20)) / (1 << 20); }
  need (data != NULL);
  draws = strcmp (how, "timeline") == 0;
  if (draws) {
    if (rank == 0) { printf ("without the thread\n"); }
    loop (plain, 0);
    if (rank == 0) { printf ("in the background\n"); }
    loop (plain, 1);
  }
  for (way = 0; !draws && way < ways; ++way) { row (way, atoi (how) > 0 && atoi (how) <= most ? atoi (how) : 7); }
  free (data);
  MPI_Finalize ();
  return 0;
}
