#!/usr/bin/env bash
# beside.sh libraries|builds|checks: the steps that test.sh runs beside its own.
#   libraries: the C libraries, beside the Rust tests
#   builds: what only compiles, beside the tests of the C libraries, whose MPI jobs must not wait for others: these get the idle cores
#   checks: uses of the installed library, beside the tests of the Python package: no MPI job in which time matters
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
  # Ranks that wait yield their core to whatever else there is; as an idle process, that gives it back at once. Linux may compare sessions
  # before it compares their processes, so this session gets the least, too. (Not every container lets it.)
  renice -n 19 $$ >/dev/null
  chrt --idle --pid 0 $$ || true
  echo 19 2>/dev/null >/proc/$$/autogroup || true
  export SCDA_PATIENCE=8
  heading "Rust documentation, its programs"
  step doc-test 600 "${cargo[@]}" test "${with_mpi[@]}" "${with_assertions[@]}" --doc # which cargo-nextest leaves out
  if cargo clippy --version >/dev/null 2>&1; then
    heading "Rust lints, with those of the fuzzers and of the Python package" # libFuzzer itself: scripts/fuzz.sh
    step clippy 900 env CUSTOM_LIBFUZZER_PATH=/not/built/libfuzzer.a "${cargo[@]}" clippy --workspace "${with_mpi[@]}" --all-targets -- -D warnings
    heading "Rust lints, serial" # the tests and benchmarks are the same
    step clippy-serial 900 "${cargo[@]}" clippy -p scda -p scda-c -p scda-libsc --features scda/bundled-zlib --lib -- -D warnings
  else
    echo "Rust lints: left out: rustup component add clippy"
  fi
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
  step doc 600 env RUSTDOCFLAGS=-Dwarnings "${cargo[@]}" doc "${packaged[@]/#/--package=}" --no-deps --features scda/mpi,scda/bundled-zlib
  heading "Rust package"
  step package 600 cargo package "${packaged[@]/#/--package=}" --no-verify --locked --offline --allow-dirty --target-dir $folder/cargo
  if grep '^warning' "$log"; then
    exit 1
  fi
  # That it compiles, by the crates that the lints have compiled. (scripts/long.sh runs its tests.)
  unpack_crates $folder/cargo
  step package-check 900 "${cargo[@]}" check --workspace --features scda/rsmpi,scda/bundled-zlib --manifest-path $folder/cargo/unpacked/Cargo.toml
  heading "The archive, without a network"
  step archive 600 scripts/offline.sh archive # scripts/long.sh builds it
  ;;
checks)
  # The other variants, under names of their own, too, and with the benchmark programme: scripts/long.sh.
  there=$folder/openmpi
  heading "C library, openmpi: used by strangers, installed with DESTDIR and moved"
  rm -rf $there/destdir $there/moved
  log=$root/$folder/logs/destdir-openmpi.log
  run 60 env "DESTDIR=$root/$there/destdir" cmake --install $there/build
  mv "$there/destdir$root/$there/prefix" $there/moved
  step consumers-openmpi 600 ffi-tests/consumers/run.sh $there/moved
  heading "C library, openmpi: a part of another project"
  step subproject-openmpi 900 ffi-tests/consumers/subproject.sh openmpi
  heading "Reference of the C interface" # it is the same for all
  step reference 120 cmake --build $there/build --target doc
  heading "The benchmark programme"
  step bench 600 scripts/bench.sh --quick --mpi openmpi --installed $folder
  ;;
esac
