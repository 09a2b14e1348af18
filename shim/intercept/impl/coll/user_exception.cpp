// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/coll/user_exception.hpp"

#include <string>

namespace shim::intercept {

base::Status UserException::take_as_error() {
  if (!exception_) return {};
  std::string what = "not a std::exception";
  try {
    rethrow();
  } catch (const std::exception& thrown) {
    what = thrown.what();
  } catch (...) {  // NOLINT(bugprone-empty-catch): of unknown type, without text
  }
  return base::Error(
      base::ErrorClass::other,
      "the user function of the reduction operation threw an exception (" + what + ")");
}

}  // namespace shim::intercept
