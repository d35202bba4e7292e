//! What rank 0 knows of seals and sections, for writing tables of names.

use crate::file::reader::Chain;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{push, reserve};
use scda_base::numbers::to_usize;
use scda_format::index::Row;
use scda_format::names::{MOST_NAMES, Name, SealRow, has_table, span, table};
use scda_format::padding::LineBreak;
use scda_storage::ParallelFile;

/// The last seals of the file, and the names of the last sections.
#[derive(Default)]
pub(super) struct Names {
    /// The number of seals in the file; unknown at first when it is appended to.
    count: Option<u64>,
    /// The last seals, in their order. The first entry may stand for the beginning of the file.
    seals: Vec<SealRow>,
    /// The names of all sections from number `first` on, in the order of the file.
    names: Vec<Name>,
    first: u64,
    /// The seals of a file that is appended to, unless all of them are in `seals`.
    older: Option<Older>,
    /// True if the next seal is the last one.
    pub(super) is_last: bool,
}

/// The size of the first read at the end of a file, to count the seals since the last one with a table.
const FIRST_BYTES: u64 = 16 << 10;

/// Seals that were in the file before.
struct Older {
    chain: Chain,
    /// How many groups of them have been added to `seals`, and of how many the names are known, from the end
    /// of the file.
    seals: usize,
    names: usize,
}

impl Names {
    /// For a file without a seal.
    pub(super) fn new() -> Self {
        Self { count: Some(0), seals: vec![SealRow::default()], ..Self::default() }
    }

    /// For a file whose last seal ends at `end`, after `sections` sections.
    pub(super) fn continued(end: u64, sections: u64) -> Self {
        let older = Some(Older { chain: Chain::reading(end, FIRST_BYTES), seals: 0, names: 0 });
        Self { first: sections, older, ..Self::default() }
    }

    /// Sets the number of seals in the file, if it has been counted elsewhere.
    pub(super) fn note_count(&mut self, seals: u64) {
        self.count.get_or_insert(seals);
    }

    /// The table for the next seal, which has these rows; empty if it gets none. A table that would require
    /// reading a damaged index is not written: everything can be found without it.
    pub(super) fn table(
        &mut self,
        file: &mut dyn ParallelFile,
        rows: &[Row],
        style: LineBreak,
    ) -> Result<Vec<u8>> {
        let count = whole(self.count(file))?;
        // Nobody needs the names if this seal has no table and no other seal follows.
        if self.is_last && count.is_none_or(|count| !has_table(count + 1)) {
            return Ok(Vec::new());
        }
        self.add(rows)?;
        let Some(count) = count else { return Ok(Vec::new()) };
        let sections = self.first + self.names.len() as u64;
        let span = span(count + 1, |seals| {
            let Some(before) = whole(self.seal(file, seals))?.flatten() else { return Ok(u64::MAX) };
            let names = sections - before.sections;
            let are_known = names > MOST_NAMES || whole(self.reach(file, before.sections))?.is_some();
            Ok(if are_known { names } else { u64::MAX })
        })?;
        let Some(span) = span else { return Ok(Vec::new()) };
        let seals = &self.seals[self.seals.len() - to_usize(span)..];
        let first = to_usize(seals[0].sections - self.first);
        table(count + 1, seals, &self.names[first..], style)
    }

    /// Records a seal that was written.
    pub(super) fn note(&mut self, seal: SealRow) -> Result<()> {
        push(&mut self.seals, seal)?;
        self.count = self.count.map(|count| count + 1);
        // No table has more names. Not done each time, because it moves all remaining ones.
        if self.names.len() as u64 > 2 * MOST_NAMES {
            self.older = None;
            let first = self.seals.partition_point(|last| seal.sections - last.sections > MOST_NAMES);
            self.seals.drain(..first);
            let first = self.seals.first().map_or(seal.sections, |seal| seal.sections);
            self.names.drain(..to_usize(first - self.first));
            self.first = first;
        }
        Ok(())
    }

    /// Adds the names of sections that follow all others.
    fn add(&mut self, rows: &[Row]) -> Result<()> {
        if rows.len() as u64 > MOST_NAMES {
            // They will be in no table, and so will none of those before them.
            let sections = rows.iter().filter(|row| row.section.is_some()).count();
            self.first += (self.names.len() + sections) as u64;
            (self.names, self.seals, self.older) = (Vec::new(), Vec::new(), None);
            return Ok(());
        }
        reserve(&mut self.names, rows.len())?;
        let first = self.first + self.names.len() as u64;
        let sections = rows.iter().filter_map(|row| Some((row.section?, row.user)));
        let names = sections.zip(first..).map(|((section, user), number)| Name { section, user, number });
        self.names.extend(names);
        Ok(())
    }

    /// The number of seals in the file. Reads those since the last table of names.
    fn count(&mut self, file: &mut dyn ParallelFile) -> Result<u64> {
        let (mut number, mut count) = (0, self.count);
        while count.is_none() {
            let Some(older) = &mut self.older else { break };
            let group = older.chain.on(file).group(number)?;
            let last = group.map_or(Some(0), |group| group.table.map(|table| table.end.seal));
            count = last.map(|last| last + number as u64);
            number += 1;
        }
        self.count = count;
        Ok(count.unwrap_or(0))
    }

    /// The seal `before` seals before the next one; `None` if it is unknown.
    fn seal(&mut self, file: &mut dyn ParallelFile, before: u64) -> Result<Option<SealRow>> {
        loop {
            if let Some(at) = self.seals.len().checked_sub(to_usize(before)) {
                return Ok(self.seals.get(at).copied());
            }
            let Some(older) = &mut self.older else { return Ok(None) };
            let mut seals = Vec::new();
            match older.chain.on(file).group(older.seals)? {
                Some(group) => {
                    let links = &older.chain.links[group.from_end..];
                    seals.extend(links.iter().take(to_usize(group.seals)).rev());
                }
                // Requested only once, at the beginning of the file.
                None if self.seals.first() == Some(&SealRow::default()) => return Ok(None),
                None => seals.push(SealRow::default()),
            }
            older.seals += 1;
            reserve(&mut self.seals, seals.len())?;
            self.seals.splice(..0, seals);
        }
    }

    /// Reads the names of all sections from this one on.
    fn reach(&mut self, file: &mut dyn ParallelFile, section: u64) -> Result<()> {
        while self.first > section {
            let Some(older) = &mut self.older else { break };
            let Some(group) = older.chain.on(file).group(older.names)? else { break };
            let mut names = older.chain.on(file).names(older.names)?;
            names.sort_unstable_by_key(|name| name.number);
            if !names.iter().map(|name| name.number).eq(group.first..self.first) {
                let words = "table of names: its numbers differ from those of its sections";
                return Err(Error::new(ErrorKind::Checksum, words).at(group.sealed.names));
            }
            older.names += 1;
            reserve(&mut self.names, names.len())?;
            self.names.splice(..0, names);
            self.first = group.first;
        }
        Ok(())
    }
}

/// The result of reading, or `None` if the file is damaged.
fn whole<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind().is_of_file() => Ok(None),
        Err(error) => Err(error),
    }
}
