//! Where data lie: chunks of every number and kind, rows that were added, records that differ, and what is not shown.

use crate::file::{TestFile, write, written};
use crate::programs::{compare, compare_with, dump, in_h5py};
use crate::series::numbers;
use scda::{Codec, DataType, Dataset, Layout, Solo, WriteOptions, Writer};

fn chunked(name: &str, shape: &[u64], chunk: &[u64], codec: Codec) -> Dataset {
    let mut dataset = Dataset::new(name, DataType::Float64, shape);
    (dataset.layout, dataset.codec) = (Layout::Chunked { shape: Some(chunk.to_vec()), text: false }, codec);
    dataset
}

#[test]
fn chunks_are_found_however_many_there_are() {
    let mut names = Vec::new();
    let file = written(|writer| {
        // Pages of a fixed array have 1024 elements.
        for (shape, chunk) in [
            (vec![1023], vec![1]),
            (vec![1024], vec![1]),
            (vec![1025], vec![1]),
            (vec![50, 41], vec![1, 1]),
            (vec![3, 70], vec![2, 1]),
            (vec![3], vec![8]),
            (vec![0, 3], vec![2, 2]),
            (vec![9_000], vec![1]),
        ] {
            let dataset = chunked(&format!("zlib/{shape:?}"), &shape, &chunk, Codec::Zlib);
            write(writer, &dataset, &numbers(shape.iter().product()));
            names.push(dataset.name);
        }
        // Chunks without a codec, of the fill value, in part or in all.
        for (name, part) in [("all", 0..64), ("some", 24..32), ("none", 0..0)] {
            let mut dataset = chunked(&format!("fill/{name}"), &[64], &[8], Codec::Zlib);
            dataset.fill_value = 7.5_f64.to_le_bytes().to_vec();
            let mut items = 7.5_f64.to_le_bytes().repeat(64);
            items[8 * part.start..8 * part.end].copy_from_slice(&numbers(part.len() as u64));
            write(writer, &dataset, &items);
            names.push(dataset.name);
        }
        let mut empty = Dataset::new("empty", DataType::Int8, [0, 4]);
        write(writer, &empty, &[]);
        (empty.name, empty.shape) = ("é ∂/ü".into(), vec![2]);
        write(writer, &empty, &[1, 2]);
        names.extend(["empty".into(), "é ∂/ü".into()]);
        Ok(())
    });
    file.add_view();
    compare(&file, &names);
    dump(&file);
}

#[test]
fn many_records_are_one_dataset() {
    let file = written(|writer| {
        for n in 0..700_u64 {
            write(
                writer,
                &Dataset::new("contiguous", DataType::Float64, [2, 1]),
                &numbers(n + 2)[8 * n as usize..],
            );
            write(writer, &Dataset::new("number", DataType::Float64, []), &numbers(n + 1)[8 * n as usize..]);
            let some = chunked("chunks", &[3], &[2], Codec::Zlib);
            let items =
                if n % 3 == 0 { numbers(3) } else { [0.0_f64, 0.0, n as f64].map(f64::to_le_bytes).concat() };
            write(writer, &some, &items);
            let deep = chunked("deep", &[1, 1, 1, 1, 1, 1, 1, 2], &[1; 8], Codec::Zlib);
            write(writer, &deep, &numbers(n + 2)[8 * n as usize..]);
        }
        Ok(())
    });
    let bytes = file.add_view().len();
    compare(&file, &["contiguous", "number", "chunks", "deep"].map(String::from));
    dump(&file);
    // 24 to 88 bytes for the place of a chunk, and a little for the tree.
    assert!(bytes < 700 * 5 * 100, "{bytes}");
}

#[test]
fn rows_that_were_added_continue_a_dataset() {
    let file = written(|writer| {
        write(writer, &Dataset::new("contiguous", DataType::Float64, [4, 2]), &numbers(8));
        let chunks = chunked("chunks", &[4, 2], &[2, 2], Codec::Zlib);
        write(writer, &chunks, &numbers(8));
        let mut within = chunked("within", &[3, 2], &[2, 2], Codec::Zlib);
        within.attributes = r#"{"units": "m"}"#.into();
        write(writer, &within, &numbers(6));
        Ok(())
    });
    // Only a sealed file has rows that are added.
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut writer = Writer::append(Solo, &file.path, &params).unwrap();
    for rows in [2, 6] {
        let mut more = Dataset::new("contiguous", DataType::Float64, [rows, 2]);
        more.extends = true;
        write(&mut writer, &more, &numbers(2 * rows));
        // The last rows may end within a chunk.
        let mut more = chunked("chunks", &[rows - rows / 6, 2], &[2, 2], Codec::Zlib);
        more.extends = true;
        write(&mut writer, &more, &numbers(2 * more.shape[0]));
        let mut more = chunked("within", &[rows, 2], &[2, 2], Codec::Zlib);
        more.extends = true;
        write(&mut writer, &more, &numbers(2 * rows));
    }
    writer.close().unwrap();
    // The view of the test breaks the seal, by which rows count.
    let items = ["contiguous", "chunks", "within"].map(|name| (name.to_owned(), file.items(name)));
    file.add_view();
    compare_with(&file, &items);
    dump(&file);
    in_h5py(
        &file,
        r"
assert f['contiguous'].shape == (12, 2) and f['contiguous'].chunks == (2, 2) and f['contiguous'].maxshape == (None, 2)
assert f['chunks'].shape == (11, 2) and f['within'].shape == (11, 2) and f['within'].is_virtual
assert [f['within_rows'][str(n)].shape[0] for n in range(3)] == [3, 2, 6] and f['within'].attrs['units'] == 'm'
",
    );
}

#[test]
fn what_cannot_be_shown_is_named() {
    let file = written(|writer| {
        let mut text = chunked("text", &[4], &[2], Codec::Zlib);
        text.layout = Layout::Chunked { shape: Some(vec![2]), text: true };
        write(writer, &text, &numbers(4));
        write(writer, &chunked("pcodec", &[4], &[2], Codec::Pcodec), &numbers(4));
        write(writer, &chunked("single", &[], &[], Codec::Zlib), &numbers(1));
        (0..3).for_each(|_| write(writer, &chunked("each", &[], &[], Codec::Zlib), &numbers(1)));
        write(writer, &Dataset::new("a/b", DataType::Int8, [1]), &[1]);
        write(writer, &Dataset::new("a", DataType::Int8, [1]), &[1]);
        write(writer, &Dataset::new("c/./d", DataType::Int8, [1]), &[1]);
        for n in 1..4 {
            write(writer, &Dataset::new("varies", DataType::Int8, [n]), &[1, 2, 3][..n as usize]);
        }
        Ok(())
    });
    file.add_view();
    in_h5py(
        &file,
        r"
lines = f.attrs['scda_not_shown'].split('\n')
assert lines == [
    'text: compressed as text',
    'pcodec: compressed by Pcodec, for which HDF5 has no filter',
    'c/./d: a name that is not valid in HDF5',
    'a: its name is also that of a group',
], lines
assert sorted(f) == ['a', 'each', 'single', 'varies', 'varies_records'] and f['single'].shape == (1,) and f['each'].shape == (3,)
assert list(f['single']) == [0] and list(f['each']) == [0, 0, 0]
assert list(f['a']) == ['b']
assert list(f['varies']) == [1, 2, 3] and list(f['varies_records']) == ['0', '1'] and f['varies_records/1'].shape == (2,)
",
    );
    dump(&file);
}

#[test]
fn nothing_is_written_through_hdf5() {
    let file = written(|writer| {
        write(writer, &Dataset::new("a", DataType::Float64, [4]), &numbers(4));
        Ok(())
    });
    file.add_view();
    let before = std::fs::read(&file.path).unwrap();
    in_h5py(
        &file,
        r"
f.close()
f = h5py.File(sys.argv[1], 'r+')
def set_item(): f['a'][0] = 1
def set_attribute(): f.attrs['a'] = 1
def add(): f['b'] = [1, 2]
for change in (set_item, set_attribute, add):
    try:
        change()
        sys.exit('changed: ' + change.__name__)
    except (KeyError, OSError, ValueError, RuntimeError) as error:
        assert 'fail if unknown' in str(error), error
f.close()
",
    );
    assert!(std::fs::read(&file.path).unwrap() == before);
}

/// As many objects as a large file has, in one group.
#[test]
fn many_datasets_in_a_group() {
    let count = 2_000;
    let file: TestFile = written(|writer| {
        for n in 0..count {
            let mut dataset = Dataset::new(format!("part{n:06}"), DataType::Float64, [1]);
            dataset.attributes = r#"{"units": "m"}"#.into();
            write(writer, &dataset, &(n as f64).to_le_bytes());
        }
        Ok(())
    });
    let bytes = file.add_view().len();
    in_h5py(
        &file,
        "assert len(f) == 2000 and all(f['part%06d' % n][0] == n for n in range(2000))\nassert sorted(f) == ['part%06d' % n for n in range(2000)]",
    );
    dump(&file);
    let each = bytes as u64 / count;
    assert!(each <= 300, "{each} bytes a dataset");
}
