// SPDX-License-Identifier: BSD-3-Clause
// Tests reads and writes of another process's memory by the shared-memory transport.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>

#include "shim/node/slot.hpp"
#include "shim/transport/cooperative_writes.hpp"
#include "shim/transport/remote_reads.hpp"
#include "shim/transport/shm/shm.hpp"
#include "tests/transport/processes.hpp"
#include "tests/transport/rig.hpp"
#include "tests/transport/shm_rig.hpp"

namespace shim::transport {
namespace {

using base::ErrorClass;
using testing::AnonymousSegment;
using testing::Child;
using testing::kTestSeconds;
using testing::make_segment;
using testing::ShmProcess;

/// Memory of a forked child, which the parent reads.
struct OfferedMemory {
  std::atomic<std::uint64_t> address;
  std::atomic<bool> done;
};

/// Run `read` while a child offers `bytes` bytes of its memory, each with the value 0x6b.
void with_offer(const ShmSettings& settings, std::size_t bytes, bool spoil_probe,
                const std::function<void(ShmProcess&, std::uint64_t)>& read) {
  auto segment = make_segment(2, settings);
  AnonymousSegment extra(1, 4096, 4096);
  auto* offer = reinterpret_cast<OfferedMemory*>(extra.slot(0));
  Child child([&] {
    ShmProcess process(segment, 1, settings);
    if (spoil_probe) ++reinterpret_cast<node::SlotMemory*>(segment->slot(1))->probe_value;
    process.area.set_ready();
    std::vector<std::byte> memory(bytes, std::byte{0x6b});
    offer->address = reinterpret_cast<std::uintptr_t>(memory.data());
    auto deadline = base::Deadline::after_seconds(kTestSeconds);
    while (!offer->done && !deadline.passed()) sched_yield();
  });
  auto deadline = base::Deadline::after_seconds(kTestSeconds);
  while (offer->address == 0 && !deadline.passed()) sched_yield();
  ShmProcess process(segment, 0, settings);
  read(process, offer->address);
  offer->done = true;
  child.join();
}

TEST(ShmMemory, ReadsMemoryOfAnotherProcess) {
  constexpr std::size_t kBytes = 5 << 20;
  with_offer({}, kBytes, false, [&](ShmProcess& process, std::uint64_t address) {
    std::vector<std::byte> into(kBytes);
    auto attempt = process.transport->remote_reads()->try_read(process.link_to(1), address, into);
    ASSERT_TRUE(attempt) << attempt.error().text();
    if (*attempt == Attempt::unsupported)
      GTEST_SKIP() << "the kernel forbids process_vm_readv here";
    EXPECT_EQ(into, std::vector<std::byte>(kBytes, std::byte{0x6b}));
    EXPECT_EQ(process.transport->counts().bytes_read, kBytes);
    auto wrong = process.transport->remote_reads()->try_read(process.link_to(1), 8, into);
    ASSERT_FALSE(wrong) << "no memory is mapped at this address";
    EXPECT_EQ(wrong.error().error_class(), ErrorClass::other);
  });
}

TEST(ShmMemory, ReadsIntoManyPiecesAtOnce) {
  constexpr std::size_t kPieces = 200, kPiece = 300,
                        kHole = 7;  // more than one system call accepts
  with_offer({}, kPieces * kPiece, false, [&](ShmProcess& process, std::uint64_t address) {
    std::vector<std::byte> memory(kPieces * (kPiece + kHole)), expected = memory;
    std::vector<std::span<std::byte>> pieces;
    for (std::size_t i = 0; i < kPieces; ++i) {
      pieces.push_back(std::span(memory).subspan(i * (kPiece + kHole), i == 3 ? 0 : kPiece));
      std::ranges::fill(std::span(expected).subspan(i * (kPiece + kHole), pieces.back().size()),
                        std::byte{0x6b});
    }
    auto attempt = process.transport->remote_reads()->try_read_pieces(process.link_to(1), address,
                                                                      pieces);
    ASSERT_TRUE(attempt) << attempt.error().text();
    if (*attempt == Attempt::unsupported)
      GTEST_SKIP() << "the kernel forbids process_vm_readv here";
    EXPECT_EQ(memory, expected);
    EXPECT_EQ(process.transport->counts().bytes_read, (kPieces - 1) * kPiece);
    EXPECT_FALSE(process.transport->remote_reads()->try_read_pieces(process.link_to(1), 8, pieces))
        << "no memory is mapped at this address";
  });
}

TEST(ShmMemory, WritesMemoryOfAnotherProcess) {
  constexpr std::size_t kBytes = 5 << 20;
  with_offer({}, kBytes, false, [&](ShmProcess& process, std::uint64_t address) {
    const std::vector<std::byte> bytes(kBytes, std::byte{0x3c});
    auto attempt = process.transport->cooperative_writes()->try_write(process.link_to(1), address,
                                                                      bytes);
    ASSERT_TRUE(attempt) << attempt.error().text();
    if (*attempt == Attempt::unsupported)
      GTEST_SKIP() << "the kernel forbids process_vm_writev here";
    std::vector<std::byte> back(kBytes);
    ASSERT_EQ(*process.transport->remote_reads()->try_read(process.link_to(1), address, back),
              Attempt::done);
    EXPECT_EQ(back, bytes);
    EXPECT_EQ(*process.transport->cooperative_writes()->try_write(process.link_to(1), 0, {}),
              Attempt::done)
        << "writes are supported";
    EXPECT_FALSE(process.transport->cooperative_writes()->try_write(process.link_to(1), 8, bytes))
        << "no memory is mapped at this address";
  });
}

/// Return the position in the first page of `memory` that lies `distance` bytes after `address`,
/// modulo the page size.
std::byte* behind(std::uint64_t address, std::size_t distance, std::vector<std::byte>& memory) {
  return memory.data() +
         (address + distance - reinterpret_cast<std::uintptr_t>(memory.data())) % 4096;
}

// Copies use a bounce buffer if the target lies just after the source modulo the page size.
TEST(ShmMemory, CopiesAtEveryPageOffset) {
  constexpr std::size_t kBytes = 200'003, kRoom = kBytes + 4096 + 64;
  with_offer({}, kBytes, false, [&](ShmProcess& process, std::uint64_t address) {
    for (const std::size_t distance : {0, 1, 16, 31, 32, 4095, 4080}) {
      std::vector<std::byte> from(kRoom), into(kRoom);
      for (std::size_t i = 0; i < kRoom; ++i)
        from[i] = static_cast<std::byte>(i * 2654435761 >> 13 ^ distance);
      const std::span<const std::byte> bytes(behind(address, 4096 - distance, from), kBytes);
      auto attempt = process.transport->cooperative_writes()->try_write(process.link_to(1), address,
                                                                        bytes);
      ASSERT_TRUE(attempt) << attempt.error().text();
      if (*attempt == Attempt::unsupported)
        GTEST_SKIP() << "the kernel forbids process_vm_writev here";
      std::byte* const target = behind(address, distance, into);
      ASSERT_EQ(*process.transport->remote_reads()->try_read(process.link_to(1), address,
                                                             {target, kBytes}),
                Attempt::done);
      EXPECT_TRUE(std::ranges::equal(bytes, std::span(target, kBytes))) << distance;
      EXPECT_EQ(std::count(into.begin(), into.end(), std::byte{}),
                kRoom - kBytes + static_cast<std::size_t>(std::ranges::count(bytes, std::byte{})))
          << distance << ": bytes around the target must stay unwritten";
    }
  });
}

TEST(ShmMemory, PiecesMayHaveAnyPageOffset) {
  constexpr std::size_t kPieces = 12, kPiece = 5000, kHole = 7, kBytes = kPieces * kPiece;
  with_offer({}, kBytes, false, [&](ShmProcess& process, std::uint64_t address) {
    std::vector<std::byte> bytes(kBytes), memory(kPieces * (kPiece + kHole) + 4096), found;
    for (std::size_t i = 0; i < kBytes; ++i)
      bytes[i] = static_cast<std::byte>(i * 2654435761 >> 13);
    auto attempt = process.transport->cooperative_writes()->try_write(process.link_to(1), address,
                                                                      bytes);
    ASSERT_TRUE(attempt) << attempt.error().text();
    if (*attempt == Attempt::unsupported)
      GTEST_SKIP() << "the kernel forbids process_vm_writev here";
    std::vector<std::span<std::byte>> pieces;
    for (std::size_t i = 0; i < kPieces; ++i)
      pieces.emplace_back(behind(address, 0, memory) + i * (kPiece + kHole), kPiece);
    ASSERT_EQ(
        *process.transport->remote_reads()->try_read_pieces(process.link_to(1), address, pieces),
        Attempt::done);
    for (const auto piece : pieces) found.insert(found.end(), piece.begin(), piece.end());
    EXPECT_EQ(found, bytes);
  });
}

TEST(ShmMemory, WritesAreUnsupportedIfForbiddenOrToAReusedProcessId) {
  for (const bool is_forbidden :
       {true, false})  // otherwise the process id belongs to another process
    with_offer({.single_copy = !is_forbidden}, 64, !is_forbidden,
               [&](ShmProcess& process, std::uint64_t address) {
                 const std::byte bytes[64]{};
                 EXPECT_EQ(*process.transport->cooperative_writes()->try_write(process.link_to(1),
                                                                               address, bytes),
                           Attempt::unsupported);
                 EXPECT_EQ(
                     *process.transport->cooperative_writes()->try_write(process.link_to(1), 0, {}),
                     Attempt::unsupported);
               });
}

TEST(ShmMemory, ReadsAreUnsupportedIfTheSettingForbidsThem) {
  with_offer({.single_copy = false}, 64, false, [](ShmProcess& process, std::uint64_t address) {
    std::byte into[64];
    EXPECT_EQ(*process.transport->remote_reads()->try_read(process.link_to(1), address, into),
              Attempt::unsupported);
  });
}

TEST(ShmMemory, ReadsAreUnsupportedFromAReusedProcessId) {
  with_offer({}, 64, true, [](ShmProcess& process, std::uint64_t address) {
    std::byte into[64]{};
    EXPECT_EQ(*process.transport->remote_reads()->try_read(process.link_to(1), address, into),
              Attempt::unsupported);
    EXPECT_EQ(into[0], std::byte{0});
  });
}

}  // namespace
}  // namespace shim::transport
