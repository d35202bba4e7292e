/* scda_forest.h: what the headers for p4est, t8code and deal.II share, in addition to the functions of scda_meshes.h.
 *
 * The conventions are in docs/forest.md and docs/t8code.md. Programs include scda_p4est.h, scda_p8est.h or one of the others, which
 * include this file; it includes none of these libraries itself. Header-only, C99 and C++11.
 *
 * Names that end in _internal are for use in these headers only.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef SCDA_FOREST_H
#define SCDA_FOREST_H

#include <scda_bind.h>
#include <scda_meshes.h>

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SCDA_SERIAL
#error "the forest functions need libscda with MPI"
#endif

/** The greatest level in a file, because coordinates are in units of 2^-30 of the edge of a tree. */
#define SCDA_FOREST_MAXLEVEL 30

/* ---- Internal: errors ---- */

enum { scda_forest_why_bytes_internal = 256 };

/* An error of this rank, if there is one. */
typedef struct {
  int err;
  char why[scda_forest_why_bytes_internal];
} scda_forest_error_internal_t;

static inline void scda_forest_no_error_internal (scda_forest_error_internal_t *e) {
  e->err = SCDA_SUCCESS;
  memset (e->why, 0, sizeof e->why);
}

/* Keeps the first of several errors. Returns 0, for functions that return whether all is well. */
#ifdef __GNUC__
__attribute__ ((format (printf, 3, 4)))
#endif
static inline int scda_forest_error_internal (scda_forest_error_internal_t *e, int err, const char *format, ...) {
  if (e->err == SCDA_SUCCESS) {
    va_list arguments;
    va_start (arguments, format);
    e->err = err;
    vsnprintf (e->why, sizeof e->why, format, arguments);
    va_end (arguments);
  }
  return 0;
}

/* Collective: returns NULL with the error of the lowest rank that has one, or else `f`. */
static inline scda_fcontext_t *scda_forest_agree_internal (scda_fcontext_t *f, MPI_Comm comm, const scda_forest_error_internal_t *e, int *err) {
  (void) comm; /* the communicator of the file has the same ranks */
  return scda_fagree (f, e->err, e->why, err);
}

static inline const char *scda_forest_group_internal (const char *group) { return group == NULL ? SCDA_FOREST_GROUP : group; }

/* ---- Internal: the checksum of a mesh ---- */

/* Mixes the bits of a number: each of them changes about half of the others. */
static inline uint64_t scda_forest_mix_internal (uint64_t v) {
  v = (v ^ v >> 32) * 0xd6e8feb86659fd93u;
  v = (v ^ v >> 32) * 0xd6e8feb86659fd93u;
  return v ^ v >> 32;
}

/* The contribution of a quadrant to the checksum. */
static inline uint64_t scda_forest_term_internal (uint64_t i, uint64_t tree, uint64_t level) {
  return scda_forest_mix_internal ((i + 1) * 0x9e3779b97f4a7c15u + (256 * tree + level) * 0xd1342543de82ef95u);
}

#endif /* SCDA_FOREST_H */
