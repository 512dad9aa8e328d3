#!/usr/bin/env bash
# The small jobs of inputs/ train as they are, for a few steps: each kind of network from its own data.
# Usage: jobs.sh PPTRAIN MPIEXEC
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

# What a summary says of four steps whose losses are numbers.
losses='steps +4, loss [0-9.]+ to [0-9.]+'

for job in classifier own-network own-images bert-small vit-small resnet-small t5-small mixtral-small transgan-small; do
  expect "$job trains" 0 "$losses" "$mpiexec" -np 2 "$pptrain" "$inputs/$job.toml" --steps 4 --set "job.output=$folder/outputs"
done
finish
