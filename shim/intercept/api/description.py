# SPDX-License-Identifier: BSD-3-Clause
"""Parses the API description mpi_api.txt, checks it, and represents each function as an object."""

import collections
import dataclasses
import re

import kinds

ROUTES = {"by_handle", "by_deref", "array", "by_fint", "ours", "state", "native", "tool"}
FLAGS = {
    "impl",
    "collective",
    "always",
    "inactive",
    "local",
    "anytime",
    "composed",
    "among",
    "large",
    "hot",
    "polled",
    "removed",
    "served",
    "waits",
}
REACHES = {"", "peers", "neighbors", "root"}
RETURN_TYPES = {"int", "double", "MPI_Aint", "MPI_Fint"} | {
    kind.c_type for kind in kinds.HANDLES.values()
}


class DescriptionError(Exception):
    """An error in the description, with its line number."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    declaration: str  # as in C: "const int counts[]"
    kind: str

    @property
    def name(self):
        """The parameter's name; empty for the dots of a variadic function."""
        match = re.search(r"(\w+)(\[[^;]*\])?$", self.declaration)
        return match.group(1) if match else ""

    @property
    def c_type(self):
        """The declaration without the name: "const int []"."""
        return (
            re.sub(r"\b%s\b(?=(\[.*)?$)" % self.name, "", self.declaration).strip()
            if self.name
            else self.declaration
        )

    @property
    def is_variadic(self):
        return self.declaration == "..."

    @property
    def is_scalar(self):
        return "*" not in self.declaration and "[" not in self.declaration

    @property
    def is_handle_array(self):
        return self.handle is not None and "[" in self.declaration

    @property
    def handle(self):
        """The kind of handle that this is, contains or points to; None if there is none."""
        return kinds.HANDLES.get(self.kind)


@dataclasses.dataclass(frozen=True)
class Function:
    name: str  # without the prefix
    returns: str
    section: str
    since: str
    route: str
    route_arguments: tuple
    flags: frozenset
    removed: str
    among: str
    collective: str  # template that implements this collective; empty for all other functions
    parameters: tuple
    polled: tuple = ()  # function to poll instead of blocking, and its flag parameter
    is_large: bool = False
    started_as: object = None  # the non-blocking function that begins the same operation
    made_of: object = None  # function that composes this one if the native library lacks it
    is_extension: bool = False  # MPIX_: an extension of this library, in no standard

    def parameter(self, name):
        return next(p for p in self.parameters if p.name == name)

    @property
    def mpi_name(self):
        return ("MPIX_" if self.is_extension else "MPI_") + self.name

    @property
    def signature_parameters(self):
        return ", ".join(p.declaration for p in self.parameters) or "void"

    @property
    def signature_type(self):
        return "%s(%s)" % (self.returns, ", ".join(p.c_type for p in self.parameters))

    @property
    def arguments(self):
        return ", ".join(p.name for p in self.parameters if not p.is_variadic)

    @property
    def has_impl(self):
        return "impl" in self.flags or bool(self.collective)

    @property
    def has_inactive_impl(self):
        return "inactive" in self.flags

    @property
    def inactive_namespace(self):
        """Namespace of the implementation for an inactive native library; None if there is none."""
        return (
            "impl"
            if "always" in self.flags
            else "impl_when_inactive"
            if self.has_inactive_impl
            else None
        )

    @property
    def is_local(self):
        """True if the call on MPI_COMM_WORLD needs no communicator that serves it."""
        return "local" in self.flags

    @property
    def has_served_impl(self):
        """True if a hand-written function serves it while Intersession serves the world model."""
        return "served" in self.flags

    @property
    def world_comms(self):
        """The communicators by value, which may be MPI_COMM_WORLD or MPI_COMM_SELF.

        Empty for a conversion, whose result belongs to the predefined handle itself.
        """
        if self.returns != "int":
            return []
        return [p for p in self.parameters if p.kind == "COMMUNICATOR" and p.is_scalar]

    @property
    def is_composed(self):
        """True if a hand-written function composes it for native libraries that lack it."""
        return "composed" in self.flags

    @property
    def waits_for_others(self):
        """True if it may block in the native library until other processes call it, too."""
        return "waits" in self.flags or (
            bool(self.collective) and all(p.kind != "REQUEST" for p in self.parameters)
        )

    @property
    def is_anytime(self):
        return "anytime" in self.flags

    @property
    def deciding(self):
        """The parameters whose handles select Intersession or the native library for the call."""
        if self.route in ("by_handle", "by_deref"):
            return [self.parameter(name) for name in self.route_arguments]
        return (
            [self.parameter(self.route_arguments[0])] if self.route in ("array", "by_fint") else []
        )

    @property
    def other_handles(self):
        """Handles by value that do not select the library.

        Before a call is forwarded each of them is replaced by its native handle, or refused.
        """
        deciding = {p.name for p in self.deciding}
        return [p for p in self.parameters if p.handle and p.is_scalar and p.name not in deciding]

    @property
    def other_arrays(self):
        """Input arrays of handles that do not select the library; `among` gives their length."""
        deciding = {p.name for p in self.deciding}
        return [
            p
            for p in self.parameters
            if p.is_handle_array and p.declaration.startswith("const ") and p.name not in deciding
        ]

    def of_kind(self, *some_kinds):
        """Return the first parameter of one of these kinds."""
        return next(p for p in self.parameters if p.kind in some_kinds)

    @property
    def subject(self):
        """The parameter whose error handler handles errors; None: the initial error handler."""
        deciding = self.deciding
        for kind in kinds.SUBJECTS:
            for p in self.parameters:
                if p.kind == kind and (p.is_scalar or (p in deciding and not p.is_handle_array)):
                    return p
        return None


def _parse_flags(text, where):
    flags, arguments = set(), {}
    for word in text.split():
        match = re.fullmatch(r"(\w+)(?:\(([\w.,]*)\))?", word)
        if not match or match.group(1) not in FLAGS:
            raise DescriptionError("%s: unknown flag %s" % (where, word))
        flags.add(match.group(1))
        arguments[match.group(1)] = match.group(2) or ""
    return flags, arguments


def _parse_head(line, where):
    fields = [field.strip() for field in line.split("|")]
    if len(fields) not in (4, 5):
        raise DescriptionError("%s: needs name, section, since and route" % where)
    name, section, since, route = fields[:4]
    name, _, returns = (part.strip() for part in name.partition("->"))
    match = re.fullmatch(r"(\w+)(?:\(([\w,]+)\))?", route)
    if not match or match.group(1) not in ROUTES:
        raise DescriptionError("%s: unknown route %s" % (where, route))
    prefix = re.match(r"MPIX?_", name)
    if (
        not prefix
        or not re.fullmatch(r"\d+(\.\d+)*", section)
        or not re.fullmatch(r"\d\.\d", since)
    ):
        raise DescriptionError("%s: bad name, section or version" % where)
    arguments = tuple((match.group(2) or "").split(",")) if match.group(2) else ()
    flags, flag_arguments = _parse_flags(fields[4] if len(fields) == 5 else "", where)
    return (
        dict(
            name=name[prefix.end() :],
            is_extension=prefix.group() == "MPIX_",
            returns=returns or "int",
            section=section,
            since=since,
            route=match.group(1),
            route_arguments=arguments,
            flags=frozenset(flags),
            removed=flag_arguments.get("removed", ""),
            among=flag_arguments.get("among", ""),
            collective=flag_arguments.get("collective", ""),
            polled=tuple(filter(None, flag_arguments.get("polled", "").split(","))),
        ),
        flag_arguments,
    )


def _parse_parameters(text, where):
    parameters = []
    for piece in filter(None, (piece.strip() for piece in text.split(";"))):
        declaration, separator, kind = piece.rpartition(" : ")
        if not separator or not re.fullmatch(r"[A-Z0-9_]+", kind):
            raise DescriptionError("%s: parameter without kind: %s" % (where, piece))
        parameters.append(Parameter(declaration.strip(), kind))
    return tuple(parameters)


def _check(function, where):
    names = {p.name for p in function.parameters}
    for argument in function.route_arguments:
        if argument not in names:
            raise DescriptionError("%s: no parameter %s" % (where, argument))
    if function.returns not in RETURN_TYPES:
        raise DescriptionError("%s: unknown return type %s" % (where, function.returns))
    counts = {
        "array": 2,
        "by_deref": 1,
        "by_fint": 1,
        "ours": 0,
        "state": 0,
        "native": 0,
        "tool": 0,
    }
    expected = counts.get(function.route)
    if expected is not None and len(function.route_arguments) != expected:
        raise DescriptionError(
            "%s: route %s takes %d parameters" % (where, function.route, expected)
        )
    if function.route == "by_handle" and not function.route_arguments:
        raise DescriptionError("%s: route by_handle needs a parameter" % where)
    for p in function.deciding:
        if p.handle is None and function.route != "by_fint":
            raise DescriptionError("%s: %s is no handle" % (where, p.name))
    if function.among not in REACHES or bool(function.other_arrays) != bool(function.among):
        raise DescriptionError(
            "%s: among(…) goes with arrays of handles that do not decide" % where
        )
    if function.has_impl and function.route in ("native", "tool"):
        raise DescriptionError("%s: impl has no effect on the route %s" % (where, function.route))
    if "collective" in function.flags and not function.collective:
        raise DescriptionError("%s: collective(…) names what it calls" % where)
    if len(function.flags & {"always", "inactive", "anytime"}) > 1:
        raise DescriptionError("%s: always, inactive and anytime exclude each other" % where)
    if function.is_composed and function.route in ("ours", "state", "tool"):
        raise DescriptionError(
            "%s: composed has no effect on the route %s" % (where, function.route)
        )
    if "always" in function.flags and not function.has_impl:
        raise DescriptionError("%s: always needs impl" % where)
    if "local" in function.flags and "inactive" not in function.flags:
        raise DescriptionError("%s: local needs inactive" % where)
    return function


def _large(function, flag_text):
    """Return MPI_X_c, the form of MPI_X with large counts."""
    parameters = tuple(
        Parameter(kinds.large_declaration(p.declaration, p.kind), p.kind)
        for p in function.parameters
    )
    flags = frozenset(filter(None, flag_text.split(",")))
    made_of = (
        None
        if any(p.kind == "POLYFUNCTION" for p in parameters) or function.route == "ours"
        else function
    )
    return dataclasses.replace(
        function,
        name=function.name + "_c",
        since=max(function.since, "4.0"),
        flags=flags,
        parameters=parameters,
        is_large=True,
        polled=(),
        made_of=made_of,
    )


def _nonblocking(name):
    """Return the standard's name of the non-blocking form of a function."""
    return "I" + name[0].lower() + name[1:]


def _with_begun_forms(functions):
    """Link each blocking function MPI_X to its non-blocking form MPI_Ix.

    MPI_Ix has the parameters of MPI_X without status, and a request. Collectives are left out,
    because a blocking collective does not match a non-blocking one (MPI-4.1 §6.12).
    """
    by_name = {f.name: f for f in functions}
    for f in functions:
        other = by_name.get(_nonblocking(f.name))
        if f.collective or other is None or other.parameters[-1].kind != "REQUEST":
            continue
        if [p.name for p in other.parameters[:-1]] == [
            p.name for p in f.parameters if p.kind != "STATUS"
        ]:
            by_name[f.name] = dataclasses.replace(f, started_as=other)
    return [by_name[f.name] for f in functions]


def _with_nonblocking(functions):
    """Link each persistent collective MPI_X_init to MPI_Ix, of which it can be composed."""
    by_name = {f.name: f for f in functions}
    for f in functions:
        base, _, ending = f.name.rpartition("_")
        if ending == "init" and [p.kind for p in f.parameters[-2:]] == ["INFO", "REQUEST"]:
            by_name[f.name] = dataclasses.replace(f, made_of=by_name.get(_nonblocking(base)))
    for f in functions:  # large forms refer to the linked small forms
        if f.made_of is not None and f.is_large:
            by_name[f.name] = dataclasses.replace(f, made_of=by_name[f.made_of.name])
    return [by_name[f.name] for f in functions]


def parse(text, file_name="mpi_api.txt"):
    """Return (functions, {chapter: title}); functions in the standard's order, with large forms."""
    functions, chapters, entries = [], {}, []
    for number, line in enumerate(text.splitlines(), 1):
        where = "%s:%d" % (file_name, number)
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("== "):
            chapter, _, title = line[3:].partition(" ")
            chapters[chapter] = title
        elif line.startswith(" "):
            if not entries:
                raise DescriptionError("%s: parameters without a function" % where)
            entries[-1][2].append(line)
        else:
            entries.append((where, line, []))
    for where, head, lines in entries:
        fields, flag_arguments = _parse_head(head, where)
        function = Function(parameters=_parse_parameters(" ".join(lines), where), **fields)
        functions.append(_check(function, where))
        if "large" in flag_arguments:
            functions.append(_check(_large(function, flag_arguments["large"]), where))
    for name, count in collections.Counter(function.name for function in functions).items():
        if count != 1:
            raise DescriptionError("%s: MPI_%s is there twice" % (file_name, name))
    return _with_nonblocking(_with_begun_forms(functions)), chapters
