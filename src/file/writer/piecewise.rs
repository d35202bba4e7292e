//! Sections that come piece by piece, so that they need not fit memory.

use super::WriterState;
use super::choice::Choice;
use super::dataset_stream::BoxStream;
use super::output::{LONGEST_HEAD, head, too_large};
use super::sealing::Sealer;
use super::trial::total_of;
use crate::codec::{ARRAY_CONVENTION, VARRAY_CONVENTION};
use crate::error::{Error, Result};
use crate::file::encoding::Encoded;
use crate::file::params::{Encode, Params};
use crate::file::source::{Batch, Sizes, Source, batches};
use crate::file::team::Failure;
use crate::format::COUNT_BYTES;
use crate::format::dataset::bools::Bools;
use crate::format::entry::CountFormat;
use crate::format::header::{SectionType, UserString};
use crate::format::layout::{Layout, sum};
use crate::format::padding::{MAX_DATA_PADDING, data_padding};
use crate::memory::{reserve, resize};
use crate::parallel::Partition;
use crate::storage::ParallelFile;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek};

/// Data that come piece by piece.
pub trait DataStream: Read {
    /// Goes back to the first byte, from which all is read again. [`Encode::Auto`] needs it: whether compression pays
    /// is found out before anything is written.
    ///
    /// # Errors
    /// What keeps it from doing so; [`io::ErrorKind::Unsupported`] if the data can be read only once.
    fn rewind(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The items of a dataset as boxes, if they can be read so: see [`Writer::dataset_from`](crate::Writer::dataset_from).
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

/// Elements of a varray that come one after the other: sizes, and as a reader their bytes.
pub trait ElementStream: DataStream {
    /// Fills in the sizes of the next elements. Their bytes are read before other sizes are asked for, or none are
    /// read at all before [`DataStream::rewind`].
    ///
    /// # Errors
    /// What keeps it from doing so.
    fn read_sizes(&mut self, sizes: &mut [u64]) -> io::Result<()>;
}

/// Elements of one size.
struct Fixed<'a> {
    data: &'a mut dyn DataStream,
    size: u64,
}

impl Read for Fixed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.data.read(buffer)
    }
}

impl DataStream for Fixed<'_> {
    fn rewind(&mut self) -> io::Result<()> {
        self.data.rewind()
    }
}

impl ElementStream for Fixed<'_> {
    fn read_sizes(&mut self, sizes: &mut [u64]) -> io::Result<()> {
        sizes.fill(self.size);
        Ok(())
    }
}

/// The most bytes that are read at once for each thread, except for one element to compress.
const PIECE_BYTES: usize = 4 << 20;
/// Of a section that comes piece by piece, so many zeros are not written, such as those that streams of tasks do not fill.
const HOLE_BYTES: usize = 64 << 10;
/// The most elements that are read at once.
const PIECE_ELEMENTS: usize = 1 << 16;

/// Goes back to the first byte.
pub(super) fn read_again(data: &mut dyn DataStream) -> Result<()> {
    data.rewind().map_err(|e| match e.kind() {
        io::ErrorKind::Unsupported => Error::argument(
            "layout or encode: found Auto for a stream that cannot be read again, expected another choice",
        ),
        _ => Error::io("reading the data to write again", e),
    })
}

pub(super) fn read(from: &mut dyn Read, buffer: &mut [u8]) -> Result<()> {
    from.read_exact(buffer).map_err(|e| Error::io("reading the data to write", e))
}

/// Where the next entry and the next data of a varray go.
pub(super) struct Tail {
    entries: u64,
    data: u64,
    /// Bytes of data that were written, and the last of them.
    total: u64,
    last: Option<u8>,
    format: CountFormat,
    text: Vec<u8>,
}

impl Tail {
    pub fn new(layout: Layout, letter: u8, params: &Params) -> Self {
        let format = CountFormat::new(letter, params.line_break);
        Self { entries: layout.entries, data: layout.data, total: 0, last: None, format, text: Vec::new() }
    }

    /// The bytes of data that were written.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Puts encoded elements, which are these of all.
    pub fn put_encoded(
        &mut self,
        file: &mut dyn ParallelFile,
        sealer: Option<&mut Sealer>,
        elements: Partition,
        encoded: &Encoded,
    ) -> Result<()> {
        if let Some(sealer) = sealer {
            sealer.note_elements(elements, self.data + self.total, &encoded.sizes)?;
        }
        self.put_sizes(file, &encoded.sizes)?;
        encoded.chunks.iter().try_for_each(|chunk| self.put_data(file, chunk))
    }

    fn put_sizes(&mut self, file: &mut dyn ParallelFile, sizes: &[u64]) -> Result<()> {
        self.text.clear();
        reserve(&mut self.text, sizes.len() * COUNT_BYTES)?;
        self.format.append(sizes, &mut self.text);
        file.write_at(self.entries, &[&self.text])?;
        self.entries += self.text.len() as u64;
        Ok(())
    }

    fn put_data(&mut self, file: &mut dyn ParallelFile, data: &[u8]) -> Result<()> {
        let Some(&last) = data.last() else { return Ok(()) };
        let total = sum(self.total, data.len() as u64).ok_or_else(too_large)?;
        sum(self.data, total).ok_or_else(too_large)?;
        file.write_at(self.data + self.total, &[data])?;
        (self.total, self.last) = (total, Some(last));
        Ok(())
    }
}

impl WriterState {
    pub(super) fn check_stream(&self) -> Result<()> {
        if !self.team.is_alone() {
            let size = self.team.size();
            return Err(Error::usage(format!(
                "a stream: found {size} ranks, expected one that writes alone"
            )));
        }
        Ok(())
    }

    /// The bytes that are read at once.
    pub(super) fn piece_bytes(&self) -> u64 {
        (PIECE_BYTES as u64).saturating_mul(self.params.threads as u64)
    }

    pub(super) fn block_from(
        &mut self,
        user: &[u8],
        size: u64,
        data: &mut dyn Read,
        encode: Encode,
    ) -> Result<(), Failure> {
        self.check_stream()?;
        self.check_free(SectionType::Block, user)?;
        let layout = Layout::block(self.end, size).ok_or_else(too_large)?;
        let mut piece = Vec::new();
        if encode != Encode::None || size <= PIECE_BYTES as u64 {
            resize(&mut piece, size)?;
            read(data, &mut piece)?;
            return self.block(user, 0, size, Ok(&piece), encode);
        }
        let user = UserString::new(user)?;
        self.describe(SectionType::Block, &user, 0, size)?;
        self.write_all()?;
        let mut text = [0; LONGEST_HEAD];
        let head = head(&mut text, SectionType::Block, &user, &[(b'E', size)], self.params.line_break);
        Ok(self.pass_on(layout, head, data)?)
    }

    pub(super) fn array_from(
        &mut self,
        user: &[u8],
        count: u64,
        size: u64,
        data: &mut dyn DataStream,
        mut encode: Encode,
    ) -> Result<(), Failure> {
        self.check_stream()?;
        self.check_free(SectionType::Array, user)?;
        let style = self.params.line_break;
        let layout = Layout::array(self.end, count, size).ok_or_else(too_large)?;
        if layout.data_bytes <= PIECE_BYTES as u64
            && (encode == Encode::None || count <= PIECE_ELEMENTS as u64)
        {
            let mut piece = Vec::new();
            resize(&mut piece, layout.data_bytes)?;
            read(data, &mut piece)?;
            return self.array(user, &[count], size, Ok(Source::Contiguous(&piece)), encode);
        }
        let user = UserString::new(user)?;
        self.describe(SectionType::Array, &user, count, size)?;
        if encode == Encode::Auto {
            let choice = Choice { section: SectionType::Array, plain: layout, count, encode };
            encode = self.try_stream(&mut Fixed { data, size }, &choice)?;
        }
        if encode == Encode::Always {
            self.write_size_note(ARRAY_CONVENTION, true, size)?;
            self.write_all()?;
            return Ok(self.encode_on(&user, None, count, &mut Fixed { data, size })?);
        }
        self.write_all()?;
        let mut text = [0; LONGEST_HEAD];
        let head = head(&mut text, SectionType::Array, &user, &[(b'N', count), (b'E', size)], style);
        Ok(self.pass_on(layout, head, data)?)
    }

    /// Writes a section whose layout is known, with data that come piece by piece.
    fn pass_on(&mut self, layout: Layout, head: &[u8], data: &mut dyn Read) -> Result<()> {
        let mut piece = Vec::new();
        let (mut at, mut last) = (layout.data, None);
        while at < layout.padding() {
            resize(&mut piece, (layout.padding() - at).min(PIECE_BYTES as u64))?;
            read(data, &mut piece)?;
            self.note_first_half(&piece)?;
            self.put(at, &piece)?;
            at += piece.len() as u64;
            last = piece.last().copied();
        }
        self.finish(layout, head, last)
    }

    /// Writes a piece of a section behind the end of the file. What is 0 there becomes a hole: the rest of the section follows.
    fn put(&mut self, mut at: u64, mut piece: &[u8]) -> Result<()> {
        let is_hole = |block: &[u8]| block.iter().all(|&byte| byte == 0);
        let blocks: Vec<&[u8]> = piece.chunks(HOLE_BYTES).collect();
        for run in blocks.chunk_by(|a, b| is_hole(a) == is_hole(b)) {
            let (now, later) = piece.split_at(run.iter().map(|block| block.len()).sum());
            if !is_hole(now) {
                self.file.write_at(at, &[now])?;
            } else if let Some(sums) = self.file.now()?.sums() {
                sums.add(at, &[now]);
            }
            at += now.len() as u64;
            piece = later;
        }
        Ok(())
    }

    /// Writes the padding of a section, and last its header: a section that is not complete has none. The next
    /// section follows.
    fn finish(&mut self, layout: Layout, head: &[u8], last: Option<u8>) -> Result<()> {
        let mut padding = [0; MAX_DATA_PADDING];
        let padding = data_padding(&mut padding, layout.data_bytes, last, self.params.line_break);
        self.file.write_at(layout.padding(), &[padding])?;
        self.file.write_at(layout.start, &[head])?;
        self.end_pieces(layout.end);
        Ok(())
    }

    /// The sections end here, and all of them is written.
    fn end_pieces(&mut self, end: u64) {
        (self.end, self.written) = (end, end);
        if !self.held.is_waiting() {
            self.released = end;
        }
    }

    /// Writes the padding and the header of a varray whose data are written.
    pub(super) fn finish_varray(&mut self, user: &UserString, count: u64, tail: &Tail) -> Result<()> {
        let layout = Layout::varray(self.end, count, tail.total).ok_or_else(too_large)?;
        let mut text = [0; LONGEST_HEAD];
        let head = head(&mut text, SectionType::Varray, user, &[(b'N', count)], self.params.line_break);
        self.finish(layout, head, tail.last)
    }

    pub(super) fn varray_from(
        &mut self,
        user: &[u8],
        count: u64,
        elements: &mut dyn ElementStream,
        mut encode: Encode,
    ) -> Result<(), Failure> {
        self.check_stream()?;
        self.check_free(SectionType::Varray, user)?;
        let user = UserString::new(user)?;
        if encode == Encode::Auto {
            let total = total_of(elements, count)?;
            let plain = Layout::varray(self.end, count, total).ok_or_else(too_large)?;
            let choice = Choice { section: SectionType::Varray, plain, count, encode };
            encode = self.try_stream(elements, &choice)?;
        }
        self.describe(SectionType::Varray, &user, count, 0)?;
        self.write_all()?;
        if encode == Encode::None {
            return Ok(self.varray_on(&user, count, elements)?);
        }
        self.describe_as_compressed();
        let style = self.params.line_break;
        let sizes = Layout::array(self.end, count, COUNT_BYTES as u64).ok_or_else(too_large)?;
        let counts = [(b'N', count), (b'E', COUNT_BYTES as u64)];
        let mut text = [0; LONGEST_HEAD];
        let head = head(&mut text, SectionType::Array, VARRAY_CONVENTION, &counts, style);
        self.end = sizes.end;
        self.encode_on(&user, Some(sizes), count, elements)?;
        let end = self.end;
        // The last byte of the data is that of an entry.
        self.finish(sizes, head, (count > 0).then_some(b'\n'))?;
        self.end_pieces(end);
        Ok(())
    }

    /// Writes a varray that comes piece by piece.
    fn varray_on(&mut self, user: &UserString, count: u64, elements: &mut dyn ElementStream) -> Result<()> {
        let mut tail = Tail::new(self.varray_start(count)?, b'E', &self.params);
        let (mut sizes, mut data) = (Vec::new(), Vec::new());
        let mut left = count;
        while left > 0 {
            let step = next_sizes(elements, left, &mut sizes)?;
            let mut bytes = Sizes::Each(&sizes).total()?;
            if let Some(sealer) = &mut self.sealer {
                let batch = Partition { offset: count - left, count: step, total: count };
                sealer.note_elements(batch, tail.data + tail.total, &sizes)?;
            }
            tail.put_sizes(&mut self.file, &sizes)?;
            while bytes > 0 {
                resize(&mut data, bytes.min(PIECE_BYTES as u64))?;
                read(elements, &mut data)?;
                tail.put_data(&mut self.file, &data)?;
                bytes -= data.len() as u64;
            }
            left -= step;
        }
        if let Some(sealer) = &mut self.sealer {
            sealer.note_plain_size(tail.total);
        }
        self.finish_varray(user, count, &tail)
    }

    /// Writes the varray of compressed elements; and if there is an array for them, their sizes.
    fn encode_on(
        &mut self,
        user: &UserString,
        sizes_note: Option<Layout>,
        count: u64,
        elements: &mut dyn ElementStream,
    ) -> Result<()> {
        let mut tail = Tail::new(self.varray_start(count)?, b'E', &self.params);
        let mut note = sizes_note.map(|layout| Tail::new(layout, b'U', &self.params));
        let (mut done, mut total) = (0, 0);
        let (most, Self { encoders, params, file, sealer, .. }) = (self.piece_bytes(), &mut *self);
        for_each_batch(elements, count, most, |sizes, data| {
            if let Some(note) = &mut note {
                note.put_sizes(file, sizes)?;
            }
            let encoded = encoders.encode(params, Source::Contiguous(data), Sizes::Each(sizes))?;
            let batch = Partition { offset: done, count: sizes.len() as u64, total: count };
            tail.put_encoded(file, sealer.as_mut(), batch, &encoded)?;
            done += batch.count;
            total += data.len() as u64;
            Ok(true)
        })?;
        if let (Some(sealer), Some(_)) = (&mut self.sealer, sizes_note) {
            sealer.note_size(total);
        }
        self.finish_varray(user, count, &tail)
    }

    /// The layout of a varray that follows now, as far as it is known before its data.
    pub(super) fn varray_start(&self, count: u64) -> Result<Layout> {
        Layout::varray(self.end, count, 0).ok_or_else(too_large)
    }
}

/// Reads elements with their sizes, at most so many bytes at once, but one element at least. `each` tells whether to go
/// on.
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

/// Asks for the sizes of some of the elements that are left, and tells of how many.
pub(super) fn next_sizes(elements: &mut dyn ElementStream, left: u64, sizes: &mut Vec<u64>) -> Result<u64> {
    let step = left.min(PIECE_ELEMENTS as u64);
    resize(sizes, step)?;
    elements.read_sizes(sizes).map_err(|e| Error::io("reading the sizes to write", e))?;
    Ok(step)
}
