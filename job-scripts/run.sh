# What the job scripts share: starts pptrain, passes signals on, and asks Slurm to start the job again. Sourced by them,
# with this folder in `scripts`.
# shellcheck shell=bash disable=SC2154

# Longest that a Slurm command may take; the controller of a busy site is slow to answer.
slurm_patience=60

say() { printf '%s: %s\n' "${SLURM_JOB_NAME:-pptrain}" "$*" >&2; }

give_up() {
  say "$*"
  exit 2
}

# load_site: the modules and settings of job-scripts/sites/$PPTRAIN_SITE.sh, where one is named.
load_site() {
  [[ -n ${PPTRAIN_SITE:-} ]] || return 0
  local site=$scripts/sites/$PPTRAIN_SITE.sh
  [[ -r $site ]] || give_up "there is no $site; PPTRAIN_SITE may be: $(cd "$scripts/sites" && echo ./*.sh | sed 's/\.\///g; s/\.sh//g')"
  # shellcheck source=/dev/null
  source "$site"
}

# find_pptrain: $PPTRAIN, else the one here, else the one built or installed with these scripts, else the one on PATH.
find_pptrain() {
  local built
  pptrain=${PPTRAIN:-}
  for built in ./pptrain "$scripts/../pptrain" "$scripts/../../../bin/pptrain"; do
    if [[ -z $pptrain && -f $built && -x $built ]]; then pptrain=$built; fi
  done
  pptrain=${pptrain:-pptrain}
  command -v "$pptrain" >/dev/null || give_up \
    "$pptrain was not found in $PWD or on PATH: build it with ./bootstrap.sh build, load its module, or name it in PPTRAIN"
}

# find_launcher: $PPTRAIN_LAUNCHER in words, else srun where Slurm speaks PMIx, else mpirun.
find_launcher() {
  if [[ -n ${PPTRAIN_LAUNCHER:-} ]]; then
    read -ra launcher <<<"$PPTRAIN_LAUNCHER"
  elif timeout "$slurm_patience" srun --mpi=list 2>&1 | grep -w pmix >/dev/null; then # -q may end before srun has written all
    launcher=(srun --mpi=pmix)
  else
    launcher=(mpirun)
  fi
  command -v "${launcher[0]}" >/dev/null || give_up "${launcher[0]} was not found; load the MPI that pptrain was built with"
  if [[ ${launcher[0]} == *srun ]]; then
    # What modules have set reaches the ranks, also where sbatch was told to export other things only.
    export SLURM_EXPORT_ENV=ALL
    # All ranks end with 75 together, and one that is lost is missed by the others, which then say what they waited for.
    launcher+=(--kill-on-bad-exit=0 --wait=0)
    # The other way of Slurm 22.05 to make ranks wait for each other lets some out of MPI_Init too early: 12 of 45 starts of
    # an empty Open MPI program with 16 ranks ended with a segmentation fault, none of 30 with this.
    export SLURM_PMIX_FENCE=${SLURM_PMIX_FENCE:-ring}
    if [[ -n ${SLURM_HET_SIZE:-} ]]; then launcher+=(--het-group="0-$((SLURM_HET_SIZE - 1))"); fi
  elif [[ -n ${SLURM_HET_SIZE:-} ]]; then
    give_up "${launcher[0]} starts ranks in the first component of a heterogeneous job only; use srun (PPTRAIN_LAUNCHER)"
  fi
}

# find_job: what Slurm's commands call this job in `job`. The number of an array's last task is that of the whole array too.
find_job() {
  if [[ -z ${SLURM_JOB_ID:-} ]]; then give_up "this is no Slurm job: submit the script with sbatch, or use workstation.sh"; fi
  job=$SLURM_JOB_ID
  if [[ -n ${SLURM_ARRAY_TASK_ID:-} ]]; then job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID; fi
}

# node_list: where the job is; of a heterogeneous job every component.
node_list() {
  local component lists=()
  for ((component = 0; component < ${SLURM_HET_SIZE:-0}; ++component)); do
    local list=SLURM_JOB_NODELIST_HET_GROUP_$component
    lists+=("${!list}")
  done
  echo "${lists[*]:-$SLURM_JOB_NODELIST}"
}

# tell_end_time: when the allocation ends, for pptrain; newer Slurm says it itself. A heterogeneous job ends with the first
# of its components.
tell_end_time() {
  local end
  if [[ -z ${SLURM_JOB_END_TIME:-} ]] && end=$(timeout "$slurm_patience" squeue -h -j "$job" -o %e | sort | head -n 1) &&
    [[ -n $end ]] && end=$(date -d "$end" +%s 2>/dev/null); then
    export SLURM_JOB_END_TIME=$end
  fi
}

# launch ARGUMENT...: pptrain with these on all ranks; its exit code in `code`. USR1, which Slurm sends ahead of the
# limit, and TERM become USR1 for the ranks: mpirun would kill them soon after a TERM. `ended` is set by TERM. Afterwards
# both are ignored.
launch() {
  local launched signalled=yes
  ended=
  "${launcher[@]}" "$pptrain" "$@" </dev/null &
  launched=$!
  trap 'signalled=yes; kill -USR1 "$launched" 2>/dev/null || true' USR1
  trap 'signalled=yes; ended=yes; kill -USR1 "$launched" 2>/dev/null || true' TERM
  while [[ -n $signalled ]]; do
    signalled=
    code=0
    wait "$launched" || code=$?
  done
  trap '' USR1 TERM
}

# is_running: whether the job is to go on as far as Slurm knows; one that was cancelled, for instance, is not. Where Slurm
# does not answer it is: whoever then asks for more is told.
is_running() {
  local states
  states=$(timeout "$slurm_patience" squeue -h -j "$job" -o %T 2>/dev/null) || return 0
  [[ ${states%%$'\n'*} == RUNNING ]]
}

# node_is_lost: whether some node of the job does not answer. Slurm itself notices after SlurmdTimeout, minutes mostly.
node_is_lost() {
  local group=()
  if [[ -n ${SLURM_HET_SIZE:-} ]]; then group=(--het-group="0-$((SLURM_HET_SIZE - 1))"); fi
  ! timeout -k 5 "$slurm_patience" srun --overlap --mpi=none --kill-on-bad-exit=1 "${group[@]}" true </dev/null 2>/dev/null
}

# start_again REASON: puts the job back into the queue; Slurm may end this script while it does.
start_again() {
  say "$1: putting the job back into the queue, to go on from its newest checkpoint"
  timeout "$slurm_patience" scontrol requeue "$job" ||
    say "Slurm does not put it back (sbatch --requeue?); submit it to go on"
}

# run_and_requeue [CONFIG.toml [OPTION...]]: one start of a job that goes on from what the starts before it left.
run_and_requeue() {
  if [[ " $*" == *" --resume"* ]]; then give_up "--resume latest is said here already, so that every start goes on"; fi
  local too_early="USR1 came before the training began: --time must be longer, or --signal later"
  trap 'give_up "$too_early"' USR1
  find_job
  load_site
  find_pptrain
  find_launcher
  tell_end_time
  say "job $job, start $((${SLURM_RESTART_COUNT:-0} + 1)) on $(node_list) at $(date -Is): ${launcher[*]} $pptrain"
  launch train "${@:-$scripts/../inputs/gpt2.toml}" --resume latest
  case $code in
    0) ;;
    2 | 3) say "pptrain ended with exit code $code: starting again would not help; what is wrong is said above" ;;
    138) say "$too_early" ;; # 128 + USR1: it ended a rank that did not listen yet
    *)
      if [[ -n $ended ]] || ! is_running; then
        say "the job was ended (exit code $code); when it starts again it goes on from its newest checkpoint"
      elif [[ $code -eq 75 ]]; then
        start_again "stopped early with a checkpoint"
      elif node_is_lost; then
        start_again "a node does not answer (exit code $code)"
      else
        say "pptrain ended with exit code $code though all nodes answer; submitted again it goes on from its newest checkpoint"
      fi
      ;;
  esac
  exit "$code"
}
