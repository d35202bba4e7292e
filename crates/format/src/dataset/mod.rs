//! Datasets: named and typed arrays of any number of dimensions (docs/datasets.md). What their metadata mean,
//! and the byte order of their items.

pub mod additions;
pub mod bools;
pub mod codecs;
mod data_type;
pub mod fill;
mod grid;
mod index_box;
pub mod json;
pub mod metadata;
pub mod parse;
pub mod rounding;
pub mod stored_dataset;
mod structs;
mod time;
mod type_json;

pub use codecs::Codec;
pub use data_type::{DataType, Kind};
pub use grid::{ChunkGrid, Visits, default_chunk_shape};
pub use index_box::{CommonRun, IndexBox, Runs, items, too_many};
pub use json::MAX_METADATA_BYTES;
pub use structs::{Member, Struct};
pub use time::TimeUnit;
pub use type_json::{of_metadata as type_of_json, to_json as type_to_json, type_of_text, type_text};

use super::crc;
use super::header::UserString;
use super::layout::{product, sum};
use super::{COMPRESSION_CONVENTIONS, INLINE_BYTES, MAX_LEVEL, USER_STRING_BYTES};
use scda_base::error::{Error, Result};
use scda_base::memory::reserve;
use scda_base::numbers::to_usize;
use std::borrow::Cow;

/// The user string of the block of metadata before the data of a dataset.
pub const DATASET_CONVENTION: &[u8] = b"scda dataset 00";
/// The user string of the inline section before the block of attributes of a group.
pub const GROUP_CONVENTION: &[u8] = b"scda group 00";
/// The data of that section, which tell a person what follows.
pub const GROUP_DATA: &[u8; INLINE_BYTES] = b"Below: attributes of this group\n";
/// The prefix of the user strings of this library's own sections.
const RESERVED_PREFIX: &str = "scda ";

/// The most bytes of a chunk, also of an encoded one with items of variable length: the limit of numcodecs.
pub const MAX_CHUNK_BYTES: u64 = (1 << 31) - 1;
/// The most dimensions of a dataset.
pub const MAX_DIMENSIONS: usize = 32;

/// How the data of a dataset lie in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Plain, in C order: an array section with an element for each index of the first dimension.
    #[default]
    Contiguous,
    /// In chunks, compressed by the codec, if chunks and metadata together are smaller than contiguous data
    /// with theirs; else contiguous. Only the data decide: those of all chunks, or of 32 of them if these do
    /// not get smaller.
    Auto {
        /// The shape of a chunk; `None`: derived from the shape and the type of the dataset.
        shape: Option<Vec<u64>>,
    },
    /// In chunks, each compressed separately.
    Chunked {
        /// The shape of a chunk; `None`: derived from the shape and the type of the dataset.
        shape: Option<Vec<u64>>,
        /// As text, by the compression convention of the format, instead of by the codec: a third larger, but
        /// any reader of the format can decompress it.
        text: bool,
    },
}

/// The description of a dataset: everything but its data.
///
/// ```
/// use scda::{DataType, Dataset};
/// let mut density = Dataset::new("flow/density", DataType::Float64, [64, 32]);
/// density.attributes = r#"{"units": "kg m-3"}"#.into();
/// density.dimension_names = vec![Some("y".into()), Some("x".into())];
/// assert_eq!(density.data_bytes()?, 64 * 32 * 8);
/// # Ok::<(), scda::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Dataset {
    /// The name, up to 58 bytes. A slash separates the names of groups from one another and from the
    /// dataset's own.
    pub name: String,
    /// The type of each item.
    pub data_type: DataType,
    /// The number of indices in each dimension; none for a single item.
    pub shape: Vec<u64>,
    /// How the data lie in the file.
    pub layout: Layout,
    /// The codec of chunks, unless they are text.
    pub codec: Codec,
    /// The compression level of chunks, 0 to 9; `None`: the level of the file's parameters, or of the codec.
    pub level: Option<u32>,
    /// Whether the bytes of the items of a chunk are reordered before compression: the first bytes of all
    /// items, then the second ones, and so on. Most numbers then compress better.
    pub shuffle: bool,
    /// How far a number may deviate from the one that was written, relative to it: 0 to less than 1. Before
    /// compression, floating-point numbers in chunks, and both parts of complex ones, get as many trailing
    /// zero bits as this allows. The fill value, infinities and NaN stay. 0: all numbers stay. The attribute
    /// `scda_max_relative_error` tells readers; this member is 0 when reading.
    pub max_relative_error: f64,
    /// The same as an absolute bound; if both are set, both hold. Its attribute is `scda_max_absolute_error`.
    pub max_absolute_error: f64,
    /// The value of items that were not written, in little-endian byte order. Empty: all bytes are 0.
    pub fill_value: Vec<u8>,
    /// A name for each dimension that has one; empty if none has.
    pub dimension_names: Vec<Option<String>>,
    /// What else is known of the dataset, such as its units: a JSON object.
    pub attributes: String,
    /// Whether these are rows to be added to the last dataset of this name in the sealed file, after its own.
    /// A row is all items with the same index in the first dimension. `shape` then describes the new rows
    /// alone, and their indices begin at row 0. Layout, codec and level may differ from the dataset's; type,
    /// fill value and the other dimensions must be the same, and no larger error is allowed. Names of
    /// dimensions and attributes are ignored. False when reading.
    pub extends: bool,
    /// For a dataset that was read: why this library cannot read its data, such as an unknown codec. Ignored
    /// when writing.
    pub unsupported: Option<String>,
}

impl Dataset {
    /// A contiguous dataset with a fill value of zeros and without attributes.
    #[must_use]
    pub fn new(name: impl Into<String>, data_type: DataType, shape: impl Into<Vec<u64>>) -> Self {
        Self {
            name: name.into(),
            data_type,
            shape: shape.into(),
            layout: Layout::Contiguous,
            codec: Codec::default(),
            level: None,
            shuffle: true,
            max_relative_error: 0.0,
            max_absolute_error: 0.0,
            fill_value: Vec::new(),
            dimension_names: Vec::new(),
            attributes: "{}".into(),
            extends: false,
            unsupported: None,
        }
    }

    /// How messages call the dataset.
    pub fn title(&self) -> String {
        let Self { name, extends, .. } = self;
        let added = additions::addition(name.as_bytes()).filter(|_| *extends);
        added.unwrap_or_else(|| format!("{}dataset \"{name}\"", if *extends { "rows of the " } else { "" }))
    }

    /// Returns an error unless this box lies in the array. The message names the dataset and the number of
    /// the box.
    ///
    /// # Errors
    /// The errors of [`IndexBox::check`].
    pub fn check_region(&self, number: usize, region: &IndexBox) -> Result<()> {
        region.check(&self.shape, || format!("{}: box {number}", self.title()))
    }

    /// Where each box begins, in bytes, if they follow one another, and where the last one ends.
    ///
    /// # Errors
    /// `Argument` for boxes outside the array; `Range`; `Memory`.
    pub fn starts_of(&self, regions: &[IndexBox]) -> Result<Vec<u64>> {
        let (mut starts, mut end) = (Vec::new(), 0);
        reserve(&mut starts, regions.len() + 1)?;
        starts.push(end);
        for (number, region) in regions.iter().enumerate() {
            self.check_region(number, region)?;
            let bytes = product(region.items()?, self.data_type.item_bytes());
            let bytes = bytes.and_then(|bytes| sum(end, bytes));
            end = bytes.ok_or_else(|| Error::range("boxes: the number of bytes exceeds 63 bits"))?;
            starts.push(end);
        }
        Ok(starts)
    }

    /// Returns an error if each item has a length of its own.
    ///
    /// # Errors
    /// `Argument`.
    pub fn require_fixed(&self) -> Result<()> {
        if !self.data_type.is_variable() {
            return Ok(());
        }
        Err(Error::argument(format!(
            "{}: items of variable length ({}) are written and read as texts: by texts and read_texts, in C and \
             Fortran by scda_fwrite_texts and scda_fread_texts_sizes",
            self.title(),
            self.data_type
        )))
    }

    /// The bytes of all items; for items of variable length, the bytes of their lengths.
    ///
    /// # Errors
    /// `Range` if they exceed 63 bits.
    pub fn data_bytes(&self) -> Result<u64> {
        let items = index_box::items(&self.shape);
        let bytes = items.and_then(|items| product(items, self.data_type.item_bytes()));
        bytes.ok_or_else(|| index_box::too_many("shape", &self.shape))
    }

    /// The shape of the chunks. A contiguous dataset counts as one chunk of its own shape, with 1 in place of
    /// 0.
    #[must_use]
    pub fn chunk_shape(&self) -> Vec<u64> {
        match &self.layout {
            Layout::Chunked { shape: Some(chunk), .. } | Layout::Auto { shape: Some(chunk) } => chunk.clone(),
            Layout::Chunked { shape: None, .. } | Layout::Auto { shape: None } => {
                default_chunk_shape(&self.shape, self.data_type.item_bytes())
            }
            Layout::Contiguous => self.shape.iter().map(|&n| n.max(1)).collect(),
        }
    }

    /// How the dataset is cut into chunks.
    ///
    /// # Errors
    /// `Argument`, `Range`: the errors of [`ChunkGrid::new`].
    pub fn grid(&self) -> Result<ChunkGrid> {
        ChunkGrid::new(&self.shape, &self.chunk_shape(), self.data_type.item_bytes())
    }

    /// Returns an error unless the dataset can have its name. For rows, the name is not checked.
    ///
    /// # Errors
    /// The errors of [`check_name`].
    pub fn check_own_name(&self) -> Result<()> {
        if self.extends { Ok(()) } else { check_name(&self.name) }
    }

    /// The user string of the block with the metadata.
    pub fn convention(&self) -> &'static [u8] {
        if self.extends { additions::ROWS_CONVENTION } else { DATASET_CONVENTION }
    }

    /// The elements of the array section of a contiguous dataset: their number, and the bytes of each.
    ///
    /// # Errors
    /// `Range` if the bytes of an element exceed 63 bits.
    pub fn rows(&self) -> Result<(u64, u64)> {
        let rows = self.shape.first().copied().unwrap_or(1);
        let inner = self.shape.get(1..).unwrap_or_default();
        let bytes = index_box::items(inner).and_then(|n| product(n, self.data_type.item_bytes()));
        Ok((rows, bytes.ok_or_else(|| index_box::too_many("shape", &self.shape))?))
    }

    /// The fill value as an item in little-endian byte order: zeros if none is set. For variable length, the
    /// bytes of the fill value, perhaps none.
    #[must_use]
    pub fn fill_item(&self) -> Cow<'_, [u8]> {
        if self.fill_value.is_empty() && !self.data_type.is_variable() {
            return vec![0; to_usize(self.data_type.item_bytes())].into();
        }
        self.fill_value.as_slice().into()
    }

    /// Returns an error unless a dataset can be like this. Does not look at the text of the attributes.
    ///
    /// # Errors
    /// `Argument`, `Range`.
    pub fn validate(&self) -> Result<()> {
        self.check_own_name()?;
        if !self.data_type.is_valid() {
            return Err(Error::argument(format!(
                "data type: found {}, expected 1 to {} bytes",
                self.data_type,
                DataType::MAX_RAW_BYTES
            )));
        }
        if self.shape.len() > MAX_DIMENSIONS {
            return Err(Error::argument(format!(
                "shape: found {} dimensions, expected at most {MAX_DIMENSIONS}",
                self.shape.len()
            )));
        }
        let names = self.dimension_names.len();
        if names != 0 && names != self.shape.len() {
            return Err(Error::argument(format!(
                "dimension names: found {names}, expected none or {}",
                self.shape.len()
            )));
        }
        let (fill, item) = (self.fill_value.len() as u64, self.data_type.item_bytes());
        if self.data_type.is_variable() {
            let is_text = std::str::from_utf8(&self.fill_value).is_ok();
            if fill > u64::from(DataType::MAX_RAW_BYTES) || self.data_type == DataType::String && !is_text {
                return Err(Error::argument("fill value: found text that is not UTF-8, or too many bytes"));
            }
        } else if fill != 0 && fill != item {
            return Err(Error::argument(format!("fill value: found {fill} bytes, expected none or {item}")));
        }
        if fill != 0 && bools::find_other_item(self.data_type, &self.fill_value).is_some() {
            return Err(Error::argument("fill value: found a bool that is neither 0 nor 1"));
        }
        if matches!(self.data_type, DataType::Text(_)) && fill::text_of(&self.fill_value).is_none() {
            return Err(Error::argument("fill value: found text that is not UTF-32"));
        }
        if self.data_type.in_file()? != self.data_type {
            let found = self.data_type;
            return Err(Error::argument(format!("data type: {found} has gaps, which a file cannot have")));
        }
        if let Some(level) = self.level.filter(|level| *level > MAX_LEVEL) {
            return Err(Error::argument(format!("level: found {level}, expected 0 to {MAX_LEVEL}")));
        }
        rounding::check(self)?;
        let grid = self.grid()?;
        if self.layout != Layout::Contiguous { check_chunk_bytes(&grid) } else { Ok(()) }
    }
}

/// Returns an error unless any reader can decompress a chunk in memory.
fn check_chunk_bytes(grid: &ChunkGrid) -> Result<()> {
    let bytes = grid.chunk_bytes();
    if bytes <= MAX_CHUNK_BYTES {
        return Ok(());
    }
    Err(Error::range(format!("chunk: found {bytes} bytes, expected at most {MAX_CHUNK_BYTES}")))
}

/// The bytes of `~` and the CRC, which replace the end of a long name.
const SHORTENED_BYTES: usize = 17;

/// A name or path without the slash with which paths begin in other formats: no name of a dataset or group
/// begins with one.
#[must_use]
pub fn without_root(name: &str) -> &str {
    name.strip_prefix('/').filter(|rest| !rest.is_empty() && !rest.starts_with('/')).unwrap_or(name)
}

/// The user string of a dataset with this name: the name itself or, if it is too long, its beginning, `~`,
/// and its CRC-64.
#[must_use]
pub fn stored_name(name: &str) -> Cow<'_, str> {
    shortened(name, USER_STRING_BYTES)
}

/// Likewise for the path of a group, which is followed by a slash in the user string.
#[must_use]
pub fn stored_path(path: &str) -> Cow<'_, str> {
    shortened(path, USER_STRING_BYTES - 1)
}

fn shortened(name: &str, most: usize) -> Cow<'_, str> {
    if name.len() <= most {
        return Cow::Borrowed(name);
    }
    let ends = name.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|&end| end <= most - SHORTENED_BYTES).last().unwrap_or(0);
    Cow::Owned(format!("{}~{:016x}", &name[..end], crc::extend(0, name.as_bytes())))
}

/// Returns an error unless a dataset can have this name.
///
/// # Errors
/// `Argument`.
pub fn check_name(name: &str) -> Result<()> {
    check(name, "name of a dataset")
}

/// The same, with the messages calling the name `what`.
fn check(name: &str, what: &str) -> Result<()> {
    let wrong = |found: &str| Err(Error::argument(format!("{what}: found {found}")));
    let bytes = name.len();
    if !(1..=USER_STRING_BYTES).contains(&bytes) {
        return wrong(&format!("{bytes} bytes, expected 1 to {USER_STRING_BYTES}"));
    }
    if name.split('/').any(str::is_empty) {
        return wrong(&format!("\"{name}\", expected no slash at either end and no double slash"));
    }
    if name.chars().any(char::is_control) {
        return wrong(&format!("{name:?}, expected no control characters"));
    }
    if name.starts_with(RESERVED_PREFIX) || COMPRESSION_CONVENTIONS.contains(&name.as_bytes()) {
        return wrong(&format!("\"{name}\", which is reserved"));
    }
    Ok(())
}

/// A group of datasets: a common prefix of their names. All datasets of a file are in the group `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Group {
    /// `/` for the file itself; else the prefix of the names in the group, without the slash that follows it.
    pub path: String,
    /// What is known of the group: a JSON object.
    pub attributes: String,
}

impl Group {
    /// A group with these attributes, a JSON object.
    #[must_use]
    pub fn new(path: impl Into<String>, attributes: impl Into<String>) -> Self {
        Self { path: path.into(), attributes: attributes.into() }
    }
}

/// The user string of the block with the attributes of a group.
///
/// # Errors
/// `Argument` if the path is neither `/` nor the name of a dataset of fewer than 58 bytes.
pub fn group_user(path: &str) -> Result<String> {
    if path == "/" {
        return Ok(path.into());
    }
    check(path, "path of a group")?;
    let user = format!("{path}/");
    UserString::check(user.as_bytes()).map(|()| user)
}

/// The path of the group whose attributes are in a block with this user string.
pub fn group_of(user: &[u8]) -> Option<String> {
    let user = std::str::from_utf8(user).ok()?;
    let path = if user == "/" { user } else { user.strip_suffix('/')? };
    group_user(path).ok().filter(|again| again == user).map(|_| path.to_owned())
}

/// The path of the group that a name means, where the name may be a dataset's or a group's: a group ends with
/// a slash, or is "/". `None` for a dataset.
#[must_use]
pub fn named_group(name: &str) -> Option<&str> {
    if name == "/" { Some(name) } else { name.strip_suffix('/').filter(|path| *path != "/") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scda_base::error::ErrorKind;

    #[test]
    fn paths_of_groups() {
        let longest = "x".repeat(57);
        for (path, user) in [("/", "/"), ("a", "a/"), ("a/b", "a/b/"), (&longest, &(longest.clone() + "/"))] {
            assert_eq!(group_user(path).unwrap(), user);
            assert_eq!(group_of(user.as_bytes()).unwrap(), path);
        }
        for path in ["", "a/", "/a", "//", "scda group 00", &"x".repeat(58)] {
            let error = group_user(path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument, "{path}");
            assert!(!error.to_string().contains("dataset"), "{error}");
        }
        for user in [&b"a"[..], b"", b"//", b"/a/", b"\xff/", b"a\n/"] {
            assert_eq!(group_of(user), None);
        }
    }

    #[test]
    fn long_names_end_in_their_checksum() {
        let longest = "x".repeat(58);
        assert_eq!(stored_name(&longest), longest);
        assert_eq!(stored_path(&longest), format!("{}~27a745967f0d2d70", "x".repeat(40)));
        let long = "é".repeat(30);
        assert_eq!(
            stored_name(&long),
            format!("{}~{:016x}", "é".repeat(20), crc::extend(0, long.as_bytes()))
        );
        for name in [long, "group/".repeat(20) + "u"] {
            check_name(&stored_name(&name)).unwrap();
            group_user(&stored_path(&name)).unwrap();
        }
    }

    #[test]
    fn names() {
        for name in ["rho", "a/b/c", "Temperatur in °C", " ", "scda", "0", &"é".repeat(29)] {
            check_name(name).unwrap();
        }
        for name in [
            "",
            "/",
            "/a",
            "a/",
            "a//b",
            "a\0",
            "a\nb",
            "a\u{85}",
            "scda dataset 00",
            "scda group 00",
            "scda index 00",
            "scda seal 00",
            "scda anchors 00",
            "scda names 00",
            "A compressed scda 00",
            "B compressed scda 00",
            "V compressed scda 00",
            &"é".repeat(30),
        ] {
            assert_eq!(check_name(name).unwrap_err().kind(), ErrorKind::Argument, "{name:?}");
        }
    }

    #[test]
    fn what_cannot_be_a_dataset_is_an_error() {
        let good = Dataset::new("a", DataType::Float32, [2, 3]);
        good.validate().unwrap();
        assert_eq!(good.rows().unwrap(), (2, 12));
        assert_eq!(Dataset::new("a", DataType::Float32, []).rows().unwrap(), (1, 4));
        assert_eq!(*good.fill_item(), [0; 4]);
        type Change = fn(&mut Dataset);
        let changes: [(&str, Change); 9] = [
            ("name", |d| d.name = "/".into()),
            ("raw of no bytes", |d| d.data_type = DataType::Raw(0)),
            ("dimensions", |d| d.shape = vec![1; 33]),
            ("dimension names", |d| d.dimension_names = vec![None]),
            ("fill value", |d| d.fill_value = vec![0; 3]),
            ("bool", |d| (d.data_type, d.fill_value) = (DataType::Bool, vec![2])),
            ("level", |d| d.level = Some(10)),
            ("chunk", |d| d.layout = Layout::Chunked { shape: Some(vec![1]), text: false }),
            ("no chunk", |d| d.layout = Layout::Chunked { shape: Some(vec![1, 0]), text: true }),
        ];
        for (what, change) in changes {
            let mut dataset = good.clone();
            change(&mut dataset);
            assert_eq!(dataset.validate().unwrap_err().kind(), ErrorKind::Argument, "{what}");
        }
        let huge = Dataset::new("a", DataType::Float64, [1 << 30, 1 << 30]);
        assert_eq!(huge.validate().unwrap_err().kind(), ErrorKind::Range);
        assert_eq!(huge.data_bytes().unwrap_err().kind(), ErrorKind::Range);
    }
}
