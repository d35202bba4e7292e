#!/usr/bin/env bash
# long.sh [KILLS]: what takes too long for every day, with Open MPI: large numbers, many ranks, losses of power, packages, and KILLS kills (300) for each
# driver and number of ranks, and losses of power for each number of ranks. Shows time and peak memory of each. Writes below target/long only; needs 11 GiB there.
set -euo pipefail
here=$(dirname -- "$0")
"$here/setup.sh" long
. "$here/lib.sh"

kills=${1:-300}
folder=target/long
mkdir -p $folder/logs
log=$root/$folder/build.log
MPICC=$(mpicc_of openmpi)
export MPICC

heading "Building"
build_library openmpi $folder
build_with_library ffi-tests $folder -DSCDA_LONG=ON
tests=$root/$folder/ffi-tests
mpiexec=$(in_pc mpiexec $folder)

# measured COMMAND...: its output, and its time and the memory of the largest process.
measured() {
  python3 - "$@" <<'EOF'
import resource, subprocess, sys, time
begin = time.time()
status = subprocess.run(["timeout", "--kill-after=10", "3600"] + sys.argv[1:], stdin=subprocess.DEVNULL).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(f"{time.time() - begin:.1f} s, at most {peak:.0f} MiB in one process: {' '.join(sys.argv[1:])}", flush=True)
sys.exit(status)
EOF
}

heading "All tests of the C library, with each MPI and without"
c_tests ctest-openmpi 7200 $folder/ffi-tests --timeout 600 -LE long
for variant in mpich serial; do
  log=$root/$folder/build.log
  build_library $variant $folder/$variant
  build_with_library ffi-tests $folder/$variant "-DSCDA_COMPARE_WITH=$tests"
  c_tests ctest-$variant 7200 $folder/$variant/ffi-tests --timeout 600
done
heading "Used by strangers, and by the benchmark programme"
for there in $folder $folder/mpich $folder/serial; do
  measured ffi-tests/consumers/run.sh $there/prefix
done
measured scripts/bench.sh --quick --mpi mpich --installed $folder

heading "Open MPI 5, MPICH 5, and the standard ABI of MPI 5"
scripts/mpis.sh $folder
heading "Large numbers"
mkdir -p $folder/files
for how in array varray beyond; do
  measured "$mpiexec" -n 2 "$tests/limits" $how $folder/files/limits.scda
done
measured "$mpiexec" -n 2 "$tests/limits" open $folder/files
heading "A stream of 10 GiB beside others that have little, plain and sealed"
for seal in 0 1; do
  measured "$mpiexec" -n 4 "$tests/large_streams" $folder/files/large-streams.scda $seal
done
heading "All numbers of eight digits"
measured cargo test --locked --release --target-dir $folder/cargo --lib format::proofs -- --ignored
heading "1000 ranks in one process"
measured cargo test --locked --release --target-dir $folder/cargo --test files -- --ignored limits::
heading "A million disks after a loss of power, 100,000 simulated runs"
measured env SCDA_STATES=1000000 SCDA_CHANGES=9 SCDA_SEEDS=100000 \
  cargo test --locked --release --target-dir $folder/cargo --test power_loss -- --nocapture
heading "Each byte that is flipped or cut off, each exchange or allocation that fails, large chunks at each level"
measured env SCDA_EACH=1 cargo test --locked --release --target-dir $folder/cargo --test files -- levels:: sealed_reading:: to_seal::
measured env SCDA_EACH=1 cargo test --locked --release --target-dir $folder/cargo --test faults --test exhaustion
heading "10,000 schedules of files that are written in the background"
measured env SCDA_SCHEDULES=10000 cargo test --locked --release --target-dir $folder/cargo --test background -- whatever
heading "64 real ranks"
mkdir -p $folder/files/matrix
measured "$mpiexec" -n 1 "$tests/matrix" $folder/files/matrix
measured "$mpiexec" -n 64 "$tests/matrix" $folder/files/matrix
heading "Each call of the system or of MPI fails, on 1, 2 and 5 ranks"
mkdir -p $folder/files/injected.scda-folder
for ranks in 1 2 5; do
  measured "$mpiexec" -n $ranks "$tests/injected" $folder/files/injected.scda-folder
done
heading "Patches and particles in 10,000 changed files"
for ranks in 1 3; do
  measured env ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 "$mpiexec" -n $ranks "$tests/codes_fuzz" $folder/files 5000 ${ranks}00000
done
heading "The fuzzers, 3000 runs each, with the same inputs on every machine"
FUZZ_SEED=1 measured scripts/fuzz.sh 3000x
heading "Sanitizers of addresses: each call that can fail, and each kill"
measured scripts/sanitize.sh address-each
heading "All tests of the packaged crate, in the package"
cargo package --quiet --locked --offline --allow-dirty --no-verify --target-dir $folder/cargo
unpack_crate $folder/cargo
measured cargo test --quiet --locked --manifest-path $folder/cargo/unpacked/Cargo.toml --target-dir $folder/cargo --no-default-features --features sc
heading "Built without a network"
scripts/offline.sh openmpi
scripts/offline.sh serial
heading "The same bytes from two builds"
scripts/reproduce.sh
scripts/reproduce.sh wheels
heading "A part of another project"
for variant in openmpi mpich serial; do
  measured ffi-tests/consumers/subproject.sh $variant
done
heading "Python: pip install ./python"
run 120 "$(system_python)" -m venv --clear $folder/venv
run 1200 env "CARGO_TARGET_DIR=$root/target/python/cargo" $folder/venv/bin/python -m pip install --disable-pip-version-check --no-deps ./python
heading "Python: 21,000 arrays with any strides, beside numpy"
measured env SCDA_CASES=7000 "PYTHONPATH=$(echo "$root/$folder"/venv/lib/python3*/site-packages)" \
  "$(system_python)" -m pytest -p no:cacheprovider -q python/tests/test_memory.py
heading "ParaView: the plugin"
if command -v pvpython >/dev/null; then
  rm -rf $folder/paraview
  run 1200 $folder/venv/bin/python -m pip install --disable-pip-version-check --no-deps --target $folder/paraview ./python
  # As docs/python.md says for ParaView 5.11 with Python 3.11.
  echo 'import inspect; inspect.getargspec = inspect.getfullargspec' >$folder/paraview/sitecustomize.py
  measured env PYTHONPATH=$folder/paraview PV_PLUGIN_PATH="$root/python/paraview" pvpython python/tests/paraview_program.py $folder/files
else
  echo "ParaView: there is no pvpython, so the plugin was not tested"
fi
if command -v dpkg-buildpackage >/dev/null; then
  heading "Debian packages"
  scripts/debian.sh
  scripts/reproduce.sh debian
fi
heading "t8code and deal.II"
measured scripts/t8code.sh
measured scripts/dealii.sh
heading "Kills"
for driver in 2 1 4 3; do # POSIX, MPI-IO; the same in place
  for ranks in 1 2 3; do
    measured python3 ffi-tests/killed.py $folder/files/killed "$kills" $driver$ranks $driver "$tests/killed" "$mpiexec" -n $ranks
  done
done
heading "Kills while a file is appended to"
export SCDA_COMMAND=$root/$folder/prefix/bin/scda
for program in killed_append killed_streams; do
  for driver in 2 1; do
    measured python3 ffi-tests/killed_append.py $folder/files/killed all $driver $driver "$tests/$program" "$mpiexec" -n 1
    for ranks in 1 2 3; do
      measured python3 ffi-tests/killed_append.py $folder/files/killed "$kills" $driver$ranks $driver "$tests/$program" "$mpiexec" -n $ranks
    done
  done
done
heading "Losses of power, on a file system that forgets what was not synced"
if [ -w /dev/fuse ]; then
  mkdir -p $folder/files/forgetful
  run 600 cargo build --locked --manifest-path forgetful/Cargo.toml --target-dir $folder/cargo
  for program in killed_append killed_streams; do
    for ranks in 1 2 3; do
      measured $folder/cargo/debug/scda-forgetful $folder/files/forgetful \
        python3 ffi-tests/powerless.py $folder/files/forgetful "$kills" $ranks "$tests/$program" "$mpiexec" -n $ranks
    done
  done
else
  echo "losses of power: nobody may mount a file system of a program here (/dev/fuse)"
fi
heading "Kills while a thread writes"
export SCDA_BACKGROUND_BYTES=1048576
for ranks in 1 2 3; do
  measured python3 ffi-tests/killed_append.py $folder/files/killed 1000 $ranks 2 "$tests/killed_append" "$mpiexec" -n $ranks
done
