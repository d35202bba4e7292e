//! Types for C pointers that say what they point to. The caller of an exported function guarantees that each
//! pointer is what its type says, so reading or writing through it needs no further justification.
//!
//! To cbindgen, each is the pointer that it holds: `POINTERS` in `tests/header/lib.rs`.

use super::memory::{Out, Room, put, slice, utf8};
use scda_base::error::{Error, Result};
use scda_format::USER_STRING_BYTES;
use scda_ranks::partition::{KNOWN_WORDS, is_known};
use std::ffi::{CStr, OsStr, c_char};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null;

/// A C string, or NULL.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Text<'a>(*const c_char, PhantomData<&'a CStr>);

impl<'a> Text<'a> {
    /// No string.
    pub const NULL: Self = Self(null(), PhantomData);

    /// # Safety
    /// There is a C string for the lifetime, unless the pointer is NULL.
    pub unsafe fn at(pointer: *const c_char) -> Self {
        Self(pointer, PhantomData)
    }

    /// The C string in a buffer that is to receive another one.
    pub fn in_room(room: &'a Room<'_, c_char>) -> Self {
        Self(room.before(), PhantomData)
    }

    /// Whether it is NULL.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The C string; `None` for NULL.
    pub fn optional(self) -> Option<&'a CStr> {
        // SAFETY: not NULL, so it is a C string.
        (!self.is_null()).then(|| unsafe { CStr::from_ptr(self.0) })
    }

    /// The C string; NULL is an error.
    pub fn get(self, name: &str) -> Result<&'a CStr> {
        self.optional().ok_or_else(|| Error::argument(format!("{name} is NULL")))
    }

    /// Like [`Self::get`], if it is UTF-8.
    pub fn utf8(self, name: &str) -> Result<&'a str> {
        utf8(self.get(name)?.to_bytes(), name)
    }

    /// A file name.
    pub fn path(self) -> Result<&'a Path> {
        let name = self.get("file name")?.to_bytes();
        if name.is_empty() {
            return Err(Error::argument("file name: found an empty string"));
        }
        Ok(Path::new(OsStr::from_bytes(name)))
    }
}

/// A user string to be written: of the length in the argument `len`, or a C string if that is NULL; or NULL.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct UserText<'a>(*const c_char, PhantomData<&'a [u8]>);

impl<'a> UserText<'a> {
    /// Whether it is NULL.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Its bytes. `len` is the argument of the call.
    pub fn bytes(self, len: Option<&usize>) -> Result<&'a [u8]> {
        let n = match len {
            Some(&n) if n > USER_STRING_BYTES => return Err(too_long(&n.to_string())),
            Some(&n) => n,
            None if self.is_null() => return Err(Error::argument("user string is NULL")),
            // SAFETY: a C string; at most the length of the longest user string is read.
            None => match unsafe { libc::strnlen(self.0, USER_STRING_BYTES + 1) } {
                n if n > USER_STRING_BYTES => return Err(too_long("more")),
                n => n,
            },
        };
        // SAFETY: it has `n` bytes, unless it is NULL.
        unsafe { slice(self.0.cast(), n as u64, "user string") }
    }
}

#[cold]
fn too_long(found: &str) -> Error {
    Error::argument(format!("user string: found {found} bytes, expected at most {USER_STRING_BYTES}"))
}

/// A buffer for the longest user string and a NUL, or NULL.
#[repr(transparent)]
pub struct UserTextOut<'a>(Room<'a, c_char>);

impl<'a> UserTextOut<'a> {
    /// The user string to be written that it is instead in some modes of the function.
    pub fn given(self) -> UserText<'a> {
        UserText(self.0.pointer(), PhantomData)
    }

    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Returns a user string that was read, with a NUL, and its length to C.
    pub fn put(self, user: &[u8], len: Out<'_, usize>) {
        self.0.put_text(user, USER_STRING_BYTES + 1);
        put(len, user.len());
    }
}

/// A number for each rank of the file, or the numbers of a partition; or NULL.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct PerRank<'a>(*const u64, PhantomData<&'a [u64]>);

impl<'a> PerRank<'a> {
    /// The counts of all ranks, which may be the numbers of a partition.
    #[inline]
    pub fn counts(self, ranks: usize) -> Result<&'a [u64]> {
        // SAFETY: every file has a rank.
        let known = unsafe { slice(self.0, 1, "Nq") }.map(is_known)?;
        let words = if known { KNOWN_WORDS } else { ranks };
        // SAFETY: there is a number for each rank, or there are those of a partition, of which this is the
        // first.
        unsafe { slice(self.0, words as u64, "Nq") }
    }

    /// The bytes of all ranks; `None` for NULL.
    #[inline]
    pub fn sums(self, ranks: usize) -> Result<Option<&'a [u64]>> {
        // SAFETY: not NULL, so there is a number for each rank.
        (!self.0.is_null()).then(|| unsafe { slice(self.0, ranks as u64, "Sq") }).transpose()
    }
}
