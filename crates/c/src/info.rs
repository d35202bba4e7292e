//! The state of a file: `scda_info_t`.

use super::context::{Context, look, scda_fcontext_t};
use super::versioned::{StructInOut, versioned};
use super::{Outcome, failed_rank, guard};
use std::ffi::c_int;

/// What is known of a file, and of the last error.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct scda_info {
    /// The size of this struct in bytes, as the program sets it before the call.
    pub size: usize,
    /// 1 if the file is open, otherwise 0, and so is all that follows, but `at_end` and `failed_rank`.
    pub is_open: c_int,
    /// 1 if the file is open for writing, 0 if for reading.
    pub is_writing: c_int,
    /// Reading: 1 if a seal ends what is read. Writing: 1 if closing writes a seal.
    pub is_sealed: c_int,
    /// Reading: 1 if no section follows; 0 if one does, and as long as data of a section are to be read or
    /// skipped, also if ranges of them were read. Otherwise 1.
    pub at_end: c_int,
    /// The rank on which the last error of this thread came up, in the communicator of its file, which may be another
    /// one; -1 if there was no error, or if it is one of all ranks.
    pub failed_rank: c_int,
    /// Zero.
    pub reserved: c_int,
    /// Where in the file the next section begins, in bytes; while data of a section are to be read, where that section
    /// begins. 0 while that is not known, because compressed data are still to be written (`params.background_bytes`).
    pub position: u64,
    /// Reading: how many bytes of the file are read: with `params.to_seal` those up to the end of its last seal, if it
    /// has one. Writing: as `position`.
    pub bytes: u64,
    /// Reading: how many bytes after these are not read, because a job has written and not committed them. Writing: 0.
    pub unsealed_bytes: u64,
    /// How many bytes `scda_fopen_append` has removed: what a job that was killed had written after the last seal.
    pub rolled_back_bytes: u64,
    /// Reading with `params.keep`: which file was opened: 0 for that of the name, `state.scda`, 1 for `state.1.scda`, and
    /// so on.
    pub age: u64,
    /// How many bytes this rank has written to its stream since `scda_fwrite_streams_begin`; 0 if there are no
    /// streams.
    pub stream_bytes: u64,
}

/// What is known of a file.
pub type scda_info_t = scda_info;

versioned!(scda_info_t, "info", "the program", scda_info::default(), stream_bytes: u64);

/// Tells what is known of a file, without reading it. `scda_fsections` counts its sections.
///
/// Not collective: no message is sent. Apart from `failed_rank` and `stream_bytes`, all ranks receive the same.
///
/// @param [in] f        The file. NULL, and a file that an error has closed, are not open.
/// @param [in,out] info  What is known; its `size` is set before. Must not be NULL.
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
