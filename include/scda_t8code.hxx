/* scda_t8code.hxx: forests of t8code in scda files: lines, quadrilaterals, triangles, hexahedra, tetrahedra, prisms, pyramids, and meshes
 * of several of them.
 *
 * To save and load a forest, there are scda_t8code_save and scda_t8code_load. To have more in the file (fields, time steps), open it by
 * scda_fopen_write or scda_fopen_append, and write the pieces:
 *
 *   scda_forest_write_about, scda_t8code_write_group       once, when the file is new; for people, and for a title
 *   scda_t8code_write_step                                 begins a time step, and writes of the forest what the file lacks; or
 *   scda_t8code_write_forest                               the trees and the mesh; or, if the trees have not changed,
 *   scda_t8code_write_mesh                                 the mesh alone
 *   scda_t8code_write_field, scda_t8code_write_ragged      fields, with as many values for each element, or with different numbers
 *
 * To read them, open the file by scda_fopen_read. scda_t8code_read_forest makes the forest on any number of ranks from the cmesh that the
 * program builds, as it did when it started; scda_t8code_read_field, scda_t8code_read_counts and scda_t8code_read_ragged read the values of
 * the local elements. docs/t8code.md says what the file holds; it does not depend on the number of ranks.
 *
 * The functions are inline and call the public functions of t8code, of the p4est that comes with it, and of libscda: link them with the
 * same MPI. They need C++20 and t8code 4.0.0 or later.
 *
 * All functions are collective over the communicator of the file, which has the ranks of that of the forest. Errors are as in scda.h:
 * the same on all ranks; the file is closed, NULL is returned, and scda_last_error_message tells the reason. With NULL for the file they
 * return NULL and do nothing else, but that scda_t8code_read_forest releases what it is given. What is read is compared with
 * the convention and with the cmesh before t8code gets it. On each rank, memory and messages are in proportion to its elements and trees, with
 * 32 bytes for each rank; of the cmesh, a rank has what t8code gives it.
 *
 * `group` is the name of the forest, a group of datasets; NULL: SCDA_FOREST_GROUP. `step` is a time step: 0 is the first in the file;
 * -1 is the last, -2 the one before it. In a file without times it is 0 or -1.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef SCDA_T8CODE_HXX
#define SCDA_T8CODE_HXX

#include <scda_forest.h>

#include <p4est_communication.h>
#include <t8.h>
#include <t8_cmesh/t8_cmesh.h>
#include <t8_forest/t8_forest_general.h>
#include <t8_forest/t8_forest_geometrical.h>
#include <t8_forest/t8_forest_partition.h>
#include <t8_schemes/t8_scheme.hxx>

#include <cmath>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <vector>

#if !T8_ENABLE_MPI
#error "scda_t8code.hxx needs t8code with MPI"
#endif

/**
 * Saves a forest in one sealed scda file that does not depend on the number of ranks. The file appears under its name when it is
 * complete; if the job is killed before, an older file of this name stays as it was.
 *
 * Collective.
 *
 * @param [in] filename  The path of the file.
 * @param [in] forest    The forest, committed. Not changed.
 * @return               0, or an error code of scda.h, the same on all ranks.
 */
inline int scda_t8code_save (const char *filename, t8_forest_t forest);

/**
 * Loads the last time step of the forest `SCDA_FOREST_GROUP`, on any number of ranks. All bytes are compared with their checksums.
 *
 * Collective.
 *
 * @param [in] filename  The path of the file.
 * @param [in] cmesh     As for `scda_t8code_read_forest`.
 * @param [in] scheme    As for `scda_t8code_read_forest`.
 * @param [in] comm      The communicator of the forest.
 * @return               The forest, or NULL on error, which scda_last_error_message describes.
 */
inline t8_forest_t scda_t8code_load (const char *filename, t8_cmesh_t cmesh, const t8_scheme *scheme, MPI_Comm comm);

/**
 * Writes the attributes by which a group is known as a forest, and others. The functions that follow write them without others if this
 * function was not called before.
 *
 * @param [in] f           The file, open for writing.
 * @param [in] group       The name of the forest.
 * @param [in] forest      The forest, of which the dimension is written.
 * @param [in] attributes  More attributes, such as a title: a JSON object in UTF-8, without the keys `scda_forest` and `dimension`.
 *                         NULL: none.
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, and those of `scda_fwrite_group`.
 */
inline scda_fcontext_t *scda_t8code_write_group (scda_fcontext_t *f, const char *group, t8_forest_t forest, const char *attributes, int *err);

/**
 * Writes the trees and the mesh. The trees hold up to the next ones in the file, also for later time steps.
 *
 * @param [in] f       The file, open for writing.
 * @param [in] group   The name of the forest.
 * @param [in] forest  The forest, committed. Elements may have been removed from it, but each tree must have some. Not changed.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG` for a tree without elements, and for trees that are points; `SCDA_ERR_UNSUPPORTED` for elements that
 * docs/t8code.md does not have; `SCDA_ERR_USAGE` for another mesh in a step that has fields; `SCDA_ERR_MEMORY`; and those of
 * `scda_fwrite_dataset`.
 */
inline scda_fcontext_t *scda_t8code_write_forest (scda_fcontext_t *f, const char *group, t8_forest_t forest, int *err);

/**
 * Writes the mesh without its trees: the elements. It holds up to the next one in the file, also for later time steps.
 *
 * Parameters and errors: as for `scda_t8code_write_forest`.
 */
inline scda_fcontext_t *scda_t8code_write_mesh (scda_fcontext_t *f, const char *group, t8_forest_t forest, int *err);

/**
 * Begins a time step of a forest: writes the time, and before or after it what the file does not have yet: the attributes of the group,
 * the trees if they have changed, and the mesh if it has changed. `scda_t8code_write_field` and `scda_t8code_write_ragged` then write what
 * belongs to the step. In a file that was opened by `scda_fopen_append`, the mesh is compared with the last one in the file; the trees are
 * written again.
 *
 * @param [in] f       The file, open for writing.
 * @param [in] group   The name of the forest.
 * @param [in] forest  The forest, committed. Not changed.
 * @param [in] time    The time. That of rank 0 is written.
 * @param [in] units   Its unit, such as `s`, without quotation marks and backslashes. NULL: none.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: those of `scda_t8code_write_forest`.
 */
inline scda_fcontext_t *scda_t8code_write_step (scda_fcontext_t *f, const char *group, t8_forest_t forest, double time, const char *units,
                                                int *err);

/**
 * Writes a field: as many items for each element. The mesh of the forest must be the last one in the file. The field names it.
 *
 * @param [in] f       The file, open for writing.
 * @param [in] group   The name of the forest.
 * @param [in] forest  The forest to whose mesh the field belongs.
 * @param [in] field   Filled by `scda_dataset_init`; then set the name, such as `density`, the type, and what else is needed: attributes
 *                     with units, layout. `ndims` 1 (or 0) is one item for each element; more dimensions have their numbers in
 *                     `shape[1]` and following, such as 3 for a vector. `shape[0]` and `dimension_names[0]` are set by this function.
 *                     Not changed.
 * @param [in] data    The items of the local elements, in the order of t8code; the items of an element follow each other. May be NULL if
 *                     there are none.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_USAGE` if the mesh of the forest is not the last one in the file, and those of
 * `scda_fwrite_dataset`.
 */
inline scda_fcontext_t *scda_t8code_write_field (scda_fcontext_t *f, const char *group, t8_forest_t forest, const scda_dataset_t *field,
                                                 const void *data, int *err);

/**
 * Writes a field with a number of values of its own for each element, such as the coefficients of hp elements.
 *
 * @param [in] f       The file, open for writing.
 * @param [in] group   The name of the forest.
 * @param [in] forest  The forest to whose mesh the field belongs.
 * @param [in] field   As for `scda_t8code_write_field`; `ndims` 1 (or 0) if a value is one item. Its name has at most 58 bytes with the
 *                     name of the group, `/fields/` and `:count`.
 * @param [in] counts  The number of values of each local element. May be NULL if there are none.
 * @param [in] data    The values, those of an element after those of the one before. May be NULL if there are none.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: those of `scda_t8code_write_field`; `SCDA_ERR_RANGE` for counts that are negative or have a sum that is too large.
 */
inline scda_fcontext_t *scda_t8code_write_ragged (scda_fcontext_t *f, const char *group, t8_forest_t forest, const scda_dataset_t *field,
                                                  const int64_t *counts, const void *data, int *err);

/**
 * Reads the mesh of a time step, and makes a forest of it on a cmesh: each rank gets as many elements as the others, or one more.
 *
 * @param [in] f        The file, open for reading.
 * @param [in] group    The name of the forest.
 * @param [in] step     The time step.
 * @param [in] cmesh    The coarse mesh, committed, replicated or partitioned: the one that the forest had. Its trees, how they are joined
 *                      and where their vertices are must be those in the file; vertices may differ by rounding. The forest owns it, as
 *                      after `t8_forest_new_uniform`; on error it is released. To keep it, call `t8_cmesh_ref` before.
 * @param [in] scheme   The scheme that the forest had, such as `t8_scheme_new_default ()`. Owned likewise.
 * @param [in] comm     The communicator of the forest, of the same ranks as that of the file.
 * @param [out] forest  The forest, committed and without ghosts, to be released by the caller. NULL on error. For ghosts, another
 *                      partition or balance, derive a forest from it as from any other.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: `SCDA_ERR_FORMAT` for what is no such forest by docs/t8code.md; `SCDA_ERR_ARG` for a cmesh or a scheme that does not fit, and for a
 * step that is not there; `SCDA_ERR_UNSUPPORTED` for a later version of the convention, and for levels that the scheme does not have;
 * `SCDA_ERR_RANGE` for more elements on a rank than t8code can have; `SCDA_ERR_MEMORY`; those of `scda_ffind_dataset` and
 * `scda_fread_dataset`.
 */
inline scda_fcontext_t *scda_t8code_read_forest (scda_fcontext_t *f, const char *group, int64_t step, t8_cmesh_t cmesh,
                                                 const t8_scheme *scheme, MPI_Comm comm, t8_forest_t *forest, int *err);

/**
 * Finds a field of a time step: `scda_fread_dataset` reads any boxes of it.
 *
 * @param [in] f       The file, open for reading.
 * @param [in] group   The name of the forest.
 * @param [in] step    The time step. Fields of other steps are not found.
 * @param [in] name    The name of the field, such as `density`.
 * @param [out] found  1 if the step has such a field, otherwise 0. Must not be NULL.
 * @param [in,out] d   As for `scda_ffind_dataset`.
 * @param [out] err    The error code: 0 also if there is no such field.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, and those of `scda_ffind_dataset`.
 */
inline scda_fcontext_t *scda_t8code_find_field (scda_fcontext_t *f, const char *group, int64_t step, const char *name, int *found,
                                                scda_dataset_t *d, int *err);

/**
 * Reads a field of which type and number of items are known, for the local elements.
 *
 * @param [in] f           The file, open for reading.
 * @param [in] group       The name of the forest.
 * @param [in] step        The time step.
 * @param [in] forest      The forest, in any partition. Its mesh must be that of the field.
 * @param [in] name        The name of the field.
 * @param [in] type        The type that its items must have, such as `SCDA_TYPE_FLOAT64`.
 * @param [in] components  The number of items that each element must have; of `SCDA_TYPE_RAW`, the number of bytes.
 * @param [out] data       Room for the items of the local elements. May be NULL if there are none.
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
 * Errors: `SCDA_ERR_FORMAT` if there is no such field, or it has another type, shape or mesh; `SCDA_ERR_ARG`; those of
 * `scda_ffind_dataset` and `scda_fread_dataset`.
 */
inline scda_fcontext_t *scda_t8code_read_field (scda_fcontext_t *f, const char *group, int64_t step, t8_forest_t forest, const char *name,
                                                int type, uint64_t components, void *data, int *err);

/**
 * Reads how many values each local element has in a field that `scda_t8code_write_ragged` has written.
 *
 * @param [out] counts  Room for a number for each local element. None is negative, and all of all ranks are as many as the values in the
 *                      file. May be NULL if there are none.
 * Other parameters and errors: as for `scda_t8code_read_field`.
 */
inline scda_fcontext_t *scda_t8code_read_counts (scda_fcontext_t *f, const char *group, int64_t step, t8_forest_t forest, const char *name,
                                                 int64_t *counts, int *err);

/**
 * Reads the values of the local elements.
 *
 * @param [in] counts  What `scda_t8code_read_counts` has read for this forest.
 * @param [out] data   Room for as many values as the sum of `counts`. May be NULL if there are none.
 * Other parameters and errors: as for `scda_t8code_read_field`; `components` are those of each value.
 */
inline scda_fcontext_t *scda_t8code_read_ragged (scda_fcontext_t *f, const char *group, int64_t step, t8_forest_t forest, const char *name,
                                                 int type, uint64_t components, const int64_t *counts, void *data, int *err);

/* ---- Internal ---- */

namespace scda_t8code_internal {

using error_t = scda_forest_error_internal_t;
using part_t = scda_forest_part_internal_t;

/* By t8_eclass_t: vertex, line, quadrilateral, triangle, hexahedron, tetrahedron, prism, pyramid. */
constexpr int vtk_of[T8_ECLASS_COUNT] = { 1, 3, 9, 5, 12, 10, 13, 14 };
constexpr int corners_of[T8_ECLASS_COUNT] = { 1, 2, 4, 3, 8, 4, 6, 5 };
constexpr int faces_of[T8_ECLASS_COUNT] = { 0, 2, 4, 3, 6, 4, 5, 5 };
constexpr int dimension_of[T8_ECLASS_COUNT] = { 0, 1, 2, 2, 3, 3, 3, 3 };
/* The most of each dimension. */
constexpr int most_faces[4] = { 0, 2, 4, 6 }, most_corners[4] = { 1, 2, 4, 8 };
/* Positions count elements of this level, which is the finest one. */
constexpr int finest[4] = { 0, 30, 30, 21 };
/* The elements of a rank that are compared to find out if a forest is another one. */
constexpr t8_locidx_t samples = 4096;

inline t8_eclass_t class_of (int vtk) {
  for (int c = T8_ECLASS_LINE; c < T8_ECLASS_COUNT; ++c) {
    if (vtk_of[c] == vtk) { return static_cast<t8_eclass_t> (c); }
  }
  return T8_ECLASS_INVALID;
}

/* How many elements of the finest level an element has. */
inline uint64_t size_of (bool pyramid, int dimension, int level) {
  const int depth = finest[dimension] - level;
  uint64_t six = 1;
  if (!pyramid) { return static_cast<uint64_t> (1) << dimension * depth; }
  for (int i = 0; i < depth; ++i) { six *= 6; }
  return (depth == 21 ? 0 : static_cast<uint64_t> (2) << 3 * depth) - six; /* modulo 2^64 */
}

/* Room for n items; an error if there is none. */
template <typename T> bool room (std::vector<T> &v, uint64_t n, error_t *e) {
  try {
    v.resize (static_cast<size_t> (n));
    return true;
  } catch (const std::exception &) {
    return scda_forest_error_internal (e, SCDA_ERR_MEMORY, "no memory for %llu items of %llu bytes of a forest", static_cast<unsigned long long> (n),
                                       static_cast<unsigned long long> (sizeof (T))) != 0;
  }
}

/* What a file has of an element. */
struct element_t {
  int32_t xyz[3];
  uint8_t level, type;
  uint64_t position;
};

inline uint64_t position_of (const t8_scheme *scheme, t8_eclass_t tree_class, const t8_element_t *element, int level) {
  const int dimension = dimension_of[tree_class];
  if (tree_class == T8_ECLASS_PYRAMID) { return scheme->element_get_linear_id (tree_class, element, finest[3]); }
  return static_cast<uint64_t> (scheme->element_get_linear_id (tree_class, element, level)) << dimension * (finest[dimension] - level);
}

/* The vertex of an element in the reference tree, in units of 2^-30. */
inline void vertex_of (const t8_scheme *scheme, t8_eclass_t tree_class, const t8_element_t *element, int vertex, int64_t *xyz) {
  double x[3] = { 0., 0., 0. };
  scheme->element_get_vertex_reference_coords (tree_class, element, vertex, x);
  for (int a = 0; a < 3; ++a) { xyz[a] = std::llround (x[a] * (1 << SCDA_FOREST_MAXLEVEL)); }
}

/* All of it. False if docs/t8code.md has no such element. */
inline bool describe (const t8_scheme *scheme, t8_eclass_t tree_class, const t8_element_t *element, element_t *d) {
  const int level = scheme->element_get_level (tree_class, element), dimension = dimension_of[tree_class];
  const t8_element_shape_t shape = scheme->element_get_shape (tree_class, element);
  int64_t from[3], to[3];
  if (level > finest[dimension]) { return false; }
  const int64_t edge = static_cast<int64_t> (1) << (SCDA_FOREST_MAXLEVEL - level);
  vertex_of (scheme, tree_class, element, 0, from);
  for (int a = 0; a < 3; ++a) { d->xyz[a] = static_cast<int32_t> (from[a]); }
  d->level = static_cast<uint8_t> (level);
  d->type = 0;
  d->position = position_of (scheme, tree_class, element, level);
  if (shape == T8_ECLASS_PYRAMID) {
    vertex_of (scheme, tree_class, element, 4, to);
    d->type = to[2] > from[2] ? 6 : 7;
    return to[2] - from[2] == (d->type == 6 ? edge : -edge) && to[0] - from[0] == (d->type == 6 ? edge : 0) && to[1] - from[1] == to[0] - from[0];
  }
  if (shape != T8_ECLASS_TRIANGLE && shape != T8_ECLASS_PRISM && shape != T8_ECLASS_TET) { return true; }
  /* From vertex to vertex along one axis after the other. */
  int axes[2] = { -1, -1 };
  for (int step = 0; step < (shape == T8_ECLASS_TET ? 2 : 1); ++step) {
    vertex_of (scheme, tree_class, element, step + 1, to);
    for (int a = 0; a < 3; ++a) {
      const int64_t moved = to[a] - from[a];
      if (moved != 0 && (moved != edge || axes[step] >= 0)) { return false; }
      if (moved != 0) { axes[step] = a; }
      from[a] = to[a];
    }
    if (axes[step] < 0) { return false; }
  }
  if (shape != T8_ECLASS_TET) {
    d->type = static_cast<uint8_t> (axes[0]);
    return axes[0] < 2;
  }
  constexpr uint8_t type_of[3][3] = { { 9, 1, 0 }, { 2, 9, 3 }, { 5, 4, 9 } };
  d->type = type_of[axes[0]][axes[1]];
  return d->type < 6;
}

/* Calls `visit (i, tree, class, element)` for each local element, or with a stride above 1 for some. */
template <typename Visit> void each_element (t8_forest_t forest, t8_locidx_t stride, Visit visit) {
  const t8_locidx_t trees = t8_forest_get_num_local_trees (forest);
  t8_locidx_t i = 0, next = 0;
  for (t8_locidx_t t = 0; t < trees; ++t) {
    const t8_gloidx_t tree = t8_forest_global_tree_id (forest, t);
    const t8_eclass_t tree_class = t8_forest_get_tree_class (forest, t);
    const t8_locidx_t n = t8_forest_get_tree_num_leaf_elements (forest, t);
    for (; next < i + n; next += stride) { visit (next, tree, tree_class, t8_forest_get_leaf_element_in_tree (forest, t, next - i)); }
    i += n;
  }
}

inline uint64_t sum_of (t8_forest_t forest, t8_locidx_t stride) {
  const t8_scheme *scheme = t8_forest_get_scheme (forest);
  uint64_t sum = 0;
  each_element (forest, stride, [&] (t8_locidx_t, t8_gloidx_t tree, t8_eclass_t tree_class, const t8_element_t *element) {
    const int level = scheme->element_get_level (tree_class, element);
    sum += scda_forest_term_internal (position_of (scheme, tree_class, element, level), static_cast<uint64_t> (tree), static_cast<uint64_t> (level));
  });
  return sum;
}

/* The local elements, with the checksum of the mesh, which is kept with the file as long as the forest is the same. */
inline scda_fcontext_t *part_of (scda_fcontext_t *f, const char *group, t8_forest_t forest, part_t *part, int *err) {
  scda_forest_state_internal_t *state = scda_forest_state_internal (f, group);
  int rank = 0;
  part->comm = t8_forest_get_mpicomm (forest);
  part->element = "element";
  part->functions = "scda_t8code";
  part->all = static_cast<uint64_t> (t8_forest_get_global_num_leaf_elements (forest));
  part->n = static_cast<uint64_t> (t8_forest_get_local_num_leaf_elements (forest));
  part->first = 0;
  part->checksum = 0;
  MPI_Comm_rank (part->comm, &rank);
  MPI_Exscan (&part->n, &part->first, 1, MPI_UINT64_T, MPI_SUM, part->comm);
  if (rank == 0) { part->first = 0; }
  const uint64_t sample = sum_of (forest, static_cast<t8_locidx_t> (part->n / samples) + 1);
  const uint64_t sketch = scda_forest_mix_internal (sample + 3 * part->n + 5 * part->first) + 7 * part->all;
  int least = state == nullptr ? -1 : state->forest == forest && state->sketch == sketch;
  MPI_Allreduce (MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, part->comm);
  if (least < 0) {
    error_t e;
    scda_forest_no_error_internal (&e);
    if (state == nullptr) { scda_forest_error_internal (&e, SCDA_ERR_USAGE, "the file of the forest is not open, or there is no memory"); }
    return scda_forest_agree_internal (f, part->comm, &e, err);
  }
  if (least == 0) {
    uint64_t sum = sum_of (forest, 1);
    MPI_Allreduce (MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, part->comm);
    state->forest = forest;
    state->sketch = sketch;
    state->forest_checksum = sum;
  }
  part->checksum = state->forest_checksum;
  return f;
}

/* Writes the attributes of the group, if they are not there. */
inline scda_fcontext_t *write_group (scda_fcontext_t *f, const char *group, t8_forest_t forest, int *err) {
  scda_forest_look_internal (f, group, "scda_forest", "coordinates", t8_forest_get_mpicomm (forest));
  const scda_forest_state_internal_t *state = scda_forest_state_internal (f, group);
  return state != nullptr && state->note->has_group ? f : scda_t8code_write_group (f, group, forest, nullptr, err);
}

/* ---- Trees ---- */

/* Some trees that follow each other, as a file has them. */
struct trees_t {
  int dimension;
  std::vector<uint8_t> shape;
  std::vector<int64_t> to_tree;
  std::vector<int8_t> to_face;
  std::vector<double> vertices;
  int have_vertices;
};

inline bool make_room (trees_t *t, uint64_t n, error_t *e) {
  const uint64_t F = static_cast<uint64_t> (most_faces[t->dimension]), C = static_cast<uint64_t> (most_corners[t->dimension]);
  return room (t->shape, n, e) && room (t->to_tree, n * F, e) && room (t->to_face, n * F, e) && room (t->vertices, n * C * 3, e);
}

/* Those of a forest from a local tree on. */
inline void trees_of (t8_forest_t forest, t8_locidx_t first, trees_t *t, error_t *e) {
  const t8_locidx_t n = t8_forest_get_num_local_trees (forest) - first;
  const t8_cmesh_t cmesh = t8_forest_get_cmesh (forest);
  const int F = most_faces[t->dimension], C = most_corners[t->dimension];
  t->have_vertices = 1;
  if (!make_room (t, static_cast<uint64_t> (n > 0 ? n : 0), e)) { return; }
  for (t8_locidx_t k = 0; k < n; ++k) {
    const t8_gloidx_t tree = t8_forest_global_tree_id (forest, first + k);
    const t8_eclass_t tree_class = t8_forest_get_tree_class (forest, first + k);
    const t8_locidx_t in_cmesh = t8_forest_ltreeid_to_cmesh_ltreeid (forest, first + k);
    const double *vertices = t8_cmesh_get_tree_vertices (cmesh, in_cmesh);
    int64_t *to_tree = t->to_tree.data () + k * F;
    int8_t *to_face = t->to_face.data () + k * F;
    double *to = t->vertices.data () + k * C * 3;
    t->shape[static_cast<size_t> (k)] = static_cast<uint8_t> (vtk_of[tree_class]);
    for (int face = 0; face < F; ++face) {
      int dual = face, orientation = 0;
      to_tree[face] = face < faces_of[tree_class] ? tree : -1;
      to_face[face] = static_cast<int8_t> (face < faces_of[tree_class] ? face : -1);
      if (face < faces_of[tree_class] && !t8_cmesh_tree_face_is_boundary (cmesh, in_cmesh, face)) {
        const t8_locidx_t neighbor = t8_cmesh_get_face_neighbor (cmesh, in_cmesh, face, &dual, &orientation);
        if (neighbor >= 0) {
          to_tree[face] = t8_cmesh_get_global_id (cmesh, neighbor);
          to_face[face] = static_cast<int8_t> (dual + F * orientation);
        }
      }
    }
    if (vertices == nullptr) { t->have_vertices = 0; }
    for (int i = 0; i < 3 * C; ++i) { to[i] = vertices != nullptr && i < 3 * corners_of[tree_class] ? vertices[i] : 0.; }
  }
}

/* The first local tree that no lower rank has, too. */
inline t8_locidx_t first_own_tree (t8_forest_t forest) {
  const t8_locidx_t n = t8_forest_get_num_local_trees (forest);
  const MPI_Comm comm = t8_forest_get_mpicomm (forest);
  int64_t last = n > 0 ? t8_forest_global_tree_id (forest, n - 1) : -1, before = -1;
  int rank = 0;
  MPI_Comm_rank (comm, &rank);
  MPI_Exscan (&last, &before, 1, MPI_INT64_T, MPI_MAX, comm);
  return rank > 0 && n > 0 && t8_forest_global_tree_id (forest, 0) == before ? 1 : 0;
}

/* A number that changes with the trees, and does not depend on the ranks that have them. */
inline uint64_t hash_of (const trees_t &t, uint64_t first) {
  const size_t F = static_cast<size_t> (most_faces[t.dimension]), C = 3 * static_cast<size_t> (most_corners[t.dimension]);
  uint64_t sum = 0;
  for (size_t k = 0; k < t.shape.size (); ++k) {
    uint64_t h = scda_forest_mix_internal (first + k + 1) + t.shape[k];
    for (size_t i = 0; i < F; ++i) {
      h = scda_forest_mix_internal (h * 0x9e3779b97f4a7c15u + static_cast<uint64_t> (t.to_tree[k * F + i]) * 256 + static_cast<uint8_t> (t.to_face[k * F + i]));
    }
    for (size_t i = 0; i < C; ++i) {
      uint64_t bits = 0;
      memcpy (&bits, &t.vertices[k * C + i], sizeof bits);
      h = scda_forest_mix_internal (h * 0x9e3779b97f4a7c15u + bits);
    }
    sum += h;
  }
  return sum;
}

/* Writes the trees; those that are in the file already are not written again if `only_new`. */
inline scda_fcontext_t *write_trees (scda_fcontext_t *f, const char *group, t8_forest_t forest, bool only_new, int *err) {
  const MPI_Comm comm = t8_forest_get_mpicomm (forest);
  const t8_locidx_t local = t8_forest_get_num_local_trees (forest), skip = first_own_tree (forest);
  const uint64_t T = static_cast<uint64_t> (t8_forest_get_num_global_trees (forest)), n = static_cast<uint64_t> (local - skip);
  const uint64_t first = n > 0 ? static_cast<uint64_t> (t8_forest_global_tree_id (forest, skip)) : 0;
  uint64_t sums[2] = { n, 0 };
  error_t e;
  trees_t t;
  scda_forest_no_error_internal (&e);
  t.dimension = t8_forest_get_dimension (forest);
  if (t.dimension < 1 || t.dimension > 3) { scda_forest_error_internal (&e, SCDA_ERR_ARG, "the trees of a forest are points; expected lines or more"); }
  else {
    trees_of (forest, skip, &t, &e);
    if (e.err == SCDA_SUCCESS) { sums[1] = hash_of (t, first); }
  }
  MPI_Allreduce (MPI_IN_PLACE, sums, 2, MPI_UINT64_T, MPI_SUM, comm);
  if (sums[0] != T) {
    scda_forest_error_internal (&e, SCDA_ERR_ARG, "%llu of %llu trees have elements; expected some in each tree", static_cast<unsigned long long> (sums[0]),
                                static_cast<unsigned long long> (T));
  }
  f = scda_forest_agree_internal (f, comm, &e, err);
  if (f != nullptr) { f = write_group (f, group, forest, err); }
  if (f == nullptr) { return nullptr; }
  scda_forest_state_internal_t *state = scda_forest_state_internal (f, group);
  int has = only_new && state != nullptr && state->has_connectivity && state->connectivity == sums[1];
  MPI_Allreduce (MPI_IN_PLACE, &has, 1, MPI_INT, MPI_MIN, comm);
  MPI_Allreduce (MPI_IN_PLACE, &t.have_vertices, 1, MPI_INT, MPI_MIN, comm);
  if (has) { return f; }
  const uint64_t F = static_cast<uint64_t> (most_faces[t.dimension]), C = static_cast<uint64_t> (most_corners[t.dimension]);
  scda_forest_parts_internal_t parts;
  scda_forest_no_parts_internal (&parts, group);
  scda_forest_add_part_internal (&parts, "tree_to_tree", SCDA_TYPE_INT64, T, F, "tree", "face", "{\"long_name\": \"tree behind each face\"}", first, n,
                                 t.to_tree.data ());
  scda_forest_add_part_internal (&parts, "tree_to_face", SCDA_TYPE_INT8, T, F, "tree", "face",
                                 "{\"long_name\": \"face of the tree behind each face, with its orientation\"}", first, n, t.to_face.data ());
  scda_forest_add_part_internal (&parts, "tree_shape", SCDA_TYPE_UINT8, T, 0, "tree", nullptr,
                                 "{\"long_name\": \"shape of each tree, by the numbers of VTK\"}", first, n, t.shape.data ());
  if (t.have_vertices) {
    const char **names = parts.names[parts.n];
    scda_dataset_t *d = scda_forest_add_part_internal (&parts, "tree_vertices", SCDA_TYPE_FLOAT64, T, C, "tree", "tree_corner", nullptr, first, n,
                                                       t.vertices.data ());
    d->ndims = 3;
    d->shape[2] = 3;
    names[2] = "space";
  }
  f = scda_forest_write_parts_internal (f, &parts, err);
  if (f != nullptr && state != nullptr) {
    state->has_connectivity = 1;
    state->connectivity = sums[1];
  }
  return f;
}

/* ---- The mesh ---- */

/* The elements of a rank, and columns of a file. */
struct mesh_t {
  std::vector<int32_t> coordinates;
  std::vector<uint8_t> level, type;
  std::vector<uint64_t> position;
};

inline bool make_room (mesh_t *m, uint64_t n, int dimension, error_t *e) {
  return room (m->coordinates, n * static_cast<uint64_t> (dimension), e) && room (m->level, n, e) && room (m->type, n, e) && room (m->position, n, e);
}

inline scda_fcontext_t *write_mesh (scda_fcontext_t *f, const char *group, t8_forest_t forest, bool only_new, int *err) {
  const int dimension = t8_forest_get_dimension (forest);
  const t8_scheme *scheme = t8_forest_get_scheme (forest);
  const t8_locidx_t skip = first_own_tree (forest), trees = t8_forest_get_num_local_trees (forest) - skip;
  const uint64_t T = static_cast<uint64_t> (t8_forest_get_num_global_trees (forest));
  const uint64_t first_tree = trees > 0 ? static_cast<uint64_t> (t8_forest_global_tree_id (forest, skip)) : 0;
  std::vector<int64_t> offsets;
  error_t e;
  mesh_t m;
  part_t part;
  char text[scda_forest_checksum_bytes_internal], attributes[192];
  scda_forest_no_error_internal (&e);
  f = write_group (f, group, forest, err);
  if (f != nullptr) { f = part_of (f, group, forest, &part, err); }
  if (f == nullptr) { return nullptr; }
  scda_forest_state_internal_t *state = scda_forest_state_internal (f, group);
  if (only_new && state->note->has_mesh && state->note->checksum == part.checksum && state->note->cells == part.all) { return f; } /* on all ranks */
  if (state->note->has_mesh && state->note->has_fields && state->note->checksum != part.checksum) { /* likewise */
    scda_forest_error_internal (&e, SCDA_ERR_USAGE, "another mesh of the forest %.58s, where the time step has fields of the one before: begin a step by "
                                "scda_forest_write_time or scda_t8code_write_step", scda_forest_group_internal (group));
  }
  if (e.err == SCDA_SUCCESS && room (offsets, static_cast<uint64_t> (trees) + 1, &e) && make_room (&m, part.n, dimension, &e)) {
    each_element (forest, 1, [&] (t8_locidx_t at, t8_gloidx_t tree, t8_eclass_t tree_class, const t8_element_t *element) {
      const size_t i = static_cast<size_t> (at), d = static_cast<size_t> (dimension);
      element_t found;
      if (!describe (scheme, tree_class, element, &found)) {
        scda_forest_error_internal (&e, SCDA_ERR_UNSUPPORTED, "element %llu, in tree %lld, is of level %d and of a kind that docs/t8code.md does not have",
                                    static_cast<unsigned long long> (part.first + i), static_cast<long long> (tree),
                                    scheme->element_get_level (tree_class, element));
        return;
      }
      for (size_t a = 0; a < d; ++a) { m.coordinates[i * d + a] = found.xyz[a]; }
      m.level[i] = found.level;
      m.type[i] = found.type;
      m.position[i] = found.position;
    });
    for (t8_locidx_t t = 0; t < trees; ++t) {
      offsets[static_cast<size_t> (t)] = static_cast<int64_t> (part.first) + t8_forest_get_tree_element_offset (forest, skip + t);
    }
    offsets[static_cast<size_t> (trees)] = static_cast<int64_t> (part.all); /* written after the last tree */
  }
  f = scda_forest_agree_internal (f, part.comm, &e, err);
  if (f == nullptr) { return nullptr; }
  scda_forest_checksum_text_internal (part.checksum, text);
  snprintf (attributes, sizeof attributes,
            "{\"" SCDA_FOREST_MESH "\": \"%s\", \"long_name\": \"first corner in the reference tree, in units of 2^-30 of its edge\"}", text);
  scda_forest_parts_internal_t parts;
  scda_forest_no_parts_internal (&parts, group);
  scda_forest_add_part_internal (&parts, "coordinates", SCDA_TYPE_INT32, part.all, static_cast<uint64_t> (dimension), "element", "axis", attributes,
                                 part.first, part.n, m.coordinates.data ());
  scda_forest_add_part_internal (&parts, "level", SCDA_TYPE_UINT8, part.all, 0, "element", nullptr, "{\"long_name\": \"level of refinement\"}",
                                 part.first, part.n, m.level.data ());
  scda_forest_add_part_internal (&parts, "type", SCDA_TYPE_UINT8, part.all, 0, "element", nullptr,
                                 "{\"long_name\": \"where the other corners are\"}", part.first, part.n, m.type.data ());
  scda_forest_add_part_internal (&parts, "position", SCDA_TYPE_UINT64, part.all, 0, "element", nullptr,
                                 "{\"long_name\": \"number of finest elements of the tree before this one\"}", part.first, part.n, m.position.data ());
  const uint64_t own = static_cast<uint64_t> (trees), rows = own > 0 && first_tree + own == T ? own + 1 : own;
  scda_forest_add_part_internal (&parts, "tree_offsets", SCDA_TYPE_INT64, T + 1, 0, "tree_boundary", nullptr,
                                 "{\"long_name\": \"number of the first element of each tree\"}", first_tree, rows, offsets.data ());
  f = scda_forest_write_parts_internal (f, &parts, err);
  if (f != nullptr) {
    state->note->has_mesh = 1;
    state->note->has_fields = 0;
    state->note->cells = part.all;
    state->note->checksum = part.checksum;
  }
  return f;
}

/* ---- Reading ---- */

/* What is read for a rank: some elements, with the one before and the one after them, and their trees. */
struct read_t {
  MPI_Comm comm;
  const char *group;
  int dimension;
  uint64_t trees, elements, first, n; /* n of them are of this rank, from `first` on */
  uint64_t before, after;             /* 1 if there is one before and after */
  uint64_t first_tree;                /* of those that were read */
  std::vector<int64_t> offsets;       /* of the trees from that one on, and one more */
  std::vector<uint8_t> shapes;
  std::vector<uint64_t> tree;         /* of each element, from the one before on */
  mesh_t rows;
  uint64_t checksum;
  std::vector<uint8_t> path; /* in pyramids: of each element, at each level its number among its siblings, and how many follow */
};

/* Goes to the dataset of a mesh that belongs to record `record` of its coordinates. */
inline scda_fcontext_t *open_part (scda_fcontext_t *f, const char *group, const char *part, int64_t record, int type, int ndims, const uint64_t *shape,
                                   scda_dataset_t *d, int *err) {
  scda_forest_name_internal_t name;
  error_t e;
  scda_forest_no_error_internal (&e);
  if (!scda_forest_name_internal (&name, group, "", part, "", &e)) { return scda_forest_fail_internal (f, &e, err); }
  return scda_forest_open_internal (f, name.text, record, type, ndims, shape, d, err);
}

/* The tree of an element, found by bisection: as many calls on all ranks. */
inline scda_fcontext_t *find_tree (scda_fcontext_t *f, const scda_dataset_t *d, uint64_t trees, uint64_t element, uint64_t *tree, int *err) {
  uint64_t below = 0, size = trees; /* it is one of `size` trees from `below` on */
  for (; f != nullptr && size > 1; size -= size / 2) {
    const uint64_t middle = below + size / 2;
    int64_t offset = 0;
    f = scda_forest_rows_internal (f, d, middle, 1, &offset, err);
    if (f != nullptr && offset >= 0 && static_cast<uint64_t> (offset) <= element) { below = middle; }
  }
  *tree = below;
  return f;
}

/* The trees of the elements of this rank. */
inline scda_fcontext_t *read_offsets (scda_fcontext_t *f, int64_t record, read_t *r, int *err) {
  const uint64_t all[1] = { r->trees + 1 }, begin = r->first - r->before, end = r->first + r->n + r->after;
  uint64_t last_tree = 0, count = 0;
  int64_t ends[2] = { 0, 0 };
  scda_dataset_t d;
  error_t e;
  scda_forest_no_error_internal (&e);
  f = open_part (f, r->group, "tree_offsets", record, SCDA_TYPE_INT64, 1, all, &d, err);
  if (f != nullptr) { f = scda_forest_rows_internal (f, &d, 0, 1, ends, err); }
  if (f != nullptr) { f = scda_forest_rows_internal (f, &d, r->trees, 1, ends + 1, err); }
  if (f == nullptr) { return nullptr; }
  if (ends[0] != 0 || static_cast<uint64_t> (ends[1]) != r->elements) { /* on all ranks */
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s goes from %lld to %lld; expected 0 to %llu", d.name, static_cast<long long> (ends[0]),
                                static_cast<long long> (ends[1]), static_cast<unsigned long long> (r->elements));
    return scda_forest_fail_internal (f, &e, err);
  }
  f = find_tree (f, &d, r->trees, begin, &r->first_tree, err);
  if (f != nullptr) { f = find_tree (f, &d, r->trees, end > begin ? end - 1 : begin, &last_tree, err); }
  if (f == nullptr) { return nullptr; }
  if (last_tree >= r->first_tree && end > begin) { count = last_tree - r->first_tree + 1; }
  if (count > end - begin) { /* not as many elements as trees: the file shall not say how much memory is taken */
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s has %llu trees for %llu elements", d.name, static_cast<unsigned long long> (count),
                                static_cast<unsigned long long> (end - begin));
    count = 0;
  }
  room (r->offsets, count + 1, &e);
  room (r->tree, end - begin, &e);
  f = scda_forest_agree_internal (f, r->comm, &e, err);
  if (f != nullptr) { f = scda_forest_rows_internal (f, &d, r->first_tree, count > 0 ? count + 1 : 0, r->offsets.data (), err); }
  if (f == nullptr) { return nullptr; }
  for (uint64_t t = 0; t < count; ++t) {
    const int64_t from = r->offsets[t], to = r->offsets[t + 1];
    if (from < 0 || to <= from || static_cast<uint64_t> (to) > r->elements || (t == 0 && static_cast<uint64_t> (from) > begin)) {
      scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s: the elements of tree %llu are those from %lld to %lld; expected offsets that grow up to %llu",
                                  d.name, static_cast<unsigned long long> (r->first_tree + t), static_cast<long long> (from), static_cast<long long> (to),
                                  static_cast<unsigned long long> (r->elements));
      break;
    }
  }
  if (e.err == SCDA_SUCCESS && count > 0 && static_cast<uint64_t> (r->offsets[count]) < end) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s does not grow", d.name);
  }
  for (uint64_t i = begin, t = 0; e.err == SCDA_SUCCESS && i < end; ++i) {
    while (static_cast<uint64_t> (r->offsets[t + 1]) <= i) { ++t; }
    r->tree[i - begin] = r->first_tree + t;
  }
  f = scda_forest_agree_internal (f, r->comm, &e, err);
  return f;
}

inline t8_eclass_t class_at (const read_t &r, size_t row) { return class_of (r.shapes[r.tree[row] - r.first_tree]); }

/* Whether the element in a row is one of this scheme. */
inline bool check_element (const t8_scheme *scheme, read_t *r, uint64_t row, t8_element_t *element, size_t most_level, error_t *e) {
  const t8_eclass_t tree_class = class_at (*r, row);
  const int dimension = r->dimension, level = r->rows.level[row];
  const unsigned long long i = r->first - r->before + row, tree = r->tree[row];
  const uint64_t position = r->rows.position[row];
  const char *const group = scda_forest_group_internal (r->group);
  if (level > scheme->get_maxlevel (tree_class)) {
    return scda_forest_error_internal (e, SCDA_ERR_UNSUPPORTED, "element %llu of %.58s, in tree %llu, has level %d; the scheme has up to %d", i, group, tree,
                                       level, scheme->get_maxlevel (tree_class)) != 0;
  }
  const uint64_t all = size_of (tree_class == T8_ECLASS_PYRAMID, dimension, 0);
  bool good = position < all;
  if (good && tree_class == T8_ECLASS_PYRAMID) {
    scheme->element_set_linear_id (tree_class, element, finest[3], position);
    for (int l = finest[3]; l > level; --l) { scheme->element_get_parent (tree_class, element, element); }
  }
  else if (good) {
    const int shift = dimension * (finest[dimension] - level);
    good = (position & ((static_cast<uint64_t> (1) << shift) - 1)) == 0;
    if (good) { scheme->element_set_linear_id (tree_class, element, level, position >> shift); }
  }
  element_t found;
  good = good && describe (scheme, tree_class, element, &found) && found.position == position;
  if (!good) {
    return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "element %llu of %.58s, in tree %llu: no element of level %d begins at position %llu", i, group,
                                       tree, level, static_cast<unsigned long long> (position)) != 0;
  }
  good = found.type == r->rows.type[row];
  for (int a = 0; a < dimension; ++a) { good = good && found.xyz[a] == r->rows.coordinates[row * static_cast<uint64_t> (dimension) + static_cast<uint64_t> (a)]; }
  if (!good) {
    return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "element %llu of %.58s, in tree %llu: coordinates and type are not those of position %llu in the scheme",
                                       i, group, tree, static_cast<unsigned long long> (position)) != 0;
  }
  const bool pyramid = scheme->element_get_shape (tree_class, element) == T8_ECLASS_PYRAMID;
  if (row + 1 < r->tree.size () && r->tree[row + 1] == r->tree[row]) {
    const uint64_t next = r->rows.position[row + 1];
    if (next <= position || next - position < size_of (pyramid, dimension, level)) {
      return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "element %llu of %.58s, in tree %llu: found position %llu, within the element before it", i + 1,
                                         group, tree, static_cast<unsigned long long> (next)) != 0;
    }
  }
  if (tree_class == T8_ECLASS_PYRAMID) {
    uint8_t *path = r->path.data () + 2 * most_level * row;
    for (int l = level; l > 0; --l) {
      const int id = scheme->element_get_child_id (tree_class, element), siblings = scheme->element_get_num_siblings (tree_class, element);
      path[2 * (l - 1)] = static_cast<uint8_t> (id);
      path[2 * (l - 1) + 1] = static_cast<uint8_t> (siblings - 1 - id);
      scheme->element_get_parent (tree_class, element, element);
    }
  }
  return true;
}

/* Reads the elements of this rank, and compares them with the convention. */
inline scda_fcontext_t *read_mesh (scda_fcontext_t *f, const char *group, const scda_forest_step_internal_t *range, const t8_scheme *scheme, int dimension,
                                   MPI_Comm comm, read_t *r, int *levels, int *err) {
  const uint64_t any[2] = { UINT64_MAX, static_cast<uint64_t> (dimension) };
  scda_forest_step_internal_t up_to_end;
  scda_forest_name_internal_t name;
  error_t e;
  scda_dataset_t d;
  char expected[scda_forest_checksum_bytes_internal];
  uint64_t section = 0;
  int64_t record = -1;
  int found = 0, rank = 0, size = 0;
  scda_forest_no_error_internal (&e);
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  up_to_end.begin = 0;
  up_to_end.end = range->end;
  r->comm = comm;
  r->group = group;
  r->dimension = dimension;
  if (!scda_forest_name_internal (&name, group, "", "coordinates", "", &e)) { return scda_forest_fail_internal (f, &e, err); }
  f = scda_forest_last_internal (f, name.text, &up_to_end, &found, &record, &section, err);
  if (f == nullptr) { return nullptr; }
  if (!found) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "there is no dataset %s up to the end of the step", name.text);
    return scda_forest_fail_internal (f, &e, err);
  }
  /* The k-th records of all datasets of a mesh belong together. */
  f = scda_forest_records_internal (f, name.text, section + 1, &record, err);
  record -= 1;
  if (f != nullptr) { f = open_part (f, group, "coordinates", record, SCDA_TYPE_INT32, 2, any, &d, err); }
  if (f == nullptr) { return nullptr; }
  char stated[scda_forest_checksum_bytes_internal];
  const int has_checksum = scda_forest_mesh_of_internal (d.attributes, stated);
  const uint64_t N = r->elements = d.shape[0], q = static_cast<uint64_t> (rank), P = static_cast<uint64_t> (size);
  r->first = N / P * q + (q < N % P ? q : N % P);
  r->n = N / P + (q < N % P);
  r->before = r->n > 0 && r->first > 0;
  r->after = r->n > 0 && r->first + r->n < N;
  const uint64_t begin = r->first - r->before, rows = r->before + r->n + r->after;
  if (N < r->trees) { /* on all ranks */
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s has %llu elements for %llu trees", d.name, static_cast<unsigned long long> (N),
                                static_cast<unsigned long long> (r->trees));
    return scda_forest_fail_internal (f, &e, err);
  }
  if (rows > INT32_MAX - 64) {
    scda_forest_error_internal (&e, SCDA_ERR_RANGE, "a rank would have %llu elements, more than t8code can have", static_cast<unsigned long long> (rows));
  }
  f = scda_forest_agree_internal (f, comm, &e, err);
  if (f != nullptr) { f = read_offsets (f, record, r, err); } /* that there are as many elements, before memory is taken for them */
  if (f == nullptr) { return nullptr; }
  make_room (&r->rows, rows, dimension, &e);
  f = scda_forest_agree_internal (f, comm, &e, err);
  const uint64_t shapes[2] = { N, static_cast<uint64_t> (dimension) };
  const struct {
    const char *part;
    int type, ndims;
    void *data;
  } columns[] = { { "coordinates", SCDA_TYPE_INT32, 2, r->rows.coordinates.data () },
                  { "level", SCDA_TYPE_UINT8, 1, r->rows.level.data () },
                  { "type", SCDA_TYPE_UINT8, 1, r->rows.type.data () },
                  { "position", SCDA_TYPE_UINT64, 1, r->rows.position.data () } };
  for (const auto &column : columns) {
    if (f != nullptr) { f = open_part (f, group, column.part, record, column.type, column.ndims, shapes, &d, err); }
    if (f != nullptr) { f = scda_forest_rows_internal (f, &d, begin, rows, column.data, err); }
  }
  if (f == nullptr) { return nullptr; }

  /* The shapes of the trees of this rank. */
  if (!scda_forest_name_internal (&name, group, "", "tree_shape", "", &e)) { return scda_forest_fail_internal (f, &e, err); }
  f = scda_forest_last_internal (f, name.text, &up_to_end, &found, &record, &section, err);
  const uint64_t trees[1] = { r->trees };
  const uint64_t own = rows > 0 ? r->offsets.size () - 1 : 0;
  if (f != nullptr) { f = open_part (f, group, "tree_shape", record, SCDA_TYPE_UINT8, 1, trees, &d, err); }
  if (f == nullptr) { return nullptr; }
  room (r->shapes, own, &e);
  f = scda_forest_agree_internal (f, comm, &e, err);
  if (f != nullptr) { f = scda_forest_rows_internal (f, &d, r->first_tree, own, r->shapes.data (), err); }
  if (f == nullptr) { return nullptr; }
  bool pyramids = false;
  for (uint64_t t = 0; t < own; ++t) {
    const t8_eclass_t tree_class = class_of (r->shapes[t]);
    pyramids = pyramids || tree_class == T8_ECLASS_PYRAMID;
    if (tree_class == T8_ECLASS_INVALID || dimension_of[tree_class] != dimension) {
      scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s: found shape %d for tree %llu; expected one of dimension %d", d.name, r->shapes[t],
                                  static_cast<unsigned long long> (r->first_tree + t), dimension);
    }
  }
  *levels = 0;
  for (uint64_t row = 0; row < rows; ++row) {
    const int level = r->rows.level[row];
    if (level > finest[dimension]) {
      scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "element %llu of %.58s, in tree %llu: found level %d; expected at most %d",
                                  static_cast<unsigned long long> (begin + row), scda_forest_group_internal (group),
                                  static_cast<unsigned long long> (r->tree[row]), level, finest[dimension]);
    }
    *levels = level > *levels ? level : *levels;
  }
  MPI_Allreduce (MPI_IN_PLACE, levels, 1, MPI_INT, MPI_MAX, comm);
  if (pyramids && *levels <= finest[3]) { room (r->path, rows * 2 * static_cast<uint64_t> (*levels), &e); }

  /* The elements, unless some rank has one that is too fine. */
  uint64_t sum = 0;
  if (e.err == SCDA_SUCCESS && *levels <= finest[dimension]) {
    t8_eclass_t tree_class = T8_ECLASS_INVALID;
    t8_element_t *element = nullptr;
    for (uint64_t row = 0; row < rows; ++row) {
      if (class_at (*r, row) != tree_class) {
        if (element != nullptr) { scheme->element_destroy (tree_class, 1, &element); }
        tree_class = class_at (*r, row);
        scheme->element_new (tree_class, 1, &element);
      }
      if (!check_element (scheme, r, row, element, static_cast<size_t> (*levels), &e)) { break; }
      if (row >= r->before && row < r->before + r->n) { sum += scda_forest_term_internal (r->rows.position[row], r->tree[row], r->rows.level[row]); }
    }
    if (element != nullptr) { scheme->element_destroy (tree_class, 1, &element); }
  }
  f = scda_forest_agree_internal (f, comm, &e, err);
  if (f == nullptr) { return nullptr; }
  MPI_Allreduce (&sum, &r->checksum, 1, MPI_UINT64_T, MPI_SUM, comm);
  scda_forest_checksum_text_internal (r->checksum, expected);
  if (has_checksum && strcmp (stated, expected) != 0) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "the mesh of %.58s has the checksum %s; its attribute says %s", scda_forest_group_internal (group),
                                expected, stated);
    return scda_forest_fail_internal (f, &e, err);
  }
  return f;
}

/* In an element's tree, the number of its ancestor of level `l` among its siblings, and how many siblings follow. */
inline void place_of (const read_t &r, uint64_t row, int l, int levels, int *number, int *follow) {
  const t8_eclass_t tree_class = class_at (r, row);
  if (tree_class == T8_ECLASS_PYRAMID) {
    const uint8_t *path = r.path.data () + 2 * static_cast<size_t> (levels) * row + 2 * static_cast<size_t> (l - 1);
    *number = path[0];
    *follow = path[1];
    return;
  }
  const int dimension = r.dimension, all = 1 << dimension;
  *number = static_cast<int> (r.rows.position[row] >> dimension * (finest[dimension] - l) & static_cast<uint64_t> (all - 1));
  *follow = all - 1 - *number;
}

/* The level of the smallest element that has both the element in a row and the one before it; -1 if there is none. */
inline int common_level (const read_t &r, uint64_t row, int levels) {
  if (row == 0 || r.tree[row] != r.tree[row - 1]) { return -1; }
  int l = 0;
  for (;; ++l) { /* it ends: no element is within another one */
    int number[2], follow;
    if (l >= r.rows.level[row] || l >= r.rows.level[row - 1]) { return l; }
    place_of (r, row, l + 1, levels, number, &follow);
    place_of (r, row - 1, l + 1, levels, number + 1, &follow);
    if (number[0] != number[1]) { return l; }
  }
}

enum decision_t : int8_t { removed = -2, kept = 0, refined = 1 };

/* What becomes of the elements of a forest of this level, of which this rank has those that begin with its elements, and those without any
 * that stand beside them: the forest has all that are not finer than `level`, and that end up refined. */
inline void decide (const read_t &r, const std::vector<int8_t> &common, int level, int levels, std::vector<int8_t> &decisions) {
  int number = 0, follow = 0, number_before = 0;
  decisions.clear ();
  for (uint64_t row = r.before; row < r.before + r.n; ++row) {
    if (common[row] < level) {
      if (level > 0 && r.rows.level[row] >= level) {
        place_of (r, row, level, levels, &number, &follow);
        number_before = -1;
        if (common[row] == level - 1) { place_of (r, row - 1, level, levels, &number_before, &follow); }
        decisions.insert (decisions.end (), static_cast<size_t> (number - number_before - 1), removed);
      }
      decisions.push_back (r.rows.level[row] > level ? refined : kept);
    }
    const int next = row + 1 < r.tree.size () ? common[row + 1] : -1;
    if (level > 0 && r.rows.level[row] >= level && next < level - 1) {
      place_of (r, row, level, levels, &number, &follow);
      decisions.insert (decisions.end (), static_cast<size_t> (follow), removed);
    }
  }
}

inline int adapt (t8_forest_t forest, t8_forest_t from, t8_locidx_t which_tree, const t8_eclass_t, t8_locidx_t id, const t8_scheme *, const int,
                  const int, t8_element_t *[]) {
  const auto *decisions = static_cast<const std::vector<int8_t> *> (t8_forest_get_user_data (forest));
  return (*decisions)[static_cast<size_t> (t8_forest_get_tree_element_offset (from, which_tree) + id)];
}

/* Compares the trees of a forest that is not refined with those of the file. */
inline scda_fcontext_t *compare_trees (scda_fcontext_t *f, const char *group, const scda_forest_step_internal_t *up_to_end, uint64_t T, t8_forest_t forest,
                                       MPI_Comm comm, int *err) {
  trees_t in_file, own;
  error_t e;
  scda_dataset_t d;
  scda_forest_name_internal_t name;
  uint64_t section = 0, shape[3];
  int64_t record = -1;
  int found = 0;
  scda_forest_no_error_internal (&e);
  own.dimension = in_file.dimension = t8_forest_get_dimension (forest);
  const uint64_t n = static_cast<uint64_t> (t8_forest_get_num_local_trees (forest));
  const uint64_t first = n > 0 ? static_cast<uint64_t> (t8_forest_global_tree_id (forest, 0)) : 0;
  const size_t F = static_cast<size_t> (most_faces[own.dimension]), C = static_cast<size_t> (most_corners[own.dimension]);
  make_room (&in_file, n, &e);
  trees_of (forest, 0, &own, &e);
  f = scda_forest_agree_internal (f, comm, &e, err);
  shape[0] = T;
  const struct {
    const char *part;
    int type, ndims;
    void *data;
  } columns[] = { { "tree_to_tree", SCDA_TYPE_INT64, 2, in_file.to_tree.data () },
                  { "tree_to_face", SCDA_TYPE_INT8, 2, in_file.to_face.data () },
                  { "tree_shape", SCDA_TYPE_UINT8, 1, in_file.shape.data () },
                  { "tree_vertices", SCDA_TYPE_FLOAT64, 3, in_file.vertices.data () } };
  uint64_t begin = 0;
  in_file.have_vertices = 0;
  for (const auto &column : columns) {
    if (f == nullptr) { return nullptr; }
    if (!scda_forest_name_internal (&name, group, "", column.part, "", &e)) { return scda_forest_fail_internal (f, &e, err); }
    f = scda_forest_last_internal (f, name.text, up_to_end, &found, &record, &section, err);
    if (f == nullptr) { return nullptr; }
    if (column.ndims == 3 && (!found || section < begin)) { break; } /* no vertices of these trees */
    if (&column == columns) { begin = section; }
    shape[1] = column.ndims == 2 ? F : C;
    shape[2] = 3;
    f = scda_forest_open_internal (f, name.text, record, column.type, column.ndims, shape, &d, err);
    if (f != nullptr) { f = scda_forest_rows_internal (f, &d, first, n, column.data, err); }
    in_file.have_vertices = column.ndims == 3;
  }
  if (f == nullptr) { return nullptr; }
  for (size_t k = 0; k < n && e.err == SCDA_SUCCESS; ++k) {
    const unsigned long long tree = first + k;
    if (own.shape[k] != in_file.shape[k]) {
      scda_forest_error_internal (&e, SCDA_ERR_ARG, "the cmesh does not fit: tree %llu has shape %d, that of the file %d (by the numbers of VTK)", tree, own.shape[k],
                                  in_file.shape[k]);
      break;
    }
    for (size_t face = k * F; face < (k + 1) * F; ++face) {
      if (own.to_tree[face] != in_file.to_tree[face] || own.to_face[face] != in_file.to_face[face]) {
        scda_forest_error_internal (&e, SCDA_ERR_ARG, "the cmesh does not fit: face %d of tree %llu leads to tree %lld (face and orientation %d), that of the file to "
                                    "tree %lld (%d)", static_cast<int> (face - k * F), tree, static_cast<long long> (own.to_tree[face]), own.to_face[face],
                                    static_cast<long long> (in_file.to_tree[face]), in_file.to_face[face]);
      }
    }
    if (!own.have_vertices || !in_file.have_vertices) { continue; }
    double most = 0.;
    for (size_t i = k * C * 3; i < (k + 1) * C * 3; ++i) { most = std::fmax (most, std::fabs (own.vertices[i])); }
    for (size_t i = k * C * 3; i < (k + 1) * C * 3; ++i) {
      if (!(std::fabs (own.vertices[i] - in_file.vertices[i]) <= 1e-10 * most)) {
        scda_forest_error_internal (&e, SCDA_ERR_ARG, "the cmesh does not fit: coordinate %d of vertex %d of tree %llu is %.17g, that of the file %.17g",
                                    static_cast<int> (i % 3), static_cast<int> (i / 3 % C), tree, own.vertices[i], in_file.vertices[i]);
      }
    }
  }
  return scda_forest_agree_internal (f, comm, &e, err);
}

/* Which group it is, and how many trees it has; compared with the cmesh. */
inline scda_fcontext_t *read_about (scda_fcontext_t *f, const char *group, t8_cmesh_t cmesh, const scda_forest_step_internal_t *up_to_end, uint64_t *T, int *err) {
  const int dimension = t8_cmesh_get_dimension (cmesh);
  long in_file = -1;
  scda_forest_name_internal_t name;
  error_t e;
  scda_dataset_t d;
  uint64_t section = 0;
  int64_t record = -1;
  int found = 0;
  scda_forest_no_error_internal (&e);
  f = scda_forest_kind_internal (f, scda_forest_group_internal (group), "scda_forest", 2, &in_file, err);
  if (f == nullptr) { return nullptr; }
  if (in_file != dimension) {
    scda_forest_error_internal (&e, SCDA_ERR_ARG, "the cmesh does not fit: it has %d dimensions, the forest %.58s has %ld", dimension,
                                scda_forest_group_internal (group), in_file);
    return scda_forest_fail_internal (f, &e, err);
  }
  if (!scda_forest_name_internal (&name, group, "", "tree_to_tree", "", &e)) { return scda_forest_fail_internal (f, &e, err); }
  f = scda_forest_last_internal (f, name.text, up_to_end, &found, &record, &section, err);
  if (f == nullptr) { return nullptr; }
  if (!found) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "there is no dataset %s up to the end of the step", name.text);
    return scda_forest_fail_internal (f, &e, err);
  }
  const uint64_t shape[2] = { UINT64_MAX, static_cast<uint64_t> (most_faces[dimension]) };
  f = scda_forest_open_internal (f, name.text, record, SCDA_TYPE_INT64, 2, shape, &d, err);
  if (f == nullptr) { return nullptr; }
  *T = d.shape[0];
  if (*T != static_cast<uint64_t> (t8_cmesh_get_num_trees (cmesh))) {
    scda_forest_error_internal (&e, SCDA_ERR_ARG, "the cmesh does not fit: it has %lld trees, the file has %llu",
                                static_cast<long long> (t8_cmesh_get_num_trees (cmesh)), static_cast<unsigned long long> (*T));
    return scda_forest_fail_internal (f, &e, err);
  }
  return f;
}

/* The first element of each rank, and the number of all: what p4est and t8code have of a partition. */
inline std::vector<p4est_gloidx_t> first_elements (uint64_t n, MPI_Comm comm) {
  int size = 0;
  int64_t own = static_cast<int64_t> (n);
  MPI_Comm_size (comm, &size);
  std::vector<int64_t> counts (static_cast<size_t> (size));
  std::vector<p4est_gloidx_t> first (counts.size () + 1);
  MPI_Allgather (&own, 1, MPI_INT64_T, counts.data (), 1, MPI_INT64_T, comm);
  for (size_t p = 0; p < counts.size (); ++p) { first[p + 1] = first[p] + static_cast<p4est_gloidx_t> (counts[p]); }
  return first;
}

/* Moves values of elements, of which this rank has `n` from `data` on, to the ranks that have these elements in a forest. */
template <typename T> std::vector<T> moved (const T *data, uint64_t n, t8_forest_t forest, MPI_Comm comm) {
  const uint64_t local = static_cast<uint64_t> (t8_forest_get_local_num_leaf_elements (forest));
  const std::vector<p4est_gloidx_t> from = first_elements (n, comm), to = first_elements (local, comm);
  std::vector<T> received (local);
  p4est_transfer_fixed (to.data (), from.data (), comm, 0, received.data (), data, sizeof (T));
  return received;
}

/* Distributes the elements of a forest evenly, in place of it. */
inline void distribute (t8_forest_t *forest) {
  t8_forest_t next = nullptr;
  t8_forest_init (&next);
  t8_forest_set_partition (next, *forest, 0);
  t8_forest_commit (next);
  *forest = next;
}

/* Refines a forest that has only trees, level by level: each rank decides for the ancestors that begin with the elements that
 * it has read. */
inline scda_fcontext_t *refine (scda_fcontext_t *f, const read_t &r, int levels, t8_forest_t *forest, int *err) {
  std::vector<int8_t> common, decisions;
  error_t e;
  int holes = 0;
  scda_forest_no_error_internal (&e);
  if (room (common, r.tree.size (), &e)) {
    for (uint64_t row = 0; row < common.size (); ++row) { common[row] = static_cast<int8_t> (common_level (r, row, levels)); }
  }
  for (int level = 0; level <= levels; ++level) {
    uint64_t n = 0, all = 0;
    if (e.err == SCDA_SUCCESS) {
      try {
        decide (r, common, level, levels, decisions);
        n = decisions.size ();
      } catch (const std::exception &) {
        scda_forest_error_internal (&e, SCDA_ERR_MEMORY, "no memory for the levels of %llu elements", static_cast<unsigned long long> (r.n));
      }
    }
    MPI_Allreduce (&n, &all, 1, MPI_UINT64_T, MPI_SUM, r.comm);
    if (all != static_cast<uint64_t> (t8_forest_get_global_num_leaf_elements (*forest))) {
      scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "the elements of %.58s do not fit each other: %llu of level %d or less, %lld in their trees",
                                  scda_forest_group_internal (r.group), static_cast<unsigned long long> (all), level,
                                  static_cast<long long> (t8_forest_get_global_num_leaf_elements (*forest)));
    }
    f = scda_forest_agree_internal (f, r.comm, &e, err);
    if (f == nullptr) { return nullptr; }
    distribute (forest);
    decisions = moved (decisions.data (), n, *forest, r.comm);
    holes = 0;
    for (const int8_t decision : decisions) { holes = holes || decision == removed; }
    MPI_Allreduce (MPI_IN_PLACE, &holes, 1, MPI_INT, MPI_MAX, r.comm);
    if (level < levels || holes) {
      *forest = t8_forest_new_adapt (*forest, adapt, 0, 0, &decisions);
      t8_forest_set_user_data (*forest, nullptr);
    }
  }
  /* It is the one that was saved. */
  distribute (forest);
  const t8_scheme *scheme = t8_forest_get_scheme (*forest);
  const long long all = static_cast<long long> (t8_forest_get_global_num_leaf_elements (*forest));
  uint64_t same = 0;
  if (static_cast<uint64_t> (all) == r.elements) {
    const std::vector<uint64_t> trees = moved (r.tree.data () + r.before, r.n, *forest, r.comm);
    const auto levels_of = moved (r.rows.level.data () + r.before, r.n, *forest, r.comm);
    const auto positions = moved (r.rows.position.data () + r.before, r.n, *forest, r.comm);
    each_element (*forest, 1, [&] (t8_locidx_t at, t8_gloidx_t tree, t8_eclass_t tree_class, const t8_element_t *element) {
      const size_t row = static_cast<size_t> (at);
      const int level = scheme->element_get_level (tree_class, element);
      same += static_cast<uint64_t> (tree) == trees[row] && level == levels_of[row] && position_of (scheme, tree_class, element, level) == positions[row];
    });
  }
  MPI_Allreduce (MPI_IN_PLACE, &same, 1, MPI_UINT64_T, MPI_SUM, r.comm);
  if (same != r.elements) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "t8code has %lld elements of %.58s where the file has %llu, of which %llu are the same", all,
                                scda_forest_group_internal (r.group), static_cast<unsigned long long> (r.elements), static_cast<unsigned long long> (same));
  }
  return scda_forest_agree_internal (f, r.comm, &e, err);
}

} // namespace scda_t8code_internal

/* ---- The functions ---- */

inline scda_fcontext_t *scda_t8code_write_group (scda_fcontext_t *f, const char *group, t8_forest_t forest, const char *attributes, int *err) {
  if (f == nullptr) { return nullptr; }
  return scda_forest_write_group_internal (f, group, 2, t8_forest_get_dimension (forest), attributes, err);
}

inline scda_fcontext_t *scda_t8code_write_forest (scda_fcontext_t *f, const char *group, t8_forest_t forest, int *err) {
  if (f == nullptr) { return nullptr; }
  f = scda_t8code_internal::write_trees (f, group, forest, false, err);
  return f == nullptr ? nullptr : scda_t8code_internal::write_mesh (f, group, forest, false, err);
}

inline scda_fcontext_t *scda_t8code_write_mesh (scda_fcontext_t *f, const char *group, t8_forest_t forest, int *err) {
  if (f == nullptr) { return nullptr; }
  return scda_t8code_internal::write_mesh (f, group, forest, false, err);
}

inline scda_fcontext_t *scda_t8code_write_step (scda_fcontext_t *f, const char *group, t8_forest_t forest, double time, const char *units, int *err) {
  if (f == nullptr) { return nullptr; }
  f = scda_t8code_internal::write_group (f, group, forest, err);
  if (f != nullptr) { f = scda_forest_write_time (f, group, time, units, err); }
  if (f != nullptr) { f = scda_t8code_internal::write_trees (f, group, forest, true, err); }
  return f == nullptr ? nullptr : scda_t8code_internal::write_mesh (f, group, forest, true, err);
}

inline scda_fcontext_t *scda_t8code_write_field (scda_fcontext_t *f, const char *group, t8_forest_t forest, const scda_dataset_t *field,
                                                 const void *data, int *err) {
  if (f == nullptr) { return nullptr; }
  scda_forest_part_internal_t part;
  f = scda_t8code_internal::part_of (f, group, forest, &part, err);
  return f == nullptr ? nullptr : scda_forest_write_values_internal (f, group, &part, field, data, scda_forest_theirs_internal, err);
}

inline scda_fcontext_t *scda_t8code_write_ragged (scda_fcontext_t *f, const char *group, t8_forest_t forest, const scda_dataset_t *field,
                                                  const int64_t *counts, const void *data, int *err) {
  if (f == nullptr) { return nullptr; }
  scda_forest_part_internal_t part;
  f = scda_t8code_internal::part_of (f, group, forest, &part, err);
  return f == nullptr ? nullptr : scda_forest_write_ragged_internal (f, group, &part, field, counts, data, err);
}

inline scda_fcontext_t *scda_t8code_read_forest (scda_fcontext_t *f, const char *group, int64_t step, t8_cmesh_t cmesh, const t8_scheme *scheme,
                                                 MPI_Comm comm, t8_forest_t *forest, int *err) {
  const int dimension = t8_cmesh_get_dimension (cmesh);
  scda_forest_step_internal_t range, up_to_end;
  scda_t8code_internal::read_t r;
  int levels = 0;
  *forest = nullptr;
  if (f != nullptr) { f = scda_forest_step_internal (f, group, step, &range, err); }
  up_to_end.begin = 0;
  up_to_end.end = f == nullptr ? 0 : range.end;
  if (f != nullptr) { f = scda_t8code_internal::read_about (f, group, cmesh, &up_to_end, &r.trees, err); }
  if (f == nullptr) { /* on all ranks */
    t8_cmesh_unref (&cmesh);
    scheme->unref ();
    return nullptr;
  }
  *forest = t8_forest_new_uniform (cmesh, scheme, 0, 0, comm);
  f = scda_t8code_internal::compare_trees (f, group, &up_to_end, r.trees, *forest, comm, err);
  if (f != nullptr) { f = scda_t8code_internal::read_mesh (f, group, &range, t8_forest_get_scheme (*forest), dimension, comm, &r, &levels, err); }
  if (f != nullptr) { f = scda_t8code_internal::refine (f, r, levels, forest, err); }
  if (f == nullptr) { t8_forest_unref (forest); }
  return f;
}

inline scda_fcontext_t *scda_t8code_find_field (scda_fcontext_t *f, const char *group, int64_t step, const char *name, int *found,
                                                scda_dataset_t *d, int *err) {
  if (f == nullptr) { return nullptr; }
  return scda_forest_find_internal (f, group, step, "fields/", name, "", found, d, err);
}

inline scda_fcontext_t *scda_t8code_read_field (scda_fcontext_t *f, const char *group, int64_t step, t8_forest_t forest, const char *name,
                                                int type, uint64_t components, void *data, int *err) {
  if (f == nullptr) { return nullptr; }
  scda_forest_part_internal_t part;
  f = scda_t8code_internal::part_of (f, group, forest, &part, err);
  return f == nullptr ? nullptr : scda_forest_read_values_internal (f, group, step, &part, name, type, components, data, err);
}

inline scda_fcontext_t *scda_t8code_read_counts (scda_fcontext_t *f, const char *group, int64_t step, t8_forest_t forest, const char *name,
                                                 int64_t *counts, int *err) {
  if (f == nullptr) { return nullptr; }
  scda_forest_part_internal_t part;
  f = scda_t8code_internal::part_of (f, group, forest, &part, err);
  return f == nullptr ? nullptr : scda_forest_read_counts_internal (f, group, step, &part, name, counts, err);
}

inline scda_fcontext_t *scda_t8code_read_ragged (scda_fcontext_t *f, const char *group, int64_t step, t8_forest_t forest, const char *name,
                                                 int type, uint64_t components, const int64_t *counts, void *data, int *err) {
  if (f == nullptr) { return nullptr; }
  scda_forest_part_internal_t part;
  f = scda_t8code_internal::part_of (f, group, forest, &part, err);
  return f == nullptr ? nullptr : scda_forest_read_ragged_internal (f, group, step, &part, name, type, components, counts, data, err);
}

inline int scda_t8code_save (const char *filename, t8_forest_t forest) {
  int err = SCDA_SUCCESS;
  scda_params_t params;
  scda_params_init (&params);
  params.atomic = 1;
  params.seal = 1;
  params.sync = -1;
  scda_fcontext_t *f = scda_fopen_write (t8_forest_get_mpicomm (forest), filename, "t8code forest", nullptr, &params, &err);
  if (f != nullptr) { f = scda_forest_write_about (f, &err); }
  if (f != nullptr) { f = scda_t8code_write_forest (f, nullptr, forest, &err); }
  if (f != nullptr) { scda_fclose (f, &err); }
  return err;
}

inline t8_forest_t scda_t8code_load (const char *filename, t8_cmesh_t cmesh, const t8_scheme *scheme, MPI_Comm comm) {
  int err = SCDA_SUCCESS;
  t8_forest_t forest = nullptr;
  scda_params_t params;
  scda_params_init (&params);
  params.verify = 1;
  scda_fcontext_t *f = scda_fopen_read (comm, filename, nullptr, nullptr, &params, &err);
  if (f == nullptr) {
    t8_cmesh_unref (&cmesh);
    scheme->unref ();
    return nullptr;
  }
  f = scda_t8code_read_forest (f, nullptr, -1, cmesh, scheme, comm, &forest, &err);
  if (f != nullptr) { scda_fclose (f, &err); }
  if (err != SCDA_SUCCESS && forest != nullptr) { t8_forest_unref (&forest); }
  return forest;
}

#endif /* SCDA_T8CODE_HXX */
