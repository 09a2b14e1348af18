# SPDX-License-Identifier: BSD-3-Clause
"""One forwarding test per function that reaches the library below: rows for tests/intercept/forwarding.hpp."""

from emit import NOTICE


def is_forwarded(function):
    """Calls on objects of the library below reach it; not so where the call is always ours."""
    return function.route != "ours" and not (function.route == "state" and function.has_body)


def rows(functions):
    lines = [NOTICE, '#include "tests/intercept/forwarding.hpp"', "", '#pragma GCC diagnostic ignored "-Wdeprecated-declarations"',
             "", "namespace shim::intercept::testing {", "", "void record_all(Table& table) {"]
    lines += ["  record<&Table::%s>(table, \"%s\");" % (f.name, f.name) for f in functions]
    lines += ["}", "", "const std::vector<Forwarding>& forwardings() {", "  static const std::vector<Forwarding> rows = {"]
    for f in functions:
        if is_forwarded(f):
            lines += ['      forwarding<&Table::%s, MPI_%s, PMPI_%s>("%s"),' % (f.name, f.name, f.name, f.name)]
    lines += ["  };", "  return rows;", "}", "", "}  // namespace shim::intercept::testing", ""]
    return "\n".join(lines)
