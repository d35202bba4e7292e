//! Any datasets: what other programs read is what scda reads.

use crate::file::{TestFile, with_view, write};
use crate::programs::compare;
use crate::rng::Rng;
use crate::sampled;
use crate::types::{items, types};
use scda::{Codec, Dataset, Layout, Writer};

/// A dataset of any type, shape and layout, with its items.
fn dataset(rng: &mut Rng, name: String) -> (Dataset, Vec<u8>) {
    let all = types();
    let data_type = all[rng.below(all.len() as u64) as usize];
    let shape: Vec<u64> = (0..rng.below(5)).map(|_| rng.below(7) + u64::from(rng.below(8) > 0)).collect();
    let mut dataset = Dataset::new(name, data_type, shape.clone());
    if rng.below(3) > 0 && !shape.is_empty() {
        let chunk = shape.iter().map(|&n| 1 + rng.below(n + 2)).collect();
        dataset.layout = Layout::Chunked { shape: Some(chunk), text: false };
        dataset.codec = [Codec::Zlib, Codec::Zlib, Codec::Zstd, Codec::Lz4][rng.below(4) as usize];
        dataset.level = Some(rng.below(3) as u32);
        dataset.shuffle = rng.below(2) == 0;
    }
    let item = items(data_type, 1);
    if rng.below(2) == 0 {
        dataset.fill_value.clone_from(&item);
    }
    let names = [None, Some("x"), Some("y"), Some("z/1"), Some("time")];
    if rng.below(2) == 0 {
        dataset.dimension_names =
            shape.iter().map(|_| names[rng.below(5) as usize].map(String::from)).collect();
    }
    let values = [
        "1",
        "-2.5",
        "\"é\"",
        "[1, 2]",
        "[0.5]",
        "[\"a\", \"\"]",
        "{\"a\": []}",
        "null",
        "true",
        "18446744073709551615",
    ];
    let attributes = (0..rng.below(4)).map(|n| format!("\"key{n}\": {}", values[rng.below(10) as usize]));
    dataset.attributes = format!("{{{}}}", attributes.collect::<Vec<_>>().join(", "));
    let count = shape.iter().product::<u64>();
    let mut data = items(data_type, count);
    // Often a part, or all, has the fill value.
    let fill = if dataset.fill_value.is_empty() { vec![0; item.len()] } else { dataset.fill_value.clone() };
    let from = rng.below(2 * count + 1).min(count) as usize;
    data[from * item.len()..].chunks_exact_mut(item.len()).for_each(|item| item.copy_from_slice(&fill));
    (dataset, data)
}

fn random_file(rng: &mut Rng, names: &mut Vec<String>) -> TestFile {
    with_view(|writer: &mut Writer| {
        for n in 0..60 {
            let group = ["", "a/", "a/b/", "é/"][rng.below(4) as usize];
            let (dataset, data) = dataset(rng, format!("{group}d{n}"));
            let records = [1, 1, 1, 2, 30][rng.below(5) as usize];
            (0..records).for_each(|_| write(writer, &dataset, &data));
            names.push(dataset.name);
        }
        Ok(())
    })
}

/// `SCDA_FILES` says how many files, and `SCDA_KEEP` in which folder they stay, with their items, for other versions of HDF5.
#[test]
fn any_datasets_are_read_by_others_as_by_scda() {
    let files = std::env::var("SCDA_FILES").map(|number| number.parse().unwrap());
    let keep = std::env::var("SCDA_KEEP").ok();
    for seed in 0..files.unwrap_or(40 / sampled::one_of(20) as u64) {
        let mut names = Vec::new();
        let mut file = random_file(&mut Rng(seed), &mut names);
        compare(&file, &names);
        if let Some(folder) = &keep {
            file.folder.disable_cleanup(true);
            std::fs::rename(file.folder.path(), format!("{folder}/{seed}")).unwrap();
        }
    }
}
