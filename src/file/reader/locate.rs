//! Locates the damage in a section whose checksum does not match.

use super::chain::{compare_crc, differs};
use super::index::SealedPart;
use super::inspect::{LocatedError, SealInspector};
use super::local_reader::ReadsLocally;
use super::sections::describe;
use scda_base::error::Result;
use scda_format::header::SectionType;
use scda_format::index::Row;
use scda_format::layout::SectionLayout;
use scda_format::padding::{LineBreak, MAX_DATA_PADDING, data_padding};
use scda_format::{COUNT_BYTES, SECTION_HEADER_BYTES, crc};

/// In longer sections no single wrong byte is searched for, because that takes some seconds for each GiB.
const SEARCHED_BYTES: u64 = 4 << 30;
/// The shortest padding of data.
const LEAST_PADDING: u64 = 7;

impl SealInspector<'_> {
    /// The error for a section whose bytes have the checksum `found`.
    pub(super) fn locate_difference(
        &mut self,
        sealed: &SealedPart,
        number: u64,
        row: &Row,
        found: u64,
    ) -> Result<LocatedError> {
        if row.bytes <= SEARCHED_BYTES
            && let Some((after, change)) = crc::single_byte(found ^ row.crc, row.bytes)
        {
            let at = row.end() - 1 - after;
            let mut byte = [0];
            self.input().read_own(at, &mut byte)?;
            let part = self.part_at(row, at);
            let (found, expected) = (format!("0x{:02x}", byte[0]), format!("0x{:02x}", byte[0] ^ change));
            let error = differs(part, &found, &format!("{expected}, according to the checksum"), at);
            return Ok(LocatedError { error, is_exact: true });
        }
        let at = sealed.row_offset(number);
        let (what, offset) = match self.sections.index().compare_with_header(row, at) {
            Err(error) if error.kind().is_of_file() => {
                // The header differs from the row: an error of the row.
                let offset = error.offset().filter(|offset| (row.offset..row.end()).contains(offset));
                ("header", offset.unwrap_or(row.offset))
            }
            Err(error) => return Err(error),
            Ok(()) => self.beyond_header(row)?,
        };
        let error = compare_crc(what, found, row.crc, offset).err();
        let error = error.unwrap_or_else(|| differs(what, "a difference", &describe(row), offset));
        Ok(LocatedError { error, is_exact: false })
    }

    /// What differs after the header, and where the difference begins.
    fn beyond_header(&mut self, row: &Row) -> Result<(&'static str, u64)> {
        let Some(layout) = self.data_layout(row) else { return Ok(("header or sizes", row.offset)) };
        match self.compare_sizes(row, false, |_, _, _| Ok(())) {
            Err(error) if error.kind().is_of_file() => {
                return Ok(("sizes", error.offset().unwrap_or(row.offset)));
            }
            other => other?,
        }
        if row.section == Some(SectionType::Inline) {
            return Ok(("data", layout.data));
        }
        let (start, mut last) = (layout.padding(), [0]);
        if layout.data_bytes > 0 {
            self.input().read_own(start - 1, &mut last)?;
        }
        let mut found = vec![0; scda_base::numbers::to_usize(layout.end - start)];
        self.input().read_own(start, &mut found)?;
        let is_padding = [LineBreak::Unix, LineBreak::Mime].into_iter().any(|style| {
            let last = (layout.data_bytes > 0).then_some(last[0]);
            *data_padding(&mut [0; MAX_DATA_PADDING], layout.data_bytes, last, style) == found[..]
        });
        Ok((if is_padding { "data" } else { "data or padding" }, layout.data))
    }

    /// The part of the section to which a byte belongs.
    fn part_at(&mut self, row: &Row, at: u64) -> &'static str {
        if row.section.is_none() {
            return "header";
        }
        if let Some(first) = row.first_of_pair()
            && at < first.end
        {
            let padding = if row.section == Some(SectionType::Varray) { first.padding() } else { first.end };
            return match at {
                _ if at < first.data => "header",
                _ if at < padding => "sizes",
                _ => "padding",
            };
        }
        let layout = self.data_layout(row).filter(|layout| layout.end == row.end());
        let parts = layout.or_else(|| row.data_section(0)).map(|found| match layout {
            Some(layout) => (layout.entries, layout.data, layout.padding()),
            None => (found.entries, found.data, row.end() - LEAST_PADDING),
        });
        let Some((entries, data, padding)) = parts else { return "data" };
        match at {
            _ if at < entries => "header",
            _ if at < data => "sizes",
            _ if at < padding => "data",
            // Inline sections have no padding.
            _ if row.section == Some(SectionType::Inline) => "data",
            _ => "padding",
        }
    }

    /// The layout of the section that has the data, as far as the file gives its counts.
    fn data_layout(&mut self, row: &Row) -> Option<SectionLayout> {
        if !row.is_compressed {
            return row.data_section(0);
        }
        let SectionLayout { start, entries, .. } = row.data_section(0)?;
        let (at, count) = match row.section {
            Some(SectionType::Block) => (start + SECTION_HEADER_BYTES as u64, 1),
            _ => (entries, row.count),
        };
        if at.checked_add(count.checked_mul(COUNT_BYTES as u64)?)? > row.end() {
            return None;
        }
        let mut stored = 0_u64;
        self.sections
            .input
            .read_own_entries(at, count, b'E', |_, size| {
                stored = stored.saturating_add(size);
                Ok(())
            })
            .ok()?;
        row.data_section(stored)
    }
}
