//! Global heaps: where the texts of attributes and lists of references are.

use crate::bytes::Bytes;
use crate::out::Out;
use scda_base::error::{Error, Result};
use scda_base::memory::copy;
use std::collections::HashMap;

/// The fewest bytes of a collection, as HDF5 wants it.
const COLLECTION_BYTES: usize = 4096;
/// What precedes its objects, and each object.
const HEAD_BYTES: usize = 16;

/// An object in a heap: the address of its collection, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapObject {
    collection: u64,
    number: u16,
}

/// Collections of objects, the last of which has room. Equal objects are kept once.
#[derive(Default)]
pub struct Heap {
    known: HashMap<Vec<u8>, HeapObject>,
    room: Option<Room>,
}

/// A collection that is not full.
struct Room {
    address: u64,
    /// Its bytes, and how many of them are taken.
    bytes: usize,
    taken: usize,
    objects: u16,
}

impl Heap {
    /// The object of these bytes.
    ///
    /// # Errors
    /// `Memory`; `Range` beyond the greatest offset of a file.
    pub fn put(&mut self, out: &mut Out, data: &[u8]) -> Result<HeapObject> {
        if let Some(known) = self.known.get(data) {
            return Ok(*known);
        }
        let bytes = HEAD_BYTES + data.len().next_multiple_of(8);
        let fits = |room: &Room| bytes <= room.bytes - room.taken && room.objects < u16::MAX;
        let mut room = match self.room.take().filter(fits) {
            Some(room) => room,
            None => Self::collection(out, bytes)?,
        };
        room.objects += 1;
        let object = HeapObject { collection: room.address, number: room.objects };
        let mut written = head(room.objects, 1, data.len())?;
        written.put(data)?;
        written.zeros(bytes - HEAD_BYTES - data.len())?;
        out.replace(room.address + room.taken as u64, written.as_slice());
        room.taken += bytes;
        // Object 0 is the rest of the collection, itself included; less than its head has no meaning.
        let left = room.bytes - room.taken;
        if left >= HEAD_BYTES {
            out.replace(room.address + room.taken as u64, head(0, 0, left)?.as_slice());
        }
        self.room = Some(room);
        let full = |_| Error::memory(size_of::<HeapObject>() + data.len());
        self.known.try_reserve(1).map_err(full)?;
        self.known.insert(copy(data)?, object);
        Ok(object)
    }

    /// An empty collection with room for an object of so many bytes.
    fn collection(out: &mut Out, object: usize) -> Result<Room> {
        let bytes = COLLECTION_BYTES.max(HEAD_BYTES + object);
        let mut head = Bytes::new();
        head.put(b"GCOL\x01\0\0\0")?;
        head.long(bytes as u64)?;
        head.zeros(bytes - HEAD_BYTES)?;
        let address = out.put(head.as_slice())?;
        Ok(Room { address, bytes, taken: HEAD_BYTES, objects: 0 })
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
