// SPDX-License-Identifier: BSD-3-Clause
// Measures a transport between two pinned processes that poll without pause.
//
//  transport_pingpong [packet bytes] [libfabric provider | connections [interface]]
//
// Without a provider, measures the shared-memory transport, and the core-to-core latency for
// comparison. Prints one-way latency and packet rate; for libfabric also the time to open. Times
// are the best and the median batch, because single batches are disturbed on a shared machine.
#include <sched.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "bench/micro/pinning.hpp"
#include "shim/base/clock.hpp"
#include "shim/base/settings.hpp"
#include "shim/transport/net/net.hpp"
#include "shim/transport/ofi/ofi.hpp"
#include "shim/transport/shm/shm.hpp"
#include "tests/node/anonymous_area.hpp"

namespace {

using bench::pin_to;
using shim::base::now_ns;
using shim::node::testing::AnonymousArea;
using shim::node::testing::AnonymousSegment;
using shim::transport::Attempt;
using shim::transport::Bytes;
using shim::transport::ConstSpan;
using shim::transport::Transport;

constexpr int kBatches = 200;
constexpr int kRounds = 1000;
constexpr int kStreamed = 10000;

void print(const char* what, std::vector<double> times, const char* unit) {
  std::sort(times.begin(), times.end());
  std::printf("%-26s best %8.1f   median %8.1f %s\n", what, times.front(), times[times.size() / 2],
              unit);
}

/// Run body(0) here and body(1) in a child on the other core; body(0) returns the times to print.
std::vector<double> in_two_processes(const std::function<std::vector<double>(int)>& body) {
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    pin_to(1);
    (void)body(1);
    std::fflush(stdout);
    std::_Exit(0);
  }
  pin_to(0);
  auto times = body(0);
  waitpid(child, nullptr, 0);
  return times;
}

std::vector<double> core_latency() {
  AnonymousSegment segment(1, 4096, 4096);
  auto* words = reinterpret_cast<std::atomic<std::uint64_t>*>(segment.slot(0));
  return in_two_processes([&](int who) {
    auto &out = words[who * 128], &in = words[(1 - who) * 128];
    std::vector<double> times;
    std::uint64_t number = 0;
    for (int batch = 0; batch < kBatches; ++batch) {
      auto start = now_ns();
      for (int i = 0; i < kRounds; ++i) {
        ++number;
        if (who == 0) out.store(number, std::memory_order_release);
        while (in.load(std::memory_order_acquire) != number) {
        }
        if (who == 1) out.store(number, std::memory_order_release);
      }
      times.push_back(static_cast<double>(now_ns() - start) / kRounds / 2);
    }
    return times;
  });
}

class CountingSink final : public shim::transport::Sink {
 public:
  bool on_packet(ConstSpan) override { return ++packets != 0; }
  std::uint64_t packets = 0;
};

/// A transport of one process, connected to the other's.
class End {
 public:
  End(std::unique_ptr<Transport> transport, ConstSpan peer) : transport_(std::move(transport)) {
    auto link = transport_->open(peer);
    if (!link) fail(link.error());
    link_ = *link;
  }
  void send(ConstSpan packet) {
    for (;;) {
      auto attempt = transport_->try_send(*link_, packet, {});
      if (!attempt) fail(attempt.error());
      if (*attempt == Attempt::done) return;
      poll();
    }
  }
  void receive(std::uint64_t more) {
    until_ += more;
    while (sink_.packets < until_) poll();
  }
  void flush() {
    while (!transport_->is_flushed()) poll();
  }
  [[noreturn]] static void fail(const shim::base::Error& error) {
    std::fprintf(stderr, "%s\n", error.text().c_str());
    std::exit(1);
  }

 private:
  void poll() {
    auto count = transport_->poll_link(*link_, sink_);
    if (!count) fail(count.error());
  }
  std::unique_ptr<Transport> transport_;
  shim::transport::Link* link_ = nullptr;
  CountingSink sink_;
  std::uint64_t until_ = 0;
};

/// Shared memory in which the two processes find each other's addresses.
struct Meeting {
  struct Note {
    std::atomic<std::size_t> size;
    std::byte bytes[512];
  };
  Meeting() : notes_segment(1, sizeof(Note) * 2, 0) {}
  Note& note(int who) { return reinterpret_cast<Note*>(notes_segment.slot(0))[who]; }
  End connect(int who, std::unique_ptr<Transport> transport) {
    Bytes own = transport->address();
    std::copy(own.begin(), own.end(), note(who).bytes);
    note(who).size.store(own.size(), std::memory_order_release);
    while (note(1 - who).size.load(std::memory_order_acquire) == 0) sched_yield();
    return End(std::move(transport), ConstSpan(note(1 - who).bytes, note(1 - who).size));
  }
  AnonymousSegment notes_segment;
};

using Make = std::function<std::unique_ptr<Transport>(int who)>;

void latency(const Make& make, ConstSpan packet) {
  Meeting meeting;
  print("one way", in_two_processes([&](int who) {
          End end = meeting.connect(who, make(who));
          std::vector<double> times;
          for (int batch = 0; batch < kBatches; ++batch) {
            auto start = now_ns();
            for (int i = 0; i < kRounds; ++i) {
              if (who == 0) end.send(packet);
              end.receive(1);
              if (who == 1) end.send(packet);
            }
            times.push_back(static_cast<double>(now_ns() - start) / kRounds / 2);
          }
          end.flush();
          return times;
        }),
        "ns");
}

void rate(const Make& make, ConstSpan packet) {
  Meeting meeting;
  auto times = in_two_processes([&](int who) {
    End end = meeting.connect(who, make(who));
    std::vector<double> batches;
    for (int batch = 0; batch < kBatches / 4; ++batch) {
      auto start = now_ns();
      if (who == 0) {
        for (int i = 0; i < kStreamed; ++i) end.send(packet);
        end.receive(1);
      } else {
        end.receive(kStreamed);
        end.send(packet);
      }
      batches.push_back(static_cast<double>(now_ns() - start) / kStreamed);
    }
    end.flush();
    return batches;
  });
  print("per packet in a stream", times, "ns");
  double best = *std::min_element(times.begin(), times.end());
  std::printf("%-26s best %8.2f million packets/s, %.2f GB/s\n", "", 1e3 / best,
              static_cast<double>(packet.size()) / best);
}

void over_shared_memory(ConstSpan packet) {
  shim::transport::ShmSettings settings;
  auto make_over = [&](std::shared_ptr<AnonymousSegment> segment) {
    return [&settings, segment](int who) {
      // never freed: lives as long as the process
      auto* area = new AnonymousArea(segment, static_cast<std::uint32_t>(who));
      auto transport = shim::transport::make_shm(*area, settings);
      if (!transport) End::fail(transport.error());
      area->set_ready();
      return *std::move(transport);
    };
  };
  auto make_segment = [&] {
    return std::make_shared<AnonymousSegment>(2, shim::transport::shm_slot_bytes(2),
                                              shm_pair_bytes(settings), 0,
                                              shim::base::Settings().cell_pool_bytes);
  };
  print("core-to-core latency, one way", core_latency(), "ns");
  latency(make_over(make_segment()), packet);
  rate(make_over(make_segment()), packet);
}

void over_libfabric(ConstSpan packet, const shim::transport::OfiSettings& settings) {
  Make make = [&](int who) {
    auto start = now_ns();
    auto first = shim::transport::make_ofi(settings);
    auto between = now_ns();
    auto second = shim::transport::make_ofi(settings);
    auto end = now_ns();
    if (!second) End::fail(second.error());
    if (who == 0)
      std::printf("%-26s first %7.2f   later %9.2f ms\n", "opening",
                  static_cast<double>(between - start) / 1e6,
                  static_cast<double>(end - between) / 1e6);
    return *std::move(second);
  };
  latency(make, packet);
  rate(make, packet);
}

void over_connections(ConstSpan packet, const std::string& interface) {
  Make make = [&](int) -> std::unique_ptr<Transport> {
    auto transport = shim::transport::make_net({.interface = interface});
    if (!transport) End::fail(transport.error());
    return *std::move(transport);
  };
  latency(make, packet);
  rate(make, packet);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t bytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 8;
  std::vector<std::byte> packet(bytes);
  const std::string over = argc > 2 ? argv[2] : "", interface = argc > 3 ? argv[3] : "";
  if (over == "connections") {
    std::printf("%zu-byte packets over TCP connections\n", bytes);
    over_connections(packet, interface);
  } else if (!over.empty()) {
    std::printf("%zu-byte packets over libfabric provider %s\n", bytes, over.c_str());
    over_libfabric(packet, {.provider = over, .interface = interface});
  } else {
    std::printf("%zu-byte packets over shared memory\n", bytes);
    over_shared_memory(packet);
  }
}
