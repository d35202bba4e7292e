//! Groups: object headers with links.

use crate::buffer::ViewBuffer;
use crate::bytes::Bytes;
use crate::links::{SortedLinks, add_link, link, put_message};
use crate::message::{Messages, kind};
use crate::previous_view::{Message, PreviousView, continued, number, wrong};
use crate::{UNDEFINED, dense};
use scda_base::error::Result;
use scda_base::memory::push;
use std::collections::HashMap;

/// To find a link in an object header, HDF5 reads all of them. Groups with more links than this use a tree.
const MOST_IN_HEADER: usize = 512;
/// At least this many links that are unchanged since the previous view get a block of their own, to which
/// later views refer.
const FEWEST_IN_BLOCK: usize = 64;

/// A group of the previous view.
#[derive(Default)]
pub struct PreviousGroup {
    /// All links.
    pub links: HashMap<String, u64>,
    /// Blocks of links in which its object header continues, each of which continues in the next.
    pub blocks: Vec<LinkBlock>,
}

/// A block of links, in which other groups can continue as well.
#[derive(Clone)]
pub struct LinkBlock {
    /// Its address.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// The names of its links, sorted.
    pub names: Vec<String>,
}

/// Reads the group of the previous view at an address.
pub fn read(old: &mut PreviousView<'_>, address: u64) -> Result<PreviousGroup> {
    let mut group = PreviousGroup::default();
    let header = old.header(address)?;
    let mut next = continued(&header)?;
    add_links(address, &header, &mut group.links)?;
    if let Some(heap) = header.iter().find(|message| message.kind == kind::LINK_INFO)
        && let Some(heap) = heap.data.get(2..10).map(number).filter(|&heap| heap != UNDEFINED)
    {
        dense::read(old, heap, &mut group.links)?;
    }
    // Each block precedes those that continue in it.
    let mut limit = address;
    while let Some((at, bytes)) = next.filter(|(at, _)| *at < limit) {
        let block = old.continuation(at, bytes)?;
        let mut links = HashMap::new();
        add_links(at, &block, &mut links)?;
        let mut names: Vec<String> = links.keys().cloned().collect();
        names.sort_unstable();
        push(&mut group.blocks, LinkBlock { address: at, bytes, names })?;
        group.links.extend(links);
        (next, limit) = (continued(&block)?, at);
    }
    Ok(group)
}

fn add_links(address: u64, messages: &[Message], links: &mut HashMap<String, u64>) -> Result<()> {
    for message in messages.iter().filter(|message| message.kind == kind::LINK) {
        let link = link(&message.data).filter(|(_, _, rest)| rest.is_empty());
        let (name, object, _) =
            link.ok_or_else(|| wrong(address, "found a link that libscda would not write"))?;
        add_link(links, name, object)?;
    }
    Ok(())
}

/// Writes a group with these links and other messages; returns its address.
pub fn put(out: &mut ViewBuffer, links: &SortedLinks<'_>, others: &Messages) -> Result<u64> {
    let all = links.all();
    let dense = if all.len() > MOST_IN_HEADER { dense::put(out, all)? } else { None };
    match dense {
        Some(dense) => put_header(out, &mut std::iter::empty(), others, dense, None),
        None => put_header(out, &mut all.iter(), others, (UNDEFINED, UNDEFINED), None),
    }
}

/// Writes a group whose links have changed since the previous view. Blocks of unchanged links are reused.
pub fn put_after(
    out: &mut ViewBuffer,
    links: &SortedLinks<'_>,
    others: &Messages,
    old: &PreviousGroup,
) -> Result<u64> {
    let is_same = |name: &str| links.get(name).is_some_and(|address| old.links.get(name) == Some(&address));
    // The last block is the oldest one, and continues in none.
    let stay = old.blocks.iter().rev().take_while(|block| block.names.iter().all(|name| is_same(name)));
    let stay = &old.blocks[old.blocks.len() - stay.count()..];
    let is_there =
        |name: &str| stay.iter().any(|block| block.names.binary_search_by(|own| (**own).cmp(name)).is_ok());
    let rest: Vec<&(&str, u64)> = links.all().iter().filter(|(name, _)| !is_there(name)).collect();
    let (same, others_in_header): (Vec<_>, Vec<_>) =
        rest.iter().copied().partition(|(name, _)| is_same(name));
    let base = stay.first().map(|LinkBlock { address, bytes, .. }| (*address, *bytes));
    let none = (UNDEFINED, UNDEFINED);
    if same.len() < FEWEST_IN_BLOCK {
        return put_header(out, &mut rest.into_iter(), others, none, base);
    }
    let mut block = Messages::new();
    put_links(&mut block, &mut same.into_iter())?;
    if let Some((address, bytes)) = base {
        block.continued(address, bytes)?;
    }
    let block = block.continuation()?;
    let base = (out.put(block.as_slice())?, block.len() as u64);
    put_header(out, &mut others_in_header.into_iter(), others, none, Some(base))
}

fn put_header<'a>(
    out: &mut ViewBuffer,
    links: &mut dyn Iterator<Item = &'a (&'a str, u64)>,
    others: &Messages,
    (heap, tree): (u64, u64),
    continued: Option<(u64, u64)>,
) -> Result<u64> {
    let mut messages = Messages::new();
    messages.add(kind::LINK_INFO, |info| {
        info.put(&[0, 0])?;
        info.long(heap)?;
        info.long(tree)
    })?;
    messages.put(kind::GROUP_INFO, &[0, 0])?;
    put_links(&mut messages, links)?;
    messages.extend(others)?;
    if let Some((address, bytes)) = continued {
        messages.continued(address, bytes)?;
    }
    out.put(messages.header()?.as_slice())
}

fn put_links<'a>(messages: &mut Messages, links: &mut dyn Iterator<Item = &'a (&'a str, u64)>) -> Result<()> {
    let mut link = Bytes::new();
    for (name, address) in links {
        link.clear();
        put_message(&mut link, name, *address)?;
        messages.put(kind::LINK, link.as_slice())?;
    }
    Ok(())
}
