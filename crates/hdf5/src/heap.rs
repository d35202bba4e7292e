//! Global heaps, for the texts of attributes and lists of references.

use crate::buffer::ViewBuffer;
use crate::bytes::Bytes;
use scda_base::error::{Error, Result};
use scda_base::memory::copy;
use scda_base::numbers::to_usize;
use std::collections::HashMap;

/// The smallest collection that HDF5 accepts.
const COLLECTION_BYTES: usize = 4096;
/// The size of the first collection in a view that follows another one. What follows is then in its free
/// space, which HDF5 does not read. Such a view often needs a heap for a single reference.
const SHORT_BYTES: usize = 256;
/// The size of the head of a collection, and of an object.
const HEAD_BYTES: usize = 16;

/// The place of an object in a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapObject {
    /// The address of its collection.
    pub collection: u64,
    /// Its number there.
    pub number: u16,
}

/// Collections of objects, the last of which has room. Equal objects are stored once.
pub struct Heap {
    known: HashMap<Vec<u8>, HeapObject>,
    room: Option<Room>,
    /// The size of a collection, unless an object needs more.
    collection_bytes: usize,
    /// The address at which HDF5 expects the last collection to end.
    end: u64,
}

/// A collection that is not full.
struct Room {
    address: u64,
    /// Its size for HDF5, its actual size, and how much of that is used.
    bytes: usize,
    own: usize,
    taken: usize,
    objects: u16,
}

impl Heap {
    /// A heap without objects. In a view that follows another one, collections are shorter than HDF5 reads
    /// them.
    pub fn new(is_after: bool) -> Self {
        let collection_bytes = if is_after { SHORT_BYTES } else { COLLECTION_BYTES };
        Self { known: HashMap::new(), room: None, collection_bytes, end: 0 }
    }

    /// Writes zeros so that HDF5 can read each collection completely, if this many bytes follow.
    pub fn finish(&self, out: &mut ViewBuffer, following: u64) -> Result<()> {
        let missing = self.end.saturating_sub(out.address().saturating_add(following));
        out.put(&vec![0; to_usize(missing).min(COLLECTION_BYTES)]).map(drop)
    }

    /// Stores an object with these bytes.
    ///
    /// # Errors
    /// `Memory`; `Range` beyond the largest offset of a file.
    pub fn put(&mut self, out: &mut ViewBuffer, data: &[u8]) -> Result<HeapObject> {
        if let Some(known) = self.known.get(data) {
            return Ok(*known);
        }
        let bytes = HEAD_BYTES + data.len().next_multiple_of(8);
        let fits = |room: &Room| bytes + HEAD_BYTES <= room.own - room.taken && room.objects < u16::MAX;
        let mut room = match self.room.take().filter(fits) {
            Some(room) => room,
            None => self.collection(out, bytes)?,
        };
        room.objects += 1;
        let object = HeapObject { collection: room.address, number: room.objects };
        let mut written = head(room.objects, 1, data.len())?;
        written.put(data)?;
        written.zeros(bytes - HEAD_BYTES - data.len())?;
        out.replace(room.address + room.taken as u64, written.as_slice());
        room.taken += bytes;
        // Object 0 is the rest of the collection, including its own head.
        let left = room.bytes - room.taken;
        out.replace(room.address + room.taken as u64, head(0, 0, left)?.as_slice());
        self.room = Some(room);
        let full = |_| Error::memory(size_of::<HeapObject>() + data.len());
        self.known.try_reserve(1).map_err(full)?;
        self.known.insert(copy(data)?, object);
        Ok(object)
    }

    /// Begins an empty collection with room for an object of this size.
    fn collection(&mut self, out: &mut ViewBuffer, object: usize) -> Result<Room> {
        // With room for the head of the free space.
        let own = self.collection_bytes.max(2 * HEAD_BYTES + object);
        let bytes = own.max(COLLECTION_BYTES);
        let mut head = Bytes::new();
        head.put(b"GCOL\x01\0\0\0")?;
        head.long(bytes as u64)?;
        head.zeros(own - HEAD_BYTES)?;
        let address = out.put(head.as_slice())?;
        self.end = self.end.max(address.saturating_add(bytes as u64));
        Ok(Room { address, bytes, own, taken: HEAD_BYTES, objects: 0 })
    }
}

/// The head of an object.
fn head(number: u16, references: u64, bytes: usize) -> Result<Bytes> {
    let mut head = Bytes::new();
    head.number(number.into(), 2)?;
    head.number(references, 2)?;
    head.number(0, 4)?;
    head.long(bytes as u64)?;
    Ok(head)
}

/// Writes a text or list of `count` items as a reference to its data in a heap.
pub fn put_variable(out: &mut Bytes, count: usize, object: Option<HeapObject>) -> Result<()> {
    out.number(count as u64, 4)?;
    let (collection, number) = object.map_or((0, 0), |object| (object.collection, object.number));
    out.long(collection)?;
    out.number(number.into(), 4)
}
