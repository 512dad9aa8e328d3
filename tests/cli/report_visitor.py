#!/usr/bin/env python3
"""report_visitor.py REPORT.html VISITED.html WIDTH: the page, that many pixels wide, with a script that opens, clicks and types on all
that there is, and then leaves in the title how often it did, and how many errors there were."""
import sys

VISITOR = """
<style>html { width: WIDTHpx; }</style>
<script>
let errors = 0, clicks = 0, keys = 0;
window.addEventListener("error", () => ++errors);
window.addEventListener("unhandledrejection", () => ++errors);
document.addEventListener("securitypolicyviolation", () => ++errors);
window.addEventListener("load", () => setTimeout(visit, 500));
function expect(truth, text) { if (!truth) { ++errors; console.error(text); } }
// Whether all texts of the charts are within them.
function look() {
  for (const svg of document.querySelectorAll("figure svg")) {
    for (const text of svg.querySelectorAll("text")) {
      const place = (text.getCTM().e - svg.getCTM().e) / svg.getCTM().a + text.getBBox().x;
      const whole = svg.viewBox.baseVal.width;
      expect(place > -1 && place + text.getBBox().width < whole + 1, `cut off: ${text.textContent}`);
    }
  }
}
// Nothing is wider than the window, but for what scrolls by itself.
function look_at_width() {
  const whole = WIDTH;
  for (const element of document.querySelectorAll("main *")) {
    const box = element.getBoundingClientRect();
    const scrolls = element.closest(".timeline-scroll, .scroll, pre");
    if (box.width > 0 && !scrolls) expect(box.right < whole + 1, `too wide: ${element.tagName} ${element.className} ${element.textContent.slice(0, 40)}`);
  }
  // A table of which columns are off the screen, where it is not one of numbers that is asked for.
  for (const scroll of document.querySelectorAll("main section > .scroll")) {
    expect(scroll.scrollWidth < scroll.clientWidth + 2, `columns off the screen: ${scroll.getAttribute("aria-label")}`);
  }
}
// The same numbers as tests/base/units_test.cpp has.
function count_out() {
  const numbers = [[seconds, 0, "0 s"], [seconds, 3.55e-15, "0 s"], [seconds, 5.2e-10, "0.52 ns"], [seconds, .99995, "1 s"],
    [seconds, .00125, "1.25 ms"], [seconds, 59.97, "60 s"], [seconds, 999.6, "16.7 min"], [seconds, 12345, "3.43 h"],
    [seconds, 1e8, "1157 d"], [seconds, null, "–"], [bytes, 1023.6, "1 KiB"], [bytes, 1010 * 1048576, "1010 MiB"],
    [bytes, Math.pow(2, 50), "1 PiB"], [count, 124439808, "124M"], [count, 999999, "1M"], [count, 1e-9, "0"],
    [percent, 0, "0 %"], [percent, -1e-17, "0 %"], [percent, 1e-5, "< 0.1 %"], [percent, .0034, "0.3 %"], [percent, .07, "7 %"],
    [percent, .0996, "10 %"], [percent, .5549, "55 %"], [percent, NaN, "–"]];
  for (const [format, value, text] of numbers) expect(format(value) === text, `${value} is ${format(value)}, not ${text}`);
}
function visit() {
  count_out();
  for (const link of document.querySelectorAll("nav a")) { link.click(); ++clicks; }
  for (const box of document.querySelectorAll("input[type=checkbox], button, summary")) { box.click(); ++clicks; }
  for (const select of document.querySelectorAll(".controls select")) {
    for (const option of [...select.options].reverse()) {
      select.value = option.value;
      select.dispatchEvent(new Event("change"));
      ++clicks;
    }
  }
  const theme = document.querySelector("#theme");
  for (const choice of ["dark", "light", ""]) {
    theme.value = choice;
    theme.dispatchEvent(new Event("change"));
    expect((document.documentElement.dataset.theme || "") === choice, "the colours do not change");
  }
  for (const svg of document.querySelectorAll("svg[tabindex]")) {
    svg.focus();
    expect(document.activeElement === svg, "a chart takes no focus");
    for (const key of ["End", "ArrowLeft", "Home", "ArrowRight", "ArrowDown", "ArrowUp", "PageDown", "Tab"]) {
      svg.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      ++keys;
    }
    const told = document.getElementById(svg.getAttribute("aria-describedby"));
    expect(told && told.textContent !== "", "nothing is told of a chart");
    expect(document.getElementById(svg.getAttribute("aria-labelledby")).textContent !== "", "a chart has no name");
    svg.dispatchEvent(new PointerEvent("pointermove", { clientX: 300, clientY: 80, bubbles: true }));
  }
  for (const details of document.querySelectorAll("figure details")) expect(details.open, "no table opens");
  setTimeout(() => {
    for (const details of document.querySelectorAll("figure details")) {
      expect(details.querySelectorAll("tbody tr").length > 0, "a table has no rows");
    }
    const of_plan = ["summary", "plan", "timeline", "memory", "alternatives", "environment"];
    const ids = typeof sweep !== "undefined" ? ["answers", "front", "points"]
      : data.job.planned_only ? of_plan : [...of_plan, "training", "ranks"];
    for (const id of ids) {
      expect(document.querySelector(`#${id} h2`), `no section ${id}`);
    }
    expect(!document.querySelector("main").textContent.match(/undefined|NaN|\\[object/), "something is undefined");
    look();
    look_at_width();
    document.title = `visited: ${clicks} clicks, ${keys} keys, ${errors} errors`;
  }, 500);
}
</script>
"""

with open(sys.argv[1], encoding="utf-8") as file:
    page = file.read()
head, mark, tail = page.partition("<header>")
assert mark, "no page"
with open(sys.argv[2], "w", encoding="utf-8") as file:
    file.write(head + VISITOR.replace("WIDTH", sys.argv[3]) + mark + tail)
