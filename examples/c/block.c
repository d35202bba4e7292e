/* block.c: blocks with a layer of ghost cells, and four variables in each cell. */
#include <scda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 16, variables = 4 }; /* cells of a block in each of three dimensions */
typedef struct { double u[variables]; } cell_t;
typedef struct { cell_t cell[N + 2][N + 2][N + 2]; } block_t;

/* What the variables are, and where this rank's part of each is in its block. */
static void describe (scda_dataset_t *d, scda_box_t *box, block_t *block, uint64_t *start) {
  static const char *const names[variables] = {"density", "momentum", "energy", "pressure"};
  static const uint64_t count[3] = {N, N, N};
  static const int64_t stride[3] = {sizeof block->cell[0], sizeof block->cell[0][0], sizeof block->cell[0][0][0]};
  int rank, size;
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  start[0] = 0, start[1] = 0, start[2] = (uint64_t) rank * N; /* the blocks lie beside each other */
  for (int i = 0; i < variables; ++i) {
    scda_dataset_init (&d[i]);
    strcpy (d[i].name, names[i]);
    d[i].type = SCDA_TYPE_FLOAT64, d[i].ndims = 3, d[i].encode = SCDA_ENCODE_ALWAYS;
    d[i].shape[0] = d[i].shape[1] = N, d[i].shape[2] = (uint64_t) size * N;
    scda_box_init (&box[i]);
    box[i].data = &block->cell[1][1][1].u[i]; /* the first cell that is no ghost */
    box[i].start = start, box[i].count = count, box[i].stride = stride;
  }
}

int main (int argc, char **argv) {
  int err, wrong = 0;
  uint64_t start[3];
  scda_dataset_t d[variables];
  scda_box_t box[variables];
  block_t *block = malloc (sizeof *block), *again = malloc (sizeof *again);
  MPI_Init (&argc, &argv);
  if (argc != 2 || block == NULL || again == NULL) { MPI_Abort (MPI_COMM_WORLD, 2); }
  describe (d, box, block, start);
  for (size_t i = 0; i < sizeof *block / sizeof (double); ++i) { ((double *) block)[i] = (double) (i + start[2]); }

  scda_fcontext_t *f = scda_fopen_write (MPI_COMM_WORLD, argv[1], "block.c", NULL, NULL, &err);
  f = scda_fwrite_datasets (f, variables, d, NULL, box, &err); /* NULL: a box of each */
  scda_fclose (f, &err);

  /* Back into a block, whose ghost cells stay as they are. */
  memcpy (again, block, sizeof *block);
  for (int z = 1; z <= N; ++z) {
    for (int y = 1; y <= N; ++y) { memset (&again->cell[z][y][1], 0, N * sizeof (cell_t)); }
  }
  describe (d, box, again, start);
  f = err == 0 ? scda_fopen_read (MPI_COMM_WORLD, argv[1], NULL, NULL, NULL, &err) : NULL;
  f = scda_fread_datasets (f, variables, d, NULL, NULL, box, &err);
  scda_fclose (f, &err);
  if (err != 0) { fprintf (stderr, "block: %s\n", scda_last_error_message ()); }
  wrong = err == 0 && memcmp (block, again, sizeof *block) != 0;
  free (block), free (again);
  MPI_Finalize ();
  return err != 0 || wrong;
}
