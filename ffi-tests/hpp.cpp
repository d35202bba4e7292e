// The C++ header: every member, what may be passed and what may not, errors on one rank and on all, and destructors.
#include "common.h"

#include <scda.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
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
static_assert (std::is_convertible<std::vector<int> &, scda::counts>::value, "");
static_assert (std::is_convertible<const unsigned char (&)[3], scda::counts>::value, "");
static_assert (!std::is_convertible<std::vector<double> &, scda::counts>::value, "no integers");
static_assert (!std::is_convertible<std::array<bool, 2> &, scda::counts>::value, "no counts");
static_assert (std::is_convertible<double, scda::const_bytes>::value && std::is_convertible<double &, scda::bytes>::value, "");
static_assert (!std::is_convertible<const double &, scda::bytes>::value, "cannot be written to");
static_assert (!std::is_convertible<std::vector<double>::iterator, scda::const_bytes>::value, "an iterator is no data");
static_assert (!std::is_convertible<std::nullptr_t, scda::const_bytes>::value, "no data");
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

// How the words of a rank begin.
static std::string wrong_rank (int rank) { return g.size == 1 ? "" : "rank " + std::to_string (rank) + ": "; }

// All elements on the last rank.
static list list_of (std::uint64_t n) {
  list Nq = each (0);
  Nq.back () = n;
  return Nq;
}

// The code that a call throws; 0 if it does not. With `what`, the message must contain it on this rank.
template <typename F> static int thrown (F call, const std::string &what = "") {
  try {
    call ();
  } catch (const scda::error &e) {
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
  CHECK (r.user () == user && !r.info ().at_end);
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
  CHECK (r.info ().at_end && !r.next (s) && r.is_open () && s.user == "none");
  r.close ();
}

// A container as those of some libraries: its size is signed.
struct signed_size {
  double values[2];
  double *data () { return values; }
  const double *data () const { return values; }
  int size () const { return 2; }
};
struct signed_list {
  std::uint64_t entry;
  const std::uint64_t *data () const { return &entry; }
  long size () const { return 1; }
};

// Reads up to the header of a section that follows no varray.
static void skip_to (scda::reader &r, const std::string &user) {
  for (scda::section s; r.next (s) && s.user != user;) {
    if (s.type == 'I') { r.read_inline (scda::skip); }
    if (s.type == 'B') { r.read_block (scda::skip); }
    if (s.type == 'A') { r.read_array (scda::skip, list_of (s.N)); }
  }
}

// What may be left out: E, root, Nq as a list of another type, the sizes of a varray.
static void shorter () {
  const std::string name = folder + "/hpp-shorter.scda";
  const std::size_t mine = static_cast<std::size_t> (g.rank) % 3; // also none
  std::vector<std::array<double, 5>> state (mine, { { 1. + g.rank, 2, 3, 4, 5 } });
  std::vector<std::vector<int>> lists (mine);
  for (std::size_t i = 0; i < mine; ++i) { lists[i].assign (i + 1, g.rank); }
  std::vector<std::string> words (mine, "word of " + std::to_string (g.rank));
  const signed_size two = { { 7, 8 } };
  const std::string parameters = g.rank == g.size - 1 ? "of the last rank" : "";
  const std::vector<int> twos (static_cast<std::size_t> (g.size), 2);
  const std::size_t ranks = static_cast<std::size_t> (g.size);
  const int last = g.size - 1, numbers[4] = { 3, 4, 5, 6 };

  scda::writer w (g.comm, name, "shorter");
  const list Nq = w.proc_counts (mine);
  CHECK (Nq.size () == static_cast<std::size_t> (g.size) && Nq[static_cast<std::size_t> (g.rank)] == mine && Nq[0] == 0);
  w.write_inline ("time", std::array<double, 4> { { .25, 0, 0, 0 } });
  w.write_block ("step", 42);
  w.write_block ("parameters", parameters, scda::encode_always, last);
  w.write_array ("state", state, Nq, scda::encode_auto);
  w.write_array ("two", two, twos);
  w.write_array ("numbers", numbers, each (2), 8, scda::encode_none);
  w.write_varray ("lists", lists, Nq);
  w.write_varray ("words", words, Nq, scda::encode_always);
  w.write_varray ("sizes", two, each (2), std::vector<long long> { 8, 8 });
  w.close ();
  scda::writer alone (SCDA_COMM_SELF, name + std::to_string (g.rank), "alone");
  alone.write_array ("in braces", two, { 2 }, 8);
  alone.write_varray ("in braces", two, { 2 }, { 12, 4 });
  alone.write_array ("signed", std::vector<double> (3), signed_list { 3 });
  CHECK (thrown ([&] {
           alone.write_array ("negative", two, std::array<int, 1> { { -1 } });
           alone.close ();
         })
         == SCDA_ERR_RANGE);

  scda::reader r (g.comm, name);
  scda::section s;
  double time[4] = { 0, 0, 0, 0 };
  r.next (s);
  r.read_inline (time);
  CHECK ((time[0] == .25) == (g.rank == 0));
  int step = 0;
  r.next (s);
  r.read_block (step);
  CHECK (s.E == sizeof step && step == (g.rank == 0 ? 42 : 0));
  r.next (s);
  CHECK (s.E == 16 && s.decoded);
  std::string text (static_cast<std::size_t> (s.E), ' ');
  std::vector<char> found (text.begin (), text.end ());
  r.read_block (found, last);
  text.assign (found.begin (), found.end ());
  CHECK (g.rank != last || text == parameters);
  CHECK (r.next (s) && s.type == 'A' && s.E == 40);
  decltype (state) found_state (mine);
  r.read_array (found_state, r.proc_counts (mine));
  CHECK (found_state == state);
  CHECK (r.next (s) && s.E == 8 && s.N == 2 * static_cast<std::uint64_t> (g.size));
  signed_size found_two = { { 0, 0 } };
  r.read_array (found_two, twos);
  CHECK (found_two.values[0] == 7 && found_two.values[1] == 8);
  CHECK (r.next (s) && s.E == 8);
  r.read_array (scda::skip, each (2));
  CHECK (r.next (s) && s.type == 'V');
  decltype (lists) found_lists (7); // what it had is gone
  r.read_varray (found_lists, Nq);
  CHECK (found_lists == lists);
  CHECK (r.next (s) && s.decoded);
  decltype (words) found_words;
  r.read_varray (found_words, r.partition_of (words.size ()));
  CHECK (found_words == words);
  CHECK (r.next (s) && s.N == 2 * static_cast<std::uint64_t> (g.size));
  list sizes (2);
  r.read_varray_sizes (sizes, twos);
  CHECK (sizes == list ({ 8, 8 }));
  r.close ();

  // Data of another size than in the file are refused, though there is room.
  r = scda::reader (g.comm, name, scda::params ().check ());
  r.next (s);
  r.read_inline (scda::skip);
  r.next (s);
  double wrong = 0;
  CHECK (thrown ([&] { r.read_block (wrong); }, wrong_rank (0) + "data: found 8 bytes, expected 4") == SCDA_ERR_ARG);
  r = scda::reader (g.comm, name, scda::params ().check ());
  skip_to (r, "state");
  std::vector<std::array<double, 6>> wider (mine);
  CHECK ((thrown ([&] { r.read_array (wider, Nq); }, "expected 1 elements of 40 bytes; or pass E") == SCDA_ERR_ARG) == (g.size > 1));
  r = scda::reader (g.comm, name);
  skip_to (r, "lists");
  CHECK (thrown ([&] { r.read_varray (found_lists, std::vector<int> (ranks, -1)); }, "Ei: found") == SCDA_ERR_ARG);
  if (g.size == 1) { return; }
  r = scda::reader (g.comm, name, scda::params ().check ());
  skip_to (r, "lists");
  std::vector<std::vector<double>> doubles; // of lists of int
  CHECK (thrown ([&] { r.read_varray (doubles, Nq); }, "rank 1: data: found an element of 4 bytes, expected a multiple of 8")
         == SCDA_ERR_ARG);
}

// Commits, appending after a torn tail, sections by number and by name, checksums.
static void sealed () {
  const std::string name = folder + "/hpp-sealed.scda";
  const scda::params seal = scda::params ().seal ();
  scda::writer w (g.comm, name, std::string ("sealed"), seal);
  CHECK (w.user () == "sealed" && w.info ().rolled_back_bytes == 0 && w.info ().is_sealed);
  w.write_array ("state", std::vector<int> (2, g.rank), each (2));
  scda::request begun = w.commit_begin ();
  while (!begun.test ()) { }
  begun.wait ();
  begun.wait (); // nothing is left
  CHECK (begun.test ());
  w.write_block ("note", 7);
  CHECK (w.statistics ().written_bytes > 0 || g.rank > 0);
  begun = w.close_begin ();
  CHECK (!w.is_open ());
  begun.wait ();
  // What a job leaves that was killed while it appended.
  if (g.rank == 0) { std::ofstream (name, std::ios::binary | std::ios::app) << std::string (70, 'x'); }
  barrier (g);
  scda::reader early (g.comm, name);
  scda_info_t info = early.info ();
  CHECK (info.is_sealed && info.unsealed_bytes == 70 && early.sections () == 2 && !early.refresh ());
  const std::uint64_t bytes = info.bytes;
  w = scda::writer::append (g.comm, name); // what has a seal stays sealed
  CHECK (std::string (scda_last_error_message ()).find ("70") != std::string::npos);
  CHECK (w.user () == "sealed" && w.info ().rolled_back_bytes == 70);
  w.write_array ("state", std::vector<int> (2, g.rank + 100), each (2));
  w.close_begin (); // the request waits when it is destroyed
  CHECK (early.refresh ());
  info = early.info ();
  CHECK (early.sections () == 3 && info.unsealed_bytes == 0 && info.bytes > bytes);
  early = scda::reader (g.comm, name, scda::params ().to_seal (false));
  CHECK (early.sections () == 3 && early.info ().is_sealed);
  int err = 0;
  CHECK (early.is_open () && scda_fseek (early.get (), 99, &err) == nullptr && err == SCDA_ERR_ARG);
  CHECK (!early.is_open ()); // a function of C has closed it
  early.close ();
  CHECK (thrown ([&] { scda::writer::append (g.comm, name.c_str (), scda::params ().level (10)); }, "level") == SCDA_ERR_ARG);
  CHECK (thrown ([&] { scda::writer::append (g.comm, folder + "/none"); }, "none") == SCDA_ERR_NO_SUCH_FILE);
  w = scda::writer (g.comm, name + ".plain", "not sealed", scda::params ().seal (false));
  CHECK (thrown ([&] { w.commit_begin (); }) == SCDA_ERR_USAGE && !w.is_open ());
  w = scda::writer (g.comm, name + ".plain", "not sealed", scda::params ().seal (false));
  CHECK (thrown ([&] { w.commit (); }) == SCDA_ERR_USAGE && !w.is_open ());

  const scda::params verify = scda::params ().verify ();
  scda::reader r (g.comm, name, verify);
  scda::section s;
  std::vector<int> found (2);
  std::uint64_t number = 99;
  CHECK (r.sections () == 3 && r.user () == "sealed");
  CHECK (r.find (number, "state", 0) && number == 0);
  CHECK (r.find (number, "state") && number == 2);
  CHECK (r.find (number, std::string ("state"), -1) && number == 2);
  CHECK (!r.find (number, "state", 2) && !r.find (number, "stat") && number == 2);
#if __cplusplus >= 201703L
  CHECK (r.find ("state", 1) == std::optional<std::uint64_t> (2) && r.find (std::string_view ("note")) && !r.find ("none"));
#endif
  r.seek (number);
  CHECK (r.next (s) && s.user == "state");
  r.read_array (found, each (2));
  CHECK (found == std::vector<int> (2, g.rank + 100) && r.info ().at_end);
  r.seek (0);
  CHECK (r.next (s) && s.user == "state");
  r.read_array (found, each (2));
  CHECK (found == std::vector<int> (2, g.rank));
  CHECK (thrown ([&] { r.seek (3); }) == SCDA_ERR_ARG && !r.is_open ());
  CHECK (thrown ([&] { r.sections (); }) == SCDA_ERR_USAGE);
  CHECK (thrown ([&] { r.find (number, "state"); }) == SCDA_ERR_USAGE);

  barrier (g);
  if (g.rank == 0) {
    std::fstream file (name, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp (576 + 128);
    file.put (77); // in the first element of the first section
  }
  barrier (g);
  r = scda::reader (g.comm, name, verify);
  CHECK (thrown ([&] { r.next (s); }, "checksum") == SCDA_ERR_CHECKSUM);

  // Back to the first commit; and a copy that replaces the file, which is kept.
  w = scda::writer::append (g.comm, name, scda::params ().append_after (2).atomic ().keep (1));
  CHECK (w.info ().rolled_back_bytes > 0);
  w.close ();
  CHECK (scda::reader (g.comm, name).sections () == 2);
  CHECK (scda::reader (g.comm, folder + "/hpp-sealed.1.scda").sections () == 3);

  // To a place that was not committed by itself.
  w = scda::writer::append_or_create (g.comm, name, "not needed", seal);
  CHECK (!w.is_new () && w.user () == scda::reader (g.comm, name).user () && !w.user ().empty ());
  for (int step = 0; step < 4; ++step) { w.write ("time", step), w.write ("rho", 2 * step); }
  w.close ();
  const auto nameless = [&] { scda::writer::append (g.comm, name, scda::params ().append_record (1)); };
  CHECK (thrown (nameless, "append_record: found 1 without append_name") == SCDA_ERR_ARG);
  w = scda::writer::append (g.comm, name, scda::params ().append_name ("time")); /* after the last step */
  CHECK (w.info ().rolled_back_bytes == 0);
  w.close ();
  w = scda::writer::append (g.comm, name, scda::params ().append_name ("time").append_record (1));
  CHECK (w.info ().rolled_back_bytes > 0);
  w.close ();
  int last = 7;
  r = scda::reader (g.comm, name);
  scda::dataset rho;
  CHECK (r.find_dataset (rho, "rho"));
  r.read (rho, last);
  CHECK (last == 2 && r.sections () == 10);
  std::vector<double> numbers;
  CHECK (r.read ("time", last, 0) && last == 0 && r.read ("rho", numbers) && numbers == std::vector<double> (1, 2.));
  CHECK (!r.read ("rho", last, 9) && !r.read ("none", numbers) && last == 0 && numbers.size () == 1);
  r.close ();
  scda::writer::append (g.comm, name, scda::params ().append_after (1)).close ();
  CHECK (scda::reader (g.comm, name).sections () == 1);
  auto back = [&] { scda::writer::append (g.comm, name, scda::params ().append_after (2)); };
  CHECK (thrown (back, "2 sections are more than the 1") == SCDA_ERR_ARG);
  barrier (g);
  if (g.rank == 0) { std::remove (name.c_str ()); }
  barrier (g);
  w = scda::writer::append_or_create (g.comm, name, "a new one", seal);
  CHECK (w.is_new () && w.user () == "a new one");
  w.close ();
}

// Elements of a known value: three numbers each, or as many as the number of the element says.
struct triple {
  std::uint64_t values[3];
};
static triple triple_of (std::uint64_t i) { return { { i, 2 * i, i * i } }; }
static std::vector<std::uint64_t> row_of (std::uint64_t i) { return std::vector<std::uint64_t> (i * 7 % 5, i); }

// Each rank reads elements at random.
static void ranges () {
  const std::string name = folder + "/hpp-ranges.scda";
  const std::uint64_t N = 1000;
  std::uint64_t same = 13, own = mix (13, static_cast<std::uint64_t> (g.rank)); // states of random numbers
  list Nq (static_cast<std::size_t> (g.size));
  partition (&same, N, g.size, Nq.data ());
  const std::uint64_t mine = first_of (Nq.data (), g.rank);
  std::vector<triple> triples;
  std::vector<list> rows;
  for (std::uint64_t i = mine; i < mine + Nq[static_cast<std::size_t> (g.rank)]; ++i) {
    triples.push_back (triple_of (i));
    rows.push_back (row_of (i));
  }
  std::string bytes (N, ' ');
  for (std::size_t i = 0; i < N; ++i) { bytes[i] = static_cast<char> ('a' + i % 26); }
  scda::writer w (g.comm, name, "ranges", scda::params ().seal ());
  for (const scda::encoding encode : { scda::encode_none, scda::encode_always }) {
    w.write_array ("triples", triples, Nq, encode);
    w.write_varray ("rows", rows, Nq, encode);
    w.write_block ("bytes", bytes, encode);
  }
  w.close ();

  scda::reader r (g.comm, name);
  scda::section s;
  for (int turn = 0; turn < 60; ++turn) {
    r.seek (below (&same, r.sections ()));
    CHECK (r.next (s));
    for (std::uint64_t again = below (&same, 3) + 1; again > 0; --again) {
      const std::uint64_t form = below (&own, 5);
      const std::uint64_t count = below (&own, 3) == 0 ? 0 : below (&own, 200), first = below (&own, N - count + 1);
      const std::size_t n = static_cast<std::size_t> (count);
      if (s.type == 'B') {
        std::vector<char> part (n);
        if (form == 0) {
          r.read_block_range (scda::skip, first);
        } else {
          r.read_block_range (part, first);
          CHECK (std::string (part.begin (), part.end ()) == bytes.substr (static_cast<std::size_t> (first), n));
        }
      } else if (s.type == 'A') {
        std::vector<triple> part (n);
        std::vector<std::uint64_t> numbers (3 * n);
        std::vector<void *> pointers;
        for (triple &each_one : part) { pointers.push_back (&each_one); }
        if (form == 0) { r.read_array_range (scda::skip, first); }
        if (form == 1) { r.read_array_range ({ part.data (), n * sizeof (triple) }, first); }
        if (form == 2) { r.read_array_range (scda::view<triple> (part.data (), n), first); }
        if (form == 3) { r.read_array_range (pointers, first); }
        if (form == 4) { r.read_array_range (numbers, first); }
        for (std::size_t i = 0; i < n && form > 0; ++i) {
          const triple expected = triple_of (first + i);
          const std::uint64_t *values = form == 4 ? &numbers[3 * i] : part[i].values;
          CHECK (std::equal (values, values + 3, expected.values));
        }
      } else {
        std::vector<list> part;
        list Ei (n), together;
        if (form < 2) {
          r.read_varray_range (part, first, count);
          CHECK (part.size () == n);
        } else { // on this rank: the sizes and the data by themselves
          r.read_varray_sizes_range (Ei, first);
          std::vector<void *> pointers;
          for (std::size_t i = 0; i < n; ++i) {
            part.push_back (list (static_cast<std::size_t> (Ei[i] / 8)));
            together.resize (together.size () + part[i].size ());
          }
          for (list &row : part) { pointers.push_back (row.data ()); }
          if (form == 2) { r.read_varray_range (scda::skip, first, Ei); }
          if (form == 3) { r.read_varray_range (pointers, first, Ei); }
          if (form == 4) { r.read_varray_range (together, first, Ei); }
        }
        list all, expected;
        for (std::size_t i = 0; i < n; ++i) {
          const list row = row_of (first + i);
          CHECK (part[i].size () == row.size ());
          all.insert (all.end (), part[i].begin (), part[i].end ());
          expected.insert (expected.end (), row.begin (), row.end ());
        }
        CHECK (form == 2 || (form == 4 ? together : all) == expected);
      }
    }
    // All data after ranges, or the next section.
    if (s.type == 'A' && below (&same, 2) == 0) {
      std::vector<triple> all (triples.size ());
      r.read_array (all, Nq);
      CHECK (all.empty () || std::equal (all[0].values, all[0].values + 3, triples[0].values));
    }
  }
  r.close ();

  // What does not fit on one rank is an error of all.
  const bool here = g.rank == g.size - 1;
  const std::string last = wrong_rank (g.size - 1);
  const std::string problems[] = { last + "data: found 20 bytes in elements of 4, expected whole elements of 24 bytes",
                                   last + "data: found 64 bytes in elements of 32, expected whole elements of 24 bytes",
                                   last + "range of elements: found 999 to 1001",
                                   last + "data: found 0 of 8 bytes left for element 1 of this rank, expected 8",
                                   last + "data: found 1 pointers, expected 2, one per element of this rank",
                                   last + "data: found an element of 8 bytes, expected a multiple of 24",
                                   last + "range of elements: found 0 to 1001",
                                   last + "range of elements: found 990 to 1010",
                                   "" };
  for (int i = 0; i < 9; ++i) {
    r = scda::reader (g.comm, name, scda::params ().check ());
    if (i < 8) {
      r.seek (i < 3 ? 0 : i < 7 ? 1 : 2);
      r.next (s);
    }
    std::vector<triple> two (2);
    list none;
    double one = 0;
    const int code = thrown (
      [&] {
        std::vector<list> lists;
        std::vector<std::vector<triple>> others;
        const std::uint64_t eight[2] = { 8, 8 };
        switch (i) {
        case 0: here ? r.read_array_range (std::array<int, 5> (), 0) : r.read_array_range (two, 0); break;
        case 1: here ? r.read_array_range (std::array<std::array<double, 4>, 2> (), 0) : r.read_array_range (two, 0); break;
        case 2: r.read_array_range (two, here ? N - 1 : 0); break;
        case 3: here ? r.read_varray_range (one, 3, eight) : r.read_varray_range (none, 3, none); break;
        case 4: r.read_varray_range (std::vector<void *> (1, &one), 3, here ? scda::counts (eight) : scda::counts (eight, 0)); break;
        case 5: here ? r.read_varray_range (others, 3, 1) : r.read_varray_range (lists, 3, 1); break;
        case 6: r.read_varray_range (lists, 0, here ? N + 1 : N); break;
        case 7: here ? r.read_block_range (std::array<char, 20> (), N - 10) : r.read_block_range (scda::skip, 0); break;
        default: r.read_array_range (two, 0); // before any header
        }
      },
      problems[i]);
    CHECK (code == (i < 8 ? SCDA_ERR_ARG : SCDA_ERR_USAGE) && !r.is_open ());
  }
}

static void errors () {
  const std::string name = folder + "/hpp-errors.scda";
  const scda::params check = scda::params ().check ();
  const bool here = g.rank == g.size - 1; // the rank that is wrong
  const std::size_t ranks = static_cast<std::size_t> (g.size);
  const std::vector<double> two (2), one (1);
  const list Nq = each (2), Ei = { 8, 8 }, short_Ei = { 8 }, Sq = each (16);
  scda::writer w;
  CHECK (thrown ([&] { w.flush (); }) == SCDA_ERR_USAGE);
  CHECK (thrown ([&] { scda::reader (g.comm, folder + "/none"); }, "none") == SCDA_ERR_NO_SUCH_FILE);
  CHECK (thrown ([&] { scda::writer (g.comm, name, std::string (59, 'x')); }) == SCDA_ERR_ARG);
  CHECK (thrown ([&] { scda::writer (g.comm, name, "params", scda::params ().level (10)); }, "level") == SCDA_ERR_ARG);
  const std::uint64_t negative = static_cast<std::uint64_t> (-1) << 31;
  for (const scda::params &p : { scda::params ().background_bytes (negative), scda::params ().max_memory (negative) }) {
    CHECK (thrown ([&] { scda::writer (g.comm, name, "params", p); }, "expected 0 to 9223372036854775807") == SCDA_ERR_ARG);
  }
  CHECK (scda::error_string (SCDA_SUCCESS) == "success" && scda::error_string (77).empty ());
  CHECK (scda::version () == std::to_string (SCDA_VERSION_MAJOR) + "." + std::to_string (SCDA_VERSION_MINOR) + "."
                               + std::to_string (SCDA_VERSION_PATCH));

  // What is too short on one rank throws the same on all, with the words of that rank.
  const std::string last = wrong_rank (g.size - 1);
  const std::string too_few = ": found " + std::to_string (g.size - 1) + " entries, expected " + std::to_string (g.size);
  const std::string problems[] = { "Nq" + too_few + ", one per rank", "data: found 8 bytes, expected 2 elements of 8 bytes",
                                   "Ei: found 1 entries, expected 2, one per element of this rank",
                                   "data: found 0 of 8 bytes left for element 1 of this rank, expected 8",
                                   "Sq" + too_few, "data: found 8 bytes, expected 16",
                                   "data: found 1 pointers, expected 2, one per element of this rank", "Sq" + too_few,
                                   "data: found 8 bytes, expected 2 elements of 8 bytes",
                                   "data: found 24 bytes, expected 2 elements of 8 bytes; or pass E",
                                   "E is missing", "data: found 1 elements, expected 2, as Nq says for this rank",
                                   "E: found 2, expected a multiple of 8" };
  list sums (here ? ranks - 1 : ranks);
  const std::vector<double> three (3);
  for (int i = 0; i < 13; ++i) {
    w = scda::writer (g.comm, name, "too short", check);
    const int code = thrown (
      [&] {
        switch (i) {
        case 0: w.write_array ("Nq", two, here ? scda::counts (Nq.data (), ranks - 1) : Nq, 8); break;
        case 1: w.write_array ("data", here ? one : two, Nq, 8); break;
        case 2: w.write_varray ("Ei", two, Nq, here ? short_Ei : Ei); break;
        case 3: w.write_varray ("data", here ? one : two, Nq, Ei); break;
        case 4: w.write_varray ("Sq", two, Nq, Ei, 0, scda::counts (Sq.data (), here ? ranks - 1 : ranks)); break;
        case 5: w.write_block ("data", here ? one : two, 16, g.size - 1); break;
        case 6: w.write_array ("pointers", std::vector<const void *> (here ? 1 : 2, &two[0]), Nq, 8); break;
        case 7: w.proc_sizes (Ei, Nq, sums); break;
        case 8: w.write_array ("data", here ? one : two, Nq); break;
        case 9: w.write_array ("data", here ? three : two, Nq); break;
        case 10: w.write_array ("data", here ? scda::const_bytes (two.data (), 16) : two, Nq); break;
        case 11: w.write_varray ("data", std::vector<std::vector<double>> (here ? 1 : 2), Nq); break;
        default: w.write_array ("data", two, Nq, SCDA_ENCODE_AUTO); // in the place of E
        }
      },
      i < 12 ? last + problems[i] : problems[i]);
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
      CHECK (thrown ([&] { r.read_block (room, s.E, g.size - 1); }, last + "data: found 8 bytes, expected 16") == SCDA_ERR_ARG);
      continue;
    }
    r.read_block (scda::skip, s.E, 0);
    r.next (s);
    list sizes (room.size ());
    if (i == 1) {
      CHECK (thrown ([&] { r.read_varray_sizes (sizes, Nq); }, last + "Ei: found 1 entries") == SCDA_ERR_ARG);
      continue;
    }
    r.read_varray_sizes (scda::skip, Nq);
    if (i == 2) { CHECK (thrown ([&] { r.read_varray (room, Nq, Ei); }, last + "data: found 0 of 8 bytes") == SCDA_ERR_ARG); }
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

  // One rank alone leaves: the next call of the others throws, and says so; none hangs.
  const auto leaves = [&] { return g.rank == g.size - 1 ? throw std::runtime_error ("alone") : 0; };
  const auto one_leaves = [] (const std::function<void ()> &use) {
    std::string what = wrong_rank (g.size - 1) + "left the file";
    try {
      use ();
      what.clear ();
    } catch (const scda::error &e) {
      what = e.code () == SCDA_ERR_USAGE ? e.what () : "";
    } catch (const std::runtime_error &) {
    }
    CHECK (what.find (wrong_rank (g.size - 1) + "left the file") != std::string::npos);
  };
  one_leaves ([&] {
    scda::writer w (g.comm, name, "one leaves", scda::params ().check ());
    leaves ();
    w.write_inline ("first", std::string (32, 'x'), 0);
    w.close ();
  });
  one_leaves ([&] {
    scda::reader other (g.comm, saved);
    leaves ();
    other.close ();
  });
}

/* Streams, which each rank writes and reads by itself. */
static void streams () {
  const std::string name = folder + "/hpp-streams.scda";
  const std::string own (static_cast<std::size_t> (g.rank) * 1000, static_cast<char> ('a' + g.rank));
  {
    scda::writer w (g.comm, name, "streams");
    w.begin_streams ("log", 512);
    w.write_stream (own);
    w.write_stream (std::vector<double> (2, 0.5));
    CHECK (w.info ().stream_bytes == own.size () + 16);
    w.end_streams ();
    w.close ();
  }
  scda::reader r (g.comm, name);
  scda::streams log;
  CHECK (!r.find_streams (log, "log", 1));
  CHECK (r.find_streams (log, "log") && log.tasks () == static_cast<std::uint64_t> (g.size));
  CHECK (r.stream_size (log, static_cast<std::uint64_t> (g.rank)) == own.size () + 16);
  std::vector<char> found (own.size ());
  r.read_stream (log, static_cast<std::uint64_t> (g.rank), found);
  CHECK (std::string (found.begin (), found.end ()) == own);
  std::vector<double> numbers (2);
  r.read_stream (log, static_cast<std::uint64_t> (g.rank), numbers, own.size ());
  CHECK (numbers[0] == 0.5 && numbers[1] == 0.5);
  /* The share of each rank: all streams on rank 0. */
  std::vector<std::uint64_t> Nq (static_cast<std::size_t> (g.size));
  Nq[0] = log.tasks ();
  std::vector<std::string> all;
  r.read_streams (log, all, Nq);
  CHECK (all.size () == Nq[static_cast<std::size_t> (g.rank)]);
  for (std::size_t p = 0; p < all.size (); ++p) {
    CHECK (all[p].size () == 1000 * p + 16 && all[p].substr (0, 1000 * p) == std::string (1000 * p, static_cast<char> ('a' + p)));
  }
  std::vector<std::uint64_t> Ei (all.size ());
  r.read_streams_sizes (log, Ei, Nq);
  r.read_streams_sizes (log, scda::skip, Nq);
  std::string expected;
  std::vector<char> together;
  std::vector<void *> pointers;
  for (std::size_t p = 0; p < all.size (); ++p) {
    CHECK (Ei[p] == all[p].size ());
    expected += all[p];
    pointers.push_back (p % 2 == 0 ? &all[p][0] : nullptr);
  }
  together.resize (expected.size ());
  r.read_streams (log, together, Nq, Ei);
  CHECK (std::string (together.begin (), together.end ()) == expected);
  if (!all.empty ()) { all[0].assign (all[0].size (), ' '); }
  r.read_streams (log, pointers, Nq, Ei);
  r.read_streams (log, scda::skip, Nq, Ei);
  CHECK (all.empty () || (all[0] == expected.substr (0, 16) && all[0] != std::string (16, ' ')));
  int code = 0;
  try {
    scda::reader other (g.comm, name);
    other.find_streams (log, "log");
    if (!Ei.empty ()) { Ei.back () += 1; }
    std::vector<char> more (together.size () + 1);
    other.read_streams (log, more, Nq, Ei);
  } catch (const scda::error &e) {
    code = e.code ();
  }
  CHECK (code == SCDA_ERR_ARG);
  code = 0;
  try {
    r.read_stream (log, 0, numbers, 1u << 30);
  } catch (const scda::error &e) {
    code = e.code ();
  }
  CHECK (code == SCDA_ERR_ARG && r.is_open ());
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2);
  g = world ();
  folder = argv[1];
  sections ();
  shorter ();
  sealed ();
  ranges ();
  errors ();
  destructors ();
  streams ();
  return finish ();
}
