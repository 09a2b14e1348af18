#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the manual pages from pages of docs/user and from the list of settings.

make_man.py VERSION DATE OUTPUT

Writes OUTPUT/man1/*.1.gz (docs/user/commands), OUTPUT/man3/*.3.gz (docs/user/mpix) and
OUTPUT/man7/intersession.7.gz (docs/user/commands/intersession.md and shim/base/settings.def).
DATE, for example 2026-11-29, is the date in the footer. Equal inputs give equal bytes.
"""
import gzip
import pathlib
import re
import sys

_TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_TOP / "scripts"))

from pages import settings  # noqa: E402  pylint: disable=wrong-import-position

_COMMANDS, _FUNCTIONS = _TOP / "docs/user/commands", _TOP / "docs/user/mpix"
_FENCE = re.compile(r"^```.*\n([\s\S]*?)^```\n", re.MULTILINE)
_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^)]*)\)")
# An address of a page of the user guide, which is no manual page.
_GUIDE = re.compile(r"(?:\.\./)?((?!MPIX_|intersession)[a-z-]+\.md)(?:#.*)?")
# A page that only names the page of another command.
_ALIAS = {"intersession-cxx": "intersession-cc"}


def escaped(text: str) -> str:
    """Return text without characters that roff interprets."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("&#124;", "|")
    return text.replace("–", "\\(en").replace("—", "\\(em").replace("…", "...")


def inline(text: str) -> str:
    """Convert code, emphasis and links.

    A link keeps its text, and its address if it is a URL or a page of the user guide.
    """
    result, end = "", 0
    for found in _INLINE.finditer(text):
        code, strong, emphasis, label, address = found.groups()
        result += escaped(text[end : found.start()])
        end = found.end()
        if label is not None:
            result += inline(label)
            if guide := _GUIDE.fullmatch(address):
                result += f" ({escaped(guide[1])} of the user guide)"
            elif "://" in address:
                result += f" ({escaped(address)})"
        elif emphasis is not None:
            result += f"\\fI{escaped(emphasis)}\\fR"
        else:
            result += f"\\fB{escaped(code or strong)}\\fR"
    return result + escaped(text[end:])


def guarded(line: str) -> str:
    """Protect a first character that would make the line a request of roff."""
    return "\\&" + line if line[:1] in (".", "'") else line


def example(text: str) -> list[str]:
    lines = [guarded(escaped(line)) for line in text.rstrip().split("\n")]
    return [".PP", ".RS 4", ".nf", *(line or "\\&" for line in lines), ".fi", ".RE"]


def table(rows: list[str]) -> list[str]:
    """Return a table as a list: the first cell is the term, the last its text."""
    lines = []
    for row in rows[2:]:
        cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
        middle = ", ".join(inline(cell) for cell in cells[1:-1] if cell)
        term = inline(cells[0]) + (f" ({middle})" if middle else "")
        lines += [".TP 8", guarded(term), guarded(inline(cells[-1]) or "\\&")]
    return lines


def items(block: str) -> list[str]:
    lines = []
    for item in re.split(r"^- ", block, flags=re.MULTILINE)[1:]:
        lines += [".IP \\[u2022] 2", guarded(inline(" ".join(item.split())))]
    return lines


def block_lines(block: str) -> list[str]:
    """Return the roff lines of one block: heading, table, list, example or paragraph."""
    if block.startswith("### "):
        return [f'.SS "{escaped(block[4:])}"']
    if block.startswith("## "):
        return [f'.SH "{escaped(block[3:]).upper()}"']
    if block.startswith("|"):
        return table(block.split("\n"))
    if block.startswith("- "):
        return items(block)
    if block.startswith("    "):
        return example("\n".join(line[4:] for line in block.split("\n")))
    return [".PP", guarded(inline(" ".join(block.split())))]


def blocks(text: str) -> list[str]:
    """Split a page at empty lines, before headings, and after them; an example stays whole."""
    text = re.sub(r"^(## .*|### .*)$", r"\n\1\n", text, flags=re.MULTILINE)
    found: list[str] = []
    for block in re.split(r"\n(?:[ ]*\n)+", text.strip("\n")):
        if found and block.startswith("    ") and found[-1].startswith("    "):
            found[-1] += "\n    \n" + block
        elif block.strip():
            found.append(block)
    return found


def body(text: str) -> list[str]:
    lines = []
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = _FENCE.sub(lambda code: "\n" + indented(code[1]) + "\n", text)
    for block in blocks(text):
        lines += block_lines(block)
    # A heading begins a paragraph itself.
    return [
        line
        for before, line in zip([""] + lines, lines)
        if not (line == ".PP" and before[:3] in (".SH", ".SS"))
    ]


def indented(text: str) -> str:
    return "\n".join("    " + line for line in text.rstrip("\n").split("\n"))


def page(text: str, section: int, version: str, date: str) -> str:
    """Return a manual page of a page that begins with a title and one sentence of summary."""
    title, _, rest = text.partition("\n")
    name = title.removeprefix("# ").strip()
    summary, _, rest = rest.strip().partition("\n\n")
    summary = inline(" ".join(summary.split()).rstrip("."))
    first = summary[:1].lower() + summary[1:] if not summary[:2].isupper() else summary
    lines = [
        f'.TH "{escaped(name)}" {section} {date} "Intersession {version}" "Intersession"',
        ".SH NAME",
        f"{escaped(name)} \\- {first}",
    ]
    if rest.startswith("```"):
        code = _FENCE.match(rest)
        rest = rest[code.end() :]
        lines += [".SH SYNOPSIS", ".nf", "\\fB#include <mpi.h>\\fR", ".PP"]
        lines += [guarded(escaped(line)) for line in code[1].rstrip().split("\n")] + [".fi"]
    return "\n".join(lines + body(rest)) + "\n"


def settings_section() -> str:
    """Return the settings as the page docs/user/settings.md has them."""
    return "\n## Settings\n" + settings.page(_TOP).partition("\n")[2]


def pages(version: str, date: str) -> dict[str, str]:
    """Return the text of each manual page, by its path below the output folder."""
    made = {}
    for source in sorted(_COMMANDS.glob("intersession-*.md")):
        made[f"man1/{source.stem}.1"] = page(source.read_text("utf-8"), 1, version, date)
    for alias, name in _ALIAS.items():
        made[f"man1/{alias}.1"] = f".so man1/{name}.1\n"
    for source in sorted(_FUNCTIONS.glob("MPIX_*.md")):
        made[f"man3/{source.stem}.3"] = page(source.read_text("utf-8"), 3, version, date)
    overview = (_COMMANDS / "intersession.md").read_text("utf-8")
    made["man7/intersession.7"] = page(overview + settings_section(), 7, version, date)
    return made


def main(version: str, date: str, output: str) -> None:
    for path, text in pages(version, date).items():
        file = pathlib.Path(output, path + ".gz")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
