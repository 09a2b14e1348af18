// SPDX-License-Identifier: BSD-3-Clause
// What a handle of ours says, whatever the substrate's handles look like.
#pragma once

#include <cstdint>

namespace shim::intercept::abi {

enum class Kind : std::uint8_t { none, comm, group, request, message, session, info, errhandler, datatype, op, win, file };
inline constexpr int kKinds = 12;

/// The generation tells a slot's present object from those that were there before.
struct Handle {
  Kind kind = Kind::none;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  bool operator==(const Handle&) const = default;
};

/// The value of any kind of handle, ours or the substrate's: address or integer. Two handles of one kind are the same if these are.
using Bits = std::uintptr_t;

}  // namespace shim::intercept::abi
