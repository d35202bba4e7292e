//! The links of a large group, in a form in which HDF5 finds one without reading all: a fractal heap and a
//! B-tree.

use crate::UNDEFINED;
use crate::buffer::ViewBuffer;
use crate::bytes::Bytes;
use crate::checksum::checksum;
use crate::links::{add_link, link, put_message};
use crate::message::sealed;
use crate::previous_view::{PreviousView, number, wrong};
use crate::tree::Tree;
use scda_base::error::Result;
use scda_base::memory::reserve;
use std::collections::HashMap;

/// The type of a B-tree of names.
pub const NAMES_TREE: u8 = 5;
/// The number of bits in an offset in the heap, and the sizes of an offset, of a length there, and of both
/// with flags, as HDF5 uses them for groups.
const OFFSET_BITS: u64 = 32;
const OFFSET_BYTES: usize = 4;
const LENGTH_BYTES: usize = 2;
const ID_BYTES: usize = 1 + OFFSET_BYTES + LENGTH_BYTES;
/// The size of a record in the B-tree of names.
pub const RECORD_BYTES: usize = 4 + ID_BYTES;
/// The longest link that HDF5 allows.
const MAX_LINK_BYTES: u64 = 4096;
/// The size of a block, and the most blocks: the heap has one row of them.
const BLOCK_BYTES: usize = 8192;
const MAX_BLOCKS: usize = 1 << 15;
/// The size of signature, version, address of the heap, offset and checksum of a block.
const BLOCK_HEAD_BYTES: usize = 4 + 1 + 8 + OFFSET_BYTES + 4;
/// The size of a heap's header.
const HEAD_BYTES: u64 = 146;

/// Writes links, which are sorted; returns the addresses of the heap and of the tree. `None` if there are too
/// many.
pub fn put(out: &mut ViewBuffer, links: &[(&str, u64)]) -> Result<Option<(u64, u64)>> {
    let mut blocks: Vec<Bytes> = Vec::new();
    let mut records = Vec::new();
    reserve(&mut records, links.len())?;
    let heap = out.address();
    let (mut link, mut used) = (Bytes::new(), 0);
    for (name, address) in links {
        link.clear();
        put_message(&mut link, name, *address)?;
        used += link.len();
        let begins = blocks.last().is_none_or(|block| block.len() + link.len() > BLOCK_BYTES);
        if begins {
            if let Some(block) = blocks.last_mut() {
                block.zeros(BLOCK_BYTES - block.len())?;
            }
            reserve(&mut blocks, 1)?;
            let mut block = block_head(heap, (blocks.len() * BLOCK_BYTES) as u64)?;
            block.reserve(BLOCK_BYTES - block.len())?;
            blocks.push(block);
        }
        let at = blocks.len() - 1;
        let Some(block) = blocks.last_mut() else { continue };
        records.push((checksum(name.as_bytes()), *name, at * BLOCK_BYTES + block.len(), link.len()));
        block.put(link.as_slice())?;
    }
    if blocks.len() > MAX_BLOCKS {
        return Ok(None);
    }
    put_heap(out, heap, blocks, links.len() as u64, used as u64)?;

    records.sort_unstable_by_key(|(hash, name, _, _)| (*hash, *name));
    let mut tree = Tree::new(NAMES_TREE, RECORD_BYTES);
    let mut record = Bytes::new();
    for (hash, _, offset, length) in records {
        record.clear();
        record.number(hash.into(), 4)?;
        record.put(&[0])?;
        record.number(offset as u64, OFFSET_BYTES)?;
        record.number(length as u64, LENGTH_BYTES)?;
        tree.push(out, record.as_slice())?;
    }
    Ok(Some((heap, tree.finish(out)?)))
}

fn block_head(heap: u64, offset: u64) -> Result<Bytes> {
    let mut block = Bytes::new();
    block.put(b"FHDB\0")?;
    block.long(heap)?;
    block.number(offset, OFFSET_BYTES)?;
    block.number(0, 4)?;
    Ok(block)
}

/// Writes the header of a heap, its row of blocks, and the blocks.
fn put_heap(out: &mut ViewBuffer, heap: u64, blocks: Vec<Bytes>, links: u64, used: u64) -> Result<()> {
    const CHECKED: u8 = 2;
    let width = blocks.len().next_power_of_two().max(4);
    let (block_bytes, count) = (BLOCK_BYTES as u64, blocks.len() as u64);
    let row = heap + HEAD_BYTES;
    let first = row + (4 + 1 + 8 + OFFSET_BYTES + 8 * width + 4) as u64;
    let free = count * (BLOCK_BYTES - BLOCK_HEAD_BYTES) as u64 - used;
    let mut head = Bytes::new();
    head.put(b"FRHP\0")?;
    head.number(ID_BYTES as u64, 2)?;
    head.number(0, 2)?;
    head.put(&[CHECKED])?;
    head.number(MAX_LINK_BYTES, 4)?;
    // There are no huge objects. Free space is what remains in the blocks after the links.
    for number in [0, UNDEFINED, free, UNDEFINED] {
        head.long(number)?;
    }
    for number in [width as u64 * block_bytes, count * block_bytes, count * block_bytes, links, 0, 0, 0, 0] {
        head.long(number)?;
    }
    head.number(width as u64, 2)?;
    head.long(block_bytes)?;
    head.long(block_bytes)?;
    head.number(OFFSET_BITS, 2)?;
    head.number(1, 2)?;
    head.long(row)?;
    head.number(1, 2)?;
    out.put(sealed(head)?.as_slice())?;

    let mut indirect = Bytes::new();
    indirect.put(b"FHIB\0")?;
    indirect.long(heap)?;
    indirect.number(0, OFFSET_BYTES)?;
    for n in 0..width as u64 {
        indirect.long(if n < count { first + n * block_bytes } else { UNDEFINED })?;
    }
    out.put(sealed(indirect)?.as_slice())?;
    for mut block in blocks {
        block.zeros(BLOCK_BYTES - block.len())?;
        let sum = checksum(block.as_slice());
        block.replace(BLOCK_HEAD_BYTES - 4, &sum.to_le_bytes());
        out.put(block.as_slice())?;
    }
    debug_assert_eq!(out.address(), first + count * block_bytes);
    Ok(())
}

/// Adds the links in a heap, whose blocks contain nothing else.
pub fn read(old: &mut PreviousView<'_>, heap: u64, links: &mut HashMap<String, u64>) -> Result<()> {
    let unknown = |at| wrong(at, "found a heap that libscda would not write");
    let head = old.checked(heap, HEAD_BYTES)?;
    let (width, count) = (number(&head[110..112]), number(&head[70..78]));
    let row = old.checked(heap + HEAD_BYTES, (4 + 1 + 8 + OFFSET_BYTES + 4) as u64 + 8 * width)?;
    if !head.starts_with(b"FRHP\0") || !row.starts_with(b"FHIB\0") {
        return Err(unknown(heap));
    }
    for address in row[4 + 1 + 8 + OFFSET_BYTES..].chunks_exact(8).map(number).filter(|&at| at != UNDEFINED) {
        let mut block = old.bytes(address, BLOCK_BYTES as u64)?;
        let sum = block[BLOCK_HEAD_BYTES - 4..BLOCK_HEAD_BYTES]
            .iter()
            .rev()
            .fold(0, |all, &byte| all << 8 | u32::from(byte));
        block[BLOCK_HEAD_BYTES - 4..BLOCK_HEAD_BYTES].fill(0);
        if sum != checksum(&block) {
            return Err(wrong(address, "found a wrong checksum"));
        }
        let mut rest = &block[BLOCK_HEAD_BYTES..];
        while rest.first() == Some(&1) {
            let (name, object, after) = link(rest).ok_or_else(|| unknown(address))?;
            add_link(links, name, object)?;
            rest = after;
        }
    }
    if links.len() as u64 == count { Ok(()) } else { Err(unknown(heap)) }
}
