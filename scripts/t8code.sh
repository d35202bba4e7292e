#!/usr/bin/env bash
# t8code.sh [PREFIX]: tests include/scda_t8code.hxx with the t8code that is installed in PREFIX, or else in /usr/local or /usr: one that was built with
# Open MPI, as docs/t8code.md says. Skipped if there is none. Writes below target only.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"

folder=target/t8code
mkdir -p $folder/logs
log=$root/$folder/logs/build.log
if [ $# -eq 0 ]; then set -- /usr/local /usr; fi
config=
for prefix; do
  for config in "$prefix"/cmake/T8CODEConfig.cmake "$prefix"/lib*/cmake/*/T8CODEConfig.cmake; do
    [ -e "$config" ] && break 2
  done
  config=
done
if [ -z "$config" ]; then
  echo "skipped: t8code: none is installed in $*"
  exit
fi
heading "Building the library, and the tests with t8code"
build_library openmpi $folder
where=$(dirname "$config")
# Not in CMAKE_PREFIX_PATH: the p4est that t8code brings along is not that of the other tests.
run 120 cmake -S ffi-tests -B $folder/ffi-tests -G Ninja "-DCMAKE_PREFIX_PATH=$root/$folder/prefix" "-DT8CODE_DIR=$where" \
  "-DP4EST_DIR=$where" "-DSC_DIR=$where"
run 900 cmake --build $folder/ffi-tests --target t8code_programs
heading "Forests of t8code: written and restarted on 1 to 4 ranks"
c_tests t8code 1800 $folder/ffi-tests --timeout 600 -R '^(prepare|t8code.*)$'
