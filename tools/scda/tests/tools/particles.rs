//! `scda check` with particles (docs/particles.md).

use crate::meshes::{Part, invalid, write, write_groups, wrong_number};
use crate::run::Place;
use DataType::{Float64, Int64, Uint8};
use scda::DataType;

const ATTRIBUTES: &str = r#"{"scda_particles": 1}"#;

/// Two steps: 5 particles in 3 cells, of which one is empty; then 2.
fn particles() -> Vec<Part> {
    vec![
        ("time", Float64, vec![], vec![0]),
        ("offsets", Int64, vec![4], vec![0, 2, 2, 5]),
        ("fields/position", Float64, vec![5, 3], vec![0; 15]),
        ("time", Float64, vec![], vec![1]),
        ("offsets", Int64, vec![4], vec![0, 0, 1, 2]),
        ("fields/position", Float64, vec![2, 3], vec![1; 6]),
    ]
}

#[test]
fn particles_are_valid() {
    let place = Place::new();
    write(&place, "good.scda", ATTRIBUTES, &particles());
    place.scda("check good.scda").good();
    write(&place, "other.scda", r#"{"scda_particles": 2}"#, &particles()[2..3]);
    place.scda("check other.scda").good();
}

/// Particles without times have the steps of their mesh, of which the first has none and the third no new ones.
#[test]
fn particles_share_the_steps_of_their_mesh() {
    let place = Place::new();
    let mesh = |time| {
        [("mesh/time", Float64, vec![], vec![time]), ("mesh/fields/rho", Float64, vec![3], vec![time; 3])]
    };
    let atoms = |offsets: [i64; 4]| {
        let n = offsets[3];
        [
            ("atoms/offsets", Int64, vec![4], offsets.to_vec()),
            (
                "atoms/fields/position",
                Float64,
                vec![n.unsigned_abs(), 3],
                vec![n; 3 * usize::try_from(n).unwrap()],
            ),
        ]
    };
    let (first, last) = (atoms([0, 2, 2, 5]), atoms([0, 0, 1, 2]));
    let all = [&mesh(0)[..], &mesh(1), &first, &mesh(2), &mesh(3), &last].concat();
    let path = "shared.scda";
    write_groups(
        &place,
        path,
        &[("mesh", r#"{"scda_cells": 2}"#), ("atoms", r#"{"scda_particles": 1, "mesh": "mesh"}"#)],
        &all,
    );
    place.scda("check shared.scda").good();
    let wrong = [&mesh(0)[..], &first[1..]].concat();
    write_groups(
        &place,
        "bad.scda",
        &[("mesh", r#"{"scda_cells": 2}"#), ("atoms", r#"{"scda_particles": 1, "mesh": "mesh"}"#)],
        &wrong,
    );
    invalid(&place, "found 5 rows, expected 0, one for each particle");
}

#[test]
fn wrong_particles_are_found() {
    let place = Place::new();
    for (index, number, words) in [
        (0, 1, "cell 0: found particles 1 to 2, expected an end not before the beginning, and 0 as begin"),
        (2, 1, "cell 1: found particles 2 to 1, expected an end not before the beginning"),
        (1, -1, "cell 0: found particles 0 to -1, expected an end"),
        (3, i64::MAX, "found 5 rows, expected 9223372036854775807, one for each particle"),
        (3, 4, "found 5 rows, expected 4, one for each particle"),
    ] {
        wrong_number(&place, ATTRIBUTES, particles()[..3].to_vec(), ("offsets", index, number), words);
    }
    let with = |parts: &[Part], words| {
        write(&place, "bad.scda", ATTRIBUTES, parts);
        invalid(&place, words);
    };
    with(&[particles()[0].clone(), particles()[2].clone()], "there are no offsets up to the end of step 0");
    with(&[("offsets", Int64, vec![1], vec![0])], "found 1 numbers, expected at least 2");
    with(&[("offsets", Uint8, vec![2], vec![0, 1])], "found type uint8 and shape 2, expected int64 and any");
}
