#!/usr/bin/env bash
# Copies of files that differ between the hosts of a job: exit code 2 on all ranks with the file and who has which, and
# nothing half-written. Ranks with working directories of their own stand in for hosts with disks of their own.
# Usage: copies.sh PPTRAIN MPIEXEC
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

mkdir one other
this_machine 2 >cluster.toml
cat >one/job.toml <<TOML
[job]
name = "copies"
output = "$PWD/outputs"
[model]
layers = 1
hidden_size = 16
heads = 2
vocabulary_size = 256
[data]
train = "text.txt"
validation = "held_back.txt"
[training]
steps = 2
sequence_length = 16
global_batch_size = 4
[parallelism]
data = 2
[cluster]
file = "$PWD/cluster.toml"
[profile]
analytic = true
[checkpoint]
interval = 1
TOML
training_text one/text.txt
cp one/text.txt one/held_back.txt
cp one/*.toml one/*.txt other

# both ARGUMENT...: rank 0 in the folder one, rank 1 in the other.
cat >both <<SH
#!/usr/bin/env bash
exec "$mpiexec" --bind-to none -np 1 -wdir "$PWD/one" "$pptrain" train job.toml "\$@" : \
  -np 1 -wdir "$PWD/other" "$pptrain" train job.toml "\$@"
SH
chmod +x both

expect "equal copies" 0 'steps' ./both
runs() { find outputs -mindepth 2 -maxdepth 2 -type d | wc -l; }
before=$(runs)

# differs TITLE FILE: a byte in the midst of the other host's copy is another one.
differs() {
  cp "other/$2" kept
  printf '#' | dd of="other/$2" bs=1 seek=2000 conv=notrunc status=none
  expect "$1" 2 "$2: the hosts of the job have different copies .*rank 0.*rank 1" ./both
  check "$1: said once" test "$(grep -c 'different copies' errors.txt)" -eq 1
  cp kept "other/$2"
}

differs "another text" text.txt
differs "another held-back text" held_back.txt
mv other/text.txt kept
head -c 3000 kept >other/text.txt
expect "a shorter text" 2 'text.txt: the hosts of the job have different copies' ./both
mv kept other/text.txt
rm other/held_back.txt
expect "a text that one host lacks" 2 'held_back.txt: the hosts of the job have different copies .*absent' ./both
cp one/held_back.txt other

# Weights, by a checkpoint of the job.
checkpoint=$(find outputs -name step-2.h5)
cp "$checkpoint" one/start.h5
cp "$(find outputs -name step-1.h5)" other/start.h5
expect "other initial parameters" 2 'start.h5: the hosts of the job have different copies' \
  ./both --set model.initial_parameters=start.h5
expect "another checkpoint" 2 'start.h5: the hosts of the job have different copies' ./both --resume start.h5
check "neither is set aside" test -z "$(find . -name '*.damaged')"
cp one/start.h5 other
expect "equal initial parameters" 0 'steps' ./both --set model.initial_parameters=start.h5 --set job.output="$PWD/started"
check "nothing is left of what was refused" test "$(runs)" -eq "$before"

# Other arguments, which no rank but the first would heed.
expect "an option of one rank alone" 2 'the command line: rank 1 was started with "train job.toml --dry-run"' \
  "$mpiexec" --bind-to none -np 1 -wdir "$PWD/one" "$pptrain" train job.toml : \
  -np 1 -wdir "$PWD/one" "$pptrain" train job.toml --dry-run
finish
