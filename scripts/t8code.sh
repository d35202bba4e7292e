#!/usr/bin/env bash
# t8code.sh [PREFIX]: tests include/scda_t8code.hxx with the t8code 4.0 that is installed in PREFIX. Without PREFIX, builds one from the sources in
# ../shared/codes, if they are there, into target/tools/t8code, where the next run, and a release, find it (10 minutes). Writes below target only.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"

folder=target/t8code
mkdir -p $folder/logs
log=$root/$folder/logs/build.log
prefix=${1:-$root/target/tools/t8code}
if [ $# -eq 0 ] && [ -x ../shared/codes/build.sh ]; then
  heading "Building t8code"
  run 3600 ../shared/codes/build.sh "$prefix"
fi
if [ ! -e "$prefix/cmake/T8CODEConfig.cmake" ]; then
  echo "skipped: t8code: none in $prefix, and no sources in ../shared/codes"
  exit
fi
heading "Building the library, and the tests with t8code"
build_library openmpi $folder
# Not in CMAKE_PREFIX_PATH: the p4est that t8code brings along is not that of the other tests.
run 120 cmake -S ffi-tests -B $folder/ffi-tests -G Ninja "-DCMAKE_PREFIX_PATH=$root/$folder/prefix" "-DT8CODE_DIR=$prefix/cmake" \
  "-DP4EST_DIR=$prefix/cmake" "-DSC_DIR=$prefix/cmake"
run 900 cmake --build $folder/ffi-tests --target t8code t8code_restart t8code_dam t8code_p4est_dam
heading "Forests of t8code: written and restarted on 1 to 4 ranks"
c_tests t8code 1800 $folder/ffi-tests --timeout 600 -R '^(prepare|t8code.*)$'
