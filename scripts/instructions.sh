#!/usr/bin/env bash
# Counts the instructions of the pure parts and of whole calls (benches/instructions.rs) and compares them with
# benches/records/instructions.txt: more than 5 % more is a failure. SCDA_UPDATE=1 writes the record anew.
#
# valgrind shows every program the same processor, whatever the machine has, as far as it is of its kind (with or without
# AVX2): code that chooses instructions by the processor chooses the same there. Other compilers and C libraries count
# otherwise; the record says with which it was made, and with others nothing is compared.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"

record=benches/records/instructions.txt
tolerance=5 # percent
if ! command -v valgrind >/dev/null; then
  echo "valgrind is missing: no instructions are counted"
  exit 0
fi

made_with=$(printf '%s; %s; glibc %s; %s; %s' "$(rustc --version)" "$(cc --version | head -n 1)" \
  "$(getconf GNU_LIBC_VERSION | sed 's/.* //')" "$(valgrind --version)" "$(grep -qw avx2 /proc/cpuinfo && echo avx2)")
if [ "${SCDA_UPDATE:-0}" = 0 ] && [ "$(head -n 1 $record)" != "# $made_with" ]; then
  echo "$record was made with other tools: no instructions are compared"
  exit 0
fi

# Built as Cargo.toml has it, whatever other tests are built with. What only the tests need, and cargo compiles nevertheless, is not optimized.
unset CARGO_PROFILE_RELEASE_{LTO,CODEGEN_UNITS,OPT_LEVEL}
options=()
for crate in proptest rand regex-syntax; do
  options+=(--config "profile.release.package.$crate.opt-level=0")
done
# Without MPI: what is counted has none, and its start would take most of the time.
program=$(cargo bench -p scda --locked --no-default-features --features bundled-zlib --bench instructions --no-run \
  --message-format=json "${options[@]}" "$@" 2>/dev/null | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
counts=$(mktemp)
trap 'rm -f "$counts" "$counts".*' EXIT
printf '# %s\n' "$made_with" >"$counts"
"$program" | while IFS= read -r part; do
  valgrind --quiet --tool=callgrind --callgrind-out-file="$counts.part" --toggle-collect='instructions::counted' \
    "$program" "$part" >/dev/null
  printf '%12d  %s\n' "$(sed -n 's/^summary: //p' "$counts.part")" "$part"
done >>"$counts"

if [ "${SCDA_UPDATE:-0}" != 0 ]; then
  cp "$counts" $record
  exit 0
fi
awk -v tolerance=$tolerance '
  /^#/ { next }
  { count = $1; sub(/^ *[0-9]+  /, "") }
  NR == FNR { recorded[$0] = count; next }
  !($0 in recorded) { print "not in the record: " $0; bad = 1; next }
  { change = 100 * (count / recorded[$0] - 1); printf "%12d  %+6.1f %%  %s\n", count, change, $0 }
  change > tolerance { print "more than the record allows: " $0; bad = 1 }
  change < -tolerance { print "fewer; SCDA_UPDATE=1 writes the record anew" }
  { delete recorded[$0] }
  END { for (part in recorded) { print "not counted: " part; bad = 1 } exit bad }
' $record "$counts"
