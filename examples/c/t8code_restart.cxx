/* t8code_restart.cxx: a mesh of tetrahedra, hexahedra, prisms and pyramids follows a ball through a cube, checkpoints each step into one file,
 * and restarts from the last one on any number of ranks:
 *
 *   mpiexec -n 4 ./t8code_restart 3 ball.scda        # 3 steps
 *   mpiexec -n 2 ./t8code_restart 3 ball.scda        # 3 more, appended to the file
 *   scda vtk ball.scda                               # for ParaView
 *
 * What is of libscda is in `checkpoint` and `restart`.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <scda_t8code.hxx>

#include <t8_cmesh/t8_cmesh_examples.h>
#include <t8_schemes/t8_default/t8_default.hxx>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

/* The mesh that the program starts with, and restarts with. */
template <typename Make> static t8_cmesh_t coarse_mesh (Make *make, MPI_Comm comm) {
  if constexpr (std::is_invocable_v<Make *, MPI_Comm>) { return make (comm); } /* t8code 4.0.0 */
  else {
    t8_cmesh_t cmesh = nullptr;
    t8_cmesh_init (&cmesh);
    make (cmesh, comm);
    return cmesh;
  }
}

/* ---- The simulation ---- */

static double distance (double time, const double *x) { return std::hypot (x[0] - .2 - .1 * time, x[1] - .5, x[2] - .5) - .3; }

static int adapt (t8_forest_t forest, t8_forest_t from, t8_locidx_t which_tree, const t8_eclass_t tree_class, t8_locidx_t, const t8_scheme *scheme,
                  const int is_family, const int, t8_element_t *elements[]) {
  const double time = *static_cast<const double *> (t8_forest_get_user_data (forest));
  const int level = scheme->element_get_level (tree_class, elements[0]);
  double x[3];
  t8_forest_element_centroid (from, which_tree, elements[0], x);
  const double far = std::fabs (distance (time, x)) * (1 << level);
  return far < .5 && level < 4 ? 1 : is_family && far > 2. && level > 1 ? -1 : 0;
}

static t8_forest_t step (t8_forest_t forest, double time) {
  t8_forest_t next = nullptr;
  t8_forest_init (&next);
  t8_forest_set_user_data (next, &time);
  t8_forest_set_adapt (next, forest, adapt, 0);
  t8_forest_set_partition (next, nullptr, 0);
  t8_forest_commit (next);
  return next;
}

static std::vector<double> field_of (t8_forest_t forest, double time) {
  std::vector<double> values;
  for (t8_locidx_t t = 0; t < t8_forest_get_num_local_trees (forest); ++t) {
    for (t8_locidx_t i = 0; i < t8_forest_get_tree_num_leaf_elements (forest, t); ++i) {
      double x[3];
      t8_forest_element_centroid (forest, t, t8_forest_get_leaf_element_in_tree (forest, t, i), x);
      values.push_back (distance (time, x));
    }
  }
  return values;
}

/* ---- Checkpoint and restart ---- */

static scda_fcontext_t *checkpoint (scda_fcontext_t *f, t8_forest_t forest, double time, const std::vector<double> &values, int *err) {
  scda_dataset_t d;
  scda_dataset_init (&d);
  std::strcpy (d.name, "distance");
  d.type = SCDA_TYPE_FLOAT64;
  d.attributes = "{\"units\": \"m\"}";
  f = scda_t8code_write_step (f, nullptr, forest, time, "s", err);
  f = scda_t8code_write_field (f, nullptr, forest, &d, values.data (), err);
  return scda_fcommit (f, err); /* from here on, a job that is killed does not lose this step */
}

static int restart (const char *path, t8_forest_t *forest, double *time, std::vector<double> *values) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  int err = 0;
  scda_fcontext_t *f = scda_fopen_read (comm, path, nullptr, nullptr, nullptr, &err);
  f = scda_forest_read_time (f, nullptr, -1, time, &err);
  f = scda_t8code_read_forest (f, nullptr, -1, coarse_mesh (t8_cmesh_new_full_hybrid, comm), t8_scheme_new_default (), comm, forest, &err);
  if (f != nullptr) {
    values->resize (static_cast<size_t> (t8_forest_get_local_num_leaf_elements (*forest)));
    f = scda_t8code_read_field (f, nullptr, -1, *forest, "distance", SCDA_TYPE_FLOAT64, 1, values->data (), &err);
  }
  scda_fclose (f, &err);
  return err;
}

int main (int argc, char **argv) {
  int rank = 0, size = 0, err = 0;
  double time = 0.;
  t8_forest_t forest = nullptr;
  std::vector<double> values;
  scda_fcontext_t *f = nullptr;
  scda_params_t params;
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  sc_init (MPI_COMM_WORLD, 0, 0, nullptr, SC_LP_ERROR);
  t8_init (SC_LP_ERROR);
  if (argc != 3) {
    std::fprintf (stderr, "usage: %s STEPS FILE\n", argv[0]);
    MPI_Abort (MPI_COMM_WORLD, 2);
  }
  scda_params_init (&params);
  params.seal = 1;
  FILE *old = std::fopen (argv[2], "rb");
  int is_old = old != nullptr;
  if (old != nullptr) { std::fclose (old); }
  MPI_Bcast (&is_old, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (is_old) {
    err = restart (argv[2], &forest, &time, &values);
    if (err == 0 && values != field_of (forest, time)) { MPI_Abort (MPI_COMM_WORLD, 3); }
    if (err == 0 && rank == 0) {
      std::printf ("restarted at %g s with %lld elements on %d ranks: every value as computed anew\n", time,
                   static_cast<long long> (t8_forest_get_global_num_leaf_elements (forest)), size);
    }
    if (err == 0) { f = scda_fopen_append (MPI_COMM_WORLD, argv[2], nullptr, nullptr, &params, &err); }
  }
  else {
    forest = t8_forest_new_uniform (coarse_mesh (t8_cmesh_new_full_hybrid, MPI_COMM_WORLD), t8_scheme_new_default (), 2, 0, MPI_COMM_WORLD);
    f = scda_fopen_write (MPI_COMM_WORLD, argv[2], "a ball in a mesh of t8code", nullptr, &params, &err);
    f = scda_forest_write_about (f, &err);
  }
  for (int k = 0; f != nullptr && k < std::atoi (argv[1]); ++k) {
    time += 1.;
    forest = step (forest, time);
    f = checkpoint (f, forest, time, field_of (forest, time), &err);
    if (f != nullptr && rank == 0) {
      std::printf ("%g s: %lld elements on %d ranks\n", time, static_cast<long long> (t8_forest_get_global_num_leaf_elements (forest)), size);
    }
  }
  scda_fclose (f, &err);
  if (err != 0 && rank == 0) { std::fprintf (stderr, "%s\n", scda_last_error_message ()); }
  if (forest != nullptr) { t8_forest_unref (&forest); }
  sc_finalize ();
  MPI_Finalize ();
  return err != 0;
}
