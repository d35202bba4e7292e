#!/usr/bin/env bash
# beside.sh libraries|builds|checks: the steps that test.sh runs beside its own.
#   libraries: the C libraries, beside the Rust tests
#   builds: what only compiles, beside the tests of the C libraries, whose MPI jobs must not wait for others: these get the idle cores
#   checks: what has no MPI job in which time matters
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"
folder=target/test

case $1 in
libraries)
  for variant in openmpi mpich serial; do
    heading "C library, $variant: build and install"
    log=$root/$folder/logs/library-$variant.log
    build_library $variant $folder/$variant
  done
  ;;
builds)
  # Ranks that wait yield their core to whatever else there is; as an idle process, that gives it back at once.
  renice -n 19 $$ >/dev/null
  chrt --idle --pid 0 $$ || true # not every container lets it
  export SCDA_PATIENCE=8
  if cargo clippy --version >/dev/null 2>&1; then
    heading "Rust lints, with those of the fuzzers and of the Python package" # libFuzzer itself: scripts/fuzz.sh
    step clippy 900 env CUSTOM_LIBFUZZER_PATH=/not/built/libfuzzer.a cargo clippy --workspace "${rust_with_mpi[@]}" --all-targets -- -D warnings
    heading "Rust lints, serial" # the tests and benchmarks are the same
    step clippy-serial 900 cargo clippy "${rust_serial[@]}" --lib -- -D warnings
  else
    echo "Rust lints: left out: rustup component add clippy"
  fi
  heading "Builds for the sanitizers and the counted instructions"
  step sanitize-build 1800 scripts/sanitize.sh address-build
  step instructions 1800 scripts/instructions.sh --target-dir $folder/cargo-instructions
  heading "Instructions of the pure parts"
  sed 1d $folder/logs/instructions.log
  heading "The crates are those of the list of licences" # what they may be: scripts/dependencies.sh
  step crates 120 scripts/crates.py check
  heading "The modules"
  step modules 60 scripts/modules.py
  sed 1d $folder/logs/modules.log
  heading "The ABI"
  step abi 60 scripts/abi.sh
  sed 1d $folder/logs/abi.log
  heading "Recipes of other systems are Python"
  step recipes 60 python3 -c 'import sys; [compile(open(name).read(), name, "exec") for name in sys.argv[1:]]' packaging/spack/package.py packaging/easybuild/libscda.eb
  heading "A release, dry"
  step release 120 scripts/release.sh --dry-run 99.0.0
  heading "Rust documentation"
  step doc 600 env RUSTDOCFLAGS=-Dwarnings cargo doc --locked --no-deps --target-dir $folder/cargo
  heading "Rust package"
  step package 600 cargo package --no-verify --locked --offline --allow-dirty --target-dir $folder/cargo
  if grep '^warning' "$log"; then
    exit 1
  fi
  # That it compiles, with its tests, by the crates that the lints have compiled. (scripts/long.sh runs all of its tests.)
  unpack_crate $folder/cargo
  package=(--manifest-path $folder/cargo/unpacked/Cargo.toml)
  step package-check 900 cargo check "${rust_serial[@]}" --features rsmpi "${package[@]}" --tests
  heading "The archive, without a network"
  step archive 600 scripts/offline.sh archive # scripts/long.sh builds it
  ;;
checks)
  heading "Sanitizers: addresses, leaks, undefined behaviour"
  step sanitize 1800 scripts/sanitize.sh address
  rm -rf $folder/together* # nothing of an earlier installation may help
  heading "C library, openmpi: a part of another project" # the others: scripts/long.sh
  step subproject-openmpi 900 ffi-tests/consumers/subproject.sh openmpi
  for variant in openmpi mpich serial; do
    log=$root/$folder/logs/together-$variant.log
    build_library $variant $folder/together-$variant -DSCDA_SUFFIX=-$variant "-DCMAKE_INSTALL_PREFIX=$root/$folder/together"
  done
  rm -rf $folder/moved-together
  mv $folder/together $folder/moved-together
  for variant in openmpi serial; do # MPICH is the other MPI of the first
    heading "C library, $variant: used by strangers, all variants in one folder, moved"
    step consumers-together-$variant 900 ffi-tests/consumers/run.sh $folder/moved-together scda-$variant
  done
  ;;
esac
