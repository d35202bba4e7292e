/* A stranger's program in C and C++: it knows the installed header and library only. */
#include <scda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRING(x) STRING_OF (x)
#define STRING_OF(x) #x
#define VERSION STRING (SCDA_VERSION_MAJOR) "." STRING (SCDA_VERSION_MINOR) "." STRING (SCDA_VERSION_PATCH)

enum { count = 1000 };

static void check (int good, const char *what) {
  if (!good) {
    fprintf (stderr, "consumer: %s: %s\n", what, scda_last_error_message ());
#ifndef SCDA_SERIAL
    MPI_Abort (MPI_COMM_WORLD, 1);
#endif
    exit (EXIT_FAILURE);
  }
}

int main (int argc, char **argv) {
  MPI_Comm comm = SCDA_COMM_SELF;
  int rank = 0, size = 1, err = -1, decode = 1, encoder;
#ifndef SCDA_SERIAL
  MPI_Init (&argc, &argv);
  comm = MPI_COMM_WORLD;
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
#endif
  check (argc == 3, "usage: consumer RANKS FILE");
  check (size == atoi (argv[1]), "another number of ranks: not the mpiexec of this MPI");
  check (strcmp (scda_version (), VERSION) == 0, "scda_version is not that of the header");

  uint64_t *Nq = (uint64_t *) malloc ((size_t) size * sizeof (uint64_t)), N, E;
  double mine[count], found[count];
  char type, name[SCDA_USER_STRING_BYTES + 1];
  scda_params_t params;
  check (Nq != NULL && scda_params_init (&params) == 0, "parameters");
  for (int p = 0; p < size; ++p) { Nq[p] = count; }
  for (int i = 0; i < count; ++i) { mine[i] = 0.5 * (i + rank * count); }

  for (encoder = SCDA_ENCODER_FAST; encoder <= SCDA_ENCODER_ZLIB; ++encoder) {
    params.encoder = encoder;
    scda_fcontext_t *f = scda_fopen_write (comm, argv[2], "consumer", NULL, &params, &err);
    check (f != NULL, "open for writing");
    f = scda_fwrite_array (f, mine, Nq, sizeof (double), 0, "mine", NULL, SCDA_ENCODE_ALWAYS, &err);
    check (f != NULL, "write");
    check (scda_fclose (f, &err) == 0, "close");

    f = scda_fopen_read (comm, argv[2], name, NULL, NULL, &err);
    check (f != NULL && strcmp (name, "consumer") == 0, "open for reading");
    f = scda_fread_section_header (f, &type, &N, &E, NULL, NULL, &decode, &err);
    check (f != NULL && type == 'A' && N == (uint64_t) size * count && E == sizeof (double) && decode, "header");
    f = scda_fread_array_data (f, found, Nq, E, 0, &err);
    check (f != NULL && memcmp (found, mine, sizeof mine) == 0, "read");
    scda_info_t info;
    info.size = sizeof info;
    check (scda_get_info (f, &info) == 0 && info.at_end && scda_fclose (f, &err) == 0, "close after reading");
  }
  check (scda_fopen_read (comm, "no/such/file", NULL, NULL, NULL, &err) == NULL && err == SCDA_ERR_NO_SUCH_FILE, "missing file");

  if (rank == 0) { printf ("%s on %d\n", scda_version (), size); }
  free (Nq);
#ifndef SCDA_SERIAL
  MPI_Finalize ();
#endif
  return EXIT_SUCCESS;
}
