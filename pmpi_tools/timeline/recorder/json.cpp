// SPDX-License-Identifier: BSD-3-Clause
#include "pmpi_tools/timeline/recorder/json.hpp"

#include <cstdio>

namespace timeline {

void JsonLine::begin(std::string_view key) {
  if (line_.size() > 1) line_ += ',';
  line_.append("\"").append(key).append("\":");
}

JsonLine& JsonLine::text(std::string_view key, std::string_view value) {
  begin(key);
  line_ += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      line_.append({'\\', c});
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x",
                    static_cast<unsigned>(static_cast<unsigned char>(c)));
      line_ += escaped;
    } else {
      line_ += c;
    }
  }
  line_ += '"';
  return *this;
}

JsonLine& JsonLine::number(std::string_view key, std::int64_t value) {
  begin(key);
  line_ += std::to_string(value);
  return *this;
}

}  // namespace timeline
