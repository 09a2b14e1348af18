// SPDX-License-Identifier: BSD-3-Clause
// Implements error codes and their texts (MPI-4.1 §9.3.5, §9.4, §9.5). Usable at any time, because
// errors before MPI_Init must be readable.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/user_codes.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/native/activity.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// Return "MPI_ERR_RANK: invalid rank; MPI_Send: destination rank 7 is not …".
std::string text_of(ErrorClass error_class, int code) {
  std::string text = std::string(base::name_of(error_class)) + ": " +
                     std::string(base::meaning_of(error_class));
  std::string last = last_error_text(code);
  return last.empty() ? text : text + "; " + last;
}

Error unknown(int code) {
  return Error(ErrorClass::arg,
               "the error code " + std::to_string(code) + " is unknown before MPI_Init");
}

/// Store a text; one that is too long ends in "...".
void write_text(const std::string& text, char* string, int* resultlen) {
  constexpr std::string_view kCut = "...";
  constexpr std::size_t kSpace = MPI_MAX_ERROR_STRING - 1;
  std::size_t length = text.size() <= kSpace ? text.size() : kSpace - kCut.size();
  while (length < text.size() && length > 0 &&
         (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80)
    --length;  // no partial UTF-8 characters
  std::memcpy(string, text.data(), length);
  if (length < text.size()) length += kCut.copy(string + length, kCut.size());
  string[length] = '\0';
  *resultlen = static_cast<int>(length);
}

/// Add a class, code or string. While the substrate is active, the number is the substrate's and is
/// remembered here for later. Intersession's classes, unknown to the substrate, always get
/// Intersession's codes.
template <typename AddNative, typename Add>
int add(const char* function, int* number, bool is_native, AddNative add_native, Add add_ours) {
  if (is_native && number != nullptr) return add_native();
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_output(number, "number"));
    *number = add_ours();
    return {};
  });
}

bool is_a_class(int number) {
  return abi::class_of(number) || user_codes().class_of(number) == number;
}

}  // namespace

namespace impl {

int Error_class(int errorcode, int* errorclass) {
  auto added = user_codes().class_of(errorcode);
  if (!added && !abi::class_of(errorcode) && is_active())
    return active_table.Error_class(errorcode, errorclass);
  return run_with_handler(Subject(), "MPI_Error_class", [&]() -> base::Status {
    SHIM_TRY(check_output(errorclass, "error class"));
    if (!added && !abi::class_of(errorcode)) return unknown(errorcode);
    *errorclass = added.value_or(errorcode);
    return {};
  });
}

int Error_string(int errorcode, char* string, int* resultlen) {
  auto added = user_codes().text_of(errorcode);
  auto error_class = abi::class_of(errorcode);
  // the substrate's own errors keep its text
  bool is_theirs = !added && (!error_class || (last_error_text(errorcode).empty() &&
                                               errorcode < MPI_ERR_PROC_ABORTED));
  if (is_active() && is_theirs) return active_table.Error_string(errorcode, string, resultlen);
  return run_with_handler(Subject(), "MPI_Error_string", [&]() -> base::Status {
    SHIM_TRY(check_output(string, "text"));
    SHIM_TRY(check_output(resultlen, "length"));
    if (!added && !error_class) return unknown(errorcode);
    write_text(added ? *added : text_of(*error_class, errorcode), string, resultlen);
    return {};
  });
}

int Add_error_class(int* errorclass) {
  auto native_call = [&] {
    int code = active_table.Add_error_class(errorclass);
    if (code == MPI_SUCCESS) user_codes().remember(*errorclass, *errorclass);
    return code;
  };
  return add("MPI_Add_error_class", errorclass, is_active(), native_call,
             [] { return user_codes().add_class(); });
}

int Add_error_code(int errorclass, int* errorcode) {
  if (!is_a_class(errorclass))
    return fail(Subject(), "MPI_Add_error_code",
                Error(ErrorClass::arg,
                      "the number " + std::to_string(errorclass) + " is not an error class"));
  auto native_call = [&] {
    int code = active_table.Add_error_code(errorclass, errorcode);
    if (code == MPI_SUCCESS) user_codes().remember(*errorcode, errorclass);
    return code;
  };
  // an older native library does not know the numbers of MPI-4 classes
  bool is_native = is_active() && !user_codes().is_ours(errorclass) &&
                   !(abi::class_of(errorclass) && errorclass >= MPI_ERR_PROC_ABORTED);
  return add("MPI_Add_error_code", errorcode, is_native, native_call,
             [&] { return user_codes().add_code(errorclass); });
}

int Add_error_string(int errorcode, const char* string) {
  return run_with_handler(Subject(), "MPI_Add_error_string", [&]() -> base::Status {
    if (string == nullptr) return Error(ErrorClass::arg, "the string is a null pointer");
    if (std::strlen(string) >= MPI_MAX_ERROR_STRING)
      return Error(ErrorClass::arg, "the string is longer than MPI_MAX_ERROR_STRING, " +
                                        std::to_string(MPI_MAX_ERROR_STRING));
    SHIM_TRY(user_codes().set_text(errorcode, string));
    // also in the native library, which prints it when it ends the job
    if (is_active() && !user_codes().is_ours(errorcode))
      active_table.Add_error_string(errorcode, string);
    return {};
  });
}

int Remove_error_class(int errorclass) {
  return run_with_handler(Subject(), "MPI_Remove_error_class",
                          [&] { return user_codes().remove_class(errorclass); });
}
int Remove_error_code(int errorcode) {
  return run_with_handler(Subject(), "MPI_Remove_error_code",
                          [&] { return user_codes().remove_code(errorcode); });
}
int Remove_error_string(int errorcode) {
  return run_with_handler(Subject(), "MPI_Remove_error_string",
                          [&] { return user_codes().remove_text(errorcode); });
}

}  // namespace impl
}  // namespace shim::intercept
