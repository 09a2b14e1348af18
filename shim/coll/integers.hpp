// SPDX-License-Identifier: BSD-3-Clause
// Integers is a view of counts or displacements: an array of int, or of MPI_Count or MPI_Aint.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ranges>

namespace shim::coll {

/// View of an array of 32-bit or 64-bit integers.
class Integers {
 public:
  Integers() = default;
  template <std::integral T>
  Integers(const T* first, std::size_t size)
      : first_(reinterpret_cast<const std::byte*>(first)), size_(size), is_long_(sizeof(T) == 8) {
    static_assert(sizeof(T) == 8 || sizeof(T) == 4);
  }
  template <std::ranges::contiguous_range List>
  Integers(const List& list)
      : Integers(std::ranges::data(list), std::ranges::size(list)) {
  }  // NOLINT(google-explicit-constructor)

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t operator[](std::size_t i) const {
    return is_long_ ? read<std::int64_t>(i) : read<std::int32_t>(i);
  }

  std::int64_t sum() const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < size_; ++i) sum += (*this)[i];
    return sum;
  }
  /// Return the largest value; 0 if all are negative.
  std::uint64_t largest() const {
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < size_; ++i) largest = largest < (*this)[i] ? (*this)[i] : largest;
    return static_cast<std::uint64_t>(largest);
  }

 private:
  template <typename T>
  // MPI_Count may be another type than std::int64_t, of equal length.
  T read(std::size_t i) const {
    T value;
    std::memcpy(&value, first_ + i * sizeof(T), sizeof(T));
    return value;
  }

  const std::byte* first_ = nullptr;
  std::size_t size_ = 0;
  bool is_long_ = true;
};

}  // namespace shim::coll
