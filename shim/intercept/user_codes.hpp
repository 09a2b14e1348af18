// SPDX-License-Identifier: BSD-3-Clause
// Error classes, codes and strings that the user has added (MPI-4.1 §9.5), at any time in the life of the program.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "shim/base/result.hpp"

namespace shim::intercept {

/// All functions from any thread.
class UserCodes {
 public:
  /// Numbers that no MPI library uses: above the codes of Open MPI, which counts from MPI_ERR_LASTCODE, and with bits that
  /// MPICH's dynamic codes do not have.
  static constexpr int kFirst = 0x70000000;

  int add_class();
  int add_code(int error_class);
  /// One that the library below has made: known here as long as the program runs, that library's own memory of it ends sooner.
  void remember(int code, int error_class);
  /// Errors: arg (no code of the user's).
  base::Status set_text(int code, std::string text);
  // A class or code cannot be removed while a string is associated with it (MPI-4.1 §9.5).
  /// Errors: arg (not the user's, no class, one that has codes, or one that has a text).
  base::Status remove_class(int code);
  /// Errors: arg (not the user's, a class, or one that has a text).
  base::Status remove_code(int code);
  /// Errors: arg (not the user's, or without a text).
  base::Status remove_text(int code);

  std::optional<int> class_of(int code);
  /// Empty where the user has set none; nothing for codes that are not the user's.
  std::optional<std::string> text_of(int code);
  bool is_ours(int code) const { return code >= kFirst; }
  /// The highest code that was ever added here; nothing where there was none (MPI_LASTUSEDCODE).
  std::optional<int> last_used();

 private:
  struct Row {
    int error_class;
    std::optional<std::string> text;
  };
  base::Result<Row*> find(int code);
  static base::Status check_without_text(int code, const Row& row);

  std::mutex mutex_;
  int next_ = kFirst;
  std::map<int, Row> rows_;  ///< by code
};

/// Never destroyed: errors may be asked about while the program ends.
UserCodes& user_codes();

}  // namespace shim::intercept
