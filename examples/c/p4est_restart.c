/* p4est_restart.c: a simulation in 2D and 3D that is interrupted and goes on, on another number of ranks. Its checkpoint is one file, with
 * the state of the program beside the forest and the data of the quadrants.
 *
 * Compile:  mpicc p4est_restart.c -o p4est_restart $(pkg-config --cflags --libs scda) -lp4est -lsc -lz -lm
 *           mpicc p8est_restart.c -o p8est_restart $(pkg-config --cflags --libs scda) -lp4est -lsc -lz -lm
 * Run:      mpirun -n 4 ./p4est_restart 3 half.scda               3 steps from the beginning
 *           mpirun -n 3 ./p4est_restart 3 end.scda half.scda      3 more
 *
 * Expected output:
 *
 *   step 3, time 0.3: 230 quadrants on 4 ranks
 *   step 6, time 0.6: 218 quadrants on 3 ranks
 *
 * A drop of dye drifts through two trees without a boundary: what leaves on one side comes in on the other. p8est_restart.c
 * is this program in 3D; in both the names are those of p4est. The file does not depend on the number of ranks, nor on the
 * interruption: 6 steps at once write the same bytes. */
#ifndef P4_TO_P8
#include <p4est_bits.h>
#include <scda_p4est.h>
#else
#include <p8est_bits.h>
#include <scda_p8est.h>
#endif

#include <math.h>

enum { coarsest = 2, finest = P4EST_DIM == 2 ? 5 : 4 };

/* What the program needs to go on, besides the forest. All members have 8 bytes, so no bytes between them are undefined. */
typedef struct {
  int64_t steps;
  double time, time_step, velocity[3], centre[3];
} context_t;

/* What each quadrant has. */
typedef struct {
  double dye;
} quadrant_data_t;

/* ---- The simulation ---- */

/* How much dye there is at the centre of a quadrant. The domain has the size 2 x 1 (x 1), and goes on periodically. */
static double dye_at (p4est_t *p4est, p4est_topidx_t tree, const p4est_quadrant_t *quadrant) {
  const context_t *context = (const context_t *) p4est->user_pointer;
  const double size[3] = { 2., 1., 1. };
  const p4est_qcoord_t half = P4EST_QUADRANT_LEN (quadrant->level) / 2;
  double place[3], distance = 0.;
#ifndef P4_TO_P8
  p4est_qcoord_to_vertex (p4est->connectivity, tree, quadrant->x + half, quadrant->y + half, place);
#else
  p8est_qcoord_to_vertex (p4est->connectivity, tree, quadrant->x + half, quadrant->y + half, quadrant->z + half, place);
#endif
  for (int axis = 0; axis < P4EST_DIM; ++axis) {
    double away = place[axis] - context->centre[axis] - context->velocity[axis] * context->time;
    away -= size[axis] * floor (away / size[axis] + .5);
    distance += away * away;
  }
  return exp (-40. * distance);
}

static quadrant_data_t *data_of (p4est_quadrant_t *quadrant) { return (quadrant_data_t *) quadrant->p.user_data; }

static void begin_quadrant (p4est_t *p4est, p4est_topidx_t tree, p4est_quadrant_t *quadrant) {
  data_of (quadrant)->dye = dye_at (p4est, tree, quadrant);
}

static int wants_finer (p4est_t *p4est, p4est_topidx_t tree, p4est_quadrant_t *quadrant) {
  (void) p4est;
  (void) tree;
  return quadrant->level < finest && data_of (quadrant)->dye > .1 * quadrant->level;
}

static int want_coarser (p4est_t *p4est, p4est_topidx_t tree, p4est_quadrant_t *family[]) {
  int want = family[0]->level > coarsest;
  (void) p4est;
  (void) tree;
  for (int i = 0; i < P4EST_CHILDREN; ++i) { want = want && data_of (family[i])->dye < .05; }
  return want;
}

/* Smaller quadrants have what the larger one had, and a larger one has their mean. */
static void replace (p4est_t *p4est, p4est_topidx_t tree, int num_old, p4est_quadrant_t *old[], int num_new, p4est_quadrant_t *new[]) {
  double dye = 0.;
  (void) p4est;
  (void) tree;
  for (int i = 0; i < num_old; ++i) { dye += data_of (old[i])->dye / num_old; }
  for (int i = 0; i < num_new; ++i) { data_of (new[i])->dye = dye; }
}

static void step_forward (p4est_t *p4est) {
  context_t *context = (context_t *) p4est->user_pointer;
  context->steps += 1;
  context->time += context->time_step;
  for (p4est_topidx_t t = p4est->first_local_tree; t >= 0 && t <= p4est->last_local_tree; ++t) {
    sc_array_t *quadrants = &p4est_tree_array_index (p4est->trees, t)->quadrants;
    for (size_t i = 0; i < quadrants->elem_count; ++i) {
      p4est_quadrant_t *quadrant = p4est_quadrant_array_index (quadrants, i);
      data_of (quadrant)->dye += .8 * (dye_at (p4est, t, quadrant) - data_of (quadrant)->dye);
    }
  }
  /* Families stay on one rank, so that they are coarsened alike on any number of ranks. */
  p4est_partition (p4est, 1, NULL);
  p4est_coarsen_ext (p4est, 0, 0, want_coarser, NULL, replace);
  p4est_refine_ext (p4est, 0, finest, wants_finer, NULL, replace);
  p4est_balance_ext (p4est, P4EST_CONNECT_FULL, NULL, replace);
}

static p4est_t *begin (context_t *context, p4est_connectivity_t **connectivity) {
  const context_t at_first = { 0, 0., .1, { .7, .3, .2 }, { 1.6, .5, .5 } };
  p4est_t *p4est;
  *context = at_first;
#ifndef P4_TO_P8
  *connectivity = p4est_connectivity_new_brick (2, 1, 1, 1);
#else
  *connectivity = p8est_connectivity_new_brick (2, 1, 1, 1, 1, 1);
#endif
  p4est = p4est_new_ext (MPI_COMM_WORLD, *connectivity, 0, coarsest, 1, sizeof (quadrant_data_t), begin_quadrant, context);
  p4est_refine (p4est, 1, wants_finer, begin_quadrant);
  return p4est;
}

/* ---- The checkpoint ---- */

static int write_checkpoint (const char *filename, p4est_t *p4est) {
  scda_params_t params;
  int err;
  scda_params_init (&params);
  params.atomic = 1; /* under this name there is always a complete checkpoint */
  scda_fcontext_t *f = scda_fopen_write (p4est->mpicomm, filename, P4EST_STRING "_restart", NULL, &params, &err);
  f = scda_forest_write_about (f, &err);
  f = scda_fwrite_block (f, p4est->user_pointer, sizeof (context_t), "context", NULL, 0, SCDA_ENCODE_NONE, &err);
  f = scda_forest_write_group (f, NULL, P4EST_DIM, "{\"title\": \"a drop of dye\"}", &err);
  f = scda_p4est_write_forest (f, NULL, p4est, 1, &err);
  scda_fclose (f, &err);
  return err;
}

static int read_checkpoint (const char *filename, context_t *context, p4est_connectivity_t **connectivity, p4est_t **p4est) {
  scda_params_t params;
  uint64_t section = 0, bytes = 0;
  int err, found = 0, decode = 1;
  char type = 0;
  scda_params_init (&params);
  params.verify = 1;
  *p4est = NULL;
  scda_fcontext_t *f = scda_fopen_read (MPI_COMM_WORLD, filename, NULL, NULL, &params, &err);
  f = scda_ffind (f, "context", NULL, 0, &found, &section, &err);
  f = scda_fseek (f, section, &err);
  f = scda_fread_section_header (f, &type, NULL, &bytes, NULL, NULL, &decode, &err);
  if (f != NULL && (!found || type != 'B' || bytes != sizeof *context)) {
    scda_refuse (f, "the file has no context of this program", &err);
    scda_fclose (f, &err);
    return err;
  }
  f = scda_fread_block_range (f, context, 0, bytes, &err); /* each rank reads all of it */
  f = scda_p4est_read_forest (f, NULL, -1, MPI_COMM_WORLD, sizeof (quadrant_data_t), 1, NULL, NULL, context, connectivity, p4est, &err);
  scda_fclose (f, &err);
  return err;
}

int main (int argc, char **argv) {
  context_t context;
  p4est_connectivity_t *connectivity = NULL;
  p4est_t *p4est = NULL;
  int rank, err = SCDA_SUCCESS;
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  sc_init (MPI_COMM_WORLD, 1, 1, NULL, SC_LP_ERROR);
  p4est_init (NULL, SC_LP_ERROR);
  if (argc != 3 && argc != 4) {
    if (rank == 0) { fprintf (stderr, "usage: " P4EST_STRING "_restart STEPS TO [FROM]\n"); }
    MPI_Abort (MPI_COMM_WORLD, 2);
  }
  if (argc == 4) { err = read_checkpoint (argv[3], &context, &connectivity, &p4est); }
  else { p4est = begin (&context, &connectivity); }
  if (err == SCDA_SUCCESS) {
    for (int step = 0; step < atoi (argv[1]); ++step) { step_forward (p4est); }
    err = write_checkpoint (argv[2], p4est);
  }
  if (err == SCDA_SUCCESS && rank == 0) {
    printf ("step %d, time %g: %d quadrants on %d ranks\n", (int) context.steps, context.time, (int) p4est->global_num_quadrants,
            p4est->mpisize);
  }
  if (err != SCDA_SUCCESS && rank == 0) { fprintf (stderr, P4EST_STRING "_restart: %s\n", scda_last_error_message ()); }
  if (p4est != NULL) {
    p4est_destroy (p4est);
    p4est_connectivity_destroy (connectivity);
  }
  sc_finalize ();
  MPI_Finalize ();
  return err != SCDA_SUCCESS;
}
