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

# The Rust tests, the libraries for C, the command and the Python package share what they compile, with the little optimization by which
# tests that try every failure in turn take a tenth of the time. scripts/long.sh tests the libraries as users get them.
compile_soon
export CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_INCREMENTAL=0
export SCDA_CARGO_DIR=$root/target/test/cargo
CC=$(command -v cc)
export CC

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
# No test asks for a library without MPI, so all run once, with it. (test.sh --quick runs most without, and with the system's zlib,
# scripts/long.sh those of the core.)
heading "Rust tests"
rust_tests cargo-test 1800 "${with_mpi[@]}" "${with_assertions[@]}"
heading "Rust tests, of the header"
rust_tests cargo-test-header 600 -p scda-header --features mpi --config profile.release.opt-level=0

join # the libraries are installed
beside builds scripts/beside.sh builds
for variant in openmpi mpich serial; do
  there=$folder/$variant
  heading "C library, $variant: tests of the installed library"
  log=$root/$folder/logs/ffi-tests-$variant.log
  options=(-DSCDA_SAMPLED=ON)
  [ $variant = openmpi ] || options+=("-DSCDA_COMPARE_WITH=$root/$folder/openmpi/ffi-tests") # the files must be the same
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
