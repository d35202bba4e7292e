//! Computes the checksums of sections with several threads.

use crate::progress;
use scda_base::numbers::to_usize;
use scda_format::crc;
use scda_format::hdf5::SUPERBLOCK_OFFSET;
use scda_format::index::Row;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The bytes of the file that a thread takes at once.
const BATCH_BYTES: u64 = 4 << 20;
/// The bytes that it reads at once; they stay in its cache until they are summed.
const CHUNK_BYTES: u64 = 256 << 10;
/// The interval of progress reports.
const INTERVAL: Duration = Duration::from_millis(100);

/// Consecutive sections, and what is known of their checksums.
struct Sums<'a> {
    file: &'a File,
    rows: &'a [Row],
    begin: u64,
    end: u64,
    /// The number of the next batch to take.
    next: AtomicU64,
    sums: Vec<AtomicU64>,
}

impl Sums<'_> {
    /// Takes batches until there are none left.
    fn work(&self) -> io::Result<()> {
        let mut buffer = Vec::new();
        loop {
            let start =
                self.next.fetch_add(1, Relaxed).saturating_mul(BATCH_BYTES).saturating_add(self.begin);
            if start >= self.end {
                return Ok(());
            }
            let (mut at, end) = (start, self.end.min(start + BATCH_BYTES));
            while at < end {
                let step = to_usize((end - at).min(CHUNK_BYTES));
                buffer.resize(step, 0);
                self.file.read_exact_at(&mut buffer, at)?;
                self.add(at, &buffer);
                at += step as u64;
            }
        }
    }

    /// Adds these bytes to the checksums of the sections that contain them.
    fn add(&self, mut at: u64, mut bytes: &[u8]) {
        let first = self.rows.partition_point(|row| row.end() <= at);
        for (row, sum) in self.rows.iter().zip(&self.sums).skip(first) {
            let most = to_usize(row.end() - at);
            let (now, rest) = bytes.split_at(bytes.len().min(most));
            at += now.len() as u64;
            sum.fetch_xor(crc::shift(crc::of(now), row.end() - at), Relaxed);
            bytes = rest;
            if bytes.is_empty() {
                break;
            }
        }
    }
}

/// The checksums of consecutive sections.
///
/// # Errors
/// The errors of reading.
pub fn sums(file: &File, rows: &[Row], threads: usize) -> io::Result<Vec<u64>> {
    let begin = rows.first().map_or(0, |row| row.offset);
    let end = rows.last().map_or(0, Row::end);
    let new = || AtomicU64::new(0);
    let sums = Sums { file, rows, begin, end, next: new(), sums: rows.iter().map(|_| new()).collect() };
    let threads = to_usize((end - begin).div_ceil(BATCH_BYTES)).min(threads);
    let result = std::thread::scope(|scope| {
        let (results, waiting) = channel();
        // If a thread cannot be started, the others do its work.
        let spawn = |_: &usize| {
            let (results, sums) = (results.clone(), &sums);
            let work = move || drop(results.send(sums.work()));
            std::thread::Builder::new().spawn_scoped(scope, work).is_ok()
        };
        if threads < 2 || (0..threads).filter(spawn).count() == 0 {
            return sums.work();
        }
        drop(results);
        let mut result = Ok(());
        loop {
            match waiting.recv_timeout(INTERVAL) {
                Ok(of_thread) => result = result.and(of_thread),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return result,
            }
            let done = sums.next.load(Relaxed).saturating_sub(threads as u64);
            progress::set(begin + done.saturating_mul(BATCH_BYTES).min(end - begin));
        }
    });
    progress::set(end);
    result?;
    let found = rows.iter().zip(sums.sums).map(|(row, sum)| {
        row.crc_of(sum.into_inner(), |superblock| file.read_exact_at(superblock, SUPERBLOCK_OFFSET))
    });
    found.collect()
}
