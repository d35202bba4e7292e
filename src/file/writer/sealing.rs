//! Seals: collects a row for each section as it is written, and writes the tables of a seal at the end.
//!
//! CRCs are linear, so one `reduce_xor` computes those of all sections. The order is: flush; anchors;
//! agreement and `reduce_xor`; names and index; seal. A commit agrees and syncs before the seal, and syncs
//! after it.
//! `tests/files/model` models this: change it before you change the order.

use super::names::Names;
use crate::file::reader::{KeptSections, LastSeal, RecoveryScan};
use crate::file::source::Sizes;
use crate::file::sums::Sums;
use crate::file::team::{FINE, Failure, Team, on_rank_0, split};
use scda_base::error::{Error, Result};
use scda_base::memory::{grow, push, reserve};
use scda_base::numbers::to_usize;
use scda_codec::{compressed_type, second_type};
use scda_format::COUNT_BYTES;
use scda_format::crc;
use scda_format::entry::{CountFormat, parse_count};
use scda_format::header::{SectionType, UserString};
use scda_format::index::{
    ANCHOR_BYTES, ANCHOR_ELEMENTS, ANCHORS, INDEX, ROW_BYTES, Row, crc_tail, sort_rows, table_header,
    table_padding,
};
use scda_format::layout::{SectionLayout, sum, too_large};
use scda_format::names::SealRow;
use scda_format::padding::LineBreak;
use scda_format::seal::{SEAL_BYTES, Seal};
use scda_ranks::Partition;
use scda_storage::ParallelFile;
use std::ops::Range;

/// The number of rows that are formatted and written at a time, few enough to stay in the processor's cache.
const ROWS_PER_CHUNK: usize = 512;

/// The contents of the next seal, collected section by section, and written after the last one.
pub(super) struct Sealer {
    /// On rank 0: a row for each section since the previous seal, without its CRC and its place in the order.
    rows: Vec<Row>,
    /// The row of the section that is being written. It has no place until the section ends.
    current: Row,
    anchors: Anchors,
    /// Offset of the previous seal; 0 if there is none.
    previous: u64,
    /// The number of sections since the beginning of the file.
    sections: u64,
    /// The first section of a compressed pair that is written as two sections, until the second one follows.
    half: Option<Half>,
    /// On rank 0: what the tables of names need.
    pub(super) names: Names,
}

/// What the first section of a compressed pair determines.
struct Half {
    /// The type of the compressed section.
    section: SectionType,
    /// The number of elements, if the first section determines it.
    count: Option<u64>,
    /// The sum of the sizes in its entries.
    size: u64,
    /// Whether it is complete.
    is_complete: bool,
}

/// The row of a section that has no place yet.
fn new_row(section: Option<SectionType>, user: UserString, count: u64, size: u64) -> Row {
    Row { section, user, is_compressed: false, offset: 0, bytes: 0, count, size, crc: 0, sorted: 0 }
}

/// The anchors of the sections since the previous seal.
#[derive(Default)]
struct Anchors {
    /// The number of anchors on all ranks.
    total: u64,
    /// This rank's anchors, and their place among all: the number of the first, and how many.
    offsets: Vec<u64>,
    runs: Vec<(u64, usize)>,
}

impl Sealer {
    /// For a file with this header; also returns the checksums of the header and everything after it.
    pub(super) fn new(team: &Team, user: UserString, header: &[u8]) -> (Self, Sums) {
        let end = header.len() as u64;
        let current = Row { bytes: end, ..new_row(None, user, 0, 0) };
        // Rank 0 has the rows.
        let rows = if team.rank() == 0 { vec![current] } else { Vec::new() };
        let (anchors, names) = (Anchors::default(), Names::new());
        let sealer = Self { rows, current, anchors, previous: 0, sections: 0, half: None, names };
        let mut sums = Sums::new(team.is_alone());
        sums.put(end, if team.rank() == 0 { crc::of(header) } else { 0 });
        (sealer, sums)
    }

    /// For a file that already has sections.
    pub(super) fn continued(scan: &RecoveryScan) -> Self {
        let sealer = Self::after(scan.seal);
        Self { sections: sealer.sections + scan.unsealed(), ..sealer }
    }

    /// For sections after this seal.
    fn after(seal: Option<LastSeal>) -> Self {
        let current = new_row(None, UserString::EMPTY, 0, 0);
        let (previous, sections) = seal.map_or((0, 0), |seal| (seal.offset(), seal.sections));
        let names = seal.map_or_else(Names::new, |seal| Names::continued(seal.length, seal.sections));
        let (rows, anchors) = (Vec::new(), Anchors::default());
        Self { rows, current, anchors, previous, sections, half: None, names }
    }

    /// For sections that were sealed, with their checksums. On one rank.
    pub(super) fn of_sections(kept: KeptSections) -> (Self, Vec<u64>) {
        let KeptSections { seal, rows, anchors, .. } = kept;
        let (sums, count) = (rows.iter().map(|row| row.crc).collect(), anchors.len());
        let runs = if count > 0 { vec![(0, count)] } else { Vec::new() };
        let header_rows = u64::from(seal.is_none());
        let sealer = Self {
            sections: seal.map_or(0, |seal| seal.sections) + rows.len() as u64 - header_rows,
            rows,
            anchors: Anchors { total: count as u64, offsets: anchors, runs },
            ..Self::after(seal)
        };
        (sealer, sums)
    }

    /// Records elements of a section that is already in the file.
    pub(super) fn note_scanned(
        &mut self,
        row: &Row,
        part: Partition,
        data: u64,
        sizes: &[u64],
    ) -> Result<()> {
        self.note_elements(part, data, sizes)?;
        if part.offset + part.count == part.total {
            self.anchors.total += row.anchors();
        }
        Ok(())
    }

    /// Takes the rows of the sections that are already in the file. All ranks know the number of their
    /// anchors.
    pub(super) fn take_scanned(&mut self, scan: &mut RecoveryScan) {
        self.anchors.total = scan.anchors;
        self.rows = std::mem::take(&mut scan.rows);
    }

    /// Records the sizes of these elements of this rank as stored in the file, the first at offset `data`.
    pub(super) fn note_elements(&mut self, elements: Partition, data: u64, sizes: &[u64]) -> Result<()> {
        let mut number = elements.offset.div_ceil(ANCHOR_ELEMENTS).max(1);
        let first = number;
        let (mut at, mut rest, mut index) = (data, sizes, elements.offset);
        let end = elements.offset + elements.count;
        while number * ANCHOR_ELEMENTS < end {
            let step = to_usize(number * ANCHOR_ELEMENTS - index);
            let (now, later) = rest.split_at(step.min(rest.len()));
            at += Sizes::Each(now).total()?;
            push(&mut self.anchors.offsets, at)?;
            index = number * ANCHOR_ELEMENTS;
            rest = later;
            number += 1;
        }
        if number > first {
            let run = (self.anchors.total + first - 1, to_usize(number - first));
            push(&mut self.anchors.runs, run)?;
        }
        Ok(())
    }

    /// Records the size of all elements, before compression, of the varray that is being written.
    pub(super) fn note_size(&mut self, bytes: u64) {
        self.current.size = bytes;
    }

    /// The same for a varray that is not being compressed; as the second section of a pair it may be
    /// compressed already.
    pub(super) fn note_plain_size(&mut self, bytes: u64) {
        if !self.current.is_compressed {
            self.note_size(bytes);
        }
    }

    /// Records the section that is being written, which may be half of a compressed pair.
    #[inline(never)]
    pub(super) fn note_section(
        &mut self,
        section: SectionType,
        user: &[u8],
        count: u64,
        size: u64,
    ) -> Result<()> {
        let user = UserString::new(user)?;
        let has_count = section == SectionType::Array;
        self.current = match self.half.take_if(|half| half.is_complete) {
            Some(half) => {
                let is_second =
                    section == second_type(half.section) && half.count.is_none_or(|half| half == count);
                if !is_second {
                    return Err(no_second());
                }
                Row { is_compressed: true, ..new_row(Some(half.section), user, count, half.size) }
            }
            None => new_row(Some(section), user, count, size),
        };
        if let Some(compressed) = compressed_type(section, &user) {
            if has_count && size != COUNT_BYTES as u64 {
                let words = format!("sizes of a compressed varray: found E = {size}, expected {COUNT_BYTES}");
                return Err(Error::argument(words));
            }
            let count = has_count.then_some(count);
            self.half = Some(Half { section: compressed, count, size: 0, is_complete: false });
        }
        Ok(())
    }

    /// Records the entries in the data of the section that is being written, if that is the first of a
    /// compressed pair.
    #[inline]
    pub(super) fn note_first_half(&mut self, data: &[u8]) -> Result<()> {
        self.half.as_mut().map_or(Ok(()), |half| half.add(data))
    }

    /// Records that the section being written is a compressed pair.
    pub(super) fn note_compressed(&mut self) {
        self.current.is_compressed = true;
    }

    /// Ends the section that is being written. Returns whether it is the first of a compressed pair, of which
    /// both together form one section.
    #[inline(always)]
    pub(super) fn end_half(&mut self) -> bool {
        let half = self.half.as_mut();
        half.is_some_and(|half| {
            half.is_complete = true;
            true
        })
    }

    /// Records the place of the section that is complete, and its row on rank 0.
    #[inline(never)]
    pub(super) fn end_section(&mut self, section: Range<u64>, is_zero: bool) -> Result<()> {
        let row = &mut self.current;
        (row.offset, row.bytes) = (section.start, section.end - section.start);
        if is_zero {
            push(&mut self.rows, *row)?;
        }
        self.anchors.total += row.anchors();
        self.sections += 1;
        Ok(())
    }

    /// # Errors
    /// `Argument` if the first section of a compressed pair was written, but not the second.
    pub(super) fn check_whole(&self) -> Result<()> {
        if self.half.is_some() { Err(no_second()) } else { Ok(()) }
    }

    /// The end of the last seal, 0 if there is none; on rank 0, also the rows of the sections after it.
    pub(super) fn noted(&self) -> (u64, &[Row]) {
        let sealed = if self.previous > 0 { self.previous + SEAL_BYTES as u64 } else { 0 };
        (sealed, &self.rows)
    }

    /// Writes an HDF5 view, anchors, index and seal after the sections, which end at `start`. This rank adds
    /// `sums` to their checksums. Rank 0 has the section of the view; all ranks have its size, which may be 0
    /// if there are sections since the last seal. With `sync`, the seal is written after they are on stable
    /// storage. Returns the end of the file, and on rank 0 the checksum of the seal. Collective.
    pub(super) fn seal(
        &mut self,
        team: &mut Team,
        file: &mut dyn ParallelFile,
        (start, mut sums): (u64, Vec<u64>),
        (view, view_bytes): (&[u8], u64),
        style: LineBreak,
        sync: bool,
    ) -> Result<(u64, u64), Failure> {
        let start_of_tables = start + view_bytes;
        let rows = sums.len() as u64;
        let anchors = std::mem::take(&mut self.anchors);
        let anchors_at = match anchors.total {
            0 => None,
            total => Some(
                SectionLayout::array(start_of_tables, total + 1, ANCHOR_BYTES as u64)
                    .ok_or_else(too_large)?,
            ),
        };
        let names_at = anchors_at.map_or(start_of_tables, |layout| layout.end);
        let names = on_rank_0(team.rank(), || self.names.table(file, &self.rows, style));
        let (names, mine) = split(names);
        let mine = match view {
            [] => mine,
            view => mine.and_then(|()| file.write_at(start, &[view])),
        };
        let written = match anchors_at {
            Some(layout) => mine.and_then(|()| write_anchors(team, file, layout, &anchors, style)),
            None => mine.map(|()| 0),
        };
        let mine = written.and_then(|crc| push(&mut sums, crc));
        // Only rank 0 knows the size of its table.
        let mut length = [if team.rank() == 0 { names.len() as u64 } else { FINE }];
        let agreed = team.agree_with(mine, &mut length)?;
        let reduced = agreed.comm().reduce_xor(&mut sums);
        let index =
            SectionLayout::array(names_at + length[0], rows, ROW_BYTES as u64).ok_or_else(too_large)?;
        let length = index.end + SEAL_BYTES as u64;
        let mut crc = 0;
        let mine = reduced.and_then(|()| {
            if team.rank() > 0 {
                return Ok(());
            }
            if let (Some(layout), Some(&crc)) = (anchors_at, sums.last()) {
                file.write_at(layout.padding() - COUNT_BYTES as u64, &[&crc_tail(crc, style)])?;
            }
            if !names.is_empty() {
                file.write_at(names_at, &[&names])?;
            }
            self.rows.iter_mut().zip(&sums).for_each(|(row, &crc)| row.crc = crc);
            sort_rows(&mut self.rows)?;
            crc = write_index(file, index, &self.rows, style)?;
            self.rows.clear();
            Ok(())
        });
        // Without a sync, rank 0 alone knows whether what precedes the seal is there: it writes both.
        let mut mine = mine;
        if sync {
            // The seal must not be on stable storage before what it seals.
            team.agree(std::mem::replace(&mut mine, Ok(())))?;
            let synced = file.sync();
            team.agree(synced)?;
        }
        let seal =
            Seal { index: index.start, previous: self.previous, sections: self.sections, length, crc: 0 };
        let seal = seal.with_crc(crc, style);
        if team.rank() == 0 {
            let row = SealRow { offset: seal.offset(), sections: seal.sections, crc: seal.crc };
            let written = mine.and_then(|()| file.write_at(seal.offset(), &[&seal.bytes(style)]));
            mine = written.and_then(|()| self.names.note(row));
        }
        if let Err(failure) = team.agree(mine) {
            if !team.is_lost() {
                unseal(team, file, &seal);
            }
            return Err(failure);
        }
        self.previous = seal.offset();
        Ok((length, seal.crc))
    }
}

impl Half {
    fn add(&mut self, data: &[u8]) -> Result<()> {
        for entry in data.as_chunks().0 {
            self.size = sum(self.size, parse_count(entry, b'U')?).ok_or_else(too_large)?;
        }
        Ok(())
    }
}

/// The error if the first section of a compressed pair was written, and something else follows.
#[cold]
fn no_second() -> Error {
    Error::argument("sections: the second one of a compressed pair must follow the first")
}

/// After an error in writing this seal, which all ranks know: removes for good what may be there of it. The
/// file is then truncated before its tables, and the zeros of the truncated part may reach the disk before
/// the new length: no seal must follow them. Collective.
fn unseal(team: &Team, file: &mut dyn ParallelFile, seal: &Seal) {
    if team.rank() == 0 {
        let _ = file.write_at(seal.offset(), &[&[0; SEAL_BYTES]]);
    }
    let _ = file.sync();
}

/// Writes this rank's anchors, and on rank 0 the header of their section. Returns this rank's contribution to
/// the CRC of all bytes before the entry that holds it.
fn write_anchors(
    team: &Team,
    file: &mut dyn ParallelFile,
    layout: SectionLayout,
    anchors: &Anchors,
    style: LineBreak,
) -> Result<u64> {
    let end = layout.padding() - COUNT_BYTES as u64;
    let mut sum = 0;
    if team.rank() == 0 {
        let header = table_header(ANCHORS, anchors.total + 1, ANCHOR_BYTES, style);
        file.write_at(layout.start, &[&header])?;
        sum ^= crc::shift(crc::of(&header), end - layout.data);
    }
    let format = CountFormat::new(b'O', style);
    let (mut text, mut rest) = (Vec::new(), anchors.offsets.as_slice());
    for &(first, count) in &anchors.runs {
        let (run, later) = rest.split_at(count.min(rest.len()));
        rest = later;
        let mut at = layout.data + first * ANCHOR_BYTES as u64;
        for chunk in run.chunks(ROWS_PER_CHUNK) {
            text.clear();
            reserve(&mut text, chunk.len() * ANCHOR_BYTES)?;
            format.append(chunk, &mut text);
            file.write_at(at, &[&text])?;
            at += text.len() as u64;
            sum ^= crc::shift(crc::of(&text), end - at);
        }
    }
    Ok(sum)
}

/// Writes the index, and returns its CRC.
fn write_index(
    file: &mut dyn ParallelFile,
    layout: SectionLayout,
    rows: &[Row],
    style: LineBreak,
) -> Result<u64> {
    let count = rows.len() as u64;
    let (header, padding) = (table_header(INDEX, count, ROW_BYTES, style), table_padding(count, style));
    let mut text = Vec::new();
    grow(&mut text, rows.len().min(ROWS_PER_CHUNK) * ROW_BYTES)?;
    let (mut at, mut sum) = (layout.start, 0);
    // Without rows, only header and padding.
    let last = rows.len().div_ceil(ROWS_PER_CHUNK).max(1) - 1;
    for number in 0..=last {
        let chunk = rows.chunks(ROWS_PER_CHUNK).nth(number).unwrap_or_default();
        for (row, bytes) in chunk.iter().zip(text.as_chunks_mut().0) {
            row.put(bytes, style);
        }
        let header: &[u8] = if number == 0 { &header } else { &[] };
        let padding: &[u8] = if number == last { &padding } else { &[] };
        let runs = [header, &text[..chunk.len() * ROW_BYTES], padding];
        file.write_at(at, &runs)?;
        for run in runs {
            sum = crc::extend(sum, run);
            at += run.len() as u64;
        }
    }
    Ok(sum)
}
