# Lost and drained nodes, the time limit, other nodes than before, and the other scripts. Sourced by jobs.sh at its end.
# shellcheck shell=bash
# shellcheck disable=SC2154  # set there

measured=(--set cluster.file=discover --set profile.analytic=false)
is_pending() { [[ $(state_of "$1") == PENDING ]]; }
node_is() { [[ $(timeout 100 sinfo -h -N -n "$1" -o %T) == "$2" ]]; }

# lose NODE JOB: the power of a node of the job fails and comes back; the job goes back into the queue and trains again.
lose() {
  wait_until "a checkpoint of job $2" says "$2" 'step 50: checkpoint'
  remove_node "$1"
  wait_until "the requeue after $1 was lost" says "$2" 'DUE TO (NODE FAILURE|JOB REQUEUE)'
  start_node "$1"
  wait_until "training with $1 again" trains "$2" 2
  says "$2" 'Resuming from .*step-[0-9]+.h5' || fail "job $2 does not resume"
}

# --- a lost node, then a drained one, under srun -----------------------------------------------------------------------

submit moved -- "${measured[@]}" --set parallelism.data=1 --set parallelism.pipeline=4
wait_until "training on four nodes" trains "$job" 1
timeout 100 scancel --batch --signal=TERM "$job"
wait_until "the end after TERM" is_over "$job"
says "$job" 'the job was ended \(exit code 75\)' || fail "TERM to the script leaves no checkpoint"

submit lost --
lost=$job
lose fast2 "$lost"
says "$lost" 'rank [0-3],.* waited (longer than )?30 s' || fail "nobody says that a rank is missed"
timeout 100 scontrol update nodename=fast3 state=drain reason=test
timeout 100 scancel --batch --signal=USR1 "$lost"
wait_until "the drained node" node_is fast3 drained
is_pending "$lost" || fail "job $lost does not wait for a drained node: $(state_of "$lost")"

# Meanwhile a job of four nodes goes on with three.
submit moved --nodes=3 -- "${measured[@]}" --set parallelism.data=1 --set parallelism.pipeline=3
ends "$job"
says "$job" 'Resuming from' || fail "the job does not resume on other nodes"
says "$job" 'planning anew' || fail "the job is not planned anew for three nodes"
compare 50 5e-6 through moved

timeout 100 scontrol update nodename=fast3 state=resume
ends "$lost"
same_curves through lost
echo "slurm: a lost and a drained node: as expected"

# --- a lost node under mpirun -------------------------------------------------------------------------------------------

PPTRAIN_LAUNCHER=mpirun submit lost_mpirun --
lose slow1 "$job"
ends "$job"
same_curves through lost_mpirun
echo "slurm: a lost node under mpirun: as expected"

# --- the time limit: Slurm sends USR1 up to a minute early ---------------------------------------------------------------

submit limit --time=2 --signal=B:USR1@70 -- --steps 4000
wait_until "a requeue near the limit" trains "$job" 2
says "$job" 'stopped early with a checkpoint: putting the job back' || fail "the job was not stopped before the limit"
says "$job" 'DUE TO TIME LIMIT' && fail "the job ran into its limit"
timeout 100 scancel --batch --signal=TERM "$job"
wait_until "the end of job $job" is_over "$job"
echo "slurm: the time limit: as expected"

# --- tasks of an array, the last of which has the array's number, and ranks that get what the script has -------------------

echo 'export MARK=set' >job-scripts/sites/marked.sh
cat >marked <<'SH'
#!/usr/bin/env bash
echo "rank with the mark $MARK"
SH
chmod +x marked
submit marked --export=PATH,PPTRAIN=./marked,PPTRAIN_SITE=marked --
wait_until "the end of job $job" is_over "$job"
says "$job" 'rank with the mark set$' 4 || fail "the ranks do not get what the site's file sets"

submit array --array=1-2 -- --steps 4000
wait_until "training of an array" trains "$job" 1
timeout 100 scancel --batch --signal=USR1 "${job}_2"
wait_until "the requeue of a task" says "$job" 'putting the job back'
wait_until "a task that waits" is_pending "${job}_2"
[[ $(state_of "${job}_1") == RUNNING ]] || fail "the other task of the array is $(state_of "${job}_1")"
timeout 100 scancel "$job"
for task in 1 2; do wait_until "the end of task $task" is_over "${job}_$task"; done
echo "slurm: an array: as expected"

# --- the other scripts ---------------------------------------------------------------------------------------------------

job=$(timeout 100 sbatch --parsable --job-name=het job-scripts/hetjob.slurm job.toml --set job.name=het "${measured[@]}" \
  --set parallelism.data=8 --set parallelism.pipeline=2)
wait_until "training of a heterogeneous job" trains "$job" 1
says "$job" 'start 1 on fast\[1-3\] slow1 at' || fail "the job does not say where its components are"
timeout 100 scancel --batch --signal=USR1 "$job"
wait_until "training of a requeued heterogeneous job" trains "$job" 2
ends "$job"
compare 50 5e-6 through het

# A cluster of four nodes planned on one core: by a job, and where one is typed.
job=$(timeout 100 sbatch --parsable job-scripts/plan-only.slurm job.toml)
ends "$job"
"$pptrain" validate "plan-$job.json" >/dev/null || fail "no plan from plan-only.slurm"
bash job-scripts/plan-only.slurm job.toml >typed.log 2>&1
"$pptrain" validate "$(sed -n 's/.*the plan is in //p' typed.log)" >/dev/null || fail "no plan without Slurm"

PPTRAIN_RANKS=2 job-scripts/workstation.sh job.toml --set job.name=workstation --set parallelism.data=2 \
  "${measured[@]}" >workstation.log 2>&1 &
script=$!
wait_until "training without Slurm" grep -qE '^step +[0-9]+/.*tokens/s' workstation.log
kill -TERM "$script"
code=0
wait "$script" || code=$?
[[ $code -eq 75 ]] || fail "exit code $code instead of 75 without Slurm"

# What is wrong is said, and nothing is started again.
submit wrong -- --set training.nonsense=1
wait_until "the end of job $job" is_over "$job"
says "$job" 'exit code 2: starting again would not help' || fail "a wrong option is not explained"
PPTRAIN_SITE=nowhere submit site --
wait_until "the end of job $job" is_over "$job"
says "$job" 'there is no .*nowhere.sh; PPTRAIN_SITE may be: .*snellius' || fail "a wrong site is not explained"
echo "slurm: the other scripts: as expected"
