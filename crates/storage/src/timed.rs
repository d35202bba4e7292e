//! Counts and times accesses.

use super::ParallelFile;
use scda_base::error::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// An access of at most this size is short: looking at the clock twice may take a good part of its time.
const SHORT_BYTES: u64 = 4 << 10;
/// After a short access that took less than this, so many others are taken for equal.
const FAST: Duration = Duration::from_micros(5);
const FAST_ONES: u32 = 15;

/// Measures how long accesses take. Where they are slow, each is timed; a stall of one that is taken for equal to
/// a fast one is not seen.
#[derive(Default)]
pub struct Stopwatch {
    /// How many short accesses are to be taken for equal to the last one that was timed.
    equal: u32,
    last: Duration,
}

impl Stopwatch {
    /// The result of an access of this many bytes, and the time to count for it.
    pub fn time<T>(&mut self, bytes: u64, access: impl FnOnce() -> T) -> (T, Duration) {
        let is_short = bytes <= SHORT_BYTES;
        if is_short && self.equal > 0 {
            self.equal -= 1;
            return (access(), self.last);
        }
        let began = Instant::now();
        let result = access();
        let time = began.elapsed();
        if is_short && time < FAST {
            (self.equal, self.last) = (FAST_ONES, time);
        }
        (result, time)
    }
}

/// The bytes read from a file, and the time this took.
#[derive(Clone, Default)]
pub struct ReadStatistics(Arc<Counts>);

#[derive(Default)]
struct Counts {
    bytes: AtomicU64,
    nanoseconds: AtomicU64,
}

impl ReadStatistics {
    /// The number of bytes and the time so far.
    pub fn so_far(&self) -> (u64, Duration) {
        (self.0.bytes.load(Relaxed), Duration::from_nanos(self.0.nanoseconds.load(Relaxed)))
    }
}

/// A file whose reads are counted.
pub struct TimedFile {
    file: Box<dyn ParallelFile>,
    reads: ReadStatistics,
    watch: Stopwatch,
}

impl TimedFile {
    /// Counts the reads of `file` in `reads`.
    pub fn new(file: Box<dyn ParallelFile>, reads: ReadStatistics) -> Self {
        Self { file, reads, watch: Stopwatch::default() }
    }

    /// Counts the reads of another file from now on, and returns the previous one.
    pub fn exchange(&mut self, file: &mut Box<dyn ParallelFile>) {
        std::mem::swap(&mut self.file, file);
    }

    /// The file; its reads are no longer counted.
    pub fn into_inner(self) -> Box<dyn ParallelFile> {
        self.file
    }
}

impl ParallelFile for TimedFile {
    fn write_at(&mut self, offset: u64, runs: &[&[u8]]) -> Result<()> {
        self.file.write_at(offset, runs)
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let bytes = buffer.len() as u64;
        let (read, time) = self.watch.time(bytes, || self.file.read_at(offset, buffer));
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.reads.0.nanoseconds.fetch_add(time, Relaxed);
        self.reads.0.bytes.fetch_add(bytes, Relaxed);
        read
    }

    fn size(&mut self) -> Result<u64> {
        self.file.size()
    }

    fn truncate(&mut self, length: u64) -> Result<()> {
        self.file.truncate(length)
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync()
    }

    fn look_again(&mut self) {
        self.file.look_again();
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.file.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_access_is_timed_unless_the_last_one_was_fast() {
        let mut watch = Stopwatch::default();
        for _ in 0..3 {
            let ((), time) = watch.time(8, || std::thread::sleep(Duration::from_millis(2)));
            assert!(time >= Duration::from_millis(2));
        }
        let fast: Vec<_> = (0..10_000).map(|_| watch.time(8, || ()).1).collect();
        assert!(fast.windows(16).any(|sixteen| sixteen.iter().all(|time| *time == sixteen[0])));
    }
}
