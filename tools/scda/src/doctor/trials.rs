//! The tests of `scda doctor` with any communicator: a folder, by each driver.

use scda::stripe_of_block;
use scda::{
    Collective, Communicator, Driver, Encode, ErrorKind, FileSystem, ReadOptions, Reader, Result, Sink,
    Source, WriteOptions, Writer, uniform_partition,
};
use scda_base::environment::{self, Environment};
use scda_base::numbers::to_usize;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tempfile::TempDir;

/// The findings, line by line.
#[derive(Default)]
pub struct Report {
    lines: Vec<(&'static str, String)>,
    failed: bool,
}

impl Report {
    /// Adds three lines for a message to the maintainers.
    pub fn summarize(&mut self) {
        let of = |first: &str, topics: &[&str]| {
            let (mut line, mut last) = (first.to_owned(), "");
            for (topic, text) in self.lines.iter().filter(|(topic, _)| topics.contains(topic)) {
                let between = if line.is_empty() { "" } else { "; " };
                let name = if *topic == last { String::new() } else { format!("{topic}: ") };
                let _ = write!(line, "{between}{name}{text}");
                last = *topic;
            }
            line
        };
        let found = rustix::system::uname();
        let (system, release) = (found.sysname().to_string_lossy(), found.release().to_string_lossy());
        let lines = [
            of(&format!("scda {}, {system} {release}", env!("CARGO_PKG_VERSION")), &["MPI", "nodes"]),
            of("", &["file system", "driver", "stripes", "writers", "environment"]),
            of("", &["POSIX", "MPI-IO", "speed"]),
        ];
        lines.into_iter().for_each(|line| self.say("to report", line));
    }

    pub fn say(&mut self, topic: &'static str, text: impl Into<String>) {
        self.lines.push((topic, text.into()));
    }

    /// Adds a trial that failed.
    pub fn fail(&mut self, topic: &'static str, text: &str) {
        self.failed = true;
        self.say(topic, format!("FAILED: {text}"));
    }

    /// Prints the report, with advice last. Returns the exit code.
    pub fn print(mut self, json: bool) -> u8 {
        self.lines.sort_by_key(|(topic, _)| *topic == "advice");
        let mut text = String::new();
        if json {
            let line = |(topic, text): &(_, _)| serde_json::json!({"topic": topic, "text": text});
            let found: Vec<_> = self.lines.iter().map(line).collect();
            let object = serde_json::json!({"ok": !self.failed, "found": found});
            let _ = writeln!(text, "{object}");
        } else {
            let mut last = "";
            for (topic, line) in &self.lines {
                let _ = writeln!(text, "{:12} {line}", if *topic == last { "" } else { topic });
                last = topic;
            }
        }
        match std::io::stdout().write_all(text.as_bytes()) {
            // The reader has closed the pipe, which is no failure.
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                eprintln!("scda: standard output: {error}");
                2
            }
            _ => u8::from(self.failed),
        }
    }
}

/// Reports what is known of the folder without writing to it. Failures are reported and not returned, because a rank
/// that alone has one must continue to the next collective call.
pub fn describe(report: &mut Report, folder: &Path) {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    report.say("folder", absolute.display().to_string());
    let kind = match FileSystem::of(folder) {
        Ok(kind) => kind,
        Err(error) => return report.fail("file system", &error.to_string()),
    };
    let name = kind.name.unwrap_or("of an unknown kind");
    let mut text = name.to_owned();
    if let Some((free, all)) = space(folder) {
        let _ = write!(text, ", {} free of {}", bytes(free), bytes(all));
        if free < all / 50 || free < 1 << 30 {
            report.say("advice", "little space is left");
        }
    }
    report.say("file system", text);
    let driver = match said_by_environment().coherent.unwrap_or(kind.is_coherent) {
        true => "POSIX: the file system is coherent between nodes",
        false if kind.is_exact_by_locks => {
            "POSIX: while a byte is locked on a node, it writes exactly what its ranks write"
        }
        false => "POSIX for ranks on one node; for several, MPI-IO if the program has MPI",
    };
    report.say("driver", format!("{driver}; unless params.driver or SCDA_IO selects another"));
    for &name in environment::NAMES.iter().chain(&["ROMIO_HINTS", "ROMIO_FSTYPE_FORCE", "OMPI_MCA_io"]) {
        if let Some(value) = std::env::var_os(name) {
            report.say("environment", format!("{name}={}", value.display()));
        }
    }
    advise(report, name);
}

/// Reports the stripes of a file that a trial has written, as the library uses them; 0 if there are none.
pub fn describe_stripes(report: &mut Report, folder: &Path) -> u64 {
    let block = scda::block_bytes(&folder.join(TRIAL)).unwrap_or(0);
    let Environment { stripe_bytes: wanted, writers_per_node: writers, .. } = said_by_environment();
    let (stripe, text) = match (wanted, stripe_of_block(block)) {
        (1.., _) => (wanted, format!("{wanted} bytes, by SCDA_STRIPE_BYTES")),
        (_, 0) if writers == 0 => {
            (0, format!("none: blocks of {block} bytes are those of a local file system"))
        }
        _ => (block, format!("{block} bytes, as the file system reports")),
    };
    report.say("stripes", text);
    stripe
}

/// The settings in the environment. A trial that opens a file reports malformed variables.
pub fn said_by_environment() -> Environment {
    Environment::read().unwrap_or_default()
}

/// Adds advice about such file systems.
fn advise(report: &mut Report, name: &str) {
    match name {
        "nfs" | "cifs" | "smb2" | "9p" | "afs" => {
            report.say("advice", format!("{name} may accept data and lose them later: set params.sync or params.atomic, so that the error is reported"));
        }
        "lustre" => report.say(
            "advice",
            "a file that several nodes write gets a stripe for each node, unless the folder has a layout of its own (lfs getstripe -d DIR); \
             SCDA_STRIPE_COUNT asks for another number",
        ),
        "tmpfs" | "ramfs" => {
            report.say("advice", "this is the memory of one node: when the node restarts, the files are gone")
        }
        "ext4" | "xfs" | "btrfs" | "zfs" | "f2fs" | "bcachefs" | "overlay" => {
            report.say(
                "advice",
                "this is the disk of one node: jobs on several nodes need a file system that all of them see",
            );
        }
        "of an unknown kind" | "fuse" => {
            report.say(
                "advice",
                "if all nodes immediately see what one of them has written there, set SCDA_COHERENT=1: POSIX is likely to be faster",
            );
        }
        _ => {}
    }
    if let Some((free, _)) = space(Path::new("/dev/shm")).filter(|(free, _)| *free < 256 << 20) {
        let text = format!(
            "/dev/shm, which MPI uses for shared memory, has {} left; programs crash when it is full",
            bytes(free)
        );
        report.say("advice", text);
    }
    // A file of OMPIO, named after the trial file; a killed job may have left it locked.
    for entry in std::fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b"sem.OMPIO_") {
            report.say(
                "advice",
                format!("/dev/shm/{} was left by a job of Open MPI: if no job is running, remove it, because opening that file by MPI-IO may hang", name.display()),
            );
        }
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if let Some(limit) = limit {
        report.say(
            "advice",
            format!(
                "files are limited to {} (ulimit -f); the system kills programs that write more",
                bytes(limit)
            ),
        );
    }
}

/// The free space and the size of a file system in bytes.
fn space(folder: &Path) -> Option<(u64, u64)> {
    let space = rustix::fs::statvfs(folder).ok()?;
    Some((space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize))
}

/// A number of bytes in readable form.
pub fn bytes(n: u64) -> String {
    let mut value = n as f64;
    let mut unit = "bytes";
    for next in ["kB", "MB", "GB", "TB", "PB"] {
        if value < 1000. {
            break;
        }
        (value, unit) = (value / 1000., next);
    }
    if unit == "bytes" { format!("{n} bytes") } else { format!("{value:.1} {unit}") }
}

/// The number of elements in a trial, for each rank: of the array, 64 bytes each, and of the varray.
const ELEMENTS: u64 = 20_000;
const ELEMENT_BYTES: u64 = 64;

/// The value of the byte with this number in a section, independent of the rank.
fn byte(place: u64) -> u8 {
    // The remainder fits.
    u8::try_from((place / 7 + place % 251) % 256).unwrap_or(0)
}

/// A folder of our own in the folder under examination, so that no other files are touched. Rank 0 makes and
/// removes it.
pub struct Scratch {
    folder: PathBuf,
    _made: Option<TempDir>,
}

impl Scratch {
    /// Collective. All ranks learn whether the folder was made.
    pub fn make(comm: &impl Communicator, within: &Path) -> Result<Option<Self>> {
        let made = if comm.rank() == 0 {
            tempfile::Builder::new().prefix(PREFIX).tempdir_in(within).ok()
        } else {
            None
        };
        // The prefix, and the random part of the name.
        let mut name = [0; PREFIX.len() + 6];
        if let Some(made) = made.as_ref().and_then(|made| made.path().file_name())
            && made.len() == name.len()
        {
            name.copy_from_slice(made.as_encoded_bytes());
        }
        comm.broadcast(&mut name, 0)?;
        let name = std::str::from_utf8(&name).ok().filter(|name| name.starts_with(PREFIX));
        Ok(name.map(|name| Self { folder: within.join(name), _made: made }))
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

const PREFIX: &str = "scda-doctor-";
/// The file that trials write.
const TRIAL: &str = "trial.scda";

/// A trial with files in a folder, and the ranks that take part.
pub struct Trial<'a, C> {
    /// Makes a communicator of all ranks.
    pub comm: &'a dyn Fn() -> Result<C>,
    pub folder: &'a Path,
    pub driver: Driver,
}

impl<C: Communicator + 'static> Trial<'_, C> {
    /// Runs the trial. Collective. All ranks get the same result.
    pub fn run(&self, report: &mut Report, topic: &'static str) {
        let path = self.folder.join(TRIAL);
        let begin = Instant::now();
        let mut trusted = false;
        match self.write(&path, &self.options()).and_then(|size| self.read(&path).map(|same| (size, same))) {
            Ok((size, true)) => {
                trusted = true;
                let time = begin.elapsed().as_secs_f64() * 1e3;
                report.say(
                    topic,
                    format!(
                        "ok: {} written atomically and read with another partition, in {time:.0} ms",
                        bytes(size)
                    ),
                );
            }
            Ok((_, false)) => report.fail(topic, "the data read differ from those written"),
            // It is no fault of a folder if ranks on several nodes need MPI-IO.
            Err(error) if self.driver == Driver::Posix && error.to_string().contains("SCDA_COHERENT") => {
                report.say(topic, format!("refused: {error}"));
            }
            Err(error) => report.fail(topic, &error.to_string()),
        }
        if trusted {
            match self.refused(&path) {
                None => report.fail(topic, "the system refused a write, but no error was reported"),
                Some(ErrorKind::NoSpace | ErrorKind::Quota | ErrorKind::Io) => {
                    report.say(topic, "ok: a write that the system refuses is an error on all ranks");
                }
                Some(kind) => {
                    report.fail(topic, &format!("a write that the system refuses is reported as {kind:?}"))
                }
            }
        }
    }

    fn options(&self) -> WriteOptions {
        let mut options = WriteOptions::default();
        options.tuning.driver = self.driver;
        options.atomic = true;
        options
    }

    /// Writes a section of each kind. Returns the size of the file.
    fn write(&self, path: &Path, options: &WriteOptions) -> Result<u64> {
        let comm = (self.comm)()?;
        let (rank, size) = (comm.rank(), comm.size());
        // Every other rank has fewer elements.
        let counts: Vec<u64> = (0..size).map(|p| if p % 2 == 0 { ELEMENTS } else { ELEMENTS / 10 }).collect();
        let first: u64 = counts[..rank].iter().sum();
        let own = counts[rank];
        let data: Vec<u8> = (first * ELEMENT_BYTES..(first + own) * ELEMENT_BYTES).map(byte).collect();
        let mut file = Writer::create(comm, path, b"scda doctor", options)?;
        file.inline(b"step", 0, Some(b"of scda doctor, to be removed   "))?;
        file.block(b"block", size - 1, 64, Some(&[b'x'; 64]), Encode::Always)?;
        file.array(b"plain", &counts, ELEMENT_BYTES, Source::Contiguous(&data), Encode::None)?;
        let sizes = vec![ELEMENT_BYTES; data.len() / 64];
        file.varray(b"compressed", &counts, &sizes, None, Source::Contiguous(&data), Encode::Always)?;
        file.close()?;
        Ok(std::fs::metadata(path).map_or(0, |status| status.len()))
    }

    /// Reads the file with another partition. Returns true if all ranks found what was written.
    fn read(&self, path: &Path) -> Result<bool> {
        let comm = (self.comm)()?;
        let (rank, size) = (comm.rank(), comm.size());
        let mut options = ReadOptions::default();
        options.tuning.driver = self.driver;
        let mut file = Reader::open(comm, path, &options)?;
        let mut same = true;
        while let Some(section) = file.next_section(true)? {
            if section.count == 0 {
                file.skip()?;
                continue;
            }
            let counts = uniform_partition(section.count, size);
            let first: u64 = counts[..rank].iter().sum();
            let own = counts[rank];
            let mut data = vec![0; to_usize(own * ELEMENT_BYTES)];
            if section.size == 0 {
                let mut sizes = vec![0; data.len() / 64];
                file.read_varray_sizes(&counts, Some(&mut sizes))?;
                file.read_varray(&counts, Some(&sizes), None, Sink::Contiguous(&mut data))?;
            } else {
                file.read_array(&counts, section.size, Sink::Contiguous(&mut data))?;
            }
            same &= (first * ELEMENT_BYTES..).zip(&data).all(|(place, found)| *found == byte(place));
        }
        let wrong = file.proc_sizes(&[u64::from(!same)])?;
        file.close()?;
        Ok(wrong.iter().sum::<u64>() == 0)
    }

    /// The error that is reported for a write beyond a limit of the system.
    fn refused(&self, path: &Path) -> Option<ErrorKind> {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        ignore_limits();
        let before = getrlimit(Resource::Fsize);
        let limit = Rlimit { current: Some(256 << 10), ..before };
        // No limit is higher, because more could be written before.
        let _ = setrlimit(Resource::Fsize, limit);
        // Aggregators need shared memory, which is a file, too, and could not be made under this limit.
        let mut params = self.options();
        params.tuning.stripe_bytes = 1;
        let written = self.write(path, &params);
        let _ = setrlimit(Resource::Fsize, before);
        written.err().map(|error| error.kind())
    }
}

/// The bytes of each rank in [`speed`].
const SPEED_BYTES: usize = 8 << 20;

/// Measures how fast all ranks bring a sealed file to stable storage, compared with a file for each process, with the
/// library's defaults. Collective.
pub fn speed<C: Communicator + 'static>(
    report: &mut Report,
    comm: &dyn Fn() -> Result<C>,
    folder: &Path,
) -> Result<()> {
    let all = comm()?;
    let (rank, size) = (all.rank(), all.size());
    let data: Vec<u8> = (0..SPEED_BYTES as u64).map(byte).collect();
    let own = folder.join(format!("own.{rank}"));
    let apart = timed(&all, || {
        let mut file = std::fs::File::create(&own)?;
        file.write_all(&data)?;
        file.sync_all()
    })?;
    let _ = std::fs::remove_file(&own);
    let shared = timed(&all, || {
        let mut options = WriteOptions::default();
        options.sync = true;
        let mut file = Writer::create(comm()?, folder.join("speed.scda"), b"scda doctor", &options)?;
        let counts = vec![SPEED_BYTES as u64; size];
        file.array(b"speed", &counts, 1, Source::Contiguous(&data), Encode::None)?;
        file.close()
    })?;
    let words = |took: Option<u64>| match took {
        Some(took) => format!("{}/s", bytes((SPEED_BYTES * size) as u64 * 1_000_000 / took.max(1))),
        None => "failed".to_owned(),
    };
    let text = format!("{} in one file, {} in a file for each process, synced", words(shared), words(apart));
    match (shared, apart) {
        (Some(_), _) | (None, None) => report.say("speed", text),
        (None, Some(_)) => report.fail("speed", &text),
    }
    Ok(())
}

/// The microseconds until the last rank has completed an operation; `None` if it fails on any rank. Collective.
fn timed<E>(
    comm: &impl Communicator,
    what: impl FnOnce() -> std::result::Result<(), E>,
) -> Result<Option<u64>> {
    const FAILED: u64 = u64::MAX >> 1;
    comm.broadcast(&mut [0], 0)?;
    let begin = Instant::now();
    let took = what().map_or(FAILED, |()| u64::try_from(begin.elapsed().as_micros()).unwrap_or(FAILED - 1));
    let mut least = [FAILED - took];
    comm.allreduce_min(&mut least)?;
    Ok((least[0] > 0).then(|| FAILED - least[0]))
}

/// Makes a process that reaches a limit get an error instead of a signal.
#[allow(unsafe_code)]
fn ignore_limits() {
    // SAFETY: there is no handler that could run.
    let _ = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
