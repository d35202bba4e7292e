//! `scda append` and `scda join`: combine the sections of several files.

use crate::check::VerifyingReader;
use crate::copy::sections;
use crate::fail::{Fail, Result};
use crate::files::{Identity, Input, LockedInput, OutputFile, Resources, State, status};
use crate::seal::{check_all_sealed, check_valid};
use crate::section_choice::{CopyTotals, SectionChoice};
use crate::select::Selection;
use crate::storage_options::StorageOptions;
use std::path::PathBuf;

/// Append the sections of other files to a file
///
/// A sealed file is extended in place and sealed again. Its earlier seals stay, so that nothing it had can be
/// lost. A file that continues after its last seal, because a program was killed, is refused: rewind removes
/// the rest, salvage saves what is intact.
///
/// A file without a seal is copied first, sections are appended to the copy, and the complete copy replaces
/// FILE. FILE stays unchanged until then, so there must be space for both. If FILE changes meanwhile, it is
/// not replaced.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda append series.scda step-17.scda
  scda append --select 'field*' series.scda step-17.scda step-18.scda
  scda append --seal old.scda step-17.scda    also seal a file that is not sealed")]
pub struct AppendArgs {
    /// The file to extend
    file: PathBuf,
    /// The files whose sections are appended; - is standard input
    #[arg(required = true, value_name = "FROM")]
    from: Vec<PathBuf>,
    /// Select only these sections: numbers, ranges, or a pattern for user strings
    #[arg(short, long, value_name = "SECTIONS")]
    select: Vec<Selection>,
    /// Seal FILE if it is not sealed
    #[arg(long)]
    seal: bool,
    #[command(flatten)]
    resources: Resources,
}

/// Join the sections of several files into a new file
///
/// OUT has the user string and the line breaks of the first file, and is sealed if the first file is.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda join part-*.scda -o all.scda
  scda join --encode auto part-*.scda -o all.scda")]
pub struct JoinArgs {
    /// The files to join, in this order; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The file to write; - is standard output
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    to: PathBuf,
    #[command(flatten)]
    storage: StorageOptions,
    /// Select only these sections: numbers, ranges, or a pattern for user strings
    #[arg(short, long, value_name = "SECTIONS")]
    select: Vec<Selection>,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    resources: Resources,
}

fn inputs(paths: &[PathBuf], resources: &Resources) -> Result<Vec<Input>> {
    paths.iter().map(|path| Input::new(path, resources)).collect()
}

/// Fails if the selections match no section of any input.
fn check_some(copied: CopyTotals, selections: &[Selection]) -> Result<()> {
    if copied.sections == 0 && !selections.is_empty() {
        return Err(Fail::Trouble("--select matches no section of any file".to_owned()));
    }
    Ok(())
}

pub fn run_append(args: &AppendArgs) -> Result<()> {
    if args.file.as_os_str() == "-" {
        return Err(Fail::Trouble("-: sections can be appended only to a file".to_owned()));
    }
    let before = status(&args.file)?;
    let input = Input::new(&args.file, &args.resources)?.with_unsealed(true);
    check_all_sealed(&input)?;
    let mut reader = input.open_damaged(false)?;
    let is_in_place = reader.header().has_seal_mark() || !reader.inspect().seals()?.all.is_empty();
    let storage = StorageOptions::default();
    let mut params = storage.params(reader.header().line_break, &args.resources);
    (params.seal, params.atomic) = (is_in_place || args.seal, !is_in_place);
    let style = params.line_break;
    let inputs = inputs(&args.from, &args.resources)?;
    // Opened before anything is appended: a FROM that is FILE itself contributes only the sections that it has now.
    let is_file = |input: &Input| {
        input.path().metadata().is_ok_and(|status| Identity::of(&status) == Identity::of(&before))
    };
    let own = inputs.iter().map(|input| is_file(input).then(|| VerifyingReader::new(input)).transpose());
    let own: Vec<_> = own.collect::<Result<_>>()?;
    if args.seal && !is_in_place {
        check_valid(&input)?;
    }
    let mut output = OutputFile::append(&args.file, params, &inputs)?;
    let mut copied = CopyTotals::default();
    for (input, from) in inputs.iter().zip(own) {
        let mut from = from.map_or_else(|| VerifyingReader::new(input), Ok)?;
        copied += sections(
            input,
            &mut from,
            &mut output,
            &storage,
            &mut SectionChoice::new(&args.select, &[]),
            style,
        )?;
    }
    check_some(copied, &args.select)?;
    if !is_in_place && State::of(&before) != State::of(&status(&args.file)?) {
        return Err(Fail::file(
            input.name(),
            "the file was changed by another program; nothing was appended",
        ));
    }
    output.finish()
}

pub fn run_join(args: &JoinArgs) -> Result<()> {
    args.storage.check()?;
    let locked = LockedInput::among(&args.to, args.force, args.files.iter().map(PathBuf::as_path))?;
    let inputs = inputs(&args.files, &args.resources)?;
    let (mut output, mut copied) = (None, CopyTotals::default());
    for input in &inputs {
        let mut from = VerifyingReader::new(input)?;
        let (output, style) = match &mut output {
            Some(output) => output,
            None => {
                let params = args.storage.params_like(&mut from.reader, &args.resources);
                let style = params.line_break;
                let new =
                    OutputFile::create(&args.to, args.force, &from.reader.header().user, params, &inputs)?;
                output.insert((new, style))
            }
        };
        copied += sections(
            input,
            &mut from,
            output,
            &args.storage,
            &mut SectionChoice::new(&args.select, &[]),
            *style,
        )?;
    }
    check_some(copied, &args.select)?;
    args.storage.check_names()?;
    locked.as_ref().map_or(Ok(()), LockedInput::check)?;
    let Some((mut output, _)) = output else { return Ok(()) };
    let end = output.position()?;
    output.finish()?;
    args.storage.report_growth(&args.to, end, copied.bytes);
    Ok(())
}
