//! The state of a file: `scda_info_t`.

use super::context::{Context, locally, look, scda_fcontext_t};
use super::memory::Out;
use super::pointers::UserTextOut;
use super::versioned::{StructInOut, versioned};
use super::{Outcome, failed_rank, guard};
use std::ffi::c_int;

/// The state of a file, and of the last error.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct scda_info {
    /// The size of this struct in bytes, as the program sets it before the call.
    pub size: usize,
    /// 1 if the file is open, otherwise 0; then all other members except `at_end` and `failed_rank` are 0,
    /// too.
    pub is_open: c_int,
    /// 1 if the file is open for writing, 0 if for reading.
    pub is_writing: c_int,
    /// Reading: 1 if the readable part ends with a seal. Writing: 1 if closing writes a seal.
    pub is_sealed: c_int,
    /// Reading: 0 if a section follows, or while the data of a section remain to be read or skipped, even if
    /// ranges of them were read. Otherwise 1.
    pub at_end: c_int,
    /// The rank on which the last error of this thread occurred, in the communicator of its file, which may
    /// be another file; -1 if there was no error, or if it is an error of all ranks.
    pub failed_rank: c_int,
    /// Zero.
    pub reserved: c_int,
    /// The offset of the next section in the file, in bytes; while the data of a section remain to be read,
    /// the offset of that section. 0 while it is unknown because compressed data are still to be written
    /// (`params.background_bytes`).
    pub position: u64,
    /// Reading: the size of the readable part of the file in bytes: with `params.to_seal`, up to the end of
    /// its last seal, if it has one. Writing: as `position`.
    pub bytes: u64,
    /// Reading: the number of bytes after that part, which a job has written but not committed. Writing: 0.
    pub unsealed_bytes: u64,
    /// The number of bytes that `scda_fopen_append` has removed because a killed job had written them after
    /// the last seal.
    pub rolled_back_bytes: u64,
    /// Reading with `params.keep`: the file that was opened: 0 for the one with the name, `state.scda`, 1 for
    /// `state.1.scda`, and so on.
    pub age: u64,
    /// The number of bytes that this rank has written to its stream since `scda_fwrite_streams_begin`; 0
    /// without streams.
    pub stream_bytes: u64,
}

/// The state of a file.
pub type scda_info_t = scda_info;

versioned!(scda_info_t, "info", "the program", scda_info::default(), stream_bytes: u64);

/// Returns the state of a file, without reading it. `scda_fsections` counts its sections.
///
/// Not collective: no message is sent. Except for `failed_rank` and `stream_bytes`, all ranks receive the
/// same.
///
/// @param [in] f        The file. NULL, or a file that an error has closed, counts as not open.
/// @param [in,out] info  The state; the program sets `size` before. Must not be NULL.
/// @return              0, or a negative value for wrong arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_get_info(
    f: *const scda_fcontext_t,
    info: StructInOut<'_, scda_info_t>,
) -> c_int {
    let body = || {
        let mut known = look(f, known).unwrap_or(scda_info { at_end: 1, ..Default::default() });
        known.failed_rank = failed_rank();
        info.write(known)?;
        Ok((0, Outcome::Success))
    };
    guard(None, -1, body)
}

/// The user string of a file, for example of one that `scda_fopen_append_or_create` has found.
///
/// Not collective: no message is sent.
///
/// @param [in] f         The file.
/// @param [out] userstr  The user string and a NUL: room for `SCDA_USER_STRING_BYTES` + 1 characters.
/// @param [out] len      Its length.
/// @param [out] err      The error code. After an error the file stays open.
/// @return               0 on success.
/// Errors: `SCDA_ERR_ARG` for NULL, `SCDA_ERR_USAGE` for a file that is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_get_user_string(
    f: *mut scda_fcontext_t,
    userstr: UserTextOut<'_>,
    len: Out<'_, usize>,
    err: Out<'_, c_int>,
) -> c_int {
    let body = |context: &mut Context| {
        match context {
            Context::Writing(writer) => userstr.put(writer.user(), len),
            Context::Reading(reader, _) => userstr.put(&reader.header().user, len),
        }
        Ok(())
    };
    locally(f, err, body)
}

fn known(context: &mut Context) -> scda_info {
    match context {
        Context::Writing(writer) => {
            let position = writer.position().unwrap_or(0);
            scda_info {
                is_open: 1,
                is_writing: 1,
                is_sealed: c_int::from(writer.is_sealed()),
                at_end: 1,
                position,
                bytes: position,
                rolled_back_bytes: writer.bytes_rolled_back(),
                stream_bytes: writer.stream_bytes(),
                ..Default::default()
            }
        }
        Context::Reading(reader, _) => {
            let unsealed_bytes = reader.left_out().unwrap_or(0);
            scda_info {
                is_open: 1,
                is_sealed: c_int::from(reader.is_sealed()),
                at_end: c_int::from(reader.at_end()),
                position: reader.position().unwrap_or(0),
                bytes: reader.inspect().file_size().unwrap_or(0) - unsealed_bytes,
                unsealed_bytes,
                age: reader.age(),
                ..Default::default()
            }
        }
    }
}
