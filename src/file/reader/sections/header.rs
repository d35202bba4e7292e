//! Section headers, and the pairs of sections that stand for a compressed one.

use super::{CurrentSection, Expect, Sections};
use crate::file::reader::Section;
use crate::file::team::{Failure, Function, Topic};
use crate::file::window::missed;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::reserve;
use scda_codec::{can_expand, compressed_type, second_type};
use scda_format::dataset::stored::DataSection;
use scda_format::entry::parse_count;
use scda_format::header::{SectionType, UserString, parse_section_header};
use scda_format::layout::{MAX_OFFSET, SectionLayout, product};
use scda_format::{COUNT_BYTES, SECTION_HEADER_BYTES};

/// The bytes of a section header with all its counts.
pub const LONGEST_HEADER: u64 = (SECTION_HEADER_BYTES + 2 * COUNT_BYTES) as u64;

/// What ends the user strings of all sections that begin a compressed pair or are a part of a seal.
const CONVENTION_END: &[u8] = b" 00";

impl Section {
    /// What the metadata of a dataset are compared with.
    pub(in crate::file::reader) fn section(&self) -> DataSection<'_> {
        DataSection {
            section_type: self.section_type,
            user: &self.user,
            count: self.count,
            size: self.size,
            is_compressed: self.decoded,
        }
    }

    /// If this section, read without decoding, is the first of the two that stand for a compressed one (paper, section
    /// 3): the type that the second must have. For those who go on where a pair is broken.
    #[must_use]
    pub fn second_of_pair(&self) -> Option<SectionType> {
        let compressed = compressed_type(self.section_type, &self.user).filter(|_| !self.decoded);
        compressed.map(second_type)
    }
}

impl Sections {
    pub fn at_end(&self) -> bool {
        matches!(self.cursor.expect, Expect::Header) && self.cursor.position >= self.ends.sections
    }

    /// Bytes of the file that all ranks see. Collective; the file must have them.
    #[inline(always)]
    pub fn look(&mut self, offset: u64, length: u64) -> Result<&[u8], Failure> {
        self.window.cover(
            &mut self.team,
            &mut *self.file,
            &self.params.tuning,
            self.ends.read,
            offset,
            length,
        )
    }

    /// Reads a header on this rank, and copies all that is read ahead with it.
    pub fn look_ahead(&mut self, offset: u64, bytes: &mut Vec<u8>) -> Result<()> {
        let looked = self.look(offset, LONGEST_HEADER.min(self.ends.read - offset)).map(drop);
        looked.map_err(|failure| self.team.settle(failure))?;
        let ahead = self.window.to_send(offset);
        reserve(bytes, ahead.len())?;
        bytes.extend_from_slice(ahead);
        Ok(())
    }

    /// Whether what rank 0 reads ahead can be sent to this rank.
    pub fn expect_ahead(&mut self) -> Result<bool> {
        self.window.expect()
    }

    /// Shares the offset of a header that rank 0 has found, 0 for none, and two other words; and, if the ranks
    /// [expect](Self::expect_ahead) it, what rank 0 has read ahead there.
    pub fn share_ahead(&mut self, found: Result<[u64; 3]>, sent: &[u8]) -> Result<[u64; 3], Failure> {
        let words = found.map(|[offset, one, other]| [offset, one, other, sent.len() as u64]);
        let (agreed, [offset, one, other, length]) = self.team.share_agreed(0, words)?;
        if length > 0 {
            self.window.receive(&agreed, offset, length, sent)?;
        }
        Ok([offset, one, other])
    }

    /// An error if the file ends before `end`.
    pub fn check_end(&self, what: &str, offset: u64, end: u64) -> Result<()> {
        if end <= self.ends.read { Ok(()) } else { Err(cut_off(what, offset, end, self.ends.read)) }
    }

    /// Reads the next header, and expects the data of the section: whether there is one.
    pub fn next_section(&mut self, decode: bool) -> Result<bool, Failure> {
        self.end_section(decode)?;
        self.look_at_section(decode)
    }

    /// Ends the section whose header is known, if it may end; the next header follows.
    #[inline(always)]
    pub fn end_section(&mut self, decode: bool) -> Result<(), Failure> {
        self.team.note_call(Function::ReadHeader);
        self.team.note(Topic::Encode, u64::from(decode));
        // Nearly always a header is expected: this is quick to see.
        if !matches!(self.cursor.expect, Expect::Header) && self.is_read_in_ranges() {
            self.skip()?;
        }
        Ok(())
    }

    /// Reads the next header, if there is one.
    #[inline(always)]
    pub fn look_at_section(&mut self, decode: bool) -> Result<bool, Failure> {
        if !matches!(self.cursor.expect, Expect::Header) {
            let words = "reading a header: the data of the last section must be read or skipped before";
            return Err(Error::usage(words).at(self.cursor.position).into());
        }
        if self.at_end() {
            return Ok(false);
        }
        let (user, current) = self.look_at_header(self.cursor.position)?;
        if user.ends_with(CONVENTION_END) {
            return self.look_at_convention(decode);
        }
        self.begin_section(user, current);
        Ok(true)
    }

    /// As [`Self::look_at_section`], for a section that may be a part of a seal or begin a pair. Reads its header again:
    /// handed over, it could not stay in registers where all sections pass.
    #[inline(never)]
    fn look_at_convention(&mut self, decode: bool) -> Result<bool, Failure> {
        let (mut user, mut current) = self.look_at_header(self.cursor.position)?;
        while let Some(end) = self.end_of_seal(&user, &current)? {
            if end >= self.ends.sections {
                self.cursor.position = end;
                return Ok(false);
            }
            (user, current) = self.look_at_header(end)?;
            self.cursor.position = end;
        }
        if decode && let Some(pair) = self.look_at_pair(&user, &current)? {
            (user, current) = pair;
        }
        self.begin_section(user, current);
        Ok(true)
    }

    /// The data of this section come next.
    #[inline(always)]
    fn begin_section(&mut self, user: UserString, current: CurrentSection) {
        let CurrentSection { section_type, count, size, decoded, layout, .. } = current;
        self.cursor.expect = match section_type {
            _ if layout.end > self.ends.read => Expect::CutData(current),
            SectionType::Varray => Expect::VarraySizes(current),
            _ => Expect::Data(current),
        };
        let (offset, data_offset) = (self.cursor.position, layout.data);
        self.cursor.header = Some(Section { section_type, user, count, size, decoded, offset, data_offset });
    }

    /// Reads one section header as the file has it, and checks that the file is long enough for what it
    /// says, unless this may be cut.
    #[inline(always)]
    fn look_at_header(&mut self, start: u64) -> Result<(UserString, CurrentSection), Failure> {
        self.check_end("section header", start, start.saturating_add(SECTION_HEADER_BYTES as u64))?;
        let bytes = self.look(start, LONGEST_HEADER.min(self.ends.read - start))?;
        let header = bytes.first_chunk().ok_or_else(missed)?;
        let (section_type, user) = parse_section_header(header).map_err(|e| e.at(start))?;
        let (count, size) = match section_type {
            SectionType::Inline => (0, 0),
            SectionType::Block => (0, count(bytes, start, 0, b'E')?),
            SectionType::Array => (count(bytes, start, 0, b'N')?, count(bytes, start, 1, b'E')?),
            SectionType::Varray => (count(bytes, start, 0, b'N')?, 0),
        };
        let layout = match section_type {
            SectionType::Inline => SectionLayout::inline(start),
            SectionType::Block => SectionLayout::block(start, size),
            SectionType::Array => SectionLayout::array(start, count, size),
            SectionType::Varray => SectionLayout::varray(start, count, 0),
        };
        let layout = layout.filter(|_| count <= MAX_OFFSET).ok_or_else(|| {
            let counts: &[u64] =
                if section_type == SectionType::Array { &[count, size] } else { &[count.max(size)] };
            exceeds_63_bits(counts).at(start)
        })?;
        // Inline data are one piece.
        if !self.tolerant || section_type == SectionType::Inline {
            self.check_end("section", start, layout.end)?;
        }
        Ok((
            user,
            CurrentSection {
                section_type,
                count,
                size,
                decoded: false,
                layout,
                size_entries: None,
                in_ranges: false,
            },
        ))
    }

    /// An error if the compressed data from `start` cannot stand for `bytes` bytes.
    pub fn check_expansion(&self, bytes: u64, start: u64) -> Result<()> {
        let left = self.ends.read - start;
        if can_expand(left, bytes) {
            return Ok(());
        }
        let message = format!("compressed section: found {bytes} bytes in {left}, expected fewer");
        Err(Error::new(ErrorKind::Decode, message).at(start))
    }

    /// If `first` is the first section of a compressed pair, the section that the pair stands for
    /// (paper, sections 3.2 to 3.4). All the rest must then conform.
    #[inline(never)]
    fn look_at_pair(
        &mut self,
        user: &UserString,
        first: &CurrentSection,
    ) -> Result<Option<(UserString, CurrentSection)>, Failure> {
        let Some(section_type) = compressed_type(first.section_type, user) else { return Ok(None) };
        let start = first.layout.start;
        self.check_end("section", start, first.layout.end)?;
        if first.layout.bytes() <= self.small_bytes {
            // The sizes of a varray are needed again after the second header.
            let both = first.layout.bytes() + LONGEST_HEADER;
            self.look(start, both.min(self.ends.read - start))?;
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
            let entry = entry.first_chunk().ok_or_else(missed)?;
            parse_count(entry, b'U').map_err(|e| as_decode_error(e).at(offset))?
        };
        let (user, second) = self.look_at_header(first.layout.end).map_err(|failure| match failure {
            Failure::Mine(error) => Failure::Mine(as_decode_error(error)),
            agreed @ Failure::Agreed(_) => agreed,
        })?;
        let expected = second_type(section_type);
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
        // The sizes of the decoded data must fit 63 bits, and be possible for the compressed bytes in the file.
        let elements = if section_type == SectionType::Block { 1 } else { second.count };
        let bytes = product(elements, size).ok_or_else(|| exceeds_63_bits(&[elements, size]).at(start))?;
        // In a section that is cut, this is checked only for what is read.
        self.check_expansion(if second.layout.end > self.ends.read { size } else { bytes }, start)?;
        let size_entries = (section_type == SectionType::Varray).then_some(first.layout.data);
        Ok(Some((user, CurrentSection { section_type, size, decoded: true, size_entries, ..second })))
    }
}

/// A count of the section header at `start` of the file, which begins with `bytes`: all of it that the
/// file has.
#[inline(always)]
fn count(bytes: &[u8], start: u64, index: usize, letter: u8) -> Result<u64> {
    let at = SECTION_HEADER_BYTES + index * COUNT_BYTES;
    let offset = start + at as u64;
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(entry) => parse_count(entry, letter).map_err(|e| e.at(offset)),
        None => Err(cut_off("count entry", offset, offset + COUNT_BYTES as u64, start + bytes.len() as u64)),
    }
}

/// The file ends before `end`.
#[cold]
pub fn cut_off(what: &str, offset: u64, end: u64, file_size: u64) -> Error {
    Error::short_file(what, end, file_size).at(offset)
}

/// Counts or sizes of a file that exceed 63 bits.
pub fn exceeds_63_bits(values: &[u64]) -> Error {
    Error::range(format!("section: the product or sum of the counts {values:?} exceeds 63 bits"))
}

impl CurrentSection {
    /// Offset of the entries in the first section of a compressed varray.
    pub fn first_entries(&self) -> Option<u64> {
        self.size_entries
    }

    /// Offset of the sizes of the elements as the user sees them, and the letter of these entries.
    pub fn user_sizes(&self) -> (u64, u8) {
        match self.size_entries {
            Some(entries) => (entries, b'U'),
            None => (self.layout.entries, b'E'),
        }
    }

    /// An error of an entry as one of this section.
    pub fn conform(&self, error: Error) -> Error {
        if self.decoded { as_decode_error(error) } else { error }
    }
}

/// In a compressed pair, what is malformed breaks the convention.
fn as_decode_error(error: Error) -> Error {
    if error.kind() == ErrorKind::Format { error.with_kind(ErrorKind::Decode) } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scda_codec::{ARRAY_CONVENTION, BLOCK_CONVENTION, VARRAY_CONVENTION};
    use scda_format::index::{ANCHORS, INDEX};
    use scda_format::names::NAMES;
    use scda_format::seal::SEAL;
    use scda_format::truncation::TRUNCATION;

    #[test]
    fn the_user_strings_of_the_conventions_end_alike() {
        let seals = [ANCHORS, NAMES, INDEX, SEAL, TRUNCATION];
        for user in [BLOCK_CONVENTION, ARRAY_CONVENTION, VARRAY_CONVENTION].iter().chain(&seals) {
            assert!(user.ends_with(CONVENTION_END), "{}", user.escape_ascii());
        }
    }
}
