// SPDX-License-Identifier: BSD-3-Clause
// Measures the cost of the point-to-point layer over its transport.
// A ping-pong of blocking sends and receives between two pinned processes, and of equal packets
// over the shared-memory transport alone.
//
//  p2p_pingpong [message bytes [processes on the node]]
//
// Batches of both kinds alternate, because disturbances on a shared machine vary over time. Prints
// the best and the median batch of each and, for long messages, the bandwidth.
#include <sched.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "bench/lib/two_rank_engine.hpp"
#include "bench/micro/pinning.hpp"
#include "shim/base/clock.hpp"
#include "shim/base/settings.hpp"
#include "shim/p2p/wire.hpp"
#include "shim/transport/shm/shm.hpp"
#include "tests/node/anonymous_area.hpp"

namespace {

using namespace shim;
using base::now_ns;
using bench::need;
using bench::pin_to;
using node::testing::AnonymousArea;
using node::testing::AnonymousSegment;

constexpr int kBatches = 200;

/// Ping-pong of packets over the transport alone.
class Bare final : public transport::Sink {
 public:
  Bare(std::shared_ptr<AnonymousSegment> segment, std::uint32_t slot,
       const transport::ShmSettings& settings, std::size_t bytes)
      : area_(std::move(segment), slot),
        transport_(need(make_shm(area_, settings))),
        header_bytes_(bytes <= p2p::wire::ShortEager::kMaxPayload ? p2p::wire::ShortEager::kBytes
                                                                  : sizeof(p2p::wire::Eager)),
        packet_(header_bytes_ + bytes) {
    area_.set_ready();
    link_ = need(transport_->open(transport::shm_address(1 - slot, settings)));
  }
  void send() {
    auto whole = transport::ConstSpan(packet_);
    auto header = whole.first(header_bytes_), payload = whole.subspan(header.size());
    while (need(transport_->try_send(*link_, header, payload)) != transport::Attempt::done)
      sched_yield();
  }
  void receive() {
    ++wanted_;
    while (packets_ < wanted_) need(transport_->poll(*this));
  }

 private:
  bool on_packet(transport::ConstSpan packet) override {
    std::copy(packet.begin(), packet.end(), packet_.begin());
    ++packets_;
    return true;
  }
  AnonymousArea area_;
  std::unique_ptr<transport::Transport> transport_;
  transport::Link* link_ = nullptr;
  std::size_t header_bytes_;
  std::vector<std::byte> packet_;
  std::uint64_t packets_ = 0, wanted_ = 0;
};

/// Ping-pong of messages through an engine.
class Whole {
 public:
  Whole(std::shared_ptr<AnonymousSegment> segment, std::uint32_t slot,
        const transport::ShmSettings& settings, std::size_t bytes, std::uint32_t processes)
      : area_(std::move(segment), slot),
        transport_(need(make_shm(area_, settings))),
        two_(
            *transport_,
            [&settings](std::uint32_t other) { return transport::shm_address(other, settings); },
            static_cast<int>(slot), bytes, processes > std::thread::hardware_concurrency()) {
    area_.set_ready();
  }
  void send() { two_.send(); }
  void receive() { two_.receive(); }

 private:
  AnonymousArea area_;
  std::unique_ptr<transport::Transport> transport_;
  bench::TwoRankEngine two_;
};

template <typename End>
double serve(End& end, int rounds) {
  auto start = now_ns();
  for (int i = 0; i < rounds; ++i) {
    end.send();
    end.receive();
  }
  return static_cast<double>(now_ns() - start) / rounds / 2;
}

template <typename End>
void answer(End& end, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    end.receive();
    end.send();
  }
}

void print(const char* what, std::vector<double>& times, std::size_t bytes) {
  std::sort(times.begin(), times.end());
  std::printf("%-28s best %9.1f   median %9.1f ns one way", what, times.front(),
              times[times.size() / 2]);
  if (bytes >= 4096)
    std::printf("   %6.2f GB/s", static_cast<double>(bytes) / times[times.size() / 2]);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t bytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 8;
  auto processes = static_cast<std::uint32_t>(argc > 2 ? std::atoi(argv[2]) : 2);
  int rounds = bytes < 10'000 ? 2000 : 50;
  transport::ShmSettings settings;
  auto make_segment = [&] {
    return std::make_shared<AnonymousSegment>(2, transport::shm_slot_bytes(2),
                                              shm_pair_bytes(settings), 0,
                                              base::Settings().cell_pool_bytes);
  };
  auto bare_segment = make_segment(), whole_segment = make_segment();
  bool both = bytes <= 8192;  // longer messages are not one packet
  pid_t child = fork();
  std::uint32_t slot = child == 0 ? 1 : 0;
  pin_to(static_cast<int>(slot));
  Bare bare(bare_segment, slot, settings, both ? bytes : 8);
  Whole whole(whole_segment, slot, settings, bytes, processes);
  if (child == 0) {
    for (int batch = 0; batch < kBatches; ++batch) {
      answer(bare, rounds);
      answer(whole, rounds);
    }
    std::_Exit(0);
  }
  std::vector<double> bare_times, whole_times;
  for (int batch = 0; batch < kBatches; ++batch) {
    bare_times.push_back(serve(bare, rounds));
    whole_times.push_back(serve(whole, rounds));
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("%zu-byte messages\n", bytes);
  if (both) print("transport alone", bare_times, bytes);
  print("point to point", whole_times, bytes);
  if (both) {
    auto middle = bare_times.size() / 2;
    std::printf("%-28s best %9.1f   median %9.1f ns\n", "added",
                whole_times.front() - bare_times.front(), whole_times[middle] - bare_times[middle]);
  }
  return status;
}
