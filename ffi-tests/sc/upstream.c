/* Varrays of libsc, by libscda: docs/libsc.md links to it. */
#include "upstream.h" /* sc_scda.h, scda.h, and: struct sc_scda_fcontext { scda_fcontext_t *f; } */
#include <stdlib.h>

/* A code of libscda as one of libsc. After an error, the file is closed and the context gone. */
sc_scda_fcontext_t *upstream_result (sc_scda_fcontext_t *fc, int err, sc_scda_ferror_t *errcode) {
  const int same = err == 0 || (err >= SCDA_ERR_FORMAT && err <= SCDA_ERR_COUNT);
  errcode->scdaret = same ? (sc_scda_ret_t) err : SC_SCDA_FERR_MPI;
  errcode->mpiret = same ? MPI_SUCCESS : MPI_ERR_OTHER;
  if (fc->f == NULL) {
    free (fc);
    return NULL;
  }
  return fc;
}

sc_scda_fcontext_t *sc_scda_fwrite_varray (sc_scda_fcontext_t *fc, const char *user_string, size_t *len, sc_array_t *array_data,
                                           sc_array_t *elem_counts, sc_array_t *elem_sizes, sc_array_t *proc_sizes, int indirect,
                                           int encode, sc_scda_ferror_t *errcode) {
  int err;
  const void *data = array_data->array;
  const void **pointers = NULL;
  if (indirect) { /* an sc_array_t for each element; libscda takes their addresses */
    const sc_array_t *elements = (const sc_array_t *) array_data->array;
    pointers = malloc ((array_data->elem_count + 1) * sizeof *pointers);
    if (pointers == NULL) { MPI_Abort (MPI_COMM_WORLD, 1); }
    for (size_t i = 0; i < array_data->elem_count; ++i) { pointers[i] = elements[i].array; }
    data = pointers;
  }
  fc->f = scda_fwrite_varray (fc->f, data, (const uint64_t *) elem_counts->array, (const uint64_t *) elem_sizes->array,
                              proc_sizes == NULL ? NULL : (const uint64_t *) proc_sizes->array, indirect, user_string, len,
                              encode ? SCDA_ENCODE_ALWAYS : SCDA_ENCODE_NONE, &err);
  free (pointers);
  return upstream_result (fc, err, errcode);
}
