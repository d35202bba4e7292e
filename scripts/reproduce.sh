#!/usr/bin/env bash
# reproduce.sh dist|wheels|debian|openmpi|mpich|serial [FOLDER]: makes something of the last commit twice, here and in another folder, and
# compares names and bytes: of what scripts/dist.sh, wheels.sh (this processor's wheel, and the source archive) or debian.sh makes; of what
# CMake installs. What those scripts make is copied to FOLDER. All else is written below target/reproduce.
set -euo pipefail
copies=
[ $# -ne 2 ] || { mkdir -p -- "$2" && copies=$(cd -- "$2" && pwd); }
. "$(dirname -- "$0")/lib.sh"

usage() {
  echo "usage: $0 dist|wheels|debian [FOLDER]" >&2
  echo "       $0 openmpi|mpich|serial" >&2
  exit 2
}
what=${1-}
[ $# -ge 1 ] && [ $# -le 2 ] || usage
case $what in
dist | wheels | debian) ;;
openmpi | mpich | serial) [ $# -eq 1 ] || usage ;;
*) usage ;;
esac
[ -z "$(git status --porcelain)" ] || {
  echo "FAILED: there are changes that are not committed" >&2
  exit 1
}
folder=$root/target/reproduce
rm -rf "$folder"
mkdir -p "$folder" "$root/target/tools"
log=$folder/log
first=$folder/first
second=$folder/second
sources=$folder/a-folder-with-a-longer-name

# make THERE [again]: with the sources in this folder; the second time no more than what is compared.
make() {
  local options=()
  case $what in
  dist) scripts/dist.sh "$1" ;;
  wheels) if [ $# -eq 1 ]; then scripts/wheels.sh "$1"; else run 7200 scripts/wheels.sh "$1" "$(uname -m)"; fi ;;
  debian) if [ $# -eq 1 ]; then scripts/debian.sh "$1"; else run 7200 scripts/debian.sh --build "$1"; fi ;;
  *)
    [ "$what" = serial ] && options=(-DSCDA_MPI=OFF) || options=("-DMPI_C_COMPILER=$(mpicc_of "$what")")
    run 120 cmake -S . -B target/reproduce/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr "${options[@]}"
    run 2400 cmake --build target/reproduce/build
    run 60 env "DESTDIR=$1" cmake --install target/reproduce/build
    rm -rf target/reproduce/build
    ;;
  esac
}
make "$first"
git clone -q --shared "$root" "$sources"
mkdir "$sources/target"
ln -s "$root/target/tools" "$sources/target/tools"
heading "Once more, in another folder: $what"
(cd -- "$sources" && make "$second" again)
[ -n "$(find "$second" -type f)" ]
options=()
if [ "$what" = wheels ]; then # the second time no wheel of another processor
  [ "$(uname -m)" = aarch64 ] && options=(-x '*_x86_64.whl') || options=(-x '*_aarch64.whl')
fi
diff -r --no-dereference "${options[@]}" "$first" "$second" || {
  echo "FAILED: two builds of $(git rev-parse HEAD) differ" >&2
  exit 1
}
[ -z "$copies" ] || cp -r "$first/." "$copies"
echo "reproduced, $what: $(find "$second" -type f | wc -l) files are the same from two builds"
rm -rf "$folder"
