// SPDX-License-Identifier: BSD-3-Clause
// What the shared-memory transport adds to the cost of moving a cache line: two processes on two cores, polling tightly.
//
//   transport_pingpong [packet bytes]
//
// Prints the one-way latency and the packet rate, and for comparison the one-way time of a bare word that two processes hand
// back and forth. Times are the best and the median of batches, because on a shared machine single batches are disturbed.
#include <sched.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/transport/shm/shm.hpp"
#include "tests/transport/anonymous_area.hpp"

namespace {

using shim::base::now_ns;
using shim::transport::ConstSpan;
using shim::transport::testing::AnonymousArea;
using shim::transport::testing::AnonymousGround;

constexpr int kBatches = 300;
constexpr int kRounds = 2000;
constexpr int kStreamed = 20000;

void pin_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) std::perror("pinning to a core");
}

/// Runs both sides, the second in a child on the other core; answers the parent's batch times.
std::vector<double> run_pair(const std::function<double()>& first, const std::function<void()>& second) {
  pid_t child = fork();
  if (child == 0) {
    pin_to(1);
    for (int batch = 0; batch < kBatches; ++batch) second();
    std::_Exit(0);
  }
  pin_to(0);
  std::vector<double> times;
  for (int batch = 0; batch < kBatches; ++batch) times.push_back(first());
  int status = 0;
  waitpid(child, &status, 0);
  std::sort(times.begin(), times.end());
  return times;
}

void print(const char* what, const std::vector<double>& times, const char* unit) {
  std::printf("%-34s best %8.1f   median %8.1f %s\n", what, times.front(), times[times.size() / 2], unit);
}

class CountingSink final : public shim::transport::Sink {
 public:
  void on_packet(ConstSpan packet) override {
    ++packets;
    bytes += packet.size();
  }
  std::uint64_t packets = 0, bytes = 0;
};

/// One process's end of the pair.
struct End {
  End(std::shared_ptr<AnonymousGround> ground, std::uint32_t slot, const shim::transport::ShmSettings& settings)
      : area(ground, slot), transport(*make_shm(area, settings)) {
    area.set_ready();
    link = *transport->open(shm_address(1 - slot, settings));
  }
  void send(ConstSpan packet) {
    while (*transport->try_send(*link, packet, {}) != shim::transport::Attempt::done) sched_yield();
  }
  void receive(std::uint64_t until) {
    while (sink.packets < until) (void)transport->poll(sink);
  }
  AnonymousArea area;
  std::unique_ptr<shim::transport::Transport> transport;
  shim::transport::Link* link;
  CountingSink sink;
};

void bare_line() {
  AnonymousGround ground(1, 4096, 4096);
  auto* words = reinterpret_cast<std::atomic<std::uint64_t>*>(ground.slot(0));
  auto &ping = words[0], &pong = words[128];
  std::uint64_t sent = 0, seen = 0;
  auto times = run_pair(
      [&] {
        auto start = now_ns();
        for (int i = 0; i < kRounds; ++i) {
          ping.store(++sent, std::memory_order_release);
          while (pong.load(std::memory_order_acquire) != sent) {
          }
        }
        return static_cast<double>(now_ns() - start) / kRounds / 2;
      },
      [&] {
        for (int i = 0; i < kRounds; ++i) {
          ++seen;
          while (ping.load(std::memory_order_acquire) != seen) {
          }
          pong.store(seen, std::memory_order_release);
        }
      });
  print("bare word, one way", times, "ns");
}

void shm_latency(ConstSpan packet, const shim::transport::ShmSettings& settings) {
  auto ground = std::make_shared<AnonymousGround>(2, shim::transport::shm_slot_bytes(2), shm_pair_bytes(settings));
  End a(ground, 0, settings), b(ground, 1, settings);
  auto times = run_pair(
      [&] {
        auto start = now_ns();
        for (int i = 0; i < kRounds; ++i) {
          a.send(packet);
          a.receive(a.sink.packets + 1);
        }
        return static_cast<double>(now_ns() - start) / kRounds / 2;
      },
      [&] {
        for (int i = 0; i < kRounds; ++i) {
          b.receive(b.sink.packets + 1);
          b.send(packet);
        }
      });
  print("shared memory, one way", times, "ns");
}

void shm_rate(ConstSpan packet, const shim::transport::ShmSettings& settings) {
  auto ground = std::make_shared<AnonymousGround>(2, shim::transport::shm_slot_bytes(2), shm_pair_bytes(settings));
  End a(ground, 0, settings), b(ground, 1, settings);
  auto times = run_pair(
      [&] {
        auto start = now_ns();
        for (int i = 0; i < kStreamed; ++i) a.send(packet);
        a.receive(a.sink.packets + 1);
        return static_cast<double>(now_ns() - start) / kStreamed;
      },
      [&] {
        b.receive(b.sink.packets + kStreamed);
        b.send(packet);
      });
  print("shared memory, per packet streamed", times, "ns");
  std::printf("%-34s best %8.1f million packets/s, %.2f GB/s\n", "", 1e3 / times.front(),
              static_cast<double>(packet.size()) / times.front());
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t bytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 8;
  std::vector<std::byte> packet(bytes);
  shim::transport::ShmSettings settings;
  std::printf("%zu-byte packets\n", bytes);
  bare_line();
  shm_latency(packet, settings);
  shm_rate(packet, settings);
}
