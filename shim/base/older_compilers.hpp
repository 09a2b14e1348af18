// SPDX-License-Identifier: BSD-3-Clause
// Supplies the parts of C++20 and the builtins that GCC 10 and its standard library lack.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

namespace shim::base {

/// std::bit_cast, since GCC 11.
template <typename To, typename From>
To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To> &&
                std::is_trivially_copyable_v<From>);
#ifdef __cpp_lib_bit_cast
  return std::bit_cast<To>(from);
#else
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
#endif
}

/// std::make_unique_for_overwrite for arrays, since GCC 11: the elements are not initialized.
template <typename Array>
std::unique_ptr<Array> make_unique_for_overwrite(std::size_t length) {
  return std::unique_ptr<Array>(new std::remove_extent_t<Array>[length]);
}

/// Return the address that distinguishes the calling thread from all others.
inline void* thread_pointer() noexcept {
#if defined(__clang__) || __GNUC__ >= 11 || !defined(__x86_64__)
  return __builtin_thread_pointer();
#else
  // The first word that the register fs points to is its own address (x86-64 ABI, thread-local
  // storage). GCC 10 knows the builtin, but not for this processor.
  void* address;
  asm("mov %%fs:0, %0" : "=r"(address));
  return address;
#endif
}

}  // namespace shim::base
