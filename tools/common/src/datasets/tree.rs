//! The digest of the items of a dataset: a tree, so that any number of items of one value takes no time.

use sha2::{Digest, Sha256};

type Hash = [u8; 32];

/// The bytes of a leaf, unless it is one longer item.
const LEAF_BYTES: usize = 1 << 20;
/// The items of a leaf if they have variable length.
const LEAF_ITEMS: u64 = 1 << 12;

/// The tree of RFC 9162 ("Merkle Tree Hash", section 2.1.1) of items that come one after the other. Its leaves are as many items as fit into
/// 1 MiB, at least one; of items of variable length 4096.
pub struct Tree {
    /// The items of a leaf.
    leaf_items: u64,
    /// The leaf that is not complete, and the items that it has.
    leaf: Sha256,
    items: u64,
    /// How many leaves are complete.
    leaves: u64,
    /// Of these: a tree of 2^n leaves for each bit of their number, the largest first.
    trees: Vec<Hash>,
    /// The item that was repeated last, and the trees of 1, 2, 4, ... leaves of nothing else.
    repeated: (Vec<u8>, Vec<Hash>),
}

fn leaf() -> Sha256 {
    Sha256::new_with_prefix([0])
}

fn node(left: &Hash, right: &Hash) -> Hash {
    Sha256::new_with_prefix([1]).chain_update(left).chain_update(right).finalize().into()
}

impl Tree {
    /// Of items of this number of bytes; `None`: of variable length.
    pub fn new(item_bytes: Option<usize>) -> Self {
        let fitting = |bytes: usize| (LEAF_BYTES / bytes.max(1)).max(1) as u64;
        Self::with_leaves(item_bytes.map_or(LEAF_ITEMS, fitting))
    }

    fn with_leaves(leaf_items: u64) -> Self {
        let (trees, repeated) = Default::default();
        Self { leaf_items, leaf: leaf(), items: 0, leaves: 0, trees, repeated }
    }

    /// Adds items that have `item_bytes` bytes each.
    pub fn put(&mut self, mut bytes: &[u8], item_bytes: usize) {
        while !bytes.is_empty() {
            let items = (bytes.len() / item_bytes.max(1)).max(1);
            // What does not fit goes to the next leaf.
            let items = usize::try_from(self.leaf_items - self.items).map_or(items, |room| room.min(items));
            let (now, rest) = bytes.split_at(bytes.len().min(items * item_bytes.max(1)));
            self.leaf.update(now);
            self.end_items(items as u64);
            bytes = rest;
        }
    }

    fn end_items(&mut self, items: u64) {
        self.items += items;
        if self.items == self.leaf_items {
            self.items = 0;
            let hash = std::mem::replace(&mut self.leaf, leaf()).finalize().into();
            self.add(0, hash);
        }
    }

    /// Adds the tree of 2^`level` leaves, of which there is a multiple.
    fn add(&mut self, level: u32, mut hash: Hash) {
        let mut bits = self.leaves >> level;
        while bits & 1 == 1
            && let Some(left) = self.trees.pop()
        {
            hash = node(&left, &hash);
            bits >>= 1;
        }
        self.trees.push(hash);
        self.leaves += 1 << level;
    }

    /// Adds an item again and again: the number of steps is about that of the items of two leaves.
    pub fn repeat(&mut self, item: &[u8], mut count: u64) {
        let to_boundary = ((self.leaf_items - self.items) % self.leaf_items).min(count);
        (0..to_boundary).for_each(|_| self.put(item, item.len()));
        count -= to_boundary;
        while count >= self.leaf_items {
            let level = self.leaves.trailing_zeros().min((count / self.leaf_items).ilog2());
            let hash = self.of_repeated(item, level);
            self.add(level, hash);
            count -= self.leaf_items << level;
        }
        (0..count).for_each(|_| self.put(item, item.len()));
    }

    /// The tree of 2^`level` leaves that have nothing but this item.
    fn of_repeated(&mut self, item: &[u8], level: u32) -> Hash {
        let (before, trees) = &mut self.repeated;
        if before != item || trees.is_empty() {
            let mut one = leaf();
            (0..self.leaf_items).for_each(|_| one.update(item));
            (*before, *trees) = (item.to_vec(), vec![one.finalize().into()]);
        }
        let mut last = trees[trees.len() - 1];
        while trees.len() <= level as usize {
            last = node(&last, &last);
            trees.push(last);
        }
        trees[level as usize]
    }

    /// The digest of all items.
    pub fn finish(mut self) -> Hash {
        if self.items > 0 {
            let hash = self.leaf.finalize_reset().into();
            self.add(0, hash);
        }
        let last = self.trees.pop();
        let all = last.map(|last| self.trees.iter().rev().fold(last, |right, left| node(left, &right)));
        all.unwrap_or_else(|| Sha256::digest([]).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As RFC 9162 defines it.
    fn naive(leaves: &[Vec<u8>]) -> Hash {
        match leaves {
            [] => Sha256::digest([]).into(),
            [one] => leaf().chain_update(one).finalize().into(),
            _ => {
                let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
                node(&naive(left), &naive(right))
            }
        }
    }

    #[test]
    fn trees_are_those_of_the_rfc() {
        for item_bytes in [1, 3] {
            for leaf_items in [1_usize, 2, 5] {
                for before in 0..12 {
                    for count in [0, 1, 2, 7, 40, 163] {
                        for after in [0, 1, 9] {
                            let items = |seed: u8, n: usize| -> Vec<u8> {
                                (0..n * item_bytes).map(|i| (i * 37 % 251).to_le_bytes()[0] ^ seed).collect()
                            };
                            let (a, item, b) = (items(1, before), items(2, 1), items(3, after));
                            let mut tree = Tree::with_leaves(leaf_items as u64);
                            tree.put(&a, item_bytes);
                            tree.repeat(&item, count as u64);
                            tree.put(&b, item_bytes);
                            let all = [a, item.repeat(count), b].concat();
                            let leaves: Vec<_> =
                                all.chunks(leaf_items * item_bytes).map(<[u8]>::to_vec).collect();
                            assert!(
                                tree.finish() == naive(&leaves),
                                "{item_bytes} {leaf_items} {before} {count} {after}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn very_many_items_take_no_time() {
        let mut tree = Tree::new(Some(1));
        tree.put(b"abc", 1);
        tree.repeat(b"x", u64::MAX >> 1);
        let mut same = Tree::new(Some(1));
        same.put(b"abcx", 1);
        same.repeat(b"x", (u64::MAX >> 1) - 1);
        assert!(tree.finish() == same.finish());
    }
}
