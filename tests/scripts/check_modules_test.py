# SPDX-License-Identifier: BSD-3-Clause
"""scripts/check-modules reports each kind of violation, and nothing in a correct tree."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

_SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check-modules"
sys.path.insert(0, str(_SCRIPT.parent))  # as for the script
_loader = importlib.machinery.SourceFileLoader("check_modules", str(_SCRIPT))
check_modules = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("check_modules", _loader)
)
_loader.exec_module(check_modules)

_CMAKE = """intersession_module(low)
intersession_module(high DEPENDS low SYSTEM_INCLUDES ${X})
add_subdirectory(intercept)
"""


class CheckModules(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)
        self.modules = check_modules.modules_of(_CMAKE)
        self.write("shim/low/low.hpp", "#include <vector>\n")
        self.write(
            "shim/high/high.cpp", '#include "shim/low/low.hpp"\n#include "shim/high/high.hpp"\n'
        )
        self.write("shim/intercept/api/x.cpp", '#include <mpi.h>\n#include "shim/high/high.hpp"\n')

    def write(self, path: str, text: str) -> None:
        (self.top / path).parent.mkdir(parents=True, exist_ok=True)
        (self.top / path).write_text(text, encoding="utf-8")

    def violations(self) -> list[str]:
        return check_modules.find_wrong_includes(self.top, self.modules)

    def test_order_comes_from_the_build(self) -> None:
        self.assertEqual(
            self.modules,
            {"low": {"low"}, "high": {"high", "low"}, "intercept": {"low", "high", "intercept"}},
        )

    def test_a_name_of_two_sources_of_a_folder_is_reported(self) -> None:
        self.write("tests/low/a_test.cpp", "struct Label {\n};\nconstexpr int kItems = 3;\n")
        self.write("tests/low/b_test.cpp", "class Label final : Base {\n};\nstruct Mine;\n")
        self.write("tests/low/c_test.cpp", "constexpr std::size_t kItems{4};\nclass Mine {\n};\n")
        self.write("tests/high/a_test.cpp", "struct Label {\n};\n")
        self.assertEqual(
            check_modules.find_repeated_names(self.top),
            [
                "tests/low/b_test.cpp defines Label, as does a_test.cpp; "
                "batches compile them together",
                "tests/low/c_test.cpp defines kItems, as does a_test.cpp; "
                "batches compile them together",
            ],
        )

    def test_a_good_tree_has_no_violation(self) -> None:
        self.assertEqual(self.violations(), [])

    def test_an_include_upwards_is_reported(self) -> None:
        self.write("shim/low/deep/bad.hpp", '  #  include "shim/high/high.hpp"\n')
        self.assertEqual(
            self.violations(),
            ["shim/low/deep/bad.hpp includes shim/high/high.hpp: low may not include from high"],
        )

    def test_the_mpi_header_below_the_top_is_reported(self) -> None:
        self.write("shim/high/bad.cpp", "#include <mpi.h>\n")
        self.assertEqual(
            self.violations(), ["shim/high/bad.cpp includes mpi.h, which only shim/intercept may"]
        )

    def folder_violations(self) -> list[str]:
        order = check_modules.folders.order_of(
            "set(intercept_folders\n    abi native .\n    impl impl/p2p abi/entries)\n"
        )
        return check_modules.folders.wrong_includes(self.top, order)

    def test_a_folder_of_the_top_includes_lower_folders_only(self) -> None:
        include = '#include "shim/intercept/{}"\n'
        self.write("shim/intercept/api/x.cpp", "")
        self.write("shim/intercept/abi/a/native/x.cpp", include.format("generated/table.hpp"))
        self.write("shim/intercept/native/x.hpp", include.format("abi/a/x.hpp"))
        self.write("shim/intercept/impl/p2p/x.cpp", include.format("errors.hpp"))
        self.write("shim/intercept/abi/a/entries/x.cpp", include.format("impl/p2p/x.hpp"))
        self.assertEqual(self.folder_violations(), [])
        self.write("shim/intercept/abi/a/x.cpp", include.format("native/x.hpp"))
        self.write("shim/intercept/errors.cpp", include.format("generated/impl.hpp"))
        self.write("shim/intercept/impl/x.hpp", include.format("impl/p2p/x.hpp"))
        self.assertEqual(
            self.folder_violations(),
            [
                "shim/intercept/abi/a/x.cpp includes native/x.hpp: "
                "abi may not include from native, which is a higher folder",
                "shim/intercept/errors.cpp includes generated/impl.hpp: "
                ". may not include from impl, which is a higher folder",
                "shim/intercept/impl/x.hpp includes impl/p2p/x.hpp: "
                "impl may not include from impl/p2p, which is a higher folder",
            ],
        )

    def test_a_folder_of_the_top_without_a_place_is_reported(self) -> None:
        self.write("shim/intercept/new/x.cpp", '#include "shim/intercept/abi/x.hpp"\n')
        self.assertEqual(
            self.folder_violations(),
            [
                "shim/intercept/new/x.cpp includes abi/x.hpp: "
                "intercept_folders of shim/intercept/CMakeLists.txt does not list new"
            ],
        )

    def test_no_module_includes_from_the_top(self) -> None:
        self.write("shim/high/x.cpp", '#include "shim/intercept/abi/library.hpp"\n')
        self.assertEqual(
            self.violations(),
            [
                "shim/high/x.cpp includes shim/intercept/abi/library.hpp: "
                "high may not include from intercept"
            ],
        )

    def test_a_folder_without_a_module_is_reported(self) -> None:
        self.write("shim/stray/x.hpp", "")
        self.assertEqual(self.violations(), ["shim/stray is not a module of shim/CMakeLists.txt"])

    def test_names_of_mpi_libraries_are_reported(self) -> None:
        self.write("shim/intercept/abi/x.cpp", "void ompi_mpi_comm_null();\n")
        self.write("shim/families/x.cpp", 'const char* kName = "MPICH";\n')
        self.write("shim/bootstrap/mpirun/x.cpp", 'ask("OMPI_COMM_WORLD_RANK");\n')
        self.write(
            "shim/high/good.cpp", "// as Open MPI does\nvoid compile(); /* MPICH */ void wompi();\n"
        )
        self.assertEqual(check_modules.find_wrong_vendors(self.top), [])
        self.write("shim/high/bad.cpp", '#ifdef OMPI_MAJOR_VERSION\nrun_on("MPICH");\n')
        self.assertEqual(
            check_modules.find_wrong_vendors(self.top),
            [
                "shim/high/bad.cpp names mpich, ompi, "
                "which only shim/intercept/abi and shim/families and shim/bootstrap/mpirun may"
            ],
        )

    def test_a_missing_or_long_readme_is_reported(self) -> None:
        self.write("shim/low/README.md", "# low\n")
        self.write("shim/high/README.md", "line\n" * 61)
        self.assertEqual(
            check_modules.find_wrong_readmes(self.top, self.modules),
            [
                "shim/high/README.md has 61 lines; every module needs a README of 1 to 60",
                "shim/intercept/README.md has 0 lines; every module needs a README of 1 to 60",
            ],
        )

    def test_a_source_without_its_header_is_reported(self) -> None:
        self.write("shim/high/high.hpp", "")
        self.write("shim/intercept/api/x.hpp", "")
        for name in ("ring.hpp", "ring.cpp", "ring_grow.cpp", "rings.cpp", "main.cpp"):
            self.write(f"shim/low/{name}", "")
        self.write("shim/coll/algorithms/bcast_chain.cpp", "")
        self.assertEqual(
            check_modules.find_wrong_stems(self.top),
            ["shim/low/rings.cpp has no header that its name begins with"],
        )

    def large_classes(self) -> list[str]:
        return check_modules.find_large_classes(self.top, self.modules)

    def test_reports_a_header_that_does_not_say_what_it_is(self):
        self.write(
            "shim/low/low.hpp", "// SPDX-License-Identifier: X\n// Low is a module.\n#if 0\n"
        )
        self.write("shim/low/other.hpp", "// SPDX-License-Identifier: X\n#pragma once\n// Other.\n")
        found = check_modules.find_missing_heads(self.top)
        self.assertEqual(found, ["shim/low/other.hpp does not say in its first comment what it is"])

    def test_a_class_with_many_functions_or_members_is_reported(self) -> None:
        members = "".join(f"  int m{i} = 0;\n" for i in range(15))
        functions = "".join(f"  void f{i}() {{ return; }}\n" for i in range(40))
        others = (
            "  using X = int;\n  friend class Z;\n  static constexpr int k = 3;\n"
            "  struct In { int a, b; };\n  enum class E { a, b };\n"
        )
        body = members + functions + others
        self.write("shim/low/a.hpp", "class A {\n" + body + "};\n")
        self.write("shim/intercept/a.hpp", "class A {\n" + body + body + "};\n")
        self.assertEqual(self.large_classes(), [])
        for name, added, functions_, members_ in (
            ("b", "std::map<int, std::function<void(int)>> table{1, 2};", 40, 16),
            ("c", "void (*call)(int) = nullptr;", 40, 16),
            ("d", "struct { int x, y; } point;", 40, 16),
            ("e", "E(int a) : x(a), y{a} {}", 41, 15),
            ("f", "[[gnu::hot]] bool operator==(const F&) const = default;", 41, 15),
            ("g", "static int of(std::pair<int, int> a = {1, 2});", 41, 15),
        ):
            self.write(
                f"shim/low/{name}.hpp", f"struct {name.upper()} : A {{\n{body}{added}\n}};\n"
            )
            with self.subTest(added):
                self.assertEqual(
                    self.large_classes(),
                    [
                        f"shim/low/{name}.hpp: {name.upper()} has {functions_} functions and "
                        f"{members_} data members; divide it, or give the reason in its comment "
                        'after "Size:"'
                    ],
                )
            (self.top / f"shim/low/{name}.hpp").unlink()

    def test_a_large_class_may_give_a_reason(self) -> None:
        members = "  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;\n"
        self.write(
            "shim/low/a.hpp",
            "/// Layout.\n///\n/// Size: one offset for each part.\n"
            "class alignas(kLine) A final : public B<int> {\n" + members + "};\n",
        )
        self.assertEqual(self.large_classes(), [])
        self.write(
            "shim/low/b.hpp", "/// Layout.\ntemplate <class T>\nclass B {\n" + members + "};\n"
        )
        self.assertEqual(len(self.large_classes()), 1)

    def build(self, **sources: str) -> None:
        """Build the library of each module from one C++ source."""
        (self.top / "build/shim").mkdir(parents=True)
        for module, text in sources.items():
            self.write(f"{module}.cpp", text)
            subprocess.run(["g++", "-fPIC", "-c", f"{module}.cpp"], cwd=self.top, check=True)
            subprocess.run(
                ["ar", "qc", f"build/shim/libintersession_{module}.a", f"{module}.o"],
                cwd=self.top,
                check=True,
            )

    def test_symbols_of_mpi_are_reported(self) -> None:
        self.build(
            low="int fine() { return 0; }\n",
            high='extern "C" { int MPI_Send(); int PMPI_Recv(); }\n'
            "int f() { return MPI_Send() + PMPI_Recv(); }\n",
        )
        self.assertEqual(
            check_modules.find_wrong_symbols(self.top / "build", self.modules),
            [
                "libintersession_high.a refers to MPI_Send",
                "libintersession_high.a refers to PMPI_Recv",
            ],
        )

    def test_global_data_is_reported(self) -> None:
        self.build(
            low="struct B { virtual ~B() = default; };\nB* make() { return new B; }\n"
            'extern const char* const names[] = {"a", "b"};\nextern const int number = 7;\n',
            high="int counter;\nint start = 3;\nthread_local int mine;\n"
            "int f() { static int calls; return ++calls; }\n",
        )
        self.assertEqual(
            sorted(check_modules.find_wrong_globals(self.top / "build", self.modules)),
            [
                f"libintersession_high.a has writable global data: {name}"
                for name in ("counter", "f()::calls", "mine", "start")
            ],
        )

    def test_a_difference_to_the_table_of_the_document_is_reported(self) -> None:
        table = (
            "| `shim/low` | x | – |\n"
            "| `shim/high` | x | low |\n"
            "| `shim/intercept` | x | all above |\n"
        )
        self.assertEqual(check_modules.find_table_mismatches(table, self.modules), [])
        self.assertEqual(
            check_modules.find_table_mismatches(table.replace("| low |", "| – |"), self.modules),
            [
                "docs/developer/architecture.md lets high include from [], "
                "the build from ['high', 'low']"
            ],
        )
        self.assertEqual(
            check_modules.find_table_mismatches(
                table.replace("| `shim/high` | x | low |\n", ""), self.modules
            )[-1],
            "docs/developer/architecture.md has the modules ['intercept', 'low'], "
            "the build ['high', 'intercept', 'low']",
        )


if __name__ == "__main__":
    unittest.main()
