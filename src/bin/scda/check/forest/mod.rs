//! Checks forests of trees (docs/forest.md): whether their datasets describe a mesh, and fit one another.

mod column;
mod curve;

use super::finding::{Fault, Finding, Scan};
use crate::datasets::{Pair, Walk};
use crate::fail::{Fail, Result};
use crate::files::Input;
use column::Column;
use curve::Curve;
use scda::internals::GROUP_CONVENTION;
use scda::{DataType, Reader};
use serde_json::Value;
use std::collections::BTreeMap;

/// More trees than this are not compared with one another, because they would not fit into memory.
const MOST_FACES: u64 = 1 << 24;

/// Why a forest is not checked to its end.
enum Stop {
    /// It is wrong, in words, at the section with this number, from 0 on.
    Wrong(u64, String),
    Fail(Fail),
}

impl<E: Into<Fail>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Fail(error.into())
    }
}

type Checked<T = ()> = Result<T, Stop>;

fn wrong<T>(number: u64, words: impl Into<String>) -> Checked<T> {
    Err(Stop::Wrong(number, words.into()))
}

/// Adds the first thing that is wrong with each forest of a file in which nothing else is wrong.
///
/// # Errors
/// Those that say nothing about the file.
pub fn check(input: &Input, scan: &mut Scan) -> Result<()> {
    if !scan.findings.is_empty() || scan.first_start == 0 {
        return Ok(());
    }
    let mut reader = input.open_damaged(false)?;
    let forests = forests(input, &mut reader)?;
    for (group, (number, attributes)) in forests {
        let found = match dimension(number, &attributes) {
            Ok(None) => continue,
            Ok(Some(dimension)) => Forest { input, reader: &mut reader, group, dimension }.check(number),
            Err(stop) => Err(stop),
        };
        match found {
            Ok(()) => {}
            Err(Stop::Wrong(number, words)) => {
                reader.seek_section(number)?;
                let section = reader.next_section(true)?;
                let user = section.map(|section| section.user);
                let fault = Finding::of_section(number + 1, Fault::Words(words));
                scan.findings.push(Finding { section, user, of_dataset: true, ..fault });
            }
            Err(Stop::Fail(fail)) => {
                let fault = Fault::of(fail)?;
                scan.findings.push(Finding::of_section(number + 1, fault));
            }
        }
    }
    scan.findings.sort_by_key(|finding| finding.number);
    Ok(())
}

/// The groups that say that they are forests: their last attributes, and the numbers of these sections.
fn forests(input: &Input, reader: &mut Reader) -> Result<BTreeMap<String, (u64, Value)>> {
    let mut forests = BTreeMap::new();
    let mut walk = Walk::new(input, false);
    for number in reader.find_all(GROUP_CONVENTION)? {
        let Some(item) = walk.at(reader, number)? else { continue };
        let Some(Pair::Group(found)) = item.pair else { continue };
        let attributes: Value = serde_json::from_str(&found.group.attributes).unwrap_or_default();
        if attributes.get("scda_forest").is_some() {
            forests.insert(found.group.path, (number + 1, attributes));
        } else {
            forests.remove(&found.group.path);
        }
    }
    Ok(forests)
}

/// The number of dimensions of a forest; `None` if it is of a later version of the convention.
fn dimension(number: u64, attributes: &Value) -> Checked<Option<usize>> {
    match attributes["scda_forest"].as_u64() {
        Some(1) => {}
        Some(2..) => return Ok(None),
        _ => {
            return wrong(
                number,
                format!("attribute scda_forest: found {}, expected 1", attributes["scda_forest"]),
            );
        }
    }
    match attributes["dimension"].as_u64() {
        Some(2) => Ok(Some(2)),
        Some(3) => Ok(Some(3)),
        _ => {
            wrong(number, format!("attribute dimension: found {}, expected 2 or 3", attributes["dimension"]))
        }
    }
}

struct Forest<'a, 'b> {
    input: &'a Input,
    reader: &'b mut Reader,
    group: String,
    dimension: usize,
}

/// The last of some numbers in order that is in a range.
fn last(numbers: &[u64], begin: u64, end: u64) -> Option<u64> {
    let at = numbers.partition_point(|&number| number < end);
    numbers[..at].last().copied().filter(|&number| number >= begin)
}

impl<'a> Forest<'a, '_> {
    /// The sections of this name.
    fn all(&mut self, name: &str) -> Checked<Vec<u64>> {
        Ok(self.reader.find_all(format!("{}/{name}", self.group).as_bytes())?)
    }

    /// The dataset at a section, which must have this type and shape; `None` stands for any number of indices.
    fn open(&self, number: u64, data_type: DataType, shape: &[Option<u64>]) -> Checked<Column<'a>> {
        let Some(column) = Column::open(self.input, number)? else {
            return wrong(number, "found no dataset that can be read, expected one of a forest");
        };
        let fits =
            |(found, expected): (&u64, &Option<u64>)| expected.is_none_or(|expected| *found == expected);
        let is_shape = column.shape().len() == shape.len() && column.shape().iter().zip(shape).all(fits);
        if column.data_type() != data_type || !is_shape {
            let any = |n: &Option<u64>| n.map_or_else(|| "any".to_owned(), |n| n.to_string());
            let expected = shape.iter().map(any).collect::<Vec<_>>().join("x");
            let found = column.shape().iter().map(u64::to_string).collect::<Vec<_>>().join("x");
            let found_type = column.data_type();
            return wrong(
                number,
                format!("found type {found_type:?} and shape {found}, expected {data_type:?} and {expected}"),
            );
        }
        Ok(column)
    }

    fn check(&mut self, group: u64) -> Checked {
        let times = self.all("time")?;
        let (meshes, connectivities) = (self.all("coordinates")?, self.all("tree_to_tree")?);
        let (levels, offsets) = (self.all("level")?, self.all("tree_offsets")?);
        if levels.len() != meshes.len() || offsets.len() != meshes.len() {
            let (c, l, o) = (meshes.len(), levels.len(), offsets.len());
            return wrong(
                group,
                format!("found {c} coordinates, {l} level and {o} tree_offsets, expected as many of each"),
            );
        }
        for &time in &times {
            self.open(time, DataType::Float64, &[])?;
        }
        let mut sizes = BTreeMap::new();
        for ((&mesh, &level), &offset) in meshes.iter().zip(&levels).zip(&offsets) {
            sizes.insert(mesh, self.mesh(mesh, level, offset)?);
        }
        // Of a mesh that was checked, so no damaged number makes the arrays of the connectivity endless.
        let most_trees = sizes.values().map(|&(_, trees)| trees).max().unwrap_or(0);
        let mut trees = BTreeMap::new();
        for (place, &first) in connectivities.iter().enumerate() {
            let end = connectivities.get(place + 1).copied().unwrap_or(u64::MAX);
            trees.insert(first, self.connectivity(first, end, most_trees)?);
        }
        let fields = self.fields()?;
        if let (Some((name, &number)), Some(&first)) =
            (fields.iter().find_map(|(name, all)| all.first().map(|n| (name, n))), times.first())
            && number < first
        {
            return wrong(
                number,
                format!("found the field {name} before the first time, expected it behind"),
            );
        }
        let steps = if times.is_empty() { vec![0] } else { times };
        for (place, &begin) in steps.iter().enumerate() {
            let end = steps.get(place + 1).copied().unwrap_or(u64::MAX);
            let Some((mesh, (quadrants, in_mesh))) = sizes.range(..end).next_back() else {
                return wrong(begin.max(group), format!("found no mesh up to the end of step {place}"));
            };
            let Some((_, in_connectivity)) = trees.range(..end).next_back() else {
                return wrong(
                    begin.max(group),
                    format!("found no connectivity up to the end of step {place}"),
                );
            };
            if in_mesh != in_connectivity {
                return wrong(
                    *mesh,
                    format!(
                        "found {in_mesh} trees, expected {in_connectivity} as in the connectivity of step {place}"
                    ),
                );
            }
            for name in fields.keys() {
                self.field(&fields, name, *quadrants, begin, end)?;
            }
        }
        Ok(())
    }

    /// Returns the number of quadrants, and that of trees.
    fn mesh(&self, coordinates: u64, levels: u64, offsets: u64) -> Checked<(u64, u64)> {
        let mut corners = self.open(coordinates, DataType::Int32, &[None, Some(self.dimension as u64)])?;
        let quadrants = corners.shape()[0];
        let mut level = self.open(levels, DataType::Uint8, &[Some(quadrants)])?;
        let mut offset = self.open(offsets, DataType::Int64, &[None])?;
        let Some(trees @ 1..) = offset.shape()[0].checked_sub(1) else {
            return wrong(offsets, format!("found {} numbers, expected at least 2", offset.shape()[0]));
        };
        let all = i64::try_from(quadrants).unwrap_or(i64::MAX);
        let mut begin = offset.next()?;
        if begin != 0 {
            return wrong(offsets, format!("number 0: found {begin}, expected 0"));
        }
        let mut corner = vec![0; self.dimension];
        for tree in 0..trees {
            let end = offset.next()?;
            if end <= begin || end > all || (tree + 1 == trees && end != all) {
                let number = tree + 1;
                return wrong(
                    offsets,
                    format!("number {number}: found {end}, expected more than {begin}, and {all} at the end"),
                );
            }
            let mut curve = Curve::new(self.dimension);
            for quadrant in begin..end {
                for coordinate in &mut corner {
                    // Of the type that was compared.
                    *coordinate = i32::try_from(corners.next()?).unwrap_or(i32::MIN);
                }
                let level = u8::try_from(level.next()?).unwrap_or(u8::MAX);
                if let Err(words) = curve.add(&corner, level) {
                    let at = if level > 30 { levels } else { coordinates };
                    return wrong(at, format!("quadrant {quadrant}, in tree {tree}: {words}"));
                }
            }
            if !curve.is_full() {
                return wrong(
                    coordinates,
                    format!(
                        "found quadrant {} as the last one of tree {tree}, which it does not fill",
                        end - 1
                    ),
                );
            }
            begin = end;
        }
        Ok((quadrants, trees))
    }

    /// The numbers of a dataset, each from `least` to `most`. All are returned if there are few enough.
    fn bounded(
        &self,
        number: u64,
        data_type: DataType,
        shape: &[Option<u64>],
        least: i64,
        most: i64,
    ) -> Checked<(u64, Vec<i64>)> {
        let mut column = self.open(number, data_type, shape)?;
        let rows = column.shape()[0];
        let count = column.shape().iter().product::<u64>();
        let mut kept = Vec::new();
        for at in 0..count {
            let found = column.next()?;
            if found < least || found > most {
                let row = at / (count / rows.max(1)).max(1);
                return wrong(number, format!("row {row}: found {found}, expected {least} to {most}"));
            }
            if count <= MOST_FACES {
                kept.push(found);
            }
        }
        Ok((rows, kept))
    }

    /// Checks a connectivity: the sections from its `tree_to_tree` to the next one. Returns the number of trees.
    fn connectivity(&mut self, first: u64, end: u64, most_trees: u64) -> Checked<u64> {
        let (faces, corners) = (2 * self.dimension as u64, 1_u64 << self.dimension);
        let trees = self.open(first, DataType::Int32, &[None, Some(faces)])?.shape()[0];
        if trees == 0 || trees > most_trees {
            return wrong(
                first,
                format!("found {trees} trees, expected at most {most_trees}, as in the mesh"),
            );
        }
        let most = i64::try_from(trees).unwrap_or(i64::MAX) - 1;
        let (_, to_tree) = self.bounded(first, DataType::Int32, &[None, Some(faces)], 0, most)?;
        let part = |forest: &mut Self, name: &str| forest.all(name).map(|all| last(&all, first, end));
        let Some(number) = part(self, "tree_to_face")? else {
            return wrong(first, "found no tree_to_face behind it");
        };
        let codes = i64::try_from(faces * corners / 2).unwrap_or(0);
        let (_, to_face) = self.bounded(number, DataType::Int8, &[Some(trees), Some(faces)], 0, codes - 1)?;
        // In the order of trees and faces; both are empty if there are too many.
        let index = |number: i64| usize::try_from(number).unwrap_or(0);
        let n = index(i64::try_from(faces).unwrap_or(0));
        for (at, (&tree, &code)) in to_tree.iter().zip(&to_face).enumerate() {
            let back = index(tree) * n + index(code) % n;
            let expected = (at / n, at % n + index(code) / n * n);
            if (index(to_tree[back]), index(to_face[back])) != expected || (back == at && index(code) >= n) {
                return wrong(
                    first,
                    format!(
                        "tree {}: face {} leads to tree {tree}, which does not lead back",
                        at / n,
                        at % n
                    ),
                );
            }
        }
        if let Some(number) = part(self, "vertices")? {
            let vertices = self.open(number, DataType::Float64, &[None, Some(3)])?.shape()[0];
            if vertices == 0 || vertices > trees.saturating_mul(corners).saturating_add(1 << 20) {
                return wrong(number, format!("found {vertices} vertices for {trees} trees"));
            }
            let Some(number) = part(self, "tree_to_vertex")? else {
                return wrong(number, "found no tree_to_vertex behind it");
            };
            let most = i64::try_from(vertices).unwrap_or(i64::MAX) - 1;
            self.bounded(number, DataType::Int32, &[Some(trees), Some(corners)], 0, most)?;
        }
        if self.dimension == 3 {
            self.shared("edge", 12, 24, trees, first, end)?;
        }
        self.shared("corner", corners, corners, trees, first, end)?;
        Ok(trees)
    }

    /// Checks what several trees share: edges or corners.
    fn shared(&mut self, what: &str, each: u64, codes: u64, trees: u64, first: u64, end: u64) -> Checked {
        let names = [
            format!("tree_to_{what}"),
            format!("{what}_offsets"),
            format!("{what}_to_tree"),
            format!("{what}_to_{what}"),
        ];
        let mut numbers = Vec::new();
        for name in &names {
            numbers.push(last(&self.all(name)?, first, end));
        }
        let [tree_to, offsets, to_tree, to_code] = numbers[..] else { return Ok(()) };
        let Some(tree_to) = tree_to else { return Ok(()) };
        let (Some(offsets), Some(to_tree), Some(to_code)) = (offsets, to_tree, to_code) else {
            return wrong(tree_to, format!("found not all of {} behind it", names[1..].join(", ")));
        };
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let mut column = self.open(offsets, DataType::Int32, &[None])?;
        let count = column.shape()[0].saturating_sub(1);
        let most = trees.saturating_mul(each);
        let entries = self.open(to_tree, DataType::Int32, &[None])?.shape()[0];
        if count > most || entries > most {
            return wrong(
                offsets,
                format!("found {count} {what}s with {entries} entries, expected at most {most}"),
            );
        }
        let (_, owners) = self.bounded(to_tree, DataType::Int32, &[Some(entries)], 0, signed(trees) - 1)?;
        let (_, codes) = self.bounded(to_code, DataType::Int8, &[Some(entries)], 0, signed(codes) - 1)?;
        let (_, named) =
            self.bounded(tree_to, DataType::Int32, &[Some(trees), Some(each)], -1, signed(count) - 1)?;
        let mut begin = if column.shape()[0] > 0 { column.next()? } else { 0 };
        if begin != 0 || count == 0 {
            return wrong(
                offsets,
                format!("found {begin} as the first of {} numbers, expected 0 and another one", count + 1),
            );
        }
        let mut seen = vec![false; named.len()];
        for number in 0..count {
            let end = column.next()?;
            if end < begin || end > signed(entries) || (number + 1 == count && end != signed(entries)) {
                let row = number + 1;
                return wrong(
                    offsets,
                    format!("number {row}: found {end}, expected at least {begin}, and {entries} at the end"),
                );
            }
            for entry in if seen.is_empty() { 0..0 } else { begin..end } {
                let at = usize::try_from(entry).unwrap_or(usize::MAX);
                let (Some(&tree), Some(&code)) = (owners.get(at), codes.get(at)) else { continue };
                let place = usize::try_from(tree * signed(each) + code % signed(each)).unwrap_or(usize::MAX);
                if named[place] != signed(number) || seen[place] {
                    return wrong(
                        to_tree,
                        format!("entry {entry}, of {what} {number}, is not that of tree {tree}"),
                    );
                }
                seen[place] = true;
            }
            begin = end;
        }
        let used = named.iter().filter(|&&number| number >= 0).count();
        if !named.is_empty() && used as u64 != entries {
            return wrong(
                tree_to,
                format!("found {used} numbers of {what}s, expected {entries}, the number of entries"),
            );
        }
        Ok(())
    }

    /// The fields and the data of quadrants: their names, and the sections of each.
    fn fields(&mut self) -> Checked<BTreeMap<String, Vec<u64>>> {
        let (prefix, data) = (format!("{}/fields/", self.group), format!("{}/data", self.group));
        let mut fields: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        self.reader.seek_section(0)?;
        let mut number = 0;
        while let Some(section) = self.reader.next_section(true)? {
            if let Ok(name) = std::str::from_utf8(&section.user)
                && (name.starts_with(&prefix) || name == data)
            {
                fields.entry(name.to_owned()).or_default().push(number);
            }
            self.reader.skip()?;
            number += 1;
        }
        Ok(fields)
    }

    /// Checks a field of a step: values for each quadrant, or so many as the counts before it say.
    fn field(
        &self,
        fields: &BTreeMap<String, Vec<u64>>,
        name: &str,
        quadrants: u64,
        begin: u64,
        end: u64,
    ) -> Checked {
        let in_step = |name: &str| fields.get(name).and_then(|all| last(all, begin, end));
        let Some(number) = in_step(name) else { return Ok(()) };
        let Some(values) = Column::open(self.input, number)? else { return Ok(()) };
        let rows = values.shape().first().copied();
        let Some(counts) = in_step(&format!("{name}:count")) else {
            if rows != Some(quadrants) {
                let rows = rows.unwrap_or(1);
                return wrong(
                    number,
                    format!("found {rows} rows, expected {quadrants}, one for each quadrant"),
                );
            }
            return Ok(());
        };
        let mut column = self.open(counts, DataType::Int64, &[Some(quadrants)])?;
        let mut sum = 0_u64;
        for quadrant in 0..quadrants {
            let count = column.next()?;
            let Some(more) = u64::try_from(count).ok().and_then(|count| sum.checked_add(count)) else {
                return wrong(counts, format!("quadrant {quadrant}: found {count} values"));
            };
            sum = more;
        }
        if rows != Some(sum) {
            return wrong(
                number,
                format!("found {} values, expected {sum}, the sum of the counts", rows.unwrap_or(1)),
            );
        }
        Ok(())
    }
}
