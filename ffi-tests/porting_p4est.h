/* What p4est_io.h has from p4est 2.8 on, as far as docs/porting.md uses it. */
#include <p4est.h>

typedef struct p4est_file_context p4est_file_context_t;
p4est_file_context_t *p4est_file_open_create (p4est_t *, const char *, const char *, int *);
p4est_file_context_t *p4est_file_write_block (p4est_file_context_t *, size_t, sc_array_t *, const char *, int *);
p4est_file_context_t *p4est_file_write_field (p4est_file_context_t *, size_t, sc_array_t *, const char *, int *);
int p4est_file_close (p4est_file_context_t *, int *);
