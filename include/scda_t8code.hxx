/* scda_t8code.hxx: forests of t8code in scda files: of lines, quadrilaterals, triangles, hexahedra, tetrahedra, prisms, pyramids, and
 * meshes that combine several of them.
 *
 * scda_t8code_save and scda_t8code_load save and load a forest. To store more in the file (fields, time steps), open it by
 * scda_fopen_write or scda_fopen_append, and write its parts:
 *
 *   scda_forest_write_about, scda_t8code_write_group       once, when the file is new; for people, and for a title
 *   scda_t8code_write_step                                 begins a time step, and writes all of the forest that the file lacks; or
 *   scda_t8code_write_forest                               the trees and the mesh; or, if the trees have not changed,
 *   scda_t8code_write_mesh                                 the mesh alone
 *   scda_t8code_write_field, scda_t8code_write_ragged      fields with a fixed or variable number of values for each element
 *
 * To read them, open the file by scda_fopen_read. scda_t8code_read_forest makes the forest on any number of ranks from the cmesh that the
 * program builds, as it did when it started; scda_t8code_read_field, scda_t8code_read_counts and scda_t8code_read_ragged read the values of
 * the local elements. docs/t8code.md describes the contents of the file; they do not depend on the number of ranks.
 *
 * The functions are inline and call the public functions of t8code and of libscda: link them with the same MPI. They need C++20 and
 * t8code 4.0.0 or later.
 *
 * All functions are collective over the communicator of the file, which must have the same ranks as that of the forest. Errors are as in
 * scda.h: the same on all ranks; the file is closed, NULL is returned, and scda_last_error_message gives the reason. With NULL for the
 * file, they return NULL and do nothing else, except that scda_t8code_read_forest releases its arguments. All data are checked against
 * the convention and the cmesh before t8code gets them. On each rank, memory and messages are in proportion to its elements and trees,
 * plus 32 bytes for each rank; of the cmesh, a rank has what t8code gives it.
 *
 * `group` is the name of the forest, a group of datasets; NULL: SCDA_FOREST_GROUP. `step` is a time step: 0 is the first in the file,
 * -1 the last, -2 the one before it. In a file without times, it is 0 or -1.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef SCDA_T8CODE_HXX
#define SCDA_T8CODE_HXX

#include <scda_forest.h>

#include <t8.h>
#include <t8_cmesh/t8_cmesh.h>
#include <t8_forest/t8_forest_general.h>
#include <t8_forest/t8_forest_geometrical.h>
#include <t8_forest/t8_forest_partition.h>
#include <t8_schemes/t8_scheme.hxx>

#include <algorithm>
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
 * complete; if the job is killed before, an older file of this name stays.
 *
 * Collective.
 *
 * @param [in] filename  The path of the file.
 * @param [in] forest    The forest, committed. Not changed.
 * @return               0, or an error code of scda.h, the same on all ranks.
 */
inline int scda_t8code_save (const char *filename, t8_forest_t forest);

/**
 * Loads the last time step of the forest `SCDA_FOREST_GROUP` on any number of ranks. Compares all bytes with their checksums.
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
 * Writes the attributes that mark a group as a forest, and others. If this function is not called, the following ones write the
 * attributes without others.
 *
 * @param [in] f           The file, open for writing.
 * @param [in] group       The name of the forest.
 * @param [in] forest      The forest, whose dimension is written.
 * @param [in] attributes  More attributes, such as a title: a JSON object in UTF-8, without the keys `scda_forest` and `dimension`.
 *                         NULL: none.
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, and those of `scda_fwrite_group`.
 */
inline scda_fcontext_t *scda_t8code_write_group (scda_fcontext_t *f, const char *group, t8_forest_t forest, const char *attributes, int *err);

/**
 * Writes the trees and the mesh. The trees are valid until the next ones in the file, also for later time steps.
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
 * Writes the mesh without its trees: the elements. It is valid until the next one in the file, also for later time steps.
 *
 * Parameters and errors: as for `scda_t8code_write_forest`.
 */
inline scda_fcontext_t *scda_t8code_write_mesh (scda_fcontext_t *f, const char *group, t8_forest_t forest, int *err);

/**
 * Begins a time step of a forest: writes the time, and before or after it what the file does not have yet: the attributes of the group,
 * the trees if they have changed, and the mesh if it has changed. `scda_t8code_write_field` and `scda_t8code_write_ragged` then write the
 * data of the step. In a file that was opened by `scda_fopen_append`, the mesh is compared with the last one in the file; the trees are
 * rewritten.
 *
 * @param [in] f       The file, open for writing.
 * @param [in] group   The name of the forest.
 * @param [in] forest  The forest, committed. Not changed.
 * @param [in] time    The time, taken from rank 0.
 * @param [in] units   The unit of the time, such as `s`, without quotation marks and backslashes. NULL: none.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: those of `scda_t8code_write_forest`.
 */
inline scda_fcontext_t *scda_t8code_write_step (scda_fcontext_t *f, const char *group, t8_forest_t forest, double time, const char *units,
                                                int *err);

/**
 * Writes a field with the same number of items for each element. The mesh of the forest must be the last one in the file.
 * The field refers to it.
 *
 * @param [in] f       The file, open for writing.
 * @param [in] group   The name of the forest.
 * @param [in] forest  The forest to whose mesh the field belongs.
 * @param [in] field   Call `scda_dataset_init`, then set the name, such as `density`, the type, and other members as needed: attributes
 *                     with units, layout. `ndims` 1 (or 0) means one item for each element; the sizes of further dimensions are in
 *                     `shape[1]` and following, such as 3 for a vector. This function sets `shape[0]` and `dimension_names[0]` itself.
 *                     Not changed.
 * @param [in] data    The items of the local elements, in the order of t8code; the items of an element are contiguous. May be NULL if
 *                     there are none.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_USAGE` if the mesh of the forest is not the last one in the file, and those of
 * `scda_fwrite_dataset`.
 */
inline scda_fcontext_t *scda_t8code_write_field (scda_fcontext_t *f, const char *group, t8_forest_t forest, const scda_dataset_t *field,
                                                 const void *data, int *err);

/**
 * Writes a field with a variable number of values for each element, such as the coefficients of hp elements.
 *
 * @param [in] f       The file, open for writing.
 * @param [in] group   The name of the forest.
 * @param [in] forest  The forest to whose mesh the field belongs.
 * @param [in] field   As for `scda_t8code_write_field`; `ndims` 1 (or 0) if a value is one item. Its name, together with the name of the
 *                     group, `/fields/` and `:count`, has at most 58 bytes.
 * @param [in] counts  The number of values of each local element. May be NULL if there are none.
 * @param [in] data    The values, element by element. May be NULL if there are none.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: those of `scda_t8code_write_field`; `SCDA_ERR_RANGE` if a count is negative or the sum of the counts is too large.
 */
inline scda_fcontext_t *scda_t8code_write_ragged (scda_fcontext_t *f, const char *group, t8_forest_t forest, const scda_dataset_t *field,
                                                  const int64_t *counts, const void *data, int *err);

/**
 * Reads the mesh of a time step, and makes a forest from it on a cmesh: each rank gets the same number of elements, or one more.
 *
 * @param [in] f        The file, open for reading.
 * @param [in] group    The name of the forest.
 * @param [in] step     The time step.
 * @param [in] cmesh    The coarse mesh, committed, replicated or partitioned: the one that the forest had. Its trees, their connections
 *                      and the positions of their vertices must be those in the file; positions may differ by rounding. The forest owns
 *                      it, as after `t8_forest_new_uniform`; on error it is released. To keep it, call `t8_cmesh_ref` before.
 * @param [in] scheme   The scheme that the forest had, such as `t8_scheme_new_default ()`. The forest owns it, too.
 * @param [in] comm     The communicator of the forest, with the same ranks as that of the file.
 * @param [out] forest  The forest, committed and without ghosts, which the caller releases. NULL on error. For ghosts, another
 *                      partition or balance, derive a forest from it as from any other.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: `SCDA_ERR_FORMAT` for data that are no such forest according to docs/t8code.md; `SCDA_ERR_ARG` for a cmesh or a scheme that does
 * not fit; `SCDA_ERR_NOT_FOUND` for a forest or step that does not exist; `SCDA_ERR_UNSUPPORTED` for a later version of the convention, and for levels that the
 * scheme does not have; `SCDA_ERR_RANGE` for more elements on a rank than t8code supports; `SCDA_ERR_MEMORY`; those of
 * `scda_ffind_dataset` and `scda_fread_dataset`.
 */
inline scda_fcontext_t *scda_t8code_read_forest (scda_fcontext_t *f, const char *group, int64_t step, t8_cmesh_t cmesh,
                                                 const t8_scheme *scheme, MPI_Comm comm, t8_forest_t *forest, int *err);

/**
 * Finds a field of a time step: `scda_fread_dataset` then reads any boxes of it.
 *
 * @param [in] f       The file, open for reading.
 * @param [in] group   The name of the forest.
 * @param [in] step    The time step. Fields of other steps are not found.
 * @param [in] name    The name of the field, such as `density`.
 * @param [out] found  1 if the step has such a field, otherwise 0. Must not be NULL.
 * @param [in,out] d   As for `scda_ffind_dataset`.
 * @param [out] err    The error code; also 0 if there is no such field.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, and those of `scda_ffind_dataset`.
 */
inline scda_fcontext_t *scda_t8code_find_field (scda_fcontext_t *f, const char *group, int64_t step, const char *name, int *found,
                                                scda_dataset_t *d, int *err);

/**
 * Reads a field of known number of items, for the local elements. Numbers of another type in the file are converted.
 *
 * @param [in] f           The file, open for reading.
 * @param [in] group       The name of the forest.
 * @param [in] step        The time step.
 * @param [in] forest      The forest, in any partition. Its mesh must be that of the field.
 * @param [in] name        The name of the field.
 * @param [in] type        The type of the items in `data`, such as `SCDA_TYPE_FLOAT64`.
 * @param [in] components  The number of items that each element must have; for `SCDA_TYPE_RAW`, the number of bytes.
 * @param [out] data       Room for the items of the local elements. May be NULL if there are none.
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
 * Errors: `SCDA_ERR_NOT_FOUND` if there is no such field; `SCDA_ERR_FORMAT` if it has another shape or mesh, or a type that cannot be converted;
 * `SCDA_ERR_RANGE` for a number that does not fit; `SCDA_ERR_ARG`; those of `scda_ffind_dataset` and `scda_fread_dataset`.
 */
inline scda_fcontext_t *scda_t8code_read_field (scda_fcontext_t *f, const char *group, int64_t step, t8_forest_t forest, const char *name,
                                                int type, uint64_t components, void *data, int *err);

/**
 * Reads the number of values of each local element in a field that `scda_t8code_write_ragged` has written.
 *
 * @param [out] counts  Room for a number for each local element. None is negative, and their sum over all ranks is the number of values in
 *                      the file. May be NULL if there are none.
 * Other parameters and errors: as for `scda_t8code_read_field`.
 */
inline scda_fcontext_t *scda_t8code_read_counts (scda_fcontext_t *f, const char *group, int64_t step, t8_forest_t forest, const char *name,
                                                 int64_t *counts, int *err);

/**
 * Reads the values of the local elements.
 *
 * @param [in] counts  The counts that `scda_t8code_read_counts` has read for this forest.
 * @param [out] data   Room for the values; their number is the sum of `counts`. May be NULL if there are none.
 * Other parameters and errors: as for `scda_t8code_read_field`; `components` is the number of items of each value.
 */
inline scda_fcontext_t *scda_t8code_read_ragged (scda_fcontext_t *f, const char *group, int64_t step, t8_forest_t forest, const char *name,
                                                 int type, uint64_t components, const int64_t *counts, void *data, int *err);

/* ---- Internal ---- */

namespace scda_t8code_internal {

using error_t = scda_forest_error_internal_t;

/* By t8_eclass_t: vertex, line, quadrilateral, triangle, hexahedron, tetrahedron, prism, pyramid. */
constexpr int vtk_of[T8_ECLASS_COUNT] = { 1, 3, 9, 5, 12, 10, 13, 14 };
constexpr int corners_of[T8_ECLASS_COUNT] = { 1, 2, 4, 3, 8, 4, 6, 5 };
constexpr int faces_of[T8_ECLASS_COUNT] = { 0, 2, 4, 3, 6, 4, 5, 5 };
constexpr int dimension_of[T8_ECLASS_COUNT] = { 0, 1, 2, 2, 3, 3, 3, 3 };
/* The largest number of each dimension. */
constexpr int most_faces[4] = { 0, 2, 4, 6 }, most_corners[4] = { 1, 2, 4, 8 };
/* Positions count elements of this level, the finest one. */
constexpr int finest[4] = { 0, 30, 30, 21 };
/* The number of elements of a rank that are compared to find out whether the forest has changed. */
constexpr t8_locidx_t samples = 4096;

inline t8_eclass_t class_of (int vtk) {
  for (int c = T8_ECLASS_LINE; c < T8_ECLASS_COUNT; ++c) {
    if (vtk_of[c] == vtk) { return static_cast<t8_eclass_t> (c); }
  }
  return T8_ECLASS_INVALID;
}

/* The number of elements of the finest level in an element. */
inline uint64_t size_of (bool pyramid, int dimension, int level) {
  const int depth = finest[dimension] - level;
  uint64_t six = 1;
  if (!pyramid) { return static_cast<uint64_t> (1) << dimension * depth; }
  for (int i = 0; i < depth; ++i) { six *= 6; }
  return (depth == 21 ? 0 : static_cast<uint64_t> (2) << 3 * depth) - six; /* modulo 2^64 */
}

/* Makes room for n items; sets an error if that fails. */
template <typename T> bool room (std::vector<T> &v, uint64_t n, error_t *e) {
  try {
    v.resize (static_cast<size_t> (n));
    return true;
  } catch (const std::exception &) {
    return scda_forest_error_internal (e, SCDA_ERR_MEMORY, "no memory for %llu items of %llu bytes of a forest", static_cast<unsigned long long> (n),
                                       static_cast<unsigned long long> (sizeof (T))) != 0;
  }
}

/* The data of an element in a file. */
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

/* Describes an element for the file. False if docs/t8code.md has no such element. */
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
  /* From vertex to vertex, along one axis after another. */
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

/* Calls `visit (i, tree, class, element)` for each local element, or with a stride above 1, for a sample of them. */
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

/* The first local tree that is not also on a lower rank. */
inline t8_locidx_t first_own_tree (t8_forest_t forest) {
  const t8_locidx_t n = t8_forest_get_num_local_trees (forest);
  const MPI_Comm comm = t8_forest_get_mpicomm (forest);
  int64_t last = n > 0 ? t8_forest_global_tree_id (forest, n - 1) : -1, before = -1;
  int rank = 0;
  MPI_Comm_rank (comm, &rank);
  MPI_Exscan (&last, &before, 1, MPI_INT64_T, MPI_MAX, comm);
  return rank > 0 && n > 0 && t8_forest_global_tree_id (forest, 0) == before ? 1 : 0;
}

/* Sets the numbers of a forest. */
inline void numbers_of (t8_forest_t forest, scda_forest_t *m) {
  const MPI_Comm comm = t8_forest_get_mpicomm (forest);
  const t8_locidx_t skip = first_own_tree (forest);
  int rank = 0;
  scda_forest_init (m, t8_forest_get_dimension (forest));
  m->shapes = 1;
  m->functions = "scda_t8code";
  m->trees = static_cast<uint64_t> (t8_forest_get_num_global_trees (forest));
  m->own_trees = static_cast<uint64_t> (t8_forest_get_num_local_trees (forest) - skip);
  m->first_tree = m->own_trees > 0 ? static_cast<uint64_t> (t8_forest_global_tree_id (forest, skip)) : 0;
  m->quadrants = static_cast<uint64_t> (t8_forest_get_global_num_leaf_elements (forest));
  m->n = static_cast<uint64_t> (t8_forest_get_local_num_leaf_elements (forest));
  MPI_Comm_rank (comm, &rank);
  MPI_Exscan (&m->n, &m->first, 1, MPI_UINT64_T, MPI_SUM, comm);
  if (rank == 0) { m->first = 0; }
}

/* Sets the numbers of a forest and the checksum of its mesh, which is cached with the file. */
inline void identify (scda_fcontext_t *f, const char *group, t8_forest_t forest, scda_forest_t *m) {
  const MPI_Comm comm = t8_forest_get_mpicomm (forest);
  numbers_of (forest, m);
  const uint64_t sample = sum_of (forest, static_cast<t8_locidx_t> (m->n / samples) + 1);
  const scda_forest_known_internal_t now = { forest, 0, scda_forest_sketch_internal (m, sample), 0 };
  if (!scda_forest_is_known_internal (f, group, m, now, comm)) { scda_forest_know_internal (f, group, m, now, sum_of (forest, 1), comm); }
}

/* ---- Trees ---- */

/* Consecutive trees, in the form of the file. */
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

/* The trees of a forest, beginning with a local tree. */
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

/* Takes the trees of this rank. */
inline scda_fcontext_t *take_trees (scda_fcontext_t *f, t8_forest_t forest, scda_forest_t *m, trees_t *t, int *err) {
  error_t e;
  scda_forest_no_error_internal (&e);
  t->dimension = m->dimension;
  trees_of (forest, first_own_tree (forest), t, &e);
  m->tree_to_tree64 = t->to_tree.data ();
  m->tree_to_face = t->to_face.data ();
  m->tree_shape = t->shape.data ();
  m->vertices = t->have_vertices ? t->vertices.data () : nullptr;
  return scda_forest_agree_internal (f, &e, err);
}

inline scda_fcontext_t *write_trees (scda_fcontext_t *f, const char *group, t8_forest_t forest, int *err) {
  scda_forest_t m;
  trees_t t;
  numbers_of (forest, &m);
  f = take_trees (f, forest, &m, &t, err);
  return scda_forest_write (f, group, &m, SCDA_FOREST_CONNECTIVITY, err);
}

/* ---- The mesh ---- */

inline scda_fcontext_t *write_mesh (scda_fcontext_t *f, const char *group, t8_forest_t forest, int *err) {
  const t8_scheme *scheme = t8_forest_get_scheme (forest);
  const t8_locidx_t skip = first_own_tree (forest);
  std::vector<int64_t> offsets;
  std::vector<int32_t> coordinates;
  std::vector<uint8_t> level, type;
  std::vector<uint64_t> position;
  scda_forest_t m;
  error_t e;
  scda_forest_no_error_internal (&e);
  identify (f, group, forest, &m);
  const size_t d = static_cast<size_t> (m.dimension);
  if (room (offsets, m.own_trees + 1, &e) && room (coordinates, m.n * d, &e) && room (level, m.n, &e) && room (type, m.n, &e) && room (position, m.n, &e)) {
    each_element (forest, 1, [&] (t8_locidx_t at, t8_gloidx_t tree, t8_eclass_t tree_class, const t8_element_t *element) {
      const size_t i = static_cast<size_t> (at);
      element_t found;
      if (!describe (scheme, tree_class, element, &found)) {
        scda_forest_error_internal (&e, SCDA_ERR_UNSUPPORTED, "element %llu, in tree %lld, of level %d, has a type that docs/t8code.md does not define",
                                    static_cast<unsigned long long> (m.first + i), static_cast<long long> (tree),
                                    scheme->element_get_level (tree_class, element));
        return;
      }
      for (size_t a = 0; a < d; ++a) { coordinates[i * d + a] = found.xyz[a]; }
      level[i] = found.level;
      type[i] = found.type;
      position[i] = found.position;
    });
    for (uint64_t t = 0; t < m.own_trees; ++t) {
      offsets[t] = static_cast<int64_t> (m.first) + t8_forest_get_tree_element_offset (forest, skip + static_cast<t8_locidx_t> (t));
    }
    offsets[m.own_trees] = static_cast<int64_t> (m.quadrants); /* written after the last tree */
  }
  f = scda_forest_agree_internal (f, &e, err);
  m.coordinates = coordinates.data ();
  m.level = level.data ();
  m.type = type.data ();
  m.position = position.data ();
  m.tree_offsets = offsets.data ();
  return scda_forest_write (f, group, &m, SCDA_FOREST_MESH_PARTS, err);
}

/* ---- Reading ---- */

/* The elements that a rank reads, with the one before and the one after them, and their trees. */
struct read_t {
  MPI_Comm comm;
  const char *group;
  int dimension;
  uint64_t elements = 0, first = 0, n = 0; /* of all ranks; n of them are of this rank, from `first` on */
  uint64_t before = 0, after = 0;     /* 1 if there is one before and after */
  uint64_t first_tree = 0;            /* of those that were read */
  const uint8_t *shapes = nullptr;    /* of the trees from that one on */
  std::vector<uint64_t> tree;         /* of each element, from the one before on */
  scda_forest_t rows;                 /* that was read */
  std::vector<uint8_t> path;          /* in pyramids: of each element, at each level its number among its siblings, and how many follow */
  read_t () { scda_forest_init (&rows, 3); }
  ~read_t () { scda_forest_free (&rows); }
  read_t (const read_t &) = delete;
  read_t &operator= (const read_t &) = delete;
};

inline t8_eclass_t class_at (const read_t &r, size_t row) { return class_of (r.shapes[r.tree[row] - r.first_tree]); }

/* True if the element in a row exists in this scheme. */
inline bool check_element (const t8_scheme *scheme, read_t *r, uint64_t row, t8_element_t *element, size_t most_level, error_t *e) {
  const t8_eclass_t tree_class = class_at (*r, row);
  const int dimension = r->dimension, level = r->rows.level[row];
  const unsigned long long i = r->first - r->before + row, tree = r->tree[row];
  const uint64_t position = r->rows.position[row];
  const char *const group = scda_forest_group_internal (r->group);
  if (level > scheme->get_maxlevel (tree_class)) {
    return scda_forest_error_internal (e, SCDA_ERR_UNSUPPORTED, "element %llu of %.58s, in tree %llu: found level %d, expected at most %d, the scheme's highest", i, group, tree,
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
    return scda_forest_error_internal (e, SCDA_ERR_FORMAT, "element %llu of %.58s, in tree %llu: its coordinates and type differ from those of position %llu in the scheme",
                                       i, group, tree, static_cast<unsigned long long> (position)) != 0;
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

/* Reads the elements of this rank, and compares them with the scheme. */
inline scda_fcontext_t *read_mesh (scda_fcontext_t *f, const char *group, int64_t step, const t8_scheme *scheme, int dimension, MPI_Comm comm, read_t *r,
                                   int *levels, int *err) {
  error_t e;
  scda_forest_no_error_internal (&e);
  r->comm = comm;
  r->group = group;
  r->dimension = dimension;
  f = scda_forest_read_elements (f, group, step, &r->rows, err);
  if (f == nullptr) { return nullptr; }
  r->elements = r->rows.quadrants;
  r->first = r->rows.first;
  r->n = r->rows.n;
  r->before = r->rows.before;
  r->after = r->rows.after;
  r->first_tree = r->rows.first_tree;
  r->shapes = r->rows.tree_shape;
  const uint64_t begin = r->first - r->before, rows = r->before + r->n + r->after;
  bool pyramids = false;
  *levels = 0;
  if (room (r->tree, rows, &e)) {
    for (uint64_t row = 0, t = 0; row < rows; ++row) {
      const int level = r->rows.level[row];
      while (static_cast<uint64_t> (r->rows.tree_offsets[t + 1]) <= begin + row) { ++t; }
      r->tree[row] = r->first_tree + t;
      pyramids = pyramids || class_at (*r, row) == T8_ECLASS_PYRAMID;
      *levels = level > *levels ? level : *levels;
    }
  }
  MPI_Allreduce (MPI_IN_PLACE, levels, 1, MPI_INT, MPI_MAX, comm);
  if (pyramids) { room (r->path, rows * 2 * static_cast<uint64_t> (*levels), &e); }
  if (e.err == SCDA_SUCCESS) {
    t8_eclass_t tree_class = T8_ECLASS_INVALID;
    t8_element_t *element = nullptr;
    for (uint64_t row = 0; row < rows; ++row) {
      if (class_at (*r, row) != tree_class) {
        if (element != nullptr) { scheme->element_destroy (tree_class, 1, &element); }
        tree_class = class_at (*r, row);
        scheme->element_new (tree_class, 1, &element);
      }
      if (!check_element (scheme, r, row, element, static_cast<size_t> (*levels), &e)) { break; }
    }
    if (element != nullptr) { scheme->element_destroy (tree_class, 1, &element); }
  }
  return scda_forest_agree_internal (f, &e, err);
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

/* Compares the trees of an unrefined forest with those in the file. */
inline scda_fcontext_t *compare_trees (scda_fcontext_t *f, const char *group, int64_t step, t8_forest_t forest, MPI_Comm comm, int *err) {
  trees_t own;
  scda_forest_t m;
  error_t e;
  scda_forest_no_error_internal (&e);
  own.dimension = t8_forest_get_dimension (forest);
  const uint64_t n = static_cast<uint64_t> (t8_forest_get_num_local_trees (forest));
  const uint64_t first = n > 0 ? static_cast<uint64_t> (t8_forest_global_tree_id (forest, 0)) : 0;
  const size_t F = static_cast<size_t> (most_faces[own.dimension]), C = static_cast<size_t> (most_corners[own.dimension]);
  scda_forest_init (&m, own.dimension);
  m.first_tree = first;
  m.own_trees = n;
  f = scda_forest_read_trees (f, group, step, &m, err);
  if (f == nullptr) { return nullptr; }
  trees_of (forest, 0, &own, &e);
  for (size_t k = 0; k < n && e.err == SCDA_SUCCESS; ++k) {
    const unsigned long long tree = first + k;
    if (own.shape[k] != m.tree_shape[k]) {
      scda_forest_error_internal (&e, SCDA_ERR_ARG, "the cmesh does not match the file: tree %llu: found shape %d, expected %d (numbers of VTK)", tree, own.shape[k],
                                  m.tree_shape[k]);
      break;
    }
    for (size_t face = k * F; face < (k + 1) * F; ++face) {
      if (own.to_tree[face] != m.tree_to_tree64[face] || own.to_face[face] != m.tree_to_face[face]) {
        scda_forest_error_internal (&e, SCDA_ERR_ARG, "the cmesh does not match the file: face %d of tree %llu: found tree %lld (face and orientation %d) across it, "
                                    "expected tree %lld (%d)", static_cast<int> (face - k * F), tree, static_cast<long long> (own.to_tree[face]), own.to_face[face],
                                    static_cast<long long> (m.tree_to_tree64[face]), m.tree_to_face[face]);
      }
    }
    if (!own.have_vertices || m.vertices == nullptr) { continue; }
    double most = 0.;
    for (size_t i = k * C * 3; i < (k + 1) * C * 3; ++i) { most = std::fmax (most, std::fabs (own.vertices[i])); }
    for (size_t i = k * C * 3; i < (k + 1) * C * 3; ++i) {
      if (!(std::fabs (own.vertices[i] - m.vertices[i]) <= 1e-10 * most)) {
        scda_forest_error_internal (&e, SCDA_ERR_ARG, "the cmesh does not match the file: coordinate %d of vertex %d of tree %llu: found %.17g, expected %.17g",
                                    static_cast<int> (i % 3), static_cast<int> (i / 3 % C), tree, own.vertices[i], m.vertices[i]);
      }
    }
  }
  scda_forest_free (&m);
  return scda_forest_agree_internal (f, &e, err);
}

/* Finds the forest, and compares it with the cmesh. */
inline scda_fcontext_t *find (scda_fcontext_t *f, const char *group, int64_t step, t8_cmesh_t cmesh, int *err) {
  const int dimension = t8_cmesh_get_dimension (cmesh);
  const uint64_t trees = static_cast<uint64_t> (t8_cmesh_get_num_trees (cmesh));
  scda_forest_t m;
  error_t e;
  scda_forest_no_error_internal (&e);
  scda_forest_init (&m, dimension);
  f = scda_forest_find_shapes (f, group, step, &m, err);
  if (f == nullptr) { return nullptr; }
  if (m.dimension != dimension) {
    scda_forest_error_internal (&e, SCDA_ERR_ARG, "the cmesh does not match the forest %.58s: found %d dimensions, expected %d",
                                scda_forest_group_internal (group), dimension, m.dimension);
  }
  else if (m.trees != trees) {
    scda_forest_error_internal (&e, SCDA_ERR_ARG, "the cmesh does not match the file: found %llu trees, expected %llu", static_cast<unsigned long long> (trees),
                                static_cast<unsigned long long> (m.trees));
  }
  return scda_fagree (f, e.err, e.why, err);
}

/* The first element of each rank, followed by the number of all elements. */
inline std::vector<int64_t> first_elements (uint64_t n, MPI_Comm comm) {
  int size = 0;
  int64_t own = static_cast<int64_t> (n);
  MPI_Comm_size (comm, &size);
  std::vector<int64_t> first (static_cast<size_t> (size) + 1);
  MPI_Allgather (&own, 1, MPI_INT64_T, first.data () + 1, 1, MPI_INT64_T, comm);
  for (size_t p = 1; p < first.size (); ++p) { first[p] += first[p - 1]; }
  return first;
}

/* Moves values of elements, `n` of them on this rank, from `data` to the ranks that have these elements in a forest. */
template <typename T> std::vector<T> moved (const T *data, uint64_t n, t8_forest_t forest, MPI_Comm comm) {
  const uint64_t local = static_cast<uint64_t> (t8_forest_get_local_num_leaf_elements (forest));
  const std::vector<int64_t> from = first_elements (n, comm), to = first_elements (local, comm);
  std::vector<T> received (local);
  std::vector<MPI_Request> requests;
  int rank = 0;
  MPI_Datatype item;
  MPI_Comm_rank (comm, &rank);
  MPI_Type_contiguous (static_cast<int> (sizeof (T)), MPI_BYTE, &item);
  MPI_Type_commit (&item);
  /* for each rank that has some of the elements of this rank in the other partition: the first of these here, and how many */
  const auto with_each = [&] (const std::vector<int64_t> &mine, const std::vector<int64_t> &theirs, auto exchange) {
    const int64_t begin = mine[static_cast<size_t> (rank)], end = mine[static_cast<size_t> (rank) + 1];
    size_t other = static_cast<size_t> (std::upper_bound (theirs.begin (), theirs.end (), begin) - theirs.begin ());
    for (int64_t at = begin; at < end; ++other) {
      const int64_t next = std::min (end, theirs[other]);
      if (next > at) {
        requests.push_back (MPI_REQUEST_NULL);
        exchange (at - begin, static_cast<int> (next - at), static_cast<int> (other) - 1, &requests.back ());
      }
      at = next;
    }
  };
  with_each (to, from, [&] (int64_t at, int count, int other, MPI_Request *request) {
    MPI_Irecv (received.data () + at, count, item, other, 0, comm, request);
  });
  with_each (from, to, [&] (int64_t at, int count, int other, MPI_Request *request) {
    MPI_Isend (data + at, count, item, other, 0, comm, request);
  });
  MPI_Waitall (static_cast<int> (requests.size ()), requests.data (), MPI_STATUSES_IGNORE);
  MPI_Type_free (&item);
  return received;
}

/* Replaces a forest by one whose elements are distributed evenly. */
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
      scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "the elements of %.58s are inconsistent: found %llu of level %d or less, expected %lld, as in their trees",
                                  scda_forest_group_internal (r.group), static_cast<unsigned long long> (all), level,
                                  static_cast<long long> (t8_forest_get_global_num_leaf_elements (*forest)));
    }
    f = scda_forest_agree_internal (f, &e, err);
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
  /* The forest is the one that was saved. */
  distribute (forest);
  const t8_scheme *scheme = t8_forest_get_scheme (*forest);
  const long long all = static_cast<long long> (t8_forest_get_global_num_leaf_elements (*forest));
  uint64_t same = 0;
  if (static_cast<uint64_t> (all) == r.elements) {
    const std::vector<uint64_t> trees = moved (r.tree.data () + r.before, r.n, *forest, r.comm);
    const auto levels_of = moved (r.rows.level + r.before, r.n, *forest, r.comm);
    const auto positions = moved (r.rows.position + r.before, r.n, *forest, r.comm);
    each_element (*forest, 1, [&] (t8_locidx_t at, t8_gloidx_t tree, t8_eclass_t tree_class, const t8_element_t *element) {
      const size_t row = static_cast<size_t> (at);
      const int level = scheme->element_get_level (tree_class, element);
      same += static_cast<uint64_t> (tree) == trees[row] && level == levels_of[row] && position_of (scheme, tree_class, element, level) == positions[row];
    });
  }
  MPI_Allreduce (MPI_IN_PLACE, &same, 1, MPI_UINT64_T, MPI_SUM, r.comm);
  if (same != r.elements) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "the forest rebuilt from %.58s: found %lld elements, %llu of them as in the file, expected its %llu elements",
                                scda_forest_group_internal (r.group), all, static_cast<unsigned long long> (same), static_cast<unsigned long long> (r.elements));
  }
  return scda_forest_agree_internal (f, &e, err);
}

} // namespace scda_t8code_internal

/* ---- The functions ---- */

inline scda_fcontext_t *scda_t8code_write_group (scda_fcontext_t *f, const char *group, t8_forest_t forest, const char *attributes, int *err) {
  scda_forest_t m;
  scda_forest_init (&m, t8_forest_get_dimension (forest));
  m.shapes = 1;
  return scda_forest_write_attributes (f, group, &m, attributes, err);
}

inline scda_fcontext_t *scda_t8code_write_forest (scda_fcontext_t *f, const char *group, t8_forest_t forest, int *err) {
  if (f != nullptr) { f = scda_t8code_internal::write_trees (f, group, forest, err); }
  return f == nullptr ? nullptr : scda_t8code_internal::write_mesh (f, group, forest, err);
}

inline scda_fcontext_t *scda_t8code_write_mesh (scda_fcontext_t *f, const char *group, t8_forest_t forest, int *err) {
  return f == nullptr ? nullptr : scda_t8code_internal::write_mesh (f, group, forest, err);
}

inline scda_fcontext_t *scda_t8code_write_step (scda_fcontext_t *f, const char *group, t8_forest_t forest, double time, const char *units, int *err) {
  scda_forest_t m;
  scda_t8code_internal::trees_t t;
  int lacks = 0;
  if (f == nullptr) { return nullptr; }
  scda_t8code_internal::identify (f, group, forest, &m);
  f = scda_t8code_internal::take_trees (f, forest, &m, &t, err);
  f = scda_forest_write_step (f, group, &m, time, units, &lacks, err);
  return f != nullptr && lacks ? scda_t8code_internal::write_mesh (f, group, forest, err) : f;
}

inline scda_fcontext_t *scda_t8code_write_field (scda_fcontext_t *f, const char *group, t8_forest_t forest, const scda_dataset_t *field,
                                                 const void *data, int *err) {
  scda_forest_t m;
  if (f == nullptr) { return nullptr; }
  scda_t8code_internal::identify (f, group, forest, &m);
  return scda_forest_write_field (f, group, &m, field, data, 1, err);
}

inline scda_fcontext_t *scda_t8code_write_ragged (scda_fcontext_t *f, const char *group, t8_forest_t forest, const scda_dataset_t *field,
                                                  const int64_t *counts, const void *data, int *err) {
  scda_forest_t m;
  if (f == nullptr) { return nullptr; }
  scda_t8code_internal::identify (f, group, forest, &m);
  return scda_forest_write_ragged (f, group, &m, field, counts, data, err);
}

inline scda_fcontext_t *scda_t8code_read_forest (scda_fcontext_t *f, const char *group, int64_t step, t8_cmesh_t cmesh, const t8_scheme *scheme,
                                                 MPI_Comm comm, t8_forest_t *forest, int *err) {
  const int dimension = t8_cmesh_get_dimension (cmesh);
  scda_t8code_internal::read_t r;
  int levels = 0;
  *forest = nullptr;
  if (f != nullptr) { f = scda_t8code_internal::find (f, group, step, cmesh, err); }
  if (f == nullptr) { /* on all ranks */
    t8_cmesh_unref (&cmesh);
    scheme->unref ();
    return nullptr;
  }
  *forest = t8_forest_new_uniform (cmesh, scheme, 0, 0, comm);
  f = scda_t8code_internal::compare_trees (f, group, step, *forest, comm, err);
  if (f != nullptr) { f = scda_t8code_internal::read_mesh (f, group, step, t8_forest_get_scheme (*forest), dimension, comm, &r, &levels, err); }
  if (f != nullptr) { f = scda_t8code_internal::refine (f, r, levels, forest, err); }
  if (f == nullptr) { t8_forest_unref (forest); }
  return f;
}

inline scda_fcontext_t *scda_t8code_find_field (scda_fcontext_t *f, const char *group, int64_t step, const char *name, int *found,
                                                scda_dataset_t *d, int *err) {
  return scda_forest_find_field (f, group, step, name, found, d, err);
}

inline scda_fcontext_t *scda_t8code_read_field (scda_fcontext_t *f, const char *group, int64_t step, t8_forest_t forest, const char *name,
                                                int type, uint64_t components, void *data, int *err) {
  scda_forest_t m;
  if (f == nullptr) { return nullptr; }
  scda_t8code_internal::identify (f, group, forest, &m);
  return scda_forest_read_field (f, group, step, &m, name, type, components, data, err);
}

inline scda_fcontext_t *scda_t8code_read_counts (scda_fcontext_t *f, const char *group, int64_t step, t8_forest_t forest, const char *name,
                                                 int64_t *counts, int *err) {
  scda_forest_t m;
  if (f == nullptr) { return nullptr; }
  scda_t8code_internal::identify (f, group, forest, &m);
  return scda_forest_read_counts (f, group, step, &m, name, counts, err);
}

inline scda_fcontext_t *scda_t8code_read_ragged (scda_fcontext_t *f, const char *group, int64_t step, t8_forest_t forest, const char *name,
                                                 int type, uint64_t components, const int64_t *counts, void *data, int *err) {
  scda_forest_t m;
  if (f == nullptr) { return nullptr; }
  scda_t8code_internal::identify (f, group, forest, &m);
  return scda_forest_read_ragged (f, group, step, &m, name, type, components, counts, data, err);
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
