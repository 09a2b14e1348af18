# SPDX-License-Identifier: BSD-3-Clause
"""Tests of scripts/check-exports."""
import pathlib
import subprocess
import tempfile
import unittest

_SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check-exports"


class CheckExports(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        source = self.write("x.c", "void one(void) {}\nvoid two(void) {}\n")
        self.script = self.write(
            "x.map", "{\n  global:\n    one;\n    two;\n  local:\n    *;\n};\n"
        )
        self.library = self.folder / "x.so"
        subprocess.run(
            ["cc", "-shared", "-fPIC", f"-Wl,--version-script={self.script}", source]
            + ["-o", self.library],
            check=True,
        )

    def write(self, name: str, text: str) -> pathlib.Path:
        (self.folder / name).write_text(text, encoding="utf-8")
        return self.folder / name

    def check(self, *words: object) -> tuple[int, str]:
        ended = subprocess.run(
            [_SCRIPT, *words], capture_output=True, text=True, check=False, cwd=self.folder
        )
        return ended.returncode, ended.stdout

    def test_no_mpi_or_cxx_library_may_be_needed(self) -> None:
        for name in ("libmpi.so.40", "libmpich.so.12", "libmpi_cxx.so.40", "libstdc++.so.6"):
            other = self.folder / name
            subprocess.run(["cc", "-shared", f"-Wl,-soname,{name}", "-o", other], check=True)
            library = self.folder / "y.so"
            subprocess.run(
                [
                    "cc",
                    "-shared",
                    "-fPIC",
                    f"-Wl,--version-script={self.script}",
                    "-Wl,--no-as-needed",
                ]
                + [self.folder / "x.c", other, "-o", library],
                check=True,
            )
            code, shown = self.check(library, self.script)
            self.assertEqual(code, 1, name)
            self.assertIn(f"needs {name}\n", shown)

    def test_names_of_the_last_release_must_remain(self) -> None:
        released = self.write("released.txt", "# a comment\none\nthree\ntwo\n")
        code, shown = self.check(self.library, self.script, released)
        self.assertEqual(code, 1)
        self.assertIn("exported by the last release, but no longer: three\n", shown)

    def test_new_names_are_printed(self) -> None:
        code, shown = self.check(self.library, self.script, self.write("released.txt", "one\n"))
        self.assertEqual(code, 0, shown)
        self.assertIn("exported since the last release: two\n", shown)

    def test_a_name_that_is_not_in_the_version_script_is_a_fault(self) -> None:
        less = self.write("less.map", "{\n  global:\n    one;\n};\n")
        self.assertEqual(self.check(self.library, less)[0], 1)

    def test_list_prints_the_names(self) -> None:
        self.assertEqual(self.check("--list", self.library), (0, "one\ntwo\n"))


if __name__ == "__main__":
    unittest.main()
