/* What the parts of the benchmark share. README.md, one folder up, says what is measured and how to read it. */
#ifndef BENCH_H
#define BENCH_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Workloads ---- */

typedef enum { ARRAY, BLOCK, VARRAY } kind_t;
typedef enum { HASHES, FIELDS } content_t; /* FIELDS: elements of 16^3 doubles, see workload.c */

/* A file of sections of one shape. */
typedef struct {
  const char *name;  /* on the command line */
  const char *title; /* in the table: a format of the number of sections */
  const char *bars;  /* whose bars apply, see report.c; NULL: none */
  kind_t kind;
  content_t content;
  int indirect;            /* the elements are scattered in memory */
  int level;               /* of compression; -1: none */
  int per_rank;            /* `elems` is for each writing rank */
  uint64_t sections[3];    /* of the file, by scale: quick, default, full */
  uint64_t elems[3];       /* of each section, by scale. A block is one element of rank 0. */
  uint64_t elem_bytes;     /* of each element; of a varray: at most */
} workload_t;

extern const workload_t workloads[]; /* ends with a name of NULL */

/* The part of a workload that this rank has. */
typedef struct {
  const workload_t *work;
  MPI_Comm comm;
  int rank, size;
  int sections;
  uint64_t elems;    /* of each section, on all ranks */
  uint64_t *counts;  /* of these on each rank */
  uint64_t n, first; /* on this rank: how many, and the first */
  uint64_t *sizes;   /* VARRAY: the bytes of each element of this rank; filled by who reads */
  uint64_t bytes;    /* of each section on this rank */
  char *data;        /* `bytes` for each section; filled by who reads */
  void **pointers;   /* indirect: where in `data` this rank's elements are, `n` for each section */
  char *packed;      /* indirect: `bytes`, to copy the elements of a section into */
} job_t;

void job_open (job_t *job, const workload_t *work, int scale, int writers);
void job_close (job_t *job);
void job_fill (job_t *job);                               /* with what is to be written */
void job_poison (job_t *job);                             /* before reading */
void job_check (const job_t *job, const char *contender); /* after reading; does not return if a byte is wrong */

uint64_t hash (uint64_t x);
void fill_field (int field, uint64_t block, double *value); /* 16^3 values */

/* ---- For contenders that have neither indirect addressing nor elements of their own sizes ---- */

/* The bytes of a dataset on this rank, where they begin among those of all ranks, and how many these are. */
typedef struct {
  uint64_t mine, offset, total;
} extent_t;

extent_t job_extent (const job_t *job);       /* of each section; for a varray computed from `sizes`, collectively */
extent_t job_sizes_extent (const job_t *job); /* of the 8-byte sizes of a varray's elements */

/* A file is `sections` datasets, and for a varray before them one of the sizes, with number SIZES. These call `move` for one
 * after the other, and copy scattered elements. A moved dataset's memory is free for the next if they are scattered. */
#define SIZES (-1)
typedef void (*move_t) (void *file, int dataset, extent_t extent, void *data);
void job_write (const job_t *job, move_t move, void *file);
void job_read (const job_t *job, move_t move, void *file);

/* ---- Contenders ---- */

typedef struct contender {
  const char *name;
  const char *peer; /* the bars compare with the best mode of each peer */
  int mode;
  int (*takes_part) (const workload_t *work, int mode);
  void (*write) (const job_t *job, int mode, const char *file);
  void (*read) (const job_t *job, int mode, const char *file);
} contender_t;

/* Each ends with a name of NULL. The first of libscda is the one that all others are compared with. */
extern const contender_t scda_contenders[], mpiio_contenders[], posix_contenders[], hdf5_contenders[],
    pnetcdf_contenders[];

/* HDF5 as a process alone uses it: a file of `count` datasets, each of its number; and the number in the dataset of that name. */
void hdf5_make (const char *file, uint64_t count, void (*name_of) (char *name, uint64_t number));
uint64_t hdf5_find (const char *file, const char *name);

const char *hdf5_version (void);
const char *pnetcdf_version (void);

/* To be called once by `write` and `read`: when the file is open, and before it is closed. */
void mark_opened (void);
void mark_moved (void);
double seconds_of_data (void); /* between the two */

/* Ends the job. */
_Noreturn void die (const char *format, ...);
void check_mpi (int err, const char *what);
void *allocate (size_t bytes);
void sync_folder (const char *folder); /* what was written before shall not burden who comes next */

/* Which of `n` contenders is at a place of a round: the order changes such that in `n` rounds (2 `n` if `n` is odd) each follows each
 * other as often: whoever comes next finds the pages that the one before it has freed. */
int in_turn (int round, int place, int n);

/* ---- Report ---- */

typedef struct {
  double all, data; /* seconds from before opening until after closing, and those in between; the slowest rank's */
} lap_t;

/* `laps[c * reps + r]` is repetition `r` of contender `c`, whose file has `file_bytes[c]`. `data_bytes`: of the workload. Rank 0. */
void report (const job_t *job, int writers, int reading, int contenders, const contender_t *const *contender, int reps,
             const lap_t *laps, const uint64_t *file_bytes, uint64_t data_bytes);

/* The value below which the part `q` of them lies; sorts them. */
double quantile (double *values, int n, double q);

/* The median of how many times as long it took in `of` as in `to`, each repetition compared with itself. */
double median_ratio (const double *of, const double *to, int reps);

/* Measure what access.c, patterns.c and streams.c say, and print the lines of their tables. */
void measure_access (const char *folder, int scale, int reps);
void measure_patterns (const char *folder, int scale, int reps);
void measure_sparse (const char *folder, int scale, int reps);
void measure_streams (const char *folder, int scale, int reps);

#endif
