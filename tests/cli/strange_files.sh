#!/usr/bin/env bash
# HDF5 files that are damaged, or made by somebody who means no good: `validate`, `report` and `train` say what is wrong and
# end with exit code 2 in a moment, and a job that resumes goes on without the series that it cannot read. Without h5py the
# files that it makes are skipped, and said to be.
# Usage: strange_files.sh PPTRAIN MPIEXEC
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"
python=/usr/bin/python3

training_text text.txt
this_machine 2 >cluster.toml
cat >job.toml <<'TOML'
[job]
name = "strange"
timeout = "10 s"
[model]
layers = 2
hidden_size = 32
heads = 2
vocabulary_size = 256
[data]
train = "text.txt"
[training]
steps = 6
sequence_length = 16
global_batch_size = 4
[cluster]
file = "cluster.toml"
[profile]
analytic = true
[checkpoint]
interval = 3
TOML
train=("$mpiexec" --bind-to none -np 2 "$pptrain" train job.toml)
expect "a job" 0 '' "${train[@]}"
run_directory=$(dirname -- "$(find outputs -name metrics.h5)")

# damaged NAME: a copy of the run directory, as the only run of a job in an output directory of its own.
damaged() {
  mkdir -p "$1/strange"
  cp -r "$run_directory" "$1/strange/run"
  copy=$1/strange/run
}

# resumes TITLE FOLDER PATTERN: the job goes on from step 3 in a moment, and says PATTERN.
resumes() {
  rm -f "$2/strange/run/checkpoints/step-6.h5"
  expect "$1: resumed" 0 "$3" "${train[@]}" --resume latest --set "job.output=$2"
}

damaged superblock
printf '\xff' | dd of="$copy/metrics.h5" bs=1 seek=44 conv=notrunc status=none
expect "a wrong byte in the superblock: report" 2 'metrics.h5: cannot be read .*superblock' "$pptrain" report "$copy"
expect "a wrong byte in the superblock: validate" 2 'superblock' "$pptrain" validate "$copy/metrics.h5"
resumes "a wrong byte in the superblock" superblock 'series so far cannot be read .*superblock'

if ! "$python" -c 'import h5py' 2>/dev/null; then
  echo "strange_files: FILES OF H5PY SKIPPED, $python has no h5py"
  finish
  exit
fi

# change FILE CODE: executes Python on the file, open as `f`.
change() { "$python" -c "import h5py, numpy as np; f = h5py.File('$1', 'r+', libver='latest'); $2; f.close()"; }

# strange NAME FILE CODE PATTERN: a run directory with a changed file in it is refused.
strange() {
  damaged "$1"
  change "$copy/$2" "$3"
  if [[ $2 == metrics.h5 ]]; then
    expect "$1: report" 2 "$4" "$pptrain" report "$copy"
    # The environment of the job before is not read.
    if [[ $1 != environment ]]; then resumes "$1" "$1" "series so far cannot be read .*$4"; fi
  else
    expect "$1: validate" 2 "$4" "$pptrain" validate "$copy/$2"
    expect "$1: resume" 2 "$4" "${train[@]}" --resume "$copy/$2"
    expect "$1: resume from before" 0 "$4.*going back" "${train[@]}" --resume latest --set "job.output=$1"
  fi
}

checkpoint=checkpoints/step-6.h5
many="np.full((4000,), b'A' * 20, dtype='S20')"
strange text-attribute "$checkpoint" "f['state'].attrs['xxh3_64'] = $many" 'its shape is \(4000\)'
strange text-dataset "$checkpoint" "del f['state/plan']; f['state/plan'] = $many" 'its shape is \(4000\)'
strange two-dimensions metrics.h5 \
  "del f['steps/step']; f['steps/step'] = np.ones((6, 9000), dtype='i8')" 'its shape is \(6, 9000\)'
strange environment metrics.h5 "f['environment'].attrs['hosts'] = $many" 'its shape is \(4000\)'
strange link metrics.h5 "del f['steps']; f['steps'] = h5py.ExternalLink('$PWD/$run_directory/metrics.h5', '/steps')" \
  'link to another file'
strange raw metrics.h5 "del f['steps/loss']; f.create_dataset('steps/loss', (6,), 'f8', external=[('/etc/passwd', 0, 48)])" \
  'its values are in other files'
strange virtual metrics.h5 "layout = h5py.VirtualLayout((6,), 'f8'); \
layout[:] = h5py.VirtualSource('$PWD/$run_directory/metrics.h5', 'steps/loss', (6,)); \
del f['steps/loss']; f.create_virtual_dataset('steps/loss', layout)" 'virtual dataset'
finish
