/* scda_patches.h: meshes of patches, as block-structured codes have them, in scda files.
 *
 * The convention is docs/patches.md. Header-only, C99 and C++11. Needs libscda with MPI.
 *
 * Names that end in _internal are for these headers alone.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef SCDA_PATCHES_H
#define SCDA_PATCHES_H

#include <scda_forest.h>

/** The group that is used where NULL is passed. */
#define SCDA_PATCHES_GROUP "patches"

/**
 * A mesh of patches. Fill it by `scda_patches_init`; then set what `scda_patches_write_mesh` needs, or let
 * `scda_patches_read_mesh` fill the rest. What it points to must stay as it is as long as the mesh is used. Release it by
 * `scda_patches_free`.
 */
typedef struct {
  int dimension;          /**< The number of axes, 1 to 3: d. */
  int levels;             /**< The number of levels. The same on all ranks, as the next three. */
  const int32_t *ratio;   /**< For each level and axis: the cells that lie side by side in one of the level before; 1 for level 0. */
  const int64_t *domain;  /**< The first cell on each axis, then the number of cells on each axis, in cells of level 0. */
  const double *geometry; /**< The least coordinate of the domain on each axis, then the size of a cell of level 0 on each axis. */
  size_t n;               /**< The number of patches of this rank. May be 0. */
  const int32_t *level;   /**< Of each patch of this rank: its level. Not set by the program, as the next one, for patches that it
                               chooses from a mesh that was read. */
  const int64_t *boxes;   /**< Of each patch of this rank: its first cell on each axis, then its number of cells on each axis. */
  const uint64_t *number; /**< Of each patch of this rank: its number among those of all ranks. NULL: they follow one another, in
                               the order of the ranks. On all ranks, or on none. */
  /* Set by scda_patches_write_mesh and scda_patches_read_mesh. */
  uint64_t patches;         /**< The number of patches of all ranks. */
  uint64_t cells;           /**< The number of cells of all patches. */
  uint64_t first;           /**< The number of the first patch of this rank, if `number` is NULL. */
  const int32_t *all_level; /**< The level of each patch of all ranks. NULL if the mesh was written without `number`. */
  const int64_t *all_boxes; /**< The boxes of all patches, as `boxes`. NULL likewise. */
  MPI_Comm comm;            /**< The communicator that was passed. */
  uint64_t checksum_internal;
  uint64_t *offset_internal; /* the first cell of each patch: of those of all ranks if there is `all_boxes`, otherwise of those of this rank */
  void *kept_internal[8];    /* what to free */
} scda_patches_t;

/**
 * A field of patches: what it is in the file, and where its values lie in memory. Fill it by `scda_patch_field_init`.
 *
 * In memory, each patch has its cells with `ghost` layers around them on each axis; x varies fastest. So AMReX has each variable in
 * arrays of their own (`cell_bytes` 0), and FLASH has the variables of a cell side by side (`cell_bytes` the bytes of all of them).
 */
typedef struct {
  scda_dataset_t dataset; /**< Its name without the group, and its type, not SCDA_TYPE_RAW. Writing: also layout, codec, attributes and so
                               on; not its shape. */
  int components;         /**< How many numbers a cell has; they follow one another. 1: a scalar, a dimension less. */
  void *const *data;      /**< Of each patch of this rank: the number of its first cell in memory, a ghost cell if there are any. */
  int ghost;              /**< The layers of ghost cells on both ends of each axis. */
  int64_t cell_bytes;     /**< The bytes from a cell to the next one on x. 0: the numbers of a cell. */
} scda_patch_field_t;

/**
 * Fills a mesh with the defaults: no patches.
 *
 * Not collective.
 *
 * @param [out] m         The mesh.
 * @param [in] dimension  The number of axes, 1 to 3.
 */
static inline void scda_patches_init (scda_patches_t *m, int dimension) {
  memset (m, 0, sizeof *m);
  m->dimension = dimension;
  m->comm = MPI_COMM_NULL;
}

/**
 * Fills a field with the defaults: scalars, without ghost layers.
 *
 * Not collective.
 *
 * @param [out] v    The field.
 * @param [in] name  Its name, without that of the group. What is longer than the name of a dataset is left out.
 * @param [in] type  The type of its numbers: SCDA_TYPE_FLOAT64 and so on.
 */
static inline void scda_patch_field_init (scda_patch_field_t *v, const char *name, int type) {
  memset (v, 0, sizeof *v);
  scda_dataset_init (&v->dataset);
  snprintf (v->dataset.name, sizeof v->dataset.name, "%s", name);
  v->dataset.type = type;
  v->components = 1;
}

/**
 * Releases what the library has allocated for a mesh, and fills it with the defaults.
 *
 * Not collective.
 *
 * @param [in,out] m  The mesh.
 */
static inline void scda_patches_free (scda_patches_t *m) {
  size_t i;
  for (i = 0; i < sizeof m->kept_internal / sizeof *m->kept_internal; ++i) { free (m->kept_internal[i]); }
  scda_patches_init (m, m->dimension);
}

/* ---- Internal ---- */

enum {
  scda_patches_offset_internal,
  scda_patches_level_internal,
  scda_patches_boxes_internal,
  scda_patches_ratio_internal,
  scda_patches_domain_internal,
  scda_patches_geometry_internal,
  scda_patches_own_level_internal,
  scda_patches_own_boxes_internal
};

static inline const char *scda_patches_group_internal (const char *group) { return group == NULL ? SCDA_PATCHES_GROUP : group; }

/* The bytes of a number of this type; 0 for other types. */
static inline int64_t scda_patches_type_bytes_internal (int type) {
  static const int bytes[] = { 0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16 };
  return type > 0 && type < (int) (sizeof bytes / sizeof *bytes) ? bytes[type] : 0;
}

/* Memory that the mesh keeps, in place of what it had there. */
static inline void *scda_patches_keep_internal (scda_patches_t *m, int what, uint64_t count, uint64_t bytes,
                                                scda_forest_error_internal_t *e) {
  free (m->kept_internal[what]);
  m->kept_internal[what] = scda_forest_room_internal (count, bytes, e);
  return m->kept_internal[what];
}

/* The cells of a patch; 0 if its numbers cannot be true. */
static inline uint64_t scda_patches_cells_internal (int d, const int64_t *box) {
  uint64_t cells = 1;
  int a;
  for (a = 0; a < d; ++a) {
    if (box[d + a] < 1 || (uint64_t) box[d + a] > (uint64_t) (INT64_MAX / 8) / cells) { return 0; }
    cells *= (uint64_t) box[d + a];
  }
  return cells;
}

/* What a patch adds to the checksum of the mesh. */
static inline uint64_t scda_patches_term_internal (int d, uint64_t number, int32_t level, const int64_t *box) {
  uint64_t v = scda_forest_term_internal (number, 0, (uint64_t) (int64_t) level);
  int a;
  for (a = 0; a < 2 * d; ++a) { v = scda_forest_term_internal (v, 0, (uint64_t) box[a]); }
  return v;
}

/* Whether levels, ratios, domain and geometry can be true. */
static inline int scda_patches_frame_internal (const scda_patches_t *m, scda_forest_error_internal_t *e, int code) {
  const int d = m->dimension;
  int i;
  if (d < 1 || d > 3 || m->levels < 1) {
    return scda_forest_error_internal (e, code, "patches have %d axes on %d levels; expected 1 to 3, and a level", d, m->levels);
  }
  if (m->ratio == NULL || m->domain == NULL || m->geometry == NULL) {
    return scda_forest_error_internal (e, code, "patches without ratio, domain or geometry");
  }
  for (i = 0; i < m->levels * d; ++i) {
    if (m->ratio[i] < 1 || (i < d && m->ratio[i] != 1)) {
      return scda_forest_error_internal (e, code, "level %d has the ratio %ld; expected %s", i / d, (long) m->ratio[i],
                                         i < d ? "1" : "at least 1");
    }
  }
  for (i = 0; i < d; ++i) {
    /* By its bits, which the floating-point environment of the program does not change: from the least number to infinity. */
    uint64_t size;
    memcpy (&size, m->geometry + d + i, sizeof size);
    if (m->domain[d + i] < 1 || size == 0 || size > 0x7ff0000000000000u) {
      return scda_forest_error_internal (e, code, "axis %d of the domain has %lld cells of size %g; expected positive numbers", i,
                                         (long long) m->domain[d + i], m->geometry[d + i]);
    }
  }
  return 1;
}

/* The cell of the level before in which a cell lies, also to the left of 0. */
static inline int64_t scda_patches_coarser_internal (int64_t cell, int32_t ratio) {
  return cell / ratio - (cell % ratio < 0);
}

/* Whether a patch can be true: its level, and that it lies in the domain. */
static inline int scda_patches_check_internal (const scda_patches_t *m, uint64_t number, int32_t level, const int64_t *box,
                                               scda_forest_error_internal_t *e, int code) {
  const int d = m->dimension;
  int a, l;
  if (level < 0 || level >= m->levels || scda_patches_cells_internal (d, box) == 0) {
    return scda_forest_error_internal (e, code, "patch %llu has level %ld and %lld cells on x; expected a level below %d, and cells",
                                       (unsigned long long) number, (long) level, (long long) box[d], m->levels);
  }
  for (a = 0; a < d; ++a) {
    /* The cells of level 0 in which the first and the last one lie: those of the domain in units of its level may be any number. */
    const int64_t more = box[d + a] - 1;
    const int is_far = box[a] > INT64_MAX - more;
    int64_t first = box[a], last = is_far ? box[a] : box[a] + more;
    for (l = 1; l <= level; ++l) {
      first = scda_patches_coarser_internal (first, m->ratio[l * d + a]);
      last = scda_patches_coarser_internal (last, m->ratio[l * d + a]);
    }
    if (is_far || first < m->domain[a] || (uint64_t) last - (uint64_t) m->domain[a] >= (uint64_t) m->domain[d + a]) {
      return scda_forest_error_internal (e, code, "patch %llu of level %ld has %lld cells from %lld on, on axis %d: outside of the domain",
                                         (unsigned long long) number, (long) level, (long long) box[d + a], (long long) box[a], a);
    }
  }
  return 1;
}

/* Offsets of all patches, of which every rank knows level and box; and their checksum. */
static inline void scda_patches_all_internal (scda_patches_t *m, scda_forest_error_internal_t *e, int code) {
  const int d = m->dimension;
  uint64_t *offset = (uint64_t *) scda_patches_keep_internal (m, scda_patches_offset_internal, m->patches, sizeof *offset, e), i;
  m->cells = m->checksum_internal = 0;
  for (i = 0; offset != NULL && i < m->patches; ++i) {
    const int64_t *box = m->all_boxes + 2 * (uint64_t) d * i;
    if (!scda_patches_check_internal (m, i, m->all_level[i], box, e, code)) { break; }
    if (i > 0 && m->all_level[i] < m->all_level[i - 1]) {
      scda_forest_error_internal (e, code, "patch %llu has level %ld behind level %ld; expected patches level by level",
                                  (unsigned long long) i, (long) m->all_level[i], (long) m->all_level[i - 1]);
      break;
    }
    offset[i] = m->cells;
    m->cells += scda_patches_cells_internal (d, box);
    m->checksum_internal += scda_patches_term_internal (d, i, m->all_level[i], box);
    if (m->cells > (uint64_t) INT64_MAX / 8) {
      scda_forest_error_internal (e, SCDA_ERR_RANGE, "the patches have more than 2^60 cells");
      break;
    }
  }
  m->offset_internal = offset;
}

/* Level and box of each patch of this rank, which has some of a mesh that was read: of those with the numbers that were chosen, or of its share. */
static inline void scda_patches_take_internal (scda_patches_t *m, scda_forest_error_internal_t *e) {
  const size_t words = 2 * (size_t) m->dimension;
  int32_t *level = (int32_t *) scda_patches_keep_internal (m, scda_patches_own_level_internal, m->n, sizeof (int32_t), e);
  int64_t *boxes = (int64_t *) scda_patches_keep_internal (m, scda_patches_own_boxes_internal, m->n, words * 8, e);
  size_t i;
  for (i = 0; level != NULL && boxes != NULL && i < m->n; ++i) {
    const uint64_t number = m->number != NULL ? m->number[i] : m->first + i;
    if (m->all_boxes == NULL || number >= m->patches) {
      scda_forest_error_internal (e, SCDA_ERR_ARG, "patch %llu was chosen by its number; %s", (unsigned long long) number,
                                  m->all_boxes == NULL ? "the mesh was written without numbers since it was read" : "the mesh has not as many");
      break;
    }
    level[i] = m->all_level[number];
    memcpy (boxes + words * i, m->all_boxes + words * number, words * 8);
  }
  m->level = level;
  m->boxes = boxes;
}

/* Whether the program has set neither level nor boxes since the mesh was read. */
static inline int scda_patches_taken_internal (const scda_patches_t *m) {
  return m->level != NULL && m->level == m->kept_internal[scda_patches_own_level_internal]
         && m->boxes == m->kept_internal[scda_patches_own_boxes_internal];
}

/* Gathers level and box of all patches, put in order by their numbers, on all ranks. */
static inline void scda_patches_gather_internal (scda_patches_t *m, scda_forest_error_internal_t *e) {
  const uint64_t words = 2 * (uint64_t) m->dimension + 2; /* number, level, box */
  int size = 0, rank = 0, q;
  uint64_t own = m->n, i, before = 0;
  int64_t *mine = NULL, *all = NULL, *boxes = NULL;
  int32_t *level = NULL;
  int *counts = NULL, *displacements = NULL, ready;
  MPI_Comm_size (m->comm, &size);
  MPI_Comm_rank (m->comm, &rank);
  if (m->patches > (uint64_t) INT32_MAX / words) {
    scda_forest_error_internal (e, SCDA_ERR_RANGE, "%llu patches with numbers of their own; expected at most %llu",
                                (unsigned long long) m->patches, (unsigned long long) ((uint64_t) INT32_MAX / words));
    return; /* on all ranks */
  }
  mine = (int64_t *) scda_forest_room_internal (own, words * 8, e);
  all = (int64_t *) scda_forest_room_internal (m->patches, words * 8, e);
  counts = (int *) scda_forest_room_internal (2 * (uint64_t) size, sizeof (int), e);
  level = (int32_t *) scda_patches_keep_internal (m, scda_patches_level_internal, m->patches, sizeof (int32_t), e);
  boxes = (int64_t *) scda_patches_keep_internal (m, scda_patches_boxes_internal, m->patches, (words - 2) * 8, e);
  ready = mine != NULL && all != NULL && counts != NULL && level != NULL && boxes != NULL;
  MPI_Allreduce (MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, m->comm);
  if (ready) {
    int count = (int) (own * words);
    displacements = counts + size;
    for (i = 0; i < own; ++i) {
      mine[i * words] = (int64_t) m->number[i];
      mine[i * words + 1] = m->level[i];
      memcpy (mine + i * words + 2, m->boxes + i * (words - 2), (size_t) (words - 2) * 8);
    }
    MPI_Allgather (&count, 1, MPI_INT, counts, 1, MPI_INT, m->comm);
    for (q = 0; q < size; ++q) {
      displacements[q] = (int) before;
      before += (uint64_t) counts[q];
    }
    MPI_Allgatherv (mine, count, MPI_INT64_T, all, counts, displacements, MPI_INT64_T, m->comm);
    for (i = 0; i < m->patches; ++i) { level[i] = -1; }
    for (i = 0; i < m->patches; ++i) {
      const uint64_t number = (uint64_t) all[i * words];
      if (number >= m->patches || level[number] != -1) {
        scda_forest_error_internal (e, SCDA_ERR_ARG, "a patch has number %llu; expected each number below %llu once",
                                    (unsigned long long) number, (unsigned long long) m->patches);
        break;
      }
      level[number] = (int32_t) all[i * words + 1];
      memcpy (boxes + number * (words - 2), all + i * words + 2, (size_t) (words - 2) * 8);
    }
    m->all_level = level;
    m->all_boxes = boxes;
  }
  free (mine);
  free (all);
  free (counts);
}

/* The box of patch i of this rank. */
static inline const int64_t *scda_patches_box_internal (const scda_patches_t *m, size_t i) {
  const size_t words = 2 * (size_t) m->dimension;
  if (m->all_boxes == NULL) { return m->boxes + words * i; }
  return m->all_boxes + words * (size_t) (m->number != NULL ? m->number[i] : m->first + i);
}

/* The first cell of patch i of this rank in the fields. */
static inline uint64_t scda_patches_begin_internal (const scda_patches_t *m, size_t i) {
  if (m->all_boxes == NULL) { return m->offset_internal[i]; }
  return m->offset_internal[m->number != NULL ? m->number[i] : m->first + i];
}

/* Writes a dataset of one row for each patch; or, with `small`, one that rank 0 has. */
static inline scda_fcontext_t *scda_patches_write_rows_internal (scda_fcontext_t *f, const char *group, const scda_patches_t *m, const char *part,
                                                                 int type, int ndims, const uint64_t *shape, const void *data,
                                                                 const char *attributes, int *err) {
  const int small = strcmp (part, "boxes") != 0 && strcmp (part, "level") != 0;
  scda_forest_error_internal_t e;
  scda_forest_name_internal_t name;
  scda_dataset_t d;
  uint64_t *numbers = NULL;
  size_t nboxes = 1, i;
  int rank = 0, a;
  scda_forest_no_error_internal (&e);
  if (!scda_forest_name_internal (&name, scda_patches_group_internal (group), "", part, "", &e)) { return scda_forest_fail_internal (f, &e, err); }
  scda_dataset_init (&d);
  memcpy (d.name, name.text, sizeof d.name);
  d.type = type;
  d.ndims = ndims;
  for (a = 0; a < ndims; ++a) { d.shape[a] = shape[a]; }
  d.attributes = attributes;
  MPI_Comm_rank (m->comm, &rank);
  if (small) { return scda_fwrite_dataset (f, &d, data, rank == 0, NULL, NULL, err); }
  if (m->number != NULL) { nboxes = m->n; }
  numbers = (uint64_t *) scda_forest_room_internal (2 * (uint64_t) nboxes * (uint64_t) ndims, 8, &e);
  f = scda_forest_agree_internal (f, m->comm, &e, err);
  for (i = 0; f != NULL && i < nboxes; ++i) {
    uint64_t *start = numbers + i * (size_t) ndims, *count = start + nboxes * (size_t) ndims;
    for (a = 0; a < ndims; ++a) {
      start[a] = a > 0 ? 0 : m->number != NULL ? m->number[i] : m->first;
      count[a] = a > 0 ? shape[a] : m->number != NULL ? 1 : m->n;
    }
  }
  if (f != NULL) { f = scda_fwrite_dataset (f, &d, data, nboxes, numbers, numbers + nboxes * (size_t) ndims, err); }
  free (numbers);
  return f;
}

/* Boxes of fields, and the numbers that they point to. */
typedef struct {
  scda_box_t *boxes;
  size_t *nboxes;
  uint64_t *numbers; /* of each patch: start and count in the field, and its shape in memory */
  int64_t *strides;
} scda_patches_memory_internal_t;

/* Where the values of the patches of this rank lie, for all fields. */
static inline void scda_patches_memory_internal (const scda_patches_t *m, size_t nfields, const scda_patch_field_t *fields,
                                                 scda_patches_memory_internal_t *o, scda_forest_error_internal_t *e) {
  const int d = m->dimension, dims = d + 1; /* of memory: the axes, z first, and the components */
  const size_t each = 4 + (size_t) dims;
  size_t v, i;
  for (i = 0; m->all_boxes != NULL && i < m->n; ++i) {
    const uint64_t number = m->number != NULL ? m->number[i] : m->first + i;
    if (number >= m->patches) {
      scda_forest_error_internal (e, SCDA_ERR_ARG, "a patch has number %llu; there are %llu", (unsigned long long) number,
                                  (unsigned long long) m->patches);
      return;
    }
  }
  o->boxes = (scda_box_t *) scda_forest_room_internal ((uint64_t) nfields * m->n, sizeof (scda_box_t), e);
  o->nboxes = (size_t *) scda_forest_room_internal (nfields, sizeof (size_t), e);
  o->numbers = (uint64_t *) scda_forest_room_internal ((uint64_t) nfields * m->n, each * 8, e);
  o->strides = (int64_t *) scda_forest_room_internal ((uint64_t) nfields * m->n, (uint64_t) dims * 8, e);
  for (v = 0; e->err == SCDA_SUCCESS && v < nfields; ++v) {
    const scda_patch_field_t *field = fields + v;
    const int64_t item = scda_patches_type_bytes_internal (field->dataset.type);
    int64_t cell;
    if (item == 0 || field->components < 1 || field->ghost < 0 || field->cell_bytes < 0 || (field->data == NULL && m->n > 0)) {
      scda_forest_error_internal (e, SCDA_ERR_ARG, "field %.58s of patches: type %d, %d components, %d ghost layers, %lld bytes for a cell%s",
                                  field->dataset.name, field->dataset.type, field->components, field->ghost,
                                  (long long) field->cell_bytes, field->data == NULL ? ", no data" : "");
      return;
    }
    cell = field->cell_bytes == 0 ? item * field->components : field->cell_bytes;
    o->nboxes[v] = m->n;
    for (i = 0; i < m->n; ++i) {
      const size_t at = v * m->n + i;
      const int64_t *box = scda_patches_box_internal (m, i);
      uint64_t *numbers = o->numbers + each * at, *shape = numbers + 4;
      int64_t *stride = o->strides + (size_t) dims * at, step = cell, inner = 0;
      int a;
      for (a = 0; a < d; ++a) { /* x is the last but the components */
        shape[d - 1 - a] = (uint64_t) box[d + a];
        stride[d - 1 - a] = step;
        inner += field->ghost * step;
        step *= box[d + a] + 2 * (int64_t) field->ghost;
      }
      shape[d] = (uint64_t) field->components;
      stride[d] = item;
      numbers[0] = scda_patches_begin_internal (m, i);
      numbers[1] = 0;
      numbers[2] = scda_patches_cells_internal (d, box);
      numbers[3] = (uint64_t) field->components;
      scda_box_init (o->boxes + at);
      o->boxes[at].data = (char *) field->data[i] + (field->data[i] == NULL ? 0 : inner);
      o->boxes[at].start = numbers;
      o->boxes[at].count = numbers + 2;
      o->boxes[at].stride = stride;
      o->boxes[at].memory_shape = shape;
      o->boxes[at].memory_ndims = (uint64_t) dims;
    }
  }
}

static inline void scda_patches_memory_free_internal (scda_patches_memory_internal_t *o) {
  free (o->boxes);
  free (o->nboxes);
  free (o->numbers);
  free (o->strides);
}

/* What the fields are in the file, as many datasets, to be freed. */
static inline scda_dataset_t *scda_patches_datasets_internal (const char *group, const scda_patches_t *m, size_t nfields,
                                                              const scda_patch_field_t *fields, scda_forest_error_internal_t *e) {
  scda_dataset_t *all = (scda_dataset_t *) scda_forest_room_internal (nfields, sizeof *all, e);
  size_t v;
  for (v = 0; all != NULL && v < nfields; ++v) {
    scda_forest_name_internal_t name;
    if (!scda_forest_field_name_internal (&name, scda_patches_group_internal (group), &fields[v].dataset, "", e)) { break; }
    all[v] = fields[v].dataset;
    memcpy (all[v].name, name.text, sizeof all[v].name);
    all[v].ndims = fields[v].components == 1 ? 1 : 2;
    all[v].shape[0] = m->cells;
    all[v].shape[1] = fields[v].components == 1 ? 0 : (uint64_t) fields[v].components;
  }
  return all;
}

/* ---- The functions ---- */

/**
 * Writes a mesh of patches, and before the first one the attributes of its group. `scda_forest_write_time (f, group, comm, time, units,
 * &err)` with the name of the group begins a time step; the mesh is written again only when it has changed.
 *
 * Collective. With `number`, all ranks learn all patches, some 60 bytes for each of them, as codes with such numbers do.
 *
 * @param [in] f      The file, open for writing.
 * @param [in] group  The name of the group. NULL: `SCDA_PATCHES_GROUP`.
 * @param [in] comm   The communicator of the file.
 * @param [in,out] m  The mesh. Receives the numbers of all patches and cells.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG` for patches outside of the domain, not level by level, or with wrong numbers; `SCDA_ERR_RANGE`; `SCDA_ERR_MEMORY`; and
 * those of `scda_fwrite_dataset`. That two patches have a cell in common is not noticed; `scda check` notices it.
 */
static inline scda_fcontext_t *scda_patches_write_mesh (scda_fcontext_t *f, const char *group, MPI_Comm comm, scda_patches_t *m, int *err) {
  const int d = m->dimension;
  scda_forest_error_internal_t e;
  scda_forest_state_internal_t *state = NULL;
  uint64_t sums[3], before[2] = { 0, 0 }, own[2], shape[3], i;
  char text[scda_forest_checksum_bytes_internal], attributes[64];
  int rank = 0, size = 1, last = -1;
  if (f == NULL) { return NULL; }
  scda_forest_no_error_internal (&e);
  if (m->number != NULL && scda_patches_taken_internal (m)) { scda_patches_take_internal (m, &e); }
  m->comm = comm;
  m->all_level = NULL;
  m->all_boxes = NULL;
  m->offset_internal = NULL;
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  if (scda_patches_frame_internal (m, &e, SCDA_ERR_ARG) && m->n > 0 && (m->level == NULL || m->boxes == NULL)) {
    scda_forest_error_internal (&e, SCDA_ERR_ARG, "patches without level or boxes");
  }
  f = scda_forest_agree_internal (f, comm, &e, err);
  if (f == NULL) { return NULL; }
  own[0] = m->n;
  own[1] = 0;
  sums[2] = 0;
  for (i = 0; e.err == SCDA_SUCCESS && i < m->n; ++i) {
    const int64_t *box = m->boxes + 2 * (uint64_t) d * i;
    if (!scda_patches_check_internal (m, m->number == NULL ? i : m->number[i], m->level[i], box, &e, SCDA_ERR_ARG)) { break; }
    own[1] += scda_patches_cells_internal (d, box);
    if (own[1] > (uint64_t) INT64_MAX / 8 / (uint64_t) size) { /* so the sum of all ranks does not wrap */
      scda_forest_error_internal (&e, SCDA_ERR_RANGE, "the patches have more than 2^60 cells");
    }
  }
  f = scda_forest_agree_internal (f, comm, &e, err);
  if (f == NULL) { return NULL; }
  MPI_Exscan (own, before, 2, MPI_UINT64_T, MPI_SUM, comm);
  if (rank == 0) { before[0] = before[1] = 0; }
  MPI_Allreduce (own, sums, 2, MPI_UINT64_T, MPI_SUM, comm);
  m->patches = sums[0];
  m->first = before[0];
  if (m->patches == 0) { scda_forest_error_internal (&e, SCDA_ERR_ARG, "no rank has a patch"); }
  {
    int has = m->number != NULL, any = 0;
    MPI_Allreduce (&has, &any, 1, MPI_INT, MPI_MAX, comm);
    if (any) {
      static const uint64_t none[1] = { 0 }; /* a rank without patches has no numbers */
      if (m->number == NULL && m->n == 0) { m->number = none; }
      if (m->number == NULL) { scda_forest_error_internal (&e, SCDA_ERR_ARG, "patches of this rank have no numbers, those of another have"); }
      f = scda_forest_agree_internal (f, comm, &e, err);
      if (f == NULL) { return NULL; }
      scda_patches_gather_internal (m, &e);
      if (e.err == SCDA_SUCCESS && m->all_boxes != NULL) { scda_patches_all_internal (m, &e, SCDA_ERR_ARG); }
    }
    else {
      uint64_t cells = before[1];
      uint64_t *offset = (uint64_t *) scda_patches_keep_internal (m, scda_patches_offset_internal, m->n, sizeof *offset, &e);
      m->cells = sums[1];
      for (i = 0; offset != NULL && i < m->n; ++i) {
        const int64_t *box = m->boxes + 2 * (uint64_t) d * i;
        offset[i] = cells;
        cells += scda_patches_cells_internal (d, box);
        sums[2] += scda_patches_term_internal (d, m->first + i, m->level[i], box);
        if (m->level[i] < last) {
          scda_forest_error_internal (&e, SCDA_ERR_ARG, "patch %llu has level %ld behind level %d; expected patches level by level",
                                      (unsigned long long) (m->first + i), (long) m->level[i], last);
        }
        last = m->level[i];
      }
      m->offset_internal = offset;
      MPI_Allreduce (sums + 2, &m->checksum_internal, 1, MPI_UINT64_T, MPI_SUM, comm);
      {
        /* The greatest level of the ranks before. */
        int below = -1;
        MPI_Exscan (&last, &below, 1, MPI_INT, MPI_MAX, comm);
        if (rank > 0 && m->n > 0 && m->level[0] < below) {
          scda_forest_error_internal (&e, SCDA_ERR_ARG, "patch %llu has level %ld behind level %d; expected patches level by level",
                                      (unsigned long long) m->first, (long) m->level[0], below);
        }
      }
    }
  }
  f = scda_forest_agree_internal (f, comm, &e, err);
  state = scda_forest_state_internal (f, scda_patches_group_internal (group));
  if (f == NULL) { return NULL; }
  if (state == NULL) { scda_forest_error_internal (&e, SCDA_ERR_MEMORY, "no memory for what is known of patches"); }
  f = scda_forest_agree_internal (f, comm, &e, err);
  if (f == NULL) { return NULL; }
  scda_forest_look_internal (f, scda_patches_group_internal (group), "scda_patches", "boxes", comm);
  if (!state->has_group) {
    char group_attributes[64];
    sprintf (group_attributes, "{\"scda_patches\": 1, \"dimension\": %d}", d);
    f = scda_forest_put_group_internal (f, scda_patches_group_internal (group), group_attributes, err);
  }
  scda_forest_checksum_text_internal (m->checksum_internal, text);
  sprintf (attributes, "{\"" SCDA_FOREST_MESH "\": \"%s\"}", text);
  shape[0] = m->patches;
  shape[1] = 2;
  shape[2] = (uint64_t) d;
  if (f != NULL) { f = scda_patches_write_rows_internal (f, group, m, "boxes", SCDA_TYPE_INT64, 3, shape, m->boxes, attributes, err); }
  if (f != NULL) { f = scda_patches_write_rows_internal (f, group, m, "level", SCDA_TYPE_INT32, 1, shape, m->level, NULL, err); }
  shape[0] = (uint64_t) m->levels;
  shape[1] = (uint64_t) d;
  if (f != NULL) { f = scda_patches_write_rows_internal (f, group, m, "ratio", SCDA_TYPE_INT32, 2, shape, m->ratio, NULL, err); }
  shape[0] = 2;
  if (f != NULL) { f = scda_patches_write_rows_internal (f, group, m, "domain", SCDA_TYPE_INT64, 2, shape, m->domain, NULL, err); }
  if (f != NULL) { f = scda_patches_write_rows_internal (f, group, m, "geometry", SCDA_TYPE_FLOAT64, 2, shape, m->geometry, NULL, err); }
  if (f != NULL) {
    state->has_mesh = 1;
    state->checksum = m->checksum_internal;
    state->quadrants = m->patches;
  }
  return f;
}

/**
 * Writes fields of the patches, in one call.
 *
 * Collective.
 *
 * @param [in] f        The file, open for writing.
 * @param [in] group    The name of the group. NULL: `SCDA_PATCHES_GROUP`.
 * @param [in] m        The mesh, the last one that was written to the group: by `scda_patches_write_mesh` on this file, or on the file of an
 *                      earlier job that is appended to.
 * @param [in] nfields  The number of fields.
 * @param [in] fields   The fields.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE` if the mesh is not the last one that was written, `SCDA_ERR_ARG`, `SCDA_ERR_MEMORY`, and those of
 * `scda_fwrite_datasets`.
 */
static inline scda_fcontext_t *scda_patches_write_fields (scda_fcontext_t *f, const char *group, const scda_patches_t *m, size_t nfields,
                                                          const scda_patch_field_t *fields, int *err) {
  scda_patches_memory_internal_t memory = { NULL, NULL, NULL, NULL };
  scda_forest_error_internal_t e;
  scda_forest_state_internal_t *state = scda_forest_state_internal (f, scda_patches_group_internal (group));
  scda_dataset_t *datasets = NULL;
  char text[scda_forest_checksum_bytes_internal];
  char **attributes = NULL;
  size_t v;
  if (f == NULL) { return NULL; }
  scda_forest_no_error_internal (&e);
  if (m->comm == MPI_COMM_NULL) {
    scda_forest_error_internal (&e, SCDA_ERR_USAGE, "fields of a mesh of patches that was not written: call scda_patches_write_mesh before");
    return scda_forest_fail_internal (f, &e, err);
  }
  scda_forest_look_internal (f, scda_patches_group_internal (group), "scda_patches", "boxes", m->comm);
  if (state == NULL || !state->has_mesh || state->checksum != m->checksum_internal || state->quadrants != m->patches) {
    scda_forest_error_internal (&e, SCDA_ERR_USAGE,
                                "fields of %.58s: their mesh is not the last one that was written: call scda_patches_write_mesh when the mesh has changed",
                                scda_patches_group_internal (group));
  }
  scda_forest_checksum_text_internal (m->checksum_internal, text);
  datasets = scda_patches_datasets_internal (group, m, nfields, fields, &e);
  attributes = (char **) scda_forest_room_internal (nfields, sizeof *attributes, &e);
  if (e.err == SCDA_SUCCESS) { scda_patches_memory_internal (m, nfields, fields, &memory, &e); }
  for (v = 0; attributes != NULL && v < nfields; ++v) { attributes[v] = NULL; }
  for (v = 0; e.err == SCDA_SUCCESS && v < nfields; ++v) {
    attributes[v] = scda_forest_attributes_internal (fields[v].dataset.attributes, text, &e);
    datasets[v].attributes = attributes[v];
  }
  f = scda_forest_agree_internal (f, m->comm, &e, err);
  if (f != NULL) { f = scda_fwrite_datasets (f, nfields, datasets, memory.nboxes, memory.boxes, err); }
  for (v = 0; attributes != NULL && v < nfields; ++v) { free (attributes[v]); }
  free (attributes);
  free (datasets);
  scda_patches_memory_free_internal (&memory);
  return f;
}

/* What a piece of the boxes, and one of the ratios, must be before more memory is asked for. */
static inline int scda_patches_check_boxes_internal (void *context, const void *all, uint64_t first, uint64_t rows,
                                                     scda_forest_error_internal_t *e) {
  const int d = *(const int *) context;
  uint64_t i;
  for (i = first; i < first + rows; ++i) {
    const int64_t *box = (const int64_t *) all + 2 * (uint64_t) d * i;
    if (scda_patches_cells_internal (d, box) == 0) {
      return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "patch %llu has %lld cells on x; expected some on each axis, and less than 2^60",
                                         (unsigned long long) i, (long long) box[d]);
    }
  }
  return 1;
}

static inline int scda_patches_check_ratio_internal (void *context, const void *all, uint64_t first, uint64_t rows,
                                                     scda_forest_error_internal_t *e) {
  const int d = *(const int *) context;
  (void) all;
  if (first + rows > 1000) {
    return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "patches have %d axes on more than 1000 levels", d);
  }
  return 1;
}

/* The dataset of a mesh that belongs to the record `record`, read by all ranks. */
static inline scda_fcontext_t *scda_patches_read_part_internal (scda_fcontext_t *f, const char *group, scda_patches_t *m, const char *part,
                                                                int what, int64_t record, int type, int ndims, const uint64_t *shape,
                                                                scda_forest_check_internal_t check, scda_dataset_t *d, int *err) {
  scda_forest_error_internal_t e;
  scda_forest_name_internal_t name;
  scda_forest_no_error_internal (&e);
  if (!scda_forest_name_internal (&name, scda_patches_group_internal (group), "", part, "", &e)) { return scda_forest_fail_internal (f, &e, err); }
  f = scda_forest_open_internal (f, name.text, record, type, ndims, shape, d, err);
  if (f == NULL) { return NULL; }
  free (m->kept_internal[what]);
  m->kept_internal[what] = NULL;
  return scda_forest_all_internal (f, m->comm, d, check, &m->dimension, &m->kept_internal[what], err);
}

/**
 * Reads a mesh of patches, and gives each rank a share of them: patches that follow one another, of about as many cells on each rank.
 * `m->n`, `m->level`, `m->boxes` and `m->first` are those of the share. For other shares set `m->n` and `m->number`
 * before the fields are read, or before the mesh is written to another file.
 *
 * Collective. All ranks receive all patches, some 60 bytes for each.
 *
 * @param [in] f      The file, open for reading.
 * @param [in] group  The name of the group. NULL: `SCDA_PATCHES_GROUP`.
 * @param [in] step   The time step: 0 is the first one, -1 the last one. See `scda_forest_steps`.
 * @param [in] comm   The communicator of the file.
 * @param [out] m     The mesh. `scda_patches_init` was called for it, with any dimension. Release it by `scda_patches_free`, also after an
 *                    error.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_FORMAT` if the file has no such mesh, or one that is none; `SCDA_ERR_ARG` if there is no such step;
 * `SCDA_ERR_MEMORY`; and those of `scda_fread_dataset`.
 */
static inline scda_fcontext_t *scda_patches_read_mesh (scda_fcontext_t *f, const char *group, int64_t step, MPI_Comm comm, scda_patches_t *m,
                                                       int *err) {
  scda_forest_error_internal_t e;
  scda_forest_name_internal_t name;
  scda_forest_step_internal_t range, up_to;
  scda_dataset_t d;
  uint64_t shape[3] = { UINT64_MAX, 2, 0 }, section = 0, share, i;
  char text[scda_forest_checksum_bytes_internal], found_text[scda_forest_checksum_bytes_internal];
  int64_t record = -1;
  int rank = 0, size = 0, found = 0, names;
  long dimension = -1;
  if (f == NULL) { return NULL; }
  scda_forest_no_error_internal (&e);
  scda_patches_free (m);
  m->comm = comm;
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  f = scda_forest_kind_internal (f, scda_patches_group_internal (group), "scda_patches", 1, &dimension, err);
  if (f == NULL) { return NULL; }
  if (dimension < 1 || dimension > 3) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "the patches %.58s have %ld dimensions; expected 1 to 3", scda_patches_group_internal (group), dimension);
    return scda_forest_fail_internal (f, &e, err);
  }
  m->dimension = (int) dimension;
  f = scda_forest_step_internal (f, scda_patches_group_internal (group), step, &range, err);
  if (f == NULL) { return NULL; }
  if (!scda_forest_name_internal (&name, scda_patches_group_internal (group), "", "boxes", "", &e)) { return scda_forest_fail_internal (f, &e, err); }
  up_to.begin = 0;
  up_to.end = range.end;
  f = scda_forest_last_internal (f, name.text, &up_to, &found, &record, &section, err);
  if (f == NULL) { return NULL; }
  if (!found) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "there is no dataset %s up to the end of step %lld", name.text, (long long) step);
    return scda_forest_fail_internal (f, &e, err);
  }
  shape[2] = (uint64_t) m->dimension;
  f = scda_patches_read_part_internal (f, group, m, "boxes", scda_patches_boxes_internal, record, SCDA_TYPE_INT64, 3, shape,
                                       scda_patches_check_boxes_internal, &d, err);
  if (f == NULL) { return NULL; }
  m->patches = d.shape[0];
  names = scda_forest_mesh_of_internal (d.attributes, found_text);
  shape[0] = m->patches;
  f = scda_patches_read_part_internal (f, group, m, "level", scda_patches_level_internal, record, SCDA_TYPE_INT32, 1, shape, NULL, &d, err);
  shape[0] = UINT64_MAX;
  shape[1] = (uint64_t) m->dimension;
  if (f != NULL) {
    f = scda_patches_read_part_internal (f, group, m, "ratio", scda_patches_ratio_internal, record, SCDA_TYPE_INT32, 2, shape,
                                         scda_patches_check_ratio_internal, &d, err);
  }
  if (f == NULL) { return NULL; }
  m->levels = (int) d.shape[0];
  shape[0] = 2;
  f = scda_patches_read_part_internal (f, group, m, "domain", scda_patches_domain_internal, record, SCDA_TYPE_INT64, 2, shape, NULL, &d, err);
  if (f != NULL) {
    f = scda_patches_read_part_internal (f, group, m, "geometry", scda_patches_geometry_internal, record, SCDA_TYPE_FLOAT64, 2, shape, NULL, &d, err);
  }
  if (f == NULL) { return NULL; }
  m->all_boxes = (const int64_t *) m->kept_internal[scda_patches_boxes_internal];
  m->all_level = (const int32_t *) m->kept_internal[scda_patches_level_internal];
  m->ratio = (const int32_t *) m->kept_internal[scda_patches_ratio_internal];
  m->domain = (const int64_t *) m->kept_internal[scda_patches_domain_internal];
  m->geometry = (const double *) m->kept_internal[scda_patches_geometry_internal];
  if (m->patches == 0) { scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "%s: there are no patches", name.text); }
  else if (scda_patches_frame_internal (m, &e, SCDA_ERR_FORMAT)) { scda_patches_all_internal (m, &e, SCDA_ERR_FORMAT); }
  if (e.err == SCDA_SUCCESS && names) {
    scda_forest_checksum_text_internal (m->checksum_internal, text);
    if (strcmp (text, found_text) != 0) {
      scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "%s names the mesh %s; its checksum is %s", name.text, found_text, text);
    }
  }
  /* Patch i goes to the rank in whose share its middle lies. */
  share = m->cells / (uint64_t) size + 1;
  m->first = UINT64_MAX;
  for (i = 0; e.err == SCDA_SUCCESS && i < m->patches; ++i) {
    const uint64_t middle = m->offset_internal[i] + scda_patches_cells_internal (m->dimension, m->all_boxes + 2 * (uint64_t) m->dimension * i) / 2;
    if (middle / share != (uint64_t) rank) { continue; }
    if (m->first == UINT64_MAX) { m->first = i; }
    ++m->n;
  }
  if (m->first == UINT64_MAX) { m->first = 0; }
  if (e.err == SCDA_SUCCESS) { scda_patches_take_internal (m, &e); }
  return scda_forest_agree_internal (f, comm, &e, err); /* memory may be short on one rank */
}

/**
 * Reads fields of the patches of this rank into its memory. Ghost cells, and what lies between the values of a field, stay as they
 * are.
 *
 * Collective. Ranks may want any patches, also the same ones.
 *
 * @param [in] f        The file, open for reading.
 * @param [in] group    The name of the group. NULL: `SCDA_PATCHES_GROUP`.
 * @param [in] step     The time step, as of `scda_patches_read_mesh`.
 * @param [in] m        The mesh of this step.
 * @param [in] nfields  The number of fields.
 * @param [in] fields   The fields, with memory for those of the patches of this rank. Of `dataset`, name and type are used.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: `SCDA_ERR_FORMAT` if the step has no such field, or one of another type, shape or mesh; `SCDA_ERR_USAGE` if the mesh was not
 * read; `SCDA_ERR_ARG`; `SCDA_ERR_MEMORY`; and those of `scda_fread_datasets`.
 */
static inline scda_fcontext_t *scda_patches_read_fields (scda_fcontext_t *f, const char *group, int64_t step, const scda_patches_t *m,
                                                         size_t nfields, const scda_patch_field_t *fields, int *err) {
  scda_patches_memory_internal_t memory = { NULL, NULL, NULL, NULL };
  scda_forest_error_internal_t e;
  scda_forest_step_internal_t range;
  scda_dataset_t *datasets = NULL;
  int64_t *records = NULL;
  char mesh[scda_forest_checksum_bytes_internal], named[scda_forest_checksum_bytes_internal];
  size_t v;
  if (f == NULL) { return NULL; }
  scda_forest_no_error_internal (&e);
  if (m->comm == MPI_COMM_NULL || m->offset_internal == NULL) {
    scda_forest_error_internal (&e, SCDA_ERR_USAGE, "fields of a mesh of patches that was not read: call scda_patches_read_mesh before");
    return scda_forest_fail_internal (f, &e, err);
  }
  f = scda_forest_step_internal (f, scda_patches_group_internal (group), step, &range, err);
  if (f == NULL) { return NULL; }
  scda_forest_checksum_text_internal (m->checksum_internal, mesh);
  datasets = scda_patches_datasets_internal (group, m, nfields, fields, &e);
  records = (int64_t *) scda_forest_room_internal (nfields, sizeof *records, &e);
  if (e.err == SCDA_SUCCESS) { scda_patches_memory_internal (m, nfields, fields, &memory, &e); }
  f = scda_forest_agree_internal (f, m->comm, &e, err);
  for (v = 0; f != NULL && v < nfields; ++v) {
    uint64_t section = 0;
    scda_dataset_t d;
    int found = 0;
    f = scda_forest_last_internal (f, datasets[v].name, &range, &found, records + v, &section, err);
    if (f != NULL && !found) {
      scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "there is no dataset %s in step %lld", datasets[v].name, (long long) step);
      f = scda_forest_fail_internal (f, &e, err);
    }
    if (f == NULL) { break; }
    f = scda_forest_open_internal (f, datasets[v].name, records[v], datasets[v].type, datasets[v].ndims, datasets[v].shape, &d, err);
    if (f != NULL && scda_forest_mesh_of_internal (d.attributes, named) && strcmp (named, mesh) != 0) {
      scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "%s belongs to the mesh %s; that of step %lld is %s", datasets[v].name, named,
                                  (long long) step, mesh);
      f = scda_forest_fail_internal (f, &e, err);
    }
  }
  if (f != NULL) { f = scda_fread_datasets (f, nfields, datasets, records, memory.nboxes, memory.boxes, err); }
  free (datasets);
  free (records);
  scda_patches_memory_free_internal (&memory);
  return f;
}

#endif /* SCDA_PATCHES_H */
