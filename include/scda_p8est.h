/* scda_p8est.h: forests of p8est in scda files: the 3D version of scda_p4est.h. Both can be included.
 *
 * The functions are those of scda_p4est.h, where they are documented, with p8est in place of p4est in all names. A program for both
 * dimensions includes p4est_to_p8est.h first; the names with p4est then work in 3D, as with p4est itself.
 *
 *   scda_p8est_save, scda_p8est_load, scda_p8est_save_ext, scda_p8est_load_ext, scda_p8est_save_params,
 *   scda_p8est_save_begin
 *   scda_p8est_connectivity_save, scda_p8est_connectivity_load
 *   scda_p8est_write_step, scda_p8est_write_forest, scda_p8est_write_connectivity, scda_p8est_write_mesh, scda_p8est_write_data
 *   scda_p8est_write_field, scda_p8est_write_member, scda_p8est_write_ragged
 *   scda_p8est_read_forest, scda_p8est_find_field, scda_p8est_read_field, scda_p8est_read_counts, scda_p8est_read_ragged
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef SCDA_P8EST_H
#define SCDA_P8EST_H

#include <scda_forest.h>

#include <p8est.h>
#include <p8est_communication.h>
#include <p8est_extended.h>
#include <p8est_io.h>

#ifndef P4EST_ENABLE_MPI
#error "scda_p8est.h needs p4est with MPI"
#endif

#define SCDA_P4_DIM 3
#define SCDA_P4(name) scda_p8est_##name
#define SCDA_P4EST(name) p8est_##name
#define SCDA_P4EST_T p8est_t
#define SCDA_P4_MAXLEVEL P8EST_MAXLEVEL
#define SCDA_P4_QMAXLEVEL P8EST_QMAXLEVEL
#define SCDA_P4_NAME "scda_p8est"
#define SCDA_P4_STRING "p8est"
#include <scda_p4est_code.h>
#undef SCDA_P4_DIM
#undef SCDA_P4
#undef SCDA_P4EST
#undef SCDA_P4EST_T
#undef SCDA_P4_MAXLEVEL
#undef SCDA_P4_QMAXLEVEL
#undef SCDA_P4_NAME
#undef SCDA_P4_STRING

/* p4est_to_p8est.h has been included: names for programs in both dimensions. */
#ifdef P4_TO_P8
#define scda_p4est_save scda_p8est_save
#define scda_p4est_load scda_p8est_load
#define scda_p4est_save_ext scda_p8est_save_ext
#define scda_p4est_load_ext scda_p8est_load_ext
#define scda_p4est_save_params scda_p8est_save_params
#define scda_p4est_save_begin scda_p8est_save_begin
#define scda_p4est_connectivity_save scda_p8est_connectivity_save
#define scda_p4est_connectivity_load scda_p8est_connectivity_load
#define scda_p4est_write_step scda_p8est_write_step
#define scda_p4est_write_forest scda_p8est_write_forest
#define scda_p4est_write_connectivity scda_p8est_write_connectivity
#define scda_p4est_write_mesh scda_p8est_write_mesh
#define scda_p4est_write_data scda_p8est_write_data
#define scda_p4est_write_field scda_p8est_write_field
#define scda_p4est_write_member scda_p8est_write_member
#define scda_p4est_write_ragged scda_p8est_write_ragged
#define scda_p4est_read_forest scda_p8est_read_forest
#define scda_p4est_find_field scda_p8est_find_field
#define scda_p4est_read_field scda_p8est_read_field
#define scda_p4est_read_counts scda_p8est_read_counts
#define scda_p4est_read_ragged scda_p8est_read_ragged
#endif

#endif /* SCDA_P8EST_H */
