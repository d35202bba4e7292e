//! Opening, closing, and what concerns the file as a whole.

use super::arguments::Arguments;
use super::context::{Context, close, on_writer, register, scda_fcontext_t, with};
use super::memory::{path, put_user_string, slice, slice_mut, user_string};
use super::mpi_types::{MPI_Comm, communicator};
use super::notes::note_path;
use super::params::{read_params, scda_params_t};
use super::{Outcome, guard, keep_message};
use crate::error::{Error, Result};
use crate::file::{Params, Reader, Writer};
use crate::format::header::UserString;
use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// The most bytes that a user string can have.
pub const SCDA_USER_STRING_BYTES: usize = 58;
/// The bytes of data of an inline section.
pub const SCDA_INLINE_BYTES: usize = 32;

/// # Safety
/// The arguments are as `scda_fopen_write` says.
unsafe fn create(
    comm: MPI_Comm,
    filename: *const c_char,
    userstr: *const c_char,
    len: *const usize,
    params: Result<Params>,
) -> Result<Context> {
    // SAFETY: C passes a valid communicator.
    let comm = unsafe { communicator(comm) }?;
    // SAFETY: C passes a `filename` that is NULL or a C string.
    let path = unsafe { path(filename) };
    // SAFETY: C passes a user string.
    let user = unsafe { user_string(userstr, len) };
    Writer::create_if_valid(comm, path, user.and_then(UserString::new), params).map(Context::Writing)
}

/// # Safety
/// The arguments are as `scda_fopen_read` says.
unsafe fn open(
    comm: MPI_Comm,
    filename: *const c_char,
    userstr: *mut c_char,
    len: *mut usize,
    params: Result<Params>,
) -> Result<Context> {
    // SAFETY: C passes a valid communicator.
    let comm = unsafe { communicator(comm) }?;
    // SAFETY: C passes a `filename` that is NULL or a C string.
    let path = unsafe { path(filename) };
    let name = path.as_ref().map_or_else(|_| String::new(), |path| path.display().to_string());
    let reader = Reader::open_if_valid(comm, path, params)?;
    if let Some(bytes) = reader.left_out().filter(|&bytes| bytes > 0) {
        keep_message(
            &format!("{name}: opened to read up to its last seal: {bytes} bytes behind were not committed"),
            None,
        );
    }
    // SAFETY: C passes a `userstr` that is NULL or has room for 59 bytes, and a `len` that is NULL or may be
    // written.
    unsafe { put_user_string(reader.user(), userstr, len) };
    Ok(Context::reading(reader))
}

/// # Safety
/// The arguments are as `scda_fopen` says.
pub(super) unsafe fn open_in_mode(
    comm: MPI_Comm,
    filename: *const c_char,
    mode: *const c_char,
    userstr: *mut c_char,
    len: *mut usize,
    params: Result<Params>,
) -> Result<Context> {
    // SAFETY: not NULL, so C passes a C string.
    let mode = (!mode.is_null()).then(|| unsafe { CStr::from_ptr(mode) }.to_bytes());
    match mode {
        // SAFETY: the caller passes on the arguments of C, which are those of `scda_fopen_write`.
        Some(b"w") => unsafe { create(comm, filename, userstr, len, params) },
        // SAFETY: the caller passes on the arguments of C, which are those of `scda_fopen_read`.
        Some(b"r") => unsafe { open(comm, filename, userstr, len, params) },
        // SAFETY: the caller passes on the arguments of C, which are those of `scda_fopen_append`.
        Some(b"a") => unsafe { append(comm, filename, userstr, len, params) },
        _ => {
            // Fails on all ranks, should this one alone have a wrong mode.
            let error = Error::argument("mode: found none of \"w\", \"r\" and \"a\"");
            // SAFETY: the caller passes on the arguments of C, which are those of `scda_fopen_read`; nothing is written through NULL.
            unsafe { open(comm, filename, null_mut(), null_mut(), Err(error)) }
        }
    }
}

/// # Safety
/// The arguments are as `scda_fopen_append` says.
pub(super) unsafe fn append(
    comm: MPI_Comm,
    filename: *const c_char,
    userstr: *mut c_char,
    len: *mut usize,
    params: Result<Params>,
) -> Result<Context> {
    // SAFETY: C passes a valid communicator.
    let comm = unsafe { communicator(comm) }?;
    // SAFETY: C passes a `filename` that is NULL or a C string.
    let path = unsafe { path(filename) };
    let name = path.as_ref().map_or_else(|_| String::new(), |path| path.display().to_string());
    let writer = Writer::append_if_valid(comm, path, params)?;
    // SAFETY: C passes a `userstr` that is NULL or has room for 59 bytes, and a `len` that is NULL or may be
    // written.
    unsafe { put_user_string(writer.user(), userstr, len) };
    let bytes = writer.bytes_cut_off();
    if bytes > 0 {
        keep_message(&format!("{name}: opened to append: cut off {bytes} bytes behind the last seal"), None);
    }
    Ok(Context::Writing(writer))
}

/// Gives an open file to C.
pub(super) fn hand_out(context: Context) -> Result<(*mut scda_fcontext_t, Outcome)> {
    Ok((register(context)?, Outcome::Success))
}

/// Opens a file for writing, for reading, or for appending, as the paper has it: the parameters are the defaults, but for
/// `seal`, which is 0. So a file that is created has the sections that the program writes, and no seal.
///
/// Collective. When reading or appending, `userstr` and `len` may differ between the ranks.
///
/// @param [in] comm          The communicator. The library duplicates it.
/// @param [in] filename      The path of the file.
/// @param [in] mode          "w": see `scda_fopen_write`. "r": see `scda_fopen_read`. "a": see
///                           `scda_fopen_append`.
/// @param [in,out] userstr   The user string of the file: input for "w", output for "r" and "a".
/// @param [in,out] len       Its length: input for "w", output for "r" and "a".
/// @param [out] err          The error code.
/// @return                   The file, to be closed by `scda_fclose`, or NULL on error.
/// Errors: `SCDA_ERR_ARG` for another mode, and those of the three functions.
/// Spec: A.3.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fopen(
    comm: MPI_Comm,
    filename: *const c_char,
    mode: *const c_char,
    userstr: *mut c_char,
    len: *mut usize,
    err: Option<&mut MaybeUninit<c_int>>,
) -> *mut scda_fcontext_t {
    // SAFETY: C passes the arguments that `scda_fopen` documents.
    let open = || unsafe { open_in_mode(comm, filename, mode, userstr, len, Ok(Params::default())) };
    let opened = guard(err, null_mut(), || open().and_then(hand_out));
    // SAFETY: the file was opened, so C has passed C strings.
    if !opened.is_null() && unsafe { CStr::from_ptr(mode) } == c"a" {
        // SAFETY: likewise.
        unsafe { note_path(opened, filename) };
    }
    opened
}

/// Creates a file for writing, or truncates an existing one, and writes its header.
///
/// Two jobs do not write a file at once: while another one creates it or appends to it, this fails with
/// `SCDA_ERR_FILE_IN_USE` and changes nothing, if the file system has locks (`flock`); with MPI-IO on network
/// file systems, only while the other one opens it.
///
/// Collective; `info` in `params` may differ between the ranks.
///
/// @param [in] comm      The communicator. The library duplicates it.
/// @param [in] filename  The path of the file. With MPI-IO it may have a prefix that ROMIO knows.
/// @param [in] userstr   The user string of the file.
/// @param [in] len       Its length, or NULL.
/// @param [in] params    The parameters. NULL: the defaults; so the file gets a seal.
/// @param [out] err      The error code.
/// @return               The file, to be closed by `scda_fclose`, or NULL on error.
/// Errors: `SCDA_ERR_FILE_IN_USE`, `SCDA_ERR_ARG`, `SCDA_ERR_USAGE` if MPI is not running, and those of the
/// file system.
/// Spec: 2.2, A.3.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fopen_write(
    comm: MPI_Comm,
    filename: *const c_char,
    userstr: *const c_char,
    len: *const usize,
    params: *const scda_params_t,
    err: Option<&mut MaybeUninit<c_int>>,
) -> *mut scda_fcontext_t {
    let body = || {
        // SAFETY: C passes `params` that are NULL or may be read.
        let params = unsafe { read_params(params) };
        // SAFETY: C passes the arguments that `scda_fopen_write` documents.
        unsafe { create(comm, filename, userstr, len, params) }.and_then(hand_out)
    };
    guard(err, null_mut(), body)
}

/// Opens a file for reading and reads its header.
///
/// Collective; `userstr`, `len`, and `info` in `params` may differ between the ranks.
///
/// @param [in] comm      The communicator. The library duplicates it.
/// @param [in] filename  The path of the file. With MPI-IO it may have a prefix that ROMIO knows.
/// @param [out] userstr  The user string of the file.
/// @param [out] len      Its length.
/// @param [in] params    The parameters. NULL: the defaults.
/// @param [out] err      The error code.
/// @return               The file, to be closed by `scda_fclose`, or NULL on error.
/// Errors: `SCDA_ERR_FORMAT`, `SCDA_ERR_VERSION`, `SCDA_ERR_COUNT`, `SCDA_ERR_ARG`,
/// `SCDA_ERR_USAGE` if MPI is not running, and those of the file system.
/// Spec: 2.2, A.3.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fopen_read(
    comm: MPI_Comm,
    filename: *const c_char,
    userstr: *mut c_char,
    len: *mut usize,
    params: *const scda_params_t,
    err: Option<&mut MaybeUninit<c_int>>,
) -> *mut scda_fcontext_t {
    let body = || {
        // SAFETY: C passes `params` that are NULL or may be read.
        let params = unsafe { read_params(params) };
        // SAFETY: C passes the arguments that `scda_fopen_read` documents.
        unsafe { open(comm, filename, userstr, len, params) }.and_then(hand_out)
    };
    guard(err, null_mut(), body)
}

/// Closes a file. After writing, success means that every byte is in the file: the errors of all
/// ranks and the size of the file were checked.
///
/// Collective.
///
/// @param [in] f     The file. Its context is freed in any case.
/// @param [out] err  The error code.
/// @return           0 on success, -1 on error.
/// Errors: those of all sections since the last `scda_fflush`, and those of the file system.
/// Spec: A.3.2.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fclose(f: *mut scda_fcontext_t, err: Option<&mut MaybeUninit<c_int>>) -> c_int {
    close(f, err)
}

/// Writes all buffered sections, and returns the errors of all ranks so far.
///
/// Collective.
///
/// @param [in] f     The file, open for writing.
/// @param [out] err  The error code.
/// @return           `f`, or NULL on error.
/// Errors: those of all sections since the last flush.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fflush(
    f: *mut scda_fcontext_t,
    err: Option<&mut MaybeUninit<c_int>>,
) -> *mut scda_fcontext_t {
    on_writer(f, err, Writer::flush)
}

/// Computes the number of bytes of a varray on each rank: the `Sq` of the functions for varrays.
///
/// Collective; `Ei` may differ between the ranks.
///
/// @param [in] f     The file, open for writing or reading. Its position does not change.
/// @param [in] Ei    The size of each element of this rank.
/// @param [in] Nq    The number of elements on each rank.
/// @param [out] Sq   The number of bytes on each rank. Must not be NULL.
/// @param [out] err  The error code.
/// @return           `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG`, `SCDA_ERR_RANGE`.
/// Spec: A.1.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_proc_sizes(
    f: *mut scda_fcontext_t,
    Ei: *const u64,
    Nq: *const u64,
    Sq: *mut u64,
    err: Option<&mut MaybeUninit<c_int>>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        // SAFETY: C passes an `Nq` of one entry per rank.
        let (_, count) = unsafe { context.counts(Nq) }?;
        let size = context.ranks().size as u64;
        // SAFETY: C passes an `Sq` with room for one entry per rank.
        let sums = context.require(unsafe { slice_mut(Sq, size, "Sq") })?;
        // SAFETY: C passes an `Ei` of one entry for each element of this rank.
        let sizes = unsafe { slice(Ei, count, "Ei") };
        sums.copy_from_slice(&context.proc_sizes(sizes)?);
        Ok(())
    };
    with(f, err, body)
}

/// Gathers the number of elements on each rank: the `Nq` of the functions for arrays and varrays.
///
/// Collective; `Np` may differ between the ranks.
///
/// @param [in] f     The file, open for writing or reading. Its position does not change.
/// @param [in] Np    The number of elements on this rank.
/// @param [out] Nq   The number of elements on each rank. Must not be NULL.
/// @param [out] err  The error code.
/// @return           `f`, or NULL on error.
/// Errors: `SCDA_ERR_ARG`.
/// Spec: A.1.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn scda_proc_counts(
    f: *mut scda_fcontext_t,
    Np: u64,
    Nq: *mut u64,
    err: Option<&mut MaybeUninit<c_int>>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let size = context.ranks().size as u64;
        // SAFETY: C passes an `Nq` with room for one entry per rank.
        let counts = context.require(unsafe { slice_mut(Nq, size, "Nq") })?;
        counts.copy_from_slice(&context.proc_counts(Np)?);
        Ok(())
    };
    with(f, err, body)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_constants_are_those_of_the_format() {
        assert_eq!(super::SCDA_USER_STRING_BYTES, crate::format::USER_STRING_BYTES);
        assert_eq!(super::SCDA_INLINE_BYTES, crate::format::INLINE_BYTES);
    }
}
