//! Opens the page in a browser. Its address is on no command line: those are read by every user of the machine.

use crate::fail::{Fail, Result};
use crate::signals;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use tempfile::NamedTempFile;

/// A file that only this user can read, and that leads a browser to the page. It is removed once the page has been asked for, and
/// when the command ends.
pub struct Redirect(Mutex<Option<NamedTempFile>>);

impl Redirect {
    /// Opens the address, if there is a screen. If nothing opens it, the address is still printed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn open(address: &str) -> Result<Self> {
        let is_macos = cfg!(target_os = "macos");
        let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
        if !has_screen && !is_macos {
            return Ok(Self::none());
        }
        let file = write(address)?;
        let program = if is_macos { "open" } else { "xdg-open" };
        let mut command = Command::new(program);
        command.arg(file.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(match command.spawn() {
            Ok(_) => Self(Mutex::new(Some(file))),
            Err(_) => Self::none(),
        })
    }

    /// No file: no browser is opened.
    pub fn none() -> Self {
        Self(Mutex::new(None))
    }

    /// Removes the file.
    pub fn remove(&self) {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).take().is_some() {
            signals::end();
        }
    }
}

fn write(address: &str) -> Result<NamedTempFile> {
    // Sandboxed browsers read neither hidden files nor the temporary files of others.
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let folders = home.into_iter().chain([std::env::temp_dir()]);
    let mut builder = tempfile::Builder::new();
    builder.prefix("scda-view-").suffix(".html");
    let mut made = Err(Fail::Quiet);
    for folder in folders {
        made = builder.tempfile_in(&folder).map_err(|error| Fail::file(&folder.display().to_string(), error));
        if made.is_ok() {
            break;
        }
    }
    let mut file = made?;
    signals::begin_temporary(file.path());
    let page = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>scda view</title>\n\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n<a href=\"{address}\">scda view</a>\n"
    );
    file.write_all(page.as_bytes()).map_err(|error| Fail::file(&file.path().display().to_string(), error))?;
    Ok(file)
}
