//! `scda check`: whether files are whole, and what is wrong.

use crate::fail::{Fail, NO, Result, TROUBLE, is_invalid};
use crate::files::{Input, Threads};
use crate::ls::kind;
use crate::manifest;
use crate::output::{Output, quote, visible};
use crate::pieces::{Pieces, first_unreadable};
use crate::progress::Progress;
use scda::{Error, ErrorKind, Reader, Section, SectionType, UserString};
use serde_json::{Map, Value, json};
use std::ops::Range;
use std::path::PathBuf;

/// Check that files are valid, and report what is wrong with those that are not
///
/// Reads every byte and decompresses every element. Reports where the file is damaged (byte, section, element), what was
/// found and expected there, and what is whole; scda salvage saves that.
///
/// A file that was cut exactly at the end of a section is valid: it does not record how many sections it should have, so
/// sections missing at its end are not noticed.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 all files are valid; 1 one is not; 2 one could not be read.

Examples:
  scda check state.scda
  scda check --strict state.scda              every padding and line break as this library writes it
  scda check --json *.scda | jq 'select(.valid | not) | .file'")]
pub struct Args {
    /// The files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Also check what readers ignore: paddings and line breaks must be as this library writes them
    #[arg(long)]
    strict: bool,
    /// Report only what is wrong
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Print JSON, an object for each file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

/// Something wrong.
pub struct Finding {
    /// The section, counted from 1 as by scda ls; 0 for the header of the file.
    pub number: u64,
    /// The section, if its header could be read.
    pub section: Option<Section>,
    /// Its user string, if that could be read.
    pub user: Option<UserString>,
    /// The element of an array or varray.
    pub element: Option<u64>,
    /// How many elements of an array or varray before that are whole.
    pub leading: u64,
    pub error: Fault,
}

impl Finding {
    /// In the header of the file.
    fn of_header(error: Fault) -> Self {
        Self { number: 0, section: None, user: None, element: None, leading: 0, error }
    }

    /// Which section it is, in words.
    fn place(&self) -> String {
        let Self { number, section, user, .. } = self;
        match (section, user) {
            _ if *number == 0 => "header of the file".to_owned(),
            (Some(section), _) => {
                let n = match section.section_type {
                    SectionType::Inline | SectionType::Block => String::new(),
                    SectionType::Array | SectionType::Varray => format!(", N {}", section.count),
                };
                format!("section {number} ({} {}{n})", kind(section), quote(&section.user))
            }
            (None, Some(user)) => format!("section {number} ({})", quote(user)),
            (None, None) => format!("section {number}"),
        }
    }

    /// What can be read of the section, if that is something.
    pub fn rest(&self) -> Option<String> {
        let section = self.section.filter(|_| self.leading > 0)?;
        let leading = self.leading;
        Some(match section.count - leading {
            0 => format!("all {leading} elements"),
            _ => format!("the first {leading} of {} elements", section.count),
        })
    }
}

/// What is wrong.
pub enum Fault {
    /// With the file.
    Invalid(Error),
    /// With us: an element does not fit memory, so that it is not known whether it is whole.
    NoMemory(String),
}

impl Fault {
    /// Of an error that reading gave; others say nothing about the section.
    fn of(fail: Fail) -> Result<Self> {
        match fail {
            Fail::Scda(error) if is_invalid(&error) => Ok(Self::Invalid(error)),
            Fail::Scda(error) if error.kind() == ErrorKind::Memory => Ok(Self::NoMemory(error.to_string())),
            Fail::Trouble(words) => Ok(Self::NoMemory(words)),
            other => Err(other),
        }
    }

    /// What the command ends with.
    fn code(&self) -> u8 {
        match self {
            Self::Invalid(_) => NO,
            Self::NoMemory(_) => TROUBLE,
        }
    }
}

/// A part of a file that is whole.
pub enum Part {
    /// Sections that lie together: where they begin and end.
    Sections(Range<u64>),
    /// Of an array or varray, so many elements, which are its first ones.
    Leading(Section, u64),
}

impl Part {
    /// The bytes of the file, if they are whole sections.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Sections(range) => range.end - range.start,
            Self::Leading(..) => 0,
        }
    }
}

/// What a file is like.
pub struct Scan {
    /// Sections that were seen, and how many of them are whole.
    pub sections: u64,
    pub whole: u64,
    /// The parts of the file that are whole, in order, but for its header.
    pub parts: Vec<Part>,
    /// Where the header of the file ends.
    pub first_start: u64,
    /// How many sections come before anything that is wrong, and where the last one ends.
    pub first_sections: u64,
    pub first_end: u64,
    pub size: u64,
    pub findings: Vec<Finding>,
}

/// Reads a section to its end.
fn read(reader: &mut Reader, pieces: &mut Pieces, progress: &mut Progress, base: u64) -> Result<()> {
    let mut bytes = 0;
    while pieces.next(reader)? {
        bytes += pieces.data().len() as u64;
        // How far it is in the file is known of plain data.
        progress.set(if pieces.is_decoded() { 0 } else { base + bytes });
    }
    Ok(reader.skip()?)
}

/// Goes to a section and reads its header.
fn header_at(reader: &mut Reader, position: u64, decode: bool) -> Option<Section> {
    reader.seek(position).ok()?;
    reader.next_section(decode).ok()?
}

/// Finds out about a section whose header and data have given an error. `pieces` tell how far its data were read.
fn examine(
    reader: &mut Reader,
    number: u64,
    position: u64,
    header: Option<Section>,
    pieces: Option<&Pieces>,
    error: Fault,
) -> Finding {
    let mut finding = Finding { number, section: header, user: None, element: None, leading: 0, error };
    if let (Some(section), Some(pieces)) = (header, pieces) {
        finding.user = Some(section.user);
        if matches!(section.section_type, SectionType::Array | SectionType::Varray) {
            finding.element = match pieces.is_done() {
                true => None,
                false => first_unreadable(reader, &section, pieces.range()),
            };
            finding.leading = finding.element.unwrap_or(if pieces.is_done() { section.count } else { 0 });
        }
    } else if let Some(mut section) = header_at(reader, position, false) {
        // Of a broken pair, the second half has the user string.
        if section.second_of_pair().is_some() {
            let second = reader.skip().ok().and_then(|()| reader.next_section(false).ok()?);
            let Some(second) = second else { return finding };
            section = second;
        }
        finding.user = Some(section.user);
    }
    finding
}

/// Goes behind a damaged section, if its headers and sizes tell where it ends.
fn step_over(reader: &mut Reader, position: u64) -> Option<()> {
    if header_at(reader, position, true).is_some() && reader.skip().is_ok() {
        return Some(());
    }
    let section = header_at(reader, position, false)?;
    reader.skip().ok()?;
    // The second half of a broken pair is no section. If it is not even of its type, nothing tells where it ends.
    if let Some(second) = section.second_of_pair() {
        reader.next_section(false).ok()?.filter(|section| section.section_type == second)?;
        reader.skip().ok()?;
    }
    Some(())
}

/// Reads a whole file. See [`Params::strict`](scda::Params::strict).
///
/// # Errors
/// Those that say nothing about the file.
pub fn scan(input: &Input, progress_word: &str, strict: bool) -> Result<Scan> {
    let mut scan = Scan {
        sections: 0,
        whole: 0,
        parts: Vec::new(),
        first_start: 0,
        first_sections: 0,
        first_end: 0,
        size: 0,
        findings: Vec::new(),
    };
    scan.size = std::fs::metadata(input.path()).map_or(0, |status| status.len());
    let mut reader = match input.open_damaged(strict) {
        Ok(reader) => reader,
        Err(error) if is_invalid(&error) => {
            scan.findings.push(Finding::of_header(Fault::Invalid(error)));
            return Ok(scan);
        }
        Err(error) => return Err(error.into()),
    };
    scan.size = reader.file_size().unwrap_or(scan.size);
    let mut progress = Progress::new(&format!("{progress_word} {}", input.name()), scan.size);
    let mut position = reader.position().unwrap_or(0);
    (scan.first_start, scan.first_end) = (position, position);
    loop {
        let number = scan.sections + 1;
        let (mut section, mut pieces) = (None, None);
        let result = match reader.next_section(true) {
            Ok(None) => return Ok(scan),
            Ok(Some(header)) => {
                section = Some(header);
                let pieces = pieces.insert(Pieces::all(&header));
                read(&mut reader, pieces, &mut progress, header.data_offset)
            }
            Err(error) => Err(error.into()),
        };
        scan.sections = number;
        match result {
            Ok(()) => {
                let end = reader.position().unwrap_or(position);
                scan.whole += 1;
                if scan.findings.is_empty() {
                    (scan.first_sections, scan.first_end) = (number, end);
                }
                match scan.parts.last_mut() {
                    Some(Part::Sections(part)) if part.end == position => part.end = end,
                    _ => scan.parts.push(Part::Sections(position..end)),
                }
                position = end;
            }
            Err(fail) => {
                let error = Fault::of(fail)?;
                let finding = examine(&mut reader, number, position, section, pieces.as_ref(), error);
                if let (Some(section), 1..) = (section, finding.leading) {
                    scan.parts.push(Part::Leading(section, finding.leading));
                }
                scan.findings.push(finding);
                if step_over(&mut reader, position).is_none() {
                    return Ok(scan);
                }
                position = reader.position().unwrap_or(position);
            }
        }
        progress.set(position);
    }
}

/// The first thing in the file that is not canonical.
fn strict(input: &Input) -> Result<Option<Finding>> {
    let mut reader = input.open()?;
    let style = reader.line_break();
    let mut number = 0;
    let mut section: Option<Section> = None;
    loop {
        match reader.check_canonical(style) {
            Ok(()) => {}
            Err(error) if is_invalid(&error) => {
                let user = section.map(|section| section.user);
                let finding = Finding { number, section, user, ..Finding::of_header(Fault::Invalid(error)) };
                return Ok(Some(finding));
            }
            Err(error) => return Err(error.into()),
        }
        reader.skip()?;
        number += 1;
        section = reader.next_section(true)?;
        if section.is_none() {
            return Ok(None);
        }
    }
}

/// What no check can tell.
const UNKNOWN: &str = "; sections missing at its end would not be noticed";

fn sections(count: u64) -> String {
    if count == 1 { "1 section".to_owned() } else { format!("{count} sections") }
}

/// Where in the file something is wrong, and what.
pub fn words(finding: &Finding) -> String {
    let mut place = finding.place();
    if let Some(element) = finding.element {
        place += &format!(", element {element}");
    }
    let error = match &finding.error {
        Fault::Invalid(error) => error,
        Fault::NoMemory(words) => return format!("{place}: {words}"),
    };
    // The message begins with the name of the file, which is said already.
    let message = error.to_string();
    let at = error.offset().and_then(|offset| message.find(&format!("byte {offset}: ")));
    format!("{place}: {}", at.map_or(message.as_str(), |at| &message[at..]))
}

/// What follows what is wrong: up to where the file is whole.
pub fn whole(scan: &Scan) -> String {
    let more = match scan.whole - scan.first_sections {
        0 => String::new(),
        more => format!("; {more} after that"),
    };
    match (scan.first_sections, scan.first_end) {
        (_, 0) => "nothing is whole".to_owned(),
        (0, end) if more.is_empty() => format!("only the header is whole, up to byte {end}"),
        (0, end) => format!("whole up to the end of the header, byte {end}{more}"),
        (count, end) => format!("whole up to section {count}, byte {end}{more}"),
    }
}

fn as_json(input: &Input, scan: &Scan) -> Value {
    let findings = scan.findings.iter().map(|finding| {
        let mut object = Map::new();
        object.insert("section".into(), finding.number.into());
        if let Some(section) = finding.section {
            object = manifest::facts(finding.number, &section);
            object.shift_remove("number");
            object.shift_insert(0, "section".into(), finding.number.into());
        } else if let Some(user) = finding.user {
            manifest::put_bytes(&mut object, "user", &user);
        }
        object.insert("element".into(), finding.element.into());
        object.insert("whole_elements".into(), finding.leading.into());
        let error = match &finding.error {
            Fault::Invalid(error) => manifest::error(error),
            Fault::NoMemory(words) => {
                let kind = ErrorKind::Memory;
                json!({ "code": kind.code(), "kind": kind.text(), "message": words, "offset": null })
            }
        };
        object.insert("error".into(), error);
        Value::Object(object)
    });
    let is_invalid = scan.findings.iter().any(|finding| matches!(finding.error, Fault::Invalid(_)));
    // Null if it is not known. No file tells whether it has all sections.
    let complete = is_invalid.then_some(false);
    let valid = (is_invalid || scan.findings.is_empty()).then_some(!is_invalid);
    json!({
        "file": input.name(),
        "valid": valid,
        "complete": complete,
        "bytes": scan.size,
        "sections": scan.sections,
        "whole_sections": scan.whole,
        "whole": { "sections": scan.first_sections, "bytes": scan.first_end },
        "findings": findings.collect::<Vec<_>>(),
    })
}

/// Says what a file is like; `code` is known before that is said.
fn check(out: &mut Output, input: &Input, args: &Args, code: &mut u8) -> Result<()> {
    let mut scan = scan(input, "check", true)?;
    if args.strict && scan.findings.is_empty() {
        scan.findings.extend(strict(input)?);
    }
    *code = scan.findings.iter().map(|finding| finding.error.code()).fold(*code, u8::max);
    let name = visible(input.name());
    if args.json {
        out.text(format_args!("{}\n", as_json(input, &scan)))?;
    } else if scan.findings.is_empty() {
        if !args.quiet {
            let (valid, count) = (out.colour(32, "valid"), sections(scan.sections));
            let size = scan.size;
            out.text(format_args!("{name}: {valid}: {count}, {size} bytes{UNKNOWN}\n"))?;
        }
    } else {
        for finding in &scan.findings {
            let invalid = match finding.error {
                Fault::Invalid(_) => out.colour(31, "INVALID"),
                Fault::NoMemory(_) => out.colour(33, "NOT CHECKED"),
            };
            out.text(format_args!("{name}: {invalid}: {}\n", words(finding)))?;
            if let Some(rest) = finding.rest() {
                out.text(format_args!("{name}: whole of section {}: {rest}\n", finding.number))?;
            }
        }
        if scan.whole < scan.sections || scan.first_end == 0 {
            out.text(format_args!("{name}: {}\n", whole(&scan)))?;
        }
    }
    Ok(())
}

pub fn run(args: &Args) -> Result<()> {
    let mut out = Output::new()?;
    let mut code = 0;
    for path in &args.files {
        let result =
            Input::new(path, &args.threads).and_then(|input| check(&mut out, &input, args, &mut code));
        if let (true, Err(Fail::Scda(_) | Fail::Trouble(_))) = (args.json, &result) {
            let error = result.as_ref().err().map(manifest::failure);
            let object = json!({ "file": path.display().to_string(), "valid": null, "complete": null, "error": error });
            out.text(format_args!("{object}\n"))?;
        }
        let written = out.finish();
        match result {
            Ok(()) | Err(Fail::Quiet) => {}
            Err(fail) => {
                code = code.max(fail.code());
                fail.report();
            }
        }
        match written {
            // Whoever reads no more has the answer that is known by now.
            Err(Fail::Quiet) if code != 0 => return Err(Fail::Said(code)),
            other => other?,
        }
    }
    if code == 0 { Ok(()) } else { Err(Fail::Said(code)) }
}
