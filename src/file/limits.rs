//! The sizes at which work on datasets is divided.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The sizes at which work on datasets is divided: how much memory a step takes, and from where on a faster way pays. The file does not
/// depend on them. All ranks pass the same.
///
/// The defaults are what programs need. Tests pass small ones, so that few data take every way that many do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Limits {
    /// Items that lie scattered in memory are gathered from it, and scattered to it, by this number of bytes: they stay in the
    /// processor's cache.
    pub gathered_bytes: u64,
    /// The same of several datasets that take turns, together with the memory around their items. Each has a sixteenth at least, since
    /// less would take too many system calls.
    pub turn_bytes: u64,
    /// The bytes of the chunks of which a rank gets the parts in one exchange.
    pub exchange_bytes: u64,
    /// If no rank passes more bytes of chunks than this, it does not matter which rank compresses how many.
    pub balanced_bytes: u64,
    /// Datasets are compressed together as long as their arrays have no more bytes in all, for each rank.
    pub together_bytes: u64,
    /// The memory for encoded chunks, unless they are fewer or longer.
    pub encoded_bytes: u64,
    /// A dataset that comes as a stream is held in memory if it has no more bytes, else it is read by about this number.
    pub streamed_bytes: u64,
    /// Ranks of a node do not read chunks for one another if the datasets have fewer bytes.
    pub shared_bytes: u64,
    /// Memory that they share for it is looked for as soon as it would have saved a rank from decompressing this number of bytes.
    pub saved_bytes: u64,
    /// With each of its threads, a rank decompresses this number of bytes for others, but at least one chunk, before these copy them.
    pub round_bytes: u64,
    /// The most chunks of which the ranks find out together which of them several want.
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
    /// The bytes of whole items that are gathered or scattered at once.
    pub(crate) fn gathered(&self, item_bytes: u64) -> u64 {
        (self.gathered_bytes / item_bytes).max(1) * item_bytes
    }

    /// The bytes of each of `datasets` datasets that are gathered or scattered in turns.
    pub(crate) fn turn(&self, datasets: usize) -> u64 {
        (self.turn_bytes / datasets as u64).max(self.turn_bytes / 16)
    }

    /// A value for the comparison that all ranks pass the same.
    pub(super) fn word(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}
