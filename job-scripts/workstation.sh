#!/usr/bin/env bash
# Trains with pptrain on this machine, without Slurm: a rank per core, going on from what was there before. USR1 and TERM
# (kill PID) end it with a checkpoint and exit code 75, Ctrl-C at once.
#
#   job-scripts/workstation.sh [CONFIG.toml [OPTION...]]
#   PPTRAIN_RANKS=16 job-scripts/workstation.sh inputs/gpt2.toml

# shellcheck disable=SC2154  # `code` is set by run.sh
set -eo pipefail
scripts=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
source "$scripts/run.sh"
# What Open MPI needs here, by ./bootstrap.sh build.
# shellcheck source=/dev/null
if [[ -r $scripts/../env.sh ]]; then source "$scripts/../env.sh"; fi
cores=$(lscpu -p=Core,Socket | grep -v '^#' | sort -u | wc -l)
PPTRAIN_LAUNCHER=${PPTRAIN_LAUNCHER:-mpirun -np ${PPTRAIN_RANKS:-$cores}}
find_pptrain
find_launcher
launch train "${@:-$scripts/../inputs/gpt2.toml}" --resume latest
if [[ $code -eq 75 ]]; then say "stopped early with a checkpoint; the same command goes on"; fi
exit "$code"
