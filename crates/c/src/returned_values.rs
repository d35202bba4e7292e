//! Values that belong to a file, and for which C has pointers or numbers: those in the description of a
//! dataset, attributes, and sets of streams.

use super::dataset::{fill_words, scda_dataset_t, without_pointers};
use super::memory::Values;
use super::pointers::Text;
use super::types::OwnedTypes;
use scda::Texts;
use scda::{DatasetHandle, Reader, Stream, Streams};
use scda_base::error::{Error, Result};
use scda_base::memory::reserve;
use scda_format::dataset::Dataset;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_char;
use std::ptr::null;

/// Texts, fill values and names of dimensions that C has pointers to. Equal ones are kept once, and none
/// moves until the file is closed.
#[derive(Default)]
struct InternedValues {
    /// The bytes of all of them.
    bytes: u64,
    texts: BTreeSet<Vec<u8>>,
    fill_values: BTreeSet<Vec<u64>>,
    dimension_names: BTreeSet<Vec<*const c_char>>,
}

// SAFETY: the pointers refer to texts that are kept with them and never change.
unsafe impl Send for InternedValues {}

impl InternedValues {
    /// The part of a text that C sees: everything before a NUL.
    fn text(&mut self, text: &str) -> Result<*const c_char> {
        let seen = text.split('\0').next().unwrap_or_default().as_bytes();
        let mut terminated = Vec::new();
        reserve(&mut terminated, seen.len() + 1)?;
        terminated.extend_from_slice(seen);
        terminated.push(0);
        Ok(kept(&mut self.texts, terminated, &mut self.bytes).cast())
    }

    /// NULL for no text.
    fn optional_text(&mut self, text: Option<&str>) -> Result<*const c_char> {
        text.map_or(Ok(null()), |text| self.text(text))
    }

    /// NULL if no dimension has a name.
    fn dimension_names(&mut self, names: &[Option<String>]) -> Result<*const *const c_char> {
        if names.is_empty() {
            return Ok(null());
        }
        let pointers = names.iter().map(|name| self.optional_text(name.as_deref()));
        let pointers = pointers.collect::<Result<_>>()?;
        Ok(kept(&mut self.dimension_names, pointers, &mut self.bytes))
    }
}

/// Keeps a list unless there is an equal one; returns the one that is kept.
fn kept<T: Ord>(lists: &mut BTreeSet<Vec<T>>, list: Vec<T>, bytes: &mut u64) -> *const T {
    if let Some(equal) = lists.get(&list) {
        return equal.as_ptr();
    }
    let pointer = list.as_ptr();
    *bytes += size_of_val(&*list) as u64;
    lists.insert(list);
    pointer
}

/// The datasets that were found or read last, so that those that a program reads in turns are found only
/// once.
#[derive(Default)]
pub struct RecentDatasets(Vec<DatasetHandle>);

/// The number of datasets to keep.
const MOST_RECENT: usize = 64;

impl RecentDatasets {
    /// Keeps a dataset.
    pub fn keep(&mut self, dataset: DatasetHandle) {
        let offset = dataset.metadata_section().offset;
        self.0.retain(|other| other.metadata_section().offset != offset);
        if self.0.len() == MOST_RECENT {
            self.0.remove(0);
        }
        self.0.push(dataset);
    }

    /// Removes and returns the dataset at this offset, if it is kept.
    pub fn take(&mut self, offset: u64) -> Option<DatasetHandle> {
        let place = self.0.iter().position(|dataset| dataset.metadata_section().offset == offset)?;
        Some(self.0.remove(place))
    }
}

/// The values that C has pointers or numbers of, until the file is closed.
#[derive(Default)]
pub struct ReturnedValues {
    /// What makes the numbers of this file differ from those of all others: see [`Self::number`].
    file: u64,
    pub datasets: RecentDatasets,
    types: OwnedTypes,
    kept: InternedValues,
    /// The items of variable length that were last read.
    pub texts: Option<Texts>,
    /// The sets of streams that were found, by their numbers for C.
    streams: BTreeMap<u64, FoundStreams>,
}

/// A set of streams, and the stream of it that was last read.
struct FoundStreams {
    set: Streams,
    stream: Option<(u64, Stream)>,
}

impl ReturnedValues {
    /// Begins with the handle of a file, which no other file ever has.
    pub fn belong_to(&mut self, file: usize) {
        // The factor is odd, so that handles have different products, which are far from each other.
        self.file = (file as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// The number for C of what begins at this offset of the file.
    pub fn number(&self, offset: u64) -> u64 {
        offset.wrapping_add(self.file)
    }

    /// The offset that has this number. If it is the number of another file, the file has no such offset.
    pub fn offset(&self, number: u64) -> u64 {
        number.wrapping_sub(self.file)
    }

    /// Keeps a set of streams, and returns its number for C.
    pub fn keep_streams(&mut self, set: Streams) -> u64 {
        let number = self.number(set.number());
        self.streams.insert(number, FoundStreams { set, stream: None });
        number
    }

    /// The set of streams with this number.
    pub fn streams(&self, number: u64) -> Result<&Streams> {
        self.streams.get(&number).map(|found| &found.set).ok_or_else(|| no_streams(number))
    }

    /// A stream of the set with this number.
    pub fn stream(&mut self, reader: &mut Reader, number: u64, task: u64) -> Result<&Stream> {
        let found = self.streams.get_mut(&number).ok_or_else(|| no_streams(number))?;
        let stream = match found.stream.take().filter(|(kept, _)| *kept == task) {
            Some((_, stream)) => stream,
            None => found.set.stream(reader, task)?,
        };
        Ok(&found.stream.insert((task, stream)).1)
    }

    /// The bytes of all values that are kept until the file is closed, if further ones have this many bytes.
    pub fn bytes_with(&self, more: usize) -> u64 {
        self.kept.bytes.saturating_add(more as u64)
    }

    /// The dataset in C's representation, which points to values kept here.
    pub fn dataset(&mut self, dataset: &Dataset) -> Result<scda_dataset_t<'static>> {
        let kept = &mut self.kept;
        let mut c = without_pointers(dataset);
        // SAFETY: the pointers are kept, or NULL.
        c.dimension_names = unsafe { Values::at(kept.dimension_names(&dataset.dimension_names)?) };
        let fill_value = self::kept(&mut kept.fill_values, fill_words(dataset), &mut kept.bytes);
        // SAFETY: the fill value is kept.
        c.fill_value = unsafe { Values::at(fill_value.cast()) };
        // SAFETY: the attributes are kept.
        c.attributes = unsafe { Text::at(kept.text(&dataset.attributes)?) };
        // SAFETY: the string is kept, or NULL.
        c.unsupported = unsafe { Text::at(kept.optional_text(dataset.unsupported.as_deref())?) };
        let described = self.types.describe(dataset.data_type);
        (c.unit, c.members) = (described.unit, described.members);
        Ok(c)
    }

    /// Attributes in C's representation.
    pub fn attributes(&mut self, text: &str) -> Result<*const c_char> {
        self.kept.text(text)
    }
}

fn no_streams(number: u64) -> Error {
    Error::argument(format!(
        "streams: found {number}, expected a set found by scda_ffind_streams in this file"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::of_c;
    use scda_format::dataset::DataType;

    #[test]
    fn what_was_given_can_be_written_again() {
        let mut dataset = Dataset::new("velocity", DataType::Int16, [2, 3]);
        dataset.attributes = r#"{"units":"m/s"}"#.into();
        dataset.dimension_names = vec![Some("y".into()), None];
        dataset.fill_value = vec![7, 1];
        let mut given = ReturnedValues::default();
        let c = given.dataset(&dataset).unwrap();
        assert!(c.unsupported.is_null());
        assert_eq!(of_c(&c).unwrap().dataset, dataset);

        let mut names = Dataset::new("names", DataType::String, [2]);
        names.fill_value = b"none at all".into();
        let later = given.dataset(&names).unwrap();
        assert_eq!(later.item_bytes, 0);
        assert_eq!(of_c(&later).unwrap().dataset, names);
        // What was returned first stays, and what is equal is not kept again.
        assert_eq!(of_c(&c).unwrap().dataset, dataset);
        let bytes = given.bytes_with(0);
        let again = given.dataset(&dataset).unwrap();
        assert_eq!(again.fill_value.pointer(), c.fill_value.pointer());
        assert_eq!(again.dimension_names.pointer(), c.dimension_names.pointer());
        assert_eq!(given.attributes(&dataset.attributes).unwrap(), c.attributes.get("").unwrap().as_ptr());
        assert!(given.bytes_with(0) == bytes && bytes > 20);

        // U+0000, which JSON allows, ends a C string.
        dataset.dimension_names = vec![Some("y\0z".into()), Some(String::new())];
        let c = given.dataset(&dataset).unwrap();
        dataset.dimension_names[0] = Some("y".into());
        assert_eq!(of_c(&c).unwrap().dataset, dataset);
    }
}
