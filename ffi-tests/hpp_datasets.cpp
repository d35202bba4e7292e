// Datasets by the C++ header: every type and form of data, boxes of random decompositions, what is read again and what is refused.
#include "common.h"

#include <scda.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif
#if __has_include(<mdspan>)
#include <mdspan>
#endif

typedef std::vector<std::uint64_t> list;
typedef std::vector<scda::box> boxes;

struct particle {
  double x;
  std::int32_t kind, id;
};
enum class color : unsigned char { red = 1, blue = 7 };

/* What a std::mdspan has, of two dimensions. */
template <typename T> struct table {
  typedef T element_type;
  T *numbers;
  std::size_t extents[2], strides[2];
  static constexpr std::size_t rank () { return 2; }
  std::size_t extent (std::size_t d) const { return extents[d]; }
  std::size_t stride (std::size_t d) const { return strides[d]; }
  std::size_t size () const { return extents[0] * extents[1]; }
  T *data_handle () const { return numbers; }
};

static_assert (std::is_convertible<std::vector<double> &, scda::const_items>::value, "");
static_assert (std::is_convertible<const double (&)[2][3], scda::const_items>::value, "");
static_assert (std::is_convertible<std::vector<std::array<float, 5>>, scda::const_items>::value, "");
static_assert (std::is_convertible<double, scda::const_items>::value, "");
static_assert (std::is_convertible<std::complex<float>, scda::const_items>::value, "");
static_assert (std::is_convertible<table<const double>, scda::const_items>::value, "");
static_assert (!std::is_convertible<std::vector<double *> &, scda::const_items>::value, "pointers are no data");
static_assert (!std::is_convertible<std::vector<std::string> &, scda::const_items>::value, "a string is more than bytes");
static_assert (!std::is_convertible<double *, scda::const_items>::value, "a length is missing");
static_assert (std::is_convertible<std::vector<double> &, scda::items>::value, "");
static_assert (std::is_convertible<double &, scda::items>::value, "");
static_assert (std::is_convertible<scda::skip_t, scda::items>::value, "");
static_assert (!std::is_convertible<double, scda::items>::value, "a temporary number");
static_assert (!std::is_convertible<const double &, scda::items>::value, "cannot be written to");
static_assert (!std::is_convertible<const std::vector<double> &, scda::items>::value, "cannot be written to");
static_assert (!std::is_convertible<table<const double>, scda::items>::value, "cannot be written to");
#if __cplusplus >= 202002L
static_assert (std::is_convertible<std::span<const double>, scda::const_items>::value, "");
static_assert (!std::is_convertible<std::span<const double>, scda::items>::value, "");
#endif
#ifdef __cpp_lib_mdspan
static_assert (std::is_convertible<std::mdspan<double, std::dextents<int, 3>>, scda::items>::value, "");
#endif

static group_t g;
static std::string folder;

static bool same (double a, double b) { return !(a < b) && !(a > b); }

// The code that a call throws; 0 if it does not. With `what`, the message must contain it on this rank.
template <typename F> static int thrown (F call, const std::string &what) {
  try {
    call ();
  } catch (const scda::error &e) {
    const bool says_it = std::string (e.what ()).find (what) != std::string::npos;
    if (!says_it) { std::fprintf (stderr, "found \"%s\", expected \"%s\"\n", e.what (), what.c_str ()); }
    CHECK (says_it);
    return e.code ();
  }
  return 0;
}

static std::string contents (const std::string &name) {
  std::ifstream file (name, std::ios::binary);
  return std::string (std::istreambuf_iterator<char> (file), std::istreambuf_iterator<char> ());
}

// ---- An array that is cut into boxes ------------------------------------------------------------------------------------

static const list shape = { 13, 6, 7 };
static double value (std::uint64_t i, std::uint64_t j, std::uint64_t k) {
  return static_cast<double> (100 * i + 10 * j + k) / 8;
}
static std::vector<double> values_of (const scda::box &b) {
  std::vector<double> values;
  for (std::uint64_t i = b.start[0]; i < b.start[0] + b.count[0]; ++i) {
    for (std::uint64_t j = b.start[1]; j < b.start[1] + b.count[1]; ++j) {
      for (std::uint64_t k = b.start[2]; k < b.start[2] + b.count[2]; ++k) { values.push_back (value (i, j, k)); }
    }
  }
  return values;
}
static std::vector<double> values_of (const boxes &all) {
  std::vector<double> values;
  for (const scda::box &b : all) {
    const std::vector<double> more = values_of (b);
    values.insert (values.end (), more.begin (), more.end ());
  }
  return values;
}
// The boxes of one rank of a random decomposition, which is the same on all.
static boxes own_boxes (std::uint64_t seed, int rank, int ranks) {
  boxes own;
  for (std::uint64_t i = 0; i < shape[0];) {
    const std::uint64_t ni = std::min (shape[0] - i, 1 + below (&seed, 5));
    for (std::uint64_t j = 0; j < shape[1];) {
      const std::uint64_t nj = std::min (shape[1] - j, 1 + below (&seed, 4));
      if (below (&seed, static_cast<std::uint64_t> (ranks)) == static_cast<std::uint64_t> (rank)) {
        own.push_back (scda::box (list { i, j, 0 }, list { ni, nj, shape[2] }));
      }
      j += nj;
    }
    i += ni;
  }
  return own;
}

// ---- Every form ---------------------------------------------------------------------------------------------------------

static const std::uint64_t rows = 9;
static list partition_of (int ranks) {
  std::uint64_t seed = 3;
  list Nq (static_cast<std::size_t> (ranks));
  partition (&seed, rows, ranks, Nq.data ());
  return Nq;
}

// Writes all that `reading` expects. The bytes must not depend on the ranks.
static void writing (MPI_Comm comm, int rank, int ranks, const std::string &name) {
  scda::writer w (comm, name, "datasets", scda::params ().seal ());
  w.write_group ("/", scda::attributes ("title", "a \"test\"\n").add ("time", 0.1).add ("steps", 3).add ("done", true)
                        .add ("sizes", std::vector<int> { 1, -2 }).add ("huge", 1e300).add ("whole", 2.0f)
                        .add ("none", std::numeric_limits<double>::quiet_NaN ()).add ("words", std::vector<std::string> { "a", "b" }));
  w.write_group ("flow", "{\"solver\": \"x\"}");

  // Whole arrays, of rank 0.
  const double nothing = -1;
  w.write ("time", rank == 0 ? 0.5 : nothing);
  w.write ("i8", std::vector<std::int8_t> { -128, 127 });
  w.write ("i16", std::array<std::int16_t, 2> { { -32768, 32767 } });
  w.write ("i32", std::vector<int> { -5, 5 });
  w.write ("i64", std::vector<long long> { -(1LL << 62), 5 });
  w.write ("u8", std::vector<unsigned char> { 0, 255 });
  w.write ("u16", std::vector<std::uint16_t> { 0, 65535 });
  w.write ("u32", std::vector<std::uint32_t> { 0, 4000000000u });
  w.write ("u64", list { 0, 1ull << 63 });
  w.write ("f32", std::vector<float> { 0.5f, 1.5f });
  w.write ("c64", std::vector<std::complex<float>> { { 1, 2 }, { 3, 4 } });
  w.write ("c128", std::complex<double> (5, 6));
  w.write ("bool", std::array<bool, 3> { { true, false, true } });
  w.write ("color", std::vector<color> { color::blue });
  w.write (scda::dataset ("mask").type (SCDA_TYPE_BOOL), std::vector<unsigned char> { 1, 0 });
  w.write (scda::dataset ("half").type (SCDA_TYPE_FLOAT16), std::vector<std::uint16_t> { 0x3c00, 0x4000 });
  const particle two[2] = { { 0.5, 1, 2 }, { 1.5, 3, 4 } };
  w.write ("particles", two);
  const double matrix[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
  w.write ("matrix", matrix);
  w.write ("shaped", std::vector<double> { 1, 2, 3, 4, 5, 6 }, { 3, 2 });
  w.write ("shaped", rank == 0 ? std::vector<double> (4, 7) : std::vector<double> (), list { 4, 1 }); // record 1
  w.write ("empty", std::vector<float> ());
  const table<const double> view = { &matrix[0][0], { 2, 3 }, { 3, 1 } };
  w.write ("view", view);
#ifdef __cpp_lib_mdspan
  w.write ("view", std::mdspan<const double, std::extents<int, 2, 3>> (&matrix[0][0]));
#else
  w.write ("view", matrix);
#endif

  // Boxes.
  const boxes own = own_boxes (5, rank, ranks);
  const scda::dataset rho = scda::dataset ("flow/rho", shape).chunks ({ 4, 4, 4 }).level (6)
    .attributes (scda::attributes ("units", "kg m-3")).dimension_names ({ "z", "", "x" });
  w.write (rho, values_of (own), own);
  w.write (scda::dataset (rho).encode (SCDA_ENCODE_TEXT), values_of (own), own);
  w.write (scda::dataset ("plain", shape), values_of (own), own);
  w.write (scda::dataset ("auto", shape).chunks ().encode (SCDA_ENCODE_AUTO).shuffle (false), values_of (own), own);
  // One box of the last rank; the rest has the fill value.
  const scda::dataset filled = scda::dataset ("filled", { 3, 4 }).fill_value (-1.5f).chunks ()
    .max_relative_error (0.25).max_absolute_error (0.5); // none of its numbers changes
  if (rank == ranks - 1) {
    w.write (filled, std::vector<float> { 1, 2 }, { { 1, 1 }, { 1, 2 } });
  } else {
    w.write (filled, scda::const_items (), boxes ());
  }

  // Several in one call, that of the last rank as above.
  std::vector<scda::dataset_boxes> fields;
  const std::vector<double> rhos = values_of (own);
  const std::vector<float> items { 1, 2 };
  const boxes none;
  fields.emplace_back (scda::dataset ("together", shape).chunks ({ 4, 4, 4 }).attributes (scda::attributes ("units", "K")), rhos, own);
  scda::dataset again ("again", { 3, 4 });
  again.fill_value (-1.5f).chunks ();
  if (rank == ranks - 1) {
    fields.emplace_back (again, items, scda::box ({ 1, 1 }, { 1, 2 }));
  } else {
    fields.emplace_back (again, scda::const_items (), none);
  }
  w.write_datasets (fields);

  // Fields.
  const list Nq = partition_of (ranks);
  const std::uint64_t first = first_of (Nq.data (), rank), n = Nq[static_cast<std::size_t> (rank)];
  std::vector<std::int64_t> numbers;
  std::vector<std::array<float, 5>> state;
  std::vector<std::array<std::array<float, 2>, 2>> tensors;
  for (std::uint64_t i = first; i < first + n; ++i) {
    const float x = static_cast<float> (i);
    numbers.push_back (static_cast<std::int64_t> (i));
    state.push_back (std::array<float, 5> { { x, x + 1, x + 2, x + 3, x + 4 } });
    tensors.push_back (std::array<std::array<float, 2>, 2> { { { { x, 1 } }, { { 2, x } } } });
  }
  const scda::partition parts = w.partition_of (n), same = w.partition_of (Nq);
  CHECK (parts.offset () == first && parts.count () == n && same.total () == parts.total ());
  CHECK (std::equal (parts.data (), parts.data () + parts.size (), same.data ()));
  w.write_field ("numbers", numbers);
  w.write_field ("state", state, parts, scda::encode_always);
  w.write_field (scda::dataset ("tensors").chunks ({ 2, 2, 2 }), tensors, parts);
  w.close ();
}

template <typename T> static void expect (scda::reader &r, const char *name, const char *type, const std::vector<T> &expected,
                                          const list &expected_shape, std::int64_t record = 0) {
  scda::dataset d;
  CHECK (r.find_dataset (d, name, record));
  CHECK (d.name () == name && d.type_name () == type && d.shape () == expected_shape && d.unsupported ().empty ());
  std::vector<T> found;
  r.read (d, found);
  CHECK (found == expected);
}

static void reading (const std::string &name) {
  scda::reader r (g.comm, name, scda::params ().verify ());
  std::string json;
  CHECK (r.find_group (json, "/"));
  CHECK (json.find ("a \\\"test\\\"\\u000a") != std::string::npos && json.find ("\"time\":0.1,") != std::string::npos);
  CHECK (json.find ("\"steps\":3,\"done\":true,\"sizes\":[1,-2],\"huge\":1e+300,\"whole\":2.0,\"none\":\"NaN\",\"words\":[\"a\",\"b\"]}")
         != std::string::npos);
  CHECK (r.find_group (json, "flow") && json == "{\"solver\":\"x\"}");
  CHECK (!r.find_group (json, "none"));
#if __cplusplus >= 201703L
  CHECK (r.find_group ("flow") == json && !r.find_group ("none"));
  CHECK (r.find_dataset ("time") && !r.find_dataset ("none"));
#endif

  double time = 0;
  scda::dataset d;
  CHECK (r.find_dataset (d, "time") && d.shape ().empty () && d.size () == 1);
  r.read (d, time);
  CHECK (same (time, 0.5));
  expect<std::int8_t> (r, "i8", "int8", { -128, 127 }, { 2 });
  expect<std::int16_t> (r, "i16", "int16", { -32768, 32767 }, { 2 });
  expect<int> (r, "i32", "int32", { -5, 5 }, { 2 });
  expect<long long> (r, "i64", "int64", { -(1LL << 62), 5 }, { 2 });
  expect<unsigned char> (r, "u8", "uint8", { 0, 255 }, { 2 });
  expect<std::uint16_t> (r, "u16", "uint16", { 0, 65535 }, { 2 });
  expect<std::uint32_t> (r, "u32", "uint32", { 0, 4000000000u }, { 2 });
  expect<std::uint64_t> (r, "u64", "uint64", { 0, 1ull << 63 }, { 2 });
  expect<float> (r, "f32", "float32", { 0.5f, 1.5f }, { 2 });
  expect<std::complex<float>> (r, "c64", "complex64", { { 1, 2 }, { 3, 4 } }, { 2 });
  expect<std::complex<double>> (r, "c128", "complex128", { { 5, 6 } }, {});
  expect<unsigned char> (r, "bool", "bool", { 1, 0, 1 }, { 3 });
  expect<color> (r, "color", "uint8", { color::blue }, { 1 });
  expect<unsigned char> (r, "mask", "bool", { 1, 0 }, { 2 });
  expect<std::uint16_t> (r, "half", "float16", { 0x3c00, 0x4000 }, { 2 });
  expect<double> (r, "matrix", "float64", { 1, 2, 3, 4, 5, 6 }, { 2, 3 });
  expect<double> (r, "shaped", "float64", { 1, 2, 3, 4, 5, 6 }, { 3, 2 });
  expect<double> (r, "shaped", "float64", { 7, 7, 7, 7 }, { 4, 1 }, 1);
  expect<double> (r, "shaped", "float64", { 7, 7, 7, 7 }, { 4, 1 }, -1);
  CHECK (!r.find_dataset (d, "shaped", 2));
  expect<float> (r, "empty", "float32", {}, { 0 });
  expect<double> (r, "view", "float64", { 1, 2, 3, 4, 5, 6 }, { 2, 3 });
  expect<double> (r, "view", "float64", { 1, 2, 3, 4, 5, 6 }, { 2, 3 }, 1);
  CHECK (r.find_dataset (d, "particles") && d.type () == SCDA_TYPE_RAW && d.item_bytes () == sizeof (particle));
  particle two[2];
  r.read (d, two);
  CHECK (same (two[1].x, 1.5) && two[0].kind == 1 && two[1].id == 4);
  std::vector<unsigned char> bytes (2 * sizeof (particle));
  r.read (d, scda::items (bytes)); // raw items as bytes
  CHECK (std::memcmp (bytes.data (), two, sizeof two) == 0);
  double matrix[2][3];
  CHECK (r.find_dataset (d, "matrix"));
  r.read (d, matrix);
  CHECK (same (matrix[1][2], 6));
  double column[2] = { 0, 0 };
  const std::uint64_t row = 0;
  r.read (d, table<double> { column, { 2, 1 }, { 1, 1 } }, { { row, 1 }, { 2, 1 } }); // integers of several types
  CHECK (same (column[0], 2) && same (column[1], 5));
  bool three[3];
  CHECK (r.find_dataset (d, "bool"));
  r.read (d, three);
  CHECK (three[0] && !three[1] && three[2]);

  // Boxes, others on each rank.
  std::uint64_t random = mix (11, static_cast<std::uint64_t> (g.rank));
  const scda::box all (list { 0, 0, 0 }, shape);
  for (const char *where : { "flow/rho", "flow/rho", "plain", "auto" }) {
    CHECK (r.find_dataset (d, where, -1) && d.type () == SCDA_TYPE_FLOAT64 && d.shape () == shape);
    for (int turn = 0; turn < 5; ++turn) {
      boxes some;
      for (std::uint64_t n = below (&random, 4); n > 0; --n) {
        list start, count;
        for (const std::uint64_t extent : shape) {
          start.push_back (below (&random, extent + 1));
          count.push_back (below (&random, extent - start.back () + 1));
        }
        some.push_back (scda::box (start, count));
      }
      std::vector<double> found (values_of (some).size ());
      r.read (d, found, some);
      CHECK (found == values_of (some));
      if (some.empty ()) { some.push_back (all); }
      r.read (d, found, some[0]); // becomes as long
      CHECK (found == values_of (some[0]));
    }
    if (g.rank == 0) {
      r.read (d, scda::skip);
    } else {
      std::vector<double> found;
      r.read (d, found);
      CHECK (found == values_of (all));
    }
  }
  CHECK (r.find_dataset (d, "flow/rho", 0) && d.encode () == SCDA_ENCODE_ALWAYS && d.chunk () == list ({ 4, 4, 4 }) && d.shuffle ());
  CHECK (d.attributes () == "{\"units\":\"kg m-3\"}");
  CHECK (d.dimension_names () == std::vector<std::string> ({ "z", "", "x" }));
  CHECK (r.find_dataset (d, "flow/rho", 1) && d.encode () == SCDA_ENCODE_TEXT);
  CHECK (r.find_dataset (d, "filled") && d.attributes ().find ("\"scda_max_relative_error\":0.25,\"scda_max_absolute_error\":0.5}") != std::string::npos);
  CHECK ( same (d.fill_value<float> (), -1.5f) && same (d.fill_value<double> (), 0));
  CHECK (r.read<float> ("filled")
         == std::vector<float> ({ -1.5f, -1.5f, -1.5f, -1.5f, -1.5f, 1, 2, -1.5f, -1.5f, -1.5f, -1.5f, -1.5f }));

  CHECK (r.find_dataset (d, "together") && d.chunk () == list ({ 4, 4, 4 }) && d.attributes () == "{\"units\":\"K\"}");
  CHECK (r.read<double> ("together") == r.read<double> ("flow/rho"));
  CHECK (r.read<float> ("again") == r.read<float> ("filled"));

  // Several in one call: boxes of this rank, whole, not at all. Then the last one is read on.
  {
    boxes some = own_boxes (9, g.rank, g.size);
    some.insert (some.begin (), scda::box (list { 2, 1, 0 }, list { 5, 3, 2 })); // of all ranks
    std::vector<double> rho (values_of (some).size ()), text (values_of (all).size ()), four (4);
    std::vector<float> filled (2);
    std::vector<unsigned char> mask (2);
    double number = 0, table_of[2][3] = { { 0 } };
    const scda::dataset flow ("flow/rho", shape);
    std::vector<scda::dataset_request> wanted;
    wanted.emplace_back (flow, rho, some);
    wanted.emplace_back (flow, text, 1);
    wanted.emplace_back (scda::dataset (flow).type (SCDA_TYPE_FLOAT64), scda::skip, -1);
    wanted.emplace_back (scda::dataset ("filled", { 3, 4 }), filled, scda::box ({ 1, g.rank % 2 }, { 1, 2 }));
    wanted.emplace_back (scda::dataset ("mask").type (SCDA_TYPE_BOOL), mask);
    wanted.emplace_back (scda::dataset ("particles"), two);
    two[1].id = 0;
    r.read_datasets (wanted);
    CHECK (rho == values_of (some) && text == values_of (all) && two[1].id == 4 && mask[0] == 1 && mask[1] == 0);
    CHECK (filled == std::vector<float> ({ g.rank % 2 ? 1.f : -1.5f, g.rank % 2 ? 2.f : 1.f }));
    CHECK (r.find_dataset (d, "matrix"));
    r.read_datasets ({ { scda::dataset ("time"), number }, { scda::dataset ("shaped", { 4, 1 }), four, -1 }, { d, table_of } });
    CHECK (same (number, 0.5) && four == std::vector<double> (4, 7) && same (table_of[1][0], 4));
    r.read (d, matrix);
    CHECK (same (matrix[0][1], 2));
    r.read_datasets ({});
    r.read (d, column, { { 0, 0 }, { 1, 2 } });
    CHECK (same (column[0], 1) && same (column[1], 2));
    r.read_datasets ({ { scda::dataset ("again", { 3, 4 }).type (SCDA_TYPE_FLOAT32), scda::items (), boxes () } });
  }

  // Fields, whole and by another partition.
  const std::vector<std::int64_t> numbers = r.read<std::int64_t> ("numbers");
  const std::vector<std::array<float, 5>> state = r.read<std::array<float, 5>> ("state");
  const std::vector<std::array<std::array<float, 2>, 2>> tensors = r.read<std::array<std::array<float, 2>, 2>> ("tensors", -1);
  CHECK (numbers.size () == rows && state.size () == rows && tensors.size () == rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const float x = static_cast<float> (i);
    CHECK (numbers[i] == static_cast<std::int64_t> (i) && same (state[i][4], x + 4) && same (tensors[i][1][1], x)
           && same (tensors[i][0][1], 1));
  }

  // All that is there.
  scda::section s;
  CHECK (r.next (s) && s.type == 'I');
  std::vector<std::string> names, groups;
  for (scda::entry e; r.next_entry (e);) {
    if (e.kind () == SCDA_ENTRY_DATASET) {
      CHECK (r.find_dataset (d, e.name (), e.record ()) && d.type () == e.type () && d.shape () == e.shape () && e.record () < e.records ());
      names.push_back (e.name ());
    } else if (e.kind () == SCDA_ENTRY_GROUP) {
      CHECK (r.find_group (json, e.name ()));
      groups.push_back (e.name () + json.substr (0, 8));
    }
  }
  CHECK (groups == std::vector<std::string> ({ "/{\"title\"", "flow{\"solver" }));
  CHECK (names.size () > 30 && names.front () == "time" && names.back () == "tensors");
  r.close ();
}

// ---- Memory as it lies ----------------------------------------------------------------------------------------------------

// A cell of a code with interleaved variables.
struct cell {
  double rho, v[3];
};

// A rank's rows of 6 x 5 cells, with a layer of ghost cells around them, as they lie and copied: the same file. Then back.
static void strided (const std::string &name) {
  const list Nq = partition_of (g.size);
  const std::uint64_t ny = Nq[static_cast<std::size_t> (g.rank)], first = first_of (Nq.data (), g.rank), width = 5;
  const std::uint64_t all = first_of (Nq.data (), g.size);
  std::vector<cell> block (static_cast<std::size_t> ((ny + 2) * (width + 2)), cell { -1, { -1, -1, -1 } });
  std::vector<double> rho, v;
  for (std::uint64_t y = 0; y < ny; ++y) {
    for (std::uint64_t x = 0; x < width; ++x) {
      cell &c = block[static_cast<std::size_t> ((y + 1) * (width + 2) + x + 1)];
      c.rho = static_cast<double> ((first + y) * 100 + x);
      for (int k = 0; k < 3; ++k) { c.v[k] = c.rho + k / 4., v.push_back (c.v[k]); }
      rho.push_back (c.rho);
    }
  }
  cell &corner = block[static_cast<std::size_t> (width + 3)];
  const std::vector<std::int64_t> strides { static_cast<std::int64_t> ((width + 2) * sizeof (cell)), sizeof (cell) };
  typedef double vector[3];
  const scda::items rhos (&corner.rho, { ny, width }, strides);
  const scda::items vs (reinterpret_cast<vector *> (&corner.v), { ny, width }, strides); /* an element of three numbers */
  CHECK (vs.shape () == list ({ ny, width, 3 }) && (ny == 0 || (vs.strides ().size () == 3 && vs.strides ()[2] == 8)));
  const scda::box mine ({ first, 0 }, { ny, width }), mine3 ({ first, 0, 0 }, { ny, width, 3 });
  for (int turn = 0; turn < 2; ++turn) {
    scda::writer w (g.comm, name + (turn ? "-copied" : ""), "strided");
    const scda::const_items rho_of = turn ? scda::const_items (rho) : scda::const_items (&corner.rho, { ny, width }, strides);
    for (const scda::dataset &d : { scda::dataset ("rho", { all, width }), scda::dataset ("rho in chunks", { all, width }).chunks ({ 3, 2 }) }) {
      w.write (d, rho_of, mine);
      if (turn) { w.write_datasets ({ { scda::dataset ("v", { all, width, 3 }), v, mine3 } }); }
      else {
        w.write_datasets ({ { scda::dataset ("v", { all, width, 3 }),
                              scda::const_items (reinterpret_cast<const vector *> (&corner.v), { ny, width }, strides), mine3 } });
      }
    }
    const table<const double> column = { rho.data (), { static_cast<std::size_t> (ny), 1 }, { static_cast<std::size_t> (width), 1 } };
    std::vector<std::array<double, 1>> copied;
    for (std::size_t y = 0; y < ny; ++y) { copied.push_back ({ { rho[y * static_cast<std::size_t> (width)] } }); }
    if (turn) { w.write_field (scda::dataset ("column").chunks (), copied, Nq); } else { w.write_field (scda::dataset ("column").chunks (), column, Nq); }
    w.close ();
  }
  const std::vector<cell> before = block;
  for (cell &c : block) { c = cell { -1, { -1, -1, -1 } }; }
  scda::reader r (g.comm, name);
  scda::dataset d;
  REQUIRE (r.find_dataset (d, "rho in chunks"));
  r.read (d, rhos, mine);
  r.read_datasets ({ { scda::dataset ("v", { all, width, 3 }), vs, mine3, -1 } });
  r.close ();
  CHECK (std::memcmp (block.data (), before.data (), block.size () * sizeof (cell)) == 0);
}

// Fields of which this rank has columns, from memory with strides and copied: the same file. The last rank has one element, which lies in order,
// and so has no strides; `lent`: the library may write from where the data lie until the commit, and is not to find others there.
static void strided_fields (const std::string &name, bool lent) {
  const std::size_t n = g.rank == g.size - 1 && g.size > 1 ? 1 : 10000; // 80000 bytes: those of less are copied
  std::vector<cell> cells (n);
  for (std::size_t i = 0; i < n; ++i) {
    const double x = static_cast<double> (i) + 1e6 * g.rank;
    cells[i] = cell { x, { x + .25, x + .5, x + .75 } };
  }
  const std::int64_t step = sizeof (cell);
  const scda::params chosen = lent ? scda::params ().background_bytes (1 << 20).lend () : scda::params ();
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<double> rho, backwards;
    std::vector<std::array<double, 3>> v;
    for (const cell &c : cells) {
      rho.push_back (c.rho);
      v.push_back ({ { c.v[0], c.v[1], c.v[2] } });
    }
    backwards.assign (rho.rbegin (), rho.rend ());
    scda::writer w (g.comm, name + (turn ? "-copied" : ""), "strided fields", chosen);
    const scda::partition parts = w.partition_of (n);
    const scda::const_items rhos = turn ? scda::const_items (rho) : scda::const_items (&cells[0].rho, { n }, { step });
    const scda::const_items back = turn ? scda::const_items (backwards) : scda::const_items (&cells[n - 1].rho, { n }, { -step });
    const scda::const_items vs = turn ? scda::const_items (v) : scda::const_items (&cells[0].v, { n }, { step });
    for (int again = 0; again < 2; ++again) {
      w.write_field ("rho", rhos);
      w.write_field ("rho of parts", rhos, parts);
      w.write_field ("back", back);
      w.write_field ("back of parts", back, parts, scda::encode_always);
      w.write_field ("v", vs);
      w.write_field ("v of parts", vs, parts);
      if (again == 0) { w.commit_begin ().wait (); }
    }
    w.close_begin ().wait ();
  }
  CHECK (same_files (name.c_str (), (name + "-copied").c_str ()));
  barrier (g);
}

// A request that an exception drops: when that is caught, this rank has written what it lent and what was copied for it, and may free both.
static void dropped (const std::string &name) {
  const std::size_t n = 20000;
  const std::vector<cell> cells (n, cell { 2, { 3, 4, 5 } });
  const std::vector<double> large (4 << 20, 1); // so that the thread takes a while
  scda_request_t begun = scda_request_t ();
  int err = SCDA_SUCCESS;
  try {
    scda::writer w (g.comm, name, "dropped", scda::params ().background_bytes (1 << 20).lend ());
    begun.file = w.get ();
    w.write_field ("large", large);
    w.write_field ("rho", scda::const_items (&cells[0].rho, { n }, { sizeof (cell) }));
    const scda::request dropped_here = w.close_begin ();
    throw std::runtime_error ("by the test");
  } catch (const std::runtime_error &) {}
  CHECK (scda_test (&begun) == 1);
  REQUIRE (scda_wait (&begun, &err) == 0);
  scda::reader r (g.comm, name);
  CHECK (r.read<double> ("large") == std::vector<double> (large.size () * static_cast<std::size_t> (g.size), 1));
  CHECK (r.read<double> ("rho") == std::vector<double> (n * static_cast<std::size_t> (g.size), 2));
  r.close ();
}

// ---- What is refused ------------------------------------------------------------------------------------------------------

// How the words of a rank begin.
static std::string wrong_rank (int rank) { return g.size == 1 ? "" : "rank " + std::to_string (rank) + ": "; }

// What is wrong on the last rank is an error of all, with its words.
static void refused (const std::string &name) {
  const bool here = g.rank == g.size - 1;
  const std::string last = wrong_rank (g.size - 1);
  const auto d = [] { return scda::dataset ("d", { 4, 3 }).type (SCDA_TYPE_FLOAT64); };
  struct attempt {
    std::string what;
    void (*call) (scda::writer &w, const scda::dataset &d, bool here);
  };
  static const std::vector<double> six (6, 1);
  const attempt attempts[] = {
    { last + "dataset \"d\": data: found 48 bytes, expected 40, the size of all boxes",
      [] (scda::writer &w, const scda::dataset &c, bool wrong) {
        if (wrong) { w.write (c, six, { { 0, 0 }, { 1, 5 } }); } else { w.write (c, scda::const_items (), boxes ()); }
      } },
    { last + "dataset \"d\": box: found 1 and 2 numbers, expected 2, one per dimension",
      [] (scda::writer &w, const scda::dataset &c, bool wrong) {
        if (wrong) { w.write (c, six, scda::box (list { 0 }, list { 2, 3 })); } else { w.write (c, scda::const_items (), boxes ()); }
      } },
    { last + "dataset \"d\": type: found complex64, which cannot be converted to float64",
      [] (scda::writer &w, const scda::dataset &c, bool wrong) {
        if (wrong) { w.write (c, std::vector<std::complex<float>> (6), { { 0, 0 }, { 2, 3 } }); } else { w.write (c, std::vector<double> (), boxes ()); }
      } },
    { last + "dataset \"d\": data: found memory with strides, expected one box of the same shape",
      [] (scda::writer &w, const scda::dataset &c, bool wrong) {
        const table<const double> transposed = { six.data (), { 2, 3 }, { 1, 2 } };
        if (wrong) { w.write (c, transposed, { { 0, 0 }, { 3, 2 } }); } else { w.write (c, scda::const_items (), boxes ()); }
      } },
    { "data: found neither data nor a type",
      [] (scda::writer &w, const scda::dataset &, bool) { w.write (scda::dataset ("d", { 1 }), scda::const_items (), boxes ()); } },
    { "shape is missing",
      [] (scda::writer &w, const scda::dataset &, bool) { w.write (scda::dataset ("d"), six, { { 0 }, { 6 } }); } },
    { "data: found 48 bytes, expected 40",
      [] (scda::writer &w, const scda::dataset &, bool) { w.write ("d", six, { 5 }); } },
    { "dimension names: found 1, expected none or 2",
      [] (scda::writer &w, const scda::dataset &c, bool) { w.write (scda::dataset (c).dimension_names ({ "x" }), scda::const_items (), boxes ()); } },
    { "chunk: found 3 numbers, expected 2",
      [] (scda::writer &w, const scda::dataset &c, bool) { w.write (scda::dataset (c).chunks ({ 1, 1, 1 }), scda::const_items (), boxes ()); } },
    { "shape is missing",
      [] (scda::writer &w, const scda::dataset &c, bool) {
        w.write_datasets ({ { c, scda::const_items (), boxes () }, { scda::dataset ("d"), six, scda::box ({ 0 }, { 6 }) } });
      } },
    { "fill value: found 4 bytes, expected 8",
      [] (scda::writer &w, const scda::dataset &c, bool) {
        w.write (scda::dataset (c).fill_value (1.f).type (SCDA_TYPE_FLOAT64), scda::const_items (), boxes ());
      } },
    { "shape: found 33 dimensions, expected at most 32",
      [] (scda::writer &w, const scda::dataset &c, bool) { w.write (scda::dataset (c).shape (list (33, 1)), scda::const_items (), boxes ()); } },
    { "name of a dataset: found 64 bytes, expected 1 to 58",
      [] (scda::writer &w, const scda::dataset &, bool) { w.write (std::string (64, 'x'), 1.); } },
    { "found a NUL character after \"a\"",
      [] (scda::writer &w, const scda::dataset &, bool) { w.write (scda::text ("a\0b", 3), 1.); } },
    { "name of a dataset: found \"/a\"",
      [] (scda::writer &w, const scda::dataset &, bool) { w.write ("/a", 1.); } },
    { "found a NUL character after \"{\"",
      [] (scda::writer &w, const scda::dataset &, bool) { w.write_group ("a", scda::text ("{\0}", 3)); } },
    { last + "data: found 6 elements, expected 5, as Nq says for this rank",
      [] (scda::writer &w, const scda::dataset &, bool wrong) {
        list Nq (static_cast<std::size_t> (w.size ()));
        Nq.back () = 5;
        w.write_field ("d", wrong ? six : std::vector<double> (), Nq);
      } },
    { last + "data: found 18446744073709551615 bytes with strides, more than can be copied",
      [] (scda::writer &w, const scda::dataset &, bool wrong) {
        w.write_field ("d", scda::const_items (six.data (), { wrong ? std::uint64_t (-1) : 3 }, { 16 }));
      } },
    { last + "data: found 16777216 elements, expected 3, as Nq says for this rank",
      [] (scda::writer &w, const scda::dataset &, bool wrong) {
        w.write_field ("d", scda::const_items (six.data (), { wrong ? 1 << 24 : 3 }, { 16 }), list (static_cast<std::size_t> (w.size ()), 3));
      } },
    { "data: found 3 dimensions, expected 1 or 2; or pass a scda::dataset",
      [] (scda::writer &w, const scda::dataset &, bool) {
        w.write_field ("d", std::vector<std::array<std::array<float, 2>, 2>> (), list (static_cast<std::size_t> (w.size ())));
      } },
    { "Nq: found 0 entries",
      [] (scda::writer &w, const scda::dataset &, bool) { w.write_field (scda::dataset ("d"), std::vector<double> (), list ()); } },
  };
  for (const attempt &one : attempts) {
    scda::writer w (g.comm, name, "refused");
    const scda::dataset c = d ();
    const int code = thrown (
      [&] {
        one.call (w, c, here);
        w.flush ();
      },
      one.what);
    if (code != SCDA_ERR_ARG) { std::fprintf (stderr, "%d: %s\n", code, one.what.c_str ()); }
    CHECK (code == SCDA_ERR_ARG && !w.is_open ());
  }
  // Two ranks, or one, pass the same item.
  {
    scda::writer w (g.comm, name, "refused");
    CHECK (thrown (
             [&] {
               const boxes twice = { scda::box (list { 0, 0 }, list { 1, 1 }), scda::box (list { 0, 0 }, list { 1, 1 }) };
               w.write (d (), std::vector<double> (here ? 2 : 0), here ? twice : boxes ());
               w.flush ();
             },
             "") == SCDA_ERR_ARG);
  }

  scda::writer w (g.comm, name, "refused");
  w.write ("d", std::vector<double> { 1, 2, 3, 4 }, { 2, 2 });
  w.close ();
  const std::string problems[] = {
    last + "dataset \"d\": type: found float64, which cannot be converted to complex64",
    last + "dataset \"d\": data: found 24 bytes, expected 32, the size of all boxes",
    last + "dataset \"d\": box: found 1 and 1 numbers, expected 2, one per dimension",
    "dataset \"none\": not found",
    "found a NUL character after \"d\"",
  };
  for (std::size_t i = 0; i < sizeof problems / sizeof problems[0]; ++i) {
    scda::reader r (g.comm, name);
    scda::dataset found;
    CHECK (r.find_dataset (found, "d"));
    double three[3];
    std::vector<std::complex<float>> floats;
    std::vector<double> doubles;
    const int code = thrown (
      [&] {
        if (i == 3) {
          r.read<double> ("none");
        } else if (i == 4) {
          r.read<double> (scda::text ("d\0e", 3));
        } else if (!here) {
          r.read (found, doubles);
        } else if (i == 0) {
          r.read (found, floats);
        } else if (i == 1) {
          r.read (found, three);
        } else {
          r.read (found, doubles, { { 0 }, { 2 } });
        }
      },
      problems[i]);
    CHECK (code == (i == 3 ? SCDA_ERR_NOT_FOUND : SCDA_ERR_ARG) && !r.is_open ());
  }
  /* Numbers of another type are converted. */
  {
    scda::reader r (g.comm, name);
    scda::dataset found;
    CHECK (r.find_dataset (found, "d"));
    std::vector<float> floats;
    std::int16_t shorts[2][2];
    r.read (found, floats);
    r.read (found, shorts);
    r.read_datasets ({ { found, floats } });
    CHECK (floats == (std::vector<float> { 1, 2, 3, 4 }) && shorts[1][0] == 3);
    CHECK (r.read<std::int64_t> ("d") == (std::vector<std::int64_t> { 1, 2, 3, 4 }));
  }
  {
    scda::writer converted (g.comm, name, "converted");
    converted.write (scda::dataset ("d", { 2 }).type (SCDA_TYPE_FLOAT32), std::vector<double> (here ? 2 : 0, 0.1),
                     here ? boxes { scda::box (list { 0 }, list { 2 }) } : boxes ());
    converted.close ();
    scda::reader r (g.comm, name);
    CHECK (r.read<double> ("d") == (std::vector<double> { 0.1f, 0.1f }));
    r.close ();
    scda::writer again (g.comm, name, "refused");
    again.write ("d", std::vector<double> { 1, 2, 3, 4 }, { 2, 2 });
    again.close ();
  }
  struct request {
    std::string what;
    void (*call) (scda::reader &r, const scda::dataset &d, bool here);
  };
  static std::vector<double> numbers (4);
  static const boxes nothing;
  const request requests[] = {
    { last + "dataset \"d\": data: found 32 bytes, expected 24, the size of all boxes",
      [] (scda::reader &r, const scda::dataset &c, bool wrong) {
        if (wrong) { r.read_datasets ({ { c, numbers, { { 0, 0 }, { 1, 3 } } } }); } else { r.read_datasets ({ { c, numbers } }); }
      } },
    { last + "dataset \"d\": data: found 32 bytes, expected 64, the size of all boxes",
      [] (scda::reader &r, const scda::dataset &c, bool wrong) { r.read_datasets ({ { wrong ? scda::dataset ("d", { 2, 4 }) : c, numbers } }); } },
    { last + "dataset \"d\": type: found float64, which cannot be converted to complex64",
      [] (scda::reader &r, const scda::dataset &c, bool wrong) {
        std::vector<std::complex<float>> floats (4);
        if (wrong) { r.read_datasets ({ { c, floats } }); } else { r.read_datasets ({ { c, numbers } }); }
      } },
    { last + "dataset \"d\": box: found 1 and 1 numbers, expected 2, one per dimension",
      [] (scda::reader &r, const scda::dataset &c, bool wrong) {
        if (wrong) { r.read_datasets ({ { c, numbers, scda::box (list { 0 }, list { 2 }) } }); } else { r.read_datasets ({ { c, scda::skip } }); }
      } },
    { last + "dataset \"d\": data: found memory with strides, expected one box of the same shape",
      [] (scda::reader &r, const scda::dataset &c, bool wrong) {
        const table<double> transposed = { numbers.data (), { 2, 2 }, { 1, 2 } };
        if (wrong) { r.read_datasets ({ { c, transposed, boxes { scda::box ({ 0, 0 }, { 1, 2 }), scda::box ({ 1, 0 }, { 1, 2 }) } } }); } else { r.read_datasets ({ { c, scda::items (), nothing } }); }
      } },
    { last + "dataset \"d\": strides: one is less than the 8 bytes of an item",
      [] (scda::reader &r, const scda::dataset &c, bool wrong) {
        const scda::items same (numbers.data (), { 2, 2 }, { 0, 8 });
        if (wrong) { r.read_datasets ({ { c, same } }); } else { r.read_datasets ({ { c, scda::items (), nothing } }); }
      } },
    { last + "dataset \"d\": found float64 of the shape [2, 2], expected float64 of the shape [4]",
      [] (scda::reader &r, const scda::dataset &c, bool wrong) { r.read_datasets ({ { wrong ? scda::dataset ("d") : c, numbers } }); } },
    { "dataset \"d\": found float64 of the shape [2, 2], expected uint8 of the shape [2, 16]",
      [] (scda::reader &r, const scda::dataset &, bool) {
        std::vector<unsigned char> octets (32);
        r.read_datasets ({ { scda::dataset ("d", { 2, 16 }), octets } });
      } },
    { "data: found neither data nor a type",
      [] (scda::reader &r, const scda::dataset &, bool) { r.read_datasets ({ { scda::dataset ("d", { 2, 2 }), scda::skip } }); } },
    { "shape is missing",
      [] (scda::reader &r, const scda::dataset &, bool) { r.read_datasets ({ { scda::dataset ("d"), numbers, scda::box ({ 0 }, { 4 }) } }); } },
    { "dataset \"none\": not found",
      [] (scda::reader &r, const scda::dataset &c, bool) { r.read_datasets ({ { c, numbers }, { scda::dataset ("none"), numbers } }); } },
    { "dataset \"d\": record 1 not found",
      [] (scda::reader &r, const scda::dataset &c, bool) { r.read_datasets ({ { c, numbers, 1 } }); } },
  };
  for (const request &one : requests) {
    scda::reader r (g.comm, name);
    scda::dataset found;
    CHECK (r.find_dataset (found, "d"));
    const int code = thrown ([&] { one.call (r, found, here); }, one.what);
    const int expected = one.what.find ("not found") != std::string::npos ? SCDA_ERR_NOT_FOUND : SCDA_ERR_ARG;
    if (code != expected) { std::fprintf (stderr, "%d: %s\n", code, one.what.c_str ()); }
    CHECK (code == expected && !r.is_open ());
  }
  // A box beyond the array, and a reader that has found nothing.
  {
    scda::reader r (g.comm, name);
    scda::dataset found;
    std::vector<double> doubles;
    CHECK (r.find_dataset (found, "d"));
    CHECK (thrown ([&] { r.read (found, doubles, { { 1, 0 }, { 2, 2 } }); }, "") == SCDA_ERR_ARG);
    r = scda::reader (g.comm, name);
    CHECK (thrown ([&] { r.read (found, doubles, { { 0, 0 }, { 3, 2 } }); }, "box: found 6 items, expected at most the 4 of the dataset \"d\"") == SCDA_ERR_ARG);
    r = scda::reader (g.comm, name);
    std::vector<std::array<double, 3>> triples;
    CHECK (r.find_dataset (found, "d"));
    CHECK (thrown ([&] { r.read (found, triples); }, "data: found 24 bytes, expected 32, the size of all boxes") == SCDA_ERR_ARG);
    r = scda::reader (g.comm, name);
    CHECK (thrown ([&] { r.read (scda::dataset ("d"), scda::skip); }, "dataset: found none") == SCDA_ERR_ARG);
  }
  // Several datasets in turns, also one that a function of C has found.
  w = scda::writer (g.comm, name, "turns");
  for (int k = 0; k < 100; ++k) { w.write ("d", std::vector<double> { 1. * k, 2, 3, 4 }, { 2, 2 }); }
  w.write ("other", std::vector<double> { 5, 6, 7, 8 }, { 2, 2 });
  w.close ();
  {
    scda::reader r (g.comm, name);
    std::vector<scda::dataset> all (100);
    scda::dataset other;
    double four[2][2];
    for (std::size_t k = 0; k < all.size (); ++k) { CHECK (r.find_dataset (all[k], "d", static_cast<std::int64_t> (k))); }
    CHECK (r.find_dataset (other, "other"));
    for (std::size_t k = all.size (); k-- > 0;) {
      r.read (all[k], four);
      CHECK (same (four[0][0], static_cast<double> (k)) && same (four[1][1], 4));
      r.read (other, four);
      CHECK (same (four[0][0], 5) && same (four[1][1], 8));
    }
  }
}

struct ion {
  double x[3];
  float mass;
  bool alive;
  std::uint64_t id;
};
struct seen {
  std::uint64_t id;
  float x[3];
};
template <> struct scda::members<ion> {
  static const scda_member_t *list () {
    static const scda_member_t all[] = { SCDA_MEMBER (ion, x), SCDA_MEMBER (ion, mass), SCDA_MEMBER (ion, alive),
                                         SCDA_MEMBER (ion, id), SCDA_MEMBERS_END };
    return all;
  }
};
template <> struct scda::members<seen> {
  static const scda_member_t *list () {
    static const scda_member_t all[] = { SCDA_MEMBER (seen, id), SCDA_MEMBER (seen, x), SCDA_MEMBERS_END };
    return all;
  }
};

struct newer {
  std::uint64_t id;
  double weight;
  int charge;
};
template <> struct scda::members<newer> {
  static const scda_member_t *list () {
    static const scda_member_t all[] = { SCDA_MEMBER (newer, id), SCDA_MEMBER_AS (newer, weight, "mass"), SCDA_MEMBER (newer, charge),
                                         SCDA_MEMBERS_END };
    return all;
  }
};

/* Structs: rank r writes 3 + r of them, all ranks read all, whole and some of their members. */
static void structs (const std::string &name) {
  std::uint64_t first = 0, total = 0;
  for (int r = 0; r < g.size; ++r) {
    first = r == g.rank ? total : first;
    total += 3 + static_cast<std::uint64_t> (r);
  }
  const auto at = [] (std::uint64_t i) {
    ion p = ion ();
    p.x[2] = 0.1 * static_cast<double> (i), p.mass = 0.5f, p.alive = i % 2 != 0, p.id = i << 40;
    return p;
  };
  std::vector<ion> mine;
  for (std::uint64_t i = 0; i < 3 + static_cast<std::uint64_t> (g.rank); ++i) { mine.push_back (at (first + i)); }
  scda::writer w (g.comm, name, "structs");
  w.write (scda::dataset ("particles", { total }).chunks (), mine, scda::box (list { first }, list { mine.size () }));
  w.close ();
  scda::reader r (g.comm, name);
  const std::vector<ion> all = r.read<ion> ("particles");
  const std::vector<seen> points = r.read<seen> ("particles");
  scda::dataset found;
  CHECK (r.find_dataset (found, "particles") && found.type () == SCDA_TYPE_STRUCT && found.type_name () == "struct" && found.item_bytes () == 37);
  REQUIRE (all.size () == total && points.size () == total);
  for (std::uint64_t i = 0; i < total; ++i) {
    const ion p = at (i);
    CHECK (same (all[i].x[2], p.x[2]) && all[i].alive == p.alive && all[i].id == p.id && points[i].id == p.id);
    CHECK (same (points[i].x[2], static_cast<float> (p.x[2])));
  }
  /* Of a program that has one member more, and calls another one otherwise. */
  static const scda_member_t old[] = { SCDA_MEMBER (newer, id), SCDA_MEMBER_AS (newer, weight, "mass"), SCDA_MEMBERS_END };
  CHECK (found.members () == std::vector<std::string> ({ "x", "mass", "alive", "id" }));
  std::vector<newer> later (total, newer ());
  for (newer &one : later) { one.charge = -2; }
  r.read (found, scda::items (later).members (old));
  for (std::uint64_t i = 0; i < total; ++i) { CHECK (later[i].id == i << 40 && same (later[i].weight, 0.5) && later[i].charge == -2); }
  CHECK (thrown ([&] { std::vector<newer> all_members (total); r.read (found, all_members); }, "no member \"charge\"") == SCDA_ERR_ARG);
  r = scda::reader (g.comm, name);
  CHECK (r.find_dataset (found, "particles"));
  std::vector<double> numbers;
  CHECK (thrown ([&] { r.read (found, numbers); }, "which cannot be converted") == SCDA_ERR_ARG);
}

/* Texts of any length: rank r writes 2 + r of them, all ranks read all, and a box. */
static void texts (const std::string &name) {
  std::vector<std::string> all, mine, found_texts, some;
  for (int r = 0; r < g.size; ++r) {
    for (int i = 0; i < 2 + r; ++i) {
      all.push_back (std::string (static_cast<std::size_t> (7 * r + i), 'a') + "\xc3\xa9");
      if (r == g.rank) { mine.push_back (all.back ()); }
    }
  }
  const std::vector<std::vector<unsigned char>> bytes (2, std::vector<unsigned char> (1, static_cast<unsigned char> (255)));
  scda::writer w (g.comm, name, "texts");
  w.write_texts ("names", mine);
  w.write_texts (scda::dataset ("bytes", { 1, 2 }).type (SCDA_TYPE_VARIABLE_BYTES).attributes ("{\"a\": 1}"), bytes);
  w.close ();
  scda::reader r (g.comm, name);
  scda::dataset found;
  CHECK (r.find_dataset (found, "names") && found.type_name () == "string" && found.shape () == list { all.size () });
  r.read_texts (found, found_texts);
  CHECK (found_texts == all);
  r.read_texts (found, some, scda::box (list { 1 }, list { 1 }));
  CHECK (some.size () == 1 && some[0] == all[1]);
  std::vector<std::vector<unsigned char>> again;
  CHECK (r.find_dataset (found, "bytes") && found.shape () == (list { static_cast<std::uint64_t> (g.size), 2 }));
  r.read_texts (found, again);
  CHECK (again.size () == 2 * static_cast<std::size_t> (g.size) && again[0] == bytes[0]);
  CHECK (thrown ([&] { r.read_texts (found, again, scda::box (list { 0 }, list { 1 })); }, "expected 2, one per dimension") == SCDA_ERR_ARG);
  scda::writer refused (g.comm, name, "texts");
  CHECK (thrown ([&] { refused.write_texts (scda::dataset ("bytes", { 1, 2 }), std::vector<std::string> (3)); }, "texts: found 3, expected 2") == SCDA_ERR_ARG);
}

// Times, and texts of a fixed number of bytes.
static void times (const std::string &name) {
  const std::vector<std::int64_t> moments = { 5, -7, INT64_MIN };
  const std::vector<std::array<unsigned char, 4>> codes = { { { 'a', 'b', 0, 0 } }, { { 'w', 'x', 'y', 'z' } } };
  scda::writer w (g.comm, name, "times");
  w.write (scda::dataset ("t", { 3 }).type (SCDA_TYPE_DATETIME64).unit ("10us"), moments);
  w.write (scda::dataset ("dt", { 3 }).type (SCDA_TYPE_TIMEDELTA64).unit ("D"), moments);
  w.write (scda::dataset ("codes", { 2 }).type (SCDA_TYPE_BYTES, 4), codes);
  w.close ();
  scda::reader r (g.comm, name);
  std::vector<scda::dataset> found (3);
  CHECK (r.find_dataset (found[0], "t") && found[0].unit () == "10us" && found[0].type () == SCDA_TYPE_DATETIME64);
  CHECK (r.find_dataset (found[1], "dt") && found[1].unit () == "D");
  std::vector<std::int64_t> one (3), other (3);
  r.read (found[1], one);
  CHECK (one == moments);
  one.assign (3, 0);
  std::vector<scda::dataset_request> both;
  both.emplace_back (found[0], one), both.emplace_back (found[1], other);
  r.read_datasets (both);
  CHECK (one == moments && other == moments);
  std::vector<std::array<unsigned char, 4>> again (2);
  std::uint32_t numbers[2];
  CHECK (r.find_dataset (found[2], "codes") && found[2].type () == SCDA_TYPE_BYTES && found[2].item_bytes () == 4);
  r.read (found[2], again);
  CHECK (again == codes);
  CHECK (r.statistics ().read_bytes > 0 || g.rank > 0);
  CHECK (thrown ([&] { r.read (found[2], numbers); }, "cannot be converted") == SCDA_ERR_ARG);
  scda::reader closing (g.comm, name);
  scda::request closed = closing.close_begin ();
  CHECK (!closing.is_open ());
  closed.wait ();
  // What was found can be written again.
  scda::writer copy (g.comm, name + "-copied", "times");
  copy.write (found[0], moments);
  copy.write (found[1], moments);
  copy.write (found[2], codes);
  copy.close ();
  if (g.rank == 0) { CHECK (!contents (name).empty () && contents (name) == contents (name + "-copied")); }
  barrier (g);
}

// Attributes and rows that are added when the data are in the file already, by this job and by one that appends.
static void later (const std::string &name) {
  const scda::params sealed = scda::params ().seal ();
  {
    scda::writer w (g.comm, name, "later", sealed);
    w.write ("t", 0.5);
    w.write ("t", 1.5);
    w.set_attributes ("t", "{\"units\": \"s\", \"x\": 1}", 0);
    const std::vector<int> row { 10 * g.rank, 10 * g.rank + 1 };
    w.write (scda::dataset ("rows", { static_cast<std::uint64_t> (g.size), 2 }), row, scda::box (list { static_cast<std::uint64_t> (g.rank), 0 }, list { 1, 2 }));
    w.close ();
  }
  scda::writer w = scda::writer::append (g.comm, name.c_str ());
  w.set_attributes ("t", "{\"x\": null}", 0);
  w.set_attributes ("t", scda::attributes ("last", true));
  w.set_attributes ("/", scda::attributes ("title", "later"));
  w.set_attributes ("a/", scda::attributes ("n", -3).add ("x", std::vector<double> { 0.5, 1e300 }).add ("names", std::vector<std::string> { "u", "v w", "" }));
  const std::size_t count = g.rank == 0 ? 1 : 0;
  w.write (scda::dataset ("rows", { 1, 2 }).chunks ().extends (), std::vector<int> (2 * count, 7), std::vector<scda::box> (count, scda::box (list { 0, 0 }, list { 1, 2 })));
  w.close ();
  scda::reader r (g.comm, name);
  scda::dataset d;
  std::string title;
  CHECK (r.find_dataset (d, "t", 0) && d.attributes () == "{\"units\":\"s\"}");
  CHECK (r.find_dataset (d, "t", -1) && d.attributes () == "{\"last\":true}");
  CHECK (r.find_group (title, "/") && title == "{\"title\":\"later\"}");
  // One by one.
  bool last = false;
  int n = 7;
  float f = 7;
  std::vector<double> x;
  std::vector<std::string> names, none { "default" };
  CHECK (r.read_attribute ("t", "last", last) && last && !r.read_attribute ("t", "last", last, 0));
  CHECK (r.read_attribute ("/", "title", title) && title == "later" && r.read_attribute ("a/", "n", n) && n == -3);
  CHECK (r.read_attribute ("a/", "x", x) && x == (std::vector<double> { 0.5, 1e300 }) && r.read_attribute ("a/", "n", f) && !(f > -3) && !(f < -3));
  CHECK (r.read_attribute ("a/", "names", names) && names == (std::vector<std::string> { "u", "v w", "" }) && !r.read_attribute ("a/", "x y", none) && none[0] == "default");
  const std::vector<scda::attribute_name> listed = scda::list_attributes ("{\"x\": 1, \"a key\": {}}");
  CHECK (listed.size () == 2 && listed[0].key == "x" && listed[0].type == SCDA_TYPE_INT64 && listed[1].key == "a key" && listed[1].type == 0);
  CHECK (scda::list_attributes ("").empty ());
  try { scda::list_attributes ("no"); CHECK (false); } catch (const scda::error &e) { CHECK (e.code () == SCDA_ERR_FORMAT); }
  CHECK (r.find_dataset (d, "t", 0) && scda::get_attribute (d.attributes (), "units", title) && title == "s" && !scda::get_attribute (d.attributes (), "x", x));
  // Rows as another version of the program wants them: the last rank also has the one that was added.
  std::vector<std::array<double, 3>> lines (g.rank + 1 == g.size ? 2 : 1, std::array<double, 3> { { -1, -1, -1 } });
  CHECK (r.read_field ("lines", lines) == 0 && lines[0][0] < 0);
  CHECK (r.read_field ("lines", lines, "rows") == (SCDA_FIELD_FOUND | SCDA_FIELD_RENAMED | SCDA_FIELD_CONVERTED | SCDA_FIELD_COMPONENTS));
  CHECK (same (lines[0][0], 10 * g.rank) && same (lines[0][1], 10 * g.rank + 1) && same (lines[0][2], -1));
  CHECK (lines.size () == 1 || (same (lines[1][1], 7) && same (lines[1][2], -1)));
  int code = SCDA_SUCCESS;
  try { scda::get_attribute ("{\"a\":[\"b\",\"c\"]}", "a", title); }
  catch (const scda::error &e) { code = e.code (); }
  CHECK (code == SCDA_ERR_ARG && title == "s");
  CHECK (r.find_dataset (d, "rows") && d.shape () == (list { static_cast<std::uint64_t> (g.size) + 1, 2 }));
  std::vector<int> all (2 * static_cast<std::size_t> (g.size) + 2);
  r.read (d, all);
  CHECK (all[all.size () - 1] == 7 && all[all.size () - 3] == 10 * (g.size - 1) + 1);
  r.close ();
}

// Three records of each name: without a number, each look-up by name finds the last one; what is read in order begins with the first one.
static void last_records (const std::string &name) {
  scda::writer w (g.comm, name, "records");
  for (int step = 0; step < 3; ++step) {
    w.write ("u", std::vector<double> (2, step), { 2 });
    w.begin_streams ("log");
    for (int i = 0; i <= step; ++i) { w.write_stream (std::string (1, 'x')); }
    w.end_streams ();
  }
  w.close ();
  scda::reader r (g.comm, name);
  scda::section s;
  scda::dataset d;
  std::vector<double> u;
  CHECK (r.next (s) && r.find_dataset (d, "u", 0));
  r.read (d, u);
  CHECK (u == std::vector<double> (2, 0));
  CHECK (r.find_dataset (d, "u"));
  r.read (d, u);
  CHECK (u == std::vector<double> (2, 2) && r.read<double> ("u") == u && r.read<double> ("u", 1) == std::vector<double> (2, 1));
  u.assign (2, 7);
  r.read_datasets ({ { scda::dataset ("u", { 2 }), u } });
  CHECK (u == std::vector<double> (2, 2));
  r.read_datasets ({ { scda::dataset ("u", { 2 }), u, 0 } });
  CHECK (u == std::vector<double> (2, 0));
  std::uint64_t section = 0, first = 0;
  scda::streams log, before;
  CHECK (r.find (section, "u") && r.find (first, "u", 0) && section > first && !r.find (section, "u", 3));
  CHECK (r.find_streams (log, "log") && r.find_streams (before, "log", 0));
  CHECK (r.stream_size (log, 0) == 3 && r.stream_size (before, 0) == 1 && r.stream_size (log, 0) == 3);
}

/* What only chunks have makes chunks, unless `encode` says otherwise. */
static void options_of_chunks (const std::string &name) {
  scda::writer w (g.comm, name, "chunks");
  const std::vector<double> x (2);
  const auto one = [] (const char *what) { return scda::dataset (what, { 2 }); };
  w.write (one ("codec").codec (SCDA_CODEC_ZLIB), x);
  w.write (one ("level").level (9), x);
  w.write (one ("shuffle").shuffle (false), x);
  w.write (one ("relative").max_relative_error (0.5), x);
  w.write (one ("absolute").max_absolute_error (0.5), x);
  w.write (one ("none").level (-1).max_absolute_error (0), x);
  w.write (one ("refused").encode (SCDA_ENCODE_NONE).level (9), x);
  w.write (one ("text").level (9).encode (SCDA_ENCODE_TEXT).level (8), x);
  w.close ();
  scda::reader r (g.comm, name);
  const auto has = [&] (const char *what, int encode) {
    scda::dataset d;
    return r.find_dataset (d, what) && d.encode () == encode;
  };
  for (const char *what : { "codec", "level", "shuffle", "relative", "absolute" }) { CHECK (has (what, SCDA_ENCODE_ALWAYS)); }
  CHECK (has ("none", SCDA_ENCODE_NONE) && has ("refused", SCDA_ENCODE_NONE) && has ("text", SCDA_ENCODE_TEXT));
  scda::dataset d;
  CHECK (r.find_dataset (d, "codec") && d.codec () == SCDA_CODEC_ZLIB);
  scda::reader another (g.comm, name);
  std::vector<double> room;
  CHECK (thrown ([&] { another.read (d, room); }, "it was found in another open file") == SCDA_ERR_ARG);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2);
  g = world ();
  folder = argv[1];
  const std::string name = folder + "/hpp-datasets.scda", alone = folder + "/hpp-datasets-alone.scda";
  writing (g.comm, g.rank, g.size, name);
  if (g.rank == 0) {
    writing (SCDA_COMM_SELF, 0, 1, alone);
    CHECK (!contents (name).empty () && contents (name) == contents (alone));
  }
  barrier (g);
  reading (name);
  const std::string block = folder + "/hpp-datasets-strided.scda";
  strided (block);
  if (g.rank == 0) { CHECK (!contents (block).empty () && contents (block) == contents (block + "-copied")); }
  strided_fields (folder + "/hpp-datasets-fields.scda", false);
  strided_fields (folder + "/hpp-datasets-fields.scda", true);
  dropped (folder + "/hpp-datasets-dropped.scda");
  refused (folder + "/hpp-datasets-refused.scda");
  structs (folder + "/hpp-datasets-structs.scda");
  texts (folder + "/hpp-datasets-texts.scda");
  times (folder + "/hpp-datasets-times.scda");
  later (folder + "/hpp-datasets-later.scda");
  last_records (folder + "/hpp-datasets-records.scda");
  options_of_chunks (folder + "/hpp-datasets-chunks.scda");
  return finish ();
}
