# SPDX-License-Identifier: BSD-3-Clause
"""Finds dead links in a built site: files and anchors."""
import html.parser
import pathlib
import urllib.parse


class _Page(html.parser.HTMLParser):
    """Collects the links and the anchors of a page."""

    def __init__(self):
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name == "href" or (name == "src" and tag in ("img", "script")):
                self.links.append(value)


def read_page(path: pathlib.Path) -> _Page:
    """Return the links and anchors of an HTML file."""
    page = _Page()
    page.feed(path.read_text(encoding="utf-8", errors="replace"))
    return page


def dead_links(site: pathlib.Path, generated: tuple[str, ...] = ()) -> list[str]:
    """Return one line for each relative link to a file or an anchor that does not exist.

    Links on pages in the folders `generated` are not followed; links to such pages are.
    """
    pages = {path.resolve(): read_page(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        shown = path.relative_to(site.resolve())
        if shown.parts[0] in generated or shown.name == "404.html":
            continue
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or link in ("", "#"):
                continue
            target = (
                (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            )
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                found.append(f"{shown}: dead link {link}: no such file")
            elif parts.fragment and target in pages:
                if urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                    found.append(f"{shown}: dead link {link}: no such anchor")
    return sorted(set(found))
