//! `scda copy`, and what it has in common with the other commands that write sections of files.

use crate::check::Verified;
use crate::datasets::source::Source;
use crate::datasets::{Found, Item, Pair, Walk};
use crate::edit::{Bound, Chunking, Meant, Pick, Replacement};
use crate::fail::{Fail, Result};
use crate::files::{EncoderName, Held, Input, Output, Seal, Style, Threads, is_standard};
use crate::output::complain;
use crate::pieces::Stream;
use crate::progress::Progress;
use crate::select::{self, Selection};
use crate::streams;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use scda::internals::Codecs;
use scda::internals::json::members;
use scda::internals::metadata::{self, ALIGNMENT};
use scda::internals::parse::KEYS;
use scda::internals::to_usize;
use scda::{Codec, Dataset, Encode, Layout, LineBreak, Params, Reader, Section, SectionType, Writer};
use std::collections::HashSet;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Copy a file, compressed or not, or some of its sections
///
/// Without options the copy has the same sections, and compressed data stay byte for byte as they are; it is sealed if IN
/// is, with one seal. OUT appears when it is complete. The memory needed does not grow with the file, but one element, or a compressed block, must fit into it.
///
/// Of a dataset both sections are copied or none. --encode stores datasets in compressed chunks, --decode contiguously;
/// --chunk chooses the shape of the chunks. OUT may be IN, with --force: IN stays as it is until OUT is complete.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda copy --encode auto state.scda small.scda      what gets smaller is compressed
  scda copy --encode 6 state.scda small.scda         everything compressed, with level 6
  scda copy --codec pcodec state.scda archive.scda   chunks of datasets compressed anew
  scda copy --max-relative-error 1e-4 state.scda small.scda   floating-point numbers rounded, and compressed
  scda copy --decode small.scda plain.scda           nothing compressed
  scda copy --select 1-3 --select 'field*' state.scda part.scda
  scda copy --chunk 64,64 --encode 6 state.scda small.scda   datasets of two dimensions in chunks of this shape
  scda copy --force --delete 'tmp/*' state.scda state.scda    without these datasets
  scda copy --pack-streams --encode auto run.scda small.scda  each set of streams as a compressed varray
  scda copy --replace rho=new.scda state.scda next.scda       with the dataset of this name from another file
  scda copy --style mime state.scda mail.scda        lines end with \\r\\n; compressed data are compressed anew")]
pub struct Args {
    /// The file to read; - is standard input
    #[arg(value_name = "IN")]
    from: PathBuf,
    /// The file to write; - is standard output
    #[arg(value_name = "OUT")]
    to: PathBuf,
    #[command(flatten)]
    how: How,
    /// Only these sections: numbers, ranges, or a pattern for user strings
    #[arg(short, long, value_name = "SECTIONS")]
    select: Vec<Selection>,
    /// Not these sections, datasets and groups: as in --select
    #[arg(long, value_name = "SECTIONS")]
    delete: Vec<Selection>,
    /// In place of the section or dataset NAME the one that FILE has; several of them in order
    #[arg(long, value_name = "NAME=FILE")]
    replace: Vec<String>,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
    /// Also what is behind the last seal of a sealed file: what a killed job has left, or another one writes now
    #[arg(long)]
    unsealed: bool,
    #[command(flatten)]
    threads: Threads,
}

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
pub struct How {
    /// Compress all sections but inline ones: auto compresses those that get smaller, a level from 0 to 9 all of them
    #[arg(long, value_name = "auto|LEVEL", conflicts_with = "decode")]
    encode: Option<Compress>,
    /// The level, 0 to 9, of chunks that --chunk or --encode auto makes [default: that of the dataset, or of the library]
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(0..=9))]
    level: Option<u32>,
    /// How chunks of datasets are compressed [default: as they are, zstd for those that had none]. Alone, or with --level, for datasets
    /// that are in chunks already
    #[arg(long, value_name = "CODEC", value_parser = codec_parser(), conflicts_with = "decode")]
    codec: Option<Codec>,
    /// Store datasets in chunks of this shape, such as 64,64, or of one that is chosen: auto; with a pattern for names
    /// only those of such a name, otherwise only those of as many dimensions
    #[arg(long, value_name = "[NAME=]SHAPE", conflicts_with = "decode")]
    chunk: Vec<Chunking>,
    /// Round floating-point numbers, so that they get smaller compressed: each changes by this part of it at most, such as 1e-3. Contiguous
    /// datasets get chunks. With a pattern for names only datasets of such a name
    #[arg(long, value_name = "[NAME=]ERROR", conflicts_with = "decode")]
    max_relative_error: Vec<Bound>,
    /// Likewise: each changes by this number at most
    #[arg(long, value_name = "[NAME=]ERROR", conflicts_with = "decode")]
    max_absolute_error: Vec<Bound>,
    /// Decompress all sections; store datasets contiguously
    #[arg(long)]
    decode: bool,
    /// Store each set of streams as a varray of its name, with an element for each task; --encode compresses it
    #[arg(long)]
    pack_streams: bool,
    /// The line breaks of paddings and compressed data [default: those of the file]
    #[arg(long, value_name = "STYLE")]
    style: Option<Style>,
    /// The encoder: fast, or zlib for the bytes that zlib writes
    #[arg(long, value_name = "ENCODER", requires = "encode")]
    encoder: Option<EncoderName>,
    #[command(flatten)]
    seal: Seal,
}

/// Takes the name of a codec.
pub fn codec_parser() -> impl TypedValueParser<Value = Codec> {
    PossibleValuesParser::new(Codec::NAMES.map(|(_, name)| name))
        .map(|name| Codec::from_name(&name).unwrap_or_default())
}

impl How {
    /// The parameters for a file that is written as this one.
    pub fn params_like(&self, reader: &Reader, threads: &Threads) -> Params {
        let mut params = self.params(reader.line_break(), threads);
        params.seal = self.seal.wanted(reader.is_sealed());
        params
    }

    /// The parameters for a file whose sections come from one with this style.
    pub fn params(&self, style: LineBreak, threads: &Threads) -> Params {
        let mut params = Params::default();
        params.threads = threads.count();
        params.line_break = self.style.map_or(style, LineBreak::from);
        if let Some(level) = self.new_level() {
            params.level = level;
        }
        params.encoder = self.encoder.map_or(params.encoder, Into::into);
        params
    }

    /// The level that was asked for.
    fn new_level(&self) -> Option<u32> {
        match self.encode {
            Some(Compress::Level(level)) => Some(level),
            Some(Compress::Auto) | None => self.level,
        }
    }

    /// Trouble if options do not go together.
    pub fn check(&self) -> Result<()> {
        if let (Some(Compress::Level(_)), Some(_)) = (self.encode, self.level) {
            return Err(Fail::Trouble("found --encode LEVEL and --level, expected one of them".to_owned()));
        }
        let has_chunks =
            !self.chunk.is_empty() || self.codec.is_some() || matches!(self.encode, Some(Compress::Auto));
        let has_chunks =
            has_chunks || !self.max_relative_error.is_empty() || !self.max_absolute_error.is_empty();
        if self.level.is_some() && !has_chunks {
            let words = "--level is for --chunk, --codec and --encode auto; --encode LEVEL has its own";
            return Err(Fail::Trouble(words.to_owned()));
        }
        Ok(())
    }

    /// Trouble if a pattern of an option has named no dataset.
    pub fn check_names(&self) -> Result<()> {
        let of_bounds = |bounds: &'_ [Bound]| bounds.iter().map(|bound| bound.meant().clone()).collect();
        let options: [(&str, Vec<Meant>); 3] = [
            ("--chunk", self.chunk.iter().map(|chunking| chunking.meant().clone()).collect()),
            ("--max-relative-error", of_bounds(&self.max_relative_error)),
            ("--max-absolute-error", of_bounds(&self.max_absolute_error)),
        ];
        for (option, all) in options {
            if let Some(place) = all.iter().position(Meant::is_unused) {
                let count = place + 1;
                return Err(Fail::Trouble(format!(
                    "{option}: the pattern {count} names no dataset that is copied"
                )));
            }
        }
        Ok(())
    }

    /// Sets how far the numbers of a dataset may be from those that are copied; whether they may be at all.
    fn bound(&self, dataset: &mut Dataset) -> bool {
        let of = |bounds: &[Bound]| bounds.iter().map(|bound| bound.of(dataset)).find(|&error| error > 0.0);
        let (relative, absolute) = (of(&self.max_relative_error), of(&self.max_absolute_error));
        dataset.max_relative_error = relative.unwrap_or(0.0);
        dataset.max_absolute_error = absolute.unwrap_or(0.0);
        relative.is_some() || absolute.is_some()
    }

    /// How a dataset is stored, if not as it is.
    fn stored(&self, found: &Found) -> Result<Option<Dataset>> {
        let mut dataset = found.dataset.clone();
        if self.decode {
            let is_plain = dataset.layout == Layout::Contiguous && !found.data.decoded;
            dataset.layout = Layout::Contiguous;
            return Ok((!is_plain).then_some(dataset));
        }
        // Each pattern notes whether it matches a dataset.
        let chosen: Vec<_> = self.chunk.iter().filter(|chunking| chunking.is_for(&dataset)).collect();
        let chosen = chosen.first();
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
            // The options say nothing of shuffling.
            _ => {
                dataset.shuffle = true;
                (None, false)
            }
        };
        let shape = chosen.map_or(Ok(old), |chunking| chunking.shape(&dataset))?;
        dataset.level = self.new_level().or(dataset.level);
        dataset.layout = match self.encode {
            Some(Compress::Auto) if !text => Layout::Auto { shape },
            _ => Layout::Chunked { shape, text },
        };
        Ok(Some(dataset))
    }

    /// How this section is written.
    fn encode(&self, section: &Section) -> Encode {
        match self.encode {
            Some(Compress::Auto) => Encode::Auto,
            Some(Compress::Level(_)) => Encode::Always,
            None if section.decoded && !self.decode => Encode::Always,
            None => Encode::None,
        }
    }

    /// Says that compressing has made the file larger than its sections were.
    pub fn tell_growth(&self, to: &Path, copied: Copied) {
        let found = std::fs::metadata(to).ok().filter(|_| !is_standard(to)).map_or(0, |status| status.len());
        let before = copied.bytes + FILE_HEADER_BYTES;
        if matches!(self.encode, Some(Compress::Level(_))) && found > before {
            complain(&format!(
                "{}: compressing made {before} bytes {found}; --encode auto compresses only sections that get smaller",
                to.display()
            ));
        }
    }
}

/// Before the sections of a file.
const FILE_HEADER_BYTES: u64 = 128;

/// Totals of what was copied.
#[derive(Clone, Copy, Default)]
pub struct Copied {
    pub sections: u64,
    /// The bytes that these sections have in the files that they come from.
    bytes: u64,
}

impl AddAssign for Copied {
    fn add_assign(&mut self, other: Self) {
        self.sections += other.sections;
        self.bytes += other.bytes;
    }
}

/// Writes sections of a file. What is sealed is compared with its checksums before it is written.
pub fn sections(
    input: &Input,
    from: &mut Verified,
    output: &mut Output,
    how: &How,
    pick: &mut Pick<'_>,
    style: LineBreak,
) -> Result<Copied> {
    let total = from.reader.file_size().unwrap_or(0);
    let mut progress = Progress::new(&format!("copy {}", input.name()), total);
    let mut walk = Walk::with_streams(input);
    let mut copied = Copied::default();
    let mut packed = HashSet::new();
    while let Some(item) = from.next(&mut walk)? {
        if output.is_sealed()
            && let Some(error) = item.section.broken_seal()
        {
            return Err(Fail::Invalid(format!("{}: {error}", input.name())));
        }
        let set = item.streams.as_ref().filter(|_| how.pack_streams).map(|found| &found.streams);
        let is_packed = set.is_some_and(|part| part.part() > 0 && packed.contains(&**part.name()));
        if !pick.wants(&item) {
            if is_packed {
                return Err(Fail::file(input.name(), streams::left_out(&item)));
            }
            set.map(|part| packed.remove(&**part.name()));
            from.skip(&item)?;
            continue;
        }
        let metadata = pick.metadata(&item);
        let way = Way { how, style };
        if is_packed {
            // This part was packed with the first one.
            from.compare(&item)?;
            from.skip(&item)?;
            progress.set(from.reader.position().unwrap_or(0));
            continue;
        }
        packed.extend(set.map(|part| part.name().to_vec()));
        if let Some(other) = pick.replacement(&item)? {
            other.write(output, way, &mut progress)?;
            from.skip(&item)?;
        } else {
            from.compare(&item)?;
            way.item(&mut from.reader, &mut walk, &item, output, metadata, &mut progress)?;
        }
        let end = from.reader.position().unwrap_or(0);
        let sections = item.last() + 1 - item.number;
        copied += Copied { sections, bytes: end - item.section.offset };
        progress.set(end);
    }
    select::check(pick.select, input.name(), walk.number)?;
    pick.check(input.name())?;
    Ok(copied)
}

/// How sections are written, and with which line breaks.
#[derive(Clone, Copy)]
pub struct Way<'a> {
    how: &'a How,
    style: LineBreak,
}

impl Way<'_> {
    /// Whether compressed data, which have line breaks, stay as they are.
    fn keeps_style(self, reader: &Reader) -> bool {
        self.how.style.is_none() && self.style == reader.line_break()
    }

    /// Writes a section, dataset or group, of which the reader has read the first header, and goes behind it. `metadata`
    /// come in place of those that it has.
    pub fn item(
        self,
        reader: &mut Reader,
        walk: &mut Walk<'_>,
        item: &Item,
        output: &mut Output,
        new_metadata: Option<String>,
        progress: &mut Progress,
    ) -> Result<()> {
        let section = &item.section;
        if let Some(found) = &item.streams {
            if self.how.pack_streams {
                let name = walk.file_name();
                let beside = walk.dataset_reader()?;
                let set = streams::whole(beside, name, found, item.number)?;
                let encode = self.how.encode(&found.chunks);
                let mut elements = streams::Elements::new(beside, &set, progress);
                output.writer()?.varray_from(set.name(), set.tasks(), &mut elements, encode)?;
                return Ok(item.skip(reader)?);
            }
            // Streams are not compressed.
            self.keep(reader, output, section, progress)?;
            for part in [&found.chunks, &found.lengths] {
                reader.next_section(true)?;
                self.keep(reader, output, part, progress)?;
            }
            return Ok(());
        }
        let found = match &item.pair {
            Some(Pair::Dataset(found)) => found,
            Some(Pair::Group(found)) => {
                self.keep(reader, output, section, progress)?;
                reader.next_section(true)?;
                let Some(text) = new_metadata else {
                    return self.keep(reader, output, &found.block, progress);
                };
                let (user, bytes) = (&found.block.user, text.len() as u64);
                output.writer()?.block_from(user, bytes, &mut text.as_bytes(), Encode::None)?;
                return Ok(reader.skip()?);
            }
            None => {
                let as_they_are = self.how.encode.is_none() && !self.how.decode && self.keeps_style(reader);
                return match as_they_are {
                    true => as_it_is(reader, output.writer()?, section, progress),
                    false => one(reader, output.writer()?, section, self.how.encode(section), progress),
                };
            }
        };
        if let Some(stored) = self.how.stored(found)? {
            let Some(why) = &stored.unsupported else {
                let lost = unknown_keys(&read_metadata(reader, section)?)?;
                if !lost.is_empty() {
                    let (name, lost) = (&stored.name, lost.join(", "));
                    complain(&format!("dataset \"{name}\": left out of its new metadata: {lost}"));
                }
                // What is wrong with it is said before anything is read. It is what was asked for, and no damage of a file.
                let codecs = Codecs::of(&stored, Params::DEFAULT_LEVEL);
                metadata::of_dataset(&stored, &codecs)
                    .map_err(|error| Fail::Trouble(format!("dataset \"{}\": {error}", stored.name)))?;
                let path = output.path().to_owned();
                let mut items = Source::new(walk.dataset_reader()?, found, &path);
                output.writer()?.dataset_from(&stored, &mut items)?;
                return Ok(item.skip(reader)?);
            };
            complain(&format!("dataset \"{}\" stays as it is: it cannot be read: {why}", stored.name));
        }
        match new_metadata.map_or_else(|| shifted(reader, output, found), |text| Ok(Some(text)))? {
            Some(text) => {
                let is_plain = found.dataset.layout == Layout::Contiguous && !found.data.decoded;
                output.metadata(text, if is_plain { found.dataset.data_bytes()? } else { 0 })?;
                reader.skip()?;
            }
            None => self.keep(reader, output, section, progress)?,
        }
        reader.next_section(true)?;
        self.keep(reader, output, &found.data, progress)
    }

    /// Writes a section neither more nor less compressed than it is.
    fn keep(
        self,
        reader: &mut Reader,
        output: &mut Output,
        section: &Section,
        progress: &mut Progress,
    ) -> Result<()> {
        let encode = if section.decoded { Encode::Always } else { Encode::None };
        match self.keeps_style(reader) {
            true => as_it_is(reader, output.writer()?, section, progress),
            false => one(reader, output.writer()?, section, encode, progress),
        }
    }
}

/// The metadata of a dataset whose data are aligned, and would not be behind the bytes that the metadata have: without the
/// white space at their end.
fn shifted(reader: &mut Reader, output: &mut Output, found: &Found) -> Result<Option<String>> {
    let Found { dataset, block, data } = found;
    let is_aligned =
        data.data_offset % ALIGNMENT == 0 && dataset.layout == Layout::Contiguous && !data.decoded;
    let position = output.writer()?.position().unwrap_or(0);
    if block.decoded || !is_aligned || position % ALIGNMENT == block.offset % ALIGNMENT {
        return Ok(None);
    }
    Ok(Some(read_metadata(reader, block)?.trim_end().to_owned() + "\n"))
}

/// The keys of metadata that this library ignores, and does not write.
fn unknown_keys(metadata: &str) -> Result<Vec<String>> {
    let members = members(metadata.as_bytes())?;
    Ok(members.into_iter().map(|member| member.key).filter(|key| !KEYS.contains(&&**key)).collect())
}

/// The text of the block of metadata whose header was just read.
pub fn read_metadata(reader: &mut Reader, block: &Section) -> Result<String> {
    let mut text = vec![0; to_usize(block.size)];
    reader.read_block_range(0..block.size, &mut text)?;
    // The caller has parsed the metadata.
    String::from_utf8(text).map_err(|_| Fail::Trouble("metadata: the file has changed".to_owned()))
}

/// Writes the reader's current section with the bytes that it has in the file; if they are compressed, both sections
/// that stand for it.
pub fn as_it_is(
    reader: &mut Reader,
    writer: &mut Writer,
    section: &Section,
    progress: &mut Progress,
) -> Result<()> {
    if !section.decoded {
        return one(reader, writer, section, Encode::None, progress);
    }
    reader.seek(section.offset)?;
    for _ in 0..2 {
        if let Some(part) = reader.next_section(false)? {
            one(reader, writer, &part, Encode::None, progress)?;
        }
    }
    Ok(())
}

/// Writes the first elements of a damaged array or varray as a section, as [`as_it_is`], with the name that `section` has.
pub fn leading(
    reader: &mut Reader,
    writer: &mut Writer,
    section: &Section,
    count: u64,
    progress: &mut Progress,
) -> Result<()> {
    reader.seek(section.offset)?;
    for _ in 0..if section.decoded { 2 } else { 1 } {
        let Some(mut part) = reader.next_section(false)? else { break };
        part.count = part.count.min(count);
        if !section.decoded {
            part.user = section.user;
        }
        write(reader, writer, &part, Encode::None, progress)?;
        if part.second_of_pair().is_some() {
            reader.skip()?;
        }
    }
    Ok(())
}

/// Writes the reader's current section, and ends it.
fn one(
    reader: &mut Reader,
    writer: &mut Writer,
    section: &Section,
    encode: Encode,
    progress: &mut Progress,
) -> Result<()> {
    write(reader, writer, section, encode, progress)?;
    Ok(reader.skip()?)
}

/// Writes the reader's current section, which `section` describes.
fn write(
    reader: &mut Reader,
    writer: &mut Writer,
    section: &Section,
    encode: Encode,
    progress: &mut Progress,
) -> Result<()> {
    let user = &section.user;
    if section.section_type == SectionType::Inline {
        let mut data = [0; scda::INLINE_BYTES];
        reader.read_inline(0, Some(&mut data))?;
        return Ok(writer.inline(user, 0, Some(&data))?);
    }
    let mut stream = Stream::new(reader, section, progress);
    match section.section_type {
        SectionType::Inline | SectionType::Block => {
            writer.block_from(user, section.size, &mut stream, encode)?;
        }
        SectionType::Array => writer.array_from(user, section.count, section.size, &mut stream, encode)?,
        SectionType::Varray => writer.varray_from(user, section.count, &mut stream, encode)?,
    }
    stream.finish()
}

pub fn run(args: &Args) -> Result<()> {
    args.how.check()?;
    let others = args.replace.iter().filter_map(|text| Some(Path::new(text.split_once('=')?.1)));
    let inputs = std::iter::once(args.from.as_path()).chain(others);
    let held = Held::among(&args.to, args.force, inputs)?;
    let input = Input::new(&args.from, &args.threads)?.with_unsealed(args.unsealed);
    let mut from = Verified::new(&input)?;
    let user = *from.reader.user();
    let params = args.how.params_like(&from.reader, &args.threads);
    let style = params.line_break;
    let replacement = |text: &String| Replacement::new(text, args.how.pack_streams, &args.threads);
    let mut pick = Pick::new(&args.select, &args.delete);
    pick.replace = args.replace.iter().map(replacement).collect::<Result<_>>()?;
    pick.replace.iter().try_for_each(|other| other.input.check_not_left(&args.to))?;
    let inputs = std::slice::from_ref(&input);
    let mut output = Output::create(&args.to, args.force, &user, params, inputs)?;
    let copied = sections(&input, &mut from, &mut output, &args.how, &mut pick, style)?;
    select::check_some(&args.select, input.name(), copied.sections)?;
    args.how.check_names()?;
    held.as_ref().map_or(Ok(()), Held::check)?;
    output.finish()?;
    args.how.tell_growth(&args.to, copied);
    Ok(())
}
