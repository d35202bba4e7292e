//! Identity of files: which file a name refers to, whether it exists or has changed, and the lock that writers take.

use crate::fail::{Fail, Result};
use scda::part_path;
use scda_storage::lock::{self, Share};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Takes the lock that writers of a file take, and holds it as long as `file` is open. Fails if another program holds
/// it. (On a file system without locks there is no protection.)
pub fn lock(file: &File, name: &str) -> Result<()> {
    match lock::lock(file, Share::All, false) {
        Err(_) => Err(Fail::file(name, "another program is writing the file")),
        Ok(_) => Ok(()),
    }
}

/// Identifies a file.
#[derive(PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub fn of(status: &Metadata) -> Self {
        Self { device: status.dev(), inode: status.ino() }
    }
}

/// Identifies a file and its state: another value means that the file has changed.
#[derive(PartialEq, Eq)]
pub struct State {
    identity: Identity,
    bytes: u64,
    modified: SystemTime,
}

impl State {
    pub fn of(status: &Metadata) -> Self {
        let modified = status.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Self { identity: Identity::of(status), bytes: status.size(), modified }
    }
}

/// Asks the system for the status of a file.
pub fn status(path: &Path) -> Result<Metadata> {
    path.metadata().map_err(|e| Fail::file(&path.display().to_string(), e))
}

/// The permissions, before the umask, for a new file with data of a file or folder: those who cannot read the old one
/// must not be able to read the new one. A pipe has no permissions of its own.
pub fn mode_like(from: &Metadata) -> u32 {
    if from.is_file() || from.is_dir() { from.mode() & NEW_FILE_MODE | 0o600 } else { NEW_FILE_MODE }
}

/// The permissions for a new file, before the umask.
pub const NEW_FILE_MODE: u32 = 0o666;

/// A file that is read and then replaced. Its lock keeps other writers out; its state shows whether one has changed it
/// before.
pub struct LockedInput {
    path: PathBuf,
    before: Metadata,
}

impl LockedInput {
    /// Fails if another program is writing it.
    pub fn new(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let trouble = |error| Fail::file(&name, error);
        let file = File::options().read(true).write(true).open(path).map_err(trouble)?;
        lock(&file, &name)?;
        let before = file.metadata().map_err(trouble)?;
        let locked = Self { path: path.to_owned(), before };
        // The program that had the lock may have replaced the file.
        locked.check()?;
        Ok(locked)
    }

    /// The output file, if it is also one of the inputs. Fails if the file exists and `force` is not set.
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
            input.metadata().is_ok_and(|status| Identity::of(&status) == Identity::of(&old))
        };
        inputs.into_iter().any(is_old).then(|| Self::new(path)).transpose()
    }

    /// Fails if the file has been replaced or changed.
    pub fn check(&self) -> Result<()> {
        match State::of(&self.before) == State::of(&status(&self.path)?) {
            true => Ok(()),
            false => {
                let name = self.path.display().to_string();
                Err(Fail::file(&name, "the file was changed by another program; it stays as it is"))
            }
        }
    }
}

/// Fails if `from` is the temporary file that an interrupted write of `to` has left, which the next write removes.
/// Messages call `from` by `name`.
pub fn check_not_left(to: &Path, from: &Path, name: &str) -> Result<()> {
    let from = std::fs::metadata(from).map(|status| Identity::of(&status));
    let left = std::fs::symlink_metadata(part_path(to)).map(|status| Identity::of(&status));
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

/// Fails if the path to be replaced is not a regular file, or is one of the inputs; `what` describes that input.
pub fn check_replaceable(path: &Path, what: &str, inputs: impl IntoIterator<Item = Metadata>) -> Result<()> {
    let Ok(old) = path.metadata() else { return Ok(()) };
    let trouble = |words: &str| Err(Fail::file(&path.display().to_string(), words));
    if !old.is_file() {
        return trouble("a folder, pipe or device, not a file");
    }
    if inputs.into_iter().any(|input| Identity::of(&input) == Identity::of(&old)) {
        return trouble(&format!("{what}, which must not change; give another name"));
    }
    Ok(())
}

/// Fails if the file exists and `force` is not set.
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

/// True if the path is `-`: standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}
