//! The codecs of datasets: their numbers and names, their JSON in the metadata of a dataset, and their HDF5
//! filters. `scda_codec::chunk` encodes and decodes. Names and configurations are those of Zarr v3, and of
//! numcodecs for names that begin with `numcodecs.`.

use super::{DataType, Dataset, Kind, Layout};
use serde_json::{Map, Value};
use std::ops::RangeInclusive;

/// Declares values with their numbers and names, so that no list lacks one.
macro_rules! named {
    ($(#[$of:meta])* pub enum $kind:ident {
        $($(#[$about:meta])* $value:ident = $number:literal, $name:literal;)+
    }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $kind {
            $($(#[$about])* $value = $number,)+
        }

        impl $kind {
            /// All of them, with their names.
            pub const NAMES: [(Self, &'static str); [$($number),+].len()] = [$((Self::$value, $name)),+];

            /// The one of this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::NAMES.iter().find(|(_, known)| *known == name).map(|(value, _)| *value)
            }

            fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }
    };
}

// The texts are also those of `SCDA_CODEC_ZSTD` and so on in scda.h, which tests/header makes from these
// lines.
named! {
    /// How the chunks of a dataset are compressed. The numbers are those of the C interface, which never
    /// change.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum Codec {
        /// Chunks are compressed by Zstandard after a byte shuffle, in Blosc frames, by default at level 1:
        /// fast and small. The default.
        #[default]
        Zstd = 0, "zstd";
        /// Chunks are compressed by LZ4 after a byte shuffle, in Blosc frames, by default at level 1: faster,
        /// and a little larger. For disks that are faster than Zstandard.
        Lz4 = 1, "lz4";
        /// Chunks are Pcodec files, by default of level 8, which are the smallest for integers of 16 to 64
        /// bits and for floating-point numbers. Other types are compressed by Zstandard, by default at level
        /// 9. For archives.
        Pcodec = 2, "pcodec";
        /// Chunks are zlib streams (RFC 1950) after a byte shuffle, by default at the level of the file, for
        /// readers that have only zlib.
        Zlib = 3, "zlib";
    }
}

impl Codec {
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
        f.write_str(self.name())
    }
}

/// Declares what compresses the bytes of a chunk: each is a type with [`Parameters`].
macro_rules! compressors {
    ($($(#[$about:meta])* $compressor:ident = $name:literal, $expected:literal;)+) => {
        /// What compresses the bytes of a chunk. A reader does not need the numbers in it unless their
        /// comment says so.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Compressor {
            $($(#[$about])* $compressor($compressor),)+
        }

        impl Compressor {
            /// The compressor with this name and configuration, for items of this type; `None` if this
            /// library does not know it. The error says what was expected.
            fn of_json(
                name: &str,
                configuration: Configuration<'_>,
                data_type: DataType,
            ) -> Option<Result<Self, &'static str>> {
                Some(match name {
                    $($name => {
                        $compressor::of_json(configuration, data_type).map(Self::$compressor).ok_or($expected)
                    })+
                    _ => return None,
                })
            }

            fn name(&self) -> &'static str {
                match self {
                    $(Self::$compressor(_) => $name,)+
                }
            }

            fn parameters(&self) -> &dyn Parameters {
                match self {
                    $(Self::$compressor(parameters) => parameters,)+
                }
            }
        }
    };
}

// Each with its name in the metadata, and what its configuration there was expected to be.
compressors! {
    /// A zlib stream (RFC 1950).
    Zlib = "numcodecs.zlib", "a level, -1 to 9";
    /// A gzip stream (RFC 1952).
    Gzip = "gzip", "a level, 0 to 9";
    /// A Zstandard frame (RFC 8878).
    Zstd = "zstd", "a level, -131072 to 22, and perhaps a checksum, true or false";
    /// A frame of Blosc 1, which repeats how it was made.
    Blosc = "blosc", "a cname, clevel, shuffle, typesize (1 to 255) and blocksize of Blosc";
    /// Numbers in the format of a Pcodec file. This replaces the step from numbers to bytes.
    Pcodec = "numcodecs.pcodec", "a level, 0 to 12";
}

/// The parameters of a compressor: how the metadata, users and HDF5 see them.
trait Parameters {
    /// The parameters in a configuration, for items of this type; `None` if it is not as expected.
    fn of_json(configuration: Configuration<'_>, data_type: DataType) -> Option<Self>
    where
        Self: Sized;

    /// The members of the configuration, with the keys in the order of zarr-python.
    fn to_json(&self) -> String;

    /// The nearest codec and level of this library.
    fn nearest(&self) -> (Codec, i64);

    /// Whether it sorts the bytes itself.
    fn shuffles(&self) -> bool {
        false
    }

    /// The filter of HDF5 that decompresses chunks of this size, or why HDF5 cannot show them.
    fn filter(&self, chunk_bytes: u64) -> Result<Filter, &'static str>;
}

/// The parameters of zlib streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Zlib {
    /// The level, -1 to 9.
    pub level: i64,
}

impl Parameters for Zlib {
    fn of_json(configuration: Configuration<'_>, _: DataType) -> Option<Self> {
        configuration.level(1, -1..=9).map(|level| Self { level })
    }

    fn to_json(&self) -> String {
        level_json(self.level)
    }

    fn nearest(&self) -> (Codec, i64) {
        (Codec::Zlib, self.level)
    }

    fn filter(&self, _: u64) -> Result<Filter, &'static str> {
        Ok(Filter { id: 1, values: vec![low(self.level.clamp(0, 9).cast_unsigned())] })
    }
}

/// The parameters of gzip streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gzip {
    /// The level, 0 to 9.
    pub level: i64,
}

impl Parameters for Gzip {
    fn of_json(configuration: Configuration<'_>, _: DataType) -> Option<Self> {
        configuration.level(5, 0..=9).map(|level| Self { level })
    }

    fn to_json(&self) -> String {
        level_json(self.level)
    }

    fn nearest(&self) -> (Codec, i64) {
        (Codec::Zlib, self.level)
    }

    fn filter(&self, _: u64) -> Result<Filter, &'static str> {
        Err("compressed by gzip, for which HDF5 has no filter")
    }
}

/// The parameters of Zstandard frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Zstd {
    /// The level, -131072 to 22.
    pub level: i64,
    /// Whether the frame has a checksum.
    pub checksum: bool,
}

impl Parameters for Zstd {
    fn of_json(configuration: Configuration<'_>, _: DataType) -> Option<Self> {
        let level = configuration.level(0, -131_072..=22)?;
        let checksum = configuration.get("checksum").map_or(Some(false), Value::as_bool)?;
        Some(Self { level, checksum })
    }

    fn to_json(&self) -> String {
        format!(r#"{},"checksum":{}"#, level_json(self.level), self.checksum)
    }

    fn nearest(&self) -> (Codec, i64) {
        (Codec::Zstd, self.level)
    }

    fn filter(&self, _: u64) -> Result<Filter, &'static str> {
        Ok(Filter { id: 32015, values: vec![low(self.level.clamp(0, 22).cast_unsigned())] })
    }
}

/// The parameters of frames of Blosc 1.
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

impl Parameters for Blosc {
    fn of_json(configuration: Configuration<'_>, data_type: DataType) -> Option<Self> {
        // Without a shuffle, the size does not matter.
        let item_bytes = data_type.item_bytes().min(MOST_BLOSC_BYTES);
        let item_bytes = u8::try_from(configuration.number("typesize", item_bytes)?).ok()?;
        Some(Self {
            compressor: BloscCompressor::from_name(configuration.get("cname")?.as_str()?)?,
            level: u32::try_from(configuration.get("clevel")?.as_u64()?).ok()?,
            shuffle: BloscShuffle::from_name(configuration.get("shuffle")?.as_str()?)?,
            item_bytes: Some(item_bytes).filter(|&bytes| bytes > 0)?,
            block_bytes: configuration.number("blocksize", 0)?,
        })
    }

    fn to_json(&self) -> String {
        let Self { level, item_bytes, block_bytes, .. } = self;
        let (compressor, shuffle) = (self.compressor.name(), self.shuffle.name());
        format!(
            r#""typesize":{item_bytes},"cname":"{compressor}","clevel":{level},"shuffle":"{shuffle}","blocksize":{block_bytes}"#
        )
    }

    fn nearest(&self) -> (Codec, i64) {
        let codec = match self.compressor {
            BloscCompressor::Zstd => Codec::Zstd,
            BloscCompressor::Zlib => Codec::Zlib,
            BloscCompressor::BloscLz
            | BloscCompressor::Lz4
            | BloscCompressor::Lz4Hc
            | BloscCompressor::Snappy => Codec::Lz4,
        };
        (codec, self.level.into())
    }

    fn shuffles(&self) -> bool {
        self.shuffle != BloscShuffle::None
    }

    fn filter(&self, chunk_bytes: u64) -> Result<Filter, &'static str> {
        let (item_bytes, shuffle, compressor) =
            (self.item_bytes.into(), self.shuffle as u32, self.compressor as u32);
        // The versions of the filter and of Blosc's frames come first.
        let values = vec![2, 2, item_bytes, low(chunk_bytes), self.level, shuffle, compressor];
        Ok(Filter { id: 32001, values })
    }
}

/// The parameters of Pcodec files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pcodec {
    /// The level, 0 to 12.
    pub level: u32,
    /// The type of the numbers, which a reader needs to know: one that [`is_of_pcodec`].
    pub data_type: DataType,
}

impl Parameters for Pcodec {
    fn of_json(configuration: Configuration<'_>, data_type: DataType) -> Option<Self> {
        let level = u32::try_from(configuration.level(8, 0..=12)?).ok()?;
        Some(Self { level, data_type })
    }

    fn to_json(&self) -> String {
        level_json(self.level.into())
    }

    fn nearest(&self) -> (Codec, i64) {
        (Codec::Pcodec, self.level.into())
    }

    fn shuffles(&self) -> bool {
        true
    }

    fn filter(&self, _: u64) -> Result<Filter, &'static str> {
        Err("compressed by Pcodec, for which HDF5 has no filter")
    }
}

named! {
    /// The compressors of Blosc, with the numbers that they have there and in HDF5.
    pub enum BloscCompressor {
        /// BloscLZ.
        BloscLz = 0, "blosclz";
        /// LZ4.
        Lz4 = 1, "lz4";
        /// LZ4, compressed more slowly.
        Lz4Hc = 2, "lz4hc";
        /// Snappy.
        Snappy = 3, "snappy";
        /// zlib.
        Zlib = 4, "zlib";
        /// Zstandard.
        Zstd = 5, "zstd";
    }
}

named! {
    /// How Blosc reorders bytes before it compresses them, with its numbers.
    pub enum BloscShuffle {
        /// Not at all.
        None = 0, "noshuffle";
        /// The first bytes of all items, then the second ones, and so on.
        Bytes = 1, "shuffle";
        /// Likewise, bit by bit.
        Bits = 2, "bitshuffle";
    }
}

/// The configuration of a codec in the metadata, if it has one.
#[derive(Clone, Copy)]
struct Configuration<'a>(Option<&'a Map<String, Value>>);

impl<'a> Configuration<'a> {
    fn get(self, key: &str) -> Option<&'a Value> {
        self.0?.get(key)
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
    /// Whether it takes numbers, and so stands in the place of the step from numbers to bytes.
    fn takes_numbers(&self) -> bool {
        matches!(self, Self::Pcodec(_))
    }
}

fn level_json(level: i64) -> String {
    format!(r#""level":{level}"#)
}

fn low(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
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

    /// Adds the codec of this name at this place of the list. False if this library does not know it, or not
    /// at this place. The error says what its configuration was expected to be.
    pub(super) fn add(
        &mut self,
        name: &str,
        configuration: Option<&Map<String, Value>>,
        place: usize,
        data_type: DataType,
    ) -> Result<bool, &'static str> {
        let configuration = Configuration(configuration);
        let may_compress = self.compressor.is_none() && !self.crc32c;
        match name {
            "numcodecs.shuffle" => {
                let size = configuration.number("elementsize", 4).filter(|&size| size > 0);
                let size = size.ok_or("an elementsize of at least 1")?;
                if place == 0 || self.shuffle.is_some() || !may_compress {
                    return Ok(false);
                }
                self.shuffle = Some(size);
            }
            "crc32c" if place == 0 || self.crc32c => return Ok(false),
            "crc32c" => self.crc32c = true,
            _ => {
                let Some(found) = Compressor::of_json(name, configuration, data_type) else {
                    return Ok(false);
                };
                let found = found?;
                // What takes numbers comes first, and only then.
                let takes_these = !found.takes_numbers() || is_of_pcodec(data_type);
                if !may_compress || !takes_these || (place == 0) != found.takes_numbers() {
                    return Ok(false);
                }
                self.compressor = Some(found);
            }
        }
        Ok(true)
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
        let parameters = self.compressor.as_ref().map(Compressor::parameters);
        dataset.shuffle = self.shuffle.is_some() || parameters.is_some_and(Parameters::shuffles);
        let level =
            |level: i64| u32::try_from(level).ok().filter(|level| *level <= super::MAX_LEVEL).unwrap_or(6);
        let nearest = parameters.map(Parameters::nearest);
        (dataset.codec, dataset.level) =
            nearest.map_or((Codec::default(), None), |(codec, found)| (codec, Some(level(found))));
    }

    /// The list as JSON. It is not built from a map: whether a map keeps the order of its keys depends on the
    /// features of `serde_json`, and the bytes of a file must not.
    pub fn to_json(&self, data_type: DataType) -> String {
        let named = |name: &str, configuration: &str| {
            format!(r#"{{"name":"{name}","configuration":{{{configuration}}}}}"#)
        };
        let mut list = Vec::new();
        if !self.compressor.as_ref().is_some_and(Compressor::takes_numbers) {
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
        if let Some(compressor) = &self.compressor {
            list.push(named(compressor.name(), &compressor.parameters().to_json()));
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
        let compressor = self.compressor.map(|compressor| compressor.parameters().filter(chunk_bytes));
        let compressor = compressor.transpose()?;
        if self.crc32c {
            return Err("with a CRC-32C, for which HDF5 has no filter");
        }
        Ok(shuffle.into_iter().chain(compressor).collect())
    }
}
