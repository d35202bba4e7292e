/* p4est_steps.c: three time steps of an adaptive mesh in one file, and a restart from the last one on any number of ranks.
 *
 * Compile:  mpicc p4est_steps.c -o p4est_steps $(pkg-config --cflags --libs scda) -lp4est -lsc -lz -lm
 * Run:      mpirun -n 4 ./p4est_steps write steps.scda
 *           mpirun -n 3 ./p4est_steps restart steps.scda
 *
 * Expected output:
 *
 *   step 0, time 0 s: 364 cells
 *   step 1, time 0.1 s: 364 cells
 *   step 2, time 0.2 s: 364 cells
 *
 *   3 steps; the last one, time 0.2 s, has 364 cells on 3 ranks: every height as computed anew
 *
 * A round wave runs across a square. The mesh follows it, so each step has a mesh of its own; the connectivity is written once. What
 * the file holds is described in docs/forest.md; it does not depend on the number of ranks. */
#include <scda_p4est.h>

static const double step_seconds = .1;

/* The height of the water at the centre of a quadrant. */
static double height (p4est_t *p4est, p4est_topidx_t tree, const p4est_quadrant_t *q, int step) {
  const p4est_qcoord_t half = P4EST_QUADRANT_LEN (q->level) / 2;
  double centre[3], distance = 0;
  p4est_qcoord_to_vertex (p4est->connectivity, tree, q->x + half, q->y + half, centre);
  for (int d = 0; d < 2; ++d) {
    const double difference = centre[d] - (.25 + .25 * step);
    distance += difference * difference;
  }
  return 1. + .5 / (1. + 64. * distance);
}

static int step_now;

static int refine_wave (p4est_t *p4est, p4est_topidx_t tree, p4est_quadrant_t *q) {
  return q->level < 6 && height (p4est, tree, q, step_now) > 1.2 + .04 * q->level;
}

/* The mesh of a step, to be destroyed by the caller. */
static p4est_t *compute (p4est_connectivity_t *connectivity, int step) {
  p4est_t *p4est = p4est_new_ext (MPI_COMM_WORLD, connectivity, 0, 3, 1, 0, NULL, NULL);
  step_now = step;
  p4est_refine (p4est, 1, refine_wave, NULL);
  p4est_balance (p4est, P4EST_CONNECT_FULL, NULL);
  p4est_partition (p4est, 0, NULL);
  return p4est;
}

/* The height of each local quadrant, to be freed by the caller. */
static double *heights (p4est_t *p4est, int step) {
  double *values = P4EST_ALLOC (double, (size_t) p4est->local_num_quadrants + 1), *next = values;
  for (p4est_topidx_t t = p4est->first_local_tree; t <= p4est->last_local_tree && t >= 0; ++t) {
    sc_array_t *quadrants = &p4est_tree_array_index (p4est->trees, t)->quadrants;
    for (size_t i = 0; i < quadrants->elem_count; ++i) {
      *next++ = height (p4est, t, p4est_quadrant_array_index (quadrants, i), step);
    }
  }
  return values;
}

static int write_steps (const char *filename, int rank) {
  p4est_connectivity_t *connectivity = p4est_connectivity_new_brick (2, 2, 0, 0);
  scda_dataset_t field;
  int err;
  scda_dataset_init (&field);
  strcpy (field.name, "height");
  field.type = SCDA_TYPE_FLOAT64;
  field.encode = SCDA_ENCODE_ALWAYS; /* compressed */
  field.attributes = "{\"units\": \"m\", \"long_name\": \"height of the water\"}";

  scda_fcontext_t *f = scda_fopen_write (MPI_COMM_WORLD, filename, "p4est_steps.c", NULL, NULL, &err);
  f = scda_forest_write_about (f, &err);
  f = scda_forest_write_group (f, NULL, 2, "{\"title\": \"a wave\"}", &err);
  for (int step = 0; f != NULL && step < 3; ++step) {
    p4est_t *p4est = compute (connectivity, step);
    double *values = heights (p4est, step);
    f = scda_p4est_write_step (f, NULL, p4est, step_seconds * step, "s", &err); /* and what of the mesh has changed */
    f = scda_p4est_write_field (f, NULL, p4est, &field, values, &err);
    f = scda_fcommit (f, &err); /* from now on, this step is safe */
    if (f != NULL && rank == 0) {
      printf ("step %d, time %g s: %d cells\n", step, step_seconds * step, (int) p4est->global_num_quadrants);
    }
    P4EST_FREE (values);
    p4est_destroy (p4est);
  }
  scda_fclose (f, &err);
  p4est_connectivity_destroy (connectivity);
  return err;
}

static int restart (const char *filename, int rank) {
  p4est_connectivity_t *connectivity = NULL;
  p4est_t *p4est = NULL;
  double time = 0;
  int64_t steps = 0;
  int err;
  scda_fcontext_t *f = scda_fopen_read (MPI_COMM_WORLD, filename, NULL, NULL, NULL, &err);
  f = scda_forest_steps (f, NULL, &steps, &err);
  f = scda_forest_read_time (f, NULL, -1, &time, &err); /* -1: the last one */
  f = scda_p4est_read_forest (f, NULL, -1, MPI_COMM_WORLD, 0, 0, NULL, NULL, NULL, &connectivity, &p4est, &err);
  if (f == NULL) { return err; }
  double *values = P4EST_ALLOC (double, (size_t) p4est->local_num_quadrants + 1);
  f = scda_p4est_read_field (f, NULL, -1, p4est, "height", SCDA_TYPE_FLOAT64, 1, values, &err);
  scda_fclose (f, &err);
  if (err == SCDA_SUCCESS) {
    double *expected = heights (p4est, (int) steps - 1);
    int exact = memcmp (values, expected, (size_t) p4est->local_num_quadrants * sizeof *values) == 0;
    MPI_Allreduce (MPI_IN_PLACE, &exact, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0) {
      printf ("%d steps; the last one, time %g s, has %d cells on %d ranks: %s\n", (int) steps, time,
              (int) p4est->global_num_quadrants, p4est->mpisize, exact ? "every height as computed anew" : "WRONG HEIGHTS");
    }
    P4EST_FREE (expected);
    err = exact ? SCDA_SUCCESS : SCDA_ERR_INTERNAL;
  }
  P4EST_FREE (values);
  p4est_destroy (p4est);
  p4est_connectivity_destroy (connectivity);
  return err;
}

int main (int argc, char **argv) {
  int rank, err = SCDA_ERR_ARG;
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  sc_init (MPI_COMM_WORLD, 1, 1, NULL, SC_LP_ERROR);
  p4est_init (NULL, SC_LP_ERROR);
  if (argc == 3 && strcmp (argv[1], "write") == 0) { err = write_steps (argv[2], rank); }
  else if (argc == 3 && strcmp (argv[1], "restart") == 0) { err = restart (argv[2], rank); }
  else if (rank == 0) { fprintf (stderr, "p4est_steps write FILE, or p4est_steps restart FILE\n"); }
  if (err != SCDA_SUCCESS && argc == 3 && rank == 0) { fprintf (stderr, "p4est_steps: %s\n", scda_last_error_message ()); }
  sc_finalize ();
  MPI_Finalize ();
  return err != SCDA_SUCCESS;
}
