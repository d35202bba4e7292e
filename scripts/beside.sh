#!/usr/bin/env bash
# beside.sh builds|checks: what test.sh runs beside its own steps, with no MPI job in which time matters.
#   builds: the C libraries are built and installed; licences and sources of the crates are checked
#   checks: the libraries as parts of another project and side by side; sanitizers, fuzzers, the archive, instructions
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"
folder=target/test

case $1 in
builds)
  for variant in openmpi mpich serial; do
    heading "C library, $variant: build and install"
    log=$root/$folder/logs/library-$variant.log
    build_library $variant $folder/$variant
  done
  heading "Licences and sources of the crates"
  step dependencies 2400 scripts/dependencies.sh
  sed 1d $folder/logs/dependencies.log
  ;;
checks)
  rm -rf $folder/together* # nothing of an earlier installation may help
  for variant in openmpi mpich serial; do
    heading "C library, $variant: a part of another project"
    step subproject-$variant 900 ffi-tests/consumers/subproject.sh $variant
    log=$root/$folder/logs/together-$variant.log
    build_library $variant $folder/together-$variant -DSCDA_SUFFIX=-$variant "-DCMAKE_INSTALL_PREFIX=$root/$folder/together"
  done
  for variant in openmpi mpich serial; do
    heading "C library, $variant: used by strangers, all variants in one folder"
    step consumers-together-$variant 900 ffi-tests/consumers/run.sh $folder/together scda-$variant
  done
  heading "Sanitizers: addresses, leaks, undefined behaviour"
  step sanitize 3000 scripts/sanitize.sh address
  heading "The fuzzers, 5 seconds each"
  step fuzz 1800 scripts/fuzz.sh 5
  heading "Built from the archive, without a network"
  step offline 1800 scripts/offline.sh serial
  heading "Instructions of the pure parts"
  step instructions 1800 scripts/instructions.sh --target-dir $folder/cargo-instructions
  sed 1d $folder/logs/instructions.log
  ;;
esac
