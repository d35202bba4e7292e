//! The user's memory: from pointers to slices, with every check that can be made.

use crate::error::{Error, Result};
use crate::file::{Elements, ElementsMut, Sink, Sizes, Source};
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// `count` values at `pointer`. NULL is an error unless `count` is 0.
///
/// # Safety
/// If `pointer` is not NULL, `count` values may be read there for the lifetime, which is that of
/// the C function's call.
pub unsafe fn slice<'a, T>(pointer: *const T, count: u64, name: &str) -> Result<&'a [T]> {
    let count = checked(pointer, count, name)?;
    // SAFETY: not NULL, aligned, and no longer than memory can be; the caller lets it be read.
    Ok(if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(pointer, count) } })
}

/// As [`slice`], to be written.
///
/// # Safety
/// As [`slice`], and the values may be written and are not used otherwise during the call.
pub unsafe fn slice_mut<'a, T>(pointer: *mut T, count: u64, name: &str) -> Result<&'a mut [T]> {
    let count = checked(pointer, count, name)?;
    // SAFETY: not NULL, aligned, and no longer than memory can be; the caller lets it be written.
    Ok(if count == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(pointer, count) } })
}

/// How many values there are, if they can be there.
#[inline]
fn checked<T>(pointer: *const T, count: u64, name: &str) -> Result<usize> {
    let fits = |&count: &usize| count <= isize::MAX.unsigned_abs() / size_of::<T>();
    match usize::try_from(count).ok().filter(fits) {
        Some(0) => Ok(0),
        Some(count) if !pointer.is_null() && pointer.is_aligned() => Ok(count),
        _ if pointer.is_null() => Err(null::<T>(count, name)),
        _ if !pointer.is_aligned() => Err(not_aligned(name)),
        _ => Err(too_many::<T>(count, name)),
    }
}

/// What a message calls values of a type.
fn plural<T>() -> &'static str {
    if size_of::<T>() == 1 { "bytes" } else { "values" }
}

#[cold]
fn null<T>(count: u64, name: &str) -> Error {
    Error::argument(format!("{name} is NULL instead of {count} {}", plural::<T>()))
}

#[cold]
fn not_aligned(name: &str) -> Error {
    Error::argument(format!("{name}: found a pointer that is not aligned"))
}

#[cold]
fn too_many<T>(count: u64, name: &str) -> Error {
    Error::range(format!("{name}: found {count} {}, more than memory can hold", plural::<T>()))
}

/// Hands out a value, unless it is not wanted: C passes NULL then.
pub fn put<T>(out: Option<&mut MaybeUninit<T>>, value: T) {
    if let Some(out) = out {
        out.write(value);
    }
}

/// UTF-8 of C.
pub fn utf8<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|_| Error::argument(format!("{what}: found bytes that are not UTF-8")))
}

/// Elements at the user's pointers.
struct Pointers<'a, P> {
    pointers: &'a [P],
    sizes: Sizes<'a>,
}

// SAFETY: the elements are only read, and the caller lets nobody write them during the call.
unsafe impl Sync for Pointers<'_, *const u8> {}

impl Elements for Pointers<'_, *const u8> {
    fn count(&self) -> usize {
        self.pointers.len()
    }
    fn element(&self, index: usize) -> &[u8] {
        let size = self.sizes.bytes(index);
        if size == 0 {
            return &[];
        }
        // SAFETY: not NULL, as `with_source` checked; its caller has an element of `size` bytes there.
        unsafe { std::slice::from_raw_parts(self.pointers[index], size) }
    }
}

impl ElementsMut for Pointers<'_, *mut u8> {
    fn count(&self) -> usize {
        self.pointers.len()
    }
    fn element_mut(&mut self, index: usize) -> Option<&mut [u8]> {
        let size = self.sizes.bytes(index);
        if self.pointers[index].is_null() {
            return None;
        }
        if size == 0 {
            return Some(&mut []);
        }
        // SAFETY: not NULL; the caller of `with_sink` has room for an element of `size` bytes there, and no
        // two overlap.
        Some(unsafe { std::slice::from_raw_parts_mut(self.pointers[index], size) })
    }
}

/// Calls `with` with the data to write: the elements of `sizes` at `dbytes` or, if `indirect`, at the
/// pointers there, one for each element.
///
/// # Safety
/// `dbytes` is NULL, or the elements, and the pointers to them, may be read during the call.
pub unsafe fn with_source<T>(
    dbytes: *const c_void,
    sizes: Result<Sizes<'_>>,
    indirect: bool,
    with: impl FnOnce(Result<Source<'_>>) -> T,
) -> T {
    let (sizes, total) = match sizes.and_then(|sizes| Ok((sizes, sizes.total()?))) {
        // Pointers to nothing need not be there.
        Ok((_, 0)) if !indirect || dbytes.is_null() => return with(Ok(Source::EMPTY)),
        Ok(known) => known,
        Err(error) => return with(Err(error)),
    };
    if !indirect {
        // SAFETY: the caller has elements of `total` bytes in all there.
        return with(unsafe { slice(dbytes.cast::<u8>(), total, "data") }.map(Source::Contiguous));
    }
    // SAFETY: the caller has a pointer for each element there.
    let pointers = match unsafe { slice(dbytes.cast::<*const u8>(), sizes.count() as u64, "data") } {
        Ok(pointers) => pointers,
        Err(error) => return with(Err(error)),
    };
    let elements = Pointers { pointers, sizes };
    match pointers.iter().enumerate().position(|(i, pointer)| pointer.is_null() && sizes.size(i) > 0) {
        Some(index) => with(Err(Error::argument(format!("data: element {index} of this rank is NULL")))),
        None => with(Ok(Source::Indirect(&elements))),
    }
}

/// Calls `with` with the memory for data to read, as [`with_source`]. NULL skips all of this rank's
/// elements, and with `indirect` a NULL pointer skips one.
///
/// # Safety
/// `dbytes` is NULL, or the pointers may be read and the elements written during the call, and no elements
/// overlap.
pub unsafe fn with_sink<T>(
    dbytes: *mut c_void,
    sizes: Result<Sizes<'_>>,
    indirect: bool,
    with: impl FnOnce(Result<Sink<'_>>) -> T,
) -> T {
    if dbytes.is_null() {
        return with(Ok(Sink::Skip));
    }
    let sizes = match sizes {
        Ok(sizes) => sizes,
        Err(error) => return with(Err(error)),
    };
    if !indirect {
        let memory = sizes.total().and_then(|total| {
            // SAFETY: the caller has room for elements of `total` bytes in all there.
            unsafe { slice_mut(dbytes.cast::<u8>(), total, "data") }
        });
        return with(memory.map(Sink::Contiguous));
    }
    // SAFETY: the caller has a pointer for each element there.
    match unsafe { slice(dbytes.cast::<*mut u8>(), sizes.count() as u64, "data") } {
        Ok(pointers) => with(Ok(Sink::Indirect(&mut Pointers { pointers, sizes }))),
        Err(error) => with(Err(error)),
    }
}
