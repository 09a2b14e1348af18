// SPDX-License-Identifier: BSD-3-Clause
// Info is an info object (MPI-4.1 §10): ordered key-value pairs, usable before initialization.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shim/base/result.hpp"

namespace shim::sessions {

inline constexpr std::size_t kMaxInfoKey = 255;
inline constexpr std::size_t kMaxInfoValue = 1024;

/// Thread-safe, as MPI-4.1 §10 requires even before initialization.
class Info {
 public:
  /// Errors: info_key (empty or longer than kMaxInfoKey), info_value (longer than kMaxInfoValue).
  base::Status set(std::string_view key, std::string_view value);
  std::optional<std::string> get(std::string_view key) const;
  /// Errors: info_nokey.
  base::Status erase(std::string_view key);
  std::size_t size() const;
  /// Errors: arg (n out of range).
  base::Result<std::string> nth_key(int n) const;
  std::shared_ptr<Info> duplicate() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, std::string>> entries_;  ///< in the order of first insertion
};
using InfoPtr = std::shared_ptr<Info>;

}  // namespace shim::sessions
