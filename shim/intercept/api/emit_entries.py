# SPDX-License-Identifier: BSD-3-Clause
"""The entry points: MPI_X, and PMPI_X as another name of the same code.

Each is a test for handles of ours and a jump to the table. Whatever happens on the side of ours is out of line, so that the
way down stays a compare and a jump. The functions are not noexcept: that would forbid the jump, and a C++ error handler
of the user's may throw through the library below."""

import kinds
from emit import NOTICE, call, error, fail, subject_expression


def _is_ours(function, parameter):
    """C++ that tells whether a deciding parameter is ours, as (what any_ours() takes together, what stands for itself)."""
    if function.route == "array":
        return None, "ours_in(%s, %s)" % (parameter.name, function.route_arguments[1])
    if function.route == "by_fint":
        return None, "abi::is_ours_as_fint(%s)" % parameter.name
    if function.route == "by_deref":
        return None, "ours_at(%s)" % parameter.name
    return _by_value(parameter)


def _by_value(parameter):
    return (None, "%s(%s)" % (parameter.handle.test, parameter.name)) if parameter.handle.test else (parameter.name, None)


def _test(function, parameters):
    answers = [_is_ours(function, p) if p in function.deciding else _by_value(p) for p in parameters]
    together = [name for name, _ in answers if name]
    alone = [expression for _, expression in answers if expression]
    if together:
        alone.append("any_ours(%s)" % ", ".join(together))
    return " || ".join(alone)


def _among(function):
    """C++ that looks through the arrays that do not decide."""
    arrays, comm = function.other_arrays, function.deciding[0].name
    if function.among == "root":
        return "ours_among(%s, %s, %s, %s)" % (comm, function.of_kind("RANK").name, arrays[0].name,
                                               function.of_kind("ARRAY_LENGTH_PI").name)
    return "ours_among(%s, Reach::%s, {%s})" % (comm, function.among, ", ".join(
        [function.of_kind("BUFFER").name] + [p.name for p in arrays]))


def _body_call(function):
    return "try { return ours::%s; } catch (const std::exception&) { %s }" % (call(function), fail(function, error(function, "caught")))


def _unsupported(function):
    return fail(function, error(function, "unsupported"))


def _way_down(function, parameters):
    """Lines that replace or refuse what is ours among these parameters, and then call the library below."""
    lines = []
    for p in parameters:
        kind = p.handle.name
        lines.append('  if (int code = %s(%s, "%s", %s)) { %s }' % (
            "twin_" + kind if p.handle.has_twin else "refuse", subject_expression(function), function.mpi_name,
            p.name if p.handle.has_twin else "abi::Kind::%s, %s" % (kind, p.name), fail(function, "code")))
    if function.among:
        lines.append('  if (%s) { %s }' % (_among(function), fail(function, 'refused(%s, "%s", abi::Kind::%s)' % (
            subject_expression(function), function.mpi_name, function.other_arrays[0].handle.name))))
    return lines + ["  return native().%s;" % call(function)]


def _out_of_line(function, name, lines):
    is_on_the_way = "hot" in function.flags and name != "way_down"
    attributes = "gnu::noinline, gnu::hot" if is_on_the_way else "gnu::noinline"
    return ["[[%s]] %s %s_%s(%s) {" % (attributes, function.returns, name, function.name, function.signature_parameters)] + lines + ["}"]


def _slow_path(function):
    """The function for calls in which something is ours; None where no parameter can be. Where it has to find out what, both answers
    have functions of their own, so that it saves no register and jumps to either."""
    deciding, others = function.deciding, function.other_handles
    if function.route in ("tool", "ours", "state") or not (deciding or others):
        return None
    has_answer = deciding and (function.has_body or not (function.route == "by_handle" and all(p.handle.has_twin for p in deciding)))
    answer = ["  " + (_body_call(function) if function.has_body else _unsupported(function))] if has_answer else []
    replaced = others if has_answer else deciding + others
    way_down = _way_down(function, replaced) if replaced or function.among else []
    if not (answer and way_down):
        return _out_of_line(function, "with_ours", answer + way_down)
    return (_out_of_line(function, "answer", answer) + _out_of_line(function, "way_down", way_down) +
            _out_of_line(function, "with_ours", ["  if (%s) return answer_%s;" % (_test(function, deciding), call(function)),
                                                 "  return way_down_%s;" % call(function)]))


def _tool_tests(function):
    """C++ that finds objects of ours given to the library below by tools. There they have no twins: most are given by address."""
    tests = ["any_ours(%s)" % p.name for p in function.other_handles]
    return tests + ["ours_behind(%s)" % p.name for p in function.parameters if p.kind == kinds.TOOL_OBJECT]


def _entry(function):
    lines = ["%s %s(%s) {" % (function.returns, function.mpi_name, function.signature_parameters)]
    if function.route == "ours" or (function.route == "state" and function.has_body):
        lines.append("  if (passes_on()) [[unlikely]] return active_table.%s;" % call(function))
        lines.append("  " + (_body_call(function) if function.has_body else _unsupported(function)))
    else:
        possible = [] if function.route in ("tool", "state") else function.deciding + function.other_handles
        if function.route == "tool":
            lines += ["  if (%s) return MPI_T_ERR_INVALID_HANDLE;" % test for test in _tool_tests(function)]
        if possible:
            test = _test(function, possible) + (" || " + _among(function) if function.among else "")
            lines.append("  if (%s) [[unlikely]] return with_ours_%s;" % (test, call(function)))
        lines.append("  return native().%s;" % call(function))
    lines += ["}", "[[gnu::alias(\"%s\")]] %s P%s(%s);" % (
        function.mpi_name, function.returns, function.mpi_name, function.signature_parameters)]
    return lines


def source(functions):
    """One source file with the entries of these functions."""
    lines = [NOTICE, "#include <mpi.h>", "", '#include "shim/intercept/border.hpp"',
             '#include "shim/intercept/generated/bodies.hpp"', '#include "shim/intercept/generated/table.hpp"',
             '#include "shim/intercept/native/arrays.hpp"',
             '#include "shim/intercept/substrate.hpp"', "", "#pragma GCC diagnostic ignored \"-Wunused-parameter\"", "",
             "namespace shim::intercept {", "namespace {", ""]
    for function in functions:
        lines += _slow_path(function) or []
    lines += ["", "}  // namespace", "", "#pragma GCC visibility push(default)", 'extern "C" {', ""]
    for function in functions:
        lines += _entry(function)
    lines += ["", '}  // extern "C"', "#pragma GCC visibility pop", "}  // namespace shim::intercept", ""]
    return "\n".join(lines)
