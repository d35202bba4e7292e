//! Which cell is seen at each pixel.

use super::figure::units;
use super::mesh::Faces;
use super::tick::whole;

/// From where a mesh is seen: turned around z, then tilted; without both, x is to the right and y up.
#[derive(Clone, Copy, Debug)]
pub struct Camera {
    pub turn: f64,
    pub tilt: f64,
    /// What is in the middle of the picture, to the right and up.
    pub centre: [f64; 2],
    /// The pixels of a unit of length.
    pub scale: f64,
}

/// What is seen.
pub struct Visibility {
    /// The number of the cell plus one, or 0, row by row from above.
    pub cells: Vec<u32>,
    /// How bright its face is.
    pub shades: Vec<u8>,
}

impl Camera {
    /// The coordinates of a point to the right, up, and towards the eye.
    pub fn project(&self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let ((st, ct), (sp, cp)) = (self.turn.sin_cos(), self.tilt.sin_cos());
        let (right, deep) = (ct * x - st * y, st * x + ct * y);
        [right, deep * cp + z * sp, z * cp - deep * sp]
    }

    /// As near as a box is seen as a whole, with a margin in space.
    pub fn fit(mut self, bounds: [[f64; 3]; 2], size: [usize; 2], margin: f64) -> Self {
        let (mut least, mut most) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for corner in 0..8_usize {
            let point = self.project([0, 1, 2].map(|axis| bounds[corner >> axis & 1][axis]));
            for axis in 0..2 {
                (least[axis], most[axis]) = (least[axis].min(point[axis]), most[axis].max(point[axis]));
            }
        }
        self.centre = [0, 1].map(|axis| least[axis] / 2.0 + most[axis] / 2.0);
        let room = |axis: usize| units(size[axis]) / (most[axis] - least[axis]).max(f64::MIN_POSITIVE);
        self.scale = room(0).min(room(1)) / margin;
        self
    }

    /// Draws polygons; where several are, the nearest one is seen.
    pub fn draw(&self, faces: &Faces, [width, height]: [usize; 2]) -> Visibility {
        let mut seen = Visibility { cells: vec![0; width * height], shades: vec![255; width * height] };
        let mut depths = vec![f64::NEG_INFINITY; width * height];
        let middle = [units(width) / 2.0, units(height) / 2.0];
        let radius = self.radius(faces, [width, height]);
        let mut points: Vec<[f64; 3]> = Vec::new();
        for (cell, polygon) in faces.polygons() {
            points.clear();
            let (mut least, mut most) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
            for &point in polygon {
                let [right, up, near] = self.project(point);
                let x = middle[0] + (right - self.centre[0]) * self.scale;
                let y = middle[1] - (up - self.centre[1]) * self.scale;
                points.push([x, y, near * self.scale]);
            }
            widen(&mut points, radius);
            for &[x, y, _] in &points {
                (least, most) = ([least[0].min(x), least[1].min(y)], [most[0].max(x), most[1].max(y)]);
            }
            // Also of points that are no numbers.
            let is_seen =
                most[0] >= 0.0 && most[1] >= 0.0 && least[0] <= units(width) && least[1] <= units(height);
            if !is_seen || points.iter().flatten().any(|number| !number.is_finite()) {
                continue;
            }
            let normal = normal(&points);
            let size = normal.iter().map(|n| n * n).sum::<f64>().sqrt();
            if normal[2].abs() <= size * 1e-9 {
                continue;
            }
            let shade = super::colour::byte(255.0 * (0.55 + 0.45 * (normal[2].abs() / size)));
            let [ax, ay] = [normal[0] / normal[2], normal[1] / normal[2]];
            let [x0, y0, z0] = points[0];
            for row in first(least[1], height)..first(most[1], height) {
                let y = units(row) + 0.5;
                let (mut left, mut right) = (f64::INFINITY, f64::NEG_INFINITY);
                for (k, a) in points.iter().enumerate() {
                    let b = points[(k + 1) % points.len()];
                    if (a[1] <= y) != (b[1] <= y) {
                        let x = a[0] + (y - a[1]) / (b[1] - a[1]) * (b[0] - a[0]);
                        (left, right) = (left.min(x), right.max(x));
                    }
                }
                if left > right {
                    continue;
                }
                for column in first(left, width)..first(right, width) {
                    let depth = z0 - ax * (units(column) + 0.5 - x0) - ay * (y - y0);
                    let at = row * width + column;
                    // What comes first is seen, if they are as near.
                    if depth > depths[at] + 1e-6 {
                        depths[at] = depth;
                        seen.cells[at] = cell + 1;
                        seen.shades[at] = shade;
                    }
                }
            }
        }
        seen
    }

    /// The radius of points in pixels: where few are seen, larger.
    fn radius(&self, faces: &Faces, [width, height]: [usize; 2]) -> f64 {
        let (wide, high) = (units(width) / 2.0 / self.scale, units(height) / 2.0 / self.scale);
        let is_seen = |point: &[f64; 3]| {
            let [right, up, _] = self.project(*point);
            (right - self.centre[0]).abs() <= wide && (up - self.centre[1]).abs() <= high
        };
        let points =
            faces.polygons().filter(|(_, polygon)| polygon.len() == 1 && is_seen(&polygon[0])).count();
        let most = (wide.max(high) * self.scale / 75.0).max(1.0);
        (0.3 * (units(width * height) / units(points.max(1))).sqrt()).clamp(1.0, most)
    }
}

/// Makes a disc of a point, and a strip of a line.
fn widen(points: &mut Vec<[f64; 3]>, radius: f64) {
    match points[..] {
        [[x, y, z]] => {
            let corners = if radius < 2.0 { 4 } else { 12 };
            *points = (0..corners)
                .map(|k| (units(k) + 0.5) * std::f64::consts::TAU / units(corners))
                .map(|angle| [x + radius * angle.cos(), y + radius * angle.sin(), z])
                .collect();
        }
        [a, b] => {
            let (across, up) = (b[0] - a[0], b[1] - a[1]);
            let part = 3.0 / across.hypot(up).max(f64::MIN_POSITIVE);
            let beside = |[x, y, z]: [f64; 3], sign: f64| [x - sign * part * up, y + sign * part * across, z];
            *points = vec![beside(a, 1.0), beside(b, 1.0), beside(b, -1.0), beside(a, -1.0)];
        }
        _ => {}
    }
}

/// The first pixel whose middle is not before a place.
fn first(place: f64, most: usize) -> usize {
    usize::try_from(whole((place - 0.5).ceil())).unwrap_or(0).min(most)
}

fn normal(points: &[[f64; 3]]) -> [f64; 3] {
    let mut normal = [0.0; 3];
    for (k, a) in points.iter().enumerate() {
        let b = points[(k + 1) % points.len()];
        for (axis, sum) in normal.iter_mut().enumerate() {
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            *sum += (a[u] - b[u]) * (a[v] + b[v]);
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pixel_shows_the_nearest_cell() {
        let mut faces = Faces::default();
        let square =
            |x: f64, size: f64, z: f64| [[x, 0.0, z], [x + size, 0.0, z], [x + size, size, z], [x, size, z]];
        faces.push(0, square(0.0, 2.0, 0.0));
        faces.push(1, square(2.0, 2.0, 0.0));
        faces.push(2, square(1.0, 1.0, 1.0));
        let camera = Camera { turn: 0.0, tilt: 0.0, centre: [2.0, 1.0], scale: 1.0 };
        let seen = camera.draw(&faces, [4, 2]);
        assert_eq!(seen.cells, [1, 1, 2, 2, 1, 3, 2, 2]);
        let fitted = camera.fit([[0.0; 3], [4.0, 2.0, 1.0]], [8, 8], 1.0);
        assert_eq!((fitted.centre, fitted.scale), ([2.0, 1.0], 2.0));
    }
}
