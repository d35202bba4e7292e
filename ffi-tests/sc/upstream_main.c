/* upstream_main.c: the function of upstream.c as a program of libsc calls it: upstream FILE. Varrays, plain and compressed, of data after
 * one another and of elements with arrays of their own, are written by it, and read by scda.h. */
#include "../common.h"
#include "upstream.h"

enum { most = 40, bytes = 100 };

static int rank, size;

/* Element i of all has 3 i + 1 bytes, which repeat. */
static uint64_t size_of (uint64_t i) { return 3 * i % bytes + 1; }

static char letter (uint64_t i, uint64_t at) { return (char) ('a' + (i + at / 10) % 26); }

static sc_array_t view (void *data, size_t elem_size, size_t count) {
  const sc_array_t array = { elem_size, count, -(ssize_t) (elem_size * count) - 1, (char *) data };
  return array;
}

int main (int argc, char **argv) {
  static char data[most * bytes], found[most * bytes];
  sc_array_t elements[most], arrays[2], counts, sizes, sums;
  sc_scda_ulong Nq[64], Sq[64], Ei[most], first = 0, i, at, used = 0;
  sc_scda_ferror_t errcode;
  sc_scda_fcontext_t *fc = (sc_scda_fcontext_t *) malloc (sizeof *fc);
  int err, q;
  start (&argc, &argv);
  REQUIRE (argc == 2 && fc != NULL);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  REQUIRE (size <= 64);
  for (q = 0; q < size; ++q) { /* distributed unevenly */
    const uint64_t all = (uint64_t) (size * size), end = (uint64_t) ((q + 1) * (q + 1));
    Nq[q] = most * end / all - most * (uint64_t) (q * q) / all;
    if (q < rank) { first += Nq[q]; }
  }
  for (i = 0; i < Nq[rank]; ++i) {
    Ei[i] = size_of (first + i);
    elements[i] = view (data + used, 1, Ei[i]);
    for (at = 0; at < Ei[i]; ++at) { data[used++] = letter (first + i, at); }
  }
  arrays[0] = view (data, 1, used);
  arrays[1] = view (elements, sizeof *elements, Nq[rank]);
  counts = view (Nq, sizeof *Nq, (size_t) size);
  sizes = view (Ei, sizeof *Ei, Nq[rank]);
  MPI_Allgather (&used, 1, MPI_UINT64_T, Sq, 1, MPI_UINT64_T, MPI_COMM_WORLD);
  sums = view (Sq, sizeof *Sq, (size_t) size);

  fc->f = scda_fopen_write (MPI_COMM_WORLD, argv[1], "upstream", NULL, NULL, &err);
  for (q = 0; q < 4; ++q) {
    fc = sc_scda_fwrite_varray (fc, q < 2 ? "plain" : "compressed", NULL, &arrays[q % 2], &counts, &sizes, q % 2 ? NULL : &sums, q % 2, q / 2, &errcode);
    REQUIRE (fc != NULL && errcode.scdaret == SC_SCDA_FERR_SUCCESS && errcode.mpiret == MPI_SUCCESS);
  }
  REQUIRE (scda_fclose (fc->f, &err) == 0);
  {
    scda_fcontext_t *f = scda_fopen_read (MPI_COMM_WORLD, argv[1], NULL, NULL, NULL, &err);
    for (q = 0; q < 4; ++q) {
      uint64_t N, E, sizes_found[most];
      char type;
      int decode = 1;
      f = scda_fread_section_header (f, &type, &N, &E, NULL, NULL, &decode, &err);
      REQUIRE (f != NULL && type == 'V' && N == most && decode == (q >= 2));
      f = scda_fread_varray_sizes (f, sizes_found, Nq, &err);
      f = scda_fread_varray_data (f, found, Nq, sizes_found, NULL, 0, &err);
      CHECK (f != NULL && memcmp (sizes_found, Ei, Nq[rank] * sizeof *Ei) == 0 && memcmp (found, data, used) == 0);
    }
    REQUIRE (scda_fclose (f, &err) == 0);
  }
  /* An error of libscda is one of libsc: the context is gone. */
  fc->f = scda_fopen_write (MPI_COMM_WORLD, "/no/such/folder", "upstream", NULL, NULL, &err);
  REQUIRE (upstream_result (fc, err, &errcode) == NULL && errcode.scdaret == SC_SCDA_FERR_MPI && errcode.mpiret != MPI_SUCCESS);
  return finish ();
}
