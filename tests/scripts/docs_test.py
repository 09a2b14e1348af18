# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the parts of scripts/docs (scripts/pages)."""
import pathlib
import sys
import tempfile
import unittest

_TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(_TOP / "scripts"))

from pages import (  # noqa: E402
    call_path,
    creation,
    folders,
    interfaces,
    links,
    messages,
    modules,
    prototypes,
    settings,
)


def found(source: str) -> list[tuple[str, str]]:
    """Return (class, text) of the messages in a source."""
    return [
        (each.error_class, each.text) for each in messages.messages_of("shim/p2p/a.cpp", source)
    ]


class MessagesTest(unittest.TestCase):
    def test_joins_literals_and_shows_values_as_dots(self):
        source = 'return Error(ErrorClass::arg, "the length " + std::to_string(n) + " is " "bad");'
        self.assertEqual(found(source), [("arg", "the length … is bad")])

    def test_reads_errors_in_braces(self):
        source = 'Error f() { return {base::ErrorClass::no_mem, "no memory left"}; }'
        self.assertEqual(found(source), [("no_mem", "no memory left")])

    def test_ignores_comments_and_preprocessor_lines(self):
        source = (
            '// Error(ErrorClass::arg, "in a comment")\n#define X Error(ErrorClass::arg, "macro")\n'
        )
        self.assertEqual(found(source), [])

    def test_shows_alternatives(self):
        source = 'Error(ErrorClass::arg, std::string(b ? "one way" : "another way"));'
        self.assertEqual(found(source), [("arg", "[one way / another way]")])

    def test_follows_a_variable(self):
        source = (
            'std::string text = "begins";\ntext += " here";\nreturn Error(ErrorClass::arg, text);'
        )
        self.assertEqual(found(source), [("arg", "begins here")])

    def test_follows_a_function_that_returns_the_text(self):
        source = (
            "std::string count_of(int n) { return std::to_string(n) + "
            '(n == 1 ? " process" : " processes"); }\n'
            "std::string difference(int a, int b) {\n"
            '  std::string sizes = "one has " + count_of(a) + ", one " + count_of(b) + ": ";\n'
            '  if (a < b) return sizes + "too few";\n'
            '  return sizes + "too many";\n}\n'
            "void f(Log& log) { log.write(LogLevel::warn, difference(1, 2)); }"
        )
        sizes = "one has … [process / processes], one … [process / processes]: "
        self.assertEqual(
            found(source), [("warning", sizes + each) for each in ("too few", "too many")]
        )

    def test_follows_functions_of_the_module_only(self):
        sources = {
            "shim/p2p/a.cpp": "// errors\n"
            'Error f() { return Error(ErrorClass::arg, text_of(1) + " is bad"); }\n'
            'Error g() { return Error(ErrorClass::arg, base::text_of(1) + " is worse"); }\n'
            'Error h(Error& e) { return Error(ErrorClass::arg, e.text_of() + " is worst"); }',
            "shim/p2p/b.cpp": 'std::string text_of(int) { return "the number"; }',
            "shim/coll/c.cpp": "Error f(int a) { "
            'return Error(ErrorClass::arg, text_of(a) + " is good"); }',
        }
        with tempfile.TemporaryDirectory() as folder:
            for path, source in sources.items():
                file = pathlib.Path(folder) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(source, encoding="utf-8")
            texts = [each.text for each in messages.all_messages(pathlib.Path(folder))]
        self.assertEqual(texts, ["… is good", "… is worse", "… is worst", "the number is bad"])

    def test_shows_the_texts_that_callers_pass_for_a_parameter(self):
        source = (
            "Error wrong(const char* why) {\n"
            '  return Error(ErrorClass::arg, std::string("a request ") + why);\n}\n'
            'Error f() { return wrong("is active"); }\nError g() { return wrong("is freed"); }\n'
            "Error h(const char* other) { return wrong(other); }"
        )
        self.assertEqual(found(source), [("arg", "a request [is active / is freed / …]")])

    def test_lists_each_text_of_a_parameter_that_is_the_whole_text(self):
        source = (
            "Error wrong(const char* why) { return Error(ErrorClass::request, why); }\n"
            'Error f() { return wrong("the send is active"); }\n'
            'Error g() { return wrong("the send is freed"); }'
        )
        self.assertEqual(
            found(source), [("request", "the send is active"), ("request", "the send is freed")]
        )

    def test_marks_a_part_that_may_be_absent(self):
        source = (
            "Error f(bool b) {\n"
            '  std::string text = "a member";\n  if (b) text += ", without a session";\n'
            '  const Error error(ErrorClass::arg, text + (b ? " waits" : ""));\n'
            "  return error;\n}"
        )
        self.assertEqual(found(source), [("arg", "a member[, without a session] [waits]")])

    def test_lists_long_texts_of_a_function_as_parts(self):
        advice = "restart the job with another launcher, or unset all variables of the launcher"
        source = (
            "std::string advice(int n) {\n"
            f'  if (n == 1) return "; {advice}";\n  return "; wait for a process";\n}}\n'
            'Error f(int n) { return Error(ErrorClass::arg, "no response" + advice(n)); }'
        )
        self.assertEqual(
            found(source),
            [("part", f"; {advice}"), ("part", "; wait for a process"), ("arg", "no response…")],
        )

    def test_lists_the_warning_about_the_size_of_the_world(self):
        texts = [each.text for each in messages.all_messages(_TOP) if each.module == "intercept"]
        for part in ("the launcher does not belong to", "does not know the interface between"):
            self.assertTrue(any(part in text for text in texts), part)

    def test_finds_warnings_but_no_information(self):
        source = 'log.write(LogLevel::warn, "be warned");\nlog.write(LogLevel::info, "just so");'
        self.assertEqual(found(source), [("warning", "be warned")])

    def test_adds_the_text_of_the_system(self):
        source = 'return system_error(errno, "cannot read " + path);'
        self.assertEqual(found(source), [("by the system's error", "cannot read …: …")])


class ModulesTest(unittest.TestCase):
    def test_reads_the_dependencies_and_no_other_arguments(self):
        cmake = (
            "intersession_module(base)\n"
            "intersession_module(p2p DEPENDS base SYSTEM_INCLUDES ${X})\n"
        )
        read = modules.modules_of(cmake)
        self.assertEqual(read, {"base": set(), "p2p": {"base"}, "intercept": {"base", "p2p"}})

    def test_removes_transitive_dependencies(self):
        self.assertEqual(
            modules.direct({"a": set(), "b": {"a"}, "c": {"a", "b"}}),
            {"a": set(), "b": {"a"}, "c": {"b"}},
        )


class FoldersTest(unittest.TestCase):
    def test_draws_includes_that_do_not_follow_from_others(self):
        with tempfile.TemporaryDirectory() as holder:
            module = pathlib.Path(holder) / "shim/intercept"
            files = {
                "CMakeLists.txt": "set(intercept_folders abi native impl)\n",
                "native/a.hpp": '#include "shim/intercept/abi/a.hpp"\n#include <vector>\n',
                "impl/a.cpp": '#include "shim/intercept/abi/a.hpp"\n'
                '#include "shim/intercept/native/a.hpp"\n',
            }
            for path, text in files.items():
                (module / path).parent.mkdir(parents=True, exist_ok=True)
                (module / path).write_text(text, encoding="utf-8")
            picture = folders.dot(pathlib.Path(holder))
        arrows = [line.strip() for line in picture.splitlines() if "->" in line]
        self.assertEqual(arrows, ['"native" -> "abi";', '"impl" -> "native";'])


class InterfacesTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)
        files = {
            "CMakeLists.txt": "intersession_module(low)\nintersession_module(high DEPENDS low)\n",
            "low/low.hpp": '// Low is a | sign. More.\n#include "shim/low/part.hpp"\n',
            "low/part.hpp": "// Part of Low.\n",
            "low/own.hpp": "// Own is not included.\n",
            "low/own.cpp": '#include "shim/low/own.hpp"\n',
            "high/high.cpp": '#include "shim/low/low.hpp"\n',
            "intercept/phases.h": '#include "shim/low/low.hpp"\n',
        }
        for path, text in files.items():
            (self.top / "shim" / path).parent.mkdir(parents=True, exist_ok=True)
            (self.top / "shim" / path).write_text(text, encoding="utf-8")

    def test_lists_the_headers_that_other_modules_include(self):
        page = interfaces.page(self.top)
        rows = [line for line in page.splitlines() if line.startswith("| `")]
        self.assertEqual(rows, ["| `low.hpp` | Low is a &#124; sign | high, intercept |"])

    def test_documents_what_they_include(self):
        self.assertEqual(
            interfaces.documented_headers(self.top),
            ["shim/intercept/phases.h", "shim/low/low.hpp", "shim/low/part.hpp"],
        )


class CreationTest(unittest.TestCase):
    SOURCE = (
        "enum class CreationState : std::uint8_t {\n  announced,  ///< by a message\n"
        "  agreed,  ///< over\n};\n"
        "inline constexpr CreationTransition kCreationTransitions[] = {\n"
        "    {CreationState::announced, CreationEvent::agree, CreationState::agreed,  //\n"
        '     "the outcome arrives"},\n};\n'
    )

    def test_reads_states_and_transitions(self):
        self.assertEqual(
            creation.states_of(self.SOURCE), {"announced": "by a message", "agreed": "over"}
        )
        self.assertEqual(
            creation.transitions_of(self.SOURCE),
            [("announced", "agree", "agreed", "the outcome arrives")],
        )

    def test_marks_the_states_without_transition(self):
        picture = creation.dot_of(self.SOURCE)
        self.assertIn('agreed [label="agreed\\n over", peripheries=2];', picture)
        self.assertIn('announced -> agreed [label="agree:\\n the outcome arrives"];', picture)

    def test_refuses_a_row_that_it_cannot_read(self):
        row = "    {kThere, CreationEvent::begin_call, CreationState::agreed, kCause},\n"
        with self.assertRaises(ValueError):
            creation.transitions_of(self.SOURCE.removesuffix("};\n") + row + "};\n")

    def test_refuses_a_state_that_is_not_declared(self):
        source = self.SOURCE.replace("CreationState::agreed,", "CreationState::lost,")
        with self.assertRaises(ValueError):
            creation.transitions_of(source)


class CallPathTest(unittest.TestCase):
    _PAGE = (
        "| step | file | function | what it does |\n|---|---|---|---|\n"
        "| 1 | `shim/a/a.hpp` | `A::one` | calls |\n| 2a | `shim/a/b.cpp` | `two` | writes |\n"
        "| 3a | `shim/c/c.cpp` | `three` | wakes |\n| 2b | `shim/c/c.cpp` | `four` | sends |\n"
    )

    def test_draws_each_branch_after_the_step_before_it(self):
        steps = call_path.steps_of("page", self._PAGE)
        edges = [
            line for line in call_path.dot_of("path", "page", steps).split("\n") if "->" in line
        ]
        self.assertEqual(edges, ["  s1 -> s2a;", "  s2a -> s3a;", "  s1 -> s2b;"])

    def test_refuses_a_page_without_steps(self):
        with self.assertRaises(ValueError):
            call_path.steps_of("page", "| text | text |\n")

    def test_refuses_a_function_that_its_file_lacks(self):
        with tempfile.TemporaryDirectory() as name:
            top = pathlib.Path(name)
            for file, text in (
                ("a/a.hpp", "void one();"),
                ("a/b.cpp", "two()"),
                ("c/c.cpp", "four"),
            ):
                (top / "shim" / file).parent.mkdir(parents=True, exist_ok=True)
                (top / "shim" / file).write_text(text, encoding="utf-8")
            steps = call_path.steps_of("page", self._PAGE)
            with self.assertRaisesRegex(ValueError, "step 3a: shim/c/c.cpp has no three$"):
                call_path.check(top, "page", steps)


class PrototypesTest(unittest.TestCase):
    def test_joins_parameters_of_several_lines(self):
        text = "MPIX_F | 1 | 4 | ours\n  MPI_Comm c : COMM; int a[] :\n    RANK\nMPI_G | 1 | 1\n"
        self.assertEqual(prototypes.declared(text), {"MPIX_F": "int MPIX_F(MPI_Comm c, int a[]);"})

    def test_every_function_has_a_page_with_its_prototype(self):
        self.assertEqual(prototypes.wrong_pages(_TOP), [])


class SettingsTest(unittest.TestCase):
    def test_refuses_a_row_that_cannot_be_parsed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "shim/base/settings.def"
            path.parent.mkdir(parents=True)
            path.write_text(
                'SETTING(a, int, 1, AnyValue{}, "help")\nSETTING(b, int)\n', encoding="utf-8"
            )
            with self.assertRaises(ValueError):
                settings.table(pathlib.Path(folder))

    def test_shows_the_allowed_values(self):
        self.assertEqual(settings.values("text", 'OneOf{"auto pmix"}'), "`auto`, `pmix`")
        self.assertEqual(settings.values("int", "(Range{1, 8})"), "1 to 8")
        self.assertEqual(
            settings.values("bytes", "(PowerOfTwo{18, 30, true})"),
            "0, or a power of two from 256k to 1g",
        )
        with self.assertRaises(ValueError):
            settings.values("int", "Unknown{}")


class LinksTest(unittest.TestCase):
    def dead(self, page: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder).resolve()
            (site / "a.html").write_text(page, encoding="utf-8")
            (site / "b.html").write_text('<h1 id="here">b</h1>', encoding="utf-8")
            return links.dead_links(site)

    def test_accepts_files_anchors_and_other_sites(self):
        page = '<a href="b.html#here">b</a><a href="https://example.org/x">x</a><a href="#">top</a>'
        self.assertEqual(self.dead(page), [])

    def test_refuses_a_missing_file(self):
        self.assertEqual(self.dead('<img src="c.svg">'), ["a.html: dead link c.svg: no such file"])

    def test_refuses_a_missing_anchor(self):
        self.assertEqual(
            self.dead('<a href="b.html#there">b</a>'),
            ["a.html: dead link b.html#there: no such anchor"],
        )


if __name__ == "__main__":
    unittest.main()
