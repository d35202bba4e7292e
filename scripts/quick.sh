#!/usr/bin/env bash
# What `scripts/test.sh --quick` runs, between two changes: format, the Rust tests of the serial build and of the command, and the C
# tests of the libraries without MPI and with Open MPI, on up to 3 ranks. Writes below target/quick, and temporary files.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"

folder=target/quick
mkdir -p $folder/logs
# Another build than the one that users get: what has changed compiles soon.
compile_soon
export CARGO_INCREMENTAL=1 CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_DEBUG=0
export SCDA_CARGO_DIR=$root/$folder/cargo PROPTEST_CASES=32

if cargo fmt --version >/dev/null 2>&1; then
  heading "Rust format"
  step fmt 60 cargo fmt --check
fi
heading "Rust tests, serial, with the command"
tests=(--lib --bins --test tools)
for test in tests/*.rs tests/*/main.rs; do
  test=${test%/main.rs}
  test=$(basename "${test%.rs}")
  case $test in
  exhaustion | faults) ;; # which try every failure in turn, and take half of the time
  rsmpi) ;; # needs MPI
  *) tests+=(--test "$test") ;;
  esac
done
cargo=(cargo)
rust_tests cargo-test 1200 "${crates[@]/#/--package=}" -p scda-header --locked --target-dir $folder/cargo-serial --no-default-features "${tests[@]}"
for variant in serial openmpi; do
  heading "C library, $variant"
  log=$root/$folder/logs/library-$variant.log
  build_library $variant $folder/$variant -DSCDA_TOOLS=OFF # the tests above have the command
  build_with_library ffi-tests $folder/$variant
  c_tests ctest-$variant 600 $folder/$variant/ffi-tests --timeout 120 -LE large \
    -R '^(prepare|languages|manifests|(matrix|seal|datasets|datasets-errors|corrupt|mutate|errors|errors-disagree|errors-alone|fortran)-[123]|parse-[01]-.*|datasets-read-.*|hello-c|hpp11|faults|readme|sc-.*)$'
done
heading "The quick tests passed; scripts/test.sh runs all"
