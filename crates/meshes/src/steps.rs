//! The time steps of a group, and the datasets in them.

use crate::notes::{MeshNotes, notes_of};
use scda::{
    Collective, DataType, Dataset, DatasetHandle, Error, ErrorKind, IndexBox, Reader, Result, Writer,
};
use scda_base::memory::{reserve, resize};
use scda_base::numbers::to_usize;
use scda_format::dataset::without_root;
use scda_format::meshes::checksum::Checksum;
use scda_format::meshes::parts::TIME;
use scda_format::meshes::{Convention, DIMENSION, MeshError, OF_MESH, Part, attributes, part_name};
use std::ops::{Range, RangeInclusive};

/// Begins a time step, to which everything belongs that is written until the next call. Writes the time of
/// rank 0, with these attributes, a JSON object.
///
/// # Errors
/// `Argument`, and those of [`Writer::dataset`].
pub fn write_time(
    file: &mut Writer,
    notes: &mut MeshNotes,
    group: &str,
    time: f64,
    attributes: Result<String>,
) -> Result<()> {
    let name = part_name(group, TIME.name).and_then(|name| Ok((name, attributes?)));
    let (name, attributes) = file.agree_on(name)?;
    let mut dataset = Dataset::new(name, DataType::Float64, []);
    dataset.attributes = attributes;
    let all = [IndexBox::all(&[])];
    let mine = if file.rank() == 0 { &all[..] } else { &[] };
    let bytes = time.to_ne_bytes();
    file.dataset(&dataset, mine, if mine.is_empty() { &[][..] } else { &bytes })?;
    notes_of(notes, group).has_fields = false;
    Ok(())
}

/// The name of the dataset whose records begin the time steps of a group: its own times, or for particles
/// without times, those of their mesh.
///
/// # Errors
/// `Argument` for a name that is too long, and those of [`Reader::find`] and [`Reader::group`].
pub fn times_of(file: &mut Reader, group: &str) -> Result<String> {
    let name = part_name(group, TIME.name);
    let name = file.agree_on(name)?;
    if file.find(name.as_bytes(), 0)?.is_some() {
        return Ok(name);
    }
    let attributes = file.group(group)?.map(|group| group.attributes).unwrap_or_default();
    let kind = attributes::value(&attributes, Convention::Particles.attribute());
    let mesh = kind.and_then(|_| attributes::text(&attributes, OF_MESH));
    // A name that no group can have refers to no mesh.
    Ok(mesh.and_then(|mesh| part_name(&mesh, TIME.name).ok()).unwrap_or(name))
}

/// The number of time steps. Without times, a mesh or particles are a single step, and any other group has
/// none.
///
/// # Errors
/// Those of [`times_of`] and [`Reader::find`].
pub fn count(file: &mut Reader, group: &str) -> Result<u64> {
    let name = times_of(file, group)?;
    let times = records_before(file, &name, u64::MAX)?;
    if times > 0 {
        return Ok(times);
    }
    for kind in Convention::ALL {
        let first_part = kind.parts()[0].name;
        if file.find(format!("{}/{first_part}", without_root(group)).as_bytes(), 0)?.is_some() {
            return Ok(1);
        }
    }
    Ok(0)
}

/// The time of a step: 0 is the first one, -1 the last one.
///
/// # Errors
/// `NotFound` if there is no such step, or no time of it; `Format` for an invalid time; those of
/// [`Reader::dataset_record`] and [`DatasetHandle::read`].
pub fn read_time(file: &mut Reader, group: &str, step: i64) -> Result<f64> {
    let name = times_of(file, group)?;
    let time = match file.dataset_record(&name, step)? {
        Some(time) => time,
        None => {
            // Says how many there are.
            sections(file, group, step)?;
            existing(file, &name, step)?
        }
    };
    let time = fitting(file, time, &TIME, 0, None)?;
    let mut bytes = [0; 8];
    time.read(file, &[IndexBox::all(&[])], &mut bytes)?;
    Ok(f64::from_ne_bytes(bytes))
}

/// The sections of a step of a group: 0 is the first one, -1 the last one. Without times, all sections are a
/// single step.
///
/// # Errors
/// `NotFound` if there is no such step; those of [`Reader::find`].
pub fn sections(file: &mut Reader, group: &str, step: i64) -> Result<Range<u64>> {
    let name = times_of(file, group)?;
    if let Some(begin) = file.find(name.as_bytes(), step)? {
        let end = if step == -1 { None } else { file.find(name.as_bytes(), step + 1)? };
        return Ok(begin..end.unwrap_or(u64::MAX));
    }
    let count = records_before(file, &name, u64::MAX)?;
    if count == 0 && [0, -1].contains(&step) {
        return Ok(0..u64::MAX);
    }
    let words = format!("{group} has no step {step}: it has {}, counted from 0", self::count(file, group)?);
    file.agree_on(Err(Error::not_found(words)))
}

/// The number of records of this name before a section.
fn records_before(file: &mut Reader, name: &str, end: u64) -> Result<u64> {
    let mut is_before = |record: u64| -> Result<bool> {
        let found = file.find(name.as_bytes(), i64::try_from(record).unwrap_or(i64::MAX))?;
        Ok(found.is_some_and(|section| section < end))
    };
    if !is_before(0)? {
        return Ok(0);
    }
    // The records before `least` are before the section, that of `most` is not.
    let (mut least, mut most) = (1, 1);
    while is_before(most)? {
        (least, most) = (most + 1, 2 * most + 1);
    }
    while least < most {
        let middle = u64::midpoint(least, most);
        if is_before(middle)? {
            least = middle + 1;
        } else {
            most = middle;
        }
    }
    Ok(least)
}

/// The last record of a name within some sections.
///
/// # Errors
/// Those of [`Reader::find`].
pub fn last(file: &mut Reader, name: &str, sections: &Range<u64>) -> Result<Option<i64>> {
    match file.find(name.as_bytes(), -1)? {
        Some(section) if section < sections.start => return Ok(None),
        Some(section) if section < sections.end => return Ok(Some(-1)),
        Some(_) => {}
        None => return Ok(None),
    }
    let Some(record) = records_before(file, name, sections.end)?.checked_sub(1) else { return Ok(None) };
    let record = i64::try_from(record).unwrap_or(i64::MAX);
    let section = file.find(name.as_bytes(), record)?;
    Ok(section.filter(|&section| section >= sections.start).map(|_| record))
}

/// A step in messages.
fn called(step: i64) -> String {
    if step == -1 { "the last step".to_owned() } else { format!("step {step}") }
}

/// The last record of a name within some sections, which must exist. `step` is for messages.
pub(crate) fn need(file: &mut Reader, name: &str, sections: &Range<u64>, step: i64) -> Result<i64> {
    if let Some(record) = last(file, name, sections)? {
        return Ok(record);
    }
    let place = if sections.start == 0 { "up to the end of" } else { "in" };
    let words = format!("there is no dataset {name} {place} {}", called(step));
    file.agree_on(Err(Error::not_found(words)))
}

/// The name of the dataset of a field of a step, and its record; `None` if the step has no such field.
///
/// # Errors
/// `NotFound` if there is no such step; those of [`Reader::find`].
pub fn field(file: &mut Reader, group: &str, step: i64, name: Result<&str>) -> Result<Option<(String, i64)>> {
    let name = name.and_then(|name| part_name(group, &format!("fields/{name}")));
    let name = file.agree_on(name)?;
    let of_step = sections(file, group, step)?;
    Ok(last(file, &name, &of_step)?.map(|record| (name, record)))
}

/// Finds the last record of a field within some sections, which must exist. Its shape must be that of `expected`, with
/// a row for each of `what`; if it refers to a mesh, that must have this checksum.
pub(crate) fn find_field(
    file: &mut Reader,
    expected: &Dataset,
    (sections, step): (&Range<u64>, i64),
    what: &str,
    mesh: Option<Checksum>,
) -> Result<DatasetHandle> {
    let record = need(file, &expected.name, sections, step)?;
    let found = existing(file, &expected.name, record)?;
    let (shape, own) = (&*found.shape, &*expected.shape);
    if shape == own {
        if let Some(checksum) = mesh {
            expect_mesh(file, &found, checksum, "that was read: read that of the same step")?;
        }
        return Ok(found);
    }
    let other = if shape.first() == own.first() { "" } else { " that was read: read those of the same step" };
    let name = &expected.name;
    let words = format!("{name}: found the shape {shape:?}, expected {own:?}, a row for each {what}{other}");
    // The same on all ranks.
    file.agree_on(Err(Error::new(ErrorKind::Format, words)))
}

/// Requires that a dataset that refers to a mesh refers to the one with this checksum. `whose` describes it in
/// messages.
pub(crate) fn expect_mesh(
    file: &mut Reader,
    dataset: &Dataset,
    checksum: Checksum,
    whose: &str,
) -> Result<()> {
    let checked = attributes::expect_mesh(&dataset.attributes, "", checksum, whose);
    checked.or_else(|MeshError { words, .. }| {
        let words = format!("dataset {}: {words}", dataset.name);
        file.agree_on(Err(Error::new(ErrorKind::Format, words)))
    })
}

/// Opens a record of a part of a mesh of `d` axes, which must exist, with this number of rows; `None`: any number.
pub(crate) fn open(
    file: &mut Reader,
    (group, record): (&str, i64),
    part: &Part,
    d: usize,
    rows: Option<u64>,
) -> Result<DatasetHandle> {
    let found = existing(file, &part_name(group, part.name)?, record)?;
    fitting(file, found, part, d, rows)
}

/// Finds a record of a dataset, which must exist.
pub(crate) fn existing(file: &mut Reader, name: &str, record: i64) -> Result<DatasetHandle> {
    match file.dataset_record(name, record)? {
        Some(found) => Ok(found),
        // The same on all ranks.
        None => file.agree_on(Err(Error::not_found(format!("dataset {name}: there is no such dataset")))),
    }
}

/// The dataset, which must be this part.
fn fitting(
    file: &mut Reader,
    found: DatasetHandle,
    part: &Part,
    d: usize,
    rows: Option<u64>,
) -> Result<DatasetHandle> {
    match part.fits(&found, d, rows) {
        Ok(()) => Ok(found),
        // The same on all ranks.
        Err(MeshError { words, .. }) => {
            let words = format!("dataset {}: {words}", found.name);
            file.agree_on(Err(Error::new(ErrorKind::Format, words)))
        }
    }
}

/// The attributes of a group, which must follow a convention in this version.
pub(crate) fn group(file: &mut Reader, group: &str, kind: Convention, version: u64) -> Result<String> {
    let found = file.group(group)?.map(|group| group.attributes);
    let (what, kind) = (kind.what(), kind.attribute());
    let error = match found {
        Some(attributes) => match attributes::whole_number(&attributes, kind) {
            Some(found) if found == version => return Ok(attributes),
            Some(found) => {
                let words = format!("the group {group}: found version {found} of {kind}, expected {version}");
                Error::new(ErrorKind::Unsupported, words)
            }
            None => match attributes::value(&attributes, kind) {
                Some(value) => {
                    let words = format!(
                        "the group {group}: attribute {kind}: found {value}, expected a whole number"
                    );
                    Error::new(ErrorKind::Format, words)
                }
                None => Error::not_found(format!(
                    "there is no {what} \"{group}\": the group has no attribute {kind}"
                )),
            },
        },
        None => {
            let words =
                format!("there is no {what} \"{group}\": no group of this name has an attribute {kind}");
            Error::not_found(words)
        }
    };
    file.agree_on(Err(error))
}

/// The dimension of a mesh, one of `allowed`; its group must follow a convention in this version.
pub(crate) fn dimension(
    file: &mut Reader,
    group: &str,
    kind: Convention,
    version: u64,
    allowed: RangeInclusive<u64>,
) -> Result<usize> {
    let attributes = self::group(file, group, kind, version)?;
    if let Some(found) = attributes::whole_number(&attributes, DIMENSION).filter(|d| allowed.contains(d)) {
        return Ok(to_usize(found));
    }
    let found = attributes::value(&attributes, DIMENSION).unwrap_or_else(|| "none".to_owned());
    let (least, most) = allowed.into_inner();
    let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let what = if kind == Convention::Patches { "patches" } else { "forest" };
    let words = format!("the {what} {group}: found the dimension {found}, expected {expected}");
    // The same on all ranks.
    file.agree_on(Err(Error::new(ErrorKind::Format, words)))
}

/// Reads the numbers of some rows of a dataset.
pub(crate) fn read_rows<T, const N: usize>(
    file: &mut Reader,
    dataset: &DatasetHandle,
    regions: &[IndexBox],
    of: fn([u8; N]) -> T,
) -> Result<Vec<T>> {
    let (mut bytes, mut all) = (Vec::new(), Vec::new());
    let items = regions.iter().try_fold(0_u64, |all, region| Ok(all + region.items()?));
    let room = items.and_then(|items| {
        resize(&mut bytes, items.saturating_mul(N as u64))?;
        reserve(&mut all, bytes.len() / N)
    });
    file.agree_on(room)?;
    dataset.read(file, regions, &mut bytes)?;
    all.extend(bytes.as_chunks().0.iter().map(|bytes| of(*bytes)));
    Ok(all)
}
