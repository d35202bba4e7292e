/* t8code_dam.cxx: the dam break of p4est_dam.c, with the mesh of t8code. The file has the same cells, and the same values, bit by bit:
 *
 *   mpiexec -n 4 ./t8code_dam t8code.scda
 *   scda vtk t8code.scda
 *
 * What is of libscda is in `write_step`.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <scda_t8code.hxx>

#include <t8_forest/t8_forest_ghost.h>
#include <t8_geometry/t8_geometry_implementations/t8_geometry_linear.h>
#include <t8_schemes/t8_default/t8_default.hxx>

#include "dam.h"

#include <cstdio>
#include <vector>

/* A face between a local cell and another cell, or a wall. */
struct face_t {
  t8_locidx_t cell, other; /* numbers of cells; those of ghosts follow; -1: a wall */
  int face, half;
  other_t size;
};

struct basin_t {
  t8_forest_t forest;
  std::vector<cell_t> cells; /* the local ones, and after them copies of the ghosts */
  std::vector<face_t> faces;
};

/* ---- The basin ---- */

static t8_cmesh_t coarse_mesh (MPI_Comm comm) {
  t8_cmesh_t cmesh = nullptr;
  t8_cmesh_init (&cmesh);
  t8_cmesh_register_geometry (cmesh, t8_geometry_linear_new ());
  for (int t = 0; t < trees * trees; ++t) {
    const int x = t % trees, y = t / trees;
    double vertices[4][3];
    for (int corner = 0; corner < 4; ++corner) {
      vertices[corner][0] = tree_width * (x + (corner & 1));
      vertices[corner][1] = tree_width * (y + (corner >> 1));
      vertices[corner][2] = 0.;
    }
    t8_cmesh_set_tree_class (cmesh, t, T8_ECLASS_QUAD);
    t8_cmesh_set_tree_vertices (cmesh, t, vertices[0], 4);
    const bool dam = x + 1 == trees / 2 && (y < first_in_breach || y >= beyond_breach);
    if (x + 1 < trees && !dam) { t8_cmesh_set_join (cmesh, t, t + 1, 1, 0, 0); }
    if (y + 1 < trees) { t8_cmesh_set_join (cmesh, t, t + trees, 3, 2, 0); }
  }
  t8_cmesh_commit (cmesh, comm);
  return cmesh;
}

/* Calls `visit (number, tree, class, element)` for each local cell. */
template <typename Visit> static void each_cell (t8_forest_t forest, Visit visit) {
  t8_locidx_t number = 0;
  for (t8_locidx_t t = 0; t < t8_forest_get_num_local_trees (forest); ++t) {
    const t8_eclass_t tree_class = t8_forest_get_tree_class (forest, t);
    for (t8_locidx_t i = 0; i < t8_forest_get_tree_num_leaf_elements (forest, t); ++i) {
      visit (number++, t, tree_class, t8_forest_get_leaf_element_in_tree (forest, t, i));
    }
  }
}

static std::vector<int> levels_of (t8_forest_t forest) {
  std::vector<int> levels;
  each_cell (forest, [&] (t8_locidx_t, t8_locidx_t, t8_eclass_t tree_class, const t8_element_t *element) {
    levels.push_back (t8_forest_get_scheme (forest)->element_get_level (tree_class, element));
  });
  return levels;
}

/* The faces of the local cells, found once for each mesh. */
static void find_faces (basin_t *b) {
  const t8_scheme *scheme = t8_forest_get_scheme (b->forest);
  b->faces.clear ();
  each_cell (b->forest, [&] (t8_locidx_t cell, t8_locidx_t tree, t8_eclass_t tree_class, const t8_element_t *element) {
    for (int face = 0; face < cell_faces; ++face) {
      const t8_element_t **others = nullptr;
      t8_locidx_t *numbers = nullptr;
      int *their_faces = nullptr, count = 0;
      t8_eclass_t their_class;
      t8_forest_leaf_face_neighbors (b->forest, tree, element, &others, face, &their_faces, &count, &numbers, &their_class);
      if (count == 0) {
        b->faces.push_back ({ cell, -1, face, 0, as_large });
        continue;
      }
      const int along = 1 - face / 2; /* the axis of the face; all trees lie alike */
      double from[3], at[3];
      scheme->element_get_vertex_reference_coords (tree_class, element, 0, from);
      for (int i = 0; i < count; ++i) { /* between ranks, t8code 4.0 may name one of them twice */
        const int levels = scheme->element_get_level (their_class, others[i]) - scheme->element_get_level (tree_class, element);
        scheme->element_get_vertex_reference_coords (their_class, others[i], 0, at);
        b->faces.push_back ({ cell, numbers[i], face, at[along] > from[along], levels > 0 ? smaller : levels < 0 ? larger : as_large });
      }
      T8_FREE (others);
      T8_FREE (numbers);
      T8_FREE (their_faces);
    }
  });
  const size_t ghosts = static_cast<size_t> (t8_forest_get_num_ghosts (b->forest));
  b->cells.resize (static_cast<size_t> (t8_forest_get_local_num_leaf_elements (b->forest)) + ghosts);
}

/* The fluxes through all faces. Returns the speed of the fastest wave. */
static double sweep (basin_t *b) {
  double fastest = 0.;
  sc_array_t view;
  sc_array_init_data (&view, b->cells.data (), sizeof (cell_t), b->cells.size ());
  t8_forest_ghost_exchange_data (b->forest, &view);
  for (cell_t &cell : b->cells) { forget_fluxes (&cell); }
  for (const face_t &face : b->faces) {
    cell_t *cell = &b->cells[static_cast<size_t> (face.cell)];
    if (face.other < 0) { meet_wall (cell, face.face, &fastest); }
    else { meet (cell, &b->cells[static_cast<size_t> (face.other)], face.face, face.size, face.half, &fastest); }
  }
  MPI_Allreduce (MPI_IN_PLACE, &fastest, 1, MPI_DOUBLE, MPI_MAX, t8_forest_get_mpicomm (b->forest));
  return fastest;
}

/* ---- The mesh ---- */

static int should_change (t8_forest_t forest, t8_forest_t from, t8_locidx_t tree, const t8_eclass_t tree_class, t8_locidx_t number, const t8_scheme *scheme,
                          const int is_family, const int, t8_element_t *elements[]) {
  const auto *b = static_cast<const basin_t *> (t8_forest_get_user_data (forest));
  const cell_t *cell = &b->cells[static_cast<size_t> (t8_forest_get_tree_element_offset (from, tree) + number)];
  const int level = scheme->element_get_level (tree_class, elements[0]);
  bool should_coarsen = is_family;
  for (int i = 0; should_coarsen && i < cell_children; ++i) { should_coarsen = wants_coarser (cell + i, level); }
  return should_coarsen ? -1 : wants_finer (cell, level);
}

/* Gives the cells of a forest on the same ranks what those that stood in their place had, and takes it for the basin's. */
static void replace (basin_t *b, t8_forest_t next) {
  const std::vector<int> before = levels_of (b->forest), after = levels_of (next);
  const auto area = [] (int level) { return 1 << 2 * (finest - level); };
  std::vector<cell_t> cells (after.size ());
  for (size_t i = 0, k = 0; k < after.size ();) {
    int count = 1, covered = area (before[i]);
    for (; covered < area (after[k]); ++count) { covered += area (before[i + static_cast<size_t> (count)]); }
    cell_t all = {};
    for (int j = 0; j < count; ++j) { add_share (&all, &b->cells[i++], count); }
    for (; covered > 0; ++k) {
      cells[k] = all;
      covered -= area (after[k]);
    }
  }
  b->cells.swap (cells);
  t8_forest_unref (&b->forest);
  b->forest = next;
}

static void adapt (basin_t *b) {
  t8_forest_t next = nullptr;
  t8_forest_ref (b->forest);
  replace (b, t8_forest_new_adapt (b->forest, should_change, 0, 0, b));

  t8_forest_ref (b->forest);
  t8_forest_init (&next);
  t8_forest_set_balance (next, b->forest, 1);
  t8_forest_commit (next);
  replace (b, next);

  /* Families stay on one rank, so that all of them can be coarsened on any number of ranks. */
  t8_forest_ref (b->forest);
  t8_forest_init (&next);
  t8_forest_set_partition (next, b->forest, 1);
  t8_forest_set_ghost (next, 1, T8_GHOST_FACES);
  t8_forest_commit (next);
  std::vector<cell_t> cells (static_cast<size_t> (t8_forest_get_local_num_leaf_elements (next)));
  sc_array_t from, to;
  sc_array_init_data (&from, b->cells.data (), sizeof (cell_t), b->cells.size ());
  sc_array_init_data (&to, cells.data (), sizeof (cell_t), cells.size ());
  t8_forest_partition_data (b->forest, next, &from, &to);
  b->cells.swap (cells);
  t8_forest_unref (&b->forest);
  b->forest = next;
  find_faces (b);
}

/* ---- The file ---- */

static scda_fcontext_t *write_step (scda_fcontext_t *f, const basin_t &b, double time, int *err) {
  const size_t count = static_cast<size_t> (t8_forest_get_local_num_leaf_elements (b.forest));
  std::vector<double> depth, velocity;
  for (size_t i = 0; i < count; ++i) {
    const state_t &state = b.cells[i].now;
    depth.push_back (state.h);
    velocity.push_back (state.hu / state.h);
    velocity.push_back (state.hv / state.h);
  }
  scda_dataset_t field;
  scda_dataset_init (&field);
  field.type = SCDA_TYPE_FLOAT64;
  f = scda_t8code_write_step (f, nullptr, b.forest, time, "s", err);
  strcpy (field.name, "depth");
  field.attributes = "{\"units\": \"m\", \"long_name\": \"depth of the water\"}";
  f = scda_t8code_write_field (f, nullptr, b.forest, &field, depth.data (), err);
  strcpy (field.name, "velocity");
  field.attributes = "{\"units\": \"m s-1\", \"long_name\": \"velocity of the water in x and y\"}";
  field.ndims = 2;
  field.shape[1] = 2;
  f = scda_t8code_write_field (f, nullptr, b.forest, &field, velocity.data (), err);
  return scda_fcommit (f, err);
}

int main (int argc, char **argv) {
  int err = 0, rank = 0;
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  if (argc != 2) {
    if (rank == 0) { std::fprintf (stderr, "usage: t8code_dam FILE\n"); }
    MPI_Finalize ();
    return 1;
  }
  sc_init (MPI_COMM_WORLD, 0, 0, nullptr, SC_LP_ERROR);
  t8_init (SC_LP_ERROR);
  basin_t b = { t8_forest_new_uniform (coarse_mesh (MPI_COMM_WORLD), t8_scheme_new_default (), coarsest, 1, MPI_COMM_WORLD), {}, {} };
  each_cell (b.forest, [&] (t8_locidx_t, t8_locidx_t tree, t8_eclass_t, const t8_element_t *) {
    b.cells.push_back (cell_at_start (static_cast<int> (t8_forest_global_tree_id (b.forest, tree))));
  });
  find_faces (&b);
  /* The mesh of time 0 is fine at the breach. */
  for (int level = coarsest; level < finest; ++level) {
    sweep (&b);
    adapt (&b);
  }

  scda_fcontext_t *f = scda_fopen_write (MPI_COMM_WORLD, argv[1], "t8code_dam.cxx: a dam breaks", nullptr, nullptr, &err);
  f = scda_forest_write_about (f, &err);
  f = scda_t8code_write_group (f, nullptr, b.forest, "{\"title\": \"Partial dam break\", \"code\": \"t8code_dam.cxx\"}", &err);
  f = write_step (f, b, 0., &err);

  double time = 0.;
  int outputs = 1;
  for (int step = 0; f != nullptr && time < end_time; ++step) {
    const double next = std::fmin (outputs * time_between_outputs, end_time);
    const double fastest = sweep (&b);
    const double dt = std::fmin (courant_number * width_of_level (finest) / fastest, next - time);
    const std::vector<int> levels = levels_of (b.forest);
    for (size_t i = 0; i < levels.size (); ++i) { add_fluxes (&b.cells[i], dt, width_of_level (levels[i])); }
    time = time + dt < next ? time + dt : next;
    if (time == next) {
      f = write_step (f, b, time, &err);
      ++outputs;
    }
    if (step % steps_between_meshes == 0) { adapt (&b); }
  }
  scda_fclose (f, &err);
  if (rank == 0 && err == 0) {
    std::printf ("%s: %d time steps, %lld cells in the last one\n", argv[1], outputs, static_cast<long long> (t8_forest_get_global_num_leaf_elements (b.forest)));
  }
  if (rank == 0 && err != 0) { std::fprintf (stderr, "%s\n", scda_last_error_message ()); }
  t8_forest_unref (&b.forest);
  sc_finalize ();
  MPI_Finalize ();
  return err != 0;
}
