/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file scda.hpp
 * The C++ interface of libscda: parallel, serial-equivalent, archival files.
 *
 * Header only, C++11 or later, over the functions of scda.h, which says what each does. It allocates
 * user strings that are read, errors, lists that are not of `std::uint64_t`, and one entry per rank or
 * element where the caller leaves that to it. Data are never copied.
 *
 * Collective. What is collective in C is so here: all ranks call the constructors and members of a
 * file in the same order, except `is_open`, `at_end`, `user`, `rank`, `size` and `get`. Closing is collective,
 * and so are the destructor of an open file and the assignment to one.
 *
 * Errors. A call that fails throws `scda::error`: on all ranks, with the same code (when: see "Errors"
 * in scda.h). The file is then closed, and its further calls throw `SCDA_ERR_USAGE`.
 *
 * The destructor never throws. It closes a file that is still open, and an error of that is lost: call
 * `close` to know that every byte is in the file. If an exception is under way, the file is closed as
 * after an error: what was to appear under its name when it is complete (`params::atomic`) does not
 * appear. On the other ranks the next call that meets this one fails; a rank that makes none, and waits
 * for this one by a function of MPI instead, hangs, as with any collective function that is left out.
 *
 * Memory. Arguments are used during the call only. One that is shorter than what the others ask for is
 * refused with `SCDA_ERR_ARG` on all ranks, before anything is read from it or written to it.
 */
#ifndef SCDA_HPP
#define SCDA_HPP

#include <scda.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#if __cplusplus >= 201703L
#include <optional>
#endif
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace scda {

/** An error: on all ranks the same. */
class error : public std::runtime_error {
public:
  error (int code, const std::string &message) : std::runtime_error (message), code_ (code) {}
  /** One of the codes of scda.h. */
  int code () const noexcept { return code_; }
  /** The class of the code, see `scda_ferror_class`. */
  int error_class () const noexcept {
    int errclass = code_;
    scda_ferror_class (code_, &errclass);
    return errclass;
  }

private:
  int code_;
};

/** The text of an error code. */
inline std::string error_string (int code) {
  char text[256];
  int len = static_cast<int> (sizeof text);
  return scda_ferror_string (code, text, &len) == 0 ? std::string (text, static_cast<std::size_t> (len)) : std::string ();
}

/** The version of the library that the program runs with, as "MAJOR.MINOR.PATCH". */
inline const char *version () noexcept { return scda_version (); }

namespace detail {

/* Whether a container has contiguous elements of type T, with or without const: vector, array, string, span, ... */
template <typename C, typename T> struct is_contiguous {
  template <typename D>
  static auto test (int) -> std::integral_constant<bool,
    std::is_convertible<typename std::remove_pointer<decltype (std::declval<D &> ().data ())>::type (*)[], T (*)[]>::value
      && std::is_convertible<decltype (std::declval<D &> ().size ()), std::size_t>::value>;
  template <typename D> static std::false_type test (...);
  static constexpr bool value = decltype (test<C> (0))::value;
};

/* Whether elements can be copied as bytes, and mean something elsewhere: no pointers. */
template <typename T> struct is_plain
  : std::integral_constant<bool, std::is_trivially_copyable<T>::value && !std::is_pointer<T>::value> {};

/* Whether elements are integers that can be counts. */
template <typename T> struct is_count
  : std::integral_constant<bool, std::is_integral<T>::value && !std::is_same<typename std::remove_cv<T>::type, bool>::value> {};

/* Whether a value is data by itself. */
template <typename T> struct is_scalar : std::integral_constant<bool, std::is_arithmetic<T>::value || std::is_enum<T>::value> {};

/* The elements of a container. */
template <typename C> using element = typename std::remove_pointer<decltype (std::declval<C &> ().data ())>::type;

/* Whether a container has contiguous integers of another type than std::uint64_t. */
template <typename C> struct has_other_counts {
  template <typename D>
  static auto test (int) -> std::integral_constant<bool,
    std::is_convertible<decltype (std::declval<D &> ().size ()), std::size_t>::value
      && is_count<element<D>>::value && !is_contiguous<D, const std::uint64_t>::value>;
  template <typename D> static std::false_type test (...);
  static constexpr bool value = decltype (test<C> (0))::value;
};

/* Whether a container has elements that can be copied as bytes. */
template <typename C, bool writable> struct has_bytes {
  template <typename D>
  static auto test (int) -> std::integral_constant<bool,
    std::is_convertible<decltype (std::declval<D &> ().size ()), std::size_t>::value
      && is_plain<element<D>>::value && !(writable && std::is_const<element<D>>::value)>;
  template <typename D> static std::false_type test (...);
  static constexpr bool value = decltype (test<C> (0))::value;
};

/* Whether a container has containers of such elements. */
template <typename C> struct has_parts {
  template <typename D> using part = typename std::remove_reference<decltype (*std::declval<const D &> ().begin ())>::type;
  template <typename D>
  static auto test (int) -> std::integral_constant<bool,
    std::is_convertible<decltype (std::declval<const D &> ().size ()), std::size_t>::value && has_bytes<part<D>, false>::value>;
  template <typename D> static std::false_type test (...);
  static constexpr bool value = decltype (test<C> (0))::value;
};

/* The size of a container, which has a signed type in some libraries. */
template <typename C> constexpr std::size_t size_of (const C &container) {
  return static_cast<std::size_t> (container.size ());
}

[[noreturn]] inline void fail (int code) { throw error (code, scda_last_error_message ()); }

/* The exceptions that are under way. C++11 tells only whether there are any. */
inline int exceptions () noexcept {
#ifdef __cpp_lib_uncaught_exceptions
  return std::uncaught_exceptions ();
#else
  return std::uncaught_exception () ? 1 : 0;
#endif
}

} // namespace detail

/** Elements in memory that belong to somebody else: a pointer and a number. */
template <typename T> class view {
public:
  /** No elements. */
  constexpr view () noexcept : data_ (nullptr), size_ (0) {}
  constexpr view (T *data, std::size_t size) noexcept : data_ (data), size_ (size) {}
  template <std::size_t n> constexpr view (T (&array)[n]) noexcept : data_ (array), size_ (n) {}
  /** Of anything with `data` and `size`, such as `std::vector` and `std::span`. */
  template <typename C, typename = typename std::enable_if<detail::is_contiguous<C, T>::value>::type>
  constexpr view (C &&container) : data_ (container.data ()), size_ (detail::size_of (container)) {}
  constexpr T *data () const noexcept { return data_; }
  constexpr std::size_t size () const noexcept { return size_; }

private:
  T *data_;
  std::size_t size_;
};

/** Counts and sizes that are read: integers of any type. Those of another type than `std::uint64_t`, and lists in
 * braces, are copied. A negative one is refused with `SCDA_ERR_RANGE`. */
class counts {
public:
  /** No entries. */
  counts () noexcept : copied_ (false) {}
  counts (const std::uint64_t *data, std::size_t size) noexcept : copied_ (false), view_ (data, size) {}
  template <typename C, typename std::enable_if<detail::is_contiguous<C, const std::uint64_t>::value, int>::type = 0>
  counts (C &&container) : copied_ (false), view_ (container) {}
  template <typename C, typename std::enable_if<detail::has_other_counts<C>::value, int>::type = 0>
  counts (C &&container) : counts (copy (), container.data (), detail::size_of (container)) {}
  template <typename T, std::size_t n, typename = typename std::enable_if<detail::is_count<T>::value>::type>
  counts (const T (&array)[n]) : counts (copy (), array, n) {}
  template <typename T, typename = typename std::enable_if<detail::is_count<T>::value>::type>
  counts (std::initializer_list<T> entries) : counts (copy (), entries.begin (), entries.size ()) {}
  const std::uint64_t *data () const noexcept { return copied_ ? copy_.data () : view_.data (); }
  std::size_t size () const noexcept { return copied_ ? copy_.size () : view_.size (); }

private:
  struct copy {};
  template <typename T> counts (copy, const T *data, std::size_t size) : copied_ (true) {
    copy_.reserve (size);
    for (std::size_t i = 0; i < size; ++i) { copy_.push_back (static_cast<std::uint64_t> (data[i])); }
  }

  bool copied_;
  view<const std::uint64_t> view_;
  std::vector<std::uint64_t> copy_;
};

/** Bytes to be written. */
class const_bytes {
public:
  /** No bytes: for ranks that have none, or whose are of no interest. */
  constexpr const_bytes () noexcept : data_ (nullptr), size_ (0), element_ (0), unit_ (1) {}
  constexpr const_bytes (const void *data, std::size_t bytes) noexcept : data_ (data), size_ (bytes), element_ (0), unit_ (1) {}
  /** Of anything with `data` and `size`, and elements that can be copied as bytes; not of pointers. */
  template <typename C, typename std::enable_if<detail::has_bytes<C, false>::value, int>::type = 0>
  constexpr const_bytes (C &&container)
    : data_ (container.data ()), size_ (detail::size_of (container) * sizeof (detail::element<C>)),
      element_ (sizeof (detail::element<C>)), unit_ (unit<detail::element<C>> ()) {}
  template <typename T, std::size_t n, typename = typename std::enable_if<detail::is_plain<T>::value>::type>
  constexpr const_bytes (const T (&array)[n]) noexcept
    : data_ (array), size_ (sizeof array), element_ (sizeof (T)), unit_ (unit<T> ()) {}
  /** Of one number. */
  template <typename T, typename std::enable_if<detail::is_scalar<T>::value, int>::type = 0>
  constexpr const_bytes (const T &value) noexcept
    : data_ (&value), size_ (sizeof value), element_ (sizeof value), unit_ (sizeof value) {}
  constexpr const void *data () const noexcept { return data_; }
  constexpr std::size_t size () const noexcept { return size_; }
  /** The bytes of an element, by its type; 0 if unknown. */
  constexpr std::size_t element () const noexcept { return element_; }
  /** The bytes of a number, of which every element must be a multiple; 1 if the elements are not numbers. */
  constexpr std::size_t unit () const noexcept { return unit_; }

private:
  template <typename T> static constexpr std::size_t unit () noexcept { return detail::is_scalar<T>::value ? sizeof (T) : 1; }

  const void *data_;
  std::size_t size_, element_, unit_;
};

/** Says that this rank does not want data. */
struct skip_t {};
constexpr skip_t skip = skip_t ();

/** Room for bytes to be read, or `scda::skip`. */
class bytes {
public:
  constexpr bytes (skip_t) noexcept : data_ (nullptr), size_ (0), element_ (1), skip_ (true) {}
  constexpr bytes (void *data, std::size_t size) noexcept : data_ (data), size_ (size), element_ (1), skip_ (false) {}
  /** Of anything with `data` and `size`, and elements that can be copied as bytes; not of pointers. */
  template <typename C, typename std::enable_if<detail::has_bytes<C, true>::value, int>::type = 0>
  constexpr bytes (C &&container)
    : data_ (container.data ()), size_ (detail::size_of (container) * sizeof (detail::element<C>)),
      element_ (sizeof (detail::element<C>)), skip_ (false) {}
  template <typename T, std::size_t n,
            typename = typename std::enable_if<detail::is_plain<T>::value && !std::is_const<T>::value>::type>
  constexpr bytes (T (&array)[n]) noexcept
    : data_ (array), size_ (sizeof array), element_ (sizeof (T)), skip_ (false) {}
  /** For one number. */
  template <typename T, typename std::enable_if<detail::is_scalar<T>::value && !std::is_const<T>::value, int>::type = 0>
  constexpr bytes (T &value) noexcept
    : data_ (&value), size_ (sizeof value), element_ (sizeof value), skip_ (false) {}
  constexpr void *data () const noexcept { return data_; }
  constexpr std::size_t size () const noexcept { return size_; }
  /** The bytes of an element, by its type; 1 if unknown. */
  constexpr std::size_t element () const noexcept { return element_; }
  constexpr bool skipped () const noexcept { return skip_; }

private:
  void *data_;
  std::size_t size_, element_;
  bool skip_;
};

/** A user string to be written: any bytes, at most `SCDA_USER_STRING_BYTES`. */
class text {
public:
  text (const char *str) noexcept : data_ (str), size_ (std::char_traits<char>::length (str)) {}
  constexpr text (const char *data, std::size_t size) noexcept : data_ (data), size_ (size) {}
  /** Of a `std::string`, `std::string_view`, ... */
  template <typename C, typename = typename std::enable_if<detail::is_contiguous<const C, const char>::value>::type>
  constexpr text (const C &container) : data_ (container.data ()), size_ (detail::size_of (container)) {}
  constexpr const char *data () const noexcept { return data_; }
  const std::size_t *size () const noexcept { return &size_; }

private:
  const char *data_;
  std::size_t size_;
};

/** Whether a section is compressed: the constants of scda.h, which the functions that take `E` accept, too. */
enum encoding { encode_none = SCDA_ENCODE_NONE, encode_always = SCDA_ENCODE_ALWAYS, encode_auto = SCDA_ENCODE_AUTO };

/** What may be chosen when a file is opened: `scda::params ().level (9).atomic ()`. See `scda_params` for each. */
class params {
public:
  params () noexcept { scda_params_init (&p_); }
  params &linebreak (int value) noexcept { return p_.linebreak = value, *this; }
  params &encoder (int value) noexcept { return p_.encoder = value, *this; }
  params &level (int value) noexcept { return p_.level = value, *this; }
  params &threads (int value) noexcept { return p_.threads = value, *this; }
  params &aggregation_bytes (std::uint64_t value) noexcept { return p_.aggregation_bytes = value, *this; }
  params &driver (int value) noexcept { return p_.driver = value, *this; }
  params &atomic (bool value = true) noexcept { return p_.atomic = value, *this; }
  params &sync (bool value = true) noexcept { return p_.sync = value, *this; }
  params &check (bool value = true) noexcept { return p_.check = value, *this; }
  params &fuzzy (std::uint64_t everyn, std::uint64_t seed) noexcept {
    return p_.fuzzy_everyn = everyn, p_.fuzzy_seed = seed, *this;
  }
  params &seal (bool value = true) noexcept { return p_.seal = value, *this; }
  params &verify (bool value = true) noexcept { return p_.verify = value, *this; }
  params &info (MPI_Info value) noexcept { return p_.info = value, *this; }
  /** For the functions of C. */
  const scda_params_t *get () const noexcept { return &p_; }

private:
  scda_params_t p_;
};

/** What a file for writing and one for reading have in common. Can be moved, not copied. */
class file {
public:
  file (const file &) = delete;
  file &operator= (const file &) = delete;

  /** Closes the file. After writing, success means that every byte is in it. Nothing happens to a file that is closed. */
  void close () {
    if (f_ == nullptr) { return; }
    int err = SCDA_SUCCESS;
    if (scda_fclose (take (), &err) != 0) { detail::fail (err); }
  }
  bool is_open () const noexcept { return f_ != nullptr; }
  /** The user string of the file. */
  const std::string &user () const noexcept { return user_; }
  /** This rank in the communicator of the file, and the number of its ranks. */
  int rank () const noexcept { return rank_; }
  int size () const noexcept { return size_; }
  /** For the functions of C; still this object's. NULL if the file is closed. */
  scda_fcontext_t *get () const noexcept { return f_; }

  /** Gathers the number of elements that each rank has from that of this rank, `n`: what other members take as `Nq`. */
  std::vector<std::uint64_t> proc_counts (std::uint64_t n) {
    std::vector<std::uint64_t> Nq (ranks ());
    call ([&] (int *err) { return scda_proc_counts (f_, n, Nq.data (), err); });
    return Nq;
  }
  /** Computes the bytes that each rank has of a varray: one entry per rank. */
  void proc_sizes (const counts &Ei, const counts &Nq, view<std::uint64_t> Sq) {
    const std::uint64_t *partition = checked (Nq);
    check_sizes (Ei.size (), partition);
    if (Sq.size () < ranks ()) { partition = refuse_short ("Sq", Sq.size (), "entries", ranks (), "one per rank"); }
    call ([&] (int *err) { return scda_proc_sizes (f_, Ei.data (), partition, Sq.data (), err); });
  }

protected:
  file () noexcept : f_ (nullptr), rank_ (0), size_ (1), exceptions_ (detail::exceptions ()) {}
  file (file &&other) noexcept
    : f_ (other.take ()), user_ (std::move (other.user_)), rank_ (other.rank_), size_ (other.size_),
      exceptions_ (other.exceptions_) {}
  file &operator= (file &&other) noexcept {
    if (this != &other) {
      drop ();
      f_ = other.take ();
      user_ = std::move (other.user_);
      rank_ = other.rank_;
      size_ = other.size_;
      exceptions_ = other.exceptions_;
    }
    return *this;
  }
  ~file () { drop (); }

  void opened (MPI_Comm comm, int err) {
    if (f_ == nullptr) { detail::fail (err); }
#ifdef SCDA_SERIAL
    (void) comm;
#else
    MPI_Comm_rank (comm, &rank_);
    MPI_Comm_size (comm, &size_);
#endif
  }

  /* Opens a file that exists, by a function of C. */
  template <typename F>
  void open_existing (F function, MPI_Comm comm, const char *filename, const params &chosen) {
    char buffer[SCDA_USER_STRING_BYTES + 1];
    std::size_t len = 0;
    int err = SCDA_SUCCESS;
    f_ = function (comm, filename, buffer, &len, chosen.get (), &err);
    opened (comm, err);
    user_.assign (buffer, len);
  }

  /* Calls a function of C, which gives back the file or, after an error, NULL. */
  template <typename F> int call (F function) {
    if (f_ == nullptr) { throw error (SCDA_ERR_USAGE, "scda::file: it is closed"); }
    int err = SCDA_SUCCESS;
    f_ = function (&err);
    if (f_ == nullptr) { detail::fail (err); }
    return err;
  }

  std::size_t ranks () const noexcept { return static_cast<std::size_t> (size_); }

  /* C cannot see how long its arguments are. What is too short on this rank makes all ranks fail with these words, and C
   * is passed NULL in place of Nq, so that it reads nothing. */
  std::nullptr_t refuse (const std::string &why) const {
    scda_frefuse (f_, why.c_str (), nullptr);
    return nullptr;
  }
  std::nullptr_t refuse_short (const char *what, std::uint64_t found, const char *unit, std::uint64_t expected,
                               const char *why) const {
    return refuse (std::string (what) + ": found " + std::to_string (found) + " " + unit + ", expected "
                   + std::to_string (expected) + ", " + why);
  }
  const std::uint64_t *checked (const counts &Nq) const {
    if (Nq.size () >= ranks ()) { return Nq.data (); }
    return refuse_short ("Nq", Nq.size (), "entries", ranks (), "one per rank");
  }
  std::uint64_t own (const std::uint64_t *partition) const noexcept {
    return partition == nullptr ? 0 : partition[rank_];
  }
  void check_sizes (std::size_t found, const std::uint64_t *&partition) const {
    if (found >= own (partition)) { return; }
    partition = refuse_short ("Ei", found, "entries", own (partition), "one per element of this rank");
  }
  void check_pointers (std::size_t found, const std::uint64_t *&partition) const {
    if (found >= own (partition)) { return; }
    partition = refuse_short ("data", found, "pointers", own (partition), "one per element of this rank");
  }
  const std::uint64_t *sums (const counts &Sq, const std::uint64_t *&partition) const {
    if (Sq.data () == nullptr || Sq.size () >= ranks ()) { return Sq.data (); }
    return partition = refuse_short ("Sq", Sq.size (), "entries", ranks (), "one per rank");
  }
  /* The elements of this rank fit, or are `exactly` these bytes. A number of more than 63 bits is left to C. */
  void check_bytes (std::size_t found, std::uint64_t E, bool exactly, const std::uint64_t *&partition) const {
    const std::uint64_t n = own (partition);
    if (partition == nullptr || (n | E) >> 63 != 0) { return; }
    const bool fits = E == 0 || n <= found / E;
    if (fits && (!exactly || n * E == found)) { return; }
    partition = refuse ("data: found " + std::to_string (found) + " bytes, expected " + std::to_string (n) + " elements of "
                        + std::to_string (E) + " bytes" + (fits ? "; or pass E" : ""));
  }
  void check_bytes (std::size_t found, const counts &Ei, const std::uint64_t *&partition) const {
    if (!fits (found, Ei, own (partition))) { partition = nullptr; }
  }
  /* The first n elements fit. */
  bool fits (std::size_t found, const counts &Ei, std::uint64_t n) const {
    std::uint64_t left = found;
    for (std::uint64_t i = 0; i < n; ++i) {
      if (Ei.data ()[i] > left) {
        refuse ("data: found " + std::to_string (found) + " bytes, of which " + std::to_string (left)
                + " are left for element " + std::to_string (i) + " of this rank, of " + std::to_string (Ei.data ()[i])
                + " bytes");
        return false;
      }
      left -= Ei.data ()[i];
    }
    return true;
  }
  /* The data of one rank: NULL, if they are too short. */
  template <typename P> P *root_data (P *data, std::size_t found, std::uint64_t E, bool exactly, int root) const {
    if (rank_ != root || (found >= E && !(exactly && found != E))) { return data; }
    return refuse ("data: found " + std::to_string (found) + " bytes, expected " + std::to_string (E));
  }

  scda_fcontext_t *take () noexcept {
    scda_fcontext_t *f = f_;
    f_ = nullptr;
    return f;
  }

  /* A file that is incomplete because of an exception must not pass for complete. On a file for writing (of which
   * scda_feof is true), the function for reading is an error, which closes the file as errors do. */
  void drop () noexcept {
    if (f_ == nullptr) { return; }
    scda_fcontext_t *f = take ();
    int err = SCDA_SUCCESS;
    if (detail::exceptions () > exceptions_ && scda_feof (f) != 0) {
      f = scda_fread_section_header (f, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &err);
    }
    if (f != nullptr) { scda_fclose (f, &err); }
  }

  scda_fcontext_t *f_;
  std::string user_;
  int rank_, size_;
  int exceptions_; /* that were under way when the object was made */
};

/** A file that is open for writing. */
class writer : public file {
public:
  /** A file that is closed. */
  writer () noexcept {}
  /** Creates a file, or empties one that exists. */
  writer (MPI_Comm comm, const char *filename, text user, const params &chosen = params ()) {
    int err = SCDA_SUCCESS;
    f_ = scda_fopen_write (comm, filename, user.data (), user.size (), chosen.get (), &err);
    opened (comm, err);
    user_.assign (user.data (), *user.size ());
  }
  writer (MPI_Comm comm, const std::string &filename, text user, const params &chosen = params ())
    : writer (comm, filename.c_str (), user, chosen) {}
  writer (writer &&) noexcept = default;
  writer &operator= (writer &&) noexcept = default;
  /** Opens a file that exists to write more sections behind those that it has. See `bytes_cut_off`. */
  static writer append (MPI_Comm comm, const char *filename, const params &chosen = params ()) {
    writer appending;
    appending.open_existing (scda_fopen_append, comm, filename, chosen);
    return appending;
  }
  static writer append (MPI_Comm comm, const std::string &filename, const params &chosen = params ()) {
    return append (comm, filename.c_str (), chosen);
  }

  /** The bytes behind the last seal that `append` has cut off, because a job that was killed had not sealed them. */
  std::uint64_t bytes_cut_off () {
    std::uint64_t bytes = 0;
    call ([&] (int *err) { return scda_fcut_off (f_, &bytes, err); });
    return bytes;
  }
  /** Writes all that waits, and throws if anything went wrong until now. */
  void flush () {
    call ([&] (int *err) { return scda_fflush (f_, err); });
  }

  /** Writes all that waits, and a seal: who appends after a kill goes on here.
   * Needs `params::seal`, or a file with a seal that is appended to. */
  void commit () {
    call ([&] (int *err) { return scda_fcommit (f_, err); });
  }

  /** Writes an inline section: the 32 bytes of `root`. `data` is ignored on other ranks. */
  void write_inline (text user, const_bytes data, int root = 0) {
    const void *pointer = root_data (data.data (), data.size (), SCDA_INLINE_BYTES, false, root);
    call ([&] (int *err) { return scda_fwrite_inline (f_, pointer, user.data (), user.size (), root, err); });
  }
  /** Writes a block: the `E` bytes of `root`. `data` is ignored on other ranks. */
  void write_block (text user, const_bytes data, std::uint64_t E, int root, int encode = SCDA_ENCODE_NONE) {
    const void *pointer = root_data (data.data (), data.size (), E, false, root);
    call ([&] (int *err) {
      return scda_fwrite_block (f_, pointer, E, user.data (), user.size (), root, encode, err);
    });
  }
  /** Writes a block: all data of `root`, whose size the other ranks need not know. */
  void write_block (text user, const_bytes data, encoding encode = encode_none, int root = 0) {
    const std::vector<std::uint64_t> sizes = proc_counts (data.size ());
    const bool is_rank = root >= 0 && root < size_; /* else C refuses it */
    write_block (user, data, is_rank ? sizes[static_cast<std::size_t> (root)] : 0, root, static_cast<int> (encode));
  }
  /** Writes an array of elements of `E` bytes. `data`: those of this rank, one after the other. */
  void write_array (text user, const_bytes data, const counts &Nq, std::uint64_t E, int encode = SCDA_ENCODE_NONE) {
    const std::uint64_t *partition = checked (Nq);
    if (E % data.unit () != 0) {
      partition = refuse ("E: found " + std::to_string (E) + ", expected a multiple of " + std::to_string (data.unit ())
                          + ", the bytes of a number");
    }
    check_bytes (data.size (), E, false, partition);
    put_array (user, data.data (), partition, E, 0, encode);
  }
  /** Writes an array whose elements are those of the container `data`, as many as `Nq` says for this rank. */
  void write_array (text user, const_bytes data, const counts &Nq, encoding encode = encode_none) {
    const std::uint64_t *partition = checked (Nq);
    const std::uint64_t E = data.element ();
    if (E == 0) { partition = refuse ("E: found none, and data without elements of a type"); }
    check_bytes (data.size (), E, true, partition);
    put_array (user, data.data (), partition, E, 0, encode);
  }
  /** Writes an array of elements of `E` bytes, with a pointer to each of this rank. */
  void write_array (text user, view<const void *const> pointers, const counts &Nq, std::uint64_t E,
                    int encode = SCDA_ENCODE_NONE) {
    const std::uint64_t *partition = checked (Nq);
    check_pointers (pointers.size (), partition);
    put_array (user, pointers.data (), partition, E, 1, encode);
  }
  /** Writes an array of elements of their own sizes. `data`: those of this rank, one after the other. `Ei`: their sizes.
   * `Sq`: see `proc_sizes`; computed if empty. */
  void write_varray (text user, const_bytes data, const counts &Nq, const counts &Ei, int encode = SCDA_ENCODE_NONE,
                     const counts &Sq = counts ()) {
    const std::uint64_t *partition = checked (Nq);
    check_sizes (Ei.size (), partition);
    check_bytes (data.size (), Ei, partition);
    put_varray (user, data.data (), partition, Ei.data (), Sq, 0, encode);
  }
  /** Writes an array of elements of their own sizes, with a pointer to each of this rank. */
  void write_varray (text user, view<const void *const> pointers, const counts &Nq, const counts &Ei,
                     int encode = SCDA_ENCODE_NONE, const counts &Sq = counts ()) {
    const std::uint64_t *partition = checked (Nq);
    check_sizes (Ei.size (), partition);
    check_pointers (pointers.size (), partition);
    put_varray (user, pointers.data (), partition, Ei.data (), Sq, 1, encode);
  }
  /** Writes an array of elements of their own sizes: each is a container, such as a vector in a vector. */
  template <typename C, typename = typename std::enable_if<detail::has_parts<C>::value>::type>
  void write_varray (text user, const C &elements, const counts &Nq, encoding encode = encode_none) {
    std::vector<const void *> pointers;
    std::vector<std::uint64_t> Ei;
    for (const auto &element : elements) {
      const const_bytes data (element);
      pointers.push_back (data.data ());
      Ei.push_back (data.size ());
    }
    const std::uint64_t *partition = checked (Nq);
    if (partition != nullptr && Ei.size () != own (partition)) {
      partition = refuse_short ("data", Ei.size (), "elements", own (partition), "as Nq says for this rank");
    }
    put_varray (user, pointers.data (), partition, Ei.data (), counts (), 1, encode);
  }

private:
  void put_array (text user, const void *data, const std::uint64_t *partition, std::uint64_t E, int indirect, int encode) {
    call ([&] (int *err) {
      return scda_fwrite_array (f_, data, partition, E, indirect, user.data (), user.size (), encode, err);
    });
  }
  void put_varray (text user, const void *data, const std::uint64_t *partition, const std::uint64_t *Ei, const counts &Sq,
                   int indirect, int encode) {
    const std::uint64_t *all = sums (Sq, partition);
    call ([&] (int *err) {
      return scda_fwrite_varray (f_, data, partition, Ei, all, indirect, user.data (), user.size (), encode, err);
    });
  }
};

/** What a section header says. */
struct section {
  char type = '\0';          /**< 'I', 'B', 'A' or 'V' */
  bool decoded = false;      /**< whether the section is compressed, and its data are decompressed by reading */
  std::uint64_t N = 0, E = 0; /**< elements; bytes of a block or of each element of an array */
  std::string user;          /**< the user string */
};

/** A file that is open for reading. */
class reader : public file {
public:
  /** A file that is closed. */
  reader () noexcept {}
  /** Opens a file. */
  reader (MPI_Comm comm, const char *filename, const params &chosen = params ()) {
    open_existing (scda_fopen_read, comm, filename, chosen);
  }
  reader (MPI_Comm comm, const std::string &filename, const params &chosen = params ())
    : reader (comm, filename.c_str (), chosen) {}
  reader (reader &&) noexcept = default;
  reader &operator= (reader &&) noexcept = default;

  /** Whether no section follows. Not collective. */
  bool at_end () const noexcept { return scda_feof (f_) != 0; }

  /** Reads the header of the next section; false at the end of the file. The data must then be read, or skipped.
   * `decode`: decompress a section that is compressed. */
  bool next (section &s, bool decode = true) {
    char buffer[SCDA_USER_STRING_BYTES + 1];
    std::size_t len = 0;
    int decoded = decode;
    const int err = call ([&] (int *e) {
      return scda_fread_section_header (f_, &s.type, &s.N, &s.E, buffer, &len, &decoded, e);
    });
    if (err == SCDA_ERR_EOF) { return false; }
    N_ = s.N;
    E_ = s.E;
    s.decoded = decoded != 0;
    s.user.assign (buffer, len);
    return true;
  }

  /** The number of sections. */
  std::uint64_t sections () {
    std::uint64_t N = 0;
    call ([&] (int *err) { return scda_fsections (f_, &N, err); });
    return N;
  }
  /** Goes to a section by its number, from 0: `next` reads its header. */
  void seek (std::uint64_t section) {
    call ([&] (int *err) { return scda_fseek (f_, section, err); });
  }
  /** Finds a section by its user string: whether there is one, and its number for `seek`. `occurrence`: 0 is the first,
   * 1 the next, -1 the last. */
  bool find (std::uint64_t &section, text user, std::int64_t occurrence = 0) {
    int found = 0;
    call ([&] (int *err) {
      return scda_ffind (f_, user.data (), user.size (), occurrence, &found, &section, err);
    });
    return found != 0;
  }
#if __cplusplus >= 201703L
  /** The number of a section with this user string. From C++17 on. */
  std::optional<std::uint64_t> find (text user, std::int64_t occurrence = 0) {
    std::uint64_t section = 0;
    if (find (section, user, occurrence)) { return section; }
    return std::nullopt;
  }
#endif

  /** Reads the 32 bytes of an inline section on `root`. `data` is ignored on other ranks. */
  void read_inline (bytes data, int root = 0) {
    void *pointer = room (data, SCDA_INLINE_BYTES, false, root);
    call ([&] (int *err) { return scda_fread_inline_data (f_, pointer, root, err); });
  }
  /** Reads the `E` bytes of a block on `root`. `data` is ignored on other ranks. */
  void read_block (bytes data, std::uint64_t E, int root) {
    void *pointer = room (data, E, false, root);
    call ([&] (int *err) { return scda_fread_block_data (f_, pointer, E, root, err); });
  }
  /** Reads a block on `root`, where `data` has exactly its bytes. */
  void read_block (bytes data, int root = 0) {
    void *pointer = room (data, E_, true, root);
    call ([&] (int *err) { return scda_fread_block_data (f_, pointer, E_, root, err); });
  }
  /** Reads an array of elements of `E` bytes: those of this rank, one after the other. */
  void read_array (bytes data, const counts &Nq, std::uint64_t E) { get_array (data, Nq, E, false); }
  /** Reads an array: `data` has exactly the bytes of the elements of this rank. */
  void read_array (bytes data, const counts &Nq) { get_array (data, Nq, E_, true); }
  /** Reads an array of elements of `E` bytes to a pointer for each of this rank; NULL skips one. */
  void read_array (view<void *const> pointers, const counts &Nq, std::uint64_t E) {
    const std::uint64_t *partition = checked (Nq);
    check_pointers (pointers.size (), partition);
    call ([&] (int *err) {
      return scda_fread_array_data (f_, const_cast<void **> (pointers.data ()), partition, E, 1, err);
    });
  }
  /** Reads the sizes of the elements of this rank of a varray, before its data. */
  void read_varray_sizes (view<std::uint64_t> Ei, const counts &Nq) {
    const std::uint64_t *partition = checked (Nq);
    check_sizes (Ei.size (), partition);
    call ([&] (int *err) { return scda_fread_varray_sizes (f_, Ei.data (), partition, err); });
  }
  /** Skips the sizes on this rank. */
  void read_varray_sizes (skip_t, const counts &Nq) {
    const std::uint64_t *partition = checked (Nq);
    call ([&] (int *err) { return scda_fread_varray_sizes (f_, nullptr, partition, err); });
  }
  /** Reads the data of a varray: the elements of this rank, one after the other. `Sq`: computed if empty. */
  void read_varray (bytes data, const counts &Nq, const counts &Ei, const counts &Sq = counts ()) {
    const std::uint64_t *partition = checked (Nq);
    if (!data.skipped ()) {
      check_sizes (Ei.size (), partition);
      check_bytes (data.size (), Ei, partition);
    }
    get_varray (data.data (), partition, Ei, Sq, 0);
  }
  /** Reads the data of a varray to a pointer for each element of this rank; NULL skips one. */
  void read_varray (view<void *const> pointers, const counts &Nq, const counts &Ei, const counts &Sq = counts ()) {
    const std::uint64_t *partition = checked (Nq);
    check_sizes (Ei.size (), partition);
    check_pointers (pointers.size (), partition);
    get_varray (const_cast<void **> (pointers.data ()), partition, Ei, Sq, 1);
  }
  /** Reads the sizes and the data of a varray: `elements` becomes a vector of this rank's, each a vector or a string. */
  template <typename C> void read_varray (std::vector<C> &elements, const counts &Nq) {
    const std::uint64_t n = Nq.size () < ranks () ? 0 : Nq.data ()[rank_];
    std::vector<std::uint64_t> Ei (static_cast<std::size_t> (n < N_ ? n : N_)); /* more are refused */
    read_varray_sizes (Ei, Nq);
    std::vector<void *> pointers;
    const std::uint64_t *partition = checked (Nq);
    if (!sized (elements, Ei, pointers)) { partition = nullptr; }
    get_varray (pointers.data (), partition, Ei, counts (), 1);
  }

  /* Ranges: some elements of the section on each rank, any, as many as there is room for, from the number `first` on, which
   * counts from 0. `scda::skip` and no room read nothing. More ranges, or all data, may follow, or the next section. */

  /** Reads bytes of a block. */
  void read_block_range (bytes data, std::uint64_t first) {
    call ([&] (int *err) { return scda_fread_block_range (f_, data.data (), first, data.size (), err); });
  }
  /** Reads elements of an array, one after the other. */
  void read_array_range (bytes data, std::uint64_t first) {
    void *room = data.data ();
    const std::uint64_t count = E_ == 0 ? 0 : data.size () / E_;
    if (E_ != 0 && (count * E_ != data.size () || E_ % data.element () != 0)) {
      room = refuse ("data: found " + std::to_string (data.size ()) + " bytes in elements of "
                     + std::to_string (data.element ()) + ", expected whole elements of " + std::to_string (E_) + " bytes");
    }
    call ([&] (int *err) { return scda_fread_array_range (f_, room, first, count, E_, 0, err); });
  }
  /** Reads an element of an array to each pointer; NULL skips one. */
  void read_array_range (view<void *const> pointers, std::uint64_t first) {
    call ([&] (int *err) {
      return scda_fread_array_range (f_, const_cast<void **> (pointers.data ()), first, pointers.size (), E_, 1, err);
    });
  }
  /** Reads sizes of elements of a varray. */
  void read_varray_sizes_range (view<std::uint64_t> Ei, std::uint64_t first) {
    call ([&] (int *err) { return scda_fread_varray_sizes_range (f_, Ei.data (), first, Ei.size (), err); });
  }
  /** Reads elements of a varray, one after the other, as many as there are sizes. */
  void read_varray_range (bytes data, std::uint64_t first, const counts &Ei) {
    void *room = data.data ();
    if (!data.skipped () && !fits (data.size (), Ei, Ei.size ())) { room = nullptr; }
    get_varray_range (room, first, Ei, 0);
  }
  /** Reads an element of a varray to each pointer, as many as there are sizes; NULL skips one. */
  void read_varray_range (view<void *const> pointers, std::uint64_t first, const counts &Ei) {
    void *room = const_cast<void **> (pointers.data ());
    if (pointers.size () < Ei.size ()) {
      room = refuse_short ("data", pointers.size (), "pointers", Ei.size (), "one per entry of Ei");
    }
    get_varray_range (room, first, Ei, 1);
  }
  /** Reads sizes and elements of a varray: `elements` becomes a vector of `count`, each a vector or a string. */
  template <typename C, typename = typename std::enable_if<detail::has_bytes<C, false>::value>::type>
  void read_varray_range (std::vector<C> &elements, std::uint64_t first, std::uint64_t count) {
    std::vector<std::uint64_t> Ei (static_cast<std::size_t> (count <= N_ ? count : 0)); /* more are refused */
    call ([&] (int *err) {
      return scda_fread_varray_sizes_range (f_, count == Ei.size () ? Ei.data () : nullptr, first, count, err);
    });
    std::vector<void *> pointers;
    void *room = sized (elements, Ei, pointers) ? pointers.data () : nullptr;
    get_varray_range (room, first, Ei, 1);
  }

private:
  /* Where the data of one rank go. NULL skips them, also if there is not enough room. */
  void *room (bytes data, std::uint64_t E, bool exactly, int root) const {
    return data.skipped () ? nullptr : root_data (data.data (), data.size (), E, exactly, root);
  }
  /* Gives the elements of a varray their sizes. */
  template <typename C>
  bool sized (std::vector<C> &elements, const std::vector<std::uint64_t> &Ei, std::vector<void *> &pointers) const {
    const std::size_t E = sizeof (detail::element<C>);
    bool fits = true;
    elements.resize (Ei.size ());
    pointers.resize (Ei.size ());
    for (std::size_t i = 0; i < Ei.size (); ++i) {
      if (Ei[i] % E != 0) {
        refuse ("data: found an element of " + std::to_string (Ei[i]) + " bytes, expected a multiple of " + std::to_string (E));
        fits = false;
      }
      elements[i].resize (static_cast<std::size_t> (Ei[i] / E));
      pointers[i] = elements[i].empty () ? nullptr : &elements[i][0];
    }
    return fits;
  }
  void get_array (bytes data, const counts &Nq, std::uint64_t E, bool exactly) {
    const std::uint64_t *partition = checked (Nq);
    if (!data.skipped ()) { check_bytes (data.size (), E, exactly, partition); }
    call ([&] (int *err) { return scda_fread_array_data (f_, data.data (), partition, E, 0, err); });
  }
  void get_varray (void *data, const std::uint64_t *partition, const counts &Ei, const counts &Sq, int indirect) {
    const std::uint64_t *all = sums (Sq, partition);
    call ([&] (int *err) {
      return scda_fread_varray_data (f_, data, partition, Ei.data (), all, indirect, err);
    });
  }

  void get_varray_range (void *data, std::uint64_t first, const counts &Ei, int indirect) {
    call ([&] (int *err) {
      return scda_fread_varray_range (f_, data, first, Ei.size (), Ei.data (), indirect, err);
    });
  }

  std::uint64_t N_ = 0, E_ = 0; /* of the last header */
};

} // namespace scda

#endif /* SCDA_HPP */
