#!/usr/bin/env python3
"""visit_site.py SITE CHROMIUM: opens every page of the site in a headless browser, narrow and wide, light and dark.

Nothing may be logged, no page may be wider than its window, images need a text, the button for colours has to change
them, and the search has to find a key.
"""

import functools
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading

VISITOR = """<!DOCTYPE html><title>visiting</title><iframe></iframe><script>
const pages = PAGES, frame = document.querySelector("iframe"), problems = [];
frame.height = 900;
const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
function open(page) {
  return new Promise((done) => { frame.onload = () => done(frame.contentDocument); frame.src = page; });
}
function expect(truth, text) { if (!truth) problems.push(text); }
function background(pane) { return frame.contentWindow.getComputedStyle(pane.body).backgroundColor; }
async function visit() {
  for (const page of pages) {
    frame.width = 360;
    const pane = await open(page);
    for (const width of [360, 1280]) {
      frame.width = width;
      await wait(20);
      const excess = pane.documentElement.scrollWidth - frame.contentWindow.innerWidth;
      expect(excess <= 0, `${page}: ${excess} pixels wider than ${width}`);
    }
    for (const image of pane.images) expect(image.alt, `${page}: ${image.src} has no text`);
    const before = background(pane);
    pane.querySelector(".theme-toggle").click();
    expect(background(pane) !== before, `${page}: the colours do not change`);
    frame.contentWindow.localStorage.clear();
  }
  const pane = await open("search.html?q=zero_stage");
  for (let i = 0; i < 50 && !pane.querySelector("ul.search li"); ++i) await wait(100);
  expect(pane.querySelector("ul.search li"), "the search finds nothing");
  document.title = problems.length ? problems.join("; ") : `visited ${pages.length} pages`;
}
visit().catch((error) => { document.title = `stopped: ${error}`; });
</script>"""


class Server(http.server.SimpleHTTPRequestHandler):
    """The site, and the visitor as a page of it; tells of files that are asked for and not there."""

    visitor = ""
    missing = []

    def do_GET(self):
        if self.path != "/visitor":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.visitor.encode())

    def log_message(self, *arguments):
        pass

    def send_error(self, code, *arguments, **named):
        if "favicon" not in self.path:
            self.missing.append(self.path)
        super().send_error(code, *arguments, **named)


def pages_of(site):
    found = []
    for folder, _, names in os.walk(site):
        found += [os.path.relpath(os.path.join(folder, name), site) for name in names if name.endswith(".html")]
    return sorted(found)


def main():
    site, chromium = sys.argv[1:]
    Server.visitor = VISITOR.replace("PAGES", json.dumps(pages_of(site)))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        result = subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"]
            + [f"--user-data-dir={profile}", "--enable-logging=stderr", "--virtual-time-budget=60000"]
            + [f"http://127.0.0.1:{server.server_port}/visitor"],
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    title = (re.findall("<title>(.*?)</title>", result.stdout) or ["no page"])[0]
    logged = [line for line in result.stderr.split("\n") if "CONSOLE" in line and "Changed to" not in line]
    print(f"site: {title}", *logged, *(f"site: there is no {path}" for path in Server.missing), sep="\n")
    return 0 if title.startswith("visited") and not logged and not Server.missing else 1


if __name__ == "__main__":
    sys.exit(main())
