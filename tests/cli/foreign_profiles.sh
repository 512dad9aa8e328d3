#!/usr/bin/env bash
# Profiles of other planners: converted, planned with, and refused where they are wrong.
# Usage: foreign_profiles.sh PPTRAIN
set -euo pipefail
models=$(realpath -- "$(dirname -- "$0")/../data/models")
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

# job TITLE CODE PATTERN ARGUMENT...: pptrain with these arguments ends with CODE and prints PATTERN.
job() { expect "$1" "$2" "$3" "$pptrain" "${@:4}"; }

# refused TITLE PATTERN ARGUMENT...: exit code 2, one message like PATTERN with a suggestion, and no file.
refused() {
  job "$1" 2 "$2" profile --from "${@:3}" -o refused.json
  check "$1: one message" test "$(grep -ac 'pptrain: error:' errors.txt)" -eq 1
  check "$1: a suggestion" grep -aEq '; [^;]{3,}$' <(tr '\n' ' ' <errors.txt)
  check "$1: nothing is written" test ! -e refused.json
}

# holds FILE PYTHON: an expression over the profile p, with rows(LAYER, DEVICE, DEGREE) as its rows by samples, is true.
holds() {
  python3 - "$1" "$2" <<'PYTHON'
import json
import sys

p = json.load(open(sys.argv[1], encoding="utf-8"))


def rows(layer, device, degree):
    return {row["samples"]: row for row in p["layers"][layer]["seconds"]
            if row["device"] == device and row["tensor_parallel"] == degree}


sys.exit(not eval(sys.argv[2]))
PYTHON
}

# metis FILE MILLISECONDS [BYTES]: a file of Metis for the small OPT of tests/data/models, of 10,648 parameters a block.
metis() {
  local bytes=${3:-42592}
  mkdir -p "$(dirname -- "$1")"
  cat >"$1" <<JSON
{"model": {"model_name": "GPT", "num_layers": 4,
  "parameters": {"parameters_per_layer_bytes": [50000, $bytes, $bytes, 43840]}},
 "execution_time": {"total_time_ms": 200, "forward_backward_time_ms": 110, "batch_generator_time_ms": 1,
  "optimizer_time_ms": 4, "layer_compute_total_ms": [$2]},
 "execution_memory": {"total_memory_mb": 100, "layer_memory_total_mb": [20, 30, 30, 20]}}
JSON
}

# sailor FILE LAYERS [DEGREE]: a file of Sailor, of one micro-batch.
sailor() {
  mkdir -p "$(dirname -- "$1")"
  echo "{\"1\": {\"${3:-1}\": {$2}}}" >"$1"
}

opt=(--model "$models/opt")
metis m/DeviceType.A100-PCIE-40GB_tp1_bs1.json "3, 30, 30, 6"
metis m/DeviceType.A100-PCIE-40GB_tp1_bs4.json "9, 90, 90, 12"
metis m/DeviceType.A100-PCIE-40GB_tp2_bs4.json "9, 48, 48, 12"
metis m/DeviceType.T4_tp1_bs1.json "9, 300, 300, 24"

# --- Metis ---
job "Metis" 0 'Wrote metis.json' profile --from metis m "${opt[@]}" -o metis.json
check "says what it has read" printed 'model GPT, 4 layers'
check "says devices, degrees and micro-batches" printed 'degrees 1, 2; micro-batches of 1, 4'
check "says what was taken" printed 'Not said, so taken:'
check "says what was left out" printed 'Left out: memory'
check "a third of a block is F" holds metis.json 'abs(rows(1, "a100-pcie-40gb", 1)[4]["forward"] - 0.03) < 1e-12'
check "the rest is B" holds metis.json 'abs(rows(1, "a100-pcie-40gb", 2)[4]["backward"] - 0.032) < 1e-12'
check "both devices are there" holds metis.json 'abs(rows(2, "t4", 1)[1]["forward"] - 0.1) < 1e-12'
check "the step is shared out" holds metis.json \
  'abs(sum(u["seconds"] for l in p["layers"] for u in l["update"] if u["device"] == "t4") - 0.004) < 1e-12'
job "it is a profile" 0 'a profile of 4 layers' validate metis.json
job "it is planned with" 0 'iteration' plan --profile metis.json --cluster "2x 2x a100-pcie-40gb @ 100Gb/s" \
  --global-batch-size 16
job "on mixed nodes" 0 'iteration' plan --profile metis.json --global-batch-size 16 \
  --cluster "1x 2x a100-pcie-40gb @ 100Gb/s, 1x 2x t4 @ 100Gb/s"
job "in another precision" 0 'Wrote half.json' profile --from metis m "${opt[@]}" --precision bf16 -o half.json
check "weights have 2 bytes" holds half.json 'p["bytes_per_parameter"]["weight"] == 2'
job "by a name of one's own" 0 'Wrote named.json' profile --from metis m "${opt[@]}" --device T4=card -o named.json
check "which the rows have" holds named.json 'len(rows(1, "card", 1)) == 1'
printf '[model]\nfrom = "%s"\n[training]\nsequence_length = 24\n' "$models/opt" >job.toml
job "with a configuration" 0 'Wrote job.json' profile job.toml --from metis m -o job.json
check "it is the same" cmp metis.json job.json

# --- Sailor ---
layers='"0": [0.003, 0.0, 0.1], "1": [0.01, 0.02, 0.1], "2": [0.01, 0.02, 0.1], "3": [0.002, 0.004, 0.1]'
sailor s/A100-40/profile.json "$layers"
job "Sailor" 0 'Wrote sailor.json' profile --from sailor s "${opt[@]}" --device a100-pcie-40gb -o sailor.json
check "times are as they were" holds sailor.json 'rows(1, "a100-pcie-40gb", 1)[1]["forward"] == 0.01'
job "it is planned with, too" 0 'iteration' plan --profile sailor.json --cluster "2x 1x a100-pcie-40gb @ 100Gb/s" \
  --global-batch-size 4
refused "no model and no sizes" 'do not say what its layers send' sailor s
size='{"params_floats": 10648, "params_bytes": 42592, "act_output_floats": 960, "act_output_bytes": 3840, "act_mem_bytes": 9000}'
echo "{\"s\": {\"1\": {\"0\": $size, \"1\": $size, \"2\": $size, \"3\": $size}}}" >llm_info.json
job "sizes in place of a model" 0 'Wrote alone.json' profile --from sailor s -o alone.json
check "are those of the files" holds alone.json 'p["layers"][1]["stored_bytes"] == 9000 and p["model"] == "s"'
job "and beside one" 0 'Wrote both.json' profile --from sailor s "${opt[@]}" -o both.json
check "it stores what the files say" holds both.json 'rows(1, "a100-40", 1)[1]["stored_bytes"] == 9000'
refused "other tokens than the sizes'" 'say how many tokens it has' sailor s "${opt[@]}" --sequence-length 16
refused "another model than the sizes'" 'layer 1 has 10648 parameters' sailor s --model "$models/bert"
rm llm_info.json

# --- what is wrong ---
mkdir empty
refused "a folder without profiles" 'DeviceType.NAME_tpN_bsN.json' metis empty "${opt[@]}"
refused "a folder without profiles of Sailor" 'A100-40/profile.json' sailor empty "${opt[@]}"
refused "no folder" 'nowhere: ' metis nowhere "${opt[@]}"
refused "an unknown planner" 'did you mean "metis"' metos m "${opt[@]}"
refused "no path" 'it names no path' metis "" "${opt[@]}"
refused "no model" 'no model is named' metis m
refused "both ways to name a model" 'beside' metis m "${opt[@]}" job.toml
refused "a cluster" 'the times are those of the files' metis m "${opt[@]}" --cluster "1x dgx-h100"
refused "a device that is not there" 'no device "H100"' metis m "${opt[@]}" --device H100=h100-sxm-80gb
refused "one name for two devices" 'are both "t4"' metis m "${opt[@]}" --device A100-PCIE-40GB=t4
refused "one name, two devices" 'is not said' metis m "${opt[@]}" --device t4
cp -r m bad
echo 'times: 3' >bad/DeviceType.T4_tp1_bs1.json
refused "no JSON" 'DeviceType.T4_tp1_bs1.json:1: this is not JSON' metis bad "${opt[@]}"
metis bad/DeviceType.T4_tp1_bs1.json "3, NaN, 30, 6"
refused "NaN" 'DeviceType.T4_tp1_bs1.json:4: this is not JSON' metis bad "${opt[@]}"
metis bad/DeviceType.T4_tp1_bs1.json "3, -30, 30, 6"
refused "a negative time" 'execution_time.layer_compute_total_ms\[1\]: must be at least 0' metis bad "${opt[@]}"
metis bad/DeviceType.T4_tp1_bs1.json "3, 30, 30, 6" 60000
refused "files of two models" 'DeviceType.T4_tp1_bs1.json: .*they cannot be of one model' metis bad "${opt[@]}"
rm bad/DeviceType.T4_tp1_bs1.json
metis bad/DeviceType.A100-PCIE-40GB_tp01_bs1.json "3, 31, 31, 6"
refused "two files of the same" 'a layer has one time for each of them' metis bad "${opt[@]}"
refused "a model of other sizes" 'layer 1 has 42592 bytes of them, but block.0' metis m --model "$models/bert"
refused "a model with other layers" 'it has 4 layers, but llama has 6' metis m --model "$models/llama"
rm bad/DeviceType.A100-PCIE-40GB_tp01_bs1.json
metis bad/DeviceType.A100-PCIE-40GB_tp8_bs1.json "3, 9, 9, 6"
refused "a degree beyond the heads" 'tensor-parallel degree 8 .*does not divide the 4 units' metis bad "${opt[@]}"
mv bad/DeviceType.A100-PCIE-40GB_tp8_bs1.json bad/DeviceType.A100-PCIE-40GB_tp0_bs1.json
refused "a degree of 0" 'tp0_bs1.json: its name has another form' metis bad "${opt[@]}"
job "a folder that is not there" 2 'missing/' profile --from metis m "${opt[@]}" -o missing/metis.json
job "nothing to profile" 2 'no CONFIG.toml and no --from' profile
job "a model without --from" 2 'requires --from' profile --model "$models/opt"

finish
