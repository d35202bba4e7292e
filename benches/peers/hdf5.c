/* Parallel HDF5: a dataset for each section, contiguous, or with a chunk for each element that is deflated.
 *
 * Set as its documentation advises for speed: the newest file format, metadata in collective operations and in blocks of
 * 1 MiB, space allocated at creation and never filled, no modification times, objects that are alike made once. */
#include "patterns.h"

#include <hdf5.h>
#include <stdio.h>

enum { INDEPENDENT = 1, SHUFFLE = 2 };

typedef struct {
  const job_t *job;
  int writing;
  hid_t file, creation, transfer;
} hdf5_t;

static hid_t valid (hid_t id, const char *what) {
  if (id < 0) { die ("HDF5: %s", what); }
  return id;
}

/* Deflated data must be written collectively, so that "independent" is about reading. HDF5 knows no parallel datasets of
 * which each element has its own size: the sizes are a dataset. */
static int takes_part (const workload_t *work, int mode) { return !(mode & SHUFFLE) || work->level >= 0; }

/* Opens or creates a file. Metadata are in blocks of `metadata_block` bytes, which end the file. */
static hid_t open_on_all (MPI_Comm comm, const char *name, int writing, hsize_t metadata_block) {
  const hid_t access = valid (H5Pcreate (H5P_FILE_ACCESS), "H5Pcreate");
  valid (H5Pset_fapl_mpio (access, comm, MPI_INFO_NULL), "H5Pset_fapl_mpio");
  valid (H5Pset_libver_bounds (access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), "H5Pset_libver_bounds");
  valid (H5Pset_coll_metadata_write (access, 1), "H5Pset_coll_metadata_write");
  valid (H5Pset_all_coll_metadata_ops (access, 1), "H5Pset_all_coll_metadata_ops");
  valid (H5Pset_meta_block_size (access, metadata_block), "H5Pset_meta_block_size");
  const hid_t file = valid (
      writing ? H5Fcreate (name, H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen (name, H5F_ACC_RDONLY, access), name);
  H5Pclose (access);
  return file;
}

static hdf5_t open_file (const job_t *job, int mode, const char *name, int writing) {
  hdf5_t f = {.job = job, .writing = writing, .file = open_on_all (job->comm, name, writing, 1 << 20)};
  f.creation = valid (H5Pcreate (H5P_DATASET_CREATE), "H5Pcreate");
  valid (H5Pset_fill_time (f.creation, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
  valid (H5Pset_alloc_time (f.creation, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
  valid (H5Pset_obj_track_times (f.creation, 0), "H5Pset_obj_track_times");
  if (job->work->level >= 0) {
    const hsize_t chunk[2] = {1, job->work->elem_bytes / sizeof (double)};
    valid (H5Pset_chunk (f.creation, 2, chunk), "H5Pset_chunk");
    if (mode & SHUFFLE) { valid (H5Pset_shuffle (f.creation), "H5Pset_shuffle"); }
    valid (H5Pset_deflate (f.creation, (unsigned) job->work->level), "H5Pset_deflate");
  }
  f.transfer = valid (H5Pcreate (H5P_DATASET_XFER), "H5Pcreate");
  const int collective = !(mode & INDEPENDENT) || (writing && job->work->level >= 0);
  valid (H5Pset_dxpl_mpio (f.transfer, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT), "H5Pset_dxpl_mpio");
  mark_opened ();
  return f;
}

static void close_file (hdf5_t *f) {
  H5Pclose (f->transfer);
  H5Pclose (f->creation);
  mark_moved ();
  valid (H5Fclose (f->file), "H5Fclose");
}

static void move (void *file, int dataset, extent_t extent, void *data) {
  const hdf5_t *f = file;
  /* A row of bytes, or of elements that are deflated, and these of doubles. */
  const int deflated = f->job->work->level >= 0;
  const hsize_t row = deflated ? f->job->work->elem_bytes : 1;
  const hsize_t all[2] = {extent.total / row, row / sizeof (double)};
  const hsize_t start[2] = {extent.offset / row, 0}, count[2] = {extent.mine / row, row / sizeof (double)};
  const hid_t type = deflated ? H5T_NATIVE_DOUBLE : H5T_NATIVE_UCHAR;
  char name[16];
  snprintf (name, sizeof name, "%d", dataset);

  const hid_t space = valid (H5Screate_simple (deflated ? 2 : 1, all, NULL), "H5Screate_simple");
  const hid_t memory = valid (H5Screate_simple (deflated ? 2 : 1, count, NULL), "H5Screate_simple");
  const hid_t set = valid (f->writing ? H5Dcreate2 (f->file, name, type, space, H5P_DEFAULT, f->creation, H5P_DEFAULT)
                                      : H5Dopen2 (f->file, name, H5P_DEFAULT),
                           name);
  if (extent.mine > 0) {
    valid (H5Sselect_hyperslab (space, H5S_SELECT_SET, start, NULL, count, NULL), "H5Sselect_hyperslab");
  } else {
    valid (H5Sselect_none (space), "H5Sselect_none");
    valid (H5Sselect_none (memory), "H5Sselect_none");
  }
  valid (f->writing ? H5Dwrite (set, type, memory, space, f->transfer, data)
                    : H5Dread (set, type, memory, space, f->transfer, data),
         f->writing ? "H5Dwrite" : "H5Dread");
  valid (H5Dclose (set), "H5Dclose");
  H5Sclose (memory);
  H5Sclose (space);
}

static void write_file (const job_t *job, int mode, const char *name) {
  hdf5_t f = open_file (job, mode, name, 1);
  job_write (job, move, &f);
  close_file (&f);
}

static void read_file (const job_t *job, int mode, const char *name) {
  hdf5_t f = open_file (job, mode, name, 0);
  job_read (job, move, &f);
  close_file (&f);
}

/* ---- Patterns ---- */

static void move_variable (hid_t file, const variable_t *v, storage_t storage, int writing) {
  const hid_t types[] = {[FLOAT64] = H5T_NATIVE_DOUBLE, [FLOAT32] = H5T_NATIVE_FLOAT, [INT32] = H5T_NATIVE_INT32, [INT64] = H5T_NATIVE_INT64};
  const hid_t type = types[v->type];
  hsize_t shape[MOST_DIMS], chunk[MOST_DIMS];
  for (int d = 0; d < v->dims; ++d) {
    shape[d] = v->shape[d];
    chunk[d] = v->chunk[d];
  }
  const hid_t space = valid (H5Screate_simple (v->dims, shape, NULL), "H5Screate_simple");
  hid_t set;
  if (writing) {
    const hid_t creation = valid (H5Pcreate (H5P_DATASET_CREATE), "H5Pcreate"), links = valid (H5Pcreate (H5P_LINK_CREATE), "H5Pcreate");
    valid (H5Pset_create_intermediate_group (links, 1), "H5Pset_create_intermediate_group");
    valid (H5Pset_obj_track_times (creation, 0), "H5Pset_obj_track_times");
    valid (H5Pset_alloc_time (creation, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
    if (storage != CONTIGUOUS) {
      valid (H5Pset_chunk (creation, v->dims, chunk), "H5Pset_chunk");
      valid (H5Pset_shuffle (creation), "H5Pset_shuffle");
      valid (H5Pset_deflate (creation, storage == ZLIB_6 ? 6 : 1), "H5Pset_deflate");
    }
    set = valid (H5Dcreate2 (file, v->name, type, space, links, creation, H5P_DEFAULT), v->name);
    H5Pclose (links);
    H5Pclose (creation);
  } else {
    set = valid (H5Dopen2 (file, v->name, H5P_DEFAULT), v->name);
  }
  valid (H5Sselect_none (space), "H5Sselect_none");
  for (uint64_t b = 0; b < v->boxes; ++b) {
    hsize_t start[MOST_DIMS], count[MOST_DIMS];
    int is_empty = 0;
    for (int d = 0; d < v->dims; ++d) {
      start[d] = v->start[b * (uint64_t) v->dims + (uint64_t) d];
      count[d] = v->count[b * (uint64_t) v->dims + (uint64_t) d];
      is_empty = is_empty || count[d] == 0;
    }
    if (!is_empty) { valid (H5Sselect_hyperslab (space, H5S_SELECT_OR, start, NULL, count, NULL), "H5Sselect_hyperslab"); }
  }
  const hsize_t items = v->bytes / item_bytes (v->type);
  const hid_t memory = valid (H5Screate_simple (1, &items, NULL), "H5Screate_simple");
  const hid_t transfer = valid (H5Pcreate (H5P_DATASET_XFER), "H5Pcreate");
  valid (H5Pset_dxpl_mpio (transfer, H5FD_MPIO_COLLECTIVE), "H5Pset_dxpl_mpio");
  valid (writing ? H5Dwrite (set, type, memory, space, transfer, v->in_rows) : H5Dread (set, type, memory, space, transfer, v->in_rows),
         v->name);
  H5Pclose (transfer);
  H5Sclose (memory);
  H5Sclose (space);
  valid (H5Dclose (set), "H5Dclose");
}

static void move_pattern (const pattern_t *p, storage_t storage, const char *name, int writing) {
  const hid_t file = open_on_all (p->comm, name, writing, 1 << 14);
  for (int i = 0; i < p->variables; ++i) { move_variable (file, p->variable + i, storage, writing); }
  valid (H5Fclose (file), "H5Fclose");
}

void hdf5_write_pattern (const pattern_t *p, storage_t storage, const char *file) { move_pattern (p, storage, file, 1); }
void hdf5_read_pattern (const pattern_t *p, storage_t storage, const char *file) { move_pattern (p, storage, file, 0); }

/* ---- A dataset among many ---- */

/* As small as they can be: the newest file format, in which groups are B-trees by the hash of the name, and data within the
 * header of the dataset. */
void hdf5_make (const char *file, uint64_t count, void (*name_of) (char *name, uint64_t number)) {
  const hid_t access = valid (H5Pcreate (H5P_FILE_ACCESS), "H5Pcreate");
  valid (H5Pset_libver_bounds (access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), "H5Pset_libver_bounds");
  const hid_t creation = valid (H5Pcreate (H5P_DATASET_CREATE), "H5Pcreate");
  valid (H5Pset_layout (creation, H5D_COMPACT), "H5Pset_layout");
  valid (H5Pset_obj_track_times (creation, 0), "H5Pset_obj_track_times");
  const hid_t f = valid (H5Fcreate (file, H5F_ACC_TRUNC, H5P_DEFAULT, access), file);
  const hid_t space = valid (H5Screate (H5S_SCALAR), "H5Screate");
  for (uint64_t i = 0; i < count; ++i) {
    char name[32];
    name_of (name, i);
    const hid_t set = valid (H5Dcreate2 (f, name, H5T_NATIVE_UINT64, space, H5P_DEFAULT, creation, H5P_DEFAULT), name);
    valid (H5Dwrite (set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &i), "H5Dwrite");
    H5Dclose (set);
  }
  H5Sclose (space);
  H5Pclose (creation);
  H5Pclose (access);
  valid (H5Fclose (f), "H5Fclose");
}

uint64_t hdf5_find (const char *file, const char *name) {
  uint64_t value = 0;
  const hid_t f = valid (H5Fopen (file, H5F_ACC_RDONLY, H5P_DEFAULT), file);
  const hid_t set = valid (H5Dopen2 (f, name, H5P_DEFAULT), name);
  valid (H5Dread (set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value), "H5Dread");
  H5Dclose (set);
  H5Fclose (f);
  return value;
}

const char *hdf5_version (void) { return H5_VERS_INFO; }

const contender_t hdf5_contenders[] = {
    {"HDF5, collective", "HDF5", 0, takes_part, write_file, read_file},
    {"HDF5, independent", "HDF5", INDEPENDENT, takes_part, write_file, read_file},
    {"HDF5, collective, shuffled", NULL, SHUFFLE, takes_part, write_file, read_file},
    {0}};
