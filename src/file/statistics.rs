//! Statistics: bytes and seconds spent in the phases of reading and writing.

use super::team::{FINE, Failure, Team};
use scda_base::environment::Environment;
use scda_base::error::Result;
use std::time::Duration;

/// How this rank has spent its time writing or reading, since the file was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// Time to agree with the other ranks, including the wait for the slowest one.
    pub agreeing: Duration,
    /// Bytes that were copied for the background thread.
    pub copied_bytes: u64,
    /// Time to copy them.
    pub copying: Duration,
    /// Time to wait for that thread: for memory, because
    /// [`WriteOptions::background_bytes`](crate::WriteOptions::background_bytes) was not enough, or until
    /// everything was written.
    pub waiting: Duration,
    /// Bytes that compression has produced.
    pub encoded_bytes: u64,
    /// Time to compress, within calls.
    pub encoding: Duration,
    /// Bytes that this rank has written to the file.
    pub written_bytes: u64,
    /// Time to write and compute checksums, by calls or by the background thread.
    pub writing: Duration,
    /// Time to bring the file to stable storage, by calls or by the background thread.
    pub syncing: Duration,
    /// Bytes that this rank has read from the file.
    pub read_bytes: u64,
    /// Time to read them.
    pub reading: Duration,
    /// Bytes that decompression has produced.
    pub decoded_bytes: u64,
    /// Time to decompress.
    pub decoding: Duration,
}

impl Statistics {
    /// Whether a line is printed for each file.
    pub(super) fn are_wanted() -> bool {
        Environment::read().is_ok_and(|environment| environment.statistics == Some(true))
    }

    /// The times of writing, with their names.
    pub(super) fn of_writing(&self) -> [(&'static str, Duration); 6] {
        let Self { agreeing, copying, waiting, encoding, writing, syncing, .. } = *self;
        [
            ("agree", agreeing),
            ("copy", copying),
            ("wait", waiting),
            ("encode", encoding),
            ("write", writing),
            ("sync", syncing),
        ]
    }

    /// The times of reading, with their names.
    pub(super) fn of_reading(&self) -> [(&'static str, Duration); 3] {
        [("agree", self.agreeing), ("read", self.reading), ("decode", self.decoding)]
    }
}

/// Agrees on closing, and prints a line for the file on rank 0 if that wants it, with the maximum of all
/// ranks. Ranks that want no statistics have none.
pub(super) fn close<const N: usize>(
    team: &mut Team,
    mine: Result<()>,
    what: &str,
    times: Option<[(&str, Duration); N]>,
) -> Result<(), Failure> {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(FINE).min(FINE);
    let mut most = times.map_or([0; N], |times| times.map(|(_, time)| micros(time)));
    team.agree_on_maximum(mine, &mut most)?;
    if let Some(times) = times.filter(|_| team.rank() == 0) {
        let words = times
            .iter()
            .zip(most)
            .map(|((name, _), most)| format!("{name} {:.3}", Duration::from_micros(most).as_secs_f64()));
        let words: Vec<_> = words.collect();
        let file = team.file_name();
        eprintln!("libscda: {file}: {what}; most seconds of any rank: {}", words.join(", "));
    }
    Ok(())
}
