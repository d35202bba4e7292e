//! HDF5 views (docs/hdf5.md): what a file gets when it is closed, as one rank finds it in the sections, and
//! the superblock.

mod contents;
mod outline;
mod superblock;
mod texts;

pub use superblock::SuperblockState;
pub(in crate::file) use superblock::renewed_superblock;

use super::Inspector;
use super::chain::differs;
use super::index::SealedPart;
use super::read_back::OwnReader;
use contents::Contents;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::fork::Global;
use scda_base::memory::reserve;
use scda_format::dataset::{DATASET_CONVENTION, GROUP_CONVENTION};
use scda_format::hdf5::{BLOCK_HEAD_BYTES, view_section};
use scda_format::index::Row;
use scda_format::padding::LineBreak;
use scda_format::seal::SEAL_BYTES;
use scda_hdf5::{Objects, Outline, Previous, Superblock, ViewBytes};
use scda_storage::ParallelFile;
use texts::{Pages, Texts};

/// A view to be written.
#[derive(Default)]
pub(in crate::file) struct NewView {
    /// The section with it; empty if the previous view shows the same.
    pub section: Vec<u8>,
    /// The offset in the file of the root group; 0 if there is nothing to show.
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
    /// How many seals follow that of the view, and how many there are in all, if they were counted.
    since: usize,
    count: Option<u64>,
}

/// Files that this process has closed, the last one last: a job that appends again and again reads only what is new.
static KNOWN_FILES: Global<Vec<KnownFile>> = Global::new(Vec::new());
const MAX_KNOWN_FILES: usize = 4;
/// The most datasets, records and parts of a file that is remembered, which take some 500 bytes each.
const MAX_KNOWN_DATASETS: usize = 1 << 15;
/// If so many seals follow the last view, there is another one, though it may show the same: for its outline.
const MOST_LATER: usize = 8;

impl KnownFile {
    /// The file whose last seal ends at `sealed`, if it is remembered, as it is or as it was at an earlier seal; it no longer is. With the
    /// seals since then.
    fn take(file: &mut dyn ParallelFile, sealed: u64) -> Result<Option<(Self, Vec<SealedPart>)>> {
        let mut all = KNOWN_FILES.with(std::mem::take);
        let mut found = None;
        for number in (0..all.len()).rev() {
            if let Some(later) = all[number].later(file, sealed)? {
                found = Some((all.remove(number), later));
                break;
            }
        }
        KNOWN_FILES.with(|files| files.splice(..0, all).for_each(drop));
        Ok(found)
    }

    /// The seals since then, if this is the file whose last seal ends at `sealed`.
    fn later(&self, file: &mut dyn ParallelFile, sealed: u64) -> Result<Option<Vec<SealedPart>>> {
        let Some(&last) = self.seals.last().filter(|(end, _)| *end <= sealed) else { return Ok(None) };
        let found = SealedPart::at(file, sealed, last.0.saturating_sub(SEAL_BYTES as u64))?;
        if found.is_none_or(|found| key(&found) != last) || !self.is_of(file)? {
            return Ok(None);
        }
        seals_between(file, last.0, sealed)
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
    /// How many seals the file has before it, if they were counted.
    pub fn seals(&self) -> Option<u64> {
        self.known.count
    }

    /// Remembers the file, whose superblock leads to this view by now, if there is one, and says that it ends at `end`; `seal` has the end
    /// and the checksum of the seal that was written after it, if one was.
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
        KNOWN_FILES.with(|all| {
            if all.len() == MAX_KNOWN_FILES {
                all.remove(0);
            }
            all.push(known);
        });
    }
}

/// The view of a file whose sections end at `end`, where its block is to begin; the last seal ends at `sealed`, or at 0 if there is none, and
/// these are the rows of what follows it. `None` if the previous view cannot be gone on from because the file is damaged.
///
/// # Errors
/// Those of reading; `Memory`.
pub(in crate::file) fn new_view(
    file: &mut Box<dyn ParallelFile>,
    (sealed, end): (u64, u64),
    rows: &[Row],
    style: LineBreak,
    reader: impl FnOnce(&mut dyn ParallelFile) -> Result<OwnReader>,
) -> Result<Option<NewView>> {
    match try_view(file, (sealed, end), rows, style, reader) {
        // What a checker reports must not keep a job from closing its file.
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
    let mut pages = Pages::new(end);
    let known = KnownFile::take(file, sealed)?;
    // What the superblock shows must be known; otherwise, its outline tells, or all is read.
    let shown_to = |known: &KnownFile| known.shown.as_ref().map(|&(end, _)| end);
    let known = known.filter(|(known, _)| shown_to(known) == previous.map(|view| view.end));
    let known = match (known, previous) {
        (None, Some(view)) => KnownFile::outlined((file, &mut pages), sealed, view)?,
        (known, _) => known,
    };
    let (known, later) = match known {
        Some(known) => known,
        None if previous.is_none() && !has_datasets(boxed, (sealed, end), rows, reader)? => {
            Default::default()
        }
        None => KnownFile::unknown(&mut **boxed, sealed)?,
    };
    let file = &mut **boxed;
    let is_outlined = known.contents.outlined > 0;
    match known.view((file, &mut pages), &later, &place) {
        // The outline does not have all that is needed.
        Err(error) if is_outlined && error.kind().is_of_file() => {
            let (known, all) = KnownFile::unknown(file, sealed)?;
            known.view((file, &mut pages), &all, &place)
        }
        found => found,
    }
}

/// Where a view goes, and after what.
struct ViewPlace<'a> {
    end: u64,
    rows: &'a [Row],
    style: LineBreak,
    previous: Option<Superblock>,
}

impl KnownFile {
    /// The view of the file, of which these seals are not known yet.
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
                before = Some((sealed.seal.length, contents.take_objects()?));
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
        // A file that is not appended to again needs none.
        let count_before = previous.and(count);
        let mut outline = match count_before {
            Some(count) => outline::outline(&mut contents, end, count)?,
            None => None,
        };
        if let Some(outline) = &mut outline {
            // Without sections, a seal for the view alone would lengthen the file.
            outline.is_due = since >= MOST_LATER && !rows.is_empty();
        }
        contents.view.set_outline(outline);
        let view = &contents.view;
        let offset = end + BLOCK_HEAD_BYTES as u64;
        let mut read = |offset: u64, bytes: &mut [u8]| pages.read(file, offset, bytes);
        let after = previous.zip(before).map(|(Superblock { root, .. }, (_, before))| {
            view.write_after_objects(offset, &before, Previous { root, read: &mut read })
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
        let shown = Some((0, contents.take_objects()?));
        Ok(NewView { section, root, known: Self { seals, contents, shown, since, count } })
    }

    /// A file of which nothing is known; with all of its seals.
    fn unknown(file: &mut dyn ParallelFile, sealed: u64) -> Result<(Self, Vec<SealedPart>)> {
        let all = seals_between(file, 0, sealed)?.unwrap_or_default();
        Ok((Self { count: Some(0), ..Self::default() }, all))
    }

    /// What the outline of the last view tells, if there is one that can be read, with the seals since that view.
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
                    let shown = Some((end, contents.take_objects()?));
                    let (seals, count) = (vec![key(&part)], Some(before + 1));
                    later.reverse();
                    return Ok(Some((Self { seals, contents, shown, since: 0, count }, later)));
                }
                at = part.end_of_previous();
                reserve(&mut later, 1)?;
                later.push(part);
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
    /// Compares the outline of a view, if it has one, with the datasets of the file. These are its seals up to that with the view, or further.
    /// Not collective.
    pub fn check_outline(&mut self, root: u64, seals: &[SealedPart]) -> Result<()> {
        self.0.session.operate(|state| Ok(check_outline(state.sections().input().file(), root, seals)?))
    }
}

fn check_outline(file: &mut dyn ParallelFile, root: u64, seals: &[SealedPart]) -> Result<()> {
    let mut pages = Pages::new(seals.last().map_or(0, |last| last.seal.length));
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
            // Something was added to an earlier dataset, or the outline is wrong.
            Ok(false) => is_right(true)?,
            Err(error) if error.kind().is_of_file() => is_right(true)?,
            found => found?,
        };
    if is_right {
        return Ok(());
    }
    Err(differs("view of HDF5", "another outline", "that of the datasets of the file", begin))
}

/// The seal at an offset of a file whose last seal ends at `end`.
fn seal_at(file: &mut dyn ParallelFile, end: u64, offset: u64) -> Result<SealedPart> {
    let found = SealedPart::at(file, end, offset)?;
    found.ok_or_else(|| Error::new(ErrorKind::Checksum, "seal: found none, expected one").at(offset))
}

/// Whether there is something to show: among these rows, or among the sealed sections, which are looked up, as far as no view says so.
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
    reader(&mut **file)?.read_file(file, end, &[], |own| {
        Ok(own.has_sealed(DATASET_CONVENTION)? || own.has_sealed(GROUP_CONVENTION)?)
    })
}

/// The seals of a file after that which ends at `start`, 0 for all, up to that which ends at `end`; the first one comes first. `None` if none of
/// the seals ends at `start`.
fn seals_between(file: &mut dyn ParallelFile, start: u64, end: u64) -> Result<Option<Vec<SealedPart>>> {
    let mut all = Vec::new();
    let mut at = end;
    while at > start {
        let sealed = seal_at(file, end, at.saturating_sub(SEAL_BYTES as u64))?;
        reserve(&mut all, 1)?;
        all.push(sealed);
        at = sealed.end_of_previous();
    }
    all.reverse();
    Ok((at == start).then_some(all))
}
