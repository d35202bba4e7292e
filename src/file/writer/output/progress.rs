//! The progress of a file: how many sections are begun, written, complete, and agreed to be complete.

use std::ops::Range;

/// Offsets of a file that is being written, in this order: known, released, written, end. All ranks have the same.
pub struct Progress {
    /// Of the next section.
    end: u64,
    /// Up to here writing has begun; the rest is buffered.
    written: PartEnd,
    /// Up to here nothing is held back.
    released: PartEnd,
    /// Of a section up to which the ranks have agreed that the file is whole.
    known: u64,
    /// Of the first section that the current call, or the next one, writes.
    call_start: u64,
    /// Of the section that is written now; a dataset has several.
    section_start: u64,
    /// Of the end of the last seal, or where the file ended before it was appended to; 0 if there is no such place.
    kept: u64,
}

/// The end of a part of the file.
#[derive(Clone, Copy)]
struct PartEnd {
    end: u64,
    /// Where the call began that wrote the section there; the end itself between calls.
    call: u64,
}

impl Progress {
    /// Only the header is in the file, which ends here.
    pub fn of_new_file(end: u64) -> Self {
        Self::at(end, 0)
    }

    /// All up to here is in the file, and stays after an error.
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

    /// Offset of what is buffered.
    #[inline(always)]
    pub fn written(&self) -> u64 {
        self.written.end
    }

    /// What is buffered.
    #[inline]
    pub fn buffered(&self) -> Range<u64> {
        self.written.end..self.end
    }

    /// The section that ends here, and its place.
    pub fn section(&self) -> Range<u64> {
        self.section_start..self.end
    }

    /// Offset of a section up to which the ranks have agreed that the file is whole.
    pub fn known(&self) -> u64 {
        self.known
    }

    /// Where the file may end after an error, if there is such a place: what is there is sealed, or was there before.
    pub fn kept(&self) -> Option<u64> {
        Some(self.kept).filter(|&kept| kept > 0)
    }

    /// Whether the current call has added nothing yet.
    pub fn is_between_calls(&self) -> bool {
        self.end == self.call_start
    }

    /// Whether something before what is buffered is held back.
    pub fn has_held(&self) -> bool {
        self.released.end < self.written.end
    }

    /// The sections end here now; what is added is buffered.
    #[inline(always)]
    pub fn extend(&mut self, end: u64) {
        self.end = end;
        self.check();
    }

    /// Nothing is buffered any more.
    #[inline]
    pub fn write_rest(&mut self) {
        self.written = PartEnd { end: self.end, call: self.call_start };
        self.check();
    }

    /// Nothing that is written is held back any more.
    #[inline]
    pub fn release(&mut self) {
        self.released = self.written;
        self.check();
    }

    /// What was released is in the file on all ranks.
    #[inline]
    pub fn know(&mut self) {
        // A call may have several sections: of these all stay after an error, or none.
        self.known = self.released.call.min(self.call_start);
        self.check();
    }

    /// A section is complete, but another one of the same call belongs to it: after an error neither stays.
    #[inline]
    pub fn end_section(&mut self) {
        self.section_start = self.end;
    }

    /// A call is complete.
    #[inline(always)]
    pub fn end_call(&mut self) {
        (self.call_start, self.section_start) = (self.end, self.end);
        if self.written.end == self.end {
            self.end_call_where_all_is_written();
        }
        self.check();
    }

    /// A call ends where all is written: no call goes on there.
    #[cold]
    fn end_call_where_all_is_written(&mut self) {
        self.written.call = self.end;
        if self.released.end == self.end {
            self.released.call = self.end;
        }
    }

    /// The file is sealed, and ends here.
    pub fn seal(&mut self, end: u64) {
        *self = Self::of_whole_file(end);
    }

    /// Gives up the current call. Returns where it began: what it has written after that is to be removed.
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
