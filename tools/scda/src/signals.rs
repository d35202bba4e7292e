//! Removes incomplete output files when a signal ends the command.

use scda::part_path;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

/// The incomplete output file, as long as there is one.
static TEMPORARY: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Notes that `path` is being written.
pub fn begin(path: &Path) {
    static START: Once = Once::new();
    START.call_once(watch);
    *TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner) = Some(part_path(path));
}

/// Notes that the file is complete, or removed.
pub fn end() {
    *TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Waits for signals on a thread of its own. Without it, a signal leaves the file.
fn watch() {
    let ignored = ignored();
    let wanted = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let Ok(mut signals) = Signals::new(wanted) else { return };
    let _ = std::thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            // Kept, so that nothing is created after it.
            let temporary = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(path) = &*temporary {
                let _ = std::fs::remove_file(path);
            }
            // The process ends by the signal, so that its parent sees it.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
}

/// The signals that are ignored, for example under `nohup`: bit `n - 1` for signal `n`.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
