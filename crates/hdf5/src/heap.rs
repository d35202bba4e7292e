//! Global heaps, for the texts of attributes and lists of references.

use crate::buffer::ViewBuffer;
use crate::bytes::Bytes;
use scda_base::error::{Error, Result};
use scda_base::memory::copy;
use scda_base::numbers::to_usize;
use std::collections::HashMap;

/// The fewest bytes of a collection, as HDF5 wants it.
const COLLECTION_BYTES: usize = 4096;
/// The bytes of one that a view after another begins with: what follows lies in its free space, which HDF5 does not look at. Such a view
/// often needs a heap for a single reference.
const SHORT_BYTES: usize = 256;
/// What precedes its objects, and each object.
const HEAD_BYTES: usize = 16;

/// An object in a heap: the address of its collection, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapObject {
    /// The address of its collection.
    pub collection: u64,
    /// Its number there.
    pub number: u16,
}

/// Collections of objects, the last of which has room. Equal objects are kept once.
pub struct Heap {
    known: HashMap<Vec<u8>, HeapObject>,
    room: Option<Room>,
    /// The bytes that a collection takes, unless an object needs more.
    collection_bytes: usize,
    /// The address at which the last collection ends for HDF5.
    end: u64,
}

/// A collection that is not full.
struct Room {
    address: u64,
    /// Its bytes for HDF5, those that are its own, and how many of these are taken.
    bytes: usize,
    own: usize,
    taken: usize,
    objects: u16,
}

impl Heap {
    /// Without objects. In a view after another, collections take less than HDF5 reads of them.
    pub fn new(is_after: bool) -> Self {
        let collection_bytes = if is_after { SHORT_BYTES } else { COLLECTION_BYTES };
        Self { known: HashMap::new(), room: None, collection_bytes, end: 0 }
    }

    /// Puts zeros so that HDF5 can read each collection whole, where so many bytes follow.
    pub fn finish(&self, out: &mut ViewBuffer, following: u64) -> Result<()> {
        let missing = self.end.saturating_sub(out.address().saturating_add(following));
        out.put(&vec![0; to_usize(missing).min(COLLECTION_BYTES)]).map(drop)
    }

    /// The object of these bytes.
    ///
    /// # Errors
    /// `Memory`; `Range` beyond the greatest offset of a file.
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
        // Object 0 is the rest of the collection, itself included.
        let left = room.bytes - room.taken;
        out.replace(room.address + room.taken as u64, head(0, 0, left)?.as_slice());
        self.room = Some(room);
        let full = |_| Error::memory(size_of::<HeapObject>() + data.len());
        self.known.try_reserve(1).map_err(full)?;
        self.known.insert(copy(data)?, object);
        Ok(object)
    }

    /// An empty collection with room for an object of so many bytes.
    fn collection(&mut self, out: &mut ViewBuffer, object: usize) -> Result<Room> {
        // With room for the head of what is free.
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

/// What precedes the data of an object.
fn head(number: u16, references: u64, bytes: usize) -> Result<Bytes> {
    let mut head = Bytes::new();
    head.number(number.into(), 2)?;
    head.number(references, 2)?;
    head.number(0, 4)?;
    head.long(bytes as u64)?;
    Ok(head)
}

/// A text or a list of `count` items, whose data lie in a heap, where it is used.
pub fn put_variable(out: &mut Bytes, count: usize, object: Option<HeapObject>) -> Result<()> {
    out.number(count as u64, 4)?;
    let (collection, number) = object.map_or((0, 0), |object| (object.collection, object.number));
    out.long(collection)?;
    out.number(number.into(), 4)
}
