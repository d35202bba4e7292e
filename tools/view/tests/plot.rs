//! `scda plot`: the pictures, pixel by pixel where that says what is drawn.

use crate::run::Place;
use scda::{DataType, Dataset, Solo, Struct, WriteOptions, Writer};

/// The pixels of a PNG, whose colours `python3` prints: it has zlib.
const PIXELS: &str = r#"
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
at, body = 8, b""
while at < len(data):
    n, kind = struct.unpack(">I4s", data[at:at + 8])
    if kind == b"IHDR": width, height, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
    if kind == b"IDAT": body += data[at + 8:at + 8 + n]
    at += 12 + n
assert depth == 8 and colour in (2, 6)
step = 4 if colour == 6 else 3
raw, row, rows = zlib.decompress(body), bytearray(width * step), []
def paeth(a, b, c):
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
for y in range(height):
    kind, line = raw[y * (width * step + 1)], bytearray(raw[y * (width * step + 1) + 1:(y + 1) * (width * step + 1)])
    if kind == 2:
        line = bytearray(a + b & 255 for a, b in zip(line, row))
    for x in range(len(line) if kind != 2 else 0):
        a, b, c = (line[x - step] if x >= step else 0), row[x], (row[x - step] if x >= step else 0)
        line[x] = line[x] + (0, a, b, (a + b) // 2, paeth(a, b, c))[kind] & 255
    row = line
    rows.append(line)
print(width, height)
for place in sys.argv[2:]:
    x, y = (int(float(part) * n) for part, n in zip(place.split(","), (width, height)))
    print(*rows[y][x * step:x * step + 3])
"#;

/// The size of a PNG, and the colours at places of it, from 0 to 1.
fn pixels(place: &Place, name: &str, at: &[(f64, f64)]) -> ((usize, usize), Vec<[u8; 3]>) {
    place.write("pixels.py", PIXELS);
    let at: Vec<_> = at.iter().map(|(x, y)| format!("{x},{y}")).collect();
    let run = place.shell(&format!("python3 pixels.py {name} {}", at.join(" "))).good();
    let numbers = |line: &str| line.split(' ').map(|n| n.parse().unwrap()).collect::<Vec<usize>>();
    let mut lines = run.text().lines().map(numbers);
    let size = lines.next().unwrap();
    let colour = |line: Vec<usize>| [0, 1, 2].map(|k| u8::try_from(line[k]).unwrap());
    ((size[0], size[1]), lines.map(colour).collect())
}

const FILE: &str = r#"{"user": "pictures", "sections": [
  {"type": "D", "user": "square", "data_type": "float64", "shape": [2, 2], "values": [0, 1, 2, "NaN"], "dimension_names": ["y", "x"],
   "attributes": {"units": "<m> & \"s\""}},
  {"type": "D", "user": "bytes", "data_type": "r16", "shape": [1], "values": [[1, 2]]},
  {"type": "G", "user": "group", "attributes": {}},
  {"type": "G", "user": "m", "attributes": {"scda_forest": 1, "dimension": 2}},
  {"type": "D", "user": "m/tree_to_tree", "data_type": "int32", "shape": [1, 4], "values": [0, 0, 0, 0]},
  {"type": "D", "user": "m/tree_to_face", "data_type": "int8", "shape": [1, 4], "values": [0, 1, 2, 3]},
  {"type": "D", "user": "m/coordinates", "data_type": "int32", "shape": [4, 2],
   "values": [0, 0, 536870912, 0, 0, 536870912, 536870912, 536870912]},
  {"type": "D", "user": "m/level", "data_type": "uint8", "shape": [4], "values": [1, 1, 1, 1]},
  {"type": "D", "user": "m/tree_offsets", "data_type": "int64", "shape": [2], "values": [0, 4]},
  {"type": "D", "user": "m/fields/h", "data_type": "float64", "shape": [4], "values": [0, 1, 2, 3]},
  {"type": "D", "user": "m/fields/packed", "data_type": "int8", "shape": [4], "values": [-1, 0, 1, 9],
   "attributes": {"scale_factor": 0.5, "add_offset": 1, "_FillValue": 9, "units": "<m> & \"s\""}},
  {"type": "D", "user": "m/fields/short", "data_type": "float64", "shape": [3], "values": [0, 1, 2]}
]}"#;

fn with_file() -> Place {
    let place = Place::new();
    place.with_input("make - a.scda", FILE.as_bytes()).good();
    place
}

/// Viridis at 0, a half and 1, and what stands for no number.
const LOW: [u8; 3] = [68, 1, 84];
const MIDDLE: [u8; 3] = [38, 130, 142];
const HIGH: [u8; 3] = [253, 231, 37];
const NONE: [u8; 3] = [196; 3];
/// Places within the four quarters of a square image: from below, and from the left.
const QUARTERS: [(f64, f64); 4] = [(0.3, 0.7), (0.6, 0.7), (0.3, 0.3), (0.6, 0.3)];

#[test]
fn a_mesh_has_the_colours_of_its_numbers() {
    let place = with_file();
    place.scda("plot a.scda m/fields/h -o m.png --colours gray --size 520x420").good();
    assert_eq!(pixels(&place, "m.png", &QUARTERS).1, [[0; 3], [85; 3], [170; 3], [255; 3]]);
    place.scda("plot a.scda m/fields/h -o m.png --colours gray --limits 0:6 --force --size 520x420").good();
    assert_eq!(pixels(&place, "m.png", &QUARTERS).1, [[0; 3], [43; 3], [85; 3], [128; 3]]);
    place.scda("plot a.scda m/fields/packed -o p.png --size 520x420").good();
    assert_eq!(pixels(&place, "p.png", &QUARTERS), ((1040, 784), vec![LOW, MIDDLE, HIGH, NONE]));
    place.scda("plot a.scda m -o level.png").good();
}

/// Four cells of each kind of mesh, which have the numbers 0 to 3.
const MESHES: &str = r#"{"user": "meshes", "sections": [
  {"type": "G", "user": "amr", "attributes": {"scda_patches": 1, "dimension": 2}},
  {"type": "D", "user": "amr/boxes", "data_type": "int64", "shape": [2, 2, 2], "values": [-1, 4, 2, 2, -2, 8, 2, 2]},
  {"type": "D", "user": "amr/level", "data_type": "int32", "shape": [2], "values": [0, 1]},
  {"type": "D", "user": "amr/ratio", "data_type": "int32", "shape": [2, 2], "values": [1, 1, 2, 2]},
  {"type": "D", "user": "amr/domain", "data_type": "int64", "shape": [2, 2], "values": [-1, 4, 2, 2]},
  {"type": "D", "user": "amr/geometry", "data_type": "float64", "shape": [2, 2], "values": [0, 0, 0.5, 0.5]},
  {"type": "D", "user": "amr/fields/rho", "data_type": "float64", "shape": [8], "values": [99, 1, 2, 3, 0, 0, 0, 0]},
  {"type": "G", "user": "amr3", "attributes": {"scda_patches": 1, "dimension": 3}},
  {"type": "D", "user": "amr3/boxes", "data_type": "int64", "shape": [1, 2, 3], "values": [0, 0, 0, 2, 2, 1]},
  {"type": "D", "user": "amr3/level", "data_type": "int32", "shape": [1], "values": [0]},
  {"type": "D", "user": "amr3/ratio", "data_type": "int32", "shape": [1, 3], "values": [1, 1, 1]},
  {"type": "D", "user": "amr3/domain", "data_type": "int64", "shape": [2, 3], "values": [0, 0, 0, 2, 2, 1]},
  {"type": "D", "user": "amr3/geometry", "data_type": "float64", "shape": [2, 3], "values": [0, 0, 0, 1, 1, 2]},
  {"type": "D", "user": "amr3/fields/rho", "data_type": "int32", "shape": [4], "values": [0, 1, 2, 3]},
  {"type": "G", "user": "tri", "attributes": {"scda_forest": 2, "dimension": 2}},
  {"type": "D", "user": "tri/tree_to_tree", "data_type": "int64", "shape": [1, 4], "values": [0, 0, 0, -1]},
  {"type": "D", "user": "tri/tree_shape", "data_type": "uint8", "shape": [1], "values": [5]},
  {"type": "D", "user": "tri/coordinates", "data_type": "int32", "shape": [4, 2],
   "values": [0, 0, 536870912, 0, 536870912, 0, 536870912, 536870912]},
  {"type": "D", "user": "tri/level", "data_type": "uint8", "shape": [4], "values": [1, 1, 1, 1]},
  {"type": "D", "user": "tri/type", "data_type": "uint8", "shape": [4], "values": [0, 0, 1, 0]},
  {"type": "D", "user": "tri/tree_offsets", "data_type": "int64", "shape": [2], "values": [0, 4]},
  {"type": "D", "user": "tri/fields/r:count", "data_type": "int64", "shape": [4], "values": [0, 1, 3, 2]},
  {"type": "D", "user": "tri/fields/r", "data_type": "float64", "shape": [6], "values": [0, 2, 2, 2, 1, 1]},
  {"type": "D", "user": "tri/fields/v", "data_type": "float64", "shape": [4, 2], "values": [0, 0, 0, 1, 3, 0, 2, 0]},
  {"type": "G", "user": "none", "attributes": {"scda_particles": 1}},
  {"type": "D", "user": "none/offsets", "data_type": "int64", "shape": [2], "values": [0, 1]},
  {"type": "D", "user": "none/fields/mass", "data_type": "float64", "shape": [1], "values": [1]}
]}"#;

#[test]
fn meshes_of_each_kind_have_the_colours_of_their_numbers() {
    let place = Place::new();
    place.with_input("make - a.scda", MESHES.as_bytes()).good();
    let drawn = |arguments: &str| {
        place.scda(&format!("plot {arguments} -o a.png --force --colours gray --size 520x420")).good();
        pixels(&place, "a.png", &QUARTERS).1
    };
    let four = [[0; 3], [85; 3], [170; 3], [255; 3]];
    // The finer cells are seen, and the number that they cover, 99, does not stretch the scale.
    assert_eq!(drawn("a.scda amr/fields/rho"), four);
    assert_eq!(drawn("a.scda amr"), [[255; 3], [0; 3], [0; 3], [0; 3]], "levels");
    assert_eq!(drawn("a.scda amr3/fields/rho --cut z=1"), four);
    place.scda("plot a.scda amr3/fields/rho -o cube.png").good();
    // Triangles; the third place is outside. Ragged fields by their counts, or a value of each; the length of vectors.
    for (arguments, expected) in [
        ("tri/fields/r", [0, 85, 255, 170]),
        ("tri/fields/r:count", [0, 85, 255, 170]),
        ("tri/fields/r --component 0 --limits -1:2", [196, 85, 255, 170]),
        ("tri/fields/v", [0, 85, 255, 170]),
        ("tri/fields/v --component 1", [0, 255, 255, 0]),
    ] {
        assert_eq!(drawn(&format!("a.scda {arguments}")), expected.map(|gray| [gray; 3]), "{arguments}");
    }
    for (arguments, words) in [
        ("none", "the column position is missing"),
        ("amr --cut x=0", "patches in 2D: only a mesh in space can be cut"),
        ("tri/fields/v --component 2", "each row has 2 numbers"),
        ("tri/fields/v --component x", "expected a number"),
        ("tri --record 1", "tri has no step 1: it has 1, counted from 0"),
    ] {
        place.scda(&format!("plot a.scda {arguments} -o b.png")).bad(2, words);
    }
    // Particles, whose positions and masses are members of structs.
    let point = DataType::Struct(Struct::array(DataType::Float64, 2).unwrap());
    let item = Struct::packed([("position", point), ("mass", DataType::Int32), ("name", DataType::Bytes(4))])
        .unwrap();
    let particles = [
        ([0.0, 0.0], 0),
        ([1.0, 1.0], 3),
        ([0.2, 0.175], 0),
        ([0.77, 0.175], 1),
        ([0.2, 0.75], 2),
        ([0.77, 0.75], 3),
    ];
    let mut data = Vec::new();
    for ([x, y], mass) in particles {
        data.extend([f64::to_ne_bytes(x), f64::to_ne_bytes(y)].concat());
        data.extend(i32::to_ne_bytes(mass));
        data.extend(b"name");
    }
    let mut file = Writer::create(Solo, &place.path("p.scda"), b"", &WriteOptions::default()).unwrap();
    file.group("dust", r#"{"scda_particles": 1}"#).unwrap();
    let offsets = Dataset::new("dust/offsets", DataType::Int64, [2]);
    let all = scda::IndexBox::all(&[2]);
    file.dataset(&offsets, &[all], &[0_i64.to_ne_bytes(), 6_i64.to_ne_bytes()].concat()).unwrap();
    let atoms = Dataset::new("dust/fields/atoms", DataType::Struct(item), [6]);
    file.dataset(&atoms, &[scda::IndexBox::all(&[6])], &data).unwrap();
    file.close().unwrap();
    assert_eq!(drawn("p.scda dust/fields/atoms --component mass"), four);
    assert_eq!(drawn("p.scda dust/fields/atoms"), four, "the first member that is no position");
    place.scda("plot p.scda dust -o dust.svg").good();
    place.scda("plot p.scda dust/fields/atoms --component position.1 -o y.svg").good();
    assert!(String::from_utf8(place.read("y.svg")).unwrap().contains(">position[1]<"));
    for (component, words) in
        [("name", "expected one of position, mass"), ("position.2", "each row has 2 numbers")]
    {
        place.scda(&format!("plot p.scda dust/fields/atoms --component {component} -o b.png")).bad(2, words);
    }
}

#[test]
fn pictures_are_svg_with_text_that_is_no_markup() {
    let place = with_file();
    for (arguments, words) in [
        ("m/fields/packed", "packed [&lt;m&gt; &amp; &quot;s&quot;]"),
        ("m --record 0", ">m, step 0: 4 cells<"),
        ("m/fields/h --log --limits 1:1000", ">1e2<"),
        ("m/fields/h", ">m/fields/h<"),
    ] {
        place.scda(&format!("plot a.scda {arguments} -o a.svg --force --size 400x300")).good();
        let svg = String::from_utf8(place.read("a.svg")).unwrap();
        assert!(
            svg.contains(words) && svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
            "{arguments}: {svg}"
        );
        place.shell("python3 -c \"import xml.dom.minidom; xml.dom.minidom.parse('a.svg')\"").good();
    }
}

#[test]
fn what_cannot_be_drawn_is_told() {
    let place = with_file();
    for (arguments, words) in [
        ("nosuch -o a.png", "nosuch: there is no dataset of this name"),
        ("group -o a.png", "group: this group is no mesh"),
        ("square -o a.png", "square: this dataset is no field of a mesh: a program for HDF5 draws it"),
        ("m -o a.gif", "expected a name that ends in .png or .svg"),
        ("m -o a.png --record 2", "m has no step 2: it has 1, counted from 0"),
        ("m -o a.png --log --limits 0:1", "--log: a logarithmic scale needs a number above 0"),
        ("m -o a.png --limits 1:1", "two numbers that ascend"),
        ("m -o a.png --size 10x10", "each from 200 to 8000"),
        ("m/fields/short -o a.png", "found 3 rows, expected 4"),
        ("m/fields/h -o a.png --component 1", "each row has 1 numbers"),
    ] {
        place.scda(&format!("plot a.scda {arguments}")).bad(2, words);
    }
    assert_eq!(place.names(), ["a.scda"]);
    place.write("a.png", "kept");
    place.scda("plot a.scda m -o a.png").bad(2, "the file exists; --force replaces it");
    assert_eq!(place.read("a.png"), b"kept");
}
