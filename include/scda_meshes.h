/* Generated from crates/c/src by cbindgen: do not edit. SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file scda_meshes.h
 * Forests of squares and cubes, patches of block-structured codes, particles, and their time steps: docs/forest.md, docs/patches.md and
 * docs/particles.md.
 *
 * Files and errors are those of scda.h. All functions that take a file are collective.
 */


#ifndef SCDA_MESHES_H
#define SCDA_MESHES_H

#include <scda.h>

/** The group of a forest that is used where NULL is passed. */
#define SCDA_FOREST_GROUP "forest"

/** The group of patches that is used where NULL is passed. */
#define SCDA_PATCHES_GROUP "patches"

/** The group of particles that is used where NULL is passed. */
#define SCDA_PARTICLES_GROUP "particles"


/**
 * A part of a forest for `scda_forest_write`: the connectivity.
 */
#define SCDA_FOREST_CONNECTIVITY 1

/**
 * A part of a forest: the mesh.
 */
#define SCDA_FOREST_MESH_PARTS 2

/**
 * A part of a forest: the bytes that the program stores for each quadrant.
 */
#define SCDA_FOREST_DATA 4

/**
 * A part of a forest: the partition of its quadrants.
 */
#define SCDA_FOREST_PARTITION 8

/**
 * Edges or corners that trees share, in the arrays of `p4est_connectivity_t`.
 */
struct scda_forest_shared {
  /**
   * Their number. 0: none are stored, and there are no arrays.
   */
  uint64_t count;
  /**
   * The number of each edge (corner) of each tree, or -1.
   */
  const int32_t *tree_to;
  /**
   * Where the entries of each begin and end in the next two: `count + 1` numbers.
   */
  const int32_t *offsets;
  /**
   * The tree of each entry.
   */
  const int32_t *to_tree;
  /**
   * The edge (corner) of that tree.
   */
  const int8_t *to_code;
};

/**
 * Edges or corners that trees share.
 */
typedef struct scda_forest_shared scda_forest_shared_t;

/**
 * A forest as arrays, described in docs/forest.md; for any shapes in docs/t8code.md, where quadrants are
 * elements. Fill it by `scda_forest_init`; then set what is to be written, or let `scda_forest_read` fill
 * it. What it points to is used only during a call. Release what was read by `scda_forest_free`.
 */
struct scda_forest {
  /**
   * The size of this struct in bytes, as `scda_forest_init` sets it.
   */
  size_t size;
  /**
   * The number of axes: 2 or 3, for any shapes also 1. Like everything that is not described as of "this
   * rank", it is the same on all ranks.
   */
  int dimension;
  /**
   * 0 (default): squares or cubes. 1: any shapes, whose trees are distributed: each rank has `own_trees`
   * of them.
   */
  int shapes;
  /**
   * Reading: the finest level that the program can represent, 0 to 30.
   */
  int finest;
  /**
   * Reading: `packed` has coordinates in units of 2^-`unit` of a tree's edge; 0 to 30, at least `finest`.
   */
  int unit;
  /**
   * Reading: 1: each rank gets the quadrants that it had when the same number of ranks wrote the file; 0:
   * those of `partition`.
   */
  int stored_partition;
  /**
   * Zero.
   */
  int reserved;
  /**
   * The number of trees.
   */
  uint64_t trees;
  /**
   * With any shapes: the first tree of this rank that no lower rank has.
   */
  uint64_t first_tree;
  /**
   * With any shapes: the number of these trees.
   */
  uint64_t own_trees;
  /**
   * The number of quadrants of all ranks.
   */
  uint64_t quadrants;
  /**
   * The number of the first quadrant of this rank.
   */
  uint64_t first;
  /**
   * The number of quadrants of this rank.
   */
  uint64_t n;
  /**
   * The checksum of the mesh: the sum, modulo 2^64, of the results of `scda_forest_checksum` on the ranks.
   */
  uint64_t checksum;
  /**
   * Writing: the corners of the quadrants of this rank, `dimension` numbers for each.
   */
  const int32_t *coordinates;
  /**
   * Writing: the levels of the quadrants of this rank.
   */
  const uint8_t *level;
  /**
   * With any shapes: the types of the elements of this rank.
   */
  const uint8_t *type;
  /**
   * With any shapes: the positions of the elements of this rank.
   */
  const uint64_t *position;
  /**
   * With any shapes, after reading: 1 if `coordinates`, `level`, `type` and `position` begin with the
   * element before the first one of this rank.
   */
  uint64_t before;
  /**
   * Likewise: 1 if they end with the element after the last one.
   */
  uint64_t after;
  /**
   * Where the quadrants of each tree begin and end: `trees + 1` numbers. With any shapes, those of this
   * rank's trees; in writing, also the end of all after the last one; after reading, also the end of the
   * last one of these trees.
   */
  const int64_t *tree_offsets;
  /**
   * The first quadrant of each rank, followed by the number of all. Reading: NULL: an equal share for each
   * rank, give or take one.
   */
  const int64_t *partition;
  /**
   * The number of bytes that the program stores for each quadrant. Reading: 0: they are not read.
   */
  uint64_t data_bytes;
  /**
   * These bytes of the quadrants of this rank.
   */
  const void *data;
  /**
   * After reading: the coordinates and the level of each quadrant of this rank, in the form of
   * p4est_inflate.
   */
  const int32_t *packed;
  /**
   * The tree across each face of each tree. Not with any shapes.
   */
  const int32_t *tree_to_tree;
  /**
   * The tree across each face of each tree, with any shapes.
   */
  const int64_t *tree_to_tree64;
  /**
   * With any shapes: the shape of each tree.
   */
  const uint8_t *tree_shape;
  /**
   * The face of that tree, with the orientation.
   */
  const int8_t *tree_to_face;
  /**
   * The number of vertices. 0: the forest has no geometry.
   */
  uint64_t num_vertices;
  /**
   * Three coordinates of each vertex. With any shapes, for which `num_vertices` is 0: of each corner of
   * each tree; NULL: the forest has no geometry.
   */
  const double *vertices;
  /**
   * The vertices at the corners of each tree.
   */
  const int32_t *tree_to_vertex;
  /**
   * Shared edges, in 3D.
   */
  scda_forest_shared_t edges;
  /**
   * Shared corners.
   */
  scda_forest_shared_t corners;
  /**
   * The number of bytes that the program stores for each tree. May be 0.
   */
  uint64_t tree_bytes;
  /**
   * These bytes of all trees.
   */
  const void *tree_data;
  /**
   * The prefix of functions in messages, such as `scda_p4est`. NULL (default): messages name
   * `scda_forest_write`.
   */
  const char *functions;
  /**
   * Memory of the library.
   */
  void *kept;
};

/**
 * A forest of squares or cubes.
 */
typedef struct scda_forest scda_forest_t;

/**
 * A mesh of patches. Fill it by `scda_patches_init`; then set what `scda_patches_write_mesh` needs, or let
 * `scda_patches_read_mesh` fill the rest. What it points to is used only during that call. Release it by
 * `scda_patches_free`.
 */
struct scda_patches {
  /**
   * The size of this struct in bytes, as `scda_patches_init` sets it.
   */
  size_t size;
  /**
   * The number of axes, 1 to 3: d. The same on all ranks, like the next four members.
   */
  int dimension;
  /**
   * The number of levels.
   */
  int levels;
  /**
   * For each level and axis: the number of cells side by side in one cell of the previous level; 1 for
   * level 0.
   */
  const int32_t *ratio;
  /**
   * The first cell on each axis, followed by the number of cells on each axis, in cells of level 0.
   */
  const int64_t *domain;
  /**
   * The lower bound of the domain on each axis, followed by the size of a cell of level 0 on each axis.
   */
  const double *geometry;
  /**
   * The number of patches of this rank. May be 0.
   */
  size_t n;
  /**
   * The level of each patch of this rank. Like the next member, not set by the program for patches that it
   * chooses from a mesh that was read.
   */
  const int32_t *level;
  /**
   * For each patch of this rank: its first cell on each axis, followed by its number of cells on each
   * axis.
   */
  const int64_t *boxes;
  /**
   * For each patch of this rank, its number among those of all ranks. NULL: they are consecutive, in the
   * order of the ranks. NULL on all ranks or on none, except that a rank without patches may pass NULL.
   */
  const uint64_t *number;
  /**
   * The number of patches of all ranks. Set by `scda_patches_write_mesh` and `scda_patches_read_mesh`,
   * like the following members.
   */
  uint64_t patches;
  /**
   * The number of cells of all patches.
   */
  uint64_t cells;
  /**
   * The number of the first patch of this rank, if `number` is NULL.
   */
  uint64_t first;
  /**
   * The level of each patch of all ranks. NULL if the mesh was written without `number`.
   */
  const int32_t *all_level;
  /**
   * The boxes of all patches, like `boxes`. NULL likewise.
   */
  const int64_t *all_boxes;
  /**
   * Memory of the library.
   */
  void *kept;
};

/**
 * A mesh of patches.
 */
typedef struct scda_patches scda_patches_t;

/**
 * A field of patches: its dataset, and where its values are in memory. Fill it by `scda_patch_field_init`.
 *
 * In memory, the cells of each patch are surrounded by `ghost` layers on each axis; x varies fastest. AMReX,
 * for example, has arrays for each variable (`cell_bytes` 0), while in FLASH the variables of a cell are
 * side by side (`cell_bytes` is the size of all of them).
 */
struct scda_patch_field {
  /**
   * The size of this struct in bytes, as `scda_patch_field_init` sets it.
   */
  size_t size;
  /**
   * The number of consecutive numbers in a cell. 1 (default): a scalar, whose dataset has one dimension
   * fewer.
   */
  int components;
  /**
   * The layers of ghost cells at both ends of each axis.
   */
  int ghost;
  /**
   * The distance in bytes from one cell to the next along x. 0 (default): the size of a cell's numbers.
   */
  int64_t cell_bytes;
  /**
   * 0 (default): `data` has an address for each patch. Otherwise it has only that of this rank's first
   * patch, and each following patch is this many bytes further, as in one array of all patches.
   */
  int64_t patch_bytes;
  /**
   * For each patch of this rank, the address of its first cell in memory, which is a ghost cell if there
   * are any. May be NULL without patches.
   */
  void *const *data;
  /**
   * Its name within the group, and its type, which must be a number. Writing: also layout, codec,
   * attributes and so on, but not its shape.
   */
  scda_dataset_t dataset;
};

/**
 * A field of patches.
 */
typedef struct scda_patch_field scda_patch_field_t;

/**
 * The distribution of particles over the ranks. Fill it by `scda_particles_init`; then set what
 * `scda_particles_write` needs, or let `scda_particles_read` fill it. What it points to is used only during
 * that call. Release it by `scda_particles_free`.
 */
struct scda_particles {
  /**
   * The size of this struct in bytes, as `scda_particles_init` sets it.
   */
  size_t size;
  /**
   * The number of cells of this rank: quadrants, patches or others. 0 on all ranks: particles without cells.
   */
  uint64_t cells;
  /**
   * For each cell of this rank, the number of its particles, which follow those of the previous cell in
   * memory. After reading, valid until these particles are read again or freed.
   */
  const int64_t *counts;
  /**
   * For each cell of this rank, its number among those of all ranks. NULL: they are consecutive, in the
   * order of the ranks. NULL on all ranks or on none, except that a rank without cells may pass NULL.
   */
  const uint64_t *number;
  /**
   * Writing: the group of the mesh whose quadrants, patches or cells these are. NULL: no mesh in the file.
   */
  const char *mesh;
  /**
   * The number of particles of this rank. Set by the program only to write particles without cells.
   */
  uint64_t n;
  /**
   * The number of particles of all ranks. Set by `scda_particles_write` and `scda_particles_read`, like
   * the following members.
   */
  uint64_t particles;
  /**
   * The number of cells of all ranks; 1 if there are none.
   */
  uint64_t all_cells;
  /**
   * The number of the first particle of this rank, if `number` is NULL.
   */
  uint64_t first;
  /**
   * The number of the first cell of this rank, if `number` is NULL.
   */
  uint64_t first_cell;
  /**
   * Memory of the library.
   */
  void *kept;
};

/**
 * The distribution of particles over the ranks.
 */
typedef struct scda_particles scda_particles_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Begins a time step of a forest, of patches or of particles, to which everything belongs that is written to
 * its group until the next call. A file with a single state needs none. Particles whose `mesh` is set have
 * the times of the mesh.
 *
 * Collective; `time` may differ between the ranks.
 *
 * @param [in] f           The file, open for writing.
 * @param [in] group       The name of the group. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] time        The time. That of rank 0 is written.
 * @param [in] units       Its unit, such as `s`, instead of `units` in the attributes. NULL, or an empty C string:
 *                         none.
 * @param [in] attributes  Other attributes, a JSON object as of a dataset, such as the number of the step
 *                         (`scda_set_attribute`). NULL: none. `scda_fread_attribute` reads one by the name of the
 *                         time, such as "patches/time".
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, and those of `scda_fwrite_dataset`.
 */
scda_fcontext_t *scda_forest_write_time(scda_fcontext_t *f,
                                        const char *group,
                                        double time,
                                        const char *units,
                                        const char *attributes,
                                        int *err);

/**
 * The number of time steps of a forest, of patches or of particles. Without times, the contents of the group
 * are one step. 0: the group has neither times nor a mesh or particles, as in the file of a job that was
 * killed before its first commit. Particles without times have those of their mesh.
 *
 * Collective. All ranks receive the same value.
 *
 * @param [in] f       The file, open for reading.
 * @param [in] group   The name of the group. NULL: `SCDA_FOREST_GROUP`.
 * @param [out] steps  The number of steps. May be NULL.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, and those of `scda_ffind`.
 */
scda_fcontext_t *scda_forest_steps(scda_fcontext_t *f,
                                   const char *group,
                                   int64_t *steps,
                                   int *err);

/**
 * Reads the time of a step of a forest, of patches or of particles.
 *
 * Collective. All ranks receive the same value.
 *
 * @param [in] f      The file, open for reading.
 * @param [in] group  The name of the group. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] step   The step: 0 is the first in the file; -1 is the last, -2 the one before it.
 * @param [out] time  The time. May be NULL.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_NOT_FOUND` if there is no such step, or if the group has no times; `SCDA_ERR_FORMAT` for an
 * invalid time; and those of `scda_ffind_dataset` and `scda_fread_dataset`.
 */
scda_fcontext_t *scda_forest_read_time(scda_fcontext_t *f,
                                       const char *group,
                                       int64_t step,
                                       double *time,
                                       int *err);

/**
 * Fills a forest with the defaults, for a program that knows its first `size` bytes; `scda_forest_init`
 * calls it.
 *
 * Not collective.
 *
 * @param [out] m    The forest. Must not be NULL.
 * @param [in] size  The size of `*m` when the program was compiled, which is stored in its `size`.
 * @return           0, or a negative value for NULL.
 */
int scda_forest_init_size(scda_forest_t *m,
                          size_t size);

/**
 * Releases the library's memory for a forest that was read, and fills it with the defaults.
 *
 * Not collective.
 *
 * @param [in,out] m  The forest.
 * @return            0, or a negative value for NULL.
 */
int scda_forest_free(scda_forest_t *m);

/**
 * The contribution of some quadrants to the checksum of their mesh. The checksum is the sum over all
 * quadrants, modulo 2^64, which `MPI_Allreduce` of MPI_UINT64_T computes. As 16 hexadecimal digits, it is the
 * attribute `scda_mesh` of the mesh and its fields.
 *
 * Not collective.
 *
 * @param [in] tree_offsets  As in the file: the number of the first quadrant of each tree, followed by the
 *                           number of all.
 * @param [in] first         The number of the first quadrant, among those of all ranks.
 * @param [in] n             The number of quadrants.
 * @param [in] level         Their levels. May be NULL if there are none.
 * @return                   The sum of their contributions.
 */
uint64_t scda_forest_checksum(const int64_t *tree_offsets,
                              uint64_t first,
                              uint64_t n,
                              const uint8_t *level);

/**
 * Writes the section `about this file`, which explains the format, where it is described, how compressed
 * data are decoded by hand, and the meaning of units, coordinates and the order of quadrants. It is for
 * readers who have nothing but the file, so it comes first, right after `scda_fopen_write`.
 * `scda_p4est_save` writes it. A file that begins with it gets an HDF5 view with `params.hdf5` 0, too.
 *
 * Collective.
 *
 * @param [in] f     The file, open for writing.
 * @param [out] err  The error code.
 * @return           `f`, or NULL on error.
 * Errors: those of `scda_fwrite_block`.
 */
scda_fcontext_t *scda_forest_write_about(scda_fcontext_t *f,
                                         int *err);

/**
 * Writes the attributes that mark a group as a forest, and others. If this function was not called, the
 * following ones write these attributes without others.
 *
 * Collective.
 *
 * @param [in] f           The file, open for writing.
 * @param [in] group       The name of the forest: a group as `scda_fwrite_group` takes it. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] m           The forest, of which only `dimension` and `shapes` are used.
 * @param [in] attributes  Further attributes, such as a title: a JSON object as a C string in UTF-8, without
 *                         the keys `scda_forest` and `dimension`. NULL: none.
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, and those of `scda_fwrite_group`.
 */
scda_fcontext_t *scda_forest_write_attributes(scda_fcontext_t *f,
                                              const char *group,
                                              const scda_forest_t *m,
                                              const char *attributes,
                                              int *err);

/**
 * Writes parts of a forest in one call; the first call also writes the attributes of its group. Mesh and
 * connectivity are valid until the next ones in the file, including later time steps.
 *
 * Collective; members of `m` described as of this rank may differ between the ranks. Rank 0 writes what all
 * ranks have.
 *
 * @param [in] f      The file, open for writing.
 * @param [in] group  The name of the forest. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] m      The forest, with the arrays of these parts.
 * @param [in] parts  The parts: a sum of `SCDA_FOREST_CONNECTIVITY`, `SCDA_FOREST_MESH_PARTS`,
 *                    `SCDA_FOREST_DATA` and `SCDA_FOREST_PARTITION`.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE` for another mesh in a step that has fields, and for data of another mesh than the
 * last one; `SCDA_ERR_RANGE` for more vertices, or bytes of trees, than docs/forest.md allows;
 * `SCDA_ERR_ARG`; `SCDA_ERR_MEMORY`; and those of `scda_fwrite_datasets`. Whether the quadrants fill their
 * trees is not checked here, but in reading and by `scda check`.
 */
scda_fcontext_t *scda_forest_write(scda_fcontext_t *f,
                                   const char *group,
                                   const scda_forest_t *m,
                                   int parts,
                                   int *err);

/**
 * Begins a time step: writes the attributes of the group, the time, and the connectivity, unless the file
 * has them already. In a file that was opened by `scda_fopen_append`, the mesh is compared with the last one
 * in the file; the connectivity is written again.
 *
 * Collective; members of `m` described as of this rank may differ between the ranks.
 *
 * @param [in] f        The file, open for writing.
 * @param [in] group    The name of the forest. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] m        The forest, with the arrays of the connectivity.
 * @param [in] time     The time. That of rank 0 is written.
 * @param [in] units    Its unit, such as `s`. NULL, or an empty C string: none.
 * @param [out] lacks   1: the last mesh in the file is another one, so this one must be written next; 0: it
 *                      is this one.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: those of `scda_forest_write` and `scda_forest_write_time`.
 */
scda_fcontext_t *scda_forest_write_step(scda_fcontext_t *f,
                                        const char *group,
                                        const scda_forest_t *m,
                                        double time,
                                        const char *units,
                                        int *lacks,
                                        int *err);

/**
 * Writes a field with the same number of items for each quadrant. The mesh of the forest must be the last
 * one in the file; the field refers to it.
 *
 * Collective; `data`, and members of `m` described as of this rank, may differ between the ranks.
 *
 * @param [in] f      The file, open for writing.
 * @param [in] group  The name of the forest. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] m      The forest, without its arrays: numbers and checksum.
 * @param [in] field  Its name within the group, and its type; layout, codec, attributes and so on are as for
 *                    any dataset. The library sets `shape[0]` and the name of the first dimension; for a
 *                    scalar, `ndims` may be 0.
 * @param [in] data   The items of the quadrants of this rank. May be NULL if there are none.
 * @param [in] lend   1: with `params.lend`, this memory does not change, as for `scda_fwrite_dataset`; 0:
 *                    the call copies it.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE` if the mesh of the forest is not the last one in the file, `SCDA_ERR_ARG`,
 * `SCDA_ERR_MEMORY`, and those of `scda_fwrite_dataset`.
 */
scda_fcontext_t *scda_forest_write_field(scda_fcontext_t *f,
                                         const char *group,
                                         const scda_forest_t *m,
                                         const scda_dataset_t *field,
                                         const void *data,
                                         int lend,
                                         int *err);

/**
 * Writes a field with a number of values of its own for each quadrant, such as the coefficients of hp elements.
 *
 * Collective; `counts`, `data`, and members of `m` described as of this rank, may differ between the ranks.
 *
 * @param [in] f       The file, open for writing.
 * @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] m       The forest, without its arrays: numbers and checksum.
 * @param [in] field   As for `scda_forest_write_field`; `ndims` is 1 (or 0) if a value is one item. Its name
 *                     with that of the group, `/fields/` and `:count` may have at most 58 bytes.
 * @param [in] counts  The number of values of each quadrant of this rank. May be NULL if there are none.
 * @param [in] data    The values, those of each quadrant after those of the previous one. May be NULL if
 *                     there are none.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: those of `scda_forest_write_field`; `SCDA_ERR_RANGE` for counts that are negative or whose sum is
 * too large.
 */
scda_fcontext_t *scda_forest_write_ragged(scda_fcontext_t *f,
                                          const char *group,
                                          const scda_forest_t *m,
                                          const scda_dataset_t *field,
                                          const int64_t *counts,
                                          const void *data,
                                          int *err);

/**
 * Reads the mesh of a time step, its connectivity and, if `m->data_bytes` is not 0, the bytes that a program
 * stores for each quadrant.
 *
 * Collective. All ranks receive everything that is not described as of this rank.
 *
 * @param [in] f       The file, open for reading.
 * @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] step    The time step: 0 is the first one, -1 the last one. See `scda_forest_steps`.
 * @param [in,out] m   The forest, in which the program has set `dimension`, `finest`, `unit`,
 *                     `stored_partition`, `partition` and `data_bytes`. Release it by `scda_forest_free`,
 *                     also after an error.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_NOT_FOUND` if the file has no such forest or step; `SCDA_ERR_FORMAT` for an invalid forest;
 * `SCDA_ERR_UNSUPPORTED` for a later version of the convention, levels beyond `finest`, and data of a machine with the
 * other byte order; `SCDA_ERR_RANGE` for more trees, or quadrants on a rank, than 32 bits can count; `SCDA_ERR_ARG`
 * for a partition that does not fit; `SCDA_ERR_MEMORY`; and those of `scda_fread_dataset`.
 */
scda_fcontext_t *scda_forest_read(scda_fcontext_t *f,
                                  const char *group,
                                  int64_t step,
                                  scda_forest_t *m,
                                  int *err);

/**
 * Finds a forest of any shapes: sets `dimension`, `shapes` and `trees`.
 *
 * Collective.
 *
 * @param [in] f       The file, open for reading.
 * @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] step    The time step.
 * @param [in,out] m   The forest, filled by `scda_forest_init`.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_NOT_FOUND` if the file has no such forest or step; `SCDA_ERR_UNSUPPORTED` for another version of
 * the convention; those of `scda_ffind_dataset`.
 */
scda_fcontext_t *scda_forest_find_shapes(scda_fcontext_t *f,
                                         const char *group,
                                         int64_t step,
                                         scda_forest_t *m,
                                         int *err);

/**
 * Reads trees of a forest of any shapes, `m->own_trees` of them from `m->first_tree` on: `tree_to_tree64`,
 * `tree_to_face`, `tree_shape`, and `vertices`, which is NULL if the file has none.
 *
 * Collective; `own_trees` and `first_tree` may differ between the ranks.
 *
 * @param [in] f       The file, open for reading.
 * @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] step    The time step.
 * @param [in,out] m   The forest. Release it by `scda_forest_free`, also after an error.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: those of `scda_forest_find_shapes`; `SCDA_ERR_MEMORY`; those of `scda_fread_dataset`.
 */
scda_fcontext_t *scda_forest_read_trees(scda_fcontext_t *f,
                                        const char *group,
                                        int64_t step,
                                        scda_forest_t *m,
                                        int *err);

/**
 * Reads elements of a forest of any shapes. Each rank gets an equal share, give or take one, with the one
 * before and the one after them, and their trees: `tree_offsets` and `tree_shape` of `own_trees` trees from
 * `first_tree` on.
 *
 * Collective.
 *
 * @param [in] f       The file, open for reading.
 * @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] step    The time step.
 * @param [in,out] m   The forest. Release it by `scda_forest_free`, also after an error.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: those of `scda_forest_read_trees`; `SCDA_ERR_FORMAT` for elements that violate docs/t8code.md;
 * `SCDA_ERR_RANGE` for more on a rank than 32 bits can count.
 */
scda_fcontext_t *scda_forest_read_elements(scda_fcontext_t *f,
                                           const char *group,
                                           int64_t step,
                                           scda_forest_t *m,
                                           int *err);

/**
 * Finds a field of a time step, of which `scda_fread_dataset` can read any boxes.
 *
 * Collective.
 *
 * @param [in] f       The file, open for reading.
 * @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] step    The time step. Fields of other steps are not found.
 * @param [in] name    The name of the field, such as `density`.
 * @param [out] found  1 if the step has such a field, otherwise 0. Must not be NULL.
 * @param [in,out] d   As for `scda_ffind_dataset`.
 * @param [out] err    The error code: 0 also if there is no such field.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, and those of `scda_ffind_dataset`.
 */
scda_fcontext_t *scda_forest_find_field(scda_fcontext_t *f,
                                        const char *group,
                                        int64_t step,
                                        const char *name,
                                        int *found,
                                        scda_dataset_t *d,
                                        int *err);

/**
 * Reads a field of known number of items, for the quadrants of this rank. Numbers of another type in the file
 * are converted (see `scda_box_t`).
 *
 * Collective; `data`, and members of `m` described as of this rank, may differ between the ranks.
 *
 * @param [in] f           The file, open for reading.
 * @param [in] group       The name of the forest. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] step        The time step.
 * @param [in] m           The forest, without its arrays: numbers and checksum, in any partition. The field
 *                         must refer to its mesh.
 * @param [in] name        The name of the field.
 * @param [in] type        The type of the items in `data`, such as `SCDA_TYPE_FLOAT64`. Items that are no
 *                         numbers must have this type in the file.
 * @param [in] components  The required number of items for each quadrant, of which `scda_forest_find_field`
 *                         tells the shape; for `SCDA_TYPE_RAW`, and other types whose items may have any
 *                         size, the number of bytes.
 * @param [out] data       Room for the items of the quadrants of this rank. May be NULL if there are none.
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
 * Errors: `SCDA_ERR_NOT_FOUND` if there is no such field; `SCDA_ERR_FORMAT` if it has another shape or mesh, or a type
 * that cannot be converted; `SCDA_ERR_RANGE` for a number that does not fit; `SCDA_ERR_ARG`; those of
 * `scda_ffind_dataset` and `scda_fread_dataset`.
 */
scda_fcontext_t *scda_forest_read_field(scda_fcontext_t *f,
                                        const char *group,
                                        int64_t step,
                                        const scda_forest_t *m,
                                        const char *name,
                                        int type,
                                        uint64_t components,
                                        void *data,
                                        int *err);

/**
 * Reads the number of values of each quadrant of this rank in a field written by `scda_forest_write_ragged`.
 *
 * Collective; `counts`, and members of `m` described as of this rank, may differ between the ranks.
 *
 * @param [in] f        The file, open for reading.
 * @param [in] group    The name of the forest. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] step     The time step.
 * @param [in] m        As for `scda_forest_read_field`.
 * @param [in] name     The name of the field.
 * @param [out] counts  Room for a number for each quadrant of this rank. None is negative, and the sum over
 *                      all ranks matches the values in the file. May be NULL if there are none.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: those of `scda_forest_read_field`.
 */
scda_fcontext_t *scda_forest_read_counts(scda_fcontext_t *f,
                                         const char *group,
                                         int64_t step,
                                         const scda_forest_t *m,
                                         const char *name,
                                         int64_t *counts,
                                         int *err);

/**
 * Reads the values of the quadrants of this rank.
 *
 * Collective; `counts`, `data`, and members of `m` described as of this rank, may differ between the ranks.
 *
 * @param [in] f           The file, open for reading.
 * @param [in] group       The name of the forest. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] step        The time step.
 * @param [in] m           As for `scda_forest_read_field`.
 * @param [in] name        The name of the field.
 * @param [in] type        As for `scda_forest_read_field`.
 * @param [in] components  As for `scda_forest_read_field`, of each value.
 * @param [in] counts      What `scda_forest_read_counts` has read. May be NULL if there are none.
 * @param [out] data       Room for the sum of `counts` values. May be NULL if there are none.
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
 * Errors: those of `scda_forest_read_field`; `SCDA_ERR_RANGE` for counts that are negative or whose sum is
 * too large.
 */
scda_fcontext_t *scda_forest_read_ragged(scda_fcontext_t *f,
                                         const char *group,
                                         int64_t step,
                                         const scda_forest_t *m,
                                         const char *name,
                                         int type,
                                         uint64_t components,
                                         const int64_t *counts,
                                         void *data,
                                         int *err);

/**
 * Fills a mesh with the defaults, for a program that knows its first `size` bytes; `scda_patches_init` calls
 * it.
 *
 * Not collective.
 *
 * @param [out] m    The mesh. Must not be NULL.
 * @param [in] size  The size of `*m` when the program was compiled, which is stored in its `size`.
 * @return           0, or a negative value for NULL.
 */
int scda_patches_init_size(scda_patches_t *m,
                           size_t size);

/**
 * Fills a field with the defaults, for a program that knows its first `size` bytes; `scda_patch_field_init`
 * calls it.
 *
 * Not collective.
 *
 * @param [out] v    The field. Must not be NULL.
 * @param [in] size  The size of `*v` when the program was compiled, which is stored in its `size`.
 * @return           0, or a negative value for NULL.
 */
int scda_patch_field_init_size(scda_patch_field_t *v,
                               size_t size);

/**
 * Releases the library's memory for a mesh, and fills it with the defaults.
 *
 * Not collective.
 *
 * @param [in,out] m  The mesh.
 * @return            0, or a negative value for NULL.
 */
int scda_patches_free(scda_patches_t *m);

/**
 * Writes a mesh of patches, and before the first one the attributes of its group. `scda_forest_write_time`
 * with the name of the group begins a time step; the mesh need only be written again when it has changed.
 *
 * Collective; members of `m` that describe the patches of this rank may differ between the ranks. With
 * `number`, all ranks receive all patches, about 60 bytes for each; codes with such numbers usually have
 * them anyway.
 *
 * @param [in] f      The file, open for writing.
 * @param [in] group  The name of the group. NULL: `SCDA_PATCHES_GROUP`.
 * @param [in,out] m  The mesh. The numbers of all patches and cells are set.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG` for patches outside the domain, not ordered by level, or with wrong numbers;
 * `SCDA_ERR_RANGE`; `SCDA_ERR_MEMORY`; and those of `scda_fwrite_dataset`. Overlapping patches are not
 * detected here, but by `scda check`.
 */
scda_fcontext_t *scda_patches_write_mesh(scda_fcontext_t *f,
                                         const char *group,
                                         scda_patches_t *m,
                                         int *err);

/**
 * Writes fields of the patches in one call.
 *
 * Collective; the addresses of the fields may differ between the ranks.
 *
 * @param [in] f        The file, open for writing.
 * @param [in] group    The name of the group. NULL: `SCDA_PATCHES_GROUP`.
 * @param [in] m        The mesh, which must be the last one in the group: written by
 *                      `scda_patches_write_mesh` on this file or, in a file that is appended to, by an
 *                      earlier job.
 * @param [in] nfields  The number of fields.
 * @param [in] fields   The fields, each filled first by `scda_patch_field_init`.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE` if the mesh is not the last one written; `SCDA_ERR_ARG`; `SCDA_ERR_MEMORY`; and
 * those of `scda_fwrite_datasets`.
 */
scda_fcontext_t *scda_patches_write_fields(scda_fcontext_t *f,
                                           const char *group,
                                           const scda_patches_t *m,
                                           size_t nfields,
                                           const scda_patch_field_t *fields,
                                           int *err);

/**
 * Reads a mesh of patches, and assigns consecutive patches to each rank, with about the same number of
 * cells. `m->n`, `m->level`, `m->boxes` and `m->first` are those of this rank's share. For another
 * distribution, set `m->n` and `m->number` before the fields are read, or before the mesh is written to
 * another file.
 *
 * Collective. All ranks receive all patches, about 60 bytes for each.
 *
 * @param [in] f      The file, open for reading.
 * @param [in] group  The name of the group. NULL: `SCDA_PATCHES_GROUP`.
 * @param [in] step   The time step: 0 is the first one, -1 the last one. See `scda_forest_steps`.
 * @param [in,out] m  The mesh, filled by `scda_patches_init`, with any dimension. Release it by `scda_patches_free`,
 *                    also after an error.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_NOT_FOUND` if the file has no such mesh or step; `SCDA_ERR_FORMAT` for an invalid mesh;
 * `SCDA_ERR_ARG`; `SCDA_ERR_MEMORY`; and those of `scda_fread_dataset`.
 */
scda_fcontext_t *scda_patches_read_mesh(scda_fcontext_t *f,
                                        const char *group,
                                        int64_t step,
                                        scda_patches_t *m,
                                        int *err);

/**
 * Reads fields of this rank's patches into its memory. Numbers of another type in the file are converted to
 * that of the field (see `scda_box_t`). Ghost cells, and bytes between the values of a field, are not changed.
 *
 * Collective; the addresses of the fields may differ between the ranks. Ranks may read any patches,
 * including the same ones.
 *
 * @param [in] f        The file, open for reading.
 * @param [in] group    The name of the group. NULL: `SCDA_PATCHES_GROUP`.
 * @param [in] step     The time step, as for `scda_patches_read_mesh`.
 * @param [in] m        The mesh of this step.
 * @param [in] nfields  The number of fields.
 * @param [in] fields   The fields, with memory for this rank's patches. Of `dataset`, only name and type are
 *                      used.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: `SCDA_ERR_NOT_FOUND` if the step has no such field; `SCDA_ERR_FORMAT` for one of another shape or mesh;
 * `SCDA_ERR_USAGE` if the mesh was not read; `SCDA_ERR_ARG`, also for a type that cannot be converted;
 * `SCDA_ERR_RANGE` for a number that does not fit; `SCDA_ERR_MEMORY`; and those of `scda_fread_datasets`.
 */
scda_fcontext_t *scda_patches_read_fields(scda_fcontext_t *f,
                                          const char *group,
                                          int64_t step,
                                          const scda_patches_t *m,
                                          size_t nfields,
                                          const scda_patch_field_t *fields,
                                          int *err);

/**
 * Fills particles with the defaults, for a program that knows their first `size` bytes;
 * `scda_particles_init` calls it.
 *
 * Not collective.
 *
 * @param [out] p    The particles. Must not be NULL.
 * @param [in] size  The size of `*p` when the program was compiled, which is stored in its `size`.
 * @return           0, or a negative value for NULL.
 */
int scda_particles_init_size(scda_particles_t *p, size_t size);

/**
 * Releases the library's memory for particles, and fills them with the defaults.
 *
 * Not collective.
 *
 * @param [in,out] p  The particles.
 * @return            0, or a negative value for NULL.
 */
int scda_particles_free(scda_particles_t *p);

/**
 * Writes the number of particles of each cell, and the first time, also the attributes of the group. Their
 * fields follow. `scda_forest_write_time` with the name of the group begins a time step.
 *
 * Collective. With `number`, all ranks receive the counts of all cells, 16 bytes for each.
 *
 * @param [in] f      The file, open for writing.
 * @param [in] group  The name of the group. NULL: `SCDA_PARTICLES_GROUP`.
 * @param [in,out] p  The particles. The numbers of all particles and cells are set.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG` for wrong counts or numbers; `SCDA_ERR_USAGE` if the last mesh in the group `p->mesh` has
 * another number of cells; `SCDA_ERR_RANGE`; `SCDA_ERR_MEMORY`; and those of `scda_fwrite_dataset`.
 */
scda_fcontext_t *scda_particles_write(scda_fcontext_t *f,
                                      const char *group,
                                      scda_particles_t *p,
                                      int *err);

/**
 * Writes a field of the particles: a column, or a struct of several members.
 *
 * Collective; `data` may differ between the ranks.
 *
 * @param [in] f      The file, open for writing.
 * @param [in] group  The name of the group. NULL: `SCDA_PARTICLES_GROUP`.
 * @param [in] p      The particles of the last `scda_particles_write` to the group.
 * @param [in] field  Its name within the group, and its type; layout, codec, attributes and so on are as for
 *                    any dataset. The library sets `shape[0]`; for a scalar, `ndims` may be 0.
 * @param [in] data   The values of the particles of this rank, cell by cell. May be NULL if there are none.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_USAGE` if the particles are not those written last; `SCDA_ERR_ARG`; `SCDA_ERR_MEMORY`;
 * and those of `scda_fwrite_datasets`.
 */
scda_fcontext_t *scda_particles_write_field(scda_fcontext_t *f,
                                            const char *group,
                                            const scda_particles_t *p,
                                            const scda_dataset_t *field,
                                            const void *data,
                                            int *err);

/**
 * Reads the number of particles of each cell, and distributes the particles: this rank gets `p->n`. If the
 * file has no cells, each rank gets about the same number of particles.
 *
 * Collective; `cells` and `number` may differ between the ranks. Without `number`, a rank reads the offsets
 * of its cells, after those of an equal share of cells.
 *
 * @param [in] f       The file, open for reading.
 * @param [in] group   The name of the group. NULL: `SCDA_PARTICLES_GROUP`.
 * @param [in] step    The time step: 0 is the first one, -1 the last one. See `scda_forest_steps`.
 * @param [in] cells   The number of cells of this rank, for a mesh that has been read already. -1, on all
 *                     ranks: each rank gets consecutive cells with about the same number of particles.
 * @param [in] number  The numbers of these cells, which may be any, including those of other ranks. NULL:
 *                     they are consecutive, in the order of the ranks, and all cells.
 * @param [in,out] p   The particles, filled by `scda_particles_init`. Release them by `scda_particles_free`, also
 *                     after an error.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_NOT_FOUND` if the file has no such particles or step; `SCDA_ERR_FORMAT` for inconsistent
 * offsets; `SCDA_ERR_ARG` if the file has another number of cells; `SCDA_ERR_MEMORY`; and those of
 * `scda_fread_datasets`.
 */
scda_fcontext_t *scda_particles_read(scda_fcontext_t *f,
                                     const char *group,
                                     int64_t step,
                                     int64_t cells,
                                     const uint64_t *number,
                                     scda_particles_t *p,
                                     int *err);

/**
 * Reads a field of the particles of this rank.
 *
 * Collective; `data` may differ between the ranks.
 *
 * @param [in] f      The file, open for reading.
 * @param [in] group  The name of the group. NULL: `SCDA_PARTICLES_GROUP`.
 * @param [in] step   The time step, as for `scda_particles_read`.
 * @param [in] p      The particles of this step.
 * @param [in] field  Its name within the group. Type, items and members are those in memory, to which the
 *                    values are converted; members of structs may be left out. `shape[1]` and so on are
 *                    those of the file; for a scalar, `ndims` may be 0.
 * @param [out] data  Room for the values of `p->n` particles. May be NULL if there are none.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_NOT_FOUND` if the step has no such field; `SCDA_ERR_FORMAT` for one of another shape;
 * `SCDA_ERR_USAGE` if the particles were not read; `SCDA_ERR_ARG` for values that cannot be converted;
 * `SCDA_ERR_MEMORY`; and those of `scda_fread_datasets`.
 */
scda_fcontext_t *scda_particles_read_field(scda_fcontext_t *f,
                                           const char *group,
                                           int64_t step,
                                           const scda_particles_t *p,
                                           const scda_dataset_t *field,
                                           void *data,
                                           int *err);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

/**
 * Fills a forest with the defaults: no quadrants.
 *
 * Not collective.
 *
 * @param [out] m         The forest. Must not be NULL.
 * @param [in] dimension  The number of axes, 2 or 3.
 * @return                0, or a negative value for NULL.
 */
static inline int scda_forest_init(scda_forest_t *m, int dimension) {
  const int wrong = scda_forest_init_size(m, sizeof(*m));
  if (wrong == 0) { m->dimension = dimension; }
  return wrong;
}

/**
 * Writes the attributes by which a group is known as a forest of squares or cubes, and others.
 *
 * Collective.
 *
 * @param [in] f           The file, open for writing.
 * @param [in] group       The name of the forest. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] dimension   2 or 3.
 * @param [in] attributes  More attributes, as for `scda_forest_write_attributes`. NULL: none.
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
 * Errors: those of `scda_forest_write_attributes`.
 */
static inline scda_fcontext_t *scda_forest_write_group(scda_fcontext_t *f, const char *group, int dimension, const char *attributes, int *err) {
  scda_forest_t m;
  scda_forest_init(&m, dimension);
  return scda_forest_write_attributes(f, group, &m, attributes, err);
}

/**
 * Fills a mesh with the defaults: no patches.
 *
 * Not collective.
 *
 * @param [out] m         The mesh. Must not be NULL.
 * @param [in] dimension  The number of axes, 1 to 3.
 * @return                0, or a negative value for NULL.
 */
static inline int scda_patches_init(scda_patches_t *m, int dimension) {
  const int wrong = scda_patches_init_size(m, sizeof(*m));
  if (wrong == 0) { m->dimension = dimension; }
  return wrong;
}

/**
 * Fills a field with the defaults: scalars, without ghost layers.
 *
 * Not collective.
 *
 * @param [out] v    The field. Must not be NULL.
 * @param [in] name  Its name, without that of the group, a C string. What is longer than the name of a dataset is left out.
 * @param [in] type  The type of its numbers: `SCDA_TYPE_FLOAT64`, ...
 * @return           0, or a negative value for NULL.
 */
static inline int scda_patch_field_init(scda_patch_field_t *v, const char *name, int type) {
  const int wrong = scda_patch_field_init_size(v, sizeof(*v));
  size_t i;
  if (wrong == 0) {
    for (i = 0; i + 1 < sizeof(v->dataset.name) && name[i] != '\0'; ++i) { v->dataset.name[i] = name[i]; }
    v->dataset.type = type;
  }
  return wrong;
}

/**
 * Fills `p` with the defaults: no particles.
 *
 * Not collective.
 *
 * @param [out] p  The particles. Must not be NULL.
 * @return         0, or a negative value for NULL.
 */
static inline int scda_particles_init(scda_particles_t *p) {
  return scda_particles_init_size(p, sizeof(*p));
}

#endif  /* SCDA_MESHES_H */
