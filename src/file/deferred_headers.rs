//! Deferred headers: text that must not reach the file before the bytes that follow it.
//!
//! A job may be killed at any moment. Then any part of what several ranks were writing may be missing, and
//! reads as zeros. So the header of a large section, and the first text of a region of small ones, is held
//! back until the ranks agree that everything after it is in the file, or until the one rank that writes it
//! knows; without the header, no reader takes the rest for sections. A rank that is alone writes everything
//! in order, so what is missing is missing at the end.

use super::team::Team;
use scda_base::error::Result;
use scda_storage::ParallelFile;

/// The longest text that is held: the header of a section and two counts.
const MOST_BYTES: usize = 128;
/// So much of a region is held: enough that the rest cannot be taken for a section.
const REGION_BYTES: usize = 32;

/// Text that this rank holds back.
#[derive(Default)]
pub struct DeferredHeaders {
    texts: Vec<Text>,
    has_failed: bool,
    is_waiting: bool,
}

struct Text {
    offset: u64,
    length: usize,
    bytes: [u8; MOST_BYTES],
}

impl DeferredHeaders {
    /// Holds back this text, of at most 128 bytes.
    pub fn hold(&mut self, offset: u64, text: &[u8]) {
        if !text.is_empty() {
            let mut bytes = [0; MOST_BYTES];
            bytes[..text.len()].copy_from_slice(text);
            self.texts.push(Text { offset, length: text.len(), bytes });
        }
    }

    /// Writes a region of the file, and holds back its first text, unless this rank is alone.
    pub fn write_but_the_first(
        &mut self,
        team: &Team,
        file: &mut dyn ParallelFile,
        offset: u64,
        region: &[u8],
    ) -> Result<()> {
        if team.is_alone() {
            return file.write_at(offset, &[region]);
        }
        let (first, rest) = region.split_at(region.len().min(REGION_BYTES));
        self.hold(offset, first);
        file.write_at(offset + first.len() as u64, &[rest])
    }

    /// Whether nothing is released: what was written may not be in the file, because a thread writes it.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// From now on, what was written may not be in the file; or all of it is there.
    pub fn wait(&mut self, is_waiting: bool) {
        self.is_waiting = is_waiting;
    }

    /// Writes what was held back, in its order; to be called after an agreement that the bytes after it are in
    /// the file, or where this rank has written all of them. An error is kept for the next agreement.
    pub fn release(&mut self, team: &mut Team, file: &mut dyn ParallelFile) {
        if self.is_waiting {
            return;
        }
        for Text { offset, length, bytes } in self.texts.drain(..) {
            let written = if self.has_failed { Ok(()) } else { file.write_at(offset, &[&bytes[..length]]) };
            self.has_failed |= written.is_err();
            team.defer(written);
        }
    }

    /// Whether this rank could not write what it held back.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }
}
