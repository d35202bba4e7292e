//! Links of groups.

use crate::bytes::Bytes;
use crate::message::{hard_link, soft_link};
use crate::old::number;
use scda_base::error::{Error, Result};
use std::collections::{BTreeMap, HashMap};

/// What a link leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The object at this address.
    Object(u64),
    /// What is at this path.
    Path(String),
}

/// The links of a group, by their names.
pub type Links = BTreeMap<String, Target>;

/// The message of a link.
pub fn message(name: &str, target: &Target) -> Result<Bytes> {
    let mut link = Bytes::new();
    match target {
        Target::Object(address) => hard_link(&mut link, name, *address)?,
        Target::Path(path) => soft_link(&mut link, name, path)?,
    }
    Ok(link)
}

/// Notes a link.
pub fn add_link(links: &mut HashMap<String, Target>, name: String, target: Target) -> Result<()> {
    links.try_reserve(1).map_err(|_| Error::memory(name.len()))?;
    links.insert(name, target);
    Ok(())
}

/// The link that bytes begin with: its name, what it leads to, and the bytes after it.
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
