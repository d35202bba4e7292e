/* Forests of p4est for the tests of scda_p4est.h, in 2D; with -DFOREST_3D in 3D. */
#ifndef FOREST_H
#define FOREST_H

#ifdef FOREST_3D
#include <p4est_to_p8est.h>
#include <scda_p8est.h>
#else
#include <scda_p4est.h>
#endif

#include <inttypes.h>

#ifdef FOREST_3D
#include <p8est_algorithms.h>
#include <p8est_bits.h>
#include <p8est_ghost.h>
enum { dimension = 3 };
#else
#include <p4est_algorithms.h>
#include <p4est_bits.h>
#include <p4est_ghost.h>
enum { dimension = 2 };
#endif

static int world_rank;

#define REQUIRE(condition)                                                                             \
  do {                                                                                                 \
    if (!(condition)) {                                                                                \
      fprintf (stderr, "rank %d, line %d: %s\n  %s\n", world_rank, __LINE__, #condition, scda_last_error_message ()); \
      MPI_Abort (MPI_COMM_WORLD, 1);                                                                   \
    }                                                                                                  \
  } while (0)

/* ---- Forests ---- */

typedef struct {
  int64_t number;
  double value;
} data_t;

/* A number that belongs to a quadrant, whoever has it. */
static inline uint32_t hash_of (p4est_topidx_t tree, const p4est_quadrant_t *q) {
  uint32_t h = 2166136261u ^ (uint32_t) tree;
  h = (h ^ (uint32_t) (q->x >> 8)) * 16777619u;
  h = (h ^ (uint32_t) (q->y >> 8)) * 16777619u;
#ifdef FOREST_3D
  h = (h ^ (uint32_t) (q->z >> 8)) * 16777619u;
#endif
  h = (h ^ (uint32_t) q->level) * 16777619u;
  return h ^ h >> 13;
}

static int deepest;

static inline int refine (p4est_t *p, p4est_topidx_t tree, p4est_quadrant_t *q) {
  (void) p;
  return q->level < deepest && hash_of (tree, q) % 3 == 0;
}

static inline int weight (p4est_t *p, p4est_topidx_t tree, p4est_quadrant_t *q) {
  (void) p;
  (void) tree;
  return 1 + 5 * (q->level == deepest);
}

static inline void initialize (p4est_t *p, p4est_topidx_t tree, p4est_quadrant_t *q) {
  (void) p;
  if (p->data_size == sizeof (data_t)) {
    data_t *d = (data_t *) q->p.user_data;
    d->number = hash_of (tree, q);
    d->value = q->level + .25 * q->x;
  }
}

static inline p4est_connectivity_t *connectivity_of (int kind) {
  p4est_connectivity_t *c = NULL;
  switch (kind) {
#ifdef FOREST_3D
  case 0: c = p8est_connectivity_new_rotcubes (); break;
  case 1: c = p8est_connectivity_new_unitcube (); break;
  case 2: c = p8est_connectivity_new_periodic (); break;
  case 3: c = p8est_connectivity_new_brick (3, 2, 1, 1, 0, 0); break;
  case 4: c = p8est_connectivity_new_shell (); break;
  case 5: c = p8est_connectivity_new_sphere (); break;
  case 6: c = p8est_connectivity_new_rotwrap (); break;
#else
  case 0: c = p4est_connectivity_new_star (); break;
  case 1: c = p4est_connectivity_new_unitsquare (); break;
  case 2: c = p4est_connectivity_new_periodic (); break;
  case 3: c = p4est_connectivity_new_brick (4, 3, 0, 1); break;
  case 4: c = p4est_connectivity_new_moebius (); break;
  case 5: c = p4est_connectivity_new_cubed (); break;
  case 6: c = p4est_connectivity_new_corner (); break;
#endif
  case 7: /* without geometry, with bytes for each tree */
    c = connectivity_of (3);
    P4EST_FREE (c->vertices);
    P4EST_FREE (c->tree_to_vertex);
    c->vertices = NULL;
    c->tree_to_vertex = NULL;
    c->num_vertices = 0;
    p4est_connectivity_set_attr (c, 5);
    for (p4est_topidx_t t = 0; t < c->num_trees; ++t) { memset (c->tree_to_attr + 5 * t, 'a' + t % 26, 5); }
    break;
  }
  return c;
}

static inline p4est_t *forest_of (MPI_Comm comm, p4est_connectivity_t *c, int level, int finest, size_t data_size) {
  p4est_t *p = p4est_new_ext (comm, c, 0, level, 1, data_size, initialize, NULL);
  deepest = finest;
  p4est_refine (p, 1, refine, initialize);
  p4est_partition (p, 0, NULL);
  return p;
}

static inline void destroy (p4est_t *p) {
  p4est_connectivity_t *c = p->connectivity;
  p4est_destroy (p);
  p4est_connectivity_destroy (c);
}

static inline unsigned checksum_of (p4est_t *p) {
  unsigned sum = p4est_checksum (p);
  MPI_Bcast (&sum, 1, MPI_UNSIGNED, 0, p->mpicomm);
  return sum;
}

static inline void same_data (p4est_t *p) {
  for (p4est_topidx_t t = p->first_local_tree; t >= 0 && t <= p->last_local_tree; ++t) {
    sc_array_t *quadrants = &p4est_tree_array_index (p->trees, t)->quadrants;
    for (size_t k = 0; k < quadrants->elem_count; ++k) {
      const p4est_quadrant_t *q = p4est_quadrant_array_index (quadrants, k);
      const data_t *d = (const data_t *) q->p.user_data;
      REQUIRE (d->number == hash_of (t, q) && d->value == q->level + .25 * q->x);
    }
  }
}

#include "changed.h"

/* Loads a file that may be damaged. All ranks must agree; what p4est gets must be good, and with `verify` what was written: a forest of this
 * checksum, with its data. Returns whether it was loaded. */
static inline int try_to_load (const char *path, int verify, unsigned checksum) {
  int err = 0, least, most;
  p4est_connectivity_t *c = NULL;
  p4est_t *p = NULL;
  scda_params_t params;
  scda_params_init (&params);
  params.verify = verify;
  scda_fcontext_t *f = scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, &params, &err);
  if (f != NULL) {
    f = scda_p4est_read_forest (f, NULL, -1, MPI_COMM_WORLD, sizeof (data_t), 1, NULL, NULL, NULL, &c, &p, &err);
  }
  MPI_Allreduce (&err, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce (&err, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  REQUIRE (least == most && (f == NULL) == (err != 0) && (p == NULL) == (f == NULL) && (c == NULL) == (f == NULL));
  if (f == NULL) {
    REQUIRE (strlen (scda_last_error_message ()) > 0);
    return 0;
  }
  scda_fclose (f, &err);
  REQUIRE (p4est_is_valid (p) && p4est_connectivity_is_valid (c));
  if (verify) {
    REQUIRE (checksum_of (p) == checksum);
    same_data (p);
  }
  /* p4est works with it. */
  p4est_balance (p, P4EST_CONNECT_FULL, NULL);
  p4est_ghost_destroy (p4est_ghost_new (p, P4EST_CONNECT_FULL));
  destroy (p);
  return 1;
}

static inline void damaged_file (const char *path, const file_t *all, int skip, int shorter, uint64_t rows, int other) {
  MPI_Barrier (MPI_COMM_WORLD); /* nobody reads the file that was there */
  if (world_rank == 0) { REQUIRE (write_datasets (path, all, skip, shorter, rows, other) == 0); }
  MPI_Barrier (MPI_COMM_WORLD);
}

#endif /* FOREST_H */
