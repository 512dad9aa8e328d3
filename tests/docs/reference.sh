#!/usr/bin/env bash
# The pages of docs/reference that follow from the code are what pptrain_reference and pptrain_manual write.
# Every planner has a section, every schedule a picture.
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

# named PATTERN: the names that an option's description lists behind the pattern.
named() { sed -n "s/.*$1: \([a-z0-9, -]*[a-z0-9]\).*/\1/p" "$folder/commands.md" | tr -d ',' | tr ' ' '\n'; }
planners=$(named 'who searches' | grep -vx all)
schedules=$(named "instead of the plan's")
for name in $planners; do
  grep -qE "^### (.* )?$name( |\$)" "$3/docs/planning.md" || { echo "docs/planning.md has no section on $name"; exit 1; }
done
for name in $schedules; do
  grep -qE "^draw [a-z]+ $name\$" "$3/docs/schedules.md" || { echo "docs/schedules.md has no picture of $name"; exit 1; }
done
echo "reference: $(wc -w <<<"$planners") planners and $(wc -w <<<"$schedules") schedules are explained"
