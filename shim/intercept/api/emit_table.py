# SPDX-License-Identifier: BSD-3-Clause
"""The table of the library below: its type, and its two instances with the functions that slots start with."""

import emit_composed
from emit import NOTICE, call, error, fail, subject_expression


def header(functions):
    lines = [NOTICE, "#pragma once", "", "#include <mpi.h>", "", "#include <atomic>", "",
             '#include "shim/intercept/generated/prototypes.hpp"', '#include "shim/intercept/native/slot.hpp"', "",
             "namespace shim::intercept {", "", "/// One slot per function of the library below.", "struct Table {"]
    lines += ["  Slot<%s> %s;" % (f.signature_type, f.name) for f in functions]
    lines += ["};", "", "// Said here, because -fvisibility says nothing of declarations: else each way down would ask where the tables are.",
              "#pragma GCC visibility push(hidden)",
              "/// While the library below is initialised every call on its objects goes to its function.",
              "extern Table active_table;",
              "/// While it is not, most calls would end the process there: ours answer.",
              "extern Table idle_table;",
              "/// While sessions are open, too, above a library that does not let us in while it waits: what waits there is polled.",
              "extern Table lending_table;",
              "/// Which of them is in force. The release stores of those who start and end it pair with the acquire in native().",
              "extern std::atomic<const Table*> current_table;", "#pragma GCC visibility pop",
              "inline const Table& native() noexcept { return *current_table.load(std::memory_order_acquire); }", "",
              "}  // namespace shim::intercept", ""]
    return "\n".join(lines)


def _lacking(function):
    if function.route == "tool":
        return "return MPI_T_ERR_NOT_SUPPORTED;"
    unsupported, composed = fail(function, error(function, "unsupported")), emit_composed.body(function)
    if composed is None:
        return unsupported
    return "if (passes_on()) { %s } try { %s } catch (const std::exception&) { %s }" % (
        unsupported, composed, fail(function, error(function, "caught")))


def _definition(prefix, function, body):
    return "%s %s_%s(%s) { %s }" % (function.returns, prefix, function.name, function.signature_parameters, body)


def _idle(function):
    """The idle slot's first function: (its definition or None, its name)."""
    active = "return active_table.%s;" % call(function)
    if function.idle_namespace:
        body = "if (is_active_after_all()) { %s } try { return %s::%s; } catch (const std::exception&) { %s }" % (
            active, function.idle_namespace, call(function), fail(function, error(function, "caught")))
    elif function.is_anytime or function.route in ("state", "tool"):
        body = active
    else:
        body = 'if (auto code = idle_call(%s, "%s")) { %s } %s' % (subject_expression(function), function.mpi_name, fail(function, "*code"), active)
    return _definition("idle", function, body)


def source(functions):
    lines = [NOTICE, '#include "shim/intercept/generated/table.hpp"', "",
             '#include "shim/intercept/border.hpp"', '#include "shim/intercept/generated/bodies.hpp"',
             '#include "shim/intercept/native/composed.hpp"',
             '#include "shim/intercept/native/substrate.hpp"', '#include "shim/intercept/substrate.hpp"', "",
             "#pragma GCC diagnostic ignored \"-Wunused-parameter\"", "",
             "namespace shim::intercept {", "namespace {", ""]
    for f in functions:
        lines.append(_definition("lacking", f, _lacking(f)))
        lines.append(_definition("resolve", f, 'find(active_table.%s, "P%s", lacking_%s); return active_table.%s;' % (
            f.name, f.mpi_name, f.name, call(f))))
        lines.append(_idle(f))
    lines += ["", "}  // namespace", "", "constinit Table active_table = {"]
    lines += ["    .%s = resolve_%s," % (f.name, f.name) for f in functions]
    lines += ["};", "", "constinit Table idle_table = {"]
    lines += ["    .%s = idle_%s," % (f.name, f.name) for f in functions]
    lines += ["};", "", "constinit std::atomic<const Table*> current_table = &idle_table;", "",
              "}  // namespace shim::intercept", ""]
    return "\n".join(lines)
