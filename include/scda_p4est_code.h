/* scda_p4est_code.h: the functions of scda_p4est.h and scda_p8est.h, which include this file. Do not include it yourself.
 *
 * It is compiled for each dimension, with these macros:
 *
 *   SCDA_P4_DIM         2 or 3
 *   SCDA_P4(name)       scda_p4est_##name or scda_p8est_##name
 *   SCDA_P4EST(name)    p4est_##name or p8est_##name
 *   SCDA_P4EST_T        p4est_t or p8est_t
 *   SCDA_P4_NAME        "scda_p4est" or "scda_p8est"
 *   SCDA_P4_MAXLEVEL    the MAXLEVEL and
 *   SCDA_P4_QMAXLEVEL   QMAXLEVEL of p4est
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */

#define SCDA_P4_CHILDREN (1 << SCDA_P4_DIM)
#define SCDA_P4_FACES (2 * SCDA_P4_DIM)
/* The number of bits by which coordinates in a file are longer than those of p4est. */
#define SCDA_P4_SHIFT (30 - SCDA_P4_MAXLEVEL)
#if SCDA_P4_MAXLEVEL > 30
#error "this p4est has finer quadrants than the files of scda_p4est.h"
#endif

/* ---- Internal: identifying the mesh of a forest ---- */

/* The number of quadrants of a rank that are compared to find out whether the forest has changed. */
#define SCDA_P4_SAMPLES ((p4est_locidx_t) 4096)

static inline uint64_t SCDA_P4 (first_internal) (const SCDA_P4EST_T *p4est) {
  return (uint64_t) p4est->global_first_quadrant[p4est->mpirank];
}

/* This rank's contribution to the checksum: the sum over its quadrants, or with a stride above 1, over a sample of them. */
static inline uint64_t SCDA_P4 (sum_internal) (const SCDA_P4EST_T *p4est, size_t stride) {
  uint64_t sum = 0, first = SCDA_P4 (first_internal) (p4est);
  p4est_topidx_t t;
  size_t next = 0; /* the next quadrant of the sample, relative to the first one of the tree */
  for (t = p4est->first_local_tree; t >= 0 && t <= p4est->last_local_tree; ++t) {
    sc_array_t *quadrants = &SCDA_P4EST (tree_array_index) (p4est->trees, t)->quadrants;
    size_t k;
    for (k = next; k < quadrants->elem_count; k += stride) {
      const SCDA_P4EST (quadrant_t) *q = SCDA_P4EST (quadrant_array_index) (quadrants, k);
      sum += scda_forest_term_internal (first + k, (uint64_t) t, (uint64_t) q->level);
    }
    next = k - quadrants->elem_count;
    first += quadrants->elem_count;
  }
  return sum;
}

/* Describes a forest by its numbers and names, without its arrays. */
static inline void SCDA_P4 (describe_internal) (const SCDA_P4EST_T *p4est, scda_forest_t *m) {
  scda_forest_init (m, SCDA_P4_DIM);
  m->trees = (uint64_t) p4est->connectivity->num_trees;
  m->quadrants = (uint64_t) p4est->global_num_quadrants;
  m->first = SCDA_P4 (first_internal) (p4est);
  m->n = (uint64_t) p4est->local_num_quadrants;
  m->functions = SCDA_P4_NAME;
}

/* What the cache of the checksum belongs to. */
static inline scda_forest_known_internal_t SCDA_P4 (now_internal) (const SCDA_P4EST_T *p4est, const scda_forest_t *m) {
  const uint64_t sample = SCDA_P4 (sum_internal) (p4est, (size_t) (p4est->local_num_quadrants / SCDA_P4_SAMPLES) + 1);
  scda_forest_known_internal_t now;
  now.forest = p4est;
  now.revision = p4est->revision;
  now.sketch = scda_forest_sketch_internal (m, sample) + 11 * (uint64_t) p4est->first_local_tree + 13 * (uint64_t) p4est->last_local_tree;
  now.checksum = 0;
  return now;
}

/* Describes a forest, with the checksum of its mesh. */
static inline void SCDA_P4 (identify_internal) (scda_fcontext_t *f, const char *group, const SCDA_P4EST_T *p4est, scda_forest_t *m) {
  SCDA_P4 (describe_internal) (p4est, m);
  if (f != NULL) {
    const scda_forest_known_internal_t now = SCDA_P4 (now_internal) (p4est, m);
    if (!scda_forest_is_known_internal (f, group, m, now, p4est->mpicomm)) {
      scda_forest_know_internal (f, group, m, now, SCDA_P4 (sum_internal) (p4est, 1), p4est->mpicomm);
    }
  }
}

/* ---- Writing ---- */

/* The arrays of the connectivity, which all ranks have. */
static inline void SCDA_P4 (connectivity_internal) (const SCDA_P4EST (connectivity_t) * c, scda_forest_t *m) {
  m->tree_to_tree = c->tree_to_tree;
  m->tree_to_face = c->tree_to_face;
  m->num_vertices = (uint64_t) c->num_vertices;
  m->vertices = c->vertices;
  m->tree_to_vertex = c->tree_to_vertex;
#if SCDA_P4_DIM == 3
  m->edges.count = (uint64_t) c->num_edges;
  m->edges.tree_to = c->tree_to_edge;
  m->edges.offsets = c->ett_offset;
  m->edges.to_tree = c->edge_to_tree;
  m->edges.to_code = c->edge_to_edge;
#endif
  m->corners.count = (uint64_t) c->num_corners;
  m->corners.tree_to = c->tree_to_corner;
  m->corners.offsets = c->ctt_offset;
  m->corners.to_tree = c->corner_to_tree;
  m->corners.to_code = c->corner_to_corner;
  m->tree_bytes = c->tree_attr_bytes;
  m->tree_data = c->tree_to_attr;
}

static inline scda_fcontext_t *SCDA_P4 (write_connectivity) (scda_fcontext_t *f, const char *group, const SCDA_P4EST_T *p4est,
                                                             int *err) {
  scda_forest_t m;
  SCDA_P4 (describe_internal) (p4est, &m);
  SCDA_P4 (connectivity_internal) (p4est->connectivity, &m);
  return scda_forest_write (f, group, &m, SCDA_FOREST_CONNECTIVITY, err);
}

/* Copies user data; avoids a call for the usual sizes. */
static inline void SCDA_P4 (copy_internal) (char *to, const void *from, size_t bytes) {
  switch (bytes) {
  case 0: break;
  case 8: memcpy (to, from, 8); break;
  case 16: memcpy (to, from, 16); break;
  case 24: memcpy (to, from, 24); break;
  case 32: memcpy (to, from, 32); break;
  case 40: memcpy (to, from, 40); break;
  case 48: memcpy (to, from, 48); break;
  case 64: memcpy (to, from, 64); break;
  default: memcpy (to, from, bytes);
  }
}

/* Gathers corners, levels and `data_size` bytes of user data in one pass over the quadrants, because the pass takes longer than the
 * copies. Returns this rank's contribution to the checksum. */
static inline uint64_t SCDA_P4 (gather_internal) (const SCDA_P4EST_T *p4est, int32_t *xyz, uint8_t *levels, char *data, size_t data_size) {
  uint64_t sum = 0, i = SCDA_P4 (first_internal) (p4est);
  p4est_topidx_t t;
  for (t = p4est->first_local_tree; t >= 0 && t <= p4est->last_local_tree; ++t) {
    const sc_array_t *quadrants = &SCDA_P4EST (tree_array_index) (p4est->trees, t)->quadrants;
    const SCDA_P4EST (quadrant_t) *q = (const SCDA_P4EST (quadrant_t) *) (const void *) quadrants->array, *end = q + quadrants->elem_count;
    for (; q < end; ++q, ++i, xyz += SCDA_P4_DIM) {
      xyz[0] = (int32_t) ((uint32_t) q->x << SCDA_P4_SHIFT);
      xyz[1] = (int32_t) ((uint32_t) q->y << SCDA_P4_SHIFT);
#if SCDA_P4_DIM == 3
      xyz[2] = (int32_t) ((uint32_t) q->z << SCDA_P4_SHIFT);
#endif
      *levels++ = (uint8_t) q->level;
      SCDA_P4 (copy_internal) (data, q->p.user_data, data_size);
      data += data_size;
      sum += scda_forest_term_internal (i, (uint64_t) t, (uint64_t) q->level);
    }
  }
  return sum;
}

/* Gathers `size` bytes of user data from byte `offset` on. */
static inline void SCDA_P4 (gather_data_internal) (const SCDA_P4EST_T *p4est, size_t offset, size_t size, char *data) {
  p4est_topidx_t t;
  size_t k;
  for (t = p4est->first_local_tree; t >= 0 && t <= p4est->last_local_tree; ++t) {
    sc_array_t *quadrants = &SCDA_P4EST (tree_array_index) (p4est->trees, t)->quadrants;
    for (k = 0; k < quadrants->elem_count; ++k, data += size) {
      SCDA_P4 (copy_internal) (data, (const char *) SCDA_P4EST (quadrant_array_index) (quadrants, k)->p.user_data + offset, size);
    }
  }
}

/* Allocates memory for items of this rank's quadrants. If one rank cannot, all ranks fail. */
static inline char *SCDA_P4 (room_internal) (scda_fcontext_t **f, uint64_t n, uint64_t bytes, int *err) {
  char *room = bytes > 0 && n > (SIZE_MAX / 2 - 1) / bytes ? NULL : (char *) malloc ((size_t) (n * bytes) + 1);
  *f = scda_fagree (*f, room == NULL ? SCDA_ERR_MEMORY : SCDA_SUCCESS, "no memory for what is written of the quadrants of a forest", err);
  if (*f == NULL) {
    free (room);
    room = NULL;
  }
  return room;
}

/* Writes parts of a forest, including the mesh. */
static inline scda_fcontext_t *SCDA_P4 (write_internal) (scda_fcontext_t *f, const char *group, SCDA_P4EST_T *p4est, int parts, int *err) {
  const size_t T = (size_t) p4est->connectivity->num_trees, data_size = parts & SCDA_FOREST_DATA ? p4est->data_size : 0;
  scda_forest_t m;
  char *room = NULL;
  SCDA_P4 (describe_internal) (p4est, &m);
  /* Room for the offsets of trees, corners, user data and levels. */
  room = SCDA_P4 (room_internal) (&f, (T + 1) * sizeof (p4est_gloidx_t) + m.n * (SCDA_P4_DIM * sizeof (int32_t) + data_size + 1), 1, err);
  if (room != NULL) {
    p4est_gloidx_t *tree_offsets = (p4est_gloidx_t *) (void *) room;
    int32_t *xyz = (int32_t *) (void *) (tree_offsets + T + 1);
    char *data = (char *) (xyz + SCDA_P4_DIM * m.n);
    uint8_t *levels = (uint8_t *) data + m.n * data_size;
    const uint64_t own = SCDA_P4 (gather_internal) (p4est, xyz, levels, data, data_size);
    scda_forest_know_internal (f, group, &m, SCDA_P4 (now_internal) (p4est, &m), own, p4est->mpicomm);
    if (T > 1) { SCDA_P4EST (comm_count_pertree) (p4est, tree_offsets); }
    tree_offsets[0] = 0;
    tree_offsets[T] = p4est->global_num_quadrants;
    SCDA_P4 (connectivity_internal) (p4est->connectivity, &m);
    m.coordinates = xyz;
    m.level = levels;
    m.tree_offsets = tree_offsets;
    m.partition = p4est->global_first_quadrant;
    m.data_bytes = data_size;
    m.data = data;
    f = scda_forest_write (f, group, &m, parts, err);
  }
  free (room);
  return f;
}

/* The parts to write, depending on save_data. */
static inline int SCDA_P4 (parts_internal) (const SCDA_P4EST_T *p4est, int save_data) {
  return SCDA_FOREST_CONNECTIVITY | SCDA_FOREST_MESH_PARTS | (save_data && p4est->data_size > 0 ? SCDA_FOREST_DATA : 0);
}

static inline scda_fcontext_t *SCDA_P4 (write_mesh) (scda_fcontext_t *f, const char *group, SCDA_P4EST_T *p4est, int *err) {
  return SCDA_P4 (write_internal) (f, group, p4est, SCDA_FOREST_MESH_PARTS, err);
}

static inline scda_fcontext_t *SCDA_P4 (write_data) (scda_fcontext_t *f, const char *group, const SCDA_P4EST_T *p4est, int *err) {
  scda_forest_t m;
  char *room = SCDA_P4 (room_internal) (&f, (uint64_t) p4est->local_num_quadrants, p4est->data_size, err);
  if (room != NULL) {
    SCDA_P4 (identify_internal) (f, group, p4est, &m);
    SCDA_P4 (gather_data_internal) (p4est, 0, p4est->data_size, room);
    m.data_bytes = p4est->data_size;
    m.data = room;
    f = scda_forest_write (f, group, &m, SCDA_FOREST_DATA, err);
  }
  free (room);
  return f;
}

static inline scda_fcontext_t *SCDA_P4 (write_forest) (scda_fcontext_t *f, const char *group, SCDA_P4EST_T *p4est, int save_data,
                                                       int *err) {
  return SCDA_P4 (write_internal) (f, group, p4est, SCDA_P4 (parts_internal) (p4est, save_data), err);
}

static inline scda_fcontext_t *SCDA_P4 (write_step) (scda_fcontext_t *f, const char *group, SCDA_P4EST_T *p4est, double time,
                                                     const char *units, int *err) {
  scda_forest_t m;
  int lacks = 0;
  SCDA_P4 (identify_internal) (f, group, p4est, &m);
  SCDA_P4 (connectivity_internal) (p4est->connectivity, &m);
  f = scda_forest_write_step (f, group, &m, time, units, &lacks, err);
  return f != NULL && lacks ? SCDA_P4 (write_mesh) (f, group, p4est, err) : f;
}

static inline scda_fcontext_t *SCDA_P4 (write_field) (scda_fcontext_t *f, const char *group, const SCDA_P4EST_T *p4est,
                                                      const scda_dataset_t *field, const void *data, int *err) {
  scda_forest_t m;
  SCDA_P4 (identify_internal) (f, group, p4est, &m);
  return scda_forest_write_field (f, group, &m, field, data, 1, err);
}

static inline scda_fcontext_t *SCDA_P4 (write_member) (scda_fcontext_t *f, const char *group, const SCDA_P4EST_T *p4est,
                                                       const scda_dataset_t *field, size_t offset, int *err) {
  uint64_t bytes = 0;
  scda_forest_t m;
  char why[200] = "", *room = NULL;
  int i;
  scda_type_name (field->type, &bytes);
  if (field->type >= SCDA_TYPE_RAW) { bytes = field->type == SCDA_TYPE_RAW ? field->item_bytes : 0; }
  for (i = 1; i < field->ndims && i < SCDA_MAX_DIMS; ++i) { /* a size that is too large stays too large */
    bytes = field->shape[i] != 0 && bytes > p4est->data_size / field->shape[i] ? UINT64_MAX : bytes * field->shape[i];
  }
  if (bytes == 0) {
    snprintf (why, sizeof why, "field %.58s: found type %d, whose size is unknown, or a dimension of size 0, expected a member of the user data", field->name,
              field->type);
  }
  else if (bytes > p4est->data_size || offset > p4est->data_size - bytes) {
    snprintf (why, sizeof why, "field %.58s: found %s%llu bytes at byte %llu, expected a member of the user data, which has %llu bytes", field->name,
              bytes == UINT64_MAX ? "more than " : "", (unsigned long long) (bytes == UINT64_MAX ? p4est->data_size : bytes),
              (unsigned long long) offset, (unsigned long long) p4est->data_size);
  }
  f = scda_fagree (f, why[0] == '\0' ? SCDA_SUCCESS : SCDA_ERR_ARG, why, err);
  if (f != NULL) { room = SCDA_P4 (room_internal) (&f, (uint64_t) p4est->local_num_quadrants, bytes, err); }
  if (room != NULL) {
    SCDA_P4 (gather_data_internal) (p4est, offset, (size_t) bytes, room);
    SCDA_P4 (identify_internal) (f, group, p4est, &m);
    f = scda_forest_write_field (f, group, &m, field, room, 0, err);
  }
  free (room);
  return f;
}

static inline scda_fcontext_t *SCDA_P4 (write_ragged) (scda_fcontext_t *f, const char *group, const SCDA_P4EST_T *p4est,
                                                       const scda_dataset_t *field, const int64_t *counts, const void *data,
                                                       int *err) {
  scda_forest_t m;
  SCDA_P4 (identify_internal) (f, group, p4est, &m);
  return scda_forest_write_ragged (f, group, &m, field, counts, data, err);
}

/* ---- Reading: fields ---- */

static inline scda_fcontext_t *SCDA_P4 (find_field) (scda_fcontext_t *f, const char *group, int64_t step, const char *name,
                                                     int *found, scda_dataset_t *d, int *err) {
  return scda_forest_find_field (f, group, step, name, found, d, err);
}

static inline scda_fcontext_t *SCDA_P4 (read_field) (scda_fcontext_t *f, const char *group, int64_t step, const SCDA_P4EST_T *p4est,
                                                     const char *name, int type, uint64_t components, void *data, int *err) {
  scda_forest_t m;
  SCDA_P4 (identify_internal) (f, group, p4est, &m);
  return scda_forest_read_field (f, group, step, &m, name, type, components, data, err);
}

static inline scda_fcontext_t *SCDA_P4 (read_counts) (scda_fcontext_t *f, const char *group, int64_t step, const SCDA_P4EST_T *p4est,
                                                      const char *name, int64_t *counts, int *err) {
  scda_forest_t m;
  SCDA_P4 (identify_internal) (f, group, p4est, &m);
  return scda_forest_read_counts (f, group, step, &m, name, counts, err);
}

static inline scda_fcontext_t *SCDA_P4 (read_ragged) (scda_fcontext_t *f, const char *group, int64_t step, const SCDA_P4EST_T *p4est,
                                                      const char *name, int type, uint64_t components, const int64_t *counts,
                                                      void *data, int *err) {
  scda_forest_t m;
  SCDA_P4 (identify_internal) (f, group, p4est, &m);
  return scda_forest_read_ragged (f, group, step, &m, name, type, components, counts, data, err);
}

/* ---- Reading: the forest ---- */

/* Makes a connectivity of p4est from the one that was read. */
static inline SCDA_P4EST (connectivity_t) * SCDA_P4 (connectivity_of_internal) (const scda_forest_t *m) {
  const size_t T = (size_t) m->trees, V = (size_t) m->num_vertices, C = (size_t) m->corners.count;
  const p4est_topidx_t trees = (p4est_topidx_t) T, vertices = (p4est_topidx_t) V, corners = (p4est_topidx_t) C;
  const p4est_topidx_t ctt = C > 0 ? m->corners.offsets[C] : 0;
#if SCDA_P4_DIM == 3
  const size_t E = (size_t) m->edges.count;
  const p4est_topidx_t ett = E > 0 ? m->edges.offsets[E] : 0;
  p8est_connectivity_t *c = p8est_connectivity_new (vertices, trees, (p4est_topidx_t) E, ett, corners, ctt);
  if (E > 0) {
    memcpy (c->tree_to_edge, m->edges.tree_to, T * 12 * sizeof (int32_t));
    memcpy (c->ett_offset, m->edges.offsets, (E + 1) * sizeof (int32_t));
    memcpy (c->edge_to_tree, m->edges.to_tree, (size_t) ett * sizeof (int32_t));
    memcpy (c->edge_to_edge, m->edges.to_code, (size_t) ett);
  }
#else
  p4est_connectivity_t *c = p4est_connectivity_new (vertices, trees, corners, ctt);
#endif
  memcpy (c->tree_to_tree, m->tree_to_tree, T * SCDA_P4_FACES * sizeof (int32_t));
  memcpy (c->tree_to_face, m->tree_to_face, T * SCDA_P4_FACES);
  if (V > 0) {
    memcpy (c->vertices, m->vertices, V * 3 * sizeof (double));
    memcpy (c->tree_to_vertex, m->tree_to_vertex, T * SCDA_P4_CHILDREN * sizeof (int32_t));
  }
  if (C > 0) {
    memcpy (c->tree_to_corner, m->corners.tree_to, T * SCDA_P4_CHILDREN * sizeof (int32_t));
    memcpy (c->ctt_offset, m->corners.offsets, (C + 1) * sizeof (int32_t));
    memcpy (c->corner_to_tree, m->corners.to_tree, (size_t) ctt * sizeof (int32_t));
    memcpy (c->corner_to_corner, m->corners.to_code, (size_t) ctt);
  }
  if (m->tree_bytes > 0) {
    SCDA_P4EST (connectivity_set_attr) (c, (size_t) m->tree_bytes);
    memcpy (c->tree_to_attr, m->tree_data, T * (size_t) m->tree_bytes);
  }
  return c;
}

static inline scda_fcontext_t *SCDA_P4 (read_internal) (scda_fcontext_t *f, const char *group, int64_t step, MPI_Comm comm, size_t data_size,
                                                        int load_data, int stored_partition, const p4est_gloidx_t *first_quadrant,
                                                        SCDA_P4EST (weight_t) weight_fn, void *user_pointer,
                                                        SCDA_P4EST (connectivity_t) * *connectivity, SCDA_P4EST_T **p4est, int *err) {
  SCDA_P4EST (connectivity_t) *c = NULL;
  sc_array_t quadrants, data;
  scda_forest_t m;
  *p4est = NULL;
  *connectivity = NULL;
  scda_forest_init (&m, SCDA_P4_DIM);
  m.finest = SCDA_P4_QMAXLEVEL;
  m.unit = SCDA_P4_MAXLEVEL;
  m.stored_partition = stored_partition;
  m.partition = first_quadrant;
  m.data_bytes = load_data ? data_size : 0;
  f = scda_forest_read (f, group, step, &m, err);
  if (f != NULL) {
    c = SCDA_P4 (connectivity_of_internal) (&m);
#ifdef P4EST_ENABLE_DEBUG
    /* p4est's own assertion would abort, and takes time that grows with the square of the number of trees. Its conditions have been
     * checked above. */
    if (!SCDA_P4EST (connectivity_is_valid) (c)) {
      f = scda_fagree (f, SCDA_ERR_FORMAT, "p4est reports that the connectivity of the forest is invalid", err);
      SCDA_P4EST (connectivity_destroy) (c);
    }
#endif
  }
  if (f != NULL) {
    sc_array_init_data (&quadrants, (void *) m.packed, sizeof (p4est_qcoord_t), (SCDA_P4_DIM + 1) * (size_t) m.n); /* not changed */
    if (m.data_bytes > 0) { sc_array_init_data (&data, (void *) m.data, data_size, (size_t) m.n); }
    *p4est = SCDA_P4EST (inflate) (comm, c, m.partition, m.tree_offsets, &quadrants, m.data_bytes > 0 ? &data : NULL, user_pointer);
    if (m.data_bytes == 0 && data_size > 0) { SCDA_P4EST (reset_data) (*p4est, data_size, NULL, user_pointer); }
    if (weight_fn != NULL) { SCDA_P4EST (partition_ext) (*p4est, 0, weight_fn); }
    *connectivity = c;
  }
  scda_forest_free (&m);
  return f;
}

static inline scda_fcontext_t *SCDA_P4 (read_forest) (scda_fcontext_t *f, const char *group, int64_t step, MPI_Comm comm,
                                                      size_t data_size, int load_data, const p4est_gloidx_t *first_quadrant,
                                                      SCDA_P4EST (weight_t) weight_fn, void *user_pointer,
                                                      SCDA_P4EST (connectivity_t) * *connectivity, SCDA_P4EST_T **p4est, int *err) {
  return SCDA_P4 (read_internal) (f, group, step, comm, data_size, load_data, 0, first_quadrant, weight_fn, user_pointer, connectivity, p4est, err);
}

/* ---- Saving and loading ---- */

/* Begins to close the file if a request is wanted, or else closes it. */
static inline int SCDA_P4 (save_internal) (const char *filename, SCDA_P4EST_T *p4est, int save_data, int save_partition,
                                           const scda_params_t *params, uint64_t background_bytes, scda_request_t *request) {
  const int parts = SCDA_P4 (parts_internal) (p4est, save_data) | (save_partition ? SCDA_FOREST_PARTITION : 0);
  scda_fcontext_t *f = NULL;
  scda_params_t defaults;
  int err = SCDA_SUCCESS;
  scda_params_init (&defaults);
  defaults.atomic = 1;
  defaults.sync = -1;
  defaults.background_bytes = background_bytes;
  f = scda_fopen_write (p4est->mpicomm, filename, SCDA_P4_STRING " forest", NULL, params == NULL ? &defaults : params, &err);
  f = scda_forest_write_about (f, &err);
  f = scda_forest_write_group (f, NULL, SCDA_P4_DIM, NULL, &err);
  f = SCDA_P4 (write_internal) (f, NULL, p4est, parts, &err);
  if (request != NULL) { scda_fclose_begin (f, request, &err); }
  else { scda_fclose (f, &err); }
  return err;
}

static inline int SCDA_P4 (save_params) (const char *filename, SCDA_P4EST_T *p4est, int save_data, int save_partition,
                                         const scda_params_t *params) {
  return SCDA_P4 (save_internal) (filename, p4est, save_data, save_partition, params, 0, NULL);
}

static inline int SCDA_P4 (save_begin) (const char *filename, SCDA_P4EST_T *p4est, int save_data, int save_partition,
                                        const scda_params_t *params, scda_request_t *request) {
  return SCDA_P4 (save_internal) (filename, p4est, save_data, save_partition, params, (uint64_t) 1 << 30, request);
}

static inline int SCDA_P4 (save_ext) (const char *filename, SCDA_P4EST_T *p4est, int save_data, int save_partition) {
  return SCDA_P4 (save_params) (filename, p4est, save_data, save_partition, NULL);
}

static inline int SCDA_P4 (save) (const char *filename, SCDA_P4EST_T *p4est, int save_data) {
  return SCDA_P4 (save_ext) (filename, p4est, save_data, 0);
}

static inline SCDA_P4EST_T *SCDA_P4 (load) (const char *filename, MPI_Comm comm, size_t data_size, int load_data, int autopartition,
                                            void *user_pointer, SCDA_P4EST (connectivity_t) * *connectivity) {
  scda_fcontext_t *f = NULL;
  scda_params_t params;
  SCDA_P4EST_T *p4est = NULL;
  int err = SCDA_SUCCESS;
  scda_params_init (&params);
  params.verify = 1;
  f = scda_fopen_read (comm, filename, NULL, NULL, &params, &err);
  f = SCDA_P4 (read_internal) (f, NULL, -1, comm, data_size, load_data, !autopartition, NULL, NULL, user_pointer, connectivity, &p4est, &err);
  if (f != NULL) { scda_fclose (f, &err); }
  if (err != SCDA_SUCCESS && p4est != NULL) {
    SCDA_P4EST (destroy) (p4est);
    SCDA_P4EST (connectivity_destroy) (*connectivity);
    *connectivity = NULL;
    p4est = NULL;
  }
  return p4est;
}

static inline SCDA_P4EST_T *SCDA_P4 (load_ext) (const char *filename, MPI_Comm comm, size_t data_size, int load_data,
                                                int autopartition, int broadcasthead, void *user_pointer,
                                                SCDA_P4EST (connectivity_t) * *connectivity) {
  (void) broadcasthead;
  return SCDA_P4 (load) (filename, comm, data_size, load_data, autopartition, user_pointer, connectivity);
}

static inline int SCDA_P4 (connectivity_save) (const char *filename, SCDA_P4EST (connectivity_t) * connectivity) {
  SCDA_P4EST_T *trees = SCDA_P4EST (new_ext) (MPI_COMM_SELF, connectivity, 0, 0, 1, 0, NULL, NULL);
  const int err = SCDA_P4 (save) (filename, trees, 0);
  SCDA_P4EST (destroy) (trees);
  return err;
}

static inline SCDA_P4EST (connectivity_t) * SCDA_P4 (connectivity_load) (const char *filename, size_t *bytes) {
  SCDA_P4EST (connectivity_t) *connectivity = NULL;
  SCDA_P4EST_T *trees = SCDA_P4 (load) (filename, MPI_COMM_SELF, 0, 0, 1, NULL, &connectivity);
  if (trees != NULL) { SCDA_P4EST (destroy) (trees); }
  if (bytes != NULL) { *bytes = connectivity == NULL ? 0 : SCDA_P4EST (connectivity_memory_used) (connectivity); }
  return connectivity;
}

#undef SCDA_P4_CHILDREN
#undef SCDA_P4_FACES
#undef SCDA_P4_SHIFT
#undef SCDA_P4_SAMPLES
