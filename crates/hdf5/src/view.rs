//! A view: all objects of HDF5 for what a file has.

use crate::attribute::{self, Value};
use crate::bytes::Bytes;
use crate::chunks::{Chunk, ChunkTree, fixed_array, node_bytes};
use crate::group::Target;
use crate::heap::Heap;
use crate::item::{Entry, Item, Place, Reason};
use crate::message::{ChunkIndex, Messages, UNLIMITED, chunked, contiguous, dataspace, fill_value, kind};
use crate::out::Out;
use crate::scales::{BareScale, Scale, Scales, split};
use crate::{BASE, UNDEFINED, datatype, group};
use scda_base::error::{Error, Result};
use scda_base::memory::reserve;
use scda_base::numbers::{product, sum};
use scda_format::dataset::{DataType, TimeUnit};
use std::collections::{BTreeMap, HashMap};

/// The longest name, and the most groups that lie in one another.
const MAX_NAME_BYTES: usize = 1024;
const MAX_LEVELS: usize = 64;
/// The attribute of the root group that tells what is not shown, a line for each.
const NOT_SHOWN: &str = "scda_not_shown";
/// What follows the name of a dataset in the name of the group with those records of it that differ.
const RECORDS: &str = "_records";

/// An array whose data are in the view.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The type of its items.
    pub data_type: DataType,
    /// How many there are in each dimension.
    pub shape: Vec<u64>,
    /// Their bytes, in little-endian order.
    pub bytes: Vec<u8>,
    /// Its attributes.
    pub attributes: Vec<(String, Value)>,
}

/// What a view shows.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// All datasets in the order of the file, those of one name being records.
    datasets: Vec<(String, Item)>,
    /// Groups with their attributes, by their paths; that of the root is empty.
    groups: BTreeMap<String, Vec<(String, Value)>>,
    arrays: BTreeMap<String, Array>,
    links: BTreeMap<String, String>,
    soft_links: BTreeMap<String, String>,
    hidden: Vec<(String, String)>,
}

/// The bytes of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The data of its block.
    pub bytes: Vec<u8>,
    /// The offset in the file of the root group.
    pub root: u64,
}

impl View {
    /// A view of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a dataset. What HDF5 cannot show is named in an attribute of the root group.
    ///
    /// # Errors
    /// `Memory`; `Range` and `Argument` for numbers that do not fit each other; `Format` for attributes that are no JSON object.
    pub fn dataset(&mut self, entry: &Entry<'_>) -> Result<()> {
        if let Some(why) = cannot_be_named(entry.name) {
            return self.hide(entry.name, why);
        }
        match Item::new(entry)? {
            Ok(item) => {
                reserve(&mut self.datasets, 1)?;
                self.datasets.push((entry.name.to_owned(), item));
                Ok(())
            }
            Err(why) => self.hide(entry.name, why),
        }
    }

    /// Gives a group attributes, a JSON object, in place of earlier ones. `/` is the root.
    ///
    /// # Errors
    /// `Memory`; `Format` if the text is no JSON object.
    pub fn group(&mut self, path: &str, attributes: &str) -> Result<()> {
        self.group_of_values(path, attribute::of_object(attributes, None)?)
    }

    /// As [`Self::group`], with attributes of any kind.
    ///
    /// # Errors
    /// `Memory`.
    pub fn group_of_values(&mut self, path: &str, attributes: Vec<(String, Value)>) -> Result<()> {
        let path = if path == "/" { "" } else { path };
        if !path.is_empty()
            && let Some(why) = cannot_be_named(path)
        {
            return self.hide(path, why);
        }
        self.groups.insert(path.to_owned(), attributes);
        Ok(())
    }

    /// Adds an array that is not in the file.
    ///
    /// # Errors
    /// `Memory`; `Argument` for another number of bytes than the shape and the type have.
    pub fn array(&mut self, path: &str, array: Array) -> Result<()> {
        let bytes = array.shape.iter().try_fold(array.data_type.item_bytes(), |all, &n| product(all, n));
        if bytes != Some(array.bytes.len() as u64) || cannot_be_named(path).is_some() {
            return Err(Error::argument(format!(
                "HDF5: the array \"{path}\" of {} bytes cannot be",
                array.bytes.len()
            )));
        }
        self.arrays.insert(path.to_owned(), array);
        Ok(())
    }

    /// Adds a link to a dataset of the view; there is none if that is not shown.
    pub fn link(&mut self, path: &str, dataset: &str) {
        if cannot_be_named(path).is_none() {
            self.links.insert(path.to_owned(), dataset.to_owned());
        }
    }

    /// Adds a soft link: whatever is at a path of HDF5 when it is followed.
    pub fn soft_link(&mut self, path: &str, target: &str) {
        if cannot_be_named(path).is_none() && target.len() <= MAX_NAME_BYTES {
            self.soft_links.insert(path.to_owned(), target.to_owned());
        }
    }

    /// Names what is not shown, and says why.
    ///
    /// # Errors
    /// `Memory`.
    pub fn hide(&mut self, name: &str, why: &str) -> Result<()> {
        reserve(&mut self.hidden, 1)?;
        self.hidden.push((name.to_owned(), why.to_owned()));
        Ok(())
    }

    /// What is named so far as not shown, with the reasons.
    pub fn hidden(&self) -> impl Iterator<Item = (&str, &str)> {
        self.hidden.iter().map(|(name, why)| (&**name, &**why))
    }

    /// The bytes of the view, where they begin at an offset of the file.
    ///
    /// # Errors
    /// `Memory`; `Range` where numbers exceed 63 bits or what HDF5 has.
    pub fn write(mut self, offset: u64) -> Result<Written> {
        let datasets = self.take_datasets()?;
        Writer::new(offset)?.write(self, &datasets)
    }

    /// The datasets by their paths, records of one name as one dataset if they are alike.
    fn take_datasets(&mut self) -> Result<Vec<(String, Item, Option<u64>)>> {
        let mut all = std::mem::take(&mut self.datasets);
        all.sort_by(|(a, _), (b, _)| a.cmp(b)); // stable: records stay in order
        for (path, _) in &all {
            self.add_groups(path);
        }
        let made = self.arrays.keys().chain(self.links.keys()).chain(self.soft_links.keys());
        let others: Vec<String> = made.chain(self.groups.keys()).cloned().collect();
        others.iter().for_each(|path| self.add_groups(path));
        let mut shown = Vec::new();
        reserve(&mut shown, all.len())?;
        let mut rest = all.into_iter().peekable();
        while let Some((path, first)) = rest.next() {
            let mut records = vec![first];
            while let Some((_, next)) = rest.next_if(|(next, _)| *next == path) {
                reserve(&mut records, 1)?;
                records.push(next);
            }
            if self.groups.contains_key(&path) || self.arrays.contains_key(&path) {
                self.hide(&path, "its name is that of a group")?;
                continue;
            }
            let count = records.len() as u64;
            match Item::of_records(&records)?.filter(|_| count > 1) {
                Some(item) => shown.push((path, item, Some(count))),
                None => self.show_each(path, records, &mut shown)?,
            }
        }
        Ok(shown)
    }

    /// Shows the last record under the name, and the others in a group.
    fn show_each(
        &mut self,
        path: String,
        mut records: Vec<Item>,
        shown: &mut Vec<(String, Item, Option<u64>)>,
    ) -> Result<()> {
        let Some(last) = records.pop() else { return Ok(()) };
        let group = format!("{path}{RECORDS}");
        reserve(shown, records.len() + 1)?;
        if !records.is_empty() {
            let is_taken = self.groups.contains_key(&group) || shown.iter().any(|(path, ..)| *path == group);
            if is_taken {
                self.hide(&path, "all records but the last one")?;
            } else {
                self.groups.insert(group.clone(), Vec::new());
                shown.extend(
                    records.into_iter().enumerate().map(|(n, item)| (format!("{group}/{n}"), item, None)),
                );
            }
        }
        shown.push((path, last, None));
        Ok(())
    }

    /// Adds the groups that a path lies in.
    fn add_groups(&mut self, path: &str) {
        for (at, _) in path.match_indices('/') {
            self.groups.entry(path[..at].to_owned()).or_default();
        }
        self.groups.entry(String::new()).or_default();
    }
}

/// Why HDF5 cannot have an object of this path.
fn cannot_be_named(path: &str) -> Option<Reason> {
    let is_one = |name: &str| !name.is_empty() && name != "." && !name.contains('\0');
    if path.len() > MAX_NAME_BYTES || path.split('/').count() > MAX_LEVELS {
        return Some("a name of too many bytes or slashes");
    }
    (!path.split('/').all(is_one)).then_some("a name that HDF5 cannot have")
}

/// Writes the objects.
struct Writer {
    out: Out,
    heap: Heap,
    /// The addresses of objects, by their paths.
    addresses: HashMap<String, u64>,
}

impl Writer {
    fn new(offset: u64) -> Result<Self> {
        Ok(Self { out: Out::new(offset)?, heap: Heap::default(), addresses: HashMap::new() })
    }

    fn write(mut self, view: View, datasets: &[(String, Item, Option<u64>)]) -> Result<Written> {
        let View { mut groups, arrays, links, soft_links, hidden, .. } = view;
        let scales = Scales::new(datasets, |path| groups.contains_key(path) || arrays.contains_key(path));
        self.scales(datasets, &scales)?;
        for (n, (path, item, _)) in datasets.iter().enumerate() {
            if !scales.datasets.contains(&n) {
                let list = scales.of[n].iter().filter_map(|scale| self.address_of(*scale, datasets, &scales));
                let list: Vec<u64> = list.collect();
                let first =
                    (!list.is_empty()).then_some(("DIMENSION_LIST".to_owned(), Value::References(list)));
                let address = self.item(item, first.into_iter().collect())?;
                self.note(path, address)?;
            }
        }
        for (path, array) in &arrays {
            let address = self.array(array)?;
            self.note(path, address)?;
        }
        for (path, target) in &links {
            if let Some(&address) = self.addresses.get(target)
                && !self.addresses.contains_key(path)
                && !groups.contains_key(path)
            {
                self.note(path, address)?;
            }
        }
        if !hidden.is_empty() {
            let lines: Vec<String> = hidden.iter().map(|(name, why)| format!("{name}: {why}")).collect();
            let root = groups.entry(String::new()).or_default();
            root.push((NOT_SHOWN.to_owned(), Value::Text(lines.join("\n").replace('\0', " "))));
        }
        let root = self.groups(groups, soft_links)?;
        let root = sum(root, BASE).ok_or_else(|| Error::range("HDF5: the view lies beyond 63 bits"))?;
        Ok(Written { bytes: self.out.into_vec(), root })
    }

    fn note(&mut self, path: &str, address: u64) -> Result<()> {
        self.addresses.try_reserve(1).map_err(|_| Error::memory(path.len()))?;
        self.addresses.insert(path.to_owned(), address);
        Ok(())
    }

    /// Puts what others refer to.
    fn scales(&mut self, datasets: &[(String, Item, Option<u64>)], scales: &Scales) -> Result<()> {
        for (n, (path, item, _)) in datasets.iter().enumerate() {
            if scales.datasets.contains(&n) {
                let address = self.item(item, scale_attributes(split(path).1.to_owned()))?;
                self.note(path, address)?;
            }
        }
        for scale in &scales.bare {
            let address = self.bare_scale(scale)?;
            self.note(&scale.path, address)?;
        }
        Ok(())
    }

    fn address_of(
        &self,
        scale: Scale,
        datasets: &[(String, Item, Option<u64>)],
        scales: &Scales,
    ) -> Option<u64> {
        let path = match scale {
            Scale::Dataset(n) => &datasets[n].0,
            Scale::Bare(n) => &scales.bare[n].path,
        };
        self.addresses.get(path).copied()
    }

    /// Puts a dataset whose data are in the file, with further attributes before its own.
    fn item(&mut self, item: &Item, mut attributes: Vec<(String, Value)>) -> Result<u64> {
        let of_user = attribute::of_object(&item.attributes, Some(item.of))?;
        attributes.extend(
            times(item.of).into_iter().filter(|(name, _)| !of_user.iter().any(|(key, _)| key == name)),
        );
        attributes.extend(of_user);
        let mut messages = Messages::new();
        let greatest: Vec<u64> = match &item.place {
            Place::Contiguous(_) => item.shape.clone(),
            // Chunks reach beyond the array: h5repack, for one, takes none that are larger than an array can get.
            Place::Chunks(_) => item.shape.iter().zip(&item.chunk).map(|(&n, &chunk)| n.max(chunk)).collect(),
        };
        let first = item.may_grow.then_some(UNLIMITED);
        let greatest: Vec<u64> =
            first.into_iter().chain(greatest.into_iter().skip(usize::from(item.may_grow))).collect();
        let mut space = Bytes::new();
        dataspace(&mut space, &item.shape, &greatest)?;
        messages.put(kind::DATASPACE, space.as_slice())?;
        messages.put(kind::DATATYPE, item.data_type.as_slice())?;
        let mut fill = Bytes::new();
        fill_value(&mut fill, &item.fill, matches!(item.place, Place::Chunks(_)))?;
        messages.put(kind::FILL_VALUE, fill.as_slice())?;
        let layout = self.layout(item)?;
        messages.put(kind::LAYOUT, layout.as_slice())?;
        if !item.filters.is_empty() {
            messages.put(kind::FILTERS, item.filters.as_slice())?;
        }
        self.finish(messages, &attributes)
    }

    /// The message that says where the data of an item are, which puts the index of its chunks.
    fn layout(&mut self, item: &Item) -> Result<Bytes> {
        let mut layout = Bytes::new();
        let chunks = match &item.place {
            Place::Contiguous(address) => {
                contiguous(&mut layout, *address, item.bytes()?)?;
                return Ok(layout);
            }
            Place::Chunks(chunks) => chunks,
        };
        let (index, address) = self.index(item, chunks)?;
        chunked(&mut layout, &item.chunk, item.item_bytes(), index, address)?;
        Ok(layout)
    }

    fn index(&mut self, item: &Item, chunks: &[Chunk]) -> Result<(ChunkIndex, u64)> {
        let entry = item.index_entry()?;
        if item.may_grow {
            let rank = item.shape.len();
            let counts: Vec<u64> =
                item.shape.iter().zip(&item.chunk).map(|(n, chunk)| n.div_ceil(*chunk)).collect();
            let mut tree = ChunkTree::new(entry, rank);
            let mut place = vec![0; rank];
            for chunk in chunks {
                tree.push(&mut self.out, *chunk, &place)?;
                for (n, count) in place.iter_mut().zip(&counts).rev() {
                    *n += 1;
                    if *n < *count {
                        break;
                    }
                    *n = 0;
                }
            }
            return Ok((ChunkIndex::Tree(node_bytes(entry, rank)), tree.finish(&mut self.out)?));
        }
        let is_filtered = !item.filters.is_empty();
        let is_there = |chunk: &Chunk| chunk.address != UNDEFINED;
        match chunks {
            [one] if is_there(one) => {
                return Ok((ChunkIndex::Single(is_filtered.then_some(one.bytes)), one.address));
            }
            [first, ..] if !is_filtered && is_there(first) => {
                let follows =
                    |pair: &[Chunk]| is_there(&pair[1]) && pair[0].address + pair[0].bytes == pair[1].address;
                if chunks.windows(2).all(follows) {
                    return Ok((ChunkIndex::Implicit, first.address));
                }
            }
            _ => {}
        }
        if !chunks.iter().any(is_there) {
            return Ok((ChunkIndex::FixedArray, UNDEFINED));
        }
        let count = chunks.len() as u64;
        Ok((ChunkIndex::FixedArray, fixed_array(&mut self.out, entry, count, chunks.iter().copied())?))
    }

    /// Puts a dimension without coordinates, as netCDF-4 has it: a dataset without data.
    fn bare_scale(&mut self, scale: &BareScale) -> Result<u64> {
        let mut messages = Messages::new();
        let mut space = Bytes::new();
        dataspace(&mut space, &[scale.size], &[if scale.may_grow { UNLIMITED } else { scale.size }])?;
        messages.put(kind::DATASPACE, space.as_slice())?;
        let mut of = Bytes::new();
        datatype::float(&mut of, 4, true)?;
        messages.put(kind::DATATYPE, of.as_slice())?;
        let mut fill = Bytes::new();
        fill_value(&mut fill, &[], scale.may_grow)?;
        messages.put(kind::FILL_VALUE, fill.as_slice())?;
        let mut layout = Bytes::new();
        if scale.may_grow {
            let index = ChunkIndex::Tree(node_bytes(crate::chunks::Entry::Plain, 1));
            chunked(&mut layout, &[1024], 4, index, UNDEFINED)?;
        } else {
            let bytes =
                product(scale.size, 4).ok_or_else(|| Error::range("HDF5: a dimension is too long"))?;
            layout.put(&[3, 1])?;
            layout.long(UNDEFINED)?;
            layout.long(bytes)?;
        }
        messages.put(kind::LAYOUT, layout.as_slice())?;
        let name = format!("This is a netCDF dimension but not a netCDF variable.{:10}", scale.size);
        self.finish(messages, &scale_attributes(name))
    }

    /// Puts an array and its data.
    fn array(&mut self, array: &Array) -> Result<u64> {
        let data = self.out.put(&array.bytes)?;
        let mut messages = Messages::new();
        let mut space = Bytes::new();
        dataspace(&mut space, &array.shape, &array.shape)?;
        messages.put(kind::DATASPACE, space.as_slice())?;
        let mut of = Bytes::new();
        datatype::data_type(&mut of, array.data_type, false)?;
        messages.put(kind::DATATYPE, of.as_slice())?;
        let mut fill = Bytes::new();
        fill_value(&mut fill, &[], false)?;
        messages.put(kind::FILL_VALUE, fill.as_slice())?;
        let mut layout = Bytes::new();
        contiguous(&mut layout, data, array.bytes.len() as u64)?;
        messages.put(kind::LAYOUT, layout.as_slice())?;
        self.finish(messages, &array.attributes)
    }

    /// Puts an object with these messages and attributes.
    fn finish(&mut self, mut messages: Messages, attributes: &[(String, Value)]) -> Result<u64> {
        for (name, value) in attributes {
            attribute::put(&mut messages, &mut self.out, &mut self.heap, name, value)?;
        }
        self.out.put(messages.header()?.as_slice())
    }

    /// Puts all groups, the inner ones first; the address of the root.
    fn groups(
        &mut self,
        groups: BTreeMap<String, Vec<(String, Value)>>,
        soft_links: BTreeMap<String, String>,
    ) -> Result<u64> {
        let mut links: HashMap<String, Vec<(String, Target)>> = HashMap::new();
        for (path, target) in soft_links {
            if !self.addresses.contains_key(&path) && !groups.contains_key(&path) {
                link(&mut links, &path, Target::Path(target))?;
            }
        }
        for (path, &address) in &self.addresses {
            link(&mut links, path, Target::Object(address))?;
        }
        let mut by_depth: Vec<(String, Vec<(String, Value)>)> = groups.into_iter().collect();
        by_depth.sort_by_key(|(path, _)| {
            std::cmp::Reverse(if path.is_empty() { 0 } else { path.split('/').count() })
        });
        let mut root = UNDEFINED;
        for (path, attributes) in by_depth {
            let mut others = Messages::new();
            if path.is_empty() {
                others.forbid_writing()?;
            }
            for (name, value) in &attributes {
                attribute::put(&mut others, &mut self.out, &mut self.heap, name, value)?;
            }
            let mut own = links.remove(&path).unwrap_or_default();
            own.sort_unstable();
            let address = group::put(&mut self.out, &own, &others)?;
            if path.is_empty() {
                root = address;
            } else {
                link(&mut links, &path, Target::Object(address))?;
            }
        }
        Ok(root)
    }
}

/// Notes a link for the group of its path.
fn link(links: &mut HashMap<String, Vec<(String, Target)>>, path: &str, target: Target) -> Result<()> {
    let (group, name) = split(path);
    let links = links.entry(group.to_owned()).or_default();
    reserve(links, 1)?;
    links.push((name.to_owned(), target));
    Ok(())
}

fn scale_attributes(name: String) -> Vec<(String, Value)> {
    vec![
        ("CLASS".to_owned(), Value::FixedText("DIMENSION_SCALE".to_owned())),
        ("NAME".to_owned(), Value::FixedText(name)),
    ]
}

/// The attributes of CF that tell what times are; none for units that CF has no name for.
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
