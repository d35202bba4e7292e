//! The last whole one of the files that a name had: what a job restarts from.

use crate::error::{Error, ErrorKind, Result, quote_path};
use crate::file::params::Params;
use crate::file::reader::Reader;
use crate::file::team::{Failure, Team};
use crate::parallel::Solo;
use crate::storage::Driver;
use crate::storage::names::{kept_path, without_romio_prefix};
use std::path::Path;

/// Which file is opened, by its age: with [`Params::keep`], rank 0 looks. Collective.
pub(super) fn agreed_age(team: &mut Team, path: &Path, params: &Params) -> Result<u64, Failure> {
    if params.keep == 0 {
        return Ok(0);
    }
    let path = if params.driver == Driver::Posix { path } else { without_romio_prefix(path) };
    let mine = if team.rank() == 0 { age_of_last_whole(path, params) } else { Ok(0) };
    let [age] = team.share(0, mine.map(|age| [age]))?;
    Ok(age)
}

/// How many files of this name are newer than the last one that has a seal, of those that [`Params::keep`] names. If none has,
/// the error is that of the newest one.
fn age_of_last_whole(path: &Path, params: &Params) -> Result<u64> {
    let alone = Params { keep: 0, driver: Driver::Posix, background_bytes: 0, ..params.clone() };
    #[cfg(feature = "mpi")]
    let alone = Params { hints: crate::storage::mpi_io::Hints::default(), ..alone };
    let mut first = None;
    for age in 0..=params.keep {
        let name = kept_path(path, age);
        let error = match Reader::open(Solo, &name, &alone) {
            Ok(file) if file.is_sealed() => return Ok(age),
            Ok(_) => Error::new(ErrorKind::Format, "the file has no seal: nothing in it is whole")
                .in_file(&quote_path(&name)),
            Err(error) => error,
        };
        let is_missing = error.kind() == ErrorKind::NoSuchFile;
        if !is_missing && !is_of_damage(&error) {
            return Err(error);
        }
        first.get_or_insert(error);
        if is_missing && age > 0 {
            break;
        }
    }
    Err(first.unwrap_or_else(|| Error::new(ErrorKind::Internal, "no file was opened")))
}

/// Whether the error is about what is in the file, so that an older one may be whole.
fn is_of_damage(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Format | ErrorKind::ShortFile | ErrorKind::Checksum | ErrorKind::Range | ErrorKind::Decode
    )
}
