/* A stranger's program in C++ on scda.hpp, called as consumer.c is: RANKS FILE. */
#include <scda.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static int work (MPI_Comm comm, int ranks, const char *file) {
  const std::vector<std::uint64_t> counts (static_cast<std::size_t> (ranks), 100);
  const std::vector<double> field (100, 0.5);
  std::vector<double> found (100);
  scda::writer w (comm, file, "hpp");
  if (w.size () != ranks) { return EXIT_FAILURE; }
  w.write_array ("field", field, counts, sizeof (double), SCDA_ENCODE_ALWAYS);
  w.close ();

  scda::reader r (comm, file);
  for (scda::section s; r.next (s);) { r.read_array (found, counts, s.E); }
  r.close ();
  return found == field ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main (int argc, char **argv) {
  MPI_Comm comm = SCDA_COMM_SELF;
#ifndef SCDA_SERIAL
  MPI_Init (&argc, &argv);
  comm = MPI_COMM_WORLD;
#endif
  int status = EXIT_FAILURE;
  try {
    status = argc == 3 ? work (comm, std::atoi (argv[1]), argv[2]) : EXIT_FAILURE;
  } catch (const scda::error &e) { std::fprintf (stderr, "%s\n", e.what ()); }
#ifndef SCDA_SERIAL
  MPI_Finalize ();
#endif
  return status;
}
