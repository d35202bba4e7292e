//! `scda copy`, and what it has in common with the other commands that write sections of files.

use crate::fail::Result;
use crate::files::{EncoderName, Input, Output, Seal, Style, Threads};
use crate::output::complain;
use crate::pieces::Stream;
use crate::progress::Progress;
use crate::select::{self, Selection};
use scda::{Encode, LineBreak, Params, Reader, Section, SectionType, Writer};
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Copy a file, compressed or not, or some of its sections
///
/// Without options the copy has the same sections, and compressed data stay byte for byte as they are; it is sealed if IN
/// is, with one seal. OUT appears when it is complete. The memory needed does not grow with the file, but one element, or a compressed block, must fit into it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda copy --encode auto state.scda small.scda      what gets smaller is compressed
  scda copy --encode 6 state.scda small.scda         everything compressed, with level 6
  scda copy --decode small.scda plain.scda           nothing compressed
  scda copy --select 1-3 --select 'field*' state.scda part.scda
  scda copy --style mime state.scda mail.scda        lines end with \\r\\n; compressed data are compressed anew")]
pub struct Args {
    /// The file to read; - is standard input
    #[arg(value_name = "IN")]
    from: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    to: PathBuf,
    #[command(flatten)]
    how: How,
    /// Only these sections: numbers, ranges, or a pattern for user strings
    #[arg(short, long, value_name = "SECTIONS")]
    select: Vec<Selection>,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    threads: Threads,
}

/// What is compressed.
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
    /// Decompress all sections
    #[arg(long)]
    decode: bool,
    /// The line breaks of paddings and compressed data [default: those of the file]
    #[arg(long, value_name = "STYLE")]
    style: Option<Style>,
    /// The encoder: fast, or zlib for the bytes that zlib writes
    #[arg(long, value_name = "ENCODER", requires = "encode")]
    encoder: Option<EncoderName>,
    #[command(flatten)]
    seal: Seal,
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
        if let Some(Compress::Level(level)) = self.encode {
            params.level = level;
        }
        params.encoder = self.encoder.map_or(params.encoder, Into::into);
        params
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
        let found = std::fs::metadata(to).map_or(0, |status| status.len());
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

/// What was copied.
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

/// Writes sections of a file.
pub fn sections(
    input: &Input,
    reader: &mut Reader,
    writer: &mut Writer,
    how: &How,
    selections: &[Selection],
    style: LineBreak,
) -> Result<Copied> {
    let total = reader.file_size().unwrap_or(0);
    let mut progress = Progress::new(&format!("copy {}", input.name()), total);
    // Compressed data have line breaks, which are as they are.
    let as_they_are =
        how.encode.is_none() && !how.decode && how.style.is_none() && style == reader.line_break();
    let (mut number, mut copied) = (0, Copied::default());
    while let Some(section) = reader.next_section(true)? {
        number += 1;
        if !select::any(selections, number, &section.user) {
            reader.skip()?;
            continue;
        }
        if as_they_are {
            as_it_is(reader, writer, &section, &mut progress)?;
        } else {
            one(reader, writer, &section, how.encode(&section), &mut progress)?;
        }
        let end = reader.position().unwrap_or(0);
        copied += Copied { sections: 1, bytes: end - section.offset };
        progress.set(end);
    }
    select::check(selections, input.name(), number)?;
    Ok(copied)
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

/// Writes the first elements of a damaged array or varray as a section, as [`as_it_is`].
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

/// Writes the reader's current section, as `section` tells of it.
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
    let input = Input::new(&args.from, &args.threads)?;
    let mut reader = input.open()?;
    let user = *reader.user();
    let params = args.how.params_like(&reader, &args.threads);
    let style = params.line_break;
    let inputs = std::slice::from_ref(&input);
    let mut output = Output::create(&args.to, args.force, &user, params, inputs)?;
    let copied = sections(&input, &mut reader, output.writer()?, &args.how, &args.select, style)?;
    select::check_some(&args.select, input.name(), copied.sections)?;
    output.finish()?;
    args.how.tell_growth(&args.to, copied);
    Ok(())
}
