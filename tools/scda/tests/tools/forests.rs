//! `scda check` with forests (docs/forest.md).

use crate::meshes::{Part, bytes, invalid, write, wrong_number};
use crate::run::Place;
use DataType::{Float32, Float64, Int8, Int32, Int64, Uint8};
use scda::{DataType, Dataset, IndexBox, Solo, WriteOptions, Writer};

const HALF: i64 = 1 << 29;

/// Two squares, of which the first is refined once; two time steps.
pub fn forest() -> Vec<Part> {
    vec![
        ("time", Float64, vec![], vec![0]),
        ("tree_to_tree", Int32, vec![2, 4], vec![0, 1, 0, 0, 0, 1, 1, 1]),
        ("tree_to_face", Int8, vec![2, 4], vec![0, 0, 2, 3, 1, 1, 2, 3]),
        ("vertices", Float64, vec![6, 3], vec![0; 18]),
        ("tree_to_vertex", Int32, vec![2, 4], vec![0, 1, 3, 4, 1, 2, 4, 5]),
        ("tree_to_corner", Int32, vec![2, 4], vec![-1, 0, -1, -1, 0, -1, -1, -1]),
        ("corner_offsets", Int32, vec![2], vec![0, 2]),
        ("corner_to_tree", Int32, vec![2], vec![0, 1]),
        ("corner_to_corner", Int8, vec![2], vec![1, 0]),
        ("coordinates", Int32, vec![5, 2], vec![0, 0, HALF, 0, 0, HALF, HALF, HALF, 0, 0]),
        ("level", Uint8, vec![5], vec![1, 1, 1, 1, 0]),
        ("tree_offsets", Int64, vec![3], vec![0, 4, 5]),
        ("partition", Int64, vec![4], vec![0, 2, 2, 5]),
        ("fields/velocity", Float32, vec![5, 2], vec![0; 10]),
        ("time", Float64, vec![], vec![1]),
        ("fields/c:count", Int64, vec![5], vec![1, 0, 2, 0, 1]),
        ("fields/c", Float64, vec![4], vec![1, 2, 3, 4]),
        ("data", DataType::Raw(1), vec![5], vec![0; 5]),
    ]
}

pub const ATTRIBUTES: &str = r#"{"scda_forest": 1, "dimension": 2}"#;

/// A cube, of which the face -x is joined to the face -y with z reversed: the edge between them meets itself.
fn reversed() -> Vec<Part> {
    let mut to_edge = vec![-1; 12];
    to_edge[8] = 0;
    vec![
        ("tree_to_tree", Int32, vec![1, 6], vec![0; 6]),
        ("tree_to_face", Int8, vec![1, 6], vec![14, 1, 12, 3, 4, 5]),
        ("tree_to_edge", Int32, vec![1, 12], to_edge),
        ("edge_offsets", Int32, vec![2], vec![0, 2]),
        ("edge_to_tree", Int32, vec![2], vec![0, 0]),
        ("edge_to_edge", Int8, vec![2], vec![8, 20]),
        ("coordinates", Int32, vec![1, 3], vec![0; 3]),
        ("level", Uint8, vec![1], vec![0]),
        ("tree_offsets", Int64, vec![2], vec![0, 1]),
        ("tree_attributes", DataType::Raw(3), vec![1], vec![7]),
    ]
}

#[test]
fn a_forest_is_valid() {
    let place = Place::new();
    write(&place, "good.scda", ATTRIBUTES, &forest());
    place.scda("check good.scda").good();
    // An edge that meets itself in the other direction stands twice under its number.
    write(&place, "reversed.scda", r#"{"scda_forest": 1, "dimension": 3}"#, &reversed());
    place.scda("check reversed.scda").good();
    // Of a group that is no forest, or one of a later version, nothing is asked.
    for attributes in ["{}", r#"{"scda_forest": 3}"#, r#"{"scda_forest": 10}"#] {
        write(&place, "other.scda", attributes, &forest()[..2]);
        place.scda("check other.scda").good();
    }
    for attributes in
        [r#"{"scda_forest": 1}"#, r#"{"scda_forest": 1, "dimension": 4}"#, r#"{"scda_forest": "1"}"#]
    {
        write(&place, "bad.scda", attributes, &forest());
        invalid(&place, "section 2 (block \"mesh/\"): attribute ");
    }
}

#[test]
fn wrong_numbers_are_found() {
    let place = Place::new();
    for (name, index, number, words) in [
        ("coordinates", 2, 0, "quadrant 1, in tree 0: found coordinate 0 0, expected 536870912"),
        ("coordinates", 9, 1, "quadrant 4, in tree 1: found coordinate 1 1, expected 0"),
        ("coordinates", 6, -1, "quadrant 3, in tree 0: found coordinate 0 -1"),
        ("level", 3, 2, "found quadrant 3 as the last one of tree 0, which it leaves incomplete"),
        ("level", 0, 0, "quadrant 1, in tree 0: found a quadrant after the end of its tree"),
        ("level", 1, 31, "quadrant 1, in tree 0: found level 31"),
        ("level", 4, 1, "found quadrant 4 as the last one of tree 1"),
        ("tree_offsets", 0, 1, "number 0: found 1, expected 0"),
        ("tree_offsets", 1, 0, "number 1: found 0, expected more than 0"),
        ("tree_offsets", 1, 3, "found quadrant 2 as the last one of tree 0"),
        ("tree_offsets", 2, 6, "number 2: found 6"),
        ("partition", 0, 1, "number 0: found 1, expected 0 to 0"),
        ("partition", 1, 3, "number 2: found 2, expected 3 to 5"),
        ("partition", 2, -1, "number 2: found -1, expected 2 to 5"),
        ("partition", 3, 4, "number 3: found 4, expected 5 to 5"),
        ("tree_to_tree", 1, 0, "tree 0: face 1 leads to tree 0, which does not lead back"),
        ("tree_to_tree", 7, 2, "row 1: found 2, expected 0 to 1"),
        ("tree_to_face", 1, 4, "tree 0: face 1 leads to tree 1, which does not lead back"),
        ("tree_to_face", 2, 6, "tree 0: face 2 leads to tree 0"),
        ("tree_to_face", 0, 8, "row 0: found 8, expected 0 to 7"),
        ("tree_to_vertex", 7, 6, "row 1: found 6, expected 0 to 5"),
        ("tree_to_corner", 0, 1, "row 0: found 1, expected -1 to 0"),
        ("tree_to_corner", 0, 0, "tree 0: corner 0 has number 0, but no entry"),
        ("corner_offsets", 0, 1, "found 1 as the first"),
        ("corner_offsets", 1, 1, "number 1: found 1"),
        ("corner_to_tree", 0, 1, "entry 0, of corner 0, does not refer to tree 1"),
        ("corner_to_corner", 0, 4, "row 0: found 4, expected 0 to 3"),
        ("fields/c:count", 1, -1, "quadrant 1: found -1 values"),
        ("fields/c:count", 1, 1, "found 4 values, expected 5"),
    ] {
        wrong_number(&place, ATTRIBUTES, forest(), (name, index, number), words);
    }
}

/// More corners than are compared with one another: their offsets are in order all the same.
#[test]
fn the_offsets_of_many_corners_are_checked() {
    let place = Place::new();
    let trees = (1_u64 << 22) + 1;
    let all = usize::try_from(trees).unwrap();
    let parts: Vec<Part> = vec![
        ("tree_to_tree", Int32, vec![trees, 4], vec![]),
        ("tree_to_face", Int8, vec![trees, 4], vec![]),
        ("tree_to_corner", Int32, vec![trees, 4], vec![]),
        ("corner_offsets", Int32, vec![4 * trees], vec![]),
        ("corner_to_tree", Int32, vec![1], vec![0]),
        ("corner_to_corner", Int8, vec![1], vec![0]),
        ("coordinates", Int32, vec![trees, 2], vec![0; 2 * all]),
        ("level", Uint8, vec![trees], vec![0; all]),
        ("tree_offsets", Int64, vec![trees + 1], (0..=i64::try_from(trees).unwrap()).collect()),
    ];
    write(&place, "bad.scda", ATTRIBUTES, &parts);
    invalid(&place, "number 16777219: found 0, expected at least 0, and 1 at the end");
}

#[test]
fn what_is_missing_or_of_another_shape_is_found() {
    let place = Place::new();
    for (name, ..) in forest() {
        let parts: Vec<Part> = forest().into_iter().filter(|part| part.0 != name).collect();
        write(&place, "bad.scda", ATTRIBUTES, &parts);
        // Without these there is another forest.
        match name {
            "time" | "vertices" | "tree_to_corner" | "partition" | "fields/velocity" | "fields/c"
            | "data" => {
                place.scda("check bad.scda").good();
            }
            _ => invalid(&place, ""),
        }
        // A number that is much too large costs no memory and no time: the others have the fill value.
        for rows in [0, 1 << 30] {
            let mut parts = forest();
            let part = parts.iter_mut().find(|part| part.0 == name).unwrap();
            part.3.truncate(0);
            let Some(first) = part.2.first_mut() else { continue };
            *first = rows;
            write(&place, "bad.scda", ATTRIBUTES, &parts);
            invalid(&place, "");
        }
    }
}

/// A field whose second dimension is called so has a value for each corner of a quadrant.
#[test]
fn wrong_numbers_of_corners_are_found() {
    let place = Place::new();
    for (columns, name, words) in [
        (4, "corner", ""),
        (3, "corner", "dimension corner: found 3, expected 4"),
        (8, "corner", "dimension corner: found 8, expected 4"),
        (3, "component", ""),
    ] {
        write(&place, "bad.scda", ATTRIBUTES, &forest());
        let mut file = Writer::append(Solo, place.path("bad.scda"), &WriteOptions::default()).unwrap();
        let mut field = Dataset::new("mesh/fields/u", Float32, [5, columns]);
        field.dimension_names = vec![Some("quadrant".into()), Some(name.into())];
        let data = vec![0; usize::try_from(5 * columns * 4).unwrap()];
        file.dataset(&field, &[IndexBox::all(&field.shape)], &data).unwrap();
        file.close().unwrap();
        if words.is_empty() {
            place.scda("check bad.scda").good();
        } else {
            invalid(&place, words);
        }
    }
}

/// The checksum of the mesh of `forest`, which ffi-tests/forest_steps.c prints, too; and that of as many quadrants, the second square
/// refined.
pub const CHECKSUMS: [&str; 2] = ["752cf7a7fb077e1f", "ccb723f11a8ed25f"];

/// The mesh of `forest`, or the other one.
pub fn mesh(which: usize) -> [Part; 3] {
    let (coordinates, levels, offsets) = match which {
        0 => (vec![0, 0, HALF, 0, 0, HALF, HALF, HALF, 0, 0], vec![1, 1, 1, 1, 0], vec![0, 4, 5]),
        _ => (vec![0, 0, 0, 0, HALF, 0, 0, HALF, HALF, HALF], vec![0, 1, 1, 1, 1], vec![0, 1, 5]),
    };
    [
        ("coordinates", Int32, vec![5, 2], coordinates),
        ("level", Uint8, vec![5], levels),
        ("tree_offsets", Int64, vec![3], offsets),
    ]
}

/// A mesh, and what belongs to quadrants, that names the mesh: of a step, whatever was before.
#[test]
fn what_belongs_to_another_mesh_is_found() {
    let place = Place::new();
    let time = || vec![("time", Float64, vec![], vec![2])];
    let field = |name| vec![(name, Float32, vec![5], vec![1; 5])];
    let data = || vec![("data", DataType::Raw(1), vec![5], vec![0; 5])];
    let ragged = || {
        vec![("fields/r:count", Int64, vec![5], vec![1; 5]), ("fields/r", Float32, vec![5, 2], vec![0; 10])]
    };
    let meshes = |which| mesh(which).to_vec();
    let none: Option<&str> = None;
    let [a, b] = CHECKSUMS.map(Some);
    let named = "expected \"ccb723f11a8ed25f\", the checksum of the mesh";
    for (steps, words) in [
        // Without names nothing is compared.
        (vec![(time(), none), (meshes(1), none), (field("fields/u"), none)], ""),
        (vec![(time(), none), (meshes(1), b), (field("fields/u"), b), (data(), b), (ragged(), b)], ""),
        // The mesh of the step before.
        (vec![(time(), none), (field("fields/u"), a), (data(), a)], ""),
        (vec![(time(), none), (meshes(1), b), (time(), none), (field("fields/u"), b)], ""),
        // A mesh that is not the one it says.
        (vec![(time(), none), (meshes(1), a)], named),
        // As many quadrants, but others: the mesh was forgotten, or another one was taken.
        (vec![(time(), none), (meshes(1), b), (field("fields/u"), a)], named),
        (vec![(time(), none), (meshes(1), none), (field("fields/u"), a)], named),
        (vec![(time(), none), (meshes(1), b), (data(), a)], named),
        (vec![(time(), none), (meshes(1), b), (ragged(), a)], named),
        (vec![(time(), none), (field("fields/u"), b)], "of step 2"),
        // The mesh changes after the field, in the same step; only the last field of a name counts.
        (vec![(time(), none), (field("fields/u"), a), (meshes(1), b)], named),
        (vec![(time(), none), (field("fields/u"), a), (meshes(1), b), (field("fields/u"), b)], ""),
        (vec![(time(), none), (field("fields/u"), Some("1")), (time(), none)], "found \"1\", expected"),
    ] {
        write(&place, "bad.scda", ATTRIBUTES, &forest());
        let mut file = Writer::append(Solo, place.path("bad.scda"), &WriteOptions::default()).unwrap();
        for (parts, checksum) in steps {
            for (name, data_type, shape, numbers) in parts {
                let mut dataset = Dataset::new(format!("mesh/{name}"), data_type, shape.clone());
                if let Some(checksum) = checksum.filter(|_| !["level", "tree_offsets"].contains(&name)) {
                    dataset.attributes = format!("{{\"scda_mesh\": \"{checksum}\"}}");
                }
                file.dataset(&dataset, &[IndexBox::all(&shape)], &bytes(data_type, &numbers)).unwrap();
            }
        }
        file.close().unwrap();
        if words.is_empty() {
            place.scda("check bad.scda").good();
        } else {
            invalid(&place, words);
        }
    }
}

#[test]
fn wrong_edges_and_attributes_are_found() {
    let place = Place::new();
    let attributes = r#"{"scda_forest": 1, "dimension": 3}"#;
    let wrong = |change: &dyn Fn(&mut Part), name: &str, words: &str| {
        let mut parts = reversed();
        change(parts.iter_mut().find(|part| part.0 == name).unwrap());
        write(&place, "bad.scda", attributes, &parts);
        invalid(&place, words);
    };
    wrong(&|part| part.3[1] = 8, "edge_to_edge", "entry 1, of edge 0, does not refer to tree 0");
    wrong(&|part| part.3[1] = 9, "edge_to_edge", "entry 1, of edge 0, does not refer to tree 0");
    wrong(&|part| part.3[3] = 0, "tree_to_edge", "tree 0: edge 3 has number 0, but no entry");
    wrong(&|part| part.1 = Uint8, "tree_attributes", "found type uint8 and shape 1, expected bytes");
    wrong(&|part| part.2[0] = 2, "tree_attributes", "shape 2, expected bytes (r8, r16, ...) and 1");

    let mut parts = forest();
    let data = parts.iter_mut().find(|part| part.0 == "data").unwrap();
    (data.1, data.3) = (Float64, vec![0; 5]);
    write(&place, "bad.scda", ATTRIBUTES, &parts);
    invalid(&place, "found type float64 and shape 5, expected bytes (r8, r16, ...) and 5");
}

/// More bytes of attributes than a connectivity may have, in a small file: the others have the fill value.
#[test]
fn attributes_without_end_are_found() {
    let place = Place::new();
    let trees = 5000_u64;
    let all = i64::try_from(trees).unwrap();
    let each = |of: &dyn Fn(i64) -> [i64; 4]| (0..all).flat_map(of).collect::<Vec<_>>();
    let parts = vec![
        ("tree_to_tree", Int32, vec![trees, 4], each(&|tree| [tree; 4])),
        ("tree_to_face", Int8, vec![trees, 4], each(&|_| [0, 1, 2, 3])),
        ("tree_attributes", DataType::Raw(65536), vec![trees], vec![]),
        ("coordinates", Int32, vec![trees, 2], vec![0; 2 * 5000]),
        ("level", Uint8, vec![trees], vec![0; 5000]),
        ("tree_offsets", Int64, vec![trees + 1], (0..=all).collect()),
    ];
    write(&place, "bad.scda", ATTRIBUTES, &parts);
    invalid(&place, "found 327680000 bytes, expected at most 268435456");
}

/// The time grows with the sections, not with their square: many forests in a file without a seal, none of which has a mesh.
#[test]
fn many_forests_are_checked_in_time() {
    let place = Place::new();
    let forests = 20_000;
    let mut file =
        Writer::create(Solo, place.path("many.scda"), b"forests", &WriteOptions::default()).unwrap();
    for number in 0..forests {
        file.group(&format!("mesh{number}"), ATTRIBUTES).unwrap();
    }
    file.close().unwrap();
    let run = place.shell("ulimit -t 20; exec scda check many.scda"); // of processor time
    assert_eq!(
        (run.code, run.text().matches("there is no mesh up to the end of step 0").count()),
        (1, forests)
    );
}
