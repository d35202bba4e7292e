//! Options for how sections and datasets are stored, of `scda copy` and of other commands that write.

use crate::fail::{Fail, Result};
use crate::files::{EncoderName, Resources, Seal, Style, is_standard};
use crate::output::complain;
use crate::select::Selection;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use scda::{Codec, Dataset, DatasetHandle, Encode, Hdf5, Layout, LineBreak, Reader, Section, WriteOptions};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Which sections are compressed.
#[derive(Clone, Copy)]
pub enum Compress {
    /// Sections that get smaller, with the default level.
    Auto,
    /// All sections, with this level.
    Level(u32),
}

impl FromStr for Compress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("auto", _) => Ok(Self::Auto),
            (_, Ok(level @ 0..=9)) => Ok(Self::Level(level)),
            _ => Err("expected auto, or a level from 0 to 9".to_owned()),
        }
    }
}

/// How sections are written.
#[derive(clap::Args, Default)]
pub struct StorageOptions {
    /// Compress all sections except inline ones: auto compresses those that get smaller, a level from 0 to 9
    /// all of them
    #[arg(long, value_name = "auto|LEVEL", conflicts_with = "decode")]
    pub encode: Option<Compress>,
    /// The compression level, 0 to 9, of chunks that --chunk or --encode auto makes [default: that of the
    /// dataset, or of the library]
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(0..=9))]
    level: Option<u32>,
    /// The codec of the chunks of datasets [default: unchanged; zstd for new chunks]. Alone or with --level,
    /// applies to datasets that are already in chunks
    #[arg(long, value_name = "CODEC", value_parser = codec_parser(), conflicts_with = "decode")]
    codec: Option<Codec>,
    /// Store datasets in chunks of this shape, such as 64,64, or auto to let the library choose. With NAME, a
    /// pattern, applies to datasets of such names, otherwise to datasets with this number of dimensions
    #[arg(long, value_name = "[NAME=]SHAPE", value_parser = parse_chunks, conflicts_with = "decode")]
    chunk: Vec<Targeted<Chunks>>,
    /// Round floating-point numbers so that they compress better: each changes at most by this fraction of
    /// its value, such as 1e-3. Contiguous datasets get chunks. With NAME, a pattern, applies only to
    /// datasets of such names
    #[arg(long, value_name = "[NAME=]ERROR", value_parser = parse_error, conflicts_with = "decode")]
    max_relative_error: Vec<Targeted<f64>>,
    /// Round as with --max-relative-error, but each number changes at most by this number
    #[arg(long, value_name = "[NAME=]ERROR", value_parser = parse_error, conflicts_with = "decode")]
    max_absolute_error: Vec<Targeted<f64>>,
    /// Decompress all sections, and store datasets contiguously
    #[arg(long)]
    pub decode: bool,
    /// The line breaks of paddings and compressed data [default: those of the input]
    #[arg(long, value_name = "STYLE")]
    pub style: Option<Style>,
    /// The encoder: fast, or zlib, which writes the same bytes as the zlib library [default: fast]
    #[arg(long, value_name = "ENCODER", requires = "encode")]
    encoder: Option<EncoderName>,
    #[command(flatten)]
    seal: Seal,
}

/// A copy is an HDF5 file if the original has room for the superblock.
pub fn hdf5_as(reader: &mut Reader) -> Hdf5 {
    if reader.inspect().has_superblock() { Hdf5::Close } else { Hdf5::Never }
}

/// Parses the name of a codec.
pub fn codec_parser() -> impl TypedValueParser<Value = Codec> {
    PossibleValuesParser::new(Codec::NAMES.map(|(_, name)| name))
        .map(|name| Codec::from_name(&name).unwrap_or_default())
}

impl StorageOptions {
    /// The parameters for a file that is written like this one.
    pub fn params_like(&self, reader: &mut Reader, resources: &Resources) -> WriteOptions {
        let mut params = self.params(reader.header().line_break, resources);
        params.seal = self.seal.wanted(reader.is_sealed());
        params.hdf5 = self.seal.wants_hdf5(hdf5_as(reader));
        params
    }

    /// The parameters for a file whose sections come from one with this style.
    pub fn params(&self, style: LineBreak, resources: &Resources) -> WriteOptions {
        let mut params = WriteOptions::default();
        resources.set(&mut params.tuning);
        params.line_break = self.style.map_or(style, LineBreak::from);
        if let Some(level) = self.new_level() {
            params.level = level;
        }
        params.encoder = self.encoder.map_or(params.encoder, Into::into);
        params
    }

    /// The level on the command line.
    fn new_level(&self) -> Option<u32> {
        match self.encode {
            Some(Compress::Level(level)) => Some(level),
            Some(Compress::Auto) | None => self.level,
        }
    }

    /// Fails if options exclude each other.
    pub fn check(&self) -> Result<()> {
        if let (Some(Compress::Level(_)), Some(_)) = (self.encode, self.level) {
            return Err(Fail::Trouble("--encode LEVEL and --level cannot be combined".to_owned()));
        }
        let has_chunks =
            !self.chunk.is_empty() || self.codec.is_some() || matches!(self.encode, Some(Compress::Auto));
        let has_chunks =
            has_chunks || !self.max_relative_error.is_empty() || !self.max_absolute_error.is_empty();
        if self.level.is_some() && !has_chunks {
            let words =
                "--level goes with --chunk, --codec and --encode auto; --encode LEVEL gives its own level";
            return Err(Fail::Trouble(words.to_owned()));
        }
        Ok(())
    }

    /// Fails if the pattern of an option has matched no dataset.
    pub fn check_names(&self) -> Result<()> {
        check_used("--chunk", &self.chunk)?;
        check_used("--max-relative-error", &self.max_relative_error)?;
        check_used("--max-absolute-error", &self.max_absolute_error)
    }

    /// Sets the bounds of rounding for a dataset; returns true if it may be rounded at all.
    fn bound(&self, dataset: &mut Dataset) -> bool {
        let of = |bounds: &[Targeted<f64>]| {
            bounds.iter().find_map(|bound| bound.of(dataset, |_| dataset.data_type.has_floats())).copied()
        };
        let (relative, absolute) = (of(&self.max_relative_error), of(&self.max_absolute_error));
        dataset.max_relative_error = relative.unwrap_or(0.0);
        dataset.max_absolute_error = absolute.unwrap_or(0.0);
        relative.is_some() || absolute.is_some()
    }

    /// The chunks that are asked for, for a dataset.
    fn chunks_of(&self, dataset: &Dataset) -> Result<Option<&Chunks>> {
        let has_as_many = |chunks: &Chunks| chunks.as_ref().is_none_or(|n| n.len() == dataset.shape.len());
        // Each pattern notes whether it matches a dataset.
        let all: Vec<_> = self.chunk.iter().filter_map(|chunks| chunks.of(dataset, has_as_many)).collect();
        match all.first() {
            Some(Some(chunk)) if chunk.len() != dataset.shape.len() => Err(Fail::Trouble(format!(
                "--chunk: found {} numbers, expected {} for the dataset \"{}\"",
                chunk.len(),
                dataset.shape.len(),
                dataset.name
            ))),
            first => Ok(first.copied()),
        }
    }

    /// The dataset as it is to be stored; `None` if it stays unchanged.
    pub fn stored(&self, found: &DatasetHandle) -> Result<Option<Dataset>> {
        let mut dataset = found.description().clone();
        if self.decode {
            let is_plain = dataset.layout == Layout::Contiguous && !found.data_section().decoded;
            dataset.layout = Layout::Contiguous;
            return Ok((!is_plain).then_some(dataset));
        }
        let chosen = self.chunks_of(&dataset)?;
        let is_recoded =
            self.codec.is_some() && matches!(dataset.layout, Layout::Chunked { text: false, .. });
        let is_rounded = self.bound(&mut dataset);
        if self.encode.is_none() && chosen.is_none() && !is_recoded && !is_rounded {
            return Ok(None);
        }
        if let Some(codec) = self.codec.filter(|codec| *codec != dataset.codec) {
            // Levels of different codecs have nothing in common.
            (dataset.codec, dataset.level) = (codec, None);
        }
        let (old, text) = match dataset.layout.clone() {
            Layout::Chunked { shape, text } => (shape, text),
            // The options do not determine shuffling.
            _ => {
                dataset.shuffle = true;
                (None, false)
            }
        };
        let shape = chosen.cloned().unwrap_or(old);
        dataset.level = self.new_level().or(dataset.level);
        dataset.layout = match self.encode {
            Some(Compress::Auto) if !text => Layout::Auto { shape },
            _ => Layout::Chunked { shape, text },
        };
        Ok(Some(dataset))
    }

    /// How this section is compressed.
    pub fn encode(&self, section: &Section) -> Encode {
        match self.encode {
            Some(Compress::Auto) => Encode::Auto,
            Some(Compress::Level(_)) => Encode::Always,
            None if section.decoded && !self.decode => Encode::Always,
            None => Encode::None,
        }
    }

    /// Reports if compression has made sections larger. The sections of the new file end at `end`; the originals had
    /// `bytes` bytes.
    pub fn report_growth(&self, to: &Path, end: u64, bytes: u64) {
        let before = bytes + FILE_HEADER_BYTES;
        if matches!(self.encode, Some(Compress::Level(_))) && end > before && !is_standard(to) {
            complain(&format!(
                "{}: compression turned {before} bytes into {end}; --encode auto compresses only sections that get smaller",
                to.display()
            ));
        }
    }
}

/// The bytes before the first section.
const FILE_HEADER_BYTES: u64 = 128;

/// The shape of chunks; `None`: the library chooses.
type Chunks = Option<Vec<u64>>;

fn parse_chunks(text: &str) -> Result<Targeted<Chunks>, String> {
    let number = |text: &str| text.parse().ok().filter(|&n| n > 0);
    Targeted::parse(text, |shape| match shape {
        "auto" => Ok(None),
        _ => match shape.split([',', 'x']).map(number).collect() {
            Some(numbers) => Ok(Some(numbers)),
            None => Err("expected auto, or numbers of at least 1, such as 64,64".to_owned()),
        },
    })
}

/// How far numbers may be from those that are copied.
fn parse_error(text: &str) -> Result<Targeted<f64>, String> {
    Targeted::parse(text, |error| {
        let error = error.parse().ok().filter(|&error: &f64| error > 0.0 && error.is_finite());
        error.ok_or_else(|| "expected a number above 0, such as 1e-3".to_owned())
    })
}

/// The value of an option, and the datasets to which it applies.
#[derive(Clone)]
pub struct Targeted<T> {
    /// A pattern for their names, if there is one.
    name: Option<Selection>,
    /// True if a dataset with such a name was found.
    used: Arc<AtomicBool>,
    value: T,
}

impl<T> Targeted<T> {
    /// Splits text with or without `NAME=` into the datasets and the value.
    fn parse(text: &str, value: impl FnOnce(&str) -> Result<T, String>) -> Result<Self, String> {
        let (name, rest) = text.rsplit_once('=').map_or((None, text), |(name, rest)| (Some(name), rest));
        let name = name.map(|name| Selection::Pattern(name.chars().collect()));
        Ok(Self { name, used: Arc::default(), value: value(rest)? })
    }

    /// The value for a dataset, if it applies to it; without a pattern, `is_default` decides.
    fn of(&self, dataset: &Dataset, is_default: impl FnOnce(&T) -> bool) -> Option<&T> {
        let is_meant = match &self.name {
            Some(name) => name.has_name(&dataset.name),
            None => is_default(&self.value),
        };
        self.used.fetch_or(is_meant, Relaxed);
        is_meant.then_some(&self.value)
    }
}

/// Fails if a pattern of this option has matched no dataset.
fn check_used<T>(option: &str, all: &[Targeted<T>]) -> Result<()> {
    let is_unused = |one: &Targeted<T>| one.name.is_some() && !one.used.load(Relaxed);
    all.iter().position(is_unused).map_or(Ok(()), |place| {
        let words = format!("{option}: the pattern {} matches no dataset that is copied", place + 1);
        Err(Fail::Trouble(words))
    })
}
