//! Records, attributes, and names of dimensions.

use crate::file::{TestFile, write, written};
use crate::programs::{compare, dump, in_h5py, in_python};
use scda::{Codec, DataType, Dataset, Layout, TimeUnit};

/// Numbers that count.
pub fn numbers(count: u64) -> Vec<u8> {
    (0..count).flat_map(|n| (n as f64).to_le_bytes()).collect()
}

/// A file as a code of the climate writes it: coordinates, fields with names of dimensions, three steps.
fn series() -> TestFile {
    written(|writer| {
        writer.group("/", r#"{"title": "a run", "version": 3, "parameters": {"cfl": 0.5}, "list": [1, 2], "mixed": [1, "a"], "is": true, "empty": []}"#)?;
        writer.group("flow", r#"{"scheme": "hydro"}"#)?;
        for (name, n) in [("x", 6), ("y", 4)] {
            let mut coordinate = Dataset::new(name, DataType::Float64, [n]);
            coordinate.attributes = r#"{"units": "km"}"#.into();
            write(writer, &coordinate, &numbers(n));
        }
        for step in 0..3_u64 {
            let mut time = Dataset::new("time", DataType::Float64, []);
            time.attributes = r#"{"units": "days since 2000-01-01"}"#.into();
            write(writer, &time, &(0.5 * step as f64).to_le_bytes());
            for (name, layout) in [
                ("rho", Layout::Contiguous),
                ("flow/p", Layout::Chunked { shape: Some(vec![4, 4]), text: false }),
            ] {
                let mut field = Dataset::new(name, DataType::Float64, [4, 6]);
                (field.layout, field.codec) = (layout, Codec::Zlib);
                field.dimension_names = vec![Some("y".into()), Some("x".into())];
                field.attributes = r#"{"units": "kg m-3", "_FillValue": -1, "range": [0.5, 2]}"#.into();
                write(writer, &field, &numbers(24 * (step + 1))[(192 * step) as usize..]);
            }
        }
        let mut other = Dataset::new("flow/wall", DataType::Int32, [5, 4]);
        other.dimension_names = vec![Some("n".into()), None];
        write(writer, &other, &[1; 80]);
        let mut moment = Dataset::new("flow/begin", DataType::Datetime(TimeUnit::new("s", 1).unwrap()), [2]);
        moment.fill_value = i64::MIN.to_le_bytes().to_vec();
        write(writer, &moment, &[86_400_i64.to_le_bytes(), i64::MIN.to_le_bytes()].concat());
        Ok(())
    })
}

#[test]
fn records_are_one_dataset_and_attributes_are_values() {
    let file = series();
    file.add_view();
    let names = ["x", "y", "time", "rho", "flow/p", "flow/wall", "flow/begin"].map(String::from);
    compare(&file, &names);
    dump(&file);
    in_h5py(
        &file,
        r"
assert sorted(f) == ['flow', 'rho', 'time', 'x', 'y'], sorted(f)
rho = f['rho']
assert rho.shape == (3, 4, 6) and rho.maxshape == (None, 4, 6) and rho.chunks == (1, 4, 6)
assert f['flow/p'].chunks == (1, 4, 4) and f['flow/p'].compression == 'gzip' and f['flow/p'].shuffle
assert f['time'].shape == (3,) and f['time'][2] == 1.0 and f['x'].chunks is None
assert rho.attrs['units'] == 'kg m-3' and rho.attrs['_FillValue'].dtype == 'f8'
assert list(rho.attrs['range']) == [0.5, 2.0]
assert [d.label for d in rho.dims] == ['', '', ''] and rho.dims[1][0].name == '/y'
a = f.attrs
assert a['title'] == 'a run' and a['version'] == 3 and list(a['list']) == [1, 2] and a['is'] == True
assert json.loads(a['parameters']) == {'cfl': 0.5} and json.loads(a['mixed']) == [1, 'a'] and a['empty'].shape == (0,)
assert f['flow'].attrs['scheme'] == 'hydro' and f['flow/begin'].attrs['calendar'] == 'proleptic_gregorian'
assert f['flow/begin'].fillvalue == -2**63
",
    );
}

/// xarray wants another name for each dimension of a dataset, and one size for a name in a group and all above.
#[test]
fn names_of_dimensions_are_told_apart() {
    let file = written(|writer| {
        for (step, cells) in [(0, 3), (1, 5), (2, 4)] {
            let mut time = Dataset::new("time", DataType::Int8, []);
            time.attributes = r#"{"units": "days since 2000-01-01"}"#.into();
            write(writer, &time, &[step]);
            let mut offsets = Dataset::new("ions/offsets", DataType::Int8, [cells]);
            offsets.dimension_names = vec![Some("cell".into())];
            write(writer, &offsets, &vec![step; cells as usize]);
            let mut table = Dataset::new("table", DataType::Int8, [2, 3, 2, 2]);
            table.dimension_names = vec![None, Some("n".into()), None, None];
            write(writer, &table, &[step; 24]);
        }
        Ok(())
    });
    file.add_view();
    in_h5py(
        &file,
        r"
names = lambda d: [scale[0].name for scale in d.dims]
assert names(f['table']) == ['/time', '/dim_2', '/n', '/dim_2_2', '/dim_2_3'], names(f['table'])
assert names(f['ions/offsets']) == ['/ions/cell']
assert [names(f['ions/offsets_records'][n]) for n in '01'] == [['/ions/offsets_records/cell_3'], ['/ions/offsets_records/cell_5']]
",
    );
    in_python(&file, &["xarray", "h5netcdf"], "xarray.open_datatree(path, engine='h5netcdf').load()");
}

#[test]
fn dimensions_have_names_in_netcdf_and_xarray() {
    let file = series();
    file.add_view();
    in_python(
        &file,
        &["netCDF4"],
        r"
d = netCDF4.Dataset(path)
assert {n: len(x) for n, x in d.dimensions.items()} == {'x': 6, 'y': 4, 'time': 3}, d.dimensions
assert d.dimensions['time'].isunlimited() and not d.dimensions['x'].isunlimited()
assert d['rho'].dimensions == ('time', 'y', 'x') and d['flow/p'].dimensions == ('time', 'y', 'x')
assert d['flow/wall'].dimensions == ('n', 'dim_4') and sorted(d['flow'].dimensions)[:2] == ['dim_4', 'n']
assert d['time'].units == 'days since 2000-01-01' and d['rho'].units == 'kg m-3' and d.title == 'a run'
assert (d['rho'][2] == np.arange(48, 72).reshape(4, 6)).all() and (d['x'][:] == np.arange(6)).all()
assert sorted(d.variables) == ['rho', 'time', 'x', 'y'] and sorted(d['flow'].variables) == ['begin', 'p', 'wall']
",
    );
    for engine in ["netcdf4", "h5netcdf"] {
        let module = if engine == "netcdf4" { "netCDF4" } else { engine };
        in_python(
            &file,
            &["xarray", module],
            &format!(
                r"
d = xarray.open_dataset(path, engine='{engine}')
assert dict(d.sizes) == {{'time': 3, 'y': 4, 'x': 6}}, d.sizes
assert sorted(d.coords) == ['time', 'x', 'y'] and str(d.time.values[1])[:13] == '2000-01-01T12'
assert float(d.rho.sel(time='2000-01-02', y=1, x=2).values.sum()) == 56
g = xarray.open_dataset(path, engine='{engine}', group='flow')
assert str(g.begin.values[0])[:10] == '1970-01-02' and np.isnat(g.begin.values[1]), g.begin
assert g.p.dims == ('time', 'y', 'x') and g.wall.dims == ('n', 'dim_4')
"
            ),
        );
    }
}

#[test]
fn attributes_that_hdf5_cannot_have_are_texts_or_left_out() {
    let long: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
    let file = written(|writer| {
        let mut dataset = Dataset::new("a", DataType::Int16, [1]);
        dataset.attributes = format!(
            r#"{{"": 1, "CLASS": "mine", "nul": "a\u0000b", "long": [{}], "text": "{}", "large": 18446744073709551615,
                "low": -9223372036854775808, "far": 1e300, "null": null, "é": "ü", "none": "", "texts": ["", "é"],
                "missing_value": -7, "valid_max": 70000, "is": [true, false], "same": "ü"}}"#,
            long.join(", "),
            "x".repeat(100_000)
        );
        write(writer, &dataset, &[1, 2]);
        Ok(())
    });
    file.add_view();
    in_h5py(
        &file,
        r"
a = dict(f['a'].attrs)
assert '' not in a and 'CLASS' not in a and json.loads(a['nul']) == 'a\0b' and json.loads(a['long']) == list(range(10000))
assert a['text'] == 'x' * 100000 and a['large'] == 2**64 - 1 and a['low'] == -2**63 and a['far'] == 1e300 and a['null'] == 'null'
assert a['é'] == a['same'] == 'ü' and a['none'] == '' and list(a['texts']) == ['', 'é'] and list(a['is']) == [True, False]
assert a['missing_value'].dtype == 'i2' and a['missing_value'] == -7 and a['valid_max'] == 70000
",
    );
    dump(&file);
}
