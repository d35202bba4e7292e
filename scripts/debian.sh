#!/usr/bin/env bash
# debian.sh [FOLDER]: builds the Debian packages of packaging/debian from the archive of scripts/dist.sh, without a network, installs them
# into a folder of their own as dpkg does, with their dependencies checked, and uses them. Writes below target/debian, and copies the
# packages to FOLDER.
set -euo pipefail
here=$(dirname -- "$0")
copies=
[ $# -eq 0 ] || { mkdir -p -- "$1" && copies=$(cd -- "$1" && pwd); }
"$here/setup.sh" long
. "$here/lib.sh"

folder=target/debian
rm -rf $folder
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
# -d: Rust is that of rustup, and Debian's own packages of it do not count.
run_without_network 3600 env -C $folder/sources dpkg-buildpackage -b -us -uc -d
rm -rf $folder/sources
ls $folder/*.deb

heading "Debian: installing them"
there=$root/$folder/root
mkdir -p "$there"/var/lib/dpkg/{info,updates,triggers}
cp /var/lib/dpkg/status "$there/var/lib/dpkg/status"
run 120 dpkg "--root=$there" --force-not-root --force-script-chrootless --no-triggers -i $folder/lib*scda*.deb $folder/scda_*.deb
heading "Debian: using them"
run 1200 ffi-tests/consumers/run.sh "$there/usr"
tail -n 1 "$log"
[ -z "$copies" ] || cp $folder/*.deb "$copies"
