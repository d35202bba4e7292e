//! Opening, closing, and functions for the file as a whole.

use super::arguments::Arguments;
use super::context::{Context, close, on_writer, register, run_close, scda_fcontext_t, with};
use super::memory::{Out, Room, Values};
use super::mpi_types::Comm;
use super::params::{OpenParams, scda_params_t};
use super::pointers::{PerRank, Text, UserText, UserTextOut};
use super::versioned::StructIn;
use super::{Outcome, guard, keep_message};
use scda::Writer;
use scda::bindings::{BindingCalls, append_if_valid, create_if_valid, open_if_valid};
use scda_base::error::{Error, Result};
use scda_format::header::UserString;
use scda_ranks::Communicator;
use std::ffi::{CStr, c_int};
use std::ptr::null_mut;

/// The longest user string in bytes.
pub const SCDA_USER_STRING_BYTES: usize = 58;
/// The size of an inline section's data in bytes.
pub const SCDA_INLINE_BYTES: usize = 32;

/// The ranks of a file to be opened.
type Ranks = Box<dyn Communicator>;

fn create(
    comm: Ranks,
    filename: Text<'_>,
    userstr: UserText<'_>,
    len: Option<&usize>,
    params: Result<OpenParams<'_>>,
) -> Result<Context> {
    let user = userstr.bytes(len).and_then(UserString::new);
    let options = params.and_then(OpenParams::into_writing);
    create_if_valid(comm, filename.path(), user, options).map(Context::Writing)
}

fn open(
    comm: Ranks,
    filename: Text<'_>,
    userstr: UserTextOut<'_>,
    len: Out<'_, usize>,
    params: Result<OpenParams<'_>>,
) -> Result<Context> {
    let path = filename.path();
    let name = path.as_ref().map_or_else(|_| String::new(), |path| path.display().to_string());
    let reader = open_if_valid(comm, path, params.and_then(OpenParams::into_reading))?;
    if let Some(bytes) = reader.left_out().filter(|&bytes| bytes > 0) {
        keep_message(
            &format!(
                "{name}: opened to read up to its last seal: {bytes} bytes after that were not committed"
            ),
            None,
        );
    }
    userstr.put(&reader.header().user, len);
    Ok(Context::reading(reader))
}

pub(super) fn open_in_mode(
    comm: Ranks,
    filename: Text<'_>,
    mode: Text<'_>,
    userstr: UserTextOut<'_>,
    len: Out<'_, usize>,
    params: Result<OpenParams<'_>>,
) -> Result<Context> {
    let mode = mode.optional().map(CStr::to_bytes);
    match mode {
        Some(b"w") => {
            // SAFETY: it has a value in this mode.
            let len = len.map(|len| unsafe { len.assume_init_ref() });
            create(comm, filename, userstr.given(), len, params)
        }
        Some(b"r") => open(comm, filename, userstr, len, params),
        Some(b"a") => append(comm, filename, userstr, len, params),
        Some(b"c") => {
            // SAFETY: as for "w".
            let len = len.map(|len| unsafe { len.assume_init_ref() });
            append_or_create(comm, filename, userstr.given(), len, params)
        }
        // All ranks fail, even if only this one has a wrong mode.
        _ => {
            let error = Error::argument("mode: neither \"w\", \"r\", \"a\" nor \"c\"");
            open(comm, filename, userstr, len, Err(error))
        }
    }
}

pub(super) fn append(
    comm: Ranks,
    filename: Text<'_>,
    userstr: UserTextOut<'_>,
    len: Out<'_, usize>,
    params: Result<OpenParams<'_>>,
) -> Result<Context> {
    let path = filename.path();
    let name = path.as_ref().map_or_else(|_| String::new(), |path| path.display().to_string());
    let writer = append_if_valid(comm, path, Ok(None), params.and_then(OpenParams::into_writing))?;
    userstr.put(writer.user(), len);
    say_what_was_removed(&writer, &name);
    Ok(Context::Writing(writer))
}

pub(super) fn append_or_create(
    comm: Ranks,
    filename: Text<'_>,
    userstr: UserText<'_>,
    len: Option<&usize>,
    params: Result<OpenParams<'_>>,
) -> Result<Context> {
    let path = filename.path();
    let name = path.as_ref().map_or_else(|_| String::new(), |path| path.display().to_string());
    let user = userstr.bytes(len).and_then(UserString::new).map(Some);
    let writer = append_if_valid(comm, path, user, params.and_then(OpenParams::into_writing))?;
    say_what_was_removed(&writer, &name);
    Ok(Context::Writing(writer))
}

fn say_what_was_removed(writer: &Writer, name: &str) {
    let bytes = writer.bytes_rolled_back();
    if bytes > 0 {
        keep_message(&format!("{name}: opened to append: removed {bytes} bytes at its end"), None);
    }
}

/// Returns an open file to C.
pub(super) fn hand_out(context: Context) -> Result<(*mut scda_fcontext_t, Outcome)> {
    #[cfg(feature = "mpi")]
    if matches!(context, Context::Writing(_)) {
        super::requests::watch_finalize();
    }
    Ok((register(context)?, Outcome::Success))
}

/// Opens a file for writing, for reading, or for appending, as defined in the paper: the parameters are the
/// defaults, except that `seal` is 0. So a new file has only the sections that the program writes, and no
/// seal.
///
/// Collective. In reading or appending, `userstr` and `len` may differ between the ranks.
///
/// @param [in] comm          The communicator. The library duplicates it.
/// @param [in] filename      The path of the file.
/// @param [in] mode          "w": see `scda_fopen_write`. "r": see `scda_fopen_read`. "a": see
///                           `scda_fopen_append`. "c": see `scda_fopen_append_or_create`.
/// @param [in,out] userstr   The user string of the file: input for "w" and "c", output for "r" and "a".
/// @param [in,out] len       Its length: input for "w" and "c", output for "r" and "a".
/// @param [out] err          The error code.
/// @return                   The file, to be closed by `scda_fclose`, or NULL on error.
/// Errors: `SCDA_ERR_ARG` for another mode, and those of the four functions.
/// Spec: A.3.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fopen(
    comm: Comm<'_>,
    filename: Text<'_>,
    mode: Text<'_>,
    userstr: UserTextOut<'_>,
    len: Out<'_, usize>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = || {
        let params = Ok(OpenParams::bare());
        open_in_mode(comm.duplicate()?, filename, mode, userstr, len, params).and_then(hand_out)
    };
    guard(err, null_mut(), body)
}

/// Creates a file for writing, or truncates an existing one, and writes its header.
///
/// Two jobs cannot write a file at the same time: while another one creates it or appends to it, this fails
/// with `SCDA_ERR_FILE_IN_USE` and changes nothing, if the file system has locks; with MPI-IO on network file
/// systems, only while the other one opens it.
///
/// Collective; `info` and `threads` in `params` may differ between the ranks.
///
/// @param [in] comm      The communicator. The library duplicates it.
/// @param [in] filename  The path of the file, the same file on all ranks. If the program chooses MPI-IO and
///                       this is ROMIO, it may have a prefix that ROMIO removes, such as `ufs:`. Any other
///                       name is taken literally.
/// @param [in] userstr   The user string of the file.
/// @param [in] len       Its length, or NULL.
/// @param [in] params    The parameters. NULL: the defaults, with which the file gets a seal.
/// @param [out] err      The error code.
/// @return               The file, to be closed by `scda_fclose`, or NULL on error.
/// Errors: `SCDA_ERR_FILE_IN_USE`, `SCDA_ERR_ARG`, `SCDA_ERR_USAGE` if MPI is not running, and those of the
/// file system.
/// Spec: 2.2, A.3.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fopen_write(
    comm: Comm<'_>,
    filename: Text<'_>,
    userstr: UserText<'_>,
    len: Option<&usize>,
    params: StructIn<'_, scda_params_t<'_>>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = || {
        let params = OpenParams::of(params);
        create(comm.duplicate()?, filename, userstr, len, params).and_then(hand_out)
    };
    guard(err, null_mut(), body)
}

/// Opens a file for reading and reads its header.
///
/// Collective; `userstr`, `len`, and `info` and `threads` in `params` may differ between the ranks.
///
/// @param [in] comm      The communicator. The library duplicates it.
/// @param [in] filename  The path of the file, the same file on all ranks. If the program chooses MPI-IO and
///                       this is ROMIO, it may have a prefix that ROMIO removes, such as `ufs:`. Any other
///                       name is taken literally.
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
    comm: Comm<'_>,
    filename: Text<'_>,
    userstr: UserTextOut<'_>,
    len: Out<'_, usize>,
    params: StructIn<'_, scda_params_t<'_>>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = || {
        let params = OpenParams::of(params);
        open(comm.duplicate()?, filename, userstr, len, params).and_then(hand_out)
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
pub unsafe extern "C" fn scda_fclose(f: *mut scda_fcontext_t, err: Out<'_, c_int>) -> c_int {
    close(f, err, || run_close(f))
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
pub unsafe extern "C" fn scda_fflush(f: *mut scda_fcontext_t, err: Out<'_, c_int>) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| writer.flush();
    on_writer(f, err, body)
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
    Ei: Values<'_, u64>,
    Nq: PerRank<'_>,
    Sq: Room<'_, u64>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let (_, count) = context.counts(Nq)?;
        let size = context.ranks().size as u64;
        let sums = context.require(Sq.get(size, "Sq"))?;
        sums.copy_from_slice(&context.proc_sizes(Ei.get(count, "Ei"))?);
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
    Nq: Room<'_, u64>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let size = context.ranks().size as u64;
        let counts = context.require(Nq.get(size, "Nq"))?;
        counts.copy_from_slice(&context.proc_counts(Np)?);
        Ok(())
    };
    with(f, err, body)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_constants_are_those_of_the_format() {
        assert_eq!(super::SCDA_USER_STRING_BYTES, scda_format::USER_STRING_BYTES);
        assert_eq!(super::SCDA_INLINE_BYTES, scda_format::INLINE_BYTES);
    }
}
