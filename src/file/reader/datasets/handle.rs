//! A dataset of an open file: its metadata, and reads of any boxes of its data.

use super::AddedRows;
use super::selection::{OpenDataset, RowSection};
use crate::file::reader::{Reader, Section};
use crate::items::DataMut;
use crate::texts::Texts;
use scda_base::error::{Error, Result};
use scda_format::dataset::{Dataset, IndexBox};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Which file a dataset is of: each reader has one of its own.
#[derive(Clone, Default)]
pub(super) struct FileIdentity(Arc<()>);

impl FileIdentity {
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A dataset of a file that is open for reading, from [`Reader::dataset`], [`Reader::dataset_record`] or an [`Entry`](crate::Entry).
///
/// It has the metadata of the dataset, with the attributes and rows that were added later: a handle is used like a [`Dataset`]. Any
/// number of handles may be open at once and be read in any order; no call moves the position of the file. A copy is cheap, and a
/// handle needs no closing. What is committed after it was opened ([`Reader::refresh`]), a new handle sees.
///
/// Its calls are collective, as those of the [`Reader`]: all ranks pass a handle of the same dataset, each its own boxes.
#[derive(Clone)]
pub struct DatasetHandle {
    file: FileIdentity,
    open: Arc<OpenDataset>,
}

impl fmt::Debug for DatasetHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DatasetHandle").field(self.description()).finish()
    }
}

impl Deref for DatasetHandle {
    type Target = Dataset;

    fn deref(&self) -> &Dataset {
        self.description()
    }
}

impl DatasetHandle {
    pub(super) fn new(file: FileIdentity, open: OpenDataset) -> Self {
        Self { file, open: Arc::new(open) }
    }

    /// What the dataset is: type, shape with all of its rows, attributes, ...
    #[must_use]
    pub fn description(&self) -> &Dataset {
        &self.open.stored.dataset
    }

    /// Reads boxes of the dataset on each rank: any boxes, those of other ranks, overlapping ones, or none. `data` gets one
    /// region after the other, each in C order, or each as it is to lie in memory ([`MemoryMut`](crate::MemoryMut)), with numbers in the
    /// byte order of this machine.
    ///
    /// Each rank reads and decompresses the chunks that its boxes touch, each one once, chunks of
    /// 128 KiB and more on [`Tuning::threads`](crate::Tuning::threads) threads, all others one after the other. Besides `data` it needs memory for three chunks a thread.
    /// If several ranks of a node want a chunk, one of them decompresses it for all, unless the chunk has more than 1 MiB or the dataset less;
    /// for that each of them shares 2 MiB for each thread of the rank that has the most.
    ///
    /// # Errors
    /// `Argument` for boxes that do not lie in the dataset, memory of another size, or a dataset of another file;
    /// `Unsupported` for what [`Dataset::unsupported`] says, `Decode` for a damaged chunk or a bool that is neither 0 nor 1, and
    /// those of [`SectionRanges::read_varray`](crate::SectionRanges::read_varray). An error of one rank is an error of all.
    pub fn read<'a>(
        &self,
        file: &mut Reader,
        regions: &'a [IndexBox],
        data: impl Into<DataMut<'a>>,
    ) -> Result<()> {
        let mine = Ok((regions, data.into()));
        file.session.operate(|state| state.datasets().read_dataset(self, mine))
    }

    /// Reads boxes of a dataset whose items are of variable length, on each rank: any boxes, as in [`Self::read`]. The items come one
    /// region after the other, each in C order.
    ///
    /// Besides them, each rank needs memory for all chunks that its boxes touch.
    ///
    /// # Errors
    /// `Argument` for a dataset of another type; `Decode` for a damaged chunk, or a text that is no UTF-8; those of [`Self::read`].
    pub fn read_texts(&self, file: &mut Reader, regions: &[IndexBox]) -> Result<Texts> {
        file.session.operate(|state| state.datasets().read_texts(self, Ok(regions)))
    }

    /// Whether the file has no chunk that a box of this rank touches, so that all items there have the fill value. No data are read.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn is_fill(&self, file: &mut Reader, region: &IndexBox) -> Result<bool> {
        file.session.operate(|state| state.datasets().is_fill(self, region))
    }

    /// The block with its metadata, as a section of the file.
    #[must_use]
    pub fn metadata_section(&self) -> &Section {
        &self.open.metadata
    }

    /// The section with its data, but for rows that were added later.
    #[must_use]
    pub fn data_section(&self) -> &Section {
        &self.open.data
    }

    /// Where in the file its attributes begin, if they were set later than it was written
    /// ([`Writer::set_attributes`](crate::Writer::set_attributes)).
    #[must_use]
    pub fn later_attributes(&self) -> Option<u64> {
        self.open.later
    }

    /// The sections with rows that were added later, in their order.
    pub fn added_rows(&self) -> impl Iterator<Item = AddedRows> {
        self.open.added.iter().map(RowSection::described)
    }

    /// This dataset with its own rows and those of the pair of sections that begins at this offset, although no seal makes them count.
    /// They must follow `before` rows, if that is known.
    ///
    /// # Errors
    /// Those of a dataset with these rows.
    #[doc(hidden)]
    pub fn with_unsealed_rows(&self, file: &mut Reader, pair: u64, before: Option<u64>) -> Result<Self> {
        let open = file.session.operate(|state| state.datasets().with_unsealed_rows(self, pair, before))?;
        Ok(Self::new(self.file.clone(), open))
    }

    /// An error unless the dataset has the type and the shape of this one.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument), naming both types and shapes.
    pub fn check_like(&self, wanted: &Dataset) -> Result<()> {
        let Dataset { name, data_type, shape, .. } = wanted;
        let found = self.description();
        if (found.data_type, &found.shape) == (*data_type, shape) {
            return Ok(());
        }
        Err(Error::argument(format!(
            "dataset \"{name}\": found {} of the shape {:?}, expected {data_type} of the shape {shape:?}",
            found.data_type, found.shape
        )))
    }

    /// The dataset, if it is of this file.
    pub(super) fn of(&self, file: &FileIdentity) -> Result<&OpenDataset> {
        if self.file.is(file) {
            return Ok(&self.open);
        }
        let words = format!("dataset \"{}\": it was opened in another file", self.description().name);
        Err(Error::argument(words))
    }
}
