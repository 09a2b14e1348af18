// SPDX-License-Identifier: BSD-3-Clause
// Tests messages that libfabric providers match, between engines of one program.
#include <algorithm>
#include <random>

#include "shim/transport/matching.hpp"
#include "shim/transport/ofi/ofi.hpp"
#include "tests/p2p/world.hpp"
#include "tests/transport/large_buffer_network.hpp"

namespace shim::p2p {
namespace {

struct Fabric {
  std::string provider;
  transport::OfiTuning tuning = {};
  bool matches = true;  ///< the provider is expected to match
};
void PrintTo(const Fabric& fabric, std::ostream* out) {
  *out << fabric.provider
       << (fabric.tuning.names_senders ? (*fabric.tuning.names_senders ? " by sender" : " by rank")
                                       : "");
}

class ProviderMatchingOfi : public testing::TestWithParam<Fabric> {
 protected:
  static constexpr int kProcesses = 3;

  ProviderMatchingOfi() {
    transport::testing::raise_receive_memory_for(GetParam().provider);
    for (std::uint32_t rank = 0; rank < kProcesses; ++rank) {
      auto made = transport::make_ofi({.provider = GetParam().provider,
                                       .interface = GetParam().provider == "shm" ? "" : "lo",
                                       .tuning = GetParam().tuning,
                                       .matching = true});
      if (!made) {
        ADD_FAILURE() << made.error().text();
        std::abort();
      }
      transports_.push_back(*std::move(made));
    }
    for (std::uint32_t rank = 0; rank < kProcesses; ++rank) {
      routers_.push_back(std::make_unique<ToAll>(*this, rank));
      EngineSpec spec;
      spec.settings = World::quick();
      spec.settings.matching = "provider";
      spec.self = {0, rank};
      spec.router = routers_.back().get();
      spec.transports = {transports_[rank].get()};
      engines_.push_back(std::make_unique<Engine>(std::move(spec)));
      auto bases = std::make_shared<ContextBases>();
      bases->common = 7;
      contexts_.push_back(
          engines_.back()->make_context({members_, static_cast<int>(rank), bases, 7, {}}));
    }
  }
  ~ProviderMatchingOfi() override {
    contexts_.clear();
    engines_.clear();
  }

  Engine& engine(int rank) { return *engines_[static_cast<std::size_t>(rank)]; }
  Context& context(int rank) { return *contexts_[static_cast<std::size_t>(rank)]; }
  Request* send(int from_rank, int to_rank, const Data& data, int tag,
                SendMode mode = SendMode::standard) {
    return value_of(engine(from_rank).isend(context(from_rank), from(data), to_rank, tag, mode));
  }
  Request* receive(int rank, Data& data, int source, int tag) {
    return value_of(engine(rank).irecv(context(rank), into(data), source, tag));
  }
  void step() {
    for (auto& engine : engines_) {
      auto status = engine->progress();
      ASSERT_TRUE(status) << status.error().text();
    }
  }
  template <typename Condition>
  bool step_until(const Condition& condition) {
    const auto deadline = base::Deadline::after_seconds(30);
    while (!condition()) {
      step();
      if (deadline.passed() || HasFatalFailure()) return false;
    }
    return true;
  }
  void finish(std::initializer_list<Request*> requests) {
    for (Request* request : requests) {
      ASSERT_TRUE(step_until([&] { return request->is_done(); }));
      EXPECT_EQ(request->error(), nullptr) << request->error()->text();
      Engine::release(request);
    }
  }

  class ToAll : public Router {
   public:
    ToAll(ProviderMatchingOfi& all, std::uint32_t rank) : all_(all), rank_(rank) {}
    base::Result<Route> route_to(base::ProcessId process) override {
      return Route{all_.transports_[rank_].get(), all_.transports_[process.rank]->address()};
    }
    bool is_alive(base::ProcessId) override { return true; }

   private:
    ProviderMatchingOfi& all_;
    std::uint32_t rank_;
  };

  std::shared_ptr<const Members> members_ = std::make_shared<Everyone>(kProcesses);
  std::vector<std::unique_ptr<transport::Transport>> transports_;
  std::vector<std::unique_ptr<ToAll>> routers_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<ContextPtr> contexts_;
};

TEST_P(ProviderMatchingOfi, MatchesReceivesWithASourceInTheProvider) {
  ASSERT_EQ(transports_[0]->matcher() != nullptr, GetParam().matches);
  Data got(100);
  for (std::uint32_t i = 0; i < 40; ++i) {
    Data sent = pattern(100, i);
    Request* open = receive(0, got, 1, static_cast<int>(i));
    for (int rounds = 0; rounds < 20; ++rounds) step();
    finish({send(1, 0, sent, static_cast<int>(i),
                 i % 3 == 0 ? SendMode::synchronous : SendMode::standard),
            open});
    EXPECT_EQ(got, sent);
  }
  if (GetParam().matches)
    EXPECT_GT(engine(0).counts().matched_by_provider, 30u);
  else
    EXPECT_EQ(engine(0).counts().matched_by_provider, 0u);
}

TEST_P(ProviderMatchingOfi, ReceivesWithAndWithoutASourceAndProbesAgree) {
  std::mt19937 random(3);
  const auto any = [&](int bound) {
    return static_cast<int>(random() % static_cast<unsigned>(bound));
  };
  constexpr std::size_t kLengths[] = {4, 100, 1024, 1025, 50'000};
  std::uint32_t next_sent[kProcesses] = {}, next_got[kProcesses] = {};
  for (int burst = 0; burst < 40; ++burst) {
    std::vector<std::unique_ptr<Data>> data;
    std::vector<Request*> sends, receives;
    const int messages = 1 + any(12);
    int from_each[kProcesses] = {};
    const auto give = [&] {
      for (int i = 0; i < messages; ++i) {
        const int source = 1 + any(2);
        ++from_each[source];
        data.push_back(std::make_unique<Data>(pattern(kLengths[any(5)], next_sent[source])));
        std::memcpy(data.back()->data(), &next_sent[source], 4);
        ++next_sent[source];
        sends.push_back(send(source, 0, *data.back(), 3,
                             any(4) == 0 ? SendMode::synchronous : SendMode::standard));
      }
    };
    const auto take = [&](int source) {
      data.push_back(std::make_unique<Data>(50'000));
      receives.push_back(receive(0, *data.back(), source, any(2) == 0 ? kAnyTag : 3));
    };
    // receive from one source after the other, from any source, or after a probe
    const int how = any(3);
    if (how == 0) {
      give();
      for (int source : {1, 2})
        for (int i = 0; i < from_each[source]; ++i) take(source);
    } else if (how == 1) {
      for (int i = 0; i < messages; ++i) take(kAnySource);
      give();
    } else {
      give();
      for (int i = 0; i < messages; ++i) {
        std::optional<MessageStatus> seen;
        ASSERT_TRUE(step_until([&] {
          return (seen = value_of(engine(0).iprobe(context(0), kAnySource, kAnyTag))).has_value();
        }));
        take(seen->source);
        ASSERT_TRUE(step_until([&] { return receives.back()->is_done(); }));
      }
    }
    for (Request* request : sends) finish({request});
    for (std::size_t i = 0; i < receives.size(); ++i) {
      Request* request = receives[i];
      ASSERT_TRUE(step_until([&] { return request->is_done(); }));
      ASSERT_EQ(request->error(), nullptr) << request->error()->text();
      const MessageStatus outcome = request->outcome();
      std::uint32_t number;
      const Data& got = *data[how == 1 ? i : static_cast<std::size_t>(messages) + i];
      std::memcpy(&number, got.data(), 4);
      ASSERT_EQ(number, next_got[outcome.source]++) << "message overtaken";
      const Data expected = pattern(outcome.bytes, number);
      ASSERT_TRUE(std::equal(expected.begin() + 4, expected.end(), got.begin() + 4));
      Engine::release(request);
    }
  }
}

TEST_P(ProviderMatchingOfi, CancelsReceivesAndSends) {
  Data sent = pattern(100, 1), got(100);
  finish({send(1, 0, sent, 1), receive(0, got, 1, 1)});
  Request* open = receive(0, got, 1, 2);
  for (int rounds = 0; rounds < 20; ++rounds) step();
  ASSERT_TRUE(Engine::cancel(*open));
  ASSERT_TRUE(step_until([&] { return open->is_done(); }));
  EXPECT_TRUE(open->outcome().cancelled);
  Engine::release(open);
  Request* gave = send(1, 0, sent, 2);
  for (int rounds = 0; rounds < 20; ++rounds) step();
  ASSERT_TRUE(Engine::cancel(*gave));
  ASSERT_TRUE(step_until([&] { return gave->is_done(); }));
  EXPECT_TRUE(gave->outcome().cancelled);
  Engine::release(gave);
  finish({send(1, 0, sent, 2), receive(0, got, kAnySource, 2)});
}

/// The engine has not seen a message that waits in the provider. Nevertheless, its sender must
/// receive an ack before it closes.
TEST_P(ProviderMatchingOfi, UnexpectedMessageOutlivesItsSender) {
  Data sent = pattern(100, 1), last = pattern(1000, 2), got(1000);
  finish({send(1, 0, sent, 1), receive(0, got, 1, 1)});
  finish({send(1, 0, last, 2)});
  ASSERT_TRUE(step_until([&] { return transports_[1]->is_flushed(); }));
  contexts_[1].reset();
  engines_.erase(engines_.begin() + 1);
  transports_[1].reset();
  Request* late = receive(0, got, 1, 2);
  finish({late});
  EXPECT_EQ(got, last);
}

INSTANTIATE_TEST_SUITE_P(Providers, ProviderMatchingOfi,
                         testing::Values(Fabric{"tcp;ofi_rxm"},
                                         Fabric{"tcp;ofi_rxm", {.names_senders = false}},
                                         Fabric{"sockets"}, Fabric{"udp;ofi_rxd", {}, false},
                                         Fabric{"shm", {}, false},
                                         Fabric{"sockets", {.longest_frame = 4000}, false},
                                         Fabric{"sockets", {.orders_itself = true}, false}));

}  // namespace
}  // namespace shim::p2p
