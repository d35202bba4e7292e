/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file scda.hpp
 * The C++ interface of libscda: parallel, serial-equivalent, archival files.
 *
 * Header only, C++11 or later, on top of the functions of scda.h, which describes what each does. It allocates memory for
 * user strings that are read, errors, descriptions of datasets, lists of other types than `std::uint64_t`, and one entry per rank
 * or element where the caller does not provide it. Data are not copied, except items with strides by `write_field`.
 *
 * Collective. What is collective in C is collective here: all ranks call the constructors and members of a
 * file in the same order, except `is_open`, `info`, `statistics`, `user`, `rank`, `size`, `get`, `write_stream`, `stream_size` and
 * `read_stream`. Closing is collective, and so are the destructor of an open file and the assignment to one.
 *
 * Errors. A call that fails throws `scda::error`: on all ranks, with the same code (when: see "Errors"
 * in scda.h). The file is then closed, and its further calls throw `SCDA_ERR_USAGE`.
 *
 * The destructor never throws. It closes a file that is still open, and an error of the close is lost: call
 * `close` to be sure that every byte is in the file. While an exception is propagating, the destructor closes the file as
 * after an error: a file that would appear under its name when it is complete (`params::atomic`) does not
 * appear. On the other ranks, the next call for the file throws `SCDA_ERR_USAGE`, because this rank has left
 * it. A rank that makes no such call, and waits for this one in a function of MPI, hangs, as with
 * any collective function that a rank omits.
 *
 * Memory. Arguments are used during the call only. If one is shorter than the others require, the call
 * fails with `SCDA_ERR_ARG` on all ranks, before anything is read from it or written to it.
 */
#ifndef SCDA_HPP
#define SCDA_HPP

#include <scda_bind.h>

#include <array>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <locale>
#if __cplusplus >= 201703L
#include <optional>
#endif
#include <sstream>
#include <stdexcept>
#if defined(__has_include)
#if __has_include(<stdfloat>) && __cplusplus >= 202302L
#include <stdfloat>
#endif
#endif
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

/** A member of a struct for `scda::members`: determines its name, type and place. */
#define SCDA_MEMBER(T, name) ::scda::detail::member<decltype (T::name)> (#name, offsetof (T, name))
/** Like `SCDA_MEMBER`, under another name in the file. */
#define SCDA_MEMBER_AS(T, name, in_file) ::scda::detail::member<decltype (T::name)> (in_file, offsetof (T, name))
/** The end of a list of members. */
#define SCDA_MEMBERS_END ::scda_member_t ()

namespace scda {

/** An error, which is the same on all ranks. */
class error : public std::runtime_error {
public:
  error (int code, const std::string &message) : std::runtime_error (message), code_ (code) {}
  /** One of the codes of scda.h. */
  int code () const noexcept { return code_; }

private:
  int code_;
};

/** The text of an error code. */
inline std::string error_string (int code) {
  char text[256];
  int len = static_cast<int> (sizeof text);
  return scda_ferror_string (code, text, &len) == 0 ? std::string (text, static_cast<std::size_t> (len)) : std::string ();
}

/** The version of the library with which the program runs, as "MAJOR.MINOR.PATCH". */
inline const char *version () noexcept { return scda_version (); }

namespace detail {
[[noreturn]] inline void fail (int code) { throw error (code, scda_last_error_message ()); }
} // namespace detail

/** From now on, signals and a deadline request a stop: see scda_stop_watch. */
inline void stop_watch (int signals = 0, double seconds = 0) {
  int err = SCDA_SUCCESS;
  if (scda_stop_watch (signals, seconds, &err) != 0) { detail::fail (err); }
}
/** True on all ranks if any rank was asked to stop: see scda_stop_requested. */
inline bool stop_requested (MPI_Comm comm) {
  int err = SCDA_SUCCESS;
  const int answer = scda_stop_requested (comm, &err);
  if (answer < 0) { detail::fail (err); }
  return answer != 0;
}

namespace detail {

/* True if a container has contiguous elements of type T, const or not: vector, array, string, span, ... */
template <typename C, typename T> struct is_contiguous {
  template <typename D>
  static auto test (int) -> std::integral_constant<bool,
    std::is_convertible<typename std::remove_pointer<decltype (std::declval<D &> ().data ())>::type (*)[], T (*)[]>::value
      && std::is_convertible<decltype (std::declval<D &> ().size ()), std::size_t>::value>;
  template <typename D> static std::false_type test (...);
  static constexpr bool value = decltype (test<C> (0))::value;
};

/* True if elements can be copied as bytes and keep their meaning elsewhere: no pointers. */
template <typename T> struct is_plain
  : std::integral_constant<bool, std::is_trivially_copyable<T>::value && !std::is_pointer<T>::value> {};

/* True if elements are integers that can be counts. */
template <typename T> struct is_count
  : std::integral_constant<bool, std::is_integral<T>::value && !std::is_same<typename std::remove_cv<T>::type, bool>::value> {};

/* True if a value is data by itself. */
template <typename T> struct is_scalar : std::integral_constant<bool, std::is_arithmetic<T>::value || std::is_enum<T>::value> {};

/* The type of the elements of a container. */
template <typename C> using element = typename std::remove_pointer<decltype (std::declval<C &> ().data ())>::type;

/* True if a container has contiguous integers of another type than std::uint64_t. */
template <typename C> struct has_other_counts {
  template <typename D>
  static auto test (int) -> std::integral_constant<bool,
    std::is_convertible<decltype (std::declval<D &> ().size ()), std::size_t>::value
      && is_count<element<D>>::value && !is_contiguous<D, const std::uint64_t>::value>;
  template <typename D> static std::false_type test (...);
  static constexpr bool value = decltype (test<C> (0))::value;
};

/* True if a container has elements that can be copied as bytes. */
template <typename C, bool writable> struct has_bytes {
  template <typename D>
  static auto test (int) -> std::integral_constant<bool,
    std::is_convertible<decltype (std::declval<D &> ().size ()), std::size_t>::value
      && is_plain<element<D>>::value && !(writable && std::is_const<element<D>>::value)>;
  template <typename D> static std::false_type test (...);
  static constexpr bool value = decltype (test<C> (0))::value;
};

/* True if a container has containers of such elements. */
template <typename C> struct has_parts {
  template <typename D> using part = typename std::remove_reference<decltype (*std::declval<const D &> ().begin ())>::type;
  template <typename D>
  static auto test (int) -> std::integral_constant<bool,
    std::is_convertible<decltype (std::declval<const D &> ().size ()), std::size_t>::value && has_bytes<part<D>, false>::value>;
  template <typename D> static std::false_type test (...);
  static constexpr bool value = decltype (test<C> (0))::value;
};

/* The size of a container; in some libraries, it has a signed type. */
template <typename C> constexpr std::size_t size_of (const C &container) {
  return static_cast<std::size_t> (container.size ());
}

struct mesh_dataset;


/* The number of exceptions in flight. C++11 tells only whether there are any. */
inline int exceptions () noexcept {
#ifdef __cpp_lib_uncaught_exceptions
  return std::uncaught_exceptions ();
#else
  return std::uncaught_exception () ? 1 : 0;
#endif
}

} // namespace detail

/** Elements in memory that the view does not own: a pointer and a number. */
template <typename T> class view {
public:
  /** No elements. */
  constexpr view () noexcept : data_ (nullptr), size_ (0) {}
  constexpr view (T *data, std::size_t size) noexcept : data_ (data), size_ (size) {}
  template <std::size_t n> constexpr view (T (&array)[n]) noexcept : data_ (array), size_ (n) {}
  /** From anything with `data` and `size`, such as `std::vector` and `std::span`. */
  template <typename C, typename = typename std::enable_if<detail::is_contiguous<C, T>::value>::type>
  constexpr view (C &&container) : data_ (container.data ()), size_ (detail::size_of (container)) {}
  constexpr T *data () const noexcept { return data_; }
  constexpr std::size_t size () const noexcept { return size_; }
  constexpr T &operator[] (std::size_t i) const noexcept { return data_[i]; }
  constexpr T *begin () const noexcept { return data_; }
  constexpr T *end () const noexcept { return data_ + size_; }

private:
  T *data_;
  std::size_t size_;
};

/** Counts and sizes to be read: integers of any type. Types other than `std::uint64_t`, and lists in
 * braces, are copied. A negative number is rejected as too large: with `SCDA_ERR_ARG` where another
 * argument limits it, otherwise with `SCDA_ERR_RANGE`. */
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
  /* From integers of several types. */
  counts (std::initializer_list<std::uint64_t> entries) : counts (copy (), entries.begin (), entries.size ()) {}
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

/** A distribution of elements over the ranks, made once by `partition_of`: can be passed as `Nq`, in place of the number of
 * elements on each rank. */
class partition {
public:
  explicit partition (const scda_partition_t &made) noexcept : made_ (made) {}
  /** The index of the first element of this rank, the number of its elements, and the number of all. */
  std::uint64_t offset () const noexcept { return made_.offset; }
  std::uint64_t count () const noexcept { return made_.count; }
  std::uint64_t total () const noexcept { return made_.total; }
  /** The argument for `Nq`. */
  const std::uint64_t *data () const noexcept { return made_.Nq; }
  std::size_t size () const noexcept { return SCDA_PARTITION_WORDS; }

private:
  scda_partition_t made_;
};

/** Bytes to write. */
class const_bytes {
public:
  /** No bytes: for ranks that have none, or whose bytes are ignored. */
  constexpr const_bytes () noexcept : data_ (nullptr), size_ (0), element_ (0), unit_ (1) {}
  constexpr const_bytes (const void *data, std::size_t bytes) noexcept : data_ (data), size_ (bytes), element_ (0), unit_ (1) {}
  /** From anything with `data` and `size` whose elements can be copied as bytes; pointers are excluded. */
  template <typename C, typename std::enable_if<detail::has_bytes<C, false>::value, int>::type = 0>
  constexpr const_bytes (C &&container)
    : data_ (container.data ()), size_ (detail::size_of (container) * sizeof (detail::element<C>)),
      element_ (sizeof (detail::element<C>)), unit_ (unit<detail::element<C>> ()) {}
  template <typename T, std::size_t n, typename = typename std::enable_if<detail::is_plain<T>::value>::type>
  constexpr const_bytes (const T (&array)[n]) noexcept
    : data_ (array), size_ (sizeof array), element_ (sizeof (T)), unit_ (unit<T> ()) {}
  /** From one number. */
  template <typename T, typename std::enable_if<detail::is_scalar<T>::value, int>::type = 0>
  constexpr const_bytes (const T &value) noexcept
    : data_ (&value), size_ (sizeof value), element_ (sizeof value), unit_ (sizeof value) {}
  constexpr const void *data () const noexcept { return data_; }
  constexpr std::size_t size () const noexcept { return size_; }
  /** The size of an element in bytes, by its type; 0 if unknown. */
  constexpr std::size_t element () const noexcept { return element_; }
  /** The size of a number in bytes, of which each element must be a multiple; 1 if the elements are not numbers. */
  constexpr std::size_t unit () const noexcept { return unit_; }

private:
  template <typename T> static constexpr std::size_t unit () noexcept { return detail::is_scalar<T>::value ? sizeof (T) : 1; }

  const void *data_;
  std::size_t size_, element_, unit_;
};

/** Tells that this rank does not want data. */
struct skip_t {};
constexpr skip_t skip = skip_t ();

/** Memory for bytes to read, or `scda::skip`. */
class bytes {
public:
  constexpr bytes (skip_t) noexcept : data_ (nullptr), size_ (0), element_ (1), skip_ (true) {}
  constexpr bytes (void *data, std::size_t size) noexcept : data_ (data), size_ (size), element_ (1), skip_ (false) {}
  /** From anything with `data` and `size` whose elements can be copied as bytes; pointers are excluded. */
  template <typename C, typename std::enable_if<detail::has_bytes<C, true>::value, int>::type = 0>
  constexpr bytes (C &&container)
    : data_ (container.data ()), size_ (detail::size_of (container) * sizeof (detail::element<C>)),
      element_ (sizeof (detail::element<C>)), skip_ (false) {}
  template <typename T, std::size_t n,
            typename = typename std::enable_if<detail::is_plain<T>::value && !std::is_const<T>::value>::type>
  constexpr bytes (T (&array)[n]) noexcept
    : data_ (array), size_ (sizeof array), element_ (sizeof (T)), skip_ (false) {}
  /** From one number. */
  template <typename T, typename std::enable_if<detail::is_scalar<T>::value && !std::is_const<T>::value, int>::type = 0>
  constexpr bytes (T &value) noexcept
    : data_ (&value), size_ (sizeof value), element_ (sizeof value), skip_ (false) {}
  constexpr void *data () const noexcept { return data_; }
  constexpr std::size_t size () const noexcept { return size_; }
  /** The size of an element in bytes, by its type; 1 if unknown. */
  constexpr std::size_t element () const noexcept { return element_; }
  constexpr bool skipped () const noexcept { return skip_; }

private:
  void *data_;
  std::size_t size_, element_;
  bool skip_;
};

/** A user string to write: up to `SCDA_USER_STRING_BYTES` bytes of any value. */
class text {
public:
  text (const char *str) noexcept : data_ (str), size_ (std::char_traits<char>::length (str)) {}
  constexpr text (const char *data, std::size_t size) noexcept : data_ (data), size_ (size) {}
  /** From a `std::string`, `std::string_view`, ... */
  template <typename C, typename = typename std::enable_if<detail::is_contiguous<const C, const char>::value>::type>
  constexpr text (const C &container) : data_ (container.data ()), size_ (detail::size_of (container)) {}
  constexpr const char *data () const noexcept { return data_; }
  const std::size_t *size () const noexcept { return &size_; }

private:
  const char *data_;
  std::size_t size_;
};

/* From scda.h, by SCDA_UPDATE=1 cargo test -p scda-header: do not edit. */

/** Whether a section or dataset is compressed: the constants of scda.h, which the functions that take `E` accept, too. */
enum encoding {
  encode_none = SCDA_ENCODE_NONE,
  encode_always = SCDA_ENCODE_ALWAYS,
  encode_auto = SCDA_ENCODE_AUTO,
  encode_text = SCDA_ENCODE_TEXT
};

/** What may be chosen when a file is opened: `scda::params ().level (9).atomic ()`. See `scda_params` for each. */
class params {
public:
  params () noexcept { scda_params_init (&p_); }
  params &threads (int value) noexcept { return p_.threads = value, *this; }
  params &driver (int value) noexcept { return p_.driver = value, *this; }
  params &info (MPI_Info value) noexcept { return p_.info = value, *this; }
  params &aggregation_bytes (std::uint64_t value) noexcept { return p_.aggregation_bytes = value, *this; }
  params &writers_per_node (std::uint64_t value) noexcept { return p_.writers_per_node = value, *this; }
  params &stripe_bytes (std::uint64_t value) noexcept { return p_.stripe_bytes = value, *this; }
  params &stripe_count (std::uint64_t value) noexcept { return p_.stripe_count = value, *this; }
  params &max_memory (std::uint64_t value) noexcept { return p_.max_memory = value, *this; }
  params &check (int value = 1) noexcept { return p_.check = value, *this; }
  params &linebreak (int value) noexcept { return p_.linebreak = value, *this; }
  params &encoder (int value) noexcept { return p_.encoder = value, *this; }
  params &level (int value) noexcept { return p_.level = value, *this; }
  params &atomic (int value = 1) noexcept { return p_.atomic = value, *this; }
  params &sync (int value = 1) noexcept { return p_.sync = value, *this; }
  params &seal (int value = 1) noexcept { return p_.seal = value, *this; }
  params &hdf5 (int value = 1) noexcept { return p_.hdf5 = value, *this; }
  params &append_after (std::uint64_t value) noexcept { return p_.append_after = value, *this; }
  params &append_name (const char *value) noexcept { return p_.append_name = value, *this; }
  params &append_record (std::int64_t value) noexcept { return p_.append_record = value, *this; }
  params &background_bytes (std::uint64_t value) noexcept { return p_.background_bytes = value, *this; }
  params &lend (std::uint64_t value = 1) noexcept { return p_.lend = value, *this; }
  params &keep (std::uint64_t value) noexcept { return p_.keep = value, *this; }
  params &to_seal (int value = 1) noexcept { return p_.to_seal = value, *this; }
  params &verify (int value = 1) noexcept { return p_.verify = value, *this; }
  params &cache_bytes (std::uint64_t value) noexcept { return p_.cache_bytes = value, *this; }
  /** For the functions of C. */
  const scda_params_t *get () const noexcept { return &p_; }

private:
  scda_params_t p_;
};

/* End of what is from scda.h. */

/** The members of a struct. Specialize it, and arrays of T become datasets of structs.
 *
 *     template <> struct scda::members<particle> {
 *       static const scda_member_t *list () {
 *         static const scda_member_t all[] = { SCDA_MEMBER (particle, position), SCDA_MEMBER (particle, mass), SCDA_MEMBERS_END };
 *         return all;
 *       }
 *     }; */
template <typename T> struct members {};

namespace detail {

/* The dataset type for numbers of type T; raw bytes for other types. */
constexpr int integer_type (std::size_t bytes, bool is_signed) noexcept {
  return bytes == 1 ? (is_signed ? SCDA_TYPE_INT8 : SCDA_TYPE_UINT8)
         : bytes == 2 ? (is_signed ? SCDA_TYPE_INT16 : SCDA_TYPE_UINT16)
         : bytes == 4 ? (is_signed ? SCDA_TYPE_INT32 : SCDA_TYPE_UINT32)
                      : (is_signed ? SCDA_TYPE_INT64 : SCDA_TYPE_UINT64);
}
template <typename T, typename = void> struct has_members : std::false_type {};
template <typename T>
struct has_members<T, typename std::enable_if<std::is_same<decltype (scda::members<T>::list ()), const scda_member_t *>::value>::type>
  : std::true_type {};
template <typename T> typename std::enable_if<has_members<T>::value, const scda_member_t *>::type members_of () {
  return scda::members<T>::list ();
}
template <typename T> typename std::enable_if<!has_members<T>::value, const scda_member_t *>::type members_of () { return nullptr; }
template <typename T, typename = void> struct number {
  static_assert (!std::is_same<T, long double>::value && !std::is_same<T, std::complex<long double>>::value,
                 "long double differs between machines: use double");
  static constexpr int type = has_members<T>::value ? SCDA_TYPE_STRUCT : SCDA_TYPE_RAW;
};
template <> struct number<bool> {
  static_assert (sizeof (bool) == 1, "a bool in a dataset has one byte");
  static constexpr int type = SCDA_TYPE_BOOL;
};
template <typename T> struct number<T, typename std::enable_if<std::is_integral<T>::value>::type> {
  static_assert (!std::is_same<T, char>::value, "char is signed on some machines only: use signed char or unsigned char");
  static_assert (sizeof (T) <= 8, "datasets have integers of up to 8 bytes");
  static constexpr int type = integer_type (sizeof (T), std::is_signed<T>::value);
};
template <typename T>
struct number<T, typename std::enable_if<std::is_enum<T>::value>::type> : number<typename std::underlying_type<T>::type> {};
template <> struct number<float> {
  static constexpr int type = SCDA_TYPE_FLOAT32;
};
template <> struct number<double> {
  static constexpr int type = SCDA_TYPE_FLOAT64;
};
template <> struct number<std::complex<float>> {
  static constexpr int type = SCDA_TYPE_COMPLEX64;
};
template <> struct number<std::complex<double>> {
  static constexpr int type = SCDA_TYPE_COMPLEX128;
};
#ifdef __STDCPP_FLOAT16_T__
template <> struct number<std::float16_t> {
  static constexpr int type = SCDA_TYPE_FLOAT16;
};
#endif
/* A member of this type. Raw bytes and structs have a size, arrays a number of items. */
template <typename T> scda_member_t member (const char *name, std::size_t offset) {
  typedef typename std::remove_all_extents<T>::type item;
  static_assert (is_plain<item>::value, "members must be trivially copyable: write what a std::vector or a pointer refers to as another dataset");
  scda_member_t m = scda_member_t ();
  m.name = name, m.type = number<item>::type, m.count = static_cast<int> (sizeof (T) / sizeof (item)), m.offset = offset;
  m.item_bytes = sizeof (item), m.members = members_of<item> ();
  return m;
}
template <typename T> struct is_complex : std::false_type {};
template <typename T> struct is_complex<std::complex<T>> : std::true_type {};

/* The items of an element, and the dimensions that they form in it. */
template <typename T> struct inner {
  typedef typename std::remove_cv<T>::type item;
  static void append (std::vector<std::uint64_t> &) {}
};
template <typename T, std::size_t n> struct inner<T[n]> {
  typedef typename inner<T>::item item;
  static void append (std::vector<std::uint64_t> &shape) {
    shape.push_back (n);
    inner<T>::append (shape);
  }
};
template <typename T, std::size_t n> struct inner<const T[n]> : inner<T[n]> {};
template <typename T, std::size_t n> struct inner<std::array<T, n>> : inner<T[n]> {};
template <typename T, std::size_t n> struct inner<const std::array<T, n>> : inner<T[n]> {};

/* True for a std::mdspan, or the one of Kokkos. */
template <typename M, bool writable> struct is_mdspan {
  template <typename D>
  static auto test (int) -> std::integral_constant<bool,
    std::is_convertible<decltype (std::declval<const D &> ().extent (0)), std::size_t>::value
      && std::is_pointer<decltype (std::declval<const D &> ().data_handle ())>::value
      && is_plain<typename D::element_type>::value && !(writable && std::is_const<typename D::element_type>::value)>;
  template <typename D> static std::false_type test (...);
  static constexpr bool value = decltype (test<typename std::remove_reference<M>::type> (0))::value;
};

/* The product, or the largest number if it does not fit. */
inline std::uint64_t product (const std::vector<std::uint64_t> &counts) noexcept {
  const std::uint64_t most = ~static_cast<std::uint64_t> (0);
  std::uint64_t n = 1;
  for (const std::uint64_t count : counts) {
    if (count == 0) { return 0; }
  }
  for (const std::uint64_t count : counts) { n = n > most / count ? most : n * count; }
  return n;
}

inline std::vector<std::uint64_t> vector_of (const counts &list) {
  return std::vector<std::uint64_t> (list.data (), list.data () + list.size ());
}

/* The type, as docs/datasets.md names it. */
inline std::string type_name (int type, std::uint64_t item_bytes) {
  const char *name = scda_type_name (type, nullptr);
  return type == SCDA_TYPE_RAW || name == nullptr ? "r" + std::to_string (8 * item_bytes) : name;
}

/* The size of an item in bytes; `item_bytes` for raw bytes. */
inline std::uint64_t type_bytes (int type, std::uint64_t item_bytes) noexcept {
  std::uint64_t bytes = 0;
  scda_type_name (type, &bytes);
  return bytes != 0 ? bytes : item_bytes;
}

/* True if each item has a length of its own. */
inline bool is_variable (int type) noexcept { return type == SCDA_TYPE_STRING || type == SCDA_TYPE_VARIABLE_BYTES; }

} // namespace detail

/** The items of a dataset in memory, which are numbers, or raw bytes of anything that can be copied: their type and their
 * memory. `Void` is `const void` for items to write, `void` for items to read. */
template <typename Void> class basic_items {
  static constexpr bool writable = !std::is_const<Void>::value;

public:
  /** No items, of no type: for ranks that have none. */
  basic_items () noexcept : data_ (nullptr), bytes_ (0), type_ (none), item_bytes_ (0), members_ (nullptr) {}
  basic_items (skip_t) noexcept : basic_items () {}
  /** From anything with `data` and `size`: `std::vector`, `std::span`, ... If an element is a `std::array` or an array, it has
   * several items, which form an additional dimension. */
  template <typename C, typename std::enable_if<detail::has_bytes<C, writable>::value, int>::type = 0>
  basic_items (C &&container) : basic_items (container.data (), detail::size_of (container)) {}
  template <typename T, std::size_t n,
            typename = typename std::enable_if<detail::is_plain<T>::value && !(writable && std::is_const<T>::value)>::type>
  basic_items (T (&array)[n]) : basic_items (&array[0], n) {}
  /** From one number, which has no dimension. */
  template <typename T, typename U = typename std::remove_reference<T>::type,
            typename std::enable_if<(detail::is_scalar<U>::value || detail::is_complex<typename std::remove_cv<U>::type>::value)
                                      && !(writable && (std::is_const<U>::value || !std::is_lvalue_reference<T>::value)), int>::type = 0>
  basic_items (T &&value) : basic_items (&value, 1) {
    shape_.clear ();
  }
  /** From a `std::mdspan` or the one of Kokkos, with any strided layout: also a part of an array with ghost layers. */
  template <typename M, typename std::enable_if<detail::is_mdspan<M, writable>::value, int>::type = 0, typename = void>
  basic_items (M &&view) : basic_items (view.data_handle (), 1) {
    typedef typename std::remove_reference<M>::type type;
    shape_.clear ();
    for (std::size_t d = 0; d < type::rank (); ++d) {
      shape_.push_back (static_cast<std::uint64_t> (view.extent (static_cast<decltype (type::rank ())> (d))));
    }
    bytes_ = static_cast<std::size_t> (detail::product ({ detail::product (shape_), sizeof (typename type::element_type) }));
    std::vector<std::int64_t> stride;
    for (std::size_t d = 0; d < type::rank (); ++d) {
      stride.push_back (static_cast<std::int64_t> (view.stride (static_cast<decltype (type::rank ())> (d)))
                        * static_cast<std::int64_t> (sizeof (typename type::element_type)));
    }
    detail::inner<typename std::remove_cv<typename type::element_type>::type>::append (shape_);
    set_strides (std::move (stride));
  }
  /** Items in place: an array of this shape whose first item is `first`; `strides` are the bytes from one index to the next in each
   * dimension. Examples: the interior of a block with ghost layers; one of several interleaved variables; a member of an array of
   * structs: its address in the first struct, `{ n }`, `{ sizeof (particle) }`. */
  template <typename T, typename = typename std::enable_if<detail::is_plain<T>::value && !(writable && std::is_const<T>::value)>::type>
  basic_items (T *first, const counts &shape, const std::vector<std::int64_t> &strides) : basic_items (first, 1) {
    shape_ = detail::vector_of (shape);
    bytes_ = static_cast<std::size_t> (detail::product ({ detail::product (shape_), sizeof (T) }));
    std::vector<std::int64_t> stride (strides);
    stride.resize (shape_.size ());
    detail::inner<T>::append (shape_);
    set_strides (std::move (stride));
  }

  Void *data () const noexcept { return data_; }
  std::size_t bytes () const noexcept { return bytes_; }
  /** One of `SCDA_TYPE_...`; -1 if there are no items. */
  int type () const noexcept { return type_; }
  std::size_t item_bytes () const noexcept { return item_bytes_; }
  /** The members of a struct; NULL for other types. */
  const scda_member_t *members () const noexcept { return members_; }
  /** Uses this list of members instead of that of `scda::members`, for example for files of another version of the program. It ends with
   * `SCDA_MEMBERS_END`, and stays valid during the call. Reading leaves the rest of each struct as it is. */
  basic_items &members (const scda_member_t *list) noexcept { return members_ = list, type_ = SCDA_TYPE_STRUCT, *this; }
  /** The shape of the items themselves: the shape of an array, the number of elements of a container, ... */
  const std::vector<std::uint64_t> &shape () const noexcept { return shape_; }
  /** True if the items have no type. */
  bool empty () const noexcept { return type_ == none; }
  /** The bytes from one index to the next in each dimension; empty if the items are contiguous in C order. */
  const std::vector<std::int64_t> &strides () const noexcept { return strides_; }

private:
  friend class writer;
  static constexpr int none = -1;
  template <typename T> basic_items (T *data, std::size_t size)
    : data_ (data), bytes_ (size * sizeof (T)), type_ (detail::number<typename detail::inner<T>::item>::type),
      item_bytes_ (sizeof (typename detail::inner<T>::item)), members_ (detail::members_of<typename detail::inner<T>::item> ()), shape_ (1, size) {
    detail::inner<T>::append (shape_);
  }
  /* Copies items with strides in C order: those from `first` on, in this dimension and the following ones. */
  void pack (std::vector<char> &all, const char *first, std::size_t dimension) const {
    if (dimension == shape_.size ()) {
      all.insert (all.end (), first, first + item_bytes_);
      return;
    }
    for (std::uint64_t i = 0; i < shape_[dimension]; ++i) {
      pack (all, first + static_cast<std::int64_t> (i) * strides_[dimension], dimension + 1);
    }
  }
  /* Sets the strides, given those of the outer dimensions; the inner dimensions, those of an element, are in C order. */
  void set_strides (std::vector<std::int64_t> outer) {
    std::vector<std::int64_t> packed (shape_.size (), static_cast<std::int64_t> (item_bytes_));
    for (std::size_t d = shape_.size (); d-- > 1;) { packed[d - 1] = packed[d] * static_cast<std::int64_t> (shape_[d]); }
    strides_ = packed;
    for (std::size_t d = 0; d < outer.size (); ++d) { strides_[d] = outer[d]; }
    bool in_order = true;
    for (std::size_t d = 0; d < shape_.size (); ++d) { in_order = in_order && (shape_[d] < 2 || strides_[d] == packed[d]); }
    if (in_order || bytes_ == 0) { strides_.clear (); }
  }

  Void *data_;
  std::size_t bytes_;
  int type_;
  std::size_t item_bytes_;
  const scda_member_t *members_;
  std::vector<std::uint64_t> shape_;
  std::vector<std::int64_t> strides_;
};
typedef basic_items<const void> const_items;
typedef basic_items<void> items;

/** A part of an array: the first index and the number of indices in each dimension. */
struct box {
  box (const counts &first, const counts &number) : start (detail::vector_of (first)), count (detail::vector_of (number)) {}
  std::vector<std::uint64_t> start, count;
};

/** Attributes, as the text of a JSON object: `scda::attributes ("units", "kg m-3").add ("time", 0.5)`. */
class attributes {
public:
  attributes () : json_ ("{}") {}
  template <typename T> attributes (const char *key, const T &value) : json_ ("{}") { add (key, value); }
  /** Adds a string, a number, a bool, or a list of these. Numbers that JSON does not have become strings: "NaN",
   * "Infinity", "-Infinity". */
  template <typename T> attributes &add (const char *key, const T &value) {
    json_.pop_back ();
    if (json_.size () > 1) { json_ += ", "; }
    put (key);
    json_ += ": ";
    put (value);
    json_ += '}';
    return *this;
  }
  const char *data () const noexcept { return json_.data (); }
  std::size_t size () const noexcept { return json_.size (); }

private:
  void put (text value) {
    static const char digits[] = "0123456789abcdef";
    json_ += '"';
    for (std::size_t i = 0; i < *value.size (); ++i) {
      const char c = value.data ()[i];
      if (c >= 0 && c < 32) {
        json_ += "\\u00";
        json_ += digits[c / 16];
        json_ += digits[c % 16];
        continue;
      }
      if (c == '"' || c == '\\') { json_ += '\\'; }
      json_ += c;
    }
    json_ += '"';
  }
  void put (const char *value) { put (text (value)); }
  void put (const std::string &value) { put (text (value)); }
  void put (bool value) { json_ += value ? "true" : "false"; }
  template <typename T> typename std::enable_if<std::is_integral<T>::value>::type put (T value) { json_ += std::to_string (value); }
  template <typename T> typename std::enable_if<std::is_floating_point<T>::value>::type put (T value) {
    if (!std::isfinite (value)) {
      put (std::isnan (value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
      return;
    }
    std::string shortest; /* that converts back to the value */
    for (int digits = 1; digits <= 17; ++digits) {
      std::ostringstream out;
      out.imbue (std::locale::classic ());
      out.precision (digits);
      out << value;
      shortest = out.str ();
      std::istringstream in (shortest);
      in.imbue (std::locale::classic ());
      T again = 0;
      if (in >> again && !(again < value) && !(again > value)) { break; }
    }
    json_ += shortest;
    if (shortest.find_first_of (".e") == std::string::npos) { json_ += ".0"; }
  }
  template <typename C> auto put (const C &list) -> decltype (list.begin (), list.end (), void ()) {
    const char *between = "";
    json_ += '[';
    for (const auto &value : list) {
      json_ += between;
      put (value);
      between = ", ";
    }
    json_ += ']';
  }

  std::string json_;
};

namespace detail {

/* Gets one attribute: `get (type, values, count)` reads it as `scda_get_attribute` does. */
template <typename T, typename Get> typename std::enable_if<std::is_arithmetic<T>::value, bool>::type get_value (T &value, Get get) {
  std::uint64_t count = 1;
  get (number<T>::type, &value, count);
  return count > 0;
}
template <typename T, typename Get> bool get_value (std::vector<T> &values, Get get) {
  std::uint64_t count = 0;
  get (number<T>::type, nullptr, count);
  if (count == 0) { return false; }
  values.resize (static_cast<std::size_t> (count));
  get (number<T>::type, values.data (), count);
  return true;
}
template <typename Get> bool get_value (std::vector<std::string> &values, Get get) {
  std::uint64_t bytes = 0;
  get (SCDA_TYPE_STRING, nullptr, bytes);
  if (bytes == 0) { return false; }
  std::vector<char> all (static_cast<std::size_t> (bytes));
  get (SCDA_TYPE_STRING, all.data (), bytes);
  values.clear ();
  for (std::size_t at = 0; at < all.size (); at += values.back ().size () + 1) { values.emplace_back (&all[at]); }
  return true;
}
template <typename Get> bool get_value (std::string &value, Get get) {
  std::vector<std::string> all;
  if (!get_value (all, get)) { return false; }
  if (all.size () > 1) { throw error (SCDA_ERR_ARG, "attribute: found a list of texts, expected one text"); }
  value.swap (all[0]);
  return true;
}

} // namespace detail

/** Reads one attribute from the text of a JSON object, such as the attributes of a dataset. Returns true if it exists.
 * `value` is a number, a bool, a `std::string`, or a `std::vector` of numbers or strings for a list. If there is no such attribute, or
 * it is an empty list, `value` stays as it is: set it to the default before. An attribute of another kind is an error. */
template <typename T> bool get_attribute (const std::string &attributes, const char *key, T &value) {
  return detail::get_value (value, [&] (int type, void *values, std::uint64_t &count) {
    int err = SCDA_SUCCESS;
    if (scda_get_attribute (attributes.c_str (), key, type, values, &count, &err) != 0) { detail::fail (err); }
  });
}

/** An attribute of a list: its name, and the type by which `get_attribute` reads it, as for `scda_list_attributes`. */
struct attribute_name {
  std::string key;
  int type;
};

/** All attributes in the text of a JSON object, in its order. */
inline std::vector<attribute_name> list_attributes (const std::string &attributes) {
  std::vector<char> keys;
  std::vector<int> types;
  std::uint64_t bytes = 0, number = 0;
  const auto list = [&] (char *to, int *codes) {
    int err = SCDA_SUCCESS;
    if (scda_list_attributes (attributes.c_str (), to, &bytes, codes, &number, &err) != 0) { detail::fail (err); }
  };
  list (nullptr, nullptr);
  keys.resize (static_cast<std::size_t> (bytes));
  types.resize (static_cast<std::size_t> (number));
  list (keys.data (), types.data ());
  std::vector<attribute_name> all;
  const char *at = keys.data ();
  for (int type : types) {
    all.push_back ({ at, type });
    at += all.back ().key.size () + 1;
  }
  return all;
}

/** The description of a dataset, a named array of numbers, without its data. When it is written, the library chooses what is not
 * set, and takes type and shape from the data:
 * `scda::dataset ("rho", { 64, 32 }).chunks ().attributes (scda::attributes ("units", "kg m-3"))`. */
class dataset {
public:
  dataset () { scda_dataset_init (&d_); }
  /** The name: up to 58 bytes of UTF-8, with slashes between the names of groups and its own. */
  explicit dataset (text name) : dataset () { name_.assign (name.data (), *name.size ()); }
  dataset (text name, const counts &chosen) : dataset (name) { shape (chosen); }

  /** The number of indices in each dimension; empty for a single item. */
  dataset &shape (const counts &chosen) { return shape_ = detail::vector_of (chosen), has_shape_ = true, *this; }
  /** One of `SCDA_TYPE_...`; if it is not set, writing takes it from the data. Numbers of another type are converted to it (`scda_box_t`).
   * `item_bytes` applies to `SCDA_TYPE_RAW`, `SCDA_TYPE_BYTES` and `SCDA_TYPE_TEXT`, whose items are `unsigned char` here, or anything
   * of this size that can be copied. Items of `SCDA_TYPE_DATETIME64` and `SCDA_TYPE_TIMEDELTA64` are `std::int64_t`; see `unit`. */
  dataset &type (int chosen, std::uint64_t item_bytes = 0) noexcept {
    return d_.type = chosen, d_.item_bytes = item_bytes, has_type_ = true, *this;
  }
  /** The unit of items of `SCDA_TYPE_DATETIME64` and `SCDA_TYPE_TIMEDELTA64`: "s", "10us", ... */
  dataset &unit (text chosen) { return unit_.assign (chosen.data (), *chosen.size ()), *this; }
  /** Stores the data in chunks, each compressed by itself. Without a shape, the library chooses that of a chunk. */
  dataset &chunks (const counts &chosen = counts ()) {
    return d_.encode = SCDA_ENCODE_ALWAYS, chunk_ = detail::vector_of (chosen), *this;
  }
  /** One of `SCDA_ENCODE_...`: chunks, chunks if the data become smaller, or chunks as text. Without it, each of the next five
   * makes chunks as well, because only chunks have what it chooses. */
  dataset &encode (int chosen) noexcept { return d_.encode = chosen, has_encode_ = true, *this; }
  /** One of `SCDA_CODEC_...`, which compresses the chunks. */
  dataset &codec (int chosen) noexcept { return d_.codec = chosen, of_chunks (true); }
  /** The level of compression, 0 to 9; -1: the default of the codec. */
  dataset &level (int chosen) noexcept { return d_.level = chosen, of_chunks (chosen != -1); }
  /** Shuffles the bytes of numbers before they are compressed. */
  dataset &shuffle (bool chosen) noexcept { return d_.shuffle = chosen, of_chunks (true); }
  /** The largest relative error that rounding may make: see scda_dataset. */
  dataset &max_relative_error (double chosen) noexcept { return d_.max_relative_error = chosen, of_chunks (chosen != 0); }
  /** The largest absolute error that rounding may make. */
  dataset &max_absolute_error (double chosen) noexcept { return d_.max_absolute_error = chosen, of_chunks (chosen != 0); }
  /** Adds the data as rows to the last dataset of this name in the file: see scda_dataset. */
  dataset &extends (bool chosen = true) noexcept { return d_.extends = chosen, *this; }
  /** The item that stands where nothing is written; its type becomes that of the dataset. */
  template <typename T> dataset &fill_value (const T &item) {
    fill_.assign (sizeof item, '\0');
    std::memcpy (&fill_[0], &item, sizeof item);
    return type (detail::number<T>::type, sizeof item);
  }
  /** The text of a JSON object. See `scda::attributes`. */
  dataset &attributes (text json) { return attributes_.assign (json.data (), *json.size ()), *this; }
  /** A name for each dimension; an empty one is none. */
  dataset &dimension_names (std::vector<std::string> names) { return names_ = std::move (names), *this; }

  /** What was set, or what a dataset in a file has; likewise below. */
  const std::string &name () const noexcept { return name_; }
  const std::vector<std::uint64_t> &shape () const noexcept { return shape_; }
  /** The shape of a chunk; zeros for a contiguous dataset that was read. */
  const std::vector<std::uint64_t> &chunk () const noexcept { return chunk_; }
  int type () const noexcept { return d_.type; }
  std::uint64_t item_bytes () const noexcept { return d_.item_bytes; }
  /** The unit of times; empty for other types. */
  const std::string &unit () const noexcept { return unit_; }
  int encode () const noexcept { return d_.encode; }
  int codec () const noexcept { return d_.codec; }
  int level () const noexcept { return d_.level; }
  bool shuffle () const noexcept { return d_.shuffle != 0; }
  /** The type, as docs/datasets.md names it. */
  std::string type_name () const { return detail::type_name (d_.type, d_.item_bytes); }
  /** The number of items. */
  std::uint64_t size () const noexcept { return detail::product (shape_); }
  const std::string &attributes () const noexcept { return attributes_; }
  /** The names of the members of structs that were found. */
  const std::vector<std::string> &members () const noexcept { return members_; }
  /** One for each dimension, or none. */
  const std::vector<std::string> &dimension_names () const noexcept { return names_; }
  /** Why the library cannot read the data, for example because it does not have the codec; empty if it can. */
  const std::string &unsupported () const noexcept { return unsupported_; }
  /** The fill value; 0 if it has another type. */
  template <typename T> T fill_value () const {
    T item = T ();
    if (detail::number<T>::type == d_.type && sizeof item == fill_.size ()) { std::memcpy (&item, fill_.data (), sizeof item); }
    return item;
  }

private:
  friend class file;
  friend class writer;
  friend class reader;
  friend struct dataset_request;
  friend struct detail::mesh_dataset; /* in scda_meshes.hpp */

  /* A dataset that was read. */
  explicit dataset (const scda_dataset_t &found)
    : d_ (found), has_type_ (true), has_shape_ (true), name_ (found.name), attributes_ (found.attributes == nullptr ? "" : found.attributes),
      shape_ (found.shape, found.shape + found.ndims), chunk_ (found.chunk, found.chunk + found.ndims) {
    if (found.fill_value != nullptr) {
      const char *item = static_cast<const char *> (found.fill_value);
      fill_.assign (item, detail::is_variable (found.type) ? std::char_traits<char>::length (item) : static_cast<std::size_t> (found.item_bytes));
    }
    for (int i = 0; found.dimension_names != nullptr && i < found.ndims; ++i) {
      names_.push_back (found.dimension_names[i] == nullptr ? "" : found.dimension_names[i]);
    }
    for (const scda_member_t *one = found.members; one != nullptr && one->name != nullptr; ++one) { members_.push_back (one->name); }
    if (found.unsupported != nullptr) { unsupported_ = found.unsupported; }
    if (found.unit != nullptr) { unit_ = found.unit; }
    d_.unsupported = nullptr;
    d_.attributes = nullptr;
    d_.dimension_names = nullptr;
    d_.fill_value = nullptr;
    d_.unit = nullptr;
    d_.members = nullptr;
  }
  template <typename Void> bool has_type_of (const basic_items<Void> &data) const noexcept {
    const int type = d_.type;
    const bool is_bytes = type == SCDA_TYPE_RAW || type == SCDA_TYPE_BYTES || type == SCDA_TYPE_TEXT;
    switch (data.type ()) {
    case SCDA_TYPE_RAW: return is_bytes && data.item_bytes () == d_.item_bytes;
    case SCDA_TYPE_STRUCT: return false;
    case SCDA_TYPE_UINT8: return type == SCDA_TYPE_UINT8 || type == SCDA_TYPE_BOOL || is_bytes;
    case SCDA_TYPE_UINT16: return type == SCDA_TYPE_UINT16 || type == SCDA_TYPE_FLOAT16;
    case SCDA_TYPE_INT64: return type == SCDA_TYPE_INT64 || type == SCDA_TYPE_DATETIME64 || type == SCDA_TYPE_TIMEDELTA64;
    default: return data.type () == type;
    }
  }
  /* True if the library converts the items in memory. */
  template <typename Void> bool is_converted (const basic_items<Void> &data) const noexcept {
    return has_type_ && !data.empty () && !has_type_of (data);
  }
  /* The box of the whole dataset. */
  box whole () const { return box (std::vector<std::uint64_t> (shape_.size ()), shape_); }

  scda_dataset_t d_; /* its pointers and arrays are valid during a call only */
  /* Chunks, for something that only they have, unless `encode` decides. */
  dataset &of_chunks (bool has_some) noexcept {
    if (has_some && !has_encode_ && d_.encode == SCDA_ENCODE_NONE) { d_.encode = SCDA_ENCODE_ALWAYS; }
    return *this;
  }

  bool has_type_ = false, has_shape_ = false, has_encode_ = false;
  std::string name_, attributes_, fill_, unsupported_, unit_;
  std::vector<std::uint64_t> shape_, chunk_;
  std::vector<std::string> names_, members_;
};

/** An entry of a file: see `reader::next_entry`. Each object iterates over the entries on its own. */
class entry {
public:
  entry () { scda_entry_init (&e_); }
  /** `SCDA_ENTRY_DATASET`, `SCDA_ENTRY_GROUP`, ... Right after `next_entry` has found an `SCDA_ENTRY_UNKNOWN`,
   * `scda_last_error_message` says why it cannot be read. */
  int kind () const noexcept { return e_.kind; }
  /** The name of a dataset, set of streams or section, or the path of a group. */
  std::string name () const { return e_.name; }
  /** Its number among the entries of this name, and their number. */
  std::int64_t record () const noexcept { return e_.record; }
  std::int64_t records () const noexcept { return e_.records; }
  /** For a dataset, the type of its items, and its shape. */
  int type () const noexcept { return e_.type; }
  std::vector<std::uint64_t> shape () const { return std::vector<std::uint64_t> (e_.shape, e_.shape + e_.ndims); }
  /** The entry for C. */
  const scda_entry_t &get () const noexcept { return e_; }

private:
  friend class reader;
  scda_entry_t e_;
};

/** A set of streams in a file that is open for reading: see `reader::find_streams`. */
class streams {
public:
  /** The number of streams: one for each rank that wrote them. */
  std::uint64_t tasks () const noexcept { return tasks_; }
  /** The size of a chunk in bytes; 0 if the streams are the elements of a varray. */
  std::uint64_t chunk_bytes () const noexcept { return chunk_bytes_; }
  /** The number of the set for C; 0 before one is found. */
  std::uint64_t get () const noexcept { return number_; }

private:
  friend class reader;
  std::uint64_t number_ = 0, tasks_ = 0, chunk_bytes_ = 0;
};

/** A dataset, and this rank's boxes of it: see `writer::write_datasets`. The data are not copied. */
struct dataset_boxes {
  dataset_boxes (const dataset &what, const const_items &all, const std::vector<box> &own) : d (what), data (all), boxes (own) {}
  dataset_boxes (const dataset &what, const const_items &all, const box &one) : d (what), data (all), boxes (1, one) {}
  dataset d;
  const_items data;
  std::vector<box> boxes;
};

/** A dataset, and the boxes of it that this rank reads: see `reader::read_datasets`. `data` must have exactly the items of the boxes.
 * `record`: 0 is the first dataset of this name, -1, the default, the last. */
struct dataset_request {
  dataset_request (const dataset &what, const items &room, const std::vector<box> &own, std::int64_t which = -1)
    : d (what), data (room), boxes (own), record (which) {}
  dataset_request (const dataset &what, const items &room, const box &one, std::int64_t which = -1)
    : d (what), data (room), boxes (1, one), record (which) {}
  /** The whole dataset on this rank; with `scda::skip` nothing. A dataset without a shape has the shape of the data. */
  dataset_request (const dataset &what, const items &room, std::int64_t which = -1) : d (what), data (room), record (which) {
    if (room.empty ()) { return; }
    if (!d.has_shape_) { d.shape (room.shape ()); }
    boxes.emplace_back (std::vector<std::uint64_t> (d.shape_.size ()), d.shape_);
  }
  dataset d;
  items data;
  std::vector<box> boxes;
  std::int64_t record;
};

class request;

/** What files for writing and for reading have in common. Can be moved, but not copied. */
class file {
public:
  file (const file &) = delete;
  file &operator= (const file &) = delete;

  /** Closes the file. After writing, success means that every byte is in it. Does nothing if the file is closed. */
  void close () {
    if (!is_open ()) { return; }
    int err = SCDA_SUCCESS;
    const bool is_closed = scda_fclose (take (), &err) == 0;
    lent_.clear ();
    if (!is_closed) { detail::fail (err); }
  }
  /** Begins to close, and returns as soon as the data are copied. The request then owns the file. */
  request close_begin ();
  /** Where this rank has spent its time. Not collective. */
  scda_statistics_t statistics () {
    scda_statistics_t found = scda_statistics_t ();
    found.size = sizeof found;
    call_alone ([&] (int *err) { return scda_get_statistics (f_, &found, err); });
    return found;
  }
  /** True if the file is open. An error closes it, including an error of a function of C that was called with `get`. */
  bool is_open () const noexcept { return info ().is_open != 0; }
  /** What is known of the file, and the rank on which the last error occurred. Not collective. */
  scda_info_t info () const noexcept { return info_of (f_); }
  /** The user string of the file. */
  const std::string &user () const noexcept { return user_; }
  /** This rank in the communicator of the file, and the number of its ranks. */
  int rank () const noexcept { return rank_; }
  int size () const noexcept { return size_; }
  /** The file for functions of C; this object still owns it. NULL if the file is closed. */
  scda_fcontext_t *get () const noexcept { return f_; }

  /** Gathers `n`, the number of elements of each rank, from all ranks: other members take the result as `Nq`. */
  std::vector<std::uint64_t> proc_counts (std::uint64_t n) {
    std::vector<std::uint64_t> Nq (ranks ());
    call ([&] (int *err) { return scda_proc_counts (f_, n, Nq.data (), err); });
    return Nq;
  }
  /** The partition in which this rank has `n` elements. Passing it as `Nq` takes constant time on any number of ranks. */
  partition partition_of (std::uint64_t n) {
    scda_partition_t made = {};
    call ([&] (int *err) { return made = scda_partition_local (f_, n, err), *err == SCDA_SUCCESS ? f_ : nullptr; });
    return partition (made);
  }
  /** The partition with these numbers of elements on all ranks. */
  partition partition_of (const counts &Nq) {
    const std::uint64_t *all = checked (Nq);
    scda_partition_t made = {};
    call ([&] (int *err) { return made = scda_partition_counts (f_, all, err), *err == SCDA_SUCCESS ? f_ : nullptr; });
    return partition (made);
  }
  /** Computes the bytes of a varray on each rank: one entry per rank. */
  void proc_sizes (const counts &Ei, const counts &Nq, view<std::uint64_t> Sq) {
    call_lengths known = call_lengths (Nq).sizes (Ei);
    known.Sq_entries = Sq.size ();
    const std::uint64_t *partition = checked (known);
    call ([&] (int *err) { return scda_proc_sizes (f_, Ei.data (), partition, Sq.data (), err); });
  }

protected:
  file () noexcept : f_ (nullptr), rank_ (0), size_ (1), exceptions_ (detail::exceptions ()) {}
  file (file &&other) noexcept
    : f_ (other.take ()), user_ (std::move (other.user_)), lent_ (std::move (other.lent_)), lends_ (other.lends_), rank_ (other.rank_),
      size_ (other.size_), exceptions_ (other.exceptions_) {}
  file &operator= (file &&other) noexcept {
    if (this != &other) {
      drop ();
      f_ = other.take ();
      user_ = std::move (other.user_);
      lent_ = std::move (other.lent_);
      lends_ = other.lends_;
      rank_ = other.rank_;
      size_ = other.size_;
      exceptions_ = other.exceptions_;
    }
    return *this;
  }
  ~file () { drop (); }

  void opened (MPI_Comm comm, const params &chosen, int err) {
    if (f_ == nullptr) { detail::fail (err); }
    lends_ = chosen.get ()->lend != 0;
#ifdef SCDA_SERIAL
    (void) comm;
#else
    MPI_Comm_rank (comm, &rank_);
    MPI_Comm_size (comm, &size_);
#endif
  }

  /* Opens an existing file by a function of C. */
  template <typename F>
  void open_existing (F function, MPI_Comm comm, const char *filename, const params &chosen) {
    char buffer[SCDA_USER_STRING_BYTES + 1];
    std::size_t len = 0;
    int err = SCDA_SUCCESS;
    f_ = function (comm, filename, buffer, &len, chosen.get (), &err);
    opened (comm, chosen, err);
    user_.assign (buffer, len);
  }

  /* Calls a function of C, which returns the file or, after an error, NULL. */
  template <typename F> int call (F function) {
    if (f_ == nullptr) { throw error (SCDA_ERR_USAGE, "scda::file: it is closed"); }
    int err = SCDA_SUCCESS;
    f_ = function (&err);
    if (f_ == nullptr) { detail::fail (err); }
    return err;
  }

  /* Calls a function of C that is not collective: after an error the file stays open. */
  template <typename F> void call_alone (F function) {
    if (f_ == nullptr) { throw error (SCDA_ERR_USAGE, "scda::file: it is closed"); }
    int err = SCDA_SUCCESS;
    if (function (&err) != 0) { detail::fail (err); }
  }

  std::size_t ranks () const noexcept { return static_cast<std::size_t> (size_); }

  /* Begins a message about a dataset. */
  static std::string title_of (const std::string &name) { return "dataset \"" + name + "\": "; }
  static std::string title_of (text name) { return title_of (std::string (name.data (), *name.size ())); }
  static std::string none_found (text name, std::int64_t record) {
    return title_of (name) + (record == SCDA_LAST ? "" : "record " + std::to_string (record) + " ") + "not found";
  }
  /* Makes all ranks fail with this text, because an argument of this rank is wrong. */
  std::nullptr_t refuse (const std::string &why) const {
    scda_refuse (f_, why.c_str (), nullptr);
    return nullptr;
  }
  /* The lengths of the arguments of a call; the library compares them with what it is to use. */
  struct call_lengths : scda_lengths_t {
    call_lengths () noexcept : scda_lengths_t () {
      size = sizeof (scda_lengths_t);
      Nq_entries = Ei_entries = Sq_entries = data = unit = elements = UINT64_MAX;
    }
    explicit call_lengths (const counts &all) noexcept : call_lengths () { Nq = all.data (), Nq_entries = all.size (); }
    call_lengths &number (std::uint64_t of_elements) noexcept { return n = of_elements, *this; }
    call_lengths &sizes (const counts &each) noexcept { return Ei = each.data (), Ei_entries = each.size (), *this; }
    call_lengths &room (std::size_t of_sizes) noexcept { return Ei_entries = of_sizes, *this; }
    call_lengths &sums (const counts &all) noexcept { return Sq_entries = all.data () == nullptr ? UINT64_MAX : all.size (), *this; }
    call_lengths &bytes (std::size_t found, std::uint64_t of_each = 0, bool is_exact = false) noexcept {
      return data = found, E = of_each, exactly = is_exact, *this;
    }
    call_lengths &varray (const scda::bytes &place, const counts &each) noexcept {
      return place.skipped () ? *this : sizes (each).bytes (place.size ());
    }
    call_lengths &pointers (std::size_t found) noexcept { return data = found, indirect = 1, *this; }
  };
  bool fits (call_lengths &known) const noexcept { return scda_check_lengths (f_, &known, nullptr) == 0; }
  /* The argument Nq for C: NULL if an argument is too short, so that nothing is read or written. */
  const std::uint64_t *checked (call_lengths &known) const noexcept { return fits (known) ? known.Nq : nullptr; }
  const std::uint64_t *checked (const counts &Nq) const noexcept {
    call_lengths known (Nq);
    return checked (known);
  }
  /* A string for C. */
  template <typename Fits> std::string c_string (text str, Fits &fits) const {
    const std::string copy (str.data (), *str.size ());
    if (copy.find ('\0') != std::string::npos) {
      refuse ("text: found a NUL character after \"" + std::string (copy.c_str ()) + "\"");
      fits = Fits ();
    }
    return copy;
  }
  /* The boxes of this rank for C, for an array of `dimensions` dimensions with items as in `data`; empty if they do not fit.
   * They point into the boxes and into the data. `item_bytes` is the size of an item in memory if items are converted. */
  template <typename Void>
  std::vector<scda_box_t> boxes_of (const dataset &d, const std::vector<box> &boxes, std::uint64_t item_bytes,
                                    const basic_items<Void> &data, bool is_converted) const {
    std::vector<scda_box_t> all;
    const std::size_t dimensions = d.shape_.size ();
    const auto refuse_all = [&] (const std::string &why) { refuse (title_of (d.name_) + why), all.clear (); };
    std::uint64_t bytes = 0;
    for (const box &one : boxes) {
      if (one.start.size () != dimensions || one.count.size () != dimensions) {
        refuse_all ("box: found " + std::to_string (one.start.size ()) + " and " + std::to_string (one.count.size ())
                    + " numbers, expected " + std::to_string (dimensions) + ", one per dimension");
        return all;
      }
      const std::uint64_t more = detail::product ({ detail::product (one.count), item_bytes });
      bytes = bytes + more < bytes ? ~static_cast<std::uint64_t> (0) : bytes + more;
      scda_box_t c;
      scda_box_init (&c);
      if (all.empty ()) { c.data = const_cast<void *> (data.data ()); } /* the others follow it in memory */
      c.start = one.start.data ();
      c.count = one.count.data ();
      if (is_converted) { c.type = data.type (), c.item_bytes = data.item_bytes (), c.members = data.members (); }
      all.push_back (c);
    }
    if (bytes != data.bytes ()) {
      refuse_all ("data: found " + std::to_string (data.bytes ()) + " bytes, expected " + std::to_string (bytes) + ", the size of all boxes");
    } else if (!data.strides ().empty () && (all.size () != 1 || boxes[0].count != data.shape ())) {
      refuse_all ("data: found memory with strides, expected one box of the same shape");
    } else if (!data.strides ().empty ()) {
      all[0].stride = data.strides ().data ();
    }
    return all;
  }
  /* A dataset and boxes of it for C, and the memory to which they point. */
  template <typename Void> struct prepared {
    scda_dataset_t c;
    std::string attributes, unit;
    std::vector<const char *> names;
    std::vector<scda_box_t> boxes;
  };
  template <typename Void>
  void prepare (prepared<Void> &p, const dataset &d, const basic_items<Void> &data, const std::vector<box> &boxes, bool has_data) const {
    scda_dataset_t &c = p.c = d.d_;
    bool fits = true;
    const std::string name = c_string (d.name_, fits);
    p.attributes = c_string (d.attributes_, fits);
    p.unit = c_string (d.unit_, fits);
    const auto refuse_it = [&] (const std::string &why) { fits = false, refuse (title_of (d.name_) + why); };
    if (!d.has_type_) {
      c.type = data.type ();
      c.item_bytes = data.item_bytes ();
      c.members = data.members ();
      if (data.empty ()) { refuse_it ("data: found neither data nor a type; pass an empty container, or call scda::dataset::type"); }
    } else if (data.type () == SCDA_TYPE_RAW && !d.has_type_of (data)) {
      refuse_it ("data: found items of type " + detail::type_name (data.type (), data.item_bytes ()) + ", expected " + d.type_name ());
    }
    if (c.type == SCDA_TYPE_STRUCT && c.members == nullptr) { c.members = data.members (), c.item_bytes = data.item_bytes (); }
    const std::uint64_t item_bytes = detail::type_bytes (c.type, c.item_bytes);
    if (!d.has_shape_) { refuse_it ("shape is missing: the shape of the whole array"); }
    if (d.shape_.size () > SCDA_MAX_DIMS) {
      refuse_it ("shape: found " + std::to_string (d.shape_.size ()) + " dimensions, expected at most " + std::to_string (SCDA_MAX_DIMS));
    }
    if (!d.chunk_.empty () && c.encode != SCDA_ENCODE_NONE && d.chunk_.size () != d.shape_.size ()) {
      refuse_it ("chunk: found " + std::to_string (d.chunk_.size ()) + " numbers, expected " + std::to_string (d.shape_.size ())
                 + ", one per dimension");
    }
    if (!d.names_.empty () && d.names_.size () != d.shape_.size ()) {
      refuse_it ("dimension names: found " + std::to_string (d.names_.size ()) + ", expected none or "
                 + std::to_string (d.shape_.size ()));
    }
    if (!d.fill_.empty () && d.fill_.size () != item_bytes && !detail::is_variable (c.type)) {
      refuse_it ("fill value: found " + std::to_string (d.fill_.size ()) + " bytes, expected " + std::to_string (item_bytes));
    }
    if (name.size () >= sizeof c.name) {
      fits = false;
      refuse ("name of a dataset: found " + std::to_string (name.size ()) + " bytes, expected 1 to "
                 + std::to_string (SCDA_USER_STRING_BYTES));
    }
    /* Also sets what was rejected, as far as C may see it, so that the ranks agree on the rest. */
    std::memcpy (c.name, name.c_str (), name.size () < sizeof c.name ? name.size () + 1 : 1);
    c.ndims = static_cast<int> (d.shape_.size ());
    for (std::size_t i = 0; i < d.shape_.size () && i < SCDA_MAX_DIMS; ++i) {
      c.shape[i] = d.shape_[i];
      c.chunk[i] = i < d.chunk_.size () && c.encode != SCDA_ENCODE_NONE ? d.chunk_[i] : 0;
    }
    for (const std::string &one : d.names_) { p.names.push_back (one.empty () ? nullptr : one.c_str ()); }
    c.dimension_names = fits && !p.names.empty () ? p.names.data () : nullptr;
    c.fill_value = fits && !d.fill_.empty () ? d.fill_.data () : nullptr;
    c.attributes = p.attributes.empty () ? nullptr : p.attributes.c_str ();
    c.unit = p.unit.empty () ? nullptr : p.unit.c_str ();
    const bool is_converted = d.is_converted (data);
    if (fits && has_data) { p.boxes = boxes_of (d, boxes, is_converted ? data.item_bytes () : item_bytes, data, is_converted); }
  }
  /* Several of them. */
  template <typename Void> struct prepared_list {
    std::vector<prepared<Void>> each;
    std::vector<scda_dataset_t> c;
    std::vector<std::size_t> nboxes;
    std::vector<scda_box_t> boxes;
  };
  template <typename Void, typename One> void prepare_all (prepared_list<Void> &p, const std::vector<One> &all) const {
    p.each.resize (all.size ());
    for (std::size_t i = 0; i < all.size (); ++i) {
      prepared<Void> &one = p.each[i];
      prepare (one, all[i].d, all[i].data, all[i].boxes, true);
      p.c.push_back (one.c);
      p.nboxes.push_back (one.boxes.size ());
      p.boxes.insert (p.boxes.end (), one.boxes.begin (), one.boxes.end ());
    }
  }
  /* The data of the root: NULL if they are too short. */
  template <typename P> P *root_data (P *data, std::size_t found, std::uint64_t E, bool exactly, int root) const {
    return rank_ != root || fits (call_lengths ().number (1).bytes (found, E, exactly)) ? data : nullptr;
  }

  scda_fcontext_t *take () noexcept {
    scda_fcontext_t *f = f_;
    f_ = nullptr;
    return f;
  }

  static scda_info_t info_of (const scda_fcontext_t *f) noexcept {
    scda_info_t known = scda_info_t ();
    known.size = sizeof known;
    scda_get_info (f, &known);
    return known;
  }

  /* A file that an exception left incomplete must not pass for complete, nor may the other ranks wait for this one. */
  void drop () noexcept {
    if (f_ == nullptr) { return; }
    scda_fcontext_t *f = take ();
    int err = SCDA_SUCCESS;
    if (detail::exceptions () > exceptions_) {
      scda_fleave (f, &err);
    } else {
      scda_fclose (f, &err);
    }
  }

  scda_fcontext_t *f_;
  std::string user_;
  std::vector<std::vector<char>> lent_; /* copies of data that the library may still read to write them */
  bool lends_ = false; /* true if it may */
  int rank_, size_;
  int exceptions_; /* in flight when the object was made */
};

/** A commit or close in progress. Like a future, it must be waited for. The destructor waits, too, and ignores errors. While an
 * exception is propagating, it completes nothing, and waits only until this rank has written, so that the copies can be freed. */
class request {
public:
  /** No request: counts as complete. */
  request () noexcept : r_ (), exceptions_ (detail::exceptions ()) {}
  request (request &&other) noexcept : r_ (other.take ()), lent_ (std::move (other.lent_)), exceptions_ (other.exceptions_) {}
  request &operator= (request &&other) noexcept {
    if (this != &other) {
      drop ();
      r_ = other.take ();
      lent_ = std::move (other.lent_);
      exceptions_ = other.exceptions_;
    }
    return *this;
  }
  request (const request &) = delete;
  request &operator= (const request &) = delete;
  ~request () { drop (); }

  /** True if this rank has written its part. Not collective. */
  bool test () const noexcept { return scda_test (&r_) != 0; }
  /** Completes the request; throws if anything went wrong. Does nothing if it is complete. */
  void wait () {
    if (r_.file == nullptr) { return; }
    int err = SCDA_SUCCESS;
    const bool is_complete = scda_wait (&r_, &err) == 0;
    lent_.clear ();
    if (!is_complete) { detail::fail (err); }
  }

private:
  friend class file;
  friend class writer;
  scda_request_t take () noexcept {
    const scda_request_t r = r_;
    r_ = scda_request_t ();
    return r;
  }
  void drop () noexcept {
    int err = SCDA_SUCCESS;
    if (r_.file != nullptr && detail::exceptions () <= exceptions_) { scda_wait (&r_, &err); }
    while (!test ()) { std::this_thread::sleep_for (std::chrono::milliseconds (1)); }
  }

  scda_request_t r_;
  std::vector<std::vector<char>> lent_; /* taken over from the file */
  int exceptions_; /* in flight when the object was made */
};

inline request file::close_begin () {
  request begun;
  if (!is_open ()) { return begun; }
  int err = SCDA_SUCCESS;
  begun.lent_ = std::move (lent_);
  if (scda_fclose_begin (take (), &begun.r_, &err) != 0) { detail::fail (err); }
  return begun;
}

/** A file that is open for writing. */
class writer : public file {
public:
  /** A closed file. */
  writer () noexcept {}
  /** Creates a file, or truncates an existing one. */
  writer (MPI_Comm comm, const char *filename, text user, const params &chosen = params ()) {
    int err = SCDA_SUCCESS;
    f_ = scda_fopen_write (comm, filename, user.data (), user.size (), chosen.get (), &err);
    opened (comm, chosen, err);
    user_.assign (user.data (), *user.size ());
  }
  writer (MPI_Comm comm, const std::string &filename, text user, const params &chosen = params ())
    : writer (comm, filename.c_str (), user, chosen) {}
  writer (writer &&) noexcept = default;
  writer &operator= (writer &&) noexcept = default;
  /** Opens an existing file to write more sections at its end: see scda_fopen_append. */
  static writer append (MPI_Comm comm, const char *filename, const params &chosen = params ()) {
    writer appending;
    appending.open_existing (scda_fopen_append, comm, filename, chosen);
    return appending;
  }
  static writer append (MPI_Comm comm, const std::string &filename, const params &chosen = params ()) {
    return append (comm, filename.c_str (), chosen);
  }
  /** Opens a file to append to it, or creates it if it does not exist: see scda_fopen_append_or_create. */
  static writer append_or_create (MPI_Comm comm, const std::string &filename, text user, const params &chosen = params ()) {
    writer w;
    int err = SCDA_SUCCESS, is_new = 0;
    w.f_ = scda_fopen_append_or_create (comm, filename.c_str (), user.data (), user.size (), chosen.get (), &is_new, &err);
    w.opened (comm, chosen, err);
    w.is_new_ = is_new != 0;
    char found[SCDA_USER_STRING_BYTES + 1];
    std::size_t len = 0;
    w.call_alone ([&] (int *e) { return scda_get_user_string (w.f_, found, &len, e); });
    w.user_.assign (found, len);
    return w;
  }
  /** True if `append_or_create` has created the file. */
  bool is_new () const noexcept { return is_new_; }

  /** Writes what is buffered, and throws if anything has gone wrong so far. */
  void flush () {
    call ([&] (int *err) { return scda_fflush (f_, err); });
    lent_.clear ();
  }

  /** Writes what is buffered, and a seal: a program that appends after a kill continues here.
   * Requires `params::seal`, or a sealed file that is appended to. */
  void commit () {
    call ([&] (int *err) { return scda_fcommit (f_, err); });
    lent_.clear ();
  }

  /** Begins to commit, and returns as soon as the data are copied: see `params::background_bytes`. More can be written meanwhile. */
  request commit_begin () {
    request begun;
    call ([&] (int *err) { return scda_fcommit_begin (f_, &begun.r_, err); });
    begun.lent_ = std::move (lent_);
    return begun;
  }

  /** Begins a set of streams: from now until `end_streams`, each rank writes its own stream by `write_stream`, independently.
   * `chunk_bytes`: 0 lets the library choose. */
  void begin_streams (text user, std::uint64_t chunk_bytes = 0) {
    call ([&] (int *err) { return scda_fwrite_streams_begin (f_, user.data (), user.size (), chunk_bytes, err); });
  }
  /** Appends bytes to this rank's stream. Not collective; after an error, the file stays open until the next collective call. */
  void write_stream (const_bytes data) {
    call_alone ([&] (int *err) { return scda_stream_write (f_, data.data (), data.size (), err); });
  }
  /** Ends the streams. */
  void end_streams () {
    call ([&] (int *err) { return scda_fwrite_streams_end (f_, err); });
  }

  /** Writes an inline section: the 32 bytes of `root`. Other ranks' `data` are ignored. */
  void write_inline (text user, const_bytes data, int root = 0) {
    const void *pointer = root_data (data.data (), data.size (), SCDA_INLINE_BYTES, false, root);
    call ([&] (int *err) { return scda_fwrite_inline (f_, pointer, user.data (), user.size (), root, err); });
  }
  /** Writes a block: the `E` bytes of `root`. Other ranks' `data` are ignored. */
  void write_block (text user, const_bytes data, std::uint64_t E, int root, int encode = SCDA_ENCODE_NONE) {
    const void *pointer = root_data (data.data (), data.size (), E, false, root);
    call ([&] (int *err) {
      return scda_fwrite_block (f_, pointer, E, user.data (), user.size (), root, encode, err);
    });
  }
  /** Writes a block: all data of `root`. The other ranks need not know their size. */
  void write_block (text user, const_bytes data, encoding encode = encode_none, int root = 0) {
    const std::vector<std::uint64_t> sizes = proc_counts (data.size ());
    const bool is_rank = root >= 0 && root < size_; /* otherwise C rejects it */
    write_block (user, data, is_rank ? sizes[static_cast<std::size_t> (root)] : 0, root, static_cast<int> (encode));
  }
  /** Writes an array of elements of `E` bytes. `data`: the elements of this rank, concatenated. */
  void write_array (text user, const_bytes data, const counts &Nq, std::uint64_t E, int encode = SCDA_ENCODE_NONE) {
    call_lengths known = call_lengths (Nq).bytes (data.size (), E);
    if (data.unit () > 1) { known.unit = data.unit (); }
    put_array (user, data.data (), checked (known), E, 0, encode);
  }
  /** Writes an array of the elements of the container `data`, as many as `Nq` says for this rank. */
  void write_array (text user, const_bytes data, const counts &Nq, encoding encode = encode_none) {
    const std::uint64_t E = data.element ();
    if (E == 0) { refuse ("E is missing, and the elements of data have no type that gives it"); }
    put_array (user, data.data (), checked (call_lengths (Nq).bytes (data.size (), E, true)), E, 0, encode);
  }
  /** Writes an array of elements of `E` bytes, given a pointer to each element of this rank. */
  void write_array (text user, view<const void *const> pointers, const counts &Nq, std::uint64_t E,
                    int encode = SCDA_ENCODE_NONE) {
    put_array (user, pointers.data (), checked (call_lengths (Nq).pointers (pointers.size ())), E, 1, encode);
  }
  /** Writes a varray. `data`: the elements of this rank, concatenated. `Ei`: their sizes.
   * `Sq`: see `proc_sizes`; computed if empty. */
  void write_varray (text user, const_bytes data, const counts &Nq, const counts &Ei, int encode = SCDA_ENCODE_NONE,
                     const counts &Sq = counts ()) {
    put_varray (user, data.data (), checked (call_lengths (Nq).sizes (Ei).sums (Sq).bytes (data.size ())), Ei.data (), Sq, 0, encode);
  }
  /** Writes a varray, given a pointer to each element of this rank. */
  void write_varray (text user, view<const void *const> pointers, const counts &Nq, const counts &Ei,
                     int encode = SCDA_ENCODE_NONE, const counts &Sq = counts ()) {
    const std::uint64_t *partition = checked (call_lengths (Nq).sizes (Ei).sums (Sq).pointers (pointers.size ()));
    put_varray (user, pointers.data (), partition, Ei.data (), Sq, 1, encode);
  }
  /** Writes a varray whose elements are containers, such as vectors in a vector. */
  template <typename C, typename = typename std::enable_if<detail::has_parts<C>::value>::type>
  void write_varray (text user, const C &elements, const counts &Nq, encoding encode = encode_none) {
    std::vector<const void *> pointers;
    std::vector<std::uint64_t> Ei;
    for (const auto &element : elements) {
      const const_bytes data (element);
      pointers.push_back (data.data ());
      Ei.push_back (data.size ());
    }
    call_lengths known (Nq);
    known.elements = Ei.size ();
    put_varray (user, pointers.data (), checked (known), Ei.data (), counts (), 1, encode);
  }

  /** Writes a dataset: the whole array of rank 0. Other ranks' `data` are ignored; the shape must be the same on all ranks. If it is
   * not set, the shape is that of the data: `writer.write ("time", 0.5)`. */
  void write (const dataset &d, const const_items &data) {
    dataset whole = d;
    if (!d.has_shape_) { whole.shape (data.shape ()); }
    std::vector<box> boxes;
    if (rank_ == 0) { boxes.emplace_back (std::vector<std::uint64_t> (whole.shape_.size ()), whole.shape_); }
    put_dataset (whole, data, boxes, rank_ == 0);
  }
  void write (text name, const const_items &data) { write (dataset (name), data); }
  void write (text name, const const_items &data, const counts &shape) { write (dataset (name, shape), data); }
  /** Writes a dataset from boxes of this rank, any number. `data`: the boxes, concatenated, each in C order. What no rank passes has
   * the fill value; what two ranks pass is an error. */
  void write (const dataset &d, const const_items &data, const std::vector<box> &boxes) { put_dataset (d, data, boxes, true); }
  void write (const dataset &d, const const_items &data, const box &one) { write (d, data, std::vector<box> (1, one)); }
  /** Writes a dataset of texts of any length. `own`: those of this rank, a vector of strings, views, or vectors of bytes, in C order. The
   * ranks add up their numbers: the first number of the shape is ignored, and without a shape there is one dimension. The type is
   * `SCDA_TYPE_STRING`, unless `d` has `SCDA_TYPE_VARIABLE_BYTES`. */
  template <typename C> void write_texts (const dataset &d, const std::vector<C> &own) {
    dataset whole = d;
    if (!d.has_type_) { whole.type (SCDA_TYPE_STRING); }
    if (!d.has_shape_) { whole.shape (std::vector<std::uint64_t> (1)); }
    prepared<const void> p;
    prepare (p, whole, const_items (), std::vector<box> (), false);
    std::uint64_t row = 1;
    for (std::size_t i = 1; i < whole.shape_.size (); ++i) { row *= whole.shape_[i]; }
    std::uint64_t count = row == 0 ? 0 : own.size () / row;
    if (count * row != own.size ()) {
      refuse ("texts: found " + std::to_string (own.size ()) + ", expected " + std::to_string (row) + " for each index of the first dimension");
      count = 0;
    }
    std::vector<const char *> pointers;
    std::vector<std::uint64_t> lengths;
    for (const C &one : own) {
      static_assert (sizeof *one.data () == 1, "texts consist of bytes");
      pointers.push_back (reinterpret_cast<const char *> (one.data ()));
      lengths.push_back (one.size ());
    }
    call ([&] (int *err) { return scda_fwrite_texts (f_, &p.c, count, pointers.data (), lengths.data (), err); });
  }
  template <typename C> void write_texts (text name, const std::vector<C> &own) { write_texts (dataset (name), own); }
  /** Writes several datasets from boxes of this rank, one after another: the same bytes as one call for each. Chunks of several
   * datasets are compressed together. */
  void write_datasets (const std::vector<dataset_boxes> &all) {
    prepared_list<const void> p;
    prepare_all (p, all);
    call ([&] (int *err) {
      return scda_fwrite_datasets (f_, p.c.size (), p.c.data (), p.nboxes.data (), p.boxes.data (), err);
    });
  }
  /** Writes a dataset whose first dimension is distributed: this rank has as many indices as `data`. The ranks add these numbers up,
   * unless `Nq` is passed. Items with strides are copied. */
  void write_field (text name, const const_items &data, encoding encode = encode_none) {
    const std::uint64_t one = 1, *partition = &one;
    if (data.shape ().empty () || data.shape ().size () > 2) {
      partition = refuse (title_of (name) + "data: found " + std::to_string (data.shape ().size ()) + " dimensions, expected 1 or 2; or pass Nq");
    }
    const std::uint64_t components = data.shape ().size () == 2 ? data.shape ()[1] : 1;
    const std::string terminated = c_string (name, partition);
    const std::uint64_t n = partition == nullptr ? 0 : data.shape ()[0];
    put_field (data, partition, [&] (const void *packed, int *err) {
      return scda_fwrite_field (f_, terminated.c_str (), data.type (), packed, n, components, encode, err);
    });
  }
  /** Writes a dataset whose first dimension is distributed: `Nq` indices on each rank. The other dimensions are those of
   * `data`, such as 5 for a `std::vector<std::array<double, 5>>`. */
  void write_field (text name, const const_items &data, const counts &Nq, encoding encode = encode_none) {
    call_lengths known (Nq);
    const std::uint64_t *partition = checked_field (data, known);
    if (data.shape ().size () > 2) {
      partition = refuse (title_of (name) + "data: found " + std::to_string (data.shape ().size ()) + " dimensions, expected 1 or 2; or pass a scda::dataset");
    }
    const std::uint64_t components = data.shape ().size () == 2 ? data.shape ()[1] : 1;
    const std::string terminated = c_string (name, partition);
    put_field (data, partition, [&] (const void *packed, int *err) {
      return scda_fwrite_field_parts (f_, terminated.c_str (), data.type (), packed, partition, components, encode, err);
    });
  }
  void write_field (const dataset &d, const const_items &data, const counts &Nq) {
    call_lengths known (Nq);
    const std::uint64_t *partition = checked_field (data, known);
    dataset field = d;
    std::vector<std::uint64_t> start (data.shape ().size ()), count (data.shape ());
    field.shape (data.shape ());
    if (partition != nullptr) { start[0] = known.first, field.shape_[0] = known.total; }
    put_dataset (field, data, partition == nullptr ? std::vector<box> () : std::vector<box> (1, box (start, count)), partition != nullptr);
  }
  /** Writes attributes of a group of datasets; `/` is the file itself. `attributes`: the text of a JSON object. */
  void write_group (text path, text attributes) {
    bool fits = true;
    const std::string c_path = c_string (path, fits), c_attributes = c_string (attributes, fits);
    call ([&] (int *err) { return scda_fwrite_group (f_, c_path.c_str (), c_attributes.c_str (), err); });
  }
  /** Sets attributes of a dataset or group that is already in the file (a slash at the end of a path: the group): see
   *  scda_fset_attributes. `changes`: the text of a JSON object; `null` removes an attribute. `record`: 0 is the first one, -1 the last. */
  void set_attributes (text name, text changes, std::int64_t record = -1) {
    bool fits = true;
    const std::string c_name = c_string (name, fits), c_changes = c_string (changes, fits);
    call ([&] (int *err) { return scda_fset_attributes (f_, c_name.c_str (), record, c_changes.c_str (), err); });
  }

private:
  bool is_new_ = false;
  /* Takes the indices of the first dimension of `data` as those of this rank. */
  const std::uint64_t *checked_field (const const_items &data, call_lengths &known) const {
    if (data.shape ().empty ()) { return refuse ("data: found no dimensions, expected at least 1"); }
    known.elements = data.shape ()[0];
    return checked (known);
  }
  void put_dataset (const dataset &d, const const_items &data, const std::vector<box> &boxes, bool has_data) {
    prepared<const void> p;
    prepare (p, d, data, boxes, has_data);
    call ([&] (int *err) {
      const std::size_t n = p.boxes.size ();
      return scda_fwrite_datasets (f_, 1, &p.c, &n, p.boxes.data (), err);
    });
  }
  /* Writes data by a function of C that takes no strides: data with strides are copied, unless something was already rejected. This may
   * differ between the ranks. */
  template <typename F> void put_field (const const_items &data, const std::uint64_t *partition, F function) {
    const void *packed = data.data ();
    if (!data.strides ().empty () && partition != nullptr) {
      try {
        lent_.emplace_back ();
        lent_.back ().reserve (data.bytes ());
        data.pack (lent_.back (), static_cast<const char *> (packed), 0);
        packed = lent_.back ().data ();
      } catch (const std::exception &) { /* length_error, bad_alloc */
        packed = refuse ("data: found " + std::to_string (data.bytes ()) + " bytes with strides, more than can be copied");
      }
    }
    call ([&] (int *err) { return function (packed, err); });
    if (!lends_) { lent_.clear (); }
  }
  void put_array (text user, const void *data, const std::uint64_t *partition, std::uint64_t E, int indirect, int encode) {
    call ([&] (int *err) {
      return scda_fwrite_array (f_, data, partition, E, indirect, user.data (), user.size (), encode, err);
    });
  }
  void put_varray (text user, const void *data, const std::uint64_t *partition, const std::uint64_t *Ei, const counts &Sq,
                   int indirect, int encode) {
    call ([&] (int *err) {
      return scda_fwrite_varray (f_, data, partition, Ei, Sq.data (), indirect, user.data (), user.size (), encode, err);
    });
  }
};

/** The contents of a section header. */
struct section {
  char type = '\0';          /**< 'I', 'B', 'A' or 'V' */
  bool decoded = false;      /**< true if the section is compressed, and reading decompresses its data */
  std::uint64_t N = 0, E = 0; /**< number of elements; bytes of a block or of each element of an array */
  std::string user;          /**< the user string */
};

/** A file that is open for reading. */
class reader : public file {
public:
  /** A closed file. */
  reader () noexcept {}
  /** Opens a file. */
  reader (MPI_Comm comm, const char *filename, const params &chosen = params ()) {
    open_existing (scda_fopen_read, comm, filename, chosen);
  }
  reader (MPI_Comm comm, const std::string &filename, const params &chosen = params ())
    : reader (comm, filename.c_str (), chosen) {}
  reader (reader &&) noexcept = default;
  reader &operator= (reader &&) noexcept = default;

  /** Reads the header of the next section; false at the end of the file. Then read or skip the data.
   * `decode`: decompress a compressed section. */
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

  /** Checks whether the file can now be read further than before. Throws if a job has meanwhile rolled the file back, so that
   * what was read is no longer in it. */
  bool refresh () {
    int changed = 0;
    call ([&] (int *err) { return scda_frefresh (f_, &changed, err); });
    return changed != 0;
  }
  /** The number of sections. */
  std::uint64_t sections () {
    std::uint64_t N = 0;
    call ([&] (int *err) { return scda_fsections (f_, &N, err); });
    return N;
  }
  /** Seeks a section by its number, from 0: `next` then reads its header. */
  void seek (std::uint64_t section) {
    call ([&] (int *err) { return scda_fseek (f_, section, err); });
  }
  /** Finds a section by its user string: returns true if it exists, and its number for `seek`. `record`: 0 is the first,
   * 1 the next, -1, the default, the last. */
  bool find (std::uint64_t &section, text user, std::int64_t record = -1) {
    int found = 0;
    call ([&] (int *err) {
      return scda_ffind (f_, user.data (), user.size (), record, &found, &section, err);
    });
    return found != 0;
  }
#if __cplusplus >= 201703L
  /** The number of the section with this user string. Requires C++17. */
  std::optional<std::uint64_t> find (text user, std::int64_t record = -1) {
    std::uint64_t section = 0;
    if (find (section, user, record)) { return section; }
    return std::nullopt;
  }
#endif

  /** Finds a set of streams: returns true if it exists. Any number of sets can be read, in any order. `record`: 0 is the first of this
   * name, -1, the default, the last. */
  bool find_streams (streams &set, text user, std::int64_t record = SCDA_LAST) {
    streams found;
    call ([&] (int *err) {
      return scda_ffind_streams (f_, user.data (), user.size (), record, &found.number_, &found.tasks_, &found.chunk_bytes_, err);
    });
    if (found.number_ != 0) { set = found; }
    return found.number_ != 0;
  }
#if __cplusplus >= 201703L
  /** The set of streams with this name. Requires C++17. */
  std::optional<streams> find_streams (text user, std::int64_t record = SCDA_LAST) {
    streams set;
    if (find_streams (set, user, record)) { return set; }
    return std::nullopt;
  }
#endif
  /** The size of a stream in bytes. Not collective. */
  std::uint64_t stream_size (const streams &set, std::uint64_t task) {
    std::uint64_t bytes = 0;
    call_alone ([&] (int *err) { return scda_stream_size (f_, set.number_, task, &bytes, err); });
    return bytes;
  }
  /** Reads bytes of a stream from `offset` on, as many as `data` has room for. Not collective; after an error, the file stays
   * open. */
  void read_stream (const streams &set, std::uint64_t task, bytes data, std::uint64_t offset = 0) {
    call_alone ([&] (int *err) { return scda_stream_read (f_, set.number_, task, offset, data.data (), data.size (), err); });
  }
  /** Reads the size of each stream in this rank's share: rank p has `Nq[p]` of the streams, in the order of the tasks. */
  void read_streams_sizes (const streams &set, view<std::uint64_t> Ei, const counts &Nq) {
    get_streams_sizes (set, Ei.data (), checked (call_lengths (Nq).room (Ei.size ())));
  }
  /** Skips the sizes on this rank. */
  void read_streams_sizes (const streams &set, skip_t, const counts &Nq) { get_streams_sizes (set, nullptr, checked (Nq)); }
  /** Reads the streams in this rank's share, concatenated. */
  void read_streams (const streams &set, bytes data, const counts &Nq, const counts &Ei) {
    get_streams (set, data.data (), checked (call_lengths (Nq).varray (data, Ei)), Ei, 0);
  }
  /** Reads each stream in this rank's share to its pointer; NULL skips one. */
  void read_streams (const streams &set, view<void *const> pointers, const counts &Nq, const counts &Ei) {
    const std::uint64_t *partition = checked (call_lengths (Nq).sizes (Ei).pointers (pointers.size ()));
    get_streams (set, const_cast<void **> (pointers.data ()), partition, Ei, 1);
  }
  /** Reads sizes and streams of this rank's share: `data` becomes a vector of vectors or strings. */
  template <typename C> void read_streams (const streams &set, std::vector<C> &data, const counts &Nq) {
    std::vector<std::uint64_t> Ei (own_count (Nq, set.tasks_));
    read_streams_sizes (set, Ei, Nq);
    std::vector<void *> pointers;
    const std::uint64_t *partition = checked (Nq);
    if (!sized (data, Ei, pointers)) { partition = nullptr; }
    get_streams (set, pointers.data (), partition, Ei, 1);
  }

  /** Finds a dataset by its name: returns true if it exists. `read` reads it; any number of datasets can be read, in any order. The
   * position in the file stays. `record`: 0 is the first of this name, 1 the next, -1, the default, the last. */
  bool find_dataset (dataset &d, text name, std::int64_t record = SCDA_LAST) {
    int found = 0;
    bool fits = true;
    scda_dataset_t c;
    scda_dataset_init (&c);
    const std::string terminated = c_string (name, fits);
    call ([&] (int *err) { return scda_ffind_dataset (f_, terminated.c_str (), record, &found, &c, err); });
    if (found != 0) { d = dataset (c); }
    return found != 0;
  }
  /** Reads a field that is distributed along its first dimension, from a file that another version of the program may have written: by a
   * new or an old name, with numbers of any type and any number of components. `data` are the rows of this rank, which follow those of
   * lower ranks; what the file does not have keeps its value. Returns 0 if the file has neither name; otherwise `SCDA_FIELD_FOUND`, plus
   * the differences: `SCDA_FIELD_RENAMED`, `SCDA_FIELD_CONVERTED`, `SCDA_FIELD_COMPONENTS`. */
  int read_field (text name, const items &data, text old_name = "", std::int64_t record = SCDA_LAST) {
    int found = 0;
    bool fits = true;
    const std::string terminated = c_string (name, fits), before = c_string (old_name, fits);
    const bool is_whole = !data.shape ().empty () && data.strides ().empty ();
    if (!is_whole) { refuse (title_of (name) + "data: found rows with gaps, expected contiguous rows"); }
    const std::uint64_t rows = is_whole ? data.shape ()[0] : 0;
    const std::uint64_t components = is_whole ? detail::product (std::vector<std::uint64_t> (data.shape ().begin () + 1, data.shape ().end ())) : 1;
    call ([&] (int *err) {
      return scda_fread_field (f_, terminated.c_str (), before.empty () ? nullptr : before.c_str (), record, data.type (), data.data (), rows,
                               components, &found, err);
    });
    return found;
  }
  /** Gets the next entry of the file, as users see it; false if there is none. See `scda_fnext_entry`, and `entry`, which stores the
   * place in the list. The position in the file stays. */
  bool next_entry (entry &e) {
    int code = SCDA_SUCCESS;
    call ([&] (int *err) {
      scda_fcontext_t *f = scda_fnext_entry (f_, &e.e_, err);
      code = *err;
      if (f != nullptr && *err == SCDA_ERR_EOF) { *err = SCDA_SUCCESS; }
      return f;
    });
    return code != SCDA_ERR_EOF;
  }
  /** Reads one attribute of a dataset, or of a group if no dataset has its name (a slash at the end: the group; "/": the file). Returns true if it
   * exists. See `scda::get_attribute` and `scda_fread_attribute`. */
  template <typename T> bool read_attribute (text name, const char *key, T &value, std::int64_t record = SCDA_LAST) {
    bool fits = true;
    const std::string terminated = c_string (name, fits);
    return detail::get_value (value, [&] (int type, void *values, std::uint64_t &count) {
      call ([&] (int *err) { return scda_fread_attribute (f_, terminated.c_str (), record, key, type, values, &count, err); });
    });
  }
  /** Finds the attributes of a group, as the text of a JSON object; returns true if it has any. `/` is the file itself. */
  bool find_group (std::string &attributes, text path) {
    int found = 0;
    bool fits = true;
    const char *json = nullptr;
    const std::string terminated = c_string (path, fits);
    call ([&] (int *err) { return scda_ffind_group (f_, terminated.c_str (), &found, &json, err); });
    if (found != 0) { attributes = json; }
    return found != 0;
  }
#if __cplusplus >= 201703L
  /** The dataset with this name. Requires C++17. */
  std::optional<dataset> find_dataset (text name, std::int64_t record = SCDA_LAST) {
    dataset d;
    if (find_dataset (d, name, record)) { return d; }
    return std::nullopt;
  }
  /** The attributes of a group. Requires C++17. */
  std::optional<std::string> find_group (text path) {
    std::string attributes;
    if (find_group (attributes, path)) { return attributes; }
    return std::nullopt;
  }
#endif
  /** Reads boxes of a dataset, concatenated, each in C order. Each rank may read any boxes. `data` must have exactly their items.
   * Numbers of another type are converted to that of `data` (`scda_box_t`). */
  void read (const dataset &d, const items &data, const std::vector<box> &boxes) { get_boxes (d, data, boxes); }
  void read (const dataset &d, const items &data, const box &one) { get_boxes (d, data, std::vector<box> (1, one)); }
  /** Reads the whole dataset on this rank. */
  void read (const dataset &d, const items &data) { get_boxes (d, data, std::vector<box> (1, d.whole ())); }
  /** Reads the whole dataset of this name on this rank, by default the last one: returns true if there is one. `data` must have exactly
   * its items; a vector is resized to fit. If there is none, `data` stay as they are. */
  bool read (text name, const items &data, std::int64_t record = SCDA_LAST) {
    dataset d;
    if (!find_dataset (d, name, record)) { return false; }
    read (d, data);
    return true;
  }
  template <typename T> bool read (text name, std::vector<T> &data, std::int64_t record = SCDA_LAST) {
    dataset d;
    if (!find_dataset (d, name, record)) { return false; }
    read (d, data);
    return true;
  }
  /** Reads nothing on this rank. */
  void read (const dataset &d, skip_t) { get_boxes (d, items (), std::vector<box> ()); }
  /** Reads a box, or the whole dataset, into a vector, which is resized to fit. */
  template <typename T> void read (const dataset &d, std::vector<T> &data, const box &one) {
    const items room (data);
    const std::uint64_t item_bytes = d.is_converted (room) ? room.item_bytes () : d.item_bytes ();
    const std::uint64_t bytes = detail::product ({ detail::product (one.count), item_bytes });
    /* A box that will be rejected gets no memory. If it does not fill whole elements, the byte count causes the rejection. */
    if (one.count.size () == d.shape ().size () && detail::product (one.count) <= d.size ()) {
      data.resize (static_cast<std::size_t> (bytes / sizeof (T)));
    } else if (one.count.size () == d.shape ().size ()) {
      refuse ("box: found " + std::to_string (detail::product (one.count)) + " items, expected at most the " + std::to_string (d.size ())
              + " of the dataset \"" + d.name () + "\"");
    }
    get_boxes (d, items (data), std::vector<box> (1, one));
  }
  template <typename T> void read (const dataset &d, std::vector<T> &data) { read (d, data, d.whole ()); }
  /** Reads boxes of a dataset whose items are texts or bytes of any length; each rank may read any boxes. `texts` becomes a vector of
   * strings or of vectors of bytes: the boxes, concatenated, each in C order. */
  template <typename C> void read_texts (const dataset &d, std::vector<C> &texts, const std::vector<box> &boxes) {
    std::vector<std::uint64_t> start, count, lengths;
    std::size_t n = boxes.size (), total = 0;
    const auto refuse_all = [&] (const std::string &why) { refuse (why), n = total = 0; };
    for (std::size_t i = 0; i < n; ++i) {
      if (boxes[i].start.size () != d.shape ().size () || boxes[i].count.size () != d.shape ().size ()) {
        refuse_all ("box: found " + std::to_string (boxes[i].start.size ()) + " and " + std::to_string (boxes[i].count.size ())
                    + " numbers, expected " + std::to_string (d.shape ().size ()) + ", one per dimension");
        break;
      }
      start.insert (start.end (), boxes[i].start.begin (), boxes[i].start.end ());
      count.insert (count.end (), boxes[i].count.begin (), boxes[i].count.end ());
      /* A box that C will reject gets no memory. */
      const std::uint64_t more = detail::product (boxes[i].count);
      if (more <= d.size ()) { total += static_cast<std::size_t> (more); }
    }
    lengths.resize (total);
    call ([&] (int *err) { return scda_fread_texts_sizes (f_, &d.d_, n, start.data (), count.data (), lengths.data (), err); });
    std::uint64_t bytes = 0;
    for (const std::uint64_t length : lengths) { bytes += length; }
    std::vector<char> all (static_cast<std::size_t> (bytes));
    call_alone ([&] (int *err) { return scda_texts_data (f_, all.data (), bytes, err); });
    texts.clear ();
    texts.reserve (lengths.size ());
    const char *at = all.data ();
    for (const std::uint64_t length : lengths) {
      texts.emplace_back (at, at + length);
      at += length;
    }
  }
  template <typename C> void read_texts (const dataset &d, std::vector<C> &texts, const box &one) { read_texts (d, texts, std::vector<box> (1, one)); }
  /** Reads the whole dataset on this rank. */
  template <typename C> void read_texts (const dataset &d, std::vector<C> &texts) { read_texts (d, texts, d.whole ()); }
  /** The whole dataset with this name on this rank, by default the last one. If there is none, throws `SCDA_ERR_NOT_FOUND`. */
  template <typename T> std::vector<T> read (text name, std::int64_t record = SCDA_LAST) {
    std::vector<T> data;
    dataset d;
    if (!find_dataset (d, name, record)) {
      const std::string why = none_found (name, record);
      call ([&] (int *err) { return scda_fagree (f_, SCDA_ERR_NOT_FOUND, why.c_str (), err); });
    }
    read (d, data);
    return data;
  }

  /** Finds several datasets by their names and reads boxes of each, like `find_dataset` and `read` for one after another. Each rank may
   * read any boxes. All ranks must name the same datasets, with the type and shape that they have in the file. If the file does not have
   * one of them, throws `SCDA_ERR_NOT_FOUND`. */
  void read_datasets (const std::vector<dataset_request> &all) {
    prepared_list<void> p;
    prepare_all (p, all);
    std::vector<std::int64_t> record;
    for (const dataset_request &one : all) { record.push_back (one.record); }
    call ([&] (int *err) {
      return scda_fread_datasets (f_, p.c.size (), p.c.data (), record.data (), p.nboxes.data (), p.boxes.data (), err);
    });
  }

  /** Reads the 32 bytes of an inline section on `root`. Other ranks' `data` are ignored. */
  void read_inline (bytes data, int root = 0) {
    void *pointer = room (data, SCDA_INLINE_BYTES, false, root);
    call ([&] (int *err) { return scda_fread_inline_data (f_, pointer, root, err); });
  }
  /** Reads the `E` bytes of a block on `root`. Other ranks' `data` are ignored. */
  void read_block (bytes data, std::uint64_t E, int root) {
    void *pointer = room (data, E, false, root);
    call ([&] (int *err) { return scda_fread_block_data (f_, pointer, E, root, err); });
  }
  /** Reads a block on `root`, where `data` must have exactly its size. */
  void read_block (bytes data, int root = 0) {
    void *pointer = room (data, E_, true, root);
    call ([&] (int *err) { return scda_fread_block_data (f_, pointer, E_, root, err); });
  }
  /** Reads an array of elements of `E` bytes: those of this rank, concatenated. */
  void read_array (bytes data, const counts &Nq, std::uint64_t E) { get_array (data, Nq, E, false); }
  /** Reads an array: `data` must have exactly the size of this rank's elements. */
  void read_array (bytes data, const counts &Nq) { get_array (data, Nq, E_, true); }
  /** Reads each element of this rank, of `E` bytes, of an array to its pointer; NULL skips one. */
  void read_array (view<void *const> pointers, const counts &Nq, std::uint64_t E) {
    const std::uint64_t *partition = checked (call_lengths (Nq).pointers (pointers.size ()));
    call ([&] (int *err) {
      return scda_fread_array_data (f_, const_cast<void **> (pointers.data ()), partition, E, 1, err);
    });
  }
  /** Reads the sizes of this rank's elements of a varray, before its data. */
  void read_varray_sizes (view<std::uint64_t> Ei, const counts &Nq) {
    const std::uint64_t *partition = checked (call_lengths (Nq).room (Ei.size ()));
    call ([&] (int *err) { return scda_fread_varray_sizes (f_, Ei.data (), partition, err); });
  }
  /** Skips the sizes on this rank. */
  void read_varray_sizes (skip_t, const counts &Nq) {
    const std::uint64_t *partition = checked (Nq);
    call ([&] (int *err) { return scda_fread_varray_sizes (f_, nullptr, partition, err); });
  }
  /** Reads the data of a varray: the elements of this rank, concatenated. `Sq`: computed if empty. */
  void read_varray (bytes data, const counts &Nq, const counts &Ei, const counts &Sq = counts ()) {
    get_varray (data.data (), checked (call_lengths (Nq).varray (data, Ei).sums (Sq)), Ei, Sq, 0);
  }
  /** Reads each element of this rank of a varray to its pointer; NULL skips one. */
  void read_varray (view<void *const> pointers, const counts &Nq, const counts &Ei, const counts &Sq = counts ()) {
    const std::uint64_t *partition = checked (call_lengths (Nq).sizes (Ei).sums (Sq).pointers (pointers.size ()));
    get_varray (const_cast<void **> (pointers.data ()), partition, Ei, Sq, 1);
  }
  /** Reads sizes and data of a varray: `elements` becomes a vector of this rank's elements, each a vector or a string. */
  template <typename C> void read_varray (std::vector<C> &elements, const counts &Nq) {
    std::vector<std::uint64_t> Ei (own_count (Nq, N_));
    read_varray_sizes (Ei, Nq);
    std::vector<void *> pointers;
    const std::uint64_t *partition = checked (Nq);
    if (!sized (elements, Ei, pointers)) { partition = nullptr; }
    get_varray (pointers.data (), partition, Ei, counts (), 1);
  }

  /* Ranges: each rank reads any elements of the section, as many as there is room for, beginning with element `first`, counted
   * from 0. `scda::skip` and no room read nothing. More ranges, all data, or the next section may follow. */

  /** Reads bytes of a block. */
  void read_block_range (bytes data, std::uint64_t first) {
    call ([&] (int *err) { return scda_fread_block_range (f_, data.data (), first, data.size (), err); });
  }
  /** Reads elements of an array, concatenated. */
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
  /** Reads elements of a varray, concatenated, as many as there are sizes. */
  void read_varray_range (bytes data, std::uint64_t first, const counts &Ei) {
    void *room = data.data ();
    if (!data.skipped () && !fits (call_lengths ().number (Ei.size ()).sizes (Ei).bytes (data.size ()))) { room = nullptr; }
    get_varray_range (room, first, Ei, 0);
  }
  /** Reads an element of a varray to each pointer, as many as there are sizes; NULL skips one. */
  void read_varray_range (view<void *const> pointers, std::uint64_t first, const counts &Ei) {
    void *room = const_cast<void **> (pointers.data ());
    if (!fits (call_lengths ().number (Ei.size ()).pointers (pointers.size ()))) { room = nullptr; }
    get_varray_range (room, first, Ei, 1);
  }
  /** Reads sizes and elements of a varray: `elements` becomes a vector of `count`, each a vector or a string. */
  template <typename C, typename = typename std::enable_if<detail::has_bytes<C, false>::value>::type>
  void read_varray_range (std::vector<C> &elements, std::uint64_t first, std::uint64_t count) {
    std::vector<std::uint64_t> Ei (static_cast<std::size_t> (count <= N_ ? count : 0)); /* larger counts are rejected */
    call ([&] (int *err) {
      return scda_fread_varray_sizes_range (f_, count == Ei.size () ? Ei.data () : nullptr, first, count, err);
    });
    std::vector<void *> pointers;
    void *room = sized (elements, Ei, pointers) ? pointers.data () : nullptr;
    get_varray_range (room, first, Ei, 1);
  }

private:
  /* The memory for the data of the root. NULL skips them, also if there is not enough room. */
  void *room (bytes data, std::uint64_t E, bool exactly, int root) const {
    return data.skipped () ? nullptr : root_data (data.data (), data.size (), E, exactly, root);
  }
  /* This rank's number of elements; rejects more than `most`. */
  std::size_t own_count (const counts &Nq, std::uint64_t most) const {
    call_lengths known (Nq);
    fits (known);
    return static_cast<std::size_t> (known.n < most ? known.n : most);
  }
  void get_streams_sizes (const streams &set, std::uint64_t *Ei, const std::uint64_t *partition) {
    call ([&] (int *err) { return scda_fread_streams_sizes (f_, set.number_, Ei, partition, err); });
  }
  void get_streams (const streams &set, void *data, const std::uint64_t *partition, const counts &Ei, int indirect) {
    call ([&] (int *err) { return scda_fread_streams_data (f_, set.number_, data, partition, Ei.data (), indirect, err); });
  }
  void get_boxes (const dataset &d, const items &data, const std::vector<box> &boxes) {
    std::vector<scda_box_t> all;
    if (d.d_.number == 0) { /* C rejects it */
    } else if (data.type () == SCDA_TYPE_RAW && !d.has_type_of (data)) {
      refuse (title_of (d.name_) + "data: found items of type " + detail::type_name (data.type (), data.item_bytes ()) + ", expected "
              + d.type_name () + ", as in the dataset");
    } else {
      const bool is_converted = d.is_converted (data);
      all = boxes_of (d, boxes, is_converted ? data.item_bytes () : d.item_bytes (), data, is_converted);
    }
    call ([&] (int *err) { return scda_fread_boxes (f_, &d.d_, all.size (), all.data (), err); });
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
    call_lengths known (Nq);
    if (!data.skipped ()) { known.bytes (data.size (), E, exactly); }
    const std::uint64_t *partition = checked (known);
    call ([&] (int *err) { return scda_fread_array_data (f_, data.data (), partition, E, 0, err); });
  }
  void get_varray (void *data, const std::uint64_t *partition, const counts &Ei, const counts &Sq, int indirect) {
    call ([&] (int *err) {
      return scda_fread_varray_data (f_, data, partition, Ei.data (), Sq.data (), indirect, err);
    });
  }

  void get_varray_range (void *data, std::uint64_t first, const counts &Ei, int indirect) {
    call ([&] (int *err) {
      return scda_fread_varray_range (f_, data, first, Ei.size (), Ei.data (), indirect, err);
    });
  }

  std::uint64_t N_ = 0, E_ = 0; /* from the last header */
};

} // namespace scda

#endif /* SCDA_HPP */
