#!/usr/bin/env bash
# sdist.sh FOLDER: makes FOLDER/scda-VERSION.tar.gz, the source archive of the Python package by the maturin in the path, with the sources of
# all crates, so that pip builds it without a network. The same sources make the same bytes.
set -euo pipefail
if [ $# -ne 1 ]; then
  echo "usage: $0 FOLDER" >&2
  exit 2
fi
mkdir -p -- "$1"
folder=$(cd -- "$1" && pwd)
. "$(dirname -- "$0")/lib.sh"
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
log=$work/log

run 120 maturin sdist --manifest-path python/Cargo.toml --out "$work/made"
tar -xzf "$work"/made/scda-*.tar.gz -C "$work"
name=scda-$(scripts/version.py)
cd -- "$work/$name"
vendor_crates # without --locked: the lock file has the members that maturin leaves out, too
pack "$work" "$name" "$folder/$name.tar.gz"
