/* p4est_state.h: the simulation that p4est_checkpoint.c writes and reads.
 *
 * An hp-adaptive mesh, refined towards the surface of a ball, with the state of a gas and the coefficients of hp elements. Both are
 * formulas of the time and of a cell's place, so that a restart can check every value it has read. */
#ifndef P4EST_STATE_H
#define P4EST_STATE_H

#include <p8est.h>

enum {
  coarsest_level = 3,
  finest_level = 6,
  state_doubles = 5, /* of each cell */
  state_bytes = state_doubles * sizeof (double)
};

/* hp data: of each cell as many coefficients as its polynomial degree asks for. */
typedef struct {
  int *sizes;       /* the bytes of each local cell, as p4est takes them */
  int64_t *counts;  /* the coefficients of each local cell, as libscda takes them */
  uint64_t bytes;   /* of all local cells */
  double *values;   /* one cell after the other */
} coefficients_t;

typedef struct {
  double *time;    /* the user pointer of the forest: the formulas need it */
  p8est_t *forest; /* the user data of a quadrant are its state: they move with it */
  coefficients_t coefficients;
} simulation_t;

/* At time 0. */
simulation_t simulation_new (sc_MPI_Comm comm);

/* Goes on in time, and computes the data anew. */
void simulation_advance (simulation_t *s, double seconds);

/* With the connectivity, too. */
void simulation_free (simulation_t *s);

/* Whether state and coefficients of this rank's cells are bit by bit what the formulas say. */
int simulation_is_exact (const simulation_t *s);

/* From any partition to p4est's own, with all data. */
void simulation_repartition (simulation_t *s);

/* Refines, balances and partitions the mesh, and computes the data anew. */
void simulation_adapt (simulation_t *s);

/* The number of coefficients of a cell of this level. */
int coefficients_per_cell (int level);

/* Room for the coefficients of a forest's local cells: their number follows from the level. */
coefficients_t coefficients_new (p8est_t *forest);
void coefficients_free (coefficients_t *c);

/* p8est_checksum, whose result is the same for any partition, on all ranks. */
unsigned mesh_checksum (p8est_t *forest);

#endif
