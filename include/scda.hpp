/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file scda.hpp
 * The C++ interface of libscda: parallel, serial-equivalent, archival files.
 *
 * Header only, C++11 or later, over the functions of scda.h, which says what each does. Nothing is
 * allocated but the user strings that are read, and errors.
 *
 * Collective. What is collective in C is so here: all ranks call the constructors and members of a
 * file in the same order, except `is_open`, `at_end`, `rank`, `size` and `get`. Closing is collective,
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
 * Memory. Views are passed by value and used during the call only. One that is shorter than what the
 * arguments ask for is refused with `SCDA_ERR_ARG`, before anything is read from it or written to it.
 */
#ifndef SCDA_HPP
#define SCDA_HPP

#include <scda.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

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

/* Whether a container has such elements. */
template <typename C, bool writable> struct has_bytes {
  template <typename D> using element = typename std::remove_pointer<decltype (std::declval<D &> ().data ())>::type;
  template <typename D>
  static auto test (int) -> std::integral_constant<bool,
    std::is_convertible<decltype (std::declval<D &> ().size ()), std::size_t>::value
      && is_plain<element<D>>::value && !(writable && std::is_const<element<D>>::value)>;
  template <typename D> static std::false_type test (...);
  static constexpr bool value = decltype (test<C> (0))::value;
};

[[noreturn]] inline void fail (int code, const char *problem) {
  std::string message = code == SCDA_ERR_EOF ? error_string (code) : std::string (scda_last_error_message ());
  if (problem != nullptr) { message = std::string (problem) + ": " + message; }
  throw error (code, message);
}

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
  constexpr view (C &&container) : data_ (container.data ()), size_ (container.size ()) {}
  constexpr T *data () const noexcept { return data_; }
  constexpr std::size_t size () const noexcept { return size_; }

private:
  T *data_;
  std::size_t size_;
};

/** Counts and sizes to be read. */
typedef view<const std::uint64_t> counts;

/** Bytes to be written. */
class const_bytes {
public:
  /** No bytes: for ranks that have none, or whose are of no interest. */
  constexpr const_bytes () noexcept : data_ (nullptr), size_ (0) {}
  constexpr const_bytes (const void *data, std::size_t bytes) noexcept : data_ (data), size_ (bytes) {}
  /** Of anything with `data` and `size`, and elements that can be copied as bytes; not of pointers. */
  template <typename C, typename = typename std::enable_if<detail::has_bytes<C, false>::value>::type>
  constexpr const_bytes (C &&container)
    : data_ (container.data ()), size_ (container.size () * sizeof *container.data ()) {}
  template <typename T, std::size_t n, typename = typename std::enable_if<detail::is_plain<T>::value>::type>
  constexpr const_bytes (const T (&array)[n]) noexcept : data_ (array), size_ (sizeof array) {}
  constexpr const void *data () const noexcept { return data_; }
  constexpr std::size_t size () const noexcept { return size_; }

private:
  const void *data_;
  std::size_t size_;
};

/** Says that this rank does not want data. */
struct skip_t {};
constexpr skip_t skip = skip_t ();

/** Room for bytes to be read, or `scda::skip`. */
class bytes {
public:
  constexpr bytes (skip_t) noexcept : data_ (nullptr), size_ (0), skip_ (true) {}
  constexpr bytes (void *data, std::size_t size) noexcept : data_ (data), size_ (size), skip_ (false) {}
  /** Of anything with `data` and `size`, and elements that can be copied as bytes; not of pointers. */
  template <typename C, typename = typename std::enable_if<detail::has_bytes<C, true>::value>::type>
  constexpr bytes (C &&container)
    : data_ (container.data ()), size_ (container.size () * sizeof *container.data ()), skip_ (false) {}
  template <typename T, std::size_t n,
            typename = typename std::enable_if<detail::is_plain<T>::value && !std::is_const<T>::value>::type>
  constexpr bytes (T (&array)[n]) noexcept : data_ (array), size_ (sizeof array), skip_ (false) {}
  constexpr void *data () const noexcept { return data_; }
  constexpr std::size_t size () const noexcept { return size_; }
  constexpr bool skipped () const noexcept { return skip_; }

private:
  void *data_;
  std::size_t size_;
  bool skip_;
};

/** A user string to be written: any bytes, at most `SCDA_USER_STRING_BYTES`. */
class text {
public:
  text (const char *str) noexcept : data_ (str), size_ (std::char_traits<char>::length (str)) {}
  constexpr text (const char *data, std::size_t size) noexcept : data_ (data), size_ (size) {}
  /** Of a `std::string`, `std::string_view`, ... */
  template <typename C, typename = typename std::enable_if<detail::is_contiguous<const C, const char>::value>::type>
  constexpr text (const C &container) : data_ (container.data ()), size_ (container.size ()) {}
  constexpr const char *data () const noexcept { return data_; }
  const std::size_t *size () const noexcept { return &size_; }

private:
  const char *data_;
  std::size_t size_;
};

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
    if (scda_fclose (take (), &err) != 0) { detail::fail (err, nullptr); }
  }
  bool is_open () const noexcept { return f_ != nullptr; }
  /** This rank in the communicator of the file, and the number of its ranks. */
  int rank () const noexcept { return rank_; }
  int size () const noexcept { return size_; }
  /** For the functions of C; still this object's. NULL if the file is closed. */
  scda_fcontext_t *get () const noexcept { return f_; }

  /** Computes the bytes that each rank has of a varray: one entry per rank. */
  void proc_sizes (counts Ei, counts Nq, view<std::uint64_t> Sq) {
    const char *problem = nullptr;
    const std::uint64_t *partition = checked (Nq, problem);
    const std::uint64_t *sizes = own_sizes (Ei, partition, problem);
    require (Sq.size () >= ranks (), "Sq: fewer entries than ranks", partition, problem);
    call (problem, [&] (int *err) { return scda_proc_sizes (f_, sizes, partition, Sq.data (), err); });
  }

protected:
  file () noexcept : f_ (nullptr), rank_ (0), size_ (1), exceptions_ (detail::exceptions ()) {}
  file (file &&other) noexcept
    : f_ (other.take ()), rank_ (other.rank_), size_ (other.size_), exceptions_ (other.exceptions_) {}
  file &operator= (file &&other) noexcept {
    if (this != &other) {
      drop ();
      f_ = other.take ();
      rank_ = other.rank_;
      size_ = other.size_;
      exceptions_ = other.exceptions_;
    }
    return *this;
  }
  ~file () { drop (); }

  void opened (MPI_Comm comm) noexcept {
#ifdef SCDA_SERIAL
    (void) comm;
#else
    MPI_Comm_rank (comm, &rank_);
    MPI_Comm_size (comm, &size_);
#endif
  }

  /* Calls a function of C, which gives back the file or, after an error, NULL. */
  template <typename F> int call (const char *problem, F function) {
    if (f_ == nullptr) { throw error (SCDA_ERR_USAGE, "scda::file: it is closed"); }
    int err = SCDA_SUCCESS;
    f_ = function (&err);
    if (f_ == nullptr) { detail::fail (err, problem); }
    return err;
  }

  std::size_t ranks () const noexcept { return static_cast<std::size_t> (size_); }

  /* The lists that C reads have the length that it expects, or C is passed NULL in place of Nq: it then fails on all
   * ranks, also if this one alone is wrong. The problem is what this rank knows about it. */
  static void require (bool holds, const char *what, const std::uint64_t *&partition, const char *&problem) noexcept {
    if (!holds && problem == nullptr) { problem = what; }
    if (!holds) { partition = nullptr; }
  }
  const std::uint64_t *checked (counts Nq, const char *&problem) const noexcept {
    const std::uint64_t *partition = Nq.data ();
    require (Nq.size () >= ranks (), "Nq: fewer entries than ranks", partition, problem);
    return partition;
  }
  std::uint64_t own (const std::uint64_t *partition) const noexcept {
    return partition == nullptr ? 0 : partition[rank_];
  }
  const std::uint64_t *own_sizes (counts Ei, const std::uint64_t *&partition, const char *&problem) const noexcept {
    require (Ei.size () >= own (partition), "Ei: fewer entries than elements of this rank", partition, problem);
    return Ei.data ();
  }
  /* The bytes of this rank fit, if they are to be had. A product that overflows is left to C. */
  void require_bytes (std::size_t found, std::uint64_t E, const std::uint64_t *&partition, const char *&problem) const noexcept {
    require (E == 0 || own (partition) <= found / E, "data: fewer bytes than the elements of this rank", partition, problem);
  }
  void require_bytes (std::size_t found, counts Ei, const std::uint64_t *&partition, const char *&problem) const noexcept {
    const std::uint64_t n = own (partition);
    std::uint64_t i = 0, left = found;
    for (; i < n && Ei.data ()[i] <= left; ++i) { left -= Ei.data ()[i]; }
    require (i == n, "data: fewer bytes than the elements of this rank", partition, problem);
  }
  void require_pointers (std::size_t found, const std::uint64_t *&partition, const char *&problem) const noexcept {
    require (found >= own (partition), "pointers: fewer than elements of this rank", partition, problem);
  }
  const std::uint64_t *sums (counts Sq, const std::uint64_t *&partition, const char *&problem) const noexcept {
    require (Sq.data () == nullptr || Sq.size () >= ranks (), "Sq: fewer entries than ranks", partition, problem);
    return Sq.data ();
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
    if (f_ == nullptr) { detail::fail (err, nullptr); }
    opened (comm);
  }
  writer (MPI_Comm comm, const std::string &filename, text user, const params &chosen = params ())
    : writer (comm, filename.c_str (), user, chosen) {}
  writer (writer &&) noexcept = default;
  writer &operator= (writer &&) noexcept = default;

  /** Writes all that waits, and throws if anything went wrong until now. */
  void flush () {
    call (nullptr, [&] (int *err) { return scda_fflush (f_, err); });
  }

  /** Writes an inline section: the 32 bytes of `root`. `data` is ignored on other ranks. */
  void write_inline (text user, const_bytes data, int root) {
    const char *problem = nullptr;
    const void *pointer = root_data (data, SCDA_INLINE_BYTES, root, problem);
    call (problem, [&] (int *err) { return scda_fwrite_inline (f_, pointer, user.data (), user.size (), root, err); });
  }
  /** Writes a block: the `E` bytes of `root`. `data` is ignored on other ranks. */
  void write_block (text user, const_bytes data, std::uint64_t E, int root, int encode = SCDA_ENCODE_NONE) {
    const char *problem = nullptr;
    const void *pointer = root_data (data, E, root, problem);
    call (problem, [&] (int *err) {
      return scda_fwrite_block (f_, pointer, E, user.data (), user.size (), root, encode, err);
    });
  }
  /** Writes an array of elements of `E` bytes. `data`: those of this rank, one after the other. */
  void write_array (text user, const_bytes data, counts Nq, std::uint64_t E, int encode = SCDA_ENCODE_NONE) {
    const char *problem = nullptr;
    const std::uint64_t *partition = checked (Nq, problem);
    require_bytes (data.size (), E, partition, problem);
    put_array (user, data.data (), partition, E, 0, encode, problem);
  }
  /** The same of a pointer to each element of this rank. */
  void write_array (text user, view<const void *const> pointers, counts Nq, std::uint64_t E, int encode = SCDA_ENCODE_NONE) {
    const char *problem = nullptr;
    const std::uint64_t *partition = checked (Nq, problem);
    require_pointers (pointers.size (), partition, problem);
    put_array (user, pointers.data (), partition, E, 1, encode, problem);
  }
  /** Writes an array of elements of their own sizes. `data`: those of this rank, one after the other. `Ei`: their sizes.
   * `Sq`: see `proc_sizes`; computed if empty. */
  void write_varray (text user, const_bytes data, counts Nq, counts Ei, int encode = SCDA_ENCODE_NONE, counts Sq = counts ()) {
    const char *problem = nullptr;
    const std::uint64_t *partition = checked (Nq, problem);
    own_sizes (Ei, partition, problem);
    require_bytes (data.size (), Ei, partition, problem);
    put_varray (user, data.data (), partition, Ei, Sq, 0, encode, problem);
  }
  /** The same of a pointer to each element of this rank. */
  void write_varray (text user, view<const void *const> pointers, counts Nq, counts Ei, int encode = SCDA_ENCODE_NONE,
                     counts Sq = counts ()) {
    const char *problem = nullptr;
    const std::uint64_t *partition = checked (Nq, problem);
    own_sizes (Ei, partition, problem);
    require_pointers (pointers.size (), partition, problem);
    put_varray (user, pointers.data (), partition, Ei, Sq, 1, encode, problem);
  }

private:
  /* NULL, which C refuses on all ranks, if there are not enough bytes. */
  const void *root_data (const_bytes data, std::uint64_t E, int root, const char *&problem) const noexcept {
    if (rank_ != root || data.size () >= E) { return data.data (); }
    problem = "data: fewer bytes than the section";
    return nullptr;
  }
  void put_array (text user, const void *data, const std::uint64_t *partition, std::uint64_t E, int indirect, int encode,
                  const char *problem) {
    call (problem, [&] (int *err) {
      return scda_fwrite_array (f_, data, partition, E, indirect, user.data (), user.size (), encode, err);
    });
  }
  void put_varray (text user, const void *data, const std::uint64_t *partition, counts Ei, counts Sq, int indirect,
                   int encode, const char *problem) {
    const std::uint64_t *all = sums (Sq, partition, problem);
    call (problem, [&] (int *err) {
      return scda_fwrite_varray (f_, data, partition, Ei.data (), all, indirect, user.data (), user.size (), encode, err);
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
    char buffer[SCDA_USER_STRING_BYTES + 1];
    std::size_t len = 0;
    int err = SCDA_SUCCESS;
    f_ = scda_fopen_read (comm, filename, buffer, &len, chosen.get (), &err);
    if (f_ == nullptr) { detail::fail (err, nullptr); }
    opened (comm);
    user_.assign (buffer, len);
  }
  reader (MPI_Comm comm, const std::string &filename, const params &chosen = params ())
    : reader (comm, filename.c_str (), chosen) {}
  reader (reader &&) noexcept = default;
  reader &operator= (reader &&) noexcept = default;

  /** The user string of the file. */
  const std::string &user () const noexcept { return user_; }
  /** Whether no section follows. Not collective. */
  bool at_end () const noexcept { return scda_feof (f_) != 0; }

  /** Reads the header of the next section; false at the end of the file. The data must then be read, or skipped.
   * `decode`: decompress a section that is compressed. */
  bool next (section &s, bool decode = true) {
    char buffer[SCDA_USER_STRING_BYTES + 1];
    std::size_t len = 0;
    int decoded = decode;
    const int err = call (nullptr, [&] (int *e) {
      return scda_fread_section_header (f_, &s.type, &s.N, &s.E, buffer, &len, &decoded, e);
    });
    if (err == SCDA_ERR_EOF) { return false; }
    s.decoded = decoded != 0;
    s.user.assign (buffer, len);
    return true;
  }

  /** Reads the 32 bytes of an inline section on `root`. `data` is ignored on other ranks. */
  void read_inline (bytes data, int root) {
    const char *problem = nullptr;
    const bool fits = root_fits (data, SCDA_INLINE_BYTES, root, problem);
    call (problem, [&] (int *err) { return scda_fread_inline_data (f_, data.data (), fits ? root : -1, err); });
  }
  /** Reads the `E` bytes of a block on `root`. `data` is ignored on other ranks. */
  void read_block (bytes data, std::uint64_t E, int root) {
    const char *problem = nullptr;
    const bool fits = root_fits (data, E, root, problem);
    call (problem, [&] (int *err) { return scda_fread_block_data (f_, data.data (), E, fits ? root : -1, err); });
  }
  /** Reads an array: the elements of this rank, one after the other. */
  void read_array (bytes data, counts Nq, std::uint64_t E) {
    const char *problem = nullptr;
    const std::uint64_t *partition = checked (Nq, problem);
    if (!data.skipped ()) { require_bytes (data.size (), E, partition, problem); }
    get_array (data.data (), partition, E, 0, problem);
  }
  /** The same to a pointer for each element of this rank; NULL skips one. */
  void read_array (view<void *const> pointers, counts Nq, std::uint64_t E) {
    const char *problem = nullptr;
    const std::uint64_t *partition = checked (Nq, problem);
    require_pointers (pointers.size (), partition, problem);
    get_array (const_cast<void **> (pointers.data ()), partition, E, 1, problem);
  }
  /** Reads the sizes of the elements of this rank of a varray, before its data. */
  void read_varray_sizes (view<std::uint64_t> Ei, counts Nq) {
    const char *problem = nullptr;
    const std::uint64_t *partition = checked (Nq, problem);
    require (Ei.size () >= own (partition), "Ei: fewer entries than elements of this rank", partition, problem);
    call (problem, [&] (int *err) { return scda_fread_varray_sizes (f_, Ei.data (), partition, err); });
  }
  /** Skips the sizes on this rank. */
  void read_varray_sizes (skip_t, counts Nq) {
    const char *problem = nullptr;
    const std::uint64_t *partition = checked (Nq, problem);
    call (problem, [&] (int *err) { return scda_fread_varray_sizes (f_, nullptr, partition, err); });
  }
  /** Reads the data of a varray: the elements of this rank, one after the other. `Sq`: computed if empty. */
  void read_varray (bytes data, counts Nq, counts Ei, counts Sq = counts ()) {
    const char *problem = nullptr;
    const std::uint64_t *partition = checked (Nq, problem);
    if (!data.skipped ()) {
      own_sizes (Ei, partition, problem);
      require_bytes (data.size (), Ei, partition, problem);
    }
    get_varray (data.data (), partition, Ei, Sq, 0, problem);
  }
  /** The same to a pointer for each element of this rank; NULL skips one. */
  void read_varray (view<void *const> pointers, counts Nq, counts Ei, counts Sq = counts ()) {
    const char *problem = nullptr;
    const std::uint64_t *partition = checked (Nq, problem);
    own_sizes (Ei, partition, problem);
    require_pointers (pointers.size (), partition, problem);
    get_varray (const_cast<void **> (pointers.data ()), partition, Ei, Sq, 1, problem);
  }

private:
  /* If there is not enough room, the caller asks for a root that is none, which C refuses on all ranks. */
  bool root_fits (bytes data, std::uint64_t E, int root, const char *&problem) const noexcept {
    if (rank_ != root || data.skipped () || data.size () >= E) { return true; }
    problem = "data: room for fewer bytes than the section";
    return false;
  }
  void get_array (void *data, const std::uint64_t *partition, std::uint64_t E, int indirect, const char *problem) {
    call (problem, [&] (int *err) { return scda_fread_array_data (f_, data, partition, E, indirect, err); });
  }
  void get_varray (void *data, const std::uint64_t *partition, counts Ei, counts Sq, int indirect, const char *problem) {
    const std::uint64_t *all = sums (Sq, partition, problem);
    call (problem, [&] (int *err) {
      return scda_fread_varray_data (f_, data, partition, Ei.data (), all, indirect, err);
    });
  }

  std::string user_;
};

} // namespace scda

#endif /* SCDA_HPP */
