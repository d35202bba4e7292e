//! What the command does with datasets.

use crate::run::Place;
use scda::{Codec, DataType, Dataset, IndexBox, Layout, Solo, WriteOptions, Writer};

/// The bytes of numbers in memory.
macro_rules! bytes {
    ($numbers:expr) => {
        $numbers.into_iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<u8>>()
    };
}

mod checked;
mod copied;
mod described;
mod edited;
mod extended;
mod shown;
mod texts;

fn density() -> Vec<f64> {
    (0..30).map(|n| f64::from(n) / 4.0).collect()
}

fn all(writer: &mut Writer, dataset: &Dataset, data: &[u8]) {
    writer.dataset(dataset, &[IndexBox::all(&dataset.shape)], data).unwrap();
}

/// Datasets of many kinds and other sections, in a file that is sealed or not. Their numbers:
/// 2 `/`, 3 "note", 5 `flow/`, 7 density, 9 velocity, 11 step, 13 mask, 15 and 17 rho, 19 wave, 21 raw, 23 text.
fn with_datasets(place: &Place, name: &str, seal: bool) {
    let mut params = WriteOptions::default();
    params.seal = seal;
    let mut file = Writer::create(Solo, place.path(name), b"a run", &params).unwrap();
    file.group("/", r#"{"title": "test", "time": 1.50}"#).unwrap();
    file.block(b"note", 0, 5, Some(b"hello"), scda::Encode::None).unwrap();
    file.group("flow", r#"{"scheme": "hydro"}"#).unwrap();
    let mut dataset = Dataset::new("flow/density", DataType::Float64, [6, 5]);
    dataset.layout = Layout::Chunked { shape: Some(vec![4, 2]), text: false };
    dataset.codec = Codec::Zlib;
    dataset.attributes = r#"{"units": "kg m-3"}"#.into();
    all(&mut file, &dataset, &bytes!(density()));
    let dataset = Dataset::new("flow/velocity", DataType::Float32, [2, 3]);
    all(&mut file, &dataset, &bytes!([0.0_f32, 0.5, -1.5, 1e30, f32::NAN, f32::INFINITY]));
    all(&mut file, &Dataset::new("step", DataType::Int32, []), &(-42_i32).to_ne_bytes());
    all(&mut file, &Dataset::new("mask", DataType::Bool, [4]), &[1, 0, 0, 1]);
    for record in [0, 1] {
        all(&mut file, &Dataset::new("rho", DataType::Int16, [3]), &bytes!([record, -1_i16, 300]));
    }
    all(&mut file, &Dataset::new("wave", DataType::Complex64, [2]), &bytes!([1.0_f32, -2.0, 0.25, 3.0]));
    all(&mut file, &Dataset::new("raw", DataType::Raw(3), [1, 2]), &[0, 1, 2, 0xfd, 0xfe, 0xff]);
    let mut dataset = Dataset::new("text", DataType::Uint16, [2, 4]);
    dataset.layout = Layout::Chunked { shape: Some(vec![1, 4]), text: true };
    all(&mut file, &dataset, &bytes!(0..8_u16));
    file.close().unwrap();
}

/// A file with one dataset.
fn with_one(place: &Place, name: &str, dataset: &Dataset, data: &[u8]) {
    let mut file = Writer::create(Solo, place.path(name), b"", &WriteOptions::default()).unwrap();
    all(&mut file, dataset, data);
    file.close().unwrap();
}

/// The objects of the sections and datasets of a file.
fn objects(place: &Place, name: &str) -> Vec<serde_json::Value> {
    place.scda(&format!("ls --json {name}")).good().json()["sections"].as_array().unwrap().clone()
}

fn named(place: &Place, file: &str, name: &str) -> serde_json::Value {
    objects(place, file).into_iter().find(|object| object["user"] == name).unwrap()
}
