//! Writes datasets in bounded memory: the bytes are those that `Writer::dataset` writes.

use super::in_order::InOrder;
use super::slabs::{self, Slabs, index_of, items, runs};
use super::{Found, to_little};
use crate::fail::{Fail, Result};
use crate::pieces::as_io_error;
use scda::internals::metadata;
use scda::internals::to_usize;
use scda::internals::{ChunkCodec, ChunkEncoder, Codecs, CountFormat, DATASET_CONVENTION};
use scda::{DataStream, Dataset, ElementStream, Encode, Layout, Params, Reader, Region, Writer, target_path};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The user string of the inline section before a compressed array.
const ARRAY_CONVENTION: &[u8] = b"A compressed scda 00";
/// A section has at least so many bytes of padding, and ends at a multiple of [`STEP`].
const LEAST_PADDING: u64 = 7;
const STEP: u64 = 32;

/// Where the items of a dataset come from.
pub trait Items {
    /// Reads a box, in C order and in little-endian byte order.
    fn read(&mut self, region: &Region, data: &mut Vec<u8>) -> Result<()>;

    /// Reads the next ones of all items in C order; false at the end.
    fn next(&mut self, data: &mut Vec<u8>) -> Result<bool>;

    /// Begins with the first items again.
    fn rewind(&mut self);
}

/// Makes a temporary file.
type Spool<'a> = Box<dyn FnMut() -> Result<File> + 'a>;

/// From the reader's current dataset.
pub struct OfReader<'a> {
    reader: &'a mut Reader,
    found: &'a Found,
    path: &'a Path,
    order: InOrder<Spool<'a>>,
}

impl<'a> OfReader<'a> {
    /// Items for the file of this path.
    pub fn new(reader: &'a mut Reader, found: &'a Found, path: &'a Path) -> Self {
        Self { reader, found, path, order: InOrder::new(found, Box::new(move || spool(path))) }
    }
}

impl Items for OfReader<'_> {
    fn read(&mut self, region: &Region, data: &mut Vec<u8>) -> Result<()> {
        slabs::read(self.reader, &self.found.dataset, region, data)?;
        to_little(self.found.dataset.data_type, data);
        Ok(())
    }

    fn next(&mut self, data: &mut Vec<u8>) -> Result<bool> {
        self.order.next(self.reader, self.found, data)
    }

    fn rewind(&mut self) {
        let path = self.path;
        self.order = InOrder::new(self.found, Box::new(move || spool(path)));
    }
}

/// From a file with all items in C order.
pub struct OfFile<'a> {
    file: &'a File,
    dataset: &'a Dataset,
    parts: Slabs,
}

impl<'a> OfFile<'a> {
    pub fn new(file: &'a File, dataset: &'a Dataset) -> Self {
        Self { file, dataset, parts: whole(dataset) }
    }
}

impl Items for OfFile<'_> {
    fn read(&mut self, region: &Region, data: &mut Vec<u8>) -> Result<()> {
        let Dataset { shape, data_type, .. } = self.dataset;
        let item = data_type.item_bytes();
        slabs::resize(data, to_usize(items(region) * item))?;
        let mut rest = &mut data[..];
        for (place, count) in runs(region, &Region::all(shape)) {
            let (run, others) = rest.split_at_mut(to_usize(count * item));
            let read = self.file.read_exact_at(run, place * item);
            read.map_err(|e| Fail::Trouble(format!("data of {}: {e}", self.dataset.name)))?;
            rest = others;
        }
        Ok(())
    }

    fn next(&mut self, data: &mut Vec<u8>) -> Result<bool> {
        self.parts.next().map_or(Ok(false), |part| self.read(&part, data).map(|()| true))
    }

    fn rewind(&mut self) {
        self.parts = whole(self.dataset);
    }
}

/// The file that datasets are written to.
pub struct Target<'a> {
    pub writer: &'a mut Writer,
    pub params: &'a Params,
    /// Compressed chunks wait in its folder.
    pub path: &'a Path,
}

/// A temporary file that has no name, in the folder of a file that is to be written.
pub fn spool(path: &Path) -> Result<File> {
    let path = target_path(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::tempfile_in(folder).map_err(|e| Fail::file(&folder.display().to_string(), e))
}

impl Target<'_> {
    /// Writes a dataset, in chunks or contiguous as its layout says; `Layout::Auto`: in chunks, if these are smaller.
    /// `encode`: whether contiguous data are compressed by the convention of the format.
    pub fn write(&mut self, dataset: &Dataset, from: &mut dyn Items, encode: Encode) -> Result<()> {
        let mut dataset = dataset.clone();
        let is_auto = matches!(dataset.layout, Layout::Auto { .. });
        if is_auto {
            dataset.layout = Layout::Chunked { shape: Some(dataset.chunk_shape()), text: false };
        }
        if let Layout::Chunked { text, .. } = dataset.layout {
            // What is wrong with it is said before anything is read. It is what was asked for, and no damage of a file.
            let metadata = metadata::of_dataset(&dataset, &Codecs::of(&dataset, self.params.level));
            let metadata =
                metadata.map_err(|error| Fail::Trouble(format!("dataset \"{}\": {error}", dataset.name)))?;
            let mut chunks = self.encode(&dataset, from)?;
            if !is_auto || is_smaller(&chunks, &dataset)? {
                return self.chunks(&dataset, text, &metadata, &mut chunks);
            }
            dataset.layout = Layout::Contiguous;
            (dataset.max_relative_error, dataset.max_absolute_error) = (0.0, 0.0);
        }
        let text = metadata::of_dataset(&dataset, &Codecs::of(&dataset, self.params.level))?;
        self.metadata(text, dataset.data_bytes()?)?;
        let rows = dataset.shape.first().copied().unwrap_or(1);
        let row: u64 = dataset.shape.iter().skip(1).product();
        let row_bytes = row * dataset.data_type.item_bytes();
        let mut stream = Rows { from, data: Vec::new(), used: 0 };
        Ok(self.writer.array_from(dataset.name.as_bytes(), rows, row_bytes, &mut stream, encode)?)
    }

    /// Writes metadata, so that contiguous data of so many bytes are aligned.
    pub fn metadata(&mut self, mut text: String, data_bytes: u64) -> Result<()> {
        metadata::align(&mut text, data_bytes, self.writer.position().unwrap_or(0));
        self.block(&text)
    }

    fn block(&mut self, text: &str) -> Result<()> {
        let bytes = text.len() as u64;
        Ok(self.writer.block_from(DATASET_CONVENTION, bytes, &mut text.as_bytes(), Encode::None)?)
    }

    /// Compresses the chunks into a temporary file.
    fn encode(&self, dataset: &Dataset, from: &mut dyn Items) -> Result<Chunks> {
        let chunk = dataset.chunk_shape();
        let item = dataset.data_type.item_bytes();
        let counts: Vec<u64> =
            dataset.shape.iter().zip(&chunk).map(|(n, chunk)| n.div_ceil(*chunk)).collect();
        let chunk_bytes = chunk.iter().product::<u64>() * item;
        let params = &self.params;
        let codec = ChunkCodec::of(dataset, params.encoder, params.level, params.line_break);
        let fill = match dataset.fill_value.is_empty() {
            true => vec![0; to_usize(item)],
            false => dataset.fill_value.clone(),
        };
        let threads = self.params.threads.max(1);
        let mut encoders = Vec::new();
        let mut file = BufWriter::with_capacity(1 << 20, spool(self.path)?);
        let mut sizes = Vec::new();
        let mut data = Vec::new();
        let shape = Region::all(&dataset.shape);
        for slab in Slabs::of_grid(&counts, chunk_bytes, slabs::MOST_BYTES) {
            let band = slabs::of_slab(&slab, &chunk, &shape);
            from.read(&band, &mut data)?;
            let cut =
                Cut { band: &band, data: &data, chunk: &chunk, fill: &fill, bytes: to_usize(chunk_bytes) };
            let all = items(&slab);
            let parts = all.min(threads as u64).max(1);
            while encoders.len() < to_usize(parts) {
                encoders.push(ChunkEncoder::new(codec)?);
            }
            let encoded: Vec<Result<Encoded>> = std::thread::scope(|scope| {
                let (cut, slab) = (&cut, &slab);
                // All are started before any is waited for.
                let mut jobs = Vec::new();
                for (encoder, part) in encoders.iter_mut().zip(0..parts) {
                    let range = all * part / parts..all * (part + 1) / parts;
                    let work = move || cut.encode(encoder, slab, range);
                    jobs.push(std::thread::Builder::new().spawn_scoped(scope, work));
                }
                let wait = |job: io::Result<std::thread::ScopedJoinHandle<'_, _>>| {
                    let job = job.map_err(|e| Fail::Trouble(format!("cannot start a thread: {e}")))?;
                    Ok(job.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                };
                jobs.into_iter().map(wait).collect::<Result<_>>()
            })?;
            for part in encoded {
                let (more, bytes) = part?;
                sizes.extend(more);
                file.write_all(&bytes).map_err(|e| Fail::Trouble(format!("temporary file: {e}")))?;
            }
        }
        let file = file.into_inner().map_err(|e| Fail::Trouble(format!("temporary file: {}", e.error())))?;
        Ok(Chunks { sizes, file, next: 0, chunk_bytes })
    }

    /// Writes metadata and encoded chunks.
    fn chunks(&mut self, dataset: &Dataset, text: bool, metadata: &str, chunks: &mut Chunks) -> Result<()> {
        self.block(metadata)?;
        Seek::rewind(&mut chunks.file).map_err(|e| Fail::Trouble(format!("temporary file: {e}")))?;
        if text {
            let mut entry = [0; scda::INLINE_BYTES];
            CountFormat::new(b'U', self.params.line_break).put(chunks.chunk_bytes, &mut entry);
            self.writer.inline(ARRAY_CONVENTION, 0, Some(&entry))?;
        }
        let count = chunks.sizes.len() as u64;
        Ok(self.writer.varray_from(dataset.name.as_bytes(), count, chunks, Encode::None)?)
    }
}

/// All of a dataset, part by part, as it lies in a contiguous section.
fn whole(dataset: &Dataset) -> Slabs {
    Slabs::new(dataset, Region::all(&dataset.shape))
}

/// Whether the section of the chunks is smaller than that of the plain data.
fn is_smaller(chunks: &Chunks, dataset: &Dataset) -> Result<bool> {
    let padded = |bytes: u64| (bytes + LEAST_PADDING).div_ceil(STEP) * STEP;
    let count = chunks.sizes.len() as u64;
    // An entry for each size, N and for plain data E.
    let chunked = (count + 1) * STEP + padded(chunks.sizes.iter().sum());
    Ok(chunked < 2 * STEP + padded(dataset.data_bytes()?))
}

/// The sizes of encoded chunks, and these.
type Encoded = (Vec<u64>, Vec<u8>);

/// A part of the array that is cut into chunks.
struct Cut<'a> {
    band: &'a Region,
    data: &'a [u8],
    chunk: &'a [u64],
    fill: &'a [u8],
    bytes: usize,
}

impl Cut<'_> {
    /// Encodes chunks: those with these numbers of a box of the grid.
    fn encode(&self, encoder: &mut ChunkEncoder, slab: &Region, numbers: Range<u64>) -> Result<Encoded> {
        let (mut sizes, mut out, mut buffer) = (Vec::new(), Vec::new(), Vec::new());
        for number in numbers {
            self.assemble(&index_of(slab, number), &mut buffer)?;
            // As text, each chunk has all its bytes.
            let is_fill = !encoder.codec().is_text()
                && buffer.chunks_exact(self.fill.len()).all(|item| item == self.fill);
            sizes.push(if is_fill { 0 } else { encoder.encode(&buffer, &mut out)? as u64 });
        }
        Ok((sizes, out))
    }

    /// Puts together the chunk with this index in the grid.
    fn assemble(&self, index: &[u64], buffer: &mut Vec<u8>) -> Result<()> {
        buffer.clear();
        slabs::reserve(buffer, self.bytes)?;
        while buffer.len() < self.bytes {
            buffer.extend_from_slice(self.fill);
        }
        let Region { start: first, count } = self.band;
        let mut own = Region::default();
        for (dimension, &chunk) in self.chunk.iter().enumerate() {
            let start = index[dimension] * chunk;
            own.start.push(start);
            own.count.push(chunk.min(first[dimension] + count[dimension] - start));
        }
        let item = self.fill.len();
        let run = own.count.last().copied().unwrap_or(1);
        let bytes = to_usize(run) * item;
        let place = |index: &[u64], origin: &[u64], shape: &[u64]| {
            let place = index
                .iter()
                .zip(origin)
                .zip(shape)
                .fold(0, |place, ((&index, &origin), &n)| place * n + index - origin);
            to_usize(place) * item
        };
        for number in 0..items(&own) / run.max(1) {
            let index = index_of(&own, number * run);
            let (from, to) = (place(&index, first, count), place(&index, &own.start, self.chunk));
            buffer[to..to + bytes].copy_from_slice(&self.data[from..from + bytes]);
        }
        Ok(())
    }
}

/// Encoded chunks, in a temporary file.
struct Chunks {
    sizes: Vec<u64>,
    file: File,
    next: usize,
    chunk_bytes: u64,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl DataStream for Chunks {}

impl ElementStream for Chunks {
    fn read_sizes(&mut self, sizes: &mut [u64]) -> io::Result<()> {
        let end = self.next + sizes.len();
        sizes.copy_from_slice(&self.sizes[self.next..end]);
        self.next = end;
        Ok(())
    }
}

/// All items one after the other.
struct Rows<'a> {
    from: &'a mut dyn Items,
    data: Vec<u8>,
    used: usize,
}

impl Read for Rows<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.used == self.data.len() {
            self.used = 0;
            if !self.from.next(&mut self.data).map_err(as_io_error)? {
                self.data.clear();
                return Ok(0);
            }
        }
        let left = &self.data[self.used..];
        let step = left.len().min(buffer.len());
        buffer[..step].copy_from_slice(&left[..step]);
        self.used += step;
        Ok(step)
    }
}

impl DataStream for Rows<'_> {
    fn rewind(&mut self) -> io::Result<()> {
        self.from.rewind();
        self.data.clear();
        self.used = 0;
        Ok(())
    }
}
