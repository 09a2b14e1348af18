# SPDX-License-Identifier: BSD-3-Clause
"""Prototypes: those of the hand-written bodies, and those of entry points that the header in use does not declare."""

from emit import NOTICE


def bodies(functions):
    """Every flag in the description is a promise: a body that is declared here and defined nowhere is a link error."""
    lines = [NOTICE, "#pragma once", "", "#include <mpi.h>", "", '#include "shim/intercept/generated/prototypes.hpp"', ""]
    for namespace, comment, wanted in (
            ("ours", "Calls on objects of ours; some of these answer for the library below as well, while it is not initialised.", lambda f: f.has_body),
            ("idle", "Calls on the library below while it is not initialised.", lambda f: f.has_idle_body),
            ("below", "Calls on a library below that lacks the function, made of those that it has.", lambda f: f.is_composed)):
        lines += ["/// " + comment, "namespace shim::intercept::%s {" % namespace]
        lines += ["%s %s(%s);" % (f.returns, f.name, f.signature_parameters) for f in functions if wanted(f)]
        lines += ["}  // namespace shim::intercept::%s" % namespace, ""]
    return "\n".join(lines)


def prototypes(functions, native):
    """Entry points that the overlay's users do not see: removed functions, and those that the header has as macros."""
    lines = [NOTICE, "#pragma once", "", "#include <mpi.h>", "", 'extern "C" {']
    for f in functions:
        names = [f.mpi_name, "P" + f.mpi_name]
        if names[0] in native.functions or not (f.removed or names[0] in native.macros):
            continue
        lines += ["#undef %s" % name for name in names if name in native.macros]
        lines += ["%s %s(%s);" % (f.returns, name, f.signature_parameters) for name in names]
    return "\n".join(lines + ['}  // extern "C"', ""])
