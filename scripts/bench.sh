#!/usr/bin/env bash
# Builds and runs the benchmark of benches/README.md; prints the tables as Markdown. Builds below target/bench only.
set -euo pipefail
usage() {
  cat >&2 <<'END'
usage: scripts/bench.sh [OPTION...] [FOLDER...]
FOLDER...           where to write, for example /mnt/disk (default: target/bench/files, and /dev/shm if it is there)
--quick             little data in one of the folders: shows whether the programme works, no more (some seconds)
--full              as much data as the bars are about: 1 GiB and more in 15 files at once (hours)
--mpi openmpi|mpich with this MPI alone (default: both)
--ranks "1 2 4"     how many ranks write; what each number has written, the next number reads, too
--seal              all about sealed files, at full size (1 GiB): what sealing costs, --access, benches/seal.rs (half an hour)
--own               libscda alone, in all its ways: what sealing costs, for example
--patterns          only datasets, by the patterns of the PnetCDF paper, beside HDF5 and PnetCDF
--sparse            only contiguous datasets most of which nobody writes, beside PnetCDF
--streams           only streams of tasks, 1 GiB of 4 ranks (256 MiB in a folder without room) and little ones of 64, beside a file for
                    each process and MPI-IO
--access            only finding a section among many and reading a few elements of many, beside HDF5
--ghosts            only blocks with ghost cells as they lie in memory, beside packed data, a copy, and HDF5
--forest            only forests beside p4est_save, and meshes beside plain arrays (Open MPI)
--background        only what writing in the background takes from the program, beside memcpy and the synchronous way
--work NAME         this workload alone (again for more); names: see benches/README.md
--reps N            repetitions that count (default: 7)
--existing          write over existing files
--installed FOLDER  use the libraries in FOLDER/openmpi/prefix and FOLDER/mpich/prefix; FOLDER is below the project's
--record            write the tables to benches/records/, too
END
  exit 2
}

scale=default mpis=() ranks="" reader="" works=() reps=7 installed="" record="" access="" patterns="" sparse="" streams="" seal="" forest="" ghosts="" background="" options=() folders=()
while [ $# -gt 0 ]; do
  case $1 in
  --quick) scale=quick ranks=2 reader=1 reps=2 works=(all) ;; # more ranks than cores would wait long for what runs beside
  --full) scale=full ;;
  --existing) options+=(--existing) ;;
  --own) options+=(--own) ;;
  --seal) seal=yes scale=full access=too works=(array-8 small blocks) options+=(--own) ;;
  --access) access=only ;;
  --forest) forest=only ;;
  --ghosts) ghosts=only ;;
  --background) background=only ;;
  --patterns) patterns=only ;;
  --sparse) sparse=only ;;
  --streams) streams=only ;;
  --record) record=yes ;;
  --mpi | --ranks | --work | --reps | --installed)
    [ $# -ge 2 ] || usage
    case $1 in
    --mpi) mpis+=("$2") ;;
    --ranks) ranks=$2 ;;
    --work) works+=("$2") ;;
    --reps) reps=$2 ;;
    --installed) installed=$2 ;;
    esac
    shift
    ;;
  -*) usage ;;
  *) folders+=("$(realpath -- "$1")") ;;
  esac
  shift
done
[ $scale != quick ] || [ -n "$access$patterns$sparse$streams" ] || access=too patterns=too sparse=too streams=too
[ -n "$ranks" ] || { [ "$streams" = only ] && ranks="4 64" || ranks="1 2 4"; }
here=$(dirname -- "$0")
[ -n "$installed" ] || "$here/setup.sh" bench >&2
. "$here/lib.sh"

[ -z "$forest" ] || mpis=(openmpi) # Debian's p4est
[ ${#mpis[@]} -gt 0 ] || mpis=(openmpi mpich)
if [ ${#folders[@]} -eq 0 ]; then
  folders=("$root/target/bench/files")
  [ ! -d /dev/shm ] || folders+=(/dev/shm)
  [ $scale != quick ] || folders=("${folders[-1]}")
fi
mkdir -p target/bench/files
there="" results=$root/target/bench/results

# scale_in FOLDER: full by default if only streams are measured and the folder has room: there is one file at a time.
scale_in() {
  if [ "$streams" = only ] && [ -z "$access$patterns$sparse" ] && [ $scale = default ] && [ "$(df --output=avail --block-size=1G -- "$1" | tail -n 1)" -ge 3 ]; then
    echo full
  else
    echo $scale
  fi
}

# job RANKS OPTION...: at scale $size, runs the programme of $there; appends its lines to $results.
job() {
  local n=$1 launch=() yield=$root/$there/benches/peers/libmpich_yield.so
  shift
  [ "$n" -le "$(nproc)" ] || [ ! -e "$yield" ] || launch=(env "LD_PRELOAD=$yield")
  log=$root/target/bench/job.log
  run 3600 "${launch[@]}" "$(in_pc mpiexec "$there")" -n "$n" "$there/benches/peers/bench" \
    --scale "$size" --reps "$reps" "${options[@]}" "$@"
  cat "$log" >>"$results"
}

# table PREFIX HEADING COLUMN...: what has that prefix in $results.
table() {
  local prefix=$1
  printf '\n### %s\n\n' "$2"
  shift 2
  printf '| %s ' "$@"
  printf '|\n'
  printf '| --- %.0s' "$@"
  printf '|\n'
  sed -n "s/^$prefix |/|/p" "$results"
}

# next_after RANKS: the number that follows in $ranks, round and round.
next_after() {
  local all=($ranks) i
  for i in "${!all[@]}"; do
    [ "${all[i]}" != "$1" ] || echo "${all[(i + 1) % ${#all[@]}]}"
  done
}

# rows_of PROGRAM LITTLE HEAD: the table of a program that prints its rows, for each number of ranks; LITTLE is how much it does with --quick.
rows_of() {
  local writers
  printf '| %s |\n%s|\n' "$3" "$(sed 's/[^|]//g; s/|/| --- /g' <<<"|$3")"
  for writers in $ranks; do
    echo "$there: $1 on $writers" >&2
    "$(in_pc mpiexec "$there")" -n "$writers" "$there/benches/peers/$1" "$files" "$reps" $([ $scale != quick ] || echo "$2") </dev/null
  done
}

# Whether no workload is to be run.
is_only() { [ "$forest" = only ] || [ "$ghosts" = only ] || [ "$background" = only ] || [ "$access" = only ] || [ "$patterns" = only ] || [ "$sparse" = only ] || [ "$streams" = only ]; }

# measure FOLDER: all workloads in that folder, and their tables.
measure() {
  local work writers what size
  size=$(scale_in "$1")
  files=$(mktemp -d "$1/scda-bench.XXXXXX")
  : >"$results"
  if [ -n "$forest$ghosts$background" ]; then
    printf '\n## %s, %s (%s)\n\n' "$mpi" "${1#"$root"/}" "$(stat -f -c %T -- "$1")"
    if [ -n "$forest" ]; then
      rows_of saving 10000 "ranks | quadrants | bytes of data | p4est_save, ms | scda_p4est_save, ms | with sync, ms | times as fast | by the best times | in time of the processors | with sync"
      echo
      rows_of meshes 10 "ranks | what | MB | arrays written, ms | mesh, ms | arrays / mesh | by the best times | arrays read, ms | mesh, ms | arrays / mesh | by the best times"
    elif [ -n "$background" ]; then
      # Open MPI binds two ranks or fewer to a core each, and the thread with them.
      export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
      rows_of background 1 "ranks | MiB | way | memcpy, ms | call, ms | call and commit with sync, ms | call / memcpy | by the best times | in time of the processor | loop with the thread, % more | without, % more"
    else
      rows_of ghosts 16 "ranks | blocks | | packed, ms | as it lies, ms | copied, ms | HDF5, ms | packed / as it lies | copied / as it lies | HDF5 / as it lies"
    fi
    rm -rf "$files"
    return 0
  fi
  for what in access patterns sparse streams; do
    [ -n "${!what}" ] || continue
    for writers in $ranks; do
      echo "$there, $1: $what on $writers" >&2
      job "$writers" --$what --folder "$files"
    done
  done
  is_only || for work in "${works[@]}"; do
    for writers in $ranks; do
      echo "$there, $1: $work on $writers" >&2
      if [ -n "$seal" ]; then # reading is as without a seal
        job "$writers" --work "$work" --folder "$files"
        continue
      fi
      job "$writers" --work "$work" --folder "$files" --keep
      job "${reader:-$(next_after "$writers")}" --work "$work" --folder "$files" --written-by "$writers"
    done
  done
  rm -rf "$files"
  printf '\n## %s, %s (%s)\n' "$mpi" "${1#"$root"/}" "$(stat -f -c %T -- "$1")"
  if [ -n "$access" ]; then
    table access "Access" "what" ranks contender "ms, median" "least, quartiles" "file, MB" "bar, ms" ""
  fi
  if [ -n "$streams" ]; then
    table streams "Streams" "operation, data" ranks contender "ms, median" "least, quartiles" "MB/s" "time / libscda's; of the least" bar ""
  fi
  [ -n "$patterns$sparse" ] || ! is_only || return 0
  table bar "Bars" workload ranks operation contender "peer, its best mode" "times as fast" bar ""
  [ -z "$patterns$sparse" ] || table pattern "Patterns" "pattern, data" ranks operation contender "ms, median" "least, quartiles" "MB/s" \
    "file, MB" "time / that of the first"
  is_only || table all "All" workload ranks operation contender "ms, median" "least, quartiles" "of these open" "MB/s" "file, MB" \
    "time / libscda's"
}
files=""
trap 'rm -rf "$files"' EXIT

about() {
  if [ -n "$seal" ]; then echo "# Sealed files"; elif [ "$streams" = only ]; then echo "# Streams of tasks"; elif [ "$patterns" = only ]; then echo "# Datasets"; elif [ "$sparse" = only ]; then echo "# Datasets with holes"; elif [ -n "$forest" ]; then echo "# Saving forests"; elif [ -n "$ghosts" ]; then echo "# Memory as it lies"; elif [ -n "$background" ]; then echo "# Writing in the background"; else echo "# libscda beside its peers"; fi
  echo
  echo "- $(date -u +%Y-%m-%d), commit $(git describe --always --dirty 2>/dev/null || echo unknown)"
  echo "- $(uname -srm), $(nproc) cores$(sed -n 's/^model name[^:]*: /, /p' /proc/cpuinfo | head -n 1)," \
    "load at the start $(cut -d ' ' -f 1 /proc/loadavg)"
  echo "- scale: $scale; repetitions: $reps${options:+; ${options[*]}}"
  [ $scale != quick ] || echo "- **quick: this shows that the programme works, no more. The times mean nothing.**"
}

report=$root/target/bench/report.md
about | tee "$report"
for mpi in "${mpis[@]}"; do
  if ! mpicc_of "$mpi" >/dev/null; then
    printf '\n%s does not take part: it was not found.\n' "$mpi" | tee -a "$report"
    continue
  fi
  there=${installed:-target/bench}/$mpi
  mkdir -p "$there"
  log=$root/target/bench/build.log
  if [ -z "$installed" ]; then
    echo "Building libscda with $mpi (a few minutes the first time)" >&2
    build_library "$mpi" "$there"
  fi
  build_with_library benches/peers "$there"
  if [ ${#works[@]} -eq 0 ]; then
    is_only || access=too patterns=too sparse=too streams=too
    mapfile -t works < <("$there/benches/peers/bench" --list)
  fi
  printf '\nWith %s:\n\n%s\n' "$mpi" "$("$there/benches/peers/bench" --about)" | tee -a "$report"
  for folder in "${folders[@]}"; do
    measure "$folder" | tee -a "$report"
  done
done
if [ -n "$seal" ]; then
  printf '\n## One rank, in time of the processor, too\n' | tee -a "$report"
  cargo build --quiet --locked --release -p scda-command --no-default-features --features bundled-zlib
  SCDA_COMMAND=$root/target/release/scda cargo bench -p scda --quiet --locked --no-default-features --features bundled-zlib --bench seal -- "${folders[@]}" | sed "s|$root/||" | tee -a "$report"
fi
if [ -n "$record" ]; then
  name=peers
  [ -z "$seal" ] || name=seal
  [ "$streams" != only ] || name=streams
  [ "$patterns" != only ] || name=patterns
  [ "$sparse" != only ] || name=sparse
  [ -z "$forest" ] || name=forest
  [ -z "$ghosts" ] || name=ghosts
  [ -z "$background" ] || name=background
  cp "$report" "benches/records/$name-$(date -u +%Y-%m-%d).md"
fi
