# SPDX-License-Identifier: BSD-3-Clause
"""Emits the polling table, for a native library without progress callbacks.

Instead of blocking, its functions begin a non-blocking operation and poll it; sessions make
progress between the polls. If a function has no non-blocking form, a progress thread moves the
messages of sessions during the call."""

from emit import NOTICE, call


def _status(function):
    return next((p.name for p in function.parameters if p.kind == "STATUS"), "MPI_STATUS_IGNORE")


def _is_newly_there(other):
    """True for the large form of a composed function.

    It is not used: only recent native libraries have it, and it is not composed itself.
    """
    return other.is_large and other.made_of is not None and other.made_of.is_composed


def _started(function):
    """Return C++ that begins the non-blocking form and polls it.

    A form that can be composed is always composed, even if the native library has it: only recent
    libraries do, and their implementations have faults (docs/decisions/0049).
    """
    other = function.started_as
    begin = "composed::" if other.is_composed else "active_table."
    arguments = ", ".join([p.name for p in other.parameters[:-1]] + ["&begun"])
    return (
        "MPI_Request begun = abi::predefined.request_null; "
        "if (int code = %s%s(%s); code != MPI_SUCCESS) return code; "
        "return wait_by_polling(begun, %s);" % (begin, other.name, arguments, _status(function))
    )


def _polled(function, by_name):
    """Return C++ that polls the function's test; the flag is a parameter or a local variable."""
    other, tells = by_name[function.polled[0]], function.polled[1]
    is_own = any(p.name == tells for p in function.parameters)
    local = "" if is_own else "int answer = 0; int* %s = &answer; " % tells
    return (
        "for (PollingLoop loop;; loop.progress()) { %sconst int code = active_table.%s; "
        "if (code != MPI_SUCCESS || *%s != 0) return code; }" % (local, call(other), tells)
    )


def _asked(function):
    """Return C++ for a test function. Sessions progress in it: programs may call it in a loop."""
    return "const int code = active_table.%s; progress_sessions(); return code;" % call(function)


def _impl(function, by_name, asked):
    if function.name in asked:
        return _asked(function)
    if function.started_as is not None and not _is_newly_there(function.started_as):
        return _started(function)
    if function.polled:
        return _polled(function, by_name)
    inside = "const BlockingNativeCall inside; " if function.waits_for_others else ""
    return "%sreturn active_table.%s;" % (inside, call(function))


def source(functions):
    by_name = {f.name: f for f in functions}
    asked = {f.polled[0] for f in functions if f.polled}
    lines = [
        NOTICE,
        '#include "shim/intercept/generated/impl.hpp"',
        '#include "shim/intercept/impl/request/polling.hpp"',
        "",
        '#pragma GCC diagnostic ignored "-Wunused-parameter"',
        "",
        "namespace shim::intercept {",
        "namespace {",
        "",
    ]
    lines += [
        "%s polling_%s(%s) { %s }"
        % (f.returns, f.name, f.signature_parameters, _impl(f, by_name, asked))
        for f in functions
    ]
    lines += ["", "}  // namespace", "", "constinit Table polling_table = {"]
    lines += ["    .%s = polling_%s," % (f.name, f.name) for f in functions]
    lines += ["};", "", "}  // namespace shim::intercept", ""]
    return "\n".join(lines)
