//! Finds attributes and rows that were added to datasets later (docs/datasets.md).

use super::Lookup;
use crate::file::reader::local_reader::ReadsLocally;
use crate::file::team::Failure;
use scda_base::error::Result;
use scda_base::memory::push;
use scda_format::dataset::additions::Addition;

/// What is known about the additions to a dataset.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::file::reader) struct Later {
    pub attributes: LastAddition,
    pub rows: LastAddition,
}

impl Later {
    /// No additions.
    pub const NONE: Self = Self { attributes: LastAddition::None, rows: LastAddition::None };

    /// As words, to be sent to all ranks.
    pub(super) fn words(self) -> [u64; 2] {
        [self.attributes, self.rows].map(LastAddition::word)
    }

    /// See [`Self::words`].
    pub(super) fn of(words: [u64; 2]) -> Self {
        let [attributes, rows] = words.map(LastAddition::of);
        Self { attributes, rows }
    }
}

/// The additions of one kind to a dataset.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::file::reader) enum LastAddition {
    /// None.
    None,
    /// None, neither to this dataset nor to any after it.
    NoAdditionsAfter,
    /// The last one is at this offset of the file.
    At(u64),
}

impl LastAddition {
    /// As a word, to be sent to all ranks. No section begins at the offsets that stand for the other two.
    fn word(self) -> u64 {
        match self {
            Self::None => 0,
            Self::NoAdditionsAfter => 1,
            Self::At(offset) => offset,
        }
    }

    /// See [`Self::word`].
    fn of(word: u64) -> Self {
        match word {
            0 => Self::None,
            1 => Self::NoAdditionsAfter,
            offset => Self::At(offset),
        }
    }
}

/// The offset from which on the file has no additions to datasets; the same on all ranks.
pub(super) struct NoAdditionsAfter {
    attributes: u64,
    rows: u64,
}

impl Default for NoAdditionsAfter {
    /// Nothing is known.
    fn default() -> Self {
        Self { attributes: u64::MAX, rows: u64::MAX }
    }
}

impl NoAdditionsAfter {
    fn of(&mut self, kind: Addition) -> &mut u64 {
        match kind {
            Addition::Attributes => &mut self.attributes,
            Addition::Rows => &mut self.rows,
        }
    }
}

impl Lookup<'_> {
    /// Finds the additions to the dataset whose data are at this offset with this user string. Collective.
    pub fn later(&mut self, data: u64, user: &[u8]) -> Result<Later, Failure> {
        if !self.may_be_later(Addition::Attributes, data) && !self.may_be_later(Addition::Rows, data) {
            return Ok(Later {
                attributes: LastAddition::NoAdditionsAfter,
                rows: LastAddition::NoAdditionsAfter,
            });
        }
        let words = self.look_up(|this| Ok(this.find_later(data, user, |_| Ok(data))?.words()))?;
        Ok(Later::of(words))
    }

    /// Remembers, on all ranks, what was found for the dataset whose data are at this offset.
    pub fn note_later(&mut self, data: u64, later: Later) {
        for (kind, added) in [(Addition::Attributes, later.attributes), (Addition::Rows, later.rows)] {
            if matches!(added, LastAddition::NoAdditionsAfter) {
                let none = self.cache.none_later.of(kind);
                *none = data.min(*none);
            }
        }
    }

    /// Whether additions may follow this offset.
    fn may_be_later(&mut self, kind: Addition, data: u64) -> bool {
        self.is_sealed() && data < *self.cache.none_later.of(kind)
    }

    /// Like [`Self::later`], on this rank alone. The dataset begins at `start` or before it; the offset of
    /// its data is looked up only if needed.
    pub(super) fn find_later(
        &mut self,
        start: u64,
        user: &[u8],
        mut data: impl FnMut(&mut Self) -> Result<u64>,
    ) -> Result<Later> {
        Ok(Later {
            attributes: self.find_added(Addition::Attributes, start, user, &mut data)?,
            rows: self.find_added(Addition::Rows, start, user, &mut data)?,
        })
    }

    fn find_added(
        &mut self,
        kind: Addition,
        start: u64,
        user: &[u8],
        mut data: impl FnMut(&mut Self) -> Result<u64>,
    ) -> Result<LastAddition> {
        let name = std::str::from_utf8(user).ok();
        let mut last = |this: &mut Self, is_new: bool| -> Result<LastAddition> {
            let (Some(name), data) = (name, data(this)?) else { return Ok(LastAddition::None) };
            let user = kind.user(data, name);
            let second = match is_new {
                true => {
                    this.cache.unsealed.as_ref().and_then(|new| new.named(user.as_bytes()).last().copied())
                }
                false => this.seals().find_after(user.as_bytes(), data)?,
            };
            let Some(second) = second else { return Ok(LastAddition::None) };
            Ok(LastAddition::At(this.offset_of(second.saturating_sub(1))?))
        };
        if self.cache.unsealed.is_some()
            && let found @ LastAddition::At(_) = last(self, true)?
        {
            return Ok(found);
        }
        // In a file without additions, one look-up settles this for all datasets.
        if !self.may_be_later(kind, start) || self.seals().find_after(kind.convention(), start)?.is_none() {
            return Ok(LastAddition::NoAdditionsAfter);
        }
        last(self, false)
    }

    /// The offsets of all pairs after `data` whose second section has this user string, in their order.
    /// Collective.
    pub fn pairs_after(&mut self, user: &[u8], data: u64) -> Result<Vec<u64>, Failure> {
        let found = self.look_up_own(|this| {
            let mut pairs = Vec::new();
            for number in this.seals().all(user)? {
                if this.offset_of(number)? > data {
                    push(&mut pairs, this.offset_of(number.saturating_sub(1))?)?;
                }
            }
            Ok(pairs)
        });
        self.share_numbers(found.map(Option::unwrap_or_default))
    }
}
