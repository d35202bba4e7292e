//! How many bytes views take over many closes.

use crate::sampled;
use scda::{DataType, Dataset, SectionType};
use scda_format::dataset::codecs::Codecs;
use scda_format::dataset::metadata;
use scda_format::dataset::parse::KnownMetadata;
use scda_format::dataset::stored_dataset::{DataSection, StoredDataset};
use scda_hdf5::{Data, DatasetView, Objects, Part, Previous, View};

/// A field of 1000 numbers as the file has it.
fn field(name: &str) -> StoredDataset {
    let mut dataset = Dataset::new(name, DataType::Float64, [10, 100]);
    dataset.attributes = r#"{"units": "kg m-3"}"#.into();
    dataset.dimension_names = vec![Some("y".into()), Some("x".into())];
    let text = metadata::of_dataset(&dataset, &Codecs::of(&dataset, 1)).unwrap();
    let section = DataSection {
        section_type: SectionType::Array,
        user: name.as_bytes(),
        count: 10,
        size: 800,
        is_compressed: false,
    };
    StoredDataset::new(&mut KnownMetadata::default(), text.as_bytes(), 0, section).unwrap()
}

/// Twenty fields, of which each close adds a record. The file has their data, their metadata and two rows of the index for each, and the
/// views.
#[test]
fn views_of_a_series_are_a_small_part_of_the_file() {
    const FIELDS: usize = 20;
    const FIELD_BYTES: u64 = 8000 + 864;
    let closes = 1000 / sampled::one_of(10);
    let fields: Vec<StoredDataset> = (0..FIELDS).map(|n| field(&format!("flow/field{n}"))).collect();
    let (mut before, mut now, mut root) = (Objects::default(), View::new(), 0);
    // The bytes of views alone, by their offsets.
    let mut views: Vec<(u64, Vec<u8>)> = Vec::new();
    let (mut end, mut taken) = (576_u64, 0);
    for close in 0..closes {
        for stored in &fields {
            let part = Part { stored, data: Data::Plain(end + 800) };
            let shown = DatasetView::new(&stored.dataset.attributes, &[part]).unwrap();
            now.dataset(&stored.dataset.name, &shown).unwrap();
            end += FIELD_BYTES;
        }
        let mut read = |offset: u64, to: &mut [u8]| {
            let (begin, bytes) = views.iter().rev().find(|(begin, _)| *begin <= offset).unwrap();
            to.copy_from_slice(&bytes[(offset - begin) as usize..][..to.len()]);
            Ok(())
        };
        let written = match close {
            0 => now.write(end).unwrap(),
            _ => now.write_after(end, &before, Previous { root, read: &mut read }).unwrap(),
        };
        root = written.root;
        let bytes = written.bytes.len() as u64;
        views.push((end, written.bytes));
        // With its header, padding, and row of the index.
        end += bytes + 400;
        taken += bytes + 400;
        before = now.take_objects().unwrap();
    }
    let percent = 100.0 * taken as f64 / end as f64;
    eprintln!(
        "{percent:.1} % of {end} bytes after {closes} closes; the last view has {}",
        views.last().unwrap().1.len()
    );
    assert!(percent < 10.0, "{percent} % of {end} bytes");
}
