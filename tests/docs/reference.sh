#!/usr/bin/env bash
# The pages of docs/reference that follow from the code are what pptrain_reference and pptrain_manual write.
# Usage: reference.sh PPTRAIN_REFERENCE PPTRAIN_MANUAL SOURCE; with --write behind it they are written anew.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
"$1" "$folder"
"$2" markdown >"$folder/commands.md"
if [[ ${4:-} == --write ]]; then
  cp -- "$folder"/*.md "$3/docs/reference/"
  exit 0
fi
failures=0
for page in "$folder"/*.md; do
  written=$3/docs/reference/$(basename -- "$page")
  diff -u "$written" "$page" || failures=$((failures + 1))
done
if [[ $failures -gt 0 ]]; then
  echo "reference: $failures pages are not what the code says; write them anew:"
  echo "    $0 $1 $2 $3 --write"
  exit 1
fi
