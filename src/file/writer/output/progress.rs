//! The progress of a file: up to which sections it has begun, is written, is complete, and is agreed to be
//! complete.

use std::ops::Range;

/// Offsets in a file that is being written, in this order: known, released, written, end. The same on all
/// ranks.
pub struct Progress {
    /// The offset of the next section.
    end: u64,
    /// Writing has begun up to here; the rest is buffered.
    written: PartEnd,
    /// No headers are deferred up to here.
    released: PartEnd,
    /// The ranks have agreed that the file is complete up to here.
    known: u64,
    /// The offset of the first section of the current call, or of the next one.
    call_start: u64,
    /// The offset of the current section; a dataset has several.
    section_start: u64,
    /// The end of the last seal, or of the file before it was appended to; 0 if there is neither.
    kept: u64,
}

/// The end of a part of the file.
#[derive(Clone, Copy)]
struct PartEnd {
    end: u64,
    /// The offset of the call that wrote the section there; the end itself between calls.
    call: u64,
}

impl Progress {
    /// For a file that has only its header, which ends here.
    pub fn of_new_file(end: u64) -> Self {
        Self::at(end, 0)
    }

    /// For a file with contents up to here, which remain after an error.
    pub fn of_whole_file(end: u64) -> Self {
        Self::at(end, end)
    }

    fn at(end: u64, kept: u64) -> Self {
        let reached = PartEnd { end, call: end };
        let (written, released) = (reached, reached);
        Self { end, written, released, known: end, call_start: end, section_start: end, kept }
    }

    /// Offset of the next section.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Offset of the buffered part.
    #[inline(always)]
    pub fn written(&self) -> u64 {
        self.written.end
    }

    /// The buffered part.
    #[inline]
    pub fn buffered(&self) -> Range<u64> {
        self.written.end..self.end
    }

    /// The section that ends here, and its place.
    pub fn section(&self) -> Range<u64> {
        self.section_start..self.end
    }

    /// The offset up to which the ranks have agreed that the file is complete.
    pub fn known(&self) -> u64 {
        self.known
    }

    /// Where the file may end after an error, if there is such a place: everything before it is sealed, or
    /// was there before.
    pub fn kept(&self) -> Option<u64> {
        Some(self.kept).filter(|&kept| kept > 0)
    }

    /// Whether the current call has not added anything yet.
    pub fn is_between_calls(&self) -> bool {
        self.end == self.call_start
    }

    /// Whether headers before the buffered part are deferred.
    pub fn has_held(&self) -> bool {
        self.released.end < self.written.end
    }

    /// Moves the end of the sections here; what is added is buffered.
    #[inline(always)]
    pub fn extend(&mut self, end: u64) {
        self.end = end;
        self.check();
    }

    /// Records that nothing is buffered any more.
    #[inline]
    pub fn write_rest(&mut self) {
        self.written = PartEnd { end: self.end, call: self.call_start };
        self.check();
    }

    /// Records that no header of what is written is deferred any more.
    #[inline]
    pub fn release(&mut self) {
        self.released = self.written;
        self.check();
    }

    /// Records that everything released is in the file on all ranks.
    #[inline]
    pub fn know(&mut self) {
        // Either all sections of a call remain after an error, or none.
        self.known = self.released.call.min(self.call_start);
        self.check();
    }

    /// Ends a section to which another one of the same call belongs: after an error neither remains.
    #[inline]
    pub fn end_section(&mut self) {
        self.section_start = self.end;
    }

    /// Ends a call.
    #[inline(always)]
    pub fn end_call(&mut self) {
        (self.call_start, self.section_start) = (self.end, self.end);
        if self.written.end == self.end {
            self.end_call_where_all_is_written();
        }
        self.check();
    }

    /// Ends a call where everything is written, so that no other call extends to there.
    #[cold]
    fn end_call_where_all_is_written(&mut self) {
        self.written.call = self.end;
        if self.released.end == self.end {
            self.released.call = self.end;
        }
    }

    /// Records that the file is sealed, and ends here.
    pub fn seal(&mut self, end: u64) {
        *self = Self::of_whole_file(end);
    }

    /// Gives up the current call. Returns where it began; what it has written after that must be removed.
    pub fn give_up_call(&mut self) -> u64 {
        self.end = self.call_start.max(self.written.end);
        self.section_start = self.call_start;
        self.check();
        self.call_start
    }

    #[inline(always)]
    fn check(&self) {
        debug_assert!(self.known <= self.released.end, "{} is known, {:?}", self.known, self.buffered());
        debug_assert!(self.released.end <= self.written.end && self.written.end <= self.end);
        debug_assert!(self.call_start <= self.section_start && self.section_start <= self.end);
    }
}
