//! All items of a dataset in C order, part by part, in bounded memory. Each chunk is decompressed once.

use super::slabs::{self, Slabs, items, runs};
use super::{Found, to_little};
use crate::fail::{Fail, Result};
use scda::internals::to_usize;
use scda::{Layout, Reader, Region};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Goes through the items. A part of some MiB that ends with chunks is read at once. Where chunks are so thick that no such
/// part ends with them, all items of a layer of chunks go through a temporary file.
pub struct InOrder<S> {
    item_bytes: u64,
    chunk: Vec<u64>,
    /// The most bytes in memory, unless a chunk has more.
    most: u64,
    /// What comes next: parts that fit into memory, or layers that do not.
    parts: Slabs,
    are_layers: bool,
    /// Makes the temporary file.
    spool: S,
    file: Option<File>,
    /// Of the last layer: the bytes that were handed out, and all.
    used: u64,
    end: u64,
}

impl<S: FnMut() -> Result<File>> InOrder<S> {
    /// All items of this dataset. `spool` makes a temporary file, if one is needed.
    pub fn new(found: &Found, spool: S) -> Self {
        let shape = &found.dataset.shape;
        let mut chunk = vec![1; shape.len()];
        match &found.dataset.layout {
            // A row is an element, which is decompressed as a whole.
            Layout::Contiguous if found.data.decoded => {
                chunk.iter_mut().zip(shape).skip(1).for_each(|(chunk, &n)| *chunk = n);
            }
            Layout::Contiguous => {}
            // How many bytes a chunk has, its shape does not say.
            _ if found.dataset.data_type.is_variable() => {}
            _ => chunk = found.dataset.chunk_shape(),
        }
        Self::of_bytes(
            shape,
            chunk,
            slabs::about_item_bytes(found.dataset.data_type),
            slabs::MOST_BYTES,
            spool,
        )
    }

    fn of_bytes(shape: &[u64], chunk: Vec<u64>, item_bytes: u64, most: u64, spool: S) -> Self {
        let all = Region::all(shape);
        let layers = Slabs::layers(all.clone(), &chunk);
        let layer_bytes = layers.clone().next().map_or(0, |layer| items(&layer).saturating_mul(item_bytes));
        let are_layers = layer_bytes > most && chunk.iter().any(|&n| n > 1);
        let parts = if are_layers { layers } else { Slabs::cut(all, item_bytes, &chunk, most) };
        Self { item_bytes, chunk, most, parts, are_layers, spool, file: None, used: 0, end: 0 }
    }

    /// Reads the next items, in little-endian byte order, of the dataset that is the reader's current one; false at the end.
    pub fn next(&mut self, reader: &mut Reader, found: &Found, data: &mut Vec<u8>) -> Result<bool> {
        let dataset = &found.dataset;
        let read = |region: &Region, data: &mut Vec<u8>| {
            slabs::read(reader, dataset, region, data)?;
            to_little(dataset.data_type, data);
            Ok(())
        };
        self.next_by(read, data)
    }

    fn next_by(
        &mut self,
        mut read: impl FnMut(&Region, &mut Vec<u8>) -> Result<()>,
        data: &mut Vec<u8>,
    ) -> Result<bool> {
        if self.used == self.end {
            let Some(part) = self.parts.next() else { return Ok(false) };
            if !self.are_layers {
                return read(&part, data).map(|()| true);
            }
            self.put(&part, read, data)?;
        }
        let step = (self.end - self.used).min(self.most);
        slabs::resize(data, to_usize(step))?;
        if let Some(file) = &self.file {
            file.read_exact_at(data, self.used).map_err(trouble)?;
        }
        self.used += step;
        Ok(true)
    }

    /// Puts the items of a layer into the temporary file.
    fn put(
        &mut self,
        layer: &Region,
        mut read: impl FnMut(&Region, &mut Vec<u8>) -> Result<()>,
        data: &mut Vec<u8>,
    ) -> Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => (self.spool)()?,
        };
        for region in slabs::of_chunks(layer, &self.chunk, self.item_bytes, self.most) {
            read(&region, data)?;
            let mut rest = &data[..];
            for (place, count) in runs(&region, layer) {
                let (run, others) = rest.split_at(to_usize(count * self.item_bytes));
                file.write_all_at(run, place * self.item_bytes).map_err(trouble)?;
                rest = others;
            }
        }
        self.file = Some(file);
        (self.used, self.end) = (0, items(layer) * self.item_bytes);
        Ok(())
    }
}

fn trouble(error: std::io::Error) -> Fail {
    Fail::Trouble(format!("temporary file: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Reads all items; how often each chunk was touched.
    fn visits(shape: &[u64], chunk: &[u64], most: u64) -> HashMap<Vec<u64>, u64> {
        let all = Region::all(shape);
        let spool = || tempfile::tempfile().map_err(trouble);
        let mut order = InOrder::of_bytes(shape, chunk.to_vec(), 4, most, spool);
        let (mut visits, mut found, mut data) = (HashMap::new(), Vec::new(), Vec::new());
        let mut read = |region: &Region, data: &mut Vec<u8>| {
            assert!(items(region) * 4 <= most.max(chunk.iter().product::<u64>() * 4), "{region:?}");
            data.clear();
            let mut touched = std::collections::HashSet::new();
            for n in 0..items(region) {
                let index = slabs::index_of(region, n);
                let place = index.iter().zip(shape).fold(0, |place, (index, n)| place * n + index);
                data.extend(u32::try_from(place).unwrap().to_le_bytes());
                touched.insert(index.iter().zip(chunk).map(|(index, n)| index / n).collect::<Vec<_>>());
            }
            touched.into_iter().for_each(|chunk| *visits.entry(chunk).or_default() += 1);
            Ok(())
        };
        while order.next_by(&mut read, &mut data).unwrap_or_else(|_| panic!("{shape:?} {chunk:?}")) {
            assert!(!data.is_empty() && data.len() as u64 <= most.max(chunk.iter().product::<u64>() * 4));
            found.extend_from_slice(&data);
        }
        let expected = (0..items(&all)).flat_map(|n| u32::try_from(n).unwrap().to_le_bytes());
        assert!(found.iter().copied().eq(expected), "{shape:?} {chunk:?} {most}");
        visits
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
                    let count: u64 = shape.iter().zip(&chunk).map(|(n, chunk)| n.div_ceil(*chunk)).product();
                    for most in [4, 60, 200, 1000, 1 << 20] {
                        let visits = visits(shape, &chunk, most);
                        assert_eq!(visits.len() as u64, count, "{shape:?} {chunk:?} {most}");
                        assert!(visits.values().all(|&n| n == 1), "{shape:?} {chunk:?} {most}: {visits:?}");
                    }
                }
            }
        }
    }
}
