/* guide.h: the part of the mesh that this rank has. */
#include <scda.h>

typedef struct {
  int32_t x, y, level;
} cell_t;

typedef struct {
  MPI_Comm comm;
  int step;
  double time;
  uint64_t num_cells;   /* of this rank */
  cell_t *cells;        /* of this rank */
  uint64_t *bytes;      /* of the coefficients of each of these cells */
  double *coefficients; /* of all these cells, one after the other */
} simulation_t;

int checkpoint (const simulation_t *s, const char *filename);
int restart (simulation_t *s, const char *filename);
