# SPDX-License-Identifier: BSD-3-Clause
"""Emits functions that the MPI library offers under a name of its own, from before MPI had them.

The table of the overlay lists them (rows `extension`). A call is the native library's unless
Intersession has one of its handles or answers the call itself: then the standard's function, which
has the same parameters, does it."""

import emit_entries
from emit import END_OF_EXPORTS, NOTICE


def _entry(function, name):
    parameters = function.signature_parameters
    names = ", ".join(p.name for p in function.parameters)
    test = emit_entries.condition_of_intersession(function)
    return [
        "%s %s(%s) {" % (function.returns, name, parameters),
        "  if (detect_activity() && !(%s))" % test,
        '    if (auto* native_function = fortran::find_native<decltype(%s)>("%s"))' % (name, name),
        "      return native_function(%s);" % names,
        "  return ::%s(%s);" % (function.mpi_name, names),
        "}",
        '[[gnu::alias("%s")]] %s P%s(%s);' % (name, function.returns, name, parameters),
    ]


def source(functions, extensions):
    """Return a source file with these functions; `extensions` has (name, standard name) pairs."""
    by_name = {function.mpi_name: function for function in functions}
    lines = [
        NOTICE,
        "#include <mpi.h>",
        "",
        '#include "shim/intercept/abi/ours.hpp"',
        '#include "shim/intercept/dispatch.hpp"',
        '#include "shim/intercept/native/activity.hpp"',
        '#include "shim/intercept/native/arrays.hpp"',
        '#include "shim/intercept/native/fortran.hpp"',
        "",
        "namespace shim::intercept {",
        "#pragma GCC visibility push(default)",
        'extern "C" {',
        "",
    ]
    for name, standard_name in extensions:
        lines += _entry(by_name[standard_name], name)
    return "\n".join(lines + END_OF_EXPORTS)
