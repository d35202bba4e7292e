//! Writes a section of each type, and determines which parts each rank writes.

use super::{SectionWriter, too_large};
use crate::file::aggregators::RankData;
use crate::file::encoding::EncodedElements;
use crate::file::source::Source;
use crate::file::team::{Failure, split};
use crate::file::writer::output::{LONGEST_HEAD, Parts, put_entries};
use crate::file::writer::sealing::Sealer;
use scda_base::error::Result;
use scda_codec::VARRAY_CONVENTION;
use scda_format::entry::CountFormat;
use scda_format::header::{SectionType, put_section_header};
use scda_format::layout::SectionLayout;
use scda_format::padding::{LineBreak, MAX_DATA_PADDING, data_padding};
use scda_format::{COUNT_BYTES, INLINE_BYTES, SECTION_HEADER_BYTES};
use scda_ranks::Partition;
use scda_storage::ParallelFile;

/// Formats the text before the entries or data of a section into `text`: the header, and at most two counts,
/// each with its letter.
#[inline(always)]
pub(in crate::file::writer) fn head<'a>(
    text: &'a mut [u8; LONGEST_HEAD],
    section: SectionType,
    user: &[u8],
    counts: &[(u8, u64)],
    style: LineBreak,
) -> &'a [u8] {
    let (header, entries) = text.split_at_mut(SECTION_HEADER_BYTES);
    put_section_header(header, section, user, style);
    for (entry, &(letter, value)) in entries.as_chunks_mut().0.iter_mut().zip(counts) {
        CountFormat::new(letter, style).put(value, entry);
    }
    &text[..SECTION_HEADER_BYTES + counts.len() * COUNT_BYTES]
}

/// This rank's elements of a section, by index and by bytes.
pub(in crate::file::writer) struct LocalElements<'a> {
    pub elements: Partition,
    pub bytes: Partition,
    /// The sizes to write before the data; `None` for elements of equal size.
    pub entries: Option<&'a [u64]>,
}

impl SectionWriter {
    pub(in crate::file::writer) fn write_inline(
        &mut self,
        user: &[u8],
        is_owner: bool,
        data: &[u8; INLINE_BYTES],
    ) -> Result<(), Failure> {
        let layout = SectionLayout::inline(self.end()).ok_or_else(too_large)?;
        if !is_owner {
            return self.output.write_run(layout, layout.start, &[]);
        }
        let mut text = [0; LONGEST_HEAD];
        let head = head(&mut text, SectionType::Inline, user, &[], self.params().line_break);
        self.output.write_run(layout, layout.start, &[head, data])
    }

    /// Writes the inline section before a compressed block or array (paper, figure 6).
    pub(in crate::file::writer) fn write_size_note(
        &mut self,
        convention: &[u8],
        is_owner: bool,
        size: u64,
    ) -> Result<(), Failure> {
        self.sealer.iter_mut().for_each(Sealer::note_compressed);
        let entry = CountFormat::new(b'U', self.params().line_break).entry(size);
        self.write_inline(convention, is_owner, &entry)
    }

    /// Writes a block whose data the root rank has in several runs.
    #[inline(always)]
    pub(in crate::file::writer) fn write_block(
        &mut self,
        user: &[u8],
        is_owner: bool,
        layout: SectionLayout,
        data: &[&[u8]],
    ) -> Result<(), Failure> {
        if !is_owner {
            return self.output.write_run(layout, layout.start, &[]);
        }
        let style = self.params().line_break;
        let mut text = [0; LONGEST_HEAD];
        let head = head(&mut text, SectionType::Block, user, &[(b'E', layout.data_bytes)], style);
        let last = data.iter().rev().find_map(|run| run.last().copied());
        let mut padding = [0; MAX_DATA_PADDING];
        let padding = data_padding(&mut padding, layout.data_bytes, last, style);
        match data {
            [data] => self.output.write_run(layout, layout.start, &[head, data, padding]),
            _ => self.output.write_run(layout, layout.start, &[&[head], data, &[padding]].concat()),
        }
    }

    /// Writes the array section before a compressed varray (paper, figure 7).
    pub(in crate::file::writer) fn write_sizes_note(
        &mut self,
        layout: SectionLayout,
        elements: Partition,
        sizes: &[u64],
    ) -> Result<(), Failure> {
        self.sealer.iter_mut().for_each(Sealer::note_compressed);
        let style = self.params().line_break;
        let format = CountFormat::new(b'U', style);
        let counts = [(b'N', elements.total), (b'E', COUNT_BYTES as u64)];
        let mut text = [0; LONGEST_HEAD];
        let head = head(&mut text, SectionType::Array, VARRAY_CONVENTION, &counts, style);
        let is_first = elements.is_first() || elements.total == 0 && self.team().rank() == 0;
        let is_last = elements.is_last() || elements.total == 0 && self.team().rank() == 0;
        let head = if is_first { head } else { &[] };
        let mut padding = [0; MAX_DATA_PADDING];
        // The last byte of the data is that of a size entry.
        let last = (elements.total > 0).then_some(b'\n');
        let padding = if is_last { data_padding(&mut padding, layout.data_bytes, last, style) } else { &[] };
        let entries = layout.data + elements.offset * COUNT_BYTES as u64;
        if self.output.is_aggregated(layout)? {
            return self.output.write_aggregated(
                layout,
                head,
                &[(entries, RankData::Entries(format, sizes, padding))],
            );
        }
        self.output.write(layout, head, |out, layout| {
            put_entries(out, entries, &format, sizes)?;
            out.put(layout.padding(), &[padding])
        })
    }

    /// The elements that this rank has encoded, and where their bytes are among those of all ranks. Collective.
    pub(in crate::file::writer) fn spread(
        &mut self,
        encoded: Result<EncodedElements>,
    ) -> Result<(EncodedElements, Partition), Failure> {
        let (encoded, mine) = split(encoded);
        self.output.must_agree();
        let bytes = self.team_mut().agree(mine)?.spread(encoded.bytes())?;
        Ok((encoded, bytes))
    }

    /// Writes the varray of encoded elements, the second section of a compressed array or varray.
    #[inline(never)]
    pub(in crate::file::writer) fn write_encoded(
        &mut self,
        user: &[u8],
        layout: SectionLayout,
        elements: Partition,
        bytes: Partition,
        encoded: &EncodedElements,
    ) -> Result<(), Failure> {
        let local = LocalElements { elements, bytes, entries: Some(&encoded.sizes) };
        let data = Source::Indirect(&encoded.chunks);
        self.write_elements(SectionType::Varray, user, layout, &[(b'N', elements.total)], &local, data)
    }

    /// Writes an array or varray: the rank with the first element writes the header as well, and the one with
    /// the last element the padding. A section without data is written by the ranks of its entries, or by
    /// rank 0.
    #[inline(always)]
    pub(in crate::file::writer) fn write_elements(
        &mut self,
        section: SectionType,
        user: &[u8],
        layout: SectionLayout,
        counts: &[(u8, u64)],
        local: &LocalElements<'_>,
        data: Source<'_>,
    ) -> Result<(), Failure> {
        let style = self.params().line_break;
        let is_zero = self.team().rank() == 0;
        let leading = if local.entries.is_some() { &local.elements } else { &local.bytes };
        let trailing = if local.bytes.total > 0 { &local.bytes } else { leading };
        let is_first = if leading.total > 0 { leading.is_first() } else { is_zero };
        let is_last = if trailing.total > 0 { trailing.is_last() } else { is_zero };
        let mut text = [0; LONGEST_HEAD];
        let head = if is_first { head(&mut text, section, user, counts, style) } else { &[] };
        let mut padding = [0; MAX_DATA_PADDING];
        let padding = match is_last {
            true => data_padding(&mut padding, layout.data_bytes, data.last_byte(), style),
            false => &[],
        };
        let offset = layout.data + local.bytes.offset;
        if let (Some(sizes), Some(sealer), false) =
            (local.entries, &mut self.sealer, self.output.team.has_deferred())
        {
            let noted = sealer.note_elements(local.elements, offset, sizes);
            self.team_mut().tolerate(noted, ())?;
        }
        if let (None, Source::Contiguous(data)) = (local.entries, data) {
            // Data and padding are written together, directly from the user's memory.
            let start = if is_first { layout.start } else { offset };
            return self.output.write_run(layout, start, &[head, data, padding]);
        }
        let entries = layout.entries + local.elements.offset * COUNT_BYTES as u64;
        // Passing copies lets the short path keep its values in registers.
        self.write_listed(layout, head, (entries, local.entries), (offset, { data }, padding))
    }

    /// Writes elements with sizes, or in memory of their own: their sizes, if any, and their data, each from
    /// its offset.
    #[cold] // for the callers, in which an array that is contiguous in memory goes another way
    #[inline(never)]
    fn write_listed(
        &mut self,
        layout: SectionLayout,
        head: &[u8],
        (entries, sizes): (u64, Option<&[u64]>),
        (offset, data, padding): (u64, Source<'_>, &[u8]),
    ) -> Result<(), Failure> {
        let format = CountFormat::new(b'E', self.params().line_break);
        if self.output.is_aggregated(layout)? {
            let runs = [data.contiguous(), padding];
            let data = match data {
                Source::Contiguous(_) => RankData::Runs(&runs),
                Source::Indirect(elements) => RankData::Elements(elements, padding),
            };
            let all = [(entries, RankData::Entries(format, sizes.unwrap_or_default(), &[])), (offset, data)];
            return self.output.write_aggregated(layout, head, &all[usize::from(sizes.is_none())..]);
        }
        self.output.write(layout, head, |out, layout| {
            put_entries(out, entries, &format, sizes.unwrap_or_default())?;
            if let Source::Contiguous(data) = data {
                return out.put(offset, &[data, padding]);
            }
            out.put_data(offset, &data)?;
            out.put(layout.padding(), &[padding])
        })
    }

    /// Writes an array whose bytes this rank gets in parts, in rounds of all ranks: `next` appends those of a
    /// round. An error of this rank waits for the next agreement.
    pub(in crate::file::writer) fn write_in_parts(
        &mut self,
        user: &[u8],
        layout: SectionLayout,
        counts: &[(u8, u64)],
        bytes: Partition,
        rounds: u64,
        mut next: impl FnMut(&mut Self, u64, &mut Parts) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.output.is_small(layout) {
            let mut parts = Parts::new(None, 0);
            for round in 0..rounds {
                next(self, round, &mut parts)?;
            }
            self.output.must_agree();
            let local = LocalElements { elements: bytes, bytes, entries: None };
            let own = if self.team().has_deferred() { &[] } else { parts.bytes() };
            return self.write_elements(
                SectionType::Array,
                user,
                layout,
                counts,
                &local,
                Source::Contiguous(own),
            );
        }
        self.output.write_all()?;
        let style = self.params().line_break;
        let mut text = [0; LONGEST_HEAD];
        let head = head(&mut text, SectionType::Array, user, counts, style);
        let is_zero = self.team().rank() == 0;
        let is_first = if bytes.total > 0 { bytes.is_first() } else { is_zero };
        let is_last = if bytes.total > 0 { bytes.is_last() } else { is_zero };
        let head = if is_first { head } else { &[] };
        let mut parts = Parts::new(Some(layout.data + bytes.offset), self.params().tuning.stripe_bytes);
        for round in 0..rounds {
            next(self, round, &mut parts)?;
        }
        let mut mine = Ok(());
        if !self.team().has_deferred() {
            mine = parts.flush(&mut self.output.file).and_then(|last| {
                if !is_last {
                    return Ok(());
                }
                let mut padding = [0; MAX_DATA_PADDING];
                let padding = data_padding(&mut padding, layout.data_bytes, last, style);
                self.output.file.write_at(layout.padding(), &[padding])
            });
        }
        self.output.end_in_parts(layout, mine, head)
    }
}
