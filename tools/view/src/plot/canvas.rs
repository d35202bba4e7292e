//! Lines, rectangles, images and text, as SVG or PNG.

use super::colour::Rgb;
use crate::fail::{Fail, Result};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use tiny_skia::{Color, FillRule, Paint, PathBuilder, Pixmap, PremultipliedColorU8, Stroke, Transform};

/// The pixels of a PNG in a unit.
pub const PIXELS: usize = 2;
/// The height of letters in units: that of the rasters of the font, in pixels, by `PIXELS`.
const FONT: f64 = 12.0;

/// Where text stands beside its point.
#[derive(Clone, Copy, PartialEq)]
pub enum Anchor {
    Begin,
    Middle,
    End,
}

enum Shape {
    Line { points: Vec<[f64; 2]>, colour: Rgb, width: f64 },
    Image { at: [f64; 2], size: [usize; 2], pixels: Vec<Rgb> },
    Text { at: [f64; 2], text: String, anchor: Anchor, is_bold: bool, is_upright: bool },
}

/// What is drawn, in units from the upper left corner.
pub struct Canvas {
    size: [usize; 2],
    shapes: Vec<Shape>,
}

impl Canvas {
    pub fn new(size: [usize; 2]) -> Self {
        Self { size, shapes: Vec::new() }
    }

    pub fn line(&mut self, points: Vec<[f64; 2]>, colour: Rgb, width: f64) {
        self.shapes.push(Shape::Line { points, colour, width });
    }

    /// An image of pixels, of which `PIXELS` are a unit.
    pub fn image(&mut self, at: [f64; 2], size: [usize; 2], pixels: Vec<Rgb>) {
        self.shapes.push(Shape::Image { at, size, pixels });
    }

    /// Text whose middle is at this height.
    pub fn text(&mut self, at: [f64; 2], text: &str, anchor: Anchor) {
        let text = text.to_owned();
        self.shapes.push(Shape::Text { at, text, anchor, is_bold: false, is_upright: true });
    }

    pub fn title(&mut self, at: [f64; 2], text: &str) {
        let text = text.to_owned();
        self.shapes.push(Shape::Text { at, text, anchor: Anchor::Begin, is_bold: true, is_upright: true });
    }

    /// Text that runs upwards, with its middle here.
    pub fn turned(&mut self, at: [f64; 2], text: &str) {
        let text = text.to_owned();
        self.shapes.push(Shape::Text { at, text, anchor: Anchor::Middle, is_bold: false, is_upright: false });
    }

    pub fn to_svg(&self) -> Result<String> {
        let [width, height] = self.size;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"{FONT}\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        for shape in &self.shapes {
            let _ = match shape {
                Shape::Line { points, colour: [r, g, b], width } => {
                    let points: Vec<_> = points.iter().map(|[x, y]| format!("{x:.2},{y:.2}")).collect();
                    let points = points.join(" ");
                    writeln!(
                        svg,
                        "<polyline points=\"{points}\" fill=\"none\" stroke=\"#{r:02x}{g:02x}{b:02x}\" stroke-width=\"{width}\"/>"
                    )
                }
                Shape::Image { at: [x, y], size: [w, h], pixels } => {
                    let png = base64_simd::STANDARD.encode_to_string(png([*w, *h], |pixmap| {
                        put(pixmap, [0, 0], *w, pixels);
                        Ok(())
                    })?);
                    let (w, h) = (w / PIXELS, h / PIXELS);
                    writeln!(
                        svg,
                        "<image x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" preserveAspectRatio=\"none\" \
                         style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{png}\"/>"
                    )
                }
                Shape::Text { at: [x, y], text, anchor, is_bold, is_upright } => {
                    let anchor = match anchor {
                        Anchor::Begin => "start",
                        Anchor::Middle => "middle",
                        Anchor::End => "end",
                    };
                    let bold = if *is_bold { " font-weight=\"bold\"" } else { "" };
                    let turn = if *is_upright {
                        String::new()
                    } else {
                        format!(" transform=\"rotate(-90 {x:.2} {y:.2})\"")
                    };
                    let text = escape(text);
                    writeln!(
                        svg,
                        "<text x=\"{x:.2}\" y=\"{y:.2}\" dy=\".35em\" text-anchor=\"{anchor}\"{bold}{turn}>{text}</text>"
                    )
                }
            };
        }
        svg += "</svg>\n";
        Ok(svg)
    }

    pub fn to_png(&self) -> Result<Vec<u8>> {
        png(self.size.map(|n| n * PIXELS), |pixmap| {
            pixmap.fill(Color::WHITE);
            self.shapes.iter().for_each(|shape| draw(pixmap, shape));
            Ok(())
        })
    }
}

fn png([width, height]: [usize; 2], paint: impl FnOnce(&mut Pixmap) -> Result<()>) -> Result<Vec<u8>> {
    let trouble = || Fail::Trouble(format!("cannot draw a picture of {width} by {height} pixels"));
    let side = |n: usize| u32::try_from(n).map_err(|_| trouble());
    let mut pixmap = Pixmap::new(side(width)?, side(height)?).ok_or_else(trouble)?;
    paint(&mut pixmap)?;
    encode(side(width)?, side(height)?, pixmap.data()).map_err(|error| Fail::Trouble(format!("PNG: {error}")))
}

/// A PNG of pixels of red, green, blue and a fourth byte, which is left out.
fn encode(width: u32, height: u32, pixels: &[u8]) -> io::Result<Vec<u8>> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut part = |kind: &[u8; 4], data: &[u8]| {
        png.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
        png.extend_from_slice(kind);
        png.extend_from_slice(data);
        let mut crc = flate2::Crc::new();
        crc.update(kind);
        crc.update(data);
        png.extend(crc.sum().to_be_bytes());
    };
    // 8 bits, colours.
    let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    part(b"IHDR", &head);
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
    let mut above = vec![0; 3 * width as usize];
    for row in pixels.chunks_exact(4 * width as usize) {
        let row: Vec<u8> = row.chunks_exact(4).flat_map(|pixel| pixel[..3].to_vec()).collect();
        // Filter 2: what is added to the row above.
        let line: Vec<u8> = row.iter().zip(&above).map(|(byte, above)| byte.wrapping_sub(*above)).collect();
        zlib.write_all(&[2])?;
        zlib.write_all(&line)?;
        above = row;
    }
    part(b"IDAT", &zlib.finish()?);
    part(b"IEND", &[]);
    Ok(png)
}

#[allow(clippy::cast_possible_truncation)] // as the crate has its numbers
fn single(number: f64) -> f32 {
    number as f32
}

/// The nearest pixel.
fn pixel(units: f64) -> i64 {
    super::tick::whole((units * 2.0).round())
}

fn draw(pixmap: &mut Pixmap, shape: &Shape) {
    match shape {
        Shape::Line { points, colour: [r, g, b], width } => {
            let mut path = PathBuilder::new();
            for (k, &[x, y]) in points.iter().enumerate() {
                let (x, y) = (single(x), single(y));
                if k == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
            }
            let Some(path) = path.finish() else { return };
            let mut paint = Paint { anti_alias: true, ..Paint::default() };
            paint.set_color_rgba8(*r, *g, *b, 255);
            let stroke = Stroke { width: single(*width), ..Stroke::default() };
            let scale = Transform::from_scale(2.0, 2.0);
            if points.len() > 4 && points.first() == points.last() && *width == 0.0 {
                pixmap.fill_path(&path, &paint, FillRule::Winding, scale, None);
            } else {
                pixmap.stroke_path(&path, &paint, &stroke, scale, None);
            }
        }
        Shape::Image { at: [x, y], size: [width, _], pixels } => {
            put(pixmap, [pixel(*x), pixel(*y)], *width, pixels)
        }
        Shape::Text { at, text, anchor, is_bold, is_upright } => {
            let weight = if *is_bold { FontWeight::Bold } else { FontWeight::Regular };
            let advance = get_raster_width(weight, RasterHeight::Size32);
            let length = i64::try_from(text.chars().count() * advance).unwrap_or(0);
            let before = match anchor {
                Anchor::Begin => 0,
                Anchor::Middle => length / 2,
                Anchor::End => length,
            };
            let [x, y] = at.map(pixel);
            let mut along = -before;
            for c in text.chars() {
                let c = if c == '\u{2212}' { '-' } else { c };
                let raster = get_raster(c, weight, RasterHeight::Size32)
                    .or_else(|| get_raster('?', weight, RasterHeight::Size32));
                for (row, line) in raster.iter().flat_map(|raster| raster.raster()).enumerate() {
                    for (column, &dark) in line.iter().enumerate().filter(|(_, dark)| **dark > 0) {
                        let (down, right) = (
                            i64::try_from(row).unwrap_or(0) - 12,
                            along + i64::try_from(column).unwrap_or(0),
                        );
                        let to = if *is_upright { [x + right, y + down] } else { [x + down, y - right] };
                        darken(pixmap, to, dark);
                    }
                }
                along += i64::try_from(advance).unwrap_or(0);
            }
        }
    }
}

/// The place of a pixel, if it is on the picture.
fn place(pixmap: &Pixmap, [x, y]: [i64; 2]) -> Option<usize> {
    let (x, y) = (u32::try_from(x).ok()?, u32::try_from(y).ok()?);
    (x < pixmap.width() && y < pixmap.height()).then(|| y as usize * pixmap.width() as usize + x as usize)
}

fn darken(pixmap: &mut Pixmap, at: [i64; 2], dark: u8) {
    let Some(place) = place(pixmap, at) else { return };
    let pixel = &mut pixmap.pixels_mut()[place];
    let mix = |was: u8| {
        u8::try_from((u32::from(was) * (255 - u32::from(dark)) + 0x20 * u32::from(dark)) / 255).unwrap_or(0)
    };
    if let Some(mixed) =
        PremultipliedColorU8::from_rgba(mix(pixel.red()), mix(pixel.green()), mix(pixel.blue()), 255)
    {
        *pixel = mixed;
    }
}

fn put(pixmap: &mut Pixmap, [x, y]: [i64; 2], width: usize, pixels: &[Rgb]) {
    for (row, line) in pixels.chunks_exact(width.max(1)).enumerate() {
        for (column, &[r, g, b]) in line.iter().enumerate() {
            let at = [x + i64::try_from(column).unwrap_or(0), y + i64::try_from(row).unwrap_or(0)];
            let Some(place) = place(pixmap, at) else { continue };
            if let Some(colour) = PremultipliedColorU8::from_rgba(r, g, b, 255) {
                pixmap.pixels_mut()[place] = colour;
            }
        }
    }
}

/// Text in XML, in which other characters than those of text have no place.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}
