// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/handles/user_codes.hpp"

#include <algorithm>

namespace shim::intercept {

using base::Error;
using base::ErrorClass;

int UserCodes::add_class() {
  std::lock_guard lock(mutex_);
  rows_[next_] = {next_, std::nullopt};
  return next_++;
}

int UserCodes::add_code(int error_class) {
  std::lock_guard lock(mutex_);
  rows_[next_] = {error_class, std::nullopt};
  return next_++;
}

void UserCodes::remember(int code, int error_class) {
  std::lock_guard lock(mutex_);
  rows_[code] = {error_class, std::nullopt};
}

base::Result<UserCodes::CodeRecord*> UserCodes::find(int code) {
  auto at = rows_.find(code);
  if (at == rows_.end())
    return Error(ErrorClass::arg, "the number " + std::to_string(code) +
                                      " is not a user-defined error class or code");
  return &at->second;
}

base::Status UserCodes::set_text(int code, std::string text) {
  std::lock_guard lock(mutex_);
  SHIM_TRY_ASSIGN(CodeRecord * row, find(code));
  row->text = std::move(text);
  return {};
}

base::Status UserCodes::check_without_text(int code, const CodeRecord& row) {
  if (!row.text) return {};
  return Error(ErrorClass::arg,
               "error code " + std::to_string(code) +
                   " still has an error string; call MPI_Remove_error_string first");
}

base::Status UserCodes::remove_class(int code) {
  std::lock_guard lock(mutex_);
  SHIM_TRY_ASSIGN(CodeRecord * row, find(code));
  if (row->error_class != code)
    return Error(ErrorClass::arg,
                 "the number " + std::to_string(code) + " is an error code, not a class");
  auto uses = [code](const auto& other) {
    return other.first != code && other.second.error_class == code;
  };
  if (auto used = std::find_if(rows_.begin(), rows_.end(), uses); used != rows_.end())
    return Error(ErrorClass::arg, "the error class " + std::to_string(code) +
                                      " still has the code " + std::to_string(used->first));
  SHIM_TRY(check_without_text(code, *row));
  rows_.erase(code);
  return {};
}

base::Status UserCodes::remove_code(int code) {
  std::lock_guard lock(mutex_);
  SHIM_TRY_ASSIGN(CodeRecord * row, find(code));
  if (row->error_class == code)
    return Error(ErrorClass::arg,
                 "the number " + std::to_string(code) + " is an error class, not a code");
  SHIM_TRY(check_without_text(code, *row));
  rows_.erase(code);
  return {};
}

base::Status UserCodes::remove_text(int code) {
  std::lock_guard lock(mutex_);
  SHIM_TRY_ASSIGN(CodeRecord * row, find(code));
  if (!row->text)
    return Error(ErrorClass::arg, "the error code " + std::to_string(code) + " has no string");
  row->text.reset();
  return {};
}

std::optional<int> UserCodes::class_of(int code) {
  std::lock_guard lock(mutex_);
  auto at = rows_.find(code);
  if (at == rows_.end()) return std::nullopt;
  return at->second.error_class;
}

std::optional<std::string> UserCodes::text_of(int code) {
  std::lock_guard lock(mutex_);
  auto at = rows_.find(code);
  if (at == rows_.end()) return std::nullopt;
  return at->second.text.value_or(std::string());
}

std::optional<int> UserCodes::last_used() {
  std::lock_guard lock(mutex_);
  if (next_ != kFirst) return next_ - 1;
  if (rows_.empty()) return std::nullopt;
  return rows_.rbegin()->first;
}

UserCodes& user_codes() {
  static UserCodes& codes = *new UserCodes;
  return codes;
}

}  // namespace shim::intercept
