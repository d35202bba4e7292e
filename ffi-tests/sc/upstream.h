/* What upstream.c sees of libsc and of libscda. */
#ifndef UPSTREAM_H
#define UPSTREAM_H

#include "interface.h"

#include <scda.h>

/* What libsc would have in place of its own. */
struct sc_scda_fcontext {
  scda_fcontext_t *f;
};

sc_scda_fcontext_t *upstream_result (sc_scda_fcontext_t *fc, int err, sc_scda_ferror_t *errcode);

#endif
