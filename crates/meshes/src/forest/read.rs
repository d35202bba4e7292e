//! Reads a forest and its fields. Everything is checked before it is used.

use super::rules::{
    MAX_LEVEL, MOST_ATTRIBUTES, QuadrantCheck, SharedKind, check_bounds, check_faces, check_partition,
    check_tree_offsets, most_vertices,
};
use super::write::byte_order;
use super::{Forest, field_name, format, rows, sum};
use crate::checksum::{Checksum, of_all};
use crate::names::{DATA, DIMENSION, FOREST, PARTITION, part_name};
use crate::read::read_all;
use crate::steps::{field as field_of_step, group as attributes_of, last, need, open, sections};
use crate::{MeshError, attributes};
use scda::{Collective, DataType, DatasetHandle, Error, ErrorKind, IndexBox, Partition, Reader, Result};
use scda_base::memory::{reserve, resize};
use scda_base::numbers::to_usize;
use std::ops::Range;

/// The most quadrants that are read at once: each part is checked before memory for the next one is
/// allocated.
const AT_ONCE: u64 = 1 << 20;

/// Which quadrants each rank gets.
#[derive(Clone, Copy, Debug)]
pub enum Distribution<'a> {
    /// An equal share, give or take one.
    Uniform,
    /// Those that it had when the same number of ranks wrote the file.
    Stored,
    /// For rank p, those from the p-th number up to the next one. The same on all ranks.
    Explicit(&'a [i64]),
}

/// What a program requests, and what it can represent.
#[derive(Clone, Copy, Debug)]
pub struct ReadRequest<'a> {
    /// The number of axes: 2 or 3.
    pub dimension: usize,
    /// The finest level of quadrants.
    pub finest: u8,
    /// Coordinates are in units of 2^-`unit` of the edge of a tree.
    pub unit: u8,
    /// The number of bytes to read for each quadrant, from [`DATA`]; 0: none.
    pub data_bytes: u32,
    /// Which quadrants each rank gets.
    pub distribution: Distribution<'a>,
}

/// Edges or corners that trees share.
#[derive(Clone, Debug, Default)]
pub struct SharedEntities {
    /// The number of each edge (corner) of each tree, or -1.
    pub tree_to: Vec<i32>,
    /// Where the entries of each begin and end. Empty if there are none.
    pub offsets: Vec<i32>,
    /// The tree of each entry.
    pub to_tree: Vec<i32>,
    /// The edge (corner) of that tree.
    pub to_code: Vec<i8>,
}

/// How trees are connected, and where they are.
#[derive(Clone, Debug, Default)]
pub struct Connectivity {
    /// The tree across each face.
    pub tree_to_tree: Vec<i32>,
    /// The face of that tree.
    pub tree_to_face: Vec<i8>,
    /// Three coordinates of each vertex; empty without geometry.
    pub vertices: Vec<f64>,
    /// The vertices at the corners of each tree.
    pub tree_to_vertex: Vec<i32>,
    /// Shared edges of cubes.
    pub edges: SharedEntities,
    /// Shared corners.
    pub corners: SharedEntities,
    /// The number of bytes that the program stores for each tree.
    pub attribute_bytes: u32,
    /// These bytes of all trees.
    pub attributes: Vec<u8>,
}

/// A forest that was read.
#[derive(Clone, Debug, Default)]
pub struct StoredForest {
    /// The number of trees.
    pub trees: u64,
    /// The number of quadrants of all ranks.
    pub quadrants: u64,
    /// The first quadrant of each rank, followed by the number of all.
    pub first_quadrant: Vec<i64>,
    /// Where the quadrants of each tree begin and end.
    pub tree_offsets: Vec<i64>,
    /// For each quadrant of this rank: its coordinates in the requested unit, and its level.
    pub packed: Vec<i32>,
    /// The bytes of each quadrant of this rank, if requested.
    pub data: Vec<u8>,
    /// The checksum of the mesh.
    pub checksum: Checksum,
    /// How the trees are connected.
    pub connectivity: Connectivity,
}

/// Reads the mesh of a step, its connectivity, and the bytes of quadrants. `step`: 0 is the first one, -1 the last one.
///
/// # Errors
/// `Format` if the file has no such forest, or one that violates docs/forest.md; `Unsupported` for a later
/// version, finer levels, and data of a machine with another byte order; `Range` for more trees or quadrants
/// than 32 bits can count; `Argument` if there is no such step, or for a partition that does not fit;
/// `Memory`; those of [`DatasetHandle::read`].
pub fn read(file: &mut Reader, group: &str, step: i64, wanted: &ReadRequest<'_>) -> Result<StoredForest> {
    file.agree_on(part_name(group, "corner_to_corner").map(drop))?;
    let attributes = attributes_of(file, group, FOREST, 1)?;
    let dimension = attributes::whole_number(&attributes, DIMENSION);
    if dimension != Some(wanted.dimension as u64) {
        let found = attributes::value(&attributes, DIMENSION).unwrap_or_else(|| "none".to_owned());
        let words = format!("the forest {group} has the dimension {found}; expected {}", wanted.dimension);
        return file.agree_on(Err(Error::new(ErrorKind::Format, words)));
    }
    let of_step = sections(file, group, step)?;
    let up_to = 0..of_step.end;
    let name = part_name(group, "coordinates")?;
    let record = need(file, &name, &up_to, step)?;
    let mut found = match wanted.dimension {
        2 => read_mesh::<2>(file, group, record, wanted)?,
        _ => read_mesh::<3>(file, group, record, wanted)?,
    };
    let name = part_name(group, "tree_to_tree")?;
    let record = need(file, &name, &up_to, step)?;
    let begin = file.find(name.as_bytes(), record)?.unwrap_or(0);
    let end = if record < 0 { None } else { file.find(name.as_bytes(), record + 1)? };
    let joins = ConnectivitySections {
        group,
        dimension: wanted.dimension,
        trees: found.trees,
        sections: begin..end.unwrap_or(u64::MAX),
    };
    found.connectivity = joins.read(file)?;
    if wanted.data_bytes > 0 {
        found.data = read_data(file, group, step, &of_step, &found, wanted)?;
    }
    Ok(found)
}

/// Reads the mesh that begins with this record of its coordinates.
fn read_mesh<const D: usize>(
    file: &mut Reader,
    group: &str,
    record: i64,
    wanted: &ReadRequest<'_>,
) -> Result<StoredForest> {
    let part = |name| part_name(group, name);
    let coordinates = open(file, &part("coordinates")?, record, DataType::Int32, &[None, Some(D as u64)])?;
    let quadrants = coordinates.shape[0];
    let levels = open(file, &part("level")?, record, DataType::Uint8, &[Some(quadrants)])?;
    let offsets = open(file, &part("tree_offsets")?, record, DataType::Int64, &[None])?;
    let trees = offsets.shape[0].saturating_sub(1);
    // Faces, edges and corners of trees must be countable in 32 bits.
    let most_trees = u64::from(i32::MAX.unsigned_abs()) / if D == 3 { 12 } else { 4 };
    let counted = if trees == 0 || quadrants == 0 {
        let numbers = offsets.shape[0];
        let words =
            format!("found {numbers} numbers, for {quadrants} quadrants, expected at least 2, and some");
        Err(format(group)(MeshError::new("tree_offsets", words)))
    } else if trees > most_trees {
        let words =
            format!("{group}/tree_offsets: found {trees} trees; this library reads up to {most_trees}");
        Err(Error::range(words))
    } else {
        Ok(())
    };
    file.agree_on(counted)?;
    let tree_offsets = read_all(file, &offsets, i64::from_ne_bytes, |all, seen| {
        let before = if seen == 0 { 0 } else { all[seen - 1] };
        check_tree_offsets(&all[seen..], seen as u64, before, trees, quadrants).map_err(format(group))
    })?;
    let first_quadrant = distribute(file, group, record, quadrants, wanted.distribution)?;
    let mut found =
        StoredForest { trees, quadrants, first_quadrant, tree_offsets, ..StoredForest::default() };
    read_quadrants::<D>(file, group, (&coordinates, &levels), &mut found, wanted)?;
    let own = Forest { checksum: found.checksum, ..Forest::default() };
    own.expect(file, &coordinates, "the checksum of the mesh that it begins")?;
    Ok(found)
}

/// The first quadrant of each rank, followed by the number of all.
fn distribute(
    file: &mut Reader,
    group: &str,
    record: i64,
    quadrants: u64,
    distribution: Distribution<'_>,
) -> Result<Vec<i64>> {
    let ranks = file.size() as u64;
    let stored = match distribution {
        Distribution::Stored if ranks > 1 => Some(stored_partition(file, group, record, quadrants)?),
        _ => None,
    };
    let all = i64::try_from(quadrants).unwrap_or(i64::MAX);
    let size = i64::try_from(ranks).unwrap_or(i64::MAX);
    let mut first = Vec::new();
    let room = reserve(&mut first, to_usize(ranks) + 1);
    let made = room.and_then(|()| {
        for rank in 0..=size {
            let begin = match (&stored, distribution) {
                (Some(stored), _) => stored.get(to_usize(rank.unsigned_abs())).copied(),
                (None, Distribution::Explicit(begins)) => begins.get(to_usize(rank.unsigned_abs())).copied(),
                (None, _) => Some(all / size * rank + all % size * rank / size),
            };
            let before = first.last().copied().unwrap_or(0);
            let fits = begin.filter(|begin| {
                check_partition(rank.unsigned_abs(), ranks, before, *begin, quadrants).is_ok()
            });
            let Some(begin) = fits else {
                let words =
                    format!("the partition given does not go from 0 to the {all} quadrants of the file");
                return Err(Error::argument(words));
            };
            if begin - before > i64::from(i32::MAX) {
                let words = format!(
                    "rank {} would get {} quadrants, more than 32 bits count",
                    rank - 1,
                    begin - before
                );
                return Err(Error::range(words));
            }
            first.push(begin);
        }
        Ok(first)
    });
    file.agree_on(made)
}

/// The stored partition of a mesh, which must be for the same number of ranks.
fn stored_partition(file: &mut Reader, group: &str, record: i64, quadrants: u64) -> Result<Vec<i64>> {
    let ranks = file.size() as u64;
    let mesh = file.find(part_name(group, "coordinates")?.as_bytes(), record)?.unwrap_or(0);
    let name = part_name(group, PARTITION)?;
    let refuse = |words| Err(Error::argument(words));
    let Some(record) = last(file, &name, &(mesh..u64::MAX))? else {
        let words = format!(
            "the partition of {ranks} ranks is asked for (autopartition is 0), which {group} does not have"
        );
        return file.agree_on(refuse(words));
    };
    let dataset = open(file, &name, record, DataType::Int64, &[None])?;
    if dataset.shape[0] != ranks + 1 {
        let numbers = dataset.shape[0];
        let words = format!(
            "the partition of {ranks} ranks is asked for (autopartition is 0), but dataset {name} has {numbers} numbers"
        );
        return file.agree_on(refuse(words));
    }
    read_all(file, &dataset, i64::from_ne_bytes, |all, seen| {
        for at in seen..all.len() {
            let before = if at == 0 { 0 } else { all[at - 1] };
            check_partition(at as u64, ranks, before, all[at], quadrants).map_err(format(group))?;
        }
        Ok(())
    })
}

/// Reads the quadrants of this rank, in parts.
fn read_quadrants<const D: usize>(
    file: &mut Reader,
    group: &str,
    (coordinates, levels): (&DatasetHandle, &DatasetHandle),
    found: &mut StoredForest,
    wanted: &ReadRequest<'_>,
) -> Result<()> {
    let rank = file.rank();
    let count = |bounds: &[i64]| (bounds[1] - bounds[0]).unsigned_abs();
    let most = found.first_quadrant.windows(2).map(count).max().unwrap_or(0);
    let own = found.first_quadrant[rank].unsigned_abs()..found.first_quadrant[rank + 1].unsigned_abs();
    let (mut corners, mut own_levels) = (Vec::new(), Vec::new());
    let mut checksum = Checksum::default();
    for done in (0..most).step_by(to_usize(AT_ONCE)) {
        let begin = (own.start + done).min(own.end);
        let end = (begin + AT_ONCE).min(own.end);
        // Includes the quadrant before the first one.
        let from = begin - u64::from(end > begin && begin > 0);
        let room = resize(&mut corners, (end - from) * 4 * D as u64)
            .and_then(|()| resize(&mut own_levels, end - from))
            .and_then(|()| reserve(&mut found.packed, to_usize(end - begin) * (D + 1)));
        file.agree_on(room)?;
        coordinates.read(file, &rows(&coordinates.shape, from, end - from), &mut corners)?;
        levels.read(file, &rows(&levels.shape, from, end - from), &mut own_levels)?;
        let unpacked = unpack::<D>(group, (&corners, &own_levels), (from, begin), found, wanted);
        let more = file.agree_on(unpacked)?;
        checksum = checksum.and(more);
    }
    found.checksum = of_all(file, checksum)?;
    Ok(())
}

/// Checks quadrants from number `from` on, and unpacks those from `begin` on. Returns the contribution of the
/// latter to the checksum.
fn unpack<const D: usize>(
    group: &str,
    (corners, levels): (&[u8], &[u8]),
    (from, begin): (u64, u64),
    found: &mut StoredForest,
    wanted: &ReadRequest<'_>,
) -> Result<u64> {
    let (offsets, shift) = (&found.tree_offsets, MAX_LEVEL.saturating_sub(wanted.unit));
    let mut check = QuadrantCheck::new(D, offsets, begin, None);
    let mut sum = 0_u64;
    for ((number, bytes), &level) in (from..).zip(corners.as_chunks::<4>().0.chunks_exact(D)).zip(levels) {
        let corner: [i32; D] = std::array::from_fn(|axis| i32::from_ne_bytes(bytes[axis]));
        if number < begin {
            check = QuadrantCheck::new(D, offsets, begin, Some((&corner, level)));
            continue;
        }
        let more = check.add(offsets, &corner, level).map_err(format(group))?;
        if level > wanted.finest {
            let finest = wanted.finest;
            let words = format!(
                "{group}/level: quadrant {number}: found level {level}; this program has levels up to {finest}"
            );
            return Err(Error::new(ErrorKind::Unsupported, words));
        }
        sum = sum.wrapping_add(more);
        found.packed.extend(corner.map(|coordinate| coordinate >> shift));
        found.packed.push(level.into());
    }
    Ok(sum)
}

/// Reads the bytes of the quadrants of this rank.
fn read_data(
    file: &mut Reader,
    group: &str,
    step: i64,
    of_step: &Range<u64>,
    found: &StoredForest,
    wanted: &ReadRequest<'_>,
) -> Result<Vec<u8>> {
    let name = part_name(group, DATA)?;
    let record = need(file, &name, of_step, step)?;
    let dataset = open(file, &name, record, DataType::Raw(wanted.data_bytes), &[Some(found.quadrants)])?;
    let own = Forest { checksum: found.checksum, ..Forest::default() };
    own.expect(file, &dataset, "the checksum of the mesh of the step")?;
    let bounds = &found.first_quadrant[file.rank()..];
    let (first, n) = (bounds[0].unsigned_abs(), (bounds[1] - bounds[0]).unsigned_abs());
    let order = attributes::value(&dataset.attributes, "byte_order");
    let mut data = Vec::new();
    let room = match order {
        Some(order)
            if ["\"big\"", "\"little\""].contains(&&*order) && order.trim_matches('"') != byte_order() =>
        {
            let words = format!("dataset {name} is of a machine with the other byte order");
            Err(Error::new(ErrorKind::Unsupported, words))
        }
        _ => resize(&mut data, n.saturating_mul(wanted.data_bytes.into())),
    };
    file.agree_on(room)?;
    dataset.read(file, &rows(&dataset.shape, first, n), &mut data)?;
    Ok(data)
}

/// A connectivity in a file: the sections from its `tree_to_tree` to the next one.
struct ConnectivitySections<'a> {
    group: &'a str,
    dimension: usize,
    trees: u64,
    sections: Range<u64>,
}

impl ConnectivitySections<'_> {
    /// Finds a dataset of the connectivity, if it is there, with at most this many rows.
    fn open(
        &self,
        file: &mut Reader,
        part: &'static str,
        data_type: DataType,
        shape: &[Option<u64>],
        most: u64,
    ) -> Result<Option<DatasetHandle>> {
        let name = part_name(self.group, part)?;
        let Some(record) = last(file, &name, &self.sections)? else { return Ok(None) };
        let dataset = open(file, &name, record, data_type, shape)?;
        let found = dataset.shape[0];
        if found > most {
            let wrong = MeshError::new(part, format!("found {found} rows, expected at most {most}"));
            return file.agree_on(Err(format(self.group)(wrong)));
        }
        Ok(Some(dataset))
    }

    /// Reads the numbers of such a dataset, each between `least` and `most`.
    fn numbers<T: Copy + Into<i64>, const N: usize>(
        &self,
        file: &mut Reader,
        part: &'static str,
        dataset: &DatasetHandle,
        of: fn([u8; N]) -> T,
        (least, most): (i64, u64),
    ) -> Result<Vec<T>> {
        let most = i64::try_from(most).unwrap_or(i64::MAX) - 1;
        let columns = dataset.shape.get(1).copied().unwrap_or(1).max(1);
        read_all(file, dataset, of, |all, seen| {
            let first = seen as u64 / columns;
            check_bounds(part, &all[seen..], (first, columns), (least, most)).map_err(format(self.group))
        })
    }

    /// The error for a required part that is missing.
    fn missing<T>(&self, file: &mut Reader, part: &'static str) -> Result<T> {
        let words = format!("there is no dataset {}/{part} after tree_to_tree", self.group);
        file.agree_on(Err(Error::new(ErrorKind::Format, words)))
    }

    fn read(&self, file: &mut Reader) -> Result<Connectivity> {
        let (trees, d) = (self.trees, self.dimension);
        let (faces, corners) = (2 * d as u64, 1_u64 << d);
        let mut c = Connectivity::default();
        let of_faces = [Some(trees), Some(faces)];
        let Some(dataset) = self.open(file, "tree_to_tree", DataType::Int32, &of_faces, trees)? else {
            return self.missing(file, "tree_to_tree");
        };
        c.tree_to_tree = self.numbers(file, "tree_to_tree", &dataset, i32::from_ne_bytes, (0, trees))?;
        let Some(dataset) = self.open(file, "tree_to_face", DataType::Int8, &of_faces, trees)? else {
            return self.missing(file, "tree_to_face");
        };
        let codes = faces * corners / 2;
        c.tree_to_face = self.numbers(file, "tree_to_face", &dataset, i8::from_ne_bytes, (0, codes))?;
        file.agree_on(check_faces(d, &c.tree_to_tree, &c.tree_to_face).map_err(format(self.group)))?;
        let most = most_vertices(trees, d);
        if let Some(dataset) = self.open(file, "vertices", DataType::Float64, &[None, Some(3)], most)? {
            let vertices = dataset.shape[0];
            c.vertices = read_all(file, &dataset, f64::from_ne_bytes, |_, _| Ok(()))?;
            let shape = [Some(trees), Some(corners)];
            let dataset = self.open(file, "tree_to_vertex", DataType::Int32, &shape, trees)?;
            let Some(dataset) = dataset.filter(|_| vertices > 0) else {
                return self.missing(file, "tree_to_vertex");
            };
            c.tree_to_vertex =
                self.numbers(file, "tree_to_vertex", &dataset, i32::from_ne_bytes, (0, vertices))?;
        }
        if d == 3 {
            c.edges = self.shared(file, SharedKind::EDGES)?;
        }
        c.corners = self.shared(file, SharedKind::corners(d))?;
        self.attributes(file, &mut c)?;
        Ok(c)
    }

    /// Reads the bytes of trees; an item may have any number of them.
    fn attributes(&self, file: &mut Reader, c: &mut Connectivity) -> Result<()> {
        let name = part_name(self.group, "tree_attributes")?;
        let Some(record) = last(file, &name, &self.sections)? else { return Ok(()) };
        let bytes = match file.dataset_record(&name, record)?.map(|dataset| dataset.data_type) {
            Some(DataType::Raw(bytes)) => bytes,
            _ => 1,
        };
        let dataset = open(file, &name, record, DataType::Raw(bytes), &[Some(self.trees)])?;
        let all = self.trees.saturating_mul(bytes.into());
        if all > MOST_ATTRIBUTES {
            let words = format!("found {all} bytes, expected at most {MOST_ATTRIBUTES}");
            return file.agree_on(Err(format(self.group)(MeshError::new("tree_attributes", words))));
        }
        c.attribute_bytes = bytes;
        c.attributes = read_all(file, &dataset, u8::from_ne_bytes, |_, _| Ok(()))?;
        Ok(())
    }

    /// Reads edges or corners, if they are there.
    fn shared(&self, file: &mut Reader, kind: SharedKind) -> Result<SharedEntities> {
        let trees = self.trees;
        let most = trees * kind.each;
        let most_entries = (trees * kind.codes).min(u64::from(i32::MAX.unsigned_abs()));
        let [in_tree, offsets, to_tree, to_code] = kind.parts;
        let mut s = SharedEntities::default();
        let shape = [Some(trees), Some(kind.each)];
        let Some(of_trees) = self.open(file, in_tree, DataType::Int32, &shape, trees)? else {
            return Ok(s);
        };
        let Some(dataset) = self.open(file, offsets, DataType::Int32, &[None], most + 1)? else {
            return self.missing(file, offsets);
        };
        let count = dataset.shape[0].saturating_sub(1);
        s.offsets = self.numbers(file, offsets, &dataset, i32::from_ne_bytes, (0, most_entries + 1))?;
        let Some(dataset) = self.open(file, to_tree, DataType::Int32, &[None], most_entries)? else {
            return self.missing(file, to_tree);
        };
        let entries = dataset.shape[0];
        file.agree_on(kind.check_offsets(&s.offsets, entries).map_err(format(self.group)))?;
        s.to_tree = self.numbers(file, to_tree, &dataset, i32::from_ne_bytes, (0, trees))?;
        let Some(dataset) = self.open(file, to_code, DataType::Int8, &[Some(entries)], most_entries)? else {
            return self.missing(file, to_code);
        };
        s.to_code = self.numbers(file, to_code, &dataset, i8::from_ne_bytes, (0, kind.codes))?;
        s.tree_to = self.numbers(file, in_tree, &of_trees, i32::from_ne_bytes, (-1, count))?;
        let mut seen = Vec::new();
        let checked = resize(&mut seen, s.tree_to.len() as u64).and_then(|()| {
            let checked = kind.check(&s.tree_to, &s.offsets, &s.to_tree, &s.to_code, &mut seen);
            checked.map_err(format(self.group))
        });
        file.agree_on(checked)?;
        Ok(s)
    }
}

/// The required type and shape of a field, so that its values fit the program's memory.
pub struct FieldType<'a> {
    /// Whether its type is right.
    pub is_type: &'a dyn Fn(DataType) -> bool,
    /// The name of the type in messages.
    pub type_name: &'a str,
    /// The number of items in a row; with `in_bytes`, the number of bytes.
    pub components: u64,
    /// Whether `components` counts bytes, because the type does not determine the size of an item.
    pub in_bytes: bool,
}

impl FieldType<'static> {
    /// The type of the counts of a ragged field.
    const COUNTS: Self = FieldType {
        is_type: &|found| found == DataType::Int64,
        type_name: "int64",
        components: 1,
        in_bytes: false,
    };
}

/// Finds a field of a step, which must refer to the mesh of the forest. `ending` is `:count` or empty, `all`
/// the required number of rows.
fn find(
    file: &mut Reader,
    (group, step): (&str, i64),
    forest: &Forest<'_>,
    name: &str,
    all: u64,
    wanted: &FieldType<'_>,
) -> Result<DatasetHandle> {
    let name = field_name(group, name);
    let name = file.agree_on(name)?;
    let of_step = sections(file, group, step)?;
    let record = need(file, &name, &of_step, step)?;
    let Some(dataset) = file.dataset_record(&name, record)? else {
        let words = format!("{name} is no dataset");
        return file.agree_on(Err(Error::new(ErrorKind::Format, words)));
    };
    let found = dataset.data_type;
    let columns: u64 = dataset.shape.iter().skip(1).product(); // less than 2^63: the library has compared it
    let each = if wanted.in_bytes && !found.is_variable() {
        columns.saturating_mul(found.item_bytes())
    } else {
        columns
    };
    let words = if !(wanted.is_type)(found) {
        format!("the type {found}; expected {}", wanted.type_name)
    } else if dataset.shape.first() != Some(&all) {
        format!("{} rows; expected {all}", dataset.shape.first().unwrap_or(&1))
    } else if each != wanted.components {
        let what = if wanted.in_bytes { "bytes" } else { "items" };
        format!("{each} {what} in each row; expected {}", wanted.components)
    } else {
        forest.expect(file, &dataset, "that of the forest given: read that of the same step")?;
        return Ok(dataset);
    };
    file.agree_on(Err(Error::new(ErrorKind::Format, format!("dataset {name} has {words}"))))
}

/// Finds a field of a step, for the quadrants of this rank. Returns the dataset and this rank's rows.
///
/// # Errors
/// `Format` if there is no such field, or it has another type, shape or mesh; `Argument`; those of
/// [`Reader::dataset_record`].
pub fn field(
    file: &mut Reader,
    (group, step): (&str, i64),
    forest: &Forest<'_>,
    name: Result<&str>,
    wanted: &FieldType<'_>,
) -> Result<(DatasetHandle, Vec<IndexBox>)> {
    let name = file.agree_on(name)?;
    let dataset = find(file, (group, step), forest, name, forest.quadrants, wanted)?;
    let regions = forest.rows(&dataset.shape);
    Ok((dataset, regions))
}

/// This rank's part of the values of all ranks.
fn spread(
    file: &mut Reader,
    forest: &Forest<'_>,
    counts: Result<&[u8]>,
    kind: ErrorKind,
) -> Result<Partition> {
    let own =
        counts.and_then(|counts| sum(forest, counts).map_err(|error| Error::new(kind, error.to_string())));
    let mut parts = [Partition { count: file.agree_on(own)?, ..Partition::default() }];
    file.spread(Ok(&mut parts))?;
    Ok(parts[0])
}

/// Reads the number of values of each quadrant of this rank, as bytes in memory. The sum over all ranks must
/// match the values in the file.
///
/// # Errors
/// Those of [`field`] and [`DatasetHandle::read`]; `Format` for counts that do not match the values.
pub fn counts(
    file: &mut Reader,
    (group, step): (&str, i64),
    forest: &Forest<'_>,
    name: Result<&str>,
    counts: Result<&mut [u8]>,
) -> Result<()> {
    let own = name.and_then(|name| Ok((name, counts?)));
    let (name, counts) = file.agree_on(own)?;
    let dataset =
        find(file, (group, step), forest, &format!("{name}:count"), forest.quadrants, &FieldType::COUNTS)?;
    dataset.read(file, &forest.rows(&dataset.shape), &mut *counts)?;
    let values = spread(file, forest, Ok(&*counts), ErrorKind::Format)?;
    let found = match field_of_step(file, group, step, Ok(name))? {
        Some((name, record)) => file.dataset_record(&name, record)?,
        None => None,
    };
    if found.is_some_and(|found| found.shape.first() == Some(&values.total)) {
        return Ok(());
    }
    let words = format!(
        "the counts of the field {name} have the sum {}, which is not the number of its values",
        values.total
    );
    file.agree_on(Err(Error::new(ErrorKind::Format, words)))
}

/// Finds a ragged field, which has a number of values of its own for each quadrant. Returns the dataset and
/// this rank's rows, from `counts` as read by [`counts()`].
///
/// # Errors
/// Those of [`field`]; `Range` for counts that are negative or whose sum is too large.
pub fn ragged(
    file: &mut Reader,
    (group, step): (&str, i64),
    forest: &Forest<'_>,
    name: Result<&str>,
    wanted: &FieldType<'_>,
    counts: Result<&[u8]>,
) -> Result<(DatasetHandle, Vec<IndexBox>)> {
    let name = file.agree_on(name)?;
    let values = spread(file, forest, counts, ErrorKind::Range)?;
    let dataset = find(file, (group, step), forest, name, values.total, wanted)?;
    let regions = rows(&dataset.shape, values.offset, values.count);
    Ok((dataset, regions))
}
