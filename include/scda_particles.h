/* scda_particles.h: particles in the cells of a mesh, or without one, in scda files.
 *
 * The convention is docs/particles.md. Header-only, C99 and C++11. Needs libscda with MPI.
 *
 * Names that end in _internal are for these headers alone.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef SCDA_PARTICLES_H
#define SCDA_PARTICLES_H

#include <scda_forest.h>

/** The group that is used where NULL is passed. */
#define SCDA_PARTICLES_GROUP "particles"

/**
 * Which particles each rank has. Fill it by `scda_particles_init`; then set what `scda_particles_write` needs, or let
 * `scda_particles_read` fill it. What it points to must stay as it is as long as it is used. Release it by `scda_particles_free`.
 */
typedef struct {
  uint64_t cells;         /**< The number of cells of this rank: quadrants, patches or others. 0 on all ranks: particles without cells. */
  const int64_t *counts;  /**< Of each cell of this rank: the number of its particles. In memory, they follow those of the cell before. */
  const uint64_t *number; /**< Of each cell of this rank: its number among those of all ranks. NULL: they follow one another, in the
                               order of the ranks. On all ranks, or on none. */
  const char *mesh;       /**< Writing: the group of the mesh whose quadrants, patches or cells these are. NULL: of none in the file. */
  uint64_t n;             /**< The number of particles of this rank. Set by the program only to write particles without cells. */
  /* Set by scda_particles_write and scda_particles_read. */
  uint64_t particles;  /**< The number of particles of all ranks. */
  uint64_t all_cells;  /**< The number of cells of all ranks; 1 if there are none. */
  uint64_t first;      /**< The number of the first particle of this rank, if `number` is NULL. */
  uint64_t first_cell; /**< The number of the first cell of this rank, if `number` is NULL. */
  MPI_Comm comm;       /**< The communicator that was passed. */
  int64_t *begin_internal; /* with `number`: the first particle of each cell of this rank */
  int64_t *counts_internal;
} scda_particles_t;

/**
 * Fills it with the defaults: no particles.
 *
 * Not collective.
 *
 * @param [out] p  The particles.
 */
static inline void scda_particles_init (scda_particles_t *p) {
  memset (p, 0, sizeof *p);
  p->comm = MPI_COMM_NULL;
}

/**
 * Releases what the library has allocated for particles, and fills them with the defaults.
 *
 * Not collective.
 *
 * @param [in,out] p  The particles.
 */
static inline void scda_particles_free (scda_particles_t *p) {
  free (p->begin_internal);
  free (p->counts_internal);
  scda_particles_init (p);
}

/* ---- Internal ---- */

static inline const char *scda_particles_group_internal (const char *group) { return group == NULL ? SCDA_PARTICLES_GROUP : group; }

/* The particles of this rank, by its counts. */
static inline void scda_particles_sum_internal (scda_particles_t *p, scda_forest_error_internal_t *e) {
  uint64_t i;
  int size = 1, any = p->cells > 0;
  MPI_Comm_size (p->comm, &size);
  MPI_Allreduce (MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, p->comm);
  if (any) { p->n = 0; }
  if (p->cells > 0 && p->counts == NULL) {
    scda_forest_error_internal (e, SCDA_ERR_ARG, "cells of particles without counts");
    return;
  }
  for (i = 0; i < p->cells; ++i) {
    if (p->counts[i] < 0 || (uint64_t) p->counts[i] > (uint64_t) INT64_MAX / 2 - p->n) {
      scda_forest_error_internal (e, SCDA_ERR_ARG, "cell %llu of this rank has %lld particles", (unsigned long long) i, (long long) p->counts[i]);
      return;
    }
    p->n += (uint64_t) p->counts[i];
  }
  if (p->n > (uint64_t) INT64_MAX / 8 / (uint64_t) size) { /* so the sum of all ranks does not wrap */
    scda_forest_error_internal (e, SCDA_ERR_RANGE, "%llu particles on a rank of %d: more than 2^60 in all", (unsigned long long) p->n, size);
  }
}

/* With numbers: where each cell begins, on all ranks; the last entry is the end of all. To be freed. */
static inline int64_t *scda_particles_gather_internal (scda_particles_t *p, scda_forest_error_internal_t *e) {
  int64_t *all = NULL, next = 0;
  uint64_t i;
  int ready;
  if (p->all_cells > (uint64_t) INT32_MAX - 1) {
    scda_forest_error_internal (e, SCDA_ERR_RANGE, "%llu cells with numbers of their own; expected at most %d", (unsigned long long) p->all_cells, INT32_MAX - 1);
    return NULL; /* on all ranks */
  }
  all = (int64_t *) scda_forest_room_internal (p->all_cells + 1, 8, e);
  p->begin_internal = (int64_t *) scda_forest_room_internal (p->cells, 8, e);
  for (i = 0; all != NULL && i <= p->all_cells; ++i) { all[i] = 0; }
  for (i = 0; all != NULL && i < p->cells; ++i) {
    if (p->number[i] < p->all_cells) { all[p->number[i]] += 1 + p->counts[i]; }
  }
  ready = all != NULL && p->begin_internal != NULL;
  MPI_Allreduce (MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, p->comm);
  if (!ready) {
    free (all);
    return NULL;
  }
  MPI_Allreduce (MPI_IN_PLACE, all, (int) p->all_cells, MPI_INT64_T, MPI_SUM, p->comm);
  for (i = 0; i < p->cells; ++i) { /* as many numbers as cells: if one stands twice, another is missing */
    if (p->number[i] >= p->all_cells || all[p->number[i]] != 1 + p->counts[i]) {
      scda_forest_error_internal (e, SCDA_ERR_ARG, "a cell of particles has number %llu; expected each number below %llu once",
                                  (unsigned long long) p->number[i], (unsigned long long) p->all_cells);
    }
  }
  for (i = 0; i <= p->all_cells; ++i) {
    const int64_t count = all[i] - 1;
    all[i] = next;
    next += count;
  }
  for (i = 0; e->err == SCDA_SUCCESS && i < p->cells; ++i) { p->begin_internal[i] = all[p->number[i]]; }
  return all;
}

/* Whether some rank has numbers; a rank without cells then has some, too. */
static inline int scda_particles_numbered_internal (scda_particles_t *p, scda_forest_error_internal_t *e) {
  static const uint64_t none[1] = { 0 };
  int has = p->number != NULL;
  MPI_Allreduce (MPI_IN_PLACE, &has, 1, MPI_INT, MPI_MAX, p->comm);
  if (has && p->number == NULL && p->cells == 0) { p->number = none; }
  if (has && p->number == NULL) { scda_forest_error_internal (e, SCDA_ERR_ARG, "cells of this rank have no numbers, those of another have"); }
  return has;
}

/* The boxes of a field that are those of this rank, to be freed: in memory one after the other, in the file where their cells are. */
static inline scda_box_t *scda_particles_boxes_internal (const scda_particles_t *p, const scda_dataset_t *d, void *data, size_t *nboxes,
                                                         uint64_t **numbers, scda_forest_error_internal_t *e) {
  const uint64_t ndims = (uint64_t) d->ndims, most = p->number == NULL ? 1 : p->cells;
  scda_box_t *boxes = (scda_box_t *) scda_forest_room_internal (most, sizeof *boxes, e);
  uint64_t i, *count = NULL; /* of the last box */
  *nboxes = 0;
  *numbers = (uint64_t *) scda_forest_room_internal (most, 2 * 8 * ndims, e);
  for (i = 0; e->err == SCDA_SUCCESS && i < most; ++i) {
    const uint64_t n = p->number == NULL ? p->n : (uint64_t) p->counts[i];
    const uint64_t begin = p->number == NULL ? p->first : (uint64_t) p->begin_internal[i];
    uint64_t *start = *numbers + 2 * ndims * *nboxes, a;
    if (n == 0) { continue; }
    if (count != NULL && count[0] + *(count - ndims) == begin) {
      count[0] += n;
      continue;
    }
    count = start + ndims;
    for (a = 0; a < ndims; ++a) {
      start[a] = a == 0 ? begin : 0;
      count[a] = a == 0 ? n : d->shape[a];
    }
    scda_box_init (boxes + *nboxes);
    boxes[*nboxes].data = *nboxes == 0 ? data : NULL; /* NULL: behind the box before */
    boxes[*nboxes].start = start;
    boxes[*nboxes].count = count;
    boxes[*nboxes].type = d->type;
    boxes[*nboxes].item_bytes = d->item_bytes;
    boxes[*nboxes].unit = d->unit;
    boxes[*nboxes].members = d->members;
    ++*nboxes;
  }
  return boxes;
}

/* What is known of the mesh whose cells have particles; NULL if nothing is. */
static inline scda_forest_state_internal_t *scda_particles_mesh_internal (scda_fcontext_t *f, const scda_particles_t *p) {
  scda_forest_state_internal_t *state = p->mesh == NULL ? NULL : scda_forest_state_internal (f, p->mesh);
  if (state != NULL && !state->has_mesh) { scda_forest_look_internal (f, p->mesh, "scda_forest", "coordinates", p->comm); }
  if (state != NULL && !state->has_mesh) {
    state->looked = 0;
    scda_forest_look_internal (f, p->mesh, "scda_patches", "boxes", p->comm);
  }
  return state != NULL && state->has_mesh ? state : NULL;
}

/* ---- The functions ---- */

/**
 * Writes how many particles each cell has, and before the first time the attributes of the group. Their fields follow.
 * `scda_forest_write_time (f, group, comm, time, units, &err)` with the name of the group begins a time step.
 *
 * Collective. With `number`, all ranks learn the counts of all cells, 8 bytes for each.
 *
 * @param [in] f      The file, open for writing.
 * @param [in] group  The name of the group. NULL: `SCDA_PARTICLES_GROUP`.
 * @param [in] comm   The communicator of the file.
 * @param [in,out] p  The particles. Receives the numbers of all particles and cells.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG` for wrong counts or numbers; `SCDA_ERR_USAGE` if the last mesh in the group `p->mesh` has another number of cells;
 * `SCDA_ERR_RANGE`; `SCDA_ERR_MEMORY`; and those of `scda_fwrite_dataset`.
 */
static inline scda_fcontext_t *scda_particles_write (scda_fcontext_t *f, const char *group, MPI_Comm comm, scda_particles_t *p, int *err) {
  scda_forest_error_internal_t e;
  scda_forest_name_internal_t name;
  scda_forest_state_internal_t *state = NULL, *of_mesh = NULL;
  uint64_t own[2], before[2] = { 0, 0 }, sums[2], start = 0, count = 0, i;
  int64_t *offsets = NULL;
  char attributes[64], text[scda_forest_checksum_bytes_internal];
  int rank = 0, size = 1, numbered;
  if (f == NULL) { return NULL; }
  scda_forest_no_error_internal (&e);
  free (p->begin_internal);
  p->begin_internal = NULL;
  p->comm = comm;
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  if (p->mesh != NULL) { scda_forest_name_internal (&name, p->mesh, "", "boxes", "", &e); } /* whether it can be that of a mesh */
  scda_forest_name_internal (&name, scda_particles_group_internal (group), "", "offsets", "", &e);
  scda_particles_sum_internal (p, &e);
  numbered = scda_particles_numbered_internal (p, &e);
  f = scda_forest_agree_internal (f, comm, &e, err);
  if (f == NULL) { return NULL; }
  own[0] = p->n;
  own[1] = p->cells;
  MPI_Exscan (own, before, 2, MPI_UINT64_T, MPI_SUM, comm);
  if (rank == 0) { before[0] = before[1] = 0; }
  MPI_Allreduce (own, sums, 2, MPI_UINT64_T, MPI_SUM, comm);
  p->first = before[0];
  p->first_cell = before[1];
  p->particles = sums[0];
  p->all_cells = sums[1] == 0 ? 1 : sums[1];
  of_mesh = scda_particles_mesh_internal (f, p);
  if (of_mesh != NULL && of_mesh->quadrants != p->all_cells) {
    scda_forest_error_internal (&e, SCDA_ERR_USAGE, "particles of %llu cells; the last mesh %.58s in the file has %llu", (unsigned long long) p->all_cells,
                                p->mesh, (unsigned long long) of_mesh->quadrants);
  }
  state = scda_forest_state_internal (f, scda_particles_group_internal (group));
  if (state == NULL) { scda_forest_error_internal (&e, SCDA_ERR_MEMORY, "no memory for what is known of particles"); }
  if (numbered) {
    offsets = scda_particles_gather_internal (p, &e); /* rank 0 writes them */
    count = rank == 0 ? p->all_cells + 1 : 0;
  }
  else {
    start = p->first_cell;
    count = (sums[1] == 0 ? rank == size - 1 : p->cells) + (rank == size - 1); /* the last one also writes the end of all */
    offsets = (int64_t *) scda_forest_room_internal (count + 1, 8, &e);
    if (offsets != NULL) { offsets[0] = sums[1] == 0 ? 0 : (int64_t) p->first; }
    for (i = 0; offsets != NULL && i < p->cells; ++i) { offsets[i + 1] = offsets[i] + p->counts[i]; }
    if (offsets != NULL && count > 0 && rank == size - 1) { offsets[count - 1] = (int64_t) p->particles; }
  }
  f = scda_forest_agree_internal (f, comm, &e, err);
  if (f != NULL) { scda_forest_look_internal (f, scda_particles_group_internal (group), "scda_particles", "offsets", comm); }
  if (f != NULL && !state->has_group) {
    char group_attributes[SCDA_NAME_BYTES + 64];
    sprintf (group_attributes, "{\"scda_particles\": 1%s%.58s%s}", p->mesh == NULL ? "" : ", \"mesh\": \"", p->mesh == NULL ? "" : p->mesh,
             p->mesh == NULL ? "" : "\"");
    f = scda_forest_put_group_internal (f, scda_particles_group_internal (group), group_attributes, err);
  }
  if (f != NULL) {
    scda_forest_parts_internal_t parts;
    scda_forest_no_parts_internal (&parts, scda_particles_group_internal (group));
    if (of_mesh != NULL) {
      scda_forest_checksum_text_internal (of_mesh->checksum, text);
      sprintf (attributes, "{\"" SCDA_FOREST_MESH "\": \"%s\"}", text);
    }
    scda_forest_add_part_internal (&parts, "offsets", SCDA_TYPE_INT64, p->all_cells + 1, 0, "cell_boundary", NULL, of_mesh != NULL ? attributes : NULL,
                                   start, count, offsets);
    f = scda_forest_write_parts_internal (f, &parts, err);
  }
  free (offsets);
  if (f != NULL) {
    state->has_mesh = 1;
    state->quadrants = p->particles;
    state->checksum = p->all_cells;
  }
  return f;
}

/**
 * Writes a field of the particles: a column, or a struct of several members.
 *
 * Collective.
 *
 * @param [in] f      The file, open for writing.
 * @param [in] group  The name of the group. NULL: `SCDA_PARTICLES_GROUP`.
 * @param [in] p      The particles, as of the last `scda_particles_write` to the group.
 * @param [in] field  Its name without that of the group, and its type; layout, codec, attributes and so on as of any dataset. `shape[0]`
 *                    is set by the library; of a scalar `ndims` may be 0.
 * @param [in] data   The values of the particles of this rank, cell by cell. May be NULL if there are none.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE` if the particles are not those that were written last, `SCDA_ERR_ARG`, `SCDA_ERR_MEMORY`, and those of
 * `scda_fwrite_datasets`.
 */
static inline scda_fcontext_t *scda_particles_write_field (scda_fcontext_t *f, const char *group, const scda_particles_t *p, const scda_dataset_t *field,
                                                           const void *data, int *err) {
  scda_forest_error_internal_t e;
  scda_forest_name_internal_t name;
  scda_forest_state_internal_t *state = scda_forest_state_internal (f, scda_particles_group_internal (group));
  const char *names[SCDA_MAX_DIMS];
  scda_dataset_t d = *field;
  scda_box_t *boxes = NULL;
  uint64_t *numbers = NULL;
  size_t nboxes = 0;
  int i;
  if (f == NULL) { return NULL; }
  scda_forest_no_error_internal (&e);
  if (p->comm == MPI_COMM_NULL || state == NULL || !state->has_mesh || state->quadrants != p->particles || state->checksum != p->all_cells) {
    scda_forest_error_internal (&e, SCDA_ERR_USAGE, "field %.58s of %.58s: its particles were not written last: call scda_particles_write before",
                                field->name, scda_particles_group_internal (group));
    return scda_forest_fail_internal (f, &e, err);
  }
  scda_forest_field_name_internal (&name, scda_particles_group_internal (group), field, "", &e);
  if (d.ndims == 0) { d.ndims = 1; }
  if (d.ndims < 0 || d.ndims > SCDA_MAX_DIMS) { scda_forest_error_internal (&e, SCDA_ERR_ARG, "field %.58s has %d dimensions", field->name, d.ndims); }
  d.shape[0] = p->particles;
  for (i = 0; i < SCDA_MAX_DIMS; ++i) { names[i] = i > 0 && i < d.ndims && field->dimension_names != NULL ? field->dimension_names[i] : NULL; }
  names[0] = "particle";
  d.dimension_names = names;
  if (e.err == SCDA_SUCCESS) {
    memcpy (d.name, name.text, sizeof d.name);
    boxes = scda_particles_boxes_internal (p, &d, (void *) (uintptr_t) data, &nboxes, &numbers, &e);
  }
  f = scda_forest_agree_internal (f, p->comm, &e, err);
  if (f != NULL) { f = scda_fwrite_datasets (f, 1, &d, &nboxes, boxes, err); }
  free (boxes);
  free (numbers);
  return f;
}

/* The first cells of the shares of all ranks, such that each has about as many particles and cells: offsets of the cells of this rank, and
 * behind them that of the next one. */
static inline void scda_particles_shares_internal (scda_particles_t *p, const int64_t *offsets, uint64_t first, uint64_t cells, uint64_t *starts) {
  int size = 0, q;
  uint64_t share, i;
  MPI_Comm_size (p->comm, &size);
  share = (p->particles + p->all_cells) / (uint64_t) size + 1;
  for (q = 0; q <= size; ++q) { starts[q] = p->all_cells; }
  for (i = cells; i-- > 0;) {
    const uint64_t cell = first + i;
    const uint64_t middle = (uint64_t) offsets[i] + (uint64_t) (offsets[i + 1] - offsets[i]) / 2 + cell;
    starts[middle / share] = cell;
  }
  MPI_Allreduce (MPI_IN_PLACE, starts, size, MPI_UINT64_T, MPI_MIN, p->comm);
  for (q = size - 1; q >= 0; --q) {
    if (starts[q] > starts[q + 1]) { starts[q] = starts[q + 1]; }
  }
  starts[0] = 0;
}

/* Whether offsets can be true; `first` is the number of the first one, or each pair is of a cell of its own. */
static inline int scda_particles_check_internal (const scda_particles_t *p, const char *name, const int64_t *begin, const int64_t *end, uint64_t cell,
                                                 scda_forest_error_internal_t *e) {
  if (*begin < 0 || *end < *begin || (uint64_t) *end > p->particles || (cell == 0 && *begin != 0)) {
    return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "%s: cell %llu: found particles %lld to %lld, expected an end that is not before, up to %llu%s",
                                       name, (unsigned long long) cell, (long long) *begin, (long long) *end, (unsigned long long) p->particles,
                                       cell == 0 ? ", and 0 as begin" : "");
  }
  return 1;
}

/**
 * Reads how many particles each cell has, and distributes them: `p->n` particles are those of this rank. Without cells in the file, each
 * rank has as many particles.
 *
 * Collective. Without `number`, a rank reads the offsets of its cells, and at first those of as many cells as any other rank.
 *
 * @param [in] f       The file, open for reading.
 * @param [in] group   The name of the group. NULL: `SCDA_PARTICLES_GROUP`.
 * @param [in] step    The time step: 0 is the first one, -1 the last one. See `scda_forest_steps`.
 * @param [in] comm    The communicator of the file.
 * @param [in] cells   How many cells this rank has: those of its part of a mesh that is read already. -1, on all ranks: each gets cells that
 *                     follow one another, with about as many particles as any other.
 * @param [in] number  The numbers of these cells, which may be any, also those of another rank. They must stay as they are as long as `p` is
 *                     used. NULL: they follow one another, in the order of the ranks, and are all of them.
 * @param [out] p      The particles. `scda_particles_init` was called for them. Release them by `scda_particles_free`, also after an error.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_FORMAT` if the file has no such particles, or offsets that cannot be true; `SCDA_ERR_ARG` if there is no such step, or if
 * the file has another number of cells; `SCDA_ERR_MEMORY`; and those of `scda_fread_datasets`.
 */
static inline scda_fcontext_t *scda_particles_read (scda_fcontext_t *f, const char *group, int64_t step, MPI_Comm comm, int64_t cells,
                                                    const uint64_t *number, scda_particles_t *p, int *err) {
  scda_forest_error_internal_t e;
  scda_forest_name_internal_t name;
  scda_forest_step_internal_t range;
  const uint64_t any = UINT64_MAX;
  uint64_t section = 0, i, *starts = NULL, *boxes = NULL;
  int64_t record = -1, least = cells, *offsets = NULL, ends[2] = { 0, 0 };
  long dimension = -1; /* particles have none */
  int rank = 0, size = 0, found = 0, numbered;
  scda_dataset_t d;
  if (f == NULL) { return NULL; }
  scda_forest_no_error_internal (&e);
  scda_particles_free (p);
  p->comm = comm;
  p->number = number;
  p->cells = cells < 0 ? 0 : (uint64_t) cells;
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  MPI_Allreduce (MPI_IN_PLACE, &least, 1, MPI_INT64_T, MPI_MIN, comm);
  if (least < 0 && (cells != -1 || number != NULL)) {
    scda_forest_error_internal (&e, SCDA_ERR_ARG, "%lld cells of this rank%s, and %lld of another; expected -1 on all ranks, or on none", (long long) cells,
                                number == NULL ? "" : " with numbers", (long long) least);
  }
  numbered = scda_particles_numbered_internal (p, &e);
  scda_forest_name_internal (&name, scda_particles_group_internal (group), "", "offsets", "", &e);
  f = scda_forest_agree_internal (f, comm, &e, err);
  if (f != NULL) { f = scda_forest_kind_internal (f, scda_particles_group_internal (group), "scda_particles", 1, &dimension, err); }
  if (f != NULL) { f = scda_forest_step_internal (f, scda_particles_group_internal (group), step, &range, err); }
  if (f == NULL) { return NULL; }
  range.begin = 0;
  f = scda_forest_last_internal (f, name.text, &range, &found, &record, &section, err);
  if (f == NULL) { return NULL; }
  if (!found) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "there is no dataset %s up to the end of step %lld", name.text, (long long) step);
    return scda_forest_fail_internal (f, &e, err);
  }
  f = scda_forest_open_internal (f, name.text, record, SCDA_TYPE_INT64, 1, &any, &d, err);
  if (f != NULL && d.shape[0] < 2) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "%s has %llu numbers; expected at least 2", name.text, (unsigned long long) d.shape[0]);
    return scda_forest_fail_internal (f, &e, err);
  }
  if (f != NULL) { f = scda_forest_rows_internal (f, &d, d.shape[0] - 2, 2, ends, err); }
  if (f == NULL) { return NULL; }
  p->all_cells = d.shape[0] - 1;
  p->particles = ends[1] < 0 || ends[1] > INT64_MAX / 8 ? 0 : (uint64_t) ends[1];
  if (ends[1] != (int64_t) p->particles) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "%s: cell %llu ends at %lld, expected 0 to 2^60 particles", name.text,
                                (unsigned long long) p->all_cells - 1, (long long) ends[1]);
  }
  else { scda_particles_check_internal (p, name.text, ends, ends + 1, p->all_cells - 1, &e); }
  if (e.err != SCDA_SUCCESS) { return scda_forest_fail_internal (f, &e, err); }
  if (least < 0 && p->all_cells > 1) {
    const uint64_t share = p->all_cells / (uint64_t) size, first = share * (uint64_t) rank, most = p->all_cells - share * (uint64_t) (size - 1);
    const uint64_t own = rank == size - 1 ? most : share, piece = (uint64_t) 1 << 20;
    starts = (uint64_t *) scda_forest_room_internal ((uint64_t) size + 1, 8, &e);
    offsets = (int64_t *) scda_forest_room_internal (own + 1, 8, &e);
    f = scda_forest_agree_internal (f, comm, &e, err);
    /* In pieces, each checked before the next one takes memory. */
    for (i = 0; f != NULL && i <= most; i += piece) {
      const uint64_t now = i > own ? 0 : own + 1 - i < piece ? own + 1 - i : piece;
      uint64_t k;
      f = scda_forest_rows_internal (f, &d, first + i, now, offsets + i, err);
      for (k = i == 0 ? 1 : i; f != NULL && k < i + now; ++k) {
        if (!scda_particles_check_internal (p, name.text, offsets + k - 1, offsets + k, first + k - 1, &e)) { break; }
      }
      if (f != NULL) { f = scda_forest_agree_internal (f, comm, &e, err); }
    }
    if (f != NULL) {
      scda_particles_shares_internal (p, offsets, first, own, starts);
      p->first_cell = starts[rank];
      p->cells = starts[rank + 1] - starts[rank];
    }
    free (offsets);
    free (starts);
    offsets = NULL;
  }
  else if (least >= 0 && !numbered) {
    uint64_t sum = 0;
    MPI_Exscan (&p->cells, &p->first_cell, 1, MPI_UINT64_T, MPI_SUM, comm);
    if (rank == 0) { p->first_cell = 0; }
    MPI_Allreduce (&p->cells, &sum, 1, MPI_UINT64_T, MPI_SUM, comm);
    if (sum != p->all_cells) {
      scda_forest_error_internal (&e, SCDA_ERR_ARG, "%s has %llu cells, all ranks together %llu: read the mesh of the same step", name.text,
                                  (unsigned long long) p->all_cells, (unsigned long long) sum);
    }
  }
  for (i = 0; numbered && i < p->cells; ++i) {
    if (number[i] >= p->all_cells) {
      scda_forest_error_internal (&e, SCDA_ERR_ARG, "a cell of particles has number %llu; %s has %llu cells", (unsigned long long) number[i], name.text,
                                  (unsigned long long) p->all_cells);
      break;
    }
  }
  if (f != NULL) { f = scda_forest_agree_internal (f, comm, &e, err); }
  if (f == NULL) { return NULL; }
  if (least < 0 && p->all_cells == 1) { /* particles of one cell, or of none, are shared */
    p->first = p->particles / (uint64_t) size * (uint64_t) rank;
    p->n = rank == size - 1 ? p->particles - p->first : p->particles / (uint64_t) size;
    return f;
  }
  /* Begin and end of each cell of this rank. */
  offsets = (int64_t *) scda_forest_room_internal ((numbered ? 2 : 1) * p->cells + 1, 8, &e);
  p->counts_internal = (int64_t *) scda_forest_room_internal (p->cells, 8, &e);
  p->begin_internal = (int64_t *) scda_forest_room_internal (p->cells, 8, &e);
  boxes = (uint64_t *) scda_forest_room_internal (numbered ? p->cells : 1, 2 * 8, &e);
  f = scda_forest_agree_internal (f, comm, &e, err);
  if (f != NULL) {
    const size_t nboxes = numbered ? (size_t) p->cells : p->cells > 0;
    if (!numbered) {
      boxes[0] = p->first_cell;
      boxes[1] = p->cells + 1;
    }
    for (i = 0; numbered && i < p->cells; ++i) {
      boxes[i] = number[i];
      boxes[p->cells + i] = 2;
    }
    f = scda_fread_dataset (f, offsets, nboxes, boxes, boxes + (numbered ? p->cells : 1), err);
  }
  for (i = 0; f != NULL && i < p->cells; ++i) {
    const int64_t *begin = offsets + (numbered ? 2 * i : i);
    if (!scda_particles_check_internal (p, name.text, begin, begin + 1, numbered ? number[i] : p->first_cell + i, &e)) { break; }
    p->begin_internal[i] = begin[0];
    p->counts_internal[i] = begin[1] - begin[0];
    p->n += (uint64_t) p->counts_internal[i];
  }
  if (p->cells > 0 && f != NULL) { p->first = (uint64_t) offsets[0]; }
  p->counts = p->counts_internal;
  free (offsets);
  free (boxes);
  return f == NULL ? NULL : scda_forest_agree_internal (f, comm, &e, err);
}

/**
 * Reads a field of the particles of this rank.
 *
 * Collective.
 *
 * @param [in] f      The file, open for reading.
 * @param [in] group  The name of the group. NULL: `SCDA_PARTICLES_GROUP`.
 * @param [in] step   The time step, as of `scda_particles_read`.
 * @param [in] p      The particles of this step.
 * @param [in] field  Its name without that of the group; type, items and members are those in memory, to which the values are converted: of
 *                    structs, some members may be left out. `shape[1]` and so on are those of the file; of a scalar `ndims` may be 0.
 * @param [out] data  Room for the values of `p->n` particles. May be NULL if there are none.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_FORMAT` if the step has no such field, or one of another shape; `SCDA_ERR_USAGE` if the particles were not read;
 * `SCDA_ERR_ARG` for values that cannot be converted; `SCDA_ERR_MEMORY`; and those of `scda_fread_datasets`.
 */
static inline scda_fcontext_t *scda_particles_read_field (scda_fcontext_t *f, const char *group, int64_t step, const scda_particles_t *p,
                                                          const scda_dataset_t *field, void *data, int *err) {
  scda_forest_error_internal_t e;
  scda_dataset_t d, in_memory = *field;
  scda_box_t *boxes = NULL;
  uint64_t *numbers = NULL;
  size_t nboxes = 0;
  int found = 0, i;
  if (f == NULL) { return NULL; }
  scda_forest_no_error_internal (&e);
  if (p->comm == MPI_COMM_NULL) {
    scda_forest_error_internal (&e, SCDA_ERR_USAGE, "a field of particles that were not read: call scda_particles_read before");
    return scda_forest_fail_internal (f, &e, err);
  }
  if (in_memory.ndims == 0) { in_memory.ndims = 1; }
  scda_dataset_init (&d);
  f = scda_forest_find_internal (f, scda_particles_group_internal (group), step, "fields/", field->name, "", &found, &d, err);
  if (f == NULL) { return NULL; }
  if (!found) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "there is no dataset %.58s/fields/%.58s in step %lld", scda_particles_group_internal (group),
                                field->name, (long long) step);
  }
  else if (d.ndims != in_memory.ndims || d.shape[0] != p->particles) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "%s has %d dimensions and %llu rows; expected %d and %llu, one for each particle", d.name, d.ndims,
                                (unsigned long long) (d.ndims > 0 ? d.shape[0] : 1), in_memory.ndims, (unsigned long long) p->particles);
  }
  for (i = 1; e.err == SCDA_SUCCESS && i < d.ndims; ++i) {
    if (d.shape[i] != in_memory.shape[i]) {
      scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "%s: dimension %d has %llu indices, expected %llu", d.name, i, (unsigned long long) d.shape[i],
                                  (unsigned long long) in_memory.shape[i]);
    }
  }
  if (e.err == SCDA_SUCCESS) { boxes = scda_particles_boxes_internal (p, &in_memory, data, &nboxes, &numbers, &e); }
  f = scda_forest_agree_internal (f, p->comm, &e, err);
  if (f != NULL) { f = scda_fread_datasets (f, 1, NULL, NULL, &nboxes, boxes, err); }
  free (boxes);
  free (numbers);
  return f;
}

#endif /* SCDA_PARTICLES_H */
