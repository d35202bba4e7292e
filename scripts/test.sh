#!/usr/bin/env bash
# test.sh [--quick]: all tests, each with at least one variant of the library (with each of them: scripts/long.sh), up to the first
# failure; with --quick those of scripts/quick.sh. The steps come one after the other; beside them run those of scripts/beside.sh.
# Writes below target/, and temporary files.
set -euo pipefail
here=$(dirname -- "$0")
"$here/setup.sh" test
. "$here/lib.sh"
case "$# ${1-}" in
"0 ") ;;
"1 --quick") exec scripts/quick.sh ;;
*)
  echo "usage: $0 [--quick]" >&2
  exit 2
  ;;
esac

# Less on the disk, and to compile: a test that fails names file and line without debug information, what valgrind shows needs no more than
# lines, and nothing is compiled twice here.
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_RELEASE_DEBUG=line-tables-only CARGO_INCREMENTAL=0
# With all assertions; but tests that try every failure in turn take a tenth of the time.
export CARGO_PROFILE_DEV_OPT_LEVEL=1
# scripts/long.sh tests the libraries as users get them.
compile_soon

folder=target/test
mkdir -p $folder/logs
export SCDA_TIMES=$root/$folder/logs/times
rm -f "$SCDA_TIMES"
MPICC=$(mpicc_of openmpi) # the crate mpi builds with it
export MPICC

beside libraries scripts/beside.sh libraries
if cargo fmt --version >/dev/null 2>&1; then
  heading "Rust format"
  step fmt 60 cargo fmt --check
else
  echo "Rust format: left out: rustup component add rustfmt"
fi
# No test asks for a library without MPI, so all run once, with it. (test.sh --quick runs most without, scripts/long.sh those of the core.)
heading "Rust tests"
rust_tests cargo-test 1800 "${rust_with_mpi[@]}"

join # the libraries are installed
beside builds scripts/beside.sh builds
for variant in openmpi mpich serial; do
  there=$folder/$variant
  heading "C library, $variant: tests of the installed library"
  log=$root/$folder/logs/ffi-tests-$variant.log
  options=()
  [ $variant = openmpi ] || options=("-DSCDA_COMPARE_WITH=$root/$folder/openmpi/ffi-tests") # the files must be the same
  build_with_library ffi-tests $there "${options[@]}"
  # One MPI job at a time: it takes all cores. What another variant has found out: scripts/long.sh.
  c_tests ctest-$variant 3600 $there/ffi-tests --timeout 300 -LE again
done

join
beside checks scripts/beside.sh checks
heading "The Python package, with the tutorial and its picture"
step python 2400 scripts/python.sh $folder/openmpi

log=$root/$folder/logs/examples.log
show_checkpoint $folder/openmpi
join
rm -rf $folder/*/destdir $folder/*/moved $folder/*/ffi-tests/files target/subproject
heading "The steps"
show_times
heading "On the disk"
du -sh target
heading "All tests passed"
