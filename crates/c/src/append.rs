//! Appending to an existing file, and sealing what was written.

use super::context::{Context, on_writer, scda_fcontext_t};
use super::guard;
use super::memory::{Out, put};
use super::mpi_types::Comm;
use super::open::{append, append_or_create, hand_out};
use super::params::{OpenParams, scda_params_t};
use super::pointers::{Text, UserText, UserTextOut};
use super::versioned::StructIn;
use scda::Writer;
use std::ffi::c_int;
use std::ptr::null_mut;

/// Opens an existing file to append sections by `scda_fwrite_*`.
///
/// If the file has a seal, writing continues after the last one, which remains valid for the part of the file
/// before it. Sections that were not committed, because a job was killed while it appended, are removed,
/// complete or not: `scda_get_info` and, after this call, `scda_last_error_message` report their size.
/// `scda_fcommit` and `scda_fclose` seal the new sections, whatever `params.seal` is. The same holds for a
/// file that was created with `params.seal` and has no seal yet: everything after its header is removed.
///
/// `params.append_name` continues after an earlier step, and removes everything after it.
///
/// Of the sealed bytes, only the index of that seal is verified: `SCDA_ERR_CHECKSUM` if it is damaged; then
/// `params.append_after` can roll back to an earlier seal.
///
/// A file without a seal must be complete. With `params.seal`, its old sections are sealed before this call
/// returns, without decoding them, so damage in compressed data is sealed, too. The command `scda seal`
/// decodes them first.
///
/// With `params.atomic`, the sections are appended to a copy of the file, which gets its name at close. The
/// new sections have the line breaks of `params`.
///
/// While another job writes the file, opening fails with `SCDA_ERR_FILE_IN_USE`, as `scda_fopen_write` does.
///
/// A file of at most 128 bytes that has only the beginning of a header, or zeros, is one whose creation was
/// interrupted: the error is `SCDA_ERR_NO_SUCH_FILE`. `scda_fopen_append_or_create` creates it anew.
///
/// Collective; `userstr`, `len`, and `info` and `threads` in `params` may differ between the ranks.
///
/// @param [in] comm      The communicator. The library duplicates it.
/// @param [in] filename  The path of the file, the same file on all ranks. If the program chooses MPI-IO and
///                       this is ROMIO, it may have a prefix that ROMIO removes, such as `ufs:`. Any other
///                       name is taken literally.
/// @param [out] userstr  The user string of the file, which does not change.
/// @param [out] len      Its length.
/// @param [in] params    The parameters. NULL: the defaults.
/// @param [out] err      The error code.
/// @return               The file, to be closed by `scda_fclose`, or NULL on error, in which case the file
///                       has not changed.
/// Errors: `SCDA_ERR_FORMAT`, `SCDA_ERR_VERSION`, `SCDA_ERR_COUNT`, `SCDA_ERR_RANGE`,
/// `SCDA_ERR_DECODE`, `SCDA_ERR_CHECKSUM`, `SCDA_ERR_NO_SUCH_FILE`, `SCDA_ERR_FILE_IN_USE`, `SCDA_ERR_ARG`,
/// `SCDA_ERR_NOT_FOUND` for `params.append_record`, `SCDA_ERR_USAGE` if MPI is not running, and those of the file
/// system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fopen_append(
    comm: Comm<'_>,
    filename: Text<'_>,
    userstr: UserTextOut<'_>,
    len: Out<'_, usize>,
    params: StructIn<'_, scda_params_t<'_>>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = || {
        let params = OpenParams::of(params);
        append(comm.duplicate()?, filename, userstr, len, params).and_then(hand_out)
    };
    guard(err, null_mut(), body)
}

/// Opens a file to append to it, as `scda_fopen_append` does, or creates it, as `scda_fopen_write` does, if
/// there is none or if its creation was interrupted. A program that writes a series can begin with this call,
/// whether it starts or restarts.
///
/// With `params.append_name` or `params.append_after`, a missing file is an error.
///
/// With `params.keep`, which requires `params.atomic`, a file that is missing, or torn so that it has no
/// seal, is continued from the newest of `state.1.scda`, ... that has one, the same that `scda_fopen_read`
/// with `keep` reads.
///
/// Collective; `info` and `threads` in `params` may differ between the ranks.
///
/// @param [in] comm      The communicator. The library duplicates it.
/// @param [in] filename  The path of the file, as for `scda_fopen_append`.
/// @param [in] userstr   The user string for a new file. An existing file keeps its own.
/// @param [in] len       Its length, or NULL.
/// @param [in] params    The parameters. NULL: the defaults.
/// @param [out] is_new   1 if the file was created, otherwise 0. Not written after an error. May be NULL.
/// @param [out] err      The error code.
/// @return               The file, to be closed by `scda_fclose`, or NULL on error, in which case the file
///                       has not changed.
/// Errors: those of `scda_fopen_append` and `scda_fopen_write`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fopen_append_or_create(
    comm: Comm<'_>,
    filename: Text<'_>,
    userstr: UserText<'_>,
    len: Option<&usize>,
    params: StructIn<'_, scda_params_t<'_>>,
    is_new: Out<'_, c_int>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = || {
        let params = OpenParams::of(params);
        let context = append_or_create(comm.duplicate()?, filename, userstr, len, params)?;
        if let Context::Writing(writer) = &context {
            put(is_new, c_int::from(writer.is_new()));
        }
        hand_out(context)
    };
    guard(err, null_mut(), body)
}

/// Writes all buffered sections and a seal of all sections, and brings the file to stable storage. A job that
/// is killed later loses none of them: the next one that appends to the file continues there. With
/// `params.atomic`, that holds only after `scda_fclose`, because the file has no name before.
///
/// If there are no new sections since the last seal, none is written. A seal takes 448 bytes, the first one
/// of a file 608; 160 more for each section since the last seal; and 32 for each 4096 elements of varrays and
/// compressed sections. The bytes of the file depend on where the program commits.
///
/// Collective.
///
/// @param [in] f     The file, open for writing with `params.seal`, or opened to append to a file with a seal.
/// @param [out] err  The error code.
/// @return           `f`, or NULL on error.
/// Errors: `SCDA_ERR_USAGE` for any other file, `SCDA_ERR_FILE_IN_USE` if the name now belongs to another
/// file or to none, and those of all sections since the last flush.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fcommit(f: *mut scda_fcontext_t, err: Out<'_, c_int>) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| writer.commit();
    on_writer(f, err, body)
}
