// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>

#include "shim/base/descriptor.hpp"

namespace shim::base {
namespace {

#ifdef MADV_POPULATE_WRITE
/// Maps a memfd none of whose pages is allocated at first.
class PrefaultPages : public ::testing::Test {
 protected:
  static constexpr std::size_t kPages = 6;
  void SetUp() override {
    ASSERT_EQ(::ftruncate(file_.get(), static_cast<off_t>(kPages * page_)), 0);
    begin_ = static_cast<std::byte*>(
        ::mmap(nullptr, kPages * page_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0));
    ASSERT_NE(begin_, MAP_FAILED);
    if (::madvise(begin_, page_, MADV_POPULATE_WRITE) != 0)
      GTEST_SKIP() << "the kernel is older than 5.14";
    ASSERT_EQ(::madvise(begin_, page_, MADV_REMOVE), 0);
  }
  void TearDown() override { ::munmap(begin_, kPages * page_); }
  /// Return one character a page: x if it is resident, else -.
  std::string resident() {
    std::array<unsigned char, kPages> found{};
    EXPECT_EQ(::mincore(begin_, kPages * page_, found.data()), 0);
    std::string text;
    for (const unsigned char each : found) text += (each & 1) != 0 ? 'x' : '-';
    return text;
  }

  const std::size_t page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const Descriptor file_{::memfd_create("pages", MFD_CLOEXEC)};
  std::byte* begin_ = nullptr;
};

TEST_F(PrefaultPages, MakesTheWholeRangeResident) {
  ASSERT_EQ(resident(), "------");
  prefault_pages(begin_ + page_, 3 * page_);
  EXPECT_EQ(resident(), "-xxx--");
}

TEST_F(PrefaultPages, SkipsPagesThatTheRangeCoversInPart) {
  prefault_pages(begin_ + page_ / 2, 3 * page_);
  EXPECT_EQ(resident(), "-xx---");
  prefault_pages(begin_ + 4 * page_ + 1, page_);
  prefault_pages(begin_ + 5 * page_, 0);
  EXPECT_EQ(resident(), "-xx---");
}
#endif

}  // namespace
}  // namespace shim::base
