#!/bin/sh
# same_values.sh SCDA A B DATASET...: two files have the same records of these datasets, bit by bit. Prints how many bytes each has.
set -eu
scda=$1 a=$2 b=$3
shift 3
for name; do
  "$scda" cat "$a" "$name" --record 0: --as bytes >"$a.values"
  "$scda" cat "$b" "$name" --record 0: --as bytes >"$b.values"
  test -s "$a.values"
  cmp "$a.values" "$b.values"
  echo "$name: $(wc -c <"$a.values") bytes, the same"
done
rm "$a.values" "$b.values"
