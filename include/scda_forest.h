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
static inline scda_fcontext_t *scda_forest_agree_internal (scda_fcontext_t *f, const scda_forest_error_internal_t *e, int *err) {
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

/* The checksum of a forest, cached with the file as long as the forest does not change. */
typedef struct {
  const void *forest;
  long revision;
  uint64_t sketch; /* almost always differs between two forests with different quadrants that have this address one after the other */
  uint64_t checksum;
} scda_forest_known_internal_t;

/* The sketch of a forest with this sum over a sample of its quadrants on this rank. */
static inline uint64_t scda_forest_sketch_internal (const scda_forest_t *m, uint64_t sample) {
  return scda_forest_mix_internal (sample + 3 * m->n + 5 * m->first) + 7 * m->quadrants;
}

/* The cache of a file for these functions and this group; NULL if the file is not open, or memory ran out. */
static inline scda_forest_known_internal_t *scda_forest_known_internal (scda_fcontext_t *f, const char *group, const scda_forest_t *m) {
  char key[SCDA_NAME_BYTES + 16];
  snprintf (key, sizeof key, "%.14s %.58s", m->functions, scda_forest_group_internal (group));
  return (scda_forest_known_internal_t *) scda_note (f, key, sizeof (scda_forest_known_internal_t));
}

/* Collective: sums the contributions of all ranks to the checksum of a mesh, and caches it. */
static inline void scda_forest_know_internal (scda_fcontext_t *f, const char *group, scda_forest_t *m, scda_forest_known_internal_t forest,
                                              uint64_t own, MPI_Comm comm) {
  scda_forest_known_internal_t *known = scda_forest_known_internal (f, group, m);
  MPI_Allreduce (&own, &m->checksum, 1, MPI_UINT64_T, MPI_SUM, comm);
  forest.checksum = m->checksum;
  if (known != NULL) { *known = forest; }
}

/* Collective: sets the checksum of a mesh if all ranks have cached that of this forest; returns whether they have. */
static inline int scda_forest_is_known_internal (scda_fcontext_t *f, const char *group, scda_forest_t *m, scda_forest_known_internal_t forest,
                                                 MPI_Comm comm) {
  const scda_forest_known_internal_t *known = scda_forest_known_internal (f, group, m);
  int same = known != NULL && known->forest == forest.forest && known->revision == forest.revision && known->sketch == forest.sketch;
  MPI_Allreduce (MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, comm);
  if (same) { m->checksum = known->checksum; }
  return same;
}

#endif /* SCDA_FOREST_H */
