"""A canvas that becomes one SVG file: light and dark by the reader's system, colours of the report's page."""
import html
import os
import re

NAMES = ("ink", "soft", "card", "line", "grid", "outline", "bad", "good", "accent", "blue", "orange", "green", "violet", "grey", "on-dark", "on-light") + tuple(
    f"stage{i}" for i in range(8)
)


def palettes(source):
    """Colours by name, light and dark, as src/report/page/page.css has them."""
    with open(os.path.join(source, "src/report/page/page.css"), encoding="utf-8") as file:
        text = file.read()
    found = []
    for begin in (":root {", ":root[data-theme=dark] {"):
        block = text[text.index(begin) :]
        found.append(dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", block[: block.index("}")])))
    return found


def width_of(text, size=13):
    """About what a text takes, in pixels."""
    return 0.56 * size * len(text)


def number(value):
    return f"{value:.1f}".removesuffix(".0")


class Canvas:
    """Shapes in pixels from the upper left corner. `colour` is one of NAMES."""

    def __init__(self, width, height, title, description):
        self.width, self.height = width, height
        self.title, self.description = title, description
        self.parts = []

    def rect(self, x, y, width, height, colour, radius=2, outline=None, told=None, faint=False):
        stroke = f' stroke-width="1" class="{colour} o-{outline}"' if outline else f' class="{colour}"'
        if faint:
            stroke += ' opacity=".6"'
        inside = f"<title>{html.escape(told)}</title>" if told else ""
        self.parts.append(f'<rect x="{number(x)}" y="{number(y)}" width="{number(max(width, 0))}" height="{number(height)}" rx="{radius}"{stroke}>{inside}</rect>')

    def text(self, x, y, text, size=13, colour="ink", anchor="start", bold=False, mono=False):
        style = f'font-size="{size}"' + (' font-weight="600"' if bold else "") + (' font-family="ui-monospace,DejaVu Sans Mono,Liberation Mono,monospace" xml:space="preserve"' if mono else "")
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}" {style} class="{colour}">{html.escape(text)}</text>')

    def line(self, x1, y1, x2, y2, colour="line", width=1, dashed=False):
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" class="s-{colour}" stroke-width="{width}"{dash}/>')

    def path(self, points, colour="blue", width=2):
        places = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self.parts.append(f'<polyline points="{places}" class="s-{colour}" fill="none" stroke-width="{width}" stroke-linejoin="round"/>')

    def dot(self, x, y, radius=4, colour="blue", told=None):
        inside = f"<title>{html.escape(told)}</title>" if told else ""
        self.parts.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="{radius}" class="{colour}">{inside}</circle>')

    def arrow(self, x1, y, x2, colour="soft"):
        self.line(x1, y, x2 - 7, y, colour, 2)
        self.parts.append(f'<path d="M{number(x2)} {number(y)} l-9 -5 v10 z" class="{colour}"/>')

    def legend(self, x, y, entries):
        """Colours and what they stand for, in a row from x; x is None: one that ends at the right margin."""
        wide = [15 + width_of(text, 11.5) + 14 for _, text in entries]
        x = self.width - 34 + 14 - sum(wide) if x is None else x
        for (colour, text), each in zip(entries, wide):
            self.rect(x, y - 9, 10, 10, colour, outline="outline" if colour == "grid" else None)
            self.text(x + 15, y, text, 11.5, "soft")
            x += each

    def written(self, colours):
        def rules(palette):
            return "".join(f".{name}{{fill:{palette[name]}}}.s-{name},.o-{name}{{stroke:{palette[name]}}}" for name in NAMES if name in self.used())

        light, dark = colours
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}" role="img" '
            f'font-family="system-ui,Segoe UI,Roboto,Helvetica,Arial,Liberation Sans,sans-serif">'
        )
        style = f"<style>{rules(light)}@media(prefers-color-scheme:dark){{{rules(dark)}}}</style>"
        card = f'<rect x=".5" y=".5" width="{self.width - 1}" height="{self.height - 1}" rx="8" class="card o-line"/>'
        words = f"<title>{html.escape(self.title)}</title><desc>{html.escape(self.description)}</desc>"
        return "\n".join([head, words, style, card, *self.parts, "</svg>", ""])

    def used(self):
        text = " ".join(self.parts) + ' class="card o-line"'
        return {name.removeprefix("s-").removeprefix("o-") for group in re.findall(r'class="([^"]*)"', text) for name in group.split()}
