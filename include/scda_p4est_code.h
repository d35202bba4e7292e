/* scda_p4est_code.h: the functions of scda_p4est.h and scda_p8est.h, which include this file. Not to be included by others.
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
/* By how many bits the coordinates of a file are longer than those of p4est. */
#define SCDA_P4_SHIFT (SCDA_FOREST_MAXLEVEL - SCDA_P4_MAXLEVEL)
/* p4est counts faces, edges and corners of all trees in a p4est_topidx_t. */
#define SCDA_P4_MOST_TREES (P4EST_TOPIDX_MAX / (SCDA_P4_DIM == 3 ? 12 : 4))
/* More vertices than trees can use are too many; some may be unused. */
#define SCDA_P4_MOST_VERTICES(trees) ((trees) * SCDA_P4_CHILDREN + ((uint64_t) 1 << 20))
/* The most bytes of the attributes of all trees: every rank has them. */
#define SCDA_P4_MOST_ATTRIBUTES ((uint64_t) 1 << 28)
#if SCDA_P4_MAXLEVEL > 30
#error "this p4est has finer quadrants than the files of scda_p4est.h"
#endif

/* ---- Internal: partitions and quadrants ---- */

static inline uint64_t SCDA_P4 (first_internal) (const SCDA_P4EST_T *p4est) {
  return (uint64_t) p4est->global_first_quadrant[p4est->mpirank];
}

/* Calls a function for the quadrants of this rank, in their order. */
typedef void (*SCDA_P4 (visit_internal_t)) (void *context, size_t i, const SCDA_P4EST (quadrant_t) * quadrant);

static inline void SCDA_P4 (visit_internal) (const SCDA_P4EST_T *p4est, SCDA_P4 (visit_internal_t) visit, void *context) {
  p4est_topidx_t t;
  size_t i = 0, k;
  for (t = p4est->first_local_tree; t >= 0 && t <= p4est->last_local_tree; ++t) {
    sc_array_t *quadrants = &SCDA_P4EST (tree_array_index) (p4est->trees, t)->quadrants;
    for (k = 0; k < quadrants->elem_count; ++k) { visit (context, i++, SCDA_P4EST (quadrant_array_index) (quadrants, k)); }
  }
}

/* ---- Internal: which mesh a forest has ---- */

/* The quadrants of a rank that are compared to find out if the forest has changed. */
#define SCDA_P4_SAMPLES ((p4est_locidx_t) 4096)

/* The sum of what the quadrants of this rank add to the checksum, or, with a stride above 1, of some of them. */
static inline uint64_t SCDA_P4 (sum_internal) (const SCDA_P4EST_T *p4est, size_t stride) {
  uint64_t sum = 0, first = SCDA_P4 (first_internal) (p4est);
  p4est_topidx_t t;
  size_t next = 0; /* the next one, from the first one of the tree on */
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

/* Differs, but for rare cases, between two forests of different quadrants that have the same address and revision one after the other. */
static inline uint64_t SCDA_P4 (sketch_internal) (const SCDA_P4EST_T *p4est) {
  const uint64_t sample = SCDA_P4 (sum_internal) (p4est, (size_t) (p4est->local_num_quadrants / SCDA_P4_SAMPLES) + 1);
  return scda_forest_mix_internal (sample + 3 * (uint64_t) p4est->local_num_quadrants + 5 * SCDA_P4 (first_internal) (p4est)) +
         7 * (uint64_t) p4est->global_num_quadrants + 11 * (uint64_t) p4est->first_local_tree + 13 * (uint64_t) p4est->last_local_tree;
}

/* Keeps the checksum of a forest. */
static inline void SCDA_P4 (know_internal) (scda_forest_state_internal_t *state, const SCDA_P4EST_T *p4est, uint64_t checksum) {
  state->forest = p4est;
  state->revision = p4est->revision;
  state->sketch = SCDA_P4 (sketch_internal) (p4est);
  state->forest_checksum = checksum;
}

/* The checksum of the mesh, which is kept with the file for as long as the forest does not change. NULL if an error was found. */
static inline scda_fcontext_t *SCDA_P4 (checksum_internal) (scda_fcontext_t *f, const char *group, const SCDA_P4EST_T *p4est,
                                                            uint64_t *checksum, int *err) {
  scda_forest_state_internal_t *state = scda_forest_state_internal (f, group);
  const uint64_t sketch = SCDA_P4 (sketch_internal) (p4est);
  int least = state == NULL ? -1 : state->forest == p4est && state->revision == p4est->revision && state->sketch == sketch;
  *checksum = 0;
  MPI_Allreduce (MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, p4est->mpicomm);
  if (least < 0) {
    scda_forest_error_internal_t e;
    scda_forest_no_error_internal (&e);
    if (state == NULL) { scda_forest_error_internal (&e, SCDA_ERR_USAGE, "the file of the forest is not open, or there is no memory"); }
    return scda_forest_agree_internal (f, p4est->mpicomm, &e, err);
  }
  if (least == 0) {
    uint64_t sum = SCDA_P4 (sum_internal) (p4est, 1), all = 0;
    MPI_Allreduce (&sum, &all, 1, MPI_UINT64_T, MPI_SUM, p4est->mpicomm);
    SCDA_P4 (know_internal) (state, p4est, all);
  }
  *checksum = state->forest_checksum;
  return f;
}

/* The quadrants of this rank, with the checksum of the mesh. NULL if an error was found. */
static inline scda_fcontext_t *SCDA_P4 (part_internal) (scda_fcontext_t *f, const char *group, const SCDA_P4EST_T *p4est,
                                                        scda_forest_part_internal_t *part, int *err) {
  part->comm = p4est->mpicomm;
  part->element = "quadrant";
  part->functions = SCDA_P4_NAME;
  part->all = (uint64_t) p4est->global_num_quadrants;
  part->first = SCDA_P4 (first_internal) (p4est);
  part->n = (uint64_t) p4est->local_num_quadrants;
  return SCDA_P4 (checksum_internal) (f, group, p4est, &part->checksum, err);
}

/* Writes the attributes of the group, if they are not there. */
static inline scda_fcontext_t *SCDA_P4 (group_internal) (scda_fcontext_t *f, const char *group, const SCDA_P4EST_T *p4est, int *err) {
  const scda_forest_state_internal_t *state = NULL;
  scda_forest_look_internal (f, group, "scda_forest", "coordinates", p4est->mpicomm);
  state = scda_forest_state_internal (f, group);
  return state != NULL && state->note->has_group ? f : scda_forest_write_group (f, group, SCDA_P4_DIM, NULL, err);
}

/* ---- Writing ---- */

/* A number that changes with the connectivity. All ranks have all of it. */
static inline uint64_t SCDA_P4 (connectivity_sum_internal) (const SCDA_P4EST (connectivity_t) * c) {
  const size_t T = (size_t) c->num_trees, C = (size_t) c->num_corners;
  uint64_t h = 0;
#define SCDA_P4_HASH(data, count)                                                                          \
  if ((data) != NULL) {                                                                                    \
    const unsigned char *bytes = (const unsigned char *) (data);                                           \
    const size_t all = (size_t) (count) * sizeof *(data);                                                  \
    size_t at;                                                                                             \
    for (at = 0; at < all; at += 8) {                                                                      \
      uint64_t word = 0;                                                                                   \
      memcpy (&word, bytes + at, all - at < 8 ? all - at : 8);                                             \
      h = (h ^ word) * 0x9e3779b97f4a7c15u;                                                                \
      h ^= h >> 29;                                                                                        \
    }                                                                                                      \
    h = scda_forest_mix_internal (h + all + 1);                                                            \
  }
  SCDA_P4_HASH (c->tree_to_tree, T * SCDA_P4_FACES)
  SCDA_P4_HASH (c->tree_to_face, T * SCDA_P4_FACES)
  SCDA_P4_HASH (c->vertices, 3 * c->num_vertices)
  if (c->num_vertices > 0) { SCDA_P4_HASH (c->tree_to_vertex, T * SCDA_P4_CHILDREN) }
#if SCDA_P4_DIM == 3
  if (c->num_edges > 0) {
    SCDA_P4_HASH (c->tree_to_edge, T * 12)
    SCDA_P4_HASH (c->ett_offset, c->num_edges + 1)
    SCDA_P4_HASH (c->edge_to_tree, c->ett_offset[c->num_edges])
    SCDA_P4_HASH (c->edge_to_edge, c->ett_offset[c->num_edges])
  }
#endif
  if (C > 0) {
    SCDA_P4_HASH (c->tree_to_corner, T * SCDA_P4_CHILDREN)
    SCDA_P4_HASH (c->ctt_offset, C + 1)
    SCDA_P4_HASH (c->corner_to_tree, c->ctt_offset[C])
    SCDA_P4_HASH (c->corner_to_corner, c->ctt_offset[C])
  }
  if (c->tree_attr_bytes > 0) { SCDA_P4_HASH (c->tree_to_attr, T * c->tree_attr_bytes) }
#undef SCDA_P4_HASH
  return h;
}

static inline void SCDA_P4 (add_connectivity_internal) (scda_forest_parts_internal_t *parts, const SCDA_P4EST_T *p4est) {
  const SCDA_P4EST (connectivity_t) *c = p4est->connectivity;
  const uint64_t T = (uint64_t) c->num_trees, V = (uint64_t) c->num_vertices, C = (uint64_t) c->num_corners;
  const int mine = p4est->mpirank == 0; /* all ranks have all of it */
  const char *const tree = "tree";
  if (V > SCDA_P4_MOST_VERTICES (T)) {
    scda_forest_error_internal (&parts->e, SCDA_ERR_RANGE, "the connectivity has %llu vertices for %llu trees", (unsigned long long) V,
                                (unsigned long long) T);
  }
  if (T > 0 && c->tree_attr_bytes > SCDA_P4_MOST_ATTRIBUTES / T) {
    scda_forest_error_internal (&parts->e, SCDA_ERR_RANGE, "the connectivity has %llu bytes for each of %llu trees; all may be %llu",
                                (unsigned long long) c->tree_attr_bytes, (unsigned long long) T,
                                (unsigned long long) SCDA_P4_MOST_ATTRIBUTES);
  }
#define SCDA_P4_PART(name, type, rows, columns, dimension0, dimension1, data)                                                    \
  scda_forest_add_part_internal (parts, name, type, rows, columns, dimension0, dimension1, NULL, 0, mine ? (rows) : 0, data);
  SCDA_P4_PART ("tree_to_tree", SCDA_TYPE_INT32, T, SCDA_P4_FACES, tree, "face", c->tree_to_tree)
  SCDA_P4_PART ("tree_to_face", SCDA_TYPE_INT8, T, SCDA_P4_FACES, tree, "face", c->tree_to_face)
  if (V > 0) {
    SCDA_P4_PART ("vertices", SCDA_TYPE_FLOAT64, V, 3, "vertex", "space", c->vertices)
    SCDA_P4_PART ("tree_to_vertex", SCDA_TYPE_INT32, T, SCDA_P4_CHILDREN, tree, "tree_corner", c->tree_to_vertex)
  }
#if SCDA_P4_DIM == 3
  if (c->num_edges > 0) {
    const uint64_t E = (uint64_t) c->num_edges, entries = (uint64_t) c->ett_offset[E];
    SCDA_P4_PART ("tree_to_edge", SCDA_TYPE_INT32, T, 12, tree, "tree_edge", c->tree_to_edge)
    SCDA_P4_PART ("edge_offsets", SCDA_TYPE_INT32, E + 1, 0, "edge_boundary", NULL, c->ett_offset)
    SCDA_P4_PART ("edge_to_tree", SCDA_TYPE_INT32, entries, 0, "edge_entry", NULL, c->edge_to_tree)
    SCDA_P4_PART ("edge_to_edge", SCDA_TYPE_INT8, entries, 0, "edge_entry", NULL, c->edge_to_edge)
  }
#endif
  if (C > 0) {
    const uint64_t entries = (uint64_t) c->ctt_offset[C];
    SCDA_P4_PART ("tree_to_corner", SCDA_TYPE_INT32, T, SCDA_P4_CHILDREN, tree, "tree_corner", c->tree_to_corner)
    SCDA_P4_PART ("corner_offsets", SCDA_TYPE_INT32, C + 1, 0, "corner_boundary", NULL, c->ctt_offset)
    SCDA_P4_PART ("corner_to_tree", SCDA_TYPE_INT32, entries, 0, "corner_entry", NULL, c->corner_to_tree)
    SCDA_P4_PART ("corner_to_corner", SCDA_TYPE_INT8, entries, 0, "corner_entry", NULL, c->corner_to_corner)
  }
#undef SCDA_P4_PART
  if (c->tree_attr_bytes > 0) {
    scda_forest_add_part_internal (parts, "tree_attributes", SCDA_TYPE_RAW, T, 0, tree, NULL, NULL, 0, mine ? T : 0, c->tree_to_attr)->item_bytes =
      c->tree_attr_bytes;
  }
}

/* The connectivity is in the file. */
static inline void SCDA_P4 (know_connectivity_internal) (scda_fcontext_t *f, const char *group, const SCDA_P4EST_T *p4est) {
  scda_forest_state_internal_t *state = f == NULL ? NULL : scda_forest_state_internal (f, group);
  if (state != NULL) {
    state->has_connectivity = 1;
    state->connectivity = SCDA_P4 (connectivity_sum_internal) (p4est->connectivity);
  }
}

static inline scda_fcontext_t *SCDA_P4 (write_connectivity) (scda_fcontext_t *f, const char *group, const SCDA_P4EST_T *p4est,
                                                             int *err) {
  scda_forest_parts_internal_t parts;
  scda_forest_no_parts_internal (&parts, group);
  SCDA_P4 (add_connectivity_internal) (&parts, p4est);
  if (parts.e.err == SCDA_SUCCESS) { f = SCDA_P4 (group_internal) (f, group, p4est, err); }
  f = scda_forest_write_parts_internal (f, &parts, err);
  SCDA_P4 (know_connectivity_internal) (f, group, p4est);
  return f;
}

/* What is written of the local quadrants, of which there are n: their coordinates, `data_size` bytes of user data of each, and their levels. */
typedef struct {
  char *room; /* of all three */
  uint64_t n;
  size_t data_size;
  p4est_gloidx_t *tree_offsets;
  uint64_t checksum; /* of the mesh */
  char attributes[192], data_attributes[96];
} SCDA_P4 (gathered_internal_t);

static inline char *SCDA_P4 (data_of_internal) (const SCDA_P4 (gathered_internal_t) * all) {
  return all->room + all->n * SCDA_P4_DIM * sizeof (int32_t);
}

static inline uint8_t *SCDA_P4 (levels_of_internal) (const SCDA_P4 (gathered_internal_t) * all) {
  return (uint8_t *) SCDA_P4 (data_of_internal) (all) + all->n * all->data_size;
}

/* Copies user data: the usual sizes without a call. */
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

/* Gathers it all on one way through the quadrants, because that takes longer than what is done on the way. Returns what they add to the checksum. */
static inline uint64_t SCDA_P4 (gather_internal) (const SCDA_P4EST_T *p4est, const SCDA_P4 (gathered_internal_t) * all) {
  int32_t *xyz = (int32_t *) (void *) all->room;
  char *data = SCDA_P4 (data_of_internal) (all);
  uint8_t *levels = SCDA_P4 (levels_of_internal) (all);
  const size_t data_size = all->data_size;
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

/* The user data, which are gathered, of a mesh with this checksum. */
static inline void SCDA_P4 (add_data_internal) (scda_forest_parts_internal_t *parts, const SCDA_P4EST_T *p4est, const char *mesh, char *attributes,
                                                const void *bytes) {
  const uint16_t one = 1;
  sprintf (attributes, "{\"" SCDA_FOREST_MESH "\": \"%s\", \"byte_order\": \"%s\"}", mesh, *(const unsigned char *) &one == 1 ? "little" : "big");
  scda_forest_add_part_internal (parts, "data", SCDA_TYPE_RAW, (uint64_t) p4est->global_num_quadrants, 0, "quadrant", NULL, attributes,
                                 SCDA_P4 (first_internal) (p4est), (uint64_t) p4est->local_num_quadrants, bytes)
    ->item_bytes = p4est->data_size;
}

/* Gathers all, with `data_size` bytes of user data each, and adds the mesh and these. The caller frees what is gathered, also after an error. */
static inline scda_fcontext_t *SCDA_P4 (add_mesh_internal) (scda_fcontext_t *f, scda_forest_parts_internal_t *parts, SCDA_P4EST_T *p4est, size_t data_size,
                                                            SCDA_P4 (gathered_internal_t) * all, int *err) {
  const uint64_t N = (uint64_t) p4est->global_num_quadrants, T = (uint64_t) p4est->connectivity->num_trees;
  const uint64_t first = SCDA_P4 (first_internal) (p4est), n = (uint64_t) p4est->local_num_quadrants;
  scda_forest_state_internal_t *state = scda_forest_state_internal (f, parts->group);
  scda_forest_error_internal_t e;
  char text[scda_forest_checksum_bytes_internal];
  uint64_t sums[2] = { 0, 0 }; /* of the checksum, and of the ranks that have an error */
  scda_forest_no_error_internal (&e);
  all->n = n;
  all->data_size = data_size;
  if (state == NULL) { scda_forest_error_internal (&e, SCDA_ERR_MEMORY, "no memory for what is known of a forest"); }
  all->room = (char *) scda_forest_room_internal (n, SCDA_P4_DIM * sizeof (int32_t) + 1 + data_size, &e);
  all->tree_offsets = (p4est_gloidx_t *) scda_forest_room_internal (T + 1, sizeof (p4est_gloidx_t), &e);
  if (e.err == SCDA_SUCCESS) { sums[0] = SCDA_P4 (gather_internal) (p4est, all); }
  sums[1] = e.err != SCDA_SUCCESS;
  MPI_Allreduce (MPI_IN_PLACE, sums, 2, MPI_UINT64_T, MPI_SUM, p4est->mpicomm);
  if (sums[1] > 0) { return scda_forest_agree_internal (f, p4est->mpicomm, &e, err); }
  all->checksum = sums[0];
  SCDA_P4 (know_internal) (state, p4est, all->checksum);
  if (state->note->has_mesh && state->note->has_fields && state->note->checksum != all->checksum) { /* on all ranks */
    scda_forest_error_internal (&e, SCDA_ERR_USAGE, "another mesh of the forest %.58s, where the time step has fields of the one before: begin a step by "
                                "scda_forest_write_time or " SCDA_P4_NAME "_write_step", scda_forest_group_internal (parts->group));
    return scda_forest_fail_internal (f, &e, err);
  }
  if (T > 1) { SCDA_P4EST (comm_count_pertree) (p4est, all->tree_offsets); }
  all->tree_offsets[0] = 0;
  all->tree_offsets[T] = p4est->global_num_quadrants;
  scda_forest_checksum_text_internal (all->checksum, text);
  sprintf (all->attributes, "{\"" SCDA_FOREST_MESH "\": \"%s\", \"long_name\": \"corner next to the origin of the tree, in units of 2^-30 of the edge of the tree\"}",
           text);
  scda_forest_add_part_internal (parts, "coordinates", SCDA_TYPE_INT32, N, SCDA_P4_DIM, "quadrant", "axis", all->attributes, first, n, all->room);
  scda_forest_add_part_internal (parts, "level", SCDA_TYPE_UINT8, N, 0, "quadrant", NULL, "{\"long_name\": \"level of refinement\"}", first, n,
                                 SCDA_P4 (levels_of_internal) (all));
  scda_forest_add_part_internal (parts, "tree_offsets", SCDA_TYPE_INT64, T + 1, 0, "tree_boundary", NULL,
                                 "{\"long_name\": \"number of the first quadrant of each tree\"}", 0, p4est->mpirank == 0 ? T + 1 : 0, all->tree_offsets);
  if (data_size > 0) { SCDA_P4 (add_data_internal) (parts, p4est, text, all->data_attributes, SCDA_P4 (data_of_internal) (all)); }
  return f;
}

/* Writes the mesh with `data_size` bytes of user data each, after the connectivity if that is asked for. */
static inline scda_fcontext_t *SCDA_P4 (write_all_internal) (scda_fcontext_t *f, const char *group, SCDA_P4EST_T *p4est, int connectivity,
                                                             size_t data_size, int *err) {
  scda_forest_parts_internal_t parts;
  SCDA_P4 (gathered_internal_t) all;
  all.room = NULL;
  all.tree_offsets = NULL;
  scda_forest_no_parts_internal (&parts, group);
  if (connectivity) { SCDA_P4 (add_connectivity_internal) (&parts, p4est); }
  if (parts.e.err == SCDA_SUCCESS) { f = SCDA_P4 (group_internal) (f, group, p4est, err); }
  if (parts.e.err == SCDA_SUCCESS && f != NULL) { f = SCDA_P4 (add_mesh_internal) (f, &parts, p4est, data_size, &all, err); }
  f = scda_forest_write_parts_internal (f, &parts, err);
  if (f != NULL) {
    scda_forest_state_internal_t *state = scda_forest_state_internal (f, group);
    state->note->has_mesh = 1;
    state->note->has_fields = data_size > 0;
    state->note->cells = (uint64_t) p4est->global_num_quadrants;
    state->note->checksum = all.checksum;
    if (connectivity) { SCDA_P4 (know_connectivity_internal) (f, group, p4est); }
  }
  free (all.tree_offsets);
  free (all.room);
  return f;
}

static inline scda_fcontext_t *SCDA_P4 (write_mesh) (scda_fcontext_t *f, const char *group, SCDA_P4EST_T *p4est, int *err) {
  return SCDA_P4 (write_all_internal) (f, group, p4est, 0, 0, err);
}

typedef struct {
  char *bytes;
  size_t offset, size; /* what of the user data */
} SCDA_P4 (data_internal_t);

static inline void SCDA_P4 (visit_data_internal) (void *context, size_t i, const SCDA_P4EST (quadrant_t) * quadrant) {
  SCDA_P4 (data_internal_t) *data = (SCDA_P4 (data_internal_t) *) context;
  SCDA_P4 (copy_internal) (data->bytes + i * data->size, (const char *) quadrant->p.user_data + data->offset, data->size);
}

static inline scda_fcontext_t *SCDA_P4 (write_data) (scda_fcontext_t *f, const char *group, const SCDA_P4EST_T *p4est, int *err) {
  scda_forest_part_internal_t part;
  scda_forest_parts_internal_t parts;
  char mesh[scda_forest_checksum_bytes_internal], attributes[96];
  scda_forest_error_internal_t e;
  SCDA_P4 (data_internal_t) data;
  scda_forest_no_error_internal (&e);
  data.offset = 0;
  data.size = p4est->data_size;
  data.bytes = NULL;
  if (data.size == 0) { scda_forest_error_internal (&e, SCDA_ERR_ARG, "the quadrants of this forest have no data to write"); }
  else { data.bytes = (char *) scda_forest_room_internal ((uint64_t) p4est->local_num_quadrants, data.size, &e); }
  f = scda_forest_agree_internal (f, p4est->mpicomm, &e, err);
  if (f != NULL) { f = SCDA_P4 (part_internal) (f, group, p4est, &part, err); }
  if (f != NULL) { f = scda_forest_belong_internal (f, group, &part, "data", mesh, err); }
  if (f != NULL) {
    SCDA_P4 (visit_internal) (p4est, SCDA_P4 (visit_data_internal), &data);
    scda_forest_no_parts_internal (&parts, group);
    SCDA_P4 (add_data_internal) (&parts, p4est, mesh, attributes, data.bytes);
    f = scda_forest_write_parts_internal (f, &parts, err);
  }
  free (data.bytes);
  return f;
}

static inline scda_fcontext_t *SCDA_P4 (write_forest) (scda_fcontext_t *f, const char *group, SCDA_P4EST_T *p4est, int save_data,
                                                       int *err) {
  return SCDA_P4 (write_all_internal) (f, group, p4est, 1, save_data ? p4est->data_size : 0, err);
}

static inline scda_fcontext_t *SCDA_P4 (write_step) (scda_fcontext_t *f, const char *group, SCDA_P4EST_T *p4est, double time,
                                                     const char *units, int *err) {
  scda_forest_state_internal_t *state = NULL;
  uint64_t checksum = 0;
  int has = 0;
  f = SCDA_P4 (group_internal) (f, group, p4est, err);
  if (f != NULL) { f = scda_forest_write_time (f, group, time, units, err); }
  if (f != NULL) { f = SCDA_P4 (checksum_internal) (f, group, p4est, &checksum, err); }
  if (f == NULL) { return NULL; }
  state = scda_forest_state_internal (f, group);
  has = state->has_connectivity && state->connectivity == SCDA_P4 (connectivity_sum_internal) (p4est->connectivity);
  MPI_Allreduce (MPI_IN_PLACE, &has, 1, MPI_INT, MPI_MIN, p4est->mpicomm);
  if (!has) { f = SCDA_P4 (write_connectivity) (f, group, p4est, err); }
  if (f != NULL && !(state->note->has_mesh && state->note->checksum == checksum && state->note->cells == (uint64_t) p4est->global_num_quadrants)) {
    f = SCDA_P4 (write_mesh) (f, group, p4est, err);
  }
  return f;
}

static inline scda_fcontext_t *SCDA_P4 (write_field) (scda_fcontext_t *f, const char *group, const SCDA_P4EST_T *p4est,
                                                      const scda_dataset_t *field, const void *data, int *err) {
  scda_forest_part_internal_t part;
  f = SCDA_P4 (part_internal) (f, group, p4est, &part, err);
  return f == NULL ? NULL : scda_forest_write_values_internal (f, group, &part, field, data, scda_forest_theirs_internal, err);
}

static inline scda_fcontext_t *SCDA_P4 (write_member) (scda_fcontext_t *f, const char *group, const SCDA_P4EST_T *p4est,
                                                       const scda_dataset_t *field, size_t offset, int *err) {
  static const unsigned char bytes_of_type[SCDA_TYPE_RAW] = { 0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16 };
  const uint64_t n = (uint64_t) p4est->local_num_quadrants;
  uint64_t bytes = field->type == SCDA_TYPE_RAW ? field->item_bytes : 0;
  scda_forest_part_internal_t part;
  scda_forest_error_internal_t e;
  SCDA_P4 (data_internal_t) data;
  int i;
  scda_forest_no_error_internal (&e);
  if (field->type > 0 && field->type < SCDA_TYPE_RAW) { bytes = bytes_of_type[field->type]; }
  for (i = 1; i < field->ndims && i < SCDA_MAX_DIMS; ++i) { /* too large stays too large */
    bytes = field->shape[i] != 0 && bytes > p4est->data_size / field->shape[i] ? UINT64_MAX : bytes * field->shape[i];
  }
  data.bytes = NULL;
  data.offset = offset;
  data.size = (size_t) bytes;
  if (bytes == 0 || bytes > p4est->data_size || offset > p4est->data_size - bytes) {
    if (bytes == 0) {
      scda_forest_error_internal (&e, SCDA_ERR_ARG, "the field %.58s is no member of user data: its type, %d, has no known size, or a dimension has no items",
                                  field->name, field->type);
    }
    else {
      scda_forest_error_internal (&e, SCDA_ERR_ARG, "the field %.58s is no member of user data of %llu bytes: it would take %s%llu bytes from byte %llu on",
                                  field->name, (unsigned long long) p4est->data_size, bytes == UINT64_MAX ? "more than " : "",
                                  (unsigned long long) (bytes == UINT64_MAX ? p4est->data_size : bytes), (unsigned long long) offset);
    }
  }
  else { data.bytes = (char *) scda_forest_room_internal (n, bytes, &e); }
  f = scda_forest_agree_internal (f, p4est->mpicomm, &e, err);
  if (f != NULL) {
    SCDA_P4 (visit_internal) (p4est, SCDA_P4 (visit_data_internal), &data);
    f = SCDA_P4 (part_internal) (f, group, p4est, &part, err);
  }
  if (f != NULL) { f = scda_forest_write_values_internal (f, group, &part, field, data.bytes, scda_forest_ours_internal, err); }
  free (data.bytes);
  return f;
}

static inline scda_fcontext_t *SCDA_P4 (write_ragged) (scda_fcontext_t *f, const char *group, const SCDA_P4EST_T *p4est,
                                                       const scda_dataset_t *field, const int64_t *counts, const void *data,
                                                       int *err) {
  scda_forest_part_internal_t part;
  f = SCDA_P4 (part_internal) (f, group, p4est, &part, err);
  return f == NULL ? NULL : scda_forest_write_ragged_internal (f, group, &part, field, counts, data, err);
}

/* ---- Reading: the mesh ---- */

/* What the checks of pieces need to know of the pieces before. */
typedef struct {
  scda_forest_name_internal_t name; /* of the dataset */
  uint64_t trees, quadrants;
} SCDA_P4 (trees_internal_t);

static inline int SCDA_P4 (check_trees_internal) (void *context, const void *all, uint64_t first, uint64_t rows,
                                                  scda_forest_error_internal_t *e) {
  const SCDA_P4 (trees_internal_t) *c = (const SCDA_P4 (trees_internal_t) *) context;
  const int64_t *offsets = (const int64_t *) all;
  uint64_t t;
  for (t = first; t < first + rows; ++t) {
    if (t == 0 ? offsets[0] != 0 : offsets[t] <= offsets[t - 1]) {
      return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "dataset %s: number %llu is %lld, which does not grow from 0",
                                         c->name.text, (unsigned long long) t, (long long) offsets[t]);
    }
    if ((uint64_t) offsets[t] > c->quadrants || (t == c->trees && (uint64_t) offsets[t] != c->quadrants)) {
      return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "dataset %s: number %llu is %lld, but there are %llu quadrants",
                                         c->name.text, (unsigned long long) t, (long long) offsets[t],
                                         (unsigned long long) c->quadrants);
    }
  }
  return 1;
}

/* The tree of a quadrant. */
static inline uint64_t SCDA_P4 (tree_internal) (const int64_t *tree_offsets, uint64_t trees, int64_t i) {
  uint64_t below = 0, above = trees; /* it is tree `below` or one after it, before `above` */
  while (above - below > 1) {
    const uint64_t middle = below + (above - below) / 2;
    if (tree_offsets[middle] <= i) { below = middle; }
    else { above = middle; }
  }
  return below;
}

/* Moves a corner by the edge of its quadrant along the Morton curve: to where the next quadrant begins. 0 at the end of the tree. */
static inline int SCDA_P4 (next_internal) (int32_t *xyz, int level) {
  for (; level > 0; --level) {
    const int32_t bit = (int32_t) 1 << (SCDA_FOREST_MAXLEVEL - level);
    int a;
    for (a = 0; a < SCDA_P4_DIM; ++a) {
      xyz[a] ^= bit;
      if (xyz[a] & bit) { return 1; }
    }
  }
  return 0;
}

/* Whether the quadrants fill their trees in the order of the curve. `before` is the quadrant before the first one, if there is one. */
static inline int SCDA_P4 (check_quadrants_internal) (const char *group, const int64_t *tree_offsets, uint64_t trees, int64_t first,
                                                      size_t n, const int32_t *coordinates, const uint8_t *levels,
                                                      const int32_t *coordinates_before, int level_before,
                                                      scda_forest_error_internal_t *e) {
  uint64_t t = n > 0 ? SCDA_P4 (tree_internal) (tree_offsets, trees, first) : 0;
  int32_t expected[SCDA_P4_DIM];
  size_t k;
  int a, more = 0;
  for (a = 0; a < SCDA_P4_DIM; ++a) { expected[a] = 0; }
  for (k = 0; k < n; ++k) {
    const int64_t i = first + (int64_t) k;
    const int32_t *xyz = coordinates + SCDA_P4_DIM * k;
    const int level = levels[k];
    if (i == tree_offsets[t + 1]) { ++t; }
    if (i == tree_offsets[t]) {
      for (a = 0; a < SCDA_P4_DIM; ++a) { expected[a] = 0; }
      more = 1;
    }
    else {
      if (k == 0) {
        if (level_before > SCDA_FOREST_MAXLEVEL) {
          return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "dataset %s/level: quadrant %lld has level %d", group, (long long) i - 1,
                                             level_before);
        }
        memcpy (expected, coordinates_before, sizeof expected);
      }
      more = SCDA_P4 (next_internal) (expected, k == 0 ? level_before : levels[k - 1]);
    }
    if (level > SCDA_FOREST_MAXLEVEL) {
      return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "dataset %s/level: quadrant %lld has level %d", group, (long long) i, level);
    }
    if (level > SCDA_P4_QMAXLEVEL) {
      return scda_forest_error_internal (e, SCDA_ERR_UNSUPPORTED, "dataset %s/level: quadrant %lld has level %d; this p4est has levels up to %d",
                                         group, (long long) i, level, SCDA_P4_QMAXLEVEL);
    }
    for (a = 0; a < SCDA_P4_DIM; ++a) {
      if (!more || xyz[a] != expected[a] || (level < SCDA_FOREST_MAXLEVEL && xyz[a] & (((int32_t) 1 << (SCDA_FOREST_MAXLEVEL - level)) - 1))) {
        return scda_forest_error_internal (
          e, SCDA_ERR_FORMAT, "dataset %s/coordinates: quadrant %lld, of level %d, has %d in dimension %d; %s %d", group,
          (long long) i, level, (int) xyz[a], a, more ? "where it follows the one before is" : "its tree is full without it, at",
          (int) expected[a]);
      }
    }
    if (i + 1 == tree_offsets[t + 1]) {
      memcpy (expected, xyz, sizeof expected);
      if (SCDA_P4 (next_internal) (expected, level)) {
        return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "dataset %s/coordinates: tree %llu is not full after its last quadrant, %lld",
                                           group, (unsigned long long) t, (long long) i);
      }
    }
    memcpy (expected, xyz, sizeof expected);
  }
  return 1;
}

/* The mesh of this rank, as p4est_inflate takes it. */
typedef struct {
  uint64_t trees, quadrants;
  int64_t *tree_offsets;
  p4est_gloidx_t *first_quadrant; /* of each rank */
  p4est_qcoord_t *inflated;       /* coordinates and level of each quadrant */
  size_t n;
  uint64_t checksum; /* of all of it */
} SCDA_P4 (read_internal_t);

static inline void SCDA_P4 (read_free_internal) (SCDA_P4 (read_internal_t) *mesh) {
  free (mesh->tree_offsets);
  free (mesh->first_quadrant);
  free (mesh->inflated);
}

/* Partition: uniform, or as given. */
static inline scda_fcontext_t *SCDA_P4 (read_partition_internal) (scda_fcontext_t *f, MPI_Comm comm,
                                                                  const p4est_gloidx_t *first_quadrant,
                                                                  SCDA_P4 (read_internal_t) *mesh, int *err) {
  const int64_t N = (int64_t) mesh->quadrants;
  scda_forest_error_internal_t e;
  int size = 0, rank = 0, q;
  scda_forest_no_error_internal (&e);
  MPI_Comm_size (comm, &size);
  MPI_Comm_rank (comm, &rank);
  mesh->first_quadrant = (p4est_gloidx_t *) scda_forest_room_internal ((uint64_t) size + 1, sizeof (p4est_gloidx_t), &e);
  for (q = 0; e.err == SCDA_SUCCESS && q <= size; ++q) {
    mesh->first_quadrant[q] = first_quadrant != NULL ? first_quadrant[q] : N / size * q + N % size * q / size;
    if (mesh->first_quadrant[q] < (q == 0 ? 0 : mesh->first_quadrant[q - 1]) || (q == 0 && mesh->first_quadrant[q] != 0) ||
        (q == size && mesh->first_quadrant[q] != N)) {
      scda_forest_error_internal (&e, SCDA_ERR_ARG, "the partition given does not go from 0 to the %lld quadrants of the file",
                                  (long long) N);
    }
    else if (q > 0 && mesh->first_quadrant[q] - mesh->first_quadrant[q - 1] > P4EST_LOCIDX_MAX) {
      scda_forest_error_internal (&e, SCDA_ERR_RANGE, "rank %d would get more quadrants than p4est can have on a rank", q - 1);
    }
  }
  if (e.err == SCDA_SUCCESS) { mesh->n = (size_t) (mesh->first_quadrant[rank + 1] - mesh->first_quadrant[rank]); }
  return scda_forest_agree_internal (f, comm, &e, err);
}

/* Reads the quadrants of this rank, in pieces, each checked before more memory is asked for. */
static inline scda_fcontext_t *SCDA_P4 (read_quadrants_internal) (scda_fcontext_t *f, const char *group, MPI_Comm comm,
                                                                  int64_t record, SCDA_P4 (read_internal_t) *mesh, int *err) {
  const size_t piece = (size_t) 1 << 20, words = SCDA_P4_DIM + 1;
  const uint64_t shape[2] = { mesh->quadrants, SCDA_P4_DIM };
  scda_forest_name_internal_t coordinates_name, level_name;
  scda_forest_error_internal_t e;
  int32_t *coordinates = NULL;
  uint8_t *levels = NULL;
  size_t done, room = 0, k, most = 0;
  int size = 0, rank = 0, q, a;
  int64_t first;
  uint64_t sum = 0;
  scda_dataset_t d;
  scda_forest_no_error_internal (&e);
  scda_forest_name_internal (&coordinates_name, group, "", "coordinates", "", &e);
  scda_forest_name_internal (&level_name, group, "", "level", "", &e);
  MPI_Comm_size (comm, &size);
  MPI_Comm_rank (comm, &rank);
  for (q = 0; q < size; ++q) {
    const size_t n = (size_t) (mesh->first_quadrant[q + 1] - mesh->first_quadrant[q]);
    most = n > most ? n : most;
  }
  first = mesh->first_quadrant[rank];
  /* One quadrant more, before the first one. */
  k = 1 + (most < piece ? most : piece);
  coordinates = (int32_t *) scda_forest_room_internal (k, SCDA_P4_DIM * sizeof (int32_t), &e);
  levels = (uint8_t *) scda_forest_room_internal (k, 1, &e);
  f = scda_forest_agree_internal (f, comm, &e, err);
  for (done = 0; f != NULL && done < most; done += piece) {
    const size_t begin = done < mesh->n ? done : mesh->n, now = mesh->n - begin < piece ? mesh->n - begin : piece;
    const int64_t from = first + (int64_t) begin;
    const size_t before = now > 0 && from > 0;
    if (begin + now > room || room == 0) {
      p4est_qcoord_t *larger = NULL;
      room = mesh->n < 2 * (begin + now) ? mesh->n : 2 * (begin + now);
      larger = (p4est_qcoord_t *) scda_forest_room_internal (room, words * sizeof (p4est_qcoord_t), &e);
      if (larger != NULL) {
        if (mesh->inflated != NULL) { memcpy (larger, mesh->inflated, begin * words * sizeof *larger); }
        free (mesh->inflated);
        mesh->inflated = larger;
      }
    }
    f = scda_forest_agree_internal (f, comm, &e, err);
    if (f != NULL) { f = scda_forest_open_internal (f, coordinates_name.text, record, SCDA_TYPE_INT32, 2, shape, &d, err); }
    if (f != NULL) { f = scda_forest_rows_internal (f, &d, (uint64_t) from - before, now + before, coordinates, err); }
    if (f != NULL) { f = scda_forest_open_internal (f, level_name.text, record, SCDA_TYPE_UINT8, 1, shape, &d, err); }
    if (f != NULL) { f = scda_forest_rows_internal (f, &d, (uint64_t) from - before, now + before, levels, err); }
    if (f == NULL) { break; }
    SCDA_P4 (check_quadrants_internal) (scda_forest_group_internal (group), mesh->tree_offsets, mesh->trees, from, now,
                                        coordinates + SCDA_P4_DIM * before, levels + before, coordinates, before ? levels[0] : 0, &e);
    for (k = 0; e.err == SCDA_SUCCESS && k < now; ++k) {
      p4est_qcoord_t *inflated = mesh->inflated + words * (begin + k);
      for (a = 0; a < SCDA_P4_DIM; ++a) { inflated[a] = coordinates[SCDA_P4_DIM * (before + k) + (size_t) a] >> SCDA_P4_SHIFT; }
      inflated[SCDA_P4_DIM] = levels[before + k];
    }
    if (e.err == SCDA_SUCCESS && now > 0) {
      const uint64_t tree = SCDA_P4 (tree_internal) (mesh->tree_offsets, mesh->trees, from);
      sum += scda_forest_sum_internal (mesh->tree_offsets, tree, (uint64_t) from, now, levels + before);
    }
    f = scda_forest_agree_internal (f, comm, &e, err);
  }
  if (f != NULL) { MPI_Allreduce (&sum, &mesh->checksum, 1, MPI_UINT64_T, MPI_SUM, comm); }
  free (coordinates);
  free (levels);
  return f;
}

static inline scda_fcontext_t *SCDA_P4 (read_mesh_internal) (scda_fcontext_t *f, const char *group, MPI_Comm comm,
                                                             const scda_forest_step_internal_t *range,
                                                             const p4est_gloidx_t *first_quadrant,
                                                             SCDA_P4 (read_internal_t) *mesh, int *err) {
  const uint64_t any[2] = { UINT64_MAX, SCDA_P4_DIM };
  scda_forest_step_internal_t before_end;
  SCDA_P4 (trees_internal_t) trees;
  scda_forest_name_internal_t name;
  scda_forest_error_internal_t e;
  scda_dataset_t d;
  char found_checksum[scda_forest_checksum_bytes_internal], expected_checksum[scda_forest_checksum_bytes_internal];
  uint64_t section = 0;
  int64_t record = -1;
  int found = 0, has_checksum = 0;
  void *all = NULL;
  scda_forest_no_error_internal (&e);
  if (!scda_forest_name_internal (&name, group, "", "coordinates", "", &e) ||
      !scda_forest_name_internal (&trees.name, group, "", "tree_offsets", "", &e)) {
    return scda_forest_fail_internal (f, &e, err);
  }
  before_end.begin = 0;
  before_end.end = range->end;
  f = scda_forest_last_internal (f, name.text, &before_end, &found, &record, &section, err);
  if (f == NULL) { return NULL; }
  if (!found) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "there is no dataset %s up to the end of the step", name.text);
    return scda_forest_fail_internal (f, &e, err);
  }
  f = scda_forest_open_internal (f, name.text, record, SCDA_TYPE_INT32, 2, any, &d, err);
  if (f == NULL) { return NULL; }
  mesh->quadrants = trees.quadrants = d.shape[0];
  has_checksum = scda_forest_mesh_of_internal (d.attributes, found_checksum);
  f = scda_forest_open_internal (f, trees.name.text, record, SCDA_TYPE_INT64, 1, any, &d, err);
  if (f == NULL) { return NULL; }
  if (d.shape[0] < 2 || mesh->quadrants == 0 || mesh->quadrants > INT64_MAX) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s has %llu numbers, for %llu quadrants", trees.name.text,
                                (unsigned long long) d.shape[0], (unsigned long long) mesh->quadrants);
  }
  else if (d.shape[0] - 1 > SCDA_P4_MOST_TREES) {
    scda_forest_error_internal (&e, SCDA_ERR_RANGE, "dataset %s is of %llu trees; p4est can have up to %llu", trees.name.text,
                                (unsigned long long) d.shape[0] - 1, (unsigned long long) SCDA_P4_MOST_TREES);
  }
  if (e.err != SCDA_SUCCESS) { return scda_forest_fail_internal (f, &e, err); }
  mesh->trees = trees.trees = d.shape[0] - 1;
  f = scda_forest_all_internal (f, comm, &d, SCDA_P4 (check_trees_internal), &trees, &all, err);
  mesh->tree_offsets = (int64_t *) all;
  if (f != NULL) { f = SCDA_P4 (read_partition_internal) (f, comm, first_quadrant, mesh, err); }
  if (f != NULL) { f = SCDA_P4 (read_quadrants_internal) (f, group, comm, record, mesh, err); }
  if (f == NULL) { return NULL; }
  scda_forest_checksum_text_internal (mesh->checksum, expected_checksum);
  if (has_checksum && strcmp (found_checksum, expected_checksum) != 0) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s has the checksum %s of a mesh; its mesh has %s", name.text, found_checksum,
                                expected_checksum);
    return scda_forest_fail_internal (f, &e, err);
  }
  return f;
}

/* ---- Reading: the connectivity ---- */

/* The bounds of the numbers of an array. */
typedef struct {
  const char *name;
  int64_t least, most;
  int bytes;    /* of a number: 1 or 4 */
  int columns;  /* numbers in a row */
} SCDA_P4 (bounds_internal_t);

static inline int SCDA_P4 (check_bounds_internal) (void *context, const void *all, uint64_t first, uint64_t rows,
                                                   scda_forest_error_internal_t *e) {
  const SCDA_P4 (bounds_internal_t) *b = (const SCDA_P4 (bounds_internal_t) *) context;
  uint64_t i;
  for (i = first * (uint64_t) b->columns; i < (first + rows) * (uint64_t) b->columns; ++i) {
    const int64_t number = b->bytes == 1 ? ((const int8_t *) all)[i] : ((const int32_t *) all)[i];
    if (number < b->least || number > b->most) {
      return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "dataset %s: row %llu has %lld; expected %lld to %lld", b->name,
                                         (unsigned long long) (i / (uint64_t) b->columns), (long long) number,
                                         (long long) b->least, (long long) b->most);
    }
  }
  return 1;
}

/* The datasets of a connectivity that is being read. */
typedef struct {
  const char *group;
  MPI_Comm comm;
  scda_forest_step_internal_t range; /* of its sections */
} SCDA_P4 (joins_internal_t);

/* Reads a dataset of the connectivity for all ranks, if it is there: `*data` is NULL if not. `rows` may be UINT64_MAX on entry. With no
 * bounds (least > most) the numbers are not compared. */
static inline scda_fcontext_t *SCDA_P4 (read_part_internal) (scda_fcontext_t *f, const SCDA_P4 (joins_internal_t) *joins,
                                                             const char *part, int type, uint64_t *rows, int columns,
                                                             uint64_t most_rows, int64_t least, int64_t most, void **data,
                                                             size_t *item_bytes, int *err) {
  SCDA_P4 (bounds_internal_t) bounds;
  scda_forest_name_internal_t name;
  scda_forest_error_internal_t e;
  uint64_t shape[2], section = 0;
  int64_t record = -1;
  int found = 0;
  scda_dataset_t d;
  *data = NULL;
  scda_forest_no_error_internal (&e);
  if (!scda_forest_name_internal (&name, joins->group, "", part, "", &e)) { return scda_forest_fail_internal (f, &e, err); }
  f = scda_forest_last_internal (f, name.text, &joins->range, &found, &record, &section, err);
  if (f == NULL || !found) { return f; }
  shape[0] = *rows;
  shape[1] = (uint64_t) columns;
  f = scda_forest_open_internal (f, name.text, record, type, columns == 0 ? 1 : 2, shape, &d, err);
  if (f == NULL) { return NULL; }
  if (d.shape[0] > most_rows) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s has %llu rows; expected at most %llu", name.text,
                                (unsigned long long) d.shape[0], (unsigned long long) most_rows);
  }
  else if (d.shape[0] > (uint64_t) P4EST_TOPIDX_MAX / (columns == 0 ? 1 : (uint64_t) columns)) {
    scda_forest_error_internal (&e, SCDA_ERR_RANGE, "dataset %s has %llu rows, more numbers than p4est can have", name.text,
                                (unsigned long long) d.shape[0]);
  }
  else if (type == SCDA_TYPE_RAW && d.shape[0] * d.item_bytes > SCDA_P4_MOST_ATTRIBUTES) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s has %llu bytes; expected at most %llu", name.text,
                                (unsigned long long) (d.shape[0] * d.item_bytes), (unsigned long long) SCDA_P4_MOST_ATTRIBUTES);
  }
  if (e.err != SCDA_SUCCESS) { return scda_forest_fail_internal (f, &e, err); }
  *rows = d.shape[0];
  if (item_bytes != NULL) { *item_bytes = (size_t) d.item_bytes; }
  bounds.name = name.text;
  bounds.least = least;
  bounds.most = most;
  bounds.bytes = type == SCDA_TYPE_INT8 ? 1 : 4;
  bounds.columns = columns == 0 ? 1 : columns;
  f = scda_forest_all_internal (f, joins->comm, &d, least <= most ? SCDA_P4 (check_bounds_internal) : NULL, &bounds, data, err);
  if (f != NULL && *data == NULL) { /* no rows; the pointer says that the dataset is there */
    *data = scda_forest_room_internal (0, 1, &e);
    f = scda_forest_agree_internal (f, joins->comm, &e, err);
  }
  return f;
}

/* The edges or the corners of a connectivity. */
typedef struct {
  const char *what; /* "edge", "corner" */
  int each;         /* of a tree */
  int codes;        /* the numbers that stand for one of a tree, with its direction: 24, 4 or 8 */
  uint64_t count, entries;
  void *tree_to, *offsets, *to_tree, *to_code;
} SCDA_P4 (shared_internal_t);

/* Whether each edge (corner) with a number stands under this number, at most once in each direction, and nothing else. */
static inline int SCDA_P4 (check_shared_internal) (const char *group, uint64_t trees, const SCDA_P4 (shared_internal_t) *s,
                                                   char *seen, scda_forest_error_internal_t *e) {
  const int32_t *tree_to = (const int32_t *) s->tree_to, *offsets = (const int32_t *) s->offsets;
  const int32_t *to_tree = (const int32_t *) s->to_tree;
  const int8_t *to_code = (const int8_t *) s->to_code;
  uint64_t c, i;
  memset (seen, 0, (size_t) trees * (size_t) s->each);
  if (offsets[0] != 0 || (uint64_t) offsets[s->count] != s->entries) {
    return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "dataset %s/%s_offsets does not go from 0 to the %llu entries", group,
                                       s->what, (unsigned long long) s->entries);
  }
  for (c = 0; c < s->count; ++c) {
    if (offsets[c + 1] < offsets[c]) {
      return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "dataset %s/%s_offsets decreases after number %llu", group, s->what,
                                         (unsigned long long) c);
    }
  }
  for (c = 0; c < s->count; ++c) {
    for (i = (uint64_t) offsets[c]; i < (uint64_t) offsets[c + 1]; ++i) {
      const size_t at = (size_t) to_tree[i] * (size_t) s->each + (size_t) (to_code[i] % s->each);
      const char direction = (char) (1 << to_code[i] / s->each);
      if (tree_to[at] != (int32_t) c || (seen[at] & direction)) {
        return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "dataset %s/%s_to_tree: entry %llu, of %s %llu, is not that of the tree",
                                           group, s->what, (unsigned long long) i, s->what, (unsigned long long) c);
      }
      seen[at] |= direction;
    }
  }
  for (i = 0; i < trees * (uint64_t) s->each; ++i) {
    if (tree_to[i] >= 0 && !seen[i]) {
      return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "dataset %s/tree_to_%s: %s %llu of tree %llu has number %ld, without an entry",
                                         group, s->what, s->what, (unsigned long long) (i % (uint64_t) s->each),
                                         (unsigned long long) (i / (uint64_t) s->each), (long) tree_to[i]);
    }
  }
  return 1;
}

/* Reads the edges or corners, if they are there. */
static inline scda_fcontext_t *SCDA_P4 (read_shared_internal) (scda_fcontext_t *f, const SCDA_P4 (joins_internal_t) *joins,
                                                               uint64_t trees, SCDA_P4 (shared_internal_t) *s, int *err) {
  const uint64_t most = trees * (uint64_t) s->each; /* at most P4EST_TOPIDX_MAX */
  const uint64_t most_entries = trees * (uint64_t) s->codes < INT32_MAX ? trees * (uint64_t) s->codes : INT32_MAX;
  scda_forest_error_internal_t e;
  uint64_t rows = trees;
  char tree_to[32], offsets[32], to_tree[32], to_code[32], *seen = NULL;
  scda_forest_no_error_internal (&e);
  snprintf (tree_to, sizeof tree_to, "tree_to_%s", s->what);
  snprintf (offsets, sizeof offsets, "%s_offsets", s->what);
  snprintf (to_tree, sizeof to_tree, "%s_to_tree", s->what);
  snprintf (to_code, sizeof to_code, "%s_to_%s", s->what, s->what);
  f = SCDA_P4 (read_part_internal) (f, joins, tree_to, SCDA_TYPE_INT32, &rows, s->each, trees, -1, (int64_t) most - 1, &s->tree_to, NULL,
                                    err);
  if (f == NULL || s->tree_to == NULL) { return f; }
  rows = UINT64_MAX;
  f = SCDA_P4 (read_part_internal) (f, joins, offsets, SCDA_TYPE_INT32, &rows, 0, most + 1, 0, (int64_t) most_entries, &s->offsets, NULL, err);
  if (f != NULL && s->offsets != NULL && rows > 0) {
    s->count = rows - 1;
    s->entries = UINT64_MAX;
    f = SCDA_P4 (read_part_internal) (f, joins, to_tree, SCDA_TYPE_INT32, &s->entries, 0, most_entries, 0, (int64_t) trees - 1, &s->to_tree, NULL,
                                      err);
  }
  if (f != NULL && s->to_tree != NULL) {
    rows = s->entries;
    f = SCDA_P4 (read_part_internal) (f, joins, to_code, SCDA_TYPE_INT8, &rows, 0, most_entries, 0, s->codes - 1, &s->to_code, NULL, err);
  }
  if (f == NULL) { return NULL; }
  if (s->to_code == NULL || s->count == 0) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "there are not all of the datasets of %ss in %.58s", s->what,
                                scda_forest_group_internal (joins->group));
    return scda_forest_fail_internal (f, &e, err);
  }
  {
    const int32_t *numbers = (const int32_t *) s->tree_to;
    uint64_t i;
    for (i = 0; i < trees * (uint64_t) s->each; ++i) {
      if (numbers[i] >= 0 && (uint64_t) numbers[i] >= s->count) {
        scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %.58s/%s: row %llu has %d, but there are %llu %ss",
                                    scda_forest_group_internal (joins->group), tree_to, (unsigned long long) (i / (uint64_t) s->each),
                                    (int) numbers[i], (unsigned long long) s->count, s->what);
        return scda_forest_fail_internal (f, &e, err);
      }
    }
  }
  seen = (char *) scda_forest_room_internal (trees, (uint64_t) s->each, &e);
  if (seen != NULL) { SCDA_P4 (check_shared_internal) (scda_forest_group_internal (joins->group), trees, s, seen, &e); }
  free (seen);
  return scda_forest_agree_internal (f, joins->comm, &e, err);
}

/* Whether the faces are joined in pairs. */
static inline int SCDA_P4 (check_faces_internal) (const char *group, uint64_t trees, const int32_t *tree_to_tree,
                                                  const int8_t *tree_to_face, scda_forest_error_internal_t *e) {
  uint64_t i;
  for (i = 0; i < trees * SCDA_P4_FACES; ++i) {
    const uint64_t tree = i / SCDA_P4_FACES, face = i % SCDA_P4_FACES;
    const int orientation = tree_to_face[i] / SCDA_P4_FACES;
    const uint64_t back = (uint64_t) tree_to_tree[i] * SCDA_P4_FACES + (uint64_t) (tree_to_face[i] % SCDA_P4_FACES);
    if ((uint64_t) tree_to_tree[back] != tree || tree_to_face[back] != (int) face + SCDA_P4_FACES * orientation ||
        (back == i && orientation != 0)) {
      return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "dataset %s/tree_to_tree: face %d of tree %llu leads to tree %d, which does not lead back",
                                         group, (int) face, (unsigned long long) tree, (int) tree_to_tree[i]);
    }
  }
  return 1;
}

static inline scda_fcontext_t *SCDA_P4 (read_connectivity_internal) (scda_fcontext_t *f, const char *group, MPI_Comm comm,
                                                                     const scda_forest_step_internal_t *range, uint64_t trees,
                                                                     SCDA_P4EST (connectivity_t) * *connectivity, int *err) {
  SCDA_P4EST (connectivity_t) *c = NULL;
  SCDA_P4 (joins_internal_t) joins;
  SCDA_P4 (shared_internal_t) corners;
#if SCDA_P4_DIM == 3
  SCDA_P4 (shared_internal_t) edges;
#endif
  scda_forest_name_internal_t name;
  scda_forest_error_internal_t e;
  scda_forest_step_internal_t before_end;
  uint64_t rows = trees, vertices = UINT64_MAX, section = 0;
  int64_t record = -1;
  int found = 0;
  size_t attribute_bytes = 0;
  void *tree_to_tree = NULL, *tree_to_face = NULL, *points = NULL, *tree_to_vertex = NULL, *attributes = NULL;
  scda_forest_no_error_internal (&e);
  memset (&corners, 0, sizeof corners);
  corners.what = "corner";
  corners.each = corners.codes = SCDA_P4_CHILDREN;
#if SCDA_P4_DIM == 3
  memset (&edges, 0, sizeof edges);
  edges.what = "edge";
  edges.each = 12;
  edges.codes = 24;
#endif
  if (!scda_forest_name_internal (&name, group, "", "tree_to_tree", "", &e)) { return scda_forest_fail_internal (f, &e, err); }
  /* The sections of the connectivity: from its tree_to_tree to the next one. */
  joins.group = group;
  joins.comm = comm;
  joins.range.end = UINT64_MAX;
  before_end.begin = 0;
  before_end.end = range->end;
  f = scda_forest_last_internal (f, name.text, &before_end, &found, &record, &joins.range.begin, err);
  if (f == NULL) { return NULL; }
  if (!found) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "there is no dataset %s up to the end of the step", name.text);
    return scda_forest_fail_internal (f, &e, err);
  }
  if (record >= 0) {
    f = scda_forest_section_internal (f, name.text, record + 1, &found, &section, err);
    if (found) { joins.range.end = section; }
  }

  if (f != NULL) {
    f = SCDA_P4 (read_part_internal) (f, &joins, "tree_to_tree", SCDA_TYPE_INT32, &rows, SCDA_P4_FACES, trees, 0, (int64_t) trees - 1,
                                      &tree_to_tree, NULL, err);
  }
  if (f != NULL) {
    f = SCDA_P4 (read_part_internal) (f, &joins, "tree_to_face", SCDA_TYPE_INT8, &rows, SCDA_P4_FACES, trees, 0,
                                      SCDA_P4_FACES * (SCDA_P4_CHILDREN / 2) - 1, &tree_to_face, NULL, err);
  }
  if (f != NULL) {
    f = SCDA_P4 (read_part_internal) (f, &joins, "vertices", SCDA_TYPE_FLOAT64, &vertices, 3, SCDA_P4_MOST_VERTICES (trees), 0, -1, &points, NULL, err);
  }
  if (f != NULL && points != NULL) {
    f = SCDA_P4 (read_part_internal) (f, &joins, "tree_to_vertex", SCDA_TYPE_INT32, &rows, SCDA_P4_CHILDREN, trees, 0,
                                      (int64_t) vertices - 1, &tree_to_vertex, NULL, err);
  }
#if SCDA_P4_DIM == 3
  if (f != NULL) { f = SCDA_P4 (read_shared_internal) (f, &joins, trees, &edges, err); }
#endif
  if (f != NULL) { f = SCDA_P4 (read_shared_internal) (f, &joins, trees, &corners, err); }
  if (f != NULL) {
    f = SCDA_P4 (read_part_internal) (f, &joins, "tree_attributes", SCDA_TYPE_RAW, &rows, 0, trees, 0, -1, &attributes,
                                      &attribute_bytes, err);
  }
  if (f != NULL) {
    /* The same on all ranks. */
    if (tree_to_face == NULL || (points != NULL && (tree_to_vertex == NULL || vertices == 0))) {
      scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "there is no dataset %.58s/%s after tree_to_tree",
                                  scda_forest_group_internal (group), tree_to_face == NULL ? "tree_to_face" : "tree_to_vertex");
    }
    else {
      SCDA_P4 (check_faces_internal) (scda_forest_group_internal (group), trees, (const int32_t *) tree_to_tree,
                                      (const int8_t *) tree_to_face, &e);
    }
    if (e.err != SCDA_SUCCESS) { f = scda_forest_fail_internal (f, &e, err); }
  }
  if (f != NULL) {
    const p4est_topidx_t num_vertices = points == NULL ? 0 : (p4est_topidx_t) vertices, num_trees = (p4est_topidx_t) trees;
    const p4est_topidx_t num_corners = (p4est_topidx_t) corners.count, num_ctt = (p4est_topidx_t) corners.entries;
#if SCDA_P4_DIM == 3
    c = p8est_connectivity_new (num_vertices, num_trees, (p4est_topidx_t) edges.count, (p4est_topidx_t) edges.entries, num_corners,
                                num_ctt);
    if (edges.count > 0) {
      memcpy (c->tree_to_edge, edges.tree_to, trees * 12 * sizeof (int32_t));
      memcpy (c->ett_offset, edges.offsets, (edges.count + 1) * sizeof (int32_t));
      memcpy (c->edge_to_tree, edges.to_tree, edges.entries * sizeof (int32_t));
      memcpy (c->edge_to_edge, edges.to_code, edges.entries);
    }
#else
    c = p4est_connectivity_new (num_vertices, num_trees, num_corners, num_ctt);
#endif
    memcpy (c->tree_to_tree, tree_to_tree, trees * SCDA_P4_FACES * sizeof (int32_t));
    memcpy (c->tree_to_face, tree_to_face, trees * SCDA_P4_FACES);
    if (num_vertices > 0) {
      memcpy (c->vertices, points, vertices * 3 * sizeof (double));
      memcpy (c->tree_to_vertex, tree_to_vertex, trees * SCDA_P4_CHILDREN * sizeof (int32_t));
    }
    if (corners.count > 0) {
      memcpy (c->tree_to_corner, corners.tree_to, trees * SCDA_P4_CHILDREN * sizeof (int32_t));
      memcpy (c->ctt_offset, corners.offsets, (corners.count + 1) * sizeof (int32_t));
      memcpy (c->corner_to_tree, corners.to_tree, corners.entries * sizeof (int32_t));
      memcpy (c->corner_to_corner, corners.to_code, corners.entries);
    }
    if (attributes != NULL) {
      SCDA_P4EST (connectivity_set_attr) (c, attribute_bytes);
      memcpy (c->tree_to_attr, attributes, trees * attribute_bytes);
    }
#ifdef P4EST_ENABLE_DEBUG
    /* p4est's own assertion, which would abort; its time grows with the square of the number of trees. What it compares was compared above. */
    if (!SCDA_P4EST (connectivity_is_valid) (c)) {
      scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "p4est finds the connectivity of %.58s invalid", scda_forest_group_internal (group));
      f = scda_forest_fail_internal (f, &e, err);
      SCDA_P4EST (connectivity_destroy) (c);
      c = NULL;
    }
#endif
  }
  free (tree_to_tree);
  free (tree_to_face);
  free (points);
  free (tree_to_vertex);
  free (attributes);
#if SCDA_P4_DIM == 3
  free (edges.tree_to);
  free (edges.offsets);
  free (edges.to_tree);
  free (edges.to_code);
#endif
  free (corners.tree_to);
  free (corners.offsets);
  free (corners.to_tree);
  free (corners.to_code);
  *connectivity = c;
  return f;
}

/* ---- Reading: fields ---- */

static inline scda_fcontext_t *SCDA_P4 (find_field) (scda_fcontext_t *f, const char *group, int64_t step, const char *name,
                                                     int *found, scda_dataset_t *d, int *err) {
  return scda_forest_find_internal (f, group, step, "fields/", name, "", found, d, err);
}

static inline scda_fcontext_t *SCDA_P4 (read_field) (scda_fcontext_t *f, const char *group, int64_t step, const SCDA_P4EST_T *p4est,
                                                     const char *name, int type, uint64_t components, void *data, int *err) {
  scda_forest_part_internal_t part;
  f = SCDA_P4 (part_internal) (f, group, p4est, &part, err);
  return f == NULL ? NULL : scda_forest_read_values_internal (f, group, step, &part, name, type, components, data, err);
}

static inline scda_fcontext_t *SCDA_P4 (read_counts) (scda_fcontext_t *f, const char *group, int64_t step, const SCDA_P4EST_T *p4est,
                                                      const char *name, int64_t *counts, int *err) {
  scda_forest_part_internal_t part;
  f = SCDA_P4 (part_internal) (f, group, p4est, &part, err);
  return f == NULL ? NULL : scda_forest_read_counts_internal (f, group, step, &part, name, counts, err);
}

static inline scda_fcontext_t *SCDA_P4 (read_ragged) (scda_fcontext_t *f, const char *group, int64_t step, const SCDA_P4EST_T *p4est,
                                                      const char *name, int type, uint64_t components, const int64_t *counts,
                                                      void *data, int *err) {
  scda_forest_part_internal_t part;
  f = SCDA_P4 (part_internal) (f, group, p4est, &part, err);
  return f == NULL ? NULL : scda_forest_read_ragged_internal (f, group, step, &part, name, type, components, counts, data, err);
}

/* ---- Reading: the forest ---- */

static inline scda_fcontext_t *SCDA_P4 (read_data_internal) (scda_fcontext_t *f, const char *group, int64_t step, MPI_Comm comm,
                                                             const SCDA_P4 (read_internal_t) *mesh, size_t data_size, char **bytes,
                                                             int *err) {
  const uint16_t one = 1;
  const char *const other = *(const unsigned char *) &one == 1 ? "\"byte_order\":\"big\"" : "\"byte_order\":\"little\"";
  char found[scda_forest_checksum_bytes_internal], expected[scda_forest_checksum_bytes_internal];
  scda_forest_error_internal_t e;
  scda_dataset_t d;
  int rank = 0;
  scda_forest_no_error_internal (&e);
  MPI_Comm_rank (comm, &rank);
  f = scda_forest_expect_internal (f, group, step, "", "data", "", SCDA_TYPE_RAW, data_size, mesh->quadrants, 1, &d, err);
  if (f == NULL) { return NULL; }
  scda_forest_checksum_text_internal (mesh->checksum, expected);
  if (scda_forest_mesh_of_internal (d.attributes, found) && strcmp (found, expected) != 0) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s is of a mesh with checksum %s, that of the step has %s", d.name, found, expected);
    return scda_forest_fail_internal (f, &e, err);
  }
  if (strstr (d.attributes, other) != NULL) {
    scda_forest_error_internal (&e, SCDA_ERR_UNSUPPORTED, "dataset %s is of a machine with the other byte order", d.name);
  }
  *bytes = (char *) scda_forest_room_internal (mesh->n, data_size, &e);
  f = scda_forest_agree_internal (f, comm, &e, err);
  if (f == NULL) { return NULL; }
  return scda_forest_rows_internal (f, &d, (uint64_t) mesh->first_quadrant[rank], mesh->n, *bytes, err);
}

static inline scda_fcontext_t *SCDA_P4 (read_forest) (scda_fcontext_t *f, const char *group, int64_t step, MPI_Comm comm,
                                                      size_t data_size, int load_data, const p4est_gloidx_t *first_quadrant,
                                                      SCDA_P4EST (weight_t) weight_fn, void *user_pointer,
                                                      SCDA_P4EST (connectivity_t) * *connectivity, SCDA_P4EST_T **p4est, int *err) {
  scda_forest_error_internal_t e;
  scda_forest_step_internal_t range;
  SCDA_P4 (read_internal_t) mesh;
  SCDA_P4EST (connectivity_t) *c = NULL;
  sc_array_t quadrants, data;
  char *bytes = NULL;
  long dimension = -1;
  scda_forest_no_error_internal (&e);
  memset (&mesh, 0, sizeof mesh);
  *p4est = NULL;
  *connectivity = NULL;
  f = scda_forest_kind_internal (f, scda_forest_group_internal (group), "scda_forest", 1, &dimension, err);
  if (f == NULL) { return NULL; }
  if (dimension != SCDA_P4_DIM) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "the forest %.58s has %ld dimensions; expected %d", scda_forest_group_internal (group),
                                dimension, SCDA_P4_DIM);
    return scda_forest_fail_internal (f, &e, err);
  }

  f = scda_forest_step_internal (f, group, step, &range, err);
  if (f != NULL) { f = SCDA_P4 (read_mesh_internal) (f, group, comm, &range, first_quadrant, &mesh, err); }
  if (f != NULL) { f = SCDA_P4 (read_connectivity_internal) (f, group, comm, &range, mesh.trees, &c, err); }
  if (f != NULL && load_data && data_size > 0) {
    f = SCDA_P4 (read_data_internal) (f, group, step, comm, &mesh, data_size, &bytes, err);
  }
  if (f != NULL) {
    p4est_gloidx_t *const tree_offsets = (p4est_gloidx_t *) mesh.tree_offsets;
    sc_array_init_data (&quadrants, mesh.inflated, sizeof (p4est_qcoord_t), (SCDA_P4_DIM + 1) * mesh.n);
    if (bytes != NULL) { sc_array_init_data (&data, bytes, data_size, mesh.n); }
    *p4est = SCDA_P4EST (inflate) (comm, c, mesh.first_quadrant, tree_offsets, &quadrants, bytes != NULL ? &data : NULL, user_pointer);
    if (bytes == NULL && data_size > 0) { SCDA_P4EST (reset_data) (*p4est, data_size, NULL, user_pointer); }
    if (weight_fn != NULL) { SCDA_P4EST (partition_ext) (*p4est, 0, weight_fn); }
    *connectivity = c;
  }
  else if (c != NULL) { SCDA_P4EST (connectivity_destroy) (c); }
  free (bytes);
  SCDA_P4 (read_free_internal) (&mesh);
  return f;
}

/* ---- Saving and loading ---- */

/* Begins to close the file, if there is to be a request, or else closes it. */
static inline int SCDA_P4 (save_internal) (const char *filename, SCDA_P4EST_T *p4est, int save_data, int save_partition,
                                           const scda_params_t *params, uint64_t background_bytes, scda_request_t *request) {
  const uint64_t bounds = (uint64_t) p4est->mpisize + 1;
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
  f = SCDA_P4 (write_forest) (f, NULL, p4est, save_data, &err);
  if (save_partition) {
    scda_forest_parts_internal_t parts;
    scda_forest_no_parts_internal (&parts, NULL);
    scda_forest_add_part_internal (&parts, "partition", SCDA_TYPE_INT64, bounds, 0, "rank_boundary", NULL,
                                   "{\"long_name\": \"number of the first quadrant of each rank that wrote the file\"}", 0,
                                   p4est->mpirank == 0 ? bounds : 0, p4est->global_first_quadrant);
    f = scda_forest_write_parts_internal (f, &parts, &err);
  }
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

typedef struct {
  scda_forest_name_internal_t name;
  uint64_t ranks, quadrants;
} SCDA_P4 (partition_internal_t);

static inline int SCDA_P4 (check_partition_internal) (void *context, const void *all, uint64_t first, uint64_t rows,
                                                      scda_forest_error_internal_t *e) {
  const SCDA_P4 (partition_internal_t) *c = (const SCDA_P4 (partition_internal_t) *) context;
  const int64_t *offsets = (const int64_t *) all;
  uint64_t q;
  for (q = first; q < first + rows; ++q) {
    const int64_t end = (int64_t) c->quadrants;
    const int64_t least = q == 0 ? 0 : q == c->ranks ? end : offsets[q - 1], most = q == 0 ? 0 : end;
    if (offsets[q] < least || offsets[q] > most) {
      return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "dataset %s: number %llu is %lld; expected %lld to %lld", c->name.text,
                                         (unsigned long long) q, (long long) offsets[q], (long long) least, (long long) most);
    }
  }
  return 1;
}

/* The partition of the last mesh, which must be one of as many ranks: *first, to be freed by the caller also after an error. It stays
 * NULL for one rank. */
static inline scda_fcontext_t *SCDA_P4 (saved_partition_internal) (scda_fcontext_t *f, MPI_Comm comm, void **first, int *err) {
  const uint64_t any[2] = { UINT64_MAX, SCDA_P4_DIM };
  scda_forest_step_internal_t after_mesh = { 0, UINT64_MAX };
  scda_forest_name_internal_t mesh;
  SCDA_P4 (partition_internal_t) partition;
  scda_forest_error_internal_t e;
  scda_dataset_t d;
  uint64_t section = 0;
  int64_t record = -1;
  int found = 0, size = 0;
  *first = NULL;
  scda_forest_no_error_internal (&e);
  MPI_Comm_size (comm, &size);
  if (size == 1) { return f; }
  partition.ranks = (uint64_t) size;
  scda_forest_name_internal (&mesh, NULL, "", "coordinates", "", &e);
  scda_forest_name_internal (&partition.name, NULL, "", "partition", "", &e);
  f = scda_forest_section_internal (f, mesh.text, -1, &found, &after_mesh.begin, err);
  if (f == NULL || !found) { return f; } /* reading the forest says what is wrong */
  f = scda_forest_last_internal (f, partition.name.text, &after_mesh, &found, &record, &section, err);
  if (f == NULL) { return NULL; }
  if (!found) {
    scda_forest_error_internal (&e, SCDA_ERR_ARG, "autopartition is 0, but the file does not have the partition of %d ranks: pass 1", size);
    return scda_forest_fail_internal (f, &e, err);
  }
  f = scda_forest_open_internal (f, mesh.text, -1, SCDA_TYPE_INT32, 2, any, &d, err);
  if (f == NULL) { return NULL; }
  partition.quadrants = d.shape[0];
  f = scda_forest_open_internal (f, partition.name.text, record, SCDA_TYPE_INT64, 1, any, &d, err);
  if (f == NULL) { return NULL; }
  if (d.shape[0] != partition.ranks + 1) {
    scda_forest_error_internal (&e, SCDA_ERR_ARG, "autopartition is 0, but dataset %s has %llu numbers, for %d ranks: pass 1",
                                partition.name.text, (unsigned long long) d.shape[0], size);
    return scda_forest_fail_internal (f, &e, err);
  }
  return scda_forest_all_internal (f, comm, &d, SCDA_P4 (check_partition_internal), &partition, first, err);
}

static inline SCDA_P4EST_T *SCDA_P4 (load) (const char *filename, MPI_Comm comm, size_t data_size, int load_data, int autopartition,
                                            void *user_pointer, SCDA_P4EST (connectivity_t) * *connectivity) {
  scda_fcontext_t *f = NULL;
  scda_params_t params;
  SCDA_P4EST_T *p4est = NULL;
  void *first = NULL;
  int err = SCDA_SUCCESS;
  *connectivity = NULL;
  scda_params_init (&params);
  params.verify = 1;
  f = scda_fopen_read (comm, filename, NULL, NULL, &params, &err);
  if (f != NULL && !autopartition) { f = SCDA_P4 (saved_partition_internal) (f, comm, &first, &err); }
  if (f != NULL) {
    f = SCDA_P4 (read_forest) (f, NULL, -1, comm, data_size, load_data, (const p4est_gloidx_t *) first, NULL, user_pointer, connectivity,
                               &p4est, &err);
  }
  free (first);
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
#undef SCDA_P4_MOST_TREES
#undef SCDA_P4_MOST_VERTICES
#undef SCDA_P4_MOST_ATTRIBUTES
#undef SCDA_P4_SAMPLES
