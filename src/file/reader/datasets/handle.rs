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

/// Identifies a file, so that a handle cannot be used with another one: each reader has one.
#[derive(Clone, Default)]
pub(super) struct FileIdentity(Arc<()>);

impl FileIdentity {
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A dataset of a file that is open for reading, from [`Reader::dataset`], [`Reader::dataset_record`] or an [`Entry`](crate::Entry).
///
/// It is used like a [`Dataset`], and has the metadata, attributes and rows that were added later included.
/// Any number of handles may be open at once and be read in any order; no call moves the position of the
/// file. Copies are cheap, and a handle needs no closing. It does not show what is committed after it was
/// opened ([`Reader::refresh`]); a new handle does.
///
/// Its calls are collective, as those of the [`Reader`]: all ranks pass handles of the same dataset, and each
/// its own boxes.
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

    /// The dataset's description: type, shape with all rows, attributes, ...
    #[must_use]
    pub fn description(&self) -> &Dataset {
        &self.open.stored.dataset
    }

    /// Reads boxes of the dataset. Each rank chooses its own, which may overlap with those of others, or
    /// none. `data` receives one box after the other, each in C order, or each in the layout that
    /// [`MemoryMut`](crate::MemoryMut) describes, with numbers in the byte order of this machine.
    ///
    /// Each rank reads and decompresses the chunks that its boxes touch, each once: chunks of 128 KiB and
    /// more on [`Tuning::threads`](crate::Tuning::threads) threads, smaller ones one after the other. Besides
    /// `data`, it needs memory for three chunks a thread. A chunk that several ranks of a node want is
    /// decompressed by one of them for all, unless it has more than 1 MiB or the dataset has less. For that,
    /// each of these ranks shares 2 MiB for each thread, by the rank with most threads.
    ///
    /// # Errors
    /// `Argument` for boxes outside the dataset, memory of another size, or a dataset of another file;
    /// `Unsupported` for what [`Dataset::unsupported`] says; `Decode` for a damaged chunk or a bool that is
    /// neither 0 nor 1; those of [`SectionRanges::read_varray`](crate::SectionRanges::read_varray). An error
    /// of one rank is returned on all.
    pub fn read<'a>(
        &self,
        file: &mut Reader,
        regions: &'a [IndexBox],
        data: impl Into<DataMut<'a>>,
    ) -> Result<()> {
        let mine = Ok((regions, data.into()));
        file.session.operate(|state| state.datasets().read_dataset(self, mine))
    }

    /// Reads boxes of a dataset whose items have variable length, as [`Self::read`] does. The items of one
    /// box follow those of the previous one, each box in C order.
    ///
    /// Besides the items, each rank needs memory for all chunks that its boxes touch.
    ///
    /// # Errors
    /// `Argument` for a dataset of another type; `Decode` for a damaged chunk, or text that is not UTF-8;
    /// the errors of [`Self::read`].
    pub fn read_texts(&self, file: &mut Reader, regions: &[IndexBox]) -> Result<Texts> {
        file.session.operate(|state| state.datasets().read_texts(self, Ok(regions)))
    }

    /// Whether all items of the box have the fill value because the file has none of the chunks that it
    /// touches. Each rank passes its own box. Reads no data.
    ///
    /// # Errors
    /// The errors of [`Self::read`].
    pub fn is_fill(&self, file: &mut Reader, region: &IndexBox) -> Result<bool> {
        file.session.operate(|state| state.datasets().is_fill(self, region))
    }

    /// The section with its metadata, a block.
    #[must_use]
    pub fn metadata_section(&self) -> &Section {
        &self.open.metadata
    }

    /// The section with its data, without rows that were added later.
    #[must_use]
    pub fn data_section(&self) -> &Section {
        &self.open.data
    }

    /// The offset of its attributes, if they were set after it was written
    /// ([`Writer::set_attributes`](crate::Writer::set_attributes)).
    #[must_use]
    pub fn later_attributes(&self) -> Option<u64> {
        self.open.later
    }

    /// The sections with rows that were added later, in their order.
    pub fn added_rows(&self) -> impl Iterator<Item = AddedRows> {
        self.open.added.iter().map(RowSection::described)
    }

    /// This dataset with, besides its own rows, those of the pair of sections at offset `pair`, although no
    /// seal makes them valid. They must follow `before` rows, if that is given.
    ///
    /// # Errors
    /// Those of opening a dataset with these rows.
    #[doc(hidden)]
    pub fn with_unsealed_rows(&self, file: &mut Reader, pair: u64, before: Option<u64>) -> Result<Self> {
        let open = file.session.operate(|state| state.datasets().with_unsealed_rows(self, pair, before))?;
        Ok(Self::new(self.file.clone(), open))
    }

    /// Returns an error unless the dataset has the type and shape of `wanted`.
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

    /// The dataset, if it belongs to this file.
    pub(super) fn of(&self, file: &FileIdentity) -> Result<&OpenDataset> {
        if self.file.is(file) {
            return Ok(&self.open);
        }
        let words = format!("dataset \"{}\": it was opened in another file", self.description().name);
        Err(Error::argument(words))
    }
}
