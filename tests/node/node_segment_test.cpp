// SPDX-License-Identifier: BSD-3-Clause
// Tests the interface of NodeSegment.
#include "shim/node/node_segment.hpp"

#include <gmock/gmock.h>
#include <linux/mempolicy.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <set>

#include "shim/node/segment_layout.hpp"
#include "tests/node/segment_rig.hpp"

namespace shim::node {
namespace {

using base::ErrorClass;
using testing::Child;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NodeSegmentTest : public testing::SegmentTest {};

/// The result of get_mempolicy(2) for the memory at an address.
struct Policy {
  int mode = -1;
  std::array<unsigned long, 16> nodes{};
};

Policy policy_at(std::byte* address) {
  Policy policy;
  ::syscall(SYS_get_mempolicy, &policy.mode, policy.nodes.data(), 8 * sizeof policy.nodes, address,
            MPOL_F_ADDR);
  return policy;
}

/// True if this process may call mbind(2), which some containers forbid.
bool may_place_memory() {
  return ::syscall(SYS_mbind, nullptr, 0, MPOL_DEFAULT, nullptr, 0, 0) == 0;
}

TEST_F(NodeSegmentTest, IsPrivateToTheUserAndRemovedByTheLastProcess) {
  auto first = attach(spec(0)), second = attach(spec(1));
  ASSERT_THAT(files(), ElementsAre(path()));
  struct stat file;
  ASSERT_EQ(::stat(path().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0600u);
  first.reset();
  EXPECT_THAT(files(), ElementsAre(path()));
  second.reset();
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(NodeSegmentTest, UmaskDoesNotChangeItsMode) {
  mode_t before = ::umask(0777);
  auto segment = NodeSegment::attach(spec(0), 10);
  ::umask(before);
  ASSERT_TRUE(segment);
  EXPECT_NO_THROW(attach(spec(1)));
}

TEST_F(NodeSegmentTest, OwnSlotIsBackedZeroedAndVisibleToOthers) {
  auto first = attach(spec(0)), second = attach(spec(1));
  EXPECT_EQ(first->slot_count(), 2u);
  EXPECT_EQ(second->own_slot(), 1u);
  EXPECT_EQ(first->slot_bytes(), 5000u);
  auto all_zero = [&](std::byte* begin) {
    return std::all_of(begin, begin + 5000, [](std::byte b) { return b == std::byte{0}; });
  };
  EXPECT_TRUE(all_zero(first->slot(0)));
  EXPECT_TRUE(all_zero(first->slot(1)));
  std::memset(second->slot(1), 7, 5000);
  EXPECT_EQ(first->slot(1)[4999], std::byte{7});
  EXPECT_TRUE(all_zero(second->slot(0)));
}

// Each process of a node writes to slots of others. Adjacent slots share pages, which the kernel
// allocates and accounts as a whole.
TEST_F(NodeSegmentTest, SlotsAreAdjacentWithoutSharingACacheLine) {
  auto made = spec(0, 100);
  made.slot_bytes = 150;
  auto segment = attach(made);
  for (std::uint32_t index = 1; index < 100; ++index)
    EXPECT_EQ(segment->slot(index) - segment->slot(index - 1), 256);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment->slot(0)) % 128, 0u);
}

TEST_F(NodeSegmentTest, StoresAreDisjointAndBackedOnDemand) {
  auto made = spec(0, 3);
  made.store_bytes = 5000;
  auto segment = attach(made);
  EXPECT_EQ(segment->store_bytes(), 5000u);
  struct stat before, after;
  ASSERT_EQ(::stat(path().c_str(), &before), 0);
  for (std::uint32_t index = 0; index < 3; ++index) {
    ASSERT_TRUE(segment->back(segment->store(index), 5000));
    std::memset(segment->store(index), static_cast<int>(1 + index), 5000);
  }
  ASSERT_EQ(::stat(path().c_str(), &after), 0);
  EXPECT_GE(after.st_blocks - before.st_blocks, 3 * 8192 / 512);
  for (std::uint32_t index = 0; index < 3; ++index)
    for (std::size_t at : {std::size_t{0}, std::size_t{4999}})
      EXPECT_EQ(segment->store(index)[at], static_cast<std::byte>(1 + index));
  EXPECT_EQ(segment->slot(2)[4999], std::byte{0});
  EXPECT_EQ(segment->pair(0, 0)[0], std::byte{0});
}

TEST_F(NodeSegmentTest, BothBlocksOfAPairShareThePageAtTheirBoundary) {
  const auto page = [](const std::byte* at) {
    return reinterpret_cast<std::uintptr_t>(at) / page_bytes();
  };
  for (std::size_t bytes : {std::size_t{512}, std::size_t{9024}, std::size_t{65536}}) {
    auto made = spec(0, 4, "job of " + std::to_string(bytes));
    made.pair_bytes = bytes;
    auto segment = attach(made);
    std::set<std::uintptr_t> pages;
    std::size_t all = 0;
    for (std::uint32_t low = 0; low < 4; ++low)
      for (std::uint32_t high = low + 1; high < 4; ++high) {
        std::byte *begin = segment->pair(high, low), *middle = segment->pair(low, high);
        EXPECT_EQ(begin + bytes, middle);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(middle) % page_bytes(), page_bytes() / 2);
        for (auto each = page(begin); each <= page(middle + bytes - 1); ++each, ++all)
          pages.insert(each);
      }
    EXPECT_EQ(pages.size(), all) << "different pairs share no page";
  }
}

TEST_F(NodeSegmentTest, PairBlocksAreDisjointAndBackedOnDemand) {
  constexpr std::uint32_t kSlots = 3;
  auto first = attach(spec(0, kSlots)), second = attach(spec(1, kSlots));
  EXPECT_EQ(first->pair_bytes(), 9000u);
  struct stat before, after;
  ASSERT_EQ(::stat(path().c_str(), &before), 0);
  for (std::uint32_t from = 0; from < kSlots; ++from)
    for (std::uint32_t to = 0; to < kSlots; ++to) {
      ASSERT_TRUE(first->back(first->pair(from, to), 9000));
      std::memset(first->pair(from, to), static_cast<int>(1 + from * kSlots + to), 9000);
    }
  for (std::uint32_t from = 0; from < kSlots; ++from)
    for (std::uint32_t to = 0; to < kSlots; ++to)
      for (std::size_t at : {std::size_t{0}, std::size_t{8999}})
        EXPECT_EQ(second->pair(from, to)[at], static_cast<std::byte>(1 + from * kSlots + to));
  ASSERT_EQ(::stat(path().c_str(), &after), 0);
  EXPECT_GE(after.st_blocks - before.st_blocks, 9 * 9000 / 512);
  EXPECT_TRUE(first->back(first->pair(0, 1), 0));
}

TEST_F(NodeSegmentTest, VcisHaveSeparateMemory) {
  constexpr std::uint32_t kSlots = 3, kVcis = 3;
  auto made = spec(0, kSlots), others = spec(1, kSlots);
  made.vcis = others.vcis = kVcis;
  made.cell_pool_bytes = others.cell_pool_bytes = 9000;
  auto first = attach(made), second = attach(others);
  int mark = 0;
  const auto each = [&](const auto& visit) {
    mark = 0;
    for (std::uint32_t vci = 0; vci < kVcis; ++vci)
      for (std::uint32_t from = 0; from < kSlots; ++from) {
        visit([=](NodeSegment& segment) { return segment.area_of(vci).slot(from); }, 5000, ++mark);
        for (std::uint32_t to = 0; to < kSlots; ++to)
          visit([=](NodeSegment& segment) { return segment.area_of(vci).pair(from, to); }, 9000,
                ++mark);
        visit([=](NodeSegment& segment) { return segment.area_of(vci).cell_pool(from); }, 9000,
              ++mark);
      }
  };
  each([&](const auto& in, std::size_t bytes, int value) {
    ASSERT_TRUE(first->back(in(*first), bytes));
    std::memset(in(*first), value, bytes);
  });
  each([&](const auto& in, std::size_t bytes, int value) {
    for (std::size_t at : {std::size_t{0}, bytes - 1})
      EXPECT_EQ(in(*second)[at], static_cast<std::byte>(value));
  });
  EXPECT_EQ(first->area_of(0).slot(2), first->slot(2));
  EXPECT_EQ(first->area_of(0).pair(2, 1), first->pair(2, 1));
  EXPECT_EQ(first->area_of(0).cell_pool(2), first->cell_pool(2));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first->area_of(2).cell_pool(2)) % page_bytes(), 0u);
}

TEST_F(NodeSegmentTest, OptionalMemoryIsRefusedIfAllPairsMightNotFit) {
  auto few = spec(0, 2, "few"), many = spec(0, 2, "many");
  few.cell_pool_bytes = many.cell_pool_bytes = 9000;
  // not larger, because ThreadSanitizer leaves little address space
  many.pair_bytes = std::filesystem::space(many.directory).available;
  auto with_few = attach(few), with_many = attach(many);
  EXPECT_TRUE(with_few->back_spare(with_few->cell_pool(0), 9000));
  const auto refused = with_many->back_spare(with_many->cell_pool(0), 9000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error_class(), base::ErrorClass::no_space);
  EXPECT_TRUE(with_many->back(with_many->cell_pool(0), 9000));
}

TEST_F(NodeSegmentTest, VciNeedsNoMemoryUntilItIsOpened) {
  auto alone = spec(0, 2, "without"), made = spec(0, 2, "with");
  made.vcis = 4;
  auto without = attach(alone), with = attach(made);
  struct stat before, after;
  ASSERT_EQ(::stat(path("without").c_str(), &before), 0);
  ASSERT_EQ(::stat(path("with").c_str(), &after), 0);
  EXPECT_EQ(before.st_blocks, after.st_blocks);
  ASSERT_TRUE(with->open_vci(2));
  for (std::uint32_t index : {0u, 1u}) std::memset(with->area_of(2).slot(index), 1, 5000);
  ASSERT_EQ(::stat(path("with").c_str(), &after), 0);
  EXPECT_EQ(after.st_blocks - before.st_blocks,
            3 * 8);  // three pages of eight blocks hold two slots of 5000 bytes
}

TEST_F(NodeSegmentTest, LaterIncarnationKnowsWhichVcisWereOpen) {
  auto other = spec(1), made = spec(0);
  other.vcis = made.vcis = 4;
  auto keeps_it = attach(other), segment = attach(made);
  EXPECT_EQ(segment->vcis_in_use(), 1u);
  ASSERT_TRUE(segment->open_vci(2));
  ASSERT_TRUE(segment->open_vci(1));
  EXPECT_EQ(segment->vcis_in_use(), 3u);
  segment.reset();
  EXPECT_EQ(attach(made)->vcis_in_use(), 3u);
  EXPECT_EQ(keeps_it->vcis_in_use(), 1u);
}

TEST_F(NodeSegmentTest, PairBlockIsOnTheNumaNodeOfItsReader) {
  if (!may_place_memory()) GTEST_SKIP() << "mbind(2) is not allowed here";
  auto on = [&](std::uint32_t slot, std::optional<std::uint32_t> node) {
    auto made = spec(slot, 3);
    made.numa_node = node;
    return attach(made);
  };
  // Every machine has node 0. Node 1 need not exist: the process that claims to run there only has
  // to be on another node than the reader.
  auto reader = on(0, 0), neighbour = on(1, 0), far = on(2, 1);
  ASSERT_TRUE(far->back_pair_to(0));
  const Policy placed = policy_at(far->pair(2, 0));
  EXPECT_EQ(placed.mode, MPOL_PREFERRED);
  EXPECT_EQ(placed.nodes[0], 1u) << "node 0 only";
  EXPECT_EQ(policy_at(reader->pair(2, 0) + 6000).mode, MPOL_PREFERRED)
      << "the reader's mapping has this policy, too";
  EXPECT_EQ(policy_at(far->pair(2, 1)).mode, MPOL_DEFAULT)
      << "the adjacent block keeps the default policy";

  ASSERT_TRUE(neighbour->back_pair_to(0));
  EXPECT_EQ(policy_at(neighbour->pair(1, 0)).mode, MPOL_DEFAULT)
      << "on the reader's node the default policy suffices";
}

TEST_F(NodeSegmentTest, PairBlockIsBackedWhateverTheReadersNumaNode) {
  auto first = attach(spec(0, 4)), second = attach(spec(1, 4));
  auto nowhere = spec(2, 4);
  nowhere.numa_node = 5'000;  // larger than any node number of a kernel
  auto third = attach(nowhere);
  for (std::uint32_t reader : {1u, 2u, 3u}) {
    ASSERT_TRUE(first->back_pair_to(reader));
    std::memset(first->pair(0, reader), 1, first->pair_bytes());
  }
  EXPECT_EQ(second->pair(0, 1)[8999], std::byte{1});
}

TEST_F(NodeSegmentTest, ProcessIsReadyFromSetReadyUntilItDetaches) {
  auto first = attach(spec(0)), second = attach(spec(1));
  EXPECT_FALSE(first->is_ready(1));
  EXPECT_TRUE(first->is_alive(1));
  second->set_ready();
  EXPECT_TRUE(first->is_ready(1));
  EXPECT_FALSE(first->is_ready(0));
  EXPECT_EQ(first->pid(1), ::getpid());
  second.reset();
  EXPECT_FALSE(first->is_ready(1));
  EXPECT_TRUE(first->is_alive(1));  // the process still runs
}

TEST_F(NodeSegmentTest, ProcessesPerCoreCountsTheCoresOfReadyProcesses) {
  auto on = [this](std::uint32_t slot, std::uint64_t cores) {
    SegmentSpec mine = spec(slot, 3);
    mine.cores.words[0] = cores;
    return attach(mine);
  };
  auto bound = on(0, 0b01), same = on(1, 0b01), free = on(2, 0b11);
  EXPECT_EQ(bound->processes_per_core(), 1) << "no other process is ready";
  EXPECT_EQ(free->processes_per_core(), 1.5);
  free->set_ready();
  EXPECT_EQ(bound->processes_per_core(), 1.5);
  same->set_ready();
  EXPECT_EQ(bound->processes_per_core(), 2.5);
  EXPECT_FALSE(bound->has_seen_all());
  bound->set_ready();
  EXPECT_TRUE(bound->has_seen_all());
  EXPECT_EQ(free->processes_per_core(), 1.5);
  same.reset();
  EXPECT_EQ(bound->processes_per_core(), 2.5) << "the process still runs, and may attach again";
  EXPECT_TRUE(bound->has_seen_all());
}

TEST_F(NodeSegmentTest, WritesBeforeSetReadyAreVisibleAfterIsReady) {
  auto first = attach(spec(0));
  Child other([&](Child&) {
    auto segment = attach(spec(1));
    std::memset(segment->slot(1), 42, 5000);
    segment->set_ready();
    while (!segment->is_ready(0)) ::usleep(100);
    return segment->slot(0)[17] == std::byte{99};
  });
  while (!first->is_ready(1)) ::usleep(100);
  EXPECT_EQ(first->slot(1)[4999], std::byte{42});
  EXPECT_EQ(first->pid(1), other.pid());
  first->slot(0)[17] = std::byte{99};
  first->set_ready();
  EXPECT_TRUE(other.finish());
}

TEST_F(NodeSegmentTest, ContextCounterAndMemorySurviveReattachment) {
  auto process_registry = attach(spec(0));
  auto reattaching = attach(spec(1));
  EXPECT_EQ(reattaching->slot_generation(1), 1u);
  EXPECT_EQ(reattaching->context_counter().fetch_add(5), 0u);
  reattaching->slot(1)[0] = std::byte{3};
  reattaching.reset();
  reattaching = attach(spec(1));
  EXPECT_EQ(reattaching->slot_generation(1), 2u);
  EXPECT_EQ(reattaching->context_counter().load(), 5u);
  EXPECT_EQ(process_registry->context_counter().load(), 0u);
  EXPECT_EQ(reattaching->slot(1)[0], std::byte{3});
  EXPECT_FALSE(process_registry->is_ready(1));
}

TEST_F(NodeSegmentTest, SegmentIsNewAfterTheLastProcessHasDetached) {
  auto segment = attach(spec(0));
  segment->context_counter() = 9;
  segment.reset();
  EXPECT_EQ(attach(spec(0))->context_counter().load(), 0u);
}

TEST_F(NodeSegmentTest, SlotHasOneOwnerAtATime) {
  auto owner = attach(spec(1));
  auto error = error_of(NodeSegment::attach(spec(1), 10));
  EXPECT_THAT(error.text(), HasSubstr("in use by process id " + std::to_string(::getpid())));
  EXPECT_THAT(error.text(), HasSubstr("rank 11 of job job"));
  owner->set_ready();  // the failed attachment has not damaged the slot
  EXPECT_TRUE(attach(spec(0))->is_ready(1));
}

TEST_F(NodeSegmentTest, JobsAndNodesHaveSeparateSegments) {
  auto other_node = spec(0);
  other_node.node = 1;
  auto a = attach(spec(0)), b = attach(spec(0, 2, "another job")), c = attach(other_node);
  a->slot(0)[0] = std::byte{1};
  EXPECT_EQ(b->slot(0)[0], std::byte{0});
  EXPECT_EQ(c->slot(0)[0], std::byte{0});
  EXPECT_EQ(files().size(), 3u);
}

TEST_F(NodeSegmentTest, WorksWithoutSlotOrPairMemory) {
  auto bare = spec(0);
  bare.slot_bytes = bare.pair_bytes = 0;
  auto segment = attach(bare);
  segment->context_counter() = 1;
  segment->set_ready();
  EXPECT_TRUE(segment->is_ready(0));
}

TEST_F(NodeSegmentTest, RejectsInvalidSpecs) {
  auto wrong = [&](auto change) {
    auto s = spec(0);
    change(s);
    EXPECT_EQ(error_of(NodeSegment::attach(s, 10)).error_class(), ErrorClass::arg);
  };
  wrong([](SegmentSpec& s) { s.own_slot = 2; });
  wrong([](SegmentSpec& s) { s.slots = 0; });
  wrong([](SegmentSpec& s) { s.slots = 1u << 31; });
  wrong([](SegmentSpec& s) { s.job = ""; });
  wrong([](SegmentSpec& s) { s.job = std::string(512, 'x'); });
  wrong([](SegmentSpec& s) { s.slot_bytes = SIZE_MAX; });
  wrong([](SegmentSpec& s) { s.pair_bytes = SIZE_MAX / 8; });
  wrong([](SegmentSpec& s) { s.slots = 1u << 14, s.pair_bytes = std::size_t{1} << 40; });
  EXPECT_THAT(files(), IsEmpty());
  auto longest = spec(0);
  longest.job = std::string(511, 'x');
  EXPECT_NO_THROW(attach(longest));
}

}  // namespace
}  // namespace shim::node
