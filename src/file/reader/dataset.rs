//! Datasets: their metadata, and any regions of their data on any rank.

use super::chunks::{Chunks, Want, Wants};
use super::header::exceeds_63_bits;
use super::room::Room;
use super::{Current, Expect, Reader, ReaderState};
use crate::codec::chunk::swap_items;
use crate::error::{Error, ErrorKind, Result};
use crate::file::team::{Failure, Function, Topic, split};
use crate::format::dataset::bools::{find_other_item, has_bools};
use crate::format::dataset::stored::{DataSection, Elements, Stored, is_metadata};
use crate::format::dataset::{Dataset, MAX_METADATA_BYTES, Region, Run, Runs, does_not_fit, stored_name};
use crate::format::layout::sum;
use crate::items::DataMut;
use crate::memory::{reserve, resize};

/// The dataset whose data can be read.
pub(super) struct CurrentDataset {
    pub stored: Box<Stored>,
    /// Where the section of its data begins.
    pub start: u64,
}

/// A dataset that was found, and the section of its data.
pub(super) struct Found {
    pub dataset: CurrentDataset,
    pub current: Current,
}

impl Reader {
    /// The dataset whose data can be read, if there is one.
    pub(crate) fn current_dataset(&self) -> Option<&Dataset> {
        self.session.state()?.current_dataset().ok()
    }

    /// The dataset of this name, whose data can then be read by [`Self::read_dataset`]. The name may be one of more than 58 bytes, under
    /// which `scda import` and Python write (docs/datasets.md). The `record` is 0 for the first dataset of
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
    /// region after the other, each in C order, or each as it is to lie in memory ([`MemoryMut`](crate::MemoryMut)), with numbers in the
    /// byte order of this machine. The section goes on: other regions can be read, until the next header is.
    ///
    /// Each rank reads and decompresses the chunks that its regions touch, each one once, chunks of
    /// 128 KiB and more on [`Params::threads`](crate::Params::threads) threads, all others one after the other. Besides `data` it needs memory for three chunks a thread.
    /// If several ranks of a node want a chunk, one of them decompresses it for all, unless the chunk has more than 1 MiB or the dataset less;
    /// for that they share 2 MiB for each thread of each of them.
    ///
    /// # Errors
    /// `Usage` if there is no current dataset, `Argument` for regions that do not lie in it or memory of another size,
    /// `Unsupported` for what [`Dataset::unsupported`] says, `Decode` for a damaged chunk or a bool that is neither 0 nor 1, and
    /// those of [`Self::read_varray_range`]. An error of one rank is an error of all.
    pub fn read_dataset<'a>(&mut self, regions: &'a [Region], data: impl Into<DataMut<'a>>) -> Result<()> {
        self.read(|state| state.read_dataset(Ok((regions, data.into()))))
    }

    /// Whether the file has no chunk of the current dataset that a region of this rank touches, so that all items there have the fill
    /// value. No data are read.
    ///
    /// # Errors
    /// Those of [`Self::read_dataset`].
    pub fn is_fill(&mut self, region: &Region) -> Result<bool> {
        self.read(|state| state.is_fill(region))
    }

    /// Finds datasets by their names, and reads regions of each, as [`Self::find_dataset`] and [`Self::read_dataset`] do one after the
    /// other. The last one is then the current dataset. All ranks request the same datasets in the same order, each its own regions.
    ///
    /// The chunks of all these datasets are read as those of one: where several ranks of a node want the same chunks, and each dataset has
    /// few of them, all ranks decompress.
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
    /// let requests = requests.map(|(dataset, data)| Request { dataset, record: 0, regions: &row, data: data.into() });
    /// file.read_datasets(requests.collect())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` for a dataset that the file does not have, or that has another type or shape there; those of [`Self::find_dataset`]
    /// and of [`Self::read_dataset`].
    pub fn read_datasets(&mut self, requests: Vec<Request<'_>>) -> Result<()> {
        let wanted = requests.into_iter().map(|Request { dataset, record, regions, data }| Wanted {
            dataset,
            record,
            mine: Ok((regions, data)),
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
    /// Gets one region after the other, with numbers in the byte order of this machine.
    pub data: DataMut<'a>,
}

/// The regions that this rank reads, and the memory for them.
pub(crate) type BoxesMut<'a> = (&'a [Region], DataMut<'a>);

/// A request, of which the regions and the memory may be an error of this rank.
pub(crate) struct Wanted<'a> {
    pub dataset: &'a Dataset,
    pub record: i64,
    pub mine: Result<BoxesMut<'a>>,
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
        let Some(has_before) = self.find_pair(stored_name(name).as_bytes(), record)? else {
            return Ok(false);
        };
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
        let (mut found, mut mine) = (Vec::new(), Vec::new());
        for wanted in all {
            let (name, record) = (&wanted.dataset.name, wanted.record);
            if !self.find_dataset(name, record)? {
                let what = format!("dataset \"{name}\": found no record {record} of it, expected one");
                return Err(Error::argument(what).into());
            }
            let one = self.take_found()?;
            mine.push(wanted.check(&one.dataset.stored.dataset).and(wanted.mine));
            found.push(one);
        }
        self.read_found(&found, mine)?;
        // The last one stays the current dataset; without any, the one before does.
        if let Some(last) = found.pop() {
            self.dataset = Some(last.dataset);
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
    pub(crate) fn read_dataset(&mut self, mine: Result<BoxesMut<'_>>) -> Result<(), Failure> {
        self.team.note_call(Function::ReadDataset);
        let found = [self.take_found()?];
        let read = self.read_found(&found, vec![mine]);
        // It stays, whatever happens.
        self.dataset = Some(found).map(|[one]| one.dataset);
        read
    }

    /// See [`Reader::is_fill`].
    fn is_fill(&mut self, region: &Region) -> Result<bool, Failure> {
        self.team.note_call(Function::ReadDataset);
        let found = self.take_found()?;
        let regions = std::slice::from_ref(region);
        let is_fill = self.alone(|this| {
            let (mut part, _) = Part::of_bytes(&found, regions)?;
            if found.dataset.stored.elements == Elements::Rows {
                return Ok(region.items()? == 0);
            }
            for Want { chunk, .. } in Wants::new(&part)? {
                if this.locate(&mut part, chunk)?.is_some() {
                    return Ok(false);
                }
            }
            Ok(true)
        });
        self.dataset = Some(found.dataset);
        let (is_fill, mine) = split(is_fill);
        self.team.agree(mine)?;
        Ok(is_fill)
    }

    /// The current dataset, which the reader then does not have.
    pub(super) fn take_found(&mut self) -> Result<Found> {
        let current = self.expect_dataset()?;
        let dataset = self.dataset.take().ok_or_else(|| self.out_of_order("a dataset"))?;
        Ok(Found { dataset, current })
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
        let stored = Stored::new(&mut self.known_metadata, &text, current.layout.data, section);
        let stored = stored.map_err(|error| error.at(data.offset));
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
        let is_small = self.look_if_small(current.layout)?;
        let size = current.size;
        let mine = if size > MAX_METADATA_BYTES {
            let message = format!("metadata: found {size} bytes, expected at most {MAX_METADATA_BYTES}");
            Err(Error::new(ErrorKind::Format, message).at(current.layout.data))
        } else {
            resize(&mut text, size).and_then(|()| self.read_own_block(current, &mut text))
        };
        // What is in the window all ranks have: only memory can be lacking on one alone.
        if is_small && !current.decoded {
            mine?;
        } else {
            self.team.agree(mine)?;
        }
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

    /// Reads regions of these datasets, with the other ranks where that saves work. What this rank reads of each may be an error
    /// of it.
    fn read_found(&mut self, found: &[Found], mine: Vec<Result<BoxesMut<'_>>>) -> Result<(), Failure> {
        let (mut parts, mut data) = (Vec::new(), Vec::new());
        let mut mine = found.iter().zip(mine).try_for_each(|(found, mine)| {
            let (regions, memory) = mine?;
            let (part, room) = Part::new(found, regions, memory)?;
            parts.push(part);
            data.push(room);
            Ok(())
        });
        if self.may_share(found) {
            mine = self.apart(|this, team| this.read_with_others(team, (&mut parts, &mut data), mine))?;
        } else if mine.is_ok() {
            mine = self.alone(|this| Ok(this.read_parts(&mut parts, &mut data)?));
        }
        let mine = mine.and_then(|()| parts.iter().zip(data).try_for_each(|(part, room)| part.finish(room)));
        self.team.agree(mine).map(drop)
    }

    /// Reads what this rank wants of each dataset.
    pub(super) fn read_parts(&mut self, parts: &mut [Part<'_>], rooms: &mut [Room<'_>]) -> Result<()> {
        parts.iter_mut().zip(rooms).try_for_each(|(part, room)| self.read_part(part, room))
    }

    /// Reads what this rank wants of a dataset.
    pub(super) fn read_part(&mut self, part: &mut Part<'_>, room: &mut Room<'_>) -> Result<()> {
        match part.stored.elements {
            Elements::Rows => self.read_rows(part, room),
            _ => {
                let wants = Wants::new(part)?;
                self.read_chunks(part, wants, room)
            }
        }
    }
}

/// A dataset of which this rank reads regions.
pub(super) struct Part<'a> {
    pub current: Current,
    pub stored: &'a Stored,
    pub regions: &'a [Region],
    /// Where the section of the data begins in the file.
    start: u64,
    /// Where each region begins in memory.
    starts: Vec<u64>,
    pub chunks: Chunks,
}

impl<'a> Part<'a> {
    /// With the memory for the regions.
    ///
    /// # Errors
    /// `Unsupported`; `Argument` for regions that do not lie in the array, or memory that does not fit them; `Range`; `Memory`.
    fn new<'b>(found: &'a Found, regions: &'a [Region], memory: DataMut<'b>) -> Result<(Self, Room<'b>)> {
        let (part, bytes) = Self::of_bytes(found, regions)?;
        part.stored.dataset.require_fixed()?;
        let Stored { dataset, codecs, .. } = part.stored;
        let as_stored = (dataset.data_type, codecs.big_endian != cfg!(target_endian = "big"));
        let room = Room::new(memory, regions, &part.starts, bytes, as_stored)?;
        Ok((part, room))
    }

    /// Without memory; the bytes of all regions.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub(super) fn of_bytes(found: &'a Found, regions: &'a [Region]) -> Result<(Self, u64)> {
        let Found { dataset: CurrentDataset { stored, start }, current } = found;
        let dataset = &stored.dataset;
        if let Some(why) = &dataset.unsupported {
            let message =
                format!("dataset \"{}\": found {why}, which this library cannot read", dataset.name);
            return Err(Error::new(ErrorKind::Unsupported, message).at(*start));
        }
        let item_bytes = dataset.data_type.item_bytes();
        let mut starts = Vec::new();
        reserve(&mut starts, regions.len())?;
        let mut bytes = 0;
        for (number, region) in regions.iter().enumerate() {
            dataset.check_region(number, region)?;
            starts.push(bytes);
            // That of a region is bounded by that of the dataset.
            bytes = sum(bytes, region.items()? * item_bytes).ok_or_else(|| exceeds_63_bits(&[bytes]))?;
        }
        let chunks = Chunks::new(stored, regions);
        Ok((Self { current: *current, stored, regions, start: *start, starts, chunks }, bytes))
    }

    /// The regions, and where each is in memory.
    pub fn places(&self) -> impl Iterator<Item = (&'a Region, u64)> {
        self.regions.iter().zip(self.starts.clone())
    }

    /// The runs of bytes that a region has of a chunk: from the chunk to memory.
    pub fn runs(&self, chunk: u64, index: usize) -> impl Iterator<Item = Run> + use<> {
        let Stored { dataset, grid, .. } = self.stored;
        let (region, start) = (&self.regions[index], self.starts[index]);
        let item_bytes = dataset.data_type.item_bytes();
        let own = grid.region_of(chunk);
        let both = own.intersection(region).unwrap_or_default();
        let within = |region: &Region| -> Vec<u64> {
            both.start.iter().zip(&region.start).map(|(inner, outer)| inner - outer).collect()
        };
        let from = (grid.chunk_shape(), &*within(&own));
        let runs = Runs::new(&both.count, from, (&region.count, &within(region)));
        runs.map(move |run| bytes_of(run, item_bytes, start))
    }

    /// Turns what was read into numbers of this machine.
    fn finish(&self, mut room: Room<'_>) -> Result<()> {
        let Stored { dataset, codecs, .. } = self.stored;
        if let Some((region, item)) = room.misfit() {
            let index = self.regions[region].index_of(item);
            return Err(does_not_fit(dataset, &index).at(self.start));
        }
        let is_swapped =
            dataset.data_type.has_byte_order() && codecs.big_endian != cfg!(target_endian = "big");
        let is_bool = has_bools(dataset.data_type);
        if !is_swapped && !is_bool {
            return Ok(());
        }
        room.change(|before, data| {
            if is_swapped {
                swap_items(data, dataset.data_type);
            }
            // In memory, a bool of another value would be undefined in C++.
            if is_bool && let Some((place, byte)) = find_other_item(dataset.data_type, data) {
                let place = before + place as u64 * dataset.data_type.item_bytes();
                return Err(no_bool(dataset, self.regions, &self.starts, place, byte).at(self.start));
            }
            Ok(())
        })
    }
}

/// A byte that is no bool, in the item at this byte of what was read.
#[cold]
fn no_bool(dataset: &Dataset, regions: &[Region], starts: &[u64], place: u64, byte: u8) -> Error {
    let region = starts.partition_point(|&start| start <= place).saturating_sub(1);
    let index = regions[region].index_of((place - starts[region]) / dataset.data_type.item_bytes());
    let name = &dataset.name;
    Error::new(
        ErrorKind::Decode,
        format!("dataset \"{name}\": item {index:?}: found the bool {byte}, expected 0 or 1"),
    )
}

/// A run of items as one of bytes, which goes to a region that begins there.
pub(super) fn bytes_of(run: Run, item_bytes: u64, start: u64) -> Run {
    Run { from: run.from * item_bytes, to: start + run.to * item_bytes, items: run.items * item_bytes }
}
