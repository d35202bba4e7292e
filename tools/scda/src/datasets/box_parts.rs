//! Reads a box of a dataset part by part, in C order and bounded memory.

use crate::fail::{Fail, Result};
use scda::bindings::ReaderCalls;
use scda::{DataType, Dataset, DatasetHandle, IndexBox, Reader};
use scda_base::numbers::to_usize;
use scda_codec::texts;

/// The most bytes of a part. Chunks that are thicker than a part are decompressed for several parts, so it is not
/// small; [`OrderedItems`](super::ordered_items::OrderedItems) decompresses each chunk once.
pub const MOST_BYTES: u64 = 64 << 20;

/// The parts of a box, which are boxes themselves, in C order.
#[derive(Clone)]
pub struct BoxParts {
    region: IndexBox,
    /// The dimension that is divided: a part has one index of the dimensions before it, and all indices of the
    /// dimensions after it.
    cut: usize,
    /// The most indices of that dimension in a part, and those in a chunk.
    step: u64,
    chunk: u64,
    /// The beginning of the next part; `None` at the end.
    next: Option<Vec<u64>>,
}

impl BoxParts {
    /// The parts of a box in the dataset.
    pub fn new(dataset: &Dataset, region: IndexBox) -> Self {
        Self::of_bytes(dataset, region, MOST_BYTES)
    }

    fn of_bytes(dataset: &Dataset, region: IndexBox, most: u64) -> Self {
        Self::cut(region, about_item_bytes(dataset.data_type), &dataset.chunk_shape(), most)
    }

    /// Divides the chunks of a dataset into boxes of the grid of chunks.
    pub fn of_grid(counts: &[u64], chunk_bytes: u64, most: u64) -> Self {
        Self::cut(IndexBox::all(counts), chunk_bytes, &vec![1; counts.len()], most)
    }

    /// Parts of at most this many bytes, which end at the ends of chunks if these are thin enough.
    pub fn cut(region: IndexBox, item_bytes: u64, chunk: &[u64], most: u64) -> Self {
        let dimensions = region.count.len();
        let mut inner = item_bytes;
        let mut cut = dimensions.saturating_sub(1);
        for dimension in (0..dimensions.saturating_sub(1)).rev() {
            let more = inner.saturating_mul(region.count[dimension + 1]);
            if more > most {
                break;
            }
            (inner, cut) = (more, dimension);
        }
        let chunk = chunk.get(cut).copied().unwrap_or(1);
        let next = (!region.count.contains(&0)).then(|| region.start.clone());
        Self { region, cut, step: (most / inner.max(1)).max(1), chunk, next }
    }
}

impl Iterator for BoxParts {
    type Item = IndexBox;

    fn next(&mut self) -> Option<IndexBox> {
        let start = self.next.take()?;
        let IndexBox { start: first, count } = &self.region;
        let mut slab = IndexBox::new(start.clone(), count.clone());
        if count.is_empty() {
            return Some(slab);
        }
        slab.count[..self.cut].fill(1);
        let at = start[self.cut];
        let end = first[self.cut] + count[self.cut];
        // At the end of a chunk, if that is after the beginning of this part.
        let stop = at.saturating_add(self.step).min(end);
        let whole = stop / self.chunk * self.chunk;
        let stop = if stop < end && whole > at { whole } else { stop };
        slab.count[self.cut] = stop - at;
        // The next part begins after this one, or with the next index of an earlier dimension.
        let mut next = start;
        next[self.cut] = stop;
        for dimension in (0..=self.cut).rev() {
            if next[dimension] < first[dimension] + count[dimension] {
                self.next = Some(next);
                break;
            }
            next[dimension] = first[dimension];
            if let Some(before) = dimension.checked_sub(1) {
                next[before] += 1;
            }
        }
        Some(slab)
    }
}

/// The number of items of a box in a dataset.
pub fn items(region: &IndexBox) -> u64 {
    region.items().unwrap_or(0)
}

/// Divides the chunks of a part that ends with chunks into boxes of items with at most `most` bytes, unless
/// one chunk has more.
pub fn of_chunks(
    part: &IndexBox,
    chunk: &[u64],
    item_bytes: u64,
    most: u64,
) -> impl Iterator<Item = IndexBox> {
    let counts: Vec<u64> = part.count.iter().zip(chunk).map(|(n, chunk)| n.div_ceil(*chunk)).collect();
    let chunk_bytes = chunk.iter().product::<u64>().saturating_mul(item_bytes);
    BoxParts::of_grid(&counts, chunk_bytes, most).map(move |slab| of_slab(&slab, chunk, part))
}

/// The items of a box of the grid of chunks, as far as they are in this part.
pub fn of_slab(slab: &IndexBox, chunk: &[u64], part: &IndexBox) -> IndexBox {
    let mut region = IndexBox::default();
    for (dimension, &chunk) in chunk.iter().enumerate() {
        let start = slab.start[dimension] * chunk;
        region.start.push(part.start[dimension] + start);
        region.count.push((slab.count[dimension] * chunk).min(part.count[dimension] - start));
    }
    region
}

/// The size of an item in bytes; for variable length, an estimate.
pub fn about_item_bytes(data_type: DataType) -> u64 {
    if data_type.is_variable() { 256 } else { data_type.item_bytes() }
}

/// An item with the fill value, in the form in which [`read`] returns items, in little-endian byte order.
pub fn fill_item(dataset: &Dataset) -> Vec<u8> {
    let item = dataset.fill_item().into_owned();
    match dataset.data_type.is_variable() {
        true => [&item.len().to_le_bytes()[..4], &item].concat(),
        false => item,
    }
}

/// Iterates over the items that were read.
pub fn each_item(data_type: DataType, data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let size = to_usize(data_type.item_bytes());
    let mut rest = data;
    std::iter::from_fn(move || {
        let first = rest.get(..size)?;
        let length = first.first_chunk().filter(|_| data_type.is_variable());
        let item = match length {
            Some(length) => {
                rest = &rest[size..];
                rest.get(..to_usize(u32::from_le_bytes(*length).into()))?
            }
            None => first,
        };
        rest = &rest[item.len()..];
        Some(item)
    })
}

/// The purpose of the memory.
pub const PART: &str = "a part of a dataset";

/// Makes room for `bytes` bytes.
fn reserve(data: &mut Vec<u8>, bytes: usize) -> Result<()> {
    let room = data.try_reserve_exact(bytes.saturating_sub(data.len()));
    room.map_err(|_| Fail::Trouble(format!("not enough memory: cannot allocate {bytes} bytes for {PART}")))
}

/// Resizes a buffer for this purpose; its contents are arbitrary.
pub fn resize(data: &mut Vec<u8>, bytes: usize, purpose: &str) -> Result<()> {
    if bytes > data.capacity() {
        *data = Vec::new();
        if data.try_reserve_exact(bytes).is_err() {
            return Err(Fail::Trouble(format!(
                "not enough memory: cannot allocate {bytes} bytes for {purpose}"
            )));
        }
        // Frees the buffer and allocates zeros, which the system provides when they are touched: so a damaged size
        // takes no memory.
        *data = Vec::new();
        *data = vec![0; bytes];
    }
    data.resize(bytes, 0);
    Ok(())
}

/// Reads a box of a dataset. Items of variable length follow their lengths, each of 32 bits, the lowest byte first.
pub fn read(
    reader: &mut Reader,
    dataset: &DatasetHandle,
    region: &IndexBox,
    data: &mut Vec<u8>,
) -> Result<()> {
    read_all(reader, dataset, std::slice::from_ref(region), data)
}

/// Reads boxes of a dataset.
pub fn read_all(
    reader: &mut Reader,
    dataset: &DatasetHandle,
    regions: &[IndexBox],
    data: &mut Vec<u8>,
) -> Result<()> {
    if dataset.data_type.is_variable() {
        let texts = dataset.read_texts(reader, regions)?;
        data.clear();
        reserve(data, texts.bytes().len() + 4 * texts.len())?;
        return texts.iter().try_for_each(|item| Ok(texts::put(data, item)?));
    }
    let items = regions.iter().map(items).fold(0, u64::saturating_add);
    let bytes = items.saturating_mul(dataset.data_type.item_bytes());
    reader.check_memory(bytes)?;
    if bytes > MOST_BYTES {
        // If a chunk is larger than a part, the file may have too few bytes for it: that must be an error before memory
        // is allocated for it.
        regions.iter().try_for_each(|region| dataset.is_fill(reader, region).map(drop))?;
    }
    resize(data, to_usize(bytes), PART)?;
    Ok(dataset.read(reader, regions, data)?)
}

/// The two halves of a box in C order, if it has more than one item.
pub fn halves(region: &IndexBox) -> Option<(IndexBox, IndexBox)> {
    let dimension = region.count.iter().position(|&n| n > 1)?;
    let (mut first, mut second) = (region.clone(), region.clone());
    let half = region.count[dimension] / 2;
    first.count[dimension] = half;
    second.start[dimension] += half;
    second.count[dimension] -= half;
    Some((first, second))
}

/// The index of the n-th item of a box.
pub fn index_of(region: &IndexBox, n: u64) -> Vec<u64> {
    let mut rest = n;
    let mut index = region.start.clone();
    for (index, &count) in index.iter_mut().zip(&region.count).rev() {
        *index += rest % count.max(1);
        rest /= count.max(1);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use scda::Layout;

    #[test]
    fn parts_are_all_of_the_box_in_order() {
        let shapes: [&[u64]; 7] = [&[], &[7], &[0, 3], &[4, 5], &[3, 1, 6], &[2, 3, 4, 5], &[1, 1, 9]];
        for shape in shapes {
            for chunk in [None, Some(vec![2; shape.len()]), Some(vec![3; shape.len()])] {
                let mut dataset = Dataset::new("x", DataType::Uint8, shape);
                if chunk.is_some() {
                    dataset.layout = Layout::Chunked { shape: chunk, text: false };
                }
                let all = IndexBox::all(shape);
                let inner = IndexBox::new(
                    shape.iter().map(|n| n / 3).collect::<Vec<_>>(),
                    shape.iter().map(|n| n - n / 3).collect::<Vec<_>>(),
                );
                for region in [all, inner] {
                    let indices =
                        |part: &IndexBox| (0..items(part)).map(|n| index_of(part, n)).collect::<Vec<_>>();
                    for most in 1..130 {
                        let parts: Vec<_> = BoxParts::of_bytes(&dataset, region.clone(), most).collect();
                        assert!(parts.iter().all(|part| (1..=most).contains(&items(part))));
                        let found: Vec<_> = parts.iter().flat_map(indices).collect();
                        assert_eq!(found, indices(&region), "{shape:?} {most}");
                    }
                    if let Some((first, second)) = halves(&region) {
                        assert_eq!([indices(&first), indices(&second)].concat(), indices(&region));
                    }
                }
            }
        }
    }

    #[test]
    fn items_are_found_in_what_was_read() {
        let found = |data_type, data| each_item(data_type, data).collect::<Vec<_>>();
        assert_eq!(found(DataType::Uint16, b"abcd"), [b"ab", b"cd"]);
        assert_eq!(found(DataType::String, b"\x01\0\0\0a\0\0\0\0\x02\0\0\0bc"), [&b"a"[..], b"", b"bc"]);
        assert_eq!(found(DataType::String, b"\0\0\0\0"), [b""]);
        assert!(found(DataType::Uint16, b"").is_empty() && found(DataType::String, b"").is_empty());
    }

    #[test]
    fn parts_end_with_chunks() {
        let mut dataset = Dataset::new("x", DataType::Uint8, [100, 10]);
        dataset.layout = Layout::Chunked { shape: Some(vec![8, 10]), text: false };
        let parts = BoxParts::of_bytes(&dataset, IndexBox::new([3, 0], [90, 10]), 200);
        let ends: Vec<_> = parts.map(|part| part.start[0] + part.count[0]).collect();
        assert_eq!(ends, [16, 32, 48, 64, 80, 93]);
    }
}
