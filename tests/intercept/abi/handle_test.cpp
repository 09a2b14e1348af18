// SPDX-License-Identifier: BSD-3-Clause
// Tests the properties of Intersession's handles that hold for every substrate.
#include "shim/intercept/abi/handle.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "shim/intercept/abi/predefined.hpp"

namespace shim::intercept::abi {
namespace {

std::vector<Handle> some_handles() {
  std::vector<Handle> handles;
  for (HandleKind kind : {HandleKind::comm, HandleKind::request, HandleKind::file})
    for (std::uint32_t slot : {0u, 1u, 77u, kMaxSlots - 1})
      for (std::uint32_t generation : {0u, 1u, kGenerations - 1})
        handles.push_back({kind, slot, generation});
  return handles;
}

TEST(Handle, EncodesAndDecodesEveryField) {
  for (const Handle& handle : some_handles()) {
    EXPECT_TRUE(is_ours_bits(encode(handle)));
    EXPECT_EQ(decode(encode(handle)), handle);
  }
}

TEST(Handle, GenerationsIncreaseAndWrapAround) {
  for (Handle handle : some_handles()) {
    const Bits next = with_next_generation(encode(handle));
    handle.generation = (handle.generation + 1) % kGenerations;
    EXPECT_EQ(decode(next), handle);
  }
}

TEST(Handle, KeepsItsValueInEveryHandleType) {
  const Bits value = encode({HandleKind::comm, 5, 2});
  EXPECT_EQ(bits(from_bits<MPI_Comm>(value)), value);
  EXPECT_EQ(bits(from_bits<MPI_Request>(value)), value);
  EXPECT_EQ(bits(from_bits<MPI_File>(value)), value);
  EXPECT_TRUE(is_ours(from_bits<MPI_File>(value)));
}

TEST(Handle, RoundTripsThroughFortran) {
  for (const Handle& handle : some_handles()) {
    const MPI_Fint integer = to_fint(encode(handle));
    EXPECT_TRUE(is_ours_as_fint(integer));
    EXPECT_EQ(from_fint(integer), handle);
  }
  EXPECT_FALSE(is_ours_as_fint(0));
  EXPECT_FALSE(is_ours_as_fint(-1));
}

TEST(Handle, ForeignAddressesAreNotOurFiles) {
  static int data = 0;
  auto on_heap = std::make_unique<int>(0);
  for (void* address : {static_cast<void*>(&data), static_cast<void*>(on_heap.get()),
                        static_cast<void*>(&on_heap), static_cast<void*>(nullptr)})
    EXPECT_FALSE(is_ours(reinterpret_cast<MPI_File>(address)));
}

}  // namespace
}  // namespace shim::intercept::abi
