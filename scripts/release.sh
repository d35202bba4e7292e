#!/usr/bin/env bash
# release.sh [--dry-run] VERSION: makes a release of the last commit. In a fresh clone, target/release-VERSION, it changes the version,
# runs all tests, commits and tags, and makes what is published, in target/release-VERSION/publish: the archive, wheels, Debian packages,
# the site, the bill of materials, checksums and notes. Then the commit and the tag come into this repository; nothing is uploaded.
# After an interruption or a failure, the same call goes on: what has passed in the clone is not repeated (`once` in lib.sh), nor are steps of
# scripts/long.sh. If the last commit has changed since, or the clone, all starts anew.
# --dry-run leaves out the tests and what takes long, and leaves nothing behind.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"
dry=
[ "${1-}" != --dry-run ] || { dry=yes && shift; }
if [ $# -ne 1 ]; then
  echo "usage: $0 [--dry-run] VERSION" >&2
  exit 2
fi
version=$1
tag=v$version

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
if [ -n "$(git status --porcelain)" ]; then
  [ -n "$dry" ] || fail "there are changes that are not committed"
  echo "There are changes that are not committed: they are not in the release."
fi
! git rev-parse -q --verify "refs/tags/$tag" >/dev/null || fail "there is a tag $tag"

clone=$root/target/release-$version
if [ -n "$dry" ]; then
  clone=$(mktemp -d)
  trap 'rm -rf -- "$clone"' EXIT
fi
publish=$clone/publish
# goes_on: whether the clone is what an earlier call has made of this very commit.
goes_on() {
  [ "$(git -C "$clone" rev-parse -q --verify HEAD^ 2>/dev/null)" = "$(git -C "$root" rev-parse HEAD)" ] &&
    [ -z "$(git -C "$clone" status --porcelain)" ]
}
if goes_on; then
  cd -- "$clone"
  heading "Version $version: going on in $clone"
else
  rm -rf -- "$clone"
  git clone -q --shared "$root" "$clone"
  cd -- "$clone"
  mkdir -p target publish "$root/target/tools"
  ln -s "$root/target/tools" target # those of mdBook, of the wheels and the like, which are kept
  echo /publish/ >>.git/info/exclude
  git config user.name "$(git -C "$root" log -1 --format=%an)"
  git config user.email "$(git -C "$root" log -1 --format=%ae)"
  heading "Version $version"
  scripts/version.py set "$version" "$(date -u +%F)"
  git commit -qam "Release $version"
fi
[ -n "$dry" ] || scripts/setup.sh release
git show --stat --format=%s HEAD | grep -v docs/man
scripts/version.py notes >"$publish/notes.md"
scripts/crates.py check
scripts/abi.sh

# What has to pass, and what is made then.
tests=(scripts/dependencies.sh scripts/test.sh scripts/long.sh "scripts/sanitize.sh thread miri big-endian")
products=("scripts/dist.sh publish" "scripts/wheels.sh publish" "scripts/debian.sh publish" "scripts/site.sh target/libscda-$version-site")
left_out=()
[ -z "$dry" ] || left_out=(echo "left out:")
pass_all() {
  local command
  for command in "${tests[@]}" "${products[@]}"; do
    [ -x "${command%% *}" ] || fail "there is no ${command%% *}"
    # shellcheck disable=SC2086 # a command and its arguments
    once "${left_out[@]}" $command
  done
}
if [ -n "$dry" ]; then
  (pass_all) # `once` has a trap of its own, which would take the place of that above
  mkdir "$publish/pages"
  scripts/site.py prepare "$publish/pages"
  [ -s "$publish/notes.md" ] && [ -z "$(git status --porcelain)" ] || fail "the clone is not clean"
  repeated() { pass_all | sed -n 's/^left out: //p'; }
  sed -i 3d target/passed # as if only that had failed
  [ "$(repeated)" = "${tests[1]}" ] || fail "going on repeats more than what had failed"
  [ -z "$(repeated)" ] || fail "going on repeats what has passed"
  goes_on || fail "the same commit starts anew"
  touch changed
  [ "$(repeated)" = "$(printf '%s\n' "${tests[@]}" "${products[@]}")" ] || fail "what is changed is taken for what has passed"
  rm changed
  git commit -q --allow-empty -m "Another commit"
  ! goes_on || fail "another commit does not start anew"
  [ "$(repeated)" = "$(printf '%s\n' "${tests[@]}" "${products[@]}")" ] || fail "another commit is taken for what has passed"
  echo "dry run: version $version would be released"
  exit 0
fi
pass_all

pack target "libscda-$version-site" "publish/libscda-$version-site.tar.gz"
(cd publish && rm -f SHA256SUMS && sha256sum -- * >SHA256SUMS)
git tag -f -a "$tag" -m "libscda $version"
git -C "$root" pull -q --ff-only "$clone" HEAD
git -C "$root" fetch -q "$clone" "refs/tags/$tag:refs/tags/$tag"
heading "$publish, commit and tag $tag are to be published"
ls -l "$publish"
