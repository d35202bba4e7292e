#include "p4est_state.h"

#include <p8est_bits.h>
#include <p8est_communication.h>
#include <p8est_extended.h>

#include <string.h>

enum { lowest_degree = 2, highest_degree = 5, most_coefficients = 6 * 6 * 6 };

/* All that the formulas need to know about a cell. */
typedef struct {
  double centre[3], time;
  int level;
  double *state;
} cell_t;

/* ---- The formulas ----
 *
 * The centre of a cell and the time are binary fractions of few digits, and where a result is rounded, it is by a single
 * multiplication or division: every machine computes the same bits. */

/* A gas that turns around the z axis and gets thinner: density, momentum (3), energy. */
static void compute_state (const cell_t *cell, double *state) {
  const double x = cell->centre[0], y = cell->centre[1], z = cell->centre[2];
  const double density = 1. / ((1. + cell->time) * (1. + x * x + y * y + z * z));
  state[0] = density;
  state[1] = -y * density;
  state[2] = x * density;
  state[3] = 0.;
  state[4] = (2.5 + .5 * (x * x + y * y)) * density;
}

/* High where the cells are large and the solution is smooth. */
static int degree_of (int level) {
  return SC_MIN (lowest_degree + SC_MAX (finest_level - level, 0), highest_degree);
}

int coefficients_per_cell (int level) {
  const int n = degree_of (level) + 1;
  return n * n * n;
}

/* The Taylor polynomial of u = 1 / (4 + x + y + z + t) around the centre, in coordinates from -1 to 1 over the
 * cell: with s the denominator at the centre, h half the cell's width and n = i + j + k, the coefficient of
 * x^i y^j z^k is n! / (i! j! k!) (-h)^n / s^(n + 1). */
static void compute_coefficients (const cell_t *cell, double *coefficients) {
  const int degree = degree_of (cell->level);
  const double h = .5 / (double) (1 << cell->level);
  const double s = 4. + cell->centre[0] + cell->centre[1] + cell->centre[2] + cell->time;
  double factorial[3 * highest_degree + 1] = { 1. }, power[3 * highest_degree + 1] = { 1. / s };
  for (int n = 1; n <= 3 * degree; ++n) {
    factorial[n] = n * factorial[n - 1];
    power[n] = power[n - 1] * -h / s;
  }
  for (int k = 0; k <= degree; ++k) {
    for (int j = 0; j <= degree; ++j) {
      for (int i = 0; i <= degree; ++i) {
        const int n = i + j + k;
        *coefficients++ = factorial[n] / (factorial[i] * factorial[j] * factorial[k]) * power[n];
      }
    }
  }
}

/* ---- Cells ---- */

static cell_t cell_of (p8est_t *forest, p4est_topidx_t tree, const p8est_quadrant_t *quadrant) {
  const p4est_qcoord_t half = P8EST_QUADRANT_LEN (quadrant->level) / 2;
  cell_t cell;
  p8est_qcoord_to_vertex (forest->connectivity, tree, quadrant->x + half, quadrant->y + half, quadrant->z + half,
                          cell.centre);
  cell.time = *(const double *) forest->user_pointer;
  cell.level = quadrant->level;
  cell.state = quadrant->p.user_data;
  return cell;
}

/* The cells of this rank, in the order of the forest. */
static cell_t *local_cells (p8est_t *forest) {
  cell_t *cells = P4EST_ALLOC (cell_t, (size_t) forest->local_num_quadrants), *next = cells;
  for (p4est_topidx_t t = forest->first_local_tree; t <= forest->last_local_tree; ++t) {
    sc_array_t *quadrants = &p8est_tree_array_index (forest->trees, t)->quadrants;
    for (size_t i = 0; i < quadrants->elem_count; ++i) {
      *next++ = cell_of (forest, t, p8est_quadrant_array_index (quadrants, i));
    }
  }
  return cells;
}

/* ---- The mesh ---- */

static void initialize_state (p8est_t *forest, p4est_topidx_t tree, p8est_quadrant_t *quadrant) {
  const cell_t cell = cell_of (forest, tree, quadrant);
  compute_state (&cell, quadrant->p.user_data);
}

/* The ball has its centre where the six trees meet. */
static int is_cut_by_surface (p8est_t *forest, p4est_topidx_t tree, const p8est_quadrant_t *quadrant) {
  const double centre[3] = { 1., 0., 1. }, radius = .4;
  const p4est_qcoord_t width = P8EST_QUADRANT_LEN (quadrant->level);
  int inside = 0;
  for (int corner = 0; corner < P8EST_CHILDREN; ++corner) {
    double xyz[3], distance_squared = 0.;
    p8est_qcoord_to_vertex (forest->connectivity, tree, quadrant->x + (corner & 1 ? width : 0),
                            quadrant->y + (corner & 2 ? width : 0), quadrant->z + (corner & 4 ? width : 0), xyz);
    for (int d = 0; d < 3; ++d) { distance_squared += (xyz[d] - centre[d]) * (xyz[d] - centre[d]); }
    inside += distance_squared < radius * radius;
  }
  return 0 < inside && inside < P8EST_CHILDREN;
}

static int refine_at_surface (p8est_t *forest, p4est_topidx_t tree, p8est_quadrant_t *quadrant) {
  return quadrant->level < finest_level && is_cut_by_surface (forest, tree, quadrant);
}

/* What the simulation wants next: one level more, in the upper half. */
static int refine_upper_half (p8est_t *forest, p4est_topidx_t tree, p8est_quadrant_t *quadrant) {
  return quadrant->level <= finest_level && cell_of (forest, tree, quadrant).centre[2] > 1. &&
         is_cut_by_surface (forest, tree, quadrant);
}

static void balance_and_partition (p8est_t *forest) {
  p8est_balance (forest, P8EST_CONNECT_FULL, initialize_state);
  p8est_partition (forest, 0, NULL);
}

unsigned mesh_checksum (p8est_t *forest) {
  unsigned checksum = p8est_checksum (forest); /* on rank 0 only */
  MPI_Bcast (&checksum, 1, MPI_UNSIGNED, 0, forest->mpicomm);
  return checksum;
}

/* ---- Coefficients ---- */

coefficients_t coefficients_new (p8est_t *forest) {
  const size_t num_cells = (size_t) forest->local_num_quadrants;
  cell_t *cells = local_cells (forest);
  coefficients_t c;
  c.sizes = P4EST_ALLOC (int, num_cells);
  c.counts = P4EST_ALLOC (int64_t, num_cells);
  c.bytes = 0;
  for (size_t i = 0; i < num_cells; ++i) {
    c.counts[i] = coefficients_per_cell (cells[i].level);
    c.sizes[i] = (int) c.counts[i] * (int) sizeof (double);
    c.bytes += (uint64_t) c.sizes[i];
  }
  c.values = P4EST_ALLOC (double, c.bytes / sizeof (double));
  P4EST_FREE (cells);
  return c;
}

void coefficients_free (coefficients_t *c) {
  P4EST_FREE (c->sizes);
  P4EST_FREE (c->counts);
  P4EST_FREE (c->values);
}

static coefficients_t computed_coefficients (p8est_t *forest) {
  cell_t *cells = local_cells (forest);
  coefficients_t c = coefficients_new (forest);
  double *next = c.values;
  for (p4est_locidx_t i = 0; i < forest->local_num_quadrants; ++i) {
    compute_coefficients (&cells[i], next);
    next += coefficients_per_cell (cells[i].level);
  }
  P4EST_FREE (cells);
  return c;
}

/* ---- The simulation ---- */

simulation_t simulation_new (sc_MPI_Comm comm) {
  simulation_t s;
  s.time = P4EST_ALLOC_ZERO (double, 1);
  s.forest = p8est_new_ext (comm, p8est_connectivity_new_rotcubes (), 0, coarsest_level, 1, state_bytes,
                            initialize_state, s.time);
  for (int level = coarsest_level; level < finest_level; ++level) {
    p8est_refine (s.forest, 0, refine_at_surface, initialize_state);
    p8est_partition (s.forest, 0, NULL);
  }
  balance_and_partition (s.forest);
  s.coefficients = computed_coefficients (s.forest);
  return s;
}

void simulation_free (simulation_t *s) {
  p8est_connectivity_t *connectivity = s->forest->connectivity;
  coefficients_free (&s->coefficients);
  p8est_destroy (s->forest);
  p8est_connectivity_destroy (connectivity);
  P4EST_FREE (s->time);
}

int simulation_is_exact (const simulation_t *s) {
  cell_t *cells = local_cells (s->forest);
  const double *coefficients = s->coefficients.values;
  double state[state_doubles], computed[most_coefficients];
  int exact = 1;
  for (p4est_locidx_t i = 0; i < s->forest->local_num_quadrants; ++i) {
    compute_state (&cells[i], state);
    compute_coefficients (&cells[i], computed);
    exact = exact && !memcmp (cells[i].state, state, state_bytes) &&
            !memcmp (coefficients, computed, (size_t) s->coefficients.sizes[i]);
    coefficients += coefficients_per_cell (cells[i].level);
  }
  P4EST_FREE (cells);
  return exact;
}

void simulation_repartition (simulation_t *s) {
  const size_t num_offsets = (size_t) s->forest->mpisize + 1;
  p4est_gloidx_t *first_before = P4EST_ALLOC (p4est_gloidx_t, num_offsets);
  memcpy (first_before, s->forest->global_first_quadrant, num_offsets * sizeof *first_before);

  p8est_partition (s->forest, 0, NULL);
  coefficients_t moved = coefficients_new (s->forest);
  p8est_transfer_custom (s->forest->global_first_quadrant, first_before, s->forest->mpicomm, 0, moved.values,
                         moved.sizes, s->coefficients.values, s->coefficients.sizes);
  coefficients_free (&s->coefficients);
  s->coefficients = moved;
  P4EST_FREE (first_before);
}

void simulation_advance (simulation_t *s, double seconds) {
  *s->time += seconds;
  cell_t *cells = local_cells (s->forest);
  for (p4est_locidx_t i = 0; i < s->forest->local_num_quadrants; ++i) { compute_state (&cells[i], cells[i].state); }
  P4EST_FREE (cells);
  coefficients_free (&s->coefficients);
  s->coefficients = computed_coefficients (s->forest);
}

void simulation_adapt (simulation_t *s) {
  p8est_refine (s->forest, 0, refine_upper_half, initialize_state);
  balance_and_partition (s->forest);
  coefficients_free (&s->coefficients);
  s->coefficients = computed_coefficients (s->forest);
}
