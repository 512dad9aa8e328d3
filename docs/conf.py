# How Sphinx builds this folder into a site: tests/docs/site.sh, or
#     sphinx-build -W -b html docs build/site
import os

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
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
smartquotes = False  # text is often code
highlight_language = "none"  # of blocks that name none
pygments_style = "friendly"
pygments_dark_style = "monokai"


def leave_the_site(app, env, node, contnode):
    """A link to a file of the repository that is no page is text: readers of the site do not have the file."""
    target = os.path.join(app.srcdir, os.path.dirname(node.get("refdoc", "")), node["reftarget"].split("#")[0])
    return contnode if ".." in node["reftarget"] and os.path.exists(target) else None


def setup(app):
    app.connect("missing-reference", leave_the_site)
