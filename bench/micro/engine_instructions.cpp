// SPDX-License-Identifier: BSD-3-Clause
// Counts the instructions of an engine's calls for short messages over shared memory. The processor
// traps after each instruction while its trap flag (EFLAGS.TF) is set; x86-64 only. The counts do
// not depend on the load of the machine. Each line has the median and the mean of 64 calls.
#include <signal.h>
#include <ucontext.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <numeric>

#include "bench/lib/two_rank_engine.hpp"
#include "shim/transport/shm/shm.hpp"
#include "tests/node/anonymous_area.hpp"

namespace {

using namespace shim;
using bench::need;
using node::testing::AnonymousArea;
using node::testing::AnonymousSegment;

constexpr std::uint64_t kTrapFlag = 0x100;
constexpr int kCalls = 64, kTag = 1;

volatile long steps = 0;
void on_step(int, siginfo_t*, void*) { steps = steps + 1; }

/// One of two processes.
class End {
 public:
  End(std::shared_ptr<AnonymousSegment> segment, std::uint32_t slot,
      const transport::ShmSettings& settings)
      : area_(std::move(segment), slot),
        transport_(need(make_shm(area_, settings))),
        two_(
            *transport_,
            [&settings](std::uint32_t other) { return transport::shm_address(other, settings); },
            static_cast<int>(slot), sizeof(std::uint64_t)) {
    area_.set_ready();
  }
  p2p::Engine& engine() { return two_.engine(); }
  p2p::Context& context() { return two_.context(); }

 private:
  AnonymousArea area_;
  std::unique_ptr<transport::Transport> transport_;
  bench::TwoRankEngine two_;
};

class Counter {
 public:
  /// Call prepare(), then `call`, and count the instructions of the latter; several times.
  template <typename Prepare, typename Call, typename Finish>
  void count(const char* what, const Prepare& prepare, const Call& call, const Finish& finish) {
    std::array<long, kCalls> counts;
    for (int i = -kCalls; i < kCalls; ++i) {
      prepare();
      steps = 0;
      __writeeflags(__readeflags() | kTrapFlag);
      call();
      __writeeflags(__readeflags() & ~kTrapFlag);
      if (i >= 0) counts[static_cast<std::size_t>(i)] = steps;
      finish();
    }
    std::sort(counts.begin(), counts.end());
    std::printf("%-44s %6ld %8.1f\n", what, counts[kCalls / 2],
                static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0L)) / kCalls);
  }
};

void nothing() {}

}  // namespace

int main() {
  struct sigaction action = {};
  action.sa_sigaction = on_step;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, nullptr);

  const transport::ShmSettings settings;
  const auto segment = std::make_shared<AnonymousSegment>(2, transport::shm_slot_bytes(2),
                                                          shm_pair_bytes(settings), 0,
                                                          base::Settings().cell_pool_bytes);
  End here(segment, 0, settings), there(segment, 1, settings);
  std::uint64_t word = 7;
  const types::ConstBuffer data{&word, sizeof word, &types::byte_type()};
  const types::Buffer space{&word, sizeof word, &types::byte_type()};
  p2p::Engine& engine = here.engine();
  p2p::Context& context = here.context();
  p2p::Request* request = nullptr;
  const auto arrive = [&] {
    need(there.engine().send(there.context(), data, 0, kTag, p2p::SendMode::standard));
  };
  const auto leave = [&] { need(there.engine().recv(there.context(), space, 0, kTag)); };
  const auto receive = [&] { need(engine.recv(context, space, 1, kTag)); };
  const auto release = [&] { p2p::Engine::release(std::exchange(request, nullptr)); };
  const auto wait = [&] { need(engine.wait(*request)); };

  arrive();  // opens the link
  receive();

  Counter counter;
  std::printf("%-44s %6s %8s\n", "call", "median", "mean");
  counter.count(
      "send", nothing, [&] { need(engine.send(context, data, 1, kTag, p2p::SendMode::standard)); },
      leave);
  counter.count(
      "send_at_once", nothing, [&] { engine.send_at_once(context, data, 1, kTag); }, leave);
  p2p::InlineSent sent;
  counter.count(
      "send_or_start, for cancellation", nothing,
      [&] { need(engine.send_or_start(context, data, 1, kTag, p2p::SendMode::standard, sent)); },
      leave);
  counter.count(
      "send_or_start, of a collective", nothing,
      [&] { need(engine.send_or_start(context, data, 1, kTag, p2p::Plane::user)); }, leave);
  counter.count(
      "isend", nothing,
      [&] { request = need(engine.isend(context, data, 1, kTag, p2p::SendMode::standard)); },
      [&] {
        release();
        leave();
      });
  counter.count(
      "isend, synchronous", nothing,
      [&] { request = need(engine.isend(context, data, 1, kTag, p2p::SendMode::synchronous)); },
      [&] {
        leave();
        wait();
        release();
      });
  counter.count("recv, arrived", arrive, receive, nothing);
  counter.count(
      "recv from any source, arrived", arrive,
      [&] { need(engine.recv(context, space, p2p::kAnySource, kTag)); }, nothing);
  p2p::MessageStatus status;
  counter.count(
      "receive_or_start, arrived", arrive,
      [&] { request = need(engine.receive_or_start(context, space, 1, kTag, status)); },
      [&] {
        if (request == nullptr) return;
        wait();
        release();
      });
  counter.count(
      "receive_or_start, posted", nothing,
      [&] { request = need(engine.receive_or_start(context, space, 1, kTag, status)); },
      [&] {
        arrive();
        wait();
        release();
      });
  counter.count(
      "irecv, posted", nothing, [&] { request = need(engine.irecv(context, space, 1, kTag)); },
      [&] {
        arrive();
        wait();
        release();
      });
  counter.count(
      "wait for a posted receive, arrived",
      [&] {
        request = need(engine.irecv(context, space, 1, kTag));
        arrive();
      },
      wait, release);
  counter.count(
      "progress, nothing to do", nothing, [&] { need(engine.progress()); }, nothing);
  counter.count(
      "iprobe, message stored",
      [&] {
        arrive();
        need(engine.progress());
      },
      [&] { need(engine.iprobe(context, 1, kTag)); }, receive);
  counter.count(
      "probe, arrived", arrive, [&] { need(engine.probe(context, 1, kTag)); }, receive);
  counter.count(
      "recv, message stored",
      [&] {
        arrive();
        need(engine.progress());
      },
      receive, nothing);
  return 0;
}
