//! Checks meshes: forests of trees (docs/forest.md), cells of any shapes (docs/cells.md), patches (docs/patches.md),
//! and particles in their cells (docs/particles.md). Their datasets must form a mesh, and fit each other.

mod cells;
mod column;
mod forest;
mod particles;
mod patches;
mod steps;

use super::finding::{Fault, Finding, Note, Scan};
use crate::datasets::{attributes_of, content_of};
use crate::fail::{Fail, Result};
use crate::files::Input;
use column::Datasets;
use scda::Content;
use scda_format::dataset::GROUP_CONVENTION;
use scda_format::dataset::json::compact;
use scda_format::meshes::{Convention, DIMENSION, OF_MESH, Part};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Why the check of a mesh ended early.
pub enum Stop {
    /// An error, described in words, in the section with this number, from 0.
    MeshError(u64, String),
    /// The section with this number, from 0, is too large to be valid.
    TooLarge(u64, String),
    Fail(Fail),
}

impl<E: Into<Fail>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Fail(error.into())
    }
}

type MeshResult<T = ()> = Result<T, Stop>;

fn wrong<T>(number: u64, words: impl Into<String>) -> MeshResult<T> {
    Err(Stop::MeshError(number, words.into()))
}

/// The section of a part of a mesh, given all parts and their sections.
fn section_of(parts: &[Part], sections: &[u64], name: &str) -> Option<u64> {
    parts.iter().zip(sections).find(|(part, _)| part.name == name).map(|(_, section)| *section)
}

/// A group that is marked as a mesh.
struct MeshGroup {
    /// The section of its attributes, from 0.
    number: u64,
    /// The values of the attributes in use, as JSON. All attributes together may be large.
    attributes: HashMap<&'static str, String>,
    /// The names in the group, and the sections of each name, from 0, in order.
    parts: BTreeMap<String, Vec<u64>>,
}

impl MeshGroup {
    /// All sections with this name.
    fn all(&self, name: &str) -> &[u64] {
        self.parts.get(name).map_or(&[], Vec::as_slice)
    }

    /// The last section with this name in a range.
    fn last(&self, name: &str, range: Range<u64>) -> Option<u64> {
        let numbers = self.all(name);
        let at = numbers.partition_point(|&number| number < range.end);
        numbers[..at].last().copied().filter(|&number| number >= range.start)
    }

    /// The sections of datasets that a mesh must have all of: their k-th records belong together.
    fn together<const N: usize>(&self, parts: [Part; N]) -> MeshResult<Vec<[u64; N]>> {
        let all = parts.map(|part| self.all(part.name));
        if all.iter().any(|numbers| numbers.len() != all[0].len()) {
            let counts: Vec<_> = parts
                .iter()
                .zip(&all)
                .map(|(part, found)| format!("{} {}", found.len(), part.name))
                .collect();
            return wrong(self.number, format!("found {}, expected as many of each", counts.join(", ")));
        }
        Ok((0..all[0].len()).map(|record| all.map(|numbers| numbers[record])).collect())
    }

    /// The value of an attribute if it is a whole number.
    fn whole_number(&self, attribute: &str) -> Option<u64> {
        self.attributes.get(attribute)?.parse().ok()
    }

    /// The error for an attribute that does not have this value.
    fn wrong_attribute<T>(&self, attribute: &str, expected: &str) -> MeshResult<T> {
        let found = self.attributes.get(attribute).map_or("none", String::as_str);
        wrong(self.number, format!("attribute {attribute}: found {found}, expected {expected}"))
    }

    /// The version of this convention; later versions than the newest one are not checked.
    fn version(&self, kind: Convention) -> MeshResult<Option<u64>> {
        let attribute = kind.attribute();
        match self.whole_number(attribute) {
            None if !self.attributes.contains_key(attribute) => Ok(None),
            Some(version @ 1..) => Ok((version <= kind.newest()).then_some(version)),
            _ => self.wrong_attribute(attribute, "1"),
        }
    }
}

/// The attributes that mark meshes, and those in use. Long texts are truncated.
fn used(attributes: &str) -> HashMap<&'static str, String> {
    const MOST: usize = 60;
    let short = |text: &str| match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    };
    let members = attributes_of(attributes);
    let value =
        |key| members.iter().find(|member| member.key == key).map(|member| short(&compact(member.text)));
    let keys = Convention::ALL.map(Convention::attribute).into_iter().chain([DIMENSION, OF_MESH]);
    keys.filter_map(|key| Some((key, value(key)?))).collect()
}

/// Adds the first error of each mesh in a file without other errors.
///
/// # Errors
/// Errors that say nothing about the file.
pub fn check(input: &Input, scan: &mut Scan) -> Result<()> {
    if !scan.findings.is_empty() || scan.first_start == 0 {
        return Ok(());
    }
    let mut datasets = Datasets { reader: input.open_damaged(false)? };
    let meshes = meshes(&mut datasets)?;
    for mesh in meshes.values() {
        let checks = [forest::check, cells::check, patches::check];
        let checked = checks.iter().try_for_each(|check| check(mesh, &mut datasets));
        match checked.and_then(|()| particles::check(mesh, &meshes, &mut datasets)) {
            Ok(()) => {}
            Err(Stop::MeshError(number, words)) => {
                let section = datasets.header(number)?;
                let user = section.map(|section| section.user);
                let fault = Finding::of_section(number + 1, Fault::Words(words));
                scan.findings.push(Finding { section, user, of_dataset: true, ..fault });
            }
            Err(Stop::TooLarge(number, words)) => {
                scan.notes.push(Note { number: number + 1, words });
            }
            Err(Stop::Fail(fail)) => {
                let fault = Fault::of(fail)?;
                scan.findings.push(Finding::of_section(mesh.number + 1, fault));
            }
        }
    }
    scan.findings.sort_by_key(|finding| finding.number);
    Ok(())
}

/// The groups whose last attributes mark them as meshes, and their parts. Reads the headers of the file once.
fn meshes(datasets: &mut Datasets) -> Result<BTreeMap<String, MeshGroup>> {
    let mut meshes = BTreeMap::new();
    for number in datasets.reader.find_all(GROUP_CONVENTION)? {
        let Some(section) = datasets.header(number)? else { continue };
        let (Content::Group(group), _) = content_of(&mut datasets.reader, &section)? else { continue };
        let attributes = used(&group.attributes);
        if Convention::ALL.iter().any(|kind| attributes.contains_key(kind.attribute())) {
            let mesh = MeshGroup { number: number + 1, attributes, parts: BTreeMap::new() };
            meshes.insert(group.path, mesh);
        } else {
            meshes.remove(&group.path);
        }
    }
    if meshes.is_empty() {
        return Ok(meshes);
    }
    let mut number = 0;
    datasets.reader.seek_section(0)?;
    while let Some(section) = datasets.reader.next_section(true)? {
        if let Ok(name) = std::str::from_utf8(&section.user) {
            // A group may be inside another one.
            for (at, _) in name.match_indices('/') {
                let part = &name[at + 1..];
                if let Some(mesh) = meshes.get_mut(&name[..at])
                    && Convention::ALL.iter().any(|kind| kind.has(part))
                {
                    mesh.parts.entry(part.to_owned()).or_default().push(number);
                }
            }
        }
        datasets.reader.skip()?;
        number += 1;
    }
    Ok(meshes)
}
