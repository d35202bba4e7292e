//! Determines which record a section is among those of its user string.

use super::Lookup;
use super::in_seals::{names_begin, names_end};
use crate::file::reader::local_reader::ReadsLocally;
use crate::file::team::Failure;
use scda_base::error::Result;
use scda_base::memory::reserve_count;
use scda_format::crc;

/// The hash of the user string of each section of the file, with the number of the section, sorted. Names of which this is the same are
/// as good as impossible: then only a number in a list would be wrong.
pub(super) struct NumberedNames(Vec<(u64, u64)>);

impl Lookup<'_> {
    /// Which record of its user string the section of this number is, from 0, and how many there are. Collective.
    pub fn record_of(&mut self, number: u64, user: &[u8]) -> Result<(u64, u64), Failure> {
        let [record, records] = self.look_up(|this| {
            let hash = crc::of(user);
            let NumberedNames(all) = this.numbered_names()?;
            let first = all.partition_point(|&(found, _)| found < hash);
            let same = &all[first..first + all[first..].partition_point(|&(found, _)| found == hash)];
            let record = same.partition_point(|&(_, other)| other < number);
            Ok([record, same.len()].map(|count| count as u64))
        })?;
        Ok((record, records))
    }

    /// The names of all sections; of a file that is walked, as far as that is possible.
    fn numbered_names(&mut self) -> Result<&NumberedNames> {
        if self.cache.records.is_none() {
            let mut all = Vec::new();
            if self.sections.is_sealed() {
                self.take_names_of_seals(&mut all)?;
            } else {
                match self.cache.walk.reach(self.sections, u64::MAX) {
                    // Who comes there gets the error.
                    Err(error) if error.kind().is_of_file() => {}
                    walked => walked?,
                }
                reserve_count(&mut all, self.cache.walk.len())?;
                all.extend(self.cache.walk.hashes().zip(0..));
            }
            all.sort_unstable();
            self.cache.records = Some(NumberedNames(all));
        }
        Ok(self.cache.records.get_or_insert(NumberedNames(Vec::new())))
    }

    fn take_names_of_seals(&mut self, all: &mut Vec<(u64, u64)>) -> Result<()> {
        for number in 0.. {
            let Some(piece) = self.sections.seals().group_of_seals(number)? else { break };
            let (first, end) = (names_begin(&piece), names_end(&piece));
            reserve_count(all, end.saturating_sub(first))?;
            for at in first..end {
                let (user, section) = self.seals().sorted_name(&piece, at)?;
                all.push((crc::of(&user), section));
            }
        }
        Ok(())
    }
}
