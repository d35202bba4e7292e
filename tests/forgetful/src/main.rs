//! `scda-forgetful FOLDER COMMAND...`: runs a command while FOLDER is a file system in memory that forgets what was not synced.
//!
//! It has one folder, whose extended attributes are its switches:
//!
//! - `user.fails_at` = n: the n-th call from now that changes or syncs something, and all that follow, are errors, as if the power
//!   had failed before it. 0: none is.
//! - `user.calls`: how many such calls there were since then.
//! - `user.forget` = seed: the power comes back. The files are those of one of the disks that may be left (`disks.rs`, which the tests
//!   of the library use, too); descriptors from before are dead.
#![cfg(target_os = "linux")]

#[path = "../../tests/common/rng.rs"]
#[allow(dead_code)]
mod common;
#[path = "../../tests/power_loss/disks.rs"]
#[allow(dead_code)]
mod disks;
mod files;

use common::Rng;
use files::{Files, ROOT};
use fuser::{
    FileAttr, FileType, Filesystem, KernelConfig, MountOption, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request,
    TimeOrNow, consts::FOPEN_DIRECT_IO,
};
use std::ffi::{OsStr, c_int};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The kernel keeps nothing.
const KEPT: Duration = Duration::ZERO;
/// The most bytes of one write, as the kernel cuts them.
const MOST_WRITTEN: u32 = 1 << 17;

struct Forgetful(Files);

impl Forgetful {
    fn attributes(&self, inode: u64) -> Result<FileAttr, c_int> {
        let (kind, size, mode) = match inode {
            ROOT => (FileType::Directory, 0, 0o777),
            _ => {
                self.0.file(inode).map(|file| (FileType::RegularFile, file.bytes.len() as u64, file.mode))?
            }
        };
        let names = self.0.names.values().filter(|named| **named == inode).count();
        Ok(FileAttr {
            ino: inode,
            size,
            blocks: size.div_ceil(512),
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm: mode,
            nlink: u32::try_from(names).unwrap_or(u32::MAX).max(u32::from(inode == ROOT)),
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    fn named(&self, name: &OsStr) -> Result<FileAttr, c_int> {
        self.0.is_on()?;
        self.attributes(*self.0.names.get(&text(name)).ok_or(libc::ENOENT)?)
    }
}

fn text(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

fn index(offset: i64) -> Result<usize, c_int> {
    usize::try_from(offset).map_err(|_| libc::EINVAL)
}

/// Answers by what there is, or by the error.
macro_rules! answer {
    ($reply:ident, $result:expr, $done:expr) => {
        match $result {
            Ok(value) => $done(value),
            Err(errno) => $reply.error(errno),
        }
    };
}

impl Filesystem for Forgetful {
    fn init(&mut self, _: &Request<'_>, config: &mut KernelConfig) -> Result<(), c_int> {
        config.set_max_write(MOST_WRITTEN).map(drop).map_err(|_| libc::EINVAL)
    }

    fn lookup(&mut self, _: &Request<'_>, _: u64, name: &OsStr, reply: ReplyEntry) {
        answer!(reply, self.named(name), |found| reply.entry(&KEPT, &found, 0));
    }

    fn getattr(&mut self, _: &Request<'_>, inode: u64, _: Option<u64>, reply: ReplyAttr) {
        answer!(reply, self.attributes(inode), |found| reply.attr(&KEPT, &found));
    }

    fn setattr(
        &mut self,
        _: &Request<'_>,
        inode: u64,
        mode: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<u64>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<u32>,
        reply: ReplyAttr,
    ) {
        let size = size.map(|size| usize::try_from(size).map_err(|_| libc::EFBIG)).transpose();
        let result = size.and_then(|size| {
            size.map_or(Ok(()), |size| self.0.truncate(inode, size))?;
            mode.map_or(Ok(()), |mode| self.0.set_mode(inode, mode))?;
            self.attributes(inode)
        });
        answer!(reply, result, |found| reply.attr(&KEPT, &found));
    }

    fn create(
        &mut self,
        _: &Request<'_>,
        _: u64,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let result = self.0.create(text(name), mode & !umask).and_then(|inode| self.attributes(inode));
        answer!(reply, result, |found| reply.created(&KEPT, &found, 0, self.0.opened(), FOPEN_DIRECT_IO));
    }

    fn open(&mut self, _: &Request<'_>, inode: u64, _: i32, reply: ReplyOpen) {
        let result = self.0.file(inode).map(drop);
        answer!(reply, result, |()| reply.opened(self.0.opened(), FOPEN_DIRECT_IO));
    }

    fn read(
        &mut self,
        _: &Request<'_>,
        inode: u64,
        _: u64,
        offset: i64,
        count: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyData,
    ) {
        let found = index(offset).and_then(|begin| {
            let bytes = &self.0.file(inode)?.bytes;
            let end = begin.saturating_add(count as usize).min(bytes.len());
            Ok(bytes.get(begin..end).unwrap_or_default())
        });
        answer!(reply, found, |bytes| reply.data(bytes));
    }

    fn write(
        &mut self,
        _: &Request<'_>,
        inode: u64,
        handle: u64,
        offset: i64,
        bytes: &[u8],
        _: u32,
        flags: i32,
        _: Option<u64>,
        reply: ReplyWrite,
    ) {
        let result = index(offset).and_then(|offset| {
            self.0.write(inode, handle, offset, bytes)?;
            if flags & (libc::O_SYNC | libc::O_DSYNC) == 0 { Ok(()) } else { self.0.sync(inode, handle) }
        });
        answer!(reply, result, |()| reply.written(u32::try_from(bytes.len()).unwrap_or(MOST_WRITTEN)));
    }

    fn flush(&mut self, _: &Request<'_>, _: u64, _: u64, _: u64, reply: ReplyEmpty) {
        answer!(reply, self.0.is_on(), |()| reply.ok());
    }

    fn fsync(&mut self, _: &Request<'_>, inode: u64, handle: u64, _: bool, reply: ReplyEmpty) {
        answer!(reply, self.0.sync(inode, handle), |()| reply.ok());
    }

    fn fsyncdir(&mut self, _: &Request<'_>, _: u64, _: u64, _: bool, reply: ReplyEmpty) {
        answer!(reply, self.0.sync_folder(), |()| reply.ok());
    }

    fn rename(
        &mut self,
        _: &Request<'_>,
        _: u64,
        from: &OsStr,
        _: u64,
        to: &OsStr,
        flags: u32,
        reply: ReplyEmpty,
    ) {
        let result = if flags == 0 { self.0.rename(&text(from), text(to)) } else { Err(libc::EINVAL) };
        answer!(reply, result, |()| reply.ok());
    }

    fn link(&mut self, _: &Request<'_>, inode: u64, _: u64, name: &OsStr, reply: ReplyEntry) {
        let result = self.0.link(inode, text(name)).and_then(|()| self.attributes(inode));
        answer!(reply, result, |found| reply.entry(&KEPT, &found, 0));
    }

    fn unlink(&mut self, _: &Request<'_>, _: u64, name: &OsStr, reply: ReplyEmpty) {
        answer!(reply, self.0.unlink(&text(name)), |()| reply.ok());
    }

    fn readdir(&mut self, _: &Request<'_>, _: u64, _: u64, offset: i64, mut reply: ReplyDirectory) {
        let all = self.0.names.iter().map(|(name, inode)| (*inode, FileType::RegularFile, name.as_str()));
        let own = [(ROOT, FileType::Directory, "."), (ROOT, FileType::Directory, "..")];
        for (place, (inode, kind, name)) in (1..).zip(own.into_iter().chain(all)) {
            if place > offset && reply.add(inode, place, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&mut self, _: &Request<'_>, _: u64, reply: ReplyStatfs) {
        reply.statfs(1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 4096, 255, 4096);
    }

    fn setxattr(
        &mut self,
        _: &Request<'_>,
        _: u64,
        name: &OsStr,
        value: &[u8],
        _: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        let number = str::from_utf8(value).ok().and_then(|text| text.parse().ok());
        match (name.to_str(), number) {
            (Some("user.fails_at"), Some(call)) => self.0.fail_at(call),
            (Some("user.forget"), Some(seed)) => self.0.forget(&mut Rng(seed)),
            _ => return reply.error(libc::EINVAL),
        }
        reply.ok();
    }

    fn getxattr(&mut self, _: &Request<'_>, _: u64, name: &OsStr, size: u32, reply: ReplyXattr) {
        let value = self.0.calls().to_string();
        match (name.to_str(), u32::try_from(value.len()).unwrap_or(u32::MAX)) {
            (Some("user.calls"), length) if size == 0 => reply.size(length),
            (Some("user.calls"), length) if length <= size => reply.data(value.as_bytes()),
            (Some("user.calls"), _) => reply.error(libc::ERANGE),
            _ => reply.error(libc::ENODATA),
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [folder, program, arguments @ ..] = &arguments[..] else {
        eprintln!("usage: scda-forgetful FOLDER COMMAND...");
        return ExitCode::from(2);
    };
    let options = [MountOption::FSName("scda-forgetful".into()), MountOption::DefaultPermissions];
    let files = Forgetful(Files::new(MOST_WRITTEN as usize));
    let status = fuser::spawn_mount2(files, folder, &options)
        .map_err(|error| format!("{}: cannot be mounted: {error}", folder.display()))
        .and_then(|mounted| {
            let status = Command::new(program).args(arguments).status();
            mounted.join();
            status.map_err(|error| format!("{}: {error}", program.display()))
        });
    match status {
        Ok(status) => ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)),
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}
