//! The calls of a writer for datasets.

use super::Writer;
use super::datasets::Given;
use super::kinds::DataStream;
use crate::items::Data;
use crate::texts::Texts;
use scda_base::error::Result;
use scda_format::dataset::{Dataset, Region};

impl Writer {
    /// Writes a dataset: a block that says what it is, and a section with its data (docs/datasets.md). Each rank passes
    /// any boxes of the array, and their items with numbers in the byte order of the machine: in C order, those of one box after those
    /// of the other, or each box as it lies in memory ([`Memory`](crate::Memory)). What no rank passes has the fill value. The file does
    /// not depend on who passes what, nor on how it lies in memory.
    ///
    /// ```
    /// use scda::{DataType, Dataset, Params, Region, Solo, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("state.scda");
    /// let mut file = Writer::create(Solo, &path, b"my simulation", &Params::default())?;
    /// let mut density = Dataset::new("density", DataType::Float64, [2, 3]);
    /// density.attributes = r#"{"units": "kg/m^3"}"#.into();
    /// let all = [1.0, 1.1, 1.2, 2.0, 2.1, 2.2_f64].map(f64::to_ne_bytes).concat();
    /// file.dataset(&density, &[Region::all(&density.shape)], &all)?;
    /// file.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` for what cannot be a dataset, for boxes outside of the array, for an index that is in two boxes, of
    /// any ranks, and for a bool that is neither 0 nor 1; `Range`, `Usage`, `Memory`, and the errors of the file system.
    pub fn dataset<'a>(
        &mut self,
        dataset: &Dataset,
        regions: &'a [Region],
        data: impl Into<Data<'a>>,
    ) -> Result<()> {
        self.write_dataset(None, |datasets| datasets.dataset(dataset, Ok((regions, data.into()))))
    }

    /// Writes datasets, one after the other, as [`Self::dataset`] does each: the same bytes. Each is given with the boxes of this
    /// rank and their items; all ranks pass the same datasets in the same order. The chunks of several datasets in
    /// chunks, up to 16 MiB of items for each rank, are compressed together: the ranks exchange data once for all of them, and a
    /// dataset of few chunks does not make most ranks wait for the others.
    ///
    /// ```
    /// use scda::{DataType, Dataset, Layout, Params, Region, Solo, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("state.scda");
    /// let mut file = Writer::create(Solo, &path, b"my simulation", &Params::default())?;
    /// let [density, pressure] = ["density", "pressure"].map(|name| {
    ///     let mut dataset = Dataset::new(name, DataType::Float64, [100, 50]);
    ///     dataset.layout = Layout::Chunked { shape: None, text: false };
    ///     dataset
    /// });
    /// let (all, data) = ([Region::all(&[100, 50])], vec![0; 100 * 50 * 8]);
    /// file.datasets(&[(&density, &all, &data), (&pressure, &all, &data)])?;
    /// file.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Self::dataset`]. The file then ends behind one of the datasets, or with what was in it before.
    pub fn datasets<'a, D: Into<Data<'a>> + Copy>(
        &mut self,
        datasets: &[(&'a Dataset, &'a [Region], D)],
    ) -> Result<()> {
        let given = datasets.iter();
        let given =
            given.map(|&(dataset, regions, data)| Given { dataset, boxes: Ok((regions, data.into())) });
        self.given_datasets(&given.collect::<Vec<_>>())
    }

    /// As [`Self::datasets`]. The C interface calls it with boxes that may be errors of this rank.
    pub(crate) fn given_datasets(&mut self, all: &[Given<'_>]) -> Result<()> {
        self.session.operate_ahead(|state| {
            state.check_no_streams()?;
            state.datasets().datasets(all)
        })
    }

    /// Writes a dataset whose first dimension is distributed over the ranks: rank p has `counts[p]` indices of it, in the
    /// order of the ranks, and all of the other dimensions. Without chunks, the data are written straight from `data`,
    /// as [`Self::array`] does, unless they lie scattered in memory.
    ///
    /// # Errors
    /// Those of [`Self::dataset`]; `Argument` for counts whose sum is not the first dimension.
    pub fn field<'a>(&mut self, dataset: &Dataset, counts: &[u64], data: impl Into<Data<'a>>) -> Result<()> {
        self.write_dataset(None, |datasets| datasets.field(dataset, counts, Ok(data.into())))
    }

    /// As [`Self::field`], for who knows only how many indices of the first dimension this rank has: the ranks add them up, and the
    /// first number of the dataset's shape is not looked at. Many fields of one partition take less by [`Self::partition`].
    ///
    /// # Errors
    /// Those of [`Self::field`].
    pub fn own_field<'a>(&mut self, dataset: &Dataset, count: u64, data: impl Into<Data<'a>>) -> Result<()> {
        self.write_dataset(None, |datasets| datasets.own_field(dataset, count, Ok(data.into())))
    }

    /// Writes a dataset whose items are read from `data` part by part, with numbers in little-endian byte order as in the file: what
    /// [`Self::dataset`] writes. For a process that writes alone. The items come in C order; for chunks as boxes, if
    /// [`DataStream::boxes`] has them, else a layer of chunks must fit into memory.
    ///
    /// [`Layout::Auto`](crate::Layout::Auto) compresses more than 64 MiB up to twice: first to find out whether that pays.
    ///
    /// # Errors
    /// Those of [`Self::dataset`] and of [`Self::array_from`]; `Argument` for `Layout::Auto` and more than 64 MiB of data that cannot be
    /// read again.
    pub fn dataset_from(&mut self, dataset: &Dataset, data: &mut dyn DataStream) -> Result<()> {
        self.write_dataset(None, |datasets| datasets.dataset_from(dataset, data))
    }

    /// Writes a dataset of items of variable length, [`DataType::String`](crate::DataType::String) or
    /// [`DataType::VariableBytes`](crate::DataType::VariableBytes): this rank has `count` indices of the first dimension, in the order of the ranks.
    /// The ranks add them up, and the first number of the dataset's shape is not looked at.
    ///
    /// Such datasets are always in chunks, of whole indices of the first dimension; without a shape of chunks these have about 512 KiB.
    /// [`Layout::Contiguous`](crate::Layout::Contiguous) means that they are not compressed.
    ///
    /// ```
    /// use scda::{DataType, Dataset, Params, Reader, Region, Solo, Texts, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("names.scda");
    /// let mut file = Writer::create(Solo, &path, b"my simulation", &Params::default())?;
    /// let names: Texts = ["Merkur", "Vénus", "Erde"].into_iter().collect();
    /// file.texts(&Dataset::new("names", DataType::String, [3]), 3, &names)?;
    /// file.close()?;
    /// let mut file = Reader::open(Solo, &path, &Params::default())?;
    /// file.dataset_record("names", -1)?;
    /// let read = found.read_texts(&mut file, &[Region::new([1], [2])])?;
    /// assert_eq!(read.strs().collect::<Vec<_>>(), ["Vénus", "Erde"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` for another type, another number of items, what is no UTF-8, and chunks of other shapes; `Range` for a chunk that gets
    /// more than 2^31 − 1 bytes; those of [`Self::dataset`].
    pub fn texts(&mut self, dataset: &Dataset, count: u64, items: &Texts) -> Result<()> {
        self.write_dataset(None, |datasets| datasets.texts(dataset, count, Ok(items)))
    }

    /// Writes the attributes of a group of datasets, a JSON object; the path is what the names of its datasets have before
    /// a slash, or `/` for all of the file. Attributes that are written again replace the earlier ones.
    ///
    /// # Errors
    /// `Argument` for a path or attributes that no group can have, `Usage`, `Memory`, and the errors of the file
    /// system.
    pub fn group(&mut self, path: &str, attributes: &str) -> Result<()> {
        self.write_dataset(None, |datasets| datasets.group(path, attributes))
    }
}
