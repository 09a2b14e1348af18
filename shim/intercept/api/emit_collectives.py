# SPDX-License-Identifier: BSD-3-Clause
"""Emits the implementations of collectives.

Each is written once by hand, as a template collective::x. The emitted functions call it in all call
modes and with both sizes of counts."""

from emit import NOTICE, subject_expression

# Call mode of a collective with parameters of these kinds (MPI-4.1 §6.12, §6.13).
CALL_MODES = {(): "Blocking", ("REQUEST",): "Nonblocking", ("INFO", "REQUEST"): "Persistent"}


def _impl(function, number):
    mode_parameters = [p for p in function.parameters if p.kind in ("INFO", "REQUEST")]
    kind = CALL_MODES[tuple(p.kind for p in mode_parameters)]
    arguments = [p.name for p in function.parameters if p not in mode_parameters]
    comm = next(p.name for p in function.parameters if p.kind == "COMMUNICATOR")
    return [
        "int %s(%s) {" % (function.name, function.signature_parameters),
        '  return run_with_handler(%s, "%s", [&] {'
        % (subject_expression(function), function.mpi_name),
        "    CallRecord record{%d};" % number,
        "    return settled(record, %s, %s::kIsPersistent, collective::%s(%s, %s{%s}));"
        % (
            comm,
            kind,
            function.collective,
            ", ".join(arguments),
            kind,
            ", ".join(["record"] + [p.name for p in mode_parameters]),
        ),
        "  });",
        "}",
    ]


def source(functions):
    lines = [
        NOTICE,
        '#include "shim/intercept/impl/coll/collectives.hpp"',
        '#include "shim/intercept/generated/impl.hpp"',
        "",
        "namespace shim::intercept::impl {",
        "",
    ]
    # MPI_X and MPI_IX have different numbers, because they never match (MPI-4.1 §6.12).
    # Large and small forms have one number.
    names = sorted(
        {function.mpi_name.removesuffix("_c") for function in functions if function.collective}
    )
    numbers = {name: 1 + i for i, name in enumerate(names)}
    assert len(numbers) < 256, "their numbers travel in a byte"
    for function in functions:
        if function.collective:
            lines += _impl(function, numbers[function.mpi_name.removesuffix("_c")])
    return "\n".join(lines + ["", "}  // namespace shim::intercept::impl", ""])
