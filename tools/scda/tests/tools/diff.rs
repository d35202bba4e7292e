//! `scda diff` pairs what two files hold by name and record.

use crate::run::Place;
use scda::{Communicator, LineBreak, WriteOptions, Writer, run_on_threads};

/// Makes a file of these sections.
fn make(place: &Place, name: &str, sections: &[&str]) {
    let text = format!("{{\"user\": \"u\", \"sections\": [{}]}}", sections.join(", "));
    place.make(name, &text);
}

fn dataset(name: &str, values: &str) -> String {
    let count = values.split(',').count();
    format!(
        r#"{{"type": "D", "user": "{name}", "data_type": "int32", "shape": [{count}], "values": [{values}]}}"#
    )
}

const STEP: &str = r#"{"type": "I", "user": "step", "data_text": "step 42                         "}"#;
const BLOCK: &str = r#"{"type": "B", "user": "b", "data_text": "block"}"#;
const GROUP: &str = r#"{"type": "G", "user": "g", "attributes": {"x": 1, "y": 2}}"#;

#[test]
fn of_groups_the_attributes_set_last_are_compared() {
    let place = Place::new();
    let (other, y) = (GROUP.replace("\"y\": 2", "\"y\": 3"), dataset("y", "7"));
    make(&place, "a.scda", &[&other, &y]);
    // Set again, and then once more to what they were.
    make(&place, "b.scda", &[&y, GROUP, &other]);
    place.scda("diff a.scda b.scda").good();
    place.scda("diff a.scda a.scda").good();
    let one_more = r#"{"type": "G", "user": "/", "attributes": {"title": "t"}}"#;
    make(&place, "c.scda", &[GROUP, &y, &other, GROUP, one_more, one_more]);
    let run = place.scda("diff b.scda c.scda").bad(1, "");
    let expected = "section 6 | 8 (group \"g/\"): attribute y: 3 | 2\n\
                    only in c.scda: section 12: attributes of the group \"/\"\n";
    assert_eq!(run.text(), expected);
    place.scda("diff --quiet b.scda c.scda").bad(1, "");
}

#[test]
fn things_are_paired_by_name_and_record() {
    let place = Place::new();
    let (one, two, three, y) =
        (dataset("x", "1,2"), dataset("x", "3,4"), dataset("x", "5,6"), dataset("y", "7"));
    make(&place, "a.scda", &[STEP, &one, BLOCK, &two, GROUP, &y]);
    // One more in front: what follows it is the same still.
    let more = dataset("new", "0");
    make(&place, "b.scda", &[&more, STEP, &one, BLOCK, &two, GROUP, &y]);
    let only = |file: &str, what: &str| format!("only in {file}: section {what}\n");
    let new = "2: dataset int32 1, \"new\"";
    assert_eq!(place.scda("diff a.scda b.scda").bad(1, "").text(), only("b.scda", new));
    assert_eq!(place.scda("diff b.scda a.scda").bad(1, "").text(), only("b.scda", new));
    // A record more, a value of another one, a group's attribute, a block that is an array, and a dataset less.
    let array = r#"{"type": "A", "user": "b", "N": 5, "E": 1, "data_text": "block"}"#;
    let group = GROUP.replace("\"y\": 2", "\"z\": 2");
    let other = dataset("x", "3,9");
    make(&place, "b.scda", &[array, &one, &other, &three, &group, STEP]);
    let run = place.scda("diff a.scda b.scda").bad(1, "");
    let expected = [
        "section 6 | 5 (dataset \"x\", record 1): 1 of 2 items differs; first [1]: 4 | 9; \
         largest absolute deviation 5 at [1]: 4 | 9; largest relative deviation 5.556e-1 at [1]: 4 | 9",
        "section 4 | 1: block of 5 bytes, \"b\" | array of 5 elements of 1 bytes, \"b\"",
        "section 8 | 9 (group \"g/\"): attribute y: 2 | none",
        "section 8 | 9 (group \"g/\"): attribute z: none | 2",
        "only in a.scda: section 10: dataset int32 1, \"y\"",
        "only in b.scda: section 7: dataset int32 2, \"x\", record 2",
    ];
    let mut found: Vec<_> = run.text().lines().collect();
    let mut sorted = expected;
    found.sort_unstable();
    sorted.sort_unstable();
    assert_eq!(found, sorted);
    // What only one has follows what differs.
    assert!(run.text().lines().rev().zip(expected.iter().rev()).take(2).all(|(a, b)| a == *b));
    assert_eq!(place.scda("diff -q a.scda b.scda").bad(1, "").text(), "");
}

#[test]
fn another_order_is_no_difference() {
    let place = Place::new();
    let (x, y, more) = (dataset("x", "1"), dataset("y", "2"), dataset("more", "3"));
    make(&place, "a.scda", &[&x, BLOCK, &y]);
    make(&place, "b.scda", &[BLOCK, &x, &y]);
    assert_eq!(place.scda("diff a.scda b.scda").good().text(), "");
    assert_eq!(place.scda("diff -q a.scda b.scda").good().text(), "");
    // The shorter file has ended when its first dataset is compared: nothing of it comes twice.
    make(&place, "a.scda", &[&x, &y, &more]);
    make(&place, "b.scda", &[&more, &y]);
    let run = place.scda("diff a.scda b.scda").bad(1, "");
    assert!(run.text().starts_with("only in a.scda: section 2: "), "{run:?}");
    assert_eq!(run.text().matches("only in").count(), 1, "{run:?}");
}

/// A set of two tasks, in two parts if it is sealed.
fn with_streams(
    place: &Place,
    name: &str,
    chunk_bytes: u64,
    seal: bool,
    texts: [&str; 2],
    seconds: [&str; 2],
) {
    let path = place.path(name);
    let wrote = run_on_threads(2, |comm| {
        let rank = comm.rank();
        let mut params = WriteOptions::default();
        (params.seal, params.line_break) = (seal, LineBreak::Unix);
        let mut file = Writer::create(comm, &path, b"u", &params)?;
        for [text, end] in [[texts[rank], " end"], [seconds[rank], ""]] {
            file.begin_streams(b"log", chunk_bytes)?;
            file.write_stream(text.as_bytes())?;
            if seal {
                file.commit()?;
            }
            file.write_stream(end.as_bytes())?;
            file.end_streams()?;
        }
        file.close()
    });
    wrote.into_iter().for_each(|result| result.unwrap());
}

#[test]
fn streams_are_compared_by_task() {
    let place = Place::new();
    let same = ["second", "second"];
    with_streams(&place, "a.scda", 4096, false, ["the stream of 0", "of 1"], same);
    // Chunks and parts are no difference.
    with_streams(&place, "b.scda", 64, true, ["the stream of 0", "of 1"], same);
    assert_eq!(place.scda("diff a.scda b.scda").good().text(), "");
    assert!(place.read("a.scda") != place.read("b.scda"));
    with_streams(&place, "b.scda", 64, true, ["the stream of 0", "of 2"], ["second", "second one"]);
    let run = place.scda("diff a.scda b.scda").bad(1, "");
    let lines: Vec<_> = run.text().lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(
        lines[0].ends_with("(streams \"log\"): 1 of 2 streams differ; first stream 1: byte 3: 0x31 | 0x32")
    );
    assert!(
        lines[1].ends_with(
            "(streams \"log\", record 1): 1 of 2 streams differ; first stream 1: 6 bytes | 10 bytes"
        )
    );
    // Without the second set; damage in what only one file has is trouble.
    place.scda("copy a.scda one.scda --select 1-3").good();
    let run = place.scda("diff a.scda one.scda").bad(1, "");
    assert_eq!(run.text(), "only in a.scda: section 5: 2 streams, \"log\", record 1\n");
    place.scda("diff -q one.scda a.scda").bad(1, "");
    // A part whose first one is missing is compared as its sections.
    place.scda("copy b.scda part.scda --select 4-6").good();
    place.scda("diff part.scda part.scda").good();
    with_streams(&place, "c.scda", 64, true, ["the stream of 0", "of 2"], ["second", "second one"]);
    place.scda("copy c.scda other.scda --select 4-6").good();
    place.scda("diff part.scda other.scda").good();
    let mut bytes = place.read("other.scda");
    let at = bytes.windows(4).position(|part| part == b" end").unwrap();
    bytes[at + 1] = b'E';
    place.write("other.scda", bytes);
    let run = place.scda("diff part.scda other.scda").bad(1, "");
    assert!(run.text().starts_with("section 2 (array \"log\"): element "), "{}", run.text());
}

#[test]
fn damage_of_what_only_one_file_has_is_trouble() {
    let place = Place::new();
    let block =
        |name: &str| format!(r#"{{"type": "B", "user": "{name}", "encoded": true, "data_text": "block"}}"#);
    make(&place, "a.scda", &[&block("b")]);
    make(&place, "b.scda", &[&block("c"), &block("b")]);
    place.scda("diff a.scda b.scda").bad(1, "");
    let mut bytes = place.read("b.scda");
    let at =
        bytes.windows(3).position(|part| part == b"eJ").or(bytes.windows(2).position(|part| part == b"AA"));
    let at = at.unwrap();
    bytes[at + 8] = b'?';
    place.write("b.scda", bytes);
    place.scda("diff a.scda b.scda").bad(2, "scda: b.scda: byte ");
    place.scda("diff b.scda a.scda").bad(2, "scda: b.scda: byte ");
    // With --quiet, the answer is known without.
    place.scda("diff -q b.scda a.scda").bad(1, "");
}
