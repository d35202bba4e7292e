//! The heap of the C library, with one large allocation that fails: Rust's and libdeflate's alike.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Allocations above this size can fail.
const LARGE: usize = 64 << 10;

/// Which allocations can fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Who {
    /// None: those of the test.
    Nobody,
    /// Those of the thread of a rank.
    Rank(usize),
    /// Those of all threads that are not a rank's: the library's own.
    Workers,
}

thread_local! {
    static SELF: Cell<u64> = const { Cell::new(Who::Workers.number()) };
}

impl Who {
    const fn number(self) -> u64 {
        match self {
            Self::Nobody => 0,
            Self::Workers => 1,
            Self::Rank(rank) => 2 + rank as u64,
        }
    }
}

/// What the present thread is from now on.
pub fn become_(who: Who) {
    SELF.with(|me| me.set(who.number()));
}

/// No thread has this number.
const NO_TARGET: u64 = u64::MAX;

static TARGET: AtomicU64 = AtomicU64::new(NO_TARGET);
static COUNTDOWN: AtomicI64 = AtomicI64::new(0);
static IN_USE: AtomicI64 = AtomicI64::new(0);

/// From now on one large allocation of these fails, the one after `after` others.
pub fn fail_one(who: Who, after: i64) {
    COUNTDOWN.store(after, Relaxed);
    TARGET.store(who.number(), Relaxed);
}

/// From now on none fails. Tells whether one has failed.
pub fn fail_none() -> bool {
    TARGET.store(NO_TARGET, Relaxed);
    COUNTDOWN.load(Relaxed) < 0
}

/// The bytes of the heap that are in use.
pub fn in_use() -> i64 {
    IN_USE.load(Relaxed)
}

fn fails(bytes: usize) -> bool {
    bytes > LARGE && SELF.with(Cell::get) == TARGET.load(Relaxed) && COUNTDOWN.fetch_sub(1, Relaxed) == 0
}

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(memory: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_free(memory: *mut c_void);
    fn malloc_usable_size(memory: *mut c_void) -> usize;
}

fn usable(memory: *mut c_void) -> i64 {
    // SAFETY: NULL, or memory that the C library has given.
    i64::try_from(unsafe { malloc_usable_size(memory) }).unwrap_or(i64::MAX)
}

fn counted(memory: *mut c_void) -> *mut c_void {
    IN_USE.fetch_add(usable(memory), Relaxed);
    memory
}

#[unsafe(no_mangle)]
extern "C" fn malloc(bytes: usize) -> *mut c_void {
    // SAFETY: the C library allows any size.
    if fails(bytes) { null_mut() } else { counted(unsafe { __libc_malloc(bytes) }) }
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    let fails = fails(count.saturating_mul(bytes));
    // SAFETY: the C library allows any size.
    if fails { null_mut() } else { counted(unsafe { __libc_calloc(count, bytes) }) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(memory: *mut c_void, bytes: usize) -> *mut c_void {
    if fails(bytes) {
        return null_mut();
    }
    let before = usable(memory);
    // SAFETY: the caller passes NULL or memory that a function above has returned, so it is of the C library.
    let new = unsafe { __libc_realloc(memory, bytes) };
    if !new.is_null() || bytes == 0 {
        IN_USE.fetch_sub(before, Relaxed);
    }
    counted(new)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(memory: *mut c_void) {
    IN_USE.fetch_sub(usable(memory), Relaxed);
    // SAFETY: as for `realloc`; the caller uses the memory no more.
    unsafe { __libc_free(memory) };
}
