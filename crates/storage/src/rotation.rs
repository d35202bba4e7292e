//! Keeps earlier files with a name under numbered names: `state.1.scda` and `state.2.scda` for `state.scda`.
//!
//! Only whole files are renamed and removed. A name that belongs to anything else, such as a torn file, a
//! text or a folder, is skipped, and the next number is used. At any moment, each name that had a whole file
//! has one, and no two have the same file: before a name gives up its file, that file also gets the
//! [`waiting_path`] of the next name. The next job finds there what a killed job has left, and moves it on.

use super::calls::{retry, system};
use super::file_system::{Folder, Identity, link_status, remove, replaced};
use super::names::{kept_path, waiting_path};
use rustix::io::Errno;
use scda_base::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Whether a file counts: the newest one (`true`) if a job can restart from it, an older one if it is whole.
pub type Counts = fn(&Path, bool) -> bool;

/// The names of the files to keep.
pub struct FileSeries {
    /// The names, the newest first.
    names: Vec<PathBuf>,
    /// Whether the file with the first name is kept.
    keeps_newest: bool,
}

impl FileSeries {
    /// The series of `path`, with `keep` older files.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn of(path: &Path, keep: u64, counts: Counts) -> Result<Self> {
        let mut names = vec![path.to_owned()];
        let mut age = 0;
        while names.len() as u64 <= keep {
            age += 1;
            let name = kept_path(path, age);
            if is_ours(&name, |path| counts(path, false))?
                && is_ours(&waiting_path(&name), |path| counts(path, true))?
            {
                names.push(name);
            }
        }
        let keeps_newest = keep > 0 && link_status(path)?.is_some() && counts(path, true);
        Ok(Self { names, keeps_newest })
    }

    /// Lets `replace` give the first name to another file, and gives the next name to each file that had one.
    /// The oldest file is removed if all names had one.
    ///
    /// # Errors
    /// Those of `replace` and of the file system. Files that could not be renamed are renamed by the next
    /// call.
    pub fn rotate(&self, replace: impl FnOnce() -> Result<()>) -> Result<()> {
        for number in (1..self.names.len()).rev() {
            self.resume(number)?;
        }
        if let (true, Some(next)) = (self.keeps_newest, self.names.get(1)) {
            name_too(&self.names[0], &waiting_path(next))?;
        }
        replace()?;
        self.move_on(1)
    }

    /// Moves on what a stopped job has left for the name with this number.
    fn resume(&self, number: usize) -> Result<()> {
        let waiting = waiting_path(&self.names[number]);
        match link_status(&waiting)? {
            // The previous name still has the file.
            Some(found) if is_it(&self.names[number - 1], found.identity)? => remove_name(&waiting),
            Some(_) => self.move_on(number),
            None => Ok(()),
        }
    }

    /// Gives the name with this number to the file that waits for it, and the next names to those that had
    /// it.
    fn move_on(&self, number: usize) -> Result<()> {
        for (name, next) in (number..self.names.len()).map(|at| (&self.names[at], self.names.get(at + 1))) {
            let waiting = waiting_path(name);
            let Some(file) = link_status(&waiting)? else { return Ok(()) };
            if is_it(name, file.identity)? {
                // Renaming would leave both names.
                return remove_name(&waiting);
            }
            if let (Some(_), Some(next)) = (link_status(name)?, next) {
                name_too(name, &waiting_path(next))?;
            }
            system("renaming an older file", || rustix::fs::rename(&waiting, name))?;
        }
        Ok(())
    }
}

/// Renames the finished part file to the first name of the series. With `sync`, also syncs the folder, so
/// that a crash leaves one file or the other. The part must still be the file with this identity.
///
/// # Errors
/// `FileInUse` if another job has replaced the part; those of the file system.
pub fn commit(part: &Path, series: &FileSeries, identity: Identity, sync: bool) -> Result<()> {
    let path = &series.names[0];
    if !is_it(part, identity)? {
        return Err(replaced(part));
    }
    // Steps that can fail are done while the old file is still in place.
    let folder = if sync { Some(Folder::open(path)?) } else { None };
    series.rotate(|| match system("rename", || rustix::fs::rename(part, path)) {
        // A network file system may report an error although it renamed the file: the answer was lost, and
        // when the request was repeated, there was nothing left to rename.
        Err(_) if is_it(path, identity).unwrap_or(false) => Ok(()),
        renamed => renamed,
    })?;
    folder.map_or(Ok(()), |folder| folder.sync())
}

/// Whether the name is unused, or belongs to a file that counts.
fn is_ours(name: &Path, counts: impl FnOnce(&Path) -> bool) -> Result<bool> {
    Ok(link_status(name)?.is_none_or(|found| found.is_regular && counts(name)))
}

/// Whether this name refers to the file with this identity.
fn is_it(name: &Path, identity: Identity) -> Result<bool> {
    Ok(link_status(name)?.is_some_and(|found| found.identity == identity))
}

fn remove_name(name: &Path) -> Result<()> {
    remove(name).map(drop).map_err(|e| Error::io("removing a name of an older file", e))
}

/// Gives a file a second name; on file systems without hard links, renames it.
fn name_too(name: &Path, other: &Path) -> Result<()> {
    match retry(|| rustix::fs::link(name, other)) {
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
            system("renaming the file that is kept", || rustix::fs::rename(name, other))
        }
        linked => linked.map_err(|e| Error::io("keeping the file that had the name", e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scda_base::error::ErrorKind;
    use std::collections::BTreeMap;

    /// Files of one letter are whole; from `restart`, a job can only restart.
    fn counts(path: &Path, is_newest: bool) -> bool {
        let text = std::fs::read_to_string(path).unwrap();
        text.len() == 1 || is_newest && text == "restart"
    }

    struct Folder(tempfile::TempDir);

    impl Folder {
        /// A folder with files of these texts, the newest first. An empty text means no file.
        fn with(texts: &[&str]) -> Self {
            let this = Self(tempfile::tempdir().unwrap());
            for (age, text) in (0..).zip(texts).filter(|(_, text)| !text.is_empty()) {
                std::fs::write(kept_path(&this.path(), age), text).unwrap();
            }
            this
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("state.scda")
        }

        fn write(&self, text: &str, keep: u64) -> Result<()> {
            let part = self.0.path().join("part");
            std::fs::write(&part, text).unwrap();
            let series = FileSeries::of(&self.path(), keep, counts)?;
            series.rotate(|| system("", || rustix::fs::rename(&part, self.path())))
        }

        /// All files, by the end of their names.
        fn all(&self) -> BTreeMap<String, String> {
            let entries = std::fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap());
            let entries = entries.filter(|entry| entry.file_type().unwrap().is_file());
            entries
                .map(|entry| {
                    let name = entry.file_name().to_string_lossy().replace("state", "").replace(".scda", "");
                    (name, std::fs::read_to_string(entry.path()).unwrap())
                })
                .collect()
        }

        fn expect(&self, files: &[(&str, &str)]) {
            let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
            assert_eq!(self.all(), files.collect());
        }
    }

    #[test]
    fn the_last_ones_are_kept_and_what_is_older_stays() {
        let folder = Folder::with(&[]);
        ["1", "2", "3", "4", "5"].iter().for_each(|text| folder.write(text, 3).unwrap());
        folder.expect(&[("", "5"), (".1", "4"), (".2", "3"), (".3", "2")]);
        folder.write("6", 1).unwrap();
        folder.expect(&[("", "6"), (".1", "5"), (".2", "3"), (".3", "2")]);
        folder.write("7", 0).unwrap();
        folder.expect(&[("", "7"), (".1", "5"), (".2", "3"), (".3", "2")]);
    }

    #[test]
    fn what_is_not_whole_stays_where_it_is_and_does_not_count() {
        let folder = Folder::with(&["torn", "torn too", "a"]);
        folder.write("b", 2).unwrap();
        folder.expect(&[("", "b"), (".1", "torn too"), (".2", "a")]);
        folder.write("c", 2).unwrap();
        folder.expect(&[("", "c"), (".1", "torn too"), (".2", "b"), (".3", "a")]);
        folder.write("d", 2).unwrap();
        folder.expect(&[("", "d"), (".1", "torn too"), (".2", "c"), (".3", "b")]);
        // A folder, and a link to a whole file.
        let folder = Folder::with(&["a"]);
        std::fs::create_dir(kept_path(&folder.path(), 1)).unwrap();
        std::os::unix::fs::symlink("state.scda", kept_path(&folder.path(), 2)).unwrap();
        ["b", "c", "d"].iter().for_each(|text| folder.write(text, 1).unwrap());
        folder.expect(&[("", "d"), (".3", "c")]);
        assert!(std::fs::read_link(kept_path(&folder.path(), 2)).is_ok());
        // A job can restart from the newest one, although more follows.
        let folder = Folder::with(&["restart", "a", "b"]);
        folder.write("c", 2).unwrap();
        folder.expect(&[("", "c"), (".1", "restart"), (".2", "a")]);
        folder.write("d", 2).unwrap();
        folder.expect(&[("", "d"), (".1", "restart"), (".2", "c"), (".3", "a")]);
    }

    /// Executes the first steps of a rotation, on a file system with or without hard links.
    fn begin(folder: &Folder, text: &str, steps: usize, has_links: bool) {
        let (part, at) = (folder.0.path().join("part"), |age| kept_path(&folder.path(), age));
        std::fs::write(&part, text).unwrap();
        let rename = |from: PathBuf, to: PathBuf| std::fs::rename(from, to).unwrap();
        let name_too = |from: PathBuf, to: PathBuf| match has_links {
            true => std::fs::hard_link(from, to).unwrap(),
            false => rename(from, to),
        };
        let waiting = |age| waiting_path(&at(age));
        let all: [&dyn Fn(); 5] = [
            &|| name_too(at(0), waiting(1)),
            &|| rename(part.clone(), at(0)),
            &|| name_too(at(1), waiting(2)),
            &|| rename(waiting(1), at(1)),
            &|| rename(waiting(2), at(2)),
        ];
        all[..steps].iter().for_each(|step| step());
        let _ = std::fs::remove_file(part);
    }

    #[test]
    fn what_a_killed_job_has_left_moves_on() {
        for has_links in [true, false] {
            for steps in 0..=5 {
                let folder = Folder::with(&["c", "b", "a"]);
                begin(&folder, "d", steps, has_links);
                // Each name has a whole file, and no two have the same.
                let mut found: Vec<_> =
                    ["", ".1", ".2"].into_iter().filter_map(|name| folder.all().remove(name)).collect();
                found.sort();
                found.dedup();
                assert!(!has_links || found.len() == 3, "{steps}: {found:?}");
                folder.write("e", 2).unwrap();
                let now = if steps < 2 { ["e", "c", "b"] } else { ["e", "d", "c"] };
                folder.expect(&[("", now[0]), (".1", now[1]), (".2", now[2])]);
            }
        }
    }

    #[test]
    fn a_part_that_was_replaced_is_not_committed() {
        let folder = Folder::with(&["o"]);
        let part = folder.0.path().join("part");
        std::fs::write(&part, "n").unwrap();
        let identity = link_status(&part).unwrap().unwrap().identity;
        let series = FileSeries::of(&folder.path(), 0, counts).unwrap();
        let other = Identity { device: 0, inode: 0 };
        assert_eq!(commit(&part, &series, other, true).unwrap_err().kind(), ErrorKind::FileInUse);
        assert_eq!(std::fs::read(folder.path()).unwrap(), b"o");
        commit(&part, &series, identity, true).unwrap();
        folder.expect(&[("", "n")]);
    }

    #[test]
    fn names() {
        let kept = |path: &str| kept_path(Path::new(path), 12).to_str().unwrap().to_owned();
        assert_eq!(
            [kept("a/state"), kept("b.tar.scda"), kept(".hidden")],
            ["a/state.12", "b.tar.12.scda", ".hidden.12"]
        );
    }
}
