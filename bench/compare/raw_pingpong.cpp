// SPDX-License-Identifier: BSD-3-Clause
// Measures latency and bandwidth of the network between two processes, without MPI.
//
//  raw_pingpong WAY FOLDER [MILLISECONDS]
//
// WAY is a libfabric provider, or "connection" for TCP. Any launcher starts the two processes, on
// one node or two; they connect through FOLDER, which both see and which is empty at first. The
// first process prints rows like the programs of compare.h, measured as in timing.h: microseconds
// of one operation at the slower process.
#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "bench/compare/wire.hpp"
#include "bench/lib/fail.hpp"
#include "bench/lib/round_counts.h"

namespace {

using bench::Wire;
using Operation = std::function<void()>;

static_assert(stream_window < bench::kMaxInFlight);

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// One of the two processes.
class Side {
 public:
  Side(Wire& wire, bool is_first, std::size_t most_bytes)
      : wire_(wire), is_first_(is_first), out_(most_bytes, std::byte{1}), in_(most_bytes) {}

  void ping_pong(std::size_t bytes) {
    // This process reads from the network only when it polls, so that a receive posted here
    // precedes its message.
    wire_.expect(in(bytes));
    if (is_first_) wire_.send(out(bytes));
    wire_.wait();
    if (!is_first_) wire_.send(out(bytes));
  }

  /// Send a window of messages from the first to the second process, and a reply after the last.
  void stream(std::size_t bytes) {
    if (is_first_) {
      wire_.expect(in(1));
      for (int i = 0; i < stream_window; ++i) wire_.send(out(bytes));
      wire_.wait();
    } else {
      for (int i = 0; i < stream_window; ++i) wire_.expect(in(bytes));
      wire_.wait();
      wire_.send(out(1));
    }
  }

  /// Return microseconds of one operation at the slower process.
  double time_of(const Operation& run, int rounds) {
    run();
    exchange(0);
    const double start = now_us();
    for (int i = 0; i < rounds; ++i) run();
    const double mine = (now_us() - start) / rounds;
    return std::max(mine, exchange(mine));
  }

  void row(const char* what, std::size_t bytes, const Operation& run, double messages,
           double milliseconds) {
    Trials trials = after_first_trial(time_of(run, first_trial_rounds));
    while (!trials.is_over)
      record_trial(&trials, time_of(run, rounds_of_trial(&trials, milliseconds)));
    const double took = time_of(run, rounds_within(trials.shortest, milliseconds));
    if (is_first_) std::printf("raw,%s,%zu,%.5f\n", what, bytes, took / messages);
    std::fflush(stdout);
  }

  /// Exchange values and return the other process's; also a barrier.
  double exchange(double mine) {
    double theirs = 0;
    wire_.expect(std::as_writable_bytes(std::span(&theirs, 1)));
    wire_.send(std::as_bytes(std::span(&mine, 1)));
    wire_.wait();
    return theirs;
  }

 private:
  std::span<const std::byte> out(std::size_t bytes) const { return std::span(out_).first(bytes); }
  std::span<std::byte> in(std::size_t bytes) { return std::span(in_).first(bytes); }
  Wire& wire_;
  bool is_first_;
  std::vector<std::byte> out_, in_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3)
    bench::fail(
        "raw_pingpong WAY FOLDER [MILLISECONDS]; the way is a libfabric provider, or "
        "\"connection\"");
  const std::string way = argv[1];
  const double milliseconds = argc > 3 ? std::atof(argv[3]) : 10;
  constexpr std::size_t kShort = 8, kLong = 1 << 20;
  bench::AddressExchange address_exchange(argv[2]);
  auto wire = way == "connection" ? bench::make_connection_wire(address_exchange)
                                  : bench::make_fabric_wire(way, address_exchange);
  Side side(*wire, address_exchange.is_first(), kLong);
  side.row(
      "latency", kShort, [&] { side.ping_pong(kShort); }, 2, milliseconds);
  side.row(
      "bandwidth", kLong, [&] { side.stream(kLong); }, stream_window, milliseconds);
  side.exchange(0);
}
