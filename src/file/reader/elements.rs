//! This rank's elements: from the file, in bounded batches, into the user's memory.

use super::header::exceeds_63_bits;
use super::{Current, Open};
use crate::codec::max_encoded_bytes;
use crate::error::{Error, ErrorKind, Result};
use crate::file::encoding::{Decoders, Job};
use crate::file::source::{Sink, Sizes, resize};
use crate::file::team::{Failure, split};
use crate::format::COUNT_BYTES;
use crate::format::entry::parse_counts;
use crate::format::layout::{Layout, sum};
use crate::parallel::Partition;

/// The most bytes of entries or elements that are read at once into a buffer of the library.
pub(super) const BATCH_BYTES: usize = 1 << 20;

impl Open {
    /// Reads bytes that this rank alone wants: from the window, or else from the file.
    #[inline]
    pub(super) fn read_own(&mut self, offset: u64, memory: &mut [u8]) -> Result<()> {
        match self.window.get(offset, memory.len() as u64) {
            Some(bytes) => memory.copy_from_slice(bytes),
            None if memory.is_empty() => {}
            None => self.file.read_at(offset, memory)?,
        }
        Ok(())
    }

    /// Reads or decodes a block into the memory of the root.
    pub(super) fn fill_block(&mut self, current: &Current, data: &mut [u8]) -> Result<()> {
        let (size, layout) = (current.size, current.layout);
        Sink::Contiguous(data).check(Sizes::Fixed { count: 1, size })?;
        if !current.decoded {
            return self.read_own(layout.data, data);
        }
        let mut text = Vec::new();
        self.read_encoded(layout.data, layout.data_bytes, size, &mut text)?;
        self.decoders.decode_one(&text, layout.data, data)
    }

    /// Reads the encoded text of one element or of several that lie together, and that stand for
    /// `size` bytes, into a buffer.
    fn read_encoded(&mut self, offset: u64, length: u64, size: u64, text: &mut Vec<u8>) -> Result<()> {
        if length > max_encoded_bytes(size) {
            return Err(Error::new(
                ErrorKind::Decode,
                format!("compressed element: found {length} encoded bytes, expected fewer for {size} bytes"),
            )
            .at(offset));
        }
        resize(text, length)?;
        self.read_own(offset, text)
    }

    /// Reads this rank's elements, which begin at `offset`, as they are.
    #[inline]
    pub(super) fn read_plain(&mut self, offset: u64, sizes: Sizes<'_>, mut data: Sink<'_>) -> Result<()> {
        match &mut data {
            Sink::Skip => Ok(()),
            Sink::Contiguous(memory) => self.read_own(offset, memory),
            Sink::Indirect(_) => self.read_scattered(offset, sizes, data),
        }
    }

    /// As [`Self::read_plain`], into elements of their own memory.
    #[inline(never)]
    fn read_scattered(&mut self, offset: u64, sizes: Sizes<'_>, mut data: Sink<'_>) -> Result<()> {
        let mut batch = Vec::new();
        self.for_each_batch(offset, sizes, BATCH_BYTES, |this, start, first, last| {
            if last == first + 1 {
                // A large element goes straight to its memory.
                let size = sizes.size(first);
                return match data.element(first, 0, size) {
                    Some(memory) => this.read_own(start, memory),
                    None => Ok(()),
                };
            }
            let length = (first..last).map(|index| sizes.size(index)).sum();
            resize(&mut batch, length)?;
            this.read_own(start, &mut batch)?;
            let mut rest = batch.as_slice();
            for index in first..last {
                let size = sizes.size(index);
                let (bytes, others) = rest.split_at(usize::try_from(size).unwrap_or(0));
                rest = others;
                if let Some(memory) = data.element(index, 0, size) {
                    memory.copy_from_slice(bytes);
                }
            }
            Ok(())
        })
    }

    /// Groups elements that lie one after the other from `offset` into batches of at most `most` bytes,
    /// or of one element if it is larger; hands out the offset, the first and the last but one index.
    pub(super) fn for_each_batch(
        &mut self,
        mut offset: u64,
        sizes: Sizes<'_>,
        most: usize,
        mut each: impl FnMut(&mut Self, u64, usize, usize) -> Result<()>,
    ) -> Result<()> {
        let (mut first, mut bytes) = (0, 0_u64);
        for index in 0..sizes.count() {
            let size = sizes.size(index);
            if index > first && bytes + size > most as u64 {
                each(self, offset, first, index)?;
                offset += bytes;
                (first, bytes) = (index, 0);
            }
            bytes += size;
        }
        if first < sizes.count() { each(self, offset, first, sizes.count()) } else { Ok(()) }
    }

    /// Reads and checks `count` entries from `offset`, a bounded number at a time.
    pub(super) fn read_entries(
        &mut self,
        offset: u64,
        count: u64,
        letter: u8,
        mut each: impl FnMut(usize, u64) -> Result<()>,
    ) -> Result<()> {
        let mut text = Vec::new();
        let mut done = 0;
        while done < count {
            let step = (count - done).min((BATCH_BYTES / COUNT_BYTES) as u64);
            let start = offset + done * COUNT_BYTES as u64;
            resize(&mut text, step * COUNT_BYTES as u64)?;
            self.read_own(start, &mut text)?;
            let before = usize::try_from(done).unwrap_or(usize::MAX);
            parse_counts(&text, letter, start, |index, value| each(before + index, value))?;
            done += step;
        }
        Ok(())
    }

    /// Reads the entries from offset `entries` that are the sizes of a section's elements, hands out
    /// those of this rank by index, and finds where its bytes lie among those of all. This rank may
    /// have an error already.
    ///
    /// A few entries are read by all ranks, which then need not meet.
    pub(super) fn read_sizes(
        &mut self,
        current: &Current,
        entries: u64,
        letter: u8,
        part: Partition,
        mine: Result<()>,
        mut own: impl FnMut(usize, u64),
    ) -> Result<Partition, Failure> {
        let add = |a, b| sum(a, b).ok_or_else(|| exceeds_63_bits(&[a, b]));
        // The header was checked: all entries are in the file.
        let all_bytes = part.total * COUNT_BYTES as u64;
        if all_bytes > self.small_bytes {
            let mut count = 0;
            let first = entries + part.offset * COUNT_BYTES as u64;
            let read = mine.and_then(|()| {
                self.read_entries(first, part.count, letter, |index, size| {
                    own(index, size);
                    count = add(count, size)?;
                    Ok(())
                })
            });
            let spread = self.team.agree(read.map_err(|error| current.conform(error)))?.spread(count);
            // A rank on which that failed alone must not wait for the others.
            let (bytes, mine) = split(spread);
            self.team.agree(mine)?;
            return Ok(bytes);
        }
        self.team.defer(mine);
        self.look(entries, all_bytes)?;
        let mut bytes = Partition { offset: 0, count: 0, total: 0 };
        let read = self.read_entries(entries, part.total, letter, |index, size| {
            bytes.total = add(bytes.total, size)?;
            match (index as u64).checked_sub(part.offset) {
                None => bytes.offset += size,
                Some(index) if index < part.count => {
                    bytes.count += size;
                    own(usize::try_from(index).unwrap_or(usize::MAX), size);
                }
                Some(_) => {}
            }
            Ok(())
        });
        read.map_err(|error| current.conform(error))?;
        Ok(bytes)
    }

    /// Has all ranks read a section's data with the headers if it is small, and tells whether it is.
    #[inline]
    pub(super) fn look_if_small(&mut self, layout: Layout) -> Result<bool, Failure> {
        let small = layout.bytes() <= self.small_bytes;
        if small {
            self.look(layout.data, layout.data_bytes)?;
        }
        Ok(small)
    }

    /// Reads the encoded elements of a compressed array or varray and decodes them.
    ///
    /// `sizes` are those of the decoded elements. This rank may have an error already.
    #[inline(never)]
    pub(super) fn read_compressed(
        &mut self,
        current: &Current,
        part: Partition,
        sizes: Sizes<'_>,
        data: Result<Sink<'_>>,
    ) -> Result<(), Failure> {
        let (data, checked) = match data {
            Ok(data) => (data, Ok(())),
            Err(error) => (Sink::Skip, Err(error)),
        };
        let mut encoded_sizes = Vec::new();
        let wanted = if data.is_skip() { 0 } else { part.count };
        let mine = checked.and_then(|()| reserve(&mut encoded_sizes, wanted));
        let bytes = self.read_sizes(current, current.layout.entries, b'E', part, mine, |_, size| {
            // Within what was reserved.
            if wanted > 0 {
                encoded_sizes.push(size);
            }
        })?;
        let layout = self.varray_layout(current, bytes.total)?;
        self.look_if_small(layout)?;
        let decoded = self.decode_elements(layout.data + bytes.offset, &encoded_sizes, sizes, data);
        self.team.agree(decoded)?;
        self.advance(layout.end);
        Ok(())
    }

    /// Decodes elements that lie one after the other from `offset`.
    pub(super) fn decode_elements(
        &mut self,
        offset: u64,
        encoded_sizes: &[u64],
        sizes: Sizes<'_>,
        mut data: Sink<'_>,
    ) -> Result<()> {
        if data.is_skip() {
            return Ok(());
        }
        let threads = self.params.threads;
        let (mut text, mut staged) = (Vec::new(), Vec::new());
        let mut decoded_offset = 0;
        self.for_each_batch(
            offset,
            Sizes::Each(encoded_sizes),
            threads * BATCH_BYTES,
            |this, start, first, last| {
                let length = encoded_sizes[first..last].iter().sum();
                let batch_offset = decoded_offset;
                decoded_offset += (first..last).map(|index| sizes.size(index)).sum::<u64>();
                if last == first + 1 {
                    this.read_encoded(start, length, sizes.size(first), &mut text)?;
                } else {
                    resize(&mut text, length)?;
                    this.read_own(start, &mut text)?;
                }
                let batch =
                    Batch { text: &text, start, first, encoded_sizes: &encoded_sizes[first..last], sizes };
                match &mut data {
                    Sink::Contiguous(memory) if threads > 1 => {
                        let begin = usize::try_from(batch_offset).unwrap_or(usize::MAX);
                        let jobs = batch.jobs(&mut memory[begin..], |_| true);
                        this.decoders.decode(threads, jobs)
                    }
                    Sink::Indirect(_) if threads > 1 && last > first + 1 => {
                        batch.decode_staged(&mut this.decoders, threads, &mut data, &mut staged)
                    }
                    _ => batch.elements().try_for_each(|element| {
                        let offset = batch_offset + element.offset;
                        match data.element(element.index, offset, sizes.size(element.index)) {
                            Some(memory) => this.decoders.decode_one(element.text, element.at, memory),
                            None => Ok(()),
                        }
                    }),
                }
            },
        )
    }
}

/// Encoded elements that were read together.
struct Batch<'a> {
    text: &'a [u8],
    /// Where the text begins in the file.
    start: u64,
    /// The index of the first element.
    first: usize,
    encoded_sizes: &'a [u64],
    /// The decoded sizes of all elements.
    sizes: Sizes<'a>,
}

/// An element of a batch.
struct Encoded<'a> {
    index: usize,
    text: &'a [u8],
    /// Where it begins in the file, and, decoded, in the batch.
    at: u64,
    offset: u64,
}

impl<'a> Batch<'a> {
    fn elements(&self) -> impl Iterator<Item = Encoded<'a>> {
        let (mut rest, mut at, mut offset, sizes) = (self.text, self.start, 0, self.sizes);
        self.encoded_sizes.iter().zip(self.first..).map(move |(&encoded_size, index)| {
            let (text, others) = rest.split_at(usize::try_from(encoded_size).unwrap_or(0));
            let element = Encoded { index, text, at, offset };
            rest = others;
            at += encoded_size;
            offset += sizes.size(index);
            element
        })
    }

    /// The wanted elements, with their parts of `memory`, which has room for all of the batch.
    fn jobs<'m>(&self, memory: &'m mut [u8], mut is_wanted: impl FnMut(usize) -> bool) -> Vec<Job<'m>>
    where
        'a: 'm,
    {
        let mut rest = memory;
        let jobs = self.elements().map(|element| {
            let (memory, others) = std::mem::take(&mut rest).split_at_mut(self.sizes.bytes(element.index));
            rest = others;
            (element.index, Job { text: element.text, at: element.at, memory })
        });
        jobs.filter(|(index, _)| is_wanted(*index)).map(|(_, job)| job).collect()
    }

    /// Decodes on threads into a buffer, and copies from there into elements of their own memory, of
    /// which one alone can be had at a time.
    fn decode_staged(
        &self,
        decoders: &mut Decoders,
        threads: usize,
        data: &mut Sink<'_>,
        staged: &mut Vec<u8>,
    ) -> Result<()> {
        let size = |index| self.sizes.size(index);
        let last = self.first + self.encoded_sizes.len();
        let (mut first, mut text, mut start) = (self.first, self.text, self.start);
        while first < last {
            // As many as fit the buffer, but one at least.
            let mut room = size(first);
            let mut end = first + 1;
            while end < last && room + size(end) <= (threads * BATCH_BYTES) as u64 {
                room += size(end);
                end += 1;
            }
            let encoded_sizes = &self.encoded_sizes[first - self.first..end - self.first];
            let encoded: u64 = encoded_sizes.iter().sum();
            let (now, later) = text.split_at(usize::try_from(encoded).unwrap_or(0));
            let part = Batch { text: now, start, first, encoded_sizes, sizes: self.sizes };
            resize(staged, room)?;
            let jobs = part.jobs(staged, |index| data.element(index, 0, size(index)).is_some());
            decoders.decode(threads, jobs)?;
            let mut rest = staged.as_slice();
            for index in first..end {
                let (bytes, others) = rest.split_at(self.sizes.bytes(index));
                rest = others;
                if let Some(memory) = data.element(index, 0, size(index)) {
                    memory.copy_from_slice(bytes);
                }
            }
            (first, text, start) = (end, later, start + encoded);
        }
        Ok(())
    }
}

/// Makes room for this many sizes.
pub(super) fn reserve(sizes: &mut Vec<u64>, count: u64) -> Result<()> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    sizes.try_reserve(count).map_err(|_| Error::memory(count.saturating_mul(8)))
}
