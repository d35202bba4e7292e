/* libscda: by its defaults, and otherwise. */
#include "bench.h"

#include <scda.h>
#include <stdlib.h>

enum { DEFAULT, CHECKED, MPIIO, ZLIB, DEFAULT_LEVEL, AUTO, SEALED, SYNCED, SEALED_SYNCED };

static void succeed (int err) {
  if (err != SCDA_SUCCESS) { die ("libscda: %s", scda_last_error_message ()); }
}

/* AUTO is for data that do not get smaller: how much does it cost to notice? Bringing everything to stable storage is for one
 * large array: it takes long. */
static int takes_part (const workload_t *work, int mode) {
  if (mode == SYNCED || mode == SEALED_SYNCED) { return work->kind == ARRAY && work->elem_bytes == 8 && !work->per_rank; }
  if (mode == ZLIB || mode == DEFAULT_LEVEL) { return work->level >= 0; }
  return mode != AUTO || (work->level < 0 && work->content == HASHES && work->elem_bytes > 64);
}

static scda_params_t params_of (const job_t *job, int mode) {
  scda_params_t params;
  scda_params_init (&params);
  if (mode == CHECKED) { params.check = 1; }
  params.seal = mode == SEALED || mode == SEALED_SYNCED;
  params.sync = mode == SYNCED || mode == SEALED_SYNCED;
  if (mode == MPIIO) { params.driver = SCDA_DRIVER_MPIIO; }
  if (mode == ZLIB) { params.encoder = SCDA_ENCODER_ZLIB; }
  if (mode != DEFAULT_LEVEL && job->work->level >= 0) { params.level = job->work->level; }
  return params;
}

/* The data of a section as libscda takes them. */
static void *data_of (const job_t *job, int section) {
  if (job->pointers) { return job->pointers + (uint64_t) section * job->n; }
  return job->data + (uint64_t) section * job->bytes;
}

static void write_file (const job_t *job, int mode, const char *name) {
  const scda_params_t params = params_of (job, mode);
  const int encode = mode == AUTO ? SCDA_ENCODE_AUTO : job->work->level >= 0 ? SCDA_ENCODE_ALWAYS : SCDA_ENCODE_NONE;
  const uint64_t E = job->work->elem_bytes;
  const int indirect = job->pointers != NULL;
  int err;
  scda_fcontext_t *f = scda_fopen_write (job->comm, name, "benchmark", NULL, &params, &err);
  succeed (err);
  mark_opened ();
  for (int s = 0; s < job->sections; ++s) {
    void *data = data_of (job, s);
    switch (job->work->kind) {
    case ARRAY: f = scda_fwrite_array (f, data, job->counts, E, indirect, "array", NULL, encode, &err); break;
    case BLOCK: f = scda_fwrite_block (f, data, E, "block", NULL, 0, encode, &err); break;
    case VARRAY:
      f = scda_fwrite_varray (f, data, job->counts, job->sizes, NULL, indirect, "varray", NULL, encode, &err);
      break;
    }
    succeed (err);
  }
  mark_moved ();
  scda_fclose (f, &err);
  succeed (err);
}

static void read_file (const job_t *job, int mode, const char *name) {
  const scda_params_t params = params_of (job, mode);
  const int indirect = job->pointers != NULL;
  int err;
  scda_fcontext_t *f = scda_fopen_read (job->comm, name, NULL, NULL, &params, &err);
  succeed (err);
  mark_opened ();
  for (int s = 0; s < job->sections; ++s) {
    void *data = data_of (job, s);
    int decode = 1;
    uint64_t N, E;
    f = scda_fread_section_header (f, NULL, &N, &E, NULL, NULL, &decode, &err);
    succeed (err);
    if (job->work->kind == BLOCK ? E != job->work->elem_bytes : N != job->elems) { die ("libscda: another section"); }
    switch (job->work->kind) {
    case ARRAY: f = scda_fread_array_data (f, data, job->counts, E, indirect, &err); break;
    case BLOCK: f = scda_fread_block_data (f, data, E, 0, &err); break;
    case VARRAY:
      f = scda_fread_varray_sizes (f, job->sizes, job->counts, &err);
      succeed (err);
      f = scda_fread_varray_data (f, data, job->counts, job->sizes, NULL, indirect, &err);
      break;
    }
    succeed (err);
  }
  mark_moved ();
  scda_fclose (f, &err);
  succeed (err);
}

const contender_t scda_contenders[] = {
    {"libscda", "libscda", DEFAULT, takes_part, write_file, read_file},
    {"libscda, check = 1", NULL, CHECKED, takes_part, write_file, read_file},
    {"libscda, sealed", NULL, SEALED, takes_part, write_file, read_file},
    {"libscda, sync", "libscda, sync", SYNCED, takes_part, write_file, read_file},
    {"libscda, sealed, sync", NULL, SEALED_SYNCED, takes_part, write_file, read_file},
    {"libscda, MPI-IO driver", NULL, MPIIO, takes_part, write_file, read_file},
    {"libscda, zlib encoder", NULL, ZLIB, takes_part, write_file, read_file},
    {"libscda, default level", NULL, DEFAULT_LEVEL, takes_part, write_file, read_file},
    {"libscda, SCDA_ENCODE_AUTO", NULL, AUTO, takes_part, write_file, read_file},
    {0}};
