// What the figures of the page have in common: numbers for people, elements, tables, line and bar charts.

const hasCharts = typeof d3 !== "undefined";

// --- numbers -----------------------------------------------------------------------------------

function digits(value, count = 3) {
  if (value === 0) return "0";
  return Number(value.toPrecision(count)).toLocaleString("en", { maximumSignificantDigits: count, useGrouping: false });
}

// In the first unit in which fewer than the next one's worth is left after rounding (999.95 ms are 1 s), as `scaled` of
// src/base/units.cpp. What is less than `least` is what rounding leaves of a sum, and 0.
function withUnit(value, units, least) {
  if (value === null || value === undefined || !isFinite(value)) return "–";
  if (Math.abs(value) < least) value = 0;
  const text = ([name, factor]) => {
    const number = value / factor;
    return Math.abs(number) >= 999.5 ? Math.round(number) : Number(number.toPrecision(3));
  };
  const fits = i => i + 1 === units.length || Math.abs(text(units[i])) < units[i + 1][1] / units[i][1];
  const unit = units.find((_, i) => fits(i));
  const number = text(unit);
  return (Math.abs(number) < 1e5 ? digits(number, 5) : number.toExponential(2)) + (unit[0] ? " " + unit[0] : "");
}

const unitsOf = (names, step) => names.map((name, i) => [name, Math.pow(step, i)]);
const byteUnits = unitsOf(["B", "KiB", "MiB", "GiB", "TiB", "PiB"], 1024);
const countUnits = unitsOf(["", "k", "M", "G", "T", "P"], 1000);
const secondUnits = [["ns", 1e-9], ["µs", 1e-6], ["ms", 1e-3], ["s", 1]];

const bytes = value => withUnit(value, byteUnits, .5);
const count = value => withUnit(value, countUnits, 1e-6).replace(" ", "");

function percent(value) {
  if (value === null || value === undefined || !isFinite(value)) return "–";
  const size = 100 * Math.abs(value);
  if (size < 1e-9) return "0 %";
  if (size < .05) return value > 0 ? "< 0.1 %" : "> -0.1 %";
  return (size >= 9.95 ? Math.round(100 * value) : +(100 * value).toFixed(1)) + " %";
}

function seconds(value) {
  if (value === null || value === undefined || !isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size < 1e-11) return "0 s";
  if (size < 999.5) return withUnit(value, secondUnits, 0);
  return withUnit(value, [size < 3 * 3600 ? ["min", 60] : size < 3 * 86400 ? ["h", 3600] : ["d", 86400]], 0);
}

const plain = value => value === null || value === undefined ? "–"
  : Math.abs(value) >= 1e-3 && Math.abs(value) < 1e5 || value === 0 ? digits(value, 4) : value.toExponential(2);

// --- elements ----------------------------------------------------------------------------------

// make("p", {class: "hint"}, "text", child, ...)
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

// columns: [{title, number?}]; rows: arrays of texts or elements; the first cell of a row names it.
function table(caption, columns, rows, chosen = () => false, compact = false) {
  const cell = (column, content, tag, scope) =>
    make(tag, { class: content === "–" ? "number none" : column.number ? "number" : null, scope, "data-title": tag === "td" ? column.title : null }, content);
  const body = make("tbody", {}, ...rows.map((row, r) => make("tr", { class: chosen(r) ? "chosen" : null },
    ...row.map((content, c) => cell(columns[c], content, c === 0 ? "th" : "td", c === 0 ? "row" : null)))));
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    make("table", { "aria-label": caption, class: compact ? "compact" : null },
      make("thead", {}, make("tr", {}, ...columns.map(column => cell(column, column.title, "th", "col")))), body));
}

// --- sections ----------------------------------------------------------------------------------

const main = document.getElementById("main");

function section(id, title, ...children) {
  const element = make("section", { id, "aria-labelledby": id + "-title" }, make("h2", { id: id + "-title" }, title), ...children);
  main.append(element);
  document.getElementById("contents").append(make("li", {}, make("a", { href: "#" + id }, title)));
  return element;
}

const plural = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

function watchTheme() {
  const theme = document.getElementById("theme");
  theme.addEventListener("change", () => {
    if (theme.value) document.documentElement.dataset.theme = theme.value;
    else delete document.documentElement.dataset.theme;
  });
}

// --- figures -----------------------------------------------------------------------------------

// About what a text takes in the font of the charts, at so many pixels.
const textWidth = (text, size = 11.5) => .56 * size * text.length;

// Small numbers by their power of ten: 5e-4.
const scientific = value => value === null || value === undefined ? "–"
  : value === 0 || Math.abs(value) >= 1e-2 ? plain(value) : Number(value.toPrecision(3)).toExponential();

// A table that is made when it is asked for.
function tableOnRequest(caption, build) {
  const details = make("details", { open: !hasCharts }, make("summary", {}, "As a table"));
  const fill = () => { if (details.open && details.childElementCount === 1) details.append(build()); };
  details.addEventListener("toggle", fill);
  fill();
  return details;
}

let figures = 0;

// A figure with its caption, a place to draw, what the cursor is on, and the same as a table. `draw(svg, width)` is called
// again whenever the width changes.
function figure(parent, title, options) {
  const id = "figure-" + ++figures;
  const tools = make("span", { class: "tools" });
  const element = make("figure", {}, make("figcaption", { id }, title, tools));
  parent.append(element);
  const readout = make("output", { class: "readout", "aria-live": "polite", id: id + "-readout" }, options.hint || "");
  if (hasCharts) {
    const place = make("div", { class: options.scrolls ? "timeline-scroll" : null });
    element.append(place, readout);
    const svg = d3.select(place).append("svg").attr("role", "img").attr("aria-labelledby", id)
      .attr("aria-describedby", id + "-readout").attr("tabindex", options.keys ? 0 : null);
    const redraw = () => {
      const width = Math.max(240, element.clientWidth);
      svg.selectAll("*").remove();
      options.draw(svg, width, readout);
    };
    if (options.keys) svg.on("keydown", function (a) {
      const event = a instanceof Event ? a : d3.event;  // d3 before version 6
      if (options.keys(event.key, readout)) event.preventDefault();
    });
    let drawn = 0;
    const resized = () => {
      if (element.clientWidth !== drawn) { drawn = element.clientWidth; redraw(); }
    };
    new ResizeObserver(() => requestAnimationFrame(resized)).observe(element);
    resized();
    options.redraw = redraw;
  }
  if (options.table) element.append(tableOnRequest(title, options.table));
  return { element, tools, redraw: () => options.redraw && options.redraw() };
}

// --- lines -------------------------------------------------------------------------------------

const margin = { top: 10, right: 24, bottom: 34, left: 62 };

function domainOf(lists) {
  const values = lists.flat().filter(value => value !== null && isFinite(value));
  if (values.length === 0) return [0, 1];
  return [Math.min(...values), Math.max(...values)];
}

// Each value with those before it, which count the less the farther they are: of `points` values most of the weight.
function smoothed(values, points) {
  const keep = 1 - 2 / (points + 1);
  let sum = 0, weight = 0;
  return values.map(value => {
    if (value === null) return null;
    sum = keep * sum + value;
    weight = keep * weight + 1;
    return sum / weight;
  });
}

// A chart of one series over steps. chart: {title, unit, step, series: {mean, low, high}, format, zero, dots: {step,
// loss, name}, references: [{value, from, to}], which are dashed lines, and referenceName, events: [{step, name}], canLog,
// view: {axis: {title, of(step), format}, smoothing: points, 1: none}}. Returns what redraws it.
function lineChart(parent, chart) {
  const { step, series, format } = chart;
  const view = chart.view || { axis: { title: "step", of: n => n, format: value => Number.isInteger(value) ? String(value) : "" }, smoothing: 1 };
  let smooth = series.mean;
  const known = step.map((_, i) => i).filter(i => series.mean[i] !== null);
  let logarithmic = false;
  let at = null;
  let show = () => {};
  const describe = i => `step ${step[i]}${view.axis.title === "step" ? "" : `, ${view.axis.format(view.axis.of(step[i]))}`}: ${format(series.mean[i])}` +
    (view.smoothing > 1 ? `, smoothed ${format(smooth[i])}` : "") +
    (series.low && series.low[i] !== series.high[i] ? ` (${format(series.low[i])} to ${format(series.high[i])})` : "");
  const options = {
    hint: "",
    draw(svg, width, readout) {
      const height = Math.round(Math.min(260, Math.max(180, width * .45)));
      svg.attr("viewBox", `0 0 ${width} ${height}`).attr("width", width).attr("height", height);
      const { axis } = view;
      const [first, last] = [axis.of(step[0]), axis.of(step[step.length - 1])];
      const along = d3.scaleLinear().domain(last > first ? [first, last] : [first - 1, first + 1]).range([margin.left, width - margin.right]);
      const x = n => along(axis.of(n));
      smooth = view.smoothing > 1 ? smoothed(series.mean, view.smoothing) : series.mean;
      const dots = chart.dots || { step: [], loss: [] };
      const references = chart.references || [];
      const reference = references.map(one => one.value);
      let [low, high] = domainOf([series.low || series.mean, series.high || series.mean, dots.loss, reference]);
      if (chart.coldStart) high = warmHigh(series.high || series.mean, reference, high);
      cut.textContent = chart.coldStart ? cutText(series.high || series.mean, high) : "";
      if (chart.zero) low = Math.min(0, low);
      if (low === high) { low -= Math.abs(low) * .1 || 1; high += Math.abs(high) * .1 || 1; }
      const y = (logarithmic ? d3.scaleLog() : d3.scaleLinear()).domain([low, high]).range([height - margin.bottom, margin.top])
        .clamp(true);
      if (!logarithmic) y.nice(5);
      const ticks = Math.max(2, Math.round(width / 110));
      const vertical = d3.axisLeft(y).ticks(5).tickFormat(logarithmic ? value => format(value) : format);
      if (logarithmic) vertical.tickValues(logTicks(low, high));
      svg.append("g").attr("class", "grid").attr("transform", `translate(${margin.left},0)`)
        .call(d3.axisLeft(y).tickValues(logarithmic ? logTicks(low, high) : y.ticks(5))
          .tickSize(-(width - margin.left - margin.right)).tickFormat(""));
      svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - margin.bottom})`)
        .call(d3.axisBottom(along).ticks(Math.min(ticks, step.length)).tickFormat(axis.format));
      svg.append("g").attr("class", "axis").attr("transform", `translate(${margin.left},0)`).call(vertical);
      svg.append("text").attr("x", width - margin.right).attr("y", height - 4).attr("text-anchor", "end").text(axis.title);
      const points = known.map(i => [x(step[i]), y(smooth[i]), i]);
      if (series.low) {
        svg.append("path").attr("class", "band").attr("d", d3.area().x(i => x(step[i])).y0(i => y(series.low[i]))
          .y1(i => y(series.high[i]))(known));
      }
      for (const { value, from, to } of references) {
        svg.append("line").attr("class", "reference").attr("x1", x(Math.max(from, step[0])))
          .attr("x2", step.length > 1 ? x(to) : width - margin.right).attr("y1", y(value)).attr("y2", y(value));
      }
      if (view.smoothing > 1) svg.append("path").attr("class", "curve raw").attr("d", d3.line()(known.map(i => [x(step[i]), y(series.mean[i])])));
      svg.append("path").attr("class", "curve").attr("d", d3.line()(points.map(point => point.slice(0, 2))));
      if (points.length === 1) svg.append("circle").attr("class", "cursor-dot").attr("r", 3).attr("cx", points[0][0]).attr("cy", points[0][1]);
      svg.append("g").selectAll("circle").data(dots.step.map((s, i) => [s, dots.loss[i]]).filter(dot => dot[1] !== null))
        .enter().append("circle").attr("class", "dot").attr("r", 4).attr("cx", dot => x(dot[0])).attr("cy", dot => y(dot[1]))
        .append("title").text(dot => `step ${dot[0]}: ${format(dot[1])} ${dots.name || ""}`);
      for (const event of chart.events || []) {
        const place = x(event.step);
        const fits = place + 4 + textWidth(event.name) < width - margin.right;
        svg.append("line").attr("class", "event").attr("x1", place).attr("x2", place)
          .attr("y1", margin.top).attr("y2", height - margin.bottom);
        svg.append("text").attr("class", "event-label").attr("x", place + (fits ? 4 : -4)).attr("y", margin.top + 9)
          .attr("text-anchor", fits ? "start" : "end").text(event.name);
      }
      const cursor = svg.append("g").style("display", "none");
      const rule = cursor.append("line").attr("class", "cursor").attr("y1", margin.top).attr("y2", height - margin.bottom);
      const dot = cursor.append("circle").attr("class", "cursor-dot").attr("r", 4);
      show = (place, told) => {
        at = place;
        const [px, py, i] = points[at];
        cursor.style("display", null);
        rule.attr("x1", px).attr("x2", px);
        dot.attr("cx", px).attr("cy", py);
        told.textContent = describe(i);
      };
      svg.on("pointermove", function (a) {
        const event = a instanceof Event ? a : d3.event;
        const box = svg.node().getBoundingClientRect();
        const px = (event.clientX - box.left) * width / box.width;
        const nearest = d3.bisector(point => point[0]).left(points, px);
        const place = nearest > 0 && (nearest === points.length || px - points[nearest - 1][0] < points[nearest][0] - px)
          ? nearest - 1 : nearest;
        if (points.length > 0) show(place, readout);
      });
      if (at !== null && points.length > 0) show(at, readout);
    },
    keys(key, readout) {
      const last = known.length - 1;
      const from = at === null ? -1 : at;
      const moves = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: last, PageDown: from + 10, PageUp: from - 10 };
      if (!(key in moves) || last < 0) return false;
      show(Math.max(0, Math.min(last, moves[key])), readout);
      return true;
    },
    table() {
      const stride = Math.ceil(known.length / 100);
      const kept = known.filter((_, place) => place % stride === 0 || place === known.length - 1);
      const columns = [{ title: "step", number: true }, { title: chart.title, number: true }];
      if (series.low) columns.push({ title: "least", number: true }, { title: "most", number: true });
      return table(chart.title, columns, kept.map(i => [String(step[i]), format(series.mean[i]),
        ...(series.low ? [format(series.low[i]), format(series.high[i])] : [])]));
    },
  };
  const cut = make("span");
  const made = figure(parent, chart.title, options);
  made.tools.append(cut);
  if (chart.referenceName) made.tools.append(make("span", {}, `dashed: ${chart.referenceName}`));
  if (chart.dots && chart.dots.step.length > 0) made.tools.append(make("span", {}, `dots: ${chart.dots.name}`));
  if (chart.canLog && hasCharts) {
    const box = make("input", { type: "checkbox" });
    box.addEventListener("change", () => { logarithmic = box.checked; made.redraw(); });
    made.tools.append(make("label", {}, box, " logarithmic"));
  }
  return made;
}

// The top of the axis: the first iterations of a job take so long that they would leave nothing to be seen of the others.
function warmHigh(values, reference, high) {
  const known = values.filter(value => value !== null).sort((a, b) => a - b);
  const usual = 3 * known[Math.floor(known.length / 2)];
  const warm = known.filter(value => value <= usual);
  return known.length - warm.length > known.length / 3 ? high : Math.max(...warm, ...reference);
}

function cutText(values, high) {
  const beyond = values.filter(value => value !== null && value > high).length;
  return beyond === 0 ? "" : `${beyond} beyond the top`;
}

// Five or so places of a logarithmic axis, in equal ratios.
function logTicks(low, high) {
  return d3.range(5).map(i => low * Math.pow(high / low, i / 4));
}

// --- bars --------------------------------------------------------------------------------------

// Horizontal bars, one under the other. rows: [{label, parts: [{class, value}], limit, tick, text, told}]; options.most:
// the value at the right end.
function barChart(parent, title, rows, options) {
  const rowHeight = rows.length > 24 ? 14 : 24;
  const size = rows.length > 24 ? 9.5 : 11.5;
  let at = -1;
  let pick = () => {};
  const made = figure(parent, title, {
    draw(svg, width, readout) {
      const room = Math.floor(.42 * width / textWidth("x", size));
      const shortened = text => text.length > room ? text.slice(0, room - 1) + "…" : text;
      const nameOf = row => shortened(width < 420 ? row.label.replace("stage ", "s") : row.label);
      const left = 14 + Math.max(...rows.map(row => textWidth(nameOf(row), size)));
      const right = 12 + Math.max(...rows.map(row => textWidth(row.text, size)));
      const height = rows.length * rowHeight + 26;
      const x = d3.scaleLinear().domain([0, options.most]).range([left, width - right]).clamp(true);
      const end = x(options.most);
      svg.attr("viewBox", `0 0 ${width} ${height}`).attr("width", width).attr("height", height);
      svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - 24})`)
        .call(d3.axisBottom(x).ticks(width < 480 ? 3 : 5).tickFormat(options.axis));
      const groups = svg.append("g").selectAll("g").data(rows).enter().append("g")
        .attr("transform", (_, i) => `translate(0,${i * rowHeight})`);
      const top = 3;
      const thick = rowHeight - 6;
      groups.append("text").attr("x", left - 8).attr("y", rowHeight / 2).attr("dy", ".35em").attr("text-anchor", "end")
        .style("font-size", size + "px").text(nameOf);
      groups.append("rect").attr("class", "lane").attr("x", left).attr("y", top).attr("width", end - left).attr("height", thick);
      groups.each(function (row) {
        let from = 0;
        for (const part of row.parts) {
          d3.select(this).append("rect").attr("class", part.class).attr("x", x(from)).attr("y", top)
            .attr("width", Math.max(0, x(from + part.value) - x(from))).attr("height", thick);
          from += part.value;
        }
        if (row.limit <= options.most) d3.select(this).append("line").attr("class", "limit")
          .attr("x1", x(row.limit)).attr("x2", x(row.limit)).attr("y1", 1).attr("y2", rowHeight - 1);
        if (row.tick) d3.select(this).append("line").attr("class", "predicted-tick")
          .attr("x1", x(row.tick)).attr("x2", x(row.tick)).attr("y1", 1).attr("y2", rowHeight - 1);
      });
      groups.append("text").attr("x", width - right + 6).attr("y", rowHeight / 2).attr("dy", ".35em")
        .style("font-size", size + "px").text(row => row.text);
      groups.append("title").text(row => row.told);
      const frame = svg.append("rect").attr("fill", "none").attr("class", "chosen-task").attr("x", left).attr("width", end - left)
        .attr("height", thick).style("display", "none");
      pick = (place, told) => {
        at = place;
        frame.style("display", null).attr("y", at * rowHeight + top);
        told.textContent = rows[at].told;
      };
      groups.on("pointerenter", function () { pick(rows.indexOf(d3.select(this).datum()), readout); });
    },
    keys(key, readout) {
      const moves = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 };
      if (!(key in moves) || rows.length === 0) return false;
      pick(Math.max(0, Math.min(rows.length - 1, moves[key])), readout);
      return true;
    },
    table: options.table,
  });
  return made;
}

// entries: [colour, text], those of an area that is left empty with an outline.
function legend(entries) {
  return make("ul", { class: "legend" }, ...entries.map(([colour, text]) => make("li", {}, make("i",
    { class: colour === "--grid" ? "outlined" : null, style: `background: var(${colour})`, "aria-hidden": "true" }), text)));
}
