//! Writes and reads the fields of a forest.

use super::Forest;
use super::write::belong;
use crate::notes::{MeshNotes, notes_of};
use crate::ranks::spread;
use crate::steps::{self, existing, expect_mesh, need, sections};
use crate::write::{field as field_in_group, rows};
use scda::{
    Collective, DataType, Dataset, DatasetHandle, Error, ErrorKind, IndexBox, Layout, Partition, Reader,
    Result, Writer,
};
use scda_format::meshes::attributes::with_mesh;
use scda_format::meshes::checksum::MESH;
use scda_format::meshes::part_name;
use serde_json::Value;

/// The name of a field's dataset.
fn field_name(group: &str, name: &str) -> Result<String> {
    part_name(group, &format!("fields/{name}"))
}

/// The sum of this rank's counts of values per quadrant, passed as bytes in memory.
fn sum(forest: &Forest<'_>, counts: &[u8]) -> Result<u64> {
    let element = forest.element();
    let counts = counts.as_chunks().0.iter().map(|count| i64::from_ne_bytes(*count));
    (forest.first..).zip(counts).try_fold(0_u64, |all, (number, count)| {
        let more = u64::try_from(count).ok().and_then(|count| all.checked_add(count));
        more.filter(|all| i64::try_from(*all).is_ok())
            .ok_or_else(|| Error::range(format!("{element} {number}: found {count} values")))
    })
}

/// Prepares writing a field: the dataset to write, and the rows of this rank. `what` has the field's name
/// within the group; the first number of indices in its shape is ignored.
///
/// # Errors
/// `Usage` if the mesh is not the last one written; `Argument`.
pub fn write(
    file: &mut Writer,
    notes: &mut MeshNotes,
    group: &str,
    forest: &Forest<'_>,
    what: Result<&Dataset>,
) -> Result<(Dataset, Vec<IndexBox>)> {
    let what = file.agree_on(what)?;
    belong(file, notes_of(notes, group), group, forest, &what.name)?;
    let dataset = field_in_group(group, what, forest.quadrants, Some(forest.element()));
    let mut dataset = file.agree_on(dataset)?;
    dataset.attributes = with_mesh(&dataset.attributes, forest.checksum);
    let regions = forest.rows(&dataset.shape);
    Ok((dataset, regions))
}

/// Prepares writing a ragged field, which has a number of values of its own for each quadrant: the datasets
/// of the counts and of the values, and the rows of this rank. `counts` has those of its quadrants, as bytes
/// in memory.
///
/// # Errors
/// Those of [`write()`]; `Range` for counts that are negative or whose sum is too large.
pub fn write_ragged(
    file: &mut Writer,
    notes: &mut MeshNotes,
    group: &str,
    forest: &Forest<'_>,
    what: Result<&Dataset>,
    counts: Result<&[u8]>,
) -> Result<[(Dataset, Vec<IndexBox>); 2]> {
    let what = file.agree_on(what)?;
    let name = field_name(group, &format!("{}:count", what.name));
    let sum = counts.and_then(|counts| sum(forest, counts));
    let own = name.and_then(|name| Ok((name, sum?)));
    let (name, own) = file.agree_on(own)?;
    let [values] = spread(file, [own])?;
    belong(file, notes_of(notes, group), group, forest, &what.name)?;
    let sample = format!("{}:sample", what.name);
    let dataset = field_in_group(group, what, values.total, Some(&sample));
    let mut dataset = file.agree_on(dataset)?;
    dataset.attributes = with_mesh(&dataset.attributes, forest.checksum);
    let regions = rows(&dataset.shape, values.offset, values.count);
    let mut counts = Dataset::new(name, DataType::Int64, [forest.quadrants]);
    counts.attributes = format!(
        "{{\"{MESH}\":\"{}\",\"long_name\":\"number of values of each {}\",\"sample_dimension\":{}}}",
        forest.checksum,
        forest.element(),
        Value::from(sample)
    );
    counts.dimension_names = vec![Some(forest.element().to_owned())];
    counts.layout = match what.layout {
        Layout::Contiguous => Layout::Contiguous,
        Layout::Chunked { text, .. } => Layout::Chunked { shape: None, text },
        Layout::Auto { .. } => Layout::Auto { shape: None },
    };
    let of_counts = forest.rows(&counts.shape);
    Ok([(counts, of_counts), (dataset, regions)])
}

/// The required type and shape of a field, so that its values fit the program's memory.
pub struct FieldType<'a> {
    /// Whether its type is right.
    pub is_type: &'a dyn Fn(DataType) -> bool,
    /// The name of the type in messages.
    pub type_name: &'a str,
    /// The number of items in a row; with `in_bytes`, the number of bytes.
    pub components: u64,
    /// Whether `components` counts bytes, because the type does not determine the size of an item.
    pub in_bytes: bool,
}

impl FieldType<'static> {
    /// The type of the counts of a ragged field.
    const COUNTS: Self = FieldType {
        is_type: &|found| found == DataType::Int64,
        type_name: "int64",
        components: 1,
        in_bytes: false,
    };
}

/// Finds a field of a step, which must refer to the mesh of the forest. `ending` is `:count` or empty, `all`
/// the required number of rows.
fn find_rows(
    file: &mut Reader,
    (group, step): (&str, i64),
    forest: &Forest<'_>,
    name: &str,
    all: u64,
    wanted: &FieldType<'_>,
) -> Result<DatasetHandle> {
    let name = field_name(group, name);
    let name = file.agree_on(name)?;
    let of_step = sections(file, group, step)?;
    let record = need(file, &name, &of_step, step)?;
    let dataset = existing(file, &name, record)?;
    let found = dataset.data_type;
    let columns: u64 = dataset.shape.iter().skip(1).product(); // less than 2^63: the library has compared it
    let each = if wanted.in_bytes && !found.is_variable() {
        columns.saturating_mul(found.item_bytes())
    } else {
        columns
    };
    let words = if !(wanted.is_type)(found) {
        format!("the type {found}; expected {}", wanted.type_name)
    } else if dataset.shape.first() != Some(&all) {
        format!("{} rows; expected {all}", dataset.shape.first().unwrap_or(&1))
    } else if each != wanted.components {
        let what = if wanted.in_bytes { "bytes" } else { "items" };
        format!("{each} {what} in each row; expected {}", wanted.components)
    } else {
        expect_mesh(file, &dataset, forest.checksum, "given: read that of the same step")?;
        return Ok(dataset);
    };
    file.agree_on(Err(Error::new(ErrorKind::Format, format!("dataset {name} has {words}"))))
}

/// Finds a field of a step, for the quadrants of this rank. Returns the dataset and this rank's rows.
///
/// # Errors
/// `NotFound` if there is no such field; `Format` if it has another type, shape or mesh; `Argument`; those of
/// [`Reader::dataset_record`].
pub fn find(
    file: &mut Reader,
    (group, step): (&str, i64),
    forest: &Forest<'_>,
    name: Result<&str>,
    wanted: &FieldType<'_>,
) -> Result<(DatasetHandle, Vec<IndexBox>)> {
    let name = file.agree_on(name)?;
    let dataset = find_rows(file, (group, step), forest, name, forest.quadrants, wanted)?;
    let regions = forest.rows(&dataset.shape);
    Ok((dataset, regions))
}

/// This rank's part of the values of all ranks.
fn own_values(
    file: &mut Reader,
    forest: &Forest<'_>,
    counts: Result<&[u8]>,
    kind: ErrorKind,
) -> Result<Partition> {
    let own =
        counts.and_then(|counts| sum(forest, counts).map_err(|error| Error::new(kind, error.to_string())));
    let own = file.agree_on(own)?;
    let [values] = spread(file, [own])?;
    Ok(values)
}

/// Reads the number of values of each quadrant of this rank, as bytes in memory. The sum over all ranks must
/// match the values in the file.
///
/// # Errors
/// Those of [`find`] and [`DatasetHandle::read`]; `Format` for counts that do not match the values.
pub fn read_counts(
    file: &mut Reader,
    (group, step): (&str, i64),
    forest: &Forest<'_>,
    name: Result<&str>,
    counts: Result<&mut [u8]>,
) -> Result<()> {
    let own = name.and_then(|name| Ok((name, counts?)));
    let (name, counts) = file.agree_on(own)?;
    let dataset = find_rows(
        file,
        (group, step),
        forest,
        &format!("{name}:count"),
        forest.quadrants,
        &FieldType::COUNTS,
    )?;
    dataset.read(file, &forest.rows(&dataset.shape), &mut *counts)?;
    let values = own_values(file, forest, Ok(&*counts), ErrorKind::Format)?;
    let found = match steps::field(file, group, step, Ok(name))? {
        Some((name, record)) => file.dataset_record(&name, record)?,
        None => None,
    };
    if found.is_some_and(|found| found.shape.first() == Some(&values.total)) {
        return Ok(());
    }
    let words = format!(
        "the counts of the field {name}: found the sum {}, expected the number of its values",
        values.total
    );
    file.agree_on(Err(Error::new(ErrorKind::Format, words)))
}

/// Finds a ragged field, which has a number of values of its own for each quadrant. Returns the dataset and
/// this rank's rows, from `counts` as read by [`read_counts`].
///
/// # Errors
/// Those of [`find`]; `Range` for counts that are negative or whose sum is too large.
pub fn find_ragged(
    file: &mut Reader,
    (group, step): (&str, i64),
    forest: &Forest<'_>,
    name: Result<&str>,
    wanted: &FieldType<'_>,
    counts: Result<&[u8]>,
) -> Result<(DatasetHandle, Vec<IndexBox>)> {
    let name = file.agree_on(name)?;
    let values = own_values(file, forest, counts, ErrorKind::Range)?;
    let dataset = find_rows(file, (group, step), forest, name, values.total, wanted)?;
    let regions = rows(&dataset.shape, values.offset, values.count);
    Ok((dataset, regions))
}
