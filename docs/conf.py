# How Sphinx builds this folder into a site: tests/docs/site.sh, or
#     sphinx-build -W -b html docs build/site
import os
import pathlib

project = "pptrain"
copyright = "the authors of pptrain"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = []
root_doc = "index"
nitpicky = True

# Headings can be linked to as on other hosts of Markdown: page.md#a-heading.
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]

html_theme = "furo"  # holds all its fonts, styles and scripts, so the site needs no network
html_title = "pptrain"
html_theme_options = {
    "dark_css_variables": {
        "color-scheme": "dark",
        "color-problematic": "#ff8a80",
        "color-foreground-primary": "#e4e6ea",
        "color-foreground-secondary": "#adb2bb",
        "color-foreground-muted": "#979da8",
        "color-foreground-border": "#6a707a",
        "color-background-primary": "#16181c",
        "color-background-secondary": "#1e2126",
        "color-background-hover": "#2a2e35",
        "color-background-hover--transparent": "#2a2e3500",
        "color-background-border": "#363b43",
        "color-background-item": "#4b515b",
        "color-brand-primary": "#82aaff",
        "color-brand-content": "#8fb3ff",
        "color-highlight-on-target": "#3b3a1d",
        "color-highlighted-background": "#234064",
        "color-card-border": "#363b43",
    }
}
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_use_index = False  # nothing is in it
html_show_sphinx = False
smartquotes = False  # text is often code
highlight_language = "none"  # of blocks that name none
pygments_style = "friendly"
pygments_dark_style = "monokai"


def leave_the_site(app, env, node, contnode):
    """A link to a file of the repository that is no page is text: readers of the site do not have the file."""
    target = os.path.join(app.srcdir, os.path.dirname(node.get("refdoc", "")), node["reftarget"].split("#")[0])
    return contnode if ".." in node["reftarget"] and os.path.exists(target) else None


def mend_theme(app, exception):
    """Debian 12's Furo is not put together: its script imports another one, which only a module may, and its styles
    begin with those of a web server's folder. Other Furos have neither."""
    static = pathlib.Path(app.outdir, "_static")
    script, styles = static / "scripts" / "furo.js", static / "styles" / "furo.css"
    imported = 'import Gumshoe from "./gumshoe-patched.js";'
    normalize = pathlib.Path("/usr/share/javascript/normalize.css/normalize.css")
    if exception is None and script.exists() and imported in script.read_text(encoding="utf-8"):
        text = script.read_text(encoding="utf-8").replace(imported, "")
        script.write_text((script.parent / "gumshoe-patched.js").read_text(encoding="utf-8") + text, encoding="utf-8")
        rules = normalize.read_text(encoding="utf-8") if normalize.exists() else "body { margin: 0 }"
        text = styles.read_text(encoding="utf-8").replace("@import url(/javascript/normalize.css/normalize.css);", rules)
        styles.write_text(text, encoding="utf-8")


def setup(app):
    app.connect("missing-reference", leave_the_site)
    app.connect("build-finished", mend_theme)
