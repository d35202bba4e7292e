//! The files that are read and written.

use crate::fail::{Fail, Result};
use crate::output::{self, complain};
use crate::signals;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use scda::internals::{DATASET_CONVENTION, metadata};
use scda::{Encode, Encoder, LineBreak, Params, Reader, Solo, Writer, part_path};
use std::cell::Cell;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How many threads compress and decompress.
#[derive(clap::Args, Default)]
pub struct Threads {
    /// Threads that compress and decompress; all cores if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl Threads {
    pub fn count(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get().min(1024));
        self.threads.map_or_else(cores, usize::from)
    }
}

/// What reading a file may use.
#[derive(clap::Args, Default)]
pub struct Resources {
    #[command(flatten)]
    threads: Threads,
    /// The most bytes of memory to take, at once and for one thing, that a file asks for: for files of unknown origin
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    max_memory: Option<u64>,
}

impl Resources {
    /// Sets them for a file that is opened.
    pub fn set(&self, params: &mut Params) {
        params.threads = self.threads.count();
        params.max_memory = self.max_memory.unwrap_or(0);
    }
}

/// Whether standard input, a pipe, was read.
static WAS_READ: AtomicBool = AtomicBool::new(false);

/// A file to read, or standard input.
pub struct Input {
    path: PathBuf,
    name: String,
    threads: usize,
    max_memory: u64,
    /// Whether what is behind its last seal is read, too.
    unsealed: bool,
    /// Whether was said that it is not.
    told: Cell<bool>,
    /// A copy of standard input, if that is a pipe: random access needs a file. It has no name, so it is never left behind.
    _spool: Option<File>,
}

impl Input {
    pub fn new(path: &Path, resources: &Resources) -> Result<Self> {
        let mut params = Params::default();
        resources.set(&mut params);
        let (threads, max_memory) = (params.threads, params.max_memory);
        let name = path.display().to_string();
        let input = |path, name, _spool| Self {
            path,
            name,
            threads,
            max_memory,
            unsealed: false,
            told: Cell::new(false),
            _spool,
        };
        if !is_standard(path) {
            return Ok(input(path.to_owned(), name, None));
        }
        let name = "standard input".to_owned();
        if is_whole_file() {
            return Ok(input("/dev/stdin".into(), name, None));
        }
        if WAS_READ.swap(true, Relaxed) {
            return Err(Fail::file(&name, "is a pipe, which can be read once"));
        }
        let spool = || -> io::Result<_> {
            let mut spool = tempfile::tempfile()?;
            io::copy(&mut io::stdin().lock(), &mut spool)?;
            Ok(spool)
        };
        let spool = spool().map_err(|e| Fail::file(&name, e))?;
        Ok(input(format!("/dev/fd/{}", spool.as_raw_fd()).into(), name, Some(spool)))
    }

    /// Reads all that is there, also what is behind the last seal, if that is wanted.
    pub fn with_unsealed(self, unsealed: bool) -> Self {
        Self { unsealed, ..self }
    }

    /// Whether it does.
    pub fn reads_unsealed(&self) -> bool {
        self.unsealed
    }

    /// Reads all that is there, if a damaged seal ends it: what it has committed is to be looked at. Says nothing of what is left out.
    pub fn for_check(self, unsealed: bool) -> Self {
        let mut params = Params::default();
        params.max_memory = self.max_memory;
        let is_damaged = || Reader::open(Solo, &self.path, &params).is_err();
        let unsealed = unsealed || is_damaged();
        self.told.set(true);
        self.with_unsealed(unsealed)
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many threads may work on it.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Trouble if it is what an incomplete write of the file `to` has left.
    pub fn check_not_left(&self, to: &Path) -> Result<()> {
        check_not_left(to, &self.path, &self.name)
    }

    pub fn open(&self) -> scda::Result<Reader> {
        self.open_with(false)
    }

    fn open_with(&self, strict: bool) -> scda::Result<Reader> {
        let mut params = Params::default();
        (params.threads, params.max_memory) = (self.threads, self.max_memory);
        (params.strict, params.to_seal) = (strict, !self.unsealed);
        let reader = Reader::open(Solo, &self.path, &params)?;
        if let Some(bytes) = reader.left_out().filter(|bytes| *bytes > 0 && !self.told.replace(true)) {
            let after = if reader.is_sealed() { "its last seal" } else { "its header" };
            complain(&format!(
                "{}: not complete: {bytes} bytes behind {after} were not committed, and are left out",
                self.name
            ));
        }
        Ok(reader)
    }

    /// Opens it to read what is left of it: errors of sections leave it open. See [`Params::strict`].
    pub fn open_damaged(&self, strict: bool) -> scda::Result<Reader> {
        let mut reader = self.open_with(strict)?;
        reader.tolerate_damage()?;
        Ok(reader)
    }
}

/// A temporary file without a name, where the system has such files.
pub fn temporary_file() -> Result<File> {
    tempfile::tempfile().map_err(|error| Fail::Trouble(format!("temporary file: {error}")))
}

/// Whether standard input is a file that can be opened again, of which nothing has been read.
fn is_whole_file() -> bool {
    let is_at_start = || -> io::Result<bool> {
        let mut stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        Ok(stdin.metadata()?.is_file() && stdin.stream_position()? == 0)
    };
    is_at_start().unwrap_or(false) && File::open("/dev/stdin").is_ok()
}

/// How files are written.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Style {
    Unix,
    Mime,
}

impl From<Style> for LineBreak {
    fn from(style: Style) -> Self {
        match style {
            Style::Unix => Self::Unix,
            Style::Mime => Self::Mime,
        }
    }
}

/// Which code compresses.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum EncoderName {
    Fast,
    Zlib,
}

impl From<EncoderName> for Encoder {
    fn from(name: EncoderName) -> Self {
        match name {
            EncoderName::Fast => Self::Fast,
            EncoderName::Zlib => Self::Zlib,
        }
    }
}

/// Whether a new file is sealed.
#[derive(clap::Args, Default)]
pub struct Seal {
    /// Seal the new file, by which others know that it is whole [default: if the one that its sections come from is sealed]
    #[arg(long, conflicts_with = "no_seal")]
    seal: bool,
    /// Do not seal the new file
    #[arg(long)]
    no_seal: bool,
}

impl Seal {
    /// The user's choice, or `default` without one.
    pub fn wanted(&self, default: bool) -> bool {
        self.seal || default && !self.no_seal
    }
}

/// Takes the lock of those who write a file, which is held as long as `file` is open. Trouble if another program has it. (A
/// file system may have no locks: then there is no protection.)
pub fn lock(file: &File, name: &str) -> Result<()> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Fail::file(name, "another program is writing the file")),
        _ => Ok(()),
    }
}

/// Which file it is.
pub fn identity(status: &Metadata) -> (u64, u64) {
    (status.dev(), status.ino())
}

/// Which file it is, and whether it has changed.
pub fn state(status: &Metadata) -> (u64, u64, u64, i64, i64) {
    (status.dev(), status.ino(), status.size(), status.mtime(), status.mtime_nsec())
}

/// Identity and state of the file of this path, from the system.
pub fn status(path: &Path) -> Result<Metadata> {
    path.metadata().map_err(|e| Fail::file(&path.display().to_string(), e))
}

/// A file that is read and then replaced. Whoever replaces it has the lock of those who write it; what they did before is seen
/// by its state.
pub struct Held {
    path: PathBuf,
    before: Metadata,
}

impl Held {
    /// Trouble if another program writes it.
    pub fn new(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let trouble = |error| Fail::file(&name, error);
        let file = File::options().read(true).write(true).open(path).map_err(trouble)?;
        lock(&file, &name)?;
        let before = file.metadata().map_err(trouble)?;
        let held = Self { path: path.to_owned(), before };
        // The program that had the lock may have replaced the file.
        held.check()?;
        Ok(held)
    }

    /// The file of this path, if it is one of those that are read. Trouble if it is in the way.
    pub fn among<'a>(
        path: &Path,
        force: bool,
        inputs: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Option<Self>> {
        if is_standard(path) {
            return Ok(None);
        }
        check_free(path, force)?;
        let Some(old) = path.metadata().ok().filter(Metadata::is_file) else { return Ok(None) };
        let is_old = |input: &Path| {
            let input = if is_standard(input) { Path::new("/dev/stdin") } else { input };
            input.metadata().is_ok_and(|status| identity(&status) == identity(&old))
        };
        inputs.into_iter().any(is_old).then(|| Self::new(path)).transpose()
    }

    /// Trouble if the file is another one now, or has changed.
    pub fn check(&self) -> Result<()> {
        match state(&self.before) == state(&status(&self.path)?) {
            true => Ok(()),
            false => {
                let name = self.path.display().to_string();
                Err(Fail::file(&name, "the file has changed meanwhile; it stays as it is"))
            }
        }
    }
}

/// A file to write: it appears under its name when it is complete, or it is appended to in place.
pub struct Output {
    /// In its folder temporary files may be.
    path: PathBuf,
    force: bool,
    params: Params,
    /// For standard output: where the file is until it is complete. It has no name, so it is never left behind.
    spool: Option<File>,
    /// Until it is finished.
    writer: Option<Writer>,
}

impl Output {
    /// `inputs` are all files that are read for it. The path `-` is standard output.
    pub fn create(
        path: &Path,
        force: bool,
        user: &[u8],
        mut params: Params,
        inputs: &[Input],
    ) -> Result<Self> {
        if is_standard(path) {
            return Self::standard(user, params);
        }
        check_free(path, force)?;
        inputs.iter().try_for_each(|input| input.check_not_left(path))?;
        params.atomic = true;
        // Compressed pairs are copied section by section.
        params.raw = true;
        signals::begin(path);
        let writer = Writer::create(Solo, path, user, &params).inspect_err(|_| signals::end())?;
        Ok(Self { path: path.to_owned(), force, params, spool: None, writer: Some(writer) })
    }

    /// For standard output. A file is not written from its beginning to its end, so it is complete before anything is printed.
    fn standard(user: &[u8], mut params: Params) -> Result<Self> {
        if output::Output::new()?.is_terminal() {
            return Err(Fail::file("standard output", "an scda file is not for a terminal"));
        }
        let spool = temporary_file()?;
        params.raw = true;
        let writer =
            Writer::create(Solo, Path::new(&format!("/dev/fd/{}", spool.as_raw_fd())), user, &params)?;
        let path = std::env::temp_dir().join("-");
        Ok(Self { path, force: true, params, spool: Some(spool), writer: Some(writer) })
    }

    /// Appends to a file that exists: in place, or with [`Params::atomic`] to a copy that replaces it.
    pub fn append(path: &Path, mut params: Params, inputs: &[Input]) -> Result<Self> {
        // A file that is appended to in place stays if a signal ends the command.
        if params.atomic {
            inputs.iter().try_for_each(|input| input.check_not_left(path))?;
            signals::begin(path);
        }
        // After an error, the core cuts what was appended off again, as long as it has the lock of the file.
        (params.raw, params.sync, params.mark_incomplete) = (true, true, true);
        let writer = Writer::append(Solo, path, &params).inspect_err(|_| signals::end())?;
        let cut = writer.bytes_cut_off();
        if cut > 0 {
            let name = path.display();
            complain(&format!("{name}: cut off {cut} bytes behind the last seal, which were not committed"));
        }
        Ok(Self { path: path.to_owned(), force: true, params, spool: None, writer: Some(writer) })
    }

    pub fn writer(&mut self) -> Result<&mut Writer> {
        self.writer.as_mut().ok_or_else(|| Fail::Trouble("the file is finished".to_owned()))
    }

    /// Writes the metadata of a dataset, so that contiguous data of so many bytes behind them are aligned.
    pub fn metadata(&mut self, mut text: String, data_bytes: u64) -> Result<()> {
        let position = self.position()?;
        metadata::align(&mut text, data_bytes, position);
        let writer = self.writer()?;
        let bytes = text.len() as u64;
        Ok(writer.block_from(DATASET_CONVENTION, bytes, &mut text.as_bytes(), Encode::None)?)
    }

    /// Where the next section begins.
    pub fn position(&mut self) -> Result<u64> {
        let writer = self.writer()?;
        if writer.position().is_none() {
            writer.flush()?;
        }
        Ok(writer.position().unwrap_or(0))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it ends with a seal when it is finished.
    pub fn is_sealed(&self) -> bool {
        self.params.seal
    }

    pub fn finish(mut self) -> Result<()> {
        // Somebody else may have come in the meantime.
        if self.spool.is_none() {
            check_free(&self.path, self.force)?;
        }
        let closed = self.writer.take().map_or(Ok(()), |writer| Ok(writer.close()?));
        signals::end();
        match self.spool.take() {
            Some(spool) => closed.and_then(|()| print_all(spool)),
            None => closed,
        }
    }
}

/// Prints a file.
fn print_all(mut file: File) -> Result<()> {
    let (mut out, mut data) = (output::Output::new()?, vec![0; 1 << 20]);
    loop {
        match file.read(&mut data).map_err(|error| Fail::Trouble(format!("temporary file: {error}")))? {
            0 => return out.finish(),
            count => out.bytes(&data[..count])?,
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            let _ = writer.abandon("the file is not completed");
            signals::end();
        }
    }
}

/// Trouble if `from` is what an incomplete write of the file `to` has left: the next write removes that. `name` is that of `from` in
/// messages.
pub fn check_not_left(to: &Path, from: &Path, name: &str) -> Result<()> {
    let from = std::fs::metadata(from).map(|status| identity(&status));
    let left = std::fs::symlink_metadata(part_path(to)).map(|status| identity(&status));
    match (from, left) {
        (Ok(from), Ok(left)) if from == left => {
            let to = to.display();
            let words =
                format!("was left by an incomplete write of {to} and would be removed; rename it first");
            Err(Fail::file(name, words))
        }
        _ => Ok(()),
    }
}

/// Trouble if what is to be replaced is no file, or one of those that are read. `what` says which one that is.
pub fn check_replaceable(path: &Path, what: &str, inputs: impl IntoIterator<Item = Metadata>) -> Result<()> {
    let Ok(old) = path.metadata() else { return Ok(()) };
    let trouble = |words: &str| Err(Fail::file(&path.display().to_string(), words));
    if !old.is_file() {
        return trouble("found a folder, pipe or device, expected a file");
    }
    if inputs.into_iter().any(|input| identity(&input) == identity(&old)) {
        return trouble(&format!("{what}, which must not change; expected another name"));
    }
    Ok(())
}

/// Whether it stands for standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Trouble if a file is in the way.
pub fn check_free(path: &Path, force: bool) -> Result<()> {
    let name = path.display().to_string();
    if is_standard(path) {
        return Err(Fail::file(&name, "this command writes to files, not to standard output"));
    }
    if !force && path.symlink_metadata().is_ok() {
        return Err(Fail::file(&name, "the file exists; --force replaces it"));
    }
    Ok(())
}
