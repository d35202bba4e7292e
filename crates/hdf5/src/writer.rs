//! Writes the objects of a view, all or those that the previous view does not have.

use crate::attribute::{self, Value};
use crate::auxiliary::{AuxiliaryDataset, Source, mappings, progression, progression_capacity};
use crate::buffer::ViewBuffer;
use crate::bytes::Bytes;
use crate::checksum::checksum;
use crate::chunks::{Chunk, ChunkTree, Chunks, Entry, fixed_array, node_bytes};
use crate::group::{self, PreviousGroup};
use crate::heap::Heap;
use crate::item::{DataLayout, Item, Kind, ViewDataset, number_of};
use crate::links::Links;
use crate::message::{
    ChunkIndex, MESSAGE_HEAD_BYTES, Messages, UNLIMITED, chunked, contiguous, dataspace, fill_value, kind,
    virtual_layout,
};
use crate::outline::Outline;
use crate::parts::ViewBytes;
use crate::plan::{Attributes, Plan};
use crate::previous_view::{PreviousView, wrong};
use crate::reuse::Reuse;
use crate::scales::{BareScale, Scale, split};
use crate::tree::SMALL_NODE_BYTES;
use crate::{BASE, UNDEFINED, datatype};
use scda_base::error::{Error, Result};
use scda_base::memory::resize;
use scda_base::numbers::{product, sum};
use scda_format::dataset::{DataType, TimeUnit};
use std::collections::HashMap;
use std::sync::Arc;

/// Larger constants get a block of their own, to which later views refer.
const MOST_CONSTANTS_IN_HEADER: usize = 40;

/// Writes the objects.
pub struct Writer<'a> {
    out: ViewBuffer,
    heap: Heap,
    /// The addresses of the datasets that were written, by number; [`UNDEFINED`] for all others.
    datasets: Vec<u64>,
    /// The addresses of other objects, by path.
    addresses: HashMap<String, u64>,
    old: Option<PreviousView<'a>>,
    /// Groups of the previous view that were read, by path.
    old_groups: HashMap<String, PreviousGroup>,
    /// The constant messages of the last dataset: those of the fields of a step are mostly alike.
    last: Option<(Arc<Item>, Messages)>,
    /// The object header of the last contiguous dataset.
    template: Option<Template>,
}

/// The object header of a contiguous dataset. Datasets that are alike differ only in the address of their
/// data.
struct Template {
    kind: Arc<Kind>,
    header: Bytes,
    /// The offset of that address in it.
    at: usize,
}

impl<'a> Writer<'a> {
    /// Writes from this offset of the file on.
    pub fn new(offset: u64, old: Option<PreviousView<'a>>) -> Result<Self> {
        Ok(Self {
            out: ViewBuffer::new(offset)?,
            heap: Heap::new(old.is_some()),
            datasets: Vec::new(),
            addresses: HashMap::new(),
            old,
            old_groups: HashMap::new(),
            last: None,
            template: None,
        })
    }

    /// Writes everything that has changed since the previous view, if there is one.
    pub fn write(mut self, plan: &Plan, before: &Plan, outline: Option<&Outline>) -> Result<ViewBytes> {
        let mut same = if self.old.is_some() { Reuse::new(plan, before)? } else { Reuse::none(plan)? };
        if outline.is_some_and(|outline| outline.is_due) {
            same.changed_groups.insert(String::new());
        }
        let root = match &self.old {
            Some(old) if !same.changed_groups.contains("") => old.root,
            _ => {
                self.datasets(plan, before, &same)?;
                let outline = match outline {
                    Some(outline) => outline.put(&mut self.out, self.old.as_mut())?,
                    None => Bytes::new(),
                };
                self.groups(plan, before, &same, &outline)?
            }
        };
        self.heap.finish(&mut self.out, SMALL_NODE_BYTES.into())?;
        let root = sum(root, BASE).ok_or_else(|| Error::range("HDF5: the view lies beyond 63 bits"))?;
        Ok(ViewBytes { bytes: self.out.into_vec(), root })
    }

    fn note(&mut self, path: &str, address: u64) -> Result<()> {
        self.addresses.try_reserve(1).map_err(|_| Error::memory(path.len()))?;
        self.addresses.insert(path.to_owned(), address);
        Ok(())
    }

    /// Writes all datasets that are new or changed, first those to which others refer.
    fn datasets(&mut self, plan: &Plan, before: &Plan, same: &Reuse) -> Result<()> {
        resize(&mut self.datasets, plan.datasets.len() as u64)?;
        self.datasets.fill(UNDEFINED);
        for are_scales in [true, false] {
            if are_scales && plan.scales.datasets.is_empty() && plan.scales.bare.is_empty() {
                continue;
            }
            for (n, shown) in plan.datasets.iter().enumerate() {
                if same.datasets[n] || plan.scales.datasets.contains(&n) != are_scales {
                    continue;
                }
                let first = if are_scales {
                    scale_attributes(split(&shown.path).1.to_owned())
                } else {
                    self.dimension_list(plan, n)?
                };
                let was = same.before(n).map(|n| (&before.datasets[n], before.scales.datasets.contains(&n)));
                let was = was.filter(|(_, was_scale)| *was_scale == are_scales).map(|(was, _)| was);
                self.datasets[n] = self.item(shown, was, &first)?;
            }
            for scale in plan.scales.bare.iter().filter(|_| are_scales) {
                if !same.bare.contains(&*scale.path) {
                    let address = self.bare_scale(scale)?;
                    self.note(&scale.path, address)?;
                }
            }
        }
        for (path, array) in &plan.arrays {
            if !same.arrays.contains(&**path) {
                let was = before.arrays.get(path).filter(|_| self.old.is_some());
                let address = self.array(path, array, was)?;
                self.note(path, address)?;
            }
        }
        Ok(())
    }

    fn dimension_list(&mut self, plan: &Plan, number: usize) -> Result<Attributes> {
        let scales = &plan.scales.of[number];
        if scales.is_empty() {
            return Ok(Vec::new());
        }
        let mut addresses = Vec::new();
        for scale in scales {
            addresses.push(match scale {
                Scale::Dataset(n) => self.dataset_address(plan, *n)?,
                Scale::Bare(n) => self.address(&plan.scales.bare[*n].path)?,
            });
        }
        Ok(vec![("DIMENSION_LIST".to_owned(), Value::References(addresses))])
    }

    /// The address of a dataset that was written, or that the previous view has.
    fn dataset_address(&mut self, plan: &Plan, number: usize) -> Result<u64> {
        match self.datasets[number] {
            UNDEFINED => self.old_address(&plan.datasets[number].path),
            address => Ok(address),
        }
    }

    /// The address of another object that was written, or that the previous view has.
    fn address(&mut self, path: &str) -> Result<u64> {
        if let Some(&address) = self.addresses.get(path) {
            return Ok(address);
        }
        self.old_address(path)
    }

    /// The address of an object of the previous view.
    fn old_address(&mut self, path: &str) -> Result<u64> {
        let (group, name) = split(path);
        let address = self.old_group(group)?.links.get(name).copied();
        address.ok_or_else(|| wrong(0, &format!("found no object {path:?}")))
    }

    /// A group of the previous view. The groups that contain it are read first.
    fn old_group(&mut self, path: &str) -> Result<&PreviousGroup> {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        let paths = ends.map(|end| &path[..end]).filter(|here| !here.is_empty());
        for here in [""].into_iter().chain(paths) {
            if self.old_groups.contains_key(here) {
                continue;
            }
            let missing = || wrong(0, &format!("found no group {here:?}"));
            let old = self.old.as_mut().ok_or_else(missing)?;
            let address = if here.is_empty() {
                old.root
            } else {
                let (outer, name) = split(here);
                let address = self.old_groups.get(outer).and_then(|group| group.links.get(name));
                *address.ok_or_else(missing)?
            };
            let group = group::read(old, address)?;
            self.old_groups.insert(here.to_owned(), group);
        }
        self.old_groups.get(path).ok_or_else(|| wrong(0, &format!("found no group {path:?}")))
    }

    /// Writes a dataset whose data are in the file, with further attributes before its own. If it may grow,
    /// its constants are in a block to which a later view can refer.
    fn item(
        &mut self,
        shown: &ViewDataset,
        was: Option<&ViewDataset>,
        first: &[(String, Value)],
    ) -> Result<u64> {
        let item = &*shown.item;
        if first.is_empty()
            && let Some(address) = self.like_template(item)?
        {
            return Ok(address);
        }
        let was = was.filter(|was| was.item.may_grow && item.may_grow);
        let old = match was {
            Some(_) => {
                let address = self.old_address(&shown.path)?;
                self.old.as_mut().map(|old| old.dataset(address)).transpose()?
            }
            None => None,
        };
        let (old_constants, old_layout) = old.map(|old| (old.constants, old.layout)).unzip();
        let mut messages = Messages::new();
        messages.add(kind::DATASPACE, |space| dataspace(space, &item.shape, &greatest(item)))?;
        let space_bytes = messages.len();
        let grown = was.zip(old_layout).filter(|(was, _)| was.item.grows_to(item));
        let grown = grown.map(|(was, layout)| (&*was.item, layout));
        messages.add(kind::LAYOUT, |layout| self.layout(layout, item, grown))?;
        self.attributes(&mut messages, first)?;
        let known =
            old_constants.flatten().filter(|_| was.is_some_and(|was| was.item.has_same_constants(item)));
        if let Some((address, bytes)) = known {
            messages.continued(address, bytes)?;
        } else {
            let is_chunked = |item: &Item| matches!(item.layout, DataLayout::Chunks(_));
            let alike = |(last, _): &(Arc<Item>, Messages)| {
                last.has_same_constants(item) && is_chunked(last) == is_chunked(item)
            };
            let constants = match self.last.take().filter(alike) {
                Some((_, constants)) => constants,
                None => self.constants(item)?,
            };
            if item.may_grow && constants.len() > MOST_CONSTANTS_IN_HEADER {
                let block = constants.continuation()?;
                let address = self.out.put(block.as_slice())?;
                messages.continued(address, block.len() as u64)?;
            } else {
                messages.extend(&constants)?;
            }
            self.last = Some((shown.item.clone(), constants));
        }
        let header = messages.header()?;
        let address = self.out.put(header.as_slice())?;
        if let DataLayout::Contiguous(_) = item.layout
            && first.is_empty()
            && item.bytes()? > 0
        {
            // After the head of the object header, the dataspace, and the head and two bytes of the layout.
            let at = header.len() - messages.len() - 4 + space_bytes + MESSAGE_HEAD_BYTES + 2;
            self.template = Some(Template { kind: item.kind.clone(), header, at });
        }
        Ok(address)
    }

    /// Writes the object header of a contiguous dataset, if it is like the previous one; returns its address.
    fn like_template(&mut self, item: &Item) -> Result<Option<u64>> {
        let DataLayout::Contiguous(address) = item.layout else { return Ok(None) };
        let Some(Template { kind, header, at }) = &mut self.template else { return Ok(None) };
        if item.may_grow || *kind != item.kind {
            return Ok(None);
        }
        header.replace(*at, &address.to_le_bytes());
        let (messages, _) = header.as_slice().split_at(header.len() - 4);
        let sum = checksum(messages);
        header.replace(header.len() - 4, &sum.to_le_bytes());
        self.out.put(header.as_slice()).map(Some)
    }

    /// The messages that do not change when a dataset grows.
    fn constants(&mut self, item: &Item) -> Result<Messages> {
        let mut messages = Messages::new();
        messages.put(kind::DATATYPE, item.data_type.as_slice())?;
        let is_chunked = matches!(item.layout, DataLayout::Chunks(_));
        messages.add(kind::FILL_VALUE, |fill| fill_value(fill, &item.fill, is_chunked))?;
        if !item.filters.is_empty() {
            messages.put(kind::FILTERS, item.filters.as_slice())?;
        }
        let of_user = attribute::of_object(&item.attributes, Some(item.of))?;
        let is_of_user = |name: &str| of_user.iter().any(|(key, _)| key == name);
        let times: Attributes = times(item.of).into_iter().filter(|(name, _)| !is_of_user(name)).collect();
        self.attributes(&mut messages, &times)?;
        self.attributes(&mut messages, &of_user)?;
        Ok(messages)
    }

    fn attributes(&mut self, messages: &mut Messages, attributes: &[(String, Value)]) -> Result<()> {
        for (name, value) in attributes {
            attribute::put(messages, &mut self.out, &mut self.heap, name, value)?;
        }
        Ok(())
    }

    /// The message with the places of a dataset's data; writes the index of its chunks. `was` is the dataset
    /// from which this one has grown, and its message.
    fn layout(&mut self, layout: &mut Bytes, item: &Item, was: Option<(&Item, Vec<u8>)>) -> Result<()> {
        let (index, address) = match &item.layout {
            DataLayout::Contiguous(address) => return contiguous(layout, *address, item.bytes()?),
            DataLayout::Chunks(chunks) if item.may_grow => self.tree(item, chunks, was)?,
            DataLayout::Chunks(chunks) => self.index(item, chunks)?,
        };
        chunked(layout, &item.chunk, item.item_bytes(), index, address)
    }

    fn tree(
        &mut self,
        item: &Item,
        chunks: &Chunks,
        was: Option<(&Item, Vec<u8>)>,
    ) -> Result<(ChunkIndex, u64)> {
        let (entry, rank) = (item.index_entry()?, item.shape.len());
        let mut tree = ChunkTree::new(entry, rank);
        let mut known = 0;
        if let (Some((was, layout)), Some(old)) = (was, self.old.as_mut())
            && let DataLayout::Chunks(before) = &was.layout
        {
            tree = tree.load(old, &layout, before)?;
            known = before.len();
        }
        let counts: Vec<u64> =
            item.shape.iter().zip(&item.chunk).map(|(n, chunk)| n.div_ceil(*chunk)).collect();
        let mut place = vec![0; rank];
        let mut left = known as u64;
        for (at, count) in place.iter_mut().zip(&counts).skip(1).rev() {
            *at = left % (*count).max(1);
            left /= (*count).max(1);
        }
        if let Some(at) = place.first_mut() {
            *at = left;
        }
        for chunk in chunks.from(known)? {
            tree.push(&mut self.out, *chunk, &place)?;
            for (n, count) in place.iter_mut().zip(&counts).rev() {
                *n += 1;
                if *n < *count {
                    break;
                }
                *n = 0;
            }
        }
        Ok((ChunkIndex::Tree(node_bytes(entry, rank)), tree.finish(&mut self.out)?))
    }

    /// The index of the chunks of an array that does not grow.
    fn index(&mut self, item: &Item, chunks: &Chunks) -> Result<(ChunkIndex, u64)> {
        let entry = item.index_entry()?;
        let is_filtered = !item.filters.is_empty();
        let is_there = |chunk: &Chunk| chunk.address != UNDEFINED;
        if let Some(first) = chunks.iter()?.next().filter(|first| is_there(first)) {
            if chunks.len() == 1 {
                return Ok((ChunkIndex::Single(is_filtered.then_some(first.bytes)), first.address));
            }
            let mut next = first.address;
            let mut follows = |chunk: &Chunk| {
                let is_next = is_there(chunk) && chunk.address == next;
                next = chunk.address.wrapping_add(chunk.bytes);
                is_next
            };
            if !is_filtered && chunks.iter()?.all(&mut follows) {
                return Ok((ChunkIndex::Implicit, first.address));
            }
        }
        if chunks.somewhere() == 0 {
            return Ok((ChunkIndex::FixedArray, UNDEFINED));
        }
        let count = chunks.len() as u64;
        Ok((ChunkIndex::FixedArray, fixed_array(&mut self.out, entry, count, chunks.iter()?.copied())?))
    }

    /// Writes a dimension without coordinates in netCDF-4's form: a dataset without data.
    fn bare_scale(&mut self, scale: &BareScale) -> Result<u64> {
        let mut messages = Messages::new();
        let greatest = if scale.may_grow { UNLIMITED } else { scale.size };
        messages.add(kind::DATASPACE, |space| dataspace(space, &[scale.size], &[greatest]))?;
        messages.add(kind::DATATYPE, |of| datatype::float(of, 4, true))?;
        messages.add(kind::FILL_VALUE, |fill| fill_value(fill, &[], scale.may_grow))?;
        messages.add(kind::LAYOUT, |layout| {
            if scale.may_grow {
                let index = ChunkIndex::Tree(node_bytes(Entry::Plain, 1));
                return chunked(layout, &[1024], 4, index, UNDEFINED);
            }
            let bytes =
                product(scale.size, 4).ok_or_else(|| Error::range("HDF5: a dimension is too long"))?;
            contiguous(layout, UNDEFINED, bytes)
        })?;
        let name = format!("This is a netCDF dimension but not a netCDF variable.{:10}", scale.size);
        self.finish(messages, &scale_attributes(name))
    }

    /// Writes a dataset that exists only in the view, at a path.
    fn array(&mut self, path: &str, made: &AuxiliaryDataset, was: Option<&AuxiliaryDataset>) -> Result<u64> {
        let mut messages = Messages::new();
        messages.add(kind::DATASPACE, |space| dataspace(space, &made.shape, &made.shape))?;
        messages.add(kind::DATATYPE, |of| datatype::data_type(of, made.data_type, false))?;
        let item: &[u8] = if let Source::Constant(item) = &made.source { item } else { &[] };
        let is_of_boxes = matches!(made.source, Source::Boxes(_));
        messages.add(kind::FILL_VALUE, |fill| fill_value(fill, item, is_of_boxes))?;
        messages.add(kind::LAYOUT, |layout| self.made_layout(layout, path, made, was))?;
        self.finish(messages, &made.attributes)
    }

    /// The message with the places of the items of a dataset that exists only in the view; writes the items.
    fn made_layout(
        &mut self,
        layout: &mut Bytes,
        path: &str,
        made: &AuxiliaryDataset,
        was: Option<&AuxiliaryDataset>,
    ) -> Result<()> {
        let bytes = made.bytes()?;
        let data = match &made.source {
            Source::Bytes(bytes) => self.out.put(bytes)?,
            Source::Constant(_) => UNDEFINED,
            Source::Progression(stride) => self.progression(path, made, *stride, was)?,
            Source::Boxes(boxes) => {
                let list = mappings(boxes)?;
                let object = self.heap.put(&mut self.out, list.as_slice())?;
                return virtual_layout(layout, object.collection, object.number);
            }
        };
        contiguous(layout, data, bytes)
    }

    /// The address of the numbers of a progression: those of the previous view, if it has enough.
    fn progression(
        &mut self,
        path: &str,
        made: &AuxiliaryDataset,
        stride: u64,
        was: Option<&AuxiliaryDataset>,
    ) -> Result<u64> {
        let capacity = |made: &AuxiliaryDataset| progression_capacity(made.shape.iter().product());
        let is_known = |was: &AuxiliaryDataset| was.source == made.source && capacity(was) == capacity(made);
        if was.is_some_and(is_known) {
            let address = self.old_address(path)?;
            let old = self.old.as_mut().map(|old| old.dataset(address)).transpose()?;
            let layout = old.map(|old| old.layout).unwrap_or_default();
            if let [3, 1, data @ ..] = &layout[..]
                && let Some((data, _)) = data.split_first_chunk::<8>()
            {
                return Ok(u64::from_le_bytes(*data));
            }
            return Err(wrong(address, "found an array that libscda would not write"));
        }
        self.out.put(progression(stride, capacity(made))?.as_slice())
    }

    /// Writes an object with these messages and attributes.
    fn finish(&mut self, mut messages: Messages, attributes: &[(String, Value)]) -> Result<u64> {
        self.attributes(&mut messages, attributes)?;
        self.out.put(messages.header()?.as_slice())
    }

    /// Writes all groups that are new or changed, the inner ones first; returns the address of the root.
    fn groups(&mut self, plan: &Plan, before: &Plan, same: &Reuse, outline: &Bytes) -> Result<u64> {
        let changed = &same.changed_groups;
        let mut links: HashMap<&str, Links<'_>> =
            changed.iter().map(|path| (path.as_str(), Links::default())).collect();
        // The datasets of one group are mostly consecutive.
        let (mut last, mut own) = (None, None);
        for (n, shown) in plan.datasets.iter().enumerate() {
            let (group, name) = split(&shown.path);
            if last != Some(group) {
                (last, own) = (Some(group), links.get_mut(group));
            }
            if let Some(own) = &mut own {
                own.push(name, self.dataset_address(plan, n)?)?;
            }
        }
        let bare = plan.scales.bare.iter().map(|scale| &scale.path);
        let inner = plan.groups.keys().filter(|path| !changed.contains(*path));
        for path in bare.chain(plan.arrays.keys()).chain(inner) {
            let (group, name) = split(path);
            if let Some(links) = links.get_mut(group) {
                links.push(name, self.address(path)?)?;
            }
        }
        for (path, target) in &plan.links {
            let (group, name) = split(path);
            let number = number_of(&plan.datasets, target);
            if let Some(links) = links.get_mut(group)
                && !plan.groups.contains_key(path)
                && (number.is_some() || plan.arrays.contains_key(target))
            {
                let address = match number {
                    Some(number) => self.dataset_address(plan, number)?,
                    None => self.address(target)?,
                };
                links.push(name, address)?;
            }
        }
        let mut by_depth: Vec<&str> = changed.iter().map(String::as_str).collect();
        by_depth
            .sort_by_key(|path| std::cmp::Reverse(if path.is_empty() { 0 } else { path.split('/').count() }));
        let mut root = UNDEFINED;
        for path in by_depth {
            let mut others = Messages::new();
            if path.is_empty() {
                others.forbid_writing(outline.as_slice())?;
            }
            self.attributes(&mut others, &plan.attributes(path))?;
            let own = links.remove(path).unwrap_or_default().sorted();
            let address = if self.old.is_some() && before.groups.contains_key(path) {
                let old = self.take_old_group(path)?;
                group::put_after(&mut self.out, &own, &others, &old)?
            } else {
                group::put(&mut self.out, &own, &others)?
            };
            if path.is_empty() {
                root = address;
            } else {
                let (outer, name) = split(path);
                links.entry(outer).or_default().push(name, address)?;
            }
        }
        Ok(root)
    }

    fn take_old_group(&mut self, path: &str) -> Result<PreviousGroup> {
        self.old_group(path)?;
        Ok(self.old_groups.remove(path).unwrap_or_default())
    }
}

/// The maximum sizes of a dataset's dimensions. Chunks may reach beyond the array, but h5repack, for example,
/// rejects chunks that are larger than an array can become.
fn greatest(item: &Item) -> Vec<u64> {
    let is_chunked = matches!(item.layout, DataLayout::Chunks(_));
    let of = |(&n, &chunk): (&u64, &u64)| if is_chunked { n.max(chunk) } else { n };
    let mut sizes: Vec<u64> = item.shape.iter().zip(&item.chunk).map(of).collect();
    if let Some(first) = sizes.first_mut().filter(|_| item.may_grow) {
        *first = UNLIMITED;
    }
    sizes
}

fn scale_attributes(name: String) -> Vec<(String, Value)> {
    vec![
        ("CLASS".to_owned(), Value::FixedText("DIMENSION_SCALE".to_owned())),
        ("NAME".to_owned(), Value::FixedText(name)),
    ]
}

/// The CF attributes that describe times; none for units that CF has no name for.
fn times(of: DataType) -> Vec<(String, Value)> {
    let text = |name: &str, value: String| (name.to_owned(), Value::Text(value));
    let name = |unit: TimeUnit| {
        let names = [
            ("D", "days"),
            ("h", "hours"),
            ("m", "minutes"),
            ("s", "seconds"),
            ("ms", "milliseconds"),
            ("us", "microseconds"),
            ("ns", "nanoseconds"),
        ];
        names.into_iter().find(|(known, _)| unit.scale() == 1 && *known == unit.name()).map(|(_, name)| name)
    };
    match of {
        DataType::Datetime(unit) => match name(unit) {
            Some(name) => vec![
                text("units", format!("{name} since 1970-01-01")),
                text("calendar", "proleptic_gregorian".to_owned()),
            ],
            None => vec![text("scda_type", of.to_string())],
        },
        DataType::Timedelta(unit) => match name(unit) {
            Some(name) => vec![text("units", name.to_owned())],
            None => vec![text("scda_type", of.to_string())],
        },
        _ => Vec::new(),
    }
}
