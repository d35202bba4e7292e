/* scda_amrex.hpp: AMReX in scda files: MultiFabs on all levels, and particle containers, for checkpoints and plotfiles.
 *
 *   scda::writer w (amrex::ParallelDescriptor::Communicator (), "state.scda", "my run");
 *   scda::amrex_mesh mesh (geometry, boxes, maps, ratio);
 *   mesh.write (w);
 *   mesh.write_fields (w, { "rho", "p" }, { &level_0, &level_1 });
 *   mesh.write_particles (w, tracers);
 *   w.close ();
 *
 * A restart on any number of ranks, with any distribution:
 *
 *   scda::reader r (amrex::ParallelDescriptor::Communicator (), "state.scda");
 *   scda::amrex_mesh mesh;
 *   mesh.read (r);
 *   ... MultiFabs and containers with mesh.boxes, mesh.maps, mesh.geometry, mesh.ratio ...
 *   mesh.read_fields (r, { "rho", "p" }, { &level_0, &level_1 });
 *   mesh.read_particles (r, tracers);
 *
 * The file has patches (docs/patches.md) and particles (docs/particles.md), so ParaView and Python can read it; docs/amrex.md describes
 * the rest. Its bytes depend neither on the number of ranks nor on the distribution.
 *
 * The functions are inline, call AMReX and libscda with the same MPI, and need C++17. All are collective over the ranks of AMReX, which
 * must be those of the file. Errors are exceptions, as in scda.hpp. Levels, boxes or names that do not fit are a
 * std::invalid_argument, the same on all ranks, after which the file stays open. The processor must be able to access the data: those of
 * GPUs must be in managed memory.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef SCDA_AMREX_HPP
#define SCDA_AMREX_HPP

#include <scda_meshes.hpp>

#include <AMReX_AmrMesh.H>
#include <AMReX_MultiFab.H>
#include <AMReX_Particles.H>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace scda {

/** The levels of a hierarchy of AMReX. Can be neither moved nor copied. */
class amrex_mesh {
public:
  /** For each level: its geometry; its boxes, of cells; the rank of each box; and the ratio to the next level, which may be missing for the
   * last one. After `read`, a program may set other `maps`. */
  amrex::Vector<amrex::Geometry> geometry;
  amrex::Vector<amrex::BoxArray> boxes;
  amrex::Vector<amrex::DistributionMapping> maps;
  amrex::Vector<amrex::IntVect> ratio;

  /** For a mesh to be read. */
  amrex_mesh () : patches_ (AMREX_SPACEDIM) {}
  amrex_mesh (const amrex::Vector<amrex::Geometry> &geometry_of, const amrex::Vector<amrex::BoxArray> &boxes_of,
              const amrex::Vector<amrex::DistributionMapping> &maps_of, const amrex::Vector<amrex::IntVect> &ratio_of)
    : geometry (geometry_of), boxes (boxes_of), maps (maps_of), ratio (ratio_of), patches_ (AMREX_SPACEDIM) {}
  /** The mesh of an AmrCore, up to its finest level. */
  explicit amrex_mesh (const amrex::AmrMesh &mesh) : patches_ (AMREX_SPACEDIM) {
    for (int level = 0; level <= mesh.finestLevel (); ++level) {
      geometry.push_back (mesh.Geom (level)), boxes.push_back (mesh.boxArray (level)), maps.push_back (mesh.DistributionMap (level));
      if (level < mesh.finestLevel ()) { ratio.push_back (mesh.refRatio (level)); }
    }
  }

  /** The number of levels. */
  std::size_t levels () const noexcept { return boxes.size (); }

  /** Writes the mesh: before its fields and particles, and again, after `scda::write_time`, whenever boxes or maps have changed. */
  void write (writer &w, const char *group = SCDA_PATCHES_GROUP) {
    check (levels () > 0 ? "" : "amrex_mesh: found no levels, expected at least 1");
    check (few ("geometries", geometry.size (), levels ()));
    check (few ("maps", maps.size (), levels ()));
    check (few ("ratios", ratio.size (), levels () - 1));
    for (std::size_t level = 0; level < levels (); ++level) {
      check (maps[level].size () == boxes[level].size ()
               ? "" : "amrex_mesh: map of level " + std::to_string (level) + ": found " + std::to_string (maps[level].size ()) + " boxes, expected "
                        + std::to_string (boxes[level].size ()));
    }
    std::vector<std::int32_t> ratios (AMREX_SPACEDIM, 1), about (1, geometry[0].Coord ());
    std::vector<double> where (geometry[0].ProbLo (), geometry[0].ProbLo () + AMREX_SPACEDIM);
    where.insert (where.end (), geometry[0].CellSize (), geometry[0].CellSize () + AMREX_SPACEDIM);
    for (std::size_t level = 1; level < levels (); ++level) { ratios.insert (ratios.end (), ratio[level - 1].begin (), ratio[level - 1].end ()); }
    for (int axis = 0; axis < AMREX_SPACEDIM; ++axis) { about.push_back (geometry[0].isPeriodic (axis)); }
    std::vector<std::int64_t> domain;
    append (domain, geometry[0].Domain ());
    find_own ();
    level_.clear (), box_.clear ();
    for (const grid &own : grids_) { level_.push_back (own.level), append (box_, boxes[own.level][own.index]); }
    patches_.frame (ratios, domain, where).own (level_, box_, number_);
    patches_.write (w, group);
    w.write (std::string (group) + "/amrex", about);
  }

  /** Writes components of a MultiFab or iMultiFab on each level, without ghost cells: on cells, faces, edges or nodes. `names`: the names
   * of the fields, for the first components. */
  template <typename FAB>
  void write_fields (writer &w, const std::vector<std::string> &names, const std::vector<const amrex::FabArray<FAB> *> &data,
                     const char *group = SCDA_PATCHES_GROUP) {
    typedef typename FAB::value_type number;
    check (wrong (names, data));
    if (data[0]->is_cell_centered ()) {
      std::vector<amrex::FabArray<FAB>> copies;
      const std::vector<const amrex::FabArray<FAB> *> all = with_equal_ghosts (data, copies, true);
      patches_.write_fields (w, fields (names, all), group);
      return;
    }
    for (std::size_t c = 0; c < names.size (); ++c) {
      const places where = places_of (data[0]->ixType ());
      std::vector<number> values;
      values.reserve (where.own);
      each (data, static_cast<int> (c), [&] (number &value) { values.push_back (value); });
      std::vector<std::int32_t> nodal;
      for (int axis = 0; axis < AMREX_SPACEDIM; ++axis) { nodal.push_back (data[0]->ixType ().nodeCentered (axis)); }
      w.write (dataset (nodal_name (group, names[c]), { where.all }).attributes (scda::attributes ("nodal", nodal)), values, where.boxes);
    }
  }
  void write_fields (writer &w, const std::vector<std::string> &names, const std::vector<const amrex::MultiFab *> &data,
                     const char *group = SCDA_PATCHES_GROUP) {
    write_fields (w, names, std::vector<const amrex::FabArray<amrex::FArrayBox> *> (data.begin (), data.end ()), group);
  }

  /** Writes the particles of a container with the boxes and maps of the mesh: `position`, `id` (which includes the rank that made it, as
   * AMReX packs both), and all other numbers, those of the struct before those in arrays. `reals`, `ints`: their names; `real0`, `int0`
   * and so on if missing. Removed particles are left out; the particles of a box are sorted by `id`. */
  template <typename PC>
  void write_particles (writer &w, const PC &container, const std::vector<std::string> &reals = {}, const std::vector<std::string> &ints = {},
                        const char *group = SCDA_PARTICLES_GROUP, const char *mesh = SCDA_PATCHES_GROUP) {
    typedef columns<PC> of;
    PC &pc = const_cast<PC &> (container); /* in some versions, the names of its arrays are not const; nothing is changed */
    check (wrong (pc));
    std::vector<std::pair<typename of::tile *, int>> found;
    std::vector<std::int64_t> counts;
    for (const grid &own : grids_) {
      const std::size_t before = found.size ();
      if (own.level <= pc.finestLevel ()) {
        for (auto &one : pc.GetParticles (own.level)) {
          if (one.first.first != own.index) { continue; }
          for (int i = 0; i < one.second.numParticles (); ++i) {
            if (amrex::ConstParticleIDWrapper (of::id (one.second, i)) > 0) { found.emplace_back (&one.second, i); }
          }
        }
      }
      std::sort (found.begin () + static_cast<std::ptrdiff_t> (before), found.end (),
                 [] (const auto &a, const auto &b) { return of::id (*a.first, a.second) < of::id (*b.first, b.second); });
      counts.push_back (static_cast<std::int64_t> (found.size () - before));
    }
    particles p;
    p.in_cells (counts, mesh, number_).write (w, group);
    const auto put = [&] (const std::string &name, const auto &value) {
      std::vector<std::decay_t<decltype (value (*found[0].first, 0))>> values;
      values.reserve (found.size ());
      for (const auto &one : found) { values.push_back (value (*one.first, one.second)); }
      p.write_field (w, dataset (name), values, group);
    };
    put ("position", [] (typename of::tile &t, int i) { return of::position (t, i); });
    put ("id", [] (typename of::tile &t, int i) { return of::id (t, i); });
    for (int c = 0; c < of::reals (pc); ++c) {
      put (named (reals, "real", c), [c] (typename of::tile &t, int i) { return of::real (t, AMREX_SPACEDIM + c, i); });
    }
    for (int c = 0; c < of::ints (pc); ++c) {
      put (named (ints, "int", c), [c] (typename of::tile &t, int i) { return of::integer (t, c, i); });
    }
  }

  /** Reads the mesh of a step: 0 is the first one, -1 the last one. Distributes its boxes as AMReX does by default. */
  void read (reader &r, std::int64_t step = -1, const char *group = SCDA_PATCHES_GROUP) {
    patches_.read (r, step, group);
    const scda_patches_t &c = patches_.c ();
    check (c.dimension == AMREX_SPACEDIM
             ? "" : "amrex_mesh: found patches of dimension " + std::to_string (c.dimension) + ", expected " + std::to_string (AMREX_SPACEDIM)
                      + ", as AMReX was built for");
    std::vector<std::int32_t> about (1 + AMREX_SPACEDIM, 0);
    dataset d;
    if (r.find_dataset (d, std::string (group) + "/amrex")) { r.read (d, about); }
    check (about.size () == 1 + AMREX_SPACEDIM
             ? "" : "amrex_mesh: dataset amrex: found " + std::to_string (about.size ()) + " items, expected " + std::to_string (1 + AMREX_SPACEDIM));
    amrex::Box domain = box_of (c.domain);
    amrex::RealBox corners;
    for (int axis = 0; axis < AMREX_SPACEDIM; ++axis) {
      corners.setLo (axis, c.geometry[axis]);
      corners.setHi (axis, c.geometry[axis] + c.geometry[AMREX_SPACEDIM + axis] * static_cast<double> (domain.length (axis)));
    }
    geometry.clear (), boxes.clear (), maps.clear (), ratio.clear ();
    std::uint64_t next = 0;
    for (int level = 0; level < c.levels; ++level) {
      if (level > 0) {
        amrex::IntVect finer;
        for (int axis = 0; axis < AMREX_SPACEDIM; ++axis) { finer[axis] = c.ratio[level * AMREX_SPACEDIM + axis]; }
        ratio.push_back (finer), domain.refine (finer);
      }
      amrex::BoxList list;
      for (; next < c.patches && c.all_level[next] == level; ++next) { list.push_back (box_of (c.all_boxes + 2 * AMREX_SPACEDIM * next)); }
      geometry.emplace_back (domain, &corners, about[0], about.data () + 1);
      boxes.emplace_back (std::move (list)), maps.emplace_back (boxes.back ());
    }
  }

  /** Reads fields into the first components of a MultiFab or iMultiFab on each level, which must have the boxes and maps of the mesh. Ghost
   * cells stay as they are. Fields on faces, edges and nodes must be in the file for each step. */
  template <typename FAB>
  void read_fields (reader &r, const std::vector<std::string> &names, const std::vector<amrex::FabArray<FAB> *> &data, std::int64_t step = -1,
                    const char *group = SCDA_PATCHES_GROUP) {
    typedef typename FAB::value_type number;
    const std::vector<const amrex::FabArray<FAB> *> given (data.begin (), data.end ());
    find_own ();
    patches_.choose (number_);
    check (wrong (names, given));
    if (data[0]->is_cell_centered ()) {
      std::vector<amrex::FabArray<FAB>> copies;
      const std::vector<const amrex::FabArray<FAB> *> all = with_equal_ghosts (given, copies, false);
      patches_.read_fields (r, fields (names, all), step, group);
      for (std::size_t level = 0; level < copies.size (); ++level) {
        for (const grid &own : grids_) {
          if (own.level != static_cast<int> (level)) { continue; }
          const FAB &copy = copies[level][own.index];
          (*data[level])[own.index].template copy<amrex::RunOn::Host> (copy, copy.box (), 0, copy.box (), 0, static_cast<int> (names.size ()));
        }
      }
      return;
    }
    for (std::size_t c = 0; c < names.size (); ++c) {
      const places where = places_of (data[0]->ixType ());
      std::vector<number> values (where.own);
      dataset d;
      check (r.find_dataset (d, nodal_name (group, names[c]), step) ? "" : "field " + names[c] + ": not found in this step");
      check (d.shape ().size () == 1 && d.shape ()[0] == where.all
               ? "" : "field " + names[c] + ": found " + std::to_string (d.size ()) + " values in " + std::to_string (d.shape ().size ())
                        + " dimensions, expected " + std::to_string (where.all) + " in 1, one for each face, edge or node of the mesh");
      r.read (d, values, where.boxes);
      std::size_t next = 0;
      each (given, static_cast<int> (c), [&] (number &value) { value = values[next++]; });
    }
  }
  void read_fields (reader &r, const std::vector<std::string> &names, const std::vector<amrex::MultiFab *> &data, std::int64_t step = -1,
                    const char *group = SCDA_PATCHES_GROUP) {
    read_fields (r, names, std::vector<amrex::FabArray<amrex::FArrayBox> *> (data.begin (), data.end ()), step, group);
  }

  /** Reads particles and adds them to a container with the boxes and maps of the mesh. New particles get ids after these. */
  template <typename PC>
  void read_particles (reader &r, PC &pc, const std::vector<std::string> &reals = {}, const std::vector<std::string> &ints = {},
                       std::int64_t step = -1, const char *group = SCDA_PARTICLES_GROUP) {
    typedef columns<PC> of;
    find_own ();
    check (wrong (pc));
    particles p;
    p.read_numbers (r, number_, step, group);
    const auto position = p.read_field<typename of::point> (r, "position", step, group);
    const auto id = p.read_field<std::uint64_t> (r, "id", step, group);
    std::vector<std::pair<typename of::tile *, int>> to;
    amrex::Long last = 0;
    for (std::size_t g = 0; g < grids_.size (); ++g) {
      const int n = static_cast<int> (p.counts ().data ()[g]);
      if (n == 0) { continue; }
      typename of::tile &tile = pc.DefineAndReturnParticleTile (grids_[g].level, grids_[g].index, 0);
      const int before = tile.numParticles ();
      tile.resize (static_cast<std::size_t> (before + n));
      for (int i = before; i < before + n; ++i) {
        const std::size_t at = to.size ();
        for (int axis = 0; axis < AMREX_SPACEDIM; ++axis) { of::real (tile, axis, i) = position[at][static_cast<std::size_t> (axis)]; }
        of::id (tile, i) = id[at];
        last = std::max (last, static_cast<amrex::Long> (amrex::ConstParticleIDWrapper (id[at])));
        to.emplace_back (&tile, i);
      }
    }
    for (int c = 0; c < of::reals (pc); ++c) {
      const auto values = p.read_field<amrex::ParticleReal> (r, named (reals, "real", c), step, group);
      for (std::size_t i = 0; i < to.size (); ++i) { of::real (*to[i].first, AMREX_SPACEDIM + c, to[i].second) = values[i]; }
    }
    for (int c = 0; c < of::ints (pc); ++c) {
      const auto values = p.read_field<int> (r, named (ints, "int", c), step, group);
      for (std::size_t i = 0; i < to.size (); ++i) { of::integer (*to[i].first, c, to[i].second) = values[i]; }
    }
    amrex::ParallelDescriptor::ReduceLongMax (last);
    PC::ParticleType::NextID (std::max (last + 1, static_cast<amrex::Long> (PC::ParticleType::NextID ())));
    pc.Redistribute ();
  }

private:
  /* A box of this rank. */
  struct grid {
    int level, index;
  };
  /* Where the faces, edges or nodes of this rank's boxes are among those of all boxes. */
  struct places {
    std::uint64_t all, own;
    std::vector<box> boxes;
  };
  /* Access to the numbers of particles, whether they are in a struct or in arrays. */
  template <typename PC> struct columns {
    typedef typename PC::ParticleTileType tile;
    typedef std::array<amrex::ParticleReal, AMREX_SPACEDIM> point;
    static constexpr bool is_arrays = PC::ParticleType::is_soa_particle;
    static constexpr int in_struct = is_arrays ? 0 : AMREX_SPACEDIM + PC::NStructReal;
    static int reals (const PC &pc) { return in_struct + pc.NumRealComps () - AMREX_SPACEDIM; }
    static int ints (const PC &pc) { return PC::NStructInt + pc.NumIntComps (); }
    static std::uint64_t &id (tile &t, int i) {
      if constexpr (is_arrays) { return t.GetStructOfArrays ().GetIdCPUData ()[static_cast<std::size_t> (i)]; }
      else { return t.GetArrayOfStructs ()[i].m_idcpu; }
    }
    /* The coordinates come first. */
    static amrex::ParticleReal &real (tile &t, int c, int i) {
      if constexpr (!is_arrays) {
        if (c < AMREX_SPACEDIM) { return t.GetArrayOfStructs ()[i].pos (c); }
        if constexpr (PC::NStructReal > 0) {
          if (c < in_struct) { return t.GetArrayOfStructs ()[i].rdata (c - AMREX_SPACEDIM); }
        }
      }
      return t.GetStructOfArrays ().GetRealData (c - in_struct)[static_cast<std::size_t> (i)];
    }
    static int &integer (tile &t, int c, int i) {
      if constexpr (!is_arrays && PC::NStructInt > 0) {
        if (c < PC::NStructInt) { return t.GetArrayOfStructs ()[i].idata (c); }
      }
      return t.GetStructOfArrays ().GetIntData (c - PC::NStructInt)[static_cast<std::size_t> (i)];
    }
    static point position (tile &t, int i) {
      point x;
      for (int axis = 0; axis < AMREX_SPACEDIM; ++axis) { x[static_cast<std::size_t> (axis)] = real (t, axis, i); }
      return x;
    }
  };

  /* An error message if there are fewer than expected. */
  static std::string few (const char *what, std::size_t found, std::size_t expected) {
    if (found >= expected) { return ""; }
    return std::string ("amrex_mesh: ") + what + ": found " + std::to_string (found) + ", expected at least " + std::to_string (expected)
           + " for the number of levels";
  }
  static void check (const std::string &why) {
    if (!why.empty ()) { throw std::invalid_argument (why); }
  }
  static void append (std::vector<std::int64_t> &to, const amrex::Box &one) {
    for (int axis = 0; axis < AMREX_SPACEDIM; ++axis) { to.push_back (one.smallEnd (axis)); }
    for (int axis = 0; axis < AMREX_SPACEDIM; ++axis) { to.push_back (one.length (axis)); }
  }
  static amrex::Box box_of (const std::int64_t *words) {
    amrex::IntVect low, high;
    for (int axis = 0; axis < AMREX_SPACEDIM; ++axis) {
      low[axis] = static_cast<int> (words[axis]), high[axis] = static_cast<int> (words[axis] + words[AMREX_SPACEDIM + axis] - 1);
    }
    return amrex::Box (low, high);
  }
  static std::string named (const std::vector<std::string> &names, const char *otherwise, int c) {
    return static_cast<std::size_t> (c) < names.size () ? names[static_cast<std::size_t> (c)] : otherwise + std::to_string (c);
  }
  static std::string nodal_name (const char *group, const std::string &name) { return std::string (group) + "/nodal_fields/" + name; }

  /* The boxes of this rank, and their numbers in the file. */
  void find_own () {
    std::uint64_t before = 0;
    grids_.clear (), number_.clear ();
    for (std::size_t level = 0; level < levels (); ++level) {
      /* Maps that do not fit the boxes are noticed later, with the data. */
      const amrex::Long n = level < maps.size () ? std::min (boxes[level].size (), maps[level].size ()) : 0;
      for (int i = 0; i < static_cast<int> (n); ++i) {
        if (maps[level][i] == amrex::ParallelDescriptor::MyProc ()) {
          grids_.push_back ({ static_cast<int> (level), i }), number_.push_back (before + static_cast<std::uint64_t> (i));
        }
      }
      before += static_cast<std::uint64_t> (boxes[level].size ());
    }
  }
  places places_of (amrex::IndexType type) const {
    places found = places ();
    auto own = grids_.begin ();
    for (std::size_t level = 0; level < levels (); ++level) {
      for (int i = 0; i < static_cast<int> (boxes[level].size ()); ++i) {
        const std::uint64_t n = static_cast<std::uint64_t> (amrex::convert (boxes[level][i], type).numPts ());
        if (own != grids_.end () && own->level == static_cast<int> (level) && own->index == i) {
          found.boxes.emplace_back (counts ({ found.all }), counts ({ n }));
          found.own += n, ++own;
        }
        found.all += n;
      }
    }
    return found;
  }
  /* Calls a function with each number of a component, in the order of the file. */
  template <typename FAB, typename F> void each (const std::vector<const amrex::FabArray<FAB> *> &data, int c, F function) const {
    for (const grid &own : grids_) {
      const FAB &fab = (*data[static_cast<std::size_t> (own.level)])[own.index];
      const auto values = const_cast<FAB &> (fab).array ();
      const amrex::Box valid = amrex::convert (boxes[own.level][own.index], fab.box ().ixType ());
      amrex::LoopOnCpu (valid, [&] (int i, int j, int k) { function (values (i, j, k, c)); });
    }
  }
  /* The data, or copies without ghost cells if levels or axes have different numbers of them. */
  template <typename FAB>
  std::vector<const amrex::FabArray<FAB> *> with_equal_ghosts (const std::vector<const amrex::FabArray<FAB> *> &data,
                                                                std::vector<amrex::FabArray<FAB>> &copies, bool is_copied) const {
    const bool are_equal = std::all_of (data.begin (), data.end (), [&] (const auto *one) { return one->nGrowVect () == amrex::IntVect (data[0]->nGrowVect ()[0]); });
    if (are_equal) { return data; }
    std::vector<const amrex::FabArray<FAB> *> all;
    copies.resize (data.size ());
    for (std::size_t level = 0; level < data.size (); ++level) {
      copies[level].define (data[level]->boxArray (), data[level]->DistributionMap (), data[level]->nComp (), 0);
      for (const grid &own : grids_) {
        if (!is_copied || own.level != static_cast<int> (level)) { continue; }
        FAB &copy = copies[level][own.index];
        copy.template copy<amrex::RunOn::Host> ((*data[level])[own.index], copy.box (), 0, copy.box (), 0, copy.nComp ());
      }
      all.push_back (&copies[level]);
    }
    return all;
  }
  template <typename FAB>
  std::vector<patch_field> fields (const std::vector<std::string> &names, const std::vector<const amrex::FabArray<FAB> *> &data) const {
    std::vector<patch_field> all;
    for (std::size_t c = 0; c < names.size (); ++c) {
      std::vector<typename FAB::value_type *> pointers;
      for (const grid &own : grids_) {
        pointers.push_back (const_cast<typename FAB::value_type *> ((*data[static_cast<std::size_t> (own.level)])[own.index].dataPtr (static_cast<int> (c))));
      }
      all.push_back (patch_field (dataset (names[c]), pointers).ghost (data[0]->nGrowVect ()[0]));
    }
    return all;
  }
  template <typename FAB> std::string wrong (const std::vector<std::string> &names, const std::vector<const amrex::FabArray<FAB> *> &data) const {
    if (data.size () != levels () || data.empty ()) {
      return "amrex_mesh: found data of " + std::to_string (data.size ()) + " levels, expected the " + std::to_string (levels ()) + " levels of the mesh";
    }
    for (std::size_t level = 0; level < levels (); ++level) {
      const amrex::FabArray<FAB> &one = *data[level];
      if (static_cast<std::size_t> (one.nComp ()) < names.size ()) {
        return "amrex_mesh: found " + std::to_string (names.size ()) + " names, expected at most " + std::to_string (one.nComp ())
               + ", the number of components";
      }
      if (one.ixType () != data[0]->ixType () || one.boxArray () != amrex::convert (boxes[level], one.ixType ()) || one.DistributionMap () != maps[level]) {
        return "amrex_mesh: level " + std::to_string (level) + ": found data with other boxes or maps, expected those of the mesh";
      }
    }
    return "";
  }
  template <typename PC> std::string wrong (const PC &pc) const {
    for (int level = 0; level <= pc.finestLevel (); ++level) {
      const std::size_t at = static_cast<std::size_t> (level);
      if (at >= levels () || pc.ParticleBoxArray (level) != boxes[at] || pc.ParticleDistributionMap (level) != maps[at]) {
        return "amrex_mesh: level " + std::to_string (level) + ": found particles with other boxes or maps, expected those of the mesh";
      }
    }
    return "";
  }

  patches patches_;
  std::vector<grid> grids_;
  std::vector<std::uint64_t> number_;
  std::vector<std::int32_t> level_;
  std::vector<std::int64_t> box_;
};

} // namespace scda

#endif /* SCDA_AMREX_HPP */
