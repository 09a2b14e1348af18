# SPDX-License-Identifier: BSD-3-Clause
"""Emits Fortran entries that replace those of the native library that access objects' contents.

The table of the overlay lists them (rows `fortran`). A call is the native library's unless one of
its deciding handles is Intersession's or the native library is not in use: then the entry converts
the arguments and calls the C function. The substrate's fortran_arguments.hpp has the
conversions."""

import emit_composed
from emit import END_OF_EXPORTS, NOTICE


def _deciding_test(function):
    """Return C++ that is true if a handle that selects the library is ours."""
    if function.route == "array":
        return "fortran::ours_in(%s, *%s)" % function.route_arguments
    return " || ".join("abi::is_ours_as_fint(*%s)" % p.name for p in function.deciding)


def _declaration(parameter):
    """Return the declaration in the procedure: scalars and handles are passed by address."""
    if parameter.handle or parameter.kind == "STATUS":
        return "MPI_Fint* " + parameter.name
    if parameter.kind == "BUFFER":
        return "void* " + parameter.name
    if parameter.is_scalar:
        return "%s* %s" % (parameter.c_type, parameter.name)
    return parameter.declaration


def _length(function, parameter):
    """Return C++ for the length of an array of handles or statuses."""
    if function.route == "array":
        return "*" + function.route_arguments[1]
    return "lengths.%s" % ("send" if emit_composed.is_sent(function, parameter) else "receive")


def _converted(function, parameter):
    """Return the class and constructor arguments of the parameter's converter; None without one."""
    name, handle = parameter.name, parameter.handle
    if handle and parameter.is_handle_array:
        is_read = parameter.declaration.startswith("const ")
        return (
            "%s<%s>" % ("ReadHandles" if is_read else "ChangedHandles", handle.c_type),
            "%s, %s" % (name, _length(function, parameter)),
        )
    if handle and not parameter.is_scalar:
        is_changed = parameter in function.deciding
        return "%s<%s>" % ("ChangedHandle" if is_changed else "MadeHandle", handle.c_type), name
    if parameter.kind == "STATUS":
        if function.route != "array" or not name.startswith("array"):
            return "FilledStatus", name
        return "FilledStatuses", "%s, %s" % (name, _length(function, parameter))
    if parameter.kind == "LOGICAL" and not parameter.is_scalar:
        return "SetLogical", name
    if parameter.kind == "INDEX" and "[" in parameter.declaration:
        count = next(p for p in function.parameters if p.kind == "ARRAY_LENGTH" and not p.is_scalar)
        return "SetIndices", "%s, %s" % (name, count.name)
    if parameter.kind == "INDEX" and not parameter.is_scalar:
        return "SetIndex", name
    return None


def _value(parameter):
    """Return C++ for the argument of a parameter without converter."""
    if parameter.handle:
        return "fortran::handle_of<%s>(*%s)" % (parameter.handle.c_type, parameter.name)
    if parameter.kind == "BUFFER":
        return "fortran::buffer(%s)" % parameter.name
    return ("*" if parameter.is_scalar else "") + parameter.name


def _lengths(function):
    if not function.among:
        return []
    return [
        "    const Lengths lengths = fortran::lengths_of_call(%s, Reach::%s, %s);"
        % (
            _value(function.of_kind("COMMUNICATOR")),
            function.among,
            _value(function.of_kind("BUFFER")),
        )
    ]


def _call(function):
    """Return lines that convert the arguments, call the C function and store the results."""
    lines, arguments, stores = _lengths(function), [], []
    for p in function.parameters:
        converted = _converted(function, p)
        if converted is None:
            arguments.append(_value(p))
            continue
        lines.append("    fortran::%s c_%s(%s);" % (converted[0], p.name, converted[1]))
        arguments.append("c_" + p.name)
        if not converted[0].startswith("Read"):
            stores.append("    c_%s.store(code);" % p.name)
    lines.append("    const int code = P%s(%s);" % (function.mpi_name, ", ".join(arguments)))
    return lines + stores + ["    return code;"]


def _entry(function, symbols):
    parameters = ", ".join([_declaration(p) for p in function.parameters] + ["MPI_Fint* ierror"])
    names = ", ".join([p.name for p in function.parameters] + ["ierror"])
    symbol = symbols[-1]
    return [
        "void %s(%s);" % (symbol, parameters),
        *(
            '[[gnu::alias("%s")]] void %s(%s);' % (symbol, alias, parameters)
            for alias in symbols[:-1]
        ),
        "void %s(%s) {" % (symbol, parameters),
        "  if (detect_activity() && !(%s)) {" % _deciding_test(function),
        '    static auto* const native_function = fortran::find_native<decltype(%s)>("%s");'
        % (symbol, symbol),
        "    if (native_function != nullptr) return native_function(%s);" % names,
        "  }",
        '  fortran::run("%s", ierror, [&] {' % function.mpi_name,
        *_call(function),
        "  });",
        "}",
    ]


def source(functions, entries, substrate):
    """Return a source file with these entries: `entries` has (function name, symbols) pairs.

    The last symbol is the native library's; the others are aliases of it."""
    if not entries:
        return NOTICE + "\n// The substrate's Fortran library calls C functions only.\n"
    by_name = {function.mpi_name: function for function in functions}
    lines = [
        NOTICE,
        '#include "shim/intercept/abi/%s/entries/fortran_arguments.hpp"' % substrate,
        "",
        "namespace shim::intercept {",
        "#pragma GCC visibility push(default)",
        'extern "C" {',
        "",
    ]
    for name, symbols in entries:
        lines += _entry(by_name[name], symbols)
    return "\n".join(lines + END_OF_EXPORTS)
