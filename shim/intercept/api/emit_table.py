# SPDX-License-Identifier: BSD-3-Clause
"""Emits the table of native functions: its type, and two instances with their initial functions."""

import emit_composed
from emit import NOTICE, call, error, fail, subject_expression


def header(functions):
    lines = [
        NOTICE,
        "#pragma once",
        "",
        "#include <mpi.h>",
        "",
        "#include <atomic>",
        "",
        '#include "shim/intercept/generated/prototypes.hpp"',
        '#include "shim/intercept/native/atomic_function.hpp"',
        "",
        "namespace shim::intercept {",
        "",
        "/// One slot per function of the native library.",
        "struct Table {",
    ]
    lines += ["  AtomicFunction<%s> %s;" % (f.signature_type, f.name) for f in functions]
    lines += [
        "};",
        "",
        "// -fvisibility does not apply to declarations: without the pragma, each forwarded call",
        "// would load the address of the table.",
        "#pragma GCC visibility push(hidden)",
        "/// Table of the initialised native library: calls on its objects go to its functions.",
        "extern Table active_table;",
        "/// Table while the native library is not initialised and most calls would end the",
        "/// process: Intersession serves them.",
        "extern Table inactive_table;",
        "/// Table while Intersession serves the world model (INTERSESSION_WORLD=sessions).",
        "extern Table served_table;",
        "/// Table while the native library is initialised and sessions are open, if the library",
        "/// has no progress callbacks: blocking calls are polled.",
        "extern Table polling_table;",
        "/// The table in use. The release stores of threads that start and end the library pair",
        "/// with the acquire in native().",
        "extern std::atomic<const Table*> current_table;",
        "#pragma GCC visibility pop",
        "inline const Table& native() noexcept {",
        "  return *current_table.load(std::memory_order_acquire);",
        "}",
        "",
        "}  // namespace shim::intercept",
        "",
    ]
    return "\n".join(lines)


def _lacking(function):
    if function.route == "tool":
        return "return MPI_T_ERR_NOT_SUPPORTED;"
    unsupported = fail(
        function, error(function, "unsupported_natively" if function.has_impl else "unsupported")
    )
    composed = emit_composed.impl(function)
    if composed is None:
        return unsupported
    return "if (is_native_only()) { %s } try { %s } catch (const std::exception&) { %s }" % (
        unsupported,
        composed,
        fail(function, error(function, "fail_with_exception")),
    )


def _definition(prefix, function, body):
    return "%s %s_%s(%s) { %s }" % (
        function.returns,
        prefix,
        function.name,
        function.signature_parameters,
        body,
    )


def _inactive(function):
    """Return the definition of the inactive slot's initial function."""
    active = "return active_table.%s;" % call(function)
    if function.inactive_namespace:
        body = (
            "if (became_active()) { %s } try { return %s::%s; } catch (const std::exception&) { %s "
            "}"
            % (
                active,
                function.inactive_namespace,
                call(function),
                fail(function, error(function, "fail_with_exception")),
            )
        )
    elif function.is_anytime or function.route in ("state", "tool"):
        body = active
    else:
        body = 'if (auto code = refuse_when_inactive(%s, "%s")) { %s } %s' % (
            subject_expression(function),
            function.mpi_name,
            fail(function, "*code"),
            active,
        )
    return _definition("inactive", function, body)


def source(functions):
    lines = [
        NOTICE,
        '#include "shim/intercept/generated/table.hpp"',
        "",
        '#include "shim/intercept/dispatch.hpp"',
        '#include "shim/intercept/generated/impl.hpp"',
        '#include "shim/intercept/impl/request/composed.hpp"',
        '#include "shim/intercept/native/activity.hpp"',
        '#include "shim/intercept/native/substrate.hpp"',
        "",
        '#pragma GCC diagnostic ignored "-Wunused-parameter"',
        "",
        "namespace shim::intercept {",
        "namespace {",
        "",
    ]
    for f in functions:
        lines.append(_definition("lacking", f, _lacking(f)))
        lines.append(
            _definition(
                "resolve",
                f,
                'find(active_table.%s, "P%s", lacking_%s); return active_table.%s;'
                % (f.name, f.mpi_name, f.name, call(f)),
            )
        )
        lines.append(_inactive(f))
    lines += ["", "}  // namespace", "", "constinit Table active_table = {"]
    lines += ["    .%s = resolve_%s," % (f.name, f.name) for f in functions]
    lines += ["};", "", "constinit Table inactive_table = {"]
    lines += ["    .%s = inactive_%s," % (f.name, f.name) for f in functions]
    lines += [
        "};",
        "",
        "constinit std::atomic<const Table*> current_table = &inactive_table;",
        "",
        "}  // namespace shim::intercept",
        "",
    ]
    return "\n".join(lines)
