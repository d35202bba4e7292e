/* A series that is committed in the background, stops in time, and resumes on any number of processes: docs/restart.md.
 * examples/fortran/resume.f90 writes the same bytes.
 *
 *   mpirun -n 2 resume_cxx run.scda 4
 *   mpirun -n 3 resume_cxx run.scda 9
 */
#include <scda.hpp>

#include <cstdio>
#include <cstdlib>

static void run (const char *path, int last, MPI_Comm comm) {
  const double dt = 0.1;
  int rank, size;
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  std::vector<double> rho (static_cast<std::size_t> (100 * (rank + 1) / size - 100 * rank / size), 1.); /* the cells of this process */

  auto w = scda::writer::append_or_create (comm, path, "my simulation", scda::params ().background_bytes (1 << 28));
  int step = 0;
  if (!w.is_new ()) {
    scda::reader r (comm, path); /* up to the last commit */
    if (r.read_attribute ("time", "step", step)) { r.read_field ("rho", rho); }
  }
  if (rank == 0) { std::printf ("from step %d\n", step); }
  scda::request commit;
  while (step < last && !scda::stop_requested (comm)) {
    for (double &x : rho) { x += dt; } /* the simulation */
    ++step;
    commit.wait (); /* the step before is on the disk */
    w.write (scda::dataset ("time").attributes (scda::attributes ("units", "s").add ("step", step)), step * dt);
    w.write_field ("rho", rho);
    commit = w.commit_begin (); /* rho may change now */
  }
  commit.wait ();
  w.close ();
}

int main (int argc, char **argv) {
  scda::stop_watch (); /* SIGTERM and SIGUSR1 no longer end the process */
  MPI_Init (&argc, &argv);
  int failed = 1;
  try {
    if (argc == 3) {
      run (argv[1], std::atoi (argv[2]), MPI_COMM_WORLD);
      failed = 0;
    } else {
      std::fprintf (stderr, "usage: resume_cxx FILE LAST\n");
    }
  } catch (const scda::error &e) { /* the same on all processes; any other exception ends the job */
    std::fprintf (stderr, "resume: %s\n", e.what ());
  }
  MPI_Finalize ();
  return failed;
}
