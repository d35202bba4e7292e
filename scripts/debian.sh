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
run 1200 "${as_root[@]}" debootstrap --variant=minbase "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$fresh"
"${as_root[@]}" cp /etc/resolv.conf "$fresh/etc/"
"${as_root[@]}" cp $folder/*.deb "$fresh/root/"
# inside SECONDS COMMAND...: what is mounted there ends with the command.
inside() {
  local seconds=$1
  shift
  # shellcheck disable=SC2016 # for that shell
  run "$seconds" "${as_root[@]}" unshare --mount sh -ec 'for folder in proc sys dev; do
      mount --rbind /$folder "$0/$folder"
    done
    exec chroot "$0" env LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' "$fresh" "$@"
}
needed=$(sed -n '/^Depends: @,/,/^$/p' packaging/debian/tests/control | tr -d ',\n' | sed 's/^Depends: @//')
inside 600 apt-get update -qq
# shellcheck disable=SC2086 # several packages
inside 2400 apt-get install -qq -y --no-install-recommends $needed
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
