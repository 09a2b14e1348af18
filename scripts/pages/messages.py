# SPDX-License-Identifier: BSD-3-Clause
"""Lists the error and warning texts of the C++ sources (docs/user/messages.md).

A text is found where an error value is made (`Error(ErrorClass::x, text)`, in braces as well),
where system_error() or another function named `*_error` gets a text, where within() adds a prefix,
and where a warning or an error is logged or printed. The tables below name the other functions and
variables. texts.py renders the texts; several long ones in one place become messages of the class
"part".
"""

import dataclasses
import pathlib
import re
import tomllib

from . import cpp
from .texts import VALUE, Texts

_PRINTED = ("print_error", "end_job", "end_process", "fprintf", "perror")
_LOGGED = ("write", "say", "warn", "log")
# Functions and types that make an error or an error line of a text, with its class.
_MAKERS = {
    "error": "prefix",
    "error_of": "prefix",
    "fail": "varies",
    "fail_all": "other",
    "on_launcher_lost": "other",
    "raise": "error line",
    "FailedOperation": "varies",
}
# The parser of process sets calls fail(position, text) or appends {line, column, text}: its texts
# are parts of a warning. By file: the numbers of arguments, by callee.
_COMPLAINTS = {"shim/sessions/pset_text.cpp": {"fail": 2, "": 3}}
# Functions and variables whose texts reach the user through members. By file: name and class.
_RETURNED = {
    "shim/bootstrap/launcher_size.cpp": ("warn_of_unusable_launcher", "warning"),
    "shim/sessions/disagreement.cpp": ("describe_wait", "part"),
    "shim/sessions/creation_report.cpp": ("describe_missing", "part"),
    "shim/transport/ofi/provider_warning.cpp": ("provider_warning", "warning"),
}
_ASSIGNED = {
    "shim/intercept/impl/request/composed.cpp": ("misfit_", "count"),
    "shim/sessions/creation_watch.cpp": ("state", "part"),
}
_NAME_ONLY = re.compile(r"\w+")
# Implementations that only tests use.
_FOR_TESTS = ("shim/transport/loop/", "shim/bootstrap/inmem/")
_BY_ERRNO = "by the system's error"


@dataclasses.dataclass(frozen=True, order=True)
class Message:
    """A text, its error class or kind of line, and the module that it comes from."""

    module: str
    text: str
    error_class: str


def _error_class(tokens: list[cpp.Token]) -> str | None:
    """Return the name after ErrorClass::, or None; `varies` if there are several."""
    names = [
        tokens[i + 2].text
        for i in range(len(tokens) - 2)
        if tokens[i].text == "ErrorClass" and tokens[i + 1].text == "::"
    ]
    if not names:
        return None
    return names[0].rstrip("_") if len(set(names)) == 1 else "varies"


def mpi_name(error_class: str) -> str:
    """Return the class as MPI names it."""
    if error_class in ("proc_failed", "proc_failed_pending", "revoked"):
        return f"`MPIX_ERR_{error_class.upper()}`"
    if error_class in ("varies", "warning", "error line", "prefix", "part", _BY_ERRNO):
        return error_class
    return f"`MPI_ERR_{error_class.upper()}`"


class _Source:
    """One source file."""

    def __init__(self, path: str, texts: Texts):
        self.path, self.texts, self.tokens = path, texts, texts.tokens

    def _found_in(self, opening: int) -> tuple[str, list[str]] | None:
        """Return (class, texts) if the brackets at `opening` hold a message."""
        name = cpp.callee(self.tokens, opening)
        inside = self.tokens[opening + 1 : cpp.closing(self.tokens, opening)]
        arguments = cpp.split(inside, ",")
        with_text = [part for part in arguments if any(token.kind == "text" for token in part)]
        first_text = with_text[0] if with_text else []
        kind: str | None = None
        text: list[cpp.Token] = arguments[-1]
        if self.tokens[opening - 2].text == "Error":  # the definition of a variable
            name = "Error"
        if _COMPLAINTS.get(self.path, {}).get(name) == len(arguments):
            kind = "warning"
        elif name in ("Error", "") and len(arguments) >= 2:
            kind = _error_class(arguments[0])
            if kind is None and (name == "Error" or _is_class_variable(arguments[0])):
                kind = "varies"
        elif name == "system_error" and len(arguments) == 2:
            kind = _BY_ERRNO
        elif name.endswith("_error") and arguments and _error_class(arguments[0]) is None:
            kind = "varies"
            text = first_text or arguments[-1]
        elif name in _MAKERS and with_text and not _is_name(with_text[-1]):
            kind, text = _MAKERS[name], with_text[-1]
        elif name == "fail_unsupported" and len(arguments) >= 3:
            kind = "unsupported_operation"
        elif name == "within":
            kind = "prefix"
        elif name in _PRINTED:
            kind, text = "error line", first_text
        elif name in _LOGGED:
            level = " ".join(token.text for token in arguments[0])
            if "LogLevel :: warn" in level or name == "warn" or level == "level":
                kind = "warning"
            elif "LogLevel :: error" in level:
                kind = "error line"
        if kind is None or not text:
            return None
        return kind, self.texts.texts(text, opening)

    def messages(self):
        """Yield (class, text)."""
        for index, token in enumerate(self.tokens):
            if token.kind != "mark" or token.text not in "({":
                continue
            kind, texts = self._found_in(index) or (None, [])
            for text in filter(_is_searchable, map(_shown, texts)):
                yield kind, text + ": …" if kind in ("prefix", _BY_ERRNO) else text
        function, kind = _RETURNED.get(self.path, ("", ""))
        returned = self.texts.returned(function) if function else ()
        for text in filter(_is_searchable, map(_shown, returned)):
            yield kind, text
        variable, kind = _ASSIGNED.get(self.path, ("", ""))
        for text in self.texts.assigned(variable) if variable else ():
            yield kind, _shown(text)


def _is_name(tokens: list[cpp.Token]) -> bool:
    """True if the expression is one text without a space, such as the name of a function."""
    return len(tokens) == 1 and bool(_NAME_ONLY.fullmatch(tokens[0].text))


def _is_class_variable(tokens: list[cpp.Token]) -> bool:
    """True if the expression is a variable or call that is named as an error class."""
    return bool(tokens) and any(token.text == "error_class" for token in tokens)


def _shown(text: str) -> str:
    """Return a text without values of printf and repeated marks of values."""
    text = re.sub("%[sdu]", VALUE, text)
    return re.sub("…(?:…)+", VALUE, " ".join(text.split()))


def _is_searchable(text: str) -> bool:
    """True if the text has enough letters to search for it."""
    return sum(letter.isalpha() for letter in text) >= 6


def _messages_of_module(module: str, sources: dict[str, str]) -> set[Message]:
    """Return the messages of the sources of a module, by path."""
    functions: dict[str, list[Texts]] = {}
    read = {
        path: Texts(cpp.tokens_of(source), functions) for path, source in sorted(sources.items())
    }
    for texts in read.values():
        for name in {each.name for each in texts.functions if each.is_text}:
            functions.setdefault(name, []).append(texts)
    found = {
        Message(module, text, kind)
        for path, texts in read.items()
        for kind, text in _Source(path, texts).messages()
    }
    with_class = {message.text for message in found if message.error_class != "varies"}
    found = {
        message
        for message in found
        if message.error_class != "varies" or message.text not in with_class
    }
    shown = "\n".join(message.text for message in found)
    for texts in read.values():
        for text in map(_shown, texts.left_out):
            if text not in shown and len(text.split()) >= 3:
                found.add(Message(module, text, "part"))
    return found


def messages_of(path: str, source: str) -> list[Message]:
    """Return the messages of one source, whose path is that from the top folder."""
    return sorted(_messages_of_module(path.split("/")[1], {path: source}), key=_order)


def _order(message: Message) -> tuple:
    return message.module, message.text.lstrip("…\"' ").lower(), message


def all_messages(top: pathlib.Path) -> list[Message]:
    """Return the messages of all modules, each once, sorted by module and text."""
    modules: dict[str, dict[str, str]] = {}
    for source in sorted((top / "shim").rglob("*")):
        path = source.relative_to(top).as_posix()
        if source.suffix in (".cpp", ".hpp") and not path.startswith(_FOR_TESTS):
            text = source.read_text(encoding="utf-8")
            modules.setdefault(path.split("/")[1], {})[path] = text
    found = [_messages_of_module(module, sources) for module, sources in modules.items()]
    return sorted(set().union(*found), key=_order)


def _cell(text: str) -> str:
    """Return text for a table cell, in which no character has a meaning of its own."""
    for mark, shown in (("\\", "\\\\"), ("|", "&#124;"), ("<", "&lt;"), ("*", "\\*"), ("_", "\\_")):
        text = text.replace(mark, shown)
    return re.sub(r"([\[\]`])", r"\\\1", text)


def read_notes(path: pathlib.Path) -> dict[str, str]:
    """Return the explanations by the part of a text that they belong to."""
    notes = tomllib.loads(path.read_text(encoding="utf-8")).get("note", [])
    return {each["text"]: " ".join(each["explanation"].split()) for each in notes}


_HEAD = """# Error and warning texts

<!-- Generated by scripts/docs from the sources and message_notes.toml; do not edit. -->

All texts of errors and warnings, by module. "…" stands for a value (a number, a name, an
address), "[a / b]" for alternatives, and "[a]" for a part that may be absent. To find a text,
search this page for a part of it without values.

An error text begins with the name of the MPI function that failed; `MPI_Error_string` of the code
that the function returned has the text as well. Warnings and error lines are written to standard
error and begin with `intersession[host:rank]`; `INTERSESSION_LOG` selects the lines that are
written ([settings](settings.md)). The column *class* has the error class, or

- *warning*, *error line*: a line on standard error, which ends no call;
- *prefix*: precedes the text of another error, and has the class of that error;
- *part*: a part of other texts, which are shown with "…" in its place;
- *by the system's error*: the text ends with the text of an `errno` value, which decides the class:
  `ENOMEM` is `MPI_ERR_NO_MEM`, `ENOSPC` is `MPI_ERR_NO_SPACE`, `EACCES` and `EPERM` are
  `MPI_ERR_ACCESS`, all others are `MPI_ERR_OTHER`;
- *varies*: the caller of the function that makes the error decides the class.

[Troubleshooting](troubleshooting.md) lists symptoms and remedies.
"""


def page(top: pathlib.Path) -> str:
    """Return docs/user/messages.md. Raise ValueError for a note whose text no message contains."""
    notes = read_notes(top / "docs/user/message_notes.toml")
    unused = set(notes)
    lines = [_HEAD]
    module = None
    for message in all_messages(top):
        if message.module != module:
            module = message.module
            lines += [f"\n## Module {module}\n", "| text | class | explanation |", "|---|---|---|"]
        fitting = [part for part in notes if part in message.text]
        unused.difference_update(fitting)
        explanation = " ".join(notes[part] for part in fitting)
        lines.append(f"| {_cell(message.text)} | {mpi_name(message.error_class)} | {explanation} |")
    if unused:
        quoted = ", ".join(f'"{part}"' for part in sorted(unused))
        raise ValueError(
            f"docs/user/message_notes.toml: no message contains {quoted}; adapt the note"
        )
    return "\n".join(lines).rstrip() + "\n"
