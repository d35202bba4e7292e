//! Implements [`ReadOptions::verify`](crate::ReadOptions::verify): before the header of a section is used,
//! the section's bytes are compared with the checksum in its row of the index.

use super::SectionReader;
use crate::file::reader::chain::{compare_crc, compare_tail, compare_view, crc_of, crc_of_section, differs};
use crate::file::reader::index::SealedPart;
use crate::file::reader::local_reader::ReadsLocally;
use crate::file::reader::sections::describe;
use crate::file::team::{Failure, split};
use scda_base::error::{Error, ErrorKind, Result};
use scda_format::crc;
use scda_format::index::Row;
use std::collections::BTreeMap;

/// A section of at most this many bytes is verified by one rank.
const SMALL_BYTES: u64 = 64 << 10;

/// The ranges of the file that have been verified: beginning and end of each.
#[derive(Default)]
pub(super) struct VerifiedRanges(BTreeMap<u64, u64>);

impl VerifiedRanges {
    /// Whether this byte belongs to a verified section.
    fn has(&self, offset: u64) -> bool {
        self.0.range(..=offset).next_back().is_some_and(|(_, &end)| offset < end)
    }

    fn note(&mut self, start: u64, end: u64) {
        match self.0.range_mut(..start).next_back() {
            // Consecutive sections form one range.
            Some((_, known)) if *known == start => *known = end,
            _ => drop(self.0.insert(start, end)),
        }
    }
}

/// Verifies sections.
pub(super) struct Verifier<'a> {
    pub(super) sections: &'a mut SectionReader,
    pub(super) verified: &'a mut VerifiedRanges,
}

impl ReadsLocally for Verifier<'_> {
    fn sections(&mut self) -> &mut SectionReader {
        self.sections
    }
}

impl Verifier<'_> {
    /// Verifies the seals at the end of the file and the header of the file. Collective.
    pub fn verify_ends(&mut self) -> Result<(), Failure> {
        if !self.sections.is_sealed() {
            let words = "verify needs a seal at the end of the file, and there is none";
            return Err(Error::new(ErrorKind::Checksum, words).at(self.sections.ends().read).into());
        }
        self.look_up(|this| this.check_ends().map(|()| []))?;
        Ok(())
    }

    fn check_ends(&mut self) -> Result<()> {
        for from_end in 0.. {
            match self.sections.seals().seal(from_end)? {
                Some(sealed) if sealed.start >= self.sections.ends().sections => self.check_seal(from_end)?,
                _ => break,
            }
        }
        let (from_end, sealed) = self.sections.seals().seal_where(|span| span.begin == 0)?;
        self.sections.seals().check_index(from_end)?;
        self.compare_section(&sealed, 0)?;
        Ok(())
    }

    /// Verifies the checksums of index and seal, and of the tables before them.
    fn check_seal(&mut self, from_end: usize) -> Result<()> {
        self.sections.seals().check_index(from_end)?;
        self.check_other_tables(from_end)
    }

    /// Verifies the checksums of anchors and names.
    fn check_other_tables(&mut self, from_end: usize) -> Result<()> {
        self.sections.seals().check_anchors(from_end)?;
        let Some(sealed) = self.sections.seals().seal(from_end)? else { return Ok(()) };
        compare_view(self.file(), &sealed)?;
        compare_tail("names", self.file(), sealed.names, sealed.seal.index)
    }

    /// Compares the bytes of a section with its row in a verified index, and the row with the header. Changes
    /// the reading position of this rank.
    fn compare_section(&mut self, sealed: &SealedPart, number: u64) -> Result<Row> {
        let row = self.row_within(sealed, number)?;
        let found = crc_of_section(self.file(), &row)?;
        self.settle_section(sealed, number, &row, found)
    }

    /// Like [`Self::compare_section`], for bytes with the checksum `found`.
    fn settle_section(&mut self, sealed: &SealedPart, number: u64, row: &Row, found: u64) -> Result<Row> {
        compare_crc(&describe(row), found, row.crc, row.offset)?;
        self.sections.index().checked_row(sealed, number)
    }

    /// The row, if its section lies within the part that the seal covers.
    fn row_within(&mut self, sealed: &SealedPart, number: u64) -> Result<Row> {
        let row = self.sections.index().row(sealed, number)?;
        if row.offset < sealed.begin() || row.end() > sealed.start {
            let (found, at) = (format!("bytes {} to {}", row.offset, row.end()), sealed.row_offset(number));
            let words = format!("some of {} to {}", sealed.begin(), sealed.start);
            return Err(differs("row of the index", &found, &words, at));
        }
        Ok(row)
    }

    /// Verifies the next section, and the seals before it, which are skipped. Collective.
    pub fn verify_next(&mut self) -> Result<(), Failure> {
        while self.sections.cursor.expects_header()
            && !self.sections.at_end()
            && !self.verified.has(self.sections.position())
        {
            let (position, mut expected) = (self.sections.position(), None);
            let [start, end] = self.look_up(|this| {
                let (from_end, sealed) = this.sections.seals().seal_where(|span| span.begin <= position)?;
                this.sections.seals().check_index(from_end)?;
                let Some(number) = this.sections.index().row_at(&sealed, position)? else {
                    this.check_other_tables(from_end)?;
                    return Ok([sealed.seal.length, 0]);
                };
                let row = this.row_within(&sealed, number)?;
                if row.bytes > SMALL_BYTES {
                    expected = Some((sealed, number, row));
                } else {
                    this.compare_section(&sealed, number)?;
                }
                Ok([row.offset, row.end()])
            })?;
            if end == 0 {
                self.sections.advance(start);
                continue;
            }
            if end - start > SMALL_BYTES {
                let found = self.look_at_crc(start, end)?;
                self.look_up(|this| {
                    expected.map_or(Ok([]), |(sealed, number, row)| {
                        this.settle_section(&sealed, number, &row, found).map(|_| [])
                    })
                })?;
            }
            self.verified.note(start, end);
        }
        Ok(())
    }

    /// The CRC of these bytes, of which each rank reads a part; valid on rank 0. Collective.
    fn look_at_crc(&mut self, start: u64, end: u64) -> Result<u64, Failure> {
        let bytes = end - start;
        let part = bytes.div_ceil(self.team().size() as u64);
        let from = (self.team().rank() as u64).saturating_mul(part).min(bytes);
        let to = from.saturating_add(part).min(bytes);
        let (own, mine) = split(crc_of(self.file(), start + from, start + to));
        let mut sums = [crc::shift(own, bytes - to)];
        let reduced = self.team().agree(mine)?.comm().reduce_xor(&mut sums);
        // The next agreement, which comes before the sum is used, tells all ranks of an error.
        self.team().defer(reduced);
        Ok(sums[0])
    }
}
