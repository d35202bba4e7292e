//! Pairs the contents of two files for comparison: those of the same kind and name.

use super::report::Location;
use crate::datasets::{Addition, AdditionName, Item, Walk, added_to};
use crate::fail::{Fail, Result};
use crate::files::Input;
use scda::{Content, Reader, Section, Streams};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// The kind of an item. Items of different kinds are not compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum EntryKind {
    Section,
    /// An addition to a dataset that this library does not know.
    AdditionName(Addition),
    Dataset,
    Streams,
    /// A part of streams whose first part is missing.
    Part,
}

/// A kind and a name.
type Key = (EntryKind, Vec<u8>);

/// The beginning of an item.
#[derive(Clone, Copy)]
pub struct EntryStart {
    /// The number of sections before it.
    before: u64,
    offset: u64,
}

/// A file in a comparison.
pub struct Side<'a> {
    pub reader: Reader,
    walk: Walk<'a>,
    /// True if the walk has reached the end: going back does not change that.
    is_over: bool,
    /// The sets of streams up to here, each with its place, and the last one of each name.
    sets: Vec<(EntryStart, Streams)>,
    last_sets: HashMap<Vec<u8>, usize>,
    /// The last attributes of each group up to here, which are the ones that apply.
    groups: BTreeMap<String, EntryStart>,
}

impl<'a> Side<'a> {
    pub fn new(input: &'a Input) -> Result<Self> {
        let walk = Walk::with_streams(input);
        let (sets, last_sets, groups) = Default::default();
        Ok(Self { reader: input.open_damaged(false)?, walk, is_over: false, sets, last_sets, groups })
    }

    fn key_of(&self, item: &Item) -> Key {
        match &item.content {
            Content::Dataset(dataset) => (EntryKind::Dataset, dataset.name.clone().into_bytes()),
            Content::Streams(streams) => {
                let kind = if streams.part() > 0 { EntryKind::Part } else { EntryKind::Streams };
                (kind, streams.name().to_vec())
            }
            _ => match self.addition(&item.section) {
                Some((addition, user)) => (EntryKind::AdditionName(addition), user),
                None => (EntryKind::Section, item.section.user.to_vec()),
            },
        }
    }

    /// The addition in a section to a dataset before, and the user string of that dataset. The section's own user
    /// string also has the dataset's offset, which does not matter.
    pub fn addition(&self, section: &Section) -> Option<(Addition, Vec<u8>)> {
        let AdditionName { addition, data } = added_to(section.section_type, &section.user)?;
        Some((addition, self.walk.passed(data)?.to_vec()))
    }

    /// The next item other than a group. Adds further parts of streams to earlier ones.
    fn next(&mut self) -> Result<Option<Item>> {
        while !self.is_over {
            let Some(item) = self.walk.next(&mut self.reader)? else { break };
            if let Content::Group(group) = &item.content {
                self.groups.insert(group.path.clone(), EntryStart::of(&item));
                item.skip(&mut self.reader)?;
                continue;
            }
            let Content::Streams(streams) = &item.content else { return Ok(Some(item)) };
            let name = streams.name().to_vec();
            if streams.part() == 0 {
                self.last_sets.insert(name, self.sets.len());
                self.sets.push((EntryStart::of(&item), streams.clone()));
                return Ok(Some(item));
            }
            let Some(&last) = self.last_sets.get(&name) else { return Ok(Some(item)) };
            let extended = self.sets[last].1.extend(streams);
            extended.map_err(|error| Fail::file(self.walk.file_name(), error))?;
            item.skip(&mut self.reader)?;
        }
        self.is_over = true;
        Ok(None)
    }

    /// Goes back to an item.
    pub fn again(&mut self, place: EntryStart) -> Result<Item> {
        self.reader.seek(place.offset)?;
        self.walk.number = place.before;
        let item = self.walk.next(&mut self.reader)?;
        item.ok_or_else(|| Fail::file(self.walk.file_name(), "was changed by another program"))
    }

    /// The place after an item.
    fn after(&mut self, item: &Item) -> Result<EntryStart> {
        item.skip(&mut self.reader)?;
        Ok(EntryStart { before: item.last(), offset: self.reader.position().unwrap_or(0) })
    }

    fn go_on(&mut self, place: EntryStart) -> Result<()> {
        self.walk.number = place.before;
        Ok(self.reader.seek(place.offset)?)
    }

    /// The set that begins here.
    pub fn set(&self, place: EntryStart) -> Option<&Streams> {
        let found = self.sets.binary_search_by_key(&place.before, |(place, _)| place.before);
        found.ok().map(|index| &self.sets[index].1)
    }
}

impl EntryStart {
    fn of(item: &Item) -> Self {
        Self { before: item.number - 1, offset: item.section.offset }
    }
}

/// The items of one key so far.
#[derive(Default)]
struct Occurrences {
    /// Their number in the first file, and in the second one.
    counts: [u64; 2],
    /// Items without a counterpart so far, in the file that has more.
    waiting: VecDeque<EntryStart>,
}

/// An item that only one file has.
pub struct UnmatchedEntry {
    pub place: EntryStart,
    pub is_first: bool,
    pub record: u64,
}

/// Two sets of streams with one name, which are compared once all their parts are known.
pub struct Sets {
    pub places: (EntryStart, EntryStart),
    pub at: Location,
}

/// Two files that are walked together.
pub struct PairedWalk<'a> {
    pub a: Side<'a>,
    pub b: Side<'a>,
    met: HashMap<Key, Occurrences>,
    pub sets: Vec<Sets>,
}

impl<'a> PairedWalk<'a> {
    pub fn new(a: Side<'a>, b: Side<'a>) -> Self {
        Self { a, b, met: HashMap::new(), sets: Vec::new() }
    }

    /// Advances by an item in each file, and passes pairs to `compare`. Returns false at the end, and if `compare`
    /// stops.
    pub fn step(
        &mut self,
        compare: &mut impl FnMut(&mut Side<'a>, &mut Side<'a>, &Item, &Item, &Location) -> Result<bool>,
    ) -> Result<bool> {
        let (x, y) = (self.a.next()?, self.b.next()?);
        if let (Some(x), Some(y)) = (&x, &y) {
            let key = self.a.key_of(x);
            let met = self.met.entry(key.clone()).or_default();
            if met.waiting.is_empty() && key == self.b.key_of(y) {
                let record = met.counts[0];
                met.counts = [record + 1; 2];
                return match key.0 {
                    EntryKind::Streams => {
                        self.pair_sets((EntryStart::of(x), EntryStart::of(y)), record);
                        x.skip(&mut self.a.reader)?;
                        y.skip(&mut self.b.reader)?;
                        Ok(true)
                    }
                    _ => {
                        let at = at((x, y), record);
                        compare(&mut self.a, &mut self.b, x, y, &at)
                    }
                };
            }
        }
        let after_x = x.as_ref().map(|item| self.a.after(item)).transpose()?;
        let after_y = y.as_ref().map(|item| self.b.after(item)).transpose()?;
        for (item, side) in [(&x, 0), (&y, 1)] {
            if let Some(item) = item
                && !self.meet(item, side, compare)?
            {
                return Ok(false);
            }
        }
        after_x.map_or(Ok(()), |place| self.a.go_on(place))?;
        after_y.map_or(Ok(()), |place| self.b.go_on(place))?;
        Ok(x.is_some() || y.is_some())
    }

    /// Compares an item of this file with the one that waits for it, or lets it wait.
    fn meet(
        &mut self,
        item: &Item,
        side: usize,
        compare: &mut impl FnMut(&mut Side<'a>, &mut Side<'a>, &Item, &Item, &Location) -> Result<bool>,
    ) -> Result<bool> {
        let key = if side == 0 { self.a.key_of(item) } else { self.b.key_of(item) };
        let here = EntryStart::of(item);
        let is_set = key.0 == EntryKind::Streams;
        let met = self.met.entry(key).or_default();
        let record = met.counts[side];
        met.counts[side] += 1;
        let there = if met.counts[1 - side] > record { met.waiting.pop_front() } else { None };
        let Some(there) = there else {
            met.waiting.push_back(here);
            return Ok(true);
        };
        let places = if side == 0 { (here, there) } else { (there, here) };
        if is_set {
            self.pair_sets(places, record);
            return Ok(true);
        }
        let (x, y) = (self.a.again(places.0)?, self.b.again(places.1)?);
        let at = at((&x, &y), record);
        compare(&mut self.a, &mut self.b, &x, &y, &at)
    }

    fn pair_sets(&mut self, places: (EntryStart, EntryStart), record: u64) {
        // The chunks have the name, and follow the block.
        let numbers = (places.0.before + 2, places.1.before + 2);
        self.sets.push(Sets { places, at: Location { numbers, record } });
    }

    /// The places of the attributes of groups that both files have; call it at the end.
    pub fn groups(&self) -> Vec<(EntryStart, EntryStart)> {
        let (a, b) = (&self.a.groups, &self.b.groups);
        a.iter().filter_map(|(path, &place)| Some((place, *b.get(path)?))).collect()
    }

    /// The items without a counterpart, first those of the first file; call it at the end.
    pub fn alone(&mut self) -> Vec<UnmatchedEntry> {
        let mut all = Vec::new();
        for (_, met) in self.met.drain() {
            let is_first = met.counts[0] > met.counts[1];
            let most = met.counts[0].max(met.counts[1]);
            let from = most - met.waiting.len() as u64;
            all.extend(met.waiting.iter().zip(from..).map(|(&place, record)| UnmatchedEntry {
                place,
                is_first,
                record,
            }));
        }
        for (is_first, own, other) in [(true, &self.a, &self.b), (false, &self.b, &self.a)] {
            let alone = own.groups.iter().filter(|(path, _)| !other.groups.contains_key(*path));
            all.extend(alone.map(|(_, &place)| UnmatchedEntry { place, is_first, record: 0 }));
        }
        all.sort_by_key(|one| (!one.is_first, one.place.before));
        all
    }
}

fn at((x, y): (&Item, &Item), record: u64) -> Location {
    Location { numbers: (super::main_number(x), super::main_number(y)), record }
}
