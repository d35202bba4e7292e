//! The pages list the codecs of the table, and how HDF5 decompresses them.

use scda::{Codec, DataType, Dataset, Layout};
use scda_format::dataset::codecs::Codecs;
use serde_json::Value;
use std::path::Path;

#[test]
fn the_pages_list_every_codec() {
    let page = |name: &str| {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).unwrap()
    };
    let [datasets, guide, hdf5] = ["datasets.md", "guide.md", "hdf5.md"].map(page);
    for (codec, name) in Codec::NAMES {
        assert!(datasets.contains(&format!("\n| `{name}` | ")), "datasets.md has no row for {name}");
        let constant = format!("`SCDA_CODEC_{}`", name.to_uppercase());
        assert!(guide.contains(&constant), "guide.md does not name {constant}");
        for data_type in [DataType::Float64, DataType::Uint8] {
            let mut dataset = Dataset::new("a", data_type, [1]);
            (dataset.codec, dataset.layout) = (codec, Layout::Chunked { shape: None, text: false });
            let codecs = Codecs::of(&dataset, 2);
            let list: Vec<Value> = serde_json::from_str(&codecs.to_json(data_type)).unwrap();
            let names: Vec<&str> = list.iter().map(|codec| codec["name"].as_str().unwrap()).collect();
            for name in &names {
                let row = format!("\n| `{{\"name\": \"{name}\"");
                assert!(datasets.contains(&row), "datasets.md does not describe {name}");
            }
            // All but the step from numbers to bytes.
            let Ok(filters) = codecs.filters(8) else { continue };
            assert_eq!((names[0], names.len()), ("bytes", 1 + filters.len()));
            for (name, filter) in names[1..].iter().zip(filters) {
                let row = format!("\n| `{name}` | {} | ", filter.id);
                assert!(hdf5.contains(&row), "hdf5.md does not have the filter {} of {name}", filter.id);
            }
        }
    }
}
