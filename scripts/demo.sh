#!/usr/bin/env bash
# A checkpoint of a mesh, written by 4 processes and read by 3. Builds and runs below target/demo only.
set -euo pipefail
here=$(dirname -- "$0")
"$here/setup.sh" demo
. "$here/lib.sh"

folder=target/demo
mkdir -p $folder
log=$root/$folder/build.log

heading "Building libscda with Open MPI (a few minutes the first time) and installing it into $folder/prefix"
build_library openmpi $folder
show_checkpoint $folder
