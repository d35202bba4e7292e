//! `scda plot`: pictures of meshes, as files.

pub mod axis;
pub mod canvas;
pub mod cf_decoding;
pub mod colour;
pub mod figure;
pub mod mesh;
pub mod raster;
pub mod tick;

use crate::fail::{Fail, Result};
use crate::files::{Input, Resources, check_free, check_replaceable, status};
use crate::output::visible;
use axis::Scale;
use canvas::PIXELS;
use colour::{Map, Rgb};
use figure::{Figure, placed, units};
use mesh::FieldPlace;
use raster::Camera;
use scda::Reader;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::str::FromStr;

/// Draw a mesh as a picture
///
/// A field of a mesh (forests, cells, patches, particles) is drawn on its cells; the group of a mesh is coloured by the level of its
/// cells. Packed numbers are unpacked, and missing ones are grey, as the CF conventions say. Other datasets are drawn by any program for
/// HDF5, if the file has a view (scda hdf5).
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda plot dam.scda forest/fields/height -o height.png
                                              a field on the cells of its mesh
  scda plot dam.scda forest --cut z=0.5 -o cut.png
                                              a mesh in space, cut by a plane
  scda plot dust.scda particles/fields/atoms --component mass -o mass.png
                                              particles, coloured by a member of structs")]
pub struct Args {
    /// The file; - is standard input
    file: PathBuf,
    /// The name of a field, or of the group of a mesh
    name: String,
    /// The picture: a file that ends in .png or .svg
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Of several fields of this name, or time steps of a mesh: the one with this number, from 0 on, or from -1, the last one,
    /// back [default: -1]
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    record: Option<i64>,
    /// Of a field with several numbers in a row: which one, from 0 on [default: the length of vectors, the mean of corners, the
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
    /// A logarithmic scale of the colours
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
    let canvas = draw(args, &mut reader)?.canvas;
    let bytes = if is_svg { canvas.to_svg()?.into_bytes() } else { canvas.to_png()? };
    let mut new = std::fs::OpenOptions::new();
    new.write(true).create(true).truncate(true).mode(input.mode());
    let written = new.open(&args.output).and_then(|mut file| file.write_all(&bytes));
    written.map_err(|error| Fail::file(&args.output.display().to_string(), error))
}

/// Draws what the arguments name.
fn draw(args: &Args, reader: &mut Reader) -> Result<Figure> {
    let name = args.name.trim_end_matches('/');
    let trouble = |words: &str| Err(Fail::Trouble(format!("{}: {words}", visible(name))));
    let Some(place) = FieldPlace::find(reader, name, args.record.unwrap_or(-1))? else {
        return match (reader.group(name)?, reader.dataset(name)?) {
            (Some(_), _) => trouble("this group is no mesh"),
            (_, Some(_)) => trouble("this dataset is no field of a mesh: a program for HDF5 draws it"),
            _ => trouble("there is no dataset of this name"),
        };
    };
    let mesh = place.mesh(reader, args.cut.map(|cut| (cut.0, cut.1)))?;
    let (numbers, label) = place.numbers(reader, &mesh, args.component.as_deref())?;
    let what = if place.is_alone() { "step" } else { "record" };
    let record = args.record.map_or(String::new(), |record| format!(", {what} {record}"));
    let cut = args.cut.map_or(String::new(), |cut| format!(", {} = {}", ["x", "y", "z"][cut.0], cut.1));
    let count = match place.is_alone() {
        true => format!(": {} {}s", mesh.cells, mesh.kind.cell()),
        false => String::new(),
    };
    let mut figure = draw_mesh(args, &mesh, &numbers, &label)?;
    figure.title(&format!("{}{record}{cut}{count}", visible(&args.name)));
    Ok(figure)
}

fn draw_mesh(args: &Args, mesh: &mesh::Mesh, numbers: &[f64], label: &str) -> Result<Figure> {
    let [turn, tilt] = if mesh.is_flat { [0.0; 2] } else { args.from.0.map(f64::to_radians) };
    // The angle above the horizon: from above, x is to the right and y up.
    let tilt = if mesh.is_flat { 0.0 } else { std::f64::consts::FRAC_PI_2 - tilt };
    let camera = Camera { turn, tilt, centre: [0.0; 2], scale: 1.0 };
    let [least, most] = mesh.bounds;
    let aspect =
        if mesh.is_flat { ((most[0] - least[0]) / (most[1] - least[1])).clamp(0.2, 5.0) } else { 1.2 };
    let mut figure = Figure::new(args.size.0, aspect);
    let size = figure.pixels();
    let camera = camera.fit(mesh.bounds, size, if mesh.is_flat { 1.0 } else { 1.05 });
    let seen = camera.draw(&mesh.faces, size);
    let given = args.limits.map_or([None; 2], |limits| limits.0);
    let mut scale =
        Scale::of(numbers, args.log, given).map_err(|words| Fail::Trouble(format!("--log: {words}")))?;
    if args.colours == Map::Diverging && !args.log && args.limits.is_none() {
        scale = scale.symmetric();
    }
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
            placed(&Scale { from, to, is_log: false }, most)
        };
        let [w, h] = size.map(|n| units(n / PIXELS));
        figure.axes(&ticks(0, w / 80.0), mesh.axes[0], &ticks(1, h / 40.0), mesh.axes[1]);
    } else {
        figure.axes(&[], "", &[], "");
    }
    figure.bar(args.colours, &scale, label);
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
