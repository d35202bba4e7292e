/* p4est_after.c: the same block and field with scda */
#include <p4est.h>
#include <scda.h>

int forest_write_scda (p4est_t *p4est, const char *filename, sc_array_t *parameters, sc_array_t *state) {
  int err;
  uint64_t *Nq = P4EST_ALLOC (uint64_t, p4est->mpisize);
  for (int q = 0; q < p4est->mpisize; ++q) {
    Nq[q] = (uint64_t) (p4est->global_first_quadrant[q + 1] - p4est->global_first_quadrant[q]);
  }
  scda_fcontext_t *f = scda_fopen_write (p4est->mpicomm, filename, "my simulation", NULL, NULL, &err);
  f = scda_fwrite_block (f, parameters->array, parameters->elem_size, "parameters", NULL, 0, SCDA_ENCODE_NONE, &err);
  f = scda_fwrite_array (f, state->array, Nq, state->elem_size, 0, "state", NULL, SCDA_ENCODE_NONE, &err);
  scda_fclose (f, &err);
  P4EST_FREE (Nq);
  return err;
}
