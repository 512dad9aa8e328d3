#!/usr/bin/env bash
# What every command prints at 80, 120 and 200 columns, and where nothing says how many there are (80): no line is wider,
# but for a word that is too long by itself, and a plan has 25 lines at most, whatever its model and cluster.
# Usage: widths.sh PPTRAIN MPIEXEC
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

training_text text.txt
cat >job.toml <<'TOML'
[job]
name = "widths"
[model]
layers = 4
hidden_size = 32
heads = 2
vocabulary_size = 256
[data]
train = "text.txt"
validation = "text.txt"
[training]
steps = 3
sequence_length = 16
global_batch_size = 8
[planner]
trials = 2
trial_steps = 2
time_limit = "2 s"
TOML
sed 's/^heads = 2/heads = 5/; s/^steps/stepps/' job.toml >wrong.toml

# too_wide COLUMNS FILE...: lines that have more, and a space at which they could have been broken.
too_wide() { grep -aE "^.{$(($1 + 1)),}" "${@:2}" | grep -aE "^.{1,$1} +[^ ]" | grep -aE "^ *[^ ]+ +[^ ]"; }

# fits COLUMNS TITLE CODE COMMAND...: the command ends with the code, and nothing that it prints is wider.
fits() {
  local columns=$1
  expect "$columns columns: $2" "$3" '' env ${columns:+COLUMNS="$columns"} "${@:4}"
  # Messages stay in one line for programs that search them, where neither a terminal nor COLUMNS says how long it may be.
  local files=(output.txt ${columns:+errors.txt})
  check "$columns columns: $2 fits" bash -c "! { $(declare -f too_wide); too_wide ${columns:-80} ${files[*]}; } >wide.txt"
  if [[ -s wide.txt ]]; then sed 's/^/    too wide: /' wide.txt; fi
}

# short: the plan that was printed has 25 lines at most, beside lines that a search tells of itself.
short() { [[ $(grep -cv '^planning for' output.txt) -le 26 ]]; }

jobs=(papers/dapple-bert-48 papers/zeropp-gpt-14.6b papers/zeropp-gpt-6.2b amp-heterogeneous-cluster mixtral-8x7b)
for job in "${jobs[@]}"; do
  expect "plan of $job" 0 '' "$pptrain" plan "$inputs/$job.toml" --set 'planner.time_limit="2 s"' -o "${job//\//-}.json"
done

for columns in "" 80 120 200; do
  for command in "" train cluster profile plan simulate report validate tokenize generate export; do
    # shellcheck disable=SC2086  # no subcommand is no word
    fits "$columns" "$command --help" 0 "$pptrain" $command --help
  done
  fits "$columns" "the version" 0 "$pptrain" --version
  fits "$columns" "a job" 0 "$mpiexec" -np 4 "$pptrain" train job.toml
  fits "$columns" "a job that says more" 0 "$mpiexec" -np 4 "$pptrain" train job.toml -v
  fits "$columns" "its report" 0 "$pptrain" report outputs/widths/latest -o report.html
  fits "$columns" "a text" 0 "$pptrain" generate outputs/widths/latest --prompt the --tokens 4
  fits "$columns" "an export" 0 "$pptrain" export outputs/widths/latest -o "exported$columns"
  fits "$columns" "a dry run" 0 "$mpiexec" -np 4 "$pptrain" train job.toml --dry-run
  fits "$columns" "tokens" 0 "$pptrain" tokenize text.txt -o tokens.bin
  fits "$columns" "the machine" 0 "$mpiexec" -np 4 "$pptrain" cluster
  fits "$columns" "a cluster file" 0 "$pptrain" cluster "$inputs/clusters/aws-heterogeneous.toml"
  fits "$columns" "validation" 0 "$pptrain" validate job.toml
  fits "$columns" "a mistake" 2 "$pptrain" validate wrong.toml
  fits "$columns" "a mistake in the command line" 2 "$pptrain" train job.toml --lr 1
  for job in "${jobs[@]}"; do
    file=${job//\//-}.json
    fits "$columns" "plan of $job" 0 "$pptrain" plan "$inputs/$job.toml" --set "parallelism.plan=\"$file\""
    check "... in 25 lines" short
    fits "$columns" "plan of $job that says more" 0 \
      "$pptrain" plan "$inputs/$job.toml" --set "parallelism.plan=\"$file\"" -v
    fits "$columns" "simulation of $job" 0 "$pptrain" simulate "$inputs/$job.toml" --plan "$file"
  done
  fits "$columns" "a search" 0 "$pptrain" plan "$inputs/papers/dapple-bert-48.toml" --set 'planner.time_limit="3 s"' -v
  fits "$columns" "a search that says less" 0 \
    "$pptrain" plan "$inputs/amp-heterogeneous-cluster.toml" --set 'planner.time_limit="2 s"'
  check "... in 25 lines" short
  fits "$columns" "no plan fits" 3 "$pptrain" plan "$inputs/gpt2-1.5b.toml" --cluster "$inputs/clusters/aws-homogeneous.toml" \
    --analytic --set training.precision=fp16 --set parallelism.zero_stage=0 --set parallelism.recompute=none --set parallelism.data=16
done

finish
