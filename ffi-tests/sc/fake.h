/* What the fake libsc has beside the functions that must not be called. */
#ifndef FAKE_H
#define FAKE_H

#include <stddef.h>
#include <sys/types.h>

#ifndef INTERFACE_H
struct sc_array {
  size_t elem_size, elem_count;
  ssize_t byte_alloc;
  char *array;
};
#endif

extern int sc_package_id;
extern int fake_resized, fake_logged; /* calls of the two functions */
extern char fake_log[4096];           /* the last message */

void sc_log (const char *filename, int lineno, int package, int category, int priority, const char *message);
void sc_array_resize (struct sc_array *array, size_t count);

#endif
