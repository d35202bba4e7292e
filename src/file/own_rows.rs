//! Reads each rank's rows of a dataset that another version of the program may have written.

use super::collective::Collective;
use super::reader::{DatasetHandle, Reader};
use crate::items::{DataMut, MemoryMut};
use scda_base::error::{Error, Result};
use scda_format::dataset::{DataType, IndexBox};
use scda_format::layout::product;
use scda_ranks::partition::Partition;

impl DatasetHandle {
    /// Reads a dataset that is distributed along its first dimension, and that another version of the program
    /// may have written.
    ///
    /// This rank gets the next `rows` rows after those of lower ranks; all ranks together get all rows. In
    /// memory, each row has `components` items of `data_type`, a number type, to which the items in the file
    /// are converted. If the dataset has at most two dimensions and another number of components, those that
    /// both have are read, and the others keep their values. Returns the number of components in the file.
    ///
    /// ```
    /// # use scda::{DataType, Dataset, IndexBox, ReadOptions, Reader, Solo, WriteOptions, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("old.scda");
    /// let mut file = Writer::create(Solo, &path, b"", &WriteOptions::default())?;
    /// let rho = Dataset::new("rho", DataType::Float32, [2]);
    /// file.dataset(&rho, &[IndexBox::all(&[2])], &[0.5_f32, 1.5].map(f32::to_ne_bytes).concat())?;
    /// file.close()?;
    ///
    /// let mut file = Reader::open(Solo, &path, &ReadOptions::default())?;
    /// let density = match file.dataset("density")? {
    ///     None => file.dataset("rho")?, // its old name
    ///     density => density,
    /// };
    /// let mut data = [1.0_f64; 4].map(f64::to_ne_bytes).concat(); // two components of each element now; the default is 1
    /// if let Some(density) = density {
    ///     assert_eq!(density.read_own_rows(&mut file, 2, DataType::Float64, 2, &mut data)?, 1);
    /// }
    /// assert_eq!(data, [0.5_f64, 1.0, 1.5, 1.0].map(f64::to_ne_bytes).concat());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` if the ranks together pass another number of rows than the dataset has, if a dataset of
    /// more than two dimensions has other components, if the type is not a number, or if `data` has another
    /// size; `Range` for a number that does not fit the type; the errors of [`Self::read`].
    pub fn read_own_rows(
        &self,
        file: &mut Reader,
        rows: u64,
        data_type: DataType,
        components: u64,
        data: &mut [u8],
    ) -> Result<u64> {
        let mut part = [Partition { count: rows, ..Partition::default() }];
        file.spread(Ok(&mut part))?;
        let part = &part[0];
        let room = product(rows, components).and_then(|items| product(items, data_type.item_bytes()));
        let stored = match room == Some(data.len() as u64) {
            true => self.components(part.total, components),
            false => Err(Error::argument(format!(
                "dataset {}: found {} bytes of data for {rows} rows of {components} components",
                self.name,
                data.len()
            ))),
        };
        let stored = file.agree_on(stored)?;
        let mut region = IndexBox::all(&self.shape);
        (region.start[0], region.count[0]) = (part.offset, part.count);
        if let [_, count] = &mut region.count[..] {
            *count = stored.min(components);
        }
        let item = data_type.item_bytes().cast_signed();
        let strides = [components.cast_signed() * item, item];
        let memory = match self.shape.len() {
            dimensions @ 1..=2 => MemoryMut::strided(data, 0, &strides[..dimensions]),
            _ => MemoryMut::packed(data),
        };
        self.read(file, &[region], DataMut::Boxes(vec![memory.of_type(data_type)]))?;
        Ok(stored)
    }

    /// The number of components in the file, after checking that these rows and components can be read.
    fn components(&self, rows: u64, components: u64) -> Result<u64> {
        let name = &self.name;
        let Some((&found, inner)) = self.shape.split_first() else {
            return Err(Error::argument(format!("dataset {name}: found no dimension, expected rows")));
        };
        if found != rows {
            let words = format!("dataset {name}: found {found} rows, expected {rows}, those of all ranks");
            return Err(Error::argument(words));
        }
        let stored = inner.iter().try_fold(1, |all, &n| product(all, n)).unwrap_or(u64::MAX);
        if components == 0 || (inner.len() > 1 && stored != components) {
            let words = format!(
                "dataset {name}: found rows of the shape {inner:?}, expected {components} components"
            );
            return Err(Error::argument(words));
        }
        Ok(stored)
    }
}
