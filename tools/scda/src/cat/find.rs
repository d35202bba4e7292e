//! Finds the sections that `scda cat` prints.

use super::Args;
use crate::datasets::{Item, LAST_RECORD, by_index, is_first};
use crate::fail::{Fail, Result};
use crate::files::Input;
use crate::output::{complain, visible};
use crate::ranges::Records;
use crate::rows::{head, item_line, line, measure};
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

/// Finds the sections to print by the index of the file.
fn find_by_index(reader: &mut Reader, args: &Args) -> scda::Result<Option<Vec<Choice>>> {
    let indices = match (args.section.number(), args.section.user_string(), args.record) {
        (Some(number), _, None) => number.checked_sub(1).map(|index| vec![index]),
        (None, Some(user), Some(records @ Records::Some(..))) => {
            let mut all = reader.find_all(user.as_bytes())?;
            if all.is_empty() {
                all = reader.find_all(without_root(&user).as_bytes())?;
            }
            let chosen = records.of(all.len() as u64).filter(|_| !all.is_empty());
            chosen.map(|chosen| chosen.map(|record| all[to_usize(record)]).collect())
        }
        (None, Some(user), record) => {
            let record = record.and_then(Records::only).unwrap_or(LAST_RECORD);
            let found = match reader.find(user.as_bytes(), record)? {
                None => reader.find(without_root(&user).as_bytes(), record)?,
                found => found,
            };
            found.map(|index| vec![index])
        }
        _ => None,
    };
    let sections = reader.sections()?;
    let Some(indices) = indices.filter(|all| all.iter().all(|&index| index < sections)) else {
        return Ok(None);
    };
    let mut header = |index| {
        reader.seek_section(index)?;
        reader.next_section(true)
    };
    let mut choices = Vec::new();
    for index in indices {
        let before = index.checked_sub(1).map(&mut header).transpose()?.flatten();
        let Some(section) = header(index)? else { return Ok(None) };
        choices.push(Choice { number: index + 1, section, block: before.filter(is_metadata) });
    }
    Ok(Some(choices))
}

/// True if a section is the metadata of a dataset.
fn is_metadata(section: &Section) -> bool {
    section.section_type == SectionType::Block && is_first(section.section_type, &section.user)
}

/// The sections to print: one, or several for a range of records.
pub fn find(reader: &mut Reader, input: &Input, args: &Args) -> Result<Vec<Choice>> {
    let start = reader.position().unwrap_or(0);
    // Without decoding, sections have other numbers than in the index.
    if !args.raw
        && let Some(choices) = by_index(reader, |reader| find_by_index(reader, args))?
    {
        return Ok(choices);
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
        (all, Some(records)) => {
            let count = all.len();
            let chosen = records.of(count as u64).ok_or_else(|| {
                Fail::file(
                    input.name(),
                    format_args!("--record {records}: found {count} sections of that name"),
                )
            })?;
            Ok(chosen.map(|record| all[to_usize(record)]).collect())
        }
        (&[one], None) => Ok(vec![one]),
        // Of several records with one name, the last one.
        (&[.., last], None) if closest > Closeness::Pattern => Ok(vec![last]),
        (_, None) => {
            let (name, count, last) = (input.name(), found.len(), found.len() - 1);
            let words = "choose one by its number in this list, or by --record";
            complain(&format!("{name}: found {count} such sections; {words} 0 to {last}:"));
            list(reader, args, &found)?;
            Err(Fail::Said(crate::fail::TROUBLE))
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

/// Lists sections, as `scda ls` does, on standard error.
fn list(reader: &mut Reader, args: &Args, found: &[Choice]) -> Result<()> {
    use std::io::Write;
    const MOST: usize = 20;
    let mut text = head();
    for Choice { number, section, block } in found.iter().take(MOST) {
        reader.seek(section.offset)?;
        let Some(section) = reader.next_section(!args.raw)? else { continue };
        let row = measure(reader, *number, section)?;
        let item = match block.filter(|_| !args.raw) {
            Some(block) => item_line(&Item::new(reader, number - 1, block)?, row.stored),
            None => None,
        };
        text = format!("{text}\n{}", item.unwrap_or_else(|| line(&row)));
    }
    let more = if found.len() > MOST { "\n  ..." } else { "" };
    let _ = writeln!(std::io::stderr(), "{text}{more}");
    Ok(())
}
