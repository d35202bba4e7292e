//! State of open files that the context of the C interface does not have.

use scda_base::fork::Global;
use scda_c::context::scda_fcontext_t;
use std::ptr::without_provenance_mut;

/// An open file.
#[derive(Clone, Copy)]
pub struct OpenFile {
    handle: usize,
    /// The number of ranks, and the number of this one.
    pub size: u64,
    pub rank: usize,
    /// True if errors of the file are logged.
    pub is_logged: bool,
}

/// The open files, in the order in which they were opened.
static OPEN_FILES: Global<Vec<OpenFile>> = Global::new(Vec::new());

impl OpenFile {
    pub fn handle(&self) -> *mut scda_fcontext_t {
        without_provenance_mut(self.handle)
    }

    /// True if this rank logs errors of the file.
    pub fn is_logged_here(&self) -> bool {
        self.is_logged && self.rank == 0
    }
}

/// Adds a file that was opened.
pub fn opened(fc: *mut scda_fcontext_t, size: u64, rank: usize, is_logged: bool) {
    OPEN_FILES.with(|files| files.push(OpenFile { handle: fc.addr(), size, rank, is_logged }));
}

/// Removes a file that was closed, and returns its state.
pub fn closed(fc: *mut scda_fcontext_t) -> Option<OpenFile> {
    OPEN_FILES.with(|files| {
        let index = files.iter().position(|file| file.handle == fc.addr())?;
        Some(files.remove(index))
    })
}

/// The file opened last among those with a suitable number of ranks.
pub fn last_open(fits: impl Fn(u64) -> bool) -> Option<OpenFile> {
    OPEN_FILES.with(|files| files.iter().rev().find(|file| fits(file.size)).copied())
}
