# SPDX-License-Identifier: BSD-3-Clause
"""Splits C++ sources into tokens, to find calls and their string literals."""
import dataclasses
import re

_TOKEN = re.compile(
    r"""
      (?P<space>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.)*)
    | (?P<raw>R"(?P<mark>[^(\s]*)\((?P<body>.*?)\)(?P=mark)")
    | (?P<text>(?:u8)?"(?:[^"\\\n]|\\.)*")
    | (?P<char>'(?:[^'\\\n]|\\.)+')
    | (?P<word>[A-Za-z_]\w*)
    | (?P<number>\d(?:[\w.]|'(?=\w))*)
    | (?P<mark_>::|->|\+=|[^\s\w])
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_ESCAPE = re.compile(r"\\(n|t|\\|\"|'|0|x[0-9a-fA-F]+)")
_OPEN, _CLOSE = "([{", ")]}"


@dataclasses.dataclass(frozen=True)
class Token:
    """A token: text (a string literal, `text` is its value), word, number, char or mark."""

    kind: str
    text: str
    is_at_line_start: bool = False


def _value(literal: str) -> str:
    """Return the characters that a string literal stands for; line breaks become spaces."""
    body = literal[literal.index('"') + 1 : -1]
    return _ESCAPE.sub(lambda found: " " if found[1] in "nt0" else found[1], body)


def tokens_of(source: str) -> list[Token]:
    """Return the tokens without comments and preprocessor lines."""
    tokens = []
    for found in _TOKEN.finditer(source):
        kind = found.lastgroup
        if found["space"] is not None:
            continue
        at_start = found.start() == 0 or source[found.start() - 1] == "\n"
        if found["raw"] is not None:
            tokens.append(Token("text", " ".join(found["body"].split()), at_start))
        elif found["text"] is not None:
            tokens.append(Token("text", _value(found[0]), at_start))
        else:
            tokens.append(Token((kind or "").rstrip("_"), found[0], at_start))
    return tokens


def closing(tokens: list[Token], opening: int) -> int:
    """Return the index of the bracket that closes the one at `opening`, or the number of tokens."""
    depth = 0
    for index in range(opening, len(tokens)):
        if tokens[index].kind != "mark":
            continue
        if tokens[index].text in _OPEN:
            depth += 1
        elif tokens[index].text in _CLOSE:
            depth -= 1
            if depth == 0:
                return index
    return len(tokens)


def split(tokens: list[Token], mark: str) -> list[list[Token]]:
    """Split at each `mark` that is in no brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        if token.kind == "mark" and depth == 0 and token.text == mark:
            parts.append([])
            continue
        if token.kind == "mark" and token.text in _OPEN:
            depth += 1
        elif token.kind == "mark" and token.text in _CLOSE:
            depth -= 1
        parts[-1].append(token)
    return parts


def callee(tokens: list[Token], opening: int) -> str:
    """Return the name before the bracket at `opening`, without namespaces; may be empty."""
    if opening == 0 or tokens[opening - 1].kind != "word" or tokens[opening - 1].text == "return":
        return ""
    return tokens[opening - 1].text
