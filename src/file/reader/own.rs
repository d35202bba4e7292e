//! What a rank reads of the file that it writes: datasets, and attributes of groups.

use super::ReaderState;
use super::index::Extent;
use super::lookup::Later;
use crate::error::{Error, Result};
use crate::file::open::Ends;
use crate::file::params::Params;
use crate::file::session::State;
use crate::file::team::{Failure, Team};
use crate::format::dataset::later::{later_user, rows_user};
use crate::format::dataset::{Dataset, group_user, stored_name, stored_path};
use crate::format::index::Row;
use crate::numbers::to_usize;
use crate::storage::ParallelFile;

/// Reads a file that ends without a seal, by what its writer knows of the sections behind the last one.
pub(in crate::file) struct OwnReader<'a> {
    state: ReaderState,
    /// Where what is sealed ends, and all sections.
    sealed: Ends,
    all: Ends,
    /// The sections behind the last seal.
    rows: &'a [Row],
}

/// A dataset in a file.
pub(in crate::file) struct Found {
    /// Where the section of its data begins.
    pub data: u64,
    /// With the attributes that count, and all of its rows.
    pub dataset: Dataset,
    /// Whether its numbers have their highest byte first in the file.
    pub big_endian: bool,
}

impl<'a> OwnReader<'a> {
    /// Of a file in which the last seal, if there is one, ends at `sealed`, and the last section at `end`.
    ///
    /// # Errors
    /// Those of reading the file, which is returned.
    pub fn new(
        team: Team,
        mut file: Box<dyn ParallelFile>,
        (sealed, end): (u64, u64),
        rows: &'a [Row],
        params: &Params,
    ) -> Result<Self, (Error, Box<dyn ParallelFile>)> {
        let params = Params { raw: false, verify: false, ..params.clone() };
        match Extent::All.ends(&mut *file, sealed) {
            Ok(sealed) => {
                let state = ReaderState::new(team, file, sealed, params);
                Ok(Self { state, sealed, all: Ends::all(end), rows })
            }
            Err(error) => Err((error, file)),
        }
    }

    /// Gives the file back.
    pub fn into_file(self) -> Box<dyn ParallelFile> {
        self.state.sections.into_parts().1
    }

    /// The dataset of this name and record, as [`Reader::find_dataset`](super::Reader::find_dataset) would find it if all were sealed.
    ///
    /// # Errors
    /// Those of finding and reading it.
    pub fn dataset(&mut self, name: &str, record: i64) -> Result<Option<Found>> {
        let user = stored_name(name).into_owned();
        let count = self.rows.iter().filter(|row| is(row, &user)).count() as u64;
        let place = match u64::try_from(record) {
            Err(_) => count.checked_sub(record.unsigned_abs()),
            // Those of before come first.
            Ok(record) => record.checked_sub(self.count_sealed(&user)?).filter(|&place| place < count),
        };
        let found = match place {
            Some(place) => {
                let mut numbered = self.rows.iter().enumerate().filter(|(_, row)| is(row, &user));
                let number = numbered.nth(to_usize(place)).map_or(0, |(number, _)| number);
                Some(self.new_dataset(number, &user)?)
            }
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

    /// The attributes of a group; `None` if it has none.
    ///
    /// # Errors
    /// `Argument` for a path that no group can have; those of finding and reading them.
    pub fn group(&mut self, path: &str) -> Result<Option<String>> {
        let Some(offset) = self.pair_of(&group_user(&stored_path(path))?) else {
            return match self.sealed.read {
                0 => Ok(None),
                _ => self.read(self.sealed, |state| state.datasets().find_group(path)),
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
        self.state.sections.set_ends(ends);
        read(&mut self.state).map_err(|failure| self.state.team().settle(failure))
    }

    /// The number of sealed sections of this user string.
    fn count_sealed(&mut self, user: &str) -> Result<u64> {
        match self.sealed.read {
            0 => Ok(0),
            _ => self.read(self.sealed, |state| Ok(state.lookup().find_all(user.as_bytes())?.len() as u64)),
        }
    }

    fn sealed_dataset(&mut self, name: &str, record: i64) -> Result<Option<Found>> {
        if self.sealed.read == 0 {
            return Ok(None);
        }
        self.read(self.sealed, |state| match state.datasets().find_dataset(name, record)? {
            true => Ok(Some(current(state)?)),
            false => Ok(None),
        })
    }

    /// The dataset whose data are the section of this number behind the last seal.
    fn new_dataset(&mut self, number: usize, user: &str) -> Result<Found> {
        let metadata = number.checked_sub(1).map(|before| self.rows[before].offset).filter(|&at| at > 0);
        let data = self.rows[number].offset;
        self.read(self.all, |state| {
            state.sections.advance(metadata.unwrap_or(data));
            state.lookup().next_section(true)?;
            if state.datasets().read_metadata(Some(Later::NONE))? {
                return Ok(current(state)?);
            }
            Err(state.datasets().no_metadata(user).into())
        })
    }

    /// Where the last pair begins whose second section has this user string, of those behind the last seal.
    fn pair_of(&self, user: &str) -> Option<u64> {
        let number = self.rows.iter().rposition(|row| is(row, user))?;
        self.rows.get(number.checked_sub(1)?).map(|row| row.offset)
    }
}

/// The dataset whose data can be read.
fn current(state: &ReaderState) -> Result<Found> {
    let (dataset, data) = (state.current_dataset()?.clone(), state.sections.header());
    let data = data.map_or(0, |data| data.offset);
    Ok(Found { data, dataset, big_endian: state.datasets.is_big_endian() })
}

/// Whether this is a section of this user string.
fn is(row: &Row, user: &str) -> bool {
    row.section.is_some() && *row.user == *user.as_bytes()
}
