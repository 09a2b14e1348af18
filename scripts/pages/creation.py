# SPDX-License-Identifier: BSD-3-Clause
"""Generates docs/developer/creation_states.dot, the picture of the states of a communicator
creation, from the table of transitions in shim/sessions/creation_state.hpp."""
import pathlib
import re
import textwrap

from pages import drawing

_SOURCE = "shim/sessions/creation_state.hpp"
_STATES = re.compile(r"enum class CreationState[^{]*\{(.*?)\};", re.DOTALL)
_STATE = re.compile(r"^\s*(\w+),?\s*///<\s*(.+)$", re.MULTILINE)
_TABLE = re.compile(r"kCreationTransitions\[\] = \{(.*?)\n\};", re.DOTALL)
_ROW = re.compile(
    r"\{CreationState::(\w+),\s*CreationEvent::(\w+),\s*CreationState::(\w+),[\s/]*" r'"([^"]+)"\}'
)
_BREAK = "\\n "  # with a space: spelling checkers take the n for a part of the next word
# The state in which each creation begins.
_FIRST = "announced"


def states_of(source: str) -> dict[str, str]:
    """Return each state with its meaning."""
    found = _STATES.search(source)
    states = dict(_STATE.findall(found[1])) if found else {}
    if not states:
        raise ValueError(f"{_SOURCE}: no states found")
    return states


def transitions_of(source: str) -> list[tuple[str, str, str, str]]:
    """Return the rows (from, event, to, cause) of the table of transitions."""
    found = _TABLE.search(source)
    rows = _ROW.findall(found[1]) if found else []
    if not rows or len(rows) != found[1].count("CreationEvent::"):
        raise ValueError(f"{_SOURCE}: cannot read all transitions")
    named = set(states_of(source))
    unknown = {state for row in rows for state in (row[0], row[2])} - named
    if unknown:
        raise ValueError(f"{_SOURCE}: unknown states {sorted(unknown)}")
    return rows


def dot_of(source: str) -> str:
    """Return the picture of these states and transitions."""
    rows = transitions_of(source)
    lines = drawing.head(
        "creation_states", _SOURCE, (0.6, 0.5), edges=', fontname="sans-serif", fontsize=10'
    )
    lines += ['  begin [shape=point, width=0.12, color="#5b7bb0"];', f"  begin -> {_FIRST};"]
    ends = set(states_of(source)) - {row[0] for row in rows}
    for state, meaning in states_of(source).items():
        text = _BREAK.join(textwrap.wrap(meaning, 34))
        outline = ", peripheries=2" if state in ends else ""
        lines.append(f'  {state} [label="{state}{_BREAK}{text}"{outline}];')
    for old, event, new, cause in rows:
        text = _BREAK.join(textwrap.wrap(cause, 28, break_on_hyphens=False))
        lines.append(f'  {old} -> {new} [label="{event}:{_BREAK}{text}"];')
    return "\n".join(lines + ["}"]) + "\n"


def dot(top: pathlib.Path) -> str:
    """Return docs/developer/creation_states.dot."""
    return dot_of((top / _SOURCE).read_text(encoding="utf-8"))
