#!/usr/bin/env bash
# Data that are written under a running job: it ends with exit code 4 and names the file, whether tokens are others or just the
# file's time, and leaves nothing that was learned from it.
# Usage: changed_data.sh PPTRAIN MPIEXEC
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

# tokens FILE BYTE: a token file (256 int32 of header, then uint16) of 2000 times the same token.
tokens() {
  { printf '\x88\xd8\x34\x01\x01\x00\x00\x00\xd0\x07\x00\x00'; head -c 1012 /dev/zero; head -c 4000 /dev/zero | tr '\0' "$2"; } >"$1"
}
tokens data.bin '\001'
tokens foreign.bin '\377'
cat >job.toml <<'TOML'
[job]
name = "changed"
timeout = "60 s"
[model]
layers = 2
hidden_size = 32
heads = 2
vocabulary_size = 300
[data]
train = "data.bin"
[training]
steps = 1000000
sequence_length = 16
global_batch_size = 4
[cluster]
file = "cluster.toml"
[profile]
analytic = true
TOML
this_machine 2 >cluster.toml
started=
clean_up() { [[ -z $started ]] || kill -KILL "$started" 2>/dev/null || true; }

# changed TITLE PATTERN COMMAND...: a job of two ranks trains, the command changes its data, and the job ends with PATTERN.
changed() {
  local title=$1 pattern=$2
  cases=$((cases + 1))
  rm -rf outputs
  tokens data.bin '\001'
  touch -d '1 day ago' data.bin
  timeout -k 5 "$longest_seconds" "$mpiexec" -np 2 "$pptrain" job.toml >output.txt 2>errors.txt </dev/null &
  started=$!
  if ! await_training "$started" outputs; then complain "$title" "it ends before anything is changed"; return; fi
  "${@:3}"
  code=0
  wait "$started" || code=$?
  started=
  if [[ $code -ne 4 ]]; then complain "$title" "exit code $code, not 4"; return; fi
  if ! grep -aEq -- "pptrain: error: (rank [01]: )?[^ ]*data.bin: $pattern" errors.txt; then complain "$title" "nothing like '$pattern'"; return; fi
  if find outputs -name 'step-*.h5' | grep -q .; then complain "$title" "it has left a checkpoint"; return; fi
  printf 'ok %s\n' "$title"
}

overwrite() { dd if=foreign.bin of=data.bin conv=notrunc status=none; }
changed "tokens outside the vocabulary" 'the file was changed while the job runs' overwrite
changed "a file that is written again" 'the file was changed while the job runs' touch data.bin
grow() { head -c 100 /dev/zero >>data.bin; }
changed "a file that grows" 'the file was changed while the job runs .it had 5024 bytes and has 5124 now' grow
shrink() { truncate -s 2000 data.bin; }
changed "a file that shrinks" 'the file was changed while the job runs .it had 5024 bytes and has 2000 now' shrink
finish
