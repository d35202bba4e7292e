//! Links of groups.

use crate::bytes::{Bytes, width_of};
use crate::previous_view::number;
use scda_base::error::{Error, Result};
use scda_base::memory::push;
use std::collections::HashMap;

/// Flags of a link's message: the length of the name has two bytes; the name is in UTF-8, not in ASCII.
const LONG_NAME: u8 = 0x01;
const UTF8_NAME: u8 = 0x10;

/// The links of a group: names, and the addresses of objects.
#[derive(Debug, Default)]
pub struct Links<'a>(Vec<(&'a str, u64)>);

impl<'a> Links<'a> {
    /// Adds a link.
    pub fn push(&mut self, name: &'a str, address: u64) -> Result<()> {
        push(&mut self.0, (name, address))
    }

    /// The links sorted by name. If a name was added more than once, the first link counts.
    pub fn sorted(mut self) -> SortedLinks<'a> {
        self.0.sort_by_key(|(name, _)| *name);
        self.0.dedup_by_key(|(name, _)| *name);
        SortedLinks(self.0)
    }
}

/// Links sorted by name, without duplicates.
pub struct SortedLinks<'a>(Vec<(&'a str, u64)>);

impl SortedLinks<'_> {
    /// All links.
    pub fn all(&self) -> &[(&str, u64)] {
        &self.0
    }

    /// The address of the object of this name.
    pub fn get(&self, name: &str) -> Option<u64> {
        let number = self.0.binary_search_by_key(&name, |(own, _)| own).ok()?;
        Some(self.0[number].1)
    }
}

/// Appends the message of a link.
pub fn put_message(out: &mut Bytes, name: &str, address: u64) -> Result<()> {
    let (width, is_ascii) = (width_of(name.len() as u64), name.is_ascii());
    let flags = if width > 1 { LONG_NAME } else { 0 } | if is_ascii { 0 } else { UTF8_NAME };
    out.put(&[1, flags])?;
    if !is_ascii {
        out.put(&[1])?;
    }
    out.number(name.len() as u64, width)?;
    out.put(name.as_bytes())?;
    out.long(address)
}

/// Adds a link to a map.
pub fn add_link(links: &mut HashMap<String, u64>, name: String, address: u64) -> Result<()> {
    links.try_reserve(1).map_err(|_| Error::memory(name.len()))?;
    links.insert(name, address);
    Ok(())
}

/// Parses the link with which bytes begin: its name, the address of its object, and the bytes after it.
pub fn link(bytes: &[u8]) -> Option<(String, u64, &[u8])> {
    let ([1, flags], rest) = bytes.split_first_chunk::<2>()? else { return None };
    if flags & !(LONG_NAME | UTF8_NAME) != 0 {
        return None;
    }
    let rest = if flags & UTF8_NAME == 0 { rest } else { rest.get(1..)? };
    let (length, rest) = rest.split_at_checked(if flags & LONG_NAME == 0 { 1 } else { 2 })?;
    let (name, rest) = rest.split_at_checked(usize::try_from(number(length)).ok()?)?;
    let (address, rest) = rest.split_first_chunk::<8>()?;
    Some((String::from_utf8(name.to_vec()).ok()?, u64::from_le_bytes(*address), rest))
}
