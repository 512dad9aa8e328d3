// One iteration, as it was predicted and as it was measured.

const taskKinds = ["forward", "backward", "weight", "step", "communication"];
const taskLetters = ["F", "B", "W"];

// "0 and 7 alike": device 0 and seven others that do the same as it.
const withAlike = (device, alike) => alike > 1 ? `${device} and ${alike - 1} alike` : `${device}`;

// Where it stands, at the left of its row.
function rowName({ device, alike }, short) {
  const inStage = lastPlan.stages.length > 1 && placeOf.has(device);
  const stage = inStage ? `, ${short ? "s" : "stage "}${placeOf.get(device).stage}` : "";
  if (short) return `${device}${alike > 1 ? ` +${alike - 1}` : ""}${stage}`;
  return `device ${withAlike(device, alike)}${stage}`;
}

function taskText(timeline, row, task) {
  const [kind, chunk, batch, begin, length] = task;
  const scale = timeline.seconds / timeline.ticks;
  const name = kind < 3 ? `${taskLetters[kind]}${chunk}.${batch}` : taskKinds[kind];
  return `${rowName(row)}: ${name}, ${seconds(begin * scale)} to ${seconds((begin + length) * scale)}, takes ${seconds(length * scale)}`;
}

// Both timelines, one above the other, at one scale.
function timelineFigure(parent, all, longest) {
  let zoom = 1;
  const made = [];
  for (const [title, timeline] of all) {
    const drawn = timeline.rows.length > 24 ? 14 : 22;
    const height = timeline.rows.length * drawn + 28;
    const size = drawn < 20 ? 9.5 : 11.5;
    let at = null;
    let mark = () => {};
    const order = timeline.rows.flatMap((row, r) => row.tasks.map((_, t) => [r, t]));
    made.push(figure(parent, `${title}: ${seconds(timeline.seconds)}`, {
      scrolls: true,
      draw(svg, width, readout) {
        const short = width < 520;
        const nameOf = row => rowName(row, short);
        const left = 10 + Math.max(...timeline.rows.map(row => textWidth(nameOf(row), size)));
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
            .style("font-size", size + "px").text(nameOf(row)).append("title").text(rowName(row));
          group.append("rect").attr("class", "lane").attr("x", left).attr("y", 2).attr("height", drawn - 4)
            .attr("width", Math.max(0, x(timeline.seconds) - left));
          group.selectAll("rect.task").data(row.tasks).enter().append("rect").attr("class", task => `task ${taskKinds[task[0]]}`)
            .attr("x", task => place(task[3])).attr("width", task => Math.max(.6, place(task[3] + task[4]) - place(task[3]) - .4))
            .attr("y", task => task[0] === 4 ? drawn - 6 : 2).attr("height", task => task[0] === 4 ? 4 : drawn - 6)
            .append("title").text(task => taskText(timeline, row, task));
          group.selectAll("text.task-label").data(row.tasks.filter(task => task[0] < 3 && drawn > 20 &&
            place(task[3] + task[4]) - place(task[3]) > 8 * String(task[2]).length + 4)).enter().append("text")
            .attr("class", task => `task-label on-${taskKinds[task[0]]}`).attr("text-anchor", "middle").attr("y", drawn / 2 - 1).attr("dy", ".35em")
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
  const drawn = shown.rows.reduce((sum, row) => sum + row.alike, 0);
  const left = drawn < shown.devices ? ` ${drawn} of ${shown.devices} devices are drawn.` : "";
  const iteration = predicted && predicted.simulated ? predicted.iteration_seconds : simulated.seconds;
  const cores = simulated.seconds > 0 && iteration > 1.01 * simulated.seconds ? " This picture has a core for each device; " +
    `with the cores that they share ${seconds(iteration)} are predicted.` : "";
  const missing = measured.seconds > 0 || data.job.planned_only ? "" : " The run has no measured one: it is recorded with [metrics] trace = true, and written at the end.";
  section("timeline", "Pipeline of one iteration",
    make("p", {}, "Numbers in the boxes are micro-batches; the thin bars are communication that the device waits for or that " +
      "goes on beside computation. Arrow keys go from task to task." + left + cores + missing),
    legend([["--blue", "forward"], ["--orange", "backward"], ["--green", "backward for the weights"], ["--violet", "optimizer step"],
      ["--grey", "communication"]]), place);
  timelineFigure(place, all, Math.max(...all.map(([, timeline]) => timeline.seconds)));
}
