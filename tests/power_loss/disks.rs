//! The disks that may be left after some events.

use crate::common::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The files of the folder, by their names.
pub type Disk = BTreeMap<String, Vec<u8>>;

/// A change. Files have numbers, as their names change; so have descriptors.
pub enum Event {
    /// There was a file, with these bytes.
    Old(u64, Vec<u8>),
    Write(Write),
    Truncate(u64, usize),
    /// What was written by this descriptor is on the disk. The bytes of the file are these.
    Sync(u64, i32, Vec<u8>),
    /// The name is that of this file now, or of none.
    Name(String, Option<u64>),
    /// All names are on the disk.
    SyncFolder,
}

#[derive(Clone)]
pub struct Write {
    pub file: u64,
    pub fd: i32,
    pub offset: usize,
    pub bytes: Vec<u8>,
    /// The call before it on this thread should have written them, too.
    pub is_rest: bool,
}

/// What may be lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The bytes of a write that are there or not together.
    pub piece: usize,
    /// A sync covers only what was written by the same descriptor: each rank has a node of its own.
    pub by_descriptor: bool,
    /// Whether files are as long as the program saw them.
    pub keeps_size: bool,
}

impl Loss {
    /// The program is killed: the system goes on.
    pub const OF_KILL: Self = Self { piece: usize::MAX, by_descriptor: false, keeps_size: true };

    pub fn random(rng: &mut Rng) -> Self {
        let piece = [usize::MAX, 4096, 512][rng.below(3) as usize];
        Self { piece, by_descriptor: rng.below(3) == 0, keeps_size: rng.below(3) == 0 }
    }

    /// For each event, whether it is on the disk for certain.
    fn covered(&self, events: &[&Event]) -> Vec<bool> {
        let (mut files, mut descriptors) = (BTreeSet::new(), BTreeSet::new());
        let mut covered: Vec<bool> = events
            .iter()
            .rev()
            .map(|event| match event {
                Event::Sync(file, fd, _) => {
                    files.insert(*file);
                    descriptors.insert((*file, *fd));
                    true
                }
                Event::Write(write) if self.by_descriptor => descriptors.contains(&(write.file, write.fd)),
                Event::Write(Write { file, .. }) | Event::Truncate(file, _) => files.contains(file),
                Event::Old(..) | Event::Name(..) | Event::SyncFolder => true,
            })
            .collect();
        covered.reverse();
        covered
    }

    fn pieces(&self, write: &Write) -> impl Iterator<Item = Range<usize>> + use<> {
        self.pieces_of(write.offset..write.offset + write.bytes.len())
    }

    /// What is zero in the page where a file is cut.
    fn page_after(&self, length: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        self.pieces_of(length..length.next_multiple_of(4096))
    }

    fn pieces_of(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let (mut at, end, piece) = (range.start, range.end, self.piece);
        std::iter::from_fn(move || {
            let next = (at / piece).saturating_add(1).saturating_mul(piece).min(end);
            let range = at..next;
            at = next;
            (!range.is_empty()).then_some(range)
        })
    }

    /// The number of changes that may be lost, and of names.
    fn changes(&self, events: &[&Event]) -> (usize, usize) {
        let (mut changes, mut names) = (0, 0);
        for (event, covered) in events.iter().zip(self.covered(events)) {
            match event {
                Event::Name(..) => names += 1,
                Event::SyncFolder => names = 0,
                Event::Write(write) if !covered => changes += self.pieces(write).count(),
                Event::Truncate(_, length) if !covered => changes += 1 + self.page_after(*length).count(),
                _ => {}
            }
        }
        (changes, names)
    }

    /// The disk that keeps of the changes those for which `keeps` says so, and the first `names` names that no sync covers.
    pub fn disk(&self, events: &[&Event], names: usize, mut keeps: impl FnMut() -> bool) -> Disk {
        let mut files: BTreeMap<u64, [Vec<u8>; 2]> = BTreeMap::new(); // as on the disk, and as the program sees them
        let (mut known, mut pending) = (BTreeMap::new(), Vec::new());
        // Whether the last piece of a descriptor is on the disk.
        let mut fates = BTreeMap::new();
        for (event, covered) in events.iter().zip(self.covered(events)) {
            match event {
                Event::Name(name, file) => pending.push((name, *file)),
                Event::SyncFolder => known.extend(pending.drain(..)),
                Event::Old(file, bytes) => drop(files.insert(*file, [bytes.clone(), bytes.clone()])),
                Event::Sync(file, _, bytes) => {
                    let [_, seen] = files.entry(*file).or_default();
                    assert!(seen == bytes, "a change was not recorded");
                }
                Event::Truncate(file, length) => {
                    let [stored, seen] = files.entry(*file).or_default();
                    seen.resize(*length, 0);
                    // The page of the cut, with zeros after it, may be there before the new length.
                    for zeros in self.page_after(*length) {
                        if (covered || keeps()) && zeros.start < stored.len() {
                            let end = zeros.end.min(stored.len());
                            stored[zeros.start..end].fill(0);
                        }
                    }
                    if covered || keeps() {
                        stored.resize(*length, 0);
                    }
                }
                Event::Write(write) => {
                    let [stored, seen] = files.entry(write.file).or_default();
                    put(seen, write.offset, &write.bytes);
                    for piece in self.pieces(write) {
                        // A sector has the bytes of both calls, or of none.
                        let shared = write.is_rest && !piece.start.is_multiple_of(512);
                        let fate = fates.get(&write.fd).copied().filter(|_| shared);
                        let is_kept = covered || fate.unwrap_or_else(&mut keeps);
                        fates.insert(write.fd, is_kept);
                        if is_kept {
                            let own = piece.start - write.offset..piece.end - write.offset;
                            put(stored, piece.start, &write.bytes[own]);
                        }
                    }
                }
            }
        }
        known.extend(pending.into_iter().take(names));
        let files = known.into_iter().filter_map(|(name, file)| {
            let [mut stored, seen] = files.get(&file?).cloned().unwrap_or_default();
            if self.keeps_size {
                stored.resize(seen.len(), 0);
            }
            Some((name.clone(), stored))
        });
        files.collect()
    }

    /// Any disk.
    pub fn random_disk(&self, events: &[&Event], rng: &mut Rng) -> Disk {
        let kept = [0, 1, 5, 9, 10][rng.below(5) as usize];
        let names = rng.below(self.changes(events).1 as u64 + 1) as usize;
        self.disk(events, names, || rng.below(10) < kept)
    }

    /// Calls with every disk, unless more than `most` changes may be lost. Tells whether it did.
    pub fn all_disks(&self, events: &[&Event], most: usize, mut call: impl FnMut(Disk)) -> bool {
        let (changes, names) = self.changes(events);
        if changes > most {
            return false;
        }
        for names in 0..=names {
            for set in 0..1_u64 << changes {
                let mut left = set;
                call(self.disk(events, names, || {
                    let kept = left & 1 == 1;
                    left >>= 1;
                    kept
                }));
            }
        }
        true
    }
}

fn put(file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[offset..end].copy_from_slice(bytes);
}
