#!/usr/bin/env bash
# beside.sh builds|checks: what test.sh runs beside its own steps; neither needs MPI to run.
#   builds: the C libraries are built and installed; licences and sources of the crates are checked
#   checks: sanitizers, fuzzers, instructions, the archive
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
