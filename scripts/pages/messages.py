# SPDX-License-Identifier: BSD-3-Clause
"""Lists the error and warning texts of the C++ sources (docs/user/messages.md).

A text is found where an error value is made (`Error(ErrorClass::x, text)`, in braces as well),
where system_error() or another function named `*_error` gets a text, where within() adds a prefix,
and where a warning or an error is logged or printed. A value that is known only at run time is
shown as "…", alternatives as "[a / b]".
"""
import dataclasses
import pathlib
import re
import tomllib

from . import cpp

_VALUE = "…"
_PRINTED = ("print_error", "end_job", "end_process", "fprintf")
_LOGGED = ("write", "say", "warn", "log")
_WRAPPERS = ("string", "string_view", "move", "forward", "c_str")
# `fail(position, text)` of the parser of process sets: its texts are parts of a warning.
_COMPLAINTS = {"shim/sessions/pset_text.cpp": "fail"}
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
    if error_class in ("varies", "warning", "error line", "prefix", _BY_ERRNO):
        return error_class
    return f"`MPI_ERR_{error_class.upper()}`"


class _Source:
    """One source file."""

    def __init__(self, path: str, tokens: list[cpp.Token]):
        self.path, self.tokens = path, tokens

    def _function_start(self, index: int) -> int:
        """Return the index after the last closing brace at the start of a line before `index`."""
        while index > 0 and not (
            self.tokens[index].text == "}" and self.tokens[index].is_at_line_start
        ):
            index -= 1
        return index

    def _text_of_variable(self, name: str, at: int, depth: int) -> str:
        """Return what is assigned and appended to a variable before the token `at`."""
        if depth > 2:
            return _VALUE
        found = ""
        start = self._function_start(at)
        for scope in (range(start, at), range(0, start)):
            for i in scope:
                if self.tokens[i].text != name or i + 1 >= len(self.tokens):
                    continue
                follows = i + 1
                if self.tokens[follows].text == "[" and self.tokens[follows + 1].text == "]":
                    follows += 2
                mark = self.tokens[follows].text
                if mark not in ("=", "+=") or self.tokens[follows + 1].text == "=":
                    continue
                if scope.start == 0 and scope.stop == start and not name.startswith("k"):
                    continue
                end = follows + 1
                while end < len(self.tokens) and self.tokens[end].text not in (";", "}"):
                    end = (
                        cpp.closing(self.tokens, end)
                        if self.tokens[end].text in ("(", "{", "[")
                        else end
                    )
                    end += 1
                piece = self.render(self.tokens[follows + 1 : end], i, depth + 1)
                found = found + piece if mark == "+=" or (found and piece not in found) else piece
            if found:
                break
        return found if any(letter.isalpha() for letter in found) else _VALUE

    def render(self, tokens: list[cpp.Token], at: int, depth: int = 0) -> str:
        """Return the text that an expression makes."""
        while tokens and tokens[0].text in "({" and cpp.closing(tokens, 0) == len(tokens) - 1:
            tokens = tokens[1:-1]
        choice = cpp.split(tokens, "?")
        if len(choice) > 1:
            branches = cpp.split(tokens[len(choice[0]) + 1 :], ":")
            if len(branches) == 2:
                shown = [self.render(branch, at, depth) for branch in branches]
                if not any(letter.isalpha() for text in shown for letter in text):
                    return _VALUE
                return "[" + " / ".join(text.strip() for text in shown if text.strip()) + "]"
            return _VALUE
        parts = cpp.split(tokens, "+")
        if len(parts) > 1:
            return "".join(self.render(part, at, depth) for part in parts)
        if tokens and all(token.kind == "text" for token in tokens):
            return "".join(token.text for token in tokens)
        words = [token for token in tokens if token.text not in ("std", "::")]
        opening = next((i for i, token in enumerate(words) if token.text in "({"), None)
        if (
            opening
            and words[opening - 1].text in _WRAPPERS
            and cpp.closing(words, opening) == len(words) - 1
        ):
            return self.render(words[opening + 1 : -1], at, depth)
        if len(words) == 1 and words[0].kind == "word":
            return self._text_of_variable(words[0].text, at, depth)
        return _VALUE

    def _found_in(self, opening: int) -> tuple[str, str] | None:
        """Return (class, text) if the brackets at `opening` hold a message."""
        name = cpp.callee(self.tokens, opening)
        inside = self.tokens[opening + 1 : cpp.closing(self.tokens, opening)]
        arguments = cpp.split(inside, ",")
        kind: str | None = None
        text: list[cpp.Token] = arguments[-1]
        if name in ("Error", "") and len(arguments) >= 2:
            kind = _error_class(arguments[0])
            if kind is None and name == "Error":
                kind = "varies"
        elif name == "system_error" and len(arguments) == 2:
            kind = _BY_ERRNO
        elif name.endswith("_error") and arguments and _error_class(arguments[0]) is None:
            kind = "varies"
            text = next(
                (part for part in arguments if any(token.kind == "text" for token in part)), []
            )
        elif name in ("fail", "fail_unsupported") and len(arguments) >= 3:
            kind = "unsupported_operation" if name == "fail_unsupported" else None
        elif name == "within":
            kind = "prefix"
        elif name in _PRINTED:
            kind = "error line"
            text = next(
                (part for part in arguments if any(token.kind == "text" for token in part)), []
            )
        elif name in _LOGGED:
            level = " ".join(token.text for token in arguments[0])
            if "LogLevel :: warn" in level or name == "warn" or level == "level":
                kind = "warning"
            elif "LogLevel :: error" in level:
                kind = "error line"
        if kind is None and name == _COMPLAINTS.get(self.path) and len(arguments) == 2:
            kind = "warning"
        if kind is None or not text:
            return None
        return kind, self.render(text, opening)

    def messages(self):
        """Yield (class, text)."""
        for index, token in enumerate(self.tokens):
            if token.kind != "mark" or token.text not in "({":
                continue
            found = self._found_in(index)
            if found is None:
                continue
            kind, text = found
            text = re.sub("…(?:…)+", _VALUE, " ".join(re.sub("%[sdu]", _VALUE, text).split()))
            if sum(letter.isalpha() for letter in text) < 6:
                continue
            if kind == "prefix":
                text += ": …"
            elif kind == _BY_ERRNO:
                text += ": …"
            yield kind, text


def messages_of(path: str, source: str) -> list[Message]:
    """Return the messages of one source, whose path is that from the top folder."""
    module = path.split("/")[1]
    return [
        Message(module, text, kind)
        for kind, text in _Source(path, cpp.tokens_of(source)).messages()
    ]


def all_messages(top: pathlib.Path) -> list[Message]:
    """Return the messages of all modules, each once, sorted by module and text."""
    found: set[Message] = set()
    for source in sorted((top / "shim").rglob("*")):
        path = source.relative_to(top).as_posix()
        if source.suffix in (".cpp", ".hpp") and not path.startswith(_FOR_TESTS):
            found.update(messages_of(path, source.read_text(encoding="utf-8")))
    return sorted(found, key=lambda each: (each.module, each.text.lstrip("…\"' ").lower(), each))


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
address), "[a / b]" for alternatives. To find a text, search this page for a part of it without
values.

An error text begins with the name of the MPI function that failed; `MPI_Error_string` of the code
that the function returned has the text as well. Warnings and error lines are written to standard
error and begin with `intersession[host:rank]`; `INTERSESSION_LOG` selects the lines that are
written ([settings](settings.md)). The column *class* has the error class, or

- *warning*, *error line*: a line on standard error, which ends no call;
- *prefix*: precedes the text of another error, and has the class of that error;
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
