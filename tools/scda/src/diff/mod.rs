//! `scda diff`: where two files differ.

mod datasets;
mod report;
mod sections;
mod streams;
mod walk;

use crate::data_batches::{DataBatches, units};
use crate::datasets::Item;
use crate::datasets::compare::Tolerance;
use crate::fail::{Fail, NO, Result, TROUBLE};
use crate::files::{Input, Resources};
use crate::output::{Output, quote};
use crate::progress::{self, Progress};
use crate::transfer::read_metadata;
use report::{Location, of_headers, of_items, only};
use scda::{Content, DatasetHandle, Reader, Section};
use serde_json::{Map, Value};
use std::path::PathBuf;
use walk::{PairedWalk, Side};

/// Compare the contents of two files
///
/// Compares datasets, streams and other sections of the same name, wherever they are in the files: the first
/// of each name with the first, the second with the second, and so on; and the current attributes of groups.
/// The order, compression, line breaks and the program that wrote a file do not count as differences. Lists
/// all differences, and what only one of the files has. With --quiet, stops reading at the first difference.
///
/// Of datasets, compares type, shape, names of dimensions, fill value, attributes and values, but not how
/// they are stored. Counts the items that differ, and prints the largest deviations of numbers; the relative
/// one is relative to the number in B. Without --rtol and --atol, values are equal if their bytes are: 0.0
/// differs from -0.0.
///
/// Compares a block with an array of its name, but a dataset only with a dataset, and streams only with
/// streams.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 the files are equal; 1 they differ; 2 a file could not be read or is not valid.

Examples:
  scda diff old.scda new.scda
  scda diff --quiet old.scda new.scda && echo the same
  scda diff --rtol 1e-12 old.scda new.scda    tolerate rounding errors")]
pub struct Args {
    /// The first file; - is standard input
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The second file; - is standard input
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Treat numbers a and b of datasets as equal if |a - b| <= ATOL + RTOL |b|, and NaN as equal to NaN
    /// [default: 0 with --atol]
    #[arg(long, value_name = "RTOL", allow_hyphen_values = true, value_parser = parse_tolerance)]
    rtol: Option<f64>,
    /// See --rtol [default: 0 with --rtol]
    #[arg(long, value_name = "ATOL", allow_hyphen_values = true, value_parser = parse_tolerance)]
    atol: Option<f64>,
    /// Print nothing, and stop at the first difference
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    resources: Resources,
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|&number: &f64| number >= 0.0 && number.is_finite());
    number.ok_or_else(|| "expected a number that is not negative".to_owned())
}

/// The number of a section, or for an item of several sections, of the one with its name.
fn main_number(item: &Item) -> u64 {
    item.number + u64::from(!item.others.is_empty())
}

/// Ends the current section. If it differs, reads it, because damaged data are not a difference but a failure.
fn end(reader: &mut Reader, section: &Section, args: &Args, is_unlike: bool) -> Result<()> {
    if is_unlike && !args.quiet {
        reader.seek(section.offset)?;
        reader.next_section(true)?;
        let mut batches = DataBatches::all(section);
        while batches.next(reader)? {}
    }
    Ok(reader.skip()?)
}

/// Ends the sections of an item that differs, like [`end`].
fn end_item(reader: &mut Reader, item: &Item, args: &Args) -> Result<()> {
    end(reader, &item.section, args, true)?;
    for _ in item.number..item.last() {
        if let Some(section) = reader.next_section(true)? {
            end(reader, &section, args, true)?;
        }
    }
    Ok(())
}

/// Two items of the same kind and name, whose headers were read.
struct ComparedPair<'a, 'b, 'c> {
    a: &'a mut Side<'b>,
    b: &'a mut Side<'c>,
    args: &'a Args,
}

impl ComparedPair<'_, '_, '_> {
    /// Compares the items, and skips them.
    fn compare(&mut self, at: &Location, x: &Item, y: &Item) -> Result<Vec<String>> {
        if let (Some(found), Some(other)) = (x.readable(), y.readable()) {
            let differences = self.datasets(at, found, other)?;
            x.skip(&mut self.a.reader)?;
            y.skip(&mut self.b.reader)?;
            return Ok(differences);
        }
        // If the data of a dataset cannot be read, its sections are compared.
        if x.readable().is_some() || y.readable().is_some() {
            end_item(&mut self.a.reader, x, self.args)?;
            end_item(&mut self.b.reader, y, self.args)?;
            return Ok(vec![of_items(at, x, y)]);
        }
        let at = Location { numbers: (x.number, y.number), record: at.record };
        let datasets = x.dataset().zip(y.dataset());
        let mut differences = match datasets {
            Some((found, other)) => self.metadata(&at, found, other)?,
            None => Vec::from_iter(self.sections(&at, &x.section, &y.section)?),
        };
        for number in 1..=x.last() - x.number {
            let next = (self.a.reader.next_section(true)?, self.b.reader.next_section(true)?);
            if let (Some(section), Some(other)) = next {
                differences.extend(self.sections(&at.plus(number), &section, &other)?);
            }
        }
        if let Some((found, other)) = datasets {
            if found.added_rows().count() != other.added_rows().count() {
                differences.push(of_items(&at, x, y));
            }
            differences.extend(self.rows(&at.plus(1), found, other)?);
        }
        Ok(differences)
    }

    /// Compares the metadata of datasets that cannot be read. Their layout, and the place of their attributes, do not
    /// matter.
    fn metadata(
        &mut self,
        at: &Location,
        found: &DatasetHandle,
        other: &DatasetHandle,
    ) -> Result<Vec<String>> {
        let blocks = (found.metadata_section(), other.metadata_section());
        let texts =
            (read_metadata(&mut self.a.reader, blocks.0)?, read_metadata(&mut self.b.reader, blocks.1)?);
        let all_else = |text: &str| -> Option<Map<String, Value>> {
            let mut members: Map<String, Value> = serde_json::from_str(text).ok()?;
            members.remove("attributes");
            Some(members)
        };
        if all_else(&texts.0) == all_else(&texts.1) {
            self.a.reader.skip()?;
            self.b.reader.skip()?;
            let at = at.plus(1);
            return Ok(datasets::of_attributes(
                &at,
                "dataset",
                found.name.as_bytes(),
                &found.attributes,
                &other.attributes,
            ));
        }
        for (reader, block) in [(&mut self.a.reader, blocks.0), (&mut self.b.reader, blocks.1)] {
            reader.seek(block.offset)?;
            reader.next_section(true)?;
        }
        Ok(Vec::from_iter(self.sections(at, blocks.0, blocks.1)?))
    }

    /// Compares the sections with rows that were added to datasets that cannot be read.
    fn rows(&mut self, at: &Location, found: &DatasetHandle, other: &DatasetHandle) -> Result<Vec<String>> {
        let before = [&self.a.reader, &self.b.reader].map(|reader| reader.position().unwrap_or(0));
        let mut differences = Vec::new();
        for (x, y) in found.added_rows().zip(other.added_rows()) {
            for (x, y) in [(x.metadata, y.metadata), (x.data, y.data)] {
                self.a.reader.seek(x)?;
                self.b.reader.seek(y)?;
                let next = (self.a.reader.next_section(true)?, self.b.reader.next_section(true)?);
                if let (Some(section), Some(other)) = next {
                    differences.extend(self.sections(at, &section, &other)?);
                }
            }
        }
        self.a.reader.seek(before[0])?;
        self.b.reader.seek(before[1])?;
        Ok(differences)
    }

    fn sections(&mut self, at: &Location, x: &Section, y: &Section) -> Result<Option<String>> {
        // The name of an addition has the offset of its dataset, which does not matter.
        let is_same_addition = || self.a.addition(x).is_some_and(|x| Some(x) == self.b.addition(y));
        let is_same = x.section_type == y.section_type
            && (x.user == y.user || is_same_addition())
            && (x.count, x.size) == (y.count, y.size)
            && units(x) == units(y);
        let readers = (&mut self.a.reader, &mut self.b.reader);
        let difference = match is_same {
            true => sections::of_data(at, (x, y), readers)?,
            false => Some(of_headers(at, x, y)),
        };
        end(&mut self.a.reader, x, self.args, difference.is_some())?;
        end(&mut self.b.reader, y, self.args, difference.is_some())?;
        Ok(difference)
    }

    /// All differences of the metadata and of the values.
    fn datasets(
        &mut self,
        at: &Location,
        found: &DatasetHandle,
        other: &DatasetHandle,
    ) -> Result<Vec<String>> {
        let Args { rtol, atol, quiet, .. } = *self.args;
        let mut differences = datasets::of_metadata(at, found, other);
        let readers = (&mut self.a.reader, &mut self.b.reader);
        if (found.data_type, &found.shape) == (other.data_type, &other.shape) {
            if differences.is_empty() || !quiet {
                let tolerance = (rtol.is_some() || atol.is_some())
                    .then(|| Tolerance { relative: rtol.unwrap_or(0.0), absolute: atol.unwrap_or(0.0) });
                differences.extend(datasets::of_values(at, (found, other), readers, tolerance, quiet)?);
            }
        } else if !quiet {
            datasets::read_all(readers.0, found)?;
            datasets::read_all(readers.1, other)?;
        }
        Ok(differences)
    }
}

/// Compares the files, and calls a function with each difference, up to the one after which it returns false.
fn compare(
    args: &Args,
    (a, b): (&Input, &Input),
    mut each: impl FnMut(String) -> Result<bool>,
) -> Result<()> {
    let mut both = PairedWalk::new(Side::new(a)?, Side::new(b)?);
    let _progress = Progress::new("diff", both.a.reader.inspect().file_size().unwrap_or(0));
    let (x, y) = (&both.a.reader.header().user, &both.b.reader.header().user);
    if x != y && !each(format!("user string of the file: {} | {}", quote(x), quote(y)))? {
        return Ok(());
    }
    let mut has_enough = false;
    let mut of_things = |a: &mut Side<'_>, b: &mut Side<'_>, x: &Item, y: &Item, at: &Location| {
        let differences = ComparedPair { a, b, args }.compare(at, x, y)?;
        progress::set(a.reader.position().unwrap_or(0));
        for difference in differences {
            if !each(difference)? {
                has_enough = true;
                return Ok(false);
            }
        }
        Ok(true)
    };
    while both.step(&mut of_things)? {}
    if has_enough {
        return Ok(());
    }
    for sets in std::mem::take(&mut both.sets) {
        let (x, y) = (both.a.set(sets.places.0), both.b.set(sets.places.1));
        let (Some(x), Some(y)) = (x.cloned(), y.cloned()) else { continue };
        let readers = (&mut both.a.reader, &mut both.b.reader);
        let found = streams::of_sets(&sets.at, (&x, &y), readers, args.quiet)?;
        if let Some(difference) = found
            && !each(difference)?
        {
            return Ok(());
        }
    }
    for (x, y) in both.groups() {
        let (x, y) = (both.a.again(x)?, both.b.again(y)?);
        let (Content::Group(found), Content::Group(other)) = (&x.content, &y.content) else { continue };
        let at = Location { numbers: (main_number(&x), main_number(&y)), record: 0 };
        let (attributes, others) = (&found.attributes, &other.attributes);
        for difference in datasets::of_attributes(&at, "group", x.user(), attributes, others) {
            if !each(difference)? {
                return Ok(());
            }
        }
    }
    for alone in both.alone() {
        let (side, name) = if alone.is_first { (&mut both.a, a.name()) } else { (&mut both.b, b.name()) };
        let item = side.again(alone.place)?;
        if !each(only(&item, alone.record, name))? {
            return Ok(());
        }
        match side.set(alone.place).cloned() {
            Some(set) => streams::read_all(&mut side.reader, &set)?,
            None => end_item(&mut side.reader, &item, args)?,
        }
    }
    Ok(())
}

pub fn run(args: &Args) -> Result<()> {
    let trouble = |fail: Fail| match fail {
        // A file that is not valid cannot be compared.
        Fail::Scda(error) => {
            Fail::Scda(error).report();
            Fail::Said(TROUBLE)
        }
        Fail::Invalid(words) => Fail::Trouble(words),
        other => other,
    };
    let (a, b) = (Input::new(&args.a, &args.resources)?, Input::new(&args.b, &args.resources)?);
    let mut out = Output::new()?;
    let mut found = false;
    let result = compare(args, (&a, &b), |difference| {
        if !args.quiet {
            out.text(format_args!("{difference}\n"))?;
        }
        found = true;
        Ok(!args.quiet)
    });
    match result.and(out.finish()) {
        // The reader has closed the output, but the answer is known.
        Ok(()) | Err(Fail::Quiet) if found => Err(Fail::Said(NO)),
        other => other.map_err(trouble),
    }
}
