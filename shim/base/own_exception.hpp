// SPDX-License-Identifier: BSD-3-Clause
// Tells exceptions of this library from exceptions of the program's callbacks.
#pragma once

#include <exception>

namespace shim::base {

/// True if this library, or the C++ library it was linked with, has thrown the exception.
/// A type_info object belongs to the module that throws: the library has its own C++ library, so
/// that even a std::bad_alloc of the program differs. (A test that shares its C++ library with the
/// code under test counts its std exceptions as own ones.)
bool is_own_exception(const std::exception& thrown);

}  // namespace shim::base
