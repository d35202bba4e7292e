//! `scda seal`: a seal for a file that has none.

use crate::check::{Rigour, Scan, check_datasets, scan, words};
use crate::fail::{Fail, NO, Result};
use crate::files::{Input, OutputFile, Resources, lock};
use crate::output::{Output, complain, for_each_file, visible};
use scda::{ReadOptions, Reader, SectionType, Solo, WriteOptions};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Seal files that are not sealed
///
/// Checks each file as scda check does and, if it is valid, appends a seal in place: 160 bytes for each
/// section and some more. From then on, any changed byte is detected, and sections are found without walking
/// the file. A file that is already sealed stays unchanged, and so does one that is not valid, or that has a
/// seal with something after it.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 all files are sealed; 1 a file is not valid; 2 another error.

Examples:
  scda seal state.scda
  scda copy --seal state.scda sealed.scda     a sealed copy")]
pub struct Args {
    /// The files to seal
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    resources: Resources,
}

/// The offset of a seal that was not completed, because a program was killed while it wrote it: the only errors of the
/// file are then in its tables, at the end.
fn unfinished(scan: &Scan) -> Option<u64> {
    let is_table = |finding: &crate::check::Finding| {
        let section = finding.section.filter(|section| section.section_type == SectionType::Array);
        section.filter(|section| section.broken_seal().is_some())
    };
    let tables: Option<Vec<_>> = scan.findings.iter().map(is_table).collect();
    let tables = tables.filter(|tables| !tables.is_empty())?;
    let after = scan.sections.saturating_sub(tables.len() as u64);
    let are_last = scan.findings.iter().all(|finding| finding.number > after);
    are_last.then(|| tables[0].offset)
}

/// The failure for `bytes` bytes after the last seal. The library removes them when it appends: they may be left by a
/// killed program, but may also be whole sections.
fn unsealed(input: &Input, bytes: u64) -> Fail {
    Fail::file(
        input.name(),
        format_args!(
            "{bytes} bytes after its last seal are not sealed; scda rewind removes them, and scda salvage --seal saves what is intact"
        ),
    )
}

/// Fails in the same way if the file was created to be sealed, and has sections but no seal.
fn check_mark(input: &Input) -> Result<()> {
    let mut reader = input.open_damaged(false)?;
    let start = reader.position().unwrap_or(0);
    let bytes = reader.inspect().file_size().unwrap_or(0).saturating_sub(start);
    if bytes == 0 || !reader.header().has_seal_mark() || !reader.inspect().seals()?.all.is_empty() {
        return Ok(());
    }
    Err(Fail::file(
        input.name(),
        format_args!(
            "its writer was stopped before its first seal, so the {bytes} bytes after its header may be wrong; scda salvage --seal saves what is intact"
        ),
    ))
}

/// Fails if something follows the last seal of a file that is sealed, or was to be, or if a seal is damaged: appending
/// would lose that, or seal it unchecked.
pub fn check_all_sealed(input: &Input) -> Result<()> {
    check_mark(input)?;
    Reader::open(Solo, input.path(), &ReadOptions::default())?;
    let mut reader = input.open_damaged(false)?;
    let seals = reader.inspect().seals()?;
    if let Some(fault) = seals.fault {
        return Err(fault.into());
    }
    let sealed = seals.all.last().map(|last| last.seal.length);
    let after =
        sealed.zip(reader.inspect().file_size()).map_or(0, |(sealed, size)| size.saturating_sub(sealed));
    if after == 0 { Ok(()) } else { Err(unsealed(input, after)) }
}

/// Reads all of a file, as `scda check` does.
fn read(input: &Input) -> Result<Scan> {
    let mut scan = scan(input, "check", Rigour::Strict)?;
    if scan.findings.is_empty() && !scan.is_sealed() {
        check_datasets(input, &mut scan, Rigour::Strict)?;
    }
    Ok(scan)
}

/// The failure for a file that was to be sealed, but is not valid.
fn not_valid(input: &Input, scan: &Scan) -> Fail {
    scan.findings.iter().for_each(|finding| complain(&format!("{}: {}", input.name(), words(finding))));
    let advice = match scan.sealed {
        Some(_) => "scda rewind rolls it back to its last seal, and scda salvage saves what is intact",
        None => "scda salvage saves what is intact",
    };
    complain(&format!("{}: is not valid, so no seal is added; {advice}", input.name()));
    Fail::Said(scan.findings.iter().map(|finding| finding.error.code()).fold(NO, u8::max))
}

/// Fails if a file without a seal has an error, which a seal would make look valid.
pub fn check_valid(input: &Input) -> Result<()> {
    let scan = read(input)?;
    if scan.findings.is_empty() { Ok(()) } else { Err(not_valid(input, &scan)) }
}

fn seal(out: &mut Output, path: &Path, resources: &Resources) -> Result<()> {
    if path.as_os_str() == "-" {
        return Err(Fail::Trouble("-: a seal can be written only into a file".to_owned()));
    }
    let input = Input::new(path, resources)?.with_unsealed(true);
    check_mark(&input)?;
    let scan = read(&input)?;
    let name = visible(input.name());
    let begun = unfinished(&scan);
    if begun.is_none() && !scan.findings.is_empty() {
        return Err(not_valid(&input, &scan));
    }
    if scan.is_sealed() {
        return out.text(format_args!("{name}: is already sealed\n"));
    }
    if let Some(sealed) = scan.sealed {
        return Err(unsealed(&input, scan.size - sealed.bytes));
    }
    let trouble = |error| Fail::file(input.name(), error);
    if let Some(begun) = begun {
        let file = File::options().write(true).open(path).map_err(trouble)?;
        // Another program may still be writing that seal.
        lock(&file, input.name())?;
        if file.metadata().map_err(trouble)?.len() != scan.size {
            return Err(Fail::file(
                input.name(),
                "the file was changed by another program; nothing was removed",
            ));
        }
        let cut = scan.size - begun;
        complain(&format!("{}: removed {cut} bytes of an incomplete seal", input.name()));
        file.set_len(begun).map_err(trouble)?;
    }
    let mut params = WriteOptions::default();
    params.seal = true;
    resources.set(&mut params.tuning);
    params.line_break = input.open()?.header().line_break;
    OutputFile::append(path, params, &[])?.finish()?;
    let bytes = std::fs::metadata(path).map_err(trouble)?.len();
    let count = crate::check::sections(input.open()?.sections()?);
    out.text(format_args!("{name}: sealed: {count}, {bytes} bytes\n"))
}

pub fn run(args: &Args) -> Result<()> {
    for_each_file(&args.files, |out, path| seal(out, path, &args.resources))
}
