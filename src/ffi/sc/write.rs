//! Writing sections.

use super::arrays::{numbers, one, sc_array, with_source};
use super::errors::{on_writer, sc_scda_ferror};
use super::files::written_user_string;
use crate::ffi::arguments::Arguments;
use crate::ffi::context::scda_fcontext_t;
use crate::file::{Encode, Sizes, ThisRank, Writer};
use crate::format::INLINE_BYTES;
use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;

/// libsc's truth values.
fn encoding(encode: c_int) -> Encode {
    if encode == 0 { Encode::None } else { Encode::Always }
}

/// As [`crate::ffi::scda_fwrite_inline`]: on `root` an array of one element of 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fwrite_inline(
    fc: *mut scda_fcontext_t,
    userstr: *const c_char,
    len: *const usize,
    inline_data: *const sc_array,
    root: c_int,
    errcode: Option<&mut MaybeUninit<sc_scda_ferror>>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let (root, is_root) = writer.root(root)?;
        // SAFETY: C passes a user string.
        let user = writer.require(unsafe { written_user_string(userstr, len) })?;
        // SAFETY: C passes an array of 32 bytes on the root.
        let data = unsafe { one(inline_data, INLINE_BYTES as u64, "inline_data") };
        let data = if is_root { data.map(|data| data.first_chunk().unwrap_or(&[0; _])) } else { Ok(&[0; _]) };
        writer.write(|sections| sections.inline(user, root, data))
    };
    on_writer(fc, errcode, body)
}

/// As [`crate::ffi::scda_fwrite_block`]: on `root` an array of one element of `block_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fwrite_block(
    fc: *mut scda_fcontext_t,
    userstr: *const c_char,
    len: *const usize,
    block_data: *const sc_array,
    block_size: usize,
    root: c_int,
    encode: c_int,
    errcode: Option<&mut MaybeUninit<sc_scda_ferror>>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let (root, is_root) = writer.root(root)?;
        // SAFETY: C passes a user string.
        let user = writer.require(unsafe { written_user_string(userstr, len) })?;
        let size = block_size as u64;
        let mine = if is_root { size } else { 0 };
        // SAFETY: C passes an array of the block on the root.
        let data = unsafe { one(block_data, mine, "block_data") };
        writer.write(|sections| sections.block(user, root, size, data, encoding(encode)))
    };
    on_writer(fc, errcode, body)
}

/// As [`crate::ffi::scda_fwrite_array`]: `elem_counts` has a number for each rank; `array_data` this rank's
/// elements, or with `indirect` an array of one element for each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fwrite_array(
    fc: *mut scda_fcontext_t,
    userstr: *const c_char,
    len: *const usize,
    array_data: *const sc_array,
    elem_counts: *const sc_array,
    elem_size: usize,
    indirect: c_int,
    encode: c_int,
    errcode: Option<&mut MaybeUninit<sc_scda_ferror>>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        // SAFETY: C passes a user string.
        let user = writer.require(unsafe { written_user_string(userstr, len) })?;
        let ThisRank { rank, size: ranks } = writer.ranks();
        // SAFETY: C passes an array of one count for each rank.
        let counts = writer.require(unsafe { numbers(elem_counts, ranks as u64, "elem_counts") })?;
        let (count, size) = (counts[rank], elem_size as u64);
        // SAFETY: C passes an array of this rank's elements, or of arrays of them.
        unsafe {
            with_source(array_data, Ok(Sizes::Fixed { count, size }), indirect != 0, |data| {
                writer.write(|sections| sections.array(user, counts, size, data, encoding(encode)))
            })
        }
    };
    on_writer(fc, errcode, body)
}

/// As [`crate::ffi::scda_fwrite_varray`]: `elem_counts` and `proc_sizes` have a number for each rank,
/// `elem_sizes` one for each element of this rank; `array_data` its bytes, or with `indirect` an array of
/// one element for each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_fwrite_varray(
    fc: *mut scda_fcontext_t,
    userstr: *const c_char,
    len: *const usize,
    array_data: *const sc_array,
    elem_counts: *const sc_array,
    elem_sizes: *const sc_array,
    proc_sizes: *const sc_array,
    indirect: c_int,
    encode: c_int,
    errcode: Option<&mut MaybeUninit<sc_scda_ferror>>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        // SAFETY: C passes a user string.
        let user = writer.require(unsafe { written_user_string(userstr, len) })?;
        let ThisRank { rank, size: ranks } = writer.ranks();
        // SAFETY: C passes an array of one count for each rank.
        let counts = writer.require(unsafe { numbers(elem_counts, ranks as u64, "elem_counts") })?;
        // SAFETY: C passes an array of one size for each rank.
        let sums = writer.require(unsafe { numbers(proc_sizes, ranks as u64, "proc_sizes") })?;
        // SAFETY: C passes an array of one size for each element of this rank.
        let sizes = unsafe { numbers(elem_sizes, counts[rank], "elem_sizes") };
        let each = *sizes.as_ref().unwrap_or(&[].as_slice());
        // SAFETY: C passes an array of this rank's elements, or of arrays of them.
        unsafe {
            with_source(array_data, sizes.map(Sizes::Each), indirect != 0, |data| {
                let data = data.map(|data| (each, data));
                writer.write(|sections| sections.varray(user, counts, Some(sums), data, encoding(encode)))
            })
        }
    };
    on_writer(fc, errcode, body)
}
