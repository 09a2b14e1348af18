// SPDX-License-Identifier: BSD-3-Clause
// Error codes and their texts, MPI-4.1 §9.3.5 and §9.4. They work at any time: an error before MPI_Init must be readable.
#include <algorithm>
#include <cstring>
#include <string>

#include "shim/intercept/bodies/arguments.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// "MPI_ERR_RANK: invalid rank; MPI_Send: destination rank 7 is not …"
std::string text_of(ErrorClass error_class, int code) {
  std::string text = std::string(base::name_of(error_class)) + ": " + std::string(base::meaning_of(error_class));
  std::string last = last_error_text(code);
  return last.empty() ? text : text + "; " + last;
}

Error unknown(int code) {
  return Error(ErrorClass::arg, "the error code " + std::to_string(code) + " is not known while MPI_Init has not been called");
}

}  // namespace

namespace ours {

int Error_class(int errorcode, int* errorclass) {
  if (!abi::class_of(errorcode) && is_active()) return active_table.Error_class(errorcode, errorclass);
  return deliver(Subject(), "MPI_Error_class", [&]() -> base::Status {
    SHIM_TRY(check_output(errorclass, "error class"));
    if (!abi::class_of(errorcode)) return unknown(errorcode);
    *errorclass = errorcode;
    return {};
  });
}

int Error_string(int errorcode, char* string, int* resultlen) {
  auto error_class = abi::class_of(errorcode);
  // an error of the substrate's own keeps the substrate's text
  bool is_theirs = !error_class || (last_error_text(errorcode).empty() && errorcode < MPI_ERR_PROC_ABORTED);
  if (is_active() && is_theirs) return active_table.Error_string(errorcode, string, resultlen);
  return deliver(Subject(), "MPI_Error_string", [&]() -> base::Status {
    SHIM_TRY(check_output(string, "text"));
    SHIM_TRY(check_output(resultlen, "length"));
    if (!error_class) return unknown(errorcode);
    std::string text = text_of(*error_class, errorcode);
    std::size_t length = std::min(text.size(), std::size_t{MPI_MAX_ERROR_STRING - 1});
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;  // no half characters
    std::memcpy(string, text.data(), length);
    string[length] = '\0';
    *resultlen = static_cast<int>(length);
    return {};
  });
}

}  // namespace ours
}  // namespace shim::intercept
