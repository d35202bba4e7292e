//! Adds rows to a dataset that is already in the file (docs/datasets.md).

use super::DatasetWriter;
use crate::file::reader::DatasetPlace;
use crate::file::team::{Failure, Topic, on_rank_0};
use scda_base::error::{Error, Result};
use scda_format::dataset::additions::{check_rows, later_of, most_rows, rows_attributes, rows_of, rows_user};
use scda_format::dataset::{Dataset, check_name};
use scda_format::layout::sum;
use std::borrow::Cow;
use std::collections::HashMap;

/// The lengths of at most this many datasets are kept.
const MOST_KNOWN: usize = 1000;

/// The datasets to which rows were added, by name.
#[derive(Default)]
pub(in crate::file::writer) struct ExtendedDatasets(HashMap<String, LastOfName>);

/// The last dataset of a name.
struct LastOfName {
    /// The offset of its data.
    data: u64,
    /// The number of its rows so far.
    rows: u64,
    /// The most rows that it may have, if its attributes limit them.
    most: Option<u64>,
    /// Its description as it was found, on rank 0.
    dataset: Option<Dataset>,
    /// True if its attributes include the bounds of its rounding, or if it is not rounded.
    has_bounds: bool,
}

impl ExtendedDatasets {
    /// Called when another dataset of this name is written, or when this one gets other attributes.
    pub fn forget(&mut self, name: &str) {
        if !self.0.is_empty() {
            self.0.remove(name);
        }
    }

    /// Called when a section with this user string is written as it is, which may be another dataset of this
    /// name, or an addition to one.
    #[inline]
    pub fn forget_section(&mut self, user: &[u8]) {
        if !self.0.is_empty() {
            self.forget_named(user);
        }
    }

    #[cold]
    fn forget_named(&mut self, user: &[u8]) {
        if let Some((data, _)) = rows_of(user).or_else(|| later_of(user)) {
            self.0.retain(|_, known| known.data != data);
        } else if let Ok(name) = std::str::from_utf8(user) {
            self.0.remove(name);
        }
    }

    /// Called when something was not written after all.
    pub fn forget_all(&mut self) {
        self.0.clear();
    }
}

impl DatasetWriter<'_> {
    /// The dataset as it is written: added rows have a user string that refers to their dataset, and the
    /// number of earlier rows in their attributes.
    pub(super) fn as_written<'d>(&mut self, dataset: &'d Dataset) -> Result<Cow<'d, Dataset>, Failure> {
        let Dataset { name, shape, .. } = dataset;
        if !dataset.extends {
            self.cache.extended.forget(name);
            return Ok(Cow::Borrowed(dataset));
        }
        self.sections.team_mut().note_named(Topic::Dataset, &["extends"], &[1]);
        check_name(name)?;
        if !self.sections.is_sealed() {
            let words = "rows can be added only to a file that was opened with params.seal";
            return Err(Error::usage(words).into());
        }
        let are_rounded = dataset.max_relative_error > 0.0 || dataset.max_absolute_error > 0.0;
        let known = self.cache.extended.0.remove(name);
        let known = match known.filter(|known| known.has_bounds || !are_rounded) {
            Some(known) => known,
            None => self.find_to_extend(name, are_rounded)?,
        };
        let first = known.rows;
        // Without a dimension there are no rows; the check reports the error.
        let rows = sum(first, shape.first().copied().unwrap_or(0));
        let rows = rows
            .ok_or_else(|| Error::range(format!("dataset \"{name}\": the number of rows exceeds 63 bits")))?;
        let mut written = dataset.clone();
        written.name = rows_user(known.data, name);
        written.attributes = rows_attributes(first, known.most);
        written.dimension_names = Vec::new();
        let checked = known.dataset.as_ref().map_or(Ok(()), |found| check_rows(found, dataset, rows));
        self.sections.team_mut().tolerate(checked, ())?;
        if self.cache.extended.0.len() >= MOST_KNOWN {
            self.cache.extended.forget_all();
        }
        self.cache.extended.0.insert(name.clone(), LastOfName { rows, ..known });
        Ok(Cow::Owned(written))
    }

    /// Finds the last dataset of this name, to which rows are to be added, rounded or not.
    fn find_to_extend(&mut self, name: &str, are_rounded: bool) -> Result<LastOfName, Failure> {
        self.scheduler().place()?;
        self.sections.flush_for_rank_0()?;
        let wrong = |what| format!("rows that are added to the dataset \"{name}\": {what}");
        let found = on_rank_0(self.sections.team().rank(), || {
            match self.sections.read_own(|own| own.dataset_to_extend(name, are_rounded))? {
                None => Err(Error::not_found(wrong("there is no dataset of this name"))),
                Some(found) if found.big_endian => Err(Error::argument(wrong("its numbers are big-endian"))),
                found => Ok(found),
            }
        });
        let found = self.sections.team_mut().tolerate(found, None)?;
        let place = found.as_ref().map(|DatasetPlace { data, dataset, .. }| {
            let most = most_rows(&dataset.attributes).unwrap_or(u64::MAX);
            [*data, dataset.shape.first().copied().unwrap_or(0), most]
        });
        let [data, rows, most] = self.sections.team_mut().share(0, Ok(place.unwrap_or_default()))?;
        let most = Some(most).filter(|&most| most < u64::MAX);
        Ok(LastOfName {
            data,
            rows,
            most,
            dataset: found.map(|found| found.dataset),
            has_bounds: are_rounded,
        })
    }
}
