/* libscda_sc.so in a program that uses an installed libsc for all else: its header, its arrays, its log.
 *
 *   debian DIR */
#define WITH_LIBSC
#include "interface.h"

#include <sc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What libscda_sc.so takes these types for. */
typedef char check_array[sizeof (sc_array_t) == 4 * sizeof (void *) && offsetof (sc_array_t, array) == 3 * sizeof (void *) ? 1 : -1];
typedef char check_ferror[sizeof (sc_scda_ferror_t) == 2 * sizeof (int) ? 1 : -1];

static char messages[4096];

static void log_handler (FILE *stream, const char *filename, int lineno, int package, int category, int priority,
                         const char *message) {
  (void) stream, (void) filename, (void) lineno, (void) package, (void) category;
  if (priority == SC_LP_ERROR) { strncat (messages, message, sizeof messages - strlen (messages) - 1); }
}

int main (int argc, char **argv) {
  int rank, ranks, decode = 1;
  char path[1024], user[59], type;
  size_t len, count, size;
  sc_scda_ferror_t e;
  SC_CHECK_ABORT (sc_MPI_Init (&argc, &argv) == sc_MPI_SUCCESS && argc == 2, "usage: debian DIR");
  sc_init (sc_MPI_COMM_WORLD, 1, 1, log_handler, SC_LP_ERROR);
  sc_MPI_Comm_rank (sc_MPI_COMM_WORLD, &rank);
  sc_MPI_Comm_size (sc_MPI_COMM_WORLD, &ranks);
  snprintf (path, sizeof path, "%s/debian.%d.scda", argv[1], ranks);

  /* Rank p has p + 2 elements; element i has i + 1 bytes. */
  sc_array_t *counts = sc_array_new_size (sizeof (sc_scda_ulong), (size_t) ranks), *sums = sc_array_new (sizeof (sc_scda_ulong));
  for (int p = 0; p < ranks; ++p) { *(sc_scda_ulong *) sc_array_index_int (counts, p) = (sc_scda_ulong) p + 2; }
  const size_t mine = (size_t) rank + 2;
  sc_array_t *sizes = sc_array_new_size (sizeof (sc_scda_ulong), mine), *all = sc_array_new_size (sizeof (sc_array_t), mine);
  for (size_t i = 0; i < mine; ++i) {
    *(sc_scda_ulong *) sc_array_index (sizes, i) = i + 1;
    sc_array_t *element = (sc_array_t *) sc_array_index (all, i);
    sc_array_init_size (element, i + 1, 1);
    memset (element->array, 'a' + rank, i + 1);
  }

  SC_CHECK_ABORT (sc_scda_proc_sizes (sizes, counts, sums, &e) == 0 && sums->elem_count == (size_t) ranks, "proc_sizes");
  for (int p = 0; p < ranks; ++p) {
    const sc_scda_ulong n = (sc_scda_ulong) p + 2;
    SC_CHECK_ABORT (*(sc_scda_ulong *) sc_array_index_int (sums, p) == n * (n + 1) / 2, "sum");
  }
  sc_scda_fcontext_t *f = sc_scda_fopen_write (sc_MPI_COMM_WORLD, path, "debian", NULL, NULL, &e);
  f = sc_scda_fwrite_varray (f, "v", NULL, all, counts, sizes, sums, 1, 1, &e);
  SC_CHECK_ABORT (sc_scda_fclose (f, &e) == 0 && sc_scda_ferror_is_success (e), "writing");

  f = sc_scda_fopen_read (sc_MPI_COMM_WORLD, path, user, &len, NULL, &e);
  f = sc_scda_fread_section_header (f, user, &len, &type, &count, &size, &decode, &e);
  SC_CHECK_ABORT (f != NULL && type == 'V' && decode == 1 && count == (size_t) ranks * ((size_t) ranks + 3) / 2, "header");
  memset (sizes->array, 0, mine * sizeof (sc_scda_ulong));
  f = sc_scda_fread_varray_sizes (f, sizes, counts, &e);
  sc_array_t *data = sc_array_new_size (*(sc_scda_ulong *) sc_array_index_int (sums, rank), 1);
  f = sc_scda_fread_varray_data (f, data, counts, sizes, sums, 0, &e);
  SC_CHECK_ABORT (f != NULL, "reading");
  for (size_t i = 0; i < data->elem_size; ++i) { SC_CHECK_ABORT (data->array[i] == 'a' + rank, "data"); }
  SC_CHECK_ABORT (*messages == 0, "silence");

  f = sc_scda_fread_inline_data (f, NULL, 0, &e);
  SC_CHECK_ABORT (f == NULL && e.scdaret == SC_SCDA_FERR_USAGE, "usage");
  SC_CHECK_ABORT ((strstr (messages, path) != NULL) == (rank == 0), "the log");

  for (size_t i = 0; i < mine; ++i) { sc_array_reset ((sc_array_t *) sc_array_index (all, i)); }
  sc_array_destroy (all);
  sc_array_destroy (sizes);
  sc_array_destroy (counts);
  sc_array_destroy (sums);
  sc_array_destroy (data);
  sc_finalize (); /* aborts if libsc's memory was not given back */
  return sc_MPI_Finalize () != sc_MPI_SUCCESS;
}
