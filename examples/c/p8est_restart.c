/* p8est_restart.c: p4est_restart.c in 3D. */
#include <p4est_to_p8est.h>

#include "p4est_restart.c"
