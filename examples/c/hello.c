/* hello.c: write one section of each kind into a file, print the file, and read it back.
 *
 * Compile:  mpicc hello.c -o hello $(pkg-config --cflags --libs scda)
 * Run:      mpirun -n 3 ./hello hello.scda
 *           (with a serial build of the library: cc instead of mpicc, and no mpirun)
 *
 * Expected output: the file, which is the same for any number of ranks, and one line.
 *
 *   scdata0 libscda 0.2 sealed ----
 *   F hello.c: planets --------------------------------------------
 *
 *   =============================
 *
 *   B scda hdf5 00 ------------------------------------------------
 *   (room for HDF5, 448 bytes)
 *   I greeting ----------------------------------------------------
 *   libscda says hello to the world
 *   I B compressed scda 00 ----------------------------------------
 *   U 60 --------------------------
 *   B echo --------------------------------------------------------
 *   E 38 --------------------------
 *   AAAAAAAAADx6eF7LSM3JyVcgi+QCAKaqFfM==
 *   ========================
 *
 *   A semi-major axis, period -------------------------------------
 *   N 3 ---------------------------
 *   E 32 --------------------------
 *   Venus       0.723 au   0.615 yr
 *   Earth       1.000 au   1.000 yr
 *   Mars        1.524 au   1.881 yr
 *   ==============================
 *
 *   V moons -------------------------------------------------------
 *   N 3 ---------------------------
 *   E 0 ---------------------------
 *   E 5 ---------------------------
 *   E 15 --------------------------
 *   Moon
 *   Phobos, Deimos
 *   ==========
 *
 *   A scda index 00 -----------------------------------------------
 *   (where each section is, and a checksum of it)
 *   B scda seal 00 ------------------------------------------------
 *   (where the index is, and a checksum of that)
 *
 *   hello: 3 ranks wrote 4 sections, and read the same back
 */
#include <scda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { num_planets = 3, planet_bytes = 32 };

static const char greeting[] = "libscda says hello to the world\n";
static const char echo[] = "hello hello hello hello hello hello hello hello hello hello\n";
static const char planets[] = "Venus       0.723 au   0.615 yr\n"
                              "Earth       1.000 au   1.000 yr\n"
                              "Mars        1.524 au   1.881 yr\n";
static const char moons[] = "Moon\nPhobos, Deimos\n";
static const uint64_t moons_bytes[] = { 0, 5, 15 }; /* Venus has none */

static MPI_Comm comm = SCDA_COMM_SELF;
static int rank = 0, size = 1;

static void finish (int status) {
#ifndef SCDA_SERIAL /* scda.h defines it if the library was built without MPI */
  MPI_Finalize ();
#endif
  exit (status);
}

static void stop (const char *what, const char *why, const char *detail) {
  if (rank == 0) { fprintf (stderr, "hello: %s: %s\n  %s\n", what, why, detail); }
  finish (EXIT_FAILURE);
}

/* Every call of libscda reports to here. An error is the same on all ranks, and has closed the file. */
static void check (int err, const char *what) {
  char why[128];
  int length = (int) sizeof why;
  if (err != SCDA_SUCCESS) {
    scda_ferror_string (err, why, &length);
    stop (what, why, scda_last_error_message ());
  }
}

/* Which rank has which elements of an array is up to the program: Nq[q] of them are on rank q, first those
 * of rank 0, then those of rank 1, and so on. All ranks know all of Nq. */
static void write_file (const char *filename, uint64_t *Nq) {
  uint64_t first = 0, moons_before = 0; /* on the ranks before this one */
  for (int q = 0; q < size; ++q) {
    Nq[q] = (uint64_t) (num_planets * (q + 1) / size - num_planets * q / size);
    if (q < rank) { first += Nq[q]; }
  }
  for (uint64_t i = 0; i < first; ++i) { moons_before += moons_bytes[i]; }


  /* The NULL after each user string says that it is a C string: with a length, it may hold any bytes. */
  int err;
  scda_fcontext_t *f = scda_fopen_write (comm, filename, "hello.c: planets", NULL, NULL, &err);
  check (err, "open for writing");

  /* Inline data, always 32 bytes, and blocks are passed by one rank, here 0. */
  f = scda_fwrite_inline (f, greeting, "greeting", NULL, 0, &err);
  check (err, "write inline");
  f = scda_fwrite_block (f, echo, strlen (echo), "echo", NULL, 0, SCDA_ENCODE_ALWAYS, &err);
  check (err, "write block");

  /* Of arrays, every rank passes its own elements. Those of a varray differ in size. */
  f = scda_fwrite_array (f, planets + first * planet_bytes, Nq, planet_bytes, 0, "semi-major axis, period", NULL,
                         SCDA_ENCODE_NONE, &err);
  check (err, "write array");
  f = scda_fwrite_varray (f, moons + moons_before, Nq, moons_bytes + first, NULL, 0, "moons", NULL,
                          SCDA_ENCODE_NONE, &err);
  check (err, "write varray");

  scda_fclose (f, &err); /* data may be on their way until here */
  check (err, "close after writing");
}

/* All that was written here is text, so the file is, too. */
static void print_file (const char *filename) {
  FILE *f = fopen (filename, "rb");
  for (int c; f != NULL && (c = getc (f)) != EOF;) { putchar (c); }
  if (f != NULL) { fclose (f); }
}

/* Reads a section header, and insists on what it says. */
static scda_fcontext_t *read_header (scda_fcontext_t *f, char type, uint64_t N, uint64_t E) {
  char found_type, userstr[SCDA_USER_STRING_BYTES + 1];
  uint64_t found_N, found_E;
  int err, decode = 1; /* undo compression; afterwards: whether there was any */
  f = scda_fread_section_header (f, &found_type, &found_N, &found_E, userstr, NULL, &decode, &err);
  check (err, "read section header");
  if (found_type != type || found_N != N || found_E != E) { stop ("read", "not the section expected", userstr); }
  return f;
}

/* Any Nq will do for reading. Here rank 0 gets all elements, as it gets inline data and blocks. */
static void read_file (const char *filename, uint64_t *Nq) {
  char found[sizeof planets] = ""; /* the largest section fits in */
  uint64_t found_bytes[num_planets] = { 0 };
  for (int q = 0; q < size; ++q) { Nq[q] = q == 0 ? num_planets : 0; }

  int err;
  scda_fcontext_t *f = scda_fopen_read (comm, filename, NULL, NULL, NULL, &err);
  check (err, "open for reading");

  f = read_header (f, 'I', 0, 0);
  f = scda_fread_inline_data (f, found, 0, &err);
  check (err, "read inline");
  int same = !memcmp (found, greeting, SCDA_INLINE_BYTES);

  f = read_header (f, 'B', 0, strlen (echo));
  f = scda_fread_block_data (f, found, strlen (echo), 0, &err);
  check (err, "read block");
  same = same && !memcmp (found, echo, strlen (echo));

  f = read_header (f, 'A', num_planets, planet_bytes);
  f = scda_fread_array_data (f, found, Nq, planet_bytes, 0, &err);
  check (err, "read array");
  same = same && !memcmp (found, planets, strlen (planets));

  /* The sizes come first, so that there is a chance to make room for the data. NULL skips them. */
  f = read_header (f, 'V', num_planets, 0);
  f = scda_fread_varray_sizes (f, found_bytes, Nq, &err);
  check (err, "read varray sizes");
  same = same && !memcmp (found_bytes, moons_bytes, sizeof moons_bytes);
  f = scda_fread_varray_data (f, same ? found : NULL, Nq, found_bytes, NULL, 0, &err);
  check (err, "read varray data");
  same = same && !memcmp (found, moons, strlen (moons));

  scda_fclose (f, &err);
  check (err, "close after reading");
  if (rank == 0 && !same) { stop ("read", "not the data that were written", filename); }
}

int main (int argc, char **argv) {
  const char *filename = argc == 2 ? argv[1] : "hello.scda";
#ifndef SCDA_SERIAL
  MPI_Init (&argc, &argv);
  comm = MPI_COMM_WORLD;
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
#endif
  if (argc > 2) { stop ("wrong usage", "more than one argument", "hello [FILE]"); }
  uint64_t *Nq = malloc ((size_t) size * sizeof *Nq);
  if (Nq == NULL) { abort (); }

  write_file (filename, Nq);
  if (rank == 0) { print_file (filename); }
  read_file (filename, Nq);
  if (rank == 0) { printf ("hello: %d rank%s wrote 4 sections, and read the same back\n", size, size == 1 ? "" : "s"); }
  free (Nq);
  finish (EXIT_SUCCESS);
}
