#!/usr/bin/env bash
# offline.sh serial|openmpi|mpich: builds the archive of scripts/dist.sh as docs/offline.md says, without a network, and uses what it
# installs. offline.sh archive: only whether all crates are in it. Writes below target/offline only.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"

variant=${1-}
folder=target/offline
mkdir -p $folder
log=$root/$folder/log
case $variant in
archive | serial | openmpi | mpich) ;;
*)
  echo "usage: $0 archive|serial|openmpi|mpich" >&2
  exit 2
  ;;
esac
options=(-DSCDA_MPI=OFF)
[[ $variant = serial || $variant = archive ]] || options=("-DMPI_C_COMPILER=$(mpicc_of "$variant")")

compile_soon
unpack_sources $folder
if [ "$variant" = archive ]; then
  run_without_network 300 sh -ec "cd '$root/$folder/sources' && cargo metadata --locked --offline --format-version 1 >/dev/null"
  rm -rf $folder/sources
  exit 0
fi
rm -rf $folder/prefix
# The commands of the page, as they stand there.
page=$(sed -n '/^```sh build$/,/^```$/p' docs/offline.md | sed '/^```/d')
[ -n "$page" ]
run_without_network 1800 sh -ec "cd '$root/$folder/sources'
prefix='$root/$folder/prefix'
cmake() { case \$1 in -B) command cmake \"\$@\" -DCMAKE_INSTALL_LIBDIR=lib ${options[*]} ;; *) command cmake \"\$@\" ;; esac; }
$page"
config=$folder/prefix/bin/scda-config
run 60 $("$config" --cc) examples/c/hello.c -o $folder/hello $("$config" --cflags --libs --rpath)
(cd $folder && run 60 ./hello)
run 60 $folder/prefix/bin/scda check $folder/hello.scda
echo "built without a network, $variant: 1 program built and run"
rm -rf $folder/sources $folder/prefix
