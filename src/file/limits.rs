//! The sizes that decide how work on datasets is divided.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The sizes that decide how work on datasets is divided: how much memory a step takes, and from which size
/// on a faster way pays. They do not affect the file. The same on all ranks.
///
/// Programs need only the defaults. Tests pass small sizes, so that little data exercise every way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Limits {
    /// Items that are scattered in memory are gathered and scattered this many bytes at a time, to stay in
    /// the processor's cache.
    pub gathered_bytes: u64,
    /// The same for several datasets that take turns, together with the memory around their items. Each
    /// dataset gets at least a sixteenth, because smaller steps would take too many system calls.
    pub turn_bytes: u64,
    /// The bytes of the chunks whose parts a rank receives in one exchange.
    pub exchange_bytes: u64,
    /// Chunks are not balanced between ranks if no rank passes more bytes of them than this.
    pub balanced_bytes: u64,
    /// Datasets are compressed together as long as their arrays have no more bytes in all, on each rank.
    pub together_bytes: u64,
    /// The memory for encoded chunks, unless less is needed or one chunk needs more.
    pub encoded_bytes: u64,
    /// A dataset that comes as a stream is held in memory if it has at most this many bytes. Otherwise it is
    /// read in steps of about this size.
    pub streamed_bytes: u64,
    /// Ranks of a node decompress chunks for one another only if the datasets have at least this many bytes.
    pub shared_bytes: u64,
    /// The ranks look for shared memory once it would have saved a rank from decompressing this many bytes.
    pub saved_bytes: u64,
    /// The bytes that a rank decompresses for others, per thread, before these copy them; at least one chunk.
    pub round_bytes: u64,
    /// The most chunks in one vote of the ranks on which of them several want.
    pub round_chunks: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            gathered_bytes: 1 << 20,
            turn_bytes: 256 << 10,
            exchange_bytes: 16 << 20,
            balanced_bytes: 64 << 10,
            together_bytes: 16 << 20,
            encoded_bytes: 16 << 20,
            streamed_bytes: 64 << 20,
            shared_bytes: 1 << 20,
            saved_bytes: 4 << 20,
            round_bytes: 1 << 20,
            round_chunks: 4096,
        }
    }
}

impl Limits {
    /// The bytes of whole items that are gathered or scattered at a time.
    pub(crate) fn gathered(&self, item_bytes: u64) -> u64 {
        (self.gathered_bytes / item_bytes).max(1) * item_bytes
    }

    /// The bytes of each of `datasets` datasets that are gathered or scattered in turn.
    pub(crate) fn turn(&self, datasets: usize) -> u64 {
        (self.turn_bytes / datasets as u64).max(self.turn_bytes / 16)
    }

    /// A value that is equal on all ranks if all limits are.
    pub(super) fn word(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}
