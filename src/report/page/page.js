// Memory, time of the ranks, drift, environment; and the order of the sections.

const memoryParts = [["--blue", "weights"], ["--orange", "gradients"], ["--green", "optimizer state"], ["--violet", "activations and buffers"]];

// Weights, gradients, optimizer state and the rest of what is predicted of a device, in bytes.
function partsOf(device) {
  const { weights, gradients, optimizer } = device.state;
  return [weights, gradients, optimizer, Math.max(0, device.predicted_bytes - weights - gradients - optimizer)];
}

// Devices that need the same are one row: those that follow one another, or where there are many rows all of them.
function memoryRows() {
  const devices = data.nodes.flatMap(node => node.devices).filter(device => device.predicted_bytes);
  const rows = [];
  const does = device => JSON.stringify([device.kind, partsOf(device)]);
  for (const device of devices) {
    const before = rows[rows.length - 1];
    if (before && does(before.device) === does(device) && before.last === device.id - 1) before.last = device.id;
    else rows.push({ device, first: device.id, last: device.id });
  }
  for (const row of rows) row.name = row.first === row.last ? `${row.first}` : `${row.first}–${row.last}`;
  if (rows.length <= 16) return rows;
  const kinds = new Map();
  for (const device of devices) kinds.set(does(device), [...(kinds.get(does(device)) || []), device]);
  return [...kinds.values()].map(alike => ({ device: alike[0],
    name: withAlike(alike[0].id, alike.length) }));
}

function plannedMemory(element) {
  const rows = memoryRows();
  if (rows.length === 0) return;
  const most = Math.max(...rows.map(row => row.device.predicted_bytes));
  const largest = Math.max(...rows.map(row => row.device.memory));
  const end = most > .2 * largest ? Math.max(most, largest) : 1.25 * most;
  const power = Math.floor(Math.log2(end) / 10);
  const unit = Math.pow(1024, power);
  element.append(legend([...memoryParts, ...(rows.some(row => row.device.memory <= end) ? [["--bad", "limit"]] : [])]));
  barChart(element, "Predicted memory by part", rows.map(row => ({
    label: `${row.name} (${row.device.kind})`,
    parts: partsOf(row.device).map((value, i) => ({ class: `fill-part${i}`, value: value / unit })),
    limit: row.device.memory / unit,
    text: bytes(row.device.predicted_bytes),
    told: `device ${row.name}: ` + partsOf(row.device).map((value, i) => `${memoryParts[i][1]} ${bytes(value)}`).join(", ") + `; limit ${bytes(row.device.memory)}`,
  })), { most: end * 1.01 / unit, axis: value => `${digits(value)} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`,
    table: () => table("Predicted memory by part", [{ title: "devices" }, { title: "kind" }, ...memoryParts.map(([, title]) => ({ title, number: true })),
      { title: "all", number: true }, { title: "limit", number: true }],
    rows.map(row => [row.name, row.device.kind, ...partsOf(row.device).map(bytes), bytes(row.device.predicted_bytes), bytes(row.device.memory)])) });
}

// Memory of a plan that nothing has run by; of a run `memory` has what was measured too.
function memoryOfPlan() {
  if (memoryRows().length === 0) return;
  plannedMemory(section("memory", "Memory", make("p", {}, "What each device holds at most. Activations and buffers are what is left of the " +
    "predicted peak beside weights, gradients and optimizer state.")));
}

function fewerNodes() {
  const rows = data.fewer_nodes.filter(part => part.iteration_seconds !== null);
  if (rows.length < 2) return;
  const whole = rows[rows.length - 1].iteration_seconds;
  const name = part => part.kinds.map(({ kind, nodes }) => `${nodes} ${kind}`).join(" + ");
  const better = rows.slice(0, -1).find(part => part.iteration_seconds < .995 * whole);
  const element = section("nodes", "Time against nodes", make("p", {}, "What a step of this job takes on a part of the cluster, those nodes " +
    "first that have the fastest devices."),
    better ? make("p", { class: "note" }, `${plural(better.nodes, "node")} (${name(better)}) alone take ${seconds(better.iteration_seconds)} a step, less ` +
      `than this plan's ${seconds(whole)}: plan for those nodes.`) : null);
  barChart(element, "Time of a step", rows.map(part => ({
    label: name(part),
    parts: [{ class: "fill-compute", value: part.iteration_seconds }],
    text: `${seconds(part.iteration_seconds)}, ${digits(rows[0].iteration_seconds / part.iteration_seconds, 3)} ×`,
    told: `${plural(part.nodes, "node")}, ${plural(part.devices, "device")}: ${seconds(part.iteration_seconds)}, ` +
      `${digits(rows[0].iteration_seconds / part.iteration_seconds, 3)} times as fast as ${name(rows[0])}`,
  })), { most: Math.max(...rows.map(part => part.iteration_seconds)), axis: seconds, table: () => table("Time against nodes",
    [{ title: "nodes" }, { title: "devices", number: true }, { title: "step", number: true }, { title: "speed-up", number: true }],
    data.fewer_nodes.map(part => [name(part), String(part.devices), part.iteration_seconds === null ? part.why_not : seconds(part.iteration_seconds),
      part.iteration_seconds === null ? "–" : digits(rows[0].iteration_seconds / part.iteration_seconds, 3) + " ×"])) });
}

function memory() {
  if (data.job.planned_only) {
    memoryOfPlan();
    return;
  }
  const rows = [];
  for (const [id, device] of deviceOf) {
    const rank = rankOf.get(id);
    const measured = rank ? rank.peak_bytes : null;
    if (!measured && !device.predicted_bytes) continue;
    rows.push({ id, device, measured, expected: device.predicted_bytes });
  }
  if (rows.length === 0) return;
  const used = Math.max(...rows.map(row => Math.max(row.measured || 0, row.expected || 0)));
  const largest = Math.max(...rows.map(row => row.device.memory));
  // Devices may use so little of their memory that nothing would be seen of it.
  const most = used > .2 * largest ? largest : 1.25 * used;
  const limits = rows.filter(row => row.device.memory <= most).length;
  const power = Math.floor(Math.log2(most) / 10);
  const unit = Math.pow(1024, power);
  const element = section("memory", "Memory", make("p", {}, "The most that was in use on each device, and what was predicted. " +
    (limits === rows.length ? "" : limits === 0 ? `All limits are beyond the right end: the fullest device uses ` +
      `${percent(Math.max(...rows.map(row => (row.measured || row.expected) / row.device.memory)))} of its memory.`
      : "Some limits are beyond the right end.")),
    legend([["--blue", "measured"], ["--ink", "predicted"], ...(limits > 0 ? [["--bad", "limit"]] : [])]));
  barChart(element, "Peak memory by device", rows.map(row => ({
    label: `${row.id} (${row.device.kind})`,
    parts: [{ class: "fill-compute", value: (row.measured || 0) / unit }],
    tick: row.expected ? row.expected / unit : undefined,
    limit: row.device.memory / unit,
    text: bytes(row.measured),
    told: `device ${row.id}: ${bytes(row.measured)} measured, ${bytes(row.expected)} predicted, of ${bytes(row.device.memory)}`,
  })), { most: most * 1.01 / unit, axis: value => `${digits(value)} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`,
    table: () => table("Peak memory by device", [{ title: "device", number: true }, { title: "kind" },
      { title: "measured", number: true }, { title: "predicted", number: true }, { title: "limit", number: true },
      { title: "of the limit", number: true }],
    rows.map(row => [String(row.id), row.device.kind, bytes(row.measured), bytes(row.expected), bytes(row.device.memory),
      row.measured === null ? "–" : percent(row.measured / row.device.memory)])) });
  plannedMemory(element);
}

function ranks() {
  const rows = data.ranks.filter(rank => rank.compute !== null);
  if (rows.length === 0) return;
  const longest = Math.max(...rows.map(rank => rank.compute + rank.communication + rank.idle));
  const unit = longest >= 1 ? 1 : longest >= 1e-3 ? 1e-3 : 1e-6;
  const stage = rank => placeOf.has(rank.device) ? placeOf.get(rank.device).stage : null;
  // Ranks that the plan leaves out are no part of its prediction either.
  const placed = rows.some(rank => stage(rank) !== null) ? rows.filter(rank => stage(rank) !== null) : rows;
  const mean = key => placed.reduce((sum, rank) => sum + rank[key], 0) /
    placed.reduce((sum, rank) => sum + rank.compute + rank.communication + rank.idle, 0);
  const several = data.series.step.filter(step => step > lastPlan.from_step).length > 1;
  const element = section("ranks", "Time of the ranks",
    make("p", {}, `${several ? "Mean iteration" : "Only iteration"}${data.plans.length > 1 ? " by the last plan" : data.job.resumed_step > 0 ? " since the job was resumed" : ""}, ` +
      `${several ? "without the first" : "which begins cold"}: ${percent(mean("compute"))} computing, ${percent(mean("communication"))} communicating, ` +
      `${percent(mean("idle"))} idle${placed.length < rows.length ? ` (the ${placed.length} ranks that the plan uses)` : ""}.`),
    legend([["--blue", "computing"], ["--orange", "communicating"], ["--grid", "idle"]]));
  const where = rank => stage(rank) === null ? "" : `, stage ${stage(rank)}`;
  barChart(element, "Computing, communicating and idle by rank", rows.map(rank => {
    const whole = rank.compute + rank.communication + rank.idle;
    return {
      label: `rank ${rank.rank}${where(rank)}`,
      parts: ["compute", "communication", "idle"].map(key => ({ class: `fill-${key}`, value: rank[key] / unit })),
      text: percent(rank.idle / whole) + " idle",
      told: `rank ${rank.rank}${where(rank)}${rank.host ? " on " + rank.host : ""}: ${seconds(rank.compute)} computing, ` +
        `${seconds(rank.communication)} communicating, ${seconds(rank.idle)} idle`,
    };
  }), { most: longest / unit, axis: value => seconds(value * unit), table: () => table("Time of the ranks", [{ title: "rank", number: true }, { title: "host" },
    { title: "device", number: true }, { title: "stage", number: true }, { title: "computing", number: true }, { title: "communicating", number: true },
    { title: "idle", number: true }], rows.map(rank => [String(rank.rank), rank.host || "–", String(rank.device ?? "–"), String(stage(rank) ?? "–"),
    seconds(rank.compute), seconds(rank.communication), seconds(rank.idle)])) });
}

// --- experts -----------------------------------------------------------------------------------

function experts() {
  if (!data.experts) return;
  const layers = data.experts.layers.map(layer => {
    const mean = 1 / layer.shares.length;
    const most = Math.max(...layer.shares);
    return { name: layer.name, shares: layer.shares, fullest: layer.shares.indexOf(most), times: most / mean,
      least: Math.min(...layer.shares) / mean };
  });
  const times = value => digits(value, 3) + " ×";
  const place = make("div", { class: "charts" });
  const element = section("experts", "Experts",
    make("p", {}, "How many rows the fullest expert of a layer has, in times of the mean: 1 is even. A device whose experts are asked " +
      "for more has more to do."), legend([["--blue", "fullest"], ["--ink", "emptiest"]]), place);
  lineChart(place, { title: "Fullest expert of all layers, times the mean", step: data.series.step, series: data.experts.fullest,
    format: times });
  barChart(element, `Fullest expert by layer${data.plans.length > 1 ? ", by the last plan" : ""}`, layers.map(layer => ({
    label: layer.name.replace(".experts", ""),
    parts: [{ class: "fill-compute", value: layer.times }],
    tick: layer.least > 0 ? layer.least : undefined,
    text: times(layer.times),
    told: `${layer.name}: expert ${layer.fullest} has ${times(layer.times)} the mean, ` +
      `${percent(layer.shares[layer.fullest])} of the rows; the emptiest ${times(layer.least)}`,
  })), { most: Math.max(...layers.map(layer => layer.times)), axis: times, table: () => table("Share of each expert",
    [{ title: "layer" }, ...layers[0].shares.map((_, e) => ({ title: String(e), number: true }))],
    layers.map(layer => [layer.name, ...layer.shares.map(share => percent(share))]), () => false, true) });
}

// --- drift, environment ------------------------------------------------------------------------

function drift() {
  if (data.drift.length === 0) return;
  section("drift", "Drift", make("p", {}, "Ranks that computed longer than expected, as found while the run went on."),
    table("Drift", [{ title: "step", number: true }, { title: "rank", number: true }, { title: "times as long as expected", number: true }],
      data.drift.slice(0, 200).map(row => [String(row.step), String(row.rank), digits(row.factor) + " ×"]), () => false, true),
    data.drift.length > 200 ? make("p", {}, `The first 200 of ${data.drift.length}.`) : null);
}

function environment() {
  if (data.job.planned_only) {
    if (data.configuration) section("environment", "Configuration", make("pre", { tabindex: 0 }, data.configuration));
    return;
  }
  const list = make("dl", { class: "environment" });
  for (const [name, value] of Object.entries(data.environment)) {
    if (value !== "") list.append(make("dt", {}, name.replaceAll("_", " ")), make("dd", {}, value));
  }
  section("environment", "Environment", list,
    make("details", {}, make("summary", {}, "Configuration"), make("pre", { tabindex: 0 }, data.configuration)));
}

head();
tiles();
training();
planSection();
timelines();
memory();
ranks();
experts();
alternatives();
fewerNodes();
drift();
environment();
