//! Values that belong to a file, and for which C has pointers or numbers: those in the description of a
//! dataset, attributes, and sets of streams.

use super::dataset::{fill_words, scda_dataset_t, without_pointers};
use super::memory::Values;
use super::pointers::Text;
use super::types::OwnedTypes;
use scda::Texts;
use scda::{DatasetHandle, Reader, Stream, Streams};
use scda_base::error::{Error, Result};
use scda_format::dataset::Dataset;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::ptr::null;

/// The pointers to the names of dimensions, in C's representation.
#[derive(Default)]
struct DimensionNames(Vec<*const c_char>);

// SAFETY: the pointers refer to strings that are kept with them and never change.
unsafe impl Send for DimensionNames {}

/// The datasets that were found or read last, so that those that a program reads in turns are found only
/// once.
#[derive(Default)]
pub struct RecentDatasets(Vec<DatasetHandle>);

/// The number of datasets to keep.
const MOST_RECENT: usize = 64;

impl RecentDatasets {
    /// Keeps a dataset, and returns its number for C.
    pub fn keep(&mut self, dataset: DatasetHandle) -> u64 {
        let number = dataset.metadata_section().offset;
        self.0.retain(|other| other.metadata_section().offset != number);
        if self.0.len() == MOST_RECENT {
            self.0.remove(0);
        }
        self.0.push(dataset);
        number
    }

    /// Removes and returns the dataset with this number, if it is kept.
    pub fn take(&mut self, number: u64) -> Option<DatasetHandle> {
        let place = self.0.iter().position(|dataset| dataset.metadata_section().offset == number)?;
        Some(self.0.remove(place))
    }
}

/// The values returned last, and the types of all datasets that were returned.
#[derive(Default)]
pub struct ReturnedValues {
    pub datasets: RecentDatasets,
    types: OwnedTypes,
    attributes: CString,
    unsupported: Option<CString>,
    fill_value: Vec<u64>,
    names: Vec<Option<CString>>,
    pointers: DimensionNames,
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
    /// Keeps a set of streams, and returns its number for C.
    pub fn keep_streams(&mut self, set: Streams) -> u64 {
        let number = set.number();
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

    /// The dataset in C's representation, which points to values kept here.
    pub fn dataset(&mut self, dataset: &Dataset) -> scda_dataset_t<'static> {
        self.attributes = c_string(&dataset.attributes);
        self.unsupported = dataset.unsupported.as_deref().map(c_string);
        self.fill_value = fill_words(dataset);
        self.names = dataset.dimension_names.iter().map(|name| name.as_deref().map(c_string)).collect();
        self.pointers = DimensionNames(self.names.iter().map(pointer).collect());
        let mut c = without_pointers(dataset);
        if !self.names.is_empty() {
            // SAFETY: the pointers are kept here.
            c.dimension_names = unsafe { Values::at(self.pointers.0.as_ptr()) };
        }
        // SAFETY: the fill value is kept here.
        c.fill_value = unsafe { Values::at(self.fill_value.as_ptr().cast()) };
        // SAFETY: the attributes are kept here.
        c.attributes = unsafe { Text::at(self.attributes.as_ptr()) };
        // SAFETY: the string is kept here, or NULL.
        c.unsupported = unsafe { Text::at(pointer(&self.unsupported)) };
        let described = self.types.describe(dataset.data_type);
        (c.unit, c.members) = (described.unit, described.members);
        c
    }

    /// Attributes in C's representation.
    pub fn attributes(&mut self, text: &str) -> *const c_char {
        let (streams, texts) = (std::mem::take(&mut self.streams), self.texts.take());
        let (types, datasets) = (std::mem::take(&mut self.types), std::mem::take(&mut self.datasets));
        *self = Self { types, datasets, attributes: c_string(text), streams, texts, ..Self::default() };
        self.attributes.as_ptr()
    }
}

fn no_streams(number: u64) -> Error {
    Error::argument(format!(
        "streams: found {number}, expected a set that scda_ffind_streams has found in this file"
    ))
}

fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(null(), |text| text.as_ptr())
}

/// The part of a text that C sees: everything before a NUL.
fn c_string(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
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
        let c = given.dataset(&dataset);
        assert!(c.unsupported.is_null());
        assert_eq!(of_c(&c).unwrap().dataset, dataset);

        let mut names = Dataset::new("names", DataType::String, [2]);
        names.fill_value = b"none at all".into();
        let c = given.dataset(&names);
        assert_eq!(c.item_bytes, 0);
        assert_eq!(of_c(&c).unwrap().dataset, names);

        // U+0000, which JSON allows, ends a C string.
        dataset.dimension_names = vec![Some("y\0z".into()), Some(String::new())];
        let c = given.dataset(&dataset);
        dataset.dimension_names[0] = Some("y".into());
        assert_eq!(of_c(&c).unwrap().dataset, dataset);
    }
}
