/* The functions of scda_amrex.hpp, in as many dimensions as AMReX has.
 *
 *   amrex write FILE             writes two steps on two levels, with fields of cells, faces and nodes, and two kinds of particles
 *   amrex restart FILE COPY      reads each on another distribution, compares every value, and writes the same to COPY
 *   amrex wrong FILE             what does not fit is an error on all ranks
 *   amrex compare FILE CELLS     beside WriteMultiLevelPlotfile and VisMF: bytes, files, seconds
 */
#include <scda_amrex.hpp>

#include <AMReX_PlotFileUtil.H>

#include <cstdio>
#include <filesystem>
#include <stdexcept>

namespace {

typedef amrex::ParticleContainer<2, 1, 1, 2> mixed;
typedef amrex::ParticleContainerPureSoA<AMREX_SPACEDIM + 1, 1> arrays;
const std::vector<std::string> names { "rho", "p" }, reals { "mass", "charge", "age" };

void require (bool is_true, const char *what) {
  if (!is_true) { throw std::runtime_error (std::string ("wrong: ") + what); }
}

/* Boxes dealt in turn, from another rank on. */
amrex::DistributionMapping dealt (const amrex::BoxArray &boxes, int first) {
  amrex::Vector<int> ranks;
  for (int i = 0; i < static_cast<int> (boxes.size ()); ++i) { ranks.push_back ((first + 7 * i) % amrex::ParallelDescriptor::NProcs ()); }
  return amrex::DistributionMapping (std::move (ranks));
}

struct state {
  explicit state (const scda::amrex_mesh &mesh)
    : particles (mesh.geometry, mesh.maps, mesh.boxes, mesh.ratio), points (mesh.geometry, mesh.maps, mesh.boxes, mesh.ratio) {
    particles.AddRealComp (true);
    for (std::size_t level = 0; level < mesh.levels (); ++level) {
      const amrex::BoxArray &b = mesh.boxes[level];
      const amrex::DistributionMapping &m = mesh.maps[level];
      equal.emplace_back (b, m, 2, 2);
      uneven.emplace_back (b, m, 2, amrex::IntVect (AMREX_D_DECL (1, static_cast<int> (level), 0)));
      faces.emplace_back (amrex::convert (b, amrex::IntVect::TheDimensionVector (0)), m, 2, 1);
      nodes.emplace_back (amrex::convert (b, amrex::IntVect::TheNodeVector ()), m, 1, 0);
      flags.emplace_back (b, m, 1, 0);
      for (auto *one : { &equal.back (), &uneven.back (), &faces.back (), &nodes.back () }) { one->setVal (-1.); }
      flags.back ().setVal (-1);
    }
  }
  template <typename T> static auto pointers (T &all) {
    std::vector<decltype (&all[0])> found;
    for (auto &one : all) { found.push_back (&one); }
    return found;
  }
  template <typename T> static auto constant (const T &all) {
    std::vector<const typename T::value_type *> found;
    for (const auto &one : all) { found.push_back (&one); }
    return found;
  }
  amrex::Vector<amrex::MultiFab> equal, uneven, faces, nodes;
  amrex::Vector<amrex::iMultiFab> flags;
  mixed particles;
  arrays points;
};

double value (int step, int level, int i, int j, int k, int c) { return step + 10 * level + (i + 100 * j + 10000 * k) / 1048576. + 0.5 * c; }

/* Sets, or compares, all values but those of ghost cells. */
void fields (state &s, int step, bool is_compared) {
  const auto visit = [&] (auto &all, auto number) {
    for (int level = 0; level < static_cast<int> (all.size ()); ++level) {
      for (amrex::MFIter mfi (all[static_cast<std::size_t> (level)]); mfi.isValid (); ++mfi) {
        auto &one = all[static_cast<std::size_t> (level)];
        const auto a = one.array (mfi);
        amrex::LoopOnCpu (mfi.fabbox (), one.nComp (), [&] (int i, int j, int k, int c) {
          const auto wanted = static_cast<decltype (number)> (value (step, level, i, j, k, c) * (sizeof number == sizeof (int) ? 1048576 : 1));
          const bool is_ghost = !mfi.validbox ().contains (amrex::IntVect (AMREX_D_DECL (i, j, k)));
          if (is_compared) { require (a (i, j, k, c) == (is_ghost ? -1 : wanted), "a value of a field"); }
          else if (!is_ghost) { a (i, j, k, c) = wanted; }
        });
      }
    }
  };
  for (auto *all : { &s.equal, &s.uneven, &s.faces, &s.nodes }) { visit (*all, amrex::Real ()); }
  visit (s.flags, int ());
}

/* One particle in each third cell that no finer one covers, with values that its number tells; 0: none. */
std::uint64_t number_at (const scda::amrex_mesh &mesh, int level, int i, int j, int k) {
  if (level == 0 && mesh.boxes[1].contains (amrex::IntVect (AMREX_D_DECL (2 * i, 2 * j, 2 * k)))) { return 0; }
  const std::uint64_t number = static_cast<std::uint64_t> (1 + level + 2 * (i + 64 * (j + 8 + 64 * k)));
  return number % 3 == 0 ? number : 0;
}

void make_particles (const scda::amrex_mesh &mesh, state &s, int step) {
  for (int level = 0; level < static_cast<int> (mesh.levels ()); ++level) {
    const amrex::Geometry &g = mesh.geometry[static_cast<std::size_t> (level)];
    for (amrex::MFIter mfi (s.equal[static_cast<std::size_t> (level)]); mfi.isValid (); ++mfi) {
      auto &tile = s.particles.DefineAndReturnParticleTile (level, mfi.index (), 0);
      auto &points = s.points.DefineAndReturnParticleTile (level, mfi.index (), 0);
      amrex::LoopOnCpu (mfi.validbox (), [&] (int i, int j, int k) {
        const std::uint64_t number = number_at (mesh, level, i, j, k);
        const int at[] = { i, j, k };
        if (number == 0) { return; }
        mixed::ParticleType p;
        p.id () = static_cast<int> (number), p.cpu () = 0;
        for (int axis = 0; axis < AMREX_SPACEDIM; ++axis) { p.pos (axis) = g.ProbLo (axis) + (at[axis] - g.Domain ().smallEnd (axis) + 0.5) * g.CellSize (axis); }
        p.rdata (0) = 0.5 * static_cast<double> (number), p.rdata (1) = step, p.idata (0) = level;
        if (number % 5 == 0) { p.id () = -1; }
        tile.push_back (p);
        tile.push_back_real (0, -0.5 * static_cast<double> (number));
        tile.push_back_real (1, 2.5);
        tile.push_back_int (0, 7), tile.push_back_int (1, static_cast<int> (number));
        auto &soa = points.GetStructOfArrays ();
        std::uint64_t id = 0;
        amrex::ParticleIDWrapper { id } = static_cast<int> (number);
        amrex::ParticleCPUWrapper { id } = 0;
        soa.GetIdCPUData ().push_back (id);
        for (int axis = 0; axis < AMREX_SPACEDIM; ++axis) { soa.GetRealData (axis).push_back (p.pos (axis)); }
        soa.GetRealData (AMREX_SPACEDIM).push_back (1. / static_cast<double> (number));
        soa.GetIntData (0).push_back (-static_cast<int> (number));
      });
    }
  }
}

void compare_particles (const scda::amrex_mesh &mesh, state &s, int step) {
  amrex::Long expected = 0, all = 0, found = 0, points = 0;
  for (int level = 0; level < static_cast<int> (mesh.levels ()); ++level) {
    for (amrex::MFIter mfi (s.equal[static_cast<std::size_t> (level)]); mfi.isValid (); ++mfi) {
      amrex::LoopOnCpu (mfi.validbox (), [&] (int i, int j, int k) {
        const std::uint64_t number = number_at (mesh, level, i, j, k);
        all += number != 0, expected += number % 5 != 0;
      });
    }
    for (mixed::ParIterType it (s.particles, level); it.isValid (); ++it) {
      const auto &soa = it.GetStructOfArrays ();
      for (int i = 0; i < it.numParticles (); ++i) {
        const mixed::ParticleType &p = it.GetArrayOfStructs ()[i];
        const std::size_t at = static_cast<std::size_t> (i);
        const int number = static_cast<int> (p.id ());
        require (p.cpu () == 0 && p.rdata (0) == 0.5 * number && p.rdata (1) == step && p.idata (0) == level, "a member of a particle");
        require (soa.GetRealData (0)[at] == -0.5 * number && soa.GetRealData (1)[at] == 2.5 && soa.GetIntData (0)[at] == 7
                 && soa.GetIntData (1)[at] == number, "a number of a particle in an array");
        ++found;
      }
    }
    for (arrays::ParIterType it (s.points, level); it.isValid (); ++it) {
      const auto &soa = it.GetStructOfArrays ();
      for (std::size_t i = 0; i < static_cast<std::size_t> (it.numParticles ()); ++i) {
        const int number = -soa.GetIntData (0)[i];
        require (amrex::ConstParticleIDWrapper { soa.GetIdCPUData ()[i] } == number && soa.GetRealData (AMREX_SPACEDIM)[i] == 1. / number, "a point");
        ++points;
      }
    }
  }
  amrex::ParallelDescriptor::ReduceLongSum ({ std::ref (expected), std::ref (all), std::ref (found), std::ref (points) });
  require (found == expected && points == all && found > 0, "the number of particles");
  require (static_cast<amrex::Long> (mixed::ParticleType::NextID ()) > 1000, "the next id");
}

/* Level 0 in boxes of 8 cells, and on level 1 some that the step says. */
void make_mesh (scda::amrex_mesh &mesh, int step) {
  const amrex::Box domain (amrex::IntVect (AMREX_D_DECL (0, -8, 0)), amrex::IntVect (AMREX_D_DECL (23, 7, 15)));
  const amrex::RealBox corners ({ AMREX_D_DECL (0., 1., 2.) }, { AMREX_D_DECL (1., 2., 3.) });
  const int periodic[] = { AMREX_D_DECL (1, 0, 1) };
  mesh.geometry.emplace_back (domain, &corners, 0, periodic);
  mesh.ratio.push_back (amrex::IntVect (AMREX_D_DECL (2, 2, 2)));
  mesh.geometry.push_back (amrex::refine (mesh.geometry[0], mesh.ratio[0]));
  mesh.boxes.emplace_back (domain), mesh.boxes.emplace_back (amrex::Box (amrex::IntVect (0), amrex::IntVect (15 + 8 * step)) & mesh.geometry[1].Domain ());
  for (auto &boxes : mesh.boxes) { boxes.maxSize (8), mesh.maps.push_back (dealt (boxes, 0)); }
}

void write (scda::writer &w, scda::amrex_mesh &mesh, state &s, int step) {
  scda::write_time (w, "patches", 0.5 * step, "s"); /* also that of the particles */
  mesh.write (w);
  mesh.write_fields (w, names, s.constant (s.equal));
  mesh.write_fields (w, { "u", "v" }, s.constant (s.uneven));
  mesh.write_fields (w, { "bx" }, s.constant (s.faces));
  mesh.write_fields (w, { "phi" }, s.constant (s.nodes));
  std::vector<const amrex::FabArray<amrex::IArrayBox> *> flags;
  for (const auto &one : s.flags) { flags.push_back (&one); }
  mesh.write_fields (w, { "flag" }, flags);
  mesh.write_particles (w, s.particles, reals);
  mesh.write_particles (w, s.points, { "weight" }, { "number" }, "points");
}

void run_write (const char *path) {
  scda::writer w (amrex::ParallelDescriptor::Communicator (), path, "AMReX");
  for (int step = 0; step < 2; ++step) {
    scda::amrex_mesh mesh;
    make_mesh (mesh, step);
    state s (mesh);
    fields (s, step, false);
    make_particles (mesh, s, step);
    write (w, mesh, s, step);
  }
  w.close ();
}

void run_restart (const char *path, const char *copy) {
  scda::reader r (amrex::ParallelDescriptor::Communicator (), path);
  scda::writer w (amrex::ParallelDescriptor::Communicator (), copy, "AMReX");
  for (int step = 0; step < 2; ++step) {
    scda::amrex_mesh expected, mesh;
    make_mesh (expected, step);
    mesh.read (r, step);
    require (mesh.boxes == expected.boxes && mesh.ratio == expected.ratio, "the boxes");
    for (std::size_t level = 0; level < 2; ++level) {
      const amrex::Geometry &a = mesh.geometry[level], &b = expected.geometry[level];
      require (a.Domain () == b.Domain () && a.periodicity () == b.periodicity () && a.Coord () == b.Coord (), "a geometry");
      for (int axis = 0; axis < AMREX_SPACEDIM; ++axis) { require (a.ProbLo (axis) == b.ProbLo (axis) && a.CellSize (axis) == b.CellSize (axis), "a coordinate"); }
    }
    if (step == 1) { mesh.maps = { dealt (mesh.boxes[0], 1), dealt (mesh.boxes[1], 2) }; }
    state s (mesh);
    mesh.read_fields (r, names, s.pointers (s.equal), step);
    mesh.read_fields (r, { "u", "v" }, s.pointers (s.uneven), step);
    mesh.read_fields (r, { "bx" }, s.pointers (s.faces), step);
    mesh.read_fields (r, { "phi" }, s.pointers (s.nodes), step);
    std::vector<amrex::FabArray<amrex::IArrayBox> *> flags;
    for (auto &one : s.flags) { flags.push_back (&one); }
    mesh.read_fields (r, { "flag" }, flags, step);
    for (auto &faces : s.faces) { faces.setVal (-1., 1, 1, 1); }
    mesh.read_particles (r, s.particles, reals, {}, step);
    mesh.read_particles (r, s.points, { "weight" }, { "number" }, step, "points");
    state whole (mesh);
    fields (whole, step, false);
    for (std::size_t level = 0; level < 2; ++level) { /* only the first component of the faces was written */
      amrex::MultiFab::Copy (s.faces[level], whole.faces[level], 1, 1, 1, 0);
    }
    fields (s, step, true);
    compare_particles (mesh, s, step);
    write (w, mesh, s, step);
  }
  w.close ();
  if (amrex::ParallelDescriptor::IOProcessor ()) { std::printf ("every value on %d ranks\n", amrex::ParallelDescriptor::NProcs ()); }
}

template <typename F> void must_fail (F function, const char *message) {
  try {
    function ();
  } catch (const std::exception &error) {
    require (std::string (error.what ()).find (message) != std::string::npos, error.what ());
    return;
  }
  require (false, message);
}

void run_wrong (const char *path) {
  const MPI_Comm comm = amrex::ParallelDescriptor::Communicator ();
  scda::amrex_mesh mesh;
  const auto restart = [&] (auto function) {
    scda::reader r (comm, path);
    mesh.read (r, 0);
    state s (mesh);
    function (r, s);
  };
  must_fail ([&] { restart ([&] (auto &r, state &s) { mesh.read_fields (r, { "rho" }, std::vector<amrex::MultiFab *> { &s.equal[0] }); }); }, "found data of 1 levels, expected the 2 levels");
  must_fail ([&] { restart ([&] (auto &r, state &s) { mesh.read_fields (r, { "a", "b", "c" }, s.pointers (s.equal), 0); }); }, "found 3 names, expected at most 2");
  must_fail ([&] { restart ([&] (auto &r, state &s) { mesh.read_fields (r, { "no" }, s.pointers (s.equal), 0); }); }, "no");
  must_fail ([&] { restart ([&] (auto &r, state &s) { mesh.read_fields (r, { "no" }, s.pointers (s.faces), 0); }); }, "field no: not found in this step");
  must_fail ([&] { restart ([&] (auto &r, state &s) { mesh.boxes[1] = mesh.boxes[0], mesh.read_fields (r, names, s.pointers (s.equal), 0); }); }, "found data with other boxes");
  must_fail ([&] { restart ([&] (auto &r, state &s) { mesh.boxes.pop_back (), mesh.read_particles (r, s.particles, reals, {}, 0); }); }, "level 1: found particles with other boxes");
  must_fail ([&] { scda::writer w (comm, std::string (path) + ".wrong", "AMReX"); scda::amrex_mesh ().write (w); }, "found no levels");
}

/* Bytes and files below a path. */
std::pair<unsigned long long, int> size_of (const std::string &path) {
  if (!std::filesystem::is_directory (path)) { return { std::filesystem::file_size (path), 1 }; }
  std::pair<unsigned long long, int> all { 0, 0 };
  for (const auto &one : std::filesystem::recursive_directory_iterator (path)) {
    if (one.is_regular_file ()) { all.first += one.file_size (), ++all.second; }
  }
  return all;
}

void run_compare (const std::string &path, int cells) {
  const amrex::Box domain (amrex::IntVect (0), amrex::IntVect (cells - 1));
  const amrex::RealBox corners ({ AMREX_D_DECL (0., 0., 0.) }, { AMREX_D_DECL (1., 1., 1.) });
  const int periodic[] = { AMREX_D_DECL (0, 0, 0) };
  const amrex::Geometry geometry (domain, &corners, 0, periodic);
  amrex::BoxArray boxes (domain);
  boxes.maxSize (32);
  const amrex::DistributionMapping maps (boxes);
  amrex::MultiFab data (boxes, maps, 4, 1);
  for (amrex::MFIter mfi (data); mfi.isValid (); ++mfi) {
    const auto a = data.array (mfi);
    amrex::LoopOnCpu (mfi.fabbox (), 4, [&] (int i, int j, int k, int c) { a (i, j, k, c) = value (0, 0, i, j, k, c); });
  }
  const auto timed = [&] (const char *what, const std::string &name, auto function) {
    for (int run = 0; run < 3; ++run) {
      amrex::ParallelDescriptor::Barrier ();
      if (amrex::ParallelDescriptor::IOProcessor ()) { std::filesystem::remove_all (name); }
      amrex::ParallelDescriptor::Barrier ();
      const double begin = amrex::second ();
      function ();
      amrex::ParallelDescriptor::Barrier ();
      const double seconds = amrex::second () - begin;
      if (amrex::ParallelDescriptor::IOProcessor ()) {
        const auto size = size_of (name);
        std::printf ("%s: %llu bytes in %d files, %.3f s\n", what, size.first, size.second, seconds);
      }
    }
  };
  timed ("scda", path, [&] {
    scda::writer w (amrex::ParallelDescriptor::Communicator (), path, "AMReX", scda::params ().atomic (0));
    scda::amrex_mesh mesh ({ geometry }, { boxes }, { maps }, {});
    mesh.write (w);
    mesh.write_fields (w, { "a", "b", "c", "d" }, std::vector<const amrex::MultiFab *> { &data });
    w.close ();
  });
  timed ("WriteSingleLevelPlotfile", path + ".plt", [&] { amrex::WriteSingleLevelPlotfile (path + ".plt", data, { "a", "b", "c", "d" }, geometry, 0., 0); });
  timed ("VisMF", path + ".vismf", [&] {
    amrex::UtilCreateDirectoryDestructive (path + ".vismf");
    amrex::VisMF::Write (data, path + ".vismf/data");
  });
}

} // namespace

int main (int argc, char **argv) {
  int status = 0;
  amrex::Initialize (argc, argv, false);
  try {
    const std::string task = argc > 2 ? argv[1] : "";
    if (task == "write") { run_write (argv[2]); }
    else if (task == "restart" && argc > 3) { run_restart (argv[2], argv[3]); }
    else if (task == "wrong") { run_wrong (argv[2]); }
    else if (task == "compare" && argc > 3) { run_compare (argv[2], std::atoi (argv[3])); }
    else { status = 2; }
  } catch (const std::exception &error) {
    std::fprintf (stderr, "%s\n", error.what ());
    MPI_Abort (MPI_COMM_WORLD, 1);
  }
  amrex::Finalize ();
  return status;
}
