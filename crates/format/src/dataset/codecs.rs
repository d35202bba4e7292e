//! The codecs of datasets: all that is told about them apart from the bytes that they make, which are those of
//! `scda_codec::chunk`. In the metadata of a dataset, they are a list in JSON. Names and configurations are
//! those of Zarr v3, and of numcodecs for names that begin with `numcodecs.`.

use super::{DataType, Dataset, Kind, Layout};
use serde_json::{Map, Value};
use std::ops::RangeInclusive;

/// Declares the codecs, so that no list lacks one.
macro_rules! codecs {
    ($($(#[$about:meta])* $codec:ident = $number:literal, $name:literal;)+) => {
        /// How the chunks of a dataset are compressed. The numbers are those of the C interface, which never
        /// change.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Codec {
            $($(#[$about])* $codec = $number,)+
        }

        impl Codec {
            /// All of them, with their names.
            pub const NAMES: [(Self, &'static str); [$($number),+].len()] = [$((Self::$codec, $name)),+];
        }
    };
}

// The texts are also those of `SCDA_CODEC_ZSTD` and so on in scda.h, which tests/header makes from these lines.
codecs! {
    /// Chunks are compressed by Zstandard after a byte shuffle, in Blosc frames, by default at level 1: fast and
    /// small. The default.
    #[default]
    Zstd = 0, "zstd";
    /// Chunks are compressed by LZ4 after a byte shuffle, in Blosc frames, by default at level 1: faster, and a
    /// little larger. For disks that are faster than Zstandard.
    Lz4 = 1, "lz4";
    /// Chunks are Pcodec files, by default of level 8, which are the smallest for integers of 16 to 64 bits and
    /// for floating-point numbers. Other types are compressed by Zstandard, by default at level 9. For archives.
    Pcodec = 2, "pcodec";
    /// Chunks are zlib streams (RFC 1950) after a byte shuffle, by default at the level of the file, for readers
    /// that have only zlib.
    Zlib = 3, "zlib";
}

impl Codec {
    /// The codec of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        value_of(&Self::NAMES, name)
    }

    /// Its number in the C interface.
    #[must_use]
    pub fn code(self) -> i32 {
        self as i32
    }

    /// The codec of this number.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::NAMES.iter().find(|(codec, _)| codec.code() == code).map(|(codec, _)| *codec)
    }
}

impl std::fmt::Display for Codec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(name_of(&Self::NAMES, *self))
    }
}

/// What compresses the bytes of a chunk. A reader does not need the numbers in it unless their comment says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compressor {
    /// A zlib stream (RFC 1950).
    Zlib(Zlib),
    /// A gzip stream (RFC 1952).
    Gzip(Gzip),
    /// A Zstandard frame (RFC 8878).
    Zstd(Zstd),
    /// A frame of Blosc 1, which repeats how it was made.
    Blosc(Blosc),
    /// Numbers in the format of a Pcodec file. This replaces the step from numbers to bytes.
    Pcodec(Pcodec),
}

/// A zlib stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Zlib {
    /// The level, -1 to 9.
    pub level: i64,
}

/// A gzip stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gzip {
    /// The level, 0 to 9.
    pub level: i64,
}

/// A Zstandard frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Zstd {
    /// The level.
    pub level: i64,
    /// Whether the frame has a checksum.
    pub checksum: bool,
}

/// A frame of Blosc 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blosc {
    /// The compressor of its blocks.
    pub compressor: BloscCompressor,
    /// The level; this library writes 0 to 9, where 0 stores.
    pub level: u32,
    /// How bytes are reordered before.
    pub shuffle: BloscShuffle,
    /// The size of the items whose bytes are reordered, at least 1.
    pub item_bytes: u8,
    /// The bytes of a block; 0 if Blosc chooses.
    pub block_bytes: u64,
}

/// A Pcodec file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pcodec {
    /// The level, 0 to 12.
    pub level: u32,
    /// The type of the numbers, which a reader needs to know: one of those that [`is_of_pcodec`] names.
    pub data_type: DataType,
}

/// The compressors of Blosc, with the numbers that they have there and in HDF5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BloscCompressor {
    /// BloscLZ.
    BloscLz = 0,
    /// LZ4.
    Lz4 = 1,
    /// LZ4, compressed more slowly.
    Lz4Hc = 2,
    /// Snappy.
    Snappy = 3,
    /// zlib.
    Zlib = 4,
    /// Zstandard.
    Zstd = 5,
}

impl BloscCompressor {
    const NAMES: [(Self, &'static str); 6] = [
        (Self::BloscLz, "blosclz"),
        (Self::Lz4, "lz4"),
        (Self::Lz4Hc, "lz4hc"),
        (Self::Snappy, "snappy"),
        (Self::Zlib, "zlib"),
        (Self::Zstd, "zstd"),
    ];
}

/// How Blosc reorders bytes before it compresses them, with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BloscShuffle {
    /// Not at all.
    None = 0,
    /// The first bytes of all items, then the second ones, and so on.
    Bytes = 1,
    /// Likewise, bit by bit.
    Bits = 2,
}

impl BloscShuffle {
    const NAMES: [(Self, &'static str); 3] =
        [(Self::None, "noshuffle"), (Self::Bytes, "shuffle"), (Self::Bits, "bitshuffle")];
}

/// The configuration of a codec in the metadata, if it has one.
#[derive(Clone, Copy)]
struct Configuration<'a>(Option<&'a Map<String, Value>>);

impl<'a> Configuration<'a> {
    fn get(self, key: &str) -> Option<&'a Value> {
        self.0?.get(key)
    }

    fn text(self, key: &str) -> Option<&'a str> {
        self.get(key)?.as_str()
    }

    /// A number, or the one that a missing key stands for.
    fn number(self, key: &str, default: u64) -> Option<u64> {
        self.get(key).map_or(Some(default), Value::as_u64)
    }

    fn level(self, default: i64, levels: RangeInclusive<i64>) -> Option<i64> {
        let level = self.get("level").map_or(Some(default), Value::as_i64);
        level.filter(|level| levels.contains(level))
    }
}

/// A filter of HDF5, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Its number: one of HDF5's own, or registered with The HDF Group.
    pub id: u16,
    /// Its parameters.
    pub values: Vec<u32>,
}

impl Compressor {
    /// The name, and the members of the configuration, with the keys in the order of zarr-python.
    fn json(self) -> (&'static str, String) {
        match self {
            Self::Zlib(Zlib { level }) => ("numcodecs.zlib", format!(r#""level":{level}"#)),
            Self::Gzip(Gzip { level }) => ("gzip", format!(r#""level":{level}"#)),
            Self::Zstd(Zstd { level, checksum }) => {
                ("zstd", format!(r#""level":{level},"checksum":{checksum}"#))
            }
            Self::Blosc(Blosc { compressor, level, shuffle, item_bytes, block_bytes }) => {
                let (compressor, shuffle) =
                    (name_of(&BloscCompressor::NAMES, compressor), name_of(&BloscShuffle::NAMES, shuffle));
                let configuration = format!(
                    r#""typesize":{item_bytes},"cname":"{compressor}","clevel":{level},"shuffle":"{shuffle}","blocksize":{block_bytes}"#
                );
                ("blosc", configuration)
            }
            Self::Pcodec(Pcodec { level, .. }) => ("numcodecs.pcodec", format!(r#""level":{level}"#)),
        }
    }

    /// The compressor with this name and configuration, for items of this type; `None` if this library does not
    /// know it. The error says what was expected.
    fn of_json(
        name: &str,
        configuration: Configuration<'_>,
        data_type: DataType,
    ) -> Option<Result<Self, &'static str>> {
        let level = |default, levels| configuration.level(default, levels);
        Some(match name {
            "numcodecs.zlib" => {
                level(1, -1..=9).map(|level| Self::Zlib(Zlib { level })).ok_or("a level, -1 to 9")
            }
            "gzip" => level(5, 0..=9).map(|level| Self::Gzip(Gzip { level })).ok_or("a level, 0 to 9"),
            "zstd" => {
                let checksum = configuration.get("checksum").map_or(Some(false), Value::as_bool);
                let found = level(0, -131_072..=22).zip(checksum);
                found
                    .map(|(level, checksum)| Self::Zstd(Zstd { level, checksum }))
                    .ok_or("a level, -131072 to 22, and perhaps a checksum, true or false")
            }
            "blosc" => Blosc::of_json(configuration, data_type)
                .map(Self::Blosc)
                .ok_or("a cname, clevel, shuffle, typesize (1 to 255) and blocksize of Blosc"),
            "numcodecs.pcodec" => level(8, 0..=12)
                .and_then(|level| u32::try_from(level).ok())
                .map(|level| Self::Pcodec(Pcodec { level, data_type }))
                .ok_or("a level, 0 to 12"),
            _ => return None,
        })
    }

    /// The nearest codec and level of this library, and whether the compressor sorts the bytes itself.
    fn nearest(self) -> (Codec, i64, bool) {
        match self {
            Self::Zlib(Zlib { level }) | Self::Gzip(Gzip { level }) => (Codec::Zlib, level, false),
            Self::Zstd(Zstd { level, .. }) => (Codec::Zstd, level, false),
            Self::Blosc(Blosc { compressor, level, shuffle, .. }) => {
                let codec = match compressor {
                    BloscCompressor::Zstd => Codec::Zstd,
                    BloscCompressor::Zlib => Codec::Zlib,
                    BloscCompressor::BloscLz
                    | BloscCompressor::Lz4
                    | BloscCompressor::Lz4Hc
                    | BloscCompressor::Snappy => Codec::Lz4,
                };
                (codec, level.into(), shuffle != BloscShuffle::None)
            }
            Self::Pcodec(Pcodec { level, .. }) => (Codec::Pcodec, level.into(), true),
        }
    }

    /// The filter of HDF5 that decompresses chunks of this size, or why HDF5 cannot show them.
    fn filter(self, chunk_bytes: u64) -> Result<Filter, &'static str> {
        // Only writers use a level.
        let of_level = |id, level: i64, most| {
            let level = u32::try_from(level.clamp(0, most)).unwrap_or(0);
            Ok(Filter { id, values: vec![level] })
        };
        match self {
            Self::Zlib(Zlib { level }) => of_level(1, level, 9),
            Self::Gzip(_) => Err("compressed by gzip, for which HDF5 has no filter"),
            Self::Zstd(Zstd { level, .. }) => of_level(32015, level, 22),
            Self::Blosc(Blosc { compressor, level, shuffle, item_bytes, .. }) => {
                let (item_bytes, shuffle, compressor) =
                    (item_bytes.into(), shuffle as u32, compressor as u32);
                // The versions of the filter and of Blosc's frames come first.
                let values = vec![2, 2, item_bytes, low(chunk_bytes), level, shuffle, compressor];
                Ok(Filter { id: 32001, values })
            }
            Self::Pcodec(_) => Err("compressed by Pcodec, for which HDF5 has no filter"),
        }
    }

    /// Whether it takes numbers, and so stands in the place of the step from numbers to bytes.
    fn takes_numbers(self) -> bool {
        matches!(self, Self::Pcodec(_))
    }
}

impl Blosc {
    fn of_json(configuration: Configuration<'_>, data_type: DataType) -> Option<Self> {
        let shuffle = value_of(&BloscShuffle::NAMES, configuration.text("shuffle")?)?;
        // Without a shuffle, the size does not matter.
        let item_bytes = data_type.item_bytes().min(MOST_BLOSC_BYTES);
        let item_bytes = u8::try_from(configuration.number("typesize", item_bytes)?).ok()?;
        Some(Self {
            compressor: value_of(&BloscCompressor::NAMES, configuration.text("cname")?)?,
            level: u32::try_from(configuration.get("clevel")?.as_u64()?).ok()?,
            shuffle,
            item_bytes: Some(item_bytes).filter(|&bytes| bytes > 0)?,
            block_bytes: configuration.number("blocksize", 0)?,
        })
    }
}

fn low(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn name_of<T: PartialEq>(names: &'static [(T, &'static str)], value: T) -> &'static str {
    names.iter().find(|(known, _)| *known == value).map_or("", |(_, name)| name)
}

fn value_of<T: Copy>(names: &[(T, &str)], name: &str) -> Option<T> {
    names.iter().find(|(_, known)| *known == name).map(|(value, _)| *value)
}

/// The largest items that Blosc shuffles, in bytes.
const MOST_BLOSC_BYTES: u64 = u8::MAX as u64;

/// Lower levels of Pcodec have too few bins for most numbers, and gain no time.
const LEAST_PCODEC_LEVEL: u32 = 4;

/// The name of the codec that turns items of this type into bytes, unless a compressor takes numbers.
pub fn first_codec(data_type: DataType) -> &'static str {
    match data_type {
        DataType::String => "vlen-utf8",
        DataType::VariableBytes => "vlen-bytes",
        _ => "bytes",
    }
}

/// Whether Pcodec supports numbers of this type.
pub fn is_of_pcodec(data_type: DataType) -> bool {
    matches!(data_type.kind(), Kind::Signed | Kind::Unsigned | Kind::Float) && data_type.number_bytes() > 1
}

/// What was done to the bytes of a chunk, in the order of the members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Codecs {
    /// Whether the numbers are in big-endian order, as other programs may write them; otherwise
    /// little-endian.
    pub big_endian: bool,
    /// The size of the elements whose bytes were then shuffled, which a reader needs to know.
    pub shuffle: Option<u64>,
    /// What then compressed them.
    pub compressor: Option<Compressor>,
    /// Whether a CRC-32C of the bytes before it follows, 4 bytes in little-endian order.
    pub crc32c: bool,
}

impl Codecs {
    /// The codecs that this library applies to a dataset; `zlib_level` is the level of zlib if the dataset
    /// names none.
    pub fn of(dataset: &Dataset, zlib_level: u32) -> Self {
        let data_type = dataset.data_type;
        let item_bytes = if data_type.is_variable() { 1 } else { data_type.item_bytes() };
        let shuffle = (dataset.shuffle && item_bytes > 1).then_some(item_bytes);
        let level = |default| dataset.level.unwrap_or(default);
        // Frames of Blosc have a shuffle of their own.
        let blosc = |compressor, default| {
            let fits = u8::try_from(item_bytes).ok();
            let has_shuffle = shuffle.is_some() && fits.is_some();
            let blosc = Blosc {
                compressor,
                level: level(default),
                shuffle: if has_shuffle { BloscShuffle::Bytes } else { BloscShuffle::None },
                item_bytes: fits.unwrap_or(1),
                block_bytes: 0,
            };
            (None, Compressor::Blosc(blosc))
        };
        let (separate_shuffle, compressor) = match dataset.codec {
            Codec::Zstd => blosc(BloscCompressor::Zstd, 1),
            Codec::Lz4 => blosc(BloscCompressor::Lz4, 1),
            Codec::Pcodec if is_of_pcodec(data_type) => {
                (None, Compressor::Pcodec(Pcodec { level: level(8).max(LEAST_PCODEC_LEVEL), data_type }))
            }
            Codec::Pcodec => blosc(BloscCompressor::Zstd, 9),
            Codec::Zlib => (shuffle, Compressor::Zlib(Zlib { level: level(zlib_level).into() })),
        };
        match dataset.layout {
            Layout::Contiguous => Self::default(),
            Layout::Chunked { text: true, .. } => Self { shuffle, ..Self::default() },
            Layout::Chunked { text: false, .. } | Layout::Auto { .. } => {
                Self { shuffle: separate_shuffle, compressor: Some(compressor), ..Self::default() }
            }
        }
    }

    /// Adds the codec of this name at this place of the list. False if this library does not know it, or not at
    /// this place. The error says what its configuration was expected to be.
    pub(super) fn add(
        &mut self,
        name: &str,
        configuration: Option<&Map<String, Value>>,
        place: usize,
        data_type: DataType,
    ) -> Result<bool, &'static str> {
        let configuration = Configuration(configuration);
        let may_compress = self.compressor.is_none() && !self.crc32c;
        let is_next = match name {
            "numcodecs.shuffle" => {
                let size = configuration.number("elementsize", 4).filter(|&size| size > 0);
                let size = size.ok_or("an elementsize of at least 1")?;
                let is_next = place > 0 && may_compress && self.shuffle.is_none();
                if is_next {
                    self.shuffle = Some(size);
                }
                is_next
            }
            "crc32c" => {
                let is_next = place > 0 && !self.crc32c;
                self.crc32c |= is_next;
                is_next
            }
            _ => {
                let Some(found) = Compressor::of_json(name, configuration, data_type) else {
                    return Ok(false);
                };
                let found = found?;
                // What takes numbers comes first, and only then.
                let takes_these = !found.takes_numbers() || is_of_pcodec(data_type);
                let is_next = may_compress && takes_these && (place == 0) == found.takes_numbers();
                if is_next {
                    self.compressor = Some(found);
                }
                is_next
            }
        };
        Ok(is_next)
    }

    /// Whether the bytes are those of the numbers.
    #[must_use]
    pub fn are_plain(&self) -> bool {
        self.shuffle.is_none() && !self.changes_length()
    }

    /// Whether encoded chunks may differ in length from plain ones.
    pub fn changes_length(&self) -> bool {
        self.compressor.is_some() || self.crc32c
    }

    /// Sets codec, level and shuffle of a dataset to the nearest equivalents.
    pub fn describe(&self, dataset: &mut Dataset) {
        let nearest = self.compressor.map(Compressor::nearest);
        dataset.shuffle = self.shuffle.is_some() || nearest.is_some_and(|(.., has_shuffle)| has_shuffle);
        let level =
            |level: i64| u32::try_from(level).ok().filter(|level| *level <= super::MAX_LEVEL).unwrap_or(6);
        (dataset.codec, dataset.level) =
            nearest.map_or((Codec::default(), None), |(codec, found, _)| (codec, Some(level(found))));
    }

    /// The list as JSON. It is not built from a map: whether a map keeps the order of its keys depends on the
    /// features of `serde_json`, and the bytes of a file must not.
    pub fn to_json(&self, data_type: DataType) -> String {
        let named = |name: &str, configuration: &str| {
            format!(r#"{{"name":"{name}","configuration":{{{configuration}}}}}"#)
        };
        let mut list = Vec::new();
        if !self.compressor.is_some_and(Compressor::takes_numbers) {
            let (name, order) = (first_codec(data_type), if self.big_endian { "big" } else { "little" });
            let has_order = !data_type.is_variable() && data_type.number_bytes() > 1;
            list.push(if has_order {
                named(name, &format!(r#""endian":"{order}""#))
            } else {
                format!(r#"{{"name":"{name}"}}"#)
            });
        }
        if let Some(size) = self.shuffle {
            list.push(named("numcodecs.shuffle", &format!(r#""elementsize":{size}"#)));
        }
        if let Some((name, configuration)) = self.compressor.map(Compressor::json) {
            list.push(named(name, &configuration));
        }
        if self.crc32c {
            list.push(r#"{"name":"crc32c"}"#.into());
        }
        format!("[{}]", list.join(","))
    }

    /// The filters of HDF5 for chunks of this size, in the order in which a writer applies them.
    ///
    /// # Errors
    /// Why HDF5 cannot show the chunks.
    pub fn filters(&self, chunk_bytes: u64) -> Result<Vec<Filter>, &'static str> {
        let shuffle = self.shuffle.map(|size| Filter { id: 2, values: vec![low(size)] });
        let compressor = self.compressor.map(|compressor| compressor.filter(chunk_bytes)).transpose()?;
        if self.crc32c {
            return Err("with a CRC-32C, for which HDF5 has no filter");
        }
        Ok(shuffle.into_iter().chain(compressor).collect())
    }
}
