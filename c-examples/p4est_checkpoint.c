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
 *     mesh                   102682 cells of level 3 to 7 in 6 trees, checksum c8921dfa
 *     partition              25670 25671 25670 25671 cells
 *     state                  4.1 MB, 5 doubles a cell
 *     coefficients           41.5 MB, 27 to 216 doubles a cell
 *     file                   36.3 MB in 1.28 s
 *
 *   restart from ball.scda on 3 ranks
 *     simulation             time 0.25, step 42, read in 0.38 s
 *     partition for reading  25670 0 77012 cells
 *     mesh                   102682 cells in 6 trees, checksum c8921dfa as written
 *     state, coefficients    every value as computed anew
 *     partition of p4est     34227 34227 34228 cells
 *     state, coefficients    every value as computed anew
 *     refined and balanced   235402 cells
 *
 * The file holds
 *
 *   B  parameters        readable text
 *   B  connectivity      how the trees are joined, compressed
 *   B  cells per tree    cumulative
 *   A  cells             x, y, z and level of each, 16 bytes
 *   A  state             5 doubles for each cell
 *   V  coefficients      27 to 216 doubles for each cell, compressed cell by cell
 *
 * and is the same, byte for byte, for every number of ranks writing it: nothing in it says which rank a cell was
 * on. It appears under its name when it is complete: whenever the job is killed, the file of this name is either
 * the old one or the new one, and whole.
 *
 * Numbers are written as they are in memory: nearly all computers today are little-endian, p4est's own
 * serialization of the connectivity is native as well, and no time goes into conversion. The parameters say the
 * byte order, and the restart refuses a file of the other one. */
#include "p4est_state.h"

#include <p8est_algorithms.h>
#include <p8est_bits.h>
#include <p8est_communication.h>
#include <p8est_io.h>
#include <scda.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#if defined SCDA_SERIAL || !defined P4EST_ENABLE_MPI
#error "this example needs libscda and p4est with MPI"
#endif

/* The sections, in the order of the file. */
static const char parameters_section[] = "parameters";
static const char connectivity_section[] = "connectivity: p8est_connectivity_deflate";
static const char trees_section[] = "cells per tree, cumulative: int64";
static const char cells_section[] = "cells: x, y, z, level: int32";
static const char state_section[] = "state: density, momentum (3), energy: double";
static const char coefficients_section[] = "coefficients of u, (degree + 1)^3 a cell: double";

/* What p8est_deflate_quadrants makes of a cell. */
enum { coordinates_per_cell = 4, cell_bytes = coordinates_per_cell * sizeof (p4est_qcoord_t) };

typedef struct {
  double time;
  int step, num_trees;
  int64_t num_cells;
  unsigned checksum; /* of the mesh */
} parameters_t;

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
static void stop (const char *what, const char *why, const char *detail) {
  fflush (stdout);
  if (rank == 0) { fprintf (stderr, "p4est_checkpoint: %s\n  %s\n  %s\n", what, why, detail); }
  MPI_Finalize ();
  exit (EXIT_FAILURE);
}

/* An error of libscda is the same on all ranks, and has closed the file. */
static void check (int err, const char *what) {
  char why[128];
  int length = (int) sizeof why;
  if (err != SCDA_SUCCESS) {
    scda_ferror_string (err, why, &length);
    stop (what, why, scda_last_error_message ());
  }
}

/* For what may be wrong with the file and be seen on some ranks only. */
static void require (int good, const char *section, const char *detail) {
  MPI_Allreduce (MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, comm);
  if (!good) { stop (section, "cannot restart from this file", detail); }
}

static const char *byte_order (void) {
  const uint16_t one = 1;
  return *(const uint8_t *) &one == 1 ? "little-endian" : "big-endian";
}

/* ---- Partitions: libscda takes the counts of all ranks, p4est their offsets ---- */

static uint64_t *counts_of_offsets (const p4est_gloidx_t *first_cell_q) {
  uint64_t *cells_q = P4EST_ALLOC (uint64_t, (size_t) size);
  for (int q = 0; q < size; ++q) { cells_q[q] = (uint64_t) (first_cell_q[q + 1] - first_cell_q[q]); }
  return cells_q;
}

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

static void say_partition (const char *what, const p4est_gloidx_t *first_cell_q) {
  say ("  %-22s", what);
  for (int q = 0; q < size; ++q) { say (" %" PRId64, (int64_t) (first_cell_q[q + 1] - first_cell_q[q])); }
  say (" cells\n");
}

/* ---- Writing ---- */

/* Blocks are written by one rank, here 0. Those here are the same on all ranks anyway. */
static scda_fcontext_t *write_block (scda_fcontext_t *f, const char *section, const void *data, size_t bytes,
                                     int encode) {
  int err;
  f = scda_fwrite_block (f, data, bytes, section, NULL, 0, encode, &err);
  check (err, section);
  return f;
}

static scda_fcontext_t *write_parameters (scda_fcontext_t *f, const simulation_t *s) {
  char text[BUFSIZ];
  const int length =
    snprintf (text, sizeof text, "time %.17g\nstep %d\ntrees %d\ncells %" PRId64 "\nchecksum %08x\nbyte_order %s\n",
              s->time, s->step, (int) s->forest->connectivity->num_trees, (int64_t) s->forest->global_num_quadrants,
              mesh_checksum (s->forest), byte_order ());
  return write_block (f, parameters_section, text, (size_t) length, SCDA_ENCODE_NONE);
}

static scda_fcontext_t *write_trees (scda_fcontext_t *f, p8est_t *forest) {
  const size_t num_trees = (size_t) forest->connectivity->num_trees;
  sc_array_t *connectivity = p8est_connectivity_deflate (forest->connectivity, P8EST_CONN_ENCODE_NONE);
  p4est_gloidx_t *cells_before_tree = P4EST_ALLOC (p4est_gloidx_t, num_trees + 1);
  p8est_comm_count_pertree (forest, cells_before_tree);

  f = write_block (f, connectivity_section, connectivity->array, connectivity->elem_count * connectivity->elem_size,
                   SCDA_ENCODE_ALWAYS);
  f = write_block (f, trees_section, cells_before_tree, (num_trees + 1) * sizeof *cells_before_tree,
                   SCDA_ENCODE_NONE);
  P4EST_FREE (cells_before_tree);
  sc_array_destroy (connectivity);
  return f;
}

static scda_fcontext_t *write_cells (scda_fcontext_t *f, const simulation_t *s) {
  const coefficients_t *c = &s->coefficients;
  uint64_t *cells_q = counts_of_offsets (s->forest->global_first_quadrant);
  sc_array_t *state, *cells = p8est_deflate_quadrants (s->forest, &state);
  int err;

  f = scda_fwrite_array (f, cells->array, cells_q, cell_bytes, 0, cells_section, NULL, SCDA_ENCODE_NONE, &err);
  check (err, cells_section);
  f = scda_fwrite_array (f, state->array, cells_q, state_bytes, 0, state_section, NULL, SCDA_ENCODE_NONE, &err);
  check (err, state_section);
  f = scda_fwrite_varray (f, c->values, cells_q, c->Ei, NULL, 0, coefficients_section, NULL, SCDA_ENCODE_ALWAYS,
                          &err);
  check (err, coefficients_section);

  sc_array_destroy (cells);
  sc_array_destroy (state);
  P4EST_FREE (cells_q);
  return f;
}

static void write_checkpoint (const char *filename, const simulation_t *s) {
  scda_params_t params;
  int err;
  scda_params_init (&params);
  params.atomic = 1;
  scda_fcontext_t *f = scda_fopen_write (comm, filename, "p4est_checkpoint.c: ball", NULL, &params, &err);
  check (err, filename);
  f = write_parameters (f, s);
  f = write_trees (f, s->forest);
  f = write_cells (f, s);
  scda_fclose (f, &err); /* success means that every byte is in the file */
  check (err, filename);
}

/* ---- Reading: p4est trusts what it is given, a file deserves less trust ---- */

/* Reads a section header and insists on what it says. Compression is undone by libscda: whether there was any
 * makes no difference here. */
static scda_fcontext_t *expect_section (scda_fcontext_t *f, char type, const char *section, uint64_t *N,
                                        uint64_t *E) {
  char found_type, userstr[SCDA_USER_STRING_BYTES + 1];
  int decode = 1, err;
  f = scda_fread_section_header (f, &found_type, N, E, userstr, NULL, &decode, &err);
  check (err, section);
  require (found_type == type && strcmp (userstr, section) == 0, section, "another section is in its place");
  return f;
}

/* A block for all ranks. One zero byte is put behind it, for text. */
static scda_fcontext_t *read_block (scda_fcontext_t *f, const char *section, sc_array_t **block) {
  uint64_t E;
  int err;
  f = expect_section (f, 'B', section, NULL, &E);
  require (E < INT32_MAX, section, "too large to be true");
  *block = sc_array_new_count (1, (size_t) E + 1);
  f = scda_fread_block_data (f, (*block)->array, E, 0, &err);
  check (err, section);
  MPI_Bcast ((*block)->array, (int) E, MPI_BYTE, 0, comm);
  (*block)->array[E] = '\0';
  sc_array_resize (*block, (size_t) E);
  return f;
}

static scda_fcontext_t *read_parameters (scda_fcontext_t *f, parameters_t *p) {
  sc_array_t *text;
  char order[20];
  f = read_block (f, parameters_section, &text);
  const int found =
    sscanf (text->array, "time %lf step %d trees %d cells %" SCNd64 " checksum %x byte_order %19s", &p->time,
            &p->step, &p->num_trees, &p->num_cells, &p->checksum, order);
  require (found == 6 && p->num_trees > 0 && p->num_cells > 0, parameters_section, "cannot make sense of them");
  require (strcmp (order, byte_order ()) == 0, parameters_section, "this machine has another byte order");
  sc_array_destroy (text);
  return f;
}

static scda_fcontext_t *read_trees (scda_fcontext_t *f, const parameters_t *p, p8est_connectivity_t **connectivity,
                                    sc_array_t **cells_before_tree) {
  const size_t num_trees = (size_t) p->num_trees;
  sc_array_t *block;
  f = read_block (f, connectivity_section, &block);
  *connectivity = p8est_connectivity_inflate (block); /* aborts by itself on some damage */
  require (*connectivity != NULL && (*connectivity)->num_trees == p->num_trees, connectivity_section,
           "p4est cannot read it, or it is not the one of the parameters");
  sc_array_destroy (block);

  f = read_block (f, trees_section, cells_before_tree);
  const p4est_gloidx_t *before = (const p4est_gloidx_t *) (*cells_before_tree)->array;
  int good = (*cells_before_tree)->elem_count == (num_trees + 1) * sizeof *before && before[0] == 0 &&
             before[num_trees] == p->num_cells;
  for (size_t t = 0; good && t < num_trees; ++t) { good = before[t] <= before[t + 1]; }
  require (good, trees_section, "does not fit the parameters");
  return f;
}

/* This rank's part of an array with as many elements as cells. Memory is asked for only after the file was found
 * to have that much. */
static scda_fcontext_t *read_cell_array (scda_fcontext_t *f, const char *section, const uint64_t *cells_q,
                                         uint64_t num_cells, size_t item_bytes, size_t items_per_cell,
                                         sc_array_t **items) {
  uint64_t N, E;
  int err;
  f = expect_section (f, 'A', section, &N, &E);
  require (N == num_cells && E == item_bytes * items_per_cell, section, "does not fit the parameters");
  *items = sc_array_new_count (item_bytes, (size_t) cells_q[rank] * items_per_cell);
  f = scda_fread_array_data (f, (*items)->array, cells_q, E, 0, &err);
  check (err, section);
  return f;
}

static int are_cells (const sc_array_t *coordinates) {
  const p4est_qcoord_t *xyzl = (const p4est_qcoord_t *) coordinates->array;
  int good = 1;
  for (size_t i = 0; good && i < coordinates->elem_count; i += coordinates_per_cell, xyzl += coordinates_per_cell) {
    p8est_quadrant_t quadrant;
    P8EST_QUADRANT_INIT (&quadrant);
    quadrant.x = xyzl[0];
    quadrant.y = xyzl[1];
    quadrant.z = xyzl[2];
    quadrant.level = (int8_t) xyzl[3];
    good = xyzl[3] >= 0 && xyzl[3] <= P8EST_QMAXLEVEL && p8est_quadrant_is_valid (&quadrant);
  }
  return good;
}

/* Rebuilds the forest, in the partition for reading. */
static scda_fcontext_t *read_forest (scda_fcontext_t *f, const parameters_t *p, const p4est_gloidx_t *first_cell_q,
                                     const uint64_t *cells_q, p8est_t **forest) {
  const uint64_t num_cells = (uint64_t) p->num_cells;
  p8est_connectivity_t *connectivity;
  sc_array_t *cells_before_tree, *cells, *state;
  f = read_trees (f, p, &connectivity, &cells_before_tree);
  f = read_cell_array (f, cells_section, cells_q, num_cells, sizeof (p4est_qcoord_t), coordinates_per_cell, &cells);
  require (are_cells (cells), cells_section, "these are no coordinates of cells");
  f = read_cell_array (f, state_section, cells_q, num_cells, state_bytes, 1, &state);

  *forest = p8est_inflate (comm, connectivity, first_cell_q, (const p4est_gloidx_t *) cells_before_tree->array,
                           cells, state, NULL);
  require (p8est_is_valid (*forest) && mesh_checksum (*forest) == p->checksum, cells_section,
           "the mesh is not the one that was written");
  sc_array_destroy (cells_before_tree);
  sc_array_destroy (cells);
  sc_array_destroy (state);
  return f;
}

/* The numbers of coefficients are known from the levels. If they were not, the sizes read would tell. */
static scda_fcontext_t *read_coefficients (scda_fcontext_t *f, const uint64_t *cells_q, p8est_t *forest,
                                           coefficients_t *c) {
  uint64_t N, *found_Ei = P4EST_ALLOC (uint64_t, cells_q[rank]);
  int err;
  f = expect_section (f, 'V', coefficients_section, &N, NULL);
  require (N == (uint64_t) forest->global_num_quadrants, coefficients_section, "does not fit the parameters");
  f = scda_fread_varray_sizes (f, found_Ei, cells_q, &err);
  check (err, coefficients_section);
  *c = coefficients_new (forest);
  require (cells_q[rank] == 0 || !memcmp (c->Ei, found_Ei, cells_q[rank] * sizeof *found_Ei), coefficients_section,
           "their number does not fit the cells");
  P4EST_FREE (found_Ei);
  f = scda_fread_varray_data (f, c->values, cells_q, c->Ei, NULL, 0, &err);
  check (err, coefficients_section);
  return f;
}

static simulation_t read_checkpoint (const char *filename) {
  simulation_t s;
  parameters_t p;
  int err;
  scda_fcontext_t *f = scda_fopen_read (comm, filename, NULL, NULL, NULL, &err);
  check (err, filename);
  f = read_parameters (f, &p);
  p4est_gloidx_t *first_cell_q = offsets_for_reading (p.num_cells);
  uint64_t *cells_q = counts_of_offsets (first_cell_q);
  require (cells_q[rank] <= P4EST_LOCIDX_MAX, parameters_section, "more cells than p4est can have on a rank");
  f = read_forest (f, &p, first_cell_q, cells_q, &s.forest);
  f = read_coefficients (f, cells_q, s.forest, &s.coefficients);
  scda_fclose (f, &err);
  check (err, filename);

  s.time = p.time;
  s.step = p.step;
  P4EST_FREE (first_cell_q);
  P4EST_FREE (cells_q);
  return s;
}

/* ---- The program ---- */

static double file_megabytes (const char *filename) {
  FILE *f = fopen (filename, "rb");
  const long bytes = f != NULL && fseek (f, 0, SEEK_END) == 0 ? ftell (f) : 0;
  if (f != NULL) { fclose (f); }
  return (double) bytes / 1e6;
}

static void run_write (const char *filename) {
  simulation_t s = simulation_new (comm);
  const double num_cells = (double) s.forest->global_num_quadrants;
  double megabytes = (double) s.coefficients.bytes / 1e6;
  MPI_Allreduce (MPI_IN_PLACE, &megabytes, 1, MPI_DOUBLE, MPI_SUM, comm);

  say ("write %s on %d rank%s\n", filename, size, size == 1 ? "" : "s");
  say ("  %-22s %.0f cells of level %d to %d in %d trees, checksum %08x\n", "mesh", num_cells, coarsest_level,
       finest_level, (int) s.forest->connectivity->num_trees, mesh_checksum (s.forest));
  say_partition ("partition", s.forest->global_first_quadrant);
  say ("  %-22s %.1f MB, %d doubles a cell\n", "state", num_cells * state_bytes / 1e6, state_doubles);
  say ("  %-22s %.1f MB, %d to %d doubles a cell\n", "coefficients", megabytes, coefficients_per_cell (finest_level),
       coefficients_per_cell (coarsest_level));

  const double start = MPI_Wtime ();
  write_checkpoint (filename, &s);
  const double seconds = MPI_Wtime () - start;
  say ("  %-22s %.1f MB in %.2f s\n", "file", file_megabytes (filename), seconds);
  simulation_free (&s);
}

static void verify (const simulation_t *s) {
  require (simulation_is_exact (s), "state, coefficients", "the data read are not the data written");
  say ("  %-22s every value as computed anew\n", "state, coefficients");
}

static void run_restart (const char *filename) {
  const double start = MPI_Wtime ();
  simulation_t s = read_checkpoint (filename);
  const double seconds = MPI_Wtime () - start;

  say ("restart from %s on %d rank%s\n", filename, size, size == 1 ? "" : "s");
  say ("  %-22s time %g, step %d, read in %.2f s\n", "simulation", s.time, s.step, seconds);
  say_partition ("partition for reading", s.forest->global_first_quadrant);
  say ("  %-22s %" PRId64 " cells in %d trees, checksum %08x as written\n", "mesh",
       (int64_t) s.forest->global_num_quadrants, (int) s.forest->connectivity->num_trees, mesh_checksum (s.forest));
  verify (&s);

  simulation_repartition (&s);
  say_partition ("partition of p4est", s.forest->global_first_quadrant);
  verify (&s);

  simulation_adapt (&s);
  say ("  %-22s %" PRId64 " cells\n", "refined and balanced", (int64_t) s.forest->global_num_quadrants);
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
  else { stop ("wrong usage", "p4est_checkpoint write FILE", "p4est_checkpoint restart FILE"); }

  sc_finalize (); /* complains if memory is left */
  MPI_Finalize ();
  return EXIT_SUCCESS;
}
