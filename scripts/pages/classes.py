# SPDX-License-Identifier: BSD-3-Clause
"""Counts the functions and data members of classes, for scripts/check-modules."""
import dataclasses
import re

from pages import cpp

# The head of a class definition; brackets occur in alignas(...) and in attributes.
_HEAD = re.compile(
    r"^(?P<indent>[ \t]*)(?:template <[^;{}]*>\s*)?(?:class|struct)\b"
    r"(?P<head>(?:[^;{}()=]|\([^()]*\))*)\{",
    re.MULTILINE,
)
_NO_NAME = re.compile(r"\balignas\([^()]*\)|\[\[.*?\]\]|\bfinal\b|(?<!:):(?!:).*", re.DOTALL)
_COMMENT = re.compile(r"[ \t]*//[^\n]*")
_NO_MEMBER = ("using", "typedef", "friend", "static_assert")
_TYPE = ("class", "struct", "union", "enum")
_ACCESS = ("public", "private", "protected")


@dataclasses.dataclass(frozen=True)
class Class:
    name: str
    comment: str  # the lines of comment above it
    functions: int
    members: int  # data members of each object


def classes_of(source: str) -> list[Class]:
    """Return the named classes that a source defines, also those inside others."""
    found = []
    for head in _HEAD.finditer(source):
        name = re.search(r"([\w:]+)[^\w]*$", _NO_NAME.sub("", head["head"]).split("<")[0])
        if not name:
            continue
        tokens = cpp.tokens_of(source[head.end() - 1 :])
        functions, members = _count(tokens[1 : cpp.closing(tokens, 0)])
        found.append(Class(name[1], _comment_above(source[: head.start()]), functions, members))
    return found


def _comment_above(text: str) -> str:
    lines = []
    for line in reversed(text.rstrip("\n").split("\n")):
        if not _COMMENT.fullmatch(line):
            break
        lines.append(line.strip())
    return "\n".join(reversed(lines))


def _count(tokens: list[cpp.Token]) -> tuple[int, int]:
    """Return the numbers of functions and data members in the body of a class."""
    functions = members = 0
    for words in _statements(tokens):
        kind = _kind_of(words)
        functions += kind == "function"
        if kind == "data":
            members += 1 + words.count(",")
    return functions, members


def _statements(tokens: list[cpp.Token]) -> list[list[str]]:
    """Split the body of a class into declarations.

    Each is a list of words and marks, in which "(", "[" and "{" stand for the whole bracket, "(*"
    for that of a pointer to a function. Template arguments are left out.
    """
    found, words, at = [], [], 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind != "mark":
            if token.text in _ACCESS and not words:
                at += 2  # the colon
                continue
            words.append(token.text)
        elif token.text in "([{":
            end = cpp.closing(tokens, at)
            is_pointer = token.text == "(" and at + 1 < end and tokens[at + 1].text == "*"
            words.append("(*" if is_pointer else token.text)
            following = tokens[end + 1].text if end + 1 < len(tokens) else ""
            if token.text == "{" and _kind_of(words) == "function" and following not in (",", "{"):
                found.append(words)
                words = []
            at = end
        elif token.text == "<" and words and re.match(r"\w", words[-1]) and words[-1] != "operator":
            at = _end_of_template(tokens, at)
        elif token.text == ";":
            if words:
                found.append(words)
            words = []
        else:
            words.append(token.text)
        at += 1
    return found


def _end_of_template(tokens: list[cpp.Token], opening: int) -> int:
    depth = 0
    for at in range(opening, len(tokens)):
        if tokens[at].kind == "mark" and tokens[at].text in "<>":
            depth += 1 if tokens[at].text == "<" else -1
            if depth == 0:
                return at
    return len(tokens)


def _kind_of(words: list[str]) -> str:
    """Return "function", "data", or "" for a declaration of neither."""
    while words and words[0] in ("[", "template", "alignas", "mutable"):
        words = words[2:] if words[0] == "alignas" else words[1:]
    if not words or words[0] in _NO_MEMBER:
        return ""
    if words[0] in _TYPE:
        if "{" not in words:
            return "data" if len(words) > 2 and ":" not in words else ""
        return "data" if words[-1] != "{" else ""
    if "operator" in words:
        return "function"
    before_value = re.split(r" = | \{", " ".join(words))[0].split()
    if "(" in before_value and "(*" not in before_value:
        return "function"
    return "" if "static" in words else "data"
