//! Groups: object headers with links.

use crate::UNDEFINED;
use crate::bytes::Bytes;
use crate::message::{Messages, hard_link, kind, soft_link};
use crate::out::Out;
use scda_base::error::Result;

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

/// Puts a group with these links, whose names ascend, and these other messages; its address.
pub fn put(out: &mut Out, links: &Links, others: &Messages) -> Result<u64> {
    let mut messages = Messages::new();
    let mut info = Bytes::new();
    info.put(&[0, 0])?;
    info.long(UNDEFINED)?;
    info.long(UNDEFINED)?;
    messages.put(kind::LINK_INFO, info.as_slice())?;
    messages.put(kind::GROUP_INFO, &[0, 0])?;
    for (name, target) in links {
        let mut link = Bytes::new();
        match target {
            Target::Object(address) => hard_link(&mut link, name, *address)?,
            Target::Path(path) => soft_link(&mut link, name, path)?,
        }
        messages.put(kind::LINK, link.as_slice())?;
    }
    messages.extend(others)?;
    out.put(messages.header()?.as_slice())
}
