//! Lists the names of datasets and groups from the indexes of a sealed file, without reading their sections.

use super::Lookup;
use crate::file::reader::local_reader::ReadsLocally;
use crate::file::team::{Failure, Function};
use scda_base::error::Result;
use scda_base::memory::{copy, reserve, resize};
use scda_format::crc;
use scda_format::dataset::{DATASET_CONVENTION, GROUP_CONVENTION};
use scda_format::names::Name;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The name of one or more datasets, or the path of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryName {
    /// The user string: the name or path itself, unless that is too long for one (docs/datasets.md, "Long names").
    pub user: Vec<u8>,
    /// Whether it is the path of a group.
    pub is_group: bool,
    /// The number of the section, for [`Reader::next_entry`](crate::Reader::next_entry), at which the first
    /// dataset of this name begins; of a group, its last attributes.
    pub number: u64,
}

/// The bytes that precede each user string when names are sent to other ranks.
const HEAD_BYTES: usize = 10;

impl Lookup<'_> {
    /// The names of all datasets and groups, each once, in the order of their numbers. `None` if the indexes
    /// do not suffice because the file is not sealed or an index is damaged. Collective.
    pub fn names(&mut self) -> Result<Option<Vec<EntryName>>, Failure> {
        self.team().note_call(Function::Sections);
        if !self.sections.is_sealed() {
            return Ok(None);
        }
        let found = self.look_up_own(|this| {
            let mut bytes = vec![0];
            match this.names_of_indexes() {
                Err(error) if error.kind().is_of_file() => {}
                Err(error) => return Err(error),
                Ok(names) => {
                    let room = |name: &EntryName| HEAD_BYTES + name.user.len();
                    reserve(&mut bytes, names.iter().map(room).sum())?;
                    bytes[0] = 1;
                    for EntryName { user, is_group, number } in names {
                        // A user string has at most 58 bytes.
                        bytes.extend([user.len().to_le_bytes()[0], u8::from(is_group)]);
                        bytes.extend(number.to_le_bytes());
                        bytes.extend(user);
                    }
                }
            }
            Ok(bytes)
        });
        let bytes = self.share_bytes(found.map(Option::unwrap_or_default), |_| Ok(()))?;
        let Some((1, mut rest)) = bytes.split_first().map(|(&first, rest)| (first, rest)) else {
            return Ok(None);
        };
        let mut names = Vec::new();
        while let Some((head, after)) = rest.split_first_chunk::<HEAD_BYTES>() {
            let [length, is_group, number @ ..] = *head;
            let number = u64::from_le_bytes(number);
            let (user, after) = after.split_at(after.len().min(length.into()));
            names.push(EntryName { user: user.to_vec(), is_group: is_group > 0, number });
            rest = after;
        }
        Ok(Some(names))
    }

    /// Like [`Self::names`], on this rank alone. A wrong checksum is also an error.
    fn names_of_indexes(&mut self) -> Result<Vec<EntryName>> {
        let conventions = [crc::of(DATASET_CONVENTION), crc::of(GROUP_CONVENTION)];
        // The hash of each section's user string, by section number, and the user strings.
        let (mut hashes, mut users) = (Vec::new(), HashMap::new());
        let count = self.count_sections()?;
        resize(&mut hashes, count)?;
        for number in 0.. {
            let Some(group) = self.sections.seals().group(number)? else { break };
            let is_right = self.sections.seals().scan_names(number, |Name { user, number, .. }| {
                let hash = crc::of(&user);
                let place = usize::try_from(number).ok().and_then(|number| hashes.get_mut(number));
                place.into_iter().for_each(|place| *place = hash);
                if let Entry::Vacant(room) = users.entry(hash) {
                    room.insert(copy(&user)?);
                }
                Ok(())
            })?;
            if !is_right {
                return Err(group.damaged());
            }
        }
        let (mut names, mut known) = (Vec::new(), HashMap::new());
        for (number, pair) in (0..).zip(hashes.windows(2)) {
            let &[convention, hash] = pair else { continue };
            if !conventions.contains(&convention) {
                continue;
            }
            let is_group = convention == conventions[1];
            let place = *known.entry((hash, is_group)).or_insert(names.len());
            if place == names.len() {
                reserve(&mut names, 1)?;
                let user = users.get(&hash).cloned().unwrap_or_default();
                names.push(EntryName { user, is_group, number });
            } else if is_group {
                names[place].number = number;
            }
        }
        names.sort_by_key(|name| name.number);
        Ok(names)
    }
}
