/* datasets.cpp: lists the datasets of a file; then reads those that are named, in any order, as numbers, and prints their sums.
 *
 * Compile:  mpicxx datasets.cpp -o datasets $(pkg-config --cflags --libs scda)
 *           (with a serial build of the library: c++ instead of mpicxx)
 * Run:      ./datasets state.scda flow/p time flow/rho
 */
#include <scda.hpp>

#include <cstdio>
#include <numeric>

/* A dataset with wrong metadata, or of a type that this library does not have, is an entry as well. */
static void list (scda::reader &r) {
  for (scda::entry e; r.next_entry (e);) {
    if (e.kind () == SCDA_ENTRY_UNKNOWN) { std::printf ("%s: cannot be read\n", e.name ().c_str ()); }
    if (e.kind () != SCDA_ENTRY_DATASET) { continue; }
    std::printf ("%s, record %d of %d: %s", e.name ().c_str (), (int) e.record (), (int) e.records (), scda_type_name (e.type (), nullptr));
    for (std::size_t k = 0; k < e.shape ().size (); ++k) { std::printf ("%c%llu", k > 0 ? 'x' : ' ', (unsigned long long) e.shape ()[k]); }
    std::printf ("\n");
  }
}

int main (int argc, char **argv) {
  int status = 0;
#ifndef SCDA_SERIAL /* scda.h defines it if the library was built without MPI */
  MPI_Init (&argc, &argv);
#endif
  try {
    if (argc < 2) { return std::fprintf (stderr, "usage: datasets FILE [NAME ...]\n"), 2; }
    scda::reader r (SCDA_COMM_SELF, argv[1]); /* one process reads alone */
    list (r);
    for (int i = 2; i < argc; ++i) {
      const std::vector<double> data = r.read<double> (argv[i]); /* all of the last one of this name; other numbers are converted */
      std::printf ("%s: sum %.1f\n", argv[i], std::accumulate (data.begin (), data.end (), 0.0));
    }
    r.close ();
  } catch (const scda::error &e) {
    status = (std::fprintf (stderr, "datasets: %s\n", e.what ()), 1);
  }
#ifndef SCDA_SERIAL
  MPI_Finalize ();
#endif
  return status;
}
