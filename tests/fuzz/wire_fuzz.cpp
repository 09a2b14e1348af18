// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the decoders of bytes from other processes and from launchers: they must not crash.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "shim/bootstrap/pmi1/wire.hpp"
#include "shim/sessions/creation_wire.hpp"
#include "shim/transport/net/address.hpp"
#include "shim/transport/net/frame.hpp"

namespace {

/// A valid creation message must round-trip, whatever its encoding.
void creation_message(std::span<const std::byte> bytes) {
  constexpr std::uint32_t kProcesses = 1000;
  const auto message = shim::sessions::decode(bytes, kProcesses);
  if (message && !shim::sessions::decode(shim::sessions::encode(*message), kProcesses))
    __builtin_trap();
}

/// A valid address must round-trip to equal bytes.
void tcp_address(std::span<const std::byte> bytes) {
  const auto address = shim::transport::TcpAddress::from_bytes(bytes);
  if (!address) return;
  const auto again = address->to_bytes();
  if (!std::equal(again.begin(), again.end(), bytes.begin(), bytes.end())) __builtin_trap();
  static_cast<void>(address->text());
}

/// A frame must be found once all its bytes are there, and be independent of later bytes.
void frames(std::span<const std::byte> bytes, std::size_t cut) {
  constexpr std::size_t kLongest = 1024;
  for (;;) {
    const auto frame = shim::transport::first_frame(bytes, kLongest);
    if (!frame || !*frame) return;
    const std::size_t length = (*frame)->length();
    const auto early = shim::transport::first_frame(bytes.first(length - std::min(cut, length)),
                                                    kLongest);
    const auto alone = shim::transport::first_frame(bytes.first(length), kLongest);
    if (length > bytes.size() || !early || *early || !alone || !*alone) __builtin_trap();
    if ((*alone)->kind != (*frame)->kind || !std::ranges::equal((*alone)->bytes, (*frame)->bytes))
      __builtin_trap();
    bytes = bytes.subspan(length);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  switch (data[0] < 0xf0 ? data[0] % 2 : data[0]) {
    case 0:
      creation_message(bytes);
      break;
    case 0xf0:
      tcp_address(bytes);
      break;
    case 0xf1:
    case 0xf2:
    case 0xf3:
      frames(bytes, data[0] - 0xf0u);
      break;
    default: {
      shim::bootstrap::pmi1::LineBuffer lines;
      lines.add(text);
      while (auto line = lines.next()) {
        auto parsed = shim::bootstrap::pmi1::PmiLine::parse(*line);
        if (!parsed) continue;
        static_cast<void>(parsed->is_success());
        static_cast<void>(parsed->number("size"));
        static_cast<void>(shim::bootstrap::pmi1::kind_of(*parsed));
      }
    }
  }
  return 0;
}
