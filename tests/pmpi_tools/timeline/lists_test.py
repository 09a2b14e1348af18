# SPDX-License-Identifier: BSD-3-Clause
"""Tests that lists in several places agree.

These are the phases in the library, the pictures and the README, and the calls in the API
description and the tool.
"""
import pathlib
import re
import sys
import unittest

import files  # noqa: F401  the path to the modules

from intersession_timeline import phases

_TOP = pathlib.Path(__file__).resolve().parents[3]
_API = _TOP / "shim" / "intercept" / "api"
sys.path[:0] = [str(_API), str(_TOP / "pmpi_tools" / "timeline")]

import description  # noqa: E402  pylint: disable=wrong-import-position
import generate_calls  # noqa: E402  pylint: disable=wrong-import-position

_PHASE = re.compile(r'^PHASE\((\w+), (\w+), "(.*)"\)$', re.MULTILINE)


class Phases(unittest.TestCase):
    def setUp(self) -> None:
        self.rows = _PHASE.findall((_TOP / "shim/base/phases.def").read_text(encoding="utf-8"))

    def test_every_phase_has_a_colour_of_its_own(self) -> None:
        self.assertEqual([name for name, _, _ in self.rows], list(phases.PHASES))
        self.assertEqual(len({colour for colour, _ in phases.PHASES.values()}), len(phases.PHASES))

    def test_the_readme_has_the_table(self) -> None:
        page = (_TOP / "pmpi_tools/README.md").read_text(encoding="utf-8")
        for name, operation, meaning in self.rows:
            self.assertIn(f"| `{name}` | {operation} | {meaning} |\n", page)


class Calls(unittest.TestCase):
    def setUp(self) -> None:
        self.functions, _ = description.parse((_API / "mpi_api.txt").read_text(encoding="utf-8"))
        self.table = (_TOP / "pmpi_tools/timeline/calls.txt").read_text(encoding="utf-8")

    def test_every_call_of_the_sessions_model_is_recorded(self) -> None:
        recorded = {
            call.function.mpi_name for call in generate_calls.select(self.functions, self.table)
        }
        wanted = {
            f.mpi_name
            for f in self.functions
            if f.returns == "int"
            and not f.name.startswith("T_")
            and ("Session" in f.name or "from_group" in f.name or "session" in f.name)
        }
        self.assertEqual(wanted - recorded, set())
        self.assertLessEqual(
            {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Comm_dup", "MPI_Comm_split"},
            recorded,
        )
        self.assertFalse(
            {name for name in recorded if "errhandler" in name and "Session" not in name}
        )

    def test_a_generated_function_calls_the_next_layer_and_returns_its_code(self) -> None:
        calls = generate_calls.select(
            self.functions, "MPI_Comm_create_from_group | creation | stringtag\n"
        )
        self.assertEqual(
            "\n".join(generate_calls.body_of(calls[0])),
            """\
int MPI_Comm_create_from_group(MPI_Group group, const char *stringtag, MPI_Info info, \
MPI_Errhandler errhandler, MPI_Comm *newcomm) {
  static const timeline::NextLayer<int(MPI_Group, const char *, MPI_Info, MPI_Errhandler, \
MPI_Comm *)> next_layer("PMPI_Comm_create_from_group");
  timeline::Call call("MPI_Comm_create_from_group", "creation", stringtag);
  return call.ended(next_layer.function(group, stringtag, info, errhandler, newcomm));
}""",
        )

    def test_wrong_rows_are_refused(self) -> None:
        for row, text in (
            ("MPI_Nothing | world |", "MPI_Nothing is no function"),
            ("MPI_Init | world | comm", "has no text comm"),
            ("MPI_Wtime | world |", "returns an error code"),
            ("MPI_Init", "line 1: needs"),
            ("MPI_Comm_dup | world", "line 1: needs"),
        ):
            with self.assertRaisesRegex(generate_calls.TableError, text):
                generate_calls.select(self.functions, row + "\n")


if __name__ == "__main__":
    unittest.main()
