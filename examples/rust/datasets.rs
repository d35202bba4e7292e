//! Lists the datasets of a file; then reads those that are named, in any order, as numbers, and prints their sums.
//!
//!     cargo run --no-default-features --example datasets -- state.scda flow/p time flow/rho

use scda::{Content, DataMut, DataType, Error, IndexBox, MemoryMut, ReadOptions, Reader, Solo};
use std::io::{self, Write};
use std::path::Path;

/// A dataset with wrong metadata, or of a type that this library does not have, is an entry as well.
fn list(file: &mut Reader, out: &mut impl Write) -> Result<(), Box<dyn std::error::Error>> {
    for entry in file.entries() {
        let entry = entry?;
        let name = String::from_utf8_lossy(entry.name());
        match &entry.content {
            Content::Dataset(dataset) => {
                let (record, records, data_type) = (entry.record, entry.records, dataset.data_type);
                writeln!(out, "{name}, record {record} of {records}: {data_type} {:?}", dataset.shape)?;
            }
            Content::Unknown(error) => writeln!(out, "{name}: cannot be read: {error}")?,
            _ => {}
        }
    }
    Ok(())
}

/// All of a dataset as `f64`: other numbers are converted.
fn numbers(file: &mut Reader, name: &str) -> scda::Result<Vec<f64>> {
    let dataset = file.dataset(name)?; // the last one of this name
    let dataset = dataset.ok_or_else(|| Error::argument(format!("{name}: no such dataset")))?;
    let items =
        usize::try_from(dataset.shape.iter().product::<u64>()).expect("a dataset that fits into memory");
    let mut bytes = vec![0; 8 * items];
    let room = MemoryMut::packed(&mut bytes).of_type(DataType::Float64);
    dataset.read(file, &[IndexBox::all(&dataset.shape)], DataMut::Boxes(vec![room]))?;
    Ok(bytes.chunks_exact(8).map(|bytes| f64::from_ne_bytes(bytes.try_into().expect("8 bytes"))).collect())
}

pub(crate) fn run(
    path: &Path,
    names: &[&str],
    out: &mut impl Write,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut file = Reader::open(Solo, path, &ReadOptions::default())?;
    list(&mut file, out)?;
    for name in names {
        writeln!(out, "{name}: sum {:.1}", numbers(&mut file, name)?.iter().sum::<f64>())?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let names: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    run(Path::new(arguments.first().ok_or("usage: datasets FILE [NAME ...]")?), &names, &mut io::stdout())
}
