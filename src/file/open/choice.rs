//! Chooses how a file is opened: the driver, according to parameters, environment and file system.

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

/// Whether a file can be opened with MPI-IO, and why.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MpiIo {
    /// There is no MPI.
    Absent,
    There,
    /// Hints request it.
    AskedFor,
}

impl MpiIo {
    fn of(team: &Team, tuning: &Tuning) -> Self {
        #[cfg(feature = "mpi")]
        let (has_mpi, has_hints) = (team.as_mpi().is_some(), !tuning.hints.is_none());
        #[cfg(not(feature = "mpi"))]
        let (has_mpi, has_hints) = (team.size() == 0, tuning.threads == 0);
        match () {
            () if !has_mpi => Self::Absent,
            () if has_hints => Self::AskedFor,
            () => Self::There,
        }
    }
}

/// How a file is opened.
pub(super) struct Choice<'a> {
    pub driver: Driver,
    /// Whether every rank finds its file system coherent between nodes, and the environment does not deny it.
    /// If only the environment says so, locks and names are still those of a file system that is not.
    pub is_coherent: bool,
    /// Whether all ranks are on one node.
    pub is_one_node: bool,
    /// Whether several nodes write by POSIX on a file system that needs a lock of each node for this.
    pub needs_locks: bool,
    /// Whether every rank finds Lustre, and POSIX is to write.
    is_lustre: bool,
    /// On rank 0: the number of stripes for a new file according to the environment; 0: none given.
    stripe_count: u64,
    /// The file system that this rank finds.
    pub system: Option<FileSystem>,
    /// Whether the file is opened to write.
    writes: bool,
    /// The path as the file system knows it.
    pub real: &'a Path,
    /// The prefix that the program has put before it for ROMIO.
    pub prefix: &'a OsStr,
}

/// Chooses the driver. Rank 0 decides; where it leaves the choice to the file system, every rank must find it
/// coherent. Rank 0 also decides whether the ranks agree in every call, and on stripes and aggregators. This
/// is the first agreement of the ranks, on what is to be opened; it also finds the largest number of threads.
/// A file to be written also has memory for writing in the background.
pub(super) fn choose<'a>(
    team: &mut Team,
    path: &'a Path,
    tuning: &mut Tuning,
    background: Option<&mut u64>,
) -> Result<Choice<'a>, Failure> {
    let (writes, asked) = (background.is_some(), background.as_deref().copied().unwrap_or(0));
    let threads = FINE - tuning.threads as u64;
    let mut words = [FINE; MOST_WORDS];
    // A malformed variable is an error on other ranks as well.
    let environment = Environment::read();
    let stripe_count = environment.as_ref().map_or(0, |environment| environment.stripe_count);
    let mine = if team.rank() == 0 {
        environment
            .and_then(|environment| wanted((tuning, asked), &environment, MpiIo::of(team, tuning)))
            .map(|DriverChoice { driver, is_coherent, check, writers, stripe_bytes, background_bytes }| {
                let driver = match driver {
                    Driver::Posix => 0,
                    Driver::MpiIo => 1,
                    Driver::Auto => 2,
                };
                let said = is_coherent.map_or(2, u64::from);
                let packed = driver + 4 * said + 16 * u64::from(check);
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
    let (driver, said, check) = (packed % 4, packed / 4 % 4, packed / 16);
    tuning.most_threads = MostThreads(FINE - threads);
    (tuning.check, tuning.writers_per_node, tuning.stripe_bytes) = (check == 1, writers, stripe);
    if tuning.check {
        team.tell_waits(|words| eprintln!("{words}"));
    }
    let is_one_node = node == FINE - other;
    let posix = Posix::of(sharing, said, is_one_node);
    let is_posix = driver == 0 || driver == 2 && posix != Posix::WholePages;
    let system = system.ok();
    if is_posix {
        if writes && posix == Posix::WholePages {
            return Err(writes_whole_pages(system).into());
        }
        if let Some(bytes) = background {
            *bytes = found;
        }
    } else if asked > 0 {
        let words = "background_bytes: only the POSIX driver can write in the background, not MPI-IO";
        return Err(Error::argument(words).into());
    }
    let is_asked = driver == 1;
    let driver = if is_posix { Driver::Posix } else { Driver::MpiIo };
    // A program that requests MPI-IO uses names as MPI-IO does. Other names have no prefix.
    let real = if driver == Driver::MpiIo && is_asked { mpi_io::real_path(path) } else { path };
    let prefix = names::romio_prefix(path, real);
    let is_lustre = sharing == LUSTRE && is_posix;
    let is_coherent = sharing >= COHERENT && said != 0;
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

/// What the ranks find about the file system, as words of which the agreement takes the minimum.
const BY_LOCKS: u64 = 1;
const COHERENT: u64 = 2;
const LUSTRE: u64 = 3;

/// What happens when all ranks write to a file by POSIX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Posix {
    /// Exactly the bytes written by a rank change.
    Exact,
    /// The same as long as each node holds a lock.
    WithLocks,
    /// Nodes overwrite each other's bytes within a page.
    WholePages,
}

impl Posix {
    /// `sharing` is the minimum over all ranks; `said` is the setting in the environment: 0, 1, or 2 for
    /// none.
    fn of(sharing: u64, said: u64, is_one_node: bool) -> Self {
        match (sharing, said) {
            // A single node has a single cache.
            _ if is_one_node => Self::Exact,
            (_, 1) | (COHERENT.., 2) => Self::Exact,
            (BY_LOCKS, _) => Self::WithLocks,
            _ => Self::WholePages,
        }
    }
}

/// The error if ranks on several nodes would write whole pages by POSIX, with what is known about the file
/// system.
fn writes_whole_pages(system: Option<FileSystem>) -> Error {
    let name = system.and_then(|system| system.name).unwrap_or("a file system of an unknown kind");
    Error::argument(format!(
        "driver: found POSIX on {name} with ranks on several nodes: each node writes whole pages, so that neighbours in a page \
         overwrite each other; use MPI-IO, or say by SCDA_COHERENT=1 that all nodes see at once what any of them writes"
    ))
}

/// The choice of rank 0.
struct DriverChoice {
    /// `Auto` if the file system decides.
    driver: Driver,
    /// Whether the environment says that the file system is coherent.
    is_coherent: Option<bool>,
    /// Whether the ranks agree in every call.
    check: bool,
    /// The number of aggregators of a node.
    writers: u64,
    stripe_bytes: u64,
    /// Memory for writing in the background.
    background_bytes: u64,
}

/// What the parameters request, or otherwise the environment of rank 0.
fn wanted(
    (tuning, background_bytes): (&Tuning, u64),
    environment: &Environment,
    mpi_io: MpiIo,
) -> Result<DriverChoice> {
    let driver = match tuning.driver {
        Driver::MpiIo if mpi_io == MpiIo::Absent => {
            return Err(Error::argument("driver: MPI-IO needs MPI, which is not there"));
        }
        Driver::Auto if mpi_io == MpiIo::Absent => Driver::Posix,
        Driver::Auto if mpi_io == MpiIo::AskedFor => Driver::MpiIo,
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
    /// The path by which the file is written: as the program passed it, which may be shorter than the
    /// absolute path of a part file.
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

    /// Before anything changes, checks that MPI-IO, if it is used, can take a name.
    pub fn check_name(&self, team: &Team, name: &Path) -> Result<()> {
        match self.driver {
            Driver::MpiIo => mpi_io::check_name(name, self.prefix, team.size()),
            _ => Ok(()),
        }
    }

    /// What distinguishes files of equal inodes on file systems that belong to one node: the node and the
    /// device.
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
        const NOTHING: u64 = 2;
        for (sharing, said, several_nodes) in [
            (UNKNOWN, NOTHING, Posix::WholePages),
            (UNKNOWN, 0, Posix::WholePages),
            (UNKNOWN, 1, Posix::Exact),
            (BY_LOCKS, NOTHING, Posix::WithLocks),
            (BY_LOCKS, 0, Posix::WithLocks),
            (BY_LOCKS, 1, Posix::Exact),
            (COHERENT, NOTHING, Posix::Exact),
            (COHERENT, 0, Posix::WholePages),
            (LUSTRE, NOTHING, Posix::Exact),
            (LUSTRE, 0, Posix::WholePages),
        ] {
            assert_eq!(Posix::of(sharing, said, false), several_nodes, "{sharing} {said}");
            assert_eq!(Posix::of(sharing, said, true), Posix::Exact);
        }
    }
}
