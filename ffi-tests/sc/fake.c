/* A libsc that must not be called: the same functions, each of which ends the program; and what libscda_sc.so asks of a
 * libsc, which notes that it was asked. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAKE(name) \
  void name (void); \
  void name (void) { \
    fputs ("the fake libsc was called: " #name "\n", stderr); \
    _exit (1); \
  }

FAKE (sc_scda_params_init)
FAKE (sc_scda_fopen_write)
FAKE (sc_scda_fopen_read)
FAKE (sc_scda_fwrite_inline)
FAKE (sc_scda_fwrite_block)
FAKE (sc_scda_fwrite_array)
FAKE (sc_scda_fwrite_varray)
FAKE (sc_scda_proc_sizes)
FAKE (sc_scda_fread_section_header)
FAKE (sc_scda_fread_inline_data)
FAKE (sc_scda_fread_block_data)
FAKE (sc_scda_fread_array_data)
FAKE (sc_scda_fread_varray_sizes)
FAKE (sc_scda_fread_varray_data)
FAKE (sc_scda_ferror_class)
FAKE (sc_scda_ferror_is_success)
FAKE (sc_scda_ferror_string)
FAKE (sc_scda_fclose)

int sc_package_id = 17;
int fake_resized;
int fake_logged;
char fake_log[4096];

void sc_log (const char *filename, int lineno, int package, int category, int priority, const char *message) {
  (void) filename, (void) lineno;
  if (package != 17 || category != 2 || priority != 8) { abort (); }
  ++fake_logged;
  strncpy (fake_log, message, sizeof fake_log - 1);
}

void sc_array_resize (struct sc_array *array, size_t count) {
  ++fake_resized;
  array->elem_count = count;
  array->byte_alloc = (ssize_t) (array->elem_size * count);
  array->array = (char *) realloc (array->array, array->elem_size * count);
}
