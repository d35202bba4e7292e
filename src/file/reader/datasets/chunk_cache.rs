//! A cache of decompressed chunks, so that later boxes need not decompress them again.

use std::collections::BTreeMap;

/// Identifies a chunk: the offset of its dataset's data, and its number.
type ChunkKey = (u64, u64);

/// The chunks that were used last, with at most `most` bytes in all.
#[derive(Default)]
pub(super) struct ChunkCache {
    most: u64,
    bytes: u64,
    chunks: BTreeMap<ChunkKey, CachedChunk>,
    /// The chunks in the order of their last use.
    order: BTreeMap<u64, ChunkKey>,
    uses: u64,
}

struct CachedChunk {
    used: u64,
    data: Vec<u8>,
}

impl ChunkCache {
    pub fn new(most: u64) -> Self {
        Self { most, ..Self::default() }
    }

    /// Whether a chunk of this size can be kept.
    pub fn keeps(&self, bytes: u64) -> bool {
        bytes <= self.most
    }

    /// The chunk, if it is in the cache.
    pub fn get(&mut self, place: ChunkKey) -> Option<&[u8]> {
        let kept = self.chunks.get_mut(&place)?;
        self.uses += 1;
        self.order.remove(&std::mem::replace(&mut kept.used, self.uses));
        self.order.insert(self.uses, place);
        Some(&kept.data)
    }

    /// Keeps a chunk in place of those that have not been used for longest. Returns the memory of one of
    /// these.
    pub fn put(&mut self, place: ChunkKey, data: Vec<u8>) -> Vec<u8> {
        let bytes = data.len() as u64;
        if !self.keeps(bytes) {
            return data;
        }
        let mut free = Vec::new();
        if let Some(before) = self.chunks.remove(&place) {
            self.order.remove(&before.used);
            self.bytes -= before.data.len() as u64;
            free = before.data;
        }
        while self.bytes + bytes > self.most
            && let Some((_, oldest)) = self.order.pop_first()
        {
            if let Some(kept) = self.chunks.remove(&oldest) {
                self.bytes -= kept.data.len() as u64;
                free = kept.data;
            }
        }
        self.uses += 1;
        self.bytes += bytes;
        self.order.insert(self.uses, place);
        self.chunks.insert(place, CachedChunk { used: self.uses, data });
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_is_kept() {
        let mut cache = ChunkCache::new(30);
        let get = |cache: &mut ChunkCache, place| cache.get(place).map(|chunk| (chunk[0], chunk.len()));
        for chunk in 0..3_u8 {
            assert!(cache.put((7, chunk.into()), vec![chunk; 10]).is_empty());
        }
        assert_eq!(get(&mut cache, (7, 0)), Some((0, 10)));
        // The least recently used chunk, which is another one, makes room and gives its memory.
        assert_eq!(cache.put((8, 0), vec![9; 10]), [1; 10]);
        for (place, found) in [((7, 1), None), ((7, 2), Some(2)), ((7, 0), Some(0)), ((8, 0), Some(9))] {
            assert_eq!(get(&mut cache, place), found.map(|byte| (byte, 10)));
        }
        // A chunk that is read again, and one that is too large.
        assert_eq!(cache.put((7, 0), vec![5; 10]), [0; 10]);
        assert_eq!(cache.put((7, 5), vec![5; 31]), [5; 31]);
        assert_eq!((get(&mut cache, (7, 0)), get(&mut cache, (7, 5))), (Some((5, 10)), None));
        assert_eq!((cache.bytes, cache.order.len(), cache.chunks.len()), (30, 3, 3));
        // A large one replaces all.
        cache.put((9, 0), vec![1; 25]);
        assert_eq!((cache.bytes, cache.order.len(), cache.chunks.len()), (25, 1, 1));
        assert!(!ChunkCache::new(0).keeps(1));
    }
}
