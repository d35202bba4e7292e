/* scda_dealii.h: distributed triangulations of deal.II in scda files, with all data that are attached to their cells.
 *
 * Where a program for deal.II calls triangulation.save (name) and triangulation.load (name), which use several files, it can call
 *
 *   scda_dealii_save (name, triangulation)
 *   scda_dealii_load (name, triangulation)
 *
 * which use one sealed file. The file has all data that were attached by SolutionTransfer::prepare_for_serialization,
 * DoFHandler::prepare_for_serialization_of_active_fe_indices, CellDataTransfer, or register_data_attach, with a fixed or variable
 * size for each cell; retrieve them as after triangulation.load. A restart may use any number of ranks.
 *
 * In a file with more contents (fields, time steps), scda_dealii_write and scda_dealii_read do the same; the functions of scda_forest.h
 * and scda_p4est.h (scda_p8est.h) with triangulation.get_p4est () then write what other programs are to see. docs/dealii.md describes
 * the contents of the file.
 *
 * The functions are inline and call deal.II, p4est and libscda, with the same MPI. They are collective, with errors as in scda.h: the same
 * on all ranks; the file is closed, NULL is returned, and scda_last_error_message gives the reason. With NULL for the file, they return
 * NULL.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef SCDA_DEALII_H
#define SCDA_DEALII_H

#include <deal.II/base/config.h>

#ifndef DEAL_II_WITH_P4EST
#error "scda_dealii.h needs deal.II with p4est"
#endif

#include <deal.II/distributed/tria.h>

#include <scda_p4est.h>
#include <scda_p8est.h>

#include <exception>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

/**
 * Saves a triangulation and the data attached to its cells, in place of triangulation.save. The file appears under its name when it is
 * complete. As with triangulation.save, the attached data are then forgotten.
 *
 * Collective.
 *
 * @param [in] filename           The path of the file.
 * @param [in,out] triangulation  The triangulation, of 2 or 3 dimensions.
 * @return                        0, or an error code of scda.h, the same on all ranks.
 */
template <int dim, int spacedim>
int scda_dealii_save (const char *filename, dealii::parallel::distributed::Triangulation<dim, spacedim> &triangulation);

/**
 * Loads a triangulation on any number of ranks, in place of triangulation.load. Compares all bytes with their checksums.
 *
 * Collective.
 *
 * @param [in] filename           The path of the file.
 * @param [in,out] triangulation  As for `scda_dealii_read`.
 * @return                        0, or an error code of scda.h, the same on all ranks.
 */
template <int dim, int spacedim>
int scda_dealii_load (const char *filename, dealii::parallel::distributed::Triangulation<dim, spacedim> &triangulation);

/**
 * Writes a triangulation and the data attached to its cells. As with triangulation.save, the attached data are then forgotten, even after
 * an error.
 *
 * @param [in] f                  The file, open for writing. NULL: nothing is written, and the attached data are forgotten.
 * @param [in] group              The name of the forest: a group of datasets. NULL: SCDA_FOREST_GROUP.
 * @param [in,out] triangulation  The triangulation.
 * @param [out] err               The error code.
 * @return                        `f`, or NULL on error.
 * Errors: those of `scda_p4est_write_forest`, `scda_p4est_write_field` and `scda_p4est_write_ragged`.
 */
template <int dim, int spacedim>
scda_fcontext_t *scda_dealii_write (scda_fcontext_t *f, const char *group, dealii::parallel::distributed::Triangulation<dim, spacedim> &triangulation,
                                    int *err);

/**
 * Reads a triangulation and the data attached to its cells.
 *
 * @param [in] f                  The file, open for reading.
 * @param [in] group              The name of the forest. NULL: SCDA_FOREST_GROUP.
 * @param [in] step               The time step: 0 is the first in the file; -1 is the last.
 * @param [in,out] triangulation  The coarse mesh that was saved, not refined; a coarse mesh with another connectivity is an error. The
 *                                cells are distributed evenly, except that no family of cells is split.
 * @param [out] err               The error code.
 * @return                        `f`, or NULL on error.
 * Errors: those of `scda_p4est_read_forest` and `scda_p4est_read_field`; `SCDA_ERR_ARG` for another coarse mesh; `SCDA_ERR_UNSUPPORTED` for
 * data from a machine with the other byte order.
 */
template <int dim, int spacedim>
scda_fcontext_t *scda_dealii_read (scda_fcontext_t *f, const char *group, int64_t step,
                                   dealii::parallel::distributed::Triangulation<dim, spacedim> &triangulation, int *err);

/* ---- Internal ---- */

namespace scda_dealii_internal {

/* Access to what deal.II offers only to classes derived from its triangulations: the data attached to cells. */
template <int dim, int spacedim> struct access : dealii::parallel::DistributedTriangulationBase<dim, spacedim> {
  using base = dealii::parallel::DistributedTriangulationBase<dim, spacedim>;
  static auto &attached (base &t) { return t.*(&access::cell_attached_data); }
  static auto &transfer (base &t) { return transfer<access> (t, 0); }
  static auto &cells (base &t) { return t.*(&access::local_cell_relations); }
  static void update (base &t) { (t.*(&access::update_cell_relations)) (); }

private:
  /* The member has this name since deal.II 9.6, and the other one before. */
  template <typename A> static auto transfer (base &t, int) -> decltype ((t.*(&A::data_serializer))) { return t.*(&A::data_serializer); }
  template <typename A> static auto transfer (base &t, long) -> decltype ((t.*(&A::data_transfer))) { return t.*(&A::data_transfer); }
};

/* Calls the functions that attach data; since deal.II 9.6, they take the communicator. */
template <typename T, typename C, typename A>
auto pack (T &transfer, C &cells, A &attached, MPI_Comm comm, int)
  -> decltype (transfer.pack_data (cells, attached.pack_callbacks_fixed, attached.pack_callbacks_variable, comm)) {
  return transfer.pack_data (cells, attached.pack_callbacks_fixed, attached.pack_callbacks_variable, comm);
}
template <typename T, typename C, typename A> void pack (T &transfer, C &cells, A &attached, MPI_Comm, long) {
  transfer.pack_data (cells, attached.pack_callbacks_fixed, attached.pack_callbacks_variable);
}

/* The functions for p4est and p8est under one name. */
inline scda_fcontext_t *write_forest (scda_fcontext_t *f, const char *group, const p4est_t *p, int *err) {
  return scda_p4est_write_forest (f, group, const_cast<p4est_t *> (p), 0, err);
}
inline scda_fcontext_t *write_forest (scda_fcontext_t *f, const char *group, const p8est_t *p, int *err) {
  return scda_p8est_write_forest (f, group, const_cast<p8est_t *> (p), 0, err);
}
inline scda_fcontext_t *write_field (scda_fcontext_t *f, const char *group, const p4est_t *p, const scda_dataset_t *d, const void *data, int *err) {
  return scda_p4est_write_field (f, group, p, d, data, err);
}
inline scda_fcontext_t *write_field (scda_fcontext_t *f, const char *group, const p8est_t *p, const scda_dataset_t *d, const void *data, int *err) {
  return scda_p8est_write_field (f, group, p, d, data, err);
}
inline scda_fcontext_t *write_ragged (scda_fcontext_t *f, const char *group, const p4est_t *p, const scda_dataset_t *d, const int64_t *counts,
                                      const void *data, int *err) {
  return scda_p4est_write_ragged (f, group, p, d, counts, data, err);
}
inline scda_fcontext_t *write_ragged (scda_fcontext_t *f, const char *group, const p8est_t *p, const scda_dataset_t *d, const int64_t *counts,
                                      const void *data, int *err) {
  return scda_p8est_write_ragged (f, group, p, d, counts, data, err);
}
inline scda_fcontext_t *read_field (scda_fcontext_t *f, const char *group, int64_t step, const p4est_t *p, const char *name, uint64_t bytes, void *data,
                                    int *err) {
  return scda_p4est_read_field (f, group, step, p, name, SCDA_TYPE_RAW, bytes, data, err);
}
inline scda_fcontext_t *read_field (scda_fcontext_t *f, const char *group, int64_t step, const p8est_t *p, const char *name, uint64_t bytes, void *data,
                                    int *err) {
  return scda_p8est_read_field (f, group, step, p, name, SCDA_TYPE_RAW, bytes, data, err);
}
inline scda_fcontext_t *read_counts (scda_fcontext_t *f, const char *group, int64_t step, const p4est_t *p, const char *name, int64_t *counts, int *err) {
  return scda_p4est_read_counts (f, group, step, p, name, counts, err);
}
inline scda_fcontext_t *read_counts (scda_fcontext_t *f, const char *group, int64_t step, const p8est_t *p, const char *name, int64_t *counts, int *err) {
  return scda_p8est_read_counts (f, group, step, p, name, counts, err);
}
inline scda_fcontext_t *read_ragged (scda_fcontext_t *f, const char *group, int64_t step, const p4est_t *p, const char *name, const int64_t *counts,
                                     void *data, int *err) {
  return scda_p4est_read_ragged (f, group, step, p, name, SCDA_TYPE_UINT8, 1, counts, data, err);
}
inline scda_fcontext_t *read_ragged (scda_fcontext_t *f, const char *group, int64_t step, const p8est_t *p, const char *name, const int64_t *counts,
                                     void *data, int *err) {
  return scda_p8est_read_ragged (f, group, step, p, name, SCDA_TYPE_UINT8, 1, counts, data, err);
}

/* Reads a forest, and sets `same` if its connectivity equals that of `coarse`. The caller destroys it. */
inline scda_fcontext_t *read_forest (scda_fcontext_t *f, const char *group, int64_t step, const p4est_t *coarse, p4est_t **p,
                                     p4est_connectivity_t **c, int *same, int *err) {
  f = scda_p4est_read_forest (f, group, step, coarse->mpicomm, 0, 0, nullptr, nullptr, nullptr, c, p, err);
  *same = f != nullptr && p4est_connectivity_is_equal (*c, coarse->connectivity);
  return f;
}
inline scda_fcontext_t *read_forest (scda_fcontext_t *f, const char *group, int64_t step, const p8est_t *coarse, p8est_t **p,
                                     p8est_connectivity_t **c, int *same, int *err) {
  f = scda_p8est_read_forest (f, group, step, coarse->mpicomm, 0, 0, nullptr, nullptr, nullptr, c, p, err);
  *same = f != nullptr && p8est_connectivity_is_equal (*c, coarse->connectivity);
  return f;
}
/* Like triangulation.load, splits no family of cells between ranks, so that each family can be coarsened. */
inline void partition (p4est_t *p) { p4est_partition (p, 1, nullptr); }
inline void partition (p8est_t *p) { p8est_partition (p, 1, nullptr); }
inline void destroy (p4est_t *p, p4est_connectivity_t *c) {
  p4est_destroy (p);
  p4est_connectivity_destroy (c);
}
inline void destroy (p8est_t *p, p8est_connectivity_t *c) {
  p8est_destroy (p);
  p8est_connectivity_destroy (c);
}

inline const char *byte_order () {
  const uint16_t one = 1;
  return *reinterpret_cast<const unsigned char *> (&one) == 1 ? "little" : "big";
}

/* The text of an attribute; empty if there is none, or if it is longer than any list of sizes. */
inline std::string text_of (const char *attributes, const char *key) {
  char text[1 << 16] = "";
  uint64_t count = sizeof text;
  int err = SCDA_SUCCESS;
  return scda_get_attribute (attributes, key, SCDA_TYPE_STRING, text, &count, &err) == 0 ? text : "";
}

/* The number in an attribute; -1 if there is none. */
inline int64_t number_of (const char *attributes, const char *key) {
  int64_t number = -1;
  uint64_t count = 1;
  int err = SCDA_SUCCESS;
  return scda_get_attribute (attributes, key, SCDA_TYPE_INT64, &number, &count, &err) == 0 ? number : -1;
}

} // namespace scda_dealii_internal

/* ---- The functions ---- */

template <int dim, int spacedim>
scda_fcontext_t *scda_dealii_write (scda_fcontext_t *f, const char *group, dealii::parallel::distributed::Triangulation<dim, spacedim> &triangulation,
                                    int *err) {
  using access = scda_dealii_internal::access<dim, spacedim>;
  triangulation.signals.pre_distributed_save ();
  auto &attached = access::attached (triangulation);
  auto &transfer = access::transfer (triangulation);
  const auto *forest = triangulation.get_p4est ();
  const size_t n = static_cast<size_t> (forest->local_num_quadrants), fixed = attached.pack_callbacks_fixed.size (), variable = attached.pack_callbacks_variable.size ();
  f = scda_dealii_internal::write_forest (f, group, forest, err);
  if (f != nullptr && fixed + variable > 0) {
    scda_dataset_t d;
    std::string sizes, attributes;
    std::vector<int64_t> counts;
    access::update (triangulation);
    scda_dealii_internal::pack (transfer, access::cells (triangulation), attached, forest->mpicomm, 0);
    for (const unsigned int size : transfer.sizes_fixed_cumulative) { sizes += (sizes.empty () ? "" : " ") + std::to_string (size); }
    attributes = std::string ("{\"byte_order\": \"") + scda_dealii_internal::byte_order () + "\", \"fixed\": " + std::to_string (fixed) +
                 ", \"variable\": " + std::to_string (variable) + ", \"sizes\": \"" + sizes + "\"}";
    scda_dataset_init (&d);
    strcpy (d.name, "dealii");
    d.type = SCDA_TYPE_RAW;
    d.item_bytes = transfer.sizes_fixed_cumulative.back ();
    d.attributes = attributes.c_str ();
    f = scda_dealii_internal::write_field (f, group, forest, &d, transfer.src_data_fixed.data (), err);
    if (variable > 0) {
      counts.assign (transfer.src_sizes_variable.begin (), transfer.src_sizes_variable.end ());
      counts.resize (n);
      scda_dataset_init (&d);
      strcpy (d.name, "dealii_variable");
      d.type = SCDA_TYPE_UINT8;
      if (f != nullptr) { f = scda_dealii_internal::write_ragged (f, group, forest, &d, counts.data (), transfer.src_data_variable.data (), err); }
    }
  }
  attached.n_attached_data_sets = 0;
  attached.pack_callbacks_fixed.clear ();
  attached.pack_callbacks_variable.clear ();
  transfer.clear ();
  triangulation.signals.post_distributed_save ();
  return f;
}

template <int dim, int spacedim>
scda_fcontext_t *scda_dealii_read (scda_fcontext_t *f, const char *group, int64_t step,
                                   dealii::parallel::distributed::Triangulation<dim, spacedim> &triangulation, int *err) {
  using access = scda_dealii_internal::access<dim, spacedim>;
  using types = typename dealii::internal::p4est::types<dim>;
  scda_forest_error_internal_t e;
  scda_dataset_t d;
  typename types::forest *forest = nullptr;
  typename types::connectivity *connectivity = nullptr;
  int same = 0, found = 0;
  if (f == nullptr) { return nullptr; }
  scda_forest_no_error_internal (&e);
  f = scda_dealii_internal::read_forest (f, group, step, triangulation.get_p4est (), &forest, &connectivity, &same, err);
  if (f == nullptr) { return nullptr; }
  if (!same) { scda_forest_error_internal (&e, SCDA_ERR_ARG, "the coarse mesh of the triangulation differs from the one in the file: their connectivities differ"); }
  f = scda_forest_agree_internal (f, &e, err);
  if (f != nullptr) {
    triangulation.signals.pre_distributed_load ();
    scda_dealii_internal::partition (forest);
    triangulation.load (forest);
  }
  scda_dealii_internal::destroy (forest, connectivity);
  if (f == nullptr) { return nullptr; }

  scda_dataset_init (&d);
  f = scda_forest_find_field (f, group, step, "dealii", &found, &d, err);
  if (f == nullptr) { return nullptr; }
  auto &attached = access::attached (triangulation);
  auto &transfer = access::transfer (triangulation);
  transfer.clear ();
  attached.n_attached_data_sets = 0;
  attached.n_attached_deserialize = 0;
  if (found) {
    const auto *p = triangulation.get_p4est ();
    const size_t n = static_cast<size_t> (p->local_num_quadrants);
    const int64_t fixed = scda_dealii_internal::number_of (d.attributes, "fixed"), variable = scda_dealii_internal::number_of (d.attributes, "variable");
    std::istringstream ends (scda_dealii_internal::text_of (d.attributes, "sizes"));
    const std::vector<unsigned int> sizes{std::istream_iterator<unsigned int> (ends), std::istream_iterator<unsigned int> ()};
    std::vector<int64_t> counts;
    uint64_t bytes = 0;
    if (scda_dealii_internal::text_of (d.attributes, "byte_order") != scda_dealii_internal::byte_order ()) {
      scda_forest_error_internal (&e, SCDA_ERR_UNSUPPORTED, "dataset %s was written on a machine with the opposite byte order", d.name);
    }
    /* The sizes must be those of the state of the cell, of the fixed data, and of the sizes of the variable data together. */
    bool good = fixed >= 0 && variable >= 0 && fixed < 4096 && variable < 4096 && sizes.size () == static_cast<size_t> (1 + fixed + (variable > 0)) &&
                d.type == SCDA_TYPE_RAW && d.item_bytes == sizes.back ();
    if (good && variable > 0) { good = sizes.back () - sizes[sizes.size () - 2] == static_cast<unsigned long> (variable) * sizeof (unsigned int); }
    for (size_t i = 1; good && i < sizes.size (); ++i) { good = sizes[i - 1] <= sizes[i]; }
    if (!good) { scda_forest_error_internal (&e, SCDA_ERR_FORMAT, "dataset %s: its attributes do not describe data of deal.II", d.name); }
    try {
      if (e.err == SCDA_SUCCESS) {
        transfer.dest_data_fixed.resize (n * sizes.back ());
        counts.resize (n);
      }
    } catch (const std::exception &) {
      scda_forest_error_internal (&e, SCDA_ERR_MEMORY, "no memory for the data of %llu cells", static_cast<unsigned long long> (n));
    }
    f = scda_forest_agree_internal (f, &e, err);
    if (f != nullptr) { f = scda_dealii_internal::read_field (f, group, step, p, "dealii", sizes.back (), transfer.dest_data_fixed.data (), err); }
    if (f != nullptr && variable > 0) {
      f = scda_dealii_internal::read_counts (f, group, step, p, "dealii_variable", counts.data (), err);
      if (f == nullptr) { return nullptr; }
      for (const int64_t count : counts) { bytes += static_cast<uint64_t> (count); }
      try {
        transfer.dest_sizes_variable.assign (counts.begin (), counts.end ());
        transfer.dest_data_variable.resize (bytes);
      } catch (const std::exception &) {
        scda_forest_error_internal (&e, SCDA_ERR_MEMORY, "no memory for %llu bytes of data of cells", static_cast<unsigned long long> (bytes));
      }
      f = scda_forest_agree_internal (f, &e, err);
      if (f != nullptr) {
        f = scda_dealii_internal::read_ragged (f, group, step, p, "dealii_variable", counts.data (), transfer.dest_data_variable.data (), err);
      }
    }
    if (f == nullptr) { return nullptr; }
    transfer.variable_size_data_stored = variable > 0;
    transfer.sizes_fixed_cumulative = sizes;
    attached.n_attached_deserialize = static_cast<unsigned int> (fixed + variable);
    access::update (triangulation);
    transfer.unpack_cell_status (access::cells (triangulation));
  }
  triangulation.signals.post_distributed_load ();
  return f;
}

template <int dim, int spacedim>
int scda_dealii_save (const char *filename, dealii::parallel::distributed::Triangulation<dim, spacedim> &triangulation) {
  int err = SCDA_SUCCESS;
  scda_params_t params;
  scda_params_init (&params);
  params.atomic = 1;
  params.seal = 1;
  params.sync = -1;
  scda_fcontext_t *f = scda_fopen_write (triangulation.get_communicator (), filename, "deal.II triangulation", nullptr, &params, &err);
  if (f != nullptr) { f = scda_forest_write_about (f, &err); }
  f = scda_dealii_write (f, nullptr, triangulation, &err);
  if (f != nullptr) { scda_fclose (f, &err); }
  return err;
}

template <int dim, int spacedim>
int scda_dealii_load (const char *filename, dealii::parallel::distributed::Triangulation<dim, spacedim> &triangulation) {
  int err = SCDA_SUCCESS;
  scda_params_t params;
  scda_params_init (&params);
  params.verify = 1;
  scda_fcontext_t *f = scda_fopen_read (triangulation.get_communicator (), filename, nullptr, nullptr, &params, &err);
  f = scda_dealii_read (f, nullptr, -1, triangulation, &err);
  if (f != nullptr) { scda_fclose (f, &err); }
  return err;
}

#endif /* SCDA_DEALII_H */
