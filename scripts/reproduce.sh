#!/usr/bin/env bash
# reproduce.sh [openmpi|mpich|serial|wheels|debian]: makes something of the last commit twice, in two folders, and compares it byte by byte:
# what CMake installs and the archive of scripts/dist.sh; the wheel for this processor and its source archive; the Debian packages.
# Writes below target/reproduce only; tools of the wheels are kept in target/tools.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"

variant=${1:-serial}
folder=$root/target/reproduce
rm -rf "$folder"
mkdir -p "$folder" target/tools
log=$folder/log
commit=$(git rev-parse HEAD)
for build in one a-folder-with-a-longer-name; do
  there=$folder/$build
  git clone -q --shared "$root" "$there/sources"
  git -C "$there/sources" checkout -q --detach "$commit"
  (
    cd -- "$there/sources"
    case $variant in
    wheels)
      mkdir target
      ln -s "$root/target/tools" target/tools
      run 7200 scripts/wheels.sh "$there/made" "$(uname -m)"
      ;;
    debian) run 7200 scripts/debian.sh --build "$there/made" ;;
    *)
      options=(-DSCDA_MPI=OFF)
      [ "$variant" = serial ] || options=("-DMPI_C_COMPILER=$(mpicc_of "$variant")")
      run 120 cmake -S . -B ../build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr "${options[@]}"
      run 2400 cmake --build ../build
      run 60 env "DESTDIR=$there/made/installed" cmake --install ../build
      run 300 scripts/dist.sh "$there/made/archive"
      ;;
    esac
  )
  rm -rf "$there/build" "$there/sources"
done
diff -r "$folder"/{one,a-folder-with-a-longer-name}/made || {
  echo "FAILED: two builds of $commit differ" >&2
  exit 1
}
echo "reproduced, $variant: $(find "$folder/one/made" -type f | wc -l) files are the same from two builds"
rm -rf "$folder"
