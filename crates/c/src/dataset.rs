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
/// The size of a dataset's name with a NUL: a name has at most `SCDA_USER_STRING_BYTES` bytes.
pub const SCDA_NAME_BYTES: usize = 64;

// The constants `SCDA_CODEC_ZSTD` and so on come from the table in `crates/format/src/dataset/codecs.rs`.

/// The description of a dataset: a named array of 0 to `SCDA_MAX_DIMS` dimensions. Fill it by
/// `scda_dataset_init`, then set what you need, at least `name`, `type`, `ndims` and `shape`. In writing,
/// what it points to is used only during the call. In reading, it belongs to the file, and is valid until the
/// file is closed. Equal texts and values are kept once: memory grows only with those that differ, such as
/// attributes with the time of each record. The functions that read a dataset take the struct filled by
/// `scda_ffind_dataset`, or a copy, with the file in which it was found, until this is closed.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct scda_dataset<'a> {
    /// The size of this struct in bytes, as `scda_dataset_init` sets it. Needed in reading, too. It may be
    /// that of an older or newer version, the same for all structs of a call.
    pub size: usize,
    /// The name: a C string of 1 to 58 bytes of UTF-8, in which slashes separate the names of groups and the
    /// dataset's own.
    pub name: [c_char; SCDA_NAME_BYTES],
    /// The type of the items: `SCDA_TYPE_FLOAT64`, ...
    pub r#type: c_int,
    /// The number of dimensions; 0 (default) for a single item.
    pub ndims: c_int,
    /// The size of an item in bytes. Writing: required for `SCDA_TYPE_RAW`, `SCDA_TYPE_TEXT`,
    /// `SCDA_TYPE_BYTES`, and for `SCDA_TYPE_STRUCT`, whose `sizeof` it is; for other types it may be 0
    /// (default). Reading: the size in the file; 0 if each item has its own.
    pub item_bytes: u64,
    /// The number of indices in each dimension; the last one varies fastest. Only the first `ndims` numbers
    /// are used; after reading, the others are 0.
    pub shape: [u64; SCDA_MAX_DIMS],
    /// The shape of a chunk. Writing: 0 in all dimensions (default): the library chooses by type and shape. 0
    /// also for `SCDA_ENCODE_NONE`.
    pub chunk: [u64; SCDA_MAX_DIMS],
    /// Whether to compress: `SCDA_ENCODE_NONE` (default), `SCDA_ENCODE_ALWAYS`, `SCDA_ENCODE_AUTO` or
    /// `SCDA_ENCODE_TEXT`. With `SCDA_ENCODE_NONE` there are no chunks, and `codec`, `level`, `shuffle` and
    /// the largest errors have no effect.
    pub encode: c_int,
    /// How chunks are compressed: `SCDA_CODEC_ZSTD` (default) or another `SCDA_CODEC_` constant. Ignored for
    /// `SCDA_ENCODE_TEXT`, which uses zlib streams.
    pub codec: c_int,
    /// The level of compression of chunks, 0 to 9; 0 does not compress, except with Pcodec. -1 (default): the
    /// default of the codec; for `SCDA_ENCODE_TEXT`, the level of the file (`scda_params_t`). After reading, -1
    /// means unknown.
    pub level: c_int,
    /// 1 (default): the bytes of the items of a chunk are shuffled before compression, which makes most
    /// numbers smaller: the first bytes of all items, then the second ones, and so on. 0: they are not.
    pub shuffle: c_int,
    /// Writing: 1: these are rows to be added at the end of the last dataset of this name in the file; 0
    /// (default): a dataset. A row consists of all items with one index of the first dimension. `shape` is
    /// that of the added rows alone, whose indices begin at 0. Layout, codec and level may differ; `type`,
    /// `fill_value` and the rest of `shape` must be those of the dataset, and no larger error is allowed.
    /// `dimension_names` and `attributes` are ignored. The file must be a sealed one; after the next seal,
    /// readers find all rows as one array. Reading: 0.
    pub extends: c_int,
    /// Writing: the largest relative error of a number, at least 0 (default: numbers do not change) and less
    /// than 1. Floating-point and complex numbers in chunks get as many trailing zero bits as this allows
    /// before they are compressed; the fill value, infinities and NaN do not change. `SCDA_ENCODE_AUTO` may
    /// find that uncompressed data are smaller: these do not change. An attribute of this name with the
    /// prefix `scda_` tells readers. Reading: 0.
    pub max_relative_error: f64,
    /// Likewise the largest absolute error. With `max_relative_error`, both bounds hold.
    pub max_absolute_error: f64,
    /// NULL (default), or a name for each of `ndims` dimensions; NULL for a dimension without a name. C
    /// strings in UTF-8.
    pub dimension_names: Values<'a, *const c_char>,
    /// The value of items that were never written, `item_bytes` bytes in the machine's byte order. NULL
    /// (default): all of its bytes are 0. For `SCDA_TYPE_STRING` and `SCDA_TYPE_VARIABLE_BYTES` it is a C
    /// string. After reading it is aligned for its type, and never NULL.
    pub fill_value: Values<'a, c_void>,
    /// Attributes of the dataset, such as its units: a JSON object. NULL (default): none. After reading it is
    /// never NULL, and has no white space between its parts.
    pub attributes: Text<'a>,
    /// After reading: NULL, or the reason why this library cannot read the data, such as an unknown codec:
    /// `scda_fread_dataset` is then an error, but the description is complete. Writing: ignored.
    pub unsupported: Text<'a>,
    /// The unit of `SCDA_TYPE_DATETIME64` and `SCDA_TYPE_TIMEDELTA64`: `Y`, `M`, `W`, `D`, `h`, `m`, `s`,
    /// `ms`, `us`, `ns`, `ps`, `fs`, `as`, or `generic` for none; multiples have a number before it, such as
    /// `10us`. NULL (default) for other types.
    pub unit: Text<'a>,
    /// The members of `SCDA_TYPE_STRUCT`, a list that ends with a member whose name is NULL. NULL (default)
    /// for other types. After reading it describes the struct in the file.
    pub members: Values<'a, scda_member_t<'a>>,
    /// After `scda_ffind_dataset`: identifies the dataset among those of all open files, for
    /// `scda_fread_dataset` and others. It may differ between the ranks. Writing: ignored.
    pub number: u64,
}

/// The description of a dataset.
pub type scda_dataset_t<'a> = scda_dataset<'a>;

versioned!(scda_dataset_t<'_>, "dataset", "scda_dataset_init", empty(), number: u64);

/// Fills the description of a dataset with the defaults, for a program that knows its first `size` bytes;
/// `scda_dataset_init` calls it.
///
/// Not collective.
///
/// @param [out] d    The description of a dataset. Must not be NULL.
/// @param [in] size  The size of `*d` when the program was compiled, which is stored in its `size`.
/// @return           0, or a negative value for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_dataset_init_size(d: StructOut<'_, scda_dataset_t>, size: usize) -> c_int {
    guard(None, -1, || d.init(size))
}

pub(super) fn empty<'a>() -> scda_dataset_t<'a> {
    scda_dataset_t {
        encode: SCDA_ENCODE_NONE,
        codec: Codec::default().code(),
        level: -1,
        shuffle: 1,
        ..zeros()
    }
}

/// A dataset described by C, and the type of its items in memory, where structs may have gaps.
pub(super) struct InMemory {
    pub dataset: Dataset,
    pub data_type: DataType,
}

/// The dataset at a pointer, without checking whether it is possible.
pub(super) fn read_dataset(d: StructIn<'_, scda_dataset_t<'_>>) -> Result<InMemory> {
    of_c(&d.read()?)
}

/// The dataset described by C.
pub(super) fn of_c(c: &scda_dataset_t<'_>) -> Result<InMemory> {
    let InMemory { mut dataset, data_type } = array(c)?;
    let dimensions = dataset.shape.len();
    dataset.layout = layout(c.encode, &c.chunk[..dimensions])?;
    dataset.codec = Codec::from_code(c.codec).ok_or_else(|| {
        let known = Codec::NAMES.map(|(_, name)| format!("SCDA_CODEC_{}", name.to_uppercase()));
        Error::argument(format!("codec: found {}, expected one of {}", c.codec, known.join(", ")))
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
            // SAFETY: C passes a C string for such a type.
            unsafe { Text::at(c.fill_value.pointer().cast()) }.get("fill_value")?.to_bytes().len() as u64
        } else if data_type.is_valid() {
            data_type.item_bytes()
        } else {
            0
        };
        let item = c.fill_value.bytes(bytes)?;
        dataset.fill_value = match data_type == dataset.data_type {
            true => copy(item)?,
            // Removes the gaps.
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
        return Err(Error::argument(format!("name of a dataset: found no NUL in {SCDA_NAME_BYTES} bytes")));
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

/// Checks attributes.
pub(super) fn json(attributes: Text<'_>) -> Result<String> {
    let text = attributes.utf8("attributes")?;
    let mut owned = String::new();
    owned.try_reserve(text.len()).map_err(|_| Error::memory(text.len()))?;
    owned.push_str(text);
    Ok(owned)
}

/// The layout that `encode` requests, with chunks of this shape; zeros mean the choice of the library.
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

/// Copies a name to a buffer of C.
pub(super) fn put_name(room: &mut [c_char; SCDA_NAME_BYTES], name: &[u8]) {
    for (to, &from) in room.iter_mut().zip(name.iter().take(SCDA_NAME_BYTES - 1)) {
        *to = c_char::from_ne_bytes([from]);
    }
}

/// Copies the shape to a buffer of C; returns the type, the size of an item, and the number of dimensions.
pub(super) fn put_type(dataset: &Dataset, shape: &mut [u64; SCDA_MAX_DIMS]) -> (c_int, u64, c_int) {
    let Dataset { data_type, shape: own, .. } = dataset;
    shape.iter_mut().zip(own).for_each(|(to, from)| *to = *from);
    let item_bytes = if data_type.is_variable() { 0 } else { data_type.item_bytes() };
    (data_type.code(), item_bytes, c_int::try_from(own.len()).unwrap_or(0))
}

/// The dataset in C's representation, without what it points to.
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
    c.codec = dataset.codec.code();
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
    // Items of variable length are C strings.
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
