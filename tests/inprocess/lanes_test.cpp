// SPDX-License-Identifier: BSD-3-Clause
// Threads of a process with sessions of their own: which lane a communicator is in, and that nothing stands still for it.
#include <gmock/gmock.h>

#include <algorithm>
#include <future>
#include <thread>

#include "cluster.hpp"
#include "shim/sessions/creation_wire.hpp"
#include "shim/sessions/intercommunicator.hpp"
#include "shim/sessions/topologies.hpp"

namespace shim::sessions::testing {
namespace {

constexpr double kPatience = 20;  // s; what is to come comes within milliseconds
constexpr std::size_t kLong = 300'000;  // bytes that need their sender while they are on their way, where nobody reads its memory

const types::Type& byte() { return types::byte_type(); }

SessionPtr new_session(Member& member) {
  return std::make_shared<Session>(source_of(member.process().shared_from_this()), SessionOptions{}, nullptr);
}

CommunicatorPtr create(const SessionPtr& session, const GroupPtr& group, const std::string& tag) {
  auto created = create_from_group(session, group, tag, nullptr, nullptr);
  EXPECT_TRUE(created) << told(created);
  return created ? *std::move(created) : nullptr;
}

/// Sessions of this process, in the lanes 0 and 1.
struct Sessions {
  SessionPtr first, second;
};
Sessions in_two_lanes(Member& member) {
  Sessions sessions{member.session(), nullptr};
  EXPECT_EQ(*sessions.first->lane(), 0u);
  std::thread([&] {
    sessions.second = new_session(member);
    EXPECT_EQ(*sessions.second->lane(), 1u);
  }).join();
  return sessions;
}

void in_threads(const std::function<void()>& one, const std::function<void()>& other) {
  std::thread thread(other);
  one();
  thread.join();
}

/// False where it has not come in time.
bool wait_for(const CommunicatorPtr& communicator, p2p::Request* request) {
  auto waited = communicator->engine().wait_until([&] { return request->is_done(); }, base::Deadline::after_seconds(kPatience));
  EXPECT_TRUE(waited);
  return waited && *waited;
}

p2p::Request* receive(const CommunicatorPtr& communicator, std::vector<std::byte>& into, int source) {
  return *communicator->engine().irecv(communicator->context(), {into.data(), into.size(), &byte()}, source, 1);
}
p2p::Request* send(const CommunicatorPtr& communicator, const std::vector<std::byte>& data, int dest) {
  return *communicator->engine().isend(communicator->context(), {data.data(), data.size(), &byte()}, dest, 1, p2p::Mode::standard);
}

std::vector<std::byte> pattern(std::size_t bytes, int seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(static_cast<std::size_t>(seed) + i * 7);
  return data;
}

/// Long messages around the ring, beside what exercise() does.
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

TEST(Lanes, OneThreadHasOne) {
  Cluster cluster(World::of(1, 2));
  cluster.run([](Member& member) {
    const SessionPtr again = new_session(member);
    CommunicatorPtr one = member.create_world("test.one"), other = create(again, member.world(), "test.other");
    for (const auto& communicator : {one, other, *duplicate(one, false)}) {
      EXPECT_EQ(communicator->lane(), 0u);
      EXPECT_EQ(&communicator->engine(), &member.process().engine());
    }
    EXPECT_EQ(member.process().engines().size(), 1u);
    exercise_all(other, 1);
  });
}

TEST(Lanes, ThreadsOfOneProcessTakeThemInTurn) {
  base::Settings settings = Cluster::settings();
  settings.lanes = 3;
  Cluster cluster(World::of(1, 1), settings);
  cluster.run([](Member& member) {
    std::vector<std::uint32_t> lanes;
    std::vector<std::promise<void>> may_end(7);
    std::vector<std::thread> threads;  // all at the same time: an ended one's number may be the next one's
    for (auto& end : may_end) {
      std::promise<void> has_asked;
      threads.emplace_back([&] {
        const SessionPtr session = new_session(member);
        lanes.push_back(*session->lane());
        EXPECT_EQ(*new_session(member)->lane(), lanes.back());
        EXPECT_EQ(create(session, member.group({0}), "test.alone")->lane(), lanes.back());
        has_asked.set_value();
        end.get_future().wait();
      });
      has_asked.get_future().wait();
    }
    for (auto& end : may_end) end.set_value();
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(lanes, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2, 0}));
  });
}

TEST(Lanes, ManyProcessesOnANodeHaveOne) {
  bootstrap::SegmentSpec spec;
  spec.slots = 16, spec.pair_bytes = 65536;
  EXPECT_EQ(bootstrap::NodeSegment::lanes_that_fit(spec, 4), 4u);
  spec.slots = 1024;
  EXPECT_EQ(bootstrap::NodeSegment::lanes_that_fit(spec, 4), 1u);
}

class TwoThreads : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(SingleCopy, TwoThreads, ::testing::Bool());

TEST_P(TwoThreads, DoAllInLanesOfTheirOwn) {
  base::Settings settings = Cluster::settings();
  settings.single_copy = GetParam();
  Cluster cluster(World::of(1, 3), settings);
  cluster.run([](Member& member) {
    const Sessions sessions = in_two_lanes(member);
    const auto work = [&](const SessionPtr& session, std::uint32_t lane) {
      CommunicatorPtr all = create(session, member.world(), "test.lane" + std::to_string(lane));
      ASSERT_NE(all, nullptr);
      EXPECT_EQ(all->lane(), lane);
      exercise_all(all, 1);
      CommunicatorPtr copy = *duplicate(all, false), part = *split(all, all->rank() % 2, 0);
      CommunicatorPtr line = *cart_create(all, {{3}, {1}, false}), group = *create_subgroup(all, all->group(), 7);
      for (const auto& derived : {copy, part, line, group}) {
        EXPECT_EQ(derived->lane(), lane);
        EXPECT_EQ(&derived->engine(), &all->engine());
      }
      for (int round = 0; round < 20; ++round) {
        exercise(copy, round), exercise(line, round);
        exercise_all(group, round);
        exercise(part, round), exercise(all, round);
      }
    };
    in_threads([&] { work(sessions.first, 0); }, [&] { work(sessions.second, 1); });
    EXPECT_EQ(member.process().engines().size(), 2u);
    EXPECT_LE(member.process().all_engines()->ended_bases()->ranges(), 3u);
  });
}

TEST(Lanes, TheLeadersLaneCounts) {
  Cluster cluster(World::of(1, 2));
  cluster.run([](Member& member) {
    const Sessions sessions = in_two_lanes(member);
    // at one process the threads have come in the other order
    const bool is_turned = member.rank() == 1;
    const SessionPtr &a = is_turned ? sessions.second : sessions.first, &b = is_turned ? sessions.first : sessions.second;
    in_threads(
        [&] {
          CommunicatorPtr of_a = create(a, member.group({0, 1}), "test.a");
          EXPECT_EQ(of_a->lane(), 0u);
          for (int round = 0; round < 20; ++round) exercise_all(of_a, round);
        },
        [&] {
          CommunicatorPtr of_b = create(b, member.group({0, 1}), "test.b");
          EXPECT_EQ(of_b->lane(), 1u);
          for (int round = 0; round < 20; ++round) exercise_all(of_b, round);
        });
    EXPECT_EQ(create(a, member.group({1, 0}), "test.turned")->lane(), 1u);
  });
}

TEST(Lanes, OneThreadMeetsTwo) {
  Cluster cluster(World::of(1, 2));
  cluster.run([](Member& member) {
    if (member.rank() == 1) {
      CommunicatorPtr a = member.create_world("test.a"), b = member.create_world("test.b");
      EXPECT_EQ(a->lane(), 0u);
      EXPECT_EQ(b->lane(), 1u);
      for (int round = 0; round < 20; ++round) exercise_all(a, round), exercise_all(b, round);
      return;
    }
    const Sessions sessions = in_two_lanes(member);
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

TEST(Lanes, CommunicatorsOverNodesAreInTheFirst) {
  Cluster cluster(World::of(2, 2));
  cluster.run([](Member& member) {
    const Sessions sessions = in_two_lanes(member);
    CommunicatorPtr all = create(sessions.second, member.world(), "test.all");
    EXPECT_EQ(all->lane(), 0u);
    exercise_all(all, 1);
    CommunicatorPtr node = create(sessions.second, (*split_by_node(all, 0))->group(), "test.node");
    EXPECT_EQ(node->lane(), 1u);
    exercise_all(node, 2);
    CommunicatorPtr alone = create(sessions.second, member.group({member.rank()}), "test.alone");
    EXPECT_EQ(alone->lane(), 1u);
    exercise_all(alone, 3);
  });
}

TEST(Lanes, WithOneAllThreadsShareIt) {
  base::Settings settings = Cluster::settings();
  settings.lanes = 1;
  Cluster cluster(World::of(1, 2), settings);
  cluster.run([](Member& member) {
    SessionPtr second;
    std::thread([&] { second = new_session(member); }).join();
    const auto work = [&](const SessionPtr& session, const std::string& tag) {
      CommunicatorPtr all = create(session, member.world(), tag);
      EXPECT_EQ(all->lane(), 0u);
      for (int round = 0; round < 5; ++round) exercise_all(all, round);
    };
    in_threads([&] { work(member.session(), "test.one"); }, [&] { work(second, "test.other"); });
    EXPECT_EQ(member.process().engines().size(), 1u);
  });
}

TEST(Lanes, IntercommunicatorsAreInTheFirstWhereverTheirGroupsAre) {
  Cluster cluster(World::of(1, 4));
  cluster.run([](Member& member) {
    const Sessions sessions = in_two_lanes(member);
    CommunicatorPtr all = create(sessions.second, member.world(), "test.all");
    ASSERT_EQ(all->lane(), 1u);
    const int color = all->rank() % 2;
    CommunicatorPtr half = *split(all, color, 0);
    CommunicatorPtr inter = *intercomm_create(half, 0, Bridge{all, 1 - color, 3});
    for (const auto& made : {inter, *duplicate(inter, false), *merge(inter, color == 1)}) {
      EXPECT_EQ(made->lane(), 0u);
      if (!made->is_inter()) exercise_all(made, 1);
      else exercise(made->local(), 2);
    }
    exercise_all(half, 3);
  });
}

// The sender has nothing but this wait in another lane to move its message in.
TEST(Lanes, AWaitInOneMovesAMessageOfAnother) {
  Cluster cluster(World::of(1, 2), without_single_copy());
  cluster.run([](Member& member) {
    const Sessions sessions = in_two_lanes(member);
    CommunicatorPtr a = create(sessions.first, member.world(), "test.a"), b = create(sessions.second, member.world(), "test.b");
    for (const auto& [awaited, on_its_way] : {std::pair{a, b}, std::pair{b, a}}) {
      std::vector<std::byte> data = pattern(kLong, 3), got(kLong), word(1);
      if (member.rank() == 0) {
        p2p::Request* const sent = send(on_its_way, data, 1);
        p2p::Request* const told = receive(awaited, word, 1);
        EXPECT_TRUE(awaited->engine().wait(*told));
        EXPECT_TRUE(*on_its_way->engine().test(*sent));
        p2p::Engine::release(told);
        p2p::Engine::release(sent);
      } else {
        p2p::Request* const received = receive(on_its_way, got, 0);
        EXPECT_TRUE(wait_for(on_its_way, received));
        EXPECT_EQ(got, data);
        p2p::Engine::release(received);
        p2p::Request* const told = send(awaited, word, 0);
        EXPECT_TRUE(awaited->engine().wait(*told));
        p2p::Engine::release(told);
      }
    }
  });
}

// Creations go on in the first lane: those who wait in another let them.
TEST(Lanes, WhoWaitsInAnotherAnswersTheQuestionsOfCreations) {
  Cluster cluster(World::of(1, 2));
  cluster.run([&](Member& member) {
    const Sessions sessions = in_two_lanes(member);
    CommunicatorPtr b = create(sessions.second, member.world(), "test.b");
    std::vector<std::byte> word(1);
    if (member.rank() == 0) {
      p2p::Request* const told = receive(b, word, 1);
      EXPECT_TRUE(b->engine().wait(*told));
      p2p::Engine::release(told);
      exercise(member.create_world("test.late"), 1);
      return;
    }
    in_threads([&] { exercise(member.create_world("test.late"), 1); },
               [&] {
                 while (cluster.log().find("test.late") == std::string::npos) std::this_thread::yield();
                 p2p::Request* const told = send(b, word, 0);
                 EXPECT_TRUE(b->engine().wait(*told));
                 p2p::Engine::release(told);
               });
    EXPECT_THAT(cluster.log(), ::testing::Not(::testing::HasSubstr("not answered")));
  });
}

// What nobody takes in the first life of the receiver must not keep its sender.
TEST(Lanes, ALifeThatHasNoneTakesWhatIsLeftOfTheFormerOnes) {
  base::Settings settings = without_single_copy();
  settings.ready_timeout = 5;
  Cluster cluster(World::of(1, 2), settings);
  std::promise<void> is_away, is_back, has_ended;
  cluster.run([&](Member& member) {
    Sessions sessions = in_two_lanes(member);
    CommunicatorPtr b = create(sessions.second, member.world(), "test.b");
    exercise(b, 1);
    if (member.rank() == 1) {
      b.reset();
      sessions = {};
      member.end();
      is_away.set_value();
      is_back.get_future().wait();
      member.begin();
      EXPECT_EQ(member.process().engines().size(), 2u);
      auto ended = has_ended.get_future();
      const auto is_over = [&] { return ended.wait_for(std::chrono::seconds(0)) == std::future_status::ready; };
      EXPECT_TRUE(*member.process().engine().wait_until(is_over, base::Deadline::after_seconds(kPatience)));
      return;
    }
    is_away.get_future().wait();
    const std::vector<std::byte> data(4000);
    std::vector<p2p::Request*> sent;
    for (int i = 0; i < 100; ++i) sent.push_back(send(b, data, 1));  // more than there is room for
    is_back.set_value();
    for (p2p::Request* request : sent) p2p::Engine::release(request);
    b.reset();
    sessions = {};
    member.end();
    has_ended.set_value();
    EXPECT_THAT(cluster.log(), ::testing::Not(::testing::HasSubstr("nobody has taken")));
  });
}

// The leader's outcome is on its way when a member gives up. What comes for that one must not keep its sender, nor be taken for something else.
TEST(Lanes, WhoHasGivenUpACreationTakesOutWhatOthersSendInIt) {
  constexpr std::uint64_t kMessages = 100;  // more than there is room for
  base::Settings settings = without_single_copy();
  settings.ready_timeout = 5;
  Cluster cluster(World::of(1, 2), settings);
  std::promise<void> has_given_up;
  cluster.run([&](Member& member) {
    p2p::Engine& first = member.process().engine();
    exercise(member.create_world("test.first"), 1);
    if (member.rank() == 1) {
      EXPECT_THAT(told(member.try_create({0, 1}, "test.given_up")), ::testing::HasSubstr("enough"));
      EXPECT_EQ(member.process().engines().size(), 1u);
      has_given_up.set_value();
      exercise(member.create_world("test.go_on"), 2);
      ASSERT_EQ(member.process().engines().size(), 2u);
      const p2p::Engine& second = *member.process().engines()[1];
      const auto are_dropped = [&] { return second.counts().stale_dropped == kMessages; };
      EXPECT_TRUE(*first.wait_until(are_dropped, base::Deadline::after_seconds(kPatience)));
      exercise(member.create_world("test.again"), 3);
      return;
    }
    const Sessions sessions = in_two_lanes(member);
    const CreationKey key{"", "test.given_up", {{0, 0, 2, 1}}};
    while (cluster.log().find("test.given_up") == std::string::npos) std::this_thread::yield();  // its contribution has left
    ASSERT_TRUE(first.send_control({0, 1}, encode(Failure{key, 0, base::ErrorClass::other, "enough", {}})));
    has_given_up.get_future().wait();
    CommunicatorPtr alone = create(sessions.second, member.world(), "test.given_up");
    ASSERT_NE(alone, nullptr);
    EXPECT_EQ(alone->lane(), 1u);
    const std::vector<std::byte> data(4000);
    std::vector<p2p::Request*> sent;
    for (std::uint64_t i = 0; i < kMessages; ++i) sent.push_back(send(alone, data, 1));
    exercise(create(sessions.first, member.world(), "test.go_on"), 2);
    const auto have_left = [&] { return std::ranges::all_of(sent, [](const p2p::Request* request) { return request->is_done(); }); };
    EXPECT_TRUE(*alone->engine().wait_until(have_left, base::Deadline::after_seconds(kPatience)));
    for (p2p::Request* request : sent) p2p::Engine::release(request);
    CommunicatorPtr again = create(sessions.second, member.world(), "test.again");
    EXPECT_EQ(again->lane(), 1u);
    exercise(again, 3);
  });
}

TEST(Lanes, NumbersOfCommunicatorsTakeNoMemoryHoweverTheyAlternate) {
  Cluster cluster(World::of(1, 2));
  cluster.run([](Member& member) {
    const Sessions sessions = in_two_lanes(member);
    for (int i = 0; i < 50; ++i) {
      create(sessions.first, member.world(), "test.a").reset();
      create(sessions.second, member.world(), "test.b").reset();
      create(sessions.second, member.group({member.rank()}), "test.alone").reset();
    }
    EXPECT_GE(member.process().all_engines()->ended_bases()->ranges(), 1u);
    EXPECT_LE(member.process().all_engines()->ended_bases()->ranges(), 2u);
  });
}

}  // namespace
}  // namespace shim::sessions::testing
