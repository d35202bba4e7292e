//! The formats of other systems: which there are, and what `scda import` does with each.

mod packaged;
mod sdf;
mod sion;

use crate::Foreign;
use crate::fail::{Fail, Result};
use crate::files::{Input, OutputFile, Resources, SealByDefault, check_replaceable, mode_like};
use crate::output::complain;
use scda::{Error, WriteOptions};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A format of another system.
pub struct Format {
    /// The system, or the format, for people.
    pub name: &'static str,
    /// What its files begin with, for people; `None` if nobody can read that.
    pub beginning: Option<&'static str>,
    /// The same: one of these.
    magics: &'static [&'static [u8]],
    /// How the names of its files end: HDF5 may begin after a block of the user's.
    endings: &'static [&'static str],
    /// If it has folders: each of them has one of these files.
    members: &'static [&'static str],
    /// The options of `scda import` that only some formats have.
    pub options: &'static [&'static str],
    /// Writes what the file has to a new one.
    import: fn(&Self, ImportSource, &Import<'_>) -> Result<()>,
}

/// The formats, in the order in which a file is tried.
pub static FORMATS: [Format; 7] = [
    sdf::FORMAT,
    sion::FORMAT,
    packaged::HDF5,
    packaged::NETCDF,
    packaged::NUMPY,
    packaged::ZARR,
    packaged::AMREX,
];

impl Format {
    /// Whether this is a file of it.
    pub fn recognise(&self, source: &ImportSource) -> Result<bool> {
        if let ImportSource::Folder(path, _) = source {
            return Ok(self.members.iter().any(|member| path.join(member).is_file()));
        }
        let ending = Path::new(source.name()).extension();
        let has_ending = ending.is_some_and(|ending| self.endings.iter().any(|known| ending == *known));
        Ok(has_ending || source.begins_with_any(self.magics)?)
    }

    /// Writes what the file has to a new one.
    pub fn import(&self, source: ImportSource, import: &Import<'_>) -> Result<()> {
        (self.import)(self, source, import)
    }
}

/// What is imported.
pub enum ImportSource {
    Folder(PathBuf, String),
    File(Input, Foreign),
}

impl ImportSource {
    pub fn new(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Ok(Self::Folder(path.to_owned(), path.display().to_string()));
        }
        let input = Input::new(path, &Resources::default())?;
        let file = Foreign::open(input.path(), input.name())?;
        Ok(Self::File(input, file))
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        match self {
            Self::Folder(_, name) => name,
            Self::File(_, file) => file.name(),
        }
    }

    /// Whether it is a file that begins with some of these bytes.
    pub fn begins_with_any(&self, magics: &[&[u8]]) -> Result<bool> {
        let Self::File(_, file) = self else { return Ok(false) };
        for magic in magics {
            if file.begins_with(magic)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The file.
    fn file(self) -> Result<(Input, Foreign)> {
        match self {
            Self::File(input, file) => Ok((input, file)),
            Self::Folder(_, name) => Err(Fail::file(&name, "a folder, not a file")),
        }
    }
}

/// What `scda import` is to do.
pub struct Import<'a> {
    pub from: &'a Path,
    /// The new file.
    pub to: &'a Path,
    /// Whether what is whole in a damaged file is imported.
    pub salvage: bool,
    pub seal: SealByDefault,
    /// Whether a file that exists is replaced.
    pub force: bool,
    /// The arguments of the whole command.
    pub arguments: &'a [OsString],
}

impl Import<'_> {
    /// Whether an error of the file ends the command; if not, it is reported.
    fn tolerate(&self, error: &Error) -> Result<()> {
        complain(&error.to_string());
        if self.salvage {
            return Ok(());
        }
        complain("--salvage imports what is whole");
        Err(Fail::Said(crate::fail::NO))
    }

    /// A new file with the name of this one as its user string. `all` are the physical files.
    fn create<'a>(
        &self,
        input: Input,
        file: &Foreign,
        all: impl IntoIterator<Item = &'a Foreign>,
    ) -> Result<OutputFile> {
        let all = all.into_iter().map(Foreign::status).collect::<Result<Vec<_>, _>>()?;
        let mut params = WriteOptions::default();
        // Those of the first one, which may be a copy of a pipe, the input tells.
        params.mode = all.iter().skip(1).fold(params.mode, |mode, status| mode & mode_like(status));
        check_replaceable(self.to, "is the file to import itself", all)?;
        self.seal.set(&mut params);
        let name = file_name(file);
        let user = name.char_indices().map(|(at, c)| at + c.len_utf8());
        let end = user.take_while(|&end| end <= scda::USER_STRING_BYTES).last().unwrap_or(0);
        OutputFile::create(self.to, self.force, &name.as_bytes()[..end], params, &[input])
    }
}

/// The name of a file without folders.
fn file_name(file: &Foreign) -> String {
    file.name().rsplit('/').next().unwrap_or_default().to_owned()
}

/// Attributes for all of the file: where it comes from, and what else is known.
fn attributes(file: &Foreign, format: &str, is_whole: bool, more: Value) -> String {
    let mut source = json!({
        "format": format,
        "file": file_name(file),
        "bytes": file.size(),
        "complete": is_whole,
    });
    if let (Some(source), Value::Object(more)) = (source.as_object_mut(), more) {
        source.extend(more);
    }
    json!({ "imported": source }).to_string()
}

/// The names of some formats, in words.
pub fn names(is_meant: impl Fn(&Format) -> bool) -> String {
    in_words(&FORMATS.iter().filter(|format| is_meant(format)).map(|format| format.name).collect::<Vec<_>>())
}

/// A list in words: "a, b and c".
pub fn in_words<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match &*items {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => items.concat(),
    }
}
