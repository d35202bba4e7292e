//! Reads datasets and attributes of groups, on one rank, from the file that the program is still writing.

use super::ReaderState;
use super::datasets::{AllRows, OpenDataset};
use super::index::Extent;
use super::lookup::Later;
use crate::file::open::Ends;
use crate::file::options::{ReadOptions, Tuning};
use crate::file::session::SessionState;
use crate::file::team::{Failure, Team};
use scda_base::error::Result;
use scda_base::memory::{copy, push, reserve};
use scda_base::numbers::to_usize;
use scda_format::dataset::additions::{later_user, rows_user};
use scda_format::dataset::parse::Metadata;
use scda_format::dataset::{Dataset, group_user, stored_name, stored_path};
use scda_format::index::Row;
use scda_storage::ParallelFile;
use scda_storage::read_at_file::ReadAtFile;
use std::collections::BTreeMap;
use std::io;

/// The approximate memory of a user string and its sections in a map.
const NAME_BYTES: usize = 192;

/// Reads a file that ends without a seal, using the rows that its writer keeps of the sections after the last
/// seal. It is valid until the next seal. It keeps what it has read, so that the cost of a call does not grow
/// with the number of sections.
pub(in crate::file) struct OwnReader {
    /// The writer has the file between calls.
    state: ReaderState,
    /// Where the sealed part ends, and where all sections end.
    sealed: Ends,
    all: Ends,
    /// The sections after the last seal by user string, as far as their rows were added.
    named: BTreeMap<Vec<u8>, NamedSections>,
    rows: usize,
    /// The offset of the last of these sections.
    last: u64,
}

/// The sections with one user string.
#[derive(Default)]
struct NamedSections {
    /// The sections after the last seal, in their order.
    places: Vec<UnsealedSection>,
    /// The number of sealed sections, once it has been determined.
    sealed: Option<u64>,
}

/// A section after the last seal.
#[derive(Clone, Copy)]
struct UnsealedSection {
    offset: u64,
    /// The previous section, if it also follows the last seal.
    before: Option<u64>,
}

/// A dataset and its place in a file.
pub(in crate::file) struct DatasetPlace {
    /// The offset of the section with its data.
    pub data: u64,
    /// Its description, with the current attributes and the shape of all rows.
    pub dataset: Dataset,
    /// Whether its numbers are big-endian in the file.
    pub big_endian: bool,
}

impl OwnReader {
    /// For a file whose last seal ends at `sealed`; 0 if there is none.
    ///
    /// # Errors
    /// The errors of reading the file.
    pub fn new(team: Team, file: &mut dyn ParallelFile, sealed: u64, tuning: &Tuning) -> Result<Self> {
        let params = ReadOptions { tuning: tuning.clone(), ..ReadOptions::default() };
        let sealed = Extent::All.ends(file, sealed)?;
        let state = ReaderState::new(team, Box::new(ReadAtFile(io::empty())), sealed, params);
        Ok(Self { state, sealed, all: sealed, named: BTreeMap::new(), rows: 0, last: 0 })
    }

    /// Whether it is for the file whose last seal ends at `sealed`.
    pub fn is_of(&self, sealed: u64) -> bool {
        self.sealed.file == sealed
    }

    /// Calls `read` with access to the file, whose last section ends at `end`. `rows` describes all sections
    /// after the last seal: those of earlier calls first, then new ones.
    ///
    /// # Errors
    /// `Memory`; those of `read`.
    pub fn read_file<T>(
        &mut self,
        file: &mut Box<dyn ParallelFile>,
        end: u64,
        rows: &[Row],
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.all = Ends { first: self.sealed.first, ..Ends::all(end) };
        self.note(rows)?;
        self.state.sections.input.exchange_file(file);
        let result = read(self);
        self.state.sections.input.exchange_file(file);
        result
    }

    /// Adds the new rows.
    fn note(&mut self, rows: &[Row]) -> Result<()> {
        let new = rows.get(self.rows..).unwrap_or_default();
        // A map cannot report that memory is lacking, so this is tested before.
        reserve(&mut Vec::<[u8; NAME_BYTES]>::new(), new.len())?;
        for row in new {
            if row.section.is_some() {
                let places = &mut self.named.entry(copy(&row.user)?).or_default().places;
                let before = Some(self.last).filter(|&last| last > 0);
                push(places, UnsealedSection { offset: row.offset, before })?;
            }
            self.last = row.offset;
            self.rows += 1;
        }
        Ok(())
    }

    /// The dataset of this name and record, as [`Reader::dataset_record`](super::Reader::dataset_record)
    /// would find it if everything were sealed.
    ///
    /// # Errors
    /// The errors of finding and reading it.
    pub fn dataset(&mut self, name: &str, record: i64) -> Result<Option<DatasetPlace>> {
        let user = stored_name(name).into_owned();
        let (count, place) = match u64::try_from(record) {
            Err(_) => {
                let count = self.places(&user).len() as u64;
                (count, count.checked_sub(record.unsigned_abs()))
            }
            // Sealed records come first.
            Ok(record) => (0, record.checked_sub(self.count_sealed(&user)?)),
        };
        let new = place.and_then(|place| self.places(&user).get(to_usize(place)).copied());
        let found = match new {
            Some(place) => Some(self.new_dataset(place, &user)?),
            None => {
                let record = if record < 0 { record.saturating_add_unsigned(count) } else { record };
                self.sealed_dataset(name, record)?
            }
        };
        let Some(mut found) = found else { return Ok(None) };
        let later = later_user(found.data, &user);
        if let Some(offset) = self.pair_of(&later) {
            found.dataset.attributes =
                self.read(self.all, |state| state.datasets().read_later(offset, &later))?;
        }
        let rows = rows_user(found.data, &user);
        if let Some(offset) = self.pair_of(&rows) {
            let end = self.read(self.all, |state| state.datasets().end_of_rows(offset, &rows))?;
            found.dataset.shape.iter_mut().take(1).for_each(|rows| *rows = end);
        }
        Ok(Some(found))
    }

    /// The last dataset of this name, with what determines how rows are added to it. If the previously added
    /// rows are near the end of the file, their metadata suffice, unless rows are rounded: only the dataset
    /// itself has the bounds of rounding.
    ///
    /// # Errors
    /// The errors of [`Self::dataset`].
    pub fn dataset_to_extend(&mut self, name: &str, are_rounded: bool) -> Result<Option<DatasetPlace>> {
        let user = stored_name(name).into_owned();
        let is_new = |this: &Self, data| {
            let later = [user.clone(), rows_user(data, &user), later_user(data, &user)];
            later.iter().any(|later| !this.places(later).is_empty())
        };
        if !are_rounded
            && self.sealed.read > 0
            && let Some((data, number)) = self.read(self.sealed, |state| state.lookup().last_rows(&user))?
            && !is_new(self, data)
        {
            let rows = rows_user(data, &user);
            let mut found = self.read(self.sealed, |state| {
                state.lookup().seek_section(number.saturating_sub(1))?;
                let pair = state.sections.position();
                state.datasets().outline_of_rows(pair, &rows)
            })?;
            name.clone_into(&mut found.dataset.name);
            let Metadata { dataset, codecs, .. } = found;
            return Ok(Some(DatasetPlace { data, dataset, big_endian: codecs.big_endian }));
        }
        self.dataset(name, -1)
    }

    /// The attributes of a group; `None` if it has none.
    ///
    /// # Errors
    /// `Argument` for a path that no group can have; those of finding and reading them.
    pub fn group(&mut self, path: &str) -> Result<Option<String>> {
        let Some(offset) = self.pair_of(&group_user(&stored_path(path))?) else {
            return match self.sealed.read {
                0 => Ok(None),
                _ => {
                    let group = self.read(self.sealed, |state| state.datasets().find_group(path))?;
                    Ok(group.map(|group| group.attributes))
                }
            };
        };
        self.read(self.all, |state| {
            state.sections.advance(offset);
            state.lookup().next_section(true)?;
            Ok(state.datasets().read_group()?.map(|group| group.attributes))
        })
    }

    fn read<T>(
        &mut self,
        ends: Ends,
        read: impl FnOnce(&mut ReaderState) -> Result<T, Failure>,
    ) -> Result<T> {
        self.state.sections.input.ends = ends;
        read(&mut self.state).map_err(|failure| self.state.team().settle(failure))
    }

    /// The sections of this user string after the last seal, in their order.
    fn places(&self, user: &str) -> &[UnsealedSection] {
        self.named.get(user.as_bytes()).map_or(&[], |named| &named.places)
    }

    /// The number of sealed sections with this user string. Returns 0 without searching if none follows the
    /// last seal.
    fn count_sealed(&mut self, user: &str) -> Result<u64> {
        let user = user.as_bytes();
        match self.named.get(user).map(|named| named.sealed) {
            Some(None) if self.sealed.read > 0 => {}
            known => return Ok(known.flatten().unwrap_or(0)),
        }
        let count = self.read(self.sealed, |state| Ok(state.lookup().find_all(user)?.len() as u64))?;
        if let Some(named) = self.named.get_mut(user) {
            named.sealed = Some(count);
        }
        Ok(count)
    }

    /// Whether a sealed section has this user string.
    ///
    /// # Errors
    /// The errors of finding it.
    pub fn has_sealed(&mut self, user: &[u8]) -> Result<bool> {
        self.read(self.sealed, |state| Ok(state.lookup().find(user, -1)?.is_some()))
    }

    /// The numbers of the sections with the data of a dataset's sealed records.
    ///
    /// # Errors
    /// The errors of finding them.
    pub fn sealed_records(&mut self, name: &str) -> Result<Vec<u64>> {
        let user = stored_name(name).into_owned();
        self.read(self.sealed, |state| state.lookup().find_all(user.as_bytes()))
    }

    fn sealed_dataset(&mut self, name: &str, record: i64) -> Result<Option<DatasetPlace>> {
        if self.sealed.read == 0 {
            return Ok(None);
        }
        let open =
            self.read(self.sealed, |state| state.datasets().find_dataset(name, record, AllRows::Count))?;
        Ok(open.map(DatasetPlace::of))
    }

    /// The dataset with its data in this section, which follows the last seal.
    fn new_dataset(&mut self, place: UnsealedSection, user: &str) -> Result<DatasetPlace> {
        self.read(self.all, |state| {
            state.sections.advance(place.before.unwrap_or(place.offset));
            state.lookup().next_section(true)?;
            let open = state.datasets().read_metadata(Some(Later::NONE), AllRows::Count)?;
            let open = open.ok_or_else(|| state.datasets().no_metadata(user))?;
            Ok(DatasetPlace::of(open))
        })
    }

    /// The offset of the last pair after the last seal whose second section has this user string.
    fn pair_of(&self, user: &str) -> Option<u64> {
        self.places(user).last()?.before
    }
}

impl DatasetPlace {
    fn of(open: OpenDataset) -> Self {
        let OpenDataset { stored, data, .. } = open;
        Self { data: data.offset, dataset: stored.dataset, big_endian: stored.codecs.big_endian }
    }
}
