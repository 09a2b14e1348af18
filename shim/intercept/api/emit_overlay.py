# SPDX-License-Identifier: BSD-3-Clause
"""The mpi.h for programs written to MPI-4.1 over a library that is older: its own header and, after it, what that lacks.

It is made with one header at hand and stands in front of others of the same family, older or newer."""

from emit import NOTICE

# The oldest standard that a header in front of which the overlay stands may be of.
OLDEST = "3.0"
_UNTIL = "until"


class OverlayError(Exception):
    """A row of the overlay's table that is not understood."""


def parse_rows(text):
    """The table as (word, name, value) tuples."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 4 or fields[0] not in (*_ROWS, _UNTIL):
            raise OverlayError("overlay table, line %d: needs word, name, value and source" % number)
        rows.append(tuple(fields[:3]))
    return rows


def _constant(name, value):
    return ["#ifndef %s" % name, "#define %s %s" % (name, value), "#endif"]


def _type(name, value):
    """A typedef; for a pointer to a function the name stands inside the type."""
    if "(*)" in value:
        return ["typedef %s;" % value.replace("(*)", "(*%s)" % name, 1)]
    return ["typedef %s%s;" % (value if value.endswith("*") else value + " ", name)]


def _callback(name, value):
    returns, _, parameters = value.partition(" ")
    return ["typedef %s (%s)%s;" % (returns, name, parameters)]


def _pointer(name, value):
    c_type, _, number = value.rpartition(" ")
    return _constant(name, "((%s) %s)" % (c_type, number))


def _enum(name, value):
    return ["typedef enum { %s } %s;" % (", ".join(item.replace(" ", " = ") for item in value.split(", ")), name)]


def _object(name, value):
    c_type, structure, symbol, _ = value.split()
    return ["extern struct %s %s;" % (structure, symbol)] + _constant(name, "((%s) ((void *) &(%s)))" % (c_type, symbol))


def _header_of(name, condition):
    return ["#if !(%s)" % condition, "#error \"Intersession's mpi.h for %s stands in front of that of another MPI\"" % name, "#endif"]


def _variable(name, value):
    return ["extern %s%s;" % (value.rpartition(" ")[0], name)]


_ROWS = {
    "variable": _variable,
    "header": _header_of,
    "type": _type,
    "callback": _callback,
    "struct": lambda name, value: ["struct %s { %s; };" % (name, value)],
    "int": _constant,
    "text": lambda name, value: _constant(name, '"%s"' % value),
    "pointer": _pointer,
    "enum": _enum,
    "object": _object,
}


def row_lines(word, name, value):
    return _ROWS[word](name, value)


def _is_in(native, name):
    return name in native.names or name in native.macros or name in native.functions


def _declarations(function):
    return ["%s %s%s(%s);" % (function.returns, prefix, function.mpi_name, function.signature_parameters) for prefix in ("", "P")]


def _functions(functions, native):
    """What the header at hand lacks of the standard that it is of; and what is in later standards, for headers of earlier ones."""
    current = [f for f in functions if not f.removed]
    lacking = [f for f in current if not _is_in(native, f.mpi_name) and (f.is_extension or f.since <= max(OLDEST, native.version))]
    later = [f for f in current if f.since > OLDEST and f not in lacking]
    lines = [line for f in lacking for line in _declarations(f)]
    for since in sorted({f.since for f in later}):
        lines += ["#if MPI_VERSION * 10 + MPI_SUBVERSION < %s" % since.replace(".", "")]
        lines += [line for f in later if f.since == since for line in _declarations(f)] + ["#endif"]
    return lines


def _all_rows(rows, native):
    """Lines of all rows: what the header at hand lacks, then blocks that others lack."""
    lines, in_block = [], False
    for word, name, value in rows:
        if word == _UNTIL:
            lines += ["#endif"] * in_block + ["#if %s /* before %s */" % (value, name)]
            in_block = True
        elif in_block or not _is_in(native, name):
            lines += row_lines(word, name, value)
    return lines + ["#endif"] * in_block


def header(functions, rows, native):
    lines = [NOTICE.replace("// ", "/* ", 1).replace("\n// ", "\n   "), "   What MPI-4.1 has and the mpi.h next in line does not. */",
             "#pragma GCC system_header", "#include_next <mpi.h>", "", "#ifndef INTERSESSION_MPI_H", "#define INTERSESSION_MPI_H", "",
             "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    lines += _all_rows(rows, native) + [""]
    lines += _functions(functions, native)
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def objects(rows):
    """The objects whose addresses are handles, and variables: (symbol, size in bytes)."""
    symbols = {"object": lambda name, value: value.split()[2], "variable": lambda name, value: name}
    return [(symbols[word](name, value), int(value.split()[-1])) for word, name, value in rows if word in symbols]


def objects_source(rows):
    """Their definitions. The sizes matter: a program that was linked with a newer library may have copied them (copy relocation)."""
    lines = [NOTICE, "// Only the addresses mean anything; no header declares these here, because its types are incomplete.",
             'extern "C" {']
    lines += ['extern __attribute__((visibility("default"))) char %s[%d];\nalignas(16) char %s[%d] = {};' % (
        symbol, size, symbol, size) for symbol, size in objects(rows)]
    return "\n".join(lines + ['}  // extern "C"', ""])


def exports(functions, rows):
    """The linker's version script: these names and no others leave the library."""
    names = [prefix + f.mpi_name for f in functions for prefix in ("", "P")] + [symbol for symbol, _ in objects(rows)]
    return "{\n  global:\n%s\n  local:\n    *;\n};\n" % "\n".join("    %s;" % name for name in sorted(names))
