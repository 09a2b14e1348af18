# SPDX-License-Identifier: BSD-3-Clause
"""scripts/update-readme: generated parts follow their sources, and everything else stays."""
import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

_SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "update-readme"
_loader = importlib.machinery.SourceFileLoader("update_readme", str(_SCRIPT))
update_readme = importlib.util.module_from_spec(importlib.util.spec_from_loader("update_readme", _loader))
_loader.exec_module(update_readme)


class UpdateReadme(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)

    def write_settings(self, text: str) -> None:
        (self.top / "shim/base").mkdir(parents=True, exist_ok=True)
        (self.top / "shim/base/settings.def").write_text(text, encoding="utf-8")

    def test_compare(self) -> None:
        """Of the comparison: the machine, and what has a goal."""
        (self.top / "docs").mkdir()
        goals = ["| measure | reached |", "|---|---|", "| latency | **no** |", "", "Of 26 rows 19."]
        (self.top / "docs/compare-openmpi.md").write_text("\n".join(["a machine.", "", "## What is to be reached", "", *goals, "",
                                                                     "## Messages", "", "| latency | 3 |", ""]), encoding="utf-8")
        text = update_readme.fresh("<!-- generated: compare-openmpi -->\n<!-- end -->\n", self.top)
        self.assertEqual(text.splitlines()[1:-1], ["a machine. All rows: docs/compare-openmpi.md.", "", *goals])

    def test_settings(self) -> None:
        self.write_settings('// a remark\nSETTING(psets, text, "", "a, b; c")\nSETTING(spin, int, 2000, "x | y")\n')
        text = update_readme.fresh("before\n<!-- generated: settings -->\nold\n<!-- end -->\nafter\n", self.top)
        self.assertEqual(text.splitlines(), [
            "before", "<!-- generated: settings -->", "| variable | type | default | meaning |", "|---|---|---|---|",
            "| `INTERSESSION_PSETS` | text | empty | a, b; c |", "| `INTERSESSION_SPIN` | int | `2000` | x \\| y |",
            "<!-- end -->", "after"])
        self.assertEqual(update_readme.fresh(text, self.top), text)

    def test_a_row_that_it_cannot_read_is_an_error(self) -> None:
        self.write_settings("SETTING(psets, text, kDefault)\n")
        with self.assertRaisesRegex(ValueError, "cannot read"):
            update_readme.settings(self.top)

    def test_a_part_that_nobody_makes_is_an_error(self) -> None:
        with self.assertRaises(KeyError):
            update_readme.fresh("<!-- generated: nonesuch -->\n<!-- end -->\n", self.top)


if __name__ == "__main__":
    unittest.main()
