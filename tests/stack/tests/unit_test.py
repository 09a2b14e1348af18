# SPDX-License-Identifier: BSD-3-Clause
"""Unit tests of the runner of libraries; they need no MPI."""
import pathlib
import sys
import tempfile
import unittest

_HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE.parent))

import libraries  # noqa: E402
import results  # noqa: E402

_LIBRARY = libraries.Library("name", pathlib.Path("program.c"), refuses={"session": "^no MPI$"})
_PASSED = ["check: error: 0 (at most 0)", "native MPI: initialized", "passed: 2 checks"]


class Judge(unittest.TestCase):
    def result(self, mode: str, code: int | None, lines: list[str], **changes) -> str:
        library = libraries.Library(**{**vars(_LIBRARY), **changes})
        return results.judge(library, mode, code, lines)[0]

    def test_needs_exit_code_and_passed_checks(self) -> None:
        self.assertEqual(self.result("world", 0, _PASSED), "works")
        self.assertEqual(self.result("world", 1, _PASSED), "fails")
        self.assertEqual(self.result("world", 0, _PASSED[:-1]), "fails")
        self.assertEqual(self.result("world", None, _PASSED), "time-out")

    def test_checks_whether_the_native_library_is_initialized(self) -> None:
        self.assertEqual(self.result("served", 0, _PASSED), "fails")
        self.assertEqual(self.result("session", 0, _PASSED, refuses={}), "fails")
        self.assertEqual(self.result("session", 0, _PASSED, refuses={}, calls_init=True), "works")

    def test_needs_a_sign_of_intersession(self) -> None:
        created = 'info: created communicator (with creation tag "intersession://MPI_COMM_WORLD")'
        served = ["passed: 2 checks", "native MPI: not initialized"]
        self.assertEqual(self.result("unchanged", 0, [*served, created]), "works")
        self.assertEqual(self.result("unchanged", 0, served), "fails")
        refused = "ERROR: ld.so: object 'x' from LD_PRELOAD cannot be preloaded: ignored."
        self.assertEqual(self.result("world", 0, [*_PASSED, refused]), "fails")

    def test_a_refusal_needs_its_message_and_an_error(self) -> None:
        self.assertEqual(self.result("session", 1, ["no MPI"]), "refuses")
        self.assertEqual(self.result("session", 1, ["crash"]), "fails")
        self.assertEqual(self.result("session", 0, ["no MPI", *_PASSED]), "fails")

    def test_lines_must_be_those_of_mode_native(self) -> None:
        library = libraries.Library("name", pathlib.Path("input"), same_output=r"^\d+$")
        for native, result in ((["1"], "works"), (["2"], "fails"), ([], "fails")):
            self.assertEqual(results.judge(library, "world", 0, ["1", "x"], native)[0], result)
        self.assertEqual(results.judge(library, "world", 0, ["x"], ["x"])[0], "fails")


class Table(unittest.TestCase):
    def test_the_table_of_libraries_is_valid(self) -> None:
        table = libraries.load(_HERE.parent / "libraries.toml")
        keys = [(library.name, mpi) for library in table for mpi in library.mpi]
        self.assertEqual(len(keys), len(set(keys)), "a library occurs twice over one MPI")

    def test_refuses_what_it_does_not_know(self) -> None:
        for text in ('packages_ = ["x"]', 'mpi = ["lam"]', 'refuses = { worlds = "x" }'):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "libraries.toml"
                (path.parent / "programs").mkdir()
                (path.parent / "programs" / "program.c").touch()
                row = f'[[library]]\nname = "x"\nprogram = "program.c"\n{text}\n'
                path.write_text(row, encoding="utf-8")
                with self.assertRaises(libraries.BadTable, msg=text):
                    libraries.load(path)


class Document(unittest.TestCase):
    def test_numbers_each_message_once(self) -> None:
        table = [
            libraries.Library(name, pathlib.Path("program.c"), modes=("session",)) for name in "ab"
        ]
        found = [results.Result(name, "openmpi", "session", "refuses", "no MPI") for name in "ab"]
        text = results.document(table, {each.key: each for each in found}, {"openmpi": "Open MPI"})
        self.assertEqual(text.count("refuses [1]"), 2)
        self.assertEqual(text.count("`no MPI`"), 1)


if __name__ == "__main__":
    unittest.main()
