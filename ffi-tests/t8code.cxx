/* Forests of t8code, written and restarted on any numbers of ranks: mpiexec -n 4 ./t8code FOLDER [SHAPE...]
 *
 * For each shape and each kind of refinement, groups of 1 to 4 ranks write the same file; groups of 1 to 4 ranks read it, and every element
 * is compared with the forest that was written, its fields with what belongs to the element. */
#include <scda_t8code.hxx>

#include <t8_cmesh/t8_cmesh_examples.h>
#include <t8_schemes/t8_default/t8_default.hxx>

#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

static int world_rank, world_size;

#define REQUIRE(condition)                                                                                                      \
  do {                                                                                                                          \
    if (!(condition)) {                                                                                                         \
      std::fprintf (stderr, "rank %d, line %d: %s\n  %s\n", world_rank, __LINE__, #condition, scda_last_error_message ());     \
      MPI_Abort (MPI_COMM_WORLD, 1);                                                                                            \
    }                                                                                                                           \
  } while (0)

#include "changed.h"
#include "inject.h"

/* ---- Meshes ---- */

static const char *const shapes[] = { "line", "quad", "triangle", "hex", "tet", "prism", "pyramid", "hybrid2d", "hybrid3d", "full-hybrid", "periodic",
                                      "brick", "zigzag", "partitioned" };

/* A cmesh by a function of t8code: those of 4.0.0 return one, later ones fill one. */
template <typename Make, typename... Arguments> static t8_cmesh_t made (Make *make, Arguments... arguments) {
  if constexpr (std::is_invocable_v<Make *, Arguments...>) { return make (arguments...); }
  else {
    t8_cmesh_t cmesh = nullptr;
    t8_cmesh_init (&cmesh);
    if constexpr (std::is_invocable_v<Make *, t8_cmesh_t, Arguments...>) { make (cmesh, arguments...); }
    else { make (&cmesh, arguments...); }
    return cmesh;
  }
}

template <typename Make> static t8_cmesh_t hybrid (Make *make, MPI_Comm comm) {
  if constexpr (std::is_invocable_v<Make *, MPI_Comm, int, int>) { return make (comm, 0, 0); }
  else { return made (make, comm, 0); }
}

static t8_cmesh_t cmesh_of (const std::string &shape, MPI_Comm comm) {
  const t8_eclass_t classes[] = { T8_ECLASS_LINE, T8_ECLASS_QUAD, T8_ECLASS_TRIANGLE, T8_ECLASS_HEX, T8_ECLASS_TET, T8_ECLASS_PRISM, T8_ECLASS_PYRAMID };
  for (int c = 0; c < 7; ++c) {
    if (shape == shapes[c]) { return made (t8_cmesh_new_hypercube, classes[c], comm, 0, 0, 0); }
  }
  if (shape == "hybrid2d") { return made (t8_cmesh_new_periodic_hybrid, comm); }
  if (shape == "hybrid3d") { return hybrid (t8_cmesh_new_hypercube_hybrid, comm); }
  if (shape == "full-hybrid") { return made (t8_cmesh_new_full_hybrid, comm); }
  if (shape == "periodic") { return made (t8_cmesh_new_periodic, comm, 3); }
  if (shape == "brick") { return made (t8_cmesh_new_brick_2d, t8_gloidx_t (5), t8_gloidx_t (3), 0, 1, comm); }
  if (shape == "zigzag") { return made (t8_cmesh_new_line_zigzag, comm); }
  REQUIRE (shape == "partitioned");
  t8_cmesh_t cmesh = nullptr;
  t8_cmesh_init (&cmesh);
  t8_cmesh_set_derive (cmesh, made (t8_cmesh_new_full_hybrid, comm));
  t8_cmesh_set_partition_uniform (cmesh, 0, t8_scheme_new_default ());
  t8_cmesh_commit (cmesh, comm);
  return cmesh;
}

/* A number that belongs to an element, whoever has it. */
static uint64_t hash_of (const t8_scheme *scheme, t8_gloidx_t tree, t8_eclass_t tree_class, const t8_element_t *element) {
  const int level = scheme->element_get_level (tree_class, element);
  uint64_t h = static_cast<uint64_t> (tree) * 1000003u + static_cast<uint64_t> (level) * 7919u + scheme->element_get_linear_id (tree_class, element, level) * 31u;
  h ^= h >> 17;
  h *= 0xed5ad4bbac4c1b51u;
  h ^= h >> 31;
  return h;
}

struct refinement_t {
  int deepest;
  bool holes;
};

static int refine (t8_forest_t forest, t8_forest_t from, t8_locidx_t which_tree, const t8_eclass_t tree_class, t8_locidx_t, const t8_scheme *scheme,
                   const int, const int, t8_element_t *elements[]) {
  const auto *r = static_cast<const refinement_t *> (t8_forest_get_user_data (forest));
  const uint64_t h = hash_of (scheme, t8_forest_global_tree_id (from, which_tree), tree_class, elements[0]);
  return scheme->element_get_level (tree_class, elements[0]) < r->deepest && h % 3 != 0;
}

static int remove_some (t8_forest_t, t8_forest_t from, t8_locidx_t which_tree, const t8_eclass_t tree_class, t8_locidx_t, const t8_scheme *scheme, const int,
                        const int, t8_element_t *elements[]) {
  const int level = scheme->element_get_level (tree_class, elements[0]);
  if (level == 0 || scheme->element_get_linear_id (tree_class, elements[0], level) == 0) { return 0; } /* each tree keeps some */
  return hash_of (scheme, t8_forest_global_tree_id (from, which_tree), tree_class, elements[0]) % 5 == 0 ? -2 : 0;
}

static t8_forest_t forest_of (const std::string &shape, int level, refinement_t r, MPI_Comm comm) {
  t8_forest_t forest = t8_forest_new_uniform (cmesh_of (shape, comm), t8_scheme_new_default (), level, 0, comm), partitioned = nullptr;
  if (r.deepest > level) { forest = t8_forest_new_adapt (forest, refine, 1, 0, &r); }
  if (r.holes) { forest = t8_forest_new_adapt (forest, remove_some, 0, 0, &r); }
  t8_forest_init (&partitioned);
  t8_forest_set_partition (partitioned, forest, 0);
  t8_forest_commit (partitioned);
  return partitioned;
}

/* ---- Fields ---- */

struct fields_t {
  std::vector<uint64_t> number;
  std::vector<double> middle;
  std::vector<int64_t> counts; /* of the corners */
  std::vector<double> corners;
};

static fields_t fields_of (t8_forest_t forest) {
  const t8_scheme *scheme = t8_forest_get_scheme (forest);
  fields_t f;
  for (t8_locidx_t t = 0; t < t8_forest_get_num_local_trees (forest); ++t) {
    const t8_eclass_t tree_class = t8_forest_get_tree_class (forest, t);
    for (t8_locidx_t i = 0; i < t8_forest_get_tree_num_leaf_elements (forest, t); ++i) {
      const t8_element_t *element = t8_forest_get_leaf_element_in_tree (forest, t, i);
      double xyz[3];
      f.number.push_back (hash_of (scheme, t8_forest_global_tree_id (forest, t), tree_class, element));
      f.counts.push_back (scheme->element_get_num_corners (tree_class, element));
      for (int c = 0; c < f.counts.back (); ++c) {
        t8_forest_element_coordinate (forest, t, element, c, xyz);
        f.corners.insert (f.corners.end (), xyz, xyz + 3);
      }
      t8_forest_element_centroid (forest, t, element, xyz);
      f.middle.insert (f.middle.end (), xyz, xyz + 3);
    }
  }
  return f;
}

static void write (const char *path, t8_forest_t forest, MPI_Comm comm) {
  const fields_t values = fields_of (forest);
  int err = 0;
  scda_dataset_t d;
  scda_params_t params;
  scda_params_init (&params);
  params.seal = 1;
  scda_fcontext_t *f = scda_fopen_write (comm, path, "t8code", nullptr, &params, &err);
  if (f != nullptr) { f = scda_t8code_write_step (f, nullptr, forest, 0., "s", &err); }
  scda_dataset_init (&d);
  std::strcpy (d.name, "number");
  d.type = SCDA_TYPE_UINT64;
  if (f != nullptr) { f = scda_t8code_write_field (f, nullptr, forest, &d, values.number.data (), &err); }
  std::strcpy (d.name, "middle");
  d.type = SCDA_TYPE_FLOAT64;
  d.ndims = 2;
  d.shape[1] = 3;
  if (f != nullptr) { f = scda_t8code_write_step (f, nullptr, forest, .5, "s", &err); } /* neither trees nor mesh again */
  if (f != nullptr) { f = scda_t8code_write_field (f, nullptr, forest, &d, values.middle.data (), &err); }
  std::strcpy (d.name, "corners");
  if (f != nullptr) { f = scda_t8code_write_ragged (f, nullptr, forest, &d, values.counts.data (), values.corners.data (), &err); }
  REQUIRE (f != nullptr && scda_fclose (f, &err) == 0);
}

static bool close (const std::vector<double> &a, const std::vector<double> &b) { return a == b; }

/* Reads it; `same` is the forest that was written, in the partition that is read, or NULL. */
static t8_forest_t restart (const char *path, const std::string &shape, MPI_Comm comm) {
  int err = 0;
  t8_forest_t forest = nullptr;
  scda_params_t params;
  scda_params_init (&params);
  params.verify = 1;
  scda_fcontext_t *f = scda_fopen_read (comm, path, nullptr, nullptr, &params, &err);
  if (f != nullptr) { f = scda_t8code_read_forest (f, nullptr, -1, cmesh_of (shape, comm), t8_scheme_new_default (), comm, &forest, &err); }
  REQUIRE (f != nullptr);
  const fields_t expected = fields_of (forest);
  fields_t found;
  found.number.resize (expected.number.size ());
  found.middle.resize (expected.middle.size ());
  found.counts.resize (expected.counts.size ());
  f = scda_t8code_read_field (f, nullptr, 0, forest, "number", SCDA_TYPE_UINT64, 1, found.number.data (), &err);
  if (f != nullptr) { f = scda_t8code_read_field (f, nullptr, -1, forest, "middle", SCDA_TYPE_FLOAT64, 3, found.middle.data (), &err); }
  if (f != nullptr) { f = scda_t8code_read_counts (f, nullptr, 1, forest, "corners", found.counts.data (), &err); }
  REQUIRE (f != nullptr && found.counts == expected.counts && found.number == expected.number && close (found.middle, expected.middle));
  found.corners.resize (expected.corners.size ());
  f = scda_t8code_read_ragged (f, nullptr, 1, forest, "corners", SCDA_TYPE_FLOAT64, 3, found.counts.data (), found.corners.data (), &err);
  REQUIRE (f != nullptr && close (found.corners, expected.corners) && scda_fclose (f, &err) == 0);
  return forest;
}

/* Whether two forests have the same elements on this rank. (t8_forest_is_equal wants them to have the same scheme object, too.) */
static bool are_equal (t8_forest_t a, t8_forest_t b) {
  const t8_scheme *scheme = t8_forest_get_scheme (a);
  bool equal = t8_forest_get_num_local_trees (a) == t8_forest_get_num_local_trees (b);
  for (t8_locidx_t t = 0; equal && t < t8_forest_get_num_local_trees (a); ++t) {
    const t8_eclass_t tree_class = t8_forest_get_tree_class (a, t);
    const t8_locidx_t n = t8_forest_get_tree_num_leaf_elements (a, t);
    equal = t8_forest_global_tree_id (a, t) == t8_forest_global_tree_id (b, t) && tree_class == t8_forest_get_tree_class (b, t) &&
            n == t8_forest_get_tree_num_leaf_elements (b, t);
    for (t8_locidx_t i = 0; equal && i < n; ++i) {
      equal = scheme->element_is_equal (tree_class, t8_forest_get_leaf_element_in_tree (a, t, i), t8_forest_get_leaf_element_in_tree (b, t, i));
    }
  }
  return equal;
}

/* Compares a forest with what was written, in its partition. */
static void same_elements (t8_forest_t forest, const std::string &shape, int level, refinement_t r, MPI_Comm comm) {
  t8_forest_t again = forest_of (shape, level, r, comm), moved = nullptr;
  REQUIRE (t8_forest_get_global_num_leaf_elements (again) == t8_forest_get_global_num_leaf_elements (forest));
  t8_forest_init (&moved);
  t8_forest_set_partition (moved, again, 0);
  t8_forest_commit (moved);
  REQUIRE (are_equal (forest, moved));
  t8_forest_unref (&moved);
}

/* t8code goes on with it. */
static void goes_on (t8_forest_t forest, bool holes) {
  refinement_t r = { 3, false };
  t8_forest_t next = nullptr;
  t8_forest_ref (forest);
  t8_forest_init (&next);
  t8_forest_set_user_data (next, &r);
  t8_forest_set_adapt (next, forest, refine, 0);
  t8_forest_set_partition (next, nullptr, 0);
  if (!holes) { t8_forest_set_ghost (next, 1, T8_GHOST_FACES); }
  t8_forest_commit (next);
  REQUIRE (t8_forest_get_global_num_leaf_elements (next) >= t8_forest_get_global_num_leaf_elements (forest));
  t8_forest_unref (&next);
}

/* Ranks 0 to n - 1; MPI_COMM_NULL on others. */
static MPI_Comm group_of (int n) {
  MPI_Comm comm;
  MPI_Comm_split (MPI_COMM_WORLD, world_rank < n ? 0 : MPI_UNDEFINED, world_rank, &comm);
  return comm;
}

static void test (const char *folder, const std::string &shape, int level, refinement_t r) {
  const std::string path = std::string (folder) + "/" + shape + "-" + std::to_string (level) + std::to_string (r.deepest) + (r.holes ? "-holes" : "");
  std::string first;
  for (int writers = 1; writers <= world_size; ++writers) {
    const std::string file = path + "-" + std::to_string (writers) + ".scda";
    MPI_Comm comm = group_of (writers);
    if (comm != MPI_COMM_NULL) {
      t8_forest_t forest = forest_of (shape, level, r, comm);
      write (file.c_str (), forest, comm);
      t8_forest_unref (&forest);
      MPI_Comm_free (&comm);
    }
    MPI_Barrier (MPI_COMM_WORLD);
    if (world_rank == 0) { /* the same bytes */
      std::string bytes;
      char buffer[4096];
      size_t n;
      FILE *stream = std::fopen (file.c_str (), "rb");
      REQUIRE (stream != nullptr);
      while ((n = std::fread (buffer, 1, sizeof buffer, stream)) > 0) { bytes.append (buffer, n); }
      std::fclose (stream);
      REQUIRE (writers == 1 || bytes == first);
      first = bytes;
    }
    for (int readers = 1; readers <= world_size; ++readers) {
      comm = group_of (readers);
      if (comm != MPI_COMM_NULL) {
        t8_forest_t forest = restart (file.c_str (), shape, comm);
        same_elements (forest, shape, level, r, comm);
        goes_on (forest, r.holes);
        t8_forest_unref (&forest);
        MPI_Comm_free (&comm);
      }
      MPI_Barrier (MPI_COMM_WORLD);
    }
  }
}

/* What does not fit is refused on all ranks, with the reason. */
static void refused (const char *path, const std::string &shape, const char *reason) {
  int err = 0;
  t8_forest_t forest = nullptr;
  scda_fcontext_t *f = scda_fopen_read (MPI_COMM_WORLD, path, nullptr, nullptr, nullptr, &err);
  REQUIRE (f != nullptr);
  f = scda_t8code_read_forest (f, nullptr, -1, cmesh_of (shape, MPI_COMM_WORLD), t8_scheme_new_default (), MPI_COMM_WORLD, &forest, &err);
  REQUIRE (f == nullptr && forest == nullptr && err == SCDA_ERR_ARG && std::strstr (scda_last_error_message (), reason) != nullptr);
}

static void errors (const char *folder) {
  const std::string path = std::string (folder) + "/errors.scda", other = std::string (folder) + "/other.scda";
  const refinement_t r = { 3, false };
  t8_forest_t forest = forest_of ("hex", 1, r, MPI_COMM_WORLD), finer = forest_of ("hex", 2, r, MPI_COMM_WORLD);
  int err = 0;
  REQUIRE (scda_t8code_save (path.c_str (), forest) == 0);
  refused (path.c_str (), "quad", "dimensions");
  refused (path.c_str (), "tet", "found 6 trees, expected 1");
  refused (path.c_str (), "periodic", "across it, expected tree");
  t8_forest_t loaded = scda_t8code_load (path.c_str (), cmesh_of ("hex", MPI_COMM_WORLD), t8_scheme_new_default (), MPI_COMM_WORLD);
  REQUIRE (loaded != nullptr);
  t8_forest_unref (&loaded);
  REQUIRE (scda_t8code_load ("/nonexistent", cmesh_of ("hex", MPI_COMM_WORLD), t8_scheme_new_default (), MPI_COMM_WORLD) == nullptr);

  /* A field of another mesh. */
  scda_dataset_t d;
  std::vector<double> values (static_cast<size_t> (t8_forest_get_local_num_leaf_elements (finer)));
  scda_dataset_init (&d);
  std::strcpy (d.name, "density");
  d.type = SCDA_TYPE_FLOAT64;
  scda_fcontext_t *f = scda_fopen_write (MPI_COMM_WORLD, other.c_str (), "", nullptr, nullptr, &err);
  f = scda_t8code_write_forest (f, nullptr, forest, &err);
  REQUIRE (f != nullptr);
  f = scda_t8code_write_field (f, nullptr, finer, &d, values.data (), &err);
  REQUIRE (f == nullptr && err == SCDA_ERR_USAGE && std::strstr (scda_last_error_message (), "scda_t8code_write_mesh") != nullptr);
  t8_forest_unref (&finer);
  t8_forest_unref (&forest);
}

/* Reads a forest with a field from a file that may be anything: an error, the same on all ranks, or a forest. Returns whether it could be read. */
static bool attempt (const std::string &path, const std::string &shape, uint64_t seed) {
  int err = 0, least = 0, most = 0;
  t8_forest_t forest = nullptr;
  std::vector<double> middle;
  scda_fcontext_t *f = scda_fopen_read (MPI_COMM_WORLD, path.c_str (), nullptr, nullptr, nullptr, &err);
  f = scda_t8code_read_forest (f, nullptr, -1, cmesh_of (shape, MPI_COMM_WORLD), t8_scheme_new_default (), MPI_COMM_WORLD, &forest, &err);
  if (f != nullptr) {
    middle.resize (3 * static_cast<size_t> (t8_forest_get_local_num_leaf_elements (forest)) + 1);
    f = scda_t8code_read_field (f, nullptr, -1, forest, "middle", SCDA_TYPE_FLOAT64, 3, middle.data (), &err);
  }
  MPI_Allreduce (&err, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce (&err, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (least != most || (f == nullptr) != (err != 0) || err == SCDA_ERR_INTERNAL || err == SCDA_ERR_MPI || (err != 0 && *scda_last_error_message () == 0)) {
    std::fprintf (stderr, "%s, seed %llu, rank %d: error %d, of %d to %d: %s\n", shape.c_str (), static_cast<unsigned long long> (seed), world_rank, err, least,
                  most, scda_last_error_message ());
    MPI_Abort (MPI_COMM_WORLD, 1);
  }
  if (forest != nullptr) { t8_forest_unref (&forest); }
  if (f != nullptr) { scda_fclose (f, &err); }
  return f != nullptr;
}

/* Files with right checksums that were changed at random, and files that were cut. */
static void fuzz (const char *folder, const std::string &shape, int count, uint64_t first) {
  const std::string path = std::string (folder) + "/good-" + shape + ".scda", bad = std::string (folder) + "/bad-" + shape + ".scda";
  int good = 0, written = 0;
  t8_forest_t forest = forest_of (shape, 0, { 1, false }, MPI_COMM_WORLD);
  write (path.c_str (), forest, MPI_COMM_WORLD);
  t8_forest_unref (&forest);
  REQUIRE (attempt (path, shape, 0));
  file_t all = datasets_of (path.c_str (), 0);
  for (int k = 0; k < count; ++k) {
    const uint64_t seed = first + static_cast<uint64_t> (k);
    int err = 0;
    MPI_Barrier (MPI_COMM_WORLD); /* nobody reads the file that was there */
    if (world_rank == 0) { err = write_changed (bad.c_str (), &all, seed); }
    MPI_Bcast (&err, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (err != 0) { continue; }
    ++written;
    good += attempt (bad, shape, seed);
  }
  free_datasets (&all);
  for (int k = 0; k < count / 8; ++k) {
    uint64_t state = first + static_cast<uint64_t> (k);
    MPI_Barrier (MPI_COMM_WORLD);
    if (world_rank == 0) {
      char buffer[1 << 16];
      FILE *from = std::fopen (path.c_str (), "rb"), *to = std::fopen (bad.c_str (), "wb");
      REQUIRE (from != nullptr && to != nullptr);
      const size_t bytes = std::fread (buffer, 1, sizeof buffer, from), kept = draw (&state, bytes);
      REQUIRE (std::fwrite (buffer, 1, kept, to) == kept);
      std::fclose (from);
      std::fclose (to);
    }
    MPI_Barrier (MPI_COMM_WORLD);
    REQUIRE (!attempt (bad, shape, state));
  }
  if (world_rank == 0) {
    std::printf ("%s, seeds %llu to %llu: %d of %d changed forests can be read\n", shape.c_str (), static_cast<unsigned long long> (first),
                 static_cast<unsigned long long> (first) + static_cast<unsigned long long> (count) - 1, good, written);
  }
  REQUIRE (written > count / 2 && good < written);
}

/* Accesses that fail on one rank: the same error on all ranks, and the file that was there stays. */
static void faults (const char *folder) {
  const std::string path = std::string (folder) + "/faults.scda";
  const refinement_t r = { 2, false };
  int size = 0, failed = 0;
  t8_forest_t forest = forest_of ("hybrid3d", 0, r, MPI_COMM_WORLD);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  REQUIRE (scda_t8code_save (path.c_str (), forest) == 0);
  for (int who = 0; who < size; ++who) {
    for (int k = 0; k < 12; ++k) {
      static const int every[] = { 1, 2, 3, 5, 8, 13 };
      int err = 0, least = 0, most = 0;
      if (world_rank == who) { inject_random (static_cast<std::uint64_t> (every[k / 2]), static_cast<std::uint64_t> (k)); }
      if (k % 2 == 0) { err = scda_t8code_save (path.c_str (), forest); }
      else {
        t8_forest_t loaded = scda_t8code_load (path.c_str (), cmesh_of ("hybrid3d", MPI_COMM_WORLD), t8_scheme_new_default (), MPI_COMM_WORLD);
        err = loaded == nullptr;
        if (loaded != nullptr) { t8_forest_unref (&loaded); }
      }
      inject_disarm ();
      MPI_Allreduce (&err, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
      MPI_Allreduce (&err, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
      REQUIRE (least == most);
      failed += err != 0;
      t8_forest_t loaded = scda_t8code_load (path.c_str (), cmesh_of ("hybrid3d", MPI_COMM_WORLD), t8_scheme_new_default (), MPI_COMM_WORLD);
      REQUIRE (loaded != nullptr);
      same_elements (loaded, "hybrid3d", 0, r, MPI_COMM_WORLD);
      t8_forest_unref (&loaded);
    }
  }
  REQUIRE (failed > 0);
  t8_forest_unref (&forest);
}

int main (int argc, char **argv) {
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size (MPI_COMM_WORLD, &world_size);
  sc_init (MPI_COMM_WORLD, 0, 0, nullptr, SC_LP_ERROR);
  t8_init (SC_LP_ERROR);
  REQUIRE (argc > 1);
  std::vector<std::string> chosen (argv + 2, argv + argc);
  if (argc == 2) {
    chosen.assign (std::begin (shapes), std::end (shapes));
    errors (argv[1]);
    faults (argv[1]);
  }
  if (argc >= 5 && std::string (argv[2]) == "fuzz") { /* fuzz COUNT SEED [SHAPE]... */
    chosen.assign (argv + 5, argv + argc);
    if (argc == 5) { chosen = { "triangle", "hybrid3d", "pyramid" }; }
    for (const std::string &shape : chosen) { fuzz (argv[1], shape, std::atoi (argv[3]), std::strtoull (argv[4], nullptr, 10)); }
    chosen.clear ();
  }
  for (const std::string &shape : chosen) {
    const refinement_t kinds[] = { { 0, false }, { 2, false }, { 3, false }, { 2, true } };
    for (const refinement_t &r : kinds) {
      test (argv[1], shape, r.deepest == 0 ? 0 : r.deepest == 2 && !r.holes ? 2 : 1, r);
    }
    if (world_rank == 0) { std::printf ("%s: every element, restarted on 1 to %d ranks\n", shape.c_str (), world_size); }
  }
  sc_finalize ();
  MPI_Finalize ();
  return 0;
}
