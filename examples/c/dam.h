/* dam.h: the dam break that p4est_dam.c computes, but for the mesh.
 *
 * A basin of 200 m by 200 m has 10 m of water on the left of a dam, and 5 m on its right. At time 0 a part of the dam, 75 m
 * wide, is gone (after R. J. Fennema and M. H. Chaudhry, Explicit methods for 2-D transient free-surface flows, J. Hydraul. Eng.
 * 116, 1990; the dam has no thickness here). There is no friction. The trees are squares of 25 m, row by row; faces are numbered
 * -x, +x, -y, +y.
 *
 * Finite volumes of first order, with the fluxes of Harten, Lax and van Leer. The mesh is fine where the depth or the velocity
 * of neighbours differ; neighbours differ by at most one level. Each cell adds the fluxes through its faces in the same order, so
 * the values do not depend on the number of ranks.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef DAM_H
#define DAM_H

#include <math.h>
#include <string.h>

enum { trees = 8, first_in_breach = 4, beyond_breach = 7, coarsest = 1, finest = 5, steps_between_meshes = 4 };
enum { cell_faces = 4, face_halves = 2, cell_children = 4 };

static const double tree_width = 25., gravity = 9.81, end_time = 7.2, time_between_outputs = 0.9, courant_number = 0.4;
static const double refine_above = 0.24, coarsen_below = 0.06;

/* Depth, and depth times velocity in x and in y. */
typedef struct {
  double h, hu, hv;
} state_t;

/* A face of a cell may touch two smaller ones: the two halves are added one after the other. */
typedef struct {
  state_t now, flux[cell_faces][face_halves];
  double contrast;
} cell_t;

static inline double width_of_level (int level) { return tree_width / (double) (1 << level); }

static inline cell_t cell_at_start (int tree) {
  cell_t cell;
  memset (&cell, 0, sizeof cell);
  cell.now.h = tree % trees < trees / 2 ? 10. : 5.;
  return cell;
}

/* Through a face, in the direction of its normal, x or y. */
static inline state_t flux_between (state_t left, state_t right, int normal_is_y, double *fastest) {
  const double ul = (normal_is_y ? left.hv : left.hu) / left.h, ur = (normal_is_y ? right.hv : right.hu) / right.h;
  const double cl = sqrt (gravity * left.h), cr = sqrt (gravity * right.h);
  const double slow = fmin (0., fmin (ul - cl, ur - cr)), fast = fmax (0., fmax (ul + cl, ur + cr));
  const state_t fl = { left.h * ul, left.hu * ul, left.hv * ul }, fr = { right.h * ur, right.hu * ur, right.hv * ur };
  const double pl = 0.5 * gravity * left.h * left.h, pr = 0.5 * gravity * right.h * right.h;
  const double a = fast / (fast - slow), b = -slow / (fast - slow), c = fast * slow / (fast - slow);
  state_t flux = { a * fl.h + b * fr.h + c * (right.h - left.h), a * fl.hu + b * fr.hu + c * (right.hu - left.hu),
                   a * fl.hv + b * fr.hv + c * (right.hv - left.hv) };
  *(normal_is_y ? &flux.hv : &flux.hu) += a * pl + b * pr;
  *fastest = fmax (*fastest, fmax (fast, -slow));
  return flux;
}

/* Decides the mesh size: how much two cells differ. */
static inline double contrast_of (state_t a, state_t b) {
  const double du = a.hu / a.h - b.hu / b.h, dv = a.hv / a.h - b.hv / b.h;
  return fabs (a.h - b.h) + 0.5 * (fabs (du) + fabs (dv));
}

/* Before the fluxes of a step. */
static inline void forget_fluxes (cell_t *cell) {
  memset (cell->flux, 0, sizeof cell->flux);
  cell->contrast = 0.;
}

/* The flux through a face of a cell from or to another one, which is as large; smaller, across half 0 or 1 of the face; or larger. */
typedef enum { as_large, smaller, larger } other_t;

static inline void meet (cell_t *cell, const cell_t *other, int face, other_t size, int half, double *fastest) {
  /* Per width of the cell: next to a smaller one, the distance of the centres is three quarters of it; next to a larger one, three
   * halves. */
  const double part = size == smaller ? 0.5 : 1., nearness = size == smaller ? 4. / 3. : size == larger ? 2. / 3. : 1.;
  const state_t flux = face % 2 ? flux_between (cell->now, other->now, face / 2, fastest) : flux_between (other->now, cell->now, face / 2, fastest);
  state_t *place = &cell->flux[face][size == smaller ? half : 0];
  place->h = part * flux.h;
  place->hu = part * flux.hu;
  place->hv = part * flux.hv;
  cell->contrast = fmax (cell->contrast, contrast_of (cell->now, other->now) * nearness);
}

/* The same at a wall: beyond it is the mirror image. */
static inline void meet_wall (cell_t *cell, int face, double *fastest) {
  const int normal_is_y = face / 2;
  const state_t own = cell->now, mirror = { own.h, normal_is_y ? own.hu : -own.hu, normal_is_y ? -own.hv : own.hv };
  cell->flux[face][0] = face % 2 ? flux_between (own, mirror, normal_is_y, fastest) : flux_between (mirror, own, normal_is_y, fastest);
}

static inline void add_fluxes (cell_t *cell, double dt, double width) {
  for (int face = 0; face < cell_faces; ++face) {
    const double sign = face % 2 ? -dt / width : dt / width;
    for (int half = 0; half < face_halves; ++half) {
      cell->now.h += sign * cell->flux[face][half].h;
      cell->now.hu += sign * cell->flux[face][half].hu;
      cell->now.hv += sign * cell->flux[face][half].hv;
    }
  }
}

static inline int wants_finer (const cell_t *cell, int level) { return level < finest && cell->contrast > refine_above; }

static inline int wants_coarser (const cell_t *cell, int level) { return level > coarsest && cell->contrast < coarsen_below; }

/* Water is neither lost nor made: smaller cells have the state of the larger one, and that has their mean. */
static inline void add_share (cell_t *all, const cell_t *old, int num_old) {
  all->now.h += old->now.h / num_old;
  all->now.hu += old->now.hu / num_old;
  all->now.hv += old->now.hv / num_old;
  all->contrast = fmax (all->contrast, old->contrast);
}

#endif
