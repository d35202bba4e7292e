//! Determines the record number of a section among those with the same user string.

use super::Lookup;
use super::names::NamesByHash;
use crate::file::reader::local_reader::ReadsLocally;
use crate::file::team::Failure;
use scda_base::error::Result;
use scda_base::memory::reserve_count;
use scda_format::crc;

/// The names of all sections of a file.
pub(super) struct AllNames {
    names: NamesByHash,
    /// Whether the file is sealed, and the checksums of its indexes are right.
    is_checked: bool,
}

impl AllNames {
    /// The names, if they are known to be complete and right.
    pub fn checked(&self) -> Option<&NamesByHash> {
        self.is_checked.then_some(&self.names)
    }
}

impl Lookup<'_> {
    /// The record number of this section among those of its user string, from 0, and the number of these.
    /// Collective.
    pub fn record_of(&mut self, number: u64, user: &[u8]) -> Result<(u64, u64), Failure> {
        let [record, records] = self.look_up(|this| {
            let same = this.list()?.names.sections_of(user, 0..u64::MAX);
            let record = same.partition_point(|&(_, other)| other < number);
            Ok([record, same.len()].map(|count| count as u64))
        })?;
        Ok((record, records))
    }

    /// The names of all sections; of a file without a seal, as far as it can be walked.
    fn list(&mut self) -> Result<&AllNames> {
        let listed = match self.cache.listed.take() {
            Some(listed) => listed,
            None => self.listed_names()?,
        };
        Ok(self.cache.listed.insert(listed))
    }

    fn listed_names(&mut self) -> Result<AllNames> {
        let (mut all, mut is_checked) = (Vec::new(), self.sections.is_sealed());
        if !is_checked {
            match self.cache.walk.reach(self.sections, u64::MAX) {
                // The error is returned when that section is reached.
                Err(error) if error.kind().is_of_file() => {}
                walked => walked?,
            }
            reserve_count(&mut all, self.cache.walk.len())?;
            all.extend(self.cache.walk.hashes().zip(0..));
            return Ok(AllNames { names: NamesByHash::new(all), is_checked });
        }
        for number in 0.. {
            let Some(group) = self.sections.seals().group(number)? else { break };
            let numbers = group.sections();
            reserve_count(&mut all, numbers.end.saturating_sub(numbers.start))?;
            is_checked &= self.sections.seals().scan_names(number, |name| {
                all.push((crc::of(&name.user), name.number));
                Ok(())
            })?;
        }
        Ok(AllNames { names: NamesByHash::new(all), is_checked })
    }
}
