/* scda_forest.h: forests of quadtrees and octrees in scda files, what does not depend on the dimension.
 *
 * The convention is docs/forest.md. Programs with p4est include scda_p4est.h, scda_p8est.h or both, which include this file; it
 * includes nothing of p4est itself. Header-only, C99 and C++11.
 *
 * Names that end in _internal are for these headers alone.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef SCDA_FOREST_H
#define SCDA_FOREST_H

#include <scda_bind.h>
#include <scda_meshes.h>

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SCDA_SERIAL
#error "the forest functions need libscda with MPI"
#endif

/** The greatest level in a file: coordinates are in units of 2^-30 of the edge of a tree. */
#define SCDA_FOREST_MAXLEVEL 30

/** The attribute by which a mesh and what belongs to it name the mesh: docs/forest.md, "Which mesh a field belongs to". */
#define SCDA_FOREST_MESH "scda_mesh"

/* ---- Internal: errors ---- */

enum { scda_forest_why_bytes_internal = 256 };

/* What is wrong, if anything, on this rank. */
typedef struct {
  int err;
  char why[scda_forest_why_bytes_internal];
} scda_forest_error_internal_t;

static inline void scda_forest_no_error_internal (scda_forest_error_internal_t *e) {
  e->err = SCDA_SUCCESS;
  memset (e->why, 0, sizeof e->why);
}

/* Keeps the first error of several. Returns 0, to be returned by functions that say whether all is well. */
#ifdef __GNUC__
__attribute__ ((format (printf, 3, 4)))
#endif
static inline int scda_forest_error_internal (scda_forest_error_internal_t *e, int err, const char *format, ...) {
  if (e->err == SCDA_SUCCESS) {
    va_list arguments;
    va_start (arguments, format);
    e->err = err;
    vsnprintf (e->why, sizeof e->why, format, arguments);
    va_end (arguments);
  }
  return 0;
}

/* For an error that all ranks have found: closes the file. The message is that of scda_last_error_message. */
static inline scda_fcontext_t *scda_forest_fail_internal (scda_fcontext_t *f, const scda_forest_error_internal_t *e, int *err) {
  int ignored = SCDA_SUCCESS;
  if (f == NULL) { return scda_refuse (f, e->why, err); } /* the error that is there already stays */
  if (scda_refuse (f, e->why, &ignored) != NULL) { scda_fclose (f, &ignored); }
  if (err != NULL) { *err = e->err; }
  return NULL;
}

/* All ranks meet and return the error of the lowest rank that has one, or `f`. */
static inline scda_fcontext_t *scda_forest_agree_internal (scda_fcontext_t *f, MPI_Comm comm, scda_forest_error_internal_t *e,
                                                           int *err) {
  int rank = 0, size = 0, first = 0;
  if (f == NULL) { return scda_forest_fail_internal (f, e, err); }
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  first = e->err == SCDA_SUCCESS ? size : rank;
  MPI_Allreduce (MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm);
  if (first == size) {
    if (err != NULL) { *err = SCDA_SUCCESS; }
    return f;
  }
  MPI_Bcast (&e->err, 1, MPI_INT, first, comm);
  MPI_Bcast (e->why, (int) sizeof e->why, MPI_CHAR, first, comm);
  return scda_forest_fail_internal (f, e, err);
}

/* Room for `count` times `bytes`, never NULL for 0; NULL and an error if there is none. */
static inline void *scda_forest_room_internal (uint64_t count, uint64_t bytes, scda_forest_error_internal_t *e) {
  void *room = NULL;
  if (bytes == 0 || count <= (SIZE_MAX / 2 - 1) / bytes) { room = malloc ((size_t) (count * bytes) + 1); }
  if (room == NULL) {
    scda_forest_error_internal (e, SCDA_ERR_MEMORY, "no memory for %llu items of %llu bytes of a forest",
                                (unsigned long long) count, (unsigned long long) bytes);
  }
  return room;
}

/* ---- Internal: names ---- */

typedef struct {
  char text[SCDA_NAME_BYTES];
} scda_forest_name_internal_t;

static inline const char *scda_forest_group_internal (const char *group) { return group == NULL ? SCDA_FOREST_GROUP : group; }

/* The name of a dataset: group, slash, folder, name, ending. 0 if it is too long. */
static inline int scda_forest_name_internal (scda_forest_name_internal_t *full, const char *group, const char *folder,
                                             const char *name, const char *ending, scda_forest_error_internal_t *e) {
  const int length =
    snprintf (full->text, sizeof full->text, "%s/%s%s%s", scda_forest_group_internal (group), folder, name, ending);
  if (length < 0 || length > SCDA_USER_STRING_BYTES) {
    return scda_forest_error_internal (e, SCDA_ERR_ARG, "the name %.100s/%s%.100s%s is longer than %d bytes",
                                       scda_forest_group_internal (group), folder, name, ending, SCDA_USER_STRING_BYTES);
  }
  return 1;
}

/* The name of the dataset of a field. A field has its values for all of its mesh: 0 also for rows that would be added to another one. */
static inline int scda_forest_field_name_internal (scda_forest_name_internal_t *full, const char *group, const scda_dataset_t *field,
                                                   const char *ending, scda_forest_error_internal_t *e) {
  if (field->extends != 0) {
    return scda_forest_error_internal (e, SCDA_ERR_ARG, "field %.58s: found extends = %d, expected 0: a field is written whole", field->name,
                                       field->extends);
  }
  return scda_forest_name_internal (full, group, "fields/", field->name, ending, e);
}

/* ---- Internal: where a step is ---- */

/* The sections of a step: from `begin` on, before `end`. */
typedef struct {
  uint64_t begin, end;
} scda_forest_step_internal_t;

static inline scda_fcontext_t *scda_forest_section_internal (scda_fcontext_t *f, const char *name, int64_t record, int *found,
                                                             uint64_t *section, int *err) {
  *found = 0;
  *section = 0;
  return scda_ffind (f, name, NULL, record, found, section, err);
}

/* How many records of this name there are before a section. */
static inline scda_fcontext_t *scda_forest_records_internal (scda_fcontext_t *f, const char *name, uint64_t end,
                                                             int64_t *records, int *err) {
  int64_t below = -1, above = 1; /* record `below` is before `end`, record `above` is not */
  uint64_t section = 0;
  int found = 0;
  *records = 0;
  f = scda_forest_section_internal (f, name, 0, &found, &section, err);
  if (f == NULL || !found || section >= end) { return f; }
  below = 0;
  for (;;) {
    f = scda_forest_section_internal (f, name, above, &found, &section, err);
    if (f == NULL) { return NULL; }
    if (!found || section >= end) { break; }
    below = above;
    above *= 2;
  }
  while (above - below > 1) {
    const int64_t middle = below + (above - below) / 2;
    f = scda_forest_section_internal (f, name, middle, &found, &section, err);
    if (f == NULL) { return NULL; }
    if (found && section < end) { below = middle; }
    else { above = middle; }
  }
  *records = below + 1;
  return f;
}

/* The last record of this name in a range of sections. */
static inline scda_fcontext_t *scda_forest_last_internal (scda_fcontext_t *f, const char *name,
                                                          const scda_forest_step_internal_t *range, int *found,
                                                          int64_t *record, uint64_t *section, int *err) {
  int64_t records = 0;
  *record = -1;
  f = scda_forest_section_internal (f, name, -1, found, section, err);
  if (f == NULL || !*found || *section < range->begin) {
    *found = 0;
    return f;
  }
  if (*section < range->end) { return f; }
  f = scda_forest_records_internal (f, name, range->end, &records, err);
  *found = 0;
  if (f == NULL || records == 0) { return f; }
  *record = records - 1;
  f = scda_forest_section_internal (f, name, *record, found, section, err);
  if (f != NULL && *section < range->begin) { *found = 0; }
  return f;
}

/* Where step `step` of a forest is; -1 is the last one. */
static inline scda_fcontext_t *scda_forest_step_internal (scda_fcontext_t *f, const char *group, int64_t step,
                                                          scda_forest_step_internal_t *range, int *err) {
  scda_forest_error_internal_t e;
  scda_forest_name_internal_t name;
  int found = 0, next = 0;
  scda_forest_no_error_internal (&e);
  range->begin = 0;
  range->end = UINT64_MAX;
  if (!scda_forest_name_internal (&name, group, "", "time", "", &e)) { return scda_forest_fail_internal (f, &e, err); }
  f = scda_forest_section_internal (f, name.text, step, &found, &range->begin, err);
  if (f != NULL && found && step != -1) {
    f = scda_forest_section_internal (f, name.text, step + 1, &next, &range->end, err);
    if (!next) { range->end = UINT64_MAX; }
  }
  if (f == NULL || found) { return f; }
  f = scda_forest_section_internal (f, name.text, 0, &next, &range->begin, err);
  range->begin = 0;
  if (f != NULL && (next || (step != 0 && step != -1))) {
    int64_t steps = 0;
    f = scda_forest_records_internal (f, name.text, UINT64_MAX, &steps, err);
    if (f == NULL) { return NULL; }
    scda_forest_error_internal (&e, SCDA_ERR_ARG, "the forest %.58s has no step %lld: it has %lld, counted from 0",
                                scda_forest_group_internal (group), (long long) step, (long long) (steps == 0 ? 1 : steps));
    return scda_forest_fail_internal (f, &e, err);
  }
  return f;
}

/* ---- Internal: what is known of a forest of an open file ---- */

enum { scda_forest_checksum_bytes_internal = 17 };

typedef struct {
  struct scda_mesh_note_t *note; /* the last mesh */
  /* Writing: the last connectivity. */
  int has_connectivity;
  uint64_t connectivity;
  /* The checksum of a forest, as long as it has not changed. */
  const void *forest;
  long revision;
  uint64_t sketch, forest_checksum;
} scda_forest_state_internal_t;

/* NULL if the file is not open, or there is no memory. */
static inline scda_forest_state_internal_t *scda_forest_state_internal (scda_fcontext_t *f, const char *group) {
  char key[SCDA_NAME_BYTES + 16];
  scda_forest_state_internal_t *state = NULL;
  snprintf (key, sizeof key, "forest %.58s", scda_forest_group_internal (group));
  if (f != NULL) { state = (scda_forest_state_internal_t *) scda_note (f, key, sizeof *state); }
  if (state != NULL) { state->note = scda_mesh_note (f, scda_forest_group_internal (group)); }
  return state == NULL || state->note == NULL ? NULL : state;
}

/* ---- Internal: the checksum of a mesh ---- */

/* The bits of a number, each of which changes half of the others. */
static inline uint64_t scda_forest_mix_internal (uint64_t v) {
  v = (v ^ v >> 32) * 0xd6e8feb86659fd93u;
  v = (v ^ v >> 32) * 0xd6e8feb86659fd93u;
  return v ^ v >> 32;
}

/* What a quadrant adds. */
static inline uint64_t scda_forest_term_internal (uint64_t i, uint64_t tree, uint64_t level) {
  return scda_forest_mix_internal ((i + 1) * 0x9e3779b97f4a7c15u + (256 * tree + level) * 0xd1342543de82ef95u);
}

/* What `n` quadrants add; the first one is in tree `tree`. */
static inline uint64_t scda_forest_sum_internal (const int64_t *tree_offsets, uint64_t tree, uint64_t first, uint64_t n,
                                                 const uint8_t *level) {
  uint64_t sum = 0, i;
  for (i = first; i < first + n; ++i) {
    while ((uint64_t) tree_offsets[tree + 1] <= i) { ++tree; }
    sum += scda_forest_term_internal (i, tree, level[i - first]);
  }
  return sum;
}

/* As the attribute has it. */
static inline void scda_forest_checksum_text_internal (uint64_t checksum, char *text) {
  static const char digits[] = "0123456789abcdef";
  int i;
  for (i = 0; i < 16; ++i) { text[i] = digits[checksum >> (60 - 4 * i) & 15]; }
  text[16] = '\0';
}

/* ---- Internal: attributes ---- */

/* The end of a string of JSON, after its quotation mark; of one that has no end, the end of all. */
static inline const char *scda_forest_string_end_internal (const char *begin) {
  const char *json = begin + 1;
  while (*json != '\0' && *json != '"') { json += *json == '\\' && json[1] != '\0' ? 2 : 1; }
  return *json == '\0' ? json : json + 1;
}

/* The value of a key of a JSON object; *end follows it. NULL if there is none. */
static inline const char *scda_forest_value_internal (const char *json, const char *key, const char **end) {
  static const char blanks[] = " \t\r\n";
  const size_t length = strlen (key);
  int depth = 0;
  while (*json != '\0') {
    if (*json == '"') {
      const char *const begin = json + 1;
      json = scda_forest_string_end_internal (json);
      if (depth == 1 && (size_t) (json - begin) == length + 1 && memcmp (begin, key, length) == 0 && json[strspn (json, blanks)] == ':') {
        const char *value = json + strspn (json, blanks) + 1;
        value += strspn (value, blanks);
        for (json = value; *json != '\0' && (depth > 1 || (*json != ',' && *json != '}'));) {
          if (*json == '"') {
            json = scda_forest_string_end_internal (json);
            continue;
          }
          depth += (*json == '{' || *json == '[') - (*json == '}' || *json == ']');
          ++json;
        }
        *end = json;
        return value;
      }
      continue;
    }
    depth += (*json == '{' || *json == '[') - (*json == '}' || *json == ']');
    ++json;
  }
  return NULL;
}

/* The number that a key of a JSON object has; -1 if it has none; at most 10^9. */
static inline long scda_forest_attribute_internal (const char *json, const char *key) {
  const char *end = NULL, *digit = scda_forest_value_internal (json, key, &end);
  long number = 0;
  if (digit == NULL || digit == end) { return -1; }
  for (; *digit >= '0' && *digit <= '9'; ++digit) { number = number < 100000000 ? 10 * number + (*digit - '0') : 1000000000; }
  return digit == end ? number : -1;
}

/* The mesh that the attributes of a dataset name; 0 if they name none. `text` is then what stands there, if anything does. */
static inline int scda_forest_mesh_of_internal (const char *attributes, char *text) {
  const char *end = NULL, *value = attributes == NULL ? NULL : scda_forest_value_internal (attributes, SCDA_FOREST_MESH, &end);
  text[0] = '\0';
  if (value == NULL) { return 0; }
  if (end - value == 18 && *value == '"') {
    memcpy (text, value + 1, 16);
    text[16] = '\0';
  }
  return 1;
}

/* Attributes with that of a mesh, to be freed: in place of the one that they have, or as the first one. */
static inline char *scda_forest_attributes_internal (const char *attributes, const char *mesh, scda_forest_error_internal_t *e) {
  static const char blanks[] = " \t\r\n";
  const char *json = attributes == NULL ? "{}" : attributes, *end = NULL, *value = scda_forest_value_internal (json, SCDA_FOREST_MESH, &end);
  char *all = (char *) scda_forest_room_internal (strlen (json) + 64, 1, e);
  if (all == NULL) { return NULL; }
  if (value != NULL) {
    sprintf (all, "%.*s\"%s\"%s", (int) (value - json), json, mesh, end);
    return all;
  }
  json += strspn (json, blanks);
  end = json + 1 + strspn (json + (*json != '\0'), blanks);
  if (*json != '{') { strcpy (all, json); } /* the library says what is wrong */
  else { sprintf (all, "{\"" SCDA_FOREST_MESH "\": \"%s\"%s%s", mesh, *end == '}' ? "" : ", ", end); }
  return all;
}

/* ---- Internal: reading datasets of a known type and shape ---- */

/* Whether a group has the attribute `kind` with this version; and its attribute `dimension`, -1 if there is none. */
static inline scda_fcontext_t *scda_forest_kind_internal (scda_fcontext_t *f, const char *group, const char *kind, int version, long *dimension,
                                                          int *err) {
  scda_forest_error_internal_t e;
  const char *attributes = NULL;
  int found = 0;
  long number = -1;
  scda_forest_no_error_internal (&e);
  f = scda_ffind_group (f, group, &found, &attributes, err);
  if (f == NULL) { return NULL; }
  if (found) { number = scda_forest_attribute_internal (attributes, kind); }
  if (number < 0) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "there is no %s %.58s: %s %s", kind + strlen ("scda_"), group,
                                found ? "the group has no attribute" : "no group of this name has an attribute", kind);
  }
  else if (number != version) {
    scda_forest_error_internal (&e, SCDA_ERR_UNSUPPORTED, "the group %.58s has version %ld of %s; expected %d", group, number, kind, version);
  }
  if (e.err != SCDA_SUCCESS) { return scda_forest_fail_internal (f, &e, err); }
  *dimension = scda_forest_attribute_internal (attributes, "dimension");
  return f;
}

/* Finds a record of a dataset, which must be there, with this type (0: any) and these numbers of indices (UINT64_MAX: any). */
static inline scda_fcontext_t *scda_forest_open_internal (scda_fcontext_t *f, const char *name, int64_t record, int type,
                                                          int ndims, const uint64_t *shape, scda_dataset_t *d, int *err) {
  scda_forest_error_internal_t e;
  int found = 0, i;
  scda_forest_no_error_internal (&e);
  scda_dataset_init (d);
  f = scda_ffind_dataset (f, name, record, &found, d, err);
  if (f == NULL) { return NULL; }
  if (!found) { scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "there is no dataset %s", name); }
  else if (type != 0 && d->type != type) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s has the type %s; expected %s", name, scda_type_name (d->type, NULL),
                                scda_type_name (type, NULL));
  }
  else if (d->ndims != ndims) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s has %d dimensions; expected %d", name, d->ndims, ndims);
  }
  for (i = 0; e.err == SCDA_SUCCESS && i < ndims; ++i) {
    if (shape[i] != UINT64_MAX && d->shape[i] != shape[i]) {
      scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dimension %d of dataset %s has %llu indices; expected %llu", i, name,
                                  (unsigned long long) d->shape[i], (unsigned long long) shape[i]);
    }
  }
  return e.err == SCDA_SUCCESS ? f : scda_forest_fail_internal (f, &e, err);
}

/* Reads the rows `first` to `first + rows - 1` of a dataset. */
static inline scda_fcontext_t *scda_forest_rows_internal (scda_fcontext_t *f, const scda_dataset_t *d, uint64_t first,
                                                          uint64_t rows, void *data, int *err) {
  uint64_t start[SCDA_MAX_DIMS], count[SCDA_MAX_DIMS];
  int i;
  for (i = 0; i < d->ndims; ++i) {
    start[i] = i == 0 ? first : 0;
    count[i] = i == 0 ? rows : d->shape[i];
  }
  return scda_fread_dataset (f, d, data, rows > 0, start, count, err);
}

/* Whether rows that were just read can be true. `all` are all rows so far, of which those from `first` on are new. */
typedef int (*scda_forest_check_internal_t) (void *context, const void *all, uint64_t first, uint64_t rows,
                                             scda_forest_error_internal_t *e);

/* Reads all of a dataset for all ranks: rank 0 from the file. It comes in pieces, each checked before more memory is asked
 * for, so that a damaged number costs none. The caller frees *all, also after an error. */
static inline scda_fcontext_t *scda_forest_all_internal (scda_fcontext_t *f, MPI_Comm comm, const scda_dataset_t *d,
                                                         scda_forest_check_internal_t check, void *context, void **all,
                                                         int *err) {
  const uint64_t rows = d->ndims == 0 ? 1 : d->shape[0];
  uint64_t row_bytes = d->item_bytes, piece, first, room = 0;
  scda_forest_error_internal_t e;
  int rank = 0, i;
  scda_forest_no_error_internal (&e);
  MPI_Comm_rank (comm, &rank);
  for (i = 1; i < d->ndims; ++i) { row_bytes *= d->shape[i]; }
  piece = ((uint64_t) 1 << 24) / (row_bytes == 0 ? 1 : row_bytes) + 1;
  *all = NULL;
  for (first = 0; f != NULL && first < rows; first += piece) {
    const uint64_t now = rows - first < piece ? rows - first : piece;
    char *begin = NULL;
    if (first + now > room) {
      void *larger = NULL;
      room = rows < 2 * (first + now) ? rows : 2 * (first + now);
      larger = scda_forest_room_internal (room, row_bytes, &e);
      if (larger != NULL && *all != NULL) { memcpy (larger, *all, (size_t) (first * row_bytes)); }
      if (larger != NULL) {
        free (*all);
        *all = larger;
      }
      f = scda_forest_agree_internal (f, comm, &e, err);
      if (f == NULL) { return NULL; }
    }
    begin = (char *) *all + first * row_bytes;
    f = scda_forest_rows_internal (f, d, first, rank == 0 ? now : 0, begin, err);
    if (f == NULL) { return NULL; }
    {
      uint64_t sent = 0, bytes = now * row_bytes;
      while (sent < bytes) {
        const uint64_t part = bytes - sent < ((uint64_t) 1 << 30) ? bytes - sent : (uint64_t) 1 << 30;
        MPI_Bcast (begin + sent, (int) part, MPI_BYTE, 0, comm);
        sent += part;
      }
    }
    if (check != NULL) { check (context, *all, first, now, &e); }
    if (e.err != SCDA_SUCCESS) { return scda_forest_fail_internal (f, &e, err); } /* on all ranks: they have the same rows */
  }
  return f;
}

/* ---- Internal: values of the elements of a mesh ---- */

/* The elements of this rank, whose values are written or read. */
typedef struct {
  MPI_Comm comm;
  const char *element, *functions; /* "quadrant", "scda_p4est" */
  uint64_t all, first, n;          /* of all ranks, the first one and those of this rank */
  uint64_t checksum;               /* of their mesh */
} scda_forest_part_internal_t;

/* Looks once into a file that is appended to, up to where that began, for the attributes of the group and for its last mesh. What cannot be read is not known. */
static inline void scda_forest_look_internal (scda_fcontext_t *f, const char *group, const char *kind, const char *first, MPI_Comm comm) {
  scda_forest_state_internal_t *state = scda_forest_state_internal (f, group);
  const char *path = f == NULL ? NULL : (const char *) scda_note (f, "appended", 0), *attributes = NULL;
  int look = state != NULL && path != NULL && !state->note->is_looked, found = 0, ignored;
  char text[scda_forest_checksum_bytes_internal];
  scda_forest_name_internal_t name;
  scda_forest_error_internal_t e;
  scda_fcontext_t *r = NULL;
  scda_dataset_t d;
  if (path == NULL) { return; } /* on all ranks */
  MPI_Allreduce (MPI_IN_PLACE, &look, 1, MPI_INT, MPI_MIN, comm);
  if (!look) { return; }
  state->note->is_looked = 1;
  scda_forest_no_error_internal (&e);
  if (!scda_forest_name_internal (&name, group, "", first, "", &e)) { return; }
  r = scda_fopen_read (comm, path, NULL, NULL, NULL, &ignored);
  if (r != NULL) { r = scda_ffind_group (r, scda_forest_group_internal (group), &found, &attributes, &ignored); }
  if (r != NULL && found && scda_forest_attribute_internal (attributes, kind) >= 0) { state->note->has_group = 1; }
  scda_dataset_init (&d);
  if (r != NULL) { r = scda_ffind_dataset (r, name.text, SCDA_LAST, &found, &d, &ignored); }
  if (r != NULL && found && !state->note->has_mesh && d.ndims > 0 && scda_forest_mesh_of_internal (d.attributes, text)) {
    char *end = NULL;
    state->note->checksum = strtoull (text, &end, 16);
    state->note->cells = d.shape[0];
    state->note->has_mesh = end == text + 16;
  }
  if (r != NULL) { scda_fclose (r, &ignored); }
}

/* Whose memory is written: that of the program, which `params.lend` lends to the thread, or ours, which is freed after the call. */
typedef enum { scda_forest_theirs_internal, scda_forest_ours_internal } scda_forest_memory_internal_t;

/* Writes a dataset of which each rank has `rows` rows from `first` on; `d` has its shape, and its name is `name`. */
static inline scda_fcontext_t *scda_forest_write_rows_internal (scda_fcontext_t *f, scda_dataset_t *d,
                                                                const scda_forest_name_internal_t *name, uint64_t first,
                                                                uint64_t rows, const void *data, scda_forest_memory_internal_t memory,
                                                                int *err) {
  uint64_t start[SCDA_MAX_DIMS], count[SCDA_MAX_DIMS];
  scda_box_t box;
  int i;
  memcpy (d->name, name->text, sizeof d->name);
  for (i = 0; i < d->ndims && i < SCDA_MAX_DIMS; ++i) {
    start[i] = i == 0 ? first : 0;
    count[i] = i == 0 ? rows : d->shape[i];
  }
  if (memory == scda_forest_theirs_internal) { return scda_fwrite_dataset (f, d, data, rows > 0, start, count, err); }
  scda_box_init (&box);
  box.data = (void *) data; /* not changed */
  box.start = start;
  box.count = count;
  return scda_fwrite_datasets (f, 1, d, NULL, &box, err); /* which lends nothing */
}

/* Datasets of a mesh or a connectivity, which are written in one call, from memory that may be freed then. Of each, the ranks have rows in their
 * order. */
enum { scda_forest_most_parts_internal = 20, scda_forest_part_dims_internal = 3 };

typedef struct {
  const char *group;
  scda_forest_error_internal_t e; /* the first one, the same on all ranks */
  size_t n;
  scda_dataset_t d[scda_forest_most_parts_internal];
  const char *names[scda_forest_most_parts_internal][scda_forest_part_dims_internal];
  uint64_t first[scda_forest_most_parts_internal], rows[scda_forest_most_parts_internal]; /* of this rank */
  const void *data[scda_forest_most_parts_internal];
} scda_forest_parts_internal_t;

static inline void scda_forest_no_parts_internal (scda_forest_parts_internal_t *parts, const char *group) {
  parts->group = group;
  parts->n = 0;
  scda_forest_no_error_internal (&parts->e);
}

/* Adds a dataset of 1 dimension, or of 2 if `columns` is not 0, that may be changed until all are written, and the names of its dimensions. What
 * is passed stays as it is until then. */
static inline scda_dataset_t *scda_forest_add_part_internal (scda_forest_parts_internal_t *parts, const char *part, int type, uint64_t all_rows,
                                                             uint64_t columns, const char *dimension0, const char *dimension1, const char *attributes,
                                                             uint64_t first, uint64_t rows, const void *data) {
  const size_t i = parts->n++;
  scda_dataset_t *d = parts->d + i;
  scda_forest_name_internal_t name;
  scda_dataset_init (d);
  if (scda_forest_name_internal (&name, parts->group, "", part, "", &parts->e)) { memcpy (d->name, name.text, sizeof d->name); }
  d->type = type;
  d->ndims = columns == 0 ? 1 : 2;
  d->shape[0] = all_rows;
  d->shape[1] = columns;
  parts->names[i][0] = dimension0;
  parts->names[i][1] = dimension1;
  d->dimension_names = parts->names[i];
  d->attributes = attributes;
  parts->first[i] = first;
  parts->rows[i] = rows;
  parts->data[i] = data;
  return d;
}

/* Writes all of them, unless there is an error. */
static inline scda_fcontext_t *scda_forest_write_parts_internal (scda_fcontext_t *f, scda_forest_parts_internal_t *parts, int *err) {
  uint64_t start[scda_forest_most_parts_internal][scda_forest_part_dims_internal], count[scda_forest_most_parts_internal][scda_forest_part_dims_internal];
  scda_box_t boxes[scda_forest_most_parts_internal];
  size_t i;
  if (parts->e.err != SCDA_SUCCESS) { return scda_forest_fail_internal (f, &parts->e, err); }
  for (i = 0; i < parts->n; ++i) {
    scda_box_init (boxes + i);
    memset (start[i], 0, sizeof start[i]);
    start[i][0] = parts->rows[i] > 0 ? parts->first[i] : 0;
    memcpy (count[i], parts->d[i].shape, sizeof count[i]);
    count[i][0] = parts->rows[i];
    boxes[i].data = (void *) parts->data[i]; /* not changed */
    boxes[i].start = start[i];
    boxes[i].count = count[i];
  }
  return scda_fwrite_datasets (f, parts->n, parts->d, NULL, boxes, err);
}

/* Before a field of a forest is written: the mesh that it names, which must be the last one that was written. */
static inline scda_fcontext_t *scda_forest_belong_internal (scda_fcontext_t *f, const char *group, const scda_forest_part_internal_t *part, const char *field,
                                                            char *mesh, int *err) {
  const unsigned long long N = (unsigned long long) part->all;
  scda_forest_state_internal_t *state = NULL;
  scda_forest_error_internal_t e;
  char last[scda_forest_checksum_bytes_internal];
  scda_forest_no_error_internal (&e);
  state = scda_forest_state_internal (f, group);
  if (state == NULL) {
    scda_forest_error_internal (&e, SCDA_ERR_USAGE, "the file of the forest is not open, or there is no memory");
    return scda_forest_fail_internal (f, &e, err);
  }
  if (!state->note->has_mesh) { scda_forest_look_internal (f, group, "scda_forest", "coordinates", part->comm); }
  scda_forest_checksum_text_internal (part->checksum, mesh);
  scda_forest_checksum_text_internal (state->note->checksum, last);
  /* The same on all ranks. */
  if (!state->note->has_mesh) {
    scda_forest_error_internal (&e, SCDA_ERR_USAGE, "%.58s/%.58s is of a forest whose mesh is not in the file: call %s_write_forest before",
                                scda_forest_group_internal (group), field, part->functions);
  }
  else if (state->note->checksum != part->checksum || state->note->cells != N) {
    scda_forest_error_internal (&e, SCDA_ERR_USAGE,
                                "%.40s/%.40s is of a forest of %llu %ss with checksum %s; the last mesh in the file has %llu with %s: "
                                "call %s_write_mesh when the mesh has changed",
                                scda_forest_group_internal (group), field, N, part->element, mesh, (unsigned long long) state->note->cells, last,
                                part->functions);
  }
  if (e.err != SCDA_SUCCESS) { return scda_forest_fail_internal (f, &e, err); }
  state->note->has_fields = 1;
  return f;
}

/* Compares the mesh that a field in a file names, if it names one, with that of a forest. */
static inline scda_fcontext_t *scda_forest_compare_internal (scda_fcontext_t *f, const scda_forest_part_internal_t *part,
                                                             const scda_dataset_t *d, int *err) {
  scda_forest_error_internal_t e;
  char found[scda_forest_checksum_bytes_internal], expected[scda_forest_checksum_bytes_internal];
  if (!scda_forest_mesh_of_internal (d->attributes, found)) { return f; }
  scda_forest_no_error_internal (&e);
  scda_forest_checksum_text_internal (part->checksum, expected);
  if (strcmp (found, expected) == 0) { return f; }
  scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s is of a mesh with checksum %s, the forest given has %s: read that of the same step",
                              d->name, found, expected);
  return scda_forest_fail_internal (f, &e, err);
}

/* Writes rows of a field of the user's. `rows0` is its first number of indices; `mesh` is what it belongs to. */
static inline scda_fcontext_t *scda_forest_write_field_internal (scda_fcontext_t *f, const char *group, const char *mesh,
                                                                 const scda_dataset_t *field, const char *dimension,
                                                                 uint64_t rows0, uint64_t first, uint64_t rows, const void *data,
                                                                 scda_forest_memory_internal_t memory, int *err) {
  scda_forest_error_internal_t e;
  scda_forest_name_internal_t name;
  const char *names[SCDA_MAX_DIMS];
  scda_dataset_t d = *field;
  char *attributes = NULL;
  int i;
  scda_forest_no_error_internal (&e);
  scda_forest_field_name_internal (&name, group, field, "", &e);
  if (e.err == SCDA_SUCCESS) { attributes = scda_forest_attributes_internal (field->attributes, mesh, &e); }
  if (e.err != SCDA_SUCCESS) { return scda_forest_fail_internal (f, &e, err); }
  if (d.ndims == 0) { d.ndims = 1; }
  d.shape[0] = rows0;
  for (i = 0; i < SCDA_MAX_DIMS; ++i) {
    names[i] = i > 0 && i < d.ndims && field->dimension_names != NULL ? field->dimension_names[i] : NULL;
  }
  names[0] = dimension;
  d.dimension_names = names;
  d.attributes = attributes;
  f = scda_forest_write_rows_internal (f, &d, &name, first, rows, data, memory, err);
  free (attributes);
  return f;
}

/* The sum of the counts of this rank, of those before it, and of all. */
static inline void scda_forest_sums_internal (const scda_forest_part_internal_t *part, const int64_t *counts, uint64_t *own, uint64_t *before,
                                              uint64_t *all, scda_forest_error_internal_t *e) {
  uint64_t i, halves[2]; /* of sums that may have more than 64 bits */
  int rank = 0;
  *own = *before = *all = 0;
  for (i = 0; i < part->n; ++i) {
    if (counts[i] < 0 || counts[i] > INT64_MAX - (int64_t) *own) {
      scda_forest_error_internal (e, SCDA_ERR_RANGE, "the number of values of %s %llu is %lld", part->element,
                                  (unsigned long long) (part->first + i), (long long) counts[i]);
      *own = 0;
      break;
    }
    *own += (uint64_t) counts[i];
  }
  halves[0] = *own & UINT32_MAX;
  halves[1] = *own >> 32;
  MPI_Exscan (own, before, 1, MPI_UINT64_T, MPI_SUM, part->comm);
  MPI_Allreduce (MPI_IN_PLACE, halves, 2, MPI_UINT64_T, MPI_SUM, part->comm);
  MPI_Comm_rank (part->comm, &rank);
  if (rank == 0) { *before = 0; } /* MPI leaves it undefined */
  halves[1] += halves[0] >> 32;
  *all = halves[1] << 32 | (halves[0] & UINT32_MAX);
  if (halves[1] > UINT32_MAX || *all > 9000000000000000000u) { scda_forest_error_internal (e, SCDA_ERR_RANGE, "the %ss have more than 9e18 values", part->element); }
}

/* Writes a field of the elements of a mesh, which is the last one in the file. */
static inline scda_fcontext_t *scda_forest_write_values_internal (scda_fcontext_t *f, const char *group, const scda_forest_part_internal_t *part,
                                                                  const scda_dataset_t *field, const void *data,
                                                                  scda_forest_memory_internal_t memory, int *err) {
  char mesh[scda_forest_checksum_bytes_internal];
  f = scda_forest_belong_internal (f, group, part, field->name, mesh, err);
  if (f == NULL) { return NULL; }
  return scda_forest_write_field_internal (f, group, mesh, field, part->element, part->all, part->first, part->n, data, memory, err);
}

/* Writes a field with a number of values of its own for each element. */
static inline scda_fcontext_t *scda_forest_write_ragged_internal (scda_fcontext_t *f, const char *group, const scda_forest_part_internal_t *part,
                                                                  const scda_dataset_t *field, const int64_t *counts, const void *data,
                                                                  int *err) {
  scda_forest_error_internal_t e;
  scda_forest_name_internal_t name;
  char samples[SCDA_NAME_BYTES + 16], attributes[6 * SCDA_NAME_BYTES + 128], mesh[scda_forest_checksum_bytes_internal];
  const char *from = samples;
  uint64_t own, before, all;
  size_t length = 0;
  scda_dataset_t d;
  scda_forest_no_error_internal (&e);
  scda_forest_field_name_internal (&name, group, field, ":count", &e);
  snprintf (samples, sizeof samples, "%.58s:sample", field->name);
  scda_forest_sums_internal (part, counts, &own, &before, &all, &e);
  f = scda_forest_agree_internal (f, part->comm, &e, err);
  if (f != NULL) { f = scda_forest_belong_internal (f, group, part, field->name, mesh, err); }
  if (f == NULL) { return NULL; }

  length = (size_t) sprintf (attributes, "{\"" SCDA_FOREST_MESH "\": \"%s\", \"long_name\": \"number of values of each %s\", \"sample_dimension\": \"",
                             mesh, part->element);
  for (; *from != '\0'; ++from) { /* as JSON has it */
    if (*from == '"' || *from == '\\') { attributes[length++] = '\\'; }
    attributes[length++] = *from;
  }
  strcpy (attributes + length, "\"}");
  scda_dataset_init (&d);
  d.type = SCDA_TYPE_INT64;
  d.ndims = 1;
  d.shape[0] = part->all;
  d.dimension_names = &part->element;
  d.attributes = attributes;
  d.encode = field->encode;
  f = scda_forest_write_rows_internal (f, &d, &name, part->first, part->n, counts, scda_forest_theirs_internal, err);
  if (f == NULL) { return NULL; }
  return scda_forest_write_field_internal (f, group, mesh, field, samples, all, before, own, data, scda_forest_theirs_internal, err);
}

/* Finds a dataset of the step, which is in `folder` of the group. */
static inline scda_fcontext_t *scda_forest_find_internal (scda_fcontext_t *f, const char *group, int64_t step, const char *folder,
                                                          const char *field, const char *ending, int *found, scda_dataset_t *d,
                                                          int *err) {
  scda_forest_step_internal_t range;
  scda_forest_name_internal_t name;
  scda_forest_error_internal_t e;
  uint64_t section = 0;
  int64_t record = -1;
  int there = 0;
  scda_forest_no_error_internal (&e);
  *found = 0;
  if (!scda_forest_name_internal (&name, group, folder, field, ending, &e)) { return scda_forest_fail_internal (f, &e, err); }
  f = scda_forest_step_internal (f, group, step, &range, err);
  if (f != NULL) { f = scda_forest_last_internal (f, name.text, &range, &there, &record, &section, err); }
  if (f == NULL || !there) { return f; }
  return scda_ffind_dataset (f, name.text, record, found, d, err);
}

/* Goes to a field that must be there, of this type, and of this shape but for the first number. item_bytes is 0 if the type says it, and
 * if the components of bytes are bytes. */
static inline scda_fcontext_t *scda_forest_expect_internal (scda_fcontext_t *f, const char *group, int64_t step, const char *folder,
                                                            const char *name, const char *ending, int type, uint64_t item_bytes,
                                                            uint64_t rows, uint64_t components, scda_dataset_t *d, int *err) {
  scda_forest_error_internal_t e;
  int found = 0, i;
  uint64_t has = 1;
  scda_forest_no_error_internal (&e);
  scda_dataset_init (d);
  f = scda_forest_find_internal (f, group, step, folder, name, ending, &found, d, err);
  if (f == NULL) { return NULL; }
  if (!found) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "there is no dataset %.58s/%s%.58s%s in the step", scda_forest_group_internal (group),
                                folder, name, ending);
    return scda_forest_fail_internal (f, &e, err);
  }
  for (i = 1; i < d->ndims; ++i) { has *= d->shape[i]; } /* less than 2^63: the library has compared it */
  if (type == SCDA_TYPE_RAW && item_bytes == 0 && d->type == SCDA_TYPE_RAW) { has *= d->item_bytes; } /* the file shall not say how much is read */
  if (d->type != type) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s has the type %s; expected %s", d->name, scda_type_name (d->type, NULL),
                                scda_type_name (type, NULL));
  }
  else if (item_bytes != 0 && d->item_bytes != item_bytes) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s has items of %llu bytes; expected %llu", d->name,
                                (unsigned long long) d->item_bytes, (unsigned long long) item_bytes);
  }
  else if (d->ndims == 0 || (rows != UINT64_MAX && d->shape[0] != rows)) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s has %llu rows; expected %llu", d->name,
                                (unsigned long long) (d->ndims > 0 ? d->shape[0] : 1), (unsigned long long) rows);
  }
  else if (has != components) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s has %llu %s in each row; expected %llu", d->name, (unsigned long long) has,
                                type == SCDA_TYPE_RAW && item_bytes == 0 ? "bytes (SCDA_TYPE_RAW)" : "items", (unsigned long long) components);
  }
  return e.err == SCDA_SUCCESS ? f : scda_forest_fail_internal (f, &e, err);
}

/* Reads a field of which type and number of items are known, for the elements of this rank. */
static inline scda_fcontext_t *scda_forest_read_values_internal (scda_fcontext_t *f, const char *group, int64_t step,
                                                                 const scda_forest_part_internal_t *part, const char *name, int type,
                                                                 uint64_t components, void *data, int *err) {
  scda_dataset_t d;
  f = scda_forest_expect_internal (f, group, step, "fields/", name, "", type, 0, part->all, components, &d, err);
  if (f != NULL) { f = scda_forest_compare_internal (f, part, &d, err); }
  return f == NULL ? NULL : scda_forest_rows_internal (f, &d, part->first, part->n, data, err);
}

/* Reads how many values each element of this rank has, and compares their sum with the field. */
static inline scda_fcontext_t *scda_forest_read_counts_internal (scda_fcontext_t *f, const char *group, int64_t step, const scda_forest_part_internal_t *part,
                                                                 const char *name, int64_t *counts, int *err) {
  scda_forest_error_internal_t e;
  scda_dataset_t d;
  uint64_t own, before, all;
  int found = 0;
  scda_forest_no_error_internal (&e);
  f = scda_forest_expect_internal (f, group, step, "fields/", name, ":count", SCDA_TYPE_INT64, 0,
                                 part->all, 1, &d, err);
  if (f != NULL) { f = scda_forest_compare_internal (f, part, &d, err); }
  if (f != NULL) {
    f = scda_forest_rows_internal (f, &d, part->first, part->n, counts, err);
  }
  if (f == NULL) { return NULL; }
  scda_forest_sums_internal (part, counts, &own, &before, &all, &e);
  if (e.err != SCDA_SUCCESS) { e.err = SCDA_ERR_FORMAT; }
  f = scda_forest_agree_internal (f, part->comm, &e, err);
  if (f == NULL) { return NULL; }
  scda_dataset_init (&d);
  f = scda_forest_find_internal (f, group, step, "fields/", name, "", &found, &d, err);
  if (f != NULL && (!found || d.ndims == 0 || d.shape[0] != all)) {
    scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "the counts of the field %.58s of %.58s have the sum %llu, which is not the number of its values",
                                name, scda_forest_group_internal (group), (unsigned long long) all);
    f = scda_forest_fail_internal (f, &e, err);
  }
  return f;
}

/* Reads as many values as each element of this rank has. */
static inline scda_fcontext_t *scda_forest_read_ragged_internal (scda_fcontext_t *f, const char *group, int64_t step, const scda_forest_part_internal_t *part,
                                                                 const char *name, int type, uint64_t components, const int64_t *counts,
                                                                 void *data, int *err) {
  scda_forest_error_internal_t e;
  scda_dataset_t d;
  uint64_t own, before, all;
  scda_forest_no_error_internal (&e);
  scda_forest_sums_internal (part, counts, &own, &before, &all, &e);
  f = scda_forest_agree_internal (f, part->comm, &e, err);
  if (f != NULL) { f = scda_forest_expect_internal (f, group, step, "fields/", name, "", type, 0, all, components, &d, err); }
  if (f != NULL) { f = scda_forest_compare_internal (f, part, &d, err); }
  if (f != NULL) { f = scda_forest_rows_internal (f, &d, before, own, data, err); }
  return f;
}

/* ---- Internal: the group ---- */

/* Writes the attributes of a group, and notes that they are in the file. */
static inline scda_fcontext_t *scda_forest_put_group_internal (scda_fcontext_t *f, const char *group, const char *attributes, int *err) {
  f = scda_fwrite_group (f, group, attributes, err);
  if (f != NULL) {
    scda_forest_state_internal_t *state = scda_forest_state_internal (f, group);
    if (state != NULL) { state->note->has_group = 1; }
  }
  return f;
}

/* Writes the attributes of a forest of a version of the convention: 1 for squares and cubes, 2 for any shapes. */
static inline scda_fcontext_t *scda_forest_write_group_internal (scda_fcontext_t *f, const char *group, int version, int dimension,
                                                                 const char *attributes, int *err) {
  static const char blanks[] = " \t\r\n";
  scda_forest_error_internal_t e;
  const char *rest = attributes == NULL ? "{}" : attributes;
  char *all = NULL;
  scda_forest_no_error_internal (&e);
  rest += strspn (rest, blanks);
  if (*rest != '{' || dimension < (version == 1 ? 2 : 1) || dimension > 3) {
    scda_forest_error_internal (&e, SCDA_ERR_ARG, "a forest has dimension %d to 3, and a JSON object of attributes", version == 1 ? 2 : 1);
    return scda_forest_fail_internal (f, &e, err);
  }
  rest += 1 + strspn (rest + 1, blanks);
  all = (char *) scda_forest_room_internal (strlen (rest) + 64, 1, &e);
  if (all == NULL) { return scda_forest_fail_internal (f, &e, err); }
  sprintf (all, "{\"scda_forest\": %d, \"dimension\": %d%s%s", version, dimension, *rest == '}' ? "" : ", ", rest);
  f = scda_forest_put_group_internal (f, scda_forest_group_internal (group), all, err);
  free (all);
  return f;
}

/* ---- The functions ---- */

/**
 * Writes the text `about this file`: what the format is, where it is described, how compressed data are decoded by hand, and what
 * units, coordinates and the order of quadrants mean. It is for people who have nothing but the file, so it comes first, right after
 * `scda_fopen_write`. `scda_p4est_save` writes it.
 *
 * Collective.
 *
 * @param [in] f     The file, open for writing.
 * @param [out] err  The error code.
 * @return           `f`, or NULL on error.
 * Errors: those of `scda_fwrite_block`.
 */
static inline scda_fcontext_t *scda_forest_write_about (scda_fcontext_t *f, int *err) {
  static const char text[] =
    "ABOUT THIS FILE\n"
    "\n"
    "It holds an adaptive mesh, a forest of quadtrees or octrees, and data on it, in the format scda.\n"
    "The format:  T. Griesbach, C. Burstedde, \"scda: A Minimal, Serial-Equivalent Format for Parallel I/O\".\n"
    "The meaning: libscda, docs/format.md, docs/datasets.md and docs/forest.md. `scda ls` of libscda lists the contents.\n"
    "\n"
    "Sections. A file is a header of 128 bytes and a list of sections. A section begins with a line of 64 bytes: its kind and its\n"
    "name. Lines of 32 bytes with its sizes follow, then its data, then 7 to 38 bytes that fill it up to a multiple of 32 bytes.\n"
    "  I  32 bytes, without sizes and filling   B  a block of E bytes\n"
    "  A  an array of N elements of E bytes     V  N elements, each with a line E of its own\n"
    "\n"
    "Datasets. A block \"scda dataset 00\" describes the array behind it, in JSON: data_type, shape (the last index varies fastest),\n"
    "attributes such as units. Numbers have the lowest byte first; float32 and float64 are those of IEEE 754.\n"
    "\n"
    "The mesh. dimension is 2 or 3. tree_offsets: the quadrants of tree t are those from number tree_offsets[t] to\n"
    "tree_offsets[t + 1] - 1, all counted from 0. level: 0 is the whole tree, each level halves the edge. coordinates: x, y (and z)\n"
    "of the corner of each quadrant next to the origin of its tree; the edge of the tree is 2^30. Quadrants of a tree follow the\n"
    "Morton curve, x fastest. vertices, tree_to_vertex: where the corners of the trees are, in the program's unit of length, x\n"
    "fastest; a point between them is found by linear interpolation in each coordinate. fields/...: data of the quadrants, in the\n"
    "same order. time: begins a time step, to which all belongs up to the next one; the mesh is that of the step before if it has\n"
    "none itself.\n"
    "\n"
    "Compressed data. If \"codecs\" of a dataset names more than bytes, each element of the varray is one chunk of the array, or no\n"
    "bytes if all items are fill_value. blosc: 24 bytes in front, then a Zstandard frame (RFC 8878), if cname is zstd; byte 2 with\n"
    "the bit of value 2: 16 bytes in front, then the items as they are. zlib: a zlib stream (RFC 1950). If shuffle is named: byte b of\n"
    "item i stands at b * k + i, where k is the number of items of the chunk. A section behind one named \"A compressed scda 00\" (or B, V) has been compressed element by\n"
    "element: each is base64 (RFC 4648) in lines of 76 characters and 2 bytes for the line break; decoded, 8 bytes with the size,\n"
    "the highest first, the letter z, and a zlib stream.\n";
  return scda_fwrite_block (f, text, sizeof text - 1, "about this file", NULL, 0, SCDA_ENCODE_NONE, err);
}

/**
 * Writes the attributes by which a group is known as a forest, and others. The functions of scda_p4est.h write them without others if
 * this function was not called before.
 *
 * Collective.
 *
 * @param [in] f           The file, open for writing.
 * @param [in] group       The name of the forest: a group as `scda_fwrite_group` takes it. NULL: `SCDA_FOREST_GROUP`.
 * @param [in] dimension   2 or 3.
 * @param [in] attributes  More attributes, such as a title: a JSON object as a C string in UTF-8, without the keys `scda_forest` and
 *                         `dimension`. NULL: none.
 * @param [out] err        The error code.
 * @return                 `f`, or NULL on error.
 * Errors: `SCDA_ERR_ARG`, and those of `scda_fwrite_group`.
 */
static inline scda_fcontext_t *scda_forest_write_group (scda_fcontext_t *f, const char *group, int dimension,
                                                        const char *attributes, int *err) {
  return scda_forest_write_group_internal (f, group, 1, dimension, attributes, err);
}

/**
 * What some quadrants add to the checksum of their mesh, for programs with a forest of their own. The checksum is the sum over all
 * quadrants, modulo 2^64; `MPI_Allreduce` of MPI_UINT64_T gives it. As 16 hexadecimal digits it is the attribute `SCDA_FOREST_MESH` of
 * the mesh and its fields.
 *
 * Not collective.
 *
 * @param [in] tree_offsets  As in the file: the number of the first quadrant of each tree, and after them that of all.
 * @param [in] first         The number of the first quadrant, of those of all ranks.
 * @param [in] n             How many quadrants there are.
 * @param [in] level         Their levels. May be NULL if there are none.
 * @return                   The sum of what they add.
 */
static inline uint64_t scda_forest_checksum (const int64_t *tree_offsets, uint64_t first, uint64_t n, const uint8_t *level) {
  return scda_forest_sum_internal (tree_offsets, 0, first, n, level);
}

#endif /* SCDA_FOREST_H */
