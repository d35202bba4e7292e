//! `scda plot`: pictures of datasets and meshes, as files.

pub mod axis;
pub mod canvas;
pub mod cf_decoding;
pub mod clock;
pub mod colour;
pub mod coordinates;
pub mod figure;
pub mod mesh;
pub mod raster;
pub mod sample;
pub mod subject;
pub mod tick;

use crate::fail::{Fail, Result};
use crate::files::{Input, Resources, check_free, check_replaceable, status};
use crate::output::visible;
use crate::ranges::{Bounds, Records};
use axis::Scale;
use canvas::PIXELS;
use clock::Clock;
use colour::{Map, Rgb};
use coordinates::real;
use figure::{Figure, placed, units};
use raster::Camera;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::str::FromStr;
use subject::{Curve, Image, MeshPlot, Subject};

/// Draw a dataset or a mesh as a picture
///
/// A dataset of one dimension becomes a line, one of two an image with a bar of its colours. Of more dimensions, --box picks two; without it,
/// the last two are shown, at the first index of the others. Datasets with the names of the dimensions are the coordinates. A field of a mesh (forests,
/// cells, patches, particles) is drawn on its cells, and so is the group of a mesh, coloured by the level of its cells. Packed numbers are unpacked, and missing ones are
/// grey, as the CF conventions say. Of a large dataset, as many items are read as there are pixels.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda plot flow.scda rho -o rho.png
  scda plot flow.scda rho --record -1 --box 3,:,: -o rho.svg
                                              two dimensions of the last one of several of this name
  scda plot flow.scda energy --record : -o energy.png
                                              numbers of all records as a line
  scda plot dam.scda forest/fields/height -o height.png
                                              a field on the cells of its mesh
  scda plot dam.scda forest --cut z=0.5 -o cut.png
                                              a mesh in space, cut by a plane
  scda plot dust.scda particles/fields/atoms --component mass -o mass.png
                                              particles, coloured by a member of structs")]
pub struct Args {
    /// The file; - is standard input
    file: PathBuf,
    /// The name of a dataset, or of the group of a mesh
    name: String,
    /// The picture: a file that ends in .png or .svg
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Of several datasets of this name, or time steps of a mesh: the one with this number, from 0 on, or from -1, the last one,
    /// back; of numbers, a range of them as a line [default: -1, of single numbers all]
    #[arg(long, value_name = "K|A:B[:STEP]", allow_hyphen_values = true)]
    record: Option<Records>,
    /// In each dimension the indices from A up to, but without, B; A is A:A+1; as in scda cat
    #[arg(long = "box", value_name = "A:B,A:B,...", allow_hyphen_values = true)]
    region: Option<Bounds>,
    /// Of a field of a mesh with several numbers in a row: which one, from 0 on [default: the length of vectors, the mean of corners, the
    /// count of ragged fields]; of structs, the name of a member, or NAME.N; of complex numbers, phase, real or imaginary [default:
    /// absolute]
    #[arg(long, value_name = "N|NAME")]
    component: Option<String>,
    /// Cut a mesh in space by a plane: x=1.5, y=... or z=...
    #[arg(long, value_name = "AXIS=AT", allow_hyphen_values = true)]
    cut: Option<CutPlane>,
    /// From where a mesh in space is seen: degrees around z, and above the horizon
    #[arg(long, value_name = "TURN,TILT", default_value = "30,30", allow_hyphen_values = true)]
    from: Angles,
    /// A logarithmic scale, of the colours or of a line
    #[arg(long)]
    log: bool,
    /// The colours. diverging has its middle at 0 without --limits
    #[arg(long, value_enum, default_value_t = Map::Viridis)]
    colours: Map,
    /// The numbers at the ends of the scale [default: the least and the greatest that are shown]
    #[arg(long, value_name = "FROM:TO", allow_hyphen_values = true)]
    limits: Option<Limits>,
    /// The size of the picture; a PNG has twice as many pixels
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "720x540")]
    size: Size,
    /// Replace the picture if it exists
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    resources: Resources,
}

/// An axis and a coordinate on it.
#[derive(Clone, Copy)]
struct CutPlane(usize, f64);

impl FromStr for CutPlane {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').and_then(|(axis, at)| {
            let axis = ["x", "y", "z"].iter().position(|&name| name == axis)?;
            Some(Self(axis, at.parse().ok().filter(|at: &f64| at.is_finite())?))
        });
        parts.ok_or_else(|| format!("expected x=, y= or z= and a number, found \"{text}\""))
    }
}

/// Two numbers, as a text has them with a character between.
fn two(text: &str, between: char, least: f64) -> Option<[f64; 2]> {
    let (a, b) = text.split_once(between)?;
    let number = |text: &str| text.parse().ok().filter(|n: &f64| n.is_finite() && *n >= least);
    Some([number(a)?, number(b)?])
}

/// Degrees.
#[derive(Clone, Copy)]
struct Angles([f64; 2]);

impl FromStr for Angles {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = two(text, ',', f64::NEG_INFINITY).map(Self);
        found.ok_or_else(|| format!("expected two numbers with a comma between, found \"{text}\""))
    }
}

#[derive(Clone, Copy)]
struct Limits([Option<f64>; 2]);

impl FromStr for Limits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| match text {
            "" => Some(None),
            number => number.parse().ok().filter(|n: &f64| n.is_finite()).map(Some),
        };
        let ends = text.split_once(':').and_then(|(from, to)| Some([number(from)?, number(to)?]));
        let ends = ends.filter(|ends| !matches!(ends, [Some(from), Some(to)] if from >= to));
        ends.map(Self).ok_or_else(|| format!("expected FROM:TO, two numbers that ascend, found \"{text}\""))
    }
}

#[derive(Clone, Copy)]
struct Size([usize; 2]);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let side = |text: &str| text.parse().ok().filter(|n| (200..=8000).contains(n));
        let sides = text.split_once('x').and_then(|(width, height)| Some([side(width)?, side(height)?]));
        sides
            .map(Self)
            .ok_or_else(|| format!("expected WIDTHxHEIGHT, each from 200 to 8000, found \"{text}\""))
    }
}

pub fn run(args: &Args) -> Result<()> {
    let is_svg = match args.output.extension().and_then(|end| end.to_str()) {
        Some("svg") => true,
        Some("png") => false,
        _ => {
            let name = args.output.display().to_string();
            return Err(Fail::file(&name, "expected a name that ends in .png or .svg"));
        }
    };
    check_free(&args.output, args.force)?;
    let input = Input::new(&args.file, &args.resources)?;
    let mut reader = input.open()?;
    if !crate::files::is_standard(&args.file) {
        check_replaceable(&args.output, "it is the file that is read", [status(&args.file)?])?;
    }
    let canvas = match subject::find(&mut reader, &input, args)? {
        Subject::Curve(curve) => draw_curve(args, &curve),
        Subject::Image(image) => draw_image(args, &image),
        Subject::Mesh(mesh) => draw_mesh(args, &mesh),
    }?
    .canvas;
    let bytes = if is_svg { canvas.to_svg()?.into_bytes() } else { canvas.to_png()? };
    let mut new = std::fs::OpenOptions::new();
    new.write(true).create(true).truncate(true).mode(input.mode());
    let written = new.open(&args.output).and_then(|mut file| file.write_all(&bytes));
    written.map_err(|error| Fail::file(&args.output.display().to_string(), error))
}

/// The scale of numbers that are shown by colours or as a line.
fn scale(args: &Args, numbers: &[f64], clock: Option<Clock>) -> Result<Scale> {
    let given = args.limits.map_or([None; 2], |limits| limits.0);
    let scale =
        Scale::of(numbers, args.log, given).map_err(|words| Fail::Trouble(format!("--log: {words}")))?;
    let is_middle = args.colours == Map::Diverging && !args.log && args.limits.is_none();
    Ok(Scale { clock, ..(if is_middle { scale.symmetric() } else { scale }) })
}

/// The title of a picture, which says if it shows a sample, in which extremes may be missing.
fn told(title: &str, is_sampled: bool) -> String {
    format!("{title}{}", if is_sampled { ", only some of the items" } else { "" })
}

fn draw_curve(args: &Args, curve: &Curve) -> Result<Figure> {
    let Curve { points, coordinates, label, clock, title, .. } = curve;
    let mut figure = Figure::new(args.size.0, false, None);
    let [from, to] = curve.ends;
    let mut up = scale(args, &points.numbers, *clock)?;
    if args.limits.is_none() {
        up = up.with_margin();
    }
    let [width, height] = figure.pixels().map(|n| units(n / PIXELS));
    // Places are in proportion to coordinates.
    let (first, last) = (coordinates.value(from), coordinates.value(to));
    let across = coordinates.ticks_by_value(first, last, width / 90.0);
    figure.axes(&across, &coordinates.name_of(from, to), &placed(&up, height / 50.0), &up.name(label), true);
    let at = |index: u64| (coordinates.value(real(index)) - first) / (last - first);
    figure.line(
        points.indices.iter().zip(&points.numbers).map(|(&index, &number)| [at(index), up.place(number)]),
    );
    figure.title(&told(title, points.are_sampled));
    Ok(figure)
}

fn draw_image(args: &Args, image: &Image) -> Result<Figure> {
    let Image { samples, numbers, coordinates, label, clock, title } = image;
    let [rows, columns] = *samples;
    let (high, wide) = (real(rows.to - rows.from), real(columns.to - columns.from));
    // Items are squares, unless the picture became a thread.
    let aspect = Some(wide / high).filter(|aspect| (0.2..5.0).contains(aspect));
    let mut figure = Figure::new(args.size.0, true, aspect);
    let [width, height] = figure.pixels();
    let scale = scale(args, numbers, *clock)?;
    let colours: Vec<Rgb> = numbers.iter().map(|&number| args.colours.at(scale.place(number))).collect();
    // Rows run upwards, unless coordinates descend.
    let is_down = coordinates[0].descend();
    let pixels = (0..width * height).map(|at| {
        let (x, y) = (at % width, at / width);
        let up = if is_down { y } else { height - 1 - y };
        let (row, column) = (up * rows.count / height, x * columns.count / width);
        colours.get(row * columns.count + column).copied().unwrap_or(colour::NONE)
    });
    figure.image(pixels.collect());
    let ends = |axis: usize| (real(samples[axis].from) - 0.5, real(samples[axis].to) - 0.5);
    let [w, h] = figure.pixels().map(|n| units(n / PIXELS));
    let (from, to) = ends(1);
    let (across, across_name) = (coordinates[1].ticks(from, to, w / 80.0), coordinates[1].name_of(from, to));
    let (from, to) = ends(0);
    let mut upwards = coordinates[0].ticks(from, to, h / 40.0);
    let upwards_name = coordinates[0].name_of(from, to);
    if is_down {
        upwards.iter_mut().for_each(|(place, _)| *place = 1.0 - *place);
    }
    figure.axes(&across, &across_name, &upwards, &upwards_name, false);
    figure.bar(args.colours, &scale, label);
    figure.title(&told(title, !(rows.are_all() && columns.are_all())));
    Ok(figure)
}

fn draw_mesh(args: &Args, subject: &MeshPlot) -> Result<Figure> {
    let MeshPlot { mesh, numbers, label, title } = subject;
    let [turn, tilt] = if mesh.is_flat { [0.0; 2] } else { args.from.0.map(f64::to_radians) };
    // The angle above the horizon: from above, x is to the right and y up.
    let tilt = if mesh.is_flat { 0.0 } else { std::f64::consts::FRAC_PI_2 - tilt };
    let camera = Camera { turn, tilt, centre: [0.0; 2], scale: 1.0 };
    let [least, most] = mesh.bounds;
    let aspect = mesh.is_flat.then(|| ((most[0] - least[0]) / (most[1] - least[1])).clamp(0.2, 5.0));
    let mut figure = Figure::new(args.size.0, true, aspect.or(Some(1.2)));
    let size = figure.pixels();
    let camera = camera.fit(mesh.bounds, size, if mesh.is_flat { 1.0 } else { 1.05 });
    let seen = camera.draw(&mesh.faces, size);
    let scale = scale(args, numbers, None)?;
    let number = |cell: u32| (cell as usize).checked_sub(1).and_then(|cell| numbers.get(cell)).copied();
    let mut pixels: Vec<Rgb> = seen
        .cells
        .iter()
        .zip(&seen.shades)
        .map(|(&cell, &shade)| {
            let shade = if mesh.is_flat { 255 } else { u32::from(shade) };
            number(cell).map_or([255; 3], |number| {
                args.colours
                    .at(scale.place(number))
                    .map(|c| u8::try_from(u32::from(c) * shade / 255).unwrap_or(255))
            })
        })
        .collect();
    draw_edges(&seen.cells, size[0], &mut pixels);
    figure.image(pixels);
    if mesh.is_flat {
        let ticks = |axis: usize, most: f64| {
            let half = units(size[axis]) / 2.0 / camera.scale;
            let (from, to) = (camera.centre[axis] - half, camera.centre[axis] + half);
            placed(&Scale { from, to, is_log: false, clock: None }, most)
        };
        let [w, h] = size.map(|n| units(n / PIXELS));
        figure.axes(&ticks(0, w / 80.0), mesh.axes[0], &ticks(1, h / 40.0), mesh.axes[1], false);
    } else {
        figure.axes(&[], "", &[], "", false);
    }
    figure.bar(args.colours, &scale, label);
    figure.title(title);
    Ok(figure)
}

/// Thin lines between cells, unless these are so small that there was nothing else.
fn draw_edges(cells: &[u32], width: usize, pixels: &mut [Rgb]) {
    let is_edge = |at: usize| {
        let right = at % width + 1 < width && cells[at + 1] != cells[at];
        right || cells.get(at + width).is_some_and(|&below| below != cells[at])
    };
    let edges: Vec<_> = (0..cells.len()).filter(|&at| is_edge(at)).collect();
    if edges.len() > cells.len() / 4 {
        return;
    }
    for at in edges {
        pixels[at] = pixels[at].map(|c| u8::try_from(u32::from(c) * 5 / 8).unwrap_or(0));
    }
}

/// The indices of a picture in words, as in `--box`.
fn indices(fixed: &[u64], shown: &[usize]) -> String {
    let word = |(dimension, index): (usize, &u64)| match shown.contains(&dimension) {
        true => ":".to_owned(),
        false => index.to_string(),
    };
    let words: Vec<_> = fixed.iter().enumerate().map(word).collect();
    if words.len() == shown.len() { String::new() } else { format!(" [{}]", words.join(", ")) }
}

/// The title of a picture.
fn title(name: &str, record: Option<u64>, indices: &str) -> String {
    let record = record.map_or(String::new(), |record| format!(", record {record}"));
    format!("{}{indices}{record}", visible(name))
}
