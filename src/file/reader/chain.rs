//! Walks the chain of seals on one rank, from the last seal to the first, with the help of tables of names.
//! It checks everything before it relies on it.

use super::index::{NEAR_BYTES, SealedPart, TailBuffer};
use super::pages::Pages;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{self, copy, push, reserve, resize};
use scda_base::numbers::to_usize;
use scda_format::crc;
use scda_format::hdf5::SUPERBLOCK_OFFSET;
use scda_format::index::{
    CRC_TAIL_BYTES, ROW_BYTES, Row, TABLE_HEADER_BYTES, TABLE_PADDING_BYTES, parse_crc_tail,
};
use scda_format::names::{NAME_BYTES, Name, SealRow, Table};
use scda_format::seal::{SEAL_BYTES, Seal};
use scda_storage::ParallelFile;
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes that are read and summed at a time, few enough to stay in the processor's cache.
const SUM_BYTES: u64 = 128 << 10;
/// Seals that are no further apart are read several at a time: one larger read is faster than several small
/// ones.
const NEAR_SEALS_BYTES: u64 = 64 << 10;
/// The most bytes that such a read takes.
const MOST_NEAR_BYTES: u64 = 2 << 20;
/// The checksum of an index of up to this many bytes is verified before the index is used, and its names are
/// kept. In a longer one, each row is compared with its neighbours.
const SHORT_INDEX_BYTES: u64 = 1 << 20;
/// The same limit for a table of names.
const SHORT_TABLE_BYTES: u64 = 4 << 20;
/// The bytes that are read at a time when all names are wanted.
const SCAN_BYTES: u64 = 4 << 20;
/// The bytes that are read at once to find a row of an index, and the most such pages that are kept.
const PAGE_BYTES: u64 = 16 << 10;
const MOST_PAGES: usize = 1024;

/// The seals of a sealed file, as far as they have been found.
#[derive(Default)]
pub(in crate::file) struct Chain {
    /// Where the last seal ends.
    end: u64,
    /// The seals found so far, the last one first.
    pub links: Vec<SealRow>,
    /// The seal before those, if there is one.
    next: Option<Next>,
    /// The groups in which these seals were found, the last one first.
    groups: Vec<SealGroup>,
    /// The seals that were read, by their number counted from the last one.
    known: BTreeMap<usize, KnownSeal>,
    /// The bytes that were read at once near the last seal of the last group.
    near: TailBuffer,
    /// The size of its tables if they may be read at once.
    tables_bytes: u64,
    /// The bytes that were read near the seal that was looked up last.
    looked_at: TailBuffer,
    /// The rows of names in the table of the last group.
    names: Option<(usize, Vec<u8>)>,
    /// Pages of indexes. They stay valid because sealed bytes never change.
    pages: Pages,
}

/// A seal to which another one refers.
#[derive(Clone, Copy)]
struct Next {
    offset: u64,
    sections: Option<u64>,
    crc: Option<u64>,
    /// The offset of the seal that refers to it.
    namer: u64,
}

/// Consecutive seals whose names are in one place: in a table of names, or in the index of a single seal.
#[derive(Clone, Copy)]
pub(crate) struct SealGroup {
    /// The last seal of the group, and its number counted from the last seal of the file.
    pub sealed: SealedPart,
    pub from_end: usize,
    /// The number of seals.
    pub seals: u64,
    /// The offset at which the part covered by the first seal begins, and the number of sections before it.
    pub begin: u64,
    pub first: u64,
    /// The table of names, if there is one.
    pub table: Option<Table>,
}

/// A table of names that has been read.
struct NameTable {
    table: Table,
    /// The seals that it lists.
    seals: Vec<SealRow>,
    /// Its rows of names, unless the table is long.
    names: Vec<u8>,
}

struct KnownSeal {
    sealed: SealedPart,
    /// Whether the checksum of index and seal has been verified.
    is_checked: bool,
    /// Whether the checksum of its anchors has been verified.
    has_checked_anchors: bool,
}

/// Where the part that a seal covers begins: its offset, and the number of sections before it.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub begin: u64,
    pub first: u64,
}

/// The error for a difference between the file and what its seal says.
#[cold]
pub(super) fn differs(what: &str, found: &str, expected: &str, offset: u64) -> Error {
    let words = format!("{what}: found {found}, expected {expected}");
    Error::new(ErrorKind::Checksum, words).at(offset)
}

/// Returns an error unless the checksum is as expected.
pub(super) fn compare_crc(what: &str, found: u64, expected: u64, offset: u64) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(differs(what, &format!("the checksum {found:#018x}"), &format!("{expected:#018x}"), offset))
}

/// Returns an error unless this is the checksum of the index and its seal.
fn compare_sealed_crc(seal: &Seal, found: u64) -> Result<()> {
    compare_crc(&format!("index of the seal at byte {}", seal.offset()), found, seal.crc, seal.index)
}

/// The CRC of the bytes of the file from `start` to `end`.
pub(in crate::file) fn crc_of(file: &mut dyn ParallelFile, start: u64, end: u64) -> Result<u64> {
    let _temporary = memory::temporary();
    let (mut sum, mut at, mut bytes) = (0, start, Vec::new());
    while at < end {
        resize(&mut bytes, (end - at).min(SUM_BYTES))?;
        file.read_at(at, &mut bytes)?;
        sum = crc::extend(sum, &bytes);
        at += bytes.len() as u64;
    }
    Ok(sum)
}

/// Verifies the checksum of index and seal.
pub(super) fn compare_index(file: &mut dyn ParallelFile, seal: &Seal) -> Result<()> {
    // In most cases, one read takes all of it.
    let before = seal.length.saturating_sub(SUM_BYTES).clamp(seal.index, seal.offset());
    let index_crc = crc_of(file, seal.index, before)?;
    let _temporary = memory::temporary();
    let mut bytes = Vec::new();
    resize(&mut bytes, seal.length - before)?;
    file.read_at(before, &mut bytes)?;
    let (rows, end) = bytes.split_at(bytes.len() - SEAL_BYTES);
    let end = end.first_chunk().unwrap_or(&[0; SEAL_BYTES]);
    compare_sealed_crc(seal, Seal::crc_of(crc::extend(index_crc, rows), end))
}

/// Verifies the checksum of the anchors, if there are any.
pub(super) fn compare_anchors(file: &mut dyn ParallelFile, sealed: &SealedPart) -> Result<()> {
    compare_tail("anchors", file, sealed.anchors, sealed.names)
}

/// The checksum of a section, computed as for its row.
pub(super) fn crc_of_section(file: &mut dyn ParallelFile, row: &Row) -> Result<u64> {
    let found = crc_of(file, row.offset, row.end())?;
    row.crc_of(found, |superblock| file.read_at(SUPERBLOCK_OFFSET, superblock))
}

/// Verifies the checksum of the view, if there is one.
pub(super) fn compare_view(file: &mut dyn ParallelFile, sealed: &SealedPart) -> Result<()> {
    compare_tail("view of HDF5", file, sealed.start, sealed.anchors)
}

/// Verifies the checksum at the end of a table between these offsets, if there is one.
pub(super) fn compare_tail(what: &str, file: &mut dyn ParallelFile, start: u64, end: u64) -> Result<()> {
    if start == end {
        return Ok(());
    }
    let tail_offset = end - CRC_TAIL_BYTES as u64;
    let found = crc_of(file, start, tail_offset)?;
    let mut tail = [0; CRC_TAIL_BYTES];
    file.read_at(tail_offset, &mut tail)?;
    let expected = parse_crc_tail(&tail, tail_offset);
    let expected = expected.map_err(|error| error.with_kind(ErrorKind::Checksum))?;
    compare_crc(what, found, expected, start)
}

/// Reads the end of a table of names, which describes the table.
pub(super) fn read_table(file: &mut dyn ParallelFile, sealed: &SealedPart) -> Result<Table> {
    let mut end = [0; NAME_BYTES + TABLE_PADDING_BYTES];
    file.read_at(sealed.end_of_names(), &mut end)?;
    let table = Table::parse(sealed.names, sealed.seal.index, &end);
    table.map_err(|error| error.with_kind(ErrorKind::Checksum))
}

impl SealGroup {
    /// Whether the names are too many to be kept, so that they are searched for in the file.
    pub fn is_long(&self) -> bool {
        self.names_bytes() > if self.table.is_some() { SHORT_TABLE_BYTES } else { SHORT_INDEX_BYTES }
    }

    /// The size of the table or index that holds its names.
    pub fn names_bytes(&self) -> u64 {
        match self.table {
            Some(_) => self.sealed.names_bytes(),
            None => self.sealed.seal.rows().saturating_mul(ROW_BYTES as u64),
        }
    }

    /// The numbers of its sections.
    pub fn sections(&self) -> Range<u64> {
        self.first..self.sealed.seal.sections
    }

    /// The error if the checksum of its names is wrong.
    pub fn damaged(&self) -> Error {
        differs("index", "another checksum", "that of its seal", self.sealed.seal.index)
    }
}

impl Chain {
    /// The seals of a file, the last of which ends at `end`.
    pub fn new(end: u64) -> Self {
        let offset = end.saturating_sub(SEAL_BYTES as u64);
        let next = Some(Next { offset, sections: None, crc: None, namer: end });
        Self { end, next, pages: Pages::new(PAGE_BYTES, MOST_PAGES, end), ..Self::default() }
    }

    /// Like [`Self::new`], but the first read takes `bytes` bytes, for a caller that goes through several
    /// seals.
    pub fn reading(end: u64, bytes: u64) -> Self {
        Self { tables_bytes: bytes, ..Self::new(end) }
    }

    /// The span of a seal that has been found.
    fn span(&self, from_end: usize) -> Span {
        let next = self.next.map(|next| (next.offset, next.sections.unwrap_or(0)));
        let before = self.links.get(from_end + 1).map(|row| (row.offset, row.sections)).or(next);
        let (begin, first) = before.map_or((0, 0), |(offset, first)| (offset + SEAL_BYTES as u64, first));
        Span { begin, first }
    }

    /// The bytes from `offset` on that were read near a seal.
    pub(super) fn read_before(&self, offset: u64) -> &[u8] {
        let found = self.looked_at.from(offset);
        if found.is_empty() { self.near.from(offset) } else { found }
    }

    /// Reads the seals in the file.
    pub fn on<'a>(&'a mut self, file: &'a mut dyn ParallelFile) -> SealReader<'a> {
        SealReader { chain: self, file }
    }
}

/// Reads the seals of a file, on this rank alone.
pub(crate) struct SealReader<'a> {
    chain: &'a mut Chain,
    file: &'a mut dyn ParallelFile,
}

impl SealReader<'_> {
    /// The group of this number, counted from the end of the file; `None` if there are fewer.
    pub fn group(&mut self, number: usize) -> Result<Option<SealGroup>> {
        while self.chain.groups.len() <= number {
            if !self.extend()? {
                return Ok(None);
            }
        }
        Ok(Some(self.chain.groups[number]))
    }

    /// The offset of a known seal that is no longer in the file. Reads again the tables, or the seals, in
    /// which the seals were found.
    pub fn changed(&mut self) -> Result<Option<u64>> {
        let mut now = Chain::new(self.chain.end);
        for (from_end, known) in self.chain.links.iter().enumerate() {
            while now.links.len() <= from_end {
                match now.on(self.file).extend() {
                    Ok(true) => {}
                    Err(error) if error.kind() != ErrorKind::Checksum => return Err(error),
                    _ => return Ok(Some(known.offset)),
                }
            }
            if now.links[from_end] != *known {
                return Ok(Some(known.offset));
            }
        }
        Ok(None)
    }

    /// The seal of this number, counted from the end: 0 is the last one. `None` if there are fewer.
    pub fn seal(&mut self, from_end: usize) -> Result<Option<SealedPart>> {
        while self.chain.links.len() <= from_end {
            if !self.extend()? {
                return Ok(None);
            }
        }
        if let Some(known) = self.chain.known.get(&from_end) {
            return Ok(Some(known.sealed));
        }
        let (row, before) = (self.chain.links[from_end], self.chain.span(from_end));
        let near = TailBuffer::seal_at(self.file, self.chain.end, row.offset, NEAR_BYTES)?;
        let sealed = SealedPart::among(self.file, self.chain.end, row.offset, &near)?.filter(|sealed| {
            let Seal { sections, crc, .. } = sealed.seal;
            (sections, crc) == (row.sections, row.crc)
                && (sealed.begin(), sealed.first) == (before.begin, before.first)
        });
        let Some(sealed) = sealed else {
            return Err(differs("seal", "none", "the one that a table of names has", row.offset));
        };
        self.chain.looked_at = near;
        self.chain.known.insert(from_end, KnownSeal::new(sealed));
        Ok(Some(sealed))
    }

    /// The last seal whose span satisfies the predicate. The predicate must hold for all seals before that
    /// one, down to the first one of the file.
    pub(super) fn seal_where(&mut self, is_wanted: impl Fn(Span) -> bool) -> Result<(usize, SealedPart)> {
        let mut known = 0;
        loop {
            let (mut least, mut most) = (known, self.chain.links.len());
            known = most;
            while least < most {
                let middle = usize::midpoint(least, most);
                if is_wanted(self.chain.span(middle)) { most = middle } else { least = middle + 1 }
            }
            if least < known || !self.extend()? {
                let found = self.seal(least)?.map(|sealed| (least, sealed));
                return found.ok_or_else(|| differs("seals", "none", "a first one", self.chain.end));
            }
        }
    }

    /// Finds the seals before those that are known. Returns false if there are none.
    fn extend(&mut self) -> Result<bool> {
        let Some(next) = self.chain.next else { return Ok(false) };
        self.read_near(next.offset)?;
        let sealed =
            SealedPart::among(self.file, self.chain.end, next.offset, &self.chain.near)?.filter(|sealed| {
                let Seal { sections, crc, .. } = sealed.seal;
                next.sections.is_none_or(|expected| expected == sections)
                    && next.crc.is_none_or(|expected| expected == crc)
            });
        let Some(sealed) = sealed else {
            let words = format!("a seal, as the one at byte {} says", next.namer);
            return Err(differs("seal", "none", &words, next.offset));
        };
        let Seal { previous, sections, crc, .. } = sealed.seal;
        let found = self.table(&sealed)?;
        let from_end = self.chain.links.len();
        let seals = found.as_ref().map_or(1, |read| read.seals.len());
        reserve(&mut self.chain.links, seals)?;
        reserve(&mut self.chain.groups, 1)?;
        self.chain.links.push(SealRow { offset: next.offset, sections, crc });
        self.chain.known.insert(from_end, KnownSeal::new(sealed));
        let before = match &found {
            Some(NameTable { seals, .. }) => {
                self.chain.links.extend(seals[1..].iter().rev());
                let SealRow { offset, sections, crc } = seals[0];
                Next { offset, sections: Some(sections), crc: Some(crc), namer: next.offset }
            }
            None => Next { offset: previous, sections: Some(sealed.first), crc: None, namer: next.offset },
        };
        self.chain.tables_bytes =
            sealed.seal.length - if found.is_some() { sealed.names } else { sealed.seal.index };
        self.chain.next = (before.offset > 0).then_some(before);
        let (seals, first) = (seals as u64, before.sections.unwrap_or(0));
        let begin = self.chain.next.map_or(0, |next| next.offset + SEAL_BYTES as u64);
        let table = found.as_ref().map(|read| read.table);
        let group = SealGroup { sealed, from_end, seals, begin, first, table };
        let is_long = group.is_long();
        self.chain.names = found.filter(|_| !is_long).map(|read| (self.chain.groups.len(), read.names));
        self.chain.groups.push(group);
        Ok(true)
    }

    /// Reads the bytes near the seal at `offset` at once, with its tables if they are as long as those of the
    /// seal after it.
    fn read_near(&mut self, offset: u64) -> Result<()> {
        if self.chain.near.parse(offset).is_some_and(|seal| !self.chain.near.from(seal.index).is_empty()) {
            return Ok(());
        }
        let distance = self.chain.links.last().map_or(0, |last| last.offset.saturating_sub(offset));
        let tables = self.chain.tables_bytes.next_multiple_of(NEAR_BYTES);
        let tables = if tables <= SHORT_TABLE_BYTES { tables } else { 0 };
        // Grows as long as seals are near each other, so that one read holds several.
        let most = match distance {
            ..=NEAR_SEALS_BYTES => 2 * self.chain.near.bytes.len() as u64,
            _ => NEAR_BYTES,
        };
        let most = most.clamp(NEAR_BYTES, MOST_NEAR_BYTES).max(tables);
        self.chain.near = TailBuffer::seal_at(self.file, self.chain.end, offset, most)?;
        Ok(())
    }

    /// Fills `bytes` from `offset` on, from the bytes near the last seal if they are there.
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        match self.chain.near.from(offset).get(..bytes.len()) {
            Some(near) => bytes.copy_from_slice(near),
            None => self.file.read_at(offset, bytes)?,
        }
        Ok(())
    }

    /// The table of names of a seal, the seals that it lists, and its rows of names if it is short. `None`
    /// also if it is damaged: everything can be found without it.
    fn table(&mut self, sealed: &SealedPart) -> Result<Option<NameTable>> {
        if sealed.names_bytes() == 0 {
            return Ok(None);
        }
        let _temporary = memory::temporary();
        let mut bytes = Vec::new();
        let (is_short, seal) = (sealed.names_bytes() <= SHORT_TABLE_BYTES, sealed.seal);
        let table = if is_short {
            resize(&mut bytes, sealed.names_bytes())?;
            self.read(sealed.names, &mut bytes)?;
            let end = bytes.last_chunk().map(|end| Table::parse(sealed.names, seal.index, end));
            let crc = crc::of(&bytes[..bytes.len() - CRC_TAIL_BYTES]);
            end.and_then(Result::ok).filter(|table| table.end.crc == crc)
        } else {
            let mut end = [0; NAME_BYTES + TABLE_PADDING_BYTES];
            self.read(sealed.end_of_names(), &mut end)?;
            Table::parse(sealed.names, seal.index, &end).ok()
        };
        let Some(table) = table else { return Ok(None) };
        let seals_bytes = table.end.seals * NAME_BYTES as u64;
        if is_short {
            bytes.drain(..TABLE_HEADER_BYTES);
        } else {
            resize(&mut bytes, seals_bytes)?;
            self.file.read_at(table.rows, &mut bytes)?;
        }
        let (seals, names) = bytes.split_at(to_usize(seals_bytes));
        let Some(rows) = seal_rows(seals, table.rows)? else { return Ok(None) };
        let (first, last) = (rows[0], rows[rows.len() - 1]);
        let fits = (last.offset, last.sections) == (seal.previous, sealed.first)
            && seal.sections.checked_sub(first.sections) == Some(table.names)
            && (first.offset == 0) == (table.end.seal == table.end.seals);
        let names = names.get(..to_usize(table.names) * NAME_BYTES).unwrap_or_default();
        Ok(if fits { Some(NameTable { table, seals: rows, names: copy(names)? }) } else { None })
    }

    /// The names of a group.
    pub fn names(&mut self, number: usize) -> Result<Vec<Name>> {
        let mut names = Vec::new();
        let Some(group) = self.group(number)? else { return Ok(names) };
        let is_right = self.scan_names(number, |name| push(&mut names, name))?;
        if is_right { Ok(names) } else { Err(group.damaged()) }
    }

    /// Passes the names of a group to `each`, in any order, with bounded memory. Returns whether their checksum
    /// is right, which is known only at the end.
    pub fn scan_names(&mut self, number: usize, mut each: impl FnMut(Name) -> Result<()>) -> Result<bool> {
        let Some(group) = self.group(number)? else { return Ok(true) };
        let SealGroup { sealed, table, .. } = group;
        let Some(table) = table else { return self.scan_index(&group, each) };
        let mut pass = |rows: &[u8], first: u64| {
            for (row, at) in rows.as_chunks().0.iter().zip((first..).step_by(NAME_BYTES)) {
                let name = Name::parse(row, at).map_err(|error| error.with_kind(ErrorKind::Checksum))?;
                if !group.sections().contains(&name.number) {
                    let expected = "that of one of its sections";
                    return Err(differs("table of names", "another N", expected, at));
                }
                each(name)?;
            }
            Ok(())
        };
        let first = table.name_offset(0);
        if let Some((_, rows)) = self.chain.names.take_if(|(of, _)| *of == number) {
            return pass(&rows, first).map(|()| true);
        }
        let all = sealed.names..sealed.seal.index - CRC_TAIL_BYTES as u64;
        let sum = self.scan(all, first..table.name_offset(table.names), NAME_BYTES, pass)?;
        Ok(sum == table.end.crc)
    }

    /// Like [`Self::scan_names`], for a group whose names are in an index.
    fn scan_index(&mut self, group: &SealGroup, mut each: impl FnMut(Name) -> Result<()>) -> Result<bool> {
        let sealed = &group.sealed;
        let (mut number, seal) = (sealed.first, sealed.seal);
        let rows = sealed.row_offset(sealed.header_rows())..sealed.row_offset(seal.rows());
        let sum = self.scan(seal.index..seal.offset(), rows, ROW_BYTES, |rows, first| {
            for (row, at) in rows.as_chunks().0.iter().zip((first..).step_by(ROW_BYTES)) {
                let (section, user) =
                    Row::parse_name(row).map_err(|error| error.at(at).with_kind(ErrorKind::Checksum))?;
                let section =
                    section.ok_or_else(|| differs("index", "the header of the file", "a section", at))?;
                each(Name { section, user, number })?;
                number += 1;
            }
            Ok(())
        })?;
        let mut bytes = [0; SEAL_BYTES];
        self.read(seal.offset(), &mut bytes)?;
        let is_right = Seal::crc_of(sum, &bytes) == seal.crc;
        if is_right {
            self.chain.known.entry(group.from_end).and_modify(|known| known.is_checked = true);
        }
        Ok(is_right)
    }

    /// Reads a table, and passes its rows, of this size, to `each`, some at a time with the offset of the first.
    /// Returns the checksum of the table. What precedes the rows is read with the first of them, and what follows
    /// with the last, so that a short table takes one read.
    fn scan(
        &mut self,
        table: Range<u64>,
        rows: Range<u64>,
        row_bytes: usize,
        mut each: impl FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<u64> {
        let _temporary = memory::temporary();
        let step = SCAN_BYTES - SCAN_BYTES % row_bytes as u64;
        let (mut sum, mut at, mut bytes) = (0, table.start, Vec::new());
        while at < table.end {
            let first = at.max(rows.start);
            let end = if rows.end - first <= step { table.end } else { first + step };
            resize(&mut bytes, end - at)?;
            self.read(at, &mut bytes)?;
            sum = crc::extend(sum, &bytes);
            each(&bytes[to_usize(first - at)..to_usize(rows.end.min(end) - at)], first)?;
            at = end;
        }
        Ok(sum)
    }

    /// Reads bytes of the indexes by pages, and keeps some of these: each row is compared with its
    /// neighbours, and all look-ups begin at the same rows.
    pub(super) fn read_index_bytes(&mut self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        if let Some(known) = self.chain.read_before(offset).get(..bytes.len()) {
            bytes.copy_from_slice(known);
            return Ok(());
        }
        // The number of pages has a limit of its own.
        let _temporary = memory::temporary();
        self.chain.pages.read(self.file, offset, bytes)
    }

    /// Whether the checksum of this index has been verified.
    pub(super) fn is_checked(&self, from_end: usize) -> bool {
        self.chain.known.get(&from_end).is_some_and(|known| known.is_checked)
    }

    /// Verifies the checksum of index and seal, once.
    pub(super) fn check_index(&mut self, from_end: usize) -> Result<()> {
        let Some(known) = self.chain.known.get_mut(&from_end).filter(|known| !known.is_checked) else {
            return Ok(());
        };
        compare_index(self.file, &known.sealed.seal)?;
        known.is_checked = true;
        Ok(())
    }

    /// Verifies the checksum of the anchors, if there are any, once.
    pub(super) fn check_anchors(&mut self, from_end: usize) -> Result<()> {
        let Some(known) = self.chain.known.get_mut(&from_end).filter(|known| !known.has_checked_anchors)
        else {
            return Ok(());
        };
        compare_anchors(self.file, &known.sealed)?;
        known.has_checked_anchors = true;
        Ok(())
    }

    /// The rows of an index, from the very bytes whose checksum is verified.
    pub(super) fn rows(&mut self, from_end: usize) -> Result<Vec<Row>> {
        let (mut bytes, mut rows) = (Vec::new(), Vec::new());
        let Some(sealed) = self.seal(from_end)? else { return Ok(rows) };
        let Seal { index, length, .. } = sealed.seal;
        resize(&mut bytes, length - index)?;
        self.read(index, &mut bytes)?;
        let (all, seal) = bytes.split_at(bytes.len() - SEAL_BYTES);
        let found = Seal::crc_of(crc::of(all), seal.first_chunk().unwrap_or(&[0; SEAL_BYTES]));
        compare_sealed_crc(&sealed.seal, found)?;
        self.chain.known.entry(from_end).and_modify(|known| known.is_checked = true);
        let count = to_usize(sealed.seal.rows());
        reserve(&mut rows, count)?;
        let first = sealed.row_offset(0);
        let all = all[to_usize(first - index)..].as_chunks().0.iter().take(count);
        for (row, at) in all.zip((first..).step_by(ROW_BYTES)) {
            rows.push(Row::parse(row, rows.last().map_or(sealed.begin(), Row::end), at)?);
        }
        Ok(rows)
    }
}

impl KnownSeal {
    fn new(sealed: SealedPart) -> Self {
        Self { sealed, is_checked: false, has_checked_anchors: false }
    }
}

/// The rows of seals in a table, which are at offset `at`; `None` if they are not in the order of the file.
pub(super) fn seal_rows(bytes: &[u8], at: u64) -> Result<Option<Vec<SealRow>>> {
    let mut rows: Vec<SealRow> = Vec::new();
    reserve(&mut rows, bytes.len() / NAME_BYTES)?;
    for (row, bytes) in (at..).step_by(NAME_BYTES).zip(bytes.as_chunks().0) {
        let Ok(row) = SealRow::parse(bytes, row) else { return Ok(None) };
        let follows = match rows.last() {
            None => row.offset > 0 || row == SealRow::default(),
            Some(last) => {
                row.offset.checked_sub(SEAL_BYTES as u64).is_some_and(|end| end >= last.offset)
                    && row.sections >= last.sections
            }
        };
        if !follows {
            return Ok(None);
        }
        rows.push(row);
    }
    Ok(if rows.is_empty() { None } else { Some(rows) })
}
