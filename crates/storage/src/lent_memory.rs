//! Memory of the program from which a thread writes without a copy: the program has promised not to change it.

/// Memory that stays as it is until all that was written before is in the file.
#[derive(Clone, Copy)]
pub struct LentMemory {
    first: *const u8,
    bytes: usize,
}

// SAFETY: these bytes are only read, by whichever thread.
unsafe impl Send for LentMemory {}

impl LentMemory {
    /// # Safety
    /// Nobody frees or changes the memory before what is written from it is in the file: before the queue that has it is settled or
    /// dropped.
    pub unsafe fn new(memory: &[u8]) -> Self {
        Self { first: memory.as_ptr(), bytes: memory.len() }
    }

    /// These bytes as a part of it, if they are one.
    pub fn part(self, piece: &[u8]) -> Option<Self> {
        let start = piece.as_ptr().addr().checked_sub(self.first.addr())?;
        let is_part = start.checked_add(piece.len())? <= self.bytes;
        is_part.then(|| Self { first: self.first.wrapping_add(start), bytes: piece.len() })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: this is all of the memory, or a part of it, and the program that lent it has promised that it stays.
        unsafe { std::slice::from_raw_parts(self.first, self.bytes) }
    }
}
