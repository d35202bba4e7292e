//! The messages of object headers, and object headers of version 2.

use crate::UNDEFINED;
use crate::bytes::{Bytes, width_of};
use crate::checksum::checksum;
use scda_base::error::{Error, Result};

/// Types of messages.
pub mod kind {
    /// The dimensions of a dataset.
    pub const DATASPACE: u8 = 0x01;
    /// Where the links of a group are.
    pub const LINK_INFO: u8 = 0x02;
    /// The type of the items of a dataset.
    pub const DATATYPE: u8 = 0x03;
    /// The fill value.
    pub const FILL_VALUE: u8 = 0x05;
    /// A link of a group.
    pub const LINK: u8 = 0x06;
    /// Where the data of a dataset are.
    pub const LAYOUT: u8 = 0x08;
    /// Properties of a group.
    pub const GROUP_INFO: u8 = 0x0a;
    /// The filters of chunks.
    pub const FILTERS: u8 = 0x0b;
    /// An attribute.
    pub const ATTRIBUTE: u8 = 0x0c;
    /// Where further messages are.
    pub const CONTINUATION: u8 = 0x10;
    /// A type that HDF5 does not know: see [`super::Messages::forbid_writing`].
    pub const READ_ONLY: u8 = 0xfe;
}

/// The most dimensions of an HDF5 dataset.
pub const MAX_RANK: usize = 32;
/// The largest message.
pub const MAX_MESSAGE_BYTES: usize = 0xffff;

/// The size of a message's head.
pub const MESSAGE_HEAD_BYTES: usize = 4;

/// Bits in a message's flags.
const CONSTANT: u8 = 0x01;
const FAIL_IF_UNKNOWN_AND_WRITTEN: u8 = 0x08;

/// The maximum size of a dimension that may grow.
pub const UNLIMITED: u64 = u64::MAX;

/// Messages of an object header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages(Bytes);

impl Messages {
    /// No messages.
    pub const fn new() -> Self {
        Self(Bytes::new())
    }

    /// The size of the messages.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The bytes of the messages.
    pub fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// Appends other messages.
    pub fn extend(&mut self, others: &Self) -> Result<()> {
        self.0.put(others.as_slice())
    }

    /// Appends a message. The error is `Range` if it is too long.
    pub fn put(&mut self, kind: u8, data: &[u8]) -> Result<()> {
        let flags = if kind == kind::DATATYPE || kind == kind::FILL_VALUE { CONSTANT } else { 0 };
        self.with_flags(kind, flags, data)
    }

    /// Appends a message with the data that a function writes.
    pub fn add(&mut self, kind: u8, write: impl FnOnce(&mut Bytes) -> Result<()>) -> Result<()> {
        let mut data = Bytes::new();
        write(&mut data)?;
        self.put(kind, data.as_slice())
    }

    fn with_flags(&mut self, kind: u8, flags: u8, data: &[u8]) -> Result<()> {
        if data.len() > MAX_MESSAGE_BYTES {
            return Err(Error::range(format!(
                "HDF5: found a message of {} bytes, expected at most {MAX_MESSAGE_BYTES}",
                data.len()
            )));
        }
        let [low, high, ..] = data.len().to_le_bytes();
        self.0.put(&[kind, low, high, flags])?;
        self.0.put(data)
    }

    /// Appends a message that lets HDF5 open the object only for reading: its type is unknown to HDF5, and it
    /// has the flag for that. Its data are for this library: the place of the view's outline.
    pub fn forbid_writing(&mut self, outline: &[u8]) -> Result<()> {
        self.with_flags(kind::READ_ONLY, FAIL_IF_UNKNOWN_AND_WRITTEN, outline)
    }

    /// Appends a message that more messages are at an address, in a continuation block of this size.
    pub fn continued(&mut self, address: u64, bytes: u64) -> Result<()> {
        self.add(kind::CONTINUATION, |data| {
            data.long(address)?;
            data.long(bytes)
        })
    }

    /// The object header with these messages.
    pub fn header(&self) -> Result<Bytes> {
        let length = self.len() as u64;
        let (flag, width) = match width_of(length) {
            1 => (0, 1),
            2 => (1, 2),
            3 | 4 => (2, 4),
            _ => return Err(Error::range("HDF5: an object header of more than 4 GiB")),
        };
        let mut out = Bytes::new();
        out.put(b"OHDR\x02")?;
        out.put(&[flag])?;
        out.number(length, width)?;
        out.put(self.as_slice())?;
        sealed(out)
    }

    /// The continuation block with these messages.
    pub fn continuation(&self) -> Result<Bytes> {
        let mut out = Bytes::new();
        out.put(b"OCHK")?;
        out.put(self.as_slice())?;
        sealed(out)
    }
}

/// Appends the checksum.
pub fn sealed(mut bytes: Bytes) -> Result<Bytes> {
    let sum = checksum(bytes.as_slice());
    bytes.number(sum.into(), 4)?;
    Ok(bytes)
}

/// Writes a dataspace with these dimensions, and with these maximum ones if they differ.
pub fn dataspace(out: &mut Bytes, shape: &[u64], greatest: &[u64]) -> Result<()> {
    let may_grow = shape != greatest;
    let rank = u8::try_from(shape.len()).map_err(|_| Error::range("HDF5: too many dimensions"))?;
    out.put(&[2, rank, u8::from(may_grow), u8::from(rank > 0)])?;
    shape.iter().try_for_each(|&n| out.long(n))?;
    if may_grow {
        greatest.iter().try_for_each(|&n| out.long(n))?;
    }
    Ok(())
}

/// Writes a fill value: zeros if it is empty.
pub fn fill_value(out: &mut Bytes, item: &[u8], is_chunked: bool) -> Result<()> {
    /// Storage is allocated late, for chunks one by one; the value is written if it was set.
    const LATE: u8 = 2;
    const ONE_BY_ONE: u8 = 3;
    const IF_SET: u8 = 2 << 2;
    const DEFINED: u8 = 0x20;
    let flags = IF_SET | if is_chunked { ONE_BY_ONE } else { LATE };
    if item.is_empty() {
        return out.put(&[3, flags]);
    }
    out.put(&[3, flags | DEFINED])?;
    out.number(item.len() as u64, 4)?;
    out.put(item)
}

/// Writes the layout of contiguous data at an address; empty data have none.
pub fn contiguous(out: &mut Bytes, address: u64, bytes: u64) -> Result<()> {
    out.put(&[3, 1])?;
    out.long(if bytes == 0 { UNDEFINED } else { address })?;
    out.long(bytes)
}

/// Writes the layout of boxes of other datasets, whose list is in a global heap.
pub fn virtual_layout(out: &mut Bytes, collection: u64, number: u16) -> Result<()> {
    out.put(&[4, 3])?;
    out.long(collection)?;
    out.number(number.into(), 4)
}

/// How the chunks of a dataset are found: the type of the index with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkIndex {
    /// A single chunk, with its size if it is filtered.
    Single(Option<u64>),
    /// Consecutive chunks, in C order.
    Implicit,
    /// An array of addresses.
    FixedArray,
    /// A tree of indices: a B-tree of version 2 with nodes of this size.
    Tree(u32),
}

/// The number of elements in a page of a fixed array, as a power of 2.
pub const PAGE_BITS: u8 = 10;
/// When a node of a B-tree is split or merged, in percent; without meaning for a tree that is only read.
pub const SPLIT_AND_MERGE: [u8; 2] = [100, 40];

/// Writes the layout of chunks of this shape and items of this size, with an index at this address.
pub fn chunked(
    out: &mut Bytes,
    chunk: &[u64],
    item_bytes: u64,
    index: ChunkIndex,
    address: u64,
) -> Result<()> {
    let width = chunk.iter().chain([&item_bytes]).map(|&n| width_of(n)).max().unwrap_or(1);
    let rank = u8::try_from(chunk.len() + 1).map_err(|_| Error::range("HDF5: too many dimensions"))?;
    let is_filtered_alone = matches!(index, ChunkIndex::Single(Some(_)));
    out.put(&[4, 2, u8::from(is_filtered_alone) << 1, rank])?;
    out.number(width as u64, 1)?;
    chunk.iter().chain([&item_bytes]).try_for_each(|&n| out.number(n, width))?;
    match index {
        ChunkIndex::Single(filtered) => {
            out.put(&[1])?;
            if let Some(bytes) = filtered {
                out.long(bytes)?;
                out.number(0, 4)?;
            }
        }
        ChunkIndex::Implicit => out.put(&[2])?,
        ChunkIndex::FixedArray => out.put(&[3, PAGE_BITS])?,
        ChunkIndex::Tree(node_bytes) => {
            out.put(&[5])?;
            out.number(node_bytes.into(), 4)?;
            out.put(&SPLIT_AND_MERGE)?;
        }
    }
    out.long(address)
}

/// Writes the attribute message of these parts.
pub fn attribute(
    out: &mut Bytes,
    name: &str,
    data_type: &[u8],
    shape: Option<&[u64]>,
    data: &[u8],
) -> Result<()> {
    let mut space = Bytes::new();
    dataspace(&mut space, shape.unwrap_or_default(), shape.unwrap_or_default())?;
    out.put(&[3, 0])?;
    let short = |bytes: usize| {
        u16::try_from(bytes).map_err(|_| Error::range(format!("HDF5: {bytes} bytes of an attribute")))
    };
    for bytes in [name.len() + 1, data_type.len(), space.len()] {
        out.number(short(bytes)?.into(), 2)?;
    }
    out.put(&[u8::from(!name.is_ascii())])?;
    out.put(name.as_bytes())?;
    out.put(&[0])?;
    out.put(data_type)?;
    out.put(space.as_slice())?;
    out.put(data)
}
