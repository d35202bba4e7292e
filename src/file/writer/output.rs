//! The bytes of a section: which rank writes what, at once or with what waits.

use super::Open;
use crate::codec::VARRAY_CONVENTION;
use crate::error::{Error, Result};
use crate::file::encoding::Encoded;
use crate::file::pending::{Outlet, Stage, Wait};
use crate::file::source::Source;
use crate::file::team::Failure;
use crate::format::entry::CountFormat;
use crate::format::header::{SectionType, UserString, section_header};
use crate::format::layout::Layout;
use crate::format::padding::{DataPadding, LineBreak};
use crate::format::{COUNT_BYTES, INLINE_BYTES, SECTION_HEADER_BYTES};
use crate::parallel::Partition;

/// Size entries are formatted this many at a time.
const ENTRIES_PER_CHUNK: usize = 1024;

/// The text before the entries or data of a section: header and counts.
pub(super) struct Head {
    text: [u8; SECTION_HEADER_BYTES + 2 * COUNT_BYTES],
    length: usize,
}

impl Head {
    pub(super) fn new(
        section: SectionType,
        user: &UserString,
        counts: &[&[u8; COUNT_BYTES]],
        style: LineBreak,
    ) -> Self {
        let mut head =
            Self { text: [0; SECTION_HEADER_BYTES + 2 * COUNT_BYTES], length: SECTION_HEADER_BYTES };
        head.text[..SECTION_HEADER_BYTES].copy_from_slice(&section_header(section, user, style));
        for count in counts {
            head.text[head.length..head.length + COUNT_BYTES].copy_from_slice(*count);
            head.length += COUNT_BYTES;
        }
        head
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.text[..self.length]
    }
}

/// A part of this rank in a section: elements by number, and by bytes.
pub(super) struct Part<'a> {
    pub elements: Partition,
    pub bytes: Partition,
    /// The sizes to write before the data; none for a fixed size.
    pub entries: Option<&'a [u64]>,
}

impl Open {
    pub(super) fn write_inline(
        &mut self,
        user: &UserString,
        is_owner: bool,
        data: &[u8; INLINE_BYTES],
    ) -> Result<(), Failure> {
        let layout = Layout::inline(self.end).ok_or_else(too_large)?;
        let header = section_header(SectionType::Inline, user, self.params.line_break);
        self.write(layout, |out, layout| match is_owner {
            true => out.put(layout.start, &[&header, data]),
            false => Ok(()),
        })
    }

    /// The inline section before a compressed block or array (paper, figure 6).
    pub(super) fn write_size_note(
        &mut self,
        convention: &[u8],
        is_owner: bool,
        size: u64,
    ) -> Result<(), Failure> {
        let entry = CountFormat::new(b'U', self.params.line_break).entry(size);
        self.write_inline(&UserString::new(convention)?, is_owner, &entry)
    }

    /// Writes a block whose data the owner has in pieces.
    pub(super) fn write_block(
        &mut self,
        user: &UserString,
        is_owner: bool,
        layout: Layout,
        data: &[&[u8]],
    ) -> Result<(), Failure> {
        let style = self.params.line_break;
        self.write(layout, |out, layout| {
            if !is_owner {
                return Ok(());
            }
            let count = CountFormat::new(b'E', style).entry(layout.data_bytes);
            let head = Head::new(SectionType::Block, user, &[&count], style);
            let last = data.iter().rev().find_map(|piece| piece.last().copied());
            let padding = DataPadding::new(layout.data_bytes, last, style);
            if let [data] = data {
                return out.put(layout.start, &[head.as_slice(), data, padding.as_slice()]);
            }
            let mut pieces = vec![head.as_slice()];
            pieces.extend(data);
            pieces.push(padding.as_slice());
            out.put(layout.start, &pieces)
        })
    }

    /// The array section before a compressed varray (paper, figure 7).
    pub(super) fn write_sizes_note(
        &mut self,
        layout: Layout,
        elements: Partition,
        sizes: &[u64],
    ) -> Result<(), Failure> {
        let style = self.params.line_break;
        let user = UserString::new(VARRAY_CONVENTION)?;
        let format = CountFormat::new(b'U', style);
        let n = CountFormat::new(b'N', style).entry(elements.total);
        let e = CountFormat::new(b'E', style).entry(COUNT_BYTES as u64);
        let header = section_header(SectionType::Array, &user, style);
        let is_first = elements.is_first() || elements.total == 0 && self.team.rank() == 0;
        let is_last = elements.is_last() || elements.total == 0 && self.team.rank() == 0;
        self.write(layout, |out, layout| {
            if is_first {
                out.put(layout.start, &[&header, &n, &e])?;
            }
            put_entries(out, layout.data + elements.offset * COUNT_BYTES as u64, &format, sizes)?;
            if is_last {
                // The last byte of the data is that of an entry.
                let last = (elements.total > 0).then_some(b'\n');
                out.put(layout.padding(), &[DataPadding::new(layout.data_bytes, last, style).as_slice()])?;
            }
            Ok(())
        })
    }

    /// The varray of encoded elements, the second section of a compressed array or varray.
    pub(super) fn write_encoded(
        &mut self,
        user: &UserString,
        layout: Layout,
        elements: Partition,
        bytes: Partition,
        encoded: &Encoded,
    ) -> Result<(), Failure> {
        let n = CountFormat::new(b'N', self.params.line_break).entry(elements.total);
        let part = Part { elements, bytes, entries: Some(&encoded.sizes) };
        let data = Source::Indirect(&encoded.chunks);
        self.write_elements(SectionType::Varray, user, layout, &[&n], &part, data)
    }

    /// Writes an array or varray: the first owner of elements writes the header, too, and the last
    /// one the padding. A section without data belongs to the owners of its entries, or to rank 0.
    pub(super) fn write_elements(
        &mut self,
        section: SectionType,
        user: &UserString,
        layout: Layout,
        counts: &[&[u8; COUNT_BYTES]],
        part: &Part<'_>,
        data: Source<'_>,
    ) -> Result<(), Failure> {
        let style = self.params.line_break;
        let head = Head::new(section, user, counts, style);
        let is_zero = self.team.rank() == 0;
        let leading = if part.entries.is_some() { part.elements } else { part.bytes };
        let trailing = if part.bytes.total > 0 { part.bytes } else { leading };
        let is_first = if leading.total > 0 { leading.is_first() } else { is_zero };
        let is_last = if trailing.total > 0 { trailing.is_last() } else { is_zero };
        let format = CountFormat::new(b'E', style);
        self.write(layout, |out, layout| {
            let padding = DataPadding::new(layout.data_bytes, data.last_byte(), style);
            let padding = if is_last { padding.as_slice() } else { &[] };
            let mut header = if is_first { head.as_slice() } else { &[] };
            if let Some(sizes) = part.entries {
                out.put(layout.start, &[header])?;
                header = &[];
                put_entries(out, layout.entries + part.elements.offset * COUNT_BYTES as u64, &format, sizes)?;
            }
            let mut offset = layout.data + part.bytes.offset;
            if let Source::Contiguous(data) = data {
                // Header, data and padding leave together, straight from the user's memory.
                return match header.is_empty() {
                    true => out.put(offset, &[data, padding]),
                    false => out.put(layout.start, &[header, data, padding]),
                };
            }
            if !header.is_empty() {
                out.put(layout.start, &[header])?;
            }
            data.for_each_piece(|piece| {
                out.put(offset, &[piece])?;
                offset += piece.len() as u64;
                Ok(())
            })?;
            out.put(layout.padding(), &[padding])
        })
    }

    /// Writes a section, or lets it wait if it is small. `put` hands over what this rank owns of it.
    fn write(
        &mut self,
        layout: Layout,
        put: impl FnOnce(&mut dyn Outlet, Layout) -> Result<()>,
    ) -> Result<(), Failure> {
        if self.params.is_small(layout.bytes(), self.team.size()) {
            if layout.end - self.written > self.waiting.room() {
                self.write_waiting()?;
                self.waiting.grow(&self.team, &self.params)?;
            }
            if !self.team.has_deferred() {
                put(&mut Wait { waiting: &mut self.waiting, start: self.written }, layout)?;
            }
            self.end = layout.end;
            return Ok(());
        }
        self.write_all()?;
        self.end = layout.end;
        self.written = layout.end;
        let mine = if self.team.has_deferred() {
            Ok(())
        } else {
            let mut stage = Stage::new(&mut *self.file);
            put(&mut stage, layout).and_then(|()| stage.finish())
        };
        self.team.agree(mine)
    }

    /// Hands what waits over to be written. An error of writing waits in its turn for the next agreement.
    fn write_waiting(&mut self) -> Result<(), Failure> {
        if self.written < self.end {
            self.waiting.write(&mut self.team, &mut *self.file, self.written, self.end)?;
            self.written = self.end;
        }
        Ok(())
    }

    /// Writes everything that waits on this rank, before an agreement that says so.
    pub(super) fn write_all(&mut self) -> Result<(), Failure> {
        self.write_waiting()?;
        self.waiting.settle(&mut self.team, &mut *self.file);
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.write_all()?;
        self.team.agree(Ok(()))
    }
}

/// Writes entries of sizes from `offset`, a bounded number at a time.
fn put_entries(out: &mut dyn Outlet, mut offset: u64, format: &CountFormat, sizes: &[u64]) -> Result<()> {
    let mut text = Vec::with_capacity(sizes.len().min(ENTRIES_PER_CHUNK) * COUNT_BYTES);
    for chunk in sizes.chunks(ENTRIES_PER_CHUNK) {
        text.clear();
        format.append(chunk, &mut text);
        out.put(offset, &[&text])?;
        offset += text.len() as u64;
    }
    Ok(())
}

/// A section that would end beyond 63 bits.
pub(super) fn too_large() -> Error {
    Error::range("section: found a size or count whose end in the file leaves 63 bits")
}
