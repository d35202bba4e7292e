//! Reads datasets and attributes of groups, on one rank, from the file that the program is writing.

use super::ReaderState;
use super::datasets::{AllRows, OpenDataset};
use super::index::Extent;
use super::lookup::Later;
use crate::file::open::Ends;
use crate::file::options::{ReadOptions, Tuning};
use crate::file::session::SessionState;
use crate::file::team::{Failure, Team};
use scda_base::error::Result;
use scda_base::memory::{copy, reserve};
use scda_base::numbers::to_usize;
use scda_format::dataset::additions::{later_user, rows_user};
use scda_format::dataset::parse::Metadata;
use scda_format::dataset::{Dataset, group_user, stored_name, stored_path};
use scda_format::index::Row;
use scda_storage::ParallelFile;
use scda_storage::read_at_file::ReadAtFile;
use std::collections::BTreeMap;
use std::io;

/// About what a user string and its sections take, in a map.
const NAME_BYTES: usize = 192;

/// Reads a file that ends without a seal, by what its writer knows of the sections after the last one. It serves until there is another
/// seal, and keeps what it has read and noted, so that the cost of a call does not grow with the number of sections.
pub(in crate::file) struct OwnReader {
    /// Its file is with the writer between the calls.
    state: ReaderState,
    /// Where what is sealed ends, and all sections.
    sealed: Ends,
    all: Ends,
    /// The sections after the last seal by their user strings, as far as their rows were noted.
    named: BTreeMap<Vec<u8>, NamedSections>,
    rows: usize,
    /// Where the last of them begins.
    last: u64,
}

/// The sections of a user string.
#[derive(Default)]
struct NamedSections {
    /// Those after the last seal, in their order.
    places: Vec<UnsealedSection>,
    /// How many are sealed, once that was asked.
    sealed: Option<u64>,
}

/// A section after the last seal.
#[derive(Clone, Copy)]
struct UnsealedSection {
    offset: u64,
    /// The section before it, if that follows the last seal, too.
    before: Option<u64>,
}

/// A dataset in a file.
pub(in crate::file) struct DatasetPlace {
    /// Where the section of its data begins.
    pub data: u64,
    /// With the attributes that count, and all of its rows.
    pub dataset: Dataset,
    /// Whether its numbers have their highest byte first in the file.
    pub big_endian: bool,
}

impl OwnReader {
    /// Of a file in which the last seal, if there is one, ends at `sealed`.
    ///
    /// # Errors
    /// Those of reading the file.
    pub fn new(team: Team, file: &mut dyn ParallelFile, sealed: u64, tuning: &Tuning) -> Result<Self> {
        let params = ReadOptions { tuning: tuning.clone(), ..ReadOptions::default() };
        let sealed = Extent::All.ends(file, sealed)?;
        let state = ReaderState::new(team, Box::new(ReadAtFile(io::empty())), sealed, params);
        Ok(Self { state, sealed, all: sealed, named: BTreeMap::new(), rows: 0, last: 0 })
    }

    /// Whether it is of the file with the last seal that ends at `sealed`.
    pub fn is_of(&self, sealed: u64) -> bool {
        self.sealed.file == sealed
    }

    /// Reads the file, whose last section ends at `end`. The sections after the last seal have these rows; those that it had in an
    /// earlier call are the first of them.
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
        self.state.sections.input().exchange_file(file);
        let result = read(self);
        self.state.sections.input().exchange_file(file);
        result
    }

    /// Notes the rows that are new.
    fn note(&mut self, rows: &[Row]) -> Result<()> {
        let new = rows.get(self.rows..).unwrap_or_default();
        // A map cannot fail to allocate, so whether there is memory is tried before.
        reserve(&mut Vec::<[u8; NAME_BYTES]>::new(), new.len())?;
        for row in new {
            if row.section.is_some() {
                let places = &mut self.named.entry(copy(&row.user)?).or_default().places;
                reserve(places, 1)?;
                places.push(UnsealedSection {
                    offset: row.offset,
                    before: Some(self.last).filter(|&last| last > 0),
                });
            }
            self.last = row.offset;
            self.rows += 1;
        }
        Ok(())
    }

    /// The dataset of this name and record, as [`Reader::dataset_record`](super::Reader::dataset_record) would find it if all were sealed.
    ///
    /// # Errors
    /// Those of finding and reading it.
    pub fn dataset(&mut self, name: &str, record: i64) -> Result<Option<DatasetPlace>> {
        let user = stored_name(name).into_owned();
        let (count, place) = match u64::try_from(record) {
            Err(_) => {
                let count = self.places(&user).len() as u64;
                (count, count.checked_sub(record.unsigned_abs()))
            }
            // Those of before come first.
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

    /// As [`Self::dataset`], of the last record, with what decides about rows that are to be added. The rows that were added last tell, if
    /// they are near the end of the file, and if the new ones are not rounded: only the dataset has the bounds for those that are.
    ///
    /// # Errors
    /// Those of [`Self::dataset`].
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
        self.state.sections.input().set_ends(ends);
        read(&mut self.state).map_err(|failure| self.state.team().settle(failure))
    }

    /// The sections of this user string after the last seal, in their order.
    fn places(&self, user: &str) -> &[UnsealedSection] {
        self.named.get(user.as_bytes()).map_or(&[], |named| &named.places)
    }

    /// How many sections of this user string are sealed; 0 if there is none after the last seal, where that is not asked.
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

    /// Whether a section that is sealed has this user string.
    ///
    /// # Errors
    /// Those of finding it.
    pub fn has_sealed(&mut self, user: &[u8]) -> Result<bool> {
        self.read(self.sealed, |state| Ok(state.lookup().find(user, -1)?.is_some()))
    }

    /// The numbers of the sections with the data of a dataset's records, of those that are sealed.
    ///
    /// # Errors
    /// Those of finding them.
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

    /// The dataset whose data are this section after the last seal.
    fn new_dataset(&mut self, place: UnsealedSection, user: &str) -> Result<DatasetPlace> {
        self.read(self.all, |state| {
            state.sections.advance(place.before.unwrap_or(place.offset));
            state.lookup().next_section(true)?;
            let open = state.datasets().read_metadata(Some(Later::NONE), AllRows::Count)?;
            let open = open.ok_or_else(|| state.datasets().no_metadata(user))?;
            Ok(DatasetPlace::of(open))
        })
    }

    /// Where the last pair begins whose second section has this user string, of those after the last seal.
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
