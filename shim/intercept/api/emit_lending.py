# SPDX-License-Identifier: BSD-3-Clause
"""The table of a library below that does not let us in while a thread waits inside it: what would wait there is begun instead, and
then asked for again and again, and our messages move meanwhile. What has to be called as it is, is: a thread of ours moves them."""

from emit import NOTICE, call


def _status(function):
    return next((p.name for p in function.parameters if p.kind == "STATUS"), "MPI_STATUS_IGNORE")


def _is_newly_there(other):
    """The large form of what is composed: not to be relied on (see below), and not composed itself."""
    return other.is_large and other.made_of is not None and other.made_of.is_composed


def _started(function):
    """What is composed of others where it is lacking is composed here, too: a library below that has it has it newly
    (docs/measurements.md says what was seen)."""
    other = function.started_as
    begin = "below::" if other.is_composed else "active_table."
    arguments = ", ".join([p.name for p in other.parameters[:-1]] + ["&begun"])
    return ("MPI_Request begun = abi::predefined.request_null; "
            "if (int code = %s%s(%s); code != MPI_SUCCESS) return code; "
            "return wait_lending(begun, %s);" % (begin, other.name, arguments, _status(function)))


def _polled(function, by_name):
    """Where the function has no parameter for the answer, a local variable of that name takes it."""
    other, tells = by_name[function.polled[0]], function.polled[1]
    is_own = any(p.name == tells for p in function.parameters)
    local = "" if is_own else "int answer = 0; int* %s = &answer; " % tells
    return ("for (Lending lending;; lending.turn()) { %sconst int code = active_table.%s; "
            "if (code != MPI_SUCCESS || *%s != 0) return code; }" % (local, call(other), tells))


def _asked(function):
    """A program may ask in a loop of its own for what depends on our messages."""
    return "const int code = active_table.%s; lend_to_ours(); return code;" % call(function)


def _body(function, by_name, asked):
    if function.name in asked:
        return _asked(function)
    if function.started_as is not None and not _is_newly_there(function.started_as):
        return _started(function)
    if function.polled:
        return _polled(function, by_name)
    inside = "const Inside inside; " if function.waits_for_others else ""
    return "%sreturn active_table.%s;" % (inside, call(function))


def source(functions):
    by_name = {f.name: f for f in functions}
    asked = {f.polled[0] for f in functions if f.polled}
    lines = [NOTICE, '#include "shim/intercept/generated/bodies.hpp"', '#include "shim/intercept/lending.hpp"', "",
             "#pragma GCC diagnostic ignored \"-Wunused-parameter\"", "", "namespace shim::intercept {", "namespace {", ""]
    lines += ["%s lending_%s(%s) { %s }" % (f.returns, f.name, f.signature_parameters, _body(f, by_name, asked)) for f in functions]
    lines += ["", "}  // namespace", "", "constinit Table lending_table = {"]
    lines += ["    .%s = lending_%s," % (f.name, f.name) for f in functions]
    lines += ["};", "", "}  // namespace shim::intercept", ""]
    return "\n".join(lines)
