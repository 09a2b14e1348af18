// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace shim::base {

void prefault_pages([[maybe_unused]] std::byte* begin, [[maybe_unused]] std::size_t length) {
#ifdef MADV_POPULATE_WRITE
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto from = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page *
                    page;  // whole pages only: the rest of a partial page may not be backed
  const auto to = (reinterpret_cast<std::uintptr_t>(begin) + length) / page * page;
  if (from < to) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_POPULATE_WRITE);
#endif
}

}  // namespace shim::base
