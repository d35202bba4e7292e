//! HDF5 views (docs/hdf5.md): computes, on one rank, the view that a file gets when it is closed, and its
//! superblock.

mod contents;
mod metadata;
mod outline;
mod superblock;
mod texts;

pub use superblock::SuperblockState;
pub(in crate::file) use superblock::renewed_superblock;

use super::Inspector;
use super::chain::differs;
use super::index::SealedPart;
use super::pages::Pages;
use super::read_back::OwnReader;
use contents::Contents;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::fork::Global;
use scda_base::memory::{push, reserve};
use scda_format::dataset::{DATASET_CONVENTION, GROUP_CONVENTION};
use scda_format::hdf5::{BLOCK_HEAD_BYTES, view_section};
use scda_format::index::Row;
use scda_format::padding::LineBreak;
use scda_format::seal::SEAL_BYTES;
use scda_hdf5::{Objects, Outline, Previous, Superblock, ViewBytes};
use scda_storage::ParallelFile;
use texts::Texts;

/// A view to be written.
#[derive(Default)]
pub(in crate::file) struct NewView {
    /// The section with the view; empty if the previous view shows the same.
    pub section: Vec<u8>,
    /// The offset of the root group in the file; 0 if there is nothing to show.
    pub root: u64,
    known: CachedFile,
}

/// What is known about the sections of a file up to a seal, and about its view.
#[derive(Default)]
struct CachedFile {
    /// Where each seal ends, and its checksum: these identify the file.
    seals: Vec<(u64, u64)>,
    contents: Contents,
    /// What the current view shows, and where the file ends according to it.
    shown: Option<(u64, Objects)>,
    /// The number of seals after that of the view, and of all seals if they were counted.
    since: usize,
    count: Option<u64>,
}

/// The files that this process closed last, the newest at the end, so that a job that appends repeatedly
/// reads only what is new.
static CACHED_FILES: Global<Vec<CachedFile>> = Global::new(Vec::new());
const MAX_CACHED_FILES: usize = 4;
/// The most datasets, records and parts of a file to remember; each takes about 500 bytes.
const MAX_KNOWN_DATASETS: usize = 1 << 15;
/// After this many seals without a view, a new view is written even if it shows the same, for its outline.
const MOST_LATER: usize = 8;

impl CachedFile {
    /// Removes and returns the remembered file whose last seal ends at `sealed`, or did before it got more
    /// seals. Returns also these later seals.
    fn take(file: &mut dyn ParallelFile, sealed: u64) -> Result<Option<(Self, Vec<SealedPart>)>> {
        let mut all = CACHED_FILES.with(std::mem::take);
        let mut found = None;
        for number in (0..all.len()).rev() {
            if let Some(later) = all[number].later(file, sealed)? {
                found = Some((all.remove(number), later));
                break;
            }
        }
        CACHED_FILES.with(|files| files.splice(..0, all).for_each(drop));
        Ok(found)
    }

    /// The later seals, if this is the file whose last seal ends at `sealed`.
    fn later(&self, file: &mut dyn ParallelFile, sealed: u64) -> Result<Option<Vec<SealedPart>>> {
        let Some(&last) = self.seals.last().filter(|(end, _)| *end <= sealed) else { return Ok(None) };
        let found = SealedPart::at(file, sealed, last.0.saturating_sub(SEAL_BYTES as u64))?;
        if found.is_none_or(|found| key(&found) != last) || !self.is_of(file)? {
            return Ok(None);
        }
        seals_between(file, last.0, sealed)
    }

    /// Whether a file with the same last seal has the same earlier seals. Compares a logarithmic number of
    /// them, mostly late ones, because a job that rolls back replaces the seals from some point on.
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
    /// The number of seals before it, if they were counted.
    pub fn seals(&self) -> Option<u64> {
        self.known.count
    }

    /// Remembers the file after its superblock, if it has one, refers to this view and says that the file
    /// ends at `end`. `seal` has the end and checksum of the seal that was written after the view, if any.
    pub fn remember(self, end: u64, seal: Option<(u64, u64)>) {
        let mut known = self.known;
        if self.section.is_empty() && seal.is_some() {
            known.since += 1;
        }
        known.seals.extend(seal);
        known.count = known.count.map(|count| count + u64::from(seal.is_some()));
        if let Some((shown, _)) = &mut known.shown {
            *shown = end;
        }
        if known.contents.len() > MAX_KNOWN_DATASETS || known.seals.is_empty() {
            return;
        }
        CACHED_FILES.with(|all| {
            if all.len() == MAX_CACHED_FILES {
                all.remove(0);
            }
            all.push(known);
        });
    }
}

/// Computes the view of a file whose sections end at `end`, where the block of the view will begin. The last
/// seal ends at `sealed` (0 if there is none); `rows` describes the sections after it. `None` if the file is
/// too damaged to extend the previous view.
///
/// # Errors
/// The errors of reading; `Memory`.
pub(in crate::file) fn new_view(
    file: &mut Box<dyn ParallelFile>,
    (sealed, end): (u64, u64),
    rows: &[Row],
    style: LineBreak,
    reader: impl FnOnce(&mut dyn ParallelFile) -> Result<OwnReader>,
) -> Result<Option<NewView>> {
    match try_view(file, (sealed, end), rows, style, reader) {
        // Damage must not keep a job from closing its file; a checker reports it.
        Err(error) if error.kind().is_of_file() => Ok(None),
        found => found.map(Some),
    }
}

fn try_view(
    boxed: &mut Box<dyn ParallelFile>,
    (sealed, end): (u64, u64),
    rows: &[Row],
    style: LineBreak,
    reader: impl FnOnce(&mut dyn ParallelFile) -> Result<OwnReader>,
) -> Result<NewView> {
    let file = &mut **boxed;
    let previous = SuperblockState::of(file)?.view().filter(|superblock| superblock.end <= sealed);
    let place = ViewPlace { end, rows, style, previous };
    let mut pages = texts::pages(end);
    let known = CachedFile::take(file, sealed)?;
    // A remembered file must match the superblock; otherwise the outline, or the whole file, is read.
    let shown_to = |known: &CachedFile| known.shown.as_ref().map(|&(end, _)| end);
    let known = known.filter(|(known, _)| shown_to(known) == previous.map(|view| view.end));
    let known = match (known, previous) {
        (None, Some(view)) => CachedFile::outlined((file, &mut pages), sealed, view)?,
        (known, _) => known,
    };
    let (known, later) = match known {
        Some(known) => known,
        None if previous.is_none() && !has_datasets(boxed, (sealed, end), rows, reader)? => {
            Default::default()
        }
        None => CachedFile::unknown(&mut **boxed, sealed)?,
    };
    let file = &mut **boxed;
    let is_outlined = known.contents.outlined > 0;
    match known.view((file, &mut pages), &later, &place) {
        // The outline lacks something.
        Err(error) if is_outlined && error.kind().is_of_file() => {
            let (known, all) = CachedFile::unknown(file, sealed)?;
            known.view((file, &mut pages), &all, &place)
        }
        found => found,
    }
}

/// Where a view goes, and what precedes it.
struct ViewPlace<'a> {
    end: u64,
    rows: &'a [Row],
    style: LineBreak,
    previous: Option<Superblock>,
}

impl CachedFile {
    /// The view of the file. `later` lists the seals that are not known yet.
    fn view(
        self,
        (file, pages): (&mut dyn ParallelFile, &mut Pages),
        later: &[SealedPart],
        &ViewPlace { end, rows, style, previous }: &ViewPlace<'_>,
    ) -> Result<NewView> {
        let Self { mut seals, mut contents, shown: mut before, mut since, mut count } = self;
        since += later.len();
        count = count.map(|count| count + later.len() as u64);
        let mut texts = Texts::new(&mut *file, end);
        for sealed in later {
            contents.read_index(&mut texts, sealed, |_, _| Ok(()))?;
            if previous.is_some_and(|previous| previous.end == sealed.seal.length) {
                contents.view(&mut *texts.file, pages)?;
                before = Some((sealed.seal.length, contents.view.take_objects()?));
            }
        }
        rows.iter().try_for_each(|row| contents.add(&mut texts, row))?;
        reserve(&mut seals, later.len())?;
        seals.extend(later.iter().map(key));
        if contents.is_empty() {
            let known = Self { seals, contents, shown: None, since, count };
            return Ok(NewView { known, ..NewView::default() });
        }
        contents.view(&mut *file, pages)?;
        // Only a file that is appended to again needs an outline.
        let count_before = previous.and(count);
        let mut outline = match count_before {
            Some(count) => outline::outline(&mut contents, end, count)?,
            None => None,
        };
        if let Some(outline) = &mut outline {
            // If nothing was added, a seal only for the view would lengthen the file.
            outline.is_due = since >= MOST_LATER && !rows.is_empty();
        }
        contents.view.set_outline(outline);
        let view = &contents.view;
        let offset = end + BLOCK_HEAD_BYTES as u64;
        let mut read = |offset: u64, bytes: &mut [u8]| pages.read(file, offset, bytes);
        let after = previous.zip(before).map(|(Superblock { root, .. }, (_, before))| {
            view.write_after(offset, &before, Previous { root, read: &mut read })
        });
        let ViewBytes { bytes, root } = match after {
            Some(Err(error)) if error.kind().is_of_file() => view.write(offset)?,
            Some(written) => written?,
            None => view.write(offset)?,
        };
        let section = if bytes.is_empty() { Vec::new() } else { view_section(&bytes, root, style)? };
        if !section.is_empty() {
            since = 0;
        }
        let shown = Some((0, contents.view.take_objects()?));
        Ok(NewView { section, root, known: Self { seals, contents, shown, since, count } })
    }

    /// A file about which nothing is known, and all its seals.
    fn unknown(file: &mut dyn ParallelFile, sealed: u64) -> Result<(Self, Vec<SealedPart>)> {
        let all = seals_between(file, 0, sealed)?.unwrap_or_default();
        Ok((Self { count: Some(0), ..Self::default() }, all))
    }

    /// What the outline of the last view says, if it can be read, and the seals after that view.
    fn outlined(
        (file, pages): (&mut dyn ParallelFile, &mut Pages),
        sealed: u64,
        Superblock { root, end }: Superblock,
    ) -> Result<Option<(Self, Vec<SealedPart>)>> {
        let mut read = |offset: u64, bytes: &mut [u8]| pages.read(file, offset, bytes);
        let found = Outline::read(Previous { root, read: &mut read }, end).and_then(|outline| {
            let Some(outline) = outline else { return Ok(None) };
            let (begin, mut at, mut later) = (outline::begin(&outline)?, sealed, Vec::new());
            while at > begin {
                let part = seal_at(file, sealed, at.saturating_sub(SEAL_BYTES as u64))?;
                if part.start == begin && part.start < part.anchors {
                    let (mut contents, before) = outline::contents(&outline)?;
                    contents.view(file, pages)?;
                    let shown = Some((end, contents.view.take_objects()?));
                    let (seals, count) = (vec![key(&part)], Some(before + 1));
                    later.reverse();
                    return Ok(Some((Self { seals, contents, shown, since: 0, count }, later)));
                }
                at = part.begin();
                push(&mut later, part)?;
            }
            Ok(None)
        });
        match found {
            Err(error) if error.kind().is_of_file() => Ok(None),
            found => found,
        }
    }
}

#[allow(clippy::missing_errors_doc)] // of a damaged file, any
impl Inspector<'_> {
    /// Compares the outline of a view, if it has one, with the datasets of the file. `seals` lists the file's
    /// seals, at least up to that of the view. Not collective.
    pub fn check_outline(&mut self, root: u64, seals: &[SealedPart]) -> Result<()> {
        self.0.session.operate(|state| Ok(check_outline(state.sections().input.file(), root, seals)?))
    }
}

fn check_outline(file: &mut dyn ParallelFile, root: u64, seals: &[SealedPart]) -> Result<()> {
    let mut pages = texts::pages(seals.last().map_or(0, |last| last.seal.length));
    let mut read = |offset: u64, bytes: &mut [u8]| pages.read(file, offset, bytes);
    let end = seals.last().map_or(0, |last| last.seal.length);
    let Some(found) = Outline::read(Previous { root, read: &mut read }, end)? else { return Ok(()) };
    let begin = outline::begin(&found)?;
    let count = seals.partition_point(|sealed| sealed.start < begin);
    let is_there = seals.get(count).is_some_and(|sealed| sealed.start == begin);
    let mut is_right = |keeps_all: bool| {
        let mut contents = Contents::default();
        let mut texts = Texts::new(&mut *file, begin);
        for sealed in seals.iter().take(count + 1) {
            contents.read_index(&mut texts, sealed, |contents, texts| match keeps_all {
                true => Ok(()),
                false => contents.keep_last(texts, &mut pages, begin),
            })?;
        }
        contents.view(file, &mut pages)?;
        Ok(outline::outline(&mut contents, begin, count as u64)?.as_ref() == Some(&found))
    };
    let is_right = is_there
        && match is_right(false) {
            // Either an earlier dataset was added to, or the outline is wrong.
            Ok(false) => is_right(true)?,
            Err(error) if error.kind().is_of_file() => is_right(true)?,
            found => found?,
        };
    if is_right {
        return Ok(());
    }
    Err(differs("view of HDF5", "another outline", "that of the datasets of the file", begin))
}

/// The seal at this offset of a file whose last seal ends at `end`.
fn seal_at(file: &mut dyn ParallelFile, end: u64, offset: u64) -> Result<SealedPart> {
    let found = SealedPart::at(file, end, offset)?;
    found.ok_or_else(|| Error::new(ErrorKind::Checksum, "seal: found none, expected one").at(offset))
}

/// Whether there is something to show among these rows or the sealed sections, which are searched if no view
/// tells.
fn has_datasets(
    file: &mut Box<dyn ParallelFile>,
    (sealed, end): (u64, u64),
    rows: &[Row],
    reader: impl FnOnce(&mut dyn ParallelFile) -> Result<OwnReader>,
) -> Result<bool> {
    let is_one = |row: &Row| [DATASET_CONVENTION, GROUP_CONVENTION].contains(&&*row.user);
    if sealed == 0 || rows.iter().any(is_one) {
        return Ok(true);
    }
    reader(&mut **file)?
        .read_file(file, end, &[], |own| Ok(own.has(DATASET_CONVENTION)? || own.has(GROUP_CONVENTION)?))
}

/// The seals after the one that ends at `start` (0: all), up to the one that ends at `end`, in the order of
/// the file. `None` if no seal ends at `start`.
fn seals_between(file: &mut dyn ParallelFile, start: u64, end: u64) -> Result<Option<Vec<SealedPart>>> {
    let mut all = Vec::new();
    let mut at = end;
    while at > start {
        let sealed = seal_at(file, end, at.saturating_sub(SEAL_BYTES as u64))?;
        push(&mut all, sealed)?;
        at = sealed.begin();
    }
    all.reverse();
    Ok((at == start).then_some(all))
}
