//! Shows the progress of a long task on a terminal.

use std::cell::RefCell;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};
use terminal_size::terminal_size_of;

/// Tasks that take less time show no progress.
const PATIENCE: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(100);

thread_local! {
    /// The innermost task that this thread shows.
    static TASK: RefCell<Option<Task>> = const { RefCell::new(None) };
}

/// A line on standard error that is overwritten.
struct Task {
    what: String,
    total: u64,
    done: u64,
    began: Instant,
    /// The time of the next update.
    next: Instant,
    shown: bool,
}

/// As long as it exists, [`add`] and [`set`] show the progress of a task. One that begins within another task
/// interrupts it; afterwards, the outer task continues.
pub struct Progress {
    outer: Option<Task>,
}

impl Progress {
    /// `total` is the number of bytes to process, 0 if unknown.
    pub fn new(what: &str, total: u64) -> Self {
        Self::of(std::io::stderr().is_terminal().then(|| Task::new(what, total)))
    }

    fn of(task: Option<Task>) -> Self {
        Self { outer: TASK.replace(task) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if TASK.replace(self.outer.take()).is_some_and(|task| task.shown) {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

/// Adds bytes that have been processed.
pub fn add(bytes: u64) {
    change(|done| done + bytes);
}

/// Sets the number of bytes that have been processed, unless it is less than the last one.
pub fn set(done: u64) {
    change(|before| before.max(done));
}

fn change(done: impl FnOnce(u64) -> u64) {
    TASK.with_borrow_mut(|task| {
        if let Some(task) = task {
            task.done = done(task.done);
            task.show();
        }
    });
}

impl Task {
    fn new(what: &str, total: u64) -> Self {
        let (what, began) = (crate::output::escape(what.as_bytes()), Instant::now());
        Self { what, total, done: 0, began, next: began + PATIENCE, shown: false }
    }

    fn show(&mut self) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        (self.next, self.shown) = (now + INTERVAL, true);
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

#[cfg(test)]
mod tests {
    use super::{Progress, TASK, Task, add, cut, set};

    /// The bytes of the task that is shown.
    fn done() -> Option<u64> {
        TASK.with_borrow(|task| task.as_ref().map(|task| task.done))
    }

    #[test]
    fn a_task_within_another_neither_ends_nor_restarts_it() {
        let outer = Progress::of(Some(Task::new("copy", 100)));
        add(7);
        {
            let _inner = Progress::of(Some(Task::new("check", 50)));
            assert_eq!(done(), Some(0));
            set(40);
            let _innermost = Progress::of(None);
            add(1);
            assert_eq!(done(), None);
        }
        assert_eq!(done(), Some(7));
        add(3);
        assert_eq!(
            TASK.with_borrow(|task| task.as_ref().map(|task| (task.what.clone(), task.done))),
            Some(("copy".into(), 10))
        );
        drop(outer);
        assert_eq!(done(), None);
    }

    #[test]
    fn a_line_fits() {
        assert_eq!(cut("copy a.scda  10 %", 80), "copy a.scda  10 %");
        assert_eq!(cut("copy a.scda  10 %", 5), " 10 %");
        assert_eq!(cut("é 10 %", 6), " 10 %");
        assert_eq!(cut("é 10 %", 7), "é 10 %");
        assert_eq!(cut("10 %", 0), "");
    }
}
