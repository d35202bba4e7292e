//! Chooses how a file is opened: with which driver, as parameters, environment and file system require.

use super::mpi_io;
use crate::file::options::{MostThreads, Tuning, WriteOptions};
use crate::file::target::Target;
use crate::file::team::{FINE, Failure, MOST_WORDS, Team};
use scda_base::environment::{Environment, Io};
use scda_base::error::{Error, ErrorKind, Result};
use scda_ranks::hash::mix;
use scda_ranks::machine;
use scda_storage::file_system::{self, FileSystem, Status};
use scda_storage::lustre::{self, Layout, LayoutRequest};
use scda_storage::{Driver, names};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Whether files can be opened with MPI-IO, and should be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MpiIo {
    /// There is no MPI.
    Unavailable,
    Available,
    /// The program passes hints for it.
    Requested,
}

impl MpiIo {
    fn of(team: &Team, tuning: &Tuning) -> Self {
        #[cfg(feature = "mpi")]
        let (has_mpi, has_hints) = (team.as_mpi().is_some(), !tuning.hints.is_none());
        #[cfg(not(feature = "mpi"))]
        let (has_mpi, has_hints) = (team.size() == 0, tuning.threads == 0);
        match () {
            () if !has_mpi => Self::Unavailable,
            () if has_hints => Self::Requested,
            () => Self::Available,
        }
    }
}

/// How a file is opened.
pub(super) struct Choice<'a> {
    pub driver: Driver,
    /// Whether the file system is coherent between nodes, as far as every rank can tell, and the environment
    /// does not contradict. If only the environment declares it coherent, locks and names are still handled as
    /// on one that is not.
    pub is_coherent: bool,
    /// Whether all ranks are on one node.
    pub is_one_node: bool,
    /// Whether several nodes write with POSIX on a file system where each of them needs a lock for this.
    pub needs_locks: bool,
    /// Whether every rank finds Lustre, and the POSIX driver is used.
    is_lustre: bool,
    /// On rank 0: the number of stripes that the environment sets for a new file, or 0.
    stripe_count: u64,
    /// The file system, as this rank finds it.
    pub system: Option<FileSystem>,
    /// Whether the file is opened to write.
    writes: bool,
    /// The path as the file system knows it.
    pub real: &'a Path,
    /// The prefix with which the program chooses a driver of ROMIO.
    pub prefix: &'a OsStr,
}

/// Chooses the driver. Rank 0 decides; if it leaves the choice to the file system, the file system must be
/// coherent for every rank. Rank 0 also decides whether the ranks agree in every call, and on stripes and
/// aggregators. This is the first agreement of the ranks, in which they compare what they open; it also
/// determines the largest number of threads. `background` is the memory for writing in the background, if the
/// file is to be written.
pub(super) fn choose<'a>(
    team: &mut Team,
    path: &'a Path,
    tuning: &mut Tuning,
    background: Option<&mut u64>,
) -> Result<Choice<'a>, Failure> {
    let (writes, requested) = (background.is_some(), background.as_deref().copied().unwrap_or(0));
    let threads = FINE - tuning.threads as u64;
    let mut words = [FINE; MOST_WORDS];
    // A malformed variable is an error on other ranks as well.
    let environment = Environment::read();
    let stripe_count = environment.as_ref().map_or(0, |environment| environment.stripe_count);
    let mine = if team.rank() == 0 {
        environment
            .and_then(|environment| wanted((tuning, requested), &environment, MpiIo::of(team, tuning)))
            .map(|DriverChoice { driver, is_coherent, check, writers, stripe_bytes, background_bytes }| {
                let driver = match driver {
                    Driver::Posix => 0,
                    Driver::MpiIo => 1,
                    Driver::Auto => 2,
                };
                let declared = is_coherent.map_or(2, u64::from);
                let packed = driver + 4 * declared + 16 * u64::from(check);
                words[..4].copy_from_slice(&[packed, writers, stripe_bytes, background_bytes]);
            })
    } else {
        environment.map(drop)
    };
    let node = team.node() & FINE;
    words[5..].copy_from_slice(&[threads, node, FINE - node]);
    let system = FileSystem::of(path).or_else(|_| FileSystem::of(names::without_romio_prefix(path)));
    // Without a folder, no driver can open a file; opening it reports the error.
    words[4] = match &system {
        Ok(system) if system.name == Some(file_system::LUSTRE) => LUSTRE,
        Ok(system) if system.is_coherent => COHERENT,
        Ok(system) => BY_LOCKS * u64::from(system.is_exact_by_locks),
        Err(error) => COHERENT * u64::from(error.kind() == ErrorKind::NoSuchFile),
    };
    team.agree_with(mine, &mut words)?;
    let [packed, writers, stripe, found, sharing, threads, node, other] = words;
    let (driver, declared, check) = (packed % 4, packed / 4 % 4, packed / 16);
    let declared = (declared < 2).then_some(declared == 1);
    tuning.most_threads = MostThreads(FINE - threads);
    (tuning.check, tuning.writers_per_node, tuning.stripe_bytes) = (check == 1, writers, stripe);
    if tuning.check {
        team.tell_waits(|words| eprintln!("{words}"));
    }
    let is_one_node = node == FINE - other;
    let posix = Posix::of(sharing, declared, is_one_node);
    let is_posix = driver == 0 || driver == 2 && posix != Posix::WholePages;
    let system = system.ok();
    if is_posix {
        if writes && posix == Posix::WholePages {
            return Err(writes_whole_pages(system).into());
        }
        if let Some(bytes) = background {
            *bytes = found;
        }
    } else if requested > 0 {
        let words = "background_bytes: only the POSIX driver can write in the background, not MPI-IO";
        return Err(Error::argument(words).into());
    }
    // A program that requests MPI-IO uses names as MPI-IO does. Other names have no prefix.
    let real = if driver == 1 { mpi_io::real_path(path) } else { path };
    let driver = if is_posix { Driver::Posix } else { Driver::MpiIo };
    let prefix = names::romio_prefix(path, real);
    let is_lustre = sharing == LUSTRE && is_posix;
    let is_coherent = sharing >= COHERENT && declared != Some(false);
    let needs_locks = is_posix && writes && posix == Posix::WithLocks;
    Ok(Choice {
        driver,
        is_coherent,
        is_one_node,
        needs_locks,
        is_lustre,
        stripe_count,
        system,
        writes,
        real,
        prefix,
    })
}

/// What a rank knows of the file system, as a word of which the agreement takes the minimum; 0: nothing.
const BY_LOCKS: u64 = 1;
const COHERENT: u64 = 2;
const LUSTRE: u64 = 3;

/// What happens when all ranks write to a file with POSIX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Posix {
    /// Only the bytes that a rank writes change.
    Exact,
    /// The same, as long as each node holds a lock.
    WithLocks,
    /// Nodes write whole pages, and so overwrite each other's bytes within a page.
    WholePages,
}

impl Posix {
    /// `sharing` is the minimum over all ranks; `declared` is whether the environment declares the file system
    /// coherent.
    fn of(sharing: u64, declared: Option<bool>, is_one_node: bool) -> Self {
        match (sharing, declared) {
            // A single node has a single cache.
            _ if is_one_node => Self::Exact,
            (_, Some(true)) | (COHERENT.., None) => Self::Exact,
            (BY_LOCKS, _) => Self::WithLocks,
            _ => Self::WholePages,
        }
    }
}

/// The error if several nodes would write whole pages with POSIX.
fn writes_whole_pages(system: Option<FileSystem>) -> Error {
    let name = system.and_then(|system| system.name).unwrap_or("a file system of an unknown kind");
    Error::argument(format!(
        "driver: found POSIX on {name} with ranks on several nodes: each node writes whole pages, so nodes overwrite each other's \
         bytes within a page; use MPI-IO, or set SCDA_COHERENT=1 if every node sees at once what any other node writes"
    ))
}

/// The choice of rank 0.
struct DriverChoice {
    /// `Auto` if the file system decides.
    driver: Driver,
    /// Whether the environment declares the file system coherent.
    is_coherent: Option<bool>,
    /// Whether the ranks agree in every call.
    check: bool,
    /// The number of aggregators of a node.
    writers: u64,
    stripe_bytes: u64,
    /// Memory for writing in the background.
    background_bytes: u64,
}

/// What the parameters request; what they leave open, the environment of rank 0 decides.
fn wanted(
    (tuning, background_bytes): (&Tuning, u64),
    environment: &Environment,
    mpi_io: MpiIo,
) -> Result<DriverChoice> {
    let driver = match tuning.driver {
        Driver::MpiIo if mpi_io == MpiIo::Unavailable => {
            return Err(Error::argument("driver: MPI-IO needs MPI, which is not there"));
        }
        Driver::Auto if mpi_io == MpiIo::Unavailable => Driver::Posix,
        Driver::Auto if mpi_io == MpiIo::Requested => Driver::MpiIo,
        Driver::Auto => match environment.io {
            Some(Io::Mpi) => Driver::MpiIo,
            Some(Io::Posix) => Driver::Posix,
            None => Driver::Auto,
        },
        driver => driver,
    };
    let or = |value: u64, otherwise: u64| if value == 0 { otherwise } else { value };
    Ok(DriverChoice {
        driver,
        is_coherent: environment.coherent,
        check: tuning.check || environment.check == Some(true),
        writers: or(tuning.writers_per_node, environment.writers_per_node),
        stripe_bytes: or(tuning.stripe_bytes, environment.stripe_bytes),
        background_bytes: or(background_bytes, environment.background_bytes),
    })
}

/// The inode of a file; 0 for a device, which is not compared.
pub(super) fn inode(status: &Status) -> u64 {
    if status.is_regular { status.identity.inode } else { 0 }
}

impl Choice<'_> {
    /// The path that is opened for writing: as the program passed it, because that may be shorter than an
    /// absolute path, except for a part file.
    pub fn name_to_write(&self, params: &WriteOptions, target: &Target) -> PathBuf {
        if params.atomic { target.goal() } else { self.real }.to_owned()
    }

    /// On Lustre, the number of nodes that write the file; elsewhere 0.
    pub fn nodes_on_lustre(&self, team: &mut Team) -> Result<u64, Failure> {
        if !self.is_lustre {
            return Ok(0);
        }
        let node = Ok(team.node());
        let nodes: BTreeSet<u64> = team.gather(node)?.into_iter().collect();
        Ok(nodes.len() as u64)
    }

    /// Whether this rank finds the file on Lustre, or cannot tell.
    pub fn may_be_on_lustre(&self) -> bool {
        self.system.is_none_or(|system| system.name == Some(file_system::LUSTRE))
    }

    /// Whether this rank finds the file on NFS.
    pub fn is_nfs(&self) -> bool {
        self.system.is_some_and(|system| system.name == Some(file_system::NFS))
    }

    /// On rank 0: the layout of a new file.
    pub fn layout(&self, team: &Team, nodes: u64, tuning: &Tuning) -> Option<Layout> {
        let count = if tuning.stripe_count == 0 { self.stripe_count } else { tuning.stripe_count };
        let wanted = LayoutRequest { count, bytes: tuning.stripe_bytes };
        if self.is_lustre && team.rank() == 0 { lustre::layout_for(self.real, nodes, wanted) } else { None }
    }

    /// Before anything changes, checks that MPI-IO, if it is used, accepts a name.
    pub fn check_name(&self, team: &Team, name: &Path) -> Result<()> {
        match self.driver {
            Driver::MpiIo => mpi_io::check_name(name, self.prefix, team.size()),
            _ => Ok(()),
        }
    }

    /// A number that distinguishes files of equal inodes on different nodes, if each node has a file system of
    /// its own: it depends on the node and the device. Otherwise 0.
    pub fn owner(&self, status: &Status) -> u64 {
        // Nodes with overlays of the same image find the same files in them, unless the files are written.
        let is_own =
            |system: FileSystem| system.is_of_one_node && (self.writes || system.name != Some("overlay"));
        match status.is_regular && self.system.is_some_and(is_own) {
            true => mix(machine(), status.identity.device),
            false => 0,
        }
    }

    /// Checks that this is the file that rank 0 has opened.
    pub fn check_same(&self, found: &Status, first_inode: u64, first_owner: u64) -> Result<()> {
        let own = inode(found);
        let words = if own != first_inode {
            format!("(inode {own}) than rank 0 (inode {first_inode})")
        } else if self.owner(found) != first_owner {
            let name = self.system.and_then(|system| system.name).unwrap_or("file system");
            format!("than rank 0: each node has a {name} of its own")
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::BadFile, format!("open: this rank sees another file of this name {words}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posix_is_chosen_by_what_the_file_system_can_do() {
        const UNKNOWN: u64 = 0;
        for (sharing, declared, several_nodes) in [
            (UNKNOWN, None, Posix::WholePages),
            (UNKNOWN, Some(false), Posix::WholePages),
            (UNKNOWN, Some(true), Posix::Exact),
            (BY_LOCKS, None, Posix::WithLocks),
            (BY_LOCKS, Some(false), Posix::WithLocks),
            (BY_LOCKS, Some(true), Posix::Exact),
            (COHERENT, None, Posix::Exact),
            (COHERENT, Some(false), Posix::WholePages),
            (LUSTRE, None, Posix::Exact),
            (LUSTRE, Some(false), Posix::WholePages),
        ] {
            assert_eq!(Posix::of(sharing, declared, false), several_nodes, "{sharing} {declared:?}");
            assert_eq!(Posix::of(sharing, declared, true), Posix::Exact);
        }
    }
}
