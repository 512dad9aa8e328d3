#!/usr/bin/env bash
# `pptrain sweep`, and money in `pptrain plan`: rows equal the plans of single points, each distinct point is planned
# once, files can be read back, the page opens, and bad input ends with exit code 2, a reason and a remedy.
# Usage: sweep.sh PPTRAIN
set -euo pipefail
tests=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")")
# shellcheck source=tests/cli/common.sh
. "$tests/common.sh"
python=/usr/bin/python3
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)

model=(--model "$inputs/models/llama-small" --sequence-length 128)
quick=(--set planner.effort=quick)
job() { expect "$1" "$2" "$3" "$pptrain" "${@:4}"; }

# --- plan with money ---------------------------------------------------------------------------
one=("${model[@]}" --cluster "2x 4x l40s" --global-batch-size 32 "${quick[@]}")
job "a plan says what it costs" 0 'cost +12 USD/h for 2 nodes, .* USD per 10\^9 tokens' plan "${one[@]}" --price l40s=1.5USD \
  --set parallelism.data=8
job "and what a training comes to" 0 '1T tokens +[0-9.]+ days, .* node-hours, .* USD, .* [kMG]?Wh' plan "${one[@]}" \
  --price l40s=1.5USD --tokens 1e12
job "failures leave a part of the time" 0 'failures +one in .*; goodput 9[0-9.]* % with a checkpoint of 60 s every' \
  plan "${one[@]}" --mtbf 1000h --set planner.checkpoint_time=60
job "without a checkpoint's time it says what is missing" 0 'failures +one in .*storage_bandwidth' plan "${one[@]}" --mtbf 1000h
job "JSON has it" 0 '"money_per_billion_tokens": ?[0-9.]+' plan "${one[@]}" --price l40s=1.5USD --format json
job "nodes and their prices as a file" 0 'price = 6' cluster "2x 4x l40s" --price l40s=1.5USD --format toml

dear=(--price l40s=1USD --price t4=100USD)
job "money leaves dear nodes out" 0 'leave out the 8 t4: no plan that was found costs less with them' plan \
  "${model[@]}" --cluster "1x 8x l40s, 1x 8x t4" --global-batch-size 32 "${quick[@]}" "${dear[@]}" --set planner.objective=cost
for objective in cost time-cost; do
  job "objective $objective without prices" 2 "objective = \"$objective\" without prices .*add --price" plan "${one[@]}" \
    --set planner.objective=$objective
done
job "an unknown objective" 2 'did you mean "cost"' plan "${one[@]}" --set planner.objective=costs
job "a limit that no plan keeps" 2 'no plan that was found costs at most 1.00e-05 USD .*the nearest that was found has' plan \
  "${one[@]}" --price l40s=1.5USD --set planner.max_cost=0.00001
job "a speed that no plan has" 2 'no plan that was found has 1T tokens/s' plan "${one[@]}" --set planner.min_tokens_per_second=1e12
job "a price without a currency" 2 'the price has no currency' plan "${one[@]}" --price l40s=1.5
job "a price without a name" 2 '--price 1.5USD: names no node .*--price dgx-h100=98.32USD' sweep "${one[@]}" --price 1.5USD
job "a price of what is not there" 2 'has neither nodes nor devices "l40".*did you mean .*l40s' plan "${one[@]}" --price l40=1.5USD
job "no time between failures" 2 'is no time; write for instance 10000h' plan "${one[@]}" --mtbf often

# --- sweep -------------------------------------------------------------------------------------
cp "$inputs/models/llama-small/config.json" .
swept=(--model config.json --sequence-length 128 --cluster "1x 4x l40s" --nodes "4 x l40s=1,2" --global-batch-size "32,64"
  --price "l40s=1USD,2USD" "${quick[@]}")
job "a sweep has a row for each point" 0 '8 points, 4 planned' sweep "${swept[@]}" --json s.json --csv s.csv --report s.html
check "its lines fit 80 columns" test "$(awk 'length > 80' output.txt | wc -l)" -eq 0
check "it marks the front" grep -Eq '^ *\* ' output.txt
check "and says what more nodes give" grep -q 'more 4 x l40s .*: 2 for 1 give' output.txt
cat >compare.py <<'PY'
import csv, json, subprocess, sys
sweep = json.load(open("s.json"))
rows = list(csv.DictReader(open("s.csv")))
assert sweep["schema"] == "pptrain.sweep/1" and sweep["planned"] == 4, sweep["planned"]
assert len(sweep["points"]) == len(rows) == 8
names = [axis["name"] for axis in sweep["axes"]]
assert names == ["cluster", "4 x l40s", "batch", "effort", "l40s price"], names
for point, row in zip(sweep["points"], rows):
    nodes, batch, price = point["values"][1], point["values"][2], point["values"][4]
    plan = json.loads(subprocess.run([sys.argv[1], "plan", "--model", "config.json", "--sequence-length", "128", "--cluster",
        f"{nodes}x 4x l40s", "--global-batch-size", batch, "--price", f"l40s={price}", "--set", "planner.effort=quick",
        "--format", "json", "-q"], check=True, capture_output=True, text=True).stdout)
    predicted = plan["predicted"]
    assert point["iteration_seconds"] == predicted["iteration_seconds"], (point, predicted["iteration_seconds"])
    assert point["tokens_per_second"] == predicted["speed"]["tokens_per_second"]
    assert point["money_per_billion_tokens"] == predicted["cost"]["money_per_billion_tokens"]
    assert abs(float(row["iteration_seconds"]) / point["iteration_seconds"] - 1) < 1e-8
    assert row["batch"] == batch and row["l40s price"] == price and row["currency"] == "USD"
fronts = [p for p in sweep["points"] if p["on_front"]]
assert 0 < len(fronts) < 8
PY
check "rows are the plans of single points" "$python" compare.py "$pptrain"
job "threads change nothing" 0 '8 points, 4 planned' sweep "${swept[@]}" --json one.json --threads 1
check "but the time it takes" "$python" -c '
import json
a, b = (json.load(open(f)) for f in ("s.json", "one.json"))
assert a["points"] == b["points"]'
job "degrees that a point cannot have" 0 'no plan: ' sweep --model config.json --sequence-length 128 --cluster "1x 4x l40s" \
  --global-batch-size 32 "${quick[@]}" --set "parallelism.pipeline=1,8,64" --json p.json
check "with the reasons of the devices and of the model" grep -q 'pipeline = 64 is more stages' p.json
job "degrees that no point can have" 2 'pipeline = 64' sweep --model config.json --sequence-length 128 --cluster "1x 4x l40s" \
  --global-batch-size 32 "${quick[@]}" --set parallelism.pipeline=64
base=(sweep --model config.json --cluster "1x 4x l40s" --global-batch-size 32)
job "nodes of another kind" 2 'has neither nodes nor devices "dgx".*it has 4 x l40s' "${base[@]}" --nodes dgx=1..2
job "no number of nodes" 2 'is no number of nodes' "${base[@]}" --nodes "4 x l40s=many"
job "no nodes at all" 2 'no point has a node' "${base[@]}" --nodes "4 x l40s=0"
job "an empty value" 2 'has an empty value' "${base[@]}" --set parallelism.data=1,
job "no batch" 2 '"many" is no number of samples' sweep --model config.json --cluster "1x 4x l40s" --global-batch-size many
job "no precision" 2 'unknown precision "fp3"' "${base[@]}" --precision fp3
job "no planner" 2 'unknown planner "atuo".*did you mean "auto"' "${base[@]}" --planner atuo
job "a device that nobody knows" 2 'is no node or device that is known' sweep --model config.json --cluster "2x h900" --global-batch-size 32
job "prices in two currencies" 2 'prices in USD and EUR' "${base[@]}" --price l40s=1USD,1EUR
job "a file that cannot be written" 2 'is no directory' "${base[@]}" --json nowhere/s.json

if [[ -n $chromium ]]; then
  cases=$((cases + 1))
  "$python" "$tests/report_visitor.py" s.html visited.html 1200
  timeout "$longest_seconds" "$chromium" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$folder/browser" \
    --enable-logging=stderr --virtual-time-budget=20000 --window-size=1200,900 --dump-dom "file://$folder/visited.html" \
    >output.txt 2>errors.txt </dev/null || true
  if ! grep -q '<title>visited: [1-9][0-9]* clicks, [1-9][0-9]* keys, 0 errors</title>' output.txt; then
    complain "the page opens" "the visitor says: $(grep -o '<title>[^<]*' output.txt | head -n 1)"
  elif grep -q CONSOLE errors.txt; then
    complain "the page opens" "something is logged"
  else
    printf 'ok the page opens\n'
  fi
else
  echo "SKIPPED: no Chromium to open the page of a sweep with"
fi
finish
