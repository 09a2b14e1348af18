# SPDX-License-Identifier: BSD-3-Clause
"""One forwarding test per function that reaches the library below: rows for tests/intercept/forwarding.hpp."""

import kinds
from emit import NOTICE


def is_forwarded(function):
    """Calls on objects of the library below reach it; not so where the call is always ours."""
    return function.route != "ours" and not (function.route == "state" and function.has_body)


def _address_that_decides(function):
    """The number of the parameter whose pointed-to handles decide; -1 where there is none."""
    if function.route in ("by_deref", "array"):
        return function.parameters.index(function.deciding[0])
    kinds_of_parameters = [p.kind for p in function.parameters]
    return kinds_of_parameters.index(kinds.TOOL_OBJECT) if kinds.TOOL_OBJECT in kinds_of_parameters else -1


def _carried(function):
    """Template arguments that say what handle each parameter is or points to."""
    def carries(p):
        return "abi::Kind::%s, %s" % (p.handle.name, "true" if p.is_scalar else "false") if p.handle and not p.handle.is_number else ""
    return "".join(", Carries<%s>" % carries(p)
                   for p in function.parameters if not p.is_variadic)


def rows(functions):
    lines = [NOTICE, '#include "tests/intercept/forwarding.hpp"', "", '#pragma GCC diagnostic ignored "-Wdeprecated-declarations"',
             "", "namespace shim::intercept::testing {", "", "void record_all(Table& table) {"]
    lines += ['  record<&Table::%s>(table, "%s");' % (f.name, f.name) for f in functions]
    lines += ["}", "", "const std::vector<EntryPoint>& entry_points() {", "  static const std::vector<EntryPoint> rows = {"]
    lines += ['      entry_point<&Table::%s, %s, P%s%s>("%s", %s, %d),' % (
        f.name, f.mpi_name, f.mpi_name, _carried(f), f.name, "true" if is_forwarded(f) else "false", _address_that_decides(f))
        for f in functions]
    lines += ["  };", "  return rows;", "}", "", "}  // namespace shim::intercept::testing", ""]
    return "\n".join(lines)
