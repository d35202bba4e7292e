//! `scda doctor`; in an MPI job it is run by ffi-tests.

use crate::run::Place;

#[test]
fn a_good_folder_is_praised_and_left_as_it_was() {
    let place = Place::new();
    let found = place.scda("doctor .").good();
    assert!(found.text().starts_with("folder       /"), "{}", found.text());
    assert!(found.text().contains("\nPOSIX        ok: "), "{}", found.text());
    assert!(found.text().contains("a write that the system refuses is an error"), "{}", found.text());
    assert!(found.text().contains("B/s in one file, "), "{}", found.text());
    assert!(found.text().contains("\nto report    scda "), "{}", found.text());
    assert!(place.names().is_empty());
    // Nothing that is there is touched, and a name cannot lead it elsewhere.
    place.write("trial.scda", "mine");
    place.scda("doctor .").good();
    assert_eq!((place.names(), place.read("trial.scda")), (vec!["trial.scda".to_owned()], b"mine".to_vec()));
    std::fs::remove_file(place.path("trial.scda")).unwrap();

    let found = place.scda("doctor --json .").good().json();
    assert_eq!(found["ok"], true);
    assert!(found["found"].as_array().unwrap().len() > 4);
}

#[test]
fn stripes_are_said() {
    let place = Place::new();
    let said = |environment: &str, text: &str| {
        let found = place.shell(&format!("{environment} scda doctor .")).good();
        assert!(found.text().contains(&format!("\nstripes      {text}")), "{}", found.text());
    };
    said("SCDA_STRIPE_BYTES=30000", "30000 bytes, by SCDA_STRIPE_BYTES\n");
    said("SCDA_WRITERS_PER_NODE=2", "");
    let found = place.shell("SCDA_STRIPE_BYTES=many scda doctor .");
    let text = found.text();
    assert_eq!(found.code, 1, "{text}");
    assert!(
        text.contains("SCDA_STRIPE_BYTES: found \"many\", expected a number from 0 to 4294967296"),
        "{text}"
    );
    let found = place.shell("SCDA_WRITERS_PER_NODE=1025 scda doctor .");
    assert!(found.text().contains("SCDA_WRITERS_PER_NODE: found \"1025\""), "{}", found.text());
}

#[test]
fn what_keeps_it_from_looking_is_said() {
    let place = Place::new();
    place.scda("doctor missing").bad(2, "missing: No such file");
    place.write("file", "");
    place.scda("doctor file").bad(2, "file: Not a directory");
    // Where nothing can be written, not even by root.
    let found = place.scda("doctor /proc");
    assert_eq!(found.code, 1, "{}", found.text());
    assert!(found.text().contains("\nPOSIX        FAILED: cannot create a folder there"), "{}", found.text());
    place.scda("doctor --mpi missing.so .").bad(2, "missing.so: cannot be loaded as a library");
    place.scda("doctor --mpi libm.so.6 .").bad(2, "found no MPI in the program");
}
