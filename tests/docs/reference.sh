#!/usr/bin/env bash
# The pages of docs/reference that follow from the code are what pptrain_reference writes.
# Usage: reference.sh PPTRAIN_REFERENCE SOURCE
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
"$1" "$folder"
failures=0
for page in "$folder"/*.md; do
  written=$2/docs/reference/$(basename -- "$page")
  diff -u "$written" "$page" || failures=$((failures + 1))
done
if [[ $failures -gt 0 ]]; then
  echo "reference: $failures pages are not what the code says; write them anew: build/PRESET/pptrain_reference docs/reference"
  exit 1
fi
