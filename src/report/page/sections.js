// The sections of the page, from the figures in the element "data".

// A plan that nothing has run by has neither series nor ranks.
const data = { ranks: [], drift: [], experts: null, environment: {}, evaluation: { step: [], loss: [] }, series: { step: [] }, fewer_nodes: [],
  ...JSON.parse(document.getElementById("data").textContent) };
const lastPlan = data.plans[data.plans.length - 1];
const predicted = lastPlan.predicted;
const deviceOf = new Map(data.nodes.flatMap(node => node.devices.map(device => [device.id, { ...device, node }])));
const rankOf = new Map(data.ranks.filter(rank => rank.device !== undefined).map(rank => [rank.device, rank]));

const latest = series => series === null ? null : [...series.mean].reverse().find(value => value !== null) ?? null;

function beside(measured, expected) {
  const ratio = measured / expected;
  if (ratio >= 2) return `${digits(ratio, 2)} times as much`;
  const off = Math.round(100 * Math.abs(ratio - 1));
  return off === 0 ? "as predicted" : `${off} % ${ratio > 1 ? "more" : "less"}`;
}

// --- head --------------------------------------------------------------------------------------

function head() {
  const job = data.job;
  document.getElementById("name").textContent = job.name;
  const what = job.planned_only ? "Plan" : job.rehearsal ? "Rehearsal" : "Training";
  document.getElementById("about").textContent = `${what} of ${job.model} on ${job.cluster || "this machine"}: ` +
    `${plural(job.devices, "device")} in ${plural(job.nodes, "node")}, ${plural(job.global_batch_size, "sample")} a step.` +
    (job.directory ? ` ${job.directory}` : "");
  watchTheme();
}

function progressText() {
  const { steps_done: done, steps_planned: planned, left_open: open } = data.job;
  if (planned === undefined) return "";
  if (done >= planned) return "complete";
  return `of ${planned}: ` + (open ? "still running, or killed" : "ended early");
}

// A list of figures, each with its name and a note below it.
function tileList() {
  const list = make("dl", { class: "tiles" });
  const tile = (name, value, note) => list.append(make("div", { class: "tile" }, make("dt", {}, name),
    make("dd", {}, value, note ? make("small", {}, note) : null)));
  return { list, tile };
}

const fullestExpected = () => Math.max(0, ...data.nodes.flatMap(node => node.devices.map(device => device.predicted_bytes || 0)));

const money = value => Math.abs(value) >= 999.5 ? String(Math.round(value)) : digits(value, 3);

// How long a training takes, and what it costs.
function trainingTexts(speed) {
  const training = predicted.cost && predicted.cost.training;
  if (!training) return [seconds(speed.training_seconds), ""];
  return [seconds(training.seconds), [`${count(training.node_hours)} node-hours`,
    training.money === null ? null : `${money(training.money)} ${predicted.cost.currency}`,
    training.kilowatt_hours === null ? null : count(1000 * training.kilowatt_hours).replace(/[kMGTP]?$/, " $&Wh")].filter(Boolean).join(", ")];
}

function costTiles(tile) {
  const { cost, failures } = predicted;
  if (cost && cost.money_per_hour !== null) {
    tile("Cost", `${money(cost.money_per_hour)} ${cost.currency}/h`, [`${plural(cost.nodes, "node")}`,
      cost.money_per_billion_tokens === null ? null : `${money(cost.money_per_billion_tokens)} ${cost.currency} per 10^9 tokens`].filter(Boolean).join(", "));
  }
  if (failures && failures.steps > 0) tile("Goodput", percent(failures.goodput),
    `a failure in ${seconds(failures.mtbf)}, a checkpoint every ${plural(failures.steps, "step")}`);
}

function planTiles(tile) {
  tile("Step, predicted", seconds(predicted.iteration_seconds), predicted.simulated ? "by simulation" : "by a formula");
  if (predicted.lower_bound_seconds > 0) tile("Above the lower bound", percent(predicted.iteration_seconds / predicted.lower_bound_seconds - 1),
    `no plan takes less than ${seconds(predicted.lower_bound_seconds)}`);
  const speed = predicted.speed;
  if (speed) {
    const tokens = speed.tokens_per_second !== null;
    tile("Speed", tokens ? `${count(speed.tokens_per_second)} tokens/s` : `${count(speed.samples_per_second)} samples/s`,
      tokens ? `${count(speed.samples_per_second)} samples/s` : "");
    if (speed.utilization !== null) tile("Model FLOP utilisation", percent(speed.utilization), `of the ${speed.precision} peak of the devices used`);
    if (speed.training_seconds !== null) tile(`Training on ${count(speed.training_tokens)} tokens`, ...trainingTexts(speed));
  }
  costTiles(tile);
  const used = data.nodes.flatMap(node => node.devices).filter(device => placeOf.has(device.id)).length;
  tile("Devices used", `${used} of ${data.job.devices}`, `computing ${percent(1 - predicted.bubble_fraction)} of the step`);
  if (fullestExpected() > 0) tile("Memory of the fullest device", bytes(fullestExpected()), "");
}

function runTiles(tile) {
  const series = data.series;
  tile("Steps", String(data.job.steps_done), progressText());
  if (series.loss) tile("Loss", plain(latest(series.loss)), `from ${plain(series.loss.mean.find(value => value !== null))}`);
  if (data.evaluation.loss.length > 0) {
    tile("Loss on held-back data", plain(data.evaluation.loss[data.evaluation.loss.length - 1]),
      `after step ${data.evaluation.step[data.evaluation.step.length - 1]}`);
  }
  const iteration = data.job.iteration_seconds;
  const band = predicted && predicted.error_band ? ` ± ${percent(predicted.error_band)}` : "";
  tile("Iteration, median", seconds(iteration),
    predicted && iteration ? `${seconds(predicted.iteration_seconds)}${band} predicted: ${beside(iteration, predicted.iteration_seconds)}` : "");
  const { amount_per_second: speed, utilization } = data.job;
  if (speed) tile("Speed", `${count(speed)} ${data.job.unit}/s`, "median");
  if (utilization) tile("Model FLOP utilisation", percent(utilization), "of the peak of the devices used");
  const peak = Math.max(0, ...data.ranks.map(rank => rank.peak_bytes));
  const expected = fullestExpected();
  if (peak > 0) tile("Memory of the fullest device", bytes(peak), expected ? `${bytes(expected)} predicted` : "");
}

function tiles() {
  const { list, tile } = tileList();
  if (!data.job.planned_only) runTiles(tile);
  else if (predicted) planTiles(tile);
  section("summary", "Summary", ...notes(), list);
}

function notes() {
  const list = data.notes.map(text => make("p", { class: "note" }, text));
  if (!hasCharts) {
    list.push(make("p", { class: "note" }, "This build of pptrain has no chart library: figures are tables."));
  }
  return list;
}

// What each plan was to take, over the steps that went by it.
function predictions() {
  const last = data.series.step[data.series.step.length - 1];
  const until = i => i + 1 < data.plans.length ? data.plans[i + 1].from_step : last;
  return data.plans.map((plan, i) => ({ value: plan.predicted && plan.predicted.iteration_seconds, from: plan.from_step, to: until(i) }))
    .filter(one => one.value && one.to >= one.from);
}

// --- series ------------------------------------------------------------------------------------

// Step n on the horizontal axes that there are: n itself, tokens or samples until then, seconds of training until then.
function stepAxes() {
  const { step, seconds: until, per_step: each } = data.series;
  const axes = [{ name: "step", title: "step", of: n => n, format: value => Number.isInteger(value) ? String(value) : "" }];
  if (each) axes.push({ name: data.job.unit, title: data.job.unit, of: n => n * each, format: count });
  if (until) axes.push({ name: "time of training", title: "time of training", format: seconds, of: n => {
    const after = step.findIndex(one => one >= n);
    if (after < 0) return until[until.length - 1];
    const before = after === 0 ? [0, 0] : [step[after - 1], until[after - 1]];
    return before[1] + (until[after] - before[1]) * (n - before[0]) / (step[after] - before[0]);
  } });
  return axes;
}

// What all charts of the section are drawn by, and the fields that change it.
function chartControls(redraw) {
  const axes = stepAxes();
  const view = { axis: axes[0], smoothing: 1 };
  const choice = (label, entries, take) => {
    const select = make("select", {}, ...entries.map(([text], i) => make("option", { value: i }, text)));
    select.addEventListener("change", () => { take(entries[select.value][1]); redraw(); });
    return make("label", {}, label + " ", select);
  };
  const fields = make("p", { class: "controls" },
    choice("Horizontal axis", axes.map(axis => [axis.name, axis]), axis => { view.axis = axis; }),
    choice("Smoothing", [["none", 1], ["5 points", 5], ["20 points", 20], ["100 points", 100]], points => { view.smoothing = points; }));
  return { view, fields };
}

function training() {
  const series = data.series;
  if (data.job.planned_only) return;
  if (series.step.length === 0) {
    section("training", "Training", make("p", {}, "No step was done."));
    return;
  }
  const merged = series.rows_per_point > 1 ?
    ` A point is the mean of ${series.rows_per_point} steps, the band around it reaches from the least to the most.` : "";
  const place = make("div", { class: "charts" });
  const charts = [];
  const { view, fields } = chartControls(() => charts.forEach(chart => chart.redraw()));
  section("training", data.job.rehearsal ? "Rehearsal" : "Training",
    make("p", {}, "Arrow keys move through a chart that has the focus." + merged), hasCharts ? fields : null, place);
  const resumed = data.job.resumed_step;
  const events = [...(resumed > 0 ? [{ step: resumed, name: "resumed" }] : []),
    ...data.plans.slice(1).map(plan => ({ step: plan.from_step, name: "new plan" }))];
  const chart = (key, title, more) => {
    if (series[key]) charts.push(lineChart(place, { title, step: series.step, series: series[key], events, format: plain, view, ...more }));
  };
  chart("loss", `Loss, nats per ${data.job.unit.slice(0, -1)}`, { canLog: true, dots: { ...data.evaluation, name: "held-back data" } });
  chart("learning_rate", "Learning rate", { format: scientific, zero: true });
  chart("tokens_per_second", `Speed, ${data.job.unit} per second`, { format: count, zero: true });
  chart("iteration_seconds", "Iteration time", { format: seconds, zero: true, coldStart: true,
    references: predictions(), referenceName: predicted ? `predicted, ${seconds(predicted.iteration_seconds)}` : null });
  chart("grad_norm", "Norm of the gradient before clipping", { canLog: true });
  chart("model_flops_utilization", "Model FLOP utilisation" + (resumed > 0 || data.plans.length > 1 ? ", of the last plan's peak" : ""), { format: percent, zero: true });
}
