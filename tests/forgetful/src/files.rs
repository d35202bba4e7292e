//! The files, as programs see them, and what has happened to them since the power came.

use crate::common::Rng;
use crate::disks::{Event, Loss, Write};
use std::collections::BTreeMap;
use std::ffi::c_int;

/// The inode of the folder.
pub const ROOT: u64 = 1;

/// A file as programs see it.
pub struct File {
    pub bytes: Vec<u8>,
    pub mode: u16,
}

/// All files.
pub struct Files {
    /// By inode: also those that have lost their name.
    files: BTreeMap<u64, File>,
    pub names: BTreeMap<String, u64>,
    events: Vec<Event>,
    next_inode: u64,
    next_handle: u64,
    /// How many calls have changed something, and the one before which the power fails.
    calls: u64,
    fails_at: u64,
    /// The kernel cuts what one call writes into pieces of this number of bytes, up to a page less.
    most_written: usize,
    /// Where the last piece of each descriptor ended, if the call may have more.
    ends: BTreeMap<u64, usize>,
}

impl Files {
    /// Without any, and with power.
    pub fn new(most_written: usize) -> Self {
        Self {
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            events: Vec::new(),
            next_inode: ROOT + 1,
            next_handle: 0,
            calls: 0,
            fails_at: 0,
            most_written,
            ends: BTreeMap::new(),
        }
    }

    /// # Errors
    /// The power has failed.
    pub fn is_on(&self) -> Result<(), c_int> {
        if self.fails_at > 0 && self.calls >= self.fails_at { Err(libc::EIO) } else { Ok(()) }
    }

    /// # Errors
    /// The power has failed, or the file is none of those that are left.
    pub fn file(&self, inode: u64) -> Result<&File, c_int> {
        self.is_on()?;
        self.files.get(&inode).ok_or(libc::EIO)
    }

    /// Before each change.
    fn call(&mut self) -> Result<(), c_int> {
        self.calls += 1;
        self.is_on()
    }

    /// Before each change of a file.
    fn change(&mut self, inode: u64) -> Result<&mut File, c_int> {
        self.call()?;
        self.files.get_mut(&inode).ok_or(libc::EIO)
    }

    fn rename_to(&mut self, name: String, inode: Option<u64>) {
        match inode {
            Some(inode) => drop(self.names.insert(name.clone(), inode)),
            None => drop(self.names.remove(&name)),
        }
        self.events.push(Event::Name(name, inode));
    }

    fn add(&mut self, bytes: Vec<u8>, mode: u16) -> u64 {
        self.next_inode += 1;
        self.files.insert(self.next_inode, File { bytes, mode });
        self.next_inode
    }

    /// The number of another descriptor.
    pub fn opened(&mut self) -> u64 {
        self.next_handle += 1;
        self.next_handle
    }

    pub fn create(&mut self, name: String, mode: u32) -> Result<u64, c_int> {
        self.call()?;
        let inode = self.add(Vec::new(), permissions(mode));
        self.rename_to(name, Some(inode));
        Ok(inode)
    }

    pub fn set_mode(&mut self, inode: u64, mode: u32) -> Result<(), c_int> {
        self.change(inode)?.mode = permissions(mode);
        Ok(())
    }

    pub fn truncate(&mut self, inode: u64, length: usize) -> Result<(), c_int> {
        self.change(inode)?.bytes.resize(length, 0);
        self.events.push(Event::Truncate(inode, length));
        Ok(())
    }

    pub fn write(&mut self, inode: u64, handle: u64, offset: usize, bytes: &[u8]) -> Result<(), c_int> {
        let end = offset.checked_add(bytes.len()).ok_or(libc::EFBIG)?;
        let file = &mut self.change(inode)?.bytes;
        file.resize(file.len().max(end), 0);
        file[offset..end].copy_from_slice(bytes);
        let is_rest = self.ends.remove(&handle) == Some(offset);
        if bytes.len() + 4096 > self.most_written {
            self.ends.insert(handle, end);
        }
        self.events.push(Event::Write(Write {
            file: inode,
            fd: number(handle),
            offset,
            bytes: bytes.to_vec(),
            is_rest,
        }));
        Ok(())
    }

    pub fn sync(&mut self, inode: u64, handle: u64) -> Result<(), c_int> {
        let bytes = self.change(inode)?.bytes.clone();
        self.events.push(Event::Sync(inode, number(handle), bytes));
        Ok(())
    }

    pub fn sync_folder(&mut self) -> Result<(), c_int> {
        self.call()?;
        self.events.push(Event::SyncFolder);
        Ok(())
    }

    pub fn rename(&mut self, from: &str, to: String) -> Result<(), c_int> {
        self.call()?;
        let inode = *self.names.get(from).ok_or(libc::ENOENT)?;
        if self.names.get(&to) != Some(&inode) {
            self.rename_to(to, Some(inode));
            self.rename_to(from.into(), None);
        }
        Ok(())
    }

    pub fn link(&mut self, inode: u64, name: String) -> Result<(), c_int> {
        self.change(inode)?;
        if self.names.contains_key(&name) {
            return Err(libc::EEXIST);
        }
        self.rename_to(name, Some(inode));
        Ok(())
    }

    pub fn unlink(&mut self, name: &str) -> Result<(), c_int> {
        self.call()?;
        self.names.get(name).ok_or(libc::ENOENT)?;
        self.rename_to(name.into(), None);
        Ok(())
    }

    /// The calls since the one that fails was set.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// The power fails before this call from now; 0: never.
    pub fn fail_at(&mut self, call: u64) {
        (self.calls, self.fails_at) = (0, call);
    }

    /// The power fails now, if it has not failed before, and comes back.
    pub fn forget(&mut self, rng: &mut Rng) {
        let events = std::mem::take(&mut self.events);
        let disk = Loss::random(rng).random_disk(&events.iter().collect::<Vec<_>>(), rng);
        self.fail_at(0);
        self.files.clear();
        self.names.clear();
        self.ends.clear();
        for (name, bytes) in disk {
            let inode = self.add(bytes.clone(), 0o666);
            self.events.push(Event::Old(inode, bytes));
            self.rename_to(name, Some(inode));
        }
        self.events.push(Event::SyncFolder);
    }
}

fn permissions(mode: u32) -> u16 {
    u16::try_from(mode & 0o777).unwrap_or(0)
}

/// Descriptors are as many as the kernel has.
fn number(handle: u64) -> c_int {
    c_int::try_from(handle).unwrap_or(c_int::MAX)
}
