//! Indexes of the chunks of a dataset: fixed arrays, and B-trees of version 2 that can be added to.

use crate::UNDEFINED;
use crate::bytes::{Bytes, width_of};
use crate::message::{PAGE_BITS, SPLIT_AND_MERGE, sealed};
use crate::out::Out;
use scda_base::error::{Error, Result};
use scda_base::memory::reserve;
use scda_base::numbers::to_usize;

/// Where a chunk is. HDF5's address of a chunk that is not there is [`UNDEFINED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// HDF5's address.
    pub address: u64,
    /// Its bytes in the file.
    pub bytes: u64,
}

impl Chunk {
    /// A chunk that has the fill value alone.
    pub const NONE: Self = Self { address: UNDEFINED, bytes: 0 };
}

/// How a chunk stands in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// By its address alone: all chunks have the same bytes.
    Plain,
    /// By its address, its bytes in so many bytes, and the filters that were left out, which are none.
    Filtered(usize),
}

impl Entry {
    /// That of chunks of so many bytes before the filters.
    pub fn of(is_filtered: bool, chunk_bytes: u64) -> Self {
        if !is_filtered {
            return Self::Plain;
        }
        // As HDF5 computes it: room for a chunk that becomes larger.
        let bits = u64::from(63 - chunk_bytes.max(1).leading_zeros());
        Self::Filtered(to_usize(1 + (bits + 8) / 8).min(8))
    }

    fn bytes(self) -> usize {
        match self {
            Self::Plain => 8,
            Self::Filtered(width) => 8 + width + 4,
        }
    }

    fn put(self, out: &mut Bytes, chunk: Chunk) -> Result<()> {
        out.long(chunk.address)?;
        if let Self::Filtered(width) = self {
            out.number(chunk.bytes, width)?;
            out.number(0, 4)?;
        }
        Ok(())
    }
}

/// Puts the fixed array of these chunks, which are in C order; its address.
pub fn fixed_array(
    out: &mut Out,
    entry: Entry,
    count: u64,
    chunks: impl Iterator<Item = Chunk>,
) -> Result<u64> {
    let client = u8::from(entry != Entry::Plain);
    let header = out.address();
    let mut head = Bytes::new();
    head.put(b"FAHD\0")?;
    head.put(&[client])?;
    head.number(entry.bytes() as u64, 1)?;
    head.put(&[PAGE_BITS])?;
    head.long(count)?;
    head.long(header + FIXED_ARRAY_HEAD_BYTES)?;
    out.put(sealed(head)?.as_slice())?;

    let mut block = Bytes::new();
    block.put(b"FADB\0")?;
    block.put(&[client])?;
    block.long(header)?;
    let page = 1_u64 << PAGE_BITS;
    if count <= page {
        for chunk in chunks {
            entry.put(&mut block, chunk)?;
        }
        out.put(sealed(block)?.as_slice())?;
        return Ok(header);
    }
    // A bit says of each page that it is there, the highest bit of a byte first. All are.
    let pages = count.div_ceil(page);
    for byte in 0..pages.div_ceil(8) {
        let left = (pages - 8 * byte).min(8);
        block.number((0xff00_u64 >> left) & 0xff, 1)?;
    }
    out.put(sealed(block)?.as_slice())?;
    let mut one = Bytes::new();
    let mut number = 0;
    for chunk in chunks {
        entry.put(&mut one, chunk)?;
        number += 1;
        if number % page == 0 || number == count {
            out.put(sealed(std::mem::take(&mut one))?.as_slice())?;
        }
    }
    Ok(header)
}

const FIXED_ARRAY_HEAD_BYTES: u64 = 28;

/// A child of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its address.
    pub address: u64,
    /// The records in it alone.
    pub records: u64,
    /// And with all below it.
    pub all: u64,
}

/// A level of the path from the root to the last leaf, which records are appended to.
#[derive(Clone, Debug, Default)]
struct Level {
    records: Vec<u8>,
    count: u64,
    children: Vec<Child>,
}

/// A B-tree of chunks to which chunks are appended in their order. Each node is written once it is full, or at the end.
pub struct Tree {
    entry: Entry,
    rank: usize,
    /// The leaf first.
    path: Vec<Level>,
    total: u64,
    node_bytes: u32,
    capacities: Vec<Capacity>,
}

/// The bytes of a node, unless records are long.
pub const SMALL_NODE_BYTES: u32 = 512;
const LARGE_NODE_BYTES: u32 = 2048;
/// The longest records of small nodes.
const SMALL_RECORD_BYTES: usize = 64;
/// Each node has three children or more, so no file has chunks for more levels.
const MAX_LEVELS: usize = 40;

/// The bytes of a node of a tree.
pub fn node_bytes(entry: Entry, rank: usize) -> u32 {
    if entry.bytes() + 8 * rank <= SMALL_RECORD_BYTES { SMALL_NODE_BYTES } else { LARGE_NODE_BYTES }
}

/// Signature, version and type of a node, and its checksum.
const NODE_BYTES: u64 = 10;
/// How many records fit a node of each level, and the bytes of the numbers of them: as HDF5 computes both.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    most: u64,
    /// Of the number of records in a child.
    count_width: usize,
    /// Of that with all below it.
    all_width: usize,
}

/// The capacities of levels from the leaf up.
pub fn capacities(record_bytes: u64, node_bytes: u64, levels: usize) -> Vec<Capacity> {
    let leaf = (node_bytes - NODE_BYTES) / record_bytes;
    let count_width = width_of(leaf);
    let mut found = vec![Capacity { most: leaf, count_width, all_width: 0 }];
    let (mut all, mut all_width) = (leaf, 0);
    for _ in 1..levels {
        let pointer = 8 + (count_width + all_width) as u64;
        let most = (node_bytes - NODE_BYTES).saturating_sub(pointer) / (record_bytes + pointer);
        found.push(Capacity { most, count_width, all_width });
        all = (most + 1).saturating_mul(all).saturating_add(most);
        all_width = width_of(all);
    }
    found
}

impl Tree {
    /// Without chunks, of arrays of so many dimensions.
    pub fn new(entry: Entry, rank: usize) -> Self {
        let record_bytes = (entry.bytes() + 8 * rank) as u64;
        let node_bytes = node_bytes(entry, rank);
        let capacities = capacities(record_bytes, node_bytes.into(), MAX_LEVELS);
        Self { entry, rank, path: vec![Level::default()], total: 0, node_bytes, capacities }
    }

    fn record_bytes(&self) -> u64 {
        (self.entry.bytes() + 8 * self.rank) as u64
    }

    /// Appends a chunk with the numbers of its place among the chunks, which follows all before in C order.
    pub fn push(&mut self, out: &mut Out, chunk: Chunk, place: &[u64]) -> Result<()> {
        if chunk.address == UNDEFINED {
            return Ok(());
        }
        let mut record = Bytes::new();
        self.entry.put(&mut record, chunk)?;
        place.iter().try_for_each(|&n| record.long(n))?;
        self.total += 1;
        self.insert(out, 0, record.as_slice())
    }

    /// Puts a record at the end of a level. A full node is written: its last record goes up, between it
    /// and a new node, which begins with the child that was the last.
    fn insert(&mut self, out: &mut Out, at: usize, record: &[u8]) -> Result<()> {
        let size = record.len();
        if self.path[at].count == self.capacity(at)?.most {
            let level = &mut self.path[at];
            let up = level.records.split_off(level.records.len() - size);
            level.count -= 1;
            let last = level.children.pop();
            let full = std::mem::take(level);
            self.path[at].children.extend(last);
            let written = self.write(out, at, &full)?;
            self.attach(at + 1, written);
            self.insert(out, at + 1, &up)?;
        }
        let level = &mut self.path[at];
        reserve(&mut level.records, size)?;
        level.records.extend_from_slice(record);
        level.count += 1;
        Ok(())
    }

    fn capacity(&self, level: usize) -> Result<Capacity> {
        self.capacities.get(level).copied().ok_or_else(|| Error::range("HDF5: too many chunks"))
    }

    fn attach(&mut self, at: usize, child: Child) {
        if self.path.len() == at {
            self.path.push(Level::default());
        }
        self.path[at].children.push(child);
    }

    /// Writes a node. What a node has beyond its checksum has no meaning, so of small nodes these bytes are not there: HDF5 reads what
    /// follows, which the index and the seal of the file are at least.
    fn write(&self, out: &mut Out, at: usize, level: &Level) -> Result<Child> {
        let mut node = Bytes::new();
        node.put(if at == 0 { b"BTLF\0" } else { b"BTIN\0" })?;
        node.put(&[self.client()])?;
        node.put(&level.records)?;
        let Capacity { count_width, all_width, .. } = self.capacity(at)?;
        let mut all = level.count;
        for child in &level.children {
            node.long(child.address)?;
            node.number(child.records, count_width)?;
            if at > 1 {
                node.number(child.all, all_width)?;
            }
            all += child.all;
        }
        let mut node = sealed(node)?;
        if self.node_bytes > SMALL_NODE_BYTES {
            node.zeros(to_usize(self.node_bytes.into()).saturating_sub(node.len()))?;
        }
        let address = out.put(node.as_slice())?;
        Ok(Child { address, records: level.count, all })
    }

    /// The type of the tree: chunks without or with filters.
    fn client(&self) -> u8 {
        if self.entry == Entry::Plain { 10 } else { 11 }
    }

    /// Puts what was not written yet; the address of the tree. Without chunks, it is nowhere.
    pub fn finish(mut self, out: &mut Out) -> Result<u64> {
        if self.total == 0 {
            return Ok(UNDEFINED);
        }
        let mut last = None;
        for at in 0..self.path.len() {
            let mut level = std::mem::take(&mut self.path[at]);
            level.children.extend(last);
            last = Some(self.write(out, at, &level)?);
        }
        let root = last.unwrap_or(Child { address: UNDEFINED, records: 0, all: 0 });
        let mut head = Bytes::new();
        head.put(b"BTHD\0")?;
        head.put(&[self.client()])?;
        head.number(self.node_bytes.into(), 4)?;
        head.number(self.record_bytes(), 2)?;
        head.number(self.path.len() as u64 - 1, 2)?;
        head.put(&SPLIT_AND_MERGE)?;
        head.long(root.address)?;
        head.number(root.records, 2)?;
        head.long(self.total)?;
        out.put(sealed(head)?.as_slice())
    }
}
