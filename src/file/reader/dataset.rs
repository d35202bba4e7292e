//! Datasets: their metadata, and any regions of their data on any rank.

use super::elements::BATCH_BYTES;
use super::header::exceeds_63_bits;
use super::{Current, Expect, Reader, ReaderState};
use crate::codec::chunk::{ChunkDecoder, swap};
use crate::codec::{can_expand, max_encoded_bytes};
use crate::error::{Error, ErrorKind, Result};
use crate::file::encoding::on_threads;
use crate::file::source::{Sink, Sizes};
use crate::file::team::{Failure, Function, Topic};
use crate::format::COUNT_BYTES;
use crate::format::dataset::bools::find_other;
use crate::format::dataset::metadata::Codecs;
use crate::format::dataset::stored::{DataSection, Elements, Stored, is_metadata};
use crate::format::dataset::{DataType, Dataset, MAX_METADATA_BYTES, Region, Run, Runs, Visits};
use crate::format::layout::sum;
use crate::memory::{reserve, resize};
use crate::numbers::to_usize;
use crate::parallel::Partition;
use std::ops::Range;

/// Rows that are no longer, and no further apart, are read together with what lies between them.
const NEAR_BYTES: u64 = 4096;
/// The most runs that are read together.
const MOST_RUNS: usize = 4096;
/// The most sizes of chunks that are read at once.
const MOST_SIZES: u64 = 1024;

/// A smaller chunk is not worth a thread.
const BYTES_PER_THREAD: u64 = 1 << 17;
/// The memory for larger chunks is not kept for those of the next dataset.
const MOST_KEPT: u64 = 4 << 20;
/// The most bytes of chunks that are decompressed at once, unless it is one chunk.
const BYTES_AT_ONCE: u64 = 1 << 30;

/// The most chunks of so many bytes that are decompressed at once.
fn chunks_at_once(chunk_bytes: u64) -> usize {
    match chunk_bytes {
        ..BYTES_PER_THREAD => 1,
        _ => to_usize((BYTES_AT_ONCE / chunk_bytes).max(1)),
    }
}

/// The dataset whose data can be read.
pub(super) struct CurrentDataset {
    stored: Box<Stored>,
    /// Where the section of its data begins.
    start: u64,
}

impl Reader {
    /// The dataset whose data can be read, if there is one.
    pub(crate) fn current_dataset(&self) -> Option<&Dataset> {
        self.session.state()?.current_dataset().ok()
    }

    /// The dataset of this name, whose data can then be read by [`Self::read_dataset`]. The `record` is 0 for the first dataset of
    /// the name in the file, −1 for the last, as in [`Self::find`]. `None` if there are not so many.
    ///
    /// # Errors
    /// `Format` if the section of this user string is no dataset; those of [`Self::find`], [`Self::seek_section`],
    /// [`Self::next_section`] and [`Self::dataset`].
    pub fn find_dataset(&mut self, name: &str, record: i64) -> Result<Option<Dataset>> {
        let found = self.session.operate(|state| state.find_dataset(name, record))?;
        Ok(self.current_dataset().filter(|_| found).cloned())
    }

    /// The dataset that begins with the section whose header was just read: if this is a block of metadata, reads it and the header
    /// of the section of the data, which comes next. Else `None`, and nothing was read.
    ///
    /// # Errors
    /// `Format` and `Range` for metadata that are none or that do not fit the section behind them, `Unsupported` for a
    /// type of items that is none of [`DataType`](crate::DataType), and those of [`Self::read_block`] and
    /// [`Self::next_section`].
    pub fn dataset(&mut self) -> Result<Option<Dataset>> {
        let found = self.session.operate(|state| state.going_back(ReaderState::read_metadata))?;
        Ok(self.current_dataset().filter(|_| found).cloned())
    }

    /// Reads regions of the current dataset on each rank: any regions, those of other ranks, overlapping ones, or none. `data` gets one
    /// region after the other, each in C order, with numbers in the byte order of this machine. The section goes on:
    /// other regions can be read, until the next header is.
    ///
    /// Each rank reads and decompresses the chunks that its regions touch, each one once, zlib streams of chunks of
    /// 128 KiB and more on [`Params::threads`](crate::Params::threads) threads, all others one after the other. Besides `data` it needs memory for three chunks a thread.
    ///
    /// # Errors
    /// `Usage` if there is no current dataset, `Argument` for regions that do not lie in it or memory of another size,
    /// `Unsupported` for what [`Dataset::unsupported`] says, `Decode` for a damaged chunk or a bool that is neither 0 nor 1, and
    /// those of [`Self::read_varray_range`]. An error of one rank is an error of all.
    pub fn read_dataset(&mut self, regions: &[Region], data: &mut [u8]) -> Result<()> {
        self.read(|state| state.read_dataset(Ok((regions, data))))
    }

    /// Finds datasets by their names, and reads regions of each, as [`Self::find_dataset`] and [`Self::read_dataset`] do one after the
    /// other. The last one is then the current dataset. All ranks request the same datasets in the same order, each its own regions.
    ///
    /// ```
    /// use scda::{DataType, Dataset, Params, Reader, Region, Request, Solo};
    /// # use scda::Writer;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("state.scda");
    /// # let mut file = Writer::create(Solo, &path, b"", &Params::default())?;
    /// # let all = [Region::all(&[3, 2])];
    /// # for name in ["density", "pressure"] {
    /// #     file.dataset(&Dataset::new(name, DataType::Float32, [3, 2]), &all, &[0; 24])?;
    /// # }
    /// # file.close()?;
    /// let mut file = Reader::open(Solo, &path, &Params::default())?;
    /// let names = ["density", "pressure"];
    /// let datasets = names.map(|name| Dataset::new(name, DataType::Float32, [3, 2]));
    /// let (row, mut data) = ([Region::new([1, 0], [1, 2])], [[0; 8]; 2]);
    /// let requests = datasets.iter().zip(&mut data);
    /// let requests = requests.map(|(dataset, data)| Request { dataset, record: 0, regions: &row, data });
    /// file.read_datasets(&mut requests.collect::<Vec<_>>())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` for a dataset that the file does not have, or that has another type or shape there; those of [`Self::find_dataset`]
    /// and of [`Self::read_dataset`].
    pub fn read_datasets(&mut self, requests: &mut [Request<'_>]) -> Result<()> {
        let wanted = requests.iter_mut().map(|request| Wanted {
            dataset: request.dataset,
            record: request.record,
            mine: Ok((request.regions, &mut *request.data)),
        });
        let wanted = wanted.collect();
        self.read(|state| state.read_datasets(wanted))
    }
}

/// What [`Reader::read_datasets`] reads of a dataset.
#[derive(Debug)]
pub struct Request<'a> {
    /// Its name, type and shape. What else this says is not compared with the file.
    pub dataset: &'a Dataset,
    /// Which of the datasets of this name, as in [`Reader::find_dataset`].
    pub record: i64,
    /// The regions that this rank reads.
    pub regions: &'a [Region],
    /// Gets one region after the other, each in C order, with numbers in the byte order of this machine.
    pub data: &'a mut [u8],
}

/// A request, of which the regions and the memory may be an error of this rank.
pub(crate) struct Wanted<'a> {
    pub dataset: &'a Dataset,
    pub record: i64,
    pub mine: Result<(&'a [Region], &'a mut [u8])>,
}

impl Wanted<'_> {
    /// An error unless this dataset has the type and the shape that are wanted.
    fn check(&self, found: &Dataset) -> Result<()> {
        let Dataset { name, data_type, shape, .. } = self.dataset;
        if (found.data_type, &found.shape) == (*data_type, shape) {
            return Ok(());
        }
        Err(Error::argument(format!(
            "dataset \"{name}\": found {} of the shape {:?}, expected {data_type} of the shape {shape:?}",
            found.data_type, found.shape
        )))
    }
}

impl ReaderState {
    /// Goes to the dataset of this name; whether there is one.
    fn find_dataset(&mut self, name: &str, record: i64) -> Result<bool, Failure> {
        let Some(has_before) = self.find_pair(name.as_bytes(), record)? else { return Ok(false) };
        if has_before && self.going_back(Self::read_metadata)? {
            return Ok(true);
        }
        let what = format!("section \"{name}\": found no metadata before it, expected those of a dataset");
        Err(Error::new(ErrorKind::Format, what).at(self.position).into())
    }

    /// See [`Reader::read_datasets`].
    pub(crate) fn read_datasets(&mut self, all: Vec<Wanted<'_>>) -> Result<(), Failure> {
        self.team.note_call(Function::ReadDatasets);
        self.team.note(Topic::Dataset, all.len() as u64);
        for wanted in all {
            let (name, record) = (&wanted.dataset.name, wanted.record);
            if !self.find_dataset(name, record)? {
                let what = format!("dataset \"{name}\": found no record {record} of it, expected one");
                return Err(Error::argument(what).into());
            }
            let fits = wanted.check(self.current_dataset()?);
            self.read_dataset(fits.and(wanted.mine))?;
        }
        Ok(())
    }

    /// If this fails, the reader is where it was.
    pub(super) fn going_back<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let before = (self.position, self.expect, self.header, self.known_offset);
        let result = read(self);
        if result.is_err() {
            (self.position, self.expect, self.header, self.known_offset) = before;
        }
        result
    }

    /// An error unless the header of a section was read last, or ranges of the section.
    pub(crate) fn require_header(&self) -> Result<()> {
        match self.expect {
            Expect::Header => Err(self.out_of_order("what a section describes")),
            _ => Ok(()),
        }
    }

    /// The dataset whose data can be read.
    pub(crate) fn current_dataset(&self) -> Result<&Dataset> {
        self.expect_dataset()?;
        let current = self.dataset.as_ref().ok_or_else(|| self.out_of_order("a dataset"))?;
        Ok(&current.stored.dataset)
    }

    /// See [`Reader::read_dataset`]. The arguments may be an error of this rank.
    pub(crate) fn read_dataset(&mut self, mine: Result<(&[Region], &mut [u8])>) -> Result<(), Failure> {
        self.team.note_call(Function::ReadDataset);
        let mine =
            mine.and_then(|(regions, data)| self.alone(|state| Ok(state.read_own_dataset(regions, data)?)));
        self.team.agree(mine).map(drop)
    }

    /// Reads the metadata, and the header behind them.
    fn read_metadata(&mut self) -> Result<bool, Failure> {
        self.team.note_call(Function::Dataset);
        let (Some(header), Expect::Data(current)) = (self.header, self.expect) else { return Ok(false) };
        if !is_metadata(header.section_type, &header.user) {
            return Ok(false);
        }
        let text = self.read_text(&current)?;
        if !self.next_section(true)? {
            let what = "dataset: found the end of the file behind its metadata, expected its data";
            return Err(Error::new(ErrorKind::Format, what).at(self.position).into());
        }
        let data = self.header.ok_or_else(|| Error::new(ErrorKind::Internal, "no header was read"))?;
        let section = DataSection {
            section_type: data.section_type,
            user: &data.user,
            count: data.count,
            size: data.size,
            is_compressed: data.decoded,
        };
        let stored = Stored::new(&text, current.layout.data, section).map_err(|error| error.at(data.offset));
        self.dataset = Some(CurrentDataset { stored: Box::new(stored?), start: data.offset });
        // Nobody has to read or skip the data.
        if let Some(current) = self.expect.current_mut() {
            current.in_ranges = true;
        }
        Ok(true)
    }

    /// The text of a block of metadata, on all ranks.
    pub(super) fn read_text(&mut self, current: &Current) -> Result<Vec<u8>, Failure> {
        let mut text = Vec::new();
        self.look_if_small(current.layout)?;
        let size = current.size;
        let mine = if size > MAX_METADATA_BYTES {
            let message = format!("metadata: found {size} bytes, expected at most {MAX_METADATA_BYTES}");
            Err(Error::new(ErrorKind::Format, message).at(current.layout.data))
        } else {
            resize(&mut text, size).and_then(|()| self.read_own_block(current, &mut text))
        };
        self.team.agree(mine)?;
        self.advance(current.layout.end);
        Ok(text)
    }

    /// The section of the current dataset.
    fn expect_dataset(&self) -> Result<Current> {
        let is_current =
            |start| self.header.is_some_and(|header| header.offset == start) && start == self.position;
        match self.expect {
            Expect::Data(current)
            | Expect::VarraySizes(current)
            | Expect::VarrayData(current, _)
            | Expect::CutData(current)
                if self.dataset.as_ref().is_some_and(|dataset| is_current(dataset.start)) =>
            {
                Ok(current)
            }
            _ => Err(self.out_of_order("a dataset")),
        }
    }

    fn read_own_dataset(&mut self, regions: &[Region], data: &mut [u8]) -> Result<()> {
        let current = self.expect_dataset()?;
        // It stays, whatever happens.
        let Some(dataset) = self.dataset.take() else { return Err(self.out_of_order("a dataset")) };
        let read = self.read_regions(&current, &dataset.stored, regions, data);
        self.dataset = Some(dataset);
        read
    }

    fn read_regions(
        &mut self,
        current: &Current,
        stored: &Stored,
        regions: &[Region],
        data: &mut [u8],
    ) -> Result<()> {
        let Stored { dataset, codecs, elements, .. } = stored;
        if let Some(why) = &dataset.unsupported {
            let message =
                format!("dataset \"{}\": found {why}, which this library cannot read", dataset.name);
            return Err(Error::new(ErrorKind::Unsupported, message).at(self.position));
        }
        let item_bytes = dataset.data_type.item_bytes();
        let mut starts = Vec::new();
        reserve(&mut starts, regions.len())?;
        let mut bytes = 0;
        for region in regions {
            region.check(&dataset.shape)?;
            starts.push(bytes);
            // That of a region is bounded by that of the dataset.
            bytes = sum(bytes, region.items()? * item_bytes).ok_or_else(|| exceeds_63_bits(&[bytes]))?;
        }
        if data.len() as u64 != bytes {
            let found = data.len();
            return Err(Error::argument(format!("data: found {found} bytes, expected {bytes}")));
        }
        if *elements == Elements::Rows {
            for (region, start) in regions.iter().zip(&starts) {
                let end = start + region.items()? * item_bytes;
                let own = &mut data[to_usize(*start)..to_usize(end)];
                if current.decoded {
                    self.decode_rows(current, stored, region, own)?;
                } else {
                    self.read_rows(current, stored, region, own)?;
                }
            }
        } else {
            self.read_chunks(current, stored, &Own { regions, starts: &starts }, data)?;
        }
        if codecs.big_endian != cfg!(target_endian = "big") {
            swap(data, dataset.data_type.number_bytes());
        }
        // In memory, a bool of another value would be undefined in C++.
        if dataset.data_type == DataType::Bool
            && let Some((place, byte)) = find_other(data)
        {
            return Err(no_bool(dataset, regions, &starts, place, byte).at(self.position));
        }
        Ok(())
    }

    /// Reads a region of plain data.
    fn read_rows(
        &mut self,
        current: &Current,
        stored: &Stored,
        region: &Region,
        data: &mut [u8],
    ) -> Result<()> {
        let item_bytes = stored.dataset.data_type.item_bytes();
        let mut together = Together::default();
        let mut buffer = Vec::new();
        let first = current.layout.data;
        let zeros = vec![0; region.count.len()];
        for run in Runs::new(&region.count, (&stored.dataset.shape, &region.start), (&region.count, &zeros)) {
            let run = bytes_of(run, item_bytes);
            if !together.takes(run) {
                self.read_together(&mut together, first, &mut buffer, data)?;
            }
            together.runs.push(run);
        }
        self.read_together(&mut together, first, &mut buffer, data)
    }

    /// Reads runs that lie near each other, from an offset of the file on.
    fn read_together(
        &mut self,
        together: &mut Together,
        first: u64,
        buffer: &mut Vec<u8>,
        data: &mut [u8],
    ) -> Result<()> {
        let range = together.range();
        match together.runs.as_slice() {
            [] => {}
            [run] => self.read_own(first + run.from, &mut data[memory(*run)])?,
            runs => {
                resize(buffer, range.end - range.start)?;
                self.read_own(first + range.start, buffer)?;
                for run in runs {
                    let from = to_usize(run.from - range.start);
                    data[memory(*run)].copy_from_slice(&buffer[from..from + to_usize(run.items)]);
                }
            }
        }
        together.runs.clear();
        Ok(())
    }

    /// Reads a region of an array whose elements, the rows, are compressed.
    fn decode_rows(
        &mut self,
        current: &Current,
        stored: &Stored,
        region: &Region,
        data: &mut [u8],
    ) -> Result<()> {
        let Dataset { shape, data_type, .. } = &stored.dataset;
        let item_bytes = data_type.item_bytes();
        let (Some(&start), Some(&count)) = (region.start.first(), region.count.first()) else {
            // No dimension: one row.
            return self.decode_own(current, 0..1, Sink::Contiguous(data));
        };
        if region.items()? == 0 {
            return Ok(());
        }
        let step = (BATCH_BYTES as u64 / current.size.max(1)).clamp(1, count);
        let mut rows = Vec::new();
        let mut zeros = vec![0; shape.len()];
        let mut part = region.clone();
        let mut from = shape.clone();
        let mut done = 0;
        while done < count {
            let n = step.min(count - done);
            resize(&mut rows, n * current.size)?;
            self.decode_own(current, start + done..start + done + n, Sink::Contiguous(&mut rows))?;
            (part.start[0], part.count[0], from[0], zeros[0]) = (0, n, n, done);
            for run in Runs::new(&part.count, (&from, &part.start), (&region.count, &zeros)) {
                let run = bytes_of(run, item_bytes);
                let from = to_usize(run.from);
                data[memory(run)].copy_from_slice(&rows[from..from + to_usize(run.items)]);
            }
            done += n;
        }
        Ok(())
    }

    /// Decodes elements of a compressed array.
    fn decode_own(&mut self, current: &Current, elements: Range<u64>, data: Sink<'_>) -> Result<()> {
        let count = elements.end - elements.start;
        let part = Partition { offset: elements.start, count, total: current.count };
        self.decode_own_range(current, part, Sizes::Fixed { count, size: current.size }, data)
    }

    /// Reads the chunks that are wanted, each one once.
    fn read_chunks(
        &mut self,
        current: &Current,
        stored: &Stored,
        wanted: &Own<'_>,
        data: &mut [u8],
    ) -> Result<()> {
        let mut chunks = Chunks::new(current, stored, wanted);
        let chunk_bytes = stored.grid.chunk_bytes();
        // Streams are decompressed by all threads at once, each a chunk.
        let most = if stored.codecs.zlib.is_some() { chunks_at_once(chunk_bytes) } else { 1 };
        let threads = self.params.threads.min(most);
        let mut slots = std::mem::take(&mut self.chunk_slots);
        let mut visits = Visits::new(&stored.grid, wanted.regions)?;
        loop {
            let mut batch = Vec::new();
            while batch.len() < threads
                && let Some((chunk, region)) = visits.next()
            {
                let mut regions = vec![region];
                while visits.peek() == Some(chunk) {
                    regions.extend(visits.next().map(|(_, region)| region));
                }
                match self.locate(&mut chunks, chunk)? {
                    Some((at, bytes)) => batch.push(Present { chunk, at, bytes, regions }),
                    None => {
                        let runs = regions.iter().flat_map(|&region| wanted.runs(stored, chunk, region));
                        runs.for_each(|run| chunks.fill(&mut data[memory(run)]));
                    }
                }
            }
            while slots.len() < batch.len() {
                slots.push(Slot { decoder: ChunkDecoder::new(self.params.strict), buffer: Vec::new() });
            }
            match &*batch {
                [] => {
                    if chunk_bytes <= MOST_KEPT {
                        self.chunk_slots = slots;
                    }
                    return Ok(());
                }
                // All of a chunk in one piece is decoded where it goes.
                [one] if let Some(run) = one.in_one_piece(stored, wanted) => {
                    let decoder = &mut slots[0].decoder;
                    self.fetch(&chunks, one, decoder, &mut data[memory(run)])?;
                    chunks.decode(one, decoder, &mut data[memory(run)])?;
                    continue;
                }
                _ => {}
            }
            for (present, Slot { decoder, buffer }) in batch.iter().zip(&mut slots) {
                resize(buffer, chunk_bytes)?;
                self.fetch(&chunks, present, decoder, buffer)?;
            }
            let chunks = &chunks;
            let jobs = batch
                .iter()
                .zip(&mut slots)
                .map(|(present, Slot { decoder, buffer })| move || chunks.decode(present, decoder, buffer));
            on_threads(jobs.collect()).into_iter().collect::<Result<()>>()?;
            for (present, Slot { buffer, .. }) in batch.iter().zip(&slots) {
                for run in
                    present.regions.iter().flat_map(|&region| wanted.runs(stored, present.chunk, region))
                {
                    let from = to_usize(run.from);
                    data[memory(run)].copy_from_slice(&buffer[from..from + to_usize(run.items)]);
                }
            }
        }
    }

    /// Where a chunk is, and how many bytes the file has for it; `None` if it has none. So many bytes can be a chunk.
    fn locate(&mut self, chunks: &mut Chunks<'_>, chunk: u64) -> Result<Option<(u64, u64)>> {
        let (current, chunk_bytes) = (chunks.current, chunks.stored.grid.chunk_bytes());
        let (at, bytes) = match (chunks.stored.elements, current.decoded) {
            (Elements::Rows | Elements::Chunks, false) => {
                (current.layout.data + chunk * chunk_bytes, chunk_bytes)
            }
            (Elements::Rows | Elements::Chunks, true) => return Ok(Some((current.layout.data, chunk_bytes))),
            (Elements::Streams, false) => self.locate_stream(chunks, chunk)?,
            (Elements::Streams, true) => {
                let mut bytes = 0;
                let part = Partition { offset: chunk, count: 1, total: current.count };
                self.read_own_sizes(&current, part, |_, size| bytes = size)?;
                (current.layout.data, bytes)
            }
        };
        let is_chunk = match chunks.stored.codecs.zlib {
            Some(_) => can_expand(bytes, chunk_bytes) && bytes <= max_encoded_bytes(chunk_bytes),
            None => bytes == chunk_bytes,
        };
        if bytes == 0 {
            return Ok(None);
        }
        if !is_chunk {
            let message = format!("found {bytes} bytes, which cannot be a chunk of {chunk_bytes}");
            return Err(chunks.damaged(chunk, at, &message));
        }
        Ok(Some((at, bytes)))
    }

    /// Where an element of a plain varray is, and its bytes.
    fn locate_stream(&mut self, chunks: &mut Chunks<'_>, chunk: u64) -> Result<(u64, u64)> {
        let known = |chunks: &Chunks<'_>| {
            let index = to_usize(chunk.checked_sub(chunks.first)?);
            let (at, end) = (*chunks.ends.get(index)?, *chunks.ends.get(index + 1)?);
            Some((at, end - at))
        };
        if let Some(found) = known(chunks) {
            return Ok(found);
        }
        let current = chunks.current;
        let count = (chunks.last + 1 - chunk).min(MOST_SIZES);
        let mut end = self.element_offset(&current, chunk)?;
        let ends = &mut chunks.ends;
        ends.clear();
        ends.push(end);
        self.read_own_entries(
            current.layout.entries + chunk * COUNT_BYTES as u64,
            count,
            b'E',
            |_, size| {
                end = sum(end, size).ok_or_else(|| exceeds_63_bits(&[end, size]))?;
                ends.push(end);
                Ok(())
            },
        )?;
        self.check_end("varray", current.layout.start, end)?;
        self.went_to(chunk + count, end);
        chunks.first = chunk;
        known(chunks).ok_or_else(|| Error::new(ErrorKind::Internal, "a chunk is not where it was found"))
    }

    /// Reads a chunk: a stream for its decoder, else all of it into memory of its size.
    fn fetch(
        &mut self,
        chunks: &Chunks<'_>,
        &Present { chunk, at, bytes, .. }: &Present,
        decoder: &mut ChunkDecoder,
        out: &mut [u8],
    ) -> Result<()> {
        let current = chunks.current;
        let part = Partition { offset: chunk, count: 1, total: current.count };
        let mut read = |memory: &mut [u8]| match current.decoded {
            true => {
                let size = [memory.len() as u64];
                self.decode_own_range(&current, part, Sizes::Each(&size), Sink::Contiguous(memory))
            }
            false => self.read_own(at, memory),
        };
        match chunks.stored.codecs {
            Codecs { zlib: Some(_), .. } => read(decoder.stream(bytes)?),
            Codecs { shuffle, .. } => decoder.unshuffle(shuffle, out, read),
        }
    }
}

/// A chunk that the file has, where, and for which regions it is read.
struct Present {
    chunk: u64,
    at: u64,
    bytes: u64,
    regions: Vec<usize>,
}

impl Present {
    /// Where all of the chunk goes to in one piece, if it does.
    fn in_one_piece(&self, stored: &Stored, wanted: &Own<'_>) -> Option<Run> {
        let [region] = self.regions[..] else { return None };
        let run = wanted.runs(stored, self.chunk, region).next();
        run.filter(|run| run.items == stored.grid.chunk_bytes())
    }
}

/// What a thread needs for a chunk.
pub(super) struct Slot {
    decoder: ChunkDecoder,
    buffer: Vec<u8>,
}

/// What a rank reads of the data: regions, and where each begins in memory.
struct Own<'a> {
    regions: &'a [Region],
    starts: &'a [u64],
}

impl Own<'_> {
    /// The runs of bytes that a region has of a chunk: from the chunk to memory.
    fn runs(&self, stored: &Stored, chunk: u64, index: usize) -> impl Iterator<Item = Run> + use<> {
        let (region, start) = (&self.regions[index], self.starts[index]);
        let item_bytes = stored.dataset.data_type.item_bytes();
        let own = stored.grid.region_of(chunk);
        let both = own.intersection(region).unwrap_or_default();
        let within = |region: &Region| -> Vec<u64> {
            both.start.iter().zip(&region.start).map(|(inner, outer)| inner - outer).collect()
        };
        let from = (stored.grid.chunk_shape(), &*within(&own));
        let runs = Runs::new(&both.count, from, (&region.count, &within(region)));
        runs.map(move |run| {
            let run = bytes_of(run, item_bytes);
            Run { to: start + run.to, ..run }
        })
    }
}

/// The chunks of a dataset, as they are read.
struct Chunks<'a> {
    current: Current,
    stored: &'a Stored,
    /// The last one that is wanted.
    last: u64,
    /// The first one whose place is known; where it begins, and where each one from there on ends.
    first: u64,
    ends: Vec<u64>,
    /// The fill value in the byte order of the file.
    fill: Vec<u8>,
}

impl<'a> Chunks<'a> {
    fn new(current: &Current, stored: &'a Stored, wanted: &Own<'_>) -> Self {
        let mut fill = stored.dataset.fill_item().into_owned();
        if stored.codecs.big_endian {
            swap(&mut fill, stored.dataset.data_type.number_bytes());
        }
        let last = wanted.regions.iter().filter_map(|region| {
            let touched = stored.grid.touched_by(region);
            touched.nth(touched.count().checked_sub(1)?)
        });
        let last = last.max().unwrap_or(0);
        Self { current: *current, stored, last, first: 0, ends: Vec::new(), fill }
    }

    /// Decompresses a chunk that was read.
    fn decode(&self, present: &Present, decoder: &mut ChunkDecoder, out: &mut [u8]) -> Result<()> {
        let codecs = self.stored.codecs;
        if codecs.zlib.is_none() {
            return Ok(());
        }
        let inflated = decoder.inflate(present.bytes, codecs.shuffle, out);
        inflated.map_err(|error| match error.kind() {
            ErrorKind::Decode => self.damaged(present.chunk, present.at, &error.to_string()),
            _ => error,
        })
    }

    /// Items of the fill value.
    fn fill(&self, out: &mut [u8]) {
        match self.fill.as_slice() {
            [first, others @ ..] if others.iter().all(|byte| byte == first) => out.fill(*first),
            fill => out.chunks_exact_mut(fill.len()).for_each(|item| item.copy_from_slice(fill)),
        }
    }

    #[cold]
    fn damaged(&self, chunk: u64, at: u64, what: &str) -> Error {
        let name = &self.stored.dataset.name;
        Error::new(ErrorKind::Decode, format!("dataset \"{name}\": chunk {chunk}: {what}")).at(at)
    }
}

/// A byte that is no bool, at this place of what was read.
#[cold]
fn no_bool(dataset: &Dataset, regions: &[Region], starts: &[u64], place: usize, byte: u8) -> Error {
    let region = starts.partition_point(|&start| start <= place as u64).saturating_sub(1);
    let mut rest = place as u64 - starts[region];
    let mut index = regions[region].start.clone();
    for (index, &count) in index.iter_mut().zip(&regions[region].count).rev() {
        *index += rest % count;
        rest /= count;
    }
    let name = &dataset.name;
    Error::new(
        ErrorKind::Decode,
        format!("dataset \"{name}\": item {index:?}: found the bool {byte}, expected 0 or 1"),
    )
}

/// A run of items as one of bytes.
fn bytes_of(run: Run, item_bytes: u64) -> Run {
    Run { from: run.from * item_bytes, to: run.to * item_bytes, items: run.items * item_bytes }
}

/// Where a run of bytes is in memory, which has it.
fn memory(run: Run) -> Range<usize> {
    to_usize(run.to)..to_usize(run.to + run.items)
}

/// Runs of bytes in the order of the file, which are read together.
#[derive(Default)]
struct Together {
    runs: Vec<Run>,
}

impl Together {
    /// From the first byte to the last.
    fn range(&self) -> Range<u64> {
        let start = self.runs.first().map_or(0, |run| run.from);
        start..self.runs.last().map_or(0, |run| run.from + run.items)
    }

    /// Whether a run is to be read with these.
    fn takes(&self, run: Run) -> bool {
        let range = self.range();
        self.runs.is_empty()
            || self.runs.len() < MOST_RUNS
                && run.items <= NEAR_BYTES
                && self.runs[0].items <= NEAR_BYTES
                && run.from - range.end <= NEAR_BYTES
                && run.from + run.items - range.start <= BATCH_BYTES as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_are_decompressed_at_once_have_bounded_bytes() {
        for (bytes, chunks) in [
            (1, 1),
            ((1 << 17) - 1, 1),
            (1 << 17, 8192),
            ((1 << 20) + 1, 1023),
            (1 << 29, 2),
            ((1 << 29) + 1, 1),
            (1 << 31, 1),
            (u64::MAX, 1),
        ] {
            assert_eq!(chunks_at_once(bytes), chunks, "{bytes}");
        }
    }
}
