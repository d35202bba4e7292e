#!/usr/bin/env bash
# coverage.sh: which lines the Rust tests of the serial build and of the command run: a table of the folders, and each line of the parsers
# that no test runs. Needs cargo-nextest, cargo-llvm-cov (cargo install --locked cargo-llvm-cov) and llvm-tools (rustup component add
# llvm-tools). Writes below target/coverage only.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"

folder=target/coverage
umask 0 # some tests of the command let another user run it, who writes counts, too
mkdir -p $folder/logs
export CARGO_LLVM_COV_TARGET_DIR=$root/$folder CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_OPT_LEVEL=1 PROPTEST_CASES=32
log=$root/$folder/logs/coverage.log
# --failure-mode all: a program that a test kills may leave counts that nobody can read.
run 3600 cargo llvm-cov nextest --failure-mode all --locked "${crates[@]/#/--package=}" --no-default-features --ignore-run-fail \
  --lib --bins --test tools --test files --test ranks --test vectors --test fuzzed --test faults --test background \
  --lcov --output-path $folder/lines.lcov
grep -E 'Summary|^ *FAIL ' "$log" | sort -u
"$(system_python)" scripts/coverage.py $folder/lines.lcov
