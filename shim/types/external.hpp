// SPDX-License-Identifier: BSD-3-Clause
// The data representation external32 (MPI-4.1 §14.5.2): big-endian, IEEE, with sizes that are the same everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shim/base/result.hpp"
#include "shim/types/types.hpp"

namespace shim::types {

/// Bytes that `count` items take in external32.
std::uint64_t external_size(const Type& type, std::uint64_t count);

/// Writes the data of an array of items; `out` is external_size() long. Errors: conversion (an integer that does not fit into the size
/// that external32 has for its type).
base::Status pack_external(const Type& type, const void* items, std::uint64_t count, std::span<std::byte> out);
/// The way back; `in` is external_size() long. Errors: conversion.
base::Status unpack_external(const Type& type, std::span<const std::byte> in, void* items, std::uint64_t count);

}  // namespace shim::types
