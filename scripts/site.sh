#!/usr/bin/env bash
# site.sh FOLDER: makes the site of the documentation in FOLDER: the pages, by mdBook, with search; the reference of C, by Doxygen; that of
# Rust, by rustdoc; and checks all links. To look at it, open FOLDER/index.html. mdBook is compiled the first time, below target/tools.
set -euo pipefail
if [ $# -ne 1 ]; then
  echo "usage: $0 FOLDER" >&2
  exit 2
fi
mkdir -p -- "$1"
site=$(cd -- "$1" && pwd)
. "$(dirname -- "$0")/lib.sh"

mdbook_version=0.5.4
mdbook=$root/target/tools/bin/mdbook
folder=target/site
rm -rf $folder/src $folder/doc
mkdir -p $folder/src target/tools
log=$root/target/tools/mdbook.log
if [ "$("$mdbook" --version 2>/dev/null)" != "mdbook v$mdbook_version" ]; then
  CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_OPT_LEVEL=0 run 2400 cargo install mdbook --debug --version $mdbook_version --locked \
    --no-default-features --features search --root target/tools
fi

heading "Pages"
log=$root/$folder/log
scripts/site.py prepare $folder/src
cat >$folder/book.toml <<'END'
[book]
title = "libscda"
language = "en"

[output.html]
no-section-label = true
additional-css = ["wide.css"]

[output.html.playground]
runnable = false

[output.html.print]
enable = false
END
# Room for lines of code of 100 columns.
echo ':root { --content-max-width: 88rem; }' >$folder/wide.css # a rem of mdBook has 10 pixels
find "$site" -mindepth 1 -delete
run 300 "$mdbook" build --dest-dir "$site" $folder

heading "Reference of C"
version=$(scripts/version.py)
brief=$(sed -n 's/^project(.* DESCRIPTION "\(.*\)")/\1/p' CMakeLists.txt)
mkdir $folder/doc
sed "s|@PROJECT_VERSION@|$version|; s|@PROJECT_DESCRIPTION@|$brief|; s|@PROJECT_SOURCE_DIR@|$root|g; s|@PROJECT_BINARY_DIR@|$root/$folder|" \
  docs/Doxyfile.in >$folder/Doxyfile
run 120 doxygen -q $folder/Doxyfile
mv $folder/doc/html "$site/c"

heading "Reference of Rust"
run 900 env RUSTDOCFLAGS=-Dwarnings cargo doc --locked --no-deps --no-default-features --features bundled-zlib --target-dir $folder/cargo
cp -r $folder/cargo/doc "$site/rust"
echo '<!doctype html><meta http-equiv="refresh" content="0; url=scda/index.html"><a href="scda/index.html">scda</a>' >"$site/rust/index.html"

scripts/site.py check "$site"
