//! Views of files that are appended to: each refers to the one before.

use crate::file::{TestFile, view_of, write, written};
use crate::programs::{compare, dump, in_h5py, in_python};
use crate::series::numbers;
use scda::{Codec, DataType, Dataset, Layout, Params, Solo, Writer};
use scda_hdf5::View;

/// Appends what a program writes, and a view after that of `before`; what the new one shows, and its bytes.
fn append(file: &TestFile, before: &View, program: impl FnOnce(&mut Writer)) -> (View, u64) {
    let mut writer = Writer::append(Solo, &file.path, &Params::default()).unwrap();
    program(&mut writer);
    writer.close().unwrap();
    let now = view_of(&std::fs::read(&file.path).unwrap());
    let bytes = file.add_after(&now, before);
    (now, bytes)
}

fn step(writer: &mut Writer, step: u64, fields: u64) {
    let time = Dataset::new("time", DataType::Float64, []);
    write(writer, &time, &(step as f64).to_le_bytes());
    for field in 0..fields {
        let mut dataset = Dataset::new(format!("fields/f{field}"), DataType::Float64, [4, 3]);
        dataset.dimension_names = vec![Some("y".into()), Some("x".into())];
        dataset.attributes = r#"{"units": "kg m-3", "long_name": "a field of the flow"}"#.into();
        if field == 1 {
            dataset.layout = Layout::Chunked { shape: Some(vec![2, 3]), text: false };
            dataset.codec = Codec::Zlib;
        }
        let data: Vec<u8> =
            (0..12_u64).flat_map(|n| ((step * 100 + n + field) as f64).to_le_bytes()).collect();
        write(writer, &dataset, &data);
    }
}

#[test]
fn steps_that_are_appended_are_seen() {
    let fields = 5;
    let file = written(|writer| {
        writer.group("/", r#"{"title": "a series"}"#)?;
        write(writer, &Dataset::new("fields/x", DataType::Float64, [3]), &numbers(3));
        write(writer, &Dataset::new("mesh/cells", DataType::Float64, [3]), &numbers(3));
        step(writer, 0, fields);
        Ok(())
    });
    let mut view = view_of(&std::fs::read(&file.path).unwrap());
    file.add(view.clone());
    let mut sizes = Vec::new();
    for n in 1..200 {
        let bytes;
        (view, bytes) = append(&file, &view, |writer| step(writer, n, fields));
        sizes.push(bytes);
    }
    let mut names: Vec<String> = (0..fields).map(|n| format!("fields/f{n}")).collect();
    names.extend(["time", "fields/x", "mesh/cells"].map(String::from));
    compare(&file, &names);
    dump(&file);
    in_h5py(
        &file,
        "assert f['fields/f1'].shape == (200, 4, 3) and f.attrs['title'] == 'a series' and sorted(f) == ['fields', 'mesh', 'time']\nassert f['fields/f0'].attrs['units'] == 'kg m-3'",
    );
    in_python(
        &file,
        &["xarray", "h5netcdf"],
        r"
d = xarray.open_dataset(path, engine='h5netcdf', group='fields')
assert d.f1.dims == ('time', 'y', 'x') and dict(d.sizes) == {'time': 200, 'y': 4, 'x': 3}, d.sizes
assert (d.f4.values[199] == np.arange(12).reshape(4, 3) + 19904).all()
",
    );
    eprintln!("{sizes:?}");
}

/// Nothing that is new is as the whole: the same objects as a view that was written at once.
#[test]
fn datasets_of_other_names_are_added_to_a_large_group() {
    let file = written(|writer| {
        for n in 0..600 {
            write(
                writer,
                &Dataset::new(format!("d{n:04}"), DataType::Float64, []),
                &(n as f64).to_le_bytes(),
            );
        }
        Ok(())
    });
    let mut view = view_of(&std::fs::read(&file.path).unwrap());
    file.add(view.clone());
    let mut sizes = Vec::new();
    for n in 0..40_u64 {
        let bytes;
        (view, bytes) = append(&file, &view, |writer| {
            for k in 0..20 {
                let number = 600 + 20 * n + k;
                let dataset = Dataset::new(format!("d{number:04}"), DataType::Float64, []);
                write(writer, &dataset, &(number as f64).to_le_bytes());
            }
            if n == 30 {
                // A dataset in the oldest block of links changes.
                write(writer, &Dataset::new("d0007", DataType::Float64, []), &1e9_f64.to_le_bytes());
            }
        });
        sizes.push(bytes);
    }
    in_h5py(
        &file,
        r"
assert sorted(f) == ['d%04d' % n for n in range(1400)], len(f)
assert all(f['d%04d' % n][()] == n for n in range(1400) if n != 7) and list(f['d0007']) == [7, 1e9]
",
    );
    dump(&file);
    let (same, bytes) = append(&file, &view, |_| {});
    drop(same);
    assert_eq!(bytes, 0, "nothing is new");
    eprintln!("{sizes:?}");
}
