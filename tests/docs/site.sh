#!/usr/bin/env bash
# docs/ as a site, without a warning: a link or anchor that leads nowhere, or a page that nothing leads to, is one.
# In a browser, where there is one, every page is opened. Exit code 77 where Sphinx, MyST or the theme is missing. Usage: site.sh SOURCE [FOLDER]
set -euo pipefail
python=/usr/bin/python3
if ! "$python" -c 'import sphinx, myst_parser, furo' 2>/dev/null; then
  echo "SKIPPED: the site is not built without python3-sphinx, python3-myst-parser and furo"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
site=${2:-$folder/site}
"$python" -m sphinx -q -W --keep-going -b html -d "$folder/doctrees" "$1/docs" "$site"
# It has to be readable without a network.
if grep -rlE '(src|href)="https?://[^"]*\.(js|css|woff2?)"' "$site" --include='*.html'; then
  echo "pages load something from elsewhere"
  exit 1
fi
# Pages outside of docs/: their links to files.
cd "$1"
git ls-files -- '*.md' ':!docs' | "$python" -c '
import os, re, sys
broken = 0
for page in sys.stdin.read().split():
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", open(page, encoding="utf-8").read()):
        if not re.match(r"https?:", target) and not os.path.exists(os.path.join(os.path.dirname(page), target)):
            broken += 1
            print(f"{page}: there is no {target}")
sys.exit(1 if broken else 0)'
cd "$OLDPWD"
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [[ -z $chromium ]]; then
  echo "site: BROWSER SKIPPED, there is no chromium"
else
  "$python" "$1/tests/docs/visit_site.py" "$site" "$chromium"
fi
echo "site: $(find "$site" -name '*.html' | wc -l) pages"
