#!/usr/bin/env bash
# Called by rattler-build, in the folder of the sources.
set -eu
options=(-DSCDA_MPI=OFF)
if [ "$mpi" != nompi ]; then
  options=("-DMPI_C_COMPILER=$PREFIX/bin/mpicc")
fi
# CMAKE_ARGS: what conda's compiler packages want of CMake.
cmake ${CMAKE_ARGS-} -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_INSTALL_PREFIX=$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib \
  -DSCDA_BUNDLED_ZLIB=OFF "${options[@]}"
cmake --build build --parallel "${CPU_COUNT-2}"
cmake --install build
