# What setup.sh, demo.sh and test.sh share. To be sourced by bash.

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
root=$PWD
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin:/usr/sbin:/sbin # where rustup puts cargo, and Debian `ip`; not every shell has them

# Open MPI starts no program as root, nor more processes than there are cores, unless told (the last one: Open MPI 5).
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
# Between SIGTERM and SIGKILL, Open MPI sleeps for a second in each job that ends with an error. Each job looks for cards of Omni-Path for 0.2 s.
export OMPI_MCA_odls_base_sigkill_timeout=0 OMPI_MCA_mtl=^ofi,psm,psm2

heading() { printf '\n== %s\n' "$*"; }

# run SECONDS COMMAND...: quietly, its output in $log, which is shown if the command fails or takes too long. What gets only idle cores has
# $SCDA_PATIENCE times as long. If SCDA_TIMES names a file, it gets a line: seconds, those of all processors (of users, of the system), and
# the name of the log.
run() {
  local seconds=$(($1 * ${SCDA_PATIENCE:-1})) status=0 name=${log##*/}
  local TIMEFORMAT="%R %U %S ${name%.log}"
  shift
  printf '$ %s\n' "$*" >"$log"
  { time env -u SCDA_TIMES timeout --kill-after=10 "$seconds" "$@" >>"$log" 2>&1 </dev/null || status=$?; } 2>>"${SCDA_TIMES:-/dev/null}"
  if [ $status -ne 0 ]; then
    tail -n 100 "$log"
    [ $status -ne 124 ] && [ $status -ne 137 ] || echo "stopped after $seconds seconds; SCDA_PATIENCE=3 in the environment allows three times as long"
    echo "FAILED (status $status): $*"
    echo "The whole output: $log"
    exit 1
  fi >&2
}

# step NAME SECONDS COMMAND...: one test, with its log in $folder/logs; shows the counts of those test runners that give them.
step() {
  log=$root/$folder/logs/$1.log
  shift
  run "$@"
  grep -E '^test result: .* [1-9][0-9]* passed|tests run: [1-9]|tests passed|built and run$' "$log" || true
}

# show_times: what the steps took, by the file that SCDA_TIMES names; the longest first.
show_times() {
  echo "seconds, of processors, step"
  awk '{ wall[$4] += $1; cpu[$4] += $2 + $3 } END { for (name in wall) printf "%7.0f  %13.0f  %s\n", wall[name], cpu[name], name }' "$SCDA_TIMES" |
    sort -rn -k2
}

# beside NAME COMMAND...: starts it beside the steps that follow. `join` waits for it, shows what it printed, and ends the script if it
# failed. If the script ends before, so does what runs beside it.
beside() {
  beside=$root/$folder/logs/beside-$1.log
  shift
  setsid "$@" >"$beside" 2>&1 </dev/null &
  beside_pid=$!
  trap 'pkill --session $beside_pid || true' EXIT
}
join() {
  local status=0
  wait $beside_pid || status=$?
  trap - EXIT
  cat "$beside"
  [ $status -eq 0 ] || exit 1
}

# compile_soon: what no user gets is built without optimization across crates, by many threads.
compile_soon() {
  export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=1
}

# once SCRIPT ARGUMENT...: runs it, unless it has passed for this commit: then target/passed has its commit, its seconds and what was run.
# If SCDA_KEEP is set, what has passed for an earlier commit counts, too. Nothing is noted or left out if the sources are not those of the
# commit. It ends with this script, by a signal, too: Ctrl-C does not reach what runs under a time-out, which goes on.
once() {
  local commit begin=$SECONDS session passed=target/passed before
  commit=$(git rev-parse HEAD)
  [ -z "$(git status --porcelain)" ] || passed=/dev/null
  before=$(awk -F '\t' -v keep="${SCDA_KEEP-}" -v commit="$commit" -v what="$*" \
    '$3 == what && (keep != "" || $1 == commit) { found = $1 } END { print found }' $passed 2>/dev/null || true)
  if [ -n "$before" ] && git merge-base --is-ancestor "$before" HEAD 2>/dev/null; then
    echo "passed before, at ${before:0:8}: $*"
    return
  fi
  heading "$*"
  setsid env --default-signal=INT "$@" </dev/null &
  session=$!
  # shellcheck disable=SC2064 # of this script
  trap "pkill --session $session || true" EXIT
  wait $session || exit # in a condition, too, where `set -e` does not end the script
  trap - EXIT
  echo "$((SECONDS - begin)) s: $*"
  printf '%s\t%s\t%s\n' "$commit" $((SECONDS - begin)) "$*" >>$passed
}

# c_tests NAME SECONDS FOLDER OPTION...: a step, the tests of the C library that were built in FOLDER; shows what was skipped, and why.
c_tests() {
  local name=$1 seconds=$2 built=$3
  shift 3
  step "$name" "$seconds" ctest --test-dir "$built" -j 2 --output-on-failure --no-tests=error "$@"
  grep -h '^skipped: ' "$built/Testing/Temporary/LastTest.log" | sort -u || true
}

# The Rust tests and lints, also of the crate mpi, by the call of cargo by which CMake compiles the library and the command: the crates of
# others are compiled once, with SCDA_CARGO_DIR=target/test/cargo.
cargo=(sh cmake/cargo.sh "$(command -v cargo)" "$root" "$root/target/test/cargo")
crates=(scda scda-base scda-c scda-codec scda-command scda-format scda-hdf5 scda-libsc scda-meshes scda-ranks scda-storage)
packaged=(scda scda-base scda-codec scda-format scda-hdf5 scda-meshes scda-ranks scda-storage) # what programs use
with_mpi=("${crates[@]/#/--package=}" --features scda-libsc/mpi,scda/rsmpi,scda/bundled-zlib)
# What only tests have: assertions.
with_assertions=()
for package in "${crates[@]}"; do
  with_assertions+=(--config "profile.release.package.$package.debug-assertions=true" --config "profile.release.package.$package.overflow-checks=true")
done

at_once=$((2 * $(getconf _NPROCESSORS_ONLN))) # tests that run side by side: some wait for disks, or for what they start

# rust_tests NAME SECONDS OPTION...: a step, the Rust tests; shows what was skipped, and why. With cargo-nextest, if it is there, the test
# programs run side by side.
rust_tests() {
  local name=$1 seconds=$2 runner=("${cargo[@]}" test)
  shift 2
  if cargo nextest --version >/dev/null 2>&1; then
    runner=("${cargo[@]}" nextest run --no-fail-fast --test-threads $at_once)
  fi
  rm -f "$folder/logs/$name.skipped"
  SCDA_SKIPPED=$root/$folder/logs/$name.skipped step "$name" "$seconds" "${runner[@]}" "$@"
  [ ! -e "$folder/logs/$name.skipped" ] || cat "$folder/logs/$name.skipped"
}

# mpicc_of openmpi|mpich: the path of this MPI's compiler wrapper, under Debian's name, or as mpicc, or in Fedora's place.
mpicc_of() {
  local macro=OPEN_MPI compiler
  [ "$1" = openmpi ] || macro=MPICH_NAME
  for compiler in "mpicc.$1" mpicc "/usr/lib64/$1/bin/mpicc"; do
    if printf '#include <mpi.h>\n#ifndef %s\n#error\n#endif\n' $macro | "$compiler" -fsyntax-only -x c - 2>/dev/null; then
      command -v "$compiler"
      return
    fi
  done
  return 1
}

# system_python: the Python that the distribution's packages are for, whatever else is in the path.
system_python() {
  if [ -x /usr/bin/python3 ]; then echo /usr/bin/python3; else command -v python3; fi
}

# build_library openmpi|mpich|serial FOLDER [OPTION...]: configures, builds and installs this variant into FOLDER/prefix.
build_library() {
  local variant=$1 folder=$2 options=(-DSCDA_MPI=OFF)
  shift 2
  [ "$variant" = serial ] || options=("-DMPI_C_COMPILER=$(mpicc_of "$variant")")
  rm -rf "$folder/prefix" # nothing of an earlier installation may help
  run 120 cmake -S . -B "$folder/build" -G Ninja "-DCMAKE_INSTALL_PREFIX=$root/$folder/prefix" -DCMAKE_INSTALL_LIBDIR=lib \
    -DSCDA_SUFFIX= "-DSCDA_CARGO_DIR=${SCDA_CARGO_DIR:-$root/target/cargo}" "${options[@]}" "$@"
  run 1200 cmake --build "$folder/build"
  run 60 cmake --install "$folder/build"
}

# build_with_library SOURCE FOLDER [OPTION...]: builds the project in SOURCE, in FOLDER/SOURCE, as a user of the library
# installed in FOLDER/prefix.
build_with_library() {
  local source=$1 folder=$2
  shift 2
  run 120 cmake -S "$source" -B "$folder/$source" -G Ninja "-DCMAKE_PREFIX_PATH=$root/$folder/prefix" "$@"
  run 600 cmake --build "$folder/$source"
}

# in_pc VARIABLE FOLDER: what scda.pc of the library installed in FOLDER/prefix says.
in_pc() { sed -n "s/^$1=//p" "$2/prefix/lib/pkgconfig/scda.pc"; }

# vendor_crates [--locked]: puts the sources of all crates into vendor/ of this folder, and tells cargo there that they are in it.
vendor_crates() {
  mkdir .cargo
  cargo vendor "$@" --versioned-dirs vendor >.cargo/config.toml 2>"$log" || {
    cat "$log" >&2
    exit 1
  }
  # What is not compiled and under the GPL.
  python3 - vendor/lz4-sys-*/ <<'END'
import json, pathlib, shutil, sys
crate = pathlib.Path(sys.argv[1])
listed = crate / ".cargo-checksum.json"
checksums = json.loads(listed.read_text())
left = ("liblz4/lib/", "liblz4/LICENSE")
checksums["files"] = {name: sum for name, sum in checksums["files"].items() if not name.startswith("liblz4/") or name.startswith(left)}
for part in (crate / "liblz4").iterdir():
    if part.name not in ("lib", "LICENSE"):
        shutil.rmtree(part) if part.is_dir() else part.unlink()
listed.write_text(json.dumps(checksums, separators=(",", ":")))
END
}

# pack FOLDER NAME ARCHIVE: makes this .tar.gz of FOLDER/NAME: the same files make the same bytes, with the time of the last commit.
pack() {
  tar --sort=name --owner=0 --group=0 --numeric-owner --mode=go=u,go-w "--mtime=@$(git -C "$root" log -1 --format=%ct)" -C "$1" -c "$2" |
    gzip -9n >"$3"
}

# unpack_sources FOLDER: makes the archive of scripts/dist.sh in FOLDER, compares its checksum, and unpacks it to FOLDER/sources.
unpack_sources() {
  run 300 scripts/dist.sh "$1"
  (cd -- "$1" && run 60 sha256sum --check --strict SHA256SUMS)
  rm -rf "$1/sources"
  mkdir "$1/sources"
  run 60 tar -xzf "$1"/libscda-*-vendored.tar.gz -C "$1/sources" --strip-components 1
}

# unpack_python FOLDER VENV: makes the source archive of the Python package in FOLDER, by the maturin of VENV, and unpacks it to FOLDER/sources.
unpack_python() {
  rm -rf "$1"
  run 600 env "PATH=$root/$2/bin:$PATH" scripts/sdist.sh "$1"
  mkdir "$1/sources"
  tar -xzf "$1"/scda-*.tar.gz -C "$1/sources" --strip-components 1
}

# unpack_crates TARGET: unpacks the crate that cargo has packaged below TARGET to TARGET/unpacked.
unpack_crates() {
  local crate there=$1/unpacked
  rm -rf "$there"
  mkdir "$there"
  cp Cargo.lock "$there"
  printf '[workspace]\nresolver = "3"\nmembers = ["scda*"]\n\n[patch.crates-io]\n' >"$there/Cargo.toml"
  for crate in "${packaged[@]}"; do
    mkdir "$there/$crate"
    # With the time of now: cargo takes what is older than the last build for known.
    tar -xmzf "$1/package/$crate-$(scripts/version.py).crate" -C "$there/$crate" --strip-components 1
    printf '%s = { path = "%s" }\n' "$crate" "$crate" >>"$there/Cargo.toml"
  done
  cargo metadata --offline --format-version 1 --manifest-path "$there/Cargo.toml" >/dev/null 2>>"$log"
}

# run_without_network SECONDS COMMAND...: run, where there is no network and cargo has downloaded nothing yet. The loopback interface is
# there: without any, Open MPI's compiler wrapper complains, and CMake takes that for its answer.
run_without_network() {
  local seconds=$1 isolate
  shift
  for isolate in "unshare -n" "unshare -rn"; do
    if [ "$($isolate sed '1,2d; s/:.*//; s/ //g' /proc/net/dev 2>/dev/null)" = lo ]; then
      run "$seconds" $isolate sh -c 'ip link set lo up && exec "$@"' sh env "CARGO_HOME=$(mktemp -d "$root/target/cargo-home.XXXXXX")" "RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}" "$@"
      rm -rf "$root"/target/cargo-home.*
      return
    fi
  done
  echo "FAILED: here nobody may cut off a command from the network (unshare -n, unshare -rn)" >&2
  exit 1
}

# debian_root RELEASE PACKAGE...: a Debian of this release with these packages, in the folder $there, which is kept if it is there; by
# debootstrap, which needs root and a network.
debian_root() {
  local release=$1
  shift
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  mkdir -p "${there%/*}"
  if [ ! -e "$there/complete" ]; then
    "${as_root[@]}" rm -rf "$there"
    run 1800 "${as_root[@]}" debootstrap --variant=minbase "$release" "$there"
    "${as_root[@]}" touch "$there/complete"
  fi
  "${as_root[@]}" cp /etc/resolv.conf "$there/etc/"
  inside 600 apt-get -o Acquire::Check-Valid-Until=false update -qq # a mirror may be late
  inside 3600 apt-get install -qq -y --no-install-recommends "$@"
}
# inside SECONDS COMMAND...: run, in $there, in this folder, which is mounted there as Rust is, but for target, which is $there/target. What is
# mounted ends with the command.
inside() {
  local seconds=$1 rust=${RUSTUP_HOME:-$HOME/.rustup} cargo=${CARGO_HOME:-$HOME/.cargo}
  shift
  "${as_root[@]}" mkdir -p "$there/target" "$there$root" "$there$rust" "$there$cargo" "$root/target"
  # shellcheck disable=SC2016 # for that shell
  run "$seconds" "${as_root[@]}" unshare --mount sh -ec 'there=$0 root=$1 rust=$2 cargo=$3
    for folder in /proc /sys /dev "$root" "$rust" "$cargo"; do
      mount --rbind "$folder" "$there$folder"
    done
    mount --bind "$there/target" "$there$root/target"
    shift 3
    exec chroot "$there" env -C "$root" "RUSTUP_HOME=$rust" "CARGO_HOME=$cargo" "PATH=/usr/sbin:/usr/bin:/sbin:/bin:$cargo/bin" \
      LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' "$there" "$root" "$rust" "$cargo" "$@"
}

# show_checkpoint FOLDER: the examples at work, with the Open MPI library installed in FOLDER/prefix.
show_checkpoint() {
  local folder=$1 file=$1/checkpoint.scda mpiexec
  heading "Building the example programs against the installed library"
  build_with_library examples/c "$folder"
  mpiexec=$(in_pc mpiexec "$folder")

  rm -f "$file"
  heading "4 processes write a checkpoint: p4est_checkpoint write $file"
  timeout --kill-after=10 60 "$mpiexec" -n 4 "$folder/examples/c/p4est_checkpoint" write "$file" </dev/null
  heading "3 processes restart from it: p4est_checkpoint restart $file"
  timeout --kill-after=10 60 "$mpiexec" -n 3 "$folder/examples/c/p4est_checkpoint" restart "$file" </dev/null

  local second
  second=$(timeout --kill-after=10 60 "$folder/prefix/bin/scda" ls "$file" </dev/null | awk '$1 == 3 { print $6 }') # the first has two rows
  heading "The file begins so: head -c $second $file"
  head -c "$second" "$file"
  heading "What is in it: scda ls $file"
  timeout --kill-after=10 60 "$folder/prefix/bin/scda" ls "$file" </dev/null
  heading "Are its checksums right, and is its mesh one: scda check $file"
  timeout --kill-after=10 60 "$folder/prefix/bin/scda" check "$file" </dev/null
}
