//! Section headers, and the pairs of sections that stand for a compressed one.

use super::{Current, Expect, Open, Section};
use crate::codec::{ARRAY_CONVENTION, BLOCK_CONVENTION, VARRAY_CONVENTION, can_expand};
use crate::error::{Error, ErrorKind, Result};
use crate::file::team::{Failure, Function, Topic};
use crate::format::entry::parse_count;
use crate::format::header::{SectionType, UserString, parse_section_header};
use crate::format::layout::{Layout, MAX_OFFSET, product};
use crate::format::{COUNT_BYTES, SECTION_HEADER_BYTES};

/// The bytes of a section header with all its counts.
const LONGEST_HEADER: u64 = (SECTION_HEADER_BYTES + 2 * COUNT_BYTES) as u64;

/// A section header as the file has it, with the layout of its parts.
#[derive(Clone, Copy)]
struct Raw {
    section_type: SectionType,
    user: UserString,
    count: u64,
    size: u64,
    layout: Layout,
}

impl Open {
    pub(super) fn at_end(&self) -> bool {
        matches!(self.expect, Expect::Header) && self.position == self.size
    }

    /// Bytes of the file that all ranks see. Collective; the file must have them.
    pub(super) fn look(&mut self, offset: u64, length: u64) -> Result<&[u8], Failure> {
        self.window.cover(&mut self.team, &mut *self.file, &self.params, self.size, offset, length)?;
        let bytes = self.window.get(offset, length);
        Ok(bytes.ok_or_else(|| Error::new(ErrorKind::Internal, "the window misses what it covers"))?)
    }

    /// An error if the file ends before `end`.
    pub(super) fn check_end(&self, what: &str, offset: u64, end: u64) -> Result<()> {
        if end > self.size {
            return Err(Error::short_file(what, end, self.size).at(offset));
        }
        Ok(())
    }

    pub(super) fn next_section(&mut self, decode: bool) -> Result<Option<Section>, Failure> {
        self.team.note_call(Function::ReadHeader);
        self.team.note(Topic::Encode, u64::from(decode));
        if !matches!(self.expect, Expect::Header) {
            return Err(Error::usage(
                "reading a header: expected the data of the last section to be read or skipped",
            )
            .at(self.position)
            .into());
        }
        if self.at_end() {
            return Ok(None);
        }
        let first = self.read_raw_header(self.position)?;
        let pair = if decode { self.read_pair(&first)? } else { None };
        let current = pair.unwrap_or(Current {
            section: Section {
                section_type: first.section_type,
                user: first.user,
                count: first.count,
                size: first.size,
                decoded: false,
                offset: first.layout.start,
                data_offset: first.layout.data,
            },
            layout: first.layout,
            size_entries: None,
        });
        self.expect = match current.section.section_type {
            SectionType::Varray => Expect::VarraySizes(current),
            _ => Expect::Data(current),
        };
        Ok(Some(current.section))
    }

    /// Reads one section header and checks that the file is long enough for what it says.
    fn read_raw_header(&mut self, start: u64) -> Result<Raw, Failure> {
        let left = self.size - start;
        self.check_end("section header", start, start.saturating_add(SECTION_HEADER_BYTES as u64))?;
        let bytes = self.look(start, left.min(LONGEST_HEADER))?;
        let (header, counts) = bytes
            .split_first_chunk::<SECTION_HEADER_BYTES>()
            .ok_or_else(|| Error::new(ErrorKind::Internal, "a header was looked at in part"))?;
        let (section_type, user) = parse_section_header(header).map_err(|e| e.at(start))?;
        let letters: &[u8] = match section_type {
            SectionType::Inline => b"",
            SectionType::Block => b"E",
            SectionType::Array => b"NE",
            SectionType::Varray => b"N",
        };
        let mut values = [0; 2];
        let entries = counts.as_chunks::<COUNT_BYTES>().0;
        for (index, letter) in letters.iter().enumerate() {
            let offset = start + (SECTION_HEADER_BYTES + index * COUNT_BYTES) as u64;
            let entry = entries.get(index).ok_or_else(|| {
                Error::short_file("count entry", offset + COUNT_BYTES as u64, start + left).at(offset)
            })?;
            values[index] = parse_count(entry, *letter).map_err(|e| e.at(offset))?;
        }
        let [a, b] = values;
        let (count, size, layout) = match section_type {
            SectionType::Inline => (0, 0, Layout::inline(start)),
            SectionType::Block => (0, a, Layout::block(start, a)),
            SectionType::Array => (a, b, Layout::array(start, a, b)),
            SectionType::Varray => (a, 0, Layout::varray(start, a, 0)),
        };
        let layout = layout.filter(|_| count <= MAX_OFFSET);
        let layout = layout.ok_or_else(|| leaves_63_bits(&values[..letters.len()]).at(start))?;
        self.check_end("section", start, layout.end)?;
        Ok(Raw { section_type, user, count, size, layout })
    }

    /// An error if the compressed data from `start` cannot stand for so many bytes.
    pub(super) fn check_expansion(&self, bytes: u64, start: u64) -> Result<()> {
        let left = self.size - start;
        if can_expand(left, bytes) {
            return Ok(());
        }
        let message = format!("compressed section: found {bytes} bytes in {left}, expected fewer");
        Err(Error::new(ErrorKind::Decode, message).at(start))
    }

    /// If `first` is the first section of a compressed pair, the section that the pair stands for
    /// (paper, sections 3.2 to 3.4). All the rest must then conform.
    fn read_pair(&mut self, first: &Raw) -> Result<Option<Current>, Failure> {
        let section_type = match (first.section_type, &*first.user) {
            (SectionType::Inline, BLOCK_CONVENTION) => SectionType::Block,
            (SectionType::Inline, ARRAY_CONVENTION) => SectionType::Array,
            (SectionType::Array, VARRAY_CONVENTION) => SectionType::Varray,
            _ => return Ok(None),
        };
        let start = first.layout.start;
        if self.params.is_small(first.layout.bytes(), self.team.size()) {
            // The sizes of a varray are wanted again after the second header.
            let both = first.layout.bytes() + LONGEST_HEADER;
            self.look(start, both.min(self.size - start))?;
        }
        let nonconforming = |message: String| Error::new(ErrorKind::Decode, message).at(start);
        let size = if section_type == SectionType::Varray {
            if first.size != COUNT_BYTES as u64 {
                let message = format!("sizes of a compressed varray: found E = {}, expected 32", first.size);
                return Err(nonconforming(message).into());
            }
            0
        } else {
            let offset = first.layout.data;
            let entry = self.look(offset, COUNT_BYTES as u64)?;
            let entry = entry.first_chunk().ok_or_else(|| Error::new(ErrorKind::Internal, "short look"))?;
            parse_count(entry, b'U').map_err(|e| as_decode_error(e).at(offset))?
        };
        let second = self.read_raw_header(first.layout.end).map_err(|failure| match failure {
            Failure::Mine(error) => Failure::Mine(as_decode_error(error)),
            agreed @ Failure::Agreed(_) => agreed,
        })?;
        let expected =
            if section_type == SectionType::Block { SectionType::Block } else { SectionType::Varray };
        if second.section_type != expected {
            return Err(nonconforming(format!(
                "compressed section: found type '{}' after its first part, expected '{}'",
                char::from(second.section_type.letter()),
                char::from(expected.letter())
            ))
            .into());
        }
        if section_type == SectionType::Varray && first.count != second.count {
            return Err(nonconforming(format!(
                "compressed varray: found N = {} and N = {} in its two parts, expected the same",
                first.count, second.count
            ))
            .into());
        }
        // What the user will hold must fit 63 bits, and come out of what the file has.
        let elements = if section_type == SectionType::Block { 1 } else { second.count };
        let bytes = product(elements, size).ok_or_else(|| leaves_63_bits(&[elements, size]).at(start))?;
        self.check_expansion(bytes, start)?;
        let section = Section {
            section_type,
            user: second.user,
            count: second.count,
            size,
            decoded: true,
            offset: start,
            data_offset: second.layout.data,
        };
        let size_entries = (section_type == SectionType::Varray).then_some(first.layout.data);
        Ok(Some(Current { section, layout: second.layout, size_entries }))
    }
}

/// Counts or sizes of a file that leave 63 bits.
pub(super) fn leaves_63_bits(values: &[u64]) -> Error {
    Error::range(format!("section: found the counts {values:?}, whose product or sum leaves 63 bits"))
}

impl Current {
    /// Offset of the sizes of the elements as the user sees them, and the letter of these entries.
    pub(super) fn user_sizes(&self) -> (u64, u8) {
        match self.size_entries {
            Some(entries) => (entries, b'U'),
            None => (self.layout.entries, b'E'),
        }
    }

    /// An error of an entry as one of this section.
    pub(super) fn conform(&self, error: Error) -> Error {
        if self.section.decoded { as_decode_error(error) } else { error }
    }
}

/// In a compressed pair, what is malformed breaks the convention.
fn as_decode_error(error: Error) -> Error {
    if error.kind() == ErrorKind::Format { error.with_kind(ErrorKind::Decode) } else { error }
}
