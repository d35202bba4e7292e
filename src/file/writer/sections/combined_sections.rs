//! Writes a small block together with the large section that follows it: the metadata of a dataset, and its
//! data.

use super::{SectionWriter, head};
use crate::file::buffer::{Outlet, Stage};
use crate::file::encoding::EncodedElements;
use crate::file::source::Source;
use crate::file::team::{Failure, only_if, split};
use crate::file::writer::output::{LONGEST_HEAD, Output, put_entries};
use scda_base::error::Result;
use scda_base::memory::reserve;
use scda_format::COUNT_BYTES;
use scda_format::entry::CountFormat;
use scda_format::header::SectionType;
use scda_format::layout::SectionLayout;
use scda_format::padding::{LineBreak, MAX_DATA_PADDING, data_padding};
use scda_ranks::Partition;
use scda_storage::ParallelFile;

/// A block whose data all ranks have.
pub(in crate::file::writer) struct Block<'a> {
    pub layout: SectionLayout,
    pub user: &'a [u8],
    pub data: &'a [u8],
}

impl Block<'_> {
    /// The bytes before the entries or data of the second section, on the rank that has the first of these,
    /// and how many of them are the header of the block: without it, no reader takes the rest for sections.
    fn front(&self, next: &Elements<'_>, style: LineBreak) -> Result<(Vec<u8>, usize)> {
        let &Self { layout, user, data } = self;
        let (mut before, mut between, mut padding) =
            ([0; LONGEST_HEAD], [0; LONGEST_HEAD], [0; MAX_DATA_PADDING]);
        let runs = [
            head(&mut before, SectionType::Block, user, &[(b'E', layout.data_bytes)], style),
            data,
            data_padding(&mut padding, layout.data_bytes, data.last().copied(), style),
            next.head(&mut between, style),
        ];
        let mut front = Vec::new();
        reserve(&mut front, runs.iter().map(|run| run.len()).sum())?;
        runs.iter().for_each(|run| front.extend_from_slice(run));
        Ok((front, runs[0].len()))
    }
}

/// The array or varray that follows the block.
pub(in crate::file::writer) struct Elements<'a> {
    pub section: SectionType,
    pub layout: SectionLayout,
    pub user: &'a [u8],
    /// The number of elements.
    pub count: u64,
    /// The size of an element of an array, or of all elements of a varray.
    pub size: u64,
}

impl Elements<'_> {
    /// Formats its text before the entries or data into `text`.
    fn head<'t>(&self, text: &'t mut [u8; LONGEST_HEAD], style: LineBreak) -> &'t [u8] {
        let counts = [(b'N', self.count), (b'E', self.size)];
        let shown = if self.section == SectionType::Array { 2 } else { 1 };
        head(text, self.section, self.user, &counts[..shown], style)
    }
}

/// Data that are gathered from where they are in memory.
pub(in crate::file::writer) trait Gather {
    /// The data from byte `start` on: all of them if they are contiguous, otherwise at most `most` bytes,
    /// gathered in `buffer`.
    ///
    /// # Errors
    /// `Memory`.
    fn batch<'b>(&'b self, start: u64, most: u64, buffer: &'b mut Vec<u8>) -> Result<&'b [u8]>;
}

/// A block, the array that follows it, and this rank's part of the array.
pub(in crate::file::writer) struct Pair<'a> {
    pub block: Block<'a>,
    pub array: Elements<'a>,
    pub bytes: Partition,
    pub source: &'a dyn Gather,
    pub item_bytes: u64,
}

impl SectionWriter {
    /// Whether a block and the section that follows it are written together. The same on all ranks.
    pub(in crate::file::writer) fn is_written_in_one_run(
        &mut self,
        block: SectionLayout,
        next: SectionLayout,
    ) -> Result<bool, Failure> {
        Ok(self.output.is_small(block) && !self.output.is_small(next) && !self.output.is_aggregated(next)?)
    }

    /// Records both, before they are written together.
    fn note_together(&mut self, block: &Block<'_>, next: &Elements<'_>) -> Result<(), Failure> {
        self.describe(SectionType::Block, block.user, 0, block.layout.data_bytes)?;
        self.output.progress.extend(block.layout.end);
        self.end_section()?;
        self.describe(next.section, next.user, next.count, next.size)?;
        Ok(())
    }

    /// Writes blocks and the array that follows each, consecutively in the file, as a unit: after an error
    /// none remains. The header of the first block is written when the bytes of all are in the file; a rank
    /// that is alone writes it first if it writes the bytes in their order.
    pub(in crate::file::writer) fn write_pairs(&mut self, all: &[Pair<'_>]) -> Result<(), Failure> {
        let (Some(first), Some(last)) = (all.first(), all.last()) else { return Ok(()) };
        self.output.write_all()?;
        for (number, Pair { block, array, .. }) in all.iter().enumerate() {
            if number > 0 {
                self.output.progress.extend(block.layout.start);
                self.end_section()?;
            }
            self.note_together(block, array)?;
        }
        let put = only_if(!self.team().has_deferred(), || write_interleaved(&mut self.output, all));
        let (header, mine) = split(put);
        let layout = SectionLayout { start: first.block.layout.start, ..last.array.layout };
        if header.is_empty() {
            self.output.end_large(layout, mine, &[])
        } else {
            self.output.end_in_parts(layout, mine, &header)
        }
    }

    /// Writes a block and the varray that follows it as a unit. This rank has these elements; there is at least
    /// one on some rank.
    pub(in crate::file::writer) fn write_encoded_pair(
        &mut self,
        block: &Block<'_>,
        varray: &Elements<'_>,
        (elements, bytes): (Partition, Partition),
        encoded: &EncodedElements,
    ) -> Result<(), Failure> {
        // Buffered bytes must be written first.
        self.output.write_all()?;
        self.note_together(block, varray)?;
        let (style, layout) = (self.params().line_break, varray.layout);
        let data = Source::Indirect(&encoded.chunks);
        let (entries, offset) =
            (layout.entries + elements.offset * COUNT_BYTES as u64, layout.data + bytes.offset);
        if let (Some(sealer), false) = (&mut self.sealer, self.output.team.has_deferred()) {
            let noted = sealer.note_elements(elements, offset, &encoded.sizes);
            self.team_mut().tolerate(noted, ())?;
        }
        let mut padding = [0; MAX_DATA_PADDING];
        let has_end = if bytes.total > 0 { bytes.is_last() } else { elements.is_last() };
        let padding = match has_end {
            true => data_padding(&mut padding, layout.data_bytes, data.last_byte(), style),
            false => &[],
        };
        let front = if elements.is_first() { block.front(varray, style) } else { Ok((Vec::new(), 0)) };
        let ((front, head), mut mine) = split(front);
        // A rank that is alone writes them in their order.
        let (deferred, front) = front.split_at(if self.team().is_alone() { 0 } else { head });
        if mine.is_ok() && !self.team().has_deferred() {
            let mut out = Outlet::Stage(Stage::new(&mut self.output.file));
            let before = entries - front.len() as u64;
            let mut put = || {
                out.put(before, &[front])?;
                put_entries(&mut out, entries, &CountFormat::new(b'E', style), &encoded.sizes)?;
                out.put_data(offset, &data)?;
                out.put(layout.padding(), &[padding])
            };
            mine = put().and_then(|()| out.finish());
        }
        self.output.end_large(SectionLayout { start: block.layout.start, ..layout }, mine, deferred)
    }
}

/// Writes this rank's parts, directly from its memory or gathered. Takes some bytes of each in turn, so that
/// memory in which their items are interleaved enters the processor's cache once. Returns the header to be
/// deferred.
fn write_interleaved(out: &mut Output, all: &[Pair<'_>]) -> Result<Vec<u8>> {
    let (style, is_in_order) = (out.params.line_break, out.team.is_alone() && all.len() == 1);
    let (mut deferred, mut buffer) = (Vec::new(), Vec::new());
    let mut done = vec![0; all.len()];
    while all.iter().zip(&done).any(|(pair, done)| *done < pair.bytes.count) {
        for (number, (pair, done)) in all.iter().zip(&mut done).enumerate() {
            let (Pair { block, array, bytes, source, .. }, layout) = (pair, pair.array.layout);
            if *done == bytes.count {
                continue;
            }
            let (mut front, mut head) = (Vec::new(), 0);
            if *done == 0 && bytes.is_first() {
                (front, head) = block.front(array, style)?;
            }
            if number > 0 || is_in_order {
                head = 0;
            }
            deferred.extend_from_slice(&front[..head]);
            let front = &front[head..];
            let most = (out.params.tuning.limits.turn(all.len()) / pair.item_bytes).max(1) * pair.item_bytes;
            let batch = source.batch(*done, most, &mut buffer)?;
            let at = layout.data + bytes.offset + *done - front.len() as u64;
            *done += batch.len() as u64;
            let mut padding = [0; MAX_DATA_PADDING];
            let padding = match bytes.is_last() && *done == bytes.count {
                true => data_padding(&mut padding, layout.data_bytes, batch.last().copied(), style),
                false => &[],
            };
            out.file.write_at(at, &[front, batch, padding])?;
        }
    }
    Ok(deferred)
}

#[cfg(test)]
mod tests {
    use crate::DataType;
    use crate::file::limits::Limits;
    use crate::file::options::WriteOptions;
    use crate::file::sums::SummedFile;
    use crate::file::target::Target;
    use crate::file::team::Team;
    use crate::file::writer::output::Progress;
    use crate::file::writer::{Writer, begin};
    use crate::items::{Data, Memory};
    use scda_format::dataset::{Dataset, IndexBox};
    use scda_format::header::UserString;
    use scda_ranks::Solo;
    use scda_storage::double::Double;
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    /// Otherwise a killed program may leave a complete header before bytes that were never written, in a file
    /// that is long enough.
    #[test]
    fn the_header_before_datasets_that_are_written_in_turns_is_written_last() {
        const ITEMS: usize = 10_000;
        const START: u64 = scda_format::FILE_HEADER_BYTES as u64;
        for count in [1, 3] {
            let offsets = Arc::<Mutex<Vec<u64>>>::default();
            let noted = Arc::clone(&offsets);
            let file = Double::written(move |offset, _| noted.lock().unwrap().push(offset));
            let limits = Limits { gathered_bytes: 1 << 10, turn_bytes: 1 << 10, ..Limits::default() };
            let mut params = WriteOptions::default();
            (params.tuning.aggregation_bytes, params.tuning.limits) = (64 << 10, limits);
            let (team, target) = (Team::new(Box::new(Solo), "f"), Target::new(Path::new("f"), &params, true));
            let file = SummedFile::new(Box::new(file), None);
            let session = begin(team, file, target, params, None, Progress::of_new_file(START));
            let mut file = Writer { session, user: UserString::new(b"").unwrap(), rolled_back: None };

            // With something between them.
            let memory = vec![0; ITEMS * 8 * (count + 1)];
            let strides = [i64::try_from(8 * (count + 1)).unwrap()];
            let regions = [IndexBox::all(&[ITEMS as u64])];
            let boxes: Vec<_> = (0..count).map(|n| [Memory::strided(&memory, 8 * n, &strides)]).collect();
            let all: Vec<_> = (0..count)
                .map(|n| Dataset::new(format!("v{n}"), DataType::Float64, [ITEMS as u64]))
                .collect();
            let given: Vec<_> =
                all.iter().zip(&boxes).map(|(one, boxes)| (one, &regions[..], Data::Boxes(boxes))).collect();
            file.datasets(&given).unwrap();
            drop(file.session.take());
            let offsets = offsets.lock().unwrap();
            assert!(offsets.len() > count);
            // A single dataset is written in its order.
            let header = offsets.iter().position(|&offset| offset == START);
            assert_eq!(header, Some(if count == 1 { 0 } else { offsets.len() - 1 }));
        }
    }
}
