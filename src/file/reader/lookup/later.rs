//! Where attributes of datasets stand that were set later (docs/datasets.md).

use super::Lookup;
use crate::error::Result;
use crate::file::reader::alone::ReadsAlone;
use crate::file::team::Failure;
use crate::format::dataset::later::{ATTRIBUTES_CONVENTION, later_user};

/// What is known of attributes of a dataset that were set later.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::file::reader) enum Later {
    /// There are none.
    None,
    /// No dataset behind this one has any, either.
    NoneBehind,
    /// They begin at this offset of the file, with an inline section.
    At(u64),
}

impl Later {
    /// For all ranks. No section begins at these offsets.
    pub(super) fn word(self) -> u64 {
        match self {
            Self::None => 0,
            Self::NoneBehind => 1,
            Self::At(offset) => offset,
        }
    }

    /// See [`Self::word`].
    pub(super) fn of(word: u64) -> Self {
        match word {
            0 => Self::None,
            1 => Self::NoneBehind,
            offset => Self::At(offset),
        }
    }
}

impl Lookup<'_> {
    /// Where attributes stand that were set later of the dataset whose data begin at this offset, with this user string. Collective.
    pub fn later(&mut self, data: u64, user: &[u8]) -> Result<Later, Failure> {
        if !self.may_be_later(data) {
            return Ok(Later::NoneBehind);
        }
        let [word] = self.look_up(|this| Ok([this.find_later(data, user, |_| Ok(data))?.word()]))?;
        Ok(Later::of(word))
    }

    /// Notes on all ranks what was found of the dataset whose data begin at this offset.
    pub fn note_later(&mut self, data: u64, later: Later) {
        if later == Later::NoneBehind {
            self.cache.none_later = Some(self.cache.none_later.map_or(data, |none| none.min(data)));
        }
    }

    /// Whether attributes may stand behind this offset.
    fn may_be_later(&self, data: u64) -> bool {
        self.sections.is_sealed() && self.cache.none_later.is_none_or(|none| data < none)
    }

    /// As [`Self::later`], on this rank alone. The dataset begins at offset `start` or before; where its data do is looked up only if
    /// need be.
    pub(super) fn find_later(
        &mut self,
        start: u64,
        user: &[u8],
        data: impl FnOnce(&mut Self) -> Result<u64>,
    ) -> Result<Later> {
        // In a file where none were set later, one look-up tells so of all datasets.
        if !self.may_be_later(start) || self.find_behind(ATTRIBUTES_CONVENTION, start)?.is_none() {
            return Ok(Later::NoneBehind);
        }
        let data = data(self)?;
        let Ok(name) = std::str::from_utf8(user) else { return Ok(Later::None) };
        let Some(block) = self.find_behind(later_user(data, name).as_bytes(), data)? else {
            return Ok(Later::None);
        };
        Ok(Later::At(self.offset_of(block.saturating_sub(1))?))
    }
}
