//! Memory of the program from which a thread writes without a copy, because the program has promised not to
//! change it.

/// Memory that does not change until everything written from it is in the file.
#[derive(Clone, Copy)]
pub struct LentMemory {
    first: *const u8,
    bytes: usize,
}

// SAFETY: these bytes are only read, by whichever thread.
unsafe impl Send for LentMemory {}

impl LentMemory {
    /// # Safety
    /// Nobody frees or changes the memory before what is written from it is in the file, that is, before the
    /// queue that holds it is settled or dropped.
    pub unsafe fn new(memory: &[u8]) -> Self {
        Self { first: memory.as_ptr(), bytes: memory.len() }
    }

    /// The part of this memory that `run` is, if it is one.
    pub fn part(self, run: &[u8]) -> Option<Self> {
        let start = run.as_ptr().addr().checked_sub(self.first.addr())?;
        let is_part = start.checked_add(run.len())? <= self.bytes;
        is_part.then(|| Self { first: self.first.wrapping_add(start), bytes: run.len() })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: this is the memory or a part of it, and the program that lent it has promised not to change
        // or free it.
        unsafe { std::slice::from_raw_parts(self.first, self.bytes) }
    }
}
