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
function visit() {
  for (const link of document.querySelectorAll("nav a")) { link.click(); ++clicks; }
  for (const box of document.querySelectorAll("input[type=checkbox], button, summary")) { box.click(); ++clicks; }
  const theme = document.querySelector("select");
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
    for (const id of ["summary", "training", "plan", "timeline", "memory", "ranks", "alternatives", "environment"]) {
      expect(document.querySelector(`#${id} h2`), `no section ${id}`);
    }
    expect(!document.querySelector("main").textContent.match(/undefined|NaN|\\[object/), "something is undefined");
    look();
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
