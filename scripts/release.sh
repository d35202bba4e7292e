#!/usr/bin/env bash
# release.sh [--dry-run|--keep] VERSION: makes a release of the last commit. In a fresh clone, target/release-VERSION, it changes the version,
# runs all tests, commits and tags, and makes what is published, in target/release-VERSION/publish: the archive, wheels, Debian packages,
# the site, the bill of materials, what has passed, checksums and notes. Then the commit and the tag come into this repository; nothing is
# uploaded.
# After an interruption or a failure, the same call goes on: what has passed in the clone is not repeated (`once` in lib.sh), nor are steps of
# scripts/long.sh. If the last commit has changed since, or the clone, all starts anew.
# --keep: what has passed for an earlier commit, in the clone or here, is not repeated either, but for scripts/test.sh and what is published.
# That is for whoever knows what has changed since; publish/passed.txt tells the commit of each.
# --dry-run leaves out the tests and what takes long, and leaves nothing behind.
set -euo pipefail
. "$(dirname -- "$0")/lib.sh"
dry="" keep=""
case ${1-} in
--dry-run) dry=yes && shift ;;
--keep) keep=yes && shift ;;
esac
if [ $# -ne 1 ]; then
  echo "usage: $0 [--dry-run|--keep] VERSION" >&2
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
  if [ -n "$keep" ] && [ -d "$clone" ]; then
    git -C "$clone" fetch -q "$root" HEAD
    git -C "$clone" reset -q --hard FETCH_HEAD
    rm -rf "$publish"
  else
    rm -rf -- "$clone"
    git clone -q --shared "$root" "$clone"
  fi
  cd -- "$clone"
  mkdir -p target publish "$root/target/tools"
  [ -z "$keep" ] || cat "$root/target/passed" >>target/passed 2>/dev/null || true
  ln -sfn "$root/target/tools" target/tools # those of mdBook, of the wheels and the like, which are kept
  echo /publish/ >>.git/info/exclude
  git config user.name "$(git -C "$root" log -1 --format=%an)"
  git config user.email "$(git -C "$root" log -1 --format=%ae)"
  heading "Version $version"
  cargo fetch -q --locked # what it changes is looked up without a network
  scripts/version.py set "$version" "$(date -u +%F)"
  git commit -qam "Release $version"
fi
[ -n "$dry" ] || scripts/setup.sh release
git show --stat --format=%s HEAD
scripts/version.py notes >"$publish/notes.md"
scripts/crates.py check
scripts/abi.sh

# What has to pass, and what is made then. CI runs scripts/long.sh with all of its numbers each week.
may_be_kept=(scripts/dependencies.sh "scripts/long.sh --share 10" "scripts/sanitize.sh thread" "scripts/sanitize.sh miri"
  "scripts/sanitize.sh big-endian")
always=(scripts/test.sh "scripts/reproduce.sh dist publish" "scripts/reproduce.sh wheels publish" "scripts/reproduce.sh debian publish"
  "scripts/site.sh target/libscda-$version-site")
all=("${may_be_kept[@]}" "${always[@]}")
left_out=()
[ -z "$dry" ] || left_out=(echo "left out:")
# pass KEEP COMMAND...: each of these commands, unless it has passed before; see `once`, also for KEEP.
pass() {
  local keep=$1 command
  shift
  for command; do
    [ -x "${command%% *}" ] || fail "there is no ${command%% *}"
    # shellcheck disable=SC2086 # a command and its arguments
    SCDA_KEEP=$keep once "${left_out[@]}" $command
  done
}
pass_all() {
  pass "$keep" "${may_be_kept[@]}"
  pass "" "${always[@]}"
}
if [ -n "$dry" ]; then
  (pass_all) # `once` has a trap of its own, which would take the place of that above
  mkdir "$publish/pages"
  scripts/site.py prepare "$publish/pages"
  [ -s "$publish/notes.md" ] && [ -z "$(git status --porcelain)" ] || fail "the clone is not clean"
  repeated() { pass_all | sed -n 's/^left out: //p'; }
  sed -i 2d target/passed # as if only that had failed
  [ "$(repeated)" = "${all[1]}" ] || fail "going on repeats more than what had failed"
  [ -z "$(repeated)" ] || fail "going on repeats what has passed"
  goes_on || fail "the same commit starts anew"
  touch changed
  [ "$(repeated)" = "$(printf '%s\n' "${all[@]}")" ] || fail "what is changed is taken for what has passed"
  rm changed
  git commit -q --allow-empty -m "Another commit"
  ! goes_on || fail "another commit does not start anew"
  [ "$(keep=yes repeated)" = "$(printf '%s\n' "${always[@]}")" ] || fail "what may be kept is not, or more is"
  git commit -q --allow-empty -m "Yet another commit"
  [ "$(repeated)" = "$(printf '%s\n' "${all[@]}")" ] || fail "another commit is taken for what has passed"
  echo "dry run: version $version would be released"
  exit 0
fi
pass_all

pack target "libscda-$version-site" "publish/libscda-$version-site.tar.gz"
awk -F '\t' '{ passed[$3] = $0 } END { for (what in passed) print passed[what] }' target/passed | sort -k 3 >publish/passed.txt
(cd publish && rm -f SHA256SUMS && sha256sum -- * >SHA256SUMS)
git tag -f -a "$tag" -m "libscda $version"
git -C "$root" pull -q --ff-only "$clone" HEAD
git -C "$root" fetch -q "$clone" "refs/tags/$tag:refs/tags/$tag"
heading "$publish, commit and tag $tag are to be published"
ls -l "$publish"
