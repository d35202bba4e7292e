#!/usr/bin/env bash
# reproduce.sh [openmpi|mpich|serial]: builds the last commit twice, in two folders, and compares all that is installed, and the archive
# of scripts/dist.sh, byte by byte. Writes below target/reproduce only.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"

variant=${1:-serial}
options=(-DSCDA_MPI=OFF)
[ "$variant" = serial ] || options=("-DMPI_C_COMPILER=$(mpicc_of "$variant")")
folder=$root/target/reproduce
rm -rf "$folder"
mkdir -p "$folder"
log=$folder/log
commit=$(git rev-parse HEAD)
for build in one a-folder-with-a-longer-name; do
  there=$folder/$build
  git clone -q --shared "$root" "$there/sources"
  git -C "$there/sources" checkout -q --detach "$commit"
  (
    cd -- "$there/sources"
    run 120 cmake -S . -B ../build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr "${options[@]}"
    run 2400 cmake --build ../build
    run 60 env "DESTDIR=$there/installed" cmake --install ../build
    run 300 scripts/dist.sh "$there/archive"
  )
  rm -rf "$there/build" "$there/sources"
done
for what in installed archive; do
  diff -r "$folder"/{one,a-folder-with-a-longer-name}/$what || {
    echo "FAILED: two builds of $commit differ" >&2
    exit 1
  }
done
echo "reproduced, $variant: $(find "$folder/one/installed" -type f | wc -l) files and the archive are the same from two builds"
rm -rf "$folder"
