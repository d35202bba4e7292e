//! `--steps`: which datasets the chosen time steps need (docs/forest.md, docs/cells.md,
//! docs/patches.md, docs/particles.md), and which records are chosen of others.

use crate::check::VerifyingReader;
use crate::datasets::{Item, Pair, Walk, attributes_of};
use crate::fail::{Fail, Result};
use crate::files::Input;
use crate::ranges::Records;
use scda_meshes::attributes::text;
use scda_meshes::names::{
    CELL_PARTS, CELLS, CONNECTIVITY_PARTS, DATA, FOREST, FOREST_PARTS, OF_MESH, OFFSETS, PARTICLES,
    PARTITION, PATCH_PARTS, PATCHES, SHAPED_PARTS, SHAPED_TREE_PARTS, TIME,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// What a mesh consists of, by the conventions: of a step, each is the last one before the end of the step.
const MESH_PARTS: [&[&str]; 5] = [&FOREST_PARTS, &SHAPED_PARTS, &CELL_PARTS, &PATCH_PARTS, &[OFFSETS]];

/// Where a section, dataset or group begins, and how many sections are before it.
#[derive(Clone, Copy)]
pub struct Place {
    pub offset: u64,
    pub before: u64,
}

/// Which datasets are copied, and where to. Datasets are known by the numbers of their sections of data.
pub struct StepSelection<'a> {
    input: &'a Input,
    /// Reads those that are moved.
    from: Option<VerifyingReader>,
    dropped: HashSet<u64>,
    /// What stands in a step that is not copied, and belongs to a later one: after the time of this.
    moved: BTreeMap<u64, Vec<Place>>,
}

impl<'a> StepSelection<'a> {
    /// # Errors
    /// Trouble if there are no steps and no records, or none that are meant.
    pub fn new(input: &'a Input, steps: Records) -> Result<Self> {
        let names = Names::read(input)?;
        let mut kept = Self { input, from: None, dropped: HashSet::new(), moved: BTreeMap::new() };
        let mut has_series = false;
        for (group, parts) in &names.of_meshes {
            let Some(times) = parts.get(TIME).or_else(|| names.shared_times(group)) else { continue };
            let what = format!("the group {group} has {} time steps", times.len());
            kept.choose_steps(parts, &Steps::new(input, steps, times, &what)?, &names.places);
            has_series = true;
        }
        for (name, numbers) in names.others.iter().filter(|(_, numbers)| numbers.len() > 1) {
            let what = format!("there are {} records of {name}", numbers.len());
            let Steps { chosen, .. } = Steps::new(input, steps, numbers, &what)?;
            kept.dropped.extend(numbers.iter().zip(chosen).filter(|(_, chosen)| !chosen).map(|(n, _)| n));
            has_series = true;
        }
        if !has_series {
            return Err(Fail::file(
                input.name(),
                "--steps: the file has no time steps, and no name with several records",
            ));
        }
        Ok(kept)
    }

    /// Chooses what the steps of a mesh need.
    fn choose_steps(&mut self, parts: &MeshParts, steps: &Steps, places: &BTreeMap<u64, Place>) {
        let needed = steps.needed(parts);
        for (part, numbers) in parts {
            let is_of_mesh = is_of_mesh(part);
            // What is there once, and is no field, belongs to all steps.
            let is_in_step = numbers.len() > 1 || part.contains("fields/") || [TIME, DATA].contains(&&**part);
            for &number in numbers {
                let is_out = steps.of(number).is_some_and(|step| !steps.chosen[step]);
                if !is_of_mesh {
                    if is_in_step && is_out {
                        self.dropped.insert(number);
                    }
                    continue;
                }
                let step = needed.get(&number);
                if step.is_none() || is_out {
                    self.dropped.insert(number);
                }
                if let (Some(&step), true) = (step, is_out) {
                    self.moved.entry(steps.begins[step]).or_default().extend(places.get(&number));
                }
            }
        }
        self.moved.values_mut().for_each(|places| places.sort_by_key(|place| place.before));
    }

    /// Whether an item is not copied where it stands.
    pub fn drops(&self, item: &Item) -> bool {
        self.dropped.contains(&item.last())
    }

    /// What follows this item.
    pub fn moved_after(&mut self, item: &Item) -> Vec<Place> {
        self.moved.remove(&item.last()).unwrap_or_default()
    }

    /// The file that it comes from.
    pub fn source(&mut self) -> Result<(&Input, &mut VerifyingReader)> {
        let from = match self.from.take() {
            Some(from) => from,
            None => VerifyingReader::new(self.input)?,
        };
        Ok((self.input, self.from.insert(from)))
    }
}

/// The sections of each part of a mesh, in order.
type MeshParts = BTreeMap<String, Vec<u64>>;

fn is_of_mesh(part: &str) -> bool {
    let mut all = MESH_PARTS.into_iter().chain([&[PARTITION][..], &CONNECTIVITY_PARTS, &SHAPED_TREE_PARTS]);
    all.any(|parts| parts.contains(&part))
}

/// The datasets of a file.
struct Names {
    /// For the path of each mesh, its parts.
    of_meshes: BTreeMap<String, MeshParts>,
    /// For the path of particles, the mesh that they name.
    mesh_of: BTreeMap<String, String>,
    others: MeshParts,
    places: BTreeMap<u64, Place>,
}

impl Names {
    /// Goes through a file.
    fn read(input: &Input) -> Result<Self> {
        let (mut reader, mut walk) = (input.open_damaged(false)?, Walk::new(input, false));
        let (mut datasets, mut places) = (MeshParts::new(), BTreeMap::new());
        let (mut meshes, mut mesh_of) = (BTreeSet::new(), BTreeMap::new());
        while let Some(item) = walk.next(&mut reader)? {
            match &item.pair {
                Some(Pair::Dataset(found)) => {
                    datasets.entry(found.dataset.name.clone()).or_default().push(item.last());
                    places
                        .insert(item.last(), Place { offset: item.section.offset, before: item.number - 1 });
                }
                Some(Pair::Group(found)) => {
                    // The last attributes count.
                    let path = found.group.path.clone();
                    let members = attributes_of(&found.group.attributes);
                    let has = |key| members.iter().any(|member| member.key == key);
                    match text(&found.group.attributes, OF_MESH).filter(|_| has(PARTICLES)) {
                        Some(mesh) => mesh_of.insert(path.clone(), mesh),
                        None => mesh_of.remove(&path),
                    };
                    match [FOREST, CELLS, PATCHES, PARTICLES].into_iter().any(has) {
                        true => meshes.insert(path),
                        false => meshes.remove(&path),
                    };
                }
                None => {}
            }
            item.skip(&mut reader)?;
        }
        let mut names = Self { of_meshes: BTreeMap::new(), mesh_of, others: MeshParts::new(), places };
        for (name, numbers) in datasets {
            // A group may stand in another one.
            let group = name.rmatch_indices('/').map(|(at, _)| at).find(|&at| meshes.contains(&name[..at]));
            match group {
                Some(at) => {
                    let parts = names.of_meshes.entry(name[..at].to_owned()).or_default();
                    parts.insert(name[at + 1..].to_owned(), numbers);
                }
                None => drop(names.others.insert(name, numbers)),
            }
        }
        Ok(names)
    }

    /// The times of the mesh of particles, which have its steps unless they have times of their own.
    fn shared_times(&self, particles: &str) -> Option<&Vec<u64>> {
        self.of_meshes.get(self.mesh_of.get(particles)?)?.get(TIME)
    }
}

/// The steps of a series.
struct Steps {
    /// The sections that begin them.
    begins: Vec<u64>,
    /// Which are copied.
    chosen: Vec<bool>,
}

impl Steps {
    /// # Errors
    /// Trouble, with `what` there is, if none of them is meant.
    fn new(input: &Input, steps: Records, begins: &[u64], what: &str) -> Result<Self> {
        let meant: HashSet<u64> = steps.among(begins.len() as u64).collect();
        if meant.is_empty() {
            return Err(Fail::file(input.name(), format_args!("--steps {steps}: {what}")));
        }
        let chosen = (0..begins.len() as u64).map(|step| meant.contains(&step)).collect();
        Ok(Self { begins: begins.to_vec(), chosen })
    }

    /// The step of a section; `None` before the first one.
    fn of(&self, number: u64) -> Option<usize> {
        self.begins.partition_point(|&begin| begin <= number).checked_sub(1)
    }

    /// The sections of meshes and connectivities that chosen steps need, each with the first such step.
    fn needed(&self, parts: &MeshParts) -> BTreeMap<u64, usize> {
        let mut needed = BTreeMap::new();
        let numbers = |part: &str| parts.get(part).map_or(&[][..], Vec::as_slice);
        for step in (0..self.begins.len()).filter(|&step| self.chosen[step]) {
            let end = self.begins.get(step + 1).copied().unwrap_or(u64::MAX);
            let before = |numbers: &[u64]| numbers.partition_point(|&number| number < end);
            for part in MESH_PARTS.into_iter().flatten() {
                let numbers = numbers(part);
                if let Some(last) = before(numbers).checked_sub(1) {
                    needed.entry(numbers[last]).or_insert(step);
                }
            }
            let trees = [&CONNECTIVITY_PARTS[..], &SHAPED_TREE_PARTS].concat();
            for (begin, parts) in [(FOREST_PARTS[0], &[PARTITION][..]), (CONNECTIVITY_PARTS[0], &trees)] {
                let begins = numbers(begin);
                let Some(last) = before(begins).checked_sub(1) else { continue };
                let range = begins[last]..begins.get(last + 1).copied().unwrap_or(u64::MAX);
                let parts = parts.iter().flat_map(|part| numbers(part));
                for number in parts.filter(|number| range.contains(number)) {
                    needed.entry(*number).or_insert(step);
                }
            }
        }
        needed
    }
}
