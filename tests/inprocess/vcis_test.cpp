// SPDX-License-Identifier: BSD-3-Clause
// Tests threads with different sessions: the VCI of each communicator, and progress in all VCIs.
#include <gmock/gmock.h>

#include <algorithm>
#include <future>
#include <thread>

#include "cluster.hpp"
#include "shim/sessions/creation_wire.hpp"
#include "shim/sessions/intercommunicator.hpp"
#include "shim/sessions/topology_comm.hpp"

namespace shim::sessions::testing {
namespace {

constexpr double kPatience = 20;        // s; each condition should hold within milliseconds
constexpr std::size_t kLong = 300'000;  // bytes; needs progress of its sender without single copy

const types::Type& byte() { return types::byte_type(); }

SessionPtr new_session(Member& member) {
  return std::make_shared<Session>(source_of(member.process().shared_from_this()), SessionOptions{},
                                   nullptr);
}

CommunicatorPtr create(const SessionPtr& session, const GroupPtr& group, const std::string& tag) {
  auto created = create_from_group(session, group, tag, nullptr, nullptr);
  EXPECT_TRUE(created) << error_text(created);
  return created ? *std::move(created) : nullptr;
}

/// Two sessions of one process, in VCI 0 and VCI 1.
struct Sessions {
  SessionPtr first, second;
};
Sessions with_two_vcis(Member& member) {
  Sessions sessions{member.session(), nullptr};
  EXPECT_EQ(*sessions.first->vci(), 0u);
  std::thread([&] {
    sessions.second = new_session(member);
    EXPECT_EQ(*sessions.second->vci(), 1u);
  }).join();
  return sessions;
}

void in_threads(const std::function<void()>& one, const std::function<void()>& other) {
  std::thread thread(other);
  one();
  thread.join();
}

/// Wait for the request; return false if it does not complete in time.
bool wait_for(const CommunicatorPtr& communicator, p2p::Request* request) {
  auto waited = communicator->engine().wait_until([&] { return request->is_done(); },
                                                  base::Deadline::after_seconds(kPatience));
  EXPECT_TRUE(waited);
  return waited && *waited;
}

p2p::Request* receive(const CommunicatorPtr& communicator, std::vector<std::byte>& into,
                      int source) {
  return *communicator->engine().irecv(communicator->context(), {into.data(), into.size(), &byte()},
                                       source, 1);
}
p2p::Request* send(const CommunicatorPtr& communicator, const std::vector<std::byte>& data,
                   int dest) {
  return *communicator->engine().isend(communicator->context(), {data.data(), data.size(), &byte()},
                                       dest, 1, p2p::SendMode::standard);
}

std::vector<std::byte> pattern(std::size_t bytes, int seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    data[i] = static_cast<std::byte>(static_cast<std::size_t>(seed) + i * 7);
  return data;
}

/// As exercise(), and also send long messages around the ring.
void exercise_all(const CommunicatorPtr& communicator, int salt) {
  exercise(communicator, salt);
  const int rank = communicator->rank(), size = communicator->size();
  std::vector<std::byte> got(kLong);
  p2p::Request* const incoming = receive(communicator, got, (rank + size - 1) % size);
  const auto data = pattern(kLong, rank + salt);
  p2p::Request* const outgoing = send(communicator, data, (rank + 1) % size);
  EXPECT_TRUE(wait_for(communicator, incoming));
  EXPECT_TRUE(wait_for(communicator, outgoing));
  EXPECT_EQ(got, pattern(kLong, (rank + size - 1) % size + salt));
  p2p::Engine::release(incoming);
  p2p::Engine::release(outgoing);
}

base::Settings without_single_copy() {
  base::Settings settings = Cluster::settings();
  settings.single_copy = false;
  return settings;
}

TEST(Vcis, OneThreadUsesOneVci) {
  Cluster cluster(World::of(1, 2));
  cluster.run([](Member& member) {
    const SessionPtr again = new_session(member);
    CommunicatorPtr one = member.create_world("test.one"),
                    other = create(again, member.world(), "test.other");
    for (const auto& communicator : {one, other, *duplicate(one, false)}) {
      EXPECT_EQ(communicator->vci(), 0u);
      EXPECT_EQ(&communicator->engine(), &member.process().engine());
    }
    EXPECT_EQ(member.process().vcis().engines().size(), 1u);
    exercise_all(other, 1);
  });
}

TEST(Vcis, ThreadsAreAssignedVcisRoundRobin) {
  base::Settings settings = Cluster::settings();
  settings.vcis = 3;
  Cluster cluster(World::of(1, 1), settings);
  cluster.run([](Member& member) {
    std::vector<std::uint32_t> vcis;
    std::vector<std::promise<void>> may_end(7);
    // all threads exist at the same time, because the VCI of an ended thread can be reused
    std::vector<std::thread> threads;
    for (auto& end : may_end) {
      std::promise<void> has_asked;
      threads.emplace_back([&] {
        const SessionPtr session = new_session(member);
        vcis.push_back(*session->vci());
        EXPECT_EQ(*new_session(member)->vci(), vcis.back());
        EXPECT_EQ(create(session, member.group({0}), "test.alone")->vci(), vcis.back());
        has_asked.set_value();
        end.get_future().wait();
      });
      has_asked.get_future().wait();
    }
    for (auto& end : may_end) end.set_value();
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(vcis, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2, 0}));
  });
}

TEST(Vcis, ManyProcessesOnANodeUseOneVci) {
  node::SegmentSpec spec;
  spec.slots = 16, spec.pair_bytes = 65536;
  EXPECT_EQ(node::NodeSegment::vcis_that_fit(spec, 4), 4u);
  spec.slots = 1024;
  EXPECT_EQ(node::NodeSegment::vcis_that_fit(spec, 4), 1u);
}

class TwoThreads : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(SingleCopy, TwoThreads, ::testing::Bool());

TEST_P(TwoThreads, CommunicateInSeparateVcis) {
  base::Settings settings = Cluster::settings();
  settings.single_copy = GetParam();
  Cluster cluster(World::of(1, 3), settings);
  cluster.run([](Member& member) {
    const Sessions sessions = with_two_vcis(member);
    const auto work = [&](const SessionPtr& session, std::uint32_t vci) {
      CommunicatorPtr all = create(session, member.world(), "test.vci" + std::to_string(vci));
      ASSERT_NE(all, nullptr);
      EXPECT_EQ(all->vci(), vci);
      exercise_all(all, 1);
      CommunicatorPtr copy = *duplicate(all, false), part = *split(all, all->rank() % 2, 0);
      CommunicatorPtr line = *cart_create(all, {{3}, {1}, false}),
                      group = *create_subgroup(all, all->group(), 7);
      for (const auto& derived : {copy, part, line, group}) {
        EXPECT_EQ(derived->vci(), vci);
        EXPECT_EQ(&derived->engine(), &all->engine());
      }
      for (int round = 0; round < 20; ++round) {
        exercise(copy, round), exercise(line, round);
        exercise_all(group, round);
        exercise(part, round), exercise(all, round);
      }
    };
    in_threads([&] { work(sessions.first, 0); }, [&] { work(sessions.second, 1); });
    EXPECT_EQ(member.process().vcis().engines().size(), 2u);
    EXPECT_LE(member.process().vcis().all_engines()->ended_bases()->ranges(), 3u);
  });
}

TEST(Vcis, LeadersVciIsUsed) {
  Cluster cluster(World::of(1, 2));
  cluster.run([](Member& member) {
    const Sessions sessions = with_two_vcis(member);
    // at one process the threads have begun their sessions in the other order
    const bool is_turned = member.rank() == 1;
    const SessionPtr &a = is_turned ? sessions.second : sessions.first,
                     &b = is_turned ? sessions.first : sessions.second;
    in_threads(
        [&] {
          CommunicatorPtr of_a = create(a, member.group({0, 1}), "test.a");
          EXPECT_EQ(of_a->vci(), 0u);
          for (int round = 0; round < 20; ++round) exercise_all(of_a, round);
        },
        [&] {
          CommunicatorPtr of_b = create(b, member.group({0, 1}), "test.b");
          EXPECT_EQ(of_b->vci(), 1u);
          for (int round = 0; round < 20; ++round) exercise_all(of_b, round);
        });
    EXPECT_EQ(create(a, member.group({1, 0}), "test.turned")->vci(), 1u);
  });
}

TEST(Vcis, ProcessWithOneThreadCommunicatesWithTwoVcis) {
  Cluster cluster(World::of(1, 2));
  cluster.run([](Member& member) {
    if (member.rank() == 1) {
      CommunicatorPtr a = member.create_world("test.a"), b = member.create_world("test.b");
      EXPECT_EQ(a->vci(), 0u);
      EXPECT_EQ(b->vci(), 1u);
      for (int round = 0; round < 20; ++round) exercise_all(a, round), exercise_all(b, round);
      return;
    }
    const Sessions sessions = with_two_vcis(member);
    in_threads(
        [&] {
          CommunicatorPtr a = create(sessions.first, member.world(), "test.a");
          for (int round = 0; round < 20; ++round) exercise_all(a, round);
        },
        [&] {
          CommunicatorPtr b = create(sessions.second, member.world(), "test.b");
          for (int round = 0; round < 20; ++round) exercise_all(b, round);
        });
  });
}

TEST(Vcis, CommunicatorsAcrossNodesUseVciZero) {
  Cluster cluster(World::of(2, 2));
  cluster.run([](Member& member) {
    const Sessions sessions = with_two_vcis(member);
    CommunicatorPtr all = create(sessions.second, member.world(), "test.all");
    EXPECT_EQ(all->vci(), 0u);
    exercise_all(all, 1);
    CommunicatorPtr node = create(sessions.second, (*split_by_node(all, 0))->group(), "test.node");
    EXPECT_EQ(node->vci(), 1u);
    exercise_all(node, 2);
    CommunicatorPtr alone = create(sessions.second, member.group({member.rank()}), "test.alone");
    EXPECT_EQ(alone->vci(), 1u);
    exercise_all(alone, 3);
  });
}

TEST(Vcis, AllThreadsShareASingleVci) {
  base::Settings settings = Cluster::settings();
  settings.vcis = 1;
  Cluster cluster(World::of(1, 2), settings);
  cluster.run([](Member& member) {
    SessionPtr second;
    std::thread([&] { second = new_session(member); }).join();
    const auto work = [&](const SessionPtr& session, const std::string& tag) {
      CommunicatorPtr all = create(session, member.world(), tag);
      EXPECT_EQ(all->vci(), 0u);
      for (int round = 0; round < 5; ++round) exercise_all(all, round);
    };
    in_threads([&] { work(member.session(), "test.one"); }, [&] { work(second, "test.other"); });
    EXPECT_EQ(member.process().vcis().engines().size(), 1u);
  });
}

TEST(Vcis, IntercommunicatorsAlwaysUseVciZero) {
  Cluster cluster(World::of(1, 4));
  cluster.run([](Member& member) {
    const Sessions sessions = with_two_vcis(member);
    CommunicatorPtr all = create(sessions.second, member.world(), "test.all");
    ASSERT_EQ(all->vci(), 1u);
    const int color = all->rank() % 2;
    CommunicatorPtr half = *split(all, color, 0);
    CommunicatorPtr inter = *intercomm_create(half, 0, Bridge{all, 1 - color, 3});
    for (const auto& made : {inter, *duplicate(inter, false), *merge(inter, color == 1)}) {
      EXPECT_EQ(made->vci(), 0u);
      if (!made->is_inter())
        exercise_all(made, 1);
      else
        exercise(made->local(), 2);
    }
    exercise_all(half, 3);
  });
}

// The sender makes progress on its message only through its wait in another VCI.
TEST(Vcis, WaitInOneVciProgressesAnother) {
  Cluster cluster(World::of(1, 2), without_single_copy());
  cluster.run([](Member& member) {
    const Sessions sessions = with_two_vcis(member);
    CommunicatorPtr a = create(sessions.first, member.world(), "test.a"),
                    b = create(sessions.second, member.world(), "test.b");
    for (const auto& [awaited, in_transfer] : {std::pair{a, b}, std::pair{b, a}}) {
      std::vector<std::byte> data = pattern(kLong, 3), got(kLong), word(1);
      if (member.rank() == 0) {
        p2p::Request* const sent = send(in_transfer, data, 1);
        p2p::Request* const request = receive(awaited, word, 1);
        EXPECT_TRUE(awaited->engine().wait(*request));
        EXPECT_TRUE(*in_transfer->engine().test(*sent));
        p2p::Engine::release(request);
        p2p::Engine::release(sent);
      } else {
        p2p::Request* const received = receive(in_transfer, got, 0);
        EXPECT_TRUE(wait_for(in_transfer, received));
        EXPECT_EQ(got, data);
        p2p::Engine::release(received);
        p2p::Request* const request = send(awaited, word, 0);
        EXPECT_TRUE(awaited->engine().wait(*request));
        p2p::Engine::release(request);
      }
    }
  });
}

// Creations make progress in VCI 0, also through threads that wait in another VCI.
TEST(Vcis, WaitInAnotherVciAnswersCreationRequests) {
  Cluster cluster(World::of(1, 2));
  cluster.run([&](Member& member) {
    const Sessions sessions = with_two_vcis(member);
    CommunicatorPtr b = create(sessions.second, member.world(), "test.b");
    std::vector<std::byte> word(1);
    if (member.rank() == 0) {
      p2p::Request* const request = receive(b, word, 1);
      EXPECT_TRUE(b->engine().wait(*request));
      p2p::Engine::release(request);
      exercise(member.create_world("test.late"), 1);
      return;
    }
    in_threads([&] { exercise(member.create_world("test.late"), 1); },
               [&] {
                 while (cluster.log().find("test.late") == std::string::npos)
                   std::this_thread::yield();
                 p2p::Request* const request = send(b, word, 0);
                 EXPECT_TRUE(b->engine().wait(*request));
                 p2p::Engine::release(request);
               });
    EXPECT_THAT(cluster.log(), ::testing::Not(::testing::HasSubstr("not answered")));
  });
}

// Messages that the receiver's first incarnation never receives must not block their sender.
TEST(Vcis, IncarnationDrainsVcisOfEarlierIncarnations) {
  base::Settings settings = without_single_copy();
  settings.ready_timeout = 5;
  Cluster cluster(World::of(1, 2), settings);
  std::promise<void> is_away, is_back, has_ended;
  cluster.run([&](Member& member) {
    Sessions sessions = with_two_vcis(member);
    CommunicatorPtr b = create(sessions.second, member.world(), "test.b");
    exercise(b, 1);
    if (member.rank() == 1) {
      b.reset();
      sessions = {};
      member.end();
      is_away.set_value();
      is_back.get_future().wait();
      member.begin();
      EXPECT_EQ(member.process().vcis().engines().size(), 2u);
      auto ended = has_ended.get_future();
      const auto is_over = [&] {
        return ended.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
      };
      EXPECT_TRUE(
          *member.process().engine().wait_until(is_over, base::Deadline::after_seconds(kPatience)));
      return;
    }
    is_away.get_future().wait();
    const std::vector<std::byte> data(4000);
    std::vector<p2p::Request*> sent;
    for (int i = 0; i < 100; ++i)
      sent.push_back(send(b, data, 1));  // more than fit into the buffers
    is_back.set_value();
    for (p2p::Request* request : sent) p2p::Engine::release(request);
    b.reset();
    sessions = {};
    member.end();
    has_ended.set_value();
    EXPECT_THAT(cluster.log(),
                ::testing::Not(::testing::HasSubstr("the last session was finalized after")));
  });
}

// The leader's outcome is in flight when a member times out. Messages for the abandoned
// communicator must not block their sender, nor match receives of another communicator.
TEST(Vcis, AbandonedCreationDrainsMessagesOfItsVci) {
  constexpr std::uint64_t kMessages = 100;  // more than fit into the buffers
  base::Settings settings = without_single_copy();
  settings.ready_timeout = 5;
  Cluster cluster(World::of(1, 2), settings);
  std::promise<void> has_timed_out;
  cluster.run([&](Member& member) {
    p2p::Engine& first = member.process().engine();
    exercise(member.create_world("test.first"), 1);
    if (member.rank() == 1) {
      EXPECT_THAT(error_text(member.try_create({0, 1}, "test.given_up")),
                  ::testing::HasSubstr("enough"));
      EXPECT_EQ(member.process().vcis().engines().size(), 1u);
      has_timed_out.set_value();
      exercise(member.create_world("test.go_on"), 2);
      ASSERT_EQ(member.process().vcis().engines().size(), 2u);
      const p2p::Engine& second = *member.process().vcis().engines()[1];
      const auto are_dropped = [&] { return second.counts().stale_dropped == kMessages; };
      EXPECT_TRUE(*first.wait_until(are_dropped, base::Deadline::after_seconds(kPatience)));
      exercise(member.create_world("test.again"), 3);
      return;
    }
    const Sessions sessions = with_two_vcis(member);
    const CreationKey key{"", "test.given_up", {{0, 0, 2, 1}}};
    while (cluster.log().find("test.given_up") == std::string::npos)
      std::this_thread::yield();  // until its contribution has been sent
    ASSERT_TRUE(first.send_control(
        {0, 1}, encode(FailureMessage{key, 0, base::ErrorClass::other, "enough", {}})));
    has_timed_out.get_future().wait();
    CommunicatorPtr alone = create(sessions.second, member.world(), "test.given_up");
    ASSERT_NE(alone, nullptr);
    EXPECT_EQ(alone->vci(), 1u);
    const std::vector<std::byte> data(4000);
    std::vector<p2p::Request*> sent;
    for (std::uint64_t i = 0; i < kMessages; ++i) sent.push_back(send(alone, data, 1));
    exercise(create(sessions.first, member.world(), "test.go_on"), 2);
    const auto have_left = [&] {
      return std::ranges::all_of(sent,
                                 [](const p2p::Request* request) { return request->is_done(); });
    };
    EXPECT_TRUE(*alone->engine().wait_until(have_left, base::Deadline::after_seconds(kPatience)));
    for (p2p::Request* request : sent) p2p::Engine::release(request);
    CommunicatorPtr again = create(sessions.second, member.world(), "test.again");
    EXPECT_EQ(again->vci(), 1u);
    exercise(again, 3);
  });
}

TEST(Vcis, AlternatingContextIdsNeedNoMemory) {
  Cluster cluster(World::of(1, 2));
  cluster.run([](Member& member) {
    const Sessions sessions = with_two_vcis(member);
    for (int i = 0; i < 50; ++i) {
      create(sessions.first, member.world(), "test.a").reset();
      create(sessions.second, member.world(), "test.b").reset();
      create(sessions.second, member.group({member.rank()}), "test.alone").reset();
    }
    EXPECT_GE(member.process().vcis().all_engines()->ended_bases()->ranges(), 1u);
    EXPECT_LE(member.process().vcis().all_engines()->ended_bases()->ranges(), 2u);
  });
}

}  // namespace
}  // namespace shim::sessions::testing
