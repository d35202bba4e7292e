/* p4est_before.c: a block and a field */
#include <p4est_io.h>

int forest_write (p4est_t *p4est, const char *filename, sc_array_t *parameters, sc_array_t *state) {
  int err;
  p4est_file_context_t *fc = p4est_file_open_create (p4est, filename, "my simulation", &err);
  if (fc != NULL) { fc = p4est_file_write_block (fc, parameters->elem_size, parameters, "parameters", &err); }
  if (fc != NULL) { fc = p4est_file_write_field (fc, state->elem_size, state, "state", &err); }
  if (fc != NULL) { p4est_file_close (fc, &err); }
  return err;
}
