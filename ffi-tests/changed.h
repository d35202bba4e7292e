/* Files whose datasets are changed, with right checksums: what a reader must find out itself. For C and C++; REQUIRE comes from who includes it. */
#ifndef CHANGED_H
#define CHANGED_H

#include <scda.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A dataset; `columns` are the items of a row, whatever its dimensions. Structs have at most 4 members, numbers. */
typedef struct {
  char name[SCDA_NAME_BYTES], member_names[4][16];
  scda_member_t members[5];
  int type, ndims;
  uint64_t item_bytes, rows, columns, shape[SCDA_MAX_DIMS];
  char *data, attributes[256];
} part_t;

typedef struct {
  char name[SCDA_NAME_BYTES], attributes[256];
} attributes_t;

typedef struct {
  part_t parts[48];
  attributes_t groups[4];
  int count, group_count;
} file_t;

/* The number at a place. */
static inline int64_t get (const part_t *part, uint64_t i) {
  int64_t number = 0;
  if (part->item_bytes == 1) { return part->type == SCDA_TYPE_UINT8 ? ((uint8_t *) part->data)[i] : ((int8_t *) part->data)[i]; }
  if (part->item_bytes == 4) { return ((int32_t *) (void *) part->data)[i]; }
  memcpy (&number, part->data + i * part->item_bytes, 8);
  return number;
}

static inline void put (part_t *part, uint64_t i, int64_t number) {
  if (part->item_bytes == 1) { part->data[i] = (char) number; }
  else if (part->item_bytes == 4) { ((int32_t *) (void *) part->data)[i] = (int32_t) number; }
  else { memcpy (part->data + i * part->item_bytes, &number, 8); }
}

/* Leaves out which mesh it is, so that what is wrong is found without that. */
static inline void forget_mesh (part_t *part) {
  char *mesh = strstr (part->attributes, "\"scda_mesh\":");
  if (mesh != NULL) {
    char *rest = mesh + 30; /* after the value; one comma goes, too */
    if (*rest == ',') { ++rest; }
    else if (mesh[-1] == ',') { --mesh; }
    memmove (mesh, rest, strlen (rest) + 1);
  }
}

/* The members of a struct; the names of a copy are its own. */
static inline const scda_member_t *members_of (const part_t *part, scda_member_t *members) {
  int i;
  memcpy (members, part->members, sizeof part->members);
  for (i = 0; i < 4; ++i) { members[i].name = part->members[i].name == NULL ? NULL : part->member_names[i]; }
  return members;
}

/* All datasets and groups of a file, on each rank. */
static inline file_t datasets_of (const char *path, int forget) {
  file_t all;
  int err, found, i;
  const char *attributes;
  scda_dataset_t d;
  scda_entry_t e;
  scda_fcontext_t *f = scda_fopen_read (MPI_COMM_SELF, path, NULL, NULL, NULL, &err);
  memset (&all, 0, sizeof all);
  scda_entry_init (&e);
  for (;;) {
    REQUIRE (f != NULL);
    f = scda_fnext_entry (f, &e, &err);
    if (err == SCDA_ERR_EOF) { break; }
    if (f != NULL && e.kind == SCDA_ENTRY_DATASET) {
      scda_dataset_init (&d);
      f = scda_ffind_dataset (f, e.name, e.record, &found, &d, &err);
      REQUIRE (f != NULL && found);

      part_t *part = &all.parts[all.count++];
      REQUIRE (all.count <= 48 && strlen (d.attributes) < sizeof part->attributes);
      memcpy (part->name, d.name, sizeof part->name);
      strcpy (part->attributes, d.attributes);
      if (forget) { forget_mesh (part); }
      part->type = d.type;
      part->ndims = d.ndims;
      part->item_bytes = d.item_bytes;
      part->rows = d.ndims > 0 ? d.shape[0] : 1;
      part->columns = 1;
      for (i = 0; d.members != NULL && d.members[i].name != NULL; ++i) {
        REQUIRE (i < 4 && strlen (d.members[i].name) < sizeof part->member_names[i]);
        strcpy (part->member_names[i], d.members[i].name);
        part->members[i] = d.members[i];
      }
      for (i = 0; i < d.ndims; ++i) { part->shape[i] = d.shape[i]; }
      for (i = 1; i < d.ndims; ++i) { part->columns *= d.shape[i]; }
      part->data = (char *) malloc (part->rows * part->columns * part->item_bytes + 1);
      f = scda_fread_dataset (f, &d, part->data, 1, NULL, NULL, &err);
    }
    else if (f != NULL && e.kind == SCDA_ENTRY_GROUP) { /* not the text about the file */
      f = scda_ffind_group (f, e.name, &found, &attributes, &err);
      if (f != NULL && found) {
        attributes_t *group = &all.groups[all.group_count++];
        REQUIRE (all.group_count <= 4 && strlen (attributes) < sizeof group->attributes);
        strcpy (group->name, e.name);
        strcpy (group->attributes, attributes);
      }
    }
  }
  scda_fclose (f, &err);
  return all;
}

static inline void free_datasets (file_t *all) {
  int k;
  for (k = 0; k < all->count; ++k) { free (all->parts[k].data); }
}

/* Writes them, the groups first; `skip` is left out, `rows` of `shorter` instead of all of it, `other` with another type. Returns 0, or the error
 * of what libscda does not write. */
static inline int write_datasets (const char *path, const file_t *all, int skip, int shorter, uint64_t rows, int other) {
  int err, i, a;
  scda_params_t params;
  scda_params_init (&params);
  params.seal = 1;
  scda_fcontext_t *f = scda_fopen_write (MPI_COMM_SELF, path, "damaged", NULL, &params, &err);
  for (i = 0; f != NULL && i < all->group_count; ++i) { f = scda_fwrite_group (f, all->groups[i].name, all->groups[i].attributes, &err); }
  for (i = 0; f != NULL && i < all->count; ++i) {
    const part_t *part = &all->parts[i];
    scda_member_t members[5];
    scda_dataset_t d;
    if (i == skip) { continue; }
    scda_dataset_init (&d);
    if (part->type == SCDA_TYPE_STRUCT) { d.members = members_of (part, members); }
    memcpy (d.name, part->name, sizeof d.name);
    d.type = i == other ? SCDA_TYPE_RAW : part->type;
    d.ndims = part->ndims;
    d.item_bytes = part->item_bytes;
    for (a = 0; a < d.ndims; ++a) { d.shape[a] = a > 0 ? part->shape[a] : i == shorter ? rows : part->rows; }
    d.attributes = part->attributes;
    if (i == shorter && rows > part->rows) { /* the rest has the fill value, and takes no room in the file */
      uint64_t start[SCDA_MAX_DIMS] = { 0 }, count[SCDA_MAX_DIMS];
      memcpy (count, d.shape, sizeof count);
      count[0] = part->rows;
      d.encode = SCDA_ENCODE_ALWAYS;
      f = scda_fwrite_dataset (f, &d, part->data, 1, start, count, &err);
    }
    else { f = scda_fwrite_dataset (f, &d, part->data, 1, NULL, NULL, &err); }
  }
  return f == NULL ? err : scda_fclose (f, &err);
}

/* ---- At random ---- */

/* splitmix64 */
static inline uint64_t draw (uint64_t *state, uint64_t n) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (z ^ (z >> 31)) % n;
}

/* Another number at some place of a dataset. */
static inline void change_number (part_t *part, uint64_t *state) {
  static const int64_t odd[] = { 0, 1, -1, 2, 3, 4, 8, 127, -128, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MAX / 2, (int64_t) 1 << 60, 0x7ff8000000000000 };
  const uint64_t n = part->rows * part->columns, i = n == 0 ? 0 : draw (state, n);
  int64_t was;
  if (n == 0 || (part->item_bytes != 1 && part->item_bytes != 4 && part->item_bytes != 8)) { return; }
  was = get (part, i);
  switch (draw (state, 5)) {
  case 0: put (part, i, odd[draw (state, sizeof odd / sizeof *odd)]); break;
  case 1: put (part, i, was ^ (int64_t) ((uint64_t) 1 << draw (state, 8 * part->item_bytes))); break;
  case 2: put (part, i, (int64_t) ((uint64_t) was + 1)); break;
  case 3: put (part, i, (int64_t) ((uint64_t) was - 1)); break;
  default: put (part, i, get (part, draw (state, n))); break;
  }
}

/* Another character in a text. */
static inline void change_text (char *text, uint64_t *state) {
  static const char odd[] = "0123456789-{}\":, x";
  const size_t n = strlen (text);
  if (n > 0) { text[draw (state, n)] = odd[draw (state, sizeof odd - 1)]; }
}

/* Writes the file with one to three random changes, of numbers, shapes, types, attributes, order. Returns as write_datasets. */
static inline int write_changed (const char *path, const file_t *good, uint64_t seed) {
  static const int types[] = { SCDA_TYPE_INT8, SCDA_TYPE_UINT8, SCDA_TYPE_INT32, SCDA_TYPE_INT64, SCDA_TYPE_UINT64, SCDA_TYPE_FLOAT64 };
  static const int sizes[] = { 1, 1, 4, 8, 8, 8 };
  uint64_t state = seed, times = 1 + draw (&state, 3);
  file_t all = *good;
  int k, err, skip = -1, shorter = -1;
  uint64_t rows = 0;
  for (k = 0; k < all.count; ++k) { /* copies */
    part_t *part = &all.parts[k];
    const size_t bytes = part->rows * part->columns * part->item_bytes;
    part->data = (char *) malloc (8 * bytes + 8);
    memcpy (part->data, good->parts[k].data, bytes);
    memset (part->data + bytes, 0, 7 * bytes + 8);
    if (seed % 8 != 0) { forget_mesh (part); }
  }
  while (times-- > 0) {
    const int i = (int) draw (&state, (uint64_t) all.count), other = (int) draw (&state, (uint64_t) all.count);
    part_t *part = &all.parts[i], was;
    switch (draw (&state, 12)) {
    case 0: skip = i; break;
    case 1: shorter = i, rows = draw (&state, part->rows + 2); break;
    case 2: shorter = i, rows = (uint64_t) 1 << (8 + draw (&state, 30)); break;
    case 3: /* another type of as many items */
      k = (int) draw (&state, sizeof types / sizeof *types);
      if (part->type != SCDA_TYPE_STRUCT && (uint64_t) sizes[k] <= 8 * part->item_bytes) { part->type = types[k], part->item_bytes = (uint64_t) sizes[k]; }
      break;
    case 4: was = *part, *part = all.parts[other], all.parts[other] = was; break;
    case 5: memcpy (part->name, all.parts[other].name, sizeof part->name); break;
    case 6: change_text (part->attributes, &state); break;
    case 7: if (all.group_count > 0) { change_text (all.groups[draw (&state, (uint64_t) all.group_count)].attributes, &state); } break;
    case 8: /* rows for columns */
      if (part->ndims == 2) { part->shape[1] = part->rows, part->rows = part->columns, part->columns = part->shape[1]; }
      break;
    default: change_number (part, &state); break;
    }
  }
  err = write_datasets (path, &all, skip, shorter, rows, -1);
  free_datasets (&all);
  return err;
}

#endif /* CHANGED_H */
