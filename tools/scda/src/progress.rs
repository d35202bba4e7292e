//! Shows the progress of a long task on a terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};
use terminal_size::terminal_size_of;

/// Tasks that take less time show no progress.
const PATIENCE: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(100);

/// A line on standard error that is overwritten, and removed at the end.
pub struct Progress {
    what: String,
    total: u64,
    done: u64,
    began: Instant,
    /// The time of the next update; `None` if standard error is no terminal.
    next: Option<Instant>,
    shown: bool,
}

impl Progress {
    /// `total` is the number of bytes to process, 0 if unknown.
    pub fn new(what: &str, total: u64) -> Self {
        let began = Instant::now();
        let next = std::io::stderr().is_terminal().then(|| began + PATIENCE);
        Self { what: crate::output::escape(what.as_bytes()), total, done: 0, began, next, shown: false }
    }

    /// Adds bytes that have been processed.
    pub fn add(&mut self, bytes: u64) {
        self.done += bytes;
        self.show();
    }

    /// Sets the number of bytes that have been processed.
    pub fn set(&mut self, done: u64) {
        self.done = self.done.max(done);
        self.show();
    }

    fn show(&mut self) {
        let Some(next) = self.next else { return };
        let now = Instant::now();
        if now < next {
            return;
        }
        self.next = Some(now + INTERVAL);
        self.shown = true;
        // Compressed data count by their decompressed size.
        let percent = if self.total > 0 { 100 * u128::from(self.done) / u128::from(self.total) } else { 100 };
        let percent = if percent < 100 { format!("{percent:3} %  ") } else { String::new() };
        let mib = self.done >> 20;
        let speed = u128::from(mib) * 1000 / (now - self.began).as_millis().max(1);
        let line = format!("{}  {percent}{mib} MiB  {speed} MiB/s", self.what);
        // A line that the terminal wraps could not be overwritten.
        let width = terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
        let _ = write!(std::io::stderr(), "\r\u{1b}[K{}", cut(&line, width.saturating_sub(1)));
    }
}

/// Shortens text to this number of columns by removing its beginning, because the end is more informative.
fn cut(line: &str, columns: usize) -> &str {
    // Characters beyond ASCII may take two.
    let mut left = columns;
    let fits =
        |c: &char| left.checked_sub(if c.is_ascii() { 1 } else { 2 }).map(|less| left = less).is_some();
    let bytes: usize = line.chars().rev().take_while(fits).map(char::len_utf8).sum();
    &line[line.len() - bytes..]
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn a_line_fits() {
        assert_eq!(cut("copy a.scda  10 %", 80), "copy a.scda  10 %");
        assert_eq!(cut("copy a.scda  10 %", 5), " 10 %");
        assert_eq!(cut("é 10 %", 6), " 10 %");
        assert_eq!(cut("é 10 %", 7), "é 10 %");
        assert_eq!(cut("10 %", 0), "");
    }
}
