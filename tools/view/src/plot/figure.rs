//! Figures: a frame with ticks, a title, and an image with a colour bar.

use super::axis::Scale;
use super::canvas::{Anchor, Canvas, PIXELS};
use super::colour::{Map, Rgb};
use super::tick::{Tick, whole};

const INK: Rgb = [0x20; 3];

/// A tick at a place of an axis, from 0 to 1: from the left, or from below.
pub type PlacedTick = (f64, String);

/// The ticks of a scale at their places.
pub fn placed(scale: &Scale, most: f64) -> Vec<PlacedTick> {
    let at = |Tick { value, text }| (scale.place(value), text);
    scale.ticks(most).into_iter().map(at).collect()
}

/// A figure of a size in units.
pub struct Figure {
    pub canvas: Canvas,
    /// The frame: left, top, width, height.
    frame: [usize; 4],
}

impl Figure {
    /// A figure whose frame has this aspect, width by height.
    pub fn new(size: [usize; 2], aspect: f64) -> Self {
        let [width, height] = size;
        let (left, top, right) = (96, 44, 140);
        let (mut w, mut h) =
            (width.saturating_sub(left + right).max(40), height.saturating_sub(top + 64).max(40));
        if aspect.is_finite() && aspect > 0.0 {
            let side = |n: f64| usize::try_from(whole(n.round())).unwrap_or(1).max(20);
            let (wide, high) = (units(w), units(h));
            (w, h) = if wide / high > aspect {
                (side(high * aspect).min(w), h)
            } else {
                (w, side(wide / aspect).min(h))
            };
        }
        let needed = [left + w + right, top + h + 64];
        Self { canvas: Canvas::new(needed), frame: [left, top, w, h] }
    }

    /// The size of the frame in pixels.
    pub fn pixels(&self) -> [usize; 2] {
        [self.frame[2] * PIXELS, self.frame[3] * PIXELS]
    }

    fn corners(&self) -> [f64; 4] {
        self.frame.map(units)
    }

    pub fn title(&mut self, title: &str) {
        let [x, _, w, _] = self.corners();
        self.canvas.title([x, 20.0], &short(title, w + 90.0));
    }

    /// The frame with ticks and names of the axes.
    pub fn axes(&mut self, x_ticks: &[PlacedTick], x_name: &str, y_ticks: &[PlacedTick], y_name: &str) {
        let [x, y, w, h] = self.corners();
        for (place, text) in x_ticks.iter().filter(|(place, _)| (-1e-9..=1.0 + 1e-9).contains(place)) {
            let at = x + place * w;
            self.canvas.line(vec![[at, y + h], [at, y + h + 4.0]], INK, 1.0);
            self.canvas.text([at, y + h + 14.0], text, Anchor::Middle);
        }
        for (place, text) in y_ticks.iter().filter(|(place, _)| (-1e-9..=1.0 + 1e-9).contains(place)) {
            let at = y + h - place * h;
            self.canvas.line(vec![[x - 4.0, at], [x, at]], INK, 1.0);
            self.canvas.text([x - 7.0, at], text, Anchor::End);
        }
        self.canvas.line(vec![[x, y], [x + w, y], [x + w, y + h], [x, y + h], [x, y]], INK, 1.0);
        self.canvas.text([x + w / 2.0, y + h + 38.0], &short(x_name, w + 80.0), Anchor::Middle);
        self.canvas.turned([10.0, y + h / 2.0], &short(y_name, h + 80.0));
    }

    /// Fills the frame with an image of [`Self::pixels`].
    pub fn image(&mut self, pixels: Vec<Rgb>) {
        let ([x, y, ..], size) = (self.corners(), self.pixels());
        self.canvas.image([x, y], size, pixels);
    }

    /// The bar of colours with its ticks, beside the frame.
    pub fn bar(&mut self, map: Map, scale: &Scale, name: &str) {
        let [x, y, w, h] = self.corners();
        let (left, wide) = (x + w + 16.0, 16);
        let rows = self.frame[3] * PIXELS;
        let pixels = (0..rows).flat_map(|row| {
            let place = 1.0 - (units(row) + 0.5) / units(rows);
            std::iter::repeat_n(map.at(place), wide * PIXELS)
        });
        self.canvas.image([left, y], [wide * PIXELS, rows], pixels.collect());
        let right = left + units(wide);
        self.canvas.line(vec![[left, y], [right, y], [right, y + h], [left, y + h], [left, y]], INK, 1.0);
        for (place, text) in placed(scale, (h / 50.0).max(3.0)) {
            let at = y + h - place * h;
            self.canvas.line(vec![[right, at], [right + 4.0, at]], INK, 1.0);
            self.canvas.text([right + 7.0, at], &text, Anchor::Begin);
        }
        self.canvas.turned([right + 94.0, y + h / 2.0], &short(name, h + 80.0));
    }
}

#[allow(clippy::cast_precision_loss)] // pictures have fewer pixels
pub fn units(n: usize) -> f64 {
    n as f64
}

/// Text that fits into a length.
fn short(text: &str, length: f64) -> String {
    let most = usize::try_from(whole(length / 9.0)).unwrap_or(0).max(8);
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 3).chain("...".chars()).collect()
}
