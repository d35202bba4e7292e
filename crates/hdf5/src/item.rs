//! Datasets as HDF5 sees them: the contents of the messages in their object headers.

use crate::bytes::Bytes;
use crate::chunks::{Chunk, Chunks, Entry as IndexEntry};
use crate::datatype::data_type;
use crate::message::MAX_RANK;
use crate::{BASE, filters};
use scda_base::error::{Error, Result};
use scda_base::memory::{self, reserve_count};
use scda_base::numbers::{product, sum, to_usize};
use scda_format::dataset::stored_dataset::{ElementKind, StoredDataset};
use scda_format::dataset::{DataType, Kind as TypeKind};
use std::ops::Deref;
use std::sync::Arc;

/// The largest chunk that HDF5 allows.
const MAX_CHUNK_BYTES: u64 = u32::MAX as u64;
/// The most chunks into which rows of contiguous data are divided.
const MAX_ROW_CHUNKS: u64 = 1 << 16;

/// Where the data of a dataset, or of rows added to it, are in the file.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    /// Uncompressed from this offset on: contiguous data, or consecutive chunks of equal size.
    Plain(u64),
    /// Consecutive chunks from this offset on, with these sizes: 0 if all items have the fill value.
    Chunks(u64, &'a [u64]),
    /// Compressed as text by the convention of the format.
    Text,
    /// Chunks whose places were not read; the number of stored ones.
    Unread(u64),
}

/// A dataset, or rows added to it: its description, and where its data are.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Its metadata and layout.
    pub stored: &'a StoredDataset,
    /// Where its data are.
    pub data: Data<'a>,
}

/// What HDF5 shows of a dataset.
#[derive(Clone, Debug)]
pub struct DatasetView(pub(crate) ViewItems);

/// What HDF5 shows of a dataset, or why it shows nothing.
#[derive(Clone, Debug)]
pub enum ViewItems {
    /// A single dataset.
    One(Arc<Item>),
    /// A dataset for each part, because added rows do not continue the chunks.
    Parts(Vec<Arc<Item>>),
    /// Nothing.
    Nothing(Reason),
}

impl DatasetView {
    /// For a dataset with these attributes, a JSON object, and these parts: itself, followed by rows that
    /// were added, in their order.
    ///
    /// # Errors
    /// `Memory`; `Range` and `Argument` for inconsistent numbers.
    pub fn new(attributes: &str, parts: &[Part<'_>]) -> Result<Self> {
        Ok(Self(match Item::new(attributes, parts)? {
            Ok(mut items) if items.len() == 1 => match items.pop() {
                Some(item) => ViewItems::One(Arc::new(item)),
                None => ViewItems::Nothing("it has no parts"),
            },
            Ok(items) => ViewItems::Parts(items.into_iter().map(Arc::new).collect()),
            Err(why) => ViewItems::Nothing(why),
        }))
    }

    /// The same for a dataset with the same metadata whose data begin at another offset of the file. `None`
    /// if it has chunks, or rows that were added.
    ///
    /// # Errors
    /// `Range` for an offset at which no data can be.
    pub fn with_data_at(&self, offset: u64) -> Result<Option<Self>> {
        let ViewItems::One(item) = &self.0 else { return Ok(None) };
        if item.may_grow || !matches!(item.layout, DataLayout::Contiguous(_)) {
            return Ok(None);
        }
        let layout = DataLayout::Contiguous(address(offset)?);
        let moved = Item { kind: item.kind.clone(), may_grow: false, layout };
        Ok(Some(Self(ViewItems::One(Arc::new(moved)))))
    }
}

/// Where the data are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataLayout {
    /// Contiguous, from this address on.
    Contiguous(u64),
    /// In chunks, in C order.
    Chunks(Chunks),
}

/// The description of a dataset for HDF5, independent of where its data are. Many datasets of a file share
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The type of its items.
    pub of: DataType,
    /// The type as HDF5's message.
    pub data_type: Bytes,
    /// The fill value; empty: zeros.
    pub fill: Vec<u8>,
    /// HDF5's message of filters; empty: none.
    pub filters: Bytes,
    /// The number of indices in each dimension.
    pub shape: Vec<u64>,
    /// The shape of a chunk; for contiguous data, with 1 in place of 0.
    pub chunk: Vec<u64>,
    /// The names of the dimensions that have one.
    pub dimensions: Vec<Option<String>>,
    /// The attributes, a JSON object.
    pub attributes: String,
}

/// A dataset as HDF5 sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its description.
    pub kind: Arc<Kind>,
    /// Whether the first dimension may grow.
    pub may_grow: bool,
    /// Where the data are.
    pub layout: DataLayout,
}

impl Deref for Item {
    type Target = Kind;

    fn deref(&self) -> &Kind {
        &self.kind
    }
}

/// A dataset of a view.
#[derive(Clone, Debug)]
pub struct ViewDataset {
    /// Its path in HDF5.
    pub path: Arc<str>,
    /// The dataset.
    pub item: Arc<Item>,
    /// The number of records along its first dimension, if it shows them so.
    pub records: Option<u64>,
}

/// The index of a dataset in the sorted list of a plan.
pub fn number_of(datasets: &[ViewDataset], path: &str) -> Option<usize> {
    datasets.binary_search_by(|shown| (*shown.path).cmp(path)).ok()
}

/// Why something is not shown.
pub type Reason = &'static str;

/// HDF5's address of an offset in the file.
fn address(offset: u64) -> Result<u64> {
    offset.checked_sub(BASE).ok_or_else(|| Error::range(format!("HDF5: found data at byte {offset}")))
}

impl Item {
    /// The dataset, or why HDF5 cannot have it. If added rows do not continue its chunks, one for each part.
    fn new(attributes: &str, parts: &[Part<'_>]) -> Result<Result<Vec<Self>, Reason>> {
        let [first, added @ ..] = parts else {
            return Err(Error::argument("HDF5: a dataset has no part"));
        };
        let mut item = match Self::of_part(first)? {
            Ok(item) => item,
            Err(why) => return Ok(Err(why)),
        };
        item.set_attributes(attributes);
        let mut rows = Vec::new();
        for part in added {
            match Self::of_part(part)? {
                Ok(more) => rows.push(more),
                Err(why) => return Ok(Err(why)),
            }
        }
        if !rows.is_empty() && !item.add_rows(&rows)? {
            let is_alike = rows.iter().all(|rows| rows.of == item.of && rows.fill == item.fill);
            if rows.len() >= MAX_PARTS || !is_alike {
                return Ok(Err("rows that were added do not continue its chunks"));
            }
            rows.insert(0, item);
            return Ok(Ok(rows));
        }
        Ok(Ok(vec![item]))
    }

    /// Replaces the attributes.
    pub fn set_attributes(&mut self, attributes: &str) {
        if self.attributes != attributes {
            attributes.clone_into(&mut Arc::make_mut(&mut self.kind).attributes);
        }
    }

    /// What is shown of a part, or why nothing is.
    pub fn of_part(part: &Part<'_>) -> Result<Result<Self, Reason>> {
        let StoredDataset { dataset, codecs, grid, elements } = part.stored;
        if dataset.unsupported.is_some() {
            return Ok(Err("unknown to libscda"));
        }
        if dataset.data_type.kind() == TypeKind::Variable {
            return Ok(Err("items of variable length"));
        }
        let filters = match filters::message(codecs, grid.chunk_bytes())? {
            Ok(filters) => filters,
            Err(why) => return Ok(Err(why)),
        };
        let is_filtered = !filters.is_empty();
        let layout = match (elements, part.data) {
            (_, Data::Text) => return Ok(Err("compressed as text")),
            (ElementKind::Rows, Data::Plain(offset)) => DataLayout::Contiguous(address(offset)?),
            (_, Data::Plain(offset)) => {
                let bytes = grid.chunk_bytes();
                DataLayout::Chunks(adjacent(offset, (0..grid.chunks()).map(|_| bytes), grid.chunks())?)
            }
            (_, Data::Chunks(offset, sizes)) => {
                if sizes.len() as u64 != grid.chunks() {
                    return Err(Error::argument(format!(
                        "HDF5: found {} sizes of chunks, expected {}",
                        sizes.len(),
                        grid.chunks()
                    )));
                }
                DataLayout::Chunks(adjacent(offset, sizes.iter().copied(), sizes.len() as u64)?)
            }
            (_, Data::Unread(somewhere)) => {
                DataLayout::Chunks(Chunks::unread(to_usize(grid.chunks()), to_usize(somewhere)))
            }
        };
        if dataset.shape.len() > MAX_RANK {
            return Ok(Err("too many dimensions"));
        }
        if !is_filtered && has_other_sizes(&layout, grid.chunk_bytes()) {
            return Err(Error::argument("HDF5: found chunks of unequal size without a codec"));
        }
        if codecs.big_endian && dataset.data_type.kind() == TypeKind::Struct {
            return Ok(Err("a big-endian struct"));
        }
        let mut of = Bytes::new();
        data_type(&mut of, dataset.data_type, codecs.big_endian)?;
        if of.len() > MAX_TYPE_BYTES {
            return Ok(Err("a struct with too many members"));
        }
        let mut fill = dataset.fill_value.clone();
        if codecs.big_endian {
            swap(&mut fill, to_usize(dataset.data_type.number_bytes()));
        }
        if fill.len() > MAX_TYPE_BYTES {
            return Ok(Err("a fill value of too many bytes"));
        }
        let kind = Kind {
            of: dataset.data_type,
            data_type: of,
            fill,
            filters,
            shape: dataset.shape.clone(),
            chunk: grid.chunk_shape().to_vec(),
            dimensions: dataset.dimension_names.clone(),
            attributes: dataset.attributes.clone(),
        };
        Ok(Ok(Self { kind: Arc::new(kind), may_grow: false, layout }))
    }

    /// The size of an item.
    pub fn item_bytes(&self) -> u64 {
        self.of.item_bytes()
    }

    /// The size of all items.
    pub fn bytes(&self) -> Result<u64> {
        bytes_of(&self.shape, self.item_bytes())
    }

    /// The size of a chunk.
    pub fn chunk_bytes(&self) -> Result<u64> {
        bytes_of(&self.chunk, self.item_bytes())
    }

    /// The form of chunks in an index.
    pub fn index_entry(&self) -> Result<IndexEntry> {
        Ok(IndexEntry::of(!self.filters.is_empty(), self.chunk_bytes()?))
    }

    /// Whether both have the same type, shape and kind of chunks, so that they can be records of one dataset.
    pub fn is_like(&self, other: &Self) -> bool {
        let is_contiguous = |item: &Self| matches!(item.layout, DataLayout::Contiguous(_));
        let is_same =
            Arc::ptr_eq(&self.kind, &other.kind) || self.is_alike(other) && self.shape == other.shape;
        is_same && is_contiguous(self) == is_contiguous(other)
    }

    fn is_alike(&self, other: &Self) -> bool {
        (&self.data_type, &self.fill, &self.filters) == (&other.data_type, &other.fill, &other.filters)
            && self.chunk == other.chunk
    }

    /// Whether another dataset is this one with more along its first dimension.
    pub fn grows_to(&self, other: &Self) -> bool {
        let (DataLayout::Chunks(own), DataLayout::Chunks(others)) = (&self.layout, &other.layout) else {
            return false;
        };
        self.may_grow
            && other.may_grow
            && self.is_alike(other)
            && self.shape.get(1..) == other.shape.get(1..)
            && others.starts_with(own)
    }

    /// Whether both have the same messages, except for those with the number of items and their places.
    pub fn has_same_constants(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.kind, &other.kind)
            || self.is_alike(other) && self.of == other.of && self.attributes == other.attributes
    }

    /// A series that begins with this record: it has one dimension more, the first, which may grow. `None` if
    /// HDF5 cannot have it.
    pub fn series(first: &Self) -> Result<Option<Self>> {
        if first.shape.len() >= MAX_RANK {
            return Ok(None);
        }
        let Some(mut chunk) = first.record_chunk()? else { return Ok(None) };
        let mut all = Chunks::default();
        first.append_chunks(&chunk, &mut all)?;
        chunk.insert(0, 1);
        let mut kind = Kind { chunk, ..Kind::clone(&first.kind) };
        kind.shape.insert(0, 1);
        if !kind.dimensions.is_empty() {
            kind.dimensions.insert(0, None);
        }
        Ok(Some(Self { kind: Arc::new(kind), may_grow: true, layout: DataLayout::Chunks(all) }))
    }

    /// Adds a record to a series whose last record is `before`. Both must be alike.
    pub fn add_record(&mut self, before: &Self, record: &Self) -> Result<()> {
        let kind = Arc::make_mut(&mut self.kind);
        kind.shape[0] += 1;
        // The attributes of the last record are shown.
        if !Arc::ptr_eq(&before.kind, &record.kind) {
            kind.of = record.of;
            kind.attributes.clone_from(&record.attributes);
            kind.dimensions.clone_from(&record.dimensions);
            if !kind.dimensions.is_empty() {
                kind.dimensions.insert(0, None);
            }
        }
        let DataLayout::Chunks(all) = &mut self.layout else { return Ok(()) };
        record.append_chunks(&self.kind.chunk[1..], all)
    }

    /// The shape of a record's chunks: for contiguous data the whole record, or equal numbers of rows if HDF5
    /// allows no such large chunks.
    fn record_chunk(&self) -> Result<Option<Vec<u64>>> {
        let mut chunk = self.chunk.clone();
        if self.chunk_bytes()? <= MAX_CHUNK_BYTES {
            return Ok(Some(chunk));
        }
        let Some(first) = chunk.first_mut() else { return Ok(None) };
        let rows = *first;
        let row_bytes = bytes_of(&self.chunk[1..], self.item_bytes())?;
        let most = (MAX_CHUNK_BYTES / row_bytes.max(1)).min(rows);
        let least = rows.div_ceil(MAX_ROW_CHUNKS).max(1);
        match (least..=most).rev().take(to_usize(MAX_ROW_CHUNKS)).find(|n| rows % n == 0) {
            Some(n) => *first = n,
            None => return Ok(None),
        }
        Ok(Some(chunk))
    }

    /// Appends the places of chunks of this shape; contiguous data are divided along the first dimension.
    fn append_chunks(&self, chunk: &[u64], all: &mut Chunks) -> Result<()> {
        match &self.layout {
            DataLayout::Chunks(chunks) if all.len() == 0 => {
                all.clone_from(chunks);
                Ok(())
            }
            DataLayout::Chunks(chunks) => chunks.iter()?.try_for_each(|chunk| all.push(*chunk)),
            DataLayout::Contiguous(address) => {
                let bytes = bytes_of(chunk, self.item_bytes())?;
                let count = self.bytes()?.checked_div(bytes).unwrap_or(0);
                check_count(count)?;
                (0..count).try_for_each(|n| all.push(Chunk { address: address + n * bytes, bytes }))
            }
        }
    }

    /// The dataset as shown alone: HDF5 has no chunks without dimensions, so a single item in a chunk gets
    /// one.
    pub fn alone(self: &Arc<Self>) -> Arc<Self> {
        if !self.shape.is_empty() || matches!(self.layout, DataLayout::Contiguous(_)) {
            return self.clone();
        }
        let kind = Kind { shape: vec![1], chunk: vec![1], ..Kind::clone(&self.kind) };
        Arc::new(Self { kind: Arc::new(kind), ..Self::clone(self) })
    }

    /// Adds rows to a dataset that has added rows, like [`Self::add_rows`] with all of them. False if that
    /// would give other chunks.
    pub fn add_more_rows(&mut self, are_contiguous: bool, rows: &Self) -> Result<bool> {
        let ([first, ..], [more, ..], [chunk, ..]) = (&self.shape[..], &rows.shape[..], &self.chunk[..])
        else {
            return Ok(false);
        };
        let is_contiguous = matches!(rows.layout, DataLayout::Contiguous(_));
        let total = sum(*first, *more).ok_or_else(|| Error::range("HDF5: too many rows"))?;
        let continues = match are_contiguous {
            true => is_contiguous && *first > 0 && more % chunk == 0 && total / chunk <= MAX_ROW_CHUNKS,
            false => !is_contiguous && first % chunk == 0 && rows.chunk == self.chunk,
        };
        let is_same =
            (&self.data_type, &self.fill, &self.filters) == (&rows.data_type, &rows.fill, &rows.filters);
        let Self { kind, layout: DataLayout::Chunks(all), .. } = self else { return Ok(false) };
        if !continues || !is_same {
            return Ok(false);
        }
        rows.append_chunks(&kind.chunk, all)?;
        Arc::make_mut(kind).shape[0] = total;
        Ok(true)
    }

    /// Adds rows if all have chunks of one shape, and only the last may end within a chunk; otherwise changes
    /// nothing, and returns false.
    pub fn add_rows(&mut self, rows: &[Self]) -> Result<bool> {
        let is_contiguous = |item: &Self| matches!(item.layout, DataLayout::Contiguous(_));
        let first = |item: &Self| item.shape.first().copied().unwrap_or(0);
        let all_contiguous = is_contiguous(self) && rows.iter().all(is_contiguous);
        let total = rows.iter().try_fold(first(self), |all, rows| sum(all, first(rows)));
        let total = total.ok_or_else(|| Error::range("HDF5: too many rows"))?;
        let mut chunk = self.chunk.clone();
        if all_contiguous {
            let common = rows.iter().fold(first(self), |common, rows| divisor(common, first(rows)));
            chunk[0] = common.max(1);
            if total / common.max(1) > MAX_ROW_CHUNKS
                || bytes_of(&chunk, self.item_bytes())? > MAX_CHUNK_BYTES
            {
                return Ok(false);
            }
        }
        let fits = |rows: &Self| {
            (&self.data_type, &self.fill, &self.filters) == (&rows.data_type, &rows.fill, &rows.filters)
                && (all_contiguous || rows.chunk == chunk && !is_contiguous(rows))
        };
        let ends_within = |item: &Self| first(item) % chunk[0] != 0;
        let before_last = std::iter::once(&*self).chain(rows).take(rows.len());
        if !rows.iter().all(fits) || !all_contiguous && is_contiguous(self) || { before_last }
            .any(ends_within)
        {
            return Ok(false);
        }
        let mut all = Chunks::default();
        for item in std::iter::once(&*self).chain(rows) {
            item.append_chunks(&chunk, &mut all)?;
        }
        let kind = Arc::make_mut(&mut self.kind);
        kind.shape[0] = total;
        kind.chunk = chunk;
        self.may_grow = true;
        self.layout = DataLayout::Chunks(all);
        Ok(true)
    }
}

/// The most parts of a dataset whose rows do not continue its chunks.
const MAX_PARTS: usize = 1024;

/// The longest type message, and the longest fill value: messages have at most 65,535 bytes.
const MAX_TYPE_BYTES: usize = 60_000;

fn bytes_of(shape: &[u64], item_bytes: u64) -> Result<u64> {
    let bytes = shape.iter().try_fold(item_bytes, |all, &n| product(all, n));
    bytes.ok_or_else(|| Error::range("HDF5: the bytes of an array exceed 63 bits"))
}

fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Consecutive chunks of these sizes.
fn adjacent(offset: u64, sizes: impl Iterator<Item = u64>, count: u64) -> Result<Chunks> {
    let mut chunks = Chunks::default();
    check_count(count)?;
    let mut next = address(offset)?;
    for bytes in sizes {
        chunks.push(if bytes == 0 { Chunk::NONE } else { Chunk { address: next, bytes } })?;
        next = sum(next, bytes).ok_or_else(|| Error::range("HDF5: chunks beyond 63 bits"))?;
    }
    Ok(chunks)
}

/// Returns an error if there is no memory for this many chunks.
fn check_count(count: u64) -> Result<()> {
    let tried = memory::temporary();
    reserve_count(&mut Vec::<Chunk>::new(), count)?;
    drop(tried);
    Ok(())
}

fn has_other_sizes(layout: &DataLayout, bytes: u64) -> bool {
    match layout {
        DataLayout::Chunks(chunks) => {
            chunks.iter().is_ok_and(|mut chunks| chunks.any(|chunk| ![0, bytes].contains(&chunk.bytes)))
        }
        DataLayout::Contiguous(_) => false,
    }
}

/// Reverses the bytes of each number.
fn swap(bytes: &mut [u8], number: usize) {
    bytes.chunks_exact_mut(number.max(1)).for_each(<[u8]>::reverse);
}
