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
use scda_hdf5::{Objects, Previous, Superblock, ViewBytes};
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
    shown: Option<(u64, Objects)>,
}

/// Files that this process has closed, the last one last: a job that appends again and again reads only what is new.
static KNOWN_FILES: Global<Vec<KnownFile>> = Global::new(Vec::new());
const MAX_KNOWN_FILES: usize = 4;
/// The most datasets, records and parts of a file that is remembered, which take some 500 bytes each.
const MAX_KNOWN_DATASETS: usize = 1 << 15;

impl KnownFile {
    /// The file whose last seal ends at `sealed`, or which has it and more; it is no longer remembered. With the seals after it.
    fn take(file: &mut dyn ParallelFile, sealed: u64) -> Result<(Self, Vec<SealedPart>)> {
        let mut all = KNOWN_FILES.with(std::mem::take);
        let mut later = Vec::new();
        let mut end = sealed;
        let mut found = None;
        while let Some(offset) = end.checked_sub(SEAL_BYTES as u64) {
            let part = SealedPart::at(file, sealed, offset)?;
            let part = part.ok_or_else(|| {
                Error::new(ErrorKind::Checksum, "seal: found none, expected one").at(offset)
            })?;
            let ends_so = |known: &Self| known.seals.last() == Some(&key(&part));
            if let Some(place) = all.iter().rposition(ends_so) {
                let known = all.remove(place);
                if known.is_of(file)? {
                    found = Some(known);
                    break;
                }
            }
            end = part
                .seal
                .previous
                .checked_add(SEAL_BYTES as u64)
                .filter(|_| part.seal.previous > 0)
                .unwrap_or(0);
            reserve(&mut later, 1)?;
            later.push(part);
        }
        later.reverse();
        KNOWN_FILES.with(|files| files.splice(..0, all).for_each(drop));
        Ok((found.unwrap_or_default(), later))
    }

    /// Whether a file that has the last seal has those before it, too. As many are compared as the number of seals has bits, most of
    /// them late ones: a job that goes back writes other ones from there on.
    fn is_of(&self, file: &mut dyn ParallelFile) -> Result<bool> {
        let mut back = 2;
        while let Some(number) = self.seals.len().checked_sub(back) {
            let (end, crc) = self.seals[number];
            let found = SealedPart::at(file, end, end.saturating_sub(SEAL_BYTES as u64))?;
            if found.is_none_or(|found| key(&found) != (end, crc)) {
                return Ok(false);
            }
            back *= 2;
        }
        Ok(true)
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
    let (known, later) = KnownFile::take(file, sealed)?;
    let KnownFile { mut seals, mut contents, shown } = known;
    let mut before = shown.filter(|(end, _)| previous.is_some_and(|view| view.end == *end));
    let later = if before.is_some() || seals.is_empty() {
        later
    } else {
        // What the superblock shows must be known: so all is read.
        (seals, contents) = Default::default();
        all_seals(file, sealed)?
    };
    let mut texts = Texts::new(&mut *file, end);
    for sealed in &later {
        contents.read_index(&mut texts, sealed)?;
        if previous.is_some_and(|previous| previous.end == sealed.seal.length) {
            contents.view(&mut *texts.file)?;
            before = Some((sealed.seal.length, contents.take_objects()?));
        }
    }
    rows.iter().try_for_each(|row| contents.add(&mut texts, row))?;
    if contents.is_empty() {
        return Ok(None);
    }
    let view = contents.view(&mut *file)?;
    let offset = end + BLOCK_HEAD_BYTES as u64;
    let mut read = |offset: u64, bytes: &mut [u8]| file.read_at(offset, bytes);
    let after = previous.zip(before).map(|(Superblock { root, .. }, (_, before))| {
        view.write_after_objects(offset, &before, Previous { root, read: &mut read })
    });
    let ViewBytes { bytes, root } = match after {
        Some(Err(error)) if error.kind().is_of_file() => view.write(offset)?,
        Some(written) => written?,
        None => view.write(offset)?,
    };
    let section = if bytes.is_empty() { Vec::new() } else { view_section(&bytes, root, style)? };
    reserve(&mut seals, later.len())?;
    seals.extend(later.iter().map(key));
    let shown = Some((0, contents.take_objects()?));
    Ok(Some(NewView { section, root, known: KnownFile { seals, contents, shown } }))
}

/// The seals of a file, the last of which ends at `end`; the first one comes first.
fn all_seals(file: &mut dyn ParallelFile, end: u64) -> Result<Vec<SealedPart>> {
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
