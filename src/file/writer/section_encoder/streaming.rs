//! Writes sections whose data arrive in batches, so that they need not fit in memory.

use super::SectionEncoder;
use super::choice::Choice;
use crate::file::options::{Encode, WriteOptions};
use crate::file::source::{Batch, Sizes, Source, batches};
use crate::file::team::{Failure, Team};
use crate::file::writer::output::{LONGEST_HEAD, enclose, put_with_holes};
use crate::file::writer::sealing::Sealer;
use crate::file::writer::sections::{Tail, head, too_large};
use scda_base::error::{Error, Result};
use scda_base::memory::resize;
use scda_codec::{ARRAY_CONVENTION, VARRAY_CONVENTION};
use scda_format::COUNT_BYTES;
use scda_format::dataset::IndexBox;
use scda_format::dataset::bools::Bools;
use scda_format::header::{SectionType, UserString};
use scda_format::layout::{SectionLayout, sum};
use scda_ranks::Partition;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek};

/// Boxes of a dataset, which can be read in any order.
pub trait BoxStream {
    /// Reads a box, in C order, with numbers in little-endian byte order.
    ///
    /// # Errors
    /// Any error of reading.
    fn read_box(&mut self, region: &IndexBox, data: &mut [u8]) -> io::Result<()>;

    /// Whether all items of a box are known to be the fill value, so that they need not be read.
    ///
    /// # Errors
    /// Any error of finding out.
    fn is_fill(&mut self, region: &IndexBox) -> io::Result<bool> {
        let _ = region;
        Ok(false)
    }
}

/// Data that are read in parts.
pub trait DataStream: Read {
    /// Returns to the first byte, from which everything is read again. [`Encode::Auto`] needs this to find
    /// out whether compression pays before anything is written.
    ///
    /// # Errors
    /// Any error; [`io::ErrorKind::Unsupported`] if the data can be read only once.
    fn rewind(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Access to the items of a dataset as boxes, if it is possible: see
    /// [`IncrementalWriter::dataset`](crate::IncrementalWriter::dataset).
    fn boxes(&mut self) -> Option<&mut dyn BoxStream> {
        None
    }
}

impl DataStream for File {
    fn rewind(&mut self) -> io::Result<()> {
        Seek::rewind(self)
    }
}

impl<T: AsRef<[u8]>> DataStream for Cursor<T> {
    fn rewind(&mut self) -> io::Result<()> {
        Seek::rewind(self)
    }
}

impl DataStream for &[u8] {}

impl DataStream for Box<dyn Read + '_> {}

impl DataStream for Bools<&mut dyn DataStream> {
    fn rewind(&mut self) -> io::Result<()> {
        self.begin_again().rewind()
    }

    fn boxes(&mut self) -> Option<&mut dyn BoxStream> {
        self.inner().boxes()
    }
}

/// The elements of a varray in sequence: their sizes, and their bytes through the reader.
pub trait ElementStream: DataStream {
    /// Fills in the sizes of the next elements. Either their bytes are then read before further sizes are
    /// requested, or none are read at all before [`DataStream::rewind`].
    ///
    /// # Errors
    /// Any error of reading.
    fn read_sizes(&mut self, sizes: &mut [u64]) -> io::Result<()>;
}

/// Elements of equal size.
struct EqualElements<'a> {
    data: &'a mut dyn DataStream,
    size: u64,
}

impl Read for EqualElements<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.data.read(buffer)
    }
}

impl DataStream for EqualElements<'_> {
    fn rewind(&mut self) -> io::Result<()> {
        self.data.rewind()
    }
}

impl ElementStream for EqualElements<'_> {
    fn read_sizes(&mut self, sizes: &mut [u64]) -> io::Result<()> {
        sizes.fill(self.size);
        Ok(())
    }
}

/// The most bytes that are read at a time for each thread, except for a single element to be compressed.
const BATCH_BYTES: usize = 4 << 20;
/// The most elements that are read at a time.
const BATCH_ELEMENTS: usize = 1 << 16;

/// Returns to the first byte.
pub(in crate::file::writer) fn read_again(data: &mut dyn DataStream) -> Result<()> {
    data.rewind().map_err(|e| match e.kind() {
        io::ErrorKind::Unsupported => {
            Error::argument("layout or encode: Auto needs a stream of data that can be read again")
        }
        _ => Error::io("reading the data to write again", e),
    })
}

pub(in crate::file::writer) fn read(from: &mut dyn Read, buffer: &mut [u8]) -> Result<()> {
    from.read_exact(buffer).map_err(|e| Error::io("reading the data to write", e))
}

impl SectionEncoder<'_> {
    pub(in crate::file::writer) fn block_from(
        &mut self,
        user: &[u8],
        size: u64,
        data: &mut dyn Read,
        encode: Encode,
    ) -> Result<(), Failure> {
        check_alone(self.sections.team())?;
        self.check_free(SectionType::Block, user)?;
        let layout = SectionLayout::block(self.sections.end(), size).ok_or_else(too_large)?;
        let mut batch = Vec::new();
        if encode != Encode::None || size <= BATCH_BYTES as u64 {
            resize(&mut batch, size)?;
            read(data, &mut batch)?;
            let section = self.prepare_block(user, 0, size, Ok(&batch), encode)?;
            return self.write(section);
        }
        let user = UserString::new(user)?;
        self.sections.describe(SectionType::Block, &user, 0, size)?;
        self.pass_on(SectionType::Block, &user, &[(b'E', size)], layout, data)
    }

    pub(in crate::file::writer) fn array_from(
        &mut self,
        user: &[u8],
        count: u64,
        size: u64,
        data: &mut dyn DataStream,
        mut encode: Encode,
    ) -> Result<(), Failure> {
        check_alone(self.sections.team())?;
        self.check_free(SectionType::Array, user)?;
        let layout = SectionLayout::array(self.sections.end(), count, size).ok_or_else(too_large)?;
        if layout.data_bytes <= BATCH_BYTES as u64
            && (encode == Encode::None || count <= BATCH_ELEMENTS as u64)
        {
            let mut batch = Vec::new();
            resize(&mut batch, layout.data_bytes)?;
            read(data, &mut batch)?;
            let section = self.prepare_array(user, &[count], size, Ok(Source::Contiguous(&batch)), encode)?;
            return self.write(section);
        }
        let user = UserString::new(user)?;
        self.sections.describe(SectionType::Array, &user, count, size)?;
        if encode == Encode::Auto {
            let choice = Choice { section: SectionType::Array, plain: layout, count, encode };
            encode = self.try_stream(&mut EqualElements { data, size }, &choice)?;
        }
        if encode == Encode::Always {
            self.sections.write_size_note(ARRAY_CONVENTION, true, size)?;
            self.sections.output.write_all()?;
            return Ok(self.encode_on(&user, None, count, &mut EqualElements { data, size })?);
        }
        self.pass_on(SectionType::Array, &user, &[(b'N', count), (b'E', size)], layout, data)
    }

    /// Writes a section of known layout, with data that are read in parts.
    fn pass_on(
        &mut self,
        section: SectionType,
        user: &UserString,
        counts: &[(u8, u64)],
        layout: SectionLayout,
        data: &mut dyn Read,
    ) -> Result<(), Failure> {
        self.sections.output.write_all()?;
        let mut batch = Vec::new();
        let (mut at, mut last) = (layout.data, None);
        while at < layout.padding() {
            resize(&mut batch, (layout.padding() - at).min(BATCH_BYTES as u64))?;
            read(data, &mut batch)?;
            if let Some(sealer) = &mut self.sections.sealer {
                sealer.note_first_half(&batch)?;
            }
            put_with_holes(&mut self.sections.output.file, at, &batch)?;
            at += batch.len() as u64;
            last = batch.last().copied();
        }
        let (mut text, style) = ([0; LONGEST_HEAD], self.sections.params().line_break);
        Ok(self.sections.output.finish(layout, head(&mut text, section, user, counts, style), last)?)
    }

    pub(in crate::file::writer) fn varray_from(
        &mut self,
        user: &[u8],
        count: u64,
        elements: &mut dyn ElementStream,
        mut encode: Encode,
    ) -> Result<(), Failure> {
        check_alone(self.sections.team())?;
        self.check_free(SectionType::Varray, user)?;
        let user = UserString::new(user)?;
        if encode == Encode::Auto {
            let total = total_of(elements, count)?;
            let plain = SectionLayout::varray(self.sections.end(), count, total).ok_or_else(too_large)?;
            let choice = Choice { section: SectionType::Varray, plain, count, encode };
            encode = self.try_stream(elements, &choice)?;
        }
        self.sections.describe(SectionType::Varray, &user, count, 0)?;
        self.sections.output.write_all()?;
        if encode == Encode::None {
            return Ok(self.varray_on(&user, count, elements)?);
        }
        self.sections.sealer.iter_mut().for_each(Sealer::note_compressed);
        let style = self.sections.params().line_break;
        let sizes =
            SectionLayout::array(self.sections.end(), count, COUNT_BYTES as u64).ok_or_else(too_large)?;
        let counts = [(b'N', count), (b'E', COUNT_BYTES as u64)];
        let mut text = [0; LONGEST_HEAD];
        let head = head(&mut text, SectionType::Array, VARRAY_CONVENTION, &counts, style);
        self.encode_on(&user, Some(sizes), count, elements)?;
        // The last byte of the data is that of a size entry.
        let last = (count > 0).then_some(b'\n');
        Ok(enclose(&mut self.sections.output.file, sizes, head, last, style)?)
    }

    /// Writes a varray that is read in parts.
    fn varray_on(&mut self, user: &UserString, count: u64, elements: &mut dyn ElementStream) -> Result<()> {
        let mut tail = Tail::of_varray(self.sections.end(), count, self.sections.params())?;
        let (mut sizes, mut data) = (Vec::new(), Vec::new());
        let mut left = count;
        while left > 0 {
            let step = next_sizes(elements, left, &mut sizes)?;
            let mut bytes = Sizes::Each(&sizes).total()?;
            let batch = Partition { offset: count - left, count: step, total: count };
            tail.put_sizes(self.sections, batch, &sizes)?;
            while bytes > 0 {
                resize(&mut data, bytes.min(BATCH_BYTES as u64))?;
                read(elements, &mut data)?;
                tail.put_data(self.sections, &data)?;
                bytes -= data.len() as u64;
            }
            left -= step;
        }
        self.sections.sealer.iter_mut().for_each(|sealer| sealer.note_plain_size(tail.total));
        tail.finish(self.sections, user, count)
    }

    /// Writes the varray of compressed elements and, if there is an array for them, their sizes.
    fn encode_on(
        &mut self,
        user: &UserString,
        sizes_note: Option<SectionLayout>,
        count: u64,
        elements: &mut dyn ElementStream,
    ) -> Result<()> {
        let start = sizes_note.map_or(self.sections.end(), |layout| layout.end);
        let mut tail = Tail::of_varray(start, count, self.sections.params())?;
        let mut note = sizes_note.map(|layout| Tail::new(layout, b'U', self.sections.params()));
        let (mut done, mut total) = (0, 0);
        let (most, Self { sections, compression }) = (batch_bytes(self.sections.params()), &mut *self);
        for_each_batch(elements, count, most, |sizes, data| {
            if let Some(note) = &mut note {
                note.put_entries(sections, sizes)?;
            }
            let encoded = compression.encoders.encode(
                sections.params(),
                Source::Contiguous(data),
                Sizes::Each(sizes),
            )?;
            let batch = Partition { offset: done, count: sizes.len() as u64, total: count };
            tail.put_encoded(sections, batch, &encoded)?;
            done += batch.count;
            total += data.len() as u64;
            Ok(true)
        })?;
        if sizes_note.is_some() {
            self.sections.sealer.iter_mut().for_each(|sealer| sealer.note_size(total));
        }
        tail.finish(self.sections, user, count)
    }
}

/// Returns an error if there are several ranks.
pub(in crate::file::writer) fn check_alone(team: &Team) -> Result<()> {
    match team.is_alone() {
        true => Ok(()),
        false => {
            let size = team.size();
            Err(Error::usage(format!(
                "a stream of data: only a rank that writes alone can pass one; this file is open on {size} ranks"
            )))
        }
    }
}

/// The number of bytes that are read at a time.
pub(super) fn batch_bytes(params: &WriteOptions) -> u64 {
    (BATCH_BYTES as u64).saturating_mul(params.tuning.threads as u64)
}

/// Reads elements with their sizes, at most `most` bytes at a time, but at least one element. `each` returns
/// whether to continue.
pub(super) fn for_each_batch(
    elements: &mut dyn ElementStream,
    count: u64,
    most: u64,
    mut each: impl FnMut(&[u64], &[u8]) -> Result<bool>,
) -> Result<()> {
    let (mut sizes, mut data) = (Vec::new(), Vec::new());
    let mut left = count;
    while left > 0 {
        left -= next_sizes(elements, left, &mut sizes)?;
        for Batch { elements: now, bytes } in batches(Sizes::Each(&sizes), 0..sizes.len(), most) {
            resize(&mut data, bytes)?;
            read(elements, &mut data)?;
            if !each(&sizes[now], &data)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The size of all elements, without reading their data.
fn total_of(elements: &mut dyn ElementStream, count: u64) -> Result<u64> {
    read_again(elements)?;
    let (mut sizes, mut total, mut left) = (Vec::new(), 0, count);
    while left > 0 {
        left -= next_sizes(elements, left, &mut sizes)?;
        total = sum(total, Sizes::Each(&sizes).total()?).ok_or_else(too_large)?;
    }
    Ok(total)
}

/// Requests the sizes of some of the remaining elements, and returns their number.
pub(super) fn next_sizes(elements: &mut dyn ElementStream, left: u64, sizes: &mut Vec<u64>) -> Result<u64> {
    let step = left.min(BATCH_ELEMENTS as u64);
    resize(sizes, step)?;
    elements.read_sizes(sizes).map_err(|e| Error::io("reading the sizes to write", e))?;
    Ok(step)
}
