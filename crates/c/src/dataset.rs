//! The description of a dataset in C: `scda_dataset_t`.

use super::encode::{SCDA_ENCODE_ALWAYS, SCDA_ENCODE_AUTO, SCDA_ENCODE_NONE, SCDA_ENCODE_TEXT};
use super::guard;
use super::memory::{Values, utf8};
use super::pointers::Text;
use super::types::{CType, scda_member_t};
use super::versioned::{StructIn, StructOut, versioned, zeros};
use scda::bindings::convert_item;
use scda_base::error::{Error, Result};
use scda_base::memory::copy;
use scda_codec::chunk::swap_items;
use scda_format::dataset::{Codec, DataType, Dataset, Layout, MAX_DIMENSIONS};
use std::ffi::{c_char, c_int, c_void};

/// The most dimensions of a dataset.
pub const SCDA_MAX_DIMS: usize = 32;
/// The room for the name of a dataset and a NUL: a name has at most `SCDA_USER_STRING_BYTES` bytes.
pub const SCDA_NAME_BYTES: usize = 64;

/// Chunks are compressed by Zstandard after a byte shuffle, in frames of Blosc: fast, and small. The default.
pub const SCDA_CODEC_ZSTD: c_int = 0;
/// Chunks are compressed by LZ4 after a byte shuffle, in frames of Blosc: faster, and a little larger. For disks that are
/// faster than Zstandard.
pub const SCDA_CODEC_LZ4: c_int = 1;
/// Chunks are files of Pcodec: integers of 16 to 64 bits and floating-point numbers get smallest. Other types are compressed as by
/// `SCDA_CODEC_ZSTD`, by default with level 9. For archives.
pub const SCDA_CODEC_PCODEC: c_int = 2;
/// Chunks are zlib streams (RFC 1950) after a byte shuffle: for readers that have zlib and nothing else.
pub const SCDA_CODEC_ZLIB: c_int = 3;

/// What a dataset is: a named array of numbers, of 0 to `SCDA_MAX_DIMS` dimensions. Fill it by
/// `scda_dataset_init`, then set what you need: at least `name`, `type`, `ndims` and `shape`. When
/// writing, what it points to is used only during the call. When reading, it belongs to the file, and is valid
/// until the next call of a function that sets such a struct or attributes, or until the file is closed. All else of the struct stays valid
/// until then: the functions that read a dataset take the struct in which `scda_ffind_dataset` has put it, or a copy.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct scda_dataset<'a> {
    /// The size of this struct in bytes, as `scda_dataset_init` sets it. Needed for reading, too. It may be that of an older or
    /// newer version; all of a call have the same one.
    pub size: usize,
    /// The name: a C string of 1 to 58 bytes of UTF-8, with a slash between the names of groups and its
    /// own.
    pub name: [c_char; SCDA_NAME_BYTES],
    /// The type of the items: `SCDA_TYPE_FLOAT64`, ...
    pub r#type: c_int,
    /// The number of dimensions; 0 (default) for a single item.
    pub ndims: c_int,
    /// The bytes of an item. Writing: needed for `SCDA_TYPE_RAW`, `SCDA_TYPE_TEXT`, `SCDA_TYPE_BYTES`, and `SCDA_TYPE_STRUCT`, whose
    /// `sizeof` it is; of other types it may be 0 (default). Reading: those in the file; 0 if each
    /// item has its own.
    pub item_bytes: u64,
    /// The number of indices in each dimension, the one that varies fastest last. What follows `ndims`
    /// numbers is ignored, and 0 after reading.
    pub shape: [u64; SCDA_MAX_DIMS],
    /// The shape of a chunk. Writing: 0 in all dimensions (default): the library chooses by type and shape.
    /// 0 also for `SCDA_ENCODE_NONE`.
    pub chunk: [u64; SCDA_MAX_DIMS],
    /// Whether to compress: `SCDA_ENCODE_NONE` (default), `SCDA_ENCODE_ALWAYS`, `SCDA_ENCODE_AUTO` or
    /// `SCDA_ENCODE_TEXT`.
    pub encode: c_int,
    /// How chunks are compressed: `SCDA_CODEC_ZSTD` (default), `SCDA_CODEC_LZ4`, `SCDA_CODEC_PCODEC` or
    /// `SCDA_CODEC_ZLIB`. Text has zlib streams, whatever stands here.
    pub codec: c_int,
    /// The level of compression of chunks, 0 to 9; 0 does not compress, but for Pcodec. -1 (default): 1 for Zstandard and LZ4, 8 for Pcodec, that of
    /// `scda_params_t` for zlib and text; after reading: not known.
    pub level: c_int,
    /// 1 (default): the bytes of the items of a chunk are sorted before compression, which makes most
    /// numbers smaller: the first bytes of all items, then the second ones, and so on. 0: they are not.
    pub shuffle: c_int,
    /// Writing: 1: these are rows that are added to the last dataset of this name in the file, after its own; 0 (default): a dataset. A row is all
    /// items with one index of the first dimension. `shape` is that of the added rows alone, whose indices begin at 0. Layout, codec and level
    /// may be others; `type`, `fill_value` and the rest of `shape` are those of the dataset, and no larger error is allowed. `dimension_names`
    /// and `attributes` are ignored. The file must be a sealed one; readers find all rows as one array, with the next seal. Reading: 0.
    pub extends: c_int,
    /// Writing: how far a number may be from the one that is written, as a part of it: 0 (default: all numbers stay) to less than 1.
    /// Floating-point and complex numbers in chunks get as many zeros at the end of their bits as this allows, before they are
    /// compressed; the fill value, infinities and NaN stay. `SCDA_ENCODE_AUTO` may find that plain data are smaller: these stay. An attribute
    /// of this name with `scda_` before it tells readers. Reading: 0.
    pub max_relative_error: f64,
    /// Likewise how far at most. With `max_relative_error`, both hold.
    pub max_absolute_error: f64,
    /// NULL (default), or a name for each of `ndims` dimensions, NULL for one without a name. C strings in
    /// UTF-8.
    pub dimension_names: Values<'a, *const c_char>,
    /// The item that stands where nothing was written, `item_bytes` bytes in the machine's byte order. NULL
    /// (default): all of its bytes are 0. Of `SCDA_TYPE_STRING` and `SCDA_TYPE_VARIABLE_BYTES` it is a C string. After reading it is aligned for its type, and never NULL.
    pub fill_value: Values<'a, c_void>,
    /// What else is known of the dataset, such as its units: a JSON object. NULL (default): none. After
    /// reading it is never NULL, and has no white space between its parts.
    pub attributes: Text<'a>,
    /// After reading: NULL, or what keeps this library from reading the data, such as a codec that it does
    /// not have: `scda_fread_dataset` is then an error, and all else is known. Writing: ignored.
    pub unsupported: Text<'a>,
    /// The unit of `SCDA_TYPE_DATETIME64` and `SCDA_TYPE_TIMEDELTA64`: `Y`, `M`, `W`, `D`, `h`, `m`, `s`, `ms`, `us`, `ns`, `ps`, `fs`,
    /// `as`, or `generic` for none, with a number before it if it is several, such as `10us`. NULL (default) for other types.
    /// After reading, it is valid until the file is closed.
    pub unit: Text<'a>,
    /// The members of `SCDA_TYPE_STRUCT`, a list that ends with one whose name is NULL. NULL (default) for other types. After reading it
    /// describes the struct in the file, and is valid until that is closed.
    pub members: Values<'a, scda_member_t<'a>>,
    /// After `scda_ffind_dataset`: which dataset of the file it is, for `scda_fread_dataset` and others. Writing: ignored.
    pub number: u64,
}

/// What a dataset is.
pub type scda_dataset_t<'a> = scda_dataset<'a>;

versioned!(scda_dataset_t<'_>, "dataset", "scda_dataset_init", empty(), number: u64);

/// Fills the description of a dataset of a program that knows its first `size` bytes with the defaults: what
/// `scda_dataset_init` calls.
///
/// Not collective.
///
/// @param [out] d    The description of a dataset. Must not be NULL.
/// @param [in] size  The size of `*d` where the program was compiled, which it gets as its `size`.
/// @return           0, or a negative value for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_dataset_init_size(d: StructOut<'_, scda_dataset_t>, size: usize) -> c_int {
    guard(None, -1, || d.init(size))
}

pub(super) fn empty<'a>() -> scda_dataset_t<'a> {
    scda_dataset_t { encode: SCDA_ENCODE_NONE, codec: SCDA_CODEC_ZSTD, level: -1, shuffle: 1, ..zeros() }
}

const CODECS: [(c_int, Codec); 4] = [
    (SCDA_CODEC_ZSTD, Codec::Zstd),
    (SCDA_CODEC_LZ4, Codec::Lz4),
    (SCDA_CODEC_PCODEC, Codec::Pcodec),
    (SCDA_CODEC_ZLIB, Codec::Zlib),
];

/// A dataset that C describes, and the type of its items in memory, where structs may have gaps.
pub(super) struct InMemory {
    pub dataset: Dataset,
    pub data_type: DataType,
}

/// The dataset at a pointer. Whether there can be such a dataset is not looked at.
pub(super) fn read_dataset(d: StructIn<'_, scda_dataset_t<'_>>) -> Result<InMemory> {
    of_c(&d.read()?)
}

/// The dataset that C describes.
pub(super) fn of_c(c: &scda_dataset_t<'_>) -> Result<InMemory> {
    let InMemory { mut dataset, data_type } = array(c)?;
    let dimensions = dataset.shape.len();
    dataset.layout = layout(c.encode, &c.chunk[..dimensions])?;
    let codec = CODECS.iter().find(|(code, _)| *code == c.codec);
    dataset.codec = codec.map(|(_, codec)| *codec).ok_or_else(|| {
        Error::argument(format!(
            "codec: found {}, expected SCDA_CODEC_ZSTD, SCDA_CODEC_LZ4, SCDA_CODEC_PCODEC or SCDA_CODEC_ZLIB",
            c.codec
        ))
    })?;
    dataset.level = match c.level {
        -1 => None,
        level => Some(u32::try_from(level).map_err(|_| {
            Error::argument(format!("level of a dataset: found {level}, expected -1 or 0 to 9"))
        })?),
    };
    dataset.shuffle = match c.shuffle {
        0 => false,
        1 => true,
        other => return Err(Error::argument(format!("shuffle: found {other}, expected 0 or 1"))),
    };
    dataset.extends = match c.extends {
        0 => false,
        1 => true,
        other => return Err(Error::argument(format!("extends: found {other}, expected 0 or 1"))),
    };
    dataset.max_relative_error = c.max_relative_error;
    dataset.max_absolute_error = c.max_absolute_error;
    for &name in c.dimension_names.optional(dimensions as u64, "dimension_names")?.unwrap_or_default() {
        // SAFETY: C passes C strings or NULL.
        let name = unsafe { Text::at(name) }.optional();
        let name = name.map(|name| utf8(name.to_bytes(), "dimension name")).transpose()?;
        dataset.dimension_names.push(name.map(str::to_owned));
    }
    if !c.fill_value.is_null() {
        let bytes = if data_type.is_variable() {
            // SAFETY: of such a type, C passes a C string.
            unsafe { Text::at(c.fill_value.pointer().cast()) }.get("fill_value")?.to_bytes().len() as u64
        } else if data_type.is_valid() {
            data_type.item_bytes()
        } else {
            0
        };
        let item = c.fill_value.bytes(bytes)?;
        dataset.fill_value = match data_type == dataset.data_type {
            true => copy(item)?,
            // Without the gaps.
            false => convert_item(item, data_type, dataset.data_type)?,
        };
        if cfg!(target_endian = "big") {
            swap_items(&mut dataset.fill_value, dataset.data_type);
        }
    }
    if !c.attributes.is_null() {
        dataset.attributes = json(c.attributes)?;
    }
    Ok(InMemory { dataset, data_type })
}

/// The name, the type and the shape.
pub(super) fn array(c: &scda_dataset_t<'_>) -> Result<InMemory> {
    let name = c.name.map(|character| u8::from_ne_bytes(character.to_ne_bytes()));
    let Some(end) = name.iter().position(|&byte| byte == 0) else {
        return Err(Error::argument(format!(
            "name of a dataset: no NUL ends it within {SCDA_NAME_BYTES} bytes"
        )));
    };
    let name = utf8(&name[..end], "name of a dataset")?;
    let dimensions = usize::try_from(c.ndims).ok().filter(|&n| n <= MAX_DIMENSIONS);
    let Some(dimensions) = dimensions else {
        return Err(Error::argument(format!("ndims: found {}, expected 0 to {MAX_DIMENSIONS}", c.ndims)));
    };
    let described = CType { code: c.r#type, item_bytes: c.item_bytes, unit: c.unit, members: c.members };
    let data_type = described.data_type()?;
    Ok(InMemory { dataset: Dataset::new(name, data_type.in_file()?, &c.shape[..dimensions]), data_type })
}

/// Attributes.
pub(super) fn json(attributes: Text<'_>) -> Result<String> {
    let text = attributes.utf8("attributes")?;
    let mut owned = String::new();
    owned.try_reserve(text.len()).map_err(|_| Error::memory(text.len()))?;
    owned.push_str(text);
    Ok(owned)
}

/// The layout that `encode` asks for, with chunks of this shape; zeros are the choice of the library.
pub(super) fn layout(code: c_int, chunk: &[u64]) -> Result<Layout> {
    let is_given = chunk.iter().any(|&n| n != 0);
    let shape = is_given.then(|| chunk.to_vec());
    match code {
        SCDA_ENCODE_NONE if is_given => Err(Error::argument(format!(
            "chunk: found {chunk:?}, expected 0 in all dimensions for SCDA_ENCODE_NONE"
        ))),
        SCDA_ENCODE_NONE => Ok(Layout::Contiguous),
        SCDA_ENCODE_ALWAYS => Ok(Layout::Chunked { shape, text: false }),
        SCDA_ENCODE_TEXT => Ok(Layout::Chunked { shape, text: true }),
        SCDA_ENCODE_AUTO => Ok(Layout::Auto { shape }),
        other => Err(Error::argument(format!(
            "encode: found {other}, expected SCDA_ENCODE_NONE, SCDA_ENCODE_ALWAYS, SCDA_ENCODE_AUTO or SCDA_ENCODE_TEXT"
        ))),
    }
}

/// Puts a name where C has room for one.
pub(super) fn put_name(room: &mut [c_char; SCDA_NAME_BYTES], name: &[u8]) {
    for (to, &from) in room.iter_mut().zip(name.iter().take(SCDA_NAME_BYTES - 1)) {
        *to = c_char::from_ne_bytes([from]);
    }
}

/// Puts the shape where C has room for it: the type, the bytes of an item, and the number of dimensions.
pub(super) fn put_type(dataset: &Dataset, shape: &mut [u64; SCDA_MAX_DIMS]) -> (c_int, u64, c_int) {
    let Dataset { data_type, shape: own, .. } = dataset;
    shape.iter_mut().zip(own).for_each(|(to, from)| *to = *from);
    let item_bytes = if data_type.is_variable() { 0 } else { data_type.item_bytes() };
    (data_type.code(), item_bytes, c_int::try_from(own.len()).unwrap_or(0))
}

/// The dataset as C has it, without what it points to.
pub(super) fn without_pointers<'a>(dataset: &Dataset) -> scda_dataset_t<'a> {
    let mut c = empty();
    put_name(&mut c.name, dataset.name.as_bytes());
    (c.r#type, c.item_bytes, c.ndims) = put_type(dataset, &mut c.shape);
    c.encode = match dataset.layout {
        Layout::Contiguous => SCDA_ENCODE_NONE,
        Layout::Chunked { text: false, .. } => SCDA_ENCODE_ALWAYS,
        Layout::Chunked { text: true, .. } => SCDA_ENCODE_TEXT,
        Layout::Auto { .. } => SCDA_ENCODE_AUTO,
    };
    if dataset.layout != Layout::Contiguous {
        c.chunk.iter_mut().zip(dataset.chunk_shape()).for_each(|(to, from)| *to = from);
    }
    let codec = CODECS.iter().find(|(_, codec)| *codec == dataset.codec);
    c.codec = codec.map_or(SCDA_CODEC_ZSTD, |(code, _)| *code);
    c.level = dataset.level.and_then(|level| level.try_into().ok()).unwrap_or(-1);
    c.shuffle = c_int::from(dataset.shuffle);
    c
}

/// The fill value as words, whose bytes are those of an item in the machine's byte order.
pub(super) fn fill_words(dataset: &Dataset) -> Vec<u64> {
    let mut item = dataset.fill_item().into_owned();
    if cfg!(target_endian = "big") {
        swap_items(&mut item, dataset.data_type);
    }
    // Those of variable length are C strings.
    let bytes = if dataset.data_type.is_variable() { item.len() + 1 } else { item.len() };
    item.resize(bytes.next_multiple_of(8), 0);
    item.as_chunks::<8>().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_those_of_the_rust_api() {
        assert_eq!(SCDA_MAX_DIMS, MAX_DIMENSIONS);
        const { assert!(SCDA_NAME_BYTES > scda_format::USER_STRING_BYTES) };
    }

    #[test]
    fn a_dataset_there_and_back() {
        let mut dataset = Dataset::new("a/b", DataType::Complex64, [3, 4]);
        dataset.layout = Layout::Chunked { shape: Some(vec![2, 1]), text: true };
        dataset.level = Some(7);
        dataset.codec = Codec::Pcodec;
        dataset.shuffle = false;
        let c = without_pointers(&dataset);
        assert_eq!(of_c(&c).unwrap().dataset, dataset);
        dataset.fill_value = (1..=8).collect();
        let mut expected = [1.0_f32; 2].map(f32::to_ne_bytes).concat();
        expected.copy_from_slice(&if cfg!(target_endian = "big") {
            [4, 3, 2, 1, 8, 7, 6, 5]
        } else {
            [1, 2, 3, 4, 5, 6, 7, 8]
        });
        assert_eq!(fill_words(&dataset)[0].to_ne_bytes(), *expected);
        assert_eq!(fill_words(&Dataset::new("a", DataType::Raw(9), [])).len(), 2);
    }
}
