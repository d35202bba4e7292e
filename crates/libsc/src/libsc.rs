//! Functions of libsc, looked up by name in the program, because this library does not depend on libsc.

use super::arrays::sc_array;
use scda_base::error::{Error, Result};
use scda_c::last_error;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// `SC_LC_NORMAL`: a message of the process that logs it.
const CATEGORY_NORMAL: c_int = 2;
/// `SC_LP_ERROR`, the priority of errors.
const PRIORITY_ERROR: c_int = 8;
/// `SC_LP_DEFAULT`: stands for the default threshold.
pub const LEVEL_DEFAULT: c_int = -1;

/// A symbol of the running program.
fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a C string; looks at the program's symbols only.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// Resizes an array of libsc to `count` numbers; their values are undefined. If the array has no room for
/// them, libsc must be in the program.
///
/// # Safety
/// The array belongs to libsc, and nobody else uses it.
pub unsafe fn resize(array: &mut sc_array, count: usize, name: &str) -> Result<()> {
    type Resize = unsafe extern "C" fn(*mut sc_array, usize);
    let size = size_of::<u64>();
    if array.elem_size != size {
        return Err(Error::argument(format!(
            "{name}: found elements of {} bytes, expected {size}",
            array.elem_size
        )));
    }
    let is_view = array.byte_alloc < 0;
    let room = if is_view { !array.byte_alloc } else { array.byte_alloc };
    if count == array.elem_count {
        return Ok(());
    }
    if count.checked_mul(size).is_some_and(|bytes| bytes <= room.unsigned_abs()) {
        array.elem_count = count;
        return Ok(());
    }
    match symbol(c"sc_array_resize") {
        Some(address) if !is_view => {
            // SAFETY: by this name libsc has a function of this type.
            let resize = unsafe { std::mem::transmute::<*mut c_void, Resize>(address) };
            // SAFETY: the caller has an array of libsc there, which owns its memory.
            unsafe { resize(array, count) };
            Ok(())
        }
        _ => Err(Error::argument(format!("{name}: found room for {room} bytes, expected {count} numbers"))),
    }
}

/// True if errors are logged at this level of `sc_scda_params_t`.
pub fn is_logged(level: c_int) -> bool {
    level <= PRIORITY_ERROR
}

/// Writes the message of the last error to libsc's log.
pub fn log_error() {
    type Log = unsafe extern "C" fn(*const c_char, c_int, c_int, c_int, c_int, *const c_char);
    let (Some(log), Some(package)) = (symbol(c"sc_log"), symbol(c"sc_package_id")) else {
        return;
    };
    // SAFETY: by this name libsc has a function of this type.
    let log = unsafe { std::mem::transmute::<*mut c_void, Log>(log) };
    // SAFETY: by this name libsc has an int.
    let package = unsafe { package.cast::<c_int>().read() };
    // SAFETY: a C string, until the next error of this thread.
    let message = unsafe { CStr::from_ptr(last_error()) }.to_string_lossy();
    let message = CString::new(format!("libscda: {message}\n")).unwrap_or_default();
    // SAFETY: C strings, and the numbers that libsc's own macros pass.
    unsafe { log(c"libscda_sc".as_ptr(), 0, package, CATEGORY_NORMAL, PRIORITY_ERROR, message.as_ptr()) };
}
