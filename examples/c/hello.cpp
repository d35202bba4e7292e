/* hello.cpp: hello.c in C++. Write one section of each kind into a file, and read it back.
 *
 * Compile:  mpicxx hello.cpp -o hello_cxx $(pkg-config --cflags --libs scda)
 * Run:      mpirun -n 3 ./hello_cxx hello.scda
 *           (with a serial build of the library: c++ instead of mpicxx, and no mpirun)
 *
 * Expected output, and the file is that of hello.c:
 *
 *   hello.cpp: 3 ranks wrote 4 sections, and read the same back
 */
#include <scda.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

static const std::string greeting = "libscda says hello to the world\n";
static const std::string echo = "hello hello hello hello hello hello hello hello hello hello\n";
static const std::string planets = "Venus       0.723 au   0.615 yr\n"
                                   "Earth       1.000 au   1.000 yr\n"
                                   "Mars        1.524 au   1.881 yr\n";
static const std::string moons = "Moon\nPhobos, Deimos\n";
static const std::vector<std::uint64_t> moons_bytes = { 0, 5, 15 }; /* Venus has none */
static const std::uint64_t num_planets = 3, planet_bytes = 32;

/* The program decides which rank has which elements of an array: Nq[q] of them are on rank q, first those of
 * rank 0, then those of rank 1, and so on. All ranks know all of Nq; scda::file::proc_counts gathers it. */
static void write_file (MPI_Comm comm, const std::string &filename, std::size_t rank, std::size_t size) {
  std::vector<std::uint64_t> Nq (size);
  for (std::size_t q = 0; q < size; ++q) { Nq[q] = num_planets * (q + 1) / size - num_planets * q / size; }
  std::size_t first = 0, moons_before = 0; /* on the ranks before this one */
  for (std::size_t q = 0; q < rank; ++q) { first += Nq[q]; }
  for (std::size_t i = 0; i < first; ++i) { moons_before += moons_bytes[i]; }

  /* With a seal, readers know that the file is complete and undamaged, and find sections by their names. */
  scda::writer file (comm, filename, "hello.c: planets");

  /* Inline data, always 32 bytes, and blocks are passed by one rank, here 0. */
  file.write_inline ("greeting", greeting);
  file.write_block ("echo", echo, scda::encode_always);

  /* Of arrays, every rank passes its own elements. Those of a varray differ in size. */
  const std::string mine = planets.substr (first * planet_bytes, Nq[rank] * planet_bytes);
  file.write_array ("semi-major axis, period", mine, Nq, planet_bytes);
  const std::vector<std::uint64_t> bytes (moons_bytes.begin () + static_cast<std::ptrdiff_t> (first), moons_bytes.end ());
  file.write_varray ("moons", moons.substr (moons_before), Nq, bytes);

  file.close (); /* until here data may still be in a buffer; an error throws */
}

/* Reads a section header, and insists on what it says. */
static void expect (scda::reader &file, char type, std::uint64_t N, std::uint64_t E) {
  scda::section s;
  if (!file.next (s) || s.type != type || s.N != N || s.E != E) { throw std::runtime_error ("not the section expected"); }
}

static void require (bool same) {
  if (!same) { throw std::runtime_error ("not the data that were written"); }
}

/* Any Nq will do for reading. Here rank 0 gets all elements, as it gets inline data and blocks. */
static void read_file (MPI_Comm comm, const std::string &filename, std::size_t rank, std::size_t size) {
  std::vector<std::uint64_t> Nq (size, 0);
  Nq[0] = num_planets;
  const bool wanted = rank == 0;
  std::vector<char> found (wanted ? planets.size () : 0); /* the largest section fits in */

  scda::reader file (comm, filename);

  expect (file, 'I', 0, 0);
  file.read_inline (found);
  require (!wanted || std::equal (greeting.begin (), greeting.end (), found.begin ()));

  expect (file, 'B', 0, echo.size ());
  file.read_block (found, echo.size (), 0);
  require (!wanted || std::equal (echo.begin (), echo.end (), found.begin ()));

  expect (file, 'A', num_planets, planet_bytes);
  file.read_array (found, Nq, planet_bytes);
  require (!wanted || std::equal (planets.begin (), planets.end (), found.begin ()));

  /* The sizes come first, so that the program can make room for the data. */
  expect (file, 'V', num_planets, 0);
  std::vector<std::uint64_t> bytes (wanted ? num_planets : 0);
  file.read_varray_sizes (bytes, Nq);
  file.read_varray (found, Nq, bytes);
  require (!wanted || (bytes == moons_bytes && std::equal (moons.begin (), moons.end (), found.begin ())));

  file.close ();
}

int main (int argc, char **argv) {
  const std::string filename = argc == 2 ? argv[1] : "hello.scda";
  MPI_Comm comm = SCDA_COMM_SELF;
  int rank = 0, size = 1, status = EXIT_SUCCESS;
#ifndef SCDA_SERIAL /* scda.h defines it if the library was built without MPI */
  MPI_Init (&argc, &argv);
  comm = MPI_COMM_WORLD;
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
#endif
  try {
    write_file (comm, filename, static_cast<std::size_t> (rank), static_cast<std::size_t> (size));
    read_file (comm, filename, static_cast<std::size_t> (rank), static_cast<std::size_t> (size));
    if (rank == 0) {
      std::printf ("hello.cpp: %d rank%s wrote 4 sections, and read the same back\n", size, size == 1 ? "" : "s");
    }
  } catch (const scda::error &e) { /* the same on all ranks */
    if (rank == 0) { std::fprintf (stderr, "hello.cpp: %s\n", e.what ()); }
    status = EXIT_FAILURE;
  } catch (const std::exception &e) { /* perhaps on this rank alone */
    std::fprintf (stderr, "hello.cpp: rank %d: %s\n", rank, e.what ());
#ifndef SCDA_SERIAL
    MPI_Abort (comm, EXIT_FAILURE);
#endif
    return EXIT_FAILURE;
  }
#ifndef SCDA_SERIAL
  MPI_Finalize ();
#endif
  return status;
}
