//! `scda check` with meshes of patches (docs/patches.md).

use crate::meshes::{Part, invalid, write, write_groups, wrong_number};
use crate::run::Place;
use DataType::{Float32, Float64, Int32, Int64};
use scda::DataType;

const ATTRIBUTES: &str = r#"{"scda_patches": 1, "dimension": 2}"#;

/// A domain of 4 x 2 cells in two patches, and two finer patches of 2 x 2 and 2 x 4 cells in the first of them.
fn patches() -> Vec<Part> {
    vec![
        ("time", Float64, vec![], vec![0]),
        ("boxes", Int64, vec![4, 2, 2], vec![-2, 0, 2, 2, 0, 0, 2, 2, -4, 0, 2, 2, -2, 0, 2, 4]),
        ("level", Int32, vec![4], vec![0, 0, 1, 1]),
        ("ratio", Int32, vec![2, 2], vec![1, 1, 2, 2]),
        ("domain", Int64, vec![2, 2], vec![-2, 0, 4, 2]),
        ("geometry", Float64, vec![2, 2], vec![0, 0, 1, 1]),
        ("fields/rho", Float64, vec![20], vec![0; 20]),
        ("time", Float64, vec![], vec![1]),
        ("fields/rho", Float32, vec![20, 3], vec![0; 60]),
    ]
}

#[test]
fn a_mesh_of_patches_is_valid() {
    let place = Place::new();
    write(&place, "good.scda", ATTRIBUTES, &patches());
    place.scda("check good.scda").good();
    // Of a group that is no mesh, or one of a later version, nothing is asked.
    for attributes in ["{}", r#"{"scda_patches": 2}"#] {
        write(&place, "other.scda", attributes, &patches()[..3]);
        place.scda("check other.scda").good();
    }
    for attributes in [r#"{"scda_patches": 1}"#, r#"{"scda_patches": 1, "dimension": 4}"#] {
        write(&place, "bad.scda", attributes, &patches());
        invalid(&place, "attribute dimension: found");
    }
}

/// VTK opens only one mesh of a file; programs for HDF5 see both.
#[test]
fn what_paraview_does_not_show_is_said() {
    let place = Place::new();
    let names = ["blocks", "more"]
        .map(|group| patches().into_iter().map(move |part| (format!("{group}/{}", part.0), part)));
    let names: Vec<_> = names.into_iter().flatten().collect();
    let parts = names
        .iter()
        .map(|(name, (_, data_type, shape, numbers))| (&**name, *data_type, shape.clone(), numbers.clone()));
    write_groups(
        &place,
        "two.scda",
        &[("blocks", ATTRIBUTES), ("more", ATTRIBUTES)],
        &parts.collect::<Vec<_>>(),
    );
    let run = place.scda("ls two.scda").good();
    assert!(
        run.text().contains("not shown by ParaView: more: VTK opens only one mesh of a file\n"),
        "{run:?}"
    );
}

#[test]
fn wrong_patches_are_found() {
    let place = Place::new();
    for (name, index, number, words) in [
        ("boxes", 0, -3, "patch 0: found 2 cells from -3 on axis 0, expected cells inside the domain"),
        ("boxes", 7, 3, "patch 1: found 3 cells from 0 on axis 1, expected cells inside the domain"),
        ("boxes", 2, 0, "patch 0: found 0 cells from -2 on axis 0"),
        ("boxes", 15, i64::MAX, "patch 3: found 9223372036854775807 cells"),
        ("boxes", 2, 3, "found patches 0 and 1 of level 0 with cells in common"),
        ("boxes", 12, -3, "found patches 2 and 3 of level 1 with cells in common"),
        ("level", 3, 2, "patch 3: found level 2, expected 1 to 1"),
        ("level", 3, 0, "patch 3: found level 0, expected 1 to 1"),
        ("level", 0, -1, "patch 0: found level -1, expected 0 to 1"),
        ("ratio", 0, 2, "level 0: found 2, expected a positive number, and 1 for level 0"),
        ("ratio", 3, 0, "level 1: found 0, expected a positive number"),
        ("domain", 2, 0, "axis 0: found 0 cells, expected at least 1"),
        ("domain", 2, i64::MIN, "axis 0: found -9223372036854775808 cells"),
    ] {
        wrong_number(&place, ATTRIBUTES, patches(), (name, index, number), words);
    }
}

#[test]
fn what_is_missing_or_of_another_shape_is_found() {
    let place = Place::new();
    let with = |change: &dyn Fn(&mut Vec<Part>), words| {
        let mut parts = patches();
        change(&mut parts);
        for (_, _, shape, numbers) in &mut parts {
            numbers.truncate(usize::try_from(shape.iter().product::<u64>()).unwrap());
        }
        write(&place, "bad.scda", ATTRIBUTES, &parts);
        invalid(&place, words);
    };
    with(&|parts| drop(parts.remove(3)), "found 1 boxes, 1 level, 0 ratio, 1 domain, 1 geometry");
    with(&|parts| parts[6].2 = vec![19], "found 19 rows, expected 20, one for each cell");
    with(&|parts| parts[5].1 = Float32, "found type float32 and shape 2x2, expected float64 and 2x2");
    with(&|parts| parts[2].2 = vec![3], "found type int32 and shape 3, expected int32 and 4");
}
