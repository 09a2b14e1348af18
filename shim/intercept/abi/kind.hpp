// SPDX-License-Identifier: BSD-3-Clause
// Handle is the content of an Intersession handle over any substrate: kind, slot and generation.
#pragma once

#include <cstdint>

namespace shim::intercept::abi {

enum class HandleKind : std::uint8_t {
  none,
  comm,
  group,
  request,
  message,
  session,
  info,
  errhandler,
  datatype,
  op,
  win,
  file
};
inline constexpr int kKinds = 12;

/// The generation distinguishes a slot's present object from its earlier ones.
struct Handle {
  HandleKind kind = HandleKind::none;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  bool operator==(const Handle&) const = default;
};

/// Value of a handle of any kind, of either library: address or integer. Two handles of one kind
/// are equal if their bits are equal.
using Bits = std::uintptr_t;

}  // namespace shim::intercept::abi
