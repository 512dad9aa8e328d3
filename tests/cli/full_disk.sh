#!/usr/bin/env bash
# Disks that are full, from a few blocks to just too small for the last one, under the output and under the cache: a job ends
# with 0 or 4, nothing is half written, and what was written before is sound. A damaged cache is measured anew.
# Usage: full_disk.sh PPTRAIN MPIEXEC
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

clean_up() { umount -- "$folder"/disk 2>/dev/null || true; }
training_text text.txt
cat >job.toml <<'TOML'
[job]
name = "full"
[model]
layers = 2
hidden_size = 32
heads = 2
vocabulary_size = 256
[data]
train = "text.txt"
[training]
steps = 40
sequence_length = 16
global_batch_size = 4
micro_batch_size = 1
[profile]
analytic = true
[checkpoint]
interval = 20
keep = 1
TOML
for ranks in 1 2 4; do this_machine "$ranks" >cluster"$ranks".toml; done
export XDG_CACHE_HOME=$folder/cache

# train RANKS ARGUMENT...
train() {
  run 60 "$mpiexec" -np "$1" "$pptrain" train job.toml --set cluster.file=cluster"$1".toml "${@:2}"
}

# --- the cache ---------------------------------------------------------------------------------------------------

measured=(--set profile.analytic=false --set job.output=outputs --steps 2 --set checkpoint.interval=0)
ended() { [[ $code -eq $1 ]] && printed "$2"; }
# trained TITLE PATTERN: the last run ended well and said so.
trained() { check "$1" ended 0 "$2"; }

train 2 "${measured[@]}"
trained "times of layers are measured" 'Measuring layer times once'
profile=$(find cache -type f)
check "the cache has a file" test -f "$profile"
cp -- "$profile" sound.json
for damage in "truncate -s 700" "truncate -s 0" "sed -i s/1/x/g"; do
  $damage "$profile"
  train 2 "${measured[@]}"
  trained "a cache after $damage is measured anew" 'pptrain: warning: .*measuring anew'
  check "that is one line" test "$(grep -c 'warning' errors.txt)" -eq 1
  train 2 "${measured[@]}"
  trained "... and replaced" 'Profile: .*profile-'
done

# --- a tmpfs of so many KiB ----------------------------------------------------------------------------------------

mkdir disk
if ! mount -t tmpfs -o size=64k none disk 2>/dev/null; then
  echo "full_disk: SKIPPED, no tmpfs can be mounted"
  finish
  exit
fi

XDG_CACHE_HOME=$folder/disk/cache
mkdir disk/cache
dd if=/dev/zero of=disk/filler bs=1k 2>/dev/null || true
truncate -s -8k disk/filler
rm -rf cache && ln -s disk/cache cache
train 2 "${measured[@]}"
trained "a full disk under the cache is no reason to stop" 'pptrain: warning: .*No space left on device'
check "nothing half written is in the cache" test -z "$(find disk/cache -type f)"
rm disk/filler
train 2 "${measured[@]}"
trained "where there is room again the cache is used" 'Measuring layer times once'
check "the cache has its file" test -f "$(find disk/cache -type f)"
umount disk

# on_disk RANKS KIB: what a job does, whose output is there; `used` are the KiB that it left.
on_disk() {
  local file
  mount -t tmpfs -o "size=$2k" none disk
  train "$1" --set job.output=disk
  [[ $code -eq 0 ]] || check "a disk of $2 KiB, $1 ranks: exit code $code" ended 4 'No space left on device'
  check "what is said is said by pptrain" test -z "$(grep 'LOG ERROR' errors.txt)"
  check "nothing is half written" test -z "$(find disk -name '*.partial*' -o -name '*.new')"
  while read -r file; do
    check "$file is sound" "$pptrain" validate "$file"
  done < <(find disk -name 'step-*.h5')
  used=$(du -s disk | cut -f1)
  umount disk
}

on_disk 2 100000
whole=$used
check "with room the job ends well" test "$code" -eq 0
# A second checkpoint needs the room of the first one too.
checkpoint=$((whole * 3 / 4))
for size in 4 16 32 48 64 96 128 320; do on_disk 2 "$size"; done
for less in 4 8 16 32 48 64; do on_disk 2 $((whole - less)); done
for less in 0 8 24 56; do on_disk 4 $((whole + checkpoint - less)); done
# --- an export

train 1 --set job.output=kept
exported=0
for size in 4 16 64 96 100 104 108 112 116 120 124 128 200 400; do
  mount -t tmpfs -o "size=${size}k" none disk
  run 60 "$pptrain" export kept/full/latest -o disk/model
  if [[ $code -eq 0 ]]; then
    exported=$((exported + 1))
    check "an export on $size KiB is sound" "$pptrain" validate disk/model
  else
    check "an export on $size KiB: exit code $code" ended 4 'No space left on device'
    check "nothing of it is there" test -z "$(find disk -mindepth 1)"
  fi
  umount disk
done
check "with room it is exported" test "$exported" -gt 0

on_disk 1 $((whole - 8))
on_disk 1 1536
finish
