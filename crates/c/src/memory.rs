//! Turns the user's pointers into slices, with every check that can be made.
//!
//! [`Values`] and [`Room`] are types of parameters and struct members of exported functions. In C they are
//! pointers, like the types of `pointers`.

use scda::bindings::Sizes;
use scda::{Elements, ElementsMut, Sink, Source};
use scda_base::error::{Error, Result};
use std::ffi::{c_char, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Values to be read, or NULL. Their number is documented for the exported function; the code that reads them
/// passes it.
#[repr(transparent)]
pub struct Values<'a, T>(*const T, PhantomData<&'a [T]>);

impl<T> Clone for Values<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Values<'_, T> {}

/// Like [`Values`], to be written: nobody else uses them.
#[repr(transparent)]
pub struct Room<'a, T>(*mut T, PhantomData<&'a mut [T]>);

impl<'a, T> Values<'a, T> {
    /// No values.
    pub const NULL: Self = Self(std::ptr::null(), PhantomData);

    /// # Safety
    /// There are such values for the lifetime, unless the pointer is NULL.
    pub unsafe fn at(pointer: *const T) -> Self {
        Self(pointer, PhantomData)
    }

    /// Whether it is NULL.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The pointer as C passes it.
    pub fn pointer(self) -> *const T {
        self.0
    }

    /// The value at an index that the list has.
    pub fn read(self, place: usize) -> T
    where
        T: Copy,
    {
        // SAFETY: not NULL, so there is this value.
        unsafe { self.0.wrapping_add(place).read_unaligned() }
    }

    /// `count` values. NULL is an error unless `count` is 0.
    #[inline]
    pub fn get(self, count: u64, name: &str) -> Result<&'a [T]> {
        // SAFETY: not NULL, so there are `count`, as the caller of the exported function guarantees.
        unsafe { slice(self.0, count, name) }
    }

    /// Like [`Self::get`]; `None` for NULL.
    #[inline]
    pub fn optional(self, count: u64, name: &str) -> Result<Option<&'a [T]>> {
        (!self.is_null()).then(|| self.get(count, name)).transpose()
    }
}

impl<'a, T> Room<'a, T> {
    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The pointer as C passes it.
    pub fn pointer(self) -> *mut T {
        self.0
    }

    /// The contents before writing.
    pub fn before(&self) -> *const T {
        self.0
    }

    /// Room for `count` values. NULL is an error unless `count` is 0.
    #[inline]
    pub fn get(self, count: u64, name: &str) -> Result<&'a mut [T]> {
        // SAFETY: not NULL, so there is room for `count`, as the caller of the exported function guarantees.
        unsafe { slice_mut(self.0, count, name) }
    }

    /// Like [`Self::get`]; `None` for NULL.
    #[inline]
    pub fn optional(self, count: u64, name: &str) -> Result<Option<&'a mut [T]>> {
        (!self.is_null()).then(|| self.get(count, name)).transpose()
    }
}

impl<'a> Values<'a, c_void> {
    /// `count` bytes of data.
    #[inline]
    pub fn bytes(self, count: u64) -> Result<&'a [u8]> {
        Values(self.0.cast(), PhantomData).get(count, "data")
    }
}

impl<'a> Room<'a, c_void> {
    /// Room for `count` bytes of data.
    #[inline]
    pub fn bytes(self, count: u64) -> Result<&'a mut [u8]> {
        Room(self.0.cast(), PhantomData).get(count, "data")
    }
}

impl Room<'_, c_char> {
    /// Copies as much of a text as fits `room` bytes with a NUL, and returns the number of bytes copied. Does
    /// nothing for NULL.
    pub fn put_text(&self, text: &[u8], room: usize) -> usize {
        let n = text.len().min(room.saturating_sub(1));
        if room > 0 && !self.is_null() {
            // SAFETY: not NULL, so there is room for `room` bytes, and n is less.
            unsafe { self.0.cast::<u8>().copy_from(text.as_ptr(), n) };
            // SAFETY: as above.
            unsafe { self.0.wrapping_add(n).write(0) };
        }
        n
    }
}

/// `count` values at `pointer`. NULL is an error unless `count` is 0.
///
/// # Safety
/// If `pointer` is not NULL, `count` values may be read there for the lifetime, which is that of the C
/// function's call.
pub unsafe fn slice<'a, T>(pointer: *const T, count: u64, name: &str) -> Result<&'a [T]> {
    let count = checked(pointer, count, name)?;
    // SAFETY: not NULL, aligned, and no longer than memory can be; the caller lets it be read.
    Ok(if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(pointer, count) } })
}

/// Like [`slice`], for writing.
///
/// # Safety
/// As for [`slice`]; in addition, the values may be written, and are not used otherwise during the call.
pub unsafe fn slice_mut<'a, T>(pointer: *mut T, count: u64, name: &str) -> Result<&'a mut [T]> {
    let count = checked(pointer, count, name)?;
    // SAFETY: not NULL, aligned, and no longer than memory can be; the caller lets it be written.
    Ok(if count == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(pointer, count) } })
}

/// Checks that there can be `count` values; returns their number.
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

/// The plural of a type's name in messages.
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

/// Where C receives a value, which may be uninitialised before; `None` for NULL.
pub type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// Stores a value, unless C passes NULL because it does not want it.
pub fn put<T>(out: Out<'_, T>, value: T) {
    if let Some(out) = out {
        out.write(value);
    }
}

/// Text in UTF-8 from C.
pub fn utf8<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|_| Error::argument(format!("{what}: found bytes that are not UTF-8")))
}

/// Elements that the user's pointers refer to.
struct Pointers<'a, P> {
    pointers: &'a [P],
    sizes: Sizes<'a>,
}

// SAFETY: the elements are only read, and C lets nobody write them during the call.
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
        // SAFETY: not NULL, as `with_source` checked; there is an element of `size` bytes.
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
        // SAFETY: not NULL, so there is room for an element of `size` bytes, and no two overlap.
        Some(unsafe { std::slice::from_raw_parts_mut(self.pointers[index], size) })
    }
}

impl Values<'_, c_void> {
    /// Calls `with` with the data to write: elements of these sizes or, if `indirect`, those that pointers
    /// refer to, one for each element.
    pub(crate) fn with_source<T>(
        self,
        sizes: Result<Sizes<'_>>,
        indirect: bool,
        with: impl FnOnce(Result<Source<'_>>) -> T,
    ) -> T {
        let (sizes, total) = match sizes.and_then(|sizes| Ok((sizes, sizes.total()?))) {
            // Pointers to empty elements may be missing.
            Ok((_, 0)) if !indirect || self.is_null() => return with(Ok(Source::EMPTY)),
            Ok(known) => known,
            Err(error) => return with(Err(error)),
        };
        if !indirect {
            return with(self.bytes(total).map(Source::Contiguous));
        }
        let pointers = Values(self.0.cast::<*const u8>(), PhantomData);
        let pointers = match pointers.get(sizes.count() as u64, "data") {
            Ok(pointers) => pointers,
            Err(error) => return with(Err(error)),
        };
        let elements = Pointers { pointers, sizes };
        match pointers.iter().enumerate().position(|(i, pointer)| pointer.is_null() && sizes.size(i) > 0) {
            Some(index) => with(Err(Error::argument(format!("data: element {index} of this rank is NULL")))),
            None => with(Ok(Source::Indirect(&elements))),
        }
    }
}

impl Room<'_, c_void> {
    /// Calls `with` with the memory for data to read, like [`Values::with_source`]. NULL skips all of this
    /// rank's elements; with `indirect`, a NULL pointer skips one.
    pub(crate) fn with_sink<T>(
        self,
        sizes: Result<Sizes<'_>>,
        indirect: bool,
        with: impl FnOnce(Result<Sink<'_>>) -> T,
    ) -> T {
        if self.is_null() {
            return with(Ok(Sink::Skip));
        }
        let sizes = match sizes {
            Ok(sizes) => sizes,
            Err(error) => return with(Err(error)),
        };
        if !indirect {
            return with(sizes.total().and_then(|total| self.bytes(total)).map(Sink::Contiguous));
        }
        let pointers = Values(self.0.cast::<*mut u8>().cast_const(), PhantomData);
        match pointers.get(sizes.count() as u64, "data") {
            Ok(pointers) => with(Ok(Sink::Indirect(&mut Pointers { pointers, sizes }))),
            Err(error) => with(Err(error)),
        }
    }
}
