/* meshes.cpp: scda_meshes.hpp, what the example examples/c/meshes.cpp does not do: meshes FOLDER. What is wrong on one rank is an error of
 * all, in the same words; shares of one's own; particles without cells; components; a mesh without numbers. */
#include <scda_meshes.hpp>

#include <cstdio>

namespace {

int rank, size, failures;

#define CHECK(condition) \
  do { \
    if (!(condition)) { std::fprintf (stderr, "line %d, rank %d: %s\n", __LINE__, rank, #condition), ++failures; } \
  } while (0)

/* All ranks must throw this code, with these words. */
template <typename F> void expect (int line, int code, const char *words, F function) {
  try {
    function ();
    std::fprintf (stderr, "line %d, rank %d: no error\n", line, rank), ++failures;
  } catch (const scda::error &e) {
    if (e.code () != code || std::string (e.what ()).find (words) == std::string::npos) {
      std::fprintf (stderr, "line %d, rank %d: found %d, %s\n", line, rank, e.code (), e.what ()), ++failures;
    }
  }
}

const std::array<std::int32_t, 2> ratio { { 1, 1 } };
const std::array<double, 4> geometry { { 0, 0, 1, 1 } };

/* Each rank has a patch of 2 x 1 cells and ghost cells around it, in memory a vector of two components for each cell. */
struct own {
  std::vector<std::int64_t> domain { 0, 0, 2, size }, boxes { 0, rank, 2, 1 };
  std::vector<std::int32_t> level { 0 };
  std::vector<std::array<float, 2>> u = std::vector<std::array<float, 2>> (12, { { -1, -1 } });
  scda::patches mesh { 2 };
  own () {
    mesh.frame (ratio, domain, geometry).own (level, boxes);
    for (int i = 0; i < 2; ++i) { u[static_cast<std::size_t> (5 + i)] = value (rank, i); }
  }
  static std::array<float, 2> value (std::int64_t y, int i) { return { { static_cast<float> (y), static_cast<float> (i) } }; }
  std::vector<scda::patch_field> fields () {
    std::vector<std::array<float, 2> *> data { u.data () };
    return { scda::patch_field (scda::dataset ("u").chunks ({ 2, 2 }), data).ghost (1) };
  }
};

void round_trip (const std::string &path) {
  const std::int64_t n = rank % 3;
  std::vector<double> x (static_cast<std::size_t> (n), rank);
  {
    scda::writer w (MPI_COMM_WORLD, path.c_str (), "meshes");
    own o;
    o.mesh.write (w, "blocks");
    o.mesh.write_fields (w, o.fields (), "blocks");
    scda::particles p;
    p.without_cells (x.size ()).write (w);
    p.write_field (w, scda::dataset ("x").attributes (scda::attributes ("units", "m")), x);
    w.close ();
  }
  scda::reader r (MPI_COMM_WORLD, path.c_str ());
  scda::patches mesh (1);
  mesh.read (r, 0, "blocks");
  CHECK (mesh.c ().dimension == 2 && mesh.c ().patches == static_cast<std::uint64_t> (size) && scda::steps (r, "blocks") == 1);
  scda::dataset one;
  CHECK (!scda::find_field (r, one, "blocks", "none") && scda::find_field (r, one, "blocks", "u") && one.name () == "blocks/fields/u");
  CHECK (scda::steps (r, SCDA_PARTICLES_GROUP) == 1 && scda::steps (r, "others") == 0); /* without times, what is there is one step */
  /* All patches on each rank, the last one first. */
  std::vector<std::uint64_t> number;
  for (int q = size; q-- > 0;) { number.push_back (static_cast<std::uint64_t> (q)); }
  mesh.choose (number);
  std::vector<std::array<float, 2>> u (2 * number.size ());
  std::vector<std::array<float, 2> *> data;
  for (std::size_t m = 0; m < number.size (); ++m) { data.push_back (&u[2 * m]); }
  mesh.read_fields (r, { scda::patch_field (scda::dataset ("u"), data) }, 0, "blocks");
  for (std::size_t m = 0; m < mesh.size (); ++m) {
    CHECK (mesh.box (m)[1] == static_cast<std::int64_t> (number[m]) && mesh.level (m) == 0);
    for (int i = 0; i < 2; ++i) { CHECK (u[2 * m + static_cast<std::size_t> (i)] == own::value (mesh.box (m)[1], i)); }
  }
  scda::particles p;
  p.read (r);
  const std::vector<float> found = p.read_field<float> (r, "x"); /* converted */
  std::uint64_t sum = p.size ();
  MPI_Allreduce (MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  CHECK (sum == p.c ().particles && found.size () == p.size ());
  std::size_t at = 0; /* particle i of all is that of this rank */
  for (int q = 0; q < size; ++q) {
    for (int i = 0; i < q % 3; ++i, ++at) {
      if (at >= p.c ().first && at < p.c ().first + p.size ()) { CHECK (static_cast<int> (found[at - p.c ().first]) == q); }
    }
  }
  r.close ();
}

/* Two steps with meshes of 2 and 3 patches of 2 cells, on rank 0, which one object describes; it is moved meanwhile. Particles are structs of a
 * program that is older than that which reads them. */
struct old_atom {
  std::int64_t id;
};
struct atom {
  std::int64_t id;
  float charge;
};

void steps_of_meshes (const std::string &path) {
  const scda_member_t of_old[] = { SCDA_MEMBER (old_atom, id), SCDA_MEMBERS_END }, of_new[] = { SCDA_MEMBER (atom, id), SCDA_MEMBERS_END };
  {
    scda::writer w (MPI_COMM_WORLD, path.c_str (), "meshes");
    scda::patches mesh (2);
    scda::particles p;
    for (std::int64_t n = 2; n < 4; ++n) {
      const std::vector<std::int64_t> domain { 0, 0, 2, n };
      std::vector<std::int64_t> boxes, counts;
      std::vector<old_atom> atoms;
      std::vector<double> rho;
      for (std::int64_t m = 0; rank == 0 && m < n; ++m) {
        boxes.insert (boxes.end (), { 0, m, 2, 1 }), counts.push_back (1), atoms.push_back ({ m }), rho.insert (rho.end (), 2, static_cast<double> (m));
      }
      const std::vector<std::int32_t> level (counts.size (), 0);
      scda::write_time (w, "patches", static_cast<double> (n), "s", scda::attributes ("step", n));
      mesh.frame (ratio, domain, geometry).own (level, boxes).write (w);
      scda::patches moved (std::move (mesh));
      CHECK (mesh.size () == 0 && mesh.c ().kept == nullptr && moved.size () == level.size ());
      mesh = std::move (moved);
      mesh.write_fields (w, { scda::patch_field (scda::dataset ("rho"), rho.data (), 2 * sizeof (double)) });
      p.in_cells (counts, "patches").write (w);
      scda::particles other (std::move (p));
      p = std::move (other);
      p.write_field (w, scda::dataset ("atoms"), scda::const_items (atoms).members (of_old));
      std::vector<std::vector<float>> charges; /* a vector for each cell */
      for (const old_atom &one : atoms) { charges.push_back ({ static_cast<float> (one.id) }); }
      p.write_field (w, scda::dataset ("charges"), charges);
    }
    w.close ();
  }
  const auto with = [&] (int line, int code, const char *words, void (*function) (scda::reader &)) {
    scda::reader r (MPI_COMM_WORLD, path.c_str ());
    expect (line, code, words, [&] { function (r); });
  };
  scda::reader r (MPI_COMM_WORLD, path.c_str ());
  scda::patches mesh (2);
  mesh.read (r);
  scda::particles p;
  p.read_part (r, mesh.size ());
  std::vector<atom> atoms (p.size (), { -1, 2.5f });
  p.read_field (r, scda::dataset ("atoms"), scda::items (atoms).members (of_new));
  std::vector<std::vector<double>> cells (7);
  p.read_field (r, scda::dataset ("charges"), cells);
  CHECK (cells.size () == p.counts ().size ());
  for (std::size_t c = 0; c < cells.size (); ++c) {
    CHECK (cells[c].size () == 1 && static_cast<std::uint64_t> (cells[c][0]) == p.c ().first + c);
  }
  std::int64_t step = 0;
  CHECK (r.read_attribute ("/patches/time", "step", step) && step == 3);
  std::int64_t at = static_cast<std::int64_t> (p.c ().first), sum = 0;
  for (const atom &one : atoms) { CHECK (one.id == at++ && one.charge > 2 && one.charge < 3); }
  for (const std::int64_t n : p.counts ()) { sum += n; }
  CHECK (sum == static_cast<std::int64_t> (p.size ()));
  r.close ();
  with (__LINE__, SCDA_ERR_FORMAT, "rho: found the shape [6], expected [4], a row for each cell that was read: read those of the same step", [] (scda::reader &f) {
    scda::patches first (2);
    first.read (f, 0);
    std::vector<double> rho (2 * first.size ());
    first.read_fields (f, { scda::patch_field (scda::dataset ("rho"), rho.data (), 2 * sizeof (double)) });
  });
  with (__LINE__, SCDA_ERR_NOT_FOUND, "others/time: there is no such dataset", [] (scda::reader &f) { scda::read_time (f, "others"); });
}

/* Numbers of cells that are not in the file, on the last rank. */
void cells_by_number (const std::string &path) {
  const std::vector<std::int64_t> counts { 1, 0 };
  const auto cells = static_cast<std::uint64_t> (2 * size);
  scda::writer w (MPI_COMM_WORLD, path.c_str (), "meshes");
  scda::particles p;
  p.in_cells (counts).write (w);
  w.close ();
  scda::reader r (MPI_COMM_WORLD, path.c_str ());
  const std::vector<std::uint64_t> wrong { 0, rank == size - 1 ? cells : 1 };
  const std::string words = "number " + std::to_string (cells) + ", expected a number below " + std::to_string (cells);
  expect (__LINE__, SCDA_ERR_ARG, words.c_str (), [&] { p.read_numbers (r, wrong); });
  CHECK (!r.is_open ());
}

/* The last rank does something wrong, or all do. */
void refusals (const std::string &path) {
  const bool is_wrong = rank == size - 1;
  const auto with = [&] (int line, int code, const char *words, void (*function) (scda::writer &, bool)) {
    scda::writer w (MPI_COMM_WORLD, path.c_str (), "meshes");
    expect (line, code, words, [&] { function (w, is_wrong); });
    CHECK (!w.is_open ());
    expect (line, SCDA_ERR_USAGE, "closed", [&] { scda::write_time (w, "patches", 0); });
  };
  with (__LINE__, SCDA_ERR_ARG, "patches: boxes: found 3 numbers, expected 4, 4 for each patch", [] (scda::writer &w, bool wrong) {
    own o;
    if (wrong) { o.boxes.pop_back (), o.mesh.own (o.level, o.boxes); }
    o.mesh.write (w);
  });
  with (__LINE__, SCDA_ERR_ARG, "patches: geometry: found 3 numbers, expected 4, 2 for each axis", [] (scda::writer &w, bool wrong) {
    own o;
    if (wrong) { o.mesh.frame (ratio, o.domain, scda::view<const double> (geometry.data (), 3)); }
    o.mesh.write (w);
  });
  with (__LINE__, SCDA_ERR_ARG, "expected 1, one for each patch", [] (scda::writer &w, bool wrong) {
    own o;
    o.mesh.write (w);
    std::vector<double *> none (wrong ? 0 : 1);
    o.mesh.write_fields (w, { scda::patch_field (scda::dataset ("u"), none) });
  });
  with (__LINE__, SCDA_ERR_ARG, "expected int32", [] (scda::writer &w, bool) {
    own o;
    std::vector<double *> data (1);
    o.mesh.write (w);
    o.mesh.write_fields (w, { scda::patch_field (scda::dataset ("u").type (SCDA_TYPE_INT32), data) });
  });
  with (__LINE__, SCDA_ERR_ARG, "field u: chunk: found 1, expected 2, one per dimension", [] (scda::writer &w, bool) {
    own o;
    std::vector<std::array<double, 2> *> data (1);
    o.mesh.write (w);
    o.mesh.write_fields (w, { scda::patch_field (scda::dataset ("u").chunks ({ 3 }), data) });
  });
  with (__LINE__, SCDA_ERR_ARG, "particles: container 0: found 2 particles, expected 1", [] (scda::writer &w, bool wrong) {
    const std::vector<std::int64_t> counts { 1, 2 };
    std::vector<std::vector<double>> cells { { 1 }, { 2, 3 } };
    if (wrong) { std::swap (cells[0], cells[1]); }
    scda::particles p;
    p.in_cells (counts).write (w);
    p.write_field (w, scda::dataset ("u"), cells);
  });
  with (__LINE__, SCDA_ERR_ARG, "particles: number: found 1 numbers, expected 2, one for each cell", [] (scda::writer &w, bool wrong) {
    const std::vector<std::int64_t> counts { 2, 3 };
    const std::vector<std::uint64_t> number { static_cast<std::uint64_t> (2 * rank), static_cast<std::uint64_t> (2 * rank + 1) };
    scda::particles p;
    p.in_cells (counts, nullptr, scda::view<const std::uint64_t> (number.data (), wrong ? 1 : 2));
    p.write (w);
  });
  with (__LINE__, SCDA_ERR_ARG, "data of 4 particles, expected those of the 5 particles of this rank", [] (scda::writer &w, bool wrong) {
    const std::vector<std::int64_t> counts { 2, 3 };
    scda::particles p;
    p.in_cells (counts).write (w);
    p.write_field (w, scda::dataset ("x"), std::vector<double> (wrong ? 4 : 5));
  });
}

} // namespace

int main (int argc, char **argv) {
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  const std::string folder = argc == 2 ? argv[1] : ".";
  round_trip (folder + "/round-trip-" + std::to_string (size) + ".scda");
  steps_of_meshes (folder + "/steps-" + std::to_string (size) + ".scda");
  cells_by_number (folder + "/cells-" + std::to_string (size) + ".scda");
  refusals (folder + "/refused-" + std::to_string (size) + ".scda");
  MPI_Allreduce (MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize ();
  return failures != 0;
}
