#!/bin/sh
# cargo.sh CARGO SOURCE TARGET_DIR COMMAND... [OPTION...]: a release build by cargo, or by what takes its options, with the locked versions.
# The folders of the builder's machine do not end up in what is built (as file names in messages and in debug information).
set -eu
cargo=$1 source=$2 target=$3 command=
shift 3
while [ "${1#-}" = "$1" ]; do
  command="$command $1"
  shift
done
unset CARGO_BUILD_TARGET # its builds have a folder of their own
set -- --locked --no-default-features --target-dir "$target" "$@"
[ "$command" = " bench" ] || set -- --release "$@" # a benchmark is one by itself

rustc=${RUSTC:-$(dirname -- "$cargo")/rustc}
command -v "$rustc" >/dev/null || rustc=rustc
# Where Rust's own sources are installed, their names are as if they were not.
rust=--remap-path-prefix=$("$rustc" --print sysroot)/lib/rustlib/src/rust=/rustc/$("$rustc" -vV | sed -n 's/^commit-hash: //p')
home=--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo
source=--remap-path-prefix=$source=/scda
target=--remap-path-prefix=$target=/build # after that of the sources, in which it may lie: the last one that fits counts
# cargo takes these flags from one place only. If the environment has some, ours must join them there.
if [ -n "${CARGO_ENCODED_RUSTFLAGS-}${RUSTFLAGS-}" ]; then
  separator=$(printf '\037')
  flags=${CARGO_ENCODED_RUSTFLAGS:+$CARGO_ENCODED_RUSTFLAGS$separator}
  if [ -z "$flags" ]; then
    for flag in $RUSTFLAGS; do
      flags=$flags$flag$separator
    done
  fi
  export CARGO_ENCODED_RUSTFLAGS="$flags$home$separator$rust$separator$source$separator$target"
else
  set -- --config "build.rustflags=['$home', '$rust', '$source', '$target']" "$@"
fi
# shellcheck disable=SC2086 # words
exec "$cargo" $command "$@"
