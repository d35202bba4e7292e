//! Patches of block-structured codes (docs/patches.md).

use super::parts::{MOST, Parts, whole};
use super::{Cut, Faces, Mesh, shapes};
use crate::fail::Result;
use scda_base::numbers::to_usize;
use scda_meshes::MeshError;
use scda_meshes::patches::{Checked, Frame};
use std::collections::HashMap;
use std::ops::Range;

/// So often patches are compared with each other.
const MOST_COMPARISONS: u64 = 100_000_000;

/// Cells: the first one and the one after the last one on each axis; on axes that the mesh lacks 0 and 1.
type Cells = [[i64; 2]; 3];

struct Patch {
    cells: Cells,
    /// The number of its first cell among all.
    begin: usize,
}

impl Patch {
    fn number(&self, [i, j, k]: [i64; 3]) -> usize {
        let n = self.cells.map(|[first, end]| end - first);
        let [x, y, z] = [i - self.cells[0][0], j - self.cells[1][0], k - self.cells[2][0]];
        self.begin + to_usize(((z * n[1] + y) * n[0] + x).unsigned_abs())
    }
}

/// The patches of a level.
struct Level {
    patches: Vec<Patch>,
    /// How many of its cells lie in one of the level before.
    ratio: [i64; 3],
    /// The corner of cell 0, and the size of a cell.
    corner: [f64; 3],
    size: [f64; 3],
    /// The patches that touch each block of `block` cells.
    blocks: HashMap<[i64; 3], Vec<usize>>,
    block: [i64; 3],
    comparisons: u64,
}

impl Level {
    /// Sorts its patches into blocks.
    fn sort(&mut self) {
        for Patch { cells, .. } in &self.patches {
            (0..3).for_each(|axis| self.block[axis] = self.block[axis].max(cells[axis][1] - cells[axis][0]));
        }
        for (number, patch) in self.patches.iter().enumerate() {
            for block in each(blocks(&patch.cells, self.block)) {
                self.blocks.entry(block).or_default().push(number);
            }
        }
    }

    /// The patches that have some of these cells, and which; each at most once.
    fn common(&mut self, cells: &Cells) -> Vec<(usize, Cells)> {
        let mut found = Vec::new();
        if self.comparisons > MOST_COMPARISONS {
            // The mesh will be refused.
            return found;
        }
        for block in each(blocks(cells, self.block)) {
            for &number in self.blocks.get(&block).into_iter().flatten() {
                self.comparisons += 1;
                let patch = &self.patches[number].cells;
                let common: Cells = [0, 1, 2]
                    .map(|axis| [patch[axis][0].max(cells[axis][0]), patch[axis][1].min(cells[axis][1])]);
                // Of the blocks that both touch, the first one counts.
                let is_first = (0..3).all(|axis| common[axis][0].div_euclid(self.block[axis]) == block[axis]);
                if is_first && common.iter().all(|[first, end]| first < end) {
                    found.push((number, common));
                }
            }
        }
        found
    }

    fn has(&mut self, cell: [i64; 3]) -> bool {
        !self.common(&cell.map(|at| [at, at + 1])).is_empty()
    }

    /// Where a cell begins or ends.
    fn at(&self, axis: usize, cell: i64) -> f64 {
        self.corner[axis] + real(cell) * self.size[axis]
    }

    /// A corner of a cell.
    fn point(&self, cell: [i64; 3], corner: usize, axes: usize) -> [f64; 3] {
        [0, 1, 2].map(|axis| {
            if axis < axes { self.at(axis, cell[axis] + i64::from(corner >> axis & 1 == 1)) } else { 0.0 }
        })
    }
}

#[allow(clippy::cast_precision_loss)] // the nearest one is meant
fn real(n: i64) -> f64 {
    n as f64
}

/// The blocks that cells touch.
fn blocks(cells: &Cells, block: [i64; 3]) -> Cells {
    [0, 1, 2].map(|axis| {
        [cells[axis][0].div_euclid(block[axis]), (cells[axis][1] - 1).div_euclid(block[axis]) + 1]
    })
}

/// Cells in order, x fastest.
fn each([x, y, z]: Cells) -> impl Iterator<Item = [i64; 3]> {
    let range = |[first, end]: [i64; 2]| -> Range<i64> { first..end };
    range(z).flat_map(move |k| range(y).flat_map(move |j| range(x).map(move |i| [i, j, k])))
}

/// The mesh of a step: cells that finer ones do not cover. In space, their faces without a cell of this or of a coarser level next to them.
pub fn load(parts: &mut Parts<'_>, dimension: usize, cut: Cut) -> Result<Mesh> {
    let (mut levels, of_cells) = levels(parts, dimension)?;
    let covered = covered(&mut levels, of_cells.len());
    let mut faces = Faces::default();
    for finest in (0..levels.len()).rev() {
        for number in 0..levels[finest].patches.len() {
            let level = &levels[finest];
            let patch = &level.patches[number];
            let mut cells = patch.cells;
            if let Some((axis, at)) = cut {
                let cell = whole(((at - level.corner[axis]) / level.size[axis]).floor());
                if !(cells[axis][0]..cells[axis][1]).contains(&cell) {
                    continue;
                }
                cells[axis] = [cell, cell + 1];
            }
            if dimension == 3 && cut.is_none() {
                outer_faces(&mut levels, finest, number, &covered, &mut faces);
                continue;
            }
            let corners: &[usize] = match (dimension, cut) {
                (1, _) => &[0, 1],
                (_, Some((0, _))) => shapes::VOXEL[0],
                (_, Some((1, _))) => shapes::VOXEL[2],
                _ => shapes::VOXEL[4],
            };
            for cell in each(cells) {
                let number = patch.number(cell);
                if !covered[number] {
                    let point = |&corner: &usize| {
                        let mut point = level.point(cell, corner, dimension);
                        cut.into_iter().for_each(|(axis, at)| point[axis] = at);
                        point
                    };
                    faces.push(number, corners.iter().map(point));
                }
            }
        }
        if levels.iter().map(|level| level.comparisons).sum::<u64>() > MOST_COMPARISONS {
            return parts.fail("too many patches of a level lie side by side");
        }
    }
    let cells = of_cells.len();
    Ok(Mesh { levels: of_cells, covered, ..Mesh::new(cells, faces) })
}

/// The levels, and the number of the level of each cell.
fn levels(parts: &mut Parts<'_>, dimension: usize) -> Result<(Vec<Level>, Vec<f64>)> {
    let (shape, boxes) = parts.need("boxes", 0)?;
    let (of_patches, ratios) = (parts.need("level", 0)?.1, parts.need("ratio", 0)?.1);
    let (domain, geometry) = (parts.need("domain", 0)?.1, parts.need("geometry", 0)?.1);
    let frame = Frame {
        dimension,
        ratio: ratios.iter().map(|&ratio| i32::try_from(whole(ratio)).unwrap_or(0)).collect(),
        domain: domain.iter().map(|&cell| whole(cell)).collect(),
        geometry: geometry.clone(),
    };
    if let Err(MeshError { part, words }) = frame.check() {
        return parts.fail(format_args!("{part}: {words}"));
    }
    let count = of_patches.len();
    if shape != [count as u64, 2, dimension as u64] {
        return parts.fail(format_args!("found {count} levels, and boxes of the shape {shape:?}"));
    }
    let mut checked = Checked::new(&frame, 0);
    let (mut levels, mut scale) = (Vec::new(), [1.0; 3]);
    for of_level in ratios.chunks_exact(dimension) {
        let mut level = Level {
            patches: Vec::new(),
            ratio: [1; 3],
            corner: [0.0; 3],
            size: [1.0; 3],
            blocks: HashMap::new(),
            block: [1; 3],
            comparisons: 0,
        };
        for axis in 0..dimension {
            scale[axis] *= of_level[axis];
            level.ratio[axis] = whole(of_level[axis]);
            level.size[axis] = geometry[dimension + axis] / scale[axis];
            level.corner[axis] = geometry[axis] - domain[axis] * geometry[dimension + axis];
        }
        levels.push(level);
    }
    let mut of_cells = Vec::new();
    for (number, found) in of_patches.iter().zip(boxes.chunks_exact(2 * dimension)) {
        let found: Vec<i64> = found.iter().map(|&number| whole(number)).collect();
        let n = match checked.add(i32::try_from(whole(*number)).unwrap_or(-1), &found) {
            Ok(n) => n,
            Err(MeshError { part, words }) => return parts.fail(format_args!("{part}: {words}")),
        };
        let mut cells = [[0, 1]; 3];
        for (axis, place) in cells.iter_mut().take(dimension).enumerate() {
            // As far as doubles have all whole numbers.
            if found[axis].unsigned_abs() >= 1 << 50 {
                return parts.fail(format_args!("boxes: found cells from {} on axis {axis}", found[axis]));
            }
            *place = [found[axis], found[axis] + found[dimension + axis]];
        }
        let begin = of_cells.len();
        if n.saturating_add(begin as u64) > MOST {
            return parts.fail(format_args!("found more than {MOST} cells"));
        }
        // Checked, so that there is this level.
        if let Some(level) = levels.get_mut(super::parts::index(*number)) {
            level.patches.push(Patch { cells, begin });
        }
        of_cells.resize(begin + to_usize(n), *number);
    }
    levels.iter_mut().for_each(Level::sort);
    Ok((levels, of_cells))
}

/// Which cells finer ones cover.
fn covered(levels: &mut [Level], cells: usize) -> Vec<bool> {
    // How many finer cells lie in each.
    let mut counts = vec![0_i64; cells];
    for fine in 1..levels.len() {
        let (coarser, finer) = levels.split_at_mut(fine);
        let (coarse, fine) = (&mut coarser[fine - 1], &finer[0]);
        let ratio = fine.ratio;
        for patch in &fine.patches {
            let within = [0, 1, 2].map(|axis| {
                let [first, end] = patch.cells[axis];
                [first.div_euclid(ratio[axis]), (end - 1).div_euclid(ratio[axis]) + 1]
            });
            for (number, common) in coarse.common(&within) {
                for cell in each(common) {
                    let inside = |axis: usize| {
                        let first = (cell[axis] * ratio[axis]).max(patch.cells[axis][0]);
                        ((cell[axis] + 1) * ratio[axis]).min(patch.cells[axis][1]) - first
                    };
                    counts[coarse.patches[number].number(cell)] += inside(0) * inside(1) * inside(2);
                }
            }
        }
        let all = ratio.iter().fold(1_i64, |all, &n| all.saturating_mul(n));
        for patch in &coarse.patches {
            for cell in each(patch.cells) {
                let number = patch.number(cell);
                counts[number] = i64::from(counts[number] >= all);
            }
        }
    }
    counts.into_iter().map(|count| count > 0).collect()
}

/// Adds the faces of a patch next to which there is nothing.
fn outer_faces(levels: &mut [Level], finest: usize, number: usize, covered: &[bool], faces: &mut Faces) {
    for (face, corners) in shapes::VOXEL.iter().enumerate() {
        let (axis, is_end) = (face / 2, face % 2 == 1);
        let mut cells = levels[finest].patches[number].cells;
        let at = if is_end { cells[axis][1] - 1 } else { cells[axis][0] };
        cells[axis] = [at, at + 1];
        for cell in each(cells) {
            let of_cell = levels[finest].patches[number].number(cell);
            let mut after = cell;
            after[axis] += if is_end { 1 } else { -1 };
            let is_inner = covered[of_cell]
                || (0..=finest).rev().any(|level| {
                    let is_there = levels[level].has(after);
                    (0..3).for_each(|axis| after[axis] = after[axis].div_euclid(levels[level].ratio[axis]));
                    is_there
                });
            if !is_inner {
                faces.push(of_cell, corners.iter().map(|&corner| levels[finest].point(cell, corner, 3)));
            }
        }
    }
}
