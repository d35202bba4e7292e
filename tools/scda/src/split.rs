//! Splits streams of tasks into files, one for each task.

use crate::fail::{Fail, Result};
use crate::files::{Input, Resources, check_free, check_replaceable};
use crate::output::escape;
use crate::progress::{self, Progress};
use crate::signals;
use crate::streams::{each_batch, find};
use scda::{AtomicFile, UserString};
use std::path::{Path, PathBuf};

/// The least number of digits in the names of files.
const DIGITS: usize = 6;

/// Split a set of streams into files, one for each task
///
/// The file of task 3 of the streams "log" is DIR/log.000003. The elements of a varray that is not compressed
/// count as streams. DIR is created if it does not exist. If FILE is damaged, scda salvage saves what is
/// intact, also of streams.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda split run.scda log logs")]
pub struct Args {
    /// The file to read; - is standard input
    file: PathBuf,
    /// The name of the streams
    name: String,
    /// The folder to write the files to
    #[arg(value_name = "DIR")]
    to: PathBuf,
    /// If several sets of streams have this name, split number K: 0 is the first one, -1 the last one
    /// [default: -1]
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    record: Option<i64>,
    /// Replace files that exist
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    resources: Resources,
}

/// The file of a task.
struct TaskFile {
    /// `None` once it is complete.
    file: Option<AtomicFile>,
}

impl TaskFile {
    fn new(path: &Path, force: bool, input: &Input) -> Result<Self> {
        check_free(path, force)?;
        check_replaceable(path, "is the file to split", input.path().metadata())?;
        input.check_not_left(path)?;
        // A link is replaced, not followed: what it names may be anywhere.
        if path.is_symlink() {
            std::fs::remove_file(path).map_err(|error| Fail::file(&path.display().to_string(), error))?;
        }
        signals::begin(path);
        let file = AtomicFile::create(path, input.mode()).inspect_err(|_| signals::end())?;
        Ok(Self { file: Some(file) })
    }

    fn put(&mut self, data: &[u8]) -> Result<()> {
        Ok(self.file.as_mut().map_or(Ok(()), |file| file.write(data))?)
    }

    fn finish(mut self) -> Result<()> {
        Ok(self.file.take().map_or(Ok(()), AtomicFile::finish)?)
    }
}

impl Drop for TaskFile {
    fn drop(&mut self) {
        // Before a signal would find nothing to remove.
        self.file = None;
        signals::end();
    }
}

/// The path of the file of a task, out of `tasks` tasks.
fn path_of(folder: &Path, user: &UserString, task: u64, tasks: u64) -> PathBuf {
    let stem: String = escape(user).chars().map(|c| if "/\\".contains(c) { '_' } else { c }).collect();
    let digits = tasks.saturating_sub(1).to_string().len().max(DIGITS);
    folder.join(format!("{stem}.{task:0digits$}"))
}

pub fn run(args: &Args) -> Result<()> {
    let input = Input::new(&args.file, &args.resources)?;
    let mut reader = input.open()?;
    let streams = find(&mut reader, &input, &args.name, args.record)?;
    std::fs::create_dir_all(&args.to).map_err(|error| Fail::file(&args.to.display().to_string(), error))?;
    let _progress = Progress::new(&format!("split {}", input.name()), 0);
    for task in 0..streams.tasks() {
        let stream = streams.stream(&mut reader, task)?;
        let path = path_of(&args.to, streams.name(), task, streams.tasks());
        let mut file = TaskFile::new(&path, args.force, &input)?;
        each_batch(&mut reader, &stream, 0..stream.bytes(), |data| {
            progress::add(data.len() as u64);
            file.put(data)
        })?;
        file.finish()?;
    }
    Ok(())
}
