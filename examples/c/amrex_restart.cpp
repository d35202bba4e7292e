/* amrex_restart.cpp: a scalar that is advected on two levels of AMReX, with tracers; any number of processes goes on from its file.
 *
 *   mpirun -n 4 amrex_restart run.scda 3     computes 3 steps
 *   mpirun -n 3 amrex_restart run.scda 3     goes on from the last one for 3 more
 *   ln -s run.scda run.vtkhdf; paraview run.vtkhdf
 */
#include <scda_amrex.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>

typedef amrex::ParticleContainer<1, 0> tracers_t; /* of each its mass */

static scda::amrex_mesh *new_mesh () {
  const amrex::Box domain (amrex::IntVect (0), amrex::IntVect (31));
  const amrex::RealBox corners ({ AMREX_D_DECL (0., 0., 0.) }, { AMREX_D_DECL (1., 1., 1.) });
  const int periodic[] = { AMREX_D_DECL (1, 1, 1) };
  const amrex::Geometry coarse (domain, &corners, 0, periodic);
  const amrex::IntVect two (2);
  amrex::Vector<amrex::BoxArray> boxes { amrex::BoxArray (domain), amrex::BoxArray (amrex::Box (amrex::IntVect (16), amrex::IntVect (47))) };
  for (auto &each : boxes) { each.maxSize (16); }
  return new scda::amrex_mesh ({ coarse, amrex::refine (coarse, two) }, boxes, { amrex::DistributionMapping (boxes[0]), amrex::DistributionMapping (boxes[1]) },
                               { two });
}

/* The values of a step, which would be computed from those of the step before. */
static void advance (const scda::amrex_mesh &mesh, amrex::Vector<amrex::MultiFab> &rho, int step) {
  for (std::size_t level = 0; level < mesh.levels (); ++level) {
    for (amrex::MFIter mfi (rho[level]); mfi.isValid (); ++mfi) {
      const auto a = rho[level].array (mfi);
      amrex::LoopOnCpu (mfi.validbox (), [&] (int i, int j, int k) {
        const double x = mesh.geometry[level].CellCenter (i, 0) - 0.05 * step, y = mesh.geometry[level].CellCenter (j, 1) + 0. * k;
        a (i, j, k) = std::exp (-50. * ((x - 0.4) * (x - 0.4) + (y - 0.5) * (y - 0.5)));
      });
    }
  }
}

static void move (tracers_t &tracers) {
  for (int level = 0; level <= tracers.finestLevel (); ++level) {
    for (tracers_t::ParIterType it (tracers, level); it.isValid (); ++it) {
      for (auto &one : it.GetArrayOfStructs ()) { one.pos (0) += 0.05; }
    }
  }
  tracers.Redistribute ();
}

int main (int argc, char **argv) {
  amrex::Initialize (argc, argv, false);
  if (argc == 3) {
    const MPI_Comm comm = amrex::ParallelDescriptor::Communicator ();
    scda::writer w = scda::writer::append_or_create (comm, argv[1], "AMReX");
    std::unique_ptr<scda::reader> r (w.is_new () ? nullptr : new scda::reader (comm, argv[1]));
    /* A job that was killed before its first commit has left no step. */
    int step = r ? static_cast<int> (scda::steps (*r, "patches")) : 0;
    std::unique_ptr<scda::amrex_mesh> mesh (step > 0 ? new scda::amrex_mesh : new_mesh ());
    if (step > 0) { mesh->read (*r); }
    amrex::Vector<amrex::MultiFab> rho;
    for (std::size_t level = 0; level < mesh->levels (); ++level) { rho.emplace_back (mesh->boxes[level], mesh->maps[level], 1, 2); }
    tracers_t tracers (mesh->geometry, mesh->maps, mesh->boxes, mesh->ratio);
    if (step > 0) {
      mesh->read_fields (*r, { "rho" }, { &rho[0], &rho[1] });
      mesh->read_particles (*r, tracers, { "mass" });
    }
    r.reset ();
    for (const int end = step + std::atoi (argv[2]); step < end; ++step) {
      advance (*mesh, rho, step);
      if (step == 0) { tracers.InitOnePerCell (0.5, 0.5, 0.5, { { { 1.5 } }, {}, {}, {} }); }
      else { move (tracers); }
      scda::write_time (w, "patches", step, "s");
      if (step == 0) { mesh->write (w); }
      mesh->write_fields (w, { "rho" }, { &rho[0], &rho[1] });
      mesh->write_particles (w, tracers, { "mass" });
      w.commit ();
    }
    w.close ();
    const long long particles = tracers.TotalNumberOfParticles (); /* collective */
    if (amrex::ParallelDescriptor::IOProcessor ()) { std::printf ("%d time steps, %lld particles\n", step, particles); }
  }
  amrex::Finalize ();
}
