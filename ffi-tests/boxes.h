/* Boxes of datasets in memory of any kind: packed, with ghost layers, in Fortran's order, among other items, backwards. */
#ifndef SCDA_TESTS_BOXES_H
#define SCDA_TESTS_BOXES_H

#include "common.h"

enum { boxes_dims = 8 };

/* Boxes, each with what it points to. */
typedef struct {
  scda_box_t *box;
  size_t n;
  int64_t (*stride)[boxes_dims];
  unsigned char **memory; /* of each box */
  uint64_t *bytes;        /* of that memory */
} boxes_t;

/* Boxes whose items follow one another: `start` and `count` have `ndims` numbers for each, or are NULL for one that is all. */
static inline void init_boxes (scda_box_t *box, size_t n, int ndims, const void *data, const uint64_t *start, const uint64_t *count) {
  for (size_t i = 0; i < n; ++i) {
    REQUIRE (scda_box_init (&box[i]) == 0);
    if (i == 0) { box[i].data = (void *) (uintptr_t) data; }
    if (start != NULL) { box[i].start = start + i * (size_t) ndims, box[i].count = count + i * (size_t) ndims; }
  }
}

static inline uint64_t box_items (const scda_box_t *b, int ndims, const uint64_t *shape) {
  uint64_t items = 1;
  for (int k = 0; k < ndims; ++k) { items *= b->count != NULL ? b->count[k] : shape[k]; }
  return items;
}

/* Copies between a box in memory of its own and its items in C order. */
static inline void copy_items (const boxes_t *b, size_t i, int ndims, const uint64_t *shape, uint64_t size, unsigned char *packed, int to_packed) {
  const uint64_t items = box_items (&b->box[i], ndims, shape);
  for (uint64_t at = 0; at < items; ++at) {
    uint64_t rest = at;
    int64_t place = (int64_t) (at * size);
    if (b->box[i].stride != NULL) {
      place = 0;
      for (int k = ndims - 1; k >= 0; --k) {
        const uint64_t number = b->box[i].count != NULL ? b->box[i].count[k] : shape[k];
        place += (int64_t) (rest % number) * b->stride[i][k], rest /= number;
      }
    }
    unsigned char *item = (unsigned char *) b->box[i].data + place;
    if (to_packed) { memcpy (packed + at * size, item, size); }
    else { memcpy (item, packed + at * size, size); }
  }
}

/* Puts boxes whose items follow one another at `data` into memory of their own, each in another way. */
static inline boxes_t scatter_boxes (size_t n, int ndims, const uint64_t *shape, uint64_t size, const unsigned char *data, const uint64_t *start,
                                     const uint64_t *count, uint64_t *rng) {
  boxes_t b;
  uint64_t at = 0;
  b.n = n;
  b.box = (scda_box_t *) get_memory (n * sizeof *b.box);
  b.stride = (int64_t (*)[boxes_dims]) get_memory (n * sizeof *b.stride);
  b.memory = (unsigned char **) get_memory (n * sizeof *b.memory);
  b.bytes = (uint64_t *) get_memory (n * sizeof *b.bytes);
  init_boxes (b.box, n, ndims, NULL, start, count);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t way = below (rng, 4), gap = way == 0 ? 0 : below (rng, 3);
    uint64_t extent = way == 0 ? size : size * (1 + below (rng, 2)), first = 0;
    for (int j = 0; j < ndims; ++j) {
      const int k = way == 2 ? j : ndims - 1 - j; /* the one that varies fastest comes first */
      const uint64_t number = b.box[i].count != NULL ? b.box[i].count[k] : shape[k], indices = number > 0 ? number : 1;
      const int back = way == 3 && below (rng, 2);
      if (back) { first += (indices - 1) * extent; }
      b.stride[i][k] = back ? -(int64_t) extent : (int64_t) extent;
      extent *= indices + gap;
    }
    b.memory[i] = (unsigned char *) get_memory (b.bytes[i] = extent);
    memset (b.memory[i], 0xd6, (size_t) extent);
    b.box[i].data = b.memory[i] + first;
    if (way > 0) { b.box[i].stride = b.stride[i]; }
    copy_items (&b, i, ndims, shape, size, (unsigned char *) (uintptr_t) data + at, 0);
    at += box_items (&b.box[i], ndims, shape) * size;
  }
  return b;
}

/* Brings the items back, one box after the other; what lies between them must be as it was. */
static inline void gather_boxes (boxes_t *b, int ndims, const uint64_t *shape, uint64_t size, unsigned char *data) {
  uint64_t at = 0;
  for (size_t i = 0; i < b->n; ++i) {
    const uint64_t items = box_items (&b->box[i], ndims, shape);
    copy_items (b, i, ndims, shape, size, data + at, 1);
    at += items * size;
    unsigned char *blank = (unsigned char *) get_memory (items * size);
    memset (blank, 0xd6, (size_t) (items * size));
    copy_items (b, i, ndims, shape, size, blank, 0);
    for (uint64_t k = 0; k < b->bytes[i]; ++k) { REQUIRE (b->memory[i][k] == 0xd6); }
    free (blank);
  }
}

static inline void free_boxes (boxes_t *b) {
  for (size_t i = 0; i < b->n; ++i) { free (b->memory[i]); }
  free (b->box), free (b->stride), free (b->memory), free (b->bytes);
}

#endif
