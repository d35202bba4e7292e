//! `scda make`: a file from its description.

use crate::description_data::{Data, DescriptionError, Elements, Message, Object, Sizes, one};
use crate::fail::{Fail, Result};
use crate::files::{EncoderName, OutputFile, Seal, Style, Threads, check_not_left, is_standard, mode_like};
use crate::make_dataset;
use scda::{Encode, Hdf5, WriteOptions, Writer};
use scda_format::dataset::json::{MAX_DEPTH, checked};
use serde_json::Value;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  scda make state.json state.scda
  echo '{\"sections\": [{\"type\": \"A\", \"N\": 100000000, \"E\": 8, \"generate\": \"counter\"}]}' | scda make - large.scda
  scda ls --json --data a.scda | scda make - b.scda; scda diff a.scda b.scda";

const DESCRIPTION: &str = "\
The description is an object with user, sealed (true or false), and a list of sections, in the
order of the file. Whatever else scda ls --json prints is ignored; other keys, and duplicate keys,
are errors. Each section has
  type                   I, B, A, V; D, a dataset; G, attributes of a group
  user, user_hex, user_base64
                         the user string, by default empty; of D the name; of G the path (/ for the
                         file)
  data_text, data_hex, data_base64, data_file
                         the data, as one value or in a file beside the description; not for G. Of
                         D: numbers little-endian; each item of variable length preceded by its
                         length in 4 bytes
  generate               instead of data: zeros; counter, the numbers from 0 in 8 bytes each; or
                         random, the numbers of SplitMix64 from seed
  encoded                of B, A, V and contiguous D: true to compress it, with --level and
                         --encoder
  N, E, sizes            the number of elements (of A and V), the bytes of an element (A) or of the
                         block (B), and the list of the bytes of each element (V), if they do not
                         follow from the data
  generate_size_min, generate_size_max, generate_size_seed
                         of V: random sizes instead of sizes
  elements_text, elements_hex, elements_base64
                         of A and V: a list of the elements instead of data
  data_type, shape, fill_value, dimension_names, attributes
                         of D, attributes also of G: as in the metadata (docs/datasets.md);
                         data_type also as scda ls shows it, such as datetime64[s]
  values                 of D: the items in C order instead of data, each written as a fill value
                         is, in one list or in nested lists
  layout                 of D: contiguous, the default without chunk; chunks; or text
  chunk, codec, level, shuffle
                         of D in chunks: the shape of a chunk; a codec of scda copy --codec (by
                         default zstd); the level; true (default) or false";

/// Make a file from a description in JSON
///
/// scda ls --json --data writes such a description. The data are in the description, in files beside it, or
/// generated.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{DESCRIPTION}\n\n{EXAMPLES}"))]
pub struct Args {
    /// The description to read; - is standard input
    #[arg(value_name = "MANIFEST")]
    from: PathBuf,
    /// The file to write; - is standard output
    #[arg(value_name = "OUT")]
    to: PathBuf,
    /// The line breaks of paddings and compressed data
    #[arg(long, value_name = "STYLE", default_value = "unix")]
    style: Style,
    /// The compression level, 0 to 9, of sections with "encoded": true
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(0..=9), default_value_t = WriteOptions::DEFAULT_LEVEL)]
    level: u32,
    /// The encoder: fast, or zlib, which writes the same bytes as the zlib library
    #[arg(long, value_name = "ENCODER", default_value = "fast")]
    encoder: EncoderName,
    #[command(flatten)]
    seal: Seal,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    threads: Threads,
}

/// Fails if there are not as many as expected.
fn expect(what: &str, found: u64, expected: u64) -> Message<()> {
    if found == expected { Ok(()) } else { Err(format!("{what}: found {found}, expected {expected}")) }
}

/// Facts in the output of `scda ls --json` that the sections themselves imply.
const SECTION_FACTS: [&str; 8] =
    ["number", "bytes", "stored_bytes", "offset", "data_offset", "size_min", "size_mean", "size_max"];

/// The description of a section.
struct SectionDescription {
    user: Vec<u8>,
    encode: Encode,
    n: Option<u64>,
    e: Option<u64>,
    data: Data,
    sizes: Option<Sizes>,
}

/// Writes a section.
fn section(
    output: &mut OutputFile,
    value: &Value,
    folder: &Path,
    level: u32,
    attributes: impl FnOnce() -> Option<String>,
) -> Result<(), DescriptionError> {
    let mut object = Object::new(value)?;
    let kind = object.text("type")?.ok_or("expected a \"type\": I, B, A, V, D or G")?;
    match kind {
        "D" => return make_dataset::dataset(output, object, attributes(), folder, level),
        "G" => return make_dataset::group(output, object, attributes()),
        _ => {}
    }
    let writer = output.writer().map_err(|_| "the file is finished")?;
    let user = object.user()?;
    let encode = object.typed("encoded", "true or false", Value::as_bool)?.unwrap_or(false);
    let encode = if encode { Encode::Always } else { Encode::None };
    let (n, e) = (object.number("N")?, object.number("E")?);
    let data = Data::new(&mut object, folder)?;
    let sizes = Sizes::new(&mut object, n)?;
    object.finish(&SECTION_FACTS)?;
    let is_empty = match kind {
        "B" => e == Some(0),
        "A" => n == Some(0) || e == Some(0) && n.is_some(),
        "V" => n == Some(0),
        _ => false,
    };
    let data = data.or_else(|| is_empty.then(Data::none));
    let data = data.ok_or("data are missing: give data_..., elements_..., data_file or generate")?;
    if kind != "V" && sizes.is_some() {
        return Err("sizes: only type V has them".into());
    }
    if matches!(kind, "I" | "B") && (n.is_some() || data.elements.is_some()) {
        return Err(format!("N and elements: type {kind} has none").into());
    }
    let described = SectionDescription { user, encode, n, e, data, sizes };
    match kind {
        "I" => inline(writer, described),
        "B" => block(writer, described),
        "A" => array(writer, described),
        "V" => varray(writer, described),
        other => Err(format!("type: found \"{other}\", expected I, B, A, V, D or G").into()),
    }
}

fn inline(writer: &mut Writer, mut section: SectionDescription) -> Result<(), DescriptionError> {
    if section.encode == Encode::Always || section.e.is_some() {
        return Err("encoded and E: type I has none".into());
    }
    let mut data = [0; scda::INLINE_BYTES];
    let all = data.len() as u64;
    expect("bytes of inline data", section.data.bytes.unwrap_or(all), all)?;
    section.data.from.read_exact(&mut data).map_err(|e| e.to_string())?;
    Ok(writer.inline(&section.user, 0, Some(&data))?)
}

fn block(writer: &mut Writer, mut section: SectionDescription) -> Result<(), DescriptionError> {
    let size = section.e.or(section.data.bytes).ok_or("expected E, the number of bytes")?;
    expect("bytes", section.data.bytes.unwrap_or(size), size)?;
    Ok(writer.incremental().block(&section.user, size, &mut section.data.from, section.encode)?)
}

fn array(writer: &mut Writer, mut section: SectionDescription) -> Result<(), DescriptionError> {
    let (n, data) = (section.n, &section.data);
    let same = data.elements.as_ref().and_then(|sizes| sizes.first().copied());
    let size = section.e.or(same).ok_or("expected E, the bytes of each element")?;
    let given = data.elements.as_ref().map(|sizes| sizes.len() as u64);
    for (index, &found) in data.elements.iter().flatten().enumerate() {
        expect(&format!("bytes of element {index}"), found, size)?;
    }
    let fitting = data.bytes.filter(|_| size > 0).map(|bytes| bytes / size);
    let count = n.or(given).or(fitting).ok_or("expected N, the number of elements")?;
    expect("elements", given.unwrap_or(count), count)?;
    let bytes = count.checked_mul(size).ok_or("N times E is too large")?;
    expect("bytes", data.bytes.unwrap_or(bytes), bytes)?;
    Ok(writer.incremental().array(&section.user, count, size, &mut section.data.from, section.encode)?)
}

fn varray(writer: &mut Writer, section: SectionDescription) -> Result<(), DescriptionError> {
    if section.e.is_some() {
        return Err("E: type V has sizes instead".into());
    }
    let given = section.data.elements.map(Sizes::List);
    let sizes = one([given, section.sizes], &["elements_...", "sizes"])?;
    let sizes =
        sizes.or_else(|| (section.n == Some(0)).then(|| Sizes::List(Vec::new()))).ok_or("expected sizes")?;
    let count = match (&sizes, section.n) {
        (Sizes::List(sizes), n) => {
            let count = sizes.len() as u64;
            expect("elements", count, n.unwrap_or(count))?;
            count
        }
        (Sizes::GeneratedData(..), n) => n.ok_or("expected N, the number of elements")?,
    };
    if let Some(bytes) = section.data.bytes {
        let total = (0..count).try_fold(0_u64, |total, index| total.checked_add(sizes.get(index)));
        expect("bytes", bytes, total.ok_or("the sum of the sizes is too large")?)?;
    }
    let mut elements = Elements { data: section.data.from, sizes, next: 0 };
    Ok(writer.incremental().varray(&section.user, count, &mut elements, section.encode)?)
}

pub fn run(args: &Args) -> Result<()> {
    let name = if args.from.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        args.from.display().to_string()
    };
    let wrong = |words: String| Fail::file(&name, words);
    let read = || match args.from.as_os_str() == "-" {
        true => io::read_to_string(io::stdin().lock()),
        false => std::fs::read_to_string(&args.from),
    };
    let text = read().map_err(|e| wrong(e.to_string()))?;
    // A description has the metadata of a section two levels deeper than these are by themselves.
    checked(&text, MAX_DEPTH + 2).map_err(|e| wrong(e.to_string()))?;
    let manifest: Value = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    let head = || -> Message<_> {
        let mut object = Object::new(&manifest)?;
        let user = object.user()?;
        let sections = object.list("sections")?.ok_or("expected \"sections\", a list")?;
        let sealed = object.typed("sealed", "true or false", Value::as_bool)?.unwrap_or(false);
        object.finish(&["file", "bytes", "vendor", "vendor_hex", "seals"])?;
        Ok((user, sections, sealed))
    };
    let (user, sections, sealed) = head().map_err(wrong)?;
    let mut params = WriteOptions::default();
    (params.tuning.threads, params.line_break) = (args.threads.count(), args.style.into());
    params.seal = args.seal.wanted(sealed);
    params.hdf5 = args.seal.wants_hdf5(Hdf5::default());
    (params.level, params.encoder) = (args.level, args.encoder.into());
    let folder = args.from.parent().unwrap_or(Path::new(""));
    let has_attributes = |value: &Value| value.get("attributes").is_some();
    let raw =
        if sections.iter().any(has_attributes) { make_dataset::raw_sections(&text) } else { Vec::new() };
    let mut read =
        vec![if is_standard(&args.from) { PathBuf::from("/dev/stdin") } else { args.from.clone() }];
    for file in sections.iter().filter_map(|value| value.get("data_file")?.as_str()) {
        check_not_left(&args.to, &folder.join(file), file)?;
        read.push(folder.join(file));
    }
    let found = read.iter().filter_map(|path| path.metadata().ok());
    params.mode = found.fold(params.mode, |mode, found| mode & mode_like(&found));
    let level = params.level;
    let mut output = OutputFile::create(&args.to, args.force, &user, params, &[])?;
    for (index, value) in sections.iter().enumerate() {
        let attributes = || make_dataset::attributes(raw.get(index));
        section(&mut output, value, folder, level, attributes).map_err(|wrong| match wrong {
            DescriptionError::Message(words) => {
                Fail::file(&name, format_args!("section {}: {words}", index + 1))
            }
            // Also if the numbers of the description are out of range, which of a file would be damage.
            DescriptionError::Writing(error) => Fail::Trouble(error.to_string()),
        })?;
    }
    output.finish()
}
