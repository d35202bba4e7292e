//! Forests of any shapes (docs/t8code.md): their trees and elements.

use super::checksum::{Quadrants, expect_mesh};
use super::column::Datasets;
use super::connectivity::Connectivity;
use super::{Checked, hold, hold_at, wrong};
use scda::DataType;
use scda_meshes::checksum::term;
use scda_meshes::forest::rules;
use scda_meshes::forest::shapes::{Element, TreeShape};
use scda_meshes::names::{SHAPED_PARTS, SHAPED_TREE_PARTS};

/// Whether a dataset of this name is a part of such a forest alone.
pub fn has(name: &str) -> bool {
    SHAPED_PARTS.contains(&name) || SHAPED_TREE_PARTS.contains(&name)
}

/// Checks the elements of a mesh, whose trees have these shapes.
pub fn elements(
    datasets: &mut Datasets<'_>,
    dimension: usize,
    parts: [u64; 5],
    shapes: u64,
) -> Checked<Quadrants> {
    let mut corners = datasets.typed(parts[0], DataType::Int32, &[None, Some(dimension as u64)])?;
    let quadrants = corners.rows();
    let mut level = datasets.typed(parts[1], DataType::Uint8, &[Some(quadrants)])?;
    let mut kind = datasets.typed(parts[2], DataType::Uint8, &[Some(quadrants)])?;
    let mut position = datasets.typed(parts[3], DataType::Uint64, &[Some(quadrants)])?;
    let mut offset = datasets.typed(parts[4], DataType::Int64, &[None])?;
    let trees = offset.rows().saturating_sub(1);
    let mut shape = datasets.typed(shapes, DataType::Uint8, &[Some(trees)])?;
    if trees == 0 {
        return wrong(parts[4], "found no trees");
    }
    let mut begin = offset.next(datasets)?;
    hold(parts[4], rules::check_tree_offset(0, 0, begin, quadrants, false))?;
    let mut checksum = 0_u64;
    for tree in 0..trees {
        let end = offset.next(datasets)?;
        hold(parts[4], rules::check_tree_offset(tree + 1, begin, end, quadrants, tree + 1 == trees))?;
        let number = shape.next(datasets)?;
        let Some((shape, _)) = u8::try_from(number).ok().and_then(|number| TreeShape::new(number, dimension))
        else {
            return wrong(shapes, format!("tree {tree}: found shape {number}"));
        };
        let mut after = 0;
        for at in begin..end {
            let mut corner = [0; 3];
            for coordinate in &mut corner[..dimension] {
                *coordinate = corners.next(datasets)?;
            }
            let (level, kind) = (level.next(datasets)?, kind.next(datasets)?);
            let position = position.next(datasets)?.cast_unsigned();
            let element = Element { corner, level, kind, position };
            let checked = element.check(shape, dimension, after);
            let checked = checked.map_err(|wrong| wrong.of("element", at.unsigned_abs(), tree));
            let place = |part: &str| SHAPED_PARTS.iter().position(|name| *name == part).unwrap_or(0);
            after = hold_at(|part| parts[place(part)], checked)?;
            checksum = checksum.wrapping_add(term(position, tree, level.unsigned_abs()));
        }
        begin = end;
    }
    expect_mesh(Some(&corners), parts[0], checksum, "that it begins")?;
    Ok(Quadrants { quadrants, trees, checksum })
}

impl Connectivity<'_, '_, '_> {
    /// Checks the trees of a forest of any shapes. Returns how many there are, and the section of their shapes.
    pub fn check_shapes(&mut self) -> Checked<(u64, u64)> {
        let (first, dimension) = (self.first, self.dimension);
        let (faces, corners) = (2 * dimension as u64, 1_u64 << dimension);
        let [Some(to_face), Some(shapes)] = ["tree_to_face", "tree_shape"].map(|name| self.part(name)) else {
            return wrong(first, "no tree_to_face or no tree_shape follows it");
        };
        let mut shape = self.datasets.typed(shapes, DataType::Uint8, &[None])?;
        let trees = shape.rows();
        self.datasets.bound(&shape)?;
        let shown = &[Some(trees), Some(faces)];
        let most = i64::try_from(trees).unwrap_or(i64::MAX) - 1;
        let (_, tree_neighbour) = self.bounded(first, DataType::Int64, shown, -1, most)?;
        let (_, face_neighbour) =
            self.bounded(to_face, DataType::Int8, shown, -1, i64::try_from(4 * faces).unwrap_or(0) - 1)?;
        let n = usize::try_from(faces).unwrap_or(0);
        let index = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        for tree in 0..trees {
            let number = shape.next(self.datasets)?;
            let Some((_, has)) =
                u8::try_from(number).ok().and_then(|number| TreeShape::new(number, dimension))
            else {
                return wrong(
                    shapes,
                    format!("tree {tree}: found shape {number}, expected one of dimension {dimension}"),
                );
            };
            if tree_neighbour.is_empty() {
                continue; // there are too many
            }
            for face in 0..n {
                let at = usize::try_from(tree).unwrap_or(usize::MAX) * n + face;
                let (across, code) = (tree_neighbour[at], face_neighbour[at]);
                let is_there = (face as u64) < has;
                if is_there != (across >= 0) || is_there != (code >= 0) {
                    let words = format!("tree {tree}: face {face} leads to tree {across}, of {has} faces");
                    return wrong(first, words);
                }
                if is_there {
                    let back = index(across) * n + index(code) % n;
                    if (index(tree_neighbour[back]), index(face_neighbour[back]) % n) != (at / n, face) {
                        let words = format!(
                            "tree {tree}: face {face} leads to tree {across}, which does not lead back"
                        );
                        return wrong(first, words);
                    }
                }
            }
        }
        if let Some(vertices) = self.part("tree_vertices") {
            self.datasets.typed(vertices, DataType::Float64, &[Some(trees), Some(corners), Some(3)])?;
        }
        Ok((trees, shapes))
    }
}
