// The C++ header: every member, what may be passed and what may not, errors on one rank and on all, and destructors.
#include "common.h"

#include <scda.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>
#if __cplusplus >= 201703L
#include <string_view>
#endif
#if __cplusplus >= 202002L
#include <span>
#endif

typedef std::vector<std::uint64_t> list;

// What may be passed, and what may not.
static_assert (!std::is_copy_constructible<scda::writer>::value && !std::is_copy_assignable<scda::reader>::value, "");
static_assert (std::is_nothrow_move_constructible<scda::writer>::value, "");
static_assert (std::is_nothrow_move_assignable<scda::reader>::value, "");
static_assert (std::is_nothrow_destructible<scda::writer>::value, "");
static_assert (std::is_convertible<std::vector<double> &, scda::const_bytes>::value, "");
static_assert (std::is_convertible<const std::array<float, 3> &, scda::const_bytes>::value, "");
static_assert (std::is_convertible<const double (&)[3], scda::const_bytes>::value, "");
static_assert (std::is_convertible<std::string, scda::const_bytes>::value, "");
static_assert (!std::is_convertible<std::vector<double *> &, scda::const_bytes>::value, "pointers are no data");
static_assert (!std::is_convertible<const void *const (&)[3], scda::const_bytes>::value, "pointers are no data");
static_assert (!std::is_convertible<std::vector<std::string> &, scda::const_bytes>::value, "a string is more than bytes");
static_assert (!std::is_convertible<double *, scda::const_bytes>::value, "a length is missing");
static_assert (std::is_convertible<std::vector<double> &, scda::bytes>::value, "");
static_assert (std::is_convertible<double (&)[3], scda::bytes>::value, "");
static_assert (!std::is_convertible<const std::vector<double> &, scda::bytes>::value, "cannot be written to");
static_assert (!std::is_convertible<const double (&)[3], scda::bytes>::value, "cannot be written to");
static_assert (std::is_convertible<const list &, scda::counts>::value, "");
static_assert (!std::is_convertible<std::vector<int> &, scda::counts>::value, "of another size");
static_assert (std::is_convertible<const char (&)[3], scda::text>::value, "");
static_assert (std::is_convertible<std::string, scda::text>::value, "");
#if __cplusplus >= 201703L
static_assert (std::is_convertible<std::string_view, scda::text>::value, "");
#endif
#if __cplusplus >= 202002L
static_assert (std::is_convertible<std::span<const double>, scda::const_bytes>::value, "");
static_assert (std::is_convertible<std::span<double>, scda::bytes>::value, "");
static_assert (!std::is_convertible<std::span<const double>, scda::bytes>::value, "");
static_assert (std::is_convertible<std::span<const std::uint64_t>, scda::counts>::value, "");
#endif

static group_t g;
static std::string folder;

static list each (std::uint64_t n) { return list (static_cast<std::size_t> (g.size), n); }

// The code that a call throws; 0 if it does not. With `what`, the message must contain it on this rank.
template <typename F> static int thrown (F call, const char *what = "") {
  try {
    call ();
  } catch (const scda::error &e) {
    CHECK (e.error_class () == e.code ());
    CHECK (std::string (e.what ()).find (what) != std::string::npos);
    return e.code ();
  }
  return 0;
}

static bool exists (const std::string &name) {
  std::FILE *f = std::fopen (name.c_str (), "rb");
  if (f != nullptr) { std::fclose (f); }
  return f != nullptr;
}

static void sections () {
  const std::string name = folder + "/hpp.scda";
  const std::vector<double> values = { 1. + g.rank, 2. + g.rank, 3. + g.rank };
  const std::vector<const void *> backwards = { &values[2], &values[1], &values[0] };
  const list Ei = { 8, 0, 16 }, Sq = each (24);
  const int last = g.size - 1;
  const double four[4] = { 1, 2, 3, 4 };
  const std::string user ("with\0NUL", 8);
  {
    scda::writer w (g.comm, name, user, scda::params ().level (9).threads (2));
    CHECK (w.is_open () && w.get () != nullptr && w.rank () == g.rank && w.size () == g.size);
    w.write_inline (user, four, last);
    w.write_block ("block", std::string ("echo echo"), 9, last, SCDA_ENCODE_ALWAYS);
    w.write_block ("without data on other ranks", g.rank == 0 ? scda::const_bytes (four) : scda::const_bytes (), 32, 0);
    w.write_array ("array", values, each (3), 8);
    w.write_array ("indirect", backwards, each (3), 8, SCDA_ENCODE_AUTO);
    list found (static_cast<std::size_t> (g.size));
    w.proc_sizes (Ei, each (3), found);
    CHECK (found == Sq);
    w.flush ();
    w.write_varray ("varray", values, each (3), Ei, SCDA_ENCODE_NONE, Sq);
    w.write_varray ("varray, indirect", backwards, each (3), list (3, 8), SCDA_ENCODE_ALWAYS);
    w.write_array ("none", scda::const_bytes (), each (0), 8);
    scda::writer moved (std::move (w));
    CHECK (!w.is_open () && moved.is_open () && moved.size () == g.size);
    w = std::move (moved);
    CHECK (w.is_open () && !moved.is_open ());
    w.close ();
    CHECK (!w.is_open ());
    w.close (); // nothing to do
    CHECK (thrown ([&] { w.flush (); }) == SCDA_ERR_USAGE);
  }

  scda::reader r (g.comm, name);
  scda::section s;
  CHECK (r.user () == user && !r.at_end ());
  CHECK (r.next (s) && s.type == 'I' && s.user == user && !s.decoded);
  double found[4] = { 0, 0, 0, 0 };
  r.read_inline (found, last);
  CHECK (std::equal (found, found + 4, four) == (g.rank == last));
  CHECK (r.next (s) && s.type == 'B' && s.E == 9 && s.decoded && s.user == "block");
  std::vector<char> word (g.rank == last ? 9 : 0);
  r.read_block (word, s.E, last);
  CHECK (g.rank != last || std::string (word.begin (), word.end ()) == "echo echo");
  CHECK (r.next (s) && s.E == 32 && s.N == 0);
  r.read_block (scda::skip, s.E, 0);
  CHECK (r.next (s) && s.type == 'A' && s.N == static_cast<std::uint64_t> (3 * g.size) && s.E == 8);
  std::vector<double> three (3);
  r.read_array (three, each (3), s.E);
  CHECK (three == values);
  CHECK (r.next (s) && s.user == "indirect");
  std::vector<double> back (3, 0.);
  r.read_array (std::vector<void *> { &back[2], nullptr, &back[0] }, each (3), s.E);
  CHECK (back[0] == values[0] && back[1] == 0. && back[2] == values[2]);
  CHECK (r.next (s) && s.type == 'V');
  list sizes (3);
  r.read_varray_sizes (sizes, each (3));
  CHECK (sizes == Ei);
  three.assign (3, 0.);
  r.read_varray (three, each (3), sizes, Sq);
  CHECK (three == values);
  CHECK (r.next (s) && s.user == "varray, indirect" && s.decoded);
  r.read_varray_sizes (scda::skip, each (3));
  if (g.rank == 0) { // may differ from rank to rank
    r.read_varray (scda::skip, each (3), scda::counts ());
  } else {
    r.read_varray (std::vector<void *> { &back[0], &back[1], &back[2] }, each (3), list (3, 8));
    CHECK (back[0] == values[2] && back[1] == values[1]);
  }
  CHECK (r.next (s) && s.N == 0);
  r.read_array (scda::skip, each (0), 8);
  CHECK (r.at_end () && !r.next (s) && r.is_open () && s.user == "none");
  r.close ();
}

static void errors () {
  const std::string name = folder + "/hpp-errors.scda";
  const scda::params check = scda::params ().check ();
  const bool here = g.rank == g.size - 1; // the rank that is wrong
  const std::size_t ranks = static_cast<std::size_t> (g.size);
  const std::vector<double> two (2), one (1);
  const list Nq = each (2), Ei = { 8, 8 }, short_Ei = { 8 };
  scda::writer w;
  CHECK (thrown ([&] { w.flush (); }) == SCDA_ERR_USAGE);
  CHECK (thrown ([&] { scda::reader (g.comm, folder + "/none"); }, "none") == SCDA_ERR_NO_SUCH_FILE);
  CHECK (thrown ([&] { scda::writer (g.comm, name, std::string (59, 'x')); }) == SCDA_ERR_ARG);
  CHECK (thrown ([&] { scda::writer (g.comm, name, "params", scda::params ().level (10)); }, "level") == SCDA_ERR_ARG);
  CHECK (scda::error_string (SCDA_SUCCESS) == "success" && scda::error_string (77).empty ());
  CHECK (scda::version () == std::to_string (SCDA_VERSION_MAJOR) + "." + std::to_string (SCDA_VERSION_MINOR) + "."
                               + std::to_string (SCDA_VERSION_PATCH));

  // What is too short on one rank throws the same on all, and that rank can say why.
  const char *const problems[] = { "Nq: fewer", "data: fewer", "Ei: fewer", "data: fewer", "Sq: fewer", "data: fewer",
                                   "pointers: fewer", "Sq: fewer" };
  list sums (here ? ranks - 1 : ranks);
  for (int i = 0; i < 8; ++i) {
    w = scda::writer (g.comm, name, "too short", check);
    const int code = thrown (
      [&] {
        switch (i) {
        case 0: w.write_array ("Nq", two, here ? scda::counts (Nq.data (), ranks - 1) : Nq, 8); break;
        case 1: w.write_array ("data", here ? one : two, Nq, 8); break;
        case 2: w.write_varray ("Ei", two, Nq, here ? short_Ei : Ei); break;
        case 3: w.write_varray ("data", here ? one : two, Nq, Ei); break;
        case 4: w.write_varray ("Sq", two, Nq, Ei, 0, scda::counts (Nq.data (), here ? ranks - 1 : ranks)); break;
        case 5: w.write_block ("data", here ? one : two, 16, g.size - 1); break;
        case 6: w.write_array ("pointers", std::vector<const void *> (here ? 1 : 2, &two[0]), Nq, 8); break;
        default: w.proc_sizes (Ei, Nq, sums);
        }
      },
      here ? problems[i] : "");
    CHECK (code == SCDA_ERR_ARG && !w.is_open ());
  }
  w = scda::writer (g.comm, name, "to be read");
  w.write_block ("block", two, 16, 0);
  w.write_varray ("varray", two, Nq, Ei);
  w.close ();
  for (int i = 0; i < 4; ++i) {
    scda::reader r (g.comm, name, check);
    scda::section s;
    std::vector<double> room (here ? 1 : 2);
    r.next (s);
    if (i == 0) {
      CHECK (thrown ([&] { r.read_block (room, s.E, g.size - 1); }, here ? "room for fewer" : "") == SCDA_ERR_ARG);
      continue;
    }
    r.read_block (scda::skip, s.E, 0);
    r.next (s);
    list sizes (room.size ());
    if (i == 1) {
      CHECK (thrown ([&] { r.read_varray_sizes (sizes, Nq); }, here ? "Ei: fewer" : "") == SCDA_ERR_ARG);
      continue;
    }
    r.read_varray_sizes (scda::skip, Nq);
    if (i == 2) { CHECK (thrown ([&] { r.read_varray (room, Nq, Ei); }, here ? "data: fewer" : "") == SCDA_ERR_ARG); }
    if (i == 3) { CHECK (thrown ([&] { r.next (s); }) == SCDA_ERR_USAGE); }
    CHECK (!r.is_open ());
  }
}

// Writes a file when it is destroyed, as a program that saves what it has when it fails.
struct saver {
  std::string name;
  scda::writer w;
  explicit saver (const std::string &filename) : name (filename) {}
  ~saver () { w = scda::writer (g.comm, name, "saved", scda::params ().atomic ()); }
};

static void destructors () {
  const std::string name = folder + "/hpp-destructor.scda", saved = folder + "/hpp-saved.scda";
  if (g.rank == 0) {
    std::remove (name.c_str ());
    std::remove (saved.c_str ());
  }
  barrier (g);
  // An exception that has nothing to do with the file: what is incomplete does not get its name.
  try {
    saver s (saved);
    scda::writer w (g.comm, name, "incomplete", scda::params ().atomic ());
    w.write_inline ("first", std::string (32, 'x'), 0);
    throw std::runtime_error ("unrelated");
  } catch (const std::runtime_error &) {
  }
  barrier (g);
  CHECK (!exists (name));
  CHECK (exists (saved)); // but what was begun after the exception does
  {
    scda::writer w (g.comm, name, "complete", scda::params ().atomic ());
    w.write_inline ("first", std::string (32, 'x'), 0);
  }
  CHECK (exists (name));
  scda::reader r (g.comm, name);
  CHECK (r.user () == "complete");
  try {
    scda::reader other (g.comm, name);
    throw 1;
  } catch (int) {
  }
  r = scda::reader (); // closes it
  CHECK (!r.is_open ());

  // One rank alone leaves: the next call of the others throws, and none hangs.
  int code = 0;
  try {
    scda::writer w (g.comm, name, "one leaves", scda::params ().check ());
    if (g.rank == g.size - 1) { throw std::runtime_error ("alone"); }
    w.write_inline ("first", std::string (32, 'x'), 0);
    w.close ();
  } catch (const scda::error &e) {
    code = e.code ();
  } catch (const std::runtime_error &) {
    code = SCDA_ERR_USAGE;
  }
  CHECK (code != 0);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2);
  g = world ();
  folder = argv[1];
  sections ();
  errors ();
  destructors ();
  return finish ();
}
