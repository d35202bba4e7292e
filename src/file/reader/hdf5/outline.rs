//! The outline of a view (docs/hdf5.md): what a program that appends needs to know of a file's records and
//! rows.

use super::contents::{Contents, DataLocation, FileDataset, GroupAttributes, MOST_OUTLINED};
use super::metadata::{Metadata, SectionKey};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{copy, reserve};
use scda_base::numbers::{MAX_OFFSET, PACKED_BYTES, product, put_packed, take_packed, to_usize};
use scda_format::COUNT_BYTES;
use scda_format::crc;
use scda_format::dataset::stored_dataset::{DataSection, ElementKind};
use scda_format::header::SectionType;
use scda_hdf5::{Data, Extent, Outline, Part};
use std::collections::HashMap;
use std::sync::Arc;

/// The most bytes of the constants, and of the extents.
const MOST_BYTES: usize = 32 << 10;
/// The most datasets before the repeated ones.
const MOST_BEFORE: usize = 1 << 12;
/// The fewest bytes that a dataset takes in a file.
const DATASET_BYTES: u64 = 256;

const TYPES: [SectionType; 4] =
    [SectionType::Inline, SectionType::Block, SectionType::Array, SectionType::Varray];

/// A sequence of numbers and texts, for writing.
#[derive(Default)]
struct Out(Vec<u8>);

impl Out {
    fn number(&mut self, number: u64) -> Result<()> {
        let mut bytes = [0; PACKED_BYTES];
        let length = put_packed(number, &mut bytes);
        reserve(&mut self.0, length)?;
        self.0.extend_from_slice(&bytes[..length]);
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> Result<()> {
        self.number(text.len() as u64)?;
        reserve(&mut self.0, text.len())?;
        self.0.extend_from_slice(text);
        Ok(())
    }
}

/// Reads the sequence that [`Out`] has written.
struct In<'a>(&'a [u8]);

impl<'a> In<'a> {
    fn number(&mut self) -> Result<u64> {
        take_packed(&mut self.0).filter(|&number| number <= MAX_OFFSET).ok_or_else(wrong)
    }

    fn text(&mut self) -> Result<&'a [u8]> {
        let length = usize::try_from(self.number()?).map_err(|_| wrong())?;
        let (text, rest) = self.0.split_at_checked(length).ok_or_else(wrong)?;
        self.0 = rest;
        Ok(text)
    }

    fn string(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.text()?).map_err(|_| wrong())
    }
}

fn wrong() -> Error {
    Error::new(ErrorKind::Format, "view of HDF5: its outline is damaged")
}

/// The checksum that is stored at the end of the extents.
fn crc_of(constants: &[u8], extents: &[u8]) -> u64 {
    crc::extend(crc::of(constants), extents)
}

/// Where the repetition at the end of an order begins, and its period; 0 if there is none.
fn repeated(order: &[usize]) -> (usize, usize) {
    let Some((last, before)) = order.split_last() else { return (0, 0) };
    let mut found = (order.len(), 0);
    // A name may occur several times in each period.
    for (at, _) in before.iter().enumerate().rev().filter(|(_, name)| *name == last).take(4) {
        let period = before.len() - at;
        let same = order.iter().zip(&order[period..]).rev().take_while(|(a, b)| a == b).count();
        let begin = order.len() - (same + period) / period * period;
        if begin < found.0 {
            found = (begin, period);
        }
    }
    found
}

/// The outline of the view that begins at this offset, after this many seals; `None` if the next writer has
/// to read the indexes.
pub(super) fn outline(contents: &mut Contents, begin: u64, seals: u64) -> Result<Option<Outline>> {
    let has_others = contents.view.has_parts() || contents.view.hidden().next().is_some();
    if contents.last.len() > MOST_OUTLINED || has_others || contents.is_open() {
        return Ok(None);
    }
    let (mut constants, mut extents) = (Out::default(), Out::default());
    extents.number(begin)?;
    extents.number(seals)?;
    let order = contents.view.order();
    let (first, period) = repeated(order);
    if first > MOST_BEFORE || period > MOST_BEFORE {
        return Ok(None);
    }
    extents.number(first as u64)?;
    extents.number(period as u64)?;
    extents.number((order.len() - first).checked_div(period).unwrap_or(0) as u64)?;
    order[..first + period].iter().try_for_each(|&name| extents.number(name as u64))?;
    constants.number(contents.groups.len() as u64)?;
    for (path, attributes) in &contents.groups {
        constants.text(path.as_bytes())?;
        constants.text(attributes.text.as_bytes())?;
    }
    let mut texts: HashMap<&[u8], u64> = HashMap::new();
    constants.number(contents.last.len() as u64)?;
    let mut all = 0;
    for (name, extent) in contents.view.extents() {
        let (Some(extent), Some(&number)) = (extent, contents.last.get(name)) else { return Ok(None) };
        let FileDataset { data, user, metadata, attributes, place, .. } = &contents.found[number];
        let offset = match place {
            DataLocation::Plain(offset) | DataLocation::Chunks(offset, _) => *offset,
            DataLocation::Text => return Ok(None),
        };
        let (section, count, size, is_compressed) = metadata.section;
        if metadata.text.is_empty() || is_compressed {
            return Ok(None);
        }
        constants.text(user.as_bytes())?;
        constants.number(section.letter().into())?;
        constants.number(count)?;
        constants.number(size)?;
        // Datasets that are alike share their text.
        let known = texts.len() as u64;
        let text = *texts.entry(&metadata.text).or_insert(known);
        constants.number(text)?;
        if text == known {
            constants.text(&metadata.text)?;
        }
        constants.number(attributes.is_some().into())?;
        constants.text(attributes.as_deref().unwrap_or_default().as_bytes())?;
        let Extent { records, rows, chunk_rows, chunks, somewhere } = extent;
        for number in [*data, offset, records, rows, chunk_rows, chunks, somewhere] {
            extents.number(number)?;
        }
        all += 1;
        if constants.0.len().max(extents.0.len()) > MOST_BYTES {
            return Ok(None);
        }
    }
    if all != contents.last.len() {
        return Ok(None);
    }
    let crc = crc_of(&constants.0, &extents.0);
    reserve(&mut extents.0, size_of::<u64>())?;
    extents.0.extend(crc.to_le_bytes());
    Ok(Some(Outline { constants: constants.0, extents: extents.0, is_due: false }))
}

/// The offset at which the view of this outline begins.
///
/// # Errors
/// `Format` if its checksum is wrong.
pub(super) fn begin(outline: &Outline) -> Result<u64> {
    In(checked(outline)?).number()
}

/// The extents of an outline, after its checksum was verified.
fn checked(outline: &Outline) -> Result<&[u8]> {
    let (extents, crc) = outline.extents.split_last_chunk().ok_or_else(wrong)?;
    if u64::from_le_bytes(*crc) == crc_of(&outline.constants, extents) { Ok(extents) } else { Err(wrong()) }
}

/// The end of the data of a section at offset `section` whose data are at `data`; of a varray, the end of its
/// size entries. `None` if that lies beyond any file.
fn end_of((section_type, count, size, _): SectionKey, section: u64, data: u64) -> Option<u64> {
    let (begin, bytes) = match section_type {
        SectionType::Varray => (section, product(count, COUNT_BYTES as u64)?),
        SectionType::Array => (data, product(count, size)?),
        SectionType::Inline | SectionType::Block => (data, size),
    };
    begin.max(section).checked_add(bytes)
}

/// The contents of the file up to the view of this outline, and the number of seals before the view.
///
/// # Errors
/// `Format` if it is wrong; `Memory`.
pub(super) fn contents(outline: &Outline) -> Result<(Contents, u64)> {
    let (mut constants, mut extents) = (In(&outline.constants), In(checked(outline)?));
    let mut contents = Contents::of_outline(extents.number()?);
    let seals = extents.number()?;
    let [first, period, times] = [extents.number()?, extents.number()?, extents.number()?];
    if (period == 0) != (times == 0) || first.max(period) > MOST_BEFORE as u64 {
        return Err(wrong());
    }
    let total = product(period, times).and_then(|repeated| first.checked_add(repeated));
    let total = total.filter(|&total| total <= contents.outlined / DATASET_BYTES).ok_or_else(wrong)?;
    let mut order = Vec::new();
    reserve(&mut order, to_usize(total))?;
    for _ in 0..first + period {
        order.push(to_usize(extents.number()?));
    }
    for _ in 1..times {
        order.extend_from_within(to_usize(first)..to_usize(first + period));
    }
    for _ in 0..constants.number()? {
        let (path, attributes) = (constants.string()?, constants.string()?);
        let text = attributes.to_owned();
        contents.groups.insert(path.to_owned(), GroupAttributes { text, is_viewed: true });
        contents.view.group(path, attributes)?;
    }
    let mut counts = Vec::new();
    let mut texts: Vec<Arc<[u8]>> = Vec::new();
    let mut known: Option<Arc<Metadata>> = None;
    for _ in 0..constants.number()? {
        let user = constants.string()?;
        let letter = constants.number()?;
        let section = TYPES.into_iter().find(|of| u64::from(of.letter()) == letter).ok_or_else(wrong)?;
        let section: SectionKey = (section, constants.number()?, constants.number()?, false);
        let number = to_usize(constants.number()?);
        if number == texts.len() {
            texts.push(copy(constants.text()?)?.into());
        }
        let text = texts.get(number).ok_or_else(wrong)?;
        let has_attributes = constants.number()? > 0;
        let attributes = Some(constants.string()?.to_owned()).filter(|_| has_attributes);
        let metadata = match known.filter(|known| Arc::ptr_eq(&known.text, text) && known.section == section)
        {
            Some(known) => known,
            None => {
                let (section_type, count, size, is_compressed) = section;
                let of = DataSection { section_type, user: user.as_bytes(), count, size, is_compressed };
                Arc::new(Metadata::parse(text, text.clone(), contents.outlined, of)?)
            }
        };
        known = Some(metadata.clone());
        let mut numbers = [0; 7];
        for number in &mut numbers {
            *number = extents.number()?;
        }
        let [data, offset, records, rows, chunk_rows, chunks, somewhere] = numbers;
        let extent = Extent { records, rows, chunk_rows, chunks, somewhere };
        let is_there = end_of(section, data, offset).is_some_and(|end| end <= contents.outlined);
        if !is_there || records == 0 || somewhere > chunks {
            return Err(wrong());
        }
        counts.push(records);
        let mut found = FileDataset::new(data, user, metadata, DataLocation::Plain(offset));
        found.attributes = attributes;
        if chunk_rows > 0 {
            found.rows = rows;
        }
        let are_rows = found.metadata.stored.elements == ElementKind::Rows;
        let place = if are_rows { Data::Plain(offset) } else { Data::Unread(somewhere) };
        let part = Part { stored: &found.metadata.stored, data: place };
        found.shown = Some(contents.view.restore(found.name(), found.attributes(), &part, extent)?);
        contents.push(found)?;
    }
    for &name in &order {
        let count = counts.get_mut(name).ok_or_else(wrong)?;
        *count = count.checked_sub(1).ok_or_else(wrong)?;
    }
    if counts.iter().any(|&left| left > 0) || contents.last.len() != counts.len() {
        return Err(wrong());
    }
    *contents.view.order() = order;
    // Additions refer to a dataset by the offset of its data.
    contents.found.sort_by_key(|found| found.data);
    contents.number_last()?;
    Ok((contents, seals))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An outline of these constants and extents, with the right checksum.
    fn of(constants: &Out, extents: &[u64]) -> Outline {
        let mut out = Out::default();
        extents.iter().for_each(|&number| out.number(number).unwrap());
        let crc = crc_of(&constants.0, &out.0);
        out.0.extend(crc.to_le_bytes());
        Outline { constants: constants.0.clone(), extents: out.0, is_due: false }
    }

    /// A dataset of this many bytes in chunks of one byte, in an array.
    fn dataset(bytes: u64) -> Out {
        let mut out = Out::default();
        out.number(0).unwrap();
        out.number(1).unwrap();
        out.text(b"a").unwrap();
        [u64::from(b'A'), bytes, 1, 0].iter().for_each(|&number| out.number(number).unwrap());
        let text = format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[{bytes}],"data_type":"uint8","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[1]}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}]}}"#
        );
        out.text(text.as_bytes()).unwrap();
        out.number(0).unwrap();
        out.text(b"").unwrap();
        out
    }

    #[test]
    fn what_is_wrong_in_spite_of_its_checksum_is_an_error() {
        let view = 100_000;
        let found = contents(&of(&dataset(8), &[view, 0, 1, 0, 0, 0, 512, 640, 1, 0, 0, 0, 0]));
        assert_eq!(found.unwrap().0.found.len(), 1);
        let wrong = |constants, extents: &[u64]| assert!(contents(&of(&constants, extents)).is_err());
        // An endless repetition of nothing; more than the file has; data beyond the view.
        wrong(dataset(8), &[view, 0, 1, 0, 1 << 62, 0, 512, 640, 1, 0, 0, 0, 0]);
        wrong(dataset(8), &[view, 0, 1, 1, 1 << 62, 0, 0, 512, 640, 1, 0, 0, 0, 0]);
        wrong(dataset(8), &[view, 0, 1 << 13, 0, 0, 0, 512, 640, 1, 0, 0, 0, 0]);
        wrong(dataset(1 << 31), &[view, 0, 1, 0, 0, 0, 512, 640, 1, 0, 0, 0, 0]);
        wrong(dataset(8), &[view, 0, 1, 0, 0, 0, 512, view - 7, 1, 0, 0, 0, 0]);
        wrong(dataset(8), &[view, 0, 1, 0, 0, 0, view, 640, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn numbers_and_texts() {
        let mut out = Out::default();
        let numbers = [0, 127, 128, 300, (1 << 63) - 1];
        numbers.iter().for_each(|&number| out.number(number).unwrap());
        out.text(b"abc").unwrap();
        let mut all = In(&out.0);
        assert!(numbers.iter().all(|&number| all.number().unwrap() == number));
        assert_eq!((all.text().unwrap(), all.0.len()), (&b"abc"[..], 0));
        assert!(all.number().is_err() && In(&[255; 20]).number().is_err() && In(&[9, 1]).text().is_err());
    }

    #[test]
    fn what_follows_one_another_again_and_again() {
        for (order, expected) in [
            (&[][..], (0, 0)),
            (&[0], (1, 0)),
            (&[0, 1, 2, 1, 2, 1, 2], (1, 2)),
            (&[0, 1, 1, 0, 1, 1, 0, 1, 1], (0, 3)),
            (&[0, 1, 2, 0, 1, 2, 3], (7, 0)),
            (&[0, 1, 2, 1, 2, 1], (2, 2)),
        ] {
            assert_eq!(repeated(order), expected, "{order:?}");
        }
    }
}
