//! `scda copy --steps` (docs/forest.md, docs/cells.md): a step has what it had, and the mesh that it needs.

use crate::forests::{ATTRIBUTES, CHECKSUMS, forest, mesh};
use crate::meshes::{Part, bytes, write};
use crate::run::Place;
use DataType::{Float32, Float64, Int32, Int64, Uint8};
use scda::{DataType, Dataset, IndexBox, Solo, WriteOptions, Writer};

/// Appends datasets, each with the checksum of its mesh, if it has one.
fn append(place: &Place, name: &str, parts: Vec<Part>, checksum: &str) {
    let mut file = Writer::append(Solo, &place.path(name), &WriteOptions::default()).unwrap();
    for (name, data_type, shape, numbers) in parts {
        let mut dataset = Dataset::new(format!("mesh/{name}"), data_type, shape.clone());
        if name == "coordinates" || name.starts_with("fields/") {
            dataset.attributes = format!("{{\"scda_mesh\": \"{checksum}\"}}");
        }
        file.dataset(&dataset, &[IndexBox::all(&shape)], &bytes(data_type, &numbers)).unwrap();
    }
    file.close().unwrap();
}

/// Steps 0 and 1 on the first mesh, 2 to 4 on the second one, which is written in step 2; also in another group, and records elsewhere.
fn series(place: &Place) {
    write(place, "all.scda", ATTRIBUTES, &forest());
    for step in 2..5 {
        let time = vec![("time", Float64, vec![], vec![step])];
        let field = vec![("fields/u", Float32, vec![5], vec![step; 5])];
        let mesh = if step == 2 { mesh(1).to_vec() } else { Vec::new() };
        append(place, "all.scda", [time, mesh, field].concat(), CHECKSUMS[1]);
    }
}

#[test]
fn steps_are_copied_with_the_mesh_that_they_need() {
    let place = Place::new();
    series(&place);
    for seal in ["", "--seal"] {
        place.scda(&format!("copy -f {seal} all.scda a.scda")).good();
        let cat = |arguments: &str| place.scda(&format!("cat b.scda {arguments}")).good().text().to_owned();
        let levels = ["1\n1\n1\n1\n0\n", "0\n1\n1\n1\n1\n"];
        // The steps that are copied, and the mesh of each.
        for (steps, times, meshes) in [
            ("-1:", vec![4], vec![1]),
            ("-2:", vec![3, 4], vec![1]),
            ("-9:", vec![0, 1, 2, 3, 4], vec![0, 1]),
            ("1", vec![1], vec![0]),
            ("-5", vec![0], vec![0]),
            ("1:3", vec![1, 2], vec![0, 1]),
            // After the first step, whose mesh is another one.
            ("::3", vec![0, 3], vec![0, 1]),
            ("::2", vec![0, 2, 4], vec![0, 1]),
        ] {
            place.scda(&format!("copy -f a.scda b.scda --steps {steps}")).good();
            place.scda("check b.scda").good();
            let raw = |name: &str| {
                place.scda(&format!("cat b.scda mesh/{name} --record : --as bytes")).good().out.clone()
            };
            assert_eq!(raw("time"), bytes(Float64, &times), "{steps}");
            let expected: Vec<&str> = meshes.iter().map(|&mesh: &usize| levels[mesh]).collect();
            assert_eq!(cat("mesh/level --record :"), expected.join("\n"), "{steps}");
            assert_eq!(cat("mesh/vertices").lines().count(), 6, "{steps}");
            let of_u: Vec<_> = times.iter().filter(|&&time| time > 1).flat_map(|&time| [time; 5]).collect();
            if !of_u.is_empty() {
                assert_eq!(raw("fields/u"), bytes(Float32, &of_u), "{steps}");
            }
        }
        place.scda("copy -f a.scda b.scda --steps :").good();
        place.scda("diff a.scda b.scda").good();
        place.scda("copy -f a.scda b.scda --steps 0").good();
        // What belongs to other steps is not there.
        place.scda("cat b.scda mesh/fields/u").bad(2, "no such section");
        place.scda("cat b.scda mesh/fields/c").bad(2, "no such section");
        place.scda("copy -f a.scda b.scda --steps 5").bad(2, "--steps 5: the group mesh has 5 time steps");
        place.scda("copy -f a.scda b.scda --steps 7:").bad(2, "--steps 7:: the group mesh has 5 time steps");
    }
}

#[test]
fn records_are_copied_as_steps() {
    let place = Place::new();
    let dataset = |name: &str, value: usize| {
        format!(r#"{{"type":"D","user":"{name}","data_type":"int32","shape":[],"values":[{value}]}}"#)
    };
    let mut sections = vec![dataset("constant", 7), r#"{"type":"B","user":"log","data_text":"a"}"#.into()];
    for record in 0..4 {
        sections.extend([dataset("u", record), r#"{"type":"B","user":"log","data_text":"b"}"#.into()]);
        if record % 2 == 0 {
            sections.push(dataset("seldom", record));
        }
    }
    let text = format!(r#"{{"sections":[{}]}}"#, sections.join(","));
    place.with_input("make - a.scda", text.as_bytes()).good();
    place.scda("copy a.scda b.scda --steps -3:").good();
    let cat = |arguments: &str| place.scda(&format!("cat b.scda {arguments}")).good().text().to_owned();
    assert_eq!(cat("u --record :"), "1\n2\n3\n");
    // Only the records that are there.
    assert_eq!(cat("seldom --record :"), "0\n2\n");
    assert_eq!(cat("constant"), "7\n");
    assert_eq!(cat("log --record :"), "abbbb");
    place.scda("copy -f a.scda b.scda --steps 3").bad(2, "--steps 3: there are 2 records of seldom");
    place.scda("copy -f b.scda c.scda --steps 0 --select constant").good();
    place.with_input("make - c.scda -f", br#"{"sections":[]}"#).good();
    place.scda("copy c.scda d.scda --steps 0").bad(2, "the file has no time steps");
}

#[test]
fn cells_have_steps() {
    let place = Place::new();
    let cells = |height: i64| -> Vec<Part> {
        vec![
            ("points", Float64, vec![3, 3], vec![0, 0, 0, 1, 0, 0, 0, 1, height]),
            ("cell_points", DataType::Int64, vec![3], vec![0, 1, 2]),
            ("cell_offsets", DataType::Int64, vec![2], vec![0, 3]),
            ("cell_types", DataType::Uint8, vec![1], vec![5]),
        ]
    };
    let mut parts = Vec::new();
    for step in 0..4 {
        parts.push(("time", Float64, vec![], vec![step]));
        parts.extend(if step % 2 == 0 { cells(step) } else { Vec::new() });
        parts.push(("cell_fields/t", Float64, vec![1], vec![step]));
    }
    write(&place, "a.scda", r#"{"scda_cells": 1}"#, &parts);
    for (steps, heights) in [("-1:", &[2][..]), ("1::2", &[0, 2]), (":2", &[0])] {
        place.scda(&format!("copy -f a.scda b.scda --steps {steps}")).good();
        place.scda("check b.scda").good();
        let found = place.scda("cat b.scda mesh/points --record : --box 2,2 --as bytes").good().out.clone();
        assert_eq!(found, bytes(Float64, heights), "{steps}");
    }
}

#[test]
fn patches_have_steps() {
    let place = Place::new();
    let patches = |cells: i64| -> Vec<Part> {
        vec![
            ("boxes", Int64, vec![1, 2, 1], vec![0, cells]),
            ("level", Int32, vec![1], vec![0]),
            ("ratio", Int32, vec![1, 1], vec![1]),
            ("domain", Int64, vec![2, 1], vec![0, 9]),
            ("geometry", Float64, vec![2, 1], vec![0, 1]),
        ]
    };
    let mut parts = Vec::new();
    for step in 0..4_u32 {
        parts.push(("time", Float64, vec![], vec![i64::from(step)]));
        parts.extend(if step % 2 == 0 { patches(1 + i64::from(step)) } else { Vec::new() });
        let cells = 1 + u64::from(step / 2 * 2);
        parts.push(("fields/t", Uint8, vec![cells], vec![1; usize::try_from(cells).unwrap()]));
    }
    write(&place, "a.scda", r#"{"scda_patches": 1, "dimension": 1}"#, &parts);
    place.scda("check a.scda").good();
    for (steps, cells) in [("-1:", "3\n"), ("1::2", "1\n\n3\n"), (":2", "1\n")] {
        place.scda(&format!("copy -f a.scda b.scda --steps {steps}")).good();
        place.scda("check b.scda").good();
        assert_eq!(place.scda("cat b.scda mesh/boxes --record : --box 0,1,:").good().text(), cells);
    }
}
