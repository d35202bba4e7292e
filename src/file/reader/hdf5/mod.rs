//! HDF5 views (docs/hdf5.md): what a file gets when it is closed, as one rank finds it in the sections, and
//! the superblock.

mod contents;
mod superblock;
mod texts;

pub use superblock::SuperblockState;
pub(in crate::file) use superblock::renewed_superblock;

use super::index::SealedPart;
use contents::Contents;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::fork::Global;
use scda_base::memory::reserve;
use scda_format::hdf5::{BLOCK_HEAD_BYTES, view_section};
use scda_format::index::Row;
use scda_format::padding::LineBreak;
use scda_format::seal::SEAL_BYTES;
use scda_hdf5::{Previous, Superblock, View, ViewBytes};
use scda_storage::ParallelFile;
use texts::Texts;

/// A view to be written.
#[derive(Default)]
pub(in crate::file) struct NewView {
    /// The section with it; empty if the previous view shows the same.
    pub section: Vec<u8>,
    /// The offset in the file of the root group.
    pub root: u64,
    known: KnownFile,
}

/// What the sections of a file are up to a seal, and what it shows.
#[derive(Default)]
struct KnownFile {
    /// Where the seals end, and their checksums: other files have others.
    seals: Vec<(u64, u64)>,
    contents: Contents,
    /// What the view shows that the superblock leads to, and where the file ends by that.
    shown: Option<(u64, View)>,
}

/// Files that this process has closed, the last one last: a job that appends again and again reads only what is new.
static KNOWN_FILES: Global<Vec<KnownFile>> = Global::new(Vec::new());
const MAX_KNOWN_FILES: usize = 4;
/// The most datasets, records and parts of a file that is remembered, which take some 500 bytes each.
const MAX_KNOWN_DATASETS: usize = 1 << 15;

impl KnownFile {
    /// The file with these seals and perhaps more; it is no longer remembered.
    fn take(seals: &[SealedPart]) -> Self {
        let is_of = |known: &Self| {
            !known.seals.is_empty()
                && known.seals.len() <= seals.len()
                && known.seals.iter().zip(seals).all(|(&known, found)| known == key(found))
        };
        let found = KNOWN_FILES.with(|all| all.iter().rposition(is_of).map(|place| all.remove(place)));
        found.unwrap_or_default()
    }
}

fn key(SealedPart { seal, .. }: &SealedPart) -> (u64, u64) {
    (seal.length, seal.crc)
}

impl NewView {
    /// Remembers the file, whose superblock leads to this view by now and says that it ends at `end`; `seal` has the end and the checksum
    /// of the seal that was written after it, if one was.
    pub fn remember(self, end: u64, seal: Option<(u64, u64)>) {
        let mut known = self.known;
        known.seals.extend(seal);
        if let Some((shown, _)) = &mut known.shown {
            *shown = end;
        }
        if known.contents.len() > MAX_KNOWN_DATASETS {
            return;
        }
        KNOWN_FILES.with(|all| {
            if all.len() == MAX_KNOWN_FILES {
                all.remove(0);
            }
            all.push(known);
        });
    }
}

/// The view of a file whose sections end at `end`, where its block is to begin; the last seal ends at `sealed`, or at 0 if there is none, and
/// these are the rows of what follows it. `None` if nothing can be shown, or the previous view cannot be gone on from because the file is damaged.
///
/// # Errors
/// Those of reading; `Memory`.
pub(in crate::file) fn new_view(
    file: &mut dyn ParallelFile,
    end: u64,
    sealed: u64,
    rows: &[Row],
    style: LineBreak,
) -> Result<Option<NewView>> {
    match try_view(file, end, sealed, rows, style) {
        // What a checker reports must not keep a job from closing its file.
        Err(error) if error.kind().is_of_file() => Ok(None),
        found => found,
    }
}

fn try_view(
    file: &mut dyn ParallelFile,
    end: u64,
    sealed: u64,
    rows: &[Row],
    style: LineBreak,
) -> Result<Option<NewView>> {
    let previous = SuperblockState::of(file)?.view().filter(|superblock| superblock.end <= sealed);
    let seals = seals(file, sealed)?;
    let mut known = KnownFile::take(&seals);
    let mut before = known.shown.take().filter(|(end, _)| previous.is_some_and(|view| view.end == *end));
    if before.is_none() {
        known = KnownFile::default();
    }
    let KnownFile { seals: known, mut contents, .. } = known;
    let mut texts = Texts::new(&mut *file, end);
    for sealed in &seals[known.len()..] {
        contents.read_index(&mut texts, sealed)?;
        if previous.is_some_and(|previous| previous.end == sealed.seal.length) {
            before = Some((sealed.seal.length, contents.view(&mut *texts.file)?));
        }
    }
    rows.iter().try_for_each(|row| contents.add(&mut texts, row))?;
    if contents.is_empty() {
        return Ok(None);
    }
    let view = contents.view(&mut *texts.file)?;
    let offset = end + BLOCK_HEAD_BYTES as u64;
    let mut read = |offset: u64, bytes: &mut [u8]| file.read_at(offset, bytes);
    let after = previous.zip(before).map(|(Superblock { root, .. }, (_, before))| {
        view.write_after(offset, &before, Previous { root, read: &mut read })
    });
    let ViewBytes { bytes, root } = match after {
        Some(Err(error)) if error.kind().is_of_file() => view.write(offset)?,
        Some(written) => written?,
        None => view.write(offset)?,
    };
    let section = if bytes.is_empty() { Vec::new() } else { view_section(&bytes, root, style)? };
    let known = KnownFile { seals: seals.iter().map(key).collect(), contents, shown: Some((0, view)) };
    Ok(Some(NewView { section, root, known }))
}

/// The seals of a file, the last of which ends at `end`; the first one comes first.
fn seals(file: &mut dyn ParallelFile, end: u64) -> Result<Vec<SealedPart>> {
    let mut all = Vec::new();
    let mut next = end.checked_sub(SEAL_BYTES as u64);
    while let Some(offset) = next {
        let sealed = SealedPart::at(file, end, offset)?;
        let sealed = sealed
            .ok_or_else(|| Error::new(ErrorKind::Checksum, "seal: found none, expected one").at(offset))?;
        reserve(&mut all, 1)?;
        all.push(sealed);
        next = Some(sealed.seal.previous).filter(|&previous| previous > 0);
    }
    all.reverse();
    Ok(all)
}
