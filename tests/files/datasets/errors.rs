//! What is wrong with a dataset on one rank is an error of all ranks.

use super::{chunked, walk};
use crate::common::options;
use scda::{
    Communicator, DataType, Dataset, ErrorKind, IndexBox, Layout, Reader, Result, Solo, Writer,
    run_on_threads,
};

#[test]
fn wrong_ones_of_several_datasets_are_the_errors_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let datasets = ["a", "b", "c"].map(|name| {
        let mut dataset = Dataset::new(name, DataType::Float64, [40, 30]);
        dataset.layout = chunked(&[7, 5]);
        dataset
    });
    let run = |own: &(dyn Fn(usize, usize) -> Vec<IndexBox> + Sync), ranks: usize, some: bool| {
        let errors = run_on_threads(ranks, |comm| {
            let rank = comm.rank();
            let regions: Vec<Vec<IndexBox>> = (0..3).map(|number| own(rank, number)).collect();
            let bytes = |regions: &[IndexBox]| 8 * regions.iter().map(|r| r.items().unwrap()).sum::<u64>();
            let data: Vec<Vec<u8>> = regions.iter().map(|regions| vec![1; bytes(regions) as usize]).collect();
            let mut all: Vec<(&Dataset, &[IndexBox], &[u8])> = datasets
                .iter()
                .zip(regions.iter().zip(&data))
                .map(|(dataset, (regions, data))| (dataset, regions.as_slice(), data.as_slice()))
                .collect();
            if some && rank == 1 {
                all.pop();
            }
            let mut file = Writer::create(comm, &path, b"", &options()).unwrap();
            file.dataset(&datasets[0], &[], &[]).unwrap();
            file.datasets(&all).and_then(|()| file.close()).unwrap_err().to_string()
        });
        assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "{errors:?}");
        assert_eq!(walk(&path), 2);
        errors[0].clone()
    };
    let corner = IndexBox::new([33, 21], [2, 3]);
    // The one of the first dataset that has any is named.
    for ranks in [1, 3] {
        let overlap = run(
            &|rank, number| match (rank, number) {
                (0, 0) => vec![IndexBox::all(&[40, 30])],
                (0, _) => vec![IndexBox::all(&[40, 30]), corner.clone()],
                _ => vec![],
            },
            ranks,
            false,
        );
        assert!(overlap.contains("dataset \"b\": index [33, 21] is in two boxes"), "{overlap}");
    }
    let outside =
        run(&|_, number| if number == 2 { vec![IndexBox::new([39, 0], [2, 1])] } else { vec![] }, 2, false);
    assert!(outside.contains("box 0"), "{outside}");
    let fewer = run(&|_, _| vec![], 2, true);
    assert!(fewer.contains("the ranks disagree on"), "{fewer}");
}

/// A program on all ranks fails with the same error on all of them.
fn error(ranks: usize, dataset: &Dataset, boxes: &[Vec<IndexBox>]) -> (ErrorKind, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let errors = run_on_threads(ranks, |comm| {
        let regions = &boxes[comm.rank()];
        let bytes: u64 =
            regions.iter().map(|r| r.items().unwrap()).sum::<u64>() * dataset.data_type.item_bytes();
        let mut file = Writer::create(comm, &path, b"", &options()).unwrap();
        file.array(b"before", &vec![1; ranks], 1, scda::Source::Contiguous(b"x"), scda::Encode::None)
            .unwrap();
        let result = file.dataset(dataset, regions, &vec![1; bytes as usize]);
        let error = result.and_then(|()| file.close()).unwrap_err();
        let text = error.to_string();
        (error.kind(), text.split_once("dataset").map_or(text.clone(), |(_, text)| text.to_owned()))
    });
    assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "{errors:?}");
    // What was written before stays, and nothing else.
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    assert_eq!(&*file.next_section(true).unwrap().unwrap().user, b"before");
    file.skip().unwrap();
    assert!(file.next_section(true).unwrap().is_none());
    errors[0].clone()
}

#[test]
fn an_index_that_two_boxes_have_is_named() {
    for layout in [Layout::Contiguous, chunked(&[7, 5]), chunked(&[100, 100])] {
        let mut dataset = Dataset::new("rho", DataType::Float64, [40, 30]);
        dataset.layout = layout;
        let all = IndexBox::all(&[40, 30]);
        let corner = IndexBox::new([33, 21], [2, 3]);
        let told = |index: &str| {
            let words = format!(" \"rho\": index {index} is in two boxes");
            (ErrorKind::Argument, words)
        };
        // On one rank, on two, and everything by everybody.
        assert_eq!(error(1, &dataset, &[vec![all.clone(), corner.clone()]]), told("[33, 21]"));
        let boxes = [vec![IndexBox::new([0, 0], [35, 30])], vec![], vec![corner.clone()]];
        assert_eq!(error(3, &dataset, &boxes), told("[33, 21]"));
        assert_eq!(error(3, &dataset, &[vec![all.clone()], vec![all.clone()], vec![all]]), told("[0, 0]"));
        // Many small boxes.
        let mut points: Vec<IndexBox> = (0..1200)
            .map(|i| IndexBox::new([i / 30, i % 30], [1, 1]))
            .filter(|p| p.start != [33, 22])
            .collect();
        points.push(corner);
        let (few, many) = points.split_at(700);
        assert_eq!(error(2, &dataset, &[many.to_vec(), few.to_vec()]), told("[33, 21]"));
    }
}

#[test]
fn wrong_arguments_are_the_errors_of_all_ranks() {
    let good = Dataset::new("rho", DataType::Float64, [4, 3]);
    let outside = vec![IndexBox::new([3, 0], [2, 3])];
    assert_eq!(error(2, &good, &[vec![], outside]).0, ErrorKind::Argument);
    let mut bad = good.clone();
    bad.layout = chunked(&[0, 1]);
    assert_eq!(error(2, &bad, &[vec![], vec![]]).0, ErrorKind::Argument);
    bad.layout = Layout::Contiguous;
    bad.attributes = "[]".into();
    assert_eq!(error(3, &bad, &[vec![], vec![], vec![]]).0, ErrorKind::Argument);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let run = |program: &(dyn Fn(usize, &mut Writer) -> Result<()> + Sync)| {
        let errors = run_on_threads(2, |comm| {
            let rank = comm.rank();
            let mut file = Writer::create(comm, &path, b"", &options()).unwrap();
            program(rank, &mut file).and_then(|()| file.close()).unwrap_err().to_string()
        });
        assert_eq!(errors[0], errors[1]);
        errors[0].split_once(": ").unwrap().1.to_owned()
    };
    let none = run(&|rank, file| file.dataset(&good, &[], &[0; 8][..8 * rank]));
    assert_eq!(none, "rank 1: data: found 8 bytes, expected the 0 of the boxes");
    let differ = run(&|rank, file| {
        let shape = [4, 3 + rank as u64];
        file.dataset(&Dataset::new("rho", DataType::Float64, shape), &[], &[])
    });
    let expected = "the ranks disagree on the dataset or group: rank 0 passes the metadata ";
    assert!(
        differ.starts_with(expected) && differ.contains(":[4,3]") && differ.contains(":[4,4]"),
        "{differ}"
    );
    // In chunks, too, where ranks go by what they know of the others: chunks of their own, parts of those of others.
    for chunk in [1, 2, 3] {
        let mut field = good.clone();
        field.layout = chunked(&[chunk, 2]);
        let bytes = [0; 96];
        let differ = run(&|rank, file| {
            let counts = [[2, 2], [3, 1]][rank];
            file.field(&field, &counts, &bytes[..24 * counts[rank] as usize])
        });
        let expected = "the ranks disagree on the counts of elements N_q: rank 0 passes 2, 2 to write_dataset, rank 1 3, 1";
        assert_eq!(differ, expected);
        let short = run(&|rank, file| file.field(&field, &[1, 3], &bytes[..if rank == 1 { 71 } else { 24 }]));
        assert_eq!(short, "rank 1: data: found 71 bytes, expected the 72 of the boxes");
    }
    let sum = run(&|_, file| file.field(&good, &[1, 2], &[0; 72]));
    assert_eq!(sum, "rank 0: counts N_q: found the sum 3, expected the 4 indices of the first dimension");
    let short = run(&|_, file| file.field(&good, &[2, 2], &[0; 40]));
    assert_eq!(short, "rank 0: data: found 40 bytes, expected the 48 of the boxes");
    let bools = |layout, data: [u8; 2]| {
        let mut dataset = Dataset::new("b", DataType::Bool, [4]);
        dataset.layout = layout;
        run(&|rank, file| {
            file.datasets(&[(&dataset, &[IndexBox::new([2 * rank as u64], [2])], &[[1, 0], data][rank])])
        })
    };
    for layout in [Layout::Contiguous, chunked(&[3]), Layout::Auto { shape: None }] {
        let told = "rank 1: data: found the bool 255 at item 1, expected 0 or 1";
        assert_eq!(bools(layout, [0, 255]), told);
    }
    let scalar = run(&|_, file| file.field(&Dataset::new("a", DataType::Int8, []), &[0, 0], &[]));
    assert!(scalar.contains("at least one dimension"), "{scalar}");
}

/// Of a contiguous dataset, whose strips are assembled in several rounds, in the first of which two ranks pass the same index.
#[test]
fn an_overlap_in_an_early_round_is_an_error() {
    let mut dataset = Dataset::new("u", DataType::Uint8, [64, 1024]);
    for fill in [0, 1] {
        dataset.fill_value = vec![fill];
        for own in [IndexBox::new([0, 0], [1, 10]), IndexBox::all(&[64, 1024])] {
            let boxes = [vec![own], vec![IndexBox::new([0, 5], [1, 10])]];
            let (kind, text) = error(2, &dataset, &boxes);
            assert_eq!(kind, ErrorKind::Argument);
            assert!(text.contains("index [0, 5] is in two boxes"), "{text}");
        }
    }
}
