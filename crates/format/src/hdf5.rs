//! The sections that make a file an HDF5 file as well: the block that reserves space for the superblock, and
//! the blocks of views. docs/hdf5.md specifies their bytes.

use super::entry::{CountFormat, parse_count};
use super::header::{SectionType, parse_section_header, put_section_header};
use super::index::{CRC_TAIL_BYTES, TABLE_PADDING_BYTES, crc_tail, parse_crc_tail, put_entries};
use super::layout::SectionLayout;
use super::padding::{LineBreak, MAX_DATA_PADDING, data_padding};
use super::{COUNT_BYTES, FILE_HEADER_BYTES, SECTION_HEADER_BYTES, crc};
use scda_base::error::Result;
use scda_base::memory::reserve;

pub use super::superblock::{
    LONG_HEADER_BYTES, SUPERBLOCK_BYTES, SUPERBLOCK_OFFSET, clear_superblock, crc_without_superblock,
};

/// The user string of the block with the superblock. It follows the header of the file and counts as part of
/// it.
pub const RESERVED: &[u8] = b"scda hdf5 00";
/// The user string of the block of a view, the first section of a seal.
pub const VIEW: &[u8] = b"scda hdf5 view 00";
/// The bytes of data of the block with the superblock, which is at their end.
pub const RESERVED_BYTES: usize = 336;
/// The bytes of a block before its data.
pub const BLOCK_HEAD_BYTES: usize = SECTION_HEADER_BYTES + COUNT_BYTES;
/// The bytes from the entry `O` of a view to the end of its section.
pub const VIEW_TAIL_BYTES: usize = COUNT_BYTES + CRC_TAIL_BYTES;

/// The bytes of the whole block with the superblock.
pub const RESERVED_SECTION_BYTES: usize = 448;

const _: () = assert!(
    (FILE_HEADER_BYTES + BLOCK_HEAD_BYTES + RESERVED_BYTES) as u64
        == SUPERBLOCK_OFFSET + SUPERBLOCK_BYTES as u64
);
const _: () = assert!((FILE_HEADER_BYTES + RESERVED_SECTION_BYTES) as u64 == LONG_HEADER_BYTES);

/// The header and the size entry of a block.
fn block_head(user: &[u8], bytes: u64, style: LineBreak) -> [u8; BLOCK_HEAD_BYTES] {
    let mut head = [0; BLOCK_HEAD_BYTES];
    let (line, size) = head.split_at_mut(SECTION_HEADER_BYTES);
    put_section_header(line, SectionType::Block, user, style);
    put_entries(size, b"E", &[bytes], style);
    head
}

/// The bytes of data of a block, if `head` begins a block with this user string.
fn block_bytes(head: &[u8; BLOCK_HEAD_BYTES], user: &[u8]) -> Option<u64> {
    let (line, size) = head.split_first_chunk()?;
    let (section, found) = parse_section_header(line).ok()?;
    let is_it = section == SectionType::Block && *found == *user;
    size.first_chunk().filter(|_| is_it).and_then(|size| parse_count(size, b'E').ok())
}

/// All bytes of the block with the superblock; `data` are its data.
#[must_use]
pub fn reserved_section(data: &[u8; RESERVED_BYTES], style: LineBreak) -> Vec<u8> {
    let head = block_head(RESERVED, RESERVED_BYTES as u64, style);
    let mut padding = [0; MAX_DATA_PADDING];
    let padding = data_padding(&mut padding, RESERVED_BYTES as u64, data.last().copied(), style);
    [&head[..], data, padding].concat()
}

/// Whether these bytes, which follow the header of the file, are the block with the superblock. A block that
/// reached the disk only in part is not: its padding is zeros.
#[must_use]
pub fn is_reserved(block: &[u8; RESERVED_SECTION_BYTES]) -> bool {
    let (head, padding) = (block.first_chunk(), &block[BLOCK_HEAD_BYTES + RESERVED_BYTES..]);
    head.is_some_and(|head| block_bytes(head, RESERVED) == Some(RESERVED_BYTES as u64))
        && [LineBreak::Unix, LineBreak::Mime].into_iter().any(|style| {
            // The padding was written when the superblock was zeros.
            let mut expected = [0; MAX_DATA_PADDING];
            padding == data_padding(&mut expected, RESERVED_BYTES as u64, Some(0), style)
        })
}

/// All bytes of the block of a view with these objects and this root group.
///
/// # Errors
/// `Memory`.
pub fn view_section(objects: &[u8], root: u64, style: LineBreak) -> Result<Vec<u8>> {
    let data = objects.len().next_multiple_of(COUNT_BYTES) + 2 * COUNT_BYTES;
    let mut section = Vec::new();
    reserve(&mut section, BLOCK_HEAD_BYTES + data + TABLE_PADDING_BYTES)?;
    section.extend(block_head(VIEW, data as u64, style));
    section.extend(objects);
    section.resize(BLOCK_HEAD_BYTES + data - 2 * COUNT_BYTES, 0);
    section.extend(CountFormat::new(b'O', style).entry(root));
    let sum = crc::of(&section);
    section.extend(crc_tail(sum, style));
    Ok(section)
}

/// The end of the section at this offset, if `head` can begin a view.
#[must_use]
pub fn end_of_view(head: &[u8; BLOCK_HEAD_BYTES], offset: u64) -> Option<u64> {
    let bytes = block_bytes(head, VIEW)?;
    let is_possible = bytes.is_multiple_of(COUNT_BYTES as u64) && bytes > 2 * COUNT_BYTES as u64;
    SectionLayout::block(offset, bytes).filter(|_| is_possible).map(|layout| layout.end)
}

/// Parses the end of a view: the offset in the file of its root group, and the checksum of all before the
/// entry `C`.
///
/// # Errors
/// `Format`, with the byte offset in the file; `offset` is that of the tail.
pub fn parse_view_tail(tail: &[u8; VIEW_TAIL_BYTES], offset: u64) -> Result<(u64, u64)> {
    let (root, sum) = tail.split_at(COUNT_BYTES);
    let root = parse_count(root.first_chunk().unwrap_or(&[0; COUNT_BYTES]), b'O')?;
    let sum = sum.first_chunk().unwrap_or(&[0; CRC_TAIL_BYTES]);
    Ok((root, parse_crc_tail(sum, offset + COUNT_BYTES as u64)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_known_by_how_they_begin_and_end() {
        for style in [LineBreak::Unix, LineBreak::Mime] {
            let reserved = reserved_section(&[7; RESERVED_BYTES], style);
            assert_eq!(reserved.len() as u64 + FILE_HEADER_BYTES as u64, LONG_HEADER_BYTES);
            let block: [u8; RESERVED_SECTION_BYTES] = (&*reserved).try_into().unwrap();
            assert!(is_reserved(&block));
            let mut torn = block;
            torn[512 - FILE_HEADER_BYTES..].fill(0);
            assert!(!is_reserved(&torn));
            for objects in [1, 32, 100] {
                let view = view_section(&vec![5; objects], 1000, style).unwrap();
                let head = view.first_chunk().unwrap();
                assert!(block_bytes(head, RESERVED).is_none());
                assert_eq!(end_of_view(head, 640), Some(640 + view.len() as u64));
                let (root, sum) = parse_view_tail(view.last_chunk().unwrap(), 0).unwrap();
                assert_eq!((root, sum), (1000, crc::of(&view[..view.len() - CRC_TAIL_BYTES])));
                assert_eq!(end_of_view(reserved.first_chunk().unwrap(), 640), None);
            }
        }
    }
}
