# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the installed files: libraries, debug files, manual, completion, module file, version.

INTERSESSION_TEST_PREFIX is an installation, INTERSESSION_TEST_BUILD its build folder.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import zlib

_TOP = pathlib.Path(__file__).resolve().parents[2]
_PREFIX = pathlib.Path(os.environ["INTERSESSION_TEST_PREFIX"]).resolve()
_BUILD = pathlib.Path(os.environ["INTERSESSION_TEST_BUILD"])
_VERSION = re.search(r"^version: (.*)$", (_TOP / "CITATION.cff").read_text("utf-8"), re.M)[1]
_COMMANDS = [f"intersession-{name}" for name in ("cc", "cxx", "run", "info", "timeline")]


def output_of(*command: object, **options: object) -> str:
    """Run a command that must succeed, and return what it prints, errors too."""
    ended = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **options,
    )
    if ended.returncode:
        raise AssertionError(f"{command}: {ended.returncode}\n{ended.stdout}")
    return ended.stdout


def binaries(prefix: pathlib.Path) -> list[pathlib.Path]:
    libraries = prefix.rglob("libintersession-*.so.*.*.[0-9]")
    return [*libraries, prefix / "bin/intersession-info"]


def install(prefix: pathlib.Path, *options: str) -> None:
    output_of("cmake", "--install", _BUILD, "--prefix", prefix, *options)


def uninstall() -> None:
    output_of("cmake", "-D", f"BUILD={_BUILD}", "-P", _TOP / "packaging/uninstall.cmake")


class Libraries(unittest.TestCase):
    def test_sonames_have_a_version_and_links_lead_to_the_file(self) -> None:
        libraries = list(_PREFIX.rglob("libintersession-*.so"))
        self.assertGreaterEqual(len(libraries), 2)
        for library in libraries:
            file = library.resolve()
            self.assertEqual(file.name, f"{library.name}.{_VERSION}")
            self.assertEqual(library.with_name(library.name + ".0").resolve(), file)
            soname = re.search(r"SONAME.*\[(.*)\]", output_of("readelf", "-d", file))[1]
            self.assertEqual(soname, library.name + ".0")

    def test_binaries_are_stripped(self) -> None:
        for path in binaries(_PREFIX):
            sections = output_of("readelf", "-SW", path)
            self.assertNotIn(".debug_info", sections, path)
            self.assertNotIn(".symtab", sections, path)
            self.assertIn(".gnu_debuglink", sections, path)

    def test_the_installation_is_at_most_20_mb(self) -> None:
        size = sum(path.lstat().st_size for path in _PREFIX.rglob("*") if not path.is_symlink())
        self.assertLess(size, 20_000_000)

    def test_debug_files_match_the_links(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            prefix = pathlib.Path(folder, "prefix")
            install(prefix)
            install(prefix, "--component", "debug")
            for path in binaries(prefix):
                debug = path.parent / ".debug" / (path.name + ".debug")
                subprocess.run(
                    ["objcopy", "-O", "binary", "--only-section=.gnu_debuglink"]
                    + ["--set-section-flags", ".gnu_debuglink=alloc", path, f"{folder}/link"],
                    check=True,
                )
                link = pathlib.Path(folder, "link").read_bytes()
                self.assertEqual(link.split(b"\0")[0].decode(), debug.name)
                checksum = int.from_bytes(link[-4:], "little")
                self.assertEqual(checksum, zlib.crc32(debug.read_bytes()), path)
                self.assertIn(".debug_info", output_of("readelf", "-SW", debug))
            uninstall()
            self.assertFalse(prefix.exists())


class Uninstall(unittest.TestCase):
    def test_leaves_nothing(self) -> None:
        for name in ("prefix", "a préfix too"):
            with tempfile.TemporaryDirectory() as folder:
                prefix = pathlib.Path(folder, name)
                install(prefix)
                self.assertTrue((prefix / "bin/intersession-cc").exists())
                uninstall()
                self.assertEqual(list(pathlib.Path(folder).rglob("*")), [], name)

    def test_refuses_files_outside_the_prefix(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder, "build")
            other = pathlib.Path(folder, "other")
            (build / "install").mkdir(parents=True)
            other.write_text("other", encoding="utf-8")
            (build / "install/prefix").write_text(f"{folder}/prefix", encoding="utf-8")
            (build / "install_manifest.txt").write_text(f"{other}\n", encoding="utf-8")
            ended = subprocess.run(
                ["cmake", "-D", f"BUILD={build}", "-P", _TOP / "packaging/uninstall.cmake"],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertNotEqual(ended.returncode, 0)
            self.assertIn("remove the", ended.stderr)
            self.assertTrue(other.exists())

    def test_keeps_files_of_others(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder, "prefix/share/doc/other/README")
            other.parent.mkdir(parents=True)
            other.write_text("other", encoding="utf-8")
            install(pathlib.Path(folder, "prefix"))
            uninstall()
            left = [path for path in pathlib.Path(folder).rglob("*") if not path.is_dir()]
            self.assertEqual(left, [other])


class Version(unittest.TestCase):
    def setUp(self) -> None:
        self.text = output_of(_PREFIX / "bin/intersession-info", "--version").split(" ", 1)[1]
        self.commit = re.search(r"\(commit (\w+)\)", self.text)

    def test_the_command_prints_version_and_commit(self) -> None:
        self.assertRegex(self.text, rf"^{re.escape(_VERSION)}( \(commit [0-9a-f]{{12}}\))?\n$")
        if (_TOP / ".git").exists() and shutil.which("git"):
            self.assertIsNotNone(self.commit, self.text)

    def test_the_headers_have_the_same_version_and_commit(self) -> None:
        for header in _PREFIX.glob("include/intersession/*/mpi.h"):
            text = header.read_text(encoding="utf-8")
            values = dict(re.findall(r'#define INTERSESSION_(\w+) "(.*)"', text))
            self.assertEqual(values["VERSION"], _VERSION)
            self.assertEqual(values["COMMIT"], self.commit[1] if self.commit else "")

    def test_the_libraries_have_the_same_version_and_commit(self) -> None:
        for library in _PREFIX.rglob("libintersession-*.so"):
            if "timeline" not in library.name:
                found = self.text.strip().encode() in library.read_bytes()
                self.assertTrue(found, f"{library} does not contain {self.text}")

    def test_sources_without_git_have_no_commit(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "version.cpp")
            # The folder lies in no repository, or in one whose top is another folder.
            for source in (folder, _TOP / "docs"):
                output_of(
                    *("cmake", "-D", f"SOURCE={source}", "-D", "VERSION=1.2.3"),
                    *("-D", f"OUTPUT={output}", "-P", _TOP / "cmake/write_version.cmake"),
                )
                self.assertIn('return "1.2.3";', output.read_text(encoding="utf-8"))


class Documents(unittest.TestCase):
    def test_licence_and_user_documents_are_installed(self) -> None:
        folder = _PREFIX / "share/doc/intersession"
        for name in ("LICENSE", "SECURITY.md", "CHANGELOG.md"):
            self.assertEqual((folder / name).read_bytes(), (_TOP / name).read_bytes())
        for page in (_TOP / "docs/user").rglob("*.md"):
            self.assertTrue((folder / page.relative_to(_TOP)).exists(), page)

    def test_every_command_and_mpix_function_has_a_manual_page(self) -> None:
        manual = _PREFIX / "share/man"
        for name in _COMMANDS:
            self.assertTrue((manual / f"man1/{name}.1.gz").exists(), name)
        declared = re.findall(
            r"^(MPIX_\w+) \|", (_TOP / "shim/intercept/api/mpi_api.txt").read_text("utf-8"), re.M
        )
        self.assertGreater(len(declared), 10)
        for name in declared:
            self.assertTrue((manual / f"man3/{name}.3.gz").exists(), name)

    def test_the_overview_lists_every_setting(self) -> None:
        text = output_of("zcat", _PREFIX / "share/man/man7/intersession.7.gz")
        rows = re.findall(r"^SETTING\((\w+)", (_TOP / "shim/base/settings.def").read_text(), re.M)
        for name in rows:
            self.assertIn(f"INTERSESSION_{name.upper()}\\fR", text)

    @unittest.skipUnless(shutil.which("man"), "needs man-db")
    def test_manual_pages_are_valid(self) -> None:
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANPATH": str(_PREFIX / "share/man")}
        for page in (_PREFIX / "share/man").rglob("*.gz"):
            name, section = page.name.removesuffix(".gz").rsplit(".", 1)
            command = ("man", "--warnings", "-E", "UTF-8", section, name)
            ended = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            )
            self.assertEqual(ended.stderr, "", page)
            self.assertIn("NAME", ended.stdout, page)

    @unittest.skipUnless(shutil.which("mandoc"), "needs mandoc")
    def test_manual_pages_pass_mandoc(self) -> None:
        for page in (_PREFIX / "share/man").rglob("*.gz"):
            text = output_of("zcat", page)
            if not text.startswith(".so "):
                self.assertEqual(output_of("mandoc", "-Tlint", "-W", "warning", input=text), "")


class Completion(unittest.TestCase):
    def completed(self, *words: str) -> list[str]:
        """Return the candidates for the last word."""
        file = _PREFIX / "share/bash-completion/completions" / words[0]
        script = (
            'set -eu; . "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); '
            'handler=$(complete -p "$1" | sed -n "s/.*-F \\([a-z_]*\\) .*/\\1/p"); '
            '$handler "$1" || true; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        return output_of("bash", "-c", script, "bash", file, *words).split()

    def test_options_are_completed(self) -> None:
        self.assertEqual(self.completed("intersession-run", "--na"), ["--native"])
        self.assertEqual(self.completed("intersession-run", "--tool", ""), ["timeline"])
        self.assertIn("openmpi", self.completed("intersession-run", "--mpi", "ope"))
        self.assertIn("mpich", self.completed("intersession-cc", "--mpi", "=", "mpi"))
        self.assertEqual(
            self.completed("intersession-cxx", "--showme", ":", "li"), ["link", "libdirs", "libs"]
        )
        self.assertEqual(self.completed("intersession-info", "--v"), ["--version"])
        self.assertEqual(self.completed("intersession-timeline", "me"), ["merge"])


class ModuleFile(unittest.TestCase):
    @unittest.skipUnless(shutil.which("tclsh"), "needs Tcl")
    def test_paths_are_those_of_the_moved_installation(self) -> None:
        file = _PREFIX / "share/modulefiles/intersession" / _VERSION
        self.assertTrue(file.read_text(encoding="utf-8").startswith("#%Module"))
        script = (
            'proc prepend-path {name value} {puts "$name=$value"}\n'
            'proc setenv {name value} {puts "$name=$value"}\n'
            "proc module-whatis {text} {}\nproc conflict {name} {}\n"
            f"set ModulesCurrentModulefile {{{file}}}\nsource {{{file}}}\n"
        )
        values = dict(line.split("=", 1) for line in output_of("tclsh", input=script).splitlines())
        self.assertEqual(values["INTERSESSION_ROOT"], str(_PREFIX))
        for name, holds in {
            "PATH": "intersession-run",
            "MANPATH": "man7/intersession.7.gz",
            "PKG_CONFIG_PATH": "intersession-*-c.pc",
            "LD_LIBRARY_PATH": "libintersession-*.so",
            "CMAKE_PREFIX_PATH": "lib*/**/IntersessionConfig.cmake",
        }.items():
            self.assertTrue(list(pathlib.Path(values[name]).glob(holds)), name)


if __name__ == "__main__":
    unittest.main()
