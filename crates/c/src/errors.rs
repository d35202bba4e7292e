//! Error codes and their texts.

use super::memory::Room;
use super::{Outcome, guard, last_error};
use scda_base::error::{Error, ErrorKind, Result};
use std::ffi::{c_char, c_int};

/// No error.
pub const SCDA_SUCCESS: c_int = 0;
/// The bytes are not an scda file, or not a section of one.
pub const SCDA_ERR_FORMAT: c_int = 15000;
/// A function was called out of order, or on a file that is closed.
pub const SCDA_ERR_USAGE: c_int = 15001;
/// A compressed section violates the compression convention.
pub const SCDA_ERR_DECODE: c_int = 15002;
/// An argument is invalid, or the ranks disagree on one.
pub const SCDA_ERR_ARG: c_int = 15003;
/// The file is shorter than its sections need: it was truncated, or is incomplete.
pub const SCDA_ERR_COUNT: c_int = 15004;
/// The file has a version of the scda format that this library does not support.
pub const SCDA_ERR_VERSION: c_int = 15005;
/// No section follows. Not an error: the file stays open.
pub const SCDA_ERR_EOF: c_int = 15006;
/// A count, a product or a sum exceeds 63 bits.
pub const SCDA_ERR_RANGE: c_int = 15007;
/// Out of memory.
pub const SCDA_ERR_MEMORY: c_int = 15008;
/// A bug in this library. Possibly only one rank knows about it: call `MPI_Abort`, and report the bug.
pub const SCDA_ERR_INTERNAL: c_int = 15009;
/// A call to MPI failed that does not access a file.
pub const SCDA_ERR_MPI: c_int = 15010;
/// The bytes of a sealed file differ from its checksums: the file is damaged.
pub const SCDA_ERR_CHECKSUM: c_int = 15011;
/// The file has no such dataset, record, group, field or time step, perhaps because another version of the program
/// wrote it.
pub const SCDA_ERR_NOT_FOUND: c_int = 15012;
/// The file, or a folder of its path, does not exist.
pub const SCDA_ERR_NO_SUCH_FILE: c_int = 15020;
/// Permission denied.
pub const SCDA_ERR_ACCESS: c_int = 15021;
/// The device is full, or the file must not become larger.
pub const SCDA_ERR_NO_SPACE: c_int = 15022;
/// A quota is exhausted.
pub const SCDA_ERR_QUOTA: c_int = 15023;
/// The file system is read-only.
pub const SCDA_ERR_READ_ONLY: c_int = 15024;
/// The file exists already.
pub const SCDA_ERR_FILE_EXISTS: c_int = 15025;
/// The name cannot be used: it is that of a folder or a device, or is too long.
pub const SCDA_ERR_BAD_FILE: c_int = 15026;
/// Another process uses the file.
pub const SCDA_ERR_FILE_IN_USE: c_int = 15027;
/// The file system or the build of the library does not support the operation.
pub const SCDA_ERR_UNSUPPORTED: c_int = 15028;
/// Any other failure of the file system.
pub const SCDA_ERR_IO: c_int = 15029;

/// The text for a code, if the code is known.
fn text(code: c_int) -> Result<&'static str> {
    if code == SCDA_SUCCESS {
        return Ok("success");
    }
    ErrorKind::from_code(code)
        .map(ErrorKind::text)
        .ok_or_else(|| Error::argument(format!("error code: found {code}, which is not an error code")))
}

/// The text for an error code: one line, without a line break.
///
/// Not collective.
///
/// @param [in] err      An error code, or `SCDA_SUCCESS`.
/// @param [out] str     Receives the text and a NUL, truncated if it does not fit. Must not be NULL.
/// @param [in,out] len  In: the size of `str`, in bytes. Out: the length of the text, without the NUL. Must
///                      not be NULL.
/// @return              0; a negative value for wrong arguments, or for an unknown code, whose text is empty.
/// Spec: A.6.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_ferror_string(
    err: c_int,
    str: Room<'_, c_char>,
    len: Option<&mut c_int>,
) -> c_int {
    let body = || {
        let (Some(len), false) = (len, str.is_null()) else {
            return Err(Error::argument("str or len is NULL"));
        };
        let room = usize::try_from(*len).map_err(|_| Error::argument(format!("len: found {len}")))?;
        let found = text(err);
        let shown = *found.as_ref().unwrap_or(&"");
        *len = c_int::try_from(str.put_text(shown.as_bytes(), room)).unwrap_or(0);
        found.map(|_| (0, Outcome::Success))
    };
    guard(None, -1, body)
}

/// The message of the last error on this thread: the file, the byte offset, the rank, and what was found and
/// expected. For an error of a collective function it is the same on all ranks.
///
/// Not collective.
///
/// @return  A C string that is valid until this thread's next call of this library returns; "" if there was
///          no error. Opening a file of which a part is ignored leaves a message, too, and so does
///          `scda_fnext_entry` for an entry that cannot be read.
#[unsafe(no_mangle)]
pub extern "C" fn scda_last_error_message() -> *const c_char {
    guard(None, c"".as_ptr(), || Ok((last_error(), Outcome::Success)))
}

/// The version of the library, as "MAJOR.MINOR.PATCH".
///
/// Not collective.
///
/// @return  A C string that is valid forever.
#[unsafe(no_mangle)]
pub extern "C" fn scda_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    guard(None, c"".as_ptr(), || Ok((VERSION.as_ptr().cast(), Outcome::Success)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_are_the_codes_of_the_rust_api() {
        let constants = [
            SCDA_ERR_FORMAT,
            SCDA_ERR_USAGE,
            SCDA_ERR_DECODE,
            SCDA_ERR_ARG,
            SCDA_ERR_COUNT,
            SCDA_ERR_VERSION,
            SCDA_ERR_EOF,
            SCDA_ERR_RANGE,
            SCDA_ERR_MEMORY,
            SCDA_ERR_INTERNAL,
            SCDA_ERR_MPI,
            SCDA_ERR_CHECKSUM,
            SCDA_ERR_NOT_FOUND,
            SCDA_ERR_NO_SUCH_FILE,
            SCDA_ERR_ACCESS,
            SCDA_ERR_NO_SPACE,
            SCDA_ERR_QUOTA,
            SCDA_ERR_READ_ONLY,
            SCDA_ERR_FILE_EXISTS,
            SCDA_ERR_BAD_FILE,
            SCDA_ERR_FILE_IN_USE,
            SCDA_ERR_UNSUPPORTED,
            SCDA_ERR_IO,
        ];
        assert_eq!(constants, ErrorKind::ALL.map(|(_, code, _)| code));
    }
}
