/* t8code_save.cxx: what two functions of t8code that are empty would do with libscda, t8_forest_save and t8_forest_set_load. The functions
 * below have their place; they call nothing but public functions of t8code and libscda. docs/t8code.md says where they belong.
 *
 *   mpiexec -n 4 ./t8code_save save forest.scda
 *   mpiexec -n 2 ./t8code_save load forest.scda      # the same forest, on other ranks
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <scda_t8code.hxx>

#include <t8_cmesh/t8_cmesh_examples.h>
#include <t8_schemes/t8_default/t8_default.hxx>

#include <cstdio>
#include <cstring>
#include <type_traits>

/* ---- For t8code ---- */

/* In the place of t8_forest_save. Returns 0 or an error code, the same on all ranks; an error leaves an older file as it was. */
static int forest_save (t8_forest_t forest, const char *filename) { return scda_t8code_save (filename, forest); }

/* What t8_forest_commit would do for a forest with t8_forest_set_load. From outside, the forest that was read is the source of `forest`, in
 * t8code's own partition; in t8code, which sees its members, `forest` would take over its trees. Takes cmesh and scheme, as
 * t8_forest_set_cmesh and t8_forest_set_scheme do. Returns whether it has succeeded, the same on all ranks; if not, `forest` is as it was,
 * and scda_last_error_message says why. */
static bool forest_commit_loaded (t8_forest_t forest, const char *filename, t8_cmesh_t cmesh, const t8_scheme *scheme, MPI_Comm comm) {
  t8_forest_t loaded = scda_t8code_load (filename, cmesh, scheme, comm);
  if (loaded == nullptr) { return false; }
  t8_forest_set_partition (forest, loaded, 0);
  t8_forest_commit (forest);
  return true;
}

/* ---- A program that uses them ---- */

template <typename Make> static t8_cmesh_t coarse_mesh (Make *make, MPI_Comm comm) {
  if constexpr (std::is_invocable_v<Make *, MPI_Comm>) { return make (comm); } /* t8code 4.0.0 */
  else {
    t8_cmesh_t cmesh = nullptr;
    t8_cmesh_init (&cmesh);
    make (cmesh, comm);
    return cmesh;
  }
}

/* Refines in every tree the first element of each family twice. */
static int refine (t8_forest_t, t8_forest_t, t8_locidx_t, const t8_eclass_t tree_class, t8_locidx_t, const t8_scheme *scheme, const int, const int,
                   t8_element_t *elements[]) {
  return scheme->element_get_level (tree_class, elements[0]) < 3 && scheme->element_get_child_id (tree_class, elements[0]) == 0;
}

static t8_forest_t made_anew (MPI_Comm comm) {
  t8_forest_t uniform = t8_forest_new_uniform (coarse_mesh (t8_cmesh_new_full_hybrid, comm), t8_scheme_new_default (), 1, 0, comm);
  t8_forest_t adapted = nullptr;
  t8_forest_t forest = nullptr;
  t8_forest_init (&adapted);
  t8_forest_set_adapt (adapted, uniform, refine, 1);
  t8_forest_commit (adapted);
  t8_forest_init (&forest);
  t8_forest_set_partition (forest, adapted, 0);
  t8_forest_commit (forest);
  return forest;
}

int main (int argc, char **argv) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  int rank = 0, size = 0, same = 1;
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  sc_init (comm, 0, 0, nullptr, SC_LP_ERROR);
  t8_init (SC_LP_ERROR);
  if (argc != 3 || (std::strcmp (argv[1], "save") != 0 && std::strcmp (argv[1], "load") != 0)) {
    std::fprintf (stderr, "usage: %s save|load FILE\n", argv[0]);
    MPI_Abort (comm, 2);
  }
  const bool loads = std::strcmp (argv[1], "load") == 0;
  t8_forest_t forest = made_anew (comm);
  bool done;
  if (!loads) { done = forest_save (forest, argv[2]) == 0; }
  else {
    const t8_scheme *scheme = t8_forest_get_scheme (forest); /* t8_forest_is_equal expects one scheme */
    t8_forest_t loaded = nullptr;
    t8_forest_init (&loaded);
    scheme->ref ();
    done = forest_commit_loaded (loaded, argv[2], coarse_mesh (t8_cmesh_new_full_hybrid, comm), scheme, comm);
    if (done) {
      same = t8_forest_is_equal (forest, loaded);
      MPI_Allreduce (MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, comm);
    }
    t8_forest_unref (&loaded);
  }
  if (rank == 0 && done) {
    std::printf ("%s %lld elements on %d ranks%s\n", loads ? "loaded" : "saved",
                 static_cast<long long> (t8_forest_get_global_num_leaf_elements (forest)), size,
                 !loads ? "" : same ? ": the same as made anew" : ", OTHERS than made anew");
  }
  if (rank == 0 && !done) { std::fprintf (stderr, "%s\n", scda_last_error_message ()); }
  t8_forest_unref (&forest);
  sc_finalize ();
  MPI_Finalize ();
  return !done || !same;
}
