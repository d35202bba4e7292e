//! Writes the bytes of a section: which rank writes which bytes, at once or with the buffered sections.

use super::{Sections, too_large};
use crate::file::aggregators::RankData;
use crate::file::buffer::{Outlet, Stage};
use crate::file::encoding::EncodedElements;
use crate::file::source::Source;
use crate::file::team::Failure;
use scda_base::error::Result;
use scda_codec::VARRAY_CONVENTION;
use scda_format::entry::CountFormat;
use scda_format::header::{SectionType, put_section_header};
use scda_format::layout::SectionLayout;
use scda_format::padding::{LineBreak, MAX_DATA_PADDING, data_padding};
use scda_format::{COUNT_BYTES, INLINE_BYTES, SECTION_HEADER_BYTES};
use scda_ranks::Partition;
use scda_storage::ParallelFile;

/// Size entries are formatted this many at a time.
const ENTRIES_PER_CHUNK: usize = 1024;

/// The longest text before the entries or data of a section.
pub(in crate::file::writer) const LONGEST_HEAD: usize = SECTION_HEADER_BYTES + 2 * COUNT_BYTES;

/// Puts the text before the entries or data of a section in its place: the header, and at most two counts,
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

/// This rank's elements of a section, by number and by bytes.
pub(in crate::file::writer) struct LocalElements<'a> {
    pub elements: Partition,
    pub bytes: Partition,
    /// The sizes to write before the data; none for a fixed size.
    pub entries: Option<&'a [u64]>,
}

impl Sections {
    pub(in crate::file::writer) fn write_inline(
        &mut self,
        user: &[u8],
        is_owner: bool,
        data: &[u8; INLINE_BYTES],
    ) -> Result<(), Failure> {
        let layout = SectionLayout::inline(self.progress.end()).ok_or_else(too_large)?;
        if !is_owner {
            return self.write_run(layout, layout.start, &[]);
        }
        let mut text = [0; LONGEST_HEAD];
        let head = head(&mut text, SectionType::Inline, user, &[], self.params.line_break);
        self.write_run(layout, layout.start, &[head, data])
    }

    /// The inline section before a compressed block or array (paper, figure 6).
    pub(in crate::file::writer) fn write_size_note(
        &mut self,
        convention: &[u8],
        is_owner: bool,
        size: u64,
    ) -> Result<(), Failure> {
        self.describe_as_compressed();
        let entry = CountFormat::new(b'U', self.params.line_break).entry(size);
        self.write_inline(convention, is_owner, &entry)
    }

    /// Writes a block whose data the owner has in pieces.
    #[inline(always)]
    pub(in crate::file::writer) fn write_block(
        &mut self,
        user: &[u8],
        is_owner: bool,
        layout: SectionLayout,
        data: &[&[u8]],
    ) -> Result<(), Failure> {
        if !is_owner {
            return self.write_run(layout, layout.start, &[]);
        }
        let style = self.params.line_break;
        let mut text = [0; LONGEST_HEAD];
        let head = head(&mut text, SectionType::Block, user, &[(b'E', layout.data_bytes)], style);
        let last = data.iter().rev().find_map(|piece| piece.last().copied());
        let mut padding = [0; MAX_DATA_PADDING];
        let padding = data_padding(&mut padding, layout.data_bytes, last, style);
        match data {
            [data] => self.write_run(layout, layout.start, &[head, data, padding]),
            _ => self.write_run(layout, layout.start, &[&[head], data, &[padding]].concat()),
        }
    }

    /// The array section before a compressed varray (paper, figure 7).
    pub(in crate::file::writer) fn write_sizes_note(
        &mut self,
        layout: SectionLayout,
        elements: Partition,
        sizes: &[u64],
    ) -> Result<(), Failure> {
        self.describe_as_compressed();
        let style = self.params.line_break;
        let format = CountFormat::new(b'U', style);
        let counts = [(b'N', elements.total), (b'E', COUNT_BYTES as u64)];
        let mut text = [0; LONGEST_HEAD];
        let head = head(&mut text, SectionType::Array, VARRAY_CONVENTION, &counts, style);
        let is_first = elements.is_first() || elements.total == 0 && self.team.rank() == 0;
        let is_last = elements.is_last() || elements.total == 0 && self.team.rank() == 0;
        let head = if is_first { head } else { &[] };
        let mut padding = [0; MAX_DATA_PADDING];
        // The last byte of the data is that of an entry.
        let last = (elements.total > 0).then_some(b'\n');
        let padding = if is_last { data_padding(&mut padding, layout.data_bytes, last, style) } else { &[] };
        let entries = layout.data + elements.offset * COUNT_BYTES as u64;
        if self.is_aggregated(layout)? {
            return self.write_aggregated(
                layout,
                head,
                &[(entries, RankData::Entries(format, sizes, padding))],
            );
        }
        self.write(layout, head, |out, layout| {
            put_entries(out, entries, &format, sizes)?;
            out.put(layout.padding(), &[padding])
        })
    }

    /// The varray of encoded elements, the second section of a compressed array or varray.
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

    /// Writes an array or varray: the first owner of elements writes the header, too, and the last
    /// one the padding. A section without data belongs to the owners of its entries, or to rank 0.
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
        let style = self.params.line_break;
        let is_zero = self.team.rank() == 0;
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
        if let (Some(sizes), false) = (local.entries, self.team.has_deferred()) {
            let noted = self.note_elements(local.elements, offset, sizes);
            self.tolerate(noted, ())?;
        }
        if let (None, Source::Contiguous(data)) = (local.entries, data) {
            // Data and padding leave together, straight from the user's memory.
            let start = if is_first { layout.start } else { offset };
            return self.write_run(layout, start, &[head, data, padding]);
        }
        let entries = layout.entries + local.elements.offset * COUNT_BYTES as u64;
        // Copies, so that what the short way needs can stay in registers.
        self.write_listed(layout, head, (entries, local.entries), (offset, { data }, padding))
    }

    /// Writes elements that have sizes, or memory of their own: their sizes, if they have some, and their data, each from its offset.
    #[cold] // for the callers, in which an array in one piece of memory goes another way
    #[inline(never)]
    fn write_listed(
        &mut self,
        layout: SectionLayout,
        head: &[u8],
        (entries, sizes): (u64, Option<&[u64]>),
        (offset, data, padding): (u64, Source<'_>, &[u8]),
    ) -> Result<(), Failure> {
        let format = CountFormat::new(b'E', self.params.line_break);
        if self.is_aggregated(layout)? {
            let pieces = [data.contiguous(), padding];
            let data = match data {
                Source::Contiguous(_) => RankData::Runs(&pieces),
                Source::Indirect(elements) => RankData::Elements(elements, padding),
            };
            let all = [(entries, RankData::Entries(format, sizes.unwrap_or_default(), &[])), (offset, data)];
            return self.write_aggregated(layout, head, &all[usize::from(sizes.is_none())..]);
        }
        self.write(layout, head, |out, layout| {
            put_entries(out, entries, &format, sizes.unwrap_or_default())?;
            if let Source::Contiguous(data) = data {
                return out.put(offset, &[data, padding]);
            }
            out.put_data(offset, &data)?;
            out.put(layout.padding(), &[padding])
        })
    }

    /// Writes a section, or buffers it if it is small. What this rank owns of it are these pieces, which lie one
    /// after the other from `offset`; the first one is the header, or empty.
    #[inline(always)]
    fn write_run(&mut self, layout: SectionLayout, offset: u64, pieces: &[&[u8]]) -> Result<(), Failure> {
        if !self.is_small(layout) {
            return self.write_large_run(layout, offset, pieces);
        }
        self.make_room(layout)?;
        if !self.team.has_deferred() {
            let put = self.buffer.put(self.progress.written(), offset, pieces);
            self.tolerate(put, ())?;
        }
        self.end_small(layout)
    }

    #[cold] // for the callers
    #[inline(never)]
    fn write_large_run(
        &mut self,
        layout: SectionLayout,
        offset: u64,
        pieces: &[&[u8]],
    ) -> Result<(), Failure> {
        // A block has one count before its data, and belongs to one rank.
        let is_array = layout.data - layout.start == LONGEST_HEAD as u64;
        if is_array && self.is_aggregated(layout)? {
            let after = offset + pieces[0].len() as u64;
            return self.write_aggregated(layout, pieces[0], &[(after, RankData::Runs(&pieces[1..]))]);
        }
        self.write_all()?;
        if self.team.has_deferred() || pieces.iter().all(|piece| piece.is_empty()) {
            return self.end_large(layout, Ok(()), &[]);
        }
        if self.team.is_alone() {
            let mine = self.file.write_at(offset, pieces);
            return self.end_large(layout, mine, &[]);
        }
        let (head, rest) = (pieces[0], &pieces[1..]);
        let mine = self.file.write_at(offset + head.len() as u64, rest);
        self.end_large(layout, mine, head)
    }

    /// Whether a section is written by some ranks of each node for all. All ranks know.
    #[inline(never)]
    pub(in crate::file::writer) fn is_aggregated(&mut self, layout: SectionLayout) -> Result<bool, Failure> {
        if self.is_small(layout) {
            return Ok(false);
        }
        Ok(self.route.aggregators(&mut self.team, &self.params.tuning, layout.bytes())?.is_some())
    }

    /// Writes a large section through the writers of each node: what this rank owns of it besides the header, each run with its
    /// offset. Their number is the same on all ranks.
    #[cold]
    fn write_aggregated(
        &mut self,
        layout: SectionLayout,
        head: &[u8],
        runs: &[(u64, RankData<'_>)],
    ) -> Result<(), Failure> {
        self.write_all()?;
        let mut mine = Ok(());
        if let Some(aggregators) =
            self.route.aggregators(&mut self.team, &self.params.tuning, layout.bytes())?
        {
            // The ranks of a node are to meet: from here on all of them take part.
            let agreed = self.team.agree(Ok(()))?;
            for (offset, own) in runs {
                mine = mine.and(aggregators.write(&agreed, &mut self.file, *offset, own));
            }
        }
        self.progress.know();
        self.end_large(layout, mine, head)
    }

    /// As [`Self::write_run`]. `put` hands over what this rank owns besides the header.
    #[inline(never)]
    fn write(
        &mut self,
        layout: SectionLayout,
        head: &[u8],
        put: impl FnOnce(&mut Outlet<'_>, SectionLayout) -> Result<()>,
    ) -> Result<(), Failure> {
        let small = self.is_small(layout);
        if small {
            self.make_room(layout)?
        } else {
            self.write_all()?
        }
        let mut mine = Ok(());
        if !self.team.has_deferred() {
            let mut out = match small {
                true => Outlet::Buffer(&mut self.buffer, self.progress.written()),
                false => Outlet::Stage(Stage::new(&mut self.file)),
            };
            if small || self.team.is_alone() {
                mine = out.put(layout.start, &[head]);
            }
            mine = mine.and_then(|()| put(&mut out, layout)).and_then(|()| out.finish());
        }
        if !small {
            let head = if self.team.is_alone() { &[] } else { head };
            return self.end_large(layout, mine, head);
        }
        self.tolerate(mine, ())?;
        self.end_small(layout)
    }

    /// Writes an array whose bytes this rank gets in parts, in rounds of all ranks: `next` appends
    /// those of a round. A round may leave an error of this rank for the next agreement.
    pub(in crate::file::writer) fn write_in_parts(
        &mut self,
        user: &[u8],
        layout: SectionLayout,
        counts: &[(u8, u64)],
        bytes: Partition,
        rounds: u64,
        mut next: impl FnMut(&mut Self, u64, &mut Vec<u8>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut part = Vec::new();
        if self.is_small(layout) {
            for round in 0..rounds {
                next(self, round, &mut part)?;
            }
            self.must_agree = true;
            if self.team.has_deferred() {
                part.clear();
            }
            let local = LocalElements { elements: bytes, bytes, entries: None };
            let data = Source::Contiguous(&part);
            return self.write_elements(SectionType::Array, user, layout, counts, &local, data);
        }
        self.write_all()?;
        let style = self.params.line_break;
        let mut text = [0; LONGEST_HEAD];
        let head = head(&mut text, SectionType::Array, user, counts, style);
        let is_zero = self.team.rank() == 0;
        let is_first = if bytes.total > 0 { bytes.is_first() } else { is_zero };
        let is_last = if bytes.total > 0 { bytes.is_last() } else { is_zero };
        let head = if is_first { head } else { &[] };
        let mut mine = Ok(());
        let (mut at, mut last) = (layout.data + bytes.offset, None);
        for round in 0..rounds {
            part.clear();
            next(self, round, &mut part)?;
            if mine.is_ok() && !self.team.has_deferred() && !part.is_empty() {
                mine = self.file.write_at(at, &[&part]);
                at += part.len() as u64;
                last = part.last().copied();
            }
        }
        if mine.is_ok() && !self.team.has_deferred() && is_last {
            let mut padding = [0; MAX_DATA_PADDING];
            let padding = data_padding(&mut padding, layout.data_bytes, last, style);
            mine = self.file.write_at(layout.padding(), &[padding]);
        }
        self.end_in_parts(layout, mine, head)
    }

    /// Whether a section is so small that it is buffered. All ranks know.
    #[inline(always)]
    pub(in crate::file::writer) fn is_small(&self, layout: SectionLayout) -> bool {
        layout.bytes() <= self.small_bytes
    }

    /// Writes the buffered sections if a small one finds no room after them.
    #[inline(always)]
    fn make_room(&mut self, layout: SectionLayout) -> Result<(), Failure> {
        if layout.end - self.progress.written() > self.buffer.room() {
            self.write_buffered()?;
            self.buffer.grow(&mut self.team, &self.params.tuning)?;
        }
        Ok(())
    }
}

/// Writes entries of sizes from `offset`, a bounded number at a time.
pub(in crate::file::writer) fn put_entries(
    out: &mut Outlet<'_>,
    mut offset: u64,
    format: &CountFormat,
    sizes: &[u64],
) -> Result<()> {
    let mut text = Vec::with_capacity(sizes.len().min(ENTRIES_PER_CHUNK) * COUNT_BYTES);
    for chunk in sizes.chunks(ENTRIES_PER_CHUNK) {
        text.clear();
        format.append(chunk, &mut text);
        out.put(offset, &[&text])?;
        offset += text.len() as u64;
    }
    Ok(())
}
