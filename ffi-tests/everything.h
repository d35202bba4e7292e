/* A program that uses every function and stops at the first error: to let things fail in it. */
#ifndef EVERYTHING_H
#define EVERYTHING_H

#include "sections.h"

/* Write some 70 KB: every kind of section, plain and encoded. Returns the error. */
int write_everything (group_t g, const char *filename, const scda_params_t *params);
/* Append some 20 KB to a sealed file, and commit in between. Returns the error. */
int append_everything (group_t g, const char *filename, const scda_params_t *params);
/* Read a file that write_everything has written, and compare. Returns the error. */
int read_everything (group_t g, const char *filename, const scda_params_t *params);
/* Whether a file begins with all bytes of another one. */
int file_begins_with (const char *a, const char *b);
/* Copies a file, with some bytes after it. */
void copy_file (const char *from, const char *to, const char *after);

#endif
