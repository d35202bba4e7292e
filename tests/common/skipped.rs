//! Tests that cannot run on this machine.

use std::io::Write;

/// Says that the test is skipped, and why: past the harness, which hides what a test prints, and in the file `$SCDA_SKIPPED`, which
/// scripts/test.sh shows.
pub fn skipped(why: &str) {
    let thread = std::thread::current();
    let line = format!("skipped: {}: {why}\n", thread.name().unwrap_or("a test"));
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("SCDA_SKIPPED") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        file.unwrap().write_all(line.as_bytes()).unwrap();
    }
}
