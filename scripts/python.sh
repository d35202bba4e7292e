#!/usr/bin/env bash
# python.sh [FOLDER]: builds the Python package, also from its source archive, installs it below target/python, and runs its tests, the
# examples in the documentation, and the tutorial with its picture. FOLDER/prefix has the library with Open MPI, as scripts/demo.sh and
# scripts/test.sh install it; by default that is target/demo, built if it is not there.
set -euo pipefail
here=$(dirname -- "$0")
with=$(realpath -- "${1-$here/../target/demo}")
"$here/setup.sh" python
. "$here/lib.sh"

folder=target/python
mkdir -p $folder/logs
log=$root/$folder/logs/build.log
[ -x "$with/prefix/bin/scda" ] || build_library openmpi "${with#"$root"/}"

heading "Python package: source archive and wheel" # scripts/long.sh makes the wheel from the archive, and installs it from the folder
# numpy, matplotlib, mpi4py and pytest are the system's: mpi4py then has the system's MPI.
run 120 "$(system_python)" -m venv --clear --system-site-packages $folder/venv
python=$folder/venv/bin/python
run 300 $python -m pip install --disable-pip-version-check --ignore-installed 'maturin>=1.7,<2'
unpack_python $folder/dist $folder/venv
run_without_network 300 sh -ec "cd '$root/$folder/dist/sources' && cargo metadata --locked --offline --format-version 1 >/dev/null"
rm -rf $folder/dist/sources
# The core and the command are those that CMake has compiled.
run 1200 env "PATH=$root/$folder/venv/bin:$PATH" "CC=$(command -v cc)" sh cmake/cargo.sh maturin "$root" "${SCDA_CARGO_DIR:-$root/target/cargo}" build \
  --manifest-path python/Cargo.toml --features bundled-zlib --compatibility linux --out $folder/dist
run 60 ls $folder/dist/scda-*-cp39-abi3-*.whl
run 300 $python -m pip install --disable-pip-version-check --no-deps --force-reinstall $folder/dist/*.whl

heading "Python package: tests"
log=$root/$folder/logs/pytest.log
run 900 env "SCDA_PREFIX=$with/prefix" $python -m pytest -n $at_once -p no:cacheprovider --ignore-glob 'python/tests/test_xarray*.py' --ignore python/tests/test_addresses.py --ignore python/tests/test_vtk.py --ignore-glob 'python/tests/test_hdf5*.py' --ignore python/tests/test_import.py --ignore python/tests/test_programs.py --ignore python/tests/test_strangers.py --ignore python/tests/test_corpus.py --deselect tests/test_shapes.py::test_vtk_reads_it --deselect tests/test_texts.py::test_strings_of_numpy python
if grep -qE '^=+ .* skipped' "$log"; then
  grep '^SKIPPED' "$log" >&2
  exit 1
fi
grep -oE '^=+ [0-9]+ passed' "$log" | sed -E 's/=+ ([0-9]+) passed/Python package: \1 tests passed/'

# tests_with NAME "TEST..." PACKAGE...: these files of python/tests, with packages that the system does not have, or that want a newer numpy
# than its other packages do: in an environment of its own, which is kept.
tests_with() {
  local name=$1 tests=$2 python=$folder/${1// /-}/bin/python
  shift 2
  heading "Python package: tests with $name"
  log=$root/$folder/logs/${name// /-}.log
  [ -x "$python" ] || run 120 "$(system_python)" -m venv --clear "${python%/bin/python}"
  if ! timeout 600 "$python" -m pip install --no-compile --disable-pip-version-check pytest pytest-xdist "$@" >"$log" 2>&1 </dev/null; then
    echo "Python package: $* could not be installed, so the tests with $name were skipped: $log"
    return
  fi
  run 300 "$python" -m pip install --disable-pip-version-check --no-deps --force-reinstall $folder/dist/*.whl
  # shellcheck disable=SC2086 # several files
  run 900 env "SCDA_PREFIX=$with/prefix" "$python" -m pytest -n $at_once -p no:cacheprovider $tests
  if grep -qE '^=+ .* skipped' "$log"; then
    grep '^SKIPPED' "$log" >&2
    exit 1
  fi
  grep -oE '^=+ [0-9]+ passed' "$log" | sed -E "s/=+ ([0-9]+) passed/Python package: \\1 tests passed, with $name/"
}
tests_with "xarray and zarr" "python/tests/test_xarray.py python/tests/test_xarray_writing.py python/tests/test_xarray_round_trip.py python/tests/test_addresses.py python/tests/test_hdf5.py python/tests/test_hdf5_views.py --deselect tests/test_hdf5_views.py::test_vtk_opens_meshes python/tests/test_hdf5_layouts.py python/tests/test_corpus.py python/tests/test_strangers.py python/tests/test_import.py python/tests/test_programs.py python/tests/test_texts.py::test_strings_of_numpy" xarray dask 'zarr>=3.1' fsspec aiohttp s3fs h5py h5netcdf hdf5plugin netCDF4 cftime ml_dtypes pandas tables mypy
if [ -x $folder/xarray-and-zarr/bin/mypy ]; then
  heading "Python package: types" # those of the package, all strict
  log=$root/$folder/logs/types.log
  run 600 $folder/xarray-and-zarr/bin/mypy --config-file python/pyproject.toml --cache-dir $folder/mypy python/src/scda
fi
# Here the tutorial is run as a whole, above without what needs h5py and xarray.
tests_with vtk "python/tests/test_vtk.py python/tests/test_shapes.py::test_vtk_reads_it python/tests/test_hdf5_views.py::test_vtk_opens_meshes python/tests/test_docs.py::test_the_tutorial" vtk pyvista h5py xarray
