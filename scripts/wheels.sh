#!/usr/bin/env bash
# wheels.sh FOLDER [x86_64|aarch64]...: makes the source archive and the wheels of the Python package in FOLDER, by default for both
# processors, and tries them: installed by pip, without a compiler, each reads what it wrote, in Python and by the command. They run on
# Linux with glibc 2.17 or later (manylinux2014), by zig as the linker; that for another processor than this one runs under qemu.
# Tools go to target/tools, builds to target/wheels. Two runs for a commit make the same bytes.
set -euo pipefail
if [ $# -lt 1 ]; then
  echo "usage: $0 FOLDER [x86_64|aarch64]..." >&2
  exit 2
fi
mkdir -p -- "$1"
out=$(cd -- "$1" && pwd)
shift
here=$(dirname -- "$0")
"$here/setup.sh" wheels
. "$here/lib.sh"
[ $# -gt 0 ] || set -- x86_64 aarch64

folder=target/wheels
tools=$root/target/tools
mkdir -p $folder "$tools"
log=$root/$folder/log
venv=$tools/wheels
if [ ! -x "$venv/bin/maturin" ]; then
  run 120 "$(system_python)" -m venv --clear "$venv"
  run 300 "$venv/bin/python" -m pip install --disable-pip-version-check 'maturin==1.16.*' 'ziglang==0.17.*'
fi
export PATH=$venv/bin:$PATH CARGO_TARGET_DIR=$root/$folder/cargo
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
# As cmake/cargo.sh: no folder of this machine is in what is built.
remap="--remap-path-prefix=$(rustc --print sysroot)=/rust --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
remap+=" --remap-path-prefix=$root=/scda --remap-path-prefix=$CARGO_TARGET_DIR=/build"
version=$(scripts/version.py)

# packages_of ARCHITECTURE NAME...: unpacks Debian's packages for this architecture (Debian's name), without what they need, and prints where.
packages_of() {
  local architecture=$1 there=$tools/$1-debian package apt
  shift
  if [ ! -e "$there/complete" ]; then
    rm -rf "$there"
    mkdir -p "$there"/{lists,cache,root}/
    apt=(apt-get -qq -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture" -o "Dir::State::Lists=$there/lists"
      -o "Dir::Cache=$there/cache" -o Dir::State::status=/dev/null -o APT::Sandbox::User=root -o Debug::NoLocking=1)
    run 300 "${apt[@]}" update
    run 600 "${apt[@]}" install --download-only -y --no-install-recommends "$@"
    for package in "$there"/cache/archives/*.deb; do
      dpkg -x "$package" "$there/root"
    done
    rm -rf "$there/lists" "$there/cache"
    touch "$there/complete"
  fi
  echo "$there/root"
}

debian_name() { case $1 in aarch64) echo arm64 ;; x86_64) echo amd64 ;; esac }

# try_wheel ARCHITECTURE: installs the wheel into a folder by pip, which looks at its name, and uses it.
try_wheel() {
  local site=$root/$folder/site-$1 python=("$(system_python)") there
  rm -rf "$site"
  run 300 "$venv/bin/python" -m pip install --disable-pip-version-check --target "$site" --only-binary :all: --python-version 3.11 \
    --implementation cp --platform "manylinux_2_28_$1" --platform "manylinux2014_$1" "$out/scda-$version"-cp39-abi3-manylinux*_"$1".whl
  if [ "$1" != "$(uname -m)" ]; then
    there=$(packages_of "$(debian_name "$1")" python3 libstdc++6)
    python=(env "PYTHONHOME=$there/usr" "qemu-$1-static" -L "$there" "$there/usr/bin/python3.11")
  fi
  rm -rf $folder/try
  mkdir $folder/try
  cat >$folder/try/use.py <<'END'
import sys
import numpy as np, scda

with scda.create("rho.scda", "a wheel") as w:
    w.dataset("rho", np.arange(6.0).reshape(3, 2), chunks=(2, 2), attrs={"units": "kg m-3"})
with scda.open("rho.scda") as f:
    assert f["rho"][1:, 1].tolist() == [3.0, 5.0]
END
  run 10 cmp python/sbom.cdx.json "$site/scda-$version.dist-info/sboms/sbom.cdx.json"
  PYTHONPATH=$site run 120 env -C $folder/try "${python[@]}" use.py
  PYTHONPATH=$site run 120 env -C $folder/try "${python[@]}" -m scda_command check --strict rho.scda
  PYTHONPATH=$site run 120 env -C $folder/try "${python[@]}" -m scda_command cat rho.scda rho
  [ "$(tail -n 1 "$log")" = "4.0 5.0" ] || {
    echo "FAILED: scda cat prints $(tail -n 1 "$log")" >&2
    exit 1
  }
  (cd $folder/try && sha256sum rho.scda) >"$folder/sum-$1"
}

heading "Python: source archive"
rm -f "$out"/scda-*.whl "$out"/scda-*.tar.gz
run 600 scripts/sdist.sh "$out"
for architecture; do
  heading "Python: wheel for $architecture"
  target=$architecture-unknown-linux-gnu
  [ -d "$(rustc --print target-libdir --target "$target")" ] || run 300 rustup target add "$target"
  RUSTFLAGS=$remap run 3600 maturin build --manifest-path python/Cargo.toml --release --locked --zig --compatibility manylinux2014 \
    --target "$target" --out "$out"
  try_wheel "$architecture"
done
[ "$(sort -u $folder/sum-* | wc -l)" -eq 1 ] || { echo "FAILED: the processors write different files" >&2; exit 1; }
ls -l "$out"/scda-*.whl "$out"/scda-*.tar.gz | awk '{ sub(".*/", "", $9); printf "%s  %.1f MB\n", $9, $5 / 1e6 }'
