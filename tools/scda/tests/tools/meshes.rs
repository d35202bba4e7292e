//! Files with the datasets of a mesh.

use crate::run::Place;
use scda::{DataType, Dataset, IndexBox, Layout, Solo, WriteOptions, Writer};

/// A dataset: name, type, shape, numbers. If there are fewer numbers than items, the others have the fill value, 0.
pub type Part = (&'static str, DataType, Vec<u64>, Vec<i64>);

/// The items of a dataset: integers, or of raw bytes the lowest ones.
pub fn bytes(data_type: DataType, numbers: &[i64]) -> Vec<u8> {
    let width = usize::try_from(data_type.item_bytes()).unwrap();
    let item = |number: &i64| number.to_le_bytes().into_iter().chain(std::iter::repeat(0)).take(width);
    numbers.iter().flat_map(|number| item(number).collect::<Vec<_>>()).collect()
}

/// Writes a sealed file with a group of these attributes, and these datasets in it.
pub fn write(place: &Place, name: &str, attributes: &str, parts: &[Part]) {
    let paths: Vec<String> = parts.iter().map(|part| format!("mesh/{}", part.0)).collect();
    let parts: Vec<_> = paths
        .iter()
        .zip(parts)
        .map(|(path, part)| (&**path, part.1, part.2.clone(), part.3.clone()))
        .collect();
    write_groups(place, name, &[("mesh", attributes)], &parts);
}

/// Likewise with groups of these paths and attributes, and datasets of these paths.
pub fn write_groups(
    place: &Place,
    name: &str,
    groups: &[(&str, &str)],
    parts: &[(&str, DataType, Vec<u64>, Vec<i64>)],
) {
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::create(Solo, place.path(name), b"a forest", &params).unwrap();
    for (path, attributes) in groups {
        file.group(path, attributes).unwrap();
    }
    for (path, data_type, shape, numbers) in parts {
        let mut dataset = Dataset::new(*path, *data_type, shape.clone());
        if shape.iter().product::<u64>() > numbers.len() as u64 {
            let mut chunk = shape.clone();
            chunk[0] = (1 << 24) / data_type.item_bytes();
            dataset.layout = Layout::Chunked { shape: Some(chunk), text: false };
            file.dataset(&dataset, &[], &[]).unwrap();
        } else {
            file.dataset(&dataset, &[IndexBox::all(shape)], &bytes(*data_type, numbers)).unwrap();
        }
    }
    file.close().unwrap();
}

/// Requires that this is found.
#[track_caller]
pub fn invalid(place: &Place, words: &str) {
    let run = place.scda("check bad.scda");
    let found = run.text();
    assert!(
        run.code == 1 && found.contains("INVALID: section ") && found.contains(words),
        "expected {words}: {run:?}"
    );
}

/// Requires that this is found if the number of this index in a dataset is another one.
#[track_caller]
pub fn wrong_number(
    place: &Place,
    attributes: &str,
    mut parts: Vec<Part>,
    (name, index, number): (&str, usize, i64),
    words: &str,
) {
    let part = parts.iter_mut().find(|part| part.0 == name).unwrap();
    part.3[index] = number;
    write(place, "bad.scda", attributes, &parts);
    invalid(place, words);
    assert_eq!(place.scda("check --json bad.scda").json()["valid"], false);
}
