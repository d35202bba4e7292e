/* p4est_dam.c: a dam breaks. The shallow water equations on an adaptive forest of quadtrees, whose time steps go into one
 * file that ParaView shows (scda vtk).
 *
 * Compile:  mpicc p4est_dam.c -o p4est_dam $(pkg-config --cflags --libs scda) -lp4est -lsc -lz -lm
 * Run:      mpirun -n 4 ./p4est_dam dam.scda
 *
 * dam.h says what is computed. The trees on the two sides of what is left of the dam have no common vertices there, so p4est does
 * not join them. Families are not parted, so the file does not depend on the number of ranks. */
#include <p4est_bits.h>
#include <p4est_extended.h>
#include <p4est_iterate.h>
#include <scda_p4est.h>

#include "dam.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
  const cell_t *ghosts;
  double fastest;
} sweep_t;

static cell_t *cell_of (const p4est_quadrant_t *quadrant) { return (cell_t *) quadrant->p.user_data; }

/* ---- The basin ---- */

/* The vertices of a column: one more where the dam stands, for the trees on its right. */
static p4est_topidx_t vertex_at (int x, int y, int right_of_dam) {
  const int dam = x == trees / 2 && right_of_dam && (y < first_in_breach || y > beyond_breach);
  return (p4est_topidx_t) (dam ? (trees + 1) * (trees + 1) + y : (trees + 1) * y + x);
}

static p4est_connectivity_t *basin (void) {
  const int vertices = (trees + 1) * (trees + 1) + trees + 1;
  p4est_connectivity_t *c = p4est_connectivity_new (vertices, trees * trees, 0, 0);
  for (int i = 0; i < vertices; ++i) {
    const int in_grid = i < (trees + 1) * (trees + 1);
    c->vertices[3 * i] = tree_width * (in_grid ? i % (trees + 1) : trees / 2);
    c->vertices[3 * i + 1] = tree_width * (in_grid ? i / (trees + 1) : i - (trees + 1) * (trees + 1));
    c->vertices[3 * i + 2] = 0.;
  }
  for (int t = 0; t < trees * trees; ++t) {
    for (int corner = 0; corner < P4EST_CHILDREN; ++corner) {
      const int x = t % trees + (corner & 1), y = t / trees + (corner >> 1);
      c->tree_to_vertex[P4EST_CHILDREN * t + corner] = vertex_at (x, y, t % trees >= trees / 2);
    }
    for (int face = 0; face < P4EST_FACES; ++face) {
      c->tree_to_tree[P4EST_FACES * t + face] = t;
      c->tree_to_face[P4EST_FACES * t + face] = (int8_t) face;
    }
  }
  /* Joins the trees that share vertices. */
  p4est_connectivity_complete (c);
  return c;
}

static void fill (p4est_t *p4est, p4est_topidx_t tree, p4est_quadrant_t *quadrant) {
  (void) p4est;
  *cell_of (quadrant) = cell_at_start (tree);
}

/* ---- Fluxes ---- */

/* What is on one side of a face: one cell, or two smaller ones. Those of other ranks are copies. */
static int cells_of_side (p4est_iter_face_side_t *side, const cell_t *ghosts, const cell_t **cells, int *is_own) {
  const int count = side->is_hanging ? P4EST_HALF : 1;
  for (int i = 0; i < count; ++i) {
    const p4est_quadrant_t *quadrant = side->is_hanging ? side->is.hanging.quad[i] : side->is.full.quad;
    const int is_ghost = side->is_hanging ? side->is.hanging.is_ghost[i] : side->is.full.is_ghost;
    const p4est_locidx_t number = side->is_hanging ? side->is.hanging.quadid[i] : side->is.full.quadid;
    is_own[i] = !is_ghost;
    cells[i] = is_ghost ? &ghosts[number] : cell_of (quadrant);
  }
  return count;
}

static void visit_face (p4est_iter_face_info_t *info, void *sweep_pointer) {
  sweep_t *sweep = (sweep_t *) sweep_pointer;
  const cell_t *cells[2][P4EST_HALF];
  int is_own[2][P4EST_HALF], count[2];
  for (size_t i = 0; i < info->sides.elem_count; ++i) {
    count[i] = cells_of_side (p4est_iter_fside_array_index (&info->sides, i), sweep->ghosts, cells[i], is_own[i]);
  }
  p4est_iter_face_side_t *a = p4est_iter_fside_array_index (&info->sides, 0);
  if (info->sides.elem_count == 1) {
    meet_wall ((cell_t *) cells[0][0], a->face, &sweep->fastest);
    return;
  }
  for (int side = 0; side < 2; ++side) {
    const int other = 1 - side, face = p4est_iter_fside_array_index_int (&info->sides, side)->face;
    const other_t size = count[other] > count[side] ? smaller : count[other] < count[side] ? larger : as_large;
    for (int i = 0; i < SC_MAX (count[0], count[1]); ++i) {
      const int own = count[side] > 1 ? i : 0;
      if (is_own[side][own]) {
        meet ((cell_t *) cells[side][own], cells[other][count[other] > 1 ? i : 0], face, size, i, &sweep->fastest);
      }
    }
  }
}

static void visit_cell_before (p4est_iter_volume_info_t *info, void *unused) {
  (void) unused;
  forget_fluxes (cell_of (info->quad));
}

static void visit_cell_after (p4est_iter_volume_info_t *info, void *dt_pointer) {
  add_fluxes (cell_of (info->quad), *(const double *) dt_pointer, width_of_level (info->quad->level));
}

/* The fluxes through all faces. Returns the speed of the fastest wave. */
static double sweep (p4est_t *p4est) {
  p4est_ghost_t *ghost = p4est_ghost_new (p4est, P4EST_CONNECT_FACE);
  cell_t *ghosts = (cell_t *) calloc (ghost->ghosts.elem_count + 1, sizeof (cell_t));
  sweep_t own = { ghosts, 0. };
  double fastest;
  SC_CHECK_ABORT (ghosts != NULL, "no memory");
  p4est_ghost_exchange_data (p4est, ghost, ghosts);
  p4est_iterate (p4est, NULL, NULL, visit_cell_before, NULL, NULL);
  p4est_iterate (p4est, ghost, &own, NULL, visit_face, NULL);
  MPI_Allreduce (&own.fastest, &fastest, 1, MPI_DOUBLE, MPI_MAX, p4est->mpicomm);
  free (ghosts);
  p4est_ghost_destroy (ghost);
  return fastest;
}

/* ---- The mesh ---- */

static int should_refine (p4est_t *p4est, p4est_topidx_t tree, p4est_quadrant_t *quadrant) {
  (void) p4est;
  (void) tree;
  return wants_finer (cell_of (quadrant), quadrant->level);
}

static int should_coarsen (p4est_t *p4est, p4est_topidx_t tree, p4est_quadrant_t *family[]) {
  int should = 1;
  (void) p4est;
  (void) tree;
  for (int i = 0; i < P4EST_CHILDREN; ++i) { should = should && wants_coarser (cell_of (family[i]), family[i]->level); }
  return should;
}

static void replace (p4est_t *p4est, p4est_topidx_t tree, int num_old, p4est_quadrant_t *old[], int num_new, p4est_quadrant_t *new[]) {
  cell_t all;
  (void) p4est;
  (void) tree;
  memset (&all, 0, sizeof all);
  for (int i = 0; i < num_old; ++i) { add_share (&all, cell_of (old[i]), num_old); }
  for (int i = 0; i < num_new; ++i) { *cell_of (new[i]) = all; }
}

static void adapt (p4est_t *p4est) {
  p4est_coarsen_ext (p4est, 0, 0, should_coarsen, NULL, replace);
  p4est_refine_ext (p4est, 0, finest, should_refine, NULL, replace);
  p4est_balance_ext (p4est, P4EST_CONNECT_FACE, NULL, replace);
  /* Families stay on one rank, so that all of them can be coarsened on any number of ranks. */
  p4est_partition_ext (p4est, 1, NULL);
}

/* ---- The file ---- */

static scda_fcontext_t *write_step (scda_fcontext_t *f, p4est_t *p4est, double time, int *err) {
  const size_t count = (size_t) p4est->local_num_quadrants;
  double *depth = (double *) malloc ((count + 1) * sizeof (double)), *velocity = (double *) malloc ((2 * count + 1) * sizeof (double));
  size_t n = 0;
  SC_CHECK_ABORT (depth != NULL && velocity != NULL, "no memory");
  for (p4est_topidx_t t = p4est->first_local_tree; t <= p4est->last_local_tree; ++t) {
    p4est_tree_t *tree = p4est_tree_array_index (p4est->trees, t);
    for (size_t i = 0; i < tree->quadrants.elem_count; ++i, ++n) {
      const state_t state = cell_of (p4est_quadrant_array_index (&tree->quadrants, i))->now;
      depth[n] = state.h;
      velocity[2 * n] = state.hu / state.h;
      velocity[2 * n + 1] = state.hv / state.h;
    }
  }
  scda_dataset_t field;
  scda_dataset_init (&field);
  field.type = SCDA_TYPE_FLOAT64;
  f = scda_p4est_write_step (f, NULL, p4est, time, "s", err);
  strcpy (field.name, "depth");
  field.attributes = "{\"units\": \"m\", \"long_name\": \"depth of the water\"}";
  f = scda_p4est_write_field (f, NULL, p4est, &field, depth, err);
  strcpy (field.name, "velocity");
  field.attributes = "{\"units\": \"m s-1\", \"long_name\": \"velocity of the water in x and y\"}";
  field.ndims = 2;
  field.shape[1] = 2;
  f = scda_p4est_write_field (f, NULL, p4est, &field, velocity, err);
  /* The water flows on while this is written. The next step, or closing, waits until it is in the file; from then on it stays,
   * whenever the job is killed. */
  f = scda_fcommit_begin (f, NULL, err);
  free (depth);
  free (velocity);
  return f;
}

int main (int argc, char **argv) {
  int err = 0, rank;
  sc_MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  if (argc != 2) {
    if (rank == 0) { fprintf (stderr, "usage: p4est_dam FILE\n"); }
    sc_MPI_Finalize ();
    return 1;
  }
  sc_init (MPI_COMM_WORLD, 1, 1, NULL, SC_LP_ERROR);
  p4est_init (NULL, SC_LP_ERROR);
  p4est_connectivity_t *connectivity = basin ();
  p4est_t *p4est = p4est_new_ext (MPI_COMM_WORLD, connectivity, 0, coarsest, 1, sizeof (cell_t), fill, NULL);
  /* The mesh of time 0 is fine at the breach. */
  for (int level = coarsest; level < finest; ++level) {
    sweep (p4est);
    adapt (p4est);
  }

  scda_params_t params;
  scda_params_init (&params);
  params.background_bytes = 64 << 20; /* not with MPI-IO */
  scda_fcontext_t *f = scda_fopen_write (MPI_COMM_WORLD, argv[1], "p4est_dam.c: a dam breaks", NULL, &params, &err);
  f = scda_forest_write_about (f, &err);
  f = scda_forest_write_group (f, NULL, 2, "{\"title\": \"Partial dam break\", \"code\": \"p4est_dam.c\"}", &err);
  f = scda_p4est_write_connectivity (f, NULL, p4est, &err);
  f = write_step (f, p4est, 0., &err);

  double time = 0.;
  int outputs = 1;
  for (int step = 0; f && time < end_time; ++step) {
    const double next = fmin (outputs * time_between_outputs, end_time);
    const double fastest = sweep (p4est);
    double dt = courant_number * width_of_level (finest) / fastest;
    dt = fmin (dt, next - time);
    p4est_iterate (p4est, NULL, &dt, visit_cell_after, NULL, NULL);
    time = time + dt < next ? time + dt : next;
    if (time == next) {
      f = write_step (f, p4est, time, &err);
      ++outputs;
    }
    if (step % steps_between_meshes == 0) { adapt (p4est); }
  }
  scda_fclose (f, &err);
  if (rank == 0 && err == 0) {
    printf ("%s: %d time steps, %lld cells in the last one\n", argv[1], outputs, (long long) p4est->global_num_quadrants);
  }
  if (rank == 0 && err != 0) { fprintf (stderr, "%s\n", scda_last_error_message ()); }
  p4est_destroy (p4est);
  p4est_connectivity_destroy (connectivity);
  sc_finalize ();
  sc_MPI_Finalize ();
  return err != 0;
}
