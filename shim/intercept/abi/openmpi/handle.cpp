// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/handle.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <mutex>
#include <string>

namespace shim::intercept::abi {

constinit HandleRange handle_range;

namespace {

/// Fewer slots than this per kind of object are no use to a real program.
constexpr Bits kSmallestRange = Bits{256} << kSlotShift;

Bits wanted_bytes(const rlimit& limit) {
  if (limit.rlim_cur == RLIM_INFINITY) return kFullRange;
  return std::clamp(std::bit_floor(static_cast<Bits>(limit.rlim_cur / 16)), kSmallestRange, kFullRange);
}

}  // namespace

base::Status reserve_handles() {
  static constinit std::mutex mutex;
  std::lock_guard lock(mutex);
  if (handle_range.bytes.load(std::memory_order_relaxed) != 0) return {};

  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(RLIMIT_AS, &limit);
  for (Bits bytes = wanted_bytes(limit); bytes >= kSmallestRange; bytes /= 2) {
    void* range = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) continue;
    madvise(range, bytes, MADV_DONTDUMP);  // nothing to see there; a refusal costs nothing
    handle_range.base.store(bits(range), std::memory_order_relaxed);
    handle_range.bytes.store(bytes, std::memory_order_release);  // pairs with the acquire in is_ours()
    return {};
  }
  return base::system_error(errno, "cannot reserve " + std::to_string(kSmallestRange >> 20) +
                                       " MiB of address space for handles; raise the limit on virtual memory (ulimit -v)");
}

}  // namespace shim::intercept::abi
