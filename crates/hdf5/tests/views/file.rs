//! Files of libscda that get a view.

use scda::{Dataset, Encode, IndexBox, ReadOptions, Reader, Solo, WriteOptions, Writer};
use scda_format::dataset::stored_dataset::{DataSection, StoredDataset, is_metadata};
use scda_format::dataset::{GROUP_CONVENTION, additions, parse};
use scda_format::entry::parse_count;
use scda_format::header::{SectionType, parse_section_header};
use scda_format::layout::SectionLayout;
use scda_format::{COMPRESSION_CONVENTIONS, FILE_HEADER_BYTES};
use scda_hdf5::{
    BASE, Data, DatasetView, Part, Previous, RESERVED_CONVENTION, Superblock, VIEW_CONVENTION, View,
    ViewBytes, ViewCounts, check, reserved,
};
use std::path::{Path, PathBuf};

/// A file in a folder of its own.
pub struct TestFile {
    pub folder: tempfile::TempDir,
    pub path: PathBuf,
}

/// A file with room for a superblock, and with what a program writes.
pub fn written(program: impl FnOnce(&mut Writer) -> scda::Result<()>) -> TestFile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.scda");
    let mut writer = Writer::create(Solo, &path, b"a view", &WriteOptions::default()).unwrap();
    let data = reserved();
    writer.block(RESERVED_CONVENTION, 0, data.len() as u64, Some(&data), Encode::None).unwrap();
    program(&mut writer).unwrap();
    writer.close().unwrap();
    TestFile { folder, path }
}

/// The options of files that are HDF5 files as well.
pub fn with_views() -> WriteOptions {
    let mut params = WriteOptions::default();
    params.seal = true;
    params
}

/// A file with what a program writes, to which libscda gives a view.
pub fn with_view(program: impl FnOnce(&mut Writer) -> scda::Result<()>) -> TestFile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.scda");
    let mut writer = Writer::create(Solo, &path, b"a view", &with_views()).unwrap();
    program(&mut writer).unwrap();
    writer.close().unwrap();
    let file = TestFile { folder, path };
    crate::programs::dump(&file);
    file
}

/// Writes a whole dataset.
pub fn write(writer: &mut Writer, dataset: &Dataset, data: &[u8]) {
    writer.dataset(dataset, &[IndexBox::all(&dataset.shape)], data).unwrap();
}

/// A section of a file.
struct Section {
    section_type: SectionType,
    user: Vec<u8>,
    start: u64,
    data: u64,
    count: u64,
    size: u64,
    sizes: Vec<u64>,
    is_compressed: bool,
}

impl Section {
    /// Where its data begin and end.
    fn range(&self) -> (u64, u64) {
        let bytes = match self.section_type {
            SectionType::Varray => self.sizes.iter().sum(),
            _ => self.count * self.size,
        };
        (self.data, self.data + bytes)
    }
}

fn sections(bytes: &[u8]) -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    let (mut at, mut pair) = (FILE_HEADER_BYTES, None);
    while at < bytes.len() {
        let (section_type, user) = parse_section_header(bytes[at..].first_chunk().unwrap()).unwrap();
        let entry =
            |place: usize, letter: u8| parse_count(bytes[place..].first_chunk().unwrap(), letter).unwrap();
        let (start, first) = (at as u64, at + 64);
        let mut sizes = Vec::new();
        let (layout, count, size) = match section_type {
            SectionType::Inline => (SectionLayout::inline(start), 1, 32),
            SectionType::Block => (SectionLayout::block(start, entry(first, b'E')), 1, entry(first, b'E')),
            SectionType::Array => {
                let (n, e) = (entry(first, b'N'), entry(first + 32, b'E'));
                (SectionLayout::array(start, n, e), n, e)
            }
            SectionType::Varray => {
                let n = entry(first, b'N');
                sizes.extend((0..n).map(|k| entry(first + 32 * (k as usize + 1), b'E')));
                (SectionLayout::varray(start, n, sizes.iter().sum()), n, 0)
            }
        };
        let layout = layout.unwrap();
        at = layout.end as usize;
        if COMPRESSION_CONVENTIONS.contains(&&*user) {
            // The size before compression, of an array of each element.
            let size = if section_type == SectionType::Inline { entry(first, b'U') } else { 0 };
            let shown = [SectionType::Block, SectionType::Array, SectionType::Varray];
            let which = COMPRESSION_CONVENTIONS.iter().position(|known| **known == *user).unwrap();
            pair = Some((shown[which], size));
            continue;
        }
        let (shown, size, is_compressed) = match pair.take() {
            Some((shown, size)) => (shown, size, true),
            None => (section_type, size, false),
        };
        let (user, data) = (user.to_vec(), layout.data);
        found.push(Section { section_type: shown, user, start, data, count, size, sizes, is_compressed });
    }
    found
}

/// A dataset of the file.
struct Found {
    name: String,
    attributes: String,
    stored: Vec<(StoredDataset, usize)>,
    start: u64,
}

/// A view of all that is in a file.
pub fn view_of(bytes: &[u8]) -> View {
    let sections = sections(bytes);
    let text = |section: &Section| bytes[section.data as usize..][..section.size as usize].to_vec();
    let mut view = View::new();
    let mut found: Vec<Found> = Vec::new();
    for (n, pair) in sections.windows(2).enumerate() {
        let [before, section] = pair else { unreachable!() };
        let described = DataSection {
            section_type: section.section_type,
            user: &section.user,
            count: section.count,
            size: section.size,
            is_compressed: section.is_compressed,
        };
        if is_metadata(before.section_type, &before.user) {
            let stored =
                StoredDataset::new(&mut parse::KnownMetadata::default(), &text(before), 0, described)
                    .unwrap();
            let (name, attributes) = (stored.dataset.name.clone(), stored.dataset.attributes.clone());
            found.push(Found { name, attributes, stored: vec![(stored, n + 1)], start: section.start });
        } else if before.user == additions::ROWS_CONVENTION {
            let (offset, _) = additions::rows_of(&section.user).unwrap();
            let to = found.iter_mut().find(|found| found.start == offset).unwrap();
            let rows = StoredDataset::of_rows(&text(before), 0, described, &to.stored[0].0).unwrap();
            to.stored.push((rows, n + 1));
        } else if before.user == GROUP_CONVENTION {
            let path = String::from_utf8(section.user.clone()).unwrap();
            let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or("/");
            view.group(path, &parse::group(&text(section)).unwrap()).unwrap();
        }
    }
    for Found { name, attributes, stored, .. } in &found {
        let part = |(stored, n): &'_ (StoredDataset, usize)| {
            let section = &sections[*n];
            match section.section_type {
                _ if section.is_compressed => Data::Text,
                SectionType::Varray => Data::Chunks(section.data, &section.sizes),
                _ => Data::Plain(section.data),
            }
            .pipe(|data| (stored.clone(), data))
        };
        let parts: Vec<(StoredDataset, Data<'_>)> = stored.iter().map(part).collect();
        let parts: Vec<Part<'_>> = parts.iter().map(|(stored, data)| Part { stored, data: *data }).collect();
        view.dataset(name, &DatasetView::new(attributes, &parts).unwrap()).unwrap();
    }
    view
}

/// A view of all that is in a file, with a group for VTK.
pub fn view_with_mesh(bytes: &[u8]) -> View {
    let mut view = view_of(bytes);
    let mut read = |offset: u64, to: &mut [u8]| {
        to.copy_from_slice(&bytes[offset as usize..][..to.len()]);
        Ok(())
    };
    view.meshes(&mut read).unwrap();
    view
}

/// A value through a function.
trait Pipe: Sized {
    fn pipe<T>(self, function: impl FnOnce(Self) -> T) -> T {
        function(self)
    }
}

impl<T> Pipe for T {}

impl TestFile {
    /// Gives the file a view of all that is in it; the bytes of the view.
    pub fn add_view(&self) -> Vec<u8> {
        let bytes = std::fs::read(&self.path).unwrap();
        self.add(view_of(&bytes))
    }

    /// Gives the file a view.
    pub fn add(&self, view: View) -> Vec<u8> {
        let bytes = std::fs::read(&self.path).unwrap();
        let written = view.write(bytes.len() as u64 + 96).unwrap();
        self.put(bytes, &written);
        written.bytes
    }

    /// Gives the file a view that refers to the one that it has, which shows what `before` has; its bytes.
    pub fn add_after(&self, view: &View, before: &View) -> u64 {
        let bytes = std::fs::read(&self.path).unwrap();
        let superblock = bytes[BASE as usize..].first_chunk().unwrap();
        let root = Superblock::of_bytes(superblock).unwrap().unwrap().root;
        let mut read = |offset: u64, to: &mut [u8]| {
            to.copy_from_slice(&bytes[offset as usize..][..to.len()]);
            Ok(())
        };
        let previous = Previous { root, read: &mut read };
        let before = before.clone().take_objects().unwrap();
        let written = view.write_after(bytes.len() as u64 + 96, &before, previous).unwrap();
        self.put(bytes.clone(), &written);
        written.bytes.len() as u64
    }

    fn put(&self, mut bytes: Vec<u8>, written: &ViewBytes) {
        put_block(&mut bytes, VIEW_CONVENTION, &written.bytes);
        // In place of an index and a seal, which take more.
        put_block(&mut bytes, b"the end", &[b' '; 512]);
        let superblock = Superblock { root: written.root, end: bytes.len() as u64 };
        bytes[BASE as usize..][..48].copy_from_slice(&superblock.to_bytes().unwrap());
        check_view(&bytes).unwrap();
        std::fs::write(&self.path, bytes).unwrap();
    }

    /// The bytes of the superblock.
    pub fn superblock(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap()[BASE as usize..][..48].to_vec()
    }

    /// The bytes of data of the last block of a view.
    pub fn bytes_of_last_view(&self) -> u64 {
        let bytes = std::fs::read(&self.path).unwrap();
        let user = bytes.windows(VIEW_CONVENTION.len()).rposition(|user| user == VIEW_CONVENTION).unwrap();
        let start = bytes[..user].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
        parse_count(bytes[start + 64..].first_chunk().unwrap(), b'E').unwrap()
    }

    /// The items of a dataset, of all records one after the other.
    pub fn items(&self, name: &str) -> Vec<u8> {
        let mut reader = Reader::open(Solo, &self.path, &ReadOptions::default()).unwrap();
        let mut all = Vec::new();
        for record in 0.. {
            let Some(dataset) = reader.dataset_record(name, record).unwrap() else { break };
            let start = all.len();
            all.resize(start + dataset.data_bytes().unwrap() as usize, 0);
            dataset.read(&mut reader, &[IndexBox::all(&dataset.shape)], &mut all[start..]).unwrap();
        }
        all
    }
}

/// Checks the view of a file.
pub fn check_view(bytes: &[u8]) -> scda::Result<ViewCounts> {
    let superblock = Superblock::of_bytes(bytes[BASE as usize..].first_chunk().unwrap())?.unwrap();
    check_root(bytes, superblock.root, &data_of(bytes))
}

/// Where the data of the sections of a file are.
pub fn data_of(bytes: &[u8]) -> Vec<(u64, u64)> {
    sections(bytes).iter().map(Section::range).collect()
}

/// Checks the view with a root group at an offset, of a file with data in these ranges.
pub fn check_root(bytes: &[u8], root: u64, data: &[(u64, u64)]) -> scda::Result<ViewCounts> {
    let mut read = |offset: u64, to: &mut [u8]| {
        to.copy_from_slice(&bytes[offset as usize..][..to.len()]);
        Ok(())
    };
    let mut is_data = |offset: u64, bytes: u64| {
        let place = data.partition_point(|(begin, _)| *begin <= offset);
        place > 0 && offset.checked_add(bytes).is_some_and(|end| end <= data[place - 1].1)
    };
    check(Previous { root, read: &mut read }, bytes.len() as u64, &mut is_data)
}

fn put_block(bytes: &mut Vec<u8>, user: &[u8], data: &[u8]) {
    use scda_format::header::put_section_header;
    use scda_format::padding::{LineBreak, MAX_DATA_PADDING, data_padding};
    let mut header = [0; 64];
    put_section_header(&mut header, SectionType::Block, user, LineBreak::Unix);
    bytes.extend_from_slice(&header);
    let entry = format!("E {} ", data.len());
    bytes.extend_from_slice(format!("{entry:-<31}\n").as_bytes());
    bytes.extend_from_slice(data);
    let mut padding = [0; MAX_DATA_PADDING];
    bytes.extend_from_slice(data_padding(
        &mut padding,
        data.len() as u64,
        data.last().copied(),
        LineBreak::Unix,
    ));
}

/// The folder of a path as text.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
