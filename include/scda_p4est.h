/* scda_p4est.h: forests of p4est in scda files, 2D. For 3D there is scda_p8est.h, with p8est in place of p4est in all names.
 *
 * To save and load a forest, as p4est_save and p4est_load do it, there are scda_p4est_save and scda_p4est_load; with the arguments of
 * p4est_save_ext and p4est_load_ext, scda_p4est_save_ext and scda_p4est_load_ext. To have more in the
 * file (fields, time steps), open it by scda_fopen_write or scda_fopen_append, with params.seal, and write the pieces:
 *
 *   scda_forest_write_about, scda_forest_write_group       once, when the file is new
 *   scda_forest_write_time                                 begins a time step, if there are several
 *   scda_p4est_write_step                                  begins a time step, and writes of all this what the file lacks; or
 *   scda_p4est_write_forest                                the connectivity and the mesh; or, if the connectivity has not changed,
 *   scda_p4est_write_mesh                                  the mesh alone; or neither, if the mesh has not changed
 *   scda_p4est_write_data                                  the user data of the quadrants
 *   scda_p4est_write_field, scda_p4est_write_ragged        fields, with as many values for each quadrant, or with different numbers
 *   scda_p4est_write_member                                a field whose values are a member of the user data
 *
 * To read them, open the file by scda_fopen_read. scda_p4est_read_forest makes the forest on any number of ranks, and
 * scda_p4est_read_field, scda_p4est_read_counts and scda_p4est_read_ragged read the values of the local quadrants. Any other sections
 * and datasets may stand in the file. docs/forest.md says what the file holds; it does not depend on the number of ranks.
 *
 * The functions are inline and call the public functions of p4est and libscda: link both, with the same MPI.
 *
 * All functions are collective over the communicator of the file, which has the ranks of that of the forest. Errors are as in scda.h:
 * the same on all ranks; the file is closed, NULL is returned, and scda_last_error_message tells the reason. What is read is
 * compared with the convention before p4est gets it, so a damaged file is an error: p4est does not abort. If memory ends
 * within p4est itself, p4est aborts. A p4est built with --enable-debug has assertions that are stricter than the convention: there a file
 * that was made to deceive can end the program.
 *
 * `group` is the name of the forest, a group of datasets; NULL: SCDA_FOREST_GROUP. `step` is a time step: 0 is the first in the file;
 * -1 is the last, -2 the one before it. In a file without times it is 0 or -1.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef SCDA_P4EST_H
#define SCDA_P4EST_H

#include <scda_forest.h>

#include <p4est.h>
#include <p4est_communication.h>
#include <p4est_extended.h>
#include <p4est_io.h>

#ifndef P4EST_ENABLE_MPI
#error "scda_p4est.h needs p4est with MPI"
#endif

/**
 * Saves a forest: what p4est_save does, in one sealed scda file that does not depend on the number of ranks. The file appears under
 * its name when it is complete; if the job is killed before, an older file of this name stays as it was. As with p4est_save, the system
 * brings the file to stable storage later: where a file must survive a loss of power, use `scda_p4est_save_params` with sync.
 *
 * Collective.
 *
 * @param [in] filename   The path of the file.
 * @param [in] p4est      The forest. Not changed.
 * @param [in] save_data  Whether the user data of the quadrants are saved, as bytes, if data_size is not 0. Pointers in them
 *                        mean nothing when they are loaded.
 * @return                0, or an error code of scda.h, the same on all ranks.
 */
static inline int scda_p4est_save (const char *filename, p4est_t *p4est, int save_data);

/**
 * Loads the last time step of the forest `SCDA_FOREST_GROUP`, on any number of ranks. All bytes are compared with their
 * checksums.
 *
 * Collective.
 *
 * @param [in] filename       The path of the file.
 * @param [in] comm           The communicator of the forest.
 * @param [in] data_size      The size of the user data of a quadrant; may be 0.
 * @param [in] load_data      Whether the user data are loaded. Their size in the file must then be data_size. If not, they are
 *                            allocated and not set. Ignored if data_size is 0.
 * @param [in] autopartition  1: each rank gets as many quadrants as the others, or one more. 0: each rank gets the quadrants that it
 *                            had. The file must then be of `scda_p4est_save_ext` with save_partition, and of as many ranks; one rank
 *                            can load any file.
 * @param [in] user_pointer   The user pointer of the forest.
 * @param [out] connectivity  The connectivity, to be destroyed by the caller after the forest. NULL on error.
 * @return                    The forest, to be destroyed by the caller, or NULL on error, which scda_last_error_message describes.
 *                            Where the code of the error is needed, call `scda_fopen_read` and `scda_p4est_read_forest` instead.
 */
static inline p4est_t *scda_p4est_load (const char *filename, MPI_Comm comm, size_t data_size, int load_data, int autopartition,
                                        void *user_pointer, p4est_connectivity_t **connectivity);

/**
 * Saves a forest as `scda_p4est_save` does, with the arguments of p4est_save_ext.
 *
 * Collective.
 *
 * @param [in] filename        The path of the file.
 * @param [in] p4est           The forest. Not changed.
 * @param [in] save_data       As for `scda_p4est_save`.
 * @param [in] save_partition  Whether the file says which rank has which quadrants. It then depends on the number of ranks. Any number
 *                             of ranks can load it with autopartition 1, and this number also with 0.
 * @return                     0, or an error code of scda.h, the same on all ranks.
 */
static inline int scda_p4est_save_ext (const char *filename, p4est_t *p4est, int save_data, int save_partition);

/**
 * Saves a forest as `scda_p4est_save_ext` does, with parameters of its own.
 *
 * Collective.
 *
 * @param [in] filename        The path of the file.
 * @param [in] p4est           The forest. Not changed.
 * @param [in] save_data       As for `scda_p4est_save`.
 * @param [in] save_partition  As for `scda_p4est_save_ext`.
 * @param [in] params          How the file is written: fill it by `scda_params_init`, then set what is needed:
 *                             `atomic`, `sync` (1 if the file is to be in stable storage when this function returns). NULL: seal 1,
 *                             atomic 1, sync -1.
 * @return                     0, or an error code of scda.h, the same on all ranks.
 */
static inline int scda_p4est_save_params (const char *filename, p4est_t *p4est, int save_data, int save_partition,
                                          const scda_params_t *params);

/**
 * Saves a forest as `scda_p4est_save_params` does, in two halves: returns when all is copied. Then the forest may be changed or
 * destroyed, while a thread of the library writes. `scda_wait (&request, &err)`, which is collective, completes the file; before that,
 * an older file of this name stays as it was.
 *
 * Collective.
 *
 * @param [in] filename        The path of the file.
 * @param [in] p4est           The forest. Not changed.
 * @param [in] save_data       As for `scda_p4est_save`.
 * @param [in] save_partition  As for `scda_p4est_save_ext`.
 * @param [in] params          As for `scda_p4est_save_params`, with `background_bytes`. NULL: those of NULL there, and
 *                             `background_bytes` of 1 GiB, of which is taken what is needed.
 * @param [out] request        The close that was begun, for `scda_test` and `scda_wait`; none on error.
 * @return                     0, or an error code of scda.h, the same on all ranks.
 */
static inline int scda_p4est_save_begin (const char *filename, p4est_t *p4est, int save_data, int save_partition,
                                         const scda_params_t *params, scda_request_t *request);

/**
 * Loads a forest as `scda_p4est_load` does, with the arguments of p4est_load_ext.
 *
 * Collective.
 *
 * @param [in] filename       The path of the file.
 * @param [in] comm           The communicator of the forest.
 * @param [in] data_size      As for `scda_p4est_load`.
 * @param [in] load_data      As for `scda_p4est_load`.
 * @param [in] autopartition  As for `scda_p4est_load`.
 * @param [in] broadcasthead  Both values do the same: rank 0 reads for all ranks what all of them need.
 * @param [in] user_pointer   The user pointer of the forest.
 * @param [out] connectivity  As for `scda_p4est_load`.
 * @return                    The forest, to be destroyed by the caller, or NULL on error, which scda_last_error_message describes.
 */
static inline p4est_t *scda_p4est_load_ext (const char *filename, MPI_Comm comm, size_t data_size, int load_data, int autopartition,
                                            int broadcasthead, void *user_pointer, p4est_connectivity_t **connectivity);

/**
 * Saves a connectivity, as the forest of its trees, none of them refined: what p4est_connectivity_save does.
 *
 * Not collective: one rank calls it.
 *
 * @param [in] filename      The path of the file.
 * @param [in] connectivity  The connectivity. Not changed.
 * @return                   0, or an error code of scda.h.
 */
static inline int scda_p4est_connectivity_save (const char *filename, p4est_connectivity_t *connectivity);

/**
 * Loads the connectivity of a forest, of the last time step: what p4est_connectivity_load does. The file can be any with a forest
 * `SCDA_FOREST_GROUP`, whose mesh must fit into the memory of a rank.
 *
 * Not collective: any rank can call it.
 *
 * @param [in] filename  The path of the file.
 * @param [out] bytes    How many bytes of memory the connectivity takes. NULL if that does not matter.
 * @return               The connectivity, to be destroyed by the caller, or NULL on error, which scda_last_error_message describes.
 */
static inline p4est_connectivity_t *scda_p4est_connectivity_load (const char *filename, size_t *bytes);

/**
 * Writes the connectivity and the mesh, and the user data of the quadrants: `scda_p4est_write_connectivity`, `scda_p4est_write_mesh`
 * and `scda_p4est_write_data` in one call.
 *
 * @param [in] f          The file, open for writing.
 * @param [in] group      The name of the forest. `scda_forest_write_group` says that it is one.
 * @param [in] p4est      The forest. Not changed.
 * @param [in] save_data  Whether the user data are written, if data_size is not 0.
 * @param [out] err       The error code.
 * @return                `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_MEMORY`, and those of `scda_fwrite_dataset`.
 */
static inline scda_fcontext_t *scda_p4est_write_forest (scda_fcontext_t *f, const char *group, p4est_t *p4est, int save_data,
                                                        int *err);

/**
 * Writes the connectivity of a forest. It holds up to the next one in the file, also for later time steps.
 *
 * @param [in] f      The file, open for writing.
 * @param [in] group  The name of the forest.
 * @param [in] p4est  The forest. Not changed.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`; `SCDA_ERR_RANGE` for more than 2^28 bytes of attributes of all trees, or for 2^20 vertices more than the trees
 * have corners; and those of `scda_fwrite_dataset`.
 */
static inline scda_fcontext_t *scda_p4est_write_connectivity (scda_fcontext_t *f, const char *group, const p4est_t *p4est, int *err);

/**
 * Writes the mesh: coordinates and levels of the quadrants. It holds up to the next one in the file, also for later time steps. A step
 * has one mesh: if the mesh has changed and the step has fields already, begin another step first.
 *
 * @param [in] f      The file, open for writing.
 * @param [in] group  The name of the forest.
 * @param [in] p4est  The forest. Not changed.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_MEMORY`, `SCDA_ERR_USAGE` for another mesh in a step that has fields, and those of
 * `scda_fwrite_dataset`.
 */
static inline scda_fcontext_t *scda_p4est_write_mesh (scda_fcontext_t *f, const char *group, p4est_t *p4est, int *err);

/**
 * Begins a time step of a forest: writes the time, and before or after it what the file does not have yet: the attributes of the group,
 * the connectivity if it has changed, and the mesh if it has changed. `scda_p4est_write_data`, `scda_p4est_write_field`,
 * `scda_p4est_write_member` and `scda_p4est_write_ragged` then write what belongs to the step.
 *
 * In a file that was opened by `scda_fopen_append`, the mesh is compared with the last one in the file; the connectivity is written again.
 *
 * @param [in] f      The file, open for writing.
 * @param [in] group  The name of the forest.
 * @param [in] p4est  The forest. Not changed.
 * @param [in] time   The time. That of rank 0 is written.
 * @param [in] units  Its unit, such as `s`, without quotation marks and backslashes. NULL: none.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_MEMORY`, and those of `scda_fwrite_dataset`.
 */
static inline scda_fcontext_t *scda_p4est_write_step (scda_fcontext_t *f, const char *group, p4est_t *p4est, double time,
                                                      const char *units, int *err);

/**
 * Writes the user data of the quadrants as bytes, as they are in the memory of this machine.
 *
 * @param [in] f      The file, open for writing.
 * @param [in] group  The name of the forest.
 * @param [in] p4est  The forest, with a data_size of 1 to 65536. Not changed.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_MEMORY`, and those of `scda_fwrite_dataset`.
 */
static inline scda_fcontext_t *scda_p4est_write_data (scda_fcontext_t *f, const char *group, const p4est_t *p4est, int *err);

/**
 * Writes a field: as many items for each quadrant. The mesh of the forest must be the last one in the file, as for all that belongs to
 * quadrants: of a forest that was changed since, write the mesh first. The field names it.
 *
 * @param [in] f      The file, open for writing.
 * @param [in] group  The name of the forest.
 * @param [in] p4est  The forest to whose mesh the field belongs.
 * @param [in] field  Filled by `scda_dataset_init`; then set the name, such as `density`, the type, and what else is needed: attributes
 *                    with units, layout. `ndims` 1 (or 0) is one item for each quadrant; more dimensions have their numbers in
 *                    `shape[1]` and following, such as 3 for a vector. Values at the corners of the quadrants, x fastest, have
 *                    P4EST_CHILDREN in `shape[1]`, and `dimension_names[1]` is "corner". `shape[0]` and `dimension_names[0]` are set by
 *                    this function. Not changed.
 * @param [in] data   The items of the local quadrants, in the order of p4est; the items of a quadrant follow each other. May be NULL
 *                    if there are none.
 * @param [out] err   The error code.
 * @return            `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_USAGE` if the mesh of the forest is not the last one in the file, and those of
 * `scda_fwrite_dataset`.
 */
static inline scda_fcontext_t *scda_p4est_write_field (scda_fcontext_t *f, const char *group, const p4est_t *p4est,
                                                       const scda_dataset_t *field, const void *data, int *err);

/**
 * Writes a field whose values are a member of the user data of the quadrants.
 *
 * @param [in] f       The file, open for writing.
 * @param [in] group   The name of the forest.
 * @param [in] p4est   The forest, with user data.
 * @param [in] field   As for `scda_p4est_write_field`: the type of the member, or of the items of an array.
 * @param [in] offset  Where the member begins: its `offsetof`. The same on all ranks.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, also for what is not within data_size; `SCDA_ERR_MEMORY`; and those of `scda_fwrite_dataset`.
 */
static inline scda_fcontext_t *scda_p4est_write_member (scda_fcontext_t *f, const char *group, const p4est_t *p4est,
                                                        const scda_dataset_t *field, size_t offset, int *err);

/**
 * Writes a field with a number of values of its own for each quadrant, such as the coefficients of hp elements.
 *
 * @param [in] f       The file, open for writing.
 * @param [in] group   The name of the forest.
 * @param [in] p4est   The forest to whose mesh the field belongs.
 * @param [in] field   As for `scda_p4est_write_field`; `ndims` 1 (or 0) if a value is one item. Its name has at most 58 bytes with the
 *                     name of the group, `/fields/` and `:count`.
 * @param [in] counts  The number of values of each local quadrant. May be NULL if there are none.
 * @param [in] data    The values, those of a quadrant after those of the one before. May be NULL if there are none.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_RANGE` for counts that are negative or have a sum that is too large, and those of
 * `scda_fwrite_dataset`.
 */
static inline scda_fcontext_t *scda_p4est_write_ragged (scda_fcontext_t *f, const char *group, const p4est_t *p4est,
                                                        const scda_dataset_t *field, const int64_t *counts, const void *data,
                                                        int *err);

/**
 * Reads the connectivity and the mesh of a time step, and makes a forest, in any partition.
 *
 * @param [in] f               The file, open for reading.
 * @param [in] group           The name of the forest.
 * @param [in] step            The time step.
 * @param [in] comm            The communicator of the forest, of the same ranks as that of the file.
 * @param [in] data_size       The size of the user data of a quadrant; may be 0.
 * @param [in] load_data       As for `scda_p4est_load`.
 * @param [in] first_quadrant  The partition: the number of the first quadrant of each rank, and after them that of all quadrants,
 *                             which must be that of the file. The same on all ranks. NULL: uniform.
 * @param [in] weight_fn       NULL, or the weight of a quadrant: p4est partitions the forest by it after it was read.
 * @param [in] user_pointer    The user pointer of the forest.
 * @param [out] connectivity   The connectivity, to be destroyed by the caller after the forest. NULL on error.
 * @param [out] p4est          The forest, to be destroyed by the caller. NULL on error.
 * @param [out] err            The error code.
 * @return                     `f`, or NULL on error.
 * Errors: `SCDA_ERR_FORMAT` for what is no forest by docs/forest.md, or has another dimension; `SCDA_ERR_UNSUPPORTED` for levels that this
 * p4est does not have, for a later version of the convention, and for user data of the other byte order;
 * `SCDA_ERR_ARG` for a step that is not there and for a partition that does not fit; `SCDA_ERR_RANGE` for more trees than p4est can
 * have, or more quadrants than it can have on a rank; `SCDA_ERR_MEMORY`; those of `scda_ffind_dataset` and `scda_fread_dataset`.
 */
static inline scda_fcontext_t *scda_p4est_read_forest (scda_fcontext_t *f, const char *group, int64_t step, MPI_Comm comm,
                                                       size_t data_size, int load_data, const p4est_gloidx_t *first_quadrant,
                                                       p4est_weight_t weight_fn, void *user_pointer,
                                                       p4est_connectivity_t **connectivity, p4est_t **p4est, int *err);

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
static inline scda_fcontext_t *scda_p4est_find_field (scda_fcontext_t *f, const char *group, int64_t step, const char *name, int *found,
                                                      scda_dataset_t *d, int *err);

/**
 * Reads a field of which type and number of items are known, for the local quadrants.
 *
 * @param [in] f           The file, open for reading.
 * @param [in] group       The name of the forest.
 * @param [in] step        The time step.
 * @param [in] p4est       The forest, in any partition. Its number of quadrants must be that of the field.
 * @param [in] name        The name of the field.
 * @param [in] type        The type that its items must have, such as `SCDA_TYPE_FLOAT64`.
 * @param [in] components  The number of items that each quadrant must have; of `SCDA_TYPE_RAW`, the number of bytes.
 * @param [out] data       Room for the items of the local quadrants. May be NULL if there are none.
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
 * Errors: `SCDA_ERR_FORMAT` if there is no such field, or it has another type or shape; `SCDA_ERR_ARG`; those of `scda_ffind_dataset`
 * and `scda_fread_dataset`.
 */
static inline scda_fcontext_t *scda_p4est_read_field (scda_fcontext_t *f, const char *group, int64_t step, const p4est_t *p4est,
                                                      const char *name, int type, uint64_t components, void *data, int *err);

/**
 * Reads how many values each local quadrant has in a field that `scda_p4est_write_ragged` has written.
 *
 * @param [in] f        The file, open for reading.
 * @param [in] group    The name of the forest.
 * @param [in] step     The time step.
 * @param [in] p4est    The forest, in any partition.
 * @param [in] name     The name of the field.
 * @param [out] counts  Room for a number for each local quadrant. None is negative, and all of all ranks are as many as the values in
 *                      the file. May be NULL if there are none.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: those of `scda_p4est_read_field`.
 */
static inline scda_fcontext_t *scda_p4est_read_counts (scda_fcontext_t *f, const char *group, int64_t step, const p4est_t *p4est,
                                                       const char *name, int64_t *counts, int *err);

/**
 * Reads the values of the local quadrants.
 *
 * @param [in] f           The file, open for reading.
 * @param [in] group       The name of the forest.
 * @param [in] step        The time step.
 * @param [in] p4est       The forest, in the partition for which `counts` were read.
 * @param [in] name        The name of the field.
 * @param [in] type        The type that the items must have.
 * @param [in] components  The number of items that each value must have; of `SCDA_TYPE_RAW`, the number of bytes.
 * @param [in] counts      What `scda_p4est_read_counts` has read.
 * @param [out] data       Room for the values of the local quadrants: as many as the sum of `counts`. May be NULL if there are none.
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
 * Errors: those of `scda_p4est_read_field`.
 */
static inline scda_fcontext_t *scda_p4est_read_ragged (scda_fcontext_t *f, const char *group, int64_t step, const p4est_t *p4est,
                                                       const char *name, int type, uint64_t components, const int64_t *counts,
                                                       void *data, int *err);

#define SCDA_P4_DIM 2
#define SCDA_P4(name) scda_p4est_##name
#define SCDA_P4EST(name) p4est_##name
#define SCDA_P4EST_T p4est_t
#define SCDA_P4_MAXLEVEL P4EST_MAXLEVEL
#define SCDA_P4_QMAXLEVEL P4EST_QMAXLEVEL
#define SCDA_P4_NAME "scda_p4est"
#define SCDA_P4_STRING "p4est"
#include <scda_p4est_code.h>
#undef SCDA_P4_DIM
#undef SCDA_P4
#undef SCDA_P4EST
#undef SCDA_P4EST_T
#undef SCDA_P4_MAXLEVEL
#undef SCDA_P4_QMAXLEVEL
#undef SCDA_P4_NAME
#undef SCDA_P4_STRING

#endif /* SCDA_P4EST_H */
