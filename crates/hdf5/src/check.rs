//! Checks a whole view: the checksums of all its objects, and that everything they refer to exists.

use crate::checksum::checksum;
use crate::chunks::{Entry, FILTERED_TREE, FIXED_ARRAY_HEAD_BYTES, PLAIN_TREE};
use crate::dense;
use crate::message::{MAX_RANK, PAGE_BITS, kind};
use crate::outline;
use crate::parts::Previous;
use crate::plan::NOT_SHOWN;
use crate::previous_view::{Message, PreviousView, continued, number, wrong};
use crate::tree;
use crate::{BASE, UNDEFINED};
use scda_base::error::{Error, Result};
use scda_base::numbers::{product, sum, to_usize};
use std::collections::{HashMap, HashSet};

/// The counts of what a view contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewCounts {
    /// The groups, including the root.
    pub groups: u64,
    /// The datasets, including those that scda does not have.
    pub datasets: u64,
    /// The chunks and contiguous data to which they refer.
    pub places: u64,
}

/// Checks the view whose root group is at the offset in `view`. `end` is the end of its seal. `is_data` tells
/// whether bytes at an offset are data of one section.
///
/// # Errors
/// `Format` with the offset of the defect; `Memory`; the errors of the reading function.
pub fn check<'a>(
    view: Previous<'a>,
    end: u64,
    is_data: &'a mut dyn FnMut(u64, u64) -> bool,
) -> Result<ViewCounts> {
    let mut checker = Checker::new(view, end, is_data)?;
    let root = checker.old.root;
    let mut left = vec![root];
    checker.objects.insert(root);
    while let Some(address) = left.pop() {
        for inner in checker.object(address)? {
            if note(&mut checker.objects, inner)? {
                left.try_reserve(1).map_err(|_| Error::memory(8))?;
                left.push(inner);
            }
        }
    }
    for (address, bytes) in outline::places(&mut checker.old)?.into_iter().flatten() {
        checker.old.bytes(address, bytes)?;
    }
    let missing = checker.references.iter().find(|(to, _)| !checker.objects.contains(to));
    match missing {
        Some((to, from)) => Err(wrong(
            *from,
            &format!("a reference leads to byte {}, where no object is", to.saturating_add(BASE)),
        )),
        None => Ok(checker.found),
    }
}

/// What the view does not show: a line for each dataset, with its name and the reason. The root group is at
/// the offset in `view`; `end` is the end of its seal.
///
/// # Errors
/// The errors of [`check`].
pub fn not_shown(view: Previous<'_>, end: u64) -> Result<Vec<String>> {
    let mut is_data = |_, _| true;
    let view = Previous { root: view.root, read: &mut *view.read };
    let mut checker = Checker::new(view, end, &mut is_data)?;
    let root = checker.old.root;
    for message in checker.messages(root)?.iter().filter(|message| message.kind == kind::ATTRIBUTE) {
        let Some(Attribute { name, items, .. }) = Attribute::new(&message.data) else { continue };
        if name.strip_suffix(b"\0") == Some(NOT_SHOWN.as_bytes())
            && let [_, _, _, _, object @ ..] = items
            && object.len() == 12
        {
            let text = checker.heap_object(number(&object[..8]), number(&object[8..]))?;
            return Ok(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect());
        }
    }
    Ok(Vec::new())
}

/// Records an address; returns whether it is new.
fn note(addresses: &mut HashSet<u64>, address: u64) -> Result<bool> {
    addresses.try_reserve(1).map_err(|_| Error::memory(8))?;
    Ok(addresses.insert(address))
}

struct Checker<'a> {
    old: PreviousView<'a>,
    is_data: &'a mut dyn FnMut(u64, u64) -> bool,
    found: ViewCounts,
    objects: HashSet<u64>,
    /// Nodes of B-trees: each must be in one tree, once.
    nodes: HashSet<u64>,
    /// Objects that references refer to, each with the address of an object that does.
    references: HashMap<u64, u64>,
    /// The collection of the heap that was last read.
    heap: Option<(u64, Vec<u8>)>,
}

/// A dataset's messages that determine its chunks.
struct Array<'a> {
    address: u64,
    shape: &'a [u64],
    item_bytes: u64,
    is_filtered: bool,
}

/// The data of a message of an attribute.
struct Attribute<'a> {
    name: &'a [u8],
    of: &'a [u8],
    space: &'a [u8],
    items: &'a [u8],
}

impl<'a> Attribute<'a> {
    fn new(data: &'a [u8]) -> Option<Self> {
        let ([3, 0, sizes @ .., _], rest) = data.split_first_chunk::<9>()? else { return None };
        let [name, of, space] = [0, 2, 4].map(|at| to_usize(number(&sizes[at..at + 2])));
        let (name, rest) = rest.split_at_checked(name)?;
        let (of, rest) = rest.split_at_checked(of)?;
        let (space, items) = rest.split_at_checked(space)?;
        Some(Self { name, of, space, items })
    }
}

impl<'a> Checker<'a> {
    fn new(view: Previous<'a>, end: u64, is_data: &'a mut dyn FnMut(u64, u64) -> bool) -> Result<Self> {
        Ok(Self {
            old: PreviousView::new(view, end)?,
            is_data,
            found: ViewCounts::default(),
            objects: HashSet::new(),
            nodes: HashSet::new(),
            references: HashMap::new(),
            heap: None,
        })
    }

    /// Checks an object; returns the objects to which it links.
    fn object(&mut self, address: u64) -> Result<Vec<u64>> {
        let messages = self.messages(address)?;
        let of = |kind: u8| messages.iter().find(|message| message.kind == kind);
        for message in messages.iter().filter(|message| message.kind == kind::ATTRIBUTE) {
            self.attribute(address, &message.data)?;
        }
        if let Some(info) = of(kind::LINK_INFO) {
            self.found.groups += 1;
            return self.links(address, info, &messages);
        }
        let (Some(space), Some(data_type), Some(layout)) =
            (of(kind::DATASPACE), of(kind::DATATYPE), of(kind::LAYOUT))
        else {
            return Err(wrong(address, "found neither a group nor a dataset"));
        };
        self.found.datasets += 1;
        let shape = shape(&space.data)
            .ok_or_else(|| wrong(address, "found a dataspace that libscda would not write"))?;
        let item_bytes = data_type.data.get(4..8).map_or(0, number);
        let is_filtered = of(kind::FILTERS).is_some();
        self.layout(&Array { address, shape: &shape, item_bytes, is_filtered }, &layout.data)?;
        Ok(Vec::new())
    }

    /// All messages of an object header.
    fn messages(&mut self, address: u64) -> Result<Vec<Message>> {
        let mut all = self.old.header(address)?;
        let mut next = continued(&all)?;
        let mut known = HashSet::new();
        while let Some((at, bytes)) = next {
            if !known.insert(at) {
                return Err(wrong(address, "the object header continues in itself"));
            }
            let more = self.old.continuation(at, bytes)?;
            next = continued(&more)?;
            all.extend(more);
        }
        match all.iter().find(|message| !KINDS.contains(&message.kind)) {
            Some(other) => Err(wrong(address, &format!("found a message of type {}", other.kind))),
            None => Ok(all),
        }
    }

    fn links(&mut self, address: u64, info: &Message, messages: &[Message]) -> Result<Vec<u64>> {
        let mut links = HashMap::new();
        for message in messages.iter().filter(|message| message.kind == kind::LINK) {
            match crate::links::link(&message.data) {
                Some((name, address, [])) => crate::links::add_link(&mut links, name, address)?,
                _ => return Err(wrong(address, "found a link that libscda would not write")),
            }
        }
        let [0, 0, addresses @ ..] = &info.data[..] else {
            return Err(wrong(address, "found a group that libscda would not write"));
        };
        let (heap, names) = match addresses.split_first_chunk::<8>() {
            Some((heap, names)) if names.len() == 8 => (u64::from_le_bytes(*heap), number(names)),
            _ => return Err(wrong(address, "found a group that libscda would not write")),
        };
        if heap != UNDEFINED {
            dense::read(&mut self.old, heap, &mut links)?;
            let hashes: HashSet<u32> = links.keys().map(|name| checksum(name.as_bytes())).collect();
            let mut is_known = true;
            let count = self.tree(names, dense::NAMES_TREE, dense::RECORD_BYTES, &mut |_, record| {
                is_known &= hashes.contains(&u32::try_from(number(&record[..4])).unwrap_or(0));
                Ok(())
            })?;
            if !is_known || count != links.len() as u64 {
                return Err(wrong(
                    address,
                    "found names in the index of a group that differ from those in its heap",
                ));
            }
        }
        Ok(links.into_values().collect())
    }

    /// Checks that the texts and references of an attribute are in the heap.
    fn attribute(&mut self, address: u64, data: &[u8]) -> Result<()> {
        let unknown = || wrong(address, "found an attribute that libscda would not write");
        let Attribute { of, space, items, .. } = Attribute::new(data).ok_or_else(unknown)?;
        let count = shape(space).and_then(|shape| shape.iter().try_fold(1, |all, &n| product(all, n)));
        let item_bytes = of.get(4..8).map(number).ok_or_else(unknown)?;
        if count.and_then(|count| product(count, item_bytes)) != Some(items.len() as u64) {
            return Err(unknown());
        }
        const VARIABLE: u8 = 9;
        if of[0] & 15 != VARIABLE {
            return Ok(());
        }
        let is_reference = of.get(8).is_some_and(|base| base & 15 == 7);
        for item in items.chunks_exact(16) {
            let (length, collection, object) =
                (number(&item[..4]), number(&item[4..12]), number(&item[12..]));
            if length == 0 {
                continue;
            }
            let found = self.heap_object(collection, object)?;
            if is_reference {
                let to = found.first_chunk::<8>().map(|to| u64::from_le_bytes(*to)).ok_or_else(unknown)?;
                self.references.try_reserve(1).map_err(|_| Error::memory(16))?;
                self.references.insert(to, address);
            } else if found.len() as u64 != length {
                return Err(wrong(address, "found a text of the wrong length in the heap"));
            }
        }
        Ok(())
    }

    /// An object of a collection of the global heap.
    fn heap_object(&mut self, collection: u64, wanted: u64) -> Result<Vec<u8>> {
        let unknown = || wrong(collection, "found a heap that libscda would not write");
        if self.heap.as_ref().is_none_or(|(known, _)| *known != collection) {
            let head = self.old.bytes(collection, 16)?;
            if !head.starts_with(b"GCOL\x01\0\0\0") {
                return Err(unknown());
            }
            self.heap = Some((collection, self.old.bytes(collection, number(&head[8..]))?));
        }
        let Some((_, bytes)) = &self.heap else { return Err(unknown()) };
        let mut rest = bytes.get(16..).unwrap_or_default();
        while let Some((head, data)) = rest.split_first_chunk::<16>() {
            let (index, length) = (number(&head[..2]), number(&head[8..]));
            let Some(length) = usize::try_from(length).ok().filter(|&length| length <= data.len()) else {
                break;
            };
            if index == 0 {
                break; // what is free
            }
            if index == wanted {
                return Ok(data[..length].to_vec());
            }
            rest = data.get(length.next_multiple_of(8)..).unwrap_or_default();
        }
        Err(wrong(collection, &format!("found no object {wanted} in the heap")))
    }

    /// Checks that the data of a dataset exist, according to its layout.
    fn layout(&mut self, array: &Array<'_>, layout: &[u8]) -> Result<()> {
        let unknown = || wrong(array.address, "found a layout that libscda would not write");
        match layout {
            [3, 1, rest @ ..] if rest.len() == 16 => {
                let (at, bytes) = (number(&rest[..8]), number(&rest[8..]));
                let all = array.shape.iter().try_fold(array.item_bytes, |all, &n| product(all, n));
                if all != Some(bytes) {
                    return Err(wrong(
                        array.address,
                        "found contiguous data whose size differs from the dataset's",
                    ));
                }
                if at == UNDEFINED { Ok(()) } else { self.place(array.address, at, bytes) }
            }
            [4, 3, rest @ ..] if rest.len() == 12 => {
                let list = self.heap_object(number(&rest[..8]), number(&rest[8..]))?;
                let sum = list.last_chunk::<4>().map(|sum| u32::from_le_bytes(*sum));
                let is_right = list.first() == Some(&0) && sum == Some(checksum(&list[..list.len() - 4]));
                if is_right { Ok(()) } else { Err(wrong(array.address, "found a wrong list of boxes")) }
            }
            [4, 2, flags, rank, width, rest @ ..] => {
                let (rank, width) = (usize::from(*rank), usize::from(*width));
                if rank != array.shape.len() + 1 || !(1..=8).contains(&width) || flags & !2 != 0 {
                    return Err(unknown());
                }
                let (sizes, rest) = rest.split_at_checked(rank * width).ok_or_else(unknown)?;
                let sizes: Vec<u64> = sizes.chunks_exact(width).map(number).collect();
                self.chunks(array, &sizes, rest)
            }
            _ => Err(unknown()),
        }
    }

    /// Checks the index of chunks, and that the chunks exist.
    fn chunks(&mut self, array: &Array<'_>, sizes: &[u64], rest: &[u8]) -> Result<()> {
        let unknown = || wrong(array.address, "found an index of chunks that libscda would not write");
        let bytes = sizes
            .iter()
            .try_fold(1, |all, &n| product(all, n))
            .filter(|&bytes| bytes > 0)
            .ok_or_else(unknown)?;
        let mut counts = array.shape.iter().zip(sizes).map(|(n, chunk)| n.div_ceil(*chunk));
        let count = counts.try_fold(1, product).ok_or_else(unknown)?;
        let entry = Entry::of(array.is_filtered, bytes);
        let (index, data) = rest.split_first().ok_or_else(unknown)?;
        let (data, at) = data.split_last_chunk::<8>().ok_or_else(unknown)?;
        let at = u64::from_le_bytes(*at);
        if at == UNDEFINED {
            return Ok(());
        }
        match (index, data.len()) {
            (1, 12) => self.place(array.address, at, number(&data[..8])),
            (1, 0) => self.place(array.address, at, bytes),
            (2, 0) => {
                let all = product(bytes, count).ok_or_else(unknown)?;
                self.place(array.address, at, all)
            }
            (3, 1) if data[0] == PAGE_BITS => self.fixed_array(array.address, at, entry, count, bytes),
            (5, 6) => {
                let tree = if array.is_filtered { FILTERED_TREE } else { PLAIN_TREE };
                let width = entry.bytes() + 8 * array.shape.len();
                let mut chunks = Vec::new();
                let found = self.tree(at, tree, width, &mut |_, record| {
                    chunks.try_reserve(1).map_err(|_| Error::memory(16))?;
                    chunks.push(entry.get(record, bytes));
                    Ok(())
                })?;
                if found > count {
                    return Err(wrong(at, "found more chunks than the dataset has"));
                }
                chunks.into_iter().try_for_each(|(chunk, bytes)| self.place(at, chunk, bytes))
            }
            _ => Err(unknown()),
        }
    }

    fn fixed_array(
        &mut self,
        dataset: u64,
        at: u64,
        entry: Entry,
        count: u64,
        chunk_bytes: u64,
    ) -> Result<()> {
        let head = self.old.checked(at, FIXED_ARRAY_HEAD_BYTES)?;
        let width = entry.bytes() as u64;
        let is_right = head.starts_with(b"FAHD\0")
            && [head[5].into(), head[6].into(), head[7].into(), number(&head[8..16])]
                == [u64::from(entry != Entry::Plain), width, PAGE_BITS.into(), count];
        if !is_right {
            return Err(wrong(at, "found an index of chunks that does not match the dataset"));
        }
        let block = number(&head[16..24]);
        let page = 1_u64 << PAGE_BITS;
        let pages = if count <= page { 0 } else { count.div_ceil(page) };
        let own = if pages == 0 { count * width } else { pages.div_ceil(8) };
        let bytes = 14 + own + 4;
        let found = self.old.checked(block, bytes)?;
        if !found.starts_with(b"FADB\0") || number(&found[6..14]) != at {
            return Err(wrong(block, "found a wrong block of an index of chunks"));
        }
        if pages == 0 {
            return self.entries(dataset, &found[14..], entry, chunk_bytes);
        }
        let mut next = sum(block, bytes);
        for number in 0..pages {
            let here = next.ok_or_else(|| wrong(block, "found a page beyond the end"))?;
            let bytes = (count - number * page).min(page) * width;
            let found = self.old.checked(here, bytes + 4)?;
            self.entries(dataset, &found, entry, chunk_bytes)?;
            next = sum(here, bytes + 4);
        }
        Ok(())
    }

    fn entries(&mut self, dataset: u64, bytes: &[u8], entry: Entry, chunk_bytes: u64) -> Result<()> {
        for chunk in bytes.chunks_exact(entry.bytes()) {
            let (at, bytes) = entry.get(chunk, chunk_bytes);
            if at != UNDEFINED {
                self.place(dataset, at, bytes)?;
            }
        }
        Ok(())
    }

    /// Reads all records of a B-tree; returns their number.
    fn tree(
        &mut self,
        address: u64,
        client: u8,
        record_bytes: usize,
        each: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<u64> {
        let (old, nodes) = (&mut self.old, &mut self.nodes);
        tree::each_record(old, (address, client, record_bytes), &mut |node| note(nodes, node), each)
    }

    /// Checks that bytes at an address are data of a section.
    fn place(&mut self, dataset: u64, address: u64, bytes: u64) -> Result<()> {
        self.found.places += 1;
        let offset = address.saturating_add(BASE);
        if bytes == 0 || (self.is_data)(offset, bytes) {
            return Ok(());
        }
        Err(wrong(dataset, &format!("found {bytes} bytes at byte {offset}, which are not data of a section")))
    }
}

/// The types of messages that libscda writes.
const KINDS: [u8; 11] = [
    kind::DATASPACE,
    kind::LINK_INFO,
    kind::DATATYPE,
    kind::FILL_VALUE,
    kind::LINK,
    kind::LAYOUT,
    kind::GROUP_INFO,
    kind::FILTERS,
    kind::ATTRIBUTE,
    kind::CONTINUATION,
    kind::READ_ONLY,
];

/// The shape in a dataspace message.
fn shape(space: &[u8]) -> Option<Vec<u64>> {
    let [2, rank, may_grow @ 0..=1, _, sizes @ ..] = space else { return None };
    let rank = usize::from(*rank);
    let is_right = rank <= MAX_RANK && sizes.len() == 8 * rank * (1 + usize::from(*may_grow));
    is_right.then(|| sizes.chunks_exact(8).take(rank).map(number).collect())
}
