/* scda_meshes.c: the functions of scda_patches.h and scda_particles.h for the Fortran module of scda_meshes.F90, which is compiled with the
 * program, too. Not for C: include the headers.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <scda_particles.h>
#include <scda_patches.h>

/* type(scda_fcontext_t). */
typedef struct {
  scda_fcontext_t *handle;
  int rank, nranks, err;
  int64_t E;
  void *opened;
} file_t;

/* type(field_t). `data`: of patches, an address for each; of particles, the first address is that of all. */
typedef struct {
  const char *name, *attributes;
  void *const *data;
  const scda_member_t *members;
  int64_t cell_bytes, item_bytes;
  double max_relative_error, max_absolute_error;
  int type, components, ghost, encode, codec, level;
} field_t;

/* The file for C; of one that is closed the error, which is kept if there is one already. */
static scda_fcontext_t *handle_of (file_t *f) {
  if (f->handle == NULL) { scda_fflush (NULL, &f->err); }
  return f->handle;
}

/* That of an integer, or of type(MPI_Comm), which consists of one. */
static MPI_Comm comm_of (const MPI_Fint *comm) { return *comm == 1557814815 /* SCDA_COMM_SELF */ ? MPI_COMM_SELF : MPI_Comm_f2c (*comm); }

static scda_dataset_t dataset_of (const field_t *v) {
  scda_dataset_t d;
  scda_dataset_init (&d);
  snprintf (d.name, sizeof d.name, "%s", v->name);
  d.attributes = v->attributes;
  d.type = v->type;
  d.item_bytes = (uint64_t) v->item_bytes;
  d.members = v->members;
  d.ndims = v->components == 1 ? 1 : 2;
  d.shape[1] = v->components == 1 ? 0 : (uint64_t) v->components;
  d.encode = v->encode;
  d.codec = v->codec;
  d.level = v->level;
  d.max_relative_error = v->max_relative_error;
  d.max_absolute_error = v->max_absolute_error;
  return d;
}

/* What is wrong with the arguments on this rank is an error of all. Not empty: wrong. */
static scda_fcontext_t *agreed (file_t *f, MPI_Comm comm, const char *why) {
  scda_forest_error_internal_t e;
  if (handle_of (f) == NULL) { return NULL; }
  scda_forest_no_error_internal (&e);
  if (*why != '\0') { scda_forest_error_internal (&e, SCDA_ERR_ARG, "%s", why); }
  return f->handle = scda_forest_agree_internal (f->handle, comm, &e, &f->err);
}

void scda_fortran_write_time (file_t *f, const MPI_Fint *comm, const char *group, double time, const char *units) {
  if (handle_of (f) == NULL) { return; }
  f->handle = scda_forest_write_time (f->handle, group, comm_of (comm), time, *units == '\0' ? NULL : units, &f->err);
}

void scda_fortran_read_time (file_t *f, const char *group, int64_t step, double *time) {
  if (handle_of (f) != NULL) { f->handle = scda_forest_read_time (f->handle, group, step, time, &f->err); }
}

void scda_fortran_steps (file_t *f, const char *group, int64_t *steps) {
  if (handle_of (f) != NULL) { f->handle = scda_forest_steps (f->handle, group, steps, &f->err); }
}

/* ---- Patches ---- */

scda_patches_t *scda_fortran_patches_new (void) {
  scda_patches_t *m = (scda_patches_t *) malloc (sizeof *m);
  if (m != NULL) { scda_patches_init (m, 0); }
  return m;
}

void scda_fortran_patches_delete (scda_patches_t *m) {
  if (m != NULL) { scda_patches_free (m); }
  free (m);
}

void scda_fortran_patches_write_mesh (file_t *f, const MPI_Fint *comm, const char *group, scda_patches_t *m, const char *why) {
  if (agreed (f, comm_of (comm), why) == NULL) { return; }
  f->handle = scda_patches_write_mesh (f->handle, group, comm_of (comm), m, &f->err);
}

void scda_fortran_patches_read_mesh (file_t *f, const MPI_Fint *comm, const char *group, int64_t step, scda_patches_t *m) {
  if (handle_of (f) != NULL) { f->handle = scda_patches_read_mesh (f->handle, group, step, comm_of (comm), m, &f->err); }
}

/* Writes fields, or reads those of a step. */
void scda_fortran_patches_fields (file_t *f, const char *group, int64_t step, int is_read, const scda_patches_t *m, size_t n,
                                  const field_t *fields, const char *why) {
  scda_forest_error_internal_t e;
  scda_patch_field_t *all = NULL;
  size_t v;
  if (m->comm == MPI_COMM_NULL) { why = ""; } /* as the functions say */
  else if (agreed (f, m->comm, why) == NULL) { return; }
  if (handle_of (f) == NULL) { return; }
  scda_forest_no_error_internal (&e);
  all = (scda_patch_field_t *) scda_forest_room_internal (n, sizeof *all, &e);
  if (m->comm != MPI_COMM_NULL) { f->handle = scda_forest_agree_internal (f->handle, m->comm, &e, &f->err); }
  for (v = 0; f->handle != NULL && all != NULL && v < n; ++v) {
    all[v].dataset = dataset_of (fields + v);
    all[v].components = fields[v].components;
    all[v].data = fields[v].data;
    all[v].ghost = fields[v].ghost;
    all[v].cell_bytes = fields[v].cell_bytes;
  }
  if (f->handle != NULL && is_read) { f->handle = scda_patches_read_fields (f->handle, group, step, m, n, all, &f->err); }
  else if (f->handle != NULL) { f->handle = scda_patches_write_fields (f->handle, group, m, n, all, &f->err); }
  free (all);
}

/* ---- Particles ---- */

scda_particles_t *scda_fortran_particles_new (void) {
  scda_particles_t *p = (scda_particles_t *) malloc (sizeof *p);
  if (p != NULL) { scda_particles_init (p); }
  return p;
}

void scda_fortran_particles_delete (scda_particles_t *p) {
  if (p != NULL) { scda_particles_free (p); }
  free (p);
}

void scda_fortran_particles_write (file_t *f, const MPI_Fint *comm, const char *group, scda_particles_t *p, const char *why) {
  if (agreed (f, comm_of (comm), why) == NULL) { return; }
  f->handle = scda_particles_write (f->handle, group, comm_of (comm), p, &f->err);
}

void scda_fortran_particles_read (file_t *f, const MPI_Fint *comm, const char *group, int64_t step, int64_t cells, const uint64_t *number,
                                  scda_particles_t *p) {
  if (handle_of (f) != NULL) { f->handle = scda_particles_read (f->handle, group, step, comm_of (comm), cells, number, p, &f->err); }
}

/* Writes a field, or reads that of a step. */
void scda_fortran_particles_field (file_t *f, const char *group, int64_t step, int is_read, const scda_particles_t *p, const field_t *field,
                                   const char *why) {
  const scda_dataset_t d = dataset_of (field);
  if (p->comm != MPI_COMM_NULL && agreed (f, p->comm, why) == NULL) { return; }
  if (handle_of (f) == NULL) { return; }
  if (is_read) { f->handle = scda_particles_read_field (f->handle, group, step, p, &d, field->data[0], &f->err); }
  else { f->handle = scda_particles_write_field (f->handle, group, p, &d, field->data[0], &f->err); }
}
