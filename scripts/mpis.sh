#!/usr/bin/env bash
# mpis.sh FOLDER: the library that is installed in FOLDER/prefix, in programs with the MPIs that pip installs: Open MPI 5, and MPICH 5 by
# its own binary interface and by the standard one of MPI 5. They stay in target/tools. Writes to FOLDER/mpis.
set -euo pipefail
with=$(realpath -- "$1")
. "$(dirname -- "$0")/lib.sh"
folder=$with/mpis
rm -rf "$folder"
mkdir -p "$folder" target/tools
log=$folder/log
export PKG_CONFIG_PATH=$with/prefix/lib/pkgconfig LD_LIBRARY_PATH=$with/prefix/lib

count=0
for wrapper in openmpi:mpicc mpich:mpicc mpich:mpicc_abi; do
  name=${wrapper/:/-}
  there=$root/target/tools/mpi-${wrapper%:*}
  mpicc=$there/bin/${wrapper#*:}
  if [ ! -x "$mpicc" ]; then
    run 120 "$(system_python)" -m venv --clear "$there"
    if ! timeout 600 "$there/bin/python" -m pip install --disable-pip-version-check "${wrapper%:*}==5.*" >"$log" 2>&1 </dev/null; then
      echo "skipped: $name: pip could not install it: $log"
      continue
    fi
  fi
  built=$folder/$name
  mkdir -p "$built/files" "$built/tried"
  options=(-std=c99 -g)
  [ "${wrapper#*:}" != mpicc_abi ] || options+=(-DMPI_Comm_c2f=MPI_Comm_toint) # its name there
  for program in matrix errors; do
    # shellcheck disable=SC2046 # several options
    run 60 "$mpicc" "${options[@]}" ffi-tests/$program.c ffi-tests/sections.c -o "$built/$program" $(pkg-config --cflags --libs scda)
  done
  # MPICH polls; more ranks than cores then wait for each other.
  run 60 "$mpicc" -shared -fPIC ffi-tests/mpich_yield.c -o "$built/yield.so" -ldl
  launch=(env "LD_PRELOAD=$built/yield.so" OMPI_MCA_mpi_yield_when_idle=1 "$there/bin/mpiexec" -n)
  run 600 "${launch[@]}" 1 "$built/matrix" "$built/files"
  SCDA_NODE_RANKS=1 run 600 "${launch[@]}" 2 "$built/matrix" "$built/files"
  run 600 "${launch[@]}" 2 "$built/errors" single "$built/tried"
  [ -e "$folder/files" ] || cp -r "$built/files" "$folder/files"
  run 60 diff -r "$folder/files" "$built/files"
  echo "$name: as with the others"
  count=$((count + 1))
done
echo "$count MPIs of pip: programs built and run"
