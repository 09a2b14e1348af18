# SPDX-License-Identifier: BSD-3-Clause
"""Finds the names that the native library's mpi.h declares, with the preprocessor."""

import dataclasses
import re
import subprocess


@dataclasses.dataclass(frozen=True)
class NativeHeader:
    functions: frozenset  # MPI_X with a prototype
    macros: frozenset  # MPI_X and PMPI_X with a definition, constants included
    names: frozenset  # every identifier of the preprocessed header: types, enumerators
    version: str = "0.0"  # of the standard, by MPI_VERSION and MPI_SUBVERSION
    parameters: dict = dataclasses.field(default_factory=dict)  # of each prototype, as text

    def parameters_of(self, function):
        """Return a function's parameters, each without a const that the header's prototype lacks.

        An entry with other parameter types than the header's prototype is another function in C++.
        """
        theirs = self.parameters.get(function.mpi_name, ())
        if not theirs or len(theirs) != len(function.parameters):
            return function.signature_parameters
        return ", ".join(
            p.declaration
            if "const" in there.split()
            else re.sub(r"^const (?=.*[\[*])", "", p.declaration)
            for p, there in zip(function.parameters, theirs)
        )


def read(text, definitions):
    """Return the NativeHeader of a preprocessed header and its list of macro definitions."""
    functions = frozenset(re.findall(r"\b(MPI_\w+)\s*\(", text)) - frozenset(
        re.findall(r"\(\s*(MPI_\w+)\s*\)\s*\(", text)
    )
    macros = frozenset(re.findall(r"^#define\s+(P?MPI_\w+)", definitions, re.MULTILINE))
    version = [
        re.search(r"^#define MPI_%s (\d+)$" % part, definitions, re.MULTILINE)
        for part in ("VERSION", "SUBVERSION")
    ]
    return NativeHeader(
        functions,
        macros,
        frozenset(re.findall(r"\bMPI_\w+", text)),
        ".".join(part[1] for part in version) if all(version) else "0.0",
        {
            name: tuple(map(str.strip, listed.split(",")))
            for name, listed in re.findall(r"\b(MPI_\w+)\s*\(([^()]*)\)", text)
        },
    )


def probe(compiler, include_directories):
    command = [compiler, "-E", "-P", "-x", "c"] + [
        "-I" + directory for directory in include_directories
    ]
    run = lambda *more: subprocess.run(
        command + list(more) + ["-"],
        input="#include <mpi.h>\n",
        text=True,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    return read(run(), run("-dM"))
