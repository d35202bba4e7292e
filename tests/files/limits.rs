//! Many ranks. `scripts/long.sh` runs these, in an optimised build.

use crate::common::{Data, Model, ModelSection, Want, options, read_on, tuned, write_on};
use scda::Encode;
use scda::WriteOptions;

/// Sections that are smaller and larger than what waits, and than the number of ranks.
fn model() -> Model {
    let mut sections = Vec::new();
    for encode in [Encode::None, Encode::Always] {
        for count in [3, 2000] {
            let elements: Vec<Vec<u8>> = (0..count).map(|i| vec![b'v'; i % 40]).collect();
            let size = 40;
            let all = [
                Data::Block(vec![b'b'; 100 * count]),
                Data::Array { size, elements: vec![vec![b'a'; 40]; count] },
                Data::Varray(elements),
            ];
            sections.extend(all.map(|data| ModelSection { user: b"u".to_vec(), data, encode }));
        }
    }
    Model { vendor: Vec::new(), user: b"limits".to_vec(), sections }
}

#[test]
#[ignore = "takes long"]
fn a_thousand_ranks_write_and_read_what_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let (one, many) = (folder.path().join("one"), folder.path().join("many"));
    let mut params: WriteOptions = options();
    params.tuning.check = false;
    for aggregation in [4 << 20, 0] {
        params.tuning.aggregation_bytes = aggregation;
        let expected = write_on(1, &one, &model(), &params, 1);
        for seed in 0..2 {
            assert!(write_on(1000, &many, &model(), &params, seed) == expected);
            read_on(1000, &many, &model(), &tuned(&params.tuning), Want::Some, seed);
        }
    }
}
