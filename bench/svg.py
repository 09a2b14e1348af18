# SPDX-License-Identifier: BSD-3-Clause
"""The few elements of SVG that the figures are made of."""
from xml.sax.saxutils import escape

# That people tell apart who do not see all colours (Paul Tol).
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222222")


def head(width, height):
    return [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif">', rectangle(0, 0, width, height, "#fff")]


def text(x, y, words, anchor="middle", size=12, turned=0):
    turn = f' transform="rotate({turned} {x:.1f} {y:.1f})"' if turned else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{turn}>{escape(words)}</text>'


def _titled(title):
    return f"<title>{escape(title)}</title>" if title else ""


def rectangle(x, y, width, height, colour, title=""):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}">{_titled(title)}</rect>'


def circle(x, y, radius, colour, title=""):
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}">{_titled(title)}</circle>'


def line(x1, y1, x2, y2, colour="#000"):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def polyline(points, colour, dashes=""):
    """Dashes: lengths of strokes and gaps; empty: one stroke."""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    pattern = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.5"{pattern}/>'
