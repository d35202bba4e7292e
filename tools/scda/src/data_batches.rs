//! Reads the data of a section in batches, in bounded memory.

use crate::datasets::box_parts;
use crate::fail::{Fail, Result};
use crate::progress;
use scda::bindings::ReaderCalls;
use scda::{DataStream, ElementStream, Reader, Section, SectionType, Sink};
use scda_base::numbers::to_usize;
use std::io::{self, Read};
use std::ops::Range;

/// The bytes of a batch, unless an element is larger.
const BATCH_BYTES: u64 = 8 << 20;
/// The most elements of a batch.
const BATCH_ELEMENTS: u64 = 1 << 17;
/// The most sizes that are read at once if no data are read.
const SIZES: u64 = 1 << 16;

/// The number of units of a section: bytes of inline data and blocks, elements of arrays and varrays.
pub fn units(section: &Section) -> u64 {
    match section.section_type {
        SectionType::Inline => scda::INLINE_BYTES as u64,
        SectionType::Block => section.size,
        SectionType::Array | SectionType::Varray => section.count,
    }
}

/// Calls a function with the sizes of all elements of the reader's current section, some at a time.
pub fn for_each_sizes<E: From<scda::Error>>(
    reader: &mut Reader,
    count: u64,
    mut each: impl FnMut(&[u64]) -> Result<(), E>,
) -> Result<(), E> {
    let (mut sizes, mut done) = (Vec::new(), 0);
    while done < count {
        let step = (count - done).min(SIZES);
        sizes.resize(to_usize(step), 0);
        reader.ranges().read_varray_sizes(done..done + step, &mut sizes)?;
        each(&sizes)?;
        done += step;
    }
    Ok(())
}

/// Reads the data of the reader's current section in batches.
pub struct DataBatches {
    section: Section,
    /// The units that are read, or were read last.
    now: Range<u64>,
    end: u64,
    /// True if a compressed block without bytes has not been decoded yet: it must be an encoded element, too.
    is_unseen: bool,
    /// True if reading the current units failed.
    has_failed: bool,
    /// Sizes of a varray that were read ahead, from this element on.
    sizes: Vec<u64>,
    sizes_from: u64,
    data: Vec<u8>,
}

impl DataBatches {
    /// Reads these units of the section.
    pub fn new(section: &Section, range: Range<u64>) -> Self {
        let now = range.start..range.start;
        let is_compressed_block = section.decoded && section.section_type == SectionType::Block;
        Self {
            section: *section,
            now,
            end: range.end,
            is_unseen: is_compressed_block && section.size == 0,
            has_failed: false,
            sizes: Vec::new(),
            sizes_from: range.start,
            data: Vec::new(),
        }
    }

    /// Reads all of the section.
    pub fn all(section: &Section) -> Self {
        Self::new(section, 0..units(section))
    }

    pub fn is_decoded(&self) -> bool {
        self.section.decoded
    }

    /// True if there are no more batches.
    pub fn is_done(&self) -> bool {
        self.now.end == self.end && !self.is_unseen && !self.has_failed
    }

    /// In a varray: the element that contains this byte of the batch, and the number of the byte in the element.
    pub fn varray_element(&self, byte: usize) -> (u64, u64) {
        let mut left = byte as u64;
        for (index, &size) in (self.now.start..).zip(self.batch_sizes()) {
            if left < size {
                return (index, left);
            }
            left -= size;
        }
        (self.now.end, left)
    }

    /// The units of this batch; after an error, those that could not be read.
    pub fn range(&self) -> Range<u64> {
        self.now.clone()
    }

    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The elements of this batch of an array or varray.
    pub fn elements(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.data.as_slice();
        let sizes = self.batch_sizes().iter().chain(std::iter::repeat(&self.section.size));
        self.now.clone().zip(sizes).map(move |(_, &size)| {
            let (element, others) = rest.split_at(to_usize(size));
            rest = others;
            element
        })
    }

    /// The sizes of the varray's elements in this batch.
    pub fn batch_sizes(&self) -> &[u64] {
        let at = |index: u64| to_usize(index - self.sizes_from);
        match self.section.section_type {
            SectionType::Varray => &self.sizes[at(self.now.start)..at(self.now.end)],
            _ => &[],
        }
    }

    /// Reads the next batch; false at the end. The last batch may have no bytes.
    pub fn next(&mut self, reader: &mut Reader) -> Result<bool> {
        if self.is_done() {
            return Ok(false);
        }
        let result = self.read(reader);
        self.has_failed = result.is_err();
        result.map(|()| true)
    }

    fn read(&mut self, reader: &mut Reader) -> Result<()> {
        let start = self.now.end;
        let left = self.end - start;
        let Section { section_type, size, decoded, .. } = self.section;
        match section_type {
            SectionType::Inline => {
                let mut data = [0; scda::INLINE_BYTES];
                self.now = 0..data.len() as u64;
                reader.read_inline(0, Some(&mut data))?;
                let wanted = to_usize(start)..to_usize(self.end);
                self.now = start..self.end;
                self.data = data[wanted].to_vec();
            }
            SectionType::Block => {
                // Compressed data are a single element.
                let step = if decoded { left } else { left.min(BATCH_BYTES) };
                self.now = start..start + step;
                resize(reader, &mut self.data, step)?;
                reader.ranges().read_block(self.now.clone(), &mut self.data)?;
                self.is_unseen = false;
            }
            SectionType::Array => {
                let fitting = if size == 0 && !decoded { left } else { (BATCH_BYTES / size.max(1)).max(1) };
                let step = left.min(if decoded { fitting.min(BATCH_ELEMENTS) } else { fitting });
                self.now = start..start + step;
                if step * size > BATCH_BYTES && !decoded {
                    // A single element: allocates no memory for bytes that the file does not have.
                    reader.ranges().read_array(self.now.clone(), size, Sink::Skip)?;
                }
                resize(reader, &mut self.data, step * size)?;
                reader.ranges().read_array(self.now.clone(), size, Sink::Contiguous(&mut self.data))?;
            }
            SectionType::Varray => {
                if start >= self.sizes_from + self.sizes.len() as u64 {
                    let step = left.min(BATCH_ELEMENTS);
                    self.now = start..start + step;
                    self.sizes.resize(to_usize(step), 0);
                    self.sizes_from = start;
                    if let Err(error) = reader.ranges().read_varray_sizes(self.now.clone(), &mut self.sizes) {
                        self.sizes.clear();
                        return Err(error.into());
                    }
                }
                // As many elements as fit, but at least one.
                let ahead = &self.sizes[to_usize(start - self.sizes_from)..];
                let (mut bytes, mut count) = (0_u64, 0);
                while count < ahead.len() && (count == 0 || bytes + ahead[count] <= BATCH_BYTES) {
                    bytes += ahead[count];
                    count += 1;
                }
                self.now = start..start + count as u64;
                resize(reader, &mut self.data, bytes)?;
                reader.ranges().read_varray(
                    self.now.clone(),
                    &ahead[..count],
                    Sink::Contiguous(&mut self.data),
                )?;
            }
        }
        Ok(())
    }
}

/// The first of these units of the reader's current section that cannot be read; `None` if all can.
pub fn first_unreadable(reader: &mut Reader, section: &Section, range: Range<u64>) -> Option<u64> {
    let mut is_readable = |part: Range<u64>| {
        let mut batches = DataBatches::new(section, part);
        loop {
            match batches.next(reader) {
                Ok(true) => {}
                Ok(false) => return true,
                Err(_) => return false,
            }
        }
    };
    let (mut first, mut end) = (range.start, range.end);
    if is_readable(first..end) {
        return None;
    }
    // Compressed data are a single batch.
    if section.decoded && section.section_type == SectionType::Block {
        return Some(first);
    }
    while end - first > 1 {
        let middle = first + (end - first) / 2;
        if is_readable(first..middle) {
            first = middle;
        } else {
            end = middle;
        }
    }
    Some(first)
}

/// Makes a buffer of this length, whose contents do not matter.
fn resize(reader: &mut Reader, buffer: &mut Vec<u8>, length: u64) -> Result<()> {
    reader.check_memory(length)?;
    box_parts::resize(buffer, to_usize(length), "one element")
}

/// The data of the reader's current section for a writer.
pub struct Stream<'a> {
    reader: &'a mut Reader,
    batches: DataBatches,
    /// The number of bytes of the batch, and of sizes, that have been returned.
    used: usize,
    next_size: u64,
}

impl<'a> Stream<'a> {
    pub fn new(reader: &'a mut Reader, section: &Section) -> Self {
        Self { reader, batches: DataBatches::all(section), used: 0, next_size: 0 }
    }
}

impl Stream<'_> {
    /// Reads elements without bytes that were not read yet, so that they are checked.
    pub fn finish(mut self) -> Result<()> {
        while self.batches.next(self.reader)? {}
        Ok(())
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.used == self.batches.data().len() {
            progress::add(self.batches.data().len() as u64);
            self.used = 0;
            if !self.batches.next(self.reader).map_err(Fail::into_io)? {
                self.batches.data.clear();
                return Ok(0);
            }
        }
        let left = &self.batches.data()[self.used..];
        let step = left.len().min(buffer.len());
        buffer[..step].copy_from_slice(&left[..step]);
        self.used += step;
        Ok(step)
    }
}

impl DataStream for Stream<'_> {
    fn rewind(&mut self) -> io::Result<()> {
        let section = self.batches.section;
        self.reader.seek(section.offset).map_err(io::Error::other)?;
        self.reader.next_section(section.decoded).map_err(io::Error::other)?;
        (self.batches, self.used, self.next_size) = (DataBatches::all(&section), 0, 0);
        Ok(())
    }
}

impl ElementStream for Stream<'_> {
    fn read_sizes(&mut self, sizes: &mut [u64]) -> io::Result<()> {
        let range = self.next_size..self.next_size + sizes.len() as u64;
        self.next_size = range.end;
        self.reader.ranges().read_varray_sizes(range, sizes).map_err(io::Error::other)
    }
}
