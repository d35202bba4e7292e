//! Deferred headers: text that must not reach the file before the bytes that follow it.
//!
//! If a job is killed while several ranks write, any part of what they were writing may be missing, and reads
//! as zeros. So the header of a large section, and the first bytes of a region of small ones, are deferred
//! until the ranks agree that everything after them is in the file, or until the one rank that writes it
//! knows. Without its header, no reader takes the rest for a section. A rank that writes alone writes
//! everything in order, so that only the end can be missing.

use super::team::Team;
use scda_base::error::Result;
use scda_storage::ParallelFile;

/// The longest deferred text: a section header with two counts.
const MOST_BYTES: usize = 128;
/// How much of a region is deferred: enough that the rest cannot be taken for a section.
const REGION_BYTES: usize = 32;

/// Text that this rank must still write.
#[derive(Default)]
pub struct DeferredHeaders {
    texts: Vec<Text>,
    /// Whether this rank has failed to write some of it.
    pub has_failed: bool,
    /// Whether nothing may be written yet, because a thread may still be writing the bytes after it.
    pub is_waiting: bool,
}

struct Text {
    offset: u64,
    length: usize,
    bytes: [u8; MOST_BYTES],
}

impl DeferredHeaders {
    /// Defers this text of at most 128 bytes.
    pub fn hold(&mut self, offset: u64, text: &[u8]) {
        if !text.is_empty() {
            let mut bytes = [0; MOST_BYTES];
            bytes[..text.len()].copy_from_slice(text);
            self.texts.push(Text { offset, length: text.len(), bytes });
        }
    }

    /// Writes a region of the file, and defers its first bytes, unless this rank is alone.
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

    /// Writes the deferred text in order. Called after an agreement that the bytes after it are in the file,
    /// or if this rank has written all of them. An error is deferred to the next agreement.
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
}
