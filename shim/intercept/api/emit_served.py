# SPDX-License-Identifier: BSD-3-Clause
"""Emits the served table, for INTERSESSION_WORLD=sessions.

Calls with communicators by value go to functions in the files of the entries, which pass the
communicators that serve MPI_COMM_WORLD and MPI_COMM_SELF to Intersession's implementation. Other
calls have a hand-written function, or go through the inactive table: the native library is never
initialised."""

import emit_entries
from emit import NOTICE, call, error, fail


def header(functions):
    """Return the prototypes of the table's functions that the files of the entries define."""
    lines = [NOTICE, "#pragma once", "", "#include <mpi.h>", "", "namespace shim::intercept {", ""]
    lines += ["%s;" % emit_entries.served_prototype(f) for f in functions if f.world_comms]
    return "\n".join(lines + ["", "}  // namespace shim::intercept", ""])


def _definition(function):
    """Return the table's function for a call without communicators by value."""
    if function.has_served_impl:
        body = "try { return impl_when_served::%s; } catch (const std::exception&) { %s }" % (
            call(function),
            fail(function, error(function, "fail_with_exception")),
        )
    else:
        body = "return inactive_table.%s;" % call(function)
    return "%s served_%s(%s) { %s }" % (
        function.returns,
        function.name,
        function.signature_parameters,
        body,
    )


def source(functions):
    lines = [
        NOTICE,
        "#include <exception>",
        "",
        '#include "shim/intercept/dispatch.hpp"',
        '#include "shim/intercept/generated/impl.hpp"',
        '#include "shim/intercept/generated/served.hpp"',
        '#include "shim/intercept/generated/table.hpp"',
        "",
        '#pragma GCC diagnostic ignored "-Wunused-parameter"',
        "",
        "namespace shim::intercept {",
        "namespace {",
        "",
    ]
    lines += [_definition(f) for f in functions if not f.world_comms]
    lines += ["", "}  // namespace", "", "constinit Table served_table = {"]
    lines += ["    .%s = served_%s," % (f.name, f.name) for f in functions]
    lines += ["};", "", "}  // namespace shim::intercept", ""]
    return "\n".join(lines)
