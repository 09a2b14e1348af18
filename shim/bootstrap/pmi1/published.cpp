// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/published.hpp"

#include <algorithm>
#include <cctype>

#include "shim/bootstrap/pmi1/wire.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t kMaxCount = 12;  // number of parts, and its colon

/// Encode as base64 without padding, because the protocol reserves '='.
std::string to_text(std::span<const std::byte> bytes) {
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (std::byte byte : bytes) {
    bits = (bits << 8 | std::to_integer<std::uint32_t>(byte)) & 0xffff;
    for (count += 8; count >= 6; count -= 6) text += kDigits[bits >> (count - 6) & 63];
  }
  if (count > 0) text += kDigits[bits << (6 - count) & 63];
  return text;
}

std::optional<Bytes> to_bytes(std::string_view text) {
  Bytes bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    const auto digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = (bits << 6 | static_cast<std::uint32_t>(digit)) & 0xffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::byte>(bits >> count & 0xff));
  }
  return bytes;
}

std::string escaped(std::string_view key) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string text;
  for (char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '.' || c == '_' || c == '-')
      text += c;
    else
      text.append("%") += {kHex[byte >> 4], kHex[byte & 15]};
  }
  return text;
}

}  // namespace

std::string part_name(std::string_view world, std::uint32_t rank, std::string_view key,
                      std::uint32_t part) {
  std::string name = std::string(world) + "." + std::to_string(rank) + "." + escaped(key);
  return part == 0 ? name : name + "/" + std::to_string(part);
}

std::vector<Publication> publications_of(std::string_view world, std::uint32_t rank,
                                         std::string_view key, std::span<const std::byte> value,
                                         std::size_t port_limit) {
  const std::string text = to_text(value);
  const std::size_t piece = std::max(port_limit, 2 * kMaxCount) - kMaxCount;
  const std::size_t parts = std::max<std::size_t>(1, (text.size() + piece - 1) / piece);
  std::vector<Publication> all;
  for (std::size_t part = parts; part-- > 0;) {
    std::string port = text.substr(part * piece, piece);
    if (part == 0) port = std::to_string(parts) + ":" + port;
    all.push_back({part_name(world, rank, key, static_cast<std::uint32_t>(part)), std::move(port)});
  }
  return all;
}

bool ValueAssembler::add(std::string_view port) {
  if (taken_ == 0) {
    const auto colon = port.find(':');
    const auto parts = colon == std::string_view::npos ? std::nullopt
                                                       : base::to_number(port.substr(0, colon));
    if (!parts || *parts == 0) return false;
    parts_ = *parts;
    port.remove_prefix(colon + 1);
  }
  ++taken_;
  text_ += port;
  return true;
}

std::optional<Bytes> ValueAssembler::value() const { return to_bytes(text_); }

}  // namespace shim::bootstrap::pmi1
