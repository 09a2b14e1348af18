# SPDX-License-Identifier: BSD-3-Clause
"""Emits the overlay: an mpi.h that includes an older header and declares the rest of MPI-4.1.

It is generated from one header, and also serves older and newer headers of the same family."""

from emit import NOTICE

# Oldest standard of a header that the overlay may include.
OLDEST = "3.0"
_UNTIL = "until"
_EXTENSION = "extension"
_FUNCTION = "function"
_FORTRAN = "fortran"


class OverlayError(Exception):
    """An invalid row of the overlay's table."""


def parse_rows(text):
    """Return the table as (word, name, value) tuples."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 4 or fields[0] not in (*_ROWS, _UNTIL, _FUNCTION):
            raise OverlayError(
                "overlay table, line %d: needs word, name, value and source" % number
            )
        rows.append(tuple(fields[:3]))
    return rows


def _constant(name, value):
    return ["#ifndef %s" % name, "#define %s %s" % (name, value), "#endif"]


def _type(name, value):
    """Return a typedef; for a pointer to a function the name is inside the type."""
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
    return [
        "typedef enum { %s } %s;"
        % (", ".join(item.replace(" ", " = ") for item in value.split(", ")), name)
    ]


def _object(name, value):
    c_type, structure, symbol, _ = value.split()
    return ["extern struct %s %s;" % (structure, symbol)] + _constant(
        name, "((%s) ((void *) &(%s)))" % (c_type, symbol)
    )


def _header_of(name, condition):
    return [
        "#if !(%s)" % condition,
        '#error "mpi.h of Intersession for %s: the next mpi.h is of another MPI library"' % name,
        "#endif",
    ]


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
    "entry": lambda name, value: [],
    _EXTENSION: lambda name, value: [],
    _FORTRAN: lambda name, value: [],
}


def row_lines(word, name, value):
    return _ROWS[word](name, value)


def _is_in(native, name):
    return name in native.names or name in native.macros or name in native.functions


def _declarations(function):
    return [
        "%s %s%s(%s);"
        % (function.returns, prefix, function.mpi_name, function.signature_parameters)
        for prefix in ("", "P")
    ]


def _functions(functions, native):
    """Return declarations of functions.

    Unconditional: functions that the header lacks although its standard has them. By MPI_VERSION:
    functions of later standards, for headers of earlier ones.
    """
    current = [f for f in functions if not f.removed]
    lacking = [
        f
        for f in current
        if not _is_in(native, f.mpi_name)
        and (f.is_extension or f.since <= max(OLDEST, native.version))
    ]
    later = [f for f in current if f.since > OLDEST and f not in lacking]
    lines = [line for f in lacking for line in _declarations(f)]
    for since in sorted({f.since for f in later}):
        lines += ["#if MPI_VERSION * 10 + MPI_SUBVERSION < %s" % since.replace(".", "")]
        lines += [line for f in later if f.since == since for line in _declarations(f)] + ["#endif"]
    return lines


def _all_rows(rows, native, functions):
    """Return the lines of all rows: names that the header lacks, then blocks for other headers."""
    lines, in_block = [], False
    for word, name, value in rows:
        if word == _UNTIL:
            lines += ["#endif"] * in_block + ["#if %s /* before %s */" % (value, name)]
            in_block = True
        elif word == _FUNCTION:
            lines += [line for f in functions if f.mpi_name == name for line in _declarations(f)]
        elif in_block or not _is_in(native, name):
            lines += row_lines(word, name, value)
    return lines + ["#endif"] * in_block


def _version(version):
    """Return the macros of Intersession's version.

    Installation sets INTERSESSION_COMMIT (packaging/finish_install.cmake.in); in a build it would
    recompile all sources after each commit.
    """
    major, minor, patch = (int(part) for part in version.split("."))
    return [
        '#define INTERSESSION_VERSION "%s"' % version,
        "/* major * 10000 + minor * 100 + patch */",
        "#define INTERSESSION_VERSION_NUMBER %d" % (major * 10000 + minor * 100 + patch),
        "/* git commit; empty in a build folder, and if built without git */",
        '#define INTERSESSION_COMMIT ""',
        "",
    ]


def header(functions, rows, native, version):
    lines = [
        NOTICE.replace("// ", "/* ", 1).replace("\n// ", "\n   "),
        "   Declares the parts of MPI-4.1 that the included mpi.h lacks. */",
        "#pragma GCC system_header",
        "#include_next <mpi.h>",
        "",
        "#ifndef INTERSESSION_MPI_H",
        "#define INTERSESSION_MPI_H",
        "",
    ]
    lines += _version(version)
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    of_rows = {name for word, name, _ in rows if word == _FUNCTION}
    lines += _all_rows(rows, native, functions) + [""]
    lines += _functions([f for f in functions if f.mpi_name not in of_rows], native)
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def objects(rows):
    """Return objects whose addresses are handles, and variables: (symbol, size in bytes)."""
    symbols = {"object": lambda name, value: value.split()[2], "variable": lambda name, value: name}
    return [
        (symbols[word](name, value), int(value.split()[-1]))
        for word, name, value in rows
        if word in symbols
    ]


def objects_source(rows):
    """Return the definitions of objects().

    The sizes matter: a program that was linked with a newer library may contain copies of them
    (copy relocation).
    """
    lines = [
        NOTICE,
        "// Only the addresses are used. No header declares the objects, because their types are",
        "// incomplete.",
        'extern "C" {',
    ]
    lines += [
        'extern __attribute__((visibility("default"))) char %s[%d];\nalignas(16) char %s[%d] = {};'
        % (symbol, size, symbol, size)
        for symbol, size in objects(rows)
    ]
    return "\n".join(lines + ['}  // extern "C"', ""])


def extensions(rows):
    """Return the library's own names of functions of the standard: (own name, standard name)."""
    return [(name, value) for word, name, value in rows if word == _EXTENSION]


def fortran_entries(rows):
    """Return the generated Fortran entries: (function of mpi_api.txt, its symbols)."""
    return [
        (name, [form.replace("%", name.partition("_")[2].lower()) for form in value.split()])
        for word, name, value in rows
        if word == _FORTRAN
    ]


def entries(rows):
    """Return the exported symbols that are neither functions of mpi_api.txt nor objects."""
    symbols = [symbol for _, symbols in fortran_entries(rows) for symbol in symbols]
    symbols += [
        form.replace("%", name)
        for word, name, value in rows
        if word == "entry"
        for form in value.split()
    ]
    return symbols + [prefix + name for name, _ in extensions(rows) for prefix in ("", "P")]


def exports(functions, rows):
    """Return the linker's version script: the library exports only these names."""
    names = (
        [prefix + f.mpi_name for f in functions for prefix in ("", "P")]
        + [symbol for symbol, _ in objects(rows)]
        + entries(rows)
    )
    return "{\n  global:\n%s\n  local:\n    *;\n};\n" % "\n".join(
        "    %s;" % name for name in sorted(names)
    )
