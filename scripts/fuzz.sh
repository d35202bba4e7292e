#!/usr/bin/env bash
# fuzz.sh SECONDS|RUNSx [TARGET...]: lets each fuzzer, or each of these, run so long, or so often (0: builds them). Writes below
# target/fuzz only. With FUZZ_SEED=N they draw the same random numbers each time: runs from a new corpus repeat exactly.
# fuzz.sh pack TARGET FOLDER: makes the files of FOLDER the corpus of TARGET in tests/fuzzed/corpus; the same files make the same archive.
#
# Stable Rust and g++ will do: RUSTC_BOOTSTRAP lets it take the one unstable flag, for the address sanitizer.
# An input that makes the library err goes to target/fuzz/found; put it into tests/fuzzed/regressions/TARGET with the fix.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"

if [ "${1-}" = pack ] && [ $# -eq 3 ]; then
  (cd -- "$3" && find . -maxdepth 1 -type f -printf '%P\0') | LC_ALL=C sort -z | tar --format=ustar --owner=0 --group=0 --numeric-owner \
    --mode=0644 --mtime=@0 --create --file "tests/fuzzed/corpus/$2.tar" --directory "$3" --null --verbatim-files-from --files-from=-
  exit
fi
if [ $# -eq 0 ] || ! [ "${1%x}" -ge 0 ] 2>/dev/null; then
  echo "usage: $0 SECONDS|RUNSx [TARGET...]; $0 pack TARGET FOLDER" >&2
  exit 2
fi
most=$1
case $most in
*x) seconds=600 limit=-runs=${most%x} ;; # seconds: only a hang takes so long
*) seconds=$most limit=-max_total_time=$most ;;
esac
shift
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(sed -n 's/^    ("\([a-z_]*\)", .*/\1/p' tests/fuzzed/targets/mod.rs)

folder=$root/target/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')
sancov=-Cllvm-args=-sanitizer-coverage
flags="-Cpasses=sancov-module $sancov-level=4 $sancov-inline-8bit-counters $sancov-pc-table $sancov-trace-compares"
mkdir -p "$folder/found"
heading "Building the fuzzers"
RUSTC_BOOTSTRAP=1 RUSTFLAGS="$flags -Zsanitizer=address -Ccodegen-units=1" \
  cargo build --locked --profile fuzz -p scda-fuzz --target "$host" --target-dir "$folder" --bin fuzz
[ "$seconds" -gt 0 ] || exit 0

status=0
for target in "${targets[@]}"; do
  heading "$target, $most"
  corpus=$folder/corpus/$target
  mkdir -p "$corpus"
  packed=$folder/packed/$target
  rm -rf "$packed"
  mkdir -p "$packed"
  [ ! -e "tests/fuzzed/corpus/$target.tar" ] || tar -xf "tests/fuzzed/corpus/$target.tar" -C "$packed"
  seeds=("$packed")
  [ ! -d "tests/fuzzed/regressions/$target" ] || seeds+=("tests/fuzzed/regressions/$target")
  case $target in
  read_*)
    tar -xf tests/bad-data/files.tar -C "$packed"
    seeds+=(tests/vectors)
    ;;
  esac
  log=$folder/$target.log
  # Leaks are looked for by the tests: here they would cost most of the time. libdeflate has a constant in each variant of
  # its decompressor, which the sanitizer takes for one defined twice.
  FUZZ_TARGET=$target ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0:${ASAN_OPTIONS-} timeout --kill-after=10 $((seconds + 120)) \
    "$folder/$host/fuzz/fuzz" -seed="${FUZZ_SEED:-0}" "$limit" -timeout=25 -rss_limit_mb=2048 -max_len=20000 -dict=tests/fuzzed/dictionary \
    -print_final_stats=1 -artifact_prefix="$folder/found/$target-" "$corpus" "${seeds[@]}" >"$log" 2>&1 </dev/null ||
    status=$?
  grep -E 'stat::(number_of_executed_units|average_exec_per_sec|slowest_unit_time_sec|peak_rss_mb)|panicked at|^SUMMARY|Test unit written' \
    "$log" || tail -n 20 "$log"
done
if [ $status -ne 0 ]; then
  echo "FAILED: see $folder/*.log and $folder/found" >&2
fi
exit $status
