/* What ../sections.h has, through libsc's interface. */
#ifndef SC_SECTIONS_H
#define SC_SECTIONS_H

#include "../sections.h"
#include "interface.h"

/* An sc_array_t on other memory. */
static inline sc_array_t view (const void *memory, size_t elem_size, size_t elem_count) {
  sc_array_t a;
  a.elem_size = elem_size;
  a.elem_count = elem_count;
  a.byte_alloc = -(ssize_t) (elem_size * elem_count + 1);
  a.array = (char *) memory;
  return a;
}

/* The communicator of a group, as libsc has it. */
static inline sc_MPI_Comm comm_of (group_t g) {
#ifdef SCDA_SERIAL
  (void) g;
  return sc_MPI_COMM_WORLD;
#else
  return g.comm;
#endif
}

/* As content_write and content_read, without parameters. SCDA_ENCODE_AUTO is not known to libsc. */
void sc_content_write (group_t g, const char *filename, const content_t *c, uint64_t seed);
void sc_content_read (group_t g, const char *filename, const content_t *c, uint64_t seed);

#endif
