//! Collects what HDF5 will show of a file: from the sections that the seals list, and those after them.

use super::metadata::{Metadata, MetadataCache};
use super::texts::Texts;
use crate::file::reader::chain::compare_crc;
use crate::file::reader::index::SealedPart;
use crate::file::reader::pages::Pages;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{push, reserve, resize};
use scda_format::crc;
use scda_format::dataset::additions::{
    ATTRIBUTES_CONVENTION, NAME, ROWS_CONVENTION, attributes, first_row, is_followed, later_of, later_user,
    rows_of, rows_user,
};
use scda_format::dataset::json::{members, value};
use scda_format::dataset::parse;
use scda_format::dataset::stored_dataset::{DataSection, ElementKind, StoredDataset, is_metadata};
use scda_format::dataset::{GROUP_CONVENTION, group_of, stored_name, stored_path};
use scda_format::header::SectionType;
use scda_format::index::{ROW_BYTES, Row};
use scda_format::layout::{SectionLayout, sum};
use scda_format::seal::{SEAL_BYTES, Seal};
use scda_hdf5::{Data, DatasetView, Part, View};
use scda_storage::ParallelFile;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Rows that are read at once.
const ROWS: u64 = 512;

/// Why a dataset is hidden: damage to one must not keep the others from being shown.
const UNREADABLE: &str = "damaged, or not as datasets are written";

/// Where the data of a dataset are.
pub(super) enum DataLocation {
    Plain(u64),
    Chunks(u64, Vec<u64>),
    Text,
}

/// A dataset of the file, with its additions.
pub(super) struct FileDataset {
    /// The offset of the section with its data.
    pub data: u64,
    pub user: Box<str>,
    /// Its full name, if the user string is a shortened one.
    pub long_name: Option<String>,
    pub metadata: Arc<Metadata>,
    pub place: DataLocation,
    /// Rows that were added later.
    pub added: Vec<(StoredDataset, DataLocation)>,
    /// Attributes that were set later.
    pub attributes: Option<String>,
    /// The number of all its rows.
    pub rows: u64,
    pub is_unreadable: bool,
    /// What HDF5 shows of it, if that is known and up to date.
    pub shown: Option<DatasetView>,
}

/// The attributes of a group.
pub(super) struct GroupAttributes {
    pub text: String,
    /// Whether the view has them.
    pub is_viewed: bool,
}

/// The most names that an outline holds.
pub(super) const MOST_OUTLINED: usize = 256;

/// From this number of datasets on, only the last one of each name is kept, if there are at most
/// [`MOST_OUTLINED`] names.
const MANY: usize = 1 << 12;

/// The error if an outline lacks what is needed.
pub(super) fn lacking() -> Error {
    Error::new(ErrorKind::Format, "view of HDF5: its outline does not suffice")
}

/// What has been found in the sections of a file so far.
#[derive(Default)]
pub struct Contents {
    /// The datasets, in the order of the file; of those in an outline, only the last one of each name.
    pub(super) found: Vec<FileDataset>,
    /// The last dataset of each name. Not a hash table, because leak checkers do not find what it refers to.
    pub(super) last: BTreeMap<Box<str>, usize>,
    /// The number of sections with added rows.
    parts: usize,
    pub(super) groups: BTreeMap<String, GroupAttributes>,
    /// Datasets that cannot be shown, and why.
    hidden: Vec<(String, &'static str)>,
    /// The previous section.
    before: Option<Row>,
    metadata: MetadataCache,
    /// The view of the first datasets, and how many these are. If none, the view must be made anew.
    pub(super) view: View,
    pub(super) viewed: usize,
    /// The offset of the view from whose outline this was read; otherwise 0. An outline has neither the rows
    /// of its datasets nor the places of their chunks, so a view that must be made anew requires reading the
    /// whole file.
    pub(super) outlined: u64,
}

impl Contents {
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of datasets, records, parts, groups and hidden datasets.
    pub fn len(&self) -> usize {
        self.found.len() + self.parts + self.groups.len() + self.hidden.len()
    }

    /// Adds the sections of an index if its checksum is right, and calls `then` after every few of them.
    pub fn read_index(
        &mut self,
        texts: &mut Texts<'_>,
        sealed: &SealedPart,
        mut then: impl FnMut(&mut Self, &mut Texts<'_>) -> Result<()>,
    ) -> Result<()> {
        let Seal { index, length, .. } = sealed.seal;
        let (mut at, mut next) = (sealed.row_offset(0), sealed.begin());
        let mut bytes = Vec::new();
        resize(&mut bytes, at - index)?;
        texts.file.read_at(index, &mut bytes)?;
        let (mut sum, mut left) = (crc::of(&bytes), sealed.seal.rows());
        while left > 0 {
            let now = left.min(ROWS);
            resize(&mut bytes, now * ROW_BYTES as u64)?;
            texts.file.read_at(at, &mut bytes)?;
            sum = crc::extend(sum, &bytes);
            for bytes in bytes.as_chunks().0 {
                let row = Row::parse(bytes, next, at)?;
                (next, at) = (row.end(), at + ROW_BYTES as u64);
                self.add(texts, &row)?;
            }
            left -= now;
            then(self, texts)?;
        }
        resize(&mut bytes, length - at)?;
        texts.file.read_at(at, &mut bytes)?;
        let (padding, seal) = bytes.split_at(bytes.len() - SEAL_BYTES);
        let found = Seal::crc_of(crc::extend(sum, padding), seal.first_chunk().unwrap_or(&[0; SEAL_BYTES]));
        compare_crc("index", found, sealed.seal.crc, index)
    }

    /// Adds a section that follows the previous ones.
    pub fn add(&mut self, texts: &mut Texts<'_>, row: &Row) -> Result<()> {
        let Some(first) = self.before.replace(*row) else { return Ok(()) };
        let added = self.add_pair(texts, &first, row);
        match added {
            Err(error) if error.kind().is_of_file() || error.kind() == ErrorKind::Unsupported => {
                let name = String::from_utf8_lossy(&row.user).into_owned();
                let is_new = error.kind() == ErrorKind::Unsupported;
                self.hide(name, if is_new { "unknown to libscda" } else { UNREADABLE })
            }
            added => added,
        }
    }

    fn hide(&mut self, name: String, why: &'static str) -> Result<()> {
        push(&mut self.hidden, (name, why))
    }

    /// Adds what these two sections form together, if anything.
    fn add_pair(&mut self, texts: &mut Texts<'_>, first: &Row, second: &Row) -> Result<()> {
        let Some(section) = first.section else { return Ok(()) };
        let user = &*first.user;
        if is_metadata(section, user) {
            return self.add_dataset(texts, first, second);
        }
        if section == SectionType::Block && user == ROWS_CONVENTION {
            return self.add_rows(texts, first, second);
        }
        let is_block = second.section == Some(SectionType::Block);
        if section != SectionType::Inline || !is_block {
            return Ok(());
        }
        if user == GROUP_CONVENTION
            && let Some(path) = group_of(&second.user)
        {
            let (_, text) = text(texts, second)?;
            let attributes = parse::group(text)?;
            let path = long_name(path.as_bytes(), &attributes, stored_path).unwrap_or(path);
            self.groups.insert(path, GroupAttributes { text: attributes, is_viewed: false });
        } else if user == ATTRIBUTES_CONVENTION
            && let Some((data, _)) = later_of(&second.user)
            && let Some(number) = self.with_data(data)?
            && *second.user == *later_user(data, &self.found[number].user).as_bytes()
        {
            let (_, text) = text(texts, second)?;
            let attributes = attributes(text)?;
            let now = self.found[number].shown.as_ref().map(|shown| shown.with_attributes(&attributes));
            self.found[number].attributes = Some(attributes);
            self.show_otherwise(number, now);
        }
        Ok(())
    }

    /// The dataset whose data are in the section at this offset.
    ///
    /// # Errors
    /// `Format` if an outline may lack it. `add` then counts the section as damaged, hence hidden, and `view`
    /// reads the whole file, because it uses no outline of a file with hidden sections.
    fn with_data(&self, data: u64) -> Result<Option<usize>> {
        match self.found.binary_search_by_key(&data, |found| found.data) {
            Ok(number) => Ok(Some(number)),
            Err(_) if data < self.outlined => Err(lacking()),
            Err(_) => Ok(None),
        }
    }

    /// Replaces what HDF5 shows of a dataset by `now`, if that is known.
    fn show_otherwise(&mut self, number: usize, now: Option<DatasetView>) {
        let found = &mut self.found[number];
        let before = std::mem::replace(&mut found.shown, now);
        if number >= self.viewed {
            return;
        }
        let is_replaced = match (&before, &found.shown) {
            (Some(before), Some(now)) => self.view.replace(found.name(), before, now),
            _ => false,
        };
        if !is_replaced {
            self.viewed = 0;
        }
    }

    fn add_dataset(&mut self, texts: &mut Texts<'_>, metadata: &Row, data: &Row) -> Result<()> {
        let (at, text) = text(texts, metadata)?;
        let metadata = self.metadata.get(text, at, described(data)?)?;
        let user = String::from_utf8_lossy(&data.user);
        let mut found = FileDataset::new(data.offset, &user, metadata, place(texts, data)?);
        // Most datasets differ from others only in the place of their data.
        if let DataLocation::Plain(offset) = found.place {
            let alike = found.metadata.shown.get();
            found.shown = alike.and_then(|shown| shown.with_data_at(offset).ok().flatten());
            if found.shown.is_none() {
                found.shown = found.show()?;
                found.shown.iter().for_each(|shown| _ = found.metadata.shown.set(shown.clone()));
            }
        }
        self.push(found)
    }

    /// Adds a dataset after all others.
    pub(super) fn push(&mut self, found: FileDataset) -> Result<()> {
        reserve(&mut self.found, 1)?;
        if self.last.len() <= MOST_OUTLINED {
            match self.last.get_mut(found.name()) {
                Some(last) => *last = self.found.len(),
                None => drop(self.last.insert(found.name().into(), self.found.len())),
            }
        }
        self.found.push(found);
        Ok(())
    }

    fn add_rows(&mut self, texts: &mut Texts<'_>, metadata: &Row, data: &Row) -> Result<()> {
        let Some((of, _)) = rows_of(&data.user) else { return Ok(()) };
        let Some(number) = self.with_data(of)? else { return Ok(()) };
        let found = &mut self.found[number];
        if *data.user != *rows_user(of, &found.user).as_bytes() {
            return Ok(());
        }
        let mut now = None;
        let is_read = (|| -> Result<bool> {
            let (at, text) = text(texts, metadata)?;
            let before = &found.metadata.stored;
            let stored = StoredDataset::of_rows(text, at, described(data)?, before)?;
            let rows = sum(found.rows, rows_of_dataset(&stored));
            let Some(rows) = rows.filter(|_| first_row(&stored.dataset.attributes) == Some(found.rows))
            else {
                return Ok(false);
            };
            let place = place(texts, data)?;
            if let Some(shown) = &found.shown {
                let part = Part { stored: &stored, data: place.data() };
                now = shown.with_rows(before.elements == ElementKind::Rows, &part).ok().flatten();
            }
            push(&mut found.added, (stored, place))?;
            found.rows = rows;
            Ok(true)
        })();
        match is_read {
            Err(error) if error.kind().is_of_file() => found.is_unreadable = true,
            is_read => found.is_unreadable |= !is_read?,
        }
        now = now.filter(|_| !found.is_unreadable);
        self.parts += 1;
        self.show_otherwise(number, now);
        Ok(())
    }

    /// Empty contents, for a view at this offset whose outline is added next.
    pub(super) fn of_outline(outlined: u64) -> Self {
        Self { outlined, ..Self::default() }
    }

    /// If there are many datasets, drops all but the last one of each name, as if they had been read from the
    /// outline of a view at this offset.
    pub(super) fn keep_last(
        &mut self,
        texts: &mut Texts<'_>,
        pages: &mut Pages,
        outlined: u64,
    ) -> Result<()> {
        if self.found.len() < MANY || self.last.len() > MOST_OUTLINED {
            return Ok(());
        }
        self.view(&mut *texts.file, pages)?;
        self.view.forget_earlier();
        let last: BTreeSet<usize> = self.last.values().copied().collect();
        let mut numbers = 0..;
        self.found.retain(|_| numbers.next().is_some_and(|number| last.contains(&number)));
        self.outlined = outlined;
        self.number_last()
    }

    /// Numbers the datasets, each the last one of its name, and marks them as viewed.
    pub(super) fn number_last(&mut self) -> Result<()> {
        for (number, found) in self.found.iter().enumerate() {
            *self.last.get_mut(found.name()).ok_or_else(lacking)? = number;
        }
        self.viewed = self.found.len();
        Ok(())
    }

    /// Whether the last section only describes the next one, which has not been added yet.
    pub(super) fn is_open(&self) -> bool {
        self.before.as_ref().is_some_and(|before| is_followed(&before.user))
    }

    /// The view of the contents. Reads small arrays of meshes from the file. Reuses what was shown before,
    /// unless it has changed.
    pub fn view(&mut self, file: &mut dyn ParallelFile, pages: &mut Pages) -> Result<&View> {
        // Hidden datasets come after all others, whenever they were found.
        if self.viewed == 0 || !self.hidden.is_empty() {
            if self.outlined > 0 {
                return Err(lacking());
            }
            (self.view, self.viewed) = (View::new(), 0);
            self.groups.values_mut().for_each(|group| group.is_viewed = false);
        }
        for (path, group) in self.groups.iter_mut().filter(|(_, group)| !group.is_viewed) {
            self.view.group(path, &group.text)?;
            group.is_viewed = true;
        }
        for found in &mut self.found[self.viewed..] {
            if found.shown.is_none() {
                found.shown = found.show()?;
            }
            match &found.shown {
                Some(shown) => self.view.dataset(found.name(), shown)?,
                None => self.view.hide(found.name(), UNREADABLE)?,
            }
        }
        for (name, why) in &self.hidden {
            self.view.hide(name, why)?;
        }
        self.viewed = self.found.len();
        self.view.meshes(&mut |offset, bytes| pages.read(file, offset, bytes))?;
        Ok(&self.view)
    }
}

impl DataLocation {
    fn data(&self) -> Data<'_> {
        match self {
            Self::Plain(offset) => Data::Plain(*offset),
            Self::Chunks(offset, sizes) => Data::Chunks(*offset, sizes),
            Self::Text => Data::Text,
        }
    }
}

impl FileDataset {
    pub(super) fn new(data: u64, user: &str, metadata: Arc<Metadata>, place: DataLocation) -> Self {
        Self {
            data,
            user: user.into(),
            long_name: long_name(user.as_bytes(), &metadata.stored.dataset.attributes, stored_name),
            rows: rows_of_dataset(&metadata.stored),
            metadata,
            place,
            added: Vec::new(),
            attributes: None,
            is_unreadable: false,
            shown: None,
        }
    }

    /// Its full name.
    pub(super) fn name(&self) -> &str {
        self.long_name.as_deref().unwrap_or(&self.user)
    }

    /// The attributes that are valid.
    pub(super) fn attributes(&self) -> &str {
        self.attributes.as_ref().unwrap_or(&self.metadata.stored.dataset.attributes)
    }

    /// What HDF5 shows of it; `None` if it cannot be read.
    fn show(&self) -> Result<Option<DatasetView>> {
        if self.is_unreadable {
            return Ok(None);
        }
        let mut parts = Vec::new();
        reserve(&mut parts, 1 + self.added.len())?;
        let added = self.added.iter().map(|(stored, place)| (stored, place));
        let first = (&self.metadata.stored, &self.place);
        parts.extend(
            std::iter::once(first).chain(added).map(|(stored, place)| Part { stored, data: place.data() }),
        );
        match DatasetView::new(self.attributes(), &parts) {
            Err(error) if error.kind() == ErrorKind::Memory => Err(error),
            shown => Ok(shown.ok()),
        }
    }
}

/// The text of a block, and its offset.
fn text<'a>(texts: &'a mut Texts<'_>, row: &Row) -> Result<(u64, &'a [u8])> {
    let layout = row.data_section(0).filter(|_| !row.is_compressed);
    let layout =
        layout.ok_or_else(|| Error::new(ErrorKind::Unsupported, "compressed metadata").at(row.offset))?;
    Ok((layout.data, texts.read(layout.data, row.size)?))
}

/// The full name in the attributes of a dataset or group, if `user` is its shortened form.
fn long_name(user: &[u8], attributes: &str, shortened: fn(&str) -> Cow<'_, str>) -> Option<String> {
    if !user.contains(&b'~') {
        return None;
    }
    let members = members(attributes.as_bytes()).ok()?;
    let name = value(members.iter().find(|member| member.key == NAME)?.text)?;
    name.as_str().filter(|name| shortened(name).as_bytes() == user).map(str::to_owned)
}

/// A section of data as it appears after decoding.
fn described(row: &Row) -> Result<DataSection<'_>> {
    let section_type = row.section.ok_or_else(|| Error::argument("the header of the file has no data"))?;
    let size = if section_type == SectionType::Varray { 0 } else { row.size };
    let Row { user, count, is_compressed, .. } = row;
    Ok(DataSection { section_type, user, count: *count, size, is_compressed: *is_compressed })
}

fn place(texts: &mut Texts<'_>, row: &Row) -> Result<DataLocation> {
    if row.is_compressed {
        return Ok(DataLocation::Text);
    }
    let layout = row.data_section(0).ok_or_else(|| Error::range("section: beyond 63 bits").at(row.offset))?;
    let SectionLayout { entries, data, .. } = layout;
    match row.section {
        Some(SectionType::Varray) => Ok(DataLocation::Chunks(data, texts.sizes(entries, row.count)?)),
        _ => Ok(DataLocation::Plain(data)),
    }
}

fn rows_of_dataset(stored: &StoredDataset) -> u64 {
    stored.dataset.shape.first().copied().unwrap_or(0)
}
