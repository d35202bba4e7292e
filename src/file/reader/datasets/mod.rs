//! Reads datasets: their metadata, and any boxes of their data on each rank.

mod added;
mod box_buffers;
mod boxes;
mod chunk_cache;
mod chunk_offsets;
mod chunks;
mod groups;
mod handle;
mod rows;
mod selection;
mod sharing;
mod texts;

use self::added::AdditionCache;
pub(super) use self::added::AllRows;
use self::chunks::{ChunkMemory, ChunkRequest, ChunkRequests};
pub use self::handle::DatasetHandle;
use self::handle::FileIdentity;
pub(super) use self::selection::OpenDataset;
use self::selection::Selection;
use self::sharing::Sharing;
use super::local_reader::ReadsLocally;
use super::lookup::{Later, Lookup, LookupCache};
use super::sections::{CurrentSection, SectionReader};
use super::{Reader, Section};
use crate::file::options::ReadOptions;
use crate::file::team::{Failure, Function, Topic, split};
use crate::items::DataMut;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{self, AllowanceGuard, reserve, resize};
use scda_format::dataset::parse::KnownMetadata;
use scda_format::dataset::stored_dataset::{ElementKind, StoredDataset, is_metadata};
use scda_format::dataset::{Dataset, IndexBox, MAX_METADATA_BYTES, stored_name, without_root};

impl Reader {
    /// The last dataset of this name; `None` if there is none. The position in the file does not change.
    ///
    /// ```
    /// use scda::{ReadOptions, Reader, IndexBox, Solo};
    /// # use scda::{DataType, Dataset, WriteOptions, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("state.scda");
    /// # let mut file = Writer::create(Solo, &path, b"", &WriteOptions::default())?;
    /// # for name in ["flow/density", "flow/pressure"] {
    /// #     file.dataset(&Dataset::new(name, DataType::Float32, [3, 2]), &[IndexBox::all(&[3, 2])], &[0; 24])?;
    /// # }
    /// # file.close()?;
    /// let mut file = Reader::open(Solo, &path, &ReadOptions::default())?;
    /// let pressure = file.dataset("flow/pressure")?.expect("a pressure");
    /// let density = file.dataset("flow/density")?.expect("a density");
    /// let mut row = [0; 8];
    /// pressure.read(&mut file, &[IndexBox::new([1, 0], [1, 2])], &mut row)?;
    /// density.read(&mut file, &[IndexBox::new([0, 0], [1, 2])], &mut row)?;
    /// assert_eq!((&*density.shape, density.data_type.to_string()), (&[3, 2][..], "float32".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Self::dataset_record`].
    pub fn dataset(&mut self, name: &str) -> Result<Option<DatasetHandle>> {
        self.dataset_record(name, -1)
    }

    /// The dataset of this name and record: 0 is the first of the name in the file, −1 the last, as in
    /// [`Self::find`]. `None` if there is no such record. The name may have more than 58 bytes, as those that
    /// `scda import` and Python write (docs/datasets.md). A slash may precede it. The position in the file does
    /// not change.
    ///
    /// # Errors
    /// `Format` if the section of this user string is not a dataset; `Format` and `Range` for metadata that
    /// are invalid or do not fit the section after them; `Unsupported` for an item type that is not a
    /// [`DataType`](crate::DataType); the errors of [`Self::find`], [`Self::seek_section`] and
    /// [`Self::next_section`].
    pub fn dataset_record(&mut self, name: &str, record: i64) -> Result<Option<DatasetHandle>> {
        self.session.operate(|state| {
            let mut datasets = state.datasets();
            Ok(datasets.find_dataset(name, record, AllRows::Read)?.map(|open| datasets.handle(open)))
        })
    }

    /// Reads boxes of several datasets, like one [`DatasetHandle::read`] after the other. All ranks request
    /// the same datasets in the same order, and each its own boxes.
    ///
    /// The ranks of a node divide the chunks of all datasets among them as if they were those of one dataset,
    /// so that all ranks decompress even if each dataset has few chunks.
    ///
    /// ```
    /// use scda::{ReadOptions, Reader, IndexBox, Request, Solo};
    /// # use scda::{DataType, Dataset, WriteOptions, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("state.scda");
    /// # let mut file = Writer::create(Solo, &path, b"", &WriteOptions::default())?;
    /// # let all = [IndexBox::all(&[3, 2])];
    /// # for name in ["density", "pressure"] {
    /// #     file.dataset(&Dataset::new(name, DataType::Float32, [3, 2]), &all, &[0; 24])?;
    /// # }
    /// # file.close()?;
    /// let mut file = Reader::open(Solo, &path, &ReadOptions::default())?;
    /// let mut datasets = Vec::new();
    /// for name in ["density", "pressure"] {
    ///     datasets.push(file.dataset(name)?.expect("a dataset"));
    /// }
    /// let (row, mut data) = ([IndexBox::new([1, 0], [1, 2])], [[0; 8]; 2]);
    /// let requests = datasets.iter().zip(&mut data);
    /// let requests = requests.map(|(dataset, data)| Request { dataset, regions: &row, data: data.into() });
    /// file.read_datasets(requests.collect())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`DatasetHandle::read`].
    pub fn read_datasets(&mut self, requests: Vec<Request<'_>>) -> Result<()> {
        let own = |Request { dataset, regions, data }| RankRequest { dataset, mine: Ok((regions, data)) };
        let requests = requests.into_iter().map(own).collect();
        self.session.operate(|state| state.datasets().read_datasets(requests))
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
    /// The number of rows that the dataset has before these.
    pub first: u64,
    /// These rows, described as a dataset: their number and layout.
    pub dataset: Dataset,
}

/// What [`Reader::read_datasets`] reads of a dataset.
#[derive(Debug)]
pub struct Request<'a> {
    /// The dataset.
    pub dataset: &'a DatasetHandle,
    /// The boxes that this rank reads.
    pub regions: &'a [IndexBox],
    /// Receives one box after the other, with numbers in the byte order of this machine.
    pub data: DataMut<'a>,
}

/// The boxes that this rank reads, and the memory for them.
pub type BoxesMut<'a> = (&'a [IndexBox], DataMut<'a>);

/// A request whose boxes and memory may be an error of this rank.
#[derive(Debug)]
pub struct RankRequest<'a> {
    /// The dataset.
    pub dataset: &'a DatasetHandle,
    /// The boxes of this rank, and the memory for them.
    pub mine: Result<BoxesMut<'a>>,
}

/// What the reader keeps of datasets between reads.
pub(super) struct ReadCache {
    /// The file that handles must belong to.
    file: FileIdentity,
    known_metadata: KnownMetadata,
    rows: AdditionCache,
    chunks: ChunkMemory,
    /// How the ranks of a node decompress chunks for one another.
    sharing: Sharing,
}

impl ReadCache {
    pub fn new(params: &ReadOptions) -> Self {
        Self {
            file: FileIdentity::default(),
            known_metadata: KnownMetadata::default(),
            rows: AdditionCache::new(params),
            chunks: ChunkMemory::new(params),
            sharing: Sharing::default(),
        }
    }

    /// Leaks the memory that ranks share: freeing it would be collective.
    pub fn leak_shared(self) {
        std::mem::forget(self.sharing);
    }
}

/// Reads metadata of datasets, and boxes of their data.
pub(crate) struct DatasetReader<'a> {
    pub(super) sections: &'a mut SectionReader,
    pub(super) lookup: &'a mut LookupCache,
    pub(super) cache: &'a mut ReadCache,
}

impl ReadsLocally for DatasetReader<'_> {
    fn sections(&mut self) -> &mut SectionReader {
        self.sections
    }
}

/// Reads boxes of datasets, with the chunks and memory that are kept.
struct BoxReader<'a> {
    sections: &'a mut SectionReader,
    chunks: &'a mut ChunkMemory,
    sharing: &'a mut Sharing,
}

impl ReadsLocally for BoxReader<'_> {
    fn sections(&mut self) -> &mut SectionReader {
        self.sections
    }
}

impl<'a> DatasetReader<'a> {
    fn lookup(&mut self) -> Lookup<'_> {
        Lookup { sections: self.sections, cache: self.lookup }
    }

    fn boxes(&mut self) -> BoxReader<'_> {
        BoxReader {
            sections: self.sections,
            chunks: &mut self.cache.chunks,
            sharing: &mut self.cache.sharing,
        }
    }
}

impl DatasetReader<'_> {
    /// A handle for a dataset of this file.
    pub(super) fn handle(&self, open: OpenDataset) -> DatasetHandle {
        DatasetHandle::new(self.cache.file.clone(), open)
    }

    /// The dataset of this name and record, if there is one.
    pub(super) fn find_dataset(
        &mut self,
        name: &str,
        record: i64,
        rows: AllRows,
    ) -> Result<Option<OpenDataset>, Failure> {
        self.aside(|this| {
            let user = stored_name(without_root(name));
            let Some(later) = this.lookup().find_pair(user.as_bytes(), record, true)? else {
                return Ok(None);
            };
            match this.read_metadata(Some(later), rows)? {
                None => Err(this.no_metadata(name).into()),
                open => Ok(open),
            }
        })
    }

    /// The error for a section of this name that is not a dataset.
    pub(super) fn no_metadata(&self, name: &str) -> Error {
        let what = format!("section \"{name}\" is not a dataset: no metadata precede it");
        Error::new(ErrorKind::Format, what).at(self.sections.position())
    }

    /// See [`Reader::read_datasets`].
    pub(crate) fn read_datasets(&mut self, requests: Vec<RankRequest<'_>>) -> Result<(), Failure> {
        self.team().note_call(Function::ReadDatasets);
        self.team().note_named(Topic::Dataset, &["the number"], &[requests.len() as u64]);
        let (mut all, mut mine) = (Vec::new(), Vec::new());
        reserve(&mut all, requests.len())?;
        for request in requests {
            all.push(self.use_handle(request.dataset)?);
            mine.push(request.mine);
        }
        self.boxes().read(&all, mine)
    }

    /// See [`DatasetHandle::read`]. The request may be an error of this rank.
    pub(crate) fn read_dataset(
        &mut self,
        handle: &DatasetHandle,
        mine: Result<BoxesMut<'_>>,
    ) -> Result<(), Failure> {
        self.team().note_call(Function::ReadDataset);
        let open = self.use_handle(handle)?;
        let _limited = self.limit_memory(open);
        self.boxes().read(&[open], vec![mine])
    }

    /// The dataset of a handle. All ranks must pass the same one.
    fn use_handle<'b>(&mut self, handle: &'b DatasetHandle) -> Result<&'b OpenDataset> {
        let open = handle.of(&self.cache.file)?;
        self.team().note_named(Topic::Dataset, &["the one at byte"], &[open.start()]);
        Ok(open)
    }

    /// Applies the memory limit to what follows, with errors that name the dataset's offset.
    fn limit_memory(&self, open: &OpenDataset) -> Option<AllowanceGuard> {
        memory::limited(self.sections.params().tuning.max_memory, open.start())
    }

    /// See [`DatasetHandle::is_fill`].
    fn is_fill(&mut self, handle: &DatasetHandle, region: &IndexBox) -> Result<bool, Failure> {
        self.team().note_call(Function::ReadDataset);
        let open = self.use_handle(handle)?;
        let regions = std::slice::from_ref(region);
        let is_fill = self.alone(|this| {
            let (mut parts, _) = Selection::of_sections(0, open, regions)?;
            for part in &mut parts {
                if part.stored.elements == ElementKind::Rows {
                    if part.regions.iter().any(|region| region.count.iter().all(|&count| count > 0)) {
                        return Ok(false);
                    }
                    continue;
                }
                for ChunkRequest { chunk, .. } in ChunkRequests::new(part)? {
                    if this.boxes().locate(part, chunk)?.is_some() {
                        return Ok(false);
                    }
                }
            }
            Ok(true)
        });
        let (is_fill, mine) = split(is_fill);
        self.team().agree(mine)?;
        Ok(is_fill)
    }

    /// The dataset that begins with the block whose header was just read, if that is a block of metadata.
    /// Additions may be known already.
    pub(super) fn read_metadata(
        &mut self,
        later: Option<Later>,
        rows: AllRows,
    ) -> Result<Option<OpenDataset>, Failure> {
        self.team().note_call(Function::Dataset);
        let (Some(&metadata), Some(block)) = (self.sections.header(), self.sections.cursor.current_data())
        else {
            return Ok(None);
        };
        if !is_metadata(metadata.section_type, &metadata.user) {
            return Ok(None);
        }
        let text = self.read_text(&block)?;
        let data = self.read_data_header("dataset")?;
        let start = data.offset;
        let stored =
            StoredDataset::new(&mut self.cache.known_metadata, &text, block.layout.data, data.section());
        let mut stored = stored.map_err(|error| error.at(start))?;
        let current = self.sections.cursor.current().ok_or_else(|| self.no_metadata(&stored.dataset.name))?;
        let added = match later {
            Some(added) => added,
            None => self.lookup().later(start, &data.user)?,
        };
        self.lookup().note_later(start, added);
        let later = self.take_attributes(&mut stored.dataset, (start, &data.user), added.attributes)?;
        let added = self.take_rows(&mut stored, start, added.rows, rows)?;
        Ok(Some(OpenDataset { stored, metadata, data, current, later, added }))
    }

    /// Reads the header of the data section that follows metadata.
    fn read_data_header(&mut self, what: &str) -> Result<Section, Failure> {
        if !self.lookup().next_section(true)? {
            let what = format!("{what}: the file ends after its metadata, without its data");
            return Err(Error::new(ErrorKind::Format, what).at(self.sections.position()).into());
        }
        let header = self.sections.header().copied();
        Ok(header.ok_or_else(|| Error::new(ErrorKind::Internal, "no header was read"))?)
    }

    /// Reads the text of a metadata block on all ranks.
    pub(super) fn read_text(&mut self, current: &CurrentSection) -> Result<Vec<u8>, Failure> {
        let mut text = Vec::new();
        let is_small = self.input().look_if_small(current.layout)?;
        let size = current.size;
        if size > MAX_METADATA_BYTES {
            // All ranks return it.
            let message = format!("metadata: found {size} bytes, expected at most {MAX_METADATA_BYTES}");
            return Err(Error::new(ErrorKind::Format, message).at(current.layout.data).into());
        }
        let mine = resize(&mut text, size).and_then(|()| self.input().read_own_block(current, &mut text));
        // The read-ahead buffer has the same bytes on all ranks, so only memory can be lacking on one alone.
        if is_small && !current.decoded {
            mine?;
        } else {
            self.team().agree(mine)?;
        }
        self.sections.advance(current.layout.end);
        Ok(text)
    }
}
