#!/usr/bin/env bash
# abi.sh: whether programs that were linked with the last release run with this library: compares the C interface, as a compiler sees it,
# with that of the last tag vVERSION, by abidiff (Debian: abigail-tools). That abidiff notices what breaks programs is tested first.
# Of libscda_sc, whose types are libsc's, no symbol may be missing.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
if ! command -v abidiff >/dev/null; then
  echo "skipped: abi: there is no abidiff (abigail-tools)"
  exit 0
fi

# interface NAME HEADER MORE...: NAME.so with all functions of scda.h and the other headers with functions of the library, in which the debug information has their types.
interface() {
  mkdir -p "$work/$1"
  sed 's|/\* #undef SCDA_SERIAL \*/|#define SCDA_SERIAL 1|' "$2" >"$work/$1/scda.h"
  cat "${@:3}" | sed '/^#include <scda.h>/d' >>"$work/$1/scda.h"
  # As gcc lists them: /* scda.h:1:NC */ extern int scda_f (int);
  gcc -fsyntax-only -aux-info "$work/$1/list" -x c "$work/$1/scda.h"
  {
    echo '#include "scda.h"'
    sed -n 's|^/\* [^ ]*/scda.h:[0-9]*:NC \*/ extern \(.* \**scda_.*\);.*|\1 { __builtin_trap(); }|p' "$work/$1/list"
  } >"$work/$1/all.c"
  gcc -w -g -std=gnu2x -shared -fPIC -fno-eliminate-unused-debug-types -o "$work/$1.so" "$work/$1/all.c"
}
# as_long_as OLD HEADER: this header, in which structs that begin with their size, since they may grow, have no more members than in OLD.
as_long_as() {
  awk '/^struct .*[{]$/ { name = $2; members = 0 }
    name && /^  [a-z].*;$/ {
      if (!members++) sized = /^  size_t size;$/
      if (FNR == NR) most[name] = members
      else if (sized && name in most && members > most[name]) next
    }
    /^}/ { name = "" }
    FNR != NR' "$1" "$2"
}
# fits OLD NEW: whether what was linked with OLD runs with NEW. Functions may be added. abidiff's 8 is a change that breaks, 4 one that
# may; 1 and 2 are its own errors.
fits() {
  local status=0
  abidiff --no-added-syms "$work/$1.so" "$work/$2.so" >"$work/report" 2>&1 || status=$?
  [ $((status & 3)) -eq 0 ] || { cat "$work/report" >&2; exit 1; }
  [ $status -eq 0 ]
}

more=(include/scda_bind.h include/scda_meshes.h)
interface new include/scda.h "${more[@]}"
count=$(grep -c builtin_trap "$work/new/all.c")
same=$(nm -D --defined-only "$work/new.so" | awk '$3 ~ /^scda_/ { print $3 }' | LC_ALL=C sort | diff - crates/c/scda.symbols) || {
  echo "FAILED: gcc sees other functions in the headers than crates/c/scda.symbols has:" >&2
  echo "$same" >&2
  exit 1
}
# changed CHANGE: the interface with this change of scda.h.
changed() {
  sed "$1" include/scda.h >"$work/edited.h"
  ! cmp -s include/scda.h "$work/edited.h" || { echo "FAILED: include/scda.h has nothing for $1" >&2; exit 1; }
  as_long_as include/scda.h "$work/edited.h" >"$work/changed.h"
  interface changed "$work/changed.h" "${more[@]}"
}
for change in 's/scda_version(void)/scda_version(int unused)/' '/scda_version(void);/d' 's/^  int seal;/  long seal;/' \
  's/^  int seal;/  int more;\n&/' '/^struct scda_partition {/,/^}/s/^}/  long more;\n}/'; do
  changed "$change"
  ! fits new changed || { echo "FAILED: abidiff does not notice $change" >&2; exit 1; }
done
changed '/^struct scda_params {/,/^}/s/^}/  long more;\n}/'
fits new changed || { cat "$work/report" >&2; echo "FAILED: a struct that begins with its size must not grow" >&2; exit 1; }

if ! tag=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null); then
  echo "abi: $count functions; there is no release yet to compare them with"
  exit 0
fi
git show "$tag:include/scda.h" >"$work/old.h"
for header in "${more[@]}"; do
  git show "$tag:$header"
done >"$work/old_more.h"
interface old "$work/old.h" "$work/old_more.h"
as_long_as "$work/old.h" include/scda.h >"$work/comparable.h"
interface comparable "$work/comparable.h" "${more[@]}"
# same_soname FILE: whether the number of the ABI that it sets is that of the tag.
same_soname() { [ "$(git show "$tag:$1" | grep -E '^set\(SCDA_(SC_)?SOVERSION [0-9]+\)$')" = "$(grep -E '^set\(SCDA_(SC_)?SOVERSION [0-9]+\)$' "$1")" ]; }
missing=$(git show "$tag:crates/libsc/scda_sc.symbols" | LC_ALL=C comm -23 - crates/libsc/scda_sc.symbols)
if [ -n "$missing" ] && same_soname cmake/libsc.cmake; then
  echo "FAILED: libscda_sc of $tag has, and this one has not: $missing" >&2
  exit 1
fi
if ! same_soname CMakeLists.txt; then
  echo "abi: $count functions; the soname is another one than that of $tag"
elif fits old comparable; then
  echo "abi: $count functions; programs that were linked with $tag run with them"
else
  cat "$work/report" >&2
  echo "FAILED: programs that were linked with $tag do not run with this interface; see \"ABI\" in docs/promises.md" >&2
  exit 1
fi
