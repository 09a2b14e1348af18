# SPDX-License-Identifier: BSD-3-Clause
"""Functions that the library below may lack, made of those that it has: large counts that fit into small ones, and persistent
collectives, each start of which is a non-blocking one."""

import re

from emit import call, error, fail, subject_expression

# Parameters that are read before they are written; all others that are given by address are written only.
_IN_AND_OUT = ("POLYDISPLACEMENT_COUNT", "POLYLOCATION")
_LENGTHS = ("ARRAY_LENGTH_PI", "ARRAY_LENGTH_NNI")
_COUNT = "POLYDTYPE_NUM_ELEM_NNI"
_NEIGHBORHOODS = "8"  # the chapter whose arrays of counts have an entry for each neighbor, not for each member


def _length(function, parameter):
    """C++ for how many numbers an array has."""
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
    is_sent = function.parameters.index(parameter) < function.parameters.index(buffers[-1])
    reach = "neighbors" if function.section.startswith(_NEIGHBORHOODS + ".") else "peers"
    if is_sent:
        return "narrow.length_sent(%s, Reach::%s, %s)" % (comm, reach, buffers[0].name)
    return "narrow.length_received(%s, Reach::%s)" % (comm, reach)


def _element(declaration):
    return re.search(r"\b(int|MPI_Aint|MPI_Count)\b", declaration).group(1)


def _narrow(function):
    """The lines before the call, its arguments, and the lines after it."""
    before, arguments, after = [], [], []
    for small, large in zip(function.made_of.parameters, function.parameters):
        name, element = large.name, None
        if small.declaration == large.declaration:
            arguments.append(name)
            continue
        element = _element(small.declaration)
        if large.is_scalar:
            before.append('const auto small_%s = narrow.number<%s>(%s, "%s");' % (name, element, name, name))
            arguments.append("small_" + name)
        elif large.declaration.startswith("const "):
            before.append('const auto* small_%s = narrow.array<%s>(%s, "%s", %s);' % (name, element, name, name, _length(function, large)))
            arguments.append("small_" + name)
        else:
            is_read = "true" if large.kind in _IN_AND_OUT else "false"
            before.append('Widened<%s, %s> small_%s(%s, %s);' % (element, _element(large.declaration), name, name, is_read))
            arguments.append("small_%s.address()" % name)
            after.append("small_%s.store();" % name)
    return before, arguments, after


def _misfit(function):
    """What does not fit is an error, but where a body of ours answers for any objects: it takes all counts."""
    if function.idle_namespace != "ours":
        return "return narrow.fail();"
    return "{ try { return ours::%s; } catch (const std::exception&) { %s } }" % (call(function), fail(function, error(function, "caught")))


def _narrowed(function):
    before, arguments, after = _narrow(function)
    request = next((", " + p.name for p in function.parameters if p.kind == "REQUEST" and not p.is_scalar and p not in function.deciding), "")
    lines = ['Narrow narrow(%s, "MPI_%s");' % (subject_expression(function), function.name), *before,
             "if (!narrow.fits()) " + _misfit(function),
             "const int code = active_table.%s(%s);" % (function.made_of.name, ", ".join(arguments))]
    lines += ["if (code == MPI_SUCCESS) { %s }" % " ".join(after)] if after else []
    return lines + ["return narrow.done(code%s);" % request]


def _started(function):
    request = function.of_kind("REQUEST").name
    lines = ['Later later(%s, "MPI_%s");' % (subject_expression(function), function.name)]
    lines += ["if (int code = later.keep_%s(%s)) return code;" % (p.handle.name, p.name) for p in function.parameters
              if p.kind in ("DATATYPE", "OPERATION") and p.is_scalar]
    arguments = ", ".join("started" if p.kind == "REQUEST" else p.name for p in function.parameters if p.kind != "INFO")
    return lines + ["return later.hand_out(%s, [=](MPI_Request* started) { return active_table.%s(%s); });" % (
        request, function.made_of.name, arguments)]


def body(function):
    """C++ that answers for a library that lacks the function; None where there is nothing to make it of."""
    if function.is_composed:
        return "return below::%s;" % call(function)
    if function.made_of is None:
        return None
    return " ".join(_narrowed(function) if function.is_large else _started(function))
