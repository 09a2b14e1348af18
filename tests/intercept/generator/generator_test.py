# SPDX-License-Identifier: BSD-3-Clause
"""Tests the generator: valid and invalid input, and the text for one function of each kind."""
import os
import pathlib
import re
import sys
import unittest

_HERE = pathlib.Path(__file__).resolve().parent
_API = _HERE.parents[2] / "shim" / "intercept" / "api"
sys.path.insert(0, str(_API))

import description  # noqa: E402
import emit_impl  # noqa: E402
import emit_collectives  # noqa: E402
import emit_composed  # noqa: E402
import emit_coverage  # noqa: E402
import emit_entries  # noqa: E402
import emit_extensions  # noqa: E402
import emit_fortran  # noqa: E402
import emit_polling  # noqa: E402
import emit_served  # noqa: E402
import emit_overlay  # noqa: E402
import emit_table  # noqa: E402
import emit_tests  # noqa: E402
import generate  # noqa: E402
import probe  # noqa: E402

_REAL = (_API / "mpi_api.txt").read_text()
_SAMPLE = (_HERE / "sample_api.txt").read_text()
_OVERLAY = (_API.parent / "abi" / "openmpi" / "overlay.txt").read_text()
_WITHOUT_ENTRIES = "\n".join(
    line for line in _OVERLAY.splitlines() if not line.startswith(("entry", "extension", "fortran"))
)
_NATIVE = probe.NativeHeader(
    frozenset({"MPI_Send", "MPI_Waitall", "MPI_Init"}), frozenset(), frozenset({"MPI_Send"})
)


def _functions(text):
    return {function.name: function for function in description.parse(text)[0]}


class Description(unittest.TestCase):
    def test_functions_match_the_list_of_names(self):
        names = {
            line
            for line in (_HERE / "mpi_names.txt").read_text().splitlines()
            if line.startswith("MPI")
        }
        self.assertEqual({function.mpi_name for function in _functions(_REAL).values()}, names)

    def test_extensions_have_their_own_prefix(self):
        functions = _functions(
            "MPIX_Cart_new | 8.5 | 4.0 | ours | impl\n  int a : INDEX\nMPI_Send | 3.2 | 1.0 | "
            "native\n  int a : INDEX"
        )
        self.assertEqual(
            [function.mpi_name for function in functions.values()], ["MPIX_Cart_new", "MPI_Send"]
        )
        self.assertEqual(list(functions), ["Cart_new", "Send"])
        self.refuses("MPIY_X | 3.1 | 1.0 | native", "bad name, section or version")

    def test_every_function_has_a_section_of_a_listed_chapter(self):
        functions, chapters = description.parse(_REAL)
        for function in functions:
            self.assertIn(function.section.partition(".")[0], chapters, function.name)

    def test_chapters_are_in_order(self):
        order = [int(f.section.partition(".")[0]) for f in description.parse(_REAL)[0]]
        self.assertEqual(order, sorted(order))

    def test_lines_have_at_most_120_columns(self):
        self.assertEqual([line for line in _REAL.splitlines() if len(line) > 120], [])

    def refuses(self, text, reason):
        with self.assertRaisesRegex(description.DescriptionError, reason):
            description.parse(text)

    def test_errors_name_the_line_and_the_reason(self):
        self.refuses("\nMPI_X | 3.1 | 1.0", "mpi_api.txt:2: needs name")
        self.refuses("MPI_X | 3.1 | 1.0 | magic", "unknown route magic")
        self.refuses("MPI_X | 3.1 | 1.0 | native | shiny", "unknown flag shiny")
        self.refuses("X | 3.1 | 1.0 | native", "bad name, section or version")
        self.refuses("MPI_X | three | 1.0 | native", "bad name, section or version")
        self.refuses("MPI_X | 3.1 | new | native", "bad name, section or version")
        self.refuses("MPI_X -> char | 3.1 | 1.0 | native", "unknown return type char")
        self.refuses("MPI_X | 3.1 | 1.0 | native\n  int a", "parameter without kind: int a")
        self.refuses("  int a : RANK", "parameters without a function")
        self.refuses("MPI_X | 3.1 | 1.0 | by_handle(b)\n  int a : RANK", "no parameter b")
        self.refuses("MPI_X | 3.1 | 1.0 | by_handle(a)\n  int a : RANK", "a is no handle")
        self.refuses("MPI_X | 3.1 | 1.0 | by_handle", "needs a parameter")
        self.refuses(
            "MPI_X | 3.1 | 1.0 | array(a)\n  int a : RANK", "route array takes 2 parameters"
        )
        self.refuses("MPI_X | 3.1 | 1.0 | native | impl", "impl has no effect on the route native")
        self.refuses("MPI_X | 3.1 | 1.0 | native | anytime inactive", "exclude each other")
        self.refuses("MPI_X | 3.1 | 1.0 | ours | impl always inactive", "exclude each other")
        self.refuses("MPI_X | 3.1 | 1.0 | ours | always", "always needs impl")
        self.refuses("MPI_X | 3.1 | 1.0 | native | local", "local needs inactive")
        self.refuses("MPI_X | 3.1 | 1.0 | ours | collective", "names what it calls")
        self.refuses("MPI_X | 3.1 | 1.0 | ours | composed", "composed has no effect")
        arrays = "\n  MPI_Comm c : COMMUNICATOR; const MPI_Datatype t[] : DATATYPE"
        self.refuses("MPI_X | 3.1 | 1.0 | by_handle(c)" + arrays, "among")
        self.refuses("MPI_X | 3.1 | 1.0 | by_handle(c) | among(all)" + arrays, "among")
        self.refuses("MPI_X | 3.1 | 1.0 | native | among(peers)", "among")
        self.refuses(
            "MPI_X | 3.1 | 1.0 | native\nMPI_X | 3.1 | 1.0 | native", "MPI_X is there twice"
        )

    def test_parameters_are_split_into_name_and_type(self):
        for declaration, name, c_type, scalar in (
            ("MPI_Comm comm", "comm", "MPI_Comm", True),
            ("const int counts[]", "counts", "const int []", False),
            ("int ranges[][3]", "ranges", "int [][3]", False),
            ("char ***argv", "argv", "char ***", False),
            ("const void *buf", "buf", "const void *", False),
            ("...", "", "...", True),
        ):
            parameter = description.Parameter(declaration, "BUFFER")
            self.assertEqual(
                (parameter.name, parameter.c_type, parameter.is_scalar), (name, c_type, scalar)
            )

    def test_large_forms_have_the_types_of_the_standard(self):
        functions = _functions(_REAL)
        for name, signature in (
            ("Send_c", "int(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm)"),
            (
                "Type_create_hvector_c",
                "int(MPI_Count, MPI_Count, MPI_Count, MPI_Datatype, MPI_Datatype *)",
            ),
            ("Win_create_c", "int(void *, MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, MPI_Win *)"),
            ("Op_create_c", "int(MPI_User_function_c *, int, MPI_Op *)"),
        ):
            self.assertEqual(functions[name].signature_type, signature)
        self.assertEqual(functions["Send_c"].since, "4.0")
        self.assertEqual(functions["Comm_attach_buffer_c"].since, "4.1")

    def test_subject_is_the_object_of_the_error_handler(self):
        functions = _functions(_REAL)
        for name, subject in (
            ("Send", "comm"),
            ("File_open", "comm"),
            ("File_read", "fh"),
            ("Win_fence", "win"),
            ("Session_init", "errhandler"),
            ("Comm_create_from_group", "errhandler"),
            ("Session_set_errhandler", "session"),
            ("Comm_set_errhandler", "comm"),
            ("Comm_free", "comm"),
            ("Wait", "request"),
            ("Group_size", "group"),
        ):
            self.assertEqual(functions[name].subject.name, subject, name)
        for name in ("Waitall", "Info_create", "Comm_create_errhandler", "Get_processor_name"):
            self.assertIsNone(functions[name].subject, name)


class Generator(unittest.TestCase):
    maxDiff = None

    def test_generator_names_no_function(self):
        names = [
            line
            for line in (_HERE / "mpi_names.txt").read_text().splitlines()
            if line.startswith("MPI")
        ]
        known = set(names) | {name.partition("_")[2] for name in names if name.count("_") > 1}
        for path in sorted(_API.glob("*.py")):
            self.assertEqual(known & set(re.findall(r"\w+", path.read_text())), set(), path.name)

    def test_text_of_the_sample_functions_is_unchanged(self):
        """The text for the sample functions is unchanged.

        After an intended change run with UPDATE_GOLDEN=1 and review the difference.
        """
        functions, chapters = description.parse(_SAMPLE)
        text = "\n".join(
            [
                "// SPDX-License-Identifier: BSD-3-Clause",
                emit_impl.declarations(functions),
                emit_collectives.source(functions),
                emit_table.source(functions),
                emit_polling.source(functions),
                emit_served.source(functions),
                emit_entries.source(functions, _NATIVE),
                emit_extensions.source(functions, [("MPIX_Alltoallw", "MPI_Alltoallw")]),
                emit_fortran.source(
                    functions,
                    [
                        ("MPI_Testall", ["mpi_testall_", "ompi_testall_f"]),
                        ("MPI_Alltoallw", ["ompi_alltoallw_f"]),
                        ("MPI_Group_union", ["ompi_group_union_f"]),
                    ],
                    "sample",
                ),
                emit_tests.rows(functions),
                emit_coverage.page(
                    functions, chapters, _NATIVE, "sample", {"MPI_Send": ["a", "b", "c", "d"]}
                ),
            ]
        )
        golden = _HERE / "golden.txt"
        if os.environ.get("UPDATE_GOLDEN"):
            golden.write_text(text)
        self.assertMultiLineEqual(golden.read_text(), text)

    def test_same_input_same_bytes(self):
        make = lambda: generate.outputs(
            "openmpi",
            "1.2.3",
            description.parse(_REAL)[0],
            emit_overlay.parse_rows(_OVERLAY),
            _NATIVE,
        )
        self.assertEqual(make(), make())

    def test_each_entry_is_in_one_file(self):
        files = generate.outputs(
            "openmpi",
            "1.2.3",
            description.parse(_REAL)[0],
            emit_overlay.parse_rows(_OVERLAY),
            _NATIVE,
        )
        text = "".join(text for name, text in files.items() if "/entries_" in name)
        self.assertEqual(
            re.findall(r"^\S+ MPIX?_(\w+)\(", text, re.MULTILINE), list(_functions(_REAL))
        )

    def test_exports_are_functions_objects_and_fortran_entries(self):
        functions, _ = description.parse(_SAMPLE)
        entries = ["mpi_op_create_", "pmpi_op_create_", "MPIX_Scan_init", "PMPIX_Scan_init"]
        entries += ["mpi_group_union_", "ompi_group_union_f"]
        rows = [
            *emit_overlay.parse_rows(_WITHOUT_ENTRIES),
            ("entry", "op_create", "mpi_%_ pmpi_%_"),
            ("extension", "MPIX_Scan_init", "MPI_Scan_init"),
            ("fortran", "MPI_Group_union", "mpi_%_ ompi_%_f"),
        ]
        names = re.findall(r"^ {4}(\w+);$", emit_overlay.exports(functions, rows), re.MULTILINE)
        want = [prefix + f.mpi_name for f in functions for prefix in ("", "P")] + entries
        self.assertEqual(
            sorted(names),
            sorted(
                want
                + [
                    "ompi_mpi_instance_null",
                    "ompi_mpi_errors_abort",
                    "MPI_F08_STATUS_IGNORE",
                    "MPI_F08_STATUSES_IGNORE",
                ]
            ),
        )


class Fortran(unittest.TestCase):
    def entry(self, name):
        entries = [(name, ["ompi_x_f"])]
        return emit_fortran.source(description.parse(_REAL)[0], entries, "openmpi")

    def test_arguments_are_converted_by_kind(self):
        for name, lines in (
            (
                "MPI_Testsome",
                (
                    "!(fortran::ours_in(array_of_requests, *incount))",
                    "fortran::ChangedHandles<MPI_Request> c_array_of_requests(array_of_requests, "
                    "*incount);",
                    "fortran::SetIndices c_array_of_indices(array_of_indices, outcount);",
                    "fortran::FilledStatuses c_array_of_statuses(array_of_statuses, *incount);",
                    "PMPI_Testsome(*incount, c_array_of_requests, outcount, c_array_of_indices, "
                    "c_array_of_statuses);",
                ),
            ),
            (
                "MPI_Testany",
                (
                    "fortran::SetIndex c_indx(indx);",
                    "fortran::SetLogical c_flag(flag);",
                    "fortran::FilledStatus c_status(status);",
                    "c_status.store(code);",
                ),
            ),
            (
                "MPI_Ineighbor_alltoallw",
                (
                    "const MPI_Aint sdispls[], MPI_Fint* sendtypes",
                    "!(abi::is_ours_as_fint(*comm))",
                    "fortran::lengths_of_call(fortran::handle_of<MPI_Comm>(*comm), "
                    "Reach::neighbors, fortran::buffer(sendbuf));",
                    "fortran::ReadHandles<MPI_Datatype> c_sendtypes(sendtypes, lengths.send);",
                    "fortran::ReadHandles<MPI_Datatype> c_recvtypes(recvtypes, lengths.receive);",
                    "fortran::MadeHandle<MPI_Request> c_request(request);",
                ),
            ),
            ("MPI_Wait", ("fortran::ChangedHandle<MPI_Request> c_request(request);",)),
            ("MPI_Group_range_incl", ("int ranges[][3], MPI_Fint* newgroup", "*n, ranges, c_new")),
        ):
            text = self.entry(name)
            for line in lines:
                self.assertIn(line, text, name)

    def test_symbols_have_the_name_in_lower_case(self):
        rows = emit_overlay.parse_rows("fortran | MPI_Group_union | mpi_%_ ompi_%_f | x")
        self.assertEqual(
            emit_overlay.fortran_entries(rows),
            [("MPI_Group_union", ["mpi_group_union_", "ompi_group_union_f"])],
        )

    def test_each_row_names_a_function(self):
        names = {function.mpi_name for function in description.parse(_REAL)[0]}
        for name, _ in emit_overlay.fortran_entries(emit_overlay.parse_rows(_OVERLAY)):
            self.assertIn(name, names)


class Composed(unittest.TestCase):
    def test_base_function_of_each_composed_function(self):
        functions = _functions(_REAL)
        for name, of in (
            ("Send_c", "Send"),
            ("Bcast_init", "Ibcast"),
            ("Bcast_init_c", "Bcast_init"),
            ("Neighbor_alltoallw_init", "Ineighbor_alltoallw"),
            ("File_read_at_all_c", "File_read_at_all"),
        ):
            self.assertEqual(functions[name].made_of.name, of)
        self.assertEqual(functions["Bcast_init_c"].made_of.made_of.name, "Ibcast")
        for name in ("Send", "Send_init", "Psend_init", "Op_create_c", "Buffer_attach_c"):
            self.assertIsNone(functions[name].made_of, name)

    def test_array_lengths_are_computed(self):
        functions = _functions(_REAL)
        for name, text in (
            (
                "Scatterv_c",
                'narrow.array<int>(sendcounts, "sendcounts", narrow.length_at_root(comm, root))',
            ),
            (
                "Alltoallv_c",
                'narrow.array<int>(sdispls, "sdispls", narrow.length_sent(comm, Reach::peers, '
                "sendbuf))",
            ),
            (
                "Alltoallv_c",
                'narrow.array<int>(rdispls, "rdispls", narrow.length_received(comm, Reach::peers))',
            ),
            (
                "Neighbor_alltoallv_c",
                'narrow.array<int>(recvcounts, "recvcounts", narrow.length_received(comm, '
                "Reach::neighbors))",
            ),
            (
                "Reduce_scatter_c",
                'narrow.array<int>(recvcounts, "recvcounts", narrow.length_received(comm, '
                "Reach::peers))",
            ),
            (
                "Type_indexed_c",
                'narrow.array<int>(array_of_displacements, "array_of_displacements", count)',
            ),
            (
                "Type_create_subarray_c",
                'narrow.array<int>(array_of_sizes, "array_of_sizes", ndims)',
            ),
        ):
            self.assertIn(text, emit_composed.impl(functions[name]))

    def test_results_are_written_and_objects_are_kept(self):
        functions = _functions(_REAL)
        for name, text in (
            ("Pack_c", "Widened<int, MPI_Count> small_position(position, true);"),
            ("Pack_size_c", "Widened<int, MPI_Count> small_size(size, false);"),
            ("Win_shared_query_c", "Widened<int, MPI_Aint> small_disp_unit(disp_unit, false);"),
            ("Ialltoallv_c", "return narrow.done(code, request);"),
            ("Alltoallv_c", "return narrow.done(code);"),
            ("Gather_init", "persistent.keep_datatype(sendtype)"),
            ("Gather_init", "active_table.Igather("),
            ("Reduce_init", "persistent.keep_op(op)"),
        ):
            self.assertIn(text, emit_composed.impl(functions[name]))


class Probe(unittest.TestCase):
    def test_reads_prototypes_macros_and_other_names(self):
        native = probe.read(
            "int MPI_Send(int);\ntypedef int (MPI_Function)(int);\nenum { MPI_ONE };\n",
            "#define MPI_Aint_add(a, b) x\n#define PMPI_Aint_add(a, b) x\n",
        )
        self.assertEqual(native.functions, {"MPI_Send"})
        self.assertEqual(native.macros, {"MPI_Aint_add", "PMPI_Aint_add"})
        self.assertIn("MPI_ONE", native.names)
        self.assertEqual(native.version, "0.0")
        self.assertEqual(
            probe.read("", "#define MPI_SUBVERSION 1\n#define MPI_VERSION 3\n").version, "3.1"
        )

    def test_entries_have_the_parameter_types_of_the_header(self):
        function = next(f for f in description.parse(_SAMPLE)[0] if f.mpi_name == "MPI_Send")
        for text in ("int MPI_Send(const void *buf", "int MPI_Send(void *buf"):
            text += ", int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);"
            parameters = probe.read(text, "").parameters_of(function)
            self.assertEqual(parameters.startswith("const void *buf,"), "const" in text, text)
        self.assertEqual(probe.read("", "").parameters_of(function), function.signature_parameters)


class Overlay(unittest.TestCase):
    def header(self, native):
        return emit_overlay.header(
            description.parse(_SAMPLE)[0], emit_overlay.parse_rows(_OVERLAY), native, "1.2.3"
        )

    def test_declares_what_is_missing_and_not_removed(self):
        text = self.header(_NATIVE)
        self.assertIn("int MPI_Comm_create_from_group(MPI_Group group,", text)
        self.assertIn("int PMPI_Comm_create_from_group(", text)
        self.assertNotIn("MPI_Address", text)
        self.assertNotRegex(text, r"\bP?MPI_Send\(")

    def test_defines_the_version(self):
        text = self.header(_NATIVE)
        self.assertIn('#define INTERSESSION_VERSION "1.2.3"\n', text)
        self.assertIn("#define INTERSESSION_VERSION_NUMBER 10203\n", text)
        self.assertIn('#define INTERSESSION_COMMIT ""\n', text)

    def test_declares_newer_functions_for_older_headers_only(self):
        for has in (
            probe.NativeHeader(
                frozenset({"MPI_Comm_create_from_group", "MPI_Send"}), frozenset(), frozenset()
            ),
            probe.NativeHeader(
                frozenset(), frozenset({"MPI_Comm_create_from_group", "MPI_Send"}), frozenset()
            ),
        ):
            text = self.header(has)
            self.assertRegex(
                text,
                r"#if MPI_VERSION \* 10 \+ MPI_SUBVERSION < 40\n(.*\n)*?int "
                r"MPI_Comm_create_from_group\(MPI_Group group,",
            )
            self.assertNotRegex(text, r"\bP?MPI_Send\(")

    def test_functions_missing_from_their_own_standard_are_always_declared(self):
        lacks = probe.NativeHeader(frozenset({"MPI_Send"}), frozenset(), frozenset(), "4.0")
        head = self.header(lacks).partition("#if MPI_VERSION *")[0]
        self.assertIn("int MPI_Comm_create_from_group(MPI_Group group,", head)
        self.assertNotIn(
            "MPI_Comm_create_from_group", self.header(_NATIVE).partition("#if MPI_VERSION *")[0]
        )

    def test_blocks_apply_to_older_headers_regardless_of_the_installed_one(self):
        rows = emit_overlay.parse_rows(
            "int | MPI_A | 1 | x\nuntil | Two | V < 2 | x\ntype | MPI_T | int | x\nuntil | Three | "
            "V < 3 | x\n"
            "enum | MPI_E | A 0 | x"
        )
        has = probe.NativeHeader(frozenset(), frozenset({"MPI_A"}), frozenset({"MPI_T", "MPI_E"}))
        text = emit_overlay.header([], rows, has, "1.2.3")
        self.assertNotIn("MPI_A", text)
        self.assertIn(
            "#if V < 2 /* before Two */\ntypedef int MPI_T;\n#endif\n#if V < 3 /* before Three */\n"
            "typedef enum { A = 0 } MPI_E;\n#endif\n",
            text,
        )

    def test_a_row_of_a_function_replaces_its_declaration_by_version(self):
        rows = emit_overlay.parse_rows(
            "until | Five | V < 5 | x\nfunction | MPI_Comm_create_from_group | mpi_api.txt | x"
        )
        text = emit_overlay.header(description.parse(_SAMPLE)[0], rows, _NATIVE, "1.2.3")
        self.assertRegex(
            text,
            r"#if V < 5 /\* before Five \*/\nint MPI_Comm_create_from_group\(.*\n"
            r"int PMPI_Comm_create_from_group\(.*\n#endif\n",
        )
        self.assertEqual(text.count(" MPI_Comm_create_from_group("), 1)

    def test_declarations_that_differ_from_open_mpi_5_are_for_older_headers(self):
        for has in (_NATIVE, probe.NativeHeader(frozenset({"MPI_Pready_list"}), frozenset(), {})):
            rows = emit_overlay.parse_rows(_OVERLAY)
            text = emit_overlay.header(description.parse(_REAL)[0], rows, has, "1.2.3")
            before, _, older = text.partition("#if OMPI_MAJOR_VERSION < 5")
            older, _, after = older.partition("#endif")
            for declared in ("struct ompi_f08_status_public_t {", "int MPI_Pready_list("):
                self.assertIn(declared, older)
                self.assertNotIn(declared, before + after)

    def test_omits_rows_that_the_header_has(self):
        self.assertIn("MPI_ERR_SESSION 78", self.header(_NATIVE))
        has = probe.NativeHeader(
            frozenset(), frozenset({"MPI_ERR_SESSION"}), frozenset({"MPI_Session"})
        )
        self.assertNotIn("MPI_ERR_SESSION", self.header(has))
        self.assertNotIn("typedef struct ompi_instance_t", self.header(has))

    def test_each_kind_of_row_gives_its_declaration(self):
        for row, text in (
            ("type | T | struct s * | x", "typedef struct s *T;"),
            ("type | F | void (*)(int) | x", "typedef void (*F)(int);"),
            ("callback | C | int (int, void *) | x", "typedef int (C)(int, void *);"),
            ("enum | E | A 0, B 1 | x", "typedef enum { A = 0, B = 1 } E;"),
            ("text | K | mpi_size | x", '#define K "mpi_size"'),
            ("pointer | P | void * 4 | x", "#define P ((void *) 4)"),
        ):
            word, name, value = emit_overlay.parse_rows(row)[0]
            self.assertIn(text, "\n".join(emit_overlay.row_lines(word, name, value)))

    def test_an_invalid_row_is_an_error(self):
        with self.assertRaisesRegex(emit_overlay.OverlayError, "line 1"):
            emit_overlay.parse_rows("float | X | 1 | y")


class Coverage(unittest.TestCase):
    def test_each_function_has_its_state(self):
        functions = _functions(_SAMPLE)
        states = {name: emit_coverage.state(functions[name], _NATIVE) for name in functions}
        self.assertEqual(states["Send"], "both")
        self.assertEqual(states["Send_c"], "world")  # not in this header, but composed of MPI_Send
        self.assertEqual(
            states["Isendrecv_replace"], "both"
        )  # not in the header of this test, but composed
        self.assertEqual(states["Group_union"], "session")  # not in the header of this test
        self.assertEqual(states["Init"], "any")
        self.assertEqual(states["Comm_create_from_group"], "session")
        self.assertEqual(
            states["Address"], "any"
        )  # removed functions exist in the library but not in the header

    def test_counts_every_function(self):
        functions, _ = description.parse(_REAL)
        self.assertEqual(sum(emit_coverage.counts(functions, _NATIVE).values()), len(functions))


if __name__ == "__main__":
    unittest.main()
