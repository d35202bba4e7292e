//! Finds the section that `scda cat` prints.

use super::Args;
use crate::datasets::{LAST_RECORD, by_index, is_first};
use crate::fail::{Fail, Result};
use crate::files::Input;
use crate::output::{complain, visible};
use crate::select::Closeness;
use scda::{Reader, Section, SectionType};
use scda_base::numbers::to_usize;
use scda_format::dataset::without_root;

/// The section to print, and the block of metadata if there is one before it.
#[derive(Clone, Copy)]
pub struct Choice {
    pub number: u64,
    pub section: Section,
    pub block: Option<Section>,
}

/// Finds the section to print by the index of the file.
fn find_by_index(reader: &mut Reader, args: &Args) -> scda::Result<Option<Choice>> {
    let index = match (args.section.number(), args.section.user_string(), args.record) {
        (Some(number), _, None) => number.checked_sub(1),
        (None, Some(user), record) => {
            let record = record.unwrap_or(LAST_RECORD);
            match reader.find(user.as_bytes(), record)? {
                None => reader.find(without_root(&user).as_bytes(), record)?,
                found => found,
            }
        }
        _ => None,
    };
    let sections = reader.sections()?;
    let Some(index) = index.filter(|&index| index < sections) else { return Ok(None) };
    let mut header = |index| {
        reader.seek_section(index)?;
        reader.next_section(true)
    };
    let before = index.checked_sub(1).map(&mut header).transpose()?.flatten();
    let block = before.filter(is_metadata);
    Ok(header(index)?.map(|section| Choice { number: index + 1, section, block }))
}

/// True if a section is the metadata of a dataset.
fn is_metadata(section: &Section) -> bool {
    section.section_type == SectionType::Block && is_first(section.section_type, &section.user)
}

/// The section to print.
pub fn find(reader: &mut Reader, input: &Input, args: &Args) -> Result<Choice> {
    let start = reader.position().unwrap_or(0);
    // Without decoding, sections have other numbers than in the index.
    if !args.raw
        && let Some(choice) = by_index(reader, |reader| find_by_index(reader, args))?
    {
        return Ok(choice);
    }
    reader.seek(start)?;
    let mut found: Vec<Choice> = Vec::new();
    let (mut number, mut passed, mut closest) = (0, 0, Closeness::Pattern);
    let mut before = None;
    let mut group = Group::new(args.section.user_string().map(|user| without_root(&user).to_owned()));
    let mut search = || -> scda::Result<()> {
        while let Some(section) = reader.next_section(!args.raw)? {
            number += 1;
            let block = std::mem::replace(&mut before, Some(section).filter(is_metadata));
            group.note(&section);
            // A user string that equals the argument takes precedence over one that matches the pattern.
            if let Some(how) =
                args.section.closeness(number, &section.user, args.raw).filter(|how| *how >= closest)
            {
                if how > closest {
                    found.clear();
                }
                closest = how;
                found.push(Choice { number, section, block });
            }
            if !found.is_empty() && args.section.ends_before(number + 1) {
                break;
            }
            reader.skip()?;
            passed = number;
        }
        Ok(())
    };
    if let Err(error) = search() {
        // Damage after the section can only hide other matches. Damage of the section itself is found when it is read.
        match found.last() {
            None => return Err(error.into()),
            Some(last) if last.number <= passed => complain(&error.to_string()),
            Some(_) => {}
        }
    }
    match (&found[..], args.record) {
        ([], _) => {
            if let Some(words) = group.words() {
                return Err(Fail::file(input.name(), words));
            }
            let last = if number == 1 { "1 section".to_owned() } else { format!("{number} sections") };
            Err(Fail::file(input.name(), format_args!("{}: no such section; it has {last}", args.section)))
        }
        (all, Some(record)) => {
            let back = (all.len() as u64).checked_sub(record.unsigned_abs());
            let place = u64::try_from(record).ok().or(back).map(to_usize);
            place.and_then(|place| all.get(place).copied()).ok_or_else(|| {
                let count = all.len();
                Fail::file(
                    input.name(),
                    format_args!("--record {record}: found {count} sections of that name"),
                )
            })
        }
        (&[one], None) => Ok(one),
        // Of several records with one name, the last one.
        (&[.., last], None) if closest > Closeness::Pattern => Ok(last),
        (all, None) => {
            const MOST: usize = 10;
            let mut numbers: Vec<_> = all.iter().take(MOST).map(|found| found.number.to_string()).collect();
            numbers.extend((all.len() > MOST).then(|| "...".to_owned()));
            let (count, last, numbers) = (all.len(), all.len() - 1, numbers.join(", "));
            let words = format!(
                "found {count} sections that match {}: {numbers}; choose one by its number, or by --record 0 to {last}",
                args.section
            );
            Err(Fail::file(input.name(), words))
        }
    }
}

/// The group that a name may mean, and the names of datasets in it.
struct Group {
    name: Option<String>,
    names: Vec<String>,
    is_there: bool,
}

impl Group {
    /// The most names that a message has.
    const MOST: usize = 4;

    fn new(name: Option<String>) -> Self {
        Self { name, names: Vec::new(), is_there: false }
    }

    /// Notes a section, if it is in the group.
    fn note(&mut self, section: &Section) {
        let Some(name) = &self.name else { return };
        let rest = section.user.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"/"));
        let Some(rest) = rest else { return };
        self.is_there = true;
        let full = visible(&String::from_utf8_lossy(&section.user));
        if !rest.is_empty() && self.names.len() <= Self::MOST && !self.names.contains(&full) {
            self.names.push(full);
        }
    }

    /// What to do instead of naming the group; `None` if there is none.
    fn words(&self) -> Option<String> {
        let name = self.name.as_deref().filter(|_| self.is_there)?;
        let mut names = self.names[..self.names.len().min(Self::MOST)].join(", ");
        if self.names.len() > Self::MOST {
            names.push_str(", ...");
        }
        let datasets =
            if names.is_empty() { String::new() } else { format!(": name one of its datasets: {names}") };
        Some(format!("{name} is a group{datasets}; scda attr shows its attributes"))
    }
}
