//! Compares the bytes that the format leaves free, paddings and line breaks, with those that this library
//! writes.

use super::Section;
use super::local_reader::ReadsLocally;
use super::sections::{BATCH_BYTES, CurrentSection, SectionReader, exceeds_63_bits};
use crate::file::source::{Batch, Sizes, batches};
use crate::file::team::{Failure, Function};
use scda_base::error::{Error, ErrorKind, Result, quote};
use scda_base::memory::{self, reserve, resize};
use scda_base::numbers::to_usize;
use scda_codec::{ARRAY_CONVENTION, BLOCK_CONVENTION, VARRAY_CONVENTION, other_line_break};
use scda_format::entry::{CountFormat, parse_counts};
use scda_format::header::{FileHeader, SectionType, UserString, file_header, put_section_header};
use scda_format::layout::{SectionLayout, sum};
use scda_format::padding::{LineBreak, MAX_DATA_PADDING, data_padding};
use scda_format::{COUNT_BYTES, SECTION_HEADER_BYTES};

/// Long text is compared this many bytes at a time: a whole number of lines.
const TEXT_BYTES: u64 = 78 << 13;
/// Size entries are compared this many at a time.
const ENTRIES: u64 = (BATCH_BYTES / COUNT_BYTES) as u64;

/// An error that names the first difference.
fn difference(what: &str, found: &[u8], expected: &[u8], offset: u64) -> Result<()> {
    let Some(at) = found.iter().zip(expected).position(|(found, expected)| found != expected) else {
        return Ok(());
    };
    // Enough bytes to recognize the line break or padding.
    let end = found.len().min(at + 8);
    let (found, expected) = (quote(&found[at..end]), quote(&expected[at..end]));
    let message = format!("{what}: found {found}, expected {expected}");
    Err(Error::new(ErrorKind::Format, message).at(offset + at as u64))
}

/// Compares the current section with what this library writes.
pub(super) struct Canonical<'a> {
    pub(super) sections: &'a mut SectionReader,
    pub(super) style: LineBreak,
}

impl ReadsLocally for Canonical<'_> {
    fn sections(&mut self) -> &mut SectionReader {
        self.sections
    }
}

impl Canonical<'_> {
    /// See [`Inspector::check_canonical`](super::Inspector::check_canonical).
    pub fn check(&mut self, header: &FileHeader) -> Result<(), Failure> {
        self.team().note_call(Function::CheckCanonical);
        self.sections.check_alone("canonical bytes")?;
        if self.sections.cursor.expects_header() && self.sections.position() == self.sections.ends().first {
            let expected = file_header(&header.vendor, &header.user, self.style);
            return Ok(self.compare("file header", 0, &expected)?);
        }
        let Some(current) = self.sections.cursor.whole_current() else {
            return Err(self.sections.cursor.out_of_order("the paddings of a section").into());
        };
        if current.decoded {
            self.check_first_of_pair(&current)?;
        }
        Ok(self.check_section(&current)?)
    }

    fn compare(&mut self, what: &str, offset: u64, expected: &[u8]) -> Result<()> {
        let mut found = vec![0; expected.len()];
        self.input().read_own(offset, &mut found)?;
        difference(what, &found, expected, offset)
    }

    fn compare_header(
        &mut self,
        start: u64,
        section_type: SectionType,
        user: &UserString,
        counts: &[(u8, u64)],
    ) -> Result<()> {
        let mut expected = vec![0; SECTION_HEADER_BYTES];
        put_section_header(&mut expected, section_type, user, self.style);
        counts.iter().for_each(|&(letter, value)| {
            CountFormat::new(letter, self.style).append(&[value], &mut expected)
        });
        self.compare("section header", start, &expected)
    }

    /// Compares the padding of a section whose data are known to be in the file.
    fn compare_padding(&mut self, layout: SectionLayout) -> Result<()> {
        let mut last = [0];
        let last = if layout.data_bytes > 0 {
            self.input().read_own(layout.padding() - 1, &mut last)?;
            Some(last[0])
        } else {
            None
        };
        let mut expected = [0; MAX_DATA_PADDING];
        let expected = data_padding(&mut expected, layout.data_bytes, last, self.style);
        self.compare("padding", layout.padding(), expected)
    }

    /// Compares the size entries from `offset` on, and passes them to the caller.
    fn compare_entries(
        &mut self,
        current: &CurrentSection,
        mut offset: u64,
        letter: u8,
        mut each: impl FnMut(&mut Self, &[u64]) -> Result<()>,
    ) -> Result<()> {
        let format = CountFormat::new(letter, self.style);
        let _temporary = memory::temporary();
        let (mut found, mut expected, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        // Handles one step at a time.
        let most = to_usize(current.count.min(ENTRIES));
        reserve(&mut sizes, most)?;
        reserve(&mut expected, most * COUNT_BYTES)?;
        let mut left = current.count;
        while left > 0 {
            let step = left.min(ENTRIES);
            resize(&mut found, step * COUNT_BYTES as u64)?;
            self.input().read_own(offset, &mut found)?;
            sizes.clear();
            parse_counts(&found, letter, offset, |_, size| {
                sizes.push(size);
                Ok(())
            })
            .map_err(|error| current.conform(error))?;
            expected.clear();
            format.append(&sizes, &mut expected);
            difference("count entry", &found, &expected, offset)?;
            each(self, &sizes)?;
            offset += found.len() as u64;
            left -= step;
        }
        Ok(())
    }

    fn check_first_of_pair(&mut self, current: &CurrentSection) -> Result<()> {
        let start = self.sections.position();
        let (count, size) = (current.count, current.size);
        let convention = match current.section_type {
            SectionType::Block => BLOCK_CONVENTION,
            SectionType::Varray => VARRAY_CONVENTION,
            SectionType::Inline | SectionType::Array => ARRAY_CONVENTION,
        };
        let user = UserString::new(convention)?;
        let Some(entries) = current.size_entries else {
            // The data of the inline section are a size entry.
            return self.compare_header(start, SectionType::Inline, &user, &[(b'U', size)]);
        };
        let counts = [(b'N', count), (b'E', COUNT_BYTES as u64)];
        self.compare_header(start, SectionType::Array, &user, &counts)?;
        self.compare_entries(current, entries, b'U', |_, _| Ok(()))?;
        let layout = SectionLayout::array(start, count, COUNT_BYTES as u64);
        self.compare_padding(layout.ok_or_else(|| exceeds_63_bits(&[count]))?)
    }

    /// Checks the section itself, or the second section of a compressed pair.
    fn check_section(&mut self, current: &CurrentSection) -> Result<()> {
        let Some(&Section { user, .. }) = self.sections.header() else {
            return Err(self.sections.cursor.out_of_order("the paddings of a section"));
        };
        let CurrentSection { layout, decoded, count, size, .. } = *current;
        // An array is compressed to a varray.
        let section_type = match current.section_type {
            SectionType::Array if decoded => SectionType::Varray,
            other => other,
        };
        let counts: &[(u8, u64)] = match section_type {
            SectionType::Inline => &[],
            SectionType::Block => &[(b'E', layout.data_bytes)],
            SectionType::Array => &[(b'N', count), (b'E', size)],
            SectionType::Varray => &[(b'N', count)],
        };
        self.compare_header(layout.start, section_type, &user, counts)?;
        match section_type {
            // An inline section has no padding.
            SectionType::Inline => return Ok(()),
            SectionType::Block if decoded => self.check_text(layout.data, layout.data_bytes)?,
            SectionType::Block | SectionType::Array => {}
            SectionType::Varray => {
                let (mut at, mut total) = (layout.data, 0);
                self.compare_entries(current, layout.entries, b'E', |this, sizes| {
                    let bytes = Sizes::Each(sizes).total()?;
                    total = sum(total, bytes).ok_or_else(|| exceeds_63_bits(&[total, bytes]))?;
                    current.varray_layout(total, this.sections.ends().read)?;
                    if decoded {
                        this.check_texts(at, sizes)?;
                    }
                    at += bytes;
                    Ok(())
                })?;
                let layout = current.varray_layout(total, self.sections.ends().read)?;
                return self.compare_padding(layout);
            }
        }
        self.compare_padding(layout)
    }

    /// Checks consecutive compressed elements, from `offset` on.
    fn check_texts(&mut self, offset: u64, sizes: &[u64]) -> Result<()> {
        let _temporary = memory::temporary();
        let (mut at, mut text) = (offset, Vec::new());
        for Batch { elements, bytes } in batches(Sizes::Each(sizes), 0..sizes.len(), BATCH_BYTES as u64) {
            if elements.len() == 1 {
                self.check_text(at, bytes)?;
            } else {
                resize(&mut text, bytes)?;
                self.input().read_own(at, &mut text)?;
                let (mut rest, mut at) = (text.as_slice(), at);
                for &size in &sizes[elements] {
                    let (element, others) = rest.split_at(to_usize(size));
                    compare_breaks(element, at, self.style)?;
                    rest = others;
                    at += size;
                }
            }
            at += bytes;
        }
        Ok(())
    }

    /// Checks one compressed element.
    fn check_text(&mut self, offset: u64, length: u64) -> Result<()> {
        let _temporary = memory::temporary();
        let mut text = Vec::new();
        let mut done = 0;
        while done < length {
            let step = (length - done).min(TEXT_BYTES);
            resize(&mut text, step)?;
            self.input().read_own(offset + done, &mut text)?;
            compare_breaks(&text, offset + done, self.style)?;
            done += step;
        }
        Ok(())
    }
}

fn compare_breaks(text: &[u8], offset: u64, style: LineBreak) -> Result<()> {
    let Some(at) = other_line_break(text, style) else { return Ok(()) };
    let found = &text[at..text.len().min(at + 2)];
    difference("line break of compressed data", found, &style.in_base64(), offset + at as u64)
}
