//! Reads boxes of datasets: rows, chunks and texts.

use super::chunks::ChunkRequests;
use super::selection::{Destination, OpenDataset, Selection};
use super::{BoxReader, BoxesMut};
use crate::file::reader::local_reader::ReadsLocally;
use crate::file::team::Failure;
use scda_base::error::Result;
use scda_format::dataset::stored_dataset::ElementKind;

impl BoxReader<'_> {
    /// Reads boxes of these datasets, together with other ranks where that saves work. A request of this rank
    /// may be an error.
    pub fn read(&mut self, all: &[&OpenDataset], mine: Vec<Result<BoxesMut<'_>>>) -> Result<(), Failure> {
        let (mut parts, mut targets) = (Vec::new(), Vec::new());
        let limits = &self.sections.params().tuning.limits;
        let mut mine = all.iter().zip(mine).enumerate().try_for_each(|(number, (open, mine))| {
            let (target, selections) = Destination::new(number, open, mine?, limits)?;
            parts.extend(selections);
            targets.push(target);
            Ok(())
        });
        if self.may_share(all) {
            mine = self.apart(|this, team| this.read_with_others(team, (&mut parts, &mut targets), mine))?;
        } else if mine.is_ok() {
            mine = self.alone(|this| Ok(this.read_parts(&mut parts, &mut targets)?));
        }
        let mine = mine.and_then(|()| targets.into_iter().try_for_each(Destination::finish));
        self.team().agree(mine).map(drop)
    }

    /// Reads the selections of this rank.
    pub(super) fn read_parts(
        &mut self,
        parts: &mut [Selection<'_>],
        targets: &mut [Destination<'_, '_>],
    ) -> Result<()> {
        let mut done = 0;
        while done < parts.len() {
            let parts = &mut parts[done..];
            let scattered = parts.iter().take_while(|part| part.is_scattered(&targets[part.number].room));
            match scattered.count() {
                0 => {
                    self.read_part(&mut parts[0], targets)?;
                    done += 1;
                }
                count => {
                    self.read_in_turns(&parts[..count], targets)?;
                    done += count;
                }
            }
        }
        Ok(())
    }

    /// Reads the selection of this rank in one section.
    pub(super) fn read_part(
        &mut self,
        part: &mut Selection<'_>,
        targets: &mut [Destination<'_, '_>],
    ) -> Result<()> {
        let room = &mut targets[part.number].room;
        match part.stored.elements {
            ElementKind::Rows => self.read_rows(part, room),
            _ => {
                let wants = ChunkRequests::new(part)?;
                self.read_chunks(part, wants, room)
            }
        }
    }
}
