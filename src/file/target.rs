//! The file that is being written: its names and locks, and what happens to them when it is closed.

use super::options::WriteOptions;
use rustix::fs::OFlags;
use scda_base::error::{Error, ErrorKind, Result, quote_path};
use scda_base::numbers::to_usize;
use scda_format::FILE_HEADER_BYTES;
use scda_format::hdf5::{LONG_HEADER_BYTES, reserved_section};
use scda_format::header::begins_as_header;
use scda_format::padding::LineBreak;
use scda_storage::file_system::{self, Identity, Status};
use scda_storage::lock_file::LockFile;
use scda_storage::lustre::Layout;
use scda_storage::posix::{self, PosixFile};
use scda_storage::rotation::{self, Counts, FileSeries};
use scda_storage::{Driver, ParallelFile};
use scda_storage::{copy, names};
use std::path::{Path, PathBuf};

/// Sections end at multiples of this number of bytes.
const SECTION_BYTES: u64 = 32;
/// Appended to the sections of an incomplete file. No section ends where it ends.
const INCOMPLETE: &[u8] = b"incomplete: its writer was stopped\n";

/// The file that is being written.
#[derive(Default)]
pub struct Target {
    /// Its absolute path, because the program may change its working folder.
    path: PathBuf,
    /// The part file, to which an atomic write goes until it is renamed.
    part: Option<PathBuf>,
    /// Whether the name is to be brought to stable storage as well, and whether that has been done.
    sync: bool,
    is_named: bool,
    /// The same for an atomic write without `sync`.
    sync_part: bool,
    /// Whether what was written is read again.
    is_read: bool,
    /// Whether the file is on NFS, whose server is to delegate it to no node.
    is_undelegated: bool,
    /// The number of older files with the name that are kept.
    keep: u64,
    /// The permissions of a new file, less the bits of the umask.
    mode: u32,
    /// On rank 0: the file that had the name before.
    old: Option<Status>,
    /// On rank 0: identifies the file that is written, to notice if it is removed or replaced.
    status: Option<Status>,
    /// On rank 0: whether this write has created the part file.
    has_part: bool,
    /// On rank 0: whether the part file is a copy of the file with the name. It need not replace that file as
    /// long as it ends at `same_up_to`.
    is_copy: bool,
    same_up_to: Option<u64>,
    /// On rank 0: locks without which another program could write: on the file that the part file will
    /// replace, on the part file, and on a file that MPI-IO writes.
    locks: Vec<PosixFile>,
    /// Whether these files are locked themselves. On file systems that are not coherent between nodes, a file
    /// next to them is locked instead: see [`LockFile`].
    pub is_coherent: bool,
    /// On rank 0: the lock that replaces those on the files.
    lock_file: Option<LockFile>,
    /// On rank 0: the layout of a new file, on Lustre.
    pub layout: Option<Layout>,
    /// Whether the file may be on Lustre, whose files have stripes.
    pub may_be_on_lustre: bool,
    /// On rank 0: the size of a block or stripe of the open file.
    pub block_bytes: u64,
}

impl Target {
    pub fn new(path: &Path, params: &WriteOptions, is_coherent: bool) -> Self {
        let mut path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        if params.atomic {
            path = names::target_path(&path);
        }
        Self {
            part: params.atomic.then(|| names::part_path(&path)),
            path,
            sync: params.sync,
            sync_part: params.sync || !params.later,
            keep: params.keep,
            is_read: params.seal,
            mode: params.mode,
            is_coherent,
            ..Self::default()
        }
    }

    /// Records that several nodes write the file, each with a lock for reading, so it is opened for reading
    /// as well; on NFS, the server is to delegate it to none of them.
    pub fn write_by_locks(&mut self, is_nfs: bool) {
        self.is_read = true;
        self.is_undelegated = is_nfs;
    }

    /// The name under which the file is written.
    pub fn goal(&self) -> &Path {
        self.part.as_deref().unwrap_or(&self.path)
    }

    /// On rank 0: checks that the file may be written and that nobody else writes it, and opens it. A new
    /// file is created, with MPI-IO by `create`. An old file keeps its contents until all ranks have found
    /// it.
    pub fn prepare(&mut self, driver: Driver, create: impl FnOnce(&Path) -> Result<()>) -> Result<PosixFile> {
        self.begin(driver)?;
        if let Some(part) = self.part.clone() {
            if self.old.is_some() {
                let old = self.lock_old(OFlags::WRONLY)?;
                self.locks.push(old);
            }
            self.clear(&part)?;
            return self.create_part(&part, driver, create);
        }
        if driver == Driver::MpiIo && self.old.is_none() {
            match create(&names::target_path(&self.path)) {
                // Another program has created it meanwhile; the lock decides.
                Err(error) if error.kind() == ErrorKind::FileExists => {}
                created => created?,
            }
        }
        if driver == Driver::Posix && self.old.is_none() && self.layout.is_some() {
            match PosixFile::create_new(
                &names::target_path(&self.path),
                first_flags(self.is_undelegated),
                self.mode,
                self.layout,
            ) {
                Err(error) if error.kind() == ErrorKind::FileExists => {}
                created => drop(created?),
            }
        }
        let flags = if driver == Driver::MpiIo { OFlags::empty() } else { OFlags::CREATE };
        let mut file = match self.is_read {
            // Setting attributes later reads those that are sealed.
            true => PosixFile::open(&self.path, OFlags::RDWR | flags | first_flags(self.is_undelegated))?,
            false => PosixFile::open(&self.path, flags | OFlags::WRONLY)?,
        };
        self.opened(&file)?;
        if self.is_regular() {
            self.lock(&mut file)?;
        }
        Ok(file)
    }

    /// On rank 0: opens an existing file to append to it. An atomic write appends to a copy, perhaps of an
    /// older file.
    pub fn prepare_to_append(&mut self, driver: Driver, older: Option<&Path>) -> Result<PosixFile> {
        self.begin(driver)?;
        let mut old = match older {
            None => self.lock_old(OFlags::RDWR | first_flags(self.is_undelegated))?,
            Some(older) => {
                if self.old.is_some() {
                    let old = self.lock_old(OFlags::WRONLY)?;
                    self.locks.push(old);
                }
                PosixFile::open(older, OFlags::RDONLY | OFlags::NONBLOCK)?.regular()?
            }
        };
        check_begun(&mut old)?;
        let Some(part) = self.part.clone() else {
            self.status = self.old;
            self.block_bytes = old.block_bytes(self.may_be_on_lustre)?;
            return Ok(old);
        };
        self.clear(&part)?;
        // The copy is made by POSIX, whatever the driver.
        let mut copy = self.create_part(&part, Driver::Posix, |_| Ok(()))?;
        let bytes = old.status()?.size;
        copy::copy(&mut old, &mut copy, bytes)?;
        if older.is_none() {
            self.locks.push(old);
            self.is_copy = true;
        }
        Ok(copy)
    }

    /// Records that the file ends where it did before it was opened to append. A copy need not replace it
    /// unless it gets longer.
    pub fn note_same(&mut self, end: u64) {
        self.same_up_to = Some(end).filter(|_| self.is_copy);
    }

    /// Creates the part file, which must not exist, and locks it through a separate descriptor.
    fn create_part(
        &mut self,
        part: &Path,
        driver: Driver,
        create: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PosixFile> {
        let created = match driver {
            Driver::MpiIo => {
                create(part).and_then(|()| PosixFile::open(part, OFlags::RDWR | OFlags::NOFOLLOW))
            }
            _ => {
                PosixFile::create_new(part, first_flags(self.is_undelegated), self.first_mode(), self.layout)
            }
        };
        let file = created.map_err(|error| match error.kind() {
            ErrorKind::FileExists => taken(),
            _ => error,
        })?;
        self.opened(&file)?;
        if self.lock_file.is_none() {
            self.lock_goal()?;
        }
        Ok(file)
    }

    /// Opens and locks the file that has the name.
    fn lock_old(&mut self, flags: OFlags) -> Result<PosixFile> {
        let mut old = PosixFile::open(&self.path, flags | OFlags::NONBLOCK)?.regular()?;
        self.lock_unless_beside(&mut old)?;
        let status = old.status()?;
        if !is_file(&self.path, status.identity)? {
            // An atomic write that held the lock has replaced it.
            return Err(taken());
        }
        self.old = Some(status);
        Ok(old)
    }

    /// Locks the file that is written, which this rank has open. Returns an error if its name now refers to
    /// another file.
    fn lock(&self, file: &mut PosixFile) -> Result<()> {
        self.lock_unless_beside(file)?;
        match is_file(self.goal(), file.status()?.identity)? {
            true => Ok(()),
            false => Err(taken()),
        }
    }

    /// Locks a file, unless the lock on the file next to it is held, which covers all of them.
    fn lock_unless_beside(&self, file: &mut PosixFile) -> Result<()> {
        if self.lock_file.is_some() { Ok(()) } else { file.lock() }
    }

    /// Removes the part file that a killed job has left. Returns an error if a job is still writing it.
    fn clear(&self, part: &Path) -> Result<()> {
        // The lock is held until the file is removed. Something that cannot be opened is not one of our part
        // files.
        let mut left = PosixFile::open(part, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW);
        if let Ok(left) = &mut left {
            self.lock_unless_beside(left)?;
        }
        file_system::remove_stale(part)
    }

    /// Locks the file that is written through a separate descriptor.
    fn lock_goal(&mut self) -> Result<()> {
        let opened = PosixFile::open(self.goal(), OFlags::WRONLY | OFlags::NONBLOCK);
        let mut file = opened.map_err(|error| match error.kind() {
            ErrorKind::NoSuchFile => taken(),
            _ => error,
        })?;
        self.lock(&mut file)?;
        self.locks.push(file);
        Ok(())
    }

    /// Opens the file on ranks other than 0. As long as a rank has it open under its name with POSIX, nobody
    /// else writes it; a part file is protected by rank 0's lock. It is opened for reading only if needed,
    /// because NFS would then read each page before writing a part of it.
    pub fn open_again(&self, rank: usize, driver: Driver, is_read: bool) -> Result<PosixFile> {
        if !self.is_coherent {
            file_system::look_again(self.goal());
        }
        let mut file = match (is_read, &self.part) {
            (true, _) => PosixFile::open(self.goal(), OFlags::RDWR | OFlags::NONBLOCK)?,
            (false, None) => PosixFile::open(self.goal(), OFlags::WRONLY)?,
            (false, Some(part)) => PosixFile::open(part, OFlags::WRONLY)?,
        };
        let shares = driver != Driver::MpiIo && self.is_coherent && self.part.is_none();
        if shares && file.first_status()?.is_regular {
            file.share_lock(rank)?;
        }
        Ok(file)
    }

    fn is_regular(&self) -> bool {
        self.status.is_some_and(|status| status.is_regular)
    }

    /// The permissions with which a part file is created: nobody who may not open the old file must ever be
    /// able to open this one.
    fn first_mode(&self) -> u32 {
        self.old.map_or(self.mode, |old| old.mode & 0o600 | 0o200)
    }

    /// On rank 0: checks that the file may be written before anything changes, and that nobody else writes
    /// it, if that takes a lock next to the file.
    fn begin(&mut self, driver: Driver) -> Result<()> {
        if !self.is_coherent {
            file_system::look_again(&self.path);
        }
        self.check()?;
        if self.is_coherent || self.old.is_some_and(|old| !old.is_regular) {
            return Ok(());
        }
        match LockFile::take(&self.path) {
            // A program that may write the file but not its folder locks the file, for which MPI-IO would
            // wait.
            Err(error) if error.kind() == ErrorKind::Access && driver != Driver::MpiIo => {}
            taken => self.lock_file = Some(taken?),
        }
        // The previous holder of the lock may have changed what was found.
        self.check()
    }

    /// Checks that the file may be written.
    fn check(&mut self) -> Result<()> {
        let old = file_system::status(&self.path);
        // The folder of a lock file is there.
        if self.lock_file.is_none()
            && !matches!(old, Ok(Some(_)))
            && let Some(error) = file_system::missing_folder(&self.path)
        {
            return Err(error);
        }
        self.old = old?;
        match self.old {
            Some(old)
                if old.is_folder
                    || old.is_stream
                    || old.is_disk
                    || self.part.is_some() && !old.is_regular =>
            {
                return Err(Error::new(ErrorKind::BadFile, "a folder, pipe or device, not a file"));
            }
            Some(_) => {
                file_system::check_writable(&self.path)?;
                if self.part.is_some() {
                    file_system::check_replaceable(&self.path)?;
                }
            }
            None => {}
        }
        self.check_kept()
    }

    /// Checks that the file system allows the names of the files to be kept: the oldest one has the longest
    /// name.
    fn check_kept(&self) -> Result<()> {
        if self.keep == 0 {
            return Ok(());
        }
        let oldest = names::kept_path(&self.path, self.keep);
        let found = file_system::link_status(&oldest);
        found.map(drop).map_err(|error| {
            let name = oldest.file_name().unwrap_or_default();
            Error::new(error.kind(), format!("keep: {}: {error}", quote_path(Path::new(name))))
        })
    }

    /// Closes the file that MPI-IO is to open, so that its contents are sent to a server. What rank 0 has
    /// locked stays open and locked until the end.
    pub fn leave_to_mpi_io(&mut self, file: PosixFile) -> Result<()> {
        if file.is_locked() {
            self.locks.push(file);
            return Ok(());
        }
        Box::new(file).close()
    }

    /// On rank 0, after MPI-IO has opened the file by name: returns an error if the name now refers to
    /// another file.
    pub fn check_name(&self) -> Result<()> {
        match self.is_regular() && self.find()?.is_err() {
            true => Err(taken()),
            false => Ok(()),
        }
    }

    /// Records, on rank 0, that the file is open.
    fn opened(&mut self, file: &PosixFile) -> Result<()> {
        self.has_part = self.part.is_some();
        let status = file.first_status()?;
        (self.status, self.block_bytes) = (Some(status), file.block_bytes(self.may_be_on_lustre)?);
        match (&self.part, self.old) {
            (Some(part), Some(old)) => file_system::adopt(part, status.identity, &old),
            _ => Ok(()),
        }
    }

    /// On rank 0, after all ranks have closed the file: compares its size with what was written, and gives an
    /// atomic write its name. `counts` decides which of the older files count.
    pub fn complete(&mut self, expected: u64, counts: Counts) -> Result<()> {
        self.finish(expected, counts)?;
        self.unlock();
        Ok(())
    }

    fn finish(&mut self, expected: u64, counts: Counts) -> Result<()> {
        if self.status.is_some_and(|status| !status.is_regular) {
            return Ok(());
        }
        let lost = |found: &str| {
            Error::new(ErrorKind::Io, format!("close: found {found}, expected {expected} bytes"))
        };
        let found = match self.find()? {
            Ok(found) => found,
            Err(words) => return Err(lost(words)),
        };
        if found.size != expected {
            return Err(lost(&format!("{} bytes in the file", found.size)).at(found.size.min(expected)));
        }
        if self.same_up_to == Some(expected) && keeps_old(self, expected)? {
            self.remove_part();
            return Ok(());
        }
        if self.part.is_some() {
            self.lock_successor()?;
        }
        match &self.part {
            Some(part) => {
                let series = FileSeries::of(&self.path, self.keep, counts)?;
                rotation::commit(part, &series, found.identity, self.sync_part)
            }
            None if self.sync => self.sync_name(),
            None => Ok(()),
        }
    }

    /// The file with the name under which this one is written; in words, what is wrong if it is not this
    /// file.
    fn find(&self) -> Result<std::result::Result<Status, &'static str>> {
        Ok(match file_system::fresh_status(self.goal())? {
            None => Err("the file removed"),
            Some(found) if self.status.is_some_and(|status| status.identity != found.identity) => {
                Err("another file under its name")
            }
            Some(found) => Ok(found),
        })
    }

    /// If another file than before has the name that the part file is to get, returns an error if somebody
    /// writes that file.
    fn lock_successor(&mut self) -> Result<()> {
        let found = file_system::status(&self.path)?;
        let is_known = found.map(|found| found.identity) == self.old.map(|old| old.identity);
        if !is_known && let Ok(mut file) = PosixFile::open(&self.path, OFlags::WRONLY | OFlags::NONBLOCK) {
            self.lock_unless_beside(&mut file)?;
            self.locks.push(file);
        }
        Ok(())
    }

    /// On rank 0, after a commit: returns an error if the name now refers to another file.
    pub fn commit(&mut self) -> Result<()> {
        if self.is_regular()
            && let Err(words) = self.find()?
        {
            let words = format!("commit: found {words}, expected the one that is being written");
            return Err(Error::new(ErrorKind::FileInUse, words));
        }
        self.sync_name()
    }

    /// Releases the locks, including those that a forked process shares.
    fn unlock(&mut self) {
        for lock in self.locks.drain(..) {
            let _ = Box::new(lock).close();
        }
        self.lock_file = None;
    }

    /// On rank 0: brings the file's name to stable storage, once. This includes the name of an old file,
    /// which its writer may not have brought there. An atomic write does so when it gets its name.
    fn sync_name(&mut self) -> Result<()> {
        if self.part.is_some() || self.is_named {
            return Ok(());
        }
        match file_system::sync_folder(&names::target_path(&self.path)) {
            // A program that may not read the folder of an old file cannot sync it.
            Err(error) if error.kind() == ErrorKind::Access && self.old.is_some() => {}
            synced => synced?,
        }
        self.is_named = true;
        Ok(())
    }

    /// On rank 0, after writing has failed and all ranks have closed the file: removes an incomplete atomic
    /// write, while the old file remains. Any other file is marked as incomplete if `mark` is set.
    pub fn give_up(&mut self, mark: bool) {
        self.discard();
        if mark && self.part.is_none() {
            // The sections in the file are correct even without the mark.
            let _ = self.mark_incomplete();
        }
    }

    /// Makes the file end where no section ends, if it is still the file that was written.
    fn mark_incomplete(&self) -> Result<()> {
        // Without NONBLOCK, a pipe of this name would wait for a reader.
        let mut file = PosixFile::open(&self.path, OFlags::WRONLY | OFlags::NONBLOCK)?;
        let found = file.status()?;
        let is_ours =
            self.status.is_some_and(|status| status.is_regular && status.identity == found.identity);
        if is_ours && found.size % SECTION_BYTES == 0 {
            file.write_at(found.size, &[INCOMPLETE])?;
        }
        Box::new(file).close()
    }

    /// After writing has failed: removes an incomplete atomic write. The old file remains.
    pub fn discard(&mut self) {
        self.remove_part();
        self.unlock();
    }

    fn remove_part(&self) {
        let Some(part) = self.part.as_deref().filter(|_| self.has_part) else { return };
        let found = file_system::link_status(part).ok().flatten();
        // Without a status, the step after its creation failed.
        let is_ours = self.status.is_none_or(|status| found.is_some_and(|s| s.identity == status.identity));
        if is_ours {
            // If it cannot be removed, its name shows what it is.
            let _ = file_system::remove_stale(part);
        }
    }
}

/// Further flags with which the file is opened first.
fn first_flags(is_undelegated: bool) -> OFlags {
    if is_undelegated { posix::UNDELEGATED } else { OFlags::empty() }
}

/// Whether the file that was copied keeps its name: it must still have it, and begin like the copy, in which
/// the HDF5 superblock may have been renewed. Brings it to stable storage, as the copy would be, because its
/// writer may not have done so.
fn keeps_old(target: &Target, size: u64) -> Result<bool> {
    let old = target.old.map(|old| old.identity);
    // A file that can no longer be opened is replaced.
    let Ok(mut file) = PosixFile::open(&target.path, OFlags::RDONLY | OFlags::NONBLOCK) else {
        return Ok(false);
    };
    let found = file.status()?;
    let mut copy = PosixFile::open(target.goal(), OFlags::RDONLY)?;
    let mut headers = [(); 2].map(|()| vec![0; to_usize(size.min(LONG_HEADER_BYTES))]);
    if Some(found.identity) != old || found.size != size {
        return Ok(false);
    }
    file.read_at(0, &mut headers[0])?;
    copy.read_at(0, &mut headers[1])?;
    if headers[0] != headers[1] {
        return Ok(false);
    }
    if target.sync_part {
        file.sync()?;
        file_system::sync_folder(&target.path)?;
    }
    Ok(true)
}

/// Returns an error if the job that created this file was stopped before its whole header was written: there
/// is nothing to append to, and the file may be created anew.
fn check_begun(file: &mut PosixFile) -> Result<()> {
    let size = file.status()?.size;
    // Disks write at least 512 bytes at once, so the part of a long header before its last sector may be
    // missing.
    let may_be_torn = size <= FILE_HEADER_BYTES as u64 || (512..=LONG_HEADER_BYTES).contains(&size);
    if !may_be_torn {
        return Ok(());
    }
    let mut bytes = vec![0; to_usize(size)];
    file.read_at(0, &mut bytes)?;
    let (header, rest) = bytes.split_at(bytes.len().min(FILE_HEADER_BYTES));
    let is_torn = size < FILE_HEADER_BYTES as u64 && begins_as_header(header);
    // In a longer header, the end may have reached the disk before the beginning.
    let is_of_header = [LineBreak::Unix, LineBreak::Mime].into_iter().any(|style| {
        let expected = reserved_section(&scda_hdf5::reserved(), style);
        rest.iter().zip(&expected).all(|(&found, expected)| found == 0 || found == *expected)
    });
    if !is_torn && (header.iter().any(|&byte| byte != 0) || !is_of_header) {
        return Ok(());
    }
    let found = match size < FILE_HEADER_BYTES as u64 {
        true => format!("only {size} of {FILE_HEADER_BYTES} bytes"),
        false => "its beginning is missing".to_owned(),
    };
    let words = format!("file header: {found}: the creation of the file was interrupted; create it anew");
    Err(Error::new(ErrorKind::NoSuchFile, words))
}

/// Whether this name refers to the file with this identity.
fn is_file(path: &Path, identity: Identity) -> Result<bool> {
    Ok(file_system::status(path)?.map(|found| found.identity) == Some(identity))
}

/// The error for a file whose name another program has removed or taken while it was opened.
fn taken() -> Error {
    Error::new(ErrorKind::FileInUse, "open: the file was removed or replaced while it was opened")
}
