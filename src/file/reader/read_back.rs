//! Reads datasets and attributes of groups, on one rank, from the file that the program is still writing.

use super::ReaderState;
use super::datasets::{AllRows, OpenDataset};
use super::index::{Extent, SealedPart};
use super::lookup::UnsealedSections;
use crate::file::open::Ends;
use crate::file::options::{ReadOptions, Tuning};
use crate::file::session::SessionState;
use crate::file::team::{Failure, Team};
use scda_base::error::Result;
use scda_format::dataset::additions::{later_user, rows_user};
use scda_format::dataset::parse::Metadata;
use scda_format::dataset::{Dataset, stored_name};
use scda_format::index::Row;
use scda_format::seal::SEAL_BYTES;
use scda_storage::ParallelFile;
use scda_storage::read_at_file::ReadAtFile;
use std::io;

/// Reads a file that ends without a seal, using the rows that its writer keeps of the sections after the last
/// seal. It is valid until the next seal. It keeps what it has read, so that the cost of a call does not grow
/// with the number of sections.
pub(in crate::file) struct OwnReader {
    /// The writer has the file between calls.
    state: ReaderState,
    /// Where the sealed part ends.
    sealed: Ends,
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
        let ends = Extent::All.ends(file, sealed)?;
        let last = match sealed.checked_sub(SEAL_BYTES as u64) {
            Some(offset) => SealedPart::at(file, sealed, offset)?,
            None => None,
        };
        let mut state = ReaderState::new(team, Box::new(ReadAtFile(io::empty())), ends, params);
        let sections = last.map_or(0, |last| last.seal.sections);
        state.lookup.unsealed = Some(UnsealedSections::after(sections));
        Ok(Self { state, sealed: ends })
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
        self.state.sections.input.ends = Ends { first: self.sealed.first, ..Ends::all(end) };
        self.state.lookup.unsealed.as_mut().map_or(Ok(()), |new| new.note(rows))?;
        self.state.sections.input.exchange_file(file);
        let result = read(self);
        self.state.sections.input.exchange_file(file);
        result
    }

    /// The dataset of this name and record, as [`Reader::dataset_record`](super::Reader::dataset_record)
    /// would find it if everything were sealed.
    ///
    /// # Errors
    /// The errors of finding and reading it.
    pub fn dataset(&mut self, name: &str, record: i64) -> Result<Option<DatasetPlace>> {
        let open = self.read(|state| state.datasets().find_dataset(name, record, AllRows::Count))?;
        Ok(open.map(DatasetPlace::of))
    }

    /// The last dataset of this name, with what determines how rows are added to it. If the previously added
    /// rows are near the end of the file, their metadata suffice, unless rows are rounded: only the dataset
    /// itself has the bounds of rounding.
    ///
    /// # Errors
    /// The errors of [`Self::dataset`].
    pub fn dataset_to_extend(&mut self, name: &str, are_rounded: bool) -> Result<Option<DatasetPlace>> {
        let user = stored_name(name).into_owned();
        if !are_rounded
            && let Some((data, number)) = self.read(|state| state.lookup().last_rows(&user))?
            && ![user.clone(), rows_user(data, &user), later_user(data, &user)]
                .iter()
                .any(|of| self.is_new(of))
        {
            let rows = rows_user(data, &user);
            let mut found = self.read(|state| {
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

    /// Whether a section after the last seal has this user string.
    fn is_new(&self, user: &str) -> bool {
        self.state.lookup.unsealed.as_ref().is_some_and(|new| !new.named(user.as_bytes()).is_empty())
    }

    /// The attributes of a group; `None` if it has none.
    ///
    /// # Errors
    /// `Argument` for a path that no group can have; those of finding and reading them.
    pub fn group(&mut self, path: &str) -> Result<Option<String>> {
        let group = self.read(|state| state.datasets().find_group(path))?;
        Ok(group.map(|group| group.attributes))
    }

    /// Whether a section has this user string.
    ///
    /// # Errors
    /// The errors of finding it.
    pub fn has(&mut self, user: &[u8]) -> Result<bool> {
        self.read(|state| Ok(state.lookup().find(user, -1)?.is_some()))
    }

    /// The numbers of the sections with the data of a dataset's sealed records.
    ///
    /// # Errors
    /// The errors of finding them.
    pub fn sealed_records(&mut self, name: &str) -> Result<Vec<u64>> {
        self.read(|state| state.lookup().find_all(stored_name(name).as_bytes()))
    }

    fn read<T>(&mut self, read: impl FnOnce(&mut ReaderState) -> Result<T, Failure>) -> Result<T> {
        read(&mut self.state).map_err(|failure| self.state.team().settle(failure))
    }
}

impl DatasetPlace {
    fn of(open: OpenDataset) -> Self {
        let OpenDataset { stored, data, .. } = open;
        Self { data: data.offset, dataset: stored.dataset, big_endian: stored.codecs.big_endian }
    }
}
