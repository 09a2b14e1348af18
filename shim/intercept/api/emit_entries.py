# SPDX-License-Identifier: BSD-3-Clause
"""Emits the entry points MPI_X, with PMPI_X as an alias.

Each tests for handles of ours and then jumps through the table. Code for objects of ours is out of
line, so that the forwarding path is a compare and a jump. The functions are not noexcept: noexcept
would prevent the jump, and a user's C++ error handler may throw through the native library."""

import kinds
from emit import NOTICE, call, error, fail, subject_expression


def _is_ours(function, parameter):
    """Return C++ that tests a deciding parameter, as (argument for any_ours(), separate test).

    One of the two is None.
    """
    if function.route == "array":
        return None, "ours_in(%s, %s)" % (parameter.name, function.route_arguments[1])
    if function.route == "by_fint":
        return None, "abi::is_ours_as_fint(%s)" % parameter.name
    if function.route == "by_deref":
        return None, "ours_at(%s)" % parameter.name
    return _by_value(parameter)


def _by_value(parameter):
    return (
        (None, "%s(%s)" % (parameter.handle.test, parameter.name))
        if parameter.handle.test
        else (parameter.name, None)
    )


def _test(function, parameters):
    tests = [_is_ours(function, p) if p in function.deciding else _by_value(p) for p in parameters]
    together = [name for name, _ in tests if name]
    alone = [expression for _, expression in tests if expression]
    if together:
        alone.append("any_ours(%s)" % ", ".join(together))
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


def _out_of_line(function, name, lines):
    is_on_the_way = "hot" in function.flags and name != "forward"
    attributes = "gnu::noinline, gnu::hot" if is_on_the_way else "gnu::noinline"
    return (
        [
            "[[%s]] %s %s_%s(%s) {"
            % (attributes, function.returns, name, function.name, function.signature_parameters)
        ]
        + lines
        + ["}"]
    )


def _slow_path(function):
    """Return the function for calls with objects of ours; None if no parameter can be one.

    If it must first test whether a deciding handle is ours, both branches are separate functions:
    dispatch_X then saves no registers and ends in a jump to one of them.
    """
    deciding, others = function.deciding, function.other_handles
    if function.route in ("tool", "ours", "state") or not (deciding or others):
        return None
    has_impl_path = deciding and (
        function.has_impl
        or not (function.route == "by_handle" and all(p.handle.has_native_handle for p in deciding))
    )
    impl_lines = []
    if has_impl_path:
        impl_lines = (
            ["  " + _impl_call(function)]
            if function.has_impl
            else _null_files(function) + ["  " + _unsupported(function)]
        )
    replaced = others if has_impl_path else deciding + others
    forward = _forward(function, replaced) if replaced or function.among else []
    if not (impl_lines and forward):
        return _out_of_line(function, "dispatch", impl_lines + forward)
    return (
        _out_of_line(function, "run_impl", impl_lines)
        + _out_of_line(function, "forward", forward)
        + _out_of_line(
            function,
            "dispatch",
            [
                "  if (%s) return run_impl_%s;" % (_test(function, deciding), call(function)),
                "  return forward_%s;" % call(function),
            ],
        )
    )


def _tool_tests(function):
    """Return C++ tests for objects of ours in calls of tools.

    They have no native handle in these calls, because most are passed by address.
    """
    tests = ["any_ours(%s)" % p.name for p in function.other_handles]
    return tests + [
        "ours_behind(%s)" % p.name for p in function.parameters if p.kind == kinds.TOOL_OBJECT
    ]


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
            test = _test(function, possible) + (" || " + _among(function) if function.among else "")
            lines.append("  if (%s) [[unlikely]] return dispatch_%s;" % (test, call(function)))
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
        '#include "shim/intercept/abi/predefined.hpp"',
        '#include "shim/intercept/dispatch.hpp"',
        '#include "shim/intercept/generated/impl.hpp"',
        '#include "shim/intercept/generated/table.hpp"',
        '#include "shim/intercept/native/arrays.hpp"',
        '#include "shim/intercept/substrate.hpp"',
        "",
        '#pragma GCC diagnostic ignored "-Wunused-parameter"',
        "",
        "namespace shim::intercept {",
        "namespace {",
        "",
    ]
    for function in functions:
        lines += _slow_path(function) or []
    lines += ["", "}  // namespace", "", "#pragma GCC visibility push(default)", 'extern "C" {', ""]
    for function in functions:
        lines += _entry(function, native)
    lines += [
        "",
        '}  // extern "C"',
        "#pragma GCC visibility pop",
        "}  // namespace shim::intercept",
        "",
    ]
    return "\n".join(lines)
