#!/bin/sh
# symbols.sh LIBRARY LIST: the library exports the functions of the list, no others, and none has a version.
set -eu
nm -D --defined-only --with-symbol-versions "$1" | awk '{ print $NF }' | LC_ALL=C sort | diff "$2" - >&2
