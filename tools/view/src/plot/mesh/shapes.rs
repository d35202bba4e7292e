//! Shapes of cells, by the numbers of VTK: their faces, and where a plane cuts them.

/// The faces of a cube whose corners are in the order of bits, x the lowest: -x, +x, -y, +y, -z, +z.
pub const VOXEL: [&[usize]; 6] =
    [&[0, 2, 6, 4], &[1, 3, 7, 5], &[0, 1, 5, 4], &[2, 3, 7, 6], &[0, 1, 3, 2], &[4, 5, 7, 6]];
pub const TETRAHEDRON: [&[usize]; 4] = [&[0, 2, 1], &[0, 1, 3], &[1, 2, 3], &[0, 3, 2]];
const HEXAHEDRON: [&[usize]; 6] =
    [&[0, 3, 2, 1], &[4, 5, 6, 7], &[0, 1, 5, 4], &[1, 2, 6, 5], &[2, 3, 7, 6], &[3, 0, 4, 7]];
pub const WEDGE: [&[usize]; 5] = [&[0, 1, 2], &[3, 5, 4], &[0, 3, 4, 1], &[1, 4, 5, 2], &[2, 5, 3, 0]];
const PYRAMID: [&[usize]; 5] = [&[0, 3, 2, 1], &[0, 1, 4], &[1, 2, 4], &[2, 3, 4], &[3, 0, 4]];

/// The faces of a shape in space, by its corners, which come before other points; `None` of those in a plane.
pub fn faces_of(shape: usize) -> Option<&'static [&'static [usize]]> {
    match shape {
        10 | 24 => Some(&TETRAHEDRON),
        11 => Some(&VOXEL),
        12 | 25 | 29 | 33 => Some(&HEXAHEDRON),
        13 | 26 | 31 | 32 => Some(&WEDGE),
        14 | 27 | 37 => Some(&PYRAMID),
        _ => None,
    }
}

/// The polygons of a shape in a plane, the pieces of a line, or points.
pub fn polygons(shape: usize, points: &[usize]) -> Vec<Vec<usize>> {
    let first = |count: usize| points.get(..count).map(<[usize]>::to_vec).into_iter().collect();
    match shape {
        1 | 2 => points.iter().map(|&point| vec![point]).collect(),
        3 | 4 => points.windows(2).map(<[usize]>::to_vec).collect(),
        // From one end by the points between to the other one.
        21 | 35 => points
            .get(2..)
            .map(|inner| [&points[..1], inner, &points[1..2]].concat())
            .map_or_else(Vec::new, |line| line.windows(2).map(<[usize]>::to_vec).collect()),
        5 | 22 | 34 => first(3),
        6 => points.windows(3).map(<[usize]>::to_vec).collect(),
        7 => first(points.len()),
        8 => points.get(..4).map(|p| vec![p[0], p[1], p[3], p[2]]).into_iter().collect(),
        9 | 23 | 28 | 30 => first(4),
        _ => Vec::new(),
    }
}

/// The polygon in which a plane cuts a convex cell.
pub fn section(points: &[[f64; 3]], faces: &[&[usize]], (axis, at): (usize, f64)) -> Option<Vec<[f64; 3]>> {
    let corners = || faces.iter().flat_map(|face| face.iter().copied());
    let is_above = |corner: usize| points[corner][axis] > at;
    if corners().all(is_above) || !corners().any(is_above) {
        return None;
    }
    let mut cut: Vec<[f64; 3]> = Vec::new();
    for face in faces {
        for (k, &a) in face.iter().enumerate() {
            let b = face[(k + 1) % face.len()];
            // Each edge stands in two faces.
            if a < b && is_above(a) != is_above(b)
                || a > b && is_above(a) != is_above(b) && !has_edge(faces, b, a)
            {
                cut.push(crossing(points[a], points[b], (axis, at)));
            }
        }
    }
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    let count = crate::plot::figure::units(cut.len());
    let middle = |k: usize| cut.iter().map(|point| point[k]).sum::<f64>() / count;
    let (mu, mv) = (middle(u), middle(v));
    let angle = |point: &[f64; 3]| (point[v] - mv).atan2(point[u] - mu);
    cut.sort_by(|a, b| angle(a).total_cmp(&angle(b)));
    (cut.len() > 2).then_some(cut)
}

/// The line in which a plane cuts a polygon.
pub fn trace(points: &[[f64; 3]], (axis, at): (usize, f64)) -> Option<Vec<[f64; 3]>> {
    let next = |k: usize| points[(k + 1) % points.len()];
    let is_cut = |&k: &usize| (points[k][axis] > at) != (next(k)[axis] > at);
    let ends: Vec<_> =
        (0..points.len()).filter(is_cut).map(|k| crossing(points[k], next(k), (axis, at))).collect();
    (ends.len() == 2).then_some(ends)
}

/// Where a plane cuts the line between two points.
fn crossing(a: [f64; 3], b: [f64; 3], (axis, at): (usize, f64)) -> [f64; 3] {
    let part = (at - a[axis]) / (b[axis] - a[axis]);
    [0, 1, 2].map(|k| if k == axis { at } else { a[k] + part * (b[k] - a[k]) })
}

/// Whether a face goes from one corner to another one.
fn has_edge(faces: &[&[usize]], from: usize, to: usize) -> bool {
    faces.iter().any(|face| (0..face.len()).any(|k| face[k] == from && face[(k + 1) % face.len()] == to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_cuts_a_cube_in_a_square() {
        let points: Vec<_> = (0..8_u8).map(|c| [c & 1, c >> 1 & 1, c >> 2].map(f64::from)).collect();
        let mut cut = section(&points, &VOXEL, (2, 0.25)).unwrap();
        cut.sort_by(|a, b| a.partial_cmp(b).unwrap());
        cut.dedup();
        assert_eq!(cut, [[0.0, 0.0, 0.25], [0.0, 1.0, 0.25], [1.0, 0.0, 0.25], [1.0, 1.0, 0.25]]);
        assert!(section(&points, &VOXEL, (2, 1.5)).is_none());
    }
}
