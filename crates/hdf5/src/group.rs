//! Groups: object headers with links.

use crate::bytes::Bytes;
use crate::message::{Messages, hard_link, kind, soft_link};
use crate::out::Out;
use crate::{UNDEFINED, dense};
use scda_base::error::Result;
use scda_base::memory::reserve;

/// What a link leads to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The object at this address.
    Object(u64),
    /// What is at this path.
    Path(String),
}

/// The links of a group, by their names.
pub type Links = [(String, Target)];

/// HDF5 reads all links of an object header to find one: those of more are found by a tree.
const MOST_IN_HEADER: usize = 512;

/// Puts a group with these links, whose names ascend, and these other messages; its address.
pub fn put(out: &mut Out, links: &Links, others: &Messages) -> Result<u64> {
    let mut written = Vec::new();
    reserve(&mut written, links.len())?;
    for (name, target) in links {
        let mut link = Bytes::new();
        match target {
            Target::Object(address) => hard_link(&mut link, name, *address)?,
            Target::Path(path) => soft_link(&mut link, name, path)?,
        }
        written.push((name.as_str(), link));
    }
    let dense = if links.len() > MOST_IN_HEADER { dense::put(out, &written)? } else { None };
    let (heap, tree) = dense.unwrap_or((UNDEFINED, UNDEFINED));
    let mut messages = Messages::new();
    let mut info = Bytes::new();
    info.put(&[0, 0])?;
    info.long(heap)?;
    info.long(tree)?;
    messages.put(kind::LINK_INFO, info.as_slice())?;
    messages.put(kind::GROUP_INFO, &[0, 0])?;
    if dense.is_none() {
        for (_, link) in &written {
            messages.put(kind::LINK, link.as_slice())?;
        }
    }
    messages.extend(others)?;
    out.put(messages.header()?.as_slice())
}
