# SPDX-License-Identifier: BSD-3-Clause
"""Emits the entry points MPI_X, with PMPI_X as an alias.

Each tests for handles of ours and then jumps through the table. Code for objects of ours is out of
line, so that the forwarding path is a compare and a jump. The function that calls impl::X is an
overload of MPI_X, so that debuggers show a frame MPI_X; the compiler does not save registers late
enough to put the call into the entry itself. Reports of waiting calls find its name in a table of
start addresses (shim/intercept/progress/entry_names.hpp). The functions are not noexcept: noexcept
would prevent the jump, and a user's C++ error handler may throw through the native library."""

import kinds
from emit import END_OF_EXPORTS, NOTICE, call, error, fail, subject_expression


def _is_ours(function, parameter):
    """Return C++ that tests a deciding parameter, as (argument for abi::any_ours(), separate test).

    One of the two is None.
    """
    if function.route == "array":
        return None, "abi::ours_in(%s, %s)" % (parameter.name, function.route_arguments[1])
    if function.route == "by_fint":
        return None, "abi::is_ours_as_fint(%s)" % parameter.name
    if function.route == "by_deref":
        return None, "abi::ours_at(%s)" % parameter.name
    return _by_value(parameter)


def _by_value(parameter):
    return (
        (None, "abi::%s(%s)" % (parameter.handle.test, parameter.name))
        if parameter.handle.test
        else (parameter.name, None)
    )


def _test(function, parameters):
    tests = [_is_ours(function, p) if p in function.deciding else _by_value(p) for p in parameters]
    together = [name for name, _ in tests if name]
    alone = [expression for _, expression in tests if expression]
    if together:
        alone.append("abi::any_ours(%s)" % ", ".join(together))
    return " || ".join(alone)


def _among(function):
    """Return C++ that searches the arrays that do not select the library."""
    arrays, comm = function.other_arrays, function.deciding[0].name
    if function.among == "root":
        return "ours_among(%s, %s, %s, %s)" % (
            comm,
            function.of_kind("RANK").name,
            arrays[0].name,
            function.of_kind("ARRAY_LENGTH_PI").name,
        )
    return "ours_among(%s, Reach::%s, {%s})" % (
        comm,
        function.among,
        ", ".join([function.of_kind("BUFFER").name] + [p.name for p in arrays]),
    )


def condition_of_intersession(function):
    """Return C++ that is true if the native library cannot have all handles of a call."""
    test = _test(function, function.deciding + function.other_handles)
    return test + (" || " + _among(function) if function.among else "")


def _impl_call(function):
    return "try { return impl::%s; } catch (const std::exception&) { %s }" % (
        call(function),
        fail(function, error(function, "fail_with_exception")),
    )


def _unsupported(function):
    return fail(function, error(function, "unsupported"))


def _null_files(function):
    """Return lines that set output files to the null handle.

    Fortran interfaces convert the handles even if the call fails.
    """
    made = [
        p.name
        for p in function.parameters
        if p.kind == "FILE" and not p.is_scalar and p not in function.deciding
    ]
    return ["  if (%s != nullptr) *%s = abi::predefined.file_null;" % (name, name) for name in made]


def _forward(function, parameters):
    """Return lines that replace or refuse our handles in parameters, then forward the call."""
    lines = []
    for p in parameters:
        kind = p.handle.name
        lines.append(
            '  if (int code = %s(%s, "%s", %s)) { %s }'
            % (
                "to_native_" + kind if p.handle.has_native_handle else "refuse",
                subject_expression(function),
                function.mpi_name,
                p.name
                if p.handle.has_native_handle
                else "abi::HandleKind::%s, %s" % (kind, p.name),
                fail(function, "code"),
            )
        )
    if function.among:
        lines.append(
            "  if (%s) { %s }"
            % (
                _among(function),
                fail(
                    function,
                    'fail_wrong_library(%s, "%s", abi::HandleKind::%s)'
                    % (
                        subject_expression(function),
                        function.mpi_name,
                        function.other_arrays[0].handle.name,
                    ),
                ),
            )
        )
    return lines + ["  return native().%s;" % call(function)]


def _attributes(function):
    return "gnu::noinline, gnu::hot" if "hot" in function.flags else "gnu::noinline"


def _out_of_line(function, name, lines):
    attributes = "gnu::noinline" if name == "forward" else _attributes(function)
    return (
        [
            "[[%s]] %s %s_%s(%s) {"
            % (attributes, function.returns, name, function.name, function.signature_parameters)
        ]
        + lines
        + ["}"]
    )


def _impl_lines(function):
    """Return the lines that run a call on objects of ours; empty if no such call is possible."""
    deciding = function.deciding
    if function.route in ("tool", "ours", "state") or not deciding:
        return []
    if not function.has_impl:
        is_forwarded = function.route == "by_handle" and all(
            p.handle.has_native_handle for p in deciding
        )
        return [] if is_forwarded else _null_files(function) + ["  " + _unsupported(function)]
    return ["  " + _impl_call(function)]


def _our_overload(function):
    """Return the overload of MPI_X for objects of ours, in the global namespace."""
    lines = _impl_lines(function)
    if not lines:
        return []
    head = "[[%s]] static %s %s(%s, shim::intercept::OnOurObject) {"
    return (
        [
            head
            % (
                _attributes(function),
                function.returns,
                function.mpi_name,
                function.signature_parameters,
            ),
            "  using namespace shim::intercept;",
        ]
        + lines
        + ["}"]
    )


def _call_of_overload(function):
    return "::%s(%s, OnOurObject{})" % (
        function.mpi_name,
        ", ".join(p.name for p in function.parameters),
    )


def _name_rows(functions):
    """Return the rows of the table of start addresses and names."""
    rows = []
    for function in functions:
        if _impl_lines(function):
            cast = "static_cast<%s (*)(%s, OnOurObject)>(&::%s)" % (
                function.returns,
                function.signature_parameters,
                function.mpi_name,
            )
            rows.append(
                '    {reinterpret_cast<const void*>(%s), "%s"},' % (cast, function.mpi_name)
            )
    return rows


def _to_served(function):
    """Return lines that replace MPI_COMM_WORLD and MPI_COMM_SELF while Intersession serves them."""
    lines = ["  if (is_served_table_current()) {"]
    for p in function.world_comms:
        lines.append(
            '    if (int code = to_served_comm(%s, "%s", %s)) return code;'
            % (subject_expression(function), function.mpi_name, p.name)
        )
    return lines + ["  }"]


def _slow_path(function):
    """Return the function for calls with objects of ours; None if no parameter can be one.

    dispatch_X saves no registers and ends in a jump: to the overload of MPI_X, or, if it must first
    test whether a deciding handle is ours, to that or to forward_X. While Intersession serves the
    world model, other communicators of the call may be MPI_COMM_WORLD or MPI_COMM_SELF.
    """
    deciding, others = function.deciding, function.other_handles
    if function.route in ("tool", "ours", "state") or not (deciding or others):
        return None
    is_ours = bool(_impl_lines(function))
    replaced = others if is_ours else deciding + others
    forward = _forward(function, replaced) if replaced or function.among else []
    if not is_ours:
        return _out_of_line(function, "dispatch", forward)
    if not forward:
        if len(function.world_comms) < 2:
            return []
        return _out_of_line(
            function,
            "dispatch",
            _to_served(function) + ["  return %s;" % _call_of_overload(function)],
        )
    if function.world_comms:
        forward.insert(0, "  if (is_served_table_current()) return served_%s;" % call(function))
    return _out_of_line(function, "forward", forward) + _out_of_line(
        function,
        "dispatch",
        (_to_served(function) if len(function.world_comms) > 1 else [])
        + [
            "  if (%s) return %s;" % (_test(function, deciding), _call_of_overload(function)),
            "  return forward_%s;" % call(function),
        ],
    )


def _slow_call(function):
    """Return the call of the slow path in the entry."""
    has_dispatch = bool(_slow_path(function))
    return "dispatch_" + call(function) if has_dispatch else _call_of_overload(function)


def served_prototype(function):
    """Return the head of the served table's function for a call with communicators by value."""
    return "%s served_%s(%s)" % (function.returns, function.name, function.signature_parameters)


def _served_without_impl(function):
    """Return the body for a function that no communicator of Intersession supports: make none."""
    names = [p.name for p in function.world_comms]
    lines = [
        "  const bool is_predefined = %s;"
        % " || ".join("is_predefined_comm(%s)" % name for name in names)
    ]
    lines += ["  %s = served_comm_if_made(%s);" % (name, name) for name in names]
    return lines + [
        "  if (!is_predefined) return inactive_table.%s;" % call(function),
        *_null_files(function),
        "  " + _unsupported(function),
        "}",
    ]


def _served(function):
    """Return the served table's function.

    It replaces MPI_COMM_WORLD and MPI_COMM_SELF with the communicators that serve them. A function
    with the flag `local` does not make the communicator of MPI_COMM_WORLD.
    """
    comms = function.world_comms
    if not comms:
        return []
    lines = ["%s {" % served_prototype(function)]
    if not function.has_impl:
        return lines + _served_without_impl(function)
    for p in comms:
        replace = "to_served_comm" + ("_if_local" if function.is_local else "")
        lines.append("  const MPI_Comm given_%s = %s;" % (p.name, p.name))
        lines.append(
            '  if (int code = %s(%s, "%s", %s)) [[unlikely]] return code;'
            % (replace, subject_expression(function), function.mpi_name, p.name)
        )
    unchanged = " && ".join("%s == given_%s" % (p.name, p.name) for p in comms)
    lines += [
        "  if (%s) return inactive_table.%s;" % (unchanged, call(function)),
        "  return %s;" % _slow_call(function),
        "}",
    ]
    return lines


def _tool_tests(function):
    """Return C++ tests for objects of ours in calls of tools.

    They have no native handle in these calls, because most are passed by address. In the served
    world model the native library has no objects.
    """
    tests = ["abi::any_ours(%s)" % p.name for p in function.other_handles]
    for p in function.parameters:
        if p.kind == kinds.TOOL_OBJECT:
            tests.append("abi::ours_behind(%s)" % p.name)
            tests.append("(%s != nullptr && is_served_table_current())" % p.name)
    return tests


def _entry(function, native):
    parameters = native.parameters_of(function)
    lines = ["%s %s(%s) {" % (function.returns, function.mpi_name, parameters)]
    if function.route == "ours" or (function.route == "state" and function.has_impl):
        lines.append(
            "  if (is_native_only()) [[unlikely]] return active_table.%s;" % call(function)
        )
        lines.append("  " + (_impl_call(function) if function.has_impl else _unsupported(function)))
    else:
        possible = (
            []
            if function.route in ("tool", "state")
            else function.deciding + function.other_handles
        )
        if function.route == "tool":
            lines += [
                "  if (%s) return MPI_T_ERR_INVALID_HANDLE;" % test
                for test in _tool_tests(function)
            ]
        if possible:
            test = condition_of_intersession(function)
            lines.append("  if (%s) [[unlikely]] return %s;" % (test, _slow_call(function)))
        lines.append("  return native().%s;" % call(function))
    lines += [
        "}",
        '[[gnu::alias("%s")]] %s P%s(%s);'
        % (function.mpi_name, function.returns, function.mpi_name, parameters),
    ]
    return lines


def source(functions, native):
    """Return a source file with the entries of these functions, for a native header."""
    lines = [
        NOTICE,
        "#include <mpi.h>",
        "",
        '#include "shim/intercept/abi/ours.hpp"',
        '#include "shim/intercept/abi/predefined.hpp"',
        '#include "shim/intercept/dispatch.hpp"',
        '#include "shim/intercept/generated/impl.hpp"',
        '#include "shim/intercept/generated/served.hpp"',
        '#include "shim/intercept/generated/table.hpp"',
        '#include "shim/intercept/impl/world/served_world.hpp"',
        '#include "shim/intercept/native/activity.hpp"',
        '#include "shim/intercept/native/arrays.hpp"',
        '#include "shim/intercept/progress/entry_names.hpp"',
        "",
        '#pragma GCC diagnostic ignored "-Wunused-parameter"',
        "",
    ]
    for function in functions:
        lines += _our_overload(function)
    lines += [
        "",
        "namespace shim::intercept {",
        "namespace {",
        "",
    ]
    for function in functions:
        lines += _slow_path(function) or []
    lines += [
        "",
        '[[gnu::section("intersession_entry_names"), gnu::used]] const EntryName kNames[] = {',
        *_name_rows(functions),
        "};",
    ]
    lines += ["", "}  // namespace", ""]
    for function in functions:
        lines += _served(function)
    lines += ["", "#pragma GCC visibility push(default)", 'extern "C" {', ""]
    for function in functions:
        lines += _entry(function, native)
    return "\n".join(lines + END_OF_EXPORTS)
