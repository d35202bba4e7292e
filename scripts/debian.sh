#!/usr/bin/env bash
# debian.sh [--build] [FOLDER]: builds the Debian packages of packaging/debian from the archive of scripts/dist.sh, without a network, looks at them
# with lintian, installs them with apt into a fresh Debian, and uses them there (packaging/debian/tests) and from here, in all languages.
# Writes below target/debian, 3 GB, and copies the packages to FOLDER. The fresh Debian needs root and a network. --build only builds.
set -euo pipefail
here=$(dirname -- "$0")
build_only=
[ "${1-}" != --build ] || { build_only=yes && shift; }
copies=
[ $# -eq 0 ] || { mkdir -p -- "$1" && copies=$(cd -- "$1" && pwd); }
"$here/setup.sh" long
. "$here/lib.sh"

folder=target/debian
fresh=$root/$folder/root
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" rm -rf $folder
mkdir -p $folder
log=$root/$folder/log
unpack_sources $folder
cp -r packaging/debian $folder/sources/debian
version=$(scripts/version.py)
grep -qF "libscda ($version-" packaging/debian/changelog || {
  echo "FAILED: packaging/debian/changelog does not begin with version $version" >&2
  exit 1
}
heading "Debian: building the packages"
# -d: Rust may be that of rustup, and Debian's own packages of it do not count.
run_without_network 7200 env -C $folder/sources dpkg-buildpackage -b -us -uc -d
rm -rf $folder/sources
ls $folder/*.deb
[ -z "$copies" ] || cp $folder/*.deb "$copies"
[ -z "$build_only" ] || exit 0
# There is no public address yet, and no bug of Debian's that asks for these packages.
run 600 lintian --allow-root --fail-on error,warning --suppress-tags \
  bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs $folder/*.changes

heading "Debian: a fresh one"
there=$fresh
needed=$(sed -n '/^Depends: @,/,/^$/p' packaging/debian/tests/control | tr -d ',\n' | sed 's/^Depends: @//')
# shellcheck disable=SC2046,SC2086 # several packages
debian_root $(. /etc/os-release && echo "$VERSION_CODENAME") $needed
"${as_root[@]}" cp $folder/*.deb "$fresh/root/"
inside 600 sh -c 'apt-get install -qq -y --no-install-recommends /root/*scda*.deb'
heading "Debian: using the packages there"
"${as_root[@]}" cp packaging/debian/tests/as-installed "$fresh/root/"
inside 600 /root/as-installed
"${as_root[@]}" rm -rf "$fresh"
heading "Debian: using them in C, C++ and Fortran"
for package in $folder/*.deb; do
  dpkg -x "$package" $folder/installed
done
run 1200 ffi-tests/consumers/run.sh $folder/installed/usr
tail -n 1 "$log"
