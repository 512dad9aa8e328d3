// The sections of the page, from the figures in the element "data".

const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");
const lastPlan = data.plans[data.plans.length - 1];
const predicted = lastPlan.predicted;
const deviceOf = new Map(data.nodes.flatMap(node => node.devices.map(device => [device.id, { ...device, node }])));
const rankOf = new Map(data.ranks.filter(rank => rank.device !== undefined).map(rank => [rank.device, rank]));

function section(id, title, ...children) {
  const element = make("section", { id, "aria-labelledby": id + "-title" }, make("h2", { id: id + "-title" }, title), ...children);
  main.append(element);
  document.getElementById("contents").append(make("li", {}, make("a", { href: "#" + id }, title)));
  return element;
}

const latest = series => series === null ? null : [...series.mean].reverse().find(value => value !== null) ?? null;
const median = list => {
  const sorted = list.filter(value => value !== null).sort((a, b) => a - b);
  return sorted.length === 0 ? null : sorted[Math.floor(sorted.length / 2)];
};
const plural = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

function beside(measured, expected) {
  const ratio = measured / expected;
  if (ratio >= 2) return `${digits(ratio, 2)} times as much as predicted`;
  const off = Math.round(100 * Math.abs(ratio - 1));
  return off === 0 ? "as predicted" : `${off} % ${ratio > 1 ? "more" : "less"} than predicted`;
}

// --- head --------------------------------------------------------------------------------------

function head() {
  const job = data.job;
  document.getElementById("name").textContent = job.name;
  document.getElementById("about").textContent =
    `${job.rehearsal ? "Rehearsal" : "Training"} of ${job.model} on ${job.cluster || "this machine"}: ` +
    `${plural(job.devices, "device")} in ${plural(job.nodes, "node")}. ${job.directory}`;
  const theme = document.getElementById("theme");
  theme.addEventListener("change", () => {
    if (theme.value) document.documentElement.dataset.theme = theme.value;
    else delete document.documentElement.dataset.theme;
  });
}

function progressText() {
  const { steps_done: done, steps_planned: planned, left_open: open } = data.job;
  if (planned === undefined) return "";
  if (done >= planned) return "complete";
  return `of ${planned}: ` + (open ? "still running, or killed" : "ended early");
}

function tiles() {
  const series = data.series;
  const list = make("dl", { class: "tiles" });
  const tile = (name, value, note) => list.append(make("div", { class: "tile" }, make("dt", {}, name),
    make("dd", {}, value, note ? make("small", {}, note) : null)));
  tile("Steps", String(data.job.steps_done), progressText());
  if (series.loss) tile("Loss", plain(latest(series.loss)), `from ${plain(series.loss.mean.find(value => value !== null))}`);
  if (data.evaluation.loss.length > 0) {
    tile("Loss on held-back data", plain(data.evaluation.loss[data.evaluation.loss.length - 1]),
      `after step ${data.evaluation.step[data.evaluation.step.length - 1]}`);
  }
  const iteration = data.job.iteration_seconds;
  tile("Iteration, median", seconds(iteration),
    predicted && iteration ? `${seconds(predicted.iteration_seconds)} predicted: ${beside(iteration, predicted.iteration_seconds)}` : "");
  if (series.tokens_per_second) tile("Speed", `${count(median(series.tokens_per_second.mean))} ${data.job.unit}/s`, "median");
  const utilization = series.model_flops_utilization && median(series.model_flops_utilization.mean);
  if (utilization) tile("Model FLOP utilisation", percent(utilization), "of the devices' peak");
  const peak = Math.max(0, ...data.ranks.map(rank => rank.peak_bytes));
  const expected = Math.max(0, ...data.nodes.flatMap(node => node.devices.map(device => device.predicted_bytes || 0)));
  if (peak > 0) tile("Memory of the fullest device", bytes(peak), expected ? `${bytes(expected)} predicted` : "");
  section("summary", "Summary", ...notes(), list);
}

function notes() {
  const list = data.notes.map(text => make("p", { class: "note" }, text));
  if (!hasCharts) {
    list.push(make("p", { class: "note" }, "This build of pptrain has no chart library: figures are tables."));
  }
  return list;
}

// --- series ------------------------------------------------------------------------------------

function training() {
  const series = data.series;
  if (series.step.length === 0) {
    section("training", "Training", make("p", {}, "No step was done."));
    return;
  }
  const merged = series.rows_per_point > 1 ?
    ` A point is the mean of ${series.rows_per_point} steps, the band around it reaches from the least to the most.` : "";
  const place = make("div", { class: "charts" });
  section("training", data.job.rehearsal ? "Rehearsal" : "Training",
    make("p", {}, "Arrow keys move through a chart that has the focus." + merged), place);
  const events = data.plans.slice(1).map(plan => ({ step: plan.from_step, name: "new plan" }));
  const chart = (key, title, more) => {
    if (series[key]) lineChart(place, { title, step: series.step, series: series[key], events, format: plain, ...more });
  };
  chart("loss", "Loss, nats per token", { canLog: true, dots: { ...data.evaluation, name: "held-back data" } });
  chart("learning_rate", "Learning rate", { zero: true });
  chart("tokens_per_second", `Speed, ${data.job.unit} per second`, { format: count, zero: true });
  chart("iteration_seconds", "Iteration time", { format: seconds, zero: true, coldStart: true,
    reference: predicted ? { value: predicted.iteration_seconds, name: `predicted, ${seconds(predicted.iteration_seconds)}` } : null });
  chart("grad_norm", "Norm of the gradient before clipping", { canLog: true });
  chart("model_flops_utilization", "Model FLOP utilisation", { format: percent, zero: true });
}

// --- plan --------------------------------------------------------------------------------------

const stageColour = stage => `var(--stage${stage % 8})`;

function places(plan) {
  const result = new Map();
  plan.stages.forEach((stage, s) => stage.devices.forEach((row, replica) => row.forEach((device, shard) =>
    result.set(device, { stage: s, replica, shard, members: row.length, replicas: stage.devices.length }))));
  return result;
}

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
      stage.offload ? "offload" : null, stage.uneven_shards ? "uneven shards" : null,
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
  const where = places(plan);
  const total = plan.stages.reduce((sum, stage) => sum + stage.layers.reduce((s, l) => s + l.interval[1] - l.interval[0], 0), 0);
  const strip = make("ul", { class: "strip", "aria-label": "Layers by stage" }, ...plan.stages.map((stage, s) => {
    const layers = stage.layers.reduce((sum, { interval: [begin, end] }) => sum + end - begin, 0);
    return make("li", { style: `flex:${layers / total};background:${stageColour(s)}`, title: `stage ${s}: layers ${layersText(stage)}` },
      plan.stages.length > 12 ? String(s) : `stage ${s}: ${plural(layers, "layer")}`);
  }));
  const nodes = make("ul", { class: "nodes" }, ...data.nodes.map(node => make("li", { class: "node" }, make("b", {}, node.name),
    make("span", {}, `${plural(node.devices.length, "device")}, ${[...new Set(node.devices.map(device => device.kind))].join(", ")}, ` +
      bytes(node.devices[0].memory) + " each"),
    make("ul", { class: "devices" }, ...node.devices.map(device => deviceCell(device, where.get(device.id)))))));
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

// --- timelines ---------------------------------------------------------------------------------

const taskKinds = ["forward", "backward", "weight", "step", "communication"];
const taskLetters = ["F", "B", "W"];

function taskText(timeline, row, task) {
  const [kind, chunk, batch, begin, length] = task;
  const scale = timeline.seconds / timeline.ticks;
  const name = kind < 3 ? `${taskLetters[kind]}${chunk}.${batch}` : taskKinds[kind];
  return `device ${row.device}: ${name}, ${seconds(begin * scale)} to ${seconds((begin + length) * scale)}, takes ${seconds(length * scale)}`;
}

// Both timelines, one above the other, at one scale.
function timelineFigure(parent, all, longest) {
  let zoom = 1;
  const made = [];
  for (const [title, timeline] of all) {
    const drawn = timeline.rows.length > 24 ? 14 : 22;
    const height = timeline.rows.length * drawn + 28;
    const left = 62;
    let at = null;
    let mark = () => {};
    const order = timeline.rows.flatMap((row, r) => row.tasks.map((_, t) => [r, t]));
    made.push(figure(parent, `${title}: ${seconds(timeline.seconds)}`, {
      scrolls: true,
      draw(svg, width, readout) {
        const wide = (width - 4) * zoom;
        const x = d3.scaleLinear().domain([0, longest]).range([left, wide - 14]);
        const unit = timeline.seconds / timeline.ticks;
        const place = tick => x(tick * unit);
        svg.attr("viewBox", `0 0 ${wide} ${height}`).attr("width", wide).attr("height", height);
        svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - 26})`)
          .call(d3.axisBottom(x).ticks(Math.max(3, wide / 130)).tickFormat(seconds));
        timeline.rows.forEach((row, r) => {
          const group = svg.append("g").attr("transform", `translate(0,${r * drawn})`);
          group.append("text").attr("x", left - 6).attr("y", drawn / 2).attr("dy", ".35em").attr("text-anchor", "end")
            .style("font-size", drawn < 20 ? "9.5px" : null).text(`device ${row.device}`);
          group.append("rect").attr("class", "lane").attr("x", left).attr("y", 2).attr("height", drawn - 4)
            .attr("width", Math.max(0, x(timeline.seconds) - left));
          group.selectAll("rect.task").data(row.tasks).enter().append("rect").attr("class", task => `task ${taskKinds[task[0]]}`)
            .attr("x", task => place(task[3])).attr("width", task => Math.max(.6, place(task[3] + task[4]) - place(task[3]) - .4))
            .attr("y", task => task[0] === 4 ? drawn - 6 : 2).attr("height", task => task[0] === 4 ? 4 : drawn - 6)
            .append("title").text(task => taskText(timeline, row, task));
          group.selectAll("text.task-label").data(row.tasks.filter(task => task[0] < 3 && drawn > 20 &&
            place(task[3] + task[4]) - place(task[3]) > 8 * String(task[2]).length + 4)).enter().append("text")
            .attr("class", "task-label").attr("text-anchor", "middle").attr("y", drawn / 2 - 1).attr("dy", ".35em")
            .attr("x", task => (place(task[3]) + place(task[3] + task[4])) / 2).text(task => task[2]);
        });
        const frame = svg.append("rect").attr("class", "chosen-task").attr("fill", "none").style("display", "none");
        mark = (index, told) => {
          at = index;
          const [r, t] = order[at];
          const task = timeline.rows[r].tasks[t];
          frame.style("display", null).attr("x", place(task[3])).attr("y", r * drawn + 1).attr("height", drawn - 2)
            .attr("width", Math.max(2, place(task[3] + task[4]) - place(task[3])));
          told.textContent = taskText(timeline, timeline.rows[r], task);
        };
        svg.selectAll("rect.task").on("pointerenter", function () {
          readout.textContent = d3.select(this).select("title").text();
        });
      },
      keys(key, readout) {
        const here = at === null ? [0, -1] : order[at];
        const next = { ArrowRight: [here[0], here[1] + 1], ArrowLeft: [here[0], here[1] - 1], ArrowDown: [here[0] + 1, 0],
          ArrowUp: [here[0] - 1, 0], Home: [here[0], 0] }[key];
        if (!next) return false;
        const index = order.findIndex(([r, t]) => r === next[0] && t === next[1]);
        if (index >= 0) mark(index, readout);
        return true;
      },
      table: () => table(title, [{ title: "device", number: true }, { title: "tasks", number: true }, { title: "computes", number: true },
        { title: "communicates", number: true }, { title: "first start", number: true }, { title: "last end", number: true }],
        timeline.rows.map(row => {
          const unit = timeline.seconds / timeline.ticks;
          const sum = wanted => row.tasks.filter(task => (task[0] === 4) === wanted).reduce((s, task) => s + task[4], 0) * unit;
          const tasks = row.tasks.filter(task => task[0] < 3);
          return [String(row.device), String(tasks.length), seconds(sum(false)), seconds(sum(true)),
            tasks.length ? seconds(tasks[0][3] * unit) : "–",
            tasks.length ? seconds(Math.max(...tasks.map(task => task[3] + task[4])) * unit) : "–"];
        })),
    }));
  }
  const buttons = [["Closer", 2], ["Farther", .5]].map(([text, factor]) => {
    const button = make("button", { type: "button", "aria-label": `${text}: ${factor > 1 ? "stretch" : "compress"} the time axis` }, text);
    button.addEventListener("click", () => {
      zoom = Math.max(1, Math.min(64, zoom * factor));
      buttons[1].disabled = zoom === 1;
      buttons[0].disabled = zoom === 64;
      made.forEach(one => one.redraw());
    });
    return button;
  });
  buttons[1].disabled = true;
  if (hasCharts) parent.prepend(make("p", { class: "tools" }, ...buttons.flatMap(button => [button, " "])));
  // Both scroll together.
  const scrolls = [...parent.querySelectorAll(".timeline-scroll")];
  for (const one of scrolls) one.addEventListener("scroll", () => scrolls.forEach(other => {
    if (other.scrollLeft !== one.scrollLeft) other.scrollLeft = one.scrollLeft;
  }));
}

function timelines() {
  const { predicted: simulated, measured } = data.timelines;
  const all = [];
  if (simulated.seconds > 0) all.push(["Predicted by the simulator", simulated]);
  if (measured.seconds > 0) all.push(["Measured in the last iteration", measured]);
  if (all.length === 0) return;
  const place = make("div");
  const shown = all[0][1];
  const left = shown.rows.length < shown.devices ? ` ${shown.rows.length} of ${shown.devices} devices are drawn.` : "";
  const missing = measured.seconds > 0 ? "" : " The run has no measured one: it is recorded with [metrics] trace = true, and written at the end.";
  section("timeline", "Pipeline of one iteration",
    make("p", {}, "Numbers in the boxes are micro-batches; the thin bars are communication that the device waits for or that " +
      "goes on beside computation. Arrow keys go from task to task." + left + missing),
    legend([["--blue", "forward"], ["--orange", "backward"], ["--green", "backward for the weights"], ["--violet", "optimizer step"],
      ["--grey", "communication"]]), place);
  timelineFigure(place, all, Math.max(...all.map(([, timeline]) => timeline.seconds)));
}

// --- memory and ranks --------------------------------------------------------------------------

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
    legend([["--blue", "measured"], ["--ink", "predicted"], ["--bad", "limit"]]));
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
  const element = section("ranks", "Time of the ranks",
    make("p", {}, `Mean of an iteration, without the first: ${percent(mean("compute"))} computing, ${percent(mean("communication"))} communicating, ` +
      `${percent(mean("idle"))} idle.`),
    legend([["--blue", "computing"], ["--orange", "communicating"], ["--grid", "idle"]]));
  const where = rank => rank.stage === undefined ? "" : `, stage ${rank.stage}`;
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
    { title: "idle", number: true }], rows.map(rank => [String(rank.rank), rank.host || "–", String(rank.device ?? "–"), String(rank.stage ?? "–"),
    seconds(rank.compute), seconds(rank.communication), seconds(rank.idle)])) });
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
  const element = section("alternatives", "Why this plan", make("p", {}, found + bound),
    table("Plans by other planners", [{ title: "planner" }, { title: "iteration", number: true }, { title: "times the chosen", number: true },
      { title: "speed" }, { title: "why not" }], rows, row => row === 0));
  if (lastPlan.schedules.length > 0) {
    element.append(make("h3", {}, "The same stages with other schedules"), table("Other schedules", [{ title: "schedule" },
      { title: "iteration", number: true }, { title: "times the chosen", number: true }, { title: "speed" }, { title: "why not" }],
      [[`${lastPlan.schedule} (chosen)`, seconds(best), "1 ×", bar(best), ""], ...lastPlan.schedules.map(other => [other.schedule,
        seconds(other.iteration_seconds), times(other.iteration_seconds), bar(other.iteration_seconds), other.why_not || (other.iteration_seconds > best * 1.0005 ? "slower" : "as fast")])],
      row => row === 0));
  }
  const parts = Object.entries(predicted.parts).filter(([, value]) => value > 0);
  if (parts.length > 0) {
    element.append(make("h3", {}, "Where the predicted time goes"), table("Parts of the closed-form estimate",
      [{ title: "part" }, { title: "time", number: true }], [...parts.map(([name, value]) => [name, seconds(value)]),
        [`estimate by the closed form`, seconds(parts.reduce((sum, [, value]) => sum + value, 0))],
        [predicted.simulated ? "simulated, with shared links and cores" : "predicted", seconds(best)]]));
  }
}

// --- drift, environment ------------------------------------------------------------------------

function drift() {
  if (data.drift.length === 0) return;
  section("drift", "Drift", make("p", {}, "Ranks that computed longer than expected, as found while the run went on."),
    table("Drift", [{ title: "step", number: true }, { title: "rank", number: true }, { title: "times as long as expected", number: true }],
      data.drift.slice(0, 200).map(row => [String(row.step), String(row.rank), digits(row.factor) + " ×"])),
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
alternatives();
drift();
environment();
