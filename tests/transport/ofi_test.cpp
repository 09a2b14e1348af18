// SPDX-License-Identifier: BSD-3-Clause
// libfabric between real processes, and what goes wrong there.
#include "shim/transport/ofi/ofi.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "shim/transport/ofi/wire.hpp"
#include "tests/base/open_descriptors.hpp"
#include "tests/base/threads_down_to.hpp"
#include "tests/transport/processes.hpp"
#include "tests/transport/rig.hpp"
#include "tests/transport/roomy_network.hpp"

namespace shim::transport {
namespace {

using base::ErrorClass;
using testing::Board;
using testing::bytes_of;
using testing::CallSink;
using testing::Child;

constexpr double kTestSeconds = 40;

OfiSettings settings_for(const std::string& provider) {
  return {.provider = provider, .interface = provider == "shm" ? "" : "lo"};
}

std::unique_ptr<Transport> make(const std::string& provider) {
  testing::pass_over_leaks_of(provider);
  auto made = make_ofi(settings_for(provider));
  EXPECT_TRUE(made) << made.error().text();
  if (!made) std::_Exit(2);
  return *std::move(made);
}

/// Sends, polling while there is no room.
base::Status send(Transport& transport, Link& link, ConstSpan packet, Sink& sink) {
  auto deadline = base::Deadline::after_seconds(kTestSeconds);
  for (;;) {
    SHIM_TRY_ASSIGN(Attempt attempt, transport.try_send(link, packet, {}));
    if (attempt == Attempt::done) return {};
    SHIM_TRY(transport.poll(sink));
    if (deadline.passed()) return base::Error(ErrorClass::other, "no room for a packet in all this time");
  }
}

/// Polls until the condition holds.
void poll_until(Transport& transport, Sink& sink, const std::function<bool()>& condition) {
  auto deadline = base::Deadline::after_seconds(kTestSeconds);
  while (!condition()) {
    auto count = transport.poll(sink);
    ASSERT_TRUE(count) << count.error().text();
    if (*count == 0) sched_yield();
    ASSERT_FALSE(deadline.passed()) << "waited " << kTestSeconds << " s";
  }
}

/// Sends from one transport to another of this process and waits until the other's sink has it; both are polled all the while,
/// as making a connection takes work on both sides.
void pass(Transport& from, Link& link, Transport& to, ConstSpan packet, Sink& sink, const std::function<bool()>& has_come) {
  CallSink nothing([](ConstSpan) {});
  bool sent = false;
  poll_until(to, sink, [&] {
    EXPECT_TRUE(from.poll(nothing));
    if (!sent) sent = *from.try_send(link, packet, {}) == Attempt::done;
    return sent && has_come();
  });
}

struct Provider {
  std::string name;
  bool notices_death;  ///< else the owner has to know by other means (the node segment, the launcher)
};
void PrintTo(const Provider& provider, std::ostream* out) { *out << provider.name; }

class OfiProviders : public ::testing::TestWithParam<Provider> {
 protected:
  OfiProviders() { testing::make_room_for(provider()); }
  const std::string& provider() const { return GetParam().name; }
};

constexpr std::uint32_t kPackets = 1000;

/// Sends numbered packets, flushes, and ends at once.
void send_flush_and_end(const std::string& provider, Board& board, bool with_unread) {
  auto transport = make(provider);
  board.post_address(1, transport->address());
  Link& link = **transport->open(board.address_of(0));
  int heard = 0;
  CallSink sink([&](ConstSpan) { ++heard; });
  std::vector<std::byte> packet(2000);
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    std::memcpy(packet.data(), &i, sizeof i);
    auto sent = send(*transport, link, packet, sink);
    ASSERT_TRUE(sent) << sent.error().text();
    if (i == 0) poll_until(*transport, sink, [&] { return heard > 0; });
    if (i == 0 && with_unread) board.await(1);  // without a poll: what the other one sends now stays unread
  }
  poll_until(*transport, sink, [&] { return transport->is_flushed(); });
  transport.reset();
  board.reach(2);
}

void expect_all_of_one_who_ends(const std::string& provider, bool with_unread) {
  Board board;
  Child sender([&] { send_flush_and_end(provider, board, with_unread); });
  auto transport = make(provider);
  board.post_address(0, transport->address());
  Link& back = **transport->open(board.address_of(1));
  std::uint32_t next = 0;
  CallSink sink([&](ConstSpan packet) {
    std::uint32_t number;
    std::memcpy(&number, packet.data(), sizeof number);
    EXPECT_EQ(number, next++);
  });
  poll_until(*transport, sink, [&] { return next > 0; });
  ASSERT_TRUE(send(*transport, back, bytes_of(1), sink));
  if (with_unread) {
    std::vector<std::byte> unread(10000);
    for (int tries = 0; tries < 3000; ++tries) {
      ASSERT_TRUE(transport->try_send(back, unread, {}));
      ASSERT_TRUE(transport->poll(sink));
    }
    board.reach(1);
  }
  poll_until(*transport, sink, [&] { return next == kPackets; });
  poll_until(*transport, sink, [&] { return board.has_reached(2); });
  sender.join();
  EXPECT_EQ(next, kPackets);
}

TEST_P(OfiProviders, WhatWasFlushedArrivesThoughTheSenderHasEnded) { expect_all_of_one_who_ends(provider(), false); }
TEST_P(OfiProviders, WhatWasFlushedArrivesThoughTheSenderLeftPacketsUnread) { expect_all_of_one_who_ends(provider(), true); }

/// A process that answers every packet with one byte until it is told to end or killed.
void echo(const std::string& provider, Board& board, int who, int end_step) {
  auto transport = make(provider);
  board.post_address(who, transport->address());
  Link& back = **transport->open(board.address_of(0));
  std::uint64_t owed = 0;
  CallSink sink([&](ConstSpan) { ++owed; });
  poll_until(*transport, sink, [&] {
    while (owed > 0 && *transport->try_send(back, bytes_of('x'), {}) == Attempt::done) --owed;
    return board.has_reached(end_step);
  });
}

/// Answers one packet, and then looks at nothing until it is killed. Not stopped at any point: libfabric's shm holds locks in shared memory
/// while it polls.
void answer_one_and_rest(const std::string& provider, Board& board, int who) {
  auto transport = make(provider);
  board.post_address(who, transport->address());
  Link& back = **transport->open(board.address_of(0));
  bool has_heard = false;
  CallSink sink([&](ConstSpan) { has_heard = true; });
  poll_until(*transport, sink, [&] { return has_heard; });
  ASSERT_TRUE(send(*transport, back, bytes_of('x'), sink));
  poll_until(*transport, sink, [&] { return transport->is_flushed(); });
  board.reach(1);
  for (;;) ::pause();
}

/// This process, one that is to die, and one that answers packets until the end.
struct VictimAndSurvivor {
  Board board;
  Child victim, survivor;
  std::unique_ptr<Transport> transport;
  Link& to_victim;
  Link& to_survivor;
  int heard = 0;
  CallSink sink{[this](ConstSpan) { ++heard; }};

  explicit VictimAndSurvivor(const std::string& provider)
      : victim([&] { answer_one_and_rest(provider, board, 1); }), survivor([&] { echo(provider, board, 2, 2); }), transport(with_address_on(board, provider)),
        to_victim(**transport->open(board.address_of(1))), to_survivor(**transport->open(board.address_of(2))) {}

  /// Both have answered once, and the one rests.
  void meet() {
    ASSERT_TRUE(send(*transport, to_victim, bytes_of(1), sink));
    ASSERT_TRUE(send(*transport, to_survivor, bytes_of(1), sink));
    poll_until(*transport, sink, [&] { return heard == 2 && board.has_reached(1); });
  }
  void end() {
    board.reach(2);
    survivor.join();
  }

 private:
  static std::unique_ptr<Transport> with_address_on(Board& board, const std::string& provider) {
    auto made = make(provider);
    board.post_address(0, made->address());
    return made;
  }
};

TEST_P(OfiProviders, AKilledPeerIsAnErrorOfItsLinkAlone) {
  VictimAndSurvivor others(provider());
  others.meet();
  others.victim.kill();
  // How soon it shows is the provider's affair; that the others go on is ours.
  std::optional<ErrorClass> error;
  auto deadline = base::Deadline::after_seconds(GetParam().notices_death ? kTestSeconds : 1);
  while (!error && !deadline.passed()) {
    auto attempt = others.transport->try_send(others.to_victim, bytes_of(2), {});
    if (!attempt) error = attempt.error().error_class();
    ASSERT_TRUE(others.transport->poll(others.sink));
  }
  if (GetParam().notices_death) {
    EXPECT_EQ(error, ErrorClass::proc_aborted);
  }
  others.heard = 0;
  ASSERT_TRUE(send(*others.transport, others.to_survivor, bytes_of(3), others.sink));
  poll_until(*others.transport, others.sink, [&] { return others.heard == 1; });
  others.end();
}

/// Of long packets, so many that those to the survivor need the completions of others before them.
TEST_P(OfiProviders, WhatADeadPeerHadNotTakenHoldsUpNobodyElse) {
  constexpr int kUntaken = 8, kLongPackets = 400;
  VictimAndSurvivor others(provider());
  others.meet();
  const std::vector<std::byte> packet(others.transport->max_packet_bytes());
  int untaken = 0;
  while (untaken < kUntaken && *others.transport->try_send(others.to_victim, packet, {}) == Attempt::done) ++untaken;
  EXPECT_GT(untaken, 0);
  others.victim.kill();
  others.heard = 0;
  int sent = 0;
  poll_until(*others.transport, others.sink, [&] {
    while (sent < kLongPackets && *others.transport->try_send(others.to_survivor, packet, {}) == Attempt::done) ++sent;
    return others.heard == kLongPackets;
  });
  others.end();
}

TEST_P(OfiProviders, FlushingToADeadPeerEnds) {
  if (!GetParam().notices_death) GTEST_SKIP() << "this provider does not notice; the owner's deadline ends the flush";
  Board board;
  Child victim([&] { echo(provider(), board, 1, 7); });
  auto transport = make(provider());
  board.post_address(0, transport->address());
  Link& to_victim = **transport->open(board.address_of(1));
  int heard = 0;
  CallSink sink([&](ConstSpan) { ++heard; });
  ASSERT_TRUE(send(*transport, to_victim, bytes_of(1), sink));
  poll_until(*transport, sink, [&] { return heard == 1; });
  victim.kill();
  (void)transport->try_send(to_victim, bytes_of(2), {});
  poll_until(*transport, sink, [&] { return transport->is_flushed(); });
}

/// Takes one packet, says nothing, and ends.
void hear_one_and_end(const std::string& provider, Board& board) {
  auto transport = make(provider);
  board.post_address(1, transport->address());
  int heard = 0;
  CallSink sink([&](ConstSpan) { ++heard; });
  poll_until(*transport, sink, [&] { return heard == 1; });
  transport.reset();
  board.reach(1);
}

TEST_P(OfiProviders, OneWhoOnlyListenedIsNotWaitedForOnceItHasEnded) {
  Board board;
  Child listener([&] { hear_one_and_end(provider(), board); });
  auto transport = make(provider());
  Link& link = **transport->open(board.address_of(1));
  CallSink sink([](ConstSpan) {});
  ASSERT_TRUE(send(*transport, link, bytes_of(1), sink));
  poll_until(*transport, sink, [&] { return board.has_reached(1); });
  const auto begin = base::now_ns();
  poll_until(*transport, sink, [&] { return transport->is_flushed(); });
  EXPECT_LT(base::now_ns() - begin, 1'000'000'000) << "it took the other one's goodbye to know";
  std::optional<ErrorClass> error;
  poll_until(*transport, sink, [&] {
    if (auto attempt = transport->try_send(link, bytes_of(2), {}); !attempt) error = attempt.error().error_class();
    return error.has_value();
  });
  EXPECT_EQ(error, ErrorClass::proc_aborted);
  listener.join();
}

/// libfabric's shm provider calls its regions "PID:…".
bool has_regions(pid_t process) {
  const std::string prefix = std::to_string(process) + ":";
  std::filesystem::directory_iterator entries("/dev/shm");
  return std::any_of(begin(entries), end(entries),
                     [&](const auto& entry) { return entry.path().filename().string().starts_with(prefix); });
}

TEST(OfiMemory, OfAKilledProcessGoesWithTheNextSweepAndNoOthers) {
  Board board;
  Child victim([&] { echo("shm", board, 1, 7); });
  board.address_of(1);
  auto mine = make("shm");
  victim.kill();
  EXPECT_TRUE(has_regions(victim.pid()));
  sweep_fabric_memory();
  EXPECT_FALSE(has_regions(victim.pid()));
  EXPECT_TRUE(has_regions(::getpid())) << "what is in use stays";
  mine.reset();
  EXPECT_FALSE(has_regions(::getpid()));
}

TEST_P(OfiProviders, StrangersAreRefusedAndCounted) {
  auto receiver = make(provider());
  auto stranger = make(provider());
  auto guessed = *OfiAddress::from_bytes(receiver->address());
  guessed.cookie ^= 1;
  Link& wrong = **stranger->open(guessed.to_bytes());
  Link& right = **stranger->open(receiver->address());
  std::vector<int> heard;
  CallSink sink([&](ConstSpan packet) {
    heard.emplace_back();
    std::memcpy(&heard.back(), packet.data(), sizeof(int));
  });
  pass(*stranger, wrong, *receiver, bytes_of(13), sink, [&] { return receiver->counts().packets_refused > 0; });
  pass(*stranger, right, *receiver, bytes_of(14), sink, [&] { return !heard.empty(); });
  EXPECT_EQ(heard, std::vector<int>{14});
  EXPECT_EQ(receiver->counts().packets_refused, 2u) << "the greeting, and the packet";
}

TEST_P(OfiProviders, AForkedChildCannotUseItAndDoesNoHarm) {
  auto a = make(provider());
  auto b = make(provider());
  Link& link = **a->open(b->address());
  int heard = 0;
  CallSink sink([&](ConstSpan) { ++heard; });
  auto pass_one = [&] {
    pass(*a, link, *b, bytes_of(1), sink, [&] { return heard > 0; });
    heard = 0;
  };
  pass_one();
  Child child([&] {
    EXPECT_FALSE(a->try_send(link, bytes_of(1), {}));
    EXPECT_FALSE(b->poll(sink));
    a.reset();
    b.reset();
  });
  child.join();
  pass_one();
}

/// What an insertion costs elsewhere, providers that connect then for one, is for those who send.
TEST_P(OfiProviders, OneWhoIsExpectedIsInTheTableWhereThatHelps) {
  auto here = make(provider()), there = make(provider());
  Link& link = **here->open(there->address());
  for (int i = 0; i < 2; ++i) here->expect(link);
  EXPECT_EQ(here->counts().addresses_inserted, provider() == "sockets" ? 1u : 0u);
}

TEST_P(OfiProviders, ClosingLeavesNoDescriptorsAndNoThreads) {
  auto use_once = [&] {
    auto a = make(provider());
    auto b = make(provider());
    Link& link = **a->open(b->address());
    int heard = 0;
    CallSink sink([&](ConstSpan) { ++heard; });
    pass(*a, link, *b, bytes_of(1), sink, [&] { return heard > 0; });
  };
  use_once();  // what the library itself opens once, it keeps
  std::size_t descriptors = base::open_descriptors(), threads = base::threads_down_to(0);
  for (int i = 0; i < 3; ++i) use_once();
  EXPECT_EQ(base::open_descriptors(), descriptors);
  EXPECT_EQ(base::threads_down_to(threads), threads);
}

INSTANTIATE_TEST_SUITE_P(Providers, OfiProviders,
                         // shm: the peer is in the same node, and the provider never asks about it.
                         // net: connects again and again, and answers "try again" meanwhile (libfabric 1.17).
                         ::testing::Values(Provider{"tcp;ofi_rxm", true}, Provider{"sockets", true}, Provider{"shm", false},
                                           Provider{"net", false}),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::replace(name.begin(), name.end(), ';', '_');
                           return name;
                         });

TEST(OfiAddresses, ThoseOfAnotherProviderAreRefusedByName) {
  auto tcp = make("tcp;ofi_rxm");
  auto sockets = make("sockets");
  auto link = sockets->open(tcp->address());
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().error_class(), ErrorClass::arg);
  for (const char* word : {"tcp;ofi_rxm", "sockets", "INTERSESSION_PROVIDER"})
    EXPECT_NE(link.error().text().find(word), std::string::npos) << link.error().text();
}

TEST(OfiSettings, WithoutAProviderNamedAKnownOneIsTaken) {
  auto transport = make_ofi({.interface = "lo"});
  ASSERT_TRUE(transport) << transport.error().text();
}

TEST(OfiSettings, AnUnusableProviderIsAnErrorThatSaysWhatToDo) {
  auto transport = make_ofi({.provider = "carrier-pigeon"});
  ASSERT_FALSE(transport);
  EXPECT_EQ(transport.error().error_class(), ErrorClass::other);
  for (const char* word : {"carrier-pigeon", "INTERSESSION_PROVIDER"})
    EXPECT_NE(transport.error().text().find(word), std::string::npos) << transport.error().text();
}

TEST(OfiSettings, AnUnknownInterfaceIsAnErrorThatListsThoseThereAre) {
  auto transport = make_ofi({.provider = "sockets", .interface = "eth77"});
  ASSERT_FALSE(transport);
  for (const char* word : {"sockets", "eth77", "127.0.0.1"})
    EXPECT_NE(transport.error().text().find(word), std::string::npos) << transport.error().text();
}

TEST(OfiSettings, AnInterfaceMayBeGivenAsTheBeginningOfAnAddress) {
  auto transport = make_ofi({.provider = "sockets", .interface = "127."});
  EXPECT_TRUE(transport) << transport.error().text();
}

}  // namespace
}  // namespace shim::transport
