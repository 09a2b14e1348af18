// SPDX-License-Identifier: BSD-3-Clause
// UserCodes is the registry of error classes, codes and strings that the user adds (MPI-4.1 §9.5).
// Usable at any time in the program.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "shim/base/result.hpp"

namespace shim::intercept {

/// Registry of the user's classes and codes. All functions: any thread.
class UserCodes {
 public:
  /// First number, which no MPI library uses: above Open MPI's codes, which count from
  /// MPI_ERR_LASTCODE, and with bits that MPICH's dynamic codes lack.
  static constexpr int kFirst = 0x70000000;

  int add_class();
  int add_code(int error_class);
  /// Remember a code of the native library until the program ends; the native library forgets it
  /// earlier.
  void remember(int code, int error_class);
  /// Errors: arg (not a user's code).
  base::Status set_text(int code, std::string text);
  // A class or code cannot be removed while a string is associated with it (MPI-4.1 §9.5).
  /// Errors: arg (not the user's, no class, one that has codes, or one that has a text).
  base::Status remove_class(int code);
  /// Errors: arg (not the user's, a class, or one that has a text).
  base::Status remove_code(int code);
  /// Errors: arg (not the user's, or without a text).
  base::Status remove_text(int code);

  std::optional<int> class_of(int code);
  /// Return the text, empty if the user has set none; nothing for codes that are not the user's.
  std::optional<std::string> text_of(int code);
  bool is_ours(int code) const { return code >= kFirst; }
  /// Return the highest code ever added here; nothing if there was none (MPI_LASTUSEDCODE).
  std::optional<int> last_used();

 private:
  struct CodeRecord {
    int error_class;
    std::optional<std::string> text;
  };
  base::Result<CodeRecord*> find(int code);
  static base::Status check_without_text(int code, const CodeRecord& row);

  std::mutex mutex_;
  int next_ = kFirst;
  std::map<int, CodeRecord> rows_;  ///< by code
};

/// Return the registry, which is never destroyed: the program may query errors during exit.
UserCodes& user_codes();

}  // namespace shim::intercept
