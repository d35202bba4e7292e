//! Chooses the sections that `scda copy` copies, and those that it replaces.

use crate::check::VerifyingReader;
use crate::datasets::{Item, Walk};
use crate::fail::{Fail, Result};
use crate::files::{Input, OutputFile, Resources};
use crate::progress::Progress;
use crate::select::{self, Selection};
use crate::steps::{Place, StepSelection};
use crate::transfer::TransferOptions;
use scda::Reader;
use std::ops::AddAssign;
use std::path::Path;

/// Totals of what was copied.
#[derive(Clone, Copy, Default)]
pub struct CopyTotals {
    pub sections: u64,
    /// The bytes that these sections have in the files that they come from.
    pub bytes: u64,
}

impl AddAssign for CopyTotals {
    fn add_assign(&mut self, other: Self) {
        self.sections += other.sections;
        self.bytes += other.bytes;
    }
}

/// Which sections are copied.
pub struct SectionChoice<'a> {
    pub select: &'a [Selection],
    delete: &'a [Selection],
    /// How many sections each selection has left out.
    deleted: Vec<u64>,
    pub replace: Vec<Replacement>,
    /// Which of them the steps need that are copied.
    pub steps: Option<StepSelection<'a>>,
}

impl<'a> SectionChoice<'a> {
    pub fn new(select: &'a [Selection], delete: &'a [Selection]) -> Self {
        Self { select, delete, deleted: vec![0; delete.len()], replace: Vec::new(), steps: None }
    }

    /// The reader has read the header of the item.
    pub fn wants(&mut self, item: &Item, reader: &mut Reader) -> Result<bool> {
        if !select::any_of(self.select, item, Some(&mut *reader))?
            || self.steps.as_ref().is_some_and(|steps| steps.drops(item))
        {
            return Ok(false);
        }
        let mut is_wanted = true;
        for (selection, deleted) in self.delete.iter().zip(&mut self.deleted) {
            if select::any_of(std::slice::from_ref(selection), item, Some(&mut *reader))? {
                *deleted += 1;
                is_wanted = false;
            }
        }
        Ok(is_wanted)
    }

    /// What comes in its place.
    pub fn replacement(&mut self, item: &Item) -> Result<Option<&mut Replacement>> {
        let name: &[u8] = item.user();
        Ok(self.replace.iter_mut().find(|replacement| replacement.name.as_bytes() == name))
    }

    /// Writes what stands elsewhere and is needed after this item.
    pub fn write_moved(
        &mut self,
        item: &Item,
        output: &mut OutputFile,
        way: TransferOptions<'_>,
        progress: &mut Progress,
    ) -> Result<CopyTotals> {
        let mut copied = CopyTotals::default();
        if let Some(steps) = &mut self.steps {
            for place in steps.moved_after(item) {
                let from = steps.source()?;
                copied += write_at(from, place, output, way, progress)?;
            }
        }
        Ok(copied)
    }

    /// Trouble if something is not there that was to be deleted or replaced.
    pub fn check(&self, name: &str) -> Result<()> {
        if let Some(place) = self.deleted.iter().position(|&count| count == 0) {
            let selection = &self.delete[place];
            return Err(Fail::file(name, format_args!("--delete: {selection} names no section of it")));
        }
        self.replace.iter().try_for_each(|replacement| {
            let Replacement { name: what, places, used, .. } = replacement;
            let (other, there) = (replacement.input.name(), places.len());
            match *used == there {
                true => Ok(()),
                false => Err(Fail::file(
                    name,
                    format_args!("--replace: of {what} it has {used}, but {other} has {there}"),
                )),
            }
        })
    }
}

/// Sections or datasets of another file that come in place of those of the same name, in order.
pub struct Replacement {
    name: String,
    pub input: Input,
    from: VerifyingReader,
    /// Where each begins, and how many sections are before it.
    places: Vec<(u64, u64)>,
    used: usize,
}

impl Replacement {
    /// As NAME=FILE says. Sets of streams that are packed count as one, however many parts they have.
    pub fn new(text: &str, packs_streams: bool, resources: &Resources) -> Result<Self> {
        let (name, file) = text
            .split_once('=')
            .ok_or_else(|| Fail::Trouble(format!("--replace: found \"{text}\", expected NAME=FILE")))?;
        let input = Input::new(Path::new(file), resources)?;
        let mut from = VerifyingReader::new(&input)?;
        let mut walk = Walk::with_streams(&input);
        let mut places = Vec::new();
        while let Some(item) = from.next(&mut walk)? {
            let user: &[u8] = item.user();
            let is_later_part = item.streams.as_ref().is_some_and(|found| found.streams.part() > 0);
            // One without those before it is an error when it is packed.
            let is_packed = packs_streams && is_later_part && !places.is_empty();
            if user == name.as_bytes() && !is_packed {
                places.push((item.section.offset, item.number - 1));
            }
            from.skip(&item)?;
        }
        if places.is_empty() {
            return Err(Fail::file(
                input.name(),
                format_args!("--replace: there is no section or dataset named {name}"),
            ));
        }
        Ok(Self { name: name.to_owned(), input, from, places, used: 0 })
    }

    /// Writes the next one.
    pub fn write(
        &mut self,
        output: &mut OutputFile,
        way: TransferOptions<'_>,
        progress: &mut Progress,
    ) -> Result<()> {
        self.used += 1;
        // If there are too few, the end of the command says so.
        let Some(&(offset, before)) = self.places.get(self.used - 1) else { return Ok(()) };
        let place = Place { offset, before };
        write_at((&self.input, &mut self.from), place, output, way, progress).map(drop)
    }
}

/// Writes the section or dataset at a place of a file.
fn write_at(
    (input, from): (&Input, &mut VerifyingReader),
    Place { offset, before }: Place,
    output: &mut OutputFile,
    way: TransferOptions<'_>,
    progress: &mut Progress,
) -> Result<CopyTotals> {
    from.reader.seek(offset)?;
    let mut walk = Walk::with_streams(input);
    walk.number = before;
    let item = from.next(&mut walk)?.ok_or_else(|| Fail::file(input.name(), "the file has changed"))?;
    from.check(input, &item, output.is_sealed(), progress)?;
    way.item(&mut from.reader, &mut walk, &item, output, progress)?;
    let end = from.reader.position().unwrap_or(offset);
    Ok(CopyTotals { sections: item.last() + 1 - item.number, bytes: end - offset })
}
