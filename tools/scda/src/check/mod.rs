//! `scda check`: whether files are intact and complete, and what is wrong.

mod additions;
mod datasets;
mod decoding;
mod finding;
mod hdf5;
mod meshes;
mod names;
mod report;
mod sealed;
mod sums;
mod verifying_reader;
mod walk;

pub use datasets::check as check_datasets;
pub use finding::{Finding, Part, Rigour, Scan, sections, words};
pub use verifying_reader::VerifyingReader;

use crate::facts;
use crate::fail::{Fail, Result, is_invalid};
use crate::files::{Input, Resources};
use crate::output::{Output, visible};
use crate::progress::Progress;
use finding::{Fault, Note, whole};
use report::as_json;
use scda::{LineBreak, Section};
use serde_json::json;
use std::path::PathBuf;
use walk::walk;

/// Check that files are valid, and report what is wrong
///
/// Compares sealed sections with their checksums, on all cores. Reads every byte of unsealed sections, and
/// decompresses every element. Reports where the file is damaged (byte, section, element), what was found and
/// expected there, and what is intact; scda salvage saves that.
///
/// Compares the metadata of datasets with the sections of their data. It is an error if metadata have no such
/// section or contradict it, if a chunk is damaged, and if a bool is neither 0 nor 1. Sealed data are
/// decompressed only with --strict. In unsealed sections, compressed data that violate RFC 1951 are invalid
/// even where libscda can read them. An element that does not fit into memory is reported as NOT CHECKED,
/// with exit code 2.
///
/// Notes, which leave the exit code 0, report what is unusual or not checked: codecs, types and keys that
/// this library does not know; sections that are named like a set of streams but are not one; a mesh most of
/// whose chunks are fill values; datasets that HDF5 and ParaView do not show, and why.
///
/// If all else is valid, checks meshes. Of forests (docs/forest.md): the quadrants fill the trees in order,
/// and connectivity, fields and time steps match. Of points and cells (docs/cells.md): the cells refer to
/// existing points, as many as their shapes require, and fields and time steps match. Of patches
/// (docs/patches.md) and particles (docs/particles.md) likewise. Meshes of a later version of these
/// conventions are not checked. If trees have more than 16,777,216 faces, edges and corners, check only
/// verifies that these refer to existing trees, and that their offsets are in order.
///
/// Sections after the last seal are not committed, nor is anything in a file that was created to be sealed
/// and has no seal yet: such a file is NOT COMPLETE. All that is committed can be read; --unsealed accepts
/// the rest, too.
///
/// A file without a seal that ends exactly at the end of a section is valid: it does not record how many
/// sections it should have, so check cannot tell that sections are missing at its end.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 all files are valid and complete; 1 a file is not; 2 a file could not be read.

Examples:
  scda check state.scda
  scda check --strict state.scda              paddings and line breaks, too
  scda check --json *.scda | jq 'select(.valid | not) | .file'")]
pub struct Args {
    /// The files to check; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Also check what readers ignore: paddings and line breaks must be as this library writes them.
    /// Decompress sealed data, too
    #[arg(long)]
    strict: bool,
    /// Accept valid sections after the last seal of a file that was created to be sealed
    #[arg(long)]
    unsealed: bool,
    /// Report only what is wrong
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Print JSON, one object for each file
    ///
    /// valid is null if there was too little memory; complete is null if sections may be missing at the end
    /// without anybody noticing. whole is what precedes any damage, whole_sections counts all intact sections,
    /// whole_elements the elements before the first damaged one. seal is the number of a damaged seal.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    resources: Resources,
}

/// Reads a whole file. Sealed sections are compared with their checksums, and read only for [`Rigour::Thorough`].
///
/// # Errors
/// Errors that say nothing about the file.
pub fn scan(input: &Input, progress_word: &str, rigour: Rigour) -> Result<Scan> {
    let mut scan = Scan::new(std::fs::metadata(input.path()).map_or(0, |status| status.len()));
    let mut reader = match input.open_damaged(rigour.is_strict()) {
        Ok(reader) => reader,
        Err(error) if is_invalid(&error) => {
            scan.findings.push(Finding::of_header(Fault::Invalid(error)));
            return Ok(scan);
        }
        Err(error) => return Err(error.into()),
    };
    scan.left_out = reader.left_out().unwrap_or(0);
    scan.size = reader.inspect().file_size().unwrap_or(scan.size) - scan.left_out;
    let _progress = Progress::new(&format!("{progress_word} {}", input.name()), scan.size);
    let start = reader.position().unwrap_or(0);
    (scan.first_start, scan.first_end) = (start, start);
    scan.is_to_be_sealed = reader.header().has_seal_mark() && !input.reads_unsealed();
    let seals = reader.inspect().seals()?;
    let all = seals.all.clone();
    sealed::check(&mut reader, input, &mut scan, seals)?;
    if let Some(error) = input.take_damaged_end() {
        let number = scan.sealed.map_or(0, |sealed| sealed.seals) + 1;
        scan.findings.push(Finding::of_seal(number, Fault::Invalid(error)));
    }
    hdf5::check(&mut reader, input, &mut scan, &all)?;
    let end = scan.sealed.map_or(start, |sealed| sealed.bytes);
    let size = scan.size;
    walk(&mut reader, &mut scan, end, size)?;
    if rigour == Rigour::Thorough && scan.sealed.is_some() && scan.findings.is_empty() {
        let Scan { sealed, is_to_be_sealed, left_out, size, notes, .. } = scan;
        let mut read = Scan { sealed, is_to_be_sealed, left_out, notes, ..Scan::new(size) };
        (read.first_start, read.first_end) = (start, start);
        walk(&mut reader, &mut read, start, size)?;
        return Ok(read);
    }
    Ok(scan)
}

/// Finds the names of damaged datasets and groups.
///
/// # Errors
/// Errors that say nothing about the file.
pub fn find_names(input: &Input, scan: &mut Scan) -> Result<()> {
    if scan.findings.iter().any(Finding::is_of_metadata) {
        let mut reader = input.open_damaged(false)?;
        scan.findings.iter_mut().for_each(|finding| finding.find_name(&mut reader));
    }
    Ok(())
}

/// Finds the first thing in the file that is not canonical. Programs may append sections with other line breaks than
/// the file has.
fn strict(input: &Input) -> Result<Option<Finding>> {
    let mut reader = input.open()?;
    reader.inspect().tolerate_damage()?;
    let style = reader.header().line_break;
    let other = if style == LineBreak::Unix { LineBreak::Mime } else { LineBreak::Unix };
    let mut number = 0;
    let mut section: Option<Section> = None;
    loop {
        match reader.inspect().check_canonical(style) {
            Ok(()) => {}
            Err(error) if is_invalid(&error) => {
                if number == 0 || reader.inspect().check_canonical(other).is_err() {
                    let user = section.map(|section| section.user);
                    let finding =
                        Finding { number, section, user, ..Finding::of_header(Fault::Invalid(error)) };
                    return Ok(Some(finding));
                }
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

/// A remark about the seals of a valid file.
fn sealing(scan: &Scan) -> String {
    // What no check can detect.
    const UNKNOWN: &str = "; sections missing at its end would not be noticed";
    match scan.sealed {
        Some(sealed) if sealed.bytes == scan.size => ", sealed".to_owned(),
        Some(sealed) => format!(", sealed up to section {}, byte {}{UNKNOWN}", sealed.sections, sealed.bytes),
        None => UNKNOWN.to_owned(),
    }
}

/// Reports the state of a file; `code` is set before the report is printed.
fn check(out: &mut Output, input: &Input, args: &Args, code: &mut u8) -> Result<()> {
    let rigour = if args.strict { Rigour::Thorough } else { Rigour::Strict };
    let mut scan = scan(input, "check", rigour)?;
    if args.strict && scan.findings.is_empty() {
        scan.findings.extend(strict(input)?);
    }
    check_datasets(input, &mut scan, rigour)?;
    find_names(input, &mut scan)?;
    meshes::check(input, &mut scan)?;
    let uncommitted = scan.uncommitted();
    *code = scan.findings.iter().map(|finding| finding.error.code()).fold(*code, u8::max);
    *code = u8::from(uncommitted.is_some()).max(*code);
    let name = visible(input.name());
    if args.json {
        out.text(format_args!("{}\n", as_json(input, &scan)))?;
    } else if scan.findings.is_empty() {
        if let Some(bytes) = uncommitted {
            let (words, end) = (out.colour(33, "NOT COMPLETE"), scan.size);
            let count = sections(scan.sealed.map_or(0, |sealed| sealed.sections));
            if bytes == 0 {
                out.text(format_args!("{name}: {words}: no seal, and nothing after the header\n"))?;
            } else {
                // Without a seal, nothing would stay.
                let removes = if scan.sealed.is_some() { "scda rewind removes them, " } else { "" };
                out.text(format_args!(
                    "{name}: {words}: {count} sealed, up to byte {end}; {bytes} bytes after that were not committed; {removes}scda salvage saves what is intact\n"
                ))?;
            }
        } else if !args.quiet {
            let (valid, count) = (out.colour(32, "valid"), sections(scan.sections));
            let (size, sealing) = (scan.size, sealing(&scan));
            out.text(format_args!("{name}: {valid}: {count}, {size} bytes{sealing}\n"))?;
        }
    } else {
        for finding in &scan.findings {
            let invalid = match finding.error {
                Fault::Invalid(_) | Fault::Words(_) => out.colour(31, "INVALID"),
                Fault::NoMemory(_) => out.colour(33, "NOT CHECKED"),
            };
            out.text(format_args!("{name}: {invalid}: {}\n", words(finding)))?;
            if let Some(rest) = finding.rest() {
                out.text(format_args!("{name}: intact in section {}: {rest}\n", finding.number))?;
            }
        }
        let is_outside = |finding: &Finding| finding.seal.is_some() || finding.number == 0;
        if scan.whole < scan.sections || scan.first_end == 0 || scan.findings.iter().all(is_outside) {
            out.text(format_args!("{name}: {}\n", whole(&scan)))?;
        }
    }
    if !args.json && !args.quiet {
        for Note { number, words } in &scan.notes {
            let words = visible(words);
            // The file header is no section.
            let place = if *number == 0 { String::new() } else { format!("section {number}: ") };
            out.text(format_args!("{name}: note: {place}{words}\n"))?;
        }
    }
    Ok(())
}

pub fn run(args: &Args) -> Result<()> {
    let mut out = Output::of_json(args.json)?;
    let mut code = 0;
    for path in &args.files {
        let result = Input::new(path, &args.resources)
            .and_then(|input| check(&mut out, &input.for_check(args.unsealed), args, &mut code));
        if let (true, Err(Fail::Scda(_) | Fail::Trouble(_))) = (args.json, &result) {
            let error = result.as_ref().err().map(facts::failure);
            let object = json!({ "file": path.display().to_string(), "valid": null, "complete": null, "error": error });
            out.text(format_args!("{object}\n"))?;
        }
        out.end_file(result, &mut code)?;
    }
    if code == 0 { Ok(()) } else { Err(Fail::Said(code)) }
}
