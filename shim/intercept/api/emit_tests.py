# SPDX-License-Identifier: BSD-3-Clause
"""Emits the rows of tests/intercept/forwarding.hpp: a test for each forwarded function."""

import kinds
from emit import NOTICE


def is_forwarded(function):
    """True if calls on native objects are forwarded; false if the call is always ours."""
    return function.route != "ours" and not (function.route == "state" and function.has_impl)


def _address_that_decides(function):
    """Return the index of the parameter that points to deciding handles; -1 if there is none."""
    if function.route in ("by_deref", "array"):
        return function.parameters.index(function.deciding[0])
    kinds_of_parameters = [p.kind for p in function.parameters]
    return (
        kinds_of_parameters.index(kinds.TOOL_OBJECT)
        if kinds.TOOL_OBJECT in kinds_of_parameters
        else -1
    )


def _carried(function):
    """Return template arguments: the kind of handle that each parameter is or points to."""

    def carries(p):
        return (
            "abi::HandleKind::%s, %s" % (p.handle.name, "true" if p.is_scalar else "false")
            if p.handle and not p.handle.is_number
            else ""
        )

    return "".join(", Carries<%s>" % carries(p) for p in function.parameters if not p.is_variadic)


def rows(functions):
    lines = [
        NOTICE,
        '#include "tests/intercept/forwarding.hpp"',
        "",
        '#pragma GCC diagnostic ignored "-Wdeprecated-declarations"',
        "",
        "namespace shim::intercept::testing {",
        "",
        "void record_all(Table& table) {",
    ]
    lines += ['  record<&Table::%s>(table, "%s");' % (f.name, f.name) for f in functions]
    lines += [
        "}",
        "",
        "const std::vector<EntryPoint>& entry_points() {",
        "  static const std::vector<EntryPoint> rows = {",
    ]
    lines += [
        '      entry_point<&Table::%s, %s, P%s%s>("%s", %s, %d),'
        % (
            f.name,
            f.mpi_name,
            f.mpi_name,
            _carried(f),
            f.name,
            "true" if is_forwarded(f) else "false",
            _address_that_decides(f),
        )
        for f in functions
    ]
    lines += ["  };", "  return rows;", "}", "", "}  // namespace shim::intercept::testing", ""]
    return "\n".join(lines)
