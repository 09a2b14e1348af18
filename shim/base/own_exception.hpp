// SPDX-License-Identifier: BSD-3-Clause
// Distinguishes this library's exceptions from exceptions of the program's callbacks.
#pragma once

#include <exception>

#include "shim/base/error.hpp"

namespace shim::base {

/// True if this library, or the C++ library linked into it, threw the exception. The exception's
/// std::type_info is in the shared object that threw it. This library contains its own copy of the
/// C++ library, so even a std::bad_alloc that the program throws has another type_info. (A test
/// that shares its C++ library with the code under test counts its std exceptions as own ones.)
bool is_own_exception(const std::exception& thrown);

/// Return an exception of this library as an error: no_mem for std::bad_alloc, other for
/// std::system_error, else intern.
Error error_of(const std::exception& thrown);

}  // namespace shim::base
