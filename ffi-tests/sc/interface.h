/* The scda interface of libsc 2.8.7, as its documentation gives it: types, numbers, functions.
 *
 * The tests need no libsc for it. With WITH_LIBSC, sc_array_t and the types of MPI are those of an installed libsc. */
#ifndef INTERFACE_H
#define INTERFACE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef WITH_LIBSC
#include <sc_containers.h>
#ifndef sc_MPI_Info /* older ones have no need of it */
#define sc_MPI_Info MPI_Info
#endif
#else
#ifdef SCDA_SERIAL /* a libsc without MPI has types and numbers of its own */
typedef int sc_MPI_Comm, sc_MPI_Info;
#define sc_MPI_COMM_WORLD ((sc_MPI_Comm) 0x44000000)
#else
#include <mpi.h>
typedef MPI_Comm sc_MPI_Comm;
typedef MPI_Info sc_MPI_Info;
#define sc_MPI_COMM_WORLD MPI_COMM_WORLD
#endif

typedef struct sc_array {
  size_t elem_size, elem_count;
  ssize_t byte_alloc; /* of a view: -(bytes + 1) */
  char *array;
} sc_array_t;
#endif

typedef struct sc_scda_fcontext sc_scda_fcontext_t;
typedef uint64_t sc_scda_ulong;

typedef enum sc_scda_ret {
  SC_SCDA_FERR_SUCCESS = 0,
  SC_SCDA_FERR_FORMAT = 15000,
  SC_SCDA_FERR_USAGE,
  SC_SCDA_FERR_DECODE,
  SC_SCDA_FERR_ARG,
  SC_SCDA_FERR_COUNT,
  SC_SCDA_FERR_MPI,
  SC_SCDA_FERR_LASTCODE
} sc_scda_ret_t;

typedef struct sc_scda_ferror {
  int mpiret;
  sc_scda_ret_t scdaret;
} sc_scda_ferror_t;

typedef struct sc_scda_params {
  sc_MPI_Info info;
  unsigned fuzzy_everyn;
  uint64_t fuzzy_seed;
  int log_level;
} sc_scda_params_t;

void sc_scda_params_init (sc_scda_params_t *params);
sc_scda_fcontext_t *sc_scda_fopen_write (sc_MPI_Comm comm, const char *filename, const char *user_string, size_t *len,
                                         sc_scda_params_t *params, sc_scda_ferror_t *errcode);
sc_scda_fcontext_t *sc_scda_fopen_read (sc_MPI_Comm comm, const char *filename, char *user_string, size_t *len,
                                        sc_scda_params_t *params, sc_scda_ferror_t *errcode);
sc_scda_fcontext_t *sc_scda_fwrite_inline (sc_scda_fcontext_t *fc, const char *user_string, size_t *len,
                                           sc_array_t *inline_data, int root, sc_scda_ferror_t *errcode);
sc_scda_fcontext_t *sc_scda_fwrite_block (sc_scda_fcontext_t *fc, const char *user_string, size_t *len,
                                          sc_array_t *block_data, size_t block_size, int root, int encode,
                                          sc_scda_ferror_t *errcode);
sc_scda_fcontext_t *sc_scda_fwrite_array (sc_scda_fcontext_t *fc, const char *user_string, size_t *len,
                                          sc_array_t *array_data, sc_array_t *elem_counts, size_t elem_size,
                                          int indirect, int encode, sc_scda_ferror_t *errcode);
sc_scda_fcontext_t *sc_scda_fwrite_varray (sc_scda_fcontext_t *fc, const char *user_string, size_t *len,
                                           sc_array_t *array_data, sc_array_t *elem_counts, sc_array_t *elem_sizes,
                                           sc_array_t *proc_sizes, int indirect, int encode,
                                           sc_scda_ferror_t *errcode);
int sc_scda_proc_sizes (sc_array_t *elem_sizes, sc_array_t *elem_counts, sc_array_t *proc_sizes,
                        sc_scda_ferror_t *errcode);
sc_scda_fcontext_t *sc_scda_fread_section_header (sc_scda_fcontext_t *fc, char *user_string, size_t *len, char *type,
                                                  size_t *elem_count, size_t *elem_size, int *decode,
                                                  sc_scda_ferror_t *errcode);
sc_scda_fcontext_t *sc_scda_fread_inline_data (sc_scda_fcontext_t *fc, sc_array_t *data, int root,
                                               sc_scda_ferror_t *errcode);
sc_scda_fcontext_t *sc_scda_fread_block_data (sc_scda_fcontext_t *fc, sc_array_t *block_data, size_t block_size,
                                              int root, sc_scda_ferror_t *errcode);
sc_scda_fcontext_t *sc_scda_fread_array_data (sc_scda_fcontext_t *fc, sc_array_t *array_data, sc_array_t *elem_counts,
                                              size_t elem_size, int indirect, sc_scda_ferror_t *errcode);
sc_scda_fcontext_t *sc_scda_fread_varray_sizes (sc_scda_fcontext_t *fc, sc_array_t *elem_sizes,
                                                sc_array_t *elem_counts, sc_scda_ferror_t *errcode);
sc_scda_fcontext_t *sc_scda_fread_varray_data (sc_scda_fcontext_t *fc, sc_array_t *array_data, sc_array_t *elem_counts,
                                               sc_array_t *elem_sizes, sc_array_t *proc_sizes, int indirect,
                                               sc_scda_ferror_t *errcode);
int sc_scda_ferror_class (sc_scda_ferror_t errcode, sc_scda_ferror_t *errclass);
int sc_scda_ferror_is_success (sc_scda_ferror_t errcode);
int sc_scda_ferror_string (sc_scda_ferror_t errcode, char *str, int *len);
int sc_scda_fclose (sc_scda_fcontext_t *fc, sc_scda_ferror_t *errcode);

#endif
