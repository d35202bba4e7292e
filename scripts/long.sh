#!/usr/bin/env bash
# long.sh [STEP [ARGUMENT...]]: what takes too long for every day, with Open MPI: all steps, or this one, also with another number of its own.
# long.sh --share N: all steps, with an Nth of their numbers. long.sh --list: their names and numbers.
# Of all steps, what has passed for this commit is not repeated (`once` in lib.sh). Each shows time and peak memory of its programs. Writes
# below target only; needs 11 GiB in target/long.
set -euo pipefail
# What is cheap and most likely to fail comes first.
steps=(package "tests openmpi" "tests mpich" "tests serial" strangers instructions mpis subproject "python 7000"
  limits large_streams ranks digits "power_loss 1000000" each model "background 10000" injected "codes_fuzz 5000" "fuzz 3000" "views 2000" "mutated_views 500000"
  t8code dealii amrex fenicsx pyfr "debian trixie" "debian sid" offline reproduce address
  "kills 300" "kills_of killed_append 300" "kills_of killed_streams 300" "kills_behind 1000" "powerless 300" "cluster all" "deaths 1000" "checkpoints 10000" "simulation 100000")
if [ "$*" = --list ]; then
  printf '%s\n' "${steps[@]}"
  exit
fi
here=$(dirname -- "$0")
"$here/setup.sh" long
. "$here/lib.sh"

folder=target/long
log=$root/$folder/build.log
tests=$root/$folder/ffi-tests
mkdir -p $folder/logs $folder/files
MPICC=$(mpicc_of openmpi)
export MPICC

# library VARIANT...: builds the library as users get it, and its tests.
library() {
  local variant
  for variant; do
    build_library "$variant" "$(folder_of "$variant")"
    case $variant in
    openmpi) build_with_library ffi-tests $folder ;;
    *) build_with_library ffi-tests $folder/"$variant" "-DSCDA_COMPARE_WITH=$tests" ;;
    esac
  done
  mpiexec=$(in_pc mpiexec $folder)
}
folder_of() { [ "$1" = openmpi ] && echo $folder || echo "$folder/$1"; }

# measured COMMAND...: its output, and its time and the memory of the largest process. It may take $patience seconds.
measured() {
  python3 - "${patience:-3600}" "$@" <<'END'
import resource, subprocess, sys, time
begin = time.time()
status = subprocess.run(["timeout", "--kill-after=10"] + sys.argv[1:], stdin=subprocess.DEVNULL).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(f"{time.time() - begin:.1f} s, at most {peak:.0f} MiB in one process: {' '.join(sys.argv[2:])}", flush=True)
sys.exit(status)
END
}

step_package() { # all tests of the packaged crate, in the package, without MPI and with the system's zlib
  cargo package "${packaged[@]/#/--package=}" --quiet --locked --offline --allow-dirty --no-verify --target-dir $folder/cargo
  unpack_crates $folder/cargo
  export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_OPT_LEVEL=1 # as scripts/test.sh
  measured cargo test --quiet --locked --manifest-path $folder/cargo/unpacked/Cargo.toml --workspace --target-dir $folder/cargo --no-default-features
}
# step_tests VARIANT: all tests of the C library; those with Open MPI write the files that the others compare with
step_tests() {
  library "$1"
  c_tests "ctest-$1" 7200 "$(folder_of "$1")/ffi-tests" --timeout 600
}
step_strangers() { # used by strangers, also all variants in one folder, moved, and by the benchmark programme
  library openmpi mpich serial
  for there in $folder $folder/mpich $folder/serial; do
    measured ffi-tests/consumers/run.sh $there/prefix
  done
  rm -rf $folder/together* $folder/moved-together # nothing of an earlier installation may help
  for variant in openmpi mpich serial; do
    build_library $variant $folder/together-$variant -DSCDA_SUFFIX=-$variant "-DCMAKE_INSTALL_PREFIX=$root/$folder/together"
  done
  mv $folder/together $folder/moved-together
  for variant in openmpi serial; do # MPICH is the other MPI of the first
    measured ffi-tests/consumers/run.sh $folder/moved-together scda-$variant
  done
  rm -rf $folder/together* $folder/moved-together
  measured scripts/bench.sh --quick --mpi mpich --installed $folder
}
step_mpis() { # Open MPI 5, MPICH 5, and the standard ABI of MPI 5
  library openmpi
  scripts/mpis.sh $folder
}
step_instructions() { measured scripts/instructions.sh --target-dir $folder/cargo; } # more than on record is an error
step_subproject() { # a part of another project
  for variant in openmpi mpich serial; do
    measured ffi-tests/consumers/subproject.sh $variant
  done
}
# step_python CASES: pip install ./python, and of a wheel from the source archive, made without a network; CASES of arrays with any strides,
# beside numpy, in each of three tests
step_python() {
  install_python
  wheel_from_archive
  measured env "SCDA_CASES=$1" "PYTHONPATH=$(echo "$root/$folder"/venv/lib/python3*/site-packages)" \
    "$(system_python)" -m pytest -p no:cacheprovider -q python/tests/test_memory.py
}
install_python() {
  run 120 "$(system_python)" -m venv --clear $folder/venv
  run 1200 env "CARGO_TARGET_DIR=$root/target/python/cargo" $folder/venv/bin/python -m pip install --disable-pip-version-check --no-deps ./python
}
wheel_from_archive() {
  run 300 $folder/venv/bin/python -m pip install --disable-pip-version-check 'maturin>=1.7,<2'
  unpack_python $folder/dist $folder/venv
  run_without_network 1800 env "PATH=$root/$folder/venv/bin:$PATH" $folder/venv/bin/python -m pip wheel --disable-pip-version-check \
    --no-build-isolation --no-deps --wheel-dir $folder/dist $folder/dist/sources
  run 300 $folder/venv/bin/python -m pip install --disable-pip-version-check --no-deps --force-reinstall $folder/dist/*.whl
  rm -rf $folder/dist
}
step_t8code() { measured scripts/t8code.sh; }
step_dealii() { measured scripts/dealii.sh; }
step_amrex() { measured scripts/amrex.sh; }
step_pyfr() { # a case of PyFR, with its writer and ours, and a restart on another number of ranks
  local there=$root/target/tools/pyfr files=$root/$folder/files/pyfr scotch
  log=$root/$folder/logs/pyfr.log
  scotch=$(ls /usr/lib*/libscotch*.so /usr/lib/*/libscotch*.so 2>/dev/null | grep -v err | head -n 1 || true)
  if [ -z "$scotch" ]; then
    echo "skipped: pyfr: there is no SCOTCH to divide meshes (Debian: libscotch-dev)"
    return
  fi
  run 120 "$(system_python)" -m venv "$there"
  if ! timeout 600 "$there/bin/python" -m pip install --disable-pip-version-check pyfr==3.1 'mpich==5.*' >"$log" 2>&1 </dev/null; then
    echo "skipped: pyfr: pip could not install it: $log"
    return
  fi
  run 1200 env "CARGO_TARGET_DIR=$root/target/python/cargo" "$there/bin/python" -m pip install --disable-pip-version-check --no-deps --force-reinstall ./python
  rm -rf "$files"
  mkdir -p "$files/restart"
  run 60 "$there/bin/python" python/tests/pyfr_case.py "$files"
  run 60 gcc -O2 -shared -fPIC python/tests/pyfr_matmul.c -o "$files/libxsmm.so"
  pyfr() { # FOLDER COMMAND...: in this folder, with MPICH, whose processes are few
    run 900 env -C "$1" "PATH=$there/bin:$PATH" "PYFR_XSMM_LIBRARY_PATH=$files/libxsmm.so" "PYFR_SCOTCH_LIBRARY_PATH=$scotch" OMP_NUM_THREADS=1 "${@:2}"
  }
  pyfr "$files" pyfr import case.msh case.pyfrm
  for ranks in 2 3; do
    pyfr "$files" pyfr partition add -pscotch -e tri:2 -e quad:3 case.pyfrm $ranks
  done
  pyfr "$files" mpiexec -n 3 python -m scda.pyfr run -b openmp case.pyfrm case.ini
  pyfr "$files/restart" mpiexec -n 2 python -m scda.pyfr restart -b openmp ../case.pyfrm ../scda-0.20.pyfrs ../case.ini
  pyfr "$files" pyfr export volume case.pyfrm scda-0.40.pyfrs end.vtu
  pyfr "$files" python "$root/python/tests/pyfr_case.py" . restart
  tail -n 1 "$log"
}
step_fenicsx() { # the tests of io4dolfinx in Debian's unstable distribution, with its backend h5py and with ours
  local backend there=$root/target/tools/debian-sid files version passed
  files=$there/target/fenicsx
  log=$root/$folder/logs/fenicsx.log
  debian_root sid python3-io4dolfinx python3-h5py python3-h5py-mpi python3-ipyparallel python3-pytest openmpi-bin
  "${as_root[@]}" rm -rf "$files"
  "${as_root[@]}" install -d -o "$(id -u)" "$files"
  inside 60 python3 -c 'from importlib.metadata import version; print(version("io4dolfinx"))'
  version=$(tail -n 1 "$log")
  install_python
  run 1200 env "CARGO_TARGET_DIR=$root/target/python/cargo" $folder/venv/bin/python -m pip wheel --disable-pip-version-check --no-deps --wheel-dir "$files" ./python
  run 60 python3 -m zipfile -e "$files"/scda-*.whl "$files/package"
  run 300 $folder/venv/bin/python -m pip download --disable-pip-version-check --no-deps --python-version 3.14 --no-binary :all: --dest "$files" "io4dolfinx==$version"
  tar -xzf "$files"/io4dolfinx-*.tar.gz -C "$files" --strip-components 1 --wildcards '*/tests'
  cp python/tests/fenicsx_fixtures.py "$files/tests/conftest.py"
  in_sid() { inside 3600 env "PYTHONPATH=$root/target/fenicsx/package" OMPI_MCA_mpi_yield_when_idle=1 "$@"; }
  passed=()
  for backend in h5py scda; do
    log=$root/$folder/logs/fenicsx-$backend.log
    # Some tests fail with any backend, where what they need is not installed.
    (in_sid env -C target/fenicsx/tests "SCDA_BACKEND=$backend" python3 -m pytest -q -p no:cacheprovider) >/dev/null 2>&1 || true
    passed+=("$(grep -aoE '[0-9]+ passed' "$log" | tail -n 1 | cut -d ' ' -f 1)")
  done
  echo "io4dolfinx $version: ${passed[0]} tests passed with h5py, ${passed[1]} with scda"
  [ "${passed[1]}" -ge "${passed[0]}" ]
  log=$root/$folder/logs/fenicsx.log
  in_sid mpiexec -n 3 python3 python/tests/fenicsx_program.py write scda.io4dolfinx target/fenicsx
  in_sid mpiexec -n 2 python3 python/tests/fenicsx_program.py read scda.io4dolfinx target/fenicsx
  in_sid mpiexec -n 2 python3 python/tests/fenicsx_program.py read h5py target/fenicsx
}
# step_debian RELEASE: the library built, and the C tests, those of deal.II and of Python, with what this release of Debian has
step_debian() {
  local there=$root/target/tools/debian-$1
  log=$root/$folder/logs/debian-$1.log
  debian_root "$1" ca-certificates
  inside 3600 scripts/setup.sh test
  inside 3600 apt-get install -qq -y --no-install-recommends libdeal.ii-dev mold # by which it is linked
  # shellcheck disable=SC2016 # for that shell
  inside 14400 bash -euc '. scripts/lib.sh
    folder=target/debian
    mkdir -p $folder/logs
    dpkg-query -W libopenmpi-dev libmpich-dev libp4est-dev libdeal.ii-dev libhdf5-dev gcc cmake python3
    for variant in openmpi mpich; do
      log=$root/$folder/logs/$variant.log
      export MPICC=$(mpicc_of $variant)
      build_library $variant $folder/$variant
      build_with_library ffi-tests $folder/$variant
      c_tests $variant 7200 $folder/$variant/ffi-tests --timeout 600
    done
    scripts/dealii.sh
    scripts/python.sh $folder/openmpi'
  cat "$log"
}
step_offline() { # built without a network
  scripts/offline.sh openmpi
  scripts/offline.sh serial
}
step_reproduce() { scripts/reproduce.sh serial; } # the same bytes from two builds
step_limits() { # large numbers
  library openmpi
  for how in array varray beyond; do
    measured "$mpiexec" -n 2 "$tests/limits" $how $folder/files/limits.scda
  done
  measured "$mpiexec" -n 2 "$tests/limits" open $folder/files
}
step_large_streams() { # a stream of 10 GiB beside others that have little, plain and sealed
  library openmpi
  for seal in 0 1; do
    measured "$mpiexec" -n 4 "$tests/large_streams" $folder/files/large-streams.scda $seal
  done
}
# optimized OPTION...: Rust tests with optimization; not across crates, which takes minutes to compile
optimized() {
  measured env CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0 \
    cargo test --locked --release --target-dir $folder/cargo "$@"
}
step_ranks() { # 1000 ranks in one process, and 64 real ones
  optimized --test files -- --ignored limits::
  library openmpi
  mkdir -p $folder/files/matrix
  for ranks in 1 64; do
    measured "$mpiexec" -n $ranks "$tests/matrix" $folder/files/matrix
  done
}
step_digits() { optimized -p scda-format --lib proofs -- --ignored; } # all numbers of eight digits; rows, seals and headers with each two bytes
step_each() { # each byte that is flipped or removed, each exchange or allocation that fails, large chunks at each level, each way to copy
  export SCDA_EACH=1
  optimized --test files -- levels:: sealed_reading:: to_seal::
  optimized --test faults --test exhaustion
  optimized -p scda --lib -- file::writer::simulation::
  optimized -p scda-command --test tools -- sealed:: written::
}
step_model() { # what docs/model.md has of many ranks
  for ranks in 10000 100000; do
    SCDA_RANKS=$ranks optimized -p scda --lib -- simulation::compared:: --nocapture
  done
}
# step_power_loss STATES: this number of disks after a loss of power
step_power_loss() { SCDA_EACH=1 SCDA_STATES=$1 SCDA_CHANGES=9 optimized --test power_loss -- --skip simulation:: --nocapture; }
# step_simulation SEEDS: this number of simulated runs
step_simulation() { SCDA_EACH=1 SCDA_SEEDS=$1 optimized --test power_loss -- simulation:: --nocapture; }
# step_background SCHEDULES: this number of schedules of files that are written in the background
step_background() { SCDA_SCHEDULES=$1 optimized --test background -- whatever; }
step_injected() { # each call of the system or of MPI fails
  library openmpi
  mkdir -p $folder/files/injected.scda-folder
  for ranks in 1 2 5; do
    measured "$mpiexec" -n $ranks "$tests/injected" $folder/files/injected.scda-folder
  done
}
# step_codes_fuzz FILES: patches and particles in this number of changed files, on 1 and on 3 ranks
step_codes_fuzz() {
  library openmpi
  for ranks in 1 3; do
    measured env ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 "$mpiexec" -n $ranks "$tests/codes_fuzz" $folder/files "$1" ${ranks}00000
  done
}
# step_fuzz RUNS: of each fuzzer, with the same inputs on every machine
step_fuzz() { FUZZ_SEED=1 measured scripts/fuzz.sh "$1x"; }
# step_views FILES: this number of random files, as HDF5 of this machine, of Debian 13 and of Debian's unstable distribution reads them
step_views() {
  local there release files=$folder/files/views
  rm -rf $files
  mkdir -p $files
  SCDA_FILES=$1 SCDA_KEEP=$root/$files optimized -p scda-hdf5 --test views -- random::
  for release in trixie sid; do
    there=$root/target/tools/debian-$release
    log=$root/$folder/logs/views-$release.log
    debian_root $release hdf5-tools python3-h5py
    "${as_root[@]}" rm -rf "$there/target/views"
    "${as_root[@]}" mkdir -p "$there/target"
    "${as_root[@]}" cp -r $files "$there/target/"
    inside 3600 sh -euc 'h5dump --version
      python3 crates/hdf5/tests/views/compare.py target/views/*/file.scda
      for file in target/views/*/file.scda; do
        for tool in "h5dump -p" h5stat; do
          $tool "$file" >target/shown 2>target/errors || grep -q -e filter -e "unable to print data" target/errors
        done
      done'
  done
}
# step_mutated_views VIEWS: this number of them, which are checked, and as many which are appended to
step_mutated_views() {
  SCDA_MUTATIONS=$1 optimized -p scda-hdf5 --test views -- mutated damaged_view
}
step_address() { measured scripts/sanitize.sh address-each; } # each call that can fail, and each kill, with sanitizers
# step_kills KILLS: of a program that writes checkpoints, for each driver and number of ranks
step_kills() {
  library openmpi
  for driver in 2 1 4 3; do # POSIX, MPI-IO; the same in place
    for ranks in 1 2 3; do
      measured python3 ffi-tests/killed.py $folder/files/killed "$1" $driver$ranks $driver "$tests/killed" "$mpiexec" -n $ranks
    done
  done
}
# step_kills_of PROGRAM KILLS: which appends to a file, before each of its calls of the system, and at random
step_kills_of() {
  library openmpi
  export SCDA_COMMAND=$root/$folder/prefix/bin/scda
  for driver in 2 1; do
    measured python3 ffi-tests/killed_append.py $folder/files/killed all $driver $driver "$tests/$1" "$mpiexec" -n 1
    for ranks in 1 2 3; do
      measured python3 ffi-tests/killed_append.py $folder/files/killed "$2" $driver$ranks $driver "$tests/$1" "$mpiexec" -n $ranks
    done
  done
}
# step_kills_behind KILLS: while a thread writes
step_kills_behind() {
  library openmpi
  export SCDA_BACKGROUND_BYTES=1048576
  for ranks in 1 2 3; do
    measured python3 ffi-tests/killed_append.py $folder/files/killed "$1" $ranks 2 "$tests/killed_append" "$mpiexec" -n $ranks
  done
}
# step_powerless LOSSES: of power, on a file system that forgets what was not synced
step_powerless() {
  if [ ! -w /dev/fuse ]; then
    echo "skipped: powerless: nobody may mount a file system of a program here (/dev/fuse)"
    return
  fi
  library openmpi
  mkdir -p $folder/files/forgetful
  run 600 cargo build --locked --manifest-path tests/forgetful/Cargo.toml --target-dir $folder/cargo
  for program in killed_append killed_streams; do
    for ranks in 1 2 3; do
      measured $folder/cargo/debug/scda-forgetful $folder/files/forgetful \
        python3 ffi-tests/powerless.py $folder/files/forgetful "$1" $ranks "$tests/$program" "$mpiexec" -n $ranks
    done
  done
}
# step_cluster quick|all|FILESYSTEM...: nodes with kernels of their own and network file systems: quick takes six minutes, all some hours
step_cluster() {
  library openmpi
  patience=20000 measured scripts/cluster.sh $folder "$@"
}
# step_deaths N: N jobs on two nodes of which a process is killed, N/10 of which a node dies, and N/50 that meet up to five crashes of the server
step_deaths() {
  local series
  library openmpi
  for series in killed_process:1 node_dies:10 server_dies:50; do
    patience=20000 measured env SCDA_CLUSTER_NODES=2 SCDA_CLUSTER_TESTS="${series%:*}" "SCDA_CLUSTER_TIMES=$((($1 - 1) / ${series#*:} + 1))" \
      scripts/cluster.sh $folder nfs4.2
  done
}
# step_checkpoints N: so many on two nodes, while processes, nodes and the server of NFS die
step_checkpoints() {
  library openmpi
  patience=20000 measured env SCDA_CLUSTER_NODES=2 SCDA_CLUSTER_TESTS=checkpoints "SCDA_CLUSTER_CHECKPOINTS=$1" scripts/cluster.sh $folder nfs4.2
}

usage() {
  echo "usage: $0 [--list | --share N | STEP [ARGUMENT...]], of which all are" >&2
  printf '  %s\n' "${steps[@]}" >&2
  exit 2
}
share=1
if [ "${1-}" = --share ]; then
  [[ $# -eq 2 && $2 =~ ^[1-9][0-9]*$ ]] || usage
  share=$2
  shift 2
fi
if [ $# -eq 0 ]; then
  for step in "${steps[@]}"; do
    number=${step##* }
    [[ ! $number =~ ^[0-9]+$ ]] || step="${step% *} $((number / share > 0 ? number / share : 1))"
    # shellcheck disable=SC2086 # a step and its numbers
    once scripts/long.sh $step
  done
  exit
fi
[ "$(type -t "step_$1")" = function ] || usage
"step_$1" "${@:2}"
