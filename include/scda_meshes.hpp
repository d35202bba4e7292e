/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file scda_meshes.hpp
 * Patches and particles in C++. scda_meshes.h describes each function.
 *
 * Errors are those of scda.hpp: all functions that take a file are collective, and throw `scda::error` on all ranks. `group` is the name
 * of the group. A `step` counts from 0; -1 is the last one. Lengths are checked, except for the memory of patches. Arrays that are
 * passed to a mesh or to particles must stay valid until these are written.
 */
#ifndef SCDA_MESHES_HPP
#define SCDA_MESHES_HPP

#include <scda.hpp>

#include <scda_bind.h>
#include <scda_meshes.h>

#include <algorithm>

namespace scda {

namespace detail {

/* Calls a function of C for a file. */
template <typename F> void call_mesh (file &f, F function) {
  int err = SCDA_SUCCESS;
  if (!f.is_open ()) { throw error (SCDA_ERR_USAGE, "scda::file: it is closed"); }
  if (function (f.get (), &err) == nullptr) { fail (err); }
}

/* If `why` is not empty, it is an error in the arguments of this rank, which the next call raises on all ranks. */
inline void refuse (file &f, const std::string &why) {
  if (!why.empty ()) {
    call_mesh (f, [&] (scda_fcontext_t *c, int *err) { return scda_refuse (c, why.c_str (), err); });
  }
}

/* A dataset of a mesh for C, and the memory to which it points. Its shape is that of the data. */
struct mesh_dataset {
  explicit mesh_dataset (const dataset &what) : d (what), c (what.d_) {}
  /* Sets type, shape and pointers for data of this type and shape. Returns an error message, or nothing. */
  std::string fit (int type, std::uint64_t item_bytes, const scda_member_t *members, const std::vector<std::uint64_t> &shape) {
    const std::size_t dimensions = shape.size ();
    const bool is_bits = (type == SCDA_TYPE_UINT8 && d.d_.type == SCDA_TYPE_BOOL) || (type == SCDA_TYPE_UINT16 && d.d_.type == SCDA_TYPE_FLOAT16);
    if (d.name_.size () >= sizeof c.name || d.name_.find ('\0') != std::string::npos || d.attributes_.find ('\0') != std::string::npos) {
      return "field of a mesh: found a NUL character in the name or attributes, or a name of " + std::to_string (d.name_.size ())
             + " bytes, expected no NUL and at most 58 bytes";
    }
    const std::string of = "field " + d.name_ + ": ";
    if (d.has_type_ && d.d_.type != type && !is_bits) {
      return of + "found data of type " + type_name (type, item_bytes) + ", expected " + d.type_name ();
    }
    if (dimensions == 0 || dimensions > SCDA_MAX_DIMS) {
      return of + "found data of " + std::to_string (dimensions) + " dimensions, expected 1 to " + std::to_string (SCDA_MAX_DIMS);
    }
    if (!d.chunk_.empty () && d.chunk_.size () != dimensions) { return of + "chunk: " + one_per_dimension (d.chunk_.size (), dimensions); }
    if (!d.names_.empty () && d.names_.size () != dimensions) {
      return of + "dimension names: " + one_per_dimension (d.names_.size (), dimensions);
    }
    if (!d.fill_.empty () && d.fill_.size () != item_bytes) {
      return of + "fill value: found " + std::to_string (d.fill_.size ()) + " bytes, expected " + std::to_string (item_bytes);
    }
    std::memcpy (c.name, d.name_.c_str (), d.name_.size () + 1);
    c.type = d.has_type_ ? d.d_.type : type, c.item_bytes = item_bytes, c.members = members;
    c.ndims = static_cast<int> (dimensions);
    for (std::size_t i = 0; i < dimensions; ++i) { c.shape[i] = shape[i], c.chunk[i] = d.chunk_.empty () ? 0 : d.chunk_[i]; }
    for (const std::string &one : d.names_) { names.push_back (one.empty () ? nullptr : one.c_str ()); }
    c.dimension_names = names.empty () ? nullptr : names.data ();
    c.fill_value = d.fill_.empty () ? nullptr : d.fill_.data ();
    c.attributes = d.attributes_.empty () ? nullptr : d.attributes_.c_str ();
    return std::string ();
  }
  const std::string &name () const noexcept { return d.name_; }
  static std::string one_per_dimension (std::size_t found, std::size_t dimensions) {
    return "found " + std::to_string (found) + ", expected " + std::to_string (dimensions) + ", one per dimension";
  }
  static dataset found (const scda_dataset_t &one) { return dataset (one); }
  dataset d;
  scda_dataset_t c;
  std::vector<const char *> names;
};

} // namespace detail

/** Begins a time step of a group. `units`, such as `"s"`; NULL: none. More attributes: `scda::attributes ("step", step)`. */
inline void write_time (writer &w, const char *group, double time, const char *units = nullptr, const attributes &more = attributes ()) {
  const std::string all (more.data (), more.size ());
  detail::call_mesh (w, [&] (scda_fcontext_t *f, int *err) { return scda_forest_write_time (f, group, time, units, all.c_str (), err); });
}

/** The time of a step of a group. */
inline double read_time (reader &r, const char *group, std::int64_t step = -1) {
  double time = 0;
  detail::call_mesh (r, [&] (scda_fcontext_t *f, int *err) { return scda_forest_read_time (f, group, step, &time, err); });
  return time;
}

/** The number of time steps of a group; 0 if nothing has been written to it. */
inline std::int64_t steps (reader &r, const char *group) {
  std::int64_t n = 0;
  detail::call_mesh (r, [&] (scda_fcontext_t *f, int *err) { return scda_forest_steps (f, group, &n, err); });
  return n;
}

/** Finds a field of a step of a forest, of patches or of particles: whether the step has it. `reader::read` reads any boxes of it. */
inline bool find_field (reader &r, dataset &d, const char *group, const char *name, std::int64_t step = -1) {
  int found = 0;
  scda_dataset_t c;
  scda_dataset_init (&c);
  detail::call_mesh (r, [&] (scda_fcontext_t *f, int *err) { return scda_forest_find_field (f, group, step, name, &found, &c, err); });
  if (found != 0) { d = detail::mesh_dataset::found (c); }
  return found != 0;
}

/** A field of patches: `scda::patch_field (scda::dataset ("rho"), pointers).ghost (2)` or, if the patches are in one array,
 * `scda::patch_field (scda::dataset ("rho"), first, sizeof *patches)`. */
class patch_field {
public:
  /** `data` has, for each patch of this rank, the address of its first number in memory, in a ghost cell if there are any. If `T` is a
   * `std::array` or an array, a cell has as many components. The shape of the dataset is ignored. */
  template <typename T> patch_field (const dataset &what, const std::vector<T *> &data)
    : d_ (what), type_ (detail::number<typename detail::inner<T>::item>::type), item_bytes_ (sizeof (typename detail::inner<T>::item)),
      ghost_ (0), cell_bytes_ (0), patch_bytes_ (0) {
    std::vector<std::uint64_t> inner;
    detail::inner<T>::append (inner);
    components_ = static_cast<int> (detail::product (inner));
    for (T *place : data) { data_.push_back (const_cast<void *> (static_cast<const void *> (place))); }
  }
  /** `first` is the address for the first patch of this rank; those of the other patches follow at intervals of `patch_bytes` bytes. */
  template <typename T> patch_field (const dataset &what, T *first, std::size_t patch_bytes) : patch_field (what, std::vector<T *> (1, first)) {
    patch_bytes_ = static_cast<std::int64_t> (patch_bytes);
  }
  /** The number of layers of ghost cells at both ends of each axis. */
  patch_field &ghost (int layers) { return ghost_ = layers, *this; }
  /** The bytes from a cell to the next one along x, if other variables are in between. */
  patch_field &cell_bytes (std::int64_t bytes) { return cell_bytes_ = bytes, *this; }

private:
  friend class patches;
  dataset d_;
  std::vector<void *> data_;
  int type_;
  std::uint64_t item_bytes_;
  int components_, ghost_;
  std::int64_t cell_bytes_, patch_bytes_;
};

/** A mesh of patches. Can be moved, but not copied. For another mesh, call `frame`, `own` and `write` again, or `read`. */
class patches {
public:
  explicit patches (int dimension) { scda_patches_init (&m_, dimension); }
  ~patches () { scda_patches_free (&m_); }
  patches (patches &&other) noexcept
    : m_ (other.m_), wrong_frame_ (std::move (other.wrong_frame_)), wrong_own_ (std::move (other.wrong_own_)) { other.moved (); }
  /** The mesh that this was is released. */
  patches &operator= (patches &&other) noexcept {
    if (this != &other) {
      scda_patches_free (&m_);
      m_ = other.m_, wrong_frame_ = std::move (other.wrong_frame_), wrong_own_ = std::move (other.wrong_own_);
      other.moved ();
    }
    return *this;
  }

  /** The frame, the same on all ranks. `ratio`: for each level and axis, how many cells side by side fill one cell of the previous level; 1
   * for level 0. `domain`: the first cell on each axis, then the number of cells on each axis, for level 0. `geometry`: the smallest
   * coordinate on each axis, then the size of a cell of level 0 along each axis. */
  patches &frame (view<const std::int32_t> ratio, view<const std::int64_t> domain, view<const double> geometry) {
    const std::size_t d = static_cast<std::size_t> (m_.dimension);
    m_.levels = static_cast<int> (d == 0 ? 0 : ratio.size () / d);
    m_.ratio = ratio.data (), m_.domain = domain.data (), m_.geometry = geometry.data ();
    wrong_frame_ = ratio.size () == static_cast<std::size_t> (m_.levels) * d
                     ? "" : "patches: ratio: found " + std::to_string (ratio.size ()) + " numbers, expected " + std::to_string (d) + " for each level";
    if (wrong_frame_.empty ()) { wrong_frame_ = wrong ("domain", domain.size (), 2 * d, "2 for each axis"); }
    if (wrong_frame_.empty ()) { wrong_frame_ = wrong ("geometry", geometry.size (), 2 * d, "2 for each axis"); }
    return *this;
  }
  /** The patches of this rank: the level of each; its first cell on each axis, then its number of cells on each axis; and its number, if
   * the patches are not in the order of the ranks. */
  patches &own (view<const std::int32_t> level, view<const std::int64_t> boxes, view<const std::uint64_t> number = view<const std::uint64_t> ()) {
    m_.n = level.size (), m_.level = level.data (), m_.boxes = boxes.data (), m_.number = number.data ();
    const std::size_t words = 2 * static_cast<std::size_t> (m_.dimension);
    wrong_own_ = wrong ("boxes", boxes.size (), words * m_.n, std::to_string (words) + " for each patch");
    if (wrong_own_.empty () && m_.number != nullptr) { wrong_own_ = wrong ("number", number.size (), m_.n, "one for each patch"); }
    return *this;
  }
  /** After `read`: chooses other patches for this rank than the assigned ones, by their numbers. */
  patches &choose (view<const std::uint64_t> number) {
    m_.n = number.size (), m_.number = number.data ();
    return *this;
  }

  /** Writes the mesh: before fields, and again whenever it has changed. */
  void write (writer &w, const char *group = SCDA_PATCHES_GROUP) {
    detail::refuse (w, wrong_frame_.empty () ? wrong_own_ : wrong_frame_);
    detail::call_mesh (w, [&] (scda_fcontext_t *f, int *err) { return scda_patches_write_mesh (f, group, &m_, err); });
  }
  /** Writes fields of the mesh that was written last. */
  void write_fields (writer &w, const std::vector<patch_field> &fields, const char *group = SCDA_PATCHES_GROUP) {
    with_fields (w, fields, [&] (scda_fcontext_t *f, const std::vector<scda_patch_field_t> &all, int *err) {
      return scda_patches_write_fields (f, group, &m_, all.size (), all.data (), err);
    });
  }
  /** Reads a mesh; each rank gets a share of its patches. */
  void read (reader &r, std::int64_t step = -1, const char *group = SCDA_PATCHES_GROUP) {
    wrong_frame_.clear (), wrong_own_.clear ();
    detail::call_mesh (r, [&] (scda_fcontext_t *f, int *err) { return scda_patches_read_mesh (f, group, step, &m_, err); });
  }
  /** Reads fields of the patches of this rank into its memory, except ghost cells. */
  void read_fields (reader &r, const std::vector<patch_field> &fields, std::int64_t step = -1, const char *group = SCDA_PATCHES_GROUP) {
    with_fields (r, fields, [&] (scda_fcontext_t *f, const std::vector<scda_patch_field_t> &all, int *err) {
      return scda_patches_read_fields (f, group, step, &m_, all.size (), all.data (), err);
    });
  }

  /** The number of patches of this rank, and the number of one of them in the mesh. */
  std::size_t size () const noexcept { return m_.n; }
  std::uint64_t number (std::size_t i) const noexcept { return m_.number == nullptr ? m_.first + i : m_.number[i]; }
  /** The level of a patch of this rank, and its box: first cells, then numbers of cells. */
  int level (std::size_t i) const noexcept { return knows_all () ? m_.all_level[number (i)] : m_.level[i]; }
  view<const std::int64_t> box (std::size_t i) const noexcept {
    const std::size_t words = 2 * static_cast<std::size_t> (m_.dimension);
    return { knows_all () ? m_.all_boxes + words * number (i) : m_.boxes + words * i, words };
  }
  /** The mesh for C, with data about all ranks: `c ().patches`, `c ().cells`, `c ().all_level`, and so on. */
  const scda_patches_t &c () const noexcept { return m_; }

private:
  void moved () noexcept {
    scda_patches_init (&m_, m_.dimension);
    wrong_frame_.clear (), wrong_own_.clear ();
  }
  static std::string wrong (const char *what, std::size_t found, std::size_t expected, const std::string &why) {
    if (found == expected) { return std::string (); }
    return std::string ("patches: ") + what + ": found " + std::to_string (found) + " numbers, expected " + std::to_string (expected) + ", " + why;
  }
  bool knows_all () const noexcept { return m_.all_level != nullptr; }
  template <typename F> void with_fields (file &f, const std::vector<patch_field> &fields, F function) {
    std::vector<detail::mesh_dataset> datasets;
    std::vector<std::vector<void *>> data;
    std::vector<scda_patch_field_t> all;
    std::string why;
    for (const patch_field &one : fields) { datasets.emplace_back (one.d_), data.push_back (one.data_); }
    for (std::size_t i = 0; i < fields.size (); ++i) {
      const patch_field &one = fields[i];
      std::vector<std::uint64_t> shape (1, m_.cells);
      if (one.components_ != 1) { shape.push_back (static_cast<std::uint64_t> (one.components_)); }
      if (why.empty ()) { why = datasets[i].fit (one.type_, one.item_bytes_, nullptr, shape); }
      if (why.empty () && one.patch_bytes_ == 0 && one.data_.size () != m_.n) {
        why = "field " + datasets[i].name () + ": found " + std::to_string (one.data_.size ()) + " addresses, expected "
              + std::to_string (m_.n) + ", one for each patch of this rank";
      }
      scda_patch_field_t c;
      scda_patch_field_init (&c, "", 0);
      c.dataset = datasets[i].c, c.components = one.components_, c.data = data[i].data (), c.ghost = one.ghost_, c.cell_bytes = one.cell_bytes_;
      c.patch_bytes = one.patch_bytes_;
      all.push_back (c);
    }
    if (m_.kept != nullptr) { detail::refuse (f, why); } /* otherwise C reports the error */
    detail::call_mesh (f, [&] (scda_fcontext_t *c, int *err) { return function (c, all, err); });
  }

  scda_patches_t m_;
  std::string wrong_frame_, wrong_own_; /* the errors that `write` reports, or empty */
};

/** Particles, with or without cells of a mesh. Can be moved, but not copied. May be written and read any number of times. */
class particles {
public:
  particles () { scda_particles_init (&p_); }
  ~particles () { scda_particles_free (&p_); }
  particles (particles &&other) noexcept : p_ (other.p_), wrong_ (std::move (other.wrong_)) { other.moved (); }
  /** The particles that these were are released. */
  particles &operator= (particles &&other) noexcept {
    if (this != &other) {
      scda_particles_free (&p_);
      p_ = other.p_, wrong_ = std::move (other.wrong_);
      other.moved ();
    }
    return *this;
  }

  /** For each cell of this rank: the number of its particles; and its own number, if the cells are not in the order of the ranks. `mesh`:
   * the group of the mesh to which these quadrants, patches or cells belong. */
  particles &in_cells (view<const std::int64_t> counts, const char *mesh = nullptr, view<const std::uint64_t> number = view<const std::uint64_t> ()) {
    p_.cells = counts.size (), p_.counts = counts.data (), p_.number = number.data (), p_.mesh = mesh;
    wrong_ = p_.number == nullptr || number.size () == counts.size ()
               ? "" : "particles: number: found " + std::to_string (number.size ()) + " numbers, expected " + std::to_string (counts.size ())
                        + ", one for each cell";
    return *this;
  }
  /** Particles without cells: the number of particles of this rank. */
  particles &without_cells (std::uint64_t n) { return in_cells (view<const std::int64_t> ()), p_.n = n, *this; }

  /** Writes the number of particles of each cell. */
  void write (writer &w, const char *group = SCDA_PARTICLES_GROUP) {
    detail::refuse (w, wrong_);
    detail::call_mesh (w, [&] (scda_fcontext_t *f, int *err) { return scda_particles_write (f, group, &p_, err); });
  }
  /** Writes a field of the particles that were written last: those of this rank, cell by cell. The shape of the dataset is ignored. */
  void write_field (writer &w, const dataset &what, const const_items &data, const char *group = SCDA_PARTICLES_GROUP) {
    with_field (w, what, data, [&] (scda_fcontext_t *f, const scda_dataset_t &d, int *err) {
      return scda_particles_write_field (f, group, &p_, &d, data.data (), err);
    });
  }
  /** The same, of particles in a container for each cell. */
  template <typename T>
  void write_field (writer &w, const dataset &what, const std::vector<std::vector<T>> &cells, const char *group = SCDA_PARTICLES_GROUP) {
    std::string why;
    if (cells.size () != counts ().size ()) {
      why = "particles: found " + std::to_string (cells.size ()) + " containers, expected " + std::to_string (counts ().size ()) + ", one for each cell";
    }
    for (std::size_t i = 0; why.empty () && i < cells.size (); ++i) {
      const std::int64_t count = counts ().data ()[i];
      if (static_cast<std::int64_t> (cells[i].size ()) == count) { continue; }
      why = "particles: container " + std::to_string (i) + ": found " + std::to_string (cells[i].size ()) + " particles, expected "
            + std::to_string (count) + ", as counted for the cell";
    }
    detail::refuse (w, why);
    std::vector<T> all;
    for (const std::vector<T> &cell : cells) { all.insert (all.end (), cell.begin (), cell.end ()); }
    write_field (w, what, const_items (all), group);
  }
  /** Reads the number of particles of each cell. The cells are distributed so that each rank gets about as many particles. */
  void read (reader &r, std::int64_t step = -1, const char *group = SCDA_PARTICLES_GROUP) {
    read_cells (r, step, -1, nullptr, group);
  }
  /** The same for `cells` cells on this rank, in the order of the ranks. */
  void read_part (reader &r, std::uint64_t cells, std::int64_t step = -1, const char *group = SCDA_PARTICLES_GROUP) {
    read_cells (r, step, static_cast<std::int64_t> (cells), nullptr, group);
  }
  /** The same for the cells with these numbers, which may be any. */
  void read_numbers (reader &r, view<const std::uint64_t> number, std::int64_t step = -1, const char *group = SCDA_PARTICLES_GROUP) {
    read_cells (r, step, static_cast<std::int64_t> (number.size ()), number.data (), group);
  }
  /** Reads a field of the particles of this rank, and converts numbers; from structs, reads the members that `data` have. */
  void read_field (reader &r, const dataset &what, const items &data, std::int64_t step = -1, const char *group = SCDA_PARTICLES_GROUP) {
    with_field (r, what, data, [&] (scda_fcontext_t *f, const scda_dataset_t &d, int *err) {
      return scda_particles_read_field (f, group, step, &p_, &d, data.data (), err);
    });
  }
  /** The same, into a container for each cell of this rank. */
  template <typename T>
  void read_field (reader &r, const dataset &what, std::vector<std::vector<T>> &cells, std::int64_t step = -1, const char *group = SCDA_PARTICLES_GROUP) {
    std::vector<T> all (size ());
    read_field (r, what, items (all), step, group);
    cells.clear ();
    auto next = all.begin ();
    for (const std::int64_t count : counts ()) {
      cells.emplace_back (next, next + count);
      next += count;
    }
  }
  /** The same, into new memory. */
  template <typename T> std::vector<T> read_field (reader &r, text name, std::int64_t step = -1, const char *group = SCDA_PARTICLES_GROUP) {
    std::vector<T> data (size ());
    read_field (r, dataset (name), data, step, group);
    return data;
  }

  /** The number of particles of this rank. */
  std::size_t size () const noexcept { return static_cast<std::size_t> (p_.n); }
  /** The number of particles of each cell of this rank. */
  view<const std::int64_t> counts () const noexcept { return { p_.counts, static_cast<std::size_t> (p_.cells) }; }
  /** The particles for C, with data about all ranks: `c ().particles`, `c ().first_cell`, and so on. */
  const scda_particles_t &c () const noexcept { return p_; }

private:
  void read_cells (reader &r, std::int64_t step, std::int64_t cells, const std::uint64_t *number, const char *group) {
    detail::call_mesh (r, [&] (scda_fcontext_t *f, int *err) { return scda_particles_read (f, group, step, cells, number, &p_, err); });
  }
  template <typename Void, typename F> void with_field (file &f, const dataset &what, const basic_items<Void> &data, F function) {
    detail::mesh_dataset d (what);
    std::string why = d.fit (data.type (), data.item_bytes (), data.members (), data.shape ());
    if (why.empty () && (data.shape ()[0] != p_.n || !data.strides ().empty ())) {
      why = "field " + d.name () + ": found data of " + std::to_string (data.shape ()[0]) + " particles, expected those of the "
            + std::to_string (p_.n) + " particles of this rank, without gaps";
    }
    if (p_.kept != nullptr) { detail::refuse (f, why); } /* otherwise C reports the error */
    detail::call_mesh (f, [&] (scda_fcontext_t *c, int *err) { return function (c, d.c, err); });
  }

  scda_particles_t p_;
  void moved () noexcept {
    scda_particles_init (&p_);
    wrong_.clear ();
  }

  std::string wrong_; /* the error that `write` reports, or empty */
};

} // namespace scda

#endif /* SCDA_MESHES_HPP */
