/* Variants of the tests that write in groups of ranks: see datasets.c and seal.c. */
#ifndef VARIANTS_H
#define VARIANTS_H

#include "sections.h"

/* Ways to write files of the same content: those of one name have the same bytes. */
typedef struct {
  const char *name;
  int linebreak, encoder, driver;
  long aggregation; /* bytes; -1: as it comes */
  int atomic, check, threads, seal;
} variant_t;

static const variant_t variants[] = {
  {"unix-fast", SCDA_LINEBREAK_UNIX, SCDA_ENCODER_FAST, SCDA_DRIVER_AUTO, -1, 0, 0, 1, 0},
  {"mime-zlib", SCDA_LINEBREAK_MIME, SCDA_ENCODER_ZLIB, SCDA_DRIVER_POSIX, 0, 1, 1, 2, 1},
  {"unix-fast", SCDA_LINEBREAK_UNIX, SCDA_ENCODER_FAST, driver_mpiio, 1000, 1, 1, 1, 0},
  {"mime-zlib", SCDA_LINEBREAK_MIME, SCDA_ENCODER_ZLIB, driver_mpiio, -1, 0, 0, 1, 1},
};

static scda_params_t params_of (const variant_t *v) {
  scda_params_t params = default_params ();
  params.linebreak = v->linebreak, params.encoder = v->encoder, params.driver = v->driver;
  params.atomic = v->atomic, params.check = v->check, params.threads = v->threads, params.seal = v->seal;
  if (v->aggregation >= 0) { params.aggregation_bytes = (uint64_t) v->aggregation; }
  return params;
}

#endif
