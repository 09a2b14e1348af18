# SPDX-License-Identifier: BSD-3-Clause
"""Compares the pages of docs/user/mpix with the declarations in the description of the API."""
import pathlib
import re

_API = "shim/intercept/api/mpi_api.txt"
_ENTRY = re.compile(r"^(MPIX_\w+) \|[^\n]*\n((?:  [^\n]*\n?)+)", re.MULTILINE)
_CODE = re.compile(r"```c\n(.*?)```", re.DOTALL)


def declared(description: str) -> dict[str, str]:
    """Return the prototype of each MPIX_ function."""
    found = {}
    for name, lines in _ENTRY.findall(description):
        pieces = [piece.split(" : ")[0].strip() for piece in " ".join(lines.split()).split(";")]
        found[name] = f"int {name}({', '.join(piece for piece in pieces if piece)});"
    return found


def wrong_pages(top: pathlib.Path) -> list[str]:
    """Return one line for each function without a page or with another prototype there."""
    prototypes = declared((top / _API).read_text(encoding="utf-8"))
    folder = top / "docs/user/mpix"
    found = []
    for name, prototype in prototypes.items():
        page = folder / f"{name}.md"
        if not page.exists():
            found.append(f"docs/user/mpix/{name}.md is missing; {_API} has the function")
            continue
        text = page.read_text(encoding="utf-8")
        code = _CODE.search(text)
        shown = " ".join(code[1].split()) if code else "none"
        if shown.replace("( ", "(") != prototype:
            found.append(f"docs/user/mpix/{name}.md: prototype {shown}; {_API} has {prototype}")
        if f"{name}.md" not in (folder / "index.md").read_text(encoding="utf-8"):
            found.append(f"docs/user/mpix/index.md does not link to {name}.md")
    for page in sorted(folder.glob("MPIX_*.md")):
        if page.stem not in prototypes:
            found.append(f"docs/user/mpix/{page.name}: {_API} has no function of this name")
    return found
