#!/usr/bin/env bash
# amrex.sh [PREFIX...]: tests include/scda_amrex.hpp with each AMReX that is installed in a PREFIX, or else in /usr/local or /usr: one with particles
# that was built with Open MPI. Skipped if there is none. Writes below target only.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"

folder=target/amrex
mkdir -p $folder/logs
log=$root/$folder/logs/build.log
if [ $# -eq 0 ]; then set -- /usr/local /usr; fi
built=
for prefix; do
  config=$(ls -d "$prefix"/lib*/cmake/AMReX "$prefix"/lib/*/cmake/AMReX 2>/dev/null | head -n 1 || true)
  [ -n "$config" ] || continue
  if [ -z "$built" ]; then
    heading "Building the library"
    build_library openmpi $folder
    built=yes
    mpiexec=$(in_pc mpiexec $folder)
  fi
  test=$folder/test$prefix
  heading "AMReX in $prefix: written and restarted on 1 to 4 ranks"
  run 120 cmake -S ffi-tests/amrex -B "$test" -G Ninja "-DCMAKE_PREFIX_PATH=$root/$folder/prefix" "-DAMReX_DIR=$config"
  run 1200 cmake --build "$test"
  files=$folder/files$prefix
  rm -rf "$files"
  mkdir -p "$files"
  amrex() { OMPI_MCA_mpi_yield_when_idle=1 step "amrex-$2" 300 "$mpiexec" -n "$1" "${@:3}"; }
  for ranks in 1 4; do
    amrex $ranks "write-$ranks" "$test/amrex" write "$files/$ranks.scda"
  done
  for ranks in 1 2 3; do
    amrex $ranks "restart-$ranks" "$test/amrex" restart "$files/4.scda" "$files/again-$ranks.scda"
    cmp "$files/1.scda" "$files/again-$ranks.scda"
  done
  cmp "$files/1.scda" "$files/4.scda"
  amrex 2 wrong "$test/amrex" wrong "$files/1.scda"
  run 60 $folder/prefix/bin/scda check --strict "$files/1.scda"
  # Ids of particles have the rank that made them in them, so the first steps are computed on as many ranks.
  heading "The example: three steps on 4 ranks and three on 3 write the same file as six on 4"
  amrex 4 half "$test/amrex_restart" "$files/half.scda" 3
  amrex 3 rest "$test/amrex_restart" "$files/half.scda" 3
  amrex 4 whole "$test/amrex_restart" "$files/whole.scda" 6
  tail -n 1 $folder/logs/amrex-whole.log
  run 60 $folder/prefix/bin/scda check --strict "$files/half.scda"
  run 60 $folder/prefix/bin/scda diff "$files/half.scda" "$files/whole.scda"
done
[ -n "$built" ] || echo "skipped: AMReX: none is installed in $*"
