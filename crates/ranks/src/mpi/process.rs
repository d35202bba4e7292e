//! Finds MPI's functions in the running process, and the name of its library.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr::NonNull;

/// `MPI_SUCCESS`.
pub const SUCCESS: c_int = 0;
/// Returned by all functions if there is no MPI.
pub const NO_MPI: c_int = -1;

/// The version text of an MPI, which it returns at any time.
pub(super) fn version(process: &Process) -> Option<String> {
    let found = process.find(c"MPI_Get_library_version")?;
    // SAFETY: MPI has a function of this name and type.
    let get = unsafe {
        std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int>(found)
    };
    let mut text = [0_u8; VERSION_BYTES];
    let mut length: c_int = 0;
    // SAFETY: the buffer is large enough for any version text; takes no handle.
    let status = unsafe { get(text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
    let text = text.get(..usize::try_from(length).ok()?)?;
    (status == SUCCESS).then(|| String::from_utf8_lossy(text).trim_end_matches('\0').to_owned())
}

/// `MPI_MAX_LIBRARY_VERSION_STRING` of MPICH, the longest.
const VERSION_BYTES: usize = 8192;

/// The version text of the program's MPI library, if it has one.
pub fn library_version() -> Option<String> {
    version(&Process::of(c"MPI_Initialized")?)
}

/// Loads an MPI library, for programs that belong to this library, with global symbols as if the program were
/// linked with it, because some MPIs load components that look for symbols there. Returns false if there is
/// no such library. A name without a folder is searched for in the system's places.
pub fn load_library(library: &Path) -> bool {
    let Ok(name) = CString::new(library.as_os_str().as_bytes()) else { return false };
    // SAFETY: a C string. The code that a library runs when it is loaded is as trusted as in a program linked
    // with it.
    !unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_GLOBAL) }.is_null()
}

/// Where MPI's functions are found in the process: a handle of the dynamic linker.
pub(super) struct Process(*mut c_void);

impl Process {
    /// Where a symbol is: where the program itself finds it, so that a profiler in front of MPI is used here,
    /// too; or in a library that was loaded with local symbols, as Python loads mpi4py's.
    pub(super) fn of(name: &CStr) -> Option<Self> {
        let default = Self(libc::RTLD_DEFAULT);
        if default.find(name).is_some() {
            return Some(default);
        }
        let mut loaded: Vec<CString> = Vec::new();
        // SAFETY: the function has the type that is called, and gets the list, which outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut loaded).cast::<c_void>()) };
        loaded.iter().find_map(|path| {
            // SAFETY: a C string. Only a library that is already loaded is found, so no code runs; it stays
            // loaded.
            let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
            let library = Self(NonNull::new(handle)?.as_ptr());
            library.find(name).map(|_| library)
        })
    }

    pub(super) fn find(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: a handle of the dynamic linker, and a C string.
        NonNull::new(unsafe { libc::dlsym(self.0, name.as_ptr()) })
    }
}

/// Records the name of a loaded library that may be an MPI or refer to one.
unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, loaded: *mut c_void) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a valid struct.
    let name = unsafe { (*info).dlpi_name };
    // SAFETY: it also passes the list that it was given, which nothing else uses meanwhile.
    let loaded = unsafe { &mut *loaded.cast::<Vec<CString>>() };
    if !name.is_null() {
        // SAFETY: not NULL, so the name of a library is a C string.
        let name = unsafe { CStr::from_ptr(name) };
        let file = name.to_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        if file.to_ascii_lowercase().windows(3).any(|part| part == b"mpi") {
            loaded.push(name.to_owned());
        }
    }
    0
}
