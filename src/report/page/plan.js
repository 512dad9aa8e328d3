// The plan over stages, nodes and devices, and why it was chosen.

const stageColour = stage => `var(--stage${stage % 8})`;

function places(plan) {
  const result = new Map();
  plan.stages.forEach((stage, s) => stage.devices.forEach((row, replica) => row.forEach((device, shard) =>
    result.set(device, { stage: s, replica, shard, members: row.length, replicas: stage.devices.length }))));
  return result;
}

const placeOf = places(lastPlan);

const layersText = stage => stage.layers.map(({ interval: [begin, end] }) => end - begin === 1 ? `${begin}` : `${begin}–${end - 1}`).join(", ");

function samplesText(stage) {
  const sizes = stage.samples.map(([begin, end]) => end - begin);
  return sizes.every(size => size === sizes[0]) ? `${sizes.length} × ${sizes[0]}` : sizes.join(" + ");
}

function stageRows(plan) {
  return plan.stages.map((stage, s) => [
    make("span", {}, make("i", { style: `background:${stageColour(s)};display:inline-block;width:.85em;height:.85em;border-radius:.2em;margin-right:.4em`, "aria-hidden": "true" }), String(s)),
    layersText(stage),
    stage.layers.map(layers => layers.first === layers.last ? layers.first : `${layers.first} … ${layers.last}`).join("; "),
    `${stage.replicas} × ${stage.tensor_parallel}`,
    samplesText(stage),
    predicted && predicted.stage_seconds[s] !== undefined ? seconds(predicted.stage_seconds[s]) : "–",
    [stage.recompute === "none" ? null : `recompute ${stage.recompute}`, stage.zero_stage ? `ZeRO ${stage.zero_stage}` : null,
      stage.offload ? "optimizer offloaded" : null, stage.offload_activations ? "activations offloaded" : null, stage.uneven_shards ? "uneven shards" : null,
      stage.whole_experts ? "whole experts" : null,
      stage.blocks ? plural(stage.blocks, "block") : null].filter(Boolean).join(", ") || "–",
  ]);
}

function deviceCell(device, place) {
  if (!place) return make("li", { class: "device idle" }, make("b", {}, `device ${device.id}`), "not used");
  const parts = [place.replicas > 1 ? `replica ${place.replica}` : null, place.members > 1 ? `shard ${place.shard}` : null];
  return make("li", { class: "device", style: `background:${stageColour(place.stage)}` },
    make("b", {}, `device ${device.id}`), `stage ${place.stage}`,
    ...parts.filter(Boolean).map(part => make("span", {}, part)));
}

function planSection() {
  const plan = lastPlan;
  const total = plan.stages.reduce((sum, stage) => sum + stage.layers.reduce((s, l) => s + l.interval[1] - l.interval[0], 0), 0);
  const strip = make("ul", { class: "strip", "aria-label": "Layers by stage" }, ...plan.stages.map((stage, s) => {
    const layers = stage.layers.reduce((sum, { interval: [begin, end] }) => sum + end - begin, 0);
    return make("li", { style: `flex:${layers / total};background:${stageColour(s)}`, title: `stage ${s}: layers ${layersText(stage)}` },
      ...(layers / total < .125 ? [String(s)] : [make("span", {}, `stage ${s}`), make("span", {}, plural(layers, "layer"))]));
  }));
  const nodes = make("ul", { class: "nodes" }, ...data.nodes.map(node => make("li", { class: "node" }, make("b", {}, node.name),
    make("span", {}, `${plural(node.devices.length, "device")}, ${[...new Set(node.devices.map(device => device.kind))].join(", ")}, ` +
      bytes(node.devices[0].memory) + " each"),
    make("ul", { class: "devices" }, ...node.devices.map(device => deviceCell(device, placeOf.get(device.id)))))));
  const element = section("plan", "Plan",
    make("p", {}, `${plan.planner} chose ${plan.shape}, schedule ${plan.schedule}, ${plan.micro_batches} micro-batch${plan.micro_batches === 1 ? "" : "es"} of ` +
      `${plural(plan.micro_batch_size, "sample")}` + (plan.from_step > 0 ? `, from step ${plan.from_step} on` : "") + "."),
    strip,
    table("Stages of the plan", [{ title: "stage" }, { title: "layers" }, { title: "from … to" }, { title: "replicas × tensor parallel" },
      { title: "samples" }, { title: "time of a micro-batch", number: true }, { title: "modes" }], stageRows(plan)),
    make("h3", {}, "Nodes and devices"), nodes);
  if (data.plans.length > 1) {
    element.append(make("h3", {}, "Plans of this run"), table("Plans of this run",
      [{ title: "from step", number: true }, { title: "plan" }, { title: "schedule" }, { title: "predicted", number: true }],
      data.plans.map(p => [String(p.from_step), p.shape, p.schedule, p.predicted ? seconds(p.predicted.iteration_seconds) : "–"])));
  }
}

// --- alternatives ------------------------------------------------------------------------------

function alternatives() {
  if (!predicted) return;
  const best = predicted.iteration_seconds;
  const times = value => value === null ? "–" : digits(value / best, 3) + " ×";
  const bar = value => value === null ? "" : make("span", { class: "meter", "aria-hidden": "true" },
    make("i", { style: `width:${Math.max(2, 100 * Math.min(1, best / value))}%` }));
  const rows = [[`${lastPlan.planner} (chosen)`, seconds(best), "1 ×", bar(best), ""]];
  for (const other of lastPlan.alternatives) {
    rows.push([other.planner, seconds(other.iteration_seconds), times(other.iteration_seconds), bar(other.iteration_seconds),
      [other.why_not, other.measured_seconds === null ? null : `${seconds(other.measured_seconds)} in a trial`].filter(Boolean).join("; ") ||
      (other.iteration_seconds === best ? "as fast" : "slower")]);
  }
  const found = lastPlan.candidates > 0 ? `${lastPlan.candidates} candidates were looked at in ${seconds(lastPlan.search_seconds)}` +
    (lastPlan.search_complete ? "." : ", when the search was ended.") : "";
  const bound = predicted.lower_bound_seconds > 0 ? ` No plan can take less than ${seconds(predicted.lower_bound_seconds)}.` : "";
  const element = section("alternatives", "Why this plan", make("p", {}, found + bound + (lastPlan.alternatives.length > 0 ? " Beside each plan stands what its iteration takes more (+) or less " +
      "(−) than the chosen one's, part by part." : "")),
    table("Plans by other planners", [{ title: "planner" }, { title: "iteration", number: true }, { title: "times the chosen", number: true },
      { title: "speed" }, { title: "why not" }], rows, row => row === 0));
  if (lastPlan.schedules.length > 0) {
    element.append(make("h3", {}, "The same stages with other schedules"), table("Other schedules", [{ title: "schedule" },
      { title: "iteration", number: true }, { title: "times the chosen", number: true }, { title: "speed" }, { title: "why not" }],
      [[`${lastPlan.schedule} (chosen)`, seconds(best), "1 ×", bar(best), ""], ...lastPlan.schedules.map(other => [other.schedule,
        seconds(other.iteration_seconds), times(other.iteration_seconds), bar(other.iteration_seconds), other.why_not || (other.iteration_seconds > best * 1.0005 ? "slower" : "as fast")])],
      row => row === 0));
  }
  element.append(...timeParts());
}

// The closed form's parts in the order of the iteration, and what the simulator finds beside them. Shares are those of
// the formula: with a schedule that it does not know its bubble may be longer than all of the predicted iteration.
function timeParts() {
  const parts = predicted.parts.filter(part => part.seconds > 0);
  if (parts.length === 0) return [];
  const total = predicted.iteration_seconds;
  const whole = parts.reduce((sum, part) => sum + part.seconds, 0);
  const rest = total - whole;
  const rows = parts.map(part => [part.name, seconds(part.seconds), percent(part.seconds / whole)]);
  rows.push(["AMP's formula", seconds(whole), ""]);
  if (Math.abs(rest) >= 5e-4 * total) rows.push([rest > 0 ? "+ shared links and cores, optimizer step" : "− what overlaps",
    seconds(Math.abs(rest)), ""]);
  rows.push(["predicted iteration", seconds(total), ""]);
  return [make("h3", {}, "Where the predicted time goes"),
    make("p", { class: "hint" }, `Devices compute ${percent(1 - predicted.bubble_fraction)} of the predicted iteration. The parts are ` +
      "those of AMP's formula, which is the same for all schedules."),
    table("Where the predicted time goes", [{ title: "part" }, { title: "time", number: true }, { title: "of the formula", number: true }],
      rows, row => row === parts.length || row === rows.length - 1, true)];
}
