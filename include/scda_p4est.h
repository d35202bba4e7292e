/* scda_p4est.h: forests of p4est in scda files, 2D. For 3D there is scda_p8est.h, with p8est in place of p4est in all names.
 *
 * scda_p4est_save and scda_p4est_load save and load a forest, like p4est_save and p4est_load; scda_p4est_save_ext and
 * scda_p4est_load_ext take the arguments of p4est_save_ext and p4est_load_ext. To store more in the
 * file (fields, time steps), open it by scda_fopen_write or scda_fopen_append, with params.seal, and write its parts:
 *
 *   scda_forest_write_about, scda_forest_write_group       once, when the file is new
 *   scda_forest_write_time                                 begins a time step, if there are several
 *   scda_p4est_write_step                                  begins a time step, and writes all of this that the file lacks; or
 *   scda_p4est_write_forest                                the connectivity and the mesh; or, if the connectivity has not changed,
 *   scda_p4est_write_mesh                                  the mesh alone; or neither, if the mesh has not changed
 *   scda_p4est_write_data                                  the user data of the quadrants
 *   scda_p4est_write_field, scda_p4est_write_ragged        fields with a fixed or variable number of values for each quadrant
 *   scda_p4est_write_member                                a field whose values are a member of the user data
 *
 * To read them, open the file by scda_fopen_read. scda_p4est_read_forest makes the forest on any number of ranks, and
 * scda_p4est_read_field, scda_p4est_read_counts and scda_p4est_read_ragged read the values of the local quadrants. The file may
 * have any other sections and datasets. docs/forest.md describes its contents; they do not depend on the number of ranks.
 *
 * The functions are inline and call the public functions of p4est and libscda: link both, with the same MPI.
 *
 * All functions are collective over the communicator of the file, which must have the same ranks as that of the forest. Errors are
 * as in scda.h: the same on all ranks; the file is closed, NULL is returned, and scda_last_error_message gives the reason. All data
 * are checked against the convention before p4est gets them, so a damaged file is an error: p4est does not abort. If p4est itself
 * runs out of memory, it aborts. If p4est is built with --enable-debug, its assertions are stricter than the convention, and a
 * malicious file can end the program.
 *
 * `group` is the name of the forest, a group of datasets; NULL: SCDA_FOREST_GROUP. `step` is a time step: 0 is the first in the file,
 * -1 the last, -2 the one before it. In a file without times, it is 0 or -1.
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
 * Saves a forest, like p4est_save, in one sealed scda file that does not depend on the number of ranks. The file appears under
 * its name when it is complete; if the job is killed before, an older file of this name stays. As with p4est_save, the system
 * brings the file to stable storage later: if it must survive a power failure, use `scda_p4est_save_params` with sync.
 *
 * Collective.
 *
 * @param [in] filename   The path of the file.
 * @param [in] p4est      The forest. Not changed.
 * @param [in] save_data  Whether to save the user data of the quadrants, as bytes, if data_size is not 0. Pointers in them
 *                        mean nothing when they are loaded.
 * @return                0, or an error code of scda.h, the same on all ranks.
 */
static inline int scda_p4est_save (const char *filename, p4est_t *p4est, int save_data);

/**
 * Loads the last time step of the forest `SCDA_FOREST_GROUP` on any number of ranks. Compares all bytes with their
 * checksums.
 *
 * Collective.
 *
 * @param [in] filename       The path of the file.
 * @param [in] comm           The communicator of the forest.
 * @param [in] data_size      The size of the user data of a quadrant; may be 0.
 * @param [in] load_data      Whether to load the user data. Their size in the file must then be data_size. Otherwise, they are
 *                            allocated and not set. Ignored if data_size is 0.
 * @param [in] autopartition  1: each rank gets the same number of quadrants, or one more. 0: each rank gets the quadrants that it
 *                            had. The file must then come from `scda_p4est_save_ext` with save_partition, on as many ranks; one rank
 *                            can load any file.
 * @param [in] user_pointer   The user pointer of the forest.
 * @param [out] connectivity  The connectivity, which the caller destroys after the forest. NULL on error.
 * @return                    The forest, which the caller destroys, or NULL on error, which scda_last_error_message describes.
 *                            If you need the error code, call `scda_fopen_read` and `scda_p4est_read_forest` instead.
 */
static inline p4est_t *scda_p4est_load (const char *filename, MPI_Comm comm, size_t data_size, int load_data, int autopartition,
                                        void *user_pointer, p4est_connectivity_t **connectivity);

/**
 * Saves a forest like `scda_p4est_save`, with the arguments of p4est_save_ext.
 *
 * Collective.
 *
 * @param [in] filename        The path of the file.
 * @param [in] p4est           The forest. Not changed.
 * @param [in] save_data       As for `scda_p4est_save`.
 * @param [in] save_partition  Whether the file stores which rank has which quadrants. It then depends on the number of ranks. Any
 *                             number of ranks can load it with autopartition 1, and the same number also with 0.
 * @return                     0, or an error code of scda.h, the same on all ranks.
 */
static inline int scda_p4est_save_ext (const char *filename, p4est_t *p4est, int save_data, int save_partition);

/**
 * Saves a forest like `scda_p4est_save_ext`, with parameters.
 *
 * Collective.
 *
 * @param [in] filename        The path of the file.
 * @param [in] p4est           The forest. Not changed.
 * @param [in] save_data       As for `scda_p4est_save`.
 * @param [in] save_partition  As for `scda_p4est_save_ext`.
 * @param [in] params          How to write the file: call `scda_params_init`, then set members as needed:
 *                             `atomic`, `sync` (1 if the file must be in stable storage when this function returns). NULL: seal 1,
 *                             atomic 1, sync -1.
 * @return                     0, or an error code of scda.h, the same on all ranks.
 */
static inline int scda_p4est_save_params (const char *filename, p4est_t *p4est, int save_data, int save_partition,
                                          const scda_params_t *params);

/**
 * Saves a forest like `scda_p4est_save_params`, in two steps: it returns as soon as the data are copied. The forest can then be
 * changed or destroyed while a thread of the library writes. `scda_wait (&request, &err)`, which is collective, completes the file;
 * before that, an older file of this name stays.
 *
 * Collective.
 *
 * @param [in] filename        The path of the file.
 * @param [in] p4est           The forest. Not changed.
 * @param [in] save_data       As for `scda_p4est_save`.
 * @param [in] save_partition  As for `scda_p4est_save_ext`.
 * @param [in] params          As for `scda_p4est_save_params`, with `background_bytes`. NULL: as there, with
 *                             `background_bytes` of 1 GiB, of which only what is needed is allocated.
 * @param [out] request        The close in progress, for `scda_test` and `scda_wait`; none on error.
 * @return                     0, or an error code of scda.h, the same on all ranks.
 */
static inline int scda_p4est_save_begin (const char *filename, p4est_t *p4est, int save_data, int save_partition,
                                         const scda_params_t *params, scda_request_t *request);

/**
 * Loads a forest like `scda_p4est_load`, with the arguments of p4est_load_ext.
 *
 * Collective.
 *
 * @param [in] filename       The path of the file.
 * @param [in] comm           The communicator of the forest.
 * @param [in] data_size      As for `scda_p4est_load`.
 * @param [in] load_data      As for `scda_p4est_load`.
 * @param [in] autopartition  As for `scda_p4est_load`.
 * @param [in] broadcasthead  Has no effect: rank 0 always reads for all ranks what all of them need.
 * @param [in] user_pointer   The user pointer of the forest.
 * @param [out] connectivity  As for `scda_p4est_load`.
 * @return                    The forest, which the caller destroys, or NULL on error, which scda_last_error_message describes.
 */
static inline p4est_t *scda_p4est_load_ext (const char *filename, MPI_Comm comm, size_t data_size, int load_data, int autopartition,
                                            int broadcasthead, void *user_pointer, p4est_connectivity_t **connectivity);

/**
 * Saves a connectivity, like p4est_connectivity_save, as the forest of its unrefined trees.
 *
 * Not collective: one rank calls it.
 *
 * @param [in] filename      The path of the file.
 * @param [in] connectivity  The connectivity. Not changed.
 * @return                   0, or an error code of scda.h.
 */
static inline int scda_p4est_connectivity_save (const char *filename, p4est_connectivity_t *connectivity);

/**
 * Loads the connectivity of a forest, from its last time step, like p4est_connectivity_load. The file may be any that has a forest
 * `SCDA_FOREST_GROUP` whose mesh fits into the memory of a rank.
 *
 * Not collective: any rank can call it.
 *
 * @param [in] filename  The path of the file.
 * @param [out] bytes    The memory that the connectivity takes, in bytes. May be NULL.
 * @return               The connectivity, which the caller destroys, or NULL on error, which scda_last_error_message describes.
 */
static inline p4est_connectivity_t *scda_p4est_connectivity_load (const char *filename, size_t *bytes);

/**
 * Writes the connectivity and the mesh, and the user data of the quadrants: `scda_p4est_write_connectivity`, `scda_p4est_write_mesh`
 * and `scda_p4est_write_data` in one call.
 *
 * @param [in] f          The file, open for writing.
 * @param [in] group      The name of the forest, which `scda_forest_write_group` marks as a forest.
 * @param [in] p4est      The forest. Not changed.
 * @param [in] save_data  Whether to write the user data, if data_size is not 0.
 * @param [out] err       The error code.
 * @return                `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_MEMORY`, and those of `scda_fwrite_dataset`.
 */
static inline scda_fcontext_t *scda_p4est_write_forest (scda_fcontext_t *f, const char *group, p4est_t *p4est, int save_data,
                                                        int *err);

/**
 * Writes the connectivity of a forest. It is valid until the next one in the file, also for later time steps.
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
 * Writes the mesh: coordinates and levels of the quadrants. It is valid until the next one in the file, also for later time steps. A
 * step has one mesh: if the mesh has changed and the step already has fields, begin another step first.
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
 * `scda_p4est_write_member` and `scda_p4est_write_ragged` then write the data of the step.
 *
 * In a file that was opened by `scda_fopen_append`, the mesh is compared with the last one in the file; the connectivity is rewritten.
 *
 * @param [in] f      The file, open for writing.
 * @param [in] group  The name of the forest.
 * @param [in] p4est  The forest. Not changed.
 * @param [in] time   The time, taken from rank 0.
 * @param [in] units  The unit of the time, such as `s`, without quotation marks and backslashes. NULL: none.
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
 * Writes a field with the same number of items for each quadrant. The mesh of the forest must be the last one in the file, as for all
 * data of quadrants: if the forest has changed since, write the mesh first. The field refers to it.
 *
 * @param [in] f      The file, open for writing.
 * @param [in] group  The name of the forest.
 * @param [in] p4est  The forest to whose mesh the field belongs.
 * @param [in] field  Call `scda_dataset_init`, then set the name, such as `density`, the type, and other members as needed: attributes
 *                    with units, layout. `ndims` 1 (or 0) means one item for each quadrant; the sizes of further dimensions are in
 *                    `shape[1]` and following, such as 3 for a vector. For values at the corners of the quadrants, x fastest,
 *                    `shape[1]` is P4EST_CHILDREN and `dimension_names[1]` is "corner". This function sets `shape[0]` and
 *                    `dimension_names[0]` itself. Not changed.
 * @param [in] data   The items of the local quadrants, in the order of p4est; the items of a quadrant are contiguous. May be NULL
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
 * @param [in] field   As for `scda_p4est_write_field`, with the type of the member, or of its items if it is an array.
 * @param [in] offset  The offset of the member: its `offsetof`. The same on all ranks.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, also for a member that exceeds data_size; `SCDA_ERR_MEMORY`; and those of `scda_fwrite_dataset`.
 */
static inline scda_fcontext_t *scda_p4est_write_member (scda_fcontext_t *f, const char *group, const p4est_t *p4est,
                                                        const scda_dataset_t *field, size_t offset, int *err);

/**
 * Writes a field with a variable number of values for each quadrant, such as the coefficients of hp elements.
 *
 * @param [in] f       The file, open for writing.
 * @param [in] group   The name of the forest.
 * @param [in] p4est   The forest to whose mesh the field belongs.
 * @param [in] field   As for `scda_p4est_write_field`; `ndims` 1 (or 0) if a value is one item. Its name, together with the name of the
 *                     group, `/fields/` and `:count`, has at most 58 bytes.
 * @param [in] counts  The number of values of each local quadrant. May be NULL if there are none.
 * @param [in] data    The values, quadrant by quadrant. May be NULL if there are none.
 * @param [out] err    The error code.
 * @return             `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, `SCDA_ERR_RANGE` if a count is negative or the sum of the counts is too large, and those of
 * `scda_fwrite_dataset`.
 */
static inline scda_fcontext_t *scda_p4est_write_ragged (scda_fcontext_t *f, const char *group, const p4est_t *p4est,
                                                        const scda_dataset_t *field, const int64_t *counts, const void *data,
                                                        int *err);

/**
 * Reads the connectivity and the mesh of a time step, and makes a forest with any partition.
 *
 * @param [in] f               The file, open for reading.
 * @param [in] group           The name of the forest.
 * @param [in] step            The time step.
 * @param [in] comm            The communicator of the forest, with the same ranks as that of the file.
 * @param [in] data_size       The size of the user data of a quadrant; may be 0.
 * @param [in] load_data       As for `scda_p4est_load`.
 * @param [in] first_quadrant  The partition: the number of the first quadrant of each rank, followed by the number of all quadrants,
 *                             which must be that of the file. The same on all ranks. NULL: uniform.
 * @param [in] weight_fn       NULL, or the weight of a quadrant, by which p4est then partitions the forest.
 * @param [in] user_pointer    The user pointer of the forest.
 * @param [out] connectivity   The connectivity, which the caller destroys after the forest. NULL on error.
 * @param [out] p4est          The forest, which the caller destroys. NULL on error.
 * @param [out] err            The error code.
 * @return                     `f`, or NULL on error.
 * Errors: `SCDA_ERR_FORMAT` for data that are no forest according to docs/forest.md, or for another dimension; `SCDA_ERR_UNSUPPORTED`
 * for levels that this p4est does not have, for a later version of the convention, and for user data in the other byte order;
 * `SCDA_ERR_NOT_FOUND` for a forest or step that does not exist; `SCDA_ERR_ARG` for a partition that does not fit; `SCDA_ERR_RANGE` for more trees than p4est
 * supports, or more quadrants than it supports on a rank; `SCDA_ERR_MEMORY`; those of `scda_ffind_dataset` and `scda_fread_dataset`.
 */
static inline scda_fcontext_t *scda_p4est_read_forest (scda_fcontext_t *f, const char *group, int64_t step, MPI_Comm comm,
                                                       size_t data_size, int load_data, const p4est_gloidx_t *first_quadrant,
                                                       p4est_weight_t weight_fn, void *user_pointer,
                                                       p4est_connectivity_t **connectivity, p4est_t **p4est, int *err);

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
static inline scda_fcontext_t *scda_p4est_find_field (scda_fcontext_t *f, const char *group, int64_t step, const char *name, int *found,
                                                      scda_dataset_t *d, int *err);

/**
 * Reads a field of known number of items, for the local quadrants. Numbers of another type in the file are converted.
 *
 * @param [in] f           The file, open for reading.
 * @param [in] group       The name of the forest.
 * @param [in] step        The time step.
 * @param [in] p4est       The forest, in any partition. Its number of quadrants must be that of the field.
 * @param [in] name        The name of the field.
 * @param [in] type        The type of the items in `data`, such as `SCDA_TYPE_FLOAT64`.
 * @param [in] components  The number of items that each quadrant must have; for `SCDA_TYPE_RAW`, the number of bytes.
 * @param [out] data       Room for the items of the local quadrants. May be NULL if there are none.
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
 * Errors: `SCDA_ERR_NOT_FOUND` if there is no such field; `SCDA_ERR_FORMAT` if it has another shape, or a type that cannot be converted; `SCDA_ERR_RANGE`
 * for a number that does not fit; `SCDA_ERR_ARG`; those of `scda_ffind_dataset` and `scda_fread_dataset`.
 */
static inline scda_fcontext_t *scda_p4est_read_field (scda_fcontext_t *f, const char *group, int64_t step, const p4est_t *p4est,
                                                      const char *name, int type, uint64_t components, void *data, int *err);

/**
 * Reads the number of values of each local quadrant in a field that `scda_p4est_write_ragged` has written.
 *
 * @param [in] f        The file, open for reading.
 * @param [in] group    The name of the forest.
 * @param [in] step     The time step.
 * @param [in] p4est    The forest, in any partition.
 * @param [in] name     The name of the field.
 * @param [out] counts  Room for a number for each local quadrant. None is negative, and their sum over all ranks is the number of values
 *                      in the file. May be NULL if there are none.
 * @param [out] err     The error code.
 * @return              `f`, or NULL on error.
 * Errors: those of `scda_p4est_read_field`.
 */
static inline scda_fcontext_t *scda_p4est_read_counts (scda_fcontext_t *f, const char *group, int64_t step, const p4est_t *p4est,
                                                       const char *name, int64_t *counts, int *err);

/**
 * Reads the values of the local quadrants in such a field.
 *
 * @param [in] f           The file, open for reading.
 * @param [in] group       The name of the forest.
 * @param [in] step        The time step.
 * @param [in] p4est       The forest, in the partition for which `counts` were read.
 * @param [in] name        The name of the field.
 * @param [in] type        The type that the items must have.
 * @param [in] components  The number of items that each value must have; for `SCDA_TYPE_RAW`, the number of bytes.
 * @param [in] counts      The counts that `scda_p4est_read_counts` has read.
 * @param [out] data       Room for the values of the local quadrants: their number is the sum of `counts`. May be NULL if there are none.
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
