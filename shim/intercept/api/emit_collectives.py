# SPDX-License-Identifier: BSD-3-Clause
"""The bodies of collectives: each is written once by hand, as a template collective::x, and here called in all its ways and with
both sizes of counts."""

from emit import NOTICE, subject_expression

# How a collective is called when it has parameters of these kinds (MPI-4.1 §6.12, §6.13).
WAYS = {(): "Blocking", ("REQUEST",): "Nonblocking", ("INFO", "REQUEST"): "Persistent"}


def _body(function, number):
    way = [p for p in function.parameters if p.kind in ("INFO", "REQUEST")]
    kind = WAYS[tuple(p.kind for p in way)]
    arguments = [p.name for p in function.parameters if p not in way]
    comm = next(p.name for p in function.parameters if p.kind == "COMMUNICATOR")
    return ["int %s(%s) {" % (function.name, function.signature_parameters),
            '  return deliver(%s, "%s", [&] {' % (subject_expression(function), function.mpi_name),
            "    CalledOnce called{%d};" % number,
            "    return settled(called, %s, %s::kIsLasting, collective::%s(%s, %s{%s}));" % (
                comm, kind, function.collective, ", ".join(arguments), kind, ", ".join(["called"] + [p.name for p in way])),
            "  });", "}"]


def source(functions):
    lines = [NOTICE, '#include "shim/intercept/bodies/collectives.hpp"', '#include "shim/intercept/generated/bodies.hpp"', "",
             "namespace shim::intercept::ours {", ""]
    # MPI_X and MPI_IX are two collectives: they do not match each other (MPI-4.1 §6.12). Large counts make no difference.
    names = sorted({function.mpi_name.removesuffix("_c") for function in functions if function.collective})
    numbers = {name: 1 + i for i, name in enumerate(names)}
    assert len(numbers) < 256, "their numbers travel in a byte"
    for function in functions:
        if function.collective:
            lines += _body(function, numbers[function.mpi_name.removesuffix("_c")])
    return "\n".join(lines + ["", "}  // namespace shim::intercept::ours", ""])
