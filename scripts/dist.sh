#!/usr/bin/env bash
# dist.sh FOLDER: makes FOLDER/libscda-VERSION-vendored.tar.gz, the sources of the last commit with those of all crates, which builds
# without a network (docs/offline.md), the list of the crates that are linked in, FOLDER/libscda-VERSION.cdx.json, and the checksums,
# FOLDER/SHA256SUMS. The same commit makes the same bytes.
set -euo pipefail
if [ $# -ne 1 ]; then
  echo "usage: $0 FOLDER" >&2
  exit 2
fi
mkdir -p -- "$1"
folder=$(cd -- "$1" && pwd)
. "$(dirname -- "$0")/lib.sh"

[ -z "$(git status --porcelain)" ] || echo "There are changes that are not committed: they are not in the archive." >&2
version=$(scripts/version.py)
name=libscda-$version
archive=$name-vendored.tar.gz
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
log=$work/log

git archive --prefix="$name/" HEAD | tar -x -C "$work"
cd -- "$work/$name"
vendor_crates --locked # those of the Python package and the fuzzers, too
cp python/sbom.cdx.json "$folder/$name.cdx.json"
pack "$work" "$name" "$folder/$archive"
cd -- "$folder"
sha256sum "$archive" "$name.cdx.json" >SHA256SUMS
ls -l "$archive" | awk '{ printf "%s  %.1f MB\n", $9, $5 / 1e6 }'
