//! Standard output.

pub use crate::terminal_text::{
    complain, escape, hex, is_unseen, push_escaped, push_hex, push_unseen, quote, visible,
};

use crate::fail::{Fail, Result};
use crate::terminal_text::VisibleJson;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Standard output. It is no error if its reader has gone away.
pub struct Output {
    to: BufWriter<File>,
    is_terminal: bool,
    colour: bool,
    is_json: bool,
}

/// True if standard output was closed when the command began. Writes would then be lost without an error, because Rust
/// opens `/dev/null` in its place before `main`.
static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs before `main`.
#[used]
#[allow(unsafe_code)]
// SAFETY: the section holds functions of this type, and this one uses nothing that is not there yet.
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
static BEFORE_MAIN: extern "C" fn() = note_closed;

#[allow(unsafe_code)]
extern "C" fn note_closed() {
    // SAFETY: it only asks for the flags of a descriptor, which need not be open.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags < 0, Relaxed);
}

impl Output {
    pub fn new() -> Result<Self> {
        if WAS_CLOSED.load(Relaxed) {
            return Err(Fail::file("standard output", "is closed"));
        }
        let fd = io::stdout().as_fd().try_clone_to_owned().map_err(trouble)?;
        let is_terminal = io::stdout().is_terminal();
        let colour = is_terminal && wants_colour();
        Ok(Self {
            to: BufWriter::with_capacity(1 << 16, File::from(fd)),
            is_terminal,
            colour,
            is_json: false,
        })
    }

    /// The output; `is_json` tells that JSON is written to it.
    pub fn of_json(is_json: bool) -> Result<Self> {
        Ok(Self { is_json, ..Self::new()? })
    }

    /// True if it is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.to.write_all(bytes).map_err(trouble)
    }

    pub fn text(&mut self, text: fmt::Arguments<'_>) -> Result<()> {
        if !self.is_json {
            return self.to.write_fmt(text).map_err(trouble);
        }
        let mut to = TextWriter { to: &mut self.to, error: None };
        let written = fmt::Write::write_fmt(&mut VisibleJson(&mut to), text);
        written.map_err(|_| trouble(to.error.unwrap_or_else(|| io::Error::other("a value has no text"))))
    }

    /// Writes what is buffered; call it at the end.
    pub fn finish(&mut self) -> Result<()> {
        self.to.flush().map_err(trouble)
    }

    /// Like [`Self::finish`], but succeeds if nobody reads the output any more.
    pub fn finish_unread(&mut self) -> Result<()> {
        match self.finish() {
            Err(Fail::Quiet) => Ok(()),
            written => written,
        }
    }

    /// Reports the result for one of several files, and writes what is buffered. `code` becomes the exit code for all
    /// files so far, with which the command ends if nobody reads the output any more.
    pub fn end_file(&mut self, result: Result<()>, code: &mut u8) -> Result<()> {
        let written = self.finish();
        let is_unread = matches!((&result, &written), (Err(Fail::Quiet), _) | (_, Err(Fail::Quiet)));
        if let Err(fail) = result {
            *code = fail.code().max(*code);
            // What could not be written is still buffered, and fails again: the caller reports that.
            let is_same = matches!((&fail, &written), (Fail::Trouble(a), Err(Fail::Trouble(b))) if a == b);
            if !is_same {
                fail.report();
            }
        }
        match is_unread {
            true if *code == 0 => Err(Fail::Quiet),
            true => Err(Fail::Said(*code)),
            false => written,
        }
    }

    /// Text in a colour (a number of the terminal's graphics), if there is any.
    pub fn colour(&self, number: u8, text: &str) -> String {
        if self.colour { format!("\u{1b}[{number}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Changes files, one after another. Messages about a file are written, and its failure is reported, before the next
/// one is changed.
pub fn for_each_file(
    files: &[PathBuf],
    mut change: impl FnMut(&mut Output, &Path) -> Result<()>,
) -> Result<()> {
    let (mut out, mut code) = (Output::new()?, 0);
    for path in files {
        let result = change(&mut out, path);
        out.finish_unread()?;
        code = result.map_or_else(Fail::report, |()| 0).max(code);
    }
    if code == 0 { Ok(()) } else { Err(Fail::Said(code)) }
}

/// A stream of bytes for text, and its error.
struct TextWriter<'a> {
    to: &'a mut BufWriter<File>,
    error: Option<io::Error>,
}

impl fmt::Write for TextWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.to.write_all(text.as_bytes()).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}

/// Lets other code print to standard output.
///
/// # Errors
/// The errors of [`Output`].
pub fn print(write: impl FnOnce() -> io::Result<()>) -> Result<()> {
    Output::new()?;
    write().and_then(|()| io::stdout().flush()).map_err(trouble)
}

fn trouble(error: io::Error) -> Fail {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Fail::Quiet,
        _ => Fail::file("standard output", error),
    }
}

/// See <https://no-color.org>.
fn wants_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
