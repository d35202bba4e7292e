//! The list of codecs in the metadata of a dataset, as JSON. Names and configurations are those of Zarr v3,
//! and of numcodecs for names that begin with `numcodecs.`. `scda_codec::chunk` executes the list.

use super::{DataType, Dataset, Kind, Layout};
use serde_json::{Map, Value};

/// How the chunks of a dataset are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// Zstandard (RFC 8878) after a byte shuffle, in a Blosc frame: fast, and small.
    #[default]
    Zstd,
    /// LZ4 after a byte shuffle, in a Blosc frame: faster, and a little larger.
    Lz4,
    /// Pcodec: the smallest for numbers of 16 to 64 bits. Other types are compressed as with [`Codec::Zstd`].
    Pcodec,
    /// zlib (RFC 1950) after a byte shuffle: any reader can decompress it.
    Zlib,
}

impl Codec {
    /// All of them, with their names.
    pub const NAMES: [(Self, &'static str); 4] =
        [(Self::Zstd, "zstd"), (Self::Lz4, "lz4"), (Self::Pcodec, "pcodec"), (Self::Zlib, "zlib")];

    /// The codec of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        value_of(&Self::NAMES, name)
    }
}

impl std::fmt::Display for Codec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(name_of(&Self::NAMES, *self))
    }
}

/// The compressors of Blosc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BloscCompressor {
    /// BloscLZ.
    BloscLz,
    /// LZ4.
    Lz4,
    /// LZ4, compressed more slowly.
    Lz4Hc,
    /// Snappy.
    Snappy,
    /// zlib.
    Zlib,
    /// Zstandard.
    Zstd,
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

/// How Blosc reorders bytes before it compresses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BloscShuffle {
    /// Not at all.
    None,
    /// The first bytes of all items, then the second ones, and so on.
    Bytes,
    /// Likewise, bit by bit.
    Bits,
}

impl BloscShuffle {
    const NAMES: [(Self, &'static str); 3] =
        [(Self::None, "noshuffle"), (Self::Bytes, "shuffle"), (Self::Bits, "bitshuffle")];
}

/// The largest items that Blosc shuffles, in bytes.
pub const MOST_BLOSC_BYTES: u64 = 255;

/// One step, from bytes to bytes. A reader does not need the numbers in it unless their comment says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Shuffles the bytes of elements of this size, which a reader needs to know.
    Shuffle(u64),
    /// A zlib stream (RFC 1950).
    Zlib {
        /// The level, 0 to 9.
        level: i64,
    },
    /// A gzip stream (RFC 1952).
    Gzip {
        /// The level, 0 to 9.
        level: i64,
    },
    /// A Zstandard frame (RFC 8878).
    Zstd {
        /// The level.
        level: i64,
        /// Whether the frame has a checksum.
        checksum: bool,
    },
    /// A CRC-32C of the bytes before it, 4 bytes in little-endian order.
    Crc32c,
    /// A frame of Blosc 1, which repeats how it was made.
    Blosc {
        /// The compressor of its blocks.
        compressor: BloscCompressor,
        /// The level, 0 to 9.
        level: u32,
        /// How bytes are reordered before.
        shuffle: BloscShuffle,
        /// The size of the items whose bytes are reordered.
        item_bytes: u64,
        /// The bytes of a block; 0 if Blosc chooses.
        block_bytes: u64,
    },
    /// Numbers in the format of a Pcodec file. This step replaces the one from numbers to bytes.
    Pcodec {
        /// The level, 0 to 12.
        level: u32,
    },
}

impl Step {
    /// Whether the length of the result depends on the data.
    pub fn compresses(self) -> bool {
        self.place() == 1
    }

    /// The position among the steps: each position occurs at most once, in ascending order.
    pub fn place(self) -> u8 {
        match self {
            Self::Shuffle(_) => 0,
            Self::Zlib { .. }
            | Self::Gzip { .. }
            | Self::Zstd { .. }
            | Self::Blosc { .. }
            | Self::Pcodec { .. } => 1,
            Self::Crc32c => 2,
        }
    }

    /// The step as JSON, with the keys in the order of zarr-python.
    fn to_json(self) -> String {
        let named = |name: &str, configuration: &str| {
            format!(r#"{{"name":"{name}","configuration":{{{configuration}}}}}"#)
        };
        match self {
            Self::Shuffle(size) => named("numcodecs.shuffle", &format!(r#""elementsize":{size}"#)),
            Self::Zlib { level } => named("numcodecs.zlib", &format!(r#""level":{level}"#)),
            Self::Gzip { level } => named("gzip", &format!(r#""level":{level}"#)),
            Self::Zstd { level, checksum } => {
                named("zstd", &format!(r#""level":{level},"checksum":{checksum}"#))
            }
            Self::Crc32c => r#"{"name":"crc32c"}"#.into(),
            Self::Blosc { compressor, level, shuffle, item_bytes, block_bytes } => {
                let (compressor, shuffle) =
                    (name_of(&BloscCompressor::NAMES, compressor), name_of(&BloscShuffle::NAMES, shuffle));
                let configuration = format!(
                    r#""typesize":{item_bytes},"cname":"{compressor}","clevel":{level},"shuffle":"{shuffle}","blocksize":{block_bytes}"#
                );
                named("blosc", &configuration)
            }
            Self::Pcodec { level } => named("numcodecs.pcodec", &format!(r#""level":{level}"#)),
        }
    }

    /// The step with this name and configuration, for items of `item_bytes` bytes; `None` if this library
    /// does not know it. The error says what was expected.
    pub fn of_json(
        name: &str,
        configuration: Option<&Map<String, Value>>,
        item_bytes: u64,
    ) -> Option<Result<Self, &'static str>> {
        let get = |key: &str| configuration.and_then(|configuration| configuration.get(key));
        let level = |default: i64, least: i64, most: i64| {
            let level = get("level").map_or(Some(default), Value::as_i64);
            level.filter(|level| (least..=most).contains(level))
        };
        Some(match name {
            "numcodecs.shuffle" => match get("elementsize").map_or(Some(4), Value::as_u64) {
                Some(0) | None => Err("an elementsize of at least 1"),
                Some(size) => Ok(Self::Shuffle(size)),
            },
            "numcodecs.zlib" => level(1, -1, 9).map(|level| Self::Zlib { level }).ok_or("a level, -1 to 9"),
            "gzip" => level(5, 0, 9).map(|level| Self::Gzip { level }).ok_or("a level, 0 to 9"),
            "zstd" => {
                let checksum = get("checksum").map_or(Some(false), Value::as_bool);
                let step = level(0, -131_072, 22).zip(checksum);
                step.map(|(level, checksum)| Self::Zstd { level, checksum })
                    .ok_or("a level, -131072 to 22, and perhaps a checksum, true or false")
            }
            "crc32c" => Ok(Self::Crc32c),
            "blosc" => {
                let text = |key: &str| get(key).and_then(Value::as_str);
                let number = |key: &str| get(key).map(Value::as_u64);
                let blosc = || {
                    let shuffle = value_of(&BloscShuffle::NAMES, text("shuffle")?)?;
                    // Without a shuffle, the size does not matter.
                    let item = number("typesize").unwrap_or(Some(item_bytes.min(MOST_BLOSC_BYTES)));
                    Some(Self::Blosc {
                        compressor: value_of(&BloscCompressor::NAMES, text("cname")?)?,
                        level: number("clevel")?.and_then(|level| u32::try_from(level).ok())?,
                        shuffle,
                        item_bytes: item.filter(|item| (1..=MOST_BLOSC_BYTES).contains(item))?,
                        block_bytes: number("blocksize").unwrap_or(Some(0))?,
                    })
                };
                blosc().ok_or("a cname, clevel, shuffle, typesize (1 to 255) and blocksize of Blosc")
            }
            "numcodecs.pcodec" => level(8, 0, 12)
                .and_then(|level| u32::try_from(level).ok())
                .map(|level| Self::Pcodec { level })
                .ok_or("a level, 0 to 12"),
            _ => return None,
        })
    }
}

fn name_of<T: PartialEq>(names: &'static [(T, &'static str)], value: T) -> &'static str {
    names.iter().find(|(known, _)| *known == value).map_or("", |(_, name)| name)
}

fn value_of<T: Copy>(names: &[(T, &str)], name: &str) -> Option<T> {
    names.iter().find(|(_, known)| *known == name).map(|(value, _)| *value)
}

/// Lower levels of Pcodec have too few bins for most numbers, and gain no time.
const LEAST_PCODEC_LEVEL: u32 = 4;

/// The name of the codec that turns items of this type into bytes, unless the first step is [`Step::Pcodec`].
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

/// What was done to the bytes of a chunk, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Codecs {
    /// Whether the numbers are in big-endian order, as other programs may write them; otherwise
    /// little-endian.
    pub big_endian: bool,
    /// The steps after that, in ascending order of their positions.
    pub steps: Vec<Step>,
}

impl Codecs {
    /// The codecs that this library applies to a dataset; `zlib_level` is the level of zlib if the dataset
    /// names none.
    pub fn of(dataset: &Dataset, zlib_level: u32) -> Self {
        let item_bytes = if dataset.data_type.is_variable() { 1 } else { dataset.data_type.item_bytes() };
        let shuffle = (dataset.shuffle && item_bytes > 1).then_some(Step::Shuffle(item_bytes));
        let level = dataset.level.unwrap_or(match dataset.codec {
            Codec::Zstd | Codec::Lz4 => 1,
            Codec::Pcodec if is_of_pcodec(dataset.data_type) => 8,
            Codec::Pcodec => 9,
            Codec::Zlib => zlib_level,
        });
        let blosc = |compressor| {
            let shuffles = shuffle.is_some() && item_bytes <= MOST_BLOSC_BYTES;
            vec![Step::Blosc {
                compressor,
                level,
                shuffle: if shuffles { BloscShuffle::Bytes } else { BloscShuffle::None },
                item_bytes: if item_bytes <= MOST_BLOSC_BYTES { item_bytes } else { 1 },
                block_bytes: 0,
            }]
        };
        let steps = match (&dataset.layout, dataset.codec) {
            (Layout::Contiguous, _) => Vec::new(),
            (Layout::Chunked { text: true, .. }, _) => shuffle.into_iter().collect(),
            (_, Codec::Zlib) => shuffle.into_iter().chain([Step::Zlib { level: level.into() }]).collect(),
            (_, Codec::Pcodec) if is_of_pcodec(dataset.data_type) => {
                vec![Step::Pcodec { level: level.max(LEAST_PCODEC_LEVEL) }]
            }
            (_, Codec::Lz4) => blosc(BloscCompressor::Lz4),
            (_, Codec::Zstd | Codec::Pcodec) => blosc(BloscCompressor::Zstd),
        };
        Self { big_endian: false, steps }
    }

    /// The step whose length depends on the data, if there is one.
    pub fn compressor(&self) -> Option<Step> {
        self.steps.iter().copied().find(|step| step.compresses())
    }

    /// Whether encoded chunks may differ in length from plain ones.
    pub fn changes_length(&self) -> bool {
        self.steps.iter().any(|step| !matches!(step, Step::Shuffle(_)))
    }

    /// Sets codec, level and shuffle of a dataset to the nearest equivalents.
    pub fn describe(&self, dataset: &mut Dataset) {
        dataset.shuffle = self.steps.iter().any(|step| {
            matches!(step, Step::Shuffle(_) | Step::Pcodec { .. })
                || matches!(step, Step::Blosc { shuffle, .. } if *shuffle != BloscShuffle::None)
        });
        let level =
            |level: i64| u32::try_from(level).ok().filter(|level| *level <= super::MAX_LEVEL).unwrap_or(6);
        (dataset.codec, dataset.level) = match self.compressor() {
            Some(Step::Zlib { level: found } | Step::Gzip { level: found }) => {
                (Codec::Zlib, Some(level(found)))
            }
            Some(Step::Zstd { level: found, .. }) => (Codec::Zstd, Some(level(found))),
            Some(Step::Pcodec { level: found }) => (Codec::Pcodec, Some(level(found.into()))),
            Some(Step::Blosc { compressor, level: found, .. }) => {
                let codec = match compressor {
                    BloscCompressor::Zstd => Codec::Zstd,
                    BloscCompressor::Zlib => Codec::Zlib,
                    BloscCompressor::BloscLz
                    | BloscCompressor::Lz4
                    | BloscCompressor::Lz4Hc
                    | BloscCompressor::Snappy => Codec::Lz4,
                };
                (codec, Some(level(found.into())))
            }
            None | Some(Step::Shuffle(_) | Step::Crc32c) => (Codec::default(), None),
        };
    }

    /// The list as JSON. It is not built from a map: whether a map keeps the order of its keys depends on the
    /// features of `serde_json`, and the bytes of a file must not.
    pub fn to_json(&self, data_type: DataType) -> String {
        let bytes = match data_type.number_bytes() {
            _ if data_type.is_variable() => &*format!(r#"{{"name":"{}"}}"#, first_codec(data_type)),
            1 => r#"{"name":"bytes"}"#,
            _ if self.big_endian => r#"{"name":"bytes","configuration":{"endian":"big"}}"#,
            _ => r#"{"name":"bytes","configuration":{"endian":"little"}}"#,
        };
        let is_of_numbers = matches!(self.steps.first(), Some(Step::Pcodec { .. }));
        let bytes = (!is_of_numbers).then(|| bytes.to_owned());
        let codecs: Vec<String> =
            bytes.into_iter().chain(self.steps.iter().map(|step| step.to_json())).collect();
        format!("[{}]", codecs.join(","))
    }
}
