# SPDX-License-Identifier: BSD-3-Clause
"""Renders C++ expressions that make texts.

Values are shown as "…", alternatives as "[a / b]", a part that may be absent as "[a]".

The renderer follows local variables, functions that return a text, and parameters: a parameter has
the texts that calls in the same file pass for it.
"""

import dataclasses

from . import cpp

VALUE = "…"
_WRAPPERS = ("string", "string_view", "move", "forward", "c_str")
_NO_FUNCTIONS = ("if", "for", "while", "switch", "catch", "return", "sizeof", "decltype", "alignas")
_AFTER_PARAMETERS = ("const", "noexcept", "override", "final", "mutable")
# Levels of variables, functions and parameters that are followed.
_MAX_DEPTH = 6
# A function with several texts is rendered in place up to this length of all texts.
_MAX_IN_PLACE = 90


@dataclasses.dataclass(frozen=True)
class Function:
    """A function or named lambda of a file. body: its range of tokens, with the braces."""

    name: str
    parameters: tuple[str, ...]
    body: range
    is_text: bool  # it returns a string, or is a lambda


def has_words(text: str) -> bool:
    """True if the text has a letter."""
    return any(letter.isalpha() for letter in text)


def alternatives(shown: list[str]) -> str:
    """Return alternatives as one text; an empty one makes the others a part that may be absent.

    Outer spaces that all alternatives have stay outside.
    """
    texts = list(dict.fromkeys(text for text in shown if text.strip()))
    if len(texts) < 2 and len(texts) == len(set(shown)):
        return texts[0] if texts else ""
    before = " " if all(text.startswith(" ") for text in texts) else ""
    after = " " if all(text.endswith(" ") for text in texts) else ""
    return before + "[" + " / ".join(text.strip() for text in texts) + "]" + after


def _body_after(tokens: list[cpp.Token], index: int) -> int | None:
    """Return the index of the opening brace of a body after parameters, or None."""
    while index < len(tokens) and tokens[index].text in _AFTER_PARAMETERS:
        index += 1
    if index < len(tokens) and tokens[index].text == "->":
        while index < len(tokens) and tokens[index].text not in ("{", ";", "}", ")"):
            index += 1
    return index if index < len(tokens) and tokens[index].text == "{" else None


def _parameters(tokens: list[cpp.Token]) -> tuple[str, ...]:
    """Return the names of parameters, without default values."""
    names = []
    for part in cpp.split(tokens, ","):
        words = [each.text for each in cpp.split(part, "=")[0] if each.kind == "word"]
        names.append(words[-1] if words else "")
    return tuple(names)


def _returns_text(tokens: list[cpp.Token], name: int) -> bool:
    """True if the type before the function's name is a string, or optional string."""
    before = name - 1
    while before > 1 and tokens[before].text == "::":
        before -= 2
    shown = [each.text for each in tokens[max(0, before - 3) : before + 1]]
    return bool(
        shown
        and (
            shown[-1] in ("string", "string_view")
            or shown[-2:] == ["char", "*"]
            or (shown[-1] == ">" and shown[-2:-1] == ["string"])
        )
    )


def functions_of(tokens: list[cpp.Token]) -> list[Function]:
    """Return the functions that are defined in a file, and its named lambdas."""
    found = []
    for index, token in enumerate(tokens):
        if token.kind != "mark" or index == 0:
            continue
        if token.text == "(" and tokens[index - 1].kind == "word":
            name, opening, is_text = index - 1, index, _returns_text(tokens, index - 1)
            if tokens[name].text in _NO_FUNCTIONS:
                continue
        elif token.text == "[" and index > 1 and tokens[index - 1].text == "=":
            name, opening, is_text = index - 2, cpp.closing(tokens, index) + 1, True
        else:
            continue
        parameters: tuple[str, ...] = ()
        after = opening
        if opening < len(tokens) and tokens[opening].text == "(":
            after = cpp.closing(tokens, opening) + 1
            parameters = _parameters(tokens[opening + 1 : after - 1])
        body = _body_after(tokens, after)
        if body is not None:
            end = cpp.closing(tokens, body) + 1
            found.append(Function(tokens[name].text, parameters, range(body, end), is_text))
    return found


class Texts:
    """The texts of one source file."""

    def __init__(self, tokens: list[cpp.Token], module: "dict[str, list[Texts]] | None" = None):
        self.tokens = tokens
        self.functions = functions_of(tokens)
        # By name: the files of the module with a function of this name that returns a text.
        self._module = module if module is not None else {}
        self._followed: set[tuple[int, str]] = set()
        # Texts of functions and parameters that are too long to be rendered in place.
        self.left_out: set[str] = set()

    def _function_start(self, index: int) -> int:
        """Return the index after the last closing brace at the start of a line before `index`."""
        while index > 0 and not (
            self.tokens[index].text == "}" and self.tokens[index].is_at_line_start
        ):
            index -= 1
        return index

    def _text_of_variable(self, name: str, at: int, depth: int) -> str:
        """Return what is assigned and appended to a variable before the token `at`, or VALUE."""
        found = ""
        start = self._function_start(at)
        for scope in (range(start, at), range(0, start)):
            for i in scope:
                if self.tokens[i].text != name or i + 1 >= len(self.tokens):
                    continue
                follows = i + 1
                if i > 1 and self.tokens[i - 2].text == "back_inserter":
                    found += VALUE
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
                if mark == "+=" and self._is_conditional(i):
                    piece = alternatives([piece, ""])
                found = found + piece if mark == "+=" or (found and piece not in found) else piece
            if found:
                break
        return found if has_words(found) else VALUE

    def _is_conditional(self, index: int) -> bool:
        """True if the statement at `index` is the branch of an if without braces."""
        if index == 0 or self.tokens[index - 1].text != ")":
            return False
        opening = next(
            (i for i in range(index - 2, 0, -1) if cpp.closing(self.tokens, i) == index - 1), 0
        )
        return cpp.callee(self.tokens, opening) == "if"

    def _texts_of_parameter(self, name: str, at: int, depth: int) -> list[str]:
        """Return the texts that calls in this file pass for a parameter of the function at `at`."""
        inside = [each for each in self.functions if at in each.body and name in each.parameters]
        if not inside or (id(self), name) in self._followed:
            return []
        function = min(inside, key=lambda each: len(each.body))
        position = function.parameters.index(name)
        self._followed.add((id(self), name))
        found = []
        for index, token in enumerate(self.tokens):
            if token.text != "(" or cpp.callee(self.tokens, index) != function.name:
                continue
            arguments = cpp.split(self.tokens[index + 1 : cpp.closing(self.tokens, index)], ",")
            if index + 1 not in function.body and _is_call(self.tokens, index):
                if position < len(arguments):
                    found += self.texts(arguments[position], index, depth + 1)
        self._followed.discard((id(self), name))
        return _if_any_has_words(found)

    def returned(self, name: str, depth: int = 0) -> list[str]:
        """Return the texts that a function of this file or of its module returns."""
        if (id(self), name) in self._followed:
            return []
        own = [each for each in self.functions if each.name == name and each.is_text]
        if not own:
            others = [each for each in self._module.get(name, []) if each is not self]
            return others[0].returned(name, depth) if len(others) == 1 else []
        self._followed.add((id(self), name))
        found = []
        for function in own:
            for index in function.body:
                if self.tokens[index].text != "return":
                    continue
                end = index + 1
                while self.tokens[end].text not in (";", "}"):
                    if self.tokens[end].text in ("(", "{", "["):
                        end = cpp.closing(self.tokens, end)
                    end += 1
                result = self.tokens[index + 1 : end]
                if [each.text for each in result if each.kind != "mark"] not in _NOTHING:
                    found += self.texts(result, index, depth + 1)
        self._followed.discard((id(self), name))
        return _if_any_has_words(found)

    def assigned(self, name: str) -> list[str]:
        """Return the texts that are assigned to a variable anywhere in the file."""
        found = []
        for index, token in enumerate(self.tokens[:-1]):
            if token.text == name and self.tokens[index + 1].text == "=":
                end = next(i for i in range(index, len(self.tokens)) if self.tokens[i].text == ";")
                found += self.texts(self.tokens[index + 2 : end], index)
        return [text for text in dict.fromkeys(found) if has_words(text)]

    def _called(self, tokens: list[cpp.Token]) -> str:
        """Return the name of the function if the expression is one call, or an empty text.

        Calls of other objects and of functions of other modules do not count.
        """
        if not tokens or tokens[-1].text != ")":
            return ""
        opening = next(
            (i for i, t in enumerate(tokens) if t.text == "(" and _closes_last(tokens, i)), 0
        )
        qualifier = [each.text for each in tokens[: max(opening - 1, 0)]]
        is_own = not qualifier or (len(qualifier) == 1 and qualifier[0][:1].isupper())
        return cpp.callee(tokens, opening) if opening and is_own else ""

    def texts(self, tokens: list[cpp.Token], at: int, depth: int = 0) -> list[str]:
        """Return the texts that an expression makes; more than one if it only selects them."""
        tokens = _bare(tokens)
        if depth <= _MAX_DEPTH:
            if name := self._called(tokens):
                if several := self.returned(name, depth):
                    return several
            elif len(tokens) == 1 and tokens[0].kind == "word":
                text = self._text_of_variable(tokens[0].text, at, depth)
                if not has_words(text):
                    if several := self._texts_of_parameter(tokens[0].text, at, depth):
                        return several
                if initial := self._initial_call(tokens[0].text, at):
                    return self.texts(initial, at, depth + 1)
        return [self.render(tokens, at, depth)]

    def _initial_call(self, name: str, at: int) -> list[cpp.Token]:
        """Return the call that initialises a variable to which nothing is appended."""
        found: list[list[cpp.Token]] = []
        for i in range(self._function_start(at), at):
            if self.tokens[i].text == name and self.tokens[i + 1].text in ("=", "+="):
                end = i + 2
                while self.tokens[end].text not in (";", ")", "}"):
                    if self.tokens[end].text in ("(", "{", "["):
                        end = cpp.closing(self.tokens, end)
                    end += 1
                found.append(self.tokens[i + 2 : end])
        return found[0] if len(found) == 1 and self._called(_bare(found[0])) else []

    def render(self, tokens: list[cpp.Token], at: int, depth: int = 0) -> str:
        """Return the text that an expression makes."""
        tokens = _bare(tokens)
        if depth > _MAX_DEPTH:
            return VALUE
        choice = cpp.split(tokens, "?")
        if len(choice) > 1:
            branches = cpp.split(tokens[len(choice[0]) + 1 :], ":")
            if len(branches) == 2:
                shown = [self.render(branch, at, depth) for branch in branches]
                return alternatives(shown) if has_words("".join(shown)) else VALUE
            return VALUE
        parts = cpp.split(tokens, "+")
        if len(parts) > 1:
            return "".join(self.render(part, at, depth) for part in parts)
        if tokens and all(token.kind == "text" for token in tokens):
            return "".join(token.text for token in tokens)
        if len(tokens) == 1 and tokens[0].kind == "word":
            text = self._text_of_variable(tokens[0].text, at, depth)
            if has_words(text):
                return text
            return self._in_place(self._texts_of_parameter(tokens[0].text, at, depth))
        if name := self._called(tokens):
            return self._in_place(self.returned(name, depth))
        return VALUE

    def _in_place(self, several: list[str]) -> str:
        """Return the texts as alternatives, or VALUE if they are too long."""
        if not several:
            return VALUE
        if len(several) == 1 or sum(map(len, several)) <= _MAX_IN_PLACE:
            return alternatives(several)
        self.left_out.update(several)
        return VALUE


# Results of functions that mean no text.
_NOTHING = ([], ["std", "nullopt"], [""])


def _if_any_has_words(texts: list[str]) -> list[str]:
    """Return the texts, each once, or nothing if all are values."""
    return list(dict.fromkeys(texts)) if any(map(has_words, texts)) else []


def _closes_last(tokens: list[cpp.Token], opening: int) -> bool:
    return cpp.closing(tokens, opening) == len(tokens) - 1


def _is_call(tokens: list[cpp.Token], opening: int) -> bool:
    """True if the brackets are those of a call, not of a definition or declaration."""
    return _body_after(tokens, cpp.closing(tokens, opening) + 1) is None


def _bare(tokens: list[cpp.Token]) -> list[cpp.Token]:
    """Return the expression without outer brackets, dereferences, and conversions to a string."""
    while True:
        tokens = [token for token in tokens if token.text not in ("std", "::")]
        if tokens and tokens[0].text in "({" and _closes_last(tokens, 0):
            tokens = tokens[1:-1]
        elif len(tokens) > 1 and tokens[0].text == "*":
            tokens = tokens[1:]
        elif len(tokens) > 1 and tokens[0].text in _WRAPPERS and _closes_last(tokens, 1):
            tokens = tokens[2:-1]
        else:
            return tokens
