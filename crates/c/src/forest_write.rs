//! Writes forests and their fields.

use super::context::{on_meshes, on_writer, scda_fcontext_t};
use super::dataset::{InMemory, of_c, scda_dataset_t};
use super::forests::{SCDA_FOREST_CONNECTIVITY, bytes, given_forest, scda_forest_t};
use super::memory::{Out, Values, put};
use super::mesh_fields::write_rows;
use super::pointers::Text;
use super::steps::{FOREST, attributes_of_time, group_name};
use super::versioned::StructIn;
use scda::{Collective, DataType, Writer};
use scda_meshes::MeshNotes;
use scda_meshes::forest::{fields, write};
use std::ffi::{c_int, c_void};

/// Writes the section `about this file`, which explains the format, where it is described, how compressed
/// data are decoded by hand, and the meaning of units, coordinates and the order of quadrants. It is for
/// readers who have nothing but the file, so it comes first, right after `scda_fopen_write`.
/// `scda_p4est_save` writes it. A file that begins with it gets an HDF5 view with `params.hdf5` 0, too.
///
/// Collective.
///
/// @param [in] f     The file, open for writing.
/// @param [out] err  The error code.
/// @return           `f`, or NULL on error.
/// Errors: those of `scda_fwrite_block`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_write_about(
    f: *mut scda_fcontext_t,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| write::write_about(writer);
    on_writer(f, err, body)
}

/// Writes the attributes that mark a group as a forest, and others. If this function was not called, the
/// following ones write these attributes without others.
///
/// Collective.
///
/// @param [in] f           The file, open for writing.
/// @param [in] group       The name of the forest: a group as `scda_fwrite_group` takes it. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] m           The forest, of which only `dimension` and `shapes` are used.
/// @param [in] attributes  Further attributes, such as a title: a JSON object as a C string in UTF-8, without
///                         the keys `scda_forest` and `dimension`. NULL: none.
/// @param [out] err        The error code.
/// @return                 `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG`, and those of `scda_fwrite_group`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_write_attributes(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    m: StructIn<'_, scda_forest_t>,
    attributes: Text<'_>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer, notes: &mut MeshNotes| {
        let group = group_name(writer, group, FOREST)?;
        let attributes = if attributes.is_null() { Ok("{}") } else { attributes.utf8("attributes") };
        write::write_group(writer, notes, group, m.read().and_then(|c| c.mesh()), attributes)
    };
    on_meshes(f, err, body)
}

/// Writes parts of a forest in one call; the first call also writes the attributes of its group. Mesh and
/// connectivity are valid until the next ones in the file, including later time steps.
///
/// Collective; members of `m` described as of this rank may differ between the ranks. Rank 0 writes what all
/// ranks have.
///
/// @param [in] f      The file, open for writing.
/// @param [in] group  The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] m      The forest, with the arrays of these parts.
/// @param [in] parts  The parts: a sum of `SCDA_FOREST_CONNECTIVITY`, `SCDA_FOREST_MESH_PARTS`,
///                    `SCDA_FOREST_DATA` and `SCDA_FOREST_PARTITION`.
/// @param [out] err   The error code.
/// @return            `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE` for another mesh in a step that has fields, and for data of another mesh than the
/// last one; `SCDA_ERR_RANGE` for more vertices, or bytes of trees, than docs/forest.md allows;
/// `SCDA_ERR_ARG`; `SCDA_ERR_MEMORY`; and those of `scda_fwrite_datasets`. Whether the quadrants fill their
/// trees is not checked here, but in reading and by `scda check`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_write(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    m: StructIn<'_, scda_forest_t>,
    parts: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer, notes: &mut MeshNotes| {
        let (group, forest, c) = given_forest(writer, group, m, |c| Ok(*c))?;
        let arrays = c.arrays(parts, writer.rank(), writer.size());
        write::write(writer, notes, group, &forest, parts.cast_unsigned(), arrays)
    };
    on_meshes(f, err, body)
}

/// Begins a time step: writes the attributes of the group, the time, and the connectivity, unless the file
/// has them already. In a file that was opened by `scda_fopen_append`, the mesh is compared with the last one
/// in the file; the connectivity is written again.
///
/// Collective; members of `m` described as of this rank may differ between the ranks.
///
/// @param [in] f        The file, open for writing.
/// @param [in] group    The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] m        The forest, with the arrays of the connectivity.
/// @param [in] time     The time. That of rank 0 is written.
/// @param [in] units    Its unit, such as `s`. NULL, or an empty C string: none.
/// @param [out] lacks   1: the last mesh in the file is another one, so this one must be written next; 0: it
///                      is this one.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: those of `scda_forest_write` and `scda_forest_write_time`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_write_step(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    m: StructIn<'_, scda_forest_t>,
    time: f64,
    units: Text<'_>,
    lacks: Out<'_, c_int>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer, notes: &mut MeshNotes| {
        let (group, forest, c) = given_forest(writer, group, m, |c| Ok(*c))?;
        let arrays = c.arrays(SCDA_FOREST_CONNECTIVITY, writer.rank(), writer.size());
        let time = (time, attributes_of_time(units, Text::NULL));
        put(lacks, c_int::from(write::write_step(writer, notes, group, &forest, time, arrays)?));
        Ok(())
    };
    on_meshes(f, err, body)
}

/// Writes a field with the same number of items for each quadrant. The mesh of the forest must be the last
/// one in the file; the field refers to it.
///
/// Collective; `data`, and members of `m` described as of this rank, may differ between the ranks.
///
/// @param [in] f      The file, open for writing.
/// @param [in] group  The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] m      The forest, without its arrays: numbers and checksum.
/// @param [in] field  Its name within the group, and its type; layout, codec, attributes and so on are as for
///                    any dataset. The library sets `shape[0]` and the name of the first dimension; for a
///                    scalar, `ndims` may be 0.
/// @param [in] data   The items of the quadrants of this rank. May be NULL if there are none.
/// @param [in] lend   1: with `params.lend`, this memory does not change, as for `scda_fwrite_dataset`; 0:
///                    the call copies it.
/// @param [out] err   The error code.
/// @return            `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE` if the mesh of the forest is not the last one in the file, `SCDA_ERR_ARG`,
/// `SCDA_ERR_MEMORY`, and those of `scda_fwrite_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_write_field(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    m: StructIn<'_, scda_forest_t>,
    field: StructIn<'_, scda_dataset_t>,
    data: Values<'_, c_void>,
    lend: c_int,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer, notes: &mut MeshNotes| {
        let (group, forest, field) = given_forest(writer, group, m, |_| of_c(&field.read()?))?;
        let InMemory { dataset, data_type } = field;
        let rows = fields::write(writer, notes, group, &forest, Ok(&dataset))?;
        write_rows(writer, rows, data_type, data, lend != 0)
    };
    on_meshes(f, err, body)
}

/// Writes a field with a number of values of its own for each quadrant, such as the coefficients of hp elements.
///
/// Collective; `counts`, `data`, and members of `m` described as of this rank, may differ between the ranks.
///
/// @param [in] f       The file, open for writing.
/// @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] m       The forest, without its arrays: numbers and checksum.
/// @param [in] field   As for `scda_forest_write_field`; `ndims` is 1 (or 0) if a value is one item. Its name
///                     with that of the group, `/fields/` and `:count` may have at most 58 bytes.
/// @param [in] counts  The number of values of each quadrant of this rank. May be NULL if there are none.
/// @param [in] data    The values, those of each quadrant after those of the previous one. May be NULL if
///                     there are none.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: those of `scda_forest_write_field`; `SCDA_ERR_RANGE` for counts that are negative or whose sum is
/// too large.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_write_ragged(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    m: StructIn<'_, scda_forest_t>,
    field: StructIn<'_, scda_dataset_t>,
    counts: Values<'_, i64>,
    data: Values<'_, c_void>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer, notes: &mut MeshNotes| {
        let (group, forest, field) = given_forest(writer, group, m, |_| of_c(&field.read()?))?;
        let InMemory { dataset, data_type } = field;
        let own = bytes(counts, Some(forest.n), "counts");
        let [of_counts, rows] = fields::write_ragged(writer, notes, group, &forest, Ok(&dataset), own)?;
        // SAFETY: the same numbers as bytes.
        let counts = unsafe { Values::at(counts.pointer().cast()) };
        write_rows(writer, of_counts, DataType::Int64, counts, true)?;
        write_rows(writer, rows, data_type, data, true)
    };
    on_meshes(f, err, body)
}
