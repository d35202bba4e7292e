#!/usr/bin/env bash
# Runs the tests of the installed serial library with the address, leak and undefined-behaviour sanitizers in all of it: Rust,
# the zlib and libdeflate that are built in, and the tests' C. Writes below target/sanitize only.
#
# With MPI there would be leaks and races of the MPI library; the threads of the Rust tests stand for ranks there.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"

folder=target/sanitize
mkdir -p $folder
log=$root/$folder/log
sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g"
# RUSTC_BOOTSTRAP lets stable Rust take the flag. Build programs, which are instrumented too, may leak.
export RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address
export CFLAGS=$sanitize CXXFLAGS=$sanitize LDFLAGS=$sanitize CC=gcc CXX=g++

heading "Serial library with sanitizers"
rm -rf $folder/prefix
(
  export ASAN_OPTIONS=detect_leaks=0
  run 120 cmake -S . -B $folder/build -G Ninja -DSCDA_MPI=OFF -DSCDA_STATIC=OFF -DCMAKE_BUILD_TYPE=Debug \
    "-DCMAKE_INSTALL_PREFIX=$root/$folder/prefix" -DCMAKE_INSTALL_LIBDIR=lib
  run 1200 cmake --build $folder/build
  run 60 cmake --install $folder/build
  build_with_library ffi-tests $folder -DVALGRIND=OFF
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
run 1200 ctest --test-dir $folder/ffi-tests -j 1 --timeout 300 --output-on-failure --no-tests=error -E '^(header|large|parse)'
grep 'tests passed' "$log"
