//! libsc's error codes: a pair of an scda code and an MPI code.

use super::libsc::log_error;
use super::open_files::{OpenFile, closed};
use scda::{Reader, Writer};
use scda_base::error::{ErrorKind, Result};
use scda_c::context::{run, scda_fcontext_t};
use scda_c::memory::{Out, Room, put};
use scda_c::{Outcome, caught, guard};
use std::ffi::{c_char, c_int};
use std::ptr::null_mut;

/// `SC_SCDA_FERR_SUCCESS`.
const SUCCESS: c_int = 0;
/// `SC_SCDA_FERR_MPI`: an error of MPI or of the file system, which the other number of the pair specifies.
/// The codes below it, from 15000, equal the first five codes of this library: format, usage, decode,
/// argument, count.
const MPI: c_int = 15005;
/// `SC_SCDA_FERR_ARG`.
pub const ARGUMENT: c_int = 15003;

/// `sc_scda_ferror_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct sc_scda_ferror {
    /// 0, or with `SC_SCDA_FERR_MPI` an error code of MPI; an `errno` in a build without MPI.
    pub mpiret: c_int,
    /// A value of `sc_scda_ret_t`.
    pub scdaret: c_int,
}

impl sc_scda_ferror {
    /// libsc's pair for a code of this library.
    pub fn of(code: c_int) -> Self {
        let kind = ErrorKind::from_code(code).unwrap_or(ErrorKind::Internal);
        let scdaret = match kind {
            _ if code == SUCCESS => SUCCESS,
            ErrorKind::Format
            | ErrorKind::Usage
            | ErrorKind::Decode
            | ErrorKind::Argument
            | ErrorKind::ShortFile => code,
            ErrorKind::UnsupportedVersion | ErrorKind::Checksum => ErrorKind::Format.code(),
            ErrorKind::EndOfFile => ErrorKind::ShortFile.code(),
            ErrorKind::Range | ErrorKind::NotFound => ErrorKind::Argument.code(),
            _ => MPI,
        };
        Self { mpiret: if scdaret == MPI { system::code(kind) } else { 0 }, scdaret }
    }

    /// True if a function of libsc can have returned this pair.
    fn is_valid(self) -> bool {
        match self.scdaret {
            MPI => system::is_code(self.mpiret),
            SUCCESS | 15000..MPI => self.mpiret == 0,
            _ => false,
        }
    }
}

/// MPI's codes for errors that scda does not define.
#[cfg(feature = "mpi")]
mod system {
    use scda_base::error::ErrorKind;
    use scda_ranks::mpi::{is_running, mpi_message, numbers, process, succeeded, sys};
    use std::ffi::c_int;

    pub fn code(kind: ErrorKind) -> c_int {
        numbers::class_of(kind).unwrap_or_else(|| numbers::ERR_INTERN.get())
    }

    /// True if MPI may be asked about a code: other numbers make it end the program.
    pub fn is_code(code: c_int) -> bool {
        code > process::SUCCESS && code <= numbers::ERR_LASTCODE.get()
    }

    pub fn class(code: c_int) -> c_int {
        let mut class = code;
        // SAFETY: MPI is running; takes a code and writes one int.
        if is_running() && !succeeded(unsafe { sys::MPI_Error_class(code, &raw mut class) }) {
            return code;
        }
        class
    }

    pub fn text(code: c_int) -> String {
        if is_running() { mpi_message(code) } else { format!("MPI error {code}") }
    }
}

/// Without MPI: the error numbers of the operating system.
#[cfg(not(feature = "mpi"))]
mod system {
    use scda_base::error::ErrorKind;
    use std::ffi::c_int;

    pub fn code(kind: ErrorKind) -> c_int {
        match kind {
            ErrorKind::NoSuchFile => libc::ENOENT,
            ErrorKind::Access => libc::EACCES,
            ErrorKind::NoSpace => libc::ENOSPC,
            ErrorKind::Quota => libc::EDQUOT,
            ErrorKind::ReadOnly => libc::EROFS,
            ErrorKind::FileExists => libc::EEXIST,
            ErrorKind::BadFile => libc::EISDIR,
            ErrorKind::FileInUse => libc::EBUSY,
            ErrorKind::Unsupported => libc::EOPNOTSUPP,
            ErrorKind::Memory => libc::ENOMEM,
            _ => libc::EIO,
        }
    }

    pub fn is_code(code: c_int) -> bool {
        code > 0
    }

    pub fn class(code: c_int) -> c_int {
        code
    }

    pub fn text(code: c_int) -> String {
        let text = std::io::Error::from_raw_os_error(code).to_string();
        text.split(" (os error").next().unwrap_or_default().to_owned()
    }
}

/// Runs a function on a file open for writing, like [`scda_c::context::on_writer`], with libsc's error codes.
pub fn on_writer(
    fc: *mut scda_fcontext_t,
    errcode: Out<'_, sc_scda_ferror>,
    body: impl FnOnce(&mut Writer) -> Result<()>,
) -> *mut scda_fcontext_t {
    let (f, code) = caught(null_mut(), || run(fc, |context| body(context.writer()?)));
    finish(fc, f, code, errcode)
}

/// Like [`on_writer`], for a file open for reading.
pub fn on_reader(
    fc: *mut scda_fcontext_t,
    errcode: Out<'_, sc_scda_ferror>,
    body: impl FnOnce(&mut Reader) -> Result<()>,
) -> *mut scda_fcontext_t {
    let (f, code) = caught(null_mut(), || run(fc, |context| body(context.reader()?)));
    finish(fc, f, code, errcode)
}

/// Returns the error code of a function that was called with the file `fc` and has returned `f`.
fn finish(
    fc: *mut scda_fcontext_t,
    f: *mut scda_fcontext_t,
    code: c_int,
    errcode: Out<'_, sc_scda_ferror>,
) -> *mut scda_fcontext_t {
    // If there is no file, every rank logs the error. The end of a file is not logged: programs read up to it.
    let is_logged = f.is_null()
        && closed(fc).as_ref().is_none_or(OpenFile::is_logged_here)
        && code != ErrorKind::EndOfFile.code();
    tell(code, errcode, is_logged);
    f
}

/// Returns an error code; if it is one, writes its message to libsc's log if `is_logged`.
pub fn tell(code: c_int, errcode: Out<'_, sc_scda_ferror>, is_logged: bool) {
    if let Some(errcode) = errcode {
        errcode.write(sc_scda_ferror::of(code));
    }
    if code != SUCCESS && is_logged {
        log_error();
    }
}

/// Returns 1 if an error code means success, else 0. Not collective.
#[unsafe(no_mangle)]
pub extern "C" fn sc_scda_ferror_is_success(errcode: sc_scda_ferror) -> c_int {
    let is_success = (errcode.scdaret, errcode.mpiret) == (SUCCESS, 0);
    guard(None, 0, || Ok((c_int::from(is_success), Outcome::Success)))
}

/// The class of an error code: for a code of MPI, its class in MPI; any other code is its own class. Not
/// collective. Returns 0, or `SC_SCDA_FERR_ARG` for a pair that is no error code, and for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_ferror_class(
    errcode: sc_scda_ferror,
    errclass: Out<'_, sc_scda_ferror>,
) -> c_int {
    let body = || {
        if errclass.is_none() || !errcode.is_valid() {
            return Ok((ARGUMENT, Outcome::Success));
        }
        let mpiret = if errcode.scdaret == MPI { system::class(errcode.mpiret) } else { 0 };
        put(errclass, sc_scda_ferror { mpiret, ..errcode });
        Ok((SUCCESS, Outcome::Success))
    };
    guard(None, ARGUMENT, body)
}

/// The size that MPI_MAX_ERROR_STRING guarantees with any MPI.
const ERROR_STRING_BYTES: usize = 256;

/// The text of an error code, with a NUL; MPI's text for its codes. Not collective. `str` must have room for
/// MPI_MAX_ERROR_STRING bytes; `*len` is set to the length without the NUL. Returns the same as
/// [`sc_scda_ferror_class`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_ferror_string(
    errcode: sc_scda_ferror,
    str: Room<'_, c_char>,
    len: Out<'_, c_int>,
) -> c_int {
    let body = || {
        if str.is_null() || len.is_none() || !errcode.is_valid() {
            return Ok((ARGUMENT, Outcome::Success));
        }
        let text = match errcode.scdaret {
            SUCCESS => "success".to_owned(),
            MPI => system::text(errcode.mpiret),
            code => ErrorKind::from_code(code).map(ErrorKind::text).unwrap_or_default().to_owned(),
        };
        let n = str.put_text(text.as_bytes(), ERROR_STRING_BYTES);
        put(len, c_int::try_from(n).unwrap_or(0));
        Ok((SUCCESS, Outcome::Success))
    };
    guard(None, ARGUMENT, body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::MaybeUninit;

    #[test]
    fn every_code_has_a_valid_pair_and_the_first_five_keep_their_numbers() {
        for (kind, code, _) in ErrorKind::ALL {
            let pair = sc_scda_ferror::of(code);
            assert!(pair.is_valid(), "{kind:?}");
            assert_eq!(sc_scda_ferror_is_success(pair), 0, "{kind:?}");
            if code < MPI {
                assert_eq!((pair.scdaret, pair.mpiret), (code, 0));
            }
        }
        assert_eq!(sc_scda_ferror_is_success(sc_scda_ferror::of(0)), 1);
    }

    #[test]
    fn other_pairs_are_refused() {
        for (mpiret, scdaret) in [(1, 0), (1, 15000), (0, MPI), (-1, MPI), (0, 15006), (0, 7), (0, -1)] {
            let pair = sc_scda_ferror { mpiret, scdaret };
            let mut class = MaybeUninit::new(pair);
            // SAFETY: the class is a variable.
            assert_eq!(unsafe { sc_scda_ferror_class(pair, Some(&mut class)) }, ARGUMENT);
        }
    }
}
