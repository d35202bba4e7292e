//! `scda check` with meshes of points and cells (docs/cells.md).

use crate::meshes::{Part, invalid, write, wrong_number};
use crate::run::Place;
use DataType::{Float32, Float64, Int32, Int64, Uint8};
use scda::DataType;

const ATTRIBUTES: &str = r#"{"scda_cells": 1}"#;

/// Two triangles, a square and a polygon of five points; two time steps.
fn cells() -> Vec<Part> {
    vec![
        ("time", Float64, vec![], vec![0]),
        ("points", Float64, vec![6, 3], vec![0; 18]),
        ("cell_points", Int64, vec![15], vec![0, 1, 4, 2, 3, 5, 0, 1, 3, 2, 0, 1, 2, 3, 4]),
        ("cell_offsets", Int64, vec![5], vec![0, 3, 6, 10, 15]),
        ("cell_types", Uint8, vec![4], vec![5, 5, 9, 7]),
        ("cell_fields/temperature", Float32, vec![4], vec![0; 4]),
        ("time", Float64, vec![], vec![1]),
        ("cell_fields/temperature", Float32, vec![4, 2], vec![0; 8]),
        ("point_fields/height", Int32, vec![6], vec![0; 6]),
    ]
}

#[test]
fn a_mesh_of_cells_is_valid() {
    let place = Place::new();
    write(&place, "good.scda", ATTRIBUTES, &cells());
    place.scda("check good.scda").good();
    // One step; every shape of which the number of points is fixed; numbers of VTK that the page does not list.
    let shapes = [1, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14, 21, 22, 23, 24, 25, 26, 27, 28, 29, 34, 68];
    let points = [1, 2, 3, 7, 4, 4, 4, 8, 8, 6, 5, 3, 6, 8, 10, 20, 15, 13, 9, 27, 7, 11];
    let mut end = 0;
    let ends = points.iter().map(|n| {
        end += n;
        end
    });
    let offsets: Vec<i64> = [0].into_iter().chain(ends).collect();
    let n = shapes.len() as u64;
    let all = vec![
        ("points", Float32, vec![1, 3], vec![0; 3]),
        ("cell_offsets", Int64, vec![n + 1], offsets),
        ("cell_types", Uint8, vec![n], shapes.to_vec()),
        ("cell_points", Int64, vec![end.unsigned_abs()], vec![0; usize::try_from(end).unwrap()]),
    ];
    write(&place, "good.scda", ATTRIBUTES, &all);
    place.scda("check good.scda").good();
    // Without cells.
    let none = vec![
        ("points", Float64, vec![2, 3], vec![0; 6]),
        ("cell_points", Int64, vec![0], vec![]),
        ("cell_offsets", Int64, vec![1], vec![0]),
        ("cell_types", Uint8, vec![0], vec![]),
        ("point_fields/height", Int32, vec![2], vec![0; 2]),
    ];
    write(&place, "good.scda", ATTRIBUTES, &none);
    place.scda("check good.scda").good();
    // Of a group that is no mesh, or one of a later version, nothing is asked.
    for attributes in ["{}", r#"{"scda_cells": 12}"#] {
        write(&place, "other.scda", attributes, &cells()[..2]);
        place.scda("check other.scda").good();
    }
    for attributes in [r#"{"scda_cells": 0}"#, r#"{"scda_cells": "1"}"#] {
        write(&place, "bad.scda", attributes, &cells());
        invalid(&place, "section 2 (block \"mesh/\"): attribute scda_cells: found");
    }
}

#[test]
fn wrong_numbers_are_found() {
    let place = Place::new();
    for (name, index, number, words) in [
        ("cell_points", 4, 6, "number 4: found 6, expected a point from 0 to below 6"),
        ("cell_points", 14, -1, "number 14: found -1, expected a point"),
        ("cell_offsets", 0, 1, "number 0: found 1, expected 0"),
        ("cell_offsets", 1, 4, "cell 0: found 4 points, expected 3, as cells of type 5 have"),
        ("cell_offsets", 4, 9, "number 4: found 9, expected 10 to 15"),
        ("cell_offsets", 4, 16, "number 4: found 16, expected 10 to 15"),
        ("cell_offsets", 4, 14, "number 4: found 14, expected 15, the end of cell_points"),
        ("cell_types", 2, 12, "cell 2: found 4 points, expected 8, as cells of type 12 have"),
        ("cell_types", 3, 42, "cell 3: found type 42, expected a shape of VTK"),
        ("cell_types", 3, 17, "cell 3: found type 17, expected a shape of VTK"),
        ("cell_types", 3, 255, "cell 3: found type 255, expected a shape of VTK"),
    ] {
        wrong_number(&place, ATTRIBUTES, cells(), (name, index, number), words);
    }
}

#[test]
fn what_is_missing_or_of_another_shape_is_found() {
    let place = Place::new();
    for (index, (name, data_type, shape, numbers)) in cells().into_iter().enumerate() {
        let mut parts = cells();
        parts.remove(index);
        write(&place, "bad.scda", ATTRIBUTES, &parts);
        if ["points", "cell_points", "cell_offsets", "cell_types"].contains(&name) {
            invalid(&place, "as many of each");
        } else if index == 0 {
            invalid(&place, "the field cell_fields/temperature is before the first time");
        } else {
            place.scda("check bad.scda").good(); // another mesh
        }
        for rows in [0, 1 << 30] {
            let mut parts = cells();
            let Some(first) = parts[index].2.first_mut() else { continue };
            *first = rows;
            parts[index].3.clear();
            write(&place, "bad.scda", ATTRIBUTES, &parts);
            invalid(&place, "");
        }
        let mut parts = cells();
        parts[index] = (name, DataType::Complex64, shape, numbers);
        write(&place, "bad.scda", ATTRIBUTES, &parts);
        if name.contains("field") {
            place.scda("check bad.scda").good();
        } else {
            assert_ne!(data_type, DataType::Complex64);
            invalid(&place, "found type complex64");
        }
    }
    // The mesh comes too late for the first step.
    let mut parts = cells();
    parts.insert(0, ("time", Float64, vec![], vec![0]));
    write(&place, "bad.scda", ATTRIBUTES, &parts);
    invalid(&place, "there is no mesh up to the end of step 0");
}

/// Chunks of the fill value alone have no bytes in the file, so that a small file may have any number of cells.
#[test]
fn more_cells_than_the_file_can_mean_are_not_counted() {
    let place = Place::new();
    let check =
        |name: &str| place.shell(&format!("ulimit -t 5; exec scda check {name}")).good().text().to_owned();
    let n = 1_u64 << 33;
    let empty = vec![
        ("points", Float64, vec![1, 3], vec![0; 3]),
        ("cell_points", Int64, vec![0], vec![]),
        ("cell_offsets", Int64, vec![n + 1], vec![]),
        ("cell_types", Uint8, vec![n], vec![]),
    ];
    let polygon = vec![
        ("points", Float64, vec![1, 3], vec![0; 3]),
        ("cell_points", Int64, vec![n], vec![]),
        ("cell_offsets", Int64, vec![2], vec![0, n.cast_signed()]),
        ("cell_types", Uint8, vec![1], vec![7]),
    ];
    for (parts, count, section) in [(empty, n + 1, 8), (polygon, n, 6)] {
        write(&place, "sealed.scda", ATTRIBUTES, &parts);
        place.scda("copy -f --no-seal sealed.scda plain.scda").good();
        for name in ["sealed.scda", "plain.scda"] {
            assert!(place.path(name).metadata().unwrap().len() < 1 << 20);
            let text = check(name);
            let words = format!(
                "{name}: note: section {section}: mesh not checked: found {count} numbers in a section of "
            );
            assert!(text.contains(": valid: ") && text.contains(&words), "{text}");
        }
    }
    // Numbers that are there, well compressed.
    let n = 300_000_u64;
    let vertices = |last| {
        let points = (0..n - 1).map(|at| (at % 8).cast_signed()).chain([last]);
        vec![
            ("points", Float64, vec![8, 3], vec![0; 24]),
            ("cell_points", Int64, vec![n], points.collect()),
            ("cell_offsets", Int64, vec![n + 1], (0..=n).map(u64::cast_signed).collect()),
            ("cell_types", Uint8, vec![n], vec![1; usize::try_from(n).unwrap()]),
        ]
    };
    write(&place, "good.scda", ATTRIBUTES, &vertices(0));
    place.scda("copy -f --encode 6 good.scda bad.scda").good();
    assert!(!place.scda("check bad.scda").good().text().contains("note"));
    write(&place, "good.scda", ATTRIBUTES, &vertices(8));
    place.scda("copy -f --encode 6 good.scda bad.scda").good();
    invalid(&place, "number 299999: found 8, expected a point from 0 to below 8");
}

#[test]
fn attributes_of_many_meshes_need_little_memory() {
    let place = Place::new();
    let text = |mesh: &str| {
        format!(
            r#"{{"zarr_format":3,"node_type":"group","attributes":{{{mesh}"x":[0{}]}}}}"#,
            ",0".repeat(2_000_000)
        )
    };
    let group = |name: &str, mesh: &str| {
        let (first, text) = ("Below: attributes of this group\n", text(mesh));
        format!(
            r#"{{"type": "I", "user": "scda group 00", "data_text": {}}}, {{"type": "B", "user": "{name}/", "data_text": {}}}"#,
            serde_json::json!(first),
            serde_json::json!(text)
        )
    };
    let all: Vec<_> = ["a", "b", "c", "d"].map(|name| group(name, r#""scda_cells":2,"#)).into();
    place.make("a.scda", format!(r#"{{"sections": [{}]}}"#, all.join(",")));
    place.shell("ulimit -v 180000; exec scda check a.scda --threads 1").good();
    let long = group("mesh", &format!(r#""scda_cells":["{}"],"#, "\u{e4}".repeat(1000)));
    place.make("bad.scda", format!(r#"{{"sections": [{long}]}}"#));
    invalid(&place, &format!("attribute scda_cells: found [\"{}..., expected 1", "\u{e4}".repeat(58)));
}
