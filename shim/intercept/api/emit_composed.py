# SPDX-License-Identifier: BSD-3-Clause
"""Emits replacements for functions that the native library lacks, made of functions that it has.

Large counts are converted to small ones if they fit. Each start of a persistent collective begins a
non-blocking one."""

import re

from emit import call, error, fail, subject_expression

# Kinds of parameters by address that are read and written; all others are written only.
_IN_AND_OUT = ("POLYDISPLACEMENT_COUNT", "POLYLOCATION")
_LENGTHS = ("ARRAY_LENGTH_PI", "ARRAY_LENGTH_NNI")
_COUNT = "POLYDTYPE_NUM_ELEM_NNI"
# Chapter whose arrays of counts have an entry for each neighbor instead of each member.
_NEIGHBORHOODS = "8"


def is_sent(function, parameter):
    """True if an array of a collective describes data to send: it precedes the second buffer."""
    buffers = [p for p in function.parameters if p.kind == "BUFFER"]
    return function.parameters.index(parameter) < function.parameters.index(buffers[-1])


def _length(function, parameter):
    """Return C++ for the length of an array."""
    scalars = [p for p in function.parameters if p.is_scalar]
    for kinds in (_LENGTHS, (_COUNT,)):
        for p in scalars:
            if p.kind in kinds:
                return p.name
    comm = function.of_kind("COMMUNICATOR").name
    root = next((p.name for p in scalars if p.kind == "RANK"), None)
    if root:
        return "narrow.length_at_root(%s, %s)" % (comm, root)
    buffers = [p for p in function.parameters if p.kind == "BUFFER"]
    reach = "neighbors" if function.section.startswith(_NEIGHBORHOODS + ".") else "peers"
    if is_sent(function, parameter):
        return "narrow.length_sent(%s, Reach::%s, %s)" % (comm, reach, buffers[0].name)
    return "narrow.length_received(%s, Reach::%s)" % (comm, reach)


def _element(declaration):
    return re.search(r"\b(int|MPI_Aint|MPI_Count)\b", declaration).group(1)


def _narrow(function):
    """Return the lines before the call, its arguments, and the lines after it."""
    before, arguments, after = [], [], []
    for small, large in zip(function.made_of.parameters, function.parameters):
        name, element = large.name, None
        if small.declaration == large.declaration:
            arguments.append(name)
            continue
        element = _element(small.declaration)
        if large.is_scalar:
            before.append(
                'const auto small_%s = narrow.number<%s>(%s, "%s");' % (name, element, name, name)
            )
            arguments.append("small_" + name)
        elif large.declaration.startswith("const "):
            before.append(
                'const auto* small_%s = narrow.array<%s>(%s, "%s", %s);'
                % (name, element, name, name, _length(function, large))
            )
            arguments.append("small_" + name)
        else:
            is_read = "true" if large.kind in _IN_AND_OUT else "false"
            before.append(
                "Widened<%s, %s> small_%s(%s, %s);"
                % (element, _element(large.declaration), name, name, is_read)
            )
            arguments.append("small_%s.address()" % name)
            after.append("small_%s.store();" % name)
    return before, arguments, after


def _misfit(function):
    """Return C++ for counts that do not fit: an error, or impl::X if it accepts all objects."""
    if function.inactive_namespace != "impl":
        return "return narrow.fail();"
    return "{ try { return impl::%s; } catch (const std::exception&) { %s } }" % (
        call(function),
        fail(function, error(function, "fail_with_exception")),
    )


def _narrowed(function):
    before, arguments, after = _narrow(function)
    request = next(
        (
            ", " + p.name
            for p in function.parameters
            if p.kind == "REQUEST" and not p.is_scalar and p not in function.deciding
        ),
        "",
    )
    lines = [
        'NarrowedCall narrow(%s, "MPI_%s");' % (subject_expression(function), function.name),
        *before,
        "if (!narrow.fits()) " + _misfit(function),
        "const int code = active_table.%s(%s);" % (function.made_of.name, ", ".join(arguments)),
    ]
    lines += ["if (code == MPI_SUCCESS) { %s }" % " ".join(after)] if after else []
    return lines + ["return narrow.done(code%s);" % request]


def _started(function):
    request = function.of_kind("REQUEST").name
    lines = [
        'ComposedPersistent persistent(%s, "MPI_%s");'
        % (subject_expression(function), function.name)
    ]
    lines += [
        "if (int code = persistent.keep_%s(%s)) return code;" % (p.handle.name, p.name)
        for p in function.parameters
        if p.kind in ("DATATYPE", "OPERATION") and p.is_scalar
    ]
    arguments = ", ".join(
        "started" if p.kind == "REQUEST" else p.name
        for p in function.parameters
        if p.kind != "INFO"
    )
    return lines + [
        "return persistent.make_request_handle(%s, [=](MPI_Request* started) { return "
        "active_table.%s(%s); });" % (request, function.made_of.name, arguments)
    ]


def impl(function):
    """Return C++ that composes the function for a library without it; None if impossible."""
    if function.is_composed:
        return "return composed::%s;" % call(function)
    if function.made_of is None:
        return None
    return " ".join(_narrowed(function) if function.is_large else _started(function))
