# SPDX-License-Identifier: BSD-3-Clause
"""Tests the Spack package and the container file as far as possible without Spack and podman.

INTERSESSION_TEST_BUILD is a build folder.
"""
import ast
import os
import pathlib
import re
import unittest

_TOP = pathlib.Path(__file__).resolve().parents[2]
_PACKAGE = _TOP / "packaging/spack/packages/intersession/package.py"
_CONTAINER = _TOP / "packaging/container/Containerfile"


def calls(name: str) -> list[ast.Call]:
    """Return the calls of a function or method in the Spack package."""
    tree = ast.parse(_PACKAGE.read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        call for call in found if getattr(call.func, "id", getattr(call.func, "attr", "")) == name
    ]


class SpackPackage(unittest.TestCase):
    def test_defines_only_variables_of_the_build(self) -> None:
        cache = pathlib.Path(os.environ["INTERSESSION_TEST_BUILD"], "CMakeCache.txt").read_text()
        defined = calls("define") + calls("define_from_variant")
        self.assertGreaterEqual(len(defined), 4)
        for call in defined:
            self.assertRegex(cache, rf"(?m)^{call.args[0].value}:")

    def test_variants_are_those_of_the_conditions(self) -> None:
        variants = {call.args[0].value for call in calls("variant")}
        substrates = (_TOP / "cmake/Substrates.cmake").read_text(encoding="utf-8")
        known = re.search(r'set\(INTERSESSION_OVER "([^"]*)"', substrates)[1].split(";")
        self.assertEqual(variants, {*known, "tests"})
        conditions = [
            key.value.value
            for call in calls("depends_on")
            for key in call.keywords
            if key.arg == "when"
        ]
        for condition in conditions:
            self.assertIn(condition.lstrip("+~"), variants)

    def test_has_the_license_of_the_project(self) -> None:
        self.assertEqual(calls("license")[0].args[0].value, "BSD-3-Clause")


class Container(unittest.TestCase):
    def test_the_base_image_is_an_argument_of_all_stages(self) -> None:
        text = _CONTAINER.read_text(encoding="utf-8")
        self.assertRegex(text, r"(?m)^ARG BASE=")
        stages = re.findall(r"(?m)^FROM (\S+)", text)
        self.assertEqual(stages, ["${BASE}"] * 2)

    def test_names_only_files_that_exist(self) -> None:
        for path in re.findall(r"/src/(\S+)", _CONTAINER.read_text(encoding="utf-8")):
            self.assertTrue((_TOP / path).exists(), path)


if __name__ == "__main__":
    unittest.main()
