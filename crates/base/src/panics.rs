//! Turns panics into errors. A panic must neither end the process nor keep the other ranks waiting. It prints
//! nothing: the error carries its message and its location.

use crate::error::{Error, ErrorKind, Result};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};

thread_local! {
    /// The number of nested calls of [`catch`] on this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// The location of its last panic in such a call.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs work of this rank alone, and turns a panic into an error. After an error, what it worked on must not
/// be used again.
///
/// # Errors
/// Those of the work; `Internal` if it panics.
pub fn catch<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    static IS_HOOKED: AtomicBool = AtomicBool::new(false);
    if !IS_HOOKED.load(Acquire) {
        hook(&IS_HOOKED);
    }
    DEPTH.with(|depth| {
        depth.set(depth.get() + 1);
        let result = catch_unwind(AssertUnwindSafe(work));
        depth.set(depth.get() - 1);
        result.unwrap_or_else(|panic| Err(of_panic(&*panic)))
    })
}

/// Sets a panic hook for this process that is silent while a thread is in [`catch`]. All other panics go to
/// the hook that the program had set.
#[cold]
fn hook(is_hooked: &AtomicBool) {
    static ONCE: Once = Once::new();
    // A panicking thread may not set the hook. The next one will.
    if std::thread::panicking() {
        return;
    }
    ONCE.call_once(|| {
        let theirs = take_hook();
        set_hook(Box::new(move |panic| {
            // A thread that is about to end is not in a call.
            if DEPTH.try_with(|depth| depth.get() > 0).unwrap_or(false) { note(panic) } else { theirs(panic) }
        }));
        is_hooked.store(true, Release);
    });
}

/// Stores the location of a panic, if there is memory for it.
fn note(panic: &PanicHookInfo<'_>) {
    let Some(location) = panic.location() else { return };
    let _ = PLACE.try_with(|place| {
        let mut place = place.borrow_mut();
        place.clear();
        // Including two numbers.
        if place.try_reserve(location.file().len() + 24).is_ok() {
            let _ = write!(place, "{location}");
        }
    });
}

#[cold]
fn of_panic(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let place = PLACE.try_with(|place| place.take()).unwrap_or_default();
    let place = if place.is_empty() { place } else { format!(" (at {place})") };
    Error::new(ErrorKind::Internal, format!("panic: {}{place}", text.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let line = line!() + 1;
        let error = catch(|| -> Result<()> { panic!("deliberately {}", 7) }).unwrap_err();
        let expected = format!("panic: deliberately 7 (at {}:{line}:46)", file!());
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Internal, expected));
        assert_eq!(DEPTH.get(), 0);
    }
}
