//! `scda salvage`: what is whole of a damaged file.

use crate::check::{scan, words};
use crate::fail::{Fail, NO, Result};
use crate::files::{Input, Threads, check_free};
use crate::output::{Output, complain};
use crate::progress::Progress;
use scda::{PART_SUFFIX, target_path};
use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Save the whole sections of a damaged file
///
/// Copies them byte for byte: those up to the damage, and those behind a damaged section whose end can be told.
/// What is left out is said. IN stays as it is.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda salvage state.scda saved.scda
  scda check state.scda                       only says what is wrong")]
pub struct Args {
    /// The damaged file; - is standard input
    #[arg(value_name = "IN")]
    from: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    to: PathBuf,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    threads: Threads,
}

pub fn run(args: &Args) -> Result<()> {
    check_free(&args.to, args.force)?;
    let input = Input::new(&args.from, &args.threads)?;
    let old = args.to.metadata().ok();
    check_replaceable(&args.to, old.as_ref(), &input)?;
    let scan = scan(&input, "check")?;
    scan.findings.iter().for_each(|finding| complain(&format!("{}: {}", input.name(), words(finding))));
    if scan.parts.is_empty() {
        complain(&format!("{}: nothing can be saved", input.name()));
        return Err(Fail::Said(NO));
    }
    let bytes = scan.parts.iter().map(|part| part.end - part.start).sum::<u64>();
    let mut progress = Progress::new("salvage", bytes);
    let to = args.to.display().to_string();
    copy(&input, &scan.parts, args, old.as_ref(), &mut progress).map_err(|e| Fail::file(&to, e))?;
    let mut out = Output::new()?;
    out.text(format_args!(
        "{to}: {} of {} sections, {bytes} of {} bytes\n",
        scan.whole, scan.sections, scan.size
    ))?;
    out.finish()
}

/// Trouble if what is to be replaced is no file, or the damaged one.
fn check_replaceable(path: &Path, old: Option<&Metadata>, input: &Input) -> Result<()> {
    let Some(old) = old else { return Ok(()) };
    let trouble = |words: &str| Err(Fail::file(&path.display().to_string(), words));
    if !old.is_file() {
        return trouble("found a folder, pipe or device, expected a file");
    }
    let identity = |status: &Metadata| (status.dev(), status.ino());
    if input.path().metadata().is_ok_and(|from| identity(&from) == identity(old)) {
        return trouble("is the damaged file itself, which stays as it is; expected another OUT");
    }
    Ok(())
}

fn copy(
    input: &Input,
    parts: &[std::ops::Range<u64>],
    args: &Args,
    old: Option<&Metadata>,
    progress: &mut Progress,
) -> io::Result<()> {
    // A link is followed, not replaced.
    let path = target_path(&args.to);
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    // With what is added, at most 255 bytes.
    let name = path.file_name().unwrap_or_default().as_bytes();
    let name = OsStr::from_bytes(&name[..name.len().min(200)]);
    // From the beginning nobody may open the new file who may not open the old one.
    let mode = old.map(|old| old.mode() & 0o777);
    let mut builder = tempfile::Builder::new();
    let at_first = Permissions::from_mode(mode.map_or(0o666, |mode| mode | 0o200));
    builder.prefix(name).suffix(PART_SUFFIX).permissions(at_first);
    let mut from = File::open(input.path())?;
    let mut part = builder.tempfile_in(folder)?;
    if let Some(mode) = mode {
        // Not every file system has permissions.
        let _ = part.as_file().set_permissions(Permissions::from_mode(mode));
    }
    for range in parts {
        from.seek(SeekFrom::Start(range.start))?;
        let mut left = range.end - range.start;
        while left > 0 {
            let step = left.min(64 << 20);
            // In the kernel, where it can.
            let copied = io::copy(&mut (&from).take(step), part.as_file_mut())?;
            if copied == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            left -= copied;
            progress.add(copied);
        }
    }
    part.as_file().sync_all()?;
    if args.force {
        part.persist(&path)?
    } else {
        part.persist_noclobber(&path)?
    };
    File::open(folder)?
        .sync_all()
        .or_else(|e| if e.kind() == io::ErrorKind::InvalidInput { Ok(()) } else { Err(e) })
}
