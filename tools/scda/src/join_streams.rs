//! Joins files to streams of tasks, one file for each task.

use crate::fail::{Fail, Result};
use crate::files::{
    OutputFile, SealByDefault, check_free, check_not_left, check_replaceable, mode_like, status,
};
use scda::WriteOptions;
use scda_base::numbers::to_usize;
use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The unit of chunk sizes: whole blocks of common file systems.
const LEAST_CHUNK_BYTES: u64 = 4096;
const MOST_CHUNK_BYTES: u64 = 1 << 20;

/// Join files into a set of streams, one file for each task
///
/// This is the inverse of scda split: the first file becomes task 0. The files of a folder are taken in the
/// order of their names, in which numbers count by value. Holes, and zeros at the end of a chunk, take no
/// space if the file system supports holes.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda join-streams logs -o all.scda --name log
  scda join-streams out.0 out.1 out.2 -o all.scda --name output")]
pub struct Args {
    /// The files, in the order of the tasks; or a folder that contains only them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The file to write
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    to: PathBuf,
    /// The name of the set of streams
    #[arg(long)]
    name: String,
    /// The size of a chunk in bytes, 1 to 2^30 [default: 1 MiB, or less if all files are shorter]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    chunk_bytes: Option<u64>,
    #[command(flatten)]
    seal: SealByDefault,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
}

/// Compares names in an order in which digits count as numbers.
fn natural(a: &[u8], b: &[u8]) -> Ordering {
    let (mut x, mut y) = (a, b);
    loop {
        let number = |text: &[u8]| text.iter().take_while(|c| c.is_ascii_digit()).count();
        let order = match (number(x), number(y)) {
            (0, _) | (_, 0) => match (x.split_first(), y.split_first()) {
                (Some((c, rest)), Some((d, other))) => {
                    (x, y) = (rest, other);
                    c.cmp(d)
                }
                // The rest; otherwise equal except for leading zeros of numbers.
                _ => return x.len().cmp(&y.len()).then_with(|| a.cmp(b)),
            },
            (n, m) => {
                let ((first, rest), (second, other)) = (x.split_at(n), y.split_at(m));
                (x, y) = (rest, other);
                let value = |digits: &[u8]| digits.iter().position(|&c| c != b'0').unwrap_or(digits.len());
                let (first, second) = (&first[value(first)..], &second[value(second)..]);
                first.len().cmp(&second.len()).then_with(|| first.cmp(second))
            }
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// The files of a folder, in the order of their names.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let trouble = |error: io::Error| Fail::file(&folder.display().to_string(), error);
    let mut files = Vec::new();
    for entry in folder.read_dir().map_err(trouble)? {
        files.push(entry.map_err(trouble)?.path());
    }
    let name =
        |path: &PathBuf| path.file_name().map(|name| name.as_encoded_bytes().to_vec()).unwrap_or_default();
    files.sort_by(|a, b| natural(&name(a), &name(b)));
    Ok(files)
}

/// A file whose errors contain its name.
struct NamedInput {
    file: File,
    name: String,
}

impl Read for NamedInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ => named(&self.name, error),
        })
    }
}

fn named(name: &str, error: io::Error) -> io::Error {
    Fail::file(name, error).into_io()
}

pub fn run(args: &Args) -> Result<()> {
    let to = &args.to;
    check_free(to, args.force)?;
    let files = match args.files.as_slice() {
        [folder] if folder.is_dir() => files_of(folder)?,
        files => files.to_vec(),
    };
    let all = files.iter().map(|path| status(path)).collect::<Result<Vec<_>>>()?;
    if let Some(place) = all.iter().position(|status| !status.is_file()) {
        let name = files[place].display().to_string();
        return Err(Fail::file(&name, "a folder, pipe or device, not a file"));
    }
    if files.is_empty() {
        let folder = args.files.first().map(|folder| folder.display().to_string()).unwrap_or_default();
        return Err(Fail::file(&folder, "found no file of a task in it"));
    }
    let longest = all.iter().map(std::fs::Metadata::len).max().unwrap_or(0);
    let mode = all.iter().map(mode_like).fold(WriteOptions::default().mode, |all, mode| all & mode);
    check_replaceable(to, "is one of the files to join", all)?;
    files.iter().try_for_each(|path| check_not_left(to, path, &path.display().to_string()))?;
    let chosen = longest.next_multiple_of(LEAST_CHUNK_BYTES).clamp(LEAST_CHUNK_BYTES, MOST_CHUNK_BYTES);
    let mut params = WriteOptions::default();
    args.seal.set(&mut params);
    params.mode = mode;
    let name = args.name.as_bytes();
    let mut out = OutputFile::create(to, args.force, name, params, &[])?;
    let mut open = |task: u64| -> io::Result<Box<dyn Read>> {
        let path = &files[to_usize(task)];
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| named(&name, error))?;
        Ok(Box::new(NamedInput { file, name }))
    };
    let chunk_bytes = args.chunk_bytes.unwrap_or(chosen);
    out.writer()?.incremental().streams(name, chunk_bytes, files.len() as u64, &mut open)?;
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_as_such() {
        let sorted = ["a", "a.1", "a.02", "a.2", "a.10", "a.10.9", "a.10.10", "b"];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(natural(a.as_bytes(), b.as_bytes()), i.cmp(&j), "{a} {b}");
            }
        }
    }
}
