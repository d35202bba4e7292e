//! With `SCDA_CHECK=1`, reports on standard error that this rank is waiting for the others: ranks that use
//! two files in different orders, or make different calls, would otherwise hang silently.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Waits longer than this are reported.
pub const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 5000 });

/// A thread that reports long waits.
pub struct Watch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    wait: Mutex<Wait>,
    changed: Condvar,
}

#[derive(Default)]
struct Wait {
    /// When the current wait began, and its message until it is reported.
    begun: Option<(Instant, String)>,
    is_over: bool,
}

/// This rank waits as long as the guard lives.
pub struct WaitGuard<'a>(&'a Shared);

impl Watch {
    /// `None` if the thread cannot be started.
    pub fn start(tell: fn(&str)) -> Option<Self> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("scda-check".into()).spawn(move || theirs.work(tell));
        Some(Self { shared, thread: Some(thread.ok()?) })
    }

    /// Begins a wait.
    pub fn begin(&self, words: String) -> WaitGuard<'_> {
        self.shared.lock().begun = Some((Instant::now(), words));
        self.shared.changed.notify_one();
        WaitGuard(&self.shared)
    }
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        self.0.lock().begun = None;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Wait> {
        self.wait.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, tell: fn(&str)) {
        let mut wait = self.lock();
        while !wait.is_over {
            let Some((began, words)) = wait.begun.take() else {
                wait = self.changed.wait(wait).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = PATIENCE.saturating_sub(began.elapsed());
            if left.is_zero() {
                tell(&words);
                continue;
            }
            wait.begun = Some((began, words));
            wait = self.changed.wait_timeout(wait, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
