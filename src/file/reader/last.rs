//! Finds the newest complete file among those that have had a rotating name: the one from which a job
//! restarts.

use crate::file::options::{ReadOptions, WriteOptions};
use crate::file::reader::Reader;
use crate::file::team::{Failure, Team, on_rank_0};
use scda_base::error::{Error, ErrorKind, Result, quote_path};
use scda_ranks::Solo;
use scda_storage::Driver;
use scda_storage::file_system;
use scda_storage::names::kept_target_path;
use std::path::{Path, PathBuf};

/// Whether [`ReadOptions::keep`] keeps this file: an older one if it is complete; the newest one also if a
/// job can restart from it, or if that is unknown. Not collective.
pub(crate) fn is_kept(path: &Path, is_newest: bool) -> bool {
    match is_whole(path) {
        Ok(true) => true,
        Err(error) if !is_of_damage(&error) => is_newest,
        _ => {
            is_newest
                && Reader::open(Solo, path, &alone(&ReadOptions::default()))
                    .is_ok_and(|file| file.is_sealed())
        }
    }
}

/// Whether the file ends with a seal; of a file without seals, whether its last section is complete.
fn is_whole(path: &Path) -> Result<bool> {
    let params = ReadOptions { to_seal: false, ..alone(&ReadOptions::default()) };
    let mut file = Reader::open(Solo, path, &params)?;
    if file.is_sealed() || file.header.has_seal_mark() {
        return Ok(file.is_sealed());
    }
    while file.next_section(false)?.is_some() {
        file.skip()?;
    }
    Ok(true)
}

/// The parameters for opening one file on one process.
fn alone(params: &ReadOptions) -> ReadOptions {
    let mut alone = ReadOptions { keep: 0, ..params.clone() };
    alone.tuning.driver = Driver::Posix;
    #[cfg(feature = "mpi")]
    {
        alone.tuning.hints = scda_storage::mpi_io::Hints::default();
    }
    alone
}

/// The age of the file to open. With [`ReadOptions::keep`], rank 0 looks for it. `path` is as the file system
/// knows it. Collective.
pub(super) fn agreed_age(team: &mut Team, path: &Path, params: &ReadOptions) -> Result<u64, Failure> {
    if params.keep == 0 {
        return Ok(0);
    }
    let age = on_rank_0(team.rank(), || age_of_last_whole(path, params));
    let [age] = team.share(0, age.map(|age| [age]))?;
    Ok(age)
}

/// The file to continue when one of this name is to be written, if that is an older one because newer ones
/// are missing or torn. `path` is as the file system knows it. Collective.
pub(in crate::file) fn newest_whole(
    team: &mut Team,
    path: &Path,
    params: &WriteOptions,
) -> Result<Option<PathBuf>, Failure> {
    if params.keep == 0 {
        return Ok(None);
    }
    let reading = ReadOptions { keep: params.keep, tuning: params.tuning.clone(), ..ReadOptions::default() };
    // If no older file is complete, opening the newest one reports what is wrong with it.
    let mine = match team.rank() {
        0 if !is_whole(path).unwrap_or(false) => age_of_last_whole(path, &reading).unwrap_or(0),
        _ => 0,
    };
    let [age] = team.share(0, Ok([mine]))?;
    Ok((age > 0).then(|| kept_target_path(path, path, age)))
}

/// The most torn files that an error names besides the newest one.
const MOST_NAMED: usize = 4;

/// How many of the files that [`ReadOptions::keep`] names are newer than the last one with a seal. If none
/// has a seal, returns the error of the newest one, which names the other ones that are torn.
fn age_of_last_whole(path: &Path, params: &ReadOptions) -> Result<u64> {
    let alone = alone(params);
    // Names that belong to something else are skipped, as they are when the file is written.
    let (mut first, mut torn, mut age, mut left) = (None, Vec::new(), 0, params.keep + 1);
    while left > 0 {
        let name = kept_target_path(path, path, age);
        let found = if age == 0 { Ok(None) } else { file_system::link_status(&name) };
        let is_other = matches!(found, Ok(Some(found)) if !found.is_regular);
        left -= u64::from(age == 0 || !matches!(found, Ok(Some(_))));
        age += 1;
        if is_other {
            continue;
        }
        let error = match Reader::open(Solo, &name, &alone) {
            Ok(file) if file.is_sealed() => return Ok(age - 1),
            Ok(_) => Error::new(ErrorKind::Format, "the file has no seal: nothing in it is whole")
                .in_file(&quote_path(&name)),
            Err(error) => error,
        };
        // One in the middle may be missing, too, if a job was killed while renaming them.
        if !is_of_damage(&error) && error.kind() != ErrorKind::NoSuchFile {
            return Err(error);
        }
        if first.is_none() {
            first = Some(error);
        } else if is_of_damage(&error) && torn.len() < MOST_NAMED {
            torn.push(error.in_file(&quote_path(&name)).to_string());
        }
    }
    let first = first.unwrap_or_else(|| Error::new(ErrorKind::Internal, "no file was opened"));
    Err(if torn.is_empty() { first } else { first.and_also(&torn.join("; ")) })
}

/// Whether the error concerns the contents of the file, so that an older one may be complete.
fn is_of_damage(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Format | ErrorKind::ShortFile | ErrorKind::Checksum | ErrorKind::Range | ErrorKind::Decode
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encode, WriteOptions, Writer, run_on_threads};
    use scda_storage::names::kept_path;

    /// The number and age of the last complete file, on all ranks; or the code of their error.
    fn found(path: &Path, keep: u64) -> Result<(u8, u64), i32> {
        let params = ReadOptions { keep, ..ReadOptions::default() };
        let all = run_on_threads(3, |comm| {
            let mut file = Reader::open(comm, path, &params).map_err(|error| error.code())?;
            file.next_section(false).unwrap();
            let mut data = [0; 32];
            file.read_inline(0, Some(&mut data)).unwrap();
            Ok((data[0], file.age()))
        });
        let rank_0 = all[0];
        assert!(
            all.iter()
                .all(|one| one.map_err(|_| ()).map(|(_, age)| age)
                    == rank_0.map_err(|_| ()).map(|(_, age)| age))
        );
        rank_0
    }

    #[test]
    fn an_older_file_stands_in_for_one_that_is_not_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.scda");
        let write = |number, seal| {
            let params = WriteOptions { keep: 2, atomic: true, seal, ..WriteOptions::default() };
            let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
            file.inline(b"", 0, Some(&[number; 32])).unwrap();
            file.block(b"", 0, 0, Some(&[]), Encode::None).unwrap();
            file.close().unwrap();
        };
        assert_eq!(found(&path, 2), Err(ErrorKind::NoSuchFile.code()));
        (0..4).for_each(|number| write(number, true));
        assert_eq!(found(&path, 2), Ok((3, 0)));
        let cut = |age, bytes| {
            let file = std::fs::File::options().write(true).open(kept_path(&path, age)).unwrap();
            file.set_len(bytes).unwrap();
        };
        cut(0, 200);
        assert_eq!(found(&path, 2), Ok((2, 1)));
        cut(1, 0);
        // Such a name does not count.
        assert_eq!((found(&path, 2), found(&path, 1)), (Ok((1, 2)), Ok((1, 2))));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(found(&path, 2), Ok((1, 2)));
        std::fs::remove_file(kept_path(&path, 1)).unwrap();
        assert_eq!(found(&path, 2), Ok((1, 2)));
        cut(2, 64);
        assert_eq!(found(&path, 2), Err(ErrorKind::NoSuchFile.code()));
        // Without a seal, sections do not show whether the file is complete.
        write(4, false);
        assert_eq!(found(&path, 2), Err(ErrorKind::Format.code()));
        assert_eq!(found(&path, 0), Ok((4, 0)));
    }

    #[test]
    fn all_torn_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.scda");
        for _ in 0..3 {
            let params = WriteOptions { keep: 2, atomic: true, seal: true, ..WriteOptions::default() };
            let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
            file.block(b"", 0, 200, Some(&[1; 200]), Encode::None).unwrap();
            file.close().unwrap();
        }
        let names = [0, 1, 2].map(|age| kept_path(&path, age));
        for name in &names {
            std::fs::File::options().write(true).open(name).unwrap().set_len(200).unwrap();
        }
        let params = ReadOptions { keep: 2, ..ReadOptions::default() };
        let words = Reader::open(Solo, &path, &params).err().unwrap().to_string();
        let names = names.map(|name| name.display().to_string());
        assert!(words.starts_with(&names[0]), "{words}");
        assert!(names.iter().all(|name| words.matches(&**name).count() == 1), "{words}");
    }

    #[test]
    fn older_files_are_beside_the_one_that_a_link_points_to() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (link, path) = (at("home/last.scda"), at("scratch/state.scda"));
        ["home", "scratch"].iter().for_each(|name| std::fs::create_dir(at(name)).unwrap());
        std::os::unix::fs::symlink("../scratch/state.scda", &link).unwrap();
        for number in 0..3 {
            let params = WriteOptions { keep: 2, atomic: true, seal: true, ..WriteOptions::default() };
            let mut file = Writer::create(Solo, &link, b"", &params).unwrap();
            file.inline(b"", 0, Some(&[number; 32])).unwrap();
            file.close().unwrap();
        }
        assert_eq!(found(&link, 2), Ok((2, 0)));
        std::fs::File::options().write(true).open(&path).unwrap().set_len(200).unwrap();
        assert_eq!((found(&link, 2), found(&path, 2)), (Ok((1, 1)), Ok((1, 1))));
        std::fs::remove_file(&path).unwrap();
        assert_eq!((found(&link, 2), found(&path, 2)), (Ok((1, 1)), Ok((1, 1))));
    }
}
