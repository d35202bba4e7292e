//! Seals, indexes and sections as seen by a tool that checks, lists or truncates a file. For a process that
//! reads alone.

use super::canonical::Canonical;
use super::chain::{
    compare_anchors, compare_index, compare_tail, compare_view, differs, read_table, seal_rows,
};
use super::index::{SEARCH_BYTES, STEP, SealedPart, TailBuffer, may_be_of_seal, seals_among, truncated_to};
use super::local_reader::ReadsLocally;
use super::sections::{Input, SectionReader, describe, exceeds_63_bits};
use super::{Reader, Section};
use crate::file::open::Ends;
use crate::file::team::Failure;
use scda_base::error::{Error, ErrorKind, Result, quote};
use scda_base::memory::{self, push, reserve, resize};
use scda_base::numbers::to_usize;
use scda_format::header::SectionType;
use scda_format::index::{
    ANCHOR_BYTES, ANCHOR_ELEMENTS, CRC_TAIL_BYTES, ROW_BYTES, Row, TABLE_HEADER_BYTES, hash_of_sorted,
    row_of_sorted,
};
use scda_format::layout::sum;
use scda_format::names::{NAME_BYTES, Name, SealRow};
use scda_format::padding::LineBreak;
use scda_format::seal::{SEAL, SEAL_BYTES};

/// The number of rows that are read at a time.
const ROWS: u64 = 1 << 14;

/// The seals of a file.
pub struct Seals {
    /// The seals, in the order of the file.
    pub all: Vec<SealedPart>,
    /// The error if the first one refers to an earlier seal that is not there.
    pub fault: Option<Error>,
}

/// Gives tools that check, list or truncate a file access to its seals and their indexes, the HDF5
/// superblock, and sections by offset. Unless stated otherwise, its methods are for a process that reads
/// alone.
pub struct Inspector<'a>(pub(super) &'a mut Reader);

impl Reader {
    /// The file as seen by a tool that checks or lists it.
    pub fn inspect(&mut self) -> Inspector<'_> {
        Inspector(self)
    }
}

#[allow(clippy::missing_errors_doc)] // of a damaged file, any
impl Inspector<'_> {
    /// The seals, of a file that is being truncated the remaining ones. If no seal ends the file, the last
    /// one is found by walking; where damage ends the walk, the rest of the file is searched.
    pub fn seals(&mut self) -> Result<Seals> {
        self.0.session.operate(|state| {
            state.sections().check_alone("the list of seals")?;
            let found = state.inspector().find_seals();
            let first = state.sections().ends().first;
            state.sections().advance(first);
            Ok(found?)
        })
    }

    /// Treats the file as one that no seal ends: sections are found by their headers, and what was added to
    /// datasets is not a part of them. For a file whose indexes are damaged; call it before anything is read.
    pub fn ignore_seals(&mut self) -> Result<()> {
        self.0.session.operate(|state| {
            let ends = state.sections().ends();
            state.sections().input.ends = Ends { read: ends.sections, ..ends };
            Ok(())
        })
    }

    /// Checks everything that belongs to the last seal of `seals`, which lists all seals up to it: the
    /// checksums of its tables, its rows and their order, and its table of names, which is compared with the
    /// seals and indexes before it.
    pub fn check_seal(&mut self, seals: &[SealedPart]) -> Result<()> {
        self.0.session.operate(|state| {
            seals.last().map_or(Ok(()), |sealed| state.inspector().check_tables(sealed))?;
            Ok(state.inspector().check_names(seals)?)
        })
    }

    /// Verifies the checksum of the index.
    pub fn check_index(&mut self, sealed: &SealedPart) -> Result<()> {
        self.0.session.operate(|state| Ok(compare_index(state.sections().input.file(), &sealed.seal)?))
    }

    /// Reads some rows, the first of which must begin at offset `begin`. The checksum of the index must have
    /// been verified.
    pub fn read_rows(
        &mut self,
        sealed: &SealedPart,
        first: u64,
        begin: u64,
        rows: &mut Vec<Row>,
    ) -> Result<()> {
        self.0.session.operate(|state| Ok(state.inspector().read_index_rows(sealed, first, begin, rows)?))
    }

    /// Compares a row with its section's header and element sizes, and with its anchors, which follow the
    /// `anchors` anchors of earlier sections.
    pub fn compare_row(&mut self, sealed: &SealedPart, number: u64, row: &Row, anchors: u64) -> Result<()> {
        self.at_row(row, |inspector| inspector.compare_row(sealed, number, row, anchors))
    }

    /// Inspects the section of a row, to which the position moves.
    fn at_row<T>(
        &mut self,
        row: &Row,
        inspect: impl FnOnce(&mut SealInspector<'_>) -> Result<T>,
    ) -> Result<T> {
        self.0.session.operate(|state| {
            let found = inspect(&mut state.inspector());
            let first = state.sections().ends().first;
            state.sections().advance(row.offset.max(first));
            Ok(found?)
        })
    }

    /// The error for a section whose bytes have the checksum `found`, which differs from that in its row. It
    /// locates the difference.
    pub fn locate(
        &mut self,
        sealed: &SealedPart,
        number: u64,
        row: &Row,
        found: u64,
    ) -> Result<LocatedError> {
        self.at_row(row, |inspector| inspector.locate_difference(sealed, number, row, found))
    }

    /// Compares the paddings and line breaks, which the format leaves free, with those that this library
    /// writes: in the current section, in both sections of a decoded pair, or, before the first section, in
    /// the file header. For a process that reads alone. The section stays current.
    ///
    /// All such bytes are valid, so no other function checks them.
    ///
    /// # Errors
    /// `Format` for the first difference; `ShortFile`, `Range` and `Decode` for the sizes of elements, `Usage`,
    /// and the errors of the file system.
    pub fn check_canonical(&mut self, line_break: LineBreak) -> Result<()> {
        let header = &self.0.header;
        self.0
            .session
            .operate(|state| Canonical { sections: state.sections(), style: line_break }.check(header))
    }

    /// Lets a process that reads alone read what is left of a damaged file. From now on
    ///
    /// - an error leaves the file open and the reader where it was, so that other ranges of the section can
    ///   be read, or other sections after [`Reader::seek`];
    /// - a truncated section is an error only when missing bytes are read: by reading it as a whole, by
    ///   ranges that the file does not have, or by [`Reader::skip`]. Its header is returned if it is
    ///   complete.
    ///
    /// A damaged count that is too large cannot be distinguished from a truncated section.
    ///
    /// # Errors
    /// `Usage` if there is more than one rank.
    pub fn tolerate_damage(&mut self) -> Result<()> {
        self.0.session.operate(|state| Ok(state.sections().tolerate_damage()?))
    }

    /// The number of sealed sections: 0 if the part being read does not end with a seal. Collective.
    ///
    /// # Errors
    /// The errors of [`Reader::sections`].
    pub fn sealed_sections(&mut self) -> Result<u64> {
        self.0.session.operate(|state| state.lookup().sealed_sections())
    }

    /// The size of the file when it was opened. `None` after an error. Not collective.
    #[must_use]
    pub fn file_size(&self) -> Option<u64> {
        self.0.session.state().map(|state| state.sections.ends().file)
    }
}

impl Section {
    /// The error for a section that looks like a part of a seal but is not: proper seals are not read as
    /// sections.
    #[doc(hidden)]
    #[must_use]
    pub fn broken_seal(&self) -> Option<Error> {
        may_be_of_seal(self.section_type, &self.user, self.size).then(|| {
            let found = quote(&self.user);
            let words =
                format!("seal: the section {found} looks like a part of a seal, but no seal covers it");
            Error::new(ErrorKind::Checksum, words).at(self.offset)
        })
    }
}

/// An error that locates the damage in a section whose checksum is wrong.
#[doc(hidden)]
#[derive(Debug)]
pub struct LocatedError {
    pub error: Error,
    /// True if the error's offset is that of the only byte that differs.
    pub is_exact: bool,
}

/// Checks the seals of a file.
pub(super) struct SealInspector<'a> {
    pub(super) sections: &'a mut SectionReader,
}

impl ReadsLocally for SealInspector<'_> {
    fn sections(&mut self) -> &mut SectionReader {
        self.sections
    }
}

impl SealInspector<'_> {
    fn find_seals(&mut self) -> Result<Seals> {
        let mut seals = Seals { all: Vec::new(), fault: None };
        let end = self.sections.ends().read;
        let end = if self.sections.is_sealed() { Some(end) } else { truncated_to(self.file(), end)? };
        let mut next = match end {
            Some(end) => match end.checked_sub(SEAL_BYTES as u64) {
                Some(offset) => self.input().seal_at(offset)?,
                None => None,
            },
            None => self.find_last_seal()?,
        };
        while let Some(sealed) = next {
            push(&mut seals.all, sealed)?;
            let (previous, namer) = (sealed.seal.previous, sealed.seal.offset());
            if previous == 0 {
                break;
            }
            let input = &mut self.sections.input;
            // One that is whole is used, though the seal before it is damaged.
            next = input
                .seal_at(previous)?
                .map_or_else(|| seal_alone_at(input, previous), |found| Ok(Some(found)))?;
            if next.is_none() {
                let words = format!("a seal, as the one at byte {namer} says");
                seals.fault = Some(differs("seal", "none", &words, previous));
            }
        }
        seals.all.reverse();
        Ok(seals)
    }

    /// Finds the last seal by walking, or by searching where damage ends the walk.
    pub(super) fn find_last_seal(&mut self) -> Result<Option<SealedPart>> {
        self.sections.advance(self.sections.ends().first);
        let mut last = None;
        let walked = self.sections.with_seals(|sections| {
            walk_seals(sections, &mut last).map_err(|failure| sections.input.team.settle(failure))
        });
        match walked {
            Err(error) if error.kind().is_of_file() => {
                Ok(self.search_last_seal(self.sections.position())?.or(last))
            }
            Err(error) => Err(error),
            Ok(()) => Ok(last),
        }
    }

    /// The last seal at or after `start` from which a chain of seals leads back to the first one; if there is
    /// none, the last seal that is whole.
    pub(super) fn search_last_seal(&mut self, start: u64) -> Result<Option<SealedPart>> {
        let (mut at, mut bytes) = (start.next_multiple_of(STEP as u64), Vec::new());
        let (mut last, mut alone) = (None, None);
        while at < self.sections.ends().read {
            resize(&mut bytes, (self.sections.ends().read - at).min(SEARCH_BYTES))?;
            self.file().read_at(at, &mut bytes)?;
            for offset in seals_among(at, &bytes) {
                last = self.whole_chain(offset)?.or(last);
                alone = seal_alone_at(&mut self.sections.input, offset)?.or(alone);
            }
            at += bytes.len() as u64;
        }
        Ok(last.or(alone))
    }

    /// The seal at this offset, if it and all seals before it are there.
    fn whole_chain(&mut self, offset: u64) -> Result<Option<SealedPart>> {
        let found = self.input().seal_at(offset)?;
        let mut next = found;
        while let Some(sealed) = next {
            match sealed.seal.previous {
                0 => return Ok(found),
                previous => next = self.input().seal_at(previous)?,
            }
        }
        Ok(None)
    }

    fn check_tables(&mut self, sealed: &SealedPart) -> Result<()> {
        compare_index(self.file(), &sealed.seal)?;
        compare_view(self.file(), sealed)?;
        compare_anchors(self.file(), sealed)?;
        compare_tail("names", self.file(), sealed.names, sealed.seal.index)?;
        let (mut rows, mut number, mut end) = (Vec::new(), 0, sealed.begin());
        let (mut anchors, mut last): (u64, Option<(u64, Row)>) = (0, None);
        while number < sealed.seal.rows() {
            self.read_index_rows(sealed, number, end, &mut rows)?;
            for row in &rows {
                anchors = anchors.saturating_add(row.anchors());
                let next = Some(row_of_sorted(row.sorted)).filter(|&next| next < sealed.seal.rows());
                let next = next
                    .map(|next| Ok::<_, Error>((next, self.sections.index().row(sealed, next)?)))
                    .transpose()?;
                let hash = hash_of_sorted(row.sorted);
                let is_sorted = next.is_some_and(|(number, row)| {
                    row.hash() == hash
                        && last.is_none_or(|(before, last)| {
                            last.compare_names(&row).then(before.cmp(&number)).is_lt()
                        })
                });
                if !is_sorted {
                    let at = sealed.row_offset(number);
                    return Err(differs("index", "another S", "the order of the hashes of user strings", at));
                }
                (last, end) = (next, row.end());
                number += 1;
            }
        }
        let (start, bytes) = (sealed.anchors, sealed.names - sealed.anchors);
        let found = bytes.saturating_sub((TABLE_HEADER_BYTES + CRC_TAIL_BYTES) as u64) / ANCHOR_BYTES as u64;
        if found != anchors {
            return Err(differs(
                "anchors",
                &found.to_string(),
                &format!("{anchors}, as the index says"),
                start,
            ));
        }
        Ok(())
    }

    /// Compares a table of names with everything that it repeats. If an index is damaged, so that the names
    /// cannot be compared with it, that is reported separately.
    fn check_names(&mut self, seals: &[SealedPart]) -> Result<()> {
        let Some(sealed) = seals.last().filter(|sealed| sealed.names_bytes() > 0) else { return Ok(()) };
        let table = read_table(self.file(), sealed)?;
        let (seal, end) = (seals.len() as u64, sealed.end_of_names());
        if seals[0].seal.previous > 0 {
            return Ok(()); // Not all of them are known.
        }
        if table.end.seal != seal {
            let words = format!("{seal}, the number of the seal");
            return Err(differs("table of names, entry K", &table.end.seal.to_string(), &words, end));
        }
        let first = seals.len() - to_usize(table.end.seals);
        let expected = (first..seals.len()).map(|number| {
            let before = number.checked_sub(1).map(|before| seals[before].seal);
            before.map_or_else(SealRow::default, |seal| SealRow {
                offset: seal.offset(),
                sections: seal.sections,
                crc: seal.crc,
            })
        });
        let _temporary = memory::temporary();
        let mut bytes = Vec::new();
        resize(&mut bytes, table.bytes())?;
        self.file().read_at(table.rows, &mut bytes)?;
        let (rows, names) = bytes.split_at(to_usize(table.end.seals) * NAME_BYTES);
        let rows = seal_rows(rows, table.rows)?.unwrap_or_default();
        if !rows.iter().copied().eq(expected) {
            return Err(differs("table of names", "other seals", "those of the file", table.rows));
        }
        let Some(expected) = self.names_of(&seals[first..], table.names)? else { return Ok(()) };
        for (name, row) in (0..).zip(names.as_chunks().0) {
            let at = table.name_offset(name);
            let found = Name::parse(row, at).map_err(|error| error.with_kind(ErrorKind::Checksum))?;
            if expected.get(to_usize(name)) != Some(&found) {
                let (found, words) = (quote(&found.user), "the names of the indexes in their order");
                return Err(differs("table of names", &found, words, at));
            }
        }
        Ok(())
    }

    /// The names in the indexes of these seals, in the order of a table; `None` if an index is damaged.
    fn names_of(&mut self, seals: &[SealedPart], most: u64) -> Result<Option<Vec<Name>>> {
        let (mut names, mut rows) = (Vec::new(), Vec::new());
        reserve(&mut names, to_usize(most))?;
        for sealed in seals {
            let (mut row, mut end) = (0, sealed.begin());
            while row < sealed.seal.rows() {
                match self.read_index_rows(sealed, row, end, &mut rows) {
                    Err(error) if error.kind().is_of_file() => return Ok(None),
                    read => read?,
                }
                reserve(&mut names, rows.len())?;
                for Row { section, user, .. } in &rows {
                    let number = names.len() as u64 + seals[0].first;
                    names.extend(section.map(|section| Name { section, user: *user, number }));
                }
                row += rows.len() as u64;
                end = rows.last().map_or(end, Row::end);
            }
        }
        names.sort_unstable_by(Name::compare);
        Ok(Some(names))
    }

    fn read_index_rows(
        &mut self,
        sealed: &SealedPart,
        first: u64,
        begin: u64,
        rows: &mut Vec<Row>,
    ) -> Result<()> {
        let (count, mut end) = (sealed.seal.rows().saturating_sub(first).min(ROWS), begin);
        let _temporary = memory::temporary();
        let mut bytes = Vec::new();
        resize(&mut bytes, count * ROW_BYTES as u64)?;
        self.file().read_at(sealed.row_offset(first), &mut bytes)?;
        rows.clear();
        reserve(rows, bytes.len() / ROW_BYTES)?;
        for (number, bytes) in (first..).zip(bytes.as_chunks().0) {
            let at = sealed.row_offset(number);
            let row = Row::parse(bytes, end, at).map_err(|error| error.with_kind(ErrorKind::Checksum))?;
            if row.section.is_none() != (number < sealed.header_rows()) {
                return Err(differs(
                    "row of the index",
                    &describe(&row),
                    &format!("what begins at byte {end}"),
                    at,
                ));
            }
            end = row.end();
            rows.push(row);
        }
        if first + count == sealed.seal.rows() && end != sealed.start {
            let (found, expected) = (format!("sections up to byte {end}"), sealed.start.to_string());
            return Err(differs("index", &found, &expected, sealed.seal.index));
        }
        Ok(())
    }

    fn compare_row(&mut self, sealed: &SealedPart, number: u64, row: &Row, anchors: u64) -> Result<()> {
        self.sections.index().compare_with_header(row, sealed.row_offset(number))?;
        let first = sealed.anchors + TABLE_HEADER_BYTES as u64 + anchors * ANCHOR_BYTES as u64;
        self.compare_sizes(row, row.anchors() > 0, |this, element, offset| {
            let at = first + (element / ANCHOR_ELEMENTS - 1) * ANCHOR_BYTES as u64;
            let mut anchor = None;
            this.sections.input.read_own_entries(at, 1, b'O', |_, offset| {
                anchor = Some(offset);
                Ok(())
            })?;
            if anchor == Some(offset) {
                return Ok(());
            }
            let words = format!("{offset}, where element {element} of the {} is", describe(row));
            Err(differs("anchor", &anchor.map_or("none".to_owned(), |found| found.to_string()), &words, at))
        })
    }

    /// Compares a row with the element sizes of its section, and passes the offset of each anchored element
    /// to the caller.
    pub(super) fn compare_sizes(
        &mut self,
        row: &Row,
        has_anchors: bool,
        mut anchor: impl FnMut(&mut Self, u64, u64) -> Result<()>,
    ) -> Result<()> {
        let has_elements = match row.section {
            Some(SectionType::Varray) => true,
            Some(SectionType::Array) => row.is_compressed,
            _ => false,
        };
        if !has_elements {
            return Ok(());
        }
        let wrong = |what: &str, found: u64, expected: u64| {
            Err(differs(what, &found.to_string(), &format!("{expected}, as the index says"), row.offset))
        };
        let mut total = 0;
        if let (Some(SectionType::Varray), Some(first)) = (row.section, row.first_of_pair()) {
            self.input().read_own_entries(first.data, row.count, b'U', |_, size| {
                total = sum(total, size).ok_or_else(|| exceeds_63_bits(&[total, size]))?;
                Ok(())
            })?;
            if total != row.size {
                return wrong("sum of the sizes", total, row.size);
            }
        }
        let (mut stored, mut places) = (0, Vec::new());
        let handed_out = self.sections.ranges().hand_out(row, &mut |_, part, at, sizes| {
            if part.offset > 0 && has_anchors {
                push(&mut places, (part.offset, at))?;
            }
            stored += crate::file::source::Sizes::Each(sizes).total()?;
            Ok(())
        });
        handed_out?;
        if row.section == Some(SectionType::Varray) && !row.is_compressed && stored != row.size {
            return wrong("sum of the sizes", stored, row.size);
        }
        let end = row.data_section(stored).map_or(0, |layout| layout.end);
        if end != row.end() {
            return wrong("end of the section", end, row.end());
        }
        places.into_iter().try_for_each(|(element, at)| anchor(self, element, at))
    }
}

/// The seal at this offset, whatever is before it. On this rank alone.
fn seal_alone_at(input: &mut Input, offset: u64) -> Result<Option<SealedPart>> {
    let end = input.end();
    SealedPart::among(input.file(), end, offset, &TailBuffer::default())
}

/// Walks from one seal to the next, and stores the last one reached.
fn walk_seals(sections: &mut SectionReader, last: &mut Option<SealedPart>) -> Result<(), Failure> {
    while sections.look_at_section(false)? {
        let Some(&section) = sections.header() else { break };
        sections.skip()?;
        if section.section_type == SectionType::Block && *section.user == *SEAL {
            let found = sections.input.seal_at(section.offset)?;
            let previous = last.map_or(0, |last: SealedPart| last.seal.offset());
            *last = found.filter(|found| found.seal.previous == previous).or(*last);
        }
    }
    Ok(())
}
