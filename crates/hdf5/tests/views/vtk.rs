//! Meshes as VTK's reader of VTKHDF files opens them.

use crate::file::{TestFile, with_view, with_views, write};
use crate::programs::{dump, in_h5py, in_python};
use crate::series::numbers;
use scda::{Codec, Data, DataType, Dataset, Layout, Memory, Solo, Struct, Writer};
use scda_format::meshes::patches::Frame;
use scda_meshes::particles::{self, OwnCells};
use scda_meshes::patches::{self, FieldMemory, OwnPatches};
use scda_meshes::{MeshNotes, steps};

/// The attributes of a time.
const SECONDS: &str = r#"{"units":"s"}"#;

/// What the programs below begin with: the reader, what it finds at a time, and a field as numpy has it.
const READER: &str = r"
from vtkmodules.util.numpy_support import vtk_to_numpy
seen = []
log = vtkmodules.vtkCommonCore.vtkStringOutputWindow()
vtkmodules.vtkCommonCore.vtkOutputWindow.SetInstance(log)
r = vtkmodules.vtkIOHDF.vtkHDFReader()
r.SetFileName(path)
r.UpdateInformation()
info = r.GetOutputInformation(0)
key = vtkmodules.vtkCommonExecutionModel.vtkStreamingDemandDrivenPipeline.TIME_STEPS()
times = list(info.Get(key)) if info.Has(key) else []
def at(time=None):
    r.Update() if time is None else r.UpdateTimeStep(time)
    assert not log.GetOutput(), log.GetOutput()
    return r.GetOutput()
def points(name, o=None): return vtk_to_numpy((o or r.GetOutput()).GetPointData().GetArray(name))
def cells(name, o=None): return vtk_to_numpy((o or r.GetOutput()).GetCellData().GetArray(name))
def names(data): return [data.GetArrayName(n) for n in range(data.GetNumberOfArrays())]
";

fn in_vtk(file: &TestFile, program: &str) {
    let modules = [
        "vtkmodules.vtkIOHDF",
        "vtkmodules.vtkCommonCore",
        "vtkmodules.vtkCommonExecutionModel",
        "vtkmodules.util.numpy_support",
    ];
    in_python(file, &modules, &format!("{READER}{program}"));
}

fn reals(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|n| n.to_le_bytes()).collect()
}

fn integers(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|n| n.to_le_bytes()).collect()
}

fn time(writer: &mut Writer, group: &str, time: f64) {
    write(writer, &Dataset::new(format!("{group}/time"), DataType::Float64, []), &reals(&[time]));
}

/// Two triangles and a square, at a height.
fn roof(writer: &mut Writer, height: f64) {
    let places = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [1.0, 1.0, 0.0],
        [0.5, 0.0, height],
        [0.5, 1.0, height],
    ];
    write(writer, &Dataset::new("roof/points", DataType::Float64, [6, 3]), &reals(places.as_flattened()));
    let corners = [0, 1, 4, 2, 3, 5, 0, 1, 3, 2];
    write(writer, &Dataset::new("roof/cell_points", DataType::Int64, [10]), &integers(&corners));
    write(writer, &Dataset::new("roof/cell_offsets", DataType::Int64, [4]), &integers(&[0, 3, 6, 10]));
    write(writer, &Dataset::new("roof/cell_types", DataType::Uint8, [3]), &[5, 5, 9]);
}

fn roof_fields(writer: &mut Writer, step: u64) {
    let base = (100 * step) as f64;
    let values: Vec<f64> = (0..27).map(|n| base + f64::from(n)).collect();
    write(writer, &Dataset::new("roof/cell_fields/t", DataType::Float64, [3]), &reals(&values[..3]));
    write(
        writer,
        &Dataset::new("roof/cell_fields/gradient/t", DataType::Float64, [3, 3, 3]),
        &reals(&values),
    );
    let mut zlib = Dataset::new("roof/point_fields/v", DataType::Float64, [6, 2]);
    (zlib.layout, zlib.codec) = (Layout::Chunked { shape: Some(vec![4, 2]), text: false }, Codec::Zlib);
    write(writer, &zlib, &reals(&values[..12]));
    write(writer, &Dataset::new("roof/cell_fields/is", DataType::Bool, [3]), &[1, 0, 1]);
}

#[test]
fn cells_without_steps() {
    let file = with_view(|writer| {
        writer.group("roof", r#"{"scda_cells": 1, "title": "two triangles and a square"}"#)?;
        roof(writer, 1.0);
        roof_fields(writer, 0);
        Ok(())
    });
    in_vtk(
        &file,
        r"
o = at()
assert o.GetClassName() == 'vtkUnstructuredGrid' and o.GetNumberOfPoints() == 6 and o.GetNumberOfCells() == 3
assert [o.GetCellType(n) for n in range(3)] == [5, 5, 9] and o.GetPoint(5) == (0.5, 1, 1) and times == []
assert [o.GetCell(2).GetPointId(n) for n in range(4)] == [0, 1, 3, 2]
assert list(cells('t')) == [0, 1, 2] and (cells('gradient_t') == np.arange(27.).reshape(3, 9)).all()
assert (points('v') == np.arange(12.).reshape(6, 2)).all() and names(o.GetCellData()) == ['gradient_t', 't']
",
    );
    in_h5py(
        &file,
        "assert f['VTKHDF/Points'] == f['roof/points'] and f.attrs['scda_not_shown'] == 'roof/cell_fields/is: not in VTKHDF: items of a type that VTK does not support', f.attrs['scda_not_shown']",
    );
}

#[test]
fn cells_with_steps() {
    // One mesh for all steps, or one in each.
    for moves in [false, true] {
        let file = with_view(|writer| {
            writer.group("roof", r#"{"scda_cells": 1}"#)?;
            for step in 0..4_u64 {
                if step == 0 && !moves {
                    roof(writer, 1.0);
                }
                time(writer, "roof", 0.25 * step as f64);
                if moves {
                    roof(writer, 1.0 + step as f64);
                }
                roof_fields(writer, step);
                write(writer, &Dataset::new("roof/cell_fields/n", DataType::Int32, [3]), &[step as u8; 12]);
                if step == 2 {
                    write(
                        writer,
                        &Dataset::new("roof/cell_fields/sometimes", DataType::Int32, [3]),
                        &[0; 12],
                    );
                }
            }
            Ok(())
        });
        let height = if moves { "1 + n" } else { "1" };
        in_vtk(
            &file,
            &format!(
                r"
assert times == [0, 0.25, 0.5, 0.75], times
for n in (3, 0, 2, 1):
    o = at(times[n])
    assert o.GetNumberOfCells() == 3 and o.GetPoint(5) == (0.5, 1, {height}), o.GetPoint(5)
    assert [o.GetCell(2).GetPointId(k) for k in range(4)] == [0, 1, 3, 2]
    assert list(cells('t')) == [100 * n + k for k in range(3)] and (cells('n') == n * 0x01010101).all()
    assert (cells('gradient_t') == np.arange(27.).reshape(3, 9) + 100 * n).all()
    assert (points('v') == np.arange(12.).reshape(6, 2) + 100 * n).all()
    assert names(o.GetCellData()) == ['gradient_t', 'n', 't']
"
            ),
        );
    }
}

#[test]
fn cells_that_change_show_the_last_step() {
    let file = with_view(|writer| {
        writer.group("m", r#"{"scda_cells": 1}"#)?;
        for n in 1..4_u64 {
            time(writer, "m", n as f64);
            write(
                writer,
                &Dataset::new("m/points", DataType::Float32, [n + 1, 3]),
                &vec![0; 12 * (n as usize + 1)],
            );
            let corners: Vec<i64> = (0..n.cast_signed()).flat_map(|k| [k, k + 1]).collect();
            write(writer, &Dataset::new("m/cell_points", DataType::Int64, [2 * n]), &integers(&corners));
            let offsets: Vec<i64> = (0..=n.cast_signed()).map(|k| 2 * k).collect();
            write(writer, &Dataset::new("m/cell_offsets", DataType::Int64, [n + 1]), &integers(&offsets));
            write(writer, &Dataset::new("m/cell_types", DataType::Uint8, [n]), &vec![3; n as usize]);
            write(writer, &Dataset::new("m/cell_fields/a", DataType::Float64, [n]), &numbers(n));
            // As many in each step, but not as the mesh has cells in the last one.
            write(writer, &Dataset::new("m/cell_fields/b", DataType::Float64, [2]), &numbers(2));
            if n == 1 {
                write(writer, &Dataset::new("m/cell_fields/c", DataType::Float64, [3]), &numbers(3));
            }
        }
        Ok(())
    });
    in_vtk(
        &file,
        "o = at()\nassert o.GetNumberOfCells() == 3 and list(cells('a')) == [0, 1, 2] and times == [] and names(o.GetCellData()) == ['a']",
    );
}

/// A patch with level, first cells and numbers of cells, and the values of a field of two components in it.
type Patch = (i32, [i64; 2], [i64; 2]);
const PATCHES: [Patch; 4] =
    [(0, [-2, 0], [4, 3]), (0, [2, 0], [2, 3]), (1, [-2, 2], [3, 2]), (1, [1, 2], [2, 2])];

fn patch_values(number: usize, step: u64) -> Vec<f64> {
    let (_, _, n) = PATCHES[number];
    (0..2 * n[0] * n[1]).map(|k| k as f64 + (1000 * number) as f64 + (100_000 * step) as f64).collect()
}

fn patch_fields(writer: &mut Writer, notes: &mut MeshNotes, mesh: &patches::Patches, step: u64) {
    for (name, chunk) in [("rho", None), ("zlib", Some(vec![7, 2]))] {
        let mut dataset = Dataset::new(name, DataType::Float64, []);
        if let Some(chunk) = chunk {
            (dataset.layout, dataset.codec) =
                (Layout::Chunked { shape: Some(chunk), text: false }, Codec::Zlib);
        }
        let data: Vec<Vec<u8>> = (0..4).map(|number| reals(&patch_values(number, step))).collect();
        let memory = FieldMemory { data_type: DataType::Float64, components: 2, ghost: 0, cell_bytes: 0 };
        let places: Vec<_> = (0..4).map(|number| mesh.memory(number, memory).unwrap()).collect();
        let memory = { data.iter().zip(&places) }
            .map(|(data, at)| Memory::strided(data, at.first, &at.strides).shaped(&at.shape));
        let memory: Vec<_> = memory.collect();
        let fields = [(dataset, 2)];
        let rows = patches::fields(writer, notes, "patches", mesh, &[0, 1, 2, 3], Ok(&fields)).unwrap();
        writer.dataset(&rows[0].0, &rows[0].1, Data::Boxes(&memory)).unwrap();
    }
}

fn patch_mesh(writer: &mut Writer, notes: &mut MeshNotes) -> patches::Patches {
    let frame = Frame {
        dimension: 2,
        ratio: vec![1, 1, 2, 2],
        domain: vec![-2, 0, 6, 3],
        geometry: vec![0.5, 1.0, 0.25, 0.5],
    };
    let level: Vec<i32> = PATCHES.iter().map(|(level, _, _)| *level).collect();
    let boxes: Vec<i64> = PATCHES.iter().flat_map(|(_, first, n)| [*first, *n].concat()).collect();
    let own = OwnPatches { level: &level, boxes: &boxes, number: None };
    patches::write(writer, notes, "patches", frame, Ok(own)).unwrap()
}

#[test]
fn patches_with_and_without_steps() {
    for count in [1, 3] {
        let file = with_view(|writer| {
            let mut notes = MeshNotes::new();
            let mesh = patch_mesh(writer, &mut notes);
            for step in 0..count {
                if count > 1 {
                    steps::write_time(writer, &mut notes, "patches", step as f64, Ok(SECONDS.into()))?;
                }
                patch_fields(writer, &mut notes, &mesh, step);
            }
            // Another mesh is named as not shown.
            let cells = OwnCells { counts: &[1, 0, 0, 2], number: None, without_cells: 0 };
            let found = particles::write(writer, &mut notes, "particles", Some("patches"), Ok(cells))?;
            let id = Dataset::new("id", DataType::Uint8, []);
            let (id, rows) = particles::field(writer, &mut notes, "particles", &found, &id)?;
            writer.dataset(&id, &rows, &[1_u8, 2, 3])
        });
        let times = if count == 1 { "[]" } else { "[0, 1, 2]" };
        in_vtk(
            &file,
            &format!(
                r"
assert times == {times}, times
for n in times or [None]:
    o = at(n)
    assert o.GetClassName() == 'vtkOverlappingAMR' and o.GetNumberOfLevels() == 2
    number = 0
    for level, first, n_cells in {PATCHES:?}:
        at_level = number if level == 0 else number - 2
        g = o.GetDataSet(level, at_level) if hasattr(o, 'GetDataSet') else o.GetDataSetAsImageData(level, at_level)
        assert g.GetDimensions()[:2] == (n_cells[0] + 1, n_cells[1] + 1), g.GetDimensions()
        size = [0.25 / 2**level, 0.5 / 2**level]
        begin = [0.5 + (first[0] + 2 * 2**level) * size[0], 1.0 + first[1] * size[1]]
        assert np.allclose(g.GetOrigin()[:2], begin) and np.allclose(g.GetSpacing()[:2], size), (g.GetOrigin(), begin)
        for name in ('rho', 'zlib'):
            found = cells(name, g)
            expected = np.arange(2. * n_cells[0] * n_cells[1]).reshape(-1, 2) + 1000 * number + 100000 * (n or 0)
            assert (found == expected).all(), (found, expected)
        number += 1
"
            ),
        );
        in_h5py(
            &file,
            "assert f.attrs['scda_not_shown'] == 'particles: not in VTKHDF: VTK opens only one mesh of a file', f.attrs['scda_not_shown']",
        );
    }
}

#[test]
fn particles_with_and_without_steps() {
    // Of 70,000 particles there are several parts.
    for (count, times, columns) in
        [(5, 1_u32, 3), (5, 3, 2), (70_000, 2, 3), (0, 1, 3), (4095, 1, 1), (4096, 1, 3)]
    {
        let file = with_view(|writer| {
            let mut notes = MeshNotes::new();
            for step in 0..times {
                if times > 1 {
                    steps::write_time(writer, &mut notes, "particles", step as f64, Ok(SECONDS.into()))?;
                }
                let cells = OwnCells { counts: &[], number: None, without_cells: count };
                let found = particles::write(writer, &mut notes, "particles", None, Ok(cells))?;
                let all = numbers(2 * columns * count);
                let position = Dataset::new("position", DataType::Float64, [0, columns]);
                let mass = Dataset::new("mass", DataType::Float64, [0]);
                let of_mass = &all[8 * step as usize..][..8 * count as usize];
                for (what, data) in [(position, &all[..8 * (columns * count) as usize]), (mass, of_mass)] {
                    let (field, rows) = particles::field(writer, &mut notes, "particles", &found, &what)?;
                    writer.dataset(&field, &rows, data)?;
                }
            }
            Ok(())
        });
        in_vtk(
            &file,
            &format!(
                r"
count, columns, n_times = {count}, {columns}, {times}
assert times == ([] if n_times == 1 else list(range(n_times))), times
for n in times or [None]:
    o = at(n)
    parts = [o.GetPartition(k) for k in range(o.GetNumberOfPartitions())] if o.IsA('vtkPartitionedDataSet') else [o]
    assert all(p.GetClassName() == 'vtkPolyData' for p in parts) and len(parts) <= 64
    assert sum(p.GetNumberOfPoints() for p in parts) == count and sum(p.GetNumberOfVerts() for p in parts) == count
    place = np.concatenate([vtk_to_numpy(p.GetPoints().GetData()) for p in parts])
    expected = np.zeros((count, 3))
    expected[:, :columns] = np.arange(count * columns).reshape(count, columns)
    assert (place == expected).all()
    assert (np.concatenate([points('mass', p) for p in parts]) == np.arange(count) + (n or 0)).all()
    for p in parts:
        if p.GetNumberOfPoints():
            last = p.GetNumberOfPoints() - 1
            assert p.GetCellType(last) == 1 and p.GetCell(last).GetPointId(0) == last
"
            ),
        );
    }
}

#[test]
fn particles_in_structs_are_named() {
    let file = with_view(|writer| {
        writer.group("particles", r#"{"scda_particles": 1}"#)?;
        let item = Struct::packed([("x", DataType::Float64), ("y", DataType::Float64)]).unwrap();
        write(writer, &Dataset::new("particles/offsets", DataType::Int64, [2]), &integers(&[0, 1]));
        write(writer, &Dataset::new("particles/fields/position", DataType::Struct(item), [1]), &[0; 16]);
        Ok(())
    });
    in_h5py(
        &file,
        "assert 'VTKHDF' not in f and f.attrs['scda_not_shown'] == 'particles: not in VTKHDF: its positions have an unexpected form'",
    );
}

/// A grid of three dimensions, with coordinates, a vector, and one field that does not change.
fn grid(writer: &mut Writer, step: u64) {
    let mut rho = Dataset::new("rho", DataType::Float64, [2, 3, 4]);
    rho.dimension_names = ["z", "y", "x"].map(|name| Some(name.to_owned())).into();
    write(writer, &rho, &numbers(24 + step)[8 * step as usize..]);
    write(
        writer,
        &Dataset::new("u", DataType::Float64, [2, 3, 4, 3]),
        &numbers(72 + step)[8 * step as usize..],
    );
}

#[test]
fn grids_with_and_without_steps() {
    for steps in [1, 3] {
        let file = with_view(|writer| {
            write(writer, &Dataset::new("x", DataType::Float64, [4]), &reals(&[1.0, 1.5, 2.0, 2.5]));
            write(
                writer,
                &Dataset::new("y", DataType::Float32, [3]),
                &[3.0_f32, 2.0, 1.0].map(f32::to_le_bytes).concat(),
            );
            write(writer, &Dataset::new("still", DataType::Int32, [2, 3, 4]), &[7; 96]);
            for step in 0..steps {
                write(writer, &Dataset::new("time", DataType::Float64, []), &reals(&[step as f64]));
                grid(writer, step);
            }
            Ok(())
        });
        let times = if steps == 1 { "[]" } else { "[0, 1, 2]" };
        in_vtk(
            &file,
            &format!(
                r"
assert times == {times}, times
for n in times or [None]:
    o = at(n)
    assert o.GetClassName() == 'vtkImageData' and o.GetDimensions() == (4, 3, 2), o
    assert o.GetOrigin() == (1, 3, 0) and o.GetSpacing() == (0.5, 1, 1)
    assert [o.GetDirectionMatrix().GetElement(k, k) for k in range(3)] == [1, -1, 1]
    assert (points('rho') == np.arange(24) + (n or 0)).all()
    assert (points('u') == np.arange(72).reshape(24, 3) + (n or 0)).all()
    assert (points('still') == 0x07070707).all() and names(o.GetPointData()) == ['rho', 'still', 'u']
"
            ),
        );
    }
}

#[test]
fn plane_grids_and_grids_with_an_axis_of_one_point() {
    for (shape, dimensions) in
        [(vec![5, 7], "(7, 5, 1)"), (vec![1, 5, 7], "(7, 5, 1)"), (vec![5, 1, 7], "(7, 1, 5)")]
    {
        let file = with_view(|writer| {
            write(writer, &Dataset::new("rho", DataType::Float64, &shape[..]), &numbers(35));
            Ok(())
        });
        if dimensions == "(7, 1, 5)" {
            continue; // VTK 9.7 reads such an image as if x and y were the axes.
        }
        in_vtk(
            &file,
            &format!(
                "o = at()\nassert o.GetDimensions() == {dimensions} and (points('rho') == np.arange(35)).all()"
            ),
        );
    }
    let file = with_view(|writer| {
        write(writer, &Dataset::new("x", DataType::Float64, [3]), &reals(&[1.0, 2.0, 4.0]));
        let mut rho = Dataset::new("rho", DataType::Float64, [2, 3]);
        rho.dimension_names = vec![None, Some("x".into())];
        write(writer, &rho, &numbers(6));
        Ok(())
    });
    in_h5py(&file, "assert 'VTKHDF' not in f and 'equally spaced' in f.attrs['scda_not_shown']");
}

/// Steps that are appended, each with a view.
#[test]
fn a_mesh_grows() {
    let file = with_view(|writer| {
        writer.group("roof", r#"{"scda_cells": 1}"#)?;
        roof(writer, 1.0);
        time(writer, "roof", 0.0);
        roof_fields(writer, 0);
        Ok(())
    });
    let mut sizes = Vec::new();
    for step in 1..70 {
        let mut writer = Writer::append(Solo, &file.path, &with_views()).unwrap();
        time(&mut writer, "roof", step as f64);
        roof_fields(&mut writer, step);
        writer.close().unwrap();
        sizes.push(file.bytes_of_last_view());
    }
    dump(&file);
    in_vtk(
        &file,
        r"
assert times == list(range(70)), times
for n in (69, 0, 33):
    o = at(n)
    assert o.GetNumberOfCells() == 3 and list(cells('t')) == [100 * n + k for k in range(3)]
    assert (points('v') == np.arange(12.).reshape(6, 2) + 100 * n).all()
",
    );
    // The links to datasets with names of dimensions do not confuse others.
    in_python(
        &file,
        &["netCDF4"],
        "d = netCDF4.Dataset(path)\nassert d['roof/cell_fields/t'].dimensions[0] == 'time' and len(d['VTKHDF/Steps/Values']) == 70",
    );
    in_python(
        &file,
        &["xarray", "h5netcdf"],
        "d = xarray.open_datatree(path, engine='h5netcdf', phony_dims='sort')\nassert list(d['roof/time'].values) == list(range(70)) == list(d['VTKHDF/Steps/Values'].values)",
    );
    let largest = sizes.iter().max().unwrap();
    eprintln!("{sizes:?}");
    // The first one has the constants of the outline.
    assert!(*largest < 12_600, "{sizes:?}");
}
