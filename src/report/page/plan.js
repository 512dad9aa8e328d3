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

// Layers that a stage divides otherwise than its others.
function blockText({ layers: [begin, end], replicas, tensor_parallel: members, pattern }) {
  const where = end - begin === 1 ? `layer ${begin}` : `layers ${begin}–${end - 1}`;
  return `${where} divided ${replicas} × ${members}` + (pattern === "replicate" ? "" : ` (${pattern})`);
}

const modesText = stage => [stage.recompute === "none" ? null : `recompute ${stage.recompute}`, stage.zero_stage ? `ZeRO ${stage.zero_stage}` : null,
  stage.offload ? "optimizer offloaded" : null, stage.offload_activations ? "activations offloaded" : null, stage.uneven_shards ? "uneven shards" : null,
  stage.whole_experts ? "whole experts" : null, ...stage.blocks.map(blockText)].filter(Boolean).join(", ");

const stageSeconds = s => predicted && predicted.stage_seconds[s] !== undefined ? seconds(predicted.stage_seconds[s]) : "–";

const numLayers = stage => stage.layers.reduce((sum, { interval: [begin, end] }) => sum + end - begin, 0);

// Stages that follow one another and differ in nothing but which layers and devices they have are one entry.
function foldedStages(plan) {
  const does = (stage, s) => JSON.stringify([stage.layers.length, numLayers(stage), stage.replicas, stage.tensor_parallel, samplesText(stage),
    stageSeconds(s), modesText(stage)]);
  const folded = [];
  plan.stages.forEach((stage, s) => {
    const before = folded[folded.length - 1];
    if (before && stage.layers.length === 1 && does(plan.stages[before.first], before.first) === does(stage, s)) before.last = s;
    else folded.push({ first: s, last: s });
  });
  return folded;
}

function stageRows(plan) {
  return foldedStages(plan).map(({ first, last }) => {
    const stage = plan.stages[first];
    const ends = [stage.layers[0], plan.stages[last].layers[0]];
    const colours = plan.stages.slice(first, Math.min(last, first + 7) + 1).map((_, i) =>
      make("i", { class: "swatch", style: `background:${stageColour(first + i)}`, "aria-hidden": "true" }));
    return [
      make("span", {}, ...colours, first === last ? String(first) : `${first}–${last}`),
      first === last ? layersText(stage) : `${ends[0].interval[0]}–${ends[1].interval[1] - 1}, ${numLayers(stage)} each`,
      first === last ? stage.layers.map(layers => layers.first === layers.last ? layers.first : `${layers.first} … ${layers.last}`).join("; ")
        : `${ends[0].first} … ${ends[1].last}`,
      `${stage.replicas} × ${stage.tensor_parallel}`,
      samplesText(stage),
      stageSeconds(first),
      modesText(stage) || "–",
    ];
  });
}

// Nodes that follow one another and do the same are one entry where there are many.
function foldedNodes() {
  const most = 24;
  const does = node => JSON.stringify([node.kind, node.devices.map(device => {
    const place = placeOf.get(device.id);
    return place ? [place.stage, place.shard] : null;
  })]);
  const folded = [];
  for (const node of data.nodes) {
    const before = folded[folded.length - 1];
    if (data.nodes.length > most && before && does(before.node) === does(node)) {
      before.last = node.name;
      ++before.alike;
    } else folded.push({ node, last: node.name, alike: 1 });
  }
  return folded.map(({ node, last, alike }) => ({ node, alike, names: alike === 1 ? node.name : `${node.name} to ${last}: ${alike} nodes alike` }));
}

// A device, or as many as there are nodes alike.
function deviceCell(device, place, alike) {
  const name = alike > 1 ? `device ${device.id}, …` : `device ${device.id}`;
  if (!place) return make("li", { class: "device idle" }, make("b", {}, name), "not used");
  const replica = alike > 1 ? `replicas ${place.replica}, …` : `replica ${place.replica}`;
  const parts = [place.replicas > 1 ? replica : null, place.members > 1 ? `shard ${place.shard}` : null];
  return make("li", { class: "device", style: `background:${stageColour(place.stage)}` },
    make("b", {}, name), `stage ${place.stage}`,
    ...parts.filter(Boolean).map(part => make("span", {}, part)));
}

function planSection() {
  const plan = lastPlan;
  const total = plan.stages.reduce((sum, stage) => sum + numLayers(stage), 0);
  const strip = make("ul", { class: "strip", "aria-label": "Layers by stage" }, ...plan.stages.map((stage, s) => {
    const layers = numLayers(stage);
    return make("li", { style: `flex:${layers / total};background:${stageColour(s)}`, title: `stage ${s}: layers ${layersText(stage)}` },
      ...(layers / total < .125 ? [String(s)] : [make("span", {}, `stage ${s}`), make("span", {}, plural(layers, "layer"))]));
  }));
  const nodes = make("ul", { class: "nodes" }, ...foldedNodes().map(({ node, names, alike }) => make("li", { class: "node" }, make("b", {}, names),
    make("span", {}, `${plural(node.devices.length, "device")}, ${[...new Set(node.devices.map(device => device.kind))].join(", ")}, ` +
      bytes(node.devices[0].memory) + " each"),
    make("ul", { class: "devices" }, ...node.devices.map(device => deviceCell(device, placeOf.get(device.id), alike))))));
  const element = section("plan", "Plan",
    make("p", {}, `${plan.planner} chose ${plan.shape}, schedule ${plan.schedule}, ${plan.micro_batches} micro-batch${plan.micro_batches === 1 ? "" : "es"} of ` +
      `${plural(plan.micro_batch_size, "sample")}` + (plan.from_step > 0 ? `, from step ${plan.from_step} on` : "") + "."),
    strip,
    table("Stages of the plan", [{ title: "stage" }, { title: "layers" }, { title: "from … to" }, { title: "DP × TP" },
      { title: "samples" }, { title: "micro-batch takes", number: true }, { title: "modes" }], stageRows(plan)),
    make("h3", {}, "Nodes and devices"), nodes);
  if (data.plans.length > 1) {
    element.append(make("h3", {}, "Plans of this run"), table("Plans of this run",
      [{ title: "from step", number: true }, { title: "plan" }, { title: "schedule" }, { title: "predicted", number: true }],
      data.plans.map(p => [String(p.from_step), p.shape, p.schedule, p.predicted ? seconds(p.predicted.iteration_seconds) : "–"])));
  }
}

// --- alternatives ------------------------------------------------------------------------------

// A table of what other choices take beside the chosen one. choices: [{name, seconds, why}]; those with the same figures and
// reason share a row.
function comparison(caption, title, chosen, choices) {
  const best = predicted.iteration_seconds;
  const longest = Math.max(best, ...choices.map(choice => choice.seconds || 0));
  const bar = value => value === null ? "" : make("span", { class: "meter", "aria-hidden": "true" },
    make("i", { style: `width:${Math.max(1, 100 * value / longest)}%` }));
  const joined = [];
  for (const choice of choices) {
    const like = joined.find(other => other.seconds === choice.seconds && other.why === choice.why && choice.why);
    if (like) like.name += `, ${choice.name}`;
    else joined.push({ ...choice });
  }
  const reasons = joined.some(choice => choice.why);
  const row = ({ name, seconds: time, why }) => [name, seconds(time), time === null ? "–" : digits(time / best, 3) + " ×", bar(time), ...(reasons ? [why] : [])];
  return table(caption, [{ title }, { title: "step", number: true }, { title: "times as long", number: true }, { title: "" },
    ...(reasons ? [{ title: "why not" }] : [])], [row({ name: `${chosen} (chosen)`, seconds: best, why: "" }), ...joined.map(row)], r => r === 0);
}

function alternatives() {
  if (!predicted) return;
  const found = lastPlan.candidates > 0 ? `${count(lastPlan.candidates)} candidates in ${seconds(lastPlan.search_seconds)}` +
    (lastPlan.search_complete ? ". " : "; more effort may find a faster plan. ") : "";
  const bound = predicted.lower_bound_seconds > 0 ? `No plan can take less than ${seconds(predicted.lower_bound_seconds)}. ` : "";
  const reason = lastPlan.alternatives.length > 0 ? "\"Why not\" says in which parts of the step another plan takes more (+) or less (−) time." : "";
  const trial = other => other.measured_seconds === null ? null : `${seconds(other.measured_seconds)} in a trial`;
  const element = section("alternatives", "Why this plan", make("p", {}, found + bound + reason),
    comparison("Plans by other planners", "planner", lastPlan.planner, lastPlan.alternatives.map(other => ({ name: other.planner,
      seconds: other.iteration_seconds, why: [other.why_not, trial(other)].filter(Boolean).join("; ") }))));
  if (lastPlan.schedules.length > 0) {
    element.append(make("h3", {}, "The same stages with other schedules"), comparison("Other schedules", "schedule", lastPlan.schedule,
      lastPlan.schedules.map(other => ({ name: other.schedule, seconds: other.iteration_seconds, why: other.why_not }))));
  }
  element.append(...timeParts());
}

// The closed form's parts in the order of the iteration, and what the simulator finds beside them. Shares are those of
// the closed form: with a schedule that it does not know its bubble may be longer than all of the predicted iteration.
function timeParts() {
  const parts = predicted.parts.filter(part => part.seconds > 0);
  if (parts.length === 0) return [];
  const total = predicted.iteration_seconds;
  const whole = parts.reduce((sum, part) => sum + part.seconds, 0);
  const rest = total - whole;
  const rows = parts.map(part => [part.name, seconds(part.seconds), percent(part.seconds / whole)]);
  rows.push(["closed-form estimate (AMP)", seconds(whole), ""]);
  if (Math.abs(rest) >= 5e-4 * total) rows.push([rest > 0 ? "+ contention and optimizer step" : "− hidden by overlap",
    seconds(Math.abs(rest)), ""]);
  rows.push(["predicted iteration", seconds(total), ""]);
  return [make("h3", {}, "Where the predicted time goes"),
    make("p", { class: "hint" }, `Devices compute ${percent(1 - predicted.bubble_fraction)} of the predicted iteration. The parts are ` +
      "those of AMP's closed form, which does not know the schedule."),
    table("Where the predicted time goes", [{ title: "part" }, { title: "time", number: true }, { title: "of the estimate", number: true }],
      rows, row => row === parts.length || row === rows.length - 1, true)];
}
