//! `scda check` with forests (docs/forest.md).

use crate::run::Place;
use DataType::{Float32, Float64, Int8, Int32, Int64, Uint8};
use scda::{DataType, Dataset, Layout, Params, Region, Solo, Writer};

const HALF: i64 = 1 << 29;

/// A dataset: name, type, shape, numbers. If there are fewer numbers than items, the others have the fill value, 0.
type Part = (&'static str, DataType, Vec<u64>, Vec<i64>);

/// Two squares, of which the first is refined once; two time steps.
fn forest() -> Vec<Part> {
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
        ("fields/velocity", Float32, vec![5, 2], vec![0; 10]),
        ("time", Float64, vec![], vec![1]),
        ("fields/c:count", Int64, vec![5], vec![1, 0, 2, 0, 1]),
        ("fields/c", Float64, vec![4], vec![1, 2, 3, 4]),
        ("data", DataType::Raw(1), vec![5], vec![0; 5]),
    ]
}

fn bytes(data_type: DataType, numbers: &[i64]) -> Vec<u8> {
    let width = usize::try_from(data_type.item_bytes()).unwrap();
    numbers.iter().flat_map(|number| number.to_le_bytes()[..width].to_vec()).collect()
}

fn write(place: &Place, name: &str, attributes: &str, parts: &[Part]) {
    let mut params = Params::default();
    params.seal = true;
    let mut file = Writer::create(Solo, &place.path(name), b"a forest", &params).unwrap();
    file.group("mesh", attributes).unwrap();
    for (name, data_type, shape, numbers) in parts {
        let mut dataset = Dataset::new(format!("mesh/{name}"), *data_type, shape.clone());
        if shape.iter().product::<u64>() > numbers.len() as u64 {
            let mut chunk = shape.clone();
            chunk[0] = 1 << 20;
            dataset.layout = Layout::Chunked { shape: Some(chunk), text: false };
            file.dataset(&dataset, &[], &[]).unwrap();
        } else {
            file.dataset(&dataset, &[Region::all(shape)], &bytes(*data_type, numbers)).unwrap();
        }
    }
    file.close().unwrap();
}

/// Requires that this is found.
#[track_caller]
fn invalid(place: &Place, words: &str) {
    let run = place.scda("check bad.scda");
    let found = run.text();
    assert!(
        run.code == 1 && found.contains("INVALID: section ") && found.contains(words),
        "expected {words}: {run:?}"
    );
}

const ATTRIBUTES: &str = r#"{"scda_forest": 1, "dimension": 2}"#;

#[test]
fn a_forest_is_valid() {
    let place = Place::new();
    write(&place, "good.scda", ATTRIBUTES, &forest());
    place.scda("check good.scda").good();
    // Of a group that is no forest, or one of a later version, nothing is asked.
    for attributes in ["{}", r#"{"scda_forest": 2}"#] {
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
        ("level", 3, 2, "found quadrant 3 as the last one of tree 0, which it does not fill"),
        ("level", 0, 0, "quadrant 1, in tree 0: found a quadrant behind the end of its tree"),
        ("level", 1, 31, "quadrant 1, in tree 0: found level 31"),
        ("level", 4, 1, "found quadrant 4 as the last one of tree 1"),
        ("tree_offsets", 0, 1, "number 0: found 1, expected 0"),
        ("tree_offsets", 1, 0, "number 1: found 0, expected more than 0"),
        ("tree_offsets", 1, 3, "found quadrant 2 as the last one of tree 0"),
        ("tree_offsets", 2, 6, "number 2: found 6"),
        ("tree_to_tree", 1, 0, "tree 0: face 1 leads to tree 0, which does not lead back"),
        ("tree_to_tree", 7, 2, "row 1: found 2, expected 0 to 1"),
        ("tree_to_face", 1, 4, "tree 0: face 1 leads to tree 1, which does not lead back"),
        ("tree_to_face", 2, 6, "tree 0: face 2 leads to tree 0"),
        ("tree_to_face", 0, 8, "row 0: found 8, expected 0 to 7"),
        ("tree_to_vertex", 7, 6, "row 1: found 6, expected 0 to 5"),
        ("tree_to_corner", 0, 1, "row 0: found 1, expected -1 to 0"),
        ("tree_to_corner", 0, 0, "found 3 numbers of corners, expected 2"),
        ("corner_offsets", 0, 1, "found 1 as the first"),
        ("corner_offsets", 1, 1, "number 1: found 1"),
        ("corner_to_tree", 0, 1, "entry 0, of corner 0, is not that of tree 1"),
        ("corner_to_corner", 0, 4, "row 0: found 4, expected 0 to 3"),
        ("fields/c:count", 1, -1, "quadrant 1: found -1 values"),
        ("fields/c:count", 1, 1, "found 4 values, expected 5"),
    ] {
        let mut parts = forest();
        let part = parts.iter_mut().find(|part| part.0 == name).unwrap();
        part.3[index] = number;
        write(&place, "bad.scda", ATTRIBUTES, &parts);
        invalid(&place, words);
        assert_eq!(place.scda("check --json bad.scda").json()["valid"], false);
    }
}

#[test]
fn what_is_missing_or_of_another_shape_is_found() {
    let place = Place::new();
    for (name, ..) in forest() {
        let parts: Vec<Part> = forest().into_iter().filter(|part| part.0 != name).collect();
        write(&place, "bad.scda", ATTRIBUTES, &parts);
        // Without these there is another forest.
        match name {
            "time" | "vertices" | "tree_to_corner" | "fields/velocity" | "fields/c" | "data" => {
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
