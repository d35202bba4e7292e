/* Statistics and the lines of the tables. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many times as fast as a peer libscda shall at least be, on 1, 2, and more ranks; 0: no bar. */
typedef struct {
  const char *bars, *peer;
  double write[3], read[3];
  const char *subject; /* another contender instead of libscda by its defaults */
} bar_t;

static const bar_t all_bars[] = {
    {"big", "MPI-IO, collective", {0.98, 0.98, 1.3}, {0.98, 0.98, 3}, NULL},
    {"big", "HDF5", {1, 1, 1}, {1, 1, 1}, NULL},
    {"big", "PnetCDF", {1, 1, 1}, {1, 1, 1}, NULL},
    {"big", "libscda", {0.5, 0.5, 0.5}, {0, 0, 0}, "libscda, SCDA_ENCODE_AUTO"},
    {"big", "libscda", {0.91, 0.91, 0.91}, {0, 0, 0}, "libscda, sealed"},
    {"big", "libscda, sync", {0.97, 0.97, 0.97}, {0, 0, 0}, "libscda, sealed, sync"},
    {"small", "libscda", {0.77, 0.77, 0.77}, {0, 0, 0}, "libscda, sealed"},
    {"blocks", "libscda", {0.77, 0.77, 0.77}, {0, 0, 0}, "libscda, sealed"},
    {"small", "MPI-IO, collective", {7, 10, 10}, {5, 5, 40}, NULL},
    {"small", "HDF5", {3, 3, 3}, {3, 3, 3}, NULL},
    {"small", "PnetCDF", {3, 3, 3}, {3, 3, 3}, NULL},
    {"blocks", "MPI-IO, independent", {6, 6, 6}, {0, 0, 0}, NULL},
    {"blocks", "HDF5", {3, 3, 3}, {3, 3, 3}, NULL},
    {"blocks", "PnetCDF", {3, 3, 3}, {3, 3, 3}, NULL},
    {"deflate", "HDF5", {3, 3, 3}, {1.5, 1.5, 1.5}, NULL},
};

static int ascending (const void *a, const void *b) {
  const double x = *(const double *) a, y = *(const double *) b;
  return (x > y) - (x < y);
}

double quantile (double *values, int n, double q) {
  qsort (values, (size_t) n, sizeof *values, ascending);
  const double at = q * (n - 1);
  const int i = (int) at;
  return i + 1 < n ? values[i] + (at - i) * (values[i + 1] - values[i]) : values[n - 1];
}

/* The seconds of a contender, for `quantile` to sort. */
static double *seconds_of (const lap_t *laps, int reps, int contender, int only_data) {
  double *seconds = allocate ((size_t) reps * sizeof *seconds);
  for (int r = 0; r < reps; ++r) {
    const lap_t lap = laps[contender * reps + r];
    seconds[r] = only_data ? lap.data : lap.all;
  }
  return seconds;
}

static double median_of (const lap_t *laps, int reps, int contender, int only_data) {
  double *seconds = seconds_of (laps, reps, contender, only_data);
  const double median = quantile (seconds, reps, 0.5);
  free (seconds);
  return median;
}

double median_ratio (const double *of, const double *to, int reps) {
  double *ratios = allocate ((size_t) reps * sizeof *ratios);
  for (int r = 0; r < reps; ++r) { ratios[r] = of[r] / to[r]; }
  const double median = quantile (ratios, reps, 0.5);
  free (ratios);
  return median;
}

static double ratio (const lap_t *laps, int reps, int contender, int subject) {
  double *of = seconds_of (laps, reps, contender, 0), *to = seconds_of (laps, reps, subject, 0);
  const double median = median_ratio (of, to, reps);
  free (of);
  free (to);
  return median;
}

void report (const job_t *job, int writers, int reading, int contenders, const contender_t *const *contender, int reps,
             const lap_t *laps, const uint64_t *file_bytes, uint64_t data_bytes) {
  char what[200];
  int end = snprintf (what, sizeof what, job->work->title, job->sections);
  end += snprintf (what + end, sizeof what - (size_t) end, ", %.4g MB | %d | %s", (double) data_bytes / 1e6, job->size,
                   reading ? "read" : "write");
  if (reading && writers != job->size) {
    snprintf (what + end, sizeof what - (size_t) end, ", written by %d", writers);
  }

  for (int c = 0; c < contenders; ++c) {
    double *seconds = seconds_of (laps, reps, c, 0);
    const double median = quantile (seconds, reps, 0.5);
    printf ("all | %s | %s | %.2f | %.2f, %.2f to %.2f | %.2f | %.0f | %.1f | %.2f |\n", what, contender[c]->name,
            1e3 * median, 1e3 * seconds[0], 1e3 * quantile (seconds, reps, 0.25), 1e3 * quantile (seconds, reps, 0.75),
            1e3 * median_of (laps, reps, c, 1), (double) data_bytes / median / 1e6, (double) file_bytes[c] / 1e6,
            ratio (laps, reps, c, 0));
    free (seconds);
  }

  const int ranks = job->size > 2 ? 2 : job->size - 1;
  for (size_t b = 0; b < sizeof all_bars / sizeof *all_bars; ++b) {
    const bar_t *bar = all_bars + b;
    const double least = reading ? bar->read[ranks] : bar->write[ranks];
    if (!job->work->bars || strcmp (bar->bars, job->work->bars) != 0 || least == 0) { continue; }
    int best = -1, subject = bar->subject ? -1 : 0;
    for (int c = 0; c < contenders; ++c) {
      if (contender[c]->peer && strcmp (contender[c]->peer, bar->peer) == 0
          && (best < 0 || median_of (laps, reps, c, 0) < median_of (laps, reps, best, 0))) {
        best = c; /* of the peer's modes */
      }
      if (bar->subject && strcmp (bar->subject, contender[c]->name) == 0) { subject = c; }
    }
    if (best < 0 || subject < 0) { continue; }
    const double is = ratio (laps, reps, best, subject);
    printf ("bar | %s | %s | %s | %.2f | %.2f | %s |\n", what, contender[subject]->name, contender[best]->name, is, least,
            is >= least ? "met" : "**missed**");
  }
  fflush (stdout);
}
