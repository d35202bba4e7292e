//! Datasets: their metadata, and any regions of their data on any rank.

mod added;
mod chunk_cache;
mod chunks;
mod groups;
mod known_chunks;
mod room;
mod rows;
mod selection;
mod sharing;
mod texts;

pub(super) use self::added::AllRows;
use self::added::KnownAdditions;
use self::chunks::{ChunkMemory, Want, Wants};
use self::selection::{CurrentDataset, Destination, FoundDataset, RowSection, Selection};
use self::sharing::Sharing;
use super::alone::ReadsAlone;
use super::lookup::{Later, Lookup, LookupCache};
use super::sections::{CurrentSection, Sections};
use super::{Reader, Section};
use crate::file::params::Params;
use crate::file::team::{Failure, Function, Topic, split};
use crate::items::DataMut;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::resize;
use scda_format::dataset::parse::KnownMetadata;
use scda_format::dataset::stored::{ElementKind, Stored, is_metadata};
use scda_format::dataset::{Dataset, MAX_METADATA_BYTES, Region, stored_name};

impl Reader {
    /// The dataset whose data can be read, if there is one.
    pub(crate) fn current_dataset(&self) -> Option<&Dataset> {
        self.session.state()?.current_dataset().ok()
    }

    /// Where in the file the attributes of the dataset begin whose data can be read, if they were set later than it was written
    /// ([`Writer::set_attributes`](crate::Writer::set_attributes)). Not collective.
    #[must_use]
    pub fn later_attributes(&self) -> Option<u64> {
        self.session.state()?.datasets.later(&self.session.state()?.sections)
    }

    /// The sections with rows that were added later to the dataset whose data can be read, in their order. Not collective.
    pub fn added_rows(&self) -> impl Iterator<Item = AddedRows> {
        let state = self.session.state();
        let current = state.and_then(|state| state.datasets.current_with_section(&state.sections).ok());
        current.into_iter().flat_map(|(dataset, _)| dataset.added.iter().map(RowSection::described))
    }

    /// The dataset of this name, whose data can then be read by [`Self::read_dataset`]. The name may be one of more than 58 bytes, under
    /// which `scda import` and Python write (docs/datasets.md). The `record` is 0 for the first dataset of
    /// the name in the file, −1 for the last, as in [`Self::find`]. `None` if there is no such record.
    ///
    /// # Errors
    /// `Format` if the section of this user string is no dataset; those of [`Self::find`], [`Self::seek_section`],
    /// [`Self::next_section`] and [`Self::dataset`].
    pub fn find_dataset(&mut self, name: &str, record: i64) -> Result<Option<Dataset>> {
        let found =
            self.session.operate(|state| state.datasets().find_dataset(name, record, AllRows::Read))?;
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
        let found = self
            .session
            .operate(|state| state.datasets().going_back(|this| this.read_metadata(None, AllRows::Read)))?;
        Ok(self.current_dataset().filter(|_| found).cloned())
    }

    /// Reads regions of the current dataset on each rank: any regions, those of other ranks, overlapping ones, or none. `data` gets one
    /// region after the other, each in C order, or each as it is to lie in memory ([`MemoryMut`](crate::MemoryMut)), with numbers in the
    /// byte order of this machine. The section goes on: other regions can be read, until the next header is.
    ///
    /// Each rank reads and decompresses the chunks that its regions touch, each one once, chunks of
    /// 128 KiB and more on [`Params::threads`](crate::Params::threads) threads, all others one after the other. Besides `data` it needs memory for three chunks a thread.
    /// If several ranks of a node want a chunk, one of them decompresses it for all, unless the chunk has more than 1 MiB or the dataset less;
    /// for that each of them shares 2 MiB for each thread of the rank that has the most.
    ///
    /// # Errors
    /// `Usage` if there is no current dataset, `Argument` for regions that do not lie in it or memory of another size,
    /// `Unsupported` for what [`Dataset::unsupported`] says, `Decode` for a damaged chunk or a bool that is neither 0 nor 1, and
    /// those of [`Self::read_varray_range`]. An error of one rank is an error of all.
    pub fn read_dataset<'a>(&mut self, regions: &'a [Region], data: impl Into<DataMut<'a>>) -> Result<()> {
        self.read(|state| state.datasets().read_dataset(Ok((regions, data.into()))))
    }

    /// Whether the file has no chunk of the current dataset that a region of this rank touches, so that all items there have the fill
    /// value. No data are read.
    ///
    /// # Errors
    /// Those of [`Self::read_dataset`].
    pub fn is_fill(&mut self, region: &Region) -> Result<bool> {
        self.read(|state| state.datasets().is_fill(region))
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
        let wanted = requests.into_iter().map(|Request { dataset, record, regions, data }| OwnRequest {
            dataset,
            record,
            mine: Ok((regions, data)),
        });
        let wanted = wanted.collect();
        self.read(|state| state.datasets().read_datasets(wanted))
    }
}

/// A section with rows that were added to a dataset ([`Dataset::extends`]).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AddedRows {
    /// Where its metadata begin in the file.
    pub metadata: u64,
    /// Where the section itself begins.
    pub data: u64,
    /// How many rows the dataset has before these.
    pub first: u64,
    /// These rows as if they were a dataset: their number, how they lie in the file.
    pub dataset: Dataset,
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
pub type BoxesMut<'a> = (&'a [Region], DataMut<'a>);

/// A request, of which the regions and the memory may be an error of this rank.
#[derive(Debug)]
pub struct OwnRequest<'a> {
    /// Its name, type and shape.
    pub dataset: &'a Dataset,
    /// Which of the datasets of this name.
    pub record: i64,
    /// The regions of this rank, and the memory for them.
    pub mine: Result<BoxesMut<'a>>,
}

impl OwnRequest<'_> {
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

/// What is kept of the datasets that were read.
pub(super) struct ReadCache {
    /// The dataset whose metadata were read last.
    dataset: Option<CurrentDataset>,
    known_metadata: KnownMetadata,
    rows: KnownAdditions,
    chunks: ChunkMemory,
    /// Whether the ranks of a node decompress chunks for one another.
    sharing: Sharing,
}

impl ReadCache {
    pub fn new(params: &Params) -> Self {
        Self {
            dataset: None,
            known_metadata: KnownMetadata::default(),
            rows: KnownAdditions::new(params),
            chunks: ChunkMemory::new(params),
            sharing: Sharing::default(),
        }
    }

    /// The dataset whose data can be read.
    pub fn current(&self, sections: &Sections) -> Result<&Dataset> {
        let (dataset, _) = self.current_with_section(sections)?;
        Ok(&dataset.stored.dataset)
    }

    /// Whether the dataset that was read last has numbers with their highest byte first in the file.
    pub fn is_big_endian(&self) -> bool {
        self.dataset.as_ref().is_some_and(|dataset| dataset.stored.codecs.big_endian)
    }

    /// Where its attributes begin, if they were set later.
    fn later(&self, sections: &Sections) -> Option<u64> {
        self.current_with_section(sections).ok()?.0.later
    }

    /// The current dataset, and the section of its data.
    fn current_with_section(&self, sections: &Sections) -> Result<(&CurrentDataset, CurrentSection)> {
        let is_next = |dataset: &&CurrentDataset| {
            let start = dataset.start;
            sections.header().is_some_and(|header| header.offset == start) && start == sections.position()
        };
        let dataset = self.dataset.as_ref().filter(is_next);
        dataset.zip(sections.current()).ok_or_else(|| sections.out_of_order("a dataset"))
    }

    /// Leaves what the ranks share as it is: giving it back takes all of them.
    pub fn leak_shared(self) {
        std::mem::forget(self.sharing);
    }
}

/// Reads datasets: their metadata, and regions of them.
pub(crate) struct DatasetReader<'a> {
    sections: &'a mut Sections,
    lookup: &'a mut LookupCache,
    cache: &'a mut ReadCache,
}

impl ReadsAlone for DatasetReader<'_> {
    fn sections(&mut self) -> &mut Sections {
        self.sections
    }
}

impl<'a> DatasetReader<'a> {
    pub(super) fn new(
        sections: &'a mut Sections,
        lookup: &'a mut LookupCache,
        cache: &'a mut ReadCache,
    ) -> Self {
        Self { sections, lookup, cache }
    }

    fn lookup(&mut self) -> Lookup<'_> {
        Lookup::new(self.sections, self.lookup)
    }
}

impl DatasetReader<'_> {
    /// Goes to the dataset of this name; whether there is one.
    pub(super) fn find_dataset(&mut self, name: &str, record: i64, rows: AllRows) -> Result<bool, Failure> {
        let Some(later) = self.lookup().find_pair(stored_name(name).as_bytes(), record, true)? else {
            return Ok(false);
        };
        if self.going_back(|this| this.read_metadata(Some(later), rows))? {
            return Ok(true);
        }
        Err(self.no_metadata(name).into())
    }

    /// The error for a section of this name that is no dataset.
    pub(super) fn no_metadata(&self, name: &str) -> Error {
        let what = format!("section \"{name}\" is not a dataset: no metadata precede it");
        Error::new(ErrorKind::Format, what).at(self.sections.position())
    }

    /// See [`Reader::read_datasets`].
    pub(crate) fn read_datasets(&mut self, all: Vec<OwnRequest<'_>>) -> Result<(), Failure> {
        self.sections.team().note_call(Function::ReadDatasets);
        self.sections.team().note(Topic::Dataset, all.len() as u64);
        let (mut found, mut mine) = (Vec::new(), Vec::new());
        for wanted in all {
            let (name, record) = (&wanted.dataset.name, wanted.record);
            if !self.find_dataset(name, record, AllRows::Read)? {
                let none = match record {
                    -1 => "of this name".to_owned(),
                    _ => format!("of this name and record {record}"),
                };
                let what = format!("dataset \"{name}\": there is none {none}");
                return Err(Error::argument(what).into());
            }
            let one = self.take_found()?;
            mine.push(wanted.check(&one.dataset.stored.dataset).and(wanted.mine));
            found.push(one);
        }
        self.read_found(&found, mine)?;
        // The last one stays the current dataset; without any, the one before does.
        if let Some(last) = found.pop() {
            self.cache.dataset = Some(last.dataset);
        }
        Ok(())
    }

    /// See [`Reader::read_dataset`]. The arguments may be an error of this rank.
    pub(crate) fn read_dataset(&mut self, mine: Result<BoxesMut<'_>>) -> Result<(), Failure> {
        self.sections.team().note_call(Function::ReadDataset);
        let found = [self.take_found()?];
        let read = self.read_found(&found, vec![mine]);
        // It stays, whatever happens.
        self.cache.dataset = Some(found).map(|[one]| one.dataset);
        read
    }

    /// See [`Reader::is_fill`].
    fn is_fill(&mut self, region: &Region) -> Result<bool, Failure> {
        self.sections.team().note_call(Function::ReadDataset);
        let found = self.take_found()?;
        let regions = std::slice::from_ref(region);
        let is_fill = self.alone(|this| {
            let (mut parts, _) = Selection::of_sections(0, &found, regions)?;
            for part in &mut parts {
                if part.stored.elements == ElementKind::Rows {
                    if part.regions.iter().any(|region| region.count.iter().all(|&count| count > 0)) {
                        return Ok(false);
                    }
                    continue;
                }
                for Want { chunk, .. } in Wants::new(part)? {
                    if this.locate(part, chunk)?.is_some() {
                        return Ok(false);
                    }
                }
            }
            Ok(true)
        });
        self.cache.dataset = Some(found.dataset);
        let (is_fill, mine) = split(is_fill);
        self.sections.team().agree(mine)?;
        Ok(is_fill)
    }

    /// The current dataset, which the reader then does not have.
    fn take_found(&mut self) -> Result<FoundDataset> {
        let (_, current) = self.cache.current_with_section(self.sections)?;
        let dataset = self.cache.dataset.take().ok_or_else(|| self.sections.out_of_order("a dataset"))?;
        Ok(FoundDataset { dataset, current })
    }

    /// Reads the metadata, and the header behind them. What was added later may be known.
    pub(super) fn read_metadata(&mut self, later: Option<Later>, rows: AllRows) -> Result<bool, Failure> {
        self.sections.team().note_call(Function::Dataset);
        let (Some(header), Some(current)) = (self.sections.header(), self.sections.current_data()) else {
            return Ok(false);
        };
        if !is_metadata(header.section_type, &header.user) {
            return Ok(false);
        }
        let text = self.read_text(&current)?;
        let data = self.read_data_header("dataset")?;
        let start = data.offset;
        let stored = Stored::new(&mut self.cache.known_metadata, &text, current.layout.data, data.section());
        let mut stored = Box::new(stored.map_err(|error| error.at(start))?);
        let added = match later {
            Some(added) => added,
            None => self.lookup().later(start, &data.user)?,
        };
        self.lookup().note_later(start, added);
        let later = self.take_attributes(&mut stored.dataset, (start, &data.user), added.attributes)?;
        let added = self.take_rows(&mut stored, start, added.rows, rows)?;
        self.cache.dataset = Some(CurrentDataset { stored, start, later, added });
        // Nobody has to read or skip the data.
        self.sections.let_go_on();
        Ok(true)
    }

    /// Reads the header of the section of data behind metadata.
    fn read_data_header(&mut self, what: &str) -> Result<Section, Failure> {
        if !self.lookup().next_section(true)? {
            let what = format!("{what}: the file ends behind its metadata, without its data");
            return Err(Error::new(ErrorKind::Format, what).at(self.sections.position()).into());
        }
        let header = self.sections.header().copied();
        Ok(header.ok_or_else(|| Error::new(ErrorKind::Internal, "no header was read"))?)
    }

    /// The text of a block of metadata, on all ranks.
    pub(super) fn read_text(&mut self, current: &CurrentSection) -> Result<Vec<u8>, Failure> {
        let mut text = Vec::new();
        let is_small = self.sections.look_if_small(current.layout)?;
        let size = current.size;
        let mine = if size > MAX_METADATA_BYTES {
            let message = format!("metadata: found {size} bytes, expected at most {MAX_METADATA_BYTES}");
            Err(Error::new(ErrorKind::Format, message).at(current.layout.data))
        } else {
            resize(&mut text, size).and_then(|()| self.sections.read_own_block(current, &mut text))
        };
        // What is in the window all ranks have: only memory can be lacking on one alone.
        if is_small && !current.decoded {
            mine?;
        } else {
            self.sections.team().agree(mine)?;
        }
        self.sections.advance(current.layout.end);
        Ok(text)
    }

    /// Reads regions of these datasets, with the other ranks where that saves work. What this rank reads of each may be an error
    /// of it.
    fn read_found(&mut self, found: &[FoundDataset], mine: Vec<Result<BoxesMut<'_>>>) -> Result<(), Failure> {
        let (mut parts, mut targets) = (Vec::new(), Vec::new());
        let limits = &self.sections.params().limits;
        let mut mine = found.iter().zip(mine).enumerate().try_for_each(|(number, (found, mine))| {
            let (target, selections) = Destination::new(number, found, mine?, limits)?;
            parts.extend(selections);
            targets.push(target);
            Ok(())
        });
        if self.may_share(found) {
            mine = self.apart(|this, team| this.read_with_others(team, (&mut parts, &mut targets), mine))?;
        } else if mine.is_ok() {
            mine = self.alone(|this| Ok(this.read_parts(&mut parts, &mut targets)?));
        }
        let mine = mine.and_then(|()| targets.into_iter().try_for_each(Destination::finish));
        self.sections.team().agree(mine).map(drop)
    }

    /// Reads what this rank wants of each section.
    fn read_parts(&mut self, parts: &mut [Selection<'_>], targets: &mut [Destination<'_, '_>]) -> Result<()> {
        let mut done = 0;
        while done < parts.len() {
            let parts = &mut parts[done..];
            let scattered = parts.iter().take_while(|part| part.is_scattered(&targets[part.number].room));
            match scattered.count() {
                0 => {
                    self.read_part(&mut parts[0], targets)?;
                    done += 1;
                }
                count => {
                    self.read_in_turns(&parts[..count], targets)?;
                    done += count;
                }
            }
        }
        Ok(())
    }

    /// Reads what this rank wants of a section.
    fn read_part(&mut self, part: &mut Selection<'_>, targets: &mut [Destination<'_, '_>]) -> Result<()> {
        let room = &mut targets[part.number].room;
        match part.stored.elements {
            ElementKind::Rows => self.read_rows(part, room),
            _ => {
                let wants = Wants::new(part)?;
                self.read_chunks(part, wants, room)
            }
        }
    }
}
