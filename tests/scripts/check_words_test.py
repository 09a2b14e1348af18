# SPDX-License-Identifier: BSD-3-Clause
"""scripts/check-words reports each kind of use with its line, and nothing in a clean tree."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import tempfile
import unittest

_HERE = pathlib.Path(__file__).resolve()
_IN_PROJECT = _HERE.parents[2] / "scripts" / "check-words"
_SCRIPT = _IN_PROJECT if _IN_PROJECT.exists() else _HERE.parent / "check-words"
_loader = importlib.machinery.SourceFileLoader("check_words", str(_SCRIPT))
_spec = importlib.util.spec_from_loader("check_words", _loader)
check_words = importlib.util.module_from_spec(_spec)
_loader.exec_module(check_words)

_GLOSSARY = """# Glossary

| word | scope | use instead | allowed paths |
|---|---|---|---|
| engine | both | nothing: this table is another one | - |

## Retired words

| word | scope | use instead | allowed paths |
|---|---|---|---|
| belt | both | ring | - |
| lane | identifier | vci | `^pmpi_tools/\\|^docs/old` |
| crowd | prose | oversubscription | - |
| ours:: | identifier | impl:: | - |
| roll call | both | rendezvous | - |
| story | prose | record | - |

## Others
| depot | both | pool | - |
"""


class Rules(unittest.TestCase):
    def test_rules_are_read_from_the_section_only(self) -> None:
        self.assertEqual(
            [rule.word for rule in check_words.read_rules(_GLOSSARY)],
            ["belt", "lane", "crowd", "ours::", "roll call", "story"],
        )

    def test_wrong_scope_is_an_error(self) -> None:
        with self.assertRaises(ValueError):
            check_words.read_rules("# Retired words\n| belt | names | ring | - |\n")

    def test_wrong_expression_is_an_error(self) -> None:
        with self.assertRaises(ValueError):
            check_words.read_rules("# Retired words\n| belt | both | ring | ( |\n")


class Checks(unittest.TestCase):
    def setUp(self) -> None:
        self.checker = check_words.Checker(check_words.read_rules(_GLOSSARY))

    def lines(self, text: str, path: str = "shim/x.cpp") -> list[int]:
        return [finding.line for finding in self.checker.check(path, text)]

    def test_scope_identifier_applies_to_identifiers_only(self) -> None:
        self.assertEqual(self.lines("int lane = 0;\n// one lane\n"), [1])

    def test_scope_prose_applies_to_prose_only(self) -> None:
        text = 'int crowd = 0;\n// a crowd of processes\nfail("the crowd");\n'
        self.assertEqual(self.lines(text), [2, 3])

    def test_scope_both_applies_to_identifiers_and_prose(self) -> None:
        self.assertEqual(self.lines("int belt = 0;\n/* a\n   belt */\n"), [1, 3])

    def test_plurals_are_found(self) -> None:
        text = "int lanes, belts_of_all;\n// crowds, and stories\n"
        self.assertEqual(self.lines(text), [1, 1, 2, 2])

    def test_parts_of_camel_case_names_are_found(self) -> None:
        text = "class BeltReader;\nint kMaxLanes;\nint my_belt_, MPIBelt;\n"
        self.assertEqual(self.lines(text), [1, 2, 3, 3])

    def test_only_whole_parts_are_found(self) -> None:
        self.assertEqual(self.lines("int planes, belted, airlane;\n// a crowded seatbelt\n"), [])

    def test_name_in_prose_is_an_identifier(self) -> None:
        self.assertEqual(self.lines("// see kMaxLanes and next_lane\n"), [1, 1])

    def test_phrases_are_found(self) -> None:
        text = "class RollCall;\n// roll\n// a roll call, roll calls\nint roll, call_roll;\n"
        self.assertEqual(self.lines(text), [1, 3])

    def test_a_qualifier_is_found_in_front_of_a_name_only(self) -> None:
        self.assertEqual(self.lines("ours::Send();\nbool ours;\n"), [1])

    def test_words_are_allowed_in_their_paths(self) -> None:
        self.assertEqual(self.lines("lane = 0\n", "pmpi_tools/picture.py"), [])
        self.assertEqual(self.lines("see next_lane\n", "docs/old.md"), [])
        self.assertEqual(self.lines("lane = 0\n", "tests/pmpi_tools/picture.py"), [1])

    def test_findings_have_their_line_numbers(self) -> None:
        text = '\n\nint belt;\n"a\\n";\n// b\nint x; /* c\nd belt */ int lane;\n'
        self.assertEqual(self.lines(text), [3, 7, 7])

    def test_escapes_and_digit_separators_do_not_hide_words(self) -> None:
        text = 'print("\\ncrowd");\nint x = 1\'000; // a crowd\n'
        self.assertEqual(self.lines(text), [1, 2])

    def test_include_paths_are_names(self) -> None:
        self.assertEqual(self.lines('#include "shim/crowd.hpp"\n#include "shim/belt.hpp"\n'), [2])

    def test_comments_and_strings_of_python_are_prose(self) -> None:
        text = '"""A crowd."""\nlane = "crowd"  # crowd\ncrowd = 1\n'
        self.assertEqual(self.lines(text, "x.py"), [1, 2, 2])

    def test_documents_are_prose(self) -> None:
        self.assertEqual(self.lines("A crowd.\n\nThe lane.\n", "docs/x.md"), [1])

    def test_pronouns_as_subjects_are_found(self) -> None:
        for word in ("Who", "Whoever", "Somebody", "Nobody", "What"):
            text = f"// {word} waits.\n/* It ends. {word}\n * waits. */\n"
            self.assertEqual(self.lines(text), [1, 2], word)

    def test_one_is_a_pronoun_in_front_of_a_verb(self) -> None:
        self.assertEqual(self.lines("// One that waits sleeps.\n// One line for each file.\n"), [1])

    def test_a_pronoun_inside_a_sentence_is_allowed(self) -> None:
        text = "// It knows what it needs, and who has it.\n// The heading says\n// Who.\n"
        self.assertEqual(self.lines(text), [])

    def test_a_pronoun_in_code_is_allowed(self) -> None:
        self.assertEqual(self.lines("enum { Who, What };\n"), [])


class Tree(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)

    def write(self, path: str, text: str) -> None:
        (self.top / path).parent.mkdir(parents=True, exist_ok=True)
        (self.top / path).write_text(text, encoding="utf-8")

    def run_main(self, *options: str) -> tuple[int, list[str]]:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            status = check_words.main(["--top", str(self.top), *options])
        return status, printed.getvalue().splitlines()

    def test_a_clean_tree_has_no_findings(self) -> None:
        self.write("docs/developer/glossary.md", _GLOSSARY)
        self.write("shim/x.cpp", "// A ring.\nint ring;\n")
        self.assertEqual(self.run_main(), (0, ["check-words: 6 rules, 0 findings"]))

    def test_the_limit_bounds_the_printed_findings(self) -> None:
        self.write("docs/developer/glossary.md", _GLOSSARY)
        self.write("shim/x.cpp", "int belt;\nint lane;\n")
        status, printed = self.run_main("--limit", "1")
        self.assertEqual(status, 1)
        self.assertEqual(
            printed,
            [
                'shim/x.cpp:1: name "belt": "belt" is retired; use ring',
                "... and 1 more",
                "check-words: 6 rules, 2 findings",
            ],
        )

    def test_a_missing_table_is_an_error(self) -> None:
        self.assertEqual(self.run_main()[0], 2)
        self.write("docs/developer/glossary.md", "# Glossary\n")
        self.assertEqual(self.run_main()[0], 2)


if __name__ == "__main__":
    unittest.main()
