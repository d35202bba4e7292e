/* meshes.cpp: a block-structured mesh with ghost cells, and particles in its patches; any number of processes writes them, and any other
 * number goes on from them. examples/fortran/meshes.f90 writes the same bytes.
 *
 *   mpirun -n 4 meshes write meshes.scda
 *   mpirun -n 3 meshes restart meshes.scda
 *   ln -s meshes.scda meshes.vtkhdf        (for ParaView)
 */
#include <scda_meshes.hpp>

#include <cstdio>
#include <stdexcept>

namespace {

constexpr std::size_t cells = 8, ghost = 2, width = cells + 2 * ghost;

/* A patch in memory: two variables of each cell side by side, with ghost cells around them. z varies slowest. */
struct patch {
  double u[width][width][width][2];
};

struct tracer {
  double position[3];
  float mass;
  std::int64_t id;
};

} // namespace

template <> struct scda::members<tracer> {
  static const scda_member_t *list () {
    static const scda_member_t all[] = { SCDA_MEMBER (tracer, position), SCDA_MEMBER (tracer, mass), SCDA_MEMBER (tracer, id), SCDA_MEMBERS_END };
    return all;
  }
};

namespace {

/* The mesh of a step: 8 blocks of level 0, and on a level that is finer by 4, as many as the step says, each in a corner of one of them. */
const std::array<std::int32_t, 6> ratio { { 1, 1, 1, 4, 4, 4 } };
const std::array<std::int64_t, 6> domain { { 0, 0, 0, 16, 16, 16 } };
const std::array<double, 6> geometry { { 0, 0, 0, 0.125, 0.125, 0.125 } };

void make_mesh (int step, std::vector<std::int32_t> &level, std::vector<std::int64_t> &boxes) {
  for (int p = 0; p < 8 + 2 * (step + 1); ++p) {
    const int block = p < 8 ? p : p - 8;
    level.push_back (p < 8 ? 0 : 1);
    for (int a = 0; a < 3; ++a) { boxes.push_back (static_cast<std::int64_t> (cells) * (p < 8 ? 1 : 4) * (block >> a & 1)); }
    boxes.insert (boxes.end (), 3, cells);
  }
}

/* What the code computes: of each cell of each level another value. */
double value (int step, int level, const std::int64_t *box, std::size_t i, std::size_t j, std::size_t k) {
  const auto at = [&] (int a, std::size_t n) { return static_cast<double> (box[a] + static_cast<std::int64_t> (n)); };
  return 0.5 * step + level + (at (0, i) + 100 * at (1, j) + 10000 * at (2, k)) / 1048576;
}

/* The particles of a patch, by its number. */
std::int64_t count (std::uint64_t number, int step) { return static_cast<std::int64_t> (number % 3) + step; }
tracer make_tracer (std::uint64_t number, std::int64_t i, int step, const std::int64_t *box, int level) {
  tracer t = tracer ();
  for (int a = 0; a < 3; ++a) { t.position[a] = (static_cast<double> (box[a]) + 0.25 * static_cast<double> (i + 1)) * 0.125 / (level == 0 ? 1 : 4); }
  t.mass = 1.5f + static_cast<float> (i);
  t.id = static_cast<std::int64_t> (1000 * number) + 10 * step + i;
  return t;
}

/* The fields, as they lie in the patches. */
std::vector<scda::patch_field> describe (std::vector<patch> &patches) {
  const scda::dataset rho = scda::dataset ("rho").attributes (scda::attributes ("units", "kg m-3")), p = scda::dataset ("p").chunks ();
  double *first = &patches.data ()->u[0][0][0][0];
  return { scda::patch_field (rho, first, sizeof (patch)).ghost (ghost).cell_bytes (2 * sizeof (double)),
           scda::patch_field (p, first + 1, sizeof (patch)).ghost (ghost).cell_bytes (2 * sizeof (double)) };
}

void write (const char *path, MPI_Comm comm) {
  scda::writer w (comm, path, "meshes");
  for (int step = 0; step < 3; ++step) {
    std::vector<std::int32_t> all_level, level;
    std::vector<std::int64_t> all_boxes, boxes, counts;
    std::vector<std::uint64_t> number;
    std::vector<tracer> tracers;
    make_mesh (step, all_level, all_boxes);
    for (std::size_t p = static_cast<std::size_t> (w.rank ()); p < all_level.size (); p += static_cast<std::size_t> (w.size ())) { /* dealt in turn */
      number.push_back (p);
      level.push_back (all_level[p]);
      boxes.insert (boxes.end (), &all_boxes[6 * p], &all_boxes[6 * p] + 6);
      counts.push_back (count (p, step));
      for (std::int64_t i = 0; i < counts.back (); ++i) { tracers.push_back (make_tracer (p, i, step, &all_boxes[6 * p], all_level[p])); }
    }
    std::vector<patch> patches (level.size ());
    for (std::size_t p = 0; p < patches.size (); ++p) {
      for (std::size_t k = 0; k < cells; ++k) {
        for (std::size_t j = 0; j < cells; ++j) {
          for (std::size_t i = 0; i < cells; ++i) {
            double *u = patches[p].u[k + ghost][j + ghost][i + ghost];
            u[0] = value (step, level[p], &boxes[6 * p], i, j, k);
            u[1] = -u[0];
          }
        }
      }
    }
    scda::patches mesh (3);
    mesh.frame (ratio, domain, geometry).own (level, boxes, number);
    scda::write_time (w, "patches", 0.5 * step, "s");
    mesh.write (w);
    mesh.write_fields (w, describe (patches));
    scda::particles p;
    p.in_cells (counts, "patches", number);
    p.write (w); /* in the same time step, which is that of the mesh */
    p.write_field (w, scda::dataset ("tracer"), tracers);
  }
  w.close ();
}

void restart (const char *path, MPI_Comm comm) {
  scda::reader r (comm, path);
  const int last = static_cast<int> (scda::steps (r, "patches")) - 1;
  const double time = scda::read_time (r, "patches");
  scda::patches mesh (3);
  mesh.read (r);
  std::vector<std::uint64_t> own; /* not the share that it was given: again dealt in turn */
  for (std::uint64_t m = static_cast<std::uint64_t> (r.rank ()); m < mesh.c ().patches; m += static_cast<std::uint64_t> (r.size ())) { own.push_back (m); }
  mesh.choose (own);
  std::vector<patch> patches (own.size ());
  mesh.read_fields (r, describe (patches));
  scda::particles p;
  p.read_numbers (r, own); /* those in the patches of this process */
  const std::vector<tracer> tracers = p.read_field<tracer> (r, "tracer");
  r.close ();

  long wrong = 0;
  std::size_t next = 0;
  for (std::size_t m = 0; m < mesh.size (); ++m) {
    const std::int64_t *box = mesh.box (m).data ();
    for (std::size_t k = 0; k < cells; ++k) {
      for (std::size_t j = 0; j < cells; ++j) {
        for (std::size_t i = 0; i < cells; ++i) {
          const double *u = patches[m].u[k + ghost][j + ghost][i + ghost], expected = value (last, mesh.level (m), box, i, j, k);
          wrong += u[0] != expected || u[1] != -expected;
        }
      }
    }
    wrong += p.counts ()[m] != count (mesh.number (m), last);
    for (std::int64_t i = 0; i < p.counts ()[m]; ++i, ++next) {
      const tracer expected = make_tracer (mesh.number (m), i, last, box, mesh.level (m));
      wrong += tracers[next].id != expected.id || std::memcmp (tracers[next].position, expected.position, sizeof expected.position) != 0
               || tracers[next].mass != expected.mass;
    }
  }
  MPI_Allreduce (MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, comm);
  if (r.rank () == 0) {
    std::printf ("time %g s: %d patches, %d particles, %ld values wrong\n", time, static_cast<int> (mesh.c ().patches),
                 static_cast<int> (p.c ().particles), wrong);
  }
  if (wrong != 0) { throw std::runtime_error ("values differ from those written"); }
}

} // namespace

int main (int argc, char **argv) {
  MPI_Init (&argc, &argv);
  const std::string mode = argc == 3 ? argv[1] : "";
  int failed = 1;
  try {
    if (mode == "write") {
      write (argv[2], MPI_COMM_WORLD);
      failed = 0;
    } else if (mode == "restart") {
      restart (argv[2], MPI_COMM_WORLD);
      failed = 0;
    } else {
      std::fprintf (stderr, "usage: meshes write|restart FILE\n");
    }
  } catch (const std::exception &e) {
    std::fprintf (stderr, "meshes: %s\n", e.what ());
  }
  MPI_Finalize ();
  return failed;
}
