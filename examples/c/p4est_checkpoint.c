/* p4est_checkpoint.c: checkpoint and restart of an hp-adaptive simulation on a forest of octrees, on any number
 * of ranks each. What is simulated is in p4est_state.c.
 *
 * Compile:  mpicc p4est_checkpoint.c p4est_state.c -o p4est_checkpoint \
 *             $(pkg-config --cflags --libs scda) -lp4est -lsc -lz -lm
 * Run:      mpirun -n 4 ./p4est_checkpoint write ball.scda
 *           mpirun -n 3 ./p4est_checkpoint restart ball.scda
 *
 * Expected output (the times are yours):
 *
 *   write ball.scda on 4 ranks
 *     partition              6686 6687 6686 6687 cells
 *     time 0                 26746 cells, checksum 9f4ef3e8; state 1.1 MB, coefficients 12.9 MB
 *     time 0.25              26746 cells, checksum 9f4ef3e8; state 1.1 MB, coefficients 12.9 MB
 *     time 0.5               60717 cells, checksum c8bfa449; state 2.4 MB, coefficients 20.4 MB
 *     file                   15.5 MB, 1.48 s for writing
 *
 *   restart from ball.scda on 3 ranks
 *     simulation             time 0.5, the last of 3 steps, read in 1.96 s
 *     partition for reading  15179 0 45538 cells
 *     mesh                   60717 cells in 6 trees, checksum c8bfa449
 *     state, coefficients    every value as computed anew
 *     partition of p4est     20239 20239 20239 cells
 *     state, coefficients    every value as computed anew
 *     goes on                time 0.75
 *
 * The file holds three time steps of the forest, by the convention of docs/forest.md: the connectivity once; the mesh, written
 * again only when it has changed; density, momentum and energy of each cell; and, compressed, 27 to 216 coefficients for
 * each cell. ParaView shows it by way of `scda vtk`.
 *
 * It is the same, byte for byte, for every number of ranks writing it. Each step is committed: whenever the job is killed, the file
 * has the steps committed until then. */
#include "p4est_state.h"

#include <scda_p8est.h>

#include <inttypes.h>
#include <stdarg.h>

#ifndef P4EST_ENABLE_MPI
#error "this example needs p4est with MPI"
#endif

/* The state of a cell, as it is in the file. */
static const struct {
  const char *name, *attributes;
  int first, components; /* of the doubles of a cell */
} fields[] = {
  { "density", "{\"units\": \"kg m-3\"}", 0, 1 },
  { "momentum", "{\"units\": \"kg m-2 s-1\", \"long_name\": \"density of momentum\"}", 1, 3 },
  { "energy", "{\"units\": \"J m-3\", \"long_name\": \"density of energy\"}", 4, 1 },
};
enum { num_fields = sizeof fields / sizeof fields[0] };

static const double step_seconds = .25;
static const MPI_Comm comm = MPI_COMM_WORLD;
static int rank, size;

/* ---- Errors and reports ---- */

static void say (const char *format, ...) {
  va_list arguments;
  va_start (arguments, format);
  if (rank == 0) { vprintf (format, arguments); }
  va_end (arguments);
}

/* To be called by all ranks. */
static void stop (const char *what, const char *why) {
  fflush (stdout);
  if (rank == 0) { fprintf (stderr, "p4est_checkpoint: %s\n  %s\n", what, why); }
  MPI_Finalize ();
  exit (EXIT_FAILURE);
}

/* An error of libscda is the same on all ranks, and has closed the file. */
static void check (int err, const char *what) {
  if (err != SCDA_SUCCESS) { stop (what, scda_last_error_message ()); }
}

static void say_partition (const char *what, const p4est_gloidx_t *first_cell_q) {
  say ("  %-22s", what);
  for (int q = 0; q < size; ++q) { say (" %" PRId64, (int64_t) (first_cell_q[q + 1] - first_cell_q[q])); }
  say (" cells\n");
}

/* ---- The state: the user data of the quadrants, and arrays of one field ---- */

static void copy_state (p8est_t *forest, double *values, int first, int components, int to_quadrants) {
  for (p4est_topidx_t t = forest->first_local_tree; t <= forest->last_local_tree; ++t) {
    sc_array_t *quadrants = &p8est_tree_array_index (forest->trees, t)->quadrants;
    for (size_t i = 0; i < quadrants->elem_count; ++i, values += components) {
      double *state = (double *) p8est_quadrant_array_index (quadrants, i)->p.user_data + first;
      memcpy (to_quadrants ? state : values, to_quadrants ? values : state, (size_t) components * sizeof *values);
    }
  }
}

/* ---- Writing ---- */

static scda_fcontext_t *write_step (scda_fcontext_t *f, const simulation_t *s, int mesh_is_new, int *err) {
  p8est_t *forest = s->forest;
  double *values = P4EST_ALLOC (double, state_doubles * (size_t) forest->local_num_quadrants);
  scda_dataset_t field;
  f = scda_forest_write_time (f, NULL, *s->time, "s", NULL, err);
  if (mesh_is_new) { f = scda_p8est_write_mesh (f, NULL, forest, err); }
  for (int i = 0; f != NULL && i < num_fields; ++i) {
    scda_dataset_init (&field);
    strcpy (field.name, fields[i].name);
    field.type = SCDA_TYPE_FLOAT64;
    field.ndims = fields[i].components == 1 ? 1 : 2;
    field.shape[1] = (uint64_t) fields[i].components;
    field.attributes = fields[i].attributes;
    copy_state (forest, values, fields[i].first, fields[i].components, 0);
    f = scda_p8est_write_field (f, NULL, forest, &field, values, err);
  }
  scda_dataset_init (&field);
  strcpy (field.name, "u");
  field.type = SCDA_TYPE_FLOAT64;
  field.encode = SCDA_ENCODE_ALWAYS; /* compressed */
  field.attributes = "{\"long_name\": \"coefficients of u, (degree + 1)^3 for each cell\"}";
  f = scda_p8est_write_ragged (f, NULL, forest, &field, s->coefficients.counts, s->coefficients.values, err);
  f = scda_fcommit (f, err); /* from now on, this step is safe */
  P4EST_FREE (values);
  return f;
}

static void say_step (const simulation_t *s) {
  const double num_cells = (double) s->forest->global_num_quadrants;
  double megabytes = (double) s->coefficients.bytes / 1e6;
  MPI_Allreduce (MPI_IN_PLACE, &megabytes, 1, MPI_DOUBLE, MPI_SUM, comm);
  say ("  time %-17g %.0f cells, checksum %08x; state %.1f MB, coefficients %.1f MB\n", *s->time, num_cells,
       mesh_checksum (s->forest), num_cells * state_bytes / 1e6, megabytes);
}

static double file_megabytes (const char *filename) {
  FILE *f = fopen (filename, "rb");
  const long bytes = f != NULL && fseek (f, 0, SEEK_END) == 0 ? ftell (f) : 0;
  if (f != NULL) { fclose (f); }
  return (double) bytes / 1e6;
}

static void run_write (const char *filename) {
  simulation_t s = simulation_new (comm);
  double seconds = 0.;
  int err;
  say ("write %s on %d rank%s\n", filename, size, size == 1 ? "" : "s");
  say_partition ("partition", s.forest->global_first_quadrant);

  scda_fcontext_t *f = scda_fopen_write (comm, filename, "p4est_checkpoint.c: ball", NULL, NULL, &err);
  f = scda_forest_write_about (f, &err);
  f = scda_forest_write_group (f, NULL, 3, "{\"title\": \"a gas in a ball\"}", &err);
  f = scda_p8est_write_connectivity (f, NULL, s.forest, &err);
  for (int step = 0; step < 3; ++step) {
    if (step == 2) { simulation_adapt (&s); } /* the first two steps have the same mesh */
    say_step (&s);
    const double start = MPI_Wtime ();
    f = write_step (f, &s, step != 1, &err);
    check (err, filename);
    seconds += MPI_Wtime () - start;
    if (step < 2) { simulation_advance (&s, step_seconds); }
  }
  scda_fclose (f, &err); /* success means that every byte is in the file */
  check (err, filename);
  say ("  %-22s %.1f MB, %.2f s for writing\n", "file", file_megabytes (filename), seconds);
  simulation_free (&s);
}

/* ---- Reading ---- */

/* Any partition will do for reading. This one gives each rank more cells than the rank before it, and none to
 * rank 1, to show that it need not be the uniform one. */
static p4est_gloidx_t *offsets_for_reading (int64_t num_cells) {
  p4est_gloidx_t *first_cell_q = P4EST_ALLOC (p4est_gloidx_t, (size_t) size + 1);
  int64_t all_weights = 0, weight_before = 0;
  for (int q = 0; q < size; ++q) { all_weights += q == 1 ? 0 : q + 1; }
  for (int q = 0; q < size; ++q) {
    first_cell_q[q] = num_cells / all_weights * weight_before;
    weight_before += q == 1 ? 0 : q + 1;
  }
  first_cell_q[size] = num_cells;
  return first_cell_q;
}

/* How many cells the last step has: as many as its density. */
static scda_fcontext_t *read_num_cells (scda_fcontext_t *f, int64_t *num_cells, int *err) {
  scda_dataset_t d;
  int found = 0;
  scda_dataset_init (&d);
  f = scda_p8est_find_field (f, NULL, -1, fields[0].name, &found, &d, err);
  if (f != NULL && !found) { stop (fields[0].name, "the last time step has no such field"); }
  if (f != NULL) { *num_cells = (int64_t) d.shape[0]; }
  return f;
}

static scda_fcontext_t *read_fields (scda_fcontext_t *f, simulation_t *s, int *err) {
  p8est_t *forest = s->forest;
  const size_t num_cells = (size_t) forest->local_num_quadrants;
  double *values = P4EST_ALLOC (double, state_doubles * num_cells);
  int64_t *counts = P4EST_ALLOC (int64_t, num_cells);
  for (int i = 0; f != NULL && i < num_fields; ++i) {
    f = scda_p8est_read_field (f, NULL, -1, forest, fields[i].name, SCDA_TYPE_FLOAT64, (uint64_t) fields[i].components, values, err);
    if (f != NULL) { copy_state (forest, values, fields[i].first, fields[i].components, 1); }
  }

  /* The numbers of coefficients are known from the levels. If they were not, the counts read would tell. */
  f = scda_p8est_read_counts (f, NULL, -1, forest, "u", counts, err);
  check (*err, "reading the fields");
  s->coefficients = coefficients_new (forest);
  int same = num_cells == 0 || memcmp (counts, s->coefficients.counts, num_cells * sizeof *counts) == 0;
  MPI_Allreduce (MPI_IN_PLACE, &same, 1, MPI_INT, MPI_LAND, comm);
  if (!same) { stop ("u", "the numbers of coefficients do not fit the levels of the cells"); }
  f = scda_p8est_read_ragged (f, NULL, -1, forest, "u", SCDA_TYPE_FLOAT64, 1, counts, s->coefficients.values, err);
  P4EST_FREE (values);
  P4EST_FREE (counts);
  return f;
}

/* The last time step of the file. */
static simulation_t read_checkpoint (const char *filename, int64_t *steps) {
  simulation_t s;
  p8est_connectivity_t *connectivity = NULL;
  p4est_gloidx_t *first_cell_q = NULL;
  int64_t num_cells = 0;
  scda_params_t params;
  int err;
  s.time = P4EST_ALLOC_ZERO (double, 1);
  s.forest = NULL;
  scda_params_init (&params);
  params.verify = 1; /* compares all checksums before anything is read */
  scda_fcontext_t *f = scda_fopen_read (comm, filename, NULL, NULL, &params, &err);
  f = scda_forest_steps (f, NULL, steps, &err);
  f = scda_forest_read_time (f, NULL, -1, s.time, &err);
  if (f != NULL) { f = read_num_cells (f, &num_cells, &err); }
  if (f != NULL) {
    first_cell_q = offsets_for_reading (num_cells);
    f = scda_p8est_read_forest (f, NULL, -1, comm, state_bytes, 0, first_cell_q, NULL, s.time, &connectivity, &s.forest, &err);
    P4EST_FREE (first_cell_q);
  }
  check (err, filename);
  f = read_fields (f, &s, &err);
  scda_fclose (f, &err);
  check (err, filename);
  return s;
}

static void verify (const simulation_t *s) {
  int exact = simulation_is_exact (s);
  MPI_Allreduce (MPI_IN_PLACE, &exact, 1, MPI_INT, MPI_LAND, comm);
  if (!exact) { stop ("state, coefficients", "the data read are not the data written"); }
  say ("  %-22s every value as computed anew\n", "state, coefficients");
}

static void run_restart (const char *filename) {
  int64_t steps = 0;
  const double start = MPI_Wtime ();
  simulation_t s = read_checkpoint (filename, &steps);
  const double seconds = MPI_Wtime () - start;

  say ("restart from %s on %d rank%s\n", filename, size, size == 1 ? "" : "s");
  say ("  %-22s time %g, the last of %d steps, read in %.2f s\n", "simulation", *s.time, (int) steps, seconds);
  say_partition ("partition for reading", s.forest->global_first_quadrant);
  say ("  %-22s %" PRId64 " cells in %d trees, checksum %08x\n", "mesh", (int64_t) s.forest->global_num_quadrants,
       (int) s.forest->connectivity->num_trees, mesh_checksum (s.forest));
  verify (&s);

  simulation_repartition (&s);
  say_partition ("partition of p4est", s.forest->global_first_quadrant);
  verify (&s);
  simulation_advance (&s, step_seconds);
  say ("  %-22s time %g\n", "goes on", *s.time);
  simulation_free (&s);
}

int main (int argc, char **argv) {
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  sc_init (comm, 1, 1, NULL, SC_LP_ERROR); /* errors only: the report is ours */
  p4est_init (NULL, SC_LP_ERROR);

  if (argc == 3 && strcmp (argv[1], "write") == 0) { run_write (argv[2]); }
  else if (argc == 3 && strcmp (argv[1], "restart") == 0) { run_restart (argv[2]); }
  else { stop ("wrong usage", "p4est_checkpoint write FILE, or p4est_checkpoint restart FILE"); }

  sc_finalize (); /* complains if memory is left */
  MPI_Finalize ();
  return EXIT_SUCCESS;
}
