#!/usr/bin/env bash
# subproject.sh openmpi|mpich|serial: a project of which libscda is a part, by add_subdirectory and by FetchContent. Its programs in each
# language run, on 2 ranks with MPI; its installation holds what it asks for and no more; a second build has nothing to do.
set -euo pipefail
. "$(dirname -- "$0")/../../scripts/lib.sh"
variant=$1
folder=$root/target/subproject/$variant
rm -rf "$folder"
mkdir -p "$folder"
log=$folder/log
count=0

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# made FOLDER: when each file was made, without those of the build tools.
made() { find "$1" -name '.ninja*' -prune -o -type f -printf '%p %T@\n' | sort; }

# build HOW OPTION...
build() {
  local how=$1 build=$folder/$1 options=(-DSCDA_MPI=OFF) ranks=1 launch=() program mpiexec
  shift
  # With the command, of which no file is used: what scripts/test.sh has compiled is then known.
  [ "$variant" = serial ] || options=("-DMPI_C_COMPILER=$(mpicc_of "$variant")" "-DSCDA_CARGO_FLAGS=-p;scda-command")
  run 120 cmake -S ffi-tests/consumers/subproject -B "$build" -G Ninja "-DHOW=$how" "-DSOURCES=$root" \
    "-DSCDA_CARGO_DIR=${SCDA_CARGO_DIR:-$root/target/cargo}" "-DCMAKE_INSTALL_PREFIX=$build/prefix" -DCMAKE_INSTALL_LIBDIR=lib "${options[@]}" "$@"
  run 1200 cmake --build "$build"
  mpiexec=$(cat "$build/mpiexec")
  if [ -n "$mpiexec" ]; then
    ranks=2
    launch=("$mpiexec" -n 2)
  fi
  for program in {c,cxx,hpp,fortran}{,_static}; do
    run 60 "${launch[@]}" "$build/$program" $ranks "$build/$program.scda"
    count=$((count + 1))
  done

  made "$build" >"$folder/before"
  run 120 cmake --build "$build"
  made "$build" >"$folder/after"
  # The parent's own target `doc` makes its file each time, by intention.
  diff <(grep -v /doc.txt "$folder/before") <(grep -v /doc.txt "$folder/after") || fail "a build that has nothing to do makes files"
  run 60 cmake --install "$build"
}

build add_subdirectory
[ "$(find "$folder/add_subdirectory/prefix" -type f)" = "$folder/add_subdirectory/prefix/bin/c" ] ||
  fail "a parent that did not ask for it installs: $(find "$folder/add_subdirectory/prefix" -type f)"
build FetchContent -DSCDA_INSTALL=ON -DSCDA_TOOLS=ON
for file in bin/c bin/scda include/scda.hpp lib/libscda.so lib/cmake/scda/scdaConfig.cmake; do
  [ -e "$folder/FetchContent/prefix/$file" ] || fail "SCDA_INSTALL=ON does not install $file"
done
echo "$count programs built and run"
