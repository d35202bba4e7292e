#!/usr/bin/env bash
# sanitize.sh [address|thread|miri|big-endian]...: checks that find what tests alone do not see; all of them by default.
# address-each: `address`, also with each call that can fail and each kill, not samples of them.
# A check for which this machine lacks something says `skipped: NAME: why`; if it was named, that is an error.
# Writes below target/sanitize only.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"

folder=target/sanitize
mkdir -p $folder
log=$root/$folder/log
host=$(rustc -vV | sed -n 's/^host: //p')
serial=(--locked --no-default-features --features bundled-zlib)

# The address, leak and undefined-behaviour sanitizers in all of the installed serial library (Rust, the zlib and libdeflate
# that are built in) and in the C of its tests. Serial, because MPI libraries leak on their own account.
check_address() {
  local folder=$folder/address sampled=ON sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g"
  mkdir -p $folder
  [ "$check" != address-each ] || sampled=OFF
  # RUSTC_BOOTSTRAP lets stable Rust take the flag.
  export RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address
  # The compiler cannot load a procedural macro that has the sanitizer in it: what runs while building is built without.
  export CARGO_UNSTABLE_TARGET_APPLIES_TO_HOST=true CARGO_TARGET_APPLIES_TO_HOST=false
  export CFLAGS=$sanitize CXXFLAGS=$sanitize LDFLAGS=$sanitize CC=gcc CXX=g++

  compile_soon
  heading "Serial library with sanitizers"
  rm -rf $folder/prefix
  (
    export ASAN_OPTIONS=detect_leaks=0 # the programs of the build, which are instrumented too, may leak
    run 120 cmake -S . -B $folder/build -G Ninja -DSCDA_MPI=OFF -DSCDA_STATIC=OFF -DSCDA_TOOLS=OFF -DCMAKE_BUILD_TYPE=Debug \
      "-DCMAKE_INSTALL_PREFIX=$root/$folder/prefix" -DCMAKE_INSTALL_LIBDIR=lib
    run 1200 cmake --build $folder/build
    run 60 cmake --install $folder/build
    build_with_library ffi-tests $folder -DVALGRIND=OFF -DSCDA_SAMPLED=$sampled
  )

  heading "That the sanitizers are in, on all sides of the interface"
  probe=$folder/probe
  cat >$probe.c <<'EOF'
#include <scda.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Deliberate errors, each of which must end the program. */
int main (int argc, char **argv) {
  int err, how = argc > 1 ? atoi (argv[1]) : 0;
  char *data = malloc (1000);
  uint64_t count = 125;
  scda_fcontext_t *f = scda_fopen_write (SCDA_COMM_SELF, argv[2], "probe", NULL, NULL, &err);
  memset (data, argc, 1000);
  if (how == 1) count = 126; /* Rust reads beyond the end (memcpy into what waits) */
  if (how == 2) count = 12600; /* zlib or libdeflate does */
  if (how == 3) data[1000] = 1; /* C writes there */
  if (how == 4) err = 0x7fffffff + argc; /* C overflows a number */
  f = scda_fwrite_array (f, data, &count, 8, 0, "x", NULL, how == 2 ? SCDA_ENCODE_ALWAYS : SCDA_ENCODE_NONE, &err);
  if (how == 5) return 0; /* C leaks its memory */
  free (data);
  return scda_fclose (f, &err);
}
EOF
  run 60 gcc $sanitize -w -o $probe $probe.c "-I$folder/prefix/include" "-L$folder/prefix/lib" -lscda "-Wl,-rpath,$root/$folder/prefix/lib"
  for how in 0:nothing 1:heap-buffer-overflow 2:heap-buffer-overflow 3:heap-buffer-overflow 4:'signed integer overflow' 5:LeakSanitizer; do
    status=0
    $probe ${how%%:*} $probe.scda >$probe.log 2>&1 || status=$?
    if [ "$how" = 0:nothing ]; then
      [ $status -eq 0 ] || { cat $probe.log; exit 1; }
    elif [ $status -eq 0 ] || ! grep -q "${how#*:}" $probe.log; then
      cat $probe.log
      echo "FAILED: the deliberate error ${how} was not seen" >&2
      exit 1
    fi
  done

  heading "Tests of the installed library with sanitizers"
  # Left out: what only calls compilers (header, hpp-), large files, and what Python reads. And fortran-lto: its link would put the
  # sanitizer into the Fortran code, too, and gfortran 12 itself reads after the descriptor of a scalar where a procedure with bind(C)
  # has an argument of assumed rank.
  # Some programs preload libscda_sc.so, which is to stand before libsc, and so before the sanitizer's library.
  run 1200 env "ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS-}" ctest --test-dir $folder/ffi-tests -j 1 --timeout 300 --output-on-failure --no-tests=error -E '^(header|hpp-|large|parse|fortran-lto)'
  grep 'tests passed' "$log"
}

# lacks: the check cannot run here. An error if it was named.
lacks() {
  echo "skipped: $check: something is missing: scripts/setup.sh sanitize"
  [ -z "$named" ] || exit 1
}

# show_passed: what the tests say that ran last; an error if they are none.
show_passed() { grep -E '^test result: .* [1-9][0-9]* passed' "$log"; }

# sees_race WORDS COMMAND...: the tests run by COMMAND see the deliberate race between two ranks, and say so.
sees_race() {
  local words=$1
  shift
  if timeout 2400 "$@" -- --ignored a_deliberate_race >"$log" 2>&1 </dev/null || ! grep -q "$words" "$log"; then
    tail -n 50 "$log"
    echo "FAILED: the deliberate race was not seen" >&2
    exit 1
  fi
}

# The thread sanitizer over ranks that are threads and share memory. Rust's own library must have it in, too.
check_thread() {
  if [ ! -d "$(rustc --print sysroot)/lib/rustlib/src" ]; then
    lacks
    return
  fi
  # What cannot be allocated is an error of ours.
  export TSAN_OPTIONS=allocator_may_return_null=1:${TSAN_OPTIONS-}
  export RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=thread PROPTEST_CASES=12
  local test=(cargo test -Zbuild-std --target "$host" --target-dir $folder/thread "${serial[@]}")
  heading "That the thread sanitizer is in"
  sees_race "ThreadSanitizer: data race" "${test[@]}" -p scda-ranks -p scda-codec --lib # which has the feature
  heading "Rust tests with the thread sanitizer"
  # Where one thread simulates all ranks, there is nothing to see.
  run 2400 "${test[@]}" --workspace --exclude scda-codec --exclude scda-command --exclude scda-python --lib --test background --test fuzzed -- --skip time_grows --skip writer::simulation::
  show_passed
  run 2400 "${test[@]}" -p scda --test ranks -- collective:: matrix::
  show_passed
}

# The parts without I/O and without C, which Miri does not run. (zlib and libdeflate are what it leaves out of the codec.)
# Tests that take it many minutes say so in the sources.
# Miri, also as on a machine where the highest byte of a number comes first.
check_miri() {
  if ! cargo +nightly miri --version >/dev/null 2>&1 ||
    [ ! -d "$(rustc +nightly --print sysroot)/lib/rustlib/src" ]; then
    lacks
    return
  fi
  local target test
  for target in "$host" s390x-unknown-linux-gnu; do
    heading "Miri, $target"
    export MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=3
    test=(cargo +nightly miri test --locked --no-default-features --target "$target" --target-dir $folder/miri --lib)
    sees_race "Undefined Behavior: Data race" "${test[@]}" -p scda-ranks
    run 2400 "${test[@]}" -p scda-base -p scda-format -p scda-ranks
    run 2400 "${test[@]}" -p scda -p scda-codec --features bundled-zlib -- file::window file::team base64::
    show_passed
  done
}

# All of the library, on a machine where the highest byte of a number comes first, emulated.
check_big_endian() {
  local target=s390x-unknown-linux-gnu
  if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target" ] || ! command -v qemu-s390x-static >/dev/null ||
    ! command -v s390x-linux-gnu-gcc >/dev/null; then
    lacks
    return
  fi
  heading "Rust tests on a big-endian machine"
  export PROPTEST_CASES=12 CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER=s390x-linux-gnu-gcc
  export CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER="qemu-s390x-static -L /usr/s390x-linux-gnu"
  local test=(cargo test --target $target --target-dir $folder/big-endian "${serial[@]}")
  run 3600 "${test[@]}" --workspace --exclude scda-command --exclude scda-python --lib --test vectors --test fuzzed -- --skip time_grows
  show_passed
  run 3600 "${test[@]}" -p scda --test files --test ranks -- byte_order:: codecs:: collective:: dataset_reading:: datasets:: hostile:: \
    matrix:: piecewise:: ranges:: seal:: sealed_reading:: sealing:: streams::
  show_passed
}

named=$*
[ $# -gt 0 ] || set -- address thread miri big-endian
for check; do
  case $check in
  address-each) (check_address) ;;
  address | thread | miri | big-endian) (check_"${check//-/_}") ;;
  *)
    echo "usage: $0 [address|address-each|thread|miri|big-endian]..." >&2
    exit 2
    ;;
  esac
done
