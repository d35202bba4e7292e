//! Fallible allocation. A failed allocation must neither end the process nor keep the other ranks waiting, so
//! it becomes an error on which the ranks agree.
//!
//! Every allocation whose size depends on data goes through this module; small allocations of a known size do
//! not. So this module can limit the memory that a file claims, for a whole operation ([`limited`]).

use crate::error::{Error, ErrorKind, Result};
use crate::numbers::to_usize;
use crate::panics::catch;
use std::alloc::{Layout, alloc_zeroed};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The memory that an operation may allocate, on all of its threads: see `Tuning::max_memory`.
#[derive(Clone)]
pub struct Allowance {
    limit: Arc<Limit>,
    /// The bytes allocated in the innermost [block](temporary) of this thread and its helpers.
    taken: Arc<AtomicU64>,
}

struct Limit {
    most: u64,
    left: AtomicU64,
    /// The offset in the file at which the operation reads.
    at: u64,
}

thread_local! {
    static ALLOWANCE: RefCell<Option<Allowance>> = const { RefCell::new(None) };
}

/// Sets the allowance of this thread, or none, as long as it lives.
pub struct AllowanceGuard(Option<Allowance>);

impl Drop for AllowanceGuard {
    fn drop(&mut self) {
        ALLOWANCE.set(self.0.take());
    }
}

/// Limits what an operation allocates on this thread and its helper threads, while it reads at this offset of
/// a file. 0: no limit.
#[inline]
pub fn limited(most: u64, at: u64) -> Option<AllowanceGuard> {
    if most == 0 { None } else { Some(limit(most, at)) }
}

#[cold]
fn limit(most: u64, at: u64) -> AllowanceGuard {
    let limit = Arc::new(Limit { most, left: AtomicU64::new(most), at });
    share(Some(Allowance { limit, taken: Arc::default() }))
}

/// The allowance of this thread, for its helper threads.
pub fn allowance() -> Option<Allowance> {
    ALLOWANCE.with_borrow(Clone::clone)
}

/// Gives this thread the allowance of the thread that it helps.
pub fn share(allowance: Option<Allowance>) -> AllowanceGuard {
    AllowanceGuard(ALLOWANCE.replace(allowance))
}

/// Returns the memory that was allocated during its lifetime to the allowance when it is dropped.
pub struct TemporaryGuard(Option<(Allowance, AllowanceGuard)>);

/// Begins a block: what this thread and the helpers that it calls allocate from now on is freed by its end.
pub fn temporary() -> TemporaryGuard {
    TemporaryGuard(allowance().map(|outer| {
        let block = Allowance { taken: Arc::default(), ..outer };
        (block.clone(), share(Some(block)))
    }))
}

impl Drop for TemporaryGuard {
    fn drop(&mut self) {
        if let Some((Allowance { limit, taken }, _)) = &self.0 {
            limit.left.fetch_add(taken.load(Relaxed), Relaxed);
        }
    }
}

/// Returns an error if the operation may not allocate `bytes` bytes.
///
/// # Errors
/// `Memory`.
pub fn check(bytes: u64) -> Result<()> {
    let bytes = to_usize(bytes);
    allow(bytes, bytes).map(drop)
}

/// Takes bytes from the allowance: `wish` if it allows, otherwise `need`. Returns whether it granted the
/// wish.
fn allow(wish: usize, need: usize) -> Result<bool> {
    ALLOWANCE.with_borrow(|allowance| {
        let Some(Allowance { limit, taken }) = allowance else { return Ok(true) };
        let take = |bytes: usize| {
            let bytes = bytes as u64;
            let is_left = limit.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes)).is_ok();
            taken.fetch_add(if is_left { bytes } else { 0 }, Relaxed);
            is_left
        };
        if take(wish) {
            return Ok(true);
        }
        if take(need) {
            return Ok(false);
        }
        let before = limit.most - limit.left.load(Relaxed);
        let after = if before == 0 { String::new() } else { format!(", beside {before} in the same call") };
        let words =
            format!("the file asks for {need} bytes of memory{after}, more than max_memory, {}", limit.most);
        Err(Error::new(ErrorKind::Memory, words).at(limit.at))
    })
}

/// Reserves memory for this many further items.
///
/// # Errors
/// `Memory`.
#[inline]
pub fn reserve<T>(items: &mut Vec<T>, more: usize) -> Result<()> {
    if more <= items.capacity() - items.len() { Ok(()) } else { enlarge(items, more) }
}

/// Like [`reserve`], when more memory is needed.
fn enlarge<T>(items: &mut Vec<T>, more: usize) -> Result<()> {
    let needed = items.len().saturating_add(more);
    let bytes = |items: usize| items.saturating_mul(size_of::<T>());
    // A vector at least doubles its capacity, unless the allowance does not permit that.
    let need = needed - items.capacity();
    let reserved = match allow(bytes(need.max(items.capacity())), bytes(need))? {
        true => items.try_reserve(more),
        false => items.try_reserve_exact(more),
    };
    reserved.map_err(|_| cannot_allocate::<T>(needed))?;
    #[cfg(all(target_os = "linux", not(miri)))]
    ask_for_large_pages(items);
    Ok(())
}

/// Asks the system for large pages in long buffers: getting them page by page may take longer than
/// compressing what goes there.
#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code)]
fn ask_for_large_pages<T>(items: &Vec<T>) {
    /// Memory of this length contains a large page, wherever it begins.
    const LONG_BYTES: usize = 4 << 20;
    /// A multiple of the page size on any system.
    const PAGES_BYTES: usize = 64 << 10;
    let bytes = items.capacity().saturating_mul(size_of::<T>());
    if bytes >= LONG_BYTES {
        let before = items.as_ptr().addr() % PAGES_BYTES;
        let start = items.as_ptr().cast_mut().cast::<libc::c_void>().wrapping_byte_sub(before);
        // SAFETY: the advice changes no contents. If the system rejects it, nothing changes.
        unsafe { libc::madvise(start, before + bytes, libc::MADV_HUGEPAGE) };
    }
}

/// Appends an item.
///
/// # Errors
/// `Memory`.
#[inline]
pub fn push<T>(items: &mut Vec<T>, item: T) -> Result<()> {
    reserve(items, 1)?;
    items.push(item);
    Ok(())
}

/// Like [`reserve`], for a count from a file or from the user.
///
/// # Errors
/// `Memory`.
pub fn reserve_count<T>(items: &mut Vec<T>, more: u64) -> Result<()> {
    reserve(items, to_usize(more))
}

/// Sets the length of a buffer whose contents do not matter. New bytes are 0.
///
/// # Errors
/// `Memory`.
pub fn resize<T: Clone + Default>(buffer: &mut Vec<T>, length: u64) -> Result<()> {
    let length = to_usize(length);
    grow(buffer, length)?;
    buffer.truncate(length);
    Ok(())
}

/// Makes a buffer at least this long. New bytes are 0.
///
/// # Errors
/// `Memory`.
#[inline]
pub fn grow<T: Clone + Default>(buffer: &mut Vec<T>, length: usize) -> Result<()> {
    if buffer.len() < length {
        reserve(buffer, length - buffer.len())?;
        buffer.resize(length, T::default());
    }
    Ok(())
}

/// Zeroed bytes. Pages that are never used cost nothing, because the system clears a page when it is first
/// touched; no safe function that can fail does the same.
///
/// # Errors
/// `Memory`.
pub fn zeroed(bytes: usize) -> Result<Vec<u8>> {
    let layout = layout_of(bytes)?;
    allow(bytes, bytes)?;
    allocate_zeroed(layout)
}

fn layout_of(bytes: usize) -> Result<Layout> {
    Layout::array::<u8>(bytes).map_err(|_| cannot_allocate::<u8>(bytes))
}

/// Allocates the bytes of [`zeroed`], which the allowance permits.
#[allow(unsafe_code)]
fn allocate_zeroed(layout: Layout) -> Result<Vec<u8>> {
    let bytes = layout.size();
    if bytes == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout's size is not 0.
    let memory = unsafe { alloc_zeroed(layout) };
    if memory.is_null() {
        return Err(cannot_allocate::<u8>(bytes));
    }
    // SAFETY: the global allocator, which vectors use as well, has just returned this memory with the layout
    // of `bytes` bytes, all of them initialised.
    Ok(unsafe { Vec::from_raw_parts(memory, bytes, bytes) })
}

/// Makes a buffer at least this long. If it is shorter, it is replaced by zeroed bytes, which like those of
/// [`zeroed`] cost nothing until they are used.
///
/// # Errors
/// `Memory`.
pub fn renew(buffer: &mut Vec<u8>, length: usize) -> Result<()> {
    if buffer.len() < length {
        let layout = layout_of(length)?;
        let more = length.saturating_sub(buffer.capacity());
        allow(more, more)?;
        *buffer = Vec::new(); // before there are new ones
        *buffer = allocate_zeroed(layout)?;
        #[cfg(all(target_os = "linux", not(miri)))]
        ask_for_large_pages(buffer);
    }
    Ok(())
}

/// An array of zeros.
///
/// # Errors
/// `Memory`.
pub fn zeros<const N: usize>() -> Result<Box<[u32; N]>> {
    let mut items = Vec::new();
    items.try_reserve_exact(N).map_err(|_| cannot_allocate::<u32>(N))?;
    items.resize(N, 0);
    let array = items.into_boxed_slice().try_into();
    array.map_err(|_| Error::new(ErrorKind::Internal, "an array of another length was made"))
}

/// Copies items into new memory.
///
/// # Errors
/// `Memory`.
pub fn copy<T: Clone>(items: &[T]) -> Result<Vec<T>> {
    let mut copy = Vec::new();
    reserve(&mut copy, items.len())?;
    copy.extend_from_slice(items);
    Ok(copy)
}

#[cold]
fn cannot_allocate<T>(items: usize) -> Error {
    Error::memory(items.saturating_mul(size_of::<T>()))
}

/// Creates the state of a compressor or decompressor, of less than 1 MiB, with code that panics if it cannot
/// allocate.
///
/// The memory is first allocated and freed again to test for it, because a panic needs memory, too.
///
/// # Errors
/// `Memory`.
pub fn make<T>(what: &str, make: impl FnOnce() -> T) -> Result<T> {
    const STATE_BYTES: usize = 1 << 20;
    Vec::<u8>::new().try_reserve(STATE_BYTES).map_err(|_| cannot_allocate::<u8>(STATE_BYTES))?;
    catch(|| Ok(make())).map_err(|_| Error::new(ErrorKind::Memory, format!("cannot allocate {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_allocated_is_an_error() {
        let mut bytes = vec![7_u8; 3];
        assert_eq!(resize(&mut bytes, u64::MAX >> 1).unwrap_err().kind(), ErrorKind::Memory);
        let error = reserve_count(&mut vec![0_u64], u64::MAX >> 4).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory);
        assert_eq!(bytes, [7; 3]);
        resize(&mut bytes, 5).unwrap();
        assert_eq!(bytes, [7, 7, 7, 0, 0]);
        grow(&mut bytes, 1).unwrap();
        assert_eq!(bytes.len(), 5);
        resize(&mut bytes, 1).unwrap();
        assert_eq!(zeroed(usize::MAX).unwrap_err().kind(), ErrorKind::Memory);
        assert_eq!((zeroed(0).unwrap(), zeroed(3).unwrap()), (vec![], vec![0; 3]));
        assert_eq!((copy(&bytes).unwrap(), *zeros::<2>().unwrap()), (vec![7], [0, 0]));
        renew(&mut bytes, 1).unwrap();
        assert_eq!(bytes, [7]);
        renew(&mut bytes, 3).unwrap();
        assert_eq!(bytes, [0; 3]);
        assert_eq!(renew(&mut bytes, usize::MAX).unwrap_err().kind(), ErrorKind::Memory);
    }

    #[test]
    fn an_operation_allocates_no_more_than_it_may() {
        let words = |result: Result<()>| result.unwrap_err().to_string();
        {
            let _limited = limited(1000, 77);
            let mut kept = Vec::new();
            resize::<u8>(&mut kept, 300).unwrap();
            resize::<u8>(&mut kept, 100).unwrap();
            for _ in 0..10 {
                let _temporary = temporary();
                resize::<u64>(&mut Vec::new(), 50).unwrap();
            }
            // Doubling does not fit, but what is needed does.
            resize::<u8>(&mut kept, 1000).unwrap();
            assert_eq!(kept.capacity(), 1000);
            let expected = "byte 77: the file asks for 8 bytes of memory, beside 1000 in the same call, \
                            more than max_memory, 1000";
            assert_eq!(words(reserve(&mut Vec::<u64>::new(), 1)), expected);
            // Also on another thread. Another operation has its own allowance.
            let allowance = allowance();
            std::thread::scope(|scope| {
                scope.spawn(|| assert!(zeroed(1).is_ok()));
                scope.spawn(|| {
                    let _limited = share(allowance);
                    assert_eq!(zeroed(1).unwrap_err().kind(), ErrorKind::Memory);
                });
            });
            let other = limited(2000, 0);
            assert!(words(zeroed(2001).map(drop)).contains("the file asks for 2001 bytes of memory, "));
            zeroed(2000).unwrap();
            drop(other);
            assert!(zeroed(1).is_err());
        }
        assert!(limited(0, 0).is_none());
        zeroed(2001).unwrap();
    }

    #[test]
    fn a_block_gives_back_what_was_taken_in_it() {
        let _limited = limited(1000, 0);
        let outside = allowance();
        let block = temporary();
        zeroed(100).unwrap();
        let inside = allowance();
        std::thread::scope(|scope| {
            // A thread that keeps its memory, one that helps in the block, and one with a block of its own.
            let on_thread = |allowance, bytes, is_temporary: bool| {
                scope.spawn(move || {
                    let _limited = share(allowance);
                    let _temporary = is_temporary.then(temporary);
                    zeroed(bytes).unwrap();
                });
            };
            on_thread(outside, 500, false);
            on_thread(inside.clone(), 200, false);
            on_thread(inside, 200, true);
        });
        drop(block);
        assert_eq!(zeroed(501).unwrap_err().kind(), ErrorKind::Memory);
        zeroed(500).unwrap();
    }

    #[test]
    fn what_panics_for_lack_of_memory_is_an_error() {
        assert_eq!(make("much", || panic!("no memory")).map(|()| 7).unwrap_err().kind(), ErrorKind::Memory);
    }
}
