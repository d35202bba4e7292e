//! Queries the file system about a file, and operates on its name.

use super::calls::{retry, system};
use super::descriptors;
use super::names::{folder, lock_test, target_path};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Access, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use scda_base::error::{Error, ErrorKind, Result, quote_path};
use std::path::Path;

/// What the library needs to know about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Size in bytes.
    pub size: u64,
    /// The preferred size of an access, in bytes: on a parallel file system, a stripe or a block.
    pub block_bytes: u64,
    /// A regular file: not a device, a pipe or a folder.
    pub is_regular: bool,
    /// A folder.
    pub is_folder: bool,
    /// A pipe or socket, which cannot be written at offsets.
    pub is_stream: bool,
    /// A block device, which is never empty: what nobody writes keeps its bytes.
    pub is_disk: bool,
    /// Identifies the file, whatever its name.
    pub identity: Identity,
    /// Permission bits.
    pub mode: u32,
    /// User and group IDs.
    pub owner: (u32, u32),
}

/// Identifies a file under all its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The device that the file is on.
    pub device: u64,
    /// The inode number on that device.
    pub inode: u64,
}

impl Status {
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)] // the types differ between systems
    pub(super) fn new(stat: &rustix::fs::Stat) -> Self {
        let kind = FileType::from_raw_mode(stat.st_mode);
        Self {
            size: u64::try_from(stat.st_size).unwrap_or(0), // never negative
            block_bytes: u64::try_from(stat.st_blksize).unwrap_or(0),
            is_regular: kind == FileType::RegularFile,
            is_folder: kind == FileType::Directory,
            is_stream: matches!(kind, FileType::Fifo | FileType::Socket),
            is_disk: kind == FileType::BlockDevice,
            identity: Identity { device: stat.st_dev as u64, inode: stat.st_ino as u64 },
            mode: (stat.st_mode as u32) & 0o777,
            owner: (stat.st_uid, stat.st_gid),
        }
    }
}

/// The status of the file at a path; `None` if there is nothing.
///
/// # Errors
/// Those of the file system.
pub fn status(path: &Path) -> Result<Option<Status>> {
    found("stat", retry(|| rustix::fs::stat(path)))
}

/// Like [`status`], but of a link itself rather than its target.
///
/// # Errors
/// Those of the file system.
pub fn link_status(path: &Path) -> Result<Option<Status>> {
    found("lstat", retry(|| rustix::fs::lstat(path)))
}

/// Turns the result of `stat` into a status, or `None` if there is nothing.
fn found(call: &str, stat: rustix::io::Result<rustix::fs::Stat>) -> Result<Option<Status>> {
    match stat {
        Ok(stat) => Ok(Some(Status::new(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(e) => Err(Error::io(call, e)),
    }
}

/// The error for a path of which a folder is missing, or is something else; `None` if it has its folder.
#[must_use]
pub fn missing_folder(path: &Path) -> Option<Error> {
    let path = target_path(path);
    let folder_at = |folder: &Path| match status(folder) {
        Ok(Some(found)) if found.is_folder => None,
        Ok(Some(_)) => Some("is not a folder"),
        Ok(None) => Some("does not exist"),
        Err(error) if error.kind() == ErrorKind::NoSuchFile => Some("does not exist"),
        // One that cannot be looked at may exist.
        Err(_) => None,
    };
    folder_at(folder(&path))?;
    // The outermost one is the cause.
    let mut folders: Vec<_> = folder(&path).ancestors().filter(|folder| *folder != Path::new("")).collect();
    folders.reverse();
    let (folder, found) = folders.into_iter().find_map(|folder| Some((folder, folder_at(folder)?)))?;
    Some(Error::new(ErrorKind::NoSuchFile, format!("open: the folder \"{}\" {found}", quote_path(folder))))
}

/// The name of Lustre in [`FileSystem::name`].
pub const LUSTRE: &str = "lustre";
/// That of NFS.
pub const NFS: &str = "nfs";
/// That of file systems in user space which are not known by themselves.
const FUSE: &str = "fuse";
const GLUSTERFS: &str = "glusterfs";

/// The file systems for which [`FileSystem::is_exact_by_locks`] holds, where the system has locks that belong
/// to an open file.
const IS_EXACT_BY_LOCKS: &[&str] =
    if cfg!(all(target_os = "linux", target_pointer_width = "64")) { &[NFS, GLUSTERFS] } else { &[] };

/// The file system of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its name, as in `mount`; `None` if it is unknown.
    pub name: Option<&'static str>,
    /// Whether every node sees at once what another one has written, so that every rank may use `pwrite`.
    /// That holds for file systems of one node and for parallel ones with POSIX semantics, but not for NFS.
    /// Unknown file systems are assumed not to be coherent: [`Driver::Auto`](super::Driver::Auto) uses MPI-IO
    /// on them.
    pub is_coherent: bool,
    /// Whether nodes that hold a lock write exactly their program's bytes, and see what others have brought
    /// to stable storage when they look again. This is the case on NFS and GlusterFS, where POSIX then works
    /// on several nodes, too.
    pub is_exact_by_locks: bool,
    /// Whether each node has a file system of its own, so that the same name means different files on
    /// different nodes.
    pub is_of_one_node: bool,
}

impl FileSystem {
    /// The file system of a file, or of the folder in which it will be.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn of(path: &Path) -> Result<Self> {
        let kind = |path: &Path| retry(|| rustix::fs::statfs(path));
        let found = kind(path).or_else(|_| kind(folder(&target_path(path))));
        let known = found.map(|found| Self::known(&found)).map_err(|error| Error::io("statfs", error))?;
        let name = known.name.map(|name| if name == FUSE { fuse_name(path).unwrap_or(FUSE) } else { name });
        Ok(Self { name, is_exact_by_locks: IS_EXACT_BY_LOCKS.contains(&name.unwrap_or_default()), ..known })
    }

    /// Whether an open file is on Lustre.
    pub(super) fn is_lustre(file: impl AsFd) -> bool {
        retry(|| rustix::fs::fstatfs(file.as_fd()))
            .is_ok_and(|found| Self::known(&found).name == Some(LUSTRE))
    }

    /// By the kind of file system alone, which does not tell those in user space apart.
    fn known(found: &rustix::fs::StatFs) -> Self {
        // Coherent, and of one node. A squashfs cannot be written, and nodes mount copies of the same image.
        const KNOWN: [(u64, &str, bool, bool); 25] = [
            (0xEF53, "ext4", true, true), // and ext2, ext3
            (0x5846_5342, "xfs", true, true),
            (0x9123_683E, "btrfs", true, true),
            (0x2FC1_2FC1, "zfs", true, true),
            (0xF2F5_2010, "f2fs", true, true),
            (0xCA45_1A4E, "bcachefs", true, true),
            (0x0102_1994, "tmpfs", true, true),
            (0x8584_58F6, "ramfs", true, true),
            (0x794C_7630, "overlay", true, true),
            (0x7371_7368, "squashfs", true, false),
            (0x0BD0_0BD0, LUSTRE, true, false),
            (0x4750_4653, "gpfs", true, false),
            (0x1983_0326, "beegfs", true, false),
            (0x6969, NFS, false, false),
            (0xFF53_4D42, "cifs", false, false),
            (0xFE53_4D42, "smb2", false, false),
            (0x6573_5546, FUSE, false, false),
            (0x0102_1997, "9p", false, false),
            (0x00C3_6400, "ceph", true, false),
            (0x5346_414F, "afs", false, false),
            (0x2003_0528, "orangefs", false, false),
            (0xAAD7_AAEA, "panfs", false, false),
            (0x0116_1970, "gfs2", true, false),
            (0x7461_636F, "ocfs2", true, false),
            (0x9FA0, "proc", false, true),
        ];
        #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation, clippy::unnecessary_cast)]
        let kind = found.f_type as u32 as u64;
        let known = KNOWN.iter().find(|known| known.0 == kind);
        Self {
            name: known.map(|known| known.1),
            is_coherent: known.is_some_and(|known| known.2),
            is_exact_by_locks: false,
            is_of_one_node: known.is_some_and(|known| known.3),
        }
    }
}

/// The name of the file system in user space that a file is on, or its folder.
fn fuse_name(path: &Path) -> Option<&'static str> {
    let found = status(path).ok().flatten().or_else(|| status(folder(&target_path(path))).ok().flatten())?;
    let device = found.identity.device;
    let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let mounts = String::from_utf8_lossy(&std::fs::read("/proc/self/mountinfo").ok()?).into_owned();
    Some(if mount_kind(&mounts, &device) == Some("fuse.glusterfs") { GLUSTERFS } else { FUSE })
}

/// The kind of file system on a device, in the table that `proc(5)` describes: the third word of a line is
/// the device; the kind follows a dash after words of variable number.
fn mount_kind<'a>(mounts: &'a str, device: &str) -> Option<&'a str> {
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(device))?;
    line.split_once(" - ")?.1.split(' ').next()
}

/// Opens the folder of a file, so that a network file system asks its server about the names there. Then a
/// file that another node has created is found, even if this node has looked for it before, and a renamed
/// file is not mistaken for the one that has its name now.
pub fn look_again(path: &Path) {
    // If that fails, opening the file reports it.
    let _ = Folder::open(path);
}

/// The status of a file, which is opened for it: only then do network file systems ask their server.
///
/// # Errors
/// Those of the file system.
pub fn fresh_status(path: &Path) -> Result<Option<Status>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let opened =
        descriptors::open(path, flags, Mode::empty()).and_then(|file| retry(|| rustix::fs::fstat(&file)));
    // A file may be writable without being readable.
    opened.map_or_else(|_| status(path), |stat| Ok(Some(Status::new(&stat))))
}

/// Whether there is no space for these bytes of a file, in the file system or within the process's limit on
/// file size. `false` if that is unknown: quotas are not visible.
#[cfg(feature = "mpi")]
#[must_use]
pub fn is_full(path: &Path, bytes: std::ops::Range<u64>) -> bool {
    let free = retry(|| rustix::fs::statvfs(path))
        .ok()
        .map(|system| system.f_bavail.saturating_mul(system.f_frsize));
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    free.is_some_and(|free| free < bytes.end - bytes.start) || limit.is_some_and(|limit| limit < bytes.end)
}

/// Gives a new file the permissions of the old one that it will replace, and its owner and group if the
/// system allows. If the group cannot be set, it gets no permissions. Only the file with this identity is
/// changed, even if its name has become a link.
///
/// # Errors
/// `FileInUse` if it is another file; those of the file system, unless the file has these permissions anyway:
/// some file systems cannot set them.
pub fn adopt(path: &Path, identity: Identity, old: &Status) -> Result<()> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = descriptors::open(path, flags, Mode::empty());
    let file = opened.map_err(|error| Error::io("opening to set its permissions", error))?;
    let status = || system("fstat", || rustix::fs::fstat(&file)).map(|stat| Status::new(&stat));
    let found = status()?;
    if found.identity != identity {
        return Err(replaced(path));
    }
    let (user, group) = (Uid::from_raw(old.owner.0), Gid::from_raw(old.owner.1));
    let give = |user| retry(|| rustix::fs::fchown(&file, user, Some(group))).is_ok();
    let mut mode = old.mode;
    if found.owner != old.owner && !give(Some(user)) && found.owner.1 != old.owner.1 && !give(None) {
        mode &= !0o070;
    }
    let set = system("setting the permissions of the file to be replaced", || {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))
    });
    match set {
        Err(_) if status()?.mode == mode => Ok(()),
        set => set,
    }
}

/// The error for a file whose name, while it is being written, now belongs to another file or to none.
pub(super) fn replaced(path: &Path) -> Error {
    Error::new(ErrorKind::FileInUse, format!("{}: it was removed or replaced", quote_path(path)))
}

/// Checks that a file may be written or, if it does not exist, created in its folder. An error has the
/// system's message.
///
/// # Errors
/// Those of the file system.
pub fn check_writable(path: &Path) -> Result<()> {
    if status(path)?.is_some() {
        return system("opening to write", || rustix::fs::access(path, Access::WRITE_OK));
    }
    let needed = Access::WRITE_OK | Access::EXEC_OK;
    system("creating in its folder", || rustix::fs::access(folder(path), needed))
}

/// Checks that a file that may be written may also be replaced. In a sticky folder such as `/tmp`, a user who
/// owns neither the file nor the folder cannot rename another file over it.
///
/// # Errors
/// `Access`, and those of the file system.
pub fn check_replaceable(path: &Path) -> Result<()> {
    let stat = |path| system("stat", || rustix::fs::stat(path));
    let (folder, file) = (stat(folder(path))?, stat(path)?);
    let user = rustix::process::geteuid();
    let is_sticky = Mode::from_raw_mode(folder.st_mode).contains(Mode::SVTX);
    let owns = [folder.st_uid, file.st_uid].contains(&user.as_raw());
    if is_sticky && !owns && !user.is_root() {
        return Err(Error::new(
            ErrorKind::Access,
            "another user's file in a sticky folder cannot be replaced",
        ));
    }
    Ok(())
}

/// Removes what an earlier job has left of an atomic write, if anything.
///
/// # Errors
/// Those of the file system.
pub fn remove_stale(part: &Path) -> Result<()> {
    remove(part).map_err(|e| Error::io("removing the remains of an earlier write", e))?;
    // These do no harm: Open MPI uses and removes them itself on ranks with the same numbers.
    let _ = (0..).find(|&rank| !remove(&lock_test(part, rank)).unwrap_or(false));
    Ok(())
}

/// Removes a file. Returns `false` if there is none.
///
/// # Errors
/// Those of the file system.
pub(super) fn remove(path: &Path) -> rustix::io::Result<bool> {
    match retry(|| rustix::fs::unlink(path)) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Syncs the folder of a new file, so that a crash does not lose its name.
///
/// # Errors
/// Those of the file system.
pub fn sync_folder(path: &Path) -> Result<()> {
    Folder::open(path)?.sync()
}

/// The folder of a file, for syncing.
pub(super) struct Folder(OwnedFd);

impl Folder {
    pub fn open(path: &Path) -> Result<Self> {
        let opened = descriptors::open(folder(path), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
        opened.map(Self).map_err(|error| Error::io("opening the folder to sync it", error))
    }

    pub fn sync(&self) -> Result<()> {
        match retry(|| rustix::fs::fsync(&self.0)) {
            // Some file systems cannot sync a folder, but then have nothing to sync.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(e) => Err(Error::io("syncing the folder", e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_file_systems_are_coherent_and_others_unknown() {
        let of = |path| FileSystem::of(Path::new(path)).unwrap();
        let one_node = |name, is_coherent| FileSystem {
            name: Some(name),
            is_coherent,
            is_exact_by_locks: false,
            is_of_one_node: true,
        };
        assert_eq!(of("/dev/shm/not-there-yet"), one_node("tmpfs", true));
        assert_eq!(of("/proc/self/status"), one_node("proc", false));
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/shm/not-there-yet", &link).unwrap();
        assert_eq!(FileSystem::of(&link).unwrap().name, Some("tmpfs"));
    }

    #[test]
    fn block_devices_are_known() {
        let disks: Vec<_> = std::fs::read_dir("/sys/class/block").into_iter().flatten().flatten().collect();
        let found =
            disks.iter().find_map(|disk| status(&Path::new("/dev").join(disk.file_name())).ok().flatten());
        match found {
            Some(found) => assert!(found.is_disk && !found.is_regular),
            None => println!("skipped: no block device"),
        }
        assert!(!status(Path::new("/dev/null")).unwrap().unwrap().is_disk);
    }

    #[test]
    fn file_systems_in_user_space_are_known_by_their_mount() {
        let mounts = "22 1 8:1 / / rw shared:1 - ext4 /dev/root rw\n\
                      35 22 0:44 / /tmp/data rw,relatime shared:3 master:1 - fuse.glusterfs srv:/scda rw\n\
                      36 22 0:45 / /tmp/a\\040b rw - fuse.sshfs srv:/ rw\n";
        assert_eq!(mount_kind(mounts, "0:44"), Some("fuse.glusterfs"));
        assert_eq!(mount_kind(mounts, "0:45"), Some("fuse.sshfs"));
        assert_eq!(mount_kind(mounts, "8:1"), Some("ext4"));
        assert_eq!(mount_kind(mounts, "0:4"), None);
        // A file that is not there is judged by its folder.
        assert_eq!(fuse_name(Path::new("/dev/shm/not-there-yet")), Some(FUSE));
    }

    #[test]
    fn the_outermost_folder_that_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let words = |name: &str| {
            let error = missing_folder(&folder.path().join(name))?;
            assert_eq!(error.kind(), ErrorKind::NoSuchFile);
            Some(error.to_string().replace(folder.path().to_str().unwrap(), "DIR"))
        };
        std::fs::write(folder.path().join("text"), "").unwrap();
        assert_eq!(words("file"), None);
        assert_eq!(words("a/b/file").unwrap(), "open: the folder \"DIR/a\" does not exist");
        assert_eq!(words("text/b/file").unwrap(), "open: the folder \"DIR/text\" is not a folder");
        std::os::unix::fs::symlink("nowhere/file", folder.path().join("link")).unwrap();
        assert_eq!(words("link").unwrap(), "open: the folder \"DIR/nowhere\" does not exist");
        assert!(missing_folder(Path::new("file")).is_none());
    }
}
