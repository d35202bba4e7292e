//! `scda rewind`: back to a seal, or to a step.

use crate::fail::{Fail, Result};
use crate::files::{Input, Resources, lock};
use crate::output::{Output, visible};
use scda::SealedPart;
use scda::{ReadOptions, Reader, Solo, WriteOptions, Writer};
use scda_format::hdf5::SUPERBLOCK_OFFSET;
use scda_format::truncation;
use serde_json::json;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Roll a file back to one of its seals
///
/// Each time a program appends to a sealed file, it adds a seal, and all earlier ones stay. Without SEAL,
/// removes what follows the last seal: what a killed program had not committed. With SEAL, also removes what
/// was sealed after that seal. Prints what it is about to remove. Removes whole sections only with --force.
///
/// With --after, what is kept need not end with a seal: rewind adds one.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda rewind --list series.scda              the seals, and what follows the last one
  scda rewind series.scda                     remove what was not committed
  scda rewind --force series.scda 12          roll back to seal 12
  scda rewind --force series.scda --after time 41
                                              remove all steps after 41, if each begins with \"time\"")]
pub struct Args {
    /// The file to change
    file: PathBuf,
    /// The number of the seal, as in --list [default: the last one]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    seal: Option<u64>,
    /// Keep the file up to record RECORD (0: the first, -1: the last) of the dataset NAME, and all that
    /// precedes its next record; for a mesh, NAME is the path of its group with a slash at the end
    #[arg(long, num_args = 2, value_names = ["NAME", "RECORD"], allow_hyphen_values = true, conflicts_with_all = ["seal", "list"])]
    after: Vec<String>,
    /// List the seals, and change nothing
    #[arg(short, long, conflicts_with_all = ["seal", "force"])]
    list: bool,
    /// With --list: print JSON
    ///
    /// seals gives the sections and bytes of the file up to each seal; uncommitted gives the bytes after the
    /// last seal, the whole sections there, and torn_bytes, which belong to no whole section.
    #[arg(long, requires = "list")]
    json: bool,
    /// Remove whole sections, too
    #[arg(short, long)]
    force: bool,
}

/// The file to change
struct Tail {
    /// Whole sections.
    sections: u64,
    /// Bytes that are no whole section.
    torn: u64,
}

impl Tail {
    fn new(reader: &mut Reader, start: u64, size: u64) -> Result<Self> {
        reader.seek(start)?;
        let (mut sections, mut end) = (0, start);
        // A section with any error is not whole.
        while end < size && reader.next_section(true).is_ok_and(|section| section.is_some()) {
            if reader.skip().is_err() {
                break;
            }
            end = reader.position().unwrap_or(end);
            sections += 1;
        }
        Ok(Self { sections, torn: size - end.min(size) })
    }

    /// Describes the `bytes` bytes after the seal.
    fn words(&self, bytes: u64, sealed_sections: u64) -> String {
        let sections = crate::check::sections(self.sections + sealed_sections);
        match (self.sections + sealed_sections, self.torn) {
            (0, _) => format!("{bytes} bytes of an incomplete section"),
            (_, 0) => format!("{bytes} bytes with {sections}"),
            (_, torn) => {
                format!("{bytes} bytes with {sections}, and {torn} bytes of an incomplete section at the end")
            }
        }
    }
}

fn list(out: &mut Output, args: &Args, seals: &[SealedPart], tail: &Tail, size: u64) -> Result<()> {
    let last = seals.last().map_or(0, |last| last.seal.length);
    if args.json {
        let seals = seals.iter().zip(1..).map(|(sealed, number)| {
            let (sections, bytes) = (sealed.seal.sections, sealed.seal.length);
            json!({ "seal": number, "sections": sections, "bytes": bytes })
        });
        let object = json!({
            "file": args.file.display().to_string(),
            "bytes": size,
            "seals": seals.collect::<Vec<_>>(),
            "uncommitted": { "bytes": size - last, "sections": tail.sections, "torn_bytes": tail.torn },
        });
        return out.text(format_args!("{object}\n"));
    }
    out.text(format_args!("{:>5} {:>12} {:>18}\n", "seal", "sections", "bytes"))?;
    for (number, sealed) in (1..).zip(seals) {
        out.text(format_args!("{number:5} {:12} {:18}\n", sealed.seal.sections, sealed.seal.length))?;
    }
    match size - last {
        0 => Ok(()),
        bytes => out.text(format_args!("after the last seal: {}\n", tail.words(bytes, 0))),
    }
}

/// Removes everything after a step.
fn keep_up_to(args: &Args, file: &str, name: &str, record: &str) -> Result<()> {
    let number =
        record.parse().map_err(|_| Fail::Trouble(format!("--after: found {record:?}, expected a number")))?;
    if !args.force {
        let words =
            format!("would remove what follows record {record} of \"{}\"; --force does so", visible(name));
        return Err(Fail::file(file, words));
    }
    let mut options = WriteOptions::default();
    options.append_record = Some((name.to_owned(), number));
    let writer = Writer::append(Solo, &args.file, &options)?;
    let bytes = writer.bytes_rolled_back();
    // Opening the file has removed it.
    writer.forget();
    let mut out = Output::new()?;
    let what = format!("what follows record {record} of {}: {bytes} bytes", visible(name));
    out.text(format_args!("{}: removed {what}\n", visible(file)))?;
    out.finish()
}

pub fn run(args: &Args) -> Result<()> {
    if args.file.as_os_str() == "-" {
        return Err(Fail::Trouble("-: only a file can be rolled back".to_owned()));
    }
    let input = Input::new(&args.file, &Resources::default())?.with_unsealed(true);
    if let [name, record] = &args.after[..] {
        return keep_up_to(args, input.name(), name, record);
    }
    let trouble = |error| Fail::file(input.name(), error);
    let file = File::options().read(true).write(!args.list).open(&args.file).map_err(trouble)?;
    if !args.list {
        // The lock of programs that append keeps others from appending meanwhile.
        lock(&file, input.name())?;
    }
    let mut reader = input.open_damaged(false)?;
    let size = reader.inspect().file_size().unwrap_or(0);
    let found = reader.inspect().seals()?;
    if let Some(fault) = found.fault {
        return Err(fault.into());
    }
    let seals = found.all;
    let Some(last) = seals.last() else {
        return Err(Fail::file(input.name(), "it has no seal to roll back to"));
    };
    let tail = Tail::new(&mut reader, last.seal.length, size)?;
    let mut out = Output::new()?;
    if args.list {
        list(&mut out, args, &seals, &tail, size)?;
        return out.finish();
    }
    let count = seals.len() as u64;
    let number = args.seal.unwrap_or(count);
    let wanted = usize::try_from(number - 1).ok().and_then(|place| seals.get(place));
    let Some(wanted) = wanted else {
        return Err(Fail::file(input.name(), format_args!("found {count} seals, but no seal {number}")));
    };
    // A file is not rolled back to a damaged seal.
    reader.inspect().check_index(wanted)?;
    let (end, name) = (wanted.seal.length, visible(input.name()));
    if end == size {
        out.text(format_args!("{name}: already ends with seal {number}\n"))?;
        return out.finish();
    }
    let sealed = last.seal.sections - wanted.seal.sections;
    let what = format!("follows seal {number}: {}", tail.words(size - end, sealed));
    if sealed + tail.sections > 0 && !args.force {
        // Finds out whether some of it was committed.
        let damage = Reader::open(Solo, &args.file, &ReadOptions::default()).err();
        let damage = damage.map_or_else(String::new, |error| format!(" ({error})"));
        let words = format!("would remove what {what}{damage}; --force does so");
        return Err(Fail::file(input.name(), words));
    }
    out.text(format_args!("{name}: removes what {what}\n"))?;
    out.finish_unread()?;
    let found = file.metadata().map_err(trouble)?.len();
    if found != size {
        return Err(Fail::file(input.name(), "the file was changed by another program; nothing was removed"));
    }
    if let Some(superblock) = reader.inspect().renewed_superblock(end)? {
        // HDF5 must not be led to what is removed next.
        let written = file.write_all_at(&superblock, SUPERBLOCK_OFFSET).and_then(|()| file.sync_all());
        written.map_err(trouble)?;
    }
    if sealed > 0 {
        // As in the library: the seals must be gone before what they seal is damaged.
        let note = truncation::bytes(end, reader.header().line_break);
        let noted = file.write_all_at(&note, truncation::offset(size, end)).and_then(|()| file.sync_all());
        if let Err(error) = noted {
            let _ = file.set_len(size);
            return Err(trouble(error));
        }
    }
    file.set_len(end).and_then(|()| file.sync_all()).map_err(trouble)
}
