/* guide.c: writes a checkpoint, or restarts from one and prints what it found. With guide.h, guide_write.c and guide_read.c.
 *
 *   mpicc guide.c guide_write.c guide_read.c $(pkg-config --cflags --libs scda) -o guide
 *   mpirun -n 4 guide write state.scda
 *   mpirun -n 3 guide restart state.scda
 */
#include "guide.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers the cells of a square, which is refined towards a circle, along a space-filling curve. Stores those of this rank, from
   number first up to, but not including, number last. Returns the number of the next cell. */
static uint64_t make_cells (simulation_t *s, cell_t c, uint64_t index, uint64_t first, uint64_t last) {
  const double side = 1. / (1 << c.level), x = c.x * side + side / 2 - .5, y = c.y * side + side / 2 - .5;
  const double r2 = x * x + y * y;
  if (c.level < 3 || (c.level < 7 && r2 > (.3 - side) * (.3 - side) && r2 < (.3 + side) * (.3 + side))) {
    for (int child = 0; child < 4; ++child) {
      const cell_t finer = {2 * c.x + child % 2, 2 * c.y + child / 2, c.level + 1};
      index = make_cells (s, finer, index, first, last);
    }
    return index;
  }
  if (index >= first && index < last) { s->cells[index - first] = c; }
  return index + 1;
}

/* A coefficient that can be verified: it depends on its cell and its index. */
static double coefficient (cell_t c, int k) { return c.level + c.x * .25 + c.y * .5 + k; }

static void make_state (simulation_t *s) {
  const cell_t root = {0, 0, 0};
  const uint64_t N = make_cells (s, root, 0, 0, 0);
  uint64_t first, own, n = 0;
  int rank, size;
  MPI_Comm_rank (s->comm, &rank);
  MPI_Comm_size (s->comm, &size);
  s->step = 42, s->time = 0.25;
  first = N * (uint64_t) rank / (uint64_t) size, own = N * (uint64_t) (rank + 1) / (uint64_t) size - first;
  s->num_cells = own;
  s->cells = malloc (own * sizeof *s->cells + 1);
  s->bytes = malloc (own * sizeof *s->bytes + 1);
  s->coefficients = malloc (own * 9 * sizeof (double) + 1);
  make_cells (s, root, 0, first, first + own);
  for (uint64_t i = 0; i < own; ++i) {
    const int degree = 1 + s->cells[i].level % 2, count = (degree + 1) * (degree + 1);
    for (int k = 0; k < count; ++k) { s->coefficients[n++] = coefficient (s->cells[i], k); }
    s->bytes[i] = (uint64_t) count * sizeof (double);
  }
}

int main (int argc, char **argv) {
  simulation_t s = {MPI_COMM_WORLD, 0, 0, 0, NULL, NULL, NULL};
  int err, rank, size, wrong = 0;
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (s.comm, &rank);
  MPI_Comm_size (s.comm, &size);
  if (argc != 3) { MPI_Abort (s.comm, 2); }

  if (strcmp (argv[1], "write") == 0) {
    make_state (&s);
    err = checkpoint (&s, argv[2]);
  }
  else {
    uint64_t n = 0;
    err = restart (&s, argv[2]);
    for (uint64_t i = 0; err == 0 && i < s.num_cells; ++i) {
      for (uint64_t k = 0; k < s.bytes[i] / sizeof (double); ++k) {
        wrong += s.coefficients[n++] != coefficient (s.cells[i], (int) k);
      }
    }
    if (err == 0) {
      printf ("rank %d of %d: step %d, time %g, %d cells, %d wrong\n", rank, size, s.step, s.time, (int) s.num_cells, wrong);
    }
  }
  free (s.cells), free (s.bytes), free (s.coefficients);
  MPI_Finalize ();
  return err != 0 || wrong != 0;
}
