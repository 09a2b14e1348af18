// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/numa.hpp"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace shim::node {
namespace {

constexpr std::size_t kBitsPerWord = 8 * sizeof(unsigned long);
using NodeMask = std::array<unsigned long, 1024 / kBitsPerWord>;

}  // namespace

std::optional<std::uint32_t> current_numa_node() {
  unsigned core = 0, node = 0;
  if (::getcpu(&core, &node) != 0) return std::nullopt;
  return node;
}

void prefer_numa_node(std::byte* begin, std::size_t bytes, std::uint32_t node) {
  NodeMask mask{};
  if (node >= mask.size() * kBitsPerWord) return;
  mask[node / kBitsPerWord] = 1ul << (node % kBitsPerWord);
  // the kernel reads one bit less than this count
  ::syscall(SYS_mbind, begin, bytes, MPOL_PREFERRED, mask.data(), mask.size() * kBitsPerWord + 1,
            0);
}

}  // namespace shim::node
