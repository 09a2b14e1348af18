# SPDX-License-Identifier: BSD-3-Clause
"""scripts/check-modules reports each kind of violation, and nothing in a correct tree."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import tempfile
import unittest

_SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check-modules"
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
