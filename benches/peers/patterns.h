/* The patterns of access of patterns.c: variables, of which each rank has boxes. */
#ifndef BENCH_PATTERNS_H
#define BENCH_PATTERNS_H

#include "bench.h"

#define MOST_DIMS 4

typedef enum { FLOAT64, FLOAT32, INT32, INT64 } type_t;

/* An array, and the part of it that this rank has. */
typedef struct {
  char name[32]; /* with its group, if it has one */
  type_t type;
  int dims;
  uint64_t shape[MOST_DIMS], chunk[MOST_DIMS];
  uint64_t boxes;          /* of this rank */
  uint64_t *start, *count; /* `dims` numbers for each box */
  uint64_t bytes;          /* of this rank */
  void *data;              /* box after box */
  void *in_rows;           /* the same in C order of the array, which HDF5 wants; `data` if there is one box */
  void *kept, *kept_rows;  /* what `data` and `in_rows` hold when they are written */
} variable_t;

typedef struct {
  const char *name;
  MPI_Comm comm;
  int rank, size, variables;
  variable_t *variable;
} pattern_t;

uint64_t item_bytes (type_t type);
void share (uint64_t n, int rank, int size, uint64_t *start, uint64_t *count); /* which of `n` rows a rank has */

/* How data are stored: contiguous, or in chunks by a codec; in HDF5, shuffled and deflated. */
typedef enum { NO_DATASET, CONTIGUOUS, ZSTD, LZ4, PCODEC, ZLIB_6, ZLIB_1 } storage_t;
void scda_write_pattern (const pattern_t *pattern, storage_t storage, const char *file); /* a call for each dataset */
void scda_read_pattern (const pattern_t *pattern, storage_t storage, const char *file);
void scda_write_together (const pattern_t *pattern, storage_t storage, const char *file); /* all in one call */
void scda_write_sealed (const pattern_t *pattern, storage_t storage, const char *file);   /* likewise */
void scda_write_synced (const pattern_t *pattern, storage_t storage, const char *file);   /* likewise */
void scda_read_together (const pattern_t *pattern, storage_t storage, const char *file);
void arrays_write_pattern (const pattern_t *pattern, storage_t storage, const char *file);
void arrays_read_pattern (const pattern_t *pattern, storage_t storage, const char *file);
void posix_write_pattern (const pattern_t *pattern, storage_t storage, const char *file);
void posix_read_pattern (const pattern_t *pattern, storage_t storage, const char *file);
void hdf5_write_pattern (const pattern_t *pattern, storage_t storage, const char *file);
void hdf5_read_pattern (const pattern_t *pattern, storage_t storage, const char *file);
void pnetcdf_write_pattern (const pattern_t *pattern, storage_t storage, const char *file);
void pnetcdf_read_pattern (const pattern_t *pattern, storage_t storage, const char *file);

#endif
