// SPDX-License-Identifier: BSD-3-Clause
// Converts to and from external32 (MPI-4.1 §14.5.2): big-endian, IEEE, fixed sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shim/base/result.hpp"
#include "shim/types/types.hpp"

namespace shim::types {

/// Return the bytes of `count` items in external32.
std::uint64_t external_size(const Type& type, std::uint64_t count);

/// Write the data of an array of items; `out` has external_size() bytes. Errors: conversion (an
/// integer exceeds its type's size in external32).
base::Status pack_external(const Type& type, const void* items, std::uint64_t count,
                           std::span<std::byte> out);
/// Read the data back; `in` has external_size() bytes. Never fails: integers are widened, long
/// doubles rounded.
base::Status unpack_external(const Type& type, std::span<const std::byte> in, void* items,
                             std::uint64_t count);

}  // namespace shim::types
