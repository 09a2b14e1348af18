#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Generates sources and pages from the API description. Equal inputs give equal bytes.

generate.py sources --substrate NAME --version X.Y.Z --compiler CC --include DIR… --output DIR
    writes C++ sources, headers, the overlay and the export list
generate.py coverage --substrate NAME --compiler CC --include DIR…
    prints the coverage page
"""

import argparse
import pathlib
import sys

import description
import emit_impl
import emit_collectives
import emit_coverage
import emit_entries
import emit_extensions
import emit_fortran
import emit_polling
import emit_overlay
import emit_served
import emit_table
import emit_tests
import probe
import tested_by

HERE = pathlib.Path(__file__).resolve().parent
ENTRY_FILES = 4  # entry points are split so that cores can compile them in parallel


def outputs(substrate, version, functions, overlay_rows, native):
    """Return the text of every generated file, by path below the output folder."""
    root, share = "generated/%s/" % substrate, -(-len(functions) // ENTRY_FILES)
    folder = root + "shim/intercept/generated/"
    files = {
        "include/intersession/%s/mpi.h"
        % substrate: emit_overlay.header(functions, overlay_rows, native, version),
        folder + "table.hpp": emit_table.header(functions),
        folder + "table.cpp": emit_table.source(functions),
        folder + "polling.cpp": emit_polling.source(functions),
        folder + "served.hpp": emit_served.header(functions),
        folder + "served.cpp": emit_served.source(functions),
        folder + "impl.hpp": emit_impl.declarations(functions),
        folder + "collectives.cpp": emit_collectives.source(functions),
        folder
        + "extensions.cpp": emit_extensions.source(
            functions, emit_overlay.extensions(overlay_rows)
        ),
        folder
        + "fortran.cpp": emit_fortran.source(
            functions, emit_overlay.fortran_entries(overlay_rows), substrate
        ),
        folder + "prototypes.hpp": emit_impl.prototypes(functions, native),
        folder + "objects.cpp": emit_overlay.objects_source(overlay_rows),
        folder + "exports.map": emit_overlay.exports(functions, overlay_rows),
        root + "tests/intercept/generated/forwarding_rows.cpp": emit_tests.rows(functions),
    }
    for number in range(ENTRY_FILES):
        part = functions[number * share : (number + 1) * share]
        files[folder + "entries_%d.cpp" % number] = emit_entries.source(part, native)
    return files


def write_changed(folder, files):
    """Write the files whose text has changed, so that a build recompiles nothing else."""
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def coverage(options, functions, chapters, native):
    print(
        emit_coverage.page(
            functions,
            chapters,
            native,
            options.substrate,
            tested_by.programs(HERE.parents[2] / "tests" / "mpi"),
        ),
        end="",
    )
    return 0


def main(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["sources", "coverage"])
    parser.add_argument("--substrate", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--version", default="0.0.0")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args(arguments)
    try:
        functions, chapters = description.parse((HERE / "mpi_api.txt").read_text())
        overlay_rows = emit_overlay.parse_rows(
            (HERE.parent / "abi" / options.substrate / "overlay.txt").read_text()
        )
    except (description.DescriptionError, emit_overlay.OverlayError) as fault:
        print(fault, file=sys.stderr)
        return 1
    native = probe.probe(options.compiler, options.include)
    if options.what == "coverage":
        return coverage(options, functions, chapters, native)
    write_changed(
        options.output,
        outputs(options.substrate, options.version, functions, overlay_rows, native),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
