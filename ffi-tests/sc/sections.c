/* ../sections.c with every function of scda.h replaced by those of libsc's interface: what it writes, reads and compares
 * goes through libscda_sc.so. */
#include "sections.h"

static int code_of (sc_scda_ferror_t e) {
  REQUIRE (sc_scda_ferror_is_success (e) == (e.scdaret == 0));
  return (int) e.scdaret;
}
static int ranks; /* of the file that is open */
static sc_array_t per_rank (const uint64_t *numbers) { return view (numbers, sizeof *numbers, (size_t) ranks); }
static int my_rank;

/* Elements at pointers, as an array of arrays; to be freed. NULL if there is no data. */
static sc_array_t *arrays_of (const void *data, uint64_t count, const uint64_t *Ei, uint64_t E) {
  if (data == NULL) { return NULL; }
  sc_array_t *all = (sc_array_t *) get_memory ((count + 1) * sizeof *all);
  void *const *pointers = (void *const *) data;
  for (uint64_t i = 0; i < count; ++i) {
    const size_t size = (size_t) (Ei == NULL ? E : Ei[i]);
    all[i + 1] = size == 0 ? view (pointers[i], 1, 0) : view (pointers[i], size, 1);
  }
  all[0] = view (all + 1, sizeof *all, (size_t) count);
  return all;
}
/* Elements in one piece: those of an array, or one of all bytes of a varray. */
static sc_array_t *piece_of (const void *data, uint64_t count, const uint64_t *Ei, uint64_t E) {
  if (data == NULL) { return NULL; }
  sc_array_t *one = (sc_array_t *) get_memory (sizeof *one);
  uint64_t bytes = 0;
  for (uint64_t i = 0; Ei != NULL && i < count; ++i) { bytes += Ei[i]; }
  *one = Ei == NULL ? view (data, (size_t) E, (size_t) count) : view (data, (size_t) bytes, 1);
  return one;
}
static sc_array_t *data_of (const void *data, const uint64_t *Nq, const uint64_t *Ei, uint64_t E, int indirect) {
  return (indirect ? arrays_of : piece_of) (data, Nq[my_rank], Ei, E);
}

/* ---- the functions of scda.h ---- */

static scda_fcontext_t *via_fopen_write (group_t g, const char *filename, const char *userstr, const size_t *len,
                                         const scda_params_t *params, int *err) {
  sc_scda_ferror_t e;
  REQUIRE (params->seal == 0);
  ranks = g.size, my_rank = g.rank;
  sc_scda_fcontext_t *f = sc_scda_fopen_write (comm_of (g), filename, userstr, (size_t *) len, NULL, &e);
  *err = code_of (e);
  return (scda_fcontext_t *) f;
}
static scda_fcontext_t *via_fopen_read (group_t g, const char *filename, char *userstr, size_t *len,
                                        const scda_params_t *none, int *err) {
  sc_scda_ferror_t e;
  sc_scda_params_t params;
  REQUIRE (none == NULL);
  sc_scda_params_init (&params);
  ranks = g.size, my_rank = g.rank;
  sc_scda_fcontext_t *f = sc_scda_fopen_read (comm_of (g), filename, userstr, len, &params, &e);
  *err = code_of (e);
  return (scda_fcontext_t *) f;
}
#define FINISH(call) \
  sc_scda_ferror_t e; \
  sc_scda_fcontext_t *f = (sc_scda_fcontext_t *) context; \
  f = (call); \
  *err = code_of (e); \
  return (scda_fcontext_t *) f

/* libsc has no such function: its users call MPI. */
static scda_fcontext_t *via_proc_counts (group_t g, scda_fcontext_t *context, uint64_t mine, uint64_t *Nq, int *err) {
#ifdef SCDA_SERIAL
  (void) g;
  *Nq = mine;
#else
  MPI_Allgather (&mine, 1, MPI_UINT64_T, Nq, 1, MPI_UINT64_T, g.comm);
#endif
  *err = 0;
  return context;
}

static scda_fcontext_t *via_fwrite_inline (scda_fcontext_t *context, const void *dbytes, const char *userstr,
                                           const size_t *len, int root, int *err) {
  sc_array_t data = view (dbytes, 32, 1);
  FINISH (sc_scda_fwrite_inline (f, userstr, (size_t *) len, my_rank == root ? &data : NULL, root, &e));
}
static scda_fcontext_t *via_fwrite_block (scda_fcontext_t *context, const void *dbytes, uint64_t E, const char *userstr,
                                          const size_t *len, int root, int encode, int *err) {
  sc_array_t data = view (dbytes, (size_t) E, 1);
  FINISH (sc_scda_fwrite_block (f, userstr, (size_t *) len, my_rank == root ? &data : NULL, (size_t) E, root, encode, &e));
}
static scda_fcontext_t *via_fwrite_array (scda_fcontext_t *context, const void *dbytes, const uint64_t *Nq, uint64_t E,
                                          int indirect, const char *userstr, const size_t *len, int encode, int *err) {
  sc_array_t counts = per_rank (Nq), *data = data_of (dbytes, Nq, NULL, E, indirect);
  sc_scda_ferror_t e;
  sc_scda_fcontext_t *f = sc_scda_fwrite_array ((sc_scda_fcontext_t *) context, userstr, (size_t *) len, data, &counts,
                                                (size_t) E, indirect, encode, &e);
  free (data);
  *err = code_of (e);
  return (scda_fcontext_t *) f;
}
static scda_fcontext_t *via_proc_sizes (scda_fcontext_t *context, const uint64_t *Ei, const uint64_t *Nq, uint64_t *Sq,
                                        int *err) {
  sc_array_t sizes = view (Ei, sizeof *Ei, (size_t) Nq[my_rank]), counts = per_rank (Nq), sums = per_rank (Sq);
  sc_scda_ferror_t e;
  sums.elem_count = 0; /* there is room */
  REQUIRE ((sc_scda_proc_sizes (&sizes, &counts, &sums, &e) == 0) == (code_of (e) == 0));
  REQUIRE (sums.elem_count == (size_t) ranks && sums.array == (char *) Sq);
  *err = code_of (e);
  return context;
}
static scda_fcontext_t *via_fwrite_varray (scda_fcontext_t *context, const void *dbytes, const uint64_t *Nq,
                                           const uint64_t *Ei, const uint64_t *Sq, int indirect, const char *userstr,
                                           const size_t *len, int encode, int *err) {
  uint64_t *own_Sq = (uint64_t *) get_memory ((uint64_t) ranks * sizeof *own_Sq);
  if (Sq == NULL) { via_proc_sizes (context, Ei, Nq, own_Sq, err); }
  sc_array_t counts = per_rank (Nq), sums = per_rank (Sq == NULL ? own_Sq : Sq);
  sc_array_t sizes = view (Ei, sizeof *Ei, (size_t) Nq[my_rank]), *data = data_of (dbytes, Nq, Ei, 0, indirect);
  sc_scda_ferror_t e;
  sc_scda_fcontext_t *f = sc_scda_fwrite_varray ((sc_scda_fcontext_t *) context, userstr, (size_t *) len, data, &counts,
                                                 &sizes, &sums, indirect, encode, &e);
  free (data);
  free (own_Sq);
  *err = code_of (e);
  return (scda_fcontext_t *) f;
}
static scda_fcontext_t *via_fread_section_header (scda_fcontext_t *context, char *type, uint64_t *N, uint64_t *E,
                                                  char *userstr, size_t *len, int *decode, int *err) {
  size_t count = 77, size = 77;
  sc_scda_ferror_t e;
  sc_scda_fcontext_t *f = sc_scda_fread_section_header ((sc_scda_fcontext_t *) context, userstr, len, type, &count, &size,
                                                        decode, &e);
  *N = count, *E = size;
  *err = code_of (e);
  return (scda_fcontext_t *) f;
}
static scda_fcontext_t *via_fread_inline_data (scda_fcontext_t *context, void *dbytes, int root, int *err) {
  sc_array_t data = view (dbytes, 32, 1);
  FINISH (sc_scda_fread_inline_data (f, dbytes == NULL ? NULL : &data, root, &e));
}
static scda_fcontext_t *via_fread_block_data (scda_fcontext_t *context, void *dbytes, uint64_t E, int root, int *err) {
  sc_array_t data = view (dbytes, (size_t) E, 1);
  FINISH (sc_scda_fread_block_data (f, dbytes == NULL ? NULL : &data, (size_t) E, root, &e));
}
static scda_fcontext_t *via_fread_array_data (scda_fcontext_t *context, void *dbytes, const uint64_t *Nq, uint64_t E,
                                              int indirect, int *err) {
  sc_array_t counts = per_rank (Nq), *data = data_of (dbytes, Nq, NULL, E, indirect);
  sc_scda_ferror_t e;
  sc_scda_fcontext_t *f = sc_scda_fread_array_data ((sc_scda_fcontext_t *) context, data, &counts, (size_t) E, indirect, &e);
  free (data);
  *err = code_of (e);
  return (scda_fcontext_t *) f;
}
static scda_fcontext_t *via_fread_varray_sizes (scda_fcontext_t *context, uint64_t *Ei, const uint64_t *Nq, int *err) {
  sc_array_t counts = per_rank (Nq), sizes = view (Ei, sizeof *Ei, (size_t) Nq[my_rank]);
  FINISH (sc_scda_fread_varray_sizes (f, Ei == NULL ? NULL : &sizes, &counts, &e));
}
static scda_fcontext_t *via_fread_varray_data (scda_fcontext_t *context, void *dbytes, const uint64_t *Nq,
                                               const uint64_t *Ei, const uint64_t *Sq, int indirect, int *err) {
  sc_array_t counts = per_rank (Nq), sums = per_rank (Sq), sizes = view (Ei, sizeof *Ei, (size_t) Nq[my_rank]);
  sc_array_t *data = data_of (dbytes, Nq, Ei, 0, indirect);
  sc_scda_ferror_t e;
  sc_scda_fcontext_t *f = sc_scda_fread_varray_data ((sc_scda_fcontext_t *) context, data, &counts,
                                                     Ei == NULL ? NULL : &sizes, &sums, indirect, &e);
  free (data);
  *err = code_of (e);
  return (scda_fcontext_t *) f;
}
static int via_fclose (scda_fcontext_t *context, int *err) {
  sc_scda_ferror_t e;
  const int status = sc_scda_fclose ((sc_scda_fcontext_t *) context, &e);
  *err = code_of (e);
  return status;
}

/* libsc has no other way to learn that no section follows: an error, which closes the file. */
static void end_reading (scda_fcontext_t *f, uint64_t seed) {
  char type, user[SCDA_USER_STRING_BYTES + 1];
  size_t len;
  uint64_t N, E;
  int err = -1, decode = 0;
  if (seed % 2) {
    REQUIRE (via_fclose (f, &err) == 0 && err == 0);
    return;
  }
  f = via_fread_section_header (f, &type, &N, &E, user, &len, &decode, &err);
  REQUIRE (f == NULL && err == SC_SCDA_FERR_COUNT);
}

#define VIA_LIBSC
#define scda_fopen_write(comm, filename, userstr, len, params, err) via_fopen_write (g, filename, userstr, len, params, err)
#define scda_fopen_read(comm, filename, userstr, len, params, err) via_fopen_read (g, filename, userstr, len, params, err)
#define scda_fwrite_inline via_fwrite_inline
#define scda_fwrite_block via_fwrite_block
#define scda_fwrite_array via_fwrite_array
#define scda_fwrite_varray via_fwrite_varray
#define scda_proc_counts(f, mine, Nq, err) via_proc_counts (g, f, mine, Nq, err)
#define scda_proc_sizes via_proc_sizes
#define scda_fread_section_header via_fread_section_header
#define scda_fread_inline_data via_fread_inline_data
#define scda_fread_block_data via_fread_block_data
#define scda_fread_array_data via_fread_array_data
#define scda_fread_varray_sizes via_fread_varray_sizes
#define scda_fread_varray_data via_fread_varray_data
#define scda_fclose via_fclose
#define scda_fflush(f, err) (f)
#define content_write via_content_write
#define content_write_some via_content_write_some
#define content_read via_content_read
#define content_random via_content_random
#define content_load via_content_load
#define content_save via_content_save
#define content_free via_content_free
#define files_equal via_files_equal
#include "../sections.c"

void sc_content_write (group_t g, const char *filename, const content_t *c, uint64_t seed) {
  content_write (g, filename, c, seed, NULL);
}
void sc_content_read (group_t g, const char *filename, const content_t *c, uint64_t seed) {
  content_read (g, filename, c, seed, NULL);
}
