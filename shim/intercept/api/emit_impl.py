# SPDX-License-Identifier: BSD-3-Clause
"""Emits prototypes of hand-written implementations, and of entry points that mpi.h lacks."""

from emit import NOTICE


def declarations(functions):
    """Return declarations of all implementations that the description's flags name.

    If one of them is not defined, the library does not link.
    """
    lines = [
        NOTICE,
        "#pragma once",
        "",
        "#include <mpi.h>",
        "",
        '#include "shim/intercept/generated/prototypes.hpp"',
        "",
    ]
    for namespace, comment, wanted in (
        (
            "impl",
            "Serves calls on objects of Intersession; some of these functions also serve native\n"
            "/// objects while the native library is not initialised.",
            lambda f: f.has_impl,
        ),
        (
            "impl_when_inactive",
            "Serves calls on native objects while the native library is not initialised.",
            lambda f: f.has_inactive_impl,
        ),
        (
            "impl_when_served",
            "Serves calls on the world model while Intersession serves it.",
            lambda f: f.has_served_impl,
        ),
        (
            "composed",
            "Composes a function that the native library lacks of functions that it has.",
            lambda f: f.is_composed,
        ),
    ):
        lines += ["/// " + comment, "namespace shim::intercept::%s {" % namespace]
        lines += [
            "%s %s(%s);" % (f.returns, f.name, f.signature_parameters)
            for f in functions
            if wanted(f)
        ]
        lines += ["}  // namespace shim::intercept::%s" % namespace, ""]
    return "\n".join(lines)


def prototypes(functions, native):
    """Return prototypes that no header has: removed functions, and functions that are macros."""
    lines = [NOTICE, "#pragma once", "", "#include <mpi.h>", "", 'extern "C" {']
    for f in functions:
        names = [f.mpi_name, "P" + f.mpi_name]
        if names[0] in native.functions or not (f.removed or names[0] in native.macros):
            continue
        lines += ["#undef %s" % name for name in names if name in native.macros]
        lines += ["%s %s(%s);" % (f.returns, name, f.signature_parameters) for name in names]
    return "\n".join(lines + ['}  // extern "C"', ""])
