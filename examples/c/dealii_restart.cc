/* A time loop of deal.II on an adaptive mesh that follows a moving source, as its tutorials have them, which restarts on any number of
 * processes from where another job has stopped:
 *
 *   mpirun -n 4 dealii_restart 3 heat.scda     # three steps, and a checkpoint
 *   mpirun -n 3 dealii_restart 3 heat.scda     # the next three; it ends as a job of six steps does
 *   mpirun -n 2 dealii_restart 6 other.scda
 *
 * Only the lines with scda_ are about files. */
#include <scda_dealii.h>

#include <deal.II/base/function.h>
#include <deal.II/base/mpi.h>
#include <deal.II/distributed/solution_transfer.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/lac/affine_constraints.h>
#include <deal.II/lac/la_parallel_vector.h>

#include <cstdio>
#include <cstdlib>
#include <map>

using namespace dealii;
using vector_t = LinearAlgebra::distributed::Vector<double>;

constexpr int dim = 2, coarsest = 3, finest = 6;
constexpr double dt = 0.1;

/* Where the source is. */
static Point<dim> source (double time) { return Point<dim> (.5 + .3 * std::cos (time), .5 + .3 * std::sin (time)); }

class Heat {
public:
  explicit Heat (MPI_Comm comm) : triangulation (comm), fe (2), dofs (triangulation) { GridGenerator::hyper_cube (triangulation); }

  void begin () {
    triangulation.refine_global (coarsest);
    for (int k = coarsest; k < finest; ++k) { adapt (); }
    time = 0;
    distribute (solution);
  }

  /* The state, which consists of the mesh with the solution, and the time. */
  int save (const char *name) {
    parallel::distributed::SolutionTransfer<dim, vector_t> transfer (dofs);
    transfer.prepare_for_serialization (solution);
    int err;
    scda_fcontext_t *f = scda_fopen_write (comm (), name, "dealii_restart", NULL, NULL, &err);
    f = scda_forest_write_time (f, NULL, time, "s", nullptr, &err);
    f = scda_dealii_write (f, NULL, triangulation, &err);
    scda_fclose (f, &err);
    return err;
  }

  int load (const char *name) {
    int err;
    scda_fcontext_t *f = scda_fopen_read (comm (), name, NULL, NULL, NULL, &err);
    f = scda_forest_read_time (f, NULL, -1, &time, &err);
    f = scda_dealii_read (f, NULL, -1, triangulation, &err);
    scda_fclose (f, &err);
    if (err != 0) { return err; }
    distribute (solution);
    parallel::distributed::SolutionTransfer<dim, vector_t> transfer (dofs);
    transfer.deserialize (solution);
    solution.update_ghost_values ();
    return 0;
  }

  /* Each node is heated by the source, and cools. */
  void step () {
    adapt ();
    std::map<types::global_dof_index, Point<dim>> nodes;
    DoFTools::map_dofs_to_support_points (mapping, dofs, nodes);
    for (const auto &node : nodes) {
      if (solution.locally_owned_elements ().is_element (node.first)) {
        solution (node.first) += dt * (std::exp (-100 * node.second.distance_square (source (time))) - .2 * solution (node.first));
      }
    }
    make_continuous (solution);
    time += dt;
  }

  void report () {
    const double most = solution.linfty_norm (), all = solution.l1_norm ();
    if (Utilities::MPI::this_mpi_process (comm ()) == 0) {
      std::printf ("%.1f s: %u cells, %u nodes, maximum %.8f, sum %.6f\n", time, static_cast<unsigned> (triangulation.n_global_active_cells ()),
                   static_cast<unsigned> (dofs.n_dofs ()), most, all);
    }
  }

private:
  MPI_Comm comm () const { return triangulation.get_communicator (); }

  void distribute (vector_t &v) {
    dofs.distribute_dofs (fe);
    IndexSet relevant;
    DoFTools::extract_locally_relevant_dofs (dofs, relevant);
    v.reinit (dofs.locally_owned_dofs (), relevant, comm ());
  }

  /* Hanging nodes are what their neighbours say. */
  void make_continuous (vector_t &v) {
    IndexSet relevant;
    DoFTools::extract_locally_relevant_dofs (dofs, relevant);
    AffineConstraints<double> constraints (relevant);
    DoFTools::make_hanging_node_constraints (dofs, constraints);
    constraints.close ();
    v.zero_out_ghost_values ();
    constraints.distribute (v);
    v.update_ghost_values ();
  }

  /* Finer cells around the source, coarser ones after it. */
  void adapt () {
    for (const auto &cell : triangulation.active_cell_iterators ()) {
      if (!cell->is_locally_owned ()) { continue; }
      const double far = cell->center ().distance (source (time));
      cell->clear_coarsen_flag ();
      if (far < .15 && cell->level () < finest) { cell->set_refine_flag (); }
      if (far > .3 && cell->level () > coarsest) { cell->set_coarsen_flag (); }
    }
    if (solution.size () == 0) { return triangulation.execute_coarsening_and_refinement (); }
    parallel::distributed::SolutionTransfer<dim, vector_t> transfer (dofs);
    triangulation.prepare_coarsening_and_refinement ();
    transfer.prepare_for_coarsening_and_refinement (solution);
    triangulation.execute_coarsening_and_refinement ();
    vector_t adapted;
    distribute (adapted);
    transfer.interpolate (adapted);
    make_continuous (adapted);
    solution.swap (adapted);
  }

  parallel::distributed::Triangulation<dim> triangulation;
  FE_Q<dim> fe;
  MappingQ1<dim> mapping;
  DoFHandler<dim> dofs;
  vector_t solution;
  double time = 0;
};

int main (int argc, char **argv) {
  Utilities::MPI::MPI_InitFinalize mpi (argc, argv, 1);
  if (argc != 3) {
    std::fprintf (stderr, "dealii_restart STEPS FILE\n");
    return 2;
  }
  Heat heat (MPI_COMM_WORLD);
  int err = heat.load (argv[2]);
  if (err == SCDA_ERR_NO_SUCH_FILE) {
    heat.begin ();
    err = 0;
  }
  for (int k = 0; err == 0 && k < std::atoi (argv[1]); ++k) { heat.step (); }
  if (err == 0) { heat.report (); }
  if (err == 0) { err = heat.save (argv[2]); }
  if (err != 0) { std::fprintf (stderr, "dealii_restart: %s\n", scda_last_error_message ()); }
  return err != 0;
}
