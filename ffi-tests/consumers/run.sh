#!/usr/bin/env bash
# run.sh PREFIX [NAME]: uses the library installed in PREFIX as a stranger would, in a folder far from the sources: in each
# language, by find_package, by pkg-config and by the compiler alone, shared and static, and runs what was built. NAME is
# that of the package if not scda. MPI, compilers and mpiexec are those of the installed .pc file.
set -euo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
. "$here/../../scripts/lib.sh"
prefix=$(cd -- "$1" && pwd)
name=${2:-scda}
symbols=$root/crates/c/scda.symbols

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cp "$here"/*.* "$work"
cd -- "$work"
log=$work/log
export PATH=$PATH:/sbin:/usr/sbin LC_ALL=C
for libdir in "$prefix"/lib "$prefix"/lib64 "$prefix"/lib/*; do # Debian: lib/x86_64-linux-gnu
  [ ! -e "$libdir/pkgconfig/$name.pc" ] || break
done
export PKG_CONFIG_PATH=$libdir/pkgconfig

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# same WHAT EXPECTED FOUND
same() { [ "$2" = "$3" ] || fail "$1 is"$'\n'"$3"$'\n'"and not"$'\n'"$2"; }

pc() { pkg-config "$@" "$name"; }
variable() { pkg-config --variable="$1" "$name"; }

mpicc=$(variable mpicc)
mpiexec=$(variable mpiexec)
includedir=$(variable includedir)
version=$(sed -n 's/^version *= *"\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)
library=$libdir/lib$name
system=$(pc --static --libs | grep -o -- '-lz\>' || true) # what the static library needs if it was built with the system's zlib

# wrapper_of LANGUAGE: MPI's compiler; without MPI the usual one.
wrapper_of() {
  case $1 in
  C) echo "${mpicc:-gcc}" ;;
  CXX) [ -n "$mpicc" ] && echo "${mpicc/mpicc/mpicxx}" || echo g++ ;;
  Fortran) [ -n "$mpicc" ] && echo "${mpicc/mpicc/mpif90}" || echo gfortran ;;
  esac
}

# ---- What is installed -------------------------------------------------------------------------------------------------

# The version, wherever it is said; scda_version() and the header are compared by the programs.
same "version of the .pc file" "$version" "$(pc --modversion)"
same "version of the CMake package" "$version" \
  "$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' "$libdir/cmake/$name/${name}ConfigVersion.cmake")"
same "file of libscda.so" "$(readlink -f "$library.so")" "$(readlink -f "$library.so.$version")"

# The interface, and nothing else, and the version of its symbols.
soname=$(readelf -d "$library.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
number=${soname#"lib$name.so."}
[[ $number =~ ^[0-9]+$ ]] || fail "soname $soname"
same "the link that programs load" "$(readlink -f "$library.so")" "$(readlink -f "$libdir/$soname")"
same "what the shared library exports" "$(sed "s/\$/@@SCDA_$number/" "$symbols")" \
  "$(nm -D --defined-only "$library.so" | awk '$2 != "A" { print $3 }' | sort)"
same "what the static library exports" "$(cat "$symbols")" \
  "$(nm -g --defined-only "$library.a" | awk 'NF == 3 { print $3 }' | sort)"

# The command, which is the same for all variants, with its pages and completions.
same "version of the command" "scda $version" "$("$prefix/bin/scda" --version)"
"$prefix/bin/scda" copy --decode "$here/../../tests/vectors/mixed.wild.scda" "$work/mixed.scda"
"$prefix/bin/scda" diff "$work/mixed.scda" "$here/../../tests/vectors/mixed.wild.scda" || fail "the command makes another file"
same "libraries needed by the command" "" "$(readelf -d "$prefix/bin/scda" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
  grep -Ev '^(libc|libm|libgcc_s|libpthread|libdl|librt|ld-linux.*|libz)\.so' || true)"
for file in man/man1/scda.1* man/man1/scda-check.1* bash-completion/completions/scda zsh/site-functions/_scda \
  fish/vendor_completions.d/scda.fish; do
  compgen -G "$prefix/share/$file" >/dev/null || fail "no $file"
done

# Every link of the pages leads somewhere.
run 60 python3 links.py "$(dirname -- "$(echo "$prefix"/share/doc/*/LICENSE-MIT)")"

# scda-config says what pkg-config says, also through a link.
mkdir bin
ln -s "$prefix/bin/$name-config" bin/config
config=$work/bin/config
same "$name-config" "$version ${mpicc:-cc} $mpiexec $(variable mpi)" "$("$config" --version --cc --mpiexec --mpi)"
same "$name-config --prefix" "$prefix" "$("$config" --prefix)"
same "$name-config --fortran" "$(realpath "$(variable fortran)")" "$("$config" --fortran)"
! "$config" --nonsense >/dev/null 2>&1 || fail "$name-config accepts any option"

# What the loader is told: the system's libraries. MPI is the program's.
needed=$(readelf -d "$library.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
  grep -Ev '^(libc|libm|libgcc_s|libpthread|libdl|librt|ld-linux.*|libz)\.so' || true)
same "libraries needed beyond those expected" "" "$needed"
runpath=$(readelf -d "$library.so" | sed -n 's/.*(\(RPATH\|RUNPATH\)).*\[\(.*\)\]/\2/p')
same "the run path of the library" "" "$runpath"

# What is linked in, and its licences: the folder of a distribution's package has a name of its own.
for file in LICENSES-CRATES.txt 'sbom.cdx.json*'; do
  [ -n "$(find "$prefix/share/doc" -name "$file")" ] || fail "there is no $file below $prefix/share/doc"
done
for folder in "$root/" "${CARGO_HOME:-$HOME/.cargo}/" "$(rustc --print sysroot)/"; do
  for file in $(find "$prefix/bin" "$libdir"/lib*scda* "$libdir/cmake/$name" "$libdir/pkgconfig/$name.pc" -type f); do
    ! grep -qF -- "$folder" "$file" || fail "$file names $folder, a folder of the machine that built it"
  done
done

# ---- Its users ---------------------------------------------------------------------------------------------------------

# try PROGRAM: runs it on 2 ranks. The shared library is found as a module would have it.
try() {
  local launch=() ranks=1
  if [ -n "$mpiexec" ]; then
    ranks=2
    launch=("$mpiexec" -n 2)
  fi
  case $1 in *shared*) set -- "$1" LD_LIBRARY_PATH="$libdir" ;; *) set -- "$1" ;; esac
  run 60 env ${2-} "${launch[@]}" "./$1" $ranks "$work/$1.scda"
  same "the output of $1" "$version on $ranks" "$(sed 1d "$log")"
  count=$((count + 1))
}
count=0

# build_by_cmake NAME OPTION...: the programs cmake-NAME-shared and cmake-NAME-static.
build_by_cmake() {
  local folder=cmake-$1
  shift
  run 120 cmake -S . -B $folder -G Ninja -DPACKAGE="$name" -DVERSION="$version" -DCMAKE_PREFIX_PATH="$prefix" "$@"
  run 120 cmake --build $folder
  ln -s $folder/shared $folder-shared
  ln -s $folder/static $folder-static
}

# Many set the wrapper as the compiler itself.
build_by_cmake wrapper -DLANGUAGE=C -DCMAKE_C_COMPILER="$(wrapper_of C)"
try cmake-wrapper-shared
# CMake, but by way of pkg-config, which says nothing of MPI: the wrapper does.
build_by_cmake pkg-config -DLANGUAGE=C -DBY=pkg-config -DCMAKE_C_COMPILER="$(wrapper_of C)"
try cmake-pkg-config-shared

for language in C CXX Fortran; do
  wrapper=$(wrapper_of $language)
  strict=(-Wall -Wextra -Wpedantic -Wconversion -Werror)
  case $language in
  C) sources=consumer.c ;;
  CXX) cp consumer.c consumer.cpp && sources=consumer.cpp ;;
  Fortran)
    # The module is compiled with the program.
    sources="$(variable fortran) consumer.F90"
    strict=(-std=f2018 -Wall -Wextra -Wpedantic -Werror)
    if [ -z "$mpicc" ]; then
      sources+=" -DSERIAL"
    fi
    ;;
  esac

  build_by_cmake $language -DLANGUAGE=$language

  run 60 "$wrapper" "${strict[@]}" $sources -o pkg-config-$language-shared $(pc --cflags --libs)
  # --static means a program that is static as a whole. There are no such libraries of MPI as a rule, and libgfortran has
  # weak references to functions of threads that are then missing: there, this library alone.
  flags=$(pc --static --cflags --libs)
  if [ -n "$mpicc" ] || [ $language = Fortran ]; then
    flags=${flags/-l$name/-Wl,-Bstatic -l$name -Wl,-Bdynamic}
  else
    flags="-static $flags"
  fi
  run 60 "$wrapper" "${strict[@]}" $sources -o pkg-config-$language-static $flags

  run 60 "$wrapper" "${strict[@]}" $sources -o config-$language-shared $("$config" --cflags --libs)
  run 60 "$wrapper" "${strict[@]}" $sources -o config-$language-static $("$config" --cflags --static)

  run 60 "$wrapper" $sources -o plain-$language-shared -I"$includedir" -L"$libdir" -l"$name"
  run 60 "$wrapper" $sources -o plain-$language-static -I"$includedir" "$library.a" $system -lm -ldl -lpthread

  for route in cmake pkg-config config plain; do
    for kind in shared static; do
      try $route-$language-$kind
    done
    ! readelf -d $route-$language-static | grep -q "NEEDED.*lib$name" || fail "$route-$language-static is not static"
  done
done

# Beside another library in Rust and a zlib, shared or static, in any order.
run 60 rustc -C opt-level=1 --edition 2024 --crate-type staticlib other.rs
for zlib in -lz -l:libz.a; do
  for libraries in "-l:lib$name.a -L. -lother $zlib" "-L. -lother $zlib -l:lib$name.a"; do
    run 60 "$(wrapper_of C)" neighbours.c -o neighbours -I"$includedir" -L"$libdir" $libraries $system -lm -ldl -lpthread
    run 60 ./neighbours "$work/neighbours.scda"
    count=$((count + 1))
  done
done

# ---- The same library serves programs with the other family of MPI -------------------------------------------------------

if [ -n "$mpicc" ]; then
  other=openmpi
  [ "$(variable mpi)" != "Open MPI" ] || other=mpich
  if other_mpicc=$(mpicc_of $other); then
    mpiexec=$(dirname -- "$other_mpicc")/mpiexec.$other
    [ -x "$mpiexec" ] || mpiexec=$(dirname -- "$other_mpicc")/mpiexec
    build_by_cmake other -DLANGUAGE=C "-DMPI_C_COMPILER=$other_mpicc"
    run 60 "$other_mpicc" consumer.c -o plain-other-shared $(pc --cflags --libs)
    run 60 "$other_mpicc" consumer.c -o plain-other-static -I"$includedir" "$library.a" $system -lm -ldl -lpthread
    for program in cmake-other-shared cmake-other-static plain-other-shared plain-other-static; do
      try $program
      run 10 cmp "$work/$program.scda" "$work/cmake-C-shared.scda"
    done
  fi
fi
echo "$count programs built and run"
