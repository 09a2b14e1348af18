# SPDX-License-Identifier: BSD-3-Clause
"""scripts/update-readme replaces the generated parts and nothing else."""
import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

_SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "update-readme"
_loader = importlib.machinery.SourceFileLoader("update_readme", str(_SCRIPT))
update_readme = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("update_readme", _loader)
)
_loader.exec_module(update_readme)


class UpdateReadme(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)

    def write_program(self, text: str) -> None:
        (self.top / "examples/first").mkdir(parents=True, exist_ok=True)
        (self.top / "examples/first/first.c").write_text(text, encoding="utf-8")

    def test_only_the_generated_part_is_replaced(self) -> None:
        """The part is the program without its opening comments; other text is unchanged."""
        self.write_program("/* licence */\n/* for readers */\nint main(void);\n")
        text = update_readme.fresh(
            "before\n<!-- generated: first-program -->\nold\n<!-- end -->\nafter\n", self.top
        )
        self.assertEqual(
            text.splitlines(),
            [
                "before",
                "<!-- generated: first-program -->",
                "```c",
                "int main(void);",
                "```",
                "<!-- end -->",
                "after",
            ],
        )
        self.assertEqual(update_readme.fresh(text, self.top), text)

    def test_a_long_text_is_reported(self) -> None:
        self.assertEqual(update_readme.excess("line\n" * 149 + "| " + "x" * 130), [])
        self.assertEqual(
            update_readme.excess("line\n" * 151), ["README.md has 151 lines; at most 150"]
        )
        self.assertEqual(
            update_readme.excess("x" * 121 + "\n"),
            ["README.md:1: 121 characters; at most 120 outside tables"],
        )

    def test_an_unknown_part_is_an_error(self) -> None:
        with self.assertRaises(KeyError):
            update_readme.fresh("<!-- generated: nonesuch -->\n<!-- end -->\n", self.top)


if __name__ == "__main__":
    unittest.main()
