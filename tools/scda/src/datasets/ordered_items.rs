//! Reads all items of a dataset in C order, in parts and in bounded memory. Decompresses each chunk once. Items without a chunk
//! in the file take neither memory nor time.

use super::box_parts::{self, BoxParts, items, runs};
use super::to_little;
use crate::fail::{Fail, Result};
use scda::{DatasetHandle, IndexBox, Layout, Reader};
use scda_base::numbers::to_usize;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Reads the items. A part of some MiB that ends with chunks is read at once. If chunks are so thick that no such part
/// exists, all items of a layer of chunks go through a temporary file.
pub struct OrderedItems<S> {
    item_bytes: u64,
    chunk: Vec<u64>,
    /// The most bytes in memory, unless a chunk is larger.
    most: u64,
    /// The remaining parts if they fit into memory, or else layers.
    parts: BoxParts,
    are_layers: bool,
    /// Makes the temporary file.
    spool: S,
    file: Option<File>,
    /// The bytes of the last layer that were returned, and all of its bytes.
    used: u64,
    end: u64,
    /// An item with the fill value, and how many of these [`Self::next`] still has to return.
    fill: Vec<u8>,
    fill_left: u64,
}

/// The next items of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Items that were read.
    Items,
    /// This number of items with the fill value, because the file has no chunk for them.
    Fill(u64),
}

/// The most bytes of fill values that [`OrderedItems::next`] returns at once.
const FILL_BYTES: u64 = 1 << 20;

impl<S: FnMut() -> Result<File>> OrderedItems<S> {
    /// All items of this dataset. `spool` makes a temporary file if one is needed.
    pub fn new(found: &DatasetHandle, spool: S) -> Self {
        let shape = &found.shape;
        let mut chunk = vec![1; shape.len()];
        match &found.layout {
            // A row is an element, which is decompressed as a whole.
            Layout::Contiguous if found.data_section().decoded => {
                chunk.iter_mut().zip(shape).skip(1).for_each(|(chunk, &n)| *chunk = n);
            }
            Layout::Contiguous => {}
            // The shape of a chunk does not determine its size.
            _ if found.data_type.is_variable() => {}
            _ => chunk = found.chunk_shape(),
        }
        let item_bytes = box_parts::about_item_bytes(found.data_type);
        let mut order = Self::of_bytes(shape, chunk, item_bytes, box_parts::MOST_BYTES, spool);
        order.fill = box_parts::fill_item(found);
        order
    }

    fn of_bytes(shape: &[u64], chunk: Vec<u64>, item_bytes: u64, most: u64, spool: S) -> Self {
        let all = IndexBox::all(shape);
        let layers = BoxParts::layers(all.clone(), &chunk);
        let layer_bytes = layers.clone().next().map_or(0, |layer| items(&layer).saturating_mul(item_bytes));
        let are_layers = layer_bytes > most && chunk.iter().any(|&n| n > 1);
        let parts = if are_layers { layers } else { BoxParts::cut(all, item_bytes, &chunk, most) };
        Self {
            item_bytes,
            chunk,
            most,
            parts,
            are_layers,
            spool,
            file: None,
            used: 0,
            end: 0,
            fill: Vec::new(),
            fill_left: 0,
        }
    }

    /// Reads the next items of a dataset, in little-endian byte order; returns false at the end.
    pub fn next(&mut self, reader: &mut Reader, found: &DatasetHandle, data: &mut Vec<u8>) -> Result<bool> {
        if self.fill_left == 0 {
            match self.next_part(reader, found, data)? {
                None => return Ok(false),
                Some(Part::Items) => return Ok(true),
                Some(Part::Fill(items)) => self.fill_left = items,
            }
        }
        let most = FILL_BYTES / (self.fill.len() as u64).max(1);
        let items = self.fill_left.min(most.max(1));
        self.fill_left -= items;
        box_parts::resize(data, to_usize(items) * self.fill.len(), box_parts::PART)?;
        data.chunks_exact_mut(self.fill.len().max(1)).for_each(|item| item.copy_from_slice(&self.fill));
        Ok(true)
    }

    /// Like [`Self::next`], but for items without a chunk in the file, only returns their number; `None` at the end.
    pub fn next_part(
        &mut self,
        reader: &mut Reader,
        found: &DatasetHandle,
        data: &mut Vec<u8>,
    ) -> Result<Option<Part>> {
        self.next_of(&mut StoredDataset { reader, found }, data)
    }

    fn next_of(&mut self, from: &mut impl Items, data: &mut Vec<u8>) -> Result<Option<Part>> {
        if self.used == self.end {
            let Some(part) = self.parts.next() else { return Ok(None) };
            if from.are_fill(&part)? {
                return Ok(Some(Part::Fill(items(&part))));
            }
            if !self.are_layers {
                return from.read(&part, data).map(|()| Some(Part::Items));
            }
            self.put(&part, from, data)?;
        }
        let step = (self.end - self.used).min(self.most);
        box_parts::resize(data, to_usize(step), box_parts::PART)?;
        if let Some(file) = &self.file {
            file.read_exact_at(data, self.used).map_err(trouble)?;
            self.mask(data, self.used);
        }
        self.used += step;
        Ok(Some(Part::Items))
    }

    /// Writes the items of a layer to the temporary file. Items with the fill value become holes, which take no space on the
    /// disk.
    fn put(&mut self, layer: &IndexBox, from: &mut impl Items, data: &mut Vec<u8>) -> Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => (self.spool)()?,
        };
        let end = items(layer) * self.item_bytes;
        file.set_len(0).and_then(|()| file.set_len(end)).map_err(trouble)?;
        for region in box_parts::of_chunks(layer, &self.chunk, self.item_bytes, self.most) {
            if from.are_fill(&region)? {
                continue;
            }
            from.read(&region, data)?;
            self.mask(data, 0);
            let mut rest = &data[..];
            for (place, count) in runs(&region, layer) {
                let (run, others) = rest.split_at(to_usize(count * self.item_bytes));
                file.write_all_at(run, place * self.item_bytes).map_err(trouble)?;
                rest = others;
            }
        }
        self.file = Some(file);
        (self.used, self.end) = (0, end);
        Ok(())
    }

    /// Converts items at this offset to bytes of the temporary file, or back: the fill value is exchanged for zeros.
    fn mask(&self, data: &mut [u8], at: u64) {
        if self.fill.iter().any(|&byte| byte != 0) {
            let skip = to_usize(at % self.fill.len() as u64);
            data.iter_mut().zip(self.fill.iter().cycle().skip(skip)).for_each(|(byte, fill)| *byte ^= fill);
        }
    }
}

/// A source of items.
trait Items {
    /// True if the file has nothing for a part, so that all its items have the fill value.
    fn are_fill(&mut self, part: &IndexBox) -> Result<bool>;

    /// Reads a part, in little-endian byte order.
    fn read(&mut self, part: &IndexBox, data: &mut Vec<u8>) -> Result<()>;
}

/// A dataset of a file.
struct StoredDataset<'a> {
    reader: &'a mut Reader,
    found: &'a DatasetHandle,
}

impl Items for StoredDataset<'_> {
    fn are_fill(&mut self, part: &IndexBox) -> Result<bool> {
        Ok(self.found.is_fill(self.reader, part)?)
    }

    fn read(&mut self, part: &IndexBox, data: &mut Vec<u8>) -> Result<()> {
        box_parts::read(self.reader, self.found, part, data)?;
        to_little(self.found.data_type, data);
        Ok(())
    }
}

fn trouble(error: std::io::Error) -> Fail {
    Fail::Trouble(format!("temporary file: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, HashSet};

    /// Items whose values are their places; counts how often each chunk was read. Every third chunk has the fill value.
    struct CountingReader<'a> {
        shape: &'a [u64],
        chunk: &'a [u64],
        most: u64,
        visits: HashMap<Vec<u64>, u64>,
    }

    const FILL: [u8; 4] = 0x1234_5678_u32.to_le_bytes();

    impl CountingReader<'_> {
        fn chunk_of(&self, index: &[u64]) -> Vec<u64> {
            index.iter().zip(self.chunk).map(|(index, n)| index / n).collect()
        }

        fn item(&self, index: &[u64]) -> [u8; 4] {
            let place = index.iter().zip(self.shape).fold(0, |place, (index, n)| place * n + index);
            match self.chunk_of(index).iter().sum::<u64>() % 3 {
                1 => FILL,
                _ => u32::try_from(place).unwrap().to_le_bytes(),
            }
        }

        fn all_items<'a>(&'a self, part: &'a IndexBox) -> impl Iterator<Item = [u8; 4]> + 'a {
            (0..items(part)).map(|n| self.item(&box_parts::index_of(part, n)))
        }
    }

    impl Items for CountingReader<'_> {
        fn are_fill(&mut self, part: &IndexBox) -> Result<bool> {
            Ok(self.all_items(part).all(|item| item == FILL))
        }

        fn read(&mut self, part: &IndexBox, data: &mut Vec<u8>) -> Result<()> {
            assert!(items(part) * 4 <= self.most.max(self.chunk.iter().product::<u64>() * 4), "{part:?}");
            *data = self.all_items(part).flatten().collect();
            let touched: HashSet<_> =
                (0..items(part)).map(|n| self.chunk_of(&box_parts::index_of(part, n))).collect();
            touched.into_iter().for_each(|chunk| *self.visits.entry(chunk).or_default() += 1);
            Ok(())
        }
    }

    /// Reads all items, and returns how often each chunk was read.
    fn visits(shape: &[u64], chunk: &[u64], most: u64) -> HashMap<Vec<u64>, u64> {
        let all = IndexBox::all(shape);
        let spool = || tempfile::tempfile().map_err(trouble);
        let mut order = OrderedItems::of_bytes(shape, chunk.to_vec(), 4, most, spool);
        order.fill = FILL.to_vec();
        let mut from = CountingReader { shape, chunk, most, visits: HashMap::new() };
        let (mut found, mut data) = (Vec::new(), Vec::new());
        while let Some(part) =
            order.next_of(&mut from, &mut data).unwrap_or_else(|_| panic!("{shape:?} {chunk:?}"))
        {
            match part {
                Part::Fill(items) => (0..items).for_each(|_| found.extend(FILL)),
                Part::Items => {
                    let most = most.max(chunk.iter().product::<u64>() * 4);
                    assert!(!data.is_empty() && data.len() as u64 <= most);
                    found.extend_from_slice(&data);
                }
            }
        }
        assert!(from.all_items(&all).flatten().eq(found), "{shape:?} {chunk:?} {most}");
        from.visits
    }

    #[test]
    fn each_chunk_is_read_once() {
        let shapes: [&[u64]; 6] = [&[], &[50], &[0, 4], &[9, 11], &[5, 6, 7], &[3, 4, 5, 6]];
        for shape in shapes {
            for thick in [1, 2, 3, 5] {
                let mut chunks = vec![vec![thick; shape.len()]];
                for dimension in 0..shape.len() {
                    let mut chunk = vec![thick; shape.len()];
                    chunk[dimension] = 1;
                    chunks.push(chunk);
                    let mut chunk = vec![1; shape.len()];
                    chunk[dimension] = shape[dimension].max(1);
                    chunks.push(chunk);
                }
                for chunk in chunks {
                    let grid: Vec<_> =
                        shape.iter().zip(&chunk).map(|(n, chunk)| n.div_ceil(*chunk)).collect();
                    let grid = IndexBox::all(&grid);
                    let is_stored = |n: &u64| box_parts::index_of(&grid, *n).iter().sum::<u64>() % 3 != 1;
                    let count = (0..items(&grid)).filter(is_stored).count();
                    for most in [4, 60, 200, 1000, 1 << 20] {
                        let visits = visits(shape, &chunk, most);
                        let most_chunks = visits.len() >= count && visits.len() as u64 <= items(&grid);
                        assert!(most_chunks, "{shape:?} {chunk:?} {most}");
                        assert!(visits.values().all(|&n| n == 1), "{shape:?} {chunk:?} {most}: {visits:?}");
                    }
                }
            }
        }
    }
}
