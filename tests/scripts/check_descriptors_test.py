# SPDX-License-Identifier: BSD-3-Clause
"""scripts/check-descriptors reports each call that opens a descriptor which may be 0, 1 or 2."""
import importlib.machinery
import importlib.util
import pathlib
import unittest

_SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check-descriptors"
_loader = importlib.machinery.SourceFileLoader("check_descriptors", str(_SCRIPT))
check_descriptors = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("check_descriptors", _loader)
)
_loader.exec_module(check_descriptors)

_GOOD = """
#include <fcntl.h>
// ::open(path) in a comment
Descriptor one(base::above_standard_streams(::open(path, O_RDONLY)));
const int two = base::above_standard_streams(
    ::accept4(listener, nullptr, nullptr, 0));
if (base::above_standard_streams(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), ends) != 0)
  return;
Result<Link*> Shm::open(ConstSpan address) { return Endpoint::open(address); }
::fcntl(one, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
"""
_BAD = {
    "int one = ::open(path, O_RDONLY);": "open outside of base::above_standard_streams",
    "Descriptor one(::socket(AF_INET, SOCK_STREAM, 0));": (
        "socket outside of base::above_standard_streams"
    ),
    "int one = epoll_create1(0);": "epoll_create1 outside of base::above_standard_streams",
    "fcntl(one, F_DUPFD_CLOEXEC, 0);": "F_DUPFD with a lowest number that may be below 3",
    "std::ifstream file(path);": "ifstream opens descriptors internally; use shim/base/files.hpp",
    "auto* file = std::fopen(path, mode);": (
        "std::fopen opens descriptors internally; use shim/base/files.hpp"
    ),
    "for (auto& entry : fs::directory_iterator(path)) use(entry);": (
        "directory_iterator opens descriptors internally; use shim/base/files.hpp"
    ),
    "void* library = ::dlopen(name, RTLD_NOW);": "dlopen without base::StandardStreamsHeld",
}


class CheckDescriptors(unittest.TestCase):
    def test_accepts_calls_inside_the_function(self) -> None:
        self.assertEqual(check_descriptors.offences("shim/x/good.cpp", _GOOD), [])

    def test_reports_each_call_outside_the_function(self) -> None:
        for code, offence in _BAD.items():
            with self.subTest(code):
                self.assertEqual(
                    check_descriptors.offences("shim/x/bad.cpp", "\n" + code + "\n"),
                    [f"shim/x/bad.cpp:2: {offence}"],
                )

    def test_a_library_may_be_loaded_while_the_streams_are_held(self) -> None:
        code = (
            "const base::StandardStreamsHeld streams;\nvoid* library = ::dlopen(name, RTLD_NOW);\n"
        )
        self.assertEqual(check_descriptors.offences("shim/x/library.cpp", code), [])


if __name__ == "__main__":
    unittest.main()
