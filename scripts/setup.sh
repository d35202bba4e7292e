#!/usr/bin/env bash
# setup.sh demo|test|bench|python|long|wheels|sanitize|release: installs what the demonstration, the tests, the benchmark, the tests of the
# Python package, the long tests, the wheels, all that scripts/sanitize.sh does, or a whole release need and this machine lacks (Debian,
# Ubuntu; Rust's parts by rustup); elsewhere says what is missing. Says nothing if all is there.
set -eu
. "$(dirname -- "$0")/lib.sh"

case ${1-} in
demo | test | bench | python | wheels | sanitize) wanted=$1 ;;
long) wanted=test ;;
release)
  scripts/setup.sh long
  scripts/setup.sh wheels
  exec scripts/setup.sh sanitize
  ;;
*)
  echo "usage: $0 demo|test|bench|python|long|wheels|sanitize|release" >&2
  exit 2
  ;;
esac

packages=()
reasons=()

# need PACKAGE REASON COMMAND...: PACKAGE (Debian's name) is missing if COMMAND fails.
need() {
  local package=$1 reason=$2
  shift 2
  if ! "$@" >/dev/null 2>&1; then
    packages+=("$package")
    reasons+=("  $package: $reason")
  fi
}

has_header() { echo "#include <$1>" | "${2:-gcc}" -fsyntax-only -x c -; }
has_mpiexec() { [ -x "$(dirname -- "$(mpicc_of "$1")")/mpiexec" ]; }
has_p4est() { has_header p4est.h "$(mpicc_of openmpi)"; }
has_python() { "$(system_python)" -c "import $1"; }
has_library() { ldconfig -p | grep "$1"; }
has_libclang() { [ -n "${LIBCLANG_PATH-}" ] || ls -d /usr/lib*/libclang.so /usr/lib*/*/libclang.so /usr/lib*/*/lib*/libclang.so 2>/dev/null | grep -q .; }

need gcc "compiles and links C" command -v gcc
if [ "$wanted" = wheels ]; then
  need python3-venv "holds the tools that make wheels" has_python ensurepip
  need qemu-user-static "runs what is made for another processor" command -v qemu-aarch64-static
  need git "makes the archive of the sources" command -v git
elif [ "$wanted" = sanitize ]; then
  need qemu-user-static "runs what is made for another processor" command -v qemu-s390x-static
  need gcc-s390x-linux-gnu "compiles for a big-endian processor" command -v s390x-linux-gnu-gcc
  need libc6-dev-s390x-cross "compiles for a big-endian processor" test -e /usr/s390x-linux-gnu/include/stdio.h
else
  need cmake "builds and installs the library" command -v cmake
  need ninja-build "runs the build for cmake" command -v ninja
  need libopenmpi-dev "Open MPI, to build with" mpicc_of openmpi
  need openmpi-bin "Open MPI, to run with" has_mpiexec openmpi
  [ "$wanted" = bench ] || need libp4est-dev "the mesh library of the example, built with Open MPI" has_p4est
fi
if [ "$wanted" = test ] || [ "$wanted" = bench ]; then
  need libmpich-dev "MPICH, to build with" mpicc_of mpich
  need mpich "MPICH, to run with" has_mpiexec mpich
  if command -v apt-get >/dev/null; then # elsewhere the benchmark does without, and says so
    need libhdf5-openmpi-dev "HDF5, to compare with" has_header hdf5/openmpi/H5pubconf.h
    need libhdf5-mpich-dev "HDF5, to compare with" has_header hdf5/mpich/H5pubconf.h
    need libpnetcdf-dev "PnetCDF, to compare with" has_header pnetcdf.h "$(mpicc_of openmpi)"
  fi
fi
if [ "$wanted" = test ] || [ "$wanted" = python ]; then
  need python3-venv "holds the Python package that is tested" has_python ensurepip
  need python3-numpy "what the Python package reads into" has_python numpy
  need python3-mpi4py "MPI for the Python package" has_python mpi4py
  need python3-matplotlib "draws the picture of the tutorial" has_python matplotlib
  need libegl1 "lets VTK draw without a screen" has_library libEGL.so.1
  need python3-pytest "runs the tests of the Python package" has_python pytest
  need python3-pytest-xdist "runs two of them at a time" has_python xdist
  need pkg-config "tells the tutorial how to compile" command -v pkg-config
fi
if [ "$wanted" = test ]; then
  need libclang-dev "reads mpi.h for the crate mpi, whose communicators the Rust tests use" has_libclang
  need g++ "compiles the C++ tests" command -v g++
  need clang "compiles the header as others do" command -v clang
  need doxygen "makes the reference of the C interface" command -v doxygen
  need gfortran "compiles the Fortran tests" command -v gfortran
  need zlib1g-dev "the system's zlib, for the build without the bundled one" has_header zlib.h
  need pkg-config "finds the library in the tests of scda.pc" command -v pkg-config
  need python3 "checks the files that the tests write" command -v python3
  need valgrind "checks the tests' use of memory" command -v valgrind
  need git "makes the archive of the sources" command -v git
  need abigail-tools "compares the C interface with that of the last release" command -v abidiff
  need iproute2 "has a loopback interface there" command -v ip
  need util-linux "cuts off the network, for the build without one" command -v unshare
  need procps "ends what runs beside a test that failed" command -v pkill
fi
if [ "$1" = long ] && [ "$(id -u)" -ne 0 ]; then
  need fuse3 "mounts a file system of a program" command -v fusermount3
fi
if [ "$1" = long ] && command -v apt-get >/dev/null; then # elsewhere scripts/debian.sh has no sense
  need user-mode-linux "nodes of scripts/cluster.sh" command -v linux.uml
  need nfs-kernel-server "serves them" command -v rpc.nfsd
  need openssh-server "starts jobs on them" command -v sshd
  need kmod "their modules" command -v modprobe
  need sshfs "one of their file systems" command -v sshfs
  need ocfs2-tools "one of their file systems" command -v mkfs.ocfs2
  need glusterfs-server "one of their file systems" command -v glusterd
  need moosefs-master "one of their file systems" command -v mfsmaster
  need moosefs-chunkserver "its disks" command -v mfschunkserver
  need moosefs-client "mounts it" command -v mfsmount
  need ceph-mon "CephFS, which they share" command -v ceph-mon
  need ceph-osd "its data" command -v ceph-osd
  need ceph-mds "its names" command -v ceph-mds
  need ceph-common "its commands" command -v ceph
  need quota "sets a limit on their server" command -v setquota
  need libscotch-dev "divides meshes of PyFR" sh -c 'ls /usr/lib/*/libscotch*.so'
  need debhelper "builds the Debian packages" command -v dh
  need dh-python "builds the Debian packages" command -v dh_python3
  need dpkg-dev "builds the Debian packages" command -v dpkg-buildpackage
  need lintian "looks at the Debian packages" command -v lintian
  need debootstrap "makes a fresh Debian, to install the packages" command -v debootstrap
  need mpi-default-dev "what the Debian packages depend on" dpkg -s mpi-default-dev
  need mpi-default-bin "what the Debian packages depend on" dpkg -s mpi-default-bin
fi

status=0
if [ ${#packages[@]} -gt 0 ]; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  if ! command -v apt-get >/dev/null; then
    echo "Missing here (under the names of Debian's packages):" >&2
    printf '%s\n' "${reasons[@]}" >&2
    status=1
  elif [ ${#as_root[@]} -gt 0 ] && ! command -v sudo >/dev/null; then
    echo "Missing here; run as root: apt-get install ${packages[*]}" >&2
    printf '%s\n' "${reasons[@]}" >&2
    status=1
  else
    echo "Installing ${packages[*]}"
    install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -qq -y --no-install-recommends "${packages[@]}")
    # The second try is for package lists that are missing or out of date.
    "${install[@]}" >/dev/null 2>&1 || { "${as_root[@]}" apt-get update -qq && "${install[@]}" >/dev/null; }
  fi
fi
if ! command -v cargo >/dev/null; then
  echo "cargo is missing: the library is written in Rust. Install it with rustup." >&2
  status=1
elif [ "$wanted" = sanitize ]; then
  # rust_part COMMAND...: rustup does this, if the part is not there yet; it says what it does only if it fails.
  rust_part() { output=$(rustup "$@" 2>&1) || { echo "rustup $*: $output" >&2; status=1; }; }
  rust_part component add rust-src
  rust_part target add s390x-unknown-linux-gnu
  cargo +nightly miri --version >/dev/null 2>&1 || rust_part toolchain install nightly --profile minimal --component miri --component rust-src
fi
exit $status
