//! Links of groups.

use crate::bytes::Bytes;
use crate::message::{hard_link, soft_link};
use crate::previous_view::number;
use scda_base::error::{Error, Result};
use scda_base::memory::reserve;
use std::collections::HashMap;

/// The target of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The object at this address.
    Object(u64),
    /// Whatever is at this path.
    Path(String),
}

/// The links of a group: names and targets.
#[derive(Debug, Default)]
pub struct Links<'a>(Vec<(&'a str, Target)>);

impl<'a> Links<'a> {
    /// Adds a link.
    pub fn push(&mut self, name: &'a str, target: Target) -> Result<()> {
        reserve(&mut self.0, 1)?;
        self.0.push((name, target));
        Ok(())
    }

    /// The links sorted by name. If a name was added more than once, the first link counts.
    pub fn sorted(mut self) -> SortedLinks<'a> {
        self.0.sort_by_key(|(name, _)| *name);
        self.0.dedup_by_key(|(name, _)| *name);
        SortedLinks(self.0)
    }
}

/// Links sorted by name, without duplicates.
pub struct SortedLinks<'a>(Vec<(&'a str, Target)>);

impl SortedLinks<'_> {
    /// All links.
    pub fn all(&self) -> &[(&str, Target)] {
        &self.0
    }

    /// The target of a link.
    pub fn get(&self, name: &str) -> Option<&Target> {
        let number = self.0.binary_search_by_key(&name, |(own, _)| own).ok()?;
        Some(&self.0[number].1)
    }
}

/// Appends the message of a link.
pub fn put_message(out: &mut Bytes, name: &str, target: &Target) -> Result<()> {
    match target {
        Target::Object(address) => hard_link(out, name, *address),
        Target::Path(path) => soft_link(out, name, path),
    }
}

/// Adds a link to a map.
pub fn add_link(links: &mut HashMap<String, Target>, name: String, target: Target) -> Result<()> {
    links.try_reserve(1).map_err(|_| Error::memory(name.len()))?;
    links.insert(name, target);
    Ok(())
}

/// Parses the link with which bytes begin: its name, its target, and the bytes after it.
pub fn link(bytes: &[u8]) -> Option<(String, Target, &[u8])> {
    let ([1, flags], rest) = bytes.split_first_chunk::<2>()? else { return None };
    let (link_type, rest) = if flags & 8 == 0 { (0, rest) } else { (*rest.first()?, &rest[1..]) };
    let rest = if flags & 0x10 == 0 { rest } else { rest.get(1..)? };
    let width = if flags & 1 == 0 { 1 } else { 2 };
    if flags & !0x19 != 0 {
        return None;
    }
    let (length, rest) = rest.split_at_checked(width)?;
    let (name, rest) = rest.split_at_checked(usize::try_from(number(length)).ok()?)?;
    let name = String::from_utf8(name.to_vec()).ok()?;
    match link_type {
        0 => {
            let (address, rest) = rest.split_first_chunk::<8>()?;
            Some((name, Target::Object(u64::from_le_bytes(*address)), rest))
        }
        1 => {
            let (length, rest) = rest.split_at_checked(2)?;
            let (path, rest) = rest.split_at_checked(usize::try_from(number(length)).ok()?)?;
            Some((name, Target::Path(String::from_utf8(path.to_vec()).ok()?), rest))
        }
        _ => None,
    }
}
