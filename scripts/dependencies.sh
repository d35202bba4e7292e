#!/usr/bin/env bash
# Checks the crates that libscda, its Python package and its fuzzers are built from, by deny.toml: licences, sources, bans; and
# advisories, if their database can be had. cargo-deny is compiled the first time, without optimization and debug information, below target/tools.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"

scripts/crates.py check
version=0.20.2
deny=$root/target/tools/bin/cargo-deny
log=$root/target/tools/log
mkdir -p target/tools
if [ "$("$deny" --version 2>/dev/null)" != "cargo-deny $version" ]; then
  CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_OPT_LEVEL=0 run 2400 cargo install cargo-deny --debug --version $version --locked --root target/tools
fi
run 120 "$deny" --locked --all-features --workspace --config "$root/scripts/deny.toml" check licenses bans sources
echo "licences, bans, sources: as deny.toml allows"

# The database comes from the network. What it holds is an error; that it cannot be had is not.
if ! timeout $((60 * ${SCDA_PATIENCE:-1})) "$deny" --locked fetch db >"$log" 2>&1 </dev/null; then
  echo "advisories: NOT CHECKED, their database cannot be fetched here"
  exit 0
fi
run 120 "$deny" --locked --all-features --workspace --config "$root/scripts/deny.toml" check --disable-fetch advisories
echo "advisories: none"
