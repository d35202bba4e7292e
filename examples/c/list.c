/* list.c: print one line for each section of a file.
 *
 * Compile:  mpicc list.c -o list $(pkg-config --cflags --libs scda)
 *           (with a serial build of the library: cc instead of mpicc)
 * Run:      ./list hello.scda
 *
 * Expected output for the file of hello.c. Only headers are read, data are skipped: large files are no trouble.
 *
 *   file "hello.c: planets"
 *   section type                    N                    E compressed user string
 *         1 I                       -                    - no         "greeting"
 *         2 B                       -                   60 yes        "echo"
 *         3 A                       3                   32 no         "semi-major axis, period"
 *         4 V                       3                    - no         "moons"
 */
#include <scda.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void finish (int status) {
#ifndef SCDA_SERIAL /* scda.h defines it if the library was built without MPI */
  MPI_Finalize ();
#endif
  exit (status);
}

static void check (int err, const char *what) {
  char why[128];
  int length = (int) sizeof why;
  if (err != SCDA_SUCCESS) {
    scda_ferror_string (err, why, &length);
    fflush (stdout);
    fprintf (stderr, "list: %s: %s\n  %s\n", what, why, scda_last_error_message ());
    finish (EXIT_FAILURE);
  }
}

/* User strings may hold any bytes: keep them from playing with the terminal. */
static void print_quoted (const char *bytes, size_t length) {
  putchar ('"');
  for (size_t i = 0; i < length; ++i) {
    const unsigned char byte = (unsigned char) bytes[i];
    printf (byte < ' ' || byte > '~' || byte == '"' || byte == '\\' ? "\\x%02x" : "%c", byte);
  }
  puts ("\"");
}

static void print_number (int there_is, uint64_t number) {
  if (there_is) { printf (" %20" PRIu64, number); }
  else { printf (" %20s", "-"); }
}

/* NULL data are skipped. This process has all elements: its entry is the only one of Nq. */
static scda_fcontext_t *skip_data (scda_fcontext_t *f, char type, uint64_t N, uint64_t E) {
  int err;
  if (type == 'I') { f = scda_fread_inline_data (f, NULL, 0, &err); }
  if (type == 'B') { f = scda_fread_block_data (f, NULL, E, 0, &err); }
  if (type == 'A') { f = scda_fread_array_data (f, NULL, &N, E, 0, &err); }
  if (type == 'V') {
    f = scda_fread_varray_sizes (f, NULL, &N, &err);
    check (err, "skip sizes");
    f = scda_fread_varray_data (f, NULL, &N, NULL, NULL, 0, &err);
  }
  check (err, "skip data");
  return f;
}

static void list_sections (const char *filename) {
  char type, userstr[SCDA_USER_STRING_BYTES + 1];
  size_t length;
  uint64_t N, E;
  int decode, err;

  /* A list is the work of one process. SCDA_COMM_SELF is there with MPI and without. */
  scda_fcontext_t *f = scda_fopen_read (SCDA_COMM_SELF, filename, userstr, &length, NULL, &err);
  check (err, "open");
  printf ("file ");
  print_quoted (userstr, length);

  printf ("section type %20s %20s compressed user string\n", "N", "E");
  for (int section = 1;; ++section) {
    decode = 1; /* undo compression; afterwards: whether there was any */
    f = scda_fread_section_header (f, &type, &N, &E, userstr, &length, &decode, &err);
    if (err == SCDA_ERR_EOF) { break; }
    check (err, "read section header");
    printf ("%7d %-4c", section, type);
    print_number (type == 'A' || type == 'V', N);
    print_number (type == 'A' || type == 'B', E);
    printf (" %-10s ", decode ? "yes" : "no");
    print_quoted (userstr, length);
    f = skip_data (f, type, N, E);
  }
  scda_fclose (f, &err);
  check (err, "close");
}

int main (int argc, char **argv) {
#ifndef SCDA_SERIAL
  MPI_Init (&argc, &argv); /* MPI_COMM_SELF needs it, too */
#endif
  if (argc != 2) {
    fprintf (stderr, "usage: list FILE\n");
    finish (EXIT_FAILURE);
  }
  list_sections (argv[1]);
  finish (EXIT_SUCCESS);
}
