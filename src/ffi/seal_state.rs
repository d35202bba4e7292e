//! How far a sealed file is read, and reading on as it grows.

use super::context::{on_reader, scda_fcontext_t};
use super::memory::put;
use crate::file::Reader;
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// How far the file is read: see `params.to_seal`. With `left_out` 0, all of the file.
///
/// Collective. All ranks receive the same values.
///
/// @param [in] f          The file, open for reading. Its position does not change.
/// @param [out] N         The number of sections that are sealed; 0 if no seal ends what is read. May be NULL.
/// @param [out] bytes     How many bytes of the file are read: with `params.to_seal` those up to the end of the
///                        last seal, if the file has one. May be NULL.
/// @param [out] left_out  How many bytes behind them are not: what a job has written and not committed. May be
///                        NULL.
/// @param [out] err       The error code.
/// @return                `f`, or NULL on error.
/// Errors: those of `scda_fsections`.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_fseal_state(
    f: *mut scda_fcontext_t,
    N: *mut u64,
    bytes: *mut u64,
    left_out: *mut u64,
    err: Option<&mut MaybeUninit<c_int>>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let (sections, read) = (reader.sealed_sections()?, reader.file_size().zip(reader.left_out()));
        let (size, behind) = read.unwrap_or_default();
        // SAFETY: C passes an `N` that is NULL or may be written.
        unsafe { put(N, sections) };
        // SAFETY: C passes a `bytes` that is NULL or may be written.
        unsafe { put(bytes, size - behind) };
        // SAFETY: C passes a `left_out` that is NULL or may be written.
        unsafe { put(left_out, behind) };
        Ok(())
    };
    on_reader(f, err, body)
}

/// Looks again how far the file can be read: a job that appends to it may have committed more since it was
/// opened. The sections before stay, and so does the position; further ones follow behind them. With
/// `params.to_seal` 0, all that is there follows. What replaces the file, as with `params.atomic`, is another one: open it.
///
/// Collective. All ranks receive the same value.
///
/// @param [in] f         The file, open for reading.
/// @param [out] changed  1: there is more than before. 0: there is not. May be NULL.
/// @param [out] err      The error code.
/// @return               `f`, or NULL on error.
/// Errors: `SCDA_ERR_COUNT` if the file is shorter than what was read of it, `SCDA_ERR_CHECKSUM` if the seal at
/// its end is damaged, and those of the file system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_frefresh(
    f: *mut scda_fcontext_t,
    changed: *mut c_int,
    err: Option<&mut MaybeUninit<c_int>>,
) -> *mut scda_fcontext_t {
    let body = |reader: &mut Reader| {
        let more = reader.refresh()?;
        // SAFETY: C passes a `changed` that is NULL or may be written.
        unsafe { put(changed, c_int::from(more)) };
        Ok(())
    };
    on_reader(f, err, body)
}
