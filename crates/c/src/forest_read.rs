//! Reads forests and their fields.

use super::context::{Context, on_reader, scda_fcontext_t, with};
use super::dataset::scda_dataset_t;
use super::forests::{bytes, empty, given_forest, release, scda_forest_t, u32_of};
use super::memory::{Out, Room, Values};
use super::mesh_fields::read_rows;
use super::pointers::Text;
use super::read_datasets::find_in;
use super::steps::{FOREST, group_name};
use super::types::bytes_of_type;
use super::versioned::{StructIn, StructInOut};
use scda::{Collective, DataType, Kind, Reader};
use scda_base::error::{Error, Result};
use scda_format::meshes::forest::MAX_LEVEL;
use scda_meshes::forest::fields::{self, FieldType};
use scda_meshes::forest::read::{self, Distribution, ReadRequest};
use scda_meshes::forest::shapes::Shapes;
use std::ffi::{c_int, c_void};

/// Reads the mesh of a time step, its connectivity and, if `m->data_bytes` is not 0, the bytes that a program
/// stores for each quadrant.
///
/// Collective. All ranks receive everything that is not described as of this rank.
///
/// @param [in] f       The file, open for reading.
/// @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step    The time step: 0 is the first one, -1 the last one. See `scda_forest_steps`.
/// @param [in,out] m   The forest, in which the program has set `dimension`, `finest`, `unit`,
///                     `stored_partition`, `partition` and `data_bytes`. Release it by `scda_forest_free`,
///                     also after an error.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: `SCDA_ERR_NOT_FOUND` if the file has no such forest or step; `SCDA_ERR_FORMAT` for an invalid forest;
/// `SCDA_ERR_UNSUPPORTED` for a later version of the convention, levels beyond `finest`, and data of a machine with the
/// other byte order; `SCDA_ERR_RANGE` for more trees, or quadrants on a rank, than 32 bits can count; `SCDA_ERR_ARG`
/// for a partition that does not fit; `SCDA_ERR_MEMORY`; and those of `scda_fread_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_read(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    m: StructInOut<'_, scda_forest_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let group = group_name(reader, group, FOREST)?;
        let ranks = reader.size() as u64;
        let wanted = m.given().read().and_then(|c| {
            let level = |level: c_int, least| {
                let found = u8::try_from(level).ok().filter(|found| (least..=MAX_LEVEL).contains(found));
                found.ok_or_else(|| {
                    Error::argument(format!("level of a forest: found {level}, expected 0 to 30"))
                })
            };
            let finest = level(c.finest, 0)?;
            let distribution = match c.partition.optional(ranks + 1, "partition")? {
                _ if c.stored_partition != 0 => Distribution::Stored,
                Some(first) => Distribution::Explicit(first),
                None => Distribution::Uniform,
            };
            let (dimension, unit) = (c.mesh()?.dimension, level(c.unit, finest)?);
            let data_bytes = u32_of(c.data_bytes, "data_bytes")?;
            Ok((c, ReadRequest { dimension, finest, unit, data_bytes, distribution }))
        });
        let (mut c, wanted) = reader.agree_on(wanted)?;
        let found = read::read(reader, group, step, &wanted)?;
        release(&c);
        c.set(found, reader.rank());
        m.write(c)
    };
    on_reader(f, err, body)
}

/// Finds a forest of any shapes: sets `dimension`, `shapes` and `trees`.
///
/// Collective.
///
/// @param [in] f       The file, open for reading.
/// @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step    The time step.
/// @param [in,out] m   The forest, filled by `scda_forest_init`.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: `SCDA_ERR_NOT_FOUND` if the file has no such forest or step; `SCDA_ERR_UNSUPPORTED` for another version of
/// the convention; those of `scda_ffind_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_find_shapes(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    m: StructInOut<'_, scda_forest_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| read_shapes(reader, group, step, m, |_, _, _| Ok(()));
    on_reader(f, err, body)
}

/// Finds a forest of any shapes, reads parts of it, and returns them to C.
fn read_shapes(
    reader: &mut Reader,
    group: Text<'_>,
    step: i64,
    m: StructInOut<'_, scda_forest_t<'_>>,
    read: impl FnOnce(&mut Reader, &Shapes, &mut scda_forest_t<'_>) -> Result<()>,
) -> Result<()> {
    let group = group_name(reader, group, FOREST)?;
    let given = m.given().read();
    let mut c = reader.agree_on(given)?;
    let shapes = Shapes::find(reader, group, step)?;
    let before = c.kept;
    read(reader, &shapes, &mut c)?;
    if c.kept != before {
        release(&scda_forest_t { kept: before, ..empty() });
    }
    (c.shapes, c.trees) = (1, shapes.trees);
    c.dimension = c_int::try_from(shapes.dimension).unwrap_or(0);
    m.write(c)
}

/// Reads trees of a forest of any shapes, `m->own_trees` of them from `m->first_tree` on: `tree_to_tree64`,
/// `tree_to_face`, `tree_shape`, and `vertices`, which is NULL if the file has none.
///
/// Collective; `own_trees` and `first_tree` may differ between the ranks.
///
/// @param [in] f       The file, open for reading.
/// @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step    The time step.
/// @param [in,out] m   The forest. Release it by `scda_forest_free`, also after an error.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: those of `scda_forest_find_shapes`; `SCDA_ERR_MEMORY`; those of `scda_fread_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_read_trees(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    m: StructInOut<'_, scda_forest_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        read_shapes(reader, group, step, m, |reader, shapes, c| {
            c.set_trees(shapes.trees(reader, c.first_tree, c.own_trees)?);
            Ok(())
        })
    };
    on_reader(f, err, body)
}

/// Reads elements of a forest of any shapes. Each rank gets an equal share, give or take one, with the one
/// before and the one after them, and their trees: `tree_offsets` and `tree_shape` of `own_trees` trees from
/// `first_tree` on.
///
/// Collective.
///
/// @param [in] f       The file, open for reading.
/// @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step    The time step.
/// @param [in,out] m   The forest. Release it by `scda_forest_free`, also after an error.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: those of `scda_forest_read_trees`; `SCDA_ERR_FORMAT` for elements that violate docs/t8code.md;
/// `SCDA_ERR_RANGE` for more on a rank than 32 bits can count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_read_elements(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    m: StructInOut<'_, scda_forest_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        read_shapes(reader, group, step, m, |reader, shapes, c| {
            c.set_elements(shapes.elements(reader)?);
            Ok(())
        })
    };
    on_reader(f, err, body)
}

/// Finds a field of a time step, of which `scda_fread_dataset` can read any boxes.
///
/// Collective.
///
/// @param [in] f       The file, open for reading.
/// @param [in] group   The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step    The time step. Fields of other steps are not found.
/// @param [in] name    The name of the field, such as `density`.
/// @param [out] found  1 if the step has such a field, otherwise 0. Must not be NULL.
/// @param [in,out] d   As for `scda_ffind_dataset`.
/// @param [out] err    The error code: 0 also if there is no such field.
/// @return             `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG`, and those of `scda_ffind_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_find_field(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    name: Text<'_>,
    found: Out<'_, c_int>,
    d: StructInOut<'_, scda_dataset_t>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let (reader, given) = context.reader_and_given()?;
        let group = group_name(reader, group, FOREST)?;
        let record = scda_meshes::steps::field(reader, group, step, name.utf8("name of a field"))?;
        let record = record.as_ref().map(|(name, record)| (&**name, *record));
        find_in(reader, given, record, found, d)
    };
    with(f, err, body)
}

/// The type of a field by its number, and its name in messages.
#[derive(Clone, Copy)]
struct Type {
    code: c_int,
    name: &'static str,
    in_bytes: bool,
    /// The type to which numbers are converted; `None` for other items.
    number: Option<DataType>,
}

impl Type {
    fn new(code: c_int) -> Result<Self> {
        let name = DataType::c_name(code).and_then(|name| name.to_str().ok());
        let name = name.ok_or_else(|| Error::argument(format!("type: found {code}")))?;
        let number = DataType::from_code(code).filter(|data_type| is_complex(*data_type).is_some());
        Ok(Self { code, name, in_bytes: bytes_of_type(code) == 0, number })
    }

    /// Calls `with` with the required type of a field.
    fn wanted<T>(&self, components: u64, with: impl FnOnce(&FieldType<'_>) -> T) -> T {
        let is_converted = |found| {
            self.number
                .is_some_and(|number| is_complex(found).is_some_and(|is| is_complex(number) == Some(is)))
        };
        let is_type = |found: DataType| found.code() == self.code || is_converted(found);
        with(&FieldType { is_type: &is_type, type_name: self.name, components, in_bytes: self.in_bytes })
    }
}

/// Whether a number is complex; `None` for a type that is no number. Numbers are converted to numbers, and
/// complex ones to complex ones.
fn is_complex(data_type: DataType) -> Option<bool> {
    match data_type.kind() {
        Kind::Signed | Kind::Unsigned | Kind::Float => Some(false),
        Kind::Complex => Some(true),
        _ => None,
    }
}

/// Reads a field of known number of items, for the quadrants of this rank. Numbers of another type in the file
/// are converted (see `scda_box_t`).
///
/// Collective; `data`, and members of `m` described as of this rank, may differ between the ranks.
///
/// @param [in] f           The file, open for reading.
/// @param [in] group       The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step        The time step.
/// @param [in] m           The forest, without its arrays: numbers and checksum, in any partition. The field
///                         must refer to its mesh.
/// @param [in] name        The name of the field.
/// @param [in] type        The type of the items in `data`, such as `SCDA_TYPE_FLOAT64`. Items that are no
///                         numbers must have this type in the file.
/// @param [in] components  The required number of items for each quadrant, of which `scda_forest_find_field`
///                         tells the shape; for `SCDA_TYPE_RAW`, and other types whose items may have any
///                         size, the number of bytes.
/// @param [out] data       Room for the items of the quadrants of this rank. May be NULL if there are none.
/// @param [out] err        The error code.
/// @return                 `f`, or NULL on error.
/// Errors: `SCDA_ERR_NOT_FOUND` if there is no such field; `SCDA_ERR_FORMAT` if it has another shape or mesh, or a type
/// that cannot be converted; `SCDA_ERR_RANGE` for a number that does not fit; `SCDA_ERR_ARG`; those of
/// `scda_ffind_dataset` and `scda_fread_dataset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_read_field(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    m: StructIn<'_, scda_forest_t>,
    name: Text<'_>,
    r#type: c_int,
    components: u64,
    data: Room<'_, c_void>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let (group, forest, of) = given_forest(reader, group, m, |_| Type::new(r#type))?;
        let name = name.utf8("name of a field");
        let rows =
            of.wanted(components, |wanted| fields::find(reader, (group, step), &forest, name, wanted))?;
        let data_type = of.number.unwrap_or(rows.0.data_type);
        read_rows(reader, rows, data_type, data)
    };
    on_reader(f, err, body)
}

/// Reads the number of values of each quadrant of this rank in a field written by `scda_forest_write_ragged`.
///
/// Collective; `counts`, and members of `m` described as of this rank, may differ between the ranks.
///
/// @param [in] f        The file, open for reading.
/// @param [in] group    The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step     The time step.
/// @param [in] m        As for `scda_forest_read_field`.
/// @param [in] name     The name of the field.
/// @param [out] counts  Room for a number for each quadrant of this rank. None is negative, and the sum over
///                      all ranks matches the values in the file. May be NULL if there are none.
/// @param [out] err     The error code.
/// @return              `f`, or NULL on error.
/// Errors: those of `scda_forest_read_field`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_read_counts(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    m: StructIn<'_, scda_forest_t>,
    name: Text<'_>,
    counts: Room<'_, i64>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let (group, forest, ()) = given_forest(reader, group, m, |_| Ok(()))?;
        let room = counts.get(forest.n, "counts").map(|counts| {
            let bytes = size_of_val(counts);
            // SAFETY: the same numbers as bytes.
            unsafe { std::slice::from_raw_parts_mut(counts.as_mut_ptr().cast::<u8>(), bytes) }
        });
        fields::read_counts(reader, (group, step), &forest, name.utf8("name of a field"), room)
    };
    on_reader(f, err, body)
}

/// Reads the values of the quadrants of this rank.
///
/// Collective; `counts`, `data`, and members of `m` described as of this rank, may differ between the ranks.
///
/// @param [in] f           The file, open for reading.
/// @param [in] group       The name of the forest. NULL: `SCDA_FOREST_GROUP`.
/// @param [in] step        The time step.
/// @param [in] m           As for `scda_forest_read_field`.
/// @param [in] name        The name of the field.
/// @param [in] type        As for `scda_forest_read_field`.
/// @param [in] components  As for `scda_forest_read_field`, of each value.
/// @param [in] counts      What `scda_forest_read_counts` has read. May be NULL if there are none.
/// @param [out] data       Room for the sum of `counts` values. May be NULL if there are none.
/// @param [out] err        The error code.
/// @return                 `f`, or NULL on error.
/// Errors: those of `scda_forest_read_field`; `SCDA_ERR_RANGE` for counts that are negative or whose sum is
/// too large.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_forest_read_ragged(
    f: *mut scda_fcontext_t,
    group: Text<'_>,
    step: i64,
    m: StructIn<'_, scda_forest_t>,
    name: Text<'_>,
    r#type: c_int,
    components: u64,
    counts: Values<'_, i64>,
    data: Room<'_, c_void>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let (group, forest, of) = given_forest(reader, group, m, |_| Type::new(r#type))?;
        let (name, counts) = (name.utf8("name of a field"), bytes(counts, Some(forest.n), "counts"));
        let rows = of.wanted(components, |wanted| {
            fields::find_ragged(reader, (group, step), &forest, name, wanted, counts)
        })?;
        let data_type = of.number.unwrap_or(rows.0.data_type);
        read_rows(reader, rows, data_type, data)
    };
    on_reader(f, err, body)
}
