/* Triangulations of deal.II with all that can be attached to their cells, saved and loaded on any numbers of ranks:
 * mpiexec -n 4 ./dealii FOLDER */
#include <scda_dealii.h>

#include <deal.II/base/function_lib.h>
#include <deal.II/base/mpi.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/hp/fe_collection.h>
#include <deal.II/hp/mapping_collection.h>
#include <deal.II/lac/la_parallel_vector.h>
#include <deal.II/numerics/vector_tools.h>
#include <deal.II/distributed/solution_transfer.h>

#include <cstdio>
#include <string>

using namespace dealii;
using vector_t = LinearAlgebra::distributed::Vector<double>;

static int world_rank, world_size;

#define REQUIRE(condition)                                                                                                  \
  do {                                                                                                                      \
    if (!(condition)) {                                                                                                     \
      std::fprintf (stderr, "rank %d, line %d: %s\n  %s\n", world_rank, __LINE__, #condition, scda_last_error_message ()); \
      MPI_Abort (MPI_COMM_WORLD, 1);                                                                                        \
    }                                                                                                                       \
  } while (0)

template <int dim> using triangulation_t = parallel::distributed::Triangulation<dim>;

/* Something smooth, which is interpolated exactly at the same points. */
template <int dim> struct Solution : Function<dim> {
  double value (const Point<dim> &p, const unsigned int) const override { return std::sin (3 * p[0]) + p[1] * (1 + p[dim - 1]); }
};

template <typename Cell> double number_of (const Cell &cell) {
  const auto p = cell->center ();
  return p[0] + 10 * p[1] + 100 * cell->level ();
}

template <int dim> void make_coarse (triangulation_t<dim> &t) { GridGenerator::hyper_L (t); }

template <int dim> void refine (triangulation_t<dim> &t) {
  t.refine_global (1);
  for (int k = 0; k < 2; ++k) {
    for (const auto &cell : t.active_cell_iterators ()) {
      if (cell->is_locally_owned () && cell->center ().norm () < .6 / (1 + k)) { cell->set_refine_flag (); }
    }
    t.execute_coarsening_and_refinement ();
  }
}

/* What a simulation has: a solution, or with hp elements of several degrees one on each; data of each cell, some of the same size, some
 * with a size of its own. */
template <int dim> struct state_t {
  triangulation_t<dim> triangulation;
  DoFHandler<dim> dofs;
  hp::FECollection<dim> elements;
  vector_t solution;

  explicit state_t (MPI_Comm comm) : triangulation (comm), dofs (triangulation) {
    make_coarse (triangulation);
    for (unsigned int degree = 1; degree < 4; ++degree) { elements.push_back (FE_Q<dim> (degree)); }
  }

  void distribute (bool hp) {
    if (hp) { dofs.distribute_dofs (elements); }
    else { dofs.distribute_dofs (elements[1]); }
    IndexSet relevant;
    DoFTools::extract_locally_relevant_dofs (dofs, relevant);
    solution.reinit (dofs.locally_owned_dofs (), relevant, triangulation.get_communicator ());
  }

  vector_t expected () {
    vector_t v (solution);
    VectorTools::interpolate (dofs, Solution<dim> (), v);
    v.update_ghost_values ();
    return v;
  }
};

template <int dim> void save (const std::string &path, bool hp, MPI_Comm comm) {
  state_t<dim> s (comm);
  refine (s.triangulation);
  if (hp) {
    for (const auto &cell : s.dofs.active_cell_iterators ()) {
      if (cell->is_locally_owned ()) { cell->set_active_fe_index (static_cast<unsigned int> (cell->level ()) % 3); }
    }
  }
  s.distribute (hp);
  s.solution = s.expected ();
  s.solution.update_ghost_values ();
  parallel::distributed::SolutionTransfer<dim, vector_t> transfer (s.dofs);
  if (hp) { s.dofs.prepare_for_serialization_of_active_fe_indices (); }
  transfer.prepare_for_serialization (s.solution);
  s.triangulation.register_data_attach (
    [] (const auto &cell, const auto) {
      const double number = number_of (cell);
      return std::vector<char> (reinterpret_cast<const char *> (&number), reinterpret_cast<const char *> (&number + 1));
    },
    false);
  s.triangulation.register_data_attach (
    [] (const auto &cell, const auto) { return std::vector<char> (static_cast<size_t> (cell->level () * 3), static_cast<char> ('a' + cell->level ())); }, true);
  REQUIRE (scda_dealii_save (path.c_str (), s.triangulation) == 0);
}

template <int dim> void load (const std::string &path, bool hp, MPI_Comm comm) {
  state_t<dim> s (comm), again (comm);
  refine (again.triangulation);
  REQUIRE (scda_dealii_load (path.c_str (), s.triangulation) == 0);
  REQUIRE (s.triangulation.n_global_active_cells () == again.triangulation.n_global_active_cells ());
  if (hp) { s.dofs.distribute_dofs (s.elements); }
  if (hp) { s.dofs.deserialize_active_fe_indices (); }
  s.distribute (hp);
  parallel::distributed::SolutionTransfer<dim, vector_t> transfer (s.dofs);
  vector_t found (s.solution);
  transfer.deserialize (found);
  found.zero_out_ghost_values ();
  REQUIRE (found.linfty_norm () > 1);
  const vector_t expected = s.expected ();
  for (const auto i : s.dofs.locally_owned_dofs ()) { REQUIRE (std::fabs (found[i] - expected[i]) < 1e-13); }
  unsigned int cells = 0, own = 0;
  const auto number = [&] (const auto &cell, const auto, const auto &range) {
    double value = 0;
    REQUIRE (range.size () == sizeof value);
    std::copy (range.begin (), range.end (), reinterpret_cast<char *> (&value));
    REQUIRE (value == number_of (cell));
    ++cells;
  };
  /* Registered again in the same order, as deal.II wants it. */
  unsigned int handle = s.triangulation.register_data_attach ([] (const auto &, const auto) { return std::vector<char> (8); }, false);
  s.triangulation.notify_ready_to_unpack (handle, number);
  handle = s.triangulation.register_data_attach ([] (const auto &, const auto) { return std::vector<char> (); }, true);
  s.triangulation.notify_ready_to_unpack (handle, [&] (const auto &cell, const auto, const auto &range) {
    REQUIRE (range.size () == static_cast<size_t> (cell->level () * 3));
    for (const char c : range) { REQUIRE (c == 'a' + cell->level ()); }
    ++cells;
  });
  for (const auto &cell : s.triangulation.active_cell_iterators ()) { own += cell->is_locally_owned (); }
  REQUIRE (cells == 2 * own);
  /* deal.II goes on. */
  s.triangulation.refine_global (1);
}

static MPI_Comm group_of (int n) {
  MPI_Comm comm;
  MPI_Comm_split (MPI_COMM_WORLD, world_rank < n ? 0 : MPI_UNDEFINED, world_rank, &comm);
  return comm;
}

template <int dim> void test (const std::string &folder, bool hp) {
  for (int writers = 1; writers <= world_size; ++writers) {
    const std::string path = folder + "/" + std::to_string (dim) + (hp ? "-hp-" : "-") + std::to_string (writers) + ".scda";
    MPI_Comm comm = group_of (writers);
    if (comm != MPI_COMM_NULL) {
      save<dim> (path, hp, comm);
      MPI_Comm_free (&comm);
    }
    MPI_Barrier (MPI_COMM_WORLD);
    for (int readers = 1; readers <= world_size; ++readers) {
      comm = group_of (readers);
      if (comm != MPI_COMM_NULL) {
        load<dim> (path, hp, comm);
        MPI_Comm_free (&comm);
      }
      MPI_Barrier (MPI_COMM_WORLD);
    }
  }
  if (world_rank == 0) { std::printf ("%d-D%s: every value, loaded on 1 to %d ranks\n", dim, hp ? ", hp" : "", world_size); }
}

/* Another coarse mesh is refused, and so is a file that is not there. */
static void errors (const std::string &folder) {
  triangulation_t<2> other (MPI_COMM_WORLD);
  GridGenerator::hyper_cube (other);
  REQUIRE (scda_dealii_load ((folder + "/2-1.scda").c_str (), other) == SCDA_ERR_ARG);
  REQUIRE (std::string (scda_last_error_message ()).find ("coarse mesh") != std::string::npos);
  REQUIRE (scda_dealii_load ((folder + "/none.scda").c_str (), other) != 0);
}

int main (int argc, char **argv) {
  Utilities::MPI::MPI_InitFinalize mpi (argc, argv, 1);
  MPI_Comm_rank (MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size (MPI_COMM_WORLD, &world_size);
  REQUIRE (argc == 2);
  for (const bool hp : {false, true}) {
    test<2> (argv[1], hp);
    test<3> (argv[1], hp);
  }
  errors (argv[1]);
  return 0;
}
