//! What the fuzzers do with their input. Each target takes any bytes and panics if the library errs.
//!
//! Used by `tests/fuzzers`, where libFuzzer makes up the bytes, and by `main.rs` in the folder above, which repeats with an ordinary
//! `cargo test` what was found.

mod appending;
mod chunks;
mod datasets;
mod input;
mod outlines;
mod parsing;
mod reading;
mod sealing;
mod streams;
mod views;
mod writing;

pub use appending::{append, look_up};
pub use chunks::chunks;
pub use datasets::datasets;
pub use outlines::outlines;
pub use parsing::{codec_decode, codec_round_trip, parsers};
pub use reading::{read_decoded, read_ranks, read_raw};
pub use sealing::seals;
pub use streams::streams;
pub use views::views;
pub use writing::{partitions, round_trip};

use scda::{Communicator, Result, SharedMemory};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Takes any bytes.
pub type Target = fn(&[u8]);

/// All targets, by name.
pub const ALL: [(&str, Target); 16] = [
    ("parsers", parsers),
    ("codec_decode", codec_decode),
    ("codec_round_trip", codec_round_trip),
    ("read_raw", read_raw),
    ("read_decoded", read_decoded),
    ("read_ranks", read_ranks),
    ("round_trip", round_trip),
    ("partitions", partitions),
    ("seals", seals),
    ("append", append),
    ("look_up", look_up),
    ("datasets", datasets),
    ("chunks", chunks),
    ("streams", streams),
    ("views", views),
    ("outlines", outlines),
];

/// A file of this process in memory, removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let shm = Path::new("/dev/shm");
        let folder = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(folder.join(format!("scda-fuzz-{}-{number}.scda", std::process::id())))
    }

    fn with(bytes: &[u8]) -> Self {
        let this = Self::new();
        std::fs::write(&this.0, bytes).unwrap();
        this
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Ranks of which none sees the memory of another, as on different nodes.
struct Apart<C>(C);

impl<C: Communicator> Communicator for Apart<C> {
    fn rank(&self) -> usize {
        self.0.rank()
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn allreduce_min(&self, values: &mut [u64]) -> Result<()> {
        self.0.allreduce_min(values)
    }
    fn allreduce_sum(&self, values: &mut [u64]) -> Result<()> {
        self.0.allreduce_sum(values)
    }
    fn exscan_sum(&self, values: &mut [u64]) -> Result<()> {
        self.0.exscan_sum(values)
    }
    fn allgather(&self, value: u64) -> Result<Vec<u64>> {
        self.0.allgather(value)
    }
    fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<()> {
        self.0.broadcast(bytes, root)
    }
    fn gather(&self, bytes: &[u8], all: &mut Vec<u8>) -> Result<()> {
        self.0.gather(bytes, all)
    }
    #[allow(unsafe_code)] // it shares none
    unsafe fn share_memory(&self, _: usize) -> Result<Option<SharedMemory>> {
        Ok(None)
    }
}
