/*
 * p4est_checkpoint.c: checkpoint and restart of an hp-adaptive simulation on a
 * forest of octrees, on any number of ranks each.
 *
 * Compile:  mpicc p4est_checkpoint.c -o p4est_checkpoint \
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
 *     file                   36.2 MB in 0.92 s
 *
 *   restart from ball.scda on 3 ranks
 *     simulation             time 0.25, step 42, read in 0.24 s
 *     partition for reading  25670 0 77012 cells
 *     mesh                   102682 cells in 6 trees, checksum c8921dfa as written
 *     state, coefficients    every value as computed anew
 *     partition of p4est     34227 34227 34228 cells
 *     state, coefficients    every value as computed anew
 *     refined and balanced   235402 cells
 *
 * The mesh is refined towards the surface of a ball. Its file holds
 *
 *   B  parameters        readable text
 *   B  connectivity      how the trees are joined, compressed
 *   B  cells per tree    cumulative
 *   A  cells             x, y, z and level of each, 16 bytes
 *   A  state             5 doubles for each cell
 *   V  coefficients      27 to 216 doubles for each cell, compressed cell by cell
 *
 * and is the same, byte for byte, for every number of ranks writing it: nothing
 * in it says which rank a cell was on.
 *
 * Numbers are written as they are in memory: nearly all computers today are
 * little-endian, p4est's own serialization of the connectivity is native as
 * well, and no time goes into conversion. The parameters say the byte order,
 * and the restart refuses a file of the other one.
 */
#include <p8est_algorithms.h>
#include <p8est_bits.h>
#include <p8est_communication.h>
#include <p8est_extended.h>
#include <p8est_io.h>
#include <scda.h>
#include <inttypes.h>
#include <stdarg.h>

#ifdef SCDA_SERIAL
#error "this example needs libscda with MPI"
#endif
#ifndef P4EST_ENABLE_MPI
#error "this example needs p4est with MPI"
#endif

#define COARSEST_LEVEL 3
#define FINEST_LEVEL 7
#define LOWEST_DEGREE 2
#define HIGHEST_DEGREE 5
#define NUM_STATE 5
#define COORDINATES_PER_CELL 4  /* x, y, z and level: what p8est_deflate_quadrants makes */
#define MEGABYTE 1e6

/* The sections, in the order of the file. */
#define PARAMETERS "parameters"
#define CONNECTIVITY "connectivity: p8est_connectivity_deflate"
#define CELLS_PER_TREE "cells per tree, cumulative: int64"
#define CELLS "cells: x, y, z, level: int32"
#define STATE "state: density, momentum (3), energy: double"
#define COEFFICIENTS "coefficients of u, (degree + 1)^3 a cell: double"

typedef struct parameters
{
  double              time;
  int                 step;
  int                 num_trees;
  int64_t             num_cells;
  unsigned            checksum; /* p8est_checksum: of the mesh, for any partition */
}
parameters_t;

/* All that the physics below needs to know about a cell. */
typedef struct cell
{
  double              centre[3];
  int                 level;
}
cell_t;

static const MPI_Comm comm = MPI_COMM_WORLD;
static int          rank, size;

/* ---- Errors, memory, and the one line that all ranks need ---- */

static void
say (const char *format, ...)
{
  va_list             arguments;

  if (rank == 0) {
    va_start (arguments, format);
    vprintf (format, arguments);
    va_end (arguments);
  }
}

/* Stop all ranks with a message. To be called by all of them. */
static void
stop (const char *what, const char *why, const char *detail)
{
  if (rank == 0) {
    fflush (stdout);
    fprintf (stderr, "p4est_checkpoint: %s: %s\n", what, why);
    if (detail[0] != '\0') {
      fprintf (stderr, "  %s\n", detail);
    }
  }
  MPI_Finalize ();
  exit (EXIT_FAILURE);
}

/* An error of libscda is the same on all ranks, and has closed the file. */
static void
check (int err, const char *what)
{
  char                why[BUFSIZ];
  int                 length = (int) sizeof (why);

  if (err != SCDA_SUCCESS) {
    scda_ferror_string (err, why, &length);
    stop (what, why, scda_last_error_message ());
  }
}

/* For what may go wrong on some ranks only: make all of them know. */
static void
check_all_ranks (int good, const char *what, const char *why)
{
  MPI_Allreduce (MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm);
  if (!good) {
    stop (what, why, "");
  }
}

static uint64_t
sum_over_ranks (uint64_t value)
{
  MPI_Allreduce (MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_SUM, comm);
  return value;
}

static const char  *
byte_order (void)
{
  const uint16_t      one = 1;

  return *(const uint8_t *) &one == 1 ? "little-endian" : "big-endian";
}

/* ---- The physics: formulas of a cell's place, so that a restart can check them ----
 *
 * The centre of a cell is a binary fraction of few digits, and where a result
 * is rounded, it is by a single multiplication or division: every machine
 * computes the same bits, and the restart may compare bits. */

static cell_t
cell_of (p8est_connectivity_t *connectivity, p4est_topidx_t tree, const p8est_quadrant_t *quadrant)
{
  const p4est_qcoord_t half = P8EST_QUADRANT_LEN (quadrant->level) / 2;
  cell_t              cell;

  p8est_qcoord_to_vertex (connectivity, tree, quadrant->x + half, quadrant->y + half,
                          quadrant->z + half, cell.centre);
  cell.level = quadrant->level;
  return cell;
}

/* A gas turning around the z axis. */
static void
state_of (const cell_t *cell, double state[NUM_STATE])
{
  const double        x = cell->centre[0], y = cell->centre[1], z = cell->centre[2];
  const double        density = 1. / (1. + x * x + y * y + z * z);

  state[0] = density;
  state[1] = -y * density;
  state[2] = x * density;
  state[3] = 0.;
  state[4] = (2.5 + .5 * (x * x + y * y)) * density;
}

/* High degree where the cells are large and the solution is smooth. */
static int
degree_of (int level)
{
  const int           degree = LOWEST_DEGREE + SC_MAX (FINEST_LEVEL - level, 0);

  return SC_MIN (degree, HIGHEST_DEGREE);
}

static size_t
num_coefficients (int level)
{
  const size_t        one_direction = (size_t) degree_of (level) + 1;

  return one_direction * one_direction * one_direction;
}

/* The Taylor polynomial of u = 1 / (4 + x + y + z) around the centre, in
 * coordinates from -1 to 1 over the cell: with s the denominator at the
 * centre, h half the cell's width and n = i + j + k, the coefficient of
 * x^i y^j z^k is n! / (i! j! k!) (-h)^n / s^(n + 1). */
static void
coefficients_of (const cell_t *cell, double *coefficients)
{
  const int           degree = degree_of (cell->level);
  const double        h = .5 / (double) (1 << cell->level);
  const double        s = 4. + cell->centre[0] + cell->centre[1] + cell->centre[2];
  double              factorial[3 * HIGHEST_DEGREE + 1], power[3 * HIGHEST_DEGREE + 1];
  int                 i, j, k, n;

  factorial[0] = 1.;
  power[0] = 1. / s;
  for (n = 1; n <= 3 * degree; n++) {
    factorial[n] = n * factorial[n - 1];
    power[n] = power[n - 1] * -h / s;
  }
  for (k = 0; k <= degree; k++) {
    for (j = 0; j <= degree; j++) {
      for (i = 0; i <= degree; i++) {
        n = i + j + k;
        *coefficients++ = factorial[n] / (factorial[i] * factorial[j] * factorial[k]) * power[n];
      }
    }
  }
}

/* ---- The mesh ---- */

/* The cells of this rank, in the order of the forest: that of the file, too. */
static cell_t      *
local_cells (p8est_t *forest)
{
  cell_t             *cells = P4EST_ALLOC (cell_t, forest->local_num_quadrants);
  cell_t             *next = cells;
  p4est_topidx_t      t;
  size_t              i;

  for (t = forest->first_local_tree; t <= forest->last_local_tree; t++) {
    p8est_tree_t       *tree = p8est_tree_array_index (forest->trees, t);

    for (i = 0; i < tree->quadrants.elem_count; i++) {
      *next++ = cell_of (forest->connectivity, t, p8est_quadrant_array_index (&tree->quadrants, i));
    }
  }
  return cells;
}

/* The state is p4est's user data: it moves with the cells. */
static void
initialize_state (p8est_t *forest, p4est_topidx_t tree, p8est_quadrant_t *quadrant)
{
  const cell_t        cell = cell_of (forest->connectivity, tree, quadrant);

  state_of (&cell, quadrant->p.user_data);
}

/* The ball has its centre where the six trees meet. */
static int
is_cut_by_surface (p8est_connectivity_t *connectivity, p4est_topidx_t tree,
                   const p8est_quadrant_t *quadrant)
{
  const double        centre[3] = { 1., 0., 1. }, radius = .4;
  const p4est_qcoord_t width = P8EST_QUADRANT_LEN (quadrant->level);
  double              xyz[3], distance_squared;
  int                 corner, d, inside = 0;

  for (corner = 0; corner < P8EST_CHILDREN; corner++) {
    p8est_qcoord_to_vertex (connectivity, tree, quadrant->x + (corner & 1 ? width : 0),
                            quadrant->y + (corner & 2 ? width : 0),
                            quadrant->z + (corner & 4 ? width : 0), xyz);
    distance_squared = 0.;
    for (d = 0; d < 3; d++) {
      distance_squared += (xyz[d] - centre[d]) * (xyz[d] - centre[d]);
    }
    inside += distance_squared < radius * radius;
  }
  return 0 < inside && inside < P8EST_CHILDREN;
}

static int
refine_at_surface (p8est_t *forest, p4est_topidx_t tree, p8est_quadrant_t *quadrant)
{
  return quadrant->level < FINEST_LEVEL &&
    is_cut_by_surface (forest->connectivity, tree, quadrant);
}

/* What the simulation wants next: one level more, in the upper half. */
static int
refine_after_restart (p8est_t *forest, p4est_topidx_t tree, p8est_quadrant_t *quadrant)
{
  const cell_t        cell = cell_of (forest->connectivity, tree, quadrant);

  return quadrant->level <= FINEST_LEVEL && cell.centre[2] > 1. &&
    is_cut_by_surface (forest->connectivity, tree, quadrant);
}

static p8est_t     *
new_forest (p8est_connectivity_t *connectivity)
{
  p8est_t            *forest = p8est_new_ext (comm, connectivity, 0, COARSEST_LEVEL, 1,
                                              NUM_STATE * sizeof (double), initialize_state, NULL);
  int                 level;

  for (level = COARSEST_LEVEL; level < FINEST_LEVEL; level++) {
    p8est_refine (forest, 0, refine_at_surface, initialize_state);
    p8est_partition (forest, 0, NULL);
  }
  p8est_balance (forest, P8EST_CONNECT_FULL, initialize_state);
  p8est_partition (forest, 0, NULL);
  return forest;
}

/* p8est_checksum knows the result on rank 0 only. */
static unsigned
mesh_checksum (p8est_t *forest)
{
  unsigned            checksum = p8est_checksum (forest);

  MPI_Bcast (&checksum, 1, MPI_UNSIGNED, 0, comm);
  return checksum;
}

/* ---- Partitions: libscda takes the counts of all ranks, p4est their offsets ---- */

static uint64_t    *
counts_of_offsets (const p4est_gloidx_t *first_cell_q)
{
  uint64_t           *cells_q = P4EST_ALLOC (uint64_t, size);
  int                 q;

  for (q = 0; q < size; q++) {
    cells_q[q] = (uint64_t) (first_cell_q[q + 1] - first_cell_q[q]);
  }
  return cells_q;
}

/* Any partition will do for reading. This one gives each rank more cells
 * than the rank before it, and none to rank 1, to show that it need not be
 * the uniform one. */
static p4est_gloidx_t *
offsets_for_reading (int64_t num_cells)
{
  p4est_gloidx_t     *first_cell_q = P4EST_ALLOC (p4est_gloidx_t, size + 1);
  int64_t             all_weights = 0, weight_before = 0;
  int                 q;

  for (q = 0; q < size; q++) {
    all_weights += q == 1 ? 0 : q + 1;
  }
  for (q = 0; q < size; q++) {
    first_cell_q[q] = num_cells * weight_before / all_weights;
    weight_before += q == 1 ? 0 : q + 1;
  }
  first_cell_q[size] = num_cells;
  return first_cell_q;
}

static void
say_partition (const char *what, const p4est_gloidx_t *first_cell_q)
{
  int                 q;

  say ("  %-22s", what);
  for (q = 0; q < size; q++) {
    say (" %" PRId64, (int64_t) (first_cell_q[q + 1] - first_cell_q[q]));
  }
  say (" cells\n");
}

/* ---- hp data: of each cell as many bytes as its degree asks for ---- */

typedef struct hp_data
{
  int                *sizes;    /* bytes of each local cell, in the type p4est likes */
  uint64_t           *Ei;       /* the same, in the type libscda likes */
  uint64_t            bytes;    /* sum of the sizes */
  char               *data;     /* one cell after the other */
}
hp_data_t;

/* Room for cells whose levels, and thus degrees, are known. */
static hp_data_t
new_hp_data (const cell_t *cells, p4est_locidx_t num_cells)
{
  hp_data_t           hp;
  p4est_locidx_t      i;

  hp.sizes = P4EST_ALLOC (int, num_cells);
  hp.Ei = P4EST_ALLOC (uint64_t, num_cells);
  hp.bytes = 0;
  for (i = 0; i < num_cells; i++) {
    hp.Ei[i] = num_coefficients (cells[i].level) * sizeof (double);
    hp.sizes[i] = (int) hp.Ei[i];
    hp.bytes += hp.Ei[i];
  }
  hp.data = P4EST_ALLOC (char, hp.bytes);
  return hp;
}

static void
free_hp_data (hp_data_t *hp)
{
  P4EST_FREE (hp->sizes);
  P4EST_FREE (hp->Ei);
  P4EST_FREE (hp->data);
}

static hp_data_t
compute_hp_data (p8est_t *forest)
{
  cell_t             *cells = local_cells (forest);
  hp_data_t           hp = new_hp_data (cells, forest->local_num_quadrants);
  double             *next = (double *) hp.data;
  p4est_locidx_t      i;

  for (i = 0; i < forest->local_num_quadrants; i++) {
    coefficients_of (&cells[i], next);
    next += num_coefficients (cells[i].level);
  }
  P4EST_FREE (cells);
  return hp;
}

/* ---- write ---- */

static int
print_parameters (const parameters_t *p, char *text, size_t text_bytes)
{
  return snprintf (text, text_bytes,
                   "time %.17g\nstep %d\ntrees %d\ncells %" PRId64 "\nchecksum %08x\n"
                   "byte_order %s\n",
                   p->time, p->step, p->num_trees, p->num_cells, p->checksum, byte_order ());
}

static scda_fcontext_t *
write_parameters (scda_fcontext_t *file, p8est_t *forest)
{
  parameters_t        p;
  char                text[BUFSIZ];
  int                 length, err;

  p.time = .25;
  p.step = 42;
  p.num_trees = forest->connectivity->num_trees;
  p.num_cells = forest->global_num_quadrants;
  p.checksum = mesh_checksum (forest);
  length = print_parameters (&p, text, sizeof (text));
  file = scda_fwrite_block (file, text, (uint64_t) length, PARAMETERS, NULL, 0,
                            SCDA_ENCODE_NONE, &err);
  check (err, "write " PARAMETERS);
  return file;
}

static scda_fcontext_t *
write_mesh (scda_fcontext_t *file, p8est_t *forest, const uint64_t *cells_q,
            const sc_array_t *quadrants)
{
  const p4est_topidx_t num_trees = forest->connectivity->num_trees;
  sc_array_t         *connectivity =
    p8est_connectivity_deflate (forest->connectivity, P8EST_CONN_ENCODE_NONE);
  p4est_gloidx_t     *cells_before_tree = P4EST_ALLOC (p4est_gloidx_t, num_trees + 1);
  int                 err;

  /* Blocks are written by one rank, here 0, and the same on all ranks anyway. */
  file = scda_fwrite_block (file, connectivity->array,
                            connectivity->elem_count * connectivity->elem_size, CONNECTIVITY,
                            NULL, 0, SCDA_ENCODE_ALWAYS, &err);
  check (err, "write " CONNECTIVITY);

  p8est_comm_count_pertree (forest, cells_before_tree);
  file = scda_fwrite_block (file, cells_before_tree,
                            (size_t) (num_trees + 1) * sizeof (p4est_gloidx_t), CELLS_PER_TREE,
                            NULL, 0, SCDA_ENCODE_NONE, &err);
  check (err, "write " CELLS_PER_TREE);

  file = scda_fwrite_array (file, quadrants->array, cells_q,
                            COORDINATES_PER_CELL * sizeof (p4est_qcoord_t), 0, CELLS, NULL,
                            SCDA_ENCODE_NONE, &err);
  check (err, "write " CELLS);

  P4EST_FREE (cells_before_tree);
  sc_array_destroy (connectivity);
  return file;
}

static scda_fcontext_t *
open_for_writing (const char *filename)
{
  scda_params_t       params;
  scda_fcontext_t    *file;
  int                 err;

  /* Atomic: whenever the job is killed, the file of this name is either the
   * old one or the new one, and whole. */
  scda_params_init (&params);
  params.atomic = 1;
  file = scda_fopen_write (comm, filename, "p4est_checkpoint.c: ball", NULL, &params, &err);
  check (err, filename);
  return file;
}

static void
write_checkpoint (const char *filename, p8est_t *forest, const hp_data_t *hp)
{
  uint64_t           *cells_q = counts_of_offsets (forest->global_first_quadrant);
  sc_array_t         *quadrants, *state;
  scda_fcontext_t    *file;
  int                 err;

  quadrants = p8est_deflate_quadrants (forest, &state);
  file = open_for_writing (filename);
  file = write_parameters (file, forest);
  file = write_mesh (file, forest, cells_q, quadrants);

  file = scda_fwrite_array (file, state->array, cells_q, NUM_STATE * sizeof (double), 0, STATE,
                            NULL, SCDA_ENCODE_NONE, &err);
  check (err, "write " STATE);
  file = scda_fwrite_varray (file, hp->data, cells_q, hp->Ei, NULL, 0, COEFFICIENTS, NULL,
                             SCDA_ENCODE_ALWAYS, &err);
  check (err, "write " COEFFICIENTS);

  scda_fclose (file, &err);
  check (err, filename);
  sc_array_destroy (quadrants);
  sc_array_destroy (state);
  P4EST_FREE (cells_q);
}

static double
file_megabytes (const char *filename)
{
  FILE               *file = fopen (filename, "rb");
  long                bytes = 0;

  if (file != NULL && fseek (file, 0, SEEK_END) == 0) {
    bytes = ftell (file);
  }
  if (file != NULL) {
    fclose (file);
  }
  return (double) bytes / MEGABYTE;
}

static void
run_write (const char *filename)
{
  p8est_connectivity_t *connectivity = p8est_connectivity_new_rotcubes ();
  p8est_t            *forest = new_forest (connectivity);
  hp_data_t           hp = compute_hp_data (forest);
  const double        hp_megabytes = (double) sum_over_ranks (hp.bytes) / MEGABYTE;
  const double        num_cells = (double) forest->global_num_quadrants;
  double              seconds;

  say ("write %s on %d rank%s\n", filename, size, size == 1 ? "" : "s");
  say ("  %-22s %" PRId64 " cells of level %d to %d in %d trees, checksum %08x\n", "mesh",
       (int64_t) forest->global_num_quadrants, COARSEST_LEVEL, FINEST_LEVEL,
       (int) connectivity->num_trees, mesh_checksum (forest));
  say_partition ("partition", forest->global_first_quadrant);
  say ("  %-22s %.1f MB, %d doubles a cell\n", "state",
       num_cells * NUM_STATE * sizeof (double) / MEGABYTE, NUM_STATE);
  say ("  %-22s %.1f MB, %d to %d doubles a cell\n", "coefficients", hp_megabytes,
       (int) num_coefficients (FINEST_LEVEL), (int) num_coefficients (COARSEST_LEVEL));

  MPI_Barrier (comm);
  seconds = -MPI_Wtime ();
  write_checkpoint (filename, forest, &hp);
  seconds += MPI_Wtime ();
  if (rank == 0) {
    say ("  %-22s %.1f MB in %.2f s\n", "file", file_megabytes (filename), seconds);
  }

  free_hp_data (&hp);
  p8est_destroy (forest);
  p8est_connectivity_destroy (connectivity);
}

/* ---- restart ---- */

/* Read a section header and insist on what it says. Compression is undone by
 * libscda: whether there was any makes no difference here. */
static scda_fcontext_t *
expect_section (scda_fcontext_t *file, char type, const char *user_string, uint64_t *N,
                uint64_t *E)
{
  char                found_type, found_user_string[SCDA_USER_STRING_BYTES + 1];
  int                 decode = 1, err;

  file = scda_fread_section_header (file, &found_type, N, E, found_user_string, NULL, &decode,
                                    &err);
  check (err, user_string);
  if (found_type != type || strcmp (found_user_string, user_string) != 0) {
    stop (user_string, "not the section expected, but this one", found_user_string);
  }
  return file;
}

/* Read a block on rank 0 and pass it on to all. One zero byte is put behind it for text. */
static scda_fcontext_t *
read_block (scda_fcontext_t *file, const char *user_string, sc_array_t **block)
{
  uint64_t            E;
  int                 err;

  file = expect_section (file, 'B', user_string, NULL, &E);
  if (E > INT32_MAX - 1) {
    stop (user_string, "too large to be true", "");
  }
  *block = sc_array_new_count (1, (size_t) E + 1);
  file = scda_fread_block_data (file, (*block)->array, E, 0, &err);
  check (err, user_string);
  MPI_Bcast ((*block)->array, (int) E, MPI_BYTE, 0, comm);
  (*block)->array[E] = '\0';
  sc_array_resize (*block, (size_t) E);
  return file;
}

static scda_fcontext_t *
read_parameters (scda_fcontext_t *file, parameters_t *p)
{
  sc_array_t         *text;
  char                found_byte_order[20];
  int                 found;

  file = read_block (file, PARAMETERS, &text);
  found = sscanf (text->array,
                  "time %lf step %d trees %d cells %" SCNd64 " checksum %x byte_order %19s",
                  &p->time, &p->step, &p->num_trees, &p->num_cells, &p->checksum,
                  found_byte_order);
  if (found != 6 || p->num_trees < 1 || p->num_cells < 1) {
    stop (PARAMETERS, "cannot make sense of this", text->array);
  }
  if (strcmp (found_byte_order, byte_order ()) != 0) {
    stop (PARAMETERS, "this machine has another byte order than the file", found_byte_order);
  }
  sc_array_destroy (text);
  return file;
}

static scda_fcontext_t *
read_connectivity (scda_fcontext_t *file, int num_trees, p8est_connectivity_t **connectivity)
{
  sc_array_t         *block;

  file = read_block (file, CONNECTIVITY, &block);
  *connectivity = p8est_connectivity_inflate (block);
  check_all_ranks (*connectivity != NULL && (*connectivity)->num_trees == num_trees,
                   CONNECTIVITY, "p4est cannot read it, or it is not the one of the parameters");
  sc_array_destroy (block);
  return file;
}

static scda_fcontext_t *
read_cells_per_tree (scda_fcontext_t *file, const parameters_t *p, sc_array_t **cells_before_tree)
{
  const p4est_gloidx_t *before;
  int                 t, good;

  file = read_block (file, CELLS_PER_TREE, cells_before_tree);
  before = (const p4est_gloidx_t *) (*cells_before_tree)->array;
  good = (*cells_before_tree)->elem_count == ((size_t) p->num_trees + 1) * sizeof (*before) &&
    before[0] == 0 && before[p->num_trees] == p->num_cells;
  for (t = 0; good && t < p->num_trees; t++) {
    good = before[t] <= before[t + 1];
  }
  if (!good) {
    stop (CELLS_PER_TREE, "does not fit the parameters", "");
  }
  return file;
}

/* Read this rank's part of an array that has per_cell items for each cell.
 * Memory is asked for only after the file was found to have that much. */
static scda_fcontext_t *
read_cell_array (scda_fcontext_t *file, const char *user_string, const parameters_t *p,
                 const uint64_t *cells_q, size_t item_bytes, size_t per_cell, sc_array_t **items)
{
  uint64_t            N, E;
  int                 err;

  file = expect_section (file, 'A', user_string, &N, &E);
  if (N != (uint64_t) p->num_cells || E != item_bytes * per_cell) {
    stop (user_string, "does not fit the parameters", "");
  }
  *items = sc_array_new_count (item_bytes, (size_t) cells_q[rank] * per_cell);
  file = scda_fread_array_data (file, (*items)->array, cells_q, E, 0, &err);
  check (err, user_string);
  return file;
}

/* p4est trusts the quadrants it is given. A file deserves less trust. */
static int
are_quadrants (const sc_array_t *coordinates)
{
  const p4est_qcoord_t *xyzl = (const p4est_qcoord_t *) coordinates->array;
  const p4est_qcoord_t *end = xyzl + coordinates->elem_count;
  p8est_quadrant_t    quadrant;

  for (; xyzl < end; xyzl += COORDINATES_PER_CELL) {
    if (xyzl[3] < 0 || xyzl[3] > P8EST_QMAXLEVEL) {
      return 0;
    }
    P8EST_QUADRANT_INIT (&quadrant);
    quadrant.x = xyzl[0];
    quadrant.y = xyzl[1];
    quadrant.z = xyzl[2];
    quadrant.level = (int8_t) xyzl[3];
    if (!p8est_quadrant_is_valid (&quadrant)) {
      return 0;
    }
  }
  return 1;
}

/* Rebuild the forest, in the partition for reading. */
static scda_fcontext_t *
read_forest (scda_fcontext_t *file, const parameters_t *p, const p4est_gloidx_t *first_cell_q,
             const uint64_t *cells_q, p8est_t **forest)
{
  const size_t        state_bytes = NUM_STATE * sizeof (double);
  sc_array_t         *cells_before_tree, *quadrants, *state;
  p8est_connectivity_t *connectivity;

  file = read_connectivity (file, p->num_trees, &connectivity);
  file = read_cells_per_tree (file, p, &cells_before_tree);
  file = read_cell_array (file, CELLS, p, cells_q, sizeof (p4est_qcoord_t), COORDINATES_PER_CELL,
                          &quadrants);
  check_all_ranks (are_quadrants (quadrants), CELLS, "not the coordinates of cells");
  file = read_cell_array (file, STATE, p, cells_q, state_bytes, 1, &state);

  *forest = p8est_inflate (comm, connectivity, first_cell_q,
                           (const p4est_gloidx_t *) cells_before_tree->array, quadrants, state,
                           NULL);
  if (!p8est_is_valid (*forest) || mesh_checksum (*forest) != p->checksum) {
    stop (CELLS, "the mesh is not the one that was written", "");
  }
  sc_array_destroy (cells_before_tree);
  sc_array_destroy (quadrants);
  sc_array_destroy (state);
  return file;
}

static scda_fcontext_t *
read_hp_data (scda_fcontext_t *file, const parameters_t *p, const uint64_t *cells_q,
              const cell_t *cells, hp_data_t *hp)
{
  const size_t        num_cells = (size_t) cells_q[rank];
  uint64_t           *found_Ei = P4EST_ALLOC (uint64_t, num_cells);
  uint64_t            N;
  int                 err;

  file = expect_section (file, 'V', COEFFICIENTS, &N, NULL);
  if (N != (uint64_t) p->num_cells) {
    stop (COEFFICIENTS, "does not fit the parameters", "");
  }
  file = scda_fread_varray_sizes (file, found_Ei, cells_q, &err);
  check (err, COEFFICIENTS);

  /* The degrees are known from the levels. If they were not, the sizes just
   * read would tell. */
  *hp = new_hp_data (cells, (p4est_locidx_t) num_cells);
  check_all_ranks (num_cells == 0 || !memcmp (hp->Ei, found_Ei, num_cells * sizeof (uint64_t)),
                   COEFFICIENTS, "the number of coefficients does not fit the cells");
  P4EST_FREE (found_Ei);

  file = scda_fread_varray_data (file, hp->data, cells_q, hp->Ei, NULL, 0, &err);
  check (err, COEFFICIENTS);
  return file;
}

static void
verify_state (p8est_t *forest)
{
  p4est_topidx_t      t;
  size_t              i;
  int                 good = 1;

  for (t = forest->first_local_tree; t <= forest->last_local_tree; t++) {
    p8est_tree_t       *tree = p8est_tree_array_index (forest->trees, t);

    for (i = 0; i < tree->quadrants.elem_count; i++) {
      p8est_quadrant_t   *quadrant = p8est_quadrant_array_index (&tree->quadrants, i);
      const cell_t        cell = cell_of (forest->connectivity, t, quadrant);
      double              state[NUM_STATE];

      state_of (&cell, state);
      good &= !memcmp (quadrant->p.user_data, state, sizeof (state));
    }
  }
  check_all_ranks (good, STATE, "the data read is not the data written");
}

static void
verify_hp_data (p8est_t *forest, const hp_data_t *hp)
{
  hp_data_t           computed = compute_hp_data (forest);
  const int           good = computed.bytes == hp->bytes &&
    (hp->bytes == 0 || !memcmp (computed.data, hp->data, (size_t) hp->bytes));

  check_all_ranks (good, COEFFICIENTS, "the data read is not the data written");
  free_hp_data (&computed);
}

/* From the partition for reading to p4est's own. The state follows by itself;
 * other data can be sent after it. */
static void
repartition (p8est_t *forest, const p4est_gloidx_t *first_cell_q, hp_data_t *hp)
{
  cell_t             *cells;
  hp_data_t           moved;

  p8est_partition (forest, 0, NULL);
  cells = local_cells (forest);
  moved = new_hp_data (cells, forest->local_num_quadrants);
  p8est_transfer_custom (forest->global_first_quadrant, first_cell_q, comm, 0, moved.data,
                         moved.sizes, hp->data, hp->sizes);
  P4EST_FREE (cells);
  free_hp_data (hp);
  *hp = moved;
}

/* Go on as a simulation would. */
static void
continue_simulation (p8est_t *forest)
{
  p8est_refine (forest, 0, refine_after_restart, initialize_state);
  p8est_balance (forest, P8EST_CONNECT_FULL, initialize_state);
  p8est_partition (forest, 0, NULL);
}

static p4est_gloidx_t *
read_checkpoint (const char *filename, parameters_t *p, p8est_t **forest, hp_data_t *hp)
{
  char                user_string[SCDA_USER_STRING_BYTES + 1];
  p4est_gloidx_t     *first_cell_q;
  uint64_t           *cells_q;
  cell_t             *cells;
  scda_fcontext_t    *file;
  int                 err;

  file = scda_fopen_read (comm, filename, user_string, NULL, NULL, &err);
  check (err, filename);
  file = read_parameters (file, p);
  first_cell_q = offsets_for_reading (p->num_cells);
  cells_q = counts_of_offsets (first_cell_q);
  file = read_forest (file, p, first_cell_q, cells_q, forest);
  cells = local_cells (*forest);
  file = read_hp_data (file, p, cells_q, cells, hp);
  scda_fclose (file, &err);
  check (err, filename);

  P4EST_FREE (cells);
  P4EST_FREE (cells_q);
  return first_cell_q;
}

static void
run_restart (const char *filename)
{
  parameters_t        p;
  p8est_connectivity_t *connectivity;
  p8est_t            *forest;
  p4est_gloidx_t     *first_cell_q;
  hp_data_t           hp;
  double              seconds = -MPI_Wtime ();

  first_cell_q = read_checkpoint (filename, &p, &forest, &hp);
  connectivity = forest->connectivity;
  seconds += MPI_Wtime ();

  say ("restart from %s on %d rank%s\n", filename, size, size == 1 ? "" : "s");
  say ("  %-22s time %g, step %d, read in %.2f s\n", "simulation", p.time, p.step, seconds);
  say_partition ("partition for reading", first_cell_q);
  say ("  %-22s %" PRId64 " cells in %d trees, checksum %08x as written\n", "mesh", p.num_cells,
       p.num_trees, p.checksum);
  verify_state (forest);
  verify_hp_data (forest, &hp);
  say ("  %-22s every value as computed anew\n", "state, coefficients");

  repartition (forest, first_cell_q, &hp);
  say_partition ("partition of p4est", forest->global_first_quadrant);
  verify_state (forest);
  verify_hp_data (forest, &hp);
  say ("  %-22s every value as computed anew\n", "state, coefficients");

  continue_simulation (forest);
  say ("  %-22s %" PRId64 " cells\n", "refined and balanced",
       (int64_t) forest->global_num_quadrants);

  free_hp_data (&hp);
  P4EST_FREE (first_cell_q);
  p8est_destroy (forest);
  p8est_connectivity_destroy (connectivity);
}

int
main (int argc, char **argv)
{
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  sc_init (comm, 1, 1, NULL, SC_LP_ERROR);      /* errors only: the report is ours */
  p4est_init (NULL, SC_LP_ERROR);

  if (argc == 3 && strcmp (argv[1], "write") == 0) {
    run_write (argv[2]);
  }
  else if (argc == 3 && strcmp (argv[1], "restart") == 0) {
    run_restart (argv[2]);
  }
  else {
    stop ("usage", "p4est_checkpoint write FILE", "              or p4est_checkpoint restart FILE");
  }

  sc_finalize ();               /* complains if memory is left */
  MPI_Finalize ();
  return EXIT_SUCCESS;
}
