#!/usr/bin/env bash
# dealii.sh: tests include/scda_dealii.h with deal.II (Debian: libdeal.ii-dev, built with Open MPI), if it is there: triangulations with all that
# is attached to their cells are saved and loaded on 1 to 4 ranks. Writes below target/dealii only.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"

folder=target/dealii
mkdir -p $folder/logs
log=$root/$folder/logs/build.log
if ! (cd $folder && cmake --find-package -DNAME=deal.II -DCOMPILER_ID=GNU -DLANGUAGE=CXX -DMODE=EXIST) >/dev/null 2>&1; then
  echo "skipped: deal.II: CMake finds none (Debian: libdeal.ii-dev)"
  exit
fi
heading "Building the library, and the test with deal.II"
build_library openmpi $folder
run 120 cmake -S ffi-tests/dealii -B $folder/test -G Ninja "-DCMAKE_PREFIX_PATH=$root/$folder/prefix"
run 1200 cmake --build $folder/test
heading "Triangulations of deal.II: saved and loaded on 1 to 4 ranks"
rm -rf $folder/files
mkdir $folder/files
OMPI_MCA_mpi_yield_when_idle=1 step dealii 900 "$(in_pc mpiexec $folder)" -n 4 $folder/test/dealii $folder/files
cat $folder/logs/dealii.log
heading "The example: three steps on 4 ranks and three on 3 write the same file as six on 2"
example() { OMPI_MCA_mpi_yield_when_idle=1 step "$1" 300 "$(in_pc mpiexec $folder)" -n "$2" $folder/test/dealii_restart "$3" "$folder/files/$4"; }
example dealii-half 4 3 half.scda
example dealii-rest 3 3 half.scda
example dealii-whole 2 6 whole.scda
cat $folder/logs/dealii-whole.log
cmp $folder/files/half.scda $folder/files/whole.scda
