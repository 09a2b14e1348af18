// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/fork_mark.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace shim::transport {

ForkMark::ForkMark() {
  auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (::madvise(page, bytes, MADV_WIPEONFORK) != 0) {
    ::munmap(page, bytes);
    return;
  }
  page_ = static_cast<volatile unsigned char*>(page);
  *page_ = 1;
}

ForkMark::~ForkMark() {
  if (page_)
    ::munmap(const_cast<unsigned char*>(page_), static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
}

}  // namespace shim::transport
