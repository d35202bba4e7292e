/* One workload on the ranks of one job: each contender writes it and reads it back, in turn and again and again. */
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <scda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_CONTENDERS 32

/* ---- The race ---- */

typedef struct {
  const char *work, *folder;
  int scale, reps, writers, existing, keep, own, access, patterns, sparse, streams;
} options_t;

typedef struct {
  job_t job;
  const options_t *options;
  int contenders;
  const contender_t *contender[MOST_CONTENDERS];
  char file[MOST_CONTENDERS][4096];
  lap_t *laps[2]; /* of writing, and of reading */
} race_t;

/* The thousands of small pieces of memory that others have freed shall not burden who comes next: glibc puts them together when somebody next wants a
 * large piece, which takes a fraction of a millisecond, as long as some contenders. */
static void settle_heap (void) {
  void *volatile large = malloc (1 << 16);
  free (large);
}

static lap_t run (race_t *race, int c, int reading) {
  const contender_t *contender = race->contender[c];
  job_t *job = &race->job;
  if (reading) {
    job_poison (job);
  } else {
    if (job->rank == 0 && !race->options->existing) { unlink (race->file[c]); }
    if (job->rank == 0) { sync_folder (race->options->folder); }
  }
  settle_heap ();
  MPI_Barrier (job->comm);
  const double start = MPI_Wtime ();
  (reading ? contender->read : contender->write) (job, contender->mode, race->file[c]);
  const double end = MPI_Wtime ();
  MPI_Barrier (job->comm); /* whoever is done shall not compare while others, on the same core, still close */
  if (reading) { job_check (job, contender->name); }

  double mine[2] = {end - start, seconds_of_data ()}, slowest[2];
  MPI_Allreduce (mine, slowest, 2, MPI_DOUBLE, MPI_MAX, job->comm);
  return (lap_t) {slowest[0], slowest[1]};
}

static uint64_t size_of (const char *name) {
  struct stat status;
  if (stat (name, &status) != 0) { die ("%s: %s", name, strerror (errno)); }
  return (uint64_t) status.st_size;
}

/* Everyone in turn, first once without counting. Each file is read as soon as it is written, and then removed: so that all get the
 * same pages of memory, which on some machines are not all as fast. */
static void run_all (race_t *race, int only_read) {
  const int reps = race->options->reps;
  const job_t *job = &race->job;
  uint64_t file_bytes[MOST_CONTENDERS];
  if (only_read && job->rank == 0) { sync_folder (race->options->folder); }
  for (int r = -1; r < reps; ++r) {
    for (int i = 0; i < race->contenders; ++i) {
      const int c = in_turn (r + 1, i, race->contenders);
      for (int reading = only_read; reading < 2; ++reading) {
        const lap_t lap = run (race, c, reading);
        if (r >= 0) { race->laps[reading][c * reps + r] = lap; }
      }
      if (job->rank == 0) {
        file_bytes[c] = size_of (race->file[c]);
        const int last = r + 1 == reps;
        if (!only_read && !(last ? race->options->keep : race->options->existing)) { unlink (race->file[c]); }
      }
    }
  }
  uint64_t bytes = job->bytes * (uint64_t) job->sections;
  MPI_Allreduce (MPI_IN_PLACE, &bytes, 1, MPI_UINT64_T, MPI_SUM, job->comm);
  for (int reading = only_read; reading < 2 && job->rank == 0; ++reading) {
    report (job, race->options->writers, reading, race->contenders, race->contender, reps, race->laps[reading], file_bytes,
            bytes);
  }
}

/* ---- The command line ---- */

static const char usage[] =
    "usage: mpiexec -n RANKS bench --work NAME|all --folder FOLDER [OPTION...]\n"
    "       mpiexec -n RANKS bench --access --folder FOLDER [OPTION...]    what access.c measures\n"
    "       mpiexec -n RANKS bench --patterns --folder FOLDER [OPTION...]  what patterns.c measures\n"
    "       mpiexec -n RANKS bench --sparse --folder FOLDER [OPTION...]    the same, of datasets most of which nobody writes\n"
    "       mpiexec -n RANKS bench --streams --folder FOLDER [OPTION...]   what streams.c measures\n"
    "       bench --list     the names of the workloads\n"
    "       bench --about    the versions of the contenders, and who does not take part\n"
    "  --scale quick|default|full   how much data (default: default)\n"
    "  --reps N                     repetitions that count (default: 7)\n"
    "  --own                        libscda alone, in all its ways\n"
    "  --keep                       leave the files, for --written-by\n"
    "  --written-by RANKS           only read the files that a job of RANKS ranks has left, and remove them\n"
    "  --existing                   write over the file of the last repetition instead of making a new one\n";

static _Noreturn void give_up (void) {
  fputs (usage, stderr);
  exit (2);
}

static void about (void) {
  char mpi[MPI_MAX_LIBRARY_VERSION_STRING];
  int len;
  MPI_Get_library_version (mpi, &len);
  mpi[strcspn (mpi, ",\n")] = 0;
  for (char *tab = mpi; (tab = strchr (tab, '\t'));) { *tab = ' '; }
  printf ("- libscda %s\n- %s\n", scda_version (), mpi);
#ifdef BENCH_HDF5
  printf ("- %s\n", hdf5_version ());
#else
  puts ("- HDF5 does not take part: " BENCH_NO_HDF5);
#endif
#ifdef BENCH_PNETCDF
  printf ("- PnetCDF %s\n", pnetcdf_version ());
#else
  puts ("- PnetCDF does not take part: " BENCH_NO_PNETCDF);
#endif
}

static int number (const char *text) {
  char *end;
  const long value = strtol (text, &end, 10);
  if (*end != 0 || value < 1 || value > 1 << 20) { give_up (); }
  return (int) value;
}

static options_t parse (int argc, char **argv) {
  options_t options = {.scale = 1, .reps = 7};
  enum { WORK, FOLDER, SCALE, REPS, KEEP, WRITTEN_BY, EXISTING, OWN, ACCESS, PATTERNS, SPARSE, STREAMS, LIST, ABOUT };
  static const struct option known[] = {
      {"work", required_argument, NULL, WORK},   {"folder", required_argument, NULL, FOLDER},
      {"scale", required_argument, NULL, SCALE}, {"reps", required_argument, NULL, REPS},
      {"keep", no_argument, NULL, KEEP},         {"written-by", required_argument, NULL, WRITTEN_BY},
      {"existing", no_argument, NULL, EXISTING}, {"list", no_argument, NULL, LIST},
      {"own", no_argument, NULL, OWN},           {"access", no_argument, NULL, ACCESS},
      {"patterns", no_argument, NULL, PATTERNS}, {"about", no_argument, NULL, ABOUT},
      {"streams", no_argument, NULL, STREAMS},   {"sparse", no_argument, NULL, SPARSE},
      {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long (argc, argv, "", known, NULL)) != -1;) {
    switch (option) {
    case WORK: options.work = optarg; break;
    case FOLDER: options.folder = optarg; break;
    case REPS: options.reps = number (optarg); break;
    case KEEP: options.keep = 1; break;
    case WRITTEN_BY: options.writers = number (optarg); break;
    case EXISTING: options.existing = 1; break;
    case OWN: options.own = 1; break;
    case ACCESS: options.access = 1; break;
    case PATTERNS: options.patterns = 1; break;
    case SPARSE: options.sparse = 1; break;
    case STREAMS: options.streams = 1; break;
    case SCALE:
      if (strcmp (optarg, "quick") == 0) {
        options.scale = 0;
      } else if (strcmp (optarg, "full") == 0) {
        options.scale = 2;
      } else if (strcmp (optarg, "default") != 0) {
        give_up ();
      }
      break;
    case LIST:
      for (const workload_t *work = workloads; work->name; ++work) { puts (work->name); }
      exit (0);
    case ABOUT: about (); exit (0);
    default: give_up ();
    }
  }
  if (optind < argc || !!options.work + options.access + options.patterns + options.sparse + options.streams != 1
      || !options.folder) {
    give_up ();
  }
  return options;
}

static void gather_contenders (race_t *race, const contender_t *more) {
  const workload_t *work = race->job.work;
  for (; more->name; ++more) {
    if (more->takes_part (work, more->mode)) {
      const int c = race->contenders++;
      race->contender[c] = more;
      snprintf (race->file[c], sizeof race->file[c], "%s/scda-bench-%s-%d", race->options->folder, work->name, c);
    }
  }
}

static void race_through (const workload_t *work, const options_t *options, int only_read) {
  static race_t race;
  memset (&race, 0, sizeof race);
  race.options = options;
  job_open (&race.job, work, options->scale, options->writers);
  gather_contenders (&race, scda_contenders);
  if (!options->own) {
    gather_contenders (&race, mpiio_contenders);
    gather_contenders (&race, posix_contenders);
#ifdef BENCH_HDF5
    gather_contenders (&race, hdf5_contenders);
#endif
#ifdef BENCH_PNETCDF
    gather_contenders (&race, pnetcdf_contenders);
#endif
  }
  for (int reading = 0; reading < 2; ++reading) {
    race.laps[reading] = allocate ((size_t) (race.contenders * options->reps) * sizeof *race.laps[reading]);
  }

  if (!only_read) { job_fill (&race.job); } /* reading leaves what was written */
  run_all (&race, only_read);

  MPI_Barrier (race.job.comm);
  if (race.job.rank == 0 && only_read && !options->keep) {
    for (int c = 0; c < race.contenders; ++c) { unlink (race.file[c]); }
  }
  for (int reading = 0; reading < 2; ++reading) { free (race.laps[reading]); }
  job_close (&race.job);
}

int main (int argc, char **argv) {
  options_t options = parse (argc, argv);
  MPI_Init (&argc, &argv);
  if (!options.work) {
    (options.access     ? measure_access
     : options.patterns ? measure_patterns
     : options.sparse   ? measure_sparse
                        : measure_streams) (options.folder, options.scale, options.reps);
    MPI_Finalize ();
    return 0;
  }
  const int only_read = options.writers > 0;
  if (!only_read) { MPI_Comm_size (MPI_COMM_WORLD, &options.writers); }
  int found = 0;
  for (const workload_t *work = workloads; work->name; ++work) {
    if (strcmp (options.work, "all") == 0 || strcmp (options.work, work->name) == 0) {
      race_through (work, &options, only_read);
      found = 1;
    }
  }
  if (!found) { die ("there is no workload %s", options.work); }
  MPI_Finalize ();
  return 0;
}
