#!/usr/bin/env bash
# environment.sh where installing works, fails, or takes too long, and where it was done before. A python3 of this test is in the
# place of the real one: nothing is installed.
# Usage: environment_test.sh
set -euo pipefail
script=$(realpath -- "$(dirname -- "$0")")/environment.sh
unset PPTRAIN_MODEL_PYTHON
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$script")/../cli/common.sh" "$script"

mkdir tools
export PATH=$folder/tools:$PATH XDG_CACHE_HOME=$folder/cache PPTRAIN_MODEL_REQUIREMENTS=$folder/requirements.txt
printf '# packages\ntorch==2.0\nnumpy==1.0\n' >requirements.txt

# A python3 that is new enough; `-m venv FOLDER` leaves what the file `venv` says as its Python.
cat >tools/python3 <<'SH'
#!/usr/bin/env bash
if [[ $1 == -c ]]; then exit 0; fi
mkdir -p "$3/bin"
cp venv "$3/bin/python"
SH
# The environment's Python: notes what is installed, and fails or waits where a file asks for it.
cat >venv <<SH
#!/usr/bin/env bash
if [[ \$1 == -c ]]; then [[ ! -e $folder/lacking ]]; exit; fi
printf '%s\n' "\$*" >>$folder/installed
if [[ -e $folder/hangs ]]; then sleep 3600; fi
if [[ -e $folder/no_cpu_index && "\$*" == *whl/cpu* ]]; then echo "ERROR: no such index"; exit 1; fi
if [[ -e $folder/fails ]]; then echo "ERROR: No matching distribution found for torch"; exit 1; fi
SH
chmod +x tools/python3 venv

one_line() { [[ $(wc -l <errors.txt) -eq 1 ]]; }
no_folder() { [[ $(find cache -name 'models-*' | wc -l) -eq 0 ]]; }
same_as_output() { cmp -s -- "$1" output.txt; }

expect "nothing is installed unasked" 77 'SKIPPED: .*environment.sh --install makes one' "$script"
check "one line says so" one_line
check "and no folder is left" test ! -e cache

touch fails
expect "an installation that fails" 77 'SKIPPED: installing it failed: ERROR: No matching distribution .*models\.log' "$script" --install
check "leaves no folder" no_folder
rm fails
touch hangs
expect "an installation that hangs" 77 'SKIPPED: installing it took more than 2 s' env PPTRAIN_INSTALL_SECONDS=2 "$script" --install
check "leaves no folder either" no_folder
rm hangs
touch lacking
expect "an installation that lacks a package" 77 'SKIPPED: installing it failed' "$script" --install
check "nor does it leave a folder" no_folder
rm lacking installed

expect "an installation" 0 "^$folder/cache/pptrain/models-[0-9a-f]*/bin/python$" "$script" --install
check "takes torch without CUDA's libraries" grep -q 'whl/cpu torch==2.0$' installed
check "and all others from PyPI" grep -q -- "-r $folder/requirements.txt$" installed
cp output.txt first
rm installed
expect "the same again" 0 '' "$script" --install
check "is the same Python" same_as_output first
check "of which nothing is installed again" test ! -e installed
expect "unasked it is found too" 0 '' "$script"
check "and is the same Python" same_as_output first

touch no_cpu_index
echo 'h5py==3.0' >>requirements.txt
expect "other requirements" 0 '/bin/python$' "$script" --install
check "are installed apart" test "$(cat first)" != "$(cat output.txt)"
check "from PyPI alone where there is no other index" grep -q -- "-r $folder/requirements.txt$" installed

expect "a Python that the user names" 0 "^$folder/venv$" env PPTRAIN_MODEL_PYTHON="$folder/venv" "$script" --install
touch lacking
expect "one without the packages" 77 'SKIPPED: PPTRAIN_MODEL_PYTHON=.*venv lacks' env PPTRAIN_MODEL_PYTHON="$folder/venv" \
  "$script" --install
finish
