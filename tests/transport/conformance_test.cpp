// SPDX-License-Identifier: BSD-3-Clause
// Tests the requirements on every transport backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "shim/base/clock.hpp"
#include "shim/transport/receive_in_place.hpp"
#include "shim/transport/registered_reads.hpp"
#include "shim/transport/remote_reads.hpp"
#include "shim/transport/sleeper.hpp"
#include "tests/transport/rig.hpp"

namespace shim::transport::testing {
namespace {

/// Header of every test packet: its sender, its sequence number, and the expected payload.
struct Stamp {
  std::uint32_t from;
  std::uint32_t number;
  std::uint32_t bytes;  ///< length of the payload
  std::uint32_t seed;
};

/// One transport of the rig with its links and the number of received packets.
class Party {
 public:
  Party(Rig& rig, int number) : rig_(rig), number_(number) {
    for (int peer = 0; peer < rig.size(); ++peer) {
      auto link = transport().open(rig.at(peer).address());
      EXPECT_TRUE(link) << link.error().text();
      links_.push_back(link ? *link : nullptr);
    }
  }

  Transport& transport() { return rig_.at(number_); }

  /// Send the next packet to this peer. Its stamp is the header; header and payload are divided
  /// differently in each packet.
  Attempt send(int to, std::size_t bytes) {
    std::uint32_t number = sent_[to];
    Stamp stamp{static_cast<std::uint32_t>(number_), number, static_cast<std::uint32_t>(bytes),
                number * 31u + 7u};
    std::vector<std::byte> body = body_of(stamp.seed, bytes);
    std::size_t in_header = number % 3 == 0 ? 0 : std::min<std::size_t>(body.size(), number % 50);
    std::vector<std::byte> header(sizeof stamp);
    std::memcpy(header.data(), &stamp, sizeof stamp);
    header.insert(header.end(), body.begin(),
                  body.begin() + static_cast<std::ptrdiff_t>(in_header));
    auto attempt = transport().try_send(*links_[static_cast<std::size_t>(to)], header,
                                        ConstSpan(body).subspan(in_header));
    EXPECT_TRUE(attempt) << attempt.error().text();
    if (!attempt) return Attempt::unsupported;
    if (*attempt == Attempt::done) ++sent_[to];
    return *attempt;
  }

  /// Poll once and check the received packets; return their number.
  int poll() {
    CallSink sink([&](ConstSpan packet) { check(packet); });
    auto count = transport().poll(sink);
    EXPECT_TRUE(count) << count.error().text();
    return count ? *count : 0;
  }

  std::uint32_t sent(int to) { return sent_[to]; }
  std::uint32_t received(int from) { return received_[static_cast<std::uint32_t>(from)]; }
  Link& link(int to) { return *links_[static_cast<std::size_t>(to)]; }

 private:
  void check(ConstSpan packet) {
    Stamp stamp{};
    ASSERT_GE(packet.size(), sizeof stamp);
    std::memcpy(&stamp, packet.data(), sizeof stamp);
    EXPECT_EQ(stamp.number, received_[stamp.from])
        << "packet out of order, lost or duplicated; sender " << stamp.from;
    received_[stamp.from] = stamp.number + 1;
    ASSERT_EQ(packet.size(), sizeof stamp + stamp.bytes);
    EXPECT_TRUE(std::ranges::equal(packet.subspan(sizeof stamp), body_of(stamp.seed, stamp.bytes)))
        << "packet bytes changed";
  }

  Rig& rig_;
  int number_;
  std::vector<Link*> links_;
  std::map<int, std::uint32_t> sent_;
  std::map<std::uint32_t, std::uint32_t> received_;
};

class Conformance : public ::testing::TestWithParam<Backend> {
 protected:
  /// Make the transports. Return false if this machine cannot run the backend.
  bool set_up(int size) {
    std::string reason;
    rig_ = GetParam().make(std::min(size, GetParam().largest), reason);
    if (!rig_) {
      std::fprintf(stderr, "*** %s cannot run here and is NOT TESTED: %s\n",
                   GetParam().name.c_str(), reason.c_str());
      if (!GetParam().may_be_missing)
        ADD_FAILURE() << GetParam().name << " must work on every machine: " << reason;
      return false;
    }
    for (int i = 0; i < rig_->size(); ++i) parties_.push_back(std::make_unique<Party>(*rig_, i));
    return true;
  }
  int size() const { return rig_->size(); }
  Party& party(int number) { return *parties_[static_cast<std::size_t>(number)]; }
  int poll_all() {
    int count = 0;
    for (auto& party : parties_) count += party->poll();
    return count;
  }
  /// Send a packet; poll all transports while the sender has no free buffer.
  void send(int from, int to, std::size_t bytes) {
    while (party(from).send(to, bytes) == Attempt::again) {
      poll_all();
      ASSERT_FALSE(deadline_.passed()) << "no free buffer for a packet within the time limit";
    }
  }
  /// Poll all transports until all packets have been received.
  void drain() {
    auto missing = [&] {
      for (int from = 0; from < size(); ++from)
        for (int to = 0; to < size(); ++to)
          if (party(to).received(from) != party(from).sent(to)) return true;
      return false;
    };
    while (missing()) {
      poll_all();
      ASSERT_FALSE(deadline_.passed()) << "packets are missing";
    }
  }
  std::size_t largest_body() { return rig_->at(0).max_packet_bytes() - sizeof(Stamp); }

  std::unique_ptr<Rig> rig_;
  std::vector<std::unique_ptr<Party>> parties_;
  base::Deadline deadline_ = base::Deadline::after_seconds(kTestSeconds);
};

#define SET_UP_OR_SKIP(size) \
  if (!set_up(size)) GTEST_SKIP() << "not available on this machine"

TEST_P(Conformance, PacketsOfEverySizeArriveCompleteAndInOrder) {
  SET_UP_OR_SKIP(2);
  int to = size() - 1;
  for (std::size_t bytes = 0; bytes <= 300; ++bytes) send(0, to, bytes);
  for (std::size_t less = 0; less <= 70; ++less) send(0, to, largest_body() - less);
  drain();
}

TEST_P(Conformance, EmptyPacketsArrive) {
  SET_UP_OR_SKIP(2);
  int came = 0;
  CallSink sink([&](ConstSpan packet) {
    EXPECT_TRUE(packet.empty());
    ++came;
  });
  int sent = 0;
  while (came < 20) {
    if (sent < 20) {
      auto attempt = rig_->at(0).try_send(party(0).link(size() - 1), {}, {});
      ASSERT_TRUE(attempt) << attempt.error().text();
      if (*attempt == Attempt::done) ++sent;
    }
    CallSink nothing([](ConstSpan) { FAIL() << "unexpected packet for the other process"; });
    if (size() > 1) {
      ASSERT_TRUE(rig_->at(0).poll(nothing));
    }
    ASSERT_TRUE(rig_->at(size() - 1).poll(sink));
    ASSERT_FALSE(deadline_.passed());
  }
}

/// A sink that accepts one packet per poll.
class OneByOne final : public Sink {
 public:
  bool on_packet(ConstSpan packet) override {
    packets.emplace_back(packet.begin(), packet.end());
    return false;
  }
  std::vector<Bytes> packets;
};

TEST_P(Conformance, FrontPacketIsPolledUnlessDropped) {
  SET_UP_OR_SKIP(2);
  constexpr std::size_t kPackets = 5;
  Transport& receiver = rig_->at(size() - 1);
  Link& sender = party(size() - 1).link(0);
  OneByOne polled, seen, nothing;
  auto poll_both = [&] {
    if (size() > 1) {
      EXPECT_TRUE(rig_->at(0).poll(nothing));
    }
    EXPECT_TRUE(receiver.poll_link(sender, polled));
  };
  auto poll_until = [&](std::size_t packets) {
    while (polled.packets.size() + seen.packets.size() < packets && !deadline_.passed())
      poll_both();
    ASSERT_GE(polled.packets.size() + seen.packets.size(), packets);
  };
  for (std::size_t sent = 0; sent < kPackets && !deadline_.passed();) {
    const Bytes packet(40, static_cast<std::byte>(sent));
    if (*rig_->at(0).try_send(party(0).link(size() - 1), packet, {}) == Attempt::done)
      ++sent;
    else
      poll_both();
  }
  poll_until(1);
  const auto polled_before = static_cast<std::ptrdiff_t>(polled.packets.size());
  if (ReceiveInPlace* in_place = receiver.receive_in_place()) {
    for (ConstSpan front = in_place->front(sender); !front.empty();
         front = in_place->front(sender)) {
      seen.on_packet(front);
      ASSERT_EQ(in_place->front(sender).data(), front.data());
      in_place->drop_front(sender, front);
      if (seen.packets.size() == 2) break;
    }
  }
  poll_until(kPackets);
  std::vector<Bytes> all = polled.packets;
  all.insert(all.begin() + polled_before, seen.packets.begin(), seen.packets.end());
  for (std::size_t i = 0; i < kPackets; ++i)
    EXPECT_EQ(all[i], Bytes(40, static_cast<std::byte>(i)));
  EXPECT_TRUE(nothing.packets.empty());
}

TEST_P(Conformance, AllPairsSendInRandomOrder) {
  SET_UP_OR_SKIP(5);
  std::mt19937 random(11);
  for (int i = 0; i < 3000; ++i) {
    int from = static_cast<int>(random() % static_cast<unsigned>(size()));
    int to = static_cast<int>(random() % static_cast<unsigned>(size()));
    std::size_t bytes = random() % 8 == 0 ? random() % (largest_body() + 1) : random() % 200;
    send(from, to, bytes);
    if (random() % 4 == 0) party(static_cast<int>(random() % static_cast<unsigned>(size()))).poll();
  }
  drain();
}

TEST_P(Conformance, SendToAnIdleReceiverReturnsAgainAndLosesNothing) {
  SET_UP_OR_SKIP(2);
  int to = size() - 1;
  bool full = false;
  // More than any backend buffers for one peer; 2 GiB would mean that the buffering is unbounded.
  for (std::size_t sent = 0; !full && sent < (2u << 30); sent += largest_body()) {
    int refused = 0;
    while (party(0).send(to, largest_body()) == Attempt::again && !full) {
      if (size() > 1) party(0).poll();
      full = ++refused == 50;
    }
  }
  EXPECT_TRUE(full);
  EXPECT_GT(rig_->at(0).counts().sends_again, 0u);
  drain();
  send(0, to, 10);  // the sender has free buffers again
  drain();
}

TEST_P(Conformance, IdleReceiverDoesNotBlockOthers) {
  SET_UP_OR_SKIP(3);
  if (size() < 3) GTEST_SKIP() << "needs three processes";
  send(0, 1, 10);
  send(0, 2, 10);
  drain();
  for (int refused = 0; refused < 50;) {
    if (party(0).send(1, largest_body()) == Attempt::again) ++refused;
    party(0).poll();
  }
  for (int i = 0; i < 300; ++i) {
    bool is_sent = false;
    while (!is_sent || party(2).received(0) != party(0).sent(2)) {
      if (!is_sent)
        is_sent = party(0).send(2, std::min<std::size_t>(1000, largest_body())) == Attempt::done;
      party(0).poll();
      party(2).poll();
      ASSERT_FALSE(deadline_.passed()) << "after " << i << " packets";
    }
  }
  drain();
}

TEST_P(Conformance, SinkMaySend) {
  SET_UP_OR_SKIP(2);
  constexpr std::uint32_t kRounds = 200;
  std::uint32_t last = 0;
  // Each receiver of a number replies with the next number: inside the sink if the transport has a
  // free buffer, otherwise after the poll.
  std::vector<std::optional<std::uint32_t>> owed(static_cast<std::size_t>(size()));
  owed[0] = 1;
  auto send_owed = [&](int who) {
    auto& pending_number = owed[static_cast<std::size_t>(who)];
    if (!pending_number) return;
    auto attempt = rig_->at(who).try_send(party(who).link(size() - 1 - who),
                                          bytes_of(*pending_number), {});
    ASSERT_TRUE(attempt) << attempt.error().text();
    if (*attempt == Attempt::done) pending_number.reset();
  };
  while (last < kRounds) {
    for (int who = 0; who < size(); ++who) {
      send_owed(who);
      CallSink sink([&](ConstSpan packet) {
        std::uint32_t number;
        ASSERT_EQ(packet.size(), sizeof number);
        std::memcpy(&number, packet.data(), sizeof number);
        EXPECT_EQ(number, last + 1);
        last = number;
        owed[static_cast<std::size_t>(who)] = number + 1;
        send_owed(who);
      });
      ASSERT_TRUE(rig_->at(who).poll(sink));
    }
    ASSERT_FALSE(deadline_.passed());
  }
}

TEST_P(Conformance, TransportsWorkOnDifferentThreads) {
  SET_UP_OR_SKIP(2);
  if (size() < 2) GTEST_SKIP() << "needs two processes";
  constexpr std::uint32_t kPackets = 3000;
  std::atomic<int> done = 0;
  auto drive = [&](int self) {
    std::mt19937 random(static_cast<unsigned>(self));
    int peer = 1 - self;
    bool is_done = false;
    while (done < 2) {  // the other transport may need this one's polls for its flush
      if (!is_done && party(self).sent(peer) == kPackets &&
          party(self).received(peer) == kPackets && rig_->at(self).is_flushed()) {
        is_done = true;
        ++done;
      }
      if (party(self).sent(peer) < kPackets) party(self).send(peer, random() % 600);
      if (party(self).poll() == 0) std::this_thread::yield();
      ASSERT_FALSE(deadline_.passed());
    }
  };
  std::thread other([&] { drive(1); });
  drive(0);
  other.join();
}

TEST_P(Conformance, FlushedPacketsOutliveTheSender) {
  SET_UP_OR_SKIP(2);
  if (size() < 2) GTEST_SKIP() << "needs two processes";
  std::atomic<bool> is_closed = false;
  std::thread sender([&] {
    while (party(0).sent(1) < 1000 || !rig_->at(0).is_flushed()) {
      if (party(0).sent(1) < 1000) party(0).send(1, party(0).sent(1) % 500);
      party(0).poll();
      ASSERT_FALSE(deadline_.passed());
    }
    rig_->close(0);
    is_closed = true;
  });
  // The sender may need the receiver's polls until the flush is complete.
  while (party(1).received(0) < 1000 || !is_closed) {
    if (party(1).poll() == 0) std::this_thread::yield();
    ASSERT_FALSE(deadline_.passed())
        << "only " << party(1).received(0) << " of 1000 packets arrived";
  }
  sender.join();
}

TEST_P(Conformance, ReadsReturnTheBytesOrUnsupported) {
  SET_UP_OR_SKIP(2);
  RemoteReads* reads = rig_->at(0).remote_reads();
  if (reads == nullptr) GTEST_SKIP() << "has no single-copy reads";
  std::vector<std::byte> theirs = body_of(3, 1 << 20);
  std::vector<std::byte> ours(theirs.size());
  auto address = reinterpret_cast<std::uint64_t>(theirs.data());
  for (;;) {
    auto attempt = reads->try_read(party(0).link(size() - 1), address, ours);
    ASSERT_TRUE(attempt) << attempt.error().text();
    if (*attempt == Attempt::unsupported) GTEST_SKIP() << "has no single-copy reads";
    if (*attempt == Attempt::done) break;
    poll_all();
    ASSERT_FALSE(deadline_.passed());
  }
  EXPECT_EQ(ours, theirs);
  EXPECT_EQ(rig_->at(0).counts().bytes_read, theirs.size());
}

TEST_P(Conformance, OfferedMemoryIsReadOrUnsupported) {
  SET_UP_OR_SKIP(2);
  RegisteredReads *reads = rig_->at(0).registered_reads(),
                  *offers = rig_->at(size() - 1).registered_reads();
  if (reads == nullptr) GTEST_SKIP() << "has no reads of offered memory";
  send(0, size() - 1, 10);  // connects the two transports
  send(size() - 1, 0, 10);
  drain();
  const std::vector<std::byte> theirs = body_of(3, 3'000'001);
  std::vector<std::byte> ours(theirs.size() + 1);
  auto offer = offers->offer(party(size() - 1).link(0), theirs);
  if (!offer) GTEST_SKIP() << "has no reads of offered memory";
  auto read = reads->begin_read(party(0).link(size() - 1), offer->memory(),
                                std::span(ours).first(theirs.size()));
  ASSERT_TRUE(read);
  for (std::size_t came = 0; came != theirs.size();) {
    auto progress = read->progress();
    ASSERT_TRUE(progress) << progress.error().text();
    EXPECT_GE(*progress, came);
    came = *progress;
    poll_all();
    ASSERT_FALSE(deadline_.passed()) << "only " << came << " bytes arrived";
  }
  EXPECT_TRUE(std::ranges::equal(std::span(ours).first(theirs.size()), theirs));
  EXPECT_EQ(ours.back(), std::byte{0}) << "the read wrote past the end of the buffer";
  EXPECT_EQ(rig_->at(0).counts().bytes_read, theirs.size());
}

TEST_P(Conformance, CancelledReadWritesNothingAndPacketsContinue) {
  SET_UP_OR_SKIP(2);
  RegisteredReads *reads = rig_->at(0).registered_reads(),
                  *offers = rig_->at(size() - 1).registered_reads();
  if (reads == nullptr) GTEST_SKIP() << "has no reads of offered memory";
  send(0, size() - 1, 10);
  send(size() - 1, 0, 10);
  drain();
  const std::vector<std::byte> theirs(4'000'000, std::byte{1});
  std::vector<std::byte> ours(theirs.size());
  auto offer = offers->offer(party(size() - 1).link(0), theirs);
  if (!offer) GTEST_SKIP() << "has no reads of offered memory";
  // A thread polls the other side, as a process would: cancelling may need the other side's polls.
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over)
      if (party(size() - 1).poll() == 0) std::this_thread::yield();
  });
  auto read = reads->begin_read(party(0).link(size() - 1), offer->memory(), ours);
  ASSERT_TRUE(read && read->progress());
  read.reset();
  is_over = true;
  other.join();
  std::ranges::fill(ours, std::byte{2});
  for (int i = 0; i < 200; ++i) send(i % 2 == 0 ? 0 : size() - 1, i % 2 == 0 ? size() - 1 : 0, 100);
  drain();
  EXPECT_TRUE(std::ranges::all_of(ours, [](std::byte byte) { return byte == std::byte{2}; }));
}

TEST_P(Conformance, ForeignAddressesAreRefused) {
  SET_UP_OR_SKIP(1);
  Transport& transport = rig_->at(0);
  Bytes right = transport.address();
  EXPECT_LE(right.size(), 512u);
  Bytes cut(right.begin(), right.end() - 1);
  Bytes other = right;
  for (auto& byte : other) byte ^= std::byte{0x5a};
  for (const Bytes& wrong : {Bytes{}, cut, other, Bytes(512)}) {
    auto link = transport.open(wrong);
    ASSERT_FALSE(link) << "an address of " << wrong.size() << " bytes";
    EXPECT_EQ(link.error().error_class(), base::ErrorClass::arg);
    EXPECT_FALSE(link.error().text().empty());
  }
}

TEST_P(Conformance, CountsMatchTheSentPackets) {
  SET_UP_OR_SKIP(3);
  int to = size() - 1;
  for (int i = 0; i < 10; ++i) send(0, to, 100);
  drain();
  const auto& sender = rig_->at(0).counts();
  EXPECT_EQ(sender.links_opened, static_cast<std::uint64_t>(size()));
  EXPECT_EQ(sender.links_used, 1u);
  EXPECT_LE(sender.addresses_inserted, 1u) << "only the used link inserts an address";
  EXPECT_EQ(sender.packets_sent, 10u);
  EXPECT_EQ(sender.bytes_sent, 10 * (100 + sizeof(Stamp)));
  EXPECT_EQ(rig_->at(to).counts().packets_received, 10u);
}

TEST_P(Conformance, SleepEndsInTimeWhenNothingComes) {
  SET_UP_OR_SKIP(1);
  Sleeper* sleeper = rig_->at(0).sleeper();
  if (sleeper == nullptr) GTEST_SKIP() << "cannot wake a sleeping receiver";
  base::Nanoseconds start = base::now_ns();
  sleeper->sleep(2'000'000, [] { return false; }, {});
  EXPECT_LT(base::now_ns() - start, 1'000'000'000);
}

TEST_P(Conformance, SleepRunsTheLastCheck) {
  SET_UP_OR_SKIP(1);
  Sleeper* sleeper = rig_->at(0).sleeper();
  if (sleeper == nullptr) GTEST_SKIP() << "cannot wake a sleeping receiver";
  int looks = 0;
  const base::Nanoseconds start = base::now_ns();
  sleeper->sleep(20'000'000'000, [&] { return ++looks > 0; }, {});
  EXPECT_EQ(looks, 1);
  EXPECT_LT(base::now_ns() - start, 10'000'000'000);
}

TEST_P(Conformance, WaitingPacketEndsASleep) {
  SET_UP_OR_SKIP(2);
  Sleeper* sleeper = rig_->at(size() - 1).sleeper();
  if (sleeper == nullptr) GTEST_SKIP() << "cannot wake a sleeping receiver";
  send(0, size() - 1, 20);
  drain();  // the two transports are connected from now on
  EXPECT_EQ(party(0).send(size() - 1, 20), Attempt::done);
  base::Nanoseconds start = base::now_ns();
  sleeper->sleep(20'000'000'000, [] { return false; }, {});
  EXPECT_LT(base::now_ns() - start, 10'000'000'000) << "slept although a packet was waiting";
}

INSTANTIATE_TEST_SUITE_P(Backends, Conformance, ::testing::ValuesIn(all_backends()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace shim::transport::testing
