# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the analysis of a disassembly in scripts/show-kernels."""
import importlib.machinery
import importlib.util
import pathlib
import unittest

_SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "show-kernels"
_loader = importlib.machinery.SourceFileLoader("show_kernels", str(_SCRIPT))
show_kernels = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("show_kernels", _loader)
)
_loader.exec_module(show_kernels)


def _function(operator, of, *instructions, registers=0):
    head = (
        "0000000000000010 <shim::types::(anonymous namespace)::"
        f"Compiled<(shim::types::Operator){operator}, {of}, "
        f"(shim::types::Registers){registers}>::loop(void const*, void*, unsigned long)>:"
    )
    return "\n".join([head, *(f"  10:\t{each}" for each in instructions)]) + "\n"


class ShowKernels(unittest.TestCase):
    def test_packed_instructions_are_found(self):
        found = show_kernels.loops(
            _function(
                2,
                "double",
                "movups (%rdi,%rax,1),%xmm0",
                "addpd  %xmm1,%xmm0",
                "addpd  %xmm2,%xmm0",
            )
        )
        self.assertEqual(found, {(2, "double", 0): {"addpd": 2}})
        self.assertEqual(show_kernels.lacking(found), [])

    def test_a_loop_over_single_elements_is_reported(self):
        found = show_kernels.loops(
            _function(2, "double", "addsd  (%rdi,%rax,8),%xmm0")
            + _function(2, "float", "addps  %xmm1,%xmm0")
        )
        self.assertEqual(show_kernels.lacking(found), [(2, "double", 0)])

    def test_each_register_width_is_checked(self):
        found = show_kernels.loops(
            _function(2, "float", "addps  %xmm1,%xmm0")
            + _function(2, "float", "vaddss %xmm2,%xmm1,%xmm0", registers=1)
        )
        self.assertEqual(show_kernels.lacking(found), [(2, "float", 1)])

    def test_setting_a_register_to_zero_does_not_count(self):
        self.assertEqual(
            show_kernels.lacking(
                show_kernels.loops(_function(0, "int", "pxor   %xmm0,%xmm0", "cmp    %eax,%edx"))
            ),
            [(0, "int", 0)],
        )

    def test_types_without_vector_instructions_are_not_reported(self):
        self.assertEqual(
            show_kernels.lacking(
                show_kernels.loops(_function(0, "long double", "fadd   %st(1),%st"))
            ),
            [],
        )

    def test_long_integers_are_compared_in_wide_registers_only(self):
        largest, sum_ = (show_kernels.operators().index(name) for name in ("max", "sum"))
        text = "".join(
            _function(operator, "long", "cmp    %eax,%edx", registers=registers)
            for operator in (largest, sum_)
            for registers in (0, 1)
        )
        self.assertEqual(
            show_kernels.lacking(show_kernels.loops(text)),
            [(largest, "long", 1), (sum_, "long", 0), (sum_, "long", 1)],
        )

    def test_other_functions_end_a_loop(self):
        text = (
            _function(2, "double", "addsd  %xmm1,%xmm0")
            + "0000000000000020 <void other()>:\n  20:\taddpd  %xmm1,%xmm0\n"
        )
        self.assertEqual(show_kernels.loops(text), {(2, "double", 0): {}})

    def test_the_operators_are_those_of_the_module(self):
        self.assertEqual(show_kernels.operators()[:4], ["max", "min", "sum", "prod"])


if __name__ == "__main__":
    unittest.main()
