//! Items of each type, in each layout.

use crate::file::{write, written};
use crate::programs::{compare, dump};
use scda::{Codec, DataType, Dataset, Layout, Struct, TimeUnit};

/// Every type with one size, also in structs.
pub fn types() -> Vec<DataType> {
    let mut types: Vec<DataType> = DataType::names().map(|name| DataType::from_name(name).unwrap()).collect();
    let unit = |name, scale| TimeUnit::new(name, scale).unwrap();
    types.extend([
        DataType::Raw(3),
        DataType::Datetime(unit("s", 1)),
        DataType::Timedelta(unit("us", 10)),
        DataType::Text(5),
        DataType::Bytes(7),
    ]);
    let point = Struct::packed([("x", DataType::Float64), ("y", DataType::Float32)]).unwrap();
    let vector = Struct::array(DataType::Int16, 3).unwrap();
    let all = Struct::packed([
        ("point", DataType::Struct(point)),
        ("v", DataType::Struct(vector)),
        ("is", DataType::Bool),
        ("z", DataType::Complex64),
        ("name", DataType::Bytes(4)),
    ]);
    types.push(DataType::Struct(all.unwrap()));
    types
}

/// Items of a type, of which bools are truth values and texts are characters.
pub fn items(data_type: DataType, count: u64) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..count * data_type.item_bytes()).map(|n| (n * 7 % 61) as u8).collect();
    for item in bytes.chunks_exact_mut(data_type.item_bytes() as usize) {
        data_type.for_each_leaf(&mut |at, leaf| {
            let at = at as usize;
            match leaf {
                DataType::Bool => item[at] &= 1,
                DataType::Text(characters) => {
                    for n in 0..characters as usize {
                        let character = 97 + u32::from(item[at + 4 * n] % 26);
                        item[at + 4 * n..][..4].copy_from_slice(&character.to_le_bytes());
                    }
                }
                _ => {}
            }
        });
    }
    bytes
}

#[test]
fn every_type_in_every_layout() {
    let layouts = [
        ("contiguous", Layout::Contiguous, Codec::Zlib),
        ("zlib", Layout::Chunked { shape: Some(vec![2, 4]), text: false }, Codec::Zlib),
        ("one", Layout::Chunked { shape: Some(vec![5, 7]), text: false }, Codec::Zlib),
        ("zstd", Layout::Chunked { shape: Some(vec![3, 3]), text: false }, Codec::Zstd),
        ("lz4", Layout::Chunked { shape: Some(vec![3, 3]), text: false }, Codec::Lz4),
    ];
    let mut names = Vec::new();
    let file = written(|writer| {
        for (n, data_type) in types().into_iter().enumerate() {
            for (layout_name, layout, codec) in &layouts {
                let mut dataset = Dataset::new(format!("{layout_name}/type{n}"), data_type, [5, 7]);
                (dataset.layout, dataset.codec) = (layout.clone(), *codec);
                write(writer, &dataset, &items(data_type, 35));
                names.push(dataset.name);
            }
            let scalar = Dataset::new(format!("scalar/type{n}"), data_type, []);
            write(writer, &scalar, &items(data_type, 1));
            names.push(scalar.name);
        }
        Ok(())
    });
    file.add_view();
    compare(&file, &names);
    dump(&file);
}
