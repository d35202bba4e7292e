//! Views of files that libscda has written, as programs for HDF5 read them: h5py, h5dump and h5stat, where they are installed.
#![allow(clippy::cast_possible_truncation)] // test data

mod file;
#[path = "../../../../tests/common/skipped.rs"]
mod skipped;

use file::{TestFile, view_of, write, written};
use scda_hdf5::{Array, SUPERBLOCK_BYTES, Superblock, Value, View};
use scda::{Codec, DataType, Dataset, Layout, Struct, TimeUnit};
use skipped::skipped;
use std::process::{Command, Output};

/// The Python that has h5py.
fn python() -> Option<String> {
    let named = std::env::var("SCDA_HDF5_PYTHON").ok();
    let candidates = named.into_iter().chain(["python3".into(), "/usr/bin/python3".into()]);
    { candidates }.find(|python| {
        let tried = Command::new(python).args(["-c", "import h5py"]).output();
        tried.is_ok_and(|output| output.status.success())
    })
}

/// Runs a program of h5py with the file as `f`, and numpy as `np`.
fn in_h5py(file: &TestFile, program: &str) {
    let Some(python) = python() else { return skipped("no Python with h5py") };
    let program =
        format!("import sys, json, h5py, numpy as np\nf = h5py.File(sys.argv[1], 'r')\n{program}");
    let output = Command::new(python).args(["-c", &program, file::text(&file.path)]).output().unwrap();
    check(&output);
}

/// As [`in_h5py`], with other modules of Python, if they are installed.
fn in_python(file: &TestFile, modules: &[&str], program: &str) {
    let Some(python) = python() else { return skipped("no Python with h5py") };
    let imports = format!("import sys, warnings, numpy as np\nwarnings.simplefilter('ignore')\nimport {}", modules.join(", "));
    if !Command::new(&python).args(["-c", &imports]).output().unwrap().status.success() {
        return skipped(&format!("no {} of Python", modules.join(", ")));
    }
    let program = format!("{imports}\npath = sys.argv[1]\n{program}");
    let output = Command::new(python).args(["-c", &program, file::text(&file.path)]).output().unwrap();
    check(&output);
}

fn check(output: &Output) {
    let all = [&*output.stdout, &*output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&all));
}

/// h5dump and h5stat read all that is in the file without an error.
fn dump(file: &TestFile) {
    for (tool, options) in [("h5dump", &["-p"][..]), ("h5stat", &[])] {
        let Ok(output) = Command::new(tool).args(options).arg(&file.path).output() else {
            return skipped("no h5dump");
        };
        // Without the plug-in for Blosc, h5dump says so of the data.
        let words = String::from_utf8_lossy(&output.stderr);
        let is_of_filter = words.contains("unable to print data") || words.contains("filter");
        assert!(output.status.success() && words.is_empty() || is_of_filter, "{tool}: {words}");
    }
}

/// h5py reads the items that scda reads, of all these datasets.
fn compare(file: &TestFile, names: &[String]) {
    let folder = file.folder.path();
    let mut lines = Vec::new();
    for (n, name) in names.iter().enumerate() {
        std::fs::write(folder.join(n.to_string()), file.items(name)).unwrap();
        lines.push(name.clone());
    }
    std::fs::write(folder.join("names"), lines.join("\n")).unwrap();
    in_h5py(
        file,
        r"
import os
folder = os.path.dirname(sys.argv[1])
try:
    import hdf5plugin
except ImportError:
    pass
for n, name in enumerate(open(folder + '/names').read().split('\n')):
    d = f[name]
    expected = open(folder + '/%d' % n, 'rb').read()
    try:
        found = d[()]
    except OSError as error:
        if 'filter' in str(error) or 'plugin' in str(error):
            continue
        raise
    assert np.asarray(found).tobytes() == expected, (name, d.dtype, found)
",
    );
}

/// Every type with one size, also in structs.
fn types() -> Vec<DataType> {
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
fn items(data_type: DataType, count: u64) -> Vec<u8> {
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

fn numbers(count: u64) -> Vec<u8> {
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
