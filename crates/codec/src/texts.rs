//! Items of variable length, as a chunk holds them in memory.
//!
//! The number of items is followed by each item, with its length before it. Numbers have 4 bytes, the lowest
//! first.

use scda_base::error::{Error, Result};
use scda_base::memory::reserve;
use scda_base::numbers::to_usize;
use scda_format::dataset::DataType;
use std::ops::Range;

const NUMBER: usize = 4;

/// Appends the number of items of a chunk.
///
/// # Errors
/// `Memory`; `Range` if it exceeds 32 bits.
pub fn put_count(out: &mut Vec<u8>, items: u64) -> Result<()> {
    put_number(out, items, "items of a chunk")
}

/// Appends an item.
///
/// # Errors
/// Those of [`put_count`].
pub fn put(out: &mut Vec<u8>, item: &[u8]) -> Result<()> {
    put_number(out, item.len() as u64, "bytes of an item")?;
    reserve(out, item.len())?;
    out.extend_from_slice(item);
    Ok(())
}

fn put_number(out: &mut Vec<u8>, number: u64, what: &str) -> Result<()> {
    let number = u32::try_from(number)
        .map_err(|_| Error::range(format!("{what}: found {number}, expected 32 bits")))?;
    reserve(out, NUMBER)?;
    out.extend_from_slice(&number.to_le_bytes());
    Ok(())
}

/// Whether all `items` items of a chunk equal this one.
#[must_use]
pub fn is_all(chunk: &[u8], items: u64, item: &[u8]) -> bool {
    let one = NUMBER + item.len();
    let is_one = |found: &[u8]| number_at(found, 0) == Some(item.len()) && found[NUMBER..] == *item;
    chunk.len() as u64 == NUMBER as u64 + items.saturating_mul(one as u64)
        && chunk[NUMBER..].chunks(one).all(is_one)
}

fn number_at(bytes: &[u8], at: usize) -> Option<usize> {
    let number = bytes.get(at..)?.first_chunk::<NUMBER>()?;
    Some(to_usize(u32::from_le_bytes(*number).into()))
}

/// The place of each of the `items` items in a chunk; texts must be UTF-8. The inner error is what was found
/// instead.
///
/// # Errors
/// `Memory`.
pub fn parse(chunk: &[u8], items: u64, data_type: DataType) -> Result<Result<Vec<Range<usize>>, String>> {
    let mut found = Vec::new();
    match number_at(chunk, 0) {
        Some(count) if count as u64 == items => {}
        Some(count) => return Ok(Err(format!("found {count} items, expected {items}"))),
        None => return Ok(Err(format!("found {} bytes, expected the number of items", chunk.len()))),
    }
    // There must be as many lengths.
    if items.saturating_mul(NUMBER as u64) > (chunk.len() - NUMBER) as u64 {
        return Ok(Err(format!("found {} bytes, which cannot hold {items} items", chunk.len())));
    }
    reserve(&mut found, to_usize(items))?;
    let mut at = NUMBER;
    for item in 0..items {
        let start = at + NUMBER;
        let bytes = number_at(chunk, at).and_then(|length| chunk.get(start..)?.get(..length));
        let Some(bytes) = bytes else {
            return Ok(Err(format!(
                "item {item}: found its end after the {} bytes of the chunk",
                chunk.len()
            )));
        };
        if data_type == DataType::String && std::str::from_utf8(bytes).is_err() {
            return Ok(Err(format!("item {item}: found bytes that are not UTF-8")));
        }
        at = start + bytes.len();
        found.push(start..at);
    }
    if at == chunk.len() {
        return Ok(Ok(found));
    }
    Ok(Err(format!("found {} bytes after the last item, expected none", chunk.len() - at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chunk(items: &[&[u8]]) -> Vec<u8> {
        let mut chunk = Vec::new();
        put_count(&mut chunk, items.len() as u64).unwrap();
        items.iter().for_each(|item| put(&mut chunk, item).unwrap());
        chunk
    }

    #[test]
    fn the_bytes_are_those_of_zarr() {
        let chunk = chunk(&["é".as_bytes(), b"b"]);
        assert_eq!(chunk, b"\x02\0\0\0\x02\0\0\0\xc3\xa9\x01\0\0\0b");
        assert_eq!(parse(&chunk, 2, DataType::String).unwrap(), Ok(vec![8..10, 14..15]));
    }

    #[test]
    fn damaged_chunks_are_errors() {
        let good = chunk(&[b"ab", b"\xff"]);
        let wrong = |chunk: &[u8], items, data_type| parse(chunk, items, data_type).unwrap().unwrap_err();
        assert_eq!(wrong(&good, 2, DataType::String), "item 1: found bytes that are not UTF-8");
        assert_eq!(wrong(&good, 3, DataType::VariableBytes), "found 2 items, expected 3");
        assert_eq!(wrong(b"ab", 0, DataType::VariableBytes), "found 2 bytes, expected the number of items");
        let many = [255; 8];
        let found = wrong(&many, u64::from(u32::MAX), DataType::String);
        assert_eq!(found, "found 8 bytes, which cannot hold 4294967295 items");
        let found = wrong(b"\x01\0\0\0", 1, DataType::String);
        assert_eq!(found, "found 4 bytes, which cannot hold 1 items");
        for end in NUMBER..good.len() {
            wrong(&good[..end], 2, DataType::VariableBytes);
        }
        let longer = [&good[..], b"x"].concat();
        assert_eq!(
            wrong(&longer, 2, DataType::VariableBytes),
            "found 1 bytes after the last item, expected none"
        );
    }

    proptest! {
        #[test]
        fn items_come_back(items in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..5), 0..20)) {
            let all: Vec<&[u8]> = items.iter().map(|item| &**item).collect();
            let chunk = chunk(&all);
            let places = parse(&chunk, all.len() as u64, DataType::VariableBytes).unwrap().unwrap();
            let found: Vec<&[u8]> = places.into_iter().map(|place| &chunk[place]).collect();
            prop_assert_eq!(&found, &all);
            for fill in [&b""[..], b"a", all.first().copied().unwrap_or_default()] {
                prop_assert_eq!(is_all(&chunk, all.len() as u64, fill), all.iter().all(|item| *item == fill));
            }
        }
    }
}
