//! Reads section headers, and recognizes the pairs of sections that stand for a compressed one.

use super::input::LONGEST_HEADER;
use super::seals::end_of_seal;
use super::{CurrentSection, Input, SectionReader};
use crate::file::open::truncated;
use crate::file::read_ahead::missed;
use crate::file::reader::Section;
use crate::file::team::{Failure, Function, Topic};
use scda_base::error::{Error, ErrorKind, Result};
use scda_codec::{can_expand, compressed_type, second_type};
use scda_format::dataset::stored_dataset::DataSection;
use scda_format::entry::parse_count;
use scda_format::header::{
    FileHeader, SectionType, UserField, UserString, parse_file_header, section_header_fields,
};
use scda_format::layout::{MAX_OFFSET, SectionLayout, product};
use scda_format::{COUNT_BYTES, FILE_HEADER_BYTES, SECTION_HEADER_BYTES};

/// The end of all user strings of sections that begin a compressed pair or belong to a seal.
const CONVENTION_END: &[u8] = b" 00";

impl Section {
    /// The section as the metadata of a dataset must describe it.
    pub(in crate::file::reader) fn section(&self) -> DataSection<'_> {
        DataSection {
            section_type: self.section_type,
            user: &self.user,
            count: self.count,
            size: self.size,
            is_compressed: self.decoded,
        }
    }

    /// If this section, read without decoding, is the first of a compressed pair (paper, section 3), the type
    /// that the second must have. For callers that continue where a pair is broken.
    #[must_use]
    pub fn second_of_pair(&self) -> Option<SectionType> {
        let compressed = compressed_type(self.section_type, &self.user).filter(|_| !self.decoded);
        compressed.map(second_type)
    }
}

impl SectionReader {
    /// Reads the file header. Collective.
    pub fn file_header(&mut self) -> Result<FileHeader, Failure> {
        let bytes = self.input.end().min(FILE_HEADER_BYTES as u64);
        Ok(parse_file_header(self.input.look(0, bytes)?)?)
    }

    pub fn at_end(&self) -> bool {
        self.cursor.expects_header() && self.position() >= self.input.ends.sections
    }

    /// Reads the next header, so that the data of the section are expected. Returns false at the end of the
    /// file.
    pub fn next_section(&mut self, decode: bool) -> Result<bool, Failure> {
        self.end_section(decode)?;
        self.look_at_section(decode)
    }

    /// Ends the current section, if it may end, so that the next header is expected.
    #[inline(always)]
    pub fn end_section(&mut self, decode: bool) -> Result<(), Failure> {
        self.input.team.note_call(Function::ReadHeader);
        self.input.team.note(Topic::Encode, u64::from(decode));
        // In nearly all cases a header is expected, so this is tested first.
        if !self.cursor.expects_header() && self.cursor.may_go_on {
            self.skip()?;
        }
        Ok(())
    }

    /// Reads the next header, if there is one.
    #[inline(always)]
    pub fn look_at_section(&mut self, decode: bool) -> Result<bool, Failure> {
        if !self.cursor.expects_header() {
            let words = "reading a header: the data of the last section must be read or skipped before";
            return Err(Error::usage(words).at(self.position()).into());
        }
        if self.at_end() {
            return Ok(false);
        }
        let end = self.input.end();
        let (user, current) = self.input.look_at_header(self.cursor.position())?;
        if user.ends_with(CONVENTION_END) {
            return self.look_at_convention(decode);
        }
        self.cursor.begin_section(|| user.copied(), current, end);
        Ok(true)
    }

    /// Like [`Self::look_at_section`], for a section that may belong to a seal or begin a pair. Reads the
    /// header again: passing it on would take it out of registers for all other sections, too.
    #[inline(never)]
    fn look_at_convention(&mut self, decode: bool) -> Result<bool, Failure> {
        let first = self.ends().first;
        if self.position() < first {
            // The block with the HDF5 superblock is not a section of the user.
            self.cursor.advance(first);
            return self.look_at_section(decode);
        }
        let (mut user, mut current) = self.input.copy_header(self.position())?;
        while let Some(end) = end_of_seal(&mut self.input, &user, &current)? {
            if end >= self.input.ends.sections {
                self.cursor.advance(end);
                return Ok(false);
            }
            (user, current) = self.input.copy_header(end)?;
            self.cursor.advance(end);
        }
        if decode && let Some(pair) = self.input.look_at_pair(&user, &current)? {
            (user, current) = pair;
        }
        self.cursor.begin_section(|| user, current, self.input.end());
        Ok(true)
    }
}

impl Input {
    /// Reads one section header as stored in the file, and checks that the file has the whole section, unless
    /// truncated sections are tolerated.
    #[inline(always)]
    pub(super) fn look_at_header(&mut self, start: u64) -> Result<(UserField<'_>, CurrentSection), Failure> {
        let (ends, is_tolerant) = (self.ends, self.is_tolerant);
        ends.check("section header", start, start.saturating_add(SECTION_HEADER_BYTES as u64))?;
        let bytes = self.look(start, LONGEST_HEADER.min(ends.read - start))?;
        let header = bytes.first_chunk().ok_or_else(missed)?;
        let (section_type, user) = section_header_fields(header).map_err(|e| e.at(start))?;
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
        // Inline data cannot be read in part.
        if !is_tolerant || section_type == SectionType::Inline {
            ends.check("section", start, layout.end)?;
        }
        Ok((user, CurrentSection { section_type, count, size, decoded: false, layout, size_entries: None }))
    }

    /// Like [`Self::look_at_header`], with a copy of the user string.
    pub(super) fn copy_header(&mut self, start: u64) -> Result<(UserString, CurrentSection), Failure> {
        self.look_at_header(start).map(|(user, current)| (user.copied(), current))
    }

    /// The section that a compressed pair stands for, if `first` is the first section of a pair (paper,
    /// sections 3.2 to 3.4). From here on, anything that does not conform is an error.
    #[inline(never)]
    pub(super) fn look_at_pair(
        &mut self,
        user: &UserString,
        first: &CurrentSection,
    ) -> Result<Option<(UserString, CurrentSection)>, Failure> {
        let Some(section_type) = compressed_type(first.section_type, user) else { return Ok(None) };
        let start = first.layout.start;
        self.ends.check("section", start, first.layout.end)?;
        if self.is_small(first.layout.bytes()) {
            // The sizes of a varray are needed again after the second header.
            let both = first.layout.bytes() + LONGEST_HEADER;
            self.look(start, both.min(self.end() - start))?;
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
        let (user, second) = self.copy_header(first.layout.end).map_err(|failure| match failure {
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
        // In a truncated section, only the part that is read is checked.
        first.check_expansion(if second.layout.end > self.end() { size } else { bytes }, self.end())?;
        let size_entries = (section_type == SectionType::Varray).then_some(first.layout.data);
        Ok(Some((user, CurrentSection { section_type, size, decoded: true, size_entries, ..second })))
    }
}

/// A count in the section header at offset `start`, whose `bytes` may be truncated by the end of the file.
#[inline(always)]
fn count(bytes: &[u8], start: u64, index: usize, letter: u8) -> Result<u64> {
    let at = SECTION_HEADER_BYTES + index * COUNT_BYTES;
    let offset = start + at as u64;
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(entry) => parse_count(entry, letter).map_err(|e| e.at(offset)),
        None => {
            Err(truncated("count entry", offset, offset + COUNT_BYTES as u64, start + bytes.len() as u64))
        }
    }
}

/// The error for counts or sizes in a file that exceed 63 bits.
pub fn exceeds_63_bits(values: &[u64]) -> Error {
    Error::range(format!("section: the product or sum of the counts {values:?} exceeds 63 bits"))
}

impl CurrentSection {
    /// Offset of the element sizes as the user sees them, and the letter of these entries.
    pub fn user_sizes(&self) -> (u64, u8) {
        match self.size_entries {
            Some(entries) => (entries, b'U'),
            None => (self.layout.entries, b'E'),
        }
    }

    /// Returns an error if its compressed data cannot stand for `bytes` bytes. The readable part of the file
    /// ends at `end`.
    pub fn check_expansion(&self, bytes: u64, end: u64) -> Result<()> {
        let (start, left) = (self.layout.start, end - self.layout.start);
        if can_expand(left, bytes) {
            return Ok(());
        }
        let message = format!("compressed section: found {bytes} bytes in {left}, expected fewer");
        Err(Error::new(ErrorKind::Decode, message).at(start))
    }

    /// The layout of the varray once the bytes of all its elements are known. The readable part of the file
    /// ends at `end`.
    pub fn varray_layout(&self, total: u64, end: u64) -> Result<SectionLayout> {
        let start = self.layout.start;
        let layout = SectionLayout::varray(start, self.count, total);
        let layout = layout.ok_or_else(|| exceeds_63_bits(&[total]).at(start))?;
        if layout.end > end { Err(truncated("varray", start, layout.end, end)) } else { Ok(layout) }
    }

    /// The error for a section that the end of the file truncates.
    #[cold]
    pub fn cut(&self, end: u64) -> Error {
        let what = match self.section_type {
            SectionType::Inline => "inline section",
            SectionType::Block => "block",
            SectionType::Array => "array",
            SectionType::Varray => "varray",
        };
        truncated(what, self.layout.start, self.layout.end, end)
    }

    /// Turns an error of a size entry into one of this section.
    pub fn conform(&self, error: Error) -> Error {
        if self.decoded { as_decode_error(error) } else { error }
    }
}

/// In a compressed pair, malformed data are errors of decoding.
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
