/* PnetCDF: a variable for each section, in a file of format CDF-5, which alone takes more than 2^31 elements.
 *
 * The variables are bytes, since PnetCDF would turn doubles into big-endian ones and back, which the others need not do. */
#include "patterns.h"

#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKING, NONBLOCKING, INDEPENDENT };

typedef struct {
  const job_t *job;
  int writing, mode, id, first; /* `first`: the variable of dataset 0 */
} pnetcdf_t;

static void succeed (int err) {
  if (err != NC_NOERR) { die ("PnetCDF: %s", ncmpi_strerror (err)); }
}

/* Requests that wait need the memory of all scattered elements at once. */
static int takes_part (const workload_t *work, int mode) {
  return work->level < 0 && (mode != NONBLOCKING || !work->indirect);
}

static void move (void *file, int dataset, extent_t extent, void *data) {
  const pnetcdf_t *f = file;
  const int variable = f->first + dataset;
  const MPI_Offset start = (MPI_Offset) extent.offset, count = (MPI_Offset) extent.mine;
  signed char *bytes = data;
  if (f->mode == INDEPENDENT) {
    if (count > 0) {
      succeed (f->writing ? ncmpi_put_vara_schar (f->id, variable, &start, &count, bytes)
                          : ncmpi_get_vara_schar (f->id, variable, &start, &count, bytes));
    }
  } else if (f->mode == NONBLOCKING && (f->writing || dataset != SIZES)) { /* sizes read are needed now */
    if (count > 0) {
      succeed (f->writing ? ncmpi_iput_vara_schar (f->id, variable, &start, &count, bytes, NULL)
                          : ncmpi_iget_vara_schar (f->id, variable, &start, &count, bytes, NULL));
    }
  } else {
    succeed (f->writing ? ncmpi_put_vara_schar_all (f->id, variable, &start, &count, bytes)
                        : ncmpi_get_vara_schar_all (f->id, variable, &start, &count, bytes));
  }
}

static void define (const pnetcdf_t *f, int dataset, extent_t extent) {
  char name[16];
  int dimension, variable;
  snprintf (name, sizeof name, "d%d", dataset);
  if (dataset <= 0) { /* else that of dataset 0, which has the same length */
    succeed (ncmpi_def_dim (f->id, name, (MPI_Offset) extent.total, &dimension));
  } else {
    dimension = f->first;
  }
  succeed (ncmpi_def_var (f->id, name, NC_BYTE, 1, &dimension, &variable));
}

static void move_all (pnetcdf_t *f) {
  mark_opened ();
  if (f->mode == INDEPENDENT) { succeed (ncmpi_begin_indep_data (f->id)); }
  (f->writing ? job_write : job_read) (f->job, move, f);
  if (f->mode == INDEPENDENT) { succeed (ncmpi_end_indep_data (f->id)); }
  if (f->mode == NONBLOCKING) { succeed (ncmpi_wait_all (f->id, NC_REQ_ALL, NULL, NULL)); }
  mark_moved ();
  succeed (ncmpi_close (f->id));
}

static void write_file (const job_t *job, int mode, const char *name) {
  pnetcdf_t f = {.job = job, .writing = 1, .mode = mode, .first = job->sizes != NULL};
  succeed (ncmpi_create (job->comm, name, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &f.id));
  if (job->sizes) { define (&f, SIZES, job_sizes_extent (job)); }
  const extent_t extent = job_extent (job);
  for (int s = 0; s < job->sections; ++s) { define (&f, s, extent); }
  succeed (ncmpi_enddef (f.id));
  move_all (&f);
}

static void read_file (const job_t *job, int mode, const char *name) {
  pnetcdf_t f = {.job = job, .mode = mode, .first = job->sizes != NULL};
  succeed (ncmpi_open (job->comm, name, NC_NOWRITE, MPI_INFO_NULL, &f.id));
  move_all (&f);
}

/* ---- Patterns ---- */

/* Contiguous; all requests of all variables wait, and move together. */
static void move_pattern (const pattern_t *p, const char *name, int writing) {
  static const nc_type types[] = {[FLOAT64] = NC_DOUBLE, [FLOAT32] = NC_FLOAT, [INT32] = NC_INT, [INT64] = NC_INT64};
  int id;
  if (writing) {
    succeed (ncmpi_create (p->comm, name, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id));
    for (int i = 0; i < p->variables; ++i) {
      const variable_t *v = p->variable + i;
      int dimension[MOST_DIMS], variable;
      for (int d = 0; d < v->dims; ++d) {
        char text[32];
        snprintf (text, sizeof text, "v%d d%d", i, d);
        succeed (ncmpi_def_dim (id, text, (MPI_Offset) v->shape[d], dimension + d));
      }
      char text[32];
      snprintf (text, sizeof text, "v%d", i);
      succeed (ncmpi_def_var (id, text, types[v->type], v->dims, dimension, &variable));
    }
    succeed (ncmpi_enddef (id));
  } else {
    succeed (ncmpi_open (p->comm, name, NC_NOWRITE, MPI_INFO_NULL, &id));
  }
  for (int i = 0; i < p->variables; ++i) {
    const variable_t *v = p->variable + i;
    if (v->boxes == 0) { continue; }
    MPI_Offset **start = allocate (v->boxes * sizeof *start), **count = allocate (v->boxes * sizeof *count);
    MPI_Offset *numbers = allocate (2 * v->boxes * (uint64_t) v->dims * sizeof *numbers), *at = numbers;
    for (uint64_t b = 0; b < v->boxes; ++b) {
      start[b] = at;
      count[b] = at + v->dims;
      for (uint64_t d = 0; d < (uint64_t) v->dims; ++d) {
        start[b][d] = (MPI_Offset) v->start[b * (uint64_t) v->dims + d];
        count[b][d] = (MPI_Offset) v->count[b * (uint64_t) v->dims + d];
      }
      at += 2 * v->dims;
    }
    const MPI_Offset items = (MPI_Offset) (v->bytes / item_bytes (v->type));
    static MPI_Datatype kinds[4];
    kinds[FLOAT64] = MPI_DOUBLE;
    kinds[FLOAT32] = MPI_FLOAT;
    kinds[INT32] = MPI_INT;
    kinds[INT64] = MPI_LONG_LONG_INT;
    succeed (writing ? ncmpi_iput_varn (id, i, (int) v->boxes, start, count, v->data, items, kinds[v->type], NULL)
                     : ncmpi_iget_varn (id, i, (int) v->boxes, start, count, v->data, items, kinds[v->type], NULL));
    free (numbers);
    free (count);
    free (start);
  }
  succeed (ncmpi_wait_all (id, NC_REQ_ALL, NULL, NULL));
  succeed (ncmpi_close (id));
}

void pnetcdf_write_pattern (const pattern_t *p, storage_t storage, const char *file) { (void) storage, move_pattern (p, file, 1); }
void pnetcdf_read_pattern (const pattern_t *p, storage_t storage, const char *file) { (void) storage, move_pattern (p, file, 0); }

const char *pnetcdf_version (void) { return ncmpi_inq_libvers (); }

const contender_t pnetcdf_contenders[] = {
    {"PnetCDF, blocking", "PnetCDF", BLOCKING, takes_part, write_file, read_file},
    {"PnetCDF, iput + wait_all", "PnetCDF", NONBLOCKING, takes_part, write_file, read_file},
    {"PnetCDF, independent", "PnetCDF", INDEPENDENT, takes_part, write_file, read_file},
    {0}};
