//! Reads a forest. Everything is checked before it is used.

use super::connectivity::{self, Connectivity};
use super::format;
use super::write::byte_order;
use crate::ranks::checksum_of_all;
use crate::read::{RankSource, RecordChoice, Source, numbers, numbers_if, open as open_part};
use crate::steps::{dimension, expect_mesh, last, need, open, sections};
use crate::write::rows;
use scda::{Collective, DataType, DatasetHandle, Error, ErrorKind, Reader, Result};
use scda_base::memory::{reserve, resize};
use scda_base::numbers::to_usize;
use scda_format::meshes::checksum::Checksum;
use scda_format::meshes::forest::{MAX_LEVEL, QuadrantCheck, check_partition, check_tree_offsets};
use scda_format::meshes::parts::{COORDINATES, DATA, LEVEL, PARTITION, TREE_OFFSETS};
use scda_format::meshes::{Convention, MeshError, attributes, part_name};
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
/// `NotFound` if the file has no such forest or step; `Format` for one that violates docs/forest.md; `Unsupported` for
/// a later version, finer levels, and data of a machine with another byte order; `Range` for more trees or quadrants
/// than 32 bits can count; `Argument` for a partition that does not fit; `Memory`; those of [`DatasetHandle::read`].
pub fn read(file: &mut Reader, group: &str, step: i64, wanted: &ReadRequest<'_>) -> Result<StoredForest> {
    file.agree_on(part_name(group, "corner_to_corner").map(drop))?;
    let d = wanted.dimension as u64;
    dimension(file, group, Convention::Forest, 1, d..=d)?;
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
    let choice = RecordChoice::Sections(begin..end.unwrap_or(u64::MAX));
    let mut source = RankSource { file, group, choice };
    found.connectivity = connectivity::read(&mut source, wanted.dimension, found.trees)?;
    if found.connectivity.trees < found.trees {
        let words = format!("found {} trees, expected {}", found.connectivity.trees, found.trees);
        return source.hold(Err(MeshError::new("tree_to_tree", words)));
    }
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
    let mut source = RankSource { file, group, choice: RecordChoice::Record(record) };
    let [coordinates, levels, offsets] = open_mesh(&mut source, D)?;
    let (quadrants, trees) = (coordinates.shape[0], offsets.shape[0] - 1);
    // Faces, edges and corners of trees must be countable in 32 bits.
    let most_trees = u64::from(i32::MAX.unsigned_abs()) / if D == 3 { 12 } else { 4 };
    if trees > most_trees {
        let words = format!(
            "{group}/tree_offsets: found {trees} trees, expected at most {most_trees}, which this library can read"
        );
        return source.agree(Err(Error::range(words)));
    }
    let mut before = 0;
    let tree_offsets = numbers(&mut source, offsets, i64::from_ne_bytes, |first, batch| {
        check_tree_offsets(batch, first, before, trees, quadrants)?;
        before = batch.last().copied().unwrap_or(before);
        Ok(())
    })?;
    let first_quadrant = distribute(file, group, record, quadrants, wanted.distribution)?;
    let mut found =
        StoredForest { trees, quadrants, first_quadrant, tree_offsets, ..StoredForest::default() };
    let handles = (&coordinates.dataset, &levels.dataset);
    read_quadrants::<D>(file, group, handles, &mut found, wanted)?;
    expect_mesh(file, &coordinates, found.checksum, "that it begins")?;
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
                    format!("the partition given does not extend from 0 to the {all} quadrants of the file");
                return Err(Error::argument(words));
            };
            if begin - before > i64::from(i32::MAX) {
                let words = format!(
                    "rank {} would get {} quadrants, more than 32 bits can count",
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
    let name = part_name(group, PARTITION.name)?;
    let refuse = |words| Err(Error::argument(words));
    let Some(record) = last(file, &name, &(mesh..u64::MAX))? else {
        let words = format!(
            "{group}: found no partition, expected that of {ranks} ranks, because autopartition is 0"
        );
        return file.agree_on(refuse(words));
    };
    let dataset = open(file, (group, record), &PARTITION, 0, None)?;
    if dataset.shape[0] != ranks + 1 {
        let numbers = dataset.shape[0];
        let words = format!(
            "dataset {name}: found {numbers} numbers, expected the partition of {ranks} ranks, because autopartition is 0"
        );
        return file.agree_on(refuse(words));
    }
    partition(
        &mut RankSource { file, group, choice: RecordChoice::Record(record) },
        dataset.into(),
        quadrants,
    )
}

/// Opens the datasets that each mesh of `d` axes has: coordinates, levels, and at least two offsets of trees.
pub(super) fn open_mesh<S: Source>(source: &mut S, d: usize) -> Result<[S::Column; 3], S::Error> {
    let coordinates = open_part(source, &COORDINATES, d, None)?;
    let levels = open_part(source, &LEVEL, d, coordinates.shape.first().copied())?;
    let offsets = open_part(source, &TREE_OFFSETS, d, None)?;
    let checked = match offsets.shape[0] {
        found @ 0..2 => {
            Err(MeshError::new("tree_offsets", format!("found {found} numbers, expected at least 2")))
        }
        _ => Ok([coordinates, levels, offsets]),
    };
    source.hold(checked)
}

/// Reads and checks a partition of this many quadrants. A check does not keep the numbers.
pub(super) fn partition<S: Source>(
    source: &mut S,
    column: S::Column,
    quadrants: u64,
) -> Result<Vec<i64>, S::Error> {
    let (ranks, mut before) = (column.shape[0] - 1, 0);
    numbers_if(source, column, i64::from_ne_bytes, S::MOST.is_none(), |first, batch| {
        for (rank, &found) in (first..).zip(batch) {
            check_partition(rank, ranks, before, found, quadrants)?;
            before = found;
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
    found.checksum = checksum_of_all(file, checksum)?;
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
                "{group}/level: quadrant {number}: found level {level}, expected at most {finest}, the finest of this program"
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
    let name = part_name(group, DATA.name)?;
    let record = need(file, &name, of_step, step)?;
    let part = DATA.of(DataType::Raw(wanted.data_bytes));
    let dataset = open(file, (group, record), &part, wanted.dimension, Some(found.quadrants))?;
    expect_mesh(file, &dataset, found.checksum, "of the step")?;
    let bounds = &found.first_quadrant[file.rank()..];
    let (first, n) = (bounds[0].unsigned_abs(), (bounds[1] - bounds[0]).unsigned_abs());
    let order = attributes::value(&dataset.attributes, "byte_order");
    let mut data = Vec::new();
    let room = match order {
        Some(order)
            if ["\"big\"", "\"little\""].contains(&&*order) && order.trim_matches('"') != byte_order() =>
        {
            let words = format!("dataset {name} was written on a machine with the opposite byte order");
            Err(Error::new(ErrorKind::Unsupported, words))
        }
        _ => resize(&mut data, n.saturating_mul(wanted.data_bytes.into())),
    };
    file.agree_on(room)?;
    dataset.read(file, &rows(&dataset.shape, first, n), &mut data)?;
    Ok(data)
}
