#!/usr/bin/env bash
# The Python with torch and transformers that the tests of models need (requirements.txt beside this file): prints its path.
#
#     environment.sh             the one that is there
#     environment.sh --install   ... or else it is installed from PyPI, once, in the user's cache
#
# It is the Python that PPTRAIN_MODEL_PYTHON names, or that of a virtual environment below $XDG_CACHE_HOME/pptrain (~/.cache/pptrain),
# which is made anew when requirements.txt changes. Exit code 77 and one line of the reason where there is none: the tests are then
# skipped. An installation gets PPTRAIN_INSTALL_SECONDS (600).
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
requirements=${PPTRAIN_MODEL_REQUIREMENTS:-$here/requirements.txt}
seconds=${PPTRAIN_INSTALL_SECONDS:-600}
# Without CUDA's libraries, a quarter of the size; where it cannot be reached PyPI's own torch is taken.
cpu_index=https://download.pytorch.org/whl/cpu
gibibytes=10  # that installing needs at most
mebibytes_per_gibibyte=1024

none() {
  printf 'no Python for the tests of models, which are SKIPPED: %s\n' "$1" >&2
  exit 77
}

# has_packages PYTHON: whether it finds them; their names are those of their modules.
has_packages() {
  local modules
  mapfile -t modules < <(sed -n 's/^\([a-z0-9_]*\)==.*/\1/p' "$requirements")
  "$1" -c 'import importlib.util, sys; sys.exit(any(importlib.util.find_spec(m) is None for m in sys.argv[1:]))' \
    "${modules[@]}" 2>/dev/null
}

if [[ -n ${PPTRAIN_MODEL_PYTHON:-} ]]; then
  has_packages "$PPTRAIN_MODEL_PYTHON" || none "PPTRAIN_MODEL_PYTHON=$PPTRAIN_MODEL_PYTHON lacks a package of $requirements"
  printf '%s\n' "$PPTRAIN_MODEL_PYTHON"
  exit
fi

[[ -n ${XDG_CACHE_HOME:-${HOME:-}} ]] || none "there is no home directory to install it in"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pptrain
folder=$cache/models-$(sha256sum <"$requirements" | cut -c1-12)
log=$cache/models.log

# The folder is complete when this file is there, which is touched whenever the folder is used.
is_complete() { [[ -e $folder/complete ]] && "$folder/bin/python" -c '' 2>/dev/null; }
use() {
  touch "$folder/complete"
  printf '%s\n' "$folder/bin/python"
  exit
}
if is_complete; then use; fi
[[ ${1:-} == --install ]] || none "tests/models/environment.sh --install makes one"

base=
for python in python3 /usr/bin/python3; do
  if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    base=$python
    break
  fi
done
[[ -n $base ]] || none "it takes Python 3.11 with venv and ensurepip (Debian: python3-venv)"
{ mkdir -p "$cache" && : >>"$log"; } 2>/dev/null || none "$cache cannot be written"
free=$(df -Pm "$cache" | awk 'NR == 2 {print $4}')
((free >= gibibytes * mebibytes_per_gibibyte)) || none "$cache has $((free / mebibytes_per_gibibyte)) GiB free, and it takes up to $gibibytes"

# Two test runs at a time: the second one waits, and finds it done.
exec 9>"$cache/models.lock"
flock -w "$seconds" 9 || none "another run is installing it since $seconds s"
if is_complete; then use; fi

rm -rf -- "$folder"
printf 'installing torch and transformers for the tests of models in %s, once, %s s at most\n' "$folder" "$seconds" >&2
status=0
# shellcheck disable=SC2016 # expanded by the bash that timeout starts
timeout -k 10 "$seconds" bash -euc '
  base=$1 folder=$2 requirements=$3 cpu_index=$4
  pip=("$folder/bin/python" -m pip --no-input --disable-pip-version-check --no-cache-dir --retries 1)
  "$base" -m venv "$folder"
  export TMPDIR=$folder/tmp  # goes with the folder, whatever ends pip
  mkdir "$TMPDIR"
  "${pip[@]}" --timeout 15 install --index-url "$cpu_index" "$(grep "^torch==" "$requirements")" ||
    echo "not from $cpu_index: from PyPI"
  "${pip[@]}" --timeout 60 install -r "$requirements"
' bash "$base" "$folder" "$requirements" "$cpu_index" >"$log" 2>&1 9>&- </dev/null || status=$?
if [[ $status -eq 0 ]] && ! has_packages "$folder/bin/python"; then status=1; fi
if [[ $status -ne 0 ]]; then
  rm -rf -- "$folder"
  if [[ $status -eq 124 || $status -eq 137 ]]; then none "installing it took more than $seconds s ($log)"; fi
  none "installing it failed: $({ grep -i error "$log" || tail -n 1 "$log"; } | tail -n 1 | cut -c1-160) ($log)"
fi
rm -rf -- "$folder/tmp"
# Those of other requirements that nobody has used for a month.
find "$cache" -maxdepth 2 -path '*/models-*/complete' -mtime +30 -print0 | xargs -0 -r dirname -z | xargs -0 -r rm -rf --
use
