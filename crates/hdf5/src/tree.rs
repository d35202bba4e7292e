//! B-trees of version 2, to which records are appended.

use crate::UNDEFINED;
use crate::buffer::ViewBuffer;
use crate::bytes::{Bytes, width_of};
use crate::message::{SPLIT_AND_MERGE, sealed};
use crate::previous_view::{PreviousView, number, wrong};
use scda_base::error::{Error, Result};
use scda_base::memory::{copy, reserve};
use scda_base::numbers::to_usize;

/// A child of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its address.
    pub address: u64,
    /// The number of records in it alone.
    pub records: u64,
    /// The number of records in it and below it.
    pub all: u64,
}

/// A level of the path from the root to the last leaf, to which records are appended.
#[derive(Clone, Debug, Default)]
struct Level {
    records: Vec<u8>,
    count: u64,
    children: Vec<Child>,
}

/// A B-tree to which records are appended in order. A node is written once it is full, or at the end.
pub struct Tree {
    /// HDF5's type of the tree.
    client: u8,
    record_bytes: usize,
    /// The leaf comes first.
    path: Vec<Level>,
    total: u64,
    node_bytes: u32,
    capacities: Vec<Capacity>,
}

/// The size of a node, unless records are long.
pub const SMALL_NODE_BYTES: u32 = 256;
const LARGE_NODE_BYTES: u32 = 2048;
/// The longest records in small nodes.
const SMALL_RECORD_BYTES: usize = 64;
/// Each node has at least three children, so no file has chunks for more levels.
const MAX_LEVELS: usize = 40;

/// The size of a node in a tree with records of this size.
pub fn node_bytes(record_bytes: usize) -> u32 {
    if record_bytes <= SMALL_RECORD_BYTES { SMALL_NODE_BYTES } else { LARGE_NODE_BYTES }
}

/// The size of the header of a tree.
const HEAD_BYTES: u64 = 38;
/// The size of signature, version, type and checksum of a node.
const NODE_BYTES: u64 = 10;
/// How many records fit a node of each level, and the sizes of the counts, as HDF5 computes them.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    most: u64,
    /// The size of the number of records in a child.
    count_width: usize,
    /// The size of the number of records in and below a child.
    all_width: usize,
}

/// The capacities of the levels, from the leaf up.
pub fn capacities(record_bytes: u64, node_bytes: u64, levels: usize) -> Vec<Capacity> {
    let leaf = (node_bytes - NODE_BYTES) / record_bytes;
    let count_width = width_of(leaf);
    let mut found = vec![Capacity { most: leaf, count_width, all_width: 0 }];
    let (mut all, mut all_width) = (leaf, 0);
    for _ in 1..levels {
        let pointer = 8 + (count_width + all_width) as u64;
        let most = (node_bytes - NODE_BYTES).saturating_sub(pointer) / (record_bytes + pointer);
        found.push(Capacity { most, count_width, all_width });
        all = (most + 1).saturating_mul(all).saturating_add(most);
        all_width = width_of(all);
    }
    found
}

fn unknown(at: u64) -> Error {
    wrong(at, "found a B-tree that libscda would not write")
}

/// The header of a tree in a view.
struct Head {
    depth: usize,
    root: u64,
    /// The number of records in the root alone.
    records: u64,
    total: u64,
}

impl Head {
    fn read(old: &mut PreviousView<'_>, address: u64, client: u8, record_bytes: usize) -> Result<Self> {
        let head = old.checked(address, HEAD_BYTES)?;
        let expected = [client.into(), node_bytes(record_bytes).into(), record_bytes as u64];
        let depth = to_usize(number(&head[12..14]));
        if !head.starts_with(b"BTHD\0")
            || [number(&head[5..6]), number(&head[6..10]), number(&head[10..12])] != expected
            || depth >= MAX_LEVELS
        {
            return Err(unknown(address));
        }
        let (root, records) = (number(&head[16..24]), number(&head[24..26]));
        Ok(Self { depth, root, records, total: number(&head[26..34]) })
    }
}

/// A node of a tree in a view.
struct Node {
    records: Vec<u8>,
    children: Vec<Child>,
}

impl Node {
    fn read(
        old: &mut PreviousView<'_>,
        at: u64,
        count: u64,
        level: usize,
        Capacity { most, count_width, all_width }: Capacity,
        client: u8,
        record_bytes: usize,
    ) -> Result<Self> {
        if count == 0 || count > most {
            return Err(unknown(at));
        }
        let records = to_usize(count) * record_bytes;
        let pointer = 8 + count_width + if level > 1 { all_width } else { 0 };
        let of_children = if level == 0 { 0 } else { (to_usize(count) + 1) * pointer };
        let node = old.checked(at, NODE_BYTES + (records + of_children) as u64)?;
        let signature: &[u8] = if level == 0 { b"BTLF\0" } else { b"BTIN\0" };
        if !node.starts_with(signature) || node[5] != client {
            return Err(unknown(at));
        }
        let mut children = Vec::new();
        reserve(&mut children, of_children / pointer)?;
        children.extend(node[6 + records..].chunks_exact(pointer).map(|child| {
            let records = number(&child[8..8 + count_width]);
            let all = if level > 1 { number(&child[8 + count_width..]) } else { records };
            Child { address: number(&child[..8]), records, all }
        }));
        Ok(Self { records: copy(&node[6..6 + records])?, children })
    }
}

/// Calls `each` with the place of each node and each record in it, in any order; returns the number of
/// records. `is_new` tells whether a node has not been met before.
pub fn each_record(
    old: &mut PreviousView<'_>,
    (address, client, record_bytes): (u64, u8, usize),
    is_new: &mut dyn FnMut(u64) -> Result<bool>,
    each: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
) -> Result<u64> {
    let head = Head::read(old, address, client, record_bytes)?;
    let capacities = capacities(record_bytes as u64, node_bytes(record_bytes).into(), head.depth + 1);
    let root = Child { address: head.root, records: head.records, all: head.total };
    let mut left = vec![(root, head.depth)];
    while let Some((Child { address: at, records: count, all }, level)) = left.pop() {
        if !is_new(at)? {
            return Err(wrong(at, "found a node of a B-tree twice"));
        }
        let node = Node::read(old, at, count, level, capacities[level], client, record_bytes)?;
        node.records.chunks_exact(record_bytes).try_for_each(|record| each(at, record))?;
        let below = node.children.iter().fold(count, |all, child| all.saturating_add(child.all));
        if below != all {
            return Err(wrong(at, "found a wrong number of records in a B-tree"));
        }
        reserve(&mut left, node.children.len())?;
        left.extend(node.children.into_iter().map(|child| (child, level - 1)));
    }
    Ok(head.total)
}

impl Tree {
    /// A tree without records.
    pub fn new(client: u8, record_bytes: usize) -> Self {
        let node_bytes = node_bytes(record_bytes);
        let capacities = capacities(record_bytes as u64, node_bytes.into(), MAX_LEVELS);
        Self { client, record_bytes, path: vec![Level::default()], total: 0, node_bytes, capacities }
    }

    /// Appends a record, which follows all others in the order of the tree.
    pub fn push(&mut self, out: &mut ViewBuffer, record: &[u8]) -> Result<()> {
        self.total = self.total.saturating_add(1);
        self.insert(out, 0, record)
    }

    /// The tree of this many records at an address, in its state before it was finished: its last nodes, to
    /// which records are appended.
    pub fn load(mut self, old: &mut PreviousView<'_>, address: u64, total: u64) -> Result<Self> {
        let head = Head::read(old, address, self.client, self.record_bytes)?;
        if head.total != total {
            return Err(unknown(address));
        }
        let depth = head.depth;
        self.total = total;
        self.path = (0..=depth).map(|_| Level::default()).collect();
        let (mut at, mut count) = (head.root, head.records);
        for level in (0..=depth).rev() {
            let node =
                Node::read(old, at, count, level, self.capacity(level)?, self.client, self.record_bytes)?;
            let path = &mut self.path[level];
            path.count = count;
            path.records = node.records;
            path.children = node.children;
            // The last child is the next one on the path.
            if let Some(last) = path.children.pop() {
                (at, count) = (last.address, last.records);
            }
        }
        Ok(self)
    }

    /// Adds a record at the end of a level. If the node is full, it is written, and its last record moves up
    /// between it and a new node, which begins with the child that was the last.
    fn insert(&mut self, out: &mut ViewBuffer, at: usize, record: &[u8]) -> Result<()> {
        let size = record.len();
        if self.path[at].count == self.capacity(at)?.most {
            let level = &mut self.path[at];
            let up = level.records.split_off(level.records.len() - size);
            level.count -= 1;
            let last = level.children.pop();
            let full = std::mem::take(level);
            self.path[at].children.extend(last);
            let written = self.write(out, at, &full)?;
            self.attach(at + 1, written);
            self.insert(out, at + 1, &up)?;
        }
        let level = &mut self.path[at];
        reserve(&mut level.records, size)?;
        level.records.extend_from_slice(record);
        level.count += 1;
        Ok(())
    }

    fn capacity(&self, level: usize) -> Result<Capacity> {
        self.capacities.get(level).copied().ok_or_else(|| Error::range("HDF5: too many chunks"))
    }

    fn attach(&mut self, at: usize, child: Child) {
        if self.path.len() == at {
            self.path.push(Level::default());
        }
        self.path[at].children.push(child);
    }

    /// Writes a node. The bytes of a node after its checksum have no meaning, so they are left out of small
    /// nodes: HDF5 reads what follows, at least the index and the seal of the file.
    fn write(&self, out: &mut ViewBuffer, at: usize, level: &Level) -> Result<Child> {
        let mut node = Bytes::new();
        node.put(if at == 0 { b"BTLF\0" } else { b"BTIN\0" })?;
        node.put(&[self.client])?;
        node.put(&level.records)?;
        let Capacity { count_width, all_width, .. } = self.capacity(at)?;
        let mut all = level.count;
        for child in &level.children {
            node.long(child.address)?;
            node.number(child.records, count_width)?;
            if at > 1 {
                node.number(child.all, all_width)?;
            }
            all = all.saturating_add(child.all);
        }
        let mut node = sealed(node)?;
        if self.node_bytes > SMALL_NODE_BYTES {
            node.zeros(to_usize(self.node_bytes.into()).saturating_sub(node.len()))?;
        }
        let address = out.put(node.as_slice())?;
        Ok(Child { address, records: level.count, all })
    }

    /// Writes the remaining nodes; returns the address of the tree, or [`UNDEFINED`] without records.
    pub fn finish(mut self, out: &mut ViewBuffer) -> Result<u64> {
        if self.total == 0 {
            return Ok(UNDEFINED);
        }
        let mut last = None;
        for at in 0..self.path.len() {
            let mut level = std::mem::take(&mut self.path[at]);
            level.children.extend(last);
            last = Some(self.write(out, at, &level)?);
        }
        let root = last.unwrap_or(Child { address: UNDEFINED, records: 0, all: 0 });
        let mut head = Bytes::new();
        head.put(b"BTHD\0")?;
        head.put(&[self.client])?;
        head.number(self.node_bytes.into(), 4)?;
        head.number(self.record_bytes as u64, 2)?;
        head.number(self.path.len() as u64 - 1, 2)?;
        head.put(&SPLIT_AND_MERGE)?;
        head.long(root.address)?;
        head.number(root.records, 2)?;
        head.long(self.total)?;
        out.put(sealed(head)?.as_slice())
    }
}
