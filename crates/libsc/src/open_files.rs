//! State of open files that the C interface's context does not hold.

use scda_base::fork::Global;
use scda_c::context::scda_fcontext_t;
use std::ptr::without_provenance_mut;

/// An open file.
#[derive(Clone, Copy)]
pub struct OpenFile {
    handle: usize,
    /// The number of ranks, and this one.
    pub size: u64,
    pub rank: usize,
    /// Whether its errors are written to the log.
    pub is_logged: bool,
}

/// In the order in which they were opened.
static OPEN_FILES: Global<Vec<OpenFile>> = Global::new(Vec::new());

impl OpenFile {
    pub fn handle(&self) -> *mut scda_fcontext_t {
        without_provenance_mut(self.handle)
    }

    /// Whether this rank writes an error of the file to the log.
    pub fn is_logged_here(&self) -> bool {
        self.is_logged && self.rank == 0
    }
}

/// Notes a file that was opened.
pub fn opened(fc: *mut scda_fcontext_t, size: u64, rank: usize, is_logged: bool) {
    OPEN_FILES.with(|files| files.push(OpenFile { handle: fc.addr(), size, rank, is_logged }));
}

/// Forgets a file that is closed, and says what was known of it.
pub fn closed(fc: *mut scda_fcontext_t) -> Option<OpenFile> {
    OPEN_FILES.with(|files| {
        let index = files.iter().position(|file| file.handle == fc.addr())?;
        Some(files.remove(index))
    })
}

/// The last file opened, of those whose number of ranks fits.
pub fn last_open(fits: impl Fn(u64) -> bool) -> Option<OpenFile> {
    OPEN_FILES.with(|files| files.iter().rev().find(|file| fits(file.size)).copied())
}
