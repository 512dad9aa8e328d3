#!/usr/bin/env bash
# Stopping and going on: kill -9 in the midst of writing, a rank that stands still, signals, the time limit, a full disk,
# a directory that becomes read-only; the job resumes and ends with the same values, bit for bit, as one never stopped.
# Usage: checkpoints.sh PPTRAIN MPIEXEC [KILLS]
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"
kills=${3:-3}

mounted=
clean_up() { [[ -z $mounted ]] || umount -- "$mounted" || true; }
training_text text.txt
cat >job.toml <<'TOML'
[job]
name = "stopped"
[model]
layers = 2
hidden_size = 64
heads = 4
vocabulary_size = 256
[data]
train = "text.txt"
[training]
steps = 30
sequence_length = 32
global_batch_size = 8
[lr_scheduler]
name = "cosine"
[cluster]
file = "cluster.toml"
[profile]
analytic = true
[checkpoint]
interval = 1
keep = 2
TOML
this_machine 2 >cluster.toml

# fail PROBLEM: nothing else makes sense after it.
fail() {
  complain checkpoints "$*"
  exit 1
}

# train ARGUMENT...: on two ranks.
train() { "$mpiexec" --bind-to none -np 2 "$pptrain" train job.toml "$@" >output.txt 2>errors.txt; }

# values FILE: what `validate` says of the values of a checkpoint that is sound.
values() { "$pptrain" validate "$1" | grep -oE 'values [0-9a-f]{16}'; }

newest() { { find "$1" -name 'step-*.h5' -printf '%T@ %p\n' 2>/dev/null || true; } | sort -n | tail -n 1 | cut -d' ' -f2; }

checkpoint_of() { echo "$1"/stopped/[0-9]*/checkpoints/step-"$2".h5; }

milliseconds=$(milliseconds_of train --set job.output=through) || fail "the job did not run"
expected=$(values "$(checkpoint_of through 30)")
[[ -n $expected ]] || fail "the last checkpoint is not sound"

# --- killed in the midst of writing: what is there is sound, and going on ends where it should ----------------

for ((trial = 0; trial < kills; ++trial)); do
  "$mpiexec" --bind-to none -np 2 "$pptrain" train job.toml --resume latest >output.txt 2>errors.txt &
  launcher=$!
  before=$(newest outputs)
  until [[ $(newest outputs) != "$before" ]] || ! kill -0 "$launcher" 2>/dev/null; do sleep 0.01; done
  sleep "0.$(printf '%03d' $((RANDOM % 150)))"
  victim=$(process_of "$launcher" $((trial % 2)))
  [[ -z $victim ]] || kill -KILL "$victim"
  code=0
  wait "$launcher" || code=$?
  while read -r file; do
    values "$file" >/dev/null || fail "after kill $trial (exit code $code) $file is not sound"
  done < <(find outputs -name 'step-*.h5')
done
train --resume latest || fail "the job did not go on after kill -9"
[[ $(find outputs -name 'step-30.h5' | wc -l) -eq 1 && $(values "$(checkpoint_of outputs 30)") == "$expected" ]] ||
  fail "the values differ after kill -9"
[[ $(find outputs -name 'step-*.h5' | wc -l) -le 2 ]] || fail "more checkpoints are kept than asked for"
[[ -z $(find outputs -name '*.partial') ]] || fail "something half written is left"
train --resume latest || fail "a job that is done fails when it is resumed"
grep -q 'nothing is left' errors.txt || fail "a job that is done does not say so"

# --- a rank that stands still while a checkpoint is written: the job ends, and what is there is sound ------------

timeout=$(at_least 2000 $((2 * milliseconds))) # ranks that are only late do not take so long
"$mpiexec" --bind-to none -np 2 "$pptrain" train job.toml --steps 100000 --set job.output=still \
  --set "job.timeout=$timeout ms" --set model.hidden_size=256 >output.txt 2>errors.txt &
launcher=$!
victim=
until [[ -n $victim ]] || ! kill -0 "$launcher" 2>/dev/null; do victim=$(process_of "$launcher" 1); done
until compgen -G 'still/*/*/checkpoints/*.partial' >/dev/null || ! kill -0 "$launcher" 2>/dev/null; do :; done
kill -STOP "$victim"
start=$(milliseconds)
code=0
wait "$launcher" || code=$?
[[ $code -ne 0 ]] || fail "a job with a rank that stands still ends with 0"
(($(milliseconds) - start <= timeout + $(at_least 13000 $((10 * milliseconds))))) ||
  fail "a job with a rank that stands still went on for $(($(milliseconds) - start)) ms"
grep -q 'waited' errors.txt || fail "nobody says what it waited for"
while read -r file; do
  values "$file" >/dev/null || fail "$file is not sound after a rank stood still"
done < <(find still -name 'step-*.h5')

# --- a signal, and the end of the time -------------------------------------------------------------------------

# stopped CODE TEXT: the job ended with the code and said so.
stopped() { if [[ $1 -ne 75 ]] || ! grep -q "$2" errors.txt; then fail "exit code $1 instead of 75 (\"$2\")"; fi; }

quiet=(--set checkpoint.interval=0 --set job.output=signalled --steps 1000000)
"$mpiexec" --bind-to none -np 2 "$pptrain" train job.toml "${quiet[@]}" >output.txt 2>errors.txt &
launcher=$!
await_training "$launcher" signalled || fail "the job ended by itself"
kill -USR1 "$launcher"
code=0
wait "$launcher" || code=$?
stopped "$code" "a signal asked for it"
[[ -n $(newest signalled) ]] || fail "no checkpoint after a signal"

code=0
train "${quiet[@]}" --resume latest --set "job.time_limit=3 s" || code=$?
stopped "$code" "the time is almost over"

code=0
SLURM_JOB_END_TIME=$(($(date +%s) + 3)) train "${quiet[@]}" --resume latest || code=$?
stopped "$code" "the time is almost over"
[[ $(find signalled -maxdepth 2 -mindepth 2 -type d | wc -l) -eq 1 ]] || fail "the run has more than one directory"

# --- a folder of checkpoints that is a link, and two jobs at a time ----------------------------------------------

runs() { find signalled -maxdepth 2 -mindepth 2 -type d | wc -l; }
mkdir "another disk"
mv signalled/stopped/[0-9]*/checkpoints "another disk/"
ln -s "$PWD/another disk/checkpoints" "$(echo signalled/stopped/[0-9]*)/checkpoints"
"$mpiexec" --bind-to none -np 2 "$pptrain" train job.toml "${quiet[@]}" --resume latest >/dev/null 2>first.txt &
launcher=$!
until grep -q 'Run directory' first.txt || ! kill -0 "$launcher" 2>/dev/null; do sleep 0.05; done
[[ $(runs) -eq 1 ]] || fail "the run does not go on beside checkpoints that are linked"
code=0
train "${quiet[@]}" --resume latest --set "job.time_limit=1 s" || code=$?
stopped "$code" "the time is almost over"
grep -q 'another job runs in this run directory' errors.txt || fail "two jobs run in one run directory"
[[ $(runs) -eq 2 ]] || fail "the second job has no directory of its own"
kill -USR1 "$launcher"
code=0
wait "$launcher" || code=$?
[[ $code -eq 75 ]] || fail "the first job ends with $code when another one was started"

# A job that has chosen a checkpoint has the run directory: another one that goes on from there meanwhile trains elsewhere, and
# what it writes stays. The first is held where it times its layers: its ranks are stopped.
train --set job.output=chosen --set checkpoint.keep=99 --steps 10 || fail "the job did not run"
"$mpiexec" --bind-to none -np 2 "$pptrain" train job.toml --resume latest --set job.output=chosen --set checkpoint.keep=99 \
  --steps 20 --set profile.analytic=false --set profile.cache=false >/dev/null 2>first.txt &
launcher=$!
until grep -q 'Resuming from .*step-10' first.txt; do
  kill -0 "$launcher" 2>/dev/null || fail "the job that should be held ended by itself"
  sleep 0.05
done
held=("$(process_of "$launcher" 0)" "$(process_of "$launcher" 1)")
kill -STOP "${held[@]}"
train --set job.output=chosen --set checkpoint.keep=99 --steps 15 --resume latest || fail "the second job did not go on"
grep -q 'another job runs in this run directory' errors.txt || fail "a run directory is another job's before it trains there"
kill -CONT "${held[@]}"
wait "$launcher" || fail "the job that was held did not go on: $(tail -n 3 first.txt)"
[[ -z $(find chosen -name '*.damaged') ]] || fail "a sound checkpoint of another job is set aside"
[[ $(find chosen -name 'step-15.h5' | wc -l) -eq 2 && $(find chosen -name 'step-20.h5' | wc -l) -eq 1 ]] ||
  fail "the two jobs did not both end where they should"

# What is damaged is set aside, and nothing else.
newest_chosen=$(checkpoint_of chosen 20)
printf 'x' | dd of="$newest_chosen" bs=1 seek=9000 conv=notrunc status=none
train --set job.output=chosen --set checkpoint.keep=99 --steps 20 --resume latest || fail "the job did not go on from step 19"
[[ $(find chosen -name '*.damaged') == "$newest_chosen.damaged" ]] || fail "not only what is damaged was set aside"
values "$newest_chosen" >/dev/null || fail "the damaged checkpoint was not written again"

# Without mpirun SIGTERM leaves time too.
this_machine 1 >cluster.toml
"$pptrain" train job.toml --set job.output=alone --set checkpoint.interval=0 --steps 100000 >output.txt 2>errors.txt &
job=$!
await_training "$job" alone || fail "the job ended by itself"
kill -TERM "$job"
code=0
wait "$job" || code=$?
stopped "$code" "a signal asked for it"
this_machine 2 >cluster.toml

# A run directory in place of a checkpoint: the newest sound one of it, also through the link to it.
train --resume chosen/stopped/latest/ --set job.output=chosen --steps 21 || fail "the job did not go on in a run directory"
grep -Eq 'Resuming from chosen/stopped/[0-9].*/step-20.h5' errors.txt || fail "not the newest checkpoint of the run directory"
printf 'x' | dd of="$(checkpoint_of chosen 21)" bs=1 seek=9000 conv=notrunc status=none
train --resume chosen/stopped/latest --set job.output=moved --steps 22 || fail "another job did not go on from a run directory"
grep -q 'going back to the checkpoint before it' errors.txt || fail "a damaged checkpoint was taken"
[[ -e $(checkpoint_of chosen 21) ]] || fail "a checkpoint of another job's run was set aside"
code=0
train --resume chosen/stopped || code=$?
[[ $code -eq 2 ]] || fail "exit code $code instead of 2 for the folder of a job"
grep -q 'write chosen/stopped/latest' errors.txt || fail "the folder of a job is no run directory"

# --- bad checkpoints ---------------------------------------------------------------------------------------------

code=0
train --resume text.txt || code=$?
[[ $code -eq 2 ]] || fail "exit code $code instead of 2 for a foreign file"
printf 'x' | dd of="$(checkpoint_of through 30)" bs=1 seek=9000 conv=notrunc status=none
code=0
"$pptrain" validate "$(checkpoint_of through 30)" 2>errors.txt || code=$?
[[ $code -eq 2 ]] || fail "exit code $code instead of 2 for a damaged file"

# --- a full disk -------------------------------------------------------------------------------------------------

mkdir full
if mount -t tmpfs -o size=4m none full 2>/dev/null; then
  mounted=$folder/full
  code=0
  train --set job.output=full --set checkpoint.keep=9 || code=$?
  [[ $code -eq 4 ]] || fail "exit code $code instead of 4 on a full disk"
  grep -qi 'no space left\|cannot be written' errors.txt || fail "nothing is said of a full disk"
  [[ -z $(find full -name '*.partial') ]] || fail "a full disk leaves something half written"
  sound=0
  while read -r file; do
    values "$file" >/dev/null || fail "$file is not sound after the disk was full"
    sound=$((sound + 1))
  done < <(find full -name 'step-*.h5')
  ((sound > 0)) || fail "no checkpoint was left when the disk was full"
else
  echo "checkpoints: FULL DISK SKIPPED, no tmpfs can be mounted"
fi

# --- a run directory that becomes read-only ----------------------------------------------------------------------

# Root may write everywhere unless it gives that up.
obey=()
[[ $(id -u) -ne 0 ]] || obey=(setpriv "--bounding-set=-dac_override,-dac_read_search")
if "${obey[@]}" true 2>/dev/null; then
  "${obey[@]}" "$mpiexec" --bind-to none -np 2 "$pptrain" train job.toml --steps 100000 --set job.output=locked \
    --set checkpoint.interval=50 >output.txt 2>errors.txt &
  launcher=$!
  until [[ -n $(newest locked) ]] || ! kill -0 "$launcher" 2>/dev/null; do sleep 0.01; done
  chmod a-w locked/stopped/[0-9]* locked/stopped/[0-9]*/checkpoints
  code=0
  wait "$launcher" || code=$?
  chmod u+w locked/stopped/[0-9]* locked/stopped/[0-9]*/checkpoints
  [[ $code -eq 4 ]] || fail "exit code $code instead of 4 in a read-only run directory"
  grep -qi 'permission denied' errors.txt || fail "nothing is said of a read-only run directory"
  values "$(newest locked)" >/dev/null || fail "the last checkpoint is not sound after the directory became read-only"
else
  echo "checkpoints: READ-ONLY DIRECTORY SKIPPED, root cannot give up its rights"
fi

echo "checkpoints: $kills kills, signals, time limit, bad files: all as expected"
