//! The recovery scan: before sections are appended, it finds where they go, and what the next seal must
//! record about the existing ones.

use super::chain::{compare_index, differs};
use super::index::{Announcement, SEARCH_BYTES, STEP, announced, damaged_end, seals_among};
use super::local_reader::ReadsLocally;
use super::read_back::OwnReader;
use super::rollback::{AppendPlace, KeptSections, LastSeal, MESH_TIME};
use super::sections::SectionReader;
use crate::file::open::Ends;
use crate::file::options::{ReadOptions, Tuning};
use crate::file::sums::Sums;
use crate::file::team::{FINE, Failure, Team, on_rank_0, split, sum_of_sizes};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{AllowanceGuard, push, resize};
use scda_base::numbers::to_usize;
use scda_format::hdf5::{LONG_HEADER_BYTES, clear_superblock, is_reserved};
use scda_format::header::{FileHeader, SectionType};
use scda_format::index::{ANCHOR_BYTES, ANCHORS, INDEX, ROW_BYTES, Row};
use scda_format::layout::sum;
use scda_format::seal::{SEAL, SEAL_BYTES, Seal};
use scda_format::truncation::NewEnd;
use scda_format::{FILE_HEADER_BYTES, INLINE_BYTES};
use scda_ranks::Partition;
use scda_storage::ParallelFile;
use scda_storage::read_at_file::ReadAtFile;

/// The bytes that are read at a time to compute checksums.
const CHUNK_BYTES: u64 = 1 << 20;

/// How a file ends.
enum End {
    /// With a seal, or with a note that it is being truncated to one.
    Sealed(LastSeal),
    /// With a new end that another job has announced.
    Announced(NewEnd),
    /// Anything else.
    Open,
}

/// The result of the recovery scan.
pub struct RecoveryScan {
    pub header: FileHeader,
    /// The offset after the file header, including the block that is reserved for the HDF5 superblock, if
    /// any.
    pub start: u64,
    /// The offset at which the next section is written.
    pub end: u64,
    /// The last seal, if there is one.
    pub seal: Option<LastSeal>,
    /// Where the last seal in the file ends; 0 if there is none.
    sealed: u64,
    /// Where each section after that seal ends.
    ends: Vec<u64>,
    /// Rank 0: these sections, without checksums, for the next seal.
    pub rows: Vec<Row>,
    /// The number of their anchors.
    pub anchors: u64,
    /// In a file without a seal or mark: the offset of seal tables at its end, which remain if a job was
    /// killed while it wrote the first seal.
    tables: Option<u64>,
    /// The offset of a damaged seal: it should follow the index that was scanned last.
    damaged_seal: Option<u64>,
    /// What must be done before sections are appended. If set, only the header and `start` are valid
    /// otherwise.
    pub rollback: Option<Rollback>,
}

/// How to shorten the file before it is scanned again.
pub enum Rollback {
    /// As another job has announced.
    Announced(NewEnd),
    /// To the end of these sections.
    To(KeptSections),
}

impl RecoveryScan {
    /// Whether the file has a seal, or was created to get one.
    pub fn is_sealed(&self) -> bool {
        self.committed().is_some()
    }

    /// The committed bytes of a sealed file: up to the last seal, or before the first one, the header.
    fn committed(&self) -> Option<u64> {
        let header = || self.header.has_seal_mark().then_some(self.start);
        self.seal.map(|seal| seal.length).or_else(header)
    }

    /// Whether the file has room for the HDF5 superblock.
    pub fn has_superblock(&self) -> bool {
        self.start == LONG_HEADER_BYTES
    }

    /// Whether the file is to be sealed, and everything committed is a header without room for the HDF5
    /// superblock.
    pub fn may_get_superblock(&self) -> bool {
        self.is_sealed() && !self.gives_up_seals() && self.end == FILE_HEADER_BYTES as u64
    }

    /// Whether the new end removes sealed sections.
    pub fn gives_up_seals(&self) -> bool {
        self.end < self.sealed
    }

    /// Makes this offset the end, and drops the sections after it.
    fn go_back_to(&mut self, end: u64) {
        self.end = end;
        let kept = self.ends.partition_point(|&section_end| section_end <= end);
        self.ends.truncate(kept);
        self.rows.truncate(kept);
    }

    /// Whether this section may be the anchors or the index of a seal, according to its header. In a file
    /// that keeps unsealed sections, its element count must also match all sections before it.
    fn may_be_table(&self, row: &Row) -> bool {
        let all = self.is_sealed();
        let sections = self.ends.partition_point(|&end| self.tables.is_none_or(|tables| end <= tables));
        let is_index =
            *row.user == *INDEX && row.size == ROW_BYTES as u64 && (all || row.count == sections as u64);
        let is_anchors = *row.user == *ANCHORS
            && row.size == ANCHOR_BYTES as u64
            && (all || self.tables.is_none() && self.anchors > 0 && row.count == self.anchors + 1);
        row.section == Some(SectionType::Array) && !row.is_compressed && (is_index || is_anchors)
    }

    /// The number of sections after the last seal.
    pub fn unsealed(&self) -> u64 {
        let header = u64::from(self.seal.is_none());
        (self.ends.len() as u64).saturating_sub(header)
    }
}

/// Scans a file to which sections are to be appended.
pub struct RecoveryScanner {
    sections: SectionReader,
    place: AppendPlace,
    /// The seal at the end of the file, once found, on rank 0.
    last: Option<Seal>,
}

impl ReadsLocally for RecoveryScanner {
    fn sections(&mut self) -> &mut SectionReader {
        &mut self.sections
    }
}

impl RecoveryScanner {
    /// For a file of `size` bytes, open for reading and writing, in which everything up to `place` is kept.
    pub fn new(
        team: Team,
        file: Box<dyn ParallelFile>,
        size: u64,
        place: AppendPlace,
        tuning: &Tuning,
    ) -> Self {
        // Raw reading includes the sections of seals.
        let params = ReadOptions { tuning: tuning.clone(), raw: true, ..ReadOptions::default() };
        Self { sections: SectionReader::new(team, file, Ends::all(size), params), place, last: None }
    }

    /// Limits the memory for what follows.
    pub fn limit_memory(&self) -> Option<AllowanceGuard> {
        self.sections.limit_memory()
    }

    /// The offset after the file header. Collective.
    fn end_of_header(&mut self) -> Result<u64, Failure> {
        let short = FILE_HEADER_BYTES as u64;
        if self.sections.ends().read < LONG_HEADER_BYTES {
            return Ok(short);
        }
        // It was read with the header.
        let block = self.input().look(short, LONG_HEADER_BYTES - short)?;
        Ok(if block.first_chunk().is_some_and(is_reserved) { LONG_HEADER_BYTES } else { short })
    }

    /// Returns the ranks and the file.
    pub fn into_parts(self) -> (Team, Box<dyn ParallelFile>) {
        self.sections.input.into_parts()
    }

    /// Walks the file. In a sealed file, everything after the last seal is dropped, complete or not: its
    /// bytes may have reached the disk in any order, and only a seal shows that they are right. In a file
    /// without a seal, all sections must be complete. Collective.
    pub fn scan(&mut self) -> Result<RecoveryScan, Failure> {
        let header = self.sections.file_header()?;
        let mut scan = RecoveryScan {
            start: 0,
            end: 0,
            seal: None,
            sealed: 0,
            ends: Vec::new(),
            rows: Vec::new(),
            anchors: 0,
            tables: None,
            damaged_seal: None,
            rollback: None,
            header,
        };
        scan.start = self.end_of_header()?;
        self.sections.advance(scan.start);
        let row = Row {
            section: None,
            user: scan.header.user,
            is_compressed: false,
            offset: 0,
            bytes: scan.start,
            count: 0,
            size: 0,
            crc: 0,
            sorted: 0,
        };
        // If the file ends with a seal, or is being truncated to one, nothing before it needs to be walked.
        match self.look_at_end()? {
            End::Sealed(seal) => {
                (scan.seal, scan.end) = (Some(seal), seal.length);
                return self.after_seal(scan);
            }
            End::Announced(new_end) => {
                scan.rollback = Some(Rollback::Announced(new_end));
                return Ok(scan);
            }
            End::Open => {}
        }
        self.add(&mut scan, row)?;
        let walked = loop {
            match self.scan_section(&mut scan) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(failure) => match self.team().settle(failure) {
                    error if error.kind().is_of_file() => break Err(error),
                    error => return Err(Failure::Agreed(error)),
                },
            }
        };
        if let Some(offset) = scan.damaged_seal {
            let error = Error::new(ErrorKind::Checksum, "append: a seal is damaged");
            return Err(Failure::Agreed(error.at(offset)));
        }
        match (walked, scan.committed()) {
            (Ok(()), None) => scan.go_back_to(scan.tables.unwrap_or(self.sections.ends().read)),
            (Err(error), None) => return Err(Failure::Agreed(error)),
            (walked, Some(end)) => {
                if let Err(error) = walked {
                    self.check_not_sealed(end, &error)?;
                }
                scan.go_back_to(end);
                scan.anchors = 0;
            }
        }
        self.after_seal(scan)
    }

    /// The result for a file that ends with the seal to append after. Of the sealed part, only the index of
    /// this seal is verified, because the next seal will confirm it. Collective.
    fn after_seal(&mut self, mut scan: RecoveryScan) -> Result<RecoveryScan, Failure> {
        scan.sealed = scan.seal.map_or(0, |seal| seal.length);
        self.go_back(&mut scan)?;
        if let Some(seal) = scan.seal.filter(|_| scan.rollback.is_none()) {
            let compared = on_rank_0(self.team().rank(), || self.compare_seal(seal));
            self.team().agree(compared)?;
        }
        Ok(scan)
    }

    fn compare_seal(&mut self, last: LastSeal) -> Result<()> {
        let known = self.last.filter(|known| known.length == last.length);
        let seal = match known {
            Some(known) => Some(known),
            None => {
                let mut bytes = [0; SEAL_BYTES];
                self.file().read_at(last.offset(), &mut bytes)?;
                Seal::parse(&bytes, last.offset())
            }
        };
        match seal {
            Some(seal) => compare_index(self.file(), &seal),
            None => Err(differs("seal", "none", "the one that was just there", last.offset())),
        }
    }

    /// Rolls back to the requested place, if it is before the last seal. Collective.
    fn go_back(&mut self, scan: &mut RecoveryScan) -> Result<(), Failure> {
        if matches!(self.place, AppendPlace::End) {
            return Ok(());
        }
        let found = on_rank_0(self.team().rank(), || self.find_place(scan.seal));
        let ((seal, kept), mine) = split(found);
        let end = kept.as_ref().map_or(0, |kept| kept.end);
        let words = mine.map(|()| [seal.length, seal.sections, end]);
        let [length, sections, end] = self.team().share(0, words)?;
        let seal = (length > 0).then_some(LastSeal { length, sections });
        if end == 0 {
            (scan.seal, scan.end) = (seal, length);
            return Ok(());
        }
        let others = KeptSections { seal, rows: Vec::new(), anchors: Vec::new(), end };
        scan.rollback = Some(Rollback::To(kept.unwrap_or(others)));
        Ok(())
    }

    /// What remains up to the requested place: the last seal, and the sections after it. On one rank.
    fn find_place(&mut self, last: Option<LastSeal>) -> Result<(LastSeal, Option<KeptSections>)> {
        let sealed = last.map_or(0, |last| last.sections);
        let sections = match &self.place {
            AppendPlace::End => sealed,
            AppendPlace::Sections(sections) if *sections > sealed => {
                let words = format!(
                    "append_after: {sections} sections are more than the {sealed} that the seals of the file cover"
                );
                return Err(Error::argument(words));
            }
            AppendPlace::Sections(sections) => *sections,
            AppendPlace::Record { name, record } => {
                let (name, record) = (name.clone(), *record);
                let all = last.map_or(Ok(Vec::new()), |last| self.find_records(&name, last.length))?;
                let count = all.len() as u64;
                let place = match u64::try_from(record) {
                    Ok(record) => Some(record),
                    Err(_) => count.checked_sub(record.unsigned_abs()),
                };
                if place.is_none_or(|place| place >= count) {
                    let words = match count {
                        0 => {
                            let time = format!("{name}/{MESH_TIME}");
                            let times =
                                last.map_or(Ok(Vec::new()), |last| self.find_records(&time, last.length))?;
                            let hint = match times.len() {
                                0 => String::new(),
                                _ => format!("; \"{name}/\" has steps"),
                            };
                            format!("no seal of the file covers a dataset \"{name}\"{hint}")
                        }
                        _ => format!(
                            "record {record}: the seals of the file cover {count} records of \"{name}\""
                        ),
                    };
                    return Err(Error::not_found(words));
                }
                // The metadata of the next record precede its data.
                let next = place.and_then(|place| all.get(to_usize(place + 1)));
                next.map_or(sealed, |next| next.saturating_sub(1))
            }
        };
        match last {
            Some(last) if sections < sealed => KeptSections::find(self.file(), last, sections),
            last => Ok((last.unwrap_or_default(), None)),
        }
    }

    /// The numbers of the sections with the data of a dataset's records, among those covered by the seals up
    /// to `end`.
    fn find_records(&mut self, name: &str, end: u64) -> Result<Vec<u64>> {
        let team = self.team().alone();
        let tuning = self.sections.params().tuning.clone();
        let mut own = OwnReader::new(team, self.file(), end, &tuning)?;
        let mut file: Box<dyn ParallelFile> = Box::new(ReadAtFile(std::io::empty()));
        self.input().exchange_file(&mut file);
        let found = own.read_file(&mut file, end, &[], |own| own.sealed_records(name));
        self.input().exchange_file(&mut file);
        found
    }

    fn add(&mut self, scan: &mut RecoveryScan, row: Row) -> Result<()> {
        push(&mut scan.ends, row.end())?;
        scan.anchors += row.anchors();
        if self.team().rank() == 0 {
            push(&mut scan.rows, row)?;
        }
        Ok(())
    }

    /// Scans the next section. Returns false at the end of the file.
    fn scan_section(&mut self, scan: &mut RecoveryScan) -> Result<bool, Failure> {
        if !self.sections.next_section(true)? {
            return Ok(false);
        }
        let Some(&section) = self.sections.header() else { return Ok(false) };
        let varray = self.sections.cursor.current_varray();
        self.sections.skip()?;
        if *section.user == *SEAL {
            let previous = scan.seal.map_or(0, LastSeal::offset);
            if let Some(seal) = self.seal_at(section.offset, previous)? {
                scan.seal = Some(seal);
                scan.ends.clear();
                scan.rows.clear();
                (scan.anchors, scan.tables, scan.damaged_seal) = (0, None, None);
                return Ok(true);
            }
            self.note_damaged_seal(scan, section.offset)?;
        }
        let size = match (section.section_type, varray) {
            (SectionType::Inline, _) => INLINE_BYTES as u64,
            (SectionType::Varray, Some(varray)) if self.team().rank() == 0 => {
                let (entries, letter) = varray.user_sizes();
                let mut total = 0;
                let read = self.input().read_own_entries(entries, varray.count, letter, |_, size| {
                    total = sum(total, size).ok_or_else(|| sum_of_sizes().at(entries))?;
                    Ok(())
                });
                self.team().defer(read);
                total
            }
            _ => section.size,
        };
        let row = Row {
            section: Some(section.section_type),
            user: section.user,
            is_compressed: section.decoded,
            offset: section.offset,
            bytes: self.sections.position() - section.offset,
            count: section.count,
            size,
            crc: 0,
            sorted: 0,
        };
        let is_table = scan.may_be_table(&row);
        scan.tables = is_table.then(|| scan.tables.unwrap_or(row.offset));
        if is_table && *row.user == *INDEX {
            self.note_damaged_seal(scan, row.end())?;
        }
        self.add(scan, row)?;
        Ok(true)
    }

    /// Notes a damaged seal at this offset, where one is expected but none was recognized, if its bytes are
    /// all there. Collective.
    fn note_damaged_seal(&mut self, scan: &mut RecoveryScan, offset: u64) -> Result<(), Failure> {
        if self.sections.ends().read.saturating_sub(offset) >= SEAL_BYTES as u64 {
            let bytes = self.input().look(offset, SEAL_BYTES as u64)?;
            if bytes.first_chunk().is_some_and(Seal::is_all_there) {
                scan.damaged_seal.get_or_insert(offset);
            }
        }
        Ok(())
    }

    /// Called when reading failed with `error`. Returns an error if there is a seal after `start`, or a
    /// damaged one at the end: then the damage is in sealed sections, which must not be removed as if a
    /// killed job had left them. Each rank searches a part. Collective.
    fn check_not_sealed(&mut self, start: u64, error: &Error) -> Result<(), Failure> {
        let share = (self.sections.ends().read - start)
            .div_ceil(self.team().size() as u64)
            .next_multiple_of(STEP as u64);
        let (rank, end) = (self.team().rank(), self.sections.ends().read);
        let at = |rank: usize| start.saturating_add(share.saturating_mul(rank as u64)).min(end);
        let (from, to) = (at(rank), at(rank + 1));
        let seal = self.find_seal(from, to);
        let (found, mine) = split(seal.and_then(|seal| match seal {
            Some(seal) => Ok(Some(seal)),
            None => damaged_end(self.file(), end),
        }));
        let mut first = [found.unwrap_or(FINE)];
        self.team().agree_with(mine, &mut first)?;
        if first[0] == FINE {
            return Ok(());
        }
        let words = format!(
            "{error}; it is not removed, because a seal, perhaps a damaged one, follows at byte {}",
            first[0]
        );
        Err(Failure::Agreed(Error::new(error.kind(), words)))
    }

    /// The first seal that begins between these offsets. Its index may be damaged.
    fn find_seal(&mut self, from: u64, to: u64) -> Result<Option<u64>> {
        let (mut at, mut bytes) = (from, Vec::new());
        while at < to {
            resize(&mut bytes, (to - at).min(SEARCH_BYTES))?;
            self.input().read_own(at, &mut bytes)?;
            for offset in seals_among(at, &bytes) {
                if self.is_seal(offset)? {
                    return Ok(Some(offset));
                }
            }
            at += bytes.len() as u64;
        }
        Ok(None)
    }

    /// Whether the bytes at this offset have the form of a seal, whatever precedes them.
    fn is_seal(&mut self, offset: u64) -> Result<bool> {
        let mut bytes = [0; SEAL_BYTES];
        if self.sections.ends().read - offset < SEAL_BYTES as u64 {
            return Ok(false);
        }
        self.input().read_own(offset, &mut bytes)?;
        Ok(Seal::parse(&bytes, offset).is_some())
    }

    /// The seal at this offset, if there is one after the seal at `previous`. Rank 0 reads it, because that takes
    /// a few small reads. Collective.
    fn seal_at(&mut self, offset: u64, previous: u64) -> Result<Option<LastSeal>, Failure> {
        let input = &mut self.sections.input;
        let words = on_rank_0(input.team.rank(), || {
            let sealed = input.seal_at(offset)?.filter(|sealed| sealed.seal.previous == previous);
            Ok(sealed.map_or([0; 2], |sealed| [sealed.seal.length, sealed.seal.sections]))
        });
        let [length, sections] = input.team.share(0, words)?;
        Ok((length > 0).then_some(LastSeal { length, sections }))
    }

    /// How the file ends. Collective.
    fn look_at_end(&mut self) -> Result<End, Failure> {
        let words = on_rank_0(self.team().rank(), || {
            let size = self.sections.ends().read;
            let end = match announced(self.file(), size)? {
                None => size,
                Some(Announcement::Note(length)) => length,
                Some(Announcement::NewEnd(NewEnd { tables, offset, length, stays })) => {
                    return Ok([length, stays, offset, tables]);
                }
            };
            let offset = end.checked_sub(SEAL_BYTES as u64);
            let sealed = offset.map_or(Ok(None), |offset| self.input().seal_at(offset))?;
            self.last = sealed.map(|sealed| sealed.seal);
            Ok(self.last.map_or([0; 4], |seal| [seal.length, seal.sections, 0, 0]))
        });
        Ok(match self.team().share(0, words)? {
            [0, ..] => End::Open,
            [length, sections, 0, _] => End::Sealed(LastSeal { length, sections }),
            [length, stays, offset, tables] => End::Announced(NewEnd { tables, offset, length, stays }),
        })
    }

    /// Computes the checksums of the sections after the last seal; each rank reads a part of the bytes. Also
    /// finds their anchors, which rank 0 gets: ranks pass the stored element sizes on, section by section.
    /// Collective.
    pub fn sum_up(
        &mut self,
        scan: &RecoveryScan,
        mut anchors: impl FnMut(&Row, Partition, u64, &[u64]) -> Result<()>,
    ) -> Result<Sums, Failure> {
        let start = scan.seal.map_or(0, |seal| seal.length);
        let ranks = self.team().size() as u64;
        let mut sums = Sums::new(ranks == 1);
        scan.ends.iter().for_each(|&end| sums.put(end, 0));
        let share = (scan.end - start).div_ceil(ranks);
        let at = |rank: u64| start.saturating_add(share.saturating_mul(rank)).min(scan.end);
        let (mut offset, end) = (at(self.team().rank() as u64), at(self.team().rank() as u64 + 1));
        let read = (|| -> Result<()> {
            let mut bytes = Vec::new();
            while offset < end {
                resize(&mut bytes, (end - offset).min(CHUNK_BYTES))?;
                self.input().read_own(offset, &mut bytes)?;
                if scan.has_superblock() {
                    clear_superblock(offset, &mut bytes);
                }
                sums.add(offset, &[&bytes]);
                offset += bytes.len() as u64;
            }
            scan.rows
                .iter()
                .filter(|row| row.anchors() > 0)
                .try_for_each(|row| self.sections.ranges().hand_out(row, &mut anchors))
        })();
        let (_, mine) = split(read);
        self.team().agree(mine)?;
        Ok(sums)
    }
}
