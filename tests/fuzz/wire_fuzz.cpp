// SPDX-License-Identifier: BSD-3-Clause
// What comes from other processes and from launchers, taken apart: never a crash.
#include <cstdint>
#include <span>
#include <string_view>

#include "shim/bootstrap/pmi1/wire.hpp"
#include "shim/sessions/creation_wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 2) {
    case 0: static_cast<void>(shim::sessions::decode(std::as_bytes(std::span(data + 1, size - 1)))); break;
    default: {
      shim::bootstrap::pmi1::LineBuffer lines;
      lines.add(text);
      while (auto line = lines.next()) {
        auto parsed = shim::bootstrap::pmi1::Line::parse(*line);
        if (!parsed) continue;
        static_cast<void>(parsed->is_success());
        static_cast<void>(parsed->number("size"));
        static_cast<void>(shim::bootstrap::pmi1::kind_of(*parsed));
      }
    }
  }
  return 0;
}
