// The page of a sweep: time and money of all points, which of them no other one beats, and what they tell.

const sweep = JSON.parse(document.getElementById("data").textContent);
const varied = sweep.axes.map((axis, a) => a).filter(a => sweep.axes[a].values.length > 1);
const planned = sweep.points.filter(point => point.plan !== undefined);
const countsTokens = planned.every(point => point.tokens_per_second !== undefined);
const hasMoney = sweep.currency !== undefined;

// A training where one was asked for, else 10^9 tokens, else 10^6 samples.
const ofTraining = planned.length > 0 && planned.every(point => point.training_seconds !== undefined);
const amountText = ofTraining ? "the training" : countsTokens ? "10^9 tokens" : "10^6 samples";

function timeOf(point) {
  if (ofTraining) return point.training_seconds;
  return countsTokens ? 1e9 / point.tokens_per_second : 1e6 / point.samples_per_second;
}

// Money, or hours of devices where there are no prices; null where it is not known.
function moneyOf(point) {
  if (!hasMoney) return timeOf(point) / 3600 * point.devices_used;
  if (ofTraining) return point.training_money ?? null;
  if (countsTokens) return point.money_per_billion_tokens ?? null;
  return point.money_per_step === undefined ? null : point.money_per_step / (point.samples_per_second * point.iteration_seconds) * 1e6;
}

const amount = value => value === null ? "–" : Math.abs(value) >= 1e6 ? count(value)
  : Math.abs(value) >= 999.5 ? String(Math.round(value)) : digits(value, 3);
const moneyText = point => `${amount(moneyOf(point))} ${hasMoney ? sweep.currency : "device-hours"}`;
const valueText = (point, a) => sweep.axes[a].kind === "nodes" ? `${point.values[a]} ${sweep.axes[a].name}`
  : sweep.axes[a].kind === "cluster" ? point.values[a] : `${sweep.axes[a].name} ${point.values[a]}`;
const nameOf = point => varied.filter(a => point.values[a] !== "-").map(a => valueText(point, a)).join(", ") || point.cluster;
const toldOf = point => `${nameOf(point)}: ${seconds(timeOf(point))} and ${moneyText(point)} for ${amountText}; ${point.plan}`;

// --- head --------------------------------------------------------------------------------------

function sweepHead() {
  document.getElementById("name").textContent = "What if";
  document.getElementById("about").textContent = `${plural(sweep.points.length, "point")} of ` +
    `${sweep.axes.filter((_, a) => varied.includes(a)).map(axis => axis.name).join(", ") || "one job"}, ` +
    `${sweep.planned} planned in ${seconds(sweep.seconds)}.`;
  watchTheme();
  section("answers", "What the points tell", ...sweep.answers.map(text => make("p", {}, text)),
    hasCharts ? null : make("p", { class: "note" }, "This build of pptrain has no chart library: figures are tables."));
}

// --- front -------------------------------------------------------------------------------------

// All points by time and money; those that no other one beats are filled and joined by steps.
function frontChart(parent, points) {
  const order = [...points].sort((a, b) => timeOf(a) - timeOf(b));
  const front = order.filter(point => point.on_front);
  let at = -1;
  let pick = () => {};
  figure(parent, `Time and ${hasMoney ? "money" : "hours of devices"} for ${amountText}`, {
    hint: "",
    draw(svg, width, readout) {
      const height = Math.round(Math.min(420, Math.max(240, width * .5)));
      svg.attr("viewBox", `0 0 ${width} ${height}`).attr("width", width).attr("height", height);
      const scale = (values, range) => d3.scaleLinear().domain([0, 1.06 * Math.max(...values)]).nice(5).range(range);
      const longest = Math.max(...points.map(timeOf));
      const [unit, factor] = [["d", 86400], ["h", 3600], ["min", 60]].find(([, each]) => longest >= 3 * each) || ["s", 1];
      const along = scale(points.map(point => timeOf(point) / factor), [margin.left, width - margin.right]);
      const x = value => along(value / factor);
      const y = scale(points.map(moneyOf), [height - margin.bottom, margin.top]);
      svg.append("g").attr("class", "grid").attr("transform", `translate(${margin.left},0)`)
        .call(d3.axisLeft(y).ticks(5).tickSize(-(width - margin.left - margin.right)).tickFormat(""));
      svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - margin.bottom})`)
        .call(d3.axisBottom(along).ticks(Math.max(2, Math.round(width / 130))).tickFormat(value => `${digits(value)} ${unit}`));
      svg.append("g").attr("class", "axis").attr("transform", `translate(${margin.left},0)`).call(d3.axisLeft(y).ticks(5).tickFormat(amount));
      svg.append("text").attr("x", width - margin.right).attr("y", height - 4).attr("text-anchor", "end").text("time");
      svg.append("text").attr("x", margin.left + 6).attr("y", margin.top + 4).text(hasMoney ? sweep.currency : "device-hours");
      svg.append("path").attr("class", "curve").attr("d", d3.line().curve(d3.curveStepAfter)(front.map(point => [x(timeOf(point)), y(moneyOf(point))])));
      const dots = svg.append("g").selectAll("circle").data(order).enter().append("circle")
        .attr("class", point => point.on_front ? "front-dot" : "other-dot").attr("r", 5)
        .attr("cx", point => x(timeOf(point))).attr("cy", point => y(moneyOf(point)));
      dots.append("title").text(toldOf);
      const ring = svg.append("circle").attr("class", "chosen-task").attr("fill", "none").attr("r", 8).style("display", "none");
      pick = (place, told) => {
        at = place;
        ring.style("display", null).attr("cx", x(timeOf(order[at]))).attr("cy", y(moneyOf(order[at])));
        told.textContent = toldOf(order[at]);
      };
      dots.on("pointerenter", function () { pick(order.indexOf(d3.select(this).datum()), readout); });
      if (at >= 0) pick(at, readout);
    },
    keys(key, readout) {
      const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: order.length - 1 };
      if (!(key in moves) || order.length === 0) return false;
      pick(Math.max(0, Math.min(order.length - 1, moves[key])), readout);
      return true;
    },
    table: () => table("Time and money", [{ title: "point" }, { title: "time", number: true }, { title: "money", number: true }, { title: "plan" }],
      order.map(point => [nameOf(point), seconds(timeOf(point)), moneyText(point), point.plan]), r => order[r].on_front),
  });
}

function frontSection() {
  const points = planned.filter(point => moneyOf(point) !== null);
  if (points.length === 0) return;
  const place = make("div");
  section("front", "Time and money", make("p", {}, "Points on the line are those that no other one beats: whoever wants to be faster pays more, " +
    "whoever wants to pay less waits longer."), legend([["--blue", "not beaten"], ["--grid", "others"]]), place);
  frontChart(place, points);
}

// --- points ------------------------------------------------------------------------------------

function pointsSection() {
  const known = (point, key, format) => point[key] === undefined ? "–" : format(point[key]);
  const columns = [...(varied.length > 0 ? varied.map(a => ({ title: sweep.axes[a].name, number: sweep.axes[a].kind === "nodes" || sweep.axes[a].kind === "batch" }))
    : [{ title: "cluster" }]), { title: "step", number: true }, { title: countsTokens ? "tokens/s" : "samples/s", number: true },
  { title: "MFU", number: true }, { title: hasMoney ? `${sweep.currency} for ${amountText}` : `device-hours for ${amountText}`, number: true },
  { title: "nodes used", number: true }, { title: "plan" }];
  const row = point => [...(varied.length > 0 ? varied.map(a => point.values[a]) : [point.cluster]), ...(point.plan === undefined
    ? ["–", "–", "–", "–", "–", point.why_not || "no plan"]
    : [seconds(point.iteration_seconds), known(point, countsTokens ? "tokens_per_second" : "samples_per_second", count),
      known(point, "model_flops_utilization", percent), amount(moneyOf(point)), known(point, "nodes_used", String), point.plan])];
  section("points", "Points", table("Points", columns, sweep.points.map(row), r => sweep.points[r].on_front));
}

sweepHead();
frontSection();
pointsSection();
