//! The current view of a file, as far as the next one refers to it. Only what this library writes is
//! supported.

use crate::BASE;
use crate::checksum::checksum;
use crate::message::kind;
use crate::parts::Previous;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{push, resize};

/// The largest object header, or block of one: a group takes about 20 bytes for each link.
const MAX_BYTES: u64 = 1 << 30;

/// The error for a view that is wrong at an address.
pub fn wrong(address: u64, what: &str) -> Error {
    let error = Error::new(ErrorKind::Format, format!("view of HDF5: {what}"));
    error.at(address.saturating_add(BASE))
}

/// The previous view.
pub struct PreviousView<'a> {
    read: &'a mut dyn FnMut(u64, &mut [u8]) -> Result<()>,
    /// The address of the root group.
    pub root: u64,
    /// The offset before which the previous view ends.
    end: u64,
}

/// A message of an object header.
pub struct Message {
    /// Its type.
    pub kind: u8,
    /// Its data.
    pub data: Vec<u8>,
}

/// A dataset of the previous view.
pub struct PreviousDataset {
    /// The address and size of the block in which its object header continues.
    pub constants: Option<(u64, u64)>,
    /// The data of the message with the places of its data.
    pub layout: Vec<u8>,
}

impl<'a> PreviousView<'a> {
    /// The previous view of a file that gets a new one at an offset.
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

    /// Bytes at an address that end with their checksum, which is verified and removed.
    pub fn checked(&mut self, address: u64, bytes: u64) -> Result<Vec<u8>> {
        let mut found = self.bytes(address, bytes)?;
        let sum = found.last_chunk::<4>().map(|sum| u32::from_le_bytes(*sum));
        found.truncate(found.len().saturating_sub(4));
        if sum == Some(checksum(&found)) { Ok(found) } else { Err(wrong(address, "found a wrong checksum")) }
    }

    /// The messages of an object header, without those in continuation blocks.
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

    /// A dataset.
    pub fn dataset(&mut self, address: u64) -> Result<PreviousDataset> {
        let mut header = self.header(address)?;
        let constants = continued(&header)?;
        let layout = header.iter_mut().find(|message| message.kind == kind::LAYOUT);
        let layout = layout.map(|message| std::mem::take(&mut message.data)).unwrap_or_default();
        Ok(PreviousDataset { constants, layout })
    }
}

/// A little-endian number of up to 8 bytes.
pub fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte))
}

/// Parses messages.
fn messages(address: u64, mut bytes: &[u8]) -> Result<Vec<Message>> {
    let mut found = Vec::new();
    while let [kind, low, high, _, rest @ ..] = bytes {
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        let Some((data, after)) = rest.split_at_checked(length) else { break };
        push(&mut found, Message { kind: *kind, data: data.to_vec() })?;
        bytes = after;
    }
    if bytes.is_empty() { Ok(found) } else { Err(wrong(address, "found a truncated message")) }
}

/// The address and size of the continuation block.
pub fn continued(messages: &[Message]) -> Result<Option<(u64, u64)>> {
    let mut all = messages.iter().filter(|message| message.kind == kind::CONTINUATION);
    let Some(message) = all.next() else { return Ok(None) };
    match (&message.data[..], all.next()) {
        (data @ [_, _, _, _, _, _, _, _, rest @ ..], None) if rest.len() == 8 => {
            Ok(Some((number(&data[..8]), number(rest))))
        }
        _ => Err(wrong(0, "found a continuation that libscda would not write")),
    }
}
