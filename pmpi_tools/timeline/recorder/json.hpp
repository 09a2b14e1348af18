// SPDX-License-Identifier: BSD-3-Clause
// Writes a JSON object on one line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace timeline {

class JsonLine {
 public:
  JsonLine& text(std::string_view key, std::string_view value);
  JsonLine& number(std::string_view key, std::int64_t value);
  /// Return the object with an end of line.
  std::string finish() { return line_ + "}\n"; }

 private:
  void begin(std::string_view key);
  std::string line_ = "{";
};

}  // namespace timeline
