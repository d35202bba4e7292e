//! Rolls a file back to a point at which there is no seal, and writes one there.
//!
//! The tables of the new seal are first appended to the file, in a block that says where they belong; from
//! then on, the old seals are no longer valid. Then they are copied to their place, over what is removed, and
//! the file is truncated after them. Whoever finds such a block at the end of a file completes these steps.
//! docs/format.md, "Rolling back", specifies the bytes.

use super::sealing::Sealer;
use crate::file::reader::{KeptSections, crc_of};
use crate::file::team::{Failure, Team, on_rank_0};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::resize;
use scda_base::numbers::to_usize;
use scda_format::padding::LineBreak;
use scda_format::seal::{SEAL_BYTES, Seal};
use scda_format::truncation::{NEW_END_HEADER_BYTES, NewEnd, offset};
use scda_storage::ParallelFile;

/// Bytes that are copied at a time.
const BATCH_BYTES: u64 = 1 << 20;

/// A file that does not change: what is written from an offset on is kept in memory.
struct InMemory<'a> {
    file: &'a mut dyn ParallelFile,
    start: u64,
    bytes: Vec<u8>,
}

impl ParallelFile for InMemory<'_> {
    fn write_at(&mut self, offset: u64, runs: &[&[u8]]) -> Result<()> {
        let at = offset.checked_sub(self.start);
        let at =
            at.ok_or_else(|| Error::new(ErrorKind::Internal, "rolling back: a write before the new end"))?;
        let mut at = to_usize(at);
        for run in runs {
            if self.bytes.len() < at + run.len() {
                resize(&mut self.bytes, (at + run.len()) as u64)?;
            }
            self.bytes[at..at + run.len()].copy_from_slice(run);
            at += run.len();
        }
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.file.read_at(offset, buffer)
    }

    fn size(&mut self) -> Result<u64> {
        self.file.size()
    }

    fn truncate(&mut self, _: u64) -> Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Seals these sections of a file of `size` bytes, and removes everything after them. Returns the end of the
/// file. Collective.
pub(super) fn roll_back(
    team: &mut Team,
    file: &mut dyn ParallelFile,
    size: u64,
    kept: KeptSections,
    header_bytes: u64,
    style: LineBreak,
) -> Result<u64, Failure> {
    let (end, stays) = (kept.end, kept.stays(header_bytes));
    let tables = on_rank_0(team.rank(), || tables(team, file, kept, style));
    let tables = tables.map(|tables| {
        let length = end + tables.len() as u64;
        let at = offset(size, length) + NEW_END_HEADER_BYTES as u64;
        (NewEnd { tables: at, offset: end, length, stays }, tables)
    });
    let announced = match tables {
        Ok((new_end, tables)) if team.rank() == 0 => {
            new_end.block(&tables, style).map(|block| (new_end, block))
        }
        Ok((new_end, _)) => Ok((new_end, Default::default())),
        Err(error) => Err(error),
    };
    let words = announced.as_ref().map(|(new_end, _)| [new_end.tables, new_end.length]);
    let [at, length] = team.share(0, words.map_err(Error::again))?;
    let new_end = NewEnd { tables: at, offset: end, length, stays };
    let parts = announced.map(|(_, parts)| parts).unwrap_or_default();
    let mut at = at - NEW_END_HEADER_BYTES as u64;
    for part in &parts {
        let mine = on_rank_0(team.rank(), || file.write_at(at, &[part]));
        let written = team.agree(mine).map(drop).and_then(|()| sync(team, file));
        if let Err(failure) = written {
            if !team.is_lost() {
                // Restores the file; if that fails, the next job completes this.
                let _ = file.truncate(size);
            }
            return Err(failure);
        }
        at += part.len() as u64;
    }
    complete(team, file, new_end)
}

/// Moves a file to its announced new end, and returns that. Collective.
pub(super) fn complete(
    team: &mut Team,
    file: &mut dyn ParallelFile,
    new_end: NewEnd,
) -> Result<u64, Failure> {
    let mine = on_rank_0(team.rank(), || copy(file, new_end));
    team.agree(mine)?;
    sync(team, file)?;
    truncate(team, file, new_end.length)?;
    Ok(new_end.length)
}

/// Brings what was written to stable storage. Collective.
pub(super) fn sync(team: &mut Team, file: &mut dyn ParallelFile) -> Result<(), Failure> {
    let synced = file.sync();
    team.agree(synced).map(drop)
}

/// Shortens the file for good: after a power loss, nothing of what is removed may reappear among what is written
/// next. Collective.
pub(super) fn truncate(team: &mut Team, file: &mut dyn ParallelFile, length: u64) -> Result<(), Failure> {
    let cut = file.truncate(length);
    team.agree(cut)?;
    sync(team, file)
}

/// Copies the tables and the seal to their place, after verifying the checksum of index and seal.
fn copy(file: &mut dyn ParallelFile, new_end: NewEnd) -> Result<()> {
    let differ = || {
        Error::new(ErrorKind::Checksum, "append: the tables of the new end have changed").at(new_end.tables)
    };
    let (mut seal, end) = ([0; SEAL_BYTES], new_end.tables + new_end.bytes() - SEAL_BYTES as u64);
    file.read_at(end, &mut seal)?;
    let (seal, seal_bytes) = NewEnd::seal(&seal).ok_or_else(differ)?;
    let index = new_end.tables + seal.index.saturating_sub(new_end.offset);
    if Seal::crc_of(crc_of(file, index, end)?, &seal_bytes) != seal.crc {
        return Err(differ());
    }
    let (mut at, mut bytes) = (new_end.tables, Vec::new());
    while at < end {
        resize(&mut bytes, (end - at).min(BATCH_BYTES))?;
        file.read_at(at, &mut bytes)?;
        file.write_at(new_end.offset + (at - new_end.tables), &[&bytes])?;
        at += bytes.len() as u64;
    }
    file.write_at(seal.offset(), &[&seal_bytes])
}

/// The tables and the seal of these sections, on one rank.
fn tables(
    team: &mut Team,
    file: &mut dyn ParallelFile,
    kept: KeptSections,
    style: LineBreak,
) -> Result<Vec<u8>> {
    let mut alone = team.alone();
    let end = kept.end;
    let (mut sealer, sums) = Sealer::of_sections(kept);
    let mut file = InMemory { file, start: end, bytes: Vec::new() };
    match sealer.seal(&mut alone, &mut file, (end, sums), (&[], 0), style, false) {
        Ok(_) => Ok(file.bytes),
        Err(failure) => Err(alone.settle(failure)),
    }
}
