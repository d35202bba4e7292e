//! C structs that begin with their size. Only members at the end are ever added, so a program and a library
//! that were compiled with different versions of the header work together.

use super::Outcome;
use super::memory::slice;
use scda_base::error::{Error, Result};
use scda_base::memory::reserve;
use scda_base::numbers::to_usize;
use scda_format::layout::product;
use std::borrow::Cow;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::copy_nonoverlapping;

/// The largest struct of a newer version. A larger size means that it was never set.
const MOST_BYTES: usize = 4096;

/// A struct that begins with its size.
///
/// # Safety
/// It is `repr(C)`, begins with its size as `usize`, has no padding at its end (where a later member would
/// be), and any bytes are a valid value.
pub unsafe trait Versioned: Copy {
    /// Its name in messages.
    const NAME: &'static str;
    /// The function of C that initialises it.
    const INIT: &'static str;
    /// The values of members that a program does not know, with the size of this version.
    fn defaults() -> Self;
    /// The size according to the struct.
    fn size(&self) -> usize;
}

/// Makes a struct [`Versioned`]; its last member has this type.
macro_rules! versioned {
    ($kind:ty, $name:literal, $init:literal, $defaults:expr, $last:ident: $type:ty) => {
        // Otherwise a later member would be in the padding, which older programs do not set.
        const _: () = assert!(std::mem::offset_of!($kind, $last) + size_of::<$type>() == size_of::<$kind>());
        // SAFETY: it is `repr(C)`, begins with its size, and has only numbers and pointers, the last of them
        // at its end.
        unsafe impl $crate::versioned::Versioned for $kind {
            const NAME: &'static str = $name;
            const INIT: &'static str = $init;
            fn defaults() -> Self {
                $defaults
            }
            fn size(&self) -> usize {
                self.size
            }
        }
    };
}
pub(super) use versioned;

/// Zeros and NULL, except for the size.
pub(super) fn zeros<T: Versioned>() -> T {
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: it begins with its size.
    unsafe { value.as_mut_ptr().cast::<usize>().write(size_of::<T>()) };
    // SAFETY: any bytes are a valid value.
    unsafe { value.assume_init() }
}

/// A struct that begins with its size; that many bytes, and what it points to, may be read; or NULL.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct StructIn<'a, T>(*const T, PhantomData<&'a T>);

/// Like [`StructIn`], and the bytes may be written as well.
#[repr(transparent)]
pub struct StructInOut<'a, T>(*mut T, PhantomData<&'a mut T>);

/// Consecutive structs like [`StructIn`], as many as documented for the exported function; or NULL.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Structs<'a, T>(*const T, PhantomData<&'a [T]>);

/// A struct of which as many bytes may be written as another argument says; or NULL.
#[repr(transparent)]
pub struct StructOut<'a, T>(*mut T, PhantomData<&'a mut T>);

impl<'a, T: Versioned> StructIn<'a, T> {
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The size according to the struct, if it is possible.
    pub fn size(self) -> Result<usize> {
        if self.is_null() {
            return Err(null::<T>());
        }
        // SAFETY: not NULL, so at least the size may be read.
        possible::<T>(unsafe { self.0.cast::<usize>().read_unaligned() })
    }

    /// The struct. Members that an older program does not know get their default; those of a newer program
    /// that this library does not know must be zero.
    pub fn read(self) -> Result<T> {
        let (size, bytes, own) = (self.size()?, self.0.cast::<u8>(), size_of::<T>());
        let mut value = T::defaults();
        // SAFETY: both structs have these bytes, and any bytes are a valid value.
        unsafe { copy_nonoverlapping(bytes, (&raw mut value).cast(), size.min(own)) };
        // SAFETY: it has as many bytes as it says; those of a newer version follow without padding.
        let newer = unsafe { slice(bytes.wrapping_add(own), size.saturating_sub(own) as u64, T::NAME) }?;
        if newer.iter().any(|&byte| byte != 0) {
            let name = T::NAME;
            return Err(Error::argument(format!(
                "{name}: members after its {own} bytes are not zero: the program was compiled for a newer libscda"
            )));
        }
        Ok(value)
    }
}

impl<'a, T: Versioned> StructInOut<'a, T> {
    /// The struct, for reading.
    pub fn given(&self) -> StructIn<'_, T> {
        StructIn(self.0, PhantomData)
    }

    /// Returns a struct to C, as much of it as fits. Members that only a newer program knows become zero.
    pub fn write(self, value: T) -> Result<()> {
        let size = self.given().size()?;
        // SAFETY: it has as many bytes as it says.
        unsafe { fill(self.0, size, value) };
        Ok(())
    }
}

fn null<T: Versioned>() -> Error {
    Error::argument(format!("{} is NULL", T::NAME))
}

/// The size, if a version of the struct can have it: none ends within a number.
fn possible<T: Versioned>(size: usize) -> Result<usize> {
    let (name, init, own, align) = (T::NAME, T::INIT, size_of::<T>(), align_of::<T>());
    if (size_of::<usize>()..=MOST_BYTES).contains(&size) && size.is_multiple_of(align) {
        return Ok(size);
    }
    Err(Error::argument(format!(
        "size of {name}: found {size}, expected {own}, as set by {init}, or a multiple of {align} set by another version"
    )))
}

impl<'a, T: Versioned> Structs<'a, T> {
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// `n` structs, all with the size of the first one.
    pub fn read(self, n: u64, name: &str) -> Result<Cow<'a, [T]>> {
        let own = size_of::<T>();
        let one_at = |byte| StructIn(self.0.wrapping_byte_add(byte), PhantomData);
        let size = if n == 0 || self.is_null() { own } else { one_at(0).size()? };
        if size == own {
            // SAFETY: there are `n` structs of this size.
            let all = unsafe { slice(self.0, n, name) }?;
            return all.iter().try_for_each(|one| same(one.size(), size)).map(|()| Cow::Borrowed(all));
        }
        let all =
            product(n, size as u64).ok_or_else(|| Error::range(format!("{name}: found {n} of them")))?;
        let bytes = to_usize(all);
        let mut values = Vec::new();
        reserve(&mut values, bytes / size)?;
        for byte in (0..bytes).step_by(size) {
            let value = one_at(byte).read()?;
            same(value.size(), size)?;
            values.push(value);
        }
        Ok(Cow::Owned(values))
    }
}

fn same(found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::argument(format!(
        "sizes of structs: found {found} after {expected}, expected the same size for all"
    )))
}

impl<T: Versioned> StructOut<'_, T> {
    /// Fills the struct, of `size` bytes, with the defaults.
    pub(super) fn init(self, size: usize) -> Result<(c_int, Outcome)> {
        if self.0.is_null() {
            return Err(null::<T>());
        }
        // SAFETY: not NULL, so `size` bytes may be written.
        unsafe { fill(self.0, possible::<T>(size)?, T::defaults()) };
        Ok((0, Outcome::Success))
    }
}

/// # Safety
/// `size` bytes may be written at `pointer`, at least those of the size itself.
unsafe fn fill<T: Versioned>(pointer: *mut T, size: usize, value: T) {
    let (bytes, own) = (pointer.cast::<u8>(), size_of::<T>());
    // SAFETY: both have these bytes.
    unsafe { copy_nonoverlapping((&raw const value).cast(), bytes, size.min(own)) };
    // SAFETY: the caller lets `size` bytes be written.
    unsafe { bytes.wrapping_add(own).write_bytes(0, size.saturating_sub(own)) };
    // SAFETY: the caller lets at least a size be written.
    unsafe { pointer.cast::<usize>().write_unaligned(size) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scda_box_t;

    #[test]
    fn other_versions_are_read_and_filled() {
        let own = size_of::<scda_box_t>();
        for size in [8, 16, own, own + 8, own + 24] {
            let mut words = [u64::MAX; 32];
            let place = words.as_mut_ptr().cast::<scda_box_t>();
            assert!(StructOut(place, PhantomData).init(size).is_ok());
            assert_eq!(words[0], size as u64);
            assert!(words[1..size / 8].iter().all(|&word| word == 0), "{size}");
            assert!(words[size / 8..].iter().all(|&word| word == u64::MAX), "{size}");
            let place = words.as_mut_ptr().cast::<scda_box_t>();
            let value = StructIn(place, PhantomData).read().unwrap();
            assert!(value.size() == size && value.data.is_null() && value.stride.is_null());
            if size > own {
                words[own / 8] = 1 << 40;
                assert!(StructIn(words.as_ptr().cast::<scda_box_t>(), PhantomData).read().is_err());
            }
        }
    }

    #[test]
    fn no_version_ends_within_a_number() {
        let own = size_of::<scda_box_t>();
        for size in [0, 4, 7, 12, own - 1, own + 4, MOST_BYTES + 8, usize::MAX - 7] {
            let mut words = [u64::MAX; 32];
            let place = words.as_mut_ptr().cast::<scda_box_t>();
            assert!(StructOut(place, PhantomData).init(size).is_err() && words == [u64::MAX; 32], "{size}");
            words[0] = size as u64;
            assert!(StructIn(words.as_ptr().cast::<scda_box_t>(), PhantomData).read().is_err(), "{size}");
        }
    }

    #[test]
    fn lists_have_one_size() {
        let own = size_of::<scda_box_t>();
        for size in [16, own, own + 8] {
            let step = size / 8;
            let mut words = [0; 64];
            for index in 0..3 {
                words[index * step] = size as u64;
                words[index * step + 1] = 0x1000 + index as u64;
            }
            let all = |words: &[u64; 64]| {
                Structs(words.as_ptr().cast::<scda_box_t>(), PhantomData).read(3, "boxes")
            };
            let data: Vec<usize> = all(&words).unwrap().iter().map(|one| one.data.addr()).collect();
            assert_eq!(data, [0x1000, 0x1001, 0x1002]);
            words[2 * step] += 8;
            assert!(all(&words).is_err());
        }
        let none = Structs::<scda_box_t>(std::ptr::null(), PhantomData);
        assert!(none.read(0, "boxes").unwrap().is_empty() && none.read(1, "boxes").is_err());
    }
}
