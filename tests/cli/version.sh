#!/usr/bin/env bash
# The program starts without GPU and driver: it does not link the driver's library, and says why the host is used.
# Usage: version.sh PPTRAIN
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

links_no_driver() { ! ldd "$pptrain" | grep -E 'libcuda\.so|libnvidia'; }

# No GPU is visible, whether there are any or not: 35 without a driver, 100 with one.
export CUDA_VISIBLE_DEVICES=''
reason='pptrain was built without CUDA|cudaGetDeviceCount: [A-Za-z]+, (35|100): '
check "no library of the driver" links_no_driver
expect "the version" 0 '^pptrain [0-9]' "$pptrain" --version
expect "the back ends" 0 '^back ends: host(; CUDA [0-9]+|$)' "$pptrain" --version
expect "why the host" 0 "^GPUs: none, so the host is used \\(($reason)" env COLUMNS=200 "$pptrain" --version
finish
