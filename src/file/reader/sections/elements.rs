//! Reads this rank's elements, in bounded batches, into the user's memory.

use super::CurrentSection;
use super::input::{BATCH_BYTES, Input};
use crate::file::encoding::{DecodeJob, Decoders};
use crate::file::source::{Batch, Sink, Sizes, batches};
use crate::file::team::{Failure, split, sum_of_sizes};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{self, reserve, resize};
use scda_base::numbers::to_usize;
use scda_codec::max_encoded_bytes;
use scda_format::COUNT_BYTES;
use scda_format::layout::sum;
use scda_ranks::Partition;
use std::ops::Range;
use std::time::Instant;

impl Input {
    /// Reads or decodes a block into the memory of the root rank.
    #[inline(always)]
    pub fn read_own_block(&mut self, current: &CurrentSection, data: &mut [u8]) -> Result<()> {
        Sink::Contiguous(data).check(Sizes::Fixed { count: 1, size: current.size })?;
        // Passing a copy lets the short path keep its values in registers.
        if current.decoded {
            decode_own_block(self, &{ *current }, data)
        } else {
            self.read_own(current.layout.data, data)
        }
    }

    /// Reads this rank's elements, which begin at `offset`, without decoding them.
    #[inline]
    pub fn read_own_elements(&mut self, offset: u64, sizes: Sizes<'_>, mut data: Sink<'_>) -> Result<()> {
        match &mut data {
            Sink::Skip => Ok(()),
            Sink::Contiguous(memory) => self.read_own(offset, memory),
            Sink::Indirect(_) => self.scatter_own_elements(offset, sizes, data),
        }
    }

    /// Like [`Self::read_own_elements`], into separate memory for each element.
    #[inline(never)]
    fn scatter_own_elements(&mut self, offset: u64, sizes: Sizes<'_>, mut data: Sink<'_>) -> Result<()> {
        let _temporary = memory::temporary();
        let (mut start, mut together) = (offset, Vec::new());
        for Batch { elements, bytes } in batches(sizes, 0..sizes.count(), BATCH_BYTES as u64) {
            if elements.len() == 1 {
                // A large element is read directly into its memory.
                if let Some(memory) = data.element(elements.start, 0, bytes) {
                    self.read_own(start, memory)?;
                }
            } else {
                resize(&mut together, bytes)?;
                self.read_own(start, &mut together)?;
                scatter(&together, elements, sizes, &mut data);
            }
            start += bytes;
        }
        Ok(())
    }

    /// Reads the size entries of a section from offset `entries` on. Passes this rank's sizes to the caller
    /// with their indices, and determines where this rank's bytes are among all. The arguments of this rank
    /// may already be an error.
    ///
    /// If there are few entries, all ranks read all of them and need no agreement.
    pub fn look_at_sizes(
        &mut self,
        current: &CurrentSection,
        entries: u64,
        letter: u8,
        elements: Partition,
        mine: Result<()>,
        mut own: impl FnMut(usize, u64),
    ) -> Result<Partition, Failure> {
        // The error must be the same on whichever rank the sum overflows.
        let add = |a, b| sum(a, b).ok_or_else(|| sum_of_sizes().at(entries));
        // The header was checked, so all entries are in the file.
        let all_bytes = elements.total * COUNT_BYTES as u64;
        if !self.is_small(all_bytes) {
            let mut count = 0;
            let first = entries + elements.offset * COUNT_BYTES as u64;
            let read = mine.and_then(|()| {
                self.read_own_entries(first, elements.count, letter, |index, size| {
                    own(index, size);
                    count = add(count, size)?;
                    Ok(())
                })
            });
            let spread = self.team.agree(read.map_err(|error| current.conform(error)))?.spread(count);
            // If that failed on one rank alone, the other ranks reach the same agreement here.
            let (bytes, mine) = split(spread.map_err(|error| current.conform(error.at(entries))));
            self.team.agree(mine)?;
            return Ok(bytes);
        }
        self.team.defer(mine);
        self.look(entries, all_bytes)?;
        let mut bytes = Partition { offset: 0, count: 0, total: 0 };
        let read = self.read_own_entries(entries, elements.total, letter, |index, size| {
            bytes.total = add(bytes.total, size)?;
            match (index as u64).checked_sub(elements.offset) {
                None => bytes.offset += size,
                Some(index) if index < elements.count => {
                    bytes.count += size;
                    own(to_usize(index), size);
                }
                Some(_) => {}
            }
            Ok(())
        });
        read.map_err(|error| current.conform(error))?;
        Ok(bytes)
    }

    /// Decodes consecutive elements, from `offset` on.
    pub fn decode_own_elements(
        &mut self,
        offset: u64,
        encoded_sizes: &[u64],
        sizes: Sizes<'_>,
        mut data: Sink<'_>,
    ) -> Result<()> {
        if data.is_skip() {
            return Ok(());
        }
        let _temporary = memory::temporary();
        let threads = self.params.tuning.threads;
        let (mut text, mut staged) = (Vec::new(), Vec::new());
        let (mut start, mut decoded_start) = (offset, 0);
        let encoded = Sizes::Each(encoded_sizes);
        for Batch { elements, bytes } in batches(encoded, 0..encoded.count(), batch_bytes(threads)) {
            let alone = elements.len() == 1;
            if alone {
                read_own_text(self, start, bytes, sizes.size(elements.start), &mut text)?;
            } else {
                resize(&mut text, bytes)?;
                self.read_own(start, &mut text)?;
            }
            let batch = EncodedBatch { text: &text, start, elements, encoded_sizes, sizes };
            let began = Instant::now();
            match &mut data {
                Sink::Contiguous(memory) if threads > 1 => {
                    let begin = to_usize(decoded_start);
                    let jobs = batch.jobs(&mut memory[begin..], |_| true)?;
                    self.decoders.decode(threads, jobs)?;
                }
                Sink::Indirect(_) if threads > 1 && !alone => {
                    batch.decode_staged(&mut self.decoders, threads, &mut data, &mut staged)?;
                }
                _ => {
                    for EncodedElement { index, text, at, offset } in batch.elements() {
                        if let Some(memory) = data.element(index, decoded_start + offset, sizes.size(index)) {
                            self.decoders.decode_one(DecodeJob { text, at, memory })?;
                        }
                    }
                }
            }
            start += bytes;
            let decoded = batch.elements.clone().map(|index| sizes.size(index)).sum();
            decoded_start += decoded;
            self.note_decoded(decoded, began);
        }
        Ok(())
    }
}

/// Decodes a block into memory of its size.
#[inline(never)]
fn decode_own_block(input: &mut Input, current: &CurrentSection, data: &mut [u8]) -> Result<()> {
    let _temporary = memory::temporary();
    let (size, layout) = (current.size, current.layout);
    let mut text = Vec::new();
    read_own_text(input, layout.data, layout.data_bytes, size, &mut text)?;
    let (bytes, began) = (data.len() as u64, Instant::now());
    input.decoders.decode_one(DecodeJob { text: &text, at: layout.data, memory: data })?;
    input.note_decoded(bytes, began);
    Ok(())
}

/// Reads the encoded text of one element, or of several consecutive ones, whose decoded size is `size` bytes,
/// into a buffer.
fn read_own_text(input: &mut Input, offset: u64, length: u64, size: u64, text: &mut Vec<u8>) -> Result<()> {
    if length > max_encoded_bytes(size) {
        return Err(Error::new(
            ErrorKind::Decode,
            format!("compressed element: found {length} encoded bytes, expected fewer for {size} bytes"),
        )
        .at(offset));
    }
    resize(text, length)?;
    input.read_own(offset, text)
}

/// Copies consecutive elements into separate memory for each.
fn scatter(together: &[u8], elements: Range<usize>, sizes: Sizes<'_>, data: &mut Sink<'_>) {
    let mut rest = together;
    for index in elements {
        let (bytes, others) = rest.split_at(sizes.bytes(index));
        rest = others;
        if let Some(memory) = data.element(index, 0, sizes.size(index)) {
            memory.copy_from_slice(bytes);
        }
    }
}

/// Encoded elements that are read together.
struct EncodedBatch<'a> {
    text: &'a [u8],
    /// The offset of the text in the file.
    start: u64,
    elements: Range<usize>,
    /// The encoded and decoded sizes of all elements.
    encoded_sizes: &'a [u64],
    sizes: Sizes<'a>,
}

/// An element of a batch.
struct EncodedElement<'a> {
    index: usize,
    text: &'a [u8],
    /// Its offset in the file, and that of its decoded bytes in the batch.
    at: u64,
    offset: u64,
}

impl<'a> EncodedBatch<'a> {
    fn elements(&self) -> impl Iterator<Item = EncodedElement<'a>> {
        let (mut rest, mut at, mut offset, sizes) = (self.text, self.start, 0, self.sizes);
        let encoded_sizes = &self.encoded_sizes[self.elements.clone()];
        encoded_sizes.iter().zip(self.elements.start..).map(move |(&encoded_size, index)| {
            let (text, others) = rest.split_at(to_usize(encoded_size));
            let element = EncodedElement { index, text, at, offset };
            rest = others;
            at += encoded_size;
            offset += sizes.size(index);
            element
        })
    }

    /// The wanted elements, each with its part of `memory`, which has room for the whole batch.
    fn jobs<'m>(
        &self,
        memory: &'m mut [u8],
        mut is_wanted: impl FnMut(usize) -> bool,
    ) -> Result<Vec<DecodeJob<'m>>>
    where
        'a: 'm,
    {
        let mut rest = memory;
        let mut jobs = Vec::new();
        reserve(&mut jobs, self.elements.len())?;
        for EncodedElement { index, text, at, .. } in self.elements() {
            let (memory, others) = std::mem::take(&mut rest).split_at_mut(self.sizes.bytes(index));
            rest = others;
            if is_wanted(index) {
                jobs.push(DecodeJob { text, at, memory });
            }
        }
        Ok(jobs)
    }

    /// Decodes on several threads into a buffer, and copies from there into the elements' separate memory,
    /// which the user hands out for one element at a time.
    fn decode_staged(
        &self,
        decoders: &mut Decoders,
        threads: usize,
        data: &mut Sink<'_>,
        staged: &mut Vec<u8>,
    ) -> Result<()> {
        let (mut text, mut start) = (self.text, self.start);
        for Batch { elements, bytes } in batches(self.sizes, self.elements.clone(), batch_bytes(threads)) {
            let encoded: u64 = self.encoded_sizes[elements.clone()].iter().sum();
            let (now, later) = text.split_at(to_usize(encoded));
            let batch = EncodedBatch { text: now, start, elements: elements.clone(), ..*self };
            resize(staged, bytes)?;
            let is_wanted = |index| data.element(index, 0, self.sizes.size(index)).is_some();
            decoders.decode(threads, batch.jobs(staged, is_wanted)?)?;
            scatter(staged, elements, self.sizes, data);
            (text, start) = (later, start + encoded);
        }
        Ok(())
    }
}

/// The most bytes in a batch for `threads` threads.
fn batch_bytes(threads: usize) -> u64 {
    (threads as u64).saturating_mul(BATCH_BYTES as u64)
}
