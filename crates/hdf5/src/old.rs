//! The view that a file has, as far as another one refers to it: only what this library writes is known.

use crate::checksum::checksum;
use crate::group::Target;
use crate::message::kind;
use crate::tree::Tree;
use crate::view::Previous;
use crate::{BASE, UNDEFINED, dense};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{reserve, resize};
use std::collections::HashMap;

/// The most bytes of an object header, or of a block of one: one of a group has some 20 bytes for each link.
const MAX_BYTES: u64 = 1 << 30;

/// What is wrong with the view at an address.
pub fn wrong(address: u64, what: &str) -> Error {
    let error = Error::new(ErrorKind::Format, format!("view of HDF5: {what}"));
    error.at(address.saturating_add(BASE))
}

/// The previous view.
pub struct Old<'a> {
    read: &'a mut dyn FnMut(u64, &mut [u8]) -> Result<()>,
    /// The address of the root group.
    pub root: u64,
    /// Where the previous view ends at most.
    end: u64,
}

/// A message of an object header.
pub struct Message {
    /// Its type.
    pub kind: u8,
    /// Its data.
    pub data: Vec<u8>,
}

/// A group of the previous view.
#[derive(Default)]
pub struct OldGroup {
    /// All links.
    pub links: HashMap<String, Target>,
    /// Blocks of links that its object header continues in, each of which continues in the next.
    pub blocks: Vec<LinkBlock>,
}

/// A block of links, which another group can continue in, too.
#[derive(Clone)]
pub struct LinkBlock {
    /// Its address.
    pub address: u64,
    /// Its bytes.
    pub bytes: u64,
    /// The names of its links, sorted.
    pub names: Vec<String>,
}

impl<'a> Old<'a> {
    /// The previous view of a file that gets another one at an offset.
    pub fn new(previous: Previous<'a>, offset: u64) -> Result<Self> {
        let Previous { root, read } = previous;
        let (root, end) = (root.checked_sub(BASE), offset.checked_sub(BASE));
        let found = root.zip(end).filter(|(root, end)| root < end);
        let (root, end) = found.ok_or_else(|| Error::argument("HDF5: the previous view follows this one"))?;
        Ok(Self { read, root, end })
    }

    /// Bytes at an address.
    pub fn bytes(&mut self, address: u64, bytes: u64) -> Result<Vec<u8>> {
        let is_there = address.checked_add(bytes).is_some_and(|end| end <= self.end) && bytes <= MAX_BYTES;
        if !is_there {
            return Err(wrong(address.min(self.end), "found an object beyond its end"));
        }
        let mut found = Vec::new();
        resize(&mut found, bytes)?;
        (self.read)(address + BASE, &mut found)?;
        Ok(found)
    }

    /// Bytes at an address that end with their checksum, without it.
    pub fn checked(&mut self, address: u64, bytes: u64) -> Result<Vec<u8>> {
        let mut found = self.bytes(address, bytes)?;
        let sum = found.last_chunk::<4>().map(|sum| u32::from_le_bytes(*sum));
        found.truncate(found.len().saturating_sub(4));
        if sum == Some(checksum(&found)) { Ok(found) } else { Err(wrong(address, "found another checksum")) }
    }

    /// The messages of an object header without those that it continues in.
    pub fn header(&mut self, address: u64) -> Result<Vec<Message>> {
        let start = self.bytes(address, 10)?;
        let width = match start[..6] {
            [b'O', b'H', b'D', b'R', 2, flags @ 0..=2] => 1_usize << flags,
            _ => return Err(wrong(address, "expected an object header")),
        };
        let length = number(&start[6..6 + width]);
        let head = 6 + width as u64;
        let all = self.checked(address, head + length + 4)?;
        messages(address, &all[6 + width..])
    }

    /// The messages of a block in which an object header continues.
    pub fn continuation(&mut self, address: u64, bytes: u64) -> Result<Vec<Message>> {
        let all = self.checked(address, bytes)?;
        match all.strip_prefix(b"OCHK") {
            Some(all) => messages(address, all),
            None => Err(wrong(address, "expected a continuation block")),
        }
    }

    /// A group.
    pub fn group(&mut self, address: u64) -> Result<OldGroup> {
        let mut group = OldGroup::default();
        let header = self.header(address)?;
        let mut next = continued(&header)?;
        add_links(address, &header, &mut group.links)?;
        if let Some(heap) = header.iter().find(|message| message.kind == kind::LINK_INFO)
            && let Some(heap) = heap.data.get(2..10).map(number).filter(|&heap| heap != UNDEFINED)
        {
            dense::read(self, heap, &mut group.links)?;
        }
        // Each block lies before those that continue in it.
        let mut limit = address;
        while let Some((at, bytes)) = next.filter(|(at, _)| *at < limit) {
            let block = self.continuation(at, bytes)?;
            let mut links = HashMap::new();
            add_links(at, &block, &mut links)?;
            let mut names: Vec<String> = links.keys().cloned().collect();
            names.sort_unstable();
            reserve(&mut group.blocks, 1)?;
            group.blocks.push(LinkBlock { address: at, bytes, names });
            group.links.extend(links);
            (next, limit) = (continued(&block)?, at);
        }
        Ok(group)
    }

    /// Where the object header of a dataset continues, and the data of the message that says where its data are.
    pub fn dataset(&mut self, address: u64) -> Result<(Option<(u64, u64)>, Vec<u8>)> {
        let mut header = self.header(address)?;
        let next = continued(&header)?;
        let layout = header.iter_mut().find(|message| message.kind == kind::LAYOUT);
        Ok((next, layout.map(|message| std::mem::take(&mut message.data)).unwrap_or_default()))
    }

    /// The tree of the chunks of a dataset, by the message that says where its data are.
    pub fn tree(&mut self, layout: &[u8], empty: Tree) -> Result<Tree> {
        let address = layout.last_chunk::<8>().map_or(UNDEFINED, |address| u64::from_le_bytes(*address));
        if address == UNDEFINED { Ok(empty) } else { empty.load(self, address) }
    }
}

/// A number of up to 8 bytes, the lowest first.
pub fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte))
}

/// The messages in bytes.
fn messages(address: u64, mut bytes: &[u8]) -> Result<Vec<Message>> {
    let mut found = Vec::new();
    while let [kind, low, high, _, rest @ ..] = bytes {
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        let Some((data, behind)) = rest.split_at_checked(length) else { break };
        reserve(&mut found, 1)?;
        found.push(Message { kind: *kind, data: data.to_vec() });
        bytes = behind;
    }
    if bytes.is_empty() { Ok(found) } else { Err(wrong(address, "found a message that is cut")) }
}

/// Where messages continue.
fn continued(messages: &[Message]) -> Result<Option<(u64, u64)>> {
    let mut all = messages.iter().filter(|message| message.kind == kind::CONTINUATION);
    let Some(message) = all.next() else { return Ok(None) };
    match (&message.data[..], all.next()) {
        (data @ [_, _, _, _, _, _, _, _, rest @ ..], None) if rest.len() == 8 => {
            Ok(Some((number(&data[..8]), number(rest))))
        }
        _ => Err(wrong(0, "found another continuation than libscda writes")),
    }
}

fn add_links(address: u64, messages: &[Message], links: &mut HashMap<String, Target>) -> Result<()> {
    for message in messages.iter().filter(|message| message.kind == kind::LINK) {
        let link = link(&message.data).filter(|(_, _, rest)| rest.is_empty());
        let (name, target, _) =
            link.ok_or_else(|| wrong(address, "found another link than libscda writes"))?;
        add_link(links, name, target)?;
    }
    Ok(())
}

/// Notes a link.
pub fn add_link(links: &mut HashMap<String, Target>, name: String, target: Target) -> Result<()> {
    links.try_reserve(1).map_err(|_| Error::memory(name.len()))?;
    links.insert(name, target);
    Ok(())
}

/// The link that bytes begin with: its name, what it leads to, and the bytes behind it.
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
