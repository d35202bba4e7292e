/* find_array.c: an array by its user string */
#include <scda.h>

#include <stdlib.h>
#include <string.h>

/* Skips the data of the section whose header was read. Nq: memory for one entry per rank. */
static scda_fcontext_t *skip (scda_fcontext_t *f, char type, uint64_t N, uint64_t E, uint64_t *Nq, int size, int *err) {
  memset (Nq, 0, (size_t) size * sizeof *Nq);
  Nq[0] = N; /* any partition will do */
  switch (type) {
  case 'I': return scda_fread_inline_data (f, NULL, 0, err);
  case 'B': return scda_fread_block_data (f, NULL, E, 0, err);
  case 'A': return scda_fread_array_data (f, NULL, Nq, E, 0, err);
  default:
    f = scda_fread_varray_sizes (f, NULL, Nq, err);
    return f == NULL ? NULL : scda_fread_varray_data (f, NULL, Nq, NULL, NULL, 0, err);
  }
}

/* Reads up to the header of the array of this name. At the end of the file, *err is SCDA_ERR_EOF and f stays open. */
scda_fcontext_t *find_array (scda_fcontext_t *f, const char *name, uint64_t *N, uint64_t *E, int size, int *err) {
  char type, found[SCDA_USER_STRING_BYTES + 1];
  uint64_t *Nq = (uint64_t *) malloc ((size_t) size * sizeof *Nq);
  if (Nq == NULL) { abort (); }
  for (;;) {
    int decode = 1;
    f = scda_fread_section_header (f, &type, N, E, found, NULL, &decode, err);
    if (*err != SCDA_SUCCESS || (type == 'A' && strcmp (found, name) == 0)) { break; }
    f = skip (f, type, *N, *E, Nq, size, err);
    if (f == NULL) { break; }
  }
  free (Nq);
  return f;
}
