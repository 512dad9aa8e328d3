#!/usr/bin/env bash
# Sets pptrain up from nothing, then builds, tests, runs or measures it. See ./bootstrap.sh --help.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
preset=${PPTRAIN_PRESET:-release}
build=$root/build/$preset
log=$root/build/bootstrap.log
compile_seconds=590  # of one slow core, for the program alone; docs/performance.md has a fast one
main_ranks=16  # of the main job, and the largest that the tests start

# Everything CMake asks for, by its name in Debian 12. Of "a|b" the first counts that is installed, or that apt knows; "a|" is left out
# where apt does not know it. Debian 13 and Ubuntu 24.04 have other versions of clang, and Ubuntu no chromium outside of snap.
packages=(g++ cmake ninja-build ccache pkg-config
  openmpi-bin libopenmpi-dev libhdf5-openmpi-dev libtrilinos-kokkos-dev
  libdnnl-dev libopenblas-pthread-dev
  libtomlplusplus-dev libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev
  libhwloc-dev librandom123-dev libxxhash-dev zlib1g-dev libsentencepiece-dev libpcre2-dev libutf8proc-dev catch2 libglpk-dev coinor-libcbc-dev libsimgrid-dev
  libboost-context-dev node-d3)
# Without these the tests that need them are skipped.
test_packages=(iproute2 slurm-wlm munge python3-venv python3-h5py python3-sphinx python3-myst-parser furo "chromium|" man-db mandoc zsh fish)
benchmark_packages=(libbenchmark-dev)
fuzz_packages=(g++ cmake ninja-build ccache pkg-config "clang-16|clang-19|clang-18" "libclang-rt-16-dev|libclang-rt-19-dev|libclang-rt-18-dev" libfmt-dev libspdlog-dev
  libtomlplusplus-dev nlohmann-json3-dev librandom123-dev libopenmpi-dev libhdf5-openmpi-dev libxxhash-dev zlib1g-dev
  libsentencepiece-dev libpcre2-dev libutf8proc-dev)
peer_packages=(python3-torch python3-h5py)

usage() {
  cat <<TEXT
Usage: ./bootstrap.sh COMMAND

  build                          install what is missing, configure, build, write env.sh
  run CONFIG [pptrain options]   build, then mpirun -np $main_ranks ./pptrain CONFIG
  install PREFIX                 build, then install below this folder (docs/install.md)
  test [ctest options]           build, then run the tests (without those labelled long)
  test --long [ctest options]    build, then run the tests labelled long
  test --busy [--long] [...]     the same beside busy loops, two for each core: no test may depend on a free machine
  bench [NAME ...]               build, then measure: kernels peer ranks prediction profiles execution planners checkpoint
                                 (default: these); also papers, which plans published experiments and writes docs/papers.md,
                                 published [--fit], which grades predictions of published runs in docs/profiles.md,
                                 emulation, which rehearses some of them on 16 ranks and adds to it, freedom [--anneal SECONDS],
                                 which says whether typed keys or annealing beat auto, sweep, which times 50 points,
                                 and building, which does in a fresh clone without caches what a newcomer does
  fuzz [SECONDS]                 build the fuzzers of the file formats and run each (default: 15 s)
  style                          check format and style of all tracked files
  tidy [FILE ...]                run clang-tidy over src/ and apps/
  --help                         this text

Missing packages are installed with apt (as root, or with sudo). The second time it is quick.

Environment:
  PPTRAIN_RANKS          ranks that 'run' starts (default $main_ranks)
  PPTRAIN_PRESET         CMake preset (default release; see CMakePresets.json)
  PPTRAIN_MODEL_PYTHON   Python with torch and transformers, for the tests of models; preset ci installs one in the
                         user's cache where none is named (tests/models/environment.sh)
  PPTRAIN_CMAKE_OPTIONS  options of CMake beside the preset's, as "-DPPTRAIN_ARCH=x86-64-v3 -DPPTRAIN_CUDA=OFF" (docs/install.md)
  PPTRAIN_SKIP_PACKAGES  1: install nothing, use what is there (implied in a Spack environment)
TEXT
}

say() { printf 'bootstrap: %s\n' "$*" >&2; }

fail() {
  say "$1"
  exit "${2:-1}"
}

# phase TEXT COMMAND...: runs the command with its output in the log; shows the log's end if it fails.
phase() {
  local text=$1 start=$SECONDS
  shift
  say "$text"
  printf '\n== %s: %s\n' "$text" "$*" >>"$log"
  if ! "$@" >>"$log" 2>&1; then
    tail -n 40 "$log" >&2
    fail "failed after $((SECONDS - start)) s: $text; all output is in $log"
  fi
}

start_log() {
  mkdir -p "$root/build"
  : >"$log"
}

# --- packages ---------------------------------------------------------------------------------

known_to_apt() {
  apt-cache policy "$1" 2>/dev/null | grep -q '^ *Candidate: [^(]'
}

is_installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# The package that an entry of the lists above stands for here; of one that apt has no lists for, the first.
resolved() {
  local entry name first
  for entry in "$@"; do
    if [[ $entry != *'|'* ]]; then
      printf '%s\n' "$entry"
      continue
    fi
    first=${entry%%|*}
    for name in ${entry//|/ }; do
      if is_installed "$name" || known_to_apt "$name"; then
        printf '%s\n' "$name"
        continue 2
      fi
    done
    # Lists that know g++ are there: then the entry is not to be had.
    if [[ $entry != *'|' ]] || ! known_to_apt g++; then printf '%s\n' "$first"; fi
  done
}

missing_packages() {
  local installed name
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' || true)
  for name in "$@"; do
    grep -qxF -- "$name" <<<"$installed" || printf '%s\n' "$name"
  done
}

apt_install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
}

# When an installation fails, an earlier one may have been interrupted, or the package lists may be empty (a fresh
# container) or old: both are mended, and it is tried once more.
apt_install_or_update() {
  local names
  mapfile -t names < <(resolved "$@")
  apt_install "${names[@]}" && return
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive dpkg --configure -a || true
  "${as_root[@]}" apt-get update
  mapfile -t names < <(resolved "$@")
  apt_install "${names[@]}"
}

spack_advice() {
  cat >&2 <<TEXT
With Spack, which needs no root:
    spack env create -d build/spack && spack env activate build/spack
    spack add cmake ninja pkgconf openmpi hdf5+mpi kokkos openblas onednn@2 tomlplusplus \\
      cli11 fmt spdlog nlohmann-json hwloc random123 xxhash zlib-api sentencepiece pcre2 utf8proc catch2
    spack install && ./bootstrap.sh build
TEXT
}

# Finds out how to become root; sets as_root, or explains what to do and ends.
become_root() {
  as_root=()
  if [[ $(id -u) -eq 0 ]]; then return; fi
  if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
    as_root=(sudo)
    return
  fi
  say "these packages are missing, and installing them needs root or sudo, which are not at hand."
  printf 'Ask an administrator for:\n    apt-get install --no-install-recommends %s\n' "$*" >&2
  spack_advice
  exit 1
}

# ensure_packages NAME...: installs those that are missing.
ensure_packages() {
  if [[ ${PPTRAIN_SKIP_PACKAGES:-0} == 1 || -n ${SPACK_ENV:-} ]]; then return; fi
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    if [[ -f $build/build.ninja ]]; then return; fi
    say "this is not a Debian system, so nothing can be installed for you; trying with what is there."
    spack_advice
    return
  fi
  local missing names
  mapfile -t names < <(resolved "$@")
  mapfile -t missing < <(missing_packages "${names[@]}")
  if [[ ${#missing[@]} -eq 0 ]]; then return; fi
  become_root "${missing[@]}"
  phase "installing ${#missing[@]} packages: ${missing[*]}" apt_install_or_update "$@"
}

# --- build ------------------------------------------------------------------------------------

# Processors that this script may use. nproc would count OMP_NUM_THREADS of env.sh, which is 1.
num_processors() {
  env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc
}

# A compiler process takes up to 1 GiB.
num_jobs() {
  local cores gibibytes
  cores=$(num_processors)
  gibibytes=$(awk '/^MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
  printf '%s\n' $((gibibytes < 1 ? 1 : gibibytes < cores ? gibibytes : cores))
}

configure() {
  command -v cmake >/dev/null || fail "cmake was not found; see the advice above"
  local options
  read -ra options <<<"${PPTRAIN_CMAKE_OPTIONS:-}"
  set -- "${options[@]}" "$@"
  if [[ -f $build/build.ninja && ! $root/CMakePresets.json -nt $build/build.ninja && $# -eq 0 ]]; then return; fi
  phase "configuring (preset $preset)" cmake -S "$root" --preset "$preset" "$@"
}

# Says how long it takes to come from nothing to a program; nothing where one is there.
say_duration() {
  local jobs
  if [[ -x $build/pptrain ]]; then return; fi
  jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(num_jobs)}
  say "the first time: missing packages, then about $(((compile_seconds / jobs + 59) / 60)) min of compiling on $jobs cores; then at once"
}

# compile TARGET...
compile() {
  phase "building ($*)" cmake --build "$build" -j "${CMAKE_BUILD_PARALLEL_LEVEL:-$(num_jobs)}" --target "$@"
  ln -sfn "build/$preset/pptrain" "$root/pptrain"
}

# Open MPI's slots on this machine: its cores, not its hardware threads.
num_cores() {
  lscpu -p=Core,Socket 2>/dev/null | grep -v '^#' | sort -u | wc -l
}

# A seccomp filter without CAP_SYS_PTRACE (bit 19) blocks process_vm_readv, which Open MPI would use.
reading_memory_is_forbidden() {
  local capabilities
  grep -q '^Seccomp:[[:space:]]*2' /proc/self/status || return 1
  capabilities=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
  (((16#$capabilities >> 19 & 1) == 0))
}

# What mpirun needs to start $main_ranks ranks here, a comment per line.
environment_lines() {
  echo "# Written by bootstrap.sh for this machine. Use it with: . ./env.sh"
  echo "# One thread per rank: the ranks share the cores already."
  echo "export OMP_NUM_THREADS=1"
  if [[ $(id -u) -eq 0 ]]; then
    echo "# Open MPI refuses to run as root otherwise."
    echo "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
  fi
  if [[ $(num_cores) -lt $main_ranks ]]; then
    echo "# There are fewer cores than $main_ranks ranks; Open MPI refuses that otherwise."
    echo "export OMPI_MCA_rmaps_base_oversubscribe=1"
    echo "# Ranks that share a core must not be bound to it, ..."
    echo "export OMPI_MCA_hwloc_base_binding_policy=none"
    echo "# ... and must give it away while they wait for a message."
    echo "export OMPI_MCA_mpi_yield_when_idle=1"
  fi
  if [[ -d /dev/shm && $(df -Pk /dev/shm | awk 'NR == 2 {print $2}') -lt 262144 ]]; then
    echo "# Shared memory is small here (a container's default), so Open MPI's buffers go elsewhere."
    echo "export OMPI_MCA_btl_vader_backing_directory=/tmp"
  fi
  if reading_memory_is_forbidden; then
    echo "# This container forbids one process to read another's memory."
    echo "export OMPI_MCA_btl_vader_single_copy_mechanism=none"
  fi
}

write_environment() {
  environment_lines >"$root/env.sh"
  # shellcheck source=/dev/null
  . "$root/env.sh"
}

# setup TARGET...: everything up to a built target; with `more_packages`, which it can do without.
more_packages=()
setup() {
  start_log
  local needed=("${packages[@]}")
  if [[ $preset == ci ]]; then needed+=("${benchmark_packages[@]}"); fi
  ensure_packages "${needed[@]}"
  (ensure_packages "${more_packages[@]}") || say "going on: the tests that need these packages are skipped"
  configure
  compile "$@"
  write_environment
}

# --- commands ---------------------------------------------------------------------------------

command_build() {
  say_duration
  setup pptrain
  say "built ./pptrain. Next:  . ./env.sh && mpirun -np $main_ranks ./pptrain inputs/gpt2.toml"
}

command_run() {
  [[ $# -ge 1 ]] || fail "run needs a CONFIG.toml; for instance: ./bootstrap.sh run inputs/gpt2.toml" 2
  local config=$1
  shift
  # As the caller sees it, or as the README writes it.
  if [[ ! -e $config && -e $root/$config ]]; then config=$root/$config; fi
  [[ -e $config ]] || fail "$config: no such file (neither from here nor from $root); see inputs/" 2
  say_duration
  setup pptrain
  say "running on ${PPTRAIN_RANKS:-$main_ranks} ranks (settings for mpirun: $root/env.sh)"
  exec mpirun -np "${PPTRAIN_RANKS:-$main_ranks}" "$root/pptrain" "$config" "$@"
}

command_install() {
  [[ $# -eq 1 ]] || fail "install needs the folder to install to; for instance: ./bootstrap.sh install ~/.local" 2
  setup pptrain pptrain_planning manual
  phase "installing to $1" cmake --install "$build" --prefix "$1"
  say "installed. Next:  export PATH=$1/bin:\$PATH && pptrain --version"
}

# Two busy loops for each core, as long as this script runs.
start_busy_loops() {
  local i n
  for ((i = 0; i < 2 * $(num_processors); ++i)); do
    (while kill -0 $$ 2>/dev/null; do for ((n = 0; n < 100000; ++n)); do :; done; done) &
    busy_loops+=($!)
  done
  trap 'kill "${busy_loops[@]}" 2>/dev/null' EXIT
  say "beside ${#busy_loops[@]} busy loops"
}
busy_loops=()

# Names to the tests the Python with torch and transformers, which preset ci installs where there is none. Without one they are
# skipped; nothing fails.
name_model_python() {
  local find=$root/tests/models/environment.sh install=() python known default
  known=$(sed -n 's/^PPTRAIN_MODEL_PYTHON:FILEPATH=//p' "$build/CMakeCache.txt")
  default=$(sed -n 's/^_Python3_EXECUTABLE:INTERNAL=//p' "$build/CMakeCache.txt")
  # One that somebody named to CMake stays, if it is any good.
  if [[ -z ${PPTRAIN_MODEL_PYTHON:-} && -n $known && $known != */pptrain/models-* ]] &&
    PPTRAIN_MODEL_PYTHON=$known "$find" >/dev/null 2>&1; then
    return
  fi
  if [[ $preset == ci && ${PPTRAIN_SKIP_PACKAGES:-0} != 1 ]]; then install=(--install); fi
  python=$("$find" "${install[@]}") || python=
  if [[ -n $python && $python != "$known" ]]; then configure -DPPTRAIN_MODEL_PYTHON="$python"; fi
  if [[ -z $python && $known != "$default" ]]; then configure -UPPTRAIN_MODEL_PYTHON; fi
}

command_test() {
  local select=(-LE long) busy=0
  while [[ ${1:-} == --long || ${1:-} == --busy ]]; do
    if [[ $1 == --long ]]; then select=(-L long); else busy=1; fi
    shift
  done
  more_packages=("${test_packages[@]}")
  setup all
  name_model_python
  if ((busy)); then start_busy_loops; fi
  say "testing (log: $build/Testing/Temporary/LastTest.log)"
  local status=0
  # Tests count in half cores (tests/CMakeLists.txt).
  ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$((2 * $(num_processors)))" "${select[@]}" "$@" || status=$?
  if [[ ${select[0]} == -LE ]]; then say "the long tests (full grids, fuzzing) run by: ./bootstrap.sh test --long"; fi
  return "$status"
}

command_bench() {
  local names=("$@") name
  if [[ ${#names[@]} -eq 0 ]]; then names=(kernels peer ranks prediction profiles execution planners checkpoint); fi
  for name in "${names[@]}"; do
    if [[ $name == -* && ${names[0]} =~ ^(published|freedom)$ ]]; then break; fi  # their options
    [[ -x $root/benchmarks/$name.py ]] || fail "no benchmark '$name'; there are: kernels peer ranks prediction profiles execution planners checkpoint papers published emulation freedom sweep building" 2
  done
  if [[ ${names[*]} == papers || ${names[*]} == emulation ]]; then
    setup pptrain
    say "running the experiments of the papers: ${names[*]}"
    "$root/benchmarks/${names[*]}.py"
    return
  fi
  if [[ ${names[0]} == published ]]; then
    start_log
    ensure_packages "${packages[@]}" "${benchmark_packages[@]}"
    configure -DPPTRAIN_BENCHMARKS=ON
    compile published_benchmark
    say "predicting published runs: ${names[*]}"
    PPTRAIN_PUBLISHED="$build/benchmarks/published_benchmark" "$root/benchmarks/published.py" "${names[@]:1}"
    return
  fi
  if [[ ${names[0]} == freedom ]]; then
    start_log
    ensure_packages "${packages[@]}" "${benchmark_packages[@]}"
    configure -DPPTRAIN_BENCHMARKS=ON
    compile pptrain annealing_benchmark
    say "looking for plans that are faster than those of auto: ${names[*]}"
    PPTRAIN_ANNEALING="$build/benchmarks/annealing_benchmark" "$root/benchmarks/freedom.py" "${names[@]:1}"
    return
  fi
  if [[ ${names[*]} == building ]]; then
    say "building and running in a fresh clone of the last commit, without caches"
    "$root/benchmarks/building.py" --test
    /usr/bin/python3 "$root/benchmarks/report.py"
    return
  fi
  start_log
  ensure_packages "${packages[@]}" "${benchmark_packages[@]}" "${peer_packages[@]}"
  configure -DPPTRAIN_BENCHMARKS=ON
  compile pptrain kernels_benchmark planning_benchmark test_runtime
  write_environment
  for name in "${names[@]}"; do
    say "measuring: $name"
    "$root/benchmarks/$name.py"
  done
  /usr/bin/python3 "$root/benchmarks/report.py"
}

command_fuzz() {
  preset=fuzz
  build=$root/build/$preset
  start_log
  (ensure_packages "${fuzz_packages[@]}") || true
  local version
  for version in 16 19 18; do if command -v "clang++-$version" >/dev/null; then break; fi; done
  command -v "clang++-$version" >/dev/null || fail "the fuzzers need clang (Debian 12: clang-16 libclang-rt-16-dev)" 77
  if [[ $version == 16 ]]; then
    configure
  else
    configure -DCMAKE_C_COMPILER="clang-$version" -DCMAKE_CXX_COMPILER="clang++-$version"
  fi
  phase "building the fuzzers" cmake --build "$build" -j "${CMAKE_BUILD_PARALLEL_LEVEL:-$(num_jobs)}" --target fuzzers
  "$root/tests/fuzz/run.sh" "$build" "${1:-15}"
}

command_style() {
  start_log
  ensure_packages clang-format shellcheck git
  say "checking the style"
  "$root/.ci/style"
}

command_tidy() {
  # clang-tidy wants to know how each file is compiled by itself.
  preset=tidy
  build=$root/build/$preset
  start_log
  ensure_packages "${packages[@]}" clang-tidy-16
  configure
  cd "$root"
  local files=("$@")
  if [[ ${#files[@]} -eq 0 ]]; then mapfile -t files < <(git ls-files 'src/*.cpp' 'apps/*.cpp'); fi
  say "clang-tidy over ${#files[@]} files (about 10 s of a core for each)"
  printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(num_processors)" clang-tidy-16 -p "$build" --quiet
}

# mpirun and apt misbehave without a standard input.
{ : <&0; } 2>/dev/null || exec </dev/null

case ${1:-} in
  build | run | install | test | bench | fuzz | style | tidy)
    name=$1
    shift
    "command_$name" "$@"
    ;;
  -h | --help | help) usage ;;
  *)
    usage >&2
    exit 2
    ;;
esac
