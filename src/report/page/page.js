// Memory, time of the ranks, drift, environment; and the order of the sections.

function memory() {
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
}

function ranks() {
  const rows = data.ranks.filter(rank => rank.compute !== null);
  if (rows.length === 0) return;
  const longest = Math.max(...rows.map(rank => rank.compute + rank.communication + rank.idle));
  const unit = longest >= 1 ? 1 : longest >= 1e-3 ? 1e-3 : 1e-6;
  const mean = key => rows.reduce((sum, rank) => sum + rank[key], 0) / rows.reduce((sum, rank) => sum + rank.compute + rank.communication + rank.idle, 0);
  const several = data.series.step.filter(step => step > lastPlan.from_step).length > 1;
  const element = section("ranks", "Time of the ranks",
    make("p", {}, `${several ? "Mean iteration" : "Only iteration"}${data.plans.length > 1 ? " by the last plan" : data.job.resumed_step > 0 ? " since the job was resumed" : ""}, ` +
      `${several ? "without the first" : "which begins cold"}: ${percent(mean("compute"))} computing, ${percent(mean("communication"))} communicating, ` +
      `${percent(mean("idle"))} idle.`),
    legend([["--blue", "computing"], ["--orange", "communicating"], ["--grid", "idle"]]));
  const stage = rank => placeOf.has(rank.device) ? placeOf.get(rank.device).stage : null;
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
drift();
environment();
