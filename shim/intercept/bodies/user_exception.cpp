// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/bodies/user_exception.hpp"

#include <string>

namespace shim::intercept {

base::Status UserException::take_as_error() {
  if (!exception_) return {};
  std::string what = "not a std::exception";
  try {
    rethrow();
  } catch (const std::exception& thrown) {
    what = thrown.what();
  } catch (...) {  // NOLINT(bugprone-empty-catch): its type is unknown, so it has no text
  }
  return base::Error(base::ErrorClass::other,
                     "the function of the operation threw an exception (" + what + ")");
}

}  // namespace shim::intercept
