/* The content of a file in memory, the same on all ranks: made at random or loaded
 * from a manifest, written with any partition, read with any other, compared. */
#ifndef SECTIONS_H
#define SECTIONS_H

#include "common.h"

typedef struct {
  size_t len;
  char bytes[SCDA_USER_STRING_BYTES + 1];
} user_t;

typedef struct {
  char type;      /* 'I', 'B', 'A', 'V' */
  int encode;     /* SCDA_ENCODE_*: how to write it */
  user_t user;
  uint64_t N, E;  /* what scda_fread_section_header says of it */
  uint64_t elems; /* elements in memory: N for 'A' and 'V', 1 for 'I' and 'B' */
  uint64_t *at;   /* element i is data[at[i]] to data[at[i + 1]], excluded */
  unsigned char *data;
} section_t;

typedef struct {
  user_t user;
  int count;
  section_t section[256];
} content_t;

/* Every kind of section, from a seed; with some that fill more than any buffer if `big`. */
content_t *content_random (uint64_t seed, int big);
/* Manifests are text: one word per datum, bytes in hexadecimal ("-" for none). See scda_parse.py. */
content_t *content_load (const char *manifest);
void content_save (const content_t *c, const char *manifest);
void content_free (content_t *c);

/* Write the content; partitions, roots, indirection all follow from the seed. `params` may be NULL. */
void content_write (group_t g, const char *filename, const content_t *c, uint64_t seed, const scda_params_t *params);
/* The same for the sections from `first` to `last`, excluded, in a file that is open. */
scda_fcontext_t *content_write_some (group_t g, scda_fcontext_t *f, const content_t *c, int first, int last, uint64_t seed);
/* Read it, raw or decoded, skipping this and that as the seed says; compare every byte. */
void content_read (group_t g, const char *filename, const content_t *c, uint64_t seed, const scda_params_t *params);

/* Calls that must go well: of a function that returns the file, and the end of it. */
#define RIGHT(call) (err = -1, f = (call), REQUIRE (f != NULL && err == 0))
#define CLOSE() (err = -1, REQUIRE (scda_fclose (f, &err) == 0 && err == 0))

/* Whether two files are equal from byte `from` on. */
int files_equal (const char *a, const char *b, long from);

#endif
