//! The place of a file in the file system: its kind, its neighbour, its identity.

use crate::error::{Error, ErrorKind, Result, quote_path};
use rustix::fs::{Access, FileType, Gid, Mode, OFlags, Uid};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What an atomic write adds to the name of the file while it is incomplete.
pub const PART_SUFFIX: &str = ".scda-part";
/// The longest name in a folder that file systems have.
const MAX_NAME_BYTES: usize = 255;

/// What the library needs to know of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Size in bytes.
    pub size: u64,
    /// A regular file: not a device, a pipe or a folder.
    pub is_regular: bool,
    /// A folder.
    pub is_folder: bool,
    /// A pipe or socket, which cannot be written at offsets.
    pub is_stream: bool,
    /// Device and inode: two names of the same file have the same.
    pub identity: (u64, u64),
    /// Permission bits.
    pub mode: u32,
    /// User and group.
    pub owner: (u32, u32),
}

impl Status {
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)] // the types differ between systems
    pub(super) fn new(stat: &rustix::fs::Stat) -> Self {
        let kind = FileType::from_raw_mode(stat.st_mode);
        Self {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            is_regular: kind == FileType::RegularFile,
            is_folder: kind == FileType::Directory,
            is_stream: matches!(kind, FileType::Fifo | FileType::Socket),
            identity: (stat.st_dev as u64, stat.st_ino as u64),
            mode: (stat.st_mode as u32) & 0o777,
            owner: (stat.st_uid, stat.st_gid),
        }
    }
}

/// What `stat` says of a path; `None` if nothing is there.
///
/// # Errors
/// Those of the file system.
pub fn status(path: &Path) -> Result<Option<Status>> {
    match rustix::fs::stat(path) {
        Ok(stat) => Ok(Some(Status::new(&stat))),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(e) => Err(Error::io("stat", e)),
    }
}

/// As [`status`], but of a link itself, not of what it points to.
///
/// # Errors
/// Those of the file system.
pub fn link_status(path: &Path) -> Result<Option<Status>> {
    match rustix::fs::lstat(path) {
        Ok(stat) => Ok(Some(Status::new(&stat))),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(e) => Err(Error::io("lstat", e)),
    }
}

/// The name as the file system knows it: without the prefix that tells ROMIO its driver (`ufs:`).
#[must_use]
pub fn without_romio_prefix(path: &Path) -> &Path {
    const PREFIXES: [&[u8]; 9] =
        [b"ufs:", b"nfs:", b"xfs:", b"lustre:", b"gpfs:", b"panfs:", b"pvfs2:", b"testfs:", b"ime:"];
    let bytes = path.as_os_str().as_bytes();
    PREFIXES
        .iter()
        .find_map(|prefix| bytes.strip_prefix(*prefix))
        .map_or(path, |rest| Path::new(OsStr::from_bytes(rest)))
}

/// The folder that holds a file.
#[must_use]
pub fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// The neighbour that an atomic write goes to before it is renamed: the name with the suffix. Of a name
/// that has no room for it, the beginning is kept, and a hash that tells it from others that begin so.
#[must_use]
pub fn part(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    if name.len() + PART_SUFFIX.len() <= MAX_NAME_BYTES {
        let mut name = OsString::from(path);
        name.push(PART_SUFFIX);
        return PathBuf::from(name);
    }
    let bytes = name.as_bytes();
    // FNV-1a: the same in every build, so that the next job finds what this one has left.
    let hash = bytes.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    let end = format!("-{hash:016x}{PART_SUFFIX}");
    let mut kept = MAX_NAME_BYTES - end.len();
    // Not in the middle of a character.
    while bytes[kept] & 0xC0 == 0x80 && kept > 0 {
        kept -= 1;
    }
    let mut part = OsStr::from_bytes(&bytes[..kept]).to_owned();
    part.push(end);
    path.with_file_name(part)
}

/// The kind of file system that a file is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its name, as `mount` has it; `None` if it is not known here.
    pub name: Option<&'static str>,
    /// Whether every node sees at once what another has written, so that `pwrite` by every rank is right:
    /// file systems of one node, and the parallel ones that keep POSIX semantics. NFS does not, and what
    /// is not known is not relied on: there, [`Driver::Auto`](super::Driver::Auto) leaves it to MPI-IO.
    pub is_coherent: bool,
}

impl FileSystem {
    /// That of a file, or of the folder where it will be.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn of(path: &Path) -> Result<Self> {
        const KNOWN: [(u64, &str, bool); 25] = [
            (0xEF53, "ext4", true), // and ext2, ext3
            (0x5846_5342, "xfs", true),
            (0x9123_683E, "btrfs", true),
            (0x2FC1_2FC1, "zfs", true),
            (0xF2F5_2010, "f2fs", true),
            (0xCA45_1A4E, "bcachefs", true),
            (0x0102_1994, "tmpfs", true),
            (0x8584_58F6, "ramfs", true),
            (0x794C_7630, "overlay", true),
            (0x7371_7368, "squashfs", true),
            (0x0BD0_0BD0, "lustre", true),
            (0x4750_4653, "gpfs", true),
            (0x1983_0326, "beegfs", true),
            (0x6969, "nfs", false),
            (0xFF53_4D42, "cifs", false),
            (0xFE53_4D42, "smb2", false),
            (0x6573_5546, "fuse", false),
            (0x0102_1997, "9p", false),
            (0x00C3_6400, "ceph", false),
            (0x5346_414F, "afs", false),
            (0x2003_0528, "orangefs", false),
            (0xAAD7_AAEA, "panfs", false),
            (0x0116_1970, "gfs2", false),
            (0x7461_636F, "ocfs2", false),
            (0x9FA0, "proc", false),
        ];
        #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation, clippy::unnecessary_cast)]
        let kind = |path| rustix::fs::statfs(path).map(|fs| fs.f_type as u32 as u64);
        let kind = kind(path).or_else(|_| kind(folder(path))).map_err(|e| Error::io("statfs", e))?;
        let known = KNOWN.iter().find(|known| known.0 == kind);
        Ok(Self { name: known.map(|known| known.1), is_coherent: known.is_some_and(|known| known.2) })
    }
}

/// What `fstat` says of a path when it is opened anew: network file systems ask their server only
/// then.
///
/// # Errors
/// Those of the file system.
pub fn fresh_status(path: &Path) -> Result<Option<Status>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty()).and_then(rustix::fs::fstat);
    // A file may be written by those who may not read it.
    opened.map_or_else(|_| status(path), |stat| Ok(Some(Status::new(&stat))))
}

/// Gives the file of this identity the permissions of the old one that it is to replace: it and no other, should its
/// name have become a link. Owner and group, too, if the system allows it; else the group, which is another
/// one, gets no permissions.
///
/// # Errors
/// `FileInUse` if it is another file, and those of the file system.
pub fn adopt(path: &Path, identity: (u64, u64), old: &Status) -> Result<()> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty())
        .map_err(|e| Error::io("opening to set its permissions", e))?;
    let status = rustix::fs::fstat(&file).map_err(|e| Error::io("fstat", e))?;
    let status = Status::new(&status);
    if status.identity != identity {
        return Err(replaced(path));
    }
    let (user, group) = (Uid::from_raw(old.owner.0), Gid::from_raw(old.owner.1));
    let mut mode = old.mode;
    if status.owner != old.owner
        && rustix::fs::fchown(&file, Some(user), Some(group)).is_err()
        && status.owner.1 != old.owner.1
        && rustix::fs::fchown(&file, None, Some(group)).is_err()
    {
        mode &= !0o070;
    }
    rustix::fs::fchmod(&file, Mode::from_raw_mode(mode)).map_err(|e| Error::io("fchmod", e))
}

/// Another job, or somebody else, has put something in the place of a file that is being written.
fn replaced(path: &Path) -> Error {
    Error::new(ErrorKind::FileInUse, format!("{}: found it removed or replaced", quote_path(path)))
}

/// Notices, with the system's own words, what forbids to write a file: to write it if it exists,
/// else to create it in its folder.
///
/// # Errors
/// Those of the file system.
pub fn check_writable(path: &Path) -> Result<()> {
    if status(path)?.is_some() {
        return rustix::fs::access(path, Access::WRITE_OK).map_err(|e| Error::io("opening to write", e));
    }
    let needed = Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::access(folder(path), needed).map_err(|e| Error::io("creating in its folder", e))
}

/// Notices that a file may be written but not replaced: in a folder like `/tmp` (sticky), whoever owns neither
/// the file nor the folder may not rename another file over it.
///
/// # Errors
/// `Access`, and those of the file system.
pub fn check_replaceable(path: &Path) -> Result<()> {
    let stat = |path| rustix::fs::stat(path).map_err(|e| Error::io("stat", e));
    let (folder, file) = (stat(folder(path))?, stat(path)?);
    let user = rustix::process::geteuid();
    let is_sticky = Mode::from_raw_mode(folder.st_mode).contains(Mode::SVTX);
    let owns = [folder.st_uid, file.st_uid].contains(&user.as_raw());
    if is_sticky && !owns && !user.is_root() {
        return Err(Error::new(
            ErrorKind::Access,
            "found somebody else's file in a sticky folder, expected one that may be replaced",
        ));
    }
    Ok(())
}

/// Removes what an earlier job left of an atomic write. Nothing to remove is no error.
///
/// # Errors
/// Those of the file system.
pub fn remove_stale(path: &Path) -> Result<()> {
    match rustix::fs::unlink(path) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(e) => Err(Error::io("removing the remains of an earlier write", e)),
    }
}

/// Renames the finished part over the file and syncs the folder, so that a crash leaves one or the
/// other. The part must still be the file of this identity.
///
/// # Errors
/// `FileInUse` if another job has taken the part's place, and those of the file system.
pub fn commit(part: &Path, path: &Path, identity: (u64, u64)) -> Result<()> {
    if link_status(part)?.map(|status| status.identity) != Some(identity) {
        return Err(replaced(part));
    }
    // What can fail is tried while the old file still stands.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder(path), flags, Mode::empty())
        .map_err(|e| Error::io("opening the folder to sync it", e))?;
    rustix::fs::rename(part, path).map_err(|e| Error::io("rename", e))?;
    match rustix::fs::fsync(&folder) {
        // Some file systems cannot sync a folder, and have then nothing to sync.
        Ok(()) | Err(rustix::io::Errno::INVAL) => Ok(()),
        Err(e) => Err(Error::io("syncing the folder", e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_neighbours() {
        assert_eq!(part(Path::new("d/a.scda")), Path::new("d/a.scda.scda-part"));
        let longest = "x".repeat(245);
        assert_eq!(part(Path::new(&longest)), Path::new(&format!("{longest}.scda-part")));
        for (long, other) in [("é".repeat(127), "é".repeat(126) + "e"), ("x".repeat(246), "x".repeat(247))]
        {
            let path = Path::new("d").join(&long);
            let name = part(&path).file_name().unwrap().to_str().unwrap().to_owned();
            assert!(name.len() <= 255 && name.ends_with(".scda-part"), "{name}");
            assert_eq!(part(&path).parent(), Some(Path::new("d")));
            assert_ne!(part(&path), part(&Path::new("d").join(other)));
        }
        assert_eq!(folder(Path::new("a")), Path::new("."));
        assert_eq!(folder(Path::new("d/a")), Path::new("d"));
        assert_eq!(without_romio_prefix(Path::new("ufs:/x/y")), Path::new("/x/y"));
        assert_eq!(without_romio_prefix(Path::new("my:file")), Path::new("my:file"));
    }

    #[test]
    fn local_file_systems_are_coherent_and_others_unknown() {
        let of = |path| FileSystem::of(Path::new(path)).unwrap();
        assert_eq!(of("/dev/shm/not-there-yet"), FileSystem { name: Some("tmpfs"), is_coherent: true });
        assert_eq!(of("/proc/self/status"), FileSystem { name: Some("proc"), is_coherent: false });
    }

    #[test]
    fn a_part_that_was_replaced_is_not_committed() {
        let folder = tempfile::tempdir().unwrap();
        let (target, part_path) = (folder.path().join("f"), part(&folder.path().join("f")));
        std::fs::write(&target, "old").unwrap();
        std::fs::write(&part_path, "new").unwrap();
        let identity = status(&part_path).unwrap().unwrap().identity;
        assert_eq!(commit(&part_path, &target, (0, 0)).unwrap_err().kind(), ErrorKind::FileInUse);
        assert_eq!(std::fs::read(&target).unwrap(), b"old");
        commit(&part_path, &target, identity).unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"new");
        assert_eq!(status(&part_path).unwrap(), None);
    }
}
