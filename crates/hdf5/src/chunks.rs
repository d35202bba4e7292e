//! Indexes of the chunks of a dataset: fixed arrays and B-trees.

use crate::UNDEFINED;
use crate::buffer::ViewBuffer;
use crate::bytes::Bytes;
use crate::message::{PAGE_BITS, sealed};
use crate::previous_view::{PreviousView, number};
use crate::tree::{self, Tree};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::push;
use scda_base::numbers::to_usize;
use std::sync::Arc;

/// The error if a dataset needs more than the outline of a view has.
pub fn unread() -> Error {
    Error::new(ErrorKind::Format, "view of HDF5: its outline is insufficient")
}

/// The place of a chunk. A chunk that is not stored has the address [`UNDEFINED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// HDF5's address.
    pub address: u64,
    /// Its size in the file.
    pub bytes: u64,
}

impl Chunk {
    /// A chunk in which all items have the fill value.
    pub const NONE: Self = Self { address: UNDEFINED, bytes: 0 };
}

/// The chunks of a dataset in C order. Copies share all blocks but the last, because a growing dataset has a
/// copy in each view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    /// The number of first chunks whose places are not known, and how many of these are stored.
    unread: usize,
    unread_somewhere: usize,
    /// Each has [`Self::BLOCK`] chunks; the last one may have fewer.
    blocks: Vec<Arc<Vec<Chunk>>>,
}

impl Chunks {
    const BLOCK: usize = 256;

    /// Chunks of which only the number is known, and how many of these are stored.
    pub fn unread(count: usize, somewhere: usize) -> Self {
        Self { unread: count, unread_somewhere: somewhere, blocks: Vec::new() }
    }

    /// The number of chunks.
    pub fn len(&self) -> usize {
        let read = self.blocks.last().map_or(0, |last| (self.blocks.len() - 1) * Self::BLOCK + last.len());
        self.unread + read
    }

    /// The number of stored chunks; the others have only the fill value.
    pub fn somewhere(&self) -> usize {
        let read = self.blocks.iter().flat_map(|block| block.iter());
        self.unread_somewhere + read.filter(|chunk| chunk.address != UNDEFINED).count()
    }

    /// All chunks. The error is [`unread`].
    pub fn iter(&self) -> Result<impl Iterator<Item = &Chunk>> {
        self.from(0)
    }

    /// The chunks from a number on. The error is [`unread`].
    pub fn from(&self, number: usize) -> Result<impl Iterator<Item = &Chunk>> {
        let number = number.checked_sub(self.unread).ok_or_else(unread)?;
        let blocks = self.blocks.get(number / Self::BLOCK..).unwrap_or_default();
        Ok(blocks.iter().flat_map(|block| block.iter()).skip(number % Self::BLOCK))
    }

    /// Appends a chunk.
    pub fn push(&mut self, chunk: Chunk) -> Result<()> {
        if self.blocks.last().is_none_or(|last| last.len() == Self::BLOCK) {
            push(&mut self.blocks, Arc::default())?;
        }
        if let Some(last) = self.blocks.last_mut() {
            let last = Arc::make_mut(last);
            push(last, chunk)?;
        }
        Ok(())
    }

    /// Whether these chunks begin with the others.
    pub fn starts_with(&self, others: &Self) -> bool {
        let is_same = |(own, other): (&Arc<Vec<Chunk>>, &Arc<Vec<Chunk>>)| {
            Arc::ptr_eq(own, other) || own.starts_with(other)
        };
        (self.unread, self.unread_somewhere) == (others.unread, others.unread_somewhere)
            && self.len() >= others.len()
            && self.blocks.iter().zip(&others.blocks).all(is_same)
    }
}

/// The form of a chunk in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Only its address: all chunks have the same size.
    Plain,
    /// Its address, its size in this many bytes, and the mask of skipped filters, which is 0.
    Filtered(usize),
}

impl Entry {
    /// The form for chunks that have this size before the filters.
    pub fn of(is_filtered: bool, chunk_bytes: u64) -> Self {
        if !is_filtered {
            return Self::Plain;
        }
        // As HDF5 computes it, with room for a chunk that filters make larger.
        let bits = u64::from(63 - chunk_bytes.max(1).leading_zeros());
        Self::Filtered(to_usize(1 + (bits + 8) / 8).min(8))
    }

    /// The size of an entry.
    pub fn bytes(self) -> usize {
        match self {
            Self::Plain => 8,
            Self::Filtered(width) => 8 + width + 4,
        }
    }

    /// The address and size of the chunk in an entry; without filters, all have `chunk_bytes`.
    pub fn get(self, entry: &[u8], chunk_bytes: u64) -> (u64, u64) {
        let bytes = if let Self::Filtered(width) = self { number(&entry[8..8 + width]) } else { chunk_bytes };
        (number(&entry[..8]), bytes)
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

/// Appends the fixed array of these chunks, which are in C order; returns its address.
pub fn fixed_array(
    out: &mut ViewBuffer,
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
    // A bit for each page, the highest bit of a byte first, tells that the page exists. All do.
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

/// The size of the header of a fixed array.
pub const FIXED_ARRAY_HEAD_BYTES: u64 = 28;

/// The type of a B-tree of chunks without filters.
pub const PLAIN_TREE: u8 = 10;
/// The type of a B-tree of chunks with filters.
pub const FILTERED_TREE: u8 = 11;

/// The size of a node of a tree of chunks.
pub fn node_bytes(entry: Entry, rank: usize) -> u32 {
    tree::node_bytes(entry.bytes() + 8 * rank)
}

/// A tree of the chunks of an array with a number of dimensions. Chunks are appended in C order.
pub struct ChunkTree {
    entry: Entry,
    tree: Tree,
}

impl ChunkTree {
    /// A tree without chunks.
    pub fn new(entry: Entry, rank: usize) -> Self {
        let client = if entry == Entry::Plain { PLAIN_TREE } else { FILTERED_TREE };
        Self { entry, tree: Tree::new(client, entry.bytes() + 8 * rank) }
    }

    /// The tree in the layout of a dataset of the previous view, with these chunks.
    pub fn load(self, old: &mut PreviousView<'_>, layout: &[u8], chunks: &Chunks) -> Result<Self> {
        let Self { entry, tree } = self;
        let there = chunks.somewhere();
        let address = layout.last_chunk::<8>().map_or(UNDEFINED, |address| u64::from_le_bytes(*address));
        let tree = if there == 0 { tree } else { tree.load(old, address, there as u64)? };
        Ok(Self { entry, tree })
    }

    /// Appends a chunk with its index in each dimension of the grid. It must follow all others in C order.
    pub fn push(&mut self, out: &mut ViewBuffer, chunk: Chunk, place: &[u64]) -> Result<()> {
        if chunk.address == UNDEFINED {
            return Ok(());
        }
        let mut record = Bytes::new();
        self.entry.put(&mut record, chunk)?;
        place.iter().try_for_each(|&n| record.long(n))?;
        self.tree.push(out, record.as_slice())
    }

    /// Writes the remaining nodes; returns the address of the tree, or [`UNDEFINED`] without chunks.
    pub fn finish(self, out: &mut ViewBuffer) -> Result<u64> {
        self.tree.finish(out)
    }
}
