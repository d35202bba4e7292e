//! How often the command opens a file: on a network file system, each time takes a request.

use crate::forests::{ATTRIBUTES, forest};
use crate::meshes::write;
use crate::run::Place;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use std::mem::MaybeUninit;

/// How often `scda` opens a file, as the kernel tells. It joins events of one kind that follow one another, but a file that was opened is
/// read.
fn opens(place: &Place, arguments: &str, file: &str) -> usize {
    let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&events, place.path(file), WatchFlags::OPEN | WatchFlags::ACCESS).unwrap();
    place.scda(&format!("{arguments} {file}"));
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let (mut reader, mut count) = (Reader::new(&events, &mut buffer), 0);
    while let Ok(event) = reader.next() {
        count += usize::from(event.events().contains(ReadFlags::OPEN));
    }
    count
}

#[test]
fn check_opens_a_file_once() {
    let place = Place::new();
    write(&place, "good.scda", ATTRIBUTES, &forest());
    place.scda("copy --seal good.scda sealed.scda").good();
    let mut bad = place.read("sealed.scda");
    bad[1000] ^= 1;
    place.write("bad.scda", &bad);
    place.write("cut.scda", &place.read("good.scda")[..1000]);
    for file in ["good.scda", "sealed.scda", "bad.scda", "cut.scda"] {
        for check in ["check", "check --strict", "check --unsealed"] {
            assert_eq!(opens(&place, check, file), 1, "{check} {file}");
        }
    }
    // What is counted.
    assert!(opens(&place, "diff good.scda", "good.scda") > 1);
}
